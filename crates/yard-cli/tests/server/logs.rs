//! What the log says about calls (R17), and what it never says (R13).

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{PASSWORD, Server};

const LOUD: [(&str, &str); 2] = [
    ("TOOLYARD__LOG__LEVEL", "info,session=debug,yard_server=debug"),
    ("TOOLYARD__LOG__FORMAT", "json"),
];

/// How many lines a call has here: its own, its answer's and its request's.
const OF_A_CALL: usize = 3;

/// Its log as values, once there are so many lines of each of these requests: some come after the answer.
fn lines(server: &Server, ids: &[&str], each: usize) -> Vec<Value> {
    let patience = Instant::now() + Duration::from_secs(120);
    loop {
        let log = server.log();
        let lines: Vec<Value> =
            log.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let count = |id: &str| lines.iter().filter(|line| is_of(line, id)).count();
        if ids.iter().all(|id| count(id) >= each) {
            return lines;
        }
        assert!(Instant::now() < patience, "too few lines of {ids:?}: {log:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a line belongs to the request of that id. A request without a route has no span.
fn is_of(line: &Value, id: &str) -> bool {
    ["span", "fields"].iter().any(|part| line[part]["request_id"] == id)
}

/// The lines about one request under one target.
fn of_request<'a>(lines: &'a [Value], id: &str, target: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["target"] == target && is_of(line, id)).collect()
}

/// Somebody lists a workspace, in a request of this name.
fn list_as(server: &Server, id: &str) {
    let ada = server.person();
    let path = format!("/api/v1/workspaces/{}/tools", ada.workspace());
    let ls = json!({"tool": "ls", "args": {"path": "/"}});
    ada.ask_with("POST", &path, &[("x-request-id", id)], &ls).expect(200);
}

/// Also where spans are exported as traces. The collector does not answer here.
#[test]
fn a_line_names_its_request_once_with_and_without_traces() {
    let collector = ("TOOLYARD__OTEL__ENDPOINT", "http://127.0.0.1:1");
    for endpoint in [None, cfg!(feature = "telemetry").then_some(collector)] {
        let settings: Vec<_> = LOUD.into_iter().chain(endpoint).collect();
        let server = Server::start_with(&settings);
        list_as(&server, "only");
        let lines = lines(&server, &["only"], OF_A_CALL);
        let [call, _] = of_request(&lines, "only", "session")[..] else { panic!("{lines:#?}") };
        assert_eq!(call["fields"]["tool"], "ls");
        assert_eq!(call["span"], json!({"name": "request", "request_id": "only"}));
        assert!(call["spans"].is_null() && call["fields"]["request_id"].is_null(), "{call:#}");
    }
}

#[test]
fn for_people_a_line_begins_with_its_request() {
    let server = Server::start_with(&[LOUD[0], ("TOOLYARD__LOG__FORMAT", "text")]);
    list_as(&server, "only");
    let patience = Instant::now() + Duration::from_secs(120);
    while !server.log().iter().any(|line| {
        line.contains("request{request_id=\"only\"}: session: call") && line.contains("tool=\"ls\"")
    }) {
        assert!(Instant::now() < patience, "{:#?}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn r17_each_call_is_a_line_and_each_answer_another() {
    let server = Server::start_with(&LOUD);
    let ada = server.person();
    let room = ada.workspace();
    let agent = ada.agent(&room, "member");
    let path = format!("/api/v1/workspaces/{room}/tools");
    let write =
        json!({"tool": "write", "args": {"path": "/a.txt", "content": "top of the morning"}});
    agent.ask_with("POST", &path, &[("x-request-id", "first")], &write).expect(200);
    let read = json!({"tool": "read", "args": {"path": "/none.txt"}});
    agent.ask_with("POST", &path, &[("x-request-id", "second")], &read).expect(404);
    let unknown = json!({"tool": "sk-live-rm", "args": {}});
    agent.ask_with("POST", &path, &[("x-request-id", "last")], &unknown);
    let lines = lines(&server, &["first", "second", "last"], OF_A_CALL);

    let [call, answer] = of_request(&lines, "first", "session")[..] else { panic!("{lines:#?}") };
    let fields = &call["fields"];
    assert_eq!((&call["level"], &fields["message"]), (&json!("INFO"), &json!("call")));
    assert_eq!((&fields["toolset"], &fields["tool"]), (&json!("workspace"), &json!("write")));
    assert!(fields["actor"].as_str().unwrap().starts_with("key:"), "{fields}");
    assert_eq!((&fields["effect"], &fields["outcome"]), (&json!("create /a.txt"), &json!("ok")));
    assert!(fields["micros"].as_u64().unwrap() > 0, "{fields}");
    assert_eq!(fields["args"], r#"{"path":"/a.txt","content":"[18 bytes]"}"#);
    assert_eq!(
        (&answer["level"], &answer["fields"]["message"]),
        (&json!("DEBUG"), &json!("answer"))
    );
    assert!(answer["fields"]["answer"].as_str().unwrap().contains("\"path\":\"/a.txt\""));
    // The request's own line stays under its own target.
    let request = of_request(&lines, "first", "yard_server::http::answer");
    assert_eq!(request.len(), 1, "{lines:#?}");
    assert_eq!(request[0]["fields"]["route"], "/api/v1/workspaces/{id}/tools");
    assert_eq!(request[0]["level"], "DEBUG", "the call's own line is enough");

    let second = of_request(&lines, "second", "session");
    assert_eq!(second[0]["fields"]["outcome"], "NotFound", "{second:#?}");
    let last = of_request(&lines, "last", "session");
    assert_eq!(last[0]["fields"]["outcome"], "NoSuchTool", "{last:#?}");
    assert!(!server.log().iter().any(|line| line.contains("sk-live")), "a name that nobody knows");
}

#[test]
fn r17_a_call_of_a_toolset_that_the_key_is_not_for_is_a_line_too() {
    let server = Server::start_with(&LOUD);
    let ada = server.person();
    let room = ada.workspace();
    let key = json!({"name": "files", "role": "member", "toolsets": ["file"]});
    let key = ada.post(&format!("/api/v1/workspaces/{room}/keys"), key).expect(201);
    let agent = server.holder(key["key"].as_str().unwrap());
    let write = json!({"tool": "write", "args": {"path": "/a.txt", "content": "x"}});
    let path = format!("/api/v1/workspaces/{room}/tools");
    agent.ask_with("POST", &path, &[("x-request-id", "refused")], &write).expect(403);
    let lines = lines(&server, &["refused"], OF_A_CALL);
    let fields = &of_request(&lines, "refused", "session")[0]["fields"];
    assert_eq!((&fields["tool"], &fields["outcome"]), (&json!("write"), &json!("Denied")));
    assert!(fields["actor"].as_str().unwrap().starts_with("key:"), "{fields}");
}

#[test]
fn r17_a_call_names_its_chat() {
    let server = Server::start_with(&LOUD);
    let ada = server.person();
    let room = ada.workspace();
    let chat = ada.post(&format!("/api/v1/workspaces/{room}/chats"), json!({"title": "Talk"}));
    let chat = chat.expect(201)["chat"]["id"].as_str().unwrap().to_owned();
    let body = json!({"tool": "ls", "args": {"path": "/"}, "chat_id": chat});
    let path = format!("/api/v1/workspaces/{room}/tools");
    ada.ask_with("POST", &path, &[("x-request-id", "talk")], &body).expect(200);
    let lines = lines(&server, &["talk"], OF_A_CALL);
    assert_eq!(of_request(&lines, "talk", "session")[0]["fields"]["chat"], json!(chat));
}

#[test]
fn r17_a_call_that_waits_for_a_person_has_its_line_meanwhile() {
    let server = Server::start_with(&LOUD);
    let ada = server.person();
    let room = ada.workspace();
    let agent = ada.agent(&room, "member");
    let base = format!("/api/v1/workspaces/{room}");
    let question = json!({"name": "go", "question": "Shall I?", "schema": r#"{"type":"string"}"#});
    let asks = json!({"tool": "ask_user", "args": {"questions": [question]}, "wait_ms": 60_000});
    let tools = format!("{base}/tools");
    std::thread::scope(|scope| {
        scope.spawn(|| agent.ask_with("POST", &tools, &[("x-request-id", "asks")], &asks));
        let lines = lines(&server, &["asks"], 2);
        let [call, _] = of_request(&lines, "asks", "session")[..] else { panic!("{lines:#?}") };
        assert_eq!(call["fields"]["outcome"], "pending", "{call:#}");
        let listed = ada.get(&format!("{base}/questions?status=pending")).expect(200);
        let id = listed["questions"][0]["id"].as_str().unwrap().to_owned();
        let yes = json!({"answers": {"go": "yes"}, "via": "text"});
        ada.post(&format!("{base}/questions/{id}/answer"), yes).expect(200);
    });
}

#[test]
fn r13_no_secret_and_no_content_is_logged() {
    let server = Server::start_with(&[
        ("TOOLYARD__LOG__LEVEL", "trace"),
        ("TOOLYARD__LOG__FORMAT", "json"),
        ("TOOLYARD__JWT__SECRET", "a signing secret of 32 characters"),
    ]);
    let ada = server.person();
    let room = ada.workspace();
    let agent = ada.agent(&room, "member");
    let hush = "hush-content";
    let calls = [
        ("write", json!({"path": "/a.txt", "content": hush})),
        ("write", json!({"path": "/b.json", "content": {"pin": "hush-content"}})),
        ("read", json!({"path": "/a.txt"})),
        ("cat", json!({"paths": ["/a.txt"]})),
        ("read_multiple_files", json!({"paths": ["/a.txt", "/none.txt"]})),
        ("grep", json!({"pattern": "hush", "path": "/", "context": 2})),
        ("edit", json!({"path": "/a.txt", "old_string": "hush-contend", "new_string": hush})),
        ("edit", json!({"path": "/a.txt", "old_string": hush, "new_string": "hush-content 2"})),
        ("write", json!({"path": {"deep": hush}, "content": 5})),
        ("write", json!({"path": "/a.txt", "hush-content": "hush-content"})),
        ("plan_write", json!({"title": "A plan", "content": hush})),
        ("hush-content", json!({})),
    ];
    let tools = format!("/api/v1/workspaces/{room}/tools");
    let ids: Vec<String> = (0..calls.len()).map(|nth| format!("call-{nth}")).collect();
    for ((tool, args), id) in calls.into_iter().zip(&ids) {
        let call = json!({"tool": tool, "args": args});
        agent.ask_with("POST", &tools, &[("x-request-id", id)], &call);
    }
    server.post("/api/v1/auth/login", &json!({"email": ada.email, "password": "hush-content!"}));
    server.post("/api/v1/auth/refresh", &json!({"refresh_token": ada.refresh})).expect(200);
    server.post("/api/v1/auth/refresh", &json!({"refresh_token": ada.refresh})).expect(401);
    server.raw(
        b"POST /api/v1/auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 12\r\n\r\nhush-content",
    );
    let token = format!("/hush-content?token={}", agent.token);
    server.send("GET", &token, &[("x-request-id", "end")], b"");
    lines(&server, &["end"], 1);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    lines(&server, &ids, OF_A_CALL);
    let log = server.log();
    assert!(log.iter().any(|line| line.contains("\"tool\":\"grep\"")), "{log:#?}");
    let secrets =
        [hush, PASSWORD, &ada.token, &ada.refresh, &agent.token, "$argon2", "a signing secret"];
    for secret in secrets {
        let reply: Vec<_> = log.iter().filter(|line| line.contains(secret)).collect();
        assert!(reply.is_empty(), "{secret}: {reply:#?}");
    }
}

fn call(level: Option<&str>) -> Output {
    let home = tempfile::tempdir().unwrap();
    let (root, data) = (home.path().join("root"), home.path().join("data"));
    std::fs::create_dir(&root).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.env_clear().envs(level.map(|level| ("TOOLYARD__LOG__LEVEL", level)));
    command.arg("call").arg("--root").arg(root).arg("--data-dir").arg(data);
    command.args(["write", r#"{"path": "/a.txt", "content": "hush"}"#]).output().unwrap()
}

#[test]
fn r17_the_command_line_logs_when_it_is_asked_to() {
    let silent = call(None);
    assert!(silent.status.success() && silent.stderr.is_empty(), "{silent:?}");
    let loud = call(Some("info"));
    assert_eq!(loud.stdout.is_empty(), silent.stdout.is_empty());
    let line: Value = serde_json::from_slice(&loud.stderr).unwrap();
    assert_eq!((&line["target"], &line["fields"]["tool"]), (&json!("session"), &json!("write")));
    assert_eq!(line["fields"]["actor"], "agent:local");
    assert!(!line.to_string().contains("hush"), "{line}");
    let wrong = call(Some("loud,=="));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("log.level"), "{wrong:?}");
}
