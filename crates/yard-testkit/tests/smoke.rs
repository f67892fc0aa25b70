//! The thin line through all layers.

use serde_json::json;
use yard_testkit::Yard;

#[test]
fn write_read_edit_move_remove() {
    let yard = Yard::new();
    let wrote = yard.call("write", json!({"path": "/a/b.txt", "content": "one\ntwo\n"}));
    assert!(wrote.ok, "{}", wrote.body);
    let read = yard.call("read", json!({"path": "/a/b.txt"}));
    assert_eq!(read.body["result"]["content"], "one\ntwo\n", "{}", read.body);
    assert_eq!(read.body["result"]["synced"], true);
    let edit =
        yard.call("edit", json!({"path": "/a/b.txt", "old_string": "two", "new_string": "three"}));
    assert!(edit.ok, "{}", edit.body);
    assert_eq!(yard.bytes("/a/b.txt"), b"one\nthree\n");
    let moved = yard.call("mv", json!({"source": "/a", "destination": "/c"}));
    assert!(moved.ok, "{}", moved.body);
    let removed = yard.call("rm", json!({"path": "/c/b.txt"}));
    assert!(removed.ok, "{}", removed.body);
    assert!(!yard.has("/c/b.txt"));
}
