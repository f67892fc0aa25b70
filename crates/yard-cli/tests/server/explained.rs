//! What would happen with a call: the verdict and the rule that the same call meets when it is made.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

fn explain(someone: &Someone<'_>, workspace: &str, body: &Value) -> Value {
    let path = format!("/api/v1/workspaces/{workspace}/policy/explain");
    someone.post(&path, body.clone()).expect(200)["explanation"].clone()
}

#[test]
fn what_is_explained_is_what_happens_and_nothing_is_done() {
    let server = Server::start();
    let (ada, eve) = (server.person(), server.person());
    let workspace = ada.workspace();
    ada.invite(&workspace, &eve, "viewer");
    let agent = ada.agent(&workspace, "member");
    ada.tool(&workspace, "write", json!({"path": "/lib/a.txt", "content": "a"})).expect(200);
    let rules = json!([
        {"effect": "create", "path": "/lib/**", "then": "ask", "why": "People look at the library."},
        {"effect": "any", "path": "/secret/**", "then": "deny"},
    ]);
    let base = format!("/api/v1/workspaces/{workspace}");
    ada.ask("PUT", &format!("{base}/policy"), &json!({"rules": rules})).expect(200);
    let write = |path: &str| json!({"tool": "write", "args": {"path": path, "content": "x"}});
    for (path, decision, rule) in [
        ("/lib/new.txt", "ask", Some(0)),
        ("/secret/new.txt", "deny", Some(1)),
        ("/new.txt", "allow", None),
    ] {
        // A viewer may ask as well.
        for person in [&ada, &eve] {
            let said = explain(person, &workspace, &write(path));
            assert_eq!(said["decision"], decision, "{path}: {said}");
            let (number, expected) = match rule {
                Some(at) => (json!(at + 1), rules[at].clone()),
                None => (Value::Null, Value::Null),
            };
            assert_eq!((&said["rule_number"], &said["rule"]), (&number, &expected), "{path}");
            let named = |effect: &Value| effect["path"] == path && effect["kind"] == "create";
            assert!(said["effect"].as_array().unwrap().iter().any(named), "{said}");
            assert!(!said["why"].as_str().unwrap().is_empty(), "{said}");
            assert_eq!(said["message"].is_null(), decision == "allow", "{said}");
        }
    }
    let listed = ada.tool(&workspace, "ls", json!({"recursive": true})).expect(200).to_string();
    assert!(!listed.contains("new.txt"), "nothing was done: {listed}");
    let mut asked = write("/lib/new.txt");
    asked["wait_ms"] = 0.into();
    assert_eq!(agent.post(&format!("{base}/tools"), asked).status, 202, "as it was explained");
    assert_eq!(
        ada.get(&format!("{base}/approvals")).expect(200)["approvals"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn the_mode_of_a_chat_decides_as_well() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let made = json!({"title": "Plan", "mode": "plan"});
    let made = ada.post(&format!("/api/v1/workspaces/{workspace}/chats"), made).expect(201);
    let chat = &made["chat"]["id"];
    let body =
        json!({"tool": "write", "args": {"path": "/a.txt", "content": "x"}, "chat_id": chat});
    let said = explain(&ada, &workspace, &body);
    assert_eq!(said["decision"], "deny", "{said}");
    assert!(said["why"].as_str().unwrap().contains("plan mode"), "{said}");
}

#[test]
fn a_call_that_cannot_be_made_is_refused_with_what_is_wrong() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let path = format!("/api/v1/workspaces/{workspace}/policy/explain");
    let wrong = |body: Value| {
        let answer = ada.post(&path, body).expect(400);
        answer["fields"].to_string()
    };
    assert!(wrong(json!({"tool": "writ", "args": {}})).contains("did you mean 'write'"));
    assert!(wrong(json!({"tool": "write", "args": {}})).contains("path"));
    assert!(wrong(json!({"tool": "ls", "toolset": "none", "args": {}})).contains("none"));
    let unknown =
        json!({"tool": "ls", "args": {}, "chat_id": "01a1ded5-dd8a-77da-afc2-e0984d8b1839"});
    ada.post(&path, unknown).expect(404);
    let agent = ada.agent(&workspace, "member");
    agent.post(&path, json!({"tool": "ls", "args": {}})).expect(403);
}
