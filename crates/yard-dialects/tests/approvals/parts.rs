//! A part of a request: what the person chose is done in one step, the rest is refused, and the agent reads what and why.

use serde_json::{Value, json};
use yard_core::{ApprovalId, ChangePart, FaultCode, Limits, WsPath};
use yard_gate::{Approval, ApprovalStatus, DecisionInput, Scope};
use yard_store::{SqliteStore, Store as _};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use super::{asked, call, decide, text, under, yes};

const ASK_FOR_ALL: &str = r#"{"rules": [
    {"effect": ["create", "modify", "remove", "move"], "then": "ask"}]}"#;

/// Twenty lines, which a change at both ends makes two hunks of.
fn lines(first: &str, last: &str) -> String {
    let between: Vec<String> = (2..20).map(|line| format!("{line}\n")).collect();
    format!("{first}\n{}{last}\n", between.concat())
}

fn whole(path: &str) -> ChangePart {
    ChangePart::whole(WsPath::parse(path).unwrap())
}

fn hunks(path: &str, hunks: &[usize]) -> ChangePart {
    ChangePart { hunks: Some(hunks.to_vec()), ..whole(path) }
}

fn some(parts: &[ChangePart]) -> DecisionInput {
    let reason = Some("not the rest".to_owned());
    DecisionInput { parts: Some(parts.to_vec()), reason, ..yes(Scope::Once) }
}

fn row(workspace: &TestWorkspace, id: ApprovalId) -> Approval {
    workspace.person().approvals().get(id).unwrap()
}

/// The message of a decision that is refused. Nothing is decided by it.
#[track_caller]
fn refused(workspace: &TestWorkspace, id: ApprovalId, input: &DecisionInput) -> String {
    let state = row(workspace, id).request.state;
    let input = DecisionInput { state, ..input.clone() };
    let (person, context) = (workspace.person(), workspace.call_context());
    let fault = workspace.catalog().decide(id, &input, &person, &context).unwrap_err();
    assert_eq!(fault.code(), FaultCode::BadArgument, "{fault}");
    assert_eq!(row(workspace, id).status, ApprovalStatus::Pending);
    fault.message().to_owned()
}

/// Approves these parts; the body of the answer to the agent.
#[track_caller]
fn approve(workspace: &TestWorkspace, id: ApprovalId, parts: &[ChangePart]) -> Value {
    let done = decide(workspace, id, &some(parts)).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed, "{:?}", done.answer);
    assert!(done.step.is_some());
    let stored: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    assert_eq!(stored["ok"], json!(true), "{stored}");
    stored["body"].clone()
}

fn patch(workspace: &TestWorkspace, patch: &str) -> ApprovalId {
    let answer = workspace.call_as(
        &workspace.session(),
        "coder",
        "apply_patch",
        json!({"patchText": format!("*** Begin Patch\n{patch}*** End Patch\n")}),
    );
    asked(&answer)
}

fn asking() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    for name in ["/a.txt", "/b.txt", "/c.txt"] {
        workspace.put(name, lines("1", "20"));
    }
    under(&workspace, ASK_FOR_ALL);
    workspace
}

const OF_MANY: &str = "*** Update File: a.txt\n@@\n-1\n+one\n 2\n@@\n 19\n-20\n+twenty\n\
                       *** Delete File: b.txt\n\
                       *** Update File: c.txt\n*** Move to: d/c.txt\n@@\n-1\n+one\n\
                       *** Add File: new/deep/e.txt\n+e\n\
                       *** Add File: new/f.txt\n+f\n";

#[test]
fn the_chosen_files_change_in_one_step_and_the_agent_reads_what_was_refused_and_why() {
    let workspace = asking();
    let id = patch(&workspace, OF_MANY);
    let body = approve(&workspace, id, &[whole("/a.txt"), whole("/new/deep/e.txt")]);
    assert_eq!(text(&workspace, "/a.txt"), lines("one", "twenty"));
    assert_eq!(text(&workspace, "/new/deep/e.txt"), "e\n", "the folders it needs are made");
    assert_eq!(text(&workspace, "/b.txt"), lines("1", "20"));
    assert_eq!(text(&workspace, "/c.txt"), lines("1", "20"));
    assert!(!workspace.has("/new/f.txt") && !workspace.has("/d"));
    let notice = &body["refused_by_person"];
    assert_eq!(notice["reason"], json!("not the rest"));
    let listed =
        json!([{"path": "b.txt"}, {"path": "d"}, {"path": "d/c.txt"}, {"path": "new/f.txt"}]);
    assert_eq!(notice["refused"], listed, "{body}");
    assert_eq!(body["result"]["filesModified"], json!(2), "{body}");
    let step = row(&workspace, id).step.unwrap();
    let shown = workspace.perform(yard_core::op::Show::all(step, 0)).unwrap();
    assert_eq!(shown.step.actor, "agent:local");
    under(&workspace, r#"{"rules": []}"#);
    let undo = yard_core::op::Undo { step, scope: Default::default() };
    workspace.perform(undo).unwrap();
    assert_eq!(text(&workspace, "/a.txt"), lines("1", "20"));
    assert!(!workspace.has("/new"), "what was made for it is undone with it");
}

#[test]
fn one_hunk_of_a_file_is_done_and_the_answer_has_the_hash_of_what_is_there() {
    let workspace = asking();
    let content = lines("one", "twenty");
    let args = json!({"path": "/a.txt", "content": content, "overwrite": true});
    let id = asked(&call(&workspace, &workspace.session(), "write", args));
    let body = approve(&workspace, id, &[hunks("/a.txt", &[1])]);
    assert_eq!(text(&workspace, "/a.txt"), lines("1", "twenty"));
    assert_eq!(body["refused_by_person"]["refused"], json!([{"path": "/a.txt", "hunks": [0]}]));
    let hash = yard_core::ContentHash::of(lines("1", "twenty").as_bytes()).to_string();
    assert!(
        body["result"].to_string().contains(&hash) || body["result"]["hash"].is_null(),
        "{body}"
    );
    let history = workspace.call("read", json!({"path": "/a.txt"}));
    assert!(history.body.to_string().contains("twenty"), "{}", history.body);
}

#[test]
fn files_without_a_final_newline_and_with_crlf_keep_what_was_not_chosen() {
    let workspace = asking();
    let before = lines("1", "20").replace('\n', "\r\n");
    let before = before.trim_end();
    workspace.put("/a.txt", before);
    let after = format!("{}\r\n21", before.replacen("1\r\n", "one\r\n", 1));
    let args = json!({"path": "/a.txt", "content": after, "overwrite": true});
    let id = asked(&call(&workspace, &workspace.session(), "write", args));
    approve(&workspace, id, &[hunks("/a.txt", &[0])]);
    assert_eq!(text(&workspace, "/a.txt"), before.replacen("1\r\n", "one\r\n", 1));
}

#[test]
fn a_wrong_choice_says_what_there_is_and_decides_nothing() {
    let workspace = asking();
    let id = patch(&workspace, OF_MANY);
    let unknown = refused(&workspace, id, &some(&[whole("/z.txt")]));
    for part in ["nothing changes at /z.txt", "/a.txt (hunks 0 to 1)", "/b.txt", "/d/c.txt"] {
        assert!(unknown.contains(part), "{part} in {unknown}");
    }
    let beyond = refused(&workspace, id, &some(&[hunks("/a.txt", &[0, 2])]));
    assert!(beyond.contains("/a.txt has hunks 0 to 1"), "{beyond}");
    let none = refused(&workspace, id, &some(&[hunks("/a.txt", &[])]));
    assert!(none.contains("/a.txt has hunks 0 to 1"), "{none}");
    let moved = refused(&workspace, id, &some(&[hunks("/d/c.txt", &[0])]));
    assert!(moved.contains("/d/c.txt is decided whole"), "{moved}");
    let twice = refused(&workspace, id, &some(&[hunks("/a.txt", &[0]), hunks("/a.txt", &[1])]));
    assert!(twice.contains("chosen twice"), "{twice}");
    assert!(refused(&workspace, id, &some(&[])).contains("is empty"));
    let parts = Some(vec![whole("/a.txt")]);
    let wide = DecisionInput { parts: parts.clone(), ..yes(Scope::Chat) };
    assert!(refused(&workspace, id, &wide).contains("leave the scope out"));
    let no = DecisionInput { approves: false, parts: parts.clone(), ..yes(Scope::Once) };
    assert!(refused(&workspace, id, &no).contains("a denial is of all of it"));
    let edited = DecisionInput { parts, args: Some(json!({})), ..yes(Scope::Once) };
    assert!(refused(&workspace, id, &edited).contains("other arguments"));
    assert_eq!(text(&workspace, "/a.txt"), lines("1", "20"));
}

#[test]
fn a_move_is_indivisible() {
    let workspace = asking();
    let id = patch(&workspace, OF_MANY);
    approve(&workspace, id, &[whole("/c.txt")]);
    assert!(!workspace.has("/c.txt"), "its former path names it too");
    assert_eq!(text(&workspace, "/d/c.txt"), lines("one", "20"));
    assert_eq!(text(&workspace, "/a.txt"), lines("1", "20"));
    let args = json!({"from": "b.txt", "to": "a.txt", "overwrite": true});
    let answer = workspace.call_as(&workspace.session(), "assistant", "move_file", args);
    if answer.pending.is_some() {
        let id = asked(&answer);
        let half = refused(&workspace, id, &some(&[whole("/a.txt")]));
        assert!(half.contains("a move is done as a whole"), "{half}");
    }
}

#[test]
fn a_part_permits_nothing_for_the_next_call() {
    let workspace = asking();
    workspace.call("write", json!({"path": "/own.txt", "content": "x"}));
    let args =
        |last: &str| json!({"path": "/a.txt", "content": lines("one", last), "overwrite": true});
    let id = asked(&call(&workspace, &workspace.session(), "write", args("twenty")));
    approve(&workspace, id, &[hunks("/a.txt", &[1])]);
    let again = asked(&call(&workspace, &workspace.session(), "write", args("twenty")));
    assert_ne!(again, id, "the refused hunk is asked about again");
    assert_eq!(text(&workspace, "/a.txt"), lines("1", "twenty"));
}

#[test]
fn a_file_that_changed_since_is_shown_again_and_nothing_is_done() {
    let workspace = asking();
    let id = patch(&workspace, OF_MANY);
    let shown = row(&workspace, id).request.state;
    // Also where what changed is not among the chosen parts.
    workspace.put("/b.txt", "changed\n");
    let again = decide(&workspace, id, &some(&[whole("/a.txt")])).unwrap();
    assert_eq!(again.status, ApprovalStatus::Pending);
    assert_ne!(again.request.state, shown);
    assert!(again.decision.is_none(), "the choice is not kept: {:?}", again.decision);
    assert_eq!(text(&workspace, "/a.txt"), lines("1", "20"));
    approve(&workspace, id, &[whole("/b.txt")]);
    assert!(!workspace.has("/b.txt"));
    assert_eq!(text(&workspace, "/a.txt"), lines("1", "20"));
}

#[test]
fn of_two_decisions_at_once_one_wins_and_the_other_is_told() {
    for round in 0..8 {
        let workspace = asking();
        let id = patch(&workspace, OF_MANY);
        let begin = std::sync::Barrier::new(2);
        let attempt = |part: ChangePart| {
            begin.wait();
            decide(&workspace, id, &some(&[part])).map(|approval| approval.status)
        };
        let (one, other) = std::thread::scope(|scope| {
            let one = scope.spawn(|| attempt(whole("/a.txt")));
            let other = scope.spawn(|| attempt(whole("/b.txt")));
            (one.join().unwrap(), other.join().unwrap())
        });
        let won = [&one, &other].map(|result| *result == Ok(ApprovalStatus::Executed));
        assert_ne!(won[0], won[1], "round {round}: {one:?} {other:?}");
        let lost = if won[0] { other } else { one };
        assert_eq!(lost, Err(FaultCode::Exists), "round {round}");
        let changed = text(&workspace, "/a.txt") != lines("1", "20");
        assert_eq!((changed, workspace.has("/b.txt")), (won[0], won[0]), "round {round}");
    }
}

#[test]
fn a_folder_is_removed_only_with_everything_in_it() {
    let workspace = asking();
    for name in ["/dir/one", "/dir/in/two", "/dir/in/three"] {
        workspace.put(name, "x\n");
    }
    let args = json!({"path": "dir", "recursive": true});
    let id = asked(&workspace.call_as(&workspace.session(), "assistant", "delete_file", args));
    let none = refused(&workspace, id, &some(&[whole("/dir"), whole("/dir/in")]));
    assert!(none.contains("nothing would be done"), "{none}");
    let chosen = ["/dir", "/dir/one", "/dir/in", "/dir/in/two"].map(whole);
    let body = approve(&workspace, id, &chosen);
    assert!(workspace.has("/dir/in/three") && !workspace.has("/dir/in/two"));
    assert!(!workspace.has("/dir/one"));
    let refused = json!([{"path": "dir/in/three"}, {"path": "dir/in"}, {"path": "dir"}]);
    assert_eq!(body["refused_by_person"]["refused"], refused);
}

#[test]
fn a_path_that_a_refused_change_would_have_vacated_is_not_used() {
    let workspace = asking();
    let id = patch(
        &workspace,
        "*** Delete File: a.txt\n*** Add File: a.txt/inside\n+x\n*** Delete File: b.txt\n",
    );
    let needs = refused(&workspace, id, &some(&[whole("/a.txt/inside")]));
    assert!(needs.contains("what happens to /a.txt"), "{needs}");
    approve(&workspace, id, &[whole("/a.txt/inside"), whole("/a.txt")]);
    assert_eq!(text(&workspace, "/a.txt/inside"), "x\n");
    assert!(workspace.has("/b.txt"));
}

#[test]
fn choosing_everything_refuses_nothing() {
    let workspace = asking();
    let id = patch(&workspace, OF_MANY);
    let all = ["/b.txt", "/c.txt", "/new/deep/e.txt", "/new/f.txt"].map(whole);
    let all = [all.to_vec(), vec![hunks("/a.txt", &[1, 0])]].concat();
    let body = approve(&workspace, id, &all);
    assert_eq!(body.get("refused_by_person"), None, "{body}");
    assert_eq!(text(&workspace, "/a.txt"), lines("one", "twenty"));
    assert_eq!(text(&workspace, "/d/c.txt"), lines("one", "20"));
    assert!(!workspace.has("/b.txt") && workspace.has("/new/deep/e.txt"));
}

#[test]
fn what_was_refused_is_not_stored() {
    let workspace = asking();
    let id = patch(
        &workspace,
        "*** Update File: a.txt\n@@\n-1\n+secret one\n*** Add File: x\n+secret two\n*** Add File: y\n+y\n",
    );
    approve(&workspace, id, &[whole("/y")]);
    let secrets = ["secret two\n".to_owned(), lines("secret one", "20")];
    let store = SqliteStore::open(workspace.folders().state()).unwrap();
    for content in secrets {
        let hash = yard_core::ContentHash::of(content.as_bytes());
        assert_eq!(store.content(&hash).unwrap(), None, "{content}");
    }
}

#[test]
fn any_choice_of_files_does_those_and_no_others() {
    for choice in 1..16_u32 {
        let workspace = asking();
        let id = patch(&workspace, OF_MANY);
        let paths = ["/a.txt", "/b.txt", "/d/c.txt", "/new/deep/e.txt"];
        let is_chosen = |at: usize| choice & (1 << at) != 0;
        let chosen = paths.iter().enumerate().filter(|(at, _)| is_chosen(*at));
        let chosen: Vec<ChangePart> = chosen.map(|(_, path)| whole(path)).collect();
        approve(&workspace, id, &chosen);
        let done = [
            text(&workspace, "/a.txt") == lines("one", "twenty"),
            !workspace.has("/b.txt"),
            workspace.has("/d/c.txt") && !workspace.has("/c.txt"),
            workspace.has("/new/deep/e.txt") && workspace.has("/new"),
        ];
        let expected = [0, 1, 2, 3].map(is_chosen);
        assert_eq!(done, expected, "{choice:b}");
        assert_eq!(workspace.has("/d"), expected[2], "{choice:b}");
        assert_eq!(workspace.has("/new"), expected[3], "{choice:b}");
        let verified = workspace
            .perform(yard_core::op::Import { path: WsPath::root(), include_ignored: false });
        let verified = verified.unwrap();
        assert_eq!((verified.added, verified.changed, verified.removed), (0, 0, 0), "{choice:b}");
    }
}

#[test]
fn a_large_file_whose_removal_is_refused_stays_and_is_removed_and_restored_later() {
    let limits = Limits { load_bytes: 4_096, ..Limits::default() };
    let options = OpenOptions { limits, ..OpenOptions::default() };
    let workspace = TestWorkspace::open(&Folders::new(), options).unwrap();
    let large = "large\n".repeat(2_000);
    workspace.put("/dir/large", &large);
    workspace.put("/dir/other", &large);
    workspace.put("/dir/small", "small\n");
    under(&workspace, ASK_FOR_ALL);
    let remove = json!({"path": "dir", "recursive": true});
    let asked_to_remove = || {
        asked(&workspace.call_as(&workspace.session(), "assistant", "delete_file", remove.clone()))
    };
    let id = asked_to_remove();
    approve(&workspace, id, &[whole("/dir/small"), whole("/dir/other")]);
    assert!(!workspace.has("/dir/small") && !workspace.has("/dir/other"));
    assert_eq!(text(&workspace, "/dir/large"), large);
    let verify = || workspace.perform(yard_core::op::Verify).unwrap().problems;
    assert_eq!(verify(), Vec::<String>::new());

    let id = asked_to_remove();
    approve(&workspace, id, &[whole("/dir/large"), whole("/dir")]);
    assert!(!workspace.has("/dir"));
    under(&workspace, r#"{"rules": []}"#);
    let step = row(&workspace, id).step.unwrap();
    workspace.perform(yard_core::op::Undo { step, scope: Default::default() }).unwrap();
    assert_eq!(text(&workspace, "/dir/large"), large);
    assert_eq!(verify(), Vec::<String>::new());
}
