//! Unified diffs: what git and GNU diff write, and what is refused by name.

use yard_core::patch::{Action, Patch, Transfer, parse};
use yard_fixtures::patches::{apply_all, print, reverse};

use super::{applied, one, refused, text_of};

const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

#[test]
fn c3_many_files_in_one_diff() {
    let patch = parse(
        "From 1234 Mon Sep 17 00:00:00 2001\nSubject: words\n\n - a list, --- and more\n---\n x | 2 +-\n\n\
         diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@ fn x\n-a\n+b\n\
         diff --git a/new b/new\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\n\
         diff --git a/old b/old\ndeleted file mode 100644\nindex 1..0\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n\
         diff --git a/from b/to\nsimilarity index 90%\nrename from from\nrename to to\nindex 1..2 100644\n--- a/from\n+++ b/to\n@@ -1 +1 @@\n-a\n+b\n\
         diff --git a/c d b/e f\nsimilarity index 100%\ncopy from c d\ncopy to e f\n\
         diff --git a/m o b/m o\nold mode 100644\nnew mode 100755\n\
         diff --git a/empty b/empty\nnew file mode 100644\nindex 0..e69de29\n-- \n2.47.3\n",
    )
    .unwrap();
    let summary: Vec<_> = patch.files.iter().map(|file| (file.name(), file.action)).collect();
    let expected = [
        ("x", Action::Update),
        ("new", Action::Add),
        ("old", Action::Delete),
        ("to", Action::Update),
        ("e f", Action::Update),
        ("m o", Action::Update),
        ("empty", Action::Add),
    ];
    assert_eq!(summary, expected);
    assert_eq!(patch.files[1].new_mode, Some(0o100_755));
    assert!(patch.files[1].hunks[0].new_open && !patch.files[1].hunks[0].old_open);
    assert_eq!(patch.files[3].transfer, Some(Transfer::Rename));
    assert_eq!(patch.files[3].old_path.as_deref(), Some("from"));
    assert_eq!(patch.files[4].transfer, Some(Transfer::Copy));
    assert_eq!(patch.files[5].old_mode.zip(patch.files[5].new_mode), Some((0o100_644, 0o100_755)));
    assert_eq!(patch.files[0].line, 8);
    assert_eq!(patch.files[0].hunks[0].line, 12);
}

#[test]
fn c3_names_with_and_without_prefixes() {
    for (old, new, path) in [
        ("a/src/x", "b/src/x", "src/x"),
        ("src/x", "src/x", "src/x"),
        ("a/x", "a/x", "a/x"),
        ("i/x", "w/x", "x"),
        ("x.orig\t2026-01-01 00:00:00", "x\t2026-01-01 00:00:01", "x"),
        ("old/src/x\t2026", "new/src/x\t2026", "src/x"),
        ("a/with space\t", "b/with space\t", "with space"),
        ("\"a/\\303\\244\\t\\\"\"", "\"b/\\303\\244\\t\\\"\"", "ä\t\""),
        ("./x", "./x", "./x"),
    ] {
        let file = one(&format!("--- {old}\n+++ {new}\n{HUNK}"));
        assert_eq!(file.old_path.as_deref(), Some(path), "{old}");
        assert_eq!(file.new_path.as_deref(), Some(path), "{new}");
    }
    refused(&format!("--- x\n+++ y\n{HUNK}"), 1, &["two files", "rename from"]);
    let moved = one(&format!("--- a/x\n+++ b/y\n{HUNK}"));
    assert_eq!((moved.action, moved.transfer), (Action::Update, Some(Transfer::Rename)));
    assert_eq!((moved.old_path.as_deref(), moved.name()), (Some("x"), "y"));
    refused("--- \n+++ x\n@@ -1 +1 @@\n-a\n+b\n", 1, &["name of a file"]);
    refused(&format!("--- \"x\n+++ x\n{HUNK}"), 1, &["name of a file"]);
    refused(&format!("--- /dev/null\n+++ /dev/null\n{HUNK}"), 1, &["name of a file"]);
}

#[test]
fn c3_new_and_deleted_files_of_gnu_diff() {
    let none = "1970-01-01 00:00:00.000000000 +0000";
    let added = one(&format!("--- old/x\t{none}\n+++ new/x\t2026\n@@ -0,0 +1 @@\n+a\n"));
    assert_eq!((added.action, added.name()), (Action::Add, "new/x"));
    let deleted = one(&format!("--- x\t2026\n+++ x\t{none}\n@@ -1 +0,0 @@\n-a\n"));
    assert_eq!(deleted.action, Action::Delete);
    let added = one("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
    assert_eq!((added.action, added.name()), (Action::Add, "x"));
    let in_a_folder = one("--- c/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
    assert_eq!(in_a_folder.name(), "c/x");
    refused("--- /dev/null\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n", 3, &["new", "expected one hunk"]);
    refused("--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", 3, &["deleted", "expected one hunk"]);
}

#[test]
fn c3_counts_that_are_wrong_are_counted_anew_where_the_body_is_clear() {
    let head = "--- a/x\n+++ b/x\n";
    let file = "1\n2\na\n4\n5\n6\na\n8\n";
    for (body, after) in [
        // Fewer lines than counted, and more.
        ("@@ -2,9 +2,9 @@\n 2\n-a\n+b\n", "1\n2\nb\n4\n5\n6\na\n8\n"),
        ("@@ -2 +2 @@\n 2\n-a\n+b\n+c\n 4\n", "1\n2\nb\nc\n4\n5\n6\na\n8\n"),
        // The counts of the two sides changed places.
        ("@@ -2,3 +2,2 @@\n 2\n-a\n+b\n+c\n", "1\n2\nb\nc\n4\n5\n6\na\n8\n"),
        // Another hunk follows; an empty line sets it apart.
        (
            "@@ -2,5 +2,5 @@\n 2\n-a\n+b\n\n@@ -7,1 +7,9 @@\n-a\n+c\n 8\n",
            "1\n2\nb\n4\n5\n6\nc\n8\n",
        ),
        // The signature of a mail.
        ("@@ -2,9 +2,9 @@\n 2\n-a\n+b\n-- \n2.47.3\n", "1\n2\nb\n4\n5\n6\na\n8\n"),
    ] {
        let applied = applied(file, &format!("{head}{body}"));
        assert_eq!(text_of(&applied.unwrap()), after, "{body}");
    }
    // Another file follows, whose names are no lines of this one.
    let two =
        format!("{head}@@ -2,9 +2,9 @@\n 2\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1,4 +1,4 @@\n-a\n+b\n");
    let patch = parse(&two).unwrap();
    assert_eq!(patch.files.iter().map(|file| file.name()).collect::<Vec<_>>(), ["x", "y"]);
    assert_eq!(patch.files[0].hunks[0].lines.len(), 3);
}

#[test]
fn c3_at_lines_without_numbers_are_taken_where_the_body_names_one_place() {
    let head = "--- a/x\n+++ b/x\n";
    let file = "def f():\n    a\n    b\ndef g():\n    a\n    c\n";
    for (hunk, after) in [
        ("@@\n-    b\n+    B\n", file.replace('b', "B")),
        ("@@ @@\n     a\n-    c\n+    C\n", file.replace('c', "C")),
        (
            "@@ ... @@\n-    b\n+    B\n@@\n-    c\n+    C\n",
            file.replace('b', "B").replace('c', "C"),
        ),
        ("@@ def g():\n-    a\n+    A\n", file.replace("g():\n    a", "g():\n    A")),
        ("@@ def g(): @@\n+    new\n", file.replace("g():\n", "g():\n    new\n")),
    ] {
        let applied = applied(file, &format!("{head}{hunk}"));
        assert_eq!(text_of(&applied.unwrap()), after, "{hunk}");
    }
    let added = one("--- /dev/null\n+++ b/x\n@@\n+a\n");
    assert_eq!((added.action, added.hunks[0].lines.len()), (Action::Add, 1));
    let both = applied(file, &format!("{head}@@\n-    a\n+    A\n")).unwrap_err();
    assert!(both.message().contains('2') && both.message().contains('5'), "{both}");
    let nowhere = applied(file, &format!("{head}@@\n+    new\n")).unwrap_err();
    assert!(nowhere.message().contains("no numbers"), "{nowhere}");
    let printed = parse(&format!("{head}@@ def g():\n-    a\n+    A\n")).unwrap();
    assert_eq!(parse(&print(&printed)).unwrap().files[0].hunks[0].anchors, ["def g():"]);
    let closed_twice = parse(&format!("{head}@@ see @@ 1 @@ @@\n-    a\n+    A\n")).unwrap();
    assert_eq!(closed_twice.files[0].hunks[0].anchors, ["see @@ 1 @@"]);
    let printed = parse(&print(&closed_twice)).unwrap();
    assert_eq!(printed.files[0].hunks[0].anchors, ["see @@ 1 @@"]);
}

#[test]
fn c3_counts_that_are_wrong_are_refused_where_the_body_is_not_clear() {
    let head = "--- a/x\n+++ b/x\n";
    let words = &["hunk of line 3", "expected", "2 old and 2 new"];
    // It may have been cut off: its last line has no end.
    let short = format!("{head}@@ -1,2 +1,2 @@\n-a\n+b");
    refused(&short, 6, &[words[0], words[2], "the patch ends here after 1 old and 1 new"]);
    let next = format!("{head}@@ -1,2 +1,2 @@\n-a\n+b\nwithout a sign\n+c\n");
    refused(&next, 6, &[words[0], words[1], words[2], "something else"]);
    // Where lines are only added, nothing but the header says where.
    let added = format!("{head}@@ -1,2 +1,9 @@\n+a\n+b\n");
    refused(&added, 6, &["2 old and 9 new", "the patch ends here"]);
    refused(&format!("{head}@@ -1,x +1 @@\n-a\n"), 3, &["expected a hunk of the form"]);
    refused(&format!("{head}@@ -99999999999 +1 @@\n-a\n"), 3, &["expected a hunk"]);
    refused(&format!("{head}@@\nno sign\n"), 3, &["expected a hunk of the form"]);
    refused(head, 3, &["expected a hunk"]);
    refused(&format!("{head}@@ -0,0 +0,0 @@\n"), 3, &["without lines"]);
    let both = "diff --git a/x b/x\nnew mode 100755\ndeleted file mode 100644\n";
    refused(both, 1, &["contradict each other", "expected"]);
    let renamed = "diff --git a/x b/y\nnew file mode 100644\nrename from x\nrename to y\n";
    refused(renamed, 1, &["contradict each other"]);
    refused("diff --git a/x b/y\ndeleted file mode 100644\n", 1, &["two files"]);
    refused("diff --git a/x b/x\nindex 1..2\n", 1, &["changes nothing", "expected"]);
}

#[test]
fn c3_what_is_no_text_is_refused_by_name() {
    let binary = "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 0\n";
    refused(binary, 3, &["binary"]);
    refused("diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n", 3, &["binary"]);
    refused("Binary files old/x and new/x differ\n", 1, &["binary"]);
    let link = "diff --git a/x b/x\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/x\n";
    refused(link, 2, &["symbolic link"]);
    refused("diff --git a/x b/x\nindex 1..2 160000\n--- a/x\n+++ b/x\n", 2, &["submodule"]);
    refused("diff --cc x\nindex 1,2..3\n", 1, &["merge", "git diff"]);
    refused("diff --git a/x b/x\nold mode 9\nnew mode 100644\n", 2, &["mode like 100644"]);
    refused("diff --git a/x b/y\nrename from x\n", 1, &["`from` and a `to`"]);
}

#[test]
fn c3_no_newline_at_the_end() {
    let head = "--- a/x\n+++ b/x\n";
    let remark = "\\ No newline at end of file\n";
    for (before, hunk, after) in [
        ("a", format!("-a\n{remark}+b\n{remark}"), "b"),
        ("a", format!("-a\n{remark}+b\n"), "b\n"),
        ("a\n", format!("-a\n+b\n{remark}"), "b"),
        ("a\n", "-a\n+b\n".to_owned(), "b\n"),
        // The patch is silent about the end: it stays as it is (R5).
        ("a", "-a\n+b\n".to_owned(), "b"),
        ("a\n", format!("-a\n{remark}+b\n{remark}"), "b\n"),
    ] {
        let patch = format!("{head}@@ -1 +1 @@\n{hunk}");
        assert_eq!(text_of(&applied(before, &patch).unwrap()), after, "{before:?} {patch}");
    }
    let middle = format!("{head}@@ -1,2 +1 @@\n-a\n{remark}-b\n+c\n");
    refused(&middle, 6, &["without a newline", "expected none"]);
    let first = format!("{head}@@ -1 +1 @@\n{remark}-a\n+c\n");
    refused(&first, 4, &["expected a line"]);
}

#[test]
fn c3_patches_with_crlf_are_read() {
    let patch = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n\
                 @@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n";
    let crlf = parse(&patch.replace('\n', "\r\n")).unwrap();
    assert_eq!(crlf, parse(patch).unwrap());
}

#[test]
fn c3_lost_spaces_of_empty_context_lines_are_no_matter() {
    let patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n";
    assert_eq!(text_of(&applied("a\n\nb\n", patch).unwrap()), "a\n\nc\n");
}

#[test]
fn c3_reversed_patches_swap_their_sides() {
    let text = "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nrename from x\nrename to y\n\
                --- a/x\n+++ b/y\n@@ -3,2 +4 @@\n-a\n-b\n\\ No newline at end of file\n+c\n";
    let patch = parse(text).unwrap();
    let reversed = reverse(&patch).unwrap();
    let file = &reversed.files[0];
    assert_eq!((file.old_path.as_deref(), file.new_path.as_deref()), (Some("y"), Some("x")));
    assert_eq!((file.old_mode, file.new_mode), (Some(0o100_755), Some(0o100_644)));
    assert!(file.hunks[0].new_open && !file.hunks[0].old_open);
    assert_eq!(reverse(&reversed).unwrap(), patch);
    let envelope = "*** Begin Patch\n*** Delete File: x\n*** End Patch\n";
    let error = reverse(&parse(envelope).unwrap()).unwrap_err();
    assert!(error.message.contains("cannot be turned around"), "{error}");
    let copy = "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n";
    let undone: Patch = reverse(&parse(copy).unwrap()).unwrap();
    assert_eq!(
        (undone.files[0].action, undone.files[0].new_path.as_deref()),
        (Action::Delete, None)
    );
    assert!(reverse(&undone).is_err());
}

#[test]
fn c3_sections_of_one_file_may_follow_each_other() {
    let section = |hunk: &str| format!("--- a/x\n+++ b/x\n{hunk}");
    let patch =
        parse(&[section("@@ -1 +1 @@\n-a\n+b\n"), section("@@ -1 +1 @@\n-b\n+c\n")].concat());
    let patch = patch.unwrap();
    let read = |_: &str| Ok(Some(b"a\n".to_vec()));
    let changes = apply_all(&patch, read).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].content, b"c\n");
    assert_eq!(changes[0].hunks.len(), 2);
    let back = apply_all(&reverse(&patch).unwrap(), |_| Ok(Some(b"c\n".to_vec())));
    assert_eq!(back.unwrap()[0].content, b"a\n");
}
