//! A file that is read a second time: the answer is always about the file that is on disk now.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use yard_testkit::{OpenOptions, TestWorkspace};

fn read(workspace: &TestWorkspace, path: &str) -> Value {
    let answer = workspace.call("read", json!({"path": path}));
    assert!(answer.ok, "{}", answer.body);
    answer.body["result"].clone()
}

/// Every slice, every text: the second and the third answer are the first.
#[test]
fn every_look_answers_as_the_first_did() {
    let texts: [&[u8]; 9] = [
        b"",
        b"\n",
        b"one",
        b"one\ntwo\nthree\n",
        b"one\r\ntwo\r\nthree",
        "\u{feff}mark\nand more\n".as_bytes(),
        b"\xff\xfea\0\n\0",
        b"caf\xe9 au lait\nlegacy\n",
        "ünïcödé\n\u{2028}\n日本\n".as_bytes(),
    ];
    let slices = [
        json!({}),
        json!({"limit": 0}),
        json!({"limit": 1}),
        json!({"limit": 2, "offset": 1}),
        json!({"offset": -1}),
        json!({"offset": 99}),
        json!({"byte_offset": 0}),
        json!({"byte_offset": 2, "byte_limit": 3}),
    ];
    for text in texts {
        for slice in &slices {
            let workspace = TestWorkspace::new();
            workspace.put("/a.txt", text);
            let mut args = slice.clone();
            args["path"] = json!("/a.txt");
            let first = workspace.call("read", args.clone());
            for _ in 0..2 {
                // A read of the whole file in between makes no difference.
                workspace.call("read", json!({"path": "/a.txt", "limit": 0}));
                assert_eq!(
                    workspace.call("read", args.clone()).body,
                    first.body,
                    "{text:?} {args}"
                );
            }
        }
    }
}

#[test]
fn a_change_that_hides_is_seen_at_once() {
    let workspace = TestWorkspace::new();
    assert!(workspace.call("write", json!({"path": "/a.txt", "content": "first\n"})).ok);
    let (first, again) = (read(&workspace, "/a.txt"), read(&workspace, "/a.txt"));
    assert_eq!((&first, &first["synced"]), (&again, &json!(true)));

    // As many bytes, in the same file, with the same time of change.
    let real = workspace.root().join("a.txt");
    let time = fs::metadata(&real).unwrap().modified().unwrap();
    fs::write(&real, "other\n").unwrap();
    File::options().write(true).open(&real).unwrap().set_modified(time).unwrap();
    let other = read(&workspace, "/a.txt");
    assert_eq!((&other["content"], &other["synced"]), (&json!("other\n"), &json!(false)));
    assert_ne!(other["hash"], first["hash"]);

    // And back: the store agrees again.
    fs::write(&real, "first\n").unwrap();
    assert_eq!(read(&workspace, "/a.txt"), first);
}

#[test]
fn what_took_the_place_of_a_file_is_what_is_seen() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    workspace.put("/b.txt", "two\n");
    let real = workspace.root().join("a.txt");
    for _ in 0..2 {
        read(&workspace, "/a.txt");
    }
    fs::remove_file(&real).unwrap();
    assert_eq!(workspace.call("read", json!({"path": "/a.txt"})).status, 404);
    symlink("b.txt", &real).unwrap();
    let led = read(&workspace, "/a.txt");
    assert_eq!((&led["content"], &led["path"]), (&json!("two\n"), &json!("/b.txt")));
    fs::remove_file(&real).unwrap();
    symlink("/etc/hostname", &real).unwrap();
    assert!(!workspace.call("read", json!({"path": "/a.txt"})).ok);
    fs::remove_file(&real).unwrap();
    fs::create_dir(&real).unwrap();
    assert_eq!(workspace.call("read", json!({"path": "/a.txt"})).status, 400);
}

/// A pipe that nobody writes into would keep a reader waiting for ever.
#[test]
fn a_pipe_in_the_place_of_a_file_is_refused() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    read(&workspace, "/a.txt");
    let real = workspace.root().join("a.txt");
    fs::remove_file(&real).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&real).status().unwrap();
    assert!(made.success());
    assert_eq!(workspace.call("read", json!({"path": "/a.txt"})).status, 400);
}

#[test]
fn w3_a_text_that_becomes_a_value_reads_as_one_at_once() {
    let workspace = TestWorkspace::new();
    let as_text = json!({"path": "/a.json", "content": "{\n  \"a\": 1\n}"});
    let as_value = json!({"path": "/a.json", "content": {"a": 1}, "overwrite": true});
    assert!(workspace.call("write", as_text.clone()).ok);
    read(&workspace, "/a.json");
    assert!(read(&workspace, "/a.json")["content"].is_string());
    for _ in 0..2 {
        assert!(workspace.call("write", as_value.clone()).ok);
        assert_eq!(read(&workspace, "/a.json")["content"], json!({"a": 1}));
        let mut back = as_text.clone();
        back["overwrite"] = json!(true);
        assert!(workspace.call("write", back).ok);
        assert!(read(&workspace, "/a.json")["content"].is_string());
    }
}

/// Two processes on one folder: what one of them writes, the other reads.
#[test]
fn what_another_process_wrote_is_read() {
    let workspace = TestWorkspace::new();
    assert!(workspace.call("write", json!({"path": "/a.txt", "content": "one\n"})).ok);
    read(&workspace, "/a.txt");
    let other = TestWorkspace::open(workspace.folders(), OpenOptions::default()).unwrap();
    for number in 0..20 {
        let content = format!("{number}\n");
        let args = json!({"path": "/a.txt", "content": content, "overwrite": true});
        assert!(other.call("write", args).ok);
        assert_eq!(read(&workspace, "/a.txt")["content"], json!(content));
        assert_eq!(read(&workspace, "/a.txt")["synced"], true);
    }
}

/// How far the walk is ahead of a cut is a matter of timing, and no answer says it.
#[test]
fn r8_a_cut_answer_counts_what_was_skipped_before_the_cut() {
    let workspace = TestWorkspace::new();
    workspace.put("/.gitignore", "*.log\n");
    for number in 0..3_000 {
        workspace.put(&format!("/f{number:04}.txt"), "word\n");
        workspace.put(&format!("/f{number:04}.txt.log"), "word\n");
    }
    for _ in 0..10 {
        let found = workspace.call("find", json!({"path": "/", "name": "*.txt", "limit": 5}));
        assert_eq!(found.body["result"]["ignored"], 5, "{}", found.body);
        let matched = workspace.call("grep", json!({"path": "/", "pattern": "word", "limit": 5}));
        assert_eq!(matched.body["result"]["ignored"], 5, "{}", matched.body);
    }
    let all = workspace.call("grep", json!({"path": "/", "pattern": "nothing"}));
    assert_eq!(all.body["result"]["ignored"], 3_000, "{}", all.body);
}
