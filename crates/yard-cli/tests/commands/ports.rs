//! Ports that programs in terminals listen on: who reaches them, and who does not. The servers are real ones,
//! each in the network of its own box.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yard_gate::{Mode, Session};
use yard_testkit::TestWorkspace;

use crate::box_setup::{shell_as, workspace};

/// Python's own server of files, on a port.
fn file_server(port: u16) -> String {
    format!("python3 -u -m http.server {port} --bind 127.0.0.1")
}

fn call(workspace: &TestWorkspace, session: &Session, tool: &str, args: Value) -> Value {
    let answer = workspace.call_as(session, "codex", tool, args);
    assert!(answer.ok && answer.pending.is_none(), "{tool}: {}", answer.body);
    answer.body["result"].clone()
}

fn open(workspace: &TestWorkspace, session: &Session, name: &str, command: &str) -> Value {
    let args = json!({"session_id": name, "cmd": command, "workdir": null});
    call(workspace, session, "exec_command", args)
}

fn types(workspace: &TestWorkspace, session: &Session, name: &str, chars: &str) -> Value {
    call(workspace, session, "write_stdin", json!({"session_id": name, "chars": chars}))
}

fn kill(workspace: &TestWorkspace, session: &Session, name: &str) {
    call(workspace, session, "kill_session", json!({"session_id": name}));
}

/// Looks at a terminal until its answer names something.
fn look_for(
    workspace: &TestWorkspace,
    session: &Session,
    name: &str,
    mut reply: Value,
    wanted: &str,
) -> String {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        let message = reply["message"].as_str().unwrap_or_default().to_owned();
        if message.contains(wanted) {
            return message;
        }
        assert!(Instant::now() < until, "{wanted} is not named: {reply}");
        reply = types(workspace, session, name, "");
    }
}

/// A server of files in a terminal, once it listens.
fn serves(workspace: &TestWorkspace, session: &Session, name: &str, port: u16) -> String {
    let reply = open(workspace, session, name, &file_server(port));
    look_for(workspace, session, name, reply, &format!("port {port}"))
}

/// What a page has, for a command that is run now; without the server, what curl complains of.
fn fetched(workspace: &TestWorkspace, session: &Session, port: u16) -> String {
    let command = format!("curl -sS --max-time 10 http://127.0.0.1:{port}/page.txt 2>&1");
    let answer = shell_as(workspace, session, &command);
    answer.body["result"]["stdout"].as_str().unwrap().to_owned()
}

fn workspace_with_page() -> TestWorkspace {
    let workspace = workspace();
    std::fs::write(workspace.root().join("page.txt"), "the page\n").unwrap();
    workspace
}

#[test]
fn a_port_is_named_and_answers_to_another_command_of_the_chat() {
    let workspace = workspace_with_page();
    let session = workspace.session();
    let text = serves(&workspace, &session, "dev", 5_173);
    assert!(text.contains("other commands of this chat reach it as 127.0.0.1:5173"), "{text}");
    assert!(text.contains("`toolyard ports`"), "{text}");
    assert_eq!(fetched(&workspace, &session, 5_173), "the page\n");
    // It is reported once, and listed for as long as it exists.
    let reply = types(&workspace, &session, "dev", "");
    assert!(!reply["message"].as_str().unwrap_or_default().contains("5173"), "{reply}");
    assert_eq!(session.terminals().list().unwrap()[0].ports, [5_173]);
    kill(&workspace, &session, "dev");
    assert!(
        fetched(&workspace, &session, 5_173).contains("curl: (7)"),
        "it is closed with its terminal"
    );
    assert_eq!(session.terminals().list().unwrap()[0].ports, Vec::<u16>::new());
}

#[test]
fn a_terminal_that_was_there_before_reaches_the_port_and_has_it_back_afterwards() {
    let workspace = workspace_with_page();
    let session = workspace.session();
    open(&workspace, &session, "shell", "sh -i");
    serves(&workspace, &session, "dev", 8_000);
    let reply = types(&workspace, &session, "shell", "curl -sS http://127.0.0.1:8000/page.txt\n");
    assert!(reply["output"].as_str().unwrap().contains("the page"), "{reply}");
    kill(&workspace, &session, "dev");
    // The port is free in that box, once something is typed there again.
    let reply = types(&workspace, &session, "shell", &format!("{}\n", file_server(8_000)));
    look_for(&workspace, &session, "shell", reply, "port 8000");
    assert_eq!(fetched(&workspace, &session, 8_000), "the page\n");
    kill(&workspace, &session, "shell");
}

#[test]
fn no_other_chat_reaches_a_port() {
    let workspace = workspace_with_page();
    let chat = |name: &str| {
        let made =
            workspace.person().chats().make(&workspace.call_context(), name, Some(Mode::Build));
        workspace.session().in_chat(made.unwrap().id).unwrap()
    };
    let (one, other) = (chat("one"), chat("other"));
    serves(&workspace, &one, "dev", 8_001);
    assert_eq!(fetched(&workspace, &one, 8_001), "the page\n");
    assert!(fetched(&workspace, &other, 8_001).contains("curl: (7)"));
    // The same port of two chats is two ports.
    std::fs::write(workspace.root().join("page.txt"), "a page of both\n").unwrap();
    serves(&workspace, &other, "dev", 8_001);
    for session in [&one, &other] {
        assert_eq!(fetched(&workspace, session, 8_001), "a page of both\n");
    }
    kill(&workspace, &one, "dev");
    assert!(fetched(&workspace, &one, 8_001).contains("curl: (7)"));
    assert_eq!(fetched(&workspace, &other, 8_001), "a page of both\n");
    kill(&workspace, &other, "dev");
}

#[test]
fn a_program_that_listens_by_ipv6_or_on_every_address_is_reached() {
    let workspace = workspace_with_page();
    let session = workspace.session();
    for (name, address, port) in
        [("all", "0.0.0.0", 8_002), ("six", "::1", 8_003), ("any", "::", 8_004)]
    {
        let command = format!("python3 -u -m http.server {port} --bind {address}");
        let reply = open(&workspace, &session, name, &command);
        look_for(&workspace, &session, name, reply, &format!("port {port}"));
        assert_eq!(fetched(&workspace, &session, port), "the page\n", "{address}");
    }
    // Two terminals of a chat may each have a program at the same port of the other kind of address.
    let reply = open(&workspace, &session, "again", "python3 -u -m http.server 8003 --bind ::1");
    look_for(&workspace, &session, "again", reply, "port 8003");
    ["all", "six", "any", "again"].iter().for_each(|name| kill(&workspace, &session, name));
}

#[test]
fn much_is_passed_on_both_ways_and_many_at_once() {
    let workspace = workspace_with_page();
    let session = workspace.session();
    let echo = "import socketserver\n\
                class Echo(socketserver.BaseRequestHandler):\n\
                \x20   def handle(self):\n\
                \x20       while piece := self.request.recv(65536):\n\
                \x20           self.request.sendall(piece)\n\
                socketserver.ThreadingTCPServer.request_queue_size = 128\n\
                socketserver.ThreadingTCPServer(('127.0.0.1', 8005), Echo).serve_forever()\n";
    std::fs::write(workspace.root().join("echo.py"), echo).unwrap();
    let reply = open(&workspace, &session, "echo", "python3 echo.py");
    look_for(&workspace, &session, "echo", reply, "port 8005");
    let client = "import hashlib, os, socket, threading\n\
                  sent = os.urandom(1_000_000)\n\
                  def once():\n\
                  \x20   line = socket.create_connection(('127.0.0.1', 8005))\n\
                  \x20   def send():\n\
                  \x20       line.sendall(sent)\n\
                  \x20       line.shutdown(socket.SHUT_WR)\n\
                  \x20   threading.Thread(target=send).start()\n\
                  \x20   got = b''.join(iter(lambda: line.recv(65536), b''))\n\
                  \x20   same.append(got == sent)\n\
                  same = []\n\
                  all = [threading.Thread(target=once) for _ in range(60)]\n\
                  [one.start() for one in all]\n\
                  [one.join() for one in all]\n\
                  print(len(same), set(same))\n";
    std::fs::write(workspace.root().join("client.py"), client).unwrap();
    let answer = shell_as(&workspace, &session, "python3 client.py");
    assert_eq!(answer.body["result"]["stdout"], "60 {True}\n", "{}", answer.body);
    kill(&workspace, &session, "echo");
}
