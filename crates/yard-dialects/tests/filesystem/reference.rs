//! The reference server itself: installed once below `target/`, spoken to by raw JSON-RPC.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{ROOT, ToolResult, within};

const PACKAGE: &str = "@modelcontextprotocol/server-filesystem@2026.8.31";
const ENTRY: &str = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";

pub(crate) struct Reference {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    root: TempDir,
    next: u64,
}

/// The server's program; it stays between runs.
fn installed() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let kept = tmp.join("reference-filesystem");
    if !kept.join(ENTRY).exists() {
        // Tests run side by side: each installs on its own, and the first one stays.
        let own = tmp.join(format!("reference-filesystem-{}", std::process::id()));
        std::fs::create_dir_all(&own).unwrap();
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", PACKAGE, "--prefix"]).arg(&own);
        let output = npm.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        if std::fs::rename(&own, &kept).is_err() {
            std::fs::remove_dir_all(&own).unwrap();
        }
    }
    kept.join(ENTRY)
}

impl Reference {
    pub(crate) fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut node = Command::new("node");
        node.arg(installed()).arg(root.path()).env("TZ", "UTC");
        node.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = node.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, stdin, stdout, root, next: 0 };
        let client = json!({"name": "test", "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        server.ask("initialize", hello);
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
        self.stdin.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    }

    /// Every tool with its schema.
    pub(crate) fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", json!({}))["tools"].as_array().unwrap().clone()
    }

    pub(crate) fn call(&mut self, tool: &str, args: &Value) -> ToolResult {
        let root = self.root.path().to_str().unwrap().to_owned();
        let params = json!({"name": tool, "arguments": within(args, &root)});
        let result = self.ask("tools/call", params);
        let is_ok = result["isError"] != true;
        let text = match &result["content"][0]["text"] {
            Value::String(text) => text.clone(),
            _ => result["structuredContent"]["content"].to_string(),
        };
        ToolResult { is_ok, text: text.replace(&root, ROOT) }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
