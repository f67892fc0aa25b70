//! Requests that no client sends by accident. Each gets JSON, or hyper's own bare 400 for what is no HTTP:
//! never a 5xx, never another workspace's data, never a path of the host.

use serde_json::{Value, json};

use crate::harness::{Answer, Server, Someone};

/// The answers on one connection: status and body, in order.
#[track_caller]
fn answers(output: &str) -> Vec<(u16, String)> {
    let mut rest = output;
    let mut all = Vec::new();
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.trim().parse().unwrap());
        all.push((status, after[..length].to_owned()));
        rest = &after[length..];
    }
    assert!(rest.is_empty(), "{output}");
    all
}

/// A refusal in JSON, or a bare 4xx of the parser.
#[track_caller]
fn is_refusal(status: u16, body: &str) {
    assert!((400..500).contains(&status), "{status} {body}");
    if !body.is_empty() {
        let reply: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{status} {body}"));
        assert_eq!(reply["success"], false, "W1");
    }
}

/// The head of a request of this person, without the empty line at its end.
fn head(someone: &Someone<'_>, line: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n", someone.token)
}

/// A call of `touch`, ready to be sent.
fn touch(someone: &Someone<'_>, workspace: &str, path: &str) -> String {
    let body = json!({"tool": "touch", "args": {"path": path}}).to_string();
    let line = format!("POST /api/v1/workspaces/{workspace}/tools");
    let head = head(someone, &line);
    let length = body.len();
    format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// The names in the workspace's root.
fn names(someone: &Someone<'_>, workspace: &str) -> Vec<String> {
    let listed = someone.tool(workspace, "ls", json!({})).expect(200);
    let entries = listed["result"]["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let all: String =
        ["/a", "/../b", "/c"].map(|path| touch(&ada, &workspace, path)).into_iter().collect();
    let reply = answers(&server.raw_and_stay(all.as_bytes()));
    let statuses: Vec<u16> = reply.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 400, 200]);
    assert!(reply[0].1.contains("\"/a\"") && reply[2].1.contains("\"/c\""));
    assert_eq!(names(&ada, &workspace), ["a", "c"]);
}

#[test]
fn a_client_that_waits_for_100_gets_it_or_the_refusal() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let expecting = |request: String| {
        request.replacen("Content-Type", "Expect: 100-continue\r\nContent-Type", 1)
    };
    let reply = answers(&server.raw_and_stay(expecting(touch(&ada, &workspace, "/a")).as_bytes()));
    assert_eq!((reply[0].0, reply[1].0), (100, 200));
    let nobody = server.holder("nonsense");
    let reply =
        answers(&server.raw_and_stay(expecting(touch(&nobody, &workspace, "/b")).as_bytes()));
    assert_eq!(reply.last().unwrap().0, 401);
    assert_eq!(names(&ada, &workspace), ["a"]);
}

#[test]
fn floods_of_headers_end_the_connection() {
    let server = Server::start();
    let ada = server.person();
    let line = head(&ada, "GET /api/v1/auth/me");
    let many: String = (0..10_000).map(|number| format!("X-{number}: y\r\n")).collect();
    let huge = format!("X-Huge: {}\r\n", "y".repeat(4 << 20));
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n", "x".repeat(1 << 20));
    for request in [format!("{line}{many}\r\n"), format!("{line}{huge}\r\n"), long + "\r\n"] {
        // A server that hangs up on a talking client may reset the connection before the words arrive.
        for (status, body) in answers(&server.raw_and_stay(request.as_bytes())) {
            is_refusal(status, &body);
        }
    }
    let some: String = (0..50).map(|number| format!("X-{number}: y\r\n")).collect();
    let reply = answers(&server.raw_and_stay(format!("{line}{some}\r\n").as_bytes()));
    assert_eq!(reply[0].0, 200);
}

#[test]
fn nothing_is_smuggled_past_the_end_of_a_body() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let inner = touch(&ada, &workspace, "/smuggled");
    let outer = head(&ada, &format!("POST /api/v1/workspaces/{workspace}/tools"))
        + "Content-Type: application/json\r\n";
    let both = inner.len() + 5;
    let tries = [
        // A length and chunks: the chunks end at once, the length does not.
        format!("Content-Length: {both}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{inner}"),
        // Lengths that differ.
        format!("Content-Length: 2\r\nContent-Length: {both}\r\n\r\n{{}}{inner}"),
        format!("Content-Length: 2, {both}\r\n\r\n{{}}{inner}"),
        // Lengths that are none.
        format!("Content-Length: +2\r\n\r\n{{}}{inner}"),
        format!("Content-Length: 0x2\r\n\r\n{{}}{inner}"),
        format!("Content-Length: -1\r\n\r\n{{}}{inner}"),
        format!("Content-Length: 99999999999999999999999\r\n\r\n{{}}{inner}"),
        // Encodings that are spelt for somebody else.
        format!("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{inner}"),
        format!("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{inner}"),
        format!("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{inner}"),
        format!("Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n{inner}"),
        // Chunks with sizes that are none, and a line that begins in a header.
        format!("Transfer-Encoding: chunked\r\n\r\nxyz\r\n{inner}"),
        format!("Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{inner}"),
        "X: y\r\n folded: z\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        format!("X: y\nX-Bare: {inner}"),
    ];
    for attempt in &tries {
        let reply = answers(&server.raw_and_stay(format!("{outer}{attempt}").as_bytes()));
        // The first body is no call, so that a second answer of 200 could only be the smuggled one's.
        for (status, body) in &reply {
            is_refusal(*status, body);
        }
        assert_eq!(names(&ada, &workspace), [""; 0], "{attempt}: {reply:?}");
    }
}

#[test]
fn what_is_no_http_gets_a_bare_400_or_nothing() {
    let server = Server::start();
    let tries: [&[u8]; 9] = [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET http:// HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ];
    for attempt in tries {
        for (status, body) in answers(&server.raw_and_stay(attempt)) {
            is_refusal(status, &body);
        }
    }
    server.get("/health").expect(200);
}

#[test]
fn tricks_in_paths_lead_nowhere() {
    let server = Server::start();
    let (ada, eve) = (server.person(), server.person());
    let (own, foreign) = (ada.workspace(), eve.workspace());
    eve.tool(&foreign, "write", json!({"path": "/a", "content": "SECRET-WORD"})).expect(200);
    let base = format!("/api/v1/workspaces/{own}");
    let long = "x".repeat(60_000);
    let tries = [
        format!("{base}/%2e%2e/{foreign}"),
        format!("{base}/../{foreign}"),
        format!("{base}/..%2f{foreign}"),
        format!("{base}%2f..%2f{foreign}/files/trash"),
        format!("/api/v1/workspaces/{own}%00"),
        format!("/api/v1/workspaces/{own}%2f{foreign}"),
        format!("/api/v1/workspaces//{foreign}"),
        format!("//api/v1/workspaces/{own}"),
        format!("{base}//files/trash"),
        format!("{base}/"),
        format!("{base}/files/%2e%2e/%2e%2e/{foreign}"),
        format!("{base}/files/..%2f..%2f..%2fpeople.db/content"),
        format!("{base}/files/%ff%fe/content"),
        format!("{base}/files/%zz/content"),
        format!("{base}/files/{long}"),
        format!("{base}/files/{foreign}"),
        format!("{base}/steps/{foreign}"),
        format!("{base};x=y"),
        "/api/v1/../../etc/passwd".to_owned(),
        "/%c0%ae%c0%ae/etc/passwd".to_owned(),
    ];
    for path in tries {
        let request = head(&ada, &format!("GET {path}")) + "Connection: close\r\n\r\n";
        let output = server.raw_and_stay(request.as_bytes());
        let shown = &path[..path.len().min(120)];
        assert!(!output.contains("SECRET-WORD") && !output.contains("root:"), "{shown}: {output}");
        for (status, body) in answers(&output) {
            is_refusal(status, &body);
        }
    }
}

/// Every path of the document, with ids that lead nowhere.
fn paths(server: &Server, workspace: &str) -> Vec<String> {
    let document = server.get("/openapi.json").expect(200);
    let known = document["paths"].as_object().unwrap().keys();
    let filled = known.map(|path| {
        let path = path.replace("{id}", workspace);
        let parts =
            path.split('/').map(|part| if part.starts_with('{') { workspace } else { part });
        parts.collect::<Vec<_>>().join("/")
    });
    filled.collect()
}

#[test]
fn head_and_options_on_every_route_tell_nothing_more() {
    let server = Server::start();
    let (ada, eve) = (server.person(), server.person());
    let workspace = ada.workspace();
    for path in paths(&server, &workspace).iter().filter(|path| !path.ends_with("/events")) {
        for someone in [&ada, &eve] {
            let bearer = format!("Bearer {}", someone.token);
            let ask = |method| server.send(method, path, &[("authorization", &bearer)], b"");
            let looked = ask("HEAD");
            assert!(looked.bytes.is_empty() && looked.status < 500, "HEAD {path}");
            assert!([looked.status, 405].contains(&ask("GET").status), "HEAD {path}");
            for method in ["OPTIONS", "TRACE"] {
                let answer = ask(method);
                assert_eq!(answer.expect(405)["code"], "METHOD_NOT_ALLOWED", "{method} {path}");
            }
        }
    }
}

/// Ids that a body or a query can hold.
struct Ids {
    file: String,
    version: String,
    step: String,
}

fn ids(someone: &Someone<'_>, workspace: &str, secret: &str) -> Ids {
    let written = json!({"path": "/secret.txt", "content": secret});
    let made = someone.tool(workspace, "write", written).expect(200);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let steps = someone.get(&format!("/api/v1/workspaces/{workspace}/steps")).expect(200);
    Ids {
        file: text(&made["result"]["file_id"]),
        version: text(&made["result"]["version_id"]),
        step: text(&steps["steps"][0]["id"]),
    }
}

#[track_caller]
fn tells_nothing(answer: &Answer) {
    let output = String::from_utf8_lossy(&answer.bytes);
    assert!(answer.status < 500, "{} {output}", answer.status);
    assert!(!output.contains("SECRET-WORD"), "{output}");
}

#[test]
fn ids_of_another_workspace_name_nothing() {
    let server = Server::start();
    let (ada, eve) = (server.person(), server.person());
    let (own, foreign) = (ada.workspace(), eve.workspace());
    let mine = ids(&ada, &own, "open word");
    let theirs = ids(&eve, &foreign, "SECRET-WORD");
    let base = format!("/api/v1/workspaces/{own}");
    for below in ["", "/content", "/versions"] {
        ada.get(&format!("{base}/files/{}{below}", theirs.file)).expect(404);
    }
    for file in [&mine.file, &theirs.file] {
        let version = format!("{base}/files/{file}/versions/{}", theirs.version);
        ada.get(&version).expect(404);
        ada.get(&format!("{version}/content")).expect(404);
        let revert = json!({"version_id": theirs.version});
        ada.post(&format!("{base}/files/{file}/revert"), revert).expect(404);
    }
    ada.post(&format!("{base}/files/{}/restore", theirs.file), Value::Null).expect(404);
    ada.delete(&format!("{base}/files/{}/purge", theirs.file)).expect(404);
    ada.get(&format!("{base}/steps/{}", theirs.step)).expect(404);
    ada.post(&format!("{base}/steps/{}/undo", theirs.step), Value::Null).expect(404);
    // A cursor is a place in the asker's own list, wherever it was taken from.
    for list in ["steps", "files/trash", "members", "keys", "questions", "chats"] {
        for cursor in [&theirs.step, &theirs.file, &eve.id, &foreign] {
            tells_nothing(&ada.get(&format!("{base}/{list}?cursor={cursor}")));
        }
    }
    tells_nothing(&ada.get(&format!("{base}/files/{}/versions?cursor={}", mine.file, theirs.step)));
    let read = ada.tool(&foreign, "read", json!({"path": "/secret.txt"}));
    tells_nothing(&read);
    read.expect(403);
    let kept = eve.tool(&foreign, "read", json!({"path": "/secret.txt"})).expect(200);
    assert_eq!(kept["result"]["content"], "SECRET-WORD");
}

#[test]
fn w18_a_chat_of_another_workspace_cannot_be_used() {
    let server = Server::start();
    let (ada, eve) = (server.person(), server.person());
    let (own, foreign) = (ada.workspace(), eve.workspace());
    let chats = format!("/api/v1/workspaces/{foreign}/chats");
    let made = eve.post(&chats, json!({"title": "SECRET-WORD"})).expect(201);
    let chat = made["chat"]["id"].as_str().unwrap();
    for tool in ["ls", "plan_list"] {
        let call = json!({"tool": tool, "args": {}, "chat_id": chat});
        let answer = ada.post(&format!("/api/v1/workspaces/{own}/tools"), call);
        tells_nothing(&answer);
        answer.expect(404);
    }
    let base = format!("/api/v1/workspaces/{own}/chats/{chat}");
    ada.get(&base).expect(404);
    let message = json!({"role": "user", "content": "x"});
    ada.post(&format!("{base}/messages"), message).expect(404);
    let question = json!({"questions": [{"name": "a", "question": "SECRET-WORD?",
        "schema": {"type": "string"}}]});
    let asked = eve.tool(&foreign, "ask_user", question).expect(200);
    let question = asked["result"]["question_id"].as_str().unwrap();
    let base = format!("/api/v1/workspaces/{own}/questions/{question}");
    ada.get(&base).expect(404);
    let answers = json!({"answers": {"a": "stolen"}, "via": "text"});
    ada.post(&format!("{base}/answer"), answers).expect(404);
}

#[test]
fn a_caller_of_mcp_opens_so_many_sessions_and_no_more() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let path = format!("/mcp/{workspace}");
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"}}});
    let accept = ("accept", "application/json, text/event-stream");
    let open = |someone: &Someone<'_>| someone.ask_with("POST", &path, &[accept], &hello);
    let agent = ada.agent(&workspace, "member");
    let mut session = String::new();
    for _ in 0..1_024 {
        let answer = open(&agent);
        assert_eq!(answer.status, 200);
        session = answer.header("mcp-session-id").unwrap().to_owned();
    }
    let refused = open(&agent).expect(429);
    assert!(refused["error"].as_str().unwrap().contains("DELETE"), "{refused}");
    assert_eq!(open(&ada).status, 200, "others are not kept out");
    let headers = [accept, ("mcp-session-id", session.as_str())];
    let ended = agent.ask_with("DELETE", &path, &headers, &Value::Null);
    assert_eq!(ended.status, 204);
    assert_eq!(open(&agent).status, 200, "an ended one makes room");
}
