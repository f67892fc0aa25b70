//! trash: what was removed and can be restored, newest first.

use yard_core::op::{Trash, TrashAnswer, Trashed};
use yard_core::{Call, Effect, EffectKind, FileKind, Result, WsPath};
use yard_store::Node;

use crate::op::locate::removal;
use crate::workspace::{Workspace, store_fault};
use crate::{Execute, Planned};

impl Execute for Trash {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<TrashAnswer>> {
        let count = self.limit.saturating_add(1);
        let mut removed = workspace.store().removed(self.skip, count).map_err(store_fault)?;
        let truncated = removed.len() > self.limit;
        removed.truncate(self.limit);
        removed.retain(|node| call.may_list(&node.path));
        let mut entries = Vec::with_capacity(removed.len());
        for node in removed {
            entries.extend(trashed(workspace, node)?);
        }
        let effect = Effect::one(EffectKind::List, WsPath::root()).with_contents();
        Ok(Planned::Answer { effect, answer: TrashAnswer { entries, truncated } })
    }
}

fn trashed(workspace: &Workspace, node: Node) -> Result<Option<Trashed>> {
    Ok(removal(workspace, &node)?.map(|removal| Trashed {
        file: node.id,
        path: node.path,
        kind: node.last.kind,
        size: (node.last.kind != FileKind::Folder).then_some(node.last.size),
        removed_at: removal.at,
        step: removal.step,
    }))
}
