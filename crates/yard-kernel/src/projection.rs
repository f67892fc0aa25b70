//! From a recorded step to the disk: renames only. A displaced file is looked at before it goes; if it
//! is not the one that the plan expected, somebody saved in between, and their bytes become a version of
//! author `external` first. A rename that fails takes the step's earlier ones back, and a compensating
//! step says so in the history.

use yard_core::{
    Author, Call, ContentHash, Fault, FileKind, FileState, Result, StepId, VersionId, WsPath,
};
use yard_store::{Batch, NewChange, NewStep};

use crate::disk::{Displaced, looks_like};
use crate::draft::Draft;
use crate::journal::{Signed, external_step};
use crate::workspace::{Workspace, store_fault};

/// A file younger than this when it was looked at may have changed again within the same clock tick.
pub(crate) const RACY_NANOS: i64 = 2_000_000_000;

/// What became of a recorded step.
pub(crate) enum Landing {
    /// It is on disk.
    Landed,
    /// It failed on disk; it was taken back, and the history says so.
    Compensated(Fault),
    /// It is recorded and neither on disk nor taken back: recovery will finish it.
    Unfinished(Fault),
}

/// One thing that was done to the disk, and can be taken back.
enum Done {
    Placed(WsPath),
    Replaced(WsPath, Displaced),
    Taken(WsPath, Displaced),
    Renamed { from: WsPath, to: WsPath },
    MadeFolder(WsPath),
    RemovedFolder(WsPath, u32),
    FolderMode(WsPath, u32),
    Touched,
}

/// Somebody's bytes that were in the way of a change.
struct Intruder {
    change: NewChange,
    bytes: Vec<u8>,
    mode: u32,
}

/// Puts a recorded draft on disk.
pub(crate) fn project(
    workspace: &Workspace,
    mut draft: Draft,
    signed: &Signed,
    call: &Call,
) -> Landing {
    let mut done = Vec::new();
    let mut intruders = Vec::new();
    for change in std::mem::take(&mut draft.changes) {
        match apply(workspace, &mut draft, &change) {
            Ok(step) => {
                match intruder(workspace, &draft, &change, &step, call) {
                    Ok(found) => intruders.extend(found),
                    Err(fault) => return Landing::Unfinished(fault),
                }
                done.push((change, step));
            }
            Err(fault) => return take_back(workspace, &draft, done, &change, fault, signed, call),
        }
    }
    if let Err(fault) = record_intruders(workspace, intruders, signed, call) {
        return Landing::Unfinished(fault);
    }
    for (change, step) in done {
        retire(workspace, &change, step);
    }
    Landing::Landed
}

fn apply(workspace: &Workspace, draft: &mut Draft, change: &NewChange) -> Result<Done> {
    let disk = &workspace.disk;
    match (&change.before, &change.after, &change.from, &change.to) {
        (None, Some(after), _, Some(to)) if after.kind == FileKind::Folder => {
            disk.make_folder(to, after.mode)?;
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
                disk.touch(to)?;
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
    Ok(match displaced {
        Some(displaced) => Done::Replaced(to.clone(), displaced),
        None => Done::Placed(to.clone()),
    })
}

/// Whether what was displaced is somebody else's save.
fn intruder(
    workspace: &Workspace,
    draft: &Draft,
    change: &NewChange,
    done: &Done,
    call: &Call,
) -> Result<Option<Intruder>> {
    let (path, displaced) = match done {
        Done::Replaced(path, displaced) | Done::Taken(path, displaced) => (path, displaced),
        _ => return Ok(None),
    };
    let expected = change.before.as_ref().and_then(|before| before.content);
    if displaced.stat.size() > workspace.limits().load_bytes && expected.is_some() {
        return Ok(None);
    }
    let old =
        call.world().now().as_millis() * 1_000_000 - displaced.stat.signature.mtime > RACY_NANOS;
    let same =
        draft.seen(path).is_some_and(|seen| looks_like(&seen.signature, &displaced.stat.signature));
    if old && same {
        return Ok(None);
    }
    let bytes = workspace.stage.displaced_bytes(displaced, path)?;
    if Some(ContentHash::of(&bytes)) == expected {
        return Ok(None);
    }
    Ok(Some(Intruder { change: change.clone(), bytes, mode: displaced.stat.mode }))
}

fn record_intruders(
    workspace: &Workspace,
    intruders: Vec<Intruder>,
    signed: &Signed,
    call: &Call,
) -> Result<()> {
    for intruder in intruders {
        record_intruder(workspace, &intruder.change, &intruder.bytes, intruder.mode, signed, call)?;
    }
    Ok(())
}

/// Two steps: what somebody saved, and that the file is again what the step made it.
pub(crate) fn record_intruder(
    workspace: &Workspace,
    change: &NewChange,
    bytes: &[u8],
    mode: u32,
    signed: &Signed,
    call: &Call,
) -> Result<()> {
    let store = workspace.store();
    let Some(template) = change.after.as_ref().or(change.before.as_ref()) else { return Ok(()) };
    let hash = ContentHash::of(bytes);
    let prepared = store.prepare(hash, bytes, None).map_err(store_fault)?;
    let saved =
        FileState { content: Some(hash), size: bytes.len() as u64, mode, ..template.clone() };
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
    let head = store.head().map_err(store_fault)?;
    store.append(head, Batch { steps: &steps, contents: &[prepared] }).map_err(store_fault)?;
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
    let mut audit = signed.audit.clone();
    audit.action = verb.to_owned();
    NewStep {
        id: StepId::new(call.world()),
        at: audit.at,
        author: signed.author,
        verb: verb.to_owned(),
        undoes,
        changes,
        audit,
    }
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
    for (_, step) in done.into_iter().rev() {
        if reverse(workspace, step).is_err() {
            return Landing::Unfinished(fault);
        }
    }
    changes.push(failed.clone());
    match record_compensation(workspace, draft, changes, signed, call) {
        Ok(()) => Landing::Compensated(fault),
        Err(_) => Landing::Unfinished(fault),
    }
}

fn reverse(workspace: &Workspace, done: Done) -> Result<()> {
    let (disk, stage) = (&workspace.disk, &workspace.stage);
    match done {
        Done::Placed(path) => stage.displace_unwanted(disk, &path),
        Done::Replaced(path, displaced) | Done::Taken(path, displaced) => {
            stage.put_back(disk, &displaced, &path)
        }
        Done::Renamed { from, to } => disk.rename(&to, &from),
        Done::MadeFolder(path) => disk.remove_folder(&path),
        Done::RemovedFolder(path, mode) => disk.make_folder(&path, mode),
        Done::FolderMode(path, mode) => disk.set_folder_mode(&path, mode),
        Done::Touched => Ok(()),
    }
}

fn record_compensation(
    workspace: &Workspace,
    draft: &Draft,
    changes: Vec<NewChange>,
    signed: &Signed,
    call: &Call,
) -> Result<()> {
    let recorded = workspace.store();
    let row = recorded.step(draft.id).map_err(store_fault)?;
    let all = match row {
        Some(row) => recorded.changes(row.seq).map_err(store_fault)?,
        None => changes,
    };
    let reversed = all.into_iter().rev().map(|change| reversed(change, call)).collect();
    let step = again(signed, reversed, "compensate", Some(draft.id), call);
    let head = recorded.head().map_err(store_fault)?;
    recorded.append(head, Batch { steps: &[step], contents: &[] }).map_err(store_fault)?;
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

/// The step is complete: what it displaced is removed, or kept where it is the version itself.
fn retire(workspace: &Workspace, change: &NewChange, done: Done) {
    let (Done::Replaced(_, displaced) | Done::Taken(_, displaced)) = done else { return };
    let content = change.before.as_ref().and_then(|before| before.content);
    retire_displaced(workspace, &displaced, content);
}

/// Removes a displaced file, or keeps it where it is the version itself.
pub(crate) fn retire_displaced(
    workspace: &Workspace,
    displaced: &Displaced,
    content: Option<ContentHash>,
) {
    let large = displaced.stat.size() > workspace.limits().load_bytes;
    let kept = content.filter(|_| large).and_then(|hash| {
        let located = workspace.store().locate(&hash).ok().flatten()?;
        located.kept.filter(|name| !workspace.stage.has_kept(name))
    });
    match kept {
        // If it cannot be kept it stays where it is, and the next opening tries again.
        Some(name) => drop(workspace.stage.keep(displaced, &name)),
        None => workspace.stage.discard(displaced),
    }
}

/// The author under which recovery writes.
pub(crate) fn recovering(call: &Call) -> Signed {
    Signed {
        author: Author::External,
        audit: yard_store::AuditEntry {
            at: call.world().now(),
            actor: "toolyard".to_owned(),
            action: "recover".to_owned(),
            detail: String::new(),
        },
    }
}
