//! What a crash left in the staging folder: entries that were taken out of their places.
//!
//! One that the steps know is what they displaced, and goes (or is kept, where it is the version itself).
//! Any other is somebody's save and becomes a version. What cannot be read, and what is no file, is set
//! aside and reported: it never keeps a workspace from opening.

use yard_core::{Author, Call, Fault, FileId, FileKind, Result, WsPath};
use yard_disk::Displaced;
use yard_disk::kept_name;
use yard_store::Retention;
use yard_store::{AuditEntry, Change, FileIdentity, Seq};

use crate::projection::{Saved, record_intruder, retire_displaced};
use crate::signed::Signed;
use crate::workspace::Workspace;

/// An entry that a crash left in the data folder and that could not be put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its name in the folder `leftovers`.
    pub name: String,
    /// The file whose place it had, where that is known.
    pub path: Option<WsPath>,
    /// What recovery had to say, where it is a note.
    pub note: Option<String>,
}

/// How the name of a note ends.
const NOTE: &str = ".txt";

/// Leaves a note for a person about what recovery could not tell.
pub(crate) fn leave_note(workspace: &Workspace, seq: Seq, text: &str) {
    // The same words are in the audit chain.
    let _ = workspace.stage.note_aside(&format!("recovery-{seq}{NOTE}"), text);
}

/// Removes leftovers that recovery knows to be ours. Their contents are in the history, and some may have
/// lost their bytes with the power: they must not be taken for somebody's saves.
pub(crate) fn retire_ours(workspace: &Workspace, is_ours: &dyn Fn(&FileIdentity) -> bool) {
    for displaced in workspace.stage.leftovers() {
        let identity = workspace.stage.identity_of(&displaced);
        let is_file = !displaced.stat.is(FileKind::Folder);
        if is_file && identity.is_some_and(|identity| is_ours(&identity)) {
            let content = content_of(workspace, &displaced);
            retire_displaced(workspace, &displaced, content);
        }
    }
}

/// The content that the history says the displaced file had, where the file itself is the version.
fn content_of(workspace: &Workspace, displaced: &Displaced) -> Option<yard_core::ContentHash> {
    let file = displaced.file()?;
    let changes = workspace.store().file_changes(file, None, 8).ok()?;
    let mut contents = changes.iter().filter_map(|(_, change)| {
        let before = change.before.as_ref()?;
        before.content.filter(|_| before.size == displaced.stat.size())
    });
    contents.find(|hash| {
        let located = workspace.store().locate(hash).ok().flatten();
        located.is_some_and(|located| located.kept.is_some())
    })
}

/// Looks at what a crash left. The caller holds the lock and is the only living process.
pub(crate) fn rescue(workspace: &Workspace, call: &Call) -> Result<()> {
    for displaced in workspace.stage.leftovers() {
        match rescue_one(workspace, &displaced, call) {
            Ok(()) => {}
            // The call is out of time, or the store cannot be written: nothing is wrong with this file.
            Err(fault) if call.check().is_err() => return Err(fault),
            Err(_) => workspace.stage.set_aside(&displaced),
        }
    }
    Ok(())
}

fn rescue_one(workspace: &Workspace, displaced: &Displaced, call: &Call) -> Result<()> {
    let path = WsPath::root();
    if is_unused(workspace, displaced)? {
        workspace.stage.discard(displaced);
        return Ok(());
    }
    if !(displaced.stat.is(FileKind::File) || displaced.stat.is(FileKind::Link)) {
        workspace.stage.set_aside(displaced);
        return Ok(());
    }
    let saved = Saved::read(workspace, displaced, &path, call)?;
    match workspace.store().locate(&saved.hash)? {
        Some(_) => retire_displaced(workspace, displaced, Some(saved.hash)),
        // What was left of a file when it was purged.
        None if workspace.store().is_purged(&saved.hash)? => {
            workspace.stage.discard(displaced);
        }
        None => match displaced.file() {
            Some(file) => keep_save(workspace, call, file, displaced, &path)?,
            None => saved.store_only(workspace, displaced)?,
        },
    }
    Ok(())
}

/// Whether a file was staged for a step that never happened: then it took nobody's place.
fn is_unused(workspace: &Workspace, staged: &Displaced) -> Result<bool> {
    match staged.step() {
        Some(step) => Ok(workspace.store().step(step)?.is_none()),
        None => Ok(false),
    }
}

/// Records what somebody saved into a file while we were replacing it.
pub(crate) fn keep_save(
    workspace: &Workspace,
    call: &Call,
    file: FileId,
    displaced: &Displaced,
    path: &WsPath,
) -> Result<()> {
    let store = workspace.store();
    let saved = Saved::read(workspace, displaced, path, call)?;
    let Some(mut node) = store.node(file)? else {
        return saved.store_only(workspace, displaced);
    };
    if node.state.is_none() {
        // Its name may be another's by now: then the save belongs to that one's past.
        let heir = store.child(node.last.parent, &node.last.name)?;
        node = heir.unwrap_or(node);
    }
    if node.last.kind == FileKind::Folder {
        return saved.store_only(workspace, displaced);
    }
    let path = store.path_of(node.id)?.unwrap_or_else(|| node.path.clone());
    let change = Change {
        file: node.id,
        before: Some(node.last.clone()),
        after: node.state.clone(),
        from: Some(path.clone()),
        to: node.state.as_ref().map(|_| path),
        version: None,
    };
    record_intruder(workspace, &change, &saved, displaced, &recovering(call), call)
}

/// The author under which a change of another program is recorded.
fn recovering(call: &Call) -> Signed {
    let audit = AuditEntry::by_toolyard(call.world().now(), "recover", String::new());
    Signed { author: Author::External, chat: None, audit, side_effects: Vec::new() }
}

impl Workspace {
    /// What crashes left behind that could not be put right, for a person to look at.
    pub fn leftovers(&self) -> std::result::Result<Vec<Leftover>, Fault> {
        let mut found = Vec::new();
        for displaced in self.stage.set_aside_entries() {
            let node = match displaced.file() {
                Some(file) => self.store().node(file)?,
                None => None,
            };
            let path = node.map(|node| node.path);
            let is_note = displaced.name.ends_with(NOTE);
            let note = is_note.then(|| self.stage.read_note(&displaced.name)).flatten();
            found.push(Leftover { name: displaced.name, path, note });
        }
        Ok(found)
    }
}

/// Removes kept files that no content stands for: their steps never came. The caller holds the lock
/// and is the only living process.
pub(crate) fn sweep_kept(workspace: &Workspace) -> Result<()> {
    let mut orphans = Vec::new();
    for name in workspace.stage.kept_names() {
        // Of build output there are thousands, and what is in the tree too is no orphan worth a look.
        let is_evictable = kept_name::retention_of(&name) == Retention::Evictable;
        if is_evictable && workspace.stage.kept_alone(&name) == Some(0) {
            continue;
        }
        let Some(hash) = kept_name::content_in(&name) else { continue };
        let located = workspace.store().locate(&hash)?;
        let kept = located.and_then(|located| located.kept).map(|file| file.name);
        if kept.as_ref() != Some(&name) {
            orphans.push(name);
        }
    }
    if orphans.is_empty() { Ok(()) } else { workspace.stage.remove_kept(&orphans) }
}
