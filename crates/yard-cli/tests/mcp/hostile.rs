//! Clients and files that mean no good: an error or a bounded wait, and everybody else is served on.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, Setup, wait_until};

/// The counts of an issue belong to the soak; a plain run takes a tenth.
fn times(count: usize) -> usize {
    if std::env::var_os("YARD_SOAK").is_some() { count } else { count.div_ceil(10) }
}

/// Memory of a process, in bytes.
fn memory(client: &Client) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn two_clients_edit_one_file_and_no_edit_is_lost() {
    let setup = Setup::new();
    let lines: String = (0..120).map(|number| format!("line {number}.\n")).collect();
    setup.put("a", &lines);
    let clients = [setup.connect(&["--policy", "open"]), setup.connect(&["--policy", "open"])];
    let mut asked = Vec::new();
    for number in 0..120_usize {
        let edits =
            json!([{"oldText": format!("line {number}."), "newText": format!("edited {number}.")}]);
        let params = json!({"name": "edit_file", "arguments": {"path": "a", "edits": edits}});
        asked.push((number, clients[number % 2].request("tools/call", params)));
    }
    let mut done = 0;
    for (number, id) in asked {
        let result = clients[number % 2].answer_in_any_order(id);
        if result["result"]["isError"] != true {
            assert!(
                setup.text("a").contains(&format!("edited {number}.")),
                "{number} was acknowledged"
            );
            done += 1;
        }
    }
    assert_eq!(done, 120, "every edit is made again until it fits");
    assert_eq!(setup.text("a").lines().count(), 120);
}

/// The one file of that name below a folder.
fn named(folder: &Path, name: &str) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.flatten().find_map(|entry| match entry.path() {
        path if path.is_dir() => named(&path, name),
        path => (entry.file_name() == name).then_some(path),
    })
}

/// A small change is made on the thread that reads, when nobody else is in its way; else it is not.
#[test]
fn a_save_that_waits_for_another_process_delays_no_other_call() {
    let setup = Setup::new();
    setup.put("a", "one\n");
    let client = setup.connect(&["--policy", "open"]);
    client.text_of("write_file", json!({"path": "b", "content": "x"}));
    let lock = named(setup.data.path(), "lock").unwrap();
    let mut holder = Command::new("flock").arg(&lock).args(["sleep", "3"]).spawn().unwrap();
    wait_until("the lock is held", || {
        !Command::new("flock").arg("-n").arg(&lock).arg("true").status().unwrap().success()
    });
    let write = json!({"name": "write_file", "arguments": {"path": "b", "content": "y"}});
    let (began, id) = (Instant::now(), client.request("tools/call", write));
    assert_eq!(client.text_of("read_text_file", json!({"path": "a"})), "one\n");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let answer = client.answer_in_any_order(id);
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(setup.text("b"), "y");
    holder.wait().unwrap();
}

#[test]
fn odd_files_end_in_errors_and_keep_nobody_waiting() {
    let setup = Setup::new();
    setup.put("fine", "ok\n");
    let fifo = setup.root.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let _ = std::os::unix::fs::symlink("/dev/zero", setup.root.path().join("zero"));
    setup.put("new\nline\u{7}", "odd\n");
    let client = setup.connect(&["--policy", "open"]);
    let began = Instant::now();
    for name in ["fifo", "zero", "/dev/zero"] {
        client.complaint("read_text_file", json!({"path": name}));
        client.complaint("write_file", json!({"path": name, "content": "x"}));
    }
    assert_eq!(client.text_of("read_text_file", json!({"path": "new\nline\u{7}"})), "odd\n");
    let listed = client.text_of("list_directory", json!({"path": "."}));
    assert!(listed.contains("fifo") && listed.contains("fine"), "{listed}");
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(client.text_of("read_text_file", json!({"path": "fine"})), "ok\n");
}

#[test]
fn lines_that_are_no_messages_are_answered_or_dropped() {
    let setup = Setup::new();
    setup.put("a", "ok\n");
    let client = setup.connect(&["--policy", "open"]);
    for wrong in [
        "{",
        "[]",
        "null",
        "42",
        "\"x\"",
        "{}",
        "\u{0}",
        "\u{feff}{}",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":77,\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"tools/call\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":79,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":[]}}",
        "{\"jsonrpc\":\"2.0\",\"id\":80,\"method\":\"no/such\",\"params\":{}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nonsense\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":81,\"result\":{}}",
    ] {
        client.write(wrong.as_bytes());
    }
    client.write(&[0xff, 0xfe, b'{']);
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":82,\"method\":\"tools/call\",\"params\":{}1{}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    client.write(deep.as_bytes());
    assert_eq!(client.text_of("read_text_file", json!({"path": "a"})), "ok\n");
    // Half a message, and then the end of the input.
    let setup = Setup::new();
    let mut child =
        setup.command(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn long_lines_are_taken_or_refused_and_their_memory_is_given_back() {
    let setup = Setup::new();
    let client = setup.connect(&["--policy", "open"]);
    client.text_of("write_file", json!({"path": "first", "content": "x"}));
    let content = "x".repeat(20 << 20);
    client.text_of("write_file", json!({"path": "large", "content": content}));
    assert_eq!(std::fs::metadata(setup.root.path().join("large")).unwrap().len(), 20 << 20);
    let why =
        client.complaint("write_file", json!({"path": "huge", "content": "x".repeat(70 << 20)}));
    assert!(why.contains("at most 67108864"), "{why}");
    // More than any message may have: dropped, answered, and the next one is read.
    let id = client.request(
        "tools/call",
        json!({"name": "write_file", "arguments": {"path": "z", "content": "y".repeat(140 << 20)}}),
    );
    let refusal = client.next_message();
    assert_eq!(refusal["error"]["code"], -32600, "{refusal}");
    assert_ne!(refusal["id"], id);
    client.text_of("read_text_file", json!({"path": "first"}));
    std::thread::sleep(Duration::from_secs(1));
    assert!(memory(&client) < 400 << 20, "{} MiB are held", memory(&client) >> 20);
}

#[test]
fn a_client_that_never_reads_costs_no_memory() {
    let setup = Setup::new();
    setup.put("a", &"0123456789\n".repeat(100_000));
    let mut child = setup
        .command(&["--policy", "open"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let pid = child.id();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let writer = std::thread::spawn(move || {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}});
        let _ = writeln!(
            stdin,
            "{hello}\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}"
        );
        for id in 1..2_000 {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": "read_text_file", "arguments": {"path": "a"}}});
            if stopped.load(Ordering::Relaxed) || writeln!(stdin, "{call}").is_err() {
                break;
            }
        }
    });
    std::thread::sleep(Duration::from_secs(4));
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    stop.store(true, Ordering::Relaxed);
    child.kill().unwrap();
    child.wait().unwrap();
    writer.join().unwrap();
    // 2,000 answers of a megabyte would be two gigabytes.
    assert!(kib < 600 << 10, "{} MiB", kib >> 10);
}

#[test]
fn patterns_that_explode_are_bounded() {
    let setup = Setup::new();
    for number in 0..200 {
        setup.put(&format!("aaaaaaaaaaaaaaaaaaaaaaaa{number}"), "aaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
    }
    let began = Instant::now();
    for pattern in
        ["{a,b}".repeat(18), "[".repeat(2_000), format!("{}*", "*a".repeat(500)), "**/".repeat(500)]
    {
        let client = setup.connect(&["--policy", "open"]);
        client.call(
            "search_files",
            json!({"path": ".", "pattern": pattern, "excludePatterns": [pattern]}),
        );
        let client = setup.connect(&["--toolset", "workspace"]);
        client.call("glob", json!({"pattern": pattern}));
        client.call(
            "grep",
            json!({"pattern": format!("({}a)+$", pattern.replace(['[', '*', '{', '}'], "(a|a)*"))}),
        );
    }
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
}

#[test]
fn a_folder_that_becomes_a_link_leads_nowhere() {
    let (setup, outside) = (Setup::new(), tempfile::tempdir().unwrap());
    std::fs::write(outside.path().join("f"), "secret\n").unwrap();
    setup.put("real/f", "mine\n");
    let client = setup.connect(&["--policy", "open"]);
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, root, target) =
        (Arc::clone(&stop), setup.root.path().to_owned(), outside.path().to_owned());
    let swapper = std::thread::spawn(move || {
        let (door, real) = (root.join("door"), root.join("real"));
        while !stopped.load(Ordering::Relaxed) {
            let _ = std::fs::rename(&real, &door);
            let _ = std::fs::rename(&door, &real);
            let _ = std::os::unix::fs::symlink(&target, &door);
            let _ = std::fs::remove_file(&door);
        }
    });
    for round in 0..times(10_000) / 2 {
        let read = client.call("read_text_file", json!({"path": "door/f"}));
        assert!(!read.to_string().contains("secret"), "round {round}: {read}");
        client.call("write_file", json!({"path": "door/w", "content": "x"}));
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    let kept: Vec<_> = std::fs::read_dir(outside.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(kept, ["f"]);
    assert_eq!(std::fs::read_to_string(outside.path().join("f")).unwrap(), "secret\n");
}

impl Client {
    /// The answer to one of many requests that are under way.
    fn answer_in_any_order(&self, id: u64) -> Value {
        let kept = self.notifications.borrow_mut().iter().position(|message| message["id"] == id);
        if let Some(at) = kept {
            return self.notifications.borrow_mut().remove(at);
        }
        loop {
            let message = self.next_message();
            if message["id"] == id {
                return message;
            }
            self.notifications.borrow_mut().push(message);
        }
    }
}
