//! move: moves a file, folder or link, with its id, its history and everything below it. A file at the target is not
//! replaced, or gets the content of the moved file as a new version.

use yard_core::op::{Move, Moved, OnExisting};
use yard_core::{
    Call, Effect, EffectKind, Fault, FaultCode, FileKind, FileState, Result, Subject, WsPath,
};
use yard_disk::{EntryKind, EntryStat, ResolvedPath, not_found, special};

use crate::contents::load_limits::check_loadable;
use crate::lookup::path_faults::{not_a_folder, root_cannot_change};
use crate::planner::{Current, Large, Planner, join};
use crate::proposal::{Execute, Planned};
use crate::virtual_files::{self, is_virtual_folder};
use crate::workspace::Workspace;

impl Execute for Move {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Moved>> {
        let (from, stat) = source(self, workspace)?;
        let to = target(self, workspace, &from)?;
        if from == to {
            return nothing_to_do(workspace, call, from);
        }
        if stat.is(FileKind::Folder) && to.is_within(&from) {
            let message =
                format!("{from} cannot be moved into itself ({to}). Name a place outside of it");
            return Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Destination));
        }
        check_chats(workspace, &from, &to)?;
        let mut planner = Planner::new(workspace, call);
        planner.draft.is_one_move = true;
        if let Some(occupant) = workspace.disk.stat(&to)? {
            let moved = FoundFile { path: &from, stat: &stat };
            let replaced = FoundFile { path: &to, stat: &occupant };
            let answer = replace(&mut planner, moved, replaced)?;
            return planner.propose::<Self>(answer);
        }
        planner.draft.exclusive = stat.is(FileKind::Folder);
        let current = planner.current(&from, Large::Copy)?;
        check_folder(workspace, &to)?;
        move_entry(&mut planner, &current, &to)?;
        planner.propose::<Self>(Moved { from, to, file: current.id })
    }
}

fn source(order: &Move, workspace: &Workspace) -> Result<(WsPath, EntryStat)> {
    if order.from.is_root() {
        return Err(root_cannot_change());
    }
    let located = workspace.locate_to_move_away(&order.from)?;
    let (path, stat) = located.present().ok_or_else(|| not_found(&order.from))?;
    match stat.kind {
        EntryKind::Special(what) => Err(special(&path, what)),
        EntryKind::Known(_) => Ok((path, stat)),
    }
}

/// The path of the moved entry: its own name in an existing folder, or exactly the given path.
fn target(order: &Move, workspace: &Workspace, from: &WsPath) -> Result<WsPath> {
    let name = from.name().ok_or_else(|| not_found(from))?;
    match workspace.locate_to_change(&order.to, true).map_err(about_destination)? {
        ResolvedPath::Present { path, stat }
            if stat.is(FileKind::Folder) && (order.into_folder || path != *from) =>
        {
            let to = join(&path, &name)?;
            must_be_free(order, workspace, from, to)
        }
        ResolvedPath::Present { path, .. } if order.into_folder => {
            Err(about_destination(not_a_folder(&path)))
        }
        ResolvedPath::Present { .. } => exact_target(order, workspace, from),
        ResolvedPath::Missing { path } if order.into_folder => Err(missing_folder(&path)),
        ResolvedPath::Missing { .. } => exact_target(order, workspace, from),
        ResolvedPath::Blocked { by } => Err(file_above(&by)),
    }
}

/// The given path as the target. A link at its end is not followed, because the link itself would be replaced.
fn exact_target(order: &Move, workspace: &Workspace, from: &WsPath) -> Result<WsPath> {
    let to = match workspace.locate_to_change(&order.to, false).map_err(about_destination)? {
        ResolvedPath::Present { path, .. } | ResolvedPath::Missing { path } => path,
        ResolvedPath::Blocked { by } => return Err(file_above(&by)),
    };
    must_be_free(order, workspace, from, to)
}

/// A fault if the folder of chats would be replaced while there are any, or if a moved folder would bring files to paths
/// that are reserved for chats.
fn check_chats(workspace: &Workspace, from: &WsPath, to: &WsPath) -> Result<()> {
    if !is_virtual_folder(to) {
        return virtual_files::check_not_reserved(to).map_err(about_destination);
    }
    workspace.check_holds_no_chats(to).map_err(about_destination)?;
    for entry in workspace.disk.list(from).unwrap_or_default() {
        if let Ok(below) = to.join_bytes(&entry.name) {
            virtual_files::check_not_reserved(&below).map_err(about_destination)?;
        }
    }
    Ok(())
}

fn about_destination(fault: Fault) -> Fault {
    fault.about(Subject::Destination)
}

fn must_be_free(order: &Move, workspace: &Workspace, from: &WsPath, to: WsPath) -> Result<WsPath> {
    let replaces = order.on_existing == OnExisting::Replace;
    if to == *from || replaces || workspace.disk.stat(&to)?.is_none() {
        return Ok(to);
    }
    let message = format!(
        "{to} exists already; nothing is overwritten. Remove it first or choose another name"
    );
    Err(Fault::new(FaultCode::Exists, message).about(Subject::Destination))
}

/// A file that was found on disk.
struct FoundFile<'a> {
    path: &'a WsPath,
    stat: &'a EntryStat,
}

/// Plans that a file replaces another: that one gets the content as a new version, and the moved file is removed.
fn replace(
    planner: &mut Planner<'_>,
    moved: FoundFile<'_>,
    replaced: FoundFile<'_>,
) -> Result<Moved> {
    let limits = planner.workspace.limits();
    let (from, to) = (moved.path, replaced.path);
    for (FoundFile { path, stat }, subject) in
        [(&moved, Subject::Path), (&replaced, Subject::Destination)]
    {
        if !stat.is(FileKind::File) {
            let message =
                format!("{path} is no file: only a file can replace a file. Choose another name");
            return Err(Fault::new(FaultCode::Exists, message).about(subject));
        }
        check_loadable(stat.size(), limits, path)?;
    }
    let moved = planner.current_as(from, moved.stat, Large::Keep)?;
    let replaced = planner.current_as(to, replaced.stat, Large::Keep)?;
    let after = FileState {
        parent: replaced.state.parent,
        name: replaced.state.name.clone(),
        ..moved.state.clone()
    };
    planner.check_writable_above(from)?;
    planner.effect.push(EffectKind::Read, from.clone(), moved.state.file_type);
    planner.rewrite(&replaced, Some(moved.bytes.to_vec()), after)?;
    planner.remove(&moved);
    Ok(Moved { from: from.clone(), to: to.clone(), file: replaced.id })
}

fn nothing_to_do(workspace: &Workspace, call: &Call, at: WsPath) -> Result<Planned<Moved>> {
    let mut planner = Planner::new(workspace, call);
    let current = planner.current(&at, Large::Leave)?;
    let effect = Effect::one(EffectKind::Read, at.clone());
    let answer = Moved { from: at.clone(), to: at, file: current.id };
    Ok(Planned::Answer { effect, answer })
}

/// Plans that an entry is moved to a free path, with its id and its history. The folders above the path are made. Returns
/// the moved entry.
pub(crate) fn move_entry(
    planner: &mut Planner<'_>,
    current: &Current,
    to: &WsPath,
) -> Result<Current> {
    let above = to.parent().ok_or_else(|| not_found(to))?;
    let name = to.name().ok_or_else(|| not_found(to))?;
    let parent = planner.make_folders(&above)?;
    planner.expect_free(parent, to)?;
    planner.check_writable_above(&current.path)?;
    planner.check_writable_above(to)?;
    let state = FileState { parent, name, ..current.state.clone() };
    Ok(planner.push_move(current, state, to))
}

/// A fault if the target's folder is missing: a move makes no folders, because the path may be mistyped.
fn check_folder(workspace: &Workspace, to: &WsPath) -> Result<()> {
    let above = to.parent().unwrap_or_else(WsPath::root);
    match workspace.disk.stat(&above)? {
        Some(stat) if stat.is(FileKind::Folder) => Ok(()),
        _ => Err(missing_folder(&above)),
    }
}

/// The fault for a destination below a file.
fn file_above(path: &WsPath) -> Fault {
    Fault::new(FaultCode::NotFound, not_a_folder(path).message()).about(Subject::Destination)
}

fn missing_folder(path: &WsPath) -> Fault {
    let message = format!("the folder {path} does not exist; make it first");
    Fault::new(FaultCode::NotFound, message).about(Subject::Destination)
}
