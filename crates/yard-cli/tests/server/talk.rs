//! Chats, questions, plan mode and the event stream.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

const PLAN: &str = "/plans/brave-otter-lantern.plan";

/// A person in a workspace, and the path of its routes.
fn at_work(server: &Server) -> (Someone<'_>, String, String) {
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    (ada, workspace, base)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn approval() -> Value {
    json!({"questions": [{
        "name": "approval",
        "question": "Ready to build?",
        "schema": {"type": "string", "enum": ["Accept", "Reject"]},
        "buttons": [{"label": "Accept", "value": "Accept"}, {"label": "Reject", "value": "Reject"}],
    }]})
}

/// A call in a chat.
fn call(someone: &Someone<'_>, base: &str, chat: &str, tool: &str, args: Value) -> (u16, Value) {
    let body = json!({"tool": tool, "args": args, "chat_id": chat});
    let answer = someone.post(&format!("{base}/tools"), body);
    (answer.status, answer.json())
}

#[test]
fn w18_a_chat_is_a_file_with_its_messages_and_calls() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    let made = ada.post(&format!("{base}/chats"), json!({"title": "Fix the login"})).expect(201);
    let chat = text(&made["chat"]["id"]);
    assert_eq!(
        (&made["chat"]["mode"], &made["chat"]["path"]),
        (&json!("build"), &json!("/chats/Fix the login.chat"))
    );
    let message = json!({"role": "user", "content": "Please fix the login."});
    ada.post(&format!("{base}/chats/{chat}/messages"), message).expect(201);
    let (status, _) = call(
        &ada,
        &base,
        &chat,
        "write",
        json!({"path": "/login.rs", "content": "fn login() {}\n"}),
    );
    assert_eq!(status, 200);
    let read =
        ada.tool(&workspace, "read", json!({"path": "/chats/Fix the login.chat"})).expect(200);
    let transcript = text(&read["result"]["content"]);
    assert!(
        transcript.contains("Please fix the login.") && transcript.contains("/login.rs"),
        "{transcript}"
    );
    let info =
        ada.tool(&workspace, "file_info", json!({"path": "/chats/Fix the login.chat"})).expect(200);
    assert_eq!(info["result"]["file_type"], "chat");
    let everywhere = ada.tool(&workspace, "grep", json!({"pattern": "Please fix"})).expect(200);
    assert_eq!(everywhere["result"]["matches"], json!([]), "a search from above does not go in");
    let named = json!({"pattern": "Please fix", "path": "/chats"});
    let found = ada.tool(&workspace, "grep", named).expect(200);
    assert_eq!(found["result"]["matches"][0]["path"], "/chats/Fix the login.chat");
    ada.tool(&workspace, "rm", json!({"path": "/chats/Fix the login.chat"})).expect(400);
    let shown = ada.get(&format!("{base}/chats/{chat}")).expect(200);
    let kinds: Vec<_> =
        shown["messages"].as_array().unwrap().iter().map(|turn| text(&turn["kind"])).collect();
    assert_eq!(kinds, ["message", "tool_call"]);
    let listed = ada.get(&format!("{base}/chats")).expect(200);
    assert_eq!(listed["chats"][0]["id"], chat);
    // A chat of another workspace is none here.
    let other = server.person();
    let elsewhere = other.workspace();
    let body = json!({"tool": "ls", "args": {}, "chat_id": chat});
    other.post(&format!("/api/v1/workspaces/{elsewhere}/tools"), body).expect(404);
}

#[test]
fn w15_a_person_answers_and_the_waiting_agent_gets_the_answer() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    let agent = ada.agent(&workspace, "member");
    let question = json!({"questions": [{
        "name": "framework",
        "question": "Which testing framework?",
        "schema": "{\"type\":\"string\",\"enum\":[\"Jest\",\"Vitest\"]}",
        "buttons": [{"label": "Jest", "value": "Jest"}, {"label": "Vitest", "value": "Vitest"}],
    }], "wait_ms": 20_000});
    let heard = std::thread::scope(|scope| {
        let asked =
            scope.spawn(|| agent.tool(&workspace, "ask_user", question.clone()).expect(200));
        let pending = wait_for(|| {
            let listed = ada.get(&format!("{base}/questions?status=pending")).expect(200);
            listed["questions"][0]["id"].as_str().map(str::to_owned)
        });
        agent
            .post(
                &format!("{base}/questions/{pending}/answer"),
                json!({"answers": {"framework": "Jest"}, "via": "button"}),
            )
            .expect(403);
        let path = format!("{base}/questions/{pending}/answer");
        ada.post(&path, json!({"answers": {"framework": "Mocha"}, "via": "text"})).expect(400);
        let given = ada.post(&path, json!({"answers": {"framework": "Vitest"}, "via": "button"}));
        assert_eq!(given.expect(200)["status"], "answered");
        ada.post(&path, json!({"answers": {"framework": "Jest"}, "via": "button"})).expect(409);
        asked.join().unwrap()
    });
    assert_eq!(heard["result"]["status"], "answered");
    assert_eq!(heard["result"]["answers"], json!({"framework": "Vitest"}));
    let id = text(&heard["result"]["question_id"]);
    // R16: its own questions an agent may read, others' not.
    let mine = agent.get(&format!("{base}/questions/{id}")).expect(200);
    assert_eq!((&mine["status"], &mine["via"]), (&json!("answered"), &json!("button")));
    let another = ada.agent(&workspace, "member");
    another.get(&format!("{base}/questions/{id}")).expect(404);
}

#[test]
fn w16_plan_mode_ends_with_a_persons_click() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    let agent = ada.agent(&workspace, "member");
    agent.post(&format!("{base}/chats"), json!({"title": "x", "mode": "build"})).expect(403);
    let made =
        ada.post(&format!("{base}/chats"), json!({"title": "Plan it", "mode": "plan"})).expect(201);
    let chat = text(&made["chat"]["id"]);
    agent.ask("PATCH", &format!("{base}/chats/{chat}"), &json!({"mode": "build"})).expect(403);
    let run = |tool: &str, args: Value| call(&agent, &base, &chat, tool, args);
    assert_eq!(run("write", json!({"path": "/a.txt", "content": "x"})).0, 403);
    let plan = json!({"title": "The plan", "content": "# Do it\n", "path": PLAN});
    assert_eq!(run("plan_write", plan).0, 200);
    let leave = json!({"plan_file_path": PLAN});
    assert_eq!(run("exit_plan_mode", leave.clone()).0, 403);
    let (_, asked) = run("ask_user", approval());
    let question = text(&asked["result"]["question_id"]);
    let answer = json!({"answers": {"approval": "Accept"}, "via": "button"});
    ada.post(&format!("{base}/questions/{question}/answer"), answer).expect(200);
    let (status, left) = run("exit_plan_mode", leave.clone());
    assert_eq!((status, &left["result"]["mode"]), (200, &json!("build")), "{left}");
    assert_eq!(run("write", json!({"path": "/a.txt", "content": "x"})).0, 200);
    assert_eq!(run("exit_plan_mode", leave).0, 403, "used once");
    let read = ada.tool(&workspace, "plan_read", json!({"path": PLAN})).expect(200);
    assert_eq!(read["result"]["metadata"]["status"], "approved");
}

#[test]
fn a_key_bound_to_a_chat_stays_in_it() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    let make = |mode: &str| {
        let made =
            ada.post(&format!("{base}/chats"), json!({"title": mode, "mode": mode})).expect(201);
        text(&made["chat"]["id"])
    };
    let (plan, build) = (make("plan"), make("build"));
    let key = json!({"name": "bound", "role": "member", "chat_id": plan});
    let key = ada.post(&format!("{base}/keys"), key).expect(201);
    let agent = server.holder(key["key"].as_str().unwrap());
    let write = json!({"path": "/a", "content": "x"});
    agent.tool(&workspace, "write", write.clone()).expect(403);
    assert_eq!(call(&agent, &base, &build, "write", write.clone()).0, 403);
    assert_eq!(call(&agent, &base, &plan, "write", write).0, 403);
    agent.tool(&workspace, "ls", json!({})).expect(200);
}

#[test]
fn events_can_be_read_again_from_any_number() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    let mut live = Listener::open(&ada, &base, None);
    ada.tool(&workspace, "write", json!({"path": "/a", "content": "x"})).expect(200);
    let step = live.next("step");
    assert_eq!(step.data["changes"][0]["path"], "/a");
    let chat =
        ada.post(&format!("{base}/chats"), json!({"title": "c", "mode": "plan"})).expect(201);
    live.next("chat.created");
    let chat = text(&chat["chat"]["id"]);
    ada.ask("PATCH", &format!("{base}/chats/{chat}"), &json!({"mode": "build"})).expect(200);
    assert_eq!(live.next("chat.mode").data["mode"], "build");
    let (_, asked) = call(&ada, &base, &chat, "ask_user", approval());
    assert_eq!(live.next("question.asked").data["question_id"], asked["result"]["question_id"]);
    drop(live);
    ada.tool(&workspace, "write", json!({"path": "/b", "content": "x"})).expect(200);
    let mut again = Listener::open(&ada, &base, Some(&step.id));
    again.next("chat.created");
    again.next("chat.mode");
    again.next("question.asked");
    assert_eq!(again.next("step").data["changes"][0]["path"], "/b");
    // A number from another history: told as lost, and the stream goes on.
    let mut ahead = Listener::open(&ada, &base, Some("1000000"));
    assert_eq!(ahead.next("lost").data["after"], 1_000_000);
}

#[test]
fn changes_of_other_programs_are_reported() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    ada.tool(&workspace, "write", json!({"path": "/ours", "content": "x"})).expect(200);
    let mut live = Listener::open(&ada, &base, None);
    live.greeted();
    let folder = server.data().join("workspaces").join(&workspace);
    std::fs::write(folder.join("theirs.txt"), "from outside").unwrap();
    let reply = live.next("files.changed");
    assert_eq!(
        (&reply.data["source"], &reply.data["paths"]),
        (&json!("external"), &json!(["/theirs.txt"]))
    );
    let read = ada.tool(&workspace, "read", json!({"path": "/theirs.txt"})).expect(200);
    assert_eq!(read["result"]["synced"], false);
}

#[test]
fn a_stream_ends_for_who_is_let_in_no_more_and_at_shutdown() {
    let mut server = Server::start();
    let address = server.address.clone();
    {
        let (ada, workspace, base) = at_work(&server);
        let bob = server.person();
        ada.invite(&workspace, &bob, "viewer");
        let mut live = Listener::open(&bob, &base, None);
        live.greeted();
        ada.delete(&format!("{base}/members/{}", bob.id)).expect(204);
        assert!(live.ends(), "a member who was removed hears no more");
    }
    let token = server.person().token.clone();
    let base = {
        let eve = server.holder(&token);
        format!("/api/v1/workspaces/{}", eve.workspace())
    };
    let mut live = Listener::connect(&address, &token, &base, None);
    live.greeted();
    let begun = Instant::now();
    assert!(server.stop().success());
    assert!(begun.elapsed() < Duration::from_secs(8), "an open stream does not hold the server up");
    assert!(live.ends());
}

#[test]
fn a_reader_that_does_not_read_slows_no_other() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    let _deaf = Listener::open(&ada, &base, None);
    let begun = Instant::now();
    for nth in 0..200 {
        let args = json!({"path": format!("/{nth}"), "content": "x".repeat(200)});
        ada.tool(&workspace, "write", args).expect(200);
    }
    assert!(begun.elapsed() < Duration::from_secs(120));
    let mut late = Listener::open(&ada, &base, Some("0"));
    for nth in 0..200 {
        assert_eq!(late.next("step").data["changes"][0]["path"], format!("/{nth}"));
    }
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "it did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An event that was heard.
pub(crate) struct Heard {
    pub(crate) id: String,
    name: String,
    pub(crate) data: Value,
}

/// A reader of the event stream, on a connection of its own.
pub(crate) struct Listener {
    lines: BufReader<TcpStream>,
}

impl Listener {
    pub(crate) fn open(someone: &Someone<'_>, base: &str, after: Option<&str>) -> Self {
        Self::connect(&someone.server.address, &someone.token, base, after)
    }

    fn connect(address: &str, token: &str, base: &str, after: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let after = after.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        write!(
            stream,
            "GET {base}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{after}\r\n"
        )
        .unwrap();
        let mut listener = Self { lines: BufReader::new(stream) };
        let status = listener.line().unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        while !listener.line().unwrap().is_empty() {}
        listener
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.lines.read_line(&mut line).unwrap();
        (count > 0).then(|| line.trim_end().to_owned())
    }

    /// Waits until the server has begun to tell.
    pub(crate) fn greeted(&mut self) {
        while !self.line().unwrap().starts_with("retry:") {}
    }

    /// The next event, which must be of this name.
    pub(crate) fn next(&mut self, name: &str) -> Heard {
        let heard = self.heard();
        assert_eq!(heard.name, name, "{}", heard.data);
        heard
    }

    /// The next event of this name.
    pub(crate) fn next_of(&mut self, name: &str) -> Heard {
        loop {
            let heard = self.heard();
            if heard.name == name {
                return heard;
            }
        }
    }

    fn heard(&mut self) -> Heard {
        let (mut id, mut name) = (String::new(), String::new());
        let begun = Instant::now();
        loop {
            let line = self.line().expect("the stream goes on");
            // The comments that keep a stream open come for ever.
            assert!(begun.elapsed() < Duration::from_secs(60), "no event came");
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.to_owned();
            } else if let Some(event) = line.strip_prefix("event: ") {
                name = event.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Heard { id, name, data: serde_json::from_str(data).unwrap() };
            }
        }
    }

    /// Whether the stream ends.
    pub(crate) fn ends(&mut self) -> bool {
        loop {
            let mut line = String::new();
            match self.lines.read_line(&mut line) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }
}
