//! A home full of secrets: nothing of them is in the box, whichever toolchains it shows, for a command or for the
//! install script of a package that means harm.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::canaries::{CANARY, SEARCH, VARIABLES, files_with_canary, furnish};
use crate::support::{Ran, TestWorkspace};

fn home(workspace: &TestWorkspace) -> PathBuf {
    workspace.temp.path().join("home")
}

fn furnished() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    furnish(&home(&workspace));
    workspace
}

/// A call by a person whose PATH leads into their home, and whose environment is full of secrets.
fn call(workspace: &TestWorkspace, tool: &str, args: &Value) -> Value {
    let folders = [".cargo/bin", ".local/bin", "bin", "miniconda3/bin", "."];
    let own = folders.map(|folder| home(workspace).join(folder)).into_iter();
    let path =
        std::env::join_paths(own.chain(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from)));
    let mut call = workspace.command(&["call", "--toolset", "codex", tool, &args.to_string()]);
    call.env("PATH", path.unwrap());
    call.envs(VARIABLES.map(|name| (name, format!("{CANARY}-in-{name}"))));
    call.env("SSH_AUTH_SOCK", home(workspace).join("bin/agent.sock"));
    let ran = Ran::from(call.output().unwrap());
    assert_eq!(ran.exit, 0, "{args}: {}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains(CANARY), "{}", ran.stderr);
    ran.json()["result"].clone()
}

fn shell(workspace: &TestWorkspace, command: &str) -> Value {
    call(workspace, "shell", &json!({"command": command, "workdir": null, "timeout_ms": 120_000}))
}

#[test]
fn a_command_finds_none_of_them() {
    let workspace = furnished();
    let result = shell(&workspace, SEARCH);
    assert_eq!(result["stdout"], "searched\n", "{result}");
    // The search itself finds what is there.
    fs::write(workspace.file("planted"), CANARY).unwrap();
    let planted = shell(&workspace, SEARCH)["stdout"].as_str().unwrap().to_owned();
    assert!(planted.contains("FOUND") && planted.contains("planted"), "{planted}");
}

#[test]
fn a_secret_that_came_after_the_first_command_is_not_there_either() {
    let workspace = furnished();
    shell(&workspace, "true");
    let late = home(&workspace).join(".nvm/versions/node/v23/etc/npmrc");
    fs::create_dir_all(late.parent().unwrap()).unwrap();
    fs::write(late, CANARY).unwrap();
    assert_eq!(shell(&workspace, SEARCH)["stdout"], "searched\n");
}

#[test]
fn the_install_script_of_a_package_finds_none_of_them() {
    let workspace = furnished();
    let package = workspace.file("package");
    fs::create_dir(&package).unwrap();
    let script = json!({"name": "harm", "version": "1.0.0", "scripts": {"postinstall": "sh search.sh > found"}});
    fs::write(package.join("package.json"), script.to_string()).unwrap();
    fs::write(package.join("search.sh"), SEARCH).unwrap();
    let install = "npm pack --silent ./package >/dev/null && mkdir app && cd app && echo '{}' > package.json && \
                   npm install --silent --offline ../harm-1.0.0.tgz; cat node_modules/harm/found";
    let result = shell(&workspace, install);
    assert_eq!(result["stdout"], "searched\n", "{result}");
}

#[test]
fn nobody_outside_answers_on_a_socket_of_the_persons() {
    let workspace = furnished();
    let _agent = UnixListener::bind(home(&workspace).join("bin/agent.sock")).unwrap();
    let dial = format!(
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{}')\" 2>&1 | tail -1; env | grep SOCK",
        home(&workspace).join("bin/agent.sock").display()
    );
    let result = shell(&workspace, &dial);
    let text = result["stdout"].as_str().unwrap();
    assert!(text.contains("Error") && !text.contains("SSH_AUTH_SOCK"), "{result}");
}

#[test]
fn a_terminal_finds_none_of_them_and_nothing_that_is_kept_holds_one() {
    let workspace = furnished();
    // The search is in a file, so that the terminal does not show its words.
    fs::write(workspace.file("search.sh"), SEARCH).unwrap();
    // A look at a terminal ends after ten seconds, and with it this call: on a machine that is busy it is made again.
    let answer = (0..6).map(|_| {
        let args = json!({"session_id": "t", "cmd": "sh search.sh 2>/dev/null", "workdir": null});
        call(&workspace, "exec_command", &args)
    });
    let answer = answer.into_iter().find(|answer| answer["state"] == "ended").unwrap();
    assert_eq!(answer["output"], "searched\r\n", "{answer}");
    // The same in what was kept: history, audit chain, outputs, homes and caches.
    assert_eq!(shell(&workspace, SEARCH)["stdout"], "searched\n");
    let long = format!("seq 200000; {SEARCH}; env");
    let answer = shell(&workspace, &long);
    assert_eq!(answer["stdout_truncated"], true, "{answer}");
    let state = workspace.state();
    assert_eq!(files_with_canary(&state), Vec::<String>::new());
    let log = workspace.json(&["verify"]);
    assert!(!log.to_string().contains(CANARY), "{log}");
    // The search of files finds what is there.
    fs::write(state.join("planted"), CANARY).unwrap();
    assert_eq!(files_with_canary(&state).len(), 1);
}
