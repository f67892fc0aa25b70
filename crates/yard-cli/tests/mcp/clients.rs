//! Real clients: the Python SDK in both revisions over both transports, the inspector, and an agent of
//! Pydantic AI whose model is a script. What they need is installed below the target folder.

use std::path::Path;
use std::process::Command;

/// Runs a script of this folder with the binary and a place for what it installs.
fn run(program: &str, script: &str, more: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-clients");
    std::fs::create_dir_all(&scratch).unwrap();
    let mut command = Command::new(program);
    command.arg(folder.join(script)).arg(env!("CARGO_BIN_EXE_toolyard")).arg(&scratch).args(more);
    let done = command.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    let complained = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{script}\n{text}\n{complained}");
}

#[test]
fn the_python_client_has_a_whole_session_on_stdio() {
    run("python3", "session.py", &["stdio"]);
}

#[test]
fn the_python_client_has_a_whole_session_over_http() {
    run("python3", "session.py", &["http"]);
}

#[test]
fn doors_are_closed_to_whom_they_should_be() {
    run("python3", "session.py", &["doors"]);
}

#[test]
fn the_inspector_lists_calls_and_finds_no_fault_in_any_schema() {
    run("bash", "inspector.sh", &[]);
}

#[test]
fn an_agent_of_a_framework_edits_a_project() {
    run("python3", "agent.py", &[]);
}
