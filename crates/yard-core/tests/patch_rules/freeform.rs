//! The Begin/End Patch envelope: every form that is accepted, every one that is refused.

use yard_core::patch::{Action, PatchForm, Sign, Transfer, parse};
use yard_fixtures::patches::print;

use super::{one, refused};

const EXAMPLE: &str = "*** Begin Patch
*** Add File: docs/new.md
+first line
+second line
*** Update File: src/app.py
*** Move to: src/main.py
@@ class App:
@@ def run(self):
 context line
-removed line
+added line
*** End of File
*** Delete File: old.txt
*** End Patch
";

#[test]
fn x3_the_envelope_is_read() {
    let patch = parse(EXAMPLE).unwrap();
    let [new, app, old] = patch.files.as_slice() else { panic!("{patch:?}") };
    assert!(patch.files.iter().all(|file| file.form == PatchForm::Freeform));
    assert_eq!((new.action, new.line), (Action::Add, 2));
    assert_eq!((new.old_path.as_deref(), new.new_path.as_deref()), (None, Some("docs/new.md")));
    assert_eq!(new.hunks[0].new_lines().collect::<Vec<_>>(), ["first line", "second line"]);
    assert_eq!((app.action, app.transfer), (Action::Update, Some(Transfer::Rename)));
    assert_eq!(app.old_path.as_deref(), Some("src/app.py"));
    assert_eq!(app.new_path.as_deref(), Some("src/main.py"));
    let [chunk] = app.hunks.as_slice() else { panic!("{app:?}") };
    assert_eq!(chunk.anchors, ["class App:", "def run(self):"]);
    assert_eq!(chunk.old_lines().collect::<Vec<_>>(), ["context line", "removed line"]);
    assert_eq!(chunk.new_lines().collect::<Vec<_>>(), ["context line", "added line"]);
    assert!(chunk.at_end && chunk.line == 7);
    assert_eq!((old.action, old.old_path.as_deref()), (Action::Delete, Some("old.txt")));
    assert_eq!(old.new_path, None);
    assert_eq!(print(&patch), EXAMPLE);
}

#[test]
fn x3_wrappers_around_the_envelope_are_accepted() {
    let plain = print(&parse(EXAMPLE).unwrap());
    for (before, after) in [
        ("", "\n\n"),
        ("\n  \n", ""),
        ("<<EOF\n", "EOF\n"),
        ("<<'EOF'\n", "EOF"),
        ("<<\"EOF\"\n", "EOF\n"),
        ("apply_patch <<'EOF'\n", "EOF\n"),
        ("apply_patch\n", ""),
        ("apply_patch ", ""),
        ("```\n", "```\n"),
        ("```diff\n", "```"),
        ("Here is the patch:\n\n```patch\n", "```\nIt does what you asked for.\n"),
    ] {
        let wrapped = format!("{before}{EXAMPLE}{after}");
        let patch = parse(&wrapped).unwrap_or_else(|error| panic!("{error}\n{wrapped}"));
        assert_eq!(print(&patch), plain, "{wrapped}");
    }
}

#[test]
fn x3_white_space_around_headers_is_accepted() {
    let plain = print(&parse(EXAMPLE).unwrap());
    let spaced = EXAMPLE
        .replace("*** Begin Patch", "  *** Begin Patch\t")
        .replace("*** Add", " *** Add")
        .replace("docs/new.md", "  docs/new.md  ")
        .replace("*** Update File: src", "\t*** Update File:src")
        .replace("*** Move", "   *** Move")
        .replace("*** End of File", "*** End of File  ")
        .replace("*** Delete", "  *** Delete")
        .replace("*** End Patch", " *** End Patch ");
    assert_eq!(print(&parse(&spaced).unwrap()), plain);
    let crlf = EXAMPLE.replace('\n', "\r\n");
    assert_eq!(print(&parse(&crlf).unwrap()), plain);
    let unfinished = EXAMPLE.trim_end();
    assert_eq!(print(&parse(unfinished).unwrap()), plain);
    let spread =
        EXAMPLE.replace("*** Update", "\n\n*** Update").replace("*** Delete", "\n*** Delete");
    assert_eq!(print(&parse(&spread).unwrap()), plain);
}

#[test]
fn x3_chunks_may_omit_what_says_nothing() {
    let chunk = |body: &str| one(&envelope(&format!("*** Update File: f\n{body}"))).hunks;
    assert!(chunk("-a\n+b\n")[0].anchors.is_empty());
    assert!(chunk("@@\n-a\n+b\n")[0].anchors.is_empty());
    assert!(chunk("@@   \n-a\n")[0].anchors.is_empty());
    assert_eq!(chunk("@@\n@@ x\n-a\n")[0].anchors, ["x"]);
    assert_eq!(chunk("@@   def f():\n-a\n")[0].anchors, ["  def f():"]);
    assert!(chunk("@@ -3,4 +3,5 @@ fn x() {\n-a\n")[0].anchors.is_empty());
    assert_eq!(chunk("\n\n@@\n-a\n+b\n").len(), 1);
    assert_eq!(chunk("\n-a\n+b\n")[0].lines.len(), 3);
    assert_eq!(chunk("-a\n*** End of File\n\n@@ x\n-b\n").len(), 2);
    assert_eq!(chunk("-a\n@@\n-b\n@@ x\n-c\n").len(), 3);
    let empty = &chunk(" a\n\n-b\n")[0];
    assert_eq!(empty.lines[1].sign, Sign::Context);
    assert_eq!(empty.old_lines().collect::<Vec<_>>(), ["a", "", "b"]);
    let separated = chunk("@@ x\n+new\n\n");
    assert_eq!(separated[0].lines.len(), 1, "an empty line below additions only separates");
}

#[test]
fn x3_empty_files_and_pure_renames_are_accepted() {
    assert!(one(&envelope("*** Add File: empty\n")).hunks.is_empty());
    let moved = one(&envelope("*** Update File: a\n*** Move to: b\n"));
    assert_eq!((moved.transfer, moved.hunks.len()), (Some(Transfer::Rename), 0));
    let onto_itself = one(&envelope("*** Update File: a\n*** Move to: a\n"));
    assert_eq!((onto_itself.transfer, onto_itself.new_path.as_deref()), (None, Some("a")));
}

#[test]
fn x3_markers_as_text_of_the_file_are_text() {
    let patch = envelope("*** Update File: PATCH.md\n *** Begin Patch\n-x\n+y\n *** End Patch\n");
    let old = one(&patch);
    let old: Vec<&str> = old.hunks[0].old_lines().collect();
    assert_eq!(old, ["*** Begin Patch", "x", "*** End Patch"]);
    let added = one(&envelope("*** Add File: x\n+*** End Patch\n+*** Delete File: y\n"));
    assert_eq!(added.hunks[0].lines.len(), 2);
}

fn envelope(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

#[test]
fn x3_an_envelope_without_its_ends_is_refused() {
    refused("*** Add File: x\n+y\n*** End Patch\n", 1, &["expected", "*** Begin Patch"]);
    refused("*** Begin Patch\n*** Add File: x\n+y\n", 3, &["expected", "*** End Patch"]);
    refused("*** End Patch\n*** Begin Patch\n", 1, &["*** Begin Patch"]);
    let two = format!("{EXAMPLE}{EXAMPLE}");
    refused(&two, 14, &["one envelope"]);
}

#[test]
fn x3_unknown_headers_are_refused() {
    let words = &["expected", "*** Add File", "*** Update File", "*** Delete File"];
    refused(&envelope("*** Rename File: x\n"), 2, words);
    refused(&envelope("*** Add File: x\n+a\n*** Frobnicate\n"), 4, words);
    refused(&envelope("*** Update File: x\n-a\n*** Frobnicate: b\n"), 4, words);
    refused(&envelope("*** Delete File: x\n-all of it\n"), 3, words);
    refused(&envelope("hello\n"), 2, words);
    refused(&envelope("*** Add File:  \n+x\n"), 2, &["expected a path"]);
    refused(&envelope("*** Update File: x\n*** Move to:\n-x\n"), 3, &["expected a path"]);
}

#[test]
fn x3_an_update_that_says_nothing_is_refused() {
    let words = &["has no chunk", "expected"];
    refused(&envelope("*** Update File: x\n"), 3, words);
    refused(&envelope("*** Update File: x\n*** Delete File: y\n"), 3, words);
    refused(&envelope("*** Update File: x\n@@ def f():\n"), 4, &["without lines", "expected"]);
    refused(&envelope("*** Update File: x\n@@\n*** End of File\n"), 4, &["without lines"]);
}

#[test]
fn x3_lines_without_a_sign_are_refused() {
    let words = &["none of the three signs", "expected"];
    refused(&envelope("*** Update File: x\n@@\n-a\nb\n+c\n"), 5, words);
    refused(&envelope("*** Update File: x\n\tb\n"), 3, words);
    refused(&envelope("*** Add File: x\n+a\nb\n"), 4, &["expected `+`"]);
    refused(&envelope("*** Add File: x\n+a\n\n+b\n"), 5, &["expected `+`", "empty line"]);
    refused(
        &envelope("*** Update File: x\n-a\n*** End of File\n-b\n"),
        5,
        &["no header", "expected"],
    );
}

#[test]
fn x3_an_envelope_without_a_section_is_refused() {
    refused(&envelope(""), 2, &["no section", "expected"]);
    refused(&envelope("\n\n"), 4, &["no section"]);
}

#[test]
fn x3_sections_that_contradict_are_refused() {
    let add = "*** Add File: f\n+x\n";
    let delete = "*** Delete File: f\n";
    let update = "*** Update File: f\n-x\n+y\n";
    let away = "*** Update File: f\n*** Move to: g\n";
    let here = "*** Update File: g\n*** Move to: f\n";
    for (first, second) in [
        (add, add),
        (add, delete),
        (add, update),
        (delete, add),
        (delete, delete),
        (delete, update),
        (update, delete),
        (update, away),
        (away, update),
        (away, away),
        (away, delete),
        (here, update),
        (here, add),
        (add, here),
    ] {
        let patch = envelope(&format!("{first}{second}"));
        let line = 2 + first.lines().count();
        refused(&patch, line, &["contradicts the one of line 2", "Expected"]);
    }
    refused(&envelope("*** Delete File: ./f\n*** Add File: a/../f\n+x\n"), 3, &["contradicts"]);
    assert!(parse(&envelope(&format!("{update}{update}"))).is_ok());
    assert!(parse(&envelope("*** Delete File: f\n*** Add File: F\n+x\n")).is_ok());
}

#[test]
fn what_is_no_patch_is_told_what_one_looks_like() {
    for text in ["", "hello\nworld\n", "{\"patch\": 1}"] {
        refused(text, 1, &["no patch", "--- a/path", "*** Begin Patch"]);
    }
    let written_out = "*** Begin Patch\\n*** Delete File: a\\n*** End Patch\\n";
    refused(written_out, 1, &["written out as `\\n`", "send real line breaks"]);
    refused("--- a/f\\n+++ b/f\\n@@ -1 +1 @@\\n-a\\n+b\\n", 1, &["send real line breaks"]);
    refused("fix:\n@@ -1 +1 @@\n-a\n+b\n", 2, &["of which file", "--- a/path"]);
    refused("*** a.txt 2026\n--- b.txt 2026\n***************\n", 1, &["context diff", "diff -u"]);
}
