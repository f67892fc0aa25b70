//! Files that a patch names through links.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use yard_core::FaultCode;
use yard_testkit::{ChildWorkspace, tree};
use yard_testkit::{Folders, OpenOptions};

use super::{patch, put};

/// A file, the same file through a link, and its folder through another.
fn place() -> (Arc<Folders>, ChildWorkspace) {
    let place = Folders::new();
    let child = place.open_as_child(OpenOptions::default());
    put(&child, "/d/real", "one\ntwo\n");
    symlink("d/real", place.root().join("link")).unwrap();
    symlink("d", place.root().join("e")).unwrap();
    (place, child)
}

fn update(path: &str, old: &str, new: &str) -> String {
    format!("*** Update File: {path}\n@@\n-{old}\n+{new}\n")
}

fn envelope(sections: &str) -> String {
    format!("*** Begin Patch\n{sections}*** End Patch\n")
}

#[test]
fn x3_an_update_goes_through_links_and_leaves_them() {
    for path in ["link", "e/real"] {
        let (place, child) = place();
        let done = child.perform(patch(&envelope(&update(path, "two", "zwei")))).unwrap();
        assert_eq!(done.files[0].path.to_string(), "/d/real");
        assert_eq!(fs::read(place.root().join("d/real")).unwrap(), b"one\nzwei\n");
        assert!(place.root().join("link").is_symlink());
        assert_eq!(child.verified(), Vec::<String>::new());
    }
}

#[test]
fn x3_two_names_of_one_file_in_a_patch_are_refused() {
    for (first, second) in [("link", "d/real"), ("e/real", "d/real"), ("e/real", "link")] {
        let (place, child) = place();
        let before = tree(place.root());
        let sections = update(first, "one", "eins") + &update(second, "two", "zwei");
        let fault = child.perform(patch(&envelope(&sections))).expect_err(first);
        assert_eq!(fault.code(), FaultCode::BadArgument, "{first} {second}: {fault}");
        assert!(fault.message().contains("/d/real"), "{fault}");
        assert_eq!(tree(place.root()), before);
    }
}

#[test]
fn x3_two_new_files_at_one_place_are_refused() {
    let (place, child) = place();
    let before = tree(place.root());
    let sections = "*** Add File: e/new\n+e\n*** Add File: d/new\n+d\n";
    let fault = child.perform(patch(&envelope(sections))).expect_err("two at one place");
    assert_eq!(fault.code(), FaultCode::BadArgument, "{fault}");
    assert_eq!(tree(place.root()), before);
}

#[test]
fn x3_a_link_is_not_taken_for_the_file_that_it_leads_to() {
    // To delete or move `link` must not take away `/d/real` and leave the link dangling.
    for section in ["*** Delete File: link\n", "*** Update File: link\n*** Move to: moved\n"] {
        let (place, child) = place();
        let before = tree(place.root());
        let fault = child.perform(patch(&envelope(section))).expect_err(section);
        assert_eq!(fault.code(), FaultCode::BadArgument, "{fault}");
        assert!(fault.message().contains("/link"), "{fault}");
        assert_eq!(tree(place.root()), before);
    }
}

#[test]
fn x3_nothing_is_added_where_a_link_is() {
    let (place, child) = place();
    symlink("nowhere", place.root().join("dangling")).unwrap();
    let before = tree(place.root());
    for path in ["dangling", "link", "e"] {
        let section = format!("*** Add File: {path}\n+x\n");
        let fault = child.perform(patch(&envelope(&section))).expect_err(path);
        let fair = [FaultCode::Exists, FaultCode::IsFolder];
        assert!(fair.contains(&fault.code()), "{path}: {fault}");
        assert_eq!(tree(place.root()), before);
    }
}
