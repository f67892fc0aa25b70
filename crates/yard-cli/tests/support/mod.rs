//! The binary on a root and a data folder of its own.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A root, a data folder, and the binary to run on them.
pub(crate) struct TestWorkspace {
    pub(crate) temp: TempDir,
}

impl TestWorkspace {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("root")).unwrap();
        Self { temp }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().join("root")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.temp.path().join("data")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    /// The binary with nothing of this machine in its environment.
    pub(crate) fn bare(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command.env_clear().env("HOME", self.temp.path().join("home")).env("TZ", "UTC");
        command.current_dir(self.temp.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare();
        command.arg("--root").arg(self.root()).arg("--data-dir").arg(self.data()).args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that has read enough closes the pipe: that is its right.
        let _ = child.stdin.take().unwrap().write_all(input);
        Ran::from(child.wait_with_output().unwrap())
    }

    /// Calls a tool that must succeed; its result.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        let ran = self.run(&["call", tool, &arguments.to_string()]);
        assert_eq!(ran.exit, 0, "{tool}: {}{}", ran.stdout, ran.stderr);
        let mut envelope = ran.json();
        assert_eq!(envelope["success"], true);
        assert_eq!(envelope["error"], Value::Null);
        envelope["result"].take()
    }

    /// Calls a tool that must fail; its envelope.
    pub(crate) fn refused(&self, tool: &str, arguments: Value) -> Value {
        let ran = self.run(&["call", tool, &arguments.to_string()]);
        assert_eq!(ran.exit, 1, "{tool}: {}", ran.stdout);
        let envelope = ran.json();
        assert_eq!(envelope["success"], false);
        assert!(envelope["error"].as_str().is_some_and(|message| !message.is_empty()));
        envelope
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        self.call("write", json!({"path": path, "content": content, "overwrite": true}));
    }

    /// A command with `--json` that must succeed.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.exit, 0, "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        ran.json()
    }

    /// Says yes to a request as it is now; the request afterwards.
    pub(crate) fn approve(&self, id: &str) -> Value {
        let state = self.shown_state(id);
        self.json(&["approve", id, "--yes", "--state", &state])
    }

    /// The state of a request, as it is shown now.
    pub(crate) fn shown_state(&self, id: &str) -> String {
        self.json(&["approve", id])["state_hash"].as_str().unwrap().to_owned()
    }

    /// Steps, newest first.
    pub(crate) fn steps(&self, path: Option<&str>) -> Vec<Value> {
        let arguments: Vec<&str> = ["history"].into_iter().chain(path).collect();
        self.json(&arguments)["steps"].as_array().unwrap().clone()
    }

    pub(crate) fn newest_step(&self) -> String {
        self.steps(None)[0]["id"].as_str().unwrap().to_owned()
    }

    /// The folder that keeps this root's history.
    pub(crate) fn state(&self) -> PathBuf {
        let entries = fs::read_dir(self.data().join("workspaces")).unwrap();
        let folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(folders.len(), 1);
        folders[0].clone()
    }
}

/// What a run of the binary came to.
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            exit: output.status.code().expect("no signal ended it"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// The one line of JSON on standard output.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{:?} {}", self.stdout, self.stderr);
        serde_json::from_str(&self.stdout).unwrap()
    }
}
