//! From a recorded step to the disk: renames only. A displaced file is looked at before it goes; if it
//! is not the one that the plan expected, somebody saved in between, and their bytes become a version of
//! author `external` first. A rename that fails takes the step's earlier ones back, and a compensating
//! step says so in the history.

use std::collections::{HashMap, HashSet};

use yard_core::{Call, ContentHash, Fault, FileKind, FileState, Result, StepId, VersionId, WsPath};
use yard_disk::{Displaced, RACY_NANOS, kept_name, looks_like};
use yard_store::{AuditEntry, Batch, Effort, NewChange, NewStep, Prepared, Signature};

use crate::draft::Draft;
use crate::journal::Retired;
use crate::signed::Signed;
use crate::signed::external_step;
use crate::workspace::Workspace;

/// What became of a recorded step.
pub(crate) enum Landing {
    /// It is on disk. What it displaced may be removed.
    Landed(Vec<Retired>),
    /// It failed on disk; it was taken back, and the history says so.
    Compensated(Fault),
    /// It is recorded and neither on disk nor taken back: recovery will finish it.
    Unfinished(Fault),
}

/// One thing that was done to the disk, and can be taken back.
enum Done {
    /// With the inode of what was placed.
    Placed(WsPath, u64),
    Replaced(WsPath, Displaced, u64),
    Taken(WsPath, Displaced),
    Renamed {
        from: WsPath,
        to: WsPath,
    },
    MadeFolder(WsPath),
    RemovedFolder(WsPath, u32),
    FolderMode(WsPath, u32),
    Touched,
}

/// What somebody saved, on its way into the store.
pub(crate) struct Saved {
    pub(crate) hash: ContentHash,
    size: u64,
    mode: u32,
    prepared: Prepared,
}

impl Saved {
    /// Looks at a displaced file. One that is too large to load is itself going to be the version.
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

    /// Stores the bytes where no file is left to whose history they could belong.
    pub(crate) fn store_only(&self, workspace: &Workspace, displaced: &Displaced) -> Result<()> {
        let store = workspace.store();
        let head = store.head()?;
        let contents = std::slice::from_ref(&self.prepared);
        store.append(head, Batch { steps: &[], contents })?;
        retire_displaced(workspace, displaced, Some(self.hash));
        Ok(())
    }
}

/// Somebody's save that was in the way of a change.
struct Intruder {
    change: NewChange,
    saved: Saved,
}

fn is_large(workspace: &Workspace, displaced: &Displaced) -> bool {
    displaced.stat.is(FileKind::File) && displaced.stat.size() > workspace.limits().load_bytes
}

/// Puts a recorded draft on disk.
pub(crate) fn project(
    workspace: &Workspace,
    mut draft: Draft,
    signed: &Signed,
    call: &Call,
) -> Landing {
    let seen = draft.signatures();
    let mut done: Vec<(NewChange, Done)> = Vec::new();
    let mut intruders = Vec::new();
    for change in std::mem::take(&mut draft.changes) {
        match apply(workspace, &mut draft, &change) {
            Ok(step) => {
                match intruder(workspace, &draft, &seen, &change, &step, call) {
                    Ok(found) => intruders.extend(found.map(|found| (done.len(), found))),
                    Err(fault) => return Landing::Unfinished(fault),
                }
                done.push((change, step));
            }
            Err(fault) => return take_back(workspace, &draft, done, &change, fault, signed, call),
        }
    }
    for (at, Intruder { change, saved }) in &intruders {
        let (_, Done::Replaced(_, displaced, _) | Done::Taken(_, displaced)) = &done[*at] else {
            continue;
        };
        if let Err(fault) = record_intruder(workspace, change, saved, displaced, signed, call) {
            return Landing::Unfinished(fault);
        }
    }
    for (file, content, stat) in &draft.seen {
        workspace.seen_as(*file, *content, stat, call);
        workspace.signatures.note_recorded(*file, *content, stat.signature);
    }
    for (hash, bytes) in std::mem::take(&mut draft.written) {
        workspace.recent.keep(hash, bytes);
    }
    let kept: HashSet<usize> = intruders.into_iter().map(|(at, _)| at).collect();
    let done = done.into_iter().enumerate().filter(|(at, _)| !kept.contains(at));
    Landing::Landed(done.filter_map(|(_, (change, step))| retired(&change, step)).collect())
}

/// Makes a folder with exactly that mode, whatever the process's mask takes away.
pub(crate) fn make_folder(workspace: &Workspace, path: &WsPath, mode: u32) -> Result<()> {
    let disk = &workspace.disk;
    if mode == workspace.folder_mode {
        return disk.make_folder(path, mode);
    }
    disk.make_folder(path, mode | 0o700)?;
    disk.set_folder_mode(path, mode).inspect_err(|_| {
        // Empty and ours; if it stays, recovery finds it made.
        let _ = disk.remove_folder(path);
    })
}

/// Whether a folder that was to get `mode` is as [`make_folder`] leaves it between its two calls.
pub(crate) fn is_half_made(workspace: &Workspace, mode: u32, found: u32) -> bool {
    let masked = (mode | 0o700) & (workspace.folder_mode | 0o1000);
    found != mode && found & 0o1777 == masked & 0o1777
}

fn apply(workspace: &Workspace, draft: &mut Draft, change: &NewChange) -> Result<Done> {
    let disk = &workspace.disk;
    match (&change.before, &change.after, &change.from, &change.to) {
        (None, Some(after), _, Some(to)) if after.kind == FileKind::Folder => {
            make_folder(workspace, to, after.mode)?;
            Ok(Done::MadeFolder(to.clone()))
        }
        (Some(before), None, Some(from), _) if before.kind == FileKind::Folder => {
            disk.remove_folder(from)?;
            Ok(Done::RemovedFolder(from.clone(), before.mode))
        }
        (Some(_), None, Some(from), _) => {
            Ok(Done::Taken(from.clone(), workspace.stage.displace(disk, from, change.file)?))
        }
        (None, Some(_), _, Some(to)) => place(workspace, draft, change, to),
        (Some(before), Some(after), Some(from), Some(to)) => {
            if from != to {
                disk.rename(from, to)?;
                return Ok(Done::Renamed { from: from.clone(), to: to.clone() });
            }
            if before == after {
                disk.touch(to, draft.touches.get(&change.file).copied())?;
                return Ok(Done::Touched);
            }
            if after.kind == FileKind::Folder {
                disk.set_folder_mode(to, after.mode)?;
                return Ok(Done::FolderMode(to.clone(), before.mode));
            }
            place(workspace, draft, change, to)
        }
        _ => Ok(Done::Touched),
    }
}

fn place(
    workspace: &Workspace,
    draft: &mut Draft,
    change: &NewChange,
    to: &WsPath,
) -> Result<Done> {
    let Some(mut staged) = draft.staged.remove(&change.file) else {
        // The bytes on disk are the ones wanted already: only what the store knows changes.
        return Ok(Done::Touched);
    };
    let (disk, stage) = (&workspace.disk, &workspace.stage);
    let displaced = if change.before.is_none() {
        stage.place_new(disk, &mut staged, to, change.file)?
    } else {
        Some(stage.place_over(disk, &mut staged, to, change.file)?)
    };
    let inode = staged.stat.signature.inode;
    Ok(match displaced {
        Some(displaced) => Done::Replaced(to.clone(), displaced, inode),
        None => Done::Placed(to.clone(), inode),
    })
}

/// Whether what was displaced is somebody else's save.
fn intruder(
    workspace: &Workspace,
    draft: &Draft,
    seen: &HashMap<WsPath, Signature>,
    change: &NewChange,
    done: &Done,
    call: &Call,
) -> Result<Option<Intruder>> {
    let (path, displaced) = match done {
        Done::Replaced(path, displaced, _) | Done::Taken(path, displaced) => (path, displaced),
        _ => return Ok(None),
    };
    let expected = change.before.as_ref().and_then(|before| before.content);
    let old =
        call.world().now().as_millis() * 1_000_000 - displaced.stat.signature.mtime > RACY_NANOS;
    let same = seen.get(path).is_some_and(|seen| looks_like(seen, &displaced.stat.signature));
    // A large file was hashed by the plan, which takes longer than the tick of a clock.
    if same && (old || is_large(workspace, displaced)) {
        return Ok(None);
    }
    let unchanged = match draft.displacing.get(&change.file) {
        Some(bytes) if bytes.len() as u64 == displaced.stat.size() => {
            workspace.stage.displaced_bytes(displaced, path)? == **bytes
        }
        Some(_) => false,
        None => Some(workspace.stage.displaced_hash(displaced, call)?) == expected,
    };
    if unchanged {
        return Ok(None);
    }
    let saved = Saved::read(workspace, displaced, path, call)?;
    Ok(Some(Intruder { change: change.clone(), saved }))
}

/// Two steps: what somebody saved, and that the file is again what the step made it.
pub(crate) fn record_intruder(
    workspace: &Workspace,
    change: &NewChange,
    save: &Saved,
    displaced: &Displaced,
    signed: &Signed,
    call: &Call,
) -> Result<()> {
    let store = workspace.store();
    let Some(template) = change.after.as_ref().or(change.before.as_ref()) else { return Ok(()) };
    let (content, size, mode) = (Some(save.hash), save.size, save.mode);
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
        external_step(StepId::new(call.world()), vec![theirs], signed),
        again(signed, vec![ours], "reassert", None, call),
    ];
    let head = store.head()?;
    let contents = std::slice::from_ref(&save.prepared);
    store.append(head, Batch { steps: &steps, contents })?;
    retire_displaced(workspace, displaced, Some(save.hash));
    Ok(())
}

/// A step of the kernel's own, in the name of the caller.
fn again(
    signed: &Signed,
    changes: Vec<NewChange>,
    verb: &str,
    undoes: Option<StepId>,
    call: &Call,
) -> NewStep {
    let audit = AuditEntry { action: verb.to_owned(), ..signed.audit.clone() };
    let signed = Signed { audit, side_effects: Vec::new(), ..signed.clone() };
    NewStep { undoes, ..signed.step(StepId::new(call.world()), changes) }
}

/// Takes back what was done of a step, and records that.
fn take_back(
    workspace: &Workspace,
    draft: &Draft,
    done: Vec<(NewChange, Done)>,
    failed: &NewChange,
    fault: Fault,
    signed: &Signed,
    call: &Call,
) -> Landing {
    let mut changes: Vec<NewChange> = done.iter().map(|(change, _)| change.clone()).collect();
    for (change, step) in done.into_iter().rev() {
        if reverse(workspace, &change, step, call).is_err() {
            return Landing::Unfinished(fault);
        }
    }
    changes.push(failed.clone());
    match record_compensation(workspace, draft, changes, signed, call) {
        Ok(()) => Landing::Compensated(fault),
        Err(_) => Landing::Unfinished(fault),
    }
}

/// Takes one thing back. Somebody may have saved in its place meanwhile: what they saved stays there.
fn reverse(workspace: &Workspace, change: &NewChange, done: Done, call: &Call) -> Result<()> {
    let (disk, stage) = (&workspace.disk, &workspace.stage);
    match done {
        Done::Placed(path, inode) => {
            let removed = stage.displace(disk, &path, change.file)?;
            if removed.stat.signature.inode == inode {
                stage.discard(&removed);
            } else if !stage.put_back(disk, &removed, &path)? {
                keep_aside(workspace, &removed, &path, call)?;
            }
            Ok(())
        }
        Done::Replaced(path, displaced, inode) => {
            if !stage.swap_back(disk, &displaced, &path, inode)? {
                keep_aside(workspace, &displaced, &path, call)?;
            }
            Ok(())
        }
        Done::Taken(path, displaced) => {
            if !stage.put_back(disk, &displaced, &path)? {
                keep_aside(workspace, &displaced, &path, call)?;
            }
            Ok(())
        }
        Done::Renamed { from, to } => disk.rename(&to, &from),
        Done::MadeFolder(path) => disk.remove_folder(&path),
        Done::RemovedFolder(path, mode) => make_folder(workspace, &path, mode),
        Done::FolderMode(path, mode) => disk.set_folder_mode(&path, mode),
        Done::Touched => Ok(()),
    }
}

/// Keeps the bytes of a file whose place is another's by now, if the store does not have them.
fn keep_aside(
    workspace: &Workspace,
    displaced: &Displaced,
    path: &WsPath,
    call: &Call,
) -> Result<()> {
    let saved = Saved::read(workspace, displaced, path, call)?;
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
    signed: &Signed,
    call: &Call,
) -> Result<()> {
    let recorded = workspace.store();
    let row = recorded.step(draft.id)?;
    let all = match row {
        Some(row) => recorded.changes(row.seq)?,
        None => changes,
    };
    let reversed = all.into_iter().rev().map(|change| reversed(change, call)).collect();
    let step = again(signed, reversed, "compensate", Some(draft.id), call);
    let head = recorded.head()?;
    recorded.append(head, Batch { steps: &[step], contents: &[] })?;
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

fn retired(change: &NewChange, done: Done) -> Option<Retired> {
    let (Done::Replaced(_, displaced, _) | Done::Taken(_, displaced)) = done else { return None };
    let content = change.before.as_ref().and_then(|before| before.content);
    Some(Retired { displaced, content })
}

/// Removes a displaced file whose step is complete, or keeps it where it is the version itself. The caller needs
/// no lock for that.
pub(crate) fn retire(workspace: &Workspace, retired: Retired) {
    retire_displaced(workspace, &retired.displaced, retired.content);
}

/// Removes a displaced file, or keeps it where it is the version itself.
pub(crate) fn retire_displaced(
    workspace: &Workspace,
    displaced: &Displaced,
    content: Option<ContentHash>,
) {
    let purged = || content.is_some_and(|hash| workspace.store().is_purged(&hash) == Ok(true));
    if is_large(workspace, displaced) && !purged() {
        // Unless the store says that it has the content, this may be the only copy: what cannot be
        // settled now stays where it is, and the next opening tries again.
        let located = content.map(|hash| workspace.store().locate(&hash));
        let Some(Ok(Some(located))) = located else { return };
        if let Some(file) = located.kept.filter(|file| !workspace.stage.has_kept(&file.name)) {
            let _ = workspace.stage.keep(displaced, &file.name);
            return;
        }
    }
    workspace.stage.discard(displaced);
}
