//! What an operation would do, in the gate's words: which paths, and what kind of thing happens to
//! each; and who is asked outside. The gate judges this, never the text of a call.

use crate::{ChatId, FileType, WsPath};

crate::spelled_enum! {
    /// What happens to one path.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum EffectKind {
        /// Its bytes are read, or something that is worked out from them.
        Read = "read",
        /// Its name and metadata are read, or a folder's entries.
        List = "list",
        /// It comes to be.
        Create = "create",
        /// Its bytes are replaced.
        Modify = "modify",
        /// Its modification time is set.
        Touch = "touch",
        /// It goes away from here.
        MoveFrom = "move-from",
        /// It arrives here.
        MoveTo = "move-to",
        /// It is removed.
        Remove = "remove",
        /// What was there is removed from the past too, for good.
        Purge = "purge",
        /// A command starts there.
        Run = "run",
        /// A host of the web is asked for something.
        Fetch = "fetch",
        /// Something is sent to a host of the web, which may change what is there.
        Send = "send",
        /// A command connects to a host, and may ask it for anything and send it anything.
        Connect = "connect",
    }
}

impl EffectKind {
    /// Whether something in the workspace is looked at, and nothing else happens.
    pub fn looks(self) -> bool {
        matches!(self, Self::Read | Self::List)
    }

    /// Whether what is at the path is another thing afterwards.
    pub fn changes(self) -> bool {
        !self.looks() && !matches!(self, Self::Run | Self::Fetch | Self::Send | Self::Connect)
    }
}

/// One path and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathEffect {
    /// What happens.
    pub kind: EffectKind,
    /// Where.
    pub path: WsPath,
    /// The type of what changes: as it was, or of what comes to be its new one. Reads do not say.
    pub file_type: Option<FileType>,
    /// The same happens to everything below it, and is not named entry by entry. What looks at a tree has
    /// left out what its caller may not see.
    pub with_contents: bool,
    /// It is the caller's own to change: its chat made it, or tools make it again whenever it is needed.
    /// Of a command that starts: it has a layer of its own, so that nothing happens before it is judged.
    pub own: bool,
    /// Of a change of bytes: it is an edit. Enough of what others wrote is still there afterwards.
    pub edits: bool,
    /// Of a change: only the mode becomes another one.
    pub mode_only: bool,
    /// What comes to be at the path is a symbolic link.
    pub is_link: bool,
    /// What comes to be there, or goes, decides what programs of others do later.
    pub decides: bool,
    /// Other names of the same place, by links: the path that was asked for, and what a rule calls it.
    /// What forbids or asks is looked up under each of them, what allows is not.
    pub also: Vec<WsPath>,
}

impl PathEffect {
    /// Something that happens to a path about which nothing more is known.
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

/// Whose doing counts as the caller's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whose {
    /// The chat that the call belongs to: what was done in it is its own.
    pub chat: Option<ChatId>,
    /// Whose default chat that is, if it is somebody's: what they did in no chat is of that one too.
    pub default_of: Option<String>,
}

/// One host of the web and what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dial {
    /// [`EffectKind::Fetch`], [`EffectKind::Send`] or [`EffectKind::Connect`].
    pub kind: EffectKind,
    /// How it is asked, as a person reads it: `GET https://example.com/page`.
    pub asked: String,
    /// The host: lower case, as rules name it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The operator said that this host may be asked.
    pub known: bool,
}

impl Dial {
    /// What it is in an audit row, which holds no address: one may be a secret.
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

    /// The same effect, on what is the caller's own if that is so.
    #[must_use]
    pub fn on_own(mut self, own: bool) -> Self {
        self.paths.iter_mut().for_each(|effect| effect.own = own);
        self
    }

    /// Adds what happens to one more path.
    pub fn push(&mut self, kind: EffectKind, path: WsPath, file_type: FileType) {
        // A folder that moves takes along what is in it.
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
