//! A workspace that an agent works in over MCP, and the person who decides and undoes: on the command line beside
//! `toolyard mcp`, or over REST on a server.

use std::cell::{Cell, RefCell};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Request;

use crate::person::Person;

/// Longest that a call may take.
const LONGEST: Duration = Duration::from_secs(900);
/// How often a person looks whether something waits.
const GLANCE: Duration = Duration::from_millis(250);
const PASSWORD: &str = "correct horse battery staple";

/// How the agent comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// `toolyard mcp` in the folder.
    Stdio,
    /// `toolyard serve` with the folder as a workspace.
    Server,
}

pub(crate) struct Workspace<'a> {
    person: &'a Person,
    root: PathBuf,
    line: Line,
    next: Cell<u64>,
    /// What the person was asked, in the order in which they said yes.
    asked: RefCell<Vec<String>>,
}

/// How a workspace is opened for an agent.
pub(crate) struct Opening<'a> {
    pub(crate) door: Door,
    pub(crate) toolset: &'a str,
    pub(crate) policy: &'a str,
}

/// The connection.
enum Line {
    Stdio { child: Child, stdin: Option<ChildStdin>, lines: Receiver<String>, data: PathBuf },
    Server(Server),
}

struct Server {
    child: Child,
    agent: Agent,
    /// `http://127.0.0.1:PORT`
    address: String,
    workspace: String,
    toolset: String,
    /// The person's token, and the agent's key.
    token: String,
    key: String,
    session: String,
}

impl<'a> Workspace<'a> {
    pub(crate) fn open(person: &'a Person, root: &Path, door: Door, toolset: &str) -> Self {
        Self::open_as(person, root, &person.data(), Opening { door, toolset, policy: "guarded" })
    }

    /// With a data folder and a policy of its own.
    pub(crate) fn open_as(
        person: &'a Person,
        root: &Path,
        data: &Path,
        Opening { door, toolset, policy }: Opening<'_>,
    ) -> Self {
        let line = match door {
            Door::Stdio => {
                let mut command = person.toolyard_on(root, data);
                command.args(["mcp", "--toolset", toolset, "--policy", policy]);
                let mut child =
                    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
                let stdin = child.stdin.take();
                let lines = lines_of(BufReader::new(child.stdout.take().unwrap()));
                Line::Stdio { child, stdin, lines, data: data.to_owned() }
            }
            Door::Server => Line::Server(Server::start(person, root, data, toolset)),
        };
        let (next, asked) = (Cell::new(1), RefCell::default());
        let mut workspace = Self { person, root: root.to_owned(), line, next, asked };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = workspace.request("initialize", &hello, false);
        assert!(answer.get("result").is_some(), "{answer}");
        workspace.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        workspace
    }

    /// What a call answers, with nobody there to be asked: it goes well, or the test fails with what it said.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.answer(tool, arguments, false)
    }

    /// The same with a person who says yes to whatever it asks, by a rule for the workspace where a rule can say
    /// it; and what they were asked.
    #[track_caller]
    pub(crate) fn call_approved(&mut self, tool: &str, arguments: &Value) -> (Value, Vec<String>) {
        self.asked.borrow_mut().clear();
        let answer = self.answer(tool, arguments, true);
        (answer, self.asked.take())
    }

    #[track_caller]
    fn answer(&mut self, tool: &str, arguments: &Value, is_watched: bool) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.request("tools/call", &params, is_watched);
        let result = &answer["result"];
        assert!(result.is_object() && result["isError"] != true, "{tool} {arguments}: {answer}");
        let content = &result["structuredContent"];
        // `assistant` wraps its answers.
        content.get("value").unwrap_or(content).clone()
    }

    fn request(&mut self, method: &str, params: &Value, is_watched: bool) -> Value {
        let id = self.next.replace(self.next.get() + 1);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answers = self.send(&message);
        let until = Instant::now() + LONGEST;
        loop {
            let wait = if is_watched { GLANCE } else { LONGEST };
            let line = match &self.line {
                Line::Stdio { lines, .. } => lines.recv_timeout(wait),
                Line::Server(_) => answers.as_ref().unwrap().recv_timeout(wait),
            };
            match line.ok().map(|line| serde_json::from_str::<Value>(&line).unwrap()) {
                Some(message) if message["id"] == id => return message,
                Some(_) => {}
                None if is_watched && Instant::now() < until => self.approve_what_waits(),
                None => panic!("{method} {params} was not answered"),
            }
        }
    }

    /// Sends a message; over HTTP with what comes back for it.
    fn send(&mut self, message: &Value) -> Option<Receiver<String>> {
        match &mut self.line {
            Line::Stdio { stdin, .. } => {
                let stdin = stdin.as_mut().unwrap();
                writeln!(stdin, "{message}").unwrap();
                stdin.flush().unwrap();
                None
            }
            Line::Server(server) => Some(server.send(message)),
        }
    }

    fn approve_what_waits(&self) {
        let waiting = self.ask_as_person("approvals?status=pending", &["approve"]);
        for row in waiting["approvals"].as_array().unwrap_or_else(|| panic!("{waiting}")) {
            let id = row["id"].as_str().unwrap();
            let shown = self.ask_as_person(&format!("approvals/{id}"), &["approve", id]);
            let state = shown["state_hash"].as_str().unwrap_or_else(|| panic!("{shown}"));
            self.asked.borrow_mut().push(shown.to_string());
            match &self.line {
                Line::Stdio { .. } => {
                    let yes = ["approve", id, "--yes", "--scope", "rule", "--state", state];
                    self.command_line(&yes);
                }
                Line::Server(server) => {
                    let yes = json!({"decision": "approve", "scope": "rule", "state_hash": state});
                    server.rest("POST", &format!("approvals/{id}/decision"), &yes);
                }
            }
        }
    }

    /// What the person is shown at a place of the REST API, or by a command.
    fn ask_as_person(&self, place: &str, words: &[&str]) -> Value {
        match &self.line {
            Line::Stdio { .. } => self.command_line(words),
            Line::Server(server) => server.rest("GET", place, &Value::Null),
        }
    }

    fn command_line(&self, words: &[&str]) -> Value {
        let Line::Stdio { data, .. } = &self.line else { unreachable!("it is a server") };
        let mut command = self.person.toolyard_on(&self.root, data);
        let ran = command.args(words).arg("--json").output().unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout);
        let complained = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{words:?}: {printed}{complained}");
        serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{words:?}: {printed}"))
    }

    /// The newest step, if there is one.
    pub(crate) fn newest_step(&self) -> Option<String> {
        let history = self.ask_as_person("steps?limit=1", &["history", "--limit", "1"]);
        history["steps"][0]["id"].as_str().map(str::to_owned)
    }

    /// The person takes a step back.
    #[track_caller]
    pub(crate) fn undo(&self, step: &str) {
        match &self.line {
            Line::Stdio { .. } => drop(self.command_line(&["undo", step])),
            Line::Server(server) => {
                server.rest("POST", &format!("steps/{step}/undo"), &json!({}));
            }
        }
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        match &mut self.line {
            Line::Stdio { child, stdin, .. } => {
                drop(stdin.take());
                let _ = child.wait();
            }
            Line::Server(server) => {
                let _ = server.child.kill();
                let _ = server.child.wait();
            }
        }
    }
}

/// The lines of a stream, as they come.
fn lines_of(stream: impl std::io::BufRead + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    thread::spawn(move || {
        for line in stream.lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

impl Server {
    fn start(person: &Person, root: &Path, data: &Path, toolset: &str) -> Self {
        let folders = format!("[{:?}]", root.to_str().unwrap());
        let mut command = person.command(person.toolyard());
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
        command.env("TOOLYARD__WORKSPACES__FOLDERS", folders);
        command.env("TOOLYARD__JWT__ACCESS_TOKEN_EXPIRATION_MINUTES", "60");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let printed = lines_of(BufReader::new(child.stderr.take().unwrap()));
        let address = loop {
            let line = printed.recv_timeout(Duration::from_secs(30)).expect("the server starts");
            if let Some((_, rest)) = line.split_once("http://") {
                break format!("http://{}", rest.split_whitespace().next().unwrap());
            }
        };
        // Its log is read on, so that it does not fill the pipe.
        thread::spawn(move || printed.iter().for_each(drop));
        let config =
            Agent::config_builder().http_status_as_error(false).timeout_global(Some(LONGEST));
        let mut server = Self {
            child,
            agent: config.build().into(),
            address,
            workspace: String::new(),
            toolset: toolset.to_owned(),
            token: String::new(),
            key: String::new(),
            session: String::new(),
        };
        let account =
            json!({"email": "ada@example.com", "password": PASSWORD, "full_name": "Ada Lovelace"});
        server.api("POST", "/api/v1/auth/register", &account);
        let login = json!({"email": "ada@example.com", "password": PASSWORD});
        let login = server.api("POST", "/api/v1/auth/login", &login);
        server.token =
            login["access_token"].as_str().unwrap_or_else(|| panic!("{login}")).to_owned();
        let made = json!({"name": "Work", "folder": root.to_str().unwrap()});
        let made = server.api("POST", "/api/v1/workspaces", &made);
        let id = made["workspace"]["id"].as_str().unwrap_or_else(|| panic!("{made}"));
        server.workspace = id.to_owned();
        server.rest("PUT", "policy", &json!({"preset": "guarded"}));
        let key = json!({"name": "agent", "role": "member", "toolsets": [toolset]});
        let key = server.rest("POST", "keys", &key);
        server.key = key["key"].as_str().unwrap_or_else(|| panic!("{key}")).to_owned();
        server
    }

    /// A request of the person's about the workspace.
    fn rest(&self, method: &str, place: &str, body: &Value) -> Value {
        self.api(method, &format!("/api/v1/workspaces/{}/{place}", self.workspace), body)
    }

    fn api(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.address));
        let request = match self.token.as_str() {
            "" => request,
            token => request.header("authorization", format!("Bearer {token}")),
        };
        let answer = if body.is_null() {
            self.agent.run(request.body(()).unwrap())
        } else {
            let request = request.header("content-type", "application/json");
            self.agent.run(request.body(body.to_string()).unwrap())
        };
        let mut answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let status = answer.status();
        let text = answer.body_mut().read_to_string().unwrap();
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Sends a message of the agent's; the messages that come back.
    fn send(&mut self, message: &Value) -> Receiver<String> {
        let uri = format!("{}/mcp/{}?toolset={}", self.address, self.workspace, self.toolset);
        let mut request = Request::builder().method("POST").uri(uri);
        request = request.header("authorization", format!("Bearer {}", self.key));
        request = request.header("content-type", "application/json");
        request = request.header("accept", "application/json, text/event-stream");
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        let request = request.body(message.to_string()).unwrap();
        let (send, messages) = channel();
        if self.session.is_empty() {
            let answer = self.agent.run(request).unwrap();
            let session = answer.headers().get("mcp-session-id").expect("a session");
            self.session = session.to_str().unwrap().to_owned();
            thread::spawn(move || pass_on(answer, &send));
        } else {
            let agent = self.agent.clone();
            thread::spawn(move || pass_on(agent.run(request).unwrap(), &send));
        }
        messages
    }
}

/// Hands on the messages of an answer, which is one message or a stream of events.
fn pass_on(answer: ureq::http::Response<ureq::Body>, send: &std::sync::mpsc::Sender<String>) {
    let body = BufReader::new(answer.into_body().into_reader());
    for line in body.lines().map_while(Result::ok) {
        let message = line.strip_prefix("data:").unwrap_or(&line).trim();
        if message.starts_with('{') && send.send(message.to_owned()).is_err() {
            break;
        }
    }
}
