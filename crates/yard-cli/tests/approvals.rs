//! `toolyard approve` and `toolyard policy`, and that a process which is killed between a request, its
//! decision and its execution loses nothing and does nothing twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests drive the binary from outside"
)]

mod support;

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::TestWorkspace;

const ASK: &str = r#"{"rules": [{"effect": "modify", "then": "ask", "why": "look first"}]}"#;

fn asking() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    fs::write(workspace.file("log"), "").unwrap();
    let rules = workspace.temp.path().join("rules.json");
    fs::write(&rules, ASK).unwrap();
    let set = workspace.run(&["policy", "set", rules.to_str().unwrap()]);
    assert_eq!(set.exit, 0, "{}", set.stderr);
    workspace
}

fn insert(line: &str) -> String {
    json!({"path": "/log", "insert_line": 0, "insert_content": line}).to_string()
}

/// What waits, newest first.
fn pending(workspace: &TestWorkspace) -> Vec<Value> {
    workspace.json(&["approve"])["approvals"].as_array().unwrap().clone()
}

#[test]
fn r16_a_call_waits_for_its_person_if_the_option_says_so() {
    let workspace = asking();
    let started = workspace
        .command(&["call", "--wait=60", "edit", &insert("hello")])
        .stdout(Stdio::piped())
        .spawn();
    let mut waiting = started.unwrap();
    let asked = until("it is asked", || pending(&workspace).first().cloned());
    assert!(waiting.try_wait().unwrap().is_none(), "it waits");
    workspace.approve(asked["id"].as_str().unwrap());
    let ended = waiting.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let answer: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(answer["success"], true, "{answer}");
    assert!(answer["result"]["hash"].is_string(), "the answer of the tool itself: {answer}");
    assert_eq!(workspace.text("log"), "hello\n");
    let called = workspace.run(&["call", "--wait=1", "edit", &insert("again")]);
    assert_eq!(called.exit, 3, "{}", called.stdout);
    assert_eq!(called.json()["result"]["status"], "approval_pending");
    assert!(called.stderr.contains("waiting for a person: toolyard approve "), "{}", called.stderr);
}

/// Looks until there is something, for a while.
fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what}: not within 30 s")
}

#[test]
fn a_person_lets_a_part_happen_by_path_and_by_hunk() {
    let workspace = asking();
    let lines = |first: &str, last: &str| {
        let between: Vec<String> = (2..20).map(|line| format!("{line}\n")).collect();
        format!("{first}\n{}{last}\n", between.concat())
    };
    fs::write(workspace.file("log"), lines("1", "20")).unwrap();
    let args = json!({"path": "/log", "content": lines("one", "twenty"), "overwrite": true});
    let called = workspace.run(&["call", "write", &args.to_string()]);
    assert_eq!(called.exit, 3, "{}", called.stdout);
    let id = pending(&workspace)[0]["id"].as_str().unwrap().to_owned();
    let state = workspace.shown_state(&id);
    let decide =
        |path: &str| workspace.run(&["approve", &id, "--yes", "--state", &state, "--path", path]);
    let wrong = decide("/other");
    assert!(wrong.stderr.contains("nothing changes at /other"), "{}", wrong.stderr);
    assert!(decide("/log:2").stderr.contains("/log has hunks 0 to 1"));
    let done = decide("/log:1");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stdout.contains("done in part, 1 part refused, as step"), "{}", done.stdout);
    assert_eq!(workspace.text("log"), lines("1", "twenty"));
    let shown = workspace.json(&["approve", &id]);
    assert_eq!(shown["refused"], json!([{"path": "/log", "hunks": [0]}]), "{shown}");
}

#[test]
fn a_person_sees_the_diff_and_decides() {
    let workspace = asking();
    let called = workspace.run(&["call", "edit", &insert("hello")]);
    assert_eq!(called.exit, 3, "r16: {}", called.stdout);
    let id = called.json()["result"]["approval_id"].as_str().unwrap().to_owned();
    assert_eq!(called.json()["result"]["status"], "approval_pending");
    let listed = workspace.run(&["approve"]);
    assert!(
        listed.stdout.contains(&id) && listed.stdout.contains("modify /log"),
        "{}",
        listed.stdout
    );
    let shown = workspace.run(&["approve", &id, "--color", "always"]);
    assert!(shown.stdout.contains("\u{1b}[32m+hello"), "{}", shown.stdout);
    assert!(shown.stdout.contains("look first"), "{}", shown.stdout);
    assert_eq!(workspace.text("log"), "");
    let unseen = workspace.run(&["approve", &id, "--yes"]);
    assert_ne!(unseen.exit, 0, "a decision needs the state that was shown: {}", unseen.stdout);
    let done = workspace.approve(&id);
    assert_eq!(
        (&done["status"], &done["decided_by"]),
        (&json!("executed"), &json!("person:local"))
    );
    assert_eq!(done["answer"]["success"], true);
    assert_eq!(workspace.text("log"), "hello\n");
    let state = done["state_hash"].as_str().unwrap();
    let changed = workspace.run(&["approve", &id, "--no", "--state", state]);
    assert_eq!(changed.exit, 1, "a decision is not changed");
    assert_eq!(workspace.run(&["approve"]).stdout, "nothing waits for approval\n");
    let called = workspace.run(&["call", "edit", &insert("again")]).json();
    let id = called["result"]["approval_id"].as_str().unwrap().to_owned();
    let state = workspace.shown_state(&id);
    let denied =
        workspace.json(&["approve", &id, "--no", "--state", &state, "--reason", "not now"]);
    assert_eq!(
        (&denied["status"], &denied["decision_reason"]),
        (&json!("denied"), &json!("not now"))
    );
    assert_eq!(workspace.text("log"), "hello\n");
}

#[test]
fn a_policy_is_set_shown_and_explained() {
    let workspace = asking();
    let shown = workspace.run(&["policy"]);
    assert!(shown.stdout.contains("preset: open") && shown.stdout.contains("look first"));
    assert_eq!(workspace.json(&["policy", "preset", "on-request"])["preset"], "guarded");
    let explained = workspace.run(&["policy", "explain", "edit", &insert("x")]);
    let line = "  ask: rule 1 (ask modify on every path)";
    assert!(explained.stdout.contains("modify /log") && explained.stdout.contains(line));
    assert_eq!(pending(&workspace), Vec::<Value>::new(), "explaining asks nobody");
    let before = workspace.json(&["policy"]);
    let broken = workspace.temp.path().join("broken.json");
    for text in [r#"{"rules": [{"then": "sometimes"}]}"#, "{", r#"{"preset": "wild"}"#] {
        fs::write(&broken, text).unwrap();
        let refused = workspace.run(&["policy", "set", broken.to_str().unwrap()]);
        assert_ne!(refused.exit, 0, "{text}");
        assert_eq!(workspace.json(&["policy"]), before, "{text}");
    }
    let again = workspace.run_with_input(&["policy", "set", "-"], before.to_string().as_bytes());
    assert_eq!(again.exit, 0, "what is printed can be set: {}", again.stderr);
}

/// Runs the binary and kills it after a while; whether it was still running.
fn run_and_kill(workspace: &TestWorkspace, arguments: &[&str], after: Duration) -> bool {
    let mut command = workspace.command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + after;
    while Instant::now() < end {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    let killed = child.kill().is_ok();
    child.wait().unwrap();
    killed
}

/// How long a command takes that nobody kills.
fn duration(run: impl FnOnce()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

#[test]
fn killed_between_request_decision_and_execution_nothing_is_lost_and_nothing_runs_twice() {
    let wanted = if std::env::var_os("YARD_SOAK").is_some() { 500 } else { 50 };
    let workspace = asking();
    let usual = duration(|| {
        workspace.run(&["call", "edit", &insert("first")]);
    });
    let mut dice = 7_u64;
    // Anywhere between the start of the process and a little after its usual end.
    let mut moment = || {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usual.mul_f64((dice >> 33) as f64 / f64::from(1_u32 << 31) * 1.3)
    };
    let first = pending(&workspace)[0]["id"].as_str().unwrap().to_owned();
    workspace.approve(&first);
    let (mut kills, mut lines) = (0, vec!["first".to_owned()]);
    while kills < wanted {
        let line = format!("line {}", lines.len());
        kills += u32::from(run_and_kill(&workspace, &["call", "edit", &insert(&line)], moment()));
        // Whether the request arrived or not, the same call asks for the same once.
        let called = workspace.run(&["call", "edit", &insert(&line)]).json();
        let id = called["result"]["approval_id"].as_str().expect("it asks").to_owned();
        let waiting = pending(&workspace);
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        let shown = waiting[0]["diff"].clone();
        let state = waiting[0]["state_hash"].as_str().unwrap();
        let yes = ["approve", id.as_str(), "--yes", "--state", state];
        kills += u32::from(run_and_kill(&workspace, &yes, moment()));
        let listed = pending(&workspace);
        let mut row = workspace.json(&["approve", &id]);
        if row["status"] == "pending" || row["status"] == "approved" {
            assert_eq!(listed[0]["id"], row["id"], "what is not done is listed");
            kills += u32::from(run_and_kill(&workspace, &yes, moment()));
            row = workspace.json(&["approve", &id]);
        }
        if row["status"] == "pending" || row["status"] == "approved" {
            row = workspace.json(&yes);
        }
        assert_eq!(row["status"], "executed", "{row}");
        assert_eq!(row["diff"], shown, "what ran is what was shown");
        lines.push(line);
        let newest_first: Vec<&String> = lines.iter().rev().collect();
        let text: String = newest_first.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(workspace.text("log"), text, "once, and nothing else");
    }
    let verified = workspace.json(&["verify"]);
    assert_eq!(verified["problems"], json!([]), "{verified}");
    eprintln!("{kills} kills, {} approvals", lines.len());
}
