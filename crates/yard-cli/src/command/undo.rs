//! `toolyard undo`: takes one step back, old or new, keeping everything that came after it.

use serde_json::json;
use yard_core::op::Undo;
use yard_gate::Actor;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::short_ids;
use crate::terminal::visible_cell;

const EXAMPLES: &str = "\
Examples:
  toolyard undo last             take the newest step back
  toolyard undo 0198c2a4-1b2c    take an old one back; what came after it stays

An undo is a step too: undo it, and the change is there again. Where a later step changed the same
lines, nothing is changed and the conflict is named.";

/// Take one step back
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Step: an id, the beginning of one, or `last`
    step: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let step = short_ids::resolve(&local, &self.step)?;
        let undone = local.perform(Undo::of(step))?;
        let paths: Vec<String> = undone.paths.iter().map(ToString::to_string).collect();
        let left: Vec<String> = undone.left.iter().map(ToString::to_string).collect();
        if self.json {
            return Ok(Reply::json(json!({
                "step": undone.step.to_string(),
                "undoes": undone.undoes.to_string(),
                "paths": paths,
                "left": left,
            })));
        }
        let mut text = format!("undid step {} by step {}\n", undone.undoes, undone.step);
        for path in &paths {
            text.push_str(&format!("  {}\n", visible_cell(path)));
        }
        for path in &left {
            let path = visible_cell(path);
            text.push_str(&format!("  {path} stays as it is: build output that was not kept\n"));
        }
        Ok(Reply::text(text))
    }
}
