//! Where hunks land, what becomes of the bytes around them, and what a refusal says.

use yard_core::patch::{AppliedHunk, Pass, apply, parse};
use yard_core::{FaultCode, Subject};
use yard_fixtures::patches::apply_all;

use super::{applied, one, text_of};

fn envelope(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n")
}

fn diff(body: &str) -> String {
    format!("--- a/f\n+++ b/f\n{body}")
}

/// Checks the text after a patch, and where and how its only hunk was placed.
fn lands(before: &str, patch: &str, after: &str, line: u64, pass: Pass) {
    let done = applied(before, patch).unwrap_or_else(|fault| panic!("{fault}\n{patch}"));
    assert_eq!(text_of(&done), after, "{patch}");
    assert_eq!(done.hunks, [AppliedHunk { line, pass }], "{patch}");
}

fn fails(before: &str, patch: &str, code: FaultCode, words: &[&str]) {
    let fault = applied(before, patch).expect_err(patch);
    assert_eq!((fault.code(), fault.subject()), (code, Some(Subject::Find)), "{fault}");
    for word in words.iter().chain(&["Nothing was changed"]) {
        assert!(fault.message().contains(word), "{word:?} is not in {fault}");
    }
}

#[test]
fn x3_a_hunk_at_its_stated_line_is_placed_there() {
    let patch = diff("@@ -3 +3 @@\n-x\n+y\n");
    lands("x\nx\nx\nx\n", &patch, "x\nx\ny\nx\n", 3, Pass::Stated);
}

#[test]
fn x3_a_drifted_hunk_must_be_the_only_one() {
    let patch = diff("@@ -1,2 +1,2 @@\n a\n-x\n+y\n");
    lands("0\n0\na\nx\n", &patch, "0\n0\na\ny\n", 3, Pass::Exact);
    let words = ["hunk 1 (line 3 of the patch)", "in 2 places, at lines 2 and 4", "f: "];
    fails("0\na\nx\na\nx\n", &patch, FaultCode::TextNotUnique, &words);
}

#[test]
fn x3_after_a_drift_two_claims_are_none() {
    let two = diff("@@ -1 +1 @@\n-first\n+FIRST\n@@ -3 +3 @@\n-x\n+y\n");
    let one_place = applied("0\nfirst\nx\n1\n", &two).unwrap();
    assert_eq!(text_of(&one_place), "0\nFIRST\ny\n1\n");
    assert_eq!(one_place.hunks[1], AppliedHunk { line: 3, pass: Pass::Stated });
    let both = ["at lines 3 and 4"];
    fails("0\nfirst\nx\nx\n", &two, FaultCode::TextNotUnique, &both);
    let unanchored = diff("@@ -1 +1 @@\n-first\n+FIRST\n@@ -2,0 +3 @@\n+y\n");
    fails("0\nfirst\nx\n", &unanchored, FaultCode::TextNotFound, &["names no line", "Add some"]);
    let past = diff("@@ -9,0 +10 @@\n+y\n");
    fails("0\n", &past, FaultCode::TextNotFound, &["names no line"]);
}

#[test]
fn x3_the_first_pass_that_matches_counts() {
    let patch = diff("@@ -9 +9 @@\n-  x = \"1\"\n+  x = \"2\"\n");
    lands("x = \"1\"\n  x = \"1\"\n", &patch, "x = \"1\"\n  x = \"2\"\n", 2, Pass::Exact);
    lands("0\n  x = \"1\" \t\n", &patch, "0\n  x = \"2\"\n", 2, Pass::TrailingSpace);
    lands("0\n\tx = \"1\"\n", &patch, "0\n\tx = \"2\"\n", 2, Pass::SurroundingSpace);
    lands("0\n  x = “1”\n", &patch, "0\n  x = \"2\"\n", 2, Pass::Punctuation);
    let words = ["in 2 places, at lines 1 and 2 (white space at line ends ignored)"];
    fails("  x = \"1\" \n  x = \"1\"\t\n", &patch, FaultCode::TextNotUnique, &words);
}

#[test]
fn x3_looser_matching_is_unique_even_at_the_stated_line() {
    let patch = diff("@@ -1 +1 @@\n-x\n+y\n");
    fails(" x\n0\n x\n", &patch, FaultCode::TextNotUnique, &["lines 1 and 3"]);
}

#[test]
fn x3_fuzz_is_the_last_resort_and_unique() {
    let hunk = "@@ -1,5 +1,5 @@\n one\n two\n-x\n+y\n three\n four\n";
    lands(
        "ONE\ntwo\nx\nthree\nfour\n",
        &diff(hunk),
        "ONE\ntwo\ny\nthree\nfour\n",
        2,
        Pass::Fuzz(2),
    );
    let twice = "two\nx\nthree\n0\ntwo\nx\nthree\n";
    fails(twice, &diff(hunk), FaultCode::TextNotUnique, &["lines 1 and 5", "2 context lines"]);
    let adds = "@@ -1,2 +1,3 @@\n one\n+y\n two\n";
    fails("ONE\nTWO\n", &diff(adds), FaultCode::TextNotFound, &["was not found"]);
}

#[test]
fn x3_context_next_to_a_changed_line_is_never_left_out() {
    let function = |name: &str| format!("fn {name}() {{\n    let x = 1;\n    done();\n}}\n\n");
    let now = format!("{}{}", function("second"), function("third"));
    // The hunk is of a function `first` that is gone: its last lines stand in two others.
    let hunk =
        "@@ -1,4 +1,4 @@\n fn first() {\n-    let x = 1;\n+    let x = 2;\n     done();\n }\n";
    let gone = ["hunk 1", "was not found", "Nothing was changed"];
    fails(&now, &diff(hunk), FaultCode::TextNotFound, &gone);
    fails(&function("second"), &diff(hunk), FaultCode::TextNotFound, &gone);
    for now in ["one\nTWO\nx\nthree\nfour\n", "one\ntwo\nx\nTHREE\nfour\n"] {
        let hunk = "@@ -1,5 +1,5 @@\n one\n two\n-x\n+y\n three\n four\n";
        fails(now, &diff(hunk), FaultCode::TextNotFound, &["was not found"]);
    }
    let three = "@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-x\n+y\n 4\n 5\n 6\n";
    lands("a\nb\n3\nx\n4\nc\nd\n", &diff(three), "a\nb\n3\ny\n4\nc\nd\n", 3, Pass::Fuzz(4));
    fails("1\n2\n0\nx\n4\n5\n6\n", &diff(three), FaultCode::TextNotFound, &["was not found"]);
}

#[test]
fn x3_what_stands_twice_without_the_left_out_lines_is_refused_wherever_it_stands() {
    // The first hunk is where the first of the two places is.
    let hunks = "@@ -1,3 +1,3 @@\n b\n-x\n+y\n c\n@@ -9,5 +9,5 @@\n a\n b\n-x\n+z\n c\n d\n";
    let now = "b\nx\nc\n0\nA\nb\nx\nc\nD\n";
    let words = ["lines 1 and 6", "2 context lines"];
    fails(now, &diff(hunks), FaultCode::TextNotUnique, &words);
}

#[test]
fn x3_chunks_are_sought_in_order() {
    let patch = envelope("@@\n-x\n+1\n@@\n b\n-x\n+2\n@@\n-x\n+3\n@@ c\n+4\n");
    let words = ["chunk 1 (line 3 of the patch)", "lines 1, 3 and 4"];
    fails("x\nb\nx\nx\nc\n", &patch, FaultCode::TextNotUnique, &words);
    let patch = envelope("@@\n a\n-x\n+1\n@@\n b\n-x\n+2\n@@\n-x\n+3\n@@ c\n+4\n");
    let done = applied("a\nx\nb\nx\nx\nc\n", &patch).unwrap();
    assert_eq!(text_of(&done), "a\n1\nb\n2\n3\nc\n4\n");
    assert_eq!(done.hunks.iter().map(|at| at.line).collect::<Vec<_>>(), [1, 3, 5, 6]);
    let backwards = envelope("@@\n-b\n+B\n@@\n-a\n+A\n");
    fails(
        "a\nb\n",
        &backwards,
        FaultCode::TextNotFound,
        &["stands at line 1", "order of the file"],
    );
}

const PYTHON: &str = "class A:\n    def run(self):\n        x = 1\n        return x\n\n\
                      class B:\n    def run(self):\n        x = 1\n        return x\n\n\
                      def run(self):\n    return x\n";

#[test]
fn x3_anchors_narrow_step_by_step() {
    let change = "         x = 1\n-        return x\n+        return 2\n";
    let words = ["in 2 places, at lines 3 and 8", "`@@` line"];
    fails(PYTHON, &envelope(change), FaultCode::TextNotUnique, &words);
    let b = PYTHON.replace(
        "class B:\n    def run(self):\n        x = 1\n        return x",
        "class B:\n    def run(self):\n        x = 1\n        return 2",
    );
    let a = PYTHON.replacen("return x", "return 2", 1);
    let anchored = |anchors: &str| envelope(&format!("{anchors}{change}"));
    lands(PYTHON, &anchored("@@ class B:\n"), &b, 8, Pass::Exact);
    lands(PYTHON, &anchored("@@ class A:\n"), &a, 3, Pass::Exact);
    lands(PYTHON, &anchored("@@ class A:\n@@ def run(self):\n"), &a, 3, Pass::Exact);
    lands(PYTHON, &anchored("@@ class B:\n@@     def run(self):\n"), &b, 8, Pass::Exact);
    fails(
        PYTHON,
        &anchored("@@     def run(self):\n"),
        FaultCode::TextNotUnique,
        &["lines 3 and 8"],
    );
    let words = ["the `@@` line of chunk 1", "was not found", "line 6"];
    fails(PYTHON, &anchored("@@ class BB:\n"), FaultCode::TextNotFound, &words);
    let above = envelope("@@ def run(self):\n-class B:\n+class C:\n");
    fails(PYTHON, &above, FaultCode::TextNotFound, &["stands at line 6", "not below", "`@@`"]);
    let repeated = envelope("@@ class B:\n class B:\n-    def run(self):\n+    def go(self):\n");
    let gone = PYTHON.replace("B:\n    def run", "B:\n    def go");
    lands(PYTHON, &repeated, &gone, 6, Pass::Exact);
}

#[test]
fn x3_anchors_without_their_indentation_do_not_mislead() {
    // Exactly written, the anchor is the last function; the chunk stands exactly in two others.
    let chunk = "@@ def run(self):\n-        return x\n+        return 2\n";
    fails(PYTHON, &envelope(chunk), FaultCode::TextNotUnique, &["lines 4 and 9"]);
    let one_class =
        PYTHON.split_once("\nclass B").unwrap().0.to_owned() + "\ndef run(self):\n    return x\n";
    let after = one_class.replacen("return x", "return 2", 1);
    lands(&one_class, &envelope(chunk), &after, 4, Pass::Exact);
    // What the block holds is meant, though something below it is spelled more alike.
    let file = "def b():\n    go(1) \ndef c():\n    go(1)\n";
    let patch = envelope("@@ def b():\n-    go(1)\n+    go(2)\n");
    lands(file, &patch, "def b():\n    go(2)\ndef c():\n    go(1)\n", 2, Pass::TrailingSpace);
    // Text without blocks: what stands below the line, if it stands there once.
    let flat = "# One\nsame\n# Two\nsame\n# Three\nother\n";
    let patch = envelope("@@ # Two\n-same\n+new\n");
    lands(flat, &patch, "# One\nsame\n# Two\nnew\n# Three\nother\n", 4, Pass::Exact);
    let patch = envelope("@@ # One\n@@ # Three\n-other\n+new\n");
    lands(flat, &patch, "# One\nsame\n# Two\nsame\n# Three\nnew\n", 6, Pass::Exact);
}

#[test]
fn x3_an_anchor_may_be_named_again_for_the_next_chunk() {
    let patch = envelope(
        "@@ class A:\n-        x = 1\n+        x = 5\n@@ class A:\n-        return x\n+        return 5\n",
    );
    let after = PYTHON.replacen("x = 1\n        return x", "x = 5\n        return 5", 1);
    assert_eq!(text_of(&applied(PYTHON, &patch).unwrap()), after);
}

#[test]
fn x3_additions_go_below_their_anchor_or_to_the_end() {
    lands("a\nb\n", &envelope("@@ a\n+x\n"), "a\nx\nb\n", 1, Pass::Exact);
    lands("a\nb\n", &envelope("@@\n+x\n+y\n"), "a\nb\nx\ny\n", 2, Pass::Stated);
    lands("a\nb\n", &envelope("+x\n*** End of File\n"), "a\nb\nx\n", 2, Pass::Stated);
    lands("", &envelope("+x\n"), "x\n", 0, Pass::Stated);
    lands("a\nb", &envelope("+x\n"), "a\nb\nx", 2, Pass::Stated);
    lands("  a\nb\n", &envelope("@@ a\n+x\n"), "  a\nx\nb\n", 1, Pass::SurroundingSpace);
    let words = ["the line `a` of chunk 1", "lines 1 and 3"];
    fails("a\nb\na\n", &envelope("@@ a\n+x\n"), FaultCode::TextNotUnique, &words);
    fails(
        "a\nb\n",
        &envelope("@@ a\n+x\n*** End of File\n"),
        FaultCode::TextNotFound,
        &["goes on"],
    );
}

#[test]
fn x3_the_end_of_the_file() {
    let patch = envelope("@@\n-x\n+y\n*** End of File\n");
    lands("x\nx\n", &patch, "x\ny\n", 2, Pass::Exact);
    fails("x\n0\n", &patch, FaultCode::TextNotFound, &["stands at line 1", "goes on after it"]);
}

#[test]
fn x3_blank_lines_that_set_chunks_apart_are_no_obstacle() {
    lands("a\nb\n", &envelope("@@\n-a\n+A\n\n"), "A\nb\n", 1, Pass::Fuzz(1));
    lands("a\n\nb\n", &envelope("@@\n-a\n+A\n\n"), "A\n\nb\n", 1, Pass::Exact);
    fails("a\nb\na\n", &envelope("@@\n-a\n+A\n\n"), FaultCode::TextNotUnique, &["lines 1 and 3"]);
}

#[test]
fn x3_added_lines_take_the_indentation_of_the_file() {
    let patch =
        envelope("@@\n def f():\n-    return 1\n+    if x:\n+        return 2\n+\n+    return 3\n");
    let tabs = "class A:\n\tdef f():\n\t\treturn 1\n";
    let after = "class A:\n\tdef f():\n\t\tif x:\n\t\t\treturn 2\n\n\t\treturn 3\n";
    lands(tabs, &patch, after, 2, Pass::SurroundingSpace);
    let spaces = "class A:\n    def f():\n        return 1\n";
    let after = "class A:\n    def f():\n        if x:\n            return 2\n\n        return 3\n";
    lands(spaces, &patch, after, 2, Pass::SurroundingSpace);
}

#[test]
fn x3_context_keeps_the_spelling_of_the_file() {
    let patch = envelope("@@\n say(\"hi\")\n-x\n+y\n end\n");
    let before = "  say(“hi”)  \n  x\n  end\t\n";
    lands(before, &patch, "  say(“hi”)  \n  y\n  end\t\n", 1, Pass::Punctuation);
}

#[test]
fn r5_line_endings_are_those_of_the_file() {
    for patch in [diff("@@ -2 +2,2 @@\n-b\n+x\n+y\n"), envelope("@@\n-b\n+x\n+y\n")] {
        for patch in [patch.clone(), patch.replace('\n', "\r\n")] {
            let done = |before: &str| text_of(&applied(before, &patch).unwrap());
            assert_eq!(done("a\r\nb\r\nc\r\n"), "a\r\nx\r\ny\r\nc\r\n");
            assert_eq!(done("a\nb\nc\n"), "a\nx\ny\nc\n");
            assert_eq!(done("a\r\nb\r\nc"), "a\r\nx\r\ny\r\nc");
            assert_eq!(done("a\r\nb"), "a\r\nx\r\ny");
        }
    }
    let converts = diff("@@ -1 +1 @@\n-a\r\n+a\n");
    assert_eq!(text_of(&applied("a\r\nb\r\n", &converts).unwrap()), "a\nb\r\n");
    let appends = envelope("+x\n");
    assert_eq!(text_of(&applied("a\r\nb\r\n", &appends).unwrap()), "a\r\nb\r\nx\r\n");
}

#[test]
fn r5_every_other_byte_survives() {
    let file = one(&envelope("@@\n-b\n+ü\n"));
    let bytes = |bytes: &[u8]| apply(bytes, &file).map(|done| done.content);
    assert_eq!(bytes(b"\xef\xbb\xbfa\nb\n").unwrap(), "\u{feff}a\nü\n".as_bytes());
    let wide = |text: &str| -> Vec<u8> {
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    assert_eq!(bytes(&wide("a\r\nb\r\n")).unwrap(), wide("a\r\nü\r\n"));
    assert_eq!(bytes(b"caf\xe9 cr\xe8me\nb\n").unwrap(), b"caf\xe9 cr\xe8me\n\xfc\n");
    let marked = one(&diff("@@ -1,2 +1,2 @@\n \u{feff}a\n-b\n+c\n"));
    let done = apply("\u{feff}a\nb\n".as_bytes(), &marked).unwrap();
    assert_eq!(done.content, "\u{feff}a\nc\n".as_bytes());
    let gone = one("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
    assert_eq!(apply("\u{feff}a\n".as_bytes(), &gone).unwrap().content, b"");
    let damaged = "ünïcödé äöü ÄÖÜ ß\n".as_bytes();
    let before = [damaged, b"\xff\x80\nb\n"].concat();
    assert_eq!(bytes(&before).unwrap(), [damaged, b"\xff\x80\n", "ü\n".as_bytes()].concat());
    let binary = bytes(b"\x89PNG\r\n\x1a\n\0").unwrap_err();
    assert_eq!(binary.code(), FaultCode::Binary);
    let unknown = one(&envelope("@@\n-b\n+☃\n"));
    let refused = apply(b"caf\xe9 cr\xe8me\nb\n", &unknown).unwrap_err();
    assert_eq!(refused.subject(), Some(Subject::Replacement));
    assert!(refused.message().contains("does not exist in windows-1252"), "{refused}");
}

#[test]
fn r10_a_hunk_that_stands_nowhere_is_explained() {
    let file = "fn main() {\n    let total = compute(1, 2);\n    println!(\"{total}\");\n}\n";
    let patch = envelope(
        "@@\n     let total = compute(1, 3);\n-    println!(\"{total}\");\n+    log(total);\n",
    );
    let words = [
        "f: chunk 1 (line 3 of the patch) was not found",
        "lines 2 to 3",
        "the file has `    let total = compute(1, 2);`, you sent `    let total = compute(1, 3);`",
        "exactly as they stand in the file",
    ];
    fails(file, &patch, FaultCode::TextNotFound, &words);
    let far = diff("@@ -1 +1 @@\n-SELECT * FROM nowhere\n+x\n");
    fails(file, &far, FaultCode::TextNotFound, &["hunk 1", "nothing in the file is similar"]);
    fails("", &far, FaultCode::TextNotFound, &["the file is empty"]);
}

#[test]
fn r10_what_is_done_already_is_told() {
    let patch = diff("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    let once = text_of(&applied("zero\none\ntwo\nthree\n", &patch).unwrap());
    fails(&once, &patch, FaultCode::TextNotFound, &["at line 2", "done already", "Leave it out"]);
    let removes = diff("@@ -1,2 +1 @@\n one\n-two\n");
    fails("one\nthree\n", &removes, FaultCode::TextNotFound, &["was not found"]);
}

#[test]
fn r10_all_places_are_named() {
    let many = "x\n".repeat(30);
    let words = ["in 30 places, at lines 1, 2, 3, 4,", "28, 29 and 30;"];
    fails(&many, &envelope("@@\n-x\n+y\n"), FaultCode::TextNotUnique, &words);
    let more = "x\n".repeat(130);
    fails(&more, &envelope("@@\n-x\n+y\n"), FaultCode::TextNotUnique, &["100 and 30 more"]);
}

#[test]
fn x3_whole_patches_are_all_or_nothing() {
    let patch = parse(
        "*** Begin Patch\n*** Add File: new\n+x\n*** Update File: a\n*** Move to: b\n-1\n+2\n\
         *** Delete File: d\n*** End Patch\n",
    )
    .unwrap();
    let files = |there: &'static [&'static str]| {
        move |path: &str| Ok(there.contains(&path).then(|| b"1\n".to_vec()))
    };
    let changes = apply_all(&patch, files(&["a", "d"])).unwrap();
    let contents: Vec<&[u8]> = changes.iter().map(|change| change.content.as_slice()).collect();
    assert_eq!(contents, [&b"x\n"[..], b"2\n", b""]);
    for (there, code) in [
        (&["a", "d", "new"][..], FaultCode::Exists),
        (&["a", "d", "b"], FaultCode::Exists),
        (&["d"], FaultCode::NotFound),
        (&["a"], FaultCode::NotFound),
    ] {
        let fault = apply_all(&patch, files(there)).unwrap_err();
        assert_eq!(fault.code(), code, "{fault}");
    }
}

#[test]
fn x3_moving_onto_itself_changes_the_named_lines_only() {
    let patch =
        parse("*** Begin Patch\n*** Update File: a\n*** Move to: ./a\n-1\n+2\n*** End Patch\n");
    let read = |_: &str| Ok(Some(b"1\nrest\n".to_vec()));
    let changes = apply_all(&patch.unwrap(), read).unwrap();
    assert_eq!(changes[0].content, b"2\nrest\n");
    assert_eq!(changes[0].transfer, None);
}

#[test]
fn c3_a_deletion_names_all_that_it_deletes() {
    let patch = "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
    assert_eq!(applied("a\nb\n", patch).unwrap().content, b"");
    assert_eq!(applied("a\r\nb", patch).unwrap().content, b"");
    fails("a\nb\nc\n", patch, FaultCode::TextNotFound, &["does not name (1 of them)"]);
}

#[test]
fn c3_sections_without_hunks_take_any_bytes() {
    let patch = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
    let bytes = b"\x89PNG\r\n\x1a\n\0";
    assert_eq!(apply(bytes, &one(patch)).unwrap().content, bytes);
}
