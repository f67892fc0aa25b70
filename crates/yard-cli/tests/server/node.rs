//! The spec's TypeScript client (`client.ts`), compiled with every check and run on Node.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::Server;

const TYPESCRIPT: &str = "typescript@5.9.3";

/// Where programs that a test installs stay between runs.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("node")
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}{complained}");
    text
}

/// The client as JavaScript.
fn compiled(into: &Path) -> PathBuf {
    let compiler = kept().join("node_modules/typescript/bin/tsc");
    if !compiler.exists() {
        std::fs::create_dir_all(kept()).unwrap();
        let mut npm = Command::new("npm");
        run(npm.args(["install", "--no-audit", "--no-fund", TYPESCRIPT, "--prefix"]).arg(kept()));
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/client.ts");
    let mut tsc = Command::new("node");
    tsc.arg(compiler).args(["--strict", "--target", "es2022", "--module", "commonjs"]);
    run(tsc.args(["--lib", "es2022,dom", "--outDir"]).arg(into).arg(source));
    into.join("client.js")
}

#[test]
fn the_typescript_client_on_node() {
    let folder = tempfile::tempdir().unwrap();
    let client = compiled(folder.path());
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    for path in ["/documents/report.md", "/notes/thoughts.md", "/notes/old-file.md"] {
        ada.tool(&workspace, "write", json!({"path": path, "content": path})).expect(200);
    }
    ada.tool(&workspace, "mkdir", json!({"path": "/docs"})).expect(200);

    let base = format!("http://{}", server.address);
    let text = run(Command::new("node").arg(client).args([&base, &ada.token, &workspace]));
    let answer: Value = serde_json::from_str(&text).unwrap();
    for call in ["ls", "read", "write", "rm", "mv", "touch"] {
        assert_eq!(answer[call]["success"], true, "{call}: {answer}");
        assert_eq!(answer[call]["error"], Value::Null, "W1");
    }
    assert_eq!(answer["ls"]["result"]["entries"][0]["name"], "report.md");
    assert_eq!(answer["read"]["result"]["content"], "/notes/thoughts.md");
    assert_eq!(answer["mv"]["result"]["to_path"], "/docs/thoughts.md");
    let written = ada.tool(&workspace, "read", json!({"path": "/notes/new-file.md"})).expect(200);
    assert_eq!(written["result"]["content"], "Hello from Tools API!");
    let words = |name: &str| answer[name].as_str().unwrap().to_owned();
    assert!(words("missing").contains("/notes/thoughts.md"), "{answer}");
    assert!(words("exists").starts_with("Validation failed"), "{answer}");
    assert!(words("unknown").starts_with("Tool 'invalid_tool' not found"), "{answer}");
    assert!(!words("stranger").is_empty());
}
