//! `toolyard blame`: the step, the actor and the time that each line of a file came from.

use std::collections::HashMap;

use serde_json::{Value, json};
use yard_core::op::{Blame, BlameOf, Blamed, FETCH_BYTES, FetchVersion, HistoryEntry};
use yard_core::{StepId, text};
use yard_gate::Actor;

use crate::context::{CommandContext, LocalSession};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::short_ids;
use crate::table::Table;

use super::history::{local_time, step_json};

/// How many ranges of lines are read at a time.
const RANGES: usize = 10_000;

const EXAMPLES: &str = "\
Examples:
  toolyard blame src/main.rs            who wrote each line, and when
  toolyard blame src/main.rs --json     ranges of lines with their steps, for scripts

`toolyard show STEP` shows what the step of a line changed. What an undo or a restore brought back
has the step that it came from first. Only what the history has recorded is shown: `toolyard import`
records what other programs changed.";

/// Show the step that each line of a file came from
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// File
    file: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let path = local.path(&self.file)?;
        let mut blame =
            Blame { of: BlameOf::Path(path), version: None, first_line: 1, limit: RANGES };
        let mut blamed = local.perform(blame.clone())?;
        while let Some(next) = blamed.next_line {
            // The rest is that of the same version, also if there is a newer one by now.
            (blame.version, blame.first_line) = (Some(blamed.version), next);
            let more = local.perform(blame.clone())?;
            let is_known =
                |step: &HistoryEntry| blamed.steps.iter().any(|known| known.id == step.id);
            let steps: Vec<_> = more.steps.into_iter().filter(|step| !is_known(step)).collect();
            blamed.steps.extend(steps);
            blamed.ranges.extend(more.ranges);
            blamed.next_line = more.next_line;
        }
        if self.json {
            return Ok(Reply::json(to_json(&blamed)));
        }
        let bytes = bytes_of(&local, &blamed)?;
        Ok(Reply::text(to_table(&blamed, &bytes).render(context.terminal)))
    }
}

fn to_json(blamed: &Blamed) -> Value {
    let ranges = blamed.ranges.iter().map(|range| {
        json!({
            "first_line": range.first_line,
            "last_line": range.last_line,
            "step_id": range.step.to_string(),
        })
    });
    let steps = blamed.steps.iter().map(|step| {
        let mut value = step_json(step, false);
        value["actor"] = json!(step.actor);
        value
    });
    json!({
        "file_id": blamed.file.to_string(),
        "path": blamed.path.to_string(),
        "version_id": blamed.version.to_string(),
        "hash": blamed.hash.to_string(),
        "total_lines": blamed.total_lines,
        "ranges": ranges.collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
    })
}

/// All bytes of the version.
fn bytes_of(local: &LocalSession, blamed: &Blamed) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    loop {
        let fetch = FetchVersion {
            version: blamed.version,
            of: Some(blamed.file),
            offset: bytes.len() as u64,
            length: FETCH_BYTES,
        };
        let part = local.perform(fetch)?;
        bytes.extend_from_slice(&part.bytes);
        if part.bytes.is_empty() || bytes.len() as u64 >= part.size {
            return Ok(bytes);
        }
    }
}

fn to_table(blamed: &Blamed, bytes: &[u8]) -> Table {
    let ids: Vec<String> = blamed.steps.iter().map(|step| step.id.to_string()).collect();
    let length = short_ids::short_length(&ids);
    let steps: HashMap<StepId, &HistoryEntry> =
        blamed.steps.iter().map(|step| (step.id, step)).collect();
    let decoded = text::detect(bytes).map(|encoding| text::decode(bytes, encoding));
    let decoded = decoded.unwrap_or_default();
    let mut lines = decoded.split_inclusive('\n');
    let digits = blamed.total_lines.to_string().len();
    let mut table = Table::new(&["STEP", "ACTOR", "TIME", "LINE", "TEXT"]);
    for range in &blamed.ranges {
        let step = steps.get(&range.step);
        for (number, line) in (range.first_line..=range.last_line).zip(&mut lines) {
            table.push(vec![
                range.step.to_string().chars().take(length).collect(),
                step.map(|step| actor(step)).unwrap_or_default(),
                step.map(|step| local_time(step.at)).unwrap_or_default(),
                format!("{number:>digits$}"),
                line.trim_end_matches(['\n', '\r']).replace('\t', "    "),
            ]);
        }
    }
    table
}

/// The actor in one short word: an id of a person or key is cut.
fn actor(step: &HistoryEntry) -> String {
    match step.actor.split_once(':') {
        Some((kind, id)) if id.len() > 12 => {
            format!("{kind}:{}", id.chars().take(8).collect::<String>())
        }
        _ => step.actor.clone(),
    }
}
