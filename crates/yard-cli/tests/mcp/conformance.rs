//! The official conformance suite against a real server on loopback: house, registry, store, kernel, gate,
//! catalog, HTTP door and MCP door are Toolyard's own; only one toolset and its extension are the suite's. In
//! process, because the binary has no such toolset. What it needs is installed below the target folder.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;

use serde_json::json;
use tempfile::TempDir;
use yard_core::{Limits, Result, World};
use yard_disk::Resolution;
use yard_gate::admin::{AuthConfig, NewPerson, NewWorkspace, Opener, Server};
use yard_gate::registry::WorkspaceRow;
use yard_gate::{OpenWorkspace, TranscriptFiles};
use yard_kernel::{Opening, Workspace};
use yard_server::{App, BoundServer, ServerSettings};
use yard_store::{SqliteRegistry, SqliteStore};
use yard_testkit::RealWorld;

use crate::conformance_extension::Fixture;
use crate::conformance_tools::{TOOLSET, catalog};

const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const NODE: &str = "node@22";

/// Workspaces below a folder, where no command runs.
struct Rooms(PathBuf);

impl Opener for Rooms {
    fn admit_folder(&self, folder: &str) -> Result<String> {
        Ok(folder.to_owned())
    }

    fn overlap(&self, one: &str, other: &str) -> bool {
        one == other
    }

    fn open(&self, row: &WorkspaceRow) -> Result<Arc<OpenWorkspace>> {
        let (root, state_dir) = (self.0.join("root"), self.0.join("state"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&state_dir).unwrap();
        assert_eq!(row.folder, None);
        let store = Arc::new(SqliteStore::open(&state_dir).unwrap());
        let workspace = Workspace::open(Opening {
            root: root.canonicalize().unwrap(),
            state_dir,
            store: Arc::clone(&store) as _,
            limits: Limits::default(),
            world: Arc::new(RealWorld),
            probe: None,
            resolution: Resolution::Auto,
            virtual_files: Some(TranscriptFiles::new(Arc::clone(&store) as _)),
            boxed: None,
        })?;
        Ok(OpenWorkspace::new(Arc::new(workspace), store, yard_dialects::CALLER_HINTS))
    }
}

/// A server that ends with the test: its address, a workspace, and a person's token. A key would not do:
/// what the client says that a person said counts only with that person's token.
fn served(home: &Path) -> (SocketAddr, String, String) {
    let world: Arc<dyn World> = Arc::new(RealWorld);
    let registry = Arc::new(SqliteRegistry::open(&home.join("people")).unwrap());
    let rules = AuthConfig {
        secret: vec![7; 32],
        access_minutes: 60,
        refresh_days: 1,
        open_registration: true,
    };
    let house = Server::new(registry, Box::new(Rooms(home.join("room"))), world, rules).unwrap();
    let person = NewPerson {
        email: "ada@example.com".to_owned(),
        password: "correct horse battery staple".to_owned(),
        confirm_password: None,
        full_name: None,
    };
    house.register(&person, "127.0.0.1").unwrap();
    let login = house.log_in(&person.email, &person.password, "127.0.0.1", None).unwrap();
    let identity = house.identify(&login.access_token).unwrap();
    let wanted = NewWorkspace { name: "Work".to_owned(), folder: None };
    let workspace = house.add_workspace(&identity, &wanted).unwrap();

    let app = App::new(house, catalog(), ServerSettings::default(), Some(Arc::new(Fixture)));
    let listening = BoundServer::at(([127, 0, 0, 1], 0).into()).unwrap();
    let address = listening.address;
    thread::spawn(move || yard_server::serve(listening, app, std::future::pending::<()>));
    (address, workspace.id.to_string(), login.access_token)
}

/// The suite and a Node that it runs on, which stay between runs; tests run beside each other.
fn installed() -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lock = File::create(home.join("conformance.lock")).unwrap();
    lock.lock().unwrap();
    let home = home.join("conformance");
    let done = home.join(format!("{SUITE} {NODE}").replace('/', " "));
    if !done.exists() {
        fs::create_dir_all(&home).unwrap();
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", SUITE, NODE, "--prefix"]).arg(&home);
        let ran = npm.output().unwrap();
        assert!(ran.status.success(), "{}", output_text(&ran));
        fs::write(done, "").unwrap();
    }
    home.join("node_modules")
}

fn output_text(ran: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&ran.stdout) + &text(&ran.stderr)
}

/// Adds the token, which the suite cannot send.
struct Proxy {
    child: Child,
    url: String,
}

impl Proxy {
    fn start(node: &Path, target: &str, token: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/conformance_proxy.mjs");
        let mut command = Command::new(node);
        command.arg(script).arg(target).env("TOOLYARD_TOKEN", token);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, url: line.trim().to_owned() }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything that a revision requires, on its own wire. What it does not score runs as well and fails
/// nothing.
fn conforms(revision: &str, scenarios: usize) {
    let (home, results) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let modules = installed();
    let node = modules.join("node/bin/node");
    let (address, workspace, token) = served(home.path());
    let target = format!("http://{address}/mcp/{workspace}?toolset={TOOLSET}");
    let proxy = Proxy::start(&node, &target, &token);
    let mut suite = Command::new(&node);
    suite.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
    suite.args(["server", "--url", &proxy.url, "--requirements", revision]);
    suite.arg("--output-dir").arg(results.path()).current_dir(results.path());
    let ran = suite.output().unwrap();
    let printed = output_text(&ran);
    assert!(ran.status.success(), "{printed}");
    // A suite that finds nothing to ask finds no fault either.
    assert_eq!(passed(&printed), scenarios, "{printed}");
}

/// How many scenarios passed that count.
fn passed(printed: &str) -> usize {
    let (_, summary) = printed.split_once("=== SUMMARY ===").unwrap_or_default();
    let (scored, others) = summary.split_once("Not scored").unwrap_or((summary, ""));
    let count = |text: &str| text.lines().filter(|line| line.trim().starts_with('✓')).count();
    count(scored) - count(others)
}

#[test]
fn the_conformance_suite_finds_all_that_2025_11_25_requires() {
    conforms("2025-11-25", 30);
}

#[test]
fn the_conformance_suite_finds_all_that_2026_07_28_requires() {
    conforms("2026-07-28", 37);
}

/// What a request without a session is answered with, whatever its status.
fn answered(url: &str, token: &str, method: &str) -> String {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"_meta": meta, "level": "info"});
    let request = agent
        .post(url)
        .header("Authorization", format!("Bearer {token}"))
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", method);
    let sent = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    request.send_json(sent).unwrap().body_mut().read_to_string().unwrap()
}

#[test]
fn extras_are_for_their_own_toolset_alone() {
    let home = TempDir::new().unwrap();
    let (address, workspace, token) = served(home.path());
    let ask = |toolset: &str, method: &str| {
        let url = format!("http://{address}/mcp/{workspace}?toolset={toolset}");
        answered(&url, &token, method)
    };
    let lists = [
        ("prompts/list", "\"review\"", "test_simple_prompt"),
        ("resources/list", "toolyard://history", "test://static-text"),
        ("resources/templates/list", "toolyard://diff", "test://template"),
    ];
    for (method, ours, theirs) in lists {
        let (own, other) = (ask(TOOLSET, method), ask("filesystem", method));
        assert!(own.contains(ours) && own.contains(theirs), "{method}: {own}");
        assert!(other.contains(ours) && !other.contains(theirs), "{method}: {other}");
    }
    for toolset in [TOOLSET, "filesystem"] {
        let printed = ask(toolset, "logging/setLevel");
        assert!(printed.contains("-32601"), "{toolset}: {printed}");
    }
}
