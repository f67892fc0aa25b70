//! Nothing outside of the root is read or written, whatever links, names and kinds of files there are, and
//! nothing hangs (R3).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests"
)]

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yard_disk::Resolution;
use yard_gate::OpenWorkspace;
use yard_testkit::{Folders, OpenOptions, RealWorld, TestWorkspace};
use yard_testkit::{soak, staged, tree};

const CANARY: &str = "canary-7f3a-do-not-read";

/// A call that took so long has waited for a file to which nobody writes: half of the time that a call gets.
const HANGING: Duration = Duration::from_secs(60);

const BOTH: [Resolution; 2] = [Resolution::Auto, Resolution::ByComponent];

fn workspace(resolution: Resolution) -> TestWorkspace {
    TestWorkspace::open(&Folders::new(), OpenOptions { resolution, ..OpenOptions::default() })
        .unwrap()
}

/// A folder beside the root with a file that nobody may touch.
struct Outside {
    folder: PathBuf,
    before: (Vec<u8>, i64, i64, u64),
}

impl Outside {
    fn new(workspace: &TestWorkspace) -> Self {
        let folder = workspace.root().parent().unwrap().join("outside");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("canary"), format!("{CANARY}\n")).unwrap();
        let before = Self::look(&folder);
        Self { folder, before }
    }

    fn look(folder: &Path) -> (Vec<u8>, i64, i64, u64) {
        let meta = folder.join("canary").symlink_metadata().unwrap();
        (std::fs::read(folder.join("canary")).unwrap(), meta.mtime(), meta.mtime_nsec(), meta.ino())
    }

    /// It is as it was, and nothing joined it.
    fn check(&self, context: &str) {
        assert_eq!(Self::look(&self.folder), self.before, "{context}: the canary changed");
        let names: Vec<String> = tree(&self.folder).into_keys().collect();
        assert_eq!(names, ["/canary", "/sub"], "{context}");
    }
}

/// Every tool, pointed at one path; what they answered.
fn all_tools(workspace: &TestWorkspace, path: &str) -> Vec<(String, bool, Value)> {
    let calls = [
        ("read", json!({"path": path})),
        ("cat", json!({"paths": [path]})),
        ("read_multiple_files", json!({"paths": [path]})),
        ("file_info", json!({"path": path})),
        ("ls", json!({"path": path})),
        ("ls", json!({"path": path, "recursive": true})),
        ("grep", json!({"pattern": "canary|x", "path": path})),
        ("glob", json!({"pattern": "**/*", "path": path})),
        ("find", json!({"name": "*", "path": path})),
        ("edit", json!({"path": path, "insert_line": 0, "insert_content": "edited"})),
        ("edit", json!({"path": path, "old_string": CANARY, "new_string": "dead"})),
        ("write", json!({"path": path, "content": "written", "overwrite": true})),
        ("write", json!({"path": format!("{path}/new/file"), "content": "written"})),
        ("touch", json!({"path": path})),
        ("touch", json!({"path": format!("{path}/touched")})),
        ("mkdir", json!({"path": format!("{path}/made")})),
        ("mv", json!({"source": format!("{path}/canary"), "destination": "/stolen"})),
        ("mv", json!({"source": "/mine.txt", "destination": format!("{path}/mine.txt")})),
        ("rm", json!({"path": format!("{path}/canary")})),
        ("rm", json!({"path": format!("{path}/sub")})),
    ];
    let answers = calls.into_iter().map(|(tool, args)| {
        let began = Instant::now();
        let answer = workspace.call(tool, args.clone());
        assert!(began.elapsed() < HANGING, "{tool} {args} took {:?}", began.elapsed());
        let body = answer.body.to_string();
        // The edit's own argument may be echoed.
        assert!(
            !body.contains(CANARY) || args.to_string().contains(CANARY),
            "{tool} {args} read outside: {body}"
        );
        (format!("{tool} {args}"), answer.ok, answer.body.into_value())
    });
    answers.collect()
}

#[test]
fn r3_links_that_leave_are_never_followed() {
    for resolution in BOTH {
        let workspace = workspace(resolution);
        let outside = Outside::new(&workspace);
        let root = workspace.root().to_owned();
        workspace.put("/mine.txt", "mine\n");
        std::fs::create_dir(root.join("in")).unwrap();
        let out = outside.folder.clone();
        symlink("../outside", root.join("relative")).unwrap();
        symlink(&out, root.join("absolute")).unwrap();
        symlink("relative", root.join("chained")).unwrap();
        symlink("../chained", root.join("in/chained")).unwrap();
        symlink("../../outside", root.join("in/deep")).unwrap();
        symlink("in/../../outside", root.join("dotted")).unwrap();
        symlink("/", root.join("slash")).unwrap();
        symlink("..", root.join("above")).unwrap();
        symlink("/proc/self/root", root.join("proc")).unwrap();
        symlink("/proc/self/cwd", root.join("cwd")).unwrap();
        symlink(out.join("canary"), root.join("file")).unwrap();
        symlink("../outside/canary", root.join("in/../rel-file")).unwrap();
        // Looks like the root, and is not.
        let twin = PathBuf::from(format!("{}-twin", root.display()));
        symlink(&out, &twin).unwrap();
        symlink(&twin, root.join("twin")).unwrap();
        // Into the root first, and out of it from there.
        symlink(root.join("relative"), root.join("through")).unwrap();
        let links = [
            "relative",
            "absolute",
            "chained",
            "in/chained",
            "in/deep",
            "dotted",
            "above",
            "twin",
            "through",
            "file",
            "rel-file",
            "absolute/canary",
            "chained/canary",
            "in/chained/canary",
        ];
        let long: Vec<String> = vec![
            format!("slash{}/canary", out.display()),
            format!("proc{}/canary", out.display()),
            format!("proc{}", out.display()),
            "above/outside/canary".to_owned(),
            "cwd/Cargo.toml".to_owned(),
        ];
        for link in links.into_iter().map(str::to_owned).chain(long) {
            let path = format!("/{link}");
            for (call, ok, body) in all_tools(&workspace, &path) {
                // A link itself may be looked at; cat and read_multiple_files answer file by file.
                let looks = ["file_info", "cat", "read_multiple_files", "ls"];
                let is_look = looks.iter().any(|tool| call.starts_with(tool));
                let inner = body["result"]["files"][0]["error"].is_string();
                assert!(
                    !ok || (is_look && (inner || call.starts_with("file_info"))),
                    "{resolution:?}: {call} succeeded: {body}"
                );
            }
            outside.check(&format!("{resolution:?} {path}"));
        }
        // Walks of the whole do not follow them.
        for (tool, args) in [
            ("grep", json!({"pattern": "canary"})),
            ("glob", json!({"pattern": "**/canary"})),
            ("find", json!({"name": "canary"})),
            ("ls", json!({"path": "/", "recursive": true})),
        ] {
            let answer = workspace.call(tool, args);
            assert!(answer.ok, "{}", answer.body);
            let body = answer.body.to_string().replace("**/canary", "");
            assert!(!body.contains("/canary") && !body.contains(CANARY), "{tool}: {body}");
        }
        assert_eq!(workspace.bytes("/mine.txt"), b"mine\n");
        // rm and mv act on the link.
        let moved = workspace.call("mv", json!({"source": "/file", "destination": "/moved-link"}));
        assert!(moved.ok, "{}", moved.body);
        let removed = workspace.call("rm", json!({"path": "/absolute"}));
        assert!(removed.ok, "{}", removed.body);
        outside.check("rm and mv of links");
        assert!(
            !workspace.has("/absolute")
                && root.join("moved-link").symlink_metadata().unwrap().is_symlink()
        );
    }
}

#[test]
fn r3_paths_that_climb_are_refused() {
    for resolution in BOTH {
        let workspace = workspace(resolution);
        let outside = Outside::new(&workspace);
        workspace.put("/in/mine.txt", "mine\n");
        let absolute = outside.folder.display();
        for path in [
            "../outside",
            "/../outside",
            "in/../../outside",
            "/in/../../outside/canary",
            "//..//outside/canary",
            "./../outside/canary",
            "/proc/self/root/../outside",
        ] {
            for (call, ok, body) in all_tools(&workspace, path) {
                let inner = body["result"]["files"][0]["error"].is_string();
                let inside = call.contains("/proc/self/root/../outside")
                    && (call.starts_with("write")
                        || call.starts_with("touch")
                        || call.starts_with("mkdir"));
                assert!(!ok || inner || inside, "{call}: {body}");
            }
            outside.check(path);
        }
        // An absolute path of the host is a path of the workspace, not of the host.
        for path in [
            format!("{absolute}/canary"),
            "/proc/self/root/etc/passwd".to_owned(),
            "/etc/passwd".to_owned(),
        ] {
            let read = workspace.call("read", json!({"path": path}));
            assert!(!read.ok && read.body["code"] == "NOT_FOUND", "{}", read.body);
        }
        outside.check("absolute");
    }
}

#[test]
fn r3_links_that_stay_inside_are_followed() {
    for resolution in BOTH {
        let workspace = workspace(resolution);
        let root = workspace.root().to_owned();
        workspace.put("/real/a.txt", "a\n");
        symlink("real/a.txt", root.join("to-file")).unwrap();
        symlink("real", root.join("to-folder")).unwrap();
        symlink(root.join("real/a.txt"), root.join("absolute")).unwrap();
        symlink(&root, root.join("real/up")).unwrap();
        symlink("../real/../real/./a.txt", root.join("real/winding")).unwrap();
        symlink("to-folder/up/to-file", root.join("chain")).unwrap();
        for path in [
            "/to-file",
            "/to-folder/a.txt",
            "/absolute",
            "/real/winding",
            "/chain",
            "/real/up/real/up/chain",
        ] {
            let read = workspace.call("read", json!({"path": path}));
            assert_eq!(read.body["result"]["content"], "a\n", "{path}: {}", read.body);
        }
        // Writing acts on the target, and the link stays.
        for (n, path) in ["/to-file", "/to-folder/a.txt", "/absolute", "/chain"].iter().enumerate()
        {
            let text = format!("{n}\n");
            let wrote =
                workspace.call("write", json!({"path": path, "content": text, "overwrite": true}));
            assert!(wrote.ok, "{}", wrote.body);
            assert_eq!(workspace.bytes("/real/a.txt"), text.as_bytes());
        }
        let new = workspace.call("write", json!({"path": "/to-folder/new.txt", "content": "new"}));
        assert!(new.ok && workspace.has("/real/new.txt"), "{}", new.body);
        for link in ["to-file", "to-folder", "absolute", "chain"] {
            assert!(root.join(link).symlink_metadata().unwrap().is_symlink(), "{link}");
        }
        // A link to what is not there can be written through, inside.
        symlink("not-yet/x.txt", root.join("dangling")).unwrap();
        let read = workspace.call("read", json!({"path": "/dangling"}));
        assert!(!read.ok && read.body["code"] == "NOT_FOUND", "{}", read.body);
        let wrote = workspace.call("write", json!({"path": "/dangling", "content": "now"}));
        assert!(wrote.ok, "{}", wrote.body);
        assert_eq!(workspace.bytes("/not-yet/x.txt"), b"now");
        // Loops end.
        symlink("loop-b", root.join("loop-a")).unwrap();
        symlink("loop-a", root.join("loop-b")).unwrap();
        symlink("self", root.join("self")).unwrap();
        for path in ["/loop-a", "/self", "/self/x", "/loop-b/y"] {
            for (call, ok, body) in all_tools(&workspace, path) {
                let inner = body["result"]["files"][0]["error"].is_string();
                assert!(!ok || inner || call.starts_with("file_info"), "{call}: {body}");
            }
        }
        let verified = workspace.perform(yard_core::op::Verify).unwrap();
        assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    }
}

#[test]
fn r3_hard_links_are_never_written_through() {
    for resolution in BOTH {
        let workspace = workspace(resolution);
        let outside = Outside::new(&workspace);
        for (name, tool, args) in [
            ("w", "write", json!({"path": "/w", "content": "replaced", "overwrite": true})),
            ("e", "edit", json!({"path": "/e", "old_string": CANARY, "new_string": "edited"})),
            ("i", "edit", json!({"path": "/i", "insert_line": 0, "insert_content": "inserted"})),
        ] {
            let inside = workspace.root().join(name);
            std::fs::hard_link(outside.folder.join("canary"), &inside).unwrap();
            let answer = workspace.call(tool, args);
            assert!(answer.ok, "{}", answer.body);
            assert_ne!(std::fs::read(&inside).unwrap(), format!("{CANARY}\n").into_bytes());
            outside.check(tool);
        }
        let undone = workspace
            .perform(yard_core::op::History {
                of: yard_core::op::HistoryOf::Path(yard_core::WsPath::parse("/w").unwrap()),
                limit: 1,
                before: None,
            })
            .unwrap();
        workspace.perform(yard_core::op::Undo::of(undone.steps[0].id)).unwrap();
        assert_eq!(workspace.bytes("/w"), format!("{CANARY}\n").into_bytes());
        outside.check("undo");
    }
}

/// What cannot be opened without harm.
fn odd_files(root: &Path) -> Vec<&'static str> {
    assert!(Command::new("mkfifo").arg(root.join("fifo")).status().unwrap().success());
    drop(UnixListener::bind(root.join("socket")).unwrap());
    let mut odd = vec!["fifo", "socket"];
    let zero = Command::new("mknod").arg(root.join("zero")).args(["c", "1", "5"]).status();
    if zero.is_ok_and(|status| status.success()) {
        // An endless device: whoever reads it never ends.
        odd.push("zero");
        assert!(
            Command::new("mknod")
                .arg(root.join("disk"))
                .args(["b", "7", "200"])
                .status()
                .unwrap()
                .success()
        );
        odd.push("disk");
    } else {
        eprintln!("SKIPPED: no device can be made here");
    }
    symlink("fifo", root.join("to-fifo")).unwrap();
    odd.push("to-fifo");
    odd
}

#[test]
fn r3_fifos_sockets_and_devices_are_never_opened() {
    for resolution in BOTH {
        let workspace = workspace(resolution);
        workspace.put("/mine.txt", "mine x\n");
        let odd = odd_files(workspace.root());
        let kinds = |name: &str| workspace.root().join(name).symlink_metadata().unwrap().mode();
        let before: Vec<u32> = odd.iter().map(|name| kinds(name)).collect();
        for name in &odd {
            for (call, ok, body) in all_tools(&workspace, &format!("/{name}")) {
                let inner = body["result"]["files"][0]["error"].is_string();
                assert!(!ok || inner || call.starts_with("file_info"), "{call}: {body}");
            }
            let is_link = *name == "to-fifo";
            let began = Instant::now();
            let moved = workspace
                .call("mv", json!({"source": format!("/{name}"), "destination": "/moved"}));
            assert_eq!(moved.ok, is_link, "{name}: {}", moved.body);
            let removed = workspace.call(
                "rm",
                json!({"path": if is_link { "/moved".to_owned() } else { format!("/{name}") }}),
            );
            assert_eq!(removed.ok, is_link, "{name}: {}", removed.body);
            assert!(began.elapsed() < HANGING);
        }
        let after: Vec<u32> =
            odd.iter().filter(|name| **name != "to-fifo").map(|name| kinds(name)).collect();
        assert_eq!(after, before[..after.len()]);
        // Walks go past them.
        let began = Instant::now();
        let grep = workspace.call("grep", json!({"pattern": "x"}));
        assert!(grep.ok && grep.body.to_string().contains("mine.txt"), "{}", grep.body);
        assert!(workspace.call("ls", json!({"path": "/"})).ok);
        assert!(workspace.call("find", json!({"name": "*"})).ok);
        let imported = workspace.perform(yard_core::op::Import {
            path: yard_core::WsPath::root(),
            include_ignored: true,
        });
        imported.unwrap();
        assert!(began.elapsed() < HANGING);
    }
}

#[test]
fn r2_odd_names_are_names_like_others() {
    for resolution in BOTH {
        let workspace = workspace(resolution);
        let long = "n".repeat(255);
        let emoji = "🦀".repeat(63);
        let names = [
            "-rf",
            "--help",
            "new\nline",
            "tab\tbed",
            "emoji 🦀",
            "back\\slash",
            "quote'\"",
            "*?[]{}",
            "~",
            "$HOME",
            "%41",
            "CON",
            "a:b",
            "\u{202e}rtl",
            "e\u{301}",
            "\u{e9}",
            " leading",
            "dot.",
            "...",
            long.as_str(),
            emoji.as_str(),
        ];
        for name in names {
            // White space around a path is trimmed, so that an odd edge stands inside.
            let path = format!("/odd/{name}/f.txt");
            let wrote = workspace.call("write", json!({"path": path, "content": "x\n"}));
            assert!(wrote.ok, "{name:?}: {}", wrote.body);
            let read = workspace.call("read", json!({"path": path}));
            assert_eq!(read.body["result"]["content"], "x\n", "{name:?}: {}", read.body);
            assert!(
                workspace.root().join("odd").join(name).join("f.txt").symlink_metadata().is_ok(),
                "{name:?}"
            );
        }
        // What is no UTF-8 is shown as \xNN and found by that.
        let raw = std::ffi::OsStr::from_bytes(b"raw\xff\xfe.txt");
        std::fs::write(workspace.root().join(raw), "raw\n").unwrap();
        let listed = workspace.call("ls", json!({"path": "/"}));
        let shown = { listed.body["result"]["entries"].as_array().unwrap().iter() }
            .filter_map(|entry| entry["path"].as_str())
            .find(|path| path.contains("raw"))
            .unwrap_or_else(|| panic!("{}", listed.body))
            .to_owned();
        let read = workspace.call("read", json!({"path": shown}));
        assert_eq!(read.body["result"]["content"], "raw\n", "{shown}: {}", read.body);
        let edited = workspace
            .call("edit", json!({"path": shown, "old_string": "raw", "new_string": "cooked"}));
        assert!(edited.ok, "{}", edited.body);
        assert_eq!(std::fs::read(workspace.root().join(raw)).unwrap(), b"cooked\n");
        let moved = workspace.call("mv", json!({"source": shown, "destination": "/raw\\xfd"}));
        assert!(moved.ok, "{}", moved.body);
        assert!(
            workspace
                .root()
                .join(std::ffi::OsStr::from_bytes(b"raw\xfd"))
                .symlink_metadata()
                .is_ok()
        );
        // A name that only looks escaped stays itself.
        let literal = std::ffi::OsStr::from_bytes(b"\\x41");
        std::fs::write(workspace.root().join(literal), "literal\n").unwrap();
        let listed = workspace.call("glob", json!({"pattern": "*x41*"}));
        let shown =
            listed.body["result"]["matches"][0]["path"].as_str().unwrap_or_default().to_owned();
        let read = workspace.call("read", json!({"path": shown}));
        assert_eq!(read.body["result"]["content"], "literal\n", "{shown}: {}", read.body);
        // Too long, or with a NUL.
        for path in [
            format!("/{}", "n".repeat(256)),
            format!("/{}", "d/".repeat(2_100)),
            "/a\0b".to_owned(),
            String::new(),
        ] {
            for (call, ok, body) in all_tools(&workspace, &path) {
                let inner = body["result"]["files"][0]["error"].is_string();
                let empty = path.is_empty();
                assert!(!ok || inner || empty, "{}: {body}", &call[..call.len().min(80)]);
            }
        }
        let verified = workspace.perform(yard_core::op::Verify).unwrap();
        assert!(verified.problems.is_empty() && verified.unsynced.is_empty(), "{verified:?}");
    }
}

/// A link out of the root and a real folder change places all the time while every tool works below
/// that name.
fn race(resolution: Resolution, seconds: u64) {
    let workspace = Arc::new(workspace(resolution));
    let outside = Outside::new(&workspace);
    // Bait: the same names as outside.
    workspace.put("/door/canary", "harmless\n");
    workspace.put("/door/sub/x", "harmless\n");
    workspace.put("/mine.txt", "mine\n");
    let root = workspace.root().to_owned();
    let out = outside.folder.clone();
    symlink(&out, root.join("link")).unwrap();
    symlink(out.join("canary"), root.join("file-link")).unwrap();
    workspace.put("/file", "harmless\n");
    let stop = Arc::new(AtomicBool::new(false));
    let swaps = Arc::new(AtomicU64::new(0));
    let calls = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (stop_it, count) = (Arc::clone(&stop), Arc::clone(&swaps));
        let swapped = root.clone();
        scope.spawn(move || {
            while !stop_it.load(Ordering::Relaxed) {
                // door: folder -> link -> folder; file: file -> link -> file.
                let _ = std::fs::rename(swapped.join("door"), swapped.join("aside"));
                let _ = std::fs::rename(swapped.join("link"), swapped.join("door"));
                let _ = std::fs::rename(swapped.join("file"), swapped.join("file-aside"));
                let _ = std::fs::rename(swapped.join("file-link"), swapped.join("file"));
                std::thread::yield_now();
                let _ = std::fs::rename(swapped.join("door"), swapped.join("link"));
                let _ = std::fs::rename(swapped.join("aside"), swapped.join("door"));
                let _ = std::fs::rename(swapped.join("file"), swapped.join("file-link"));
                let _ = std::fs::rename(swapped.join("file-aside"), swapped.join("file"));
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        let until = Instant::now() + Duration::from_secs(seconds);
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (workspace, calls) = (Arc::clone(&workspace), Arc::clone(&calls));
                scope.spawn(move || {
                    let mut n = 0;
                    while Instant::now() < until {
                        n += 1;
                        let call = |tool: &str, args: Value| {
                            let began = Instant::now();
                            let answer = workspace.call(tool, args.clone());
                            assert!(began.elapsed() < HANGING, "{tool} hangs");
                            let body = answer.body.to_string();
                            assert!(!body.contains(CANARY), "{tool} {args} read outside: {body}");
                            calls.fetch_add(1, Ordering::Relaxed);
                        };
                        match worker {
                            0 => {
                                call("read", json!({"path": "/door/canary"}));
                                call("read", json!({"path": "/file"}));
                                call("cat", json!({"paths": ["/door/canary", "/file"]}));
                                call("file_info", json!({"path": "/door/canary"}));
                            }
                            1 => {
                                call("ls", json!({"path": "/door"}));
                                call("grep", json!({"pattern": "canary-7f3a", "path": "/door"}));
                                call("grep", json!({"pattern": "do-not", "path": "/"}));
                                call("glob", json!({"pattern": "**/*", "path": "/door"}));
                            }
                            2 => {
                                call("write", json!({"path": "/door/canary", "content": format!("{n}\n"), "overwrite": true}));
                                call("write", json!({"path": format!("/door/new{}", n % 9), "content": "x", "overwrite": true}));
                                call("edit", json!({"path": "/door/canary", "insert_line": 0, "insert_content": "edited"}));
                                call("edit", json!({"path": "/file", "insert_line": 0, "insert_content": "edited"}));
                                call("write", json!({"path": "/file", "content": "x\n", "overwrite": true}));
                            }
                            _ => {
                                call("mv", json!({"source": "/door/canary", "destination": format!("/taken{n}")}));
                                call("mv", json!({"source": "/mine.txt", "destination": "/door/mine.txt"}));
                                call("rm", json!({"path": "/door/sub/x"}));
                                call("rm", json!({"path": "/door/mine.txt"}));
                                call("mkdir", json!({"path": format!("/door/made{}", n % 5)}));
                                call("touch", json!({"path": "/door/touched"}));
                                call("write", json!({"path": "/mine.txt", "content": "mine\n", "overwrite": true}));
                            }
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        stop.store(true, Ordering::Relaxed);
        for end in ended {
            if let Err(panic) = end {
                std::panic::resume_unwind(panic);
            }
        }
    });
    outside.check(&format!("{resolution:?}"));
    for (path, seen) in tree(&root) {
        let text = format!("{seen:?}");
        assert!(!text.contains(CANARY), "{path} came from outside: {text}");
    }
    let verified = workspace.perform(yard_core::op::Verify).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    let (swaps, calls) = (swaps.load(Ordering::Relaxed), calls.load(Ordering::Relaxed));
    eprintln!("{resolution:?}: {calls} calls during {swaps} swaps in {seconds} s");
    assert!(swaps > 10 && calls > 50);
}

#[test]
fn r3_a_link_swapped_in_during_the_call() {
    race(Resolution::Auto, if soak() { 10 } else { 1 });
}

#[test]
fn r3_a_link_swapped_in_during_the_call_without_openat2() {
    race(Resolution::ByComponent, if soak() { 10 } else { 1 });
}

fn open(root: &Path, state: &Path) -> yard_core::Result<Arc<OpenWorkspace>> {
    std::fs::create_dir_all(state).unwrap();
    OpenOptions::default().open(root, state, yard_dialects::CALLER_HINTS)
}

#[test]
fn r3_the_data_folder_is_never_inside_the_root() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("root");
    std::fs::create_dir(&root).unwrap();
    assert!(open(&root, &root.join("data")).is_err());
    assert!(open(&root, &root).is_err());
    // By way of a link, too.
    symlink(&root, home.path().join("link")).unwrap();
    assert!(open(&root, &home.path().join("link/data2")).is_err());
    assert!(open(&home.path().join("link"), &root.join("data3")).is_err());
    assert!(open(&root, &home.path().join("root-data")).is_ok());
}

/// The data folder is on another file system: changes are staged inside the root, under a name that no
/// tool shows or takes.
#[test]
fn r3_the_staging_folder_inside_the_root_is_invisible() {
    let shm = Path::new("/dev/shm");
    let Ok(data) = tempfile::tempdir_in(shm) else {
        eprintln!("SKIPPED: there is no second file system");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    if home.path().metadata().unwrap().dev() == shm.metadata().unwrap().dev() {
        eprintln!("SKIPPED: the temporary folder is on /dev/shm");
        return;
    }
    let root = home.path().canonicalize().unwrap().join("root");
    std::fs::create_dir(&root).unwrap();
    let reopen = || open(&root, &data.path().join("ws")).unwrap();
    let workspace = reopen();
    let catalog = yard_dialects::Catalog::standard();
    let call = |workspace: &Arc<OpenWorkspace>, tool: &str, args: Value| {
        let session = yard_gate::Session::new(
            Arc::clone(workspace),
            yard_gate::Actor::LocalAgent,
            yard_gate::CallerPolicy::Open,
        );
        let context = yard_core::Call::new(Arc::new(RealWorld)).within_millis(60_000);
        catalog.call("workspace", tool, args, &session, &context)
    };
    let steps = [
        ("write", json!({"path": "/a/b.txt", "content": "needle\n"})),
        ("write", json!({"path": "/a/b.txt", "content": "needle two\n", "overwrite": true})),
        ("edit", json!({"path": "/a/b.txt", "old_string": "two", "new_string": "three"})),
        ("mv", json!({"source": "/a", "destination": "/c"})),
        ("write", json!({"path": "/gone.txt", "content": "needle\n"})),
        ("rm", json!({"path": "/gone.txt"})),
    ];
    for (tool, args) in steps {
        let answer = call(&workspace, tool, args);
        assert!(answer.ok, "{}", answer.body);
    }
    let reserved = ".toolyard-staging";
    assert!(root.join(reserved).symlink_metadata().is_ok(), "staged elsewhere");
    std::fs::write(root.join(reserved).join("stage/bait"), "needle\n").unwrap();
    symlink(reserved, root.join("peek")).unwrap();
    symlink(format!("{reserved}/stage"), root.join("peek-deep")).unwrap();
    symlink(root.join(reserved).join("stage/bait"), root.join("peek-file")).unwrap();
    for (tool, args) in [
        ("ls", json!({"path": "/"})),
        ("ls", json!({"path": "/", "recursive": true})),
        ("glob", json!({"pattern": "**/*"})),
        ("glob", json!({"pattern": "**/.*", "include_ignored": true})),
        ("grep", json!({"pattern": "needle", "include_ignored": true})),
        ("find", json!({"name": "*", "include_ignored": true})),
    ] {
        let answer = call(&workspace, tool, args);
        assert!(answer.ok, "{}", answer.body);
        let body = answer.body.to_string();
        assert!(!body.contains("staging") && !body.contains("bait"), "{tool}: {body}");
    }
    let odd = [
        "/.toolyard-staging",
        "/.toolyard-staging/stage/bait",
        "/c/../.toolyard-staging",
        "/./.toolyard-staging/",
        "/peek",
        "/peek/stage/bait",
        "/peek-deep",
        "/peek-deep/bait",
        "/peek-file",
    ];
    for path in odd {
        for (tool, args) in [
            ("read", json!({"path": path})),
            ("ls", json!({"path": path})),
            ("grep", json!({"pattern": "needle", "path": path})),
            ("glob", json!({"pattern": "**/*", "path": path})),
            ("write", json!({"path": path, "content": "x", "overwrite": true})),
            ("write", json!({"path": format!("{path}/x"), "content": "x"})),
            ("edit", json!({"path": path, "insert_line": 0, "insert_content": "x"})),
            ("touch", json!({"path": format!("{path}/x")})),
            ("mkdir", json!({"path": format!("{path}/x")})),
            ("mv", json!({"source": "/c/b.txt", "destination": format!("{path}/x")})),
            ("mv", json!({"source": format!("{path}/bait"), "destination": "/stolen"})),
        ] {
            let answer = call(&workspace, tool, args.clone());
            assert!(!answer.ok, "{tool} {args}: {}", answer.body);
        }
    }
    for (tool, args) in [
        ("rm", json!({"path": "/.toolyard-staging"})),
        ("mv", json!({"source": "/.toolyard-staging", "destination": "/mine"})),
        ("mv", json!({"source": "/c", "destination": "/.toolyard-staging"})),
    ] {
        assert!(!call(&workspace, tool, args.clone()).ok, "{tool} {args}");
    }
    assert_eq!(std::fs::read(root.join(reserved).join("stage/bait")).unwrap(), b"needle\n");
    drop(workspace);
    // Opening again sweeps what was left.
    let workspace = reopen();
    assert_eq!(staged(&root.join(reserved)), Vec::<String>::new());
    let read = call(&workspace, "read", json!({"path": "/c/b.txt"}));
    assert_eq!(read.body["result"]["content"], "needle three\n", "{}", read.body);
}
