//! Puts a recorded step on disk, by renames only. A displaced file is compared with what the plan expected before it is
//! removed: if another program saved it in between, its bytes become a version of author `external` first. If a rename
//! fails, the step's earlier renames are rolled back, and a compensating step records that in the history.

pub(crate) mod applied;

use std::collections::{HashMap, HashSet};

use yard_core::{
    Call, ContentHash, Fault, FileKind, FileState, Result, Signature, StepId, VersionId, WsPath,
};
use yard_disk::{Displaced, is_older_than_a_tick, kept_name, looks_like};
use yard_store::{AuditEntry, Batch, Effort, NewChange, NewStep, Prepared, StepRow};

use crate::draft::Draft;
use crate::draft::step_metadata::{StepMetadata, external_step};
use crate::workspace::Workspace;
use crate::workspace::commit_queue::UnneededFile;

/// The verb of a step that records that another one was rolled back.
const COMPENSATE: &str = "compensate";

/// The step that was rolled back, if the row is that of the step which records that.
pub(crate) fn compensated_step(row: &StepRow) -> Option<StepId> {
    row.undoes.filter(|_| row.verb == COMPENSATE)
}

/// The result of putting a recorded step on disk.
pub(crate) enum Projection {
    /// The step is on disk. The files that it displaced may be removed.
    Done(Vec<UnneededFile>),
    /// The disk refused the step. It was rolled back, and a compensating step is recorded.
    RolledBack(Fault),
    /// The step is recorded, and neither on disk nor rolled back: recovery has to finish it.
    Unfinished(Fault),
}

/// One change of the disk, with what is needed to reverse it.
enum DiskChange {
    /// With the inode of the file that was placed.
    Placed(WsPath, u64),
    Replaced(WsPath, Displaced, u64),
    Displaced(WsPath, Displaced),
    Renamed {
        from: WsPath,
        to: WsPath,
    },
    MadeFolder(WsPath),
    RemovedFolder(WsPath, u32),
    FolderMode(WsPath, u32),
    Touched,
}

impl DiskChange {
    /// The path of the file that it displaced, and the file.
    fn displaced(&self) -> Option<(&WsPath, &Displaced)> {
        match self {
            Self::Replaced(path, displaced, _) | Self::Displaced(path, displaced) => {
                Some((path, displaced))
            }
            _ => None,
        }
    }
}

/// The content of a displaced file, ready for the store.
pub(crate) struct SavedContent {
    pub(crate) hash: ContentHash,
    size: u64,
    mode: u32,
    prepared: Prepared,
}

impl SavedContent {
    /// Reads a displaced file. If it is too large to load, the file itself becomes the version.
    pub(crate) fn read(
        workspace: &Workspace,
        displaced: &Displaced,
        path: &WsPath,
        call: &Call,
    ) -> Result<Self> {
        let (size, mode) = (displaced.stat.size(), displaced.stat.mode);
        if is_large(workspace, displaced) {
            let hash = workspace.stage.displaced_hash(displaced, call)?;
            let kept = kept_name::of_version(VersionId::new(call.world()));
            return Ok(Self { hash, size, mode, prepared: Prepared::kept(hash, size, kept) });
        }
        let bytes = workspace.stage.displaced_bytes(displaced, path)?;
        let hash = ContentHash::of(&bytes);
        let prepared = workspace.store().prepare(hash, &bytes, None, Effort::Quick)?;
        Ok(Self { hash, size: bytes.len() as u64, mode, prepared })
    }

    /// Stores the bytes without a version, because no file is left to whose history they could belong.
    pub(crate) fn store_only(&self, workspace: &Workspace, displaced: &Displaced) -> Result<()> {
        let store = workspace.store();
        let head = store.head()?;
        let contents = std::slice::from_ref(&self.prepared);
        store.append(head, Batch { steps: &[], contents })?;
        remove_or_keep_displaced(workspace, displaced, Some(self.hash));
        Ok(())
    }
}

fn is_large(workspace: &Workspace, displaced: &Displaced) -> bool {
    displaced.stat.is(FileKind::File) && displaced.stat.size() > workspace.limits().load_bytes
}

/// Puts the steps of one caller on disk.
#[derive(Clone, Copy)]
pub(crate) struct Projector<'a> {
    pub(crate) workspace: &'a Workspace,
    /// The author and the chat of the caller's step, which steps that the kernel adds get as well.
    pub(crate) metadata: &'a StepMetadata,
    pub(crate) call: &'a Call,
}

impl Projector<'_> {
    /// Puts a recorded draft on disk.
    pub(crate) fn project(self, mut draft: Draft) -> Projection {
        let workspace = self.workspace;
        let expected = draft.basis.signatures();
        let mut done: Vec<(NewChange, DiskChange)> = Vec::new();
        let mut concurrent_saves: Vec<(usize, SavedContent)> = Vec::new();
        for change in std::mem::take(&mut draft.changes) {
            let applied = match apply(workspace, &mut draft, &change) {
                Ok(applied) => applied,
                Err(fault) => return self.roll_back(&draft, done, &change, fault),
            };
            match self.concurrent_save(&draft, &expected, &change, &applied) {
                Ok(saved) => concurrent_saves.extend(saved.map(|saved| (done.len(), saved))),
                Err(fault) => return Projection::Unfinished(fault),
            }
            done.push((change, applied));
        }
        for (at, saved) in &concurrent_saves {
            let (change, applied) = &done[*at];
            let Some((_, displaced)) = applied.displaced() else { continue };
            if let Err(fault) = self.record_concurrent_save(change, saved, displaced) {
                return Projection::Unfinished(fault);
            }
        }
        for (file, content, stat) in &draft.basis.observed {
            workspace.remember_signature(*file, *content, stat, self.call);
            workspace.caches.signatures.note_recorded(*file, *content, stat.signature);
        }
        for (hash, bytes) in std::mem::take(&mut draft.contents.written) {
            workspace.caches.written_contents.insert(hash, bytes);
        }
        let recorded: HashSet<usize> = concurrent_saves.into_iter().map(|(at, _)| at).collect();
        let done = done.into_iter().enumerate().filter(|(at, _)| !recorded.contains(at));
        Projection::Done(
            done.filter_map(|(_, (change, applied))| unneeded(&change, applied)).collect(),
        )
    }

    /// The content of the displaced file, if another program saved it after the plan.
    fn concurrent_save(
        self,
        draft: &Draft,
        expected: &HashMap<WsPath, Signature>,
        change: &NewChange,
        applied: &DiskChange,
    ) -> Result<Option<SavedContent>> {
        let Self { workspace, call, .. } = self;
        let Some((path, displaced)) = applied.displaced() else { return Ok(None) };
        let content = change.before.as_ref().and_then(|before| before.content);
        let found = &displaced.stat.signature;
        let is_old = is_older_than_a_tick(found.mtime, call);
        let seen = expected.get(path);
        let looks_same = seen.is_some_and(|seen| looks_like(seen, found));
        // The plan hashed a large file, which takes longer than a tick of the file system's clock.
        if looks_same && (is_old || is_large(workspace, displaced)) {
            return Ok(None);
        }
        let unchanged = match draft.files.displacing.get(&change.file) {
            Some(bytes) if bytes.len() as u64 == displaced.stat.size() => {
                workspace.stage.displaced_bytes(displaced, path)? == **bytes
            }
            Some(_) => false,
            None => Some(workspace.stage.displaced_hash(displaced, call)?) == content,
        };
        if unchanged {
            return Ok(None);
        }
        SavedContent::read(workspace, displaced, path, call).map(Some)
    }

    /// Records two steps: what the other program saved, and that the file then has the step's state again.
    pub(crate) fn record_concurrent_save(
        self,
        change: &NewChange,
        saved_content: &SavedContent,
        displaced: &Displaced,
    ) -> Result<()> {
        let Self { workspace, metadata, call } = self;
        let store = workspace.store();
        let Some(template) = change.after.as_ref().or(change.before.as_ref()) else {
            return Ok(());
        };
        let SavedContent { hash, size, mode, .. } = *saved_content;
        let content = Some(hash);
        let saved = FileState { content, size, mode, ..template.clone() };
        let path = change.to.clone().or_else(|| change.from.clone());
        let living = change.after.as_ref().map(|_| path.clone()).unwrap_or_default();
        let restored_content = change.after.as_ref().and_then(|after| after.content);
        let theirs = NewChange {
            file: change.file,
            before: change.after.clone(),
            after: Some(saved.clone()),
            from: living.clone(),
            to: path.clone(),
            version: Some(VersionId::new(call.world())),
        };
        let ours = NewChange {
            file: change.file,
            before: Some(saved),
            after: change.after.clone(),
            from: path,
            to: living,
            version: restored_content.map(|_| VersionId::new(call.world())),
        };
        let steps = [
            external_step(StepId::new(call.world()), vec![theirs], metadata),
            self.kernel_step(vec![ours], "reassert", None),
        ];
        let head = store.head()?;
        let contents = std::slice::from_ref(&saved_content.prepared);
        store.append(head, Batch { steps: &steps, contents })?;
        remove_or_keep_displaced(workspace, displaced, content);
        Ok(())
    }

    /// A step that the kernel adds by itself, with the author and chat of the caller's step.
    fn kernel_step(self, changes: Vec<NewChange>, verb: &str, undoes: Option<StepId>) -> NewStep {
        let audit = AuditEntry { action: verb.to_owned(), ..self.metadata.audit.clone() };
        let metadata = StepMetadata { audit, side_effects: Vec::new(), ..self.metadata.clone() };
        NewStep { undoes, ..metadata.step(StepId::new(self.call.world()), changes) }
    }

    /// Reverses the part of a step that is on disk, and records a compensating step.
    fn roll_back(
        self,
        draft: &Draft,
        done: Vec<(NewChange, DiskChange)>,
        failed: &NewChange,
        fault: Fault,
    ) -> Projection {
        let mut changes: Vec<NewChange> = done.iter().map(|(change, _)| change.clone()).collect();
        for (change, applied) in done.into_iter().rev() {
            if self.reverse(&change, applied).is_err() {
                return Projection::Unfinished(fault);
            }
        }
        changes.push(failed.clone());
        match self.record_compensation(draft, changes) {
            Ok(()) => Projection::RolledBack(fault),
            Err(_) => Projection::Unfinished(fault),
        }
    }

    /// Reverses one change of the disk. A file that another program saved in its place meanwhile stays there.
    fn reverse(self, change: &NewChange, applied: DiskChange) -> Result<()> {
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        match applied {
            DiskChange::Placed(path, inode) => {
                let removed = stage.displace(disk, &path, change.file)?;
                if removed.stat.signature.inode == inode {
                    stage.discard(&removed);
                } else if !stage.put_back(disk, &removed, &path)? {
                    self.store_displaced(&removed, &path)?;
                }
                Ok(())
            }
            DiskChange::Replaced(path, displaced, inode) => {
                match stage.swap_back(disk, &displaced, &path, inode)? {
                    true => Ok(()),
                    false => self.store_displaced(&displaced, &path),
                }
            }
            DiskChange::Displaced(path, displaced) => {
                match stage.put_back(disk, &displaced, &path)? {
                    true => Ok(()),
                    false => self.store_displaced(&displaced, &path),
                }
            }
            DiskChange::Renamed { from, to } => disk.rename(&to, &from),
            DiskChange::MadeFolder(path) => disk.remove_folder(&path),
            DiskChange::RemovedFolder(path, mode) => make_folder(self.workspace, &path, mode),
            DiskChange::FolderMode(path, mode) => disk.set_folder_mode(&path, mode),
            DiskChange::Touched => Ok(()),
        }
    }

    /// Stores the bytes of a displaced file whose path is occupied by now, if the store does not have them.
    fn store_displaced(self, displaced: &Displaced, path: &WsPath) -> Result<()> {
        let workspace = self.workspace;
        let saved = SavedContent::read(workspace, displaced, path, self.call)?;
        match workspace.store().locate(&saved.hash)? {
            Some(_) => remove_or_keep_displaced(workspace, displaced, Some(saved.hash)),
            None => saved.store_only(workspace, displaced)?,
        }
        Ok(())
    }

    fn record_compensation(self, draft: &Draft, changes: Vec<NewChange>) -> Result<()> {
        let store = self.workspace.store();
        let all = match store.step(draft.id)? {
            Some(row) => store.changes(row.seq)?,
            None => changes,
        };
        let reversed = all.into_iter().rev().map(|change| reversed(change, self.call)).collect();
        let step = self.kernel_step(reversed, COMPENSATE, Some(draft.id));
        let head = store.head()?;
        store.append(head, Batch { steps: &[step], contents: &[] })?;
        Ok(())
    }
}

/// Makes a folder with exactly that mode, regardless of the process's umask.
pub(crate) fn make_folder(workspace: &Workspace, path: &WsPath, mode: u32) -> Result<()> {
    let disk = &workspace.disk;
    if mode == workspace.folder_mode {
        return disk.make_folder(path, mode);
    }
    disk.make_folder(path, mode | 0o700)?;
    disk.set_folder_mode(path, mode).inspect_err(|_| {
        // If this fails too, recovery finds an empty folder and sets its mode.
        let _ = disk.remove_folder(path);
    })
}

/// Whether a folder that was to get `mode` is as [`make_folder`] leaves it between its two calls.
pub(crate) fn is_half_made(workspace: &Workspace, mode: u32, found: u32) -> bool {
    let masked = (mode | 0o700) & (workspace.folder_mode | 0o1000);
    found != mode && found & 0o1777 == masked & 0o1777
}

fn apply(workspace: &Workspace, draft: &mut Draft, change: &NewChange) -> Result<DiskChange> {
    let disk = &workspace.disk;
    match (&change.before, &change.after, &change.from, &change.to) {
        (None, Some(after), _, Some(to)) if after.kind == FileKind::Folder => {
            make_folder(workspace, to, after.mode)?;
            Ok(DiskChange::MadeFolder(to.clone()))
        }
        (Some(before), None, Some(from), _) if before.kind == FileKind::Folder => {
            disk.remove_folder(from)?;
            Ok(DiskChange::RemovedFolder(from.clone(), before.mode))
        }
        (Some(_), None, Some(from), _) => Ok(DiskChange::Displaced(
            from.clone(),
            workspace.stage.displace(disk, from, change.file)?,
        )),
        (None, Some(_), _, Some(to)) => place(workspace, draft, change, to),
        (Some(before), Some(after), Some(from), Some(to)) => {
            if from != to {
                disk.rename(from, to)?;
                return Ok(DiskChange::Renamed { from: from.clone(), to: to.clone() });
            }
            if before == after {
                disk.touch(to, draft.files.touches.get(&change.file).copied())?;
                return Ok(DiskChange::Touched);
            }
            if after.kind == FileKind::Folder {
                disk.set_folder_mode(to, after.mode)?;
                return Ok(DiskChange::FolderMode(to.clone(), before.mode));
            }
            place(workspace, draft, change, to)
        }
        _ => Ok(DiskChange::Touched),
    }
}

fn place(
    workspace: &Workspace,
    draft: &mut Draft,
    change: &NewChange,
    to: &WsPath,
) -> Result<DiskChange> {
    let Some(mut staged) = draft.files.staged.remove(&change.file) else {
        // The bytes on disk are right already: only the store's record changes.
        return Ok(DiskChange::Touched);
    };
    let (disk, stage) = (&workspace.disk, &workspace.stage);
    let displaced = if change.before.is_none() {
        stage.place_new(disk, &mut staged, to, change.file)?
    } else {
        Some(stage.place_over(disk, &mut staged, to, change.file)?)
    };
    let inode = staged.stat.signature.inode;
    Ok(match displaced {
        Some(displaced) => DiskChange::Replaced(to.clone(), displaced, inode),
        None => DiskChange::Placed(to.clone(), inode),
    })
}

fn reversed(change: NewChange, call: &Call) -> NewChange {
    let brings = change.before.as_ref().is_some_and(|before| {
        before.content.is_some()
            && change.after.as_ref().map(|after| after.content) != Some(before.content)
    });
    NewChange {
        file: change.file,
        before: change.after,
        after: change.before,
        from: change.to,
        to: change.from,
        version: brings.then(|| VersionId::new(call.world())),
    }
}

fn unneeded(change: &NewChange, applied: DiskChange) -> Option<UnneededFile> {
    let (DiskChange::Replaced(_, displaced, _) | DiskChange::Displaced(_, displaced)) = applied
    else {
        return None;
    };
    let content = change.before.as_ref().and_then(|before| before.content);
    Some(UnneededFile { displaced, content })
}

/// Removes a displaced file whose step is complete, or keeps it if the file itself is the version. Needs no lock.
pub(crate) fn remove_or_keep_displaced(
    workspace: &Workspace,
    displaced: &Displaced,
    content: Option<ContentHash>,
) {
    let purged = || content.is_some_and(|hash| workspace.store().is_purged(&hash) == Ok(true));
    if is_large(workspace, displaced) && !purged() {
        // Unless the store says that it has the content, this may be the only copy. If the store cannot be asked
        // now, the file stays where it is, and the next opening tries again.
        let located = content.map(|hash| workspace.store().locate(&hash));
        let Some(Ok(Some(located))) = located else { return };
        if let Some(file) = located.kept.filter(|file| !workspace.stage.has_kept(&file.name)) {
            let _ = workspace.stage.keep(displaced, &file.name);
            return;
        }
    }
    workspace.stage.discard(displaced);
}
