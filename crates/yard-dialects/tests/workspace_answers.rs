//! What answers of `workspace` say and what they leave out: links, large files, patterns, failures.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::symlink;

use crate::support::{each, fails, invalid, is_hash, lines, ok, on_disk};
use serde_json::{Value, json};
use yard_core::{ContentHash, Limits};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn r7_a_malformed_hash_is_a_wrong_argument_and_no_conflict() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    let edit = |hash: &str| json!({"path": "/a.txt", "old_string": "one", "new_string": "two", "last_read_hash": hash});
    for hash in ["", "zz", "a1b2c3d4...", &"g".repeat(64), &"a".repeat(63)] {
        let why = invalid(&workspace, "edit", edit(hash), "last_read_hash");
        assert!(why.contains("64 hexadecimal digits"), "{why}");
    }
    fails(&workspace, "edit", edit(&"a".repeat(64)), 409, "CONFLICT");
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
}

#[test]
fn w12_find_takes_posix_classes() {
    let workspace = TestWorkspace::new();
    for path in ["/alpha.txt", "/1.txt", "/_x.txt", "/sub/Beta.md"] {
        workspace.put(path, "x");
    }
    let found = |name: &str| {
        let result = ok(&workspace, "find", json!({"name": name}));
        each(&result["matches"], "path").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("[[:alpha:]]*"), ["/alpha.txt", "/sub", "/sub/Beta.md"]);
    assert_eq!(found("[[:digit:]]*"), ["/1.txt"]);
    assert_eq!(found("[[:upper:]]*"), ["/sub/Beta.md"]);
    assert_eq!(found("[![:alnum:]]*"), ["/_x.txt"]);
    assert!(
        invalid(&workspace, "find", json!({"name": "[[:letter:]]*"}), "name").contains("alpha")
    );
}

#[test]
fn w10_a_path_pattern_may_be_a_glob() {
    let workspace = TestWorkspace::new();
    for path in
        ["/js/a.js", "/js/deep/b.js", "/app.js", "/web/app1.js", "/src/test_a.py", "/x/y.txt"]
    {
        workspace.put(path, "needle\n");
    }
    for (pattern, paths) in [
        ("./js", vec!["/js/a.js", "/js/deep/b.js"]),
        ("./x/y.txt", vec!["/x/y.txt"]),
        ("js/**/*.js", vec!["/js/a.js", "/js/deep/b.js"]),
        ("app*", vec!["/app.js", "/web/app1.js"]),
        ("test_*.py", vec!["/src/test_a.py"]),
        ("*.{py,txt}", vec!["/src/test_a.py", "/x/y.txt"]),
        ("src/*", vec!["/src/test_a.py"]),
        ("%.PY", vec!["/src/test_a.py"]),
    ] {
        let found = ok(&workspace, "grep", json!({"pattern": "needle", "path_pattern": pattern}));
        assert_eq!(each(&found["matches"], "path"), paths, "{pattern}");
    }
    invalid(&workspace, "grep", json!({"pattern": "x", "path_pattern": "*.{js"}), "path_pattern");
}

#[test]
fn r3_file_info_tells_of_what_a_link_leads_to() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/a.txt", lines(3));
    let link = |to: &str, name: &str| symlink(to, on_disk(&workspace, name)).unwrap();
    link("src/a.txt", "/file");
    link("file", "/twice");
    link("src", "/folder");
    link("absent", "/dangling");
    link("/etc/hostname", "/outside");
    let target = ok(&workspace, "file_info", json!({"path": "/src/a.txt"}));
    for path in ["/file", "/twice"] {
        let info = ok(&workspace, "file_info", json!({"path": path}));
        assert_eq!((&info["path"], &info["link_target"]), (&json!(path), &json!("/src/a.txt")));
        for field in ["file_type", "size", "line_count", "hash", "updated_at", "synced"] {
            assert_eq!(info[field], target[field], "{path} {field}");
        }
    }
    assert!(is_hash(&target["hash"]) && target.get("link_target").is_none(), "{target}");
    let folder = ok(&workspace, "file_info", json!({"path": "/folder"}));
    assert_eq!((&folder["file_type"], &folder["size"]), (&json!("folder"), &Value::Null));
    let dangling = ok(&workspace, "file_info", json!({"path": "/dangling"}));
    assert_eq!((&dangling["file_type"], dangling.get("link_target")), (&json!("document"), None));
    invalid(&workspace, "file_info", json!({"path": "/outside"}), "path");
}

#[test]
fn r3_a_link_to_a_folder_is_listed_as_a_folder() {
    let workspace = TestWorkspace::new();
    workspace.put("/b/x.txt", "x");
    workspace.put("/a.txt", "a");
    symlink("b", on_disk(&workspace, "/z")).unwrap();
    symlink("a.txt", on_disk(&workspace, "/l")).unwrap();
    symlink("/etc", on_disk(&workspace, "/out")).unwrap();
    for args in [json!({}), json!({"recursive": true})] {
        let listed = ok(&workspace, "ls", args);
        let all: Vec<(&str, &str)> = each(&listed["entries"], "path")
            .into_iter()
            .zip(each(&listed["entries"], "file_type"))
            .filter(|(path, _)| *path != "/b/x.txt")
            .collect();
        let expected = [
            ("/b", "folder"),
            ("/z", "folder"),
            ("/a.txt", "document"),
            ("/l", "document"),
            ("/out", "document"),
        ];
        assert_eq!(all, expected);
    }
    let folders = ok(&workspace, "find", json!({"file_type": "folder"}));
    assert_eq!(each(&folders["matches"], "path"), ["/b", "/z"]);
    let documents = ok(&workspace, "find", json!({"file_type": "document", "name": "[lz]"}));
    assert_eq!(each(&documents["matches"], "path"), ["/l"]);
    let globbed = ok(&workspace, "glob", json!({"pattern": "/z"}));
    assert_eq!(globbed["matches"][0]["file_type"], "folder");
}

#[test]
fn w19_moving_and_touching_a_file_too_large_to_load_leaves_it_synced() {
    let limits = Limits { load_bytes: 64 << 10, ..Limits::default() };
    let workspace =
        TestWorkspace::open(&Folders::new(), OpenOptions { limits, ..OpenOptions::default() })
            .unwrap();
    let bytes = lines(20_000);
    workspace.put("/large.txt", &bytes);
    workspace.put("/other.txt", bytes.replace("line", "LINE"));
    ok(&workspace, "mv", json!({"source": "/large.txt", "destination": "/moved.txt"}));
    ok(&workspace, "touch", json!({"path": "/other.txt"}));
    for path in ["/moved.txt", "/other.txt"] {
        let info = ok(&workspace, "file_info", json!({"path": path}));
        assert_eq!(info["synced"], true, "{info}");
        // Its content is kept: what is lost can be brought back.
        ok(&workspace, "rm", json!({"path": path}));
    }
}

#[test]
fn w5_some_lines_of_a_large_file_cost_no_hash_of_all_of_it() {
    let workspace = TestWorkspace::new();
    let path = on_disk(&workspace, "/large.log");
    let line = "2026-11-18T12:00:00Z something happened here, and it is told in one line\n";
    let piece = line.repeat(20_000);
    let mut file = std::fs::File::create(&path).unwrap();
    let pieces = 9 * (1 << 20) / piece.len() + 1;
    (0..pieces).for_each(|_| file.write_all(piece.as_bytes()).unwrap());
    drop(file);
    let read = ok(&workspace, "read", json!({"path": "/large.log", "offset": 100, "limit": 100}));
    assert_eq!(read["content"], line.repeat(100));
    assert_eq!((&read["hash"], &read["total_lines"]), (&Value::Null, &Value::Null));
    assert_eq!((&read["truncated"], &read["cursor"]), (&json!(true), &json!(200)));
    let message = read["message"].as_str().unwrap();
    assert!(message.contains("hash: true") && message.contains("file_info"), "{message}");
    // Who asks for it gets it, and the same as `file_info` tells.
    let asked = ok(&workspace, "read", json!({"path": "/large.log", "limit": 1, "hash": true}));
    let info = ok(&workspace, "file_info", json!({"path": "/large.log"}));
    let whole = ContentHash::of(&std::fs::read(&path).unwrap()).to_string();
    assert_eq!((&asked["hash"], &info["hash"]), (&json!(whole), &json!(whole)));
    assert_eq!(asked["total_lines"], json!(pieces * 20_000));
    assert!(asked.get("message").is_none(), "{asked}");
    let many = ok(&workspace, "read_multiple_files", json!({"paths": ["/large.log"], "limit": 1}));
    assert_eq!(many["files"][0]["hash"], Value::Null);
    // The last lines are found, too.
    let last = ok(&workspace, "read", json!({"path": "/large.log", "offset": -1}));
    assert_eq!(last["content"], line);
    // What the store knows of it is answered without reading it.
    ok(&workspace, "touch", json!({"path": "/large.log"}));
    let known = ok(&workspace, "read", json!({"path": "/large.log", "limit": 1}));
    assert_eq!((&known["hash"], &known["synced"]), (&json!(whole), &json!(true)), "{known}");
}

#[test]
fn w5_an_offset_past_the_end_is_answered_as_the_end() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", lines(10));
    let read = ok(&workspace, "read", json!({"path": "/a.txt", "offset": 99}));
    assert_eq!((&read["content"], &read["offset"]), (&json!(""), &json!(10)));
    assert_eq!(read["truncated"], false);
}

#[test]
fn w1_wrong_arguments_are_told_in_fields_alone() {
    let workspace = TestWorkspace::new();
    let answer = workspace.call("read", json!({"file": "/a"}));
    assert_eq!(answer.body["error"], "Validation failed");
    assert_eq!(keys(&answer.body["fields"]), BTreeSet::from(["file", "path"]));
    let words = answer.failure_message();
    assert!(words.contains("path: missing") && words.contains("file: "), "{words}");
}

#[test]
fn answers_have_what_the_document_names_and_nothing_that_is_empty() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/a.rs", "fn main() {}\n// TODO: more\n");
    let shapes = |tool: &str, args: Value, list: &str| -> (BTreeSet<String>, BTreeSet<String>) {
        let result = ok(&workspace, tool, args);
        let owned = |keys: BTreeSet<&str>| keys.into_iter().map(str::to_owned).collect();
        (owned(keys(&result)), owned(keys(&result[list][0])))
    };
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(
        shapes("grep", json!({"pattern": "TODO"}), "matches"),
        (set(&["matches", "truncated"]), set(&["path", "line_number", "line_text"]))
    );
    let (_, with_context) = shapes("grep", json!({"pattern": "TODO", "context": 1}), "matches");
    assert_eq!(with_context, set(&["path", "line_number", "line_text", "before_context"]));
    assert_eq!(
        shapes("find", json!({"name": "*.rs"}), "matches"),
        (
            set(&["matches", "truncated"]),
            set(&["path", "name", "synced", "file_type", "size", "updated_at"])
        )
    );
    assert_eq!(
        shapes("glob", json!({"pattern": "*.rs"}), "matches"),
        (
            set(&["pattern", "base_path", "matches", "truncated"]),
            set(&["path", "name", "synced", "file_type", "is_virtual", "size", "updated_at"])
        )
    );
    let listed =
        ["id", "synced", "name", "display_name", "path", "file_type", "is_virtual", "updated_at"];
    assert_eq!(
        shapes("ls", json!({}), "entries"),
        (set(&["path", "entries", "total", "truncated"]), set(&listed))
    );
    let read = ok(&workspace, "read", json!({"path": "/src/a.rs"}));
    let named =
        ["path", "content", "hash", "synced", "total_lines", "truncated", "offset", "limit"];
    assert_eq!(keys(&read), BTreeSet::from(named));
}
