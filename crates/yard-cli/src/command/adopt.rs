//! `toolyard adopt`: goes on with a folder as it is, where its history belongs to another folder or is
//! damaged.

use std::path::PathBuf;

use serde_json::json;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;

const EXAMPLES: &str = "\
Examples:
  toolyard adopt                      the folder was restored, cloned anew or exchanged: go on with it
  toolyard adopt --from /old/place    the folder was at /old/place before: take its history along";

/// Go on with a folder as it is now, and keep its history
///
/// No file of the folder is changed. Whatever differs from the history is recorded when it is next touched.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Where the folder was before it was moved or renamed: its history comes along
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let done = context.adopt(self.from.as_deref())?;
        if self.json {
            return Ok(Reply::json(json!({
                "ok": true,
                "steps": done.adopted.steps,
                "other_folder": done.adopted.other_folder,
                "lost_steps": done.adopted.lost_steps,
                "damaged_journal": done.damaged,
            })));
        }
        let mut text = match done.adopted.steps {
            0 => "a new history begins with this folder as it is\n".to_owned(),
            steps => format!("the history of {steps} steps goes on with this folder as it is\n"),
        };
        if done.adopted.lost_steps > 0 {
            let lost = done.adopted.lost_steps;
            text.push_str(&format!(
                "{lost} steps that were applied are missing from the history\n"
            ));
        }
        if let Some(name) = &done.damaged {
            text.push_str(&format!("the damaged journal was kept as {name} in the data folder\n"));
        }
        text.push_str("no file of the folder was changed\n");
        Ok(Reply::text(text))
    }
}
