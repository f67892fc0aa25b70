//! Refs that a command moved: whether the commits that they led to are still part of what they lead to.
//! Only git knows, so git is asked, in a box on the same layer, before that lands. What it says is kept
//! with the run; where it says nothing, the ref counts as rewound, which asks a person.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::OsStringExt as _;

use yard_core::git::{self, GitFileKind};
use yard_core::{Call, EffectKind, FileKind, Result, WsPath};
use yard_disk::{Disk, EntryKind, OverlayLayer, RunFolder};

use crate::workspace::Workspace;

/// Where a run keeps the refs that its command rewound.
const REWOUND: &str = "rewound";
/// Nobody moves more in one command and means each.
const MOST: usize = 64;
/// No ref is longer: a hash in hexadecimal, and a line break.
const LONGEST: u64 = 65;
/// Of refs in one file, that much is looked at.
const LARGEST_PACKED: u64 = 64 << 20;

/// What in the surroundings of a question could make git see another past.
pub(crate) const SURROUNDINGS: [(&str, &str); 5] = [
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// A ref that leads elsewhere in the layer than in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) path: WsPath,
    old: String,
    /// None where it leads to no commit by itself any more, and where what it led to before is cut.
    new: Option<String>,
}

impl Moved {
    /// What to ask git: it ends with 0 if nothing is left behind. Whatever in the repository could make
    /// it see another past, or reach for one elsewhere, is switched off.
    pub(crate) fn question(&self) -> Option<Vec<OsString>> {
        let (repository, new) = (git::repository(&self.path)?, self.new.as_ref()?);
        let folder = OsString::from_vec(repository.relative().to_vec());
        let words = ["git", "--no-replace-objects", "-c", "core.commitGraph=false", "--git-dir"];
        let mut argv: Vec<_> = words.map(Into::into).to_vec();
        argv.push(folder);
        argv.extend(["merge-base", "--is-ancestor", &self.old, new].map(Into::into));
        Some(argv)
    }
}

/// The refs that a layer moves, and the logs of refs that it cuts: those are the only names of what was
/// stashed, or left behind before. A ref that was symbolic, or that comes or goes, is none of them.
pub(crate) fn moved(
    workspace: &Workspace,
    layer: &OverlayLayer,
    call: &Call,
) -> Result<Vec<Moved>> {
    let mut moved = Vec::new();
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
                let old = leads_to(&workspace.disk, &path).or_else(|| packed(workspace, &path));
                let new = leads_to(&layer.disk, &path);
                match old {
                    Some(old) if new.as_ref() != Some(&old) => moved.push(Moved { path, old, new }),
                    _ => {}
                }
            } else if stat.is(FileKind::File) && is_log(&path) {
                layer.open_up(&path, &stat)?;
                if !grew(workspace, layer, &path) {
                    moved.push(Moved { path, old: String::new(), new: None });
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

/// Whether a file has all of what it had, and more at its end.
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

/// The commit that a ref names itself.
fn leads_to(disk: &Disk, path: &WsPath) -> Option<String> {
    let (file, _) = disk.open_file(path).ok()?;
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).ok()?;
    let hash = text.trim_end();
    is_hash(hash).then(|| hash.to_owned())
}

/// The commit that a ref leads to that has no file of its own.
fn packed(workspace: &Workspace, path: &WsPath) -> Option<String> {
    let repository = git::repository(path)?;
    let (file, _) = workspace.disk.open_file(&repository.join_bytes(b"packed-refs").ok()?).ok()?;
    let mut text = Vec::new();
    file.take(LARGEST_PACKED).read_to_end(&mut text).ok()?;
    let name = path.relative().strip_prefix(repository.relative())?.strip_prefix(b"/")?;
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let hash = line.strip_suffix(name)?.strip_suffix(b" ")?;
        std::str::from_utf8(hash).ok().filter(|hash| is_hash(hash)).map(str::to_owned)
    })
}

fn is_hash(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a tool that is not git could lose commits by changing a file of git's: it gives a ref another
/// value, or writes over a log. Nobody asked git about it.
pub(crate) fn may_lose(workspace: &Workspace, path: &WsPath, kind: EffectKind) -> bool {
    let is_ref = matches!(git::part(path), Some(GitFileKind::Ref | GitFileKind::Refs));
    match kind {
        EffectKind::Create | EffectKind::MoveTo => is_ref && packed(workspace, path).is_some(),
        EffectKind::Modify | EffectKind::Remove | EffectKind::MoveFrom => is_ref || is_log(path),
        _ => false,
    }
}

/// Notes which of the refs that a command moved left commits behind. `asks` puts one question to git.
pub(crate) fn note_rewound(
    workspace: &Workspace,
    folder: &RunFolder,
    call: &Call,
    mut asks: impl FnMut(&Moved) -> bool,
) -> Result<()> {
    let before = moved(workspace, &folder.layer()?, call)?;
    if before.is_empty() {
        return Ok(());
    }
    let forward: Vec<bool> = before.iter().take(MOST).map(&mut asks).collect();
    // Git was started in a repository that the command may have prepared: what it did to refs counts.
    let after = moved(workspace, &folder.layer()?, call)?;
    let is_forward = |moved: &&Moved| {
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
    folder.keep(REWOUND, &text)
}

/// The refs that a command left commits behind with.
pub(crate) fn rewound(folder: &RunFolder) -> Result<HashSet<WsPath>> {
    let text = folder.kept(REWOUND)?.unwrap_or_default();
    let paths = text.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.filter_map(|path| WsPath::from_bytes(path).ok()).collect())
}
