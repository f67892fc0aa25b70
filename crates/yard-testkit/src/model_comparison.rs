//! Sends the same random batches, valid and invalid, to a store and to the model, and compares the results. A seed
//! always makes the same test.

use std::cell::RefCell;

use yard_core::{
    Author, ContentHash, FileId, FileState, FileType, Signature, StepId, World, WsPath,
};
use yard_store::{
    AuditEntry, Base, Batch, Effort, FileIdentity, KeptFile, Mark, NewChange, NewStep, Node,
    Placement, Prepared, Result, Retention, RootIdentity, SeenContent, Seq, Store, StoreError,
};

use crate::store_equality::assert_stores_equal;
use crate::{FakeWorld, ModelStore, StepBuilder};

/// Few names, so that they collide.
const NAMES: [&[u8]; 6] = [b"a", b"b", b"c", b"d\xff", b"e e", b"f"];

/// Runs `rounds` random batches of that seed on `store` and on a model.
pub fn run(store: &dyn Store, seed: u64, rounds: usize) {
    let model = ModelStore::new();
    let world = FakeWorld::new(seed);
    let comparison =
        ModelComparison { store, model: &model, world: &world, old: RefCell::default() };
    for round in 0..rounds {
        comparison.round();
        if round % 16 == 15 {
            assert_stores_equal(&model, store);
        }
    }
    assert_stores_equal(&model, store);
}

struct ModelComparison<'a> {
    store: &'a dyn Store,
    model: &'a ModelStore,
    world: &'a FakeWorld,
    /// Steps that were tried: an old one, sent again, must be refused.
    old: RefCell<Vec<NewStep>>,
}

impl ModelComparison<'_> {
    fn round(&self) {
        match self.world.below(12) {
            0 => self.remember(),
            1 => self.note(),
            2 => self.keep(),
            3 if self.world.below(3) == 0 => self.purge(),
            4 if self.world.below(3) == 0 => self.add_placements(),
            _ => self.batch(),
        }
    }

    fn batch(&self) {
        let mut bytes = Vec::new();
        let steps: Vec<NewStep> =
            (0..1 + self.world.below(2)).map(|_| self.step(&mut bytes)).collect();
        let stale = self.world.below(12) == 0;
        let expected = self.model.head().unwrap() + Seq::from(stale);
        // Each store makes the contents ready in its own way.
        let send = |store: &dyn Store| {
            let contents: Vec<Prepared> = bytes.iter().map(|pair| prepare(store, pair)).collect();
            store.append(expected, Batch { steps: &steps, contents: &contents })
        };
        assert_same(send(self.model), send(self.store));
        self.old.borrow_mut().extend(steps);
    }

    fn step(&self, bytes: &mut Vec<Bytes>) -> NewStep {
        let old = self.old.borrow();
        if !old.is_empty() && self.world.below(30) == 0 {
            return old[self.world.below(old.len())].clone();
        }
        let builder = StepBuilder::new(self.model, self.world);
        let changes = (0..self.world.below(4)).map(|_| self.change(&builder, bytes)).collect();
        let mut step = builder.step("write", changes);
        step.author = Author::WORDS[self.world.below(3)].0;
        if self.world.below(4) == 0 {
            step.undoes = Some(old.last().map_or_else(|| StepId::new(self.world), |old| old.id));
            step.audit.action = "undo".into();
        }
        let placed = (0..step.changes.len() as u64).filter(|_| self.world.below(2) == 0);
        step.placements = placed.map(|change| self.placement(change)).collect();
        step
    }

    fn placement(&self, change: u64) -> Placement {
        let identity = || {
            let (inode, birth) = (self.world.random() as u64, self.world.random() as i64);
            let identity = FileIdentity { inode, birth, mtime: birth, ctime: birth };
            (self.world.below(3) > 0).then_some(identity)
        };
        Placement { change, placed: identity(), displaced: identity() }
    }

    /// Recovery places files of a step again; a history is moved to another folder.
    fn add_placements(&self) {
        let head = self.model.head().unwrap();
        let seq = self.world.below(head as usize + 2) as Seq;
        let count = self.model.changes(seq).unwrap().len();
        let again: Vec<Placement> = match count {
            0 => Vec::new(),
            count => vec![self.placement(self.world.below(count) as u64)],
        };
        assert_same(self.model.add_placements(seq, &again), self.store.add_placements(seq, &again));
        let root = RootIdentity {
            filesystem: (self.world.below(2) == 0).then(|| self.world.random() as u64),
            inode: self.world.random() as u64,
            birth: (self.world.below(2) == 0).then(|| self.world.random() as i64),
        };
        assert_same(self.model.set_root(root), self.store.set_root(root));
    }

    fn change(&self, builder: &StepBuilder<'_>, bytes: &mut Vec<Bytes>) -> NewChange {
        let (parent, path) = self.place();
        let files = self.files();
        let node = files.get(self.world.below(files.len().max(1)));
        let mut change = match (node, self.world.below(8)) {
            (None, _) | (_, 0) => builder.create(parent, &path, &self.bytes(bytes, None)),
            (_, 1) => builder.create_folder(parent, &path),
            (Some(node), 2 | 3) => builder.edit(node, &self.bytes(bytes, node.last.content)),
            (Some(node), 4) => builder.rename(node, parent, &path),
            (Some(node), 5) => builder.appear(node.id, &node.path, node.last.clone()),
            (Some(node), 6) => builder.become_state(node, self.touched(&node.last)),
            (Some(node), _) => builder.remove(node),
        };
        if self.world.below(40) == 0 {
            change.before = change.after.clone();
        }
        change
    }

    fn touched(&self, state: &FileState) -> FileState {
        let file_type = FileType::WORDS[self.world.below(8)].0;
        let (mode, json) = (self.world.below(0o10000) as u32, self.world.below(2) == 0);
        FileState { file_type, mode, json, ..state.clone() }
    }

    fn place(&self) -> (FileId, WsPath) {
        let folders = self.files();
        let folders: Vec<&Node> =
            folders.iter().filter(|node| node.last.content.is_none()).collect();
        let name = yard_core::Name::new(NAMES[self.world.below(NAMES.len())]).unwrap();
        match folders.get(self.world.below(folders.len() + 2)) {
            Some(folder) => (folder.id, folder.path.join(&name).unwrap()),
            None => (FileId::ROOT, WsPath::root().join(&name).unwrap()),
        }
    }

    /// Every file that ever existed.
    fn files(&self) -> Vec<Node> {
        let steps = self.model.steps(None, None, usize::MAX).unwrap();
        let changes = steps.iter().flat_map(|step| self.model.changes(step.seq).unwrap());
        let mut ids: Vec<FileId> = changes.map(|change| change.file).collect();
        ids.sort();
        ids.dedup();
        ids.iter().map(|id| self.model.node(*id).unwrap().unwrap()).collect()
    }

    /// Another content, often close to the one before; now and then one that is never given.
    fn bytes(&self, given: &mut Vec<Bytes>, before: Option<ContentHash>) -> Vec<u8> {
        let before = before.and_then(|hash| self.model.content(&hash).unwrap());
        let mut bytes = before.clone().unwrap_or_else(|| {
            let lines = 0..self.world.below(200);
            lines.flat_map(|n| format!("{n} {}\n", self.world.below(9)).into_bytes()).collect()
        });
        let at = self.world.below(bytes.len() + 1);
        bytes.splice(at..at, format!("{}\n", self.world.below(1000)).into_bytes());
        if self.world.below(25) != 0 {
            given.push(Bytes { bytes: bytes.clone(), before });
        }
        bytes
    }

    fn keep(&self) {
        let files = self.files();
        let Some(node) = files.get(self.world.below(files.len().max(1))) else { return };
        let known = node.last.content.filter(|_| self.world.below(2) == 0);
        let hash = known.unwrap_or_else(|| ContentHash::of(&self.world.random().to_le_bytes()));
        let file = KeptFile { name: format!("kept-{hash}"), retention: Retention::Keep };
        let contents = [Prepared::kept(hash, 16, file)];
        let batch = Batch { steps: &[], contents: &contents };
        let head = self.model.head().unwrap();
        assert_same(self.model.append(head, batch), self.store.append(head, batch));
    }

    /// Purges a few files, now and then one that is not removed; then the kernel's files are gone.
    fn purge(&self) {
        let removed: Vec<Node> = self.files();
        let unfit = self.world.below(6) == 0;
        let removed = removed.into_iter().filter(|node| unfit || node.state.is_none());
        let files: Vec<FileId> =
            removed.filter(|_| self.world.below(3) == 0).map(|node| node.id).collect();
        let entry = AuditEntry {
            at: self.world.now(),
            actor: "person:local".to_owned(),
            action: "purge".to_owned(),
            detail: String::new(),
        };
        assert_same(self.model.purge(&files, &entry), self.store.purge(&files, &entry));
        let pending = self.model.pending_deletions().unwrap();
        let some = &pending[..self.world.below(pending.len() + 1)];
        assert_same(self.model.forget_deletions(some), self.store.forget_deletions(some));
    }

    fn remember(&self) {
        let seen: Vec<SeenContent> =
            self.files().iter().filter_map(|node| self.seen(node)).collect();
        assert_same(self.model.remember(&seen), self.store.remember(&seen));
        let mark = Mark { seq: self.world.below(100) as Seq, boot: self.world.random() };
        assert_same(self.model.set_flushed_mark(mark), self.store.set_flushed_mark(mark));
    }

    fn seen(&self, node: &Node) -> Option<SeenContent> {
        let inode = self.world.random() as u64;
        let signature = Signature { size: node.last.size, mtime: inode as i64, ctime: 0, inode };
        Some(SeenContent { file: node.id, content: node.last.content?, signature })
    }

    fn note(&self) {
        let (actor, action) = ("person:local".to_owned(), "denied".to_owned());
        let entry = AuditEntry { at: self.world.now(), actor, action, detail: String::new() };
        assert_same(self.model.append_audit(&entry), self.store.append_audit(&entry));
    }
}

/// A content and the one before it.
struct Bytes {
    bytes: Vec<u8>,
    before: Option<Vec<u8>>,
}

fn prepare(store: &dyn Store, Bytes { bytes, before }: &Bytes) -> Prepared {
    let base = before.as_ref().map(|bytes| Base { hash: ContentHash::of(bytes), bytes });
    store.prepare(ContentHash::of(bytes), bytes, base, Effort::Quick).unwrap()
}

/// Asserts that both succeeded with the same value, or failed for the same kind of reason.
fn assert_same<T: PartialEq + std::fmt::Debug>(model: Result<T>, store: Result<T>) {
    match (&model, &store) {
        (Err(StoreError::Misfit(_)), Err(StoreError::Misfit(_))) => {}
        _ => assert_eq!(model, store),
    }
}
