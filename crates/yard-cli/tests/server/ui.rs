//! `toolyard ui`: the page of one person on this machine, without an account, beside the processes that work there.

use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::Agent;

/// The page of a data folder, beside a project. It is killed when this is dropped.
pub(crate) struct Page {
    child: Child,
    /// `http://127.0.0.1:PORT`
    address: String,
    pub(crate) code: String,
    agent: Agent,
    temp: TempDir,
}

impl Page {
    pub(crate) fn start() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("project")).unwrap();
        let mut command = toolyard(temp.path());
        command.args(["ui", "--no-open", "--port", "0"]).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("The page: ").unwrap_or_else(|| panic!("{line}"));
        let (address, code) = address.split_once("/#code=").unwrap();
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build();
        let (address, code) = (address.to_owned(), code.to_owned());
        Self { child, address, code, agent: agent.into(), temp }
    }

    /// Logs in with a code. The status, the cookies and the answer.
    pub(crate) fn log_in(&self, code: &str) -> (u16, Vec<String>, Value) {
        let answer = self.agent.post(format!("{}/api/v1/auth/code", self.address));
        let mut answer = answer.send_json(json!({"code": code})).unwrap();
        let cookies = answer.headers().get_all("set-cookie").iter();
        let cookies = cookies.map(|cookie| cookie.to_str().unwrap().to_owned()).collect();
        (answer.status().as_u16(), cookies, answer.body_mut().read_json().unwrap())
    }

    /// The answer to a request with the cookie of a login.
    fn get(&self, cookie: &str, path: &str) -> (u16, Value) {
        let address = format!("{}{path}", self.address);
        let mut answer = self.agent.get(address).header("cookie", cookie).call().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json().unwrap())
    }

    fn post(&self, cookie: &str, path: &str, body: Value) -> (u16, Value) {
        let request = self.agent.post(format!("{}{path}", self.address));
        let mut answer = request.header("cookie", cookie).send_json(body).unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json().unwrap())
    }

    fn put(&self, cookie: &str, path: &str, body: Value) -> (u16, Value) {
        let request = self.agent.put(format!("{}{path}", self.address));
        let mut answer = request.header("cookie", cookie).send_json(body).unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json().unwrap())
    }

    fn delete(&self, cookie: &str, path: &str) -> (u16, Value) {
        let request = self.agent.delete(format!("{}{path}", self.address));
        let mut answer = request.header("cookie", cookie).call().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json().unwrap())
    }

    /// The status of a deletion, and what was said if it was refused.
    fn delete_status(&self, cookie: &str, path: &str) -> (u16, String) {
        let request = self.agent.delete(format!("{}{path}", self.address));
        let mut answer = request.header("cookie", cookie).call().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    }

    /// The cookie that a browser sends after the login.
    fn cookie(&self) -> String {
        let (status, cookies, _) = self.log_in(&self.code);
        assert_eq!(status, 200);
        cookies[0].split(';').next().unwrap().to_owned()
    }

    /// A tool called in the project by another process, as an agent would.
    fn call(&self, tool: &str, args: &Value) -> Output {
        let mut command = toolyard(self.temp.path());
        command.arg("--root").arg(self.temp.path().join("project"));
        command.args(["call", tool, &args.to_string()]).output().unwrap()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An agent's `toolyard mcp` in the project of a page, on its standard input and output. It is killed when this is dropped.
struct StdioAgent {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl StdioAgent {
    fn start(page: &Page, args: &[&str]) -> Self {
        let mut command = toolyard(page.temp.path());
        command.arg("--root").arg(page.temp.path().join("project")).arg("mcp").args(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut agent = Self { child, input, output };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        agent.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}));
        agent.receive();
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn receive(&mut self) -> Value {
        serde_json::from_str(&self.output.next().unwrap().unwrap()).unwrap()
    }

    /// Sends a call of a tool, whose answer is received later.
    fn begin_call(&mut self, tool: &str, arguments: &Value) {
        let call = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}));
    }

    /// The text of the answer to a call.
    fn call(&mut self, tool: &str, arguments: &Value) -> String {
        self.begin_call(tool, arguments);
        self.receive()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

impl Drop for StdioAgent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `look` finds, which may take a while.
fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn toolyard(temp: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.env("TOOLYARD_DATA_DIR", temp.join("data")).stdin(Stdio::null());
    command
}

#[test]
fn the_code_is_good_once_and_its_login_lives_in_cookies_that_no_script_reads() {
    let page = Page::start();
    let (status, cookies, login) = page.log_in(&page.code);
    assert_eq!((status, &login["user"]["is_local"]), (200, &json!(true)));
    for cookie in &cookies {
        assert!(cookie.starts_with("local_"), "a server on another port has its own: {cookie}");
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    }
    assert_eq!(page.log_in(&page.code).0, 401, "used before");
    assert_eq!(page.log_in("guessed").0, 401);
    let password = json!({"email": "-", "password": "-"});
    assert_eq!(page.post("", "/api/v1/auth/login", password).0, 401);
    let account = json!({"email": "eve@example.com", "password": "correct horse battery"});
    assert_eq!(page.post("", "/api/v1/auth/register", account).0, 403);
    assert_eq!(page.get("", "/api/v1/workspaces").0, 401);
    assert_eq!(page.get("", "/health").1["login"], "code");
}

#[test]
fn the_code_is_in_no_argument_of_the_program_that_opens_the_page() {
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path().canonicalize().unwrap();
    let opener = home.join("xdg-open");
    let script = "#!/bin/sh\necho \"$*\" > \"$HOME/begun\"\ncp -p \"${1#file://}\" \"$HOME/opened\"\nmv \"$HOME/begun\" \"$HOME/arguments\"\n";
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = toolyard(&home);
    command.args(["ui", "--port", "0"]).stderr(Stdio::piped()).env("HOME", &home);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.display()));
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let (address, code) = line.trim().split_once("/#code=").unwrap();
    let (_, address) = address.split_once("http://").unwrap();
    let read = |name: &str| std::fs::read_to_string(home.join(name)).ok();
    let arguments = found("the browser is opened", || read("arguments"));
    let file = arguments.trim().strip_prefix("file://").unwrap_or_else(|| panic!("{arguments}"));
    assert!(!arguments.contains(code), "{arguments}");
    assert!(read("opened").unwrap().contains(&format!("/#code={code}")));
    let mode = std::fs::metadata(home.join("opened")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only this user reads it");
    // Until it answers, a signal ends it at once.
    let health = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    found("the page answers", || {
        let mut stream = std::net::TcpStream::connect(address).ok()?;
        stream.write_all(health.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 200").then_some(())
    });
    let ended = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(ended.success() && child.wait().unwrap().success());
    assert!(!Path::new(file).exists(), "{file} stays");
}

#[test]
fn a_folder_in_which_an_agent_works_is_a_workspace_and_its_history_is_that_of_the_command_line() {
    let page = Page::start();
    let cookie = page.cookie();
    assert_eq!(page.get(&cookie, "/api/v1/workspaces").1["workspaces"], json!([]));
    assert!(page.call("write", &json!({"path": "/a.txt", "content": "one\n"})).status.success());
    let (_, listed) = page.get(&cookie, "/api/v1/workspaces");
    let workspace = &listed["workspaces"][0];
    assert_eq!((&workspace["name"], &workspace["role"]), (&json!("project"), &json!("owner")));
    let base = format!("/api/v1/workspaces/{}", workspace["id"].as_str().unwrap());
    let (_, steps) = page.get(&cookie, &format!("{base}/steps"));
    assert_eq!(steps["steps"][0]["path"], "/a.txt");
    let undo = format!("{base}/steps/{}/undo", steps["steps"][0]["id"].as_str().unwrap());
    assert_eq!(page.post(&cookie, &undo, json!({})).0, 200);
    assert!(!page.temp.path().join("project/a.txt").exists());
    let (_, steps) = page.get(&cookie, &format!("{base}/steps"));
    assert_eq!(steps["steps"][0]["actor"], "person:local", "as on the command line");
}

#[test]
fn a_folder_is_a_workspace_while_it_is_there_and_then_a_missing_one() {
    let page = Page::start();
    let cookie = page.cookie();
    let listed = || page.get(&cookie, "/api/v1/workspaces").1["workspaces"].clone();
    assert!(page.call("write", &json!({"path": "/a.txt", "content": "one\n"})).status.success());
    let workspace = format!("/api/v1/workspaces/{}", listed()[0]["id"].as_str().unwrap());
    let (status, refused) = page.delete(&cookie, &workspace);
    assert_eq!(status, 403, "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("Remove the folder"), "{refused}");
    assert_eq!(listed().as_array().map(Vec::len), Some(1));
    let nothing_waits = json!({"entries": [], "unavailable": [], "next": null});
    assert_eq!(page.get(&cookie, "/api/v1/inbox"), (200, nothing_waits.clone()));

    let missing = || page.get(&cookie, "/api/v1/missing-folders").1["folders"].clone();
    assert_eq!(missing(), json!([]));
    let project = page.temp.path().join("project");
    std::fs::rename(&project, page.temp.path().join("elsewhere")).unwrap();
    assert_eq!(listed(), json!([]));
    assert_eq!(page.get(&cookie, "/api/v1/inbox"), (200, nothing_waits));
    let gone = missing();
    assert_eq!(gone.as_array().map(Vec::len), Some(1), "{gone}");
    assert!(workspace.ends_with(gone[0]["workspace_id"].as_str().unwrap()), "{gone}");
    let was = std::path::Path::new(gone[0]["folder"].as_str().unwrap());
    assert!(was.ends_with("project") && gone[0]["changed_at"].is_string(), "{gone}");
    std::fs::rename(page.temp.path().join("elsewhere"), &project).unwrap();
    assert_eq!(listed().as_array().map(Vec::len), Some(1));
    assert_eq!(missing(), json!([]));
}

#[test]
fn what_an_agent_on_stdio_asks_is_in_the_inbox_at_once_and_decided_there() {
    let page = Page::start();
    let cookie = page.cookie();
    // What others made is removed only with a person's approval.
    std::fs::write(page.temp.path().join("project/a.txt"), "one\n").unwrap();
    let mut agent = StdioAgent::start(&page, &["--toolset", "workspace", "--wait", "30"]);
    agent.begin_call("rm", &json!({"path": "/a.txt"}));
    let entry =
        found("nothing waits", || page.get(&cookie, "/api/v1/inbox").1["entries"].get(0).cloned());
    let (id, row) = (entry["workspace_id"].as_str().unwrap(), &entry["approval"]);
    let path =
        format!("/api/v1/workspaces/{id}/approvals/{}/decision", row["id"].as_str().unwrap());
    let (status, done) =
        page.post(&cookie, &path, json!({"decision": "approve", "state_hash": row["state_hash"]}));
    assert_eq!(status, 200, "{done}");
    let answer = agent.receive();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(2), &json!(false)));
    assert!(!page.temp.path().join("project/a.txt").exists());
}

#[test]
fn a_terminal_of_an_agent_on_stdio_is_watched_typed_into_and_ended_on_the_page() {
    let page = Page::start();
    let cookie = page.cookie();
    let mut agent = StdioAgent::start(&page, &["--toolset", "codex", "--policy", "open"]);
    let cat = json!({"session_id": "dev", "cmd": "echo ready; cat", "workdir": null});
    assert!(agent.call("exec_command", &cat).contains("ready"));
    let (_, listed) = page.get(&cookie, "/api/v1/workspaces");
    let base = format!("/api/v1/workspaces/{}", listed["workspaces"][0]["id"].as_str().unwrap());
    let terminals = format!("{base}/terminals");
    let row = page.get(&cookie, &terminals).1["terminals"][0].clone();
    assert_eq!((&row["session_id"], &row["state"]), (&json!("dev"), &json!("running")), "{row}");
    let one = format!("{terminals}/{}", row["id"].as_str().unwrap());
    let screen = || page.get(&cookie, &one).1["screen"].as_str().unwrap_or_default().to_owned();
    assert_eq!(screen(), "ready");

    let (status, typed) =
        page.post(&cookie, &format!("{one}/input"), json!({"text": "from a person\n"}));
    assert_eq!(status, 200, "{typed}");
    found("cat says it again", || (screen().matches("from a person").count() == 2).then_some(()));
    let read = agent.call("write_stdin", &json!({"session_id": "dev", "chars": ""}));
    assert!(read.contains("from a person"), "the agent sees what was typed: {read}");
    let size = json!({"rows": 10, "columns": 40});
    let (status, resized) = page.put(&cookie, &format!("{one}/size"), size);
    assert_eq!((status, &resized["size"]), (200, &json!([10, 40])), "{resized}");

    let (status, ended) = page.delete_status(&cookie, &one);
    assert_eq!(status, 204, "{ended}");
    let read = agent.call("write_stdin", &json!({"session_id": "dev", "chars": ""}));
    assert!(read.contains("ended") || read.contains("over"), "{read}");
    assert_eq!(page.get(&cookie, &one).1["terminal"]["state"], "ended");
    let (status, late) = page.post(&cookie, &format!("{one}/input"), json!({"text": "x"}));
    assert_eq!(status, 404, "{late}");
}

#[test]
fn a_terminal_whose_process_was_killed_runs_no_more() {
    let page = Page::start();
    let cookie = page.cookie();
    let mut agent = StdioAgent::start(&page, &["--toolset", "codex", "--policy", "open"]);
    let cat = json!({"session_id": "dev", "cmd": "cat", "workdir": null});
    agent.call("exec_command", &cat);
    let (_, listed) = page.get(&cookie, "/api/v1/workspaces");
    let base = format!("/api/v1/workspaces/{}", listed["workspaces"][0]["id"].as_str().unwrap());
    let terminals = format!("{base}/terminals");
    let row = page.get(&cookie, &terminals).1["terminals"][0].clone();
    assert_eq!(row["state"], "running");
    drop(agent);
    let input = format!("{terminals}/{}/input", row["id"].as_str().unwrap());
    assert_eq!(page.post(&cookie, &input, json!({"text": "x"})).0, 404);
    let (status, listed) = page.get(&cookie, &terminals);
    assert_eq!(status, 200);
    let mut rows = listed["terminals"].as_array().unwrap().iter();
    assert!(rows.all(|row| row["state"] != "running"), "{listed}");
}

#[test]
fn the_person_of_this_machine_has_no_password_and_sees_the_own_logins() {
    let page = Page::start();
    let cookie = page.cookie();
    let body = json!({"current_password": "-", "new_password": "correct horse battery"});
    let (status, refused) = page.post(&cookie, "/api/v1/auth/password", body);
    assert_eq!(status, 403, "{refused}");
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains("no account, and so no password"), "{why}");
    let (status, logins) = page.get(&cookie, "/api/v1/auth/logins");
    assert_eq!((status, &logins["logins"][0]["current"]), (200, &json!(true)), "{logins}");
}

#[test]
fn the_page_says_what_the_box_can_do_here() {
    let page = Page::start();
    let cookie = page.cookie();
    let (status, said) = page.get(&cookie, "/api/v1/doctor");
    assert_eq!(status, 200, "{said}");
    assert!(!said["doctor"]["findings"].as_array().unwrap().is_empty(), "{said}");
    assert!(said["doctor"]["level"].is_string(), "{said}");
}
