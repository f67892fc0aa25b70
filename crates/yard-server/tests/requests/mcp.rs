//! MCP over HTTP: the calls of a session, and the one way of every request.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Response, TestServer};

const REVISION: &str = "2025-11-25";

/// A session of revision 2025-11-25.
struct Session<'a> {
    server: &'a TestServer,
    path: String,
    id: String,
}

impl<'a> Session<'a> {
    fn open(server: &'a TestServer) -> Self {
        let path = format!("/mcp/{}?toolset=workspace", server.workspace);
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": REVISION,
                "capabilities": {},
                "clientInfo": {"name": "a test", "version": "1"},
            },
        });
        let response = post(server, &path, &[], &hello);
        assert_eq!(response.status, 200, "{}", response.text());
        let id = response.header("mcp-session-id").expect("a session").to_owned();
        assert!(response.header("x-request-id").is_some());
        let answer = response.messages().pop().expect("an answer");
        assert_eq!(answer["result"]["protocolVersion"], REVISION, "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "toolyard");
        let session = Self { server, path, id };
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&initialized).status, 202);
        session
    }

    fn post(&self, message: &Value) -> Response {
        let headers = [("mcp-session-id", self.id.as_str()), ("mcp-protocol-version", REVISION)];
        post(self.server, &self.path, &headers, message)
    }

    fn ask(&self, id: u64, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let response = self.post(&message);
        assert_eq!(response.status, 200, "{}", response.text());
        let answer = response.messages().into_iter().find(|message| message["id"] == id);
        answer.unwrap_or_else(|| panic!("no answer: {}", response.text()))
    }

    fn call(&self, id: u64, tool: &str, args: &Value) -> Value {
        self.ask(id, "tools/call", &json!({"name": tool, "arguments": args}))["result"].clone()
    }
}

fn post(server: &TestServer, path: &str, headers: &[(&str, &str)], message: &Value) -> Response {
    let accept = [("accept", "application/json, text/event-stream")];
    server.send("POST", path, &[headers, &accept].concat(), message.to_string().as_bytes())
}

#[test]
fn a_session_lists_tools_calls_them_and_ends() {
    let server = TestServer::start();
    let session = Session::open(&server);
    let list = session.ask(1, "tools/list", &json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"read") && names.contains(&"write"), "{names:?}");

    let written = session.call(2, "write", &json!({"path": "/a.txt", "content": "good morning\n"}));
    assert_eq!(written["isError"], false, "{written}");
    let read = session.call(3, "read", &json!({"path": "/a.txt"}));
    assert_eq!(read["structuredContent"]["content"], "good morning\n", "{read}");
    let missing = session.call(4, "read", &json!({"path": "/b.txt"}));
    assert_eq!(missing["isError"], true, "{missing}");
    let unknown = session.ask(5, "tools/call", &json!({"name": "nothing", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");

    let headers = [("mcp-session-id", session.id.as_str())];
    assert_eq!(Response::read(server.begin("DELETE", &session.path, &headers)).status, 204);
    let after = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list"});
    assert_eq!(session.post(&after).status, 404);
}

#[test]
fn a_cancelled_call_stops_waiting_for_a_person() {
    let server = TestServer::start();
    let session = Session::open(&server);
    let question = json!({"name": "go", "question": "Go on?", "schema": r#"{"type":"string"}"#});
    let params = json!({"name": "ask_user", "arguments": {"questions": [question]}});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let pending = server.path("/questions?status=pending");
    let began = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| session.post(&call));
        while server.get(&pending).json()["questions"] == json!([]) {
            assert!(!waiting.is_finished(), "the call did not wait");
            assert!(began.elapsed() < Duration::from_secs(120), "no question came");
        }
        let cancel = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7},
        });
        assert_eq!(session.post(&cancel).status, 202);
        assert_eq!(waiting.join().unwrap().status, 200);
    });
    // Without the cancellation the call waits for 30 seconds.
    assert!(began.elapsed() < Duration::from_secs(28), "{:?}", began.elapsed());
}

#[test]
fn a_message_that_cannot_be_parsed_gets_a_json_rpc_error() {
    let server = TestServer::start();
    let path = format!("/mcp/{}", server.workspace);
    let accept = [("accept", "application/json, text/event-stream")];
    let response = server.send("POST", &path, &accept, b"{");
    assert_eq!(response.status, 400);
    assert_eq!(response.json()["error"]["code"], -32700, "{}", response.text());
    let too_large = [("content-type", "application/json"), ("content-length", "1000000000000")];
    assert_eq!(Response::read(server.begin("POST", &path, &too_large)).status, 413);
}

#[test]
fn mcp_is_guarded_and_counted_as_every_route() {
    let server = TestServer::start();
    let path = format!("/mcp/{}", server.workspace);
    let anonymous = Response::read(server.begin_as("GET", &path, &[]));
    assert_eq!((anonymous.status, anonymous.header("www-authenticate")), (401, Some("bearer")));
    let foreign = server.begin("GET", &path, &[("origin", "https://evil.example")]);
    assert_eq!(Response::read(foreign).status, 403);
    let stranger = format!("/mcp/{}", "0".repeat(32));
    assert_eq!(server.get(&stranger).status, 403);
    assert_eq!(server.get(&format!("{path}?toolset=nothing")).status, 400);
    let put = Response::read(server.begin("PUT", &path, &[]));
    assert_eq!((put.status, put.header("allow")), (405, Some("post,get,head,delete")));
    Session::open(&server).call(1, "mkdir", &json!({"path": "/a"}));
    let metrics = server.get("/metrics");
    let called = r#"tool_calls_total{toolset="workspace",tool="mkdir",ok="true"} 1"#;
    assert!(metrics.text().contains(called), "{}", metrics.text());
    for (method, status) in [("GET", 401), ("GET", 403), ("GET", 400), ("POST", 200)] {
        let labels = format!(r#"{{method="{method}",route="/mcp/{{id}}",status="{status}"}}"#);
        assert!(metrics.text().contains(&labels), "{labels}:\n{}", metrics.text());
    }
}
