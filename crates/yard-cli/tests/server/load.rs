//! 256 connections at once, mixed reads and writes: no error, no deadlock, flat memory, and nothing that
//! was acknowledged is lost when the server is killed in the middle of it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

use serde_json::{Value, json};

use crate::bodies::resident;
use crate::harness::{Server, Someone};

const CONNECTIONS: usize = 256;
/// Between an answer and the next request: the clients share the cores with the server.
const PAUSE: Duration = Duration::from_millis(50);
/// An answer that takes longer is a deadlock.
const PATIENCE: Duration = Duration::from_secs(30);
const STACK: usize = 256 << 10;

/// How long the load lasts.
fn seconds() -> u64 {
    if std::env::var_os("YARD_SOAK").is_some() { 60 } else { 10 }
}

/// One connection that stays open.
struct Connection {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Connection {
    fn open(address: &str, workspace: &str, token: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
        let head = format!(
            "POST /api/v1/workspaces/{workspace}/tools HTTP/1.1\r\nHost: {address}\r\n\
             Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        );
        Ok(Self { stream: BufReader::new(stream), head })
    }

    /// Calls a tool: its result.
    fn call(&mut self, tool: &str, args: &Value) -> Result<Value, String> {
        let (status, body) = self.exchange(tool, args).map_err(|error| error.to_string())?;
        if status != "200" {
            return Err(format!("{tool} {args}: {status} {}", String::from_utf8_lossy(&body)));
        }
        let mut body: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        Ok(body["result"].take())
    }

    fn exchange(&mut self, tool: &str, args: &Value) -> std::io::Result<(String, Vec<u8>)> {
        let body = json!({"tool": tool, "args": args}).to_string();
        let request = format!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                rest[..3].clone_into(&mut status);
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, body))
    }
}

/// What became of a connection.
struct Ended {
    /// Paths and contents of what it wrote and was told so.
    written: Vec<(String, String)>,
    /// Why it ended early.
    failed: Option<String>,
}

/// What all connections have in common.
struct Load<'a> {
    address: &'a str,
    workspace: &'a str,
    /// A person's and an agent's.
    tokens: [&'a str; 2],
    /// The file that a connection writes in its nth round.
    path: fn(usize, usize) -> String,
    over: &'a AtomicBool,
}

impl Load<'_> {
    /// What one connection does until the load is over.
    fn work(&self, number: usize) -> Ended {
        let mut written = Vec::new();
        let token = self.tokens[number % 2];
        let ended = Connection::open(self.address, self.workspace, token).and_then(|mut own| {
            (0..)
                .take_while(|_| !self.over.load(Ordering::Relaxed))
                .try_for_each(|round| self.round(&mut own, number, round, &mut written))
        });
        Ended { written, failed: ended.err() }
    }

    /// One write, and three reads.
    fn round(
        &self,
        own: &mut Connection,
        number: usize,
        round: usize,
        written: &mut Vec<(String, String)>,
    ) -> Result<(), String> {
        let path = (self.path)(number, round);
        let content = format!("{number} in round {round}\n").repeat(50);
        own.call("write", &json!({"path": path, "content": content, "overwrite": true}))?;
        written.retain(|(known, _)| *known != path);
        written.push((path.clone(), content));
        sleep(PAUSE);
        let read = own.call("read", &json!({"path": path}))?;
        if read["content"] != written[written.len() - 1].1 {
            return Err(format!("{path} reads as something else than was written"));
        }
        sleep(PAUSE);
        own.call("read", &json!({"path": "/shared.txt"}))?;
        sleep(PAUSE);
        if round.is_multiple_of(4) {
            own.call("ls", &json!({"path": "/load", "limit": 20}))?;
        } else {
            own.call("file_info", &json!({"path": path}))?;
        }
        sleep(PAUSE);
        Ok(())
    }

    /// Runs all connections while `meanwhile` does, and then ends them.
    fn run<T>(&self, meanwhile: impl FnOnce() -> T) -> (T, Vec<Ended>) {
        std::thread::scope(|scope| {
            let spawn = |number| {
                let builder = Builder::new().stack_size(STACK);
                builder.spawn_scoped(scope, move || self.work(number)).unwrap()
            };
            let all: Vec<_> = (0..CONNECTIONS).map(spawn).collect();
            let done = meanwhile();
            self.over.store(true, Ordering::Relaxed);
            (done, all.into_iter().map(|thread| thread.join().unwrap()).collect())
        })
    }
}

/// A workspace with a file that everybody reads, and the folder that everybody writes in.
fn prepared(ada: &Someone<'_>, workspace: &str) {
    let shared = json!({"path": "/shared.txt", "content": "0123456789abcde\n".repeat(640)});
    ada.tool(workspace, "write", shared).expect(200);
    ada.tool(workspace, "mkdir", json!({"path": "/load"})).expect(200);
}

#[test]
fn many_connections_at_once_get_answers_in_flat_memory() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    prepared(&ada, &workspace);
    let agent = ada.agent(&workspace, "member");
    let over = AtomicBool::new(false);
    let load = Load {
        address: &server.address,
        workspace: &workspace,
        tokens: [&ada.token, &agent.token],
        path: |number, _| format!("/load/{number}.txt"),
        over: &over,
    };
    let ((early, late), ended) = load.run(|| {
        let whole = Duration::from_secs(seconds());
        // Not before everything is under way, also where the disk is slow at first.
        let begun = (whole / 5).max(Duration::from_secs(5));
        sleep(begun);
        let early = resident(&server);
        sleep(whole - begun);
        (early, resident(&server))
    });
    let failed: Vec<_> = ended.iter().filter_map(|one| one.failed.as_ref()).collect();
    assert!(failed.is_empty(), "{} connections failed: {:?}", failed.len(), failed[0]);
    assert!(ended.iter().all(|one| !one.written.is_empty()), "each had its turn");
    let allowed = (early / 10 * 3).max(20 << 20);
    let grown = late.saturating_sub(early);
    assert!(grown <= allowed, "from {} to {} MiB", early >> 20, late >> 20);
}

#[test]
fn a_crash_under_load_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    // A folder of the host: what `toolyard verify` can be pointed at.
    let allowed = format!("[{:?}]", folder.path());
    let mut server = Server::start_with(&[("TOOLYARD__WORKSPACES__FOLDERS", &allowed)]);
    let (address, pid) = (server.address.clone(), server.pid());
    let (token, agent, workspace) = {
        let ada = server.person();
        let place = json!({"name": "Work", "folder": folder.path()});
        let made = ada.post("/api/v1/workspaces", place).expect(201);
        let workspace = made["workspace"]["id"].as_str().unwrap().to_owned();
        prepared(&ada, &workspace);
        (ada.token.clone(), ada.agent(&workspace, "member").token, workspace)
    };
    let over = AtomicBool::new(false);
    let load = Load {
        address: &address,
        workspace: &workspace,
        tokens: [&token, &agent],
        path: |number, round| format!("/load/{number}-{round}.txt"),
        over: &over,
    };
    let ((), ended) = load.run(|| {
        sleep(Duration::from_secs(seconds()) * 2 / 5);
        let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        assert!(killed.unwrap().success());
    });
    server.crash_and_restart();
    let acknowledged: Vec<_> = ended.into_iter().flat_map(|one| one.written).collect();
    assert!(acknowledged.len() > CONNECTIONS, "{} writes", acknowledged.len());
    {
        let ada = server.holder(&token);
        for some in acknowledged.chunks(50) {
            let paths: Vec<_> = some.iter().map(|(path, _)| path).collect();
            let read = ada.tool(&workspace, "read_multiple_files", json!({"paths": paths}));
            let read = read.expect(200);
            let files = read["result"]["files"].as_array().unwrap();
            for (file, (path, content)) in files.iter().zip(some) {
                assert_eq!((&file["path"], &file["content"]), (&json!(path), &json!(content)));
                assert_eq!(file["synced"], true, "{path}");
            }
        }
    }
    server.stop();
    is_sound(folder.path(), &server);
}

/// `toolyard verify` finds no damage, and the disk as it was recorded.
fn is_sound(root: &std::path::Path, server: &Server) {
    let mut verify = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    verify.env_clear().args(["verify", "--json", "--root"]).arg(root);
    let output = verify.arg("--data-dir").arg(server.data()).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["ok"], &answer["unsynced"]), (&json!(true), &json!([])), "{answer}");
}
