//! A store whose n-th call fails, before it is made or after.

use std::sync::Arc;

use yard_core::{ChatScope, ContentHash, FileId, Name, StepId, VersionId};
use yard_store::{
    AuditEntry, AuditRow, Base, Batch, Change, ContentLocation, Effort, Maker, Mark, Node,
    OthersChange, Placement, Prepared, Purged, Result, RootIdentity, SeenContent, Seq, StepRow,
    Store, StoreError, VersionRow,
};

use crate::probe::Fuse;

/// When a failing call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Nothing was done.
    Before,
    /// It was done, and the answer was lost.
    After,
}

/// What a failing call answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This error.
    Error(StoreError),
    /// Nothing: the process ends at once.
    Abort,
    /// Nothing: the thread panics.
    Panic,
}

/// A store that fails when its fuse says so.
pub struct FailingStore {
    inner: Arc<dyn Store>,
    fuse: Arc<Fuse>,
    when: When,
    answer: Answer,
    hears_of_flushes: bool,
}

impl FailingStore {
    /// A store over `inner`.
    pub fn new(inner: Arc<dyn Store>, fuse: Arc<Fuse>, when: When, answer: Answer) -> Self {
        Self { inner, fuse, when, answer, hears_of_flushes: true }
    }

    /// A store that never fails and never hears that the disk was flushed: to recovery after a restart of
    /// the machine, every write may have been lost.
    pub fn never_flushed(inner: Arc<dyn Store>) -> Self {
        let answer = Answer::Error(StoreError::Full);
        Self { hears_of_flushes: false, ..Self::new(inner, Fuse::new(), When::Before, answer) }
    }

    fn pass<T>(&self, call: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        let blows = self.fuse.call();
        if blows && self.when == When::Before {
            return self.fail();
        }
        let answer = call(self.inner.as_ref());
        if blows { self.fail() } else { answer }
    }

    fn fail<T>(&self) -> Result<T> {
        match &self.answer {
            Answer::Error(error) => Err(error.clone()),
            Answer::Abort => std::process::abort(),
            Answer::Panic => panic!("on purpose"),
        }
    }
}

impl Store for FailingStore {
    fn head(&self) -> Result<Seq> {
        self.pass(|store| store.head())
    }

    fn append(&self, expected: Seq, batch: Batch<'_>) -> Result<Seq> {
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

    fn projected(&self) -> Result<Mark> {
        self.pass(|store| store.projected())
    }

    fn set_projected(&self, mark: Mark) -> Result<()> {
        if !self.hears_of_flushes {
            return Ok(());
        }
        self.pass(|store| store.set_projected(mark))
    }

    fn placements(&self, seq: Seq) -> Result<Vec<Placement>> {
        self.pass(|store| store.placements(seq))
    }

    fn add_placements(&self, seq: Seq, placements: &[Placement]) -> Result<()> {
        self.pass(|store| store.add_placements(seq, placements))
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
        self.pass(|store| store.append_audit(entry))
    }

    fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditRow>> {
        self.pass(|store| store.audit(after, limit))
    }
}
