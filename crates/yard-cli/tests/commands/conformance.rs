//! What the documents of `assistant` and `codex` ask of commands and terminals, and no other test holds: their examples,
//! where a command starts, what it is told of its time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yard_gate::{Actor, CallerPolicy, Session};
use yard_testkit::TestWorkspace;

use crate::box_setup::{guarded, workspace};
use crate::programs::{error, value};

fn codex(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    let answer = workspace.call_of("codex", tool, args);
    assert!(answer.ok && answer.pending.is_none(), "{tool}: {}", answer.body);
    answer.body["result"].clone()
}

#[test]
fn x4_shell_answers_the_example_of_its_document() {
    let workspace = workspace();
    let args = json!({"command": "echo hi", "workdir": ".", "timeout_ms": 60_000});
    let expected = json!({
        "stdout": "hi\n", "stderr": "", "returncode": 0, "stdout_truncated": false,
        "stderr_truncated": false, "timeout": false, "message": null,
    });
    assert_eq!(codex(&workspace, "shell", args), expected);
}

/// X5 overrides the texts: they are what the terminal shows, with the prompt of the shell and a carriage return
/// before each line's end.
#[test]
fn x5_terminals_answer_the_examples_of_their_document() {
    let workspace = workspace();
    let args = json!({"session_id": "sess-1", "cmd": "bash", "workdir": "."});
    let reply = codex(&workspace, "exec_command", args);
    assert!(reply["output"].is_string(), "{reply}");
    assert_eq!(
        (&reply["truncated"], &reply["state"]),
        (&json!(false), &json!("waiting")),
        "{reply}"
    );
    let reply =
        codex(&workspace, "write_stdin", json!({"session_id": "sess-1", "chars": "echo hi\n"}));
    let output = reply["output"].as_str().unwrap().replace('\r', "");
    let (_, after) = output.split_once("echo hi\n").unwrap_or_else(|| panic!("{reply}"));
    assert!(after.contains("hi\n"), "{reply}");
    assert_eq!(reply["truncated"], false, "{reply}");
    codex(&workspace, "kill_session", json!({"session_id": "sess-1"}));
}

#[test]
fn x4_commands_start_in_the_folder_that_is_named_and_else_in_the_root() {
    let workspace = workspace();
    workspace.put("where.txt", "root");
    workspace.put("src/where.txt", "src");
    for (workdir, place) in [
        (json!("src"), "src"),
        (json!("./src/"), "src"),
        (json!("."), "root"),
        (json!(""), "root"),
        (json!(null), "root"),
    ] {
        let args = json!({"command": "cat where.txt", "workdir": workdir});
        assert_eq!(codex(&workspace, "shell", args)["stdout"], place, "{workdir}");
        let name = format!("in {workdir}");
        let args = json!({"session_id": name, "cmd": "cat where.txt", "workdir": workdir});
        assert_eq!(codex(&workspace, "exec_command", args)["output"], place, "{workdir}");
    }
    assert_eq!(codex(&workspace, "shell", json!({"command": "cat where.txt"}))["stdout"], "root");
    let args = json!({"session_id": "left out", "cmd": "cat where.txt"});
    assert_eq!(codex(&workspace, "exec_command", args)["output"], "root");
}

#[test]
fn r3_no_command_starts_where_a_link_leaves_the_workspace() {
    let workspace = workspace();
    workspace.put("src/a.txt", "x\n");
    let link =
        |to: &str, name: &str| std::os::unix::fs::symlink(to, workspace.root().join(name)).unwrap();
    link("/etc", "out");
    link("nowhere", "dangling");
    link("src", "inside");
    for (workdir, code) in
        [("out", "INVALID_PATH"), ("out/ssl", "INVALID_PATH"), ("dangling", "FILE_NOT_FOUND")]
    {
        for (tool, args) in [
            ("shell", json!({"command": "pwd", "workdir": workdir})),
            ("exec_command", json!({"session_id": "s", "cmd": "pwd", "workdir": workdir})),
        ] {
            let (session, call) = (workspace.session(), workspace.call_context());
            let answer = workspace.catalog().call("codex", tool, args, &session, &call);
            assert_eq!(answer.body["result"]["error"], code, "{tool} {workdir}: {}", answer.body);
        }
        for (tool, argument) in [
            ("git_status", "repository"),
            ("git_log", "repository"),
            ("git_commit", "repository"),
            ("run_tests", "path"),
            ("install_package", "path"),
        ] {
            let mut args = match tool {
                "git_commit" => json!({"message": "x"}),
                "install_package" => json!({"manager": "pip", "packages": ["x"]}),
                _ => json!({}),
            };
            args[argument] = json!(workdir);
            let (reply, message) = error(&workspace, tool, args);
            assert_eq!(reply, code, "{tool} {workdir}: {message}");
        }
    }
    let (reply, message) = error(&workspace, "format_code", json!({"paths": ["src", "out"]}));
    assert_eq!(reply, "INVALID_PATH", "{message}");
    let args = json!({"command": "cat a.txt", "workdir": "inside"});
    assert_eq!(codex(&workspace, "shell", args)["stdout"], "x\n");
}

/// Shared behaviour of the document: what runs needs a policy that allows it.
#[test]
fn x6_nothing_runs_where_the_policy_says_no() {
    let workspace = workspace();
    workspace.put("a.txt", "one\n");
    codex(&workspace, "exec_command", json!({"session_id": "open", "cmd": "cat"}));
    let viewer = workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly);
    let calls = [
        ("shell", json!({"command": "echo two > a.txt"})),
        ("exec_command", json!({"session_id": "s", "cmd": "echo two > a.txt"})),
        ("write_stdin", json!({"session_id": "open", "chars": "x\n"})),
    ];
    let call = |session: &Session, (tool, args): &(&str, Value)| {
        let answer = workspace.call_as(session, "codex", tool, args.clone());
        assert_eq!(answer.body["result"]["error"], "PERMISSION_DENIED", "{tool}: {}", answer.body);
    };
    calls.iter().for_each(|one| call(&viewer, one));
    let rules = json!({"rules": [{"effect": "run", "then": "deny"}]});
    workspace
        .person()
        .change_settings(&workspace.call_context(), rules.as_object().unwrap())
        .unwrap();
    // The rule ended the terminal that was open.
    calls[..2].iter().for_each(|one| call(&workspace.session(), one));
    assert_eq!(workspace.bytes("a.txt"), b"one\n");
    workspace.opened().stop_all_terminals();
}

#[test]
fn x5_a_terminal_reveals_nothing_outside_the_workspace() {
    let workspace = workspace();
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "SECRET-WORD").unwrap();
    let cmd = format!("cat {}", secret.path().display());
    let reply = codex(&workspace, "exec_command", json!({"session_id": "s", "cmd": cmd}));
    assert!(reply["output"].as_str().unwrap().contains("No such file"), "{reply}");
    assert_eq!((&reply["state"], &reply["exit_code"]), (&json!("ended"), &json!(1)), "{reply}");
}

/// R2: what an error says can be sent back.
#[test]
fn r2_an_error_about_a_terminal_names_its_log_as_it_is_read() {
    let workspace = workspace();
    codex(&workspace, "exec_command", json!({"session_id": "over", "cmd": "echo said"}));
    workspace.opened().stop_all_terminals();
    let workspace = workspace.reopen_as(crate::box_setup::plan());
    for (tool, args) in [
        ("write_stdin", json!({"session_id": "over", "chars": "x"})),
        ("kill_session", json!({"session_id": "over"})),
        ("resize_session", json!({"session_id": "over", "rows": 9, "columns": 9})),
    ] {
        let (session, call) = (workspace.session(), workspace.call_context());
        let answer = workspace.catalog().call("codex", tool, args, &session, &call);
        let message = answer.body["result"]["message"].as_str().unwrap();
        assert!(message.contains("is over"), "{tool}: {message}");
        let (_, path) = message.split_once("what it said is at ").unwrap();
        let (path, _) = path.split_once(". Open").unwrap();
        assert_eq!(
            codex(&workspace, "read_file", json!({"path": path}))["text"],
            "said\r\n",
            "{message}"
        );
    }
}

/// A look at a server does not wait for its time to be over.
#[test]
fn x5_a_dev_server_is_answered_as_soon_as_it_listens() {
    let workspace = workspace();
    let cmd = "python3 -u -m http.server 8123 --bind 127.0.0.1";
    let until = Instant::now() + Duration::from_secs(60);
    let mut reply = codex(&workspace, "exec_command", json!({"session_id": "dev", "cmd": cmd}));
    while !reply["because"].as_str().unwrap().starts_with("it listens on a port") {
        assert!(Instant::now() < until && reply["state"] == "running", "{reply}");
        reply = codex(&workspace, "write_stdin", json!({"session_id": "dev", "chars": ""}));
    }
    assert_eq!(reply["state"], "running", "{reply}");
    let cmd = "curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:8123/";
    let second = codex(&workspace, "exec_command", json!({"session_id": "two", "cmd": cmd}));
    assert!(second["output"].as_str().unwrap().contains("200"), "{second}");
    codex(&workspace, "kill_session", json!({"session_id": "dev"}));
}

#[test]
fn a3_code_that_cannot_be_started_is_an_execution_error() {
    let workspace = workspace();
    for language in ["python", "bash"] {
        let args = json!({"language": language, "code": "1", "env": {"PATH": "/nowhere"}});
        let (code, message) = error(&workspace, "run_code", args);
        assert_eq!(code, "EXECUTION_ERROR", "{language}: {message}");
        assert!(message.contains(language) && message.contains("install"), "{message}");
    }
}

#[test]
fn a3_code_is_approved_by_itself_and_its_time_is_in_milliseconds() {
    let workspace = workspace();
    let args = json!({"language": "bash", "code": "sleep 0.3; echo x > new.txt; echo said"});
    let (catalog, session, call) =
        (workspace.catalog(), guarded(&workspace), workspace.call_context());
    let answer = catalog.call("assistant", "run_code", args, &session, &call);
    assert!(answer.pending.is_none(), "{}", answer.body);
    let reply = &answer.body["result"]["value"];
    assert_eq!((&reply["stdout"], &reply["exitCode"]), (&json!("said\n"), &json!(0)), "{reply}");
    let millis = reply["duration"].as_u64().unwrap();
    assert!((300..60_000).contains(&millis), "{reply}");
    assert_eq!(workspace.bytes("new.txt"), b"x\n");
}

#[test]
fn r1_numbers_that_are_sent_as_text_are_taken_and_what_is_wrong_is_named() {
    let workspace = workspace();
    let args = json!({"language": "bash", "code": "echo a", "timeout": "5"});
    assert_eq!(value(&workspace, "run_code", args)["stdout"], "a\n");
    let args = json!({"command": "echo b", "timeout_ms": "5000"});
    assert_eq!(codex(&workspace, "shell", args)["stdout"], "b\n");
    for (name, wrong) in [
        ("timeout", json!("soon")),
        ("env", json!({"A": 1})),
        ("env", json!("A=1")),
        ("args", json!("-v")),
        ("language", json!("perl")),
    ] {
        let mut args = json!({"language": "bash", "code": "true"});
        args[name] = wrong.clone();
        let (code, message) = error(&workspace, "run_code", args);
        assert_eq!(code, "INVALID_ARGUMENTS", "{name}: {message}");
        assert!(message.starts_with(name), "{name} {wrong}: {message}");
    }
}
