//! Bodies that are malformed, too large or slow.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Response, TestServer};

fn assert_problem(response: &Response, status: u16, code: &str) {
    assert_eq!(response.status, status, "{response:?}");
    let body = response.json();
    assert_eq!((&body["success"], &body["code"]), (&json!(false), &json!(code)), "{body}");
}

#[test]
fn a_malformed_call_gets_a_json_error() {
    let server = TestServer::start();
    let tools = server.path("/tools");
    for body in ["", "{", "[]", r#"{"tool": "read"}"#, r#"{"tool": "read", "args": []}"#] {
        let response = server.send("POST", &tools, &[], body.as_bytes());
        assert_problem(&response, 400, "VALIDATION_ERROR");
        assert!(response.header("x-request-id").is_some());
    }
    let unknown = server.send("POST", &tools, &[], br#"{"tool": "nothing", "args": {}}"#);
    assert_eq!(unknown.status, 404, "{unknown:?}");
}

#[test]
fn a_call_has_one_parser_that_is_lenient_for_small_and_large_bodies() {
    let server = TestServer::start();
    let tools = server.path("/tools");
    for bytes in [10, 100 << 10] {
        let content = "x".repeat(bytes);
        let args = json!({"path": format!("/{bytes}.txt"), "content": content});
        // A number that is sent as a text is accepted, too.
        let call = json!({"tool": "write", "args": args, "wait_ms": "5"}).to_string();
        let response = server.send("POST", &tools, &[], call.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
        let read = json!({"tool": "read", "args": {"path": format!("/{bytes}.txt")}}).to_string();
        let read = server.send("POST", &tools, &[], read.as_bytes());
        assert_eq!((read.status, read.json()["success"].clone()), (200, json!(true)));
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_by_its_length_and_by_its_bytes() {
    let server = TestServer::start();
    let json = ("content-type", "application/json");
    let tools = server.path("/tools");
    let declared = server.begin("POST", &tools, &[json, ("content-length", "1000000000000")]);
    assert_problem(&Response::read(declared), 413, "PAYLOAD_TOO_LARGE");

    let chunked = [json, ("transfer-encoding", "chunked")];
    let mut stream = server.begin("PATCH", &server.path(""), &chunked);
    let chunk = [b"10000\r\n".as_slice(), &vec![b' '; 0x10000], b"\r\n"].concat();
    // The route takes 1 MiB; what is sent after the refusal is read and dropped.
    for _ in 0..20 {
        stream.write_all(&chunk).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    assert_problem(&Response::read(stream), 413, "PAYLOAD_TOO_LARGE");
}

#[test]
fn a_body_that_comes_in_pieces_is_read_whole() {
    let server = TestServer::start();
    let body = json!({"tool": "ls", "args": {"path": "/"}}).to_string();
    let length = body.len().to_string();
    let headers = [("content-type", "application/json"), ("content-length", length.as_str())];
    let mut stream = server.begin("POST", &server.path("/tools"), &headers);
    for piece in body.as_bytes().chunks(7) {
        stream.write_all(piece).unwrap();
        stream.flush().unwrap();
        std::thread::yield_now();
    }
    assert_eq!(Response::read(stream).status, 200);
}

#[test]
fn a_body_that_breaks_off_changes_nothing() {
    let server = TestServer::start();
    let headers = [("content-type", "application/json"), ("content-length", "100")];
    let mut stream = server.begin("POST", &server.path("/tools"), &headers);
    stream.write_all(br#"{"tool": "write", "args": {"path": "/a.txt""#).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    // Whether there is an answer is up to the HTTP library.
    let _ = stream.read_to_end(&mut Vec::new());
    let steps = server.get(&server.path("/steps"));
    assert_eq!(steps.json()["steps"], json!([]), "{}", steps.text());
}

#[test]
fn without_a_login_no_route_takes_a_large_body() {
    let server = TestServer::start();
    let headers = [("content-type", "application/json"), ("content-length", "70000")];
    for route in ["login", "register", "refresh", "logout"] {
        let path = format!("/api/v1/auth/{route}");
        let declared = Response::read(server.begin_as("POST", &path, &headers));
        assert_problem(&declared, 413, "PAYLOAD_TOO_LARGE");
    }
}

#[test]
fn without_a_login_no_answer_is_stored_for_an_idempotency_key() {
    let server = TestServer::start();
    let body = json!({"email": "bob@example.com", "password": "correct horse battery staple"});
    let key = [("idempotency-key", "one")];
    let register = || {
        let body = body.to_string();
        server.send("POST", "/api/v1/auth/register", &key, body.as_bytes()).status
    };
    assert_eq!((register(), register()), (201, 409), "the second one is a request of its own");
}

/// Begins a call of `write` whose body has no length, so that as much memory is reserved for it as the route allows.
fn begin_write(server: &TestServer, path: &str, wait_ms: u32) -> TcpStream {
    let args = json!({"path": path, "content": "x".repeat(100 << 10)});
    let body = json!({"tool": "write", "args": args, "wait_ms": wait_ms}).to_string();
    let headers = [("content-type", "application/json"), ("transfer-encoding", "chunked")];
    let mut stream = server.begin("POST", &server.path("/tools"), &headers);
    let size = body.len();
    stream.write_all(format!("{size:x}\r\n{body}\r\n0\r\n\r\n").as_bytes()).unwrap();
    stream
}

#[test]
fn calls_that_wait_for_a_person_hold_no_memory_of_large_bodies() {
    let server = TestServer::start();
    let policy = json!({"preset": "strict"}).to_string();
    assert_eq!(server.send("PUT", &server.path("/policy"), &[], policy.as_bytes()).status, 200);
    // Four bodies of the largest size are all that there is memory for.
    let waiting: Vec<TcpStream> =
        (0..4).map(|n| begin_write(&server, &format!("/{n}.txt"), 24_000)).collect();
    let pending = server.path("/approvals?status=pending");
    let began = Instant::now();
    while server.get(&pending).json()["approvals"].as_array().map_or(0, Vec::len) < waiting.len() {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", server.get(&pending).text());
    }
    let fifth = Response::read(begin_write(&server, "/5.txt", 0));
    assert!(began.elapsed() < Duration::from_secs(20), "it waited until the others gave up");
    assert_eq!(fifth.status, 202, "{}", fifth.text());
    assert_eq!(fifth.json()["result"]["status"], "approval_pending");
}
