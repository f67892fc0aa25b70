//! Under `guarded` the same effect gets the same base verdict, whichever tool, command or language does it,
//! and a dialect is only ever stricter. Effects and ways are drawn, tools are not.

use serde_json::{Value, json};
use yard_dialects::Answer;
use yard_gate::{Session, Verdict};
use yard_testkit::{Dice, TestWorkspace};

use crate::box_setup::{asked, decide, guarded, shell_as, shown, times, workspace};
use crate::effects::{COMMANDS, ChangeKind, Effect, FILE_TOOLS, ToolCall, Way, Whose};

/// Twenty lines that somebody else wrote.
fn twenty() -> String {
    (1..=20).map(|line| format!("line {line} of what others wrote\n")).collect()
}

fn call(workspace: &TestWorkspace, session: &Session, what: (&str, &str, Value)) -> Answer {
    let (toolset, tool, args) = what;
    workspace.call_as(session, toolset, tool, args)
}

#[test]
fn b1_the_same_effect_gets_the_same_base_verdict_whichever_way_it_is_done() {
    let workspace = workspace();
    let session = guarded(&workspace);
    let mut dice = Dice::new(1);
    let ways: Vec<&Way> = FILE_TOOLS.iter().chain(&COMMANDS).collect();
    // Every deed by every way once, and then at random.
    let every = ChangeKind::ALL
        .into_iter()
        .flat_map(|change_kind| ways.iter().map(move |way| (change_kind, *way)));
    let mut drawn: Vec<(ChangeKind, &Way)> = every.collect();
    for _ in 0..times(3_000).saturating_sub(drawn.len()) {
        drawn.push((*dice.pick(&ChangeKind::ALL), *dice.pick(&ways)));
    }
    let mut done = [0; 2];
    for (at, (change_kind, way)) in drawn.into_iter().enumerate() {
        let effect = Effect::draw(&mut dice, change_kind, &Whose::ALL);
        let folder = format!("w{at}");
        let path = format!("{folder}/{}", effect.place.path());
        // The same file may be named through a link to a folder above it, or to the file itself.
        let is_written_into = effect.after().is_some() && effect.before().is_some();
        let named = match dice.roll(6) {
            0 | 1 => format!("link-{path}"),
            2 if way.follows_links && is_written_into => format!("{folder}/link-to-file"),
            _ => path.clone(),
        };
        let Some(call) = (way.of)(effect, &named) else { continue };
        let chat =
            workspace.person().chats().make(&workspace.call_context(), &folder, None).unwrap();
        let session = session.in_chat(chat.id).unwrap();
        furnish(&workspace, &session, effect, &folder, &path);
        let answer = called(&workspace, &session, &call);
        let asks = answer.pending.is_some();
        let what = format!("{effect:?} at {named} by {}: {}", way.name, answer.body);
        assert!(asks || answer.ok, "{what}");
        match effect.asks(call.edits) {
            true => assert!(asks, "it did not ask: {what}"),
            false => assert!(!asks || way.is_stricter, "it asked: {what}"),
        }
        done[usize::from(asks)] += 1;
    }
    assert!(done.iter().all(|count| *count > 20), "both verdicts are drawn: {done:?}");
}

/// Makes what an effect finds: the file, as whose it is, a link to its folder and one to the file.
fn furnish(workspace: &TestWorkspace, session: &Session, effect: Effect, folder: &str, path: &str) {
    workspace.put(&format!("/{folder}/other.txt"), "so that the folder is there\n");
    std::os::unix::fs::symlink(folder, workspace.root().join(format!("link-{folder}"))).unwrap();
    let Some(before) = effect.before() else { return };
    let link = workspace.root().join(folder).join("link-to-file");
    std::os::unix::fs::symlink(effect.place.path(), link).unwrap();
    let write = |session: &Session, path: &str, bytes: &[u8]| {
        let args =
            json!({"path": path, "content": String::from_utf8_lossy(bytes), "createDirs": true});
        let args = match std::str::from_utf8(bytes) {
            Ok(_) => args,
            Err(_) => {
                json!({"path": path, "content": BASE64, "encoding": "base64", "createDirs": true})
            }
        };
        settled(workspace, session, ("assistant", "write_file", args));
    };
    let moved = |session: &Session, from: &str, to: &str| {
        settled(workspace, session, ("assistant", "move_file", json!({"from": from, "to": to})));
    };
    let elsewhere = format!("{folder}/before.txt");
    match effect.whose {
        Whose::Own => write(session, path, &before),
        Whose::OwnMoved => {
            write(session, &elsewhere, &before);
            make_folder(workspace, session, path);
            moved(session, &elsewhere, path);
        }
        Whose::Persons => write(&workspace.person(), path, &before),
        Whose::OnDisk => workspace.put(&format!("/{path}"), &before),
        Whose::OtherChats => {
            let other = workspace
                .person()
                .chats()
                .make(&workspace.call_context(), "another", None)
                .unwrap();
            write(&session.in_chat(other.id).unwrap(), path, &before);
        }
        Whose::OwnButRewritten => {
            write(session, path, b"what the chat wrote\n");
            workspace.put(&format!("/{path}"), &before);
        }
        Whose::PersonsMoved => {
            write(&workspace.person(), &elsewhere, &before);
            make_folder(workspace, session, path);
            moved(session, &elsewhere, path);
        }
    }
    // In the very tick in which a command begins, a mode that was just set counts as set beside it.
    std::thread::sleep(std::time::Duration::from_millis(30));
}

/// The bytes of what is no text, as the `assistant` writes them.
const BASE64: &str = "AAEC/wAH";

fn make_folder(workspace: &TestWorkspace, session: &Session, path: &str) {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let args = json!({"path": format!("/{folder}")});
    settled(workspace, session, ("workspace", "mkdir", args));
}

/// A call that happens, after a person's yes where one is needed.
fn settled(workspace: &TestWorkspace, session: &Session, what: (&str, &str, Value)) {
    let answer = call(workspace, session, what);
    match &answer.pending {
        None => assert!(answer.ok, "{}", answer.body),
        Some(_) => {
            let done = decide(workspace, asked(&answer), true);
            assert_eq!(done.status, yard_gate::ApprovalStatus::Executed, "{done:?}");
        }
    }
}

fn called(workspace: &TestWorkspace, session: &Session, made: &ToolCall) -> Answer {
    call(workspace, session, (made.toolset, made.tool, made.args.clone()))
}

#[test]
fn b1_a_yes_to_coder_for_the_chat_is_none_to_what_everybody_is_asked_for() {
    let workspace = workspace();
    workspace.put("/a.txt", twenty());
    workspace.put("/b.txt", twenty());
    let session = guarded(&workspace);
    let edit = |path: &str, old: &str| {
        let args = json!({"filePath": path, "oldString": old, "newString": "x"});
        call(&workspace, &session, ("coder", "edit", args))
    };
    let first = edit("a.txt", "line 7 of");
    let ruling = yard_gate::DecisionInput {
        approves: true,
        scope: yard_gate::Scope::Chat,
        reason: None,
        args: None,
        state: shown(&workspace, asked(&first)),
        planned: None,
        parts: None,
    };
    workspace
        .catalog()
        .decide(asked(&first), &ruling, &workspace.person(), &workspace.call_context())
        .unwrap();
    assert!(edit("b.txt", "line 8 of").pending.is_none(), "it was a yes for the chat");
    let args = json!({"filePath": "b.txt", "content": "all new\n"});
    let replaced = call(&workspace, &session, ("coder", "write", args));
    assert!(replaced.pending.is_some(), "{}", replaced.body);
}

#[test]
fn b1_an_edit_tool_may_change_all_of_a_short_file_and_a_write_may_not() {
    let workspace = workspace();
    let session = guarded(&workspace);
    workspace.put("/short.txt", "one\ntwo\n");
    let edit = json!({"path": "/short.txt", "old_string": "one\ntwo\n", "new_string": "three\n"});
    let done = call(&workspace, &session, ("workspace", "edit", edit));
    assert!(done.ok && done.pending.is_none(), "{}", done.body);
    workspace.put("/other.txt", "one\ntwo\n");
    let write = json!({"path": "/other.txt", "content": "three\n", "overwrite": true});
    assert!(call(&workspace, &session, ("workspace", "write", write)).pending.is_some());
    workspace.put("/long.txt", twenty());
    let edit = json!({"path": "/long.txt", "old_string": twenty(), "new_string": "three\n"});
    assert!(call(&workspace, &session, ("workspace", "edit", edit)).pending.is_some());
}

#[test]
fn b1_many_small_edits_do_not_add_up_to_a_replacement() {
    let workspace = workspace();
    let session = guarded(&workspace);
    workspace.put("/long.txt", twenty());
    for line in 1..=20 {
        let old = format!("line {line} of what others wrote");
        let args =
            json!({"path": "/long.txt", "old_string": old, "new_string": format!("mine {line}")});
        let answer = call(&workspace, &session, ("workspace", "edit", args));
        assert_eq!(answer.pending.is_some(), line > 10, "line {line}: {}", answer.body);
    }
}

#[test]
fn b8_what_was_approved_for_a_path_is_not_asked_again_in_that_chat() {
    let workspace = workspace();
    let session = guarded(&workspace);
    workspace.put("/a.txt", twenty());
    let write = |session: &Session, text: &str| {
        let args = json!({"path": "/a.txt", "content": text, "overwrite": true});
        call(&workspace, session, ("workspace", "write", args))
    };
    let first = write(&session, "first\n");
    decide(&workspace, asked(&first), true);
    assert_eq!(workspace.bytes("/a.txt"), b"first\n");
    workspace.put("/a.txt", twenty());
    let again = write(&session, "second\n");
    assert!(again.ok && again.pending.is_none(), "{}", again.body);
    workspace.put("/a.txt", twenty());
    let removed = call(&workspace, &session, ("workspace", "rm", json!({"path": "/a.txt"})));
    assert!(removed.pending.is_some(), "a removal is more than a replacement");
    let chat = workspace.person().chats().make(&workspace.call_context(), "other", None).unwrap();
    let other = session.in_chat(chat.id).unwrap();
    assert!(write(&other, "third\n").pending.is_some(), "another chat was allowed nothing");
}

#[test]
fn b8_git_init_passes_and_a_hook_or_another_key_asks() {
    let workspace = workspace();
    let session = guarded(&workspace);
    for (command, lands) in [
        ("git init -q a", true),
        ("git init -q --bare b.git", true),
        ("git init -q c && git -C c config core.fsmonitor ./x", false),
        ("git init -q d && echo 'exit 0' > d/.git/hooks/pre-commit", false),
        ("git -C a config core.hooksPath ../hooks", false),
    ] {
        let answer = shell_as(&workspace, &session, command);
        assert!(answer.ok, "{command}: {}", answer.body);
        assert_eq!(answer.pending.is_none(), lands, "{command}: {}", answer.body);
    }
}

#[test]
fn g6_what_git_runs_or_obeys_asks_wherever_it_lies() {
    let workspace = workspace();
    let git = "git init -q . && git config core.hooksPath tools/hooks && \
               git config include.path ../shared.gitconfig && git config core.fsmonitor ./watch.sh && \
               mkdir -p tools && git init -q --bare store.git && mkdir half && \
               printf '[core]\\n\\tfsmonitor = ./x\\n' > half/config && mkdir half/objects half/refs";
    let done =
        std::process::Command::new("sh").args(["-c", git]).current_dir(workspace.root()).status();
    assert!(done.unwrap().success());
    let session = guarded(&workspace);
    let write = |path: &str| {
        let args = json!({"path": path, "content": "x\n", "overwrite": true});
        call(&workspace, &session, ("workspace", "write", args)).pending.is_some()
    };
    for path in [
        "/.git/rebase-merge/git-rebase-todo",
        "/.git/rebase-apply/patch",
        "/.git/sequencer/todo",
        "/.git/objects/info/alternates",
        "/tools/hooks/pre-commit",
        "/shared.gitconfig",
        "/watch.sh",
        "/store.git/config",
        "/store.git/hooks/post-receive",
        "/store.git/objects/info/alternates",
        "/half/HEAD",
    ] {
        assert!(write(path), "{path}");
    }
    for path in ["/tools/build.sh", "/gitconfig", "/half/notes.txt", "/new/HEAD", "/Makefile"] {
        assert!(!write(path), "{path}");
    }
    for command in [
        "mkdir -p tools/hooks; echo 'exit 0' > tools/hooks/pre-push",
        "ln -s /tmp tools/hooks",
        "mkdir .git/rebase-merge; echo 'exec x' > .git/rebase-merge/git-rebase-todo",
    ] {
        assert!(shell_as(&workspace, &session, command).pending.is_some(), "{command}");
    }
}

/// Runs a command whose changes a rule denies.
fn check_nothing_lands(workspace: &TestWorkspace, session: &Session, command: &str) {
    let answer = shell_as(workspace, session, command);
    let message = answer.body["result"]["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("nothing that the command changed was kept"),
        "{command}: {}",
        answer.body
    );
}

#[test]
fn g9_links_do_not_lead_around_a_rule() {
    let workspace = workspace();
    workspace.put("/real/app.toml", "a = 1\n");
    workspace.put("/evil/x", "x\n");
    std::os::unix::fs::symlink("real", workspace.root().join("config")).unwrap();
    let rules = json!({"rules": [
        {"effect": "change", "path": "deploy/**", "then": "deny"},
        {"effect": "change", "path": "config/**", "then": "deny"},
        {"effect": "change", "path": "*.lock", "then": "deny"},
    ]});
    let call_of = workspace.call_context();
    workspace.person().change_settings(&call_of, rules.as_object().unwrap()).unwrap();
    let session = workspace.session();
    for command in ["ln -s evil deploy", "echo b >> config/app.toml", "echo b >> real/app.toml"] {
        check_nothing_lands(&workspace, &session, command);
    }
    std::os::unix::fs::symlink("evil/x", workspace.root().join("a.lock")).unwrap();
    for path in ["/config/app.toml", "/real/app.toml", "/a.lock"] {
        let args = json!({"path": path, "content": "b\n", "overwrite": true});
        let answer = call(&workspace, &session, ("workspace", "write", args));
        assert_eq!(answer.body["code"], "FORBIDDEN", "{path}: {}", answer.body);
    }
    assert_eq!(workspace.bytes("/real/app.toml"), b"a = 1\n");
    assert!(!workspace.has("/deploy"));
}

#[test]
fn g10_a_link_in_the_place_of_a_file_is_a_change_of_it() {
    let workspace = workspace();
    workspace.put("/conf", "a\n");
    workspace.put("/a.txt", "a\n");
    let rules = json!({"rules": [
        {"effect": "modify", "path": "/conf", "then": "deny"},
        {"effect": "create", "path": "**/*.sh", "then": "deny"},
    ]});
    workspace
        .person()
        .change_settings(&workspace.call_context(), rules.as_object().unwrap())
        .unwrap();
    let session = workspace.session();
    for command in ["ln -sf a.txt conf", "rm conf; echo b > conf", "mv conf c", "mv a.txt a.sh"] {
        check_nothing_lands(&workspace, &session, command);
    }
    for (tool, args) in [
        ("rm", json!({"path": "/conf"})),
        ("mv", json!({"source": "/conf", "destination": "/c"})),
        ("mv", json!({"source": "/a.txt", "destination": "/a.sh"})),
    ] {
        let answer = call(&workspace, &session, ("workspace", tool, args));
        assert_eq!(answer.body["code"], "FORBIDDEN", "{tool}: {}", answer.body);
    }
}

#[test]
fn g11_an_ignore_file_of_another_agent_gives_no_leave_either() {
    let workspace = workspace();
    workspace.put("/build/hand-written", "x\n");
    let session = guarded(&workspace);
    let other = workspace.person().chats().make(&workspace.call_context(), "other", None).unwrap();
    let other = session.in_chat(other.id).unwrap();
    assert!(shell_as(&workspace, &other, "echo build/ > .gitignore").pending.is_none());
    let asks = shell_as(&workspace, &session, "rm -rf build").pending.is_some();
    assert!(asks, "an agent wrote the ignore file");
    let workspace = crate::box_setup::workspace();
    let session = guarded(&workspace);
    workspace.put("/build/made", "x\n");
    workspace.put("/.ignore", "build/\n");
    assert!(
        shell_as(&workspace, &session, "rm -rf build").pending.is_none(),
        "a person ignores it"
    );
}

#[test]
fn b5_a_viewer_s_push_starts_nothing_and_plan_mode_neither() {
    let workspace = workspace();
    let git = "git init -q -b main . && git config user.email a@example.com && \
               git config user.name A && git commit -q --allow-empty -m one && git init -q --bare r.git";
    let done =
        std::process::Command::new("sh").args(["-c", git]).current_dir(workspace.root()).status();
    assert!(done.unwrap().success());
    let push = json!({"remote": "r.git", "branch": "main"});
    let starts = |workspace: &TestWorkspace| {
        let verified = workspace.perform(yard_core::op::Verify).unwrap();
        verified.audit_rows
    };
    let viewer =
        workspace.session_of(yard_gate::Actor::LocalAgent, yard_gate::CallerPolicy::ReadOnly);
    let before = starts(&workspace);
    let answer = call(&workspace, &viewer, ("assistant", "git_push", push.clone()));
    assert_eq!(answer.body["result"]["error"]["code"], "PERMISSION_DENIED", "{}", answer.body);
    assert_eq!(starts(&workspace), before + 1, "the denial, and no start");
    let chat = workspace.person().chats().make(
        &workspace.call_context(),
        "Plan",
        Some(yard_gate::Mode::Plan),
    );
    let planning = workspace.session().in_chat(chat.unwrap().id).unwrap();
    let answer = call(&workspace, &planning, ("assistant", "git_push", push.clone()));
    assert_eq!(answer.body["result"]["error"]["code"], "PERMISSION_DENIED", "{}", answer.body);
    let rules = json!({"rules": [{"effect": "run", "tool": "*.git_push", "then": "deny"}]});
    workspace
        .person()
        .change_settings(&workspace.call_context(), rules.as_object().unwrap())
        .unwrap();
    let answer = call(&workspace, &workspace.session(), ("assistant", "git_push", push));
    assert_eq!(answer.body["result"]["error"]["code"], "PERMISSION_DENIED", "{}", answer.body);
}

#[test]
fn b8_a_push_that_cannot_work_does_not_ask() {
    let workspace = workspace();
    let git = "git init -q -b main . && git config user.email a@example.com && \
               git config user.name A && git commit -q --allow-empty -m one";
    let done =
        std::process::Command::new("sh").args(["-c", git]).current_dir(workspace.root()).status();
    assert!(done.unwrap().success());
    for remote in ["nowhere.git", "ssh://git.example/x.git"] {
        let push = json!({"remote": remote, "branch": "main"});
        let answer = call(&workspace, &workspace.session(), ("assistant", "git_push", push));
        assert!(answer.pending.is_none() && !answer.ok, "{remote}: {}", answer.body);
    }
}

#[test]
fn without_a_person_whatever_would_ask_is_refused_at_once() {
    let workspace = workspace();
    workspace.put("/a.txt", twenty());
    let session = guarded(&workspace).without_person();
    let removed = call(&workspace, &session, ("workspace", "rm", json!({"path": "/a.txt"})));
    assert_eq!(removed.body["code"], "FORBIDDEN", "{}", removed.body);
    let shell = shell_as(&workspace, &session, "rm a.txt");
    assert!(shell.pending.is_none(), "{}", shell.body);
    assert!(workspace.has("/a.txt"));
    let open = workspace.person().approvals().list(yard_gate::ApprovalFilter::default(), None, 10);
    assert_eq!(open.unwrap().rows.len(), 0, "nobody is asked");
}

#[test]
fn a_session_for_one_toolset_uses_no_other() {
    let workspace = workspace();
    workspace.put("/a.txt", "a\n");
    let session = guarded(&workspace).with_toolsets(&["coder".to_owned()]);
    let refused = call(&workspace, &session, ("workspace", "read", json!({"path": "/a.txt"})));
    assert_eq!(refused.body["code"], "FORBIDDEN", "{}", refused.body);
    let answer = call(&workspace, &session, ("coder", "ls", json!({"dirPath": "."})));
    assert!(answer.ok, "{}", answer.body);
}

#[test]
fn policy_explain_says_which_rule_decided() {
    let workspace = workspace();
    workspace.put("/a.txt", twenty());
    let session = guarded(&workspace);
    let because = |(toolset, tool, args): (&str, &str, Value)| {
        let notes =
            workspace.catalog().explain(toolset, tool, args, &session, &workspace.call_context());
        let notes = notes.unwrap();
        let last = notes.last().unwrap();
        (matches!(last.verdict, Verdict::Ask(_)), last.because.clone())
    };
    let (asks, why) = because(("workspace", "rm", json!({"path": "/a.txt"})));
    assert!(asks && why.contains("what others made is removed"), "{why}");
    let (asks, why) = because(("workspace", "write", json!({"path": "/.envrc", "content": "x"})));
    assert!(asks && why.contains("decides about the programs of others"), "{why}");
    let edit = json!({"path": "/a.txt", "old_string": "line 7 of", "new_string": "x"});
    let (asks, why) = because(("workspace", "edit", edit));
    assert!(!asks && why.contains("`guarded` lets it happen"), "{why}");
}
