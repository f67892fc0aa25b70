//! Going back to a step takes back everything after it, as one step that can be undone; and what is undone can be redone.

use std::sync::atomic::{AtomicU64, Ordering};

use yard_core::op::{BackTo, Redo, Undo, UndoScope};
use yard_core::{FaultCode, StepId};
use yard_testkit::replay::{StepHistory, differences};

use super::{History, Told, path, wanted};

fn back_to(step: StepId) -> BackTo {
    BackTo { step, scope: UndoScope::default() }
}

fn redo(step: StepId) -> Redo {
    Redo { step, scope: UndoScope::default() }
}

/// How going back ended, over all histories.
#[derive(Default)]
struct Tally {
    done: AtomicU64,
    /// Refused although the tree of then could be made.
    refused: AtomicU64,
    ambiguous: AtomicU64,
}

fn run(seed: u64, tally: &Tally) {
    let mut history = History::new(seed);
    for _ in 0..6 + history.below(15) {
        history.happen();
    }
    history.import();
    for _ in 0..2 {
        let Some(step) = history.some_step() else { return };
        let past = StepHistory::read(&history.store);
        let (expected, before) = (past.back_to(step), history.tree());
        let result = history.workspace.perform(back_to(step));
        let fault = result.as_ref().err().cloned();
        let undone = history.did(format!("back to step {step}"), result);
        match (fault, expected) {
            (Some(fault), expected) => {
                assert_eq!(fault.code(), FaultCode::MergeConflict, "{fault}");
                assert_eq!(differences(&before, &history.tree()), "", "a refusal changes nothing");
                let is_needless = expected.is_ok_and(|tree| tree != before);
                let tally = if is_needless { &tally.refused } else { &tally.ambiguous };
                tally.fetch_add(1, Ordering::Relaxed);
            }
            (None, Ok(tree)) => {
                assert_eq!(differences(&tree, &history.tree()), "", "the tree after step {step}");
                tally.done.fetch_add(1, Ordering::Relaxed);
            }
            (None, Err(_)) => {
                tally.ambiguous.fetch_add(1, Ordering::Relaxed);
            }
        }
        let Some(undone) = undone else { continue };
        let again = history.undo(undone.step, &super::Tally::default());
        assert!(again.is_some(), "going back can be undone at once");
        assert_eq!(differences(&before, &history.tree()), "", "undoing it brings everything back");
    }
    history.settle();
}

#[test]
fn going_back_is_replaying_the_steps_until_then() {
    let tally = Tally::default();
    if let Some(seed) = std::env::var_os("YARD_SEED") {
        return run(seed.to_str().unwrap().parse().unwrap(), &tally);
    }
    let histories = wanted(100, 1_000);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let tally = &tally;
            scope.spawn(move || (0..histories).skip(half).step_by(2).for_each(|at| run(at, tally)));
        }
    });
    let counts = [&tally.done, &tally.refused, &tally.ambiguous].map(|n| n.load(Ordering::Relaxed));
    eprintln!("{histories} histories: [done, refused, ambiguous] {counts:?}");
    assert!(counts[0] > histories && counts[1] < counts[0] / 20, "{counts:?}");
}

#[test]
fn back_to_an_old_step_is_one_step_that_can_be_undone() {
    let told = Told::new();
    told.write("/src/a", "one\n");
    let then = told.write("/b", "b\n");
    let tree = told.tree();
    told.edit("/src/a", "one", "two");
    told.relocate("/src", "/lib");
    told.write("/lib/new/file", "new\n");
    told.remove("/b");
    told.edit("/lib/a", "two", "three");
    let now = told.tree();
    let done = told.workspace.perform(back_to(then)).unwrap();
    assert_eq!(differences(&tree, &told.tree()), "");
    assert_eq!((done.back_to, done.step), (then, told.newest()));
    told.undo(done.step);
    assert_eq!(differences(&now, &told.tree()), "");
}

/// What comes back into a moved folder comes back before the folder moves.
#[test]
fn going_back_over_a_moved_folder_with_new_folders_in_it_can_be_undone() {
    let told = Told::new();
    let then = told.write("/a/x", "x\n");
    told.relocate("/a", "/e");
    told.write("/e/c/c", "new\n");
    told.edit("/e/x", "x", "y");
    let now = told.tree();
    let done = told.workspace.perform(back_to(then)).unwrap();
    assert_eq!(told.tree().into_keys().collect::<Vec<_>>(), ["/a", "/a/x"]);
    told.undo(done.step);
    assert_eq!(differences(&now, &told.tree()), "");
}

/// A file that was there all along is recorded when a step first changes it: going back before that step must not remove it.
#[test]
fn a_file_that_was_there_before_it_was_recorded_stays() {
    let told = Told::new();
    let first = told.write("/a", "a\n");
    told.workspace.put("/old/notes", "mine\n");
    told.edit("/old/notes", "mine", "yours");
    told.write("/made", "made\n");
    told.workspace.perform(back_to(first)).unwrap();
    assert_eq!(told.text("/old/notes"), "mine\n");
    assert!(!told.workspace.has("/made"));
}

#[test]
fn what_another_program_saved_meanwhile_is_a_conflict_that_can_be_left_out() {
    let told = Told::new();
    let first = told.write("/a", "one\n");
    told.edit("/a", "one", "two");
    told.write("/b", "b\n");
    told.workspace.put("/a", "by hand\n");
    let before = told.tree();
    let fault = told.workspace.perform(back_to(first)).unwrap_err();
    assert_eq!(fault.code(), FaultCode::MergeConflict);
    assert!(fault.message().contains("cannot go back"), "{fault}");
    assert!(fault.message().contains("/a"), "{fault}");
    assert_eq!(differences(&before, &told.tree()), "");
    let scope = UndoScope { paths: vec![path("/b")], state: None };
    told.workspace.perform(BackTo { step: first, scope }).unwrap();
    assert_eq!(told.text("/a"), "by hand\n");
    assert!(!told.workspace.has("/b"));
}

#[test]
fn there_is_nothing_after_the_newest_step() {
    let told = Told::new();
    let newest = told.write("/a", "one\n");
    let fault = told.workspace.perform(back_to(newest)).unwrap_err();
    assert_eq!(fault.code(), FaultCode::MergeConflict);
    assert!(fault.message().contains("nothing to take back"), "{fault}");
}

#[test]
fn a_redo_undoes_the_newest_undo_and_only_once() {
    let told = Told::new();
    told.write("/a", "one\n");
    let edit = told.edit("/a", "one", "two");
    let fault = told.workspace.perform(redo(edit)).unwrap_err();
    assert_eq!(fault.code(), FaultCode::MergeConflict);
    assert!(fault.message().contains("is not undone"), "{fault}");
    for _ in 0..2 {
        let undo = told.undo(edit);
        assert_eq!(told.text("/a"), "one\n");
        let redone = told.workspace.perform(redo(edit)).unwrap();
        assert_eq!(redone.undoes, undo);
        assert_eq!(told.text("/a"), "two\n");
        assert!(told.workspace.perform(redo(edit)).is_err(), "it is redone already");
    }
}

#[test]
fn a_step_that_was_undone_file_by_file_is_redone_undo_by_undo() {
    let told = Told::new();
    told.workspace.put("/a", "one\n");
    told.workspace.put("/b", "one\n");
    told.import();
    told.workspace.put("/a", "two\n");
    told.workspace.put("/b", "two\n");
    let step = told.import();
    for at in ["/a", "/b"] {
        let scope = UndoScope { paths: vec![path(at)], state: None };
        told.workspace.perform(Undo { step, scope }).unwrap();
    }
    for texts in [["one\n", "two\n"], ["two\n", "two\n"]] {
        told.workspace.perform(redo(step)).unwrap();
        assert_eq!([told.text("/a"), told.text("/b")], texts);
    }
    assert!(told.workspace.perform(redo(step)).is_err(), "all of it is redone");
}
