//! Bodies that are malformed, too large or slow.

use std::io::{Read as _, Write as _};

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
