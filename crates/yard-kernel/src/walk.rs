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
use yard_core::{Call, FaultCode, FileKind, Name, Result, WsPath};

use crate::content::read_all;
use crate::disk::{Disk, EntryKind};

/// Ignore files by rank: a verdict of an earlier one, from however far up, beats one of a later.
const IGNORE_FILES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];
/// An ignore file above this size is not read.
const LARGEST_IGNORE_FILE: u64 = 1 << 20;

/// What a walk leaves out, and how deep it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) recursive: bool,
    pub(crate) include_ignored: bool,
}

/// One entry on the way.
pub(crate) struct Visit {
    pub(crate) path: WsPath,
    pub(crate) kind: EntryKind,
}

/// A walk below one folder.
pub(crate) struct Walk<'a> {
    disk: &'a Disk,
    call: &'a Call,
    rules: Rules,
    ignored: u64,
}

/// What the visitor wants next.
pub(crate) type Flow = ControlFlow<()>;

impl<'a> Walk<'a> {
    pub(crate) fn new(disk: &'a Disk, call: &'a Call, rules: Rules) -> Self {
        Self { disk, call, rules, ignored: 0 }
    }

    /// How many entries ignore files excluded so far.
    pub(crate) fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Visits everything below `folder` (links resolved already) until the visitor has enough.
    pub(crate) fn run(
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

    fn folder(
        &mut self,
        folder: &WsPath,
        above: &Ignores,
        visit: &mut dyn FnMut(Visit) -> Result<Flow>,
    ) -> Result<Flow> {
        self.call.check()?;
        let Some(listed) = self.list(folder)? else { return Ok(Flow::Continue(())) };
        let ignores = self.ignores_here(folder, above, &listed);
        for (key, entry) in in_path_order(listed) {
            // Names that no path can hold cannot be asked for either.
            let Ok(name) = Name::new(&entry.name) else { continue };
            let Ok(path) = folder.join(&name) else { continue };
            let Some(kind) = self.kind(&path, entry.kind)? else { continue };
            let is_folder = kind == EntryKind::Known(FileKind::Folder);
            if !self.rules.include_ignored && ignores.exclude(&path, is_folder) {
                self.ignored += u64::from(!key.descend);
                continue;
            }
            let flow = match key.descend {
                true => self.folder(&path, &ignores, visit)?,
                false => visit(Visit { path, kind })?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(Flow::Continue(()))
    }

    /// The entries that are walked, each folder twice: once as itself, once to go into.
    fn list(&self, folder: &WsPath) -> Result<Option<Vec<Listed>>> {
        let entries = match self.disk.list(folder) {
            Ok(entries) => entries,
            // What vanished, was swapped or may not be read during a walk is not in its answer.
            Err(fault) if tolerable(fault.code()) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let walked = entries.into_iter().filter(|entry| entry.name != b".git");
        Ok(Some(
            walked
                .map(|entry| Listed {
                    name: entry.name,
                    kind: entry.kind,
                    recursive: self.rules.recursive,
                })
                .collect(),
        ))
    }

    fn kind(&self, path: &WsPath, told: Option<EntryKind>) -> Result<Option<EntryKind>> {
        match told {
            Some(kind) => Ok(Some(kind)),
            None => Ok(self.disk.stat(path)?.map(|stat| stat.kind)),
        }
    }

    fn ignores_here(&self, folder: &WsPath, above: &Ignores, listed: &[Listed]) -> Ignores {
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
        let path = folder.join(&Name::new(name.as_bytes()).ok()?).ok()?;
        let (mut file, stat) = self.disk.open_file(&path).ok()?;
        if stat.size() > LARGEST_IGNORE_FILE {
            return None;
        }
        let bytes = read_all(&mut file, stat.size(), &path).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut builder = GitignoreBuilder::new(as_path(&folder.to_host()));
        for line in text.trim_start_matches('\u{feff}').lines() {
            // One bad line does not spoil the others.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok().filter(|matcher| !matcher.is_empty())
    }
}

struct Listed {
    name: Vec<u8>,
    kind: Option<EntryKind>,
    recursive: bool,
}

/// Where an entry stands among the path bytes of its folder's tree.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    bytes: Vec<u8>,
    descend: bool,
}

/// `a`, then `a.txt`, then what is in `a/`: the order of whole paths, not of names.
fn in_path_order(listed: Vec<Listed>) -> Vec<(Key, Listed)> {
    let mut keyed = Vec::with_capacity(listed.len());
    for entry in listed {
        let folder = matches!(entry.kind, Some(EntryKind::Known(FileKind::Folder)) | None);
        if folder && entry.recursive {
            let mut bytes = entry.name.clone();
            bytes.push(b'/');
            let inside = Listed { name: entry.name.clone(), kind: entry.kind, recursive: true };
            keyed.push((Key { bytes, descend: true }, inside));
        }
        keyed.push((Key { bytes: entry.name.clone(), descend: false }, entry));
    }
    keyed.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    keyed
}

fn tolerable(code: FaultCode) -> bool {
    matches!(
        code,
        FaultCode::NotFound
            | FaultCode::NotFolder
            | FaultCode::ReadRefused
            | FaultCode::PathOutside
    )
}

/// The ignore files that count for a folder: a chain for each rank, the nearest first.
#[derive(Clone, Default)]
struct Ignores {
    by_rank: [Option<Arc<Layer>>; IGNORE_FILES.len()],
}

struct Layer {
    matcher: Gitignore,
    above: Option<Arc<Layer>>,
}

impl Ignores {
    fn exclude(&self, path: &WsPath, is_folder: bool) -> bool {
        if self.by_rank.iter().all(Option::is_none) {
            return false;
        }
        let host = path.to_host();
        for chain in &self.by_rank {
            let mut layer = chain.as_ref();
            while let Some(current) = layer {
                match current.matcher.matched(as_path(&host), is_folder) {
                    ignore::Match::None => layer = current.above.as_ref(),
                    ignore::Match::Ignore(_) => return true,
                    ignore::Match::Whitelist(_) => return false,
                }
            }
        }
        false
    }
}

/// Workspace paths as the matcher's idea of an absolute path; nothing is opened by them.
trait ToHost {
    fn to_host(&self) -> Vec<u8>;
}

impl ToHost for WsPath {
    fn to_host(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.relative().len() + 1);
        bytes.push(b'/');
        bytes.extend_from_slice(self.relative());
        bytes
    }
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
