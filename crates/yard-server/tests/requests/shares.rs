//! Whose share of the server a request uses: strangers use none of a workspace's, and a call that a person approved uses that of
//! its own kind of work.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::Ordering;

use serde_json::json;

use crate::harness::{Response, TestServer};
use crate::slow_tools::{self, OCCUPYING, RELEASED, wait_until};

/// As many commands as one workspace runs at a time.
const COMMANDS: usize = 8;
/// As many changes as one workspace makes at a time.
const CHANGES: usize = 32;

/// Begins a call that occupies a slot for commands.
fn begin_occupying(server: &TestServer, token: Option<&str>, path: &str) -> TcpStream {
    let body = json!({"tool": "occupy", "toolset": slow_tools::TOOLSET, "args": {"path": path}, "wait_ms": 0});
    let body = body.to_string();
    let length = body.len().to_string();
    let mut headers =
        vec![("content-type", "application/json"), ("content-length", length.as_str())];
    let tools = server.path("/tools");
    let mut stream = match token {
        Some(token) => {
            headers.push(("authorization", token));
            server.begin_as("POST", &tools, &headers)
        }
        None => server.begin("POST", &tools, &headers),
    };
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

#[test]
fn g7_a_stranger_takes_no_place_in_the_queue_of_a_workspace() {
    let _alone = slow_tools::begin();
    let server = TestServer::start_with(slow_tools::catalog());
    let running: Vec<TcpStream> =
        (0..COMMANDS).map(|n| begin_occupying(&server, None, &format!("/{n}.txt"))).collect();
    wait_until("all places are taken", || OCCUPYING.load(Ordering::SeqCst) == COMMANDS);
    // It would wait for a command to end, had it taken a place in the queue.
    let stranger = Response::read(begin_occupying(&server, Some("Bearer x"), "/x.txt"));
    assert_eq!(stranger.status, 401, "{}", stranger.text());
    RELEASED.store(true, Ordering::SeqCst);
    for stream in running {
        assert_eq!(Response::read(stream).status, 200);
    }
}

#[test]
fn g7_commands_that_were_approved_leave_room_for_changes() {
    let _alone = slow_tools::begin();
    let server = TestServer::start_with(slow_tools::catalog());
    let policy = json!({"preset": "open", "rules": [{"effect": "create", "path": "asked-*", "then": "ask"}]});
    let set = server.send("PUT", &server.path("/policy"), &[], policy.to_string().as_bytes());
    assert_eq!(set.status, 200, "{}", set.text());
    let mut asked = Vec::new();
    for n in 0..CHANGES {
        let answer = Response::read(begin_occupying(&server, None, &format!("/asked-{n}.txt")));
        assert_eq!(answer.status, 202, "{}", answer.text());
        asked.push(answer.json()["result"]["approval_id"].as_str().unwrap().to_owned());
    }
    let deciding: Vec<TcpStream> = asked.iter().map(|id| begin_deciding(&server, id)).collect();
    wait_until("commands run", || OCCUPYING.load(Ordering::SeqCst) == COMMANDS);
    let write = json!({"tool": "write", "args": {"path": "/b.txt", "content": "b"}}).to_string();
    let written = server.send("POST", &server.path("/tools"), &[], write.as_bytes());
    assert_eq!(written.status, 200, "{}", written.text());
    RELEASED.store(true, Ordering::SeqCst);
    for stream in deciding {
        let decided = Response::read(stream);
        assert_eq!(decided.json()["status"], "executed", "{}", decided.text());
    }
}

fn begin_deciding(server: &TestServer, id: &str) -> TcpStream {
    let path = server.path(&format!("/approvals/{id}"));
    let state = server.get(&path).json()["state_hash"].clone();
    let body = json!({"decision": "approve", "state_hash": state}).to_string();
    let length = body.len().to_string();
    let headers = [("content-type", "application/json"), ("content-length", length.as_str())];
    let mut stream = server.begin("POST", &format!("{path}/decision"), &headers);
    stream.write_all(body.as_bytes()).unwrap();
    stream
}
