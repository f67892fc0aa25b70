//! Walks through a tree in the order of its path bytes, so that a search with enough results can stop (R8). Links are never
//! followed, `.git` is never entered, and entries that ignore files inside the root exclude are skipped and counted.
//!
//! Names come from folder handles that were opened beneath the root; nothing here builds a host path.

use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use yard_core::{Call, FaultCode, FileKind, Result, WsPath};
use yard_disk::{Disk, EntryKind, RawEntry, read_all};

/// Ignore files by rank: a rule of an earlier one, from whatever folder above, overrides rules of a later one.
pub const IGNORE_FILES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];
/// An ignore file above this size is not read.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// How deep a walk goes, and what it skips.
#[derive(Clone, Copy, Debug)]
pub struct WalkOptions {
    /// Whether it enters folders below the first.
    pub recursive: bool,
    /// Whether it visits entries that ignore files exclude.
    pub include_ignored: bool,
}

/// An entry that a walk visits.
pub struct Visit {
    /// Its path.
    pub path: WsPath,
    /// Its kind.
    pub kind: EntryKind,
    /// How many entries ignore files excluded before this one.
    pub ignored: u64,
}

/// Changes what a walk sees in a folder. It gets the folder's own entries, or `None` if those cannot be listed, and returns
/// the entries to visit.
pub type FolderView<'a> =
    dyn Fn(&WsPath, Option<Vec<RawEntry>>) -> Option<Vec<RawEntry>> + Sync + 'a;

/// A walk below one folder.
pub struct Walk<'a> {
    disk: &'a Disk,
    call: &'a Call,
    options: WalkOptions,
    view: Option<&'a FolderView<'a>>,
    ignored: u64,
    /// Buffer for the path that is matched with ignore files.
    path_buffer: Vec<u8>,
}

/// Whether the walk goes on after a visit.
pub type Flow = ControlFlow<()>;

impl<'a> Walk<'a> {
    /// A walk over a disk, which fails when the call ends.
    pub fn new(disk: &'a Disk, call: &'a Call, options: WalkOptions) -> Self {
        Self { disk, call, options, view: None, ignored: 0, path_buffer: Vec::new() }
    }

    /// The same walk, with folders as `view` shows them: for files that are not on disk.
    pub fn viewing(mut self, view: &'a FolderView<'a>) -> Self {
        self.view = Some(view);
        self
    }

    /// How many entries ignore files excluded so far.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Visits everything below `folder`, whose links must be resolved, until `visit` breaks.
    pub fn run(
        &mut self,
        folder: &WsPath,
        visit: &mut dyn FnMut(Visit) -> Result<Flow>,
    ) -> Result<()> {
        let above = self.ignores_above(folder)?;
        // A stack on the heap and no recursion: a tree may be deeper than the stack of a thread.
        let mut open = Vec::new();
        open.extend(self.open(folder.clone(), &above)?);
        while let Some(OpenFolder { path: folder, entries, ignores }) = open.last_mut() {
            let Some(entry) = entries.next() else {
                open.pop();
                continue;
            };
            // Entries with names that no path can have cannot be named by callers either.
            let Ok(path) = folder.join_bytes(entry.name()) else { continue };
            let Some(kind) = self.kind(&path, entry.kind)? else { continue };
            let is_folder = kind == EntryKind::Known(FileKind::Folder);
            if !self.options.include_ignored
                && ignores.exclude(&path, is_folder, &mut self.path_buffer)
            {
                self.ignored += u64::from(!entry.descend);
            } else if entry.descend {
                let below = self.open(path, ignores)?;
                open.extend(below);
            } else if visit(Visit { path, kind, ignored: self.ignored })?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The ignore files of the folders above `folder`, up to the root and not further.
    fn ignores_above(&self, folder: &WsPath) -> Result<Ignores> {
        let mut ignores = Ignores::default();
        if self.options.include_ignored || folder.is_root() {
            return Ok(ignores);
        }
        let mut above = vec![WsPath::root()];
        above.extend(folder.ancestors());
        for path in above {
            for name in IGNORE_FILES {
                ignores = self.with_file(ignores, &path, name);
            }
        }
        Ok(ignores)
    }

    /// The ignore files that apply to the entries of `folder`.
    pub fn ignores_in(&self, folder: &WsPath) -> Result<Ignores> {
        let ignores = self.ignores_above(folder)?;
        let named = IGNORE_FILES.into_iter();
        Ok(named.fold(ignores, |ignores, name| self.with_file(ignores, folder, name)))
    }

    /// Lists a folder that is walked; `None` if it is skipped.
    fn open(&self, path: WsPath, above: &Ignores) -> Result<Option<OpenFolder>> {
        self.call.check()?;
        let Some(listed) = self.list(&path)? else { return Ok(None) };
        let ignores = self.ignores_here(&path, above, &listed);
        let entries = in_path_order(listed, self.options.recursive).into_iter();
        Ok(Some(OpenFolder { path, entries, ignores }))
    }

    fn list(&self, folder: &WsPath) -> Result<Option<Vec<RawEntry>>> {
        let listed = match self.disk.list(folder) {
            Ok(mut entries) => {
                entries.retain(|entry| entry.name != b".git");
                Some(entries)
            }
            // A folder that vanished, was swapped or may not be read is skipped.
            Err(fault) if is_unreadable(fault.code()) => None,
            Err(fault) => return Err(fault),
        };
        Ok(match self.view {
            Some(view) => view(folder, listed),
            None => listed,
        })
    }

    fn kind(&self, path: &WsPath, listed: Option<EntryKind>) -> Result<Option<EntryKind>> {
        match listed {
            Some(kind) => Ok(Some(kind)),
            None => Ok(self.disk.stat(path)?.map(|stat| stat.kind)),
        }
    }

    fn ignores_here(&self, folder: &WsPath, above: &Ignores, listed: &[RawEntry]) -> Ignores {
        let mut ignores = above.clone();
        if self.options.include_ignored {
            return ignores;
        }
        for name in IGNORE_FILES {
            if listed.iter().any(|entry| entry.name == name.as_bytes()) {
                ignores = self.with_file(ignores, folder, name);
            }
        }
        ignores
    }

    /// Adds an ignore file. One that is missing or cannot be read excludes nothing, as in ripgrep.
    fn with_file(&self, mut ignores: Ignores, folder: &WsPath, name: &str) -> Ignores {
        let rank = IGNORE_FILES.iter().position(|known| *known == name).unwrap_or(0);
        if let Some(matcher) = self.read_ignore_file(folder, name) {
            let above = ignores.by_rank[rank].take();
            ignores.by_rank[rank] = Some(Arc::new(IgnoreFile { matcher, above }));
        }
        ignores
    }

    fn read_ignore_file(&self, folder: &WsPath, name: &str) -> Option<Gitignore> {
        let path = folder.join_bytes(name.as_bytes()).ok()?;
        let (mut file, stat) = self.disk.open_file(&path).ok()?;
        if stat.size() > MAX_IGNORE_FILE_BYTES {
            return None;
        }
        let bytes = read_all(&mut file, stat.size(), &path).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut root = Vec::new();
        absolute(folder, &mut root);
        let mut builder = GitignoreBuilder::new(as_path(&root));
        for line in text.trim_start_matches('\u{feff}').lines() {
            // An invalid line is skipped.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok().filter(|matcher| !matcher.is_empty())
    }
}

/// A folder on the way, with the entries that are still to be visited.
struct OpenFolder {
    path: WsPath,
    entries: std::vec::IntoIter<Listed>,
    ignores: Ignores,
}

/// An entry with its sort key in the order of path bytes.
struct Listed {
    /// Its name, followed by a slash if the walk enters it here.
    bytes: Vec<u8>,
    kind: Option<EntryKind>,
    descend: bool,
}

impl Listed {
    fn name(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - usize::from(self.descend)]
    }
}

/// Sorts entries by their whole paths instead of their names: `a`, then `a.txt`, then the entries of `a/`. Each folder
/// occurs twice, once to be visited and once to be entered.
fn in_path_order(entries: Vec<RawEntry>, recursive: bool) -> Vec<Listed> {
    let mut listed = Vec::with_capacity(entries.len());
    for RawEntry { name, kind } in entries {
        let folder = matches!(kind, Some(EntryKind::Known(FileKind::Folder)) | None);
        if folder && recursive {
            let bytes = [&name[..], b"/"].concat();
            listed.push(Listed { bytes, kind, descend: true });
        }
        listed.push(Listed { bytes: name, kind, descend: false });
    }
    listed.sort_unstable_by(|a, b| a.bytes.cmp(&b.bytes));
    listed
}

/// Whether a walk skips an entry with such a fault: it vanished, was swapped or may not be read.
pub fn is_unreadable(code: FaultCode) -> bool {
    matches!(
        code,
        FaultCode::NotFound
            | FaultCode::NotFolder
            | FaultCode::ReadRefused
            | FaultCode::PathOutside
    )
}

/// Whether a search skips a file with such a fault: it vanished, may not be read or is no text.
pub fn is_unsearchable(code: FaultCode) -> bool {
    matches!(
        code,
        FaultCode::NotFound
            | FaultCode::ReadRefused
            | FaultCode::PathOutside
            | FaultCode::IsFolder
            | FaultCode::NotFolder
            | FaultCode::Binary
    )
}

/// The ignore files that apply to a folder: a chain for each rank, the nearest first.
#[derive(Clone, Default)]
pub struct Ignores {
    by_rank: [Option<Arc<IgnoreFile>>; IGNORE_FILES.len()],
}

struct IgnoreFile {
    matcher: Gitignore,
    above: Option<Arc<IgnoreFile>>,
}

impl Ignores {
    /// Whether they exclude a path. `buffer` is scratch memory.
    pub fn exclude(&self, path: &WsPath, is_folder: bool, buffer: &mut Vec<u8>) -> bool {
        if self.by_rank.iter().all(Option::is_none) {
            return false;
        }
        absolute(path, buffer);
        for chain in &self.by_rank {
            let mut next = chain.as_ref();
            while let Some(current) = next {
                match current.matcher.matched(as_path(buffer), is_folder) {
                    ignore::Match::None => next = current.above.as_ref(),
                    ignore::Match::Ignore(_) => return true,
                    ignore::Match::Whitelist(_) => return false,
                }
            }
        }
        false
    }
}

/// Writes a workspace path as an absolute path for the matcher; nothing is opened by it.
fn absolute(path: &WsPath, into: &mut Vec<u8>) {
    into.clear();
    into.push(b'/');
    into.extend_from_slice(path.relative());
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
