//! Finishing what a crash left unfinished, without a hand.
//!
//! What the steps after the applied mark made is put on disk again; what is there already stays. Within
//! one boot that is at most one batch. After another boot the mark does not count, and every step since
//! the last flush is checked by hash. What is found on disk and is neither what a step made nor what it
//! started from is somebody's save: it becomes a version before it goes.

use std::collections::{HashMap, HashSet};

use yard_core::{Author, Call, ContentHash, FileId, FileKind, FileState, Result, WsPath};
use yard_store::{Change, Node, Seq, StepRow};

use crate::content::{is_content, read_all};
use crate::disk::{Displaced, Shape, Staged, Stat};
use crate::journal::advance;
use crate::output;
use crate::projection::{
    Saved, is_half_made, make_folder, record_intruder, recovering, retire_displaced,
};
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
    advance(workspace, None, call)?;
    workspace.store().head().map_err(store_fault)
}

/// As [`settle`], for who appends at the head that it returns and is refused if that is not the head: in
/// the usual case the store is not asked.
pub(crate) fn settle_to_append(workspace: &Workspace, call: &Call) -> Result<Seq> {
    let applied = workspace.locks.applied()?;
    match applied.boot == call.world().boot_id() && workspace.journal.left_at(applied.seq) {
        true => Ok(applied.seq),
        false => settle(workspace, call),
    }
}

/// The steps that have to be on disk.
///
/// The disk may be anywhere between the first of them and the last, so that none is replayed blindly:
/// moves and removals happen only where what they name is still there and belongs to nobody else by now;
/// then every entry that these steps touched gets the state that the store knows, at its place of today.
struct Redo<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    steps: Vec<(StepRow, Vec<Change>)>,
    /// Contents that these steps made or started from: finding one of them is no surprise.
    ours: HashSet<ContentHash>,
    /// The same, by whose they were.
    owned: HashSet<(FileId, ContentHash)>,
    /// What the last of these steps did to an entry, and whether we did it.
    newest: HashMap<FileId, Newest>,
}

#[derive(Clone, Copy)]
struct Newest {
    by_us: bool,
    makes: bool,
    /// It or a step before it set the mode.
    sets_mode: bool,
}

impl<'a> Redo<'a> {
    fn load(workspace: &'a Workspace, call: &'a Call, from: Seq, head: Seq) -> Result<Self> {
        let store = workspace.store();
        let count = usize::try_from(head - from.min(head)).unwrap_or(usize::MAX);
        let mut redo = Self {
            workspace,
            call,
            steps: Vec::with_capacity(count),
            ours: HashSet::new(),
            owned: HashSet::new(),
            newest: HashMap::new(),
        };
        for row in store.steps(None, None, count).map_err(store_fault)?.into_iter().rev() {
            let changes = store.changes(row.seq).map_err(store_fault)?;
            for change in &changes {
                let states = change.before.iter().chain(&change.after);
                for content in states.filter_map(|state| state.content) {
                    redo.ours.insert(content);
                    redo.owned.insert((change.file, content));
                }
                let mode = |state: &Option<FileState>| state.as_ref().map(|state| state.mode);
                let makes = change.before.is_none();
                // A mode that an earlier step set may be lost as much as the newest one's.
                let set_before = redo.newest.get(&change.file).is_some_and(|last| last.sets_mode);
                let differs = mode(&change.before) != mode(&change.after);
                let sets_mode = !makes && (differs || set_before);
                let by_us = row.author != Author::External;
                redo.newest.insert(change.file, Newest { by_us, makes, sets_mode });
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
                match (&change.before, &change.after, &change.from, &change.to) {
                    (Some(before), None, Some(from), _) => self.remove(change, before, from)?,
                    (None, Some(after), _, Some(to)) if after.kind == FileKind::Folder => {
                        self.make(change, after, to)?;
                    }
                    (Some(before), Some(_), Some(from), Some(to)) if from != to => {
                        self.rename(change, before, from, to)?;
                    }
                    _ => {}
                }
            }
        }
        self.provide_all()
    }

    /// Moves what a step moved, if it is still where it was.
    fn rename(
        &self,
        change: &Change,
        before: &FileState,
        from: &WsPath,
        to: &WsPath,
    ) -> Result<()> {
        let (disk, store) = (&self.workspace.disk, self.workspace.store());
        let Some(stat) = disk.stat(from)? else { return Ok(()) };
        if !stat.is(before.kind) || disk.stat(to)?.is_some() || self.is_taken(change.file, from)? {
            return Ok(());
        }
        let place = store.path_of(change.file).map_err(store_fault)?;
        match &place {
            // The disk is ahead of this step.
            Some(place) if disk.stat(place)?.is_some() => return Ok(()),
            Some(_) => {}
            // A later step removed it: this may be somebody's new file.
            None if before.kind == FileKind::Folder => {}
            None if self.is_of(change.file, from, &stat)? => {}
            None => return Ok(()),
        }
        let parent = to.parent().unwrap_or_else(WsPath::root);
        if disk.stat(&parent)?.is_some_and(|stat| stat.is(FileKind::Folder)) {
            return disk.rename(from, to);
        }
        match place {
            // A later step took that folder away: straight to where the entry is now.
            Some(place) if !place.is_within(from) && self.provide_above(&place)? => {
                disk.rename(from, &place)
            }
            _ => Ok(()),
        }
    }

    /// Makes a folder that a step made, so that later ones find it where they expect it.
    fn make(&self, change: &Change, after: &FileState, path: &WsPath) -> Result<()> {
        let (disk, store) = (&self.workspace.disk, self.workspace.store());
        let Some(place) = store.path_of(change.file).map_err(store_fault)? else { return Ok(()) };
        let parent = path.parent().unwrap_or_else(WsPath::root);
        let fits = disk.stat(&parent)?.is_some_and(|stat| stat.is(FileKind::Folder));
        if !fits || disk.stat(&place)?.is_some() || disk.stat(path)?.is_some() {
            return Ok(());
        }
        make_folder(self.workspace, path, after.mode)
    }

    /// Whether a path is by now the place of another entry.
    fn is_taken(&self, file: FileId, path: &WsPath) -> Result<bool> {
        let node = self.workspace.store().lookup(path).map_err(store_fault)?;
        Ok(node.is_some_and(|node| node.id != file))
    }

    /// Removes what a step removed, unless it has changed since: then it is somebody's new file.
    fn remove(&self, change: &Change, before: &FileState, path: &WsPath) -> Result<()> {
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let Some(stat) = disk.stat(path)? else { return Ok(()) };
        let node = self.workspace.store().node(change.file).map_err(store_fault)?;
        let revived = node.is_some_and(|node| node.state.is_some());
        let heir = self.workspace.store().lookup(path).map_err(store_fault)?;
        // A folder that took a file's place, or the reverse, is not what is there.
        let is_heir =
            |heir: Node| (heir.last.kind == FileKind::Folder) == stat.is(FileKind::Folder);
        if revived || heir.filter(|heir| heir.id != change.file).is_some_and(is_heir) {
            return Ok(());
        }
        if stat.is(FileKind::Folder) {
            if before.kind == FileKind::Folder && disk.list(path)?.is_empty() {
                disk.remove_folder(path)?;
            }
            return Ok(());
        }
        if !self.is_of(change.file, path, &stat)? {
            return Ok(());
        }
        let content = self.content_on_disk(path, &stat)?;
        let displaced = stage.displace(disk, path, change.file)?;
        retire_displaced(self.workspace, &displaced, content);
        Ok(())
    }

    /// Whether what is at a path has a content that the file had in these steps: the disk may be
    /// behind all of them.
    fn is_of(&self, file: FileId, path: &WsPath, stat: &Stat) -> Result<bool> {
        let content = self.content_on_disk(path, stat)?;
        Ok(content.is_some_and(|content| self.owned.contains(&(file, content))))
    }

    /// Gives every living entry that these steps touched its state, folders before what is in them.
    fn provide_all(&self) -> Result<()> {
        let store = self.workspace.store();
        let mut living = Vec::new();
        for (file, newest) in self.newest.iter().filter(|(_, newest)| newest.by_us) {
            let state = store.node(*file).map_err(store_fault)?.and_then(|node| node.state);
            let path = store.path_of(*file).map_err(store_fault)?;
            if let (Some(state), Some(path)) = (state, path) {
                living.push((path, *file, state, *newest));
            }
        }
        living.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (path, file, state, newest) in &living {
            self.call.check()?;
            self.provide(*file, state, path, *newest)?;
        }
        Ok(())
    }

    /// Makes sure that a path holds what the steps put there.
    fn provide(
        &self,
        file: FileId,
        state: &FileState,
        path: &WsPath,
        newest: Newest,
    ) -> Result<()> {
        let disk = &self.workspace.disk;
        let Some(stat) = disk.stat(path)? else {
            if !self.provide_above(path)? {
                return Ok(());
            }
            return match state.kind {
                FileKind::Folder => make_folder(self.workspace, path, state.mode),
                _ => self.place_new(file, state, path),
            };
        };
        let mode_differs = newest.sets_mode && stat.mode != state.mode;
        if state.kind == FileKind::Folder {
            let half_made = newest.makes && is_half_made(self.workspace, state.mode, stat.mode);
            return match stat.is(FileKind::Folder) && (mode_differs || half_made) {
                true => disk.set_folder_mode(path, state.mode),
                false => Ok(()),
            };
        }
        if state.content.is_none() || !(stat.is(FileKind::File) || stat.is(FileKind::Link)) {
            return Ok(());
        }
        let content = self.content_on_disk(path, &stat)?;
        if content == state.content && !mode_differs {
            return Ok(());
        }
        self.place_over(file, state, path, content, &stat)
    }

    /// Makes the folders above a path that are missing; whether all of them are folders now.
    fn provide_above(&self, path: &WsPath) -> Result<bool> {
        let Some(above) = path.parent() else { return Ok(true) };
        match self.workspace.disk.stat(&above)? {
            Some(stat) => Ok(stat.is(FileKind::Folder)),
            None if !self.provide_above(&above)? => Ok(false),
            None => {
                let node = self.workspace.store().lookup(&above).map_err(store_fault)?;
                let mode = node.map_or(self.workspace.folder_mode, |node| node.last.mode);
                make_folder(self.workspace, &above, mode).map(|()| true)
            }
        }
    }

    fn place_new(&self, file: FileId, state: &FileState, path: &WsPath) -> Result<()> {
        let Some(mut staged) = self.stage(state, path, None)? else { return Ok(()) };
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        stage.place_new(disk, &mut staged, path, file)?;
        Ok(())
    }

    fn place_over(
        &self,
        file: FileId,
        state: &FileState,
        path: &WsPath,
        content: Option<ContentHash>,
        stat: &Stat,
    ) -> Result<()> {
        let Some(mut staged) = self.stage(state, path, Some(stat))? else { return Ok(()) };
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let displaced = stage.place_over(disk, &mut staged, path, file)?;
        if !content.is_some_and(|hash| self.ours.contains(&hash)) {
            keep_save(self.workspace, self.call, file, &displaced, path)?;
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
        let owner = replaced.map(|stat| stat.owner);
        let shape = Shape { mode: Some(after.mode), owner, taking: None };
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
                Some(name) if !is_whole(workspace, &name, hash) => Ok(None),
                Some(name) => stage.copy_of_kept(disk, &name, shape, path).map(Some),
                None => Ok(None),
            }
        }
    }
}

/// Whether a kept file is what it stands for. Build output may have gone for room, and its file is one of
/// the tree's, which anybody may have written into; nobody else has any business with the rest.
pub(crate) fn is_whole(workspace: &Workspace, name: &str, hash: &ContentHash) -> bool {
    if !output::is_output(name) {
        return true;
    }
    workspace.stage.open_kept(name).is_ok_and(|mut file| is_content(&mut file, hash))
}

/// Records what somebody saved into a file while we were replacing it.
fn keep_save(
    workspace: &Workspace,
    call: &Call,
    file: FileId,
    displaced: &Displaced,
    path: &WsPath,
) -> Result<()> {
    let store = workspace.store();
    let saved = Saved::read(workspace, displaced, path, call)?;
    let Some(mut node) = store.node(file).map_err(store_fault)? else {
        return saved.store_only(workspace, displaced);
    };
    if node.state.is_none() {
        // Its name may be another's by now: then the save belongs to that one's past.
        let heir = store.child(node.last.parent, &node.last.name).map_err(store_fault)?;
        node = heir.unwrap_or(node);
    }
    if node.last.kind == FileKind::Folder {
        return saved.store_only(workspace, displaced);
    }
    let path = store.path_of(node.id).map_err(store_fault)?.unwrap_or_else(|| node.path.clone());
    let change = Change {
        file: node.id,
        before: Some(node.last.clone()),
        after: node.state.clone(),
        from: Some(path.clone()),
        to: node.state.as_ref().map(|_| path),
        version: None,
    };
    record_intruder(workspace, &change, &saved, displaced, &recovering(call), call)
}

/// Looks at what a crash left in the staging folder: a file that was displaced and whose bytes the
/// store does not have is somebody's save; one that the store wants to be kept is kept. The caller
/// holds the lock and is the only living process.
pub(crate) fn rescue(workspace: &Workspace, call: &Call) -> Result<()> {
    let path = WsPath::root();
    for displaced in workspace.stage.leftovers() {
        if is_unused(workspace, &displaced)? {
            workspace.stage.discard(&displaced);
            continue;
        }
        let saved = Saved::read(workspace, &displaced, &path, call)?;
        match workspace.store().locate(&saved.hash).map_err(store_fault)? {
            Some(_) => retire_displaced(workspace, &displaced, Some(saved.hash)),
            // What was left of a file when it was purged.
            None if workspace.store().is_purged(&saved.hash).map_err(store_fault)? => {
                workspace.stage.discard(&displaced);
            }
            None => match displaced.file() {
                Some(file) => keep_save(workspace, call, file, &displaced, &path)?,
                None => saved.store_only(workspace, &displaced)?,
            },
        }
    }
    Ok(())
}

/// Whether a file was staged for a step that never happened: then it took nobody's place.
fn is_unused(workspace: &Workspace, staged: &Displaced) -> Result<bool> {
    match staged.step() {
        Some(step) => Ok(workspace.store().step(step).map_err(store_fault)?.is_none()),
        None => Ok(false),
    }
}
