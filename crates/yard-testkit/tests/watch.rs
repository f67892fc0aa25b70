//! The watcher tells of what others change, and of nothing that we do: with real files, real steps and
//! real processes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests change the disk behind the kernel's back"
)]

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use yard_core::{FaultCode, op};
use yard_kernel::{ExternalChanges, Watch};
use yard_testkit::{RealWorld, TestWorkspace};

/// How long a slow machine is waited for.
const LONG: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(20);
/// Longer than what is heard waits to be looked at.
const SILENCE: Duration = Duration::from_millis(500);

struct Listener {
    workspace: TestWorkspace,
    reports: Arc<Mutex<Vec<ExternalChanges>>>,
    _watch: Watch,
}

impl Listener {
    fn on(workspace: TestWorkspace) -> Self {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&reports);
        let hear = Arc::new(move |outside| ear.lock().unwrap().push(outside));
        let watch = workspace.kernel().watch(Arc::new(RealWorld), hear).unwrap();
        Self { workspace, reports, _watch: watch }
    }

    fn reports(&self) -> Vec<ExternalChanges> {
        self.reports.lock().unwrap().clone()
    }

    fn paths(&self) -> BTreeSet<String> {
        let reports = self.reports();
        reports.iter().flat_map(|outside| &outside.changed).map(ToString::to_string).collect()
    }

    fn forget(&self) {
        self.reports.lock().unwrap().clear();
    }

    /// Waits until a path was told.
    fn wait_for(&self, path: &str) {
        for _ in 0..LONG.as_millis() / STEP.as_millis() {
            if self.paths().contains(path) {
                return;
            }
            sleep(STEP);
        }
        panic!("{path} was never told; {:?} was", self.paths());
    }

    /// All changes reported until now: a file made by another process marks the end.
    fn all(&self) -> BTreeSet<String> {
        self.workspace.put("/the.end", format!("{:?}", self.reports().len()));
        self.wait_for("/the.end");
        sleep(SILENCE);
        let mut paths = self.paths();
        paths.remove("/the.end");
        paths
    }

    fn shell(&self, script: &str) {
        let mut shell = Command::new("sh");
        let status =
            shell.arg("-ec").arg(script).current_dir(self.workspace.root()).status().unwrap();
        assert!(status.success(), "{script}");
    }

    fn call(&self, tool: &str, args: Value) {
        let answer = self.workspace.call(tool, args.clone());
        assert!(answer.ok, "{tool} {args}: {}", answer.body);
    }
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn an_editors_save_is_reported_once_and_its_temporary_file_is_not() {
    let listener = Listener::on(TestWorkspace::new());
    listener.call("write", json!({"path": "/src/a.rs", "content": "one\n"}));
    assert_eq!(listener.all(), set(&[]));
    listener.shell("echo two > src/.a.rs.tmp && mv src/.a.rs.tmp src/a.rs");
    listener.wait_for("/src/a.rs");
    assert_eq!(listener.all(), set(&["/src/a.rs"]));
}

#[test]
fn files_in_new_folders_are_reported() {
    let listener = Listener::on(TestWorkspace::new());
    listener.shell("mkdir -p a/b/c && echo x > a/b/c/f");
    listener.wait_for("/a/b/c/f");
    assert_eq!(listener.all(), set(&["/a", "/a/b", "/a/b/c", "/a/b/c/f"]));
    listener.forget();
    listener.shell("echo y > a/b/c/g");
    listener.wait_for("/a/b/c/g");
}

#[test]
fn deletions_and_renames_of_other_programs_are_reported() {
    let workspace = TestWorkspace::new();
    workspace.put("/unknown.txt", "u");
    workspace.put("/old/x.txt", "x");
    let listener = Listener::on(workspace);
    listener.call("write", json!({"path": "/known.txt", "content": "k"}));
    listener.shell("rm known.txt unknown.txt && mv old new");
    listener.wait_for("/new/x.txt");
    assert_eq!(listener.all(), set(&["/known.txt", "/unknown.txt", "/old", "/new", "/new/x.txt"]));
    listener.forget();
    listener.shell("echo more >> new/x.txt");
    listener.wait_for("/new/x.txt");
    assert!(!listener.paths().contains("/old/x.txt"));
}

#[test]
fn our_own_steps_are_not_reported() {
    let workspace = TestWorkspace::new();
    workspace.put("/disk/only.txt", "nobody recorded this");
    workspace.put("/doomed.txt", "nor this");
    let listener = Listener::on(workspace);
    for number in 0..20 {
        listener.call("write", json!({"path": format!("/d/{number}.txt"), "content": "one\n"}));
        listener.call(
            "edit",
            json!({"path": format!("/d/{number}.txt"), "old_string": "one", "new_string": "two"}),
        );
    }
    listener.call("touch", json!({"path": "/d/0.txt"}));
    listener.call("mkdir", json!({"path": "/deep/er"}));
    listener.call("mv", json!({"source": "/d/1.txt", "destination": "/deep/er/1.txt"}));
    listener.call("mv", json!({"source": "/disk", "destination": "/moved"}));
    listener.call("rm", json!({"path": "/d/2.txt"}));
    listener.call("rm", json!({"path": "/doomed.txt"}));
    let steps = listener
        .workspace
        .perform(op::History { of: op::HistoryOf::Workspace, limit: 1, before: None })
        .unwrap();
    listener.workspace.perform(op::Undo::of(steps.steps[0].id)).unwrap();
    assert_eq!(listener.all(), set(&[]));
}

#[test]
fn changes_of_others_are_distinguished_from_those_of_busy_writers() {
    let listener = Listener::on(TestWorkspace::new());
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let workspace = &listener.workspace;
            scope.spawn(move || {
                for round in 0..60 {
                    let own = format!("/own/{writer}.txt");
                    let content = format!("{writer} {round}\n");
                    let write = json!({"path": own, "content": content, "overwrite": true});
                    assert!(workspace.call("write", write).ok);
                    let place = format!("/own/{writer}.{}", round % 2);
                    assert!(workspace.call("touch", json!({"path": place})).ok);
                    assert!(workspace.call("rm", json!({"path": place})).ok);
                }
            });
        }
        for round in 0..30 {
            listener.workspace.put("/theirs.txt", format!("{round}"));
            sleep(STEP);
        }
    });
    assert_eq!(listener.all(), set(&["/theirs.txt"]));
}

#[test]
fn another_process_on_the_same_root_is_one_of_us() {
    let listener = Listener::on(TestWorkspace::new());
    let other = listener.workspace.folders().open_as_child(yard_testkit::OpenOptions::default());
    let path = yard_core::WsPath::parse("/from/there.txt").unwrap();
    other
        .perform(op::Write {
            path: path.clone(),
            content: b"x".to_vec(),
            json: false,
            file_type: None,
            on_existing: op::OnExisting::Refuse,
            on_missing_folder: op::OnMissingFolder::Make,
            expected: None,
        })
        .unwrap();
    other.perform(op::Remove { path, on_folder: op::OnFolder::IfEmpty }).unwrap();
    assert_eq!(listener.all(), set(&[]));
}

#[test]
fn changes_of_others_at_a_path_that_we_emptied_are_reported() {
    let listener = Listener::on(TestWorkspace::new());
    listener.call("write", json!({"path": "/f/a.txt", "content": "a"}));
    listener.call("rm", json!({"path": "/f/a.txt"}));
    assert_eq!(listener.all(), set(&[]));
    listener.shell("echo back > f/a.txt");
    listener.wait_for("/f/a.txt");
    listener.forget();
    listener.shell("rm f/a.txt");
    listener.wait_for("/f/a.txt");
}

#[test]
fn changes_below_git_are_not_reported_and_links_are_not_followed() {
    let workspace = TestWorkspace::new();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), workspace.root().join("way")).unwrap();
    workspace.put("/.git/HEAD", "ref");
    let listener = Listener::on(workspace);
    listener.shell("echo x > .git/index && mkdir -p sub/.git && echo x > sub/.git/config");
    std::fs::write(elsewhere.path().join("secret"), "s").unwrap();
    assert_eq!(listener.all(), set(&["/sub"]));
}

#[test]
fn thousands_of_files_are_reported_in_bounded_batches() {
    let listener = Listener::on(TestWorkspace::new());
    listener.shell("mkdir many && for i in $(seq 2000); do echo x > many/$i.txt; done");
    listener.wait_for("/many/2000.txt");
    let paths = listener.all();
    let reports = listener.reports();
    assert!(reports.iter().all(|outside| outside.changed.len() <= 256));
    let more = reports.iter().any(|outside| outside.more);
    assert!(more || paths.len() == 2001, "{} of 2001 were told", paths.len());
}

#[test]
fn reads_are_not_reported() {
    let workspace = TestWorkspace::new();
    (0..3_000).for_each(|number| workspace.put(&format!("/{}/{number}.txt", number % 10), "hay\n"));
    let listener = Listener::on(workspace);
    listener.call("grep", json!({"pattern": "needle"}));
    assert_eq!(listener.all(), set(&[]));
    assert!(listener.reports().iter().all(|outside| !outside.more));
}

/// Runs this test again where the system watches three folders and no more.
fn run_limited(test: &str) {
    let script = r#"echo 3 > /proc/sys/user/max_inotify_watches && exec "$0" --exact "$1""#;
    let own = std::env::current_exe().unwrap();
    let mut limited = Command::new("unshare");
    limited.args(["-Ur", "sh", "-ec", script]).arg(own).arg(test).env(LIMITED, "yes");
    match limited.status() {
        Ok(status) => assert!(status.success() || !has_namespaces(), "{status}"),
        Err(error) => assert!(!has_namespaces(), "{error}"),
    }
}

const LIMITED: &str = "TOOLYARD_TEST_FEW_WATCHES";

/// Whether this machine lets us have limits of our own.
fn has_namespaces() -> bool {
    let script = "echo 3 > /proc/sys/user/max_inotify_watches";
    let tried = Command::new("unshare").args(["-Ur", "sh", "-ec", script]).status();
    tried.is_ok_and(|status| status.success())
}

#[test]
fn a_system_that_watches_no_more_is_a_clear_fault() {
    if std::env::var_os(LIMITED).is_none() {
        return run_limited("watch::a_system_that_watches_no_more_is_a_clear_fault");
    }
    let large = TestWorkspace::new();
    (0..5).for_each(|number| large.put(&format!("/{number}/f"), "x"));
    let refused = large.kernel().watch(Arc::new(RealWorld), Arc::new(|_| {}));
    let fault = refused.err().unwrap();
    assert_eq!(fault.code(), FaultCode::Unavailable);
    assert!(fault.message().contains("max_user_watches"), "{fault}");
    assert!(large.call("write", json!({"path": "/0/g", "content": "still works"})).ok);

    let growing = Listener::on(TestWorkspace::new());
    growing.shell("mkdir a b c d");
    growing.wait_for("/d");
    assert!(growing.reports().iter().any(|outside| outside.more), "not all of it is watched");
    assert!(growing.all().contains("/a"), "what was watched still is");
}

#[test]
fn a_watch_that_is_dropped_tells_nothing() {
    let workspace = TestWorkspace::new();
    let reports = Arc::new(Mutex::new(0));
    let count = Arc::clone(&reports);
    let hear = Arc::new(move |_| *count.lock().unwrap() += 1);
    drop(workspace.kernel().watch(Arc::new(RealWorld), hear).unwrap());
    workspace.put("/a.txt", "a");
    sleep(SILENCE);
    assert_eq!(*reports.lock().unwrap(), 0);
}
