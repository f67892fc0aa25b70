//! Requests to a person: bound to what was shown, executed once, and no wider than the answer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::sync::Barrier;

use serde_json::json;
use yard_core::FaultCode;
use yard_gate::{
    ApprovalStatus, CallerPolicy, ClaimTurn, Completion, DecisionContext, DecisionInput, Scope,
    Session, denial_message, effect_lines,
};

use support::{Gate, PUT, args, awaited, is_done, put, write, yes};

/// A workspace with files of somebody else's, and an agent that has to ask before it replaces them.
fn gate() -> (Gate, Session) {
    let gate = Gate::new();
    for name in ["a.txt", "b.txt"] {
        gate.put(name, "theirs\n");
    }
    let agent = gate.agent(CallerPolicy::Guarded);
    (gate, agent)
}

#[test]
fn a_request_shows_the_change_and_nothing_happens_before_the_yes() {
    let (gate, agent) = gate();
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    assert_eq!(gate.text("a.txt").unwrap(), "theirs\n");
    let row = gate.request(id);
    assert_eq!(row.status, ApprovalStatus::Pending);
    assert_eq!(effect_lines(&row), [("modify".to_owned(), "/a.txt".to_owned())]);
    assert!(row.request.diff.contains("-theirs") && row.request.diff.contains("+mine"));
    // The agent sees its request, and not what the file holds.
    assert!(agent.approvals().get(id).unwrap().request.diff.is_empty());
    // The same call waits for the same request.
    assert_eq!(awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n"))), id);
}

#[test]
fn equal_calls_at_once_make_one_request() {
    let (gate, agent) = gate();
    for round in 0..20 {
        let (both_begin, args) = (Barrier::new(2), args("/a.txt", &format!("{round}\n")));
        let ask = || {
            both_begin.wait();
            awaited(put(&agent, &gate.call(), &args))
        };
        let (one, other) = std::thread::scope(|scope| {
            let (one, other) = (scope.spawn(ask), scope.spawn(ask));
            (one.join().unwrap(), other.join().unwrap())
        });
        assert_eq!(one, other, "round {round}");
    }
}

#[test]
fn what_was_approved_is_executed_once() {
    let (gate, agent) = gate();
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    gate.decide(id, yes(&gate.request(id), Scope::Once)).unwrap();
    assert!(is_done(&gate.execute(id)));
    assert_eq!(gate.text("a.txt").unwrap(), "mine\n");
    let row = gate.request(id);
    assert_eq!(row.status, ApprovalStatus::Executed);
    assert!(row.step.is_some());
    gate.put("a.txt", "theirs again\n");
    assert!(gate.execute(id).is_err());
    assert_eq!(gate.text("a.txt").unwrap(), "theirs again\n");
    assert_eq!(gate.decide(id, yes(&row, Scope::Once)).unwrap_err().code(), FaultCode::Exists);
}

#[test]
fn a_yes_is_to_the_state_that_was_shown() {
    let (gate, agent) = gate();
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    let shown = gate.request(id);
    gate.decide(id, yes(&shown, Scope::Once)).unwrap();
    gate.put("a.txt", "changed meanwhile\n");
    // It is asked again under the same id, with what would happen now.
    assert_eq!(awaited(gate.execute(id)), id);
    assert_eq!(gate.text("a.txt").unwrap(), "changed meanwhile\n");
    let now = gate.request(id);
    assert_eq!(now.status, ApprovalStatus::Pending);
    assert_ne!(now.request.state, shown.request.state);
    assert_eq!(gate.decide(id, yes(&shown, Scope::Once)).unwrap_err().code(), FaultCode::Stale);
    gate.decide(id, yes(&now, Scope::Once)).unwrap();
    assert!(is_done(&gate.execute(id)));
    assert_eq!(gate.text("a.txt").unwrap(), "mine\n");
}

#[test]
fn what_waits_of_one_chat_is_bounded_by_its_size_and_listed_in_pages() {
    let (gate, agent) = gate();
    // Half of the limit and more, each.
    let text = |word: &str| word.repeat((17 << 20) / word.len());
    let first = awaited(put(&agent, &gate.call(), &args("/a.txt", &text("mine "))));
    // Its equal is found, and another one has no space beside it.
    assert_eq!(awaited(put(&agent, &gate.call(), &args("/a.txt", &text("mine ")))), first);
    let refused = put(&agent, &gate.call(), &args("/a.txt", &text("ours "))).unwrap_err();
    assert_eq!(refused.code(), FaultCode::Denied);
    assert!(refused.message().contains("more than 32 MiB; wait for a decision"), "{refused}");
    awaited(put(&agent, &gate.call(), &args("/b.txt", "mine\n")));
    // In another chat it waits. A page ends before it gets too large.
    let chat = gate.person().chats().make(&gate.call(), "another", None).unwrap().id;
    let elsewhere = agent.in_chat(chat).unwrap();
    let last = awaited(put(&elsewhere, &gate.call(), &args("/a.txt", &text("ours "))));
    let page = |before| gate.person().approvals().list(Default::default(), before, 9).unwrap();
    let newest = page(None);
    assert_eq!((newest.rows.len(), newest.rows[0].id, newest.truncated), (1, last, true));
    let older = page(Some(last));
    assert_eq!((older.rows.len(), older.rows[1].id, older.truncated), (2, first, false));
}

/// Says yes to a request, and leaves its execution to another process.
fn approve_for_others(gate: &Gate, id: yard_core::ApprovalId) {
    let deciding = DecisionContext { asks: PUT.asks, revision: None, part: None, claimed_by: None };
    let ruling = yes(&gate.request(id), Scope::Once);
    gate.person().approvals().decide(&gate.call(), id, &ruling, &deciding).unwrap();
}

#[test]
fn a_chat_with_a_yes_that_nobody_used_can_be_deleted_and_one_that_is_being_used_cannot() {
    let (gate, agent) = gate();
    let (person, call) = (gate.person(), gate.call());
    let chat = person.chats().make(&call, "work", None).unwrap().id;
    let agent = agent.in_chat(chat).unwrap();
    let id = awaited(put(&agent, &call, &args("/a.txt", "mine\n")));
    assert_eq!(person.chats().remove(&call, chat).unwrap_err().code(), FaultCode::Exists);
    approve_for_others(&gate, id);
    assert_eq!(person.approvals().claim(&call, &gate.request(id)).unwrap(), ClaimTurn::Mine);
    let fault = person.chats().remove(&call, chat).unwrap_err();
    assert!(fault.message().contains("is being executed"), "{fault}");
    person.approvals().release(&call, id).unwrap();
    person.chats().remove(&call, chat).unwrap();
    assert_eq!(gate.text("a.txt").unwrap(), "theirs\n");
}

#[test]
fn one_process_claims_an_approved_request() {
    let (gate, agent) = gate();
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    let (person, call) = (gate.person(), gate.call());
    approve_for_others(&gate, id);
    let unclaimed = gate.request(id);
    assert_eq!(person.approvals().claim(&call, &unclaimed).unwrap(), ClaimTurn::Mine);
    assert_eq!(person.approvals().claim(&call, &unclaimed).unwrap(), ClaimTurn::Others);
    assert_eq!(person.approvals().claim(&call, &gate.request(id)).unwrap(), ClaimTurn::Others);
    person.approvals().release(&call, id).unwrap();
    assert_eq!(person.approvals().claim(&call, &gate.request(id)).unwrap(), ClaimTurn::Mine);
}

#[test]
fn a_yes_for_the_chat_covers_other_files_of_that_tool() {
    let (gate, agent) = gate();
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    gate.decide(id, yes(&gate.request(id), Scope::Chat)).unwrap();
    assert!(is_done(&put(&agent, &gate.call(), &args("/b.txt", "mine\n"))));
    let chat = gate.person().chats().make(&gate.call(), "another", None).unwrap().id;
    gate.put("c.txt", "theirs\n");
    let elsewhere = agent.in_chat(chat).unwrap();
    awaited(put(&elsewhere, &gate.call(), &args("/c.txt", "mine\n")));
}

#[test]
fn a_yes_by_rule_covers_that_path_in_every_chat_and_no_other() {
    let (gate, agent) = gate();
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    gate.decide(id, yes(&gate.request(id), Scope::Rule)).unwrap();
    let chat = gate.person().chats().make(&gate.call(), "another", None).unwrap().id;
    let elsewhere = agent.in_chat(chat).unwrap();
    assert!(is_done(&put(&elsewhere, &gate.call(), &args("/a.txt", "again\n"))));
    awaited(put(&elsewhere, &gate.call(), &args("/b.txt", "mine\n")));
    assert_eq!(gate.person().settings().unwrap().saved.len(), 1);
}

#[test]
fn a_denial_reaches_the_caller_and_nothing_happens() {
    let (gate, agent) = gate();
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    let shown = gate.request(id);
    let no = DecisionInput {
        approves: false,
        reason: Some("keep it".to_owned()),
        ..yes(&shown, Scope::Once)
    };
    let denied = gate.decide(id, no).unwrap();
    assert_eq!(denied.status, ApprovalStatus::Denied);
    assert_eq!(denial_message(&denied), "a person said no: keep it");
    let fault = gate.execute(id).unwrap_err();
    assert_eq!((fault.code(), fault.message()), (FaultCode::Denied, "a person said no: keep it"));
    assert_eq!(gate.text("a.txt").unwrap(), "theirs\n");
}

#[test]
fn a_person_can_approve_other_arguments_and_those_happen() {
    let (gate, agent) = gate();
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    let (person, call, row) = (gate.person(), gate.call(), gate.request(id));
    let edited = args("/a.txt", "ours\n");
    let permitted = person.approvals().permitted(&row).unwrap();
    let attempt = permitted.attempt(PUT, &call, edited.clone());
    let plan = |attempt: &yard_gate::Attempt<'_>| attempt.perform(write("/a.txt", "ours\n"));
    let revision = attempt.revise(&edited, plan).unwrap();
    assert!(revision.diff.contains("+ours"), "{}", revision.diff);
    assert_eq!(gate.text("a.txt").unwrap(), "theirs\n");
    let ruling = DecisionInput { args: Some(edited), ..yes(&row, Scope::Once) };
    let claimed_by =
        person.approvals().claimant(&call, &row, yard_gate::ExecutableBy::AnyProcess).unwrap();
    let deciding =
        DecisionContext { asks: PUT.asks, revision: Some(&revision), part: None, claimed_by };
    let widened = DecisionInput { scope: Scope::Chat, ..ruling.clone() };
    assert!(person.approvals().decide(&call, id, &widened, &deciding).is_err());
    person.approvals().decide(&call, id, &ruling, &deciding).unwrap();
    assert!(is_done(&gate.execute(id)));
    assert_eq!(gate.text("a.txt").unwrap(), "ours\n");
}

#[test]
fn an_agent_decides_nothing_and_sees_its_own_requests_alone() {
    let (gate, agent) = gate();
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    let row = gate.request(id);
    let deciding = DecisionContext { asks: PUT.asks, revision: None, part: None, claimed_by: None };
    let decided = agent.approvals().decide(&gate.call(), id, &yes(&row, Scope::Once), &deciding);
    assert_eq!(decided.unwrap_err().code(), FaultCode::Denied);
    let key = yard_core::KeyId::from_bytes([7; 16]);
    let other = gate.session(yard_gate::Actor::Key(key), CallerPolicy::Guarded);
    assert_eq!(other.approvals().get(id).unwrap_err().code(), FaultCode::NotFound);
    assert_eq!(gate.request(id).status, ApprovalStatus::Pending);
}

#[test]
fn a_call_that_has_changed_something_asks_no_more() {
    let (gate, agent) = gate();
    let call = gate.call();
    let attempt = agent.attempt(PUT, &call).repeatable(json!({}));
    assert!(matches!(attempt.perform(write("/new.txt", "x")), Ok(Completion::Done(_))));
    assert!(attempt.has_changed());
    let fault = attempt.perform(write("/a.txt", "mine\n")).unwrap_err();
    assert!(fault.message().contains("asks no more"), "{fault}");
}
