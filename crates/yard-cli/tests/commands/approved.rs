//! A landing that asks: kept until a person has decided, landed by the yes, never run again.

use serde_json::{Value, json};
use yard_gate::{Actor, ApprovalStatus, Policy, Ruling, Scope};
use yard_testkit::Yard;

use crate::ground::{asked, decide, guarded, picture, plan, shell_as, yard};

fn answer_of(approval: &yard_gate::Approval) -> Value {
    let kept: Value = serde_json::from_str(approval.answer.as_deref().unwrap()).unwrap();
    kept["body"]["result"].clone()
}

fn layers(yard: &Yard) -> usize {
    std::fs::read_dir(yard.folders().state().join("runs")).unwrap().count()
}

#[test]
fn a_yes_lands_what_was_shown_and_runs_nothing_again() {
    let yard = yard();
    yard.put("/a.txt", "one\n");
    // Whatever it writes, a second run would write something else.
    let command = "cat /proc/sys/kernel/random/uuid | tee a.txt";
    let answer = shell_as(&yard, &guarded(&yard), command);
    let id = asked(&answer);
    assert_eq!(yard.bytes("/a.txt"), b"one\n");
    let shown = yard.person().approvals().get(id).unwrap().request;
    assert!(shown.diff.contains("-one\n+"), "{}", shown.diff);
    let done = decide(&yard, id, true);
    assert_eq!(done.status, ApprovalStatus::Executed);
    let told = answer_of(&done);
    assert_eq!(told["stdout"].as_str().unwrap().as_bytes(), yard.bytes("/a.txt"));
    assert!(shown.diff.contains(told["stdout"].as_str().unwrap()), "what landed was shown");
    assert_eq!(layers(&yard), 0, "nothing is left of the run");
}

#[test]
fn a_no_drops_it() {
    let yard = yard();
    yard.put("/a.txt", "one\n");
    let id = asked(&shell_as(&yard, &guarded(&yard), "echo two > a.txt"));
    assert_eq!(layers(&yard), 1);
    assert_eq!(decide(&yard, id, false).status, ApprovalStatus::Denied);
    assert_eq!((yard.bytes("/a.txt"), layers(&yard)), (b"one\n".to_vec(), 0));
}

#[test]
fn a_landing_that_waits_survives_the_program() {
    let yard = yard();
    yard.put("/a.txt", "one\n");
    let id = asked(&shell_as(&yard, &guarded(&yard), "echo two > a.txt; echo said"));
    let yard = yard.reopen_as(plan());
    let done = decide(&yard, id, true);
    assert_eq!(
        (yard.bytes("/a.txt"), &answer_of(&done)["stdout"]),
        (b"two\n".to_vec(), &json!("said\n"))
    );
}

#[test]
fn a_file_that_changed_since_is_asked_about_again_or_is_a_conflict() {
    let yard = yard();
    let other = yard.session_of(Actor::LocalPerson, Policy::Open);
    let args = json!({"path": "/a.txt", "content": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"});
    yard.catalog().call("workspace", "write", args, &other, &yard.surroundings());
    let session = guarded(&yard);
    let id = asked(&shell_as(&yard, &session, "sed -i s/2/two/ a.txt"));
    let args =
        json!({"path": "/a.txt", "content": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "overwrite": true});
    yard.catalog().call("workspace", "write", args, &other, &yard.surroundings());
    let again = decide(&yard, id, true);
    assert_eq!(again.status, ApprovalStatus::Pending, "what would happen now was not shown");
    assert!(again.request.reason.contains("asked again"), "{}", again.request.reason);
    assert_eq!(decide(&yard, id, true).status, ApprovalStatus::Executed);
    assert_eq!(yard.bytes("/a.txt"), b"1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n");
}

#[test]
fn under_strict_a_start_asks_and_its_effect_asks_again() {
    let yard = yard();
    let session = yard.session_of(Actor::LocalAgent, Policy::Strict);
    let id = asked(&shell_as(&yard, &session, "echo once >> log; cat log"));
    assert_eq!(layers(&yard), 0, "nothing ran yet");
    let started = decide(&yard, id, true);
    assert_eq!(started.status, ApprovalStatus::Pending, "{:?}", started.request.reason);
    assert!(started.request.run.is_some() && started.request.diff.contains("+once"));
    assert!(!yard.has("/log"));
    let done = decide(&yard, id, true);
    assert_eq!((done.status, yard.bytes("/log")), (ApprovalStatus::Executed, b"once\n".to_vec()));
    yard.put("/kept", "x");
    let ruling = Ruling {
        approves: true,
        scope: Scope::Once,
        reason: None,
        args: Some(json!({"command": "rm log"})),
        state: None,
    };
    let id = asked(&shell_as(&yard, &guarded(&yard), "rm kept"));
    let refused = yard.catalog().decide(id, &ruling, &yard.person(), &yard.surroundings());
    assert!(refused.unwrap_err().message().contains("the command is over"));
}

#[test]
fn an_agent_cannot_land_what_waits() {
    let yard = yard();
    yard.put("/a.txt", "one\n");
    let session = guarded(&yard);
    let id = asked(&shell_as(&yard, &session, "echo two > a.txt"));
    let ruling =
        Ruling { approves: true, scope: Scope::Once, reason: None, args: None, state: None };
    assert!(yard.catalog().decide(id, &ruling, &session, &yard.surroundings()).is_err());
    assert_eq!(yard.bytes("/a.txt"), b"one\n");
}

#[test]
fn what_a_command_closed_waits_closed() {
    let yard = yard();
    yard.put("/a.txt", "one\n");
    let command =
        "mkdir -p d/e; echo x > d/e/f; echo y > g; chmod 000 g; chmod 555 d/e d; echo two > a.txt";
    let id = asked(&shell_as(&yard, &guarded(&yard), command));
    assert_eq!(decide(&yard, id, true).status, ApprovalStatus::Executed, "it is what was shown");
    let landed = picture(yard.root());
    let mode = |name: &str| landed[std::path::Path::new(name)].1;
    assert_eq!((mode("d"), mode("d/e"), mode("g")), (0o555, 0o555, 0));
}
