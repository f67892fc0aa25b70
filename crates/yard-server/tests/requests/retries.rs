//! Requests with an `Idempotency-Key` whose connection was lost: the same request, sent again, is done.

use std::cell::RefCell;
use std::io::Write as _;
use std::net::Shutdown;
use std::sync::atomic::Ordering;

use serde_json::json;

use crate::harness::{Response, TestServer};
use crate::slow_tools::{self, LINGERED, wait_until};

const KEY: (&str, &str) = ("idempotency-key", "k1");

/// Sends a request again, until the first try has ended: before that it is a conflict.
fn retry(send: impl Fn() -> Response) -> Response {
    let last = RefCell::new(send());
    wait_until("the first try ends", || {
        if last.borrow().status == 409 {
            *last.borrow_mut() = send();
        }
        last.borrow().status != 409
    });
    last.into_inner()
}

#[test]
fn a_call_whose_connection_was_lost_is_made_when_it_is_sent_again() {
    let _alone = slow_tools::begin();
    let server = TestServer::start_with(slow_tools::catalog());
    let body =
        json!({"tool": "linger", "toolset": slow_tools::TOOLSET, "args": {"path": "/a.txt"}});
    let (body, tools) = (body.to_string(), server.path("/tools"));
    let length = body.len().to_string();
    let headers = [KEY, ("content-type", "application/json"), ("content-length", length.as_str())];
    let mut first = server.begin("POST", &tools, &headers);
    first.write_all(body.as_bytes()).unwrap();
    wait_until("the call begins", || LINGERED.load(Ordering::SeqCst) == 1);
    drop(first);
    let again = retry(|| server.send("POST", &tools, &[KEY], body.as_bytes()));
    assert_eq!(again.status, 200, "{}", again.text());
    let more = server.send("POST", &tools, &[KEY], body.as_bytes());
    assert_eq!(
        (more.status, more.text()),
        (200, again.text()),
        "from then on it is answered as it was"
    );
    assert_eq!(LINGERED.load(Ordering::SeqCst), 2);
    let steps = server.get(&server.path("/steps")).json();
    assert_eq!(steps["steps"].as_array().map(Vec::len), Some(1), "it happened once: {steps}");
}

#[test]
fn an_upload_that_broke_off_is_stored_when_it_is_sent_again() {
    let server = TestServer::start();
    let path = server.path("/files?path=/up.bin");
    let bytes = vec![7_u8; 300_000];
    let length = bytes.len().to_string();
    let headers = [KEY, ("content-length", length.as_str())];
    let mut first = server.begin("POST", &path, &headers);
    first.write_all(&bytes[..200_000]).unwrap();
    first.shutdown(Shutdown::Both).unwrap();
    let again = retry(|| {
        let mut stream = server.begin("POST", &path, &headers);
        stream.write_all(&bytes).unwrap();
        Response::read(stream)
    });
    assert_eq!(again.status, 201, "{}", again.text());
    assert_eq!(again.json()["file"]["size"], bytes.len(), "{}", again.text());
}
