//! `git_push` to folders of the workspace: never without a person (A6).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use yard_dialects::Answer;
use yard_gate::{Actor, DecisionInput, Policy, Scope};
use yard_testkit::Yard;

use crate::box_setup::{asked, decide, shown, yard};
use crate::programs::{call, git, git_in, repository, run};

/// A repository with one commit, and a bare one beside it that is its `origin`.
fn two() -> Yard {
    let yard = yard();
    git(&yard, &["init", "-q", "--bare", "-b", "main", "remote.git"]);
    repository(&yard);
    yard.put("a", "one\n");
    yard.put(".gitignore", "remote.git\n");
    git(&yard, &["add", "."]);
    git(&yard, &["commit", "-qm", "one"]);
    git(&yard, &["remote", "add", "origin", "./remote.git"]);
    yard
}

/// The answer after a person said yes.
#[track_caller]
fn approved(yard: &Yard, answer: &Answer) -> Value {
    let approval = decide(yard, asked(answer), true);
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

fn at_remote(yard: &Yard, name: &str) -> String {
    let remote = yard.root().join("remote.git");
    let mut git = git_in(&remote, &["rev-parse", "--verify", "-q", name]);
    String::from_utf8(git.output().unwrap().stdout).unwrap()
}

#[test]
fn a6_a_push_asks_under_every_policy_and_happens_after_a_yes() {
    for policy in [Policy::Open, Policy::Guarded] {
        let yard = two();
        let session = yard.session_of(Actor::LocalAgent, policy);
        let answer =
            yard.catalog().call("assistant", "git_push", json!({}), &session, &yard.surroundings());
        assert!(answer.pending.is_some(), "{policy:?}: {}", answer.body);
        assert_eq!(at_remote(&yard, "main"), "", "not yet");
        let reply = approved(&yard, &answer);
        assert_eq!(reply["ok"], true, "{policy:?}: {reply}");
        let pushed = &reply["value"]["refs"][0];
        assert_eq!(
            (&pushed["status"], &pushed["remote"]),
            (&json!("new"), &json!("refs/heads/main"))
        );
        assert_eq!(at_remote(&yard, "main"), git(&yard, &["rev-parse", "HEAD"]));
        let upstream = git(&yard, &["rev-parse", "--abbrev-ref", "main@{upstream}"]);
        assert_eq!(upstream.trim(), "origin/main", "{policy:?}");
    }
}

#[test]
fn a6_an_upstream_that_is_set_stays_and_a_remote_without_a_name_is_none() {
    let yard = two();
    git(&yard, &["config", "branch.main.remote", "elsewhere"]);
    let reply = approved(&yard, &call(&yard, "git_push", json!({})));
    assert_eq!(reply["ok"], true, "{reply}");
    assert_eq!(git(&yard, &["config", "branch.main.remote"]).trim(), "elsewhere");
    git(&yard, &["config", "--unset", "branch.main.remote"]);
    git(&yard, &["branch", "other"]);
    let args = json!({"remote": "./remote.git", "branch": "other"});
    let reply = approved(&yard, &call(&yard, "git_push", args));
    assert_eq!(reply["ok"], true, "{reply}");
    let configuration = git(&yard, &["config", "--list", "--local"]);
    assert!(!configuration.contains("branch."), "{configuration}");
}

#[test]
fn a6_a_no_is_a_no_and_no_rule_stands_for_a_person() {
    let yard = two();
    let rules = json!({"rules": [{"then": "allow"}]});
    let rules = rules.as_object().unwrap();
    yard.person().change_settings(&yard.surroundings(), rules).unwrap();
    let answer = call(&yard, "git_push", json!({}));
    decide(&yard, asked(&answer), false);
    assert_eq!(at_remote(&yard, "main"), "");
    let answer = call(&yard, "git_push", json!({}));
    let scope = Scope::Chat;
    let state = shown(&yard, asked(&answer));
    let ruling = DecisionInput { approves: true, scope, reason: None, args: None, state };
    let fault =
        yard.catalog().decide(asked(&answer), &ruling, &yard.person(), &yard.surroundings());
    assert!(fault.is_err(), "a yes is for one push");
    approved(&yard, &answer);
    assert!(call(&yard, "git_push", json!({})).pending.is_some(), "each time");
}

#[test]
fn a6_what_the_remote_has_is_replaced_only_if_the_caller_says_so() {
    let yard = two();
    approved(&yard, &call(&yard, "git_push", json!({"branch": "main"})));
    let reply = approved(&yard, &call(&yard, "git_push", json!({})));
    assert_eq!(reply["value"]["refs"][0]["status"], "up to date", "{reply}");
    git(&yard, &["commit", "-q", "--amend", "-m", "another"]);
    let reply = refused(&call(&yard, "git_push", json!({})));
    assert_eq!(reply["error"]["code"], "CONFLICT", "{reply}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("forceWithLease"), "{reply}");
    let reply = approved(&yard, &call(&yard, "git_push", json!({"forceWithLease": true})));
    assert_eq!(reply["value"]["refs"][0]["status"], "forced", "{reply}");
    assert_eq!(at_remote(&yard, "main"), git(&yard, &["rev-parse", "HEAD"]));
}

#[test]
fn a6_no_hook_runs_at_either_end() {
    let yard = two();
    for hook in [".git/hooks/pre-push", "remote.git/hooks/pre-receive", "remote.git/hooks/update"] {
        let at = yard.root().join(hook);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(&at, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    }
    run(&mut git_in(&yard.root().join("remote.git"), &["config", "core.hooksPath", "hooks"]));
    git(&yard, &["config", "remote.origin.receivepack", "false"]);
    let reply = approved(&yard, &call(&yard, "git_push", json!({})));
    assert_eq!(reply["ok"], true, "{reply}");
}

#[test]
fn a6_a_remote_that_cannot_be_reached_says_why() {
    let yard = two();
    // Git refuses these by their scheme, before a name is looked up.
    for remote in ["ssh://git.invalid/x.git", "git@git.invalid:x.git"] {
        let reply = refused(&call(&yard, "git_push", json!({"remote": remote})));
        assert_eq!(reply["error"]["code"], "UNAVAILABLE", "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("network"), "{reply}");
    }
    let reply = refused(&call(&yard, "git_push", json!({"remote": "ext::sh -c true"})));
    assert_eq!(reply["error"]["code"], "UNAVAILABLE", "{reply}");
    let reply = refused(&call(&yard, "git_push", json!({"remote": "nowhere"})));
    assert_eq!(reply["error"]["code"], "FILE_NOT_FOUND", "{reply}");
    // Nobody is asked about what cannot be pushed.
    for wrong in
        [json!({"remote": "--all"}), json!({"branch": "+main"}), json!({"branch": "nowhere"})]
    {
        let answer = call(&yard, "git_push", wrong);
        assert_eq!(answer.body["result"]["error"]["code"], "INVALID_ARGUMENTS", "{}", answer.body);
    }
    // What the repository itself says about transports counts for nothing.
    for (key, value) in [("protocol.ext.allow", "always"), ("protocol.allow", "always")] {
        git(&yard, &["config", key, value]);
        let reply = refused(&call(&yard, "git_push", json!({"remote": "ext::touch ran"})));
        assert_eq!(reply["error"]["code"], "UNAVAILABLE", "{reply}");
        assert!(!yard.has("/ran"));
    }
}

#[test]
fn a6_a_yes_is_to_the_commit_and_the_place_that_were_shown() {
    for meanwhile in [
        &["commit", "-q", "--allow-empty", "-m", "later"][..],
        &["remote", "set-url", "origin", "./other.git"],
    ] {
        let yard = two();
        git(&yard, &["init", "-q", "--bare", "other.git"]);
        let answer = call(&yard, "git_push", json!({}));
        let shown = yard.person().approvals().get(asked(&answer)).unwrap();
        let commit = git(&yard, &["rev-parse", "HEAD"]);
        let diff = shown.request.diff.clone();
        assert!(
            diff.contains(commit.trim()) && diff.contains("./remote.git") && diff.contains(" one"),
            "{diff}"
        );
        git(&yard, meanwhile);
        let approval = decide(&yard, asked(&answer), true);
        assert_eq!(approval.answer, None, "{meanwhile:?}: {approval:?}");
        assert_eq!(at_remote(&yard, "main"), "", "{meanwhile:?}");
    }
}
