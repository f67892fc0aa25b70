//! Decisions over HTTP while the server is killed: calls of tools that ask, in every dialect, decided while their
//! caller waits, after a restart, or right before one. Whatever happens, what was approved is executed once or not at
//! all, or it is told that nobody knows; and whoever waits, or asks later, gets the answer.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::attempts::Dice;
use crate::counter::Counter;
use crate::harness::{Server, Someone};

/// How a call came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Story {
    /// It is decided while its caller waits.
    Waiting,
    /// The server is killed while it waits, and it is decided after the restart.
    KilledBefore,
    /// The server is killed at some moment after the decision was sent.
    KilledAfter,
}

const STORIES: [Story; 3] = [Story::Waiting, Story::KilledBefore, Story::KilledAfter];

/// Tools that ask, with what they do to a file of a given name, once they are approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// A line more.
    Appends,
    /// `old` becomes `new`.
    Edits,
    /// It goes away.
    Removes,
    /// Its name is sent to a web server.
    Sends,
}

const TOOLS: [(&str, &str, Does); 12] = [
    ("workspace", "edit", Does::Edits),
    ("workspace", "rm", Does::Removes),
    ("file", "file.patch", Does::Edits),
    ("file", "file.delete", Does::Removes),
    ("coder", "edit", Does::Edits),
    ("codex", "shell", Does::Appends),
    ("codex", "exec_command", Does::Appends),
    ("codex", "apply_patch_freeform", Does::Edits),
    ("assistant", "delete_file", Does::Removes),
    ("assistant", "move_file", Does::Removes),
    ("assistant", "run_code", Does::Appends),
    ("assistant", "web_fetch", Does::Sends),
];

fn arguments(tool: &str, mark: &str, address: &str) -> Value {
    let command = format!("echo x >> {mark}");
    match tool {
        "edit" if mark.starts_with('/') => {
            json!({"path": mark, "old_string": "old", "new_string": "new"})
        }
        "edit" => json!({"filePath": mark, "oldString": "old", "newString": "new"}),
        "rm" => json!({"path": mark}),
        "file.patch" => json!({"path": mark, "patches": [{"find": "old", "replace": "new"}]}),
        "shell" => json!({"command": command, "workdir": null, "timeout_ms": 60_000}),
        "exec_command" => {
            json!({"session_id": mark, "cmd": format!("{command}; cat"), "workdir": null})
        }
        "apply_patch_freeform" => json!({"patch": format!(
            "*** Begin Patch\n*** Update File: {mark}\n@@\n-old\n+new\n*** End Patch"
        )}),
        "move_file" => json!({"from": mark, "to": format!("{mark}.moved")}),
        "run_code" => json!({"language": "bash", "code": command}),
        "web_fetch" => {
            json!({"url": format!("http://{address}/"), "method": "POST", "body": mark})
        }
        _ => json!({"path": mark}),
    }
}

/// One workspace of one server, on which all runs are made.
struct Stage {
    server: Server,
    root: PathBuf,
    posts: Counter,
    address: String,
    /// A person's token, and an agent's key.
    tokens: (String, String),
    workspace: String,
    _home: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let posts = Counter::default();
        let address = posts.serve();
        let folders = format!("[{:?}]", root.to_str().unwrap());
        let exempt = format!("[{address:?}]");
        let path = std::env::var("PATH").unwrap_or_default();
        let server = Server::start_with(&[
            ("TOOLYARD__WORKSPACES__FOLDERS", folders.as_str()),
            ("TOOLYARD__WEB__EXEMPT", exempt.as_str()),
            ("PATH", path.as_str()),
        ]);
        let (tokens, workspace) = {
            let ada = server.person();
            let made = json!({"name": "Work", "folder": root.to_str().unwrap()});
            let made = ada.post("/api/v1/workspaces", made).expect(201);
            let workspace = made["workspace"]["id"].as_str().unwrap().to_owned();
            let rules = json!({"preset": "open", "rules": [
                {"effect": ["run", "send", "modify", "remove", "move"], "then": "ask"}]});
            let path = format!("/api/v1/workspaces/{workspace}/policy");
            ada.ask("PUT", &path, &rules).expect(200);
            let agent = ada.agent(&workspace, "member");
            ((ada.token.clone(), agent.token.clone()), workspace)
        };
        Self { server, root, posts, address, tokens, workspace, _home: home }
    }

    fn person(&self) -> Someone<'_> {
        self.server.holder(&self.tokens.0)
    }

    fn agent(&self) -> Someone<'_> {
        self.server.holder(&self.tokens.1)
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/workspaces/{}/{rest}", self.workspace)
    }

    /// How often it happened, as far as the world shows it.
    fn count(&self, does: Does, mark: &str) -> usize {
        let found = std::fs::read_to_string(self.root.join(mark)).ok();
        match does {
            Does::Sends => self.posts.count(mark),
            Does::Removes => usize::from(found.is_none()),
            Does::Edits => usize::from(found.as_deref() == Some("new\n")),
            Does::Appends => found.map_or(0, |text| text.lines().count()),
        }
    }

    fn row(&self, id: &str) -> Value {
        self.person().get(&self.path(&format!("approvals/{id}"))).expect(200)
    }

    /// Says yes to a request as it is now. A server that is killed meanwhile answers nothing.
    fn approve(&self, id: &str) {
        let row = self.row(id);
        let yes = json!({"decision": "approve", "state_hash": row["state_hash"]});
        let answer = self.person().post(&self.path(&format!("approvals/{id}/decision")), yes);
        assert!(answer.status == 200 || answer.status == 409, "{}", answer.json());
    }

    /// One run; what it came to.
    fn play(
        &mut self,
        tool: (&str, &str, Does),
        story: Story,
        mark: &str,
        moment: Duration,
    ) -> String {
        let (toolset, tool, does) = tool;
        if matches!(does, Does::Edits | Does::Removes) {
            std::fs::write(self.root.join(mark), "old\n").unwrap();
        }
        let named = if toolset == "workspace" { format!("/{mark}") } else { mark.to_owned() };
        let args = arguments(tool, &named, &self.address);
        let body = json!({"toolset": toolset, "tool": tool, "args": args, "wait_ms": 0});
        let asked = self.agent().post(&self.path("tools"), body.clone());
        let asked = asked.expect(202);
        let id =
            asked["result"]["approval_id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
        let waits = json!({"toolset": toolset, "tool": tool, "args": args, "wait_ms": 30_000});
        match story {
            Story::Waiting => {
                let reply = thread::scope(|scope| {
                    let waiting = scope.spawn(|| self.agent().post(&self.path("tools"), waits));
                    thread::sleep(Duration::from_millis(30));
                    self.approve(&id);
                    waiting.join().unwrap()
                });
                let reply = reply.expect(200);
                assert!(!reply.to_string().contains("used already"), "{tool}: {reply}");
            }
            Story::KilledBefore => {
                self.server.crash_and_restart();
                self.approve(&id);
            }
            Story::KilledAfter => {
                let row = self.row(&id);
                let yes = json!({"decision": "approve", "state_hash": row["state_hash"]});
                let path = self.path(&format!("approvals/{id}/decision"));
                self.server.post_and_forget(&path, &self.tokens.0, &yes);
                thread::sleep(moment);
                self.server.crash_and_restart();
            }
        }
        let status = self.settle(&id, &body);
        let count = self.count(does, mark);
        let happened = if status == "unknown" { count <= 1 } else { count == 1 };
        assert!(
            happened,
            "{toolset}.{tool} {story:?} {mark} is {status} and happened {count} times"
        );
        status
    }

    /// Brings a request to its end: a second yes where the process that was to do it is gone, and another call of the
    /// same chat where only that can serve the answer.
    fn settle(&self, id: &str, body: &Value) -> String {
        let began = Instant::now();
        loop {
            let row = self.row(id);
            match row["status"].as_str().unwrap() {
                "pending" => self.approve(id),
                "approved" if body["tool"] == "exec_command" => {
                    self.agent().post(&self.path("tools"), body.clone());
                }
                "approved" => self.approve(id),
                status @ ("executed" | "unknown") => return status.to_owned(),
                other => panic!("{body} is {other}: {row}"),
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{body}: {row}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn p2_decided_over_http_with_the_server_killed_it_happens_once_or_is_unknown() {
    let runs = if std::env::var_os("YARD_SOAK").is_some() { 2_000 } else { 72 };
    let (mut stage, mut dice) = (Stage::new(), Dice(29));
    let mut outcomes: HashMap<String, usize> = HashMap::new();
    for run in 0..runs {
        let tool = TOOLS[run % TOOLS.len()];
        let story = STORIES[(run / TOOLS.len() + run) % STORIES.len()];
        let moment = Duration::from_micros(dice.roll(40_000) as u64);
        let status = stage.play(tool, story, &format!("mark-{run}-end"), moment);
        *outcomes.entry(format!("{story:?} {status}")).or_default() += 1;
    }
    eprintln!("{runs} runs: {outcomes:?}");
}
