//! Approvals from the outside: what asks, what a person is shown, what a yes and a no do, and that what
//! ran is what was shown, once.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

#[path = "approvals/decided.rs"]
mod decided;

use std::thread;

use serde_json::{Map, Value, json};
use yard_core::{ApprovalId, ContentHash, FaultCode, KeyId};
use yard_dialects::Answer;
use yard_gate::{
    Actor, Approval, ApprovalFilter, ApprovalStatus, Asks, Awaited, DecisionInput, Event, Policy,
    Scope, Session, Verdict,
};
use yard_testkit::Yard;

const ASK_TO_MODIFY: &str = r#"{"rules": [{"effect": ["modify", "remove"], "then": "ask"}]}"#;

fn map(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

fn under(yard: &Yard, policy: &str) {
    yard.person().change_settings(&yard.surroundings(), &map(policy)).unwrap();
}

fn call(yard: &Yard, session: &Session, tool: &str, args: Value) -> Answer {
    yard.catalog().call("workspace", tool, args, session, &yard.surroundings())
}

/// The id of the request that a call came to.
#[track_caller]
fn asked(answer: &Answer) -> ApprovalId {
    assert_eq!((answer.ok, answer.status), (true, 202), "{}", answer.body);
    assert_eq!(answer.body["result"]["status"], json!("approval_pending"), "{}", answer.body);
    let pending = answer.pending.as_ref().unwrap();
    let Awaited::Approval(id) = pending.awaited else { panic!("{pending:?}") };
    assert_eq!(answer.body["result"]["approval_id"], json!(id.to_string()));
    id
}

/// A yes to whatever [`decide`] finds.
fn yes(scope: Scope) -> DecisionInput {
    DecisionInput { approves: true, scope, reason: None, args: None, state: ContentHash::of(b"") }
}

/// Decides on a request as it is now.
fn decide(yard: &Yard, id: ApprovalId, ruling: &DecisionInput) -> Result<Approval, FaultCode> {
    let state = yard.person().approvals().get(id).unwrap().request.state;
    decide_as_shown(yard, id, &DecisionInput { state, ..ruling.clone() })
}

fn decide_as_shown(
    yard: &Yard,
    id: ApprovalId,
    ruling: &DecisionInput,
) -> Result<Approval, FaultCode> {
    let decided = yard.catalog().decide(id, ruling, &yard.person(), &yard.surroundings());
    decided.map_err(|fault| fault.code())
}

fn overwrite(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content, "overwrite": true})
}

fn text(yard: &Yard, path: &str) -> String {
    String::from_utf8(yard.bytes(path)).unwrap()
}

#[test]
fn a_request_shows_the_call_its_effect_and_its_diff_and_a_yes_does_it_once() {
    let yard = Yard::new();
    yard.put("/a.txt", "one\ntwo\n");
    under(&yard, ASK_TO_MODIFY);
    let agent = yard.session();
    let new = call(&yard, &agent, "write", json!({"path": "/new.txt", "content": "x"}));
    assert_eq!(new.status, 200, "making something new asks nobody: {}", new.body);
    let id = asked(&call(&yard, &agent, "write", overwrite("/a.txt", "one\n2\n")));
    assert_eq!(text(&yard, "/a.txt"), "one\ntwo\n", "nothing happens before the word");
    let row = yard.person().approvals().get(id).unwrap();
    assert_eq!((row.status, row.asked_by.as_str()), (ApprovalStatus::Pending, "agent:local"));
    assert_eq!(row.request.tool, "write");
    assert!(row.request.reason.contains("rule 1 (ask modify,remove on every path)"), "{row:?}");
    assert!(row.request.diff.contains("-two\n+2\n"), "{}", row.request.diff);
    let effect: Value = serde_json::from_str(&row.request.effect).unwrap();
    assert_eq!(effect["paths"][0]["kind"], json!("modify"));
    assert_eq!(effect["paths"][0]["path"], json!("/a.txt"));
    let args: Value = serde_json::from_str(&row.request.args).unwrap();
    assert_eq!(args["content"], json!("one\n2\n"));

    let done = decide(&yard, id, &yes(Scope::Once)).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed);
    assert_eq!(text(&yard, "/a.txt"), "one\n2\n");
    let kept: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    assert_eq!(kept["body"]["success"], json!(true));
    assert_eq!(kept["body"]["result"]["path"], json!("/a.txt"));
    assert!(done.step.is_some());
    assert_eq!(decide(&yard, id, &yes(Scope::Once)), Err(FaultCode::Exists));
    let pending = Awaited::Approval(id);
    let pending = yard_gate::Pending { awaited: pending, wait_ms: None };
    let answer =
        yard.catalog().resume("workspace", "write", &pending, &agent, &yard.surroundings());
    assert_eq!((answer.status, answer.pending), (200, None));
    assert_eq!(answer.body["result"]["path"], json!("/a.txt"));
    asked(&call(&yard, &agent, "write", overwrite("/a.txt", "three\n")));
    let author = yard.perform(yard_core::op::Show { step: done.step.unwrap(), max_bytes: 0 });
    assert_eq!(author.unwrap().step.actor, "agent:local", "who asked is who did it");
}

#[test]
fn a_no_tells_the_agent_why_and_nothing_happens() {
    let yard = Yard::new();
    yard.put("/a.txt", "one\n");
    under(&yard, ASK_TO_MODIFY);
    let agent = yard.session();
    let called = call(&yard, &agent, "rm", json!({"path": "/a.txt"}));
    let id = asked(&called);
    let diff = yard.person().approvals().get(id).unwrap().request.diff;
    assert!(diff.contains("-one"), "what would be removed is shown: {diff}");
    let no =
        DecisionInput { approves: false, reason: Some("keep it".to_owned()), ..yes(Scope::Once) };
    assert_eq!(decide(&yard, id, &no).unwrap().status, ApprovalStatus::Denied);
    assert!(yard.has("/a.txt"));
    let pending = called.pending.unwrap();
    let answer = yard.catalog().resume("workspace", "rm", &pending, &agent, &yard.surroundings());
    assert_eq!((answer.status, &answer.body["code"]), (403, &json!("FORBIDDEN")));
    assert_eq!(answer.body["error"], json!("a person said no: keep it"));
    assert_eq!(decide(&yard, id, &yes(Scope::Once)), Err(FaultCode::Exists));
}

#[test]
fn a_file_that_changed_since_is_asked_about_again() {
    let yard = Yard::new();
    yard.put("/a.txt", "one\n");
    under(&yard, ASK_TO_MODIFY);
    let agent = yard.session();
    let id = asked(&call(&yard, &agent, "write", overwrite("/a.txt", "mine\n")));
    yard.put("/a.txt", "somebody's\n");
    let again = decide(&yard, id, &yes(Scope::Once)).unwrap();
    assert_eq!(again.status, ApprovalStatus::Pending);
    assert_eq!(text(&yard, "/a.txt"), "somebody's\n");
    assert!(again.request.diff.contains("-somebody's\n+mine\n"), "{}", again.request.diff);
    assert!(again.request.reason.contains("asked again"), "{}", again.request.reason);
    assert_eq!(again.decision, None);
    assert_eq!(decide(&yard, id, &yes(Scope::Once)).unwrap().status, ApprovalStatus::Executed);
    assert_eq!(text(&yard, "/a.txt"), "mine\n");
    let gone = asked(&call(&yard, &agent, "rm", json!({"path": "/a.txt"})));
    std::fs::remove_file(yard.root().join("a.txt")).unwrap();
    let failed = decide(&yard, gone, &yes(Scope::Once)).unwrap();
    assert_eq!(failed.status, ApprovalStatus::Failed, "it cannot be done any more, and says so");
    assert!(failed.answer.unwrap().contains("NOT_FOUND"));
}

#[test]
fn a_yes_for_the_chat_or_by_rule_is_remembered_and_a_deny_still_denies() {
    let yard = Yard::new();
    for name in ["/a", "/b", "/c", "/secret"] {
        yard.put(name, "one\n");
    }
    under(
        &yard,
        r#"{"rules": [{"effect": "modify", "then": "ask"}, {"path": "secret", "then": "deny"}]}"#,
    );
    let chat = yard.person().chats().make(&yard.surroundings(), "t", None).unwrap().id;
    let build = yard_gate::Mode::Build;
    yard.person().chats().set_mode(&yard.surroundings(), chat, build).unwrap();
    let agent = yard.session().in_chat(chat).unwrap();
    let id = asked(&call(&yard, &agent, "write", overwrite("/a", "2\n")));
    decide(&yard, id, &yes(Scope::Chat)).unwrap();
    assert_eq!(call(&yard, &agent, "write", overwrite("/b", "2\n")).status, 200);
    let edit = json!({"path": "/b", "old_string": "2", "new_string": "3"});
    asked(&call(&yard, &agent, "edit", edit));
    let denied = call(&yard, &agent, "write", overwrite("/secret", "2\n"));
    assert_eq!((denied.status, &denied.body["code"]), (403, &json!("FORBIDDEN")));
    assert!(
        denied.body["error"].as_str().unwrap().contains("rule 2 (deny every effect on secret)")
    );

    let other = yard.session();
    let id = asked(&call(&yard, &other, "write", overwrite("/a", "3\n")));
    decide(&yard, id, &yes(Scope::Rule)).unwrap();
    assert_eq!(call(&yard, &other, "write", overwrite("/a", "4\n")).status, 200);
    asked(&call(&yard, &other, "write", overwrite("/c", "2\n")));
    let saved = yard.person().settings().unwrap().saved;
    assert_eq!((saved.len(), &saved[0].rule["path"]), (1, &json!(["/a"])));
    under(&yard, r#"{"saved": []}"#);
    asked(&call(&yard, &other, "write", overwrite("/a", "5\n")));
}

#[test]
fn other_arguments_are_planned_anew_and_a_deny_still_denies() {
    let yard = Yard::new();
    yard.put("/a", "one\n");
    yard.put("/secret", "one\n");
    under(
        &yard,
        r#"{"rules": [{"effect": "modify", "then": "ask"}, {"path": "secret", "then": "deny"}]}"#,
    );
    let agent = yard.session();
    let id = asked(&call(&yard, &agent, "write", overwrite("/a", "theirs\n")));
    let edited = DecisionInput { args: Some(overwrite("/a", "edited\n")), ..yes(Scope::Once) };
    assert_eq!(decide(&yard, id, &edited).unwrap().status, ApprovalStatus::Executed);
    assert_eq!(text(&yard, "/a"), "edited\n");
    let id = asked(&call(&yard, &agent, "write", overwrite("/a", "theirs\n")));
    let edited = DecisionInput { args: Some(overwrite("/secret", "x\n")), ..yes(Scope::Once) };
    assert_eq!(decide(&yard, id, &edited), Err(FaultCode::Denied));
    assert_eq!(text(&yard, "/secret"), "one\n");
    let waiting = yard.person().approvals().get(id).unwrap();
    assert_eq!(waiting.status, ApprovalStatus::Pending, "the request is as it was");
}

#[test]
fn strict_asks_before_it_reads_and_a_fault_quotes_nothing_that_may_not_be_read() {
    let yard = Yard::new();
    yard.put("/a", "the secret line\n");
    let agent = yard.session_of(Actor::LocalAgent, Policy::Strict);
    let called = call(&yard, &agent, "read", json!({"path": "/a"}));
    let id = asked(&called);
    assert!(!called.body.to_string().contains("secret"));
    let wrong = json!({"path": "/a", "old_string": "the secre line", "new_string": "x"});
    let failed = call(&yard, &agent, "edit", wrong);
    assert_eq!(failed.status, 400);
    assert!(!failed.body.to_string().contains("secret"), "{}", failed.body);
    let done = decide(&yard, id, &yes(Scope::Once)).unwrap();
    assert_eq!((done.status, done.step), (ApprovalStatus::Executed, None));
    assert!(done.answer.unwrap().contains("the secret line"));
    let id = asked(&call(&yard, &agent, "ls", json!({})));
    decide(&yard, id, &yes(Scope::Chat)).unwrap();
    assert_eq!(call(&yard, &agent, "ls", json!({})).status, 200);
}

#[test]
fn r16_an_agent_sees_its_own_requests_and_decides_none() {
    let yard = Yard::new();
    yard.put("/a", "one\n");
    under(&yard, ASK_TO_MODIFY);
    let (agent, key) = (yard.session(), KeyId::from_bytes([9; 16]));
    let other = yard.session_of(Actor::Key(key), Policy::Guarded);
    let id = asked(&call(&yard, &agent, "write", overwrite("/a", "2\n")));
    assert_eq!(agent.approvals().get(id).unwrap().id, id);
    assert_eq!(other.approvals().get(id).unwrap_err().code(), FaultCode::NotFound);
    let all = |session: &Session| {
        session.approvals().list(ApprovalFilter::default(), None, 9).unwrap().rows.len()
    };
    assert_eq!((all(&agent), all(&other), all(&yard.person())), (1, 0, 1));
    let tried = yard.catalog().decide(id, &yes(Scope::Once), &agent, &yard.surroundings());
    assert_eq!(tried.unwrap_err().code(), FaultCode::Denied);
    let widened = agent.change_settings(&yard.surroundings(), &map(r#"{"rules": []}"#));
    assert_eq!(widened.unwrap_err().code(), FaultCode::Denied);
    let reader = yard.session_of(Actor::LocalPerson, Policy::ReadOnly);
    let tried = yard.catalog().decide(id, &yes(Scope::Once), &reader, &yard.surroundings());
    assert_eq!(tried.unwrap_err().code(), FaultCode::Denied);
    assert_eq!(text(&yard, "/a"), "one\n");
    assert_eq!(yard.person().settings().unwrap().rules.len(), 1);
}

#[test]
fn the_same_call_asks_once_and_everything_is_told() {
    let yard = Yard::new();
    yard.put("/a", "one\n");
    under(&yard, ASK_TO_MODIFY);
    let agent = yard.session();
    let write = || call(&yard, &agent, "write", overwrite("/a", "2\n"));
    let id = asked(&write());
    assert_eq!(asked(&write()), id, "a retry does not ask twice");
    decide(&yard, id, &yes(Scope::Once)).unwrap();
    let events = yard.person().events(&yard.surroundings(), 0, 99).unwrap();
    let kinds: Vec<Event> = events.into_iter().map(|row| row.what).collect();
    let about = |event: &&Event| {
        matches!(event, Event::Requested { approval, .. } | Event::Decided { approval, .. }
            | Event::Concluded { approval, .. } if *approval == id)
    };
    assert_eq!(kinds.iter().filter(about).count(), 3, "{kinds:#?}");
    let chat = yard.person().approvals().get(id).unwrap().chat;
    let transcript = yard.opened().records.transcript(chat).unwrap().unwrap();
    assert!(transcript.contains(&format!("approval {id} asked for workspace.write")));
    assert!(transcript.contains(&format!("approval {id} approved (once)")));
}

#[test]
fn rules_that_do_not_parse_are_refused_whole_and_the_old_ones_stay() {
    let yard = Yard::new();
    under(&yard, r#"{"preset": "guarded", "rules": [{"path": "a", "then": "deny"}]}"#);
    let before = yard.person().settings().unwrap();
    for wrong in [
        r#"{"preset": "open", "rules": [{"path": "b", "then": "allow"}, {"then": "perhaps"}]}"#,
        r#"{"preset": "loose"}"#,
        r#"{"rules": [{"path": "[", "then": "deny"}]}"#,
        r#"{"ruels": []}"#,
    ] {
        let refused = yard.person().change_settings(&yard.surroundings(), &map(wrong));
        let fault = refused.unwrap_err();
        assert_eq!(fault.code(), FaultCode::BadArgument);
        assert!(fault.message().ends_with("Nothing was changed"), "{fault}");
        assert_eq!(yard.person().settings().unwrap(), before, "{wrong}");
    }
    under(&yard, r#"{"preset": null}"#);
    let after = yard.person().settings().unwrap();
    assert_eq!((after.preset, after.rules.len()), (None, 1), "what is not named stays");
}

#[test]
fn explaining_says_what_decides_and_does_nothing() {
    let yard = Yard::new();
    yard.put("/a", "one\n");
    under(&yard, ASK_TO_MODIFY);
    let explain = |tool: &str, args: Value| {
        let (agent, call) = (yard.session(), yard.surroundings());
        yard.catalog().explain("workspace", tool, args, &agent, &call)
    };
    let notes = explain("write", overwrite("/a", "2\n")).unwrap();
    assert_eq!(notes.len(), 1);
    assert!(matches!(notes[0].verdict, Verdict::Ask(_)));
    assert_eq!(notes[0].because, "rule 1 (ask modify,remove on every path)");
    let notes = explain("read", json!({"path": "/a"})).unwrap();
    assert_eq!(notes[0].verdict, Verdict::Allow);
    assert!(notes[0].because.contains("under `open` everything may happen"));
    let missing = explain("read", json!({"path": "/nowhere"})).unwrap_err();
    assert_eq!(missing.status, 404);
    assert_eq!(text(&yard, "/a"), "one\n");
    let none = yard.person().approvals().list(ApprovalFilter::default(), None, 9).unwrap();
    assert!(none.rows.is_empty());
    assert_eq!(Asks::ToChange.about(), "asks before each change");
}

#[test]
fn a_yes_for_the_chat_is_also_for_what_was_shown() {
    let yard = Yard::new();
    yard.put("/a", "one\n");
    under(&yard, ASK_TO_MODIFY);
    let agent = yard.session();
    let id = asked(&call(&yard, &agent, "write", overwrite("/a", "mine\n")));
    yard.put("/a", "somebody's\n");
    assert_eq!(decide(&yard, id, &yes(Scope::Chat)).unwrap().status, ApprovalStatus::Pending);
    assert_eq!(text(&yard, "/a"), "somebody's\n");
    assert_eq!(decide(&yard, id, &yes(Scope::Once)).unwrap().status, ApprovalStatus::Executed);
}

#[test]
fn a_decision_is_about_what_was_shown_and_a_rule_about_plain_paths() {
    let yard = Yard::new();
    yard.put("/a", "one\n");
    yard.put("/odd\\", "one\n");
    under(&yard, ASK_TO_MODIFY);
    let agent = yard.session();
    let id = asked(&call(&yard, &agent, "write", overwrite("/a", "2\n")));
    let unseen = DecisionInput { state: ContentHash::of(b"another state"), ..yes(Scope::Once) };
    assert_eq!(decide_as_shown(&yard, id, &unseen), Err(FaultCode::Stale));
    for scope in [Scope::Chat, Scope::Rule] {
        let edited = DecisionInput { args: Some(overwrite("/b", "x")), ..yes(scope) };
        assert_eq!(decide(&yard, id, &edited), Err(FaultCode::BadArgument));
    }
    let odd = asked(&call(&yard, &agent, "write", overwrite("/odd\\x5c", "2\n")));
    assert_eq!(decide(&yard, odd, &yes(Scope::Rule)), Err(FaultCode::BadArgument));
    assert_eq!(decide(&yard, odd, &yes(Scope::Once)).unwrap().status, ApprovalStatus::Executed);
    assert_eq!(yard.person().approvals().get(id).unwrap().status, ApprovalStatus::Pending);
}

#[test]
fn an_agent_sees_no_diff_and_a_viewer_asks_for_nothing() {
    let yard = Yard::new();
    yard.put("/a", "what stands there\n");
    under(&yard, ASK_TO_MODIFY);
    let agent = yard.session();
    let id = asked(&call(&yard, &agent, "write", overwrite("/a", "2\n")));
    assert_eq!(agent.approvals().get(id).unwrap().request.diff, "");
    assert!(yard.person().approvals().get(id).unwrap().request.diff.contains("-what stands there"));
    under(&yard, r#"{"preset": "strict"}"#);
    let viewer = yard.session_of(Actor::LocalAgent, Policy::ReadOnly);
    let refused = call(&yard, &viewer, "read", json!({"path": "/a"}));
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!("FORBIDDEN")));
}

#[test]
fn each_thing_that_is_read_is_shown_and_what_was_changed_asks_no_more() {
    let yard = Yard::new();
    yard.put("/a", "aaa\n");
    yard.put("/b", "bbb\n");
    let strict = yard.session_of(Actor::LocalAgent, Policy::Strict);
    let id = asked(&call(&yard, &strict, "cat", json!({"paths": ["/a", "/b"]})));
    let again = decide(&yard, id, &yes(Scope::Once)).unwrap();
    assert_eq!(again.status, ApprovalStatus::Pending, "the second file was not shown yet");
    assert!(again.request.effect.contains("/a") && again.request.effect.contains("/b"));
    let done = decide(&yard, id, &yes(Scope::Once)).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed);
    assert!(done.answer.unwrap().contains("bbb"));
    under(&yard, r#"{"preset": "open", "rules": [{"effect": "read", "then": "ask"}]}"#);
    let args = json!({"filePath": "new.txt", "content": "x"});
    let written =
        yard.catalog().call("coder", "write", args, &yard.session(), &yard.surroundings());
    assert_eq!(written.status, 200, "{}", written.body);
    let waiting = ApprovalFilter { status: Some(ApprovalStatus::Pending), ..Default::default() };
    assert_eq!(yard.person().approvals().list(waiting, None, 9).unwrap().rows.len(), 0);
}

#[test]
fn w16_a_rule_on_reading_is_no_bar_to_plans_and_explaining_asks_nobody() {
    let yard = Yard::new();
    under(&yard, r#"{"rules": [{"effect": "read", "path": "secret/**", "then": "deny"}]}"#);
    let question = json!({"questions": [{
        "name": "approval", "question": "Ready?",
        "schema": {"type": "string", "enum": ["Accept", "Reject"]}
    }]});
    let (agent, surroundings) = (yard.session(), yard.surroundings());
    let catalog = yard.catalog();
    let explained =
        catalog.explain("workspace", "ask_user", question.clone(), &agent, &surroundings);
    assert!(explained.is_err() || explained.is_ok_and(|notes| notes.len() < 3));
    let waits = |session: &Session| {
        session.questions().list(Default::default(), None, 9).unwrap().rows.len()
    };
    assert_eq!(waits(&yard.person()), 0, "explaining asks nobody");
    assert_eq!(call(&yard, &agent, "ask_user", question).status, 200);
    assert_eq!(waits(&yard.person()), 1);
}

/// A call under the policy of a server.
fn guarded(yard: &Yard, toolset: &str, tool: &str, args: Value) -> Answer {
    let agent = yard.session_of(Actor::LocalAgent, Policy::Guarded);
    yard.catalog().call(toolset, tool, args, &agent, &yard.surroundings())
}

#[test]
fn a1_the_assistant_asks_before_it_overwrites_and_deletes() {
    let yard = Yard::new();
    yard.put("a.txt", "one\n");
    yard.put("b.txt", "two\n");
    let call = |tool: &str, args: Value| guarded(&yard, "assistant", tool, args);
    let new = call("write_file", json!({"path": "new.txt", "content": "x"}));
    assert_eq!((new.status, &new.body["result"]["ok"]), (200, &json!(true)), "{}", new.body);
    assert_eq!(call("read_file", json!({"path": "a.txt"})).status, 200);
    assert_eq!(call("move_file", json!({"from": "new.txt", "to": "moved.txt"})).status, 200);
    let id = asked(&call("write_file", json!({"path": "a.txt", "content": "2\n"})));
    let done = decide(&yard, id, &yes(Scope::Once)).unwrap();
    let kept: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    assert_eq!(kept["body"]["result"]["ok"], json!(true), "in its own words: {kept}");
    asked(&call("write_file", json!({"path": "a.txt", "content": "3\n"})));
    let over = json!({"from": "a.txt", "to": "b.txt", "overwrite": true});
    let id = asked(&call("move_file", over));
    assert_eq!(decide(&yard, id, &yes(Scope::Once)).unwrap().status, ApprovalStatus::Executed);
    assert_eq!((text(&yard, "b.txt").as_str(), yard.has("a.txt")), ("2\n", false));
    let called = call("delete_file", json!({"path": "b.txt"}));
    let id = asked(&called);
    let no = DecisionInput { approves: false, ..yes(Scope::Once) };
    decide(&yard, id, &no).unwrap();
    let agent = yard.session_of(Actor::LocalAgent, Policy::Guarded);
    let answer = yard.catalog().resume(
        "assistant",
        "delete_file",
        &called.pending.unwrap(),
        &agent,
        &yard.surroundings(),
    );
    assert_eq!(answer.body["result"]["error"]["code"], json!("PERMISSION_DENIED"));
}

#[test]
fn c5_reading_and_editing_ask_until_there_is_a_yes_for_the_chat() {
    let yard = Yard::new();
    yard.put("a.txt", "one\n");
    let call = |tool: &str, args: Value| guarded(&yard, "coder", tool, args);
    assert_eq!(call("ls", json!({"dirPath": "."})).status, 200, "listing never asks");
    assert_eq!(call("glob", json!({"pattern": "*"})).status, 200);
    let id = asked(&call("read", json!({"filePath": "a.txt"})));
    decide(&yard, id, &yes(Scope::Once)).unwrap();
    let again = asked(&call("read", json!({"filePath": "a.txt"})));
    assert_ne!(again, id, "once is for that call alone");
    decide(&yard, again, &yes(Scope::Chat)).unwrap();
    let read = call("read", json!({"filePath": "a.txt"}));
    assert_eq!(read.status, 200, "remembered for the chat: {}", read.body);
    let edit = |to: &str| json!({"filePath": "a.txt", "oldString": "one", "newString": to});
    let id = asked(&call("edit", edit("one one")));
    decide(&yard, id, &yes(Scope::Once)).unwrap();
    assert_eq!(text(&yard, "a.txt"), "one one\n");
    let id = asked(&call("write", json!({"filePath": "a.txt", "content": "two\n"})));
    decide(&yard, id, &yes(Scope::Chat)).unwrap();
    assert_eq!(text(&yard, "a.txt"), "two\n");
    assert_eq!(call("write", json!({"filePath": "b.txt", "content": "x"})).status, 200);
    let patch = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(call("apply_patch", json!({"patchText": patch})).status, 200);
    let chat = yard.person().chats().make(&yard.surroundings(), "t", None).unwrap().id;
    let other = yard.session_of(Actor::LocalAgent, Policy::Guarded).in_chat(chat).unwrap();
    let args = json!({"filePath": "a.txt"});
    asked(&yard.catalog().call("coder", "read", args, &other, &yard.surroundings()));
}

#[test]
fn x6_codex_asks_before_each_patch_unless_the_policy_lets_it() {
    let yard = Yard::new();
    yard.put("a.txt", "one\n");
    let patch = |from: &str, to: &str| {
        let text = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{from}\n+{to}\n");
        guarded(&yard, "codex", "apply_patch_json", json!({"patch": text}))
    };
    let id = asked(&patch("one", "two"));
    decide(&yard, id, &yes(Scope::Once)).unwrap();
    assert_eq!(text(&yard, "a.txt"), "two\n");
    asked(&patch("two", "three"));
    under(&yard, r#"{"preset": "never"}"#);
    assert_eq!(patch("two", "three").status, 200);
    under(&yard, r#"{"preset": "always"}"#);
    asked(&guarded(&yard, "codex", "read_file", json!({"path": "a.txt"})));
}

#[test]
fn whoever_decides_or_waits_it_happens_once() {
    for round in 0..20 {
        let yard = Yard::new();
        yard.put("/log", "");
        under(&yard, r#"{"rules": [{"effect": "modify", "then": "ask"}]}"#);
        let agent = yard.session();
        let insert = json!({"path": "/log", "insert_line": 0, "insert_content": "done"});
        let called = call(&yard, &agent, "edit", insert);
        let id = asked(&called);
        let pending = called.pending.unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| decide(&yard, id, &yes(Scope::Once)));
                scope.spawn(|| {
                    let wait = yard.surroundings();
                    yard.catalog().resume("workspace", "edit", &pending, &agent, &wait)
                });
            }
        });
        assert_eq!(text(&yard, "/log"), "done\n", "round {round}");
        let row = yard.person().approvals().get(id).unwrap();
        assert_eq!(row.status, ApprovalStatus::Executed, "round {round}");
        let kept: Value = serde_json::from_str(row.answer.as_deref().unwrap()).unwrap();
        assert_eq!(kept["ok"], json!(true), "round {round}: {kept}");
    }
}
