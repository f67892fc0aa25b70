//! What the document of `workspace` asks of its overview, of the status `synced` and of ls, read, write, mkdir,
//! rm, mv, touch and edit, where no other test holds it. `docs/conformance.md` lists all demands.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use crate::support::{each, fails, invalid, is_hash, is_time, is_uuid_v7, lines, ok, on_disk};
use serde_json::{Value, json};
use yard_core::op::{History, HistoryOf};
use yard_core::{ContentHash, Limits, WsPath};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

fn schema<'a>(
    workspace: &'a TestWorkspace,
    tool: &str,
    side: fn(&yard_dialects::AnyTool) -> &Value,
) -> &'a Value {
    let tool =
        workspace.catalog().get("workspace", tool).unwrap_or_else(|| panic!("no tool {tool}"));
    side(tool)
}

fn names(properties: &Value) -> BTreeSet<&str> {
    properties.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The versions of a file, newest first.
fn versions(workspace: &TestWorkspace, path: &str) -> Vec<String> {
    let of = HistoryOf::Path(WsPath::parse(path).unwrap());
    let steps = workspace.perform(History { of, limit: 100, before: None }).unwrap().steps;
    steps.iter().filter_map(|step| step.version).map(|version| version.to_string()).collect()
}

#[track_caller]
fn hash_of(workspace: &TestWorkspace, path: &str) -> String {
    ContentHash::of(&workspace.bytes(path)).to_string()
}

#[test]
fn the_quick_reference_names_what_each_tool_takes_and_answers() {
    let workspace = TestWorkspace::new();
    let input = yard_dialects::AnyTool::input_schema;
    let output = yard_dialects::AnyTool::output_schema;
    let rows: [(&str, &[&str], &[&str]); 20] = [
        ("ls", &["path", "recursive"], &["path", "entries"]),
        (
            "read",
            &["path", "offset", "limit"],
            &["content", "synced", "total_lines", "truncated", "offset", "limit", "hash"],
        ),
        ("write", &["path", "content", "file_type"], &["file_id", "version_id"]),
        ("rm", &["path"], &["file_id"]),
        ("mv", &["source", "destination"], &["from_path", "to_path"]),
        ("touch", &["path"], &["path", "file_id"]),
        ("mkdir", &["path"], &["path", "file_id"]),
        (
            "edit",
            &[
                "path",
                "old_string",
                "new_string",
                "insert_line",
                "insert_content",
                "last_read_hash",
            ],
            &["path", "file_id", "version_id"],
        ),
        (
            "grep",
            &[
                "pattern",
                "path_pattern",
                "case_sensitive",
                "before_context",
                "after_context",
                "context",
            ],
            &["matches"],
        ),
        (
            "cat",
            &[
                "paths",
                "offset",
                "limit",
                "show_ends",
                "show_tabs",
                "squeeze_blank",
                "number_lines",
                "show_headers",
            ],
            &["content", "files"],
        ),
        ("glob", &["patterns", "path"], &["pattern", "base_path", "matches"]),
        (
            "file_info",
            &["path"],
            &[
                "path",
                "synced",
                "file_type",
                "size",
                "line_count",
                "created_at",
                "updated_at",
                "hash",
            ],
        ),
        ("find", &["name", "path", "file_type", "min_size", "max_size", "recursive"], &["matches"]),
        ("read_multiple_files", &["paths", "limit"], &["files"]),
        ("ask_user", &["questions"], &["question_id", "questions"]),
        (
            "exit_plan_mode",
            &[
                "allowedPrompts",
                "pushToRemote",
                "remoteSessionId",
                "remoteSessionUrl",
                "remoteSessionTitle",
            ],
            &["mode", "plan_file"],
        ),
        (
            "plan_write",
            &["title", "content", "path", "status"],
            &["path", "file_id", "version_id", "hash", "metadata"],
        ),
        (
            "plan_read",
            &["path", "name", "offset", "limit"],
            &["path", "metadata", "content", "hash"],
        ),
        (
            "plan_edit",
            &["path", "old_string", "new_string", "insert_line", "insert_content"],
            &["path", "file_id", "version_id", "hash"],
        ),
        ("plan_list", &["status", "limit"], &["plans", "total"]),
    ];
    for (tool, takes, answers) in rows {
        let known = names(&schema(&workspace, tool, input)["properties"]);
        assert!(takes.iter().all(|name| known.contains(name)), "{tool} takes {known:?}");
        let schema_names = names(&schema(&workspace, tool, output)["properties"]);
        assert!(
            answers.iter().all(|name| schema_names.contains(name)),
            "{tool} answers {schema_names:?}"
        );
    }
    for (tool, list) in [("ls", "entries"), ("cat", "files"), ("glob", "matches")]
        .into_iter()
        .chain([("find", "matches"), ("read_multiple_files", "files")])
    {
        let items = &schema(&workspace, tool, output)["properties"][list]["items"];
        assert!(names(&items["properties"]).contains("synced"), "{tool}: {items}");
    }
    assert_eq!(workspace.catalog().list("workspace").count(), rows.len());
}

#[test]
fn arguments_have_the_documented_types_and_defaults_and_nothing_else_is_required() {
    let workspace = TestWorkspace::new();
    let text = || json!({"type": "string"});
    let number = |default: u64| json!({"type": "integer", "default": default});
    let flag = || json!({"type": "boolean", "default": false});
    let tables = [
        (
            "ls",
            json!({"path": {"type": "string", "default": "/"}, "recursive": flag(), "limit": number(50)}),
            json!([]),
        ),
        (
            "read",
            json!({"path": text(), "offset": number(0), "limit": number(500)}),
            json!(["path"]),
        ),
        (
            "write",
            json!({
                "path": text(), "overwrite": flag(),
                "file_type": {"type": "string", "default": "document"},
            }),
            json!(["path"]),
        ),
        ("mkdir", json!({"path": text()}), json!(["path"])),
        ("rm", json!({"path": text()}), json!(["path"])),
        ("mv", json!({"source": text(), "destination": text()}), json!(["source", "destination"])),
        ("touch", json!({"path": text()}), json!(["path"])),
        (
            "edit",
            json!({
                "path": text(), "old_string": text(), "new_string": text(), "last_read_hash": text(),
            }),
            json!(["path"]),
        ),
    ];
    for (tool, arguments, required) in tables {
        let schema = schema(&workspace, tool, yard_dialects::AnyTool::input_schema);
        assert_eq!(schema.get("required").unwrap_or(&json!([])), &required, "{tool}");
        for (name, wanted) in arguments.as_object().unwrap() {
            let argument = &schema["properties"][name];
            for (key, value) in wanted.as_object().unwrap() {
                assert_eq!(&argument[key], value, "{tool}.{name}: {argument}");
            }
        }
        // A required argument that is missing is named.
        for name in required.as_array().unwrap() {
            invalid(&workspace, tool, json!({}), name.as_str().unwrap());
        }
    }
    // What no schema can say: the content of a file is required, and so are both texts of a replacement.
    assert_eq!(
        schema(&workspace, "write", yard_dialects::AnyTool::input_schema)["properties"]["content"]
            .get("type"),
        None
    );
    invalid(&workspace, "write", json!({"path": "/a"}), "content");
    workspace.put("/a", "one");
    invalid(&workspace, "edit", json!({"path": "/a", "old_string": "one"}), "new_string");
    invalid(&workspace, "edit", json!({"path": "/a", "new_string": "two"}), "old_string");
    assert_eq!(workspace.bytes("/a"), b"one");
}

#[test]
fn every_change_answers_the_documented_fields() {
    let workspace = TestWorkspace::new();
    let check = |tool: &str, args: Value, fields: &[&str]| {
        let result = ok(&workspace, tool, args);
        assert_eq!(names(&result), fields.iter().copied().collect(), "{tool}");
        if let Some(path) = result.get("path") {
            assert!(path.as_str().unwrap().starts_with("/d"), "{tool}: {result}");
        }
        assert!(result.get("file_id").is_none_or(is_uuid_v7), "{tool}: {result}");
        assert!(result.get("version_id").is_none_or(is_uuid_v7), "{tool}: {result}");
        assert!(result.get("hash").is_none_or(is_hash), "{tool}: {result}");
    };
    let versioned = ["path", "file_id", "version_id", "hash"];
    check("mkdir", json!({"path": "/d"}), &["path", "file_id"]);
    check("touch", json!({"path": "/d/t"}), &["path", "file_id"]);
    check("write", json!({"path": "/d/w", "content": "one"}), &versioned);
    check("edit", json!({"path": "/d/w", "old_string": "one", "new_string": "1"}), &versioned);
    check("mv", json!({"source": "/d/w", "destination": "/d/m"}), &["from_path", "to_path"]);
    check("rm", json!({"path": "/d/m"}), &["path", "file_id", "trash_id"]);
}

#[test]
fn w19_what_is_on_disk_only_is_found_read_changed_and_removed_like_the_rest() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/src/known.txt", "content": "known\n"}));
    workspace.put("/src/extern.txt", "extern\n");
    let both = [("/src/extern.txt", false), ("/src/known.txt", true)];
    for (tool, args, list) in [
        ("ls", json!({"path": "/src"}), "entries"),
        ("find", json!({"path": "/src"}), "matches"),
        ("glob", json!({"pattern": "*.txt"}), "matches"),
        ("cat", json!({"paths": ["/src/extern.txt", "/src/known.txt"]}), "files"),
        ("read_multiple_files", json!({"paths": ["/src/extern.txt", "/src/known.txt"]}), "files"),
    ] {
        let result = ok(&workspace, tool, args);
        let entries: Vec<_> = result[list].as_array().unwrap().iter().collect();
        assert_eq!(entries.len(), 2, "{tool}");
        for (entry, (path, synced)) in entries.into_iter().zip(both) {
            assert_eq!(
                (&entry["path"], &entry["synced"]),
                (&json!(path), &json!(synced)),
                "{tool}"
            );
        }
    }
    // What is known of both, and what only of a file in the store.
    let listed = ok(&workspace, "ls", json!({"path": "/src"}));
    let [external, known] = listed["entries"].as_array().unwrap().as_slice() else { panic!() };
    for entry in [external, known] {
        assert!(entry["name"].is_string() && entry["size"].is_u64(), "{entry}");
        assert!(is_time(&entry["updated_at"]), "{entry}");
    }
    assert!(external["id"].is_null() && is_uuid_v7(&known["id"]), "{listed}");
    for (path, synced) in both {
        assert_eq!(ok(&workspace, "read", json!({"path": path}))["synced"], synced);
        let info = ok(&workspace, "file_info", json!({"path": path}));
        assert_eq!((&info["synced"], is_time(&info["created_at"])), (&json!(synced), true));
    }
    // It is taken into the store when it is edited or moved.
    let edit = json!({"path": "/src/extern.txt", "old_string": "extern", "new_string": "edited"});
    let edited = ok(&workspace, "edit", edit);
    let info = ok(&workspace, "file_info", json!({"path": "/src/extern.txt"}));
    assert_eq!((&info["synced"], &info["id"]), (&json!(true), &edited["file_id"]));
    assert_eq!(
        versions(&workspace, "/src/extern.txt").len(),
        2,
        "what it was before is a version, too"
    );
    workspace.put("/src/other.txt", "other\n");
    ok(&workspace, "mv", json!({"source": "/src/other.txt", "destination": "/src/moved.txt"}));
    assert_eq!(ok(&workspace, "read", json!({"path": "/src/moved.txt"}))["synced"], true);
    // Removing says whether the store knew it, and takes it from disk either way.
    workspace.put("/src/third.txt", "third\n");
    assert_eq!(ok(&workspace, "rm", json!({"path": "/src/third.txt"}))["file_id"], Value::Null);
    let removed = ok(&workspace, "rm", json!({"path": "/src/known.txt"}));
    assert_eq!(removed["file_id"], known["id"]);
    assert!(!workspace.has("/src/third.txt") && !workspace.has("/src/known.txt"));
}

#[test]
fn w19_a_file_that_was_changed_behind_the_store_is_listed_once_with_its_id_and_type() {
    let workspace = TestWorkspace::new();
    let made = json!({"path": "/a.canvas", "content": {"elements": []}, "file_type": "canvas"});
    let made = ok(&workspace, "write", made);
    workspace.put("/a.canvas", "changed by hand");
    let listed = ok(&workspace, "ls", json!({}));
    assert_eq!(each(&listed["entries"], "path"), ["/a.canvas"]);
    let entry = &listed["entries"][0];
    assert_eq!((&entry["id"], &entry["synced"]), (&made["file_id"], &json!(false)));
    assert_eq!(entry["file_type"], "canvas");
}

#[test]
fn w19_what_the_store_knows_and_the_disk_has_not_is_not_found() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/a.txt", "content": "a"}));
    std::fs::remove_file(on_disk(&workspace, "/a.txt")).unwrap();
    let to = json!({"source": "/a.txt", "destination": "/b.txt"});
    for (tool, args) in [
        ("read", json!({"path": "/a.txt"})),
        ("file_info", json!({"path": "/a.txt"})),
        ("rm", json!({"path": "/a.txt"})),
        ("edit", json!({"path": "/a.txt", "old_string": "a", "new_string": "b"})),
        ("mv", to),
    ] {
        fails(&workspace, tool, args, 404, "NOT_FOUND");
    }
    assert_eq!(ok(&workspace, "ls", json!({}))["entries"], json!([]));
    assert_eq!(ok(&workspace, "find", json!({}))["matches"], json!([]));
}

#[test]
fn what_is_in_neither_place_is_not_found() {
    let workspace = TestWorkspace::new();
    for tool in ["read", "file_info", "ls", "rm"] {
        fails(&workspace, tool, json!({"path": "/none"}), 404, "NOT_FOUND");
    }
    let edit = json!({"path": "/none", "old_string": "a", "new_string": "b"});
    fails(&workspace, "edit", edit, 404, "NOT_FOUND");
    fails(&workspace, "mv", json!({"source": "/none", "destination": "/b"}), 404, "NOT_FOUND");
    for tool in ["cat", "read_multiple_files"] {
        let result = ok(&workspace, tool, json!({"paths": ["/none"]}));
        assert!(result["files"][0]["error"].is_string(), "{tool}: {result}");
    }
}

#[test]
fn w18_chats_alone_are_virtual() {
    let workspace = TestWorkspace::new();
    for word in ["document", "canvas", "whiteboard", "agent", "skill", "plan"] {
        let args = json!({"path": format!("/{word}"), "content": "x", "file_type": word});
        ok(&workspace, "write", args);
    }
    let listed = ok(&workspace, "ls", json!({}));
    let entries = listed["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 6);
    assert!(entries.iter().all(|entry| entry["is_virtual"] == false), "{listed}");
    let edit = json!({"path": "/agent", "old_string": "x", "new_string": "y"});
    ok(&workspace, "edit", edit);
}

#[test]
fn w4_ls_limits_what_it_has_merged_and_sorted() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "touch", json!({"path": "/a.txt"}));
    workspace.put("/b.txt", "b");
    ok(&workspace, "touch", json!({"path": "/c.txt"}));
    workspace.put("/z/deep/file.txt", "z");
    ok(&workspace, "mkdir", json!({"path": "/y"}));
    let listed = |args: Value| {
        let result = ok(&workspace, "ls", args);
        each(&result["entries"], "path").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let own = ["/y", "/z", "/a.txt", "/b.txt", "/c.txt"];
    assert_eq!(listed(json!({})), own);
    for limit in 1..=5 {
        assert_eq!(listed(json!({"limit": limit})), own[..limit]);
    }
    let all = ["/y", "/z", "/z/deep", "/a.txt", "/b.txt", "/c.txt", "/z/deep/file.txt"];
    assert_eq!(listed(json!({"recursive": true})), all, "folders first, at any depth");
    assert_eq!(listed(json!({"recursive": true, "limit": 4})), all[..4]);
}

#[test]
fn a_recursive_listing_holds_what_is_below_and_not_what_begins_alike() {
    let workspace = TestWorkspace::new();
    for path in ["/src/a.rs", "/src/deep/b.rs", "/src2/c.rs", "/src.txt", "/lib/src/d.rs"] {
        workspace.put(path, "x");
    }
    ok(&workspace, "touch", json!({"path": "/src/known.rs"}));
    let below = ["/src/deep", "/src/a.rs", "/src/deep/b.rs", "/src/known.rs"];
    for path in ["/src", "/src/", "src"] {
        let result = ok(&workspace, "ls", json!({"path": path, "recursive": true}));
        assert_eq!(each(&result["entries"], "path"), below);
        assert_eq!(result["path"], "/src", "the path that was listed");
    }
}

#[test]
fn r12_ls_without_limit_is_bounded_and_goes_on() {
    let limits = Limits { answer_entries: 100, ..Limits::default() };
    let workspace =
        TestWorkspace::open(&Folders::new(), OpenOptions { limits, ..OpenOptions::default() })
            .unwrap();
    for number in 0..150 {
        workspace.put(&format!("/{number:03}.txt"), "x");
    }
    let first = ok(&workspace, "ls", json!({"limit": 0}));
    assert_eq!(first["entries"].as_array().unwrap().len(), 100);
    assert_eq!((&first["truncated"], &first["total"]), (&json!(true), &json!(150)));
    let rest = ok(&workspace, "ls", json!({"limit": 0, "cursor": first["next"]}));
    assert_eq!(rest["entries"].as_array().unwrap().len(), 50);
    assert_eq!(rest["truncated"], false);
}

/// Sets a file's time, as an editor of another day would have left it.
fn date(workspace: &TestWorkspace, path: &str, seconds: u64) {
    let file = std::fs::File::options().write(true).open(on_disk(workspace, path)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

#[test]
fn r11_entries_have_the_time_of_their_last_change() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x");
    date(&workspace, "/a.txt", 1_769_250_600);
    let listed = ok(&workspace, "ls", json!({}));
    assert_eq!(listed["entries"][0]["updated_at"], "2026-01-24T10:30:00.000Z");
}

#[test]
fn read_says_truncated_exactly_when_lines_remain() {
    let workspace = TestWorkspace::new();
    workspace.put("/500", lines(500));
    workspace.put("/501", lines(501));
    for (path, limit, offset, truncated) in [
        ("/500", None, 0, false),
        ("/501", None, 0, true),
        ("/501", None, 1, false),
        ("/501", Some(501), 0, false),
        ("/501", Some(1), 500, false),
        ("/501", Some(1), 499, true),
        ("/501", Some(1), -1, false),
        ("/501", Some(1), -2, true),
    ] {
        let mut args = json!({"path": path, "offset": offset});
        if let Some(limit) = limit {
            args["limit"] = json!(limit);
        }
        let read = ok(&workspace, "read", args.clone());
        assert_eq!(read["truncated"], truncated, "{args}");
        assert_eq!(read["limit"], limit.unwrap_or(500), "{args}");
    }
    let first = ok(&workspace, "read", json!({"path": "/501", "offset": 0, "limit": 1}));
    assert_eq!(first["content"], "line 0\n", "offset 0 is the first line");
}

#[test]
fn a_part_has_the_hash_of_the_whole_and_edit_takes_it() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", lines(1000));
    let whole = hash_of(&workspace, "/a.txt");
    for args in [
        json!({"path": "/a.txt"}),
        json!({"path": "/a.txt", "limit": 1}),
        json!({"path": "/a.txt", "offset": 400, "limit": 3}),
        json!({"path": "/a.txt", "offset": -5}),
        json!({"path": "/a.txt", "offset": 5000}),
        json!({"path": "/a.txt", "byte_offset": 7, "byte_limit": 3}),
    ] {
        assert_eq!(ok(&workspace, "read", args.clone())["hash"], whole, "{args}");
    }
    let part = ok(&workspace, "read", json!({"path": "/a.txt", "offset": 10, "limit": 1}));
    let edit = |old: &str, new: &str, hash: &Value| json!({"path": "/a.txt", "old_string": old, "new_string": new, "last_read_hash": hash});
    let edited = ok(&workspace, "edit", edit("line 999\n", "the last\n", &part["hash"]));
    assert_eq!(edited["hash"], hash_of(&workspace, "/a.txt"));
    // The hash of before is stale now, though the part that was read is as it was.
    fails(&workspace, "edit", edit("line 10\n", "x\n", &part["hash"]), 409, "CONFLICT");
}

#[test]
fn contents_come_back_as_they_were_written() {
    let workspace = TestWorkspace::new();
    for (at, text) in [
        "no newline at the end",
        "\n\n  white space \t \r\n\r\n",
        "tabs\tand \u{1b}[31mcolours\u{1b}[0m\n",
        "été 日本語 🦀 e\u{301}\u{200d}\n",
        "<tag attr=\"1\">&amp; \\n \\u0041</tag>\n",
        "{\"looks\": \"like JSON\"}",
        "\"quoted\"",
        "42",
        "",
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/{at}");
        let made = ok(&workspace, "write", json!({"path": path, "content": text}));
        assert_eq!(workspace.bytes(&path), text.as_bytes());
        assert_eq!(made["hash"], hash_of(&workspace, &path));
        let read = ok(&workspace, "read", json!({"path": path}));
        assert_eq!((&read["content"], &read["hash"]), (&json!(text), &made["hash"]));
        assert_eq!(ok(&workspace, "file_info", json!({"path": path}))["file_type"], "document");
    }
}

#[test]
fn r5_a_mark_is_no_part_of_a_text_and_what_is_no_text_is_refused() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/marked", "content": "\u{feff}text\n"}));
    assert_eq!(workspace.bytes("/marked"), b"\xef\xbb\xbftext\n");
    let read = ok(&workspace, "read", json!({"path": "/marked"}));
    assert_eq!(
        (&read["content"], &read["hash"]),
        (&json!("text\n"), &json!(hash_of(&workspace, "/marked")))
    );
    ok(&workspace, "write", json!({"path": "/nul", "content": "a\0b"}));
    assert_eq!(workspace.bytes("/nul"), b"a\0b");
    assert!(invalid(&workspace, "read", json!({"path": "/nul"}), "path").contains("binary"));
}

#[test]
fn w3_a_value_is_read_whole_whatever_lines_are_asked_for() {
    let workspace = TestWorkspace::new();
    let items: Vec<String> = (0..40_000).map(|number| format!("item {number}")).collect();
    let value = json!({"items": items, "version": 1});
    assert!(value.to_string().len() as u64 > Limits::default().answer_bytes);
    ok(&workspace, "write", json!({"path": "/v.canvas", "content": value, "file_type": "canvas"}));
    for args in [
        json!({"path": "/v.canvas"}),
        json!({"path": "/v.canvas", "limit": 1}),
        json!({"path": "/v.canvas", "offset": 2, "limit": 1}),
        json!({"path": "/v.canvas", "offset": -1}),
    ] {
        let read = ok(&workspace, "read", args.clone());
        assert!(read["content"] == value, "{args}");
        assert_eq!(read["hash"], hash_of(&workspace, "/v.canvas"));
        for field in ["total_lines", "truncated", "offset", "limit"] {
            assert_eq!(read[field], Value::Null, "{args} {field}");
        }
    }
}

#[test]
fn every_write_and_edit_is_a_version_and_the_newest_is_read() {
    let workspace = TestWorkspace::new();
    let mut made = Vec::new();
    let mut note = |result: &Value| made.push(result["version_id"].as_str().unwrap().to_owned());
    for number in 0..3 {
        let args = json!({"path": "/a.txt", "content": format!("{number}\n"), "overwrite": true});
        note(&ok(&workspace, "write", args));
        assert_eq!(
            ok(&workspace, "read", json!({"path": "/a.txt"}))["content"],
            format!("{number}\n")
        );
    }
    note(&ok(
        &workspace,
        "edit",
        json!({"path": "/a.txt", "old_string": "2", "new_string": "two"}),
    ));
    note(&ok(
        &workspace,
        "edit",
        json!({"path": "/a.txt", "insert_line": 1, "insert_content": "end"}),
    ));
    assert_eq!(ok(&workspace, "read", json!({"path": "/a.txt"}))["content"], "two\nend\n");
    made.reverse();
    assert_eq!(versions(&workspace, "/a.txt"), made, "newest first");
}

#[test]
fn w6_a_write_that_changes_nothing_answers_the_version_that_there_is() {
    let workspace = TestWorkspace::new();
    let args = json!({"path": "/a.txt", "content": "same\n", "overwrite": true});
    let first = ok(&workspace, "write", args.clone());
    let second = ok(&workspace, "write", args);
    assert_eq!(second["hash"], first["hash"]);
    assert_eq!(second["version_id"], first["version_id"]);
    assert_eq!(versions(&workspace, "/a.txt"), [second["version_id"].as_str().unwrap()]);
}

#[test]
fn overwriting_leaves_nothing_of_the_old_content_and_keeps_the_file() {
    let workspace = TestWorkspace::new();
    let first = ok(&workspace, "write", json!({"path": "/a.txt", "content": lines(100)}));
    let args = json!({"path": "/a.txt", "content": [1, "two", {"three": 3}], "overwrite": true});
    let second = ok(&workspace, "write", args);
    assert_eq!(second["file_id"], first["file_id"]);
    assert_ne!(second["version_id"], first["version_id"]);
    let read = ok(&workspace, "read", json!({"path": "/a.txt"}));
    assert_eq!(read["content"], json!([1, "two", {"three": 3}]));
    // One that was on disk only is overwritten likewise when that is asked for.
    workspace.put("/external.txt", "before");
    ok(
        &workspace,
        "write",
        json!({"path": "/external.txt", "content": "after", "overwrite": true}),
    );
    assert_eq!(workspace.bytes("/external.txt"), b"after");
    assert_eq!(
        versions(&workspace, "/external.txt").len(),
        2,
        "what it was before can be gone back to"
    );
}

#[test]
fn write_makes_every_folder_above_and_refuses_a_folder_and_a_path_through_a_file() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/a/b/c/d.txt", "content": "x"}));
    for folder in ["/a", "/a/b", "/a/b/c"] {
        let info = ok(&workspace, "file_info", json!({"path": folder}));
        assert_eq!((&info["file_type"], &info["synced"]), (&json!("folder"), &json!(true)));
        for overwrite in [false, true] {
            let args = json!({"path": folder, "content": "x", "overwrite": overwrite});
            invalid(&workspace, "write", args, "path");
        }
    }
    workspace.put("/disk/only.txt", "x");
    invalid(
        &workspace,
        "write",
        json!({"path": "/disk", "content": "x", "overwrite": true}),
        "path",
    );
    let through = json!({"path": "/a/b/c/d.txt/e.txt", "content": "x"});
    invalid(&workspace, "write", through, "path");
    assert_eq!(workspace.bytes("/a/b/c/d.txt"), b"x");
}

#[test]
fn mkdir_of_a_folder_that_is_there_answers_its_id() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "mkdir", json!({"path": "/a/b/c"}));
    let mut above = BTreeSet::new();
    for path in ["/a", "/a/b", "/a/b/c"] {
        assert!(on_disk(&workspace, path).is_dir());
        let again = ok(&workspace, "mkdir", json!({"path": path}));
        let info = ok(&workspace, "file_info", json!({"path": path}));
        assert_eq!((&again["file_id"], &again["path"]), (&info["id"], &json!(path)));
        above.insert(again["file_id"].to_string());
    }
    assert_eq!(above.len(), 3);
    assert!(above.contains(&made["file_id"].to_string()));
    // One that is on disk only is taken into the store, and keeps the id from then on.
    workspace.put("/external/file.txt", "stays");
    let first = ok(&workspace, "mkdir", json!({"path": "/external"}));
    assert!(is_uuid_v7(&first["file_id"]));
    assert_eq!(ok(&workspace, "mkdir", json!({"path": "/external/"}))["file_id"], first["file_id"]);
    assert_eq!(workspace.bytes("/external/file.txt"), b"stays");
    ok(&workspace, "mkdir", json!({"path": "/"}));
}

#[test]
fn rm_of_a_folder_looks_at_all_that_is_in_it_and_at_nothing_that_begins_alike() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "mkdir", json!({"path": "/known"}));
    workspace.put("/known/external.txt", "x");
    workspace.put("/hidden/.keep", "x");
    std::fs::create_dir_all(on_disk(&workspace, "/outer/inner")).unwrap();
    for path in ["/known", "/hidden", "/outer"] {
        fails(&workspace, "rm", json!({"path": path}), 409, "CONFLICT");
        assert!(workspace.has(path));
    }
    ok(&workspace, "mkdir", json!({"path": "/doc"}));
    workspace.put("/docs/file.txt", "x");
    workspace.put("/doc.txt", "x");
    ok(&workspace, "rm", json!({"path": "/doc"}));
    assert!(!workspace.has("/doc") && workspace.has("/docs/file.txt") && workspace.has("/doc.txt"));
    // Once everything in it is gone, the folder goes as well.
    ok(&workspace, "rm", json!({"path": "/known/external.txt"}));
    ok(&workspace, "rm", json!({"path": "/known"}));
    ok(&workspace, "rm", json!({"path": "/outer/inner"}));
    ok(&workspace, "rm", json!({"path": "/outer"}));
    assert!(!workspace.has("/known") && !workspace.has("/outer"));
}

#[test]
fn mv_takes_the_bytes_along_and_overwrites_nothing() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "write", json!({"path": "/old.txt", "content": "bytes\n"}));
    ok(&workspace, "mkdir", json!({"path": "/folder"}));
    let mv =
        |source: &str, destination: &str| json!({"source": source, "destination": destination});
    for (source, destination, lands) in [
        ("/old.txt", "/new.txt", "/new.txt"),
        ("/new.txt", "/folder/", "/folder/new.txt"),
        ("/folder/new.txt", "/", "/new.txt"),
        ("/new.txt", "/folder", "/folder/new.txt"),
        ("/folder/new.txt", "/folder/renamed.md", "/folder/renamed.md"),
    ] {
        let moved = ok(&workspace, "mv", mv(source, destination));
        assert_eq!(moved, json!({"from_path": source, "to_path": lands}));
        assert!(!workspace.has(source), "{source}");
        assert_eq!(workspace.bytes(lands), b"bytes\n");
        assert_eq!(ok(&workspace, "file_info", json!({"path": lands}))["id"], made["file_id"]);
    }
    workspace.put("/a.txt", "a");
    workspace.put("/folder/a.txt", "other a");
    workspace.put("/b.txt", "b");
    for destination in ["/b.txt", "/folder", "/folder/", "/folder/a.txt"] {
        fails(&workspace, "mv", mv("/a.txt", destination), 409, "CONFLICT");
    }
    for destination in ["/none/a.txt", "/none/", "/none/deeper/"] {
        fails(&workspace, "mv", mv("/a.txt", destination), 404, "NOT_FOUND");
        assert!(!workspace.has("/none"));
    }
    assert_eq!(
        (workspace.bytes("/a.txt"), workspace.bytes("/b.txt")),
        (b"a".to_vec(), b"b".to_vec())
    );
    assert_eq!(workspace.bytes("/folder/a.txt"), b"other a");
}

#[test]
fn touch_sets_the_time_to_now_and_makes_an_empty_document() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "write", json!({"path": "/known.txt", "content": "stays\n"}));
    workspace.put("/external.txt", "stays\n");
    for path in ["/known.txt", "/external.txt"] {
        date(&workspace, path, 1_000_000_000);
        let before = ok(&workspace, "file_info", json!({"path": path}));
        assert_eq!(before["updated_at"], "2001-09-09T01:46:40.000Z");
        let start = SystemTime::now() - Duration::from_secs(1);
        ok(&workspace, "touch", json!({"path": path}));
        let after = ok(&workspace, "file_info", json!({"path": path}));
        assert!(after["updated_at"].as_str() > before["updated_at"].as_str(), "{after}");
        let on_disk = on_disk(&workspace, path).metadata().unwrap().modified().unwrap();
        assert!(on_disk >= start, "the time on disk, too");
        assert_eq!((&after["hash"], workspace.bytes(path)), (&before["hash"], b"stays\n".to_vec()));
    }
    assert_eq!(ok(&workspace, "touch", json!({"path": "/known.txt"}))["file_id"], made["file_id"]);
    let new = ok(&workspace, "touch", json!({"path": "/not/yet/there.txt"}));
    let info = ok(&workspace, "file_info", json!({"path": "/not/yet/there.txt"}));
    assert_eq!((&info["file_type"], &info["size"]), (&json!("document"), &json!(0)));
    assert_eq!((&info["id"], &info["synced"]), (&new["file_id"], &json!(true)));
    assert_eq!(ok(&workspace, "read", json!({"path": "/not/yet/there.txt"}))["content"], "");
    assert!(on_disk(&workspace, "/not/yet/there.txt").is_file(), "no folder");
}

#[test]
fn edit_replaces_one_place_of_any_text_and_leaves_the_rest() {
    let workspace = TestWorkspace::new();
    for (path, before, old, new, after) in [
        ("/a.md", "# A\n\nlet x = 1\n", "let x = 1", "let x = 2", "# A\n\nlet x = 2\n"),
        ("/a.json", "{\"a\": 1, \"b\": 2}", "\"a\": 1", "\"a\": [1]", "{\"a\": [1], \"b\": 2}"),
        ("/a.txt", "one\ntwo\nthree", "two\n", "", "one\nthree"),
        ("/noext", "keep\nline\n", "line", "line\nadded", "keep\nline\nadded\n"),
    ] {
        workspace.put(path, before);
        ok(&workspace, "edit", json!({"path": path, "old_string": old, "new_string": new}));
        assert_eq!(workspace.bytes(path), after.as_bytes(), "{path}");
    }
    let value = json!({"path": "/v.canvas", "content": {"zoom": 1}, "file_type": "canvas"});
    ok(&workspace, "write", value);
    let edit =
        json!({"path": "/v.canvas", "old_string": "\"zoom\": 1", "new_string": "\"zoom\": 2"});
    ok(&workspace, "edit", edit);
    assert_eq!(ok(&workspace, "read", json!({"path": "/v.canvas"}))["content"], json!({"zoom": 2}));
    invalid(&workspace, "edit", json!({"path": "/", "old_string": "a", "new_string": "b"}), "path");
    for (old, what) in [("", "empty"), ("absent", "not found"), ("e", "several")] {
        let args = json!({"path": "/a.txt", "old_string": old, "new_string": "x"});
        invalid(&workspace, "edit", args, "old_string");
        assert_eq!(workspace.bytes("/a.txt"), b"one\nthree", "{what}: nothing changed");
    }
}
