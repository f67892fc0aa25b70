//! place: makes an upload a file, new or replaced, and makes the folders above it.

use yard_core::op::{Changed, OnExisting, Place, Write};
use yard_core::{Call, FileKind, FileType, Result, WsPath};
use yard_disk::{EntryKind, EntryStat, ResolvedPath, is_folder, special};

use crate::lookup::path_faults::{file_exists, not_a_folder};
use crate::op::stale;
use crate::planner::{Large, Planner};
use crate::proposal::done_part::DonePart;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;
use crate::workspace::upload::ReceivedFile;

impl Execute for Place {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Changed>> {
        let upload = workspace.uploads.find(self.upload)?;
        if upload.size <= workspace.limits().load_bytes {
            return as_write(self, upload.bytes(&self.path)?).plan(workspace, call);
        }
        match workspace.disk.locate(&self.path, true)? {
            ResolvedPath::Blocked { by } => Err(not_a_folder(&by)),
            ResolvedPath::Missing { path } => create(self, &upload, &path, workspace, call),
            ResolvedPath::Present { path, stat } => match stat.kind {
                EntryKind::Known(FileKind::Folder) => Err(is_folder(&path)),
                EntryKind::Special(what) => Err(special(&path, what)),
                EntryKind::Known(_) => replace(self, &upload, &path, &stat, workspace, call),
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

/// The write that has the same effect, for a content that is small enough to be loaded and compressed.
fn as_write(place: &Place, content: Vec<u8>) -> Write {
    Write {
        file_type: place.file_type,
        on_existing: place.on_existing,
        expected: place.expected,
        ..Write::replacing(place.path.clone(), content)
    }
}

fn create(
    place: &Place,
    upload: &ReceivedFile,
    path: &WsPath,
    workspace: &Workspace,
    call: &Call,
) -> Result<Planned<Changed>> {
    if place.expected.is_some() {
        return Err(stale::gone(path));
    }
    let mut planner = Planner::new(workspace, call);
    let file_type = place.file_type.unwrap_or(FileType::Document);
    let (file, version, hash) =
        planner.create_staged(path, file_type, false, |planner, attributes| {
            planner.stage_upload(upload, attributes, path)
        })?;
    let (path, hash) = (path.clone(), Some(hash));
    let answer = Changed { path, file, version, hash, created: true, unchanged: false };
    planner.propose::<Place>(answer)
}

fn replace(
    place: &Place,
    upload: &ReceivedFile,
    path: &WsPath,
    seen: &EntryStat,
    workspace: &Workspace,
    call: &Call,
) -> Result<Planned<Changed>> {
    if place.on_existing == OnExisting::Refuse {
        return Err(file_exists(path));
    }
    let mut planner = Planner::new(workspace, call);
    let current = planner.current_as(path, seen, Large::Keep)?;
    stale::check(workspace, &current, place.expected)?;
    planner.check_replaceable(&current)?;
    let mut after = current.state.clone();
    after.file_type = place.file_type.unwrap_or(after.file_type);
    after.json = false;
    let (version, hash) = planner.put_staged(&current, after, |planner, attributes| {
        planner.stage_upload(upload, attributes, path)
    })?;
    planner.copy_attributes(&current)?;
    let file = current.id;
    let (path, hash) = (path.clone(), Some(hash));
    let unchanged = current.content() == hash;
    let answer = Changed { path, file, version, hash, created: false, unchanged };
    planner.propose::<Place>(answer)
}
