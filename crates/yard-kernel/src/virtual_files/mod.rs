//! Virtual files: texts that a layer above the kernel shows as files below `/chats/` (W18). Tools list, read and search
//! them where `/chats` or a path below it is named. A search or listing that starts above never enters the folder, so that
//! transcripts are not found instead of files. A listing of the root's own entries names the folder. No operation changes
//! virtual files, and the kernel does not know how their texts are made.
//!
//! `/chats/*.chat` is reserved for them, whether a file of that name exists or not. A virtual file shadows a real file at
//! its path, and while there is any, an entry at `/chats` that is no folder is shadowed too.
//!
//! `command_output.rs` has the other paths of this kind: those of the complete output of commands. Nothing here opens or
//! changes a file; `lookup/virtual_paths.rs` resolves the paths.

pub(crate) mod command_output;

use yard_core::op::Entry;
use yard_core::{
    Call, Fault, FaultCode, FileId, FileKind, FileType, Name, Remedy, Result, Subject, Timestamp,
    WsPath,
};
use yard_disk::{EntryKind, EntryStat, RawEntry};

/// The folder of virtual files, relative to the root.
pub(crate) const FOLDER: &[u8] = b"chats";
/// The end of their names.
pub(crate) const SUFFIX: &[u8] = b".chat";

/// A file that is not on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualFile {
    /// Its id.
    pub id: FileId,
    /// Its name in `/chats`, which ends in `.chat`.
    pub name: Name,
    /// Bytes of its text.
    pub size: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its text last grew.
    pub updated_at: Timestamp,
}

/// A source of virtual files.
pub trait VirtualFiles: Send + Sync {
    /// All of them, in no order.
    fn list(&self) -> Result<Vec<VirtualFile>>;

    /// The newest of them, in constant time.
    fn newest(&self) -> Result<Option<VirtualFile>>;

    /// The file of that name.
    fn find(&self, name: &Name) -> Result<Option<VirtualFile>>;

    /// Its text, in UTF-8, without the parts that the caller may not read.
    fn text(&self, name: &Name, call: &Call) -> Result<Option<Vec<u8>>>;
}

/// Whether a path is the folder of virtual files.
pub(crate) fn is_virtual_folder(path: &WsPath) -> bool {
    path.relative() == FOLDER
}

/// Whether a path is reserved for a virtual file, or is below such a path.
pub(crate) fn is_reserved(path: &WsPath) -> bool {
    let below = path.relative().strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix(b"/"));
    let name = below.and_then(|below| below.split(|byte| *byte == b'/').next());
    name.is_some_and(|name| name.ends_with(SUFFIX))
}

/// A fault if a path is reserved, for virtual files or for command output, so that nothing may change there.
pub(crate) fn check_not_reserved(path: &WsPath) -> Result<()> {
    if is_reserved(path) { Err(reserved(path)) } else { command_output::check_not_reserved(path) }
}

fn reserved(path: &WsPath) -> Fault {
    let message = format!(
        "{path} is reserved for the transcript of a chat, which the system manages and no tool changes. \
         Keep a file of your own in another folder"
    );
    Fault::new(FaultCode::BadPath, message).about(Subject::Path).with_remedy(Remedy::ManageChats)
}

/// The name of the virtual file for which a path is reserved.
pub(crate) fn virtual_file_name(path: &WsPath) -> Option<Name> {
    let name = path.name().filter(|name| name.as_bytes().ends_with(SUFFIX))?;
    path.parent().is_some_and(|folder| is_virtual_folder(&folder)).then_some(name)
}

/// The virtual files that one operation shows. They are read once, so that its answer is consistent.
#[derive(Default)]
pub(crate) struct VirtualEntries {
    /// Ordered by name.
    files: Vec<VirtualFile>,
    /// Entries on disk that are not shown, because a virtual file that is not shown here, or the folder, has their path.
    shadowed: Vec<WsPath>,
}

impl VirtualEntries {
    /// No virtual files, where these paths on disk are not shown.
    pub(crate) fn shadowing(shadowed: Vec<WsPath>) -> Self {
        Self { shadowed, ..Self::default() }
    }

    /// A single file.
    pub(crate) fn single(file: VirtualFile) -> Self {
        Self { files: vec![file], ..Self::default() }
    }

    /// The same without the files; entries that they shadow are still not shown.
    pub(crate) fn without_files(self, folder: &WsPath) -> Self {
        let Self { files, mut shadowed } = self;
        shadowed.extend(files.iter().filter_map(|file| folder.join(&file.name).ok()));
        Self { files: Vec::new(), shadowed }
    }

    pub(crate) fn new(mut files: Vec<VirtualFile>) -> Self {
        files.retain(|file| file.name.as_bytes().ends_with(SUFFIX));
        files.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Self { files, ..Self::default() }
    }

    fn is_shadowed(&self, folder: &WsPath, name: &[u8]) -> bool {
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
        virtual_file_name(path).and_then(|name| self.find(name.as_bytes()))
    }

    /// Whether the file at a path is one of them.
    pub(crate) fn contain(&self, path: &WsPath) -> bool {
        self.file(path).is_some()
    }

    /// Whether a path is the folder of virtual files, and there are any.
    pub(crate) fn are_in(&self, folder: &WsPath) -> bool {
        !self.files.is_empty() && is_virtual_folder(folder)
    }

    /// The entries of a folder: those on disk (`None` if it cannot be listed), with the virtual files in the place of the
    /// entries that they shadow.
    pub(crate) fn merged_with(
        &self,
        folder: &WsPath,
        on_disk: Option<Vec<RawEntry>>,
    ) -> Option<Vec<RawEntry>> {
        let entry = |name: &[u8], kind| RawEntry {
            name: name.to_vec(),
            kind: Some(EntryKind::Known(kind)),
        };
        let on_disk = on_disk.map(|mut entries| {
            entries.retain(|entry| !self.is_shadowed(folder, &entry.name));
            entries
        });
        if folder.is_root() {
            let mut entries = on_disk?;
            // Command output is only found by callers that know its path.
            entries.retain(|entry| entry.name != command_output::FOLDER.as_bytes());
            if self.files.is_empty() {
                return Some(entries);
            }
            entries.retain(|entry| entry.name != FOLDER);
            entries.push(entry(FOLDER, FileKind::Folder));
            return Some(entries);
        }
        if self.files.is_empty() || !is_virtual_folder(folder) {
            return on_disk;
        }
        let mut entries = on_disk.unwrap_or_default();
        entries.retain(|entry| self.find(&entry.name).is_none());
        let files = self.files.iter().map(|file| entry(file.name.as_bytes(), FileKind::File));
        entries.extend(files);
        Some(entries)
    }

    /// The view of folders for a walk.
    pub(crate) fn view(&self) -> impl Fn(&WsPath, Option<Vec<RawEntry>>) -> Option<Vec<RawEntry>> {
        |folder, on_disk| self.merged_with(folder, on_disk)
    }

    /// The view of folders for a walk that visits neither the virtual files nor the entries that they shadow.
    pub(crate) fn view_without_files(
        &self,
    ) -> impl Fn(&WsPath, Option<Vec<RawEntry>>) -> Option<Vec<RawEntry>> {
        |folder, on_disk| {
            let mut entries = self.merged_with(folder, on_disk)?;
            if self.are_in(folder) {
                entries.retain(|entry| self.find(&entry.name).is_none());
            }
            Some(entries)
        }
    }

    /// The entry for a path that is one of them, or their folder where that is not on disk. `stat` is the entry on
    /// disk.
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

    /// When the oldest of them was created.
    pub(crate) fn oldest(&self) -> Option<Timestamp> {
        self.files.iter().map(|file| file.created_at).min()
    }
}

/// A listing's entry for a virtual file.
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

/// Whether a pattern for paths from the root begins with the name of the folder of virtual files, rather than with a
/// wildcard that matches it.
pub(crate) fn names_virtual_folder(pattern: &str) -> bool {
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
            assert_eq!(names_virtual_folder(pattern), expected, "{pattern}");
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
