//! move: a file, folder or link goes somewhere else, with its id, its history and everything below it.
//! Nothing is ever overwritten.

use yard_core::op::{Move, Moved};
use yard_core::{Call, Effect, EffectKind, Fault, FaultCode, FileKind, Result, Subject, WsPath};

use crate::disk::{EntryKind, Spot, Stat, not_found, special};
use crate::draft::{Large, Planner, Was, join};
use crate::virtual_files::{self, is_their_folder};
use crate::workspace::Workspace;
use crate::{Execute, Planned};

impl Execute for Move {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Moved>> {
        let (from, stat) = source(self, workspace)?;
        let to = target(self, workspace, &from)?;
        if from == to {
            return nothing_to_do(workspace, call, from);
        }
        if stat.is(FileKind::Folder) && to.is_within(&from) {
            let message = format!("{from} cannot be moved into itself ({to})");
            return Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Destination));
        }
        check_chats(workspace, &from, &to)?;
        let mut planner = Planner::new(workspace, call);
        planner.draft.exclusive = stat.is(FileKind::Folder);
        let moved = carry(&mut planner, &from, &to)?;
        planner.propose::<Self>(moved)
    }
}

fn source(order: &Move, workspace: &Workspace) -> Result<(WsPath, Stat)> {
    if order.from.is_root() {
        return Err(super::mkdir::the_root());
    }
    match workspace.locate_to_take(&order.from)? {
        Spot::Present { path, stat } => match stat.kind {
            EntryKind::Special(what) => Err(special(&path, what)),
            EntryKind::Known(_) => Ok((path, stat)),
        },
        Spot::Missing { .. } | Spot::Blocked { .. } => Err(not_found(&order.from)),
    }
}

/// Where it goes: into an existing folder under its own name, or to that very path.
fn target(order: &Move, workspace: &Workspace, from: &WsPath) -> Result<WsPath> {
    let name = from.name().ok_or_else(|| not_found(from))?;
    match workspace.locate_to_change(&order.to, true).map_err(about_destination)? {
        Spot::Present { path, stat } if stat.is(FileKind::Folder) && path != *from => {
            let to = join(&path, &name)?;
            must_be_free(workspace, from, to)
        }
        Spot::Present { path, .. } if order.into_folder => Err(missing_folder(&path)),
        Spot::Present { .. } => exact_target(order, workspace, from),
        Spot::Missing { path } if order.into_folder => Err(missing_folder(&path)),
        Spot::Missing { .. } => exact_target(order, workspace, from),
        Spot::Blocked { by } => Err(missing_folder(&by)),
    }
}

/// The target is a path whose last name is not followed if it is a link: it would be overwritten.
fn exact_target(order: &Move, workspace: &Workspace, from: &WsPath) -> Result<WsPath> {
    let to = match workspace.locate_to_change(&order.to, false).map_err(about_destination)? {
        Spot::Present { path, .. } | Spot::Missing { path } => path,
        Spot::Blocked { by } => return Err(missing_folder(&by)),
    };
    must_be_free(workspace, from, to)
}

/// Nothing takes the place of the folder of chats while there are any, and no folder brings files to
/// where only chats may be.
fn check_chats(workspace: &Workspace, from: &WsPath, to: &WsPath) -> Result<()> {
    if !is_their_folder(to) {
        return virtual_files::check_free(to).map_err(about_destination);
    }
    workspace.check_no_chats_in(to).map_err(about_destination)?;
    for entry in workspace.disk.list(from).unwrap_or_default() {
        if let Ok(below) = to.join_bytes(&entry.name) {
            virtual_files::check_free(&below).map_err(about_destination)?;
        }
    }
    Ok(())
}

fn about_destination(fault: Fault) -> Fault {
    fault.about(Subject::Destination)
}

fn must_be_free(workspace: &Workspace, from: &WsPath, to: WsPath) -> Result<WsPath> {
    if to == *from || workspace.disk.stat(&to)?.is_none() {
        return Ok(to);
    }
    let message = format!(
        "{to} exists already; nothing is overwritten. Remove it first or choose another name"
    );
    Err(Fault::new(FaultCode::Exists, message).about(Subject::Destination))
}

fn nothing_to_do(workspace: &Workspace, call: &Call, at: WsPath) -> Result<Planned<Moved>> {
    let mut planner = Planner::new(workspace, call);
    let current = planner.current(&at, Large::Leave)?;
    let effect = Effect::one(EffectKind::Read, at.clone());
    let answer = Moved { from: at.clone(), to: at, file: current.id };
    Ok(Planned::Answer { effect, answer })
}

fn carry(planner: &mut Planner<'_>, from: &WsPath, to: &WsPath) -> Result<Moved> {
    let current = planner.current(from, Large::Leave)?;
    let above = to.parent().ok_or_else(|| not_found(to))?;
    let name = to.name().ok_or_else(|| not_found(to))?;
    let parent = planner.folder(&above).map_err(|fault| match fault.code() {
        FaultCode::NotFound => missing_folder(&above),
        _ => fault,
    })?;
    planner.forget_gone(parent, to)?;
    planner.expect(to, Was::Absent);
    planner.check_writable_above(from)?;
    planner.check_writable_above(to)?;
    let file_type = current.state.file_type;
    let mut after = current.state.clone();
    after.parent = parent;
    after.name = name;
    let (before, moved) = (Some(current.state), Some(after));
    planner.push_change(current.id, before, moved, Some(from.clone()), Some(to.clone()));
    planner.effect.push(EffectKind::MoveFrom, from.clone(), file_type);
    planner.effect.push(EffectKind::MoveTo, to.clone(), file_type);
    Ok(Moved { from: from.clone(), to: to.clone(), file: current.id })
}

fn missing_folder(path: &WsPath) -> Fault {
    let message = format!("the folder {path} does not exist; make it first");
    Fault::new(FaultCode::NotFound, message).about(Subject::Destination)
}
