//! `git_commit` on real repositories (A6).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use yard_core::Author;
use yard_core::op::Undo;
use yard_testkit::TestWorkspace;

use crate::box_setup::{asked, decide, guarded, newest, workspace};
use crate::git_looks::conflict;
use crate::programs::{error, git, repository, value};

fn one_commit(workspace: &TestWorkspace) {
    repository(workspace);
    workspace.put("a", "one\n");
    workspace.put("b", "one\n");
    git(workspace, &["add", "."]);
    git(workspace, &["commit", "-qm", "one"]);
}

#[test]
fn a6_a_commit_is_its_caller_s_and_a_step_that_can_be_undone() {
    let workspace = workspace();
    one_commit(&workspace);
    let before = git(&workspace, &["rev-parse", "HEAD"]);
    workspace.put("a", "two\nthree\n");
    workspace.put("new file", "x\n");
    let message = "subject \"quoted\" $HOME\n\nwhy, with 'signs' and -- more\n# not a comment";
    let made = value(&workspace, "git_commit", json!({"message": message, "all": true}));
    assert_eq!(made["hash"], git(&workspace, &["rev-parse", "HEAD"]).trim());
    assert_eq!((&made["branch"], &made["fileCount"]), (&json!("main"), &json!(2)));
    assert_eq!((&made["additions"], &made["deletions"]), (&json!(3), &json!(1)));
    assert_eq!(made["files"][1]["path"], "new file");
    assert_eq!(git(&workspace, &["log", "-1", "--format=%B"]).trim_end(), message);
    let author = "agent:local <agent-local@toolyard.invalid>";
    assert_eq!(made["author"], author);
    assert_eq!(git(&workspace, &["log", "-1", "--format=%an <%ae>"]).trim(), author);
    assert_eq!(git(&workspace, &["log", "-1", "--format=%cn <%ce>"]).trim(), author);
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    assert_eq!(git(&workspace, &["fsck", "--strict"]), "");
    let (step, by) = newest(&workspace);
    assert_eq!(by, Author::Agent);
    workspace.perform(Undo::of(step)).unwrap();
    assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), before);
    assert_eq!(workspace.bytes("a"), b"two\nthree\n", "the work stays");
}

#[test]
fn a6_a_repository_that_names_its_author_has_its_commits() {
    let workspace = workspace();
    one_commit(&workspace);
    workspace.put("a", "two\n");
    git(&workspace, &["config", "user.name", "Ada Repo"]);
    let made = value(&workspace, "git_commit", json!({"message": "name alone", "all": true}));
    assert_eq!(made["author"], "Ada Repo <agent-local@toolyard.invalid>");
    git(&workspace, &["config", "user.email", "ada@example.com"]);
    workspace.put("a", "three\n");
    let made = value(&workspace, "git_commit", json!({"message": "both", "all": true}));
    assert_eq!(made["author"], "Ada Repo <ada@example.com>");
    for format in ["--format=%an <%ae>", "--format=%cn <%ce>"] {
        assert_eq!(git(&workspace, &["log", "-1", format]).trim(), "Ada Repo <ada@example.com>");
    }
    assert_eq!(newest(&workspace).1, Author::Agent, "the step is the caller's");
}

#[test]
fn a6_only_what_is_named_is_committed() {
    let workspace = workspace();
    one_commit(&workspace);
    for name in ["a", "b", "folder/-x", "folder/y z"] {
        workspace.put(name, "two\n");
    }
    git(&workspace, &["add", "b"]);
    let paths = json!({"message": "some", "paths": ["a", "folder/-x"]});
    let made = value(&workspace, "git_commit", paths);
    assert_eq!(made["fileCount"], 2, "{made}");
    let left = git(&workspace, &["status", "--porcelain", "-uall"]);
    assert_eq!(left, "M  b\n?? \"folder/y z\"\n", "what was staged is staged");
    assert_eq!(value(&workspace, "git_commit", json!({"message": "staged"}))["fileCount"], 1);
    let (code, message) = error(&workspace, "git_commit", json!({"message": "none"}));
    assert_eq!(code, "INVALID_ARGUMENTS");
    assert!(message.contains("nothing is staged") && message.contains("`all: true`"), "{message}");
    fs::remove_file(workspace.root().join("a")).unwrap();
    let made = value(&workspace, "git_commit", json!({"message": "gone", "paths": ["a"]}));
    assert_eq!(made["files"][0]["status"], "deleted");
    value(&workspace, "git_commit", json!({"message": "rest", "all": true}));
    let (_, message) = error(&workspace, "git_commit", json!({"message": "none", "all": true}));
    assert!(message.contains("nothing differs"), "{message}");
    let (_, message) =
        error(&workspace, "git_commit", json!({"message": "x", "paths": ["nowhere"]}));
    assert!(message.contains("nowhere"), "{message}");
    for wrong in [json!({"message": " "}), json!({"message": "x", "all": true, "paths": ["a"]})] {
        assert_eq!(error(&workspace, "git_commit", wrong).0, "INVALID_ARGUMENTS");
    }
}

#[test]
fn a6_the_first_commit_and_one_without_a_branch() {
    let workspace = workspace();
    repository(&workspace);
    let (_, message) = error(&workspace, "git_commit", json!({"message": "none", "all": true}));
    assert!(message.contains("nothing to commit"), "{message}");
    workspace.put("a", "one\n");
    let made = value(&workspace, "git_commit", json!({"message": "first", "all": true}));
    assert_eq!((&made["files"][0]["status"], &made["additions"]), (&json!("added"), &json!(1)));
    git(&workspace, &["checkout", "-q", "--detach"]);
    workspace.put("a", "two\n");
    let made = value(&workspace, "git_commit", json!({"message": "second", "all": true}));
    assert_eq!(made["branch"], serde_json::Value::Null);
}

#[test]
fn a6_hooks_do_not_run_and_nothing_is_signed() {
    let workspace = workspace();
    one_commit(&workspace);
    for hook in ["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit"] {
        let at = workspace.root().join(".git/hooks").join(hook);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(&at, "#!/bin/sh\necho ran >> hooked\nexit 1\n").unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for (key, setting) in
        [("commit.gpgSign", "true"), ("gpg.program", "false"), ("core.hooksPath", ".git/hooks")]
    {
        git(&workspace, &["config", key, setting]);
    }
    workspace.put("a", "two\n");
    value(&workspace, "git_commit", json!({"message": "two", "all": true}));
    assert!(!workspace.has("hooked"));
}

#[test]
fn a6_the_marks_of_a_conflict_are_not_committed() {
    let workspace = workspace();
    conflict(&workspace);
    let (code, message) = error(&workspace, "git_commit", json!({"message": "merge", "all": true}));
    assert_eq!(code, "CONFLICT");
    assert!(message.contains("a:1"), "{message}");
    workspace.put("a", "both\n");
    value(&workspace, "git_commit", json!({"message": "merge", "all": true}));
    let parents = git(&workspace, &["log", "-1", "--format=%P"]);
    assert_eq!(parents.split_whitespace().count(), 2);
}

#[test]
fn a6_a_guarded_commit_needs_no_word_and_plan_mode_takes_none() {
    let workspace = workspace();
    one_commit(&workspace);
    workspace.put("a", "two\n");
    let commit = |session| {
        let args = json!({"message": "two", "all": true});
        workspace.call_as(&session, "assistant", "git_commit", args)
    };
    let answer = commit(guarded(&workspace));
    assert!(answer.ok && answer.pending.is_none(), "{}", answer.body);
    let (person, mode) = (workspace.person(), Some(yard_gate::Mode::Plan));
    let chat = person.chats().make(&workspace.call_context(), "Plans", mode).unwrap();
    let planning = workspace.session().in_chat(chat.id).unwrap();
    workspace.put("a", "three\n");
    let head = git(&workspace, &["rev-parse", "HEAD"]);
    let answer = commit(planning);
    assert_eq!(answer.body["result"]["error"]["code"], "PERMISSION_DENIED", "{}", answer.body);
    assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), head);
}

#[test]
fn a6_an_approved_commit_answers_with_its_hash() {
    let workspace = workspace();
    one_commit(&workspace);
    workspace.put("a", "two\n");
    let strict =
        workspace.session_of(yard_gate::Actor::LocalAgent, yard_gate::CallerPolicy::Strict);
    let args = json!({"message": "two", "all": true});
    let first = workspace.call_as(&strict, "assistant", "git_commit", args);
    // The start is asked for, and then what it changed.
    let started = decide(&workspace, asked(&first), true);
    let landed = match started.answer {
        Some(_) => started,
        None => decide(&workspace, started.id, true),
    };
    let answer = landed.answer.unwrap_or_default();
    let head = git(&workspace, &["rev-parse", "HEAD"]);
    assert!(answer.contains(head.trim()), "{answer}");
}
