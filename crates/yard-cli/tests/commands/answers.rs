//! What an agent is told of a command: its streams, its end, its time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use crate::box_setup::{shell, workspace};

fn run_code(workspace: &TestWorkspace, args: Value) -> Value {
    let (session, call) = (workspace.session(), workspace.call_context());
    let answer = workspace.catalog().call("assistant", "run_code", args, &session, &call);
    answer.body["result"].clone()
}

#[test]
fn x4_streams_and_codes_are_distinguished() {
    let workspace = workspace();
    let reply = shell(&workspace, "echo out; echo err >&2; exit 3");
    let expected = json!({
        "stdout": "out\n", "stderr": "err\n", "returncode": 3, "stdout_truncated": false,
        "stderr_truncated": false, "timeout": false, "message": null,
    });
    assert_eq!(reply, expected);
    assert_eq!(shell(&workspace, "kill -9 $$")["returncode"], 137);
    assert_eq!(shell(&workspace, "echo $BASH_VERSION")["returncode"], 0);
}

#[test]
fn x4_of_much_output_head_and_tail_are_kept_and_the_rest_is_counted() {
    let workspace = workspace();
    let reply =
        shell(&workspace, "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last");
    let text = reply["stdout"].as_str().unwrap();
    assert_eq!(reply["stdout_truncated"], true);
    assert!(text.starts_with("first\nxxx") && text.ends_with("x\nlast\n"));
    assert!(text.len() < 70_000);
    let shown: usize = text.matches('x').count();
    let left_out = text.split("[... ").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(left_out.parse::<usize>().unwrap() + shown, 3_000_000, "none is lost uncounted");
}

#[test]
fn x4_a_command_that_takes_too_long_ends_with_everything_it_started() {
    let workspace = workspace();
    let args = json!({
        "command": "echo before; setsid sleep 4242 & sleep 4243", "workdir": null, "timeout_ms": 700,
    });
    let started = Instant::now();
    let answer = workspace.call_of("codex", "shell", args);
    let reply = &answer.body["result"];
    assert_eq!(
        (&reply["timeout"], &reply["stdout"]),
        (&json!(true), &json!("before\n")),
        "{reply}"
    );
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(!is_alive("sleep\x00424"), "what called setsid is gone too");
}

fn is_alive(words: &str) -> bool {
    let mut processes = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
    processes.any(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(words)
    })
}

#[test]
fn a3_python_and_bash_run_with_arguments_and_environment() {
    let workspace = workspace();
    let code =
        "import os, sys\nprint(sys.argv[1:], os.environ['WORD'])\nopen('made.txt', 'w').write('x')";
    let reply = run_code(
        &workspace,
        json!({"language": "python", "code": code, "args": ["a b", "c"], "env": {"WORD": "w"}}),
    );
    assert_eq!((&reply["ok"], &reply["value"]["exitCode"]), (&json!(true), &json!(0)), "{reply}");
    assert_eq!(reply["value"]["stdout"], "['a b', 'c'] w\n");
    assert!(reply["value"]["duration"].is_u64());
    assert_eq!(workspace.bytes("/made.txt"), b"x");
    let reply = run_code(
        &workspace,
        json!({"language": "bash", "code": "echo $1 $WORD; exit 7", "args": ["a"]}),
    );
    assert_eq!(
        (&reply["ok"], &reply["value"]["exitCode"]),
        (&json!(true), &json!(7)),
        "A3: {reply}"
    );
    let reply = run_code(&workspace, json!({"language": "perl", "code": ""}));
    assert_eq!(reply["error"]["code"], "INVALID_ARGUMENTS");
}

#[test]
fn a3_a_timeout_keeps_the_output_so_far() {
    let workspace = workspace();
    let code = "echo so far; echo more >&2; sleep 4244";
    let reply = run_code(&workspace, json!({"language": "bash", "code": code, "timeout": 0.6}));
    assert_eq!(reply["error"]["code"], "TIMEOUT", "{reply}");
    assert_eq!(reply["error"]["details"]["stdout"], "so far\n");
    assert_eq!(reply["error"]["details"]["stderr"], "more\n");
    for timeout in [json!(0), json!(-1), json!(1e9)] {
        let reply =
            run_code(&workspace, json!({"language": "bash", "code": "true", "timeout": timeout}));
        assert_eq!(reply["error"]["code"], "INVALID_ARGUMENTS", "{timeout}");
    }
}

#[test]
fn a3_there_is_no_network_and_nothing_outside_the_workspace() {
    let workspace = workspace();
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "SECRET-WORD").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let code = format!(
        "import socket\ntry:\n  print(open({:?}).read())\nexcept OSError as e: print('no file', e.errno)\n\
         try:\n  socket.create_connection(('127.0.0.1', {}), 2)\n  print('CONNECTED')\n\
         except OSError as e: print('no network')\n",
        secret.path(),
        listener.local_addr().unwrap().port()
    );
    let reply = run_code(&workspace, json!({"language": "python", "code": code}));
    let text = reply["value"]["stdout"].as_str().unwrap();
    assert!(text.contains("no file") && text.contains("no network"), "{reply}");
    assert!(!text.contains("SECRET-WORD") && !text.contains("CONNECTED"), "{reply}");
}
