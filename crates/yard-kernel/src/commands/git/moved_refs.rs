//! Refs that a command moved. A ref counts as rewound, which a person has to approve, unless its old commit is an ancestor
//! of its new one. Git checks that in a box on the same layer before the layer lands, and the result is stored with the
//! run.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::OsStringExt as _;

use yard_core::git::{self, GitFileKind};
use yard_core::{Call, EffectKind, FileKind, Result, WsPath};
use yard_disk::{Disk, EntryKind, OverlayLayer, RunFolder};

use crate::workspace::Workspace;

/// The file of a run with the refs that its command rewound.
const REWOUND: &str = "rewound";
/// Most refs of one command that are checked.
const MAX_REFS: usize = 64;
/// The longest ref: a hash in hexadecimal, and a line break.
const MAX_REF_BYTES: u64 = 65;
/// How much of `packed-refs` is read.
const MAX_PACKED_BYTES: u64 = 64 << 20;

/// Variables that keep git from reading configuration, grafts or objects from outside of the repository.
pub(crate) const GIT_VARIABLES: [(&str, &str); 5] = [
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// A ref with another commit in the layer than in the workspace, or a log of a ref that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MovedRef {
    pub(crate) path: WsPath,
    old: String,
    /// `None` if the ref names no commit itself any more, and for a log.
    new: Option<String>,
}

impl MovedRef {
    /// The command line of git that exits with 0 if no commit is left behind. Features of the repository that could make
    /// git see another history are switched off.
    pub(crate) fn ancestor_check(&self) -> Option<Vec<OsString>> {
        let (repository, new) = (git::repository(&self.path)?, self.new.as_ref()?);
        let folder = OsString::from_vec(repository.relative().to_vec());
        let options = ["git", "--no-replace-objects", "-c", "core.commitGraph=false", "--git-dir"];
        let mut argv: Vec<_> = options.map(Into::into).to_vec();
        argv.push(folder);
        argv.extend(["merge-base", "--is-ancestor", &self.old, new].map(Into::into));
        Some(argv)
    }
}

/// The refs that a layer moves, and the logs of refs that it cuts: only such logs name commits that were stashed or left
/// behind before. Refs that were symbolic, and refs that are new or removed, are not among them.
fn moved_refs(workspace: &Workspace, layer: &OverlayLayer, call: &Call) -> Result<Vec<MovedRef>> {
    let (mut moved, mut packed) = (Vec::new(), HashMap::new());
    let mut ahead = vec![WsPath::root()];
    while let Some(folder) = ahead.pop() {
        call.check()?;
        for entry in layer.disk.list(&folder)? {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            let part = git::part(&path);
            if part.is_none() && entry.kind == Some(EntryKind::Known(FileKind::File)) {
                continue;
            }
            let Some(stat) = layer.disk.stat(&path)? else { continue };
            if stat.is(FileKind::Folder) && part != Some(GitFileKind::Object) {
                layer.open_up(&path, &stat)?;
                ahead.push(path);
            } else if stat.is(FileKind::File) && part == Some(GitFileKind::Ref) {
                layer.open_up(&path, &stat)?;
                let old = commit_in(&workspace.disk, &path).or_else(|| {
                    let (repository, name) = repository_and_ref(&path)?;
                    let read = |repository: &WsPath| packed_refs(workspace, repository);
                    packed.entry(repository).or_insert_with_key(read).get(&name).cloned()
                });
                let new = commit_in(&layer.disk, &path);
                match old {
                    Some(old) if new.as_ref() != Some(&old) => {
                        moved.push(MovedRef { path, old, new });
                    }
                    _ => {}
                }
            } else if stat.is(FileKind::File) && is_log(&path) {
                layer.open_up(&path, &stat)?;
                if !grew(workspace, layer, &path) {
                    moved.push(MovedRef { path, old: String::new(), new: None });
                }
            }
        }
    }
    Ok(moved)
}

/// Whether a path is the log of a ref.
fn is_log(path: &WsPath) -> bool {
    let Some(repository) = git::repository(path) else { return false };
    let inside = path.relative().strip_prefix(repository.relative());
    inside.is_some_and(|inside| inside.starts_with(b"/logs/"))
}

/// Whether a file has its old content, and possibly more at its end.
fn grew(workspace: &Workspace, layer: &OverlayLayer, path: &WsPath) -> bool {
    let Ok((old, _)) = workspace.disk.open_file(path) else { return true };
    let Ok((new, _)) = layer.disk.open_file(path) else { return false };
    let (mut old, mut new) = (BufReader::new(old), BufReader::new(new));
    loop {
        let Ok(before) = old.fill_buf() else { return false };
        if before.is_empty() {
            return true;
        }
        let Ok(after) = new.fill_buf() else { return false };
        let length = before.len().min(after.len());
        if length == 0 || before[..length] != after[..length] {
            return false;
        }
        old.consume(length);
        new.consume(length);
    }
}

/// The commit in the file of a ref.
fn commit_in(disk: &Disk, path: &WsPath) -> Option<String> {
    let (file, _) = disk.open_file(path).ok()?;
    let mut text = String::new();
    file.take(MAX_REF_BYTES + 1).read_to_string(&mut text).ok()?;
    let hash = text.trim_end();
    is_hash(hash).then(|| hash.to_owned())
}

/// The repository of a ref, and the name of the ref in it.
fn repository_and_ref(path: &WsPath) -> Option<(WsPath, Vec<u8>)> {
    let repository = git::repository(path)?;
    let name = path.relative().strip_prefix(repository.relative())?.strip_prefix(b"/")?.to_vec();
    Some((repository, name))
}

/// The refs in the `packed-refs` of a repository, each with its commit; none if that cannot be read.
fn packed_refs(workspace: &Workspace, repository: &WsPath) -> HashMap<Vec<u8>, String> {
    let read = || {
        let path = repository.join_bytes(b"packed-refs").ok()?;
        let (file, _) = workspace.disk.open_file(&path).ok()?;
        let mut text = Vec::new();
        file.take(MAX_PACKED_BYTES).read_to_end(&mut text).ok()?;
        Some(text)
    };
    let packed_ref = |line: &[u8]| {
        let space = line.iter().position(|byte| *byte == b' ')?;
        let hash = std::str::from_utf8(&line[..space]).ok().filter(|hash| is_hash(hash))?;
        Some((line[space + 1..].to_vec(), hash.to_owned()))
    };
    let text = read().unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(packed_ref).collect()
}

fn is_hash(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a change of a file of git by a tool, which git did not check, could lose commits: it changes a ref or overwrites a
/// log.
pub(crate) fn may_lose(workspace: &Workspace, path: &WsPath, kind: EffectKind) -> bool {
    let is_ref = matches!(git::part(path), Some(GitFileKind::Ref | GitFileKind::PackedRefs));
    match kind {
        EffectKind::Create | EffectKind::MoveTo => {
            is_ref
                && repository_and_ref(path).is_some_and(|(repository, name)| {
                    packed_refs(workspace, &repository).contains_key(&name)
                })
        }
        EffectKind::Modify | EffectKind::Remove | EffectKind::MoveFrom => is_ref || is_log(path),
        _ => false,
    }
}

/// Stores which of the refs that a command moved left commits behind. `is_fast_forward` checks a ref with git.
pub(crate) fn record_rewound_refs(
    workspace: &Workspace,
    folder: &RunFolder,
    call: &Call,
    mut is_fast_forward: impl FnMut(&MovedRef) -> bool,
) -> Result<()> {
    let before = moved_refs(workspace, &folder.layer()?, call)?;
    if before.is_empty() {
        return Ok(());
    }
    let forward: Vec<bool> = before.iter().take(MAX_REFS).map(&mut is_fast_forward).collect();
    // The command may have prepared the repository so that git itself moved refs during the check.
    let after = moved_refs(workspace, &folder.layer()?, call)?;
    let is_forward = |moved: &&MovedRef| {
        before
            .iter()
            .position(|other| other == *moved)
            .is_some_and(|at| forward.get(at) == Some(&true))
    };
    let mut text = Vec::new();
    for moved in after.iter().chain(&before).filter(|moved| !is_forward(moved)) {
        text.extend(moved.path.relative());
        text.push(0);
    }
    folder.write_file(REWOUND, &text)
}

/// The refs that a command moved so that commits were left behind.
pub(crate) fn rewound_refs(folder: &RunFolder) -> Result<HashSet<WsPath>> {
    let text = folder.read_file(REWOUND)?.unwrap_or_default();
    let paths = text.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.filter_map(|path| WsPath::from_bytes(path).ok()).collect())
}
