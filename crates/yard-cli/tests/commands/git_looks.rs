//! `git_status`, `git_diff` and `git_log` on real repositories, beside what git itself says (A6).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};
use yard_core::op::{History, HistoryOf};
use yard_gate::{Actor, CallerPolicy};
use yard_testkit::TestWorkspace;

use crate::box_setup::{picture, workspace};
use crate::programs::{call, error, git, git_in, repository, run, value};

fn steps(workspace: &TestWorkspace) -> usize {
    let history = History { of: HistoryOf::Workspace, before: None, limit: 100 };
    workspace.perform(history).unwrap().steps.len()
}

/// A list of `git_status`, as `status path` words.
fn changed_paths(list: &Value) -> Vec<String> {
    let entries = list.as_array().unwrap().iter();
    let mut changed_paths: Vec<String> = entries
        .map(|entry| match entry.as_str() {
            Some(path) => path.to_owned(),
            None => {
                let text = |name: &str| entry[name].as_str().unwrap_or_default();
                format!("{} {} {}", text("status"), text("path"), text("from")).trim().to_owned()
            }
        })
        .collect();
    changed_paths.sort();
    changed_paths
}

#[test]
fn a6_git_status_knows_every_state_and_every_name() {
    let workspace = workspace();
    repository(&workspace);
    let long: String = (0..50).map(|line| format!("line {line}\n")).collect();
    for name in ["same", "changed", "gone", "staged", "both", "with space", "new\nline", "ünï"] {
        workspace.put(name, format!("{name}\n"));
    }
    workspace.put("old name", &long);
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-qm", "one"]);
    git(&workspace, &["mv", "old name", "renamed\tname"]);
    workspace.put("changed", "else\n");
    workspace.put("staged", "else\n");
    workspace.put("both", "else\n");
    git(&workspace, &["add", "staged", "both"]);
    workspace.put("both", "else again\n");
    fs::remove_file(workspace.root().join("gone")).unwrap();
    for name in ["with space", "new\nline", "ünï"] {
        workspace.put(name, "else\n");
    }
    fs::write(workspace.root().join(OsStr::from_bytes(b"odd\xff")), "x").unwrap();
    workspace.put("-dash", "x");
    workspace.put("folder/a", "x");
    let (before, history) = (picture(workspace.root()), steps(&workspace));
    let status = value(&workspace, "git_status", json!({}));
    assert_eq!((&status["branch"], &status["clean"]), (&json!("main"), &json!(false)));
    assert_eq!(status["head"], git(&workspace, &["rev-parse", "HEAD"]).trim());
    let staged = ["modified both", "modified staged", "renamed renamed\tname old name"];
    assert_eq!(changed_paths(&status["staged"]), staged);
    let unstaged = [
        "deleted gone",
        "modified both",
        "modified changed",
        "modified new\nline",
        "modified with space",
        "modified ünï",
    ];
    assert_eq!(changed_paths(&status["unstaged"]), unstaged);
    assert_eq!(changed_paths(&status["untracked"]), ["-dash", "folder/", "odd\\xff"]);
    assert_eq!(status["counts"]["unstaged"], 6);
    assert_eq!((&status["upstream"], &status["ahead"]), (&Value::Null, &Value::Null));
    let one = value(&workspace, "git_status", json!({"path": "with space"}));
    assert_eq!(changed_paths(&one["unstaged"]), ["modified with space"]);
    assert_eq!(one["counts"]["staged"], 0);
    assert_eq!(picture(workspace.root()), before, "looking changes nothing");
    assert_eq!(steps(&workspace), history, "and leaves no step");
}

#[test]
fn a6_git_status_comes_in_parts() {
    let workspace = workspace();
    repository(&workspace);
    for number in 0..25 {
        workspace.put(&format!("f{number:02}"), "x");
    }
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut args = json!({"limit": 10});
        if !cursor.is_null() {
            args["cursor"] = cursor;
        }
        let part = value(&workspace, "git_status", args);
        assert_eq!(part["counts"]["untracked"], 25);
        seen.extend(changed_paths(&part["untracked"]));
        cursor = part["next"].clone();
        assert_eq!(part["truncated"], !cursor.is_null());
        if cursor.is_null() {
            break;
        }
    }
    let all: Vec<String> = (0..25).map(|number| format!("f{number:02}")).collect();
    assert_eq!(seen, all);
}

#[test]
fn a6_more_files_than_a_stream_shows_are_all_counted() {
    let workspace = workspace();
    repository(&workspace);
    for number in 0..3_000 {
        workspace
            .put(&format!("a file with quite a long name, so that many bytes come {number}"), "x");
    }
    let status = value(&workspace, "git_status", json!({"limit": 1}));
    assert_eq!(status["counts"]["untracked"], 3_000);
}

#[test]
fn a6_without_commits_without_a_branch_and_with_an_upstream() {
    let workspace = workspace();
    repository(&workspace);
    let status = value(&workspace, "git_status", json!({}));
    assert_eq!((&status["branch"], &status["head"]), (&json!("main"), &Value::Null));
    assert_eq!(status["clean"], true);
    assert_eq!(value(&workspace, "git_log", json!({}))["commits"], json!([]));
    assert_eq!(value(&workspace, "git_diff", json!({}))["diff"], "");
    workspace.put("a", "one\n");
    git(&workspace, &["add", "."]);
    let staged = value(&workspace, "git_diff", json!({"staged": true}));
    assert_eq!(staged["files"][0]["status"], "added");
    git(&workspace, &["commit", "-qm", "one"]);
    git(&workspace, &["clone", "-q", ".", "sub"]);
    let sub = workspace.root().join("sub");
    for (folder, name) in [(&sub, "b"), (&sub, "c"), (&workspace.root().to_owned(), "d")] {
        fs::write(folder.join(name), "x").unwrap();
        run(&mut git_in(folder, &["add", name]));
        run(&mut git_in(folder, &["commit", "-qm", name]));
    }
    run(&mut git_in(&sub, &["fetch", "-q"]));
    let status = value(&workspace, "git_status", json!({"repository": "sub"}));
    let upstream = (&status["upstream"], &status["ahead"], &status["behind"]);
    assert_eq!(upstream, (&json!("origin/main"), &json!(2), &json!(1)));
    git(&workspace, &["checkout", "-q", "--detach"]);
    assert_eq!(value(&workspace, "git_status", json!({}))["branch"], Value::Null);
    let message = error(&workspace, "git_status", json!({"repository": "sub", "path": "a"}));
    assert_eq!(message.0, "INVALID_ARGUMENTS");
}

#[test]
fn a6_a_conflict_is_reported() {
    let workspace = workspace();
    conflict(&workspace);
    let status = value(&workspace, "git_status", json!({}));
    assert_eq!(changed_paths(&status["conflicted"]), ["both modified a"]);
    let diff = value(&workspace, "git_diff", json!({}));
    assert_eq!(diff["files"][0]["status"], "conflicted");
    assert!(diff["diff"].as_str().unwrap().contains("<<<<<<<"), "{diff}");
}

/// A merge that stopped in `a`.
pub(crate) fn conflict(workspace: &TestWorkspace) {
    repository(workspace);
    workspace.put("a", "one\n");
    git(workspace, &["add", "."]);
    git(workspace, &["commit", "-qm", "one"]);
    git(workspace, &["checkout", "-qb", "other"]);
    workspace.put("a", "theirs\n");
    git(workspace, &["commit", "-qam", "theirs"]);
    git(workspace, &["checkout", "-q", "main"]);
    workspace.put("a", "ours\n");
    git(workspace, &["commit", "-qam", "ours"]);
    let merged = git_in(workspace.root(), &["merge", "-q", "other"]).output().unwrap();
    assert!(!merged.status.success());
}

#[test]
fn a6_git_diff_is_what_git_says() {
    let workspace = workspace();
    repository(&workspace);
    workspace.put("a b", "one\ntwo\n");
    workspace.put("moved", "1\n2\n3\n4\n5\n");
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-qm", "one"]);
    workspace.put("a b", "one\nTWO\nthree\n");
    workspace.put("bin", b"\0\x01");
    git(&workspace, &["add", "bin"]);
    git(&workspace, &["mv", "moved", "elsewhere"]);
    let diff = value(&workspace, "git_diff", json!({}));
    let file = json!({"path": "a b", "status": "modified", "additions": 2, "deletions": 1});
    assert_eq!(diff["files"], json!([file]));
    assert_eq!(diff["diff"], git(&workspace, &["diff"]));
    let staged = value(&workspace, "git_diff", json!({"staged": true}));
    let files = json!([
        {"path": "bin", "status": "added", "additions": null, "deletions": null},
        {"path": "elsewhere", "from": "moved", "status": "renamed", "additions": 0, "deletions": 0},
    ]);
    assert_eq!(staged["files"], files);
    assert_eq!(staged["diff"], git(&workspace, &["diff", "--cached", "-M"]));
    git(&workspace, &["commit", "-qam", "two"]);
    let range = value(&workspace, "git_diff", json!({"range": "HEAD~1..HEAD", "path": "a b"}));
    assert_eq!(range["diff"], git(&workspace, &["diff", "HEAD~1..HEAD", "--", "a b"]));
    assert_eq!((&range["fileCount"], &range["additions"]), (&json!(1), &json!(2)));
}

#[test]
fn a6_a_long_diff_comes_in_parts_that_make_the_whole() {
    let workspace = workspace();
    repository(&workspace);
    workspace.put("long", "x\n");
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-qm", "one"]);
    workspace.put("long", (0..40_000).map(|line| format!("line {line} é\n")).collect::<String>());
    let (mut whole, mut args) = (String::new(), json!({}));
    loop {
        let part = value(&workspace, "git_diff", args.clone());
        let text = part["diff"].as_str().unwrap();
        assert!(text.len() <= 128 << 10);
        whole.push_str(text);
        match part["next"].as_str() {
            Some(next) => args["cursor"] = json!(next),
            None => break,
        }
    }
    assert_eq!(whole, git(&workspace, &["diff"]));
}

#[test]
fn a6_git_log_is_what_git_says() {
    let workspace = workspace();
    repository(&workspace);
    for number in 0..7 {
        workspace.put(if number % 2 == 0 { "even" } else { "odd" }, format!("{number}\n"));
        git(&workspace, &["add", "."]);
        git(&workspace, &["commit", "-qm", &format!("commit {number}\n\nwhy {number}\nand more")]);
    }
    git(&workspace, &["tag", "v1"]);
    let hashes = |log: &Value| -> String {
        let commits = log["commits"].as_array().unwrap();
        commits.iter().map(|commit| format!("{}\n", commit["hash"].as_str().unwrap())).collect()
    };
    let first = value(&workspace, "git_log", json!({"limit": 3}));
    let (subject, body) = (&first["commits"][0]["subject"], &first["commits"][0]["body"]);
    assert_eq!((subject, body), (&json!("commit 6"), &json!("why 6\nand more")));
    assert_eq!(first["commits"][0]["author"], "Ann");
    assert_eq!(first["commits"][0]["refs"], json!(["HEAD -> main", "tag: v1"]));
    assert_eq!((&first["truncated"], &first["next"]), (&json!(true), &json!("3")));
    let rest = value(&workspace, "git_log", json!({"limit": 100, "cursor": "3"}));
    let all = hashes(&first) + &hashes(&rest);
    assert_eq!(all, git(&workspace, &["log", "--format=%H"]));
    let odd = value(&workspace, "git_log", json!({"path": "odd", "ref": "v1~1"}));
    assert_eq!(hashes(&odd), git(&workspace, &["log", "--format=%H", "v1~1", "--", "odd"]));
    assert_eq!(rest["commits"][3]["parents"], json!([]), "the first one");
}

#[test]
fn a6_git_is_neither_misled_nor_given_options() {
    let workspace = workspace();
    repository(&workspace);
    workspace.put("a", "one\n");
    workspace.put(".gitattributes", "* diff=evil\n");
    workspace.put("evil.sh", "#!/bin/sh\necho EVIL\n");
    run(std::process::Command::new("chmod").arg("+x").arg(workspace.root().join("evil.sh")));
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-qm", "one"]);
    let evil = workspace.root().join("evil.sh").display().to_string();
    for key in [
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.pager",
        "core.fsmonitor",
        "core.sshCommand",
        "pager.log",
        "gpg.program",
    ] {
        git(&workspace, &["config", key, &evil]);
    }
    for (key, setting) in
        [("color.ui", "always"), ("diff.noprefix", "true"), ("log.showSignature", "true")]
    {
        git(&workspace, &["config", key, setting]);
    }
    workspace.put("a", "two\n");
    let diff = value(&workspace, "git_diff", json!({}))["diff"].as_str().unwrap().to_owned();
    assert!(diff.starts_with("diff --git a/a b/a\n") && diff.contains("\n-one\n+two\n"), "{diff}");
    assert_eq!(value(&workspace, "git_status", json!({}))["counts"]["unstaged"], 1);
    assert_eq!(value(&workspace, "git_log", json!({}))["commits"][0]["subject"], "one");
    for odd in ["--output=x", "-p", "a b"] {
        assert_eq!(error(&workspace, "git_diff", json!({"range": odd})).0, "INVALID_ARGUMENTS");
        assert_eq!(error(&workspace, "git_log", json!({"ref": odd})).0, "INVALID_ARGUMENTS");
    }
    workspace.put(":(top)b", "x");
    let status = value(&workspace, "git_status", json!({"path": ":(top)b"}));
    assert_eq!(changed_paths(&status["untracked"]), [":(top)b"], "a path is a path");
    let (code, message) = error(&workspace, "git_log", json!({"ref": "nowhere"}));
    assert!(code == "INVALID_ARGUMENTS" && message.contains("git_log lists"), "{message}");
}

#[test]
fn a6_where_there_is_no_repository_the_answer_says_how_to_make_one() {
    let workspace = workspace();
    workspace.put("sub/a", "x");
    for args in [json!({}), json!({"repository": "sub"})] {
        let (code, message) = error(&workspace, "git_status", args);
        assert_eq!(code, "FILE_NOT_FOUND");
        assert!(message.contains("git init") && message.contains("`repository`"), "{message}");
    }
    repository(&workspace);
    let (code, _) = error(&workspace, "git_status", json!({"repository": "sub"}));
    assert_eq!(code, "FILE_NOT_FOUND", "none above is looked for");
    let (code, _) = error(&workspace, "git_status", json!({"repository": "../x"}));
    assert_eq!(code, "INVALID_PATH");
}

#[test]
fn a6_looking_asks_nobody_under_guarded_and_everybody_under_strict() {
    let workspace = workspace();
    repository(&workspace);
    let as_agent = |policy| {
        let session = workspace.session_of(Actor::LocalAgent, policy);
        workspace.call_as(&session, "assistant", "git_status", json!({}))
    };
    assert!(as_agent(CallerPolicy::Guarded).ok);
    let asked = as_agent(CallerPolicy::Strict);
    let approval = crate::box_setup::decide(&workspace, crate::box_setup::asked(&asked), true);
    let result = approval.answer.unwrap_or_default();
    assert!(result.contains("\"branch\":\"main\""), "{result}");
    assert!(call(&workspace, "git_status", json!({})).ok);
}
