//! A store that counts its flushes (one a batch), and can make each of them slower.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use yard_core::{ChatScope, ContentHash, FileId, FileState, Name, StepId, VersionId};
use yard_store::{
    AuditEntry, AuditRow, Base, Batch, Change, ContentLocation, Effort, FileThen, Maker, Mark,
    NetChange, Node, OthersChange, Placement, Prepared, Purged, RecoveryNote, Result, RootIdentity,
    SeenContent, Seq, SqliteStore, StepFilter, StepRow, Store, StoredCounts, VersionRow,
};

/// Batches and steps that went through.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) batches: AtomicU64,
    pub(crate) steps: AtomicU64,
}

impl Counts {
    /// Both, set back to nothing.
    pub(crate) fn take(&self) -> (u64, u64) {
        (self.batches.swap(0, Ordering::Relaxed), self.steps.swap(0, Ordering::Relaxed))
    }
}

/// The real store behind a counter.
pub(crate) struct Counted {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) delay: Duration,
}

impl Store for Counted {
    fn append(&self, expected: Seq, batch: Batch<'_>) -> Result<Seq> {
        self.counts.batches.fetch_add(1, Ordering::Relaxed);
        self.counts.steps.fetch_add(batch.steps.len() as u64, Ordering::Relaxed);
        if !self.delay.is_zero() {
            std::thread::sleep(self.delay);
        }
        self.store.append(expected, batch)
    }

    fn head(&self) -> Result<Seq> {
        self.store.head()
    }

    fn prepare(
        &self,
        hash: ContentHash,
        bytes: &[u8],
        base: Option<Base<'_>>,
        effort: Effort,
    ) -> Result<Prepared> {
        self.store.prepare(hash, bytes, base, effort)
    }

    fn move_to_file(&self, contents: &mut [Prepared]) -> Result<()> {
        self.store.move_to_file(contents)
    }

    fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>> {
        self.store.content(hash)
    }

    fn locate(&self, hash: &ContentHash) -> Result<Option<ContentLocation>> {
        self.store.locate(hash)
    }

    fn contents(&self, after: Option<&ContentHash>, limit: usize) -> Result<Vec<ContentHash>> {
        self.store.contents(after, limit)
    }

    fn node(&self, id: FileId) -> Result<Option<Node>> {
        self.store.node(id)
    }

    fn child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        self.store.child(parent, name)
    }

    fn former_child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        self.store.former_child(parent, name)
    }

    fn children(&self, parent: FileId) -> Result<Vec<Node>> {
        self.store.children(parent)
    }

    fn removed(&self, skip: usize, limit: usize) -> Result<Vec<Node>> {
        self.store.removed(skip, limit)
    }

    fn step(&self, id: StepId) -> Result<Option<StepRow>> {
        self.store.step(id)
    }

    fn steps(
        &self,
        file: Option<FileId>,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>> {
        self.store.steps(file, before, limit)
    }

    fn find_steps(
        &self,
        filter: &StepFilter,
        numbers: Range<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>> {
        self.store.find_steps(filter, numbers, limit)
    }

    fn children_then(
        &self,
        parent: FileId,
        name: Option<&Name>,
        seq: Seq,
    ) -> Result<Vec<FileThen>> {
        self.store.children_then(parent, name, seq)
    }

    fn file_then(&self, file: FileId, seq: Seq) -> Result<Option<FileState>> {
        self.store.file_then(file, seq)
    }

    fn net_changes(&self, numbers: Range<Seq>) -> Result<Vec<NetChange>> {
        self.store.net_changes(numbers)
    }

    fn changes(&self, seq: Seq) -> Result<Vec<Change>> {
        self.store.changes(seq)
    }

    fn file_changes(
        &self,
        file: FileId,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<(StepRow, Change)>> {
        self.store.file_changes(file, before, limit)
    }

    fn makers(&self, file: FileId) -> Result<Vec<Maker>> {
        self.store.makers(file)
    }

    fn last_by_others(
        &self,
        file: FileId,
        whose: &ChatScope,
        since: Seq,
    ) -> Result<Option<OthersChange>> {
        self.store.last_by_others(file, whose, since)
    }

    fn was_changed_by_agents(&self, file: FileId) -> Result<bool> {
        self.store.was_changed_by_agents(file)
    }

    fn version(&self, id: VersionId) -> Result<Option<VersionRow>> {
        self.store.version(id)
    }

    fn remember(&self, seen: &[SeenContent]) -> Result<()> {
        self.store.remember(seen)
    }

    fn flushed_mark(&self) -> Result<Mark> {
        self.store.flushed_mark()
    }

    fn set_flushed_mark(&self, mark: Mark) -> Result<()> {
        self.store.set_flushed_mark(mark)
    }

    fn placements(&self, seq: Seq) -> Result<Vec<Placement>> {
        self.store.placements(seq)
    }

    fn add_placements(&self, seq: Seq, placements: &[Placement]) -> Result<()> {
        self.store.add_placements(seq, placements)
    }

    fn recovery_notes(&self) -> Result<Vec<RecoveryNote>> {
        self.store.recovery_notes()
    }

    fn add_recovery_notes(&self, notes: &[RecoveryNote]) -> Result<()> {
        self.store.add_recovery_notes(notes)
    }

    fn root(&self) -> Result<Option<RootIdentity>> {
        self.store.root()
    }

    fn set_root(&self, root: RootIdentity) -> Result<()> {
        self.store.set_root(root)
    }

    fn append_audit(&self, entry: &AuditEntry) -> Result<()> {
        self.store.append_audit(entry)
    }

    fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditRow>> {
        self.store.audit(after, limit)
    }

    fn purge(&self, files: &[FileId], audit: &AuditEntry) -> Result<Purged> {
        self.store.purge(files, audit)
    }

    fn counts(&self) -> Result<StoredCounts> {
        self.store.counts()
    }

    fn is_purged(&self, hash: &ContentHash) -> Result<bool> {
        self.store.is_purged(hash)
    }

    fn pending_deletions(&self) -> Result<Vec<String>> {
        self.store.pending_deletions()
    }

    fn forget_deletions(&self, names: &[String]) -> Result<()> {
        self.store.forget_deletions(names)
    }
}
