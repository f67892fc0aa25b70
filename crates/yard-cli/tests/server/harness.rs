//! A server of its own for one test, and people who talk to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::http::{HeaderMap, Request};
use ureq::{Agent, Body};

pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// A running `toolyard serve`; it is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    temp: TempDir,
    /// Its environment, also when it is started again.
    variables: Vec<(String, String)>,
    /// A script that starts it in other surroundings.
    wrapper: Option<String>,
    agent: Agent,
    people: AtomicUsize,
    log: Arc<Mutex<Vec<String>>>,
}

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
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With these variables in its environment.
    pub(crate) fn start_with(variables: &[(&str, &str)]) -> Self {
        Self::start_on(tempfile::tempdir().unwrap(), variables)
    }

    /// On the folder `data` in a folder that is there already.
    pub(crate) fn start_on(temp: TempDir, variables: &[(&str, &str)]) -> Self {
        Self::start_as(temp, variables, None)
    }

    /// Where the system lets it open no more than so many files.
    pub(crate) fn start_with_files(files: u64) -> Self {
        let wrapper = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
        Self::start_as(tempfile::tempdir().unwrap(), &[], Some(wrapper))
    }

    fn start_as(temp: TempDir, variables: &[(&str, &str)], wrapper: Option<String>) -> Self {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let variables: Vec<_> = variables.iter().map(owned).collect();
        let (child, address, log) =
            launch(&temp.path().join("data"), &variables, wrapper.as_deref());
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(Duration::from_secs(60)))
            .max_idle_connections_per_host(64)
            .build();
        let people = AtomicUsize::new(0);
        Self { child, address, temp, variables, wrapper, agent: config.into(), people, log }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.temp.path().join("data")
    }

    /// What it logged until now, where the test set a level; else nothing is kept.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as a crash would, and starts it again on the same data.
    pub(crate) fn crash_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.launch_again();
    }

    /// Kills it, and starts it again as if the machine had been started again: another boot id is mounted over the
    /// kernel's, in a mount namespace of its own.
    pub(crate) fn restart_under_boot(&mut self, boot: &str) {
        let file = self.temp.path().join("boot_id");
        std::fs::write(&file, format!("{boot}\n")).unwrap();
        self.wrapper = Some(format!(
            "exec unshare -m sh -c 'mount --bind {} /proc/sys/kernel/random/boot_id && exec \"$0\" \"$@\"' \"$0\" \"$@\"",
            file.display()
        ));
        self.crash_and_restart();
    }

    fn launch_again(&mut self) {
        let wrapper = self.wrapper.as_deref();
        (self.child, self.address, self.log) = launch(&self.data(), &self.variables, wrapper);
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> std::process::ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap()
    }

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

    /// A new person with an account, logged in.
    pub(crate) fn person(&self) -> Someone<'_> {
        let nth = self.people.fetch_add(1, Ordering::Relaxed);
        let email = format!("person-{nth}@example.com");
        let account = json!({"email": email, "password": PASSWORD, "full_name": "Some One"});
        self.post("/api/v1/auth/register", &account).expect(201);
        let login = json!({"email": email, "password": PASSWORD});
        let login = self.post("/api/v1/auth/login", &login).expect(200);
        let text = |name: &str| login[name].as_str().unwrap().to_owned();
        let id = login["user"]["id"].as_str().unwrap().to_owned();
        Someone {
            server: self,
            token: text("access_token"),
            refresh: text("refresh_token"),
            email,
            id,
        }
    }

    /// Somebody with this token or key.
    pub(crate) fn holder(&self, token: &str) -> Someone<'_> {
        Someone {
            server: self,
            token: token.to_owned(),
            refresh: String::new(),
            email: String::new(),
            id: String::new(),
        }
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

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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

/// Starts the binary and waits until it says where it listens.
fn launch(
    data: &Path,
    variables: &[(String, String)],
    wrapper: Option<&str>,
) -> (Child, String, Arc<Mutex<Vec<String>>>) {
    let program = env!("CARGO_BIN_EXE_toolyard");
    let mut command = match wrapper {
        None => Command::new(program),
        Some(script) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", script, program]);
            shell
        }
    };
    command.env_clear().envs(variables.iter().cloned()).stdin(Stdio::null());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut output = String::new();
    let address = loop {
        let Some(Ok(line)) = lines.next() else { panic!("the server did not start: {output}") };
        if let Some(rest) = line.split("http://").nth(1) {
            break rest.split_whitespace().next().unwrap().to_owned();
        }
        output.push_str(&line);
    };
    // Its log would fill the pipe.
    let log = Arc::<Mutex<Vec<String>>>::default();
    let (kept, is_kept) =
        (Arc::clone(&log), variables.iter().any(|(name, _)| *name == "TOOLYARD__LOG__LEVEL"));
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok).filter(|_| is_kept) {
            kept.lock().unwrap().push(line);
        }
    });
    (child, address, log)
}

/// Somebody who calls, with a token or a key.
#[derive(Clone)]
pub(crate) struct Someone<'a> {
    pub(crate) server: &'a Server,
    pub(crate) token: String,
    pub(crate) refresh: String,
    pub(crate) email: String,
    pub(crate) id: String,
}

impl<'a> Someone<'a> {
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.ask_with(method, path, &[], body)
    }

    /// With more headers.
    pub(crate) fn ask_with(
        &self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(more);
        if body.is_null() {
            return self.server.send(method, path, &headers, b"");
        }
        headers.push(("content-type", "application/json"));
        self.server.send(method, path, &headers, body.to_string().as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &Value::Null)
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, &body)
    }

    /// Decides on the request at `path`, as it is now.
    pub(crate) fn decide(&self, path: &str, mut decision: Value) -> Answer {
        decision["state_hash"] = self.get(path).expect(200)["state_hash"].clone();
        self.post(&format!("{path}/decision"), decision)
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &Value::Null)
    }

    /// A new workspace of this person: its id.
    pub(crate) fn workspace(&self) -> String {
        let made = self.post("/api/v1/workspaces", json!({"name": "Work"})).expect(201);
        made["workspace"]["id"].as_str().unwrap().to_owned()
    }

    /// A key to a workspace of this person, and who holds it.
    pub(crate) fn agent(&self, workspace: &str, role: &str) -> Someone<'a> {
        let toolsets = ["workspace", "file", "coder", "assistant", "codex", "filesystem"];
        let key = json!({"name": "agent", "role": role, "toolsets": toolsets});
        let key = self.post(&format!("/api/v1/workspaces/{workspace}/keys"), key).expect(201);
        self.server.holder(key["key"].as_str().unwrap())
    }

    /// Makes another person a member of this one's workspace.
    pub(crate) fn invite(&self, workspace: &str, other: &Someone<'_>, role: &str) {
        let member = json!({"email": other.email, "role": role});
        self.post(&format!("/api/v1/workspaces/{workspace}/members"), member).expect(201);
    }

    /// Calls a tool.
    pub(crate) fn tool(&self, workspace: &str, tool: &str, args: Value) -> Answer {
        let body = json!({"tool": tool, "args": args});
        self.post(&format!("/api/v1/workspaces/{workspace}/tools"), body)
    }
}
