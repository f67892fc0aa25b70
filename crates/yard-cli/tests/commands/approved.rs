//! A landing that asks: kept until a person has decided, landed by the yes, never run again.

use serde_json::{Value, json};
use yard_core::op::{Undo, UndoScope};
use yard_core::{ChangePart, ContentHash, WsPath};
use yard_gate::{Actor, ApprovalStatus, Awaited, CallerPolicy, DecisionInput, Pending, Scope};
use yard_testkit::TestWorkspace;

use crate::box_setup::{asked, decide, guarded, newest, picture, plan, shell_as, shown, workspace};

fn answer_of(approval: &yard_gate::Approval) -> Value {
    let kept: Value = serde_json::from_str(approval.answer.as_deref().unwrap()).unwrap();
    kept["body"]["result"].clone()
}

fn layers(workspace: &TestWorkspace) -> usize {
    std::fs::read_dir(workspace.folders().state().join("runs")).unwrap().count()
}

#[test]
fn a_yes_lands_what_was_shown_and_runs_nothing_again() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    // Whatever it writes, a second run would write something else.
    let command = "cat /proc/sys/kernel/random/uuid | tee a.txt";
    let answer = shell_as(&workspace, &guarded(&workspace), command);
    let id = asked(&answer);
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
    let shown = workspace.person().approvals().get(id).unwrap().request;
    assert!(shown.diff.contains("-one\n+"), "{}", shown.diff);
    let done = decide(&workspace, id, true);
    assert_eq!(done.status, ApprovalStatus::Executed);
    let reply = answer_of(&done);
    assert_eq!(reply["stdout"].as_str().unwrap().as_bytes(), workspace.bytes("/a.txt"));
    assert!(shown.diff.contains(reply["stdout"].as_str().unwrap()), "what landed was shown");
    assert_eq!(layers(&workspace), 0, "nothing is left of the run");
}

#[test]
fn a_no_drops_it() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    let id = asked(&shell_as(&workspace, &guarded(&workspace), "echo two > a.txt"));
    assert_eq!(layers(&workspace), 1);
    assert_eq!(decide(&workspace, id, false).status, ApprovalStatus::Denied);
    assert_eq!((workspace.bytes("/a.txt"), layers(&workspace)), (b"one\n".to_vec(), 0));
}

#[test]
fn a_landing_that_waits_survives_the_program() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    let id = asked(&shell_as(&workspace, &guarded(&workspace), "echo two > a.txt; echo said"));
    let workspace = workspace.reopen_as(plan());
    let done = decide(&workspace, id, true);
    assert_eq!(
        (workspace.bytes("/a.txt"), &answer_of(&done)["stdout"]),
        (b"two\n".to_vec(), &json!("said\n"))
    );
}

#[test]
fn a_file_that_changed_since_is_asked_about_again_or_is_a_conflict() {
    let workspace = workspace();
    let other = workspace.session_of(Actor::LocalPerson, CallerPolicy::Open);
    let args = json!({"path": "/a.txt", "content": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"});
    workspace.call_as(&other, "workspace", "write", args);
    let session = guarded(&workspace);
    // Less than half of what the person wrote is left: that replaces it, and does not edit it.
    let id = asked(&shell_as(&workspace, &session, "sed -i '2,6s/$/!/' a.txt"));
    let args =
        json!({"path": "/a.txt", "content": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "overwrite": true});
    workspace.call_as(&other, "workspace", "write", args);
    let again = decide(&workspace, id, true);
    assert_eq!(again.status, ApprovalStatus::Pending, "what would happen now was not shown");
    assert!(again.request.reason.contains("asked again"), "{}", again.request.reason);
    assert_eq!(decide(&workspace, id, true).status, ApprovalStatus::Executed);
    assert_eq!(workspace.bytes("/a.txt"), b"1\n2!\n3!\n4!\n5!\n6!\n7\n8\nnine\n");
}

#[test]
fn under_strict_a_start_asks_and_its_effect_asks_again() {
    let workspace = workspace();
    let session = workspace.session_of(Actor::LocalAgent, CallerPolicy::Strict);
    let id = asked(&shell_as(&workspace, &session, "echo once >> log; cat log"));
    assert_eq!(layers(&workspace), 0, "nothing ran yet");
    let started = decide(&workspace, id, true);
    assert_eq!(started.status, ApprovalStatus::Pending, "{:?}", started.request.reason);
    assert!(started.request.run.is_some() && started.request.diff.contains("+once"));
    assert!(!workspace.has("/log"));
    let done = decide(&workspace, id, true);
    assert_eq!(
        (done.status, workspace.bytes("/log")),
        (ApprovalStatus::Executed, b"once\n".to_vec())
    );
    workspace.put("/kept", "x");
    let decision = DecisionInput {
        approves: true,
        scope: Scope::Once,
        reason: None,
        args: Some(json!({"command": "rm log"})),
        state: ContentHash::of(b""),
        planned: None,
        parts: None,
    };
    let id = asked(&shell_as(&workspace, &guarded(&workspace), "rm kept"));
    let decision = DecisionInput { state: shown(&workspace, id), ..decision };
    let refused =
        workspace.catalog().decide(id, &decision, &workspace.person(), &workspace.call_context());
    assert!(refused.unwrap_err().message().contains("the command is over"));
}

#[test]
fn an_agent_cannot_land_what_waits() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    let session = guarded(&workspace);
    let id = asked(&shell_as(&workspace, &session, "echo two > a.txt"));
    let state = shown(&workspace, id);
    let decision = DecisionInput {
        approves: true,
        scope: Scope::Once,
        reason: None,
        args: None,
        state,
        planned: None,
        parts: None,
    };
    assert!(
        workspace.catalog().decide(id, &decision, &session, &workspace.call_context()).is_err()
    );
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
}

#[test]
fn what_a_command_closed_waits_closed() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    let command =
        "mkdir -p d/e; echo x > d/e/f; echo y > g; chmod 000 g; chmod 555 d/e d; echo two > a.txt";
    let id = asked(&shell_as(&workspace, &guarded(&workspace), command));
    assert_eq!(
        decide(&workspace, id, true).status,
        ApprovalStatus::Executed,
        "it is what was shown"
    );
    let landed = picture(workspace.root());
    let mode = |name: &str| landed[std::path::Path::new(name)].1;
    assert_eq!((mode("d"), mode("d/e"), mode("g")), (0o555, 0o555, 0));
}

/// Another process on the same workspace.
fn beside(workspace: &TestWorkspace) -> TestWorkspace {
    TestWorkspace::open(workspace.folders(), plan()).unwrap()
}

/// The answer that the agent who waits for a request gets now.
fn resumed(
    workspace: &TestWorkspace,
    tool: &str,
    id: yard_core::ApprovalId,
) -> yard_dialects::Answer {
    let pending = Pending { awaited: Awaited::Approval(id), wait_ms: None };
    workspace.catalog().resume(
        "codex",
        tool,
        &pending,
        &guarded(workspace),
        &workspace.call_context(),
    )
}

#[test]
fn b7_a_denied_command_keeps_its_output_in_the_answer() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    let id =
        asked(&shell_as(&workspace, &guarded(&workspace), "echo it said this; echo two > a.txt"));
    assert_eq!(decide(&workspace, id, false).status, ApprovalStatus::Denied);
    let answer = resumed(&workspace, "shell", id);
    assert!(!answer.ok && answer.pending.is_none(), "{}", answer.body);
    assert_eq!(answer.body["result"]["error"], "PERMISSION_DENIED", "{}", answer.body);
    assert!(answer.body.to_string().contains("it said this"), "{}", answer.body);
    assert_eq!((workspace.bytes("/a.txt"), layers(&workspace)), (b"one\n".to_vec(), 0));
}

#[test]
fn b7_a_landing_that_conflicts_by_now_is_not_reported_as_executed() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    let id = asked(&shell_as(&workspace, &guarded(&workspace), "echo said; echo two > a.txt"));
    let other = workspace.session_of(Actor::LocalPerson, CallerPolicy::Open);
    let args = json!({"path": "/a.txt", "content": "mine\n", "overwrite": true});
    workspace.call_as(&other, "workspace", "write", args);
    let done = decide(&workspace, id, true);
    assert_eq!(done.status, ApprovalStatus::Failed, "the diff that was shown never landed");
    assert_eq!(workspace.bytes("/a.txt"), b"mine\n");
    assert_eq!(answer_of(&done)["stdout"], "said\n", "what it said is told all the same");
}

#[test]
fn p2_a_terminal_that_another_process_approves_lives_in_the_process_that_waits() {
    let workspace = workspace();
    let agent = guarded(&workspace);
    let args = json!({"session_id": "t", "cmd": "cat", "workdir": null});
    let call = |tool: &str, args: Value| workspace.call_as(&agent, "codex", tool, args);
    let id = asked(&call("exec_command", args.clone()));
    let other = beside(&workspace);
    assert_eq!(decide(&other, id, true).status, ApprovalStatus::Approved, "it is not its to open");
    drop(other);
    let answer = resumed(&workspace, "exec_command", id);
    assert!(answer.ok && answer.pending.is_none(), "{}", answer.body);
    let typed = call("write_stdin", json!({"session_id": "t", "chars": "hello\n"}));
    assert!(typed.body.to_string().contains("hello"), "{}", typed.body);
    call("kill_session", json!({"session_id": "t"}));
    let again = resumed(&workspace, "exec_command", id);
    assert_eq!(again.body, answer.body, "whoever asks later gets the same answer");
}

#[test]
fn p2_a_terminal_whose_process_is_gone_waits_for_the_next_identical_call() {
    let first = workspace();
    let args = json!({"session_id": "t", "cmd": "cat", "workdir": null});
    let call = |workspace: &TestWorkspace, args: &Value| {
        let agent = guarded(workspace);
        workspace.call_as(&agent, "codex", "exec_command", args.clone())
    };
    let id = asked(&call(&first, &args));
    let second = first.reopen_as(plan());
    let yes = decide(&second, id, true);
    assert_eq!(yes.status, ApprovalStatus::Approved, "a person's process serves no terminal");
    let other = json!({"session_id": "t", "cmd": "cat -n", "workdir": null});
    assert_ne!(asked(&call(&second, &other)), id, "another command is another request");
    let answer = call(&second, &args);
    assert!(answer.ok && answer.pending.is_none(), "{}", answer.body);
    assert_eq!(second.person().approvals().get(id).unwrap().status, ApprovalStatus::Executed);
    let session = guarded(&second);
    assert_eq!(session.stop_all_terminals(), 1, "it runs in the process that called");
}

/// Approves these paths of what a command did; the answer to its agent.
fn approve_part(workspace: &TestWorkspace, id: yard_core::ApprovalId, paths: &[String]) -> Value {
    let whole = |path: &String| ChangePart::whole(WsPath::parse(path).unwrap());
    let decision = DecisionInput {
        approves: true,
        scope: Scope::Once,
        reason: Some("these alone".to_owned()),
        args: None,
        state: shown(workspace, id),
        planned: None,
        parts: Some(paths.iter().map(whole).collect()),
    };
    let (person, context) = (workspace.person(), workspace.call_context());
    let done = workspace.catalog().decide(id, &decision, &person, &context).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed, "{:?}", done.answer);
    let kept: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    kept["body"].clone()
}

#[test]
fn a_part_of_what_a_command_did_lands_and_the_rest_is_dropped() {
    let workspace = workspace();
    for name in ["/a.txt", "/b.txt", "/c.txt"] {
        workspace.put(name, format!("one of {name}\n"));
    }
    let command = "echo two > a.txt; rm b.txt; mv c.txt d.txt; mkdir -p new/er; echo x > new/er/x; \
                   echo y > new/y; ln -s a.txt link; echo said";
    let id = asked(&shell_as(&workspace, &guarded(&workspace), command));
    let chosen = ["/a.txt", "/new/er/x", "/link"].map(str::to_owned);
    let body = approve_part(&workspace, id, &chosen);
    assert_eq!(body["result"]["stdout"], json!("said\n"), "{body}");
    assert_eq!(workspace.bytes("/a.txt"), b"two\n");
    assert_eq!(workspace.bytes("/new/er/x"), b"x\n");
    assert!(workspace.has("/link") && workspace.has("/b.txt") && workspace.has("/c.txt"));
    assert!(!workspace.has("/new/y") && !workspace.has("/d.txt"));
    let refused = body["refused_by_person"]["refused"].to_string();
    for path in ["b.txt", "d.txt", "new/y"] {
        assert!(refused.contains(path), "{path} in {refused}");
    }
    assert_eq!(layers(&workspace), 0, "nothing is left of the run");
    let (step, _) = newest(&workspace);
    workspace.perform(Undo { step, scope: UndoScope::default() }).unwrap();
    assert_eq!(workspace.bytes("/a.txt"), b"one of /a.txt\n");
    assert!(!workspace.has("/new"));
}

#[test]
fn a_part_of_a_landing_of_thousands_of_files() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    let command = "mkdir -p many/of; for i in $(seq 3000); do echo $i > many/of/$i; done; \
                   echo two > a.txt";
    let id = asked(&shell_as(&workspace, &guarded(&workspace), command));
    let chosen: Vec<String> = (1..=1000).map(|number| format!("/many/of/{number}")).collect();
    let body = approve_part(&workspace, id, &chosen);
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
    assert_eq!(workspace.bytes("/many/of/1000"), b"1000\n");
    assert!(!workspace.has("/many/of/1001"));
    let notice = &body["refused_by_person"];
    assert_eq!(notice["refused"].as_array().unwrap().len(), 100, "an answer is bounded");
    assert_eq!(notice["more"], json!(1901));
    assert!(body.to_string().len() < 20_000);
}

#[test]
fn a_part_that_waits_survives_the_program() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    workspace.put("/b.txt", "one\n");
    let command = "echo two > a.txt; echo two > b.txt";
    let id = asked(&shell_as(&workspace, &guarded(&workspace), command));
    let workspace = workspace.reopen_as(plan());
    approve_part(&workspace, id, &["/b.txt".to_owned()]);
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
    assert_eq!(workspace.bytes("/b.txt"), b"two\n");
}

#[test]
fn build_output_is_one_part_under_the_name_of_its_folder() {
    for (chosen, output_is_there) in [("/a.txt", false), ("/target", true)] {
        let workspace = workspace();
        workspace.put("/.gitignore", "target/\n");
        workspace.put("/a.txt", "one\n");
        let command =
            "mkdir -p target/deep; echo x > target/deep/o; echo y > target/p; echo two > a.txt";
        let id = asked(&shell_as(&workspace, &guarded(&workspace), command));
        let body = approve_part(&workspace, id, &[chosen.to_owned()]);
        let other = if output_is_there { "a.txt" } else { "target" };
        assert_eq!(body["refused_by_person"]["refused"], json!([{"path": other}]), "{body}");
        assert_eq!(workspace.has("/target/deep/o"), output_is_there);
        assert_eq!(workspace.has("/target"), output_is_there);
        let expected: &[u8] = if output_is_there { b"one\n" } else { b"two\n" };
        assert_eq!(workspace.bytes("/a.txt"), expected);
        // What was refused left nothing behind among the stored files.
        let verified = workspace.perform(yard_core::op::Verify).unwrap();
        assert_eq!(verified.problems, Vec::<String>::new());
    }
}
