//! `toolyard keys` beside a running server.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::Server;

fn keys(server: &Server, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.arg("keys").args(arguments).arg("--data-dir").arg(server.data());
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn keys_are_listed_and_a_revoked_one_opens_nothing_any_more() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    assert_eq!(keys(&server, &[]), (true, "there are no keys\n".to_owned()));
    let key = json!({"name": "builder", "role": "member", "toolsets": ["codex", "file"]});
    let key = ada.post(&format!("{base}/keys"), key).expect(201);
    let other = ada.agent(&workspace, "viewer");
    let holder = server.holder(key["key"].as_str().unwrap());
    holder.get(&format!("{base}/chats")).expect(200);
    let (_, text) = keys(&server, &[]);
    let first = text.lines().next().unwrap();
    assert_eq!(
        first.split_whitespace().collect::<Vec<_>>(),
        ["ID", "NAME", "ROLE", "TOOLSETS", "CREATED", "WORKSPACE"]
    );
    // Every column begins where its heading does.
    let at = first.find("TOOLSETS").unwrap();
    assert!(
        text.lines().any(|line| line.get(at..).is_some_and(|rest| rest.starts_with("codex,file")))
    );
    assert!(!text.contains("tyk_"), "no secret is shown: {text}");
    let (_, listed) = keys(&server, &["--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let listed = listed["keys"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    // Keys that are made in the same millisecond have no order.
    let builder = listed.iter().find(|key| key["name"] == "builder").unwrap();
    assert_eq!((&builder["name"], &builder["role"]), (&json!("builder"), &json!("member")));
    assert_eq!(builder["workspace"]["id"], workspace.as_str());
    let id = builder["id"].as_str().unwrap();
    assert!(!keys(&server, &["--revoke", "ffffffff"]).0, "there is no such key");
    let (revoked, text) = keys(&server, &["--revoke", id]);
    assert!(revoked && text.contains("(builder)"), "{text}");
    let until = Instant::now() + Duration::from_secs(120);
    while holder.get(&format!("{base}/chats")).status != 401 {
        assert!(Instant::now() < until, "a revoked key is refused within a second");
        std::thread::sleep(Duration::from_millis(100));
    }
    other.get(&format!("{base}/chats")).expect(200);
    assert!(!keys(&server, &["--revoke", id]).0, "it is revoked already");
}
