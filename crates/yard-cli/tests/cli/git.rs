//! Git in the box on a real repository: looking makes no step; what git does is a step, and its undo brings back
//! the files and git's own state.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Ran, TestWorkspace};

/// Commands of git that look and change nothing.
const LOOKS: [&str; 72] = [
    "status",
    "status --porcelain=v2 --branch --ignored",
    "status --short --untracked-files=all",
    "log",
    "log --oneline --graph --all --decorate",
    "log -p --stat -2",
    "log --follow -- src/two",
    "log -S two --format=%H",
    "whatchanged --i-still-use-this -1 || git log --raw -1",
    "shortlog -sn HEAD",
    "diff",
    "diff --stat",
    "diff --cached",
    "diff --name-only HEAD",
    "diff --quiet",
    "diff HEAD~1 -- src",
    "diff --check",
    "diff main...topic",
    "diff-index HEAD",
    "diff-files",
    "diff-tree -r HEAD",
    "difftool --tool-help",
    "show",
    "show --stat HEAD~1",
    "show HEAD:src/two",
    "show-ref",
    "show-branch",
    "blame src/two",
    "annotate one",
    "branch",
    "branch -a -vv",
    "branch --contains HEAD~1",
    "tag -l",
    "tag -n",
    "describe --always",
    "describe --tags --dirty",
    "name-rev HEAD",
    "rev-parse HEAD",
    "rev-parse --show-toplevel --git-dir --is-inside-work-tree",
    "rev-list --count --all",
    "merge-base main topic",
    "cherry main topic",
    "range-diff main~1..main main~1..topic",
    "ls-files",
    "ls-files --stage --debug",
    "ls-files --others --modified --deleted",
    "ls-tree -r HEAD",
    "ls-remote .",
    "cat-file -p HEAD",
    "cat-file --batch-check --batch-all-objects",
    "count-objects -v",
    "for-each-ref",
    "grep -n two",
    "stash list",
    "stash show -p",
    "reflog",
    "reflog show topic",
    "notes list",
    "config --list --show-origin",
    "config --get user.name",
    "remote -v",
    "remote show -n origin",
    "worktree list",
    "submodule status",
    "check-ignore -v ignored.txt",
    "check-attr -a one",
    "bisect log || true",
    "fsck --full",
    "verify-pack -v .git/objects/pack/*.idx || true",
    "var GIT_AUTHOR_IDENT",
    "update-index --refresh",
    "archive HEAD | wc -c",
];

fn home(workspace: &TestWorkspace) -> PathBuf {
    workspace.temp.path().join("home")
}

/// Git on the machine, as the person.
fn git(workspace: &TestWorkspace, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(workspace.root()).env_clear().env("HOME", home(workspace));
    git.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("GIT_EDITOR", "true").env("TZ", "UTC");
    // What is looked at here is not changed by looking.
    git.env("GIT_OPTIONAL_LOCKS", "0");
    let output = git.output().unwrap();
    let answer = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {answer}");
    String::from_utf8(output.stdout).unwrap()
}

fn commit(workspace: &TestWorkspace, name: &str, text: &str) {
    let path = workspace.file(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    git(workspace, &["add", "-A"]);
    git(workspace, &["commit", "-q", "-m", &format!("{name}: {text}")]);
}

/// A repository with two branches that change the same line of `one`, and each a file of its own; a tag, a
/// stash and packed objects.
fn repository() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    fs::create_dir_all(home(&workspace)).unwrap();
    let identity = "[user]\n\tname = Ada\n\temail = ada@example.com\n";
    fs::write(home(&workspace).join(".gitconfig"), identity).unwrap();
    git(&workspace, &["init", "-q", "-b", "main", "."]);
    commit(&workspace, "one", "first\n");
    commit(&workspace, ".gitignore", "ignored.txt\n");
    commit(&workspace, "src/two", "two\ntwo\n");
    git(&workspace, &["gc", "-q"]);
    git(&workspace, &["tag", "-a", "v1", "-m", "first version"]);
    git(&workspace, &["switch", "-q", "-c", "topic"]);
    commit(&workspace, "one", "topic\n");
    commit(&workspace, "topic.txt", "topic\n");
    git(&workspace, &["switch", "-q", "main"]);
    commit(&workspace, "one", "main\n");
    commit(&workspace, "main.txt", "main\n");
    git(&workspace, &["remote", "add", "origin", "../elsewhere.git"]);
    fs::write(workspace.file("src/two"), "stashed\n").unwrap();
    git(&workspace, &["stash", "-q"]);
    fs::write(workspace.file("ignored.txt"), "ignored\n").unwrap();
    workspace
}

/// A command of an agent that may do what it likes.
fn shell(workspace: &TestWorkspace, command: &str) -> Value {
    let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000}).to_string();
    let mut call = workspace.command(&["call", "--toolset", "codex", "shell", &args]);
    let ran = Ran::from(call.env("PATH", "/usr/local/bin:/usr/bin:/bin").output().unwrap());
    assert_eq!(ran.exit, 0, "{command}: {}{}", ran.stdout, ran.stderr);
    ran.json()["result"].clone()
}

/// Sets the times of every file, so that the index does not know them any more.
fn make_index_stale(workspace: &TestWorkspace) {
    for name in ["one", "src/two", "main.txt", ".gitignore"] {
        let file = fs::File::options().append(true).open(workspace.file(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    }
}

#[test]
fn looking_at_a_repository_makes_no_step_and_finds_no_change() {
    let workspace = repository();
    for look in LOOKS {
        make_index_stale(&workspace);
        let result = shell(&workspace, &format!("git {look}"));
        assert_eq!(result["message"], Value::Null, "git {look}: {result}");
        assert_eq!(result["returncode"], 0, "git {look}: {result}");
        let says_changed = result["stdout"].as_str().unwrap().contains("dirty");
        assert!(!says_changed, "git {look}: {result}");
        if matches!(look, "diff --name-only HEAD" | "diff --stat" | "diff") {
            assert_eq!(result["stdout"], "", "git {look} finds changes where there are none");
        }
    }
    assert_eq!(workspace.run(&["history"]).stdout, "no steps\n");
}

#[test]
fn files_that_the_index_knows_are_not_read_again_in_the_box() {
    let workspace = repository();
    // What was written in the second of the index is read again anywhere.
    let past = SystemTime::now() - Duration::from_secs(60);
    for name in ["one", "src/two", "main.txt", ".gitignore"] {
        let file = fs::File::options().append(true).open(workspace.file(name)).unwrap();
        file.set_modified(past).unwrap();
    }
    git(&workspace, &["update-index", "--refresh"]);
    assert_eq!(git(&workspace, &["diff-files"]), "");
    assert_eq!(shell(&workspace, "git diff-files")["stdout"], "", "by whatever user the box shows");
}

/// What git says of a repository, and every file of it with its mode and bytes, git's own included.
#[derive(Debug, PartialEq)]
struct State {
    head: String,
    refs: String,
    index: String,
    status: String,
    stashes: String,
    fsck: String,
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

impl State {
    fn of(workspace: &TestWorkspace) -> Self {
        let mut files = BTreeMap::new();
        collect(&workspace.root(), &mut files);
        Self {
            head: fs::read_to_string(workspace.file(".git/HEAD")).unwrap(),
            refs: git(workspace, &["for-each-ref"]),
            index: git(workspace, &["ls-files", "--stage"]),
            status: git(workspace, &["status", "--porcelain=v2", "--branch"]),
            stashes: git(workspace, &["stash", "list"]),
            fsck: git(workspace, &["fsck", "--full", "--strict", "--no-dangling"]),
            files,
        }
    }

    /// A fault of the test if anything differs, with the names of the files that do.
    fn check_same(&self, other: &Self, what: &str) {
        let facts = |state: &Self| {
            let Self { head, refs, index, status, stashes, fsck, .. } = state;
            [head, refs, index, status, stashes, fsck].map(String::clone)
        };
        assert_eq!(facts(self), facts(other), "{what}");
        let names = self.files.keys().chain(other.files.keys());
        let differing: Vec<_> =
            names.filter(|name| self.files.get(*name) != other.files.get(*name)).collect();
        assert!(differing.is_empty(), "{what}: {differing:?}");
    }
}

fn collect(folder: &Path, all: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        let bytes = if meta.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
        if meta.is_dir() {
            collect(&path, all);
        }
        all.insert(path, (meta.permissions().mode(), bytes));
    }
}

/// Runs a command that lands as one step; what the repository was before and after it.
fn lands(workspace: &TestWorkspace, command: &str, exit: i64) -> (State, State) {
    let (before, steps) = (State::of(workspace), steps_of_agent(workspace));
    let result = shell(workspace, command);
    assert_eq!(result["returncode"], exit, "{command}: {result}");
    assert_eq!(steps_of_agent(workspace), steps + 1, "{command}: {result}");
    let after = State::of(workspace);
    assert_ne!(before, after, "{command}: {result}");
    (before, after)
}

fn steps_of_agent(workspace: &TestWorkspace) -> usize {
    workspace.steps(None).iter().filter(|step| step["author"] == "agent").count()
}

/// Undoes the newest step, and that undo, and the undo again: each time all is as it was.
fn undoes(workspace: &TestWorkspace, what: &str, (before, after): (State, State)) {
    for expected in [&before, &after, &before] {
        let step = workspace.newest_step();
        let undone = workspace.run(&["undo", &step]);
        assert_eq!(undone.exit, 0, "{what}: {}{}", undone.stdout, undone.stderr);
        expected.check_same(&State::of(workspace), what);
    }
}

fn lands_and_undoes(workspace: &TestWorkspace, command: &str) {
    let states = lands(workspace, command, 0);
    undoes(workspace, command, states);
}

#[test]
fn commits_and_switches_are_steps_and_are_undone_with_gits_state() {
    let workspace = repository();
    for command in [
        "echo more >> one && git commit -qam more",
        "echo new > new && git add new && git commit -qm new && git commit -q --amend -m renamed",
        "git switch -q topic",
        "git switch -q -c another HEAD~1",
        "git checkout -q --detach v1",
        "git branch -D topic",
        "git tag -d v1",
        "git reset -q --hard HEAD~2",
        "git mv src/two src/three && git rm -q main.txt",
        "git restore --source=v1 one",
        "git cherry-pick topic",
        "git revert --no-edit HEAD",
        "git stash drop",
        "git stash pop",
        "echo dirty >> one && git stash -q -u",
        "git worktree add -q side topic",
        "git config core.abbrev 12",
        "git notes add -m note",
    ] {
        lands_and_undoes(&workspace, command);
    }
}

#[test]
fn a_merge_with_a_conflict_is_a_step_and_so_is_its_end_or_its_abort() {
    let workspace = repository();
    let conflict = lands(&workspace, "git merge topic", 1);
    assert!(conflict.1.status.contains("\nu UU "), "{}", conflict.1.status);
    lands_and_undoes(&workspace, "git merge --abort");
    lands_and_undoes(&workspace, "echo both > one && git commit -qam both");
    // Both undid themselves, so the newest step that is not undone is the merge: the state is in conflict.
    conflict.1.check_same(&State::of(&workspace), "in conflict");
    // What an undo wrote has other times than the index knows, and `git merge --abort` does not look for itself.
    let abort = shell(&workspace, "git update-index -q --refresh; git merge --abort");
    assert_eq!(abort["returncode"], 0, "{abort}");
    let aborted = State::of(&workspace);
    assert_eq!((&aborted.refs, &aborted.index), (&conflict.0.refs, &conflict.0.index));
    let undone = workspace.run(&["undo", &workspace.newest_step()]);
    assert_eq!(undone.exit, 0, "{}", undone.stderr);
    conflict.1.check_same(&State::of(&workspace), "the abort is undone");
}

#[test]
fn a_rebase_is_a_step_clean_and_with_a_conflict() {
    let workspace = repository();
    git(&workspace, &["switch", "-q", "topic"]);
    lands_and_undoes(&workspace, "git rebase -q --onto main HEAD~1");
    let conflict = lands(&workspace, "git rebase main", 1);
    lands_and_undoes(&workspace, "git rebase --abort");
    lands_and_undoes(&workspace, "git rebase --skip");
    lands_and_undoes(
        &workspace,
        "echo both > one && git add one && GIT_EDITOR=true git rebase --continue",
    );
    conflict.1.check_same(&State::of(&workspace), "in the middle of the rebase");
}

#[test]
fn a_hook_that_changes_files_is_part_of_the_commits_step() {
    let workspace = repository();
    let hook = workspace.file(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntr a-z A-Z < one > upper && git add upper && echo ran > hooked\n")
        .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let states = lands(&workspace, "echo text > one && git commit -qam hooked", 0);
    assert_eq!(git(&workspace, &["show", "HEAD:upper"]), "TEXT\n");
    assert_eq!(workspace.text("hooked"), "ran\n");
    undoes(&workspace, "a commit with a hook", states);
    assert!(!workspace.file("hooked").exists() && !workspace.file("upper").exists());
}

#[test]
fn collecting_garbage_is_a_step_and_is_undone_object_by_object() {
    let workspace = repository();
    lands_and_undoes(&workspace, "git gc -q --prune=now");
    lands_and_undoes(&workspace, "git pack-refs --all");
    lands_and_undoes(
        &workspace,
        "git repack -adq && git prune-packed -q && git commit-graph write",
    );
    lands_and_undoes(&workspace, "git reflog expire --expire=now --all && git gc -q --prune=now");
}
