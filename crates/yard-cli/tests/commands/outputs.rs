//! Build output: kept as the files that it is, undone as long as there is room, in nobody's way.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use yard_core::op::{Undo, Verify};
use yard_gate::{Actor, CallerPolicy};
use yard_testkit::{Folders, TestWorkspace};

use crate::box_setup::{guarded, newest, plan, shell, shell_as};

/// Random bytes, so that nothing is made small by chance.
const BUILD: &str = "mkdir -p target/debug; head -c 3000000 /dev/urandom > target/debug/app; \
                     date +%N > target/debug/stamp";

fn workspace_with_room(output_bytes: u64) -> TestWorkspace {
    let mut plan = plan();
    if let Some(boxed) = &mut plan.boxed {
        boxed.keeping.builds_bytes = output_bytes;
    }
    let workspace = TestWorkspace::open(&Folders::new(), plan).unwrap();
    workspace.put("/.gitignore", "target/\n*.log\n");
    workspace
}

fn database_bytes(workspace: &TestWorkspace) -> u64 {
    let files = fs::read_dir(workspace.folders().state()).unwrap().map(|entry| entry.unwrap());
    let is_database = |entry: &fs::DirEntry| entry.file_type().unwrap().is_file();
    files.filter(is_database).map(|entry| entry.metadata().unwrap().len()).sum()
}

#[test]
fn output_is_undone_and_redone_and_fills_no_database() {
    let workspace = workspace_with_room(1 << 30);
    let app = workspace.root().join("target/debug/app");
    shell(&workspace, BUILD);
    let first = fs::read(&app).unwrap();
    shell(&workspace, BUILD);
    let second = fs::read(&app).unwrap();
    assert_ne!(first, second);
    workspace.perform(Undo::of(newest(&workspace).0)).unwrap();
    assert_eq!(fs::read(&app).unwrap(), first);
    workspace.perform(Undo::of(newest(&workspace).0)).unwrap();
    assert_eq!(fs::read(&app).unwrap(), second);
    assert!(database_bytes(&workspace) < 2_000_000, "{} bytes", database_bytes(&workspace));
    let verified = workspace.perform(Verify).unwrap();
    assert_eq!(verified.problems, [""; 0]);
}

#[test]
fn without_room_sources_are_undone_and_output_stays() {
    let workspace = workspace_with_room(0);
    shell(&workspace, &format!("echo one > a.txt; {BUILD}"));
    shell(&workspace, &format!("echo two > a.txt; {BUILD}"));
    let step = newest(&workspace).0;
    let now = workspace.bytes("/target/debug/app");
    shell(&workspace, "true");
    let undone = workspace.perform(Undo::of(step)).unwrap();
    assert!(undone.left.iter().any(|path| path.to_string() == "/target/debug/app"), "{undone:?}");
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
    assert_eq!(workspace.bytes("/target/debug/app"), now);
    assert_eq!(workspace.perform(Verify).unwrap().problems, [""; 0]);
}

#[test]
fn output_that_was_made_again_is_in_no_undo_s_way() {
    let workspace = workspace_with_room(1 << 30);
    shell(&workspace, &format!("echo one > a.txt; {BUILD}"));
    let step = newest(&workspace).0;
    shell(&workspace, BUILD);
    let now = workspace.bytes("/target/debug/app");
    workspace.perform(Undo::of(step)).unwrap();
    assert!(!workspace.has("/a.txt"));
    assert_eq!(workspace.bytes("/target/debug/app"), now);
}

#[test]
fn somebody_who_writes_into_output_spoils_no_undo() {
    let workspace = workspace_with_room(1 << 30);
    shell(&workspace, &format!("echo one > a.txt; {BUILD}"));
    shell(&workspace, &format!("echo two > a.txt; {BUILD}"));
    let step = newest(&workspace).0;
    // The file is written where it is, as no box does it.
    use std::io::Write as _;
    let app = workspace.root().join("target/debug/app");
    fs::OpenOptions::new().append(true).open(&app).unwrap().write_all(b"more").unwrap();
    let now = fs::read(&app).unwrap();
    workspace.perform(Undo::of(step)).unwrap();
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
    assert_eq!(fs::read(&app).unwrap(), now, "what somebody wrote stays");
    let verified = workspace.perform(Verify).unwrap();
    assert_eq!(verified.problems, [""; 0]);
}

#[test]
fn modes_of_output_land() {
    let workspace = workspace_with_room(1 << 30);
    shell(&workspace, "mkdir target; echo x > target/run; chmod 644 target/run");
    shell(&workspace, "chmod 755 target/run");
    let mode = fs::metadata(workspace.root().join("target/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn output_that_changes_nothing_says_nothing_of_what_came_before_it() {
    let workspace = workspace_with_room(1 << 30);
    workspace.put("/src.rs", "somebody wrote it\n");
    let agent = guarded(&workspace);
    assert!(shell_as(&workspace, &agent, "mkdir target; echo x > target/x").pending.is_none());
    for command in ["echo evil > src.rs", "rm src.rs"] {
        let command = format!("{command}; touch -d 2000-01-01 target/x");
        assert!(shell_as(&workspace, &agent, &command).pending.is_some(), "{command}");
    }
}

#[test]
fn what_leaves_the_folders_of_output_is_kept_like_any_file() {
    let workspace = workspace_with_room(0);
    shell(&workspace, &format!("{BUILD}; echo hello > target/report"));
    shell(&workspace, "mkdir docs; mv target/report docs/report");
    let app = workspace.bytes("/target/debug/app");
    let moved = workspace.call(
        "mv",
        serde_json::json!({
            "source": "/target/debug/app", "destination": "/docs/app"
        }),
    );
    assert!(moved.ok, "{}", moved.body);
    shell(&workspace, "rm -r docs");
    let step = newest(&workspace).0;
    // Whatever may go for room goes.
    shell(&workspace, "true");
    let workspace = workspace.reopen_as(plan());
    workspace.perform(Undo::of(step)).unwrap();
    assert_eq!(workspace.bytes("/docs/report"), b"hello\n");
    assert_eq!(workspace.bytes("/docs/app"), app);
}

#[test]
fn what_commands_made_and_is_ignored_never_asks() {
    let workspace = workspace_with_room(1 << 30);
    let person = workspace.session_of(Actor::LocalPerson, CallerPolicy::Open);
    let made = shell_as(&workspace, &person, "echo x > run.log; echo x > notes.txt");
    assert!(made.ok && made.pending.is_none(), "{}", made.body);
    let agent = guarded(&workspace);
    let answer = shell_as(&workspace, &agent, "echo y > run.log");
    assert!(answer.ok && answer.pending.is_none(), "{}", answer.body);
    workspace.put("/other.log", "somebody wrote it\n");
    workspace.put("/run.log", "somebody wrote into it\n");
    std::thread::sleep(std::time::Duration::from_millis(30));
    for command in ["echo y > notes.txt", "echo y > other.log", "rm run.log"] {
        assert!(shell_as(&workspace, &agent, command).pending.is_some(), "{command}");
    }
}

#[test]
fn g16_an_undo_says_which_output_it_could_not_bring_back() {
    let workspace = workspace_with_room(1 << 30);
    let app = workspace.root().join("target/debug/app");
    shell(&workspace, BUILD);
    shell(&workspace, "rm target/debug/app; echo one > a.txt");
    let step = newest(&workspace).0;
    // Whoever writes into a kept file where it is destroys that version.
    for entry in fs::read_dir(workspace.folders().state().join("kept")).into_iter().flatten() {
        fs::write(entry.unwrap().path(), "written over in place").unwrap();
    }
    let undone = workspace.perform(Undo::of(step)).unwrap();
    assert!(undone.left.iter().any(|path| path.to_string() == "/target/debug/app"), "{undone:?}");
    assert!(!app.exists() && !workspace.root().join("a.txt").exists());
    // Where nothing else was changed there is nothing to undo, and that is said.
    shell(&workspace, BUILD);
    shell(&workspace, "rm target/debug/app");
    for entry in fs::read_dir(workspace.folders().state().join("kept")).into_iter().flatten() {
        fs::write(entry.unwrap().path(), "written over in place").unwrap();
    }
    let refused = workspace.perform(Undo::of(newest(&workspace).0)).unwrap_err();
    assert!(refused.to_string().contains("was not kept"), "{refused}");
}
