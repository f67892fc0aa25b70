//! A command is judged by what it did, however it is written: what destroys asks, what builds does not.

use serde_json::json;
use yard_testkit::TestWorkspace;

use crate::box_setup::{differences, guarded, picture, shell_as, workspace};

/// Files that the agent's chat did not make.
fn with_others_files() -> TestWorkspace {
    let workspace = workspace();
    workspace.put("/keep.txt", "keep me\nevery line\n");
    workspace.put("/src/main.rs", "fn main() {}\n");
    workspace.put("/src/lib.rs", "pub fn one() -> u8 { 1 }\n");
    workspace.put("/data.bin", [0_u8, 1, 2, 255]);
    workspace.put("/.env", "TOKEN=1\n");
    workspace.put("/.gitignore", ".env\ntarget/\n__pycache__/\n");
    let git = "git init -q -b main . && git config user.email a@example.com && \
               git config user.name A && git add keep.txt src .gitignore && git commit -qm one && \
               git branch other && git tag v1";
    let done =
        std::process::Command::new("sh").args(["-c", git]).current_dir(workspace.root()).status();
    assert!(done.unwrap().success());
    workspace
}

/// Each destroys something that somebody else made, in its own disguise.
const DESTRUCTIVE: [&str; 61] = [
    "rm keep.txt",
    "rm -rf src",
    "rm -rf ./*",
    "rm -rf .git",
    "unlink keep.txt",
    "find . -name '*.rs' -delete",
    "find src -type f -exec rm {} +",
    "find src -type f | xargs rm",
    "find . -name keep.txt -exec truncate -s0 {} \\;",
    "alias x=rm; shopt -s expand_aliases\nx keep.txt",
    "r=r; m=m; $r$m keep.txt",
    "eval \"$(echo cm0ga2VlcC50eHQ= | base64 -d)\"",
    "echo 'rm keep.txt' | sh",
    "sh -c \"$(printf 'r%s keep.txt' m)\"",
    "bash <<< 'rm keep.txt'",
    "printf 'rm keep.txt' > s.sh; sh s.sh",
    "cp /bin/rm ./harmless; ./harmless keep.txt",
    "python3 -c 'import os; os.remove(\"keep.txt\")'",
    "python3 -c 'import shutil; shutil.rmtree(\"src\")'",
    "python3 -c 'open(\"keep.txt\",\"w\")'",
    "python3 -c '__import__(\"os\").unlink(\"keep\"+\".txt\")'",
    "python3 -c 'import pathlib; pathlib.Path(\"keep.txt\").write_text(\"x\")'",
    "perl -e 'unlink \"keep.txt\"'",
    "awk 'BEGIN { print \"x\" > \"keep.txt\" }'",
    ": > keep.txt",
    "> keep.txt",
    "cat /dev/null > keep.txt",
    "cp /dev/null keep.txt",
    "dd if=/dev/zero of=keep.txt bs=1 count=1 conv=notrunc status=none",
    "dd if=/dev/null of=keep.txt status=none",
    "truncate -s 3 keep.txt",
    "truncate -s 0 src/*",
    "tee keep.txt < /dev/null",
    "sed -i d keep.txt",
    "mv keep.txt gone.txt",
    "mv src elsewhere",
    "mv keep.txt /tmp/",
    "mv src/main.rs src/lib.rs",
    "mv -f data.bin keep.txt",
    "cp data.bin keep.txt",
    "install -m 644 data.bin keep.txt",
    "ln -sf /dev/null keep.txt",
    "ln -f data.bin keep.txt",
    "tar cf all.tar --remove-files keep.txt",
    "gzip keep.txt",
    "chmod 000 keep.txt",
    "chmod -R 700 src",
    "echo TOKEN=2 > .env",
    "rm .env",
    "rm -f data.bin; echo new > data.bin",
    "rsync --version >/dev/null 2>&1; rm -r src && mkdir src && echo x > src/new.rs",
    "git rm -q keep.txt",
    "echo x > keep.txt; git checkout -q .; git reset -q --hard HEAD; rm keep.txt",
    "git branch -D other",
    "git tag -d v1",
    "git update-ref -d refs/heads/other",
    "git clean -fdxq",
    "git config core.hooksPath /tmp",
    "mkdir -p .git/hooks; printf '#!/bin/sh\\nrm -rf .' > .git/hooks/pre-commit",
    "rm -rf .git/objects",
    "( sleep 0.1; rm keep.txt ) & wait",
];

#[test]
fn nothing_destructive_lands_unapproved_however_it_is_written() {
    let workspace = with_others_files();
    let session = guarded(&workspace);
    let before = picture(workspace.root());
    for command in DESTRUCTIVE {
        let answer = shell_as(&workspace, &session, command);
        let waits = answer.pending.is_some();
        assert!(waits, "{command} did not ask: {}", answer.body);
        let now = picture(workspace.root());
        assert_eq!(differences(&before, &now), [""; 0], "{command} landed something");
    }
}

/// Each makes something new, builds, tests or looks.
const HARMLESS: [&str; 109] = [
    "true",
    "ls",
    "ls -laR",
    "pwd",
    "id",
    "env",
    "date",
    "uname -a",
    "cat keep.txt",
    "wc -l keep.txt",
    "head -1 keep.txt",
    "tail -1 keep.txt",
    "grep -r every .",
    "grep -rn fn src",
    "find . -name '*.rs'",
    "find . -type f | xargs wc -c",
    "sort keep.txt",
    "uniq keep.txt",
    "diff keep.txt src/lib.rs",
    "md5sum keep.txt",
    "sha256sum src/*",
    "du -sh .",
    "stat keep.txt",
    "file keep.txt || true",
    "echo new > new1.txt",
    "touch new2.txt",
    "mkdir -p new/folder",
    "cp keep.txt copy.txt",
    "ln -s keep.txt link",
    "printf x > new/folder/x",
    "seq 1000 > numbers",
    "tee new3 < keep.txt",
    "python3 -c 'print(1)'",
    "python3 -c 'open(\"made.py\",\"w\").write(\"x=1\")'",
    "python3 -m compileall -q src || true",
    "awk '{print $1}' keep.txt",
    "sed s/keep/lose/ keep.txt",
    "cut -c1-3 keep.txt",
    "tr a-z A-Z < keep.txt",
    "xxd data.bin || od data.bin",
    "base64 data.bin",
    "tar cf - src | tar tf -",
    "tar cf src.tar src",
    "gzip -k src.tar",
    "zcat src.tar.gz | tar tf -",
    "mktemp",
    "echo x > /tmp/scratch; rm /tmp/scratch",
    "cd src && ls",
    "test -f keep.txt",
    "for f in *; do echo $f; done",
    "xargs -n1 echo < keep.txt",
    "sleep 0.01",
    "yes | head -100",
    // Edits, after which half of the lines are still there.
    "sed -i 's/every/no/' keep.txt",
    "echo more >> keep.txt",
    "perl -pi -e 's/^no/each/' keep.txt",
    // What the chat made is its own.
    "echo again > new1.txt",
    "echo more >> new1.txt",
    "sed -i s/again/other/ new1.txt",
    "rm new1.txt",
    "mv new2.txt new4.txt",
    "chmod 600 new4.txt",
    "rm -r new",
    "truncate -s0 numbers",
    "rm numbers",
    "rm link copy.txt",
    "mv made.py made2.py",
    "rm src.tar.gz",
    ": > src.tar",
    // Builds, twice.
    "mkdir -p target/debug && echo 1 > target/debug/out",
    "echo 2 > target/debug/out",
    "rm -r target/debug",
    "mkdir -p target/debug/deps && seq 100 > target/debug/deps/a",
    "rm -rf target",
    "mkdir target && cp src/main.rs target/",
    "mkdir -p __pycache__ && echo 1 > __pycache__/a.pyc",
    "echo 2 > __pycache__/a.pyc",
    "rm -r __pycache__",
    "printf 'all: out\\nout: src/main.rs\\n\\tcp src/main.rs out\\n' > Makefile",
    "make || cp src/main.rs out",
    "make || true",
    "touch src/main.rs && make || true",
    "printf 'import unittest\\nclass T(unittest.TestCase):\\n  def test(self): self.assertTrue(True)\\n' > test_a.py",
    "python3 -m unittest -q",
    "python3 -m unittest -q test_a",
    "python3 -B -c 'import test_a'",
    // git, as it is used.
    "git status",
    "git log --oneline",
    "git diff",
    "git show HEAD",
    "git branch",
    "git stash list",
    "git add test_a.py",
    "git commit -qm two",
    "git log -2",
    "echo three > three.txt && git add three.txt",
    "git commit -qm three",
    "git checkout -q -b topic",
    "echo 4 > four.txt; git add four.txt; git commit -qm four",
    "git tag v2",
    "git checkout -q main",
    "git merge -q topic",
    "git diff HEAD~1",
    "git blame keep.txt",
    "git rev-parse HEAD",
    "git ls-files",
    "git fsck",
    "git grep every",
    "git describe --tags",
];

#[test]
fn nothing_harmless_asks() {
    let workspace = with_others_files();
    let session = guarded(&workspace);
    let mut asked = Vec::new();
    for command in HARMLESS {
        let answer = shell_as(&workspace, &session, command);
        assert!(answer.ok, "{command}: {}", answer.body);
        if let Some(pending) = answer.pending {
            let approvals = workspace.person();
            let yard_gate::Awaited::Approval(id) = pending.awaited else { panic!("{command}") };
            asked.push(format!(
                "{command}: {}",
                approvals.approvals().get(id).unwrap().request.reason
            ));
        }
        let dropped = answer.body["result"]["message"].as_str().unwrap_or_default();
        assert!(!dropped.contains("was kept"), "{command}: {dropped}");
    }
    assert_eq!(asked, [""; 0]);
}

#[test]
fn plan_mode_drops_every_effect() {
    let workspace = with_others_files();
    let call = workspace.call_context();
    let chat = workspace.person().chats().make(&call, "Plan", Some(yard_gate::Mode::Plan)).unwrap();
    let session = workspace.session().in_chat(chat.id).unwrap();
    let before = picture(workspace.root());
    for command in ["echo x > new; rm keep.txt; cat new", "echo y > b.plan", "rm -rf src .git"] {
        let answer = shell_as(&workspace, &session, command);
        assert!(answer.ok && answer.pending.is_none(), "{}", answer.body);
        let message = answer.body["result"]["message"].as_str().unwrap();
        assert!(message.contains("plan mode"), "{message}");
        assert_eq!(differences(&before, &picture(workspace.root())), [""; 0], "{command}");
    }
    let reply = shell_as(&workspace, &session, "echo x > new; cat new");
    assert_eq!(reply.body["result"]["stdout"], "x\n", "what it wrote is there while it runs");
}

#[test]
fn rules_judge_a_command_by_its_start_and_by_its_effect() {
    let workspace = with_others_files();
    let call = workspace.call_context();
    let rules = json!({"rules": [
        {"effect": "create", "path": "locked/**", "then": "deny", "why": "locked"},
        {"effect": "run", "path": "src", "then": "deny", "why": "not in src"},
    ]});
    workspace.person().change_settings(&call, rules.as_object().unwrap()).unwrap();
    let session = workspace.session();
    let answer =
        shell_as(&workspace, &session, "mkdir locked; echo x > locked/a; echo y > fine; echo said");
    assert_eq!(answer.body["result"]["stdout"], "said\n");
    let message = answer.body["result"]["message"].as_str().unwrap();
    assert!(message.contains("nothing that the command changed was kept"), "{message}");
    assert!(!workspace.has("/locked") && !workspace.has("/fine"));
    let args = json!({"command": "true", "workdir": "src", "timeout_ms": 1000});
    let answer = workspace.catalog().call("codex", "shell", args, &session, &call);
    assert_eq!(answer.body["result"]["error"], "PERMISSION_DENIED", "{}", answer.body);
}

#[test]
fn nobody_gets_leave_to_destroy_by_ignoring_first() {
    let workspace = with_others_files();
    workspace.put("/build/hand-written", "x");
    workspace.put("/dist", "a file that is named like a folder of output");
    let session = guarded(&workspace);
    let lands = |command: &str| {
        let answer = shell_as(&workspace, &session, command);
        assert!(answer.ok, "{}", answer.body);
        answer.pending.is_none()
    };
    assert!(lands("echo build/ > .ignore; echo build/ > .rgignore"));
    assert!(!lands("rm -rf build"), "the agent itself said that it is ignored");
    assert!(!lands("> dist"), "a file is no folder of output");
    assert!(lands("echo mine > mine.txt") && lands("echo again > mine.txt"));
    workspace.put("/mine.txt", "what a person wrote into it\n");
    // In the very tick in which a command begins, a save counts as one beside it.
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert!(!lands("echo over > mine.txt"), "what others wrote into a file is theirs");
    for git in [
        "echo ../x > .git/commondir",
        "mkdir -p .git/modules/a/hooks; echo x > .git/modules/a/hooks/post-checkout",
        "mkdir docs; echo 'gitdir: ../x' > docs/.git",
        "cp .git/refs/heads/other kept-ref; rm .git/refs/heads/other",
    ] {
        assert!(!lands(git), "{git}");
    }
}

/// A repository with a history of three commits, and a branch at the first.
fn with_a_history() -> TestWorkspace {
    let workspace = with_others_files();
    let git = "for n in 2 3; do echo $n > $n.txt; git add $n.txt; git commit -qm $n; done; \
               git branch behind HEAD~2";
    let done =
        std::process::Command::new("sh").args(["-c", git]).current_dir(workspace.root()).status();
    assert!(done.unwrap().success());
    workspace
}

#[test]
fn a_ref_that_leaves_commits_behind_asks() {
    let rewinds = [
        "git update-ref refs/heads/main HEAD~1",
        "git reset -q --soft HEAD~1",
        "git commit -q --amend -m other",
        "git branch -f main2 HEAD; git update-ref refs/heads/main HEAD~2",
        "git commit-tree -m x HEAD^{tree} > /tmp/new; git update-ref refs/heads/main $(cat /tmp/new)",
        "git symbolic-ref refs/heads/main refs/heads/behind",
        "mkdir -p .git/refs/heads; : > .git/refs/heads/main",
        "mkdir -p .git/refs/heads; printf '%s %0100d\\n' $(git rev-parse HEAD~1) 0 > .git/refs/heads/main",
        ": > .git/logs/HEAD",
        "git reflog expire --expire=now --all",
        // What git could be made to believe.
        "new=$(git commit-tree -m x HEAD^{tree}); git replace $new HEAD; git update-ref refs/heads/main $new",
        "new=$(git commit-tree -m x HEAD^{tree}); mkdir -p .git/info; echo $new $(git rev-parse HEAD) \
         > .git/info/grafts; git update-ref refs/heads/main $new",
    ];
    for packed in [false, true] {
        let workspace = with_a_history();
        if packed {
            let pack = ["pack-refs", "--all"];
            let done =
                std::process::Command::new("git").args(pack).current_dir(workspace.root()).status();
            assert!(done.unwrap().success() && !workspace.has("/.git/refs/heads/main"));
        }
        let before = picture(workspace.root());
        for command in rewinds {
            let answer = shell_as(&workspace, &guarded(&workspace), command);
            assert!(answer.pending.is_some(), "{packed} {command}: {}", answer.body);
            assert_eq!(differences(&before, &picture(workspace.root())), [""; 0], "{command}");
        }
        assert!(
            shell_as(&workspace, &guarded(&workspace), "git rev-parse HEAD~1 > note")
                .pending
                .is_none()
        );
        let by_move = "mkdir -p .git/refs/heads; mv -f note .git/refs/heads/main";
        assert!(shell_as(&workspace, &guarded(&workspace), by_move).pending.is_some());
        let made = "git commit-tree -m x HEAD^{tree} > /dev/null";
        assert!(shell_as(&workspace, &guarded(&workspace), made).pending.is_none());
        assert!(
            shell_as(&workspace, &guarded(&workspace), "git prune").pending.is_some(),
            "of its own too"
        );
        for command in ["git branch -f behind main", "git checkout -q behind", "git merge -q main"]
        {
            let answer = shell_as(&workspace, &guarded(&workspace), command);
            assert!(answer.ok && answer.pending.is_none(), "{packed} {command}: {}", answer.body);
        }
    }
}

#[test]
fn git_s_own_folder_is_one_line_of_what_is_shown() {
    let workspace = with_others_files();
    let command = "echo x > keep.txt; git commit -qam two; git config user.name B";
    let answer = shell_as(&workspace, &guarded(&workspace), command);
    let Some(yard_gate::Awaited::Approval(id)) = answer.pending.map(|pending| pending.awaited)
    else {
        panic!("{}", answer.body)
    };
    let diff = workspace.person().approvals().get(id).unwrap().request.diff;
    let of_git: Vec<&str> = diff.lines().filter(|line| line.starts_with('\\')).collect();
    assert_eq!(of_git.len(), 1, "{diff}");
    assert!(of_git[0].contains("/.git") && of_git[0].contains("refs/heads/main"), "{diff}");
    // What git obeys is shown whole, and what asks comes first.
    assert!(diff.contains("+++ b/.git/config") && diff.contains("+\tname = B"), "{diff}");
    assert!(diff.find("/keep.txt") < diff.find(of_git[0]), "{diff}");
}
