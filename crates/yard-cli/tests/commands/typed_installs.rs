//! An install that is typed in a shell: one question for all its public hosts, and only for a command that is an
//! install and nothing else. What installs here is a script of the workspace that asks two hosts of the test on
//! loopback, as an index and its files are on two.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use yard_gate::{Approval, ApprovalStatus, Scope};
use yard_testkit::TestWorkspace;

use crate::box_setup::{guarded, shell_as};
use crate::network::{Host, awaited, decide, page, requests, way_to, workspace_with};

const INSTALL: &str = ".venv/bin/python -m pip install left";
const HOSTS: [&str; 2] = ["index.example", "files.example"];

/// A workspace with such a script, whose hosts are held for so long.
fn project(host: &Host, held: Duration) -> TestWorkspace {
    let workspace = workspace_with(way_to(&HOSTS.map(|name| (name, host.port))).holding_for(held));
    let urls = HOSTS.map(|name| format!("http://{name}:{}/", host.port)).join(" ");
    workspace.put(".venv/bin/python", format!("#!/bin/sh\nexec curl -sS --max-time 50 {urls}\n"));
    let at = workspace.root().join(".venv/bin/python");
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
    workspace
}

fn run(workspace: &TestWorkspace, command: &str) -> Value {
    let answer = shell_as(workspace, &guarded(workspace), command);
    assert!(answer.pending.is_none(), "{command}: {}", answer.body);
    answer.body["result"].clone()
}

fn args(row: &Approval) -> Value {
    serde_json::from_str(&row.request.args).unwrap()
}

#[test]
fn one_yes_is_for_every_public_host_of_the_install() {
    let host = Host::serve(|_| page("said"));
    for scope in [Scope::Once, Scope::Chat] {
        let workspace = project(&host, Duration::from_secs(12));
        let before = host.count();
        thread::scope(|threads| {
            let reply = threads.spawn(|| run(&workspace, INSTALL));
            let row = awaited(&workspace);
            assert_eq!(host.count(), before, "nothing is sent before the yes");
            let place = format!("index.example:{}", host.port);
            assert_eq!(
                row.request.reason,
                format!(
                    "an install, which a yes lets reach every public host: a command wants to reach a host that \
                     is not on the operator's list: connect {place} (tried once)"
                )
            );
            assert_eq!(
                args(&row),
                json!({
                    "command": INSTALL, "folder": "/", "host": "index.example", "port": host.port,
                    "covers": "every public host that this install reaches",
                })
            );
            decide(&workspace, row.id, true, scope);
            let reply = reply.join().unwrap();
            assert_eq!(reply["stdout"], "saidsaid", "{reply}");
            assert_eq!(reply["message"], Value::Null, "{reply}");
        });
        assert_eq!(
            requests(&workspace, ApprovalStatus::Pending).len(),
            0,
            "nobody was asked again"
        );
        assert_eq!(host.count(), before + 2);
    }
}

#[test]
fn a_no_is_for_all_of_them() {
    let host = Host::serve(|_| page("never"));
    let workspace = project(&host, Duration::from_secs(12));
    thread::scope(|threads| {
        let reply = threads.spawn(|| run(&workspace, INSTALL));
        decide(&workspace, awaited(&workspace).id, false, Scope::Once);
        let reply = reply.join().unwrap();
        let refused = HOSTS.map(|name| format!("{name}:{} (a person said no", host.port));
        let message = reply["message"].as_str().unwrap();
        assert!(refused.iter().all(|place| message.contains(place)), "{reply}");
    });
    assert_eq!(requests(&workspace, ApprovalStatus::Pending).len(), 0);
    assert_eq!(host.count(), 0);
}

#[test]
fn a_later_yes_is_for_the_next_run_of_the_same_install_and_for_nothing_else() {
    let host = Host::serve(|_| page("said"));
    let workspace = project(&host, Duration::from_millis(200));
    let reply = run(&workspace, INSTALL);
    let row = awaited(&workspace);
    let message = reply["message"].as_str().unwrap();
    assert!(message.contains(&format!("(approval {})", row.id)), "{message}");
    assert_eq!(
        requests(&workspace, ApprovalStatus::Pending).len(),
        1,
        "both hosts wait for one answer"
    );
    decide(&workspace, row.id, true, Scope::Once);
    for other in [
        format!("curl -sS http://index.example:{}/", host.port),
        format!("{INSTALL} more"),
        format!("{INSTALL}; true"),
    ] {
        let reply = run(&workspace, &other);
        assert!(
            reply["message"].as_str().is_some_and(|words| words.contains("wait")),
            "{other}: {reply}"
        );
    }
    assert_eq!(host.count(), 0);
    assert_eq!(run(&workspace, INSTALL)["stdout"], "saidsaid");
    let reply = run(&workspace, INSTALL);
    assert!(reply["message"].as_str().unwrap().contains("wait"), "it was for one run: {reply}");
}

#[test]
fn a_command_that_does_more_than_install_asks_for_each_host() {
    let host = Host::serve(|_| page("said"));
    for command in [
        format!("{INSTALL}; curl -sS http://files.example:{}/", host.port),
        format!("{INSTALL} && true"),
        format!("{INSTALL} | cat"),
        format!("{INSTALL} $(echo more)"),
    ] {
        let workspace = project(&host, Duration::from_millis(200));
        run(&workspace, &command);
        let waiting = requests(&workspace, ApprovalStatus::Pending);
        let mut hosts: Vec<Value> = waiting.iter().map(|row| args(row)["host"].clone()).collect();
        hosts.sort_by_key(ToString::to_string);
        assert_eq!(hosts, ["files.example", "index.example"], "{command}");
        assert!(waiting.iter().all(|row| args(row)["covers"].is_null()), "{command}");
    }
    assert_eq!(host.count(), 0);
}

#[test]
fn what_only_commands_can_reach_is_asked_about_by_itself() {
    let host = Host::serve(|_| page("never"));
    let own = format!("own.example:{}", host.port);
    let web = way_to(&[("index.example", host.port)]).reaching(&own).unwrap();
    let workspace = workspace_with(web.holding_for(Duration::from_millis(200)));
    let script =
        format!("#!/bin/sh\nexec curl -sS http://{own}/ http://index.example:{}/\n", host.port);
    workspace.put(".venv/bin/python", &script);
    let at = workspace.root().join(".venv/bin/python");
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
    run(&workspace, INSTALL);
    let waiting = requests(&workspace, ApprovalStatus::Pending);
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    let covering = waiting.iter().filter(|row| !args(row)["covers"].is_null());
    let hosts: Vec<Value> = covering.map(|row| args(row)["host"].clone()).collect();
    assert_eq!(hosts, ["index.example"]);
}
