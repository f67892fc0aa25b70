//! The rows that go into a store and come out of it, as plain values.

use yard_core::hash::ContentHasher;
use yard_core::op::{BackTo, ChangeSummary, Operation as _};
use yard_core::{
    ApprovalId, Author, ChatId, ContentHash, FileId, FileState, QuestionId, Signature, StepId,
    Timestamp, VersionId, WsPath,
};

use crate::audit::Covered;
use crate::{AuditEntry, KeptFile, NewTurn, Prepared};

/// The number of a step: 1, 2, 3 and so on, without gaps.
pub type Seq = u64;

/// Steps that become durable together, with the contents that they bring.
#[derive(Clone, Copy, Default)]
pub struct Batch<'a> {
    /// In the order in which they happen.
    pub steps: &'a [NewStep],
    /// Contents that the steps name; one that is stored already is no mistake.
    pub contents: &'a [Prepared],
}

/// A new step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewStep {
    /// Its id.
    pub id: StepId,
    /// The time.
    pub at: Timestamp,
    /// The author.
    pub author: Author,
    /// The operation.
    pub verb: String,
    /// The chat that it belongs to.
    pub chat: Option<ChatId>,
    /// The step that it undoes. A step of the operation back-to has the step that it goes back to here, so that the
    /// audit chain covers that, too.
    pub undoes: Option<StepId>,
    /// File by file, in the order in which they are made.
    pub changes: Vec<NewChange>,
    /// Its row in the audit chain.
    pub audit: AuditEntry,
    /// Other changes of the store in its transaction.
    pub side_effects: Vec<StepSideEffect>,
    /// What it does to the disk. A change without a placement was on disk already.
    pub placements: Vec<Placement>,
}

/// Another change of the store that happens in the transaction of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepSideEffect {
    /// The step is the approval of a plan: its chat leaves plan mode, and the answer is used up.
    LeavePlan {
        /// The chat that goes on in build mode.
        chat: ChatId,
        /// The answered question. If its answer was used meanwhile, nothing of the step happens.
        question: QuestionId,
        /// What the transcript says of it.
        turn: NewTurn,
    },
    /// The step executes an approved request. If the request was executed meanwhile, or is no longer approved, the
    /// step does not happen.
    Execute {
        /// The request.
        approval: ApprovalId,
        /// The time.
        at: Timestamp,
    },
}

/// The identity of a file on disk, independent of its name and its bytes. After a crash, recovery uses it to tell
/// the result of a lost write from a later change by another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// The inode.
    pub inode: u64,
    /// When the inode was made, in nanoseconds since 1970.
    pub birth: i64,
    /// When its bytes changed last.
    pub mtime: i64,
    /// When anything of it changed last, its name included.
    pub ctime: i64,
}

impl FileIdentity {
    /// Whether both are the same inode, and not one that was made later under the same number.
    pub fn is_same_inode(&self, other: &Self) -> bool {
        (self.inode, self.birth) == (other.inode, other.birth)
    }

    /// Whether both are the same inode and it was not written to in between.
    pub fn is_unwritten(&self, other: &Self) -> bool {
        self.is_same_inode(other) && self.mtime == other.mtime
    }
}

/// What one change does to the disk. It is kept until the disk is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Which change of its step, counted from 0.
    pub change: u64,
    /// The staged file that it puts in its place, if there is one and the file system gives its identity.
    pub placed: Option<FileIdentity>,
    /// The entry that it replaces, removes or moves, as it was right before.
    pub displaced: Option<FileIdentity>,
}

/// An entry of the root as recovery found it before it changed anything. Recovery itself changes times: if it is cut
/// off, the next one has to know those from before. Notes are kept until the disk is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryNote {
    /// The identity that it was found with.
    pub found: FileIdentity,
    /// Recovery made it, only so that steps could be repeated.
    pub is_temporary: bool,
}

/// Which folder a history belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootIdentity {
    /// The file system, where it has an id that stays the same when it is mounted again.
    pub filesystem: Option<u64>,
    /// The folder's inode.
    pub inode: u64,
    /// When the folder was made, where the file system tells.
    pub birth: Option<i64>,
}

impl RootIdentity {
    /// Whether both can be the same folder: whatever both know is equal.
    pub fn can_be(&self, other: &Self) -> bool {
        let agree =
            |one: Option<i64>, two: Option<i64>| one.is_none() || two.is_none() || one == two;
        let number = |id: Option<u64>| id.map(u64::cast_signed);
        self.inode == other.inode
            && agree(self.birth, other.birth)
            && agree(number(self.filesystem), number(other.filesystem))
    }
}

/// The change of one file in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChange {
    /// The file.
    pub file: FileId,
    /// Its state before; `None` if it is made or restored.
    pub before: Option<FileState>,
    /// Its state after; `None` if it is removed. Equal to `before` if it was only touched.
    pub after: Option<FileState>,
    /// Its path before.
    pub from: Option<WsPath>,
    /// Its path after.
    pub to: Option<WsPath>,
    /// The version that it makes: there is one whenever a file or link gets a content.
    pub version: Option<VersionId>,
}

impl NewChange {
    /// The kind of change.
    pub fn summary(&self) -> ChangeSummary {
        match (&self.before, &self.after) {
            (None, _) => ChangeSummary::Created,
            (_, None) => ChangeSummary::Removed,
            (Some(before), Some(after)) if before == after => ChangeSummary::Touched,
            (Some(before), Some(after)) => {
                let moved = (&before.parent, &before.name) != (&after.parent, &after.name);
                if moved { ChangeSummary::Moved } else { ChangeSummary::Modified }
            }
        }
    }
}

/// The change of one file in a step that happened.
pub type Change = NewChange;

/// A step that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// Its number.
    pub seq: Seq,
    /// Its id.
    pub id: StepId,
    /// The time.
    pub at: Timestamp,
    /// The author.
    pub author: Author,
    /// The actor of its audit row.
    pub actor: String,
    /// The operation.
    pub verb: String,
    /// The chat that it belongs to.
    pub chat: Option<ChatId>,
    /// The step that it undid.
    pub undoes: Option<StepId>,
    /// The step that it went back to.
    pub back_to: Option<StepId>,
    /// How many files it changed.
    pub files: u64,
    /// The path of the first of its first 64 changes that left a content, or else of its first change (after it, or before if
    /// it was removed).
    pub path: Option<WsPath>,
}

impl StepRow {
    /// What a recorded step names as [`NewStep::undoes`]: the step that it undid, and the step that it went back to.
    pub fn undone_and_back_to(
        verb: &str,
        named: Option<StepId>,
    ) -> (Option<StepId>, Option<StepId>) {
        if verb == BackTo::VERB { (None, named) } else { (named, None) }
    }
}

/// An entry as it was after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileThen {
    /// The file.
    pub file: FileId,
    /// Its state of then.
    pub state: FileState,
}

/// What several steps together did to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetChange {
    /// The file.
    pub file: FileId,
    /// Its state before the first of them; `None` if it was not there.
    pub before: Option<FileState>,
    /// Its state after the last of them; `None` if it was not there any more.
    pub after: Option<FileState>,
}

/// Which steps are looked for: those that fit everything that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepFilter {
    /// The author.
    pub author: Option<Author>,
    /// The actor of the audit row.
    pub actor: Option<String>,
    /// The chat.
    pub chat: Option<ChatId>,
    /// The operation.
    pub verb: Option<String>,
    /// A change of something at or below a path, or of a file.
    pub changed: Option<ChangedEntry>,
}

/// An entry of which a step is looked for that changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedEntry {
    /// Its path, before a change or after it. What is below it counts, too. It is not the root.
    pub path: WsPath,
    /// The file of which any change counts, whatever its path was.
    pub file: Option<FileId>,
}

/// The record of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The file.
    pub id: FileId,
    /// Its state; `None` once removed.
    pub state: Option<FileState>,
    /// The last state that it had while it lived (equal to `state` for a living one).
    pub last: FileState,
    /// The path that its last change gave it (of a removed one: where it was). A folder above it may
    /// have moved since; `Store::path_of` follows those.
    pub path: WsPath,
    /// The step that changed it last.
    pub seq: Seq,
    /// Its newest version.
    pub version: Option<VersionId>,
    /// When the store first recorded it.
    pub created_at: Timestamp,
    /// The signature under which its content was last seen on disk.
    pub signature: Option<Signature>,
    /// It was removed, and the contents that only it had were purged: it cannot be restored.
    pub purged: bool,
}

/// The maker of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// The chat in which it was made, if there is one.
    pub chat: Option<ChatId>,
    /// The actor of the audit row.
    pub actor: String,
    /// The operation.
    pub verb: String,
}

/// A change of a file that was made outside of a given chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OthersChange {
    /// The step.
    pub seq: Seq,
    /// The content that it left, as far as the store has it.
    pub content: Option<ContentHash>,
}

/// The contents that a purge removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// The contents that are gone, in the order of their hashes.
    pub contents: Vec<ContentHash>,
    /// Their bytes, before any compression.
    pub bytes: u64,
}

/// One version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRow {
    /// The file.
    pub file: FileId,
    /// The step that made it.
    pub seq: Seq,
    /// The file's state as that step left it.
    pub state: FileState,
}

/// Where a content is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentLocation {
    /// Its length in bytes.
    pub size: u64,
    /// The file in the kernel's folder that holds it, where the store does not.
    pub kept: Option<KeptFile>,
}

/// The result of reading a content back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentCheck {
    /// Its bytes have the hash that is its name.
    Whole,
    /// A file in the kernel's folder has the bytes, and the kernel has to check it.
    Kept(KeptFile),
    /// It is damaged, for this reason.
    Damaged(String),
}

/// A content that was seen on disk under a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenContent {
    /// The file.
    pub file: FileId,
    /// The content that was seen; ignored if it is no longer the file's.
    pub content: ContentHash,
    /// The signature.
    pub signature: Signature,
}

/// Up to which step the disk is flushed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The step.
    pub seq: Seq,
    /// The boot under which it was.
    pub boot: u128,
}

/// The digest of everything that a step did, as the audit chain covers it. Every field is written
/// with its length or its presence, so that no two lists of changes read alike.
pub fn step_digest(changes: &[Change]) -> [u8; 32] {
    let mut digest = Covered(ContentHasher::new());
    digest.number(changes.len() as u64);
    for change in changes {
        digest.0.update(change.file.as_bytes());
        digest.state(change.before.as_ref());
        digest.state(change.after.as_ref());
        digest.optional(change.from.as_ref().map(WsPath::relative));
        digest.optional(change.to.as_ref().map(WsPath::relative));
        digest.optional(change.version.as_ref().map(|version| &version.as_bytes()[..]));
    }
    *digest.0.finish().as_bytes()
}

impl Covered {
    fn optional(&mut self, bytes: Option<&[u8]>) {
        self.0.update(&[u8::from(bytes.is_some())]);
        if let Some(bytes) = bytes {
            self.bytes(bytes);
        }
    }

    fn state(&mut self, state: Option<&FileState>) {
        self.0.update(&[u8::from(state.is_some())]);
        let Some(state) = state else { return };
        self.0.update(state.parent.as_bytes());
        self.bytes(state.name.as_bytes());
        self.bytes(state.kind.word());
        self.bytes(state.file_type.word());
        self.number(u64::from(state.mode));
        self.optional(state.content.as_ref().map(|hash| &hash.as_bytes()[..]));
        self.number(state.size);
        self.0.update(&[u8::from(state.json)]);
    }
}

/// How much there is in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredCounts {
    /// Living files, without folders and links.
    pub files: u64,
    /// Steps.
    pub steps: u64,
    /// Versions of files.
    pub versions: u64,
    /// Removed entries that can come back.
    pub removed: u64,
}
