//! What a session may do: by its role, its door's preset, the rules of the workspace, plan mode, the toolsets of its
//! key and the folders that it keeps to.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::sync::Barrier;

use serde_json::json;
use yard_core::op::{History, HistoryOf};
use yard_core::{FaultCode, FileKind, KeyId};
use yard_gate::{
    Actor, CallerPolicy, Completion, ConnectionChat, Event, MessageRole, Mode, Preset, Session,
    TurnKind, Verdict,
};

use support::{Gate, PLAIN, PUT, args, awaited, is_done, path, put, read, write};

/// Writes a file by the tool `put`; whether it was done at once, or what kept it.
fn outcome(gate: &Gate, session: &Session, name: &str) -> Result<bool, FaultCode> {
    let done = put(session, &gate.call(), &args(name, "mine"));
    done.map(|outcome| matches!(outcome, Completion::Done(()))).map_err(|fault| fault.code())
}

#[test]
fn presets_decide_what_asks_where_no_rule_does() {
    let gate = Gate::new();
    gate.put("theirs.txt", "theirs");
    let new_and_theirs = |policy| {
        let agent = gate.agent(policy);
        let new = outcome(&gate, &agent, &format!("/{policy:?}.txt"));
        (new, outcome(&gate, &agent, "/theirs.txt"))
    };
    assert_eq!(new_and_theirs(CallerPolicy::Strict), (Ok(false), Ok(false)));
    assert_eq!(new_and_theirs(CallerPolicy::Guarded), (Ok(true), Ok(false)));
    assert_eq!(gate.text("theirs.txt").unwrap(), "theirs");
    assert_eq!(new_and_theirs(CallerPolicy::Open), (Ok(true), Ok(true)));
    assert_eq!(gate.text("theirs.txt").unwrap(), "mine");
}

#[test]
fn a_strict_session_asks_before_it_reads_and_an_open_one_does_not() {
    let gate = Gate::new();
    gate.put("a.txt", "text");
    let call = gate.call();
    let reads = |policy| {
        let agent = gate.agent(policy);
        agent.attempt(PLAIN, &call).repeatable(json!({})).perform(read("/a.txt"))
    };
    awaited(reads(CallerPolicy::Strict));
    assert!(is_done(&reads(CallerPolicy::Guarded)) && is_done(&reads(CallerPolicy::Open)));
}

#[test]
fn rules_come_before_presets_and_the_strictest_counts() {
    let gate = Gate::new();
    gate.set_policy(json!({"rules": [
        {"effect": "change", "path": "secret/**", "then": "deny", "why": "not yours"},
        {"effect": "change", "path": "*.lock", "then": "ask"},
        {"effect": "any", "path": "**/*", "then": "allow"},
    ]}));
    let (open, strict) = (gate.agent(CallerPolicy::Open), gate.agent(CallerPolicy::Strict));
    assert_eq!(outcome(&gate, &open, "/secret/a"), Err(FaultCode::Denied));
    assert_eq!(outcome(&gate, &open, "/x.lock"), Ok(false));
    assert_eq!(outcome(&gate, &strict, "/b.txt"), Ok(true));
    let fault = put(&open, &gate.call(), &args("/secret/a", "x")).unwrap_err();
    assert!(fault.message().contains("not yours"), "{fault}");
    assert_eq!((gate.text("secret/a"), gate.text("x.lock")), (None, None));
}

#[test]
fn a_role_that_reads_changes_nothing_and_cannot_ask_for_more() {
    let gate = Gate::new();
    gate.put("a.txt", "text");
    let viewer = gate.agent(CallerPolicy::ReadOnly);
    let call = gate.call();
    assert!(is_done(&viewer.perform(PLAIN, &call, read("/a.txt"))));
    assert_eq!(outcome(&gate, &viewer, "/new.txt"), Err(FaultCode::Denied));
    assert!(viewer.chats().make(&call, "mine", None).is_err());
    gate.set_policy(json!({"rules": [{"effect": "read", "path": "a.txt", "then": "ask"}]}));
    let asked = viewer.attempt(PLAIN, &call).repeatable(json!({})).perform(read("/a.txt"));
    assert_eq!(asked.unwrap_err().code(), FaultCode::Denied);
}

#[test]
fn a_key_uses_its_own_toolsets_alone() {
    let gate = Gate::new();
    gate.put("a.txt", "text");
    let call = gate.call();
    let reader = gate.agent(CallerPolicy::Open).with_toolsets(&["reader".to_owned()]);
    assert_eq!(outcome(&gate, &reader, "/new.txt"), Err(FaultCode::Denied));
    let fault = reader.perform(PUT, &call, read("/a.txt")).unwrap_err();
    assert!(fault.message().contains("toolset reader and no other"), "{fault}");
    // What comes through a door without a tool counts as the toolset of files.
    assert!(reader.check_toolset("http").is_err());
    let files = gate.agent(CallerPolicy::Open).with_toolsets(&["files".to_owned()]);
    assert_eq!(outcome(&gate, &files, "/new.txt"), Ok(true));
}

#[test]
fn a_session_that_keeps_to_folders_touches_nothing_else() {
    let gate = Gate::new();
    gate.put("inside/a.txt", "text");
    gate.put("outside.txt", "text");
    let agent = gate.agent(CallerPolicy::Open).confined_to(vec![path("/inside")]);
    let call = gate.call();
    assert!(is_done(&agent.perform(PLAIN, &call, read("/inside/a.txt"))));
    assert!(agent.perform(PLAIN, &call, read("/outside.txt")).is_err());
    assert_eq!(outcome(&gate, &agent, "/new.txt"), Err(FaultCode::Denied));
    assert_eq!(outcome(&gate, &agent, "/inside/new.txt"), Ok(true));
}

#[test]
fn in_plan_mode_plans_alone_change_and_only_a_person_opens_build_mode() {
    let gate = Gate::new();
    let (person, call) = (gate.person(), gate.call());
    let chat = person.chats().make(&call, "planned", Some(Mode::Plan)).unwrap();
    let agent = gate.agent(CallerPolicy::Open).in_chat(chat.id).unwrap();
    assert_eq!(outcome(&gate, &agent, "/a.txt"), Err(FaultCode::Denied));
    assert_eq!(outcome(&gate, &agent, "/a.plan"), Ok(true));
    assert!(agent.chats().set_mode(&call, chat.id, Mode::Build).is_err());
    person.chats().set_mode(&call, chat.id, Mode::Build).unwrap();
    assert_eq!(outcome(&gate, &agent, "/a.txt"), Ok(true));
}

#[test]
fn a_call_in_a_chat_that_was_deleted_is_refused() {
    let gate = Gate::new();
    let (person, call) = (gate.person(), gate.call());
    let chat = person.chats().make(&call, "planned", Some(Mode::Plan)).unwrap();
    let agent = gate.agent(CallerPolicy::Open).in_chat(chat.id).unwrap();
    person.chats().remove(&call, chat.id).unwrap();
    let fault = put(&agent, &call, &args("/a.txt", "mine")).unwrap_err();
    assert_eq!(fault.code(), FaultCode::NotFound);
    assert!(fault.message().contains("was deleted: name another chat"), "{fault}");
    assert_eq!(gate.text("a.txt"), None);
}

#[test]
fn the_chat_of_a_connection_that_was_deleted_is_made_again_in_its_mode() {
    let gate = Gate::new();
    let (person, call) = (gate.person(), gate.call());
    let of_connection = ConnectionChat::new(gate.person(), "a client".to_owned());
    let agent = gate.agent(CallerPolicy::Open).in_connection_chat(of_connection);
    assert_eq!(outcome(&gate, &agent, "/a.txt"), Ok(true));
    let first = agent.chat().unwrap();
    person.chats().set_mode(&call, first, Mode::Plan).unwrap();
    assert_eq!(outcome(&gate, &agent, "/b.txt"), Err(FaultCode::Denied));
    person.chats().remove(&call, first).unwrap();
    assert_eq!(outcome(&gate, &agent, "/b.txt"), Err(FaultCode::Denied));
    assert_eq!(outcome(&gate, &agent, "/b.plan"), Ok(true));
    let second = agent.chat().unwrap();
    assert_ne!(second, first);
    assert_eq!(person.chats().get(second).unwrap().mode, Mode::Plan);
    // The step and the transcript of a call name the chat that there is.
    let newest = History { of: HistoryOf::Workspace, before: None, limit: 1 };
    let Completion::Done(history) = agent.perform(PLAIN, &call, newest).unwrap() else { panic!() };
    assert_eq!(history.steps[0].chat, Some(second));
    let attempt = agent.attempt(PLAIN, &call).repeatable(json!({}));
    attempt.transcript_turn(&json!({}), true, &json!("answered")).unwrap().write();
    let turns = person.chats().turns(&call, second, Some(TurnKind::Call), 0, 9).unwrap();
    assert_eq!(turns.rows.len(), 1);
}

#[test]
fn events_name_no_path_that_a_rule_hides() {
    let gate = Gate::new();
    gate.set_policy(json!({"rules": [{"effect": "list", "path": "secret/**", "then": "deny"}]}));
    let (agent, call) = (gate.agent(CallerPolicy::Open), gate.call());
    assert_eq!(outcome(&gate, &agent, "/secret/a.txt"), Ok(true));
    assert_eq!(outcome(&gate, &agent, "/b.txt"), Ok(true));
    let events = agent.events(&call, 0, 99).unwrap();
    let paths = events.iter().flat_map(|row| match &row.what {
        Event::Step(step) => step.changes.iter().map(|change| change.path.to_string()).collect(),
        _ => Vec::new(),
    });
    let paths: Vec<String> = paths.collect();
    assert!(paths.contains(&"/b.txt".to_owned()), "{paths:?}");
    assert!(!paths.iter().any(|path| path.starts_with("/secret/")), "{paths:?}");
}

#[test]
fn two_people_who_set_the_policy_at_once_lose_nothing() {
    let gate = Gate::new();
    for round in 0..50 {
        let preset = ["open", "guarded"][round % 2];
        let path = format!("{round}/**");
        let both_begin = Barrier::new(2);
        let set = |policy| {
            both_begin.wait();
            gate.set_policy(policy);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| set(json!({"preset": preset})));
            scope.spawn(|| set(json!({"rules": [{"path": path, "then": "deny"}]})));
        });
        let settings = gate.person().settings().unwrap();
        assert_eq!(settings.preset.map(Preset::word), Some(preset), "round {round}");
        assert_eq!(settings.rules, [json!({"path": path, "then": "deny"})]);
    }
}

#[test]
fn an_agent_does_not_speak_for_the_person() {
    let gate = Gate::new();
    let (person, call) = (gate.person(), gate.call());
    let chat = person.chats().make(&call, "talk", None).unwrap().id;
    let agent = gate.agent(CallerPolicy::Open);
    assert!(agent.chats().post(&call, chat, MessageRole::User, "I agree").is_err());
    agent.chats().post(&call, chat, MessageRole::Assistant, "Done").unwrap();
    assert!(agent.chats().rename(&call, chat, "mine").is_err());
    assert!(agent.change_settings(&call, &serde_json::Map::new()).is_err());
}

#[test]
fn without_a_person_what_would_ask_is_refused_at_once() {
    let gate = Gate::new();
    gate.put("theirs.txt", "theirs");
    let agent = gate.agent(CallerPolicy::Guarded).without_person();
    assert_eq!(outcome(&gate, &agent, "/theirs.txt"), Err(FaultCode::Denied));
    assert_eq!(outcome(&gate, &agent, "/new.txt"), Ok(true));
    // What no tool makes cannot be made again later: a person does it at once, an agent does not.
    let call = gate.call();
    let by = |actor| {
        let session = gate.session(actor, CallerPolicy::Strict);
        session.perform(PLAIN, &call, write("/b.txt", "x")).map(drop)
    };
    assert_eq!(by(Actor::LocalAgent).unwrap_err().code(), FaultCode::Denied);
    by(Actor::LocalPerson).unwrap();
}

#[test]
fn an_explained_attempt_says_what_would_decide_and_does_nothing() {
    let gate = Gate::new();
    gate.put("theirs.txt", "theirs");
    let (agent, call) = (gate.agent(CallerPolicy::Guarded), gate.call());
    let attempt = agent.attempt(PUT, &call).repeatable(json!({}));
    let (explained, outcome) = attempt.explain(|attempt| {
        let asked = attempt.perform(write("/theirs.txt", "mine"));
        (asked, attempt.open_terminal("t", &command(), std::time::Duration::ZERO))
    });
    assert!(outcome.0.is_err() && outcome.1.is_err());
    assert!(matches!(explained[0].verdict, Verdict::Ask(_)), "{explained:?}");
    assert_eq!(gate.text("theirs.txt").unwrap(), "theirs");
    assert!(gate.person().approvals().list(Default::default(), None, 10).unwrap().rows.is_empty());
}

fn command() -> yard_gate::Command {
    yard_gate::Command::new(vec!["sh".into()], path("/"), std::time::Duration::from_secs(1))
}

#[test]
fn what_a_rule_hides_is_not_there_for_a_command() {
    let gate = Gate::new();
    gate.put("secret/deep/a.txt", "text");
    gate.put("open/a.txt", "text");
    gate.link("way", "secret/deep");
    gate.set_policy(json!({"rules": [{"effect": "list", "path": "secret", "then": "deny"}]}));
    let (agent, call) = (gate.agent(CallerPolicy::Open), gate.call());
    let attempt = agent.attempt(PLAIN, &call);
    let kind = |name: &str| attempt.kind_at(&path(name)).unwrap();
    assert_eq!(
        (kind("/open"), kind("/open/a.txt")),
        (Some(FileKind::Folder), Some(FileKind::File))
    );
    for name in ["/missing", "/secret", "/secret/deep", "/secret/deep/a.txt", "/way"] {
        assert_eq!(kind(name), None, "{name}");
    }
    assert!(attempt.is_there(&path("/open")) && !attempt.is_there(&path("/secret")));
}

#[test]
fn an_agent_works_in_its_own_chats_and_in_those_of_people() {
    let gate = Gate::new();
    let call = gate.call();
    let key = |number| Actor::Key(KeyId::from_bytes([number; 16]));
    let (one, other) =
        (gate.session(key(1), CallerPolicy::Guarded), gate.session(key(2), CallerPolicy::Guarded));
    let own = one.chats().make(&call, "of one", None).unwrap().id;
    let shared = gate.person().chats().make(&call, "of a person", None).unwrap().id;
    assert!(one.in_chat(own).is_ok() && one.in_chat(shared).is_ok());
    assert!(other.in_chat(shared).is_ok() && gate.person().in_chat(own).is_ok());

    let denied = other.in_chat(own).map(|_| ()).unwrap_err();
    assert!(denied.message().contains("another agent's"), "{denied}");
    assert_eq!(denied.code(), FaultCode::Denied);
    assert!(other.chats().set_mode(&call, own, Mode::Plan).is_err());
    assert!(other.chats().post(&call, own, MessageRole::Assistant, "hello").is_err());
}
