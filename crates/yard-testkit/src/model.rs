//! The store as one would explain it: lists and maps, copied whole before every append. It is slow,
//! keeps nothing, and is what the real ones are compared with.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use yard_core::{
    Author, ChatScope, ContentHash, FileId, FileKind, FileState, Name, StepId, VersionId, WsPath,
};
use yard_store::{
    AuditEntry, AuditRow, AuditedStep, Base, Batch, Change, ContentLocation, Effort, FileThen,
    Formula, Maker, Mark, NetChange, NewChange, NewStep, Node, OthersChange, Placement, Prepared,
    Purged, RecoveryNote, Result, RootIdentity, SeenContent, Seq, StepFilter, StepRow, Store,
    StoreError, StoredCounts, VersionRow, chain, step_digest,
};

/// An in-memory store.
#[derive(Default)]
pub struct ModelStore(Mutex<Inner>);

#[derive(Clone, Default)]
struct Inner {
    steps: Vec<Arc<NewStep>>,
    files: BTreeMap<FileId, File>,
    contents: BTreeMap<ContentHash, Content>,
    purged: BTreeSet<ContentHash>,
    /// Kept files that stand for nothing any more.
    pending_deletions: BTreeSet<String>,
    versions: BTreeSet<VersionId>,
    /// How many changes there were, over all files: what gives removals their order.
    changes: usize,
    audit: Vec<AuditRow>,
    mark: Mark,
    placements: BTreeMap<Seq, Vec<Placement>>,
    recovery_notes: Vec<RecoveryNote>,
    root: Option<RootIdentity>,
}

#[derive(Clone)]
struct File {
    node: Node,
    last_change: usize,
}

#[derive(Clone)]
struct Content {
    located: ContentLocation,
    bytes: Option<Arc<[u8]>>,
}

impl ModelStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }
}

impl Inner {
    fn head(&self) -> Seq {
        self.steps.len() as Seq
    }

    fn note(&mut self, entry: &AuditEntry, step: Option<AuditedStep>) {
        let previous = self.audit.last().map_or([0; 32], |row| row.hash);
        let number = self.audit.len() as u64 + 1;
        let hash = chain(&previous, number, entry, step.as_ref());
        let (formula, entry) = (Formula::Second, entry.clone());
        self.audit.push(AuditRow { number, formula, entry, step, hash });
    }

    fn bring(&mut self, prepared: &Prepared) {
        let kept = prepared.kept_file().cloned();
        let bytes = prepared.raw_bytes().map(Arc::from);
        assert!(kept.is_some() || bytes.is_some(), "prepared by another store");
        let is_worse = |known: &Content| match &known.located.kept {
            Some(file) => known.bytes.is_none() && prepared.is_better_than(file.retention),
            None => false,
        };
        if self.contents.get(&prepared.hash()).is_none_or(is_worse) {
            self.purged.remove(&prepared.hash());
            let located = ContentLocation { size: prepared.size(), kept };
            let before = self.contents.insert(prepared.hash(), Content { located, bytes });
            let before = before.and_then(|content| content.located.kept);
            self.pending_deletions.extend(before.map(|file| file.name));
        }
    }

    fn purge(&mut self, files: &[FileId], entry: &AuditEntry) -> Result<Purged> {
        for id in files {
            match self.files.get_mut(id) {
                Some(file) if file.node.state.is_none() => file.node.purged = true,
                _ => return misfit("not a removed file"),
            }
        }
        let named = |by: &dyn Fn(FileId) -> bool| -> BTreeSet<ContentHash> {
            let changes = self.steps.iter().flat_map(|step| &step.changes);
            let theirs = changes.filter(|change| by(change.file));
            theirs.filter_map(|change| change.after.as_ref()?.content).collect()
        };
        let own = named(&|file| files.contains(&file));
        let others = named(&|file| !self.files[&file].node.purged);
        let mut purged = Purged::default();
        for hash in own.difference(&others) {
            let Some(content) = self.contents.remove(hash) else { continue };
            self.purged.insert(*hash);
            purged.contents.push(*hash);
            purged.bytes += content.located.size;
            self.pending_deletions.extend(content.located.kept.map(|file| file.name));
        }
        self.note(entry, None);
        Ok(purged)
    }

    fn add_step(&mut self, step: &NewStep) -> Result<()> {
        if self.steps.iter().any(|known| known.id == step.id) {
            return misfit("the step happened already");
        }
        let seq = self.head() + 1;
        for change in &step.changes {
            self.check(change)?;
            self.make(seq, step, change);
        }
        if !step.placements.is_empty() {
            self.placements.insert(seq, step.placements.clone());
        }
        self.steps.push(Arc::new(step.clone()));
        let audited = AuditedStep {
            id: step.id,
            at: step.at,
            author: step.author,
            verb: step.verb.clone(),
            chat: step.chat,
            undoes: step.undoes,
            changes: step_digest(&step.changes),
        };
        self.note(&step.audit, Some(audited));
        Ok(())
    }

    fn check(&self, change: &NewChange) -> Result<()> {
        let current = self.files.get(&change.file).and_then(|file| file.node.state.as_ref());
        let content = change.after.as_ref().and_then(|state| state.content);
        if change.file == FileId::ROOT || current != change.before.as_ref() {
            return misfit("not the state that the step starts from");
        }
        if change.before.is_none() && change.after.is_none() {
            return misfit("nothing before and nothing after");
        }
        if change.version.is_some_and(|version| self.versions.contains(&version)) {
            return misfit("the version exists already");
        }
        if let Some(hash) = content.filter(|hash| !self.contents.contains_key(hash)) {
            return misfit(&format!("content {hash} is not stored"));
        }
        let Some(after) = &change.after else { return Ok(()) };
        let mut others = self.files.values().filter(|file| file.node.id != change.file);
        let taken = others.any(|file| {
            let state = file.node.state.as_ref();
            state.is_some_and(|state| state.parent == after.parent && state.name == after.name)
        });
        if taken { misfit("the name is taken") } else { Ok(()) }
    }

    fn make(&mut self, seq: Seq, step: &NewStep, change: &NewChange) {
        self.changes += 1;
        self.versions.extend(change.version);
        let before = self.files.get(&change.file).map(|file| &file.node);
        let content = |state: &FileState| state.content;
        let same_content =
            change.before.as_ref().map(content) == change.after.as_ref().map(content);
        let node = Node {
            id: change.file,
            state: change.after.clone(),
            last: change.after.clone().or(change.before.clone()).unwrap(),
            path: change.to.clone().or(change.from.clone()).unwrap_or_else(WsPath::root),
            seq,
            version: change.version.or(before.and_then(|node| node.version)),
            created_at: before.map_or(step.at, |node| node.created_at),
            signature: before.and_then(|node| node.signature).filter(|_| same_content),
            purged: false,
        };
        self.files.insert(change.file, File { node, last_change: self.changes });
    }

    fn row(&self, seq: Seq) -> StepRow {
        let step = &self.steps[seq as usize - 1];
        let (undoes, back_to) = StepRow::undone_and_back_to(&step.verb, step.undoes);
        StepRow {
            seq,
            id: step.id,
            at: step.at,
            author: step.author,
            actor: step.audit.actor.clone(),
            verb: step.verb.clone(),
            chat: step.chat,
            undoes,
            back_to,
            files: step.changes.len() as u64,
            path: known_by(step).and_then(|change| change.to.clone().or(change.from.clone())),
        }
    }

    /// The states of all files that were there after a step.
    fn states_after(&self, seq: Seq) -> BTreeMap<FileId, FileState> {
        let mut states = BTreeMap::new();
        let steps = self.steps.iter().take(usize::try_from(seq).unwrap_or(usize::MAX));
        for change in steps.flat_map(|step| &step.changes) {
            match &change.after {
                Some(state) => states.insert(change.file, state.clone()),
                None => states.remove(&change.file),
            };
        }
        states
    }

    fn fits(&self, filter: &StepFilter, seq: Seq) -> bool {
        let step = &self.steps[seq as usize - 1];
        let changed = filter.changed.as_ref().is_none_or(|entry| {
            step.changes.iter().any(|change| {
                let mut paths = change.from.iter().chain(&change.to);
                paths.any(|path| path.is_within(&entry.path)) || Some(change.file) == entry.file
            })
        });
        changed
            && filter.author.is_none_or(|author| author == step.author)
            && filter.actor.as_ref().is_none_or(|actor| *actor == step.audit.actor)
            && filter.verb.as_ref().is_none_or(|verb| *verb == step.verb)
            && filter.chat.is_none_or(|chat| Some(chat) == step.chat)
    }

    /// The numbers of the steps before `before`, newest first.
    fn before(&self, before: Option<Seq>) -> impl Iterator<Item = Seq> + use<> {
        let end = before.unwrap_or(Seq::MAX).min(self.head() + 1);
        (1..end).rev()
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.files.values().map(|file| &file.node)
    }

    fn removed(&self) -> Vec<Node> {
        let mut removed: Vec<&File> =
            self.files.values().filter(|file| file.node.state.is_none()).collect();
        removed.sort_by_key(|file| std::cmp::Reverse(file.last_change));
        removed.into_iter().map(|file| file.node.clone()).collect()
    }
}

fn misfit<T>(why: &str) -> Result<T> {
    Err(StoreError::Misfit(why.to_owned()))
}

impl Store for ModelStore {
    fn head(&self) -> Result<Seq> {
        Ok(self.inner().head())
    }

    fn append(&self, expected: Seq, batch: Batch<'_>) -> Result<Seq> {
        let mut inner = self.inner();
        if batch.steps.is_empty() && batch.contents.is_empty() {
            return Ok(inner.head());
        }
        if inner.head() != expected {
            return Err(StoreError::Moved { head: inner.head() });
        }
        let mut next = inner.clone();
        batch.contents.iter().for_each(|prepared| next.bring(prepared));
        batch.steps.iter().try_for_each(|step| next.add_step(step))?;
        *inner = next;
        Ok(inner.head())
    }

    fn prepare(
        &self,
        hash: ContentHash,
        bytes: &[u8],
        _: Option<Base<'_>>,
        _: Effort,
    ) -> Result<Prepared> {
        Ok(Prepared::raw(hash, bytes))
    }

    fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>> {
        let inner = self.inner();
        let content = inner.contents.get(hash);
        Ok(content.and_then(|content| content.bytes.as_ref()).map(|bytes| bytes.to_vec()))
    }

    fn locate(&self, hash: &ContentHash) -> Result<Option<ContentLocation>> {
        Ok(self.inner().contents.get(hash).map(|content| content.located.clone()))
    }

    fn contents(&self, after: Option<&ContentHash>, limit: usize) -> Result<Vec<ContentHash>> {
        let inner = self.inner();
        let hashes = inner.contents.keys().filter(|hash| after.is_none_or(|after| *hash > after));
        Ok(hashes.take(limit).copied().collect())
    }

    fn node(&self, id: FileId) -> Result<Option<Node>> {
        Ok(self.inner().files.get(&id).map(|file| file.node.clone()))
    }

    fn child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        let children = self.children(parent)?;
        Ok(children.into_iter().find(|node| node.last.name == *name))
    }

    fn former_child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        let removed = self.inner().removed();
        Ok(removed.into_iter().find(|node| node.last.parent == parent && node.last.name == *name))
    }

    fn children(&self, parent: FileId) -> Result<Vec<Node>> {
        let within = |node: &&Node| node.state.as_ref().is_some_and(|state| state.parent == parent);
        Ok(self.inner().nodes().filter(within).cloned().collect())
    }

    fn removed(&self, skip: usize, limit: usize) -> Result<Vec<Node>> {
        let removed = self.inner().removed();
        Ok(removed.into_iter().filter(|node| !node.purged).skip(skip).take(limit).collect())
    }

    fn step(&self, id: StepId) -> Result<Option<StepRow>> {
        let inner = self.inner();
        let at = inner.steps.iter().position(|step| step.id == id);
        Ok(at.map(|at| inner.row(at as Seq + 1)))
    }

    fn steps(
        &self,
        file: Option<FileId>,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>> {
        let inner = self.inner();
        let touches = |seq: &Seq| {
            let changes = &inner.steps[*seq as usize - 1].changes;
            file.is_none_or(|file| changes.iter().any(|change| change.file == file))
        };
        Ok(inner.before(before).filter(touches).take(limit).map(|seq| inner.row(seq)).collect())
    }

    fn find_steps(
        &self,
        filter: &StepFilter,
        numbers: Range<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>> {
        let inner = self.inner();
        let within = inner.before(Some(numbers.end)).take_while(|seq| *seq >= numbers.start);
        let found = within.filter(|seq| inner.fits(filter, *seq)).take(limit);
        Ok(found.map(|seq| inner.row(seq)).collect())
    }

    fn children_then(
        &self,
        parent: FileId,
        name: Option<&Name>,
        seq: Seq,
    ) -> Result<Vec<FileThen>> {
        let states = self.inner().states_after(seq).into_iter();
        let within = states.filter(|(_, state)| state.parent == parent);
        let named = within.filter(|(_, state)| name.is_none_or(|name| state.name == *name));
        Ok(named.map(|(file, state)| FileThen { file, state }).collect())
    }

    fn file_then(&self, file: FileId, seq: Seq) -> Result<Option<FileState>> {
        Ok(self.inner().states_after(seq).remove(&file))
    }

    fn net_changes(&self, numbers: Range<Seq>) -> Result<Vec<NetChange>> {
        let inner = self.inner();
        let (first, end) = (numbers.start.max(1), numbers.end.min(inner.head() + 1));
        let before = inner.states_after(first - 1);
        let after = inner.states_after(end.saturating_sub(1));
        let mut files: Vec<FileId> = Vec::new();
        for change in (first..end).flat_map(|seq| &inner.steps[seq as usize - 1].changes) {
            if !files.contains(&change.file) {
                files.push(change.file);
            }
        }
        let net = files.into_iter().map(|file| NetChange {
            file,
            before: before.get(&file).cloned(),
            after: after.get(&file).cloned(),
        });
        Ok(net.collect())
    }

    fn changes(&self, seq: Seq) -> Result<Vec<Change>> {
        let inner = self.inner();
        let step = usize::try_from(seq).ok().and_then(|seq| inner.steps.get(seq.checked_sub(1)?));
        Ok(step.map(|step| step.changes.clone()).unwrap_or_default())
    }

    fn file_changes(
        &self,
        file: FileId,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<(StepRow, Change)>> {
        let inner = self.inner();
        let rows = inner.before(before).flat_map(|seq| {
            let changes = inner.steps[seq as usize - 1].changes.iter().rev();
            let own = changes.filter(|change| change.file == file);
            own.map(|change| (inner.row(seq), change.clone())).collect::<Vec<_>>()
        });
        Ok(rows.take(limit).collect())
    }

    fn makers(&self, file: FileId) -> Result<Vec<Maker>> {
        let inner = self.inner();
        let names = |step: &NewStep| step.changes.iter().any(|change| change.file == file);
        let steps: Vec<_> = inner.steps.iter().filter(|step| names(step)).collect();
        let maker = |step: &&Arc<NewStep>| match step.author {
            Author::External => Maker {
                chat: None,
                actor: Author::External.word().to_owned(),
                verb: step.verb.clone(),
            },
            _ => {
                Maker { chat: step.chat, actor: step.audit.actor.clone(), verb: step.verb.clone() }
            }
        };
        Ok(steps.first().into_iter().chain(steps.last()).map(maker).collect())
    }

    fn last_by_others(
        &self,
        file: FileId,
        whose: &ChatScope,
        since: Seq,
    ) -> Result<Option<OthersChange>> {
        let inner = self.inner();
        let is_own = |step: &NewStep| {
            let in_none =
                step.chat.is_none() && whose.default_of.as_ref() == Some(&step.audit.actor);
            step.author != Author::External
                && (in_none || step.chat.is_some() && step.chat == whose.chat)
        };
        let later = inner.steps.iter().zip(1..).filter(|(_, seq)| *seq > since);
        let others = later.filter(|(step, _)| !is_own(step));
        let left = others.flat_map(|(step, seq)| {
            let changes = step.changes.iter().filter(|change| change.file == file);
            changes.filter_map(move |change| {
                let content = change.after.as_ref()?.content;
                Some(OthersChange { seq, content })
            })
        });
        Ok(left.last())
    }

    fn was_changed_by_agents(&self, file: FileId) -> Result<bool> {
        let inner = self.inner();
        let names = |step: &NewStep| step.changes.iter().any(|change| change.file == file);
        Ok(inner.steps.iter().any(|step| step.author == Author::Agent && names(step)))
    }

    fn version(&self, id: VersionId) -> Result<Option<VersionRow>> {
        let inner = self.inner();
        let numbered = inner.steps.iter().zip(1..);
        let mut all =
            numbered.flat_map(|(step, seq)| step.changes.iter().map(move |one| (seq, one)));
        let found = all.find(|(_, change)| change.version == Some(id));
        Ok(found.and_then(|(seq, change)| {
            Some(VersionRow { file: change.file, seq, state: change.after.clone()? })
        }))
    }

    fn remember(&self, seen: &[SeenContent]) -> Result<()> {
        let mut inner = self.inner();
        for SeenContent { file, content, signature } in seen {
            let Some(file) = inner.files.get_mut(file) else { continue };
            if file.node.state.as_ref().is_some_and(|state| state.content == Some(*content)) {
                file.node.signature = Some(*signature);
            }
        }
        Ok(())
    }

    fn flushed_mark(&self) -> Result<Mark> {
        Ok(self.inner().mark)
    }

    fn set_flushed_mark(&self, mark: Mark) -> Result<()> {
        let mut inner = self.inner();
        inner.mark = mark;
        inner.placements.retain(|seq, _| *seq > mark.seq);
        inner.recovery_notes.clear();
        Ok(())
    }

    fn placements(&self, seq: Seq) -> Result<Vec<Placement>> {
        Ok(self.inner().placements.get(&seq).cloned().unwrap_or_default())
    }

    fn add_placements(&self, seq: Seq, placements: &[Placement]) -> Result<()> {
        let mut inner = self.inner();
        if placements.is_empty() {
            return Ok(());
        }
        if seq == 0 || seq > inner.head() {
            return misfit("no such step");
        }
        let known = inner.placements.entry(seq).or_default();
        known.extend(placements);
        known.sort_by_key(|placement| placement.change);
        Ok(())
    }

    fn recovery_notes(&self) -> Result<Vec<RecoveryNote>> {
        Ok(self.inner().recovery_notes.clone())
    }

    fn add_recovery_notes(&self, notes: &[RecoveryNote]) -> Result<()> {
        self.inner().recovery_notes.extend(notes);
        Ok(())
    }

    fn root(&self) -> Result<Option<RootIdentity>> {
        Ok(self.inner().root)
    }

    fn set_root(&self, root: RootIdentity) -> Result<()> {
        self.inner().root = Some(root);
        Ok(())
    }

    fn purge(&self, files: &[FileId], entry: &AuditEntry) -> Result<Purged> {
        let mut inner = self.inner();
        let mut next = inner.clone();
        let purged = next.purge(files, entry)?;
        *inner = next;
        Ok(purged)
    }

    fn counts(&self) -> Result<StoredCounts> {
        let inner = self.inner();
        let is_file =
            |node: &&Node| node.state.as_ref().is_some_and(|state| state.kind == FileKind::File);
        Ok(StoredCounts {
            files: inner.nodes().filter(is_file).count() as u64,
            steps: inner.head(),
            versions: inner.versions.len() as u64,
            removed: inner.removed().iter().filter(|node| !node.purged).count() as u64,
        })
    }

    fn is_purged(&self, hash: &ContentHash) -> Result<bool> {
        Ok(self.inner().purged.contains(hash))
    }

    fn pending_deletions(&self) -> Result<Vec<String>> {
        Ok(self.inner().pending_deletions.iter().cloned().collect())
    }

    fn forget_deletions(&self, names: &[String]) -> Result<()> {
        let mut inner = self.inner();
        names.iter().for_each(|name| {
            inner.pending_deletions.remove(name);
        });
        Ok(())
    }

    fn append_audit(&self, entry: &AuditEntry) -> Result<()> {
        self.inner().note(entry, None);
        Ok(())
    }

    fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditRow>> {
        let inner = self.inner();
        Ok(inner.audit.iter().filter(|row| row.number > after).take(limit).cloned().collect())
    }
}

/// The change that a step is known by: the first of a few that left a content, or else the first.
fn known_by(step: &NewStep) -> Option<&Change> {
    let mut first = step.changes.iter().take(64);
    let left =
        first.find(|change| change.after.as_ref().is_some_and(|state| state.content.is_some()));
    left.or(step.changes.first())
}
