//! A patch of which one section cannot be done changes nothing, wherever that section stands.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use yard_core::{FaultCode, Limits};
use yard_testkit::{Folders, OpenOptions};
use yard_testkit::{staged, tree};

use super::patch;

const LOAD_BYTES: u64 = 8_192;

/// Sections that can all be done.
const GOOD: [&str; 6] = [
    "--- a/edit.txt\n+++ b/edit.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n",
    "diff --git a/new/er.txt b/new/er.txt\nnew file mode 100755\n--- /dev/null\n\
     +++ b/new/er.txt\n@@ -0,0 +1 @@\n+hello\n",
    "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n\
     @@ -1 +0,0 @@\n-gone\n",
    "diff --git a/from.txt b/moved/to.txt\nsimilarity index 50%\nrename from from.txt\n\
     rename to moved/to.txt\n--- a/from.txt\n+++ b/moved/to.txt\n@@ -1,2 +1,2 @@\n-f1\n+F1\n f2\n",
    "diff --git a/edit.txt b/copy.txt\nsimilarity index 100%\ncopy from edit.txt\n\
     copy to copy.txt\n",
    "diff --git a/mode.sh b/mode.sh\nold mode 100644\nnew mode 100755\n",
];

/// Sections that cannot be done, and what is said of each.
const BAD: [(&str, FaultCode, &str); 15] = [
    ("not found", FaultCode::TextNotFound, "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-nope\n+y\n"),
    (
        "not unique",
        FaultCode::TextNotUnique,
        "--- a/twice.txt\n+++ b/twice.txt\n@@ -9 +9 @@\n-same\n+other\n",
    ),
    (
        "a target that exists",
        FaultCode::Exists,
        "diff --git a/x.txt b/x.txt\nnew file mode 100644\n--- /dev/null\n+++ b/x.txt\n\
         @@ -0,0 +1 @@\n+x\n",
    ),
    (
        "a move onto a file",
        FaultCode::Exists,
        "diff --git a/x.txt b/twice.txt\nsimilarity index 100%\nrename from x.txt\n\
         rename to twice.txt\n",
    ),
    (
        "a copy onto a file",
        FaultCode::Exists,
        "diff --git a/x.txt b/twice.txt\nsimilarity index 100%\ncopy from x.txt\n\
         copy to twice.txt\n",
    ),
    ("a missing file", FaultCode::NotFound, "--- a/no.txt\n+++ b/no.txt\n@@ -1 +1 @@\n-a\n+b\n"),
    (
        "a missing file that is to go",
        FaultCode::NotFound,
        "diff --git a/no.txt b/no.txt\ndeleted file mode 100644\n--- a/no.txt\n+++ /dev/null\n\
         @@ -1 +0,0 @@\n-a\n",
    ),
    (
        "a file that is to go and has more lines",
        FaultCode::TextNotFound,
        "diff --git a/twice.txt b/twice.txt\ndeleted file mode 100644\n--- a/twice.txt\n\
         +++ /dev/null\n@@ -1 +0,0 @@\n-same\n",
    ),
    ("binary", FaultCode::Binary, "--- a/b.bin\n+++ b/b.bin\n@@ -1 +1 @@\n-a\n+b\n"),
    ("too large", FaultCode::TooLarge, "--- a/large\n+++ b/large\n@@ -1 +1 @@\n-a\n+b\n"),
    (
        "too large to be moved",
        FaultCode::TooLarge,
        "diff --git a/large b/larger\nsimilarity index 100%\nrename from large\n\
         rename to larger\n",
    ),
    ("a folder", FaultCode::IsFolder, "--- a/d\n+++ b/d\n@@ -1 +1 @@\n-a\n+b\n"),
    (
        "a file below a file",
        FaultCode::NotFolder,
        "diff --git a/x.txt/y b/x.txt/y\nnew file mode 100644\n--- /dev/null\n+++ b/x.txt/y\n\
         @@ -0,0 +1 @@\n+x\n",
    ),
    (
        "a new file where a folder is",
        FaultCode::IsFolder,
        "diff --git a/d b/d\nnew file mode 100644\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+x\n",
    ),
    (
        "a link that leaves the workspace",
        FaultCode::PathOutside,
        "--- a/leaves\n+++ b/leaves\n@@ -1 +1 @@\n-a\n+b\n",
    ),
];

fn place() -> Arc<Folders> {
    let place = Folders::new();
    let save = |name: &str, text: &[u8]| fs::write(place.root().join(name), text).unwrap();
    save("edit.txt", b"one\ntwo\nthree\n");
    save("gone.txt", b"gone\n");
    save("from.txt", b"f1\nf2\n");
    save("mode.sh", b"#!/bin/sh\n");
    save("x.txt", b"x\n");
    save("twice.txt", b"same\nbetween\nsame\n");
    save("b.bin", b"a\n\0\x01\x02");
    save("large", &b"a\n".repeat(10_000));
    fs::create_dir(place.root().join("d")).unwrap();
    fs::write(place.root().join("d/in"), "in\n").unwrap();
    symlink("/etc/hostname", place.root().join("leaves")).unwrap();
    place
}

fn plan() -> OpenOptions {
    OpenOptions {
        limits: Limits { load_bytes: LOAD_BYTES, ..Limits::default() },
        ..OpenOptions::default()
    }
}

#[test]
fn c3_a_section_that_fails_keeps_all_others_from_happening() {
    let place = place();
    let child = place.open_as_child(plan());
    let before = tree(place.root());
    for (what, code, bad) in BAD {
        for at in 0..=GOOD.len() {
            let mut sections = GOOD.to_vec();
            sections.insert(at, bad);
            let fault = child.perform(patch(&sections.concat())).expect_err(what);
            assert_eq!(fault.code(), code, "{what} at {at}: {fault}");
            assert_eq!(tree(place.root()), before, "{what} at {at}");
            assert_eq!(child.history(None, 9).len(), 0, "{what} at {at}");
            assert_eq!(staged(place.state()), Vec::<String>::new(), "{what} at {at}");
        }
    }
    child.perform(patch(&GOOD.concat())).unwrap();
    assert_ne!(tree(place.root()), before);
    assert_eq!(child.verified(), Vec::<String>::new());
}

#[test]
fn r12_what_becomes_too_large_is_refused_as_a_whole() {
    let place = place();
    let child = place.open_as_child(plan());
    let before = tree(place.root());
    let lines = "+0123456789abcdef\n".repeat(1_000);
    let new = format!(
        "diff --git a/big b/big\nnew file mode 100644\n--- /dev/null\n+++ b/big\n\
         @@ -0,0 +1,1000 @@\n{lines}"
    );
    let grown = format!("--- a/x.txt\n+++ b/x.txt\n@@ -1 +1,1001 @@\n x\n{lines}");
    for bad in [new, grown] {
        let fault = child.perform(patch(&(GOOD.concat() + &bad))).expect_err("too large");
        assert_eq!(fault.code(), FaultCode::TooLarge, "{fault}");
        assert_eq!(tree(place.root()), before);
        assert_eq!(staged(place.state()), Vec::<String>::new());
    }
}

#[test]
fn x3_a_patch_that_asks_for_what_is_there_already_says_so() {
    let place = place();
    let child = place.open_as_child(plan());
    let same = "diff --git a/mode.sh b/mode.sh\nold mode 100755\nnew mode 100644\n";
    let fault = child.perform(patch(same)).expect_err("nothing to do");
    assert_eq!(fault.code(), FaultCode::NoChange, "{fault}");
    assert_eq!(child.history(None, 9).len(), 0);
}
