//! Whether the store's newest version is what is on disk (W19). A remembered stat signature tells
//! without reading; where there is none that can be trusted, the file is read once and remembered.

use yard_core::op::Entry;
use yard_core::{Call, ContentHash, FileId, FileKind, FileType, Result, WsPath};
use yard_disk::{EntryStat, hash_all, is_settled};
use yard_store::{Node, SeenContent};

use crate::workspace::Workspace;

/// What the store says of one entry on disk.
pub(crate) struct Known {
    pub(crate) node: Option<Node>,
    pub(crate) synced: bool,
}

impl Workspace {
    /// What the store knows of the entry at `path`, and whether it agrees with the disk. `hash` is the
    /// content on disk, if the caller has read it anyway.
    pub(crate) fn known(
        &self,
        path: &WsPath,
        stat: &EntryStat,
        hash: Option<ContentHash>,
        call: &Call,
    ) -> Result<Known> {
        let node = self.store().lookup(path)?;
        self.judge(node, path, stat, hash, call)
    }

    /// As [`Workspace::known`], with the node looked up already.
    pub(crate) fn judge(
        &self,
        node: Option<Node>,
        path: &WsPath,
        stat: &EntryStat,
        hash: Option<ContentHash>,
        call: &Call,
    ) -> Result<Known> {
        let synced = match &node {
            Some(node) => self.agrees(node, path, stat, hash, call)?,
            None => path.is_root(),
        };
        Ok(Known { node, synced })
    }

    fn agrees(
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
                self.seen_as(node.id, hash, stat, call);
                Ok(content == hash)
            }
            (FileKind::Link, Some(content), None) => {
                Ok(content == ContentHash::of(&self.disk.read_link(path)?))
            }
            (FileKind::File, Some(content), None) => {
                if self.content_seen_as(node, stat).is_some() {
                    return Ok(true);
                }
                if state.size != stat.size() {
                    return Ok(false);
                }
                let (mut file, stat) = self.disk.open_file(path)?;
                let hash = hash_all(&mut file, path, call)?;
                self.seen_as(node.id, hash, &stat, call);
                Ok(content == hash)
            }
        }
    }

    /// The content that a file is known to hold while it looks like that; `None` if it must be read.
    pub(crate) fn content_seen_as(&self, node: &Node, stat: &EntryStat) -> Option<ContentHash> {
        let content = node.state.as_ref().filter(|state| stat.is(state.kind))?.content?;
        let seen = node.signature == Some(stat.signature)
            || self.signatures.remembers(node.id, content, stat.signature);
        seen.then_some(content)
    }

    /// Remembers a signature, if it is old enough that the file cannot have changed again within the
    /// same tick of the file system's clock.
    pub(crate) fn seen_as(
        &self,
        file: FileId,
        content: ContentHash,
        stat: &EntryStat,
        call: &Call,
    ) {
        let signature = stat.signature;
        if is_settled(&signature, call) {
            self.signatures.remember(SeenContent { file, content, signature });
        }
    }

    /// One entry as listings show it.
    pub(crate) fn entry(&self, path: WsPath, stat: &EntryStat, known: &Known) -> Entry {
        let folder = stat.is(FileKind::Folder);
        let unknown_type = if folder { FileType::Folder } else { FileType::Document };
        let told = known.node.as_ref().and_then(|node| node.state.as_ref());
        Entry {
            path,
            kind: stat.kind.known(),
            file_type: told
                .filter(|state| stat.is(state.kind))
                .map_or(unknown_type, |state| state.file_type),
            id: known.node.as_ref().map(|node| node.id),
            synced: known.synced,
            is_virtual: false,
            size: (!folder).then(|| stat.size()),
            updated_at: stat.modified(),
        }
    }
}
