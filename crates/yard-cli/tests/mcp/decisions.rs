//! Decisions while processes are killed: calls that ask, made over MCP and decided on the command line or in
//! the client, with either process killed at some moment. Whatever happens, what was approved is executed
//! once or not at all, or it is told that nobody knows; and whoever waits gets the answer.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, Setup, Wire, text, toolyard};
use crate::counter::Counter;

/// What asks, whoever does it.
const RULES: &str = r#"{"preset": "open", "rules": [
    {"effect": ["run", "send", "modify", "remove"], "then": "ask"}]}"#;

/// How many runs; `server/decisions.rs` makes as many again.
fn runs() -> u64 {
    if std::env::var_os("YARD_SOAK").is_some() { 3_000 } else { 36 }
}

/// Numbers that are the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, stores: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % stores
    }
}

/// A tool that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Shell,
    Terminal,
    Patch,
    Code,
    Post,
    Delete,
}

const KINDS: [Kind; 6] =
    [Kind::Shell, Kind::Terminal, Kind::Patch, Kind::Code, Kind::Post, Kind::Delete];

impl Kind {
    fn toolset(self) -> &'static str {
        match self {
            Self::Shell | Self::Terminal | Self::Patch => "codex",
            Self::Code | Self::Post | Self::Delete => "assistant",
        }
    }
}

/// Who decides, and who is killed at a moment that the dice choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Story {
    /// On the command line; nobody is killed.
    Person,
    /// On the command line, which is killed.
    PersonKilled,
    /// On the command line, while the process that waits is killed.
    WaitingKilled,
    /// On the command line, after the process that waits was killed.
    WaitingGone,
    /// In the client.
    Client,
    /// In the client, and the process that waits is killed.
    ClientKilled,
}

const STORIES: [Story; 6] = [
    Story::Person,
    Story::PersonKilled,
    Story::WaitingKilled,
    Story::WaitingGone,
    Story::Client,
    Story::ClientKilled,
];

impl Story {
    fn in_client(self) -> bool {
        matches!(self, Self::Client | Self::ClientKilled)
    }
}

/// One workspace on which all runs are made, with the servers that are still alive.
struct Stage {
    setup: Setup,
    posts: Counter,
    address: String,
    clients: HashMap<(&'static str, bool), Client>,
}

impl Stage {
    fn new() -> Self {
        let (setup, posts) = (Setup::new(), Counter::default());
        let address = posts.serve();
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(setup.data.path(), private).unwrap();
        let config = format!("[web]\nexempt = [{address:?}]\n");
        std::fs::write(setup.data.path().join("toolyard.toml"), config).unwrap();
        let rules = setup.data.path().join("rules.json");
        std::fs::write(&rules, RULES).unwrap();
        setup.person(&["policy", "set", rules.to_str().unwrap()]);
        Self { setup, posts, address, clients: HashMap::new() }
    }

    fn arguments(&self, kind: Kind, mark: &str) -> (&'static str, Value) {
        let command = format!("echo x >> {mark}");
        match kind {
            Kind::Shell => {
                ("shell", json!({"command": command, "workdir": null, "timeout_ms": 60_000}))
            }
            Kind::Terminal => {
                let cmd = format!("{command}; cat");
                ("exec_command", json!({"session_id": mark, "cmd": cmd, "workdir": null}))
            }
            Kind::Patch => {
                let patch = format!(
                    "*** Begin Patch\n*** Update File: {mark}\n@@\n-old\n+new\n*** End Patch"
                );
                ("apply_patch_freeform", json!({"patch": patch}))
            }
            Kind::Code => ("run_code", json!({"language": "bash", "code": command})),
            Kind::Post => {
                let url = format!("http://{}/", self.address);
                ("web_fetch", json!({"url": url, "method": "POST", "body": mark}))
            }
            Kind::Delete => ("delete_file", json!({"path": mark})),
        }
    }

    fn prepare(&self, kind: Kind, mark: &str) {
        if matches!(kind, Kind::Patch | Kind::Delete) {
            self.setup.put(mark, "old\n");
        }
    }

    /// How often it happened, as far as the world shows it.
    fn count(&self, kind: Kind, mark: &str) -> usize {
        let found = std::fs::read_to_string(self.setup.root.path().join(mark)).ok();
        match (kind, found) {
            (Kind::Post, _) => self.posts.count(mark),
            (Kind::Delete, found) => usize::from(found.is_none()),
            (Kind::Patch, found) => usize::from(found.as_deref() == Some("new\n")),
            (_, found) => found.map_or(0, |text| text.lines().count()),
        }
    }

    fn client(&mut self, toolset: &'static str, asks: bool) -> &Client {
        let setup = &self.setup;
        self.clients.entry((toolset, asks)).or_insert_with(|| {
            let able = if asks { json!({"elicitation": {"form": {}}}) } else { json!({}) };
            let words = ["--toolset", toolset, "--policy", "open", "--wait", "120"];
            setup.speak(Wire::Sessions, &words, able)
        })
    }

    fn row(&self, id: &str) -> Value {
        serde_json::from_str(&self.setup.person(&["approve", id, "--json"])).unwrap()
    }

    /// The request that has this mark among its arguments, once it waits.
    fn waiting(&self, mark: &str) -> Value {
        let began = Instant::now();
        loop {
            let listed = self.setup.person(&["approve", "--json"]);
            let listed: Value = serde_json::from_str(&listed).unwrap();
            let rows = listed["approvals"].as_array().unwrap();
            if let Some(row) = rows.iter().find(|row| row["args"].to_string().contains(mark)) {
                return row.clone();
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{mark} does not wait: {listed}");
        }
    }

    /// Says yes as a process of its own, which is killed after a while, if that is given.
    fn approve(&self, row: &Value, killed_after: Option<Duration>) {
        let mut child = self.approving(row);
        if let Some(after) = killed_after {
            thread::sleep(after);
            let _ = child.kill();
        }
        child.wait().unwrap();
    }

    /// A process that says yes.
    fn approving(&self, row: &Value) -> Child {
        let (id, state) = (row["id"].as_str().unwrap(), row["state_hash"].as_str().unwrap());
        let mut command = toolyard(self.setup.data.path());
        command.arg("--root").arg(self.setup.root.path());
        command.args(["approve", id, "--yes", "--state", state]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// One run; what it came to.
    fn play(&mut self, kind: Kind, story: Story, mark: &str, moment: Duration) -> String {
        self.prepare(kind, mark);
        let (tool, arguments) = self.arguments(kind, mark);
        let key = (kind.toolset(), story.in_client());
        let client = self.client(key.0, key.1);
        let call = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let mut row = self.waiting(mark);
        let id = row["id"].as_str().unwrap().to_owned();
        match story {
            Story::Person => self.approve(&row, None),
            Story::PersonKilled => self.approve(&row, Some(moment)),
            Story::WaitingKilled => {
                let client = self.clients.remove(&key).unwrap();
                let mut person = self.approving(&row);
                thread::sleep(moment);
                drop(client);
                person.wait().unwrap();
            }
            Story::WaitingGone => {
                self.clients.remove(&key);
                self.approve(&row, None);
            }
            Story::Client | Story::ClientKilled => {
                let client = &self.clients[&key];
                let asked = asked_in(client);
                let yes = json!({"action": "accept", "content": {"decision": "Allow once"}});
                client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes}));
                if story == Story::ClientKilled {
                    thread::sleep(moment);
                    self.clients.remove(&key);
                }
            }
        }
        let began = Instant::now();
        loop {
            row = self.row(&id);
            let is_alive = self.clients.contains_key(&key);
            match row["status"].as_str().unwrap() {
                "pending" => self.approve(&row, None),
                "approved" if kind != Kind::Terminal => self.approve(&row, None),
                // Nobody who can serve the terminal is left: the yes waits for a call of the same chat.
                "approved" if !is_alive => break,
                "approved" => thread::sleep(Duration::from_millis(100)),
                "executed" | "unknown" => break,
                other => panic!("{kind:?} {story:?} {mark} is {other}: {row}"),
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{kind:?} {story:?}: {row}");
        }
        let status = row["status"].as_str().unwrap().to_owned();
        if let Some(client) = self.clients.get(&key).filter(|_| !was_replaced(story)) {
            let result = client.answer_to(call)["result"].clone();
            let output = text(&result);
            assert!(!output.contains("used already"), "{kind:?} {story:?}: {result}");
            let is_error = result["isError"] == true;
            assert_eq!(is_error, status == "unknown", "{kind:?} {story:?} {status}: {result}");
        }
        self.check(kind, story, mark, &status, key);
        status
    }

    fn check(&self, kind: Kind, story: Story, mark: &str, status: &str, key: (&'static str, bool)) {
        if let Some(client) = self.clients.get(&key).filter(|_| kind == Kind::Terminal) {
            let args = json!({"session_id": mark, "chars": "typed\n"});
            let typed = client.call("write_stdin", args);
            if status == "executed" {
                assert!(text(&typed).contains("typed"), "it lives here: {story:?} {typed}");
                client.call("kill_session", json!({"session_id": mark}));
            }
        }
        let count = self.count(kind, mark);
        let happened = match status {
            "executed" => count == 1,
            "approved" => count == 0,
            _ => count <= 1,
        };
        assert!(happened, "{kind:?} {story:?} {mark} is {status} and happened {count} times");
    }
}

/// What the server asks its client next; whatever else it says is passed over.
fn asked_in(client: &Client) -> Value {
    loop {
        let message = client.next_message();
        if message["method"] == "elicitation/create" {
            return message;
        }
    }
}

/// Whether the process that made the call was killed: another one is there by now, if any.
fn was_replaced(story: Story) -> bool {
    matches!(story, Story::WaitingKilled | Story::WaitingGone | Story::ClientKilled)
}

#[test]
fn p2_whoever_decides_and_whoever_is_killed_what_was_approved_happens_once_or_is_unknown() {
    let (mut stage, mut dice) = (Stage::new(), Dice(23));
    let mut outcomes: HashMap<String, usize> = HashMap::new();
    let began = Instant::now();
    stage.setup.person(&["approve"]);
    let usual = began.elapsed() * 2;
    for run in 0..runs() {
        // Every kind and every story come by turns: the dice choose the moments.
        let kind = KINDS[usize::try_from(run).unwrap() % KINDS.len()];
        let turn = usize::try_from(run).unwrap() / KINDS.len() + usize::try_from(run).unwrap();
        let story = STORIES[turn % STORIES.len()];
        let moment = usual.mul_f64(dice.roll(1_000) as f64 / 1_000.0);
        let status = stage.play(kind, story, &format!("mark-{run}-end"), moment);
        *outcomes.entry(format!("{story:?} {status}")).or_default() += 1;
    }
    eprintln!("{} runs in {:?}: {outcomes:?}", runs(), began.elapsed());
}
