//! `git_push` to a remote on the network (A6): a server of the test on loopback that speaks git's own protocol over
//! HTTP, behind a name that leads there by a resolver of the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use yard_dialects::Answer;
use yard_gate::ApprovalStatus;
use yard_testkit::TestWorkspace;

use crate::box_setup::{asked, decide, guarded};
use crate::network::{requests, way_to, workspace_with};
use crate::programs::{git, git_in, repository, run};

/// A bare repository that is served on loopback by `git http-backend`.
struct GitServer {
    temp: TempDir,
    port: u16,
}

impl GitServer {
    fn serve() -> Self {
        let temp = tempfile::tempdir().unwrap();
        run(&mut git_in(temp.path(), &["init", "-q", "--bare", "-b", "main", "x.git"]));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { port: listener.local_addr().unwrap().port(), temp };
        let root = server.temp.path().to_owned();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let root = root.clone();
                thread::spawn(move || drop(answer(stream, root)));
            }
        });
        server
    }

    fn head(&self) -> String {
        let bare = self.temp.path().join("x.git");
        let output = git_in(&bare, &["rev-parse", "-q", "--verify", "main"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

/// One request, answered by git as a CGI program. `/closed` asks for a password.
fn answer(mut stream: TcpStream, root: PathBuf) -> std::io::Result<()> {
    let mut input = BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    let mut variables = Vec::new();
    input.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "content-type" => variables.push(("CONTENT_TYPE", value.to_owned())),
            "content-encoding" => variables.push(("HTTP_CONTENT_ENCODING", value.to_owned())),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    let words: Vec<&str> = first.split(' ').collect();
    let (path, query) = words[1].split_once('?').unwrap_or((words[1], ""));
    if path.starts_with("/closed") {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                       Content-Length: 0\r\nConnection: close\r\n\r\n";
        return stream.write_all(refusal.as_bytes());
    }
    let mut git = Command::new("git");
    git.arg("http-backend").envs(variables).env("GIT_PROJECT_ROOT", root);
    git.env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_USER", "ann").env("QUERY_STRING", query);
    git.env("REQUEST_METHOD", words[0]).env("PATH_INFO", path);
    git.env("CONTENT_LENGTH", length.to_string());
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().unwrap().write_all(&body)?;
    let printed = child.wait_with_output()?.stdout;
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")?;
    stream.write_all(&printed)
}

/// A repository with one commit, whose `origin` is a place of the test.
fn pushing_to(address: &str, port: u16) -> TestWorkspace {
    let web = way_to(&[("git.example", port)]).holding_for(Duration::from_millis(200));
    let workspace = workspace_with(web);
    repository(&workspace);
    workspace.put("a", "one\n");
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-qm", "one"]);
    git(&workspace, &["remote", "add", "origin", address]);
    workspace
}

/// A push by an agent whose hosts are asked about.
fn push(workspace: &TestWorkspace, args: Value) -> Answer {
    workspace.call_as(&guarded(workspace), "assistant", "git_push", args)
}

fn after_a_yes(workspace: &TestWorkspace, answer: &Answer) -> Value {
    let approval = decide(workspace, asked(answer), true);
    let text = approval.answer.unwrap_or_else(|| panic!("asked again: {:?}", approval.status));
    let answer: Value = serde_json::from_str(&text).unwrap();
    answer["body"]["result"].clone()
}

#[test]
fn a6_a_yes_to_a_push_covers_the_host_of_the_remote() {
    let server = GitServer::serve();
    let address = format!("http://ann:secret@git.example:{}/x.git", server.port);
    let workspace = pushing_to(&address, server.port);
    let answer = push(&workspace, json!({}));
    assert_eq!(server.head(), "", "nothing is sent before the yes");
    let shown = workspace.person().approvals().get(asked(&answer)).unwrap().request.diff;
    let place = format!("push to origin (http://git.example:{}/x.git), branch main", server.port);
    assert!(shown.contains(&place) && !shown.contains("secret"), "{shown}");
    let reply = after_a_yes(&workspace, &answer);
    assert_eq!(reply["ok"], true, "{reply}");
    assert_eq!(reply["value"]["refs"][0]["status"], "new", "{reply}");
    assert_eq!(server.head(), git(&workspace, &["rev-parse", "HEAD"]));
    assert_eq!(requests(&workspace, ApprovalStatus::Pending).len(), 0, "nobody was asked again");
}

#[test]
fn a6_settings_lead_a_push_to_no_other_repository_of_the_host() {
    let server = GitServer::serve();
    let workspace = pushing_to("./elsewhere.git", server.port);
    let host = format!("http://git.example:{}", server.port);
    let setting = format!("url.{host}/closed.git.pushInsteadOf");
    git(&workspace, &["config", &setting, &format!("{host}/x.git")]);
    let answer = push(&workspace, json!({"remote": format!("{host}/x.git")}));
    let reply = after_a_yes(&workspace, &answer);
    assert_eq!(reply["value"]["refs"][0]["status"], "new", "{reply}");
    assert_eq!(server.head(), git(&workspace, &["rev-parse", "HEAD"]));
}

#[test]
fn a6_a_remote_that_wants_a_password_is_the_persons_to_push_to() {
    let server = GitServer::serve();
    let workspace =
        pushing_to(&format!("http://git.example:{}/closed.git", server.port), server.port);
    let reply = after_a_yes(&workspace, &push(&workspace, json!({})));
    assert_eq!(
        reply["error"]["message"],
        "the remote asks for a name and a password, and those of the person are not in the box: ask the person to \
         push",
        "{reply}"
    );
}

#[test]
fn a6_without_a_network_nobody_is_asked_about_a_push_over_it() {
    let workspace = workspace_with(way_to(&[]).without_commands());
    repository(&workspace);
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "one"]);
    let answer = push(&workspace, json!({"remote": "https://git.example/x.git"}));
    assert!(answer.pending.is_none(), "{}", answer.body);
    let message = answer.body["result"]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("commands have no network here (`network` of `[commands]`)"));
}

#[test]
fn a6_a_remote_with_several_addresses_is_not_pushed_to() {
    let workspace = pushing_to("http://git.example/x.git", 80);
    for folder in ["./a.git", "./b.git"] {
        git(&workspace, &["remote", "set-url", "--add", "--push", "origin", folder]);
    }
    let answer = push(&workspace, json!({}));
    assert!(answer.pending.is_none(), "{}", answer.body);
    let message = answer.body["result"]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("origin has several push addresses"), "{message}");
}
