//! Finishing what a crash left unfinished, without a hand.
//!
//! Every recorded step after the applied mark is put on disk again; what is there already stays. Within
//! one boot that is at most one batch. After another boot the mark does not count, and every step since
//! the last flush is checked by hash. What is found on disk and is neither what a step made nor what it
//! started from is somebody's save: it becomes a version before it goes.

use std::collections::{HashMap, HashSet};

use yard_core::{Author, Call, ContentHash, FileId, FileKind, FileState, Result, WsPath};
use yard_store::{Change, Seq, StepRow};

use crate::content::read_all;
use crate::disk::{Shape, Staged, Stat};
use crate::journal::advance;
use crate::projection::{record_intruder, recovering, retire_displaced};
use crate::workspace::{Workspace, store_fault};

/// Brings the disk up to the journal's head; the head. The caller holds the workspace's lock.
pub(crate) fn settle(workspace: &Workspace, call: &Call) -> Result<Seq> {
    let head = workspace.store().head().map_err(store_fault)?;
    let applied = workspace.locks.applied()?;
    let this_boot = applied.boot == call.world().boot_id();
    if this_boot && applied.seq >= head {
        return Ok(head);
    }
    let from = if this_boot {
        applied.seq
    } else {
        workspace.store().projected().map_err(store_fault)?.seq
    };
    Redo::load(workspace, call, from, head)?.run()?;
    advance(workspace, call)?;
    workspace.store().head().map_err(store_fault)
}

/// The steps that have to be on disk.
struct Redo<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    steps: Vec<(StepRow, Vec<Change>)>,
    /// Contents that these steps made or started from: finding one of them is no surprise.
    ours: HashMap<FileId, HashSet<ContentHash>>,
    /// The last of these steps that gave a file its content; what earlier ones gave it is gone.
    newest: HashMap<FileId, Seq>,
}

impl<'a> Redo<'a> {
    fn load(workspace: &'a Workspace, call: &'a Call, from: Seq, head: Seq) -> Result<Self> {
        let store = workspace.store();
        let count = usize::try_from(head - from.min(head)).unwrap_or(usize::MAX);
        let mut redo = Self {
            workspace,
            call,
            steps: Vec::with_capacity(count),
            ours: HashMap::new(),
            newest: HashMap::new(),
        };
        for row in store.steps(None, None, count).map_err(store_fault)?.into_iter().rev() {
            let changes = store.changes(row.seq).map_err(store_fault)?;
            for change in &changes {
                let states = change.before.iter().chain(&change.after);
                let contents = states.filter_map(|state| state.content);
                redo.ours.entry(change.file).or_default().extend(contents);
                redo.newest.insert(change.file, row.seq);
            }
            redo.steps.push((row, changes));
        }
        Ok(redo)
    }

    fn run(&self) -> Result<()> {
        for (row, changes) in &self.steps {
            // What somebody else did is on disk by definition.
            if row.author == Author::External {
                continue;
            }
            for change in changes {
                self.call.check()?;
                self.redo(row.seq, change)?;
            }
        }
        Ok(())
    }

    fn redo(&self, seq: Seq, change: &Change) -> Result<()> {
        match (&change.before, &change.after, &change.from, &change.to) {
            (Some(before), None, Some(from), _) => self.remove(change, before, from),
            (None, Some(after), _, Some(to)) => self.provide(seq, change, after, to),
            (Some(before), Some(after), Some(from), Some(to)) if before != after => {
                if from != to {
                    self.rename(from, to)?;
                }
                self.provide(seq, change, after, to)
            }
            _ => Ok(()),
        }
    }

    fn rename(&self, from: &WsPath, to: &WsPath) -> Result<()> {
        let disk = &self.workspace.disk;
        if disk.stat(to)?.is_none() && disk.stat(from)?.is_some() {
            disk.rename(from, to)?;
        }
        Ok(())
    }

    /// Removes what a step removed, unless it has changed since: then it is somebody's new file.
    fn remove(&self, change: &Change, before: &FileState, path: &WsPath) -> Result<()> {
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let Some(stat) = disk.stat(path)? else { return Ok(()) };
        if stat.is(FileKind::Folder) {
            if before.kind == FileKind::Folder && disk.list(path)?.is_empty() {
                disk.remove_folder(path)?;
            }
            return Ok(());
        }
        if self.revived(change) || self.content_on_disk(path, &stat)? != before.content {
            return Ok(());
        }
        let displaced = stage.displace(disk, path, change.file)?;
        retire_displaced(self.workspace, &displaced, before.content);
        Ok(())
    }

    /// A later step brought the file back to life: it decides what is on disk.
    fn revived(&self, change: &Change) -> bool {
        let last = self.steps.iter().rev().flat_map(|(_, changes)| changes);
        { last }.find(|later| later.file == change.file).is_some_and(|later| later.after.is_some())
    }

    /// Makes sure that a path holds what a step put there.
    fn provide(&self, seq: Seq, change: &Change, after: &FileState, path: &WsPath) -> Result<()> {
        let disk = &self.workspace.disk;
        let found = disk.stat(path)?;
        if after.kind == FileKind::Folder {
            return match found {
                None => disk.make_folder(path, after.mode),
                Some(_) => Ok(()),
            };
        }
        if self.newest.get(&change.file) != Some(&seq) {
            return Ok(());
        }
        let Some(stat) = found else { return self.place_new(change, after, path) };
        let content = self.content_on_disk(path, &stat)?;
        let is_there = content == after.content && stat.mode == after.mode;
        if is_there || after.content.is_none() || stat.is(FileKind::Folder) {
            return Ok(());
        }
        self.place_over(change, after, path, content, &stat)
    }

    fn place_new(&self, change: &Change, after: &FileState, path: &WsPath) -> Result<()> {
        let Some(mut staged) = self.stage(after, path, None)? else { return Ok(()) };
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        stage.place_new(disk, &mut staged, path, change.file)?;
        Ok(())
    }

    fn place_over(
        &self,
        change: &Change,
        after: &FileState,
        path: &WsPath,
        content: Option<ContentHash>,
        stat: &Stat,
    ) -> Result<()> {
        let Some(mut staged) = self.stage(after, path, Some(stat))? else { return Ok(()) };
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let displaced = stage.place_over(disk, &mut staged, path, change.file)?;
        let known = self.ours.get(&change.file);
        if !content.is_some_and(|hash| known.is_some_and(|known| known.contains(&hash))) {
            let bytes = stage.displaced_bytes(&displaced, path)?;
            keep_save(self.workspace, self.call, change.file, &bytes, stat.mode)?;
        }
        retire_displaced(self.workspace, &displaced, content);
        Ok(())
    }

    fn stage(
        &self,
        after: &FileState,
        path: &WsPath,
        replaced: Option<&Stat>,
    ) -> Result<Option<Staged>> {
        let Some(hash) = after.content else { return Ok(None) };
        let shape = Shape { mode: Some(after.mode), owner: replaced.map(|stat| stat.owner) };
        image(self.workspace, &hash, after.kind, &shape, path)
    }

    fn content_on_disk(&self, path: &WsPath, stat: &Stat) -> Result<Option<ContentHash>> {
        let disk = &self.workspace.disk;
        if stat.is(FileKind::Link) {
            return disk.read_link(path).map(|target| Some(ContentHash::of(&target)));
        }
        if !stat.is(FileKind::File) {
            return Ok(None);
        }
        let (mut file, stat) = disk.open_file(path)?;
        if stat.size() > self.workspace.limits().load_bytes {
            return crate::content::hash_all(&mut file, path, self.call).map(Some);
        }
        read_all(&mut file, stat.size(), path).map(|bytes| Some(ContentHash::of(&bytes)))
    }
}

/// A stored content as a staged file or link; `None` if the store does not have it.
pub(crate) fn image(
    workspace: &Workspace,
    hash: &ContentHash,
    kind: FileKind,
    shape: &Shape,
    path: &WsPath,
) -> Result<Option<Staged>> {
    let (disk, stage) = (&workspace.disk, &workspace.stage);
    match workspace.store().content(hash).map_err(store_fault)? {
        Some(bytes) if kind == FileKind::Link => stage.link(disk, &bytes, path).map(Some),
        Some(bytes) => stage.file(disk, &bytes, shape, path).map(Some),
        None => {
            let located = workspace.store().locate(hash).map_err(store_fault)?;
            match located.and_then(|located| located.kept) {
                Some(name) => stage.copy_of_kept(disk, &name, shape, path).map(Some),
                None => Ok(None),
            }
        }
    }
}

/// Records bytes that somebody saved into a file while we were replacing it.
fn keep_save(
    workspace: &Workspace,
    call: &Call,
    file: FileId,
    bytes: &[u8],
    mode: u32,
) -> Result<()> {
    let Some(node) = workspace.store().node(file).map_err(store_fault)? else { return Ok(()) };
    let path =
        workspace.store().path_of(file).map_err(store_fault)?.unwrap_or_else(|| node.path.clone());
    let change = Change {
        file,
        before: Some(node.last.clone()),
        after: node.state.clone(),
        from: Some(path.clone()),
        to: node.state.as_ref().map(|_| path),
        version: None,
    };
    record_intruder(workspace, &change, bytes, mode, &recovering(call), call)
}

/// Looks at what a crash left in the staging folder: a file that was displaced and whose bytes the
/// store does not have is somebody's save; one that the store wants to be kept is kept. The caller
/// holds the lock and is the only living process.
pub(crate) fn rescue(workspace: &Workspace, call: &Call) -> Result<()> {
    for displaced in workspace.stage.leftovers() {
        let hash = workspace.stage.displaced_hash(&displaced, call)?;
        let located = workspace.store().locate(&hash).map_err(store_fault)?;
        match (located, displaced.file()) {
            (Some(_), _) => retire_displaced(workspace, &displaced, Some(hash)),
            (None, Some(file)) => {
                let bytes = workspace.stage.displaced_bytes(&displaced, &WsPath::root())?;
                keep_save(workspace, call, file, &bytes, displaced.stat.mode)?;
            }
            (None, None) => {}
        }
    }
    Ok(())
}
