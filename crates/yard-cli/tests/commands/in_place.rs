//! Commands where there are walls and no layers: in place, asked about before they start, recorded when
//! they are over.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use yard_core::Author;
use yard_core::op::Undo;
use yard_gate::ApprovalStatus;
use yard_kernel::CommandBox;
use yard_sandbox::{Level, Sandbox, SandboxConfig, Walls};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use crate::box_setup::{asked, decide, differences, guarded, newest, picture, shell, shell_as};

fn plan() -> OpenOptions {
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_toolyard"));
    let walls = Walls { namespaces: false, ..Walls::default() };
    let wish = SandboxConfig { walls, ..SandboxConfig::default() };
    OpenOptions {
        boxed: Some(CommandBox::new(move || Sandbox::probe(helper, wish))),
        ..OpenOptions::default()
    }
}

fn workspace() -> TestWorkspace {
    let workspace = TestWorkspace::open(&Folders::new(), plan()).unwrap();
    assert_eq!(workspace.kernel().box_level(), Some(Level::Walls));
    workspace
}

#[test]
fn what_it_changed_is_a_step_of_its_callers_and_can_be_undone() {
    let workspace = workspace();
    let root = workspace.root();
    fs::create_dir_all(root.join("src/deep")).unwrap();
    fs::write(root.join("src/a.txt"), "one\n").unwrap();
    fs::write(root.join("src/deep/tool"), [0, 159, 146, 150]).unwrap();
    fs::set_permissions(root.join("src/deep/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("a.txt", root.join("src/link")).unwrap();
    let before = picture(root);
    let reply = shell(
        &workspace,
        "echo two > src/a.txt; chmod 600 src/deep/tool; rm src/link; mkdir -p new/er; \
         echo x > new/er/file; ln -s er new/link; mv src/deep src/deeper; echo $HOME $TMPDIR",
    );
    assert!(reply["message"].as_str().unwrap().contains("can be undone"), "{reply}");
    let after = picture(root);
    assert_ne!(before, after);
    let (step, author) = newest(&workspace);
    assert_ne!(author, Author::External);
    workspace.perform(Undo::of(step)).unwrap();
    let now = picture(root);
    assert_eq!(now, before, "{:?}", differences(&now, &before));
    workspace.perform(Undo::of(newest(&workspace).0)).unwrap();
    let now = picture(root);
    assert_eq!(now, after, "{:?}", differences(&now, &after));
}

#[test]
fn what_was_there_before_is_nobodys_doing_but_others() {
    let workspace = workspace();
    let root = workspace.root();
    workspace.put("/known.txt", "one\n");
    fs::write(root.join("known.txt"), "by an editor\n").unwrap();
    fs::write(root.join("strange.txt"), "by an editor\n").unwrap();
    let reply = shell(&workspace, "echo x > mine.txt");
    assert!(reply["message"].as_str().unwrap().contains("1 created ("), "{reply}");
    workspace.perform(Undo::of(newest(&workspace).0)).unwrap();
    assert_eq!(workspace.bytes("/known.txt"), b"by an editor\n");
    assert_eq!(workspace.bytes("/strange.txt"), b"by an editor\n");
    assert!(!root.join("mine.txt").exists());
}

#[test]
fn a_command_that_changes_nothing_leaves_no_step() {
    let workspace = workspace();
    shell(&workspace, "echo one > a.txt");
    let step = newest(&workspace).0;
    let reply = shell(&workspace, "cat a.txt");
    assert_eq!((&reply["stdout"], &reply["message"]), (&json!("one\n"), &Value::Null));
    assert_eq!(newest(&workspace).0, step);
}

#[test]
fn guarded_asks_before_it_starts_and_a_yes_runs_it_once() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    let answer = shell_as(&workspace, &guarded(&workspace), "echo run >> a.txt; echo said");
    let id = asked(&answer);
    assert_eq!(workspace.bytes("/a.txt"), b"one\n", "it waits");
    let request = workspace.person().approvals().get(id).unwrap().request;
    assert!(request.reason.contains("in place"), "{}", request.reason);
    let done = decide(&workspace, id, true);
    assert_eq!(done.status, ApprovalStatus::Executed);
    assert_eq!(workspace.bytes("/a.txt"), b"one\nrun\n");
    let kept: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    assert_eq!(kept["body"]["result"]["stdout"], "said\n");
    let (step, author) = newest(&workspace);
    assert_ne!(author, Author::External);
    workspace.perform(Undo::of(step)).unwrap();
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
}

#[test]
fn a_no_runs_nothing() {
    let workspace = workspace();
    let id = asked(&shell_as(&workspace, &guarded(&workspace), "echo x > a.txt"));
    assert_eq!(decide(&workspace, id, false).status, ApprovalStatus::Denied);
    assert!(!workspace.root().join("a.txt").exists());
}

#[test]
fn w16_in_plan_mode_it_can_only_read() {
    let workspace = workspace();
    workspace.put("/a.txt", "one\n");
    let call = workspace.call_context();
    let chat =
        workspace.person().chats().make(&call, "OpenOptions", Some(yard_gate::Mode::Plan)).unwrap();
    let session = workspace.session().in_chat(chat.id).unwrap();
    let command = "cat a.txt; echo two > a.txt; echo x > b.txt; rm -f a.txt; ls";
    let answer = shell_as(&workspace, &session, command);
    let reply = &answer.body["result"];
    assert_eq!(reply["stdout"], "one\na.txt\n", "{}", answer.body);
    assert!(reply["message"].as_str().unwrap().contains("plan mode"), "{reply}");
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
}

#[test]
fn a_rule_that_forbids_to_change_something_forbids_to_start() {
    let workspace = workspace();
    let rules = json!({"rules": [{"effect": "remove", "path": "keep/**", "then": "deny"}]});
    workspace
        .person()
        .change_settings(&workspace.call_context(), rules.as_object().unwrap())
        .unwrap();
    let answer = shell_as(&workspace, &workspace.session(), "rm -rf keep");
    assert!(!answer.ok, "{}", answer.body);
    assert!(answer.body.to_string().contains("forbids"), "{}", answer.body);
}

#[test]
fn a3_code_runs_and_has_a_folder_of_its_own() {
    let workspace = workspace();
    let code = "import tempfile, sys\nwith tempfile.NamedTemporaryFile() as f:\n    print('own', sys.argv[1])";
    let args = json!({"language": "python", "code": code, "args": ["arg"]});
    let answer = workspace.call_of("assistant", "run_code", args);
    assert_eq!(answer.body["result"]["value"]["stdout"], "own arg\n", "{}", answer.body);
    assert!(picture(workspace.root()).is_empty());
    assert_eq!(fs::read_dir(workspace.folders().state().join("runs")).unwrap().count(), 0);
}

#[test]
fn what_is_ignored_is_not_covered() {
    let workspace = workspace();
    workspace.put("/.gitignore", "*.log\n");
    shell(&workspace, "echo x > a.log; echo x > a.txt");
    workspace.perform(Undo::of(newest(&workspace).0)).unwrap();
    let root = workspace.root();
    assert_eq!((root.join("a.txt").exists(), root.join("a.log").exists()), (false, true));
}
