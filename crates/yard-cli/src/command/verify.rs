//! `toolyard verify`: the audit chain, the store, and the store against the disk.

use serde_json::json;
use yard_core::WsPath;
use yard_core::op::{Verified, Verify};
use yard_gate::Actor;
use yard_store::{Registry as _, SqliteRegistry};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::location;
use crate::reply::Reply;
use crate::terminal::{ADDED, FAINT, REMOVED, Terminal, visible_cell};

/// How many paths of a kind the text shows. The JSON has all of them.
const SHOWN: usize = 10;

/// Check the audit chain, the history, and the history against the disk
#[derive(clap::Args)]
#[command(
    after_help = "Exit code 1 when there is damage. A file that changed behind Toolyard's back is none."
)]
pub(crate) struct Options {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let mut verified = local.perform_in(&local.call_without_deadline(), Verify)?;
        let people_rows = check_people(context, &mut verified.problems)?;
        let exit = u8::from(!verified.problems.is_empty());
        let value = || {
            json!({
                "ok": verified.problems.is_empty(),
                "audit_rows": verified.audit_rows,
                "people_audit_rows": people_rows,
                "steps": verified.steps,
                "contents": verified.contents,
                "synced": verified.synced,
                "unsynced": verified.unsynced.iter().map(WsPath::to_string).collect::<Vec<_>>(),
                "shadowed": verified.shadowed.iter().map(WsPath::to_string).collect::<Vec<_>>(),
                "problems": verified.problems,
            })
        };
        let text = || to_text(&verified, context.terminal);
        Ok(Reply { exit, ..Reply::either(self.json, value, text) })
    }
}

/// Checks the audit chain of a server's people and keys, if the data folder is one of a server. Returns how many rows
/// it has.
fn check_people(
    context: &CommandContext,
    problems: &mut Vec<String>,
) -> Result<Option<u64>, Failure> {
    let Some(data) = location::data_folder_of_server(context.data_dir()) else { return Ok(None) };
    let (rows, wrong) = SqliteRegistry::open(&data)?.check_audit()?;
    problems.extend(wrong);
    Ok(Some(rows))
}

fn to_text(verified: &Verified, terminal: Terminal) -> String {
    let mut text = format!(
        "checked: {} steps, {} contents, {} audit rows; on disk as recorded: {}\n",
        verified.steps, verified.contents, verified.audit_rows, verified.synced
    );
    text.push_str(&paths("changed behind our back", &verified.unsynced, terminal));
    if !verified.unsynced.is_empty() {
        text.push_str(&terminal.line(FAINT, "toolyard import records those"));
    }
    text.push_str(&paths("hidden by a chat of that name", &verified.shadowed, terminal));
    for problem in &verified.problems {
        let line = format!("problem: {}", visible_cell(problem));
        text.push_str(&terminal.line(REMOVED, &line));
    }
    if verified.problems.is_empty() {
        text.push_str(&terminal.line(ADDED, "no damage"));
    }
    text
}

/// The first paths of a list, a line each, and how many more there are.
fn paths(what: &str, all: &[WsPath], terminal: Terminal) -> String {
    let mut text = String::new();
    for path in all.iter().take(SHOWN) {
        text.push_str(&format!("{what}: {}\n", visible_cell(&path.to_string())));
    }
    if all.len() > SHOWN {
        let more = format!("... and {} more\n", all.len() - SHOWN);
        text.push_str(&terminal.paint(FAINT, &more));
    }
    text
}
