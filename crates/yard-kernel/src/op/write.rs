//! write: writes a whole file, new or replaced, and makes the folders above it.

use yard_core::op::{Changed, OnExisting, OnMissingFolder, Write};
use yard_core::{Call, Fault, FaultCode, FileKind, FileType, Result, Subject, WsPath};
use yard_disk::{EntryKind, EntryStat, ResolvedPath, is_folder, special};

use crate::contents::load_limits::check_writable;
use crate::lookup::path_faults::{file_exists, not_a_folder};
use crate::op::stale;
use crate::planner::{Large, NewContent, Planner};
use crate::proposal::done_part::DonePart;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Write {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Changed>> {
        check_writable(self.content.len() as u64, workspace.limits(), &self.path)?;
        match workspace.locate_to_change(&self.path, true)? {
            ResolvedPath::Blocked { by } => Err(not_a_folder(&by)),
            ResolvedPath::Missing { path } => create(self, &path, workspace, call),
            ResolvedPath::Present { path, stat } => match stat.kind {
                EntryKind::Known(FileKind::Folder) => Err(is_folder(&path)),
                EntryKind::Special(what) => Err(special(&path, what)),
                EntryKind::Known(_) => replace(self, &path, &stat, workspace, call),
            },
        }
    }

    // Comparing a hash reveals the content to the caller.
    fn read_paths(&self) -> Vec<WsPath> {
        self.expected.iter().map(|_| self.path.clone()).collect()
    }

    fn answer_for_part(answer: Changed, done: &DonePart) -> Changed {
        done.changed(answer)
    }
}

fn content(write: &Write, known_type: FileType) -> NewContent<'_> {
    let file_type = write.file_type.unwrap_or(known_type);
    NewContent { bytes: &write.content, file_type, json: write.json }
}

fn create(
    write: &Write,
    path: &WsPath,
    workspace: &Workspace,
    call: &Call,
) -> Result<Planned<Changed>> {
    if write.expected.is_some() {
        return Err(stale::gone(path));
    }
    if write.on_missing_folder == OnMissingFolder::Refuse {
        check_folder(workspace, path)?;
    }
    let mut planner = Planner::new(workspace, call);
    let (file, version, hash) = planner.create_file(path, &content(write, FileType::Document))?;
    let (path, hash) = (path.clone(), Some(hash));
    let answer = Changed { path, file, version, hash, created: true, unchanged: false };
    planner.propose::<Write>(answer)
}

fn check_folder(workspace: &Workspace, path: &WsPath) -> Result<()> {
    let folder = path.parent().unwrap_or_else(WsPath::root);
    if workspace.disk.stat(&folder)?.is_some() {
        return Ok(());
    }
    let message = format!("the folder {folder} does not exist; nothing was written");
    Err(Fault::new(FaultCode::NotFound, message).about(Subject::Path))
}

fn replace(
    write: &Write,
    path: &WsPath,
    seen: &EntryStat,
    workspace: &Workspace,
    call: &Call,
) -> Result<Planned<Changed>> {
    if write.on_existing == OnExisting::Refuse {
        return Err(file_exists(path));
    }
    let mut planner = Planner::new(workspace, call);
    let current = planner.current_as(path, seen, Large::Keep)?;
    stale::check(workspace, &current, write.expected)?;
    let content = content(write, current.state.file_type);
    let (version, hash) = planner.replace_file(&current, &content)?;
    let file = current.id;
    let (path, hash) = (path.clone(), Some(hash));
    let unchanged = current.content() == hash;
    let answer = Changed { path, file, version, hash, created: false, unchanged };
    planner.propose::<Write>(answer)
}
