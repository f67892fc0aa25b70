//! Bodies that nobody should send: always a JSON error, and bounded memory.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Server};

#[track_caller]
fn is_problem(answer: &Answer, statuses: &[u16]) {
    assert!(statuses.contains(&answer.status), "{} {:?}", answer.status, answer.json());
    let reply = answer.json();
    assert_eq!(reply["success"], false, "W1");
    assert!(reply["error"].is_string() && reply["code"].is_string(), "W1: {reply}");
}

#[test]
fn w1_malformed_bodies_get_a_json_error() {
    let server = Server::start();
    let ada = server.person();
    let path = format!("/api/v1/workspaces/{}/tools", ada.workspace());
    let bearer = format!("Bearer {}", ada.token);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = format!("{{\"tool\":\"write\",\"args\":{{\"content\":{nested}}}}}");
    let bodies: [&[u8]; 14] = [
        b"",
        b"{",
        b"{\"tool\":",
        b"null",
        b"[]",
        b"3",
        b"\"text\"",
        b"{\"tool\": 3, \"args\": {}}",
        b"{\"tool\": \"read\"}",
        b"{\"tool\": \"read\", \"args\": []}",
        b"{\"tool\": \"read\", \"args\": {\"path\": {}}}",
        b"{\"tool\": \"read\", \"args\": {}, \"extra\": 1}",
        b"{\"tool\": \"re\xff\", \"args\": {}}",
        deep.as_bytes(),
    ];
    for body in bodies {
        let answer = server.send("POST", &path, &headers, body);
        is_problem(&answer, &[400]);
    }
    is_problem(
        &server.send("POST", &path, &headers, b"{\"tool\":\"nothing\",\"args\":{}}"),
        &[404],
    );
    is_problem(&ada.ask("PUT", &path, &Value::Null), &[405]);
    is_problem(&ada.get("/api/v2/nothing"), &[404]);
}

#[test]
fn invalid_messages_get_an_error_over_mcp() {
    let server = Server::start();
    let ada = server.person();
    let path = format!("/mcp/{}", ada.workspace());
    let bearer = format!("Bearer {}", ada.token);
    let accept = ("accept", "application/json, text/event-stream");
    let headers =
        [("authorization", bearer.as_str()), ("content-type", "application/json"), accept];
    let deep = "[".repeat(100_000);
    let cases: [(&[u8], i64, Value); 8] = [
        (b"", -32700, Value::Null),
        (b"{\"jsonrpc\":", -32700, Value::Null),
        (b"\xff", -32700, Value::Null),
        (deep.as_bytes(), -32700, Value::Null),
        (b"null", -32600, Value::Null),
        (b"\"text\"", -32600, Value::Null),
        (b"{}", -32600, Value::Null),
        (b"{\"jsonrpc\": \"1.0\", \"id\": 7, \"method\": \"ping\"}", -32600, json!(7)),
    ];
    for (body, code, id) in cases {
        let answer = server.send("POST", &path, &headers, body);
        let reply = answer.expect(400);
        assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(code), &id), "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("JSON"), "{reply}");
    }
    let other = [headers[0], ("content-type", "text/plain"), accept];
    assert_eq!(server.send("POST", &path, &other, b"{}").status, 415);
}

#[test]
fn w1_oversized_bodies_are_413_and_never_held() {
    let server = Server::start();
    let ada = server.person();
    let path = format!("/api/v1/workspaces/{}/tools", ada.workspace());
    let before = resident(&server);
    let head = |token: &str, length: u64| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let reply = server.raw(head(&ada.token, 1 << 40).as_bytes());
    assert!(reply.starts_with("HTTP/1.1 413") && reply.contains("PAYLOAD_TOO_LARGE"), "{reply}");
    // Who is not let in sends at most a little.
    let mut stranger = head("nobody", 60 << 20).into_bytes();
    stranger.extend(vec![b' '; 1 << 20]);
    let reply = server.raw(&stranger);
    assert!(reply.starts_with("HTTP/1.1 401"), "{reply}");
    let chunked = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        ada.token
    );
    let mut endless = chunked.into_bytes();
    let chunk = [b"100000\r\n".to_vec(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat();
    for _ in 0..70 {
        endless.extend(&chunk);
    }
    let reply = server.raw(&endless);
    assert!(reply.starts_with("HTTP/1.1 413"), "{}", &reply[..reply.len().min(200)]);
    let grown = resident(&server).saturating_sub(before);
    assert!(grown < 150 << 20, "{} MiB more", grown >> 20);
}

/// A caller proves who it is before anything looks at its body, however long that is, and in however few pieces it comes.
#[test]
fn w1_a_large_body_is_looked_at_only_for_who_was_let_in() {
    let server = Server::start();
    let ada = server.person();
    let path = format!("/api/v1/workspaces/{}/tools", ada.workspace());
    let stranger = [("authorization", "Bearer nobody"), ("content-type", "text/plain")];
    for size in [1, 66_000, 80_000, 100_000, 200_000, 400_000] {
        is_problem(&server.send("POST", &path, &stranger, &vec![b'x'; size]), &[401]);
    }
    let token = format!("Bearer {}", ada.token);
    let member = [("authorization", token.as_str()), ("content-type", "text/plain")];
    is_problem(&server.send("POST", &path, &member, b"x"), &[415]);
}

#[test]
fn a_body_that_breaks_off_changes_nothing() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let body =
        json!({"tool": "write", "args": {"path": "/a", "content": "x".repeat(1000)}}).to_string();
    let cut = format!(
        "POST /api/v1/workspaces/{workspace}/tools HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        ada.token,
        body.len(),
        &body[..body.len() / 2]
    );
    server.raw(cut.as_bytes());
    ada.tool(&workspace, "read", json!({"path": "/a"})).expect(404);
}

#[test]
fn large_contents_within_the_bound_are_written() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let content = "0123456789abcdef".repeat(2 << 16);
    ada.tool(&workspace, "write", json!({"path": "/large", "content": content})).expect(200);
    let info = ada.tool(&workspace, "file_info", json!({"path": "/large"})).expect(200);
    assert_eq!(info["result"]["size"], content.len());
}

/// Bytes of memory that the server holds.
pub(crate) fn resident(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn w1_a_client_that_is_refused_before_its_body_still_gets_the_reason() {
    let server = Server::start();
    let ada = server.person();
    let path = format!(
        "/api/v1/workspaces/{}/files/01a1ded5-dd8a-77da-afc2-e0984d8b1839/content",
        ada.workspace()
    );
    let mut client = TcpStream::connect(&server.address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for (method, path) in [("PUT", path.as_str()), ("POST", "/nowhere"), ("PATCH", path.as_str())] {
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70000\r\n\r\n");
        client.write_all(head.as_bytes()).unwrap();
        // Far longer than it takes to refuse.
        std::thread::sleep(Duration::from_millis(50));
        client.write_all(&[b'x'; 70_000]).unwrap();
        let mut answer = [0; 4096];
        let length = client.read(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with("HTTP/1.1 40"), "{method} {path}: {answer}");
    }
}
