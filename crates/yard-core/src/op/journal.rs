//! Operations on history: history, show, trash, restore, undo, redo, back-to, import, verify.

use super::LineCount;
use crate::{Author, ChatId, ContentHash, FileId, FileKind, StepId, Timestamp, VersionId, WsPath};

/// The files whose history is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryOf {
    /// Every step.
    Workspace,
    /// The file that is at this path now, or was last.
    Path(WsPath),
    /// A file by its id, wherever it is, or was.
    File(FileId),
}

/// Lists steps, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Of one file, or of all.
    pub of: HistoryOf,
    /// At most that many.
    pub limit: usize,
    /// Only those before this step (how a cut answer goes on).
    pub before: Option<StepId>,
}

/// Steps, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryAnswer {
    /// The steps.
    pub steps: Vec<HistoryEntry>,
    /// Older ones remain.
    pub truncated: bool,
}

/// One step in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The step.
    pub id: StepId,
    /// Its number: the first step of a workspace is 1, and the next one always has the next number.
    pub number: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The author.
    pub author: Author,
    /// The actor of its audit row, such as `person:UUID`.
    pub actor: String,
    /// The operation.
    pub verb: String,
    /// The chat in which it happened.
    pub chat: Option<ChatId>,
    /// The step that it undid.
    pub undoes: Option<StepId>,
    /// The step that it went back to.
    pub back_to: Option<StepId>,
    /// How many files it changed.
    pub files: u64,
    /// The first path that it changed; with a file asked for, that file's path after it.
    pub path: Option<WsPath>,
    /// With a file asked for: the file's content after it, if it has one.
    pub hash: Option<ContentHash>,
    /// With a file asked for: the version that it made, if it made one.
    pub version: Option<VersionId>,
    /// With a file asked for: the size after it.
    pub size: Option<u64>,
    /// How many lines it added and removed, where that was asked for. None also if it changed no text, if that is too
    /// much to count, or if the caller may not read all of it.
    pub lines: Option<LineCount>,
}

/// Which of some changes an answer has, and how much of their diffs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeExtent {
    /// All changes. They have diffs until these have that many bytes; the others have none.
    All {
        /// At most that many bytes of diff.
        max_bytes: u64,
    },
    /// Some changes with their diffs, and where the next page begins.
    Page(ChangePage),
}

/// A page of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangePage {
    /// That many changes are left out first.
    pub skip: usize,
    /// At most that many changes. There are fewer, and more remain, where their diffs are long.
    pub limit: usize,
    /// The page ends with the diff that makes it this long, in bytes.
    pub max_bytes: u64,
    /// A longer diff of one file is cut.
    pub max_diff_bytes: u64,
}

/// Shows one step with its changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Show {
    /// The step.
    pub step: StepId,
    /// Which of its changes.
    pub extent: ChangeExtent,
}

impl Show {
    /// A step with all its changes, and at most so many bytes of diff.
    pub fn all(step: StepId, max_bytes: u64) -> Self {
        Self { step, extent: ChangeExtent::All { max_bytes } }
    }
}

/// One step, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its entry in the history.
    pub step: HistoryEntry,
    /// File by file.
    pub changes: Vec<ShownChange>,
    /// A diff was cut or left out.
    pub truncated: bool,
    /// How many changes are left out for the next page, if there is one.
    pub next: Option<usize>,
}

crate::spelled_enum! {
    /// The kind of a change of one file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ChangeSummary {
        /// It was made.
        Created = "created",
        /// Its content, mode or type changed.
        Modified = "modified",
        /// It was moved or renamed (its content may have changed too).
        Moved = "moved",
        /// It was removed.
        Removed = "removed",
        /// Its time was set.
        Touched = "touched",
    }
}

/// One file of a shown step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownChange {
    /// The file.
    pub file: FileId,
    /// What happened.
    pub summary: ChangeSummary,
    /// Its path before, if it was.
    pub from: Option<WsPath>,
    /// Its path after, if it is.
    pub to: Option<WsPath>,
    /// Mode bits before and after, where they differ.
    pub modes: Option<(u32, u32)>,
    /// Content before and after.
    pub hashes: (Option<ContentHash>, Option<ContentHash>),
    /// A unified diff, for texts that differ.
    pub diff: Option<String>,
}

/// Lists removed entries that can be restored, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trash {
    /// At most that many.
    pub limit: usize,
    /// That many are left out first.
    pub skip: usize,
}

/// Entries that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashAnswer {
    /// Newest first.
    pub entries: Vec<Trashed>,
    /// Older ones remain.
    pub truncated: bool,
}

/// One removed file, folder or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trashed {
    /// Its id.
    pub file: FileId,
    /// Where it was.
    pub path: WsPath,
    /// What it was.
    pub kind: FileKind,
    /// Its size in bytes; a folder has none.
    pub size: Option<u64>,
    /// When it was removed; unknown if another program deleted it.
    pub removed_at: Option<Timestamp>,
    /// The step that removed it; none if another program deleted it.
    pub step: Option<StepId>,
}

/// Brings a removed file back to where it was, or writes an old version of a living one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restore {
    /// A removed file, by its id.
    Removed(FileId),
    /// The file that was last removed at this path.
    RemovedAt(WsPath),
    /// A version of a living file becomes its newest.
    Version(VersionId),
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The file.
    pub file: FileId,
    /// Where it is.
    pub path: WsPath,
    /// The step that brought it back.
    pub step: StepId,
}

/// Which part of an undo is done, and only if it is what was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoScope {
    /// Only what happened to these files and to the contents of these folders; everything, if there are none.
    pub paths: Vec<WsPath>,
    /// The state of a preview. If the undo would do anything else by now, it does nothing.
    pub state: Option<ContentHash>,
}

/// Undoes one step, old or new, keeping everything that came after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// The step.
    pub step: StepId,
    /// Which part of it.
    pub scope: UndoScope,
}

impl Undo {
    /// The undo of a whole step.
    pub fn of(step: StepId) -> Self {
        Self { step, scope: UndoScope::default() }
    }
}

/// Undoes the newest undo of a step, so that what the step did is there again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redo {
    /// The step that was undone.
    pub step: StepId,
    /// Which part of it.
    pub scope: UndoScope,
}

/// Takes back everything that happened after a step. What other programs made since stays as it was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackTo {
    /// The step.
    pub step: StepId,
    /// Which part of what happened after it.
    pub scope: UndoScope,
}

/// The ways of taking something back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoKind {
    /// As [`Undo`] does it.
    Undo,
    /// As [`Redo`] does it.
    Redo,
    /// As [`BackTo`] does it.
    BackTo,
}

/// Shows what an undo would do, and does nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewUndo {
    /// How something would be taken back.
    pub kind: UndoKind,
    /// The step.
    pub step: StepId,
    /// As in [`UndoScope`].
    pub paths: Vec<WsPath>,
    /// Which of the changes that it would make.
    pub extent: ChangeExtent,
}

/// What an undo would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPreview {
    /// File by file.
    pub changes: Vec<ShownChange>,
    /// What is in its way.
    pub conflicts: Vec<UndoConflict>,
    /// Build output that would stay as it is.
    pub left: Vec<WsPath>,
    /// A diff was cut or left out.
    pub truncated: bool,
    /// How many changes are left out for the next page, if there is one.
    pub next: Option<usize>,
    /// The state that an undo of exactly this has to name; there is none if something is in its way, or nothing would
    /// change.
    pub state: Option<ContentHash>,
}

/// A file that cannot be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoConflict {
    /// The file.
    pub path: WsPath,
    /// Why not.
    pub why: String,
}

/// The result of an undo or a redo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The new step.
    pub step: StepId,
    /// The step that it undid.
    pub undoes: StepId,
    /// The paths that it changed.
    pub paths: Vec<WsPath>,
    /// Build output that stays as it is: it is something else by now, or was not kept.
    pub left: Vec<WsPath>,
}

/// The result of going back to a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WentBack {
    /// The new step.
    pub step: StepId,
    /// The step after which everything was taken back.
    pub back_to: StepId,
    /// The paths that it changed.
    pub paths: Vec<WsPath>,
    /// Build output that stays as it is: it is something else by now, or was not kept.
    pub left: Vec<WsPath>,
}

/// Records what is on disk below `path` and differs from what the store knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The folder or file.
    pub path: WsPath,
    /// Also what ignore files exclude.
    pub include_ignored: bool,
}

/// What an import recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The step, if anything differed.
    pub step: Option<StepId>,
    /// New to the store.
    pub added: u64,
    /// Changed by another program.
    pub changed: u64,
    /// Deleted by another program.
    pub removed: u64,
    /// Looked at and equal.
    pub unchanged: u64,
    /// What could not be recorded, and why.
    pub skipped: Vec<(WsPath, String)>,
}

/// Checks the audit chain, the store, and the store against the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verify;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Audit rows whose chain was recomputed.
    pub audit_rows: u64,
    /// Steps whose digest was recomputed.
    pub steps: u64,
    /// Contents that were read back and hashed.
    pub contents: u64,
    /// Files that the store knows and the disk agrees with.
    pub synced: u64,
    /// Files that another program changed (no damage: `import` records them).
    pub unsynced: Vec<WsPath>,
    /// What is on disk and cannot be seen, because a virtual file is in its place (no damage: rename
    /// it to see it again; W18).
    pub shadowed: Vec<WsPath>,
    /// A message for each damage.
    pub problems: Vec<String>,
}
