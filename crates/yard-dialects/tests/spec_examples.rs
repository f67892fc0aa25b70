//! Every request and response example that the document of `workspace` has for its twenty tools: same status, keys,
//! types, and values where the workspace can be built. A value that a ruling overrides is listed beside its test.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use crate::support::{each, fails, is_hash, is_time, is_uuid_v7, lines, ok};
use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

/// The answer has at least the keys that the example shows.
#[track_caller]
fn has_keys(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(key).is_some(), "no {key} in {value}");
    }
}

#[test]
fn tool_not_found() {
    let workspace = TestWorkspace::new();
    let body = fails(&workspace, "invalid_tool", json!({}), 404, "NOT_FOUND");
    assert!(body["error"].as_str().unwrap().starts_with("Tool 'invalid_tool' not found"));
}

/// Overridden: `file_type` is lower case (W2); folders come first (W4 and the section's own note).
#[test]
fn ls_documents() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/documents/report.md", "content": "# Annual Report"}));
    ok(&workspace, "mkdir", json!({"path": "/documents/archive"}));
    let result =
        ok(&workspace, "ls", json!({"path": "/documents", "recursive": false, "limit": 100}));
    assert_eq!(result["path"], "/documents");
    assert_eq!(each(&result["entries"], "name"), ["archive", "report.md"]);
    assert_eq!(each(&result["entries"], "path"), ["/documents/archive", "/documents/report.md"]);
    assert_eq!(each(&result["entries"], "file_type"), ["folder", "document"]);
    for entry in result["entries"].as_array().unwrap() {
        assert!(is_uuid_v7(&entry["id"]) && is_time(&entry["updated_at"]), "{entry}");
        assert_eq!(entry["synced"], true);
        assert_eq!(entry["is_virtual"], false);
        assert_eq!(entry["display_name"], entry["name"]);
    }
}

#[test]
fn ls_a_file_is_a_bad_request_and_the_root_is_a_slash() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "touch", json!({"path": "/file.txt"}));
    fails(&workspace, "ls", json!({"path": "/file.txt"}), 400, "VALIDATION_ERROR");
    assert_eq!(ok(&workspace, "ls", json!({}))["path"], "/");
}

#[test]
fn ls_limits_and_recursion() {
    let workspace = TestWorkspace::new();
    for number in 0..60 {
        workspace.put(&format!("/many/{number:02}.txt"), "x");
    }
    workspace.put("/many/sub/deep.txt", "x");
    let count = |args| ok(&workspace, "ls", args)["entries"].as_array().unwrap().len();
    assert_eq!(count(json!({"path": "/many"})), 50);
    assert_eq!(count(json!({"path": "/many", "limit": 0})), 61);
    assert_eq!(count(json!({"path": "/many", "limit": 0, "recursive": true})), 62);
    let first = ok(&workspace, "ls", json!({"path": "/many", "limit": 1}));
    assert_eq!(each(&first["entries"], "path"), ["/many/sub"]);
}

#[test]
fn read_default_is_the_first_500_lines() {
    let workspace = TestWorkspace::new();
    let text = lines(5000);
    ok(&workspace, "write", json!({"path": "/documents/report.md", "content": text}));
    let result = ok(&workspace, "read", json!({"path": "/documents/report.md"}));
    assert_eq!(result["path"], "/documents/report.md");
    assert_eq!(result["content"], lines(500));
    assert!(is_hash(&result["hash"]));
    assert_eq!(result["synced"], true);
    assert_eq!(result["total_lines"], 5000);
    assert_eq!(result["truncated"], true);
    assert_eq!(result["offset"], 0);
    assert_eq!(result["limit"], 500);
}

#[test]
fn read_sections() {
    let workspace = TestWorkspace::new();
    let text = lines(2000);
    workspace.put("/src/main.rs", &text);
    let part = |from: usize, count: usize| -> String {
        text.split_inclusive('\n').skip(from).take(count).collect()
    };
    for (args, from, count) in [
        (json!({"path": "/src/main.rs", "offset": 100, "limit": 50}), 100, 50),
        (json!({"path": "/src/main.rs", "offset": -100}), 1900, 100),
        (json!({"path": "/src/main.rs", "offset": -1000, "limit": 50}), 1000, 50),
    ] {
        let result = ok(&workspace, "read", args.clone());
        assert_eq!(result["content"], part(from, count), "{args}");
        assert_eq!(result["offset"], from, "{args}");
        assert_eq!(result["total_lines"], 2000);
        assert_eq!(result["synced"], false);
        assert_eq!(result["truncated"], from + count < 2000, "{args}");
    }
}

#[test]
fn read_a_folder_is_a_validation_error() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "mkdir", json!({"path": "/folder"}));
    fails(&workspace, "read", json!({"path": "/folder"}), 400, "VALIDATION_ERROR");
    fails(&workspace, "read", json!({"path": "/missing"}), 404, "NOT_FOUND");
}

#[test]
fn write_creates() {
    let workspace = TestWorkspace::new();
    let args = json!({
        "path": "/documents/notes.md",
        "content": "# My Notes\n\nCreated via Tools API",
        "file_type": "document"
    });
    let result = ok(&workspace, "write", args);
    assert_eq!(result["path"], "/documents/notes.md");
    assert!(is_uuid_v7(&result["file_id"]) && is_uuid_v7(&result["version_id"]), "{result}");
    assert_ne!(result["file_id"], result["version_id"]);
    assert!(is_hash(&result["hash"]));
    assert_eq!(workspace.bytes("/documents/notes.md"), b"# My Notes\n\nCreated via Tools API");
}

#[test]
fn write_a_json_object() {
    let workspace = TestWorkspace::new();
    let content = json!({"elements": [], "version": 1});
    let args =
        json!({"path": "/dashboards/main.canvas", "content": content, "file_type": "canvas"});
    has_keys(&ok(&workspace, "write", args), &["path", "file_id", "version_id", "hash"]);
    let read = ok(&workspace, "read", json!({"path": "/dashboards/main.canvas"}));
    assert_eq!(read["content"], content);
    for key in ["total_lines", "truncated", "offset", "limit"] {
        assert_eq!(read[key], Value::Null, "{key}");
    }
    assert_eq!(
        ok(&workspace, "file_info", json!({"path": "/dashboards/main.canvas"}))["file_type"],
        "canvas"
    );
}

#[test]
fn write_refuses_to_overwrite_unless_told_to() {
    let workspace = TestWorkspace::new();
    let first = ok(&workspace, "write", json!({"path": "/documents/notes.md", "content": "old"}));
    let body = fails(
        &workspace,
        "write",
        json!({"path": "/documents/notes.md", "content": "new"}),
        400,
        "VALIDATION_ERROR",
    );
    assert_eq!(body["error"], "Validation failed");
    assert_eq!(
        body["fields"]["path"],
        "File already exists: /documents/notes.md. To overwrite, set overwrite=true. However, for modifying \
         existing files, the 'edit' tool is recommended instead of overwriting."
    );
    assert_eq!(workspace.bytes("/documents/notes.md"), b"old");
    let content = "# Completely Replaced Content\n\nThis replaces the entire file";
    let second = ok(
        &workspace,
        "write",
        json!({"path": "/documents/notes.md", "content": content, "overwrite": true}),
    );
    assert_eq!(second["file_id"], first["file_id"]);
    assert_ne!(second["version_id"], first["version_id"]);
    assert_eq!(workspace.bytes("/documents/notes.md"), content.as_bytes());
}

#[test]
fn write_onto_a_folder_is_a_bad_request() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "mkdir", json!({"path": "/folder"}));
    for overwrite in [false, true] {
        let args = json!({"path": "/folder", "content": "x", "overwrite": overwrite});
        fails(&workspace, "write", args, 400, "VALIDATION_ERROR");
    }
}

#[test]
fn mkdir_makes_everything_above_and_is_idempotent() {
    let workspace = TestWorkspace::new();
    let result = ok(&workspace, "mkdir", json!({"path": "/docs/v1/api"}));
    assert_eq!(result["path"], "/docs/v1/api");
    assert!(is_uuid_v7(&result["file_id"]));
    assert!(workspace.root().join("docs/v1/api").is_dir());
    let again = ok(&workspace, "mkdir", json!({"path": "/docs/v1/api"}));
    assert_eq!(again["file_id"], result["file_id"]);
}

#[test]
fn mkdir_over_or_through_a_file_is_a_conflict() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "touch", json!({"path": "/a/file"}));
    workspace.put("/b/external", "x");
    for path in
        ["/a/file", "/a/file/below", "/a/file/far/below", "/b/external", "/b/external/below"]
    {
        fails(&workspace, "mkdir", json!({"path": path}), 409, "CONFLICT");
    }
}

#[test]
fn rm_a_file() {
    let workspace = TestWorkspace::new();
    let made =
        ok(&workspace, "write", json!({"path": "/documents/old-report.md", "content": "old"}));
    let result = ok(&workspace, "rm", json!({"path": "/documents/old-report.md"}));
    assert_eq!(result["path"], "/documents/old-report.md");
    assert_eq!(result["file_id"], made["file_id"]);
    assert!(!workspace.root().join("documents/old-report.md").exists());
    fails(&workspace, "rm", json!({"path": "/documents/old-report.md"}), 404, "NOT_FOUND");
}

#[test]
fn rm_a_folder_that_is_not_empty_is_a_conflict() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "touch", json!({"path": "/known/file"}));
    workspace.put("/external/file", "x");
    fails(&workspace, "rm", json!({"path": "/known"}), 409, "CONFLICT");
    fails(&workspace, "rm", json!({"path": "/external"}), 409, "CONFLICT");
}

#[test]
fn mv_renames_and_moves_into_a_folder() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "touch", json!({"path": "/documents/old-name.md"}));
    let args = json!({"source": "/documents/old-name.md", "destination": "/documents/new-name.md"});
    assert_eq!(
        ok(&workspace, "mv", args),
        json!({"from_path": "/documents/old-name.md", "to_path": "/documents/new-name.md"})
    );
    ok(&workspace, "touch", json!({"path": "/file.txt"}));
    ok(&workspace, "mkdir", json!({"path": "/archive"}));
    let moved = ok(&workspace, "mv", json!({"source": "/file.txt", "destination": "/archive/"}));
    assert_eq!(moved["to_path"], "/archive/file.txt");
    ok(&workspace, "touch", json!({"path": "/other.txt"}));
    let moved = ok(&workspace, "mv", json!({"source": "/other.txt", "destination": "/archive"}));
    assert_eq!(moved["to_path"], "/archive/other.txt");
    assert!(workspace.root().join("archive/other.txt").is_file());
}

#[test]
fn mv_statuses() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/a.txt", "content": "a"}));
    ok(&workspace, "write", json!({"path": "/b.txt", "content": "b"}));
    fails(&workspace, "mv", json!({"source": "/none", "destination": "/c"}), 404, "NOT_FOUND");
    fails(&workspace, "mv", json!({"source": "/a.txt", "destination": "/b.txt"}), 409, "CONFLICT");
    fails(
        &workspace,
        "mv",
        json!({"source": "/a.txt", "destination": "/no/such/a.txt"}),
        404,
        "NOT_FOUND",
    );
    assert_eq!(workspace.bytes("/a.txt"), b"a");
    assert_eq!(workspace.bytes("/b.txt"), b"b");
}

#[test]
fn touch_creates_and_updates() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "touch", json!({"path": "/documents/placeholder.txt"}));
    assert_eq!(made["path"], "/documents/placeholder.txt");
    assert!(is_uuid_v7(&made["file_id"]));
    assert_eq!(workspace.bytes("/documents/placeholder.txt"), b"");
    let read = ok(&workspace, "read", json!({"path": "/documents/placeholder.txt"}));
    assert_eq!((&read["content"], &read["total_lines"]), (&json!(""), &json!(0)));
    workspace.put("/documents/existing-file.txt", "stays");
    let touched = ok(&workspace, "touch", json!({"path": "/documents/existing-file.txt"}));
    assert!(is_uuid_v7(&touched["file_id"]));
    assert_eq!(workspace.bytes("/documents/existing-file.txt"), b"stays");
}

#[test]
fn edit_replaces_what_is_unique() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/main.rs", "fn old_function() {\n}\n");
    let read = ok(&workspace, "read", json!({"path": "/src/main.rs"}));
    let result = ok(
        &workspace,
        "edit",
        json!({
            "path": "/src/main.rs",
            "old_string": "fn old_function() {",
            "new_string": "fn new_function() {",
            "last_read_hash": read["hash"]
        }),
    );
    assert_eq!(result["path"], "/src/main.rs");
    assert!(
        is_uuid_v7(&result["file_id"])
            && is_uuid_v7(&result["version_id"])
            && is_hash(&result["hash"])
    );
    assert_eq!(workspace.bytes("/src/main.rs"), b"fn new_function() {\n}\n");
    let read = ok(&workspace, "read", json!({"path": "/src/main.rs"}));
    assert_eq!((&read["hash"], &read["synced"]), (&result["hash"], &json!(true)));
}

#[test]
fn edit_refusals() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/a.txt", "content": "one two two\n"}));
    let edit =
        |old: &str, new: &str| json!({"path": "/a.txt", "old_string": old, "new_string": new});
    for args in [edit("three", "x"), edit("two", "x"), edit("", "x")] {
        fails(&workspace, "edit", args, 400, "VALIDATION_ERROR");
    }
    let mut stale = edit("one", "x");
    stale["last_read_hash"] = json!("0".repeat(64));
    fails(&workspace, "edit", stale, 409, "CONFLICT");
    fails(
        &workspace,
        "edit",
        json!({"path": "/none", "old_string": "a", "new_string": "b"}),
        404,
        "NOT_FOUND",
    );
    assert_eq!(workspace.bytes("/a.txt"), b"one two two\n");
}

#[test]
fn grep_todo() {
    let workspace = TestWorkspace::new();
    let text = format!("{}// TODO: Implement error handling\n// todo: not this\n", "\n".repeat(41));
    workspace.put("/src/main.rs", text);
    let result = ok(&workspace, "grep", json!({"pattern": "TODO:", "case_sensitive": true}));
    assert_eq!(result["matches"].as_array().unwrap().len(), 1);
    let found = &result["matches"][0];
    assert_eq!(found["path"], "/src/main.rs");
    assert_eq!(found["line_number"], 42);
    assert_eq!(found["line_text"], "// TODO: Implement error handling");
    let insensitive = ok(&workspace, "grep", json!({"pattern": "TODO:"}));
    assert_eq!(insensitive["matches"].as_array().unwrap().len(), 2);
}

#[test]
fn grep_functions_with_a_path_pattern() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/a.rs", "fn alpha() {}\n");
    workspace.put("/src/b.py", "fn beta() {}\n");
    let args = json!({"pattern": "fn \\w+\\(", "path_pattern": "%.rs", "case_sensitive": false, "limit": 50});
    assert_eq!(each(&ok(&workspace, "grep", args)["matches"], "path"), ["/src/a.rs"]);
}

/// Overridden: `size` is real (W11).
#[test]
fn glob_rust_files() {
    let workspace = TestWorkspace::new();
    workspace.put("/main.rs", "fn main() {}\n");
    ok(&workspace, "write", json!({"path": "/src/lib.rs", "content": "pub fn hello() {}\n"}));
    workspace.put("/README.md", "x");
    let result = ok(&workspace, "glob", json!({"pattern": "*.rs"}));
    assert_eq!((&result["pattern"], &result["base_path"]), (&json!("*.rs"), &json!("/")));
    assert_eq!(each(&result["matches"], "path"), ["/main.rs", "/src/lib.rs"]);
    assert_eq!(each(&result["matches"], "name"), ["main.rs", "lib.rs"]);
    assert_eq!(result["matches"][0]["synced"], false);
    assert_eq!(result["matches"][1]["synced"], true);
    for (found, size) in result["matches"].as_array().unwrap().iter().zip([13, 18]) {
        assert_eq!(found["file_type"], "document");
        assert_eq!(found["is_virtual"], false);
        assert_eq!(found["size"], size);
        assert!(is_time(&found["updated_at"]));
    }
    let below = ok(&workspace, "glob", json!({"pattern": "*.rs", "path": "/src"}));
    assert_eq!(each(&below["matches"], "path"), ["/src/lib.rs"]);
    assert_eq!(below["base_path"], "/src");
}

#[test]
fn glob_supported_patterns() {
    let workspace = TestWorkspace::new();
    for path in [
        "/a.md",
        "/docs/b.md",
        "/src/x/y.rs",
        "/test_1",
        "/test_dir/z",
        "/one/file.txt",
        "/one/two/file.txt",
    ] {
        workspace.put(path, "x");
    }
    for (pattern, found) in [
        ("**/*.md", vec!["/a.md", "/docs/b.md"]),
        ("/src/**/*.rs", vec!["/src/x/y.rs"]),
        ("test_*", vec!["/test_1", "/test_dir"]),
        ("*/file.txt", vec!["/one/file.txt"]),
    ] {
        assert_eq!(
            each(&ok(&workspace, "glob", json!({"pattern": pattern}))["matches"], "path"),
            found,
            "{pattern}"
        );
    }
    fails(&workspace, "glob", json!({"pattern": "../*.rs"}), 400, "VALIDATION_ERROR");
}

/// Overridden: an end mark is followed by its newline, as in GNU `cat` (W13).
#[test]
fn cat_with_ends_and_tabs() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/main.rs", "fn main() {\n\tprintln!(\"Hello\");\n}\n");
    ok(&workspace, "write", json!({"path": "/src/lib.rs", "content": "pub fn hello() {} \n"}));
    let args =
        json!({"paths": ["/src/main.rs", "/src/lib.rs"], "show_ends": true, "show_tabs": true});
    let result = ok(&workspace, "cat", args);
    let (main, lib) = ("fn main() {$\n^Iprintln!(\"Hello\");$\n}$\n", "pub fn hello() {} $\n");
    assert_eq!(result["content"], format!("{main}{lib}"));
    assert_eq!(each(&result["files"], "path"), ["/src/main.rs", "/src/lib.rs"]);
    assert_eq!(each(&result["files"], "content"), [main, lib]);
    for (file, (count, synced)) in
        result["files"].as_array().unwrap().iter().zip([(3, false), (1, true)])
    {
        assert_eq!(file["line_count"], count);
        assert_eq!(file["total_lines"], count);
        assert_eq!(file["synced"], synced);
        assert_eq!(file["offset"], 0);
        assert_eq!(file["limit"], Value::Null);
    }
}

#[test]
fn cat_line_ranges_with_smart_numbering() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/main.rs", lines(150));
    let args = json!({"paths": ["/src/main.rs"], "offset": 100, "limit": 50, "number_lines": true, "show_tabs": true});
    let result = ok(&workspace, "cat", args);
    let content = result["content"].as_str().unwrap();
    assert!(content.starts_with("   101\tline 100\n"), "{content}");
    assert!(content.ends_with("   150\tline 149\n"), "{content}");
    let file = &result["files"][0];
    assert_eq!(
        (&file["offset"], &file["limit"], &file["total_lines"]),
        (&json!(100), &json!(50), &json!(150))
    );
    let last = ok(
        &workspace,
        "cat",
        json!({"paths": ["/src/main.rs"], "offset": -100, "show_ends": true}),
    );
    assert!(last["content"].as_str().unwrap().starts_with("line 50$\n"));
    assert_eq!(last["files"][0]["offset"], 50);
    assert_eq!(last["files"][0]["line_count"], 100);
}

#[test]
fn file_info_of_a_document() {
    let workspace = TestWorkspace::new();
    let text = format!("{}{}", "x\n".repeat(24), "y".repeat(1024 - 48));
    let made = ok(&workspace, "write", json!({"path": "/config.json", "content": text}));
    let result = ok(&workspace, "file_info", json!({"path": "/config.json"}));
    assert_eq!(result["path"], "/config.json");
    assert_eq!(result["file_type"], "document");
    assert_eq!(result["size"], 1024);
    assert_eq!(result["line_count"], 25);
    assert_eq!(result["synced"], true);
    assert!(is_time(&result["created_at"]) && is_time(&result["updated_at"]));
    assert_eq!(result["hash"], made["hash"]);
    fails(&workspace, "file_info", json!({"path": "/missing"}), 404, "NOT_FOUND");
}

/// Overridden: `size` is real (W11, the section's own "from filesystem stat"); ordered by path
/// (R8).
#[test]
fn find_by_name() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/main.rs", "fn main() {}\n");
    workspace.put("/src/lib.rs", "x");
    workspace.put("/other.rs", "x");
    let result = ok(&workspace, "find", json!({"name": "*.rs", "path": "/src"}));
    assert_eq!(each(&result["matches"], "path"), ["/src/lib.rs", "/src/main.rs"]);
    assert_eq!(each(&result["matches"], "name"), ["lib.rs", "main.rs"]);
    for found in result["matches"].as_array().unwrap() {
        assert_eq!((&found["file_type"], &found["synced"]), (&json!("document"), &json!(false)));
        assert!(found["size"].is_u64() && is_time(&found["updated_at"]));
    }
}

#[test]
fn read_multiple_files_with_partial_success() {
    let workspace = TestWorkspace::new();
    workspace.put("/config.json", "{\n  \"key\": \"value\"\n}");
    workspace.put("/README.md", format!("# Project\n\n{}", lines(148)));
    let result = ok(
        &workspace,
        "read_multiple_files",
        json!({"paths": ["/config.json", "/README.md"], "limit": 100}),
    );
    let [config, readme] = result["files"].as_array().unwrap().as_slice() else {
        panic!("{result}")
    };
    assert_eq!(config["path"], "/config.json");
    assert_eq!(config["success"], true);
    assert_eq!(config["content"], "{\n  \"key\": \"value\"\n}");
    assert!(is_hash(&config["hash"]));
    assert_eq!(config["error"], Value::Null);
    assert_eq!((&config["total_lines"], &config["truncated"]), (&json!(3), &json!(false)));
    assert_eq!((&readme["total_lines"], &readme["truncated"]), (&json!(150), &json!(true)));
    assert_eq!(readme["content"].as_str().unwrap().lines().count(), 100);

    let result = ok(
        &workspace,
        "read_multiple_files",
        json!({"paths": ["/config.json", "/nonexistent.txt"]}),
    );
    let missing = &result["files"][1];
    assert_eq!(result["files"][0]["success"], true);
    assert_eq!(
        (&missing["path"], &missing["success"]),
        (&json!("/nonexistent.txt"), &json!(false))
    );
    assert!(missing["error"].as_str().unwrap().contains("/nonexistent.txt"), "{missing}");
    for key in ["content", "hash", "total_lines", "truncated"] {
        assert_eq!(missing[key], Value::Null, "{key}");
    }
}

/// Overridden: the question is durable (W15).
#[test]
fn ask_user_framework() {
    let workspace = TestWorkspace::new();
    let buttons = json!([
        {"label": "Jest", "value": "Jest"},
        {"label": "Vitest", "value": "Vitest"},
        {"label": "Mocha", "value": "Mocha"}
    ]);
    let question = "Which testing framework should I use?";
    let result = ok(
        &workspace,
        "ask_user",
        json!({"questions": [{
            "name": "framework",
            "question": question,
            "schema": "{\"type\":\"string\",\"enum\":[\"Jest\",\"Vitest\",\"Mocha\"]}",
            "buttons": buttons
        }]}),
    );
    assert_eq!(result["status"], "question_pending");
    assert!(is_uuid_v7(&result["question_id"]));
    let schema = json!({"type": "string", "enum": ["Jest", "Vitest", "Mocha"]});
    let expected =
        json!([{"name": "framework", "question": question, "schema": schema, "buttons": buttons}]);
    assert_eq!(result["questions"], expected);
}

/// The value of each button is not in the enum, its label is (W15).
#[test]
fn ask_user_choice() {
    let workspace = TestWorkspace::new();
    let args = json!({"questions": [{
        "name": "choice",
        "question": "Which approach do you prefer?",
        "schema": "{\"type\":\"string\",\"enum\":[\"Option A\",\"Option B\",\"Option C\"]}",
        "buttons": [
            {"label": "Option A", "value": "A"},
            {"label": "Option B", "value": "B"},
            {"label": "Option C", "value": "C"}
        ]
    }]});
    assert_eq!(ok(&workspace, "ask_user", args)["status"], "question_pending");
    for schema in [
        json!({"type": "string", "enum": ["Yes", "No", "Cancel"]}),
        json!({"type": "string", "pattern": "^[a-z0-9]+$", "minLength": 3}),
        json!({"type": "number", "minimum": 1, "maximum": 100}),
        json!({"type": "array", "items": {"type": "string", "enum": ["A", "B", "C"]}, "minItems": 1}),
    ] {
        let args = json!({"questions": [{"name": "a", "question": "?", "schema": schema}]});
        ok(&workspace, "ask_user", args);
    }
}

#[test]
fn exit_plan_mode_after_accept() {
    let workspace = TestWorkspace::new();
    let path = "/plans/fearless-ember-invention.plan";
    let content = "# Implementation Plan\n\n## Task 1\n...";
    ok(&workspace, "write", json!({"path": path, "content": content, "file_type": "plan"}));
    let asked = ok(
        &workspace,
        "ask_user",
        json!({"questions": [{
            "name": "approval",
            "question": "Review the implementation plan. Ready to proceed to Build Mode?",
            "schema": {"type": "string", "enum": ["Accept", "Reject"]},
            "buttons": [
                {"label": "Accept", "value": "Accept"},
                {"label": "Reject", "value": "Reject"}
            ]
        }]}),
    );
    fails(&workspace, "exit_plan_mode", json!({"plan_file_path": path}), 403, "FORBIDDEN");
    let id = asked["question_id"].as_str().unwrap().parse().unwrap();
    let answers = json!({"approval": "Accept"}).as_object().unwrap().clone();
    let person = workspace.person();
    person
        .questions()
        .answer(&workspace.call_context(), id, &answers, yard_gate::Via::Button)
        .unwrap();
    let result = ok(&workspace, "exit_plan_mode", json!({"plan_file_path": path}));
    assert_eq!((&result["mode"], &result["plan_file"]), (&json!("build"), &json!(path)));
}

/// The examples of plan_write, plan_read, plan_edit and plan_list, one after the other.
/// Overridden: times have milliseconds (R11).
#[test]
fn plans_from_first_to_last() {
    let workspace = TestWorkspace::new();
    let content = "# Overview\n\n## Goals\n- Goal 1\n- Goal 2";
    let title = "Feature Implementation Plan";
    let wrote = ok(
        &workspace,
        "plan_write",
        json!({"title": title, "content": content, "status": "draft"}),
    );
    has_keys(&wrote, &["path", "file_id", "version_id", "hash", "metadata"]);
    assert_eq!(wrote["metadata"]["title"], title);
    assert_eq!(wrote["metadata"]["status"], "draft");
    assert!(is_time(&wrote["metadata"]["created_at"]) && is_hash(&wrote["hash"]), "{wrote}");
    assert!(is_uuid_v7(&wrote["file_id"]) && is_uuid_v7(&wrote["version_id"]), "{wrote}");
    let path = wrote["path"].as_str().unwrap();
    let name = path.trim_start_matches("/plans/").trim_end_matches(".plan");

    let read = ok(&workspace, "plan_read", json!({"name": name}));
    assert_eq!((&read["path"], &read["metadata"]), (&wrote["path"], &wrote["metadata"]));
    assert_eq!((&read["content"], &read["hash"]), (&json!(content), &wrote["hash"]));
    assert_eq!(read["total_lines"], 5);

    let edit =
        json!({"path": path, "old_string": "- Goal 1", "new_string": "- Goal 1 (completed)"});
    let edited = ok(&workspace, "plan_edit", edit);
    assert_eq!((&edited["path"], &edited["file_id"]), (&wrote["path"], &wrote["file_id"]));
    assert_ne!(edited["version_id"], wrote["version_id"]);
    assert_ne!(edited["hash"], wrote["hash"]);

    assert_eq!(ok(&workspace, "plan_list", json!({"status": "approved", "limit": 10}))["total"], 0);
    let args = json!({"title": title, "content": content, "path": path, "status": "approved"});
    ok(&workspace, "plan_write", args);
    let listed = ok(&workspace, "plan_list", json!({"status": "approved", "limit": 10}));
    assert_eq!(listed["total"], 1);
    assert_eq!(
        (&listed["plans"][0]["path"], &listed["plans"][0]["name"]),
        (&json!(path), &json!(name))
    );
    assert_eq!(listed["plans"][0]["metadata"]["created_at"], wrote["metadata"]["created_at"]);
}
