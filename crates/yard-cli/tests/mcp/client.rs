//! A client of MCP that knows nothing: it writes lines and reads lines.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest that any answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which revision of the protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// With `initialize`.
    Sessions,
    /// Each request brings everything along.
    Requests,
}

pub(crate) const BOTH: [Wire; 2] = [Wire::Sessions, Wire::Requests];

/// A folder to work on and one for what is kept.
pub(crate) struct Setup {
    pub(crate) root: TempDir,
    pub(crate) data: TempDir,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self { root: TempDir::new().unwrap(), data: TempDir::new().unwrap() }
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let at = self.root.path().join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.root.path().join(name)).unwrap()
    }

    /// The canonical path of something in the root, as the server shows it.
    pub(crate) fn path(&self, name: &str) -> String {
        let root = fs::canonicalize(self.root.path()).unwrap();
        root.join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = toolyard(self.data.path());
        command.arg("mcp").args(words).arg(self.root.path());
        command
    }

    /// A connection with these options, by the newest revision with sessions, under the open policy.
    pub(crate) fn connect(&self, words: &[&str]) -> Client {
        self.speak(Wire::Sessions, words, json!({}))
    }

    /// A connection of a client with these capabilities.
    pub(crate) fn speak(&self, wire: Wire, words: &[&str], able: Value) -> Client {
        Client::start(self.command(words), wire, able)
    }

    /// What `toolyard` prints as the person at the machine.
    pub(crate) fn person(&self, words: &[&str]) -> String {
        let mut command = toolyard(self.data.path());
        let done = command.arg("--root").arg(self.root.path()).args(words).output().unwrap();
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{printed}{}", String::from_utf8_lossy(&done.stderr));
        printed
    }

    /// The person says yes to a request as it is now.
    pub(crate) fn approve(&self, id: &str) -> String {
        let shown: Value = serde_json::from_str(&self.person(&["approve", id, "--json"])).unwrap();
        let state = shown["state_hash"].as_str().unwrap();
        self.person(&["approve", id, "--yes", "--state", state])
    }
}

pub(crate) fn toolyard(data: &Path) -> Command {
    let mut command = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_toolyard")));
    command.env("TOOLYARD_DATA_DIR", data).env_remove("TOOLYARD__LOG__LEVEL");
    command
}

/// One running server and its pipes.
pub(crate) struct Client {
    child: Child,
    stdin: RefCell<Option<ChildStdin>>,
    lines: Receiver<String>,
    next: Cell<u64>,
    wire: Wire,
    able: Value,
    /// What the server sent that is no answer.
    pub(crate) notifications: RefCell<Vec<Value>>,
    /// What this client answers when it is asked something, by method.
    pub(crate) answers: RefCell<Vec<(String, Value)>>,
}

impl Client {
    pub(crate) fn start(mut command: Command, wire: Wire, able: Value) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdin = RefCell::new(child.stdin.take());
        let stdout = child.stdout.take().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { break };
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let client = Self {
            child,
            stdin,
            lines,
            next: Cell::new(1),
            wire,
            able,
            notifications: RefCell::default(),
            answers: RefCell::default(),
        };
        if wire == Wire::Sessions {
            let hello = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": client.able,
                "clientInfo": {"name": "test", "version": "1"},
            });
            let answer = client.ask("initialize", hello);
            assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line.
    pub(crate) fn write(&self, line: &[u8]) {
        let mut stdin = self.stdin.borrow_mut();
        let stdin = stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&self, message: &Value) {
        self.write(message.to_string().as_bytes());
    }

    /// The next line, which must be a message.
    pub(crate) fn next_message(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer in time");
        serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("not protocol: {line:?}: {error}"))
    }

    /// Whether nothing is said for a while.
    pub(crate) fn is_silent_for(&self, time: Duration) -> bool {
        self.lines.recv_timeout(time).is_err()
    }

    /// Sends a request; its id.
    pub(crate) fn request(&self, method: &str, mut params: Value) -> u64 {
        let id = self.next.replace(self.next.get() + 1);
        if self.wire == Wire::Requests {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({"name": "test", "version": "1"});
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.able.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Reads until the answer to a request comes. Requests of the server are answered as prepared.
    pub(crate) fn answer_to(&self, id: u64) -> Value {
        loop {
            let message = self.next_message();
            if message.get("method").is_none() && message["id"] == id {
                return message;
            }
            self.heed(message);
        }
    }

    /// Notes what the server says by itself, and answers what it asks.
    pub(crate) fn heed(&self, message: Value) {
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            let mut answers = self.answers.borrow_mut();
            let at = answers.iter().position(|(known, _)| known == method);
            let (_, result) = answers.remove(at.unwrap_or_else(|| panic!("asked {message}")));
            self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        }
        self.notifications.borrow_mut().push(message);
    }

    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer_to(id)
    }

    /// The result of a request that goes well.
    #[track_caller]
    pub(crate) fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The result of a call.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The text of a call that goes well.
    #[track_caller]
    pub(crate) fn text_of(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        text(&result)
    }

    /// The text of a call that does not.
    #[track_caller]
    pub(crate) fn complaint(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        text(&result)
    }

    /// Closes the server's input; what it exits with.
    pub(crate) fn leave(mut self) -> Option<i32> {
        drop(self.stdin.borrow_mut().take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds, but not forever.
#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// All text of a result.
pub(crate) fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}
