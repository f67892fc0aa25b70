//! The real git, for tests that compare with it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::trees::Tree;

/// A folder with a git that knows nothing of the machine.
pub struct Git {
    home: TempDir,
}

impl Default for Git {
    fn default() -> Self {
        Self::new()
    }
}

impl Git {
    /// An empty folder.
    pub fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a temporary folder") }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.home.path()
    }

    /// A git that is not started yet.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(self.folder())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", self.folder().parent().unwrap())
            .args(["-c", "core.autocrlf=false", "-c", "core.quotepath=true"])
            .args(args);
        command
    }

    /// Runs git on an input; what it printed, or what it complained of.
    pub fn run(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("git is there");
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(output.stdout) } else { Err(words) }
    }
}

fn quoted(name: &str) -> String {
    let escaped: String = name.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    format!("\"{escaped}\"")
}

/// Adds a commit of a tree to what `git fast-import` reads.
pub fn commit(stream: &mut Vec<u8>, branch: &str, tree: &Tree) {
    let head = format!(
        "commit refs/heads/{branch}\ncommitter t <t@example.org> 0 +0000\ndata 0\ndeleteall\n"
    );
    stream.extend(head.as_bytes());
    for (name, file) in tree {
        let mode = if file.executable { "100755" } else { "100644" };
        let length = file.text.len();
        let head = format!("M {mode} inline {}\ndata {length}\n", quoted(name));
        stream.extend(head.as_bytes());
        stream.extend(file.text.as_bytes());
        stream.push(b'\n');
    }
}
