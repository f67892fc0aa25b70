//! Terminals over HTTP: what runs is told and listed, people end it, and a restart says what it cut off.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Server, Someone};
use crate::talk::Listener;

/// A person in a workspace where agents may do anything, an agent in it, and the path of its routes.
fn at_work(server: &Server) -> (Someone<'_>, Someone<'_>, String) {
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    ada.ask("PUT", &format!("{base}/policy"), &json!({"preset": "open"})).expect(200);
    (server.holder(&ada.token), ada.agent(&workspace, "member"), base)
}

fn codex(someone: &Someone<'_>, base: &str, tool: &str, args: Value) -> Value {
    let body = json!({"toolset": "codex", "tool": tool, "args": args});
    someone.post(&format!("{base}/tools"), body).expect(200)
}

fn open(someone: &Someone<'_>, base: &str, name: &str, cmd: &str) -> Value {
    let args = json!({"session_id": name, "cmd": cmd, "workdir": null});
    codex(someone, base, "exec_command", args)["result"].clone()
}

#[test]
fn x5_a_person_sees_lists_and_ends_a_terminal() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let mut live = Listener::open(&ada, &base, None);
    live.greeted();
    let answer = open(&agent, &base, "dev", "echo ready; cat");
    assert_eq!(
        (&answer["state"], &answer["exit_code"]),
        (&json!("waiting"), &Value::Null),
        "{answer}"
    );
    let begun = live.next_of("terminal").data;
    assert_eq!((&begun["session_id"], &begun["state"]), (&json!("dev"), &json!("running")));
    let listed = ada.get(&format!("{base}/terminals")).expect(200);
    let row = &listed["terminals"][0];
    assert_eq!((&row["session_id"], &row["state"]), (&json!("dev"), &json!("running")), "{listed}");
    assert_eq!(row["id"], begun["terminal_id"]);
    let one = format!("{base}/terminals/{}", row["id"].as_str().unwrap());
    assert_eq!(ada.get(&one).expect(200)["screen"], "ready");
    ada.delete(&one).expect(204);
    let ended = live.next_of("terminal").data;
    assert_eq!((&ended["state"], &ended["exit_code"]), (&json!("ended"), &json!(143)), "{ended}");
    ada.delete(&one).expect(404);
    assert_eq!(ada.get(&one).expect(200)["terminal"]["state"], "ended");
}

#[test]
fn a_person_types_into_an_agents_terminal_and_sets_its_size() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    open(&agent, &base, "dev", "echo ready; cat");
    let listed = ada.get(&format!("{base}/terminals")).expect(200);
    let one = format!("{base}/terminals/{}", listed["terminals"][0]["id"].as_str().unwrap());
    let (input, size) = (format!("{one}/input"), format!("{one}/size"));
    let shown = ada.post(&input, json!({"text": "hello\n"})).expect(200);
    assert!(shown["screen"].as_str().unwrap().contains("hello"), "what it printed: {shown}");
    assert_eq!(
        ada.ask("PUT", &size, &json!({"rows": 5, "columns": 7})).expect(200)["size"],
        json!([5, 7])
    );

    let empty = ada.post(&input, json!({"text": ""})).expect(400);
    assert!(empty["fields"]["text"].as_str().unwrap().contains("1 to 65536 bytes"), "{empty}");
    ada.post(&input, json!({"text": "x".repeat(70_000)})).expect(400);
    ada.ask("PUT", &size, &json!({"rows": 0, "columns": 7})).expect(400);
    // Agents type with a tool of theirs, whose rules hold.
    agent.post(&input, json!({"text": "x"})).expect(403);
    let viewer = server.person();
    let workspace = base.rsplit('/').next().unwrap();
    ada.invite(workspace, &viewer, "viewer");
    viewer.post(&input, json!({"text": "x"})).expect(403);

    let chat = listed["terminals"][0]["chat_id"].as_str().unwrap();
    let planning = json!({"mode": "plan"});
    ada.ask("PATCH", &format!("{base}/chats/{chat}"), &planning).expect(200);
    let refused = ada.post(&input, json!({"text": "x"}));
    assert!(refused.status == 403 || refused.status == 404, "plan mode ends what writes in place");
}

#[test]
fn x5_a_restart_says_what_it_interrupted() {
    let mut server = Server::start();
    let (name, base) = {
        let (_, agent, base) = at_work(&server);
        open(&agent, &base, "dev", "echo before; echo made > made.txt; cat");
        (agent.token.clone(), base)
    };
    let pids_before = server.pid();
    server.crash_and_restart();
    assert_ne!(server.pid(), pids_before);
    let agent = server.holder(&name);
    let listed = codex(&agent, &base, "list_sessions", json!({}));
    let row = &listed["result"]["sessions"][0];
    assert_eq!(
        (&row["session_id"], &row["state"]),
        (&json!("dev"), &json!("interrupted")),
        "{listed}"
    );
    let typed = codex(&agent, &base, "write_stdin", json!({"session_id": "dev", "chars": ""}));
    assert!(typed.to_string().contains("was interrupted"), "{typed}");
    let log = row["log_path"].as_str().unwrap();
    let read = codex(&agent, &base, "read_file", json!({"path": log, "offset": 0, "limit": 9}));
    assert!(read.to_string().contains("before"), "{read}");
    let mut live = Listener::open(&agent, &base, Some("0"));
    assert_eq!(live.next_of("terminal").data["state"], "running");
    assert_eq!(live.next_of("terminal").data["state"], "interrupted");
    // The name is free again.
    assert_eq!(open(&agent, &base, "dev", "cat made.txt")["output"], "made\r\n");
}

#[test]
fn x5_a_terminal_ends_with_the_key_that_opened_it_and_with_the_server() {
    let mut server = Server::start();
    {
        let (ada, agent, base) = at_work(&server);
        open(&agent, &base, "k", "sleep 7141.5 & read x");
        let keys = ada.get(&format!("{base}/keys")).expect(200);
        let key = keys["keys"][0]["id"].as_str().unwrap();
        ada.delete(&format!("{base}/keys/{key}")).expect(204);
        gone("7141.5");
        open(&ada, &base, "c", "sleep 7141.625 & read x");
        let chats = ada.get(&format!("{base}/terminals")).expect(200);
        let chat = chats["terminals"][0]["chat_id"].as_str().unwrap();
        ada.delete(&format!("{base}/chats/{chat}/terminals")).expect(204);
        gone("7141.625");
        open(&ada, &base, "s", "sleep 7141.75 & read x");
    }
    assert!(server.stop().success());
    gone("7141.75");
}

fn gone(word: &str) {
    let until = Instant::now() + Duration::from_secs(120);
    let is_there = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let mut lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.any(|line| line.split(|byte| *byte == 0).any(|one| one == word.as_bytes()))
    };
    while is_there() {
        assert!(Instant::now() < until, "{word} is still running");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_port_of_a_terminal_is_listed_for_people_and_reached_by_no_other_tenant() {
    let server = Server::start();
    let (ada, agent, base) = at_work(&server);
    let (_, stranger, elsewhere) = at_work(&server);
    open(&agent, &base, "dev", "python3 -m http.server 8200 --bind 127.0.0.1");
    let until = Instant::now() + Duration::from_secs(120);
    while ada.get(&format!("{base}/terminals")).expect(200)["terminals"][0]["ports"]
        != json!([8200])
    {
        assert!(Instant::now() < until, "the port is not listed");
    }
    let fetched = |someone: &Someone<'_>, base: &str| {
        let command =
            "curl -sS --max-time 10 -o /dev/null -w '%{http_code}' http://127.0.0.1:8200/ 2>&1";
        let args = json!({"command": command, "workdir": null, "timeout_ms": 20_000});
        codex(someone, base, "shell", args)["result"]["stdout"].as_str().unwrap().to_owned()
    };
    assert_eq!(fetched(&agent, &base), "200");
    assert!(fetched(&stranger, &elsewhere).contains("curl: (7)"));
    // Nor another agent of the same workspace, who is in a chat of its own.
    let workspace = base.rsplit('/').next().unwrap();
    let colleague = ada.agent(workspace, "member");
    assert!(fetched(&colleague, &base).contains("curl: (7)"));
}
