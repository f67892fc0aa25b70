//! A store whose n-th call fails, before or after it takes effect.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use yard_core::{ChatScope, ContentHash, FileId, FileState, Name, StepId, VersionId};
use yard_store::{
    AuditEntry, AuditRow, Base, Batch, Change, ContentLocation, Effort, FileThen, Maker, Mark,
    NetChange, Node, OthersChange, Placement, Prepared, Purged, RecoveryNote, Result, RootIdentity,
    SeenContent, Seq, StepFilter, StepRow, Store, StoreError, StoredCounts, VersionRow,
};

use crate::FailureTrigger;

/// Whether a failing call fails before or after it takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureTime {
    /// Before: nothing is changed.
    Before,
    /// After: the change is made, and the answer is lost.
    After,
}

/// The outcome of a failing call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureOutcome {
    /// This error.
    Error(StoreError),
    /// The process ends at once.
    Abort,
    /// The thread panics.
    Panic,
}

/// A store that fails when its trigger says so.
pub struct FailingStore {
    inner: Arc<dyn Store>,
    trigger: Arc<FailureTrigger>,
    when: FailureTime,
    outcome: FailureOutcome,
    records_flushes: bool,
    most_in_memory: Option<Arc<AtomicU64>>,
    /// Audit rows with this action alone are refused.
    refused_action: Option<&'static str>,
}

impl FailingStore {
    /// A store over `inner`.
    pub fn new(
        inner: Arc<dyn Store>,
        trigger: Arc<FailureTrigger>,
        when: FailureTime,
        outcome: FailureOutcome,
    ) -> Self {
        Self {
            inner,
            trigger,
            when,
            outcome,
            records_flushes: true,
            most_in_memory: None,
            refused_action: None,
        }
    }

    /// A store that fails only where an audit row with this action is appended alone, as if the disk were full.
    pub fn refusing_audit(inner: Arc<dyn Store>, action: &'static str) -> Self {
        let outcome = FailureOutcome::Error(StoreError::Full);
        let store = Self::new(inner, FailureTrigger::new(), FailureTime::Before, outcome);
        Self { refused_action: Some(action), ..store }
    }

    /// A store that never fails and never records that the disk was flushed: recovery after a restart of the machine
    /// assumes that every write may be lost.
    pub fn never_flushed(inner: Arc<dyn Store>) -> Self {
        let outcome = FailureOutcome::Error(StoreError::Full);
        Self {
            records_flushes: false,
            ..Self::new(inner, FailureTrigger::new(), FailureTime::Before, outcome)
        }
    }

    /// A store that never fails. It counts the bytes of contents that each append has in memory, and sets `most` to the
    /// largest number.
    pub fn counting(inner: Arc<dyn Store>, most: Arc<AtomicU64>) -> Self {
        let outcome = FailureOutcome::Error(StoreError::Full);
        Self {
            most_in_memory: Some(most),
            ..Self::new(inner, FailureTrigger::new(), FailureTime::Before, outcome)
        }
    }

    fn pass<T>(&self, call: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        let fails = self.trigger.call();
        if fails && self.when == FailureTime::Before {
            return self.fail();
        }
        let outcome = call(self.inner.as_ref());
        if fails { self.fail() } else { outcome }
    }

    fn fail<T>(&self) -> Result<T> {
        match &self.outcome {
            FailureOutcome::Error(error) => Err(error.clone()),
            FailureOutcome::Abort => std::process::abort(),
            FailureOutcome::Panic => panic!("on purpose"),
        }
    }
}

impl Store for FailingStore {
    fn head(&self) -> Result<Seq> {
        self.pass(|store| store.head())
    }

    fn append(&self, expected: Seq, batch: Batch<'_>) -> Result<Seq> {
        if let Some(most) = &self.most_in_memory {
            let in_memory = batch.contents.iter().map(Prepared::bytes_in_memory).sum();
            most.fetch_max(in_memory, Ordering::SeqCst);
        }
        self.pass(|store| store.append(expected, batch))
    }

    fn prepare(
        &self,
        hash: ContentHash,
        bytes: &[u8],
        base: Option<Base<'_>>,
        effort: Effort,
    ) -> Result<Prepared> {
        self.pass(|store| store.prepare(hash, bytes, base, effort))
    }

    fn move_to_file(&self, contents: &mut [Prepared]) -> Result<()> {
        self.pass(|store| store.move_to_file(contents))
    }

    fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>> {
        self.pass(|store| store.content(hash))
    }

    fn locate(&self, hash: &ContentHash) -> Result<Option<ContentLocation>> {
        self.pass(|store| store.locate(hash))
    }

    fn contents(&self, after: Option<&ContentHash>, limit: usize) -> Result<Vec<ContentHash>> {
        self.pass(|store| store.contents(after, limit))
    }

    fn node(&self, id: FileId) -> Result<Option<Node>> {
        self.pass(|store| store.node(id))
    }

    fn child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        self.pass(|store| store.child(parent, name))
    }

    fn former_child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        self.pass(|store| store.former_child(parent, name))
    }

    fn children(&self, parent: FileId) -> Result<Vec<Node>> {
        self.pass(|store| store.children(parent))
    }

    fn removed(&self, skip: usize, limit: usize) -> Result<Vec<Node>> {
        self.pass(|store| store.removed(skip, limit))
    }

    fn step(&self, id: StepId) -> Result<Option<StepRow>> {
        self.pass(|store| store.step(id))
    }

    fn steps(
        &self,
        file: Option<FileId>,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>> {
        self.pass(|store| store.steps(file, before, limit))
    }

    fn find_steps(
        &self,
        filter: &StepFilter,
        numbers: Range<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>> {
        self.pass(|store| store.find_steps(filter, numbers, limit))
    }

    fn children_then(
        &self,
        parent: FileId,
        name: Option<&Name>,
        seq: Seq,
    ) -> Result<Vec<FileThen>> {
        self.pass(|store| store.children_then(parent, name, seq))
    }

    fn file_then(&self, file: FileId, seq: Seq) -> Result<Option<FileState>> {
        self.pass(|store| store.file_then(file, seq))
    }

    fn net_changes(&self, numbers: Range<Seq>) -> Result<Vec<NetChange>> {
        self.pass(|store| store.net_changes(numbers))
    }

    fn changes(&self, seq: Seq) -> Result<Vec<Change>> {
        self.pass(|store| store.changes(seq))
    }

    fn file_changes(
        &self,
        file: FileId,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<(StepRow, Change)>> {
        self.pass(|store| store.file_changes(file, before, limit))
    }

    fn makers(&self, file: FileId) -> Result<Vec<Maker>> {
        self.pass(|store| store.makers(file))
    }

    fn last_by_others(
        &self,
        file: FileId,
        whose: &ChatScope,
        since: Seq,
    ) -> Result<Option<OthersChange>> {
        self.pass(|store| store.last_by_others(file, whose, since))
    }

    fn was_changed_by_agents(&self, file: FileId) -> Result<bool> {
        self.pass(|store| store.was_changed_by_agents(file))
    }

    fn version(&self, id: VersionId) -> Result<Option<VersionRow>> {
        self.pass(|store| store.version(id))
    }

    fn remember(&self, seen: &[SeenContent]) -> Result<()> {
        self.pass(|store| store.remember(seen))
    }

    fn flushed_mark(&self) -> Result<Mark> {
        self.pass(|store| store.flushed_mark())
    }

    fn set_flushed_mark(&self, mark: Mark) -> Result<()> {
        if !self.records_flushes {
            // The mark stays, and the notes of a recovery that is done are forgotten all the same.
            return self.inner.set_flushed_mark(self.inner.flushed_mark()?);
        }
        self.pass(|store| store.set_flushed_mark(mark))
    }

    fn placements(&self, seq: Seq) -> Result<Vec<Placement>> {
        self.pass(|store| store.placements(seq))
    }

    fn add_placements(&self, seq: Seq, placements: &[Placement]) -> Result<()> {
        self.pass(|store| store.add_placements(seq, placements))
    }

    fn recovery_notes(&self) -> Result<Vec<RecoveryNote>> {
        self.pass(|store| store.recovery_notes())
    }

    fn add_recovery_notes(&self, notes: &[RecoveryNote]) -> Result<()> {
        self.pass(|store| store.add_recovery_notes(notes))
    }

    fn root(&self) -> Result<Option<RootIdentity>> {
        self.pass(|store| store.root())
    }

    fn set_root(&self, root: RootIdentity) -> Result<()> {
        self.pass(|store| store.set_root(root))
    }

    fn purge(&self, files: &[FileId], entry: &AuditEntry) -> Result<Purged> {
        self.pass(|store| store.purge(files, entry))
    }

    fn counts(&self) -> Result<StoredCounts> {
        self.pass(|store| store.counts())
    }

    fn is_purged(&self, hash: &ContentHash) -> Result<bool> {
        self.pass(|store| store.is_purged(hash))
    }

    fn pending_deletions(&self) -> Result<Vec<String>> {
        self.pass(|store| store.pending_deletions())
    }

    fn forget_deletions(&self, names: &[String]) -> Result<()> {
        self.pass(|store| store.forget_deletions(names))
    }

    fn append_audit(&self, entry: &AuditEntry) -> Result<()> {
        if self.refused_action.is_some_and(|refused| refused == entry.action) {
            return self.fail();
        }
        self.pass(|store| store.append_audit(entry))
    }

    fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditRow>> {
        self.pass(|store| store.audit(after, limit))
    }
}
