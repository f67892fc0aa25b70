//! Where a patch puts things, and with which modes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use yard_testkit::{ChildWorkspace, tree};
use yard_testkit::{Folders, OpenOptions};

use super::{newest, patch, put, undo};

fn place() -> (Arc<Folders>, ChildWorkspace) {
    let place = Folders::new();
    let child = place.open_as_child(OpenOptions::default());
    (place, child)
}

fn mode(place: &Folders, path: &str) -> u32 {
    fs::metadata(place.root().join(path)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn r5_a_patch_keeps_the_bits_that_git_does_not_know() {
    let (place, child) = place();
    put(&child, "/private", "one\n");
    put(&child, "/shared", "one\n");
    let set = |path: &str, mode| {
        let mode = PermissionsExt::from_mode(mode);
        fs::set_permissions(place.root().join(path), mode).unwrap();
    };
    set("private", 0o600);
    set("shared", 0o664);
    child
        .perform(patch(
            "diff --git a/private b/private\nold mode 100644\nnew mode 100755\n--- a/private\n\
         +++ b/private\n@@ -1 +1 @@\n-one\n+two\n\
         diff --git a/shared b/other\nold mode 100644\nnew mode 100755\nsimilarity index 100%\n\
         rename from shared\nrename to other\n",
        ))
        .unwrap();
    assert_eq!((mode(&place, "private"), mode(&place, "other")), (0o700, 0o775));
    undo(&child, newest(&child)).unwrap();
    assert_eq!((mode(&place, "private"), mode(&place, "shared")), (0o600, 0o664));
    assert_eq!(child.verified(), Vec::<String>::new());
}

#[test]
fn c3_a_file_makes_room_for_a_folder_of_its_name() {
    let (place, child) = place();
    put(&child, "/a", "file\n");
    let before = tree(place.root());
    let diff = "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n\
         @@ -1 +0,0 @@\n-file\n\
         diff --git a/a/b b/a/b\nnew file mode 100644\n--- /dev/null\n+++ b/a/b\n\
         @@ -0,0 +1 @@\n+below\n";
    child.perform(patch(diff)).unwrap();
    assert_eq!(fs::read(place.root().join("a/b")).unwrap(), b"below\n");
    assert_eq!(child.verified(), Vec::<String>::new());
    undo(&child, newest(&child)).unwrap();
    assert_eq!(tree(place.root()), before);
    assert_eq!(child.verified(), Vec::<String>::new());
}

#[test]
fn c3_a_file_moves_below_its_own_name() {
    let (place, child) = place();
    put(&child, "/a", "one\ntwo\n");
    let before = tree(place.root());
    let text = "*** Begin Patch\n*** Update File: a\n*** Move to: a/b\n@@\n-two\n+zwei\n\
                *** End Patch\n";
    match child.perform(patch(text)) {
        Ok(_) => assert_eq!(fs::read(place.root().join("a/b")).unwrap(), b"one\nzwei\n"),
        Err(fault) => {
            assert!(fault.message().contains("/a"), "{fault}");
            assert_eq!(tree(place.root()), before);
        }
    }
    assert_eq!(child.verified(), Vec::<String>::new());
}

#[test]
fn c3_sections_share_the_folders_that_they_make() {
    let (place, child) = place();
    let text = "*** Begin Patch\n*** Add File: n/m/one\n+1\n*** Add File: n/two\n+2\n\
                *** Add File: n/m/three\n+3\n*** End Patch\n";
    child.perform(patch(text)).unwrap();
    let made: Vec<String> = tree(place.root()).into_keys().collect();
    assert_eq!(made, ["/n", "/n/m", "/n/m/one", "/n/m/three", "/n/two"]);
    undo(&child, newest(&child)).unwrap();
    assert!(tree(place.root()).is_empty());
}

#[test]
fn c3_several_sections_of_one_file_are_one_change_of_it() {
    let (place, child) = place();
    put(&child, "/a", "one\ntwo\nthree\n");
    let text = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+eins\n*** Update File: /a\n@@\n\
                -three\n+drei\n*** End Patch\n";
    let done = child.perform(patch(text)).unwrap();
    assert_eq!((done.files.len(), done.files[0].hunks.len()), (1, 2));
    assert_eq!(fs::read(place.root().join("a")).unwrap(), b"eins\ntwo\ndrei\n");
    assert_eq!(child.history(Some("/a"), 9).len(), 2);
}
