//! `Idempotency-Key`.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

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

/// Sends a call that waits for a person on a connection of its own, with an `Idempotency-Key` if one is given.
fn send_waiting_call(
    agent: &Someone<'_>,
    address: &str,
    base: &str,
    key: Option<&str>,
    body: &Value,
) -> TcpStream {
    let body = body.to_string();
    let key = key.map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default();
    let head = format!(
        "POST {base}/tools HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n{key}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        agent.token,
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

#[test]
fn a_call_with_a_key_still_waits_for_its_person_after_its_client_went_away() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let agent = ada.agent(&workspace, "member");
    let rules = json!({"rules": [{"effect": "create", "then": "ask"}]});
    ada.ask("PUT", &format!("{base}/policy"), &rules).expect(200);
    let write = |path: &str| {
        let args = json!({"path": path, "content": "once\n"});
        json!({"tool": "write", "args": args, "wait_ms": 120_000})
    };
    let requests_are = |status: &str, count: usize| -> Value {
        let began = Instant::now();
        loop {
            let listed = ada.get(&format!("{base}/approvals?status={status}")).expect(200);
            if listed["approvals"].as_array().unwrap().len() == count {
                return listed["approvals"].clone();
            }
            assert!(began.elapsed() < Duration::from_secs(120), "{status}: {listed}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    let send = |key, path| send_waiting_call(&agent, &server.address, &base, key, &write(path));

    let with_key = send(Some("write-a"), "/a");
    let asked = requests_are("pending", 1)[0].clone();
    drop(with_key);
    // By the time at which the server has noticed that this client is gone, it has noticed the one before, too.
    let without_key = send(None, "/b");
    requests_are("pending", 2);
    drop(without_key);
    requests_are("withdrawn", 1);
    assert_eq!(requests_are("pending", 1)[0]["id"], asked["id"]);

    let (key, path) = ([("idempotency-key", "write-a")], format!("{base}/tools"));
    let again = thread::scope(|scope| {
        let retry = scope.spawn(|| agent.ask_with("POST", &path, &key, &write("/a")).expect(200));
        let one = format!("{base}/approvals/{}", asked["id"].as_str().unwrap());
        ada.decide(&one, json!({"decision": "approve"})).expect(200);
        retry.join().unwrap()
    });
    assert_eq!(again["result"]["path"], "/a", "{again}");
    let steps = ada.get(&format!("{base}/steps")).expect(200);
    assert_eq!(steps["steps"].as_array().unwrap().len(), 1, "it happened once");
}
