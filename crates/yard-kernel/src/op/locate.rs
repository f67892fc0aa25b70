//! locate: what the store knows of a living or removed file, by its id.

use yard_core::op::{FileLocation, Locate, Removal};
use yard_core::{Call, Effect, EffectKind, FileKind, Result};
use yard_store::Node;

use crate::op::history::find_file;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Locate {
    fn plan(&self, workspace: &Workspace, _call: &Call) -> Result<Planned<FileLocation>> {
        let node = find_file(workspace, self.file)?;
        let path = workspace.store().path_of(self.file)?;
        let removed = match &node.state {
            Some(_) => None,
            None => removal(workspace, &node)?,
        };
        let last_path = path.clone().unwrap_or(node.path);
        let effect = Effect::one(EffectKind::Read, last_path.clone());
        let answer = FileLocation {
            file: node.id,
            path,
            last_path,
            kind: node.last.kind,
            file_type: node.last.file_type,
            size: (node.last.kind != FileKind::Folder).then_some(node.last.size),
            hash: node.last.content,
            created_at: node.created_at,
            version: node.version,
            removed,
            purged: node.purged,
        };
        Ok(Planned::Answer { effect, answer })
    }
}

/// The step that removed a file: that of its last change.
pub(crate) fn removal(workspace: &Workspace, node: &Node) -> Result<Option<Removal>> {
    let steps = workspace.store().steps(None, Some(node.seq + 1), 1)?;
    Ok(steps.into_iter().next().map(|step| Removal { at: step.at, step: step.id }))
}
