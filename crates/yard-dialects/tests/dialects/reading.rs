//! Rules about reading are about contents: what may not be read is left out of searches and counted, names
//! stay, and no edit tells what a file holds.

use serde_json::{Value, json};
use yard_dialects::Answer;
use yard_gate::{Actor, CallerPolicy, Session};
use yard_testkit::TestWorkspace;

const CANARY: &str = "canary-4711";
const OTHER_CANARY: &str = "canary-4712";

fn furnished(rules: &Value) -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.put("/secrets/k.txt", format!("password={CANARY}\nnext line\n"));
    workspace.put("/.env", format!("TOKEN={OTHER_CANARY}\n"));
    workspace.put("/src/a.py", "print('password')\n");
    workspace.put("/src/deep/b.py", "password = 1\n");
    let rules = json!({"rules": rules});
    workspace
        .person()
        .change_settings(&workspace.call_context(), rules.as_object().unwrap())
        .unwrap();
    workspace
}

fn call(
    workspace: &TestWorkspace,
    session: &Session,
    toolset: &str,
    tool: &str,
    args: Value,
) -> Answer {
    workspace.call_as(session, toolset, tool, args)
}

fn done(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> String {
    let answer = call(workspace, &workspace.session(), toolset, tool, args.clone());
    assert!(answer.ok && answer.pending.is_none(), "{tool} {args}: {}", answer.body);
    let body = answer.body.to_string();
    assert!(!body.contains(CANARY) && !body.contains(OTHER_CANARY), "{tool}: {body}");
    body
}

#[test]
fn c5_a_rule_about_reading_neither_asks_nor_fails_a_search_or_listing() {
    for (path, then) in
        [("secrets/**", "ask"), ("secrets/**", "deny"), (".env", "deny"), (".env", "ask")]
    {
        let workspace = furnished(&json!([{"effect": "read", "path": path, "then": then}]));
        for (toolset, tool, args, expected) in [
            ("workspace", "glob", json!({"pattern": "src/*.py"}), "a.py"),
            ("workspace", "glob", json!({"pattern": "**/*"}), "k.txt"),
            ("workspace", "ls", json!({"path": "/", "recursive": true}), ".env"),
            ("workspace", "ls", json!({"path": "/secrets"}), "k.txt"),
            ("workspace", "find", json!({"path": "/", "name": "*.txt"}), "k.txt"),
            ("workspace", "grep", json!({"pattern": "password", "path": "/src"}), "b.py"),
            ("file", "file.list", json!({"path": ".", "pattern": "**/*.py"}), "a.py"),
            ("file", "file.search", json!({"pattern": "password"}), "a.py"),
            ("coder", "glob", json!({"pattern": "**/*.txt"}), "k.txt"),
            ("coder", "ls", json!({"path": "secrets"}), "k.txt"),
            (
                "codex",
                "list_dir",
                json!({"dir_path": ".", "depth": 3, "offset": 1, "limit": 99}),
                "k.txt",
            ),
            ("assistant", "list_directory", json!({"path": ".", "recursive": true}), "k.txt"),
            ("assistant", "search_code", json!({"query": "password"}), "a.py"),
        ] {
            if workspace.catalog().get(toolset, tool).is_none() {
                continue;
            }
            let answer = call(&workspace, &workspace.session(), toolset, tool, args.clone());
            let body = answer.body.to_string();
            let withheld = if path == ".env" { OTHER_CANARY } else { CANARY };
            assert!(!body.contains(withheld), "{tool}: {body}");
            assert!(answer.pending.is_none(), "{then} {path}: {tool} asks: {body}");
            if answer.ok {
                assert!(body.contains(expected), "{then} {path}: {tool} {args}: {body}");
            } else {
                assert!(body.contains("rgument") || body.contains("VALIDATION"), "{tool}: {body}");
            }
        }
    }
}

#[test]
fn w10_what_may_not_be_read_is_left_out_of_a_search_and_counted() {
    for then in ["deny", "ask"] {
        let workspace =
            furnished(&json!([{"effect": "read", "path": ["secrets/**", ".env"], "then": then}]));
        let answer = done(&workspace, "workspace", "grep", json!({"pattern": "password|TOKEN"}));
        assert!(answer.contains("\"withheld\":2") && answer.contains("a.py"), "{answer}");
        let answer =
            done(&workspace, "workspace", "grep", json!({"pattern": "x", "path": "/secrets"}));
        assert!(answer.contains("\"withheld\":1"), "{answer}");
        let answer = done(&workspace, "workspace", "grep", json!({"pattern": "x", "path": "/src"}));
        assert!(!answer.contains("withheld"), "{answer}");
        let answer =
            done(&workspace, "assistant", "search_code", json!({"query": "password next line"}));
        assert!(answer.contains("may not be read"), "{answer}");
        // A file that is named itself is asked for or refused, as ever.
        let args = json!({"pattern": "password", "path": "/secrets/k.txt"});
        let named = call(&workspace, &workspace.session(), "workspace", "grep", args);
        assert_eq!(
            (named.ok, named.pending.is_some()),
            (then == "ask" && named.pending.is_some(), then == "ask"),
            "{}",
            named.body
        );
        assert!(!named.body.to_string().contains(CANARY));
    }
}

#[test]
fn names_are_left_out_where_a_rule_says_list() {
    let workspace = furnished(&json!([{"effect": "list", "path": "secrets/**", "then": "deny"}]));
    let answer = done(&workspace, "workspace", "glob", json!({"pattern": "**/*"}));
    assert!(
        !answer.contains("k.txt") && answer.contains("a.py") && answer.contains("withheld"),
        "{answer}"
    );
    let answer = done(&workspace, "workspace", "ls", json!({"path": "/", "recursive": true}));
    assert!(!answer.contains("k.txt") && answer.contains("a.py"), "{answer}");
}

/// Guesses at a line of the file, right and wrong, through every tool that changes a part of a file.
fn guesses(right: bool) -> Vec<(&'static str, &'static str, Value)> {
    let line = if right { format!("password={CANARY}") } else { "password=guess".to_owned() };
    let hash = if right {
        yard_core::ContentHash::of(format!("password={CANARY}\nnext line\n").as_bytes()).to_string()
    } else {
        "0".repeat(64)
    };
    let freeform = format!(
        "*** Begin Patch\n*** Update File: secrets/k.txt\n@@\n-{line}\n+changed\n*** End Patch\n"
    );
    let unified =
        format!("--- a/secrets/k.txt\n+++ b/secrets/k.txt\n@@ -1,1 +1,1 @@\n-{line}\n+changed\n");
    let edit = json!({"path": "/secrets/k.txt", "old_string": line, "new_string": "changed"});
    let linked = json!({"path": "/link.txt", "old_string": line, "new_string": "changed"});
    let file = json!({"path": "secrets/k.txt", "patches": [{"find": line, "replace": "changed"}]});
    let coder = json!({"filePath": "secrets/k.txt", "oldString": line, "newString": "changed"});
    let multi = json!({"filePath": "secrets/k.txt", "edits": [{"oldString": line, "newString": "changed"}]});
    let write = json!({"path": "/secrets/k.txt", "content": "x", "overwrite": true, "last_read_hash": hash});
    vec![
        ("workspace", "edit", edit),
        ("workspace", "edit", linked),
        ("workspace", "write", write),
        ("file", "file.patch", file),
        ("coder", "edit", coder),
        ("coder", "multiedit", multi),
        ("coder", "apply_patch", json!({"patch": unified})),
        ("codex", "apply_patch_freeform", json!({"patch": freeform})),
    ]
}

#[test]
fn an_edit_of_what_may_not_be_read_is_refused_alike_whether_or_not_it_would_fit() {
    let workspace = furnished(&json!([{"effect": "read", "path": "secrets/**", "then": "deny"}]));
    std::os::unix::fs::symlink("secrets/k.txt", workspace.root().join("link.txt")).unwrap();
    let before = workspace.bytes("/secrets/k.txt");
    for ((toolset, tool, right), (_, _, wrong)) in guesses(true).into_iter().zip(guesses(false)) {
        let right = call(&workspace, &workspace.session(), toolset, tool, right);
        let wrong = call(&workspace, &workspace.session(), toolset, tool, wrong);
        assert!(!right.ok && right.pending.is_none(), "{toolset}.{tool}: {}", right.body);
        assert_eq!(right.body.to_string(), wrong.body.to_string(), "{toolset}.{tool}");
        assert!(!right.body.to_string().contains("next line"), "{}", right.body);
    }
    assert_eq!(workspace.bytes("/secrets/k.txt"), before);
}

#[test]
fn a_failed_edit_quotes_nothing_that_a_person_was_not_asked_for() {
    // By a rule that asks, through every tool; under `guarded` in `coder`, which asks before it reads.
    let asks = furnished(&json!([{"effect": "read", "path": "secrets/**", "then": "ask"}]));
    let plain = furnished(&json!([]));
    let guarded = plain.session_of(Actor::LocalAgent, CallerPolicy::Guarded);
    std::os::unix::fs::symlink("secrets/k.txt", asks.root().join("link.txt")).unwrap();
    for (toolset, tool, args) in guesses(false) {
        let answer = call(&asks, &asks.session(), toolset, tool, args.clone());
        let body = answer.body.to_string();
        assert!(!body.contains(CANARY) && !body.contains("next line"), "{tool}: {body}");
        if toolset == "coder" {
            let answer = call(&plain, &guarded, toolset, tool, args);
            let body = answer.body.to_string();
            assert!(!body.contains(CANARY) && !body.contains("next line"), "{tool}: {body}");
        }
    }
    // What fits asks a person, who sees that it reads.
    let (toolset, tool, args) = guesses(true).swap_remove(0);
    let answer = call(&asks, &asks.session(), toolset, tool, args);
    assert!(answer.pending.is_some(), "{}", answer.body);
}

#[test]
fn a_step_shows_no_diff_of_what_may_not_be_read() {
    let workspace = furnished(&json!([]));
    let args = json!({"path": "/secrets/k.txt", "content": format!("other {CANARY}\n"), "overwrite": true});
    assert!(call(&workspace, &workspace.session(), "workspace", "write", args).ok);
    let history =
        yard_core::op::History { of: yard_core::op::HistoryOf::Workspace, before: None, limit: 9 };
    let step = workspace.perform(history).unwrap().steps[0].id;
    let show = yard_core::op::Show::all(step, 9_999);
    assert!(format!("{:?}", workspace.perform(show.clone()).unwrap()).contains(CANARY));
    let rules = json!({"rules": [{"effect": "read", "path": "secrets/**", "then": "deny"}]});
    workspace
        .person()
        .change_settings(&workspace.call_context(), rules.as_object().unwrap())
        .unwrap();
    assert!(!format!("{:?}", workspace.perform(show).unwrap()).contains(CANARY));
}

#[test]
fn a_diff_that_may_not_be_shown_is_empty_and_not_cut() {
    let workspace = furnished(&json!([{"effect": "read", "path": "secrets/**", "then": "deny"}]));
    let args = json!({"filePath": "secrets/new.txt", "content": "x\n"});
    let answer = call(&workspace, &workspace.session(), "coder", "write", args);
    let reply = &answer.body["result"];
    let diff = (&reply["diff"], &reply["diffTruncated"]);
    assert_eq!(diff, (&json!(""), &json!(false)), "{}", answer.body);
}

#[test]
fn agents_speak_as_agents() {
    let workspace = TestWorkspace::new();
    let call = workspace.call_context();
    let chat = workspace.person().chats().make(&call, "Talk", None).unwrap().id;
    use yard_gate::MessageRole;
    for role in [MessageRole::User, MessageRole::System] {
        assert!(workspace.session().chats().post(&call, chat, role, "x").is_err(), "{role:?}");
        assert!(workspace.person().chats().post(&call, chat, role, "x").is_ok(), "{role:?}");
    }
    for role in [MessageRole::Assistant, MessageRole::Tool] {
        assert!(workspace.session().chats().post(&call, chat, role, "x").is_ok(), "{role:?}");
    }
}
