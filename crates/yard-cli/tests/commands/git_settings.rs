//! Which files the settings of a repository name is remembered only as long as no file that decides it appears or changes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use yard_core::{Timestamp, World};
use yard_testkit::{Folders, OpenOptions, RealWorld, TestWorkspace};

use crate::box_setup::{guarded, plan};

/// The world an hour later, so that every file seems to have been unchanged for a long time.
struct LaterWorld;

impl World for LaterWorld {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(RealWorld.now().as_millis() + 3_600_000)
    }

    fn random(&self) -> u128 {
        RealWorld.random()
    }

    fn secret(&self) -> Option<[u8; 32]> {
        RealWorld.secret()
    }

    fn boot_id(&self) -> u128 {
        RealWorld.boot_id()
    }

    fn elapsed(&self) -> Duration {
        RealWorld.elapsed()
    }
}

/// What a person does before the settings are looked at, and then, after which `/tools/hooks` is the folder of hooks.
const CASES: [(&str, &str); 5] = [
    (
        "git init -q . && git config include.path ../extra.cfg",
        "printf '[core]\\n\\thooksPath = tools/hooks\\n' > extra.cfg",
    ),
    (
        "git init -q . && : > real.cfg && ln -s real.cfg extra.cfg && \
         git config include.path ../extra.cfg",
        "printf '[core]\\n\\thooksPath = tools/hooks\\n' > real.cfg",
    ),
    (
        "git init -q . && git config core.fsmonitor ./watch.sh && \
         git config extensions.worktreeConfig true",
        "printf '[core]\\n\\thooksPath = tools/hooks\\n' > .git/config.worktree",
    ),
    (
        "git init -q -b main . && git config includeIf.onbranch:side.path side.cfg && \
         printf '[core]\\n\\thooksPath = tools/hooks\\n' > .git/side.cfg",
        "git symbolic-ref HEAD refs/heads/side",
    ),
    ("git init -q . && git config core.pager ./page", "git config core.hooksPath tools/hooks"),
];

#[test]
fn a_hook_asks_as_soon_as_any_file_of_the_settings_names_its_folder() {
    for (before, then) in CASES {
        let options = OpenOptions { world: Arc::new(LaterWorld), ..plan() };
        let workspace = TestWorkspace::open(&Folders::new(), options).unwrap();
        let session = guarded(&workspace);
        let run = |commands: &str| {
            let mut shell = std::process::Command::new("sh");
            let status = shell.args(["-c", commands]).current_dir(workspace.root()).status();
            assert!(status.unwrap().success(), "{commands}");
        };
        let asks = |path: &str| {
            let args = json!({"path": path, "content": "x\n"});
            let answer = workspace.call_as(&session, "workspace", "write", args);
            assert!(answer.ok, "{before}: {}", answer.body);
            answer.pending.is_some()
        };
        run(before);
        assert!(!asks("/tools/hooks/pre-commit"), "{before}");
        run(then);
        assert!(asks("/tools/hooks/pre-push"), "{before}; {then}");
        assert!(!asks("/tools/other"), "{before}; {then}");
    }
}
