//! Files that are not on disk: what somebody above the kernel shows below `/chats/` as readable text
//! (W18). Tools list, read and search them where `/chats` or a path below it is named; a search or a
//! listing that starts above never goes in, so that nobody finds them in place of the files. A listing of
//! the root's own entries names their folder. No operation changes them. The kernel does not know what
//! they are made of.
//!
//! `/chats/*.chat` is reserved for them, whether there is one of that name or not. A real file at the
//! place of one is shadowed by it; so is whatever else than a folder stands at `/chats` while there is
//! any. Nothing here opens or changes a file.

use yard_core::op::Entry;
use yard_core::{
    Call, Fault, FaultCode, FileId, FileKind, FileType, Name, Result, Subject, Timestamp, WsPath,
};
use yard_disk::{EntryKind, EntryStat, RawEntry};

use crate::spilled;

/// The folder that they are in, relative to the root.
pub(crate) const FOLDER: &[u8] = b"chats";
/// How their names end.
pub(crate) const ENDING: &[u8] = b".chat";

/// One file that is not on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualFile {
    /// Its id.
    pub id: FileId,
    /// Its name in `/chats`, which ends in `.chat`.
    pub name: Name,
    /// Bytes of its text.
    pub size: u64,
    /// When it came to be.
    pub created_at: Timestamp,
    /// When its text last grew.
    pub updated_at: Timestamp,
}

/// Whoever has such files.
pub trait VirtualFiles: Send + Sync {
    /// All of them, in no order.
    fn list(&self) -> Result<Vec<VirtualFile>>;

    /// The newest of them, in a time that does not grow with their number.
    fn newest(&self) -> Result<Option<VirtualFile>>;

    /// One of them.
    fn find(&self, name: &Name) -> Result<Option<VirtualFile>>;

    /// Its text, in UTF-8, as far as the caller may read what it tells of.
    fn text(&self, name: &Name, call: &Call) -> Result<Option<Vec<u8>>>;
}

/// Whether a path is the folder of virtual files.
pub(crate) fn is_their_folder(path: &WsPath) -> bool {
    path.relative() == FOLDER
}

/// Whether a path is a virtual file's, or below one, as it would be if a real folder had that name.
pub(crate) fn is_reserved(path: &WsPath) -> bool {
    let below = path.relative().strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix(b"/"));
    let name = below.and_then(|below| below.split(|byte| *byte == b'/').next());
    name.is_some_and(|name| name.ends_with(ENDING))
}

/// A fault if a path is reserved, for chats or for what commands said: nothing may change there.
pub(crate) fn check_free(path: &WsPath) -> Result<()> {
    if is_reserved(path) { Err(reserved(path)) } else { spilled::check_free(path) }
}

fn reserved(path: &WsPath) -> Fault {
    let message = format!(
        "{path} is reserved for the transcript of a chat, which the system manages and no tool changes; \
         chats are made, renamed and removed by the chats API (POST /api/v1/workspaces/{{id}}/chats). \
         Keep a file of your own in another folder"
    );
    Fault::new(FaultCode::BadPath, message).about(Subject::Path)
}

/// The name of the virtual file that a path would be.
pub(crate) fn their_name(path: &WsPath) -> Option<Name> {
    let name = path.name().filter(|name| name.as_bytes().ends_with(ENDING))?;
    path.parent().is_some_and(|folder| is_their_folder(&folder)).then_some(name)
}

/// The virtual files that an operation shows: one look at them, so that its answer is of one moment.
#[derive(Default)]
pub(crate) struct Shown {
    /// Ordered by name.
    files: Vec<VirtualFile>,
    /// What is on disk and left out, because a virtual file that is not shown here, or their folder, has its
    /// place.
    shadowed: Vec<WsPath>,
}

impl Shown {
    /// None, where these paths are left out.
    pub(crate) fn none(shadowed: Vec<WsPath>) -> Self {
        Self { shadowed, ..Self::default() }
    }

    /// One file alone.
    pub(crate) fn only(file: VirtualFile) -> Self {
        Self { files: vec![file], ..Self::default() }
    }

    /// The same without them: what they shadow is still left out.
    pub(crate) fn hidden(self, folder: &WsPath) -> Self {
        let Self { files, mut shadowed } = self;
        shadowed.extend(files.iter().filter_map(|file| folder.join(&file.name).ok()));
        Self { files: Vec::new(), shadowed }
    }

    /// All of these.
    pub(crate) fn all(mut files: Vec<VirtualFile>) -> Self {
        files.retain(|file| file.name.as_bytes().ends_with(ENDING));
        files.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Self { files, ..Self::default() }
    }

    fn leaves_out(&self, folder: &WsPath, name: &[u8]) -> bool {
        let is_it = |path: &WsPath| folder.join_bytes(name).is_ok_and(|below| below == *path);
        self.shadowed.iter().any(is_it)
    }

    fn find(&self, name: &[u8]) -> Option<&VirtualFile> {
        let at = self.files.binary_search_by(|file| file.name.as_bytes().cmp(name)).ok()?;
        self.files.get(at)
    }

    fn file(&self, path: &WsPath) -> Option<&VirtualFile> {
        if self.files.is_empty() {
            return None;
        }
        their_name(path).and_then(|name| self.find(name.as_bytes()))
    }

    /// Whether the file at a path is one of them.
    pub(crate) fn holds(&self, path: &WsPath) -> bool {
        self.file(path).is_some()
    }

    /// Whether a path is their folder, and they are in it.
    pub(crate) fn are_in(&self, folder: &WsPath) -> bool {
        !self.files.is_empty() && is_their_folder(folder)
    }

    /// What is in a folder: what is on disk there (nothing, if that cannot be listed) and they, each
    /// in the place of what it shadows.
    pub(crate) fn among(
        &self,
        folder: &WsPath,
        on_disk: Option<Vec<RawEntry>>,
    ) -> Option<Vec<RawEntry>> {
        let entry = |name: &[u8], kind| RawEntry {
            name: name.to_vec(),
            kind: Some(EntryKind::Known(kind)),
        };
        let on_disk = on_disk.map(|mut entries| {
            entries.retain(|entry| !self.leaves_out(folder, &entry.name));
            entries
        });
        if folder.is_root() {
            let mut entries = on_disk?;
            // Whatever has that name cannot be seen: nobody is to come across what commands said.
            entries.retain(|entry| entry.name != spilled::FOLDER.as_bytes());
            if self.files.is_empty() {
                return Some(entries);
            }
            entries.retain(|entry| entry.name != FOLDER);
            entries.push(entry(FOLDER, FileKind::Folder));
            return Some(entries);
        }
        if self.files.is_empty() || !is_their_folder(folder) {
            return on_disk;
        }
        let mut entries = on_disk.unwrap_or_default();
        entries.retain(|entry| self.find(&entry.name).is_none());
        let files = self.files.iter().map(|file| entry(file.name.as_bytes(), FileKind::File));
        entries.extend(files);
        Some(entries)
    }

    /// What folders show on a walk.
    pub(crate) fn listing(
        &self,
    ) -> impl Fn(&WsPath, Option<Vec<RawEntry>>) -> Option<Vec<RawEntry>> {
        |folder, on_disk| self.among(folder, on_disk)
    }

    /// The same on a walk that passes the virtual files by, and what they shadow.
    pub(crate) fn listing_without(
        &self,
    ) -> impl Fn(&WsPath, Option<Vec<RawEntry>>) -> Option<Vec<RawEntry>> {
        |folder, on_disk| {
            let mut entries = self.among(folder, on_disk)?;
            if self.are_in(folder) {
                entries.retain(|entry| self.find(&entry.name).is_none());
            }
            Some(entries)
        }
    }

    /// What a listing shows at a path, if it is one of them, or their folder and no such folder is on
    /// disk (`stat` says what is).
    pub(crate) fn entry(&self, path: &WsPath, stat: Option<&EntryStat>) -> Option<Entry> {
        if let Some(file) = self.file(path) {
            return Some(file_entry(path, file));
        }
        let on_disk = stat.is_some_and(|stat| stat.is(FileKind::Folder));
        if on_disk || !self.are_in(path) {
            return None;
        }
        let updated = self.files.iter().map(|file| file.updated_at).max();
        Some(Entry {
            path: path.clone(),
            kind: Some(FileKind::Folder),
            file_type: FileType::Folder,
            id: None,
            synced: true,
            is_virtual: true,
            size: None,
            updated_at: updated.unwrap_or(Timestamp::from_millis(0)),
        })
    }

    /// When the first of them came to be.
    pub(crate) fn since(&self) -> Option<Timestamp> {
        self.files.iter().map(|file| file.created_at).min()
    }
}

/// A virtual file as listings show it.
pub(crate) fn file_entry(path: &WsPath, file: &VirtualFile) -> Entry {
    Entry {
        path: path.clone(),
        kind: Some(FileKind::File),
        file_type: FileType::Chat,
        id: Some(file.id),
        synced: true,
        is_virtual: true,
        size: Some(file.size),
        updated_at: file.updated_at,
    }
}

/// Whether a pattern for paths from the root names the folder of virtual files, and not only matches it.
pub(crate) fn names_their_folder(pattern: &str) -> bool {
    let pattern = pattern.trim().trim_start_matches("./").trim_start_matches('/');
    let first = pattern.split_once('/').map(|(first, _)| first);
    first.is_some_and(|first| first.as_bytes().eq_ignore_ascii_case(FOLDER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w18_a_pattern_names_their_folder_by_its_first_part() {
        for (pattern, expected) in [
            ("/chats/*.chat", true),
            ("chats/**", true),
            ("./chats/a.chat", true),
            (" /chats/%", true),
            ("*.chat", false),
            ("**/*.chat", false),
            ("/%/a.chat", false),
            ("chats", false),
            ("src/chats/*", false),
            ("chat*/x", false),
        ] {
            assert_eq!(names_their_folder(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn w18_only_chats_in_their_folder_are_reserved() {
        for (path, expected) in [
            ("/chats/a.chat", true),
            ("/chats/.chat", true),
            ("/chats/a.chat/b", true),
            ("/chats", false),
            ("/chats/a.txt", false),
            ("/chats/a.CHAT", false),
            ("/chats/sub/a.chat", false),
            ("/chatsx/a.chat", false),
            ("/a.chat", false),
            ("/", false),
        ] {
            assert_eq!(is_reserved(&WsPath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
