//! Calls by which the reference server corrupts a file, and Toolyard keeps its bytes or refuses. Each case checks both
//! servers, so that a fix of the reference server is noticed.

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use crate::{Both, ToolResult, ours};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"oldText": old, "newText": new}]})
}

#[track_caller]
fn refused(result: &ToolResult, words: &str) {
    assert!(!result.is_ok && result.text.contains(words), "{result:?}");
}

#[test]
fn r5_line_endings_stay() {
    let mut both = Both::new();
    both.put("crlf.txt", "one\r\ntwo\r\nthree\r\n");
    both.put("mixed.txt", "one\r\ntwo\nthree\r\n");
    for path in ["crlf.txt", "mixed.txt"] {
        let (ours, theirs) = both.call("edit_file", &edit(path, "one\ntwo", "1\n2"));
        assert_eq!(ours.text, theirs.text, "the diff shows no line endings");
    }
    let (ours, theirs) = both.bytes("crlf.txt");
    assert_eq!((&ours[..], &theirs[..]), (&b"1\r\n2\r\nthree\r\n"[..], &b"1\n2\nthree\n"[..]));
    let (ours, theirs) = both.bytes("mixed.txt");
    assert!(ours.ends_with(b"three\r\n") && !theirs.contains(&b'\r'));
    // Only white space differs: the lines are found, and end as they did.
    both.put("flexible.txt", "  one\r\n  two\r\nonetwo\r\n");
    let (ours, theirs) = both.call("edit_file", &edit("flexible.txt", "one\ntwo ", "1\n2"));
    assert_eq!(ours.text, theirs.text);
    assert_eq!(both.bytes("flexible.txt").0, b"  1\r\n2\r\nonetwo\r\n");
}

#[test]
fn r5_other_encodings_stay_and_bytes_are_no_text() {
    let mut both = Both::new();
    let utf16: Vec<u8> = "\u{feff}grün\nblau\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    both.put("utf16.txt", &utf16);
    let (ours, _) = both.call("edit_file", &edit("utf16.txt", "blau", "rot"));
    assert!(ours.is_ok, "{ours:?}");
    let after: Vec<u8> = "\u{feff}grün\nrot\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(both.bytes("utf16.txt").0, after);

    let bytes = b"one\0\xff\xfe\x80two\n";
    both.put("bytes.bin", bytes);
    let (ours, theirs) = both.call("edit_file", &edit("bytes.bin", "two", "2"));
    refused(&ours, "bytes.bin");
    assert!(theirs.is_ok && both.bytes("bytes.bin").1.starts_with(b"one\0\xef\xbf\xbd"), "corrupt");
    assert_eq!(both.bytes("bytes.bin").0, bytes);
    let (ours, _) = both.call("read_text_file", &json!({"path": "bytes.bin"}));
    refused(&ours, "read_media_file");

    both.put("bom.txt", "\u{feff}one\n");
    let (ours, theirs) = both.call("read_text_file", &json!({"path": "bom.txt"}));
    assert_eq!((&ours.text[..], &theirs.text[..]), ("\u{feff}one\n", "\u{feff}one\n"));
    both.call("edit_file", &edit("bom.txt", "one", "1"));
    assert_eq!(both.bytes("bom.txt").0, "\u{feff}1\n".as_bytes());
}

#[test]
fn r10_an_ambiguous_or_empty_search_is_refused_and_teaches() {
    let mut both = Both::new();
    both.put("twice.txt", "a\nb\na\n");
    let (ours, theirs) = both.call("edit_file", &edit("twice.txt", "a", "x"));
    refused(&ours, "lines 1, 3");
    assert!(theirs.is_ok, "it takes the first");
    let (ours, theirs) = both.call("edit_file", &edit("open.txt", "", "x"));
    refused(&ours, "oldText is empty");
    assert!(theirs.is_ok, "it writes at the start");
    both.put("indented.txt", "  a\nb\n\ta\n");
    let (ours, theirs) = both.call("edit_file", &edit("indented.txt", "a ", "x"));
    refused(&ours, "lines 1, 3");
    assert!(theirs.is_ok);
    let (ours, _) = both.call("edit_file", &edit("a.txt", "One", "x"));
    refused(&ours, "Could not find exact match for edit:\nOne\n\n");
    refused(&ours, "line 1");
    assert_eq!(both.bytes("twice.txt").0, b"a\nb\na\n");
    assert_eq!(both.bytes("open.txt").0, b"one\ntwo");
    assert_eq!(both.bytes("indented.txt").0, b"  a\nb\n\ta\n");
}

#[test]
fn all_edits_are_made_or_none_and_a_dry_run_makes_none() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\ntwo\n");
    let edits = json!([{"oldText": "one", "newText": "1"}, {"oldText": "none", "newText": "x"}]);
    let result = ours(&workspace, "edit_file", &json!({"path": "a.txt", "edits": edits}));
    refused(&result, "This was edit 2 of 2; nothing was changed.");
    let dry =
        json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "1"}], "dryRun": true});
    assert!(ours(&workspace, "edit_file", &dry).text.contains("\n-one\n+1\n"));
    assert_eq!(workspace.bytes("/a.txt"), b"one\ntwo\n");
}

/// Theirs counts the nothing after the last line's end as a line: `tail: 1` of most files is empty.
#[test]
fn the_last_lines_are_lines() {
    let mut both = Both::new();
    for (lines, last) in [(1, "three\n"), (2, "two\nthree\n"), (9, "one\ntwo\nthree\n")] {
        let (ours, theirs) = both.call("read_text_file", &json!({"path": "a.txt", "tail": lines}));
        assert_eq!(ours.text, last);
        assert!(ours.text.ends_with(&theirs.text));
    }
}

#[test]
fn what_would_be_misread_is_refused() {
    let workspace = TestWorkspace::new();
    for pattern in ["!*.rs", "+(a|b)", "{1..3}", ""] {
        let result = ours(&workspace, "search_files", &json!({"path": ".", "pattern": pattern}));
        assert!(!result.is_ok, "{pattern}: {result:?}");
    }
    refused(
        &ours(&workspace, "write_file", &json!({"path": "~/x", "content": ""})),
        "`~` has no meaning",
    );
    assert!(!workspace.has("/~"));
}

/// R3: what a link that leaves leads to is not looked at, not even for its size.
#[test]
fn r3_a_link_that_leaves_has_no_size() {
    let workspace = TestWorkspace::new();
    std::os::unix::fs::symlink("/etc/passwd", workspace.root().join("out")).unwrap();
    let result = ours(&workspace, "list_directory_with_sizes", &json!({"path": "."}));
    assert!(
        result.text.ends_with("Total: 1 files, 0 directories\nCombined size: 0 B"),
        "{result:?}"
    );
}

#[test]
fn patterns_that_explode_elsewhere_are_answered() {
    let workspace = TestWorkspace::new();
    workspace.put("/abab/x.txt", "x");
    for pattern in ["{a,b}".repeat(18), "[".repeat(2_000), "[a]".repeat(2_000), "**/".repeat(500)] {
        for args in [
            json!({"path": ".", "pattern": pattern}),
            json!({"path": ".", "pattern": "**/*", "excludePatterns": [pattern]}),
        ] {
            let result = ours(&workspace, "search_files", &args);
            assert!(result.text.len() < 10_000, "{result:?}");
        }
    }
}

#[test]
fn r12_what_does_not_fit_is_refused_or_says_how_to_go_on() {
    let limits = yard_core::Limits { load_bytes: 64, answer_entries: 3, ..Default::default() };
    let plan = yard_testkit::OpenOptions { limits, ..Default::default() };
    let workspace = TestWorkspace::open(&yard_testkit::Folders::new(), plan).unwrap();
    workspace.put("/long.txt", "0123456789\n".repeat(9));
    workspace.put("/short.txt", "x\n");
    for name in ["a", "b", "c"] {
        workspace.put(&format!("/dir/{name}"), "");
    }
    refused(&ours(&workspace, "read_text_file", &json!({"path": "long.txt"})), "'head' or 'tail'");
    let result = ours(&workspace, "read_text_file", &json!({"path": "long.txt", "head": 2}));
    assert_eq!(result.text, "0123456789\n0123456789");
    let several = json!({"paths": ["short.txt", "long.txt", "short.txt"]});
    let result = ours(&workspace, "read_multiple_files", &several).text;
    assert!(result.starts_with("short.txt:\nx\n\n\n---\nlong.txt: Error - "), "{result}");
    assert!(result.ends_with("short.txt:\nx\n\n"), "{result}");
    let result = ours(&workspace, "search_files", &json!({"path": ".", "pattern": "**/*"})).text;
    assert!(result.contains("narrower pattern"), "{result}");
    let result = ours(&workspace, "directory_tree", &json!({"path": "."})).text;
    let tree: Value = serde_json::from_str(&result).unwrap();
    assert!(tree.to_string().contains("call directory_tree with this path"), "{tree}");
}

#[test]
fn no_edit_of_two_callers_is_lost() {
    let workspace = TestWorkspace::new();
    let lines: String = (0..40).map(|at| format!("line {at:02}\n")).collect();
    workspace.put("/a.txt", lines);
    std::thread::scope(|scope| {
        for caller in 0..2 {
            let workspace = &workspace;
            scope.spawn(move || {
                for at in (caller..40).step_by(2) {
                    let (old, new) = (format!("line {at:02}"), format!("done {at:02}"));
                    let result = ours(workspace, "edit_file", &edit("a.txt", &old, &new));
                    assert!(
                        result.is_ok && result.text.contains(&format!("+{new}\n")),
                        "{result:?}"
                    );
                }
            });
        }
    });
    let expected: String = (0..40).map(|at| format!("done {at:02}\n")).collect();
    assert_eq!(String::from_utf8(workspace.bytes("/a.txt")).unwrap(), expected);
}
