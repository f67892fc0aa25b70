//! trash: removed entries that can be restored, the newest first. Entries that another program deleted come before these,
//! because the time of their removal is not known.

use std::collections::HashSet;

use yard_core::op::{Trash, TrashAnswer, Trashed};
use yard_core::{Call, Effect, EffectKind, FileId, FileKind, Result, WsPath};
use yard_store::Node;

use crate::op::locate::removal;
use crate::planner::join;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

/// Removed entries that are read at once while those that the caller may list are looked for.
const PAGE: usize = 256;

impl Execute for Trash {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<TrashAnswer>> {
        let mut gone = deleted_by_others(workspace, call)?;
        gone.retain(|(_, path)| call.may_list(path));
        let count = self.limit.saturating_add(1);
        let wanted = gone.iter().skip(self.skip).take(count);
        let mut entries: Vec<Trashed> =
            wanted.map(|(node, path)| trashed(node, path.clone())).collect();
        let skip = self.skip.saturating_sub(gone.len());
        for node in removed(workspace, skip, count - entries.len(), call)? {
            let by = removal(workspace, &node)?;
            entries.extend(by.map(|by| Trashed {
                removed_at: Some(by.at),
                step: Some(by.step),
                ..trashed(&node, node.path.clone())
            }));
        }
        let truncated = entries.len() > self.limit;
        entries.truncate(self.limit);
        let effect = Effect::one(EffectKind::List, WsPath::root()).with_contents();
        Ok(Planned::Answer { effect, answer: TrashAnswer { entries, truncated } })
    }
}

/// The removed entries that the caller may list. `skip` counts only these, so that the next page begins after this one.
fn removed(workspace: &Workspace, skip: usize, count: usize, call: &Call) -> Result<Vec<Node>> {
    let store = workspace.store();
    if call.reading().is_none() {
        return Ok(store.removed(skip, count)?);
    }
    let (mut removed, mut read, mut left_to_skip) = (Vec::new(), 0, skip);
    while removed.len() < count {
        call.check()?;
        let page = store.removed(read, PAGE)?;
        if page.is_empty() {
            break;
        }
        read += page.len();
        for node in page.into_iter().filter(|node| call.may_list(&node.path)) {
            match left_to_skip {
                0 => removed.push(node),
                _ => left_to_skip -= 1,
            }
        }
    }
    removed.truncate(count);
    Ok(removed)
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

/// Entries of the store that are no longer on disk, by path.
fn deleted_by_others(workspace: &Workspace, call: &Call) -> Result<Vec<(Node, WsPath)>> {
    let mut gone = Vec::new();
    let mut ahead = vec![(FileId::ROOT, WsPath::root(), true)];
    while let Some((folder, path, is_there)) = ahead.pop() {
        call.check()?;
        let nodes = workspace.store().children(folder)?;
        if nodes.is_empty() {
            continue;
        }
        let names = if is_there { names_in(workspace, &path) } else { Some(HashSet::new()) };
        // If a folder cannot be listed, it is not known which of its entries are gone.
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
