//! `toolyard back-to`: takes back everything that happened after a step, as one new step.

use serde_json::json;
use yard_core::op::{BackTo, UndoKind, WentBack};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;

use super::take_back::{Selection, done_text, texts};

const EXAMPLES: &str = "\
Examples:
  toolyard back-to 0198c2a4-1b2c --preview     show what would be taken back
  toolyard back-to 0198c2a4-1b2c               the files as they were after that step
  toolyard back-to 0198c2a4-1b2c --path src    only in one folder

Going back is a step too: undo it, and everything is there again. What other programs made since
stays as it was first seen.";

/// Take back everything after a step
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
        self.selection.run(context, UndoKind::BackTo, self.json, |local, step, scope| {
            Ok(went_back(self.json, &local.perform(BackTo { step, scope })?))
        })
    }
}

fn went_back(json: bool, done: &WentBack) -> Reply {
    let value = || {
        json!({
            "step": done.step.to_string(),
            "back_to": done.back_to.to_string(),
            "paths": texts(&done.paths),
            "left": texts(&done.left),
        })
    };
    let first = format!("went back to step {} by step {}", done.back_to, done.step);
    Reply::either(json, value, || done_text(&first, &done.paths, &done.left))
}
