//! Looks up the nodes of many paths.

use std::collections::HashMap;

use yard_core::{FileId, Name, Result, WsPath};
use yard_store::Node;

use crate::workspace::Workspace;

/// Looks up many nodes, each of them once. After more than a few children of a folder were looked up, it loads all of
/// them at once.
pub(crate) struct NodeLookup<'a> {
    workspace: &'a Workspace,
    folders: HashMap<WsPath, Option<FileId>>,
    at: Option<Children>,
}

struct Children {
    folder: WsPath,
    lookups: usize,
    all: Option<HashMap<Name, Node>>,
}

/// Single look-ups before a folder is loaded, which for a large one costs as much as thousands of them. This is more than
/// the entries of one page.
const FEW: usize = 128;

impl<'a> NodeLookup<'a> {
    pub(crate) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, folders: HashMap::new(), at: None }
    }

    /// Takes the living node at a path. It may not be there for a second call.
    pub(crate) fn take(&mut self, path: &WsPath) -> Result<Option<Node>> {
        let (Some(folder), Some(name)) = (path.parent(), path.name()) else { return Ok(None) };
        let Some(parent) = self.folder(&folder)? else { return Ok(None) };
        let store = self.workspace.store();
        if self.at.as_ref().is_none_or(|at| at.folder != folder) {
            self.at = Some(Children { folder, lookups: 0, all: None });
        }
        let Some(at) = &mut self.at else { return Ok(None) };
        at.lookups += 1;
        if let Some(all) = &mut at.all {
            return Ok(all.remove(&name));
        }
        if at.lookups <= FEW {
            return Ok(store.child(parent, &name)?);
        }
        let children = store.children(parent)?;
        let mut all: HashMap<Name, Node> =
            children.into_iter().map(|node| (node.last.name.clone(), node)).collect();
        let found = all.remove(&name);
        at.all = Some(all);
        Ok(found)
    }

    fn folder(&mut self, path: &WsPath) -> Result<Option<FileId>> {
        if let Some(known) = self.folders.get(path) {
            return Ok(*known);
        }
        let mut id = Some(FileId::ROOT);
        for folder in path.lineage() {
            id = match (self.folders.get(&folder), id, folder.name()) {
                (Some(known), ..) => *known,
                (None, Some(parent), Some(name)) => {
                    let node = self.workspace.store().child(parent, &name)?;
                    node.map(|node| node.id)
                }
                _ => None,
            };
            self.folders.insert(folder, id);
        }
        Ok(id)
    }
}
