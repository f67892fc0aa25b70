//! A move that may replace a file: that file gets the content as a version, and what moved is gone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use yard_core::op::{Move, OnExisting, Restore};
use yard_core::{FaultCode, Limits};
use yard_testkit::{ChildWorkspace, at, tree};
use yard_testkit::{Folders, OpenOptions};

use super::{newest, put, undo};

fn over(from: &str, to: &str) -> Move {
    Move { from: at(from), to: at(to), into_folder: false, on_existing: OnExisting::Replace }
}

fn place() -> (Arc<Folders>, ChildWorkspace) {
    let place = Folders::new();
    let plan = OpenOptions {
        limits: Limits { load_bytes: 8_192, ..Limits::default() },
        ..OpenOptions::default()
    };
    let child = place.open_as_child(plan);
    put(&child, "/new.txt", "new\n");
    put(&child, "/d/old.txt", "old\n");
    let mode = PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.root().join("new.txt"), mode).unwrap();
    (place, child)
}

#[test]
fn a_replaced_file_gets_content_and_mode_as_a_version_of_its_own() {
    let (place, child) = place();
    let before = tree(place.root());
    let old = child.history(Some("/d/old.txt"), 9)[0].clone();
    let moved = child.perform(over("/new.txt", "/d/old.txt")).unwrap();
    assert_eq!((&moved.from, &moved.to), (&at("/new.txt"), &at("/d/old.txt")));
    let path = place.root().join("d/old.txt");
    assert_eq!(fs::read(&path).unwrap(), b"new\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!place.root().join("new.txt").exists());
    let history = child.history(Some("/d/old.txt"), 9);
    assert_eq!(history.len(), 2, "{history:#?}");
    assert_eq!((history[0].verb.as_str(), history[1].id), ("move", old.id));
    assert_eq!(child.verified(), Vec::<String>::new());
    // What was replaced can be had again, and so can what moved.
    let after = tree(place.root());
    undo(&child, newest(&child)).unwrap();
    assert_eq!(tree(place.root()), before);
    undo(&child, newest(&child)).unwrap();
    assert_eq!(tree(place.root()), after);
    child.perform(Restore::Version(old.version.unwrap())).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old\n");
    child.perform(Restore::RemovedAt(at("/new.txt"))).unwrap();
    assert_eq!(fs::read(place.root().join("new.txt")).unwrap(), b"new\n");
    assert_eq!(child.verified(), Vec::<String>::new());
}

#[test]
fn a_file_replaces_the_one_of_its_name_in_a_folder() {
    let (place, child) = place();
    put(&child, "/old.txt", "other\n");
    child.perform(over("/old.txt", "/d")).unwrap();
    assert_eq!(fs::read(place.root().join("d/old.txt")).unwrap(), b"other\n");
    assert!(!place.root().join("old.txt").exists());
}

#[test]
fn files_of_other_programs_become_versions_too() {
    let (place, child) = place();
    fs::write(place.root().join("x"), "x\n").unwrap();
    fs::write(place.root().join("y"), "y\n").unwrap();
    let before = tree(place.root());
    child.perform(over("/x", "/y")).unwrap();
    assert_eq!(fs::read(place.root().join("y")).unwrap(), b"x\n");
    undo(&child, newest(&child)).unwrap();
    assert_eq!(tree(place.root()), before);
}

#[test]
fn a_file_that_replaces_one_with_the_same_content_leaves_one_file() {
    let (place, child) = place();
    put(&child, "/same.txt", "old\n");
    let before = tree(place.root());
    child.perform(over("/same.txt", "/d/old.txt")).unwrap();
    assert_eq!(fs::read(place.root().join("d/old.txt")).unwrap(), b"old\n");
    assert!(!place.root().join("same.txt").exists());
    undo(&child, newest(&child)).unwrap();
    assert_eq!(tree(place.root()), before);
    assert_eq!(child.verified(), Vec::<String>::new());
}

#[test]
fn a_move_onto_itself_changes_nothing() {
    let (place, child) = place();
    let (before, head) = (tree(place.root()), newest(&child));
    child.perform(over("/new.txt", "/new.txt")).unwrap();
    assert_eq!((tree(place.root()), newest(&child)), (before, head));
}

#[test]
fn folders_links_and_large_files_are_never_replaced() {
    let (place, child) = place();
    put(&child, "/d/new.txt/below", "a folder\n");
    put(&child, "/f/d/x", "x\n");
    fs::write(place.root().join("large"), vec![b'l'; 10_000]).unwrap();
    symlink("d/old.txt", place.root().join("link")).unwrap();
    symlink("nowhere", place.root().join("dangling")).unwrap();
    let before = tree(place.root());
    let head = newest(&child);
    for (from, to, code) in [
        ("/new.txt", "/link", FaultCode::Exists),
        ("/new.txt", "/dangling", FaultCode::Exists),
        ("/link", "/new.txt", FaultCode::Exists),
        ("/f/d", "/new.txt", FaultCode::Exists),
        // A folder of that name is in the folder.
        ("/d", "/f", FaultCode::Exists),
        ("/large", "/new.txt", FaultCode::TooLarge),
        ("/new.txt", "/large", FaultCode::TooLarge),
    ] {
        let fault = child.perform(over(from, to)).expect_err(from);
        assert_eq!(fault.code(), code, "{from} -> {to}: {fault}");
        assert_eq!(tree(place.root()), before, "{from} -> {to}");
        assert_eq!(newest(&child), head, "{from} -> {to}");
    }
}
