//! Git in the box on a real repository: looking makes no step; what git does is a step, and its undo brings back
//! the files and git's own state.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Ran, Yard};

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

fn home(yard: &Yard) -> PathBuf {
    yard.temp.path().join("home")
}

/// Git on the machine, as the person.
fn git(yard: &Yard, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(yard.root()).env_clear().env("HOME", home(yard));
    git.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("GIT_EDITOR", "true").env("TZ", "UTC");
    // What is looked at here is not changed by looking.
    git.env("GIT_OPTIONAL_LOCKS", "0");
    let output = git.output().unwrap();
    let answer = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {answer}");
    String::from_utf8(output.stdout).unwrap()
}

fn commit(yard: &Yard, name: &str, text: &str) {
    let path = yard.file(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    git(yard, &["add", "-A"]);
    git(yard, &["commit", "-q", "-m", &format!("{name}: {text}")]);
}

/// A repository with two branches that change the same line of `one`, and each a file of its own; a tag, a
/// stash and packed objects.
fn repository() -> Yard {
    let yard = Yard::new();
    fs::create_dir_all(home(&yard)).unwrap();
    let identity = "[user]\n\tname = Ada\n\temail = ada@example.com\n";
    fs::write(home(&yard).join(".gitconfig"), identity).unwrap();
    git(&yard, &["init", "-q", "-b", "main", "."]);
    commit(&yard, "one", "first\n");
    commit(&yard, ".gitignore", "ignored.txt\n");
    commit(&yard, "src/two", "two\ntwo\n");
    git(&yard, &["gc", "-q"]);
    git(&yard, &["tag", "-a", "v1", "-m", "first version"]);
    git(&yard, &["switch", "-q", "-c", "topic"]);
    commit(&yard, "one", "topic\n");
    commit(&yard, "topic.txt", "topic\n");
    git(&yard, &["switch", "-q", "main"]);
    commit(&yard, "one", "main\n");
    commit(&yard, "main.txt", "main\n");
    git(&yard, &["remote", "add", "origin", "../elsewhere.git"]);
    fs::write(yard.file("src/two"), "stashed\n").unwrap();
    git(&yard, &["stash", "-q"]);
    fs::write(yard.file("ignored.txt"), "ignored\n").unwrap();
    yard
}

/// A command of an agent that may do what it likes.
fn shell(yard: &Yard, command: &str) -> Value {
    let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000}).to_string();
    let mut call = yard.command(&["call", "--toolset", "codex", "shell", &args]);
    let ran = Ran::from(call.env("PATH", "/usr/local/bin:/usr/bin:/bin").output().unwrap());
    assert_eq!(ran.exit, 0, "{command}: {}{}", ran.stdout, ran.stderr);
    ran.json()["result"].clone()
}

/// Sets the times of every file, so that the index does not know them any more.
fn make_index_stale(yard: &Yard) {
    for name in ["one", "src/two", "main.txt", ".gitignore"] {
        let file = fs::File::options().append(true).open(yard.file(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    }
}

#[test]
fn looking_at_a_repository_makes_no_step_and_finds_no_change() {
    let yard = repository();
    for look in LOOKS {
        make_index_stale(&yard);
        let result = shell(&yard, &format!("git {look}"));
        assert_eq!(result["message"], Value::Null, "git {look}: {result}");
        assert_eq!(result["returncode"], 0, "git {look}: {result}");
        let says_changed = result["stdout"].as_str().unwrap().contains("dirty");
        assert!(!says_changed, "git {look}: {result}");
        if matches!(look, "diff --name-only HEAD" | "diff --stat" | "diff") {
            assert_eq!(result["stdout"], "", "git {look} finds changes where there are none");
        }
    }
    assert_eq!(yard.run(&["history"]).stdout, "no steps\n");
}

#[test]
fn files_that_the_index_knows_are_not_read_again_in_the_box() {
    let yard = repository();
    // What was written in the second of the index is read again anywhere.
    let past = SystemTime::now() - Duration::from_secs(60);
    for name in ["one", "src/two", "main.txt", ".gitignore"] {
        let file = fs::File::options().append(true).open(yard.file(name)).unwrap();
        file.set_modified(past).unwrap();
    }
    git(&yard, &["update-index", "--refresh"]);
    assert_eq!(git(&yard, &["diff-files"]), "");
    assert_eq!(shell(&yard, "git diff-files")["stdout"], "", "by whatever user the box shows");
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
    fn of(yard: &Yard) -> Self {
        let mut files = BTreeMap::new();
        collect(&yard.root(), &mut files);
        Self {
            head: fs::read_to_string(yard.file(".git/HEAD")).unwrap(),
            refs: git(yard, &["for-each-ref"]),
            index: git(yard, &["ls-files", "--stage"]),
            status: git(yard, &["status", "--porcelain=v2", "--branch"]),
            stashes: git(yard, &["stash", "list"]),
            fsck: git(yard, &["fsck", "--full", "--strict", "--no-dangling"]),
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
fn lands(yard: &Yard, command: &str, exit: i64) -> (State, State) {
    let (before, steps) = (State::of(yard), steps_of_agent(yard));
    let result = shell(yard, command);
    assert_eq!(result["returncode"], exit, "{command}: {result}");
    assert_eq!(steps_of_agent(yard), steps + 1, "{command}: {result}");
    let after = State::of(yard);
    assert_ne!(before, after, "{command}: {result}");
    (before, after)
}

fn steps_of_agent(yard: &Yard) -> usize {
    yard.steps(None).iter().filter(|step| step["author"] == "agent").count()
}

/// Undoes the newest step, and that undo, and the undo again: each time all is as it was.
fn undoes(yard: &Yard, what: &str, (before, after): (State, State)) {
    for expected in [&before, &after, &before] {
        let step = yard.newest_step();
        let undone = yard.run(&["undo", &step]);
        assert_eq!(undone.exit, 0, "{what}: {}{}", undone.stdout, undone.stderr);
        expected.check_same(&State::of(yard), what);
    }
}

fn lands_and_undoes(yard: &Yard, command: &str) {
    let states = lands(yard, command, 0);
    undoes(yard, command, states);
}

#[test]
fn commits_and_switches_are_steps_and_are_undone_with_gits_state() {
    let yard = repository();
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
        lands_and_undoes(&yard, command);
    }
}

#[test]
fn a_merge_with_a_conflict_is_a_step_and_so_is_its_end_or_its_abort() {
    let yard = repository();
    let conflict = lands(&yard, "git merge topic", 1);
    assert!(conflict.1.status.contains("\nu UU "), "{}", conflict.1.status);
    lands_and_undoes(&yard, "git merge --abort");
    lands_and_undoes(&yard, "echo both > one && git commit -qam both");
    // Both undid themselves, so the newest step that is not undone is the merge: the state is in conflict.
    conflict.1.check_same(&State::of(&yard), "in conflict");
    // What an undo wrote has other times than the index knows, and `git merge --abort` does not look for itself.
    let abort = shell(&yard, "git update-index -q --refresh; git merge --abort");
    assert_eq!(abort["returncode"], 0, "{abort}");
    let aborted = State::of(&yard);
    assert_eq!((&aborted.refs, &aborted.index), (&conflict.0.refs, &conflict.0.index));
    let undone = yard.run(&["undo", &yard.newest_step()]);
    assert_eq!(undone.exit, 0, "{}", undone.stderr);
    conflict.1.check_same(&State::of(&yard), "the abort is undone");
}

#[test]
fn a_rebase_is_a_step_clean_and_with_a_conflict() {
    let yard = repository();
    git(&yard, &["switch", "-q", "topic"]);
    lands_and_undoes(&yard, "git rebase -q --onto main HEAD~1");
    let conflict = lands(&yard, "git rebase main", 1);
    lands_and_undoes(&yard, "git rebase --abort");
    lands_and_undoes(&yard, "git rebase --skip");
    lands_and_undoes(
        &yard,
        "echo both > one && git add one && GIT_EDITOR=true git rebase --continue",
    );
    conflict.1.check_same(&State::of(&yard), "in the middle of the rebase");
}

#[test]
fn a_hook_that_changes_files_is_part_of_the_commits_step() {
    let yard = repository();
    let hook = yard.file(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntr a-z A-Z < one > upper && git add upper && echo ran > hooked\n")
        .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let states = lands(&yard, "echo text > one && git commit -qam hooked", 0);
    assert_eq!(git(&yard, &["show", "HEAD:upper"]), "TEXT\n");
    assert_eq!(yard.text("hooked"), "ran\n");
    undoes(&yard, "a commit with a hook", states);
    assert!(!yard.file("hooked").exists() && !yard.file("upper").exists());
}

#[test]
fn collecting_garbage_is_a_step_and_is_undone_object_by_object() {
    let yard = repository();
    lands_and_undoes(&yard, "git gc -q --prune=now");
    lands_and_undoes(&yard, "git pack-refs --all");
    lands_and_undoes(&yard, "git repack -adq && git prune-packed -q && git commit-graph write");
    lands_and_undoes(&yard, "git reflog expire --expire=now --all && git gc -q --prune=now");
}
