//! trash: what was removed and can be restored, newest first. What somebody deleted without a step comes
//! before that: nobody knows when it went.

use std::collections::HashSet;

use yard_core::op::{Trash, TrashAnswer, Trashed};
use yard_core::{Call, Effect, EffectKind, FileId, FileKind, Result, WsPath};
use yard_store::Node;

use crate::op::locate::removal;
use crate::planner::join;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Trash {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<TrashAnswer>> {
        let mut gone = gone_by_hand(workspace, call)?;
        gone.retain(|(_, path)| call.may_list(path));
        let count = self.limit.saturating_add(1);
        let mut entries: Vec<Trashed> = { gone.iter().skip(self.skip).take(count) }
            .map(|(node, path)| trashed(node, path.clone()))
            .collect();
        let (skip, left) = (self.skip.saturating_sub(gone.len()), count - entries.len());
        let removed = match left {
            0 => Vec::new(),
            _ => workspace.store().removed(skip, left)?,
        };
        let is_more = entries.len() + removed.len() > self.limit;
        for node in removed.into_iter().filter(|node| call.may_list(&node.path)) {
            let by = removal(workspace, &node)?;
            entries.extend(by.map(|by| Trashed {
                removed_at: Some(by.at),
                step: Some(by.step),
                ..trashed(&node, node.path.clone())
            }));
        }
        entries.truncate(self.limit);
        let effect = Effect::one(EffectKind::List, WsPath::root()).with_contents();
        Ok(Planned::Answer { effect, answer: TrashAnswer { entries, truncated: is_more } })
    }
}

fn trashed(node: &Node, path: WsPath) -> Trashed {
    Trashed {
        file: node.id,
        path,
        kind: node.last.kind,
        size: (node.last.kind != FileKind::Folder).then_some(node.last.size),
        removed_at: None,
        step: None,
    }
}

/// What the store knows and is not on disk any more, by path.
fn gone_by_hand(workspace: &Workspace, call: &Call) -> Result<Vec<(Node, WsPath)>> {
    let mut gone = Vec::new();
    let mut ahead = vec![(FileId::ROOT, WsPath::root(), true)];
    while let Some((folder, path, is_there)) = ahead.pop() {
        call.check()?;
        let nodes = workspace.store().children(folder)?;
        if nodes.is_empty() {
            continue;
        }
        let names = if is_there { names_in(workspace, &path) } else { Some(HashSet::new()) };
        // Of a folder that cannot be listed nobody knows what is gone.
        let Some(names) = names else { continue };
        for node in nodes {
            let below = join(&path, &node.last.name)?;
            let is_there = names.contains(node.last.name.as_bytes());
            if node.last.kind == FileKind::Folder {
                ahead.push((node.id, below.clone(), is_there));
            }
            if !is_there {
                gone.push((node, below));
            }
        }
    }
    gone.sort_by(|(_, one), (_, other)| one.cmp(other));
    Ok(gone)
}

/// The names in a folder, if it can be listed.
fn names_in(workspace: &Workspace, folder: &WsPath) -> Option<HashSet<Vec<u8>>> {
    let listed = workspace.disk.list(folder).ok()?;
    Some(listed.into_iter().map(|entry| entry.name).collect())
}
