//! Rulings about writing, editing, moving and removing files.

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use crate::support::{fails, invalid, is_uuid_v7, ok, on_disk};

#[test]
fn r7_a_stale_hash_writes_nothing_and_tells_the_current_one() {
    let workspace = TestWorkspace::new();
    let first = ok(&workspace, "write", json!({"path": "/a", "content": "one"}));
    let second =
        ok(&workspace, "write", json!({"path": "/a", "content": "two", "overwrite": true}));
    let edit = json!({"path": "/a", "old_string": "two", "new_string": "three", "last_read_hash": first["hash"]});
    let body = fails(&workspace, "edit", edit, 409, "CONFLICT");
    assert!(body["error"].as_str().unwrap().contains(second["hash"].as_str().unwrap()), "{body}");
    let write = json!({"path": "/a", "content": "three", "overwrite": true, "last_read_hash": first["hash"]});
    fails(&workspace, "write", write, 409, "CONFLICT");
    assert_eq!(workspace.bytes("/a"), b"two");
}

#[test]
fn r10_failed_edits_teach() {
    let workspace = TestWorkspace::new();
    workspace.put(
        "/a.rs",
        "fn one() {\n    let value = 1;\n}\nfn two() {\n    let value = 1;\n}\nfn three() {\n\tdone();\n}\n",
    );
    let edit = |old: &str| json!({"path": "/a.rs", "old_string": old, "new_string": "x"});
    let several = invalid(&workspace, "edit", edit("    let value = 1;"), "old_string");
    assert!(several.contains('2') && several.contains('5'), "each line number: {several}");
    let near = invalid(&workspace, "edit", edit("fn three() {\n    done();"), "old_string");
    assert!(near.contains('7') || near.contains('8'), "the closest place: {near}");
}

#[test]
fn w6_write_protects_every_existing_file() {
    let workspace = TestWorkspace::new();
    workspace.put("/external", "stays");
    let message =
        invalid(&workspace, "write", json!({"path": "/external", "content": "x"}), "path");
    assert!(message.contains("overwrite=true") && message.contains("edit"));
    assert_eq!(workspace.bytes("/external"), b"stays");
}

#[test]
fn w6_folders_and_chats() {
    let workspace = TestWorkspace::new();
    let made = ok(
        &workspace,
        "write",
        json!({"path": "/new/folder", "file_type": "folder", "content": {}}),
    );
    assert!(is_uuid_v7(&made["file_id"]));
    assert_eq!((&made["version_id"], &made["hash"]), (&Value::Null, &Value::Null));
    assert!(on_disk(&workspace, "/new/folder").is_dir());
    ok(&workspace, "write", json!({"path": "/bare", "file_type": "folder"}));
    invalid(
        &workspace,
        "write",
        json!({"path": "/full", "file_type": "folder", "content": "x"}),
        "content",
    );
    assert!(
        invalid(
            &workspace,
            "write",
            json!({"path": "/c", "file_type": "chat", "content": {}}),
            "file_type"
        )
        .contains("chats API")
    );
    assert!(
        invalid(
            &workspace,
            "write",
            json!({"path": "/c", "file_type": "film", "content": "x"}),
            "file_type"
        )
        .contains("whiteboard")
    );
    invalid(&workspace, "write", json!({"path": "/c"}), "content");
    workspace.put("/file", "x");
    invalid(&workspace, "write", json!({"path": "/file", "file_type": "folder"}), "path");
    let typed =
        ok(&workspace, "write", json!({"path": "/c", "file_type": "canvas", "content": {}}));
    let again = ok(&workspace, "write", json!({"path": "/c", "content": [], "overwrite": true}));
    assert_eq!(typed["file_id"], again["file_id"]);
    let info = ok(&workspace, "file_info", json!({"path": "/c"}));
    assert_eq!(info["file_type"], "canvas", "an existing file keeps its type");
}

#[test]
fn w7_what_was_removed_has_a_trash_id() {
    let workspace = TestWorkspace::new();
    workspace.put("/external", "x");
    let result = ok(&workspace, "rm", json!({"path": "/external"}));
    assert_eq!(result["file_id"], Value::Null);
    assert!(is_uuid_v7(&result["trash_id"]));
    let made = ok(&workspace, "touch", json!({"path": "/known"}));
    let result = ok(&workspace, "rm", json!({"path": "/known"}));
    assert_eq!((&result["file_id"], &result["trash_id"]), (&made["file_id"], &made["file_id"]));
    ok(&workspace, "mkdir", json!({"path": "/empty"}));
    ok(&workspace, "rm", json!({"path": "/empty"}));
    assert!(!on_disk(&workspace, "/empty").exists());
    invalid(&workspace, "rm", json!({"path": "/"}), "path");
}

#[test]
fn w8_moves() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "write", json!({"path": "/dir/sub/file", "content": "x"}));
    workspace.put("/plain", "p");
    let mv =
        |source: &str, destination: &str| json!({"source": source, "destination": destination});
    fails(&workspace, "mv", mv("/plain", "/nowhere/"), 404, "NOT_FOUND");
    fails(&workspace, "mv", mv("/plain", "/dir/sub/file/"), 404, "NOT_FOUND");
    fails(&workspace, "mv", mv("/plain", "/no/parent"), 404, "NOT_FOUND");
    fails(&workspace, "mv", mv("/dir", "/dir/sub/dir"), 400, "VALIDATION_ERROR");
    fails(&workspace, "mv", mv("/dir", "/dir/sub/"), 400, "VALIDATION_ERROR");
    workspace.put("/taken/plain", "t");
    fails(&workspace, "mv", mv("/plain", "/taken/"), 409, "CONFLICT");
    fails(&workspace, "mv", mv("/plain", "/taken"), 409, "CONFLICT");
    fails(&workspace, "mv", mv("/", "/taken/"), 400, "VALIDATION_ERROR");
    // What is in the way is named, not missed.
    for destination in ["/dir/sub/file/", "/dir/sub/file/x", "/dir/sub/file/x/"] {
        let body = fails(&workspace, "mv", mv("/plain", destination), 404, "NOT_FOUND");
        assert!(body["error"].as_str().unwrap().contains("/dir/sub/file is a file"), "{body}");
    }
    let why = invalid(&workspace, "mv", mv("/dir", "/dir/"), "destination");
    assert!(why.contains("into itself"), "{why}");
    assert_eq!(ok(&workspace, "mv", mv("/plain", "/plain"))["to_path"], "/plain");
    assert_eq!(ok(&workspace, "mv", mv("/dir", "/moved"))["to_path"], "/moved");
    let info = ok(&workspace, "file_info", json!({"path": "/moved/sub/file"}));
    assert_eq!((&info["id"], &info["synced"]), (&made["file_id"], &json!(true)));
    assert!(!on_disk(&workspace, "/dir").exists());
}

#[test]
fn w9_inserts_whole_lines() {
    let workspace = TestWorkspace::new();
    let insert =
        |line: u64, text: &str| json!({"path": "/a", "insert_line": line, "insert_content": text});
    workspace.put("/a", "one\ntwo\n");
    ok(&workspace, "edit", insert(0, "zero"));
    assert_eq!(workspace.bytes("/a"), b"zero\none\ntwo\n");
    ok(&workspace, "edit", insert(3, "three\n"));
    assert_eq!(workspace.bytes("/a"), b"zero\none\ntwo\nthree\n");
    invalid(&workspace, "edit", insert(9, "x"), "insert_line");
    let both = json!({"path": "/a", "old_string": "one", "new_string": "1", "insert_line": 0, "insert_content": "x"});
    invalid(&workspace, "edit", both, "insert_line");
    invalid(&workspace, "edit", json!({"path": "/a"}), "old_string");
    invalid(
        &workspace,
        "edit",
        json!({"path": "/a", "old_string": "one", "new_string": "one"}),
        "new_string",
    );
    invalid(
        &workspace,
        "edit",
        json!({"path": "/a", "old_string": "one", "new_string": "1", "last_read_hash": "a1b2"}),
        "last_read_hash",
    );
    assert_eq!(workspace.bytes("/a"), b"zero\none\ntwo\nthree\n");
}

#[test]
fn w19_touch_makes_no_version() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "write", json!({"path": "/a", "content": "x"}));
    let touched = ok(&workspace, "touch", json!({"path": "/a"}));
    assert_eq!(touched["file_id"], made["file_id"]);
    assert_eq!(touched.get("version_id"), None);
    let info = ok(&workspace, "file_info", json!({"path": "/a"}));
    assert_eq!((&info["hash"], &info["synced"]), (&made["hash"], &json!(true)));
}
