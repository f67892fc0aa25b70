//! `toolyard ports`: what an agent's program in a terminal of `toolyard mcp` listens on, in the person's browser,
//! which is a socket of this test. The servers are Python's and vite's.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, Setup, text, toolyard};

const VITE: &str = "vite@6.4.6";
const PATIENCE: Duration = Duration::from_secs(30);

/// `toolyard ports`, as a person runs it.
struct Ports {
    process: Child,
    lines: Receiver<String>,
}

impl Drop for Ports {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Ports {
    fn start(setup: &Setup) -> Self {
        let mut command = toolyard(setup.data.path());
        let mut process = command.arg("ports").stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self { process, lines }
    }

    /// The next line that says this.
    fn says(&self, wanted: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {wanted}"));
            if line.contains(wanted) {
                return line;
            }
        }
    }

    /// Where a port was opened, as host and port.
    fn opens(&self, port: u16) -> String {
        let line = self.says(&format!("port {port} of terminal"));
        let address = line.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
        address.unwrap_or_else(|| panic!("{line}")).0.to_owned()
    }
}

fn open(client: &Client, name: &str, command: &str, port: u16) {
    let arguments = json!({"session_id": name, "cmd": command, "workdir": null});
    let mut output = text(&client.call("exec_command", arguments));
    let until = Instant::now() + PATIENCE;
    while !output.contains(&format!("port {port}")) {
        assert!(Instant::now() < until, "port {port} is not named: {output}");
        output = text(&client.call("write_stdin", json!({"session_id": name, "chars": ""})));
    }
}

/// A request of the browser; the whole answer.
fn get(address: &str, path: &str) -> String {
    let mut line = TcpStream::connect(address).unwrap();
    line.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        line,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    line.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn is_refused(address: &str) -> bool {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if TcpStream::connect(address).is_err() {
            return true;
        }
        thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
fn a_file_server_in_a_terminal_opens_in_the_persons_browser_and_is_closed_with_it() {
    let setup = Setup::new();
    setup.put("page.txt", "the page\n");
    let client = setup.connect(&["--toolset", "codex", "--policy", "open"]);
    let ports = Ports::start(&setup);
    ports.says("No program in a terminal listens on a port yet");
    open(&client, "files", "python3 -m http.server 8123 --bind 127.0.0.1", 8_123);
    let address = ports.opens(8_123);
    assert!(address.starts_with("127.0.0.2:"), "an address that is no other server's: {address}");
    let page = get(&address, "/page.txt");
    assert!(page.starts_with("HTTP/1.0 200") && page.ends_with("the page\n"), "{page}");
    let listed: Value = serde_json::from_str(&setup.person(&["ports", "--json"])).unwrap();
    assert_eq!(listed["ports"][0]["port"], 8_123, "{listed}");
    assert_eq!(listed["ports"][0]["terminal"], "files", "{listed}");
    assert!(setup.person(&["ports", "--list"]).contains("python3 -m http.server"), "as a table");
    client.text_of("kill_session", json!({"session_id": "files"}));
    ports.says("closed: port 8123");
    assert!(is_refused(&address), "closed with its terminal");
    open(&client, "files", "python3 -m http.server 8124 --bind 127.0.0.1", 8_124);
    let address = ports.opens(8_124);
    drop(ports);
    assert!(is_refused(&address), "closed with the command that opened it");
    assert_eq!(client.leave(), Some(0));
    assert!(!setup.person(&["ports", "--list"]).contains("8124"), "gone with the agent");
}

/// A folder with vite in it, installed once.
fn with_vite() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vite");
    let finished = folder.join("finished");
    if !finished.exists() {
        fs::create_dir_all(&folder).unwrap();
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--silent", VITE, "--prefix"]).arg(&folder);
        assert!(npm.stdout(Stdio::null()).status().unwrap().success(), "{npm:?}");
        fs::write(finished, "").unwrap();
    }
    folder
}

/// Asks for a web socket as a page of that address does, and leaves the connection open.
fn web_socket(address: &str, path: &str) -> TcpStream {
    let mut line = TcpStream::connect(address).unwrap();
    line.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        line,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: vite-hmr\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .unwrap();
    line
}

/// Reads from a connection until it said this.
fn hears(line: &mut TcpStream, wanted: &str) -> String {
    let (mut heard, mut piece) = (String::new(), [0; 4_096]);
    while !heard.contains(wanted) {
        let count = line.read(&mut piece).unwrap_or_else(|error| panic!("{error}: {heard}"));
        assert!(count > 0, "{wanted} never came: {heard}");
        heard.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
    heard
}

#[test]
fn a_page_of_vite_is_served_with_the_web_socket_that_reloads_it() {
    let setup = Setup::new();
    setup.put("index.html", "<script type=\"module\" src=\"/main.js\"></script>\n");
    setup.put("main.js", "document.title = 'one'\n");
    setup.put("package.json", "{\"type\": \"module\"}\n");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(with_vite().join("node_modules"))
        .arg(setup.root.path())
        .status();
    assert!(copied.unwrap().success());
    let client = setup.connect(&["--toolset", "codex", "--policy", "open"]);
    open(&client, "dev", "node node_modules/vite/bin/vite.js --port 5199 --strictPort", 5_199);
    let inside = client.text_of(
        "shell",
        json!({"command": "curl -sS http://localhost:5199/main.js", "workdir": null, "timeout_ms": 20_000}),
    );
    assert!(inside.contains("document.title = 'one'"), "a second command of the chat: {inside}");
    let ports = Ports::start(&setup);
    let address = ports.opens(5_199);
    assert!(get(&address, "/").contains("/@vite/client"));
    let script = get(&address, "/@vite/client");
    let token =
        script.split("wsToken = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert!(get(&address, "/main.js").contains("document.title = 'one'"));
    let mut socket = web_socket(&address, &format!("/?token={token}"));
    let output = hears(&mut socket, "\"type\":\"connected\"");
    assert!(output.starts_with("HTTP/1.1 101 "), "{output}");
    client.text_of("apply_patch_freeform", json!({
        "patch": "*** Begin Patch\n*** Update File: main.js\n@@\n-document.title = 'one'\n+document.title = 'two'\n\
                  *** End Patch\n"
    }));
    hears(&mut socket, "full-reload");
    assert!(get(&address, "/main.js").contains("document.title = 'two'"));
    client.text_of("kill_session", json!({"session_id": "dev"}));
    ports.says("closed: port 5199");
    // The end of the terminal is the end of its connections.
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
}
