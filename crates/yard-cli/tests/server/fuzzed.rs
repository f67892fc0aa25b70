//! schemathesis (PyPI) over `/openapi.json`: no 5xx, and no answer outside of what the document says. It
//! lives in a virtual environment of its own, which stays between runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

const PACKAGE: &str = "schemathesis==4.32.5";
const SEED: &str = "20240229";
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance";
/// What would end the run: the caller's login, and the workspace that everything is tried on. An open
/// stream of events never ends.
const LEFT_OUT: [&str; 5] = [
    "delete_auth_logins_login_id",
    "post_auth_logout",
    "delete_workspaces_id",
    "delete_workspaces_id_members_user_id",
    "get_workspaces_id_events",
];

/// How much is tried.
struct Effort {
    /// Examples for each route.
    each: u32,
    /// Examples for the tools, of which there are many behind one route.
    tools: u32,
    /// Seconds for all of it.
    seconds: &'static str,
}

fn effort() -> Effort {
    if std::env::var_os("YARD_SOAK").is_some() {
        Effort { each: 200, tools: 2_000, seconds: "600" }
    } else {
        Effort { each: 20, tools: 200, seconds: "60" }
    }
}

/// The program, installed if it is not there.
fn schemathesis() -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(PACKAGE.replace("==", "-"));
    let program = home.join("bin/st");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
        let mut pip = Command::new(home.join("bin/pip"));
        run(pip.args(["install", "--quiet", "--disable-pip-version-check", PACKAGE]));
    }
    program
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}\n{complained}");
}

/// Ids of things that are there, so that not every guess ends at the door. The step is another file's, so
/// that undoing it leaves the file.
fn configuration(ada: &Someone<'_>, workspace: &str, effort: &Effort) -> String {
    let write = |path: &str| {
        let written = json!({"path": path, "content": "one\ntwo\n"});
        ada.tool(workspace, "write", written).expect(200)["result"].clone()
    };
    let (file, _) = (write("/a.txt"), write("/b.txt"));
    let base = format!("/api/v1/workspaces/{workspace}");
    let steps = ada.get(&format!("{base}/steps")).expect(200);
    let chat = ada.post(&format!("{base}/chats"), json!({"title": "Chat"})).expect(201);
    let question = json!({"name": "a", "question": "?", "schema": {"type": "string"}});
    let asked = ada.tool(workspace, "ask_user", json!({"questions": [question]})).expect(200);
    let ids = [
        ("id", &json!(workspace)),
        ("file_id", &file["file_id"]),
        ("version_id", &file["version_id"]),
        ("step_id", &steps["steps"][0]["id"]),
        ("user_id", &json!(ada.id)),
        ("chat_id", &chat["chat"]["id"]),
        ("question_id", &asked["result"]["question_id"]),
    ];
    // A JSON string is a TOML string.
    let line = |(name, id): &(&str, &Value)| format!("\"path.{name}\" = {id}\n");
    let ids: String = ids.iter().map(line).collect();
    let Effort { each, tools, .. } = effort;
    format!(
        "[parameters]\n{ids}\n\
         [generation]\nmax-examples = {each}\n\n\
         [[operations]]\ninclude-operation-id = \"post_workspaces_id_tools\"\n\
         phases.fuzzing.generation.mode = \"positive\"\n\
         phases.fuzzing.generation.max-examples = {tools}\n"
    )
}

#[test]
fn no_answer_is_outside_of_the_document() {
    let program = schemathesis();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("schemathesis.toml");
    let server = Server::start_with(&[("TOOLYARD__JWT__ACCESS_TOKEN_EXPIRATION_MINUTES", "60")]);
    let ada = server.person();
    let workspace = ada.workspace();
    let effort = effort();
    std::fs::write(&config, configuration(&ada, &workspace, &effort)).unwrap();
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server");
    let mut fuzz = Command::new(program);
    fuzz.current_dir(folder.path()).env("PYTHONPATH", hooks).env("PYTHONDONTWRITEBYTECODE", "1");
    fuzz.env("SCHEMATHESIS_HOOKS", "fuzz_hooks").arg("--config-file").arg(&config).arg("run");
    fuzz.arg(format!("http://{}/openapi.json", server.address));
    fuzz.args(["--header", &format!("Authorization: Bearer {}", ada.token)]);
    fuzz.args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--no-color"]);
    fuzz.args(["--max-time", effort.seconds, "--seed", SEED, "--generation-database", "none"]);
    fuzz.args(["--request-timeout", "30", "--warnings", "off"]);
    for operation in LEFT_OUT {
        fuzz.args(["--exclude-operation-id", operation]);
    }
    run(&mut fuzz);
    ada.get(&format!("/api/v1/workspaces/{workspace}")).expect(200);
}
