//! Traces for OpenTelemetry, as a collector gets them: a real listener on loopback takes what is posted.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::Server;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// Listens as a collector does, and hands on what it is sent.
fn collector() -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, posted) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            if sender.send(take(stream)).is_err() {
                return;
            }
        }
    });
    (endpoint, posted)
}

/// Reads one request and says that it was taken.
fn take(stream: TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(&stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    (&stream).write_all(answer.as_bytes()).unwrap();
    (head, serde_json::from_slice(&body).unwrap())
}

/// Every span of what was posted.
fn spans(posted: &Value) -> Vec<Value> {
    let lists = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let scopes =
        lists(posted, "resourceSpans").into_iter().flat_map(move |one| lists(&one, "scopeSpans"));
    scopes.flat_map(|scope| scope["spans"].as_array().cloned().unwrap_or_default()).collect()
}

#[test]
fn a_request_continues_its_callers_trace() {
    let (endpoint, posted) = collector();
    let mut server = Server::start_with(&[
        ("TOOLYARD__OTEL__ENDPOINT", &endpoint),
        ("TOOLYARD__OTEL__SERVICE_NAME", "yard under test"),
        ("TOOLYARD__LOG__LEVEL", "off"),
    ]);
    let ada = server.person();
    let room = ada.workspace();
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let body = json!({"tool": "write", "args": {"path": "/secret plan.txt", "content": "hush"}});
    let path = format!("/api/v1/workspaces/{room}/tools");
    ada.ask_with("POST", &path, &[("traceparent", &parent)], &body).expect(200);
    let token = ada.token.clone();
    assert!(server.stop().success());

    // What was left went out when the server stopped.
    let next = || posted.recv_timeout(Duration::from_secs(2)).ok();
    let posts: Vec<(String, Value)> = std::iter::from_fn(next).collect();
    assert!(posts.iter().all(|(head, _)| head.starts_with("POST /v1/traces HTTP/1.1\r\n")));
    let reply = posts.iter().map(|(_, body)| body.to_string()).collect::<String>();
    assert!(reply.contains("yard under test"), "{reply}");
    assert!(!reply.contains("hush") && !reply.contains(&token), "{reply}");
    let spans: Vec<Value> = posts.iter().flat_map(|(_, body)| spans(body)).collect();
    let ours: Vec<&Value> = spans.iter().filter(|span| span["traceId"] == TRACE).collect();
    let named = |name: &str| ours.iter().find(|span| span["name"] == name);
    let request =
        named("POST /api/v1/workspaces/{id}/tools").unwrap_or_else(|| panic!("{spans:#?}"));
    assert_eq!(request["parentSpanId"], CALLER);
    assert_eq!(request["kind"], 2, "a server's: {request}");
    let status = json!({"key": "http.response.status_code", "value": {"intValue": "200"}});
    assert!(request["attributes"].as_array().unwrap().contains(&status), "{request}");
    let call = named("workspace.write").unwrap_or_else(|| panic!("{spans:#?}"));
    assert_eq!(call["parentSpanId"], request["spanId"]);
    assert!(call.to_string().contains("create /secret plan.txt"), "{call}");
    // Other requests are traces of their own; no name holds an id or a path.
    let names: Vec<&str> = spans.iter().filter_map(|span| span["name"].as_str()).collect();
    assert!(names.contains(&"POST /api/v1/auth/login"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains(&room) || name.contains("plan")), "{names:?}");
    assert!(spans.iter().any(|span| span["traceId"] != TRACE));
}

#[test]
fn a_collector_that_is_down_costs_a_warning_and_no_time() {
    // Nobody listens there any more.
    let endpoint = {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", gone.local_addr().unwrap())
    };
    let mut server = Server::start_with(&[
        ("TOOLYARD__OTEL__ENDPOINT", &endpoint),
        ("TOOLYARD__LOG__LEVEL", "warn"),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ]);
    let ada = server.person();
    let room = ada.workspace();
    for nth in 0..20 {
        let args = json!({"path": format!("/{nth}.txt"), "content": "x"});
        ada.tool(&room, "write", args).expect(200);
        std::thread::sleep(Duration::from_millis(20));
    }
    let stopping = Instant::now();
    assert!(server.stop().success());
    assert!(stopping.elapsed() < Duration::from_secs(10));
    let reply = |line: &&String| line.contains("traces could not be exported");
    let log = server.log();
    assert_eq!(log.iter().filter(reply).count(), 1, "{log:#?}");
}
