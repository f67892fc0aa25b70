//! The effects of an operation on paths and hosts. The gate judges effects, never the text of a call.

use crate::{ChatId, FileType, WsPath};

crate::spelled_enum! {
    /// What happens to one path or host.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum EffectKind {
        /// Its bytes are read, or something derived from them.
        Read = "read",
        /// Its name and metadata are read, or a folder's entries.
        List = "list",
        /// It is made.
        Create = "create",
        /// Its bytes are replaced.
        Modify = "modify",
        /// Its modification time is set.
        Touch = "touch",
        /// It is moved away from this path.
        MoveFrom = "move-from",
        /// It is moved to this path.
        MoveTo = "move-to",
        /// It is removed.
        Remove = "remove",
        /// Its contents are removed from the history, too.
        Purge = "purge",
        /// A command starts in this folder.
        Run = "run",
        /// A page of a host is read.
        Fetch = "fetch",
        /// Data is sent to a host, which may change something there.
        Send = "send",
        /// A command connects to a host, and may read and send anything.
        Connect = "connect",
    }
}

impl EffectKind {
    /// Whether something in the workspace is read, and nothing else happens.
    pub fn looks(self) -> bool {
        matches!(self, Self::Read | Self::List)
    }

    /// Whether the entry at the path changes.
    pub fn changes(self) -> bool {
        !self.looks() && !matches!(self, Self::Run | Self::Fetch | Self::Send | Self::Connect)
    }
}

/// One path and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathEffect {
    /// What happens.
    pub kind: EffectKind,
    /// The path.
    pub path: WsPath,
    /// The type of the changed entry: of a new one its new type, else its old one. `None` for reads.
    pub file_type: Option<FileType>,
    /// The same happens to everything below the path. A read of a tree leaves out what the caller may not see.
    pub with_contents: bool,
    /// The entry is the caller's own: its chat made it, or tools make it again whenever it is needed. For a command
    /// that starts: it has an overlay, so that nothing happens before its effect is judged.
    pub own: bool,
    /// A change of bytes is an edit: enough of the lines that others wrote survive.
    pub edits: bool,
    /// Only the mode changes.
    pub mode_only: bool,
    /// A symbolic link is made at the path.
    pub is_link: bool,
    /// The entry that is made or removed decides what other programs do later, as a hook of git does.
    pub decides: bool,
    /// Other paths of the same entry, by links: the requested path, and the path that a rule uses. Rules that deny or
    /// ask match any of them, rules that allow match only [`PathEffect::path`].
    pub also: Vec<WsPath>,
}

impl PathEffect {
    /// An effect on a path without any further property.
    pub fn new(kind: EffectKind, path: WsPath) -> Self {
        Self {
            kind,
            path,
            file_type: None,
            with_contents: false,
            own: false,
            edits: false,
            mode_only: false,
            is_link: false,
            decides: false,
            also: Vec::new(),
        }
    }

    /// The path and every other name of it.
    pub fn names(&self) -> impl Iterator<Item = &WsPath> {
        std::iter::once(&self.path).chain(&self.also)
    }
}

/// The chat whose changes count as the caller's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatScope {
    /// The chat that the call belongs to.
    pub chat: Option<ChatId>,
    /// The actor whose default chat that is: the actor's changes in no chat belong to it, too.
    pub default_of: Option<String>,
}

/// One request to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dial {
    /// [`EffectKind::Fetch`], [`EffectKind::Send`] or [`EffectKind::Connect`].
    pub kind: EffectKind,
    /// The request as a person reads it: `GET https://example.com/page`.
    pub asked: String,
    /// The host: lower case, as rules name it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The operator allowed this host in the configuration.
    pub known: bool,
}

impl Dial {
    /// Its form in an audit row, without the address, which may be a secret.
    pub fn in_short(&self) -> String {
        format!("{} {}:{}", self.kind.word(), self.host, self.port)
    }
}

/// Everything that one operation would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Path by path, in the order in which it happens.
    pub paths: Vec<PathEffect>,
    /// Host by host.
    pub dials: Vec<Dial>,
}

impl Effect {
    /// An effect on one path whose type does not matter.
    pub fn one(kind: EffectKind, path: WsPath) -> Self {
        Self { paths: vec![PathEffect::new(kind, path)], dials: Vec::new() }
    }

    /// An effect on no path.
    pub fn dialling(dial: Dial) -> Self {
        Self { paths: Vec::new(), dials: vec![dial] }
    }

    /// The same effect, on everything below its paths too.
    #[must_use]
    pub fn with_contents(mut self) -> Self {
        self.paths.iter_mut().for_each(|effect| effect.with_contents = true);
        self
    }

    /// The same effect, on the caller's own entries if `own` is set.
    #[must_use]
    pub fn on_own(mut self, own: bool) -> Self {
        self.paths.iter_mut().for_each(|effect| effect.own = own);
        self
    }

    /// Adds what happens to one more path.
    pub fn push(&mut self, kind: EffectKind, path: WsPath, file_type: FileType) {
        // A folder moves with its contents.
        let moves = matches!(kind, EffectKind::MoveFrom | EffectKind::MoveTo);
        let with_contents = moves && file_type == FileType::Folder;
        let file_type = Some(file_type);
        self.paths.push(PathEffect { file_type, with_contents, ..PathEffect::new(kind, path) });
    }

    /// Whether any path changes.
    pub fn changes_anything(&self) -> bool {
        self.paths.iter().any(|effect| effect.kind.changes())
    }

    /// Whether anything is sent elsewhere.
    pub fn sends_anything(&self) -> bool {
        self.dials.iter().any(|dial| matches!(dial.kind, EffectKind::Send | EffectKind::Connect))
    }
}
