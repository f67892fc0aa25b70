//! Which programs commands of a server find: those of the service's PATH, or of `[commands] path`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

/// A program in a folder that says a word.
fn program(folder: &Path, name: &str, says: &str) {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\necho {says}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn shell(someone: &Someone<'_>, workspace: &str, command: &str) -> Value {
    let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000});
    let body = json!({"toolset": "codex", "tool": "shell", "args": args});
    let answer = someone.post(&format!("/api/v1/workspaces/{workspace}/tools"), body).expect(200);
    answer["result"].clone()
}

#[test]
fn commands_find_the_programs_of_the_configured_path_and_not_of_the_services() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    let (tools, service) = (root.join("tools"), root.join("service"));
    program(&tools, "tool-of-the-path", "found");
    program(&service, "tool-of-the-service", "service");
    let service_path = format!("{}:/usr/bin:/bin", service.display());
    let ask = "command -v tool-of-the-path tool-of-the-service; tool-of-the-path; echo $PATH";
    let run = |variables: &[(&str, &str)]| {
        let server = Server::start_with(variables);
        let ada = server.person();
        let workspace = ada.workspace();
        let result = shell(&ada.agent(&workspace, "member"), &workspace, ask);
        result["stdout"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    };

    let path = format!("[{:?}, {:?}]", tools.to_str().unwrap(), "/usr/bin");
    let configured = run(&[("PATH", &service_path), ("TOOLYARD__COMMANDS__PATH", path.as_str())]);
    let tools = tools.display();
    let lines: Vec<&str> = configured.lines().collect();
    assert_eq!(lines[..2], [&format!("{tools}/tool-of-the-path"), "found"], "{configured}");
    assert!(lines[2].starts_with(&format!("{tools}:/usr/bin:")), "{configured}");
    assert!(lines[2].contains("/bin") && !configured.contains("service"), "{configured}");

    let own = run(&[("PATH", &service_path)]);
    let service = service.display();
    assert!(own.starts_with(&format!("{service}/tool-of-the-service\n")), "{own}");
}

#[test]
fn a_path_that_no_box_can_have_is_refused_at_the_start() {
    let temp = tempfile::tempdir().unwrap();
    for (path, why) in [("['bin']", "bin"), ("['/a:b']", "/a:b")] {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        serve.env_clear().env("TOOLYARD__COMMANDS__PATH", path);
        serve
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(temp.path().join("data"));
        let output = serve.output().unwrap();
        let answer = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{answer}");
        assert!(answer.contains("commands.path") && answer.contains(why), "{answer}");
    }
}
