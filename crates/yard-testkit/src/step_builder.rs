//! Builds and appends steps as the kernel does, so that a test of a store needs one line per step.

use yard_core::{
    Author, ContentHash, FileId, FileKind, FileState, FileType, Name, StepId, VersionId, World,
    WsPath,
};
use yard_store::{
    AuditEntry, Base, Batch, Effort, NewChange, NewStep, Node, Prepared, Result, Seq, Store,
};

use crate::FakeWorld;

/// Builds steps for one store.
pub struct StepBuilder<'a> {
    store: &'a dyn Store,
    world: &'a FakeWorld,
}

impl<'a> StepBuilder<'a> {
    /// Builds steps for `store`, with ids and times of `world`.
    pub fn new(store: &'a dyn Store, world: &'a FakeWorld) -> Self {
        Self { store, world }
    }

    /// Creates a file at `path`, in the folder `parent`, with a new id.
    pub fn create(&self, parent: FileId, path: &WsPath, bytes: &[u8]) -> NewChange {
        let state = FileState {
            parent,
            name: path.name().unwrap(),
            kind: FileKind::File,
            file_type: FileType::Document,
            mode: 0o644,
            content: Some(ContentHash::of(bytes)),
            size: bytes.len() as u64,
            json: false,
        };
        self.appear(FileId::new(self.world), path, state)
    }

    /// Creates a folder.
    pub fn create_folder(&self, parent: FileId, path: &WsPath) -> NewChange {
        let state = FileState {
            parent,
            name: path.name().unwrap(),
            kind: FileKind::Folder,
            file_type: FileType::Folder,
            mode: 0o755,
            content: None,
            size: 0,
            json: false,
        };
        self.appear(FileId::new(self.world), path, state)
    }

    /// Creates or restores a file with a state.
    pub fn appear(&self, file: FileId, path: &WsPath, state: FileState) -> NewChange {
        let version = state.content.map(|_| VersionId::new(self.world));
        NewChange {
            file,
            before: None,
            after: Some(state),
            from: None,
            to: Some(path.clone()),
            version,
        }
    }

    /// Changes the state of an existing file, at its path.
    pub fn become_state(&self, node: &Node, state: FileState) -> NewChange {
        let changed = node.state.as_ref().and_then(|before| before.content) != state.content;
        NewChange {
            file: node.id,
            before: node.state.clone(),
            after: Some(state),
            from: Some(node.path.clone()),
            to: Some(node.path.clone()),
            version: changed.then(|| VersionId::new(self.world)),
        }
    }

    /// Changes the content of an existing file.
    pub fn edit(&self, node: &Node, bytes: &[u8]) -> NewChange {
        let (content, size) = (Some(ContentHash::of(bytes)), bytes.len() as u64);
        self.become_state(node, FileState { content, size, ..node.last.clone() })
    }

    /// Moves an existing file.
    pub fn rename(&self, node: &Node, parent: FileId, path: &WsPath) -> NewChange {
        let state = FileState { parent, name: path.name().unwrap(), ..node.last.clone() };
        NewChange { to: Some(path.clone()), ..self.become_state(node, state) }
    }

    /// Removes an existing file.
    pub fn remove(&self, node: &Node) -> NewChange {
        NewChange {
            file: node.id,
            before: node.state.clone(),
            after: None,
            from: Some(node.path.clone()),
            to: None,
            version: None,
        }
    }

    /// A step of these changes.
    pub fn step(&self, verb: &str, changes: Vec<NewChange>) -> NewStep {
        let at = self.world.now();
        let path = changes.first().and_then(|change| change.to.as_ref().or(change.from.as_ref()));
        let detail = path.map(WsPath::to_string).unwrap_or_default();
        let audit = AuditEntry { at, actor: "agent:local".into(), action: verb.into(), detail };
        NewStep {
            id: StepId::new(self.world),
            at,
            author: Author::Agent,
            verb: verb.into(),
            chat: None,
            undoes: None,
            changes,
            audit,
            side_effects: Vec::new(),
            placements: Vec::new(),
        }
    }

    /// Prepares a content without a base.
    pub fn prepared(&self, bytes: &[u8]) -> Prepared {
        self.store.prepare(ContentHash::of(bytes), bytes, None, Effort::Thorough).unwrap()
    }

    /// Prepares a content with the previous version as its base.
    pub fn prepared_after(&self, bytes: &[u8], before: &[u8]) -> Prepared {
        let base = Base { hash: ContentHash::of(before), bytes: before };
        self.store.prepare(ContentHash::of(bytes), bytes, Some(base), Effort::Thorough).unwrap()
    }

    /// Appends one step at the head.
    pub fn append(&self, changes: Vec<NewChange>, contents: &[&[u8]]) -> Result<Seq> {
        let prepared: Vec<Prepared> = contents.iter().map(|bytes| self.prepared(bytes)).collect();
        let step = self.step("write", changes);
        let batch = Batch { steps: std::slice::from_ref(&step), contents: &prepared };
        self.store.append(self.store.head()?, batch)
    }

    /// Creates a file in the root in a step of its own. Returns its id.
    pub fn file(&self, name: &str, bytes: &[u8]) -> FileId {
        let change = self.create(FileId::ROOT, &path(name), bytes);
        let id = change.file;
        self.append(vec![change], &[bytes]).unwrap();
        id
    }

    /// Gives a file another content in a step of its own.
    pub fn write(&self, id: FileId, bytes: &[u8]) {
        let change = self.edit(&self.node(id), bytes);
        self.append(vec![change], &[bytes]).unwrap();
    }

    /// Removes a file in a step of its own.
    pub fn delete(&self, id: FileId) {
        self.append(vec![self.remove(&self.node(id))], &[]).unwrap();
    }

    /// A file that exists in the store.
    pub fn node(&self, id: FileId) -> Node {
        self.store.node(id).unwrap().unwrap()
    }
}

/// Parses a path.
pub(crate) fn path(text: &str) -> WsPath {
    WsPath::parse(text).unwrap()
}

/// Parses a name.
pub(crate) fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}
