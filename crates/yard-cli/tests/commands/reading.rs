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
use yard_testkit::{Folders, OpenOptions, Yard};

use crate::attempts::{ATTEMPTS, CANARIES, Dice, args_for};
use crate::box_setup::{picture, plan, shell, shell_as, times, yard};

fn rules(yard: &Yard, then: &str) {
    let rules = json!({"rules": [
        {"effect": "read", "path": ["secrets/**", "conf/deep/**"], "then": then},
        {"effect": "read", "path": ".env", "then": then},
    ]});
    set(yard, &rules);
}

fn set(yard: &Yard, rules: &Value) {
    yard.person().change_settings(&yard.surroundings(), rules.as_object().unwrap()).unwrap();
}

/// Files of which some may not be read.
fn furnished() -> Yard {
    let yard = yard();
    yard.put("/secrets/k.txt", format!("{}\nsecond line\n", CANARIES[0]));
    yard.put("/secrets/sub/other.txt", format!("{}\n", CANARIES[0]));
    yard.put("/.env", format!("TOKEN={}\n", CANARIES[1]));
    yard.put("/app/.env", format!("TOKEN={}\n", CANARIES[1]));
    yard.put("/conf/deep/key.pem", format!("{}\n", CANARIES[2]));
    yard.put("/conf/plain.txt", "plain\n");
    yard.put("/src/main.py", "print('hello')\n");
    std::os::unix::fs::symlink("secrets/k.txt", yard.root().join("link.txt")).unwrap();
    yard
}

fn check_no_canary(what: &str, answer: &str) {
    for canary in CANARIES {
        assert!(!answer.contains(canary), "{what} told {canary}: {answer}");
    }
}

fn call(yard: &Yard, session: &Session, toolset: &str, tool: &str, args: Value) -> Answer {
    yard.catalog().call(toolset, tool, args, session, &yard.surroundings())
}

#[test]
fn no_command_reads_what_its_caller_may_not_under_deny_and_ask() {
    for then in ["deny", "ask"] {
        let yard = furnished();
        let before = picture(yard.root());
        rules(&yard, then);
        for attempt in ATTEMPTS {
            let answer = shell_as(&yard, &yard.session(), attempt);
            check_no_canary(attempt, &answer.body.to_string());
            check_no_canary(attempt, &format!("{:?}", answer.pending));
        }
        // Whatever was allowed to land is on disk now: nothing of it holds a canary either.
        let after = picture(yard.root());
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
    let yard = furnished();
    rules(&yard, "deny");
    let answer =
        shell(&yard, "ls secrets secrets/sub; cat conf/plain.txt; echo new > conf/new.txt");
    let text = answer.to_string();
    for name in ["k.txt", "other.txt", "plain"] {
        assert!(text.contains(name), "{name}: {answer}");
    }
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("5 files may not be read"), "{message}");
    assert!(message.contains("1 created"), "{message}");
    assert_eq!(yard.bytes("/conf/new.txt"), b"new\n");
    // Where nothing is withheld nothing is said.
    set(&yard, &json!({"rules": []}));
    let answer = shell(&yard, "cat secrets/k.txt");
    assert!(answer.to_string().contains(CANARIES[0]), "{answer}");
    assert!(!answer.to_string().contains("may not be read"), "{answer}");
}

#[test]
fn a_mask_is_no_change_when_the_command_lands() {
    let yard = furnished();
    let before = picture(yard.root());
    rules(&yard, "deny");
    let answer =
        shell(&yard, "stat secrets/k.txt .env >/dev/null; touch secrets/k.txt; ls -lR >/dev/null");
    assert!(!answer["message"].as_str().unwrap().contains("files:"), "{answer}");
    assert_eq!(picture(yard.root()), before);
}

/// A thousand masks in different folders cost a command at most 50 ms; the time is compared in the soak alone, since
/// a busy machine may take any.
#[test]
fn a_thousand_masked_files_cost_a_command_little() {
    let yard = yard();
    for folder in 0..100 {
        for file in 0..50 {
            let ending = if file < 10 { "pem" } else { "txt" };
            yard.put(&format!("/src/{folder}/{file}.{ending}"), CANARIES[0]);
        }
    }
    let median = || {
        let mut took: Vec<Duration> = (0..5)
            .map(|_| {
                let began = Instant::now();
                shell(&yard, "true");
                began.elapsed()
            })
            .collect();
        took.sort();
        took[2]
    };
    let without = median();
    set(&yard, &json!({"rules": [{"effect": "read", "path": "**/*.pem", "then": "deny"}]}));
    let answer = shell(&yard, "cat src/*/*.pem | wc -c");
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
    let yard = furnished();
    let git = "git init -q -b main . && git config user.email a@example.com && git config user.name A \
               && git add src && git commit -qm one && echo x >> src/main.py";
    let done = std::process::Command::new("sh").args(["-c", git]).current_dir(yard.root()).status();
    assert!(done.unwrap().success());
    yard.put("/secrets/test_it.py", format!("def test():\n    assert '{}' == ''\n", CANARIES[0]));
    rules(&yard, "deny");
    let session = yard.session();
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
        let answer = call(&yard, &session, toolset, tool, args.clone());
        check_no_canary(&format!("{tool} {args}"), &answer.body.to_string());
    }
    let answer = call(&yard, &session, "assistant", "git_diff", json!({}));
    assert!(answer.body.to_string().contains("src/main.py"), "{}", answer.body);
}

#[test]
fn git_diff_does_not_show_a_tracked_file_that_may_not_be_read() {
    let yard = furnished();
    let git = "git init -q -b main . && git config user.email a@example.com && git config user.name A \
               && git add -A && git commit -qm one";
    let done = std::process::Command::new("sh").args(["-c", git]).current_dir(yard.root()).status();
    assert!(done.unwrap().success());
    yard.put("/secrets/k.txt", format!("{}\n", CANARIES[3]));
    rules(&yard, "deny");
    let answer = call(&yard, &yard.session(), "assistant", "git_diff", json!({}));
    assert!(!answer.body.to_string().contains(CANARIES[3]), "{}", answer.body);
}

fn exec(yard: &Yard, name: &str, cmd: &str) -> String {
    let args = json!({"session_id": name, "cmd": cmd, "workdir": null});
    call(yard, &yard.session(), "codex", "exec_command", args).body.to_string()
}

fn types(yard: &Yard, name: &str, chars: &str) -> String {
    let args = json!({"session_id": name, "chars": chars});
    call(yard, &yard.session(), "codex", "write_stdin", args).body.to_string()
}

#[test]
fn terminals_are_masked_and_their_folders_cannot_be_moved_away() {
    let yard = furnished();
    rules(&yard, "deny");
    let before = picture(yard.root());
    let answer = exec(&yard, "t", "sh");
    check_no_canary("opening", &answer);
    for (number, attempt) in ATTEMPTS.iter().enumerate().filter(|(_, line)| !line.contains("git "))
    {
        let answer = types(&yard, "t", &format!("{attempt}; echo over-{number}\n"));
        check_no_canary(attempt, &answer.to_string());
    }
    let answer = types(&yard, "t", "ls secrets; mv conf c9; mv secrets s9; mv app a9; exit\n");
    check_no_canary("the end", &answer.to_string());
    let after = picture(yard.root());
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
    let yard = furnished();
    exec(&yard, "t", "sh");
    let answer = types(&yard, "t", "cat secrets/k.txt\n");
    assert!(answer.to_string().contains(CANARIES[0]), "{answer}");
    // A rule on what is not there touches nothing.
    set(&yard, &json!({"rules": [{"effect": "read", "path": "nowhere/**", "then": "deny"}]}));
    let answer = types(&yard, "t", "echo still-$((20+22))\n");
    assert!(answer.to_string().contains("still-42"), "{answer}");
    set(&yard, &json!({"rules": [{"effect": "read", "path": "conf/deep/**", "then": "deny"}]}));
    let answer = types(&yard, "t", "cat conf/deep/key.pem\n");
    check_no_canary("after the rule", &answer.to_string());
    let answer = answer.to_string();
    assert!(
        answer.contains("/conf/deep") && answer.contains("may not be read any more"),
        "{answer}"
    );
    // A rule against changing ends what changes in place.
    set(&yard, &json!({"rules": []}));
    exec(&yard, "u", "sh");
    set(&yard, &json!({"rules": [{"effect": "change", "path": "src/**", "then": "deny"}]}));
    let answer = types(&yard, "u", "echo x > src/main.py\n").to_string();
    assert!(answer.contains("forbids") && answer.contains("src"), "{answer}");
    assert_eq!(yard.bytes("/src/main.py"), b"print('hello')\n");
}

#[test]
fn without_namespaces_no_command_runs_where_something_may_not_be_read() {
    let helper = std::path::PathBuf::from(env!("CARGO_BIN_EXE_toolyard"));
    let walls = yard_sandbox::Walls { namespaces: false, ..Default::default() };
    let wish = SandboxConfig { walls, ..SandboxConfig::default() };
    let boxed = Some(CommandBox::new(move || Sandbox::probe(helper, wish)));
    let yard = Yard::open(&Folders::new(), OpenOptions { boxed, ..plan() }).unwrap();
    if yard.workspace().box_level() != Some(Level::Walls) {
        return;
    }
    yard.put("/secrets/k.txt", CANARIES[0]);
    rules(&yard, "deny");
    let answer = shell_as(&yard, &yard.session(), "cat secrets/k.txt");
    assert!(!answer.ok, "{}", answer.body);
    check_no_canary("walls", &answer.body.to_string());
}

/// A session of an agent in a chat of its own.
fn in_chat(yard: &Yard, title: &str) -> (Session, ChatId) {
    let chat = yard.person().chats().make(&yard.surroundings(), title, None).unwrap();
    (yard.session().in_chat(chat.id).unwrap(), chat.id)
}

#[test]
fn w18_what_one_chat_was_allowed_to_read_is_shown_in_no_other() {
    let yard = furnished();
    rules(&yard, "ask");
    let (reader, chat) = in_chat(&yard, "Reader");
    let (other, _) = in_chat(&yard, "Other");
    let asked = call(&yard, &reader, "workspace", "read", json!({"path": "/secrets/k.txt"}));
    let id = crate::box_setup::asked(&asked);
    let ruling = yard_gate::DecisionInput {
        approves: true,
        scope: Scope::Chat,
        reason: None,
        args: None,
        state: crate::box_setup::shown(&yard, id),
    };
    yard.catalog().decide(id, &ruling, &yard.person(), &yard.surroundings()).unwrap();
    let read = call(&yard, &reader, "workspace", "read", json!({"path": "/secrets/k.txt"}));
    assert!(read.body.to_string().contains(CANARIES[0]), "{}", read.body);
    let own = call(&yard, &reader, "workspace", "read", json!({"path": "/chats/Reader.chat"}));
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
        let answer = call(&yard, &other, toolset, tool, args.clone());
        check_no_canary(&format!("{tool} {args}"), &answer.body.to_string());
    }
    let turns = other.chats().turns(&yard.surroundings(), chat, None, 0, 99).unwrap();
    for turn in &turns.rows {
        check_no_canary("a turn", &turn.data);
        check_no_canary("a turn", &turn.text);
    }
    // A yes for one call shows it to nobody else, and after a deny not to who read it either.
    set(&yard, &json!({"rules": [{"effect": "read", "path": "secrets/**", "then": "deny"}]}));
    let own = call(&yard, &reader, "workspace", "read", json!({"path": "/chats/Reader.chat"}));
    check_no_canary("own chat after a deny", &own.body.to_string());
}

#[test]
fn stored_output_is_hidden_from_callers_who_may_read_less_than_the_command() {
    let yard = furnished();
    // Tools of `codex` may read what those of `workspace` may not.
    set(
        &yard,
        &json!({"rules": [
            {"effect": "read", "path": "secrets/**", "tool": "workspace.*", "then": "deny"},
        ]}),
    );
    let answer = shell(&yard, "yes \"$(cat secrets/k.txt)\" | head -40000");
    assert!(answer.to_string().contains(CANARIES[0]), "{answer}");
    let listed = yard.call("ls", json!({"path": "/.toolyard-output"}));
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
            check_no_canary(tool, &yard.call(tool, args).body.to_string());
        }
    }
    let args =
        json!({"pattern": "canary", "path": ".toolyard-output", "include": null, "limit": 9});
    let answer = call(&yard, &yard.session(), "codex", "grep_files", args);
    assert!(answer.body.to_string().contains(CANARIES[0]), "{}", answer.body);
}

/// No answer of any tool, no transcript, event or kept output holds a byte of what may not be read, whatever
/// is sent.
#[test]
fn no_tool_tells_what_may_not_be_read_whatever_it_is_sent() {
    for (round, then) in ["deny", "ask"].into_iter().enumerate() {
        let yard = furnished();
        rules(&yard, then);
        let (session, _) = in_chat(&yard, "Agent");
        let mut dice = Dice(4_711 + round as u64);
        let tools: Vec<(&str, &str, Value)> = { Catalog::toolset_names().into_iter() }
            .flat_map(|toolset| {
                let tools = yard.catalog().list(toolset);
                tools.map(move |tool| (toolset, tool.name(), tool.input_schema().clone()))
            })
            // What dials out or waits for a person tells nothing of files.
            .filter(|(_, name, _)| !name.starts_with("web_") && *name != "install_package")
            .collect();
        assert!(tools.len() > 40, "{}", tools.len());
        for _ in 0..times(10_000) {
            let (toolset, tool, schema) = dice.pick(&tools);
            let args = args_for(&mut dice, schema, yard.root());
            let answer = call(&yard, &session, toolset, tool, args.clone());
            check_no_canary(&format!("{toolset}.{tool} {args}"), &answer.body.to_string());
        }
        let events = session.events(&yard.surroundings(), 0, 200).unwrap();
        check_no_canary("events", &format!("{events:?}"));
        // What the agent sent is its own text; only whole lines of the files count in the transcript.
        let chat = call(&yard, &session, "workspace", "read", json!({"path": "/chats/Agent.chat"}));
        for canary in [CANARIES[0], CANARIES[1], CANARIES[2]] {
            assert!(!chat.body.to_string().contains(canary), "{canary} in the transcript");
        }
        session.stop_all_terminals();
    }
}
