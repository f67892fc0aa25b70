//! Previews a proposal for the person who has to approve it: its state hash, and its diff. Nothing here changes anything.

use std::collections::HashMap;
use std::fmt::Write as _;

use yard_core::git::{self, GitFileKind};
use yard_core::patch::diff_label;
use yard_core::{Bounds, Call, ContentHash, FileKind, FileState, Result, WsPath, diff};
use yard_disk::read_all;
use yard_store::NewChange;

use crate::draft::Draft;
use crate::proposal::{CommitWork, Proposal};
use crate::workspace::Workspace;

/// A content above this size is not shown.
pub(crate) const MAX_SHOWN_BYTES: u64 = 4 << 20;
/// Most refs that a summary names.
const MAX_NAMED_REFS: usize = 8;

impl<A> Proposal<A> {
    /// The hash of everything that it would change, before and after, and of every entry of the folders that it would move.
    /// Proposals with equal hashes make equal changes. Those folders must not change from now on until it is committed.
    pub fn state(&self, workspace: &Workspace, call: &Call) -> Result<ContentHash> {
        let mut text = String::new();
        match &self.work {
            CommitWork::Step { draft, .. } => {
                for change in &draft.changes {
                    let (from, to) = (change.from.as_ref(), change.to.as_ref());
                    add_side(&mut text, "from", from, change.before.as_ref());
                    add_side(&mut text, "to", to, change.after.as_ref());
                }
                for tree in draft.moved_trees(&workspace.disk, call)? {
                    tree.describe(&mut text);
                }
            }
            CommitWork::Purge { files, .. } => {
                for file in files {
                    let _ = writeln!(text, "purge {file}");
                }
            }
        }
        Ok(ContentHash::of(text.as_bytes()))
    }

    /// The change as unified diffs, and whether it was cut to `max_bytes`. A content that is no text, or is too large, is
    /// named by its hash.
    pub fn diff(&self, workspace: &Workspace, max_bytes: usize) -> (String, bool) {
        let CommitWork::Step { draft, .. } = &self.work else { return (String::new(), false) };
        let (outputs, changes): (Vec<_>, Vec<_>) = draft
            .changes
            .iter()
            .partition(|change| draft.files.build_outputs.contains(&change.file));
        let (of_git, mut changes): (Vec<&NewChange>, Vec<_>) =
            changes.into_iter().partition(|change| is_internal_to_git(change));
        let places = self.effect.paths.iter().enumerate();
        let order: HashMap<&WsPath, usize> =
            places.rev().map(|(at, effect)| (&effect.path, at)).collect();
        // In the order of the effects, of which those that need an approval come first.
        changes.sort_by_key(|change| place(change).and_then(|path| order.get(path)).copied());
        let (mut text, mut is_cut) = (String::new(), false);
        for change in changes {
            let left = max_bytes.saturating_sub(text.len());
            let shown = match left {
                0 => None,
                _ => one(workspace, draft, change, left),
            };
            let Some((diff, cut)) = shown else {
                is_cut = true;
                break;
            };
            text.push_str(&diff);
            is_cut |= cut;
        }
        for tree in draft.basis.moved_trees() {
            tree.list(&mut text);
        }
        text.push_str(&git_summary(&of_git));
        if !outputs.is_empty() {
            let _ = writeln!(text, "\\ build output: {}", counted(&outputs));
        }
        is_cut |= text.len() > max_bytes;
        (text, is_cut)
    }
}

fn place(change: &NewChange) -> Option<&WsPath> {
    change.to.as_ref().or(change.from.as_ref())
}

/// Whether a change is one of many that git makes in its own files, which are only summed up for a person. Configuration,
/// hooks and unknown files of git are shown like any other file.
pub(crate) fn is_internal_to_git(change: &NewChange) -> bool {
    let part = place(change).and_then(git::part);
    matches!(
        part,
        Some(
            GitFileKind::Ref
                | GitFileKind::Object
                | GitFileKind::PackedRefs
                | GitFileKind::InProgress
                | GitFileKind::Bookkeeping
        )
    )
}

/// The line that sums up git's own files, with the names of refs.
fn git_summary(changes: &[&NewChange]) -> String {
    let Some(first) = changes.first().and_then(|change| place(change)) else {
        return String::new();
    };
    let repository = git::repository(first).unwrap_or_else(WsPath::root);
    let is_ref = |path: &&WsPath| git::part(path) == Some(GitFileKind::Ref);
    let refs =
        changes.iter().filter(|change| !is_folder(change)).filter_map(|change| place(change));
    let mut names: Vec<String> = refs.filter(is_ref).map(ref_name).collect();
    let more = names.len().saturating_sub(MAX_NAMED_REFS);
    names.truncate(MAX_NAMED_REFS);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let refs = match names.as_slice() {
        [] => "no ref among them".to_owned(),
        names => names.join(", "),
    };
    format!("\\ git's own files in {repository}: {} ({refs})\n", counted(changes))
}

fn counted(changes: &[&NewChange]) -> String {
    let created = changes.iter().filter(|change| change.before.is_none()).count();
    let removed = changes.iter().filter(|change| change.after.is_none()).count();
    let changed = changes.len() - created - removed;
    format!("{created} new, {changed} changed, {removed} removed")
}

fn is_folder(change: &NewChange) -> bool {
    let state = change.after.as_ref().or(change.before.as_ref());
    state.is_some_and(|state| state.kind == FileKind::Folder)
}

/// The name that git has for a ref.
fn ref_name(path: &WsPath) -> String {
    let shown = path.to_string();
    shown.split_once("/.git/").map_or(shown.clone(), |(_, name)| name.to_owned())
}

/// Adds one side of a change. Its path is escaped, so that the texts of different changes differ.
fn add_side(text: &mut String, word: &str, path: Option<&WsPath>, state: Option<&FileState>) {
    let shown = path.map(|path| path.to_string().escape_debug().to_string()).unwrap_or_default();
    let _ = write!(text, "{word} {shown}");
    if let Some(state) = state {
        let content = state.content.map(|hash| hash.to_string()).unwrap_or_default();
        let FileState { kind, file_type, mode, json, .. } = state;
        let _ = write!(text, " {kind:?} {file_type:?} {mode:o} {json} {content}");
    }
    text.push('\n');
}

/// The diff of one change; `None` if it does not fit.
fn one(
    workspace: &Workspace,
    draft: &Draft,
    change: &NewChange,
    left: usize,
) -> Option<(String, bool)> {
    let head = headline(change);
    let content = |state: &Option<FileState>| state.as_ref().and_then(|state| state.content);
    if content(&change.before) == content(&change.after) {
        return (head.len() <= left).then_some((head, false));
    }
    let (from, to) = (diff_label("a", change.from.as_ref()), diff_label("b", change.to.as_ref()));
    let diff = match (
        before(workspace, draft, change, MAX_SHOWN_BYTES),
        after(workspace, draft, change, MAX_SHOWN_BYTES),
    ) {
        (Some(old), Some(new)) => {
            diff::unified([&from, &to], [&old, &new], left, Bounds::NONE).unwrap_or_default()
        }
        _ => None,
    };
    match diff {
        Some((text, cut)) => Some((format!("{}{text}", mode_lines(change)), cut)),
        None => {
            let hash = |state: &Option<FileState>| match content(state) {
                Some(hash) => format!("sha256 {hash}"),
                None => "nothing".to_owned(),
            };
            let (before, after) = (hash(&change.before), hash(&change.after));
            let text =
                format!("{head}\\ not shown: no text, or too large; {before} becomes {after}\n");
            (text.len() <= left).then_some((text, false))
        }
    }
}

/// Lines for what a diff of texts does not show: a link, a new executable file, a changed mode.
fn mode_lines(change: &NewChange) -> String {
    let Some(after) = &change.after else { return String::new() };
    let at = place(change).map(in_a_line).unwrap_or_default();
    let mode = after.mode;
    match &change.before {
        _ if after.kind == FileKind::Link => format!("\\ {at} is a link, to the path below\n"),
        None if mode & 0o7111 != 0 => format!("\\ new {at} with mode {mode:o}\n"),
        Some(before) if before.mode != mode && before.kind == FileKind::File => {
            format!("\\ mode of {at}: {:o} to {mode:o}\n", before.mode)
        }
        _ => String::new(),
    }
}

/// A path without line breaks.
fn in_a_line(path: &WsPath) -> String {
    diff_label("", Some(path))
}

/// The change in a line that parsers of diffs skip.
fn headline(change: &NewChange) -> String {
    let size = |state: &Option<FileState>| state.as_ref().map_or(0, |state| state.size);
    let (from, to) = (change.from.as_ref().map(in_a_line), change.to.as_ref().map(in_a_line));
    match (&from, &to) {
        (Some(from), Some(to)) if from != to => format!("\\ moved {from} to {to}\n"),
        (_, Some(to)) if change.before.is_none() => {
            format!("\\ new {to} ({} bytes)\n", size(&change.after))
        }
        (_, Some(to)) => match (&change.before, &change.after) {
            (Some(before), Some(after)) if before.mode != after.mode => {
                format!("\\ mode of {to}: {:o} to {:o}\n", before.mode, after.mode)
            }
            _ => format!("\\ {to} ({} bytes)\n", size(&change.after)),
        },
        (Some(from), None) => format!("\\ removed {from} ({} bytes)\n", size(&change.before)),
        (None, None) => String::new(),
    }
}

/// The bytes before a change; `None` if there are more than `most`, or they cannot be read.
pub(crate) fn before(
    workspace: &Workspace,
    draft: &Draft,
    change: &NewChange,
    most: u64,
) -> Option<Vec<u8>> {
    let Some(state) = &change.before else { return Some(Vec::new()) };
    if state.kind == FileKind::Folder || state.size > most {
        return None;
    }
    if let Some(bytes) = draft.files.displacing.get(&change.file) {
        return Some(bytes.to_vec());
    }
    let hash = state.content?;
    if let Ok(Some(bytes)) = workspace.store().content(&hash) {
        return Some(bytes);
    }
    // The store does not have the content yet, but the file is still at its path.
    let path = change.from.as_ref()?;
    let (mut file, stat) = workspace.disk.open_file(path).ok()?;
    let bytes = read_all(&mut file, stat.size(), path).ok()?;
    (ContentHash::of(&bytes) == hash).then_some(bytes)
}

/// The bytes after a change; `None` if there are more than `most`, or they cannot be read.
pub(crate) fn after(
    workspace: &Workspace,
    draft: &Draft,
    change: &NewChange,
    most: u64,
) -> Option<Vec<u8>> {
    let Some(state) = &change.after else { return Some(Vec::new()) };
    if state.kind == FileKind::Folder || state.size > most {
        return None;
    }
    let hash = state.content?;
    if let Some((_, bytes)) = draft.contents.written.iter().find(|(written, _)| *written == hash) {
        return Some(bytes.clone());
    }
    let Some(staged) = draft.files.staged.get(&change.file) else {
        return workspace.store().content(&hash).ok().flatten();
    };
    let path = change.to.as_ref()?;
    read_all(&mut staged.open(path).ok()?, state.size, path).ok()
}
