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
use yard_testkit::harness::{FailingCalls, FailureTrigger};
use yard_testkit::{Folders, OpenOptions, Yard};

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

fn yard() -> Yard {
    Yard::open(&Folders::new(), plan()).unwrap()
}

/// The `n`-th piece of a content: 32 KiB that are like no other piece.
fn piece(seed: u64, n: u64) -> Vec<u8> {
    let block = ContentHash::of(&[seed.to_le_bytes(), n.to_le_bytes()].concat());
    block.as_bytes().repeat(1024)
}

fn upload(yard: &Yard, seed: u64, pieces: u64) -> Uploaded {
    let mut upload = yard.session().upload(&yard.surroundings()).unwrap();
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

fn place(yard: &Yard, path: &str, seed: u64, pieces: u64) -> Changed {
    let upload = upload(yard, seed, pieces);
    yard.perform(placing(path, &upload)).unwrap()
}

fn version(yard: &Yard, version: VersionId) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let offset = bytes.len() as u64;
        let fetch = FetchVersion { version, of: None, offset, length: FETCH_BYTES };
        let part = yard.perform(fetch).unwrap();
        bytes.extend(part.bytes);
        if bytes.len() as u64 == part.size {
            return bytes;
        }
    }
}

fn names(yard: &Yard, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(yard.folders().state().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn sound(yard: &Yard) {
    let found = yard.perform(Verify).unwrap();
    assert_eq!((found.problems, found.unsynced), (vec![], vec![]));
}

#[test]
fn small_and_large_uploads_become_files_like_any_other() {
    for pieces in [0, 1, 32, 33, 100] {
        let yard = yard();
        let first = place(&yard, "/new/a.bin", 1, pieces);
        assert!(yard.bytes("/new/a.bin") == content(1, pieces));
        assert_eq!(first.hash, Some(ContentHash::of(&content(1, pieces))));
        assert_eq!(names(&yard, "stage"), Vec::<String>::new());
        let second = place(&yard, "/new/a.bin", 2, pieces + 1);
        assert_eq!(second.file, first.file);
        for (made, seed, pieces) in [(&first, 1, pieces), (&second, 2, pieces + 1)] {
            assert!(version(&yard, made.version.unwrap()) == content(seed, pieces));
        }
        sound(&yard);

        let history = History { of: HistoryOf::File(first.file), limit: 1, before: None };
        let step = yard.perform(history).unwrap().steps.remove(0);
        assert_eq!((step.verb.as_str(), step.version), ("place", second.version));
        yard.perform(Undo { step: step.id }).unwrap();
        assert!(yard.bytes("/new/a.bin") == content(1, pieces));
        yard.perform(Restore::Version(second.version.unwrap())).unwrap();
        assert!(yard.bytes("/new/a.bin") == content(2, pieces + 1));
        yard.perform(Move {
            from: at("/new"),
            to: at("/old"),
            into_folder: false,
            on_existing: OnExisting::Refuse,
        })
        .unwrap();
        yard.perform(Remove { path: at("/old"), on_folder: OnFolder::WithContents }).unwrap();
        yard.perform(Restore::Removed(first.file)).unwrap();
        assert!(yard.bytes("/old/a.bin") == content(2, pieces + 1));
        sound(&yard);
        sound(&yard.reopen());
    }
}

#[test]
fn r7_an_upload_does_not_overwrite_what_it_does_not_know() {
    for pieces in [1, 40] {
        let yard = yard();
        let made = place(&yard, "/a", 1, pieces);
        let next = upload(&yard, 2, pieces);
        let refuse = Place { on_existing: OnExisting::Refuse, ..placing("/a", &next) };
        assert_eq!(yard.perform(refuse).unwrap_err().code(), FaultCode::Exists);
        let other = Some(ContentHash::of(b"other"));
        let stale = |path| Place { expected: other, ..placing(path, &next) };
        assert_eq!(yard.perform(stale("/a")).unwrap_err().code(), FaultCode::Stale);
        assert_eq!(yard.perform(stale("/none")).unwrap_err().code(), FaultCode::Stale);
        assert!(yard.bytes("/a") == content(1, pieces));
        yard.perform(Place { expected: made.hash, ..placing("/a", &next) }).unwrap();
        assert!(yard.bytes("/a") == content(2, pieces));
        let late = placing("/b", &next);
        drop(next);
        assert_eq!(yard.perform(late).unwrap_err().code(), FaultCode::NotFound);
    }
}

#[test]
fn nothing_is_left_of_an_upload_that_nobody_placed() {
    let yard = yard();
    let mut begun = yard.session().upload(&yard.surroundings()).unwrap();
    begun.write(&piece(1, 1)).unwrap();
    let whole = upload(&yard, 1, 40);
    assert_eq!(names(&yard, "stage").len(), 2);
    std::fs::create_dir(yard.root().join("folder")).unwrap();
    assert_eq!(yard.perform(placing("/folder", &whole)).unwrap_err().code(), FaultCode::IsFolder);
    drop((begun, whole));
    assert_eq!((names(&yard, "stage"), names(&yard, "kept")), (vec![], vec![]));

    // A crash leaves both kinds: the next opening sweeps them.
    let state = yard.folders().state();
    let orphan = format!("{}-x", ContentHash::of(b"nobody's"));
    std::fs::write(state.join("kept").join(orphan), "nobody's").unwrap();
    std::fs::write(state.join("stage/left"), "half").unwrap();
    let yard = yard.reopen();
    assert_eq!((names(&yard, "stage"), names(&yard, "kept")), (vec![], vec![]));
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
            let yard =
                Yard::open(&folders, OpenOptions { store: Box::new(store), ..plan() }).unwrap();
            let upload = upload(&yard, 1, 40);
            trigger.arm(nth, FailingCalls::Once);
            let placed = yard.perform(placing("/a", &upload));
            let failed = trigger.disarm() > 0;
            drop((upload, yard));
            let yard = Yard::open(&folders, plan()).unwrap();
            sound(&yard);
            assert!(placed.is_err() || yard.has("/a"));
            if yard.has("/a") {
                assert!(yard.bytes("/a") == content(1, 40));
            } else {
                assert_eq!(names(&yard, "kept"), Vec::<String>::new());
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
        let yard = Yard::open(&folders, OpenOptions { store: Box::new(store), ..plan() }).unwrap();
        let upload = upload(&yard, 1, 40);
        trigger.arm(nth, FailingCalls::Once);
        let placed = yard.perform(placing("/a", &upload));
        let failed = trigger.disarm() > 0;
        drop(upload);
        if placed.is_err() {
            assert_eq!(names(&yard, "kept"), Vec::<String>::new());
        }
        if !failed {
            break;
        }
    }
}

#[test]
fn a_purge_takes_a_large_upload_along() {
    let yard = yard();
    let made = place(&yard, "/a", 1, 64);
    assert_eq!(names(&yard, "kept").len(), 1);
    yard.perform(Remove { path: at("/a"), on_folder: OnFolder::IfEmpty }).unwrap();
    let purged = yard.perform(Purge { file: made.file }).unwrap();
    assert_eq!((purged.contents, purged.bytes), (1, 64 << 15));
    assert_eq!((names(&yard, "kept"), names(&yard, "stage")), (vec![], vec![]));
    sound(&yard);
    assert!(version(&yard, place(&yard, "/a", 1, 64).version.unwrap()) == content(1, 64));
}

#[test]
fn undoing_a_mode_of_a_large_file_keeps_its_bytes() {
    let yard = yard();
    let made = place(&yard, "/a", 1, 40);
    let mode = |bits| std::fs::Permissions::from_mode(bits);
    let path = yard.root().join("a");
    std::fs::set_permissions(&path, mode(0o600)).unwrap();
    yard.perform(Import { path: at("/"), include_ignored: true }).unwrap();
    let history = History { of: HistoryOf::File(made.file), limit: 1, before: None };
    let step = yard.perform(history).unwrap().steps.remove(0);
    yard.perform(Undo { step: step.id }).unwrap();
    assert!(yard.bytes("/a") == content(1, 40));
    assert_ne!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    sound(&yard);
}

/// The most memory that this process ever had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn r12_memory_stays_bounded_however_much_arrives() {
    let yard = yard();
    let before = peak();
    let pieces = (80 << 20) / (32 << 10);
    let first = upload(&yard, 1, pieces);
    yard.perform(placing("/large", &first)).unwrap();
    let second = upload(&yard, 2, pieces);
    yard.perform(placing("/large", &second)).unwrap();
    assert!(peak() - before < 16 << 10, "{} KiB more", peak() - before);
    let mut hasher = ContentHasher::new();
    (0..pieces).for_each(|n| hasher.update(&piece(2, n)));
    assert_eq!(second.hash(), hasher.finish());
}
