//! A data folder of the version before opens, verifies and goes on: steps without identities, rows of the
//! audit chain that cover less, keys without toolsets, requests and questions that wait.
//! `fixtures/README.md` says how the folder was made.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use yard_testkit::ChildWorkspace;
use yard_testkit::OpenOptions;

use crate::harness::{PASSWORD, Server};

const ARCHIVE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/before-identities.tar.gz");

/// The folders of the version before, and what is known of them.
fn unpacked() -> (TempDir, Value) {
    let temp = tempfile::tempdir().unwrap();
    let tar = Command::new("tar").args(["-xzf", ARCHIVE, "-C"]).arg(temp.path()).status().unwrap();
    assert!(tar.success());
    let facts = fs::read_to_string(temp.path().join("facts.json")).unwrap();
    (temp, serde_json::from_str(&facts).unwrap())
}

fn text<'a>(facts: &'a Value, name: &str) -> &'a str {
    facts[name].as_str().unwrap_or_else(|| panic!("no {name}"))
}

/// Checks everything that a server keeps of a workspace.
fn verify(data: &Path, workspace: &str) -> Vec<String> {
    let (root, state) =
        (data.join("workspaces").join(workspace), data.join("journals").join(workspace));
    ChildWorkspace::open(&root.canonicalize().unwrap(), &state, OpenOptions::default())
        .unwrap()
        .verified()
}

#[test]
fn a_server_s_folder_of_the_version_before_opens_verifies_and_goes_on() {
    let (temp, facts) = unpacked();
    fs::rename(temp.path().join("server"), temp.path().join("data")).unwrap();
    let workspace = text(&facts, "workspace");
    assert_eq!(verify(&temp.path().join("data"), workspace), Vec::<String>::new());
    let server = Server::start_on(temp, &[]);
    let login = json!({"email": "ada@example.com", "password": PASSWORD});
    let login = server.post("/api/v1/auth/login", &login).expect(200);
    let ada = server.holder(login["access_token"].as_str().unwrap());
    let agent = server.holder(text(&facts, "agent_key"));
    let base = format!("/api/v1/workspaces/{workspace}");
    // Old versions, new steps, and an old step that is undone.
    let read = agent.tool(workspace, "read", json!({"path": "/notes.txt"})).expect(200);
    assert_eq!(read["result"]["content"], "approved\n");
    let write = json!({"path": "/new.txt", "content": "new\n"});
    agent.tool(workspace, "write", write).expect(200);
    let undo = format!("{base}/steps/{}/undo", text(&facts, "undoable_step"));
    ada.post(&undo, Value::Null).expect(200);
    ada.tool(workspace, "read", json!({"path": "/src/main.py"})).expect(200);
    // What waits is decided.
    let one = format!("{base}/approvals/{}", text(&facts, "waiting_approval"));
    let asked = ada.get(&one).expect(200);
    assert_eq!(asked["status"], "pending", "{asked}");
    let yes = json!({"decision": "approve", "state_hash": asked["state_hash"]});
    let done = ada.post(&format!("{one}/decision"), yes).expect(200);
    assert_eq!(done["status"], "executed", "{done}");
    let read = agent.tool(workspace, "read", json!({"path": "/notes.txt"})).expect(200);
    assert_eq!(read["result"]["content"], "waits\n");
    let answer = format!("{base}/questions/{}/answer", text(&facts, "waiting_question"));
    ada.post(&answer, json!({"answers": {"framework": "Jest"}, "via": "button"})).expect(200);
    assert_eq!(verify(&server.data(), workspace), Vec::<String>::new());
}

#[test]
fn keys_of_the_version_before_go_with_their_owner_too() {
    let (temp, facts) = unpacked();
    fs::rename(temp.path().join("server"), temp.path().join("data")).unwrap();
    let workspace = text(&facts, "workspace");
    let server = Server::start_on(temp, &[]);
    let login = json!({"email": "ada@example.com", "password": PASSWORD});
    let login = server.post("/api/v1/auth/login", &login).expect(200);
    let ada = server.holder(login["access_token"].as_str().unwrap());
    let bobs = server.holder(text(&facts, "second_owner_s_key"));
    let read = json!({"path": "/notes.txt"});
    bobs.tool(workspace, "read", read.clone()).expect(200);
    let members = ada.get(&format!("/api/v1/workspaces/{workspace}/members")).expect(200);
    let members = members["members"].as_array().unwrap();
    let bob = members.iter().find(|member| member["email"] == "bob@example.com").unwrap();
    let bob = bob["user_id"].as_str().or(bob["id"].as_str()).unwrap().to_owned();
    ada.delete(&format!("/api/v1/workspaces/{workspace}/members/{bob}")).expect(204);
    bobs.tool(workspace, "read", read.clone()).expect(401);
    let agent = server.holder(text(&facts, "agent_key"));
    agent.tool(workspace, "read", read).expect(200);
    // A key from before toolsets keeps all of them, and is shown so.
    let keys = ada.get(&format!("/api/v1/workspaces/{workspace}/keys")).expect(200);
    assert!(keys["keys"].as_array().unwrap().iter().all(|key| key["toolsets"].is_null()), "{keys}");
    let read = json!({"toolset": "file", "tool": "file.read", "args": {"path": "notes.txt"}});
    agent.post(&format!("/api/v1/workspaces/{workspace}/tools"), read).expect(200);
}

/// The binary on a local root, as a person and as an agent use it.
fn local(temp: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.env_clear().env("HOME", temp.join("home")).env("TZ", "UTC");
    command.arg("--root").arg(temp.join("local/root")).arg("--data-dir").arg(temp.join("data"));
    let ran = command.args(arguments).output().unwrap();
    let printed =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    (ran.status.code(), printed)
}

#[test]
fn a_local_history_of_the_version_before_opens_verifies_and_goes_on() {
    let (temp, facts) = unpacked();
    let run = |arguments: &[&str]| {
        let (exit, printed) = local(temp.path(), arguments);
        assert_eq!(exit, Some(0), "{arguments:?}: {printed}");
        printed
    };
    // A root's history is found by the root's path: let the program say where, and put it there.
    run(&["history"]);
    let mut states = fs::read_dir(temp.path().join("data/workspaces")).unwrap();
    let state = states.next().unwrap().unwrap().path();
    fs::remove_dir_all(&state).unwrap();
    fs::rename(temp.path().join("local/state"), &state).unwrap();

    assert!(run(&["verify"]).contains("no damage"));
    let write = json!({"path": "/new.txt", "content": "new\n"}).to_string();
    run(&["call", "write", &write]);
    let id = text(&facts, "local_waiting_approval");
    let shown: Value = serde_json::from_str(&run(&["approve", id, "--json"])).unwrap();
    run(&["approve", id, "--yes", "--state", text(&shown, "state_hash")]);
    let root = temp.path().join("local/root");
    let asked = fs::read_to_string(root.join("a.txt")).unwrap();
    assert!(asked.contains("asked for") && asked.contains("two"), "{asked:?}");
    let history: Value = serde_json::from_str(&run(&["history", "--json"])).unwrap();
    let steps = history["steps"].as_array().unwrap();
    let moved = steps.iter().find(|step| step["verb"] == "move").unwrap();
    run(&["undo", moved["id"].as_str().unwrap()]);
    assert!(root.join("b/c.txt").exists() && !root.join("d").exists());
    assert!(run(&["verify"]).contains("no damage"));
}

/// Raises the format's number in a database, as the next version would: four bytes at offset 60.
fn raise_format(database: &Path) {
    let mut bytes = fs::read(database).unwrap();
    bytes[63] += 100;
    fs::write(database, bytes).unwrap();
}

#[test]
fn a_newer_folder_is_refused_with_a_clear_message() {
    let (temp, facts) = unpacked();
    let data = temp.path().join("server");
    raise_format(&data.join("people.db"));
    let ran = Command::new(env!("CARGO_BIN_EXE_toolyard"))
        .env_clear()
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&data)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && printed.contains("use the newer toolyard"), "{printed}");
    let journal = data.join("journals").join(text(&facts, "workspace")).join("journal.db");
    let before = fs::read(&journal).unwrap();
    raise_format(&journal);
    let opened = yard_store::SqliteStore::open(journal.parent().unwrap());
    let printed = opened.map(drop).unwrap_err().to_string();
    assert!(printed.contains("use the newer toolyard"), "{printed}");
    let mut after = fs::read(&journal).unwrap();
    after[63] -= 100;
    assert!(before == after, "nothing was written");
}
