//! `git_push` to folders of the workspace: never without a person (A6).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use yard_dialects::Answer;
use yard_gate::{Actor, CallerPolicy, DecisionInput, Scope};
use yard_testkit::TestWorkspace;

use crate::box_setup::{asked, decide, shown, workspace};
use crate::programs::{call, git, git_in, repository, run};

/// A repository with one commit, and a bare one beside it that is its `origin`.
fn two() -> TestWorkspace {
    let workspace = workspace();
    git(&workspace, &["init", "-q", "--bare", "-b", "main", "remote.git"]);
    repository(&workspace);
    workspace.put("a", "one\n");
    workspace.put(".gitignore", "remote.git\n");
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-qm", "one"]);
    git(&workspace, &["remote", "add", "origin", "./remote.git"]);
    workspace
}

/// The answer after a person said yes.
#[track_caller]
fn approved(workspace: &TestWorkspace, answer: &Answer) -> Value {
    let approval = decide(workspace, asked(answer), true);
    let text = approval.answer.unwrap_or_else(|| panic!("asked again: {:?}", approval.status));
    let answer: Value = serde_json::from_str(&text).unwrap();
    answer["body"]["result"].clone()
}

/// The answer to a push that can only be refused: nobody is asked.
#[track_caller]
fn refused(answer: &Answer) -> Value {
    assert!(answer.pending.is_none(), "nobody is asked: {}", answer.body);
    answer.body["result"].clone()
}

fn at_remote(workspace: &TestWorkspace, name: &str) -> String {
    let remote = workspace.root().join("remote.git");
    let mut git = git_in(&remote, &["rev-parse", "--verify", "-q", name]);
    String::from_utf8(git.output().unwrap().stdout).unwrap()
}

#[test]
fn a6_a_push_asks_under_every_policy_and_happens_after_a_yes() {
    for policy in [CallerPolicy::Open, CallerPolicy::Guarded] {
        let workspace = two();
        let session = workspace.session_of(Actor::LocalAgent, policy);
        let answer = workspace.call_as(&session, "assistant", "git_push", json!({}));
        assert!(answer.pending.is_some(), "{policy:?}: {}", answer.body);
        assert_eq!(at_remote(&workspace, "main"), "", "not yet");
        let reply = approved(&workspace, &answer);
        assert_eq!(reply["ok"], true, "{policy:?}: {reply}");
        let pushed = &reply["value"]["refs"][0];
        assert_eq!(
            (&pushed["status"], &pushed["remote"]),
            (&json!("new"), &json!("refs/heads/main"))
        );
        assert_eq!(at_remote(&workspace, "main"), git(&workspace, &["rev-parse", "HEAD"]));
        let upstream = git(&workspace, &["rev-parse", "--abbrev-ref", "main@{upstream}"]);
        assert_eq!(upstream.trim(), "origin/main", "{policy:?}");
    }
}

#[test]
fn a6_an_upstream_that_is_set_stays_and_a_remote_without_a_name_is_none() {
    let workspace = two();
    git(&workspace, &["config", "branch.main.remote", "elsewhere"]);
    let reply = approved(&workspace, &call(&workspace, "git_push", json!({})));
    assert_eq!(reply["ok"], true, "{reply}");
    assert_eq!(git(&workspace, &["config", "branch.main.remote"]).trim(), "elsewhere");
    git(&workspace, &["config", "--unset", "branch.main.remote"]);
    git(&workspace, &["branch", "other"]);
    let args = json!({"remote": "./remote.git", "branch": "other"});
    let reply = approved(&workspace, &call(&workspace, "git_push", args));
    assert_eq!(reply["ok"], true, "{reply}");
    let configuration = git(&workspace, &["config", "--list", "--local"]);
    assert!(!configuration.contains("branch."), "{configuration}");
}

#[test]
fn a6_a_no_is_a_no_and_no_rule_stands_for_a_person() {
    let workspace = two();
    let rules = json!({"rules": [{"then": "allow"}]});
    let rules = rules.as_object().unwrap();
    workspace.person().change_settings(&workspace.call_context(), rules).unwrap();
    let answer = call(&workspace, "git_push", json!({}));
    decide(&workspace, asked(&answer), false);
    assert_eq!(at_remote(&workspace, "main"), "");
    let answer = call(&workspace, "git_push", json!({}));
    let scope = Scope::Chat;
    let state = shown(&workspace, asked(&answer));
    let ruling = DecisionInput {
        approves: true,
        scope,
        reason: None,
        args: None,
        state,
        planned: None,
        parts: None,
    };
    let fault = workspace.catalog().decide(
        asked(&answer),
        &ruling,
        &workspace.person(),
        &workspace.call_context(),
    );
    assert!(fault.is_err(), "a yes is for one push");
    approved(&workspace, &answer);
    assert!(call(&workspace, "git_push", json!({})).pending.is_some(), "each time");
}

#[test]
fn a6_what_the_remote_has_is_replaced_only_if_the_caller_says_so() {
    let workspace = two();
    approved(&workspace, &call(&workspace, "git_push", json!({"branch": "main"})));
    let reply = approved(&workspace, &call(&workspace, "git_push", json!({})));
    assert_eq!(reply["value"]["refs"][0]["status"], "up to date", "{reply}");
    git(&workspace, &["commit", "-q", "--amend", "-m", "another"]);
    let reply = refused(&call(&workspace, "git_push", json!({})));
    assert_eq!(reply["error"]["code"], "CONFLICT", "{reply}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("forceWithLease"), "{reply}");
    let reply =
        approved(&workspace, &call(&workspace, "git_push", json!({"forceWithLease": true})));
    assert_eq!(reply["value"]["refs"][0]["status"], "forced", "{reply}");
    assert_eq!(at_remote(&workspace, "main"), git(&workspace, &["rev-parse", "HEAD"]));
}

#[test]
fn a6_no_hook_runs_at_either_end() {
    let workspace = two();
    for hook in [".git/hooks/pre-push", "remote.git/hooks/pre-receive", "remote.git/hooks/update"] {
        let at = workspace.root().join(hook);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(&at, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    }
    run(&mut git_in(&workspace.root().join("remote.git"), &["config", "core.hooksPath", "hooks"]));
    git(&workspace, &["config", "remote.origin.receivepack", "false"]);
    let reply = approved(&workspace, &call(&workspace, "git_push", json!({})));
    assert_eq!(reply["ok"], true, "{reply}");
}

#[test]
fn a6_a_remote_that_cannot_be_reached_says_why() {
    let workspace = two();
    // Git refuses these by their scheme, before a name is looked up.
    for remote in ["ssh://git.invalid/x.git", "git@git.invalid:x.git"] {
        let reply = refused(&call(&workspace, "git_push", json!({"remote": remote})));
        assert_eq!(reply["error"]["code"], "UNAVAILABLE", "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("network"), "{reply}");
    }
    let reply = refused(&call(&workspace, "git_push", json!({"remote": "ext::sh -c true"})));
    assert_eq!(reply["error"]["code"], "UNAVAILABLE", "{reply}");
    let reply = refused(&call(&workspace, "git_push", json!({"remote": "nowhere"})));
    assert_eq!(reply["error"]["code"], "FILE_NOT_FOUND", "{reply}");
    // Nobody is asked about what cannot be pushed.
    for wrong in
        [json!({"remote": "--all"}), json!({"branch": "+main"}), json!({"branch": "nowhere"})]
    {
        let answer = call(&workspace, "git_push", wrong);
        assert_eq!(answer.body["result"]["error"]["code"], "INVALID_ARGUMENTS", "{}", answer.body);
    }
    // What the repository itself says about transports counts for nothing.
    for (key, value) in [("protocol.ext.allow", "always"), ("protocol.allow", "always")] {
        git(&workspace, &["config", key, value]);
        let reply = refused(&call(&workspace, "git_push", json!({"remote": "ext::touch ran"})));
        assert_eq!(reply["error"]["code"], "UNAVAILABLE", "{reply}");
        assert!(!workspace.has("/ran"));
    }
}

#[test]
fn a6_a_push_goes_where_the_person_was_shown_whatever_the_settings_say() {
    let workspace = two();
    git(&workspace, &["init", "-q", "--bare", "-b", "main", "other.git"]);
    // Only a push is led elsewhere: the person is shown the address that was named.
    for (setting, from) in [("pushInsteadOf", "./remote.git"), ("pushInsteadOf", "s")] {
        git(&workspace, &["config", "--add", &format!("url../other.git.{setting}"), from]);
    }
    let answer = call(&workspace, "git_push", json!({"remote": "./remote.git"}));
    let shown = workspace.person().approvals().get(asked(&answer)).unwrap().request.diff;
    assert!(shown.starts_with("push to ./remote.git (./remote.git)"), "{shown}");
    let reply = approved(&workspace, &answer);
    assert_eq!(reply["ok"], true, "{reply}");
    assert_eq!(at_remote(&workspace, "main"), git(&workspace, &["rev-parse", "HEAD"]));
    let other =
        git_in(&workspace.root().join("other.git"), &["rev-parse", "--verify", "-q", "main"])
            .output();
    assert!(!other.unwrap().status.success(), "nothing was pushed elsewhere");
}

#[test]
fn a6_a_yes_is_to_the_commit_and_the_place_that_were_shown() {
    for meanwhile in [
        &["commit", "-q", "--allow-empty", "-m", "later"][..],
        &["remote", "set-url", "origin", "./other.git"],
    ] {
        let workspace = two();
        git(&workspace, &["init", "-q", "--bare", "other.git"]);
        let answer = call(&workspace, "git_push", json!({}));
        let shown = workspace.person().approvals().get(asked(&answer)).unwrap();
        let commit = git(&workspace, &["rev-parse", "HEAD"]);
        let diff = shown.request.diff.clone();
        assert!(
            diff.contains(commit.trim()) && diff.contains("./remote.git") && diff.contains(" one"),
            "{diff}"
        );
        git(&workspace, meanwhile);
        let approval = decide(&workspace, asked(&answer), true);
        assert_eq!(approval.answer, None, "{meanwhile:?}: {approval:?}");
        assert_eq!(at_remote(&workspace, "main"), "", "{meanwhile:?}");
    }
}
