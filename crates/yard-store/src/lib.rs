//! What survives a crash: the contents and steps of one workspace (`Store`), and beside them its chats,
//! questions, approvals, comments, display names and events (`WorkspaceRecords`); and the people of a server (`Registry`).
//!
//! `Store` names contents by hash, steps by their number in one growing sequence, and files by id. It does
//! not know paths on a disk, policies or dialects; and its callers do not know SQL, deltas or files.
//! Every implementation passes the same contract suite (`yard-testkit/src/contract.rs`).

#![forbid(unsafe_code)]

mod approval;
mod audit;
pub mod blobs;
mod chat;
mod comment;
mod display_name;
mod event;
mod later;
mod question;
mod record;
pub mod registry;
mod seen;
pub mod sqlite;
mod traces;
mod unread;

pub use approval::{
    Approval, ApprovalFilter, ApprovalRequest, ApprovalStatus, ApprovalStore, ApprovalTotals,
    Decision, Grant, NewApproval, NewDecision, ReplacedGrants, Revision, Scope,
};
pub use audit::{AuditEntry, AuditRow, AuditedStep, Formula, Seal, chain, first_chain};
pub use blobs::{Base, Effort, KeptFile, Prepared, Retention};
pub use chat::{Chat, ChatStore, Mode, NewChat, NewTurn, Turn, TurnKind, chat_file_name};
pub use comment::{Comment, CommentStore, CommentTarget};
pub use display_name::DisplayNames;
pub use event::{ChangedFile, EVENT_PATHS, Event, EventLog, EventRow, StepEvent, TerminalState};
pub use later::{LaterMarks, WaitingItem};
pub use question::{NewQuestion, Question, QuestionAnswer, QuestionFilter, QuestionStore, Via};
pub use record::{
    Batch, Change, ChangedEntry, ContentCheck, ContentLocation, FileIdentity, FileThen, Maker,
    Mark, NetChange, NewChange, NewStep, Node, OthersChange, Placement, Purged, RecoveryNote,
    RootIdentity, SeenContent, Seq, StepFilter, StepRow, StepSideEffect, StoredCounts, VersionRow,
    step_digest,
};
pub use registry::Registry;
pub use seen::{MAX_SEEN_MARKS, SeenMark, SeenMarks};
pub use sqlite::{SqliteRegistry, SqliteStore};
pub use unread::UnreadMessages;

use std::ops::{ControlFlow, Range};

use yard_core::path::MAX_PATH_BYTES;
use yard_core::{
    ChatScope, ContentHash, Fault, FaultCode, FileId, FileState, Name, Remedy, StepId, VersionId,
    WsPath,
};

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another append came first; plan again on the new head.
    #[error("the history moved on to step {head}")]
    Moved {
        /// Where it is now.
        head: Seq,
    },
    /// A change does not start from the state of its file, or names a content that is not stored.
    #[error("the step does not fit the history: {0}")]
    Misfit(String),
    /// The data was written by another version of Toolyard.
    #[error("the store has format {found}, this program knows {known}; use the newer toolyard")]
    Format {
        /// What the data says.
        found: u32,
        /// What the program knows.
        known: u32,
    },
    /// The disk below the store is full.
    #[error("the disk of the data folder is full")]
    Full,
    /// The operating system refused.
    #[error("the data folder cannot be used: {0}")]
    Refused(String),
    /// Another I/O error. Whether a write happened is unknown until it is read back.
    #[error("the store failed: {0}")]
    Io(String),
    /// The stored data contradicts itself.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Moved { .. } | StoreError::Misfit(_) => FaultCode::Stale,
            StoreError::Full => FaultCode::DiskFull,
            StoreError::Refused(_) => FaultCode::WriteRefused,
            StoreError::Format { .. } => FaultCode::Unavailable,
            StoreError::Io(_) | StoreError::Corrupt(_) => FaultCode::Io,
        };
        let fault = Self::new(code, error.to_string());
        match error {
            StoreError::Corrupt(_) => fault.with_remedy(Remedy::SetHistoryAside),
            _ => fault,
        }
    }
}

/// What a store returns.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Everything that is stored for one workspace beside its journal.
pub trait WorkspaceRecords:
    ChatStore
    + QuestionStore
    + ApprovalStore
    + CommentStore
    + UnreadMessages
    + SeenMarks
    + LaterMarks
    + DisplayNames
    + EventLog
{
}

impl<T> WorkspaceRecords for T where
    T: ChatStore
        + QuestionStore
        + ApprovalStore
        + CommentStore
        + UnreadMessages
        + SeenMarks
        + LaterMarks
        + DisplayNames
        + EventLog
{
}

/// One workspace's history and contents.
///
/// **Crash notes.** `append`, `append_audit`, `add_placements`, `add_recovery_notes`, `set_root` and `purge` return only after what they wrote is flushed: a crash
/// at any later moment keeps it. A crash, or an error, before they return leaves all of the batch or
/// nothing of it; `step` shows which, after the store is opened again. `remember` and
/// `set_flushed_mark` may lose their newest values in a crash: both are hints that only save work.
/// Everything else reads. A read sees every append that returned before it began, from any process.
pub trait Store: Send + Sync {
    /// The number of the newest step; 0 before the first.
    fn head(&self) -> Result<Seq>;

    /// Appends steps after `expected`, all or none, durable when it returns; the new head.
    ///
    /// Every change must start from its file's current state (as the steps before it in the batch
    /// left it), and every content that it names must be stored already or be in the batch. Each step
    /// gets its row in the audit chain in the same transaction.
    fn append(&self, expected: Seq, batch: Batch<'_>) -> Result<Seq>;

    /// Makes bytes ready to be appended, without storing them: hashed by the caller, brought into a
    /// form here, on the caller's thread. `base` is the version before, against which a small one is
    /// stored. Dropped without having been appended, the result leaves nothing on disk.
    fn prepare(
        &self,
        hash: ContentHash,
        bytes: &[u8],
        base: Option<Base<'_>>,
        effort: Effort,
    ) -> Result<Prepared>;

    /// Moves the bytes of prepared contents from memory to a file, until they are appended or dropped. A store that keeps
    /// everything in memory leaves them there.
    fn move_to_file(&self, contents: &mut [Prepared]) -> Result<()> {
        let _ = contents;
        Ok(())
    }

    /// The content's bytes, if it is stored, was not purged and was not kept as a file of the kernel's.
    fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>>;

    /// Where a content is, without reading it; `None` for a purged one.
    fn locate(&self, hash: &ContentHash) -> Result<Option<ContentLocation>>;

    /// Contents in the order of their hashes, after `after`, without the purged ones: for checks.
    fn contents(&self, after: Option<&ContentHash>, limit: usize) -> Result<Vec<ContentHash>>;

    /// A file by its id, living or removed. The root has none.
    fn node(&self, id: FileId) -> Result<Option<Node>>;

    /// The living entry called `name` in `parent`.
    fn child(&self, parent: FileId, name: &Name) -> Result<Option<Node>>;

    /// The entry that was called `name` in `parent` when it was removed, the newest of them.
    fn former_child(&self, parent: FileId, name: &Name) -> Result<Option<Node>>;

    /// The living entries of a folder, in no order.
    fn children(&self, parent: FileId) -> Result<Vec<Node>>;

    /// Removed files that can come back, newest removal first.
    fn removed(&self, skip: usize, limit: usize) -> Result<Vec<Node>>;

    /// A step by its id.
    fn step(&self, id: StepId) -> Result<Option<StepRow>>;

    /// Steps before `before` (or the newest), newest first; only those that changed `file`, if given.
    fn steps(
        &self,
        file: Option<FileId>,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>>;

    /// Steps of these numbers that fit a filter, newest first. Without an index it looks at each of them, so that it is for
    /// some 100,000 at once.
    fn find_steps(
        &self,
        filter: &StepFilter,
        numbers: Range<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>>;

    /// The entries of a folder after a step, in no order; only the one called `name`, if that is given.
    fn children_then(&self, parent: FileId, name: Option<&Name>, seq: Seq)
    -> Result<Vec<FileThen>>;

    /// The state of a file after a step; `None` if it was not there.
    fn file_then(&self, file: FileId, seq: Seq) -> Result<Option<FileState>>;

    /// Every file that steps of these numbers changed, in the order of the first changes.
    fn net_changes(&self, numbers: Range<Seq>) -> Result<Vec<NetChange>>;

    /// The changes of one step, in the order in which they were made.
    fn changes(&self, seq: Seq) -> Result<Vec<Change>>;

    /// What steps before `before` did to one file, newest first, with their steps.
    fn file_changes(
        &self,
        file: FileId,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<(StepRow, Change)>>;

    /// The makers of a file's first change and of its last; none if the store does not know the file.
    fn makers(&self, file: FileId) -> Result<Vec<Maker>>;

    /// The newest change of a file after step `since` that was not made in the chat `whose` and did not remove the
    /// file; `None` if there is none.
    fn last_by_others(
        &self,
        file: FileId,
        whose: &ChatScope,
        since: Seq,
    ) -> Result<Option<OthersChange>>;

    /// Whether an agent ever changed a file.
    fn was_changed_by_agents(&self, file: FileId) -> Result<bool>;

    /// One version of a file.
    fn version(&self, id: VersionId) -> Result<Option<VersionRow>>;

    /// Remembers the stat signatures under which contents were seen on disk. A hint: forgotten when
    /// the file's content changes.
    fn remember(&self, seen: &[SeenContent]) -> Result<()>;

    /// Up to which step the disk is known to be flushed, and under which boot.
    fn flushed_mark(&self) -> Result<Mark>;

    /// Moves that mark. The placements of all steps up to it are forgotten.
    fn set_flushed_mark(&self, mark: Mark) -> Result<()>;

    /// What a step was about to do to the disk, in the order of its changes; nothing for a step up to the
    /// flushed mark. One change may have several: each time that recovery places it again adds one.
    fn placements(&self, seq: Seq) -> Result<Vec<Placement>>;

    /// Adds placements to a step, durable when it returns: recovery is about to place its files again.
    fn add_placements(&self, seq: Seq, placements: &[Placement]) -> Result<()>;

    /// What a recovery that was cut off noted, in the order in which it noted it.
    fn recovery_notes(&self) -> Result<Vec<RecoveryNote>>;

    /// Adds notes, durable when it returns: recovery is about to change these entries. Moving the flushed mark
    /// forgets them.
    fn add_recovery_notes(&self, notes: &[RecoveryNote]) -> Result<()>;

    /// The folder that this history belongs to, once it was set.
    fn root(&self) -> Result<Option<RootIdentity>>;

    /// Sets the folder that this history belongs to; durable when it returns.
    fn set_root(&self, root: RootIdentity) -> Result<()>;

    /// Removes for good the contents that only these removed files (and files purged before) name,
    /// with the audit row of it in the same transaction; durable when it returns. Versions and steps
    /// stay, and contents that are spliced from purged ones are stored by themselves. A misfit if one of the files
    /// is not a removed one. If it fails after the purge was recorded (`node` shows it), the bytes may still be in the
    /// store's files: purging again clears them.
    fn purge(&self, files: &[FileId], entry: &AuditEntry) -> Result<Purged>;

    /// How many files, steps, versions and removed entries there are.
    fn counts(&self) -> Result<StoredCounts>;

    /// Whether a content was stored once and purged since.
    fn is_purged(&self, hash: &ContentHash) -> Result<bool>;

    /// Names of the kernel's kept files that hold no content any more: the kernel deletes them.
    fn pending_deletions(&self) -> Result<Vec<String>>;

    /// Forgets files that the kernel has deleted.
    fn forget_deletions(&self, names: &[String]) -> Result<()>;

    /// Adds a row to the audit chain that belongs to no step (a denial, say).
    fn append_audit(&self, entry: &AuditEntry) -> Result<()>;

    /// Audit rows after row number `after`, oldest first.
    fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditRow>>;

    /// Reads every content back that was not purged, and calls `each` with the result of comparing its hash, until
    /// `each` breaks.
    fn recheck(
        &self,
        each: &mut dyn FnMut(&ContentHash, ContentCheck) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut after = None;
        loop {
            let hashes = self.contents(after.as_ref(), 1_000)?;
            let Some(last) = hashes.last() else { return Ok(()) };
            after = Some(*last);
            for hash in hashes {
                let found = match self.content(&hash) {
                    Ok(Some(bytes)) if ContentHash::of(&bytes) == hash => ContentCheck::Whole,
                    Ok(Some(_)) => ContentCheck::Damaged("has other bytes".to_owned()),
                    Ok(None) => match self.locate(&hash)?.and_then(|located| located.kept) {
                        Some(file) => ContentCheck::Kept(file),
                        None => ContentCheck::Damaged("is missing".to_owned()),
                    },
                    Err(StoreError::Corrupt(why)) => ContentCheck::Damaged(why),
                    Err(error) => return Err(error),
                };
                if each(&hash, found).is_break() {
                    return Ok(());
                }
            }
        }
    }

    /// Rows that are derived from history and contradict it, as messages: for checks. The audit chain protects
    /// history itself.
    fn contradictions(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// The living entry at a path.
    fn lookup(&self, path: &WsPath) -> Result<Option<Node>> {
        let mut found = None;
        let mut parent = FileId::ROOT;
        for name in path.names() {
            let Some(node) = self.child(parent, &name)? else { return Ok(None) };
            parent = node.id;
            found = Some(node);
        }
        Ok(found)
    }

    /// The path of a living entry; `None` if it, or a folder above it, was removed.
    fn path_of(&self, id: FileId) -> Result<Option<WsPath>> {
        let mut names = Vec::new();
        let mut at = id;
        while at != FileId::ROOT {
            let Some(state) = self.node(at)?.and_then(|node| node.state) else { return Ok(None) };
            at = state.parent;
            names.push(state.name);
            // Appends do not look for folders inside themselves; no path has this many names.
            if names.len() > MAX_PATH_BYTES {
                return Err(StoreError::Corrupt(format!("the folders above {id} are a loop")));
            }
        }
        let join = |path: WsPath, name| path.join(name);
        let path = names.iter().rev().try_fold(WsPath::root(), join);
        path.map(Some).map_err(|error| StoreError::Corrupt(error.to_string()))
    }
}
