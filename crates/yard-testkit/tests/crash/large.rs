//! A file that is too large to load is a version only once it is kept itself. The store never says of one
//! that stays in its place that it is kept.

use std::os::unix::fs::MetadataExt;

use yard_core::Limits;
use yard_core::op::{Undo, Verify};
use yard_testkit::{ChildWorkspace, mv, rm};
use yard_testkit::{Folders, OpenOptions};

use crate::writer::LARGE;

fn child(place: &Folders) -> ChildWorkspace {
    let limits = Limits { load_bytes: LARGE, ..Limits::default() };
    ChildWorkspace::open(
        place.root(),
        place.state(),
        OpenOptions { limits, ..OpenOptions::default() },
    )
    .unwrap()
}

fn undo_last(child: &ChildWorkspace) {
    let step = child.history(None, 1)[0].id;
    child.perform(Undo::of(step)).unwrap();
}

fn problems(child: &ChildWorkspace) -> Vec<String> {
    child.perform(Verify).unwrap().problems
}

#[test]
fn a_large_file_whose_move_is_undone_is_no_version_and_stays_the_same_file() {
    let place = Folders::new();
    let (file, bytes) = (place.root().join("a"), vec![b'x'; LARGE as usize + 1]);
    std::fs::write(&file, &bytes).unwrap();
    let inode = file.metadata().unwrap().ino();
    let child = child(&place);
    child.perform(mv("/a", "/b")).unwrap();
    undo_last(&child);
    assert_eq!(problems(&child), Vec::<String>::new());
    assert_eq!(file.metadata().unwrap().ino(), inode);
    // Removed, it is kept, and comes back.
    child.perform(rm("/a")).unwrap();
    undo_last(&child);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    assert_eq!(problems(&child), Vec::<String>::new());
}
