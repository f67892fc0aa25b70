//! Operations that read files and folders: read, stat, list.

use crate::lines::LineStart;
use crate::{ContentHash, FileId, FileKind, FileType, Timestamp, WsPath};

/// Which part of a text is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// Whole lines (R4).
    Lines {
        /// The first of them.
        start: LineStart,
        /// At most that many; `None` is all.
        limit: Option<u64>,
    },
    /// Bytes of the file, for what line slices cut.
    Bytes {
        /// The first of them.
        offset: u64,
        /// At most that many.
        limit: u64,
    },
}

/// Facts that a caller wants besides the text. Facts that are not wanted are not computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// The hash of the whole content.
    pub hash: bool,
    /// The number of lines of the whole content.
    pub line_count: bool,
    /// Whether the store's newest version is what is on disk (W19), and what the store knows.
    pub synced: bool,
    /// Of a file with more bytes a read tells hash and number of lines only where they are known without
    /// reading all of it; `None` is any size.
    pub up_to: Option<u64>,
}

impl Want {
    /// The facts that are computed for a file with that many bytes.
    pub fn of_size(self, bytes: u64) -> Self {
        let reads_all = self.up_to.is_none_or(|most| bytes <= most);
        Self { hash: self.hash && reads_all, line_count: self.line_count && reads_all, ..self }
    }
}

/// Reads text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The file.
    pub path: WsPath,
    /// Which part.
    pub slice: Slice,
    /// What else.
    pub want: Want,
    /// At most that many bytes of text in the answer.
    pub max_bytes: u64,
}

/// A text, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadAnswer {
    /// The file that was read, links resolved.
    pub path: WsPath,
    /// The slice, decoded; line terminators included (R4).
    pub text: String,
    /// The number of the slice's first line, counted from 0.
    pub first_line: u64,
    /// How many lines the slice holds.
    pub lines: u64,
    /// Something remains after the slice.
    pub truncated: bool,
    /// A line was longer than the answer may be: it was cut, and goes on at this byte of the file.
    pub cut_at_byte: Option<u64>,
    /// Lines of the whole file, when wanted.
    pub line_count: Option<u64>,
    /// Hash of the whole file, when wanted.
    pub hash: Option<ContentHash>,
    /// Bytes of the whole file.
    pub size: u64,
    /// Whether disk and store agree, when wanted.
    pub synced: Option<bool>,
    /// It was written as JSON and reads back as such (W3); known only when `synced` was wanted.
    pub json: bool,
}

/// Asks for a file's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The file, folder or link. A link is described itself, not followed, if `follow` is false.
    pub path: WsPath,
    /// What else than the metadata.
    pub want: Want,
    /// Describe what a link points to.
    pub follow: bool,
}

/// A file's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatAnswer {
    /// The entry as listings show it.
    pub entry: Entry,
    /// When it was made (R11).
    pub created_at: Timestamp,
    /// Lines, when wanted and a text.
    pub line_count: Option<u64>,
    /// Hash, when wanted and not a folder.
    pub hash: Option<ContentHash>,
    /// Metadata of the file system; a virtual file has none.
    pub on_disk: Option<OnDisk>,
}

/// Metadata of an entry in the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDisk {
    /// Its permission bits.
    pub mode: u32,
    /// Bytes, a folder's too.
    pub size: u64,
    /// When it was last read.
    pub accessed_at: Timestamp,
}

/// How far below a folder its listing goes. Below its own entries links are not followed and `.git` is
/// skipped (R8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Its own entries.
    Own,
    /// That many levels; 1 is its own entries.
    Levels(u32),
    /// All levels.
    All,
}

/// In which order a listing names what it found; among equals, by path bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOrder {
    /// Folders first.
    FoldersFirst,
    /// Level by level, and in each folder its folders first.
    BreadthFirst,
}

/// Lists a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The folder.
    pub path: WsPath,
    /// How much of it.
    pub depth: Depth,
    /// Also what has a name that begins with a dot, and what is below it.
    pub hidden: bool,
    /// In which order.
    pub order: ListOrder,
    /// At most that many entries; `None` is all that an answer may hold.
    pub limit: Option<usize>,
    /// That many entries of the order are left out first.
    pub skip: usize,
}

impl List {
    /// Lists a folder's own entries, folders first.
    pub fn own(path: WsPath) -> Self {
        Self {
            path,
            depth: Depth::Own,
            hidden: true,
            order: ListOrder::FoldersFirst,
            limit: None,
            skip: 0,
        }
    }
}

/// A folder's entries, in the order that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The folder, links resolved.
    pub path: WsPath,
    /// Its entries, cut at the limit.
    pub entries: Vec<Entry>,
    /// How many there are without the limit.
    pub total: usize,
    /// Whether the limit cut any.
    pub truncated: bool,
}

/// Lists what a folder's own entries are called and are, and nothing else of them: no entry is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The folder.
    pub path: WsPath,
    /// It is listed for a tree that starts above or here: what is not on disk is not shown (W18).
    pub for_tree: bool,
}

/// A folder's own entries, in the order of the bytes of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamesAnswer {
    /// The folder, links resolved.
    pub path: WsPath,
    /// As many as an answer may hold.
    pub entries: Vec<Named>,
    /// How many there are.
    pub total: usize,
}

/// An entry that was not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Where it is.
    pub path: WsPath,
    /// What it is, as in [`Entry`].
    pub kind: Option<FileKind>,
}

/// One entry of a listing or a search by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub path: WsPath,
    /// File, folder or link; anything else on disk (a FIFO, a socket, a device) has none.
    pub kind: Option<FileKind>,
    /// The type that its maker gave it; for what the store does not know, folder or document.
    pub file_type: FileType,
    /// Its id, if the store knows it.
    pub id: Option<FileId>,
    /// Whether the store's newest version is what is on disk.
    pub synced: bool,
    /// The system manages it, and it is not on disk (W18).
    pub is_virtual: bool,
    /// Bytes; a folder has none.
    pub size: Option<u64>,
    /// Its modification time.
    pub updated_at: Timestamp,
}
