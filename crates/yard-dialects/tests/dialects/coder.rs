//! The dialect `coder`, by the rulings C1 to C6 of `docs/rulings.md` (what C5 asks is the gate's).

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::{each, has};

#[track_caller]
fn ok(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    super::ok(workspace, "coder", tool, args)
}

#[track_caller]
fn fails(workspace: &TestWorkspace, tool: &str, args: Value, word: &str) -> String {
    super::fails(workspace, "coder", tool, args, word)
}

/// The example of `read`.
#[test]
fn c1_lines_are_numbered_with_an_arrow() {
    let workspace = TestWorkspace::new();
    let text = "{\n  \"name\": \"ekacode\",\n  \"version\": \"0.0.1\"\n}\n";
    workspace.put("/package.json", text);
    let reply = ok(&workspace, "read", json!({"filePath": "package.json"}));
    let content =
        "     1→{\n     2→  \"name\": \"ekacode\",\n     3→  \"version\": \"0.0.1\"\n     4→}\n";
    assert_eq!(reply["content"], content);
    let metadata = json!({
        "truncated": false, "lineCount": 4, "filePath": "package.json", "preview": false,
    });
    assert_eq!(reply["metadata"], metadata);
}

#[test]
fn c1_offset_skips_lines_and_numbers_may_be_strings() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\ntwo\nthree\n");
    let reply = ok(&workspace, "read", json!({"filePath": "a.txt", "offset": "1", "limit": "1"}));
    assert_eq!(reply["content"], "     2→two\n");
    assert_eq!(reply["metadata"]["truncated"], true);
    assert_eq!(reply["metadata"]["preview"], true);
    let end = ok(&workspace, "read", json!({"filePath": "a.txt", "offset": 2}));
    assert_eq!(end["metadata"]["truncated"], false, "nothing remains after it");
    assert_eq!(end["metadata"]["preview"], true, "it is less than the whole");
    fails(&workspace, "read", json!({"filePath": "a.txt", "limit": 0}), "INVALID_ARGUMENTS");
    fails(&workspace, "read", json!({"filePath": "a.txt", "offset": -1}), "INVALID_ARGUMENTS");
}

#[test]
fn c1_both_bounds_hold_whatever_the_line_length() {
    let workspace = TestWorkspace::new();
    workspace.put("/short.txt", "x\n".repeat(5_000));
    workspace.put("/wide.txt", format!("{}\n", "y".repeat(99)).repeat(5_000));
    workspace.put("/long.txt", format!("{}\nnext\n", "z".repeat(200_000)));
    let short = ok(&workspace, "read", json!({"filePath": "short.txt", "limit": 9999}));
    assert_eq!(short["content"].as_str().unwrap().lines().count(), 2_000);
    let wide = ok(&workspace, "read", json!({"filePath": "wide.txt"}));
    let text = wide["content"].as_str().unwrap();
    assert!(text.len() <= 50 << 10 && text.len() > 49 << 10, "{}", text.len());
    let long = ok(&workspace, "read", json!({"filePath": "long.txt"}));
    let text = long["content"].as_str().unwrap();
    assert!(text.len() <= 50 << 10 && text.contains("[line 1 is longer"), "{}", text.len());
    for reply in [&short, &wide, &long] {
        assert_eq!(reply["metadata"]["truncated"], true);
        assert_eq!(reply["metadata"]["preview"], true);
    }
    assert_eq!(long["metadata"]["lineCount"], 2);
    let next = &long["metadata"]["nextByte"];
    let more = ok(&workspace, "read", json!({"filePath": "long.txt", "byteOffset": next}));
    assert!(more["content"].as_str().unwrap().starts_with("zzz"));
}

/// The tests of the document on `read`.
#[test]
fn binary_and_missing_files_are_refused() {
    let workspace = TestWorkspace::new();
    workspace.put("/binary.bin", b"\x7fELF\x00\x00");
    fails(&workspace, "read", json!({"filePath": "binary.bin"}), "BINARY_FILE");
    fails(&workspace, "read", json!({"filePath": "none"}), "FILE_NOT_FOUND");
    fails(&workspace, "read", json!({"filePath": "."}), "INVALID_PATH");
}

/// The example of `write`.
#[test]
fn writing_answers_with_a_diff() {
    let workspace = TestWorkspace::new();
    let before = "{\n  \"version\": \"0.0.1\"\n}\n";
    let after =
        "{\n  \"name\": \"new-package\",\n  \"version\": \"0.0.1\"\n  \"dependencies\": {}\n}\n";
    workspace.put("/package.json", before);
    let reply = ok(&workspace, "write", json!({"filePath": "package.json", "content": after}));
    has(&reply, &json!({"success": true, "filePath": "", "diff": "", "created": false}));
    assert_eq!(
        reply["diff"],
        "--- a/package.json\n+++ b/package.json\n@@ -1,3 +1,5 @@\n {\n+  \"name\": \"new-package\",\n   \"version\": \"0.0.1\"\n+  \"dependencies\": {}\n }\n"
    );
    assert_eq!((&reply["created"], &reply["filePath"]), (&json!(false), &json!("package.json")));
    let made = ok(&workspace, "write", json!({"filePath": "deep/er/new.txt", "content": "x\n"}));
    assert_eq!((&made["created"], &made["filePath"]), (&json!(true), &json!("deep/er/new.txt")));
    let diff = made["diff"].as_str().unwrap();
    assert!(diff.contains("+++ b/deep/er/new.txt\n") && diff.ends_with("+x\n"), "{diff}");
    let same = ok(&workspace, "write", json!({"filePath": "deep/er/new.txt", "content": "x\n"}));
    assert_eq!((&same["created"], &same["diff"]), (&json!(false), &json!("")));
}

/// The examples of `edit`; their path is under the workspace's own directory (R2).
#[test]
fn edits_replace_one_place_or_all() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/index.ts", "const x = 1\nconsole.log(x)\nconsole.log(1)\n");
    let path = workspace.root().join("src/index.ts");
    let args = json!({
        "filePath": path, "oldString": "const x = 1", "newString": "const x = 2",
        "replaceAll": false
    });
    let reply = ok(&workspace, "edit", args);
    assert_eq!(reply, json!({"success": true, "filePath": "src/index.ts", "replacements": 1}));
    let args = json!({
        "filePath": "/workspace/src/index.ts", "oldString": "console.log",
        "newString": "logger.info", "replaceAll": true
    });
    assert_eq!(ok(&workspace, "edit", args)["replacements"], 2);
    assert_eq!(workspace.bytes("/src/index.ts"), b"const x = 2\nlogger.info(x)\nlogger.info(1)\n");
}

#[test]
fn c2_a_text_that_occurs_twice_is_not_guessed() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "old\nother\nold\n");
    let args = json!({"filePath": "a.txt", "oldString": "old", "newString": "new"});
    let message = fails(&workspace, "edit", args, "INVALID_ARGUMENTS");
    assert!(message.contains('1') && message.contains('3'), "R10: {message}");
    let args = json!({"filePath": "a.txt", "oldString": "gone", "newString": "new"});
    fails(&workspace, "edit", args, "INVALID_ARGUMENTS");
    assert_eq!(workspace.bytes("/a.txt"), b"old\nother\nold\n");
}

#[test]
fn c3_multiedit_is_all_or_nothing() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "a b b\n");
    let good = json!({"oldString": "a", "newString": "A"});
    let all = json!({"oldString": "b", "newString": "B", "replaceAll": true});
    let bad = json!({"oldString": "zzz", "newString": "Z"});
    let args = json!({"filePath": "a.txt", "edits": [good, all, bad]});
    assert!(fails(&workspace, "multiedit", args, "INVALID_ARGUMENTS").contains("edit 3 of 3"));
    assert_eq!(workspace.bytes("/a.txt"), b"a b b\n");
    let reply = ok(&workspace, "multiedit", json!({"filePath": "a.txt", "edits": [good, all]}));
    let expected = json!({
        "success": true, "filePath": "a.txt", "totalReplacements": 3,
        "results": [{"replacements": 1}, {"replacements": 2}]
    });
    assert_eq!(reply, expected);
    assert_eq!(workspace.bytes("/a.txt"), b"A B B\n");
    fails(&workspace, "multiedit", json!({"filePath": "a.txt", "edits": []}), "INVALID_ARGUMENTS");
}

#[test]
fn c3_a_copy_of_git_is_reported_as_one() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\ntwo\n");
    let patch = "diff --git a/a.txt b/b.txt\nsimilarity index 50%\ncopy from a.txt\ncopy to b.txt\n\
                 --- a/a.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";
    let reply = ok(&workspace, "apply_patch", json!({"patchText": patch}));
    let copied = json!([{"path": "b.txt", "action": "copy", "copiedFrom": "a.txt"}]);
    assert_eq!(reply["files"], copied);
    assert_eq!(workspace.bytes("/a.txt"), b"one\ntwo\n");
    assert_eq!(workspace.bytes("/b.txt"), b"one\nthree\n");
    let again = patch.replace("b.txt", "c.txt");
    let reply = super::ok(&workspace, "codex", "apply_patch_json", json!({"patch": again}));
    let file = &reply["results"][0];
    assert_eq!(
        (&file["created"], &file["copied_from"]),
        (&json!(true), &json!("a.txt")),
        "{reply}"
    );
}

#[test]
fn a_tab_or_newline_in_a_name_is_quoted_in_a_diff_as_git_does() {
    let workspace = TestWorkspace::new();
    let reply =
        ok(&workspace, "write", json!({"filePath": "two\nlines\tand.txt", "content": "x\n"}));
    let diff = "--- /dev/null\n+++ \"b/two\\nlines\\tand.txt\"\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(reply["diff"], diff);
    let changed = diff.replace("/dev/null", "\"a/two\\nlines\\tand.txt\"");
    let changed = changed.replace("@@ -0,0 +1 @@\n+x", "@@ -1 +1 @@\n-x\n+y");
    ok(&workspace, "apply_patch", json!({"patchText": changed}));
    assert_eq!(workspace.bytes("/two\nlines\tand.txt"), b"y\n");
}

/// The example of `apply_patch`: two names, so that a file is updated and moved.
#[test]
fn c3_the_patch_of_the_document() {
    let workspace = TestWorkspace::new();
    workspace.put("/old.txt", "line 1\nline 2\nline 3\n");
    let patch = "--- a/old.txt\n+++ b/new.txt\n@@ -1,3 +1,4 @@\n line 1\n line 2\n-line 3\n+line 3 modified\n+line 4 added\n";
    let reply = ok(&workspace, "apply_patch", json!({"patchText": patch}));
    has(&reply, &json!({"success": true, "filesModified": 1, "files": []}));
    assert_eq!(reply["filesModified"], 1);
    let file = json!({"path": "new.txt", "action": "move", "movedFrom": "old.txt"});
    assert_eq!(reply["files"], json!([file]));
    assert_eq!(workspace.bytes("/new.txt"), b"line 1\nline 2\nline 3 modified\nline 4 added\n");
    assert!(!workspace.has("/old.txt"));
}

#[test]
fn c3_patches_over_many_files_are_all_or_nothing() {
    let workspace = TestWorkspace::new();
    workspace.put("/gone.txt", "bye\n");
    workspace.put("/run.sh", "echo\n");
    workspace.put("/up.txt", "a\nb");
    workspace.put("/from.txt", "same\n");
    let patch = "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\ndiff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\ndiff --git a/from.txt b/to/there.txt\nsimilarity index 100%\nrename from from.txt\nrename to to/there.txt\n--- a/up.txt\n+++ b/up.txt\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n--- /dev/null\n+++ b/new/file.txt\n@@ -0,0 +1 @@\n+hello\n";
    let broken = patch.replace("-b\n", "-x\n");
    fails(&workspace, "apply_patch", json!({"patchText": broken}), "INVALID_ARGUMENTS");
    assert!(
        workspace.has("/gone.txt")
            && !workspace.has("/new/file.txt")
            && !workspace.has("/to/there.txt")
    );
    let reply = ok(&workspace, "apply_patch", json!({"patchText": patch}));
    assert_eq!(each(&reply["files"], "action"), ["delete", "update", "move", "update", "add"]);
    assert_eq!(
        each(&reply["files"], "path"),
        ["gone.txt", "run.sh", "to/there.txt", "up.txt", "new/file.txt"]
    );
    assert!(!workspace.has("/gone.txt") && !workspace.has("/from.txt"));
    assert_eq!(workspace.bytes("/up.txt"), b"a\nc");
    assert_eq!(workspace.bytes("/new/file.txt"), b"hello\n");
    let envelope = "*** Begin Patch\n*** Update File: up.txt\n@@\n-a\n+A\n*** End Patch\n";
    ok(&workspace, "apply_patch", json!({"patchText": envelope}));
    assert_eq!(workspace.bytes("/up.txt"), b"A\nc");
}

#[test]
fn c4_a_path_outside_is_refused_in_every_tool() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x\n");
    for outside in ["/etc/passwd", "../a.txt", "a/../../b", "/"] {
        let path = |extra: Value| {
            let mut args = extra;
            args["filePath"] = json!(outside);
            args
        };
        fails(&workspace, "read", path(json!({})), "INVALID_PATH");
        fails(&workspace, "write", path(json!({"content": "x"})), "INVALID_PATH");
        fails(
            &workspace,
            "edit",
            path(json!({"oldString": "x", "newString": "y"})),
            "INVALID_PATH",
        );
        let edits = json!({"edits": [{"oldString": "x", "newString": "y"}]});
        fails(&workspace, "multiedit", path(edits), "INVALID_PATH");
        fails(&workspace, "ls", json!({"dirPath": outside}), "INVALID_PATH");
        let patch = format!("*** Begin Patch\n*** Add File: {outside}\n+x\n*** End Patch\n");
        fails(&workspace, "apply_patch", json!({"patchText": patch}), "INVALID_PATH");
    }
    fails(&workspace, "glob", json!({"pattern": "/etc/*"}), "INVALID_PATH");
}

/// The example of `ls`.
#[test]
fn a_recursive_listing_is_that_of_the_document() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/index.ts", "");
    workspace.put("/src/components/Button.tsx", "");
    let reply = ok(&workspace, "ls", json!({"dirPath": "src", "recursive": true}));
    let expected = json!([
        {"name": "index.ts", "path": "src/index.ts", "type": "file"},
        {"name": "components", "path": "src/components", "type": "directory"},
        {"name": "Button.tsx", "path": "src/components/Button.tsx", "type": "file"}
    ]);
    assert_eq!((&reply["entries"], &reply["count"]), (&expected, &json!(3)));
    let own = ok(&workspace, "ls", json!({"dirPath": "src"}));
    assert_eq!(each(&own["entries"], "name"), ["index.ts", "components"]);
}

#[test]
fn c6_a_missing_directory_is_empty_and_links_are_what_they_point_to() {
    let workspace = TestWorkspace::new();
    workspace.put("/dir/a.txt", "x");
    symlink("dir", workspace.root().join("to_dir")).unwrap();
    symlink("dir/a.txt", workspace.root().join("to_file")).unwrap();
    symlink("nowhere", workspace.root().join("dangling")).unwrap();
    symlink("/etc", workspace.root().join("leaving")).unwrap();
    let none = ok(&workspace, "ls", json!({"dirPath": "none"}));
    assert_eq!((&none["entries"], &none["count"]), (&json!([]), &json!(0)));
    let reply = ok(&workspace, "ls", json!({"dirPath": "."}));
    let types: Vec<(&str, &str)> =
        each(&reply["entries"], "name").into_iter().zip(each(&reply["entries"], "type")).collect();
    let expected = [
        ("dangling", "file"),
        ("leaving", "file"),
        ("to_file", "file"),
        ("dir", "directory"),
        ("to_dir", "directory"),
    ];
    assert_eq!(types, expected);
    fails(&workspace, "ls", json!({"dirPath": "dir/a.txt"}), "INVALID_PATH");
}

/// The patterns of the document.
#[test]
fn globs_find_files() {
    let workspace = TestWorkspace::new();
    for path in ["/a.ts", "/src/b.ts", "/src/c.test.ts", "/src/deep/d.ts", "/src/e.md"] {
        workspace.put(path, "");
    }
    for (pattern, found) in [
        ("**/*.ts", vec!["a.ts", "src/b.ts", "src/c.test.ts", "src/deep/d.ts"]),
        ("src/**/*", vec!["src/b.ts", "src/c.test.ts", "src/deep/d.ts", "src/e.md"]),
        ("**/*.test.ts", vec!["src/c.test.ts"]),
        ("*/*.ts", vec!["src/b.ts", "src/c.test.ts"]),
        ("**/*/*.ts", vec!["src/b.ts", "src/c.test.ts", "src/deep/d.ts"]),
    ] {
        let reply = ok(&workspace, "glob", json!({"pattern": pattern}));
        assert_eq!(reply["files"], json!(found), "{pattern}");
        assert_eq!((&reply["count"], &reply["pattern"]), (&json!(found.len()), &json!(pattern)));
    }
    let cut = ok(&workspace, "glob", json!({"pattern": "**/*.ts", "limit": "3"}));
    assert_eq!((&cut["count"], &cut["truncated"]), (&json!(3), &json!(true)));
    let rest = ok(&workspace, "glob", json!({"pattern": "**/*.ts", "cursor": cut["next"]}));
    assert_eq!(rest["files"], json!(["src/deep/d.ts"]));
    for limit in [0, 1001] {
        fails(&workspace, "glob", json!({"pattern": "*", "limit": limit}), "INVALID_ARGUMENTS");
    }
}
