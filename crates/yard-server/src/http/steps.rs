//! Steps over HTTP: every change of the workspace, newest first, with its diff and its undo.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{
    BackTo, ChangeExtent, ChangePage, HistoryEntry, ListSteps, PreviewUndo, Redo, Show,
    ShownChange, Undo, UndoKind, UndoPreview, UndoScope, Undone, WentBack,
};
use yard_core::{Author, ChatId, ContentHash, WsPath};

use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::word::Word;

/// An answer ends with the diff that makes it this long, in bytes.
const PAGE_BYTES: u64 = 256 << 10;
/// The longest diff of one file, in bytes.
pub(super) const DIFF_BYTES: u64 = 4 << 20;
/// Most changes in one answer.
const MAX_CHANGES: usize = 1_000;

/// A step, in one line.
#[derive(Serialize, JsonSchema)]
pub(super) struct StepLine {
    id: String,
    /// From 1 on, one after the other.
    number: u64,
    at: String,
    /// `agent`, `person` or `external`.
    author: &'static str,
    /// Who exactly, as `person:ID` or `key:ID`.
    actor: String,
    /// The operation.
    verb: String,
    /// The chat in which it happened.
    chat_id: Option<String>,
    /// The step that it undid.
    undoes: Option<String>,
    /// The step that it went back to.
    back_to: Option<String>,
    /// How many files it changed.
    files: u64,
    /// The first path that it changed.
    path: Option<String>,
    /// Lines of texts that are new. Null if it changed no text, if that is too much to count here, or if the caller may not
    /// read all of it.
    lines_added: Option<u64>,
    /// Lines of texts that are gone; null as `lines_added` is.
    lines_removed: Option<u64>,
}

/// Which steps: those that fit everything that is sent.
#[derive(Deserialize, JsonSchema)]
pub(super) struct StepsQuery {
    /// At most that many entries, 1 to 1,000 (default 100). Fewer come, with a `next`, where counting their lines takes long.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    cursor: Option<String>,
    /// Only those of an `agent`, of a `person`, or of another program (`external`).
    author: Option<Word<Author>>,
    /// Only those of this actor, as `person:ID`, `key:ID` or `external`.
    actor: Option<String>,
    /// Only those of this chat.
    chat: Option<String>,
    /// Only those that changed this file, or something in this folder, by the path of then or of now.
    path: Option<String>,
    /// Only those of this operation, such as `edit`.
    verb: Option<String>,
    /// Only the step with this `number` and those before it: with `limit=1`, that step.
    through: Option<u64>,
}

impl From<&HistoryEntry> for StepLine {
    fn from(entry: &HistoryEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            number: entry.number,
            at: entry.at.to_string(),
            author: entry.author.word(),
            actor: entry.actor.clone(),
            verb: entry.verb.clone(),
            chat_id: entry.chat.map(|chat| chat.to_string()),
            undoes: entry.undoes.map(|step| step.to_string()),
            back_to: entry.back_to.map(|step| step.to_string()),
            files: entry.files,
            path: entry.path.as_ref().map(ToString::to_string),
            lines_added: entry.lines.map(|lines| lines.added),
            lines_removed: entry.lines.map(|lines| lines.removed),
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
    /// A diff was cut: that of a file is at most 4 MiB long.
    truncated: bool,
    /// More changes remain: send this as `cursor`.
    next: Option<String>,
}

/// Which changes of a step.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ChangesQuery {
    /// At most that many changes, 1 to 1,000 (default 1,000). Fewer come, with a `next`, where their diffs are long.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    cursor: Option<String>,
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

/// Which part of it, whether only to show it, and what was shown.
#[derive(Deserialize, JsonSchema)]
pub(super) struct UndoOptions {
    /// Only show what would be done.
    #[serde(default)]
    preview: bool,
    /// At most that many changes in a preview, 1 to 1,000 (default 1,000). Fewer come, with a `next`, where their diffs are
    /// long.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where a preview goes on: the `next` of the answer before. If the `state_hash` is another one by then, something
    /// changed: begin again.
    cursor: Option<String>,
    /// Only what happened to these files, and in these folders (default: everything).
    #[serde(default)]
    paths: Vec<String>,
    /// The `state_hash` of a preview with the same paths: if something else would be done by now, nothing is.
    state_hash: Option<String>,
}

impl UndoOptions {
    fn paths(&self) -> Result<Vec<WsPath>, Problem> {
        let parse = |path: &String| {
            WsPath::parse(path).map_err(|error| Problem::invalid("paths", error.to_string()))
        };
        self.paths.iter().map(parse).collect()
    }

    fn scope(&self) -> Result<UndoScope, Problem> {
        let state = self.state_hash.as_deref().map(str::parse).transpose();
        let state = state.map_err(|_| {
            Problem::invalid("state_hash", "expected the `state_hash` of a preview")
        })?;
        Ok(UndoScope { paths: self.paths()?, state })
    }
}

/// What was done, or would be.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum UndoReply {
    /// With `preview`.
    Preview {
        /// What would be done.
        preview: Preview,
    },
    /// A step was undone, or its undo.
    Undone {
        /// The new step: undo it to have the change again.
        step_id: String,
        /// The step that it undid.
        undoes: String,
        /// The files that it changed.
        paths: Vec<String>,
        /// Build output that stays as it is: it is something else by now, or was not kept.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
    /// Everything after a step was taken back.
    WentBack {
        /// The new step: undo it to have everything again.
        step_id: String,
        /// The step.
        back_to: String,
        /// The files that it changed.
        paths: Vec<String>,
        /// Build output that stays as it is: it is something else by now, or was not kept.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
}

impl From<Undone> for UndoReply {
    fn from(done: Undone) -> Self {
        Self::Undone {
            step_id: done.step.to_string(),
            undoes: done.undoes.to_string(),
            paths: texts(&done.paths),
            left: texts(&done.left),
        }
    }
}

impl From<WentBack> for UndoReply {
    fn from(done: WentBack) -> Self {
        Self::WentBack {
            step_id: done.step.to_string(),
            back_to: done.back_to.to_string(),
            paths: texts(&done.paths),
            left: texts(&done.left),
        }
    }
}

/// What an undo would do.
#[derive(Serialize, JsonSchema)]
pub(super) struct Preview {
    changes: Vec<Change>,
    /// What is in its way; with `paths` the rest can be taken back.
    conflicts: Vec<Conflict>,
    /// Build output that would stay as it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
    /// A diff was cut: that of a file is at most 4 MiB long.
    truncated: bool,
    /// More changes remain: send this as `cursor`.
    next: Option<String>,
    /// Send it to have exactly this done. Null if something is in its way, or nothing would change.
    state_hash: Option<String>,
}

/// A file that cannot be taken back.
#[derive(Serialize, JsonSchema)]
pub(super) struct Conflict {
    path: String,
    /// What is in the way.
    why: String,
}

impl From<UndoPreview> for Preview {
    fn from(preview: UndoPreview) -> Self {
        let conflicts = preview.conflicts.into_iter();
        Self {
            changes: preview.changes.iter().map(Change::from).collect(),
            conflicts: conflicts
                .map(|conflict| Conflict { path: conflict.path.to_string(), why: conflict.why })
                .collect(),
            left: texts(&preview.left),
            truncated: preview.truncated,
            next: preview.next.map(|next| next.to_string()),
            state_hash: preview.state.map(|state| state.to_string()),
        }
    }
}

fn texts(paths: &[WsPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let StepsQuery { limit, cursor, author, actor, chat, path, verb, through } = request.query()?;
    let paging = Paging { limit, cursor };
    let author = author.map(|Word(author)| author);
    let chat: Option<ChatId> = chat.map(|chat| chat.parse()).transpose().map_err(|_| {
        Problem::invalid("chat", "expected the id of a chat; GET .../chats lists them")
    })?;
    let path = path.map(|path| path_of(&path)).transpose()?;
    let (limit, before) = (paging.limit()?, paging.cursor()?);
    let answer =
        request.perform(ListSteps { author, actor, chat, verb, path, limit, through, before })?;
    let next = answer.steps.last().filter(|_| answer.truncated).map(|step| step.id.to_string());
    Reply::ok(&Steps { steps: answer.steps.iter().map(StepLine::from).collect(), next })
}

/// The path in a query, as answers show paths.
pub(super) fn path_of(text: &str) -> Result<WsPath, Problem> {
    WsPath::parse_shown(text).map_err(|error| Problem::invalid("path", error.to_string()))
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let step = request.id("step_id", "step")?;
    let ChangesQuery { limit, cursor } = request.query()?;
    let extent = ChangeExtent::Page(change_page(limit.unwrap_or(MAX_CHANGES), cursor)?);
    let shown = request.perform(Show { step, extent })?;
    let step = Step {
        line: StepLine::from(&shown.step),
        changes: shown.changes.iter().map(Change::from).collect(),
        truncated: shown.truncated,
        next: shown.next.map(|next| next.to_string()),
    };
    Reply::ok(&OneStep { step })
}

/// A page of changes, which goes on at the number of changes that were shown.
fn change_page(limit: usize, cursor: Option<String>) -> Result<ChangePage, Problem> {
    let paging = Paging { limit: Some(limit), cursor };
    Ok(changes_from(paging.cursor()?.unwrap_or(0), paging.limit()?))
}

/// A page of changes as long as an answer may be.
pub(super) fn changes_from(skip: usize, limit: usize) -> ChangePage {
    ChangePage { skip, limit, max_bytes: PAGE_BYTES, max_diff_bytes: DIFF_BYTES }
}

pub(super) fn undo(request: &HttpRequest) -> Result<Reply, Problem> {
    take_back(request, UndoKind::Undo)
}

pub(super) fn redo(request: &HttpRequest) -> Result<Reply, Problem> {
    take_back(request, UndoKind::Redo)
}

pub(super) fn back_to(request: &HttpRequest) -> Result<Reply, Problem> {
    take_back(request, UndoKind::BackTo)
}

fn take_back(request: &HttpRequest, kind: UndoKind) -> Result<Reply, Problem> {
    let options: UndoOptions = request.json()?;
    let step = request.id("step_id", "step")?;
    if options.preview {
        let paths = options.paths()?;
        let page = change_page(options.limit.unwrap_or(MAX_CHANGES), options.cursor)?;
        let preview = PreviewUndo { kind, step, paths, extent: ChangeExtent::Page(page) };
        let preview = request.perform(preview)?.into();
        return Reply::ok(&UndoReply::Preview { preview });
    }
    let scope = options.scope()?;
    let done: UndoReply = match kind {
        UndoKind::Undo => request.perform(Undo { step, scope })?.into(),
        UndoKind::Redo => request.perform(Redo { step, scope })?.into(),
        UndoKind::BackTo => request.perform(BackTo { step, scope })?.into(),
    };
    Reply::ok(&done)
}
