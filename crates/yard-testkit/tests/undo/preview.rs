//! A preview of an undo shows what it does, changes nothing, and what was shown is what happens or nothing does.

use yard_core::op::{
    BackTo, ChangeExtent, ChangePage, ChangeSummary, PreviewUndo, Redo, Show, ShownChange, Undo,
    UndoKind, UndoPreview, UndoScope,
};
use yard_core::{FaultCode, StepId};
use yard_testkit::replay::differences;

use super::{Told, path};

fn preview(told: &Told, kind: UndoKind, step: StepId, paths: &[&str]) -> UndoPreview {
    let (before, head) = (told.tree(), told.newest());
    let paths = paths.iter().map(|at| path(at)).collect();
    let extent = ChangeExtent::All { max_bytes: 1 << 20 };
    let shown = told.workspace.perform(PreviewUndo { kind, step, paths, extent }).unwrap();
    assert_eq!(differences(&before, &told.tree()), "", "a preview changes nothing");
    assert_eq!(told.newest(), head, "and records nothing");
    shown
}

fn as_shown(shown: &UndoPreview, paths: &[&str]) -> UndoScope {
    UndoScope { paths: paths.iter().map(|at| path(at)).collect(), state: shown.state }
}

fn changed(shown: &UndoPreview) -> Vec<(String, ChangeSummary)> {
    let at =
        |change: &ShownChange| change.to.as_ref().or(change.from.as_ref()).unwrap().to_string();
    let mut changed: Vec<_> =
        shown.changes.iter().map(|change| (at(change), change.summary)).collect();
    changed.sort_by(|one, two| one.0.cmp(&two.0));
    changed
}

#[test]
fn what_is_shown_is_what_happens() {
    let told = Told::new();
    let first = told.write("/a", "one\ntwo\nthree\nfour\n");
    let edit = told.edit("/a", "two\n", "TWO\n");
    told.edit("/a", "four\n", "FOUR\nfive\n");
    let shown = preview(&told, UndoKind::Undo, edit, &[]);
    assert_eq!(changed(&shown), [("/a".to_owned(), ChangeSummary::Modified)]);
    let diff = shown.changes[0].diff.as_deref().unwrap();
    assert!(diff.contains("-TWO") && diff.contains("+two") && !diff.contains("-FOUR"), "{diff}");
    told.workspace.perform(Undo { step: edit, scope: as_shown(&shown, &[]) }).unwrap();
    assert_eq!(told.text("/a"), "one\ntwo\nthree\nFOUR\nfive\n");

    let shown = preview(&told, UndoKind::Redo, edit, &[]);
    told.workspace.perform(Redo { step: edit, scope: as_shown(&shown, &[]) }).unwrap();
    assert_eq!(told.text("/a"), "one\nTWO\nthree\nFOUR\nfive\n");

    let shown = preview(&told, UndoKind::BackTo, first, &[]);
    told.workspace.perform(BackTo { step: first, scope: as_shown(&shown, &[]) }).unwrap();
    assert_eq!(told.text("/a"), "one\ntwo\nthree\nfour\n");
}

#[test]
fn a_large_step_and_its_undo_are_shown_whole_in_pages() {
    let told = Told::new();
    told.write("/first", "1\n");
    let text: String = (0..100).map(|number| format!("{number}\n")).collect();
    let back_to = told.newest();
    for number in 0..9 {
        told.write(&format!("/{number}"), &text);
    }
    let kind = UndoKind::BackTo;
    let page = |skip| {
        let page = ChangePage { skip, limit: 4, max_bytes: 900, max_diff_bytes: 1 << 20 };
        ChangeExtent::Page(page)
    };
    let (mut changes, mut states, mut skip) = (Vec::new(), Vec::new(), Some(0));
    while let Some(from) = skip {
        let wanted = PreviewUndo { kind, step: back_to, paths: Vec::new(), extent: page(from) };
        let shown = told.workspace.perform(wanted).unwrap();
        assert!(shown.changes.len() <= 3 && !shown.truncated, "a diff is about 400 bytes");
        changes.extend(shown.changes);
        states.push(shown.state);
        skip = shown.next;
    }
    let whole = preview(&told, kind, back_to, &[]);
    assert_eq!((changes, states.len()), (whole.changes.clone(), 3));
    assert!(states.iter().all(|state| *state == whole.state));

    told.workspace.perform(BackTo { step: back_to, scope: as_shown(&whole, &[]) }).unwrap();
    let step = told.newest();
    let (mut changes, mut skip) = (Vec::new(), Some(0));
    while let Some(from) = skip {
        let shown = told.workspace.perform(Show { step, extent: page(from) }).unwrap();
        assert_eq!(shown.step.files, 9, "of the whole step");
        changes.extend(shown.changes);
        skip = shown.next;
    }
    assert_eq!(changes, told.workspace.perform(Show::all(step, 1 << 20)).unwrap().changes);
    let page = ChangePage { skip: 0, limit: 1, max_bytes: 900, max_diff_bytes: 100 };
    let cut = Show { step, extent: ChangeExtent::Page(page) };
    assert!(told.workspace.perform(cut).unwrap().truncated);
}

#[test]
fn a_file_that_changed_since_the_preview_is_not_undone() {
    let told = Told::new();
    told.write("/a", "one\ntwo\nthree\n");
    let edit = told.edit("/a", "one\n", "ONE\n");
    let shown = preview(&told, UndoKind::Undo, edit, &[]);
    told.workspace.put("/a", "ONE\ntwo\nthree\nby hand\n");
    let scope = as_shown(&shown, &[]);
    let fault = told.workspace.perform(Undo { step: edit, scope: scope.clone() }).unwrap_err();
    assert_eq!(fault.code(), FaultCode::Stale);
    assert!(
        fault.message().ends_with("changed in between. Nothing was changed; preview it again"),
        "{fault}"
    );
    assert_eq!(told.text("/a"), "ONE\ntwo\nthree\nby hand\n");
    told.workspace.put("/a", "ONE\ntwo\nthree\n");
    told.workspace.perform(Undo { step: edit, scope }).unwrap();
    assert_eq!(told.text("/a"), "one\ntwo\nthree\n");
}

#[test]
fn all_conflicts_are_named_and_the_rest_can_be_undone() {
    let told = Told::new();
    for name in ["a", "b", "c"] {
        told.workspace.put(&format!("/{name}"), "one\n");
    }
    told.import();
    for name in ["a", "b", "c"] {
        told.workspace.put(&format!("/{name}"), "ONE\n");
    }
    let step = told.import();
    told.edit("/a", "ONE", "1");
    told.edit("/c", "ONE", "1");
    let shown = preview(&told, UndoKind::Undo, step, &[]);
    let mut conflicts: Vec<_> = shown.conflicts.iter().map(|one| one.path.to_string()).collect();
    conflicts.sort();
    assert_eq!(conflicts, ["/a", "/c"]);
    assert!(shown.conflicts[0].why.contains("changed since"), "{:?}", shown.conflicts);
    assert_eq!(shown.state, None, "what has a conflict cannot be done");
    assert_eq!(changed(&shown), [("/b".to_owned(), ChangeSummary::Modified)]);

    let shown = preview(&told, UndoKind::Undo, step, &["/b"]);
    assert!(shown.conflicts.is_empty());
    told.workspace.perform(Undo { step, scope: as_shown(&shown, &["/b"]) }).unwrap();
    let texts = ["/a", "/b", "/c"].map(|at| told.text(at));
    assert_eq!(texts, ["1\n", "one\n", "1\n"]);
}

/// A folder that was removed with a file comes back with that file.
#[test]
fn a_part_of_a_removal_brings_the_folders_back_that_it_needs() {
    let told = Told::new();
    told.write("/a/b/one", "1\n");
    told.write("/a/b/two", "2\n");
    told.write("/a/c/three", "3\n");
    let removed = told.remove("/a");
    let scope = UndoScope { paths: vec![path("/a/b/one")], state: None };
    told.workspace.perform(Undo { step: removed, scope }).unwrap();
    assert_eq!(told.tree().into_keys().collect::<Vec<_>>(), ["/a", "/a/b", "/a/b/one"]);
}

#[test]
fn paths_that_the_step_did_not_touch_are_named() {
    let told = Told::new();
    let step = told.write("/a", "one\n");
    let scope = UndoScope { paths: vec![path("/b")], state: None };
    let fault = told.workspace.perform(Undo { step, scope }).unwrap_err();
    assert_eq!(fault.code(), FaultCode::NotFound);
    assert!(fault.message().contains("/b"), "{fault}");
}
