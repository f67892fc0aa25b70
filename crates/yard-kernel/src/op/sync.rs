//! Compares the store's newest version with the disk (W19). A stored signature decides that without reading the file.
//! Without one that can be trusted, the file is read once, and its signature is stored.

use yard_core::op::Entry;
use yard_core::{Call, ContentHash, FileId, FileKind, FileType, Result, WsPath};
use yard_disk::{EntryStat, hash_all, is_settled};
use yard_store::{Node, SeenContent};

use crate::workspace::Workspace;

/// What the store knows of an entry on disk.
pub(crate) struct SyncState {
    pub(crate) node: Option<Node>,
    /// Whether the store's newest version is on disk.
    pub(crate) synced: bool,
}

impl Workspace {
    /// What the store knows of the entry at `path`. `hash` is the content on disk, if the caller has read it anyway.
    pub(crate) fn sync_state(
        &self,
        path: &WsPath,
        stat: &EntryStat,
        hash: Option<ContentHash>,
        call: &Call,
    ) -> Result<SyncState> {
        let node = self.store().lookup(path)?;
        self.sync_state_of(node, path, stat, hash, call)
    }

    /// As [`Workspace::sync_state`], with the node already looked up.
    pub(crate) fn sync_state_of(
        &self,
        node: Option<Node>,
        path: &WsPath,
        stat: &EntryStat,
        hash: Option<ContentHash>,
        call: &Call,
    ) -> Result<SyncState> {
        let synced = match &node {
            Some(node) => self.is_synced(node, path, stat, hash, call)?,
            None => path.is_root(),
        };
        Ok(SyncState { node, synced })
    }

    fn is_synced(
        &self,
        node: &Node,
        path: &WsPath,
        stat: &EntryStat,
        hash: Option<ContentHash>,
        call: &Call,
    ) -> Result<bool> {
        let Some(state) = &node.state else { return Ok(false) };
        if !stat.is(state.kind) {
            return Ok(false);
        }
        match (state.kind, state.content, hash) {
            (FileKind::Folder, ..) => Ok(true),
            (_, None, _) => Ok(false),
            (_, Some(content), Some(hash)) => {
                self.remember_signature(node.id, hash, stat, call);
                Ok(content == hash)
            }
            (FileKind::Link, Some(content), None) => {
                Ok(content == ContentHash::of(&self.disk.read_link(path)?))
            }
            (FileKind::File, Some(content), None) => {
                if self.content_by_signature(node, stat).is_some() {
                    return Ok(true);
                }
                if state.size != stat.size() {
                    return Ok(false);
                }
                let (mut file, stat) = self.disk.open_file(path)?;
                let hash = hash_all(&mut file, path, call)?;
                self.remember_signature(node.id, hash, &stat, call);
                Ok(content == hash)
            }
        }
    }

    /// The content of a file with this signature, if it is known without reading the file.
    pub(crate) fn content_by_signature(
        &self,
        node: &Node,
        stat: &EntryStat,
    ) -> Option<ContentHash> {
        let content = node.state.as_ref().filter(|state| stat.is(state.kind))?.content?;
        let seen = node.signature == Some(stat.signature)
            || self.caches.signatures.remembers(node.id, content, stat.signature);
        seen.then_some(content)
    }

    /// Remembers under which signature a content was read, if the signature is old enough that the file cannot have changed
    /// again within the same tick of the file system's clock.
    pub(crate) fn remember_signature(
        &self,
        file: FileId,
        content: ContentHash,
        stat: &EntryStat,
        call: &Call,
    ) {
        let signature = stat.signature;
        if is_settled(&signature, call) {
            self.caches.signatures.remember(SeenContent { file, content, signature });
        }
    }

    /// A listing's entry.
    pub(crate) fn entry(&self, path: WsPath, stat: &EntryStat, state: &SyncState) -> Entry {
        let folder = stat.is(FileKind::Folder);
        let unknown_type = if folder { FileType::Folder } else { FileType::Document };
        let recorded = state.node.as_ref().and_then(|node| node.state.as_ref());
        Entry {
            path,
            kind: stat.kind.known(),
            file_type: recorded
                .filter(|recorded| stat.is(recorded.kind))
                .map_or(unknown_type, |recorded| recorded.file_type),
            id: state.node.as_ref().map(|node| node.id),
            synced: state.synced,
            is_virtual: false,
            size: (!folder).then(|| stat.size()),
            updated_at: stat.modified(),
        }
    }
}
