//! Displaced entries that a crash left in the staging folder.
//!
//! An entry whose content the history has is removed, or kept if the file itself is the version. Any other file was
//! saved by another program, and becomes a version. Entries that cannot be read, and entries that are no files, are set
//! aside and reported: they never keep a workspace from opening.

use yard_core::{Author, Call, Fault, FileId, FileKind, Result, WsPath};
use yard_disk::Displaced;
use yard_disk::kept_name;
use yard_store::Retention;
use yard_store::{AuditEntry, Change, FileIdentity, Seq};

use crate::draft::step_metadata::StepMetadata;
use crate::projection::{Projector, SavedContent, remove_or_keep_displaced};
use crate::workspace::Workspace;

/// An entry that a crash left in the data folder, and that recovery could not handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its name in the folder `leftovers`.
    pub name: String,
    /// The path that it had in the workspace, if that is known.
    pub path: Option<WsPath>,
    /// The text of a note by recovery, if it is one.
    pub note: Option<String>,
}

/// The end of the name of a note.
const NOTE: &str = ".txt";

/// Leaves a note for a person about files that recovery did not restore.
pub(crate) fn leave_note(workspace: &Workspace, seq: Seq, text: &str) {
    // The same text is in the audit chain.
    let _ = workspace.stage.write_note(&format!("recovery-{seq}{NOTE}"), text);
}

/// Removes leftovers that steps placed or displaced. Their contents are in the history. Some may have lost their bytes
/// in a power loss, and so must not be taken for files that another program saved.
pub(crate) fn remove_recorded(workspace: &Workspace, is_recorded: &dyn Fn(&FileIdentity) -> bool) {
    for displaced in workspace.stage.crash_remains() {
        let identity = workspace.stage.identity_of(&displaced);
        let is_file = !displaced.stat.is(FileKind::Folder);
        if is_file && identity.is_some_and(|identity| is_recorded(&identity)) {
            let content = content_of(workspace, &displaced);
            remove_or_keep_displaced(workspace, &displaced, content);
        }
    }
}

/// The content that the history has for the displaced file, if the file itself is the version.
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

/// Handles the entries that a crash left. The caller holds the lock and is the only living process.
pub(crate) fn recover_leftovers(workspace: &Workspace, call: &Call) -> Result<()> {
    for displaced in workspace.stage.crash_remains() {
        match recover_one(workspace, &displaced, call) {
            Ok(()) => {}
            // The call is out of time: nothing is wrong with this entry.
            Err(fault) if call.check().is_err() => return Err(fault),
            Err(_) => workspace.stage.quarantine(&displaced),
        }
    }
    Ok(())
}

fn recover_one(workspace: &Workspace, displaced: &Displaced, call: &Call) -> Result<()> {
    let path = WsPath::root();
    if is_unused(workspace, displaced)? {
        workspace.stage.discard(displaced);
        return Ok(());
    }
    if !(displaced.stat.is(FileKind::File) || displaced.stat.is(FileKind::Link)) {
        workspace.stage.quarantine(displaced);
        return Ok(());
    }
    let saved = SavedContent::read(workspace, displaced, &path, call)?;
    match workspace.store().locate(&saved.hash)? {
        Some(_) => remove_or_keep_displaced(workspace, displaced, Some(saved.hash)),
        // A crash interrupted the purge of this file.
        None if workspace.store().is_purged(&saved.hash)? => {
            workspace.stage.discard(displaced);
        }
        None => match displaced.file() {
            Some(file) => record_save(workspace, call, file, displaced, &path)?,
            None => saved.store_only(workspace, displaced)?,
        },
    }
    Ok(())
}

/// Whether a file was staged for a step that was never recorded: then it was never in the workspace.
fn is_unused(workspace: &Workspace, staged: &Displaced) -> Result<bool> {
    match staged.step() {
        Some(step) => Ok(workspace.store().step(step)?.is_none()),
        None => Ok(false),
    }
}

/// Records a version that another program saved while a step replaced the file.
pub(crate) fn record_save(
    workspace: &Workspace,
    call: &Call,
    file: FileId,
    displaced: &Displaced,
    path: &WsPath,
) -> Result<()> {
    let store = workspace.store();
    let saved = SavedContent::read(workspace, displaced, path, call)?;
    let Some(mut node) = store.node(file)? else {
        return saved.store_only(workspace, displaced);
    };
    if node.state.is_none() {
        // If another file has its name by now, the save becomes a version of that file.
        let successor = store.child(node.last.parent, &node.last.name)?;
        node = successor.unwrap_or(node);
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
    let projector = Projector { workspace, metadata: &recovering(call), call };
    projector.record_concurrent_save(&change, &saved, displaced)
}

/// The author under which a change of another program is recorded.
fn recovering(call: &Call) -> StepMetadata {
    let audit = AuditEntry::by_toolyard(call.world().now(), "recover", String::new());
    StepMetadata { author: Author::External, chat: None, audit, side_effects: Vec::new() }
}

impl Workspace {
    /// The entries that were set aside, for a person to look at.
    pub fn leftovers(&self) -> std::result::Result<Vec<Leftover>, Fault> {
        let mut leftovers = Vec::new();
        for displaced in self.stage.quarantined() {
            let node = match displaced.file() {
                Some(file) => self.store().node(file)?,
                None => None,
            };
            let path = node.map(|node| node.path);
            let is_note = displaced.name.ends_with(NOTE);
            let note = is_note.then(|| self.stage.read_note(&displaced.name)).flatten();
            leftovers.push(Leftover { name: displaced.name, path, note });
        }
        Ok(leftovers)
    }
}

/// Removes kept files whose steps were never recorded. The caller holds the lock and is the only living process.
pub(crate) fn sweep_kept(workspace: &Workspace) -> Result<()> {
    let mut orphans = Vec::new();
    for name in workspace.stage.kept_names() {
        // There are thousands of files of build output. One that is still in the tree is skipped without a look-up.
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
