//! A server that is started after the machine was: what a person did to the files since is theirs.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::harness::Server;

/// Whether this machine lets a test mount another boot id for a process of its own.
fn can_mount_a_boot_id() -> bool {
    let script = "mount --bind /dev/null /proc/sys/kernel/random/boot_id";
    let tried = Command::new("unshare").args(["-m", "sh", "-c", script]).output();
    tried.is_ok_and(|tried| tried.status.success())
}

fn check_persons_work(root: &Path, when: &str) {
    let text = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
    assert_eq!(text("file.txt"), "person\n", "{when}");
    assert_eq!(text("gone.txt"), "gone\n", "{when}");
    assert_eq!(text("here.txt"), "here\n", "{when}");
    assert!(!root.join("new.txt").exists(), "{when}");
    assert!(!root.join("there.txt").exists(), "{when}");
}

#[test]
fn p1_a_servers_start_after_a_restart_of_the_machine_takes_no_persons_work_back() {
    if !can_mount_a_boot_id() {
        return eprintln!("SKIPPED: no other boot id can be mounted here; NOTHING WAS CHECKED");
    }
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    for (name, text) in [("file.txt", "first\n"), ("gone.txt", "gone\n"), ("here.txt", "here\n")] {
        fs::write(root.join(name), text).unwrap();
    }
    let folders = format!("[{:?}]", root.to_str().unwrap());
    let path = std::env::var("PATH").unwrap_or_default();
    let variables = [("TOOLYARD__WORKSPACES__FOLDERS", folders.as_str()), ("PATH", path.as_str())];
    let mut server = Server::start_with(&variables);
    let (token, workspace, step) = {
        let ada = server.person();
        let made = json!({"name": "Work", "folder": root.to_str().unwrap()});
        let made = ada.post("/api/v1/workspaces", made).expect(201);
        let workspace = made["workspace"]["id"].as_str().unwrap().to_owned();
        let edit = json!({"path": "/file.txt", "old_string": "first", "new_string": "agent"});
        ada.tool(&workspace, "edit", edit).expect(200);
        for (tool, args) in [
            ("write", json!({"path": "/new.txt", "content": "new\n"})),
            ("rm", json!({"path": "/gone.txt"})),
            ("mv", json!({"source": "/here.txt", "destination": "/there.txt"})),
            ("write", json!({"path": "/other.txt", "content": "other\n"})),
        ] {
            ada.tool(&workspace, tool, args).expect(200);
        }
        let history = ada.get(&format!("/api/v1/workspaces/{workspace}/steps")).expect(200);
        let step = history["steps"][0]["id"].as_str().unwrap().to_owned();
        (ada.token, workspace, step)
    };
    // A person works on: edits, deletes, restores and moves back.
    fs::write(root.join("file.txt"), "person\n").unwrap();
    fs::remove_file(root.join("new.txt")).unwrap();
    fs::write(root.join("gone.txt"), "gone\n").unwrap();
    fs::rename(root.join("there.txt"), root.join("here.txt")).unwrap();
    for boot in ["11111111-2222-3333-4444-555555555555", ""] {
        server.restart_under_boot(boot);
        check_persons_work(&root, "the server has started");
        let ada = server.holder(&token);
        ada.tool(&workspace, "read", json!({"path": "/file.txt"})).expect(200);
        ada.tool(&workspace, "grep", json!({"pattern": "person"})).expect(200);
        ada.get(&format!("/api/v1/workspaces/{workspace}/steps")).expect(200);
        check_persons_work(&root, "the workspace was opened");
    }
    let undo = format!("/api/v1/workspaces/{workspace}/steps/{step}/undo");
    let ada = server.holder(&token);
    ada.post(&undo, json!({})).expect(200);
    assert!(!root.join("other.txt").exists(), "the last step was undone");
    check_persons_work(&root, "another step was undone");
}
