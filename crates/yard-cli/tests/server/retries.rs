//! `Idempotency-Key`.

use serde_json::json;

use crate::harness::Server;

#[test]
fn a_retried_change_answers_as_the_first_did_and_happens_once() {
    let server = Server::start();
    let ada = server.person();
    let path = format!("/api/v1/workspaces/{}/tools", ada.workspace());
    let body =
        json!({"tool": "write", "args": {"path": "/a", "content": "once", "overwrite": true}});
    let key = [("idempotency-key", "write-1")];
    let first = ada.ask_with("POST", &path, &key, &body).expect(200);
    let again = ada.ask_with("POST", &path, &key, &body).expect(200);
    assert_eq!(first, again);
    let between =
        json!({"tool": "write", "args": {"path": "/a", "content": "between", "overwrite": true}});
    ada.ask_with("POST", &path, &[("idempotency-key", "write-3")], &between).expect(200);
    let fresh = ada.ask_with("POST", &path, &[("idempotency-key", "write-2")], &body).expect(200);
    assert_ne!(first["result"]["version_id"], fresh["result"]["version_id"]);
    let other =
        json!({"tool": "write", "args": {"path": "/a", "content": "other", "overwrite": true}});
    let answer = ada.ask_with("POST", &path, &key, &other).expect(400);
    assert!(answer["fields"]["Idempotency-Key"].is_string());
}

#[test]
fn a_retried_failure_stays_one_and_keys_belong_to_their_caller() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let workspace = ada.workspace();
    ada.invite(&workspace, &bob, "member");
    let path = format!("/api/v1/workspaces/{workspace}/tools");
    let body =
        json!({"tool": "edit", "args": {"path": "/a", "old_string": "x", "new_string": "y"}});
    let key = [("idempotency-key", "k")];
    ada.ask_with("POST", &path, &key, &body).expect(404);
    ada.tool(&workspace, "write", json!({"path": "/a", "content": "x"})).expect(200);
    ada.ask_with("POST", &path, &key, &body).expect(404);
    bob.ask_with("POST", &path, &key, &body).expect(200);
}

#[test]
fn of_many_at_once_one_happens() {
    let server = Server::start();
    let ada = server.person();
    let make = || {
        let body = json!({"name": "one"});
        ada.ask_with("POST", "/api/v1/workspaces", &[("idempotency-key", "make")], &body).status
    };
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|status| [201, 409].contains(status)), "{statuses:?}");
    assert_eq!(make(), 201);
    let listed = ada.get("/api/v1/workspaces").expect(200);
    assert_eq!(listed["workspaces"].as_array().unwrap().len(), 1);
}

#[test]
fn a_retry_after_a_deny_does_not_show_again_what_was_read() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let args = json!({"path": "/secrets/k.txt", "content": "canary-4711"});
    ada.tool(&workspace, "write", args).expect(200);
    let path = format!("/api/v1/workspaces/{workspace}/tools");
    let body = json!({"tool": "read", "args": {"path": "/secrets/k.txt"}});
    let key = [("idempotency-key", "read-1")];
    let first = ada.ask_with("POST", &path, &key, &body).expect(200);
    assert!(first.to_string().contains("canary-4711"), "{first}");
    assert_eq!(ada.ask_with("POST", &path, &key, &body).expect(200), first);
    let rules = json!({"rules": [{"effect": "read", "path": "secrets/**", "then": "deny"}]});
    ada.ask_with("PUT", &format!("/api/v1/workspaces/{workspace}/policy"), &[], &rules).expect(200);
    let again = ada.ask_with("POST", &path, &key, &body).expect(409);
    assert!(!again.to_string().contains("canary"), "{again}");
    ada.ask_with("POST", &path, &[("idempotency-key", "read-2")], &body).expect(403);
}

#[test]
fn a_retried_call_that_a_person_approved_meanwhile_answers_with_its_result() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let agent = ada.agent(&workspace, "member");
    let rules = json!({"rules": [{"effect": "create", "then": "ask"}]});
    ada.ask("PUT", &format!("{base}/policy"), &rules).expect(200);
    let args = json!({"path": "/a", "content": "once\n"});
    let body = json!({"tool": "write", "args": args, "wait_ms": 0});
    let call = |status| {
        let key = [("idempotency-key", "write-1")];
        agent.ask_with("POST", &format!("{base}/tools"), &key, &body).expect(status)
    };
    let first = call(202);
    assert_eq!(call(202), first, "still waiting");
    let one = format!("{base}/approvals/{}", first["result"]["approval_id"].as_str().unwrap());
    let state = ada.get(&one).expect(200)["state_hash"].clone();
    let decision = json!({"decision": "approve", "scope": "once", "state_hash": state});
    ada.post(&format!("{one}/decision"), decision).expect(200);
    let done = call(200);
    assert_eq!(done["result"]["path"], "/a", "{done}");
    assert_eq!(call(200), done);
    let steps = ada.get(&format!("{base}/steps")).expect(200);
    assert_eq!(steps["steps"].as_array().unwrap().len(), 1, "it happened once");
}
