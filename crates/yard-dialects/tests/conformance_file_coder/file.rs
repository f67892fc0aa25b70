//! What the document of `file` asks for, sentence by sentence.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};
use yard_testkit::{FailingCalls, FailingProbe, FailureTrigger, InjectedFailure};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use super::{call, done, each, everything_below, has_members, refused};

#[track_caller]
fn ok(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    done(workspace, "file", tool, args)
}

#[track_caller]
fn fails(workspace: &TestWorkspace, tool: &str, args: Value, code: &str) -> String {
    refused(workspace, "file", tool, args, code)
}

#[test]
fn arguments_and_answers_are_those_of_the_document_and_none_names_a_root() {
    let workspace = TestWorkspace::new();
    let schema = |tool: &str| workspace.catalog().get("file", tool).unwrap();
    for (tool, input, ours, output, also) in [
        (
            "file.read",
            "path string, offset? integer, limit? integer",
            &["byte_offset"][..],
            "content string, total_lines integer, truncated boolean",
            &["next_byte"][..],
        ),
        (
            "file.write",
            "path string, content string",
            &[],
            "success boolean, bytes_written integer",
            &[],
        ),
        (
            "file.patch",
            "path string, patches array",
            &[],
            "success boolean, patches_applied integer",
            &[],
        ),
        ("file.delete", "path string", &[], "success boolean", &[]),
        (
            "file.list",
            "path? string, pattern? string",
            &["include_ignored", "cursor"],
            "files array",
            &["truncated", "next", "ignored", "withheld"],
        ),
        (
            "file.search",
            "pattern string, path? string, glob? string, case_sensitive? boolean, \
             context_lines? integer, max_results? integer",
            &["include_ignored", "cursor"],
            "matches array, truncated boolean",
            &["next", "ignored", "withheld"],
        ),
    ] {
        has_members(schema(tool).input_schema(), input, ours, tool);
        has_members(schema(tool).output_schema(), output, also, tool);
    }
    let patch = &schema("file.patch").input_schema()["properties"]["patches"]["items"];
    has_members(patch, "find string, replace string", &[], "a patch");
    let entry = &schema("file.list").output_schema()["properties"]["files"]["items"];
    has_members(entry, "path string, size integer, modified string", &["is_directory"], "a file");
    let found = &schema("file.search").output_schema()["properties"]["matches"]["items"];
    has_members(found, "path string, line integer, content string", &[], "a match");
}

#[test]
fn every_tool_refuses_a_path_that_leads_outside_before_anything_happens() {
    let workspace = TestWorkspace::new();
    let home = workspace.root().parent().unwrap().to_owned();
    std::fs::write(home.join("secret.txt"), "secret\n").unwrap();
    workspace.put("/a/b.txt", "text\n");
    symlink(&home, workspace.root().join("out")).unwrap();
    symlink(home.join("secret.txt"), workspace.root().join("leaving")).unwrap();
    let outside = home.join("secret.txt").display().to_string();
    let before =
        (everything_below(workspace.root()), std::fs::read(home.join("secret.txt")).unwrap());
    for path in [
        "../secret.txt",
        "a/../../secret.txt",
        "..",
        "/etc/passwd",
        "/a/b.txt",
        &outside,
        "out/secret.txt",
        "out/new.txt",
        "leaving",
    ] {
        for (tool, args) in [
            ("file.read", json!({})),
            ("file.write", json!({"content": "changed"})),
            ("file.patch", json!({"patches": [{"find": "secret", "replace": "changed"}]})),
            ("file.delete", json!({})),
            ("file.list", json!({})),
            ("file.list", json!({"pattern": "**"})),
            ("file.search", json!({"pattern": "secret"})),
        ] {
            // A link that leaves is itself inside: deleting it deletes the link (R3).
            if (path, tool) == ("leaving", "file.delete") {
                continue;
            }
            let mut args = args;
            args["path"] = json!(path);
            let message = fails(&workspace, tool, args, "path_outside_workspace");
            assert!(!message.contains("secret\n"), "{message}");
        }
    }
    let after =
        (everything_below(workspace.root()), std::fs::read(home.join("secret.txt")).unwrap());
    assert_eq!(after, before);
    assert!(!home.join("new.txt").exists());
    ok(&workspace, "file.delete", json!({"path": "leaving"}));
    assert_eq!(std::fs::read(home.join("secret.txt")).unwrap(), b"secret\n");
}

#[test]
fn f1_each_error_of_the_document_is_answered_with_its_code_and_a_message() {
    let workspace = TestWorkspace::new();
    workspace.put("/dir/a.txt", "one two two\n");
    let patch =
        |path: &str, find: &str| json!({"path": path, "patches": [{"find": find, "replace": "x"}]});
    for (tool, args, code) in [
        ("file.read", json!({"path": "none"}), "file_not_found"),
        ("file.read", json!({"path": "../a"}), "path_outside_workspace"),
        ("file.read", json!({"path": "dir"}), "is_directory"),
        ("file.write", json!({"path": "../a", "content": ""}), "path_outside_workspace"),
        ("file.patch", patch("none", "one"), "file_not_found"),
        ("file.patch", patch("../a", "one"), "path_outside_workspace"),
        ("file.patch", patch("dir/a.txt", "three"), "find_not_found"),
        ("file.patch", patch("dir/a.txt", "two"), "find_not_unique"),
        ("file.delete", json!({"path": "none"}), "file_not_found"),
        ("file.delete", json!({"path": "../a"}), "path_outside_workspace"),
        ("file.delete", json!({"path": "dir"}), "is_directory"),
        ("file.list", json!({"path": ".."}), "path_outside_workspace"),
        ("file.list", json!({"path": "dir/a.txt"}), "not_a_directory"),
        ("file.search", json!({"pattern": "x", "path": ".."}), "path_outside_workspace"),
        ("file.search", json!({"pattern": "(x"}), "invalid_pattern"),
        ("file.search", json!({"pattern": "x", "glob": "[a"}), "invalid_pattern"),
    ] {
        fails(&workspace, tool, args, code);
    }
    assert_eq!(workspace.bytes("/dir/a.txt"), b"one two two\n");
}

#[test]
fn an_error_of_the_disk_while_writing_is_write_failed_and_the_old_file_stays() {
    let trigger = FailureTrigger::new();
    let probe = FailingProbe::new(Arc::clone(&trigger), InjectedFailure::Errno(EIO));
    let plan = OpenOptions { probe: Some(Arc::new(probe)), ..OpenOptions::default() };
    let workspace = TestWorkspace::open(&Folders::new(), plan).unwrap();
    ok(&workspace, "file.write", json!({"path": "a.txt", "content": "old\n"}));
    let mut failed = 0;
    for nth in 0.. {
        let before = workspace.bytes("/a.txt");
        trigger.arm(nth, FailingCalls::Onwards);
        let args = json!({"path": "a.txt", "content": format!("new {nth}\n")});
        let answer = call(&workspace, "file", "file.write", args);
        if trigger.disarm() == 0 {
            assert!(answer.ok, "{}", answer.body);
            break;
        }
        if answer.ok {
            continue;
        }
        assert_eq!(answer.body["result"]["error"], "write_failed", "{nth}: {}", answer.body);
        assert_eq!(workspace.bytes("/a.txt"), before, "{nth}");
        failed += 1;
    }
    assert!(failed > 0);
}

/// The number of an input/output error.
const EIO: i32 = 5;

#[test]
fn reading_begins_at_a_line_and_takes_as_many_as_asked_for() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\ntwo\nthree\n");
    for (args, content, truncated) in [
        (json!({}), "     1\tone\n     2\ttwo\n     3\tthree\n", false),
        (json!({"offset": 1}), "     1\tone\n     2\ttwo\n     3\tthree\n", false),
        (json!({"offset": 2}), "     2\ttwo\n     3\tthree\n", false),
        (json!({"limit": 2}), "     1\tone\n     2\ttwo\n", true),
        (json!({"limit": 3}), "     1\tone\n     2\ttwo\n     3\tthree\n", false),
        (json!({"limit": 99}), "     1\tone\n     2\ttwo\n     3\tthree\n", false),
        (json!({"offset": 2, "limit": 1}), "     2\ttwo\n", true),
        (json!({"offset": "3", "limit": 1.0}), "     3\tthree\n", false),
    ] {
        let mut args = args;
        args["path"] = json!("a.txt");
        let reply = ok(&workspace, "file.read", args.clone());
        let expected = json!({"content": content, "total_lines": 3, "truncated": truncated});
        assert_eq!(reply, expected, "{args}");
    }
    fails(&workspace, "file.read", json!({}), "invalid_arguments");
    fails(&workspace, "file.read", json!({"path": "a.txt", "limit": 0}), "invalid_arguments");
}

#[test]
fn r12_without_a_limit_as_many_lines_come_as_one_answer_holds_and_offset_reads_on() {
    let workspace = TestWorkspace::new();
    let text: String = (1..=40_000).map(|number| format!("line {number}\n")).collect();
    workspace.put("/long.txt", &text);
    let (mut lines, mut pages) = (Vec::new(), 0);
    loop {
        let args = json!({"path": "long.txt", "offset": lines.len() + 1});
        let page = ok(&workspace, "file.read", args);
        let content = page["content"].as_str().unwrap();
        assert!(content.len() <= 256 << 10, "{}", content.len());
        lines.extend(content.lines().map(str::to_owned));
        assert_eq!(page["total_lines"], 40_000);
        pages += 1;
        if page["truncated"] == false {
            break;
        }
    }
    assert!(pages > 1);
    assert_eq!(lines.len(), 40_000);
    assert_eq!(lines[39_999], " 40000\tline 40000");
}

#[test]
fn a_text_is_found_exactly_as_it_stands_and_nothing_in_it_is_a_pattern() {
    let workspace = TestWorkspace::new();
    let patch = |find: &str, replace: &str| json!({"path": "a.txt", "patches": [{"find": find, "replace": replace}]});
    for (text, find) in
        [("abc\n", "a.c"), ("abc\n", "ABC"), ("a  c\n", "a c"), ("a\tc\n", "a    c"), ("x\n", "x+")]
    {
        workspace.put("/a.txt", text);
        fails(&workspace, "file.patch", patch(find, "new"), "find_not_found");
        assert_eq!(workspace.bytes("/a.txt"), text.as_bytes());
    }
    workspace.put("/a.txt", "(a|b)* $1\nlast\n");
    ok(&workspace, "file.patch", patch("(a|b)* $1", "$& \\1 $0"));
    assert_eq!(workspace.bytes("/a.txt"), b"$& \\1 $0\nlast\n");
    fails(&workspace, "file.patch", patch("", "new"), "invalid_arguments");
    // What changes nothing is refused, too.
    fails(&workspace, "file.patch", patch("last", "last"), "invalid_arguments");
}

#[test]
fn directories_are_not_deleted_even_empty_ones() {
    let workspace = TestWorkspace::new();
    std::fs::create_dir(workspace.root().join("empty")).unwrap();
    for path in ["empty", "empty/", "."] {
        fails(&workspace, "file.delete", json!({"path": path}), "is_directory");
    }
    assert!(workspace.has("/empty"));
}

#[test]
fn f4_a_listing_has_the_size_and_time_of_each_file_and_paths_from_the_root() {
    let workspace = TestWorkspace::new();
    for path in ["/top.ts", "/src/a.ts", "/src/deep/b.ts", "/src/deep/c.py", "/src/.hidden.ts"] {
        workspace.put(path, path);
    }
    let listed = |args: Value| ok(&workspace, "file.list", args)["files"].clone();
    assert_eq!(each(&listed(json!({})), "path"), ["src", "top.ts"], "the default is the root");
    assert_eq!(listed(json!({"path": "."})), listed(json!({})));
    let all = ["src/.hidden.ts", "src/a.ts", "src/deep/b.ts", "top.ts"];
    assert_eq!(each(&listed(json!({"pattern": "**/*.ts"})), "path"), all, "`**/` is also nothing");
    assert_eq!(each(&listed(json!({"pattern": "*.py"})), "path"), ["src/deep/c.py"]);
    let below = json!({"path": "src", "pattern": "**/*.ts"});
    assert_eq!(each(&listed(below), "path"), all[..3]);
    for entry in listed(json!({"pattern": "**/*"})).as_array().unwrap() {
        let path = entry["path"].as_str().unwrap();
        let disk = std::fs::metadata(workspace.root().join(path)).unwrap();
        assert_eq!(entry["size"], disk.len(), "{path}");
        let modified = disk.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
        let time = yard_core::Timestamp::from_millis(i64::try_from(modified.as_millis()).unwrap());
        assert_eq!(entry["modified"], time.to_string(), "{path}");
    }
}

#[test]
fn r3_a_link_to_a_directory_is_listed_as_one_and_no_search_goes_through_it() {
    let workspace = TestWorkspace::new();
    workspace.put("/dir/a.txt", "text\n");
    for (name, target) in [("to_dir", "dir"), ("to_file", "dir/a.txt"), ("to_nothing", "none")] {
        symlink(target, workspace.root().join(name)).unwrap();
    }
    let listed = ok(&workspace, "file.list", json!({}));
    let listed: Vec<(&str, bool)> = listed["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["path"].as_str().unwrap(), entry["is_directory"].as_bool().unwrap()))
        .collect();
    let expected = [("dir", true), ("to_dir", true), ("to_file", false), ("to_nothing", false)];
    assert_eq!(listed, expected);
    let through = ok(&workspace, "file.list", json!({"path": "to_dir"}));
    assert_eq!(each(&through["files"], "path"), ["dir/a.txt"]);
    for pattern in ["**/a.txt", "*/a.txt"] {
        let found = ok(&workspace, "file.list", json!({"pattern": pattern}));
        assert_eq!(each(&found["files"], "path"), ["dir/a.txt"], "{pattern}");
    }
    let found = ok(&workspace, "file.search", json!({"pattern": "text"}));
    assert_eq!(each(&found["matches"], "path"), ["dir/a.txt"]);
}

#[test]
fn f5_context_is_as_many_lines_on_both_sides_as_asked_for() {
    let workspace = TestWorkspace::new();
    let above = "\n".repeat(39);
    let text = "import db\n# Establish database connection\ndef connect(host, port):\n    return Client(host, port)\n\ndef close():\n";
    workspace.put("/src/db/connection.py", format!("{above}{text}"));
    let args = json!({"pattern": "def\\s+connect", "glob": "**/*.py", "context_lines": 2});
    let found = ok(&workspace, "file.search", args);
    let content = "    import db\n    # Establish database connection\n--> def connect(host, port):\n        return Client(host, port)\n    ";
    let expected = json!([{"path": "src/db/connection.py", "line": 42, "content": content}]);
    assert_eq!((&found["matches"], &found["truncated"]), (&expected, &json!(false)));
}

#[test]
fn a_search_is_of_the_whole_workspace_with_case_and_of_a_hundred_lines_unless_told_otherwise() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "needle\nNeedle\n".repeat(60));
    workspace.put("/deep/er/b.py", "needle\n".repeat(60));
    workspace.put("/deep/c.txt", "needle\n");
    let found = |args: Value| ok(&workspace, "file.search", args);
    let whole = found(json!({"pattern": "needle"}));
    let matches = whole["matches"].as_array().unwrap();
    assert_eq!((matches.len(), &whole["truncated"]), (100, &json!(true)));
    assert_eq!(matches[1], json!({"path": "a.txt", "line": 3, "content": "--> needle"}));
    assert_eq!(
        (&matches[60]["path"], &matches[61]["path"]),
        (&json!("deep/c.txt"), &json!("deep/er/b.py"))
    );
    let any = found(
        json!({"pattern": "needle", "case_sensitive": false, "path": "a.txt", "max_results": 120}),
    );
    assert_eq!(any["matches"].as_array().unwrap().len(), 120);
    let below =
        found(json!({"pattern": "needle", "path": "deep", "glob": "*.py", "max_results": 500}));
    let paths = each(&below["matches"], "path");
    assert!(paths.len() == 60 && paths.iter().all(|path| *path == "deep/er/b.py"), "{below}");
    assert_eq!(below["truncated"], false);
}

#[test]
fn r4_a_search_is_truncated_only_if_matches_remain() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x\nx\n");
    for (most, truncated) in [(1, true), (2, false), (3, false)] {
        let found = ok(&workspace, "file.search", json!({"pattern": "x", "max_results": most}));
        assert_eq!(found["truncated"], truncated, "{most}");
    }
    let args = json!({"pattern": "x", "context_lines": 101});
    assert!(fails(&workspace, "file.search", args, "invalid_arguments").contains("0 to 100"));
}

#[test]
fn r9_patterns_are_those_of_ripgrep_and_never_options() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "def connect():\n--files\ncafé\nword words\n");
    for (pattern, lines) in [
        ("def\\s+connect", vec![1]),
        ("^--files$", vec![2]),
        ("--files", vec![2]),
        ("caf\\w\\b", vec![3]),
        ("\\bword\\b", vec![4]),
        ("\\p{Lu}", vec![]),
        ("(?i)DEF", vec![1]),
        ("word(?=s)", vec![4]),
    ] {
        let found = ok(&workspace, "file.search", json!({"pattern": pattern}));
        let found: Vec<u64> = found["matches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["line"].as_u64().unwrap())
            .collect();
        assert_eq!(found, lines, "{pattern}");
    }
}
