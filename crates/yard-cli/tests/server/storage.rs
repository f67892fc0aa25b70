//! How much is stored for a workspace: what was made is counted, and only an owner sees it.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

fn storage(someone: &Someone<'_>, workspace: &str) -> Value {
    let path = format!("/api/v1/workspaces/{workspace}/storage");
    someone.get(&path).expect(200)["storage"].clone()
}

#[test]
fn what_is_stored_is_counted_and_measured() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let workspace = ada.workspace();
    ada.invite(&workspace, &bob, "member");
    let before = storage(&ada, &workspace);
    assert_eq!((&before["files"], &before["steps"]), (&json!(0), &json!(0)), "{before}");
    assert!(before["journal_bytes"].as_u64().unwrap() > 0, "{before}");
    for (tool, args) in [
        ("write", json!({"path": "/a.txt", "content": "one"})),
        ("write", json!({"path": "/b.txt", "content": "one"})),
        ("write", json!({"path": "/a.txt", "content": "two", "overwrite": true})),
        ("rm", json!({"path": "/b.txt"})),
    ] {
        ada.tool(&workspace, tool, args).expect(200);
    }
    // Bytes that do not compress are no row of the database.
    let mut bytes = vec![0_u8; 2 << 20];
    let mut state = 1_u64;
    for byte in &mut bytes {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (state >> 56) as u8;
    }
    let bearer = format!("Bearer {}", ada.token);
    let path = format!("/api/v1/workspaces/{workspace}/files?path=/large.bin");
    server.send("POST", &path, &[("authorization", &bearer)], &bytes).expect(201);
    let after = storage(&ada, &workspace);
    let counts = ["files", "steps", "versions", "trash_files"].map(|name| after[name].clone());
    assert_eq!(counts, [json!(2), json!(5), json!(4), json!(1)], "{after}");
    assert!(after["contents_bytes"].as_u64().unwrap() >= 2 << 20, "{after}");
    assert_eq!(after["kept_bytes"], 0);
    bob.get(&format!("/api/v1/workspaces/{workspace}/storage")).expect(403);
}
