//! `toolyard history`: the steps of a workspace, or of one file in it.

use serde_json::{Value, json};
use yard_core::Timestamp;
use yard_core::op::{History, HistoryAnswer, HistoryEntry, HistoryOf};
use yard_gate::Actor;

use crate::context::CommandContext;
use crate::crash_leftovers;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::short_ids;
use crate::table::Table;
use crate::terminal::Terminal;

/// The default limit of steps for scripts.
const JSON_LIMIT: usize = 10_000;
/// The default limit of steps for people.
const TABLE_LIMIT: usize = 50;

const EXAMPLES: &str = "\
Examples:
  toolyard history                    the newest steps of the workspace
  toolyard history src/main.rs        every step that changed one file
  toolyard history --json --limit 1   for scripts";

/// List steps, newest first
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Only steps that changed this file
    path: Option<String>,
    /// At most that many [default: 50, with --json 10000]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only steps before this one
    #[arg(long, value_name = "STEP")]
    before: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let path = self.path.as_deref().map(|text| local.path(text)).transpose()?;
        let before =
            self.before.as_deref().map(|name| short_ids::resolve(&local, name)).transpose()?;
        let default = if self.json { JSON_LIMIT } else { TABLE_LIMIT };
        let limit = self.limit.unwrap_or(default);
        let about_file = path.is_some();
        let of = path.map_or(HistoryOf::Workspace, HistoryOf::Path);
        let answer = local.perform(History { of, limit, before })?;
        let leftovers = local.session.leftovers()?;
        Ok(if self.json {
            let mut value = to_json(&answer, about_file);
            if !leftovers.is_empty() {
                value["leftovers"] = crash_leftovers::to_json(&leftovers);
            }
            Reply::json(value)
        } else {
            let mut text = to_text(&answer, about_file, context.terminal);
            text.push_str(&crash_leftovers::to_text(&leftovers, context.terminal));
            Reply::text(text)
        })
    }
}

fn to_json(answer: &HistoryAnswer, about_file: bool) -> Value {
    let steps: Vec<Value> = answer.steps.iter().map(|step| step_json(step, about_file)).collect();
    let next = answer.steps.last().filter(|_| answer.truncated).map(|step| step.id.to_string());
    json!({"steps": steps, "truncated": answer.truncated, "next": next})
}

/// One step; with the file's content after it where one file was asked for.
pub(super) fn step_json(step: &HistoryEntry, about_file: bool) -> Value {
    let mut value = json!({
        "id": step.id.to_string(),
        "at": step.at.to_string(),
        "author": step.author.word(),
        "verb": step.verb,
        "undoes": step.undoes.map(|id| id.to_string()),
        "files": step.files,
        "path": step.path.as_ref().map(ToString::to_string),
    });
    if about_file {
        value["hash"] = json!(step.hash.map(|hash| hash.to_string()));
        value["version_id"] = json!(step.version.map(|version| version.to_string()));
        value["size"] = json!(step.size);
    }
    value
}

fn to_text(answer: &HistoryAnswer, about_file: bool, terminal: Terminal) -> String {
    if answer.steps.is_empty() {
        return "no steps\n".to_owned();
    }
    let ids: Vec<String> = answer.steps.iter().map(|step| step.id.to_string()).collect();
    let length = short_ids::short_length(&ids);
    let column = if about_file { "CONTENT" } else { "FILES" };
    let mut table = Table::new(&["STEP", "TIME", "AUTHOR", "VERB", column, "PATH"]);
    for (step, id) in answer.steps.iter().zip(&ids) {
        table.push(vec![
            id.chars().take(length).collect(),
            local_time(step.at),
            step.author.word().to_owned(),
            step.verb.clone(),
            if about_file { short_hash(step) } else { step.files.to_string() },
            path_and_undone(step, length),
        ]);
    }
    let last = ids.last().filter(|_| answer.truncated);
    let hint = last.map(|last| format!("older steps remain: --before {last}"));
    table.render_with_hint(terminal, hint.as_deref())
}

/// The path of a step, and which step it undid.
fn path_and_undone(step: &HistoryEntry, length: usize) -> String {
    let path = step.path.as_ref().map(ToString::to_string).unwrap_or_default();
    match step.undoes {
        None => path,
        Some(undone) => {
            let undone: String = undone.to_string().chars().take(length).collect();
            format!("{path} (undoes {undone})").trim_start().to_owned()
        }
    }
}

fn short_hash(step: &HistoryEntry) -> String {
    step.hash.map_or_else(|| "-".to_owned(), |hash| hash.to_string().chars().take(12).collect())
}

/// A time in the time zone of the reader, to the second.
pub(super) fn local_time(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.as_millis()) {
        Ok(moment) => {
            let zoned = moment.to_zoned(jiff::tz::TimeZone::system());
            zoned.strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        Err(_) => at.to_string(),
    }
}
