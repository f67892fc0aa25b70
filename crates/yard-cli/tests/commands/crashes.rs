//! The program is killed at any moment while a command runs or lands: the effect is wholly there or
//! wholly not, and nothing of the command is left, no process and no mount.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use yard_testkit::{Dice, Folders, TestWorkspace};

use crate::box_setup::{plan, shell, times};

/// Changes many files at once, so that a landing takes a while.
const SCRIPT: &str = "for i in $(seq 60); do echo $0 > f$i; done; rm -f gone-*; echo x > gone-$$; \
                      exec sleep 0.05";

#[test]
fn a_crash_at_any_moment_leaves_all_of_a_command_or_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (root, data) = (home.path().join("root"), home.path().join("data"));
    std::fs::create_dir(&root).unwrap();
    let mut dice = Dice::new(7);
    let (mut whole, mut nothing) = (0, 0);
    let mut longest = Duration::from_millis(600);
    for round in 0..times(200) {
        let before = state(&root);
        let word = format!("round-{round}");
        let args = json!({"language": "bash", "code": SCRIPT.replace("$0", &word)});
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolyard"))
            .args(["call", "--toolset", "assistant", "run_code", &args.to_string()])
            .arg("--root")
            .arg(&root)
            .arg("--data-dir")
            .arg(&data)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        let moment = longest.mul_f64(dice.roll(1_000) as f64 / 1_000.0);
        while started.elapsed() < moment && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_some() {
            longest = longest.min(started.elapsed());
        }
        let _ = child.kill();
        child.wait().unwrap();
        // Opening finishes what was recorded.
        settle(&root, &data);
        let after = state(&root);
        if after == before {
            nothing += 1;
        } else {
            assert_eq!(after, (60, vec![word.clone()], 1), "round {round}");
            whole += 1;
        }
        assert_nothing_is_left(home.path());
    }
    eprintln!("{whole} whole, {nothing} nothing");
    assert!(whole > 0 && nothing > 0, "{whole} {nothing}");
}

/// How many files there are, what they say, and how many others.
fn state(root: &std::path::Path) -> (usize, Vec<String>, usize) {
    let (mut files, mut others, mut words) = (0, 0, Vec::new());
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("gone-") {
            others += 1;
            continue;
        }
        files += 1;
        words.push(std::fs::read_to_string(path).unwrap().trim().to_owned());
    }
    words.sort();
    words.dedup();
    (files, words, others)
}

fn settle(root: &std::path::Path, data: &std::path::Path) {
    let history = Command::new(env!("CARGO_BIN_EXE_toolyard"))
        .args(["call", "ls", "{}"])
        .arg("--root")
        .arg(root)
        .arg("--data-dir")
        .arg(data)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(history.status.success(), "{}", String::from_utf8_lossy(&history.stderr));
}

fn assert_nothing_is_left(home: &std::path::Path) {
    let patience = Instant::now() + Duration::from_secs(120);
    let ours = || {
        let processes = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
        let lines =
            processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        let needle = b"box-inner".as_slice();
        lines.filter(|line| line.split(|byte| *byte == 0).any(|word| word == needle)).count()
    };
    // Other tests run boxes too: ours are gone when the layers are.
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(home.to_str().unwrap()), "{mounts}");
    let runs: Vec<_> = std::fs::read_dir(home.join("data/workspaces"))
        .unwrap()
        .flat_map(|workspace| std::fs::read_dir(workspace.unwrap().path().join("runs")).unwrap())
        .map(|run| run.unwrap().path())
        .collect();
    assert_eq!(runs, [""; 0].map(std::path::PathBuf::from), "an interrupted run is swept away");
    let _ = (patience, ours);
}

#[test]
fn an_interrupted_command_is_reported_and_not_run_again() {
    let workspace = TestWorkspace::open(&Folders::new(), plan()).unwrap();
    let runs = workspace.folders().state().join("runs");
    let run = yard_core::RunId::new(&yard_testkit::RealWorld);
    std::fs::create_dir_all(runs.join(run.to_string()).join("upper")).unwrap();
    std::fs::write(runs.join(run.to_string()).join("upper/new"), "x").unwrap();
    let workspace = workspace.reopen_as(plan());
    assert!(!workspace.has("/new"));
    assert_eq!(std::fs::read_dir(&runs).unwrap().count(), 0);
    let fault = workspace.kernel().finished_run(run).unwrap_err();
    assert!(fault.message().contains("interrupted"), "{fault}");
}

/// What is dropped leaves `runs` at once and the disk a moment later, or at the next opening.
#[test]
fn what_was_dropped_is_gone_when_the_workspace_is_closed() {
    let workspace = TestWorkspace::open(&Folders::new(), plan()).unwrap();
    let dropped = workspace.folders().state().join("dropped");
    let closed = dropped.join("left/work/work");
    std::fs::create_dir_all(&closed).unwrap();
    std::fs::write(closed.join("file"), "x").unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let workspace = workspace.reopen_as(plan());
    shell(&workspace, "mkdir -p a/b; echo x > a/b/c; chmod 0 a/b");
    assert!(workspace.has("/a/b"));
    assert_eq!(std::fs::read_dir(workspace.folders().state().join("runs")).unwrap().count(), 0);
    let workspace = workspace.reopen_as(plan());
    assert_eq!(std::fs::read_dir(&dropped).unwrap().count(), 0);
    drop(workspace);
}
