//! Adoption: before a plan uses an entry, the difference between the entry on disk and the store becomes a change of author
//! `external`, and the draft expects that the entry stays as it was seen.

use std::sync::Arc;

use yard_core::{ContentHash, FileId, FileKind, FileState, FileType, Result, VersionId, WsPath};
use yard_disk::{EntryKind, EntryStat, hash_all, kept_name, not_found, read_all, special};
use yard_store::{NewChange, Node, Prepared};

use super::{Current, Large, Planner, join};
use crate::contents::build_output;
use crate::draft::basis::ExpectedEntry;
use crate::draft::contents::LargeFile;

/// An entry as it is on disk.
pub(super) struct Observed {
    pub(super) kind: FileKind,
    pub(super) stat: EntryStat,
    pub(super) content: Option<ContentHash>,
    pub(super) bytes: Vec<u8>,
    pub(super) is_large: bool,
}

impl Observed {
    pub(super) fn folder(stat: EntryStat) -> Self {
        Self { kind: FileKind::Folder, stat, content: None, bytes: Vec::new(), is_large: false }
    }
}

impl Planner<'_> {
    /// The entry at `path`, whose links must be resolved. Changes by other programs are adopted.
    pub(crate) fn current(&mut self, path: &WsPath, large: Large) -> Result<Current> {
        let stat = self.workspace.disk.stat(path)?.ok_or_else(|| not_found(path))?;
        self.current_as(path, &stat, large)
    }

    /// As [`Planner::current`], with metadata that was just read.
    pub(crate) fn current_as(
        &mut self,
        path: &WsPath,
        seen: &EntryStat,
        large: Large,
    ) -> Result<Current> {
        let (parent, node) = self.node_at(path)?;
        let observed = self.observe(path, seen, node.as_ref())?;
        self.reconcile(parent, path, node, observed, large)
    }

    /// As [`Planner::current`], with metadata and bytes of a file that were just read.
    pub(crate) fn current_read(
        &mut self,
        path: &WsPath,
        stat: EntryStat,
        bytes: Vec<u8>,
    ) -> Result<Current> {
        let (parent, node) = self.node_at(path)?;
        let expected = node.as_ref().and_then(|node| node.last.content);
        let content = Some(self.workspace.caches.written_contents.hash(&bytes, expected));
        let observed = Observed { kind: FileKind::File, stat, content, bytes, is_large: false };
        self.reconcile(parent, path, node, observed, Large::Keep)
    }

    /// The id of the folder above a path, and the node that the store has at the path.
    fn node_at(&mut self, path: &WsPath) -> Result<(FileId, Option<Node>)> {
        let above = path.parent().ok_or_else(|| not_found(path))?;
        let name = path.name().ok_or_else(|| not_found(path))?;
        let parent = self.folder(&above)?;
        let node = self.store().child(parent, &name)?;
        Ok((parent, node))
    }

    /// Adopts the difference between the store and an observed entry, and expects that the entry stays the same.
    fn reconcile(
        &mut self,
        parent: FileId,
        path: &WsPath,
        node: Option<Node>,
        observed: Observed,
        large: Large,
    ) -> Result<Current> {
        self.expect(path, ExpectedEntry::Unchanged(observed.stat));
        let was_known = node.is_some();
        let (id, state) = self.adopt_difference(parent, path, node, &observed, large)?;
        if observed.kind == FileKind::Folder {
            self.known.folders.insert(path.clone(), id);
        }
        let Observed { stat, bytes, content, .. } = observed;
        let (path, bytes) = (path.clone(), Arc::new(bytes));
        Ok(Current { id, path, state, stat, bytes, was_known, observed: content })
    }

    /// Adopts the difference between an entry in the store and on disk. Returns its id and state.
    fn adopt_difference(
        &mut self,
        parent: FileId,
        path: &WsPath,
        node: Option<Node>,
        observed: &Observed,
        large: Large,
    ) -> Result<(FileId, FileState)> {
        let Some(node) = node else { return self.adopt_new(parent, path, observed, large) };
        if node.last.kind != observed.kind {
            self.adopt_gone(&node, path)?;
            return self.adopt_new(parent, path, observed, large);
        }
        let same_content = node.last.content == observed.content;
        if same_content && self.may_be_evicted(path, observed.content)? {
            self.capture(node.id, path, observed, large)?;
        }
        if same_content && node.last.mode == observed.stat.mode {
            return Ok((node.id, node.last));
        }
        let mut after = node.last.clone();
        after.mode = observed.stat.mode;
        if !same_content {
            after.content = self.capture(node.id, path, observed, large)?;
            after.size = observed.stat.size();
        }
        if after != node.last {
            self.adopt(node.id, node.state, after.clone(), path);
        }
        Ok((node.id, after))
    }

    /// Adopts an entry that the store does not know.
    pub(super) fn adopt_new(
        &mut self,
        parent: FileId,
        path: &WsPath,
        observed: &Observed,
        large: Large,
    ) -> Result<(FileId, FileState)> {
        let name = path.name().ok_or_else(|| not_found(path))?;
        let id = FileId::new(self.call.world());
        let folder = observed.kind == FileKind::Folder;
        let after = FileState {
            parent,
            name,
            kind: observed.kind,
            file_type: if folder { FileType::Folder } else { FileType::Document },
            mode: observed.stat.mode,
            content: self.capture(id, path, observed, large)?,
            size: if folder { 0 } else { observed.stat.size() },
            json: false,
        };
        self.adopt(id, None, after.clone(), path);
        Ok((id, after))
    }

    fn adopt(&mut self, id: FileId, before: Option<FileState>, after: FileState, path: &WsPath) {
        let version = after.content.map(|_| VersionId::new(self.call.world()));
        let from = before.as_ref().map(|_| path.clone());
        let to = Some(path.clone());
        let change = NewChange { file: id, before, after: Some(after), from, to, version };
        self.draft.adopted.push(change);
    }

    /// Prepares an observed content for the store, and returns its hash.
    fn capture(
        &mut self,
        file: FileId,
        path: &WsPath,
        observed: &Observed,
        large: Large,
    ) -> Result<Option<ContentHash>> {
        let Some(hash) = observed.content else { return Ok(None) };
        if observed.is_large {
            match large {
                Large::Leave => return Ok(None),
                Large::Copy => return self.store_copy(hash, path, observed).map(Some),
                Large::Keep => {}
            }
            // The file itself becomes the version, so that its bytes must be durable before its step is recorded.
            self.workspace.disk.flush_entry(path)?;
            let kept = kept_name::of_version(VersionId::new(self.call.world()));
            self.draft.contents.large.push(LargeFile { file, hash, name: kept.name.clone() });
            self.add_prepared(Prepared::kept(hash, observed.stat.size(), kept))?;
        } else {
            let prepared = self.store().prepare(hash, &observed.bytes, None, self.effort)?;
            self.add_prepared(prepared)?;
        }
        Ok(Some(hash))
    }

    /// Whether the content of a file that is no build output is only stored as that of build output, and so may be evicted.
    fn may_be_evicted(&self, path: &WsPath, content: Option<ContentHash>) -> Result<bool> {
        let has_evictable = self.workspace.stage.has_evictable();
        let Some(hash) = content.filter(|_| has_evictable && !build_output::has_build_folder(path))
        else {
            return Ok(false);
        };
        let located = self.store().locate(&hash)?;
        Ok(located.as_ref().is_some_and(build_output::is_evictable))
    }

    /// Reads the content of an entry.
    fn observe(&self, path: &WsPath, seen: &EntryStat, node: Option<&Node>) -> Result<Observed> {
        match seen.kind {
            EntryKind::Special(what) => Err(special(path, what)),
            EntryKind::Known(FileKind::Folder) => Ok(Observed::folder(*seen)),
            EntryKind::Known(FileKind::Link) => {
                let bytes = self.workspace.disk.read_link(path)?;
                let content = Some(ContentHash::of(&bytes));
                Ok(Observed { kind: FileKind::Link, stat: *seen, content, bytes, is_large: false })
            }
            EntryKind::Known(FileKind::File) => {
                self.observe_file(path, seen, node.and_then(|node| node.last.content))
            }
        }
    }

    fn observe_file(
        &self,
        path: &WsPath,
        seen: &EntryStat,
        expected: Option<ContentHash>,
    ) -> Result<Observed> {
        let (mut file, stat) = self.workspace.disk.open_seen(path, seen)?;
        let is_large = stat.size() > self.workspace.limits().load_bytes;
        let bytes = if is_large { Vec::new() } else { read_all(&mut file, stat.size(), path)? };
        let content = if is_large {
            hash_all(&mut file, path, self.call)?
        } else {
            self.workspace.caches.written_contents.hash(&bytes, expected)
        };
        Ok(Observed { kind: FileKind::File, stat, content: Some(content), bytes, is_large })
    }

    /// Adopts that the store's entry at a path, if there is one, is no longer on disk.
    pub(crate) fn adopt_missing(&mut self, parent: FileId, path: &WsPath) -> Result<()> {
        let Some(name) = path.name() else { return Ok(()) };
        match self.store().child(parent, &name)? {
            Some(node) => self.adopt_gone(&node, path),
            None => Ok(()),
        }
    }

    /// Whether this plan found that an entry of the store is no longer on disk.
    pub(crate) fn is_gone(&self, file: FileId) -> bool {
        self.known.gone.contains(&file)
    }

    /// If an entry of the store is no longer on disk, adopts that, for the topmost missing folder above it. Returns whether
    /// it is gone.
    pub(crate) fn adopt_if_gone(&mut self, path: &WsPath) -> Result<bool> {
        for path in path.lineage() {
            if self.workspace.disk.stat(&path)?.is_some() {
                continue;
            }
            return match self.store().lookup(&path)? {
                Some(node) => self.adopt_gone(&node, &path).map(|()| true),
                None => Ok(false),
            };
        }
        Ok(false)
    }

    /// Adopts that `node` and everything below it is gone.
    pub(crate) fn adopt_gone(&mut self, node: &Node, path: &WsPath) -> Result<()> {
        if self.known.gone.contains(&node.id) {
            return Ok(());
        }
        let mut gone = Vec::new();
        let mut ahead = vec![(node.clone(), path.clone())];
        while let Some((node, path)) = ahead.pop() {
            self.call.check()?;
            if node.last.kind == FileKind::Folder {
                for child in self.store().children(node.id)? {
                    // The plan may have looked at a file in the folder before.
                    if !self.known.gone.contains(&child.id) {
                        let below = join(&path, &child.last.name)?;
                        ahead.push((child, below));
                    }
                }
            }
            self.known.gone.insert(node.id);
            gone.push(NewChange {
                file: node.id,
                before: node.state,
                after: None,
                from: Some(path),
                to: None,
                version: None,
            });
        }
        // Folders come before their entries in `gone`, and have to be removed after them.
        self.draft.adopted.extend(gone.into_iter().rev());
        Ok(())
    }
}
