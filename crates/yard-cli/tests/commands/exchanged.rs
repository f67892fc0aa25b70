//! The workspace's folder is exchanged while it is open, as another root that holds it could do: whatever
//! is at its path by then, no command, terminal or file tool reads or writes there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::json;
use yard_kernel::{CommandBox, WriteMode};
use yard_sandbox::{Sandbox, SandboxConfig, Walls};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use crate::box_setup::{plan, shell_as, times};

const CANARY: &str = "a secret of the host";

/// A path beside the root, whatever is at the root's by then.
fn beside(workspace: &TestWorkspace, name: &str) -> PathBuf {
    workspace.root().parent().unwrap().join(name)
}

/// A folder outside, with something to read, and a file that no command may change.
fn outside(workspace: &TestWorkspace) -> PathBuf {
    let outside = beside(workspace, "outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("inside.txt"), CANARY).unwrap();
    outside.canonicalize().unwrap()
}

fn is_untouched(outside: &Path) -> bool {
    let names = fs::read_dir(outside).unwrap().count();
    names == 1 && fs::read_to_string(outside.join("inside.txt")).unwrap() == CANARY
}

fn walled() -> OpenOptions {
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_toolyard"));
    let walls = Walls { namespaces: false, ..Walls::default() };
    let wish = SandboxConfig { walls, ..SandboxConfig::default() };
    OpenOptions {
        boxed: Some(CommandBox::new(move || Sandbox::probe(helper, wish))),
        ..OpenOptions::default()
    }
}

#[test]
fn g1_a_root_that_is_a_link_to_elsewhere_by_now_is_refused_by_everything() {
    for plan in [plan(), walled()] {
        let workspace = TestWorkspace::open(&Folders::new(), plan).unwrap();
        workspace.put("/inside.txt", "ours\n");
        let (root, moved) = (workspace.root().to_owned(), beside(&workspace, "moved"));
        let outside = outside(&workspace);
        fs::rename(&root, &moved).unwrap();
        symlink(&outside, &root).unwrap();
        let session = workspace.session();
        let calls = [
            (
                "codex",
                "shell",
                json!({"command": "cat inside.txt; echo x > new", "workdir": null, "timeout_ms": 9_000}),
            ),
            (
                "codex",
                "exec_command",
                json!({"cmd": "cat inside.txt; echo x > new", "session_id": "s"}),
            ),
            ("workspace", "read", json!({"path": "/inside.txt"})),
            ("workspace", "write", json!({"path": "/new.txt", "content": "x"})),
            ("workspace", "grep", json!({"pattern": "."})),
            ("workspace", "ls", json!({"path": "/"})),
            ("workspace", "rm", json!({"path": "/inside.txt"})),
        ];
        for (toolset, tool, args) in calls {
            let answer = workspace.call_as(&session, toolset, tool, args);
            let text = answer.body.to_string();
            assert!(!answer.ok && !text.contains(CANARY), "{tool}: {text}");
            assert!(text.contains("moved or replaced"), "{tool}: {text}");
        }
        assert!(is_untouched(&outside));
        assert_eq!(fs::read_to_string(moved.join("inside.txt")).unwrap(), "ours\n");
        // Back in its place, it is the same folder again.
        fs::remove_file(&root).unwrap();
        fs::rename(&moved, &root).unwrap();
        let answer = shell_as(&workspace, &session, "cat inside.txt");
        assert!(answer.body.to_string().contains("ours"), "{}", answer.body);
    }
}

#[test]
fn g1_exchanges_of_the_root_while_commands_run_lead_none_of_them_outside() {
    for (plan, setup) in [(plan(), WriteMode::Overlay), (walled(), WriteMode::InPlace)] {
        let workspace = TestWorkspace::open(&Folders::new(), plan).unwrap();
        assert_eq!(workspace.kernel().write_mode().unwrap(), setup);
        workspace.put("/inside.txt", "ours\n");
        let outside = outside(&workspace);
        let (root, moved) = (workspace.root().to_owned(), beside(&workspace, "moved"));
        let (ended, exchanged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        // Of both kinds together, a hundred thousand in the soak.
        let wanted = if times(10) == 10 { 50_000 } else { 200 };
        let exchanging = {
            let (ended, exchanged, outside) =
                (Arc::clone(&ended), Arc::clone(&exchanged), outside.clone());
            thread::spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    fs::rename(&root, &moved).unwrap();
                    symlink(&outside, &root).unwrap();
                    thread::yield_now();
                    fs::remove_file(&root).unwrap();
                    fs::rename(&moved, &root).unwrap();
                    exchanged.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let (mut ran, mut refused) = (0, 0);
        while exchanged.load(Ordering::Relaxed) < wanted || ran + refused < 5 {
            let command = "cat inside.txt; ls; pwd -P; echo x > made.txt";
            let answer = shell_as(&workspace, &workspace.session(), command);
            let text = answer.body.to_string();
            assert!(!text.contains(CANARY), "{text}");
            *if answer.ok { &mut ran } else { &mut refused } += 1;
        }
        ended.store(true, Ordering::Relaxed);
        exchanging.join().unwrap();
        assert!(is_untouched(&outside), "after {ran} commands that ran and {refused} that did not");
    }
}
