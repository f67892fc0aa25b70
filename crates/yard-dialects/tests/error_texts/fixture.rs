//! A workspace in which everything can fail that can without a box, and the ways to call in it.

use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use yard_core::Limits;
use yard_dialects::Answer;
use yard_disk::{DiskCall, Probe};
use yard_gate::{Actor, CallerPolicy, Mount, NamedRoot, Session};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use super::listed::Failing;

/// Bytes that one call may load or write here.
const LOAD_BYTES: usize = 16 << 10;

/// The answer of a failed call.
pub(crate) struct Failed {
    /// The dialect's error code, after the HTTP status where the dialect has several.
    pub(crate) code: String,
    /// The text that a model reads. Parts that differ from run to run are replaced.
    pub(crate) text: String,
}

/// The workspace.
pub(crate) struct Fixture {
    workspace: TestWorkspace,
    /// Workspaces on disks that fail while one of their calls is made.
    disks: Vec<(&'static str, TestWorkspace, Arc<Disk>)>,
    chat: yard_core::ChatId,
    /// Every path of it, relative to the root.
    pub(crate) paths: Vec<String>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let workspace = TestWorkspace::open(
            &Folders::in_memory(),
            OpenOptions { limits: limits(), ..OpenOptions::default() },
        )
        .unwrap();
        furnish(&workspace);
        let chat = workspace
            .session()
            .chats()
            .make(&workspace.call_context(), "Planning", None)
            .unwrap()
            .id;
        let rules = r#"{"rules": [
            {"effect": ["modify", "create", "remove"], "path": "locked/**", "then": "deny"},
            {"effect": "read", "path": "secrets/**", "then": "deny"}
        ]}"#;
        let rules: Map<String, Value> = serde_json::from_str(rules).unwrap();
        workspace.person().change_settings(&workspace.call_context(), &rules).unwrap();
        let paths = paths_of(&workspace);
        Self { workspace, disks: Vec::new(), chat, paths }
    }

    /// The same, where disks fail too.
    pub(crate) fn with_failing_disks() -> Self {
        let disks = [("full disk", 28), ("broken disk", 5), ("no permission", 13)];
        let disks = disks.map(|(name, errno)| {
            let disk = Arc::new(Disk { errno, fails: AtomicBool::new(false) });
            let probe = Some(Arc::clone(&disk) as Arc<dyn Probe>);
            let plan = OpenOptions { limits: limits(), probe, ..OpenOptions::default() };
            let workspace = TestWorkspace::open(&Folders::in_memory(), plan).unwrap();
            furnish(&workspace);
            (name, workspace, disk)
        });
        Self { disks: disks.into(), ..Self::new() }
    }

    /// Its real directory.
    pub(crate) fn root(&self) -> String {
        self.workspace.root().to_str().unwrap().to_owned()
    }

    /// What a call that has to fail says.
    #[track_caller]
    pub(crate) fn fail(&self, failing: &Failing) -> Failed {
        self.call(failing).unwrap_or_else(|| panic!("{}: it did not fail", failing.line))
    }

    /// What a call says, if it fails.
    pub(crate) fn call(&self, failing: &Failing) -> Option<Failed> {
        let answer = self.answer(failing);
        if answer.ok {
            return None;
        }
        let body = answer.body.clone().into_value();
        let own = body["code"].as_str().or(body["result"]["error"].as_str());
        let own = own.or(body["result"]["error"]["code"].as_str()).unwrap();
        let code =
            if answer.status == 200 { own.to_owned() } else { format!("{} {own}", answer.status) };
        let root = self.workspace.root().to_str().unwrap();
        let text = without_ids(&answer.failure_message()).replace(root, "$root");
        Some(Failed { code, text })
    }

    /// Whether what a failure names can be sent back: it is not refused as a path that leads outside.
    pub(crate) fn takes_back(&self, failing: &Failing, path: &str) -> bool {
        let (tool, args) = match failing.toolset.as_str() {
            "workspace" => ("file_info", json!({"path": path})),
            "file" => ("file.read", json!({"path": path})),
            "coder" => ("read", json!({"filePath": path})),
            "codex" => ("read_file", json!({"path": path})),
            "assistant" => ("read_file", json!({"path": path})),
            _ => ("get_file_info", json!({"path": path})),
        };
        let setting = failing.setting.clone();
        let back = Failing { setting, ..Failing::new(&failing.toolset, tool, args) };
        let answer = self.answer(&back);
        let words = if answer.ok { String::new() } else { answer.failure_message() };
        !["outside", "leaves", "climb", "in no root", "not found", "ENOENT"]
            .iter()
            .any(|sign| words.contains(sign))
    }

    fn answer(&self, failing: &Failing) -> Answer {
        let (toolset, tool) = (failing.toolset.as_str(), failing.tool.as_str());
        let args = lengthened(failing.args.clone());
        let disk = self.disks.iter().find(|(name, ..)| *name == failing.setting);
        if let Some((_, workspace, disk)) = disk {
            disk.fails.store(true, Ordering::Relaxed);
            let answer = workspace.call_of(toolset, tool, args);
            disk.fails.store(false, Ordering::Relaxed);
            return answer;
        }
        let (session, mut call) = (self.session(&failing.setting), self.workspace.call_context());
        match failing.setting.as_str() {
            "out of time" => call = call.within_millis(-1),
            "cancelled" => call.cancel_flag().store(true, Ordering::Relaxed),
            _ => {}
        }
        let catalog = self.workspace.catalog().clone();
        let catalog =
            if failing.setting == "with history" { catalog.with_history() } else { catalog };
        catalog.call(toolset, tool, args, &session, &call)
    }

    fn session(&self, setting: &str) -> Session {
        let agent = self.workspace.session();
        match setting {
            "" | "out of time" | "cancelled" | "with history" => agent,
            "plan mode" => agent.in_chat(self.chat).unwrap(),
            "viewer" => self.workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly),
            "same machine" => agent.showing_host_paths(),
            "two roots" => {
                let host = self.workspace.root().to_str().unwrap().as_bytes().to_vec();
                let named = |name: &str, host| NamedRoot { name: name.to_owned(), host };
                let all = vec![named("app", host), named("lib", b"/nowhere/lib".to_vec())];
                agent.mounted(Mount { name: "app".to_owned(), all })
            }
            other => panic!("no such setting: {other}"),
        }
    }
}

/// A disk whose reading and writing fail with this error while a test switches it on.
struct Disk {
    errno: i32,
    fails: AtomicBool,
}

impl Probe for Disk {
    fn before(&self, call: DiskCall) -> io::Result<()> {
        let looks = matches!(call, DiskCall::Read | DiskCall::List);
        let changes = matches!(
            call,
            DiskCall::Stage | DiskCall::MakeFolder | DiskCall::Displace | DiskCall::RemoveFolder
        );
        match self.fails.load(Ordering::Relaxed) && (looks || changes) {
            true => Err(io::Error::from_raw_os_error(self.errno)),
            false => Ok(()),
        }
    }
}

fn limits() -> Limits {
    Limits { load_bytes: LOAD_BYTES as u64, ..Limits::default() }
}

fn furnish(workspace: &TestWorkspace) {
    for (path, content) in [
        ("a.txt", "one\ntwo\nthree\ntwo\n"),
        ("end.txt", "start\nend"),
        ("accent.txt", "tea\ncafe\u{301} au lait\n"),
        ("crlf.txt", "one\r\ntwo\r\n"),
        ("empty.txt", ""),
        ("version.toml", "name = \"x\"\nversion = \"2.0.0\"\n"),
        ("src/main.rs", "fn main() {\n\tprintln!(\"<x>\");\n}\n"),
        ("src/lib.rs", "pub fn first() {}\n\npub fn second() {\n    first();\n}\n"),
        ("full/inner.txt", "x\n"),
        ("locked/x.txt", "x\n"),
        ("secrets/key.txt", "the key\n"),
        ("notes.plan", "no plan\n"),
        ("space name.txt", "x\n"),
    ] {
        workspace.put(path, content);
    }
    workspace.put("wide.txt", format!("{}NEEDLE{}\n", "a".repeat(3_000), "b".repeat(3_000)));
    workspace.put("stray.txt", b"tea\nth\xe9 vert, caf\xc3\xa9\nmilk\n");
    workspace.put("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    workspace.put("zero.bin", b"a\0b\n");
    workspace.put("big.txt", "0123456789abcde\n".repeat(2 * LOAD_BYTES / 16));
    let at = |path: &str| workspace.root().join(path);
    std::fs::create_dir(at("empty")).unwrap();
    symlink("/etc", at("leaving")).unwrap();
    symlink("/etc/hostname", at("leaving.txt")).unwrap();
    symlink("nowhere.txt", at("dangling")).unwrap();
    // The socket stays when it is closed.
    drop(UnixListener::bind(at("socket")).unwrap());
    for (tool, args) in [
        ("write", json!({"path": "/mine.txt", "content": "mine\n"})),
        ("edit", json!({"path": "/mine.txt", "old_string": "mine", "new_string": "still mine"})),
        (
            "plan_write",
            json!({"title": "Do it", "content": "# Do it\n\nFirst this.\n", "path": "/plans/bold-meadow-quest.plan"}),
        ),
    ] {
        let answer = workspace.call(tool, args);
        assert!(answer.ok, "{}", answer.body);
    }
}

fn paths_of(workspace: &TestWorkspace) -> Vec<String> {
    let tree = yard_testkit::tree(workspace.root());
    let paths = tree.keys().map(|path| path.trim_start_matches('/').to_owned());
    // Those that lead outside are named only by who sent them.
    paths.filter(|path| !path.starts_with("leaving")).collect()
}

/// `$long` stands for a text that is too long to be written.
fn lengthened(args: Value) -> Value {
    match args {
        Value::String(text) if text == "$long" => Value::from("x".repeat(LOAD_BYTES + 1)),
        Value::Array(items) => items.into_iter().map(lengthened).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, lengthened(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}

/// The text with `$id` for every UUID, `$time` for every time and `$hash` for every hash: plans hold the time at
/// which they were made.
fn without_ids(text: &str) -> String {
    let hash = "x".repeat(64);
    let shapes = [
        ("$id", "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
        ("$time", "dddd-dd-ddTdd:dd:dd.dddZ"),
        ("$hash", hash.as_str()),
    ];
    let mut shown = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let found = shapes.iter().find(|(_, shape)| has_shape(rest, shape));
        let length = match found {
            Some((name, shape)) => {
                shown.push_str(name);
                shape.len()
            }
            None => {
                shown.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    shown
}

fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, shape): (u8, u8)| match shape {
        b'x' => byte.is_ascii_hexdigit(),
        b'd' => byte.is_ascii_digit(),
        _ => byte == shape,
    };
    text.len() >= shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}
