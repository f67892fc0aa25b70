//! The thin line through all layers.

use serde_json::json;
use yard_testkit::TestWorkspace;

#[test]
fn write_read_edit_move_remove() {
    let workspace = TestWorkspace::new();
    let wrote = workspace.call("write", json!({"path": "/a/b.txt", "content": "one\ntwo\n"}));
    assert!(wrote.ok, "{}", wrote.body);
    let read = workspace.call("read", json!({"path": "/a/b.txt"}));
    assert_eq!(read.body["result"]["content"], "one\ntwo\n", "{}", read.body);
    assert_eq!(read.body["result"]["synced"], true);
    let edit = workspace
        .call("edit", json!({"path": "/a/b.txt", "old_string": "two", "new_string": "three"}));
    assert!(edit.ok, "{}", edit.body);
    assert_eq!(workspace.bytes("/a/b.txt"), b"one\nthree\n");
    let moved = workspace.call("mv", json!({"source": "/a", "destination": "/c"}));
    assert!(moved.ok, "{}", moved.body);
    let removed = workspace.call("rm", json!({"path": "/c/b.txt"}));
    assert!(removed.ok, "{}", removed.body);
    assert!(!workspace.has("/c/b.txt"));
}
