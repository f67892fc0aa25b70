//! Puts a recorded step on disk, by renames only. A displaced file is compared with what the plan expected before it is
//! removed: if another program saved it in between, its bytes become a version of author `external` first. If a rename
//! fails, the step's earlier renames are rolled back, and a compensating step records that in the history.

use std::collections::{HashMap, HashSet};

use yard_core::{Call, ContentHash, Fault, FileKind, FileState, Result, StepId, VersionId, WsPath};
use yard_disk::{Displaced, RACY_NANOS, kept_name, looks_like};
use yard_store::{AuditEntry, Batch, Effort, NewChange, NewStep, Prepared, Signature};

use crate::draft::Draft;
use crate::commit_queue::RetiredFile;
use crate::step_metadata::StepMetadata;
use crate::step_metadata::external_step;
use crate::workspace::Workspace;

/// The result of putting a recorded step on disk.
pub(crate) enum Projection {
    /// The step is on disk. The files that it displaced may be removed.
    Done(Vec<RetiredFile>),
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
        retire_displaced(workspace, displaced, Some(self.hash));
        Ok(())
    }
}

/// A file that another program saved between the plan and the projection of a change.
struct ConcurrentSave {
    change: NewChange,
    saved: SavedContent,
}

fn is_large(workspace: &Workspace, displaced: &Displaced) -> bool {
    displaced.stat.is(FileKind::File) && displaced.stat.size() > workspace.limits().load_bytes
}

/// Puts a recorded draft on disk.
pub(crate) fn project(
    workspace: &Workspace,
    mut draft: Draft,
    metadata: &StepMetadata,
    call: &Call,
) -> Projection {
    let expected = draft.signatures();
    let mut done: Vec<(NewChange, DiskChange)> = Vec::new();
    let mut concurrent_saves = Vec::new();
    for change in std::mem::take(&mut draft.changes) {
        match apply(workspace, &mut draft, &change) {
            Ok(applied) => {
                match concurrent_save(workspace, &draft, &expected, &change, &applied, call) {
                    Ok(save) => concurrent_saves.extend(save.map(|save| (done.len(), save))),
                    Err(fault) => return Projection::Unfinished(fault),
                }
                done.push((change, applied));
            }
            Err(fault) => {
                return roll_back(workspace, &draft, done, &change, fault, metadata, call);
            }
        }
    }
    for (at, ConcurrentSave { change, saved }) in &concurrent_saves {
        let (_, DiskChange::Replaced(_, displaced, _) | DiskChange::Displaced(_, displaced)) =
            &done[*at]
        else {
            continue;
        };
        if let Err(fault) =
            record_concurrent_save(workspace, change, saved, displaced, metadata, call)
        {
            return Projection::Unfinished(fault);
        }
    }
    for (file, content, stat) in &draft.observed {
        workspace.remember_signature(*file, *content, stat, call);
        workspace.caches.signatures.note_recorded(*file, *content, stat.signature);
    }
    for (hash, bytes) in std::mem::take(&mut draft.written) {
        workspace.caches.written_contents.insert(hash, bytes);
    }
    let recorded: HashSet<usize> = concurrent_saves.into_iter().map(|(at, _)| at).collect();
    let done = done.into_iter().enumerate().filter(|(at, _)| !recorded.contains(at));
    Projection::Done(done.filter_map(|(_, (change, applied))| retired(&change, applied)).collect())
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
                disk.touch(to, draft.touches.get(&change.file).copied())?;
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
    let Some(mut staged) = draft.staged.remove(&change.file) else {
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

/// The displaced file, if another program saved it after the plan.
fn concurrent_save(
    workspace: &Workspace,
    draft: &Draft,
    expected: &HashMap<WsPath, Signature>,
    change: &NewChange,
    applied: &DiskChange,
    call: &Call,
) -> Result<Option<ConcurrentSave>> {
    let (path, displaced) = match applied {
        DiskChange::Replaced(path, displaced, _) | DiskChange::Displaced(path, displaced) => {
            (path, displaced)
        }
        _ => return Ok(None),
    };
    let content = change.before.as_ref().and_then(|before| before.content);
    let is_old =
        call.world().now().as_millis() * 1_000_000 - displaced.stat.signature.mtime > RACY_NANOS;
    let looks_same =
        { expected.get(path) }.is_some_and(|seen| looks_like(seen, &displaced.stat.signature));
    // The plan hashed a large file, which takes longer than a tick of the file system's clock.
    if looks_same && (is_old || is_large(workspace, displaced)) {
        return Ok(None);
    }
    let unchanged = match draft.displacing.get(&change.file) {
        Some(bytes) if bytes.len() as u64 == displaced.stat.size() => {
            workspace.stage.displaced_bytes(displaced, path)? == **bytes
        }
        Some(_) => false,
        None => Some(workspace.stage.displaced_hash(displaced, call)?) == content,
    };
    if unchanged {
        return Ok(None);
    }
    let saved = SavedContent::read(workspace, displaced, path, call)?;
    Ok(Some(ConcurrentSave { change: change.clone(), saved }))
}

/// Records two steps: what the other program saved, and that the file then has the step's state again.
pub(crate) fn record_concurrent_save(
    workspace: &Workspace,
    change: &NewChange,
    saved_content: &SavedContent,
    displaced: &Displaced,
    metadata: &StepMetadata,
    call: &Call,
) -> Result<()> {
    let store = workspace.store();
    let Some(template) = change.after.as_ref().or(change.before.as_ref()) else { return Ok(()) };
    let SavedContent { hash, size, mode, .. } = *saved_content;
    let content = Some(hash);
    let saved = FileState { content, size, mode, ..template.clone() };
    let path = change.to.clone().or_else(|| change.from.clone());
    let living = change.after.as_ref().map(|_| path.clone()).unwrap_or_default();
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
        version: change
            .after
            .as_ref()
            .and_then(|after| after.content)
            .map(|_| VersionId::new(call.world())),
    };
    let steps = [
        external_step(StepId::new(call.world()), vec![theirs], metadata),
        kernel_step(metadata, vec![ours], "reassert", None, call),
    ];
    let head = store.head()?;
    let contents = std::slice::from_ref(&saved_content.prepared);
    store.append(head, Batch { steps: &steps, contents })?;
    retire_displaced(workspace, displaced, content);
    Ok(())
}

/// A step that the kernel adds by itself, with the author and chat of the caller's step.
fn kernel_step(
    metadata: &StepMetadata,
    changes: Vec<NewChange>,
    verb: &str,
    undoes: Option<StepId>,
    call: &Call,
) -> NewStep {
    let audit = AuditEntry { action: verb.to_owned(), ..metadata.audit.clone() };
    let metadata = StepMetadata { audit, side_effects: Vec::new(), ..metadata.clone() };
    NewStep { undoes, ..metadata.step(StepId::new(call.world()), changes) }
}

/// Reverses the part of a step that is on disk, and records a compensating step.
fn roll_back(
    workspace: &Workspace,
    draft: &Draft,
    done: Vec<(NewChange, DiskChange)>,
    failed: &NewChange,
    fault: Fault,
    metadata: &StepMetadata,
    call: &Call,
) -> Projection {
    let mut changes: Vec<NewChange> = done.iter().map(|(change, _)| change.clone()).collect();
    for (change, applied) in done.into_iter().rev() {
        if reverse(workspace, &change, applied, call).is_err() {
            return Projection::Unfinished(fault);
        }
    }
    changes.push(failed.clone());
    match record_compensation(workspace, draft, changes, metadata, call) {
        Ok(()) => Projection::RolledBack(fault),
        Err(_) => Projection::Unfinished(fault),
    }
}

/// Reverses one change of the disk. A file that another program saved in its place meanwhile stays there.
fn reverse(
    workspace: &Workspace,
    change: &NewChange,
    applied: DiskChange,
    call: &Call,
) -> Result<()> {
    let (disk, stage) = (&workspace.disk, &workspace.stage);
    match applied {
        DiskChange::Placed(path, inode) => {
            let removed = stage.displace(disk, &path, change.file)?;
            if removed.stat.signature.inode == inode {
                stage.discard(&removed);
            } else if !stage.put_back(disk, &removed, &path)? {
                store_displaced(workspace, &removed, &path, call)?;
            }
            Ok(())
        }
        DiskChange::Replaced(path, displaced, inode) => {
            if !stage.swap_back(disk, &displaced, &path, inode)? {
                store_displaced(workspace, &displaced, &path, call)?;
            }
            Ok(())
        }
        DiskChange::Displaced(path, displaced) => {
            if !stage.put_back(disk, &displaced, &path)? {
                store_displaced(workspace, &displaced, &path, call)?;
            }
            Ok(())
        }
        DiskChange::Renamed { from, to } => disk.rename(&to, &from),
        DiskChange::MadeFolder(path) => disk.remove_folder(&path),
        DiskChange::RemovedFolder(path, mode) => make_folder(workspace, &path, mode),
        DiskChange::FolderMode(path, mode) => disk.set_folder_mode(&path, mode),
        DiskChange::Touched => Ok(()),
    }
}

/// Stores the bytes of a displaced file whose path is occupied by now, if the store does not have them.
fn store_displaced(
    workspace: &Workspace,
    displaced: &Displaced,
    path: &WsPath,
    call: &Call,
) -> Result<()> {
    let saved = SavedContent::read(workspace, displaced, path, call)?;
    match workspace.store().locate(&saved.hash)? {
        Some(_) => retire_displaced(workspace, displaced, Some(saved.hash)),
        None => saved.store_only(workspace, displaced)?,
    }
    Ok(())
}

fn record_compensation(
    workspace: &Workspace,
    draft: &Draft,
    changes: Vec<NewChange>,
    metadata: &StepMetadata,
    call: &Call,
) -> Result<()> {
    let store = workspace.store();
    let row = store.step(draft.id)?;
    let all = match row {
        Some(row) => store.changes(row.seq)?,
        None => changes,
    };
    let reversed = all.into_iter().rev().map(|change| reversed(change, call)).collect();
    let step = kernel_step(metadata, reversed, "compensate", Some(draft.id), call);
    let head = store.head()?;
    store.append(head, Batch { steps: &[step], contents: &[] })?;
    Ok(())
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

fn retired(change: &NewChange, applied: DiskChange) -> Option<RetiredFile> {
    let (DiskChange::Replaced(_, displaced, _) | DiskChange::Displaced(_, displaced)) = applied
    else {
        return None;
    };
    let content = change.before.as_ref().and_then(|before| before.content);
    Some(RetiredFile { displaced, content })
}

/// Removes a displaced file whose step is complete, or keeps it if the file itself is the version. Needs no lock.
pub(crate) fn retire(workspace: &Workspace, retired: RetiredFile) {
    retire_displaced(workspace, &retired.displaced, retired.content);
}

/// Removes a displaced file, or keeps it if the file itself is the version.
pub(crate) fn retire_displaced(
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
