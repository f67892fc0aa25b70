//! `toolyard storage`: how much room the history of each workspace takes, and what can be cleared.

use serde_json::{Map, Value, json};
use yard_core::FaultCode;
use yard_disk::RetentionLimits;

use crate::box_config;
use crate::config::Config;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::location::{self, DataFolder};
use crate::reply::Reply;
use crate::storage::{self, PARTS, WorkspaceUsage};
use crate::table::Table;
use crate::terminal::Terminal;

const HELP: &str = "\
JOURNAL and CONTENTS are the history.
OUTPUT    what commands printed beyond what their answers show
BUILDS    build output that is not in the tree any more and can be undone to
HOMES     what chats have as their home and /tmp
CACHES    what commands added to caches of packages
RUNS      commands that run, or whose changes wait for a person

--clear removes OUTPUT, BUILDS and CACHES: an undo of a build then says that its files are gone.";

/// See how much room each workspace takes in the data folder, or clear what can be made again
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Options {
    /// Remove what can be made again: kept output, builds and caches, of every workspace
    #[arg(long)]
    clear: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let data = location::existing_data_folder(context.data_dir()).ok_or_else(|| {
            Failure::new(
                FaultCode::NotFound,
                "there is no data folder yet, so that nothing is kept",
            )
        })?;
        let file = DataFolder::prepare(context.data_dir())?.config(None)?;
        let retention =
            box_config::retention(&Config::read_for_local_command(file.as_deref())?.commands);
        let mut usage = storage::measure(&data);
        if self.clear {
            let freed: Result<Vec<u64>, Failure> = usage.iter().map(storage::clear).collect();
            let freed: u64 = freed?.iter().sum();
            let value = || json!({"freed": freed});
            let text = || format!("{} given back\n", size(freed));
            return Ok(Reply::either(self.json, value, text));
        }
        usage.sort_by_key(|one| std::cmp::Reverse(one.bytes.iter().sum::<u64>()));
        let value = || to_json(&usage, &retention);
        Ok(Reply::either(self.json, value, || to_text(&usage, &retention, context.terminal)))
    }
}

fn to_json(usage: &[WorkspaceUsage], retention: &RetentionLimits) -> Value {
    let workspace = |one: &WorkspaceUsage| {
        let parts = PARTS.iter().zip(&one.bytes);
        let parts: Map<String, Value> =
            parts.map(|(part, bytes)| (part.name.to_owned(), json!(bytes))).collect();
        json!({"workspace": one.state.name, "bytes": parts})
    };
    let budgets = PARTS.iter().filter_map(|part| {
        let budget = (part.budget)(retention)?;
        Some((part.name.to_owned(), json!(budget)))
    });
    let budgets: Map<String, Value> = budgets.collect();
    let workspaces: Vec<Value> = usage.iter().map(workspace).collect();
    json!({"workspaces": workspaces, "budgets": budgets})
}

fn to_text(usage: &[WorkspaceUsage], retention: &RetentionLimits, terminal: Terminal) -> String {
    if usage.is_empty() {
        return "nothing is kept\n".to_owned();
    }
    let names = PARTS.iter().map(|part| part.name.to_uppercase());
    let headings: Vec<String> = names.chain(["TOTAL".to_owned(), "WORKSPACE".to_owned()]).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = Table::new(&headings);
    for one in usage {
        let total = one.bytes.iter().sum();
        let sizes = one.bytes.iter().chain(std::iter::once(&total)).map(|bytes| size(*bytes));
        table.push(sizes.chain(std::iter::once(one.state.name.clone())).collect());
    }
    let budgets = PARTS
        .iter()
        .filter_map(|part| Some(format!("{} {}", part.name, size((part.budget)(retention)?))));
    let budgets = budgets.collect::<Vec<_>>().join(", ");
    let hint = format!("at most, of each workspace: {budgets}; --clear removes these");
    table.render_with_hint(terminal, Some(&hint))
}

/// Bytes as people count them.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes: Vec<String> = [0, 1_023, 1_536, 3 << 20, 5 << 30].map(size).to_vec();
        assert_eq!(sizes, ["0 B", "1023 B", "1.5 KiB", "3.0 MiB", "5.0 GiB"]);
    }
}
