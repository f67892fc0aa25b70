//! Uploads of any size: placed like any other write, bounded in memory, and nothing left of those that
//! nobody placed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods, reason = "tests look at files")]

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use yard_core::hash::ContentHasher;
use yard_core::op::{
    Changed, FETCH_BYTES, FetchVersion, History, HistoryOf, Import, Move, OnExisting, OnFolder,
    Place, Purge, Remove, Restore, Undo, Verify,
};
use yard_core::{ContentHash, FaultCode, Limits, VersionId, WsPath};
use yard_gate::Uploaded;
use yard_store::{SqliteStore, Store, StoreError};
use yard_testkit::failing_store::{FailingStore, FailureOutcome, FailureTime};
use yard_testkit::{FailingCalls, FailureTrigger};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

const LOADABLE: u64 = 1 << 20;

fn at(path: &str) -> WsPath {
    WsPath::parse(path).unwrap()
}

fn plan() -> OpenOptions {
    OpenOptions {
        limits: Limits { load_bytes: LOADABLE, ..Limits::default() },
        ..OpenOptions::default()
    }
}

fn workspace() -> TestWorkspace {
    TestWorkspace::open(&Folders::new(), plan()).unwrap()
}

/// The `n`-th piece of a content: 32 KiB that are like no other piece.
fn piece(seed: u64, n: u64) -> Vec<u8> {
    let block = ContentHash::of(&[seed.to_le_bytes(), n.to_le_bytes()].concat());
    block.as_bytes().repeat(1024)
}

fn upload(workspace: &TestWorkspace, seed: u64, pieces: u64) -> Uploaded {
    let mut upload = workspace.session().upload(&workspace.call_context()).unwrap();
    (0..pieces).for_each(|n| upload.write(&piece(seed, n)).unwrap());
    upload.finish().unwrap()
}

fn content(seed: u64, pieces: u64) -> Vec<u8> {
    (0..pieces).flat_map(|n| piece(seed, n)).collect()
}

fn placing(path: &str, upload: &Uploaded) -> Place {
    Place {
        path: at(path),
        upload: upload.id(),
        file_type: None,
        on_existing: OnExisting::Replace,
        expected: None,
    }
}

fn place(workspace: &TestWorkspace, path: &str, seed: u64, pieces: u64) -> Changed {
    let upload = upload(workspace, seed, pieces);
    workspace.perform(placing(path, &upload)).unwrap()
}

fn version(workspace: &TestWorkspace, version: VersionId) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let offset = bytes.len() as u64;
        let fetch = FetchVersion { version, of: None, offset, length: FETCH_BYTES };
        let part = workspace.perform(fetch).unwrap();
        bytes.extend(part.bytes);
        if bytes.len() as u64 == part.size {
            return bytes;
        }
    }
}

fn names(workspace: &TestWorkspace, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(workspace.folders().state().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn sound(workspace: &TestWorkspace) {
    let found = workspace.perform(Verify).unwrap();
    assert_eq!((found.problems, found.unsynced), (vec![], vec![]));
}

#[test]
fn small_and_large_uploads_become_files_like_any_other() {
    for pieces in [0, 1, 32, 33, 100] {
        let workspace = workspace();
        let first = place(&workspace, "/new/a.bin", 1, pieces);
        assert!(workspace.bytes("/new/a.bin") == content(1, pieces));
        assert_eq!(first.hash, Some(ContentHash::of(&content(1, pieces))));
        assert_eq!(names(&workspace, "stage"), Vec::<String>::new());
        let second = place(&workspace, "/new/a.bin", 2, pieces + 1);
        assert_eq!(second.file, first.file);
        for (made, seed, pieces) in [(&first, 1, pieces), (&second, 2, pieces + 1)] {
            assert!(version(&workspace, made.version.unwrap()) == content(seed, pieces));
        }
        sound(&workspace);

        let history = History { of: HistoryOf::File(first.file), limit: 1, before: None };
        let step = workspace.perform(history).unwrap().steps.remove(0);
        assert_eq!((step.verb.as_str(), step.version), ("place", second.version));
        workspace.perform(Undo::of(step.id)).unwrap();
        assert!(workspace.bytes("/new/a.bin") == content(1, pieces));
        workspace.perform(Restore::Version(second.version.unwrap())).unwrap();
        assert!(workspace.bytes("/new/a.bin") == content(2, pieces + 1));
        workspace
            .perform(Move {
                from: at("/new"),
                to: at("/old"),
                into_folder: false,
                on_existing: OnExisting::Refuse,
            })
            .unwrap();
        workspace.perform(Remove { path: at("/old"), on_folder: OnFolder::WithContents }).unwrap();
        workspace.perform(Restore::Removed(first.file)).unwrap();
        assert!(workspace.bytes("/old/a.bin") == content(2, pieces + 1));
        sound(&workspace);
        sound(&workspace.reopen());
    }
}

#[test]
fn r7_an_upload_does_not_overwrite_what_it_does_not_know() {
    for pieces in [1, 40] {
        let workspace = workspace();
        let made = place(&workspace, "/a", 1, pieces);
        let next = upload(&workspace, 2, pieces);
        let refuse = Place { on_existing: OnExisting::Refuse, ..placing("/a", &next) };
        assert_eq!(workspace.perform(refuse).unwrap_err().code(), FaultCode::Exists);
        let other = Some(ContentHash::of(b"other"));
        let stale = |path| Place { expected: other, ..placing(path, &next) };
        assert_eq!(workspace.perform(stale("/a")).unwrap_err().code(), FaultCode::Stale);
        assert_eq!(workspace.perform(stale("/none")).unwrap_err().code(), FaultCode::Stale);
        assert!(workspace.bytes("/a") == content(1, pieces));
        workspace.perform(Place { expected: made.hash, ..placing("/a", &next) }).unwrap();
        assert!(workspace.bytes("/a") == content(2, pieces));
        let late = placing("/b", &next);
        drop(next);
        assert_eq!(workspace.perform(late).unwrap_err().code(), FaultCode::NotFound);
    }
}

#[test]
fn nothing_is_left_of_an_upload_that_nobody_placed() {
    let workspace = workspace();
    let mut begun = workspace.session().upload(&workspace.call_context()).unwrap();
    begun.write(&piece(1, 1)).unwrap();
    let whole = upload(&workspace, 1, 40);
    assert_eq!(names(&workspace, "stage").len(), 2);
    std::fs::create_dir(workspace.root().join("folder")).unwrap();
    assert_eq!(
        workspace.perform(placing("/folder", &whole)).unwrap_err().code(),
        FaultCode::IsFolder
    );
    drop((begun, whole));
    assert_eq!((names(&workspace, "stage"), names(&workspace, "kept")), (vec![], vec![]));

    // A crash leaves both kinds: the next opening sweeps them.
    let state = workspace.folders().state();
    let orphan = format!("{}-x", ContentHash::of(b"nobody's"));
    std::fs::write(state.join("kept").join(orphan), "nobody's").unwrap();
    std::fs::write(state.join("stage/left"), "half").unwrap();
    let workspace = workspace.reopen();
    assert_eq!((names(&workspace, "stage"), names(&workspace, "kept")), (vec![], vec![]));
}

#[test]
fn a_place_that_fails_at_any_store_call_changes_nothing_or_everything() {
    for when in [FailureTime::Before, FailureTime::After] {
        for nth in 0.. {
            let folders = Folders::new();
            let trigger = FailureTrigger::new();
            let failing = Arc::clone(&trigger);
            let store = move |store: Arc<SqliteStore>| -> Arc<dyn Store> {
                let answer = FailureOutcome::Error(StoreError::Io("broken".to_owned()));
                Arc::new(FailingStore::new(store, Arc::clone(&failing), when, answer))
            };
            let workspace =
                TestWorkspace::open(&folders, OpenOptions { store: Box::new(store), ..plan() })
                    .unwrap();
            let upload = upload(&workspace, 1, 40);
            trigger.arm(nth, FailingCalls::Once);
            let placed = workspace.perform(placing("/a", &upload));
            let failed = trigger.disarm() > 0;
            drop((upload, workspace));
            let workspace = TestWorkspace::open(&folders, plan()).unwrap();
            sound(&workspace);
            assert!(placed.is_err() || workspace.has("/a"));
            if workspace.has("/a") {
                assert!(workspace.bytes("/a") == content(1, 40));
            } else {
                assert_eq!(names(&workspace, "kept"), Vec::<String>::new());
            }
            if !failed {
                break;
            }
        }
    }
}

#[test]
fn a_place_for_which_the_store_has_no_room_leaves_no_file() {
    for nth in 0.. {
        let folders = Folders::new();
        let trigger = FailureTrigger::new();
        let failing = Arc::clone(&trigger);
        let store = move |store: Arc<SqliteStore>| -> Arc<dyn Store> {
            let (when, full) = (FailureTime::Before, FailureOutcome::Error(StoreError::Full));
            Arc::new(FailingStore::new(store, Arc::clone(&failing), when, full))
        };
        let workspace =
            TestWorkspace::open(&folders, OpenOptions { store: Box::new(store), ..plan() })
                .unwrap();
        let upload = upload(&workspace, 1, 40);
        trigger.arm(nth, FailingCalls::Once);
        let placed = workspace.perform(placing("/a", &upload));
        let failed = trigger.disarm() > 0;
        drop(upload);
        if placed.is_err() {
            assert_eq!(names(&workspace, "kept"), Vec::<String>::new());
        }
        if !failed {
            break;
        }
    }
}

#[test]
fn a_purge_takes_a_large_upload_along() {
    let workspace = workspace();
    let made = place(&workspace, "/a", 1, 64);
    assert_eq!(names(&workspace, "kept").len(), 1);
    workspace.perform(Remove { path: at("/a"), on_folder: OnFolder::IfEmpty }).unwrap();
    let purged = workspace.perform(Purge { file: made.file }).unwrap();
    assert_eq!((purged.contents, purged.bytes), (1, 64 << 15));
    assert_eq!((names(&workspace, "kept"), names(&workspace, "stage")), (vec![], vec![]));
    sound(&workspace);
    assert!(version(&workspace, place(&workspace, "/a", 1, 64).version.unwrap()) == content(1, 64));
}

#[test]
fn undoing_a_mode_of_a_large_file_keeps_its_bytes() {
    let workspace = workspace();
    let made = place(&workspace, "/a", 1, 40);
    let mode = |bits| std::fs::Permissions::from_mode(bits);
    let path = workspace.root().join("a");
    std::fs::set_permissions(&path, mode(0o600)).unwrap();
    workspace.perform(Import { path: at("/"), include_ignored: true }).unwrap();
    let history = History { of: HistoryOf::File(made.file), limit: 1, before: None };
    let step = workspace.perform(history).unwrap().steps.remove(0);
    workspace.perform(Undo::of(step.id)).unwrap();
    assert!(workspace.bytes("/a") == content(1, 40));
    assert_ne!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    sound(&workspace);
}

/// The most memory that this process ever had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn r12_memory_stays_bounded_however_much_arrives() {
    let workspace = workspace();
    let before = peak();
    let pieces = (80 << 20) / (32 << 10);
    let first = upload(&workspace, 1, pieces);
    workspace.perform(placing("/large", &first)).unwrap();
    let second = upload(&workspace, 2, pieces);
    workspace.perform(placing("/large", &second)).unwrap();
    assert!(peak() - before < 16 << 10, "{} KiB more", peak() - before);
    let mut hasher = ContentHasher::new();
    (0..pieces).for_each(|n| hasher.update(&piece(2, n)));
    assert_eq!(second.hash(), hasher.finish());
}
