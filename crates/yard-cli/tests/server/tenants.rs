//! Workspaces of one server side by side: no folder is in two of them, one's load does not stop another,
//! and nothing that a caller sends makes an answer without bounds.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::harness::{Answer, Server, Someone};
use crate::talk::Listener;

fn is_soak() -> bool {
    std::env::var_os("YARD_SOAK").is_some()
}

fn on(person: &Someone<'_>, folder: &str) -> Answer {
    person.post("/api/v1/workspaces", json!({"name": "Work", "folder": folder}))
}

fn codex(person: &Someone<'_>, workspace: &str, tool: &str, args: Value) -> Answer {
    let body = json!({"toolset": "codex", "tool": tool, "args": args});
    person.post(&format!("/api/v1/workspaces/{workspace}/tools"), body)
}

fn shell(person: &Someone<'_>, workspace: &str, command: &str) -> Answer {
    let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000});
    codex(person, workspace, "shell", args)
}

#[test]
fn r15_a_folder_that_overlaps_another_workspaces_is_refused_to_every_caller() {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().canonicalize().unwrap();
    for name in ["p4/inner", "p5", "p4x"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    symlink(base.join("p4"), base.join("link")).unwrap();
    symlink(base.join("p4/inner"), base.join("deep-link")).unwrap();
    let folders = format!("[{:?}]", base.to_str().unwrap());
    let server = Server::start_with(&[("TOOLYARD__WORKSPACES__FOLDERS", folders.as_str())]);
    let (one, other) = (server.person(), server.person());
    let at = |name: &str| base.join(name).to_str().unwrap().to_owned();
    let made = on(&one, &at("p4")).expect(201);
    let id = made["workspace"]["id"].as_str().unwrap().to_owned();
    for person in [&one, &other] {
        for taken in ["p4", "p4/inner", "link", "deep-link", "p4/../p4", "."] {
            let reply = on(person, &at(taken)).expect(403);
            assert!(reply["error"].as_str().unwrap().contains("belongs to a workspace"), "{reply}");
        }
    }
    on(&other, &at("p4x")).expect(201);
    on(&other, &at("p5")).expect(201);
    // Once it is deleted, the folder is free again.
    assert_eq!(one.delete(&format!("/api/v1/workspaces/{id}")).status, 204);
    on(&other, &at("p4/inner")).expect(201);
}

#[test]
fn r15_the_data_folder_and_what_holds_it_are_no_workspaces() {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().canonicalize().unwrap();
    let mut server = Server::start_with(&[("TOOLYARD__WORKSPACES__FOLDERS", "[\"/\"]")]);
    let person = server.person();
    let data = server.data().canonicalize().unwrap();
    symlink(&data, base.join("link")).unwrap();
    let temp = data.parent().unwrap();
    for folder in [&data, temp, &data.join("workspaces"), &base.join("link"), Path::new("/")] {
        fs::create_dir_all(folder).unwrap();
        on(&person, folder.to_str().unwrap()).expect(403);
    }
    server.stop();
}

#[test]
fn g1_a_workspace_whose_folder_became_a_link_does_not_open() {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().canonicalize().unwrap();
    for name in ["p4", "other"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    fs::write(base.join("other/secret.txt"), "canary of the other").unwrap();
    let folders = format!("[{:?}]", base.to_str().unwrap());
    let mut server = Server::start_with(&[("TOOLYARD__WORKSPACES__FOLDERS", folders.as_str())]);
    let person = server.person();
    let made = on(&person, base.join("p4").to_str().unwrap()).expect(201);
    let id = made["workspace"]["id"].as_str().unwrap().to_owned();
    let token = person.token.clone();
    person.tool(&id, "write", json!({"path": "/a.txt", "content": "ours"})).expect(200);
    let refused = |server: &Server| {
        let person = server.holder(&token);
        for answer in [
            person.tool(&id, "read", json!({"path": "/secret.txt"})),
            shell(&person, &id, "cat secret.txt"),
            person.tool(&id, "write", json!({"path": "/new.txt", "content": "x"})),
        ] {
            let text = String::from_utf8_lossy(&answer.bytes).into_owned();
            assert!(!text.contains("canary") && !text.contains("\"success\":true"), "{text}");
        }
    };
    fs::rename(base.join("p4"), base.join("moved")).unwrap();
    symlink("other", base.join("p4")).unwrap();
    refused(&server);
    server.crash_and_restart();
    refused(&server);
    assert!(!base.join("other/new.txt").exists());
}

#[test]
fn g8_three_megabytes_of_unknown_arguments_are_answered_in_a_few_kilobytes() {
    let server = Server::start();
    let person = server.person();
    let id = person.workspace();
    let agent = person.agent(&id, "viewer");
    let mut args = Map::new();
    args.insert("path".to_owned(), json!("/a"));
    args.extend((0..250_000).map(|at| (format!("x{at}"), json!(1))));
    let args = Value::Object(args);
    for (toolset, tool) in
        [("workspace", "read"), ("codex", "read_file"), ("assistant", "run_tests")]
    {
        let body = json!({"toolset": toolset, "tool": tool, "args": args});
        let answer = agent.post(&format!("/api/v1/workspaces/{id}/tools"), body);
        assert!(answer.bytes.len() < 32 << 10, "{toolset}: {} bytes", answer.bytes.len());
        let text = String::from_utf8_lossy(&answer.bytes).into_owned();
        assert!(text.contains("more arguments are unknown or wrong"), "{toolset}: {text:.500}");
    }
}

/// Milliseconds of many plain calls, the 95th of a hundred.
fn p95(person: &Someone<'_>, workspace: &str, calls: usize) -> f64 {
    let mut took: Vec<f64> = (0..calls)
        .map(|_| {
            let began = Instant::now();
            person.tool(workspace, "read", json!({"path": "/a.txt"})).expect(200);
            began.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    took.sort_by(f64::total_cmp);
    took[calls * 95 / 100]
}

#[test]
fn g7_one_workspaces_commands_and_searches_do_not_keep_another_waiting() {
    let server = Server::start();
    let (busy, other) = (server.person(), server.person());
    let (loaded, quiet) = (busy.workspace(), other.workspace());
    for (person, id) in [(&busy, &loaded), (&other, &quiet)] {
        person.tool(id, "write", json!({"path": "/a.txt", "content": "alpha\n"})).expect(200);
    }
    let alone = p95(&other, &quiet, 100);
    let (ended, finished) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                shell(&busy, &loaded, "sleep 3");
                finished.fetch_add(1, Ordering::Relaxed);
            });
        }
        for _ in 0..16 {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    busy.tool(&loaded, "grep", json!({"pattern": "a.*b.*c"}));
                }
            });
        }
        thread::sleep(Duration::from_secs(1));
        let reply = shell(&other, &quiet, "echo here").expect(200);
        assert_eq!(reply["result"]["stdout"], "here\n", "{reply}");
        other.tool(&quiet, "grep", json!({"pattern": "alpha"})).expect(200);
        other.tool(&quiet, "write", json!({"path": "/b.txt", "content": "b"})).expect(200);
        // It would have been the last of all, had it waited for its turn among them.
        let finished = finished.load(Ordering::Relaxed);
        assert!(finished < 24, "{finished} of the other's commands ended before");
        let beside = p95(&other, &quiet, 100);
        println!("p95 of a read: {alone:.2} ms alone, {beside:.2} ms beside a busy workspace");
        if is_soak() {
            assert!(beside <= (5.0 * alone).max(alone + 50.0), "{alone} {beside}");
        }
        ended.store(true, Ordering::Relaxed);
        // A refused caller learns when to try again.
        let more: Vec<_> =
            (0..100).map(|_| scope.spawn(|| shell(&busy, &loaded, "true"))).collect();
        let answers: Vec<Answer> = more.into_iter().map(|one| one.join().unwrap()).collect();
        let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
        assert!(!refused.is_empty(), "all of them were taken");
        for answer in refused {
            assert_eq!(answer.header("retry-after"), Some("5"));
            assert_eq!(answer.json()["code"], "RATE_LIMITED");
        }
    });
}

#[test]
fn g14_a_data_folder_that_others_can_read_is_closed_or_refused() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let serve = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command.env_clear().args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&data);
        command
    };
    fs::create_dir(&data).unwrap();
    fs::write(data.join("somebodys"), "file").unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = serve().output().unwrap();
    let reply = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && reply.contains("chmod 700"), "{reply}");
    assert!(!data.join("people.db").exists());
    // One that is empty becomes ours.
    fs::remove_file(data.join("somebodys")).unwrap();
    let root = home.path().join("root");
    fs::create_dir(&root).unwrap();
    let mut history = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    history.env_clear().arg("history").arg("--root").arg(&root).arg("--data-dir").arg(&data);
    assert!(history.status().unwrap().success());
    let mode = |at: &Path| fs::metadata(at).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    let server = Server::start();
    for name in ["people.db", "people.lock", "jwt.secret"] {
        assert_eq!(mode(&server.data().join(name)), 0o600, "{name}");
    }
}

#[test]
fn h6_a_server_with_many_terminals_and_much_changed_stops_soon() {
    let mut server = Server::start();
    let mib = if is_soak() { 300 } else { 60 };
    let token = {
        let person = server.person();
        let id = person.workspace();
        let policy = format!("/api/v1/workspaces/{id}/policy");
        person.ask("PUT", &policy, &json!({"preset": "open"})).expect(200);
        for at in 0..16 {
            let args = json!({"cmd": "bash --norc", "session_id": format!("s{at}")});
            codex(&person, &id, "exec_command", args).expect(200);
        }
        let fill = format!(
            "for n in $(seq {}); do head -c 10M /dev/urandom > file$n; done; echo filled\n",
            mib / 10
        );
        let args = json!({"session_id": "s0", "chars": fill});
        codex(&person, &id, "write_stdin", args).expect(200);
        let root = server.data().join("workspaces").join(&id);
        let last = root.join(format!("file{}", mib / 10));
        let began = Instant::now();
        while fs::metadata(&last).map_or(0, |about| about.len()) < 10 << 20 {
            assert!(began.elapsed() < Duration::from_secs(60), "the terminal writes nothing");
            thread::sleep(Duration::from_millis(20));
        }
        person.token.clone()
    };
    drop(token);
    let began = Instant::now();
    server.stop();
    let took = began.elapsed();
    println!("stopped after {took:?} with 16 terminals and {mib} MiB changed");
    assert!(took < Duration::from_secs(if is_soak() { 5 } else { 10 }), "{took:?}");
}

#[test]
fn h10_a_server_with_few_open_files_goes_on_accepting() {
    let server = Server::start_with_files(1_024);
    let person = server.person();
    let all: Vec<String> = (0..80).map(|_| person.workspace()).collect();
    for id in &all {
        person.tool(id, "write", json!({"path": "/a.txt", "content": "a"})).expect(200);
    }
    let open_files = || fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    let mut streams: Vec<Listener> =
        (0..3).map(|_| Listener::open(&person, "/api/v1", None)).collect();
    streams.iter_mut().for_each(Listener::greeted);
    let inbox = person.get("/api/v1/inbox").expect(200);
    assert_eq!((&inbox["entries"], &inbox["unavailable"]), (&json!([]), &json!([])));
    let files = open_files();
    println!("{files} files are open");
    assert!(files < 900, "{files}");
    // What happens in a workspace that was closed meanwhile reaches every stream.
    let first = &all[0];
    person.tool(first, "write", json!({"path": "/b.txt", "content": "b"})).expect(200);
    for stream in &mut streams {
        assert_eq!(&stream.next("change").data["workspace"], first);
    }
    assert!(open_files() < 900, "{}", open_files());
}
