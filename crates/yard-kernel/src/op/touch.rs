//! touch: makes an empty file, or sets the times of an existing one in a step without a version (W19).

use yard_core::op::{Changed, Touch};
use yard_core::{Call, FileKind, FileType, Result, WsPath};
use yard_disk::{EntryKind, ResolvedPath, special};

use crate::lookup::path_faults::{not_a_folder, root_cannot_change};
use crate::planner::{Large, NewContent, Planner};
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Touch {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Changed>> {
        match workspace.locate_to_change(&self.path, true)? {
            ResolvedPath::Blocked { by } => Err(not_a_folder(&by)),
            ResolvedPath::Missing { path } => create(&path, workspace, call),
            ResolvedPath::Present { path, stat } => match stat.kind {
                EntryKind::Special(what) => Err(special(&path, what)),
                EntryKind::Known(FileKind::Folder) if path.is_root() => Err(root_cannot_change()),
                EntryKind::Known(_) => touch(&path, workspace, call),
            },
        }
    }
}

fn create(path: &WsPath, workspace: &Workspace, call: &Call) -> Result<Planned<Changed>> {
    let mut planner = Planner::new(workspace, call);
    let content = NewContent { bytes: b"", file_type: FileType::Document, json: false };
    let (file, version, hash) = planner.create_file(path, &content)?;
    let answer = Changed {
        path: path.clone(),
        file,
        version,
        hash: Some(hash),
        created: true,
        unchanged: false,
    };
    planner.propose::<Touch>(answer)
}

fn touch(path: &WsPath, workspace: &Workspace, call: &Call) -> Result<Planned<Changed>> {
    let mut planner = Planner::new(workspace, call);
    let current = planner.current(path, Large::Copy)?;
    planner.touch(&current);
    let answer = Changed {
        path: path.clone(),
        file: current.id,
        version: None,
        hash: current.content(),
        created: false,
        unchanged: true,
    };
    planner.propose::<Touch>(answer)
}
