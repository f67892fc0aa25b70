//! `toolyard undo`: takes one step back, old or new, keeping everything that came after it.

use serde_json::json;
use yard_core::op::{Undo, UndoKind, Undone};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;

use super::take_back::{Selection, done_text, texts};

const EXAMPLES: &str = "\
Examples:
  toolyard undo last                        take the newest step back
  toolyard undo 0198c2a4-1b2c --preview     show what that would change
  toolyard undo 0198c2a4-1b2c --path src    only in one folder; what came after the step stays

An undo is a step too: `toolyard redo` brings the change back. Where a later step changed the same
lines, nothing is changed and the conflict is named.";

/// Take one step back
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
        self.selection.run(context, UndoKind::Undo, self.json, |local, step, scope| {
            Ok(undone(self.json, "undid step", &local.perform(Undo { step, scope })?))
        })
    }
}

/// The reply about an undo or a redo.
pub(super) fn undone(json: bool, first: &str, undone: &Undone) -> Reply {
    let value = || {
        json!({
            "step": undone.step.to_string(),
            "undoes": undone.undoes.to_string(),
            "paths": texts(&undone.paths),
            "left": texts(&undone.left),
        })
    };
    let first = format!("{first} {} by step {}", undone.undoes, undone.step);
    Reply::either(json, value, || done_text(&first, &undone.paths, &undone.left))
}
