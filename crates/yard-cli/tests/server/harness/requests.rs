//! Requests of a test, and what comes back.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use ureq::Body;
use ureq::http::{HeaderMap, Request};

use super::Server;

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    /// The body as JSON; null if there is none.
    pub(crate) fn json(&self) -> Value {
        if self.bytes.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&self.bytes)))
    }

    /// The same, for an answer of this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        let body = String::from_utf8_lossy(&self.bytes);
        assert_eq!(self.status, status, "{body}");
        self.json()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

impl Server {
    /// One request.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut request =
            Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = if body.is_empty() && matches!(method, "GET" | "HEAD" | "DELETE") {
            self.agent.run(request.body(()).unwrap())
        } else {
            self.agent.run(request.body(body).unwrap())
        };
        let answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        read(answer)
    }

    /// JSON without a token.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json")];
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// Bytes on a connection of their own, and everything that comes back once no more will be sent.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let stream = self.send_raw(bytes, Duration::from_secs(20));
        let _ = stream.shutdown(std::net::Shutdown::Write);
        all_of(stream)
    }

    /// The same for a client that stays: everything until the server hangs up or is silent for a while.
    pub(crate) fn raw_and_stay(&self, bytes: &[u8]) -> String {
        all_of(self.send_raw(bytes, Duration::from_secs(1)))
    }

    /// Sends a request with a token, and does not wait for what comes of it.
    pub(crate) fn post_and_forget(&self, path: &str, token: &str, body: &Value) {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        drop(self.send_raw(request.as_bytes(), Duration::from_secs(1)));
    }

    fn send_raw(&self, bytes: &[u8], timeout: Duration) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(timeout)).unwrap();
        // A server that has heard enough may hang up while we still talk.
        let _ = stream.write_all(bytes);
        stream
    }
}

fn all_of(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn read(mut answer: ureq::http::Response<Body>) -> Answer {
    let bytes = answer.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
    Answer { status: answer.status().as_u16(), headers: answer.headers().clone(), bytes }
}
