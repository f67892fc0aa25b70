//! What another process does between two calls to the records.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::sync::Arc;

use serde_json::{Value, json};
use yard_core::{FaultCode, Name, ReadAccess, WsPath};
use yard_gate::{CallerPolicy, MessageRole, Scope, TranscriptFiles};
use yard_kernel::VirtualFiles as _;

use support::{Interruption, args, awaited, put, yes};

/// A caller that may read nothing.
struct ReadsNothing;

impl ReadAccess for ReadsNothing {
    fn may_read(&self, _: &WsPath) -> bool {
        false
    }

    fn may_list(&self, _: &WsPath) -> bool {
        true
    }

    fn withheld_paths(&self) -> Vec<WsPath> {
        vec![WsPath::root()]
    }

    fn withholds_all_below(&self, _: &WsPath) -> bool {
        true
    }

    fn note(&self) -> String {
        String::new()
    }

    fn may_see(&self, _: &str) -> bool {
        false
    }
}

#[test]
fn a_transcript_of_a_chat_that_is_deleted_meanwhile_shows_no_withheld_turn() {
    let (interruption, gate) = Interruption::gate();
    let (person, call) = (gate.person(), gate.call());
    let chat = person.chats().make(&call, "talk", None).unwrap();
    let agent = gate.agent(CallerPolicy::Open);
    agent.chats().post(&call, chat.id, MessageRole::Assistant, "what it read").unwrap();
    let files = TranscriptFiles::new(Arc::clone(&gate.open.records));
    let restricted = call.clone().with_read_access(Some(Arc::new(ReadsNothing)));
    let text = |name: &Name| {
        let text = files.text(name, &restricted).unwrap();
        String::from_utf8(text.unwrap_or_default()).unwrap()
    };
    let shown = text(&chat.name);
    assert!(shown.starts_with("# talk") && !shown.contains("what it read"), "{shown}");
    let deleting = Arc::clone(&gate);
    interruption.before("turns", move || {
        deleting.person().chats().remove(&deleting.call(), chat.id).unwrap();
    });
    let shown = text(&chat.name);
    assert!(shown.starts_with("# talk") && !shown.contains("what it read"), "{shown}");
}

#[test]
fn a_rule_that_is_saved_while_the_saved_rules_are_replaced_is_kept() {
    let (interruption, gate) = Interruption::gate();
    gate.put("a.txt", "theirs\n");
    let agent = gate.agent(CallerPolicy::Guarded);
    let id = awaited(put(&agent, &gate.call(), &args("/a.txt", "mine\n")));
    let deciding = Arc::clone(&gate);
    interruption.before("set_policy", move || {
        deciding.decide(id, yes(&deciding.request(id), Scope::Rule)).unwrap();
    });
    let none: Value = json!({"saved": []});
    let set = || gate.person().change_settings(&gate.call(), none.as_object().unwrap());
    let fault = set().unwrap_err();
    assert_eq!(fault.code(), FaultCode::Stale, "{fault}");
    assert!(fault.message().contains("a rule was saved meanwhile"), "{fault}");
    assert_eq!(gate.person().settings().unwrap().saved.len(), 1);
    assert!(set().unwrap().saved.is_empty());
}
