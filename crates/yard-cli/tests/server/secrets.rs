//! A service whose home and environment are full of secrets: no command, terminal, answer, log or kept file of a
//! server has any of them, also where a workspace is a folder of that machine beside them.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::canaries::{CANARY, SEARCH, VARIABLES, files_with_canary, furnish};
use crate::harness::{Server, Someone};

struct ExecutableBy {
    server: Server,
    /// The workspace's folder.
    folder: PathBuf,
    workspace: String,
    token: String,
    _home: tempfile::TempDir,
}

/// A server that lets people place workspaces in one folder of a home full of secrets.
fn served() -> ExecutableBy {
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path().canonicalize().unwrap();
    furnish(&home);
    let folder = home.join("projects/mine");
    fs::create_dir_all(&folder).unwrap();
    let folders = format!("[{:?}]", home.join("projects").to_str().unwrap());
    let own = [".cargo/bin", ".local/bin", "bin", "miniconda3/bin", "."];
    let own = own.map(|name| home.join(name)).into_iter();
    let path = std::env::join_paths(own.chain(["/usr/bin", "/bin"].map(PathBuf::from))).unwrap();
    let secrets = VARIABLES.map(|name| (name, format!("{CANARY}-in-{name}")));
    let mut variables = vec![
        ("TOOLYARD__WORKSPACES__FOLDERS", folders.as_str()),
        ("TOOLYARD__LOG__LEVEL", "debug"),
        ("HOME", home.to_str().unwrap()),
        ("PATH", path.to_str().unwrap()),
    ];
    variables.extend(secrets.iter().map(|(name, value)| (*name, value.as_str())));
    let server = Server::start_with(&variables);
    let (workspace, token) = {
        let ada = server.person();
        let made = json!({"name": "Mine", "folder": folder.to_str().unwrap()});
        let made = ada.post("/api/v1/workspaces", made).expect(201);
        let workspace = made["workspace"]["id"].as_str().unwrap().to_owned();
        let policy = format!("/api/v1/workspaces/{workspace}/policy");
        ada.ask("PUT", &policy, &json!({"preset": "open"})).expect(200);
        let token = ada.agent(&workspace, "member").token.clone();
        (workspace, token)
    };
    ExecutableBy { server, folder, workspace, token, _home: temp }
}

impl ExecutableBy {
    fn agent(&self) -> Someone<'_> {
        self.server.holder(&self.token)
    }

    /// A tool of `codex`; whatever it answers has none of the secrets.
    fn codex(&self, tool: &str, args: Value) -> Value {
        let body = json!({"toolset": "codex", "tool": tool, "args": args});
        let path = format!("/api/v1/workspaces/{}/tools", self.workspace);
        let reply = self.agent().post(&path, body).expect(200);
        reply["result"].clone()
    }

    fn shell(&self, command: &str) -> Value {
        self.codex("shell", json!({"command": command, "workdir": null, "timeout_ms": 60_000}))
    }
}

#[test]
fn no_command_of_a_server_finds_a_secret_of_the_service() {
    let served = served();
    let reply = served.shell(SEARCH);
    assert_eq!(reply["stdout"], "searched\n", "{reply}");
    // The search itself finds what is there.
    fs::write(served.folder.join("planted"), CANARY).unwrap();
    let reply = served.shell(SEARCH)["stdout"].as_str().unwrap().to_owned();
    assert!(reply.contains("FOUND") && reply.contains("planted"), "{reply}");
}

#[test]
fn no_terminal_answer_log_or_kept_file_has_one() {
    let served = served();
    fs::write(served.folder.join("search.sh"), SEARCH).unwrap();
    let opened = json!({"session_id": "t", "cmd": "sh search.sh; env; echo over", "workdir": null});
    let mut reply = served.codex("exec_command", opened);
    let mut output = reply["output"].as_str().unwrap().to_owned();
    let until = Instant::now() + Duration::from_secs(60);
    while reply["state"] != "ended" {
        assert!(Instant::now() < until, "{reply}");
        reply = served.codex("write_stdin", json!({"session_id": "t", "chars": ""}));
        output.push_str(reply["output"].as_str().unwrap());
    }
    assert!(output.contains("searched") && output.contains("over"), "{output}");
    assert!(!output.contains("FOUND") && !output.contains(CANARY), "{output}");

    // More than an answer shows is kept in a file, and errors and refusals are answers, too.
    let reply =
        served.shell(&format!("seq 200000; {SEARCH}; env; cat /etc/shadow; no-such-program"));
    assert_eq!(reply["stdout_truncated"], true, "{reply}");
    let base = format!("/api/v1/workspaces/{}", served.workspace);
    let steps = served.agent().get(&format!("{base}/steps"));
    let answers = [reply.to_string(), String::from_utf8_lossy(&steps.bytes).into_owned()];
    assert!(answers.iter().all(|answer| !answer.contains(CANARY)), "{answers:?}");
    let log = served.server.log();
    assert!(log.len() > 3, "there is a log: {log:?}");
    assert!(log.iter().all(|line| !line.contains(CANARY)), "{log:#?}");
    // History, audit chain, outputs, homes and caches.
    assert_eq!(files_with_canary(&served.server.data()), Vec::<String>::new());
}
