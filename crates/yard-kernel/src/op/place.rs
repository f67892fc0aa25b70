//! place: what was uploaded becomes a file, new or replaced; the folders above it are made.

use yard_core::op::{Changed, OnExisting, OnMissingFolder, Place, Write};
use yard_core::{Call, FileKind, FileType, Result, WsPath};
use yard_disk::{EntryKind, EntryStat, ResolvedPath, is_folder, special};

use crate::op::{stale, write};
use crate::planner::{Large, Planner, not_a_folder};
use crate::proposal::{Execute, Planned};
use crate::upload::Arrived;
use crate::workspace::Workspace;

impl Execute for Place {
    fn asked(&self) -> Vec<WsPath> {
        vec![self.path.clone()]
    }

    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Changed>> {
        let arrived = workspace.uploads.find(self.upload)?;
        if arrived.size <= workspace.limits().load_bytes {
            return as_write(self, arrived.bytes(&self.path)?).plan(workspace, call);
        }
        match workspace.disk.locate(&self.path, true)? {
            ResolvedPath::Blocked { by } => Err(not_a_folder(&by)),
            ResolvedPath::Missing { path } => create(self, &arrived, &path, workspace, call),
            ResolvedPath::Present { path, stat } => match stat.kind {
                EntryKind::Known(FileKind::Folder) => Err(is_folder(&path)),
                EntryKind::Special(what) => Err(special(&path, what)),
                EntryKind::Known(_) => replace(self, &arrived, &path, &stat, workspace, call),
            },
        }
    }

    /// Whether a hash is that of a file is told only to who may read the file.
    fn reads(&self) -> Vec<WsPath> {
        self.expected.iter().map(|_| self.path.clone()).collect()
    }
}

/// What can be loaded is written like any other content, and stored as small as one.
fn as_write(place: &Place, content: Vec<u8>) -> Write {
    Write {
        path: place.path.clone(),
        content,
        json: false,
        file_type: place.file_type,
        on_existing: place.on_existing,
        on_missing_folder: OnMissingFolder::Make,
        expected: place.expected,
    }
}

fn create(
    place: &Place,
    arrived: &Arrived,
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
        planner.create_image(path, file_type, false, |planner, shape| {
            planner.receive(arrived, shape, path)
        })?;
    let (path, hash) = (path.clone(), Some(hash));
    let answer = Changed { path, file, version, hash, created: true, unchanged: false };
    planner.propose::<Place>(answer)
}

fn replace(
    place: &Place,
    arrived: &Arrived,
    path: &WsPath,
    seen: &EntryStat,
    workspace: &Workspace,
    call: &Call,
) -> Result<Planned<Changed>> {
    if place.on_existing == OnExisting::Refuse {
        return Err(write::exists(path));
    }
    let mut planner = Planner::new(workspace, call);
    let current = planner.current_as(path, seen, Large::Keep)?;
    stale::check(workspace, &current, place.expected)?;
    planner.check_replaceable(&current)?;
    let mut after = current.state.clone();
    after.file_type = place.file_type.unwrap_or(after.file_type);
    after.json = false;
    let (version, hash) = planner
        .put_image(&current, after, |planner, shape| planner.receive(arrived, shape, path))?;
    planner.keep_attributes(&current)?;
    let file = current.id;
    let (path, hash) = (path.clone(), Some(hash));
    let unchanged = current.content() == hash;
    let answer = Changed { path, file, version, hash, created: false, unchanged };
    planner.propose::<Place>(answer)
}
