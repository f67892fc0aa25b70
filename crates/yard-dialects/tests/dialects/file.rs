//! `specs/file.md`, F1 to F6.

use serde_json::{Value, json};
use yard_testkit::Yard;

use super::{call, each, has, is_time};

#[track_caller]
fn ok(yard: &Yard, tool: &str, args: Value) -> Value {
    super::ok(yard, "file", tool, args)
}

#[track_caller]
fn fails(yard: &Yard, tool: &str, args: Value, word: &str) -> String {
    super::fails(yard, "file", tool, args, word)
}

#[test]
fn f2_lines_are_numbered_as_by_cat() {
    let yard = Yard::new();
    yard.put("/a.txt", "one\n\ntwo\tx\r\nlast");
    let whole = ok(&yard, "file.read", json!({"path": "a.txt"}));
    has(&whole, &json!({"content": "", "total_lines": 0, "truncated": false}));
    assert_eq!(whole["content"], "     1\tone\n     2\t\n     3\ttwo\tx\r\n     4\tlast");
    assert_eq!((&whole["total_lines"], &whole["truncated"]), (&json!(4), &json!(false)));
    let part = ok(&yard, "file.read", json!({"path": "a.txt", "offset": 2, "limit": 1}));
    assert_eq!(part["content"], "     2\t\n");
    assert_eq!((&part["total_lines"], &part["truncated"]), (&json!(4), &json!(true)));
    let past = ok(&yard, "file.read", json!({"path": "a.txt", "offset": 9}));
    assert_eq!((&past["content"], &past["truncated"]), (&json!(""), &json!(false)));
    fails(&yard, "file.read", json!({"path": "a.txt", "offset": 0}), "invalid_arguments");
}

#[test]
fn reading_fails_in_the_words_of_the_spec() {
    let yard = Yard::new();
    yard.put("/dir/a.txt", "x");
    yard.put("/bin", b"\x00\x01");
    fails(&yard, "file.read", json!({"path": "missing"}), "file_not_found");
    fails(&yard, "file.read", json!({"path": "dir"}), "is_directory");
    fails(&yard, "file.read", json!({"path": "../x"}), "path_outside_workspace");
    fails(&yard, "file.read", json!({"path": "/etc/passwd"}), "path_outside_workspace");
    fails(&yard, "file.read", json!({"path": "bin"}), "binary_file");
    let message = fails(&yard, "file.read", json!({"file": "dir/a.txt"}), "invalid_arguments");
    assert!(message.contains("file: unknown argument") && message.contains("path: missing"));
}

#[test]
fn r4_a_line_longer_than_an_answer_is_cut_and_read_on_by_bytes() {
    let yard = Yard::new();
    let long = "é".repeat(300_000);
    yard.put("/long.txt", format!("first\n{long}\nlast\n"));
    let first = ok(&yard, "file.read", json!({"path": "long.txt"}));
    assert_eq!(first["content"], "     1\tfirst\n");
    let cut = ok(&yard, "file.read", json!({"path": "long.txt", "offset": 2}));
    let content = cut["content"].as_str().unwrap();
    assert!(content.len() <= 256 << 10 && content.contains("[line 2 "), "R12");
    assert_eq!(cut["truncated"], true);
    let mut text = content[7..content.find('\n').unwrap()].to_owned();
    let mut next = cut["next_byte"].clone();
    while !next.is_null() {
        let piece = ok(&yard, "file.read", json!({"path": "long.txt", "byte_offset": next}));
        text.push_str(piece["content"].as_str().unwrap());
        next = piece["next_byte"].clone();
    }
    assert_eq!(text, format!("{long}\nlast\n"));
}

#[test]
fn writing_makes_folders_and_counts_bytes() {
    let yard = Yard::new();
    let reply = ok(&yard, "file.write", json!({"path": "a/b/c.txt", "content": "é\n"}));
    assert_eq!(reply, json!({"success": true, "bytes_written": 3}));
    assert_eq!(yard.bytes("/a/b/c.txt"), "é\n".as_bytes());
    ok(&yard, "file.write", json!({"path": "a/b/c.txt", "content": ""}));
    assert_eq!(yard.bytes("/a/b/c.txt"), b"");
    fails(
        &yard,
        "file.write",
        json!({"path": "a/../../x", "content": ""}),
        "path_outside_workspace",
    );
    fails(&yard, "file.write", json!({"path": "a/b", "content": ""}), "is_directory");
    fails(&yard, "file.write", json!({"path": "a/b/c.txt/d", "content": ""}), "not_a_directory");
}

/// The example of `file.patch`.
#[test]
fn f3_patches_are_applied_in_order() {
    let yard = Yard::new();
    yard.put(
        "/src/config.py",
        "DEBUG = True\n\ndef connect():\n    return db.connect(timeout=30)\n",
    );
    let reply = ok(
        &yard,
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
    assert_eq!(yard.bytes("/src/config.py"), text.as_bytes());
}

#[test]
fn f3_patches_are_atomic_and_see_what_those_before_them_left() {
    let yard = Yard::new();
    yard.put("/a.txt", "one two two\n");
    let patch = |patches: Value| json!({"path": "a.txt", "patches": patches});
    let good = json!({"find": "one", "replace": "1"});
    let missing = json!({"find": "three", "replace": "3"});
    let message = fails(&yard, "file.patch", patch(json!([good, missing])), "find_not_found");
    assert!(message.contains("edit 2 of 2"), "{message}");
    let twice = json!({"find": "two", "replace": "2"});
    fails(&yard, "file.patch", patch(json!([good, twice])), "find_not_unique");
    assert_eq!(yard.bytes("/a.txt"), b"one two two\n");
    let chain = json!([{"find": "one two", "replace": "three"}, {"find": "two", "replace": "2"}]);
    ok(&yard, "file.patch", patch(chain));
    assert_eq!(yard.bytes("/a.txt"), b"three 2\n");
    fails(&yard, "file.patch", patch(json!([])), "invalid_arguments");
    let none = json!({"path": "none", "patches": [good]});
    fails(&yard, "file.patch", none, "file_not_found");
}

#[test]
fn deleting_takes_files_only() {
    let yard = Yard::new();
    yard.put("/dir/a.txt", "x");
    fails(&yard, "file.delete", json!({"path": "dir"}), "is_directory");
    assert_eq!(ok(&yard, "file.delete", json!({"path": "dir/a.txt"})), json!({"success": true}));
    assert!(!yard.has("/dir/a.txt"));
    fails(&yard, "file.delete", json!({"path": "dir/a.txt"}), "file_not_found");
}

#[test]
fn f4_a_listing_is_of_the_directory_or_of_the_files_below_it() {
    let yard = Yard::new();
    yard.put("/src/a.py", "x");
    yard.put("/src/deep/b.py", "xy");
    yard.put("/src/deep/c.ts", "");
    let own = ok(&yard, "file.list", json!({"path": "src"}));
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
        let below = ok(&yard, "file.list", json!({"path": "src", "pattern": pattern}));
        assert_eq!(each(&below["files"], "path"), found, "{pattern}");
    }
    assert_eq!(each(&ok(&yard, "file.list", json!({}))["files"], "path"), ["src"]);
    fails(&yard, "file.list", json!({"path": "none"}), "file_not_found");
    fails(&yard, "file.list", json!({"path": "none", "pattern": "*"}), "file_not_found");
    fails(&yard, "file.list", json!({"path": "src/a.py"}), "not_a_directory");
    fails(&yard, "file.list", json!({"path": "src/a.py", "pattern": "*"}), "not_a_directory");
    fails(&yard, "file.list", json!({"path": "../.."}), "path_outside_workspace");
    fails(&yard, "file.list", json!({"pattern": "[a"}), "invalid_pattern");
    fails(&yard, "file.list", json!({"pattern": "../*"}), "path_outside_workspace");
}

/// The example of `file.search`.
#[test]
fn f5_matching_lines_are_marked_among_their_neighbours() {
    let yard = Yard::new();
    let above = "\n".repeat(40);
    yard.put(
        "/src/db/connection.py",
        format!(
            "{above}# Establish database connection\ndef connect(host, port):\n    return Client(host, port)"
        ),
    );
    yard.put("/src/db/notes.md", "def connect\n");
    let args = json!({"pattern": "def\\s+connect", "glob": "**/*.py", "context_lines": 1});
    let reply = ok(&yard, "file.search", args);
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
    let reply = ok(&yard, "file.search", bare);
    assert_eq!(reply["matches"][0]["content"], "-->     return Client(host, port)");
}

#[test]
fn f5_searches_are_bounded_and_go_on() {
    let yard = Yard::new();
    yard.put("/a.txt", "x\nX\nx\n");
    yard.put("/b.txt", "x\n");
    let first = ok(&yard, "file.search", json!({"pattern": "x", "max_results": 2}));
    assert_eq!((&first["truncated"], each(&first["matches"], "path").len()), (&json!(true), 2));
    let args = json!({"pattern": "x", "max_results": 2, "cursor": first["next"]});
    let rest = ok(&yard, "file.search", args);
    assert_eq!(
        (&rest["truncated"], each(&rest["matches"], "path")),
        (&json!(false), vec!["b.txt"])
    );
    let any_case = json!({"pattern": "x", "case_sensitive": "false", "path": "a.txt"});
    assert_eq!(each(&ok(&yard, "file.search", any_case)["matches"], "path").len(), 3);
    fails(&yard, "file.search", json!({"pattern": "(", }), "invalid_pattern");
    fails(&yard, "file.search", json!({"pattern": "x", "path": ".."}), "path_outside_workspace");
}

#[test]
fn r8_what_ignore_files_exclude_is_counted_and_can_be_asked_for() {
    let yard = Yard::new();
    yard.put("/.gitignore", "out\n");
    yard.put("/out/a.txt", "x\n");
    yard.put("/in.txt", "x\n");
    let reply = ok(&yard, "file.search", json!({"pattern": "x"}));
    assert_eq!((each(&reply["matches"], "path"), &reply["ignored"]), (vec!["in.txt"], &json!(1)));
    let all = json!({"pattern": "*.txt", "include_ignored": true});
    assert_eq!(each(&ok(&yard, "file.list", all)["files"], "path"), ["in.txt", "out/a.txt"]);
}

#[test]
fn f6_both_names_are_accepted() {
    let yard = Yard::new();
    yard.put("/a.txt", "x\n");
    for name in ["file.read", "file_read"] {
        assert_eq!(ok(&yard, name, json!({"path": "a.txt"}))["content"], "     1\tx\n");
    }
}

#[test]
fn f1_errors_are_answers() {
    let yard = Yard::new();
    let answer = call(&yard, "file", "file.read", json!({"path": "none.txt"}));
    assert_eq!(answer.status, 200);
    has(&answer.body["result"], &json!({"error": "file_not_found", "message": ""}));
    assert_eq!(answer.body["result"]["error"], "file_not_found");
}
