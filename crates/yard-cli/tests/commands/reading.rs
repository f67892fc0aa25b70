//! What a caller may not read is masked in every box and terminal: names stay, contents never come out,
//! and nothing of the masks is taken for a change.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yard_core::ChatId;
use yard_dialects::{Answer, Catalog};
use yard_gate::{Scope, Session};
use yard_kernel::CommandBox;
use yard_sandbox::{Level, Sandbox, SandboxConfig};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use crate::attempts::{ATTEMPTS, CANARIES, Dice, args_for};
use crate::box_setup::{picture, plan, shell, shell_as, times, workspace};

fn rules(workspace: &TestWorkspace, then: &str) {
    let rules = json!({"rules": [
        {"effect": "read", "path": ["secrets/**", "conf/deep/**"], "then": then},
        {"effect": "read", "path": ".env", "then": then},
    ]});
    set(workspace, &rules);
}

fn set(workspace: &TestWorkspace, rules: &Value) {
    workspace
        .person()
        .change_settings(&workspace.call_context(), rules.as_object().unwrap())
        .unwrap();
}

/// Files of which some may not be read.
fn furnished() -> TestWorkspace {
    let workspace = workspace();
    workspace.put("/secrets/k.txt", format!("{}\nsecond line\n", CANARIES[0]));
    workspace.put("/secrets/sub/other.txt", format!("{}\n", CANARIES[0]));
    workspace.put("/.env", format!("TOKEN={}\n", CANARIES[1]));
    workspace.put("/app/.env", format!("TOKEN={}\n", CANARIES[1]));
    workspace.put("/conf/deep/key.pem", format!("{}\n", CANARIES[2]));
    workspace.put("/conf/plain.txt", "plain\n");
    workspace.put("/src/main.py", "print('hello')\n");
    std::os::unix::fs::symlink("secrets/k.txt", workspace.root().join("link.txt")).unwrap();
    workspace
}

fn check_no_canary(what: &str, answer: &str) {
    for canary in CANARIES {
        assert!(!answer.contains(canary), "{what} told {canary}: {answer}");
    }
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

#[test]
fn no_command_reads_what_its_caller_may_not_under_deny_and_ask() {
    for then in ["deny", "ask"] {
        let workspace = furnished();
        let before = picture(workspace.root());
        rules(&workspace, then);
        for attempt in ATTEMPTS {
            let answer = shell_as(&workspace, &workspace.session(), attempt);
            check_no_canary(attempt, &answer.body.to_string());
            check_no_canary(attempt, &format!("{:?}", answer.pending));
        }
        // Whatever was allowed to land is on disk now: nothing of it holds a canary either.
        let after = picture(workspace.root());
        for (path, (kind, mode, bytes)) in &before {
            let named = path.to_string_lossy();
            if named.starts_with("secrets") || named.ends_with(".env") || named.ends_with(".pem") {
                assert_eq!(after.get(path), Some(&(*kind, *mode, bytes.clone())), "{named}");
            }
        }
        for (path, (_, _, bytes)) in after.iter().filter(|(path, _)| !before.contains_key(*path)) {
            check_no_canary(&path.to_string_lossy(), &String::from_utf8_lossy(bytes));
        }
    }
}

#[test]
fn names_stay_the_rest_works_and_the_answer_counts_what_is_masked() {
    let workspace = furnished();
    rules(&workspace, "deny");
    let answer =
        shell(&workspace, "ls secrets secrets/sub; cat conf/plain.txt; echo new > conf/new.txt");
    let text = answer.to_string();
    for name in ["k.txt", "other.txt", "plain"] {
        assert!(text.contains(name), "{name}: {answer}");
    }
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("5 files may not be read"), "{message}");
    assert!(message.contains("1 created"), "{message}");
    assert_eq!(workspace.bytes("/conf/new.txt"), b"new\n");
    // Where nothing is withheld nothing is said.
    set(&workspace, &json!({"rules": []}));
    let answer = shell(&workspace, "cat secrets/k.txt");
    assert!(answer.to_string().contains(CANARIES[0]), "{answer}");
    assert!(!answer.to_string().contains("may not be read"), "{answer}");
}

#[test]
fn a_mask_is_no_change_when_the_command_lands() {
    let workspace = furnished();
    let before = picture(workspace.root());
    rules(&workspace, "deny");
    let answer = shell(
        &workspace,
        "stat secrets/k.txt .env >/dev/null; touch secrets/k.txt; ls -lR >/dev/null",
    );
    assert!(!answer["message"].as_str().unwrap().contains("files:"), "{answer}");
    assert_eq!(picture(workspace.root()), before);
}

/// A thousand masks in different folders cost a command at most 50 ms; the time is compared in the soak alone, since
/// a busy machine may take any.
#[test]
fn a_thousand_masked_files_cost_a_command_little() {
    let workspace = workspace();
    for folder in 0..100 {
        for file in 0..50 {
            let ending = if file < 10 { "pem" } else { "txt" };
            workspace.put(&format!("/src/{folder}/{file}.{ending}"), CANARIES[0]);
        }
    }
    let median = || {
        let mut took: Vec<Duration> = (0..5)
            .map(|_| {
                let began = Instant::now();
                shell(&workspace, "true");
                began.elapsed()
            })
            .collect();
        took.sort();
        took[2]
    };
    let without = median();
    set(&workspace, &json!({"rules": [{"effect": "read", "path": "**/*.pem", "then": "deny"}]}));
    let answer = shell(&workspace, "cat src/*/*.pem | wc -c");
    assert_eq!(answer["stdout"], "0\n", "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("1000 files may not be read"), "{message}");
    let with = median();
    println!("a boxed `true`: {without:?}, with a thousand masks {with:?}");
    if std::env::var_os("YARD_SOAK").is_some() {
        let more = with.saturating_sub(without);
        assert!(more <= Duration::from_millis(50), "a thousand masks cost {more:?}");
    }
}

#[test]
fn every_tool_that_runs_in_a_box_is_masked() {
    let workspace = furnished();
    let git = "git init -q -b main . && git config user.email a@example.com && git config user.name A \
               && git add src && git commit -qm one && echo x >> src/main.py";
    let done =
        std::process::Command::new("sh").args(["-c", git]).current_dir(workspace.root()).status();
    assert!(done.unwrap().success());
    workspace
        .put("/secrets/test_it.py", format!("def test():\n    assert '{}' == ''\n", CANARIES[0]));
    rules(&workspace, "deny");
    let session = workspace.session();
    let code = "import glob\nfor name in ['secrets/k.txt', '.env', 'conf/deep/key.pem']:\n    try:\n        \
                print(open(name).read())\n    except OSError as error:\n        print(error)\n";
    let calls = [
        ("assistant", "run_code", json!({"language": "python", "code": code})),
        ("assistant", "run_code", json!({"language": "bash", "code": "cat secrets/k.txt .env"})),
        ("assistant", "git_diff", json!({})),
        ("assistant", "git_status", json!({})),
        ("assistant", "run_tests", json!({"path": "secrets"})),
        ("assistant", "format_code", json!({"paths": ["secrets/test_it.py"]})),
        (
            "codex",
            "shell",
            json!({"command": "cat secrets/*", "workdir": "secrets", "timeout_ms": 9_000}),
        ),
    ];
    for (toolset, tool, args) in calls {
        let answer = call(&workspace, &session, toolset, tool, args.clone());
        check_no_canary(&format!("{tool} {args}"), &answer.body.to_string());
    }
    let answer = call(&workspace, &session, "assistant", "git_diff", json!({}));
    assert!(answer.body.to_string().contains("src/main.py"), "{}", answer.body);
}

#[test]
fn git_diff_does_not_show_a_tracked_file_that_may_not_be_read() {
    let workspace = furnished();
    let git = "git init -q -b main . && git config user.email a@example.com && git config user.name A \
               && git add -A && git commit -qm one";
    let done =
        std::process::Command::new("sh").args(["-c", git]).current_dir(workspace.root()).status();
    assert!(done.unwrap().success());
    workspace.put("/secrets/k.txt", format!("{}\n", CANARIES[3]));
    rules(&workspace, "deny");
    let answer = call(&workspace, &workspace.session(), "assistant", "git_diff", json!({}));
    assert!(!answer.body.to_string().contains(CANARIES[3]), "{}", answer.body);
}

fn exec(workspace: &TestWorkspace, name: &str, cmd: &str) -> String {
    let args = json!({"session_id": name, "cmd": cmd, "workdir": null});
    call(workspace, &workspace.session(), "codex", "exec_command", args).body.to_string()
}

fn types(workspace: &TestWorkspace, name: &str, chars: &str) -> String {
    let args = json!({"session_id": name, "chars": chars});
    call(workspace, &workspace.session(), "codex", "write_stdin", args).body.to_string()
}

#[test]
fn terminals_are_masked_and_their_folders_cannot_be_moved_away() {
    let workspace = furnished();
    rules(&workspace, "deny");
    let before = picture(workspace.root());
    let answer = exec(&workspace, "t", "sh");
    check_no_canary("opening", &answer);
    for (number, attempt) in ATTEMPTS.iter().enumerate().filter(|(_, line)| !line.contains("git "))
    {
        let answer = types(&workspace, "t", &format!("{attempt}; echo over-{number}\n"));
        check_no_canary(attempt, &answer.to_string());
    }
    let answer = types(&workspace, "t", "ls secrets; mv conf c9; mv secrets s9; mv app a9; exit\n");
    check_no_canary("the end", &answer.to_string());
    let after = picture(workspace.root());
    let is_withheld = |path: &std::path::Path| {
        let named = path.to_string_lossy();
        named.starts_with("secrets") || named.ends_with(".env") || named.ends_with(".pem")
    };
    let kept: BTreeMap<_, _> = before.iter().filter(|(path, _)| is_withheld(path)).collect();
    for (path, entry) in kept {
        assert_eq!(after.get(path), Some(entry), "{}", path.display());
    }
}

#[test]
fn a_new_rule_ends_the_terminals_that_it_touches_and_no_others() {
    let workspace = furnished();
    exec(&workspace, "t", "sh");
    let answer = types(&workspace, "t", "cat secrets/k.txt\n");
    assert!(answer.to_string().contains(CANARIES[0]), "{answer}");
    // A rule on what is not there touches nothing.
    set(&workspace, &json!({"rules": [{"effect": "read", "path": "nowhere/**", "then": "deny"}]}));
    let answer = types(&workspace, "t", "echo still-$((20+22))\n");
    assert!(answer.to_string().contains("still-42"), "{answer}");
    set(
        &workspace,
        &json!({"rules": [{"effect": "read", "path": "conf/deep/**", "then": "deny"}]}),
    );
    let answer = types(&workspace, "t", "cat conf/deep/key.pem\n");
    check_no_canary("after the rule", &answer.to_string());
    let answer = answer.to_string();
    assert!(
        answer.contains("/conf/deep") && answer.contains("may not be read any more"),
        "{answer}"
    );
    // A rule against changing ends what changes in place.
    set(&workspace, &json!({"rules": []}));
    exec(&workspace, "u", "sh");
    set(&workspace, &json!({"rules": [{"effect": "change", "path": "src/**", "then": "deny"}]}));
    let answer = types(&workspace, "u", "echo x > src/main.py\n").to_string();
    assert!(answer.contains("forbids") && answer.contains("src"), "{answer}");
    assert_eq!(workspace.bytes("/src/main.py"), b"print('hello')\n");
}

#[test]
fn without_namespaces_no_command_runs_where_something_may_not_be_read() {
    let helper = std::path::PathBuf::from(env!("CARGO_BIN_EXE_toolyard"));
    let walls = yard_sandbox::Walls { namespaces: false, ..Default::default() };
    let wish = SandboxConfig { walls, ..SandboxConfig::default() };
    let boxed = Some(CommandBox::new(move || Sandbox::probe(helper, wish)));
    let workspace = TestWorkspace::open(&Folders::new(), OpenOptions { boxed, ..plan() }).unwrap();
    if workspace.kernel().box_level() != Some(Level::Walls) {
        return;
    }
    workspace.put("/secrets/k.txt", CANARIES[0]);
    rules(&workspace, "deny");
    let answer = shell_as(&workspace, &workspace.session(), "cat secrets/k.txt");
    assert!(!answer.ok, "{}", answer.body);
    check_no_canary("walls", &answer.body.to_string());
}

/// A session of an agent in a chat of its own.
fn in_chat(workspace: &TestWorkspace, title: &str) -> (Session, ChatId) {
    let chat = workspace.person().chats().make(&workspace.call_context(), title, None).unwrap();
    (workspace.session().in_chat(chat.id).unwrap(), chat.id)
}

#[test]
fn w18_what_one_chat_was_allowed_to_read_is_shown_in_no_other() {
    let workspace = furnished();
    rules(&workspace, "ask");
    let (reader, chat) = in_chat(&workspace, "Reader");
    let (other, _) = in_chat(&workspace, "Other");
    let asked = call(&workspace, &reader, "workspace", "read", json!({"path": "/secrets/k.txt"}));
    let id = crate::box_setup::asked(&asked);
    let decision = yard_gate::DecisionInput {
        approves: true,
        scope: Scope::Chat,
        reason: None,
        args: None,
        state: crate::box_setup::shown(&workspace, id),
        planned: None,
        parts: None,
    };
    workspace
        .catalog()
        .decide(id, &decision, &workspace.person(), &workspace.call_context())
        .unwrap();
    let read = call(&workspace, &reader, "workspace", "read", json!({"path": "/secrets/k.txt"}));
    assert!(read.body.to_string().contains(CANARIES[0]), "{}", read.body);
    let own = call(&workspace, &reader, "workspace", "read", json!({"path": "/chats/Reader.chat"}));
    assert!(own.body.to_string().contains(CANARIES[0]), "{}", own.body);
    let ways = [
        ("workspace", "read", json!({"path": "/chats/Reader.chat"})),
        ("workspace", "cat", json!({"paths": ["/chats/Reader.chat"]})),
        ("workspace", "grep", json!({"pattern": "canary", "path": "/chats"})),
        ("workspace", "grep", json!({"pattern": "canary", "path": "/chats/Reader.chat"})),
        ("workspace", "grep", json!({"pattern": "canary", "path": "/.toolyard-output"})),
        (
            "codex",
            "grep_files",
            json!({"pattern": "canary", "path": ".", "include": null, "limit": 99}),
        ),
    ];
    for (toolset, tool, args) in ways {
        let answer = call(&workspace, &other, toolset, tool, args.clone());
        check_no_canary(&format!("{tool} {args}"), &answer.body.to_string());
    }
    let turns = other.chats().turns(&workspace.call_context(), chat, None, 0, 99).unwrap();
    for turn in &turns.rows {
        check_no_canary("a turn", &turn.data);
        check_no_canary("a turn", &turn.text);
    }
    // A yes for one call shows it to nobody else, and after a deny not to who read it either.
    set(&workspace, &json!({"rules": [{"effect": "read", "path": "secrets/**", "then": "deny"}]}));
    let own = call(&workspace, &reader, "workspace", "read", json!({"path": "/chats/Reader.chat"}));
    check_no_canary("own chat after a deny", &own.body.to_string());
}

#[test]
fn stored_output_is_hidden_from_callers_who_may_read_less_than_the_command() {
    let workspace = furnished();
    // Tools of `codex` may read what those of `workspace` may not.
    set(
        &workspace,
        &json!({"rules": [
            {"effect": "read", "path": "secrets/**", "tool": "workspace.*", "then": "deny"},
        ]}),
    );
    let answer = shell(&workspace, "yes \"$(cat secrets/k.txt)\" | head -40000");
    assert!(answer.to_string().contains(CANARIES[0]), "{answer}");
    let listed = workspace.call("ls", json!({"path": "/.toolyard-output"}));
    let listed: Value = serde_json::from_str(&listed.body.to_string()).unwrap();
    let kept = listed["result"]["entries"].as_array().or(listed["result"]["files"].as_array());
    let kept = kept.unwrap_or_else(|| panic!("{listed}"));
    assert!(!kept.is_empty(), "{listed}");
    for entry in kept {
        for (tool, args) in [
            ("read", json!({"path": entry["path"]})),
            ("cat", json!({"paths": [entry["path"]]})),
            ("grep", json!({"path": entry["path"], "pattern": "canary"})),
            ("grep", json!({"path": "/.toolyard-output", "pattern": "canary"})),
        ] {
            check_no_canary(tool, &workspace.call(tool, args).body.to_string());
        }
    }
    let args =
        json!({"pattern": "canary", "path": ".toolyard-output", "include": null, "limit": 9});
    let answer = call(&workspace, &workspace.session(), "codex", "grep_files", args);
    assert!(answer.body.to_string().contains(CANARIES[0]), "{}", answer.body);
}

/// No answer of any tool, no transcript, event or kept output holds a byte of what may not be read, whatever
/// is sent.
#[test]
fn no_tool_tells_what_may_not_be_read_whatever_it_is_sent() {
    for (round, then) in ["deny", "ask"].into_iter().enumerate() {
        let workspace = furnished();
        rules(&workspace, then);
        let (session, _) = in_chat(&workspace, "Agent");
        let mut dice = Dice(4_711 + round as u64);
        let tools: Vec<(&str, &str, Value)> = { Catalog::toolset_names().into_iter() }
            .flat_map(|toolset| {
                let tools = workspace.catalog().list(toolset);
                tools.map(move |tool| (toolset, tool.name(), tool.input_schema().clone()))
            })
            // What dials out or waits for a person tells nothing of files.
            .filter(|(_, name, _)| !name.starts_with("web_") && *name != "install_package")
            .collect();
        assert!(tools.len() > 40, "{}", tools.len());
        for _ in 0..times(10_000) {
            let (toolset, tool, schema) = dice.pick(&tools);
            let args = args_for(&mut dice, schema, workspace.root());
            let answer = call(&workspace, &session, toolset, tool, args.clone());
            check_no_canary(&format!("{toolset}.{tool} {args}"), &answer.body.to_string());
        }
        let events = session.events(&workspace.call_context(), 0, 200).unwrap();
        check_no_canary("events", &format!("{events:?}"));
        // What the agent sent is its own text; only whole lines of the files count in the transcript.
        let chat =
            call(&workspace, &session, "workspace", "read", json!({"path": "/chats/Agent.chat"}));
        for canary in [CANARIES[0], CANARIES[1], CANARIES[2]] {
            assert!(!chat.body.to_string().contains(canary), "{canary} in the transcript");
        }
        session.stop_all_terminals();
    }
}
