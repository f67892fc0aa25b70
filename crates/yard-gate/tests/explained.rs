//! What is explained is what happens: the verdict about a call that is only explained is the one that the same call gets
//! when it is made. The calls, rules, presets, modes and roles are random.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use serde_json::{Value, json};
use yard_core::op::{Edit, EditAction, Move, OnExisting, OnFolder, Remove};
use yard_core::{Call, Fault, FaultCode};
use yard_gate::{
    Asks, Attempt, CallerPolicy, Completion, ExplainedEffect, Mode, Origin, Session, TurnKind,
    Verdict,
};
use yard_testkit::Dice;

use support::{Gate, path, read, write};

const CASES: u64 = 400;

/// The rules of a random policy.
fn random_policy(dice: &mut Dice) -> Value {
    let kinds = ["read", "modify", "create", "remove", "change", "move", "any"];
    let paths = ["a.txt", "sub/**", "*.lock", "**/*", "sub/b.txt"];
    let rules: Vec<Value> = (0..dice.roll(4))
        .map(|_| {
            let then = dice.pick(&["allow", "ask", "ask", "deny"]);
            json!({"effect": dice.pick(&kinds), "path": dice.pick(&paths), "then": then})
        })
        .collect();
    let preset = *dice.pick(&[None, Some("open"), Some("guarded"), Some("strict")]);
    json!({"preset": preset, "rules": rules})
}

/// Performs one of a few operations.
fn perform(attempt: &Attempt<'_>, operation: usize, file: &str) -> Result<bool, Fault> {
    fn is_done<A>(outcome: Result<Completion<A>, Fault>) -> Result<bool, Fault> {
        outcome.map(|outcome| matches!(outcome, Completion::Done(_)))
    }
    let edit = |old: &str| {
        let (old, new) = (old.to_owned(), "other".to_owned());
        let actions = vec![EditAction::Replace { old, new, all: false }];
        Edit { path: path(file), actions, expected: None }
    };
    match operation {
        0 => is_done(attempt.perform(read(file))),
        1 => is_done(attempt.perform(write(file, "mine\n"))),
        2 => is_done(attempt.perform(edit("theirs"))),
        3 => is_done(attempt.perform(edit("what is not there"))),
        4 => {
            let on_folder = OnFolder::WithContents;
            is_done(attempt.perform(Remove { path: path(file), on_folder }))
        }
        _ => {
            let (from, to) = (path(file), path("/moved.txt"));
            let on_existing = OnExisting::Refuse;
            is_done(attempt.perform(Move { from, to, into_folder: false, on_existing }))
        }
    }
}

/// The strictest verdict in one word, or the fault of a call that was never judged.
fn explained_word(explained: &[ExplainedEffect], outcome: &Result<bool, Fault>) -> String {
    let has = |matches: fn(&Verdict) -> bool| explained.iter().any(|one| matches(&one.verdict));
    match outcome {
        _ if has(|verdict| matches!(verdict, Verdict::Deny(_))) => "deny".to_owned(),
        _ if has(|verdict| matches!(verdict, Verdict::Ask(_))) => "ask".to_owned(),
        Err(fault) if fault.code() != FaultCode::Unavailable => format!("{:?}", fault.code()),
        _ => "allow".to_owned(),
    }
}

fn real_word(outcome: &Result<bool, Fault>) -> String {
    match outcome {
        Ok(true) => "allow".to_owned(),
        Ok(false) => "ask".to_owned(),
        Err(fault) if fault.code() == FaultCode::Denied => "deny".to_owned(),
        Err(fault) => format!("{:?}", fault.code()),
    }
}

fn session(gate: &Gate, call: &Call, policy: CallerPolicy, mode: Mode) -> Session {
    let chat = gate.person().chats().make(call, "a chat of its own", Some(mode)).unwrap().id;
    gate.agent(policy).in_chat(chat).unwrap()
}

#[test]
fn what_is_explained_is_what_happens() {
    let gate = Gate::new();
    for case in 0..CASES {
        let mut dice = Dice::new(case);
        for file in ["a.txt", "sub/b.txt", "x.lock"] {
            gate.put(file, "theirs\n");
        }
        let rules = random_policy(&mut dice);
        gate.set_policy(rules.clone());
        let policies = [
            CallerPolicy::Open,
            CallerPolicy::Guarded,
            CallerPolicy::Strict,
            CallerPolicy::ReadOnly,
        ];
        let (call, policy) = (gate.call(), *dice.pick(&policies));
        let mode = *dice.pick(&[Mode::Build, Mode::Build, Mode::Plan]);
        let agent = session(&gate, &call, policy, mode);
        let agent = match dice.roll(4) {
            0 => agent.confined_to(vec![path("/sub")]),
            _ => agent,
        };
        let asks = *dice.pick(&[Asks::Never, Asks::OnceToRead, Asks::OnceToChange, Asks::ToChange]);
        let origin = Origin { toolset: "files", tool: "tool", asks };
        let operation = dice.roll(6);
        let file = *dice.pick(&["/a.txt", "/sub/b.txt", "/x.lock", "/sub/new.txt"]);
        let attempt = agent.attempt(origin, &call).repeatable(json!({"case": case}));

        let (explained, outcome) = attempt.explain(|attempt| perform(attempt, operation, file));
        let expected = match explained_word(&explained, &outcome) {
            // Who may only read cannot ask for more.
            word if word == "ask" && policy == CallerPolicy::ReadOnly => "deny".to_owned(),
            word => word,
        };
        let real = perform(&attempt, operation, file);
        assert_eq!(
            expected,
            real_word(&real),
            "case {case}: operation {operation} on {file} by {policy:?} in {mode:?}, {asks:?}, {rules}\n\
             {explained:?} {outcome:?}\n{real:?}"
        );
        gate.remove("moved.txt");
        gate.remove("sub/new.txt");
    }
}

#[test]
fn what_is_read_in_another_root_is_explained_and_hides_the_turn_where_rules_withhold() {
    let (gate, other) = (Gate::new(), Gate::new());
    gate.put("secret.txt", "theirs\n");
    other.put("a.txt", "theirs\n");
    let call = gate.call();
    let agent = session(&gate, &call, CallerPolicy::Guarded, Mode::Build);
    let elsewhere = other.agent(CallerPolicy::Guarded);
    let origin = Origin { toolset: "files", tool: "tool", asks: Asks::Never };
    let read_elsewhere =
        |attempt: &Attempt<'_>| attempt.in_session(&elsewhere).perform(read("/a.txt")).unwrap();

    let attempt = agent.attempt(origin, &call).repeatable(json!({}));
    let (explained, _) = attempt.explain(read_elsewhere);
    assert_eq!(explained.len(), 1, "{explained:?}");
    assert_eq!(explained[0].effect.paths[0].path, path("/a.txt"));

    read_elsewhere(&attempt);
    attempt.transcript_turn(&json!({}), true, &json!("theirs")).unwrap().write();
    let chat = agent.chat().unwrap();
    let shown = || {
        let turns = gate.person().chats().turns(&call, chat, Some(TurnKind::Call), 0, 9).unwrap();
        turns.rows[0].data.contains("theirs")
    };
    assert!(shown());
    gate.set_policy(json!({"rules": [{"effect": "read", "path": "secret.txt", "then": "deny"}]}));
    assert!(!shown());
}
