//! The dialect `file`, by the rulings F1 to F6 of `docs/rulings.md`.

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::{call, each, has, is_time};

#[track_caller]
fn ok(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    super::ok(workspace, "file", tool, args)
}

#[track_caller]
fn fails(workspace: &TestWorkspace, tool: &str, args: Value, word: &str) -> String {
    super::fails(workspace, "file", tool, args, word)
}

#[test]
fn f2_lines_are_numbered_as_by_cat() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n\ntwo\tx\r\nlast");
    let whole = ok(&workspace, "file.read", json!({"path": "a.txt"}));
    has(&whole, &json!({"content": "", "total_lines": 0, "truncated": false}));
    assert_eq!(whole["content"], "     1\tone\n     2\t\n     3\ttwo\tx\r\n     4\tlast");
    assert_eq!((&whole["total_lines"], &whole["truncated"]), (&json!(4), &json!(false)));
    let part = ok(&workspace, "file.read", json!({"path": "a.txt", "offset": 2, "limit": 1}));
    assert_eq!(part["content"], "     2\t\n");
    assert_eq!((&part["total_lines"], &part["truncated"]), (&json!(4), &json!(true)));
    let past = ok(&workspace, "file.read", json!({"path": "a.txt", "offset": 9}));
    assert_eq!((&past["content"], &past["truncated"]), (&json!(""), &json!(false)));
    fails(&workspace, "file.read", json!({"path": "a.txt", "offset": 0}), "invalid_arguments");
}

#[test]
fn reading_fails_in_the_words_of_the_spec() {
    let workspace = TestWorkspace::new();
    workspace.put("/dir/a.txt", "x");
    workspace.put("/bin", b"\x00\x01");
    fails(&workspace, "file.read", json!({"path": "missing"}), "file_not_found");
    fails(&workspace, "file.read", json!({"path": "dir"}), "is_directory");
    fails(&workspace, "file.read", json!({"path": "../x"}), "path_outside_workspace");
    fails(&workspace, "file.read", json!({"path": "/etc/passwd"}), "path_outside_workspace");
    fails(&workspace, "file.read", json!({"path": "bin"}), "binary_file");
    let message = fails(&workspace, "file.read", json!({"file": "dir/a.txt"}), "invalid_arguments");
    assert!(message.contains("file: unknown argument") && message.contains("path: missing"));
}

#[test]
fn r4_a_line_longer_than_an_answer_is_cut_and_read_on_by_bytes() {
    let workspace = TestWorkspace::new();
    let long = "é".repeat(300_000);
    workspace.put("/long.txt", format!("first\n{long}\nlast\n"));
    let first = ok(&workspace, "file.read", json!({"path": "long.txt"}));
    assert_eq!(first["content"], "     1\tfirst\n");
    let cut = ok(&workspace, "file.read", json!({"path": "long.txt", "offset": 2}));
    let content = cut["content"].as_str().unwrap();
    assert!(content.len() <= 256 << 10 && content.contains("[line 2 "), "R12");
    assert_eq!(cut["truncated"], true);
    let mut text = content[7..content.find('\n').unwrap()].to_owned();
    let mut next = cut["next_byte"].clone();
    while !next.is_null() {
        let piece = ok(&workspace, "file.read", json!({"path": "long.txt", "byte_offset": next}));
        text.push_str(piece["content"].as_str().unwrap());
        next = piece["next_byte"].clone();
    }
    assert_eq!(text, format!("{long}\nlast\n"));
}

#[test]
fn writing_makes_folders_and_counts_bytes() {
    let workspace = TestWorkspace::new();
    let reply = ok(&workspace, "file.write", json!({"path": "a/b/c.txt", "content": "é\n"}));
    assert_eq!(reply, json!({"success": true, "bytes_written": 3}));
    assert_eq!(workspace.bytes("/a/b/c.txt"), "é\n".as_bytes());
    ok(&workspace, "file.write", json!({"path": "a/b/c.txt", "content": ""}));
    assert_eq!(workspace.bytes("/a/b/c.txt"), b"");
    fails(
        &workspace,
        "file.write",
        json!({"path": "a/../../x", "content": ""}),
        "path_outside_workspace",
    );
    fails(&workspace, "file.write", json!({"path": "a/b", "content": ""}), "is_directory");
    fails(
        &workspace,
        "file.write",
        json!({"path": "a/b/c.txt/d", "content": ""}),
        "not_a_directory",
    );
}

/// The example of `file.patch`.
#[test]
fn f3_patches_are_applied_in_order() {
    let workspace = TestWorkspace::new();
    workspace.put(
        "/src/config.py",
        "DEBUG = True\n\ndef connect():\n    return db.connect(timeout=30)\n",
    );
    let reply = ok(
        &workspace,
        "file.patch",
        json!({
            "path": "src/config.py",
            "patches": [
                {"find": "DEBUG = True", "replace": "DEBUG = False"},
                {
                    "find": "def connect():\n    return db.connect(timeout=30)",
                    "replace": "def connect():\n    return db.connect(timeout=60, retry=3)"
                }
            ]
        }),
    );
    assert_eq!(reply, json!({"success": true, "patches_applied": 2}));
    let text = "DEBUG = False\n\ndef connect():\n    return db.connect(timeout=60, retry=3)\n";
    assert_eq!(workspace.bytes("/src/config.py"), text.as_bytes());
}

#[test]
fn f3_patches_are_atomic_and_see_what_those_before_them_left() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one two two\n");
    let patch = |patches: Value| json!({"path": "a.txt", "patches": patches});
    let good = json!({"find": "one", "replace": "1"});
    let missing = json!({"find": "three", "replace": "3"});
    let message = fails(&workspace, "file.patch", patch(json!([good, missing])), "find_not_found");
    assert!(message.contains("edit 2 of 2"), "{message}");
    let twice = json!({"find": "two", "replace": "2"});
    fails(&workspace, "file.patch", patch(json!([good, twice])), "find_not_unique");
    assert_eq!(workspace.bytes("/a.txt"), b"one two two\n");
    let chain = json!([{"find": "one two", "replace": "three"}, {"find": "two", "replace": "2"}]);
    ok(&workspace, "file.patch", patch(chain));
    assert_eq!(workspace.bytes("/a.txt"), b"three 2\n");
    fails(&workspace, "file.patch", patch(json!([])), "invalid_arguments");
    let none = json!({"path": "none", "patches": [good]});
    fails(&workspace, "file.patch", none, "file_not_found");
}

#[test]
fn deleting_takes_files_only() {
    let workspace = TestWorkspace::new();
    workspace.put("/dir/a.txt", "x");
    fails(&workspace, "file.delete", json!({"path": "dir"}), "is_directory");
    assert_eq!(
        ok(&workspace, "file.delete", json!({"path": "dir/a.txt"})),
        json!({"success": true})
    );
    assert!(!workspace.has("/dir/a.txt"));
    fails(&workspace, "file.delete", json!({"path": "dir/a.txt"}), "file_not_found");
}

#[test]
fn f4_a_listing_is_of_the_directory_or_of_the_files_below_it() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/a.py", "x");
    workspace.put("/src/deep/b.py", "xy");
    workspace.put("/src/deep/c.ts", "");
    let own = ok(&workspace, "file.list", json!({"path": "src"}));
    assert_eq!(each(&own["files"], "path"), ["src/deep", "src/a.py"]);
    assert_eq!(own["files"][0]["is_directory"], true);
    let file = &own["files"][1];
    has(file, &json!({"path": "", "size": 0, "modified": ""}));
    assert_eq!((&file["size"], &file["is_directory"]), (&json!(1), &json!(false)));
    is_time(&file["modified"]);
    for (pattern, found) in [
        ("*.py", vec!["src/a.py", "src/deep/b.py"]),
        ("**/*.ts", vec!["src/deep/c.ts"]),
        ("deep/*", vec!["src/deep/b.py", "src/deep/c.ts"]),
        ("**", vec!["src/a.py", "src/deep/b.py", "src/deep/c.ts"]),
    ] {
        let below = ok(&workspace, "file.list", json!({"path": "src", "pattern": pattern}));
        assert_eq!(each(&below["files"], "path"), found, "{pattern}");
    }
    assert_eq!(each(&ok(&workspace, "file.list", json!({}))["files"], "path"), ["src"]);
    fails(&workspace, "file.list", json!({"path": "none"}), "file_not_found");
    fails(&workspace, "file.list", json!({"path": "none", "pattern": "*"}), "file_not_found");
    fails(&workspace, "file.list", json!({"path": "src/a.py"}), "not_a_directory");
    fails(&workspace, "file.list", json!({"path": "src/a.py", "pattern": "*"}), "not_a_directory");
    fails(&workspace, "file.list", json!({"path": "../.."}), "path_outside_workspace");
    fails(&workspace, "file.list", json!({"pattern": "[a"}), "invalid_pattern");
    fails(&workspace, "file.list", json!({"pattern": "../*"}), "path_outside_workspace");
}

/// The example of `file.search`.
#[test]
fn f5_matching_lines_are_marked_among_their_neighbours() {
    let workspace = TestWorkspace::new();
    let above = "\n".repeat(40);
    workspace.put(
        "/src/db/connection.py",
        format!(
            "{above}# Establish database connection\ndef connect(host, port):\n    return Client(host, port)"
        ),
    );
    workspace.put("/src/db/notes.md", "def connect\n");
    let args = json!({"pattern": "def\\s+connect", "glob": "**/*.py", "context_lines": 1});
    let reply = ok(&workspace, "file.search", args);
    assert_eq!(reply["truncated"], false);
    assert_eq!(
        reply["matches"],
        json!([{
            "path": "src/db/connection.py",
            "line": 42,
            "content": "    # Establish database connection\n--> def connect(host, port):\n        return Client(host, port)"
        }])
    );
    let bare = json!({"pattern": "Client", "path": "src"});
    let reply = ok(&workspace, "file.search", bare);
    assert_eq!(reply["matches"][0]["content"], "-->     return Client(host, port)");
}

#[test]
fn f5_searches_are_bounded_and_go_on() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x\nX\nx\n");
    workspace.put("/b.txt", "x\n");
    let first = ok(&workspace, "file.search", json!({"pattern": "x", "max_results": 2}));
    assert_eq!((&first["truncated"], each(&first["matches"], "path").len()), (&json!(true), 2));
    let args = json!({"pattern": "x", "max_results": 2, "cursor": first["next"]});
    let rest = ok(&workspace, "file.search", args);
    assert_eq!(
        (&rest["truncated"], each(&rest["matches"], "path")),
        (&json!(false), vec!["b.txt"])
    );
    let any_case = json!({"pattern": "x", "case_sensitive": "false", "path": "a.txt"});
    assert_eq!(each(&ok(&workspace, "file.search", any_case)["matches"], "path").len(), 3);
    fails(&workspace, "file.search", json!({"pattern": "(", }), "invalid_pattern");
    fails(
        &workspace,
        "file.search",
        json!({"pattern": "x", "path": ".."}),
        "path_outside_workspace",
    );
}

#[test]
fn r8_what_ignore_files_exclude_is_counted_and_can_be_asked_for() {
    let workspace = TestWorkspace::new();
    workspace.put("/.gitignore", "out\n");
    workspace.put("/out/a.txt", "x\n");
    workspace.put("/in.txt", "x\n");
    let reply = ok(&workspace, "file.search", json!({"pattern": "x"}));
    assert_eq!((each(&reply["matches"], "path"), &reply["ignored"]), (vec!["in.txt"], &json!(1)));
    let all = json!({"pattern": "*.txt", "include_ignored": true});
    assert_eq!(each(&ok(&workspace, "file.list", all)["files"], "path"), ["in.txt", "out/a.txt"]);
}

#[test]
fn f6_both_names_are_accepted() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x\n");
    for name in ["file.read", "file_read"] {
        assert_eq!(ok(&workspace, name, json!({"path": "a.txt"}))["content"], "     1\tx\n");
    }
}

#[test]
fn f1_errors_are_answers() {
    let workspace = TestWorkspace::new();
    let answer = call(&workspace, "file", "file.read", json!({"path": "none.txt"}));
    assert_eq!(answer.status, 200);
    has(&answer.body["result"], &json!({"error": "file_not_found", "message": ""}));
    assert_eq!(answer.body["result"]["error"], "file_not_found");
}
