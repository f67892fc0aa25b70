//! The tree as it was after one step, by the history. Who may see it is decided by the rules of now, for the paths of then
//! and for those of now.

use std::collections::HashMap;

use yard_core::path::MAX_PATH_BYTES;
use yard_core::{
    Call, Effect, EffectKind, Fault, FaultCode, FileId, FileKind, FileState, PathEffect, Result,
    StepId, Subject, WsPath,
};
use yard_store::{FileThen, Seq, Store};

use crate::op::history::find_step;
use crate::workspace::Workspace;

/// The tree after a step.
pub(crate) struct Past<'a> {
    pub(crate) store: &'a dyn Store,
    seq: Seq,
    /// The paths of the folders that were looked at.
    folders: HashMap<FileId, Option<WsPath>>,
}

impl<'a> Past<'a> {
    pub(crate) fn after(workspace: &'a Workspace, step: StepId) -> Result<Self> {
        Ok(Self::at(workspace, find_step(workspace, step)?.seq))
    }

    pub(crate) fn at(workspace: &'a Workspace, seq: Seq) -> Self {
        Self { store: workspace.store(), seq, folders: HashMap::new() }
    }

    /// The entries of a folder.
    pub(crate) fn children(&self, folder: FileId) -> Result<Vec<FileThen>> {
        Ok(self.store.children_then(folder, None, self.seq)?)
    }

    /// The entry at a path below the root.
    pub(crate) fn find(&self, path: &WsPath) -> Result<Option<FileThen>> {
        let mut found: Option<FileThen> = None;
        for name in path.names() {
            let parent = found.map_or(FileId::ROOT, |folder| folder.file);
            let mut named = self.store.children_then(parent, Some(&name), self.seq)?;
            let Some(child) = named.pop() else { return Ok(None) };
            found = Some(child);
        }
        Ok(found)
    }

    /// The path of an entry in this state; `None` if a folder above it was not there.
    pub(crate) fn path_of(&mut self, state: &FileState) -> Result<Option<WsPath>> {
        let folder = self.folder(state.parent, 0)?;
        Ok(folder.and_then(|folder| folder.join(&state.name).ok()))
    }

    fn folder(&mut self, folder: FileId, depth: usize) -> Result<Option<WsPath>> {
        if folder == FileId::ROOT {
            return Ok(Some(WsPath::root()));
        }
        if let Some(known) = self.folders.get(&folder) {
            return Ok(known.clone());
        }
        let path = match self.store.file_then(folder, self.seq)? {
            // No path has this many names: the folders would be a loop.
            Some(state) if depth < MAX_PATH_BYTES => {
                let above = self.folder(state.parent, depth + 1)?;
                above.and_then(|above| above.join(&state.name).ok())
            }
            _ => None,
        };
        self.folders.insert(folder, path.clone());
        Ok(path)
    }
}

/// The path that a file has now, or had last.
pub(crate) fn path_now(store: &dyn Store, file: FileId) -> Result<Option<WsPath>> {
    match store.path_of(file)? {
        Some(path) => Ok(Some(path)),
        None => Ok(store.node(file)?.map(|node| node.path)),
    }
}

/// Whether a caller may see the name of a file, by its path of then and by that of now.
pub(crate) fn may_list(
    store: &dyn Store,
    call: &Call,
    file: FileId,
    then: &WsPath,
) -> Result<bool> {
    may(store, call, file, then, |path| call.may_list(path))
}

/// Whether a caller may read a file, by its path of then and by that of now.
pub(crate) fn may_read(
    store: &dyn Store,
    call: &Call,
    file: FileId,
    then: &WsPath,
) -> Result<bool> {
    may(store, call, file, then, |path| call.may_read(path))
}

fn may(
    store: &dyn Store,
    call: &Call,
    file: FileId,
    then: &WsPath,
    is_allowed: impl Fn(&WsPath) -> bool,
) -> Result<bool> {
    if call.reading().is_none() {
        return Ok(true);
    }
    Ok(is_allowed(then) && path_now(store, file)?.as_ref().is_none_or(is_allowed))
}

/// The effect of looking at a file of then: rules about its path of now hold, too.
pub(crate) fn effect(
    store: &dyn Store,
    kind: EffectKind,
    file: Option<FileId>,
    then: &WsPath,
) -> Result<Effect> {
    let now = match file {
        Some(file) => path_now(store, file)?,
        None => None,
    };
    let also = now.into_iter().filter(|now| now != then).collect();
    let effect = PathEffect { also, ..PathEffect::new(kind, then.clone()) };
    Ok(Effect { paths: vec![effect], dials: Vec::new() })
}

/// The fault that nothing was at a path of then.
pub(crate) fn was_missing(step: StepId, path: &WsPath) -> Fault {
    let message = format!(
        "{path} was not there after step {step}, as far as the history knows; list the tree at that step to see what was"
    );
    Fault::new(FaultCode::NotFound, message).about(Subject::Path)
}

/// The fault that something else than a file or a folder was wanted at a path of then.
pub(crate) fn was_other_kind(step: StepId, path: &WsPath, kind: FileKind) -> Fault {
    match kind {
        FileKind::Folder => {
            let message = format!(
                "{path} was a folder after step {step}: list the tree at that step, or name a file in it"
            );
            Fault::new(FaultCode::IsFolder, message).about(Subject::Path)
        }
        _ => {
            let message = format!(
                "{path} was no folder after step {step}: fetch its content at that step, or name the folder above it"
            );
            Fault::new(FaultCode::NotFolder, message).about(Subject::Path)
        }
    }
}
