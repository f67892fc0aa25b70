//! Approvals and policy over HTTP: who may decide, what a call that asks answers, and how it goes on.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

/// A person in a workspace where changing what is there asks, an agent in it, and the path of its routes.
fn at_work(server: &Server) -> (Someone<'_>, Someone<'_>, String) {
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let agent = ada.agent(&workspace, "member");
    let rules = json!({"rules": [{"effect": "modify", "then": "ask"}]});
    ada.ask("PUT", &format!("{base}/policy"), &rules).expect(200);
    agent.tool(&workspace, "write", json!({"path": "/a.txt", "content": "one\n"})).expect(200);
    (ada, agent, base)
}

fn overwrite(agent: &Someone<'_>, base: &str, content: &str, wait_ms: u64) -> (u16, Value) {
    let args = json!({"path": "/a.txt", "content": content, "overwrite": true});
    let body = json!({"tool": "write", "args": args, "wait_ms": wait_ms});
    let answer = agent.post(&format!("{base}/tools"), body);
    (answer.status, answer.json())
}

fn id(answer: &Value) -> String {
    answer["result"]["approval_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn content(someone: &Someone<'_>, base: &str) -> Value {
    let body = json!({"tool": "read", "args": {"path": "/a.txt"}});
    someone.post(&format!("{base}/tools"), body).expect(200)["result"]["content"].clone()
}

#[test]
fn r16_a_call_that_asks_answers_202_and_its_result_is_fetched_once_decided() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let (status, answer) = overwrite(&agent, &base, "two\n", 0);
    assert_eq!((status, &answer["result"]["status"]), (202, &json!("approval_pending")));
    let one = format!("{base}/approvals/{}", id(&answer));
    let waiting = ada.get(&format!("{base}/approvals?status=pending")).expect(200);
    let row = &waiting["approvals"][0];
    assert_eq!((&row["tool"], &row["args"]["content"]), (&json!("write"), &json!("two\n")));
    assert!(row["diff"].as_str().unwrap().contains("-one\n+two\n"), "{row}");
    assert_eq!(row["effect"]["paths"][0]["kind"], "modify");
    assert!(row["state_hash"].as_str().is_some_and(|hash| hash.len() == 64));
    assert_eq!(agent.get(&one).expect(200)["status"], "pending", "an agent may read its own");
    let decision = format!("{one}/decision");
    let yes = json!({"decision": "approve", "scope": "once", "state_hash": row["state_hash"]});
    agent.post(&decision, yes.clone()).expect(403);
    let done = ada.post(&decision, yes.clone()).expect(200);
    assert_eq!(
        (&done["status"], &done["approval"]["decision"]),
        (&json!("executed"), &json!("approve"))
    );
    assert_eq!(content(&ada, &base), "two\n");
    let fetched = agent.get(&one).expect(200);
    assert_eq!(fetched["result"]["path"], "/a.txt", "in the dialect's own words: {fetched}");
    ada.post(&decision, yes).expect(409);
    ada.post(&decision, json!({"decision": "maybe"})).expect(400);
    let none = ada.get(&format!("{base}/approvals?status=pending")).expect(200);
    assert_eq!(none["approvals"], json!([]));
}

/// What "always" would save is shown as the rule itself, before it counts.
#[test]
fn r16_the_rule_that_a_yes_saves_is_shown_before_it_is_given() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let (_, asked) = overwrite(&agent, &base, "two\n", 0);
    let one = format!("{base}/approvals/{}", id(&asked));
    agent.get(&format!("{one}/rules")).expect(403);
    let shown = ada.get(&format!("{one}/rules")).expect(200);
    let rules = shown["rules"].as_array().unwrap();
    assert_eq!((&rules[0]["scope"], &rules[1]["scope"]), (&json!("chat"), &json!("rule")));
    let rule = &rules[1]["rule"];
    assert_eq!(rule["path"], json!(["/a.txt"]), "{shown}");
    let row = ada.get(&one).expect(200);
    let yes = json!({"decision": "approve", "scope": "rule", "state_hash": row["state_hash"]});
    ada.post(&format!("{one}/decision"), yes).expect(200);
    let policy = ada.get(&format!("{base}/policy")).expect(200);
    assert_eq!(&policy["saved"][0]["rule"], rule, "what was shown is what was saved: {policy}");
}

/// Where there is no such yes, it says why.
#[test]
fn r16_a_rule_that_cannot_be_saved_says_why() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let shell = |command: &str| {
        let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000});
        agent.post(
            &format!("{base}/tools"),
            json!({"toolset": "codex", "tool": "shell", "args": args, "wait_ms": 0}),
        )
    };
    ada.ask("PUT", &format!("{base}/policy"), &json!({"preset": "open"})).expect(200);
    shell("mkdir many; cd many; touch $(seq 60)").expect(200);
    let rules = json!({"rules": [{"effect": "modify", "then": "ask"}]});
    ada.ask("PUT", &format!("{base}/policy"), &rules).expect(200);
    let asked = shell("echo new | tee many/*").expect(202);
    let shown = ada.get(&format!("{base}/approvals/{}/rules", id(&asked))).expect(200);
    assert!(shown["rules"][0]["rule"].is_object(), "for the chat there is one: {shown}");
    let why = shown["rules"][1]["why"].as_str().unwrap_or_else(|| panic!("{shown}"));
    assert!(why.contains("at most 50 paths"), "{why}");
}

/// Other arguments are planned and shown before anything counts, and what was shown is done or nothing.
#[test]
fn r16_other_arguments_are_planned_before_they_are_decided() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let (status, asked) = overwrite(&agent, &base, "two\n", 0);
    assert_eq!(status, 202, "{asked}");
    let one = format!("{base}/approvals/{}", asked["result"]["approval_id"].as_str().unwrap());
    let args = json!({"path": "/a.txt", "content": "edited\n", "overwrite": true});
    let plan = |args: &Value| ada.post(&format!("{one}/plan"), json!({"args": args}));
    agent.post(&format!("{one}/plan"), json!({"args": args})).expect(403);
    let wrong = plan(&json!({"pahtt": "/a.txt"})).expect(400);
    assert!(wrong["fields"].to_string().contains("pahtt"), "{wrong}");

    let planned = plan(&args).expect(200);
    assert!(planned["plan"]["diff"].as_str().unwrap().contains("+edited"), "{planned}");
    assert_eq!(content(&ada, &base), "one\n", "a plan does nothing");
    assert_eq!(ada.get(&one).expect(200)["status"], "pending");

    // Somebody changes the file between showing and deciding.
    ada.ask("PUT", &format!("{base}/policy"), &json!({"rules": []})).expect(200);
    let meanwhile = json!({"path": "/a.txt", "content": "meanwhile\n", "overwrite": true});
    ada.post(&format!("{base}/tools"), json!({"tool": "write", "args": meanwhile})).expect(200);
    let decision = |planned: &Value| {
        let hash = &planned["plan"]["state_hash"];
        json!({"decision": "approve", "args": args, "plan_hash": hash})
    };
    let refused = ada.decide(&one, decision(&planned)).expect(409);
    assert!(refused["error"].as_str().unwrap().contains("plan it again"), "{refused}");
    assert_eq!(content(&ada, &base), "meanwhile\n");

    let planned = plan(&args).expect(200);
    let done = ada.decide(&one, decision(&planned)).expect(200);
    assert_eq!(done["status"], "executed", "{done}");
    assert_eq!(content(&ada, &base), "edited\n");
}

#[test]
fn r16_a_call_waits_for_its_person() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    thread::scope(|scope| {
        let called = scope.spawn(|| overwrite(&agent, &base, "two\n", 20_000));
        let waiting = loop {
            let found = ada.get(&format!("{base}/approvals?status=pending")).expect(200);
            if let Some(row) = found["approvals"].get(0) {
                break row["id"].as_str().unwrap().to_owned();
            }
            thread::sleep(Duration::from_millis(20));
        };
        let one = format!("{base}/approvals/{waiting}");
        let edited = json!({"path": "/a.txt", "content": "edited\n", "overwrite": true});
        let done = ada.decide(&one, json!({"decision": "approve", "args": edited})).expect(200);
        assert!(done["diff"].as_str().unwrap().contains("+edited"), "the new diff: {done}");
        let (status, answer) = called.join().unwrap();
        assert_eq!(answer["changed_by_person"]["args"]["content"], "edited\n", "{answer}");
        assert_eq!((status, &answer["result"]["path"]), (200, &json!("/a.txt")), "{answer}");
    });
    assert_eq!(content(&ada, &base), "edited\n");
    thread::scope(|scope| {
        let called = scope.spawn(|| overwrite(&agent, &base, "three\n", 20_000));
        let waiting = loop {
            let found = ada.get(&format!("{base}/approvals?status=pending")).expect(200);
            if let Some(row) = found["approvals"].get(0) {
                break row["id"].as_str().unwrap().to_owned();
            }
            thread::sleep(Duration::from_millis(20));
        };
        let one = format!("{base}/approvals/{waiting}");
        ada.decide(&one, json!({"decision": "deny", "reason": "no more"})).expect(200);
        let (status, answer) = called.join().unwrap();
        assert_eq!((status, &answer["code"]), (403, &json!("FORBIDDEN")));
        assert_eq!(answer["error"], "a person said no: no more");
    });
    assert_eq!(content(&ada, &base), "edited\n");
}

#[test]
fn only_people_see_and_set_the_policy_and_what_does_not_parse_changes_nothing() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let path = format!("{base}/policy");
    let before = ada.get(&path).expect(200);
    assert_eq!((&before["preset"], &before["effective_preset"]), (&json!(null), &json!("guarded")));
    agent.get(&path).expect(403);
    agent.ask("PUT", &path, &json!({"preset": "open"})).expect(403);
    let wrong = json!({"preset": "open", "rules": [{"effect": "modify", "then": "never"}]});
    let refused = ada.ask("PUT", &path, &wrong).expect(400);
    assert!(refused["fields"].to_string().contains("rules[0]"), "{refused}");
    assert_eq!(ada.get(&path).expect(200), before);
    let set = ada.ask("PUT", &path, &json!({"preset": "never"})).expect(200);
    assert_eq!((&set["preset"], set["rules"].as_array().unwrap().len()), (&json!("open"), 1));
}

#[test]
fn the_policy_that_is_shown_can_be_set_again() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let (status, answer) = overwrite(&agent, &base, "two\n", 0);
    assert_eq!(status, 202);
    let one = format!("{base}/approvals/{}", id(&answer));
    ada.decide(&one, json!({"decision": "approve", "scope": "rule"})).expect(200);
    let path = format!("{base}/policy");
    let shown = ada.get(&path).expect(200);
    assert_eq!(shown["saved"].as_array().map(Vec::len), Some(1), "{shown}");
    assert_eq!(ada.ask("PUT", &path, &shown).expect(200), shown, "also who saved it, and when");
    let plain = json!({"saved": [shown["saved"][0]["rule"]]});
    assert_eq!(ada.ask("PUT", &path, &plain).expect(200), shown);
    let stranger = json!({"saved": [{"rule": {"then": "allow"}, "then": "deny"}]});
    ada.ask("PUT", &path, &stranger).expect(400);
    assert_eq!(ada.ask("PUT", &path, &json!({"saved": []})).expect(200)["saved"], json!([]));
}

#[test]
fn approvals_survive_a_crash_of_the_server() {
    let mut server = Server::start();
    let (base, token, one) = {
        let (ada, agent, base) = at_work(&server);
        let (status, answer) = overwrite(&agent, &base, "two\n", 0);
        assert_eq!(status, 202);
        (base.clone(), ada.token.clone(), format!("{base}/approvals/{}", id(&answer)))
    };
    server.crash_and_restart();
    let ada = server.holder(&token);
    assert_eq!(ada.get(&one).expect(200)["status"], "pending");
    let done = ada.decide(&one, json!({"decision": "approve"})).expect(200);
    assert_eq!(done["status"], "executed");
    assert_eq!(content(&ada, &base), "two\n");
}

/// The request that waits, once there is one.
fn waiting(ada: &Someone<'_>, base: &str) -> Value {
    let began = std::time::Instant::now();
    loop {
        let found = ada.get(&format!("{base}/approvals?status=pending")).expect(200);
        if let Some(row) = found["approvals"].get(0) {
            return row.clone();
        }
        assert!(began.elapsed() < Duration::from_secs(30), "nothing waits: {found}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn p2_what_starts_something_is_answered_to_the_call_that_waits() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let agent = ada.agent(&workspace, "member");
    let rules = json!({"rules": [{"effect": "run", "then": "ask"}]});
    ada.ask("PUT", &format!("{base}/policy"), &rules).expect(200);
    let calls = [
        (
            "codex",
            "exec_command",
            json!({"session_id": "t", "cmd": "echo out; cat", "workdir": null}),
        ),
        ("codex", "shell", json!({"command": "echo out", "workdir": null, "timeout_ms": 60_000})),
        ("assistant", "run_code", json!({"language": "bash", "code": "echo out"})),
    ];
    for (toolset, tool, args) in calls {
        thread::scope(|scope| {
            let body = json!({"toolset": toolset, "tool": tool, "args": args, "wait_ms": 60_000});
            let called = scope.spawn(|| agent.post(&format!("{base}/tools"), body));
            let row = waiting(&ada, &base);
            let one = format!("{base}/approvals/{}", row["id"].as_str().unwrap());
            let done = ada.decide(&one, json!({"decision": "approve"})).expect(200);
            assert_eq!(done["status"], "executed", "{tool}: {done}");
            let answer = called.join().unwrap().expect(200);
            assert_eq!(answer["success"], true, "{tool}: {answer}");
            assert!(answer["result"].to_string().contains("out"), "{tool}: {answer}");
        });
    }
}

#[test]
fn b2_a_decision_without_the_hash_of_what_was_shown_decides_nothing() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let (_, answer) = overwrite(&agent, &base, "two\n", 0);
    let one = format!("{base}/approvals/{}", id(&answer));
    let decision = format!("{one}/decision");
    for word in ["approve", "deny"] {
        ada.post(&decision, json!({"decision": word})).expect(400);
        let other = json!({"decision": word, "state_hash": "0".repeat(64)});
        ada.post(&decision, other).expect(409);
    }
    assert_eq!(ada.get(&one).expect(200)["status"], "pending");
    let wrong = json!({"decision": "approve", "args": {"pahtt": "/a.txt"}});
    ada.decide(&one, wrong).expect(400);
    assert_eq!(ada.get(&one).expect(200)["status"], "pending", "a wrong argument decides nothing");
    assert_eq!(content(&ada, &base), "one\n");
}

/// Sends a call that waits for a person, on a connection of its own.
fn send_waiting_call(server: &Server, agent: &Someone<'_>, base: &str, text: &str) -> TcpStream {
    let args = json!({"path": "/a.txt", "content": text, "overwrite": true});
    let body = json!({"tool": "write", "args": args, "wait_ms": 60_000}).to_string();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "POST {base}/tools HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address,
        agent.token,
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

#[test]
fn b7_a_client_that_goes_away_withdraws_its_request() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let stream = send_waiting_call(&server, &agent, &base, "two\n");
    let row = waiting(&ada, &base);
    drop(stream);
    let one = format!("{base}/approvals/{}", row["id"].as_str().unwrap());
    let began = std::time::Instant::now();
    while ada.get(&one).expect(200)["status"] != "withdrawn" {
        assert!(began.elapsed() < Duration::from_secs(30), "it still waits");
        thread::sleep(Duration::from_millis(20));
    }
    let late = json!({"decision": "approve", "state_hash": row["state_hash"]});
    ada.post(&format!("{one}/decision"), late).expect(409);
    assert_eq!(content(&ada, &base), "one\n");
}

#[test]
fn b7_a_client_that_goes_away_at_any_moment_of_its_call_leaves_no_request() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    for moment in 0..60 {
        let stream = send_waiting_call(&server, &agent, &base, &format!("{moment}\n"));
        thread::sleep(Duration::from_micros(200 * moment));
        drop(stream);
    }
    let pending = format!("{base}/approvals?status=pending");
    let began = std::time::Instant::now();
    while !ada.get(&pending).expect(200)["approvals"].as_array().unwrap().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(30), "a request still waits");
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(content(&ada, &base), "one\n");
}

#[test]
fn g15_the_hash_of_a_long_request_comes_with_its_whole_diff() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let long: String = (0..60_000).map(|line| format!("line {line}\n")).collect();
    let (status, answer) = overwrite(&agent, &base, &long, 0);
    assert_eq!(status, 202, "{answer}");
    let one = format!("{base}/approvals/{}", id(&answer));
    let listed = ada.get(&format!("{base}/approvals?status=pending")).expect(200);
    assert_eq!(listed["approvals"][0]["state_hash"], Value::Null, "a list cuts it");
    let shown = ada.get(&one).expect(200);
    assert_eq!(shown["state_hash"], Value::Null, "so does the request by itself");
    let whole = shown["diff_bytes"].as_u64().unwrap();
    let (mut diff, mut from) = (String::new(), "0".to_owned());
    let state = loop {
        let part = ada.get(&format!("{one}/diff?from={from}")).expect(200);
        diff.push_str(part["diff"].as_str().unwrap());
        match part["next"].as_str() {
            Some(next) => {
                assert_eq!(part["state_hash"], Value::Null);
                from = next.to_owned();
            }
            None => break part["state_hash"].clone(),
        }
    };
    assert_eq!(diff.len() as u64, whole);
    assert!(diff.contains("+line 59999\n"));
    let yes = json!({"decision": "approve", "state_hash": state});
    let done = ada.post(&format!("{one}/decision"), yes).expect(200);
    assert_eq!(done["status"], "executed");
}
