//! Terminals: input and output, and judged anew when the policy changes. The program that runs in a box needs a helper,
//! which is this test's own binary: so that it has a `main` of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests with a clock and a list of their own"
)]

mod support;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use yard_core::FaultCode;
use yard_core::op::Verify;
use yard_gate::{CallerPolicy, Command, Completion, Session, TerminalState};
use yard_kernel::CommandBox;
use yard_sandbox::{HELPER, Sandbox, SandboxConfig, run_helper};
use yard_store::StoreError;
use yard_testkit::OpenOptions;

use support::{Gate, PLAIN, path};

const TESTS: [(&str, fn()); 7] = [
    ("a_person_types_by_the_run_and_the_act_is_recorded", a_person_types_by_the_run),
    ("what_is_typed_reaches_the_program", what_is_typed_reaches_the_program),
    ("a_terminal_that_new_rules_forbid_is_ended", a_terminal_that_new_rules_forbid_is_ended),
    (
        "a_terminal_is_judged_again_once_the_records_can_be_read",
        a_terminal_is_judged_again_once_the_records_can_be_read,
    ),
    ("a_terminal_is_its_openers_and_ends_with_its_chat", a_terminal_is_its_openers),
    ("an_explained_attempt_types_nothing", an_explained_attempt_types_nothing),
    ("a_refused_terminal_leaves_no_change_unrecorded", a_refused_terminal_leaves_no_change),
];

/// Runs the tests as the test runners of Rust expect it, or the helper of a box.
fn main() -> ExitCode {
    let hints: Vec<String> = std::env::args().skip(1).collect();
    if hints.first().is_some_and(|word| word == HELPER) {
        return run_helper(hints.get(1).map(String::as_str));
    }
    let has = |flag: &str| hints.iter().any(|word| word == flag);
    let name = hints.iter().find(|word| !word.starts_with('-') && *word != "terse");
    let is_named = |test: &str| match name {
        Some(name) if has("--exact") => test == name,
        Some(name) => test.contains(name.as_str()),
        None => true,
    };
    // None of them is ignored.
    let tests = TESTS.iter().filter(|(test, _)| is_named(test) && !has("--ignored"));
    for (test, run) in tests {
        if has("--list") {
            println!("{test}: test");
        } else {
            run();
            println!("test {test} ... ok");
        }
    }
    ExitCode::SUCCESS
}

fn gate() -> Gate {
    Gate::with_box(command_box())
}

fn command_box() -> CommandBox {
    let helper = std::env::current_exe().unwrap();
    let wish = SandboxConfig { allow_unconfined: true, ..SandboxConfig::default() };
    CommandBox::new(move || Sandbox::probe(helper, wish))
}

fn shell() -> Command {
    Command::new(vec!["sh".into()], path("/"), Duration::from_secs(60))
}

fn open(gate: &Gate, session: &Session, name: &str) {
    let call = gate.call();
    let opened =
        session.attempt(PLAIN, &call).open_terminal(name, &shell(), Duration::from_secs(1));
    assert!(matches!(opened, Ok(Completion::Done(_))), "{opened:?}");
}

/// Types a line, and looks until the output holds a text.
fn output_with(gate: &Gate, session: &Session, line: &str, wanted: &str) -> String {
    let (call, begun) = (gate.call(), Instant::now());
    let (mut output, mut line) = (String::new(), line);
    while !output.contains(wanted) && begun.elapsed() < Duration::from_secs(30) {
        let attempt = session.attempt(PLAIN, &call);
        let look = attempt.send_input("t", line, Duration::from_secs(1)).unwrap();
        output.push_str(&String::from_utf8_lossy(&look.update.output.head));
        line = "";
    }
    output
}

fn what_is_typed_reaches_the_program() {
    let gate = gate();
    let agent = gate.agent(CallerPolicy::Open);
    open(&gate, &agent, "t");
    let output = output_with(&gate, &agent, "echo $((6 * 7)) > made.txt; cat made.txt\n", "42");
    assert!(output.contains("42"), "{output:?}");
    let call = gate.call();
    agent.attempt(PLAIN, &call).stop_terminal("t").unwrap();
    assert_eq!(gate.text("made.txt").unwrap(), "42\n");
    let typed = agent.attempt(PLAIN, &call).send_input("t", "ls\n", Duration::ZERO);
    assert_eq!(typed.unwrap_err().code(), FaultCode::NotFound);
}

fn a_terminal_that_new_rules_forbid_is_ended() {
    let gate = gate();
    let agent = gate.agent(CallerPolicy::Open);
    open(&gate, &agent, "t");
    gate.set_policy(json!({"rules": [{"effect": "read", "path": "a/**", "then": "allow"}]}));
    assert!(output_with(&gate, &agent, "echo $((6 * 7))\n", "42").contains("42"));
    gate.set_policy(json!({"rules": [{"effect": "run", "then": "deny", "why": "no commands"}]}));
    let call = gate.call();
    let typed = agent.attempt(PLAIN, &call).send_input("t", "ls\n", Duration::ZERO);
    let fault = typed.unwrap_err();
    assert!(fault.message().contains("was ended") && fault.message().contains("no commands"));
    wait_for_its_end(&agent);
    let opened = agent.attempt(PLAIN, &call).open_terminal("u", &shell(), Duration::ZERO);
    assert_eq!(opened.unwrap_err().code(), FaultCode::Denied);
}

/// Waits until the only terminal of an agent has ended.
fn wait_for_its_end(agent: &Session) {
    let begun = Instant::now();
    let runs = || agent.terminals().list().unwrap()[0].state == TerminalState::Running;
    while runs() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!runs(), "it was told to end");
}

fn a_terminal_is_judged_again_once_the_records_can_be_read() {
    let fails = Arc::new(AtomicBool::new(false));
    let is_failing = Arc::clone(&fails);
    let options = OpenOptions { boxed: Some(command_box()), ..OpenOptions::default() };
    // What people allowed in a chat cannot be read.
    let gate = Gate::with_records(options, move |method| {
        let is_read = method == "chat" && is_failing.load(Ordering::SeqCst);
        is_read.then(|| StoreError::Io("no file is left".to_owned()))
    });
    let agent = gate.agent(CallerPolicy::Open);
    open(&gate, &agent, "t");
    fails.store(true, Ordering::SeqCst);
    gate.set_policy(json!({"rules": [{"effect": "run", "then": "ask"}]}));
    let typed = agent.attempt(PLAIN, &gate.call()).send_input("t", "ls\n", Duration::ZERO);
    assert_eq!(typed.unwrap_err().code(), FaultCode::Io, "nothing is typed meanwhile");
    fails.store(false, Ordering::SeqCst);
    wait_for_its_end(&agent);
}

fn a_terminal_is_its_openers() {
    let gate = gate();
    let (person, call) = (gate.person(), gate.call());
    let chat = person.chats().make(&call, "work", None).unwrap().id;
    let agent = gate.agent(CallerPolicy::Open).in_chat(chat).unwrap();
    open(&gate, &agent, "t");
    let key = yard_core::KeyId::from_bytes([7; 16]);
    let other = gate.session(yard_gate::Actor::Key(key), CallerPolicy::Open).in_chat(chat).unwrap();
    assert!(other.attempt(PLAIN, &call).send_input("t", "ls\n", Duration::ZERO).is_err());
    assert!(other.terminals().list_all().unwrap().is_empty());
    assert_eq!(person.terminals().list_all().unwrap().len(), 1);
    let viewer = gate.agent(CallerPolicy::ReadOnly).in_chat(chat).unwrap();
    assert!(viewer.attempt(PLAIN, &call).stop_terminal("t").is_err());
    person.chats().remove(&call, chat).unwrap();
    let states = person.terminals().list_all().unwrap();
    assert!(states.iter().all(|one| one.state != TerminalState::Running), "{states:?}");
}

fn a_person_types_by_the_run() {
    let gate = gate();
    let (person, call) = (gate.person(), gate.call());
    let agent = gate.agent(CallerPolicy::Open);
    open(&gate, &agent, "t");
    let run = person.terminals().list_all().unwrap()[0].run;
    person.terminals().type_into(&call, run, "echo $((6 * 7))\n").unwrap();
    assert!(output_with(&gate, &agent, "", "42").contains("42"), "the agent reads it, too");
    let key = yard_core::KeyId::from_bytes([7; 16]);
    let other = gate.session(yard_gate::Actor::Key(key), CallerPolicy::Open);
    let typed = other.terminals().type_into(&call, run, "ls\n");
    assert_eq!(typed.unwrap_err().code(), FaultCode::NotFound, "it sees no terminal of another");
    person.terminals().stop_run(&call, run).unwrap();
    let typed = person.terminals().type_into(&call, run, "ls\n");
    assert_eq!(typed.unwrap_err().code(), FaultCode::NotFound);
}

fn an_explained_attempt_types_nothing() {
    let gate = gate();
    let agent = gate.agent(CallerPolicy::Open);
    open(&gate, &agent, "t");
    let call = gate.call();
    let attempt = agent.attempt(PLAIN, &call);
    let (_, typed) = attempt.explain(|attempt| {
        attempt.send_input("t", "echo typed > typed.txt\n", Duration::from_secs(1))
    });
    assert_eq!(typed.unwrap_err().code(), FaultCode::Unavailable);
    // Typed after it: the shell has done the first line before it answers this one.
    assert!(output_with(&gate, &agent, "echo $((6 * 7))\n", "42").contains("42"));
    assert_eq!(gate.text("typed.txt"), None);
}

/// It is refused right after its program was started.
fn a_refused_terminal_leaves_no_change() {
    let gate = gate();
    let (agent, call) = (gate.agent(CallerPolicy::Open), gate.call());
    gate.person().stop_all_terminals();
    for number in 0..10 {
        let line = format!("echo text > {number}.txt");
        let argv = ["sh", "-c", &line].map(Into::into).to_vec();
        let command = Command::new(argv, path("/"), Duration::from_secs(60));
        let opened = agent.attempt(PLAIN, &call).open_terminal("t", &command, Duration::ZERO);
        assert_eq!(opened.unwrap_err().code(), FaultCode::Denied);
    }
    let found = agent.perform(PLAIN, &call, Verify).unwrap();
    let Completion::Done(found) = found else { panic!("{found:?}") };
    assert!(found.unsynced.is_empty(), "{found:?}");
}
