//! What is told of a step that moved and edited one file: once in its history, as one change when it is
//! shown, and taken back, and taken back again.

use yard_core::op::{ChangeSummary, History, HistoryOf, Show};
use yard_testkit::{ChildWorkspace, at, mv, tree};
use yard_testkit::{Folders, OpenOptions};

use super::{newest, patch, put, undo};

const MOVED: &str = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: sub/b.txt\n@@\n one\n\
                     -two\n+zwei\n*** End Patch\n";

fn moved() -> (std::sync::Arc<Folders>, ChildWorkspace) {
    let place = Folders::new();
    let child = place.open_as_child(OpenOptions::default());
    put(&child, "/a.txt", "one\ntwo\nthree\n");
    child.perform(patch(MOVED)).unwrap();
    (place, child)
}

#[test]
fn x3_a_step_that_moved_and_edited_a_file_is_in_its_history_once() {
    let (_place, child) = moved();
    let steps = child.history(Some("/sub/b.txt"), 9);
    let answer: Vec<_> = steps.iter().map(|step| (step.verb.as_str(), step.size)).collect();
    assert_eq!(answer, [("patch", Some(15)), ("write", Some(14))], "{steps:#?}");
    assert_eq!(steps[0].path, Some(at("/sub/b.txt")));
    assert!(steps[0].version.is_some() && steps[0].version != steps[1].version);
}

#[test]
fn x3_a_history_is_paged_without_losing_or_repeating_such_a_step() {
    let (_place, child) = moved();
    for round in 0..6 {
        let (from, to) =
            if round % 2 == 0 { ("sub/b.txt", "a.txt") } else { ("a.txt", "sub/b.txt") };
        let was = if round == 0 { String::new() } else { format!(" {round}") };
        let now = round + 1;
        let text = format!(
            "*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n@@\n-three{was}\n\
             +three {now}\n*** End Patch\n"
        );
        child.perform(patch(&text)).unwrap();
    }
    let whole = child.history(Some("/sub/b.txt"), 99);
    assert_eq!(whole.len(), 8, "{whole:#?}");
    for limit in 1..=8 {
        let (mut paged, mut before) = (Vec::new(), None);
        loop {
            let of = HistoryOf::Path(at("/sub/b.txt"));
            let page = child.perform(History { of, limit, before }).unwrap();
            assert!(page.steps.len() <= limit);
            before = page.steps.last().map(|step| step.id);
            paged.extend(page.steps);
            if !page.truncated {
                break;
            }
        }
        assert_eq!(paged, whole, "pages of {limit}");
    }
}

#[test]
fn x3_a_shown_step_tells_the_move_and_the_lines() {
    let (_place, child) = moved();
    let shown = child.perform(Show::all(newest(&child), 10_000)).unwrap();
    let files: Vec<_> = shown.changes.iter().filter(|change| change.diff.is_some()).collect();
    assert_eq!(files.len(), 1, "{shown:#?}");
    let change = files[0];
    assert_eq!(change.summary, ChangeSummary::Moved);
    assert_eq!((&change.from, &change.to), (&Some(at("/a.txt")), &Some(at("/sub/b.txt"))));
    let diff = change.diff.as_deref().unwrap();
    assert!(diff.contains("--- a/a.txt") && diff.contains("+++ b/sub/b.txt"), "{diff}");
    assert!(diff.contains("-two") && diff.contains("+zwei"), "{diff}");
    // The folder that was made, and the file.
    assert_eq!(shown.changes.len(), 2, "{shown:#?}");
    assert_eq!(shown.step.files, 2, "{shown:#?}");
}

#[test]
fn x3_a_move_with_new_lines_is_undone_and_redone() {
    let (place, child) = moved();
    let after = tree(place.root());
    for _ in 0..3 {
        undo(&child, newest(&child)).unwrap();
        assert_eq!(tree(place.root()).keys().collect::<Vec<_>>(), ["/a.txt"]);
        assert_eq!(std::fs::read(place.root().join("a.txt")).unwrap(), b"one\ntwo\nthree\n");
        undo(&child, newest(&child)).unwrap();
        assert_eq!(tree(place.root()), after);
        assert_eq!(child.verified(), Vec::<String>::new());
    }
    // Later edits stay, and a file that went elsewhere since is not fetched back.
    let patched =
        child.history(Some("/sub/b.txt"), 99).into_iter().find(|step| step.verb == "patch");
    child.perform(yard_testkit::insert("/sub/b.txt", 3, "four")).unwrap();
    let patched = patched.unwrap().id;
    let kept = "one\ntwo\nthree\nfour\n";
    // Its newest redo is what holds now; undoing the first one would move the same file twice.
    let redo = child.history(Some("/sub/b.txt"), 99)[1].id;
    undo(&child, redo).unwrap();
    assert_eq!(std::fs::read(place.root().join("a.txt")).unwrap(), kept.as_bytes());
    child.perform(mv("/a.txt", "/c.txt")).unwrap();
    let fault = undo(&child, patched).unwrap_err();
    assert!(fault.message().contains("Nothing was changed"), "{fault}");
}
