//! tree-at and fetch-at: a folder, and the bytes of a file, as they were after a step.

use yard_core::op::{EntryThen, FETCH_BYTES, FetchAt, FetchedThen, TreeAt, TreeThen};
use yard_core::{
    Call, EffectKind, Fault, FaultCode, FileId, FileKind, Result, StepId, Subject, WsPath,
};
use yard_store::FileThen;

use crate::op::tree_then::{Past, effect, may_list, may_read, was_missing, was_other_kind};
use crate::op::version::part;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for TreeAt {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<TreeThen>> {
        let past = Past::after(workspace, self.step)?;
        let folder = match self.path.is_root() {
            true => None,
            false => Some(visible(&past, call, self.step, &self.path)?),
        };
        if let Some(folder) = folder.as_ref().filter(|found| found.state.kind != FileKind::Folder) {
            return Err(was_other_kind(self.step, &self.path, folder.state.kind));
        }
        let folder = folder.map(|folder| folder.file);
        let mut children = past.children(folder.unwrap_or(FileId::ROOT))?;
        children.sort_by(|one, two| {
            let key = |child: &FileThen| child.state.kind != FileKind::Folder;
            (key(one), one.state.name.as_bytes()).cmp(&(key(two), two.state.name.as_bytes()))
        });
        let mut entries = Vec::new();
        let mut skip = self.skip;
        let mut truncated = false;
        for child in children {
            let Ok(path) = self.path.join(&child.state.name) else { continue };
            call.check()?;
            if !may_list(past.store, call, child.file, &path)? {
                continue;
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if entries.len() == self.limit {
                truncated = true;
                break;
            }
            entries.push(entry(&past, call, child, path)?);
        }
        let effect = effect(past.store, EffectKind::List, folder, &self.path)?;
        Ok(Planned::Answer { effect, answer: TreeThen { entries, truncated } })
    }
}

impl Execute for FetchAt {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<FetchedThen>> {
        let past = Past::after(workspace, self.step)?;
        if self.path.is_root() {
            return Err(was_other_kind(self.step, &self.path, FileKind::Folder));
        }
        let found = visible(&past, call, self.step, &self.path)?;
        let effect = effect(past.store, EffectKind::Read, Some(found.file), &self.path)?;
        let state = found.state;
        let Some(hash) = state.content else {
            return Err(was_other_kind(self.step, &self.path, state.kind));
        };
        if past.store.is_purged(&hash)? {
            let message = format!("the content that {} had then was purged", self.path);
            return Err(Fault::new(FaultCode::NotFound, message).about(Subject::Path));
        }
        let length = self.length.min(FETCH_BYTES).min(state.size.saturating_sub(self.offset));
        let bytes = match length {
            0 => Vec::new(),
            length => part(workspace, &hash, self.offset, length, call)?,
        };
        Ok(Planned::Answer { effect, answer: FetchedThen { bytes, size: state.size, hash } })
    }
}

/// The entry at a path of then. What the caller may not see was not there.
fn visible(past: &Past<'_>, call: &Call, step: StepId, path: &WsPath) -> Result<FileThen> {
    let Some(found) = past.find(path)? else { return Err(was_missing(step, path)) };
    match may_list(past.store, call, found.file, path)? {
        true => Ok(found),
        false => Err(was_missing(step, path)),
    }
}

fn entry(past: &Past<'_>, call: &Call, child: FileThen, path: WsPath) -> Result<EntryThen> {
    let FileThen { file, state } = child;
    let hash = match may_read(past.store, call, file, &path)? {
        true => state.content,
        false => None,
    };
    let size = (state.kind != FileKind::Folder).then_some(state.size);
    Ok(EntryThen { file, path, kind: state.kind, size, hash })
}
