//! Terminals, driven as agents drive them: line programs and full screens, their ends, and what they changed.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yard_core::op::Undo;
use yard_dialects::Answer;
use yard_gate::{Actor, CallerPolicy, Mode, Session};
use yard_kernel::TerminalLimits;
use yard_testkit::{Folders, TestWorkspace};

use crate::box_setup::{asked, decide, guarded, newest, plan, times, workspace};

fn call_as(workspace: &TestWorkspace, session: &Session, tool: &str, args: Value) -> Answer {
    workspace.call_as(session, "codex", tool, args)
}

fn call(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    let answer = call_as(workspace, &workspace.session(), tool, args);
    assert!(answer.ok && answer.pending.is_none(), "{tool}: {}", answer.body);
    answer.body["result"].clone()
}

fn open(workspace: &TestWorkspace, name: &str, cmd: &str) -> Value {
    call(workspace, "exec_command", json!({"session_id": name, "cmd": cmd, "workdir": null}))
}

fn types(workspace: &TestWorkspace, name: &str, chars: &str) -> Value {
    call(workspace, "write_stdin", json!({"session_id": name, "chars": chars}))
}

fn kill(workspace: &TestWorkspace, name: &str) -> Value {
    call(workspace, "kill_session", json!({"session_id": name}))
}

fn text(reply: &Value, field: &str) -> String {
    reply[field].as_str().unwrap_or_else(|| panic!("{field}: {reply}")).to_owned()
}

fn state(reply: &Value) -> String {
    text(reply, "state")
}

fn screen(reply: &Value) -> String {
    reply["screen"]["text"].as_str().unwrap_or_else(|| panic!("no screen: {reply}")).to_owned()
}

/// Processes of this machine that have a word among their arguments.
fn running_with(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).split('\0').any(|one| one == word)).count()
}

fn gone(word: &str) {
    let until = Instant::now() + Duration::from_secs(120);
    while running_with(word) > 0 {
        assert!(Instant::now() < until, "{word} is still running");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn x5_a_python_prompt_is_talked_to() {
    let workspace = workspace();
    let reply = open(&workspace, "py", "python3 -q -i");
    assert_eq!((state(&reply).as_str(), &reply["exit_code"]), ("waiting", &Value::Null), "{reply}");
    assert!(text(&reply, "output").ends_with(">>> "), "{reply}");
    for (typed, expected) in [("6 * 7\n", "42"), ("print('a' * 3)\n", "aaa"), ("", "")] {
        let reply = types(&workspace, "py", typed);
        assert_eq!(state(&reply), "waiting", "{reply}");
        assert!(text(&reply, "output").contains(expected), "{typed}: {reply}");
        assert!(text(&reply, "because").contains("reads from the terminal"), "{reply}");
    }
    let reply = types(&workspace, "py", "exit(3)\n");
    assert_eq!((state(&reply).as_str(), &reply["exit_code"]), ("ended", &json!(3)), "{reply}");
    let reply = types(&workspace, "py", "");
    assert_eq!((state(&reply).as_str(), text(&reply, "output").as_str()), ("ended", ""), "{reply}");
}

#[test]
fn x5_a_pager_shows_its_pages() {
    let workspace = workspace();
    let lines: Vec<String> = (1..=100).map(|n| format!("line {n}")).collect();
    fs::write(workspace.root().join("long.txt"), lines.join("\n")).unwrap();
    let reply = open(&workspace, "pager", "less long.txt");
    assert_eq!(state(&reply), "waiting", "{reply}");
    assert_eq!(reply["screen"]["full_screen"], true, "{reply}");
    assert!(screen(&reply).starts_with("line 1\nline 2\n"), "{reply}");
    assert!(!screen(&reply).contains("line 30"), "{reply}");
    let reply = types(&workspace, "pager", " ");
    assert!(screen(&reply).contains("line 30") && !screen(&reply).contains("line 2\n"), "{reply}");
    call(&workspace, "resize_session", json!({"session_id": "pager", "rows": 50, "columns": 100}));
    let reply = types(&workspace, "pager", "g");
    assert!(screen(&reply).contains("line 49"), "{reply}");
    let reply = types(&workspace, "pager", "q");
    assert_eq!((state(&reply).as_str(), &reply["exit_code"]), ("ended", &json!(0)), "{reply}");
}

#[test]
fn x5_an_editor_changes_a_file_and_that_is_undone() {
    let workspace = workspace();
    fs::write(workspace.root().join("a.txt"), "before\n").unwrap();
    let reply = open(&workspace, "vi", "vim -u NONE -i NONE -n a.txt");
    assert_eq!(
        (state(&reply).as_str(), &reply["screen"]["full_screen"]),
        ("waiting", &json!(true))
    );
    assert!(screen(&reply).starts_with("before\n~"), "{reply}");
    let reply = types(&workspace, "vi", "ohello\u{1b}");
    assert!(screen(&reply).starts_with("before\nhello\n~"), "{reply}");
    let reply = types(&workspace, "vi", ":wq\r");
    assert_eq!(state(&reply), "ended", "{reply}");
    assert_eq!(fs::read_to_string(workspace.root().join("a.txt")).unwrap(), "before\nhello\n");
    let (step, _) = newest(&workspace);
    assert!(text(&reply, "message").contains(&step.to_string()), "{reply}");
    workspace.perform(Undo::of(step)).unwrap();
    assert_eq!(fs::read_to_string(workspace.root().join("a.txt")).unwrap(), "before\n");
}

/// With its usual settings an editor waits for a moment after an escape, since a key may follow that begins with
/// one, and before it ends.
#[test]
fn x5_what_is_typed_before_an_escape_is_on_the_screen_and_an_editor_that_ends_has_ended() {
    let workspace = workspace();
    for round in 0..3 {
        let name = format!("vi{round}");
        let reply = open(&workspace, &name, &format!("vim -i NONE -n new{round}.txt"));
        assert_eq!(state(&reply), "waiting", "{reply}");
        assert!(!text(&reply, "because").contains("not shown"), "an editor shows it: {reply}");
        let reply = types(&workspace, &name, "ihello\u{1b}");
        assert!(screen(&reply).starts_with("hello\n~"), "{reply}");
        let reply = types(&workspace, &name, "oworld\u{1b}");
        assert!(screen(&reply).starts_with("hello\nworld\n~"), "{reply}");
        assert!(!screen(&reply).contains("INSERT"), "the escape has happened: {reply}");
        let reply = types(&workspace, &name, ":wq\r");
        assert_eq!((state(&reply).as_str(), &reply["exit_code"]), ("ended", &json!(0)), "{reply}");
        assert_eq!(text(&reply, "because"), "the program ended");
        let path = format!("new{round}.txt");
        assert_eq!(workspace.bytes(&path), b"hello\nworld\n");
    }
    let reply = open(&workspace, "at once", "vim -i NONE -n once.txt");
    assert_eq!(state(&reply), "waiting", "{reply}");
    let reply = types(&workspace, "at once", "itext\u{1b}:wq\r");
    assert_eq!((state(&reply).as_str(), &reply["exit_code"]), ("ended", &json!(0)), "{reply}");
    assert_eq!(workspace.bytes("once.txt"), b"text\n");
}

#[test]
fn x5_a_program_that_waits_for_moments_again_and_again_waits_for_input() {
    let workspace = workspace();
    let code = "import select, sys\nprint('ready', flush=True)\nwhile not select.select([0], [], [], 0.05)[0]:\n    pass\n\
                print('got', sys.stdin.readline())";
    fs::write(workspace.root().join("wait.py"), code).unwrap();
    let reply = open(&workspace, "moments", "python3 wait.py");
    assert_eq!(state(&reply), "waiting", "{reply}");
    assert!(text(&reply, "output").contains("ready"), "{reply}");
    let reply = types(&workspace, "moments", "line\n");
    assert!(text(&reply, "output").contains("got line"), "{reply}");
    let reply = open(&workspace, "sleeper", "sleep 60");
    assert_eq!(
        text(&reply, "because"),
        "it still runs, and does not wait for input; poll with empty chars"
    );
    kill(&workspace, "sleeper");
}

#[test]
fn x4_a_folder_to_start_in_that_is_not_there_is_a_file_that_is_not_found() {
    let workspace = workspace();
    workspace.put("a.txt", "x\n");
    for (tool, args) in [
        ("shell", json!({"command": "pwd", "workdir": "nowhere"})),
        ("exec_command", json!({"session_id": "x", "cmd": "pwd", "workdir": "nowhere"})),
    ] {
        let answer = call_as(&workspace, &workspace.session(), tool, args.clone());
        let result = &answer.body["result"];
        assert_eq!(result["error"], "FILE_NOT_FOUND", "{tool}: {}", answer.body);
        let message = result["message"].as_str().unwrap();
        assert!(message.starts_with("File not found: nowhere"), "{result}");
        let mut at_file = args;
        at_file["workdir"] = json!("a.txt");
        let answer = call_as(&workspace, &workspace.session(), tool, at_file);
        assert_eq!(answer.body["result"]["error"], "INVALID_PATH", "{tool}: {}", answer.body);
    }
    for (tool, args) in [
        ("git_status", json!({"repository": "nowhere"})),
        ("git_log", json!({"repository": "nowhere"})),
        ("git_diff", json!({"repository": "nowhere"})),
        ("git_commit", json!({"repository": "nowhere", "message": "x"})),
        ("git_push", json!({"repository": "nowhere"})),
        ("install_package", json!({"path": "nowhere", "manager": "pip", "packages": ["x"]})),
        ("run_tests", json!({"path": "nowhere"})),
        ("git_status", json!({})),
    ] {
        let answer = workspace.call_of("assistant", tool, args);
        let error = &answer.body["result"]["error"];
        assert_eq!(error["code"], "FILE_NOT_FOUND", "{tool}: {}", answer.body);
    }
}

#[test]
fn x5_a_password_is_asked_for_without_echo() {
    let workspace = workspace();
    let code = "import getpass; print(len(getpass.getpass('Word: ')))";
    let reply = open(&workspace, "pw", &format!("python3 -c \"{code}\""));
    assert_eq!(text(&reply, "output"), "Word: ", "{reply}");
    assert!(text(&reply, "because").contains("not shown"), "{reply}");
    let reply = types(&workspace, "pw", "hunter2\n");
    assert_eq!(text(&reply, "output").trim(), "7", "{reply}");
    assert_eq!(reply["exit_code"], 0, "{reply}");
}

#[test]
fn x5_a_progress_bar_is_seen_where_it_stands() {
    let workspace = workspace();
    let reply =
        open(&workspace, "bar", "for i in $(seq 100); do printf '\\r%3d%% done' $i; done; read x");
    assert_eq!(state(&reply), "waiting", "{reply}");
    assert_eq!(screen(&reply), "100% done");
    assert_eq!(reply["screen"]["cursor_column"], 10, "{reply}");
    kill(&workspace, "bar");
}

#[test]
fn x5_what_ignores_its_end_is_ended() {
    let workspace = workspace();
    let cmd = "trap '' TERM HUP INT; echo ready; while :; do read x; done #stubborn-7131";
    let reply = open(&workspace, "s", cmd);
    assert_eq!(state(&reply), "waiting", "{reply}");
    assert!(running_with(cmd) > 0);
    let reply = types(&workspace, "s", "\u{3}");
    assert_eq!(state(&reply), "waiting", "{reply}");
    let reply = kill(&workspace, "s");
    assert_eq!((state(&reply).as_str(), &reply["exit_code"]), ("ended", &json!(137)), "{reply}");
    gone(cmd);
}

#[test]
fn x5_what_forks_and_exits_leaves_nothing_behind() {
    let workspace = workspace();
    let cmd = "setsid sleep 7132.25 & nohup sleep 7132.5 >/dev/null & (sleep 7132.75 &); echo done";
    let reply = open(&workspace, "f", cmd);
    assert_eq!((state(&reply).as_str(), &reply["exit_code"]), ("ended", &json!(0)), "{reply}");
    assert!(text(&reply, "output").contains("done"), "{reply}");
    ["7132.25", "7132.5", "7132.75"].into_iter().for_each(gone);
}

#[test]
fn x5_a_flood_is_counted_to_the_last_byte() {
    let workspace = workspace();
    let lines = times(2_000_000);
    // Fifty bytes a line, of which the terminal makes fifty-one.
    let cmd = format!(
        "yes 1234567890123456789012345678901234567890123456789 | head -n {lines}; echo end"
    );
    let mut reply = open(&workspace, "flood", &cmd);
    let (mut seen, mut left_out) = (0, 0);
    loop {
        let output = text(&reply, "output");
        let mark = "bytes are left out here";
        let cut = output.split("[... ").nth(1).filter(|rest| rest.contains(mark));
        let note = output.find("\n[... ").zip(output.find(" ...]\n"));
        left_out += cut.map_or(0, |rest| rest.split(' ').next().unwrap().parse().unwrap());
        seen += output.len() - note.map_or(0, |(from, to)| to + 6 - from);
        assert_eq!(reply["truncated"], cut.is_some());
        if state(&reply) == "ended" {
            break;
        }
        reply = types(&workspace, "flood", "");
    }
    assert_eq!(seen + left_out, lines * 51 + 5);
    assert!(text(&reply, "output").ends_with("end\r\n"));
    let log = text(&reply, "log_path");
    let args = json!({"path": log, "offset": lines, "limit": 2});
    let read = workspace.call_of("codex", "read_file", args);
    assert!(read.ok && read.body.to_string().contains("end"), "{}", read.body);
}

#[test]
fn x5_nothing_that_is_printed_is_ever_typed() {
    let workspace = workspace();
    let code = "import fcntl,errno\ntry:\n fcntl.ioctl(0, 0x5412, b'x')\n print('typed')\nexcept OSError as e:\n print(errno.errorcode[e.errno])";
    fs::write(workspace.root().join("sti.py"), code).unwrap();
    let reply = open(&workspace, "sti", "python3 sti.py");
    assert_eq!(text(&reply, "output").trim(), "EPERM", "{reply}");
    // Asks for the cursor, the kind of terminal, its title, its colours and its settings.
    let asking = "printf '\\033[6n\\033[c\\033[>c\\033[21t\\033]11;?\\007\\033P$qm\\033\\\\\\005'";
    let mut reply =
        open(&workspace, "ask", &format!("{asking}; read -t 1 -n 1 x; echo \"got:$x:\""));
    while state(&reply) != "ended" {
        reply = types(&workspace, "ask", "");
    }
    assert!(text(&reply, "output").contains("got::"), "{reply}");
}

#[test]
fn x5_keys_reach_who_is_in_front() {
    let workspace = workspace();
    let reply = open(&workspace, "sh", "bash --norc --noprofile");
    assert_eq!(state(&reply), "waiting", "{reply}");
    let reply = types(&workspace, "sh", "cat\n");
    assert_eq!(state(&reply), "waiting", "{reply}");
    let reply = types(&workspace, "sh", "echoed\n");
    assert_eq!(text(&reply, "output").matches("echoed").count(), 2, "{reply}");
    types(&workspace, "sh", "\u{3}");
    let reply = types(&workspace, "sh", "echo $?\n");
    assert!(text(&reply, "output").contains("130"), "{reply}");
    let reply = types(
        &workspace,
        "sh",
        "tty < /dev/tty >/dev/null; test -t 0 && stty size && ls -d /dev/pts\n",
    );
    assert!(text(&reply, "output").contains("24 80"), "{reply}");
    let reply = types(&workspace, "sh", "\u{4}");
    assert_eq!(state(&reply), "ended", "{reply}");
    let answer = call_as(
        &workspace,
        &workspace.session(),
        "write_stdin",
        json!({"session_id": "sh", "chars": "x"}),
    );
    assert!(!answer.ok && answer.body.to_string().contains("is over"), "{}", answer.body);
}

#[test]
fn x5_sessions_are_named_listed_and_bounded() {
    let workspace = workspace();
    open(&workspace, "one", "cat");
    let exec = |name: &str| json!({"session_id": name, "cmd": "cat", "workdir": null});
    let answer = call_as(&workspace, &workspace.session(), "exec_command", exec("one"));
    assert!(!answer.ok && answer.body.to_string().contains("in use"), "{}", answer.body);
    let answer = call_as(
        &workspace,
        &workspace.session(),
        "write_stdin",
        json!({"session_id": "two", "chars": ""}),
    );
    assert!(answer.body.to_string().contains("open in this chat: one"), "{}", answer.body);
    for name in ["", "a\nb", &"x".repeat(101)] {
        assert!(
            !call_as(&workspace, &workspace.session(), "exec_command", exec(name)).ok,
            "{name}"
        );
    }
    for number in 2..=16 {
        open(&workspace, &number.to_string(), "cat");
    }
    let answer = call_as(&workspace, &workspace.session(), "exec_command", exec("more"));
    assert!(answer.body.to_string().contains("as many as may"), "{}", answer.body);
    kill(&workspace, "one");
    open(&workspace, "one", "cat");
    let listed = call(&workspace, "list_sessions", json!({}));
    let states: Vec<&str> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["state"].as_str().unwrap())
        .collect();
    assert_eq!(states.iter().filter(|state| **state == "running").count(), 16, "{listed}");
    // Another chat has its own.
    let other = workspace.session_of(Actor::LocalAgent, CallerPolicy::Open);
    let chat = other.chats().make(&workspace.call_context(), "other", None).unwrap();
    let other = other.in_chat(chat.id).unwrap();
    assert_eq!(other.terminals().list().unwrap(), []);
    workspace.opened().stop_all_terminals();
    let listed = call(&workspace, "list_sessions", json!({}));
    assert!(!listed.to_string().contains("running"), "{listed}");
}

#[test]
fn x5_opening_asks_and_covers_what_is_typed() {
    let workspace = workspace();
    let session = guarded(&workspace);
    let args = json!({"session_id": "g", "cmd": "bash --norc --noprofile", "workdir": null});
    let answer = call_as(&workspace, &session, "exec_command", args);
    let approval = decide(&workspace, asked(&answer), true);
    assert!(approval.answer.unwrap().to_string().contains("waiting"));
    let typed = json!({"session_id": "g", "chars": "echo hi > made.txt\n"});
    let mut answer = call_as(&workspace, &session, "write_stdin", typed);
    assert!(answer.ok && answer.pending.is_none(), "{}", answer.body);
    assert_eq!(fs::read_to_string(workspace.root().join("made.txt")).unwrap(), "hi\n");
    // What it changed becomes a step though it goes on. The first answer after that says so, which may be the one above.
    let until = Instant::now() + Duration::from_secs(120);
    while !answer.body["result"]["message"].to_string().contains("1 created") {
        assert!(Instant::now() < until, "{}", answer.body);
        thread::sleep(Duration::from_millis(50));
        let looks = json!({"session_id": "g", "chars": ""});
        answer = call_as(&workspace, &session, "write_stdin", looks);
    }
    let (step, author) = newest(&workspace);
    assert_eq!(author, yard_core::Author::Agent);
    workspace.perform(Undo::of(step)).unwrap();
    assert!(!workspace.root().join("made.txt").exists());
    // Another agent neither works in the chat nor reaches the terminal.
    let chat = session.current_chat().unwrap().unwrap().id;
    let other =
        workspace.session_of(Actor::Key(yard_core::KeyId::from_bytes([7; 16])), CallerPolicy::Open);
    assert!(other.in_chat(chat).is_err());
    for (tool, args) in [
        ("write_stdin", json!({"session_id": "g", "chars": "x"})),
        ("write_stdin", json!({"session_id": "g", "chars": ""})),
        ("kill_session", json!({"session_id": "g"})),
        ("resize_session", json!({"session_id": "g", "rows": 9, "columns": 9})),
    ] {
        let answer = call_as(&workspace, &other, tool, args);
        assert!(!answer.ok && answer.body.to_string().contains("no session"), "{}", answer.body);
    }
    assert_eq!(other.terminals().list().unwrap(), []);
    let viewer =
        workspace.session_of(session.actor(), CallerPolicy::ReadOnly).in_chat(chat).unwrap();
    let answer =
        call_as(&workspace, &viewer, "write_stdin", json!({"session_id": "g", "chars": ""}));
    assert!(!answer.ok, "{}", answer.body);
    call_as(&workspace, &session, "kill_session", json!({"session_id": "g"}));
}

#[test]
fn x5_plan_mode_gives_a_workspace_that_cannot_be_written() {
    let workspace = workspace();
    let person = workspace.person();
    let chat = person.chats().make(&workspace.call_context(), "plan", Some(Mode::Plan)).unwrap();
    let session = workspace.session().in_chat(chat.id).unwrap();
    fs::write(workspace.root().join("a.txt"), "kept\n").unwrap();
    let cmd = "cat a.txt; touch b.txt; echo x > a.txt; echo over";
    let args = json!({"session_id": "p", "cmd": cmd, "workdir": null});
    let answer = call_as(&workspace, &session, "exec_command", args);
    assert!(answer.body.to_string().contains("Read-only"), "{}", answer.body);
    assert_eq!(fs::read_to_string(workspace.root().join("a.txt")).unwrap(), "kept\n");
    assert!(!workspace.root().join("b.txt").exists());
}

#[test]
fn x5_a_session_of_build_mode_ends_when_its_chat_only_plans() {
    let workspace = workspace();
    let person = workspace.person();
    let chat = person.chats().make(&workspace.call_context(), "both", Some(Mode::Build)).unwrap();
    let session = workspace.session().in_chat(chat.id).unwrap();
    let args = json!({"session_id": "b", "cmd": "cat", "workdir": null});
    assert!(call_as(&workspace, &session, "exec_command", args).ok);
    person.chats().set_mode(&workspace.call_context(), chat.id, Mode::Plan).unwrap();
    let listed = session.terminals().list().unwrap();
    assert!(matches!(listed[0].state, yard_gate::TerminalState::Ended(_)), "{listed:?}");
    let typed = json!({"session_id": "b", "chars": "x\n"});
    let answer = call_as(&workspace, &session, "write_stdin", typed);
    assert!(!answer.ok && answer.body.to_string().contains("plan mode"), "{}", answer.body);
    let reply =
        call_as(&workspace, &session, "write_stdin", json!({"session_id": "b", "chars": ""}));
    assert_eq!(reply.body["result"]["state"], "ended", "{}", reply.body);
}

#[test]
fn x5_an_unused_terminal_ends_and_so_does_one_whose_time_is_up() {
    for (limits, why) in [
        (
            TerminalLimits { idle: Duration::from_millis(300), ..TerminalLimits::default() },
            "was ended",
        ),
        (
            TerminalLimits { life: Duration::from_millis(900), ..TerminalLimits::default() },
            "out of time",
        ),
    ] {
        let mut plan = plan();
        plan.boxed.as_mut().unwrap().terminals = limits;
        let workspace = TestWorkspace::open(&Folders::new(), plan).unwrap();
        open(&workspace, "t", "cat");
        let until = Instant::now() + Duration::from_secs(120);
        let mut reply = types(&workspace, "t", "");
        while state(&reply) != "ended" {
            assert!(Instant::now() < until, "{reply}");
            thread::sleep(Duration::from_millis(100));
            reply = types(&workspace, "t", "");
        }
        assert!(text(&reply, "because").contains(why), "{reply}");
    }
}

#[test]
fn x5_a_sequence_without_an_end_is_not_kept() {
    let resident = || -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    let workspace = workspace();
    let before = resident();
    let cmd = "printf '\\033]0;'; head -c 60000000 /dev/zero | tr '\\0' x; printf '\\033P'; \
               head -c 60000000 /dev/zero | tr '\\0' y; printf '\\033\\\\over'";
    let mut reply = open(&workspace, "osc", cmd);
    while state(&reply) != "ended" {
        reply = types(&workspace, "osc", "");
    }
    assert!(resident() < before + 40_000, "{before} kB, then {} kB", resident());
    assert!(text(&reply, "output").ends_with("over"), "{reply}");
}

#[test]
fn x5_a_line_that_does_not_fit_is_refused_whole() {
    let workspace = workspace();
    open(&workspace, "c", "cat");
    let long = format!("{}\n", "x".repeat(5_000));
    let answer = call_as(
        &workspace,
        &workspace.session(),
        "write_stdin",
        json!({"session_id": "c", "chars": long}),
    );
    assert!(
        !answer.ok && answer.body.to_string().contains("Write the line to a file"),
        "{}",
        answer.body
    );
    kill(&workspace, "c");
    // Many that fit all arrive. The kernel may drop what it echoes of so much, so it echoes nothing here.
    open(&workspace, "many", "stty -echo; cat");
    let many = format!("{}\n", "y".repeat(1_000)).repeat(20);
    let mut output = text(&types(&workspace, "many", &many), "output");
    for _ in 0..100 {
        if output.matches('y').count() == 20_000 {
            break;
        }
        output.push_str(&text(&types(&workspace, "many", ""), "output"));
    }
    assert_eq!(output.matches('y').count(), 20_000);
    kill(&workspace, "many");
}

#[test]
fn x5_work_goes_on_in_the_background_and_its_log_pages() {
    let workspace = workspace();
    let begun = Instant::now();
    let reply = open(&workspace, "bg", "for i in $(seq 1 100); do echo tick $i; sleep 0.13; done");
    assert_eq!(state(&reply), "running", "{reply}");
    assert!(begun.elapsed() > Duration::from_secs(9), "{:?}", begun.elapsed());
    let log = text(&reply, "log_path");
    let args = json!({"path": log, "offset": 10, "limit": 2});
    let read = workspace.call_of("codex", "read_file", args);
    assert!(read.body.to_string().contains("tick 11"), "{}", read.body);
    let mut reply = types(&workspace, "bg", "");
    while state(&reply) != "ended" {
        reply = types(&workspace, "bg", "");
    }
    assert!(text(&reply, "output").contains("tick 100"), "{reply}");
}
