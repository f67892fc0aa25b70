//! Decisions across processes: who executes what was approved, what becomes of it when a process ends, and
//! that nothing is approved that was not shown. Two yards on the same folders stand for two processes.

use std::fs;

use serde_json::json;
use yard_core::{ApprovalId, FaultCode, RunId};
use yard_gate::{
    Actor, Approval, ApprovalStatus, Asks, Awaited, CallerPolicy, DecisionContext, DecisionInput,
    Pending, Scope,
};
use yard_testkit::{OpenOptions, RealWorld, TestWorkspace};

use super::{
    ASK_TO_MODIFY, asked, call, decide, decide_as_shown, guarded, overwrite, text, under, yes,
};

/// Another process on the same workspace.
fn beside(workspace: &TestWorkspace) -> TestWorkspace {
    TestWorkspace::open(workspace.folders(), OpenOptions::default()).unwrap()
}

fn row(workspace: &TestWorkspace, id: ApprovalId) -> Approval {
    workspace.person().approvals().get(id).unwrap()
}

fn yes_to(workspace: &TestWorkspace, id: ApprovalId) -> DecisionInput {
    DecisionInput { state: row(workspace, id).request.state, ..yes(Scope::Once) }
}

/// The answer that a caller who waits for a request gets now.
fn resumed(workspace: &TestWorkspace, tool: &str, id: ApprovalId) -> yard_dialects::Answer {
    let pending = Pending { awaited: Awaited::Approval(id), wait_ms: None };
    workspace.catalog().resume(
        "workspace",
        tool,
        &pending,
        &workspace.session(),
        &workspace.call_context(),
    )
}

/// A yes by a process that ends before it executes anything.
fn approve_and_end(workspace: &TestWorkspace, id: ApprovalId, start: bool) {
    let other = beside(workspace);
    let (person, context) = (other.person(), other.call_context());
    let claimed_by = Some(other.kernel().process(&context).unwrap());
    let deciding = DecisionContext { asks: Asks::Never, revision: None, part: None, claimed_by };
    person.approvals().decide(&context, id, &yes_to(workspace, id), &deciding).unwrap();
    if start {
        other.opened().records.start(id, RunId::new(&RealWorld)).unwrap();
    }
    let waiting = resumed(workspace, "write", id);
    assert!(waiting.pending.is_some(), "somebody else is about to do it: {}", waiting.body);
}

fn asking() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    under(&workspace, ASK_TO_MODIFY);
    workspace
}

#[test]
fn p2_what_another_process_approves_is_executed_once_and_whoever_waits_gets_its_answer() {
    let workspace = asking();
    let id = asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "two\n")));
    let other = beside(&workspace);
    let done = decide(&other, id, &yes(Scope::Once)).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed);
    let answer = resumed(&workspace, "write", id);
    assert_eq!((answer.status, &answer.body["result"]["path"]), (200, &json!("/a.txt")));
    assert_eq!(text(&workspace, "/a.txt"), "two\n");
}

#[test]
fn h10_a_yes_whose_process_ended_is_listed_and_executed_by_whoever_waits() {
    let workspace = asking();
    let id = asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "two\n")));
    approve_and_end(&workspace, id, false);
    assert_eq!(row(&workspace, id).status, ApprovalStatus::Approved);
    let answer = resumed(&workspace, "write", id);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(text(&workspace, "/a.txt"), "two\n");
    assert_eq!(row(&workspace, id).status, ApprovalStatus::Executed);
}

#[test]
fn h10_a_second_yes_executes_what_the_first_one_could_not() {
    let workspace = asking();
    let id = asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "two\n")));
    approve_and_end(&workspace, id, false);
    let looked = row(&workspace, id);
    assert_eq!(looked.status, ApprovalStatus::Approved, "looking executes nothing");
    assert_eq!(text(&workspace, "/a.txt"), "one\n");
    let done = decide(&workspace, id, &yes(Scope::Once)).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed);
    assert_eq!(text(&workspace, "/a.txt"), "two\n");
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)), Err(FaultCode::Exists));
}

#[test]
fn p2_the_same_call_takes_up_an_approval_that_nobody_executed() {
    let workspace = asking();
    let id = asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "two\n")));
    approve_and_end(&workspace, id, false);
    let other = call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "three\n"));
    assert_ne!(asked(&other), id, "another call is another request");
    let again = call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "two\n"));
    assert_eq!(again.status, 200, "{}", again.body);
    assert_eq!(row(&workspace, id).status, ApprovalStatus::Executed);
    asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "one\n")));
}

#[test]
fn p2_what_was_started_by_a_process_that_ended_is_unknown_and_not_started_again() {
    let workspace = asking();
    let id = asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "two\n")));
    approve_and_end(&workspace, id, true);
    assert_eq!(row(&workspace, id).status, ApprovalStatus::Unknown, "also before anybody notes it");
    let answer = resumed(&workspace, "write", id);
    assert!(answer.pending.is_none() && !answer.ok, "{}", answer.body);
    assert!(answer.body["error"].as_str().unwrap().contains("unknown"), "{}", answer.body);
    assert_eq!(text(&workspace, "/a.txt"), "one\n");
    let again =
        asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "two\n")));
    assert_ne!(again, id, "a person is asked again");
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)), Err(FaultCode::Exists));
}

#[test]
fn b2_a_request_that_was_renewed_is_not_approved_with_the_old_hash() {
    let workspace = asking();
    let id = asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "two\n")));
    let seen = yes_to(&workspace, id);
    workspace.put("/a.txt", "somebody's\n");
    assert_eq!(decide_as_shown(&workspace, id, &seen).unwrap().status, ApprovalStatus::Pending);
    assert_eq!(decide_as_shown(&workspace, id, &seen), Err(FaultCode::Stale));
    let no = DecisionInput { approves: false, ..seen };
    assert_eq!(decide_as_shown(&workspace, id, &no), Err(FaultCode::Stale), "nor denied");
    assert_eq!(text(&workspace, "/a.txt"), "somebody's\n");
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)).unwrap().status, ApprovalStatus::Executed);
}

#[test]
fn b2_calls_that_would_do_the_same_and_say_something_else_have_other_hashes() {
    let workspace = TestWorkspace::new();
    let strict = workspace.session_of(Actor::LocalAgent, CallerPolicy::Strict);
    workspace.put("/a.txt", "one\n");
    let state = |limit: u32| {
        let args = json!({"path": "/a.txt", "limit": limit});
        row(&workspace, asked(&call(&workspace, &strict, "read", args))).request.state
    };
    assert_ne!(state(1), state(2));
}

#[test]
fn b7_with_edited_arguments_the_new_diff_is_executed_kept_and_told() {
    let workspace = asking();
    workspace.put("/b.txt", "other\n");
    let id =
        asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "theirs\n")));
    let edited = DecisionInput { args: Some(overwrite("/b.txt", "mine\n")), ..yes(Scope::Once) };
    let done = decide(&workspace, id, &edited).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed);
    assert!(done.request.diff.contains("-other\n+mine\n"), "{}", done.request.diff);
    assert!(!done.request.diff.contains("theirs"), "{}", done.request.diff);
    assert!(done.request.args.contains("theirs"), "what the agent sent is kept");
    let answer = resumed(&workspace, "write", id);
    assert_eq!(answer.body["changed_by_person"]["args"]["path"], json!("/b.txt"));
    assert_eq!(
        (text(&workspace, "/a.txt"), text(&workspace, "/b.txt")),
        ("one\n".into(), "mine\n".into())
    );
}

#[test]
fn b7_edited_arguments_that_are_wrong_decide_nothing() {
    let workspace = asking();
    let id =
        asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "theirs\n")));
    let before = row(&workspace, id);
    for wrong in [
        json!({"pahtt": "/a.txt"}),
        json!({"path": 7, "content": "x"}),
        json!({"path": "/a.txt/below", "content": "x"}),
        json!({}),
    ] {
        let edited = DecisionInput { args: Some(wrong.clone()), ..yes(Scope::Once) };
        assert!(decide(&workspace, id, &edited).is_err(), "{wrong}");
        assert_eq!(row(&workspace, id), before, "{wrong}");
    }
    assert_eq!(text(&workspace, "/a.txt"), "one\n");
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)).unwrap().status, ApprovalStatus::Executed);
}

#[test]
fn b7_a_person_can_look_at_other_arguments_before_they_decide() {
    let workspace = asking();
    let id =
        asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "theirs\n")));
    let args = overwrite("/a.txt", "mine\n");
    let revision = workspace
        .catalog()
        .revise(&row(&workspace, id), &args, &workspace.person(), &workspace.call_context())
        .unwrap();
    assert!(revision.diff.contains("-one\n+mine\n"), "{}", revision.diff);
    assert_eq!(
        (text(&workspace, "/a.txt"), row(&workspace, id).status),
        ("one\n".into(), ApprovalStatus::Pending)
    );
}

#[test]
fn b7_a_file_that_became_what_was_asked_for_is_not_told_as_executed() {
    let workspace = asking();
    let id = asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", "two\n")));
    workspace.put("/a.txt", "two\n");
    let done = decide(&workspace, id, &yes(Scope::Once)).unwrap();
    assert_ne!(done.status, ApprovalStatus::Executed, "the diff that was shown never landed");
    assert_eq!((done.step, text(&workspace, "/a.txt")), (None, "two\n".to_owned()));
}

#[test]
fn b7_a_withdrawn_request_cannot_be_approved_and_the_same_call_asks_anew() {
    let workspace = asking();
    let agent = workspace.session();
    let id = asked(&call(&workspace, &agent, "write", overwrite("/a.txt", "two\n")));
    let close = |id| {
        let approvals = agent.approvals();
        approvals.close(&workspace.call_context(), id, ApprovalStatus::Withdrawn).unwrap();
    };
    close(id);
    assert_eq!(row(&workspace, id).status, ApprovalStatus::Withdrawn);
    assert_eq!(decide(&workspace, id, &yes(Scope::Once)), Err(FaultCode::Exists));
    assert_eq!(text(&workspace, "/a.txt"), "one\n");
    let answer = resumed(&workspace, "write", id);
    assert!(!answer.ok && answer.pending.is_none(), "{}", answer.body);
    let again = asked(&call(&workspace, &agent, "write", overwrite("/a.txt", "two\n")));
    assert_ne!(again, id);
    decide(&workspace, again, &yes(Scope::Once)).unwrap();
    close(again);
    assert_eq!(row(&workspace, again).status, ApprovalStatus::Executed, "what happened stays");
}

#[test]
fn g5_a_yes_to_moving_a_folder_covers_what_was_in_it_and_nothing_else() {
    let ask = r#"{"rules": [{"effect": "move", "then": "ask"}]}"#;
    type Change = fn(&TestWorkspace);
    let changes: [(&str, Change); 5] = [
        ("a new file", |workspace| workspace.put("/d/e/new.txt", "new\n")),
        ("another content", |workspace| workspace.put("/d/e/one.txt", "ONE\n")),
        ("a file that is gone", |workspace| {
            fs::remove_file(workspace.root().join("d/two.txt")).unwrap()
        }),
        ("a link", |workspace| {
            std::os::unix::fs::symlink("/etc", workspace.root().join("d/link")).unwrap();
        }),
        ("an empty folder", |workspace| fs::create_dir(workspace.root().join("d/e/f")).unwrap()),
    ];
    for (what, change) in changes {
        let workspace = TestWorkspace::new();
        workspace.put("/d/e/one.txt", "one\n");
        workspace.put("/d/two.txt", "two\n");
        under(&workspace, ask);
        let moved = json!({"source": "/d", "destination": "/moved"});
        let id = asked(&call(&workspace, &workspace.session(), "mv", moved));
        let diff = row(&workspace, id).request.diff;
        assert!(diff.contains("/d/e/one.txt") && diff.contains("/d/two.txt"), "{diff}");
        let seen = yes_to(&workspace, id);
        change(&workspace);
        let again = decide_as_shown(&workspace, id, &seen).unwrap();
        assert_eq!(again.status, ApprovalStatus::Pending, "{what}: {}", again.request.diff);
        assert!(workspace.has("/d") && !workspace.has("/moved"), "{what}");
        let done = decide(&workspace, id, &yes(Scope::Once)).unwrap();
        assert_eq!(done.status, ApprovalStatus::Executed, "{what}");
        assert!(workspace.has("/moved/e") && !workspace.has("/d"), "{what}");
    }
}

#[test]
fn g15_a_long_diff_is_shown_whole_and_one_that_nobody_can_read_is_refused() {
    let workspace = TestWorkspace::new();
    under(&workspace, ASK_TO_MODIFY);
    let long = |word: &str| (0..60_000).map(|line| format!("{word} {line}\n")).collect::<String>();
    workspace.put("/a.txt", long("old"));
    let new = long("new") + "the last line\n";
    let id = asked(&call(&workspace, &workspace.session(), "write", overwrite("/a.txt", &new)));
    let diff = row(&workspace, id).request.diff;
    assert!(diff.len() > 512 << 10 && diff.ends_with("+the last line\n"), "{}", diff.len());
    let line = "x".repeat(1_000) + "\n";
    for nth in 0..9 {
        workspace.put(&format!("/many/{nth}.txt"), line.repeat(3_900));
    }
    let names: String = (0..9).map(|nth| format!("*** Delete File: many/{nth}.txt\n")).collect();
    let patch = json!({"patch": format!("*** Begin Patch\n{names}*** End Patch")});
    let refused = guarded(&workspace, "codex", "apply_patch_freeform", patch);
    assert!(!refused.ok && refused.pending.is_none(), "{}", refused.body);
    assert!(refused.failure_message().contains("MiB"), "{}", refused.body);
    assert!(workspace.has("/many/0.txt"));
}
