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
#[path = "approvals/parts.rs"]
mod parts;

use std::thread;

use serde_json::{Map, Value, json};
use yard_core::{ApprovalId, ContentHash, FaultCode, KeyId};
use yard_dialects::Answer;
use yard_gate::{
    Actor, Approval, ApprovalFilter, ApprovalStatus, Asks, Awaited, CallerPolicy, DecisionInput,
    Event, Scope, Session, Verdict,
};
use yard_testkit::TestWorkspace;

const ASK_TO_MODIFY: &str = r#"{"rules": [{"effect": ["modify", "remove"], "then": "ask"}]}"#;

fn map(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

fn under(workspace: &TestWorkspace, policy: &str) {
    workspace.person().change_settings(&workspace.call_context(), &map(policy)).unwrap();
}

fn call(workspace: &TestWorkspace, session: &Session, tool: &str, args: Value) -> Answer {
    workspace.call_as(session, "workspace", tool, args)
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
    DecisionInput {
        approves: true,
        scope,
        reason: None,
        args: None,
        state: ContentHash::of(b""),
        planned: None,
        parts: None,
    }
}

/// Decides on a request as it is now.
fn decide(
    workspace: &TestWorkspace,
    id: ApprovalId,
    ruling: &DecisionInput,
) -> Result<Approval, FaultCode> {
    let state = workspace.person().approvals().get(id).unwrap().request.state;
    decide_as_shown(workspace, id, &DecisionInput { state, ..ruling.clone() })
}

fn decide_as_shown(
    workspace: &TestWorkspace,
    id: ApprovalId,
    ruling: &DecisionInput,
) -> Result<Approval, FaultCode> {
    let decided =
        workspace.catalog().decide(id, ruling, &workspace.person(), &workspace.call_context());
    decided.map_err(|fault| fault.code())
}

fn overwrite(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content, "overwrite": true})
}

fn text(workspace: &TestWorkspace, path: &str) -> String {
    String::from_utf8(workspace.bytes(path)).unwrap()
}

#[test]
fn a_request_shows_the_call_its_effect_and_its_diff_and_a_yes_does_it_once() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\ntwo\n");
    under(&workspace, ASK_TO_MODIFY);
    let agent = workspace.session();
    let new = call(&workspace, &agent, "write", json!({"path": "/new.txt", "content": "x"}));
    assert_eq!(new.status, 200, "making something new asks nobody: {}", new.body);
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a.txt", "one\n2\n")));
    assert_eq!(text(&workspace, "/a.txt"), "one\ntwo\n", "nothing happens before the word");
    let row = workspace.person().approvals().get(id).unwrap();
    assert_eq!((row.status, row.asked_by.as_str()), (ApprovalStatus::Pending, "agent:local"));
    assert_eq!(row.request.tool, "write");
    assert!(row.request.reason.contains("rule 1 (ask modify,remove on every path)"), "{row:?}");
    assert!(row.request.diff.contains("-two\n+2\n"), "{}", row.request.diff);
    let effect: Value = serde_json::from_str(&row.request.effect).unwrap();
    assert_eq!(effect["paths"][0]["kind"], json!("modify"));
    assert_eq!(effect["paths"][0]["path"], json!("/a.txt"));
    let args: Value = serde_json::from_str(&row.request.args).unwrap();
    assert_eq!(args["content"], json!("one\n2\n"));

    let done = decide(&workspace, id, &yes(Scope::Once)).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed);
    assert_eq!(text(&workspace, "/a.txt"), "one\n2\n");
    let kept: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    assert_eq!(kept["body"]["success"], json!(true));
    assert_eq!(kept["body"]["result"]["path"], json!("/a.txt"));
    assert!(done.step.is_some());
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)), Err(FaultCode::Exists));
    let pending = Awaited::Approval(id);
    let pending = yard_gate::Pending { awaited: pending, wait_ms: None };
    let answer = workspace.catalog().resume(
        "workspace",
        "write",
        &pending,
        &agent,
        &workspace.call_context(),
    );
    assert_eq!((answer.status, answer.pending), (200, None));
    assert_eq!(answer.body["result"]["path"], json!("/a.txt"));
    asked(&call(&workspace, &agent, "write", overwrite("/a.txt", "three\n")));
    let author = workspace.perform(yard_core::op::Show::all(done.step.unwrap(), 0));
    assert_eq!(author.unwrap().step.actor, "agent:local", "who asked is who did it");
}

#[test]
fn a_no_tells_the_agent_why_and_nothing_happens() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    under(&workspace, ASK_TO_MODIFY);
    let agent = workspace.session();
    let called = call(&workspace, &agent, "rm", json!({"path": "/a.txt"}));
    let id = asked(&called);
    let diff = workspace.person().approvals().get(id).unwrap().request.diff;
    assert!(diff.contains("-one"), "what would be removed is shown: {diff}");
    let no =
        DecisionInput { approves: false, reason: Some("keep it".to_owned()), ..yes(Scope::Once) };
    assert_eq!(decide(&workspace, id, &no).unwrap().status, ApprovalStatus::Denied);
    assert!(workspace.has("/a.txt"));
    let pending = called.pending.unwrap();
    let answer =
        workspace.catalog().resume("workspace", "rm", &pending, &agent, &workspace.call_context());
    assert_eq!((answer.status, &answer.body["code"]), (403, &json!("FORBIDDEN")));
    assert_eq!(answer.body["error"], json!("a person said no: keep it"));
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)), Err(FaultCode::Exists));
}

#[test]
fn a_file_that_changed_since_is_asked_about_again() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    under(&workspace, ASK_TO_MODIFY);
    let agent = workspace.session();
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a.txt", "mine\n")));
    workspace.put("/a.txt", "somebody's\n");
    let again = decide(&workspace, id, &yes(Scope::Once)).unwrap();
    assert_eq!(again.status, ApprovalStatus::Pending);
    assert_eq!(text(&workspace, "/a.txt"), "somebody's\n");
    assert!(again.request.diff.contains("-somebody's\n+mine\n"), "{}", again.request.diff);
    assert!(again.request.reason.contains("asked again"), "{}", again.request.reason);
    assert_eq!(again.decision, None);
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)).unwrap().status, ApprovalStatus::Executed);
    assert_eq!(text(&workspace, "/a.txt"), "mine\n");
    let gone = asked(&call(&workspace, &agent, "rm", json!({"path": "/a.txt"})));
    std::fs::remove_file(workspace.root().join("a.txt")).unwrap();
    let failed = decide(&workspace, gone, &yes(Scope::Once)).unwrap();
    assert_eq!(failed.status, ApprovalStatus::Failed, "it cannot be done any more, and says so");
    assert!(failed.answer.unwrap().contains("NOT_FOUND"));
}

#[test]
fn a_yes_for_the_chat_or_by_rule_is_remembered_and_a_deny_still_denies() {
    let workspace = TestWorkspace::new();
    for name in ["/a", "/b", "/c", "/secret"] {
        workspace.put(name, "one\n");
    }
    under(
        &workspace,
        r#"{"rules": [{"effect": "modify", "then": "ask"}, {"path": "secret", "then": "deny"}]}"#,
    );
    let chat = workspace.person().chats().make(&workspace.call_context(), "t", None).unwrap().id;
    let build = yard_gate::Mode::Build;
    workspace.person().chats().set_mode(&workspace.call_context(), chat, build).unwrap();
    let agent = workspace.session().in_chat(chat).unwrap();
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a", "2\n")));
    decide(&workspace, id, &yes(Scope::Chat)).unwrap();
    assert_eq!(call(&workspace, &agent, "write", overwrite("/b", "2\n")).status, 200);
    let edit = json!({"path": "/b", "old_string": "2", "new_string": "3"});
    asked(&call(&workspace, &agent, "edit", edit));
    let denied = call(&workspace, &agent, "write", overwrite("/secret", "2\n"));
    assert_eq!((denied.status, &denied.body["code"]), (403, &json!("FORBIDDEN")));
    assert!(
        denied.body["error"].as_str().unwrap().contains("rule 2 (deny every effect on secret)")
    );

    let other = workspace.session();
    let id = asked(&call(&workspace, &other, "write", overwrite("/a", "3\n")));
    decide(&workspace, id, &yes(Scope::Rule)).unwrap();
    assert_eq!(call(&workspace, &other, "write", overwrite("/a", "4\n")).status, 200);
    asked(&call(&workspace, &other, "write", overwrite("/c", "2\n")));
    let saved = workspace.person().settings().unwrap().saved;
    assert_eq!((saved.len(), &saved[0].rule["path"]), (1, &json!(["/a"])));
    under(&workspace, r#"{"saved": []}"#);
    asked(&call(&workspace, &other, "write", overwrite("/a", "5\n")));
}

#[test]
fn other_arguments_are_planned_anew_and_a_deny_still_denies() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "one\n");
    workspace.put("/secret", "one\n");
    under(
        &workspace,
        r#"{"rules": [{"effect": "modify", "then": "ask"}, {"path": "secret", "then": "deny"}]}"#,
    );
    let agent = workspace.session();
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a", "theirs\n")));
    let edited = DecisionInput { args: Some(overwrite("/a", "edited\n")), ..yes(Scope::Once) };
    assert_eq!(decide(&workspace, id, &edited).unwrap().status, ApprovalStatus::Executed);
    assert_eq!(text(&workspace, "/a"), "edited\n");
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a", "theirs\n")));
    let edited = DecisionInput { args: Some(overwrite("/secret", "x\n")), ..yes(Scope::Once) };
    assert_eq!(decide(&workspace, id, &edited), Err(FaultCode::Denied));
    assert_eq!(text(&workspace, "/secret"), "one\n");
    let waiting = workspace.person().approvals().get(id).unwrap();
    assert_eq!(waiting.status, ApprovalStatus::Pending, "the request is as it was");
}

#[test]
fn strict_asks_before_it_reads_and_a_fault_quotes_nothing_that_may_not_be_read() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "the secret line\n");
    let agent = workspace.session_of(Actor::LocalAgent, CallerPolicy::Strict);
    let called = call(&workspace, &agent, "read", json!({"path": "/a"}));
    let id = asked(&called);
    assert!(!called.body.to_string().contains("secret"));
    let wrong = json!({"path": "/a", "old_string": "the secre line", "new_string": "x"});
    let failed = call(&workspace, &agent, "edit", wrong);
    assert_eq!(failed.status, 400);
    assert!(!failed.body.to_string().contains("secret"), "{}", failed.body);
    let done = decide(&workspace, id, &yes(Scope::Once)).unwrap();
    assert_eq!((done.status, done.step), (ApprovalStatus::Executed, None));
    assert!(done.answer.unwrap().contains("the secret line"));
    let id = asked(&call(&workspace, &agent, "ls", json!({})));
    decide(&workspace, id, &yes(Scope::Chat)).unwrap();
    assert_eq!(call(&workspace, &agent, "ls", json!({})).status, 200);
}

#[test]
fn r16_an_agent_sees_its_own_requests_and_decides_none() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "one\n");
    under(&workspace, ASK_TO_MODIFY);
    let (agent, key) = (workspace.session(), KeyId::from_bytes([9; 16]));
    let other = workspace.session_of(Actor::Key(key), CallerPolicy::Guarded);
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a", "2\n")));
    assert_eq!(agent.approvals().get(id).unwrap().id, id);
    assert_eq!(other.approvals().get(id).unwrap_err().code(), FaultCode::NotFound);
    let all = |session: &Session| {
        session.approvals().list(ApprovalFilter::default(), None, 9).unwrap().rows.len()
    };
    assert_eq!((all(&agent), all(&other), all(&workspace.person())), (1, 0, 1));
    let tried =
        workspace.catalog().decide(id, &yes(Scope::Once), &agent, &workspace.call_context());
    assert_eq!(tried.unwrap_err().code(), FaultCode::Denied);
    let widened = agent.change_settings(&workspace.call_context(), &map(r#"{"rules": []}"#));
    assert_eq!(widened.unwrap_err().code(), FaultCode::Denied);
    let reader = workspace.session_of(Actor::LocalPerson, CallerPolicy::ReadOnly);
    let tried =
        workspace.catalog().decide(id, &yes(Scope::Once), &reader, &workspace.call_context());
    assert_eq!(tried.unwrap_err().code(), FaultCode::Denied);
    assert_eq!(text(&workspace, "/a"), "one\n");
    assert_eq!(workspace.person().settings().unwrap().rules.len(), 1);
}

#[test]
fn the_same_call_asks_once_and_everything_is_told() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "one\n");
    under(&workspace, ASK_TO_MODIFY);
    let agent = workspace.session();
    let write = || call(&workspace, &agent, "write", overwrite("/a", "2\n"));
    let id = asked(&write());
    assert_eq!(asked(&write()), id, "a retry does not ask twice");
    decide(&workspace, id, &yes(Scope::Once)).unwrap();
    let events = workspace.person().events(&workspace.call_context(), 0, 99).unwrap();
    let kinds: Vec<Event> = events.into_iter().map(|row| row.what).collect();
    let about = |event: &&Event| {
        matches!(event, Event::Requested { approval, .. } | Event::Decided { approval, .. }
            | Event::Concluded { approval, .. } if *approval == id)
    };
    assert_eq!(kinds.iter().filter(about).count(), 3, "{kinds:#?}");
    let chat = workspace.person().approvals().get(id).unwrap().chat;
    let transcript = workspace.opened().records.transcript(chat).unwrap().unwrap();
    assert!(transcript.contains(&format!("approval {id} asked for workspace.write")));
    assert!(transcript.contains(&format!("approval {id} approved (once)")));
}

#[test]
fn rules_that_do_not_parse_are_refused_whole_and_the_old_ones_stay() {
    let workspace = TestWorkspace::new();
    under(&workspace, r#"{"preset": "guarded", "rules": [{"path": "a", "then": "deny"}]}"#);
    let before = workspace.person().settings().unwrap();
    for wrong in [
        r#"{"preset": "open", "rules": [{"path": "b", "then": "allow"}, {"then": "perhaps"}]}"#,
        r#"{"preset": "loose"}"#,
        r#"{"rules": [{"path": "[", "then": "deny"}]}"#,
        r#"{"ruels": []}"#,
    ] {
        let refused = workspace.person().change_settings(&workspace.call_context(), &map(wrong));
        let fault = refused.unwrap_err();
        assert_eq!(fault.code(), FaultCode::BadArgument);
        assert!(fault.message().ends_with("Nothing was changed"), "{fault}");
        assert_eq!(workspace.person().settings().unwrap(), before, "{wrong}");
    }
    under(&workspace, r#"{"preset": null}"#);
    let after = workspace.person().settings().unwrap();
    assert_eq!((after.preset, after.rules.len()), (None, 1), "what is not named stays");
}

#[test]
fn explaining_says_what_decides_and_does_nothing() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "one\n");
    under(&workspace, ASK_TO_MODIFY);
    let explain = |tool: &str, args: Value| {
        let (agent, call) = (workspace.session(), workspace.call_context());
        workspace.catalog().explain("workspace", tool, args, &agent, &call)
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
    assert_eq!(text(&workspace, "/a"), "one\n");
    let none = workspace.person().approvals().list(ApprovalFilter::default(), None, 9).unwrap();
    assert!(none.rows.is_empty());
    assert_eq!(Asks::ToChange.about(), "asks before each change");
}

#[test]
fn a_yes_for_the_chat_is_also_for_what_was_shown() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "one\n");
    under(&workspace, ASK_TO_MODIFY);
    let agent = workspace.session();
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a", "mine\n")));
    workspace.put("/a", "somebody's\n");
    assert_eq!(decide(&workspace, id, &yes(Scope::Chat)).unwrap().status, ApprovalStatus::Pending);
    assert_eq!(text(&workspace, "/a"), "somebody's\n");
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)).unwrap().status, ApprovalStatus::Executed);
}

#[test]
fn a_decision_is_about_what_was_shown_and_a_rule_about_plain_paths() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "one\n");
    workspace.put("/odd\\", "one\n");
    under(&workspace, ASK_TO_MODIFY);
    let agent = workspace.session();
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a", "2\n")));
    let unseen = DecisionInput { state: ContentHash::of(b"another state"), ..yes(Scope::Once) };
    assert_eq!(decide_as_shown(&workspace, id, &unseen), Err(FaultCode::Stale));
    for scope in [Scope::Chat, Scope::Rule] {
        let edited = DecisionInput { args: Some(overwrite("/b", "x")), ..yes(scope) };
        assert_eq!(decide(&workspace, id, &edited), Err(FaultCode::BadArgument));
    }
    let odd = asked(&call(&workspace, &agent, "write", overwrite("/odd\\x5c", "2\n")));
    assert_eq!(decide(&workspace, odd, &yes(Scope::Rule)), Err(FaultCode::BadArgument));
    assert_eq!(
        decide(&workspace, odd, &yes(Scope::Once)).unwrap().status,
        ApprovalStatus::Executed
    );
    assert_eq!(workspace.person().approvals().get(id).unwrap().status, ApprovalStatus::Pending);
}

#[test]
fn an_agent_sees_no_diff_and_a_viewer_asks_for_nothing() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "what stands there\n");
    under(&workspace, ASK_TO_MODIFY);
    let agent = workspace.session();
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a", "2\n")));
    assert_eq!(agent.approvals().get(id).unwrap().request.diff, "");
    assert!(
        workspace.person().approvals().get(id).unwrap().request.diff.contains("-what stands there")
    );
    under(&workspace, r#"{"preset": "strict"}"#);
    let viewer = workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly);
    let refused = call(&workspace, &viewer, "read", json!({"path": "/a"}));
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!("FORBIDDEN")));
}

#[test]
fn each_thing_that_is_read_is_shown_and_what_was_changed_asks_no_more() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "aaa\n");
    workspace.put("/b", "bbb\n");
    let strict = workspace.session_of(Actor::LocalAgent, CallerPolicy::Strict);
    let id = asked(&call(&workspace, &strict, "cat", json!({"paths": ["/a", "/b"]})));
    let again = decide(&workspace, id, &yes(Scope::Once)).unwrap();
    assert_eq!(again.status, ApprovalStatus::Pending, "the second file was not shown yet");
    assert!(again.request.effect.contains("/a") && again.request.effect.contains("/b"));
    let done = decide(&workspace, id, &yes(Scope::Once)).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed);
    assert!(done.answer.unwrap().contains("bbb"));
    under(&workspace, r#"{"preset": "open", "rules": [{"effect": "read", "then": "ask"}]}"#);
    let args = json!({"filePath": "new.txt", "content": "x"});
    let written = workspace.call_of("coder", "write", args);
    assert_eq!(written.status, 200, "{}", written.body);
    let waiting = ApprovalFilter { status: Some(ApprovalStatus::Pending), ..Default::default() };
    assert_eq!(workspace.person().approvals().list(waiting, None, 9).unwrap().rows.len(), 0);
}

#[test]
fn w16_a_rule_on_reading_is_no_bar_to_plans_and_explaining_asks_nobody() {
    let workspace = TestWorkspace::new();
    under(&workspace, r#"{"rules": [{"effect": "read", "path": "secret/**", "then": "deny"}]}"#);
    let question = json!({"questions": [{
        "name": "approval", "question": "Ready?",
        "schema": {"type": "string", "enum": ["Accept", "Reject"]}
    }]});
    let (agent, context) = (workspace.session(), workspace.call_context());
    let catalog = workspace.catalog();
    let explained = catalog.explain("workspace", "ask_user", question.clone(), &agent, &context);
    assert!(explained.is_err() || explained.is_ok_and(|notes| notes.len() < 3));
    let waits = |session: &Session| {
        session.questions().list(Default::default(), None, 9).unwrap().rows.len()
    };
    assert_eq!(waits(&workspace.person()), 0, "explaining asks nobody");
    assert_eq!(call(&workspace, &agent, "ask_user", question).status, 200);
    assert_eq!(waits(&workspace.person()), 1);
}

/// A call under the policy of a server.
fn guarded(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> Answer {
    let agent = workspace.session_of(Actor::LocalAgent, CallerPolicy::Guarded);
    workspace.call_as(&agent, toolset, tool, args)
}

#[test]
fn a1_the_assistant_asks_before_it_overwrites_and_deletes() {
    let workspace = TestWorkspace::new();
    workspace.put("a.txt", "one\n");
    workspace.put("b.txt", "two\n");
    let call = |tool: &str, args: Value| guarded(&workspace, "assistant", tool, args);
    let new = call("write_file", json!({"path": "new.txt", "content": "x"}));
    assert_eq!((new.status, &new.body["result"]["ok"]), (200, &json!(true)), "{}", new.body);
    assert_eq!(call("read_file", json!({"path": "a.txt"})).status, 200);
    assert_eq!(call("move_file", json!({"from": "new.txt", "to": "moved.txt"})).status, 200);
    let id = asked(&call("write_file", json!({"path": "a.txt", "content": "2\n"})));
    let done = decide(&workspace, id, &yes(Scope::Once)).unwrap();
    let kept: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    assert_eq!(kept["body"]["result"]["ok"], json!(true), "in its own words: {kept}");
    asked(&call("write_file", json!({"path": "a.txt", "content": "3\n"})));
    let over = json!({"from": "a.txt", "to": "b.txt", "overwrite": true});
    let id = asked(&call("move_file", over));
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)).unwrap().status, ApprovalStatus::Executed);
    assert_eq!((text(&workspace, "b.txt").as_str(), workspace.has("a.txt")), ("2\n", false));
    let called = call("delete_file", json!({"path": "b.txt"}));
    let id = asked(&called);
    let no = DecisionInput { approves: false, ..yes(Scope::Once) };
    decide(&workspace, id, &no).unwrap();
    let agent = workspace.session_of(Actor::LocalAgent, CallerPolicy::Guarded);
    let answer = workspace.catalog().resume(
        "assistant",
        "delete_file",
        &called.pending.unwrap(),
        &agent,
        &workspace.call_context(),
    );
    assert_eq!(answer.body["result"]["error"]["code"], json!("PERMISSION_DENIED"));
}

#[test]
fn c5_reading_and_editing_ask_until_there_is_a_yes_for_the_chat() {
    let workspace = TestWorkspace::new();
    workspace.put("a.txt", "one\n");
    let call = |tool: &str, args: Value| guarded(&workspace, "coder", tool, args);
    assert_eq!(call("ls", json!({"dirPath": "."})).status, 200, "listing never asks");
    assert_eq!(call("glob", json!({"pattern": "*"})).status, 200);
    let id = asked(&call("read", json!({"filePath": "a.txt"})));
    decide(&workspace, id, &yes(Scope::Once)).unwrap();
    let again = asked(&call("read", json!({"filePath": "a.txt"})));
    assert_ne!(again, id, "once is for that call alone");
    decide(&workspace, again, &yes(Scope::Chat)).unwrap();
    let read = call("read", json!({"filePath": "a.txt"}));
    assert_eq!(read.status, 200, "remembered for the chat: {}", read.body);
    let edit = |to: &str| json!({"filePath": "a.txt", "oldString": "one", "newString": to});
    let id = asked(&call("edit", edit("one one")));
    decide(&workspace, id, &yes(Scope::Once)).unwrap();
    assert_eq!(text(&workspace, "a.txt"), "one one\n");
    let id = asked(&call("write", json!({"filePath": "a.txt", "content": "two\n"})));
    decide(&workspace, id, &yes(Scope::Chat)).unwrap();
    assert_eq!(text(&workspace, "a.txt"), "two\n");
    assert_eq!(call("write", json!({"filePath": "b.txt", "content": "x"})).status, 200);
    let patch = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(call("apply_patch", json!({"patchText": patch})).status, 200);
    let chat = workspace.person().chats().make(&workspace.call_context(), "t", None).unwrap().id;
    let other =
        workspace.session_of(Actor::LocalAgent, CallerPolicy::Guarded).in_chat(chat).unwrap();
    let args = json!({"filePath": "a.txt"});
    asked(&workspace.call_as(&other, "coder", "read", args));
}

#[test]
fn x6_codex_asks_before_each_patch_unless_the_policy_lets_it() {
    let workspace = TestWorkspace::new();
    workspace.put("a.txt", "one\n");
    let patch = |from: &str, to: &str| {
        let text = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{from}\n+{to}\n");
        guarded(&workspace, "codex", "apply_patch_json", json!({"patch": text}))
    };
    let id = asked(&patch("one", "two"));
    decide(&workspace, id, &yes(Scope::Once)).unwrap();
    assert_eq!(text(&workspace, "a.txt"), "two\n");
    asked(&patch("two", "three"));
    under(&workspace, r#"{"preset": "never"}"#);
    assert_eq!(patch("two", "three").status, 200);
    under(&workspace, r#"{"preset": "always"}"#);
    asked(&guarded(&workspace, "codex", "read_file", json!({"path": "a.txt"})));
}

#[test]
fn whoever_decides_or_waits_it_happens_once() {
    for round in 0..20 {
        let workspace = TestWorkspace::new();
        workspace.put("/log", "");
        under(&workspace, r#"{"rules": [{"effect": "modify", "then": "ask"}]}"#);
        let agent = workspace.session();
        let insert = json!({"path": "/log", "insert_line": 0, "insert_content": "done"});
        let called = call(&workspace, &agent, "edit", insert);
        let id = asked(&called);
        let pending = called.pending.unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| decide(&workspace, id, &yes(Scope::Once)));
                scope.spawn(|| {
                    let wait = workspace.call_context();
                    workspace.catalog().resume("workspace", "edit", &pending, &agent, &wait)
                });
            }
        });
        assert_eq!(text(&workspace, "/log"), "done\n", "round {round}");
        let row = workspace.person().approvals().get(id).unwrap();
        assert_eq!(row.status, ApprovalStatus::Executed, "round {round}");
        let kept: Value = serde_json::from_str(row.answer.as_deref().unwrap()).unwrap();
        assert_eq!(kept["ok"], json!(true), "round {round}: {kept}");
    }
}
