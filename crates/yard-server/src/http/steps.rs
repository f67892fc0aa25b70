//! Steps over HTTP: every change of the workspace, newest first, with its diff and its undo.

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::ContentHash;
use yard_core::op::{History, HistoryEntry, HistoryOf, Show, ShownChange, Undo};

use super::paging::{Paging, cut};
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// Bytes of diff in one answer.
pub(super) const DIFF_BYTES: u64 = 256 << 10;

/// A step, in one line.
#[derive(Serialize, JsonSchema)]
pub(super) struct StepLine {
    id: String,
    at: String,
    /// `agent`, `person` or `external`.
    author: &'static str,
    /// Who exactly, as `person:ID` or `key:ID`.
    actor: String,
    /// The operation.
    verb: String,
    /// The step that it undid.
    undoes: Option<String>,
    /// How many files it changed.
    files: u64,
    /// The first path that it changed.
    path: Option<String>,
}

impl From<&HistoryEntry> for StepLine {
    fn from(entry: &HistoryEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            at: entry.at.to_string(),
            author: entry.author.word(),
            actor: entry.actor.clone(),
            verb: entry.verb.clone(),
            undoes: entry.undoes.map(|step| step.to_string()),
            files: entry.files,
            path: entry.path.as_ref().map(ToString::to_string),
        }
    }
}

/// Steps, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct Steps {
    steps: Vec<StepLine>,
    /// Older ones remain: send this as `cursor`.
    next: Option<String>,
}

/// A step with its changes.
#[derive(Serialize, JsonSchema)]
pub(super) struct Step {
    #[serde(flatten)]
    line: StepLine,
    changes: Vec<Change>,
    /// The diffs were cut.
    truncated: bool,
}

/// A step, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneStep {
    step: Step,
}

/// What a step did to one file.
#[derive(Serialize, JsonSchema)]
pub(super) struct Change {
    file_id: String,
    /// `created`, `modified`, `moved`, `removed` or `touched`.
    summary: &'static str,
    from: Option<String>,
    to: Option<String>,
    hash_before: Option<String>,
    hash_after: Option<String>,
    mode_before: Option<String>,
    mode_after: Option<String>,
    /// A unified diff, for texts that differ.
    diff: Option<String>,
}

impl From<&ShownChange> for Change {
    fn from(change: &ShownChange) -> Self {
        let hash = |hash: Option<ContentHash>| hash.map(|hash| hash.to_string());
        let octal = |mode: u32| format!("{mode:04o}");
        Self {
            file_id: change.file.to_string(),
            summary: change.summary.word(),
            from: change.from.as_ref().map(ToString::to_string),
            to: change.to.as_ref().map(ToString::to_string),
            hash_before: hash(change.hashes.0),
            hash_after: hash(change.hashes.1),
            mode_before: change.modes.map(|(before, _)| octal(before)),
            mode_after: change.modes.map(|(_, after)| octal(after)),
            diff: change.diff.clone(),
        }
    }
}

/// What an undo did.
#[derive(Serialize, JsonSchema)]
pub(super) struct Undone {
    /// The new step: undo it to have the change again.
    step_id: String,
    undoes: String,
    paths: Vec<String>,
    /// Build output that stays as it is: it is something else by now, or was not kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let history =
        History { of: HistoryOf::Workspace, limit: paging.limit()? + 1, before: paging.cursor()? };
    let steps = request.perform(history)?.steps;
    let (steps, next) = cut(steps, &paging, |step| step.id.to_string());
    Reply::ok(&Steps { steps: steps.iter().map(StepLine::from).collect(), next })
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let step = request.id("step_id", "step")?;
    let shown = request.perform(Show { step, max_bytes: DIFF_BYTES })?;
    let changes = shown.changes.iter().map(Change::from).collect();
    let step = Step { line: StepLine::from(&shown.step), changes, truncated: shown.truncated };
    Reply::ok(&OneStep { step })
}

pub(super) fn undo(request: &HttpRequest) -> Result<Reply, Problem> {
    let done = request.perform(Undo::of(request.id("step_id", "step")?))?;
    Reply::ok(&Undone {
        step_id: done.step.to_string(),
        undoes: done.undoes.to_string(),
        paths: done.paths.iter().map(ToString::to_string).collect(),
        left: done.left.iter().map(ToString::to_string).collect(),
    })
}
