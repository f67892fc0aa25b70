//! Many threads and several processes on one root: a stale hash never wins, no edit is lost, no reader
//! sees half a file, and nobody waits for ever (R7).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests"
)]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use yard_core::op::{Mkdir, OnExisting, OnMissingFolder, Undo, Write};
use yard_core::{ContentHash, FaultCode};
use yard_testkit::failing_store::{FailingStore, FailureOutcome, FailureTime};
use yard_testkit::{
    ChildWorkspace, FailingCalls, FailingProbe, FailureTrigger, InjectedFailure, at, insert, mv,
    rm, scaled, soak, staged, tree, write,
};
use yard_testkit::{FakeWorld, Folders, OpenOptions, TestWorkspace};

const THREADS: usize = 32;
const FILES: usize = 10;

/// Fails instead of hanging: a deadlock must not look like a slow test.
fn within(seconds: u64, work: impl FnOnce() + Send + 'static) {
    let (done, finished) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    match finished.recv_timeout(Duration::from_secs(seconds)) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("no end after {seconds} s"),
        _ => {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[test]
fn r7_of_many_with_the_same_hash_exactly_one_wins() {
    within(120, || {
        let workspace = Arc::new(TestWorkspace::new());
        for round in 0..scaled(50) {
            let first = workspace.call(
                "write",
                json!({"path": "/f", "content": format!("start {round}\n"), "overwrite": true}),
            );
            let hash = first.body["result"]["hash"].clone();
            assert!(first.ok, "{}", first.body);
            let start = Arc::new(Barrier::new(THREADS));
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (workspace, start, hash) = (Arc::clone(&workspace), Arc::clone(&start), hash.clone());
                    std::thread::spawn(move || {
                        start.wait();
                        // Writers and editors alike.
                        let answer = if thread % 2 == 0 {
                            workspace.call("write", json!({"path": "/f", "content": format!("{round} {thread}\n"), "overwrite": true, "last_read_hash": hash}))
                        } else {
                            workspace.call("edit", json!({"path": "/f", "old_string": "start", "new_string": format!("{thread}"), "last_read_hash": hash}))
                        };
                        (answer.ok, answer.body.to_string())
                    })
                })
                .collect();
            let answers: Vec<(bool, String)> =
                threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            let won: Vec<&String> =
                answers.iter().filter(|(ok, _)| *ok).map(|(_, body)| body).collect();
            assert_eq!(won.len(), 1, "{won:?}");
            for (_, body) in answers.iter().filter(|(ok, _)| !ok) {
                assert!(body.contains("CONFLICT"), "{body}");
                let now = ContentHash::of(&workspace.bytes("/f")).to_string();
                assert!(body.contains(&now), "the current hash is not told: {body}");
            }
        }
    });
}

#[test]
fn of_many_who_create_one_path_exactly_one_wins() {
    within(120, || {
        let place = Folders::new();
        let opened = place.open_as_child(OpenOptions::default());
        for round in 0..scaled(100) {
            let start = Barrier::new(8);
            let won = AtomicUsize::new(0);
            let path = format!("/new/{round}/file");
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let (opened, start, won, path) = (&opened, &start, &won, &path);
                    scope.spawn(move || {
                        start.wait();
                        let op = Write {
                            on_existing: OnExisting::Refuse,
                            on_missing_folder: OnMissingFolder::Make,
                            ..write(path, format!("{thread}\n"), None)
                        };
                        match opened.perform(op) {
                            Ok(_) => drop(won.fetch_add(1, Ordering::SeqCst)),
                            Err(fault) => assert_eq!(fault.code(), FaultCode::Exists, "{fault}"),
                        }
                    });
                }
            });
            assert_eq!(won.load(Ordering::SeqCst), 1);
            assert_eq!(opened.history(Some(&path), 10).len(), 1);
        }
        assert_eq!(opened.verified(), Vec::<String>::new());
    });
}

/// A bug in one call is that call's alone: whoever shares its batch or waits behind it gets an answer, and
/// what was acknowledged is there.
#[test]
fn a_panicking_writer_blocks_no_other() {
    let rounds = scaled(400) as u64;
    for breaks in
        [Breaks::Store(FailureTime::Before), Breaks::Store(FailureTime::After), Breaks::Disk]
    {
        // They make more calls than this, in another order each time.
        let broke = (0..rounds).filter(|nth| breaks_off(breaks, nth % 60)).count() as u64;
        assert!(broke > rounds / 2, "{broke} of {rounds}: {breaks:?}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Breaks {
    Store(FailureTime),
    Disk,
}

/// Lets some write while the `nth` call below them breaks off; whether it did.
fn breaks_off(breaks: Breaks, nth: u64) -> bool {
    const WRITERS: usize = 6;
    const WRITES: usize = 4;
    let (trigger, mut plan) = (FailureTrigger::new(), OpenOptions::default());
    let fails = Arc::clone(&trigger);
    match breaks {
        Breaks::Disk => {
            plan.probe = Some(Arc::new(FailingProbe::new(fails, InjectedFailure::Panic)))
        }
        Breaks::Store(when) => {
            plan.store = Box::new(move |store| {
                Arc::new(FailingStore::new(store, Arc::clone(&fails), when, FailureOutcome::Panic))
            });
        }
    }
    let place = Folders::new();
    let opened = place.open_as_child(plan);
    trigger.arm(nth, FailingCalls::Once);
    let plan = Arc::clone(&trigger);
    within(60, move || {
        let path = |writer: usize, nth: usize| format!("/{writer}/{nth}");
        let (start, done) = (Barrier::new(WRITERS), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (opened, start, done) = (&opened, &start, &done);
                scope.spawn(move || {
                    start.wait();
                    for nth in 0..WRITES {
                        let op = write(&path(writer, nth), format!("{writer} {nth}"), None);
                        if let Ok(Ok(_)) = catch_unwind(AssertUnwindSafe(|| opened.perform(op))) {
                            done.lock().unwrap().push((writer, nth));
                        }
                    }
                });
            }
        });
        plan.disarm();
        let done = done.into_inner().unwrap();
        assert!(done.len() >= WRITERS * WRITES - WRITERS, "{done:?}");
        opened.perform(write("/after", "all\n", None)).unwrap();
        for (writer, nth) in done {
            let file = place.root().join(&path(writer, nth)[1..]);
            assert_eq!(std::fs::read_to_string(file).unwrap(), format!("{writer} {nth}"));
        }
        assert_eq!(opened.verified(), Vec::<String>::new());
    });
    trigger.disarm() > 0
}

fn edit_around(opened: &ChildWorkspace, tag: &str, edits: usize) {
    for edit in 0..edits {
        let path = format!(
            "/f{}",
            (edit + tag.len() + tag.bytes().map(usize::from).sum::<usize>()) % FILES
        );
        let done = opened.perform(insert(&path, 0, &format!("{tag} {edit}\n")));
        done.unwrap_or_else(|fault| panic!("{tag} {edit}: {fault}"));
    }
}

/// Every line that was inserted is there, once.
fn check_lines(root: &Path, tags: &[String], edits: usize) {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for file in 0..FILES {
        let text = std::fs::read_to_string(root.join(format!("f{file}"))).unwrap();
        for line in text.lines().filter(|line| *line != "END") {
            *lines.entry(line.to_owned()).or_default() += 1;
        }
    }
    for tag in tags {
        for edit in 0..edits {
            assert_eq!(lines.remove(&format!("{tag} {edit}")), Some(1), "{tag} {edit}");
        }
    }
    assert!(lines.is_empty(), "{lines:?}");
}

fn ten_files(opened: &ChildWorkspace) {
    for file in 0..FILES {
        opened.perform(write(&format!("/f{file}"), "END\n", None)).unwrap();
    }
}

#[test]
fn many_edits_on_few_files_none_is_lost() {
    let edits = scaled(100);
    within(600, move || {
        let place = Folders::new();
        let opened = place.open_as_child(OpenOptions::default());
        ten_files(&opened);
        let tags: Vec<String> = (0..THREADS).map(|thread| format!("t{thread}")).collect();
        let began = Instant::now();
        std::thread::scope(|scope| {
            for tag in &tags {
                let opened = &opened;
                scope.spawn(move || edit_around(opened, tag, edits));
            }
        });
        eprintln!("{THREADS} x {edits} edits in {:?}", began.elapsed());
        check_lines(place.root(), &tags, edits);
        assert_eq!(opened.verified(), Vec::<String>::new());
        let steps = opened.history(None, usize::MAX).len();
        assert_eq!(steps, FILES + THREADS * edits);
        drop(opened);
        drop(place.open_as_child(OpenOptions::default()));
        assert_eq!(staged(place.state()), Vec::<String>::new());
    });
}

/// In a child process: edits by some threads.
#[test]
fn child() {
    let Some(order) = std::env::var_os("YARD_EDIT_CHILD") else { return };
    let order = order.into_string().unwrap();
    let parts: Vec<&str> = order.split('|').collect();
    let [root, state, tag, threads, edits] = parts[..] else { panic!("{order}") };
    let opened =
        ChildWorkspace::open(Path::new(root), Path::new(state), OpenOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..threads.parse::<usize>().unwrap() {
            let (opened, edits) = (&opened, edits.parse::<usize>().unwrap());
            scope.spawn(move || edit_around(opened, &format!("{tag}{thread}"), edits));
        }
    });
}

#[test]
fn two_processes_on_one_root_lose_nothing() {
    let edits = scaled(100);
    within(600, move || {
        let place = Folders::new();
        let opened = place.open_as_child(OpenOptions::default());
        ten_files(&opened);
        let spawn = |tag: &str| {
            let (root, state) = (place.root().display(), place.state().display());
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "concurrency::child", "--nocapture"])
                .env("YARD_EDIT_CHILD", format!("{root}|{state}|{tag}|8|{edits}"))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let began = Instant::now();
        let mut children = ["p", "q"].map(spawn);
        // And this process is a third one.
        edit_around(&opened, "here", edits);
        for child in &mut children {
            assert!(child.wait().unwrap().success());
        }
        eprintln!("2 x 8 x {edits} + {edits} edits by three processes in {:?}", began.elapsed());
        let others = ["p", "q"].iter().flat_map(|tag| (0..8).map(move |n| format!("{tag}{n}")));
        let tags: Vec<String> = others.chain(["here".to_owned()]).collect();
        check_lines(place.root(), &tags, edits);
        assert_eq!(opened.verified(), Vec::<String>::new());
        assert_eq!(opened.history(None, usize::MAX).len(), FILES + tags.len() * edits);
    });
}

/// Of two processes' threads with the same hash exactly one wins, too.
#[test]
fn r7_two_processes_with_the_same_hash_exactly_one_wins() {
    within(300, || {
        let place = Folders::new();
        // Two handles with their own locks and connections: what two processes have.
        let both = [
            place.open_as_child(OpenOptions::default()),
            place.open_as_child(OpenOptions::default()),
        ];
        for round in 0..scaled(200) {
            let text = format!("start {round}\n");
            both[0].perform(write("/f", &text, None)).unwrap();
            let hash = ContentHash::of(text.as_bytes());
            let start = Barrier::new(8);
            let won = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let (opened, start, won) = (&both[thread % 2], &start, &won);
                    scope.spawn(move || {
                        start.wait();
                        match opened.perform(write("/f", format!("{round} {thread}\n"), Some(hash)))
                        {
                            Ok(_) => drop(won.fetch_add(1, Ordering::SeqCst)),
                            Err(fault) => assert_eq!(fault.code(), FaultCode::Stale, "{fault}"),
                        }
                    });
                }
            });
            assert_eq!(won.load(Ordering::SeqCst), 1, "round {round}");
        }
        assert_eq!(both[1].verified(), Vec::<String>::new());
    });
}

#[test]
fn readers_never_see_half_a_file() {
    within(120, || {
        let place = Folders::new();
        let opened = place.open_as_child(OpenOptions::default());
        let text = |n: u64| format!("{n}\n").repeat(5_000);
        opened.perform(write("/f", text(0), None)).unwrap();
        let stop = AtomicBool::new(false);
        let reads = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let (stop, reads, place, opened) = (&stop, &reads, &place, &opened);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        // As any program sees it: there is no moment without the file.
                        let bytes =
                            std::fs::read(place.root().join("f")).expect("the file is gone");
                        let first = String::from_utf8(bytes).unwrap();
                        let n = first.lines().next().expect("an empty file").to_owned();
                        assert_eq!(first, format!("{n}\n").repeat(5_000), "torn");
                        let read = yard_core::op::Read {
                            path: at("/f"),
                            slice: yard_core::op::Slice::Lines {
                                start: yard_core::op::LineStart::FromStart(0),
                                limit: None,
                            },
                            want: yard_core::op::Want {
                                hash: true,
                                line_count: true,
                                synced: true,
                                up_to: None,
                            },
                            max_bytes: 1 << 20,
                        };
                        let answer = opened.perform(read).unwrap_or_else(|fault| panic!("{fault}"));
                        let n = answer.text.lines().next().unwrap().to_owned();
                        assert_eq!(answer.text, format!("{n}\n").repeat(5_000), "torn");
                        let hash = ContentHash::of(answer.text.as_bytes());
                        assert_eq!(answer.hash, Some(hash), "the hash is another text's");
                        assert_eq!(answer.line_count, Some(5_000));
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for n in 0..scaled(1_000) as u64 {
                opened.perform(write("/f", text(n), None)).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        eprintln!("{} reads", reads.load(Ordering::Relaxed));
    });
}

/// Everything at once on a handful of names, by two handles (as two processes) of many threads.
#[test]
fn a_storm_on_few_names_ends_whole() {
    let seconds = if soak() { 20 } else { 3 };
    within(seconds + 120, move || {
        let place = Folders::new();
        let both = [
            place.open_as_child(OpenOptions::default()),
            place.open_as_child(OpenOptions::default()),
        ];
        let until = Instant::now() + Duration::from_secs(seconds);
        let (done, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..16_usize {
                let (opened, done, refused) = (&both[thread % 2], &done, &refused);
                scope.spawn(move || {
                    let dice = FakeWorld::new(thread as u64);
                    let name = || {
                        let names = ["/a", "/b", "/c", "/a/x", "/a/y", "/b/x", "/a/b", "/a/b/z"];
                        names[dice.below(names.len())]
                    };
                    while Instant::now() < until {
                        let result = match dice.below(10) {
                            0..=2 => opened
                                .perform(write(name(), format!("{}\n", dice.below(9)), None))
                                .map(drop),
                            3 => opened.perform(insert(name(), 0, "line")).map(drop),
                            4 | 5 => opened.perform(mv(name(), name())).map(drop),
                            6 => opened.perform(rm(name())).map(drop),
                            7 => opened.perform(Mkdir { path: at(name()) }).map(drop),
                            8 => match opened.history(None, 5).get(dice.below(5)) {
                                Some(step) => opened.perform(Undo::of(step.id)).map(drop),
                                None => Ok(()),
                            },
                            _ => opened
                                .perform(write(&format!("{}/deep/er", name()), "d\n", None))
                                .map(drop),
                        };
                        match result {
                            Ok(()) => drop(done.fetch_add(1, Ordering::Relaxed)),
                            Err(fault) => {
                                refused.fetch_add(1, Ordering::Relaxed);
                                let expected = !matches!(
                                    fault.code(),
                                    FaultCode::Io
                                        | FaultCode::Timeout
                                        | FaultCode::DiskFull
                                        | FaultCode::WriteRefused
                                        | FaultCode::PathOutside
                                );
                                assert!(expected, "{:?} {fault}", fault.code());
                            }
                        }
                    }
                });
            }
        });
        let (done, refused) = (done.into_inner(), refused.into_inner());
        eprintln!("{done} done, {refused} refused in {seconds} s");
        assert!(done > 20, "hardly anything got through");
        assert_eq!(both[0].verified(), Vec::<String>::new());
        let before = tree(place.root());
        drop(both);
        let opened = place.open_as_child(OpenOptions::default());
        assert_eq!(tree(place.root()), before, "recovery had something to do after a quiet end");
        assert_eq!(opened.verified(), Vec::<String>::new());
        assert_eq!(staged(place.state()), Vec::<String>::new());
    });
}

/// Opening is a moment like any other: several at once, on a fresh place and on one with leftovers.
#[test]
fn several_open_at_once() {
    within(120, || {
        for round in 0..scaled(300) {
            let place = Folders::new();
            if round % 2 == 1 {
                std::fs::create_dir(place.state().join("stage")).unwrap();
                for n in 0..50 {
                    std::fs::write(place.state().join(format!("stage/left-{n}")), "left").unwrap();
                }
            }
            let start = Barrier::new(4);
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    let (place, start) = (&place, &start);
                    scope.spawn(move || {
                        start.wait();
                        let opened = place.open_as_child(OpenOptions::default());
                        let path = format!("/d/{thread}");
                        opened
                            .perform(write(&path, "x\n", None))
                            .unwrap_or_else(|fault| panic!("round {round}: {fault}"));
                    });
                }
            });
            let opened = place.open_as_child(OpenOptions::default());
            assert_eq!(opened.verified(), Vec::<String>::new());
            assert_eq!(tree(place.root()).len(), 5);
        }
    });
}

/// Some of a batch are cancelled while another process holds the lock: they are told so at once, and
/// everybody else's change lands.
#[test]
fn r7_a_cancelled_call_fails_alone_while_a_batch_waits_for_the_lock() {
    const WRITERS: usize = 6;
    within(120, || {
        let workspace = Arc::new(TestWorkspace::new());
        let other_process = std::fs::File::open(workspace.folders().state().join("lock")).unwrap();
        for round in 0..scaled(50) {
            other_process.lock().unwrap();
            let (start, cancelled_are_back) =
                (Arc::new(Barrier::new(WRITERS + 1)), AtomicUsize::new(0));
            let cancelled_are_back = Arc::new(cancelled_are_back);
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let call = workspace.call_context();
                    let flag = call.cancel_flag();
                    let (workspace, start) = (Arc::clone(&workspace), Arc::clone(&start));
                    let back = Arc::clone(&cancelled_are_back);
                    let thread = std::thread::spawn(move || {
                        start.wait();
                        let path = format!("/{round}/{writer}");
                        let args = json!({"path": path, "content": "x"});
                        let catalog = workspace.catalog();
                        let answer =
                            catalog.call("workspace", "write", args, &workspace.session(), &call);
                        back.fetch_add(usize::from(!answer.ok), Ordering::SeqCst);
                        (answer.ok, answer.body.to_string())
                    });
                    (flag, thread)
                })
                .collect();
            start.wait();
            std::thread::sleep(Duration::from_millis(30));
            let is_cancelled = |writer: usize| (writer + round).is_multiple_of(2);
            for (writer, (flag, _)) in writers.iter().enumerate() {
                flag.store(is_cancelled(writer), Ordering::SeqCst);
            }
            while cancelled_are_back.load(Ordering::SeqCst) < WRITERS / 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
            other_process.unlock().unwrap();
            for (writer, (_, thread)) in writers.into_iter().enumerate() {
                let (ok, body) = thread.join().unwrap();
                assert_eq!(ok, !is_cancelled(writer), "{round} {writer}: {body}");
                assert_eq!(workspace.has(&format!("/{round}/{writer}")), ok, "{round} {writer}");
                assert!(ok || body.contains("cancelled"), "{body}");
            }
        }
    });
}
