//! A part of a request over HTTP: by file and by hunk, with the word to the agent, for those who may decide.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

/// A person in a workspace where changing anything asks, an agent in it, and the path of its routes.
fn at_work(server: &Server) -> (Someone<'_>, Someone<'_>, String) {
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let agent = ada.agent(&workspace, "member");
    for name in ["/a.txt", "/b.txt"] {
        agent
            .tool(&workspace, "write", json!({"path": name, "content": lines("1", "20")}))
            .expect(200);
    }
    let rules = json!({"rules": [{"effect": ["create", "modify"], "then": "ask"}]});
    ada.ask("PUT", &format!("{base}/policy"), &rules).expect(200);
    (ada, agent, base)
}

fn lines(first: &str, last: &str) -> String {
    let between: Vec<String> = (2..20).map(|line| format!("{line}\n")).collect();
    format!("{first}\n{}{last}\n", between.concat())
}

/// The agent changes both ends of two files; what it gets once it was decided.
fn patch(agent: &Someone<'_>, base: &str, wait_ms: u64) -> (u16, Value) {
    let both_ends =
        |name: &str| format!("*** Update File: {name}\n@@\n-1\n+one\n 2\n@@\n 19\n-20\n+twenty\n");
    let patch =
        format!("*** Begin Patch\n{}{}*** End Patch\n", both_ends("a.txt"), both_ends("b.txt"));
    let body = json!({"tool": "apply_patch", "toolset": "coder", "args": {"patchText": patch},
        "wait_ms": wait_ms});
    let answer = agent.post(&format!("{base}/tools"), body);
    (answer.status, answer.json())
}

fn waiting(person: &Someone<'_>, base: &str) -> Value {
    loop {
        let found = person.get(&format!("{base}/approvals?status=pending")).expect(200);
        if let Some(row) = found["approvals"].get(0) {
            return row.clone();
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn content(someone: &Someone<'_>, base: &str, path: &str) -> Value {
    let body = json!({"tool": "read", "args": {"path": path}});
    someone.post(&format!("{base}/tools"), body).expect(200)["result"]["content"].clone()
}

#[test]
fn a_part_is_done_the_rest_is_refused_and_the_waiting_agent_gets_the_word() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let (bob, eve) = (server.person(), server.person());
    let workspace = base.rsplit('/').next().unwrap();
    ada.invite(workspace, &bob, "viewer");
    thread::scope(|scope| {
        let called = scope.spawn(|| patch(&agent, &base, 30_000));
        let row = waiting(&ada, &base);
        let one = format!("{base}/approvals/{}", row["id"].as_str().unwrap());
        let decision = format!("{one}/decision");
        let part = |parts: Value| {
            json!({"decision": "approve", "parts": parts, "reason": "only the first line",
                "state_hash": row["state_hash"]})
        };
        let chosen = part(json!([{"path": "/a.txt", "hunks": [0]}]));
        agent.post(&decision, chosen.clone()).expect(403);
        bob.post(&decision, chosen.clone()).expect(403);
        eve.post(&decision, chosen.clone()).expect(403);

        let wrong =
            |parts: Value| ada.post(&decision, part(parts)).expect(400)["fields"]["parts"].clone();
        let unknown = wrong(json!([{"path": "/c.txt"}]));
        assert!(unknown.as_str().unwrap().contains("/a.txt (hunks 0 to 1), /b.txt"), "{unknown}");
        let beyond = wrong(json!([{"path": "/a.txt", "hunks": [2]}]));
        assert!(beyond.as_str().unwrap().contains("/a.txt has hunks 0 to 1"), "{beyond}");
        assert!(wrong(json!([])).is_string());
        assert_eq!(ada.get(&one).expect(200)["status"], "pending", "nothing was decided");

        let done = ada.post(&decision, chosen.clone()).expect(200);
        assert_eq!(done["status"], "executed", "{done}");
        assert_eq!(done["decision_parts"], json!([{"path": "/a.txt", "hunks": [0]}]));
        let refused = json!([{"path": "/a.txt", "hunks": [1]}, {"path": "/b.txt", "hunks": null}]);
        assert_eq!((&done["refused"], &done["refused_count"]), (&refused, &json!(2)), "{done}");
        assert_eq!(ada.get(&one).expect(200)["refused"], refused);
        ada.post(&decision, chosen).expect(409);

        let (status, answer) = called.join().unwrap();
        assert_eq!((status, &answer["success"]), (200, &json!(true)), "{answer}");
        let notice = &answer["refused_by_person"];
        assert_eq!(notice["reason"], "only the first line");
        let refused = json!([{"path": "a.txt", "hunks": [1]}, {"path": "b.txt"}]);
        assert_eq!(notice["refused"], refused, "{answer}");
    });
    assert_eq!(content(&ada, &base, "/a.txt"), lines("one", "20"));
    assert_eq!(content(&ada, &base, "/b.txt"), lines("1", "20"));
    let steps = ada.get(&format!("{base}/steps?limit=1")).expect(200);
    assert!(steps["steps"][0].to_string().contains("patch"), "{steps}");
}

#[test]
fn what_changed_since_it_was_shown_is_shown_again() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    assert_eq!(patch(&agent, &base, 0).0, 202);
    let row = waiting(&ada, &base);
    let decision = format!("{base}/approvals/{}/decision", row["id"].as_str().unwrap());
    ada.ask("PUT", &format!("{base}/policy"), &json!({"rules": []})).expect(200);
    let meanwhile = json!({"path": "/b.txt", "content": lines("1", "end"), "overwrite": true});
    ada.post(&format!("{base}/tools"), json!({"tool": "write", "args": meanwhile})).expect(200);
    let chosen = json!({"decision": "approve", "parts": [{"path": "/a.txt"}],
        "state_hash": row["state_hash"]});
    let answer = ada.post(&decision, chosen);
    // The patch does not fit any more, or would do something else: nothing is done either way.
    assert!([200, 400].contains(&answer.status), "{}", answer.json());
    assert_eq!(content(&ada, &base, "/a.txt"), lines("1", "20"));
}
