//! Walking a tree in the order of its path bytes: always the first ones first, so that a search which
//! has enough can stop (R8). Links are never followed, `.git` is never entered, and what ignore files
//! inside the root exclude is left out and counted.
//!
//! Names come from folder handles that were opened beneath the root; nothing here builds a host path.

use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use yard_core::{Call, FaultCode, FileKind, Result, WsPath};
use yard_disk::{Disk, EntryKind, RawEntry, read_all};

/// Ignore files by rank: a verdict of an earlier one, from however far up, beats one of a later.
pub const IGNORE_FILES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];
/// An ignore file above this size is not read.
const LARGEST_IGNORE_FILE: u64 = 1 << 20;

/// What a walk leaves out, and how deep it goes.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether it goes into folders below the first.
    pub recursive: bool,
    /// Whether it visits what ignore files exclude.
    pub include_ignored: bool,
}

/// One entry on the way.
pub struct Visit {
    /// Where it is.
    pub path: WsPath,
    /// What it is.
    pub kind: EntryKind,
}

/// What a folder shows: its own entries if it can be listed, or others in their place.
pub type Listing<'a> = dyn Fn(&WsPath, Option<Vec<RawEntry>>) -> Option<Vec<RawEntry>> + Sync + 'a;

/// A walk below one folder.
pub struct Walk<'a> {
    disk: &'a Disk,
    call: &'a Call,
    rules: Rules,
    listing: Option<&'a Listing<'a>>,
    ignored: u64,
    /// Where the path that is matched is written: one piece of memory for all of them.
    asked: Vec<u8>,
}

/// What the visitor wants next.
pub type Flow = ControlFlow<()>;

impl<'a> Walk<'a> {
    /// A walk over a disk, which ends with the call.
    pub fn new(disk: &'a Disk, call: &'a Call, rules: Rules) -> Self {
        Self { disk, call, rules, listing: None, ignored: 0, asked: Vec::new() }
    }

    /// The same walk, where `listing` says what each folder shows: for files that are not on disk.
    pub fn showing(mut self, listing: &'a Listing<'a>) -> Self {
        self.listing = Some(listing);
        self
    }

    /// How many entries ignore files excluded so far.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Visits everything below `folder` (links resolved already) until the visitor has enough.
    pub fn run(
        &mut self,
        folder: &WsPath,
        visit: &mut dyn FnMut(Visit) -> Result<Flow>,
    ) -> Result<()> {
        let above = self.ignores_above(folder)?;
        self.folder(folder, &above, visit).map(|_| ())
    }

    /// The ignore files of the folders above `folder`, up to the root and not further.
    fn ignores_above(&self, folder: &WsPath) -> Result<Ignores> {
        let mut ignores = Ignores::default();
        if self.rules.include_ignored || folder.is_root() {
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

    /// The ignore files that count for what is in `folder`.
    pub fn ignores_in(&self, folder: &WsPath) -> Result<Ignores> {
        let ignores = self.ignores_above(folder)?;
        let named = IGNORE_FILES.into_iter();
        Ok(named.fold(ignores, |ignores, name| self.with_file(ignores, folder, name)))
    }

    fn folder(
        &mut self,
        folder: &WsPath,
        above: &Ignores,
        visit: &mut dyn FnMut(Visit) -> Result<Flow>,
    ) -> Result<Flow> {
        self.call.check()?;
        let Some(listed) = self.list(folder)? else { return Ok(Flow::Continue(())) };
        let ignores = self.ignores_here(folder, above, &listed);
        for entry in in_path_order(listed, self.rules.recursive) {
            // Names that no path can hold cannot be asked for either.
            let Ok(path) = folder.join_bytes(entry.name()) else { continue };
            let Some(kind) = self.kind(&path, entry.kind)? else { continue };
            let is_folder = kind == EntryKind::Known(FileKind::Folder);
            if !self.rules.include_ignored && ignores.exclude(&path, is_folder, &mut self.asked) {
                self.ignored += u64::from(!entry.descend);
                continue;
            }
            let flow = match entry.descend {
                true => self.folder(&path, &ignores, visit)?,
                false => visit(Visit { path, kind })?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(Flow::Continue(()))
    }

    fn list(&self, folder: &WsPath) -> Result<Option<Vec<RawEntry>>> {
        let listed = match self.disk.list(folder) {
            Ok(mut entries) => {
                entries.retain(|entry| entry.name != b".git");
                Some(entries)
            }
            // What vanished, was swapped or may not be read during a walk is not in its answer.
            Err(fault) if is_tolerable(fault.code()) => None,
            Err(fault) => return Err(fault),
        };
        Ok(match self.listing {
            Some(listing) => listing(folder, listed),
            None => listed,
        })
    }

    fn kind(&self, path: &WsPath, told: Option<EntryKind>) -> Result<Option<EntryKind>> {
        match told {
            Some(kind) => Ok(Some(kind)),
            None => Ok(self.disk.stat(path)?.map(|stat| stat.kind)),
        }
    }

    fn ignores_here(&self, folder: &WsPath, above: &Ignores, listed: &[RawEntry]) -> Ignores {
        let mut ignores = above.clone();
        if self.rules.include_ignored {
            return ignores;
        }
        for name in IGNORE_FILES {
            if listed.iter().any(|entry| entry.name == name.as_bytes()) {
                ignores = self.with_file(ignores, folder, name);
            }
        }
        ignores
    }

    /// An ignore file that is missing, unreadable or not UTF-8 excludes nothing, as ripgrep has it.
    fn with_file(&self, mut ignores: Ignores, folder: &WsPath, name: &str) -> Ignores {
        let rank = IGNORE_FILES.iter().position(|known| *known == name).unwrap_or(0);
        if let Some(matcher) = self.read_ignore_file(folder, name) {
            let above = ignores.by_rank[rank].take();
            ignores.by_rank[rank] = Some(Arc::new(Layer { matcher, above }));
        }
        ignores
    }

    fn read_ignore_file(&self, folder: &WsPath, name: &str) -> Option<Gitignore> {
        let path = folder.join_bytes(name.as_bytes()).ok()?;
        let (mut file, stat) = self.disk.open_file(&path).ok()?;
        if stat.size() > LARGEST_IGNORE_FILE {
            return None;
        }
        let bytes = read_all(&mut file, stat.size(), &path).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut root = Vec::new();
        absolute(folder, &mut root);
        let mut builder = GitignoreBuilder::new(as_path(&root));
        for line in text.trim_start_matches('\u{feff}').lines() {
            // One bad line does not spoil the others.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok().filter(|matcher| !matcher.is_empty())
    }
}

/// An entry where it stands among the path bytes of its folder's tree.
struct Listed {
    /// Its name; with a slash behind it, where it is there to go into.
    bytes: Vec<u8>,
    kind: Option<EntryKind>,
    descend: bool,
}

impl Listed {
    fn name(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - usize::from(self.descend)]
    }
}

/// `a`, then `a.txt`, then what is in `a/`: the order of whole paths, not of names. Each folder is there
/// twice, once as itself and once to go into.
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

/// Whether an entry with such a fault is just not in the answer of a walk: it vanished, was swapped or may not
/// be read.
pub fn is_tolerable(code: FaultCode) -> bool {
    matches!(
        code,
        FaultCode::NotFound
            | FaultCode::NotFolder
            | FaultCode::ReadRefused
            | FaultCode::PathOutside
    )
}

/// Whether a file with such a fault is just not in the answer of a search: it vanished, may not be read or is no
/// text.
pub fn is_passing(code: FaultCode) -> bool {
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

/// The ignore files that count for a folder: a chain for each rank, the nearest first.
#[derive(Clone, Default)]
pub struct Ignores {
    by_rank: [Option<Arc<Layer>>; IGNORE_FILES.len()],
}

struct Layer {
    matcher: Gitignore,
    above: Option<Arc<Layer>>,
}

impl Ignores {
    /// Whether they exclude a path. `asked` is scratch memory.
    pub fn exclude(&self, path: &WsPath, is_folder: bool, asked: &mut Vec<u8>) -> bool {
        if self.by_rank.iter().all(Option::is_none) {
            return false;
        }
        absolute(path, asked);
        for chain in &self.by_rank {
            let mut layer = chain.as_ref();
            while let Some(current) = layer {
                match current.matcher.matched(as_path(asked), is_folder) {
                    ignore::Match::None => layer = current.above.as_ref(),
                    ignore::Match::Ignore(_) => return true,
                    ignore::Match::Whitelist(_) => return false,
                }
            }
        }
        false
    }
}

/// A workspace path as the matcher's idea of an absolute one; nothing is opened by it.
fn absolute(path: &WsPath, into: &mut Vec<u8>) {
    into.clear();
    into.push(b'/');
    into.extend_from_slice(path.relative());
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
