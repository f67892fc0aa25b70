//! Somebody saves between two disk calls of a step that then fails: what they saved stays where they
//! put it, and what the step had moved is not lost.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests"
)]

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::json;
use yard_core::ContentHash;
use yard_core::op::{History, HistoryOf, Undo};
use yard_disk::{DiskCall, Probe};
use yard_store::{SqliteStore, Store};
use yard_testkit::rm;
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

type Deed = Box<dyn FnOnce() + Send>;

/// Does something right before the first call of a kind, and lets that call fail on request.
struct Before {
    call: DiskCall,
    fail: bool,
    deed: Mutex<Option<Deed>>,
}

impl Probe for Before {
    fn before(&self, call: DiskCall) -> io::Result<()> {
        if call != self.call {
            return Ok(());
        }
        let Some(deed) = self.deed.lock().unwrap().take() else { return Ok(()) };
        deed();
        if self.fail { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }
}

/// A workspace with two files in `/d`; right before the call, `deed` is done to the root.
fn workspace(
    call: DiskCall,
    fail: bool,
    deed: impl FnOnce(PathBuf) + Send + 'static,
) -> TestWorkspace {
    let folders = Folders::new();
    let quiet = TestWorkspace::open(&folders, OpenOptions::default()).unwrap();
    for name in ["a", "b"] {
        let args = json!({ "path": format!("/d/{name}"), "content": format!("old {name}\n") });
        assert!(quiet.call("write", args).ok);
    }
    drop(quiet);
    let root = folders.root().to_owned();
    let deed: Deed = Box::new(move || deed(root));
    let probe = Arc::new(Before { call, fail, deed: Mutex::new(Some(deed)) });
    TestWorkspace::open(&folders, OpenOptions { probe: Some(probe), ..OpenOptions::default() })
        .unwrap()
}

fn is_stored(workspace: TestWorkspace, text: &str) -> bool {
    let folders = Arc::clone(workspace.folders());
    drop(workspace);
    let store = SqliteStore::open(folders.state()).unwrap();
    store.content(&ContentHash::of(text.as_bytes())).unwrap().is_some()
}

#[test]
fn a_save_where_a_file_was_taken_from_is_not_written_over_when_the_rest_fails() {
    // Both files are out of their places when the folder is to go, and then it is not empty.
    let workspace = workspace(DiskCall::RemoveFolder, false, |root| {
        std::fs::write(root.join("d/a"), "somebody's\n").unwrap();
    });
    assert!(workspace.perform(rm("/d")).is_err());
    assert_eq!(workspace.bytes("/d/a"), b"somebody's\n");
    assert_eq!(workspace.bytes("/d/b"), b"old b\n");
    assert!(is_stored(workspace, "old a\n"));
}

#[test]
fn a_taken_file_comes_back_unless_another_was_saved_there() {
    let workspace = workspace(DiskCall::RemoveFolder, true, |_| {});
    assert!(workspace.perform(rm("/d")).is_err());
    for name in ["a", "b"] {
        assert_eq!(workspace.bytes(&format!("/d/{name}")), format!("old {name}\n").as_bytes());
    }
}

#[test]
fn a_save_over_a_file_that_was_just_placed_survives_that_it_is_taken_back() {
    // Undoing the two edits places /d/a, then fails at /d/b; in between somebody saves /d/a.
    let folders = Folders::new();
    let quiet = TestWorkspace::open(&folders, OpenOptions::default()).unwrap();
    for name in ["a", "b"] {
        let args = json!({ "path": format!("/d/{name}"), "content": format!("old {name}\n") });
        assert!(quiet.call("write", args).ok);
    }
    let removed = quiet.perform(rm("/d")).unwrap();
    let step = quiet.perform(history()).unwrap().steps[0].id;
    drop((quiet, removed));
    let root = folders.root().to_owned();
    let placed = Arc::new(Mutex::new(0));
    let probe = Arc::new(AtSecondPlace { root, placed });
    let workspace =
        TestWorkspace::open(&folders, OpenOptions { probe: Some(probe), ..OpenOptions::default() })
            .unwrap();
    assert!(workspace.perform(Undo::of(step)).is_err());
    let saved: Vec<&str> =
        ["a", "b"].into_iter().filter(|name| workspace.has(&format!("/d/{name}"))).collect();
    assert_eq!(saved.len(), 1, "only what somebody saved is there: {saved:?}");
    assert_eq!(workspace.bytes(&format!("/d/{}", saved[0])), b"somebody's\n");
}

/// At the second placement, saves over what the first one placed, and fails.
struct AtSecondPlace {
    root: PathBuf,
    placed: Arc<Mutex<u32>>,
}

impl Probe for AtSecondPlace {
    fn before(&self, call: DiskCall) -> io::Result<()> {
        if call != DiskCall::Place {
            return Ok(());
        }
        let mut placed = self.placed.lock().unwrap();
        *placed += 1;
        if *placed != 2 {
            return Ok(());
        }
        let first = ["a", "b"].map(|name| self.root.join("d").join(name));
        let first = first.iter().find(|path| path.exists()).expect("one is placed");
        std::fs::write(self.root.join("side"), "somebody's\n").unwrap();
        std::fs::rename(self.root.join("side"), first).unwrap();
        Err(io::Error::from_raw_os_error(5))
    }
}

fn history() -> History {
    History { of: HistoryOf::Workspace, before: None, limit: 1 }
}
