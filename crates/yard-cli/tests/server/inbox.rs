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

/// Writes into the records that a person approved what waits, and that the process that was to execute it ended before
/// it began: what a crash right after the decision leaves.
fn approve_and_crash(server: &mut Server, workspace: &str) {
    server.stop();
    let journal = server.data().join("journals").join(workspace).join("journal.db");
    let database = rusqlite::Connection::open(&journal).unwrap();
    let sql = "UPDATE approval SET status = 1, approves = 1, scope = 0, decided_by = asked_by, \
               decided_at = at, claimed_by = zeroblob(16) WHERE status = 0";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
    drop(database);
    server.crash_and_restart();
}

#[test]
fn h10_what_was_approved_and_left_undone_waits_in_the_inbox_for_a_second_approval() {
    let mut server = Server::start();
    let (token, workspace, asked) = {
        let ada = server.person();
        let (workspace, agent) = guarded(&ada);
        overwrite(&agent, &workspace);
        let asked = entries(&ada, "").0.remove(0);
        (ada.token.clone(), workspace, asked)
    };
    approve_and_crash(&mut server, &workspace);
    let ada = server.holder(&token);
    let content = || {
        let read = ada.tool(&workspace, "read", json!({"path": "/a.txt"})).expect(200);
        read["result"]["content"].clone()
    };
    let (left, _) = entries(&ada, "");
    assert_eq!(left.len(), 1, "{left:?}");
    let approval = &left[0]["approval"];
    assert_eq!(approval["id"], asked["approval"]["id"]);
    assert_eq!([&approval["status"], &approval["decision"]], ["approved", "approve"]);
    assert!(approval["diff"].as_str().unwrap().contains("-one\n+two\n"), "{approval}");
    assert_eq!(content(), "one\n", "looking at it does nothing");

    let id = approval["id"].as_str().unwrap();
    let decision = format!("/api/v1/workspaces/{workspace}/approvals/{id}/decision");
    let again = json!({"decision": "approve", "state_hash": approval["state_hash"]});
    assert_eq!(ada.post(&decision, again).expect(200)["status"], "executed");
    assert_eq!(content(), "two\n");
    assert_eq!(entries(&ada, "").0, [] as [Value; 0]);
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

/// The decision about an entry of the inbox.
fn yes(entry: &Value) -> Value {
    json!({"workspace_id": entry["workspace_id"], "approval_id": entry["approval"]["id"],
        "approve": true, "state_hash": entry["approval"]["state_hash"]})
}

#[test]
fn several_decisions_are_made_each_with_its_own_hash_and_its_own_result() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let ((one, first), (two, second), (three, third)) =
        (guarded(&ada), guarded(&ada), guarded(&bob));
    overwrite(&first, &one);
    overwrite(&second, &two);
    overwrite(&third, &three);
    let (all, _) = entries(&ada, "");
    let other = &entries(&bob, "").0[0];
    let stale = json!({"state_hash": "0".repeat(64)});
    let with = |mut decision: Value, change: Value| {
        let members = decision.as_object_mut().unwrap();
        members.extend(change.as_object().unwrap().clone());
        decision
    };
    let decisions = json!([
        with(yes(&all[0]), stale),
        yes(other),
        yes(&all[0]),
        yes(&all[0]),
        with(yes(&all[1]), json!({"approve": false, "reason": "not now"})),
        with(yes(&all[1]), json!({"workspace_id": "nowhere"})),
    ]);
    let path = "/api/v1/inbox/decisions";
    first.post(path, json!({"decisions": decisions})).expect(403);
    let answer = ada.post(path, json!({"decisions": decisions})).expect(200);
    let results = answer["results"].as_array().unwrap();
    let status = |at: usize| results[at]["error"]["status"].as_u64();
    assert_eq!([0, 1, 3, 5].map(status), [Some(409), Some(403), Some(409), Some(403)], "{answer}");
    assert_eq!(results[2]["approval"]["status"], "executed", "{answer}");
    assert_eq!(results[4]["approval"]["status"], "denied", "{answer}");
    assert_eq!(results[4]["approval_id"], all[1]["approval"]["id"]);
    assert!(results[0]["error"]["error"].as_str().unwrap().contains("look at it again"));
    assert_eq!(entries(&ada, "").0, [] as [Value; 0]);
    assert_eq!(entries(&bob, "").0.len(), 1, "the request of a workspace without ada is untouched");

    ada.post(path, json!({"decisions": []})).expect(400);
    let many: Vec<Value> = (0..51).map(|_| yes(other)).collect();
    ada.post(path, json!({"decisions": many})).expect(400);
    let viewer = server.person();
    ada.invite(&one, &viewer, "viewer");
    let refused = viewer.post(path, json!({"decisions": [yes(&all[0])]})).expect(200);
    assert_eq!(refused["results"][0]["error"]["status"], 403, "{refused}");
}

#[test]
fn what_a_person_put_off_comes_back_and_is_there_for_everybody_else() {
    let server = Server::start();
    let (ada, bob, eve) = (server.person(), server.person(), server.person());
    let (one, agent) = guarded(&ada);
    ada.invite(&one, &bob, "member");
    ask(&agent, &one, "Which color?");
    overwrite(&agent, &one);
    let (all, _) = entries(&ada, "");
    assert_eq!(all[1]["later_until"], Value::Null);
    let later = "/api/v1/inbox/later";
    let put = |who: &Someone<'_>, item: &Value, until: Value| {
        who.ask("PUT", later, &json!({"workspace_id": one, "item_id": item, "until": until}))
    };
    let (question, approval) = (&all[0]["question"]["id"], &all[1]["approval"]["id"]);
    let far = json!("2999-01-01T00:00:00Z");
    put(&ada, approval, far).expect(400);
    put(&ada, approval, json!("yesterday")).expect(400);
    put(&ada, approval, json!("2001-01-01T00:00:00Z")).expect(400);
    put(&ada, &json!("00000000-0000-7000-8000-000000000000"), Value::Null).expect(404);
    put(&eve, approval, Value::Null).expect(403);
    put(&agent, approval, Value::Null).expect(403);

    let hour = jiff::Timestamp::now() + std::time::Duration::from_secs(3_600);
    let until = json!(hour.to_string());
    put(&ada, approval, until.clone()).expect(204);
    put(&ada, question, until).expect(204);
    assert_eq!(entries(&ada, "").0, [] as [Value; 0]);
    let (put_off, _) = entries(&ada, "?later=true");
    assert_eq!(kinds(&put_off), kinds(&all));
    assert!(put_off[0]["later_until"].is_string(), "{put_off:?}");
    assert_eq!(entries(&bob, "").0.len(), 2, "it is still there for others");
    put(&ada, question, Value::Null).expect(204);
    assert_eq!(kinds(&entries(&ada, "").0), [(&*one, "question")]);

    // Whoever decides what was put off takes it out of both.
    let decided = json!({"decisions": [yes(&put_off[1])]});
    bob.post("/api/v1/inbox/decisions", decided).expect(200);
    assert_eq!(entries(&ada, "?later=true").0, [] as [Value; 0]);
}
