//! The state of one file at one moment, as plain values that undo compares as a whole.

use crate::{ContentHash, FileId, Name};

crate::spelled_enum! {
    /// The kind of an entry of a folder. The digests of the audit chain hold the spellings, so these never change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum FileKind {
        /// A regular file: its content is its bytes.
        File = "file",
        /// A folder: it has no content of its own.
        Folder = "folder",
        /// A symbolic link: its content is its target.
        Link = "link",
    }
}

crate::spelled_enum! {
    /// The type that a document's maker gave it (W2). It says nothing about the bytes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum FileType {
        /// Text, or anything else without a type of its own.
        #[default]
        Document = "document",
        /// A folder.
        Folder = "folder",
        /// A canvas.
        Canvas = "canvas",
        /// A chat's transcript: the system's own, never written by a tool.
        Chat = "chat",
        /// A whiteboard.
        Whiteboard = "whiteboard",
        /// An agent's definition.
        Agent = "agent",
        /// A skill.
        Skill = "skill",
        /// A plan.
        Plan = "plan",
    }
}

crate::spelled_enum! {
    /// The author of a step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Author {
        /// Another program, such as an editor or a shell.
        External = "external",
        /// An agent, through a tool.
        Agent = "agent",
        /// A person, through a command or a page.
        Person = "person",
    }
}

/// One living file, folder or link. A removed one has no state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileState {
    /// The folder that it is in.
    pub parent: FileId,
    /// Its name there.
    pub name: Name,
    /// File, folder or link.
    pub kind: FileKind,
    /// The type that its maker gave it.
    pub file_type: FileType,
    /// Permission bits (the low twelve of `st_mode`).
    pub mode: u32,
    /// The content's hash: a file's bytes, a link's target; a folder has none.
    pub content: Option<ContentHash>,
    /// The content's length in bytes.
    pub size: u64,
    /// It was written as a JSON value that is no string, and reads back as one (W3).
    pub json: bool,
}

/// Metadata that shows, without reading a file, whether it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds.
    pub mtime: i64,
    /// Change time in nanoseconds.
    pub ctime: i64,
    /// Inode number.
    pub inode: u64,
}
