//! `toolyard redo`: undoes the newest undo of a step, so that what the step did is there again.

use yard_core::op::{Redo, UndoKind};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;

use super::take_back::Selection;
use super::undo::undone;

const EXAMPLES: &str = "\
Examples:
  toolyard redo last                       bring back what was undone last
  toolyard redo 0198c2a4-1b2c              bring back what that step did, after it was undone
  toolyard redo 0198c2a4-1b2c --preview    show what that would change";

/// Bring back what an undone step did
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        self.selection.run(context, UndoKind::Redo, self.json, |local, step, scope| {
            Ok(undone(self.json, "undid the undo", &local.perform(Redo { step, scope })?))
        })
    }
}
