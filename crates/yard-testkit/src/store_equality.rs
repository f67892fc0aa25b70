//! Compares all contents of two stores.

use std::collections::BTreeSet;

use yard_core::FileId;
use yard_store::{Change, ChangedEntry, FileThen, Node, StepFilter, Store};

/// Panics if two stores differ in any answer.
pub fn assert_stores_equal(left: &dyn Store, right: &dyn Store) {
    assert_eq!(left.head(), right.head(), "head");
    assert_eq!(left.flushed_mark(), right.flushed_mark(), "projected");
    assert_eq!(left.root(), right.root(), "root");
    assert_eq!(left.recovery_notes(), right.recovery_notes(), "notes of recovery");
    assert_eq!(left.audit(0, usize::MAX), right.audit(0, usize::MAX), "audit");
    let changes = same_steps(left, right);
    same_versions(left, right, &changes);
    same_finds(left, right, &changes);
    same_past(left, right, &changes);
    same_contents(left, right);
    same_purged(left, right, &changes);
    same_files(left, right, &changes);
}

fn same_steps(left: &dyn Store, right: &dyn Store) -> Vec<Change> {
    let steps = left.steps(None, None, usize::MAX).unwrap();
    assert_eq!(Ok(&steps), right.steps(None, None, usize::MAX).as_ref(), "steps");
    let mut all = Vec::new();
    for step in &steps {
        assert_eq!(left.step(step.id), right.step(step.id), "step {}", step.seq);
        let changes = left.changes(step.seq).unwrap();
        assert_eq!(Ok(&changes), right.changes(step.seq).as_ref(), "changes of {}", step.seq);
        let placements = (left.placements(step.seq), right.placements(step.seq));
        assert_eq!(placements.0, placements.1, "placements of {}", step.seq);
        all.extend(changes);
    }
    assert_eq!(left.steps(None, Some(4), 2), right.steps(None, Some(4), 2), "a page of steps");
    all
}

fn same_versions(left: &dyn Store, right: &dyn Store, changes: &[Change]) {
    for version in changes.iter().filter_map(|change| change.version) {
        assert_eq!(left.version(version), right.version(version), "{version:?}");
    }
}

fn same_contents(left: &dyn Store, right: &dyn Store) {
    let hashes = left.contents(None, usize::MAX).unwrap();
    assert_eq!(Ok(&hashes), right.contents(None, usize::MAX).as_ref(), "contents");
    for hash in &hashes {
        assert_eq!(left.locate(hash), right.locate(hash), "where {hash} is");
        assert_eq!(left.content(hash), right.content(hash), "{hash}");
    }
}

fn same_purged(left: &dyn Store, right: &dyn Store, changes: &[Change]) {
    assert_eq!(left.pending_deletions(), right.pending_deletions(), "pending deletions");
    for hash in changes.iter().filter_map(|change| change.after.as_ref()?.content) {
        assert_eq!(left.is_purged(&hash), right.is_purged(&hash), "whether {hash} is purged");
        assert_eq!(left.content(&hash), right.content(&hash), "{hash}");
        assert_eq!(left.locate(&hash), right.locate(&hash), "where {hash} is");
    }
}

fn same_files(left: &dyn Store, right: &dyn Store, changes: &[Change]) {
    let mut files: BTreeSet<FileId> = changes.iter().map(|change| change.file).collect();
    files.insert(FileId::ROOT);
    for file in files {
        assert_eq!(left.node(file), right.node(file), "{file:?}");
        assert_eq!(left.path_of(file), right.path_of(file), "path of {file:?}");
        assert_eq!(children(left, file), children(right, file), "children of {file:?}");
        same_history(left, right, file);
    }
    for state in changes.iter().filter_map(|change| change.after.as_ref()) {
        let (parent, name) = (state.parent, &state.name);
        assert_eq!(left.child(parent, name), right.child(parent, name), "{name}");
        assert_eq!(left.former_child(parent, name), right.former_child(parent, name), "{name}");
    }
    assert_eq!(left.removed(0, usize::MAX), right.removed(0, usize::MAX), "removed");
    assert_eq!(left.removed(1, 2), right.removed(1, 2), "a page of removed");
}

/// Steps that are found by the paths, actors and operations of some steps.
fn same_finds(left: &dyn Store, right: &dyn Store, changes: &[Change]) {
    let steps = left.steps(None, None, usize::MAX).unwrap();
    let makers = steps.iter().rev().step_by(7).map(|step| StepFilter {
        author: Some(step.author),
        actor: Some(step.actor.clone()),
        verb: Some(step.verb.clone()),
        ..StepFilter::default()
    });
    let paths = changes.iter().step_by(7).filter_map(|change| {
        let path = change.to.clone().or(change.from.clone())?;
        let entry = ChangedEntry { path, file: Some(change.file) };
        Some(StepFilter { changed: Some(entry), ..StepFilter::default() })
    });
    for filter in makers.chain(paths) {
        let found = (left.find_steps(&filter, 2..90, 9), right.find_steps(&filter, 2..90, 9));
        assert_eq!(found.0, found.1, "{filter:?}");
    }
}

/// Files, folders and changes as they were after some steps.
fn same_past(left: &dyn Store, right: &dyn Store, changes: &[Change]) {
    let head = left.head().unwrap();
    let then = |store: &dyn Store, parent, name, seq| -> Vec<FileThen> {
        let mut found = store.children_then(parent, name, seq).unwrap();
        found.sort_by_key(|found| found.file);
        found
    };
    for seq in (0..=head + 1).step_by(1 + head as usize / 5) {
        let net = (left.net_changes(seq..head), right.net_changes(seq..head));
        assert_eq!(net.0, net.1, "changes from {seq} on");
        let net = (left.net_changes(1..seq), right.net_changes(1..seq));
        assert_eq!(net.0, net.1, "changes before {seq}");
        for change in changes.iter().step_by(5) {
            let states = (left.file_then(change.file, seq), right.file_then(change.file, seq));
            assert_eq!(states.0, states.1, "{:?} after {seq}", change.file);
            let Some(state) = &change.after else { continue };
            for (parent, name) in [(state.parent, Some(&state.name)), (state.parent, None)] {
                let found = (then(left, parent, name, seq), then(right, parent, name, seq));
                assert_eq!(found.0, found.1, "{name:?} in {parent:?} after {seq}");
            }
        }
    }
}

fn same_history(left: &dyn Store, right: &dyn Store, file: FileId) {
    for (before, limit) in [(None, usize::MAX), (Some(6), 2), (Some(u64::MAX), 1), (Some(0), 9)] {
        let page = (left.steps(Some(file), before, limit), left.file_changes(file, before, limit));
        let other =
            (right.steps(Some(file), before, limit), right.file_changes(file, before, limit));
        assert_eq!(page, other, "history of {file:?}");
    }
}

fn children(store: &dyn Store, parent: FileId) -> Vec<Node> {
    let mut children = store.children(parent).unwrap();
    children.sort_by_key(|node| node.id);
    children
}
