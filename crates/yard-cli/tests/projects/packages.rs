//! Where the packages come from. On an ordinary machine an index has a public address, and a person's yes is all
//! that an install needs. On a test machine its name may lead to a private address, which is refused: then that
//! host is exempted. Which one that is, the box says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::person::Person;
use crate::workspace::{Door, Opening, Workspace};

/// An index and its files are on two hosts; no client needs more than a few.
const MAX_HOSTS: usize = 6;

/// Exempts the hosts that a command in a folder, which changes nothing there, asks for and that are refused.
pub(crate) fn exempt_refused_hosts(person: &Person, folder: &Path, command: &str) {
    let mut exempt: Vec<String> = Vec::new();
    for _ in 0..MAX_HOSTS {
        // What is tried here leaves nothing behind for the workspace of the test.
        let data = tempfile::tempdir().unwrap();
        fs::set_permissions(data.path(), fs::Permissions::from_mode(0o700)).unwrap();
        person.own(data.path());
        configure(person, data.path(), &exempt);
        let opening = Opening { door: Door::Stdio, toolset: "codex", policy: "open" };
        let mut workspace = Workspace::open_as(person, folder, data.path(), opening);
        let answer = workspace.call("shell", &shell(command));
        let message = answer["message"].as_str().unwrap_or_default();
        let refused = refused_hosts(message);
        if refused.is_empty() {
            assert_eq!(answer["returncode"], 0, "{command}: {answer}");
            break;
        }
        exempt.extend(refused);
    }
    configure(person, &person.data(), &exempt);
}

/// The arguments of a command of `codex`.
pub(crate) fn shell(command: &str) -> Value {
    json!({"command": command, "workdir": null, "timeout_ms": 600_000})
}

fn configure(person: &Person, data: &Path, exempt: &[String]) {
    if !exempt.is_empty() {
        person.put(data, "toolyard.toml", &format!("[web]\nexempt = {exempt:?}\n"));
    }
}

/// The `host:port` pairs that an answer says were refused.
fn refused_hosts(message: &str) -> Vec<String> {
    let Some((_, rest)) = message.split_once("hosts that were refused: ") else {
        return Vec::new();
    };
    let places = rest.split([' ', ',']).filter(|word| {
        let port = word.rsplit_once(':').map(|(_, port)| port);
        port.is_some_and(|port| port.parse::<u16>().is_ok())
    });
    places.map(str::to_owned).collect()
}
