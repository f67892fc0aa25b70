//! A6 `search_code`: the definition that was meant comes first, and an edit is seen at once, whoever made it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use yard_core::op::{CodeAnswer, CodeMatch, CodeScope, SearchCode};
use yard_core::{FaultCode, WsPath};
use yard_dialects::Answer;
use yard_gate::{Actor, CallerPolicy, Mode, Session};
use yard_testkit::{FakeWorld, Folders, OpenOptions, TestWorkspace};

fn call_as(workspace: &TestWorkspace, session: &Session, args: Value) -> Answer {
    workspace.call_as(session, "assistant", "search_code", args)
}

fn search(workspace: &TestWorkspace, args: Value) -> Value {
    let answer = call_as(workspace, &workspace.session(), args.clone());
    assert!(answer.ok, "{args}: {}", answer.body);
    answer.body["result"]["value"].clone()
}

/// Each result as `path:line kind name`.
fn found(workspace: &TestWorkspace, args: Value) -> Vec<String> {
    let reply = search(workspace, args);
    let shown = |found: &Value| {
        let name = found["name"].as_str().unwrap_or("-");
        let (path, kind) = (found["path"].as_str().unwrap(), found["kind"].as_str().unwrap());
        format!("{path}:{} {kind} {name}", found["line"])
    };
    reply["results"].as_array().unwrap().iter().map(shown).collect()
}

fn definitions(workspace: &TestWorkspace, query: &str) -> Vec<String> {
    found(workspace, json!({"query": query, "kind": "definition"}))
}

fn asked(query: &str) -> SearchCode {
    SearchCode {
        query: query.to_owned(),
        path: WsPath::root(),
        language: None,
        scope: CodeScope::All,
        limit: 20,
        skip: 0,
    }
}

fn first(answer: &CodeAnswer) -> Option<(String, u64)> {
    answer.results.first().map(|CodeMatch { path, line, .. }| (path.to_string(), *line))
}

fn first_name(answer: &CodeAnswer) -> Option<&str> {
    Some(&answer.results.first()?.definition.as_ref()?.name)
}

/// Whether two names are one name in two spellings.
fn is_spelled(one: &str, other: &str) -> bool {
    one.replace('_', "").eq_ignore_ascii_case(&other.replace('_', ""))
}

/// Where the source of a dependency is on this machine.
fn dependency(name: &str) -> PathBuf {
    // Of this machine's platform alone: what is built for others was never downloaded.
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(["--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let received: Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let packages = received["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == name).unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

/// What the compiler builds for.
fn host() -> String {
    let received = Command::new("rustc").arg("-vV").output().unwrap();
    let received = String::from_utf8(received.stdout).unwrap();
    received.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// Copies the sources below a folder into the workspace.
fn copy(workspace: &TestWorkspace, from: &Path, to: &str) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        let place = format!("{to}/{name}");
        if path.is_dir() && name != "target" {
            copy(workspace, &path, &place);
        } else if path.is_file() {
            workspace.put(&place, fs::read(&path).unwrap());
        }
    }
}

/// The functions of Rust sources, found line by line and without any syntax: name, then places.
fn functions(root: &Path, folder: &Path, into: &mut BTreeMap<String, Vec<(String, u64)>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(root, &path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let shown = format!("/{}", path.strip_prefix(root).unwrap().display());
            for (row, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
                if let Some(name) = function(line) {
                    into.entry(name.to_owned()).or_default().push((shown.clone(), row as u64 + 1));
                }
            }
        }
    }
}

/// The function that a line defines.
fn function(line: &str) -> Option<&str> {
    let mut words = line.trim_start();
    for before in ["pub(crate) ", "pub(super) ", "pub ", "const ", "async ", "unsafe "] {
        words = words.strip_prefix(before).unwrap_or(words);
    }
    let rest = words.strip_prefix("fn ")?;
    let name = rest.split(|c: char| c != '_' && !c.is_alphanumeric()).next()?;
    name.contains(char::is_alphanumeric).then_some(name)
}

/// This project's source and a dependency's, and their functions.
fn sources() -> (TestWorkspace, BTreeMap<String, Vec<(String, u64)>>) {
    let workspace = TestWorkspace::new();
    copy(&workspace, &Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), "/crates");
    copy(&workspace, &dependency("regex-syntax"), "/regex-syntax");
    let mut known = BTreeMap::new();
    functions(workspace.root(), workspace.root(), &mut known);
    (workspace, known)
}

/// A hundred of them, the same ones each time.
fn drawn(known: &BTreeMap<String, Vec<(String, u64)>>) -> Vec<(&String, &Vec<(String, u64)>)> {
    let (dice, mut all) = (FakeWorld::new(6), known.iter().collect::<Vec<_>>());
    assert!(all.len() > 1_000, "{} functions", all.len());
    (0..100).map(|_| all.swap_remove(dice.below(all.len()))).collect()
}

#[test]
fn a6_the_definition_of_a_named_function_is_first() {
    let (workspace, known) = sources();
    let mut missed = Vec::new();
    for (name, places) in drawn(&known) {
        let answer = workspace.perform(asked(name)).unwrap();
        if !first(&answer).is_some_and(|first| places.contains(&first)) {
            missed.push((name, first(&answer)));
        }
    }
    println!("first: {} of 100; missed {missed:?}", 100 - missed.len());
    assert!(missed.len() <= 5, "{missed:?}");
}

/// The same in words, as somebody asks who does not know the spelling: `FetchVersion` is one of
/// "fetch version" as well as `fetch_version` is.
#[test]
fn a6_words_find_the_function_that_they_make_up() {
    let (workspace, known) = sources();
    let several = |name: &&String| name.trim_matches('_').matches('_').count() >= 1;
    let mut missed = Vec::new();
    let drawn: Vec<_> = drawn(&known).into_iter().filter(|(name, _)| several(name)).collect();
    for (name, places) in &drawn {
        let answer = workspace.perform(asked(&name.replace('_', " "))).unwrap();
        let is_meant = first(&answer).is_some_and(|first| places.contains(&first));
        if !is_meant && !first_name(&answer).is_some_and(|found| is_spelled(found, name)) {
            missed.push((name, first(&answer)));
        }
    }
    println!("first: {} of {}; missed {missed:?}", drawn.len() - missed.len(), drawn.len());
    assert!(missed.len() * 20 <= drawn.len(), "{missed:?}");
}

#[test]
fn a6_a_name_is_found_in_any_spelling_by_its_parts_and_by_what_it_is_in() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.rs", "impl Tree {\n    fn walk_all(&self) {}\n}\nfn walk_all_of_it() {}\n");
    workspace.put("/b.py", "class Forest:\n    def walk_all(self):\n        pass\n");
    workspace.put("/notes.md", "How walk_all works\n");
    for query in ["walk_all", "walkAll", "WalkAll", "walk all", "walk-all"] {
        let names = definitions(&workspace, query);
        assert_eq!(names.len(), 3, "{query}: {names:?}");
        assert_eq!(names[2], "a.rs:4 function walk_all_of_it", "{query}");
    }
    assert_eq!(definitions(&workspace, "Tree::walk_all")[0], "a.rs:2 method walk_all");
    assert_eq!(definitions(&workspace, "Forest.walk_all")[0], "b.py:2 method walk_all");
    assert_eq!(definitions(&workspace, "walk_all_o")[0], "a.rs:4 function walk_all_of_it");
    let python = found(&workspace, json!({"query": "walk_all", "language": "python"}));
    assert_eq!(python, ["b.py:2 method walk_all"], "its own line is not there twice");
    let text = found(&workspace, json!({"query": "walk_all", "kind": "text"}));
    assert!(text.contains(&"notes.md:1 text -".to_owned()), "{text:?}");
}

#[test]
fn a6_an_edit_of_any_author_is_seen_at_once() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/a.rs", "fn first_name() {}\n");
    assert_eq!(definitions(&workspace, "first_name"), ["src/a.rs:1 function first_name"]);
    for round in 0..20 {
        let name = format!("by_tool_{round:02}");
        let text = format!("fn {name}() {{}}\n");
        let wrote = workspace
            .call("write", json!({"path": "/src/a.rs", "content": text, "overwrite": true}));
        assert!(wrote.ok, "{}", wrote.body);
        assert_eq!(definitions(&workspace, &name)[0], format!("src/a.rs:1 function {name}"));
        // The same size, in place, within the same tick of a clock: only its bytes tell.
        let name = format!("by_hand_{round:02}");
        fs::write(workspace.root().join("src/a.rs"), format!("fn {name}() {{}}\n")).unwrap();
        assert_eq!(definitions(&workspace, &name)[0], format!("src/a.rs:1 function {name}"));
    }
    assert_eq!(
        definitions(&workspace, "first_name")
            .iter()
            .filter(|name| name.ends_with("first_name"))
            .count(),
        0
    );
    fs::rename(workspace.root().join("src/a.rs"), workspace.root().join("src/b.rs")).unwrap();
    assert_eq!(definitions(&workspace, "by_hand_19"), ["src/b.rs:1 function by_hand_19"]);
    fs::remove_dir_all(workspace.root().join("src")).unwrap();
    assert_eq!(found(&workspace, json!({"query": "by_hand_19"})), Vec::<String>::new());
}

/// The signature of an old file is trusted, so what sets its times back is the one thing left: its change
/// time tells even then.
#[test]
fn a6_a_file_whose_times_were_set_back_is_seen() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.rs", "fn one() {}\n");
    let path = workspace.root().join("a.rs");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let age =
        |path: &Path| fs::File::options().write(true).open(path).unwrap().set_modified(long_ago);
    age(&path).unwrap();
    std::thread::sleep(Duration::from_millis(2_100));
    assert_eq!(definitions(&workspace, "one"), ["a.rs:1 function one"]);
    fs::write(&path, "fn two() {}\n").unwrap();
    age(&path).unwrap();
    assert_eq!(definitions(&workspace, "two"), ["a.rs:1 function two"]);
}

#[test]
fn a6_what_grep_leaves_out_is_left_out() {
    let workspace = TestWorkspace::new();
    let outside = tempfile_outside(&workspace);
    fs::write(outside.join("o.rs"), "fn needle() {}\n").unwrap();
    for path in ["/kept.rs", "/build/out.rs", "/.git/hook.rs", "/sub/skip.rs"] {
        workspace.put(path, "fn needle() {}\n");
    }
    workspace.put("/.gitignore", "/build/\n");
    workspace.put("/sub/.ignore", "skip.*\n");
    symlink(&outside, workspace.root().join("link")).unwrap();
    symlink(outside.join("o.rs"), workspace.root().join("link.rs")).unwrap();
    assert_eq!(definitions(&workspace, "needle"), ["kept.rs:1 function needle"]);
    workspace.put("/.gitignore", "/kept.rs\n");
    assert_eq!(definitions(&workspace, "needle"), ["build/out.rs:1 function needle"]);
}

/// A folder beside the root.
fn tempfile_outside(workspace: &TestWorkspace) -> PathBuf {
    let outside = workspace.root().parent().unwrap().join("outside");
    fs::create_dir_all(&outside).unwrap();
    outside
}

#[test]
fn a6_any_bytes_are_borne() {
    let workspace = TestWorkspace::new();
    workspace.put("/binary.rs", b"fn needle\0() {}\n".as_slice());
    workspace.put("/damaged.rs", b"// \xff\xfe damaged\nfn needle() {}\n".as_slice());
    workspace.put("/latin.py", b"# caf\xe9 au lait, gar\xe7on\ndef needle(): pass\n".as_slice());
    workspace
        .put("/wide.py", b"\xff\xfed\0e\0f\0 \0n\0e\0e\0d\0l\0e\0(\0)\0:\0 \x001\0\n\0".as_slice());
    workspace.put("/huge.rs", vec![b'x'; (1 << 20) + 1]);
    workspace.put("/line.js", format!("var a = [{}];", "1,".repeat(500_000)));
    workspace.put("/deep.rs", format!("fn needle() {{ {} }}", "(".repeat(300_000)));
    workspace.put("/deep.json", "[".repeat(1_000_000));
    workspace.put("/broken.cpp", "class { ( << template <".repeat(20_000));
    workspace.put("/empty.rs", "");
    let reply = search(&workspace, json!({"query": "needle", "kind": "definition"}));
    let paths: Vec<&str> =
        reply["results"].as_array().unwrap().iter().map(|r| r["path"].as_str().unwrap()).collect();
    for path in ["damaged.rs", "latin.py", "wide.py"] {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
    assert!(!paths.contains(&"binary.rs"), "{paths:?}");
    assert!(reply["message"].as_str().unwrap().contains("1 files above 1 MiB"), "{reply}");
    let damaged = &reply["results"][paths.iter().position(|p| *p == "damaged.rs").unwrap()];
    assert_eq!((&damaged["line"], &damaged["snippet"]), (&json!(2), &json!("fn needle() {}")));
}

#[test]
fn a6_results_page_and_are_bounded() {
    let workspace = TestWorkspace::new();
    for number in 0..30 {
        workspace.put(
            &format!("/f{number:02}.rs"),
            format!("fn needle() {{}}\n// {}\n", "x".repeat(9_000)),
        );
    }
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut args = json!({"query": "needle", "limit": 7});
        if !cursor.is_null() {
            args["cursor"] = cursor.clone();
        }
        let reply = search(&workspace, args);
        let results = reply["results"].as_array().unwrap();
        assert!(results.len() <= 7);
        seen.extend(results.iter().map(|found| found["path"].as_str().unwrap().to_owned()));
        assert_eq!(reply["truncated"], json!(!reply["next"].is_null()));
        cursor = reply["next"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let mut unique = seen.clone();
    unique.dedup();
    assert_eq!((seen.len(), unique.len()), (30, 30), "each once, and none left out");
    let only = found(&workspace, json!({"query": "needle", "path": ".", "limit": 1}));
    assert_eq!(only, ["f00.rs:1 function needle"]);
}

#[test]
fn a6_a_wrong_call_says_what_to_send() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.rs", "fn needle() {}\n");
    for (args, word) in [
        (json!({"query": " ++ "}), "Send a name"),
        (json!({"query": "x", "path": "a.rs"}), "a.rs"),
        (json!({"query": "x", "path": "nowhere"}), "nowhere"),
        (json!({"query": "x", "path": "../up"}), "relative to the root"),
        (json!({"query": "x", "language": "cobol"}), "rust"),
        (json!({"query": "x", "kind": "usage"}), "definition"),
        (json!({"query": "x", "limit": 101}), "100"),
        (json!({"query": "x", "cursor": "later"}), "next"),
    ] {
        let answer = call_as(&workspace, &workspace.session(), args.clone());
        assert!(!answer.ok, "{args}");
        assert!(answer.body.to_string().contains(word), "{args}: {}", answer.body);
    }
}

/// It only reads: plan mode and a role that may only look are enough.
#[test]
fn a6_who_may_only_look_may_search() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.rs", "fn needle() {}\n");
    let viewer = workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly);
    assert!(call_as(&workspace, &viewer, json!({"query": "needle"})).ok);
    let agent = workspace.session();
    let chat = agent.chats().make(&workspace.call_context(), "plan", Some(Mode::Plan)).unwrap();
    let planning = agent.in_chat(chat.id).unwrap();
    assert!(call_as(&workspace, &planning, json!({"query": "needle"})).ok);
}

/// What a search that ran out of time has read is kept, and the next ones go on from there.
#[test]
fn a6_a_search_that_runs_out_of_time_goes_on_at_the_next_call() {
    let world = Arc::new(FakeWorld::new(1));
    // Long after the files: what is younger than two seconds is read again each time.
    world.advance_millis(100 * 365 * 86_400_000);
    let plan = OpenOptions { world: world.clone(), ..OpenOptions::default() };
    let workspace = TestWorkspace::open(&Folders::new(), plan).unwrap();
    for number in 0..400 {
        workspace.put(&format!("/f{number}.txt"), format!("word{number}\n"));
    }
    let mut calls = 0;
    loop {
        calls += 1;
        // Each look at this clock is a millisecond.
        let call = yard_core::Call::new(world.clone()).within_millis(500);
        let origin = yard_gate::Origin { toolset: "test", tool: "x", asks: yard_gate::Asks::Never };
        match workspace.session().perform(origin, &call, asked("word7")) {
            Ok(_) => break,
            Err(fault) => {
                assert_eq!(fault.code(), FaultCode::Timeout);
                assert!(calls < 50, "{}", fault.message());
            }
        }
    }
    assert!(calls > 1, "the first one had too little time");
}

/// Searches at the same time wait for one look at the tree and share it.
#[test]
fn a6_searches_at_the_same_time_share_one_build() {
    let counter = Arc::new(Opens::default());
    let plan = OpenOptions { probe: Some(counter.clone()), ..OpenOptions::default() };
    let workspace = TestWorkspace::open(&Folders::new(), plan).unwrap();
    for number in 0..300 {
        workspace.put(&format!("/f{number}.rs"), format!("fn name{number}() {{}}\n"));
    }
    // Old enough to be trusted, so that a file is read once.
    std::thread::sleep(Duration::from_millis(2_100));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let answer = workspace.perform(asked("name7")).unwrap();
                assert_eq!(first(&answer), Some(("/f7.rs".to_owned(), 1)));
            });
        }
    });
    let opened = counter.0.load(std::sync::atomic::Ordering::Relaxed);
    assert!(opened < 600, "{opened} files were opened");
}

#[derive(Default)]
struct Opens(std::sync::atomic::AtomicUsize);

impl yard_disk::Probe for Opens {
    fn before(&self, call: yard_disk::DiskCall) -> std::io::Result<()> {
        if call == yard_disk::DiskCall::Open {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }
}
