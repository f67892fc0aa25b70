//! What a command did is what lands, and undoing it leaves nothing of it: against a copy on which the
//! same script ran without any box.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use yard_testkit::{Dice, TestWorkspace};

use crate::box_setup::{differences, picture, shell, shell_as, times, workspace};
use crate::scripts;

fn bare(folder: &Path, script: &str) {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).current_dir(folder).env("LANG", "C.UTF-8");
    command.status().unwrap();
}

fn newest_step(workspace: &TestWorkspace) -> String {
    let answer = workspace.perform(yard_core::op::History {
        of: yard_core::op::HistoryOf::Workspace,
        before: None,
        limit: 1,
    });
    answer.unwrap().steps[0].id.to_string()
}

fn undo(workspace: &TestWorkspace, step: &str, why: &str) {
    let step = step.parse().unwrap();
    if let Err(fault) = workspace.perform(yard_core::op::Undo::of(step)) {
        panic!("{fault}: {why}");
    }
}

#[test]
fn a_command_lands_as_it_ran_and_is_undone_exactly() {
    for seed in 0..times(400) {
        let mut dice = Dice::new(seed as u64 + 1);
        let (tree, script) = (scripts::tree(&mut dice), scripts::script(&mut dice));
        let workspace = workspace();
        bare(workspace.root(), &tree);
        let copy = tempfile::tempdir().unwrap();
        bare(copy.path(), &tree);
        let before = picture(workspace.root());
        assert_eq!(before, picture(copy.path()));
        bare(copy.path(), &script);
        let reply = shell(&workspace, &script);
        let (landed, expected) = (picture(workspace.root()), picture(copy.path()));
        let shown = || format!("seed {seed}\n{tree}---\n{script}{reply}");
        assert_eq!(differences(&landed, &expected), [""; 0], "{}", shown());
        if landed == before {
            continue;
        }
        let step = newest_step(&workspace);
        undo(&workspace, &step, &shown());
        assert_eq!(differences(&picture(workspace.root()), &before), [""; 0], "undo: {}", shown());
        undo(&workspace, &newest_step(&workspace), &shown());
        assert_eq!(
            differences(&picture(workspace.root()), &expected),
            [""; 0],
            "redo: {}",
            shown()
        );
    }
}

#[test]
fn a_moved_file_keeps_its_history_and_its_time() {
    let workspace = workspace();
    workspace.call("write", json!({"path": "/old.txt", "content": "much to say\n"}));
    let modified = || {
        let name = if workspace.has("/old.txt") { "old.txt" } else { "far/new.txt" };
        workspace.root().join(name).metadata().unwrap().modified().unwrap()
    };
    let before = modified();
    let reply = shell(&workspace, "mkdir far && mv old.txt far/new.txt");
    assert!(reply["message"].as_str().unwrap().contains("1 created, 1 moved"), "{reply}");
    assert_eq!(modified(), before);
    let versions = workspace.perform(yard_core::op::History {
        of: yard_core::op::HistoryOf::Path(yard_core::WsPath::parse("/far/new.txt").unwrap()),
        before: None,
        limit: 10,
    });
    assert_eq!(versions.unwrap().steps.len(), 2, "the write and the move");
}

#[test]
fn what_others_wrote_meanwhile_is_merged_or_is_a_conflict() {
    let workspace = workspace();
    let lines = |change: &[(usize, &str)]| {
        let mut lines: Vec<String> = (0..20).map(|line| format!("line {line}\n")).collect();
        change.iter().for_each(|(at, text)| lines[*at] = format!("{text}\n"));
        lines.concat()
    };
    let write = |path: &str, content: String| {
        assert!(
            workspace
                .call("write", json!({"path": path, "content": content, "overwrite": true}))
                .ok
        );
    };
    for name in ["/merged", "/torn", "/gone"] {
        write(name, lines(&[]));
    }
    let run_beside = |command: &str, beside: &dyn Fn()| {
        let session = workspace.session();
        std::thread::scope(|scope| {
            let ran = scope.spawn(|| shell_as(&workspace, &session, command));
            std::thread::sleep(std::time::Duration::from_millis(700));
            beside();
            ran.join().unwrap()
        })
    };
    let merged =
        run_beside("sed -i 's/line 3$/theirs/' merged; sleep 1.5; echo new > other", &|| {
            write("/merged", lines(&[(15, "ours")]));
        });
    assert!(merged.ok, "{}", merged.body);
    assert_eq!(workspace.bytes("/merged"), lines(&[(3, "theirs"), (15, "ours")]).into_bytes());
    assert!(workspace.has("/other"));

    for (command, path) in [
        ("sed -i 's/line 3$/theirs/' torn; echo new > more; sleep 1.5", "/torn"),
        ("rm gone; echo new > more; sleep 1.5", "/gone"),
        ("echo theirs > fresh; echo new > more; sleep 1.5", "/fresh"),
    ] {
        let torn = run_beside(command, &|| write(path, lines(&[(3, "ours")])));
        let message = torn.body["result"]["message"].as_str().unwrap();
        assert!(message.contains("nothing that the command changed was kept"), "{message}");
        assert!(message.contains(path), "{message}");
        assert_eq!(workspace.bytes(path), lines(&[(3, "ours")]).into_bytes());
        assert!(!workspace.has("/more"), "all of it or nothing");
    }
}

#[test]
fn what_a_command_closed_lands_closed() {
    let workspace = workspace();
    shell(&workspace, "mkdir -p d/e; echo x > d/e/f; chmod 555 d/e d; echo y > g; chmod 000 g");
    let landed = picture(workspace.root());
    let mode = |name: &str| landed[Path::new(name)].1;
    assert_eq!((mode("d"), mode("d/e"), mode("d/e/f"), mode("g")), (0o555, 0o555, 0o644, 0));
    undo(&workspace, &newest_step(&workspace), "closed");
    assert_eq!(picture(workspace.root()).len(), 0);
}

#[test]
fn sockets_of_others_stay_where_they_are_and_hold_nothing_up() {
    let workspace = workspace();
    workspace.put("/away/deep/a.txt", "one\n");
    workspace.put("/away/b.txt", "one\n");
    let _socket =
        std::os::unix::net::UnixListener::bind(workspace.root().join("away/deep/socket")).unwrap();
    let reply = shell(&workspace, "rm -rf away; echo x > new.txt");
    assert!(reply["message"].as_str().unwrap().contains(": away/deep/socket"), "{reply}");
    let left: Vec<_> = picture_names(&workspace);
    assert_eq!(left, ["away", "away/deep", "away/deep/socket", "new.txt"]);
}

fn picture_names(workspace: &yard_testkit::TestWorkspace) -> Vec<String> {
    let mut names = Vec::new();
    let mut ahead = vec![workspace.root().to_owned()];
    while let Some(folder) = ahead.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            names.push(path.strip_prefix(workspace.root()).unwrap().display().to_string());
            if path.is_dir() {
                ahead.push(path);
            }
        }
    }
    names.sort();
    names
}

#[test]
fn files_that_were_removed_meanwhile_do_not_come_back() {
    let workspace = workspace();
    shell(&workspace, "echo one > a.txt");
    std::thread::scope(|scope| {
        let command = "sleep 1.5; echo two > a.txt";
        let running = scope.spawn(|| shell_as(&workspace, &workspace.session(), command));
        std::thread::sleep(std::time::Duration::from_millis(700));
        let removed = workspace.call("rm", serde_json::json!({"path": "/a.txt"}));
        assert!(removed.ok, "{}", removed.body);
        let answer = running.join().unwrap();
        assert!(
            answer.body.to_string().contains("changed by another caller or program"),
            "{}",
            answer.body
        );
    });
    assert!(!workspace.has("/a.txt"));
}

#[test]
fn what_changed_just_before_a_command_began_is_what_it_began_with() {
    let workspace = workspace();
    shell(&workspace, "echo first > log");
    for round in 0..times(300) {
        // Within the tick of the file system's clock in which the command begins, and known to nobody.
        workspace.put("log", format!("{round}\n"));
        let reply = shell(&workspace, "echo more >> log");
        assert_eq!(workspace.bytes("log"), format!("{round}\nmore\n").as_bytes(), "{reply}");
    }
}
