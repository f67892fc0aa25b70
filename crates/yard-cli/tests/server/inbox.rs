//! The inbox of a person: what waits in all workspaces, for those who may decide it.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

/// The question that an agent asks.
fn ask(agent: &Someone<'_>, workspace: &str, text: &str) {
    let question = json!({"name": "q", "question": text, "schema": {"type": "string"}});
    let args = json!({"questions": [question], "wait_ms": 0});
    agent.tool(workspace, "ask_user", args).expect(200);
}

/// The agent asks to overwrite what the owner wrote.
fn overwrite(agent: &Someone<'_>, workspace: &str) {
    let args = json!({"path": "/a.txt", "content": "two\n", "overwrite": true});
    let body = json!({"tool": "write", "args": args, "wait_ms": 0});
    agent.post(&format!("/api/v1/workspaces/{workspace}/tools"), body).expect(202);
}

/// A workspace in which changing a file asks, with an agent.
fn guarded<'a>(owner: &Someone<'a>) -> (String, Someone<'a>) {
    let workspace = owner.workspace();
    let rules = json!({"rules": [{"effect": "modify", "then": "ask"}]});
    owner.ask("PUT", &format!("/api/v1/workspaces/{workspace}/policy"), &rules).expect(200);
    owner.tool(&workspace, "write", json!({"path": "/a.txt", "content": "one\n"})).expect(200);
    let agent = owner.agent(&workspace, "member");
    (workspace, agent)
}

fn entries(person: &Someone<'_>, query: &str) -> (Vec<Value>, Value) {
    let page = person.get(&format!("/api/v1/inbox{query}")).expect(200);
    assert_eq!(page["unavailable"], json!([]));
    (page["entries"].as_array().unwrap().clone(), page["next"].clone())
}

fn kinds(entries: &[Value]) -> Vec<(&str, &str)> {
    entries
        .iter()
        .map(|entry| (entry["workspace_id"].as_str().unwrap(), entry["kind"].as_str().unwrap()))
        .collect()
}

#[test]
fn everything_that_waits_is_in_the_inbox_of_those_who_may_decide_oldest_first() {
    let server = Server::start();
    let (ada, bob, eve) = (server.person(), server.person(), server.person());
    let ((one, first), (two, second)) = (guarded(&ada), guarded(&ada));
    ask(&first, &one, "Which color?");
    overwrite(&second, &two);
    overwrite(&first, &one);
    ada.invite(&one, &bob, "member");
    ada.invite(&two, &bob, "viewer");

    let (all, next) = entries(&ada, "");
    let expected = [(&*one, "question"), (&*two, "approval"), (&*one, "approval")];
    assert_eq!((kinds(&all), next), (expected.to_vec(), Value::Null));
    assert_eq!(all[0]["question"]["questions"][0]["question"], "Which color?");
    assert!(all[1]["approval"]["diff"].as_str().unwrap().contains("-one\n+two\n"), "{}", all[1]);
    assert_eq!(all[1]["waiting_since"], all[1]["approval"]["asked_at"]);

    let (page, next) = entries(&ada, "?limit=2");
    assert_eq!(kinds(&page), expected[..2]);
    let (rest, end) = entries(&ada, &format!("?limit=2&cursor={}", next.as_str().unwrap()));
    assert_eq!((kinds(&rest), end), (expected[2..].to_vec(), Value::Null));
    ada.get("/api/v1/inbox?cursor=yesterday").expect(400);

    assert_eq!(kinds(&entries(&bob, "").0), [expected[0], expected[2]], "bob only looks at two");
    assert_eq!(entries(&eve, "").0, [] as [Value; 0]);
    first.get("/api/v1/inbox").expect(403);

    let row = &all[2]["approval"];
    let path =
        format!("/api/v1/workspaces/{one}/approvals/{}/decision", row["id"].as_str().unwrap());
    ada.post(&path, json!({"decision": "approve", "state_hash": row["state_hash"]})).expect(200);
    assert_eq!(kinds(&entries(&ada, "").0), expected[..2]);
}

#[test]
fn a_workspace_that_cannot_be_opened_is_named_beside_what_the_others_have() {
    let server = Server::start();
    let ada = server.person();
    let (one, agent) = guarded(&ada);
    let broken = ada.workspace();
    overwrite(&agent, &one);
    // A file stands where the folder of the second workspace, which was never opened, has to be made.
    std::fs::write(server.data().join("workspaces").join(&broken), "in the way").unwrap();
    let page = ada.get("/api/v1/inbox").expect(200);
    assert_eq!(page["entries"].as_array().unwrap().len(), 1);
    assert_eq!(page["unavailable"][0]["workspace_id"], json!(broken));
    assert!(page["unavailable"][0]["error"].as_str().is_some_and(|error| !error.is_empty()));
}
