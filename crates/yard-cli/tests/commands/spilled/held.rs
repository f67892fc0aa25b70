//! However a command ends and whatever becomes of its changes, what it said stays; a crash leaves nothing.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yard_gate::{Awaited, CallerPolicy, DecisionInput, Scope};
use yard_testkit::TestWorkspace;

use super::{FOLDER, call, files, ok, path_of, plan_keeping, read, say_lines};
use crate::box_setup::{guarded, shell, shell_as, shown, workspace};

/// More than an answer shows.
fn much() -> String {
    say_lines(200_000)
}

#[test]
fn a3_a_timeout_says_where_the_whole_is() {
    let workspace = workspace();
    let code = format!("{}; {} >&2; sleep 4245", much(), much());
    let args = json!({"language": "bash", "code": code, "timeout": 3});
    let reply = call(&workspace, "assistant", "run_code", args).body["result"]["error"].clone();
    assert_eq!(reply["code"], "TIMEOUT", "{reply}");
    for stream in ["stdoutPath", "stderrPath"] {
        let path = reply["details"][stream].as_str().unwrap();
        let args = json!({"path": path, "offset": 19_999});
        let last = ok(&workspace, "assistant", "read_file", args);
        assert_eq!(last["value"]["content"], "    19999\n", "{stream}");
    }
    let args = json!({"language": "bash", "code": much()});
    let reply = ok(&workspace, "assistant", "run_code", args)["value"].clone();
    assert!(reply["stdoutPath"].is_string() && reply.get("stderrPath").is_none(), "{reply}");
    let args = json!({"command": format!("{}; sleep 4246", much()), "timeout_ms": 3_000});
    let reply = ok(&workspace, "codex", "shell", args);
    assert_eq!(reply["timeout"], true);
    assert!(read(&workspace, &path_of(&reply, "stdout")).ok);
}

#[test]
fn x4_the_output_of_a_killed_or_failed_command_is_stored() {
    let workspace = workspace();
    for (ending, code) in [("kill -9 $$", 137), ("exit 3", 3), ("kill -SEGV $$", 139)] {
        let reply = shell(&workspace, &format!("{}; {ending}", much()));
        assert_eq!(reply["returncode"], code);
        assert!(read(&workspace, &path_of(&reply, "stdout")).ok, "{ending}");
    }
}

#[test]
fn x4_the_output_of_a_denied_dropped_or_undone_command_remains() {
    let workspace = workspace();
    let call = workspace.call_context();
    let rules = json!({"rules": [{"effect": "create", "path": "locked", "then": "deny"}]});
    workspace.person().change_settings(&call, rules.as_object().unwrap()).unwrap();
    let reply = shell(&workspace, &format!("{}; echo x > locked", much()));
    assert!(!workspace.has("/locked") && reply["message"].as_str().unwrap().contains("was kept"));
    assert!(read(&workspace, &path_of(&reply, "stdout")).ok);
    let chat = workspace.person().chats().make(&call, "Plan", Some(yard_gate::Mode::Plan)).unwrap();
    let session = workspace.session().in_chat(chat.id).unwrap();
    let reply = shell_as(&workspace, &session, &format!("{}; echo x > new", much()));
    let path = path_of(&reply.body["result"], "stdout");
    let args = json!({"path": path, "limit": 1});
    let page = workspace.catalog().call("codex", "read_file", args, &session, &call);
    assert!(page.ok && !workspace.has("/new"), "a plan can be made from it: {}", page.body);
    let reply = shell(&workspace, &format!("{}; echo x > new", much()));
    let history =
        yard_core::op::History { of: yard_core::op::HistoryOf::Workspace, before: None, limit: 1 };
    let step = workspace.perform(history).unwrap().steps[0].id;
    workspace.perform(yard_core::op::Undo::of(step)).unwrap();
    assert!(!workspace.has("/new") && read(&workspace, &path_of(&reply, "stdout")).ok);
}

/// Asks to replace a file of the person's, which no yes was about before.
fn asks(workspace: &TestWorkspace, name: &str) -> yard_core::ApprovalId {
    workspace.put(&format!("/{name}"), "one\n");
    std::thread::sleep(Duration::from_millis(30));
    let answer =
        shell_as(workspace, &guarded(workspace), &format!("{}; echo two > {name}", much()));
    match answer.pending.map(|pending| pending.awaited) {
        Some(Awaited::Approval(id)) => id,
        other => panic!("{other:?}: {}", answer.body),
    }
}

fn decide(
    workspace: &TestWorkspace,
    id: yard_core::ApprovalId,
    approves: bool,
) -> yard_gate::Approval {
    let state = shown(workspace, id);
    let ruling = DecisionInput {
        approves,
        scope: Scope::Once,
        reason: None,
        args: None,
        state,
        planned: None,
        parts: None,
    };
    workspace.catalog().decide(id, &ruling, &workspace.person(), &workspace.call_context()).unwrap()
}

#[test]
fn x4_a_waiting_landing_keeps_its_output_for_both_decisions() {
    let workspace = workspace();
    let id = asks(&workspace, "a.txt");
    // The program ends before a person has decided.
    let workspace = workspace.reopen_as(plan_keeping(yard_disk::RetentionLimits::default()));
    let done = decide(&workspace, id, true);
    let kept: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    let path = path_of(&kept["body"]["result"], "stdout");
    assert!(read(&workspace, &path).ok && workspace.bytes("/a.txt") == b"two\n");
    let id = asks(&workspace, "b.txt");
    decide(&workspace, id, false);
    let pending = yard_gate::Pending { awaited: Awaited::Approval(id), wait_ms: None };
    let reply = workspace.catalog().resume(
        "codex",
        "shell",
        &pending,
        &guarded(&workspace),
        &workspace.call_context(),
    );
    let message = reply.body["result"]["message"].as_str().unwrap();
    let path = message.split("what the command said is at ").nth(1).expect(message);
    assert!(read(&workspace, path).ok && workspace.bytes("/b.txt") == b"one\n", "{message}");
    // What is gone meanwhile is not named.
    let id = asks(&workspace, "c.txt");
    for file in files(&workspace) {
        std::fs::remove_file(file).unwrap();
    }
    let done = decide(&workspace, id, true);
    let kept: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    let reply = &kept["body"]["result"];
    assert_eq!((&reply["stdout_truncated"], &reply["stdout_path"]), (&json!(true), &Value::Null));
}

#[test]
fn x4_who_may_not_read_files_may_not_read_it() {
    let workspace = workspace();
    let path = path_of(&shell(&workspace, &much()), "stdout");
    let call = workspace.call_context();
    let rules =
        json!({"rules": [{"effect": "read", "path": ".toolyard-output/**", "then": "deny"}]});
    workspace.person().change_settings(&call, rules.as_object().unwrap()).unwrap();
    let reply = read(&workspace, &path).body["result"].clone();
    assert_eq!(reply["error"], "PERMISSION_DENIED", "{reply}");
    let strict = workspace.session_of(yard_gate::Actor::LocalAgent, CallerPolicy::Strict);
    let rules = json!({"rules": []});
    workspace.person().change_settings(&call, rules.as_object().unwrap()).unwrap();
    let asked =
        workspace.catalog().call("codex", "read_file", json!({"path": path}), &strict, &call);
    assert!(asked.pending.is_some(), "under strict every read asks: {}", asked.body);
}

/// The program with its own process each time.
struct Program {
    home: tempfile::TempDir,
}

impl Program {
    fn command(&self, toolset: &str, tool: &str, args: &Value) -> Command {
        let (root, data) = (self.home.path().join("root"), self.home.path().join("data"));
        std::fs::create_dir_all(&root).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command.args(["call", "--toolset", toolset, tool, &args.to_string()]);
        command.arg("--root").arg(root).arg("--data-dir").arg(data);
        command.env_clear().stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn call(&self, toolset: &str, tool: &str, args: &Value) -> Value {
        let output = self.command(toolset, tool, args).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["result"].clone()
    }

    /// What is in a folder of the one workspace's data.
    fn inside(&self, folder: &str) -> Vec<std::path::PathBuf> {
        let all = std::fs::read_dir(self.home.path().join("data/workspaces"));
        let all = all.into_iter().flatten().map(|entry| entry.unwrap().path().join(folder));
        let entries = all.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

#[test]
fn x4_it_is_there_for_the_next_process_and_a_crash_leaves_none() {
    let program = Program { home: tempfile::tempdir().unwrap() };
    let reply = program.call("codex", "shell", &json!({"command": much()}));
    let path = path_of(&reply, "stdout");
    let page = program.call("codex", "read_file", &json!({"path": path, "offset": 19_999}));
    assert_eq!(page["text"], "    19999\n", "{page}");
    let mut child = program
        .command("codex", "shell", &json!({"command": format!("{}; sleep 4247", much())}))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    let is_spilling = || {
        let runs = program.inside("runs");
        runs.iter().any(|run| run.join("stdout.whole").metadata().is_ok_and(|of| of.len() > 0))
    };
    while !is_spilling() {
        assert!(Instant::now() < patience, "nothing is said");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = program.call("workspace", "ls", &json!({"path": format!("/{FOLDER}")}));
    assert!(listed.to_string().contains(path.rsplit('/').next().unwrap()), "{listed}");
    assert_eq!(program.inside("runs").len(), 0, "the run is swept away with what it said");
    assert_eq!(program.inside(&format!("output/{FOLDER}")).len(), 1);
}
