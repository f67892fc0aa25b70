//! A minimal MCP client: it starts a server, writes a line and reads lines until the answer. Its own work is the same
//! for every server, and mostly outside of the measured time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PROTOCOL: &str = "2025-11-25";

/// A server that is initialized.
pub(super) struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The line that was read last; kept, because a long one takes a while to grow.
    line: Vec<u8>,
    asked: u64,
}

impl Server {
    /// Starts a server and initializes it; also returns how long that took.
    pub(super) fn start(mut command: Command) -> (Self, Duration) {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let began = Instant::now();
        let mut child = command.spawn().expect("a server");
        let output = child.stdout.take().expect("its answers");
        let output = BufReader::with_capacity(256 << 10, output);
        let mut server = Self { child, output, line: Vec::new(), asked: 0 };
        let spawned = began.elapsed();
        let client = json!({"name": "yard-bench", "version": "1"});
        let hello = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client});
        let (took, welcome) = server.ask("initialize", hello);
        assert_eq!(welcome["protocolVersion"], PROTOCOL, "{welcome}");
        server.tell(&line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})));
        (server, spawned + took)
    }

    fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its questions");
        input.write_all(line.as_bytes()).expect("it listens");
    }

    /// The result of a request, and the time until its whole line was here; understanding it comes after.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> (Duration, Value) {
        self.asked += 1;
        let id = self.asked;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let request = line(&request);
        let began = Instant::now();
        self.tell(&request);
        loop {
            self.line.clear();
            let read = self.output.read_until(b'\n', &mut self.line).expect("an answer");
            let took = began.elapsed();
            assert!(read > 0, "{method}: the server ended");
            let mut answer: Value = serde_json::from_slice(&self.line).expect("JSON");
            // What a server asks or tells us in between has a method.
            if answer["id"] == id && answer["method"].is_null() {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return (took, answer["result"].take());
            }
        }
    }

    /// Bytes of the server and of what it started.
    pub(super) fn memory(&self) -> f64 {
        let (mut waiting, mut bytes) = (vec![self.child.id()], 0.0);
        while let Some(process) = waiting.pop() {
            bytes += memory(process);
            waiting.extend(children(process));
        }
        bytes
    }
}

impl Drop for Server {
    /// As a client ends it: it hears no more. One that stays is killed.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(2) {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

/// Its share of the pages it holds, or all of them where the kernel does not count shares.
fn memory(process: u32) -> f64 {
    let field = |file: &str, name: &str| -> Option<f64> {
        let text = std::fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    let kib = field("smaps_rollup", "Pss:").or_else(|| field("status", "VmRSS:"));
    kib.unwrap_or(0.0) * 1024.0
}

fn children(process: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let lists = threads
        .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let children: Vec<String> = lists.collect();
    children.iter().flat_map(|list| list.split_whitespace()).flat_map(str::parse).collect()
}

/// The text of a result.
pub(super) fn text(result: &Value) -> &str {
    let text = result["content"][0]["text"].as_str().expect("a text");
    let twin = result["structuredContent"]["content"].as_str();
    assert!(twin.is_none_or(|twin| twin == text), "the two forms of one answer differ");
    text
}

/// The list `matches` of an answer as data, however deep in it.
fn matches(value: &Value) -> Option<&Vec<Value>> {
    match value {
        Value::Object(fields) => match fields.get("matches") {
            Some(Value::Array(matches)) => Some(matches),
            _ => fields.values().find_map(matches),
        },
        _ => None,
    }
}

/// The same of a result, which holds it as data or as the text of that.
pub(super) fn found(result: &Value) -> Vec<Value> {
    let matches_in_data = matches(&result["structuredContent"]).cloned();
    matches_in_data
        .or_else(|| matches(&serde_json::from_str(text(result)).ok()?).cloned())
        .expect("matches")
}
