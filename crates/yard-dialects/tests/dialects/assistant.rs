//! The dialect `assistant`, by the rulings A1 and A2 of `docs/rulings.md`.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::{call, each, has, is_time};

#[track_caller]
fn ok(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    super::ok(workspace, "assistant", tool, args)
}

#[track_caller]
fn fails(workspace: &TestWorkspace, tool: &str, args: Value, word: &str) -> String {
    super::fails(workspace, "assistant", tool, args, word)
}

#[test]
fn a1_answers_say_ok_and_value_or_error() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x");
    let good = call(&workspace, "assistant", "read_file", json!({"path": "a.txt"}));
    assert_eq!(good.body["result"]["ok"], true);
    has(&good.body["result"]["value"], &json!({"content": "", "size": 0, "modified": ""}));
    let bad = call(&workspace, "assistant", "read_file", json!({"path": "none"}));
    assert_eq!(bad.status, 200);
    let error = &bad.body["result"]["error"];
    has(error, &json!({"code": "", "message": "", "details": {}}));
    assert_eq!(
        (&bad.body["result"]["ok"], &error["code"]),
        (&json!(false), &json!("FILE_NOT_FOUND"))
    );
    let wrong = call(&workspace, "assistant", "read_file", json!({"pth": "a.txt"}));
    let details = &wrong.body["result"]["error"]["details"];
    assert!(details["fields"]["pth"].as_str().unwrap().contains("`path`"));
}

#[test]
fn a2_recursive_listings_are_relative_to_the_listed_directory() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/a.txt", "xyz");
    workspace.put("/src/deep/b.txt", "");
    workspace.put("/src/.hidden/c.txt", "");
    symlink("a.txt", workspace.root().join("src/link")).unwrap();
    let own = ok(&workspace, "list_directory", json!({"path": "src"}));
    assert_eq!(each(&own["entries"], "name"), ["deep", "a.txt", "link"]);
    assert_eq!(each(&own["entries"], "type"), ["directory", "file", "symlink"]);
    assert_eq!(own["entries"][1]["size"], 3);
    is_time(&own["entries"][1]["modified"]);
    let all = ok(&workspace, "list_directory", json!({"path": "src", "recursive": true}));
    assert_eq!(each(&all["entries"], "name"), ["deep", "a.txt", "link", "deep/b.txt"]);
    let args = json!({"path": "src", "recursive": true, "includeHidden": true});
    let hidden = ok(&workspace, "list_directory", args);
    assert!(each(&hidden["entries"], "name").contains(&".hidden/c.txt"));
    fails(&workspace, "list_directory", json!({"path": "none"}), "FILE_NOT_FOUND");
    fails(&workspace, "list_directory", json!({"path": "src/a.txt"}), "INVALID_PATH");
    fails(&workspace, "list_directory", json!({"path": "/etc"}), "INVALID_PATH");
}

#[test]
fn a2_folders_are_made_only_if_asked_for() {
    let workspace = TestWorkspace::new();
    let args = |create| json!({"path": "a/b.txt", "content": "x", "createDirs": create});
    fails(&workspace, "write_file", json!({"path": "a/b.txt", "content": "x"}), "FILE_NOT_FOUND");
    let message = fails(&workspace, "write_file", args(false), "FILE_NOT_FOUND");
    assert!(message.contains("createDirs"), "it says what to send: {message}");
    assert!(!workspace.has("/a"));
    assert_eq!(ok(&workspace, "write_file", args(true)), json!({"path": "a/b.txt", "size": 1}));
    let again = json!({"path": "a/b.txt", "content": "é"});
    assert_eq!(ok(&workspace, "write_file", again), json!({"path": "a/b.txt", "size": 2}));
}

#[test]
fn files_are_read_and_written_as_text_or_as_bytes() {
    let workspace = TestWorkspace::new();
    let bytes: Vec<u8> = (0..3 << 20).map(|at: u32| (at % 251) as u8).collect();
    workspace.put("/blob", &bytes);
    fails(&workspace, "read_file", json!({"path": "blob"}), "BINARY_FILE");
    let read = ok(&workspace, "read_file", json!({"path": "blob", "encoding": "base64"}));
    assert_eq!(read["size"], bytes.len());
    let args = json!({"path": "copy", "content": read["content"], "encoding": "base64"});
    assert_eq!(ok(&workspace, "write_file", args)["size"], bytes.len());
    assert_eq!(workspace.bytes("/copy"), bytes);
    let bad = json!({"path": "copy", "content": "é", "encoding": "base64"});
    assert!(fails(&workspace, "write_file", bad, "INVALID_ARGUMENTS").contains("content"));
    workspace.put("/a.txt", "héllo\n");
    let text = ok(&workspace, "read_file", json!({"path": "a.txt"}));
    assert_eq!((&text["content"], &text["size"]), (&json!("héllo\n"), &json!(7)));
    is_time(&text["modified"]);
    let long = "line\n".repeat(200_000);
    workspace.put("/long.txt", &long);
    assert_eq!(ok(&workspace, "read_file", json!({"path": "long.txt"}))["content"], long, "R12");
    fails(
        &workspace,
        "read_file",
        json!({"path": "a.txt", "encoding": "latin1"}),
        "INVALID_ARGUMENTS",
    );
}

#[test]
fn deleting_names_everything_that_went() {
    let workspace = TestWorkspace::new();
    workspace.put("/dir/a.txt", "");
    workspace.put("/dir/sub/b.txt", "");
    workspace.put("/one.txt", "");
    fails(&workspace, "delete_file", json!({"path": "dir"}), "CONFLICT");
    let one = ok(&workspace, "delete_file", json!({"path": "one.txt"}));
    assert_eq!(one, json!({"deleted": ["one.txt"]}));
    let reply = ok(&workspace, "delete_file", json!({"path": "dir", "recursive": true}));
    let mut deleted: Vec<String> = serde_json::from_value(reply["deleted"].clone()).unwrap();
    deleted.sort();
    assert_eq!(deleted, ["dir", "dir/a.txt", "dir/sub", "dir/sub/b.txt"]);
    assert!(!workspace.has("/dir"));
    fails(&workspace, "delete_file", json!({"path": "dir"}), "FILE_NOT_FOUND");
}

#[test]
fn moving_goes_to_the_very_path() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "a");
    workspace.put("/b.txt", "b");
    workspace.put("/dir/c.txt", "c");
    let go = |from: &str, to: &str| json!({"from": from, "to": to});
    fails(&workspace, "move_file", go("a.txt", "b.txt"), "CONFLICT");
    let message = fails(&workspace, "move_file", go("a.txt", "dir"), "CONFLICT");
    assert!(message.contains("dir/a.txt"), "it says what to send: {message}");
    let over = json!({"from": "a.txt", "to": "dir", "overwrite": true});
    fails(&workspace, "move_file", over, "CONFLICT");
    fails(&workspace, "move_file", go("a.txt", "none/a.txt"), "FILE_NOT_FOUND");
    fails(&workspace, "move_file", go("none", "x"), "FILE_NOT_FOUND");
    fails(&workspace, "move_file", go("a.txt", "../x"), "INVALID_PATH");
    assert_eq!(workspace.bytes("/b.txt"), b"b");
    let over = json!({"from": "a.txt", "to": "b.txt", "overwrite": true});
    assert_eq!(ok(&workspace, "move_file", over), json!({"from": "a.txt", "to": "b.txt"}));
    assert_eq!(workspace.bytes("/b.txt"), b"a");
    assert!(!workspace.has("/a.txt"));
    let folder = ok(&workspace, "move_file", go("dir", "moved"));
    assert_eq!(folder, json!({"from": "dir", "to": "moved"}));
    assert_eq!(workspace.bytes("/moved/c.txt"), b"c");
    ok(&workspace, "move_file", go("moved", "moved"));
}
