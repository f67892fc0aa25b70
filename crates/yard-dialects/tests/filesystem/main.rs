//! The toolset `filesystem` beside the server that it stands in for: the real one (npm
//! `@modelcontextprotocol/server-filesystem`, over stdio) on an identical tree. The same calls give the
//! same texts and leave the same files; where that server would corrupt a file, ours keeps it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

mod kept;
mod reference;
mod same;

use std::path::Path;

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use reference::Reference;

/// Replaces the root of either server in a text.
const ROOT: &str = "{root}";

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolResult {
    pub(crate) is_ok: bool,
    /// The text, or the structured content of what is no text.
    pub(crate) text: String,
}

/// Ours and theirs, each with a tree of its own.
pub(crate) struct Both {
    pub(crate) workspace: TestWorkspace,
    theirs: Reference,
}

impl Both {
    pub(crate) fn new() -> Self {
        let (workspace, theirs) = (TestWorkspace::new(), Reference::start());
        plant(workspace.root());
        plant(theirs.root());
        Self { workspace, theirs }
    }

    /// The same file in both trees.
    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        for root in [self.workspace.root(), self.theirs.root()] {
            put(root, path, bytes.as_ref());
        }
    }

    /// The bytes of a file: ours, theirs.
    pub(crate) fn bytes(&self, path: &str) -> (Vec<u8>, Vec<u8>) {
        let read = |root: &Path| std::fs::read(root.join(path)).unwrap();
        (read(self.workspace.root()), read(self.theirs.root()))
    }

    /// The same call to both: what ours says, what theirs says.
    pub(crate) fn call(&mut self, tool: &str, args: &Value) -> (ToolResult, ToolResult) {
        let theirs = self.theirs.call(tool, args);
        (ours(&self.workspace, tool, args), theirs)
    }

    pub(crate) fn roots(&self) -> (&Path, &Path) {
        (self.workspace.root(), self.theirs.root())
    }
}

/// A call of ours, by a caller on the same machine.
pub(crate) fn ours(workspace: &TestWorkspace, tool: &str, args: &Value) -> ToolResult {
    let root = workspace.root().to_str().unwrap();
    let session = workspace.session().showing_host_paths();
    let args = within(args, root);
    let answer = workspace.call_as(&session, "filesystem", tool, args);
    let content = &answer.body["result"]["content"];
    let text = match (answer.ok, content) {
        (false, _) => answer.body["error"].as_str().unwrap().to_owned(),
        (true, Value::String(text)) => text.clone(),
        (true, blocks) => blocks.to_string(),
    };
    ToolResult { is_ok: answer.ok, text: text.replace(root, ROOT) }
}

/// Arguments with the placeholder made a real path.
pub(crate) fn within(args: &Value, root: &str) -> Value {
    serde_json::from_str(&args.to_string().replace(ROOT, root)).unwrap()
}

pub(crate) fn put(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// The tree that both begin with.
fn plant(root: &Path) {
    let big = "0123456789abcde\n".repeat(200);
    for (path, content) in [
        ("a.txt", "one\ntwo\nthree\n"),
        ("open.txt", "one\ntwo"),
        ("empty.txt", ""),
        ("umlaut é.txt", "grün\n"),
        ("code.rs", "fn main() {\n    if x {\n        y();\n    }\n}\n"),
        ("fence.md", "text\n```\ncode\n```\n"),
        ("Big.bin", &big),
        (".hidden", "h\n"),
        ("src/lib.rs", "pub fn f() {}\n"),
        ("src/deep/er/x.rs", "x\n"),
        ("src.txt", "s\n"),
        ("node_modules/p/index.js", "p\n"),
        ("pkg/node_modules/q.js", "q\n"),
        ("logs/a.log", "l\n"),
    ] {
        put(root, path, content.as_bytes());
    }
    put(root, "pixel.png", b"\x89PNG\r\n\x1a\n\0\xff");
    put(root, "tune.MP3", b"ID3\0");
    put(root, "a b#%.dat", b"\0\x01\x02");
    std::fs::create_dir(root.join("void")).unwrap();
    std::os::unix::fs::symlink("a.txt", root.join("link.txt")).unwrap();
}

/// Every file below a folder, by its path.
pub(crate) fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            match (kind.is_dir(), path.starts_with(".toolyard")) {
                (_, true) => {}
                (true, _) => {
                    found.push((format!("{path}/"), Vec::new()));
                    folders.push(entry.path());
                }
                (false, _) if kind.is_symlink() => found.push((path, Vec::new())),
                (false, _) => found.push((path, std::fs::read(entry.path()).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn r13_who_may_not_see_the_host_sees_the_workspace_from_its_root() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/a.txt", "x\n");
    let call = |tool: &str, args: Value| workspace.call_of("filesystem", tool, args).body;
    let root = workspace.root().to_str().unwrap();
    for (tool, args, text) in [
        ("list_allowed_directories", json!({}), "Allowed directories:\n/"),
        ("search_files", json!({"path": "/", "pattern": "**/*.txt"}), "/src/a.txt"),
        ("read_text_file", json!({"path": "/src/a.txt"}), "x\n"),
        ("read_text_file", json!({"path": "src/a.txt"}), "x\n"),
        ("read_text_file", json!({"path": format!("{root}/src/a.txt")}), "x\n"),
    ] {
        assert_eq!(call(tool, args)["result"]["content"], text);
    }
    for path in ["/none", "/src", "../x", "out"] {
        let body = call("read_text_file", json!({"path": path}));
        assert_eq!(body["success"], false);
        assert!(!body.as_str().contains(root), "{body}");
    }
}
