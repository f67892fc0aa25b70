//! `toolyard trash`: what was removed and can be restored.

use serde_json::{Value, json};
use yard_core::op::{Trash, TrashAnswer};
use yard_gate::Actor;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::short_ids;
use crate::table::Table;
use crate::terminal::Terminal;

use super::history::local_time;

/// List what was removed and can be restored, newest first
#[derive(clap::Args)]
pub(crate) struct Options {
    /// At most that many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Leave out the newest that many
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: usize,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let answer = local.perform(Trash { limit: self.limit, skip: self.skip })?;
        let value = || to_json(&answer);
        let text = || self.to_text(&answer, context.terminal);
        Ok(Reply::either(self.json, value, text))
    }

    fn to_text(&self, answer: &TrashAnswer, terminal: Terminal) -> String {
        if answer.entries.is_empty() {
            return "nothing was removed\n".to_owned();
        }
        let ids: Vec<String> = answer.entries.iter().map(|entry| entry.file.to_string()).collect();
        let length = short_ids::short_length(&ids);
        let mut table = Table::new(&["ID", "REMOVED", "KIND", "SIZE", "PATH"]);
        for (entry, id) in answer.entries.iter().zip(&ids) {
            table.push(vec![
                id.chars().take(length).collect(),
                entry.removed_at.map_or_else(|| "by hand".to_owned(), local_time),
                entry.kind.word().to_owned(),
                entry.size.map_or_else(|| "-".to_owned(), |size| size.to_string()),
                entry.path.to_string(),
            ]);
        }
        let shown = self.skip + answer.entries.len();
        let hint = answer.truncated.then(|| format!("older ones remain: --skip {shown}"));
        table.render_with_hint(terminal, hint.as_deref())
    }
}

fn to_json(answer: &TrashAnswer) -> Value {
    let entry = |entry: &yard_core::op::Trashed| {
        json!({
            "id": entry.file.to_string(),
            "path": entry.path.to_string(),
            "kind": entry.kind.word(),
            "size": entry.size,
            "removed_at": entry.removed_at.map(|at| at.to_string()),
            "step": entry.step.map(|step| step.to_string()),
        })
    };
    let entries: Vec<Value> = answer.entries.iter().map(entry).collect();
    json!({"entries": entries, "truncated": answer.truncated})
}
