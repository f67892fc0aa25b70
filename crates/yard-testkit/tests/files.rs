//! Files by their ids, as raw bytes and as versions, and what a purge leaves of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods, reason = "tests look at files and at the clock")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use yard_core::op::{
    FETCH_BYTES, Fetch, FetchVersion, Fetched, Fingerprint, History, HistoryEntry, HistoryOf,
    Import, Locate, Move, OnExisting, OnFolder, OnMissingFolder, Operation as _, Purge, Remove,
    Restore, Show, ShowVersion, Trash, Undo, Verify, Write,
};
use yard_core::{ContentHash, FaultCode, FileId, Limits, VersionId, WsPath};
use yard_disk::{DiskCall, Probe};
use yard_gate::{Actor, Asks, CallerPolicy, Origin};
use yard_store::sqlite::Options;
use yard_store::{Effort, SqliteStore, Store};
use yard_testkit::failing_store::{FailingStore, FailureOutcome, FailureTime};
use yard_testkit::{FailingCalls, FailureTrigger};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

fn at(path: &str) -> WsPath {
    WsPath::parse(path).unwrap()
}

fn write(workspace: &TestWorkspace, path: &str, bytes: impl AsRef<[u8]>) -> (FileId, VersionId) {
    let changed = workspace.perform(Write::replacing(at(path), bytes.as_ref().to_vec())).unwrap();
    (changed.file, changed.version.unwrap())
}

fn remove(workspace: &TestWorkspace, path: &str) {
    workspace.perform(Remove { path: at(path), on_folder: OnFolder::WithContents }).unwrap();
}

fn history(workspace: &TestWorkspace, of: HistoryOf) -> Vec<HistoryEntry> {
    workspace.perform(History { of, limit: 100, before: None }).unwrap().steps
}

fn fetch_all(workspace: &TestWorkspace, path: &str) -> Vec<u8> {
    let (mut bytes, mut seen) = (Vec::new(), None);
    loop {
        let fetch = Fetch { path: at(path), offset: bytes.len() as u64, length: u64::MAX, seen };
        let part = workspace.perform(fetch).unwrap();
        assert!(part.bytes.len() as u64 <= FETCH_BYTES);
        bytes.extend(part.bytes);
        seen = Some(part.seen);
        if bytes.len() as u64 == part.size {
            return bytes;
        }
    }
}

fn fetch_version(workspace: &TestWorkspace, version: VersionId) -> yard_core::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let offset = bytes.len() as u64;
        let length = FETCH_BYTES;
        let part = workspace.perform(FetchVersion { version, of: None, offset, length })?;
        bytes.extend(part.bytes);
        if bytes.len() as u64 == part.size {
            assert_eq!(ContentHash::of(&bytes), part.hash);
            return Ok(bytes);
        }
    }
}

/// Bytes that do not compress, different for each seed.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let block =
        |n: u64| *ContentHash::of(&[seed.to_le_bytes(), n.to_le_bytes()].concat()).as_bytes();
    (0..).flat_map(block).take(length).collect()
}

fn holds(folder: &Path, needle: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holds(&path, needle));
        } else if std::fs::read(&path).unwrap().windows(needle.len()).any(|window| window == needle)
        {
            found.push(path.display().to_string());
        }
    }
    found
}

fn sound(workspace: &TestWorkspace) {
    assert_eq!(workspace.perform(Verify).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_file_is_found_by_its_id_wherever_it_is() {
    let workspace = TestWorkspace::new();
    let (file, version) = write(&workspace, "/a/b.txt", "one\n");
    let found = workspace.perform(Locate { file }).unwrap();
    assert_eq!(
        (found.path.clone(), found.last_path.clone()),
        (Some(at("/a/b.txt")), at("/a/b.txt"))
    );
    assert_eq!((found.size, found.version, found.removed), (Some(4), Some(version), None));
    assert_eq!(found.hash, Some(ContentHash::of(b"one\n")));

    workspace
        .perform(Move {
            from: at("/a"),
            to: at("/z"),
            into_folder: false,
            on_existing: OnExisting::Refuse,
        })
        .unwrap();
    assert_eq!(workspace.perform(Locate { file }).unwrap().path, Some(at("/z/b.txt")));

    remove(&workspace, "/z");
    let gone = workspace.perform(Locate { file }).unwrap();
    assert_eq!((gone.path, gone.last_path), (None, at("/z/b.txt")));
    let step = &history(&workspace, HistoryOf::Workspace)[0];
    assert_eq!(gone.removed.map(|removed| (removed.step, removed.at)), Some((step.id, step.at)));
    assert_eq!((gone.created_at, gone.hash), (found.created_at, found.hash));

    let fault = workspace.perform(Locate { file: FileId::ROOT }).unwrap_err();
    assert_eq!(fault.code(), FaultCode::NotFound);
}

#[test]
fn a_removed_file_has_its_history_by_id_with_who_did_it() {
    let workspace = TestWorkspace::new();
    let (file, _) = write(&workspace, "/a", "1");
    write(&workspace, "/a", "2");
    remove(&workspace, "/a");
    write(&workspace, "/a", "another file");
    let steps = history(&workspace, HistoryOf::File(file));
    let verbs: Vec<&str> = steps.iter().map(|step| step.verb.as_str()).collect();
    assert_eq!(verbs, ["remove", "write", "write"]);
    assert!(steps.iter().all(|step| step.actor == "agent:local"));
    assert_eq!(history(&workspace, HistoryOf::Path(at("/a"))).len(), 1);
    let page = workspace
        .perform(History { of: HistoryOf::File(file), limit: 1, before: Some(steps[0].id) })
        .unwrap();
    assert_eq!((page.steps[0].id, page.truncated), (steps[1].id, true));
    let unknown = HistoryOf::File(FileId::ROOT);
    let fault = workspace.perform(History { of: unknown, limit: 1, before: None }).unwrap_err();
    assert_eq!(fault.code(), FaultCode::NotFound);
}

#[test]
fn any_file_is_fetched_in_ranges_and_never_in_parts_of_two_contents() {
    let workspace = TestWorkspace::new();
    let bytes = noise(3 * (FETCH_BYTES as usize) + 17, 1);
    workspace.put("/blob.bin", &bytes);
    assert!(fetch_all(&workspace, "/blob.bin") == bytes);
    let part = |offset, length| {
        workspace.perform(Fetch { path: at("/blob.bin"), offset, length, seen: None }).unwrap()
    };
    assert_eq!(part(5, 3).bytes, &bytes[5..8]);
    assert_eq!(part(bytes.len() as u64 - 2, 9).bytes, &bytes[bytes.len() - 2..]);
    for offset in [bytes.len() as u64, u64::MAX] {
        assert_eq!(part(offset, 9).bytes, b"");
    }
    let Fetched { seen, .. } = part(0, 10);
    write(&workspace, "/blob.bin", &bytes);
    let again = Fetch { path: at("/blob.bin"), offset: 10, length: 10, seen: Some(seen) };
    assert_eq!(workspace.perform(again).unwrap_err().code(), FaultCode::Stale);

    std::os::unix::fs::symlink("blob.bin", workspace.root().join("link")).unwrap();
    assert_eq!(fetch_all(&workspace, "/link").len(), bytes.len());
    workspace.put("/d/x", "");
    let fetch =
        |path: &str| workspace.perform(Fetch { path: at(path), offset: 0, length: 1, seen: None });
    assert_eq!(fetch("/d").unwrap_err().code(), FaultCode::IsFolder);
    assert_eq!(fetch("/none").unwrap_err().code(), FaultCode::NotFound);
    assert_eq!(fetch("/d/x").unwrap().bytes, b"");
}

#[test]
fn a_fingerprint_is_the_hash_on_disk_and_goes_with_the_fetch() {
    let workspace = TestWorkspace::new();
    let (file, _) = write(&workspace, "/a", "one");
    let print = |path: &str| workspace.perform(Fingerprint { path: at(path) }).unwrap();
    let first = print("/a");
    assert_eq!((first.file, first.hash, first.size), (Some(file), ContentHash::of(b"one"), 3));
    assert_eq!(print("/a"), first);
    workspace.put("/a", "two");
    assert_eq!(print("/a").hash, ContentHash::of(b"two"));
    let fetch = Fetch { path: at("/a"), offset: 0, length: 9, seen: Some(first.seen) };
    assert_eq!(workspace.perform(fetch).unwrap_err().code(), FaultCode::Stale);
    workspace.put("/unknown", noise(300_000, 2));
    assert_eq!(print("/unknown").hash, ContentHash::of(&noise(300_000, 2)));
    assert_eq!(print("/unknown").file, None);
}

/// Counts how often a file is opened to be read.
#[derive(Default)]
struct Reads(AtomicU64);

impl Probe for Reads {
    fn before(&self, call: DiskCall) -> std::io::Result<()> {
        self.0.fetch_add(u64::from(call == DiskCall::Read), Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn a_settled_fingerprint_reads_nothing() {
    let reads = Arc::new(Reads::default());
    let probe: Option<Arc<dyn Probe>> = Some(reads.clone());
    let workspace =
        TestWorkspace::open(&Folders::new(), OpenOptions { probe, ..OpenOptions::default() })
            .unwrap();
    write(&workspace, "/a", noise(100_000, 3));
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    let first = workspace.perform(Fingerprint { path: at("/a") }).unwrap();
    let before = reads.0.load(Ordering::SeqCst);
    assert_eq!(workspace.perform(Fingerprint { path: at("/a") }).unwrap(), first);
    assert_eq!(reads.0.load(Ordering::SeqCst), before);
    workspace.put("/a", "other");
    assert_eq!(
        workspace.perform(Fingerprint { path: at("/a") }).unwrap().hash,
        ContentHash::of(b"other")
    );
    assert_eq!(reads.0.load(Ordering::SeqCst), before + 1);
}

#[test]
fn a_version_is_shown_with_its_diff_and_checked_against_its_file() {
    let workspace = TestWorkspace::new();
    let (file, first) = write(&workspace, "/a.txt", "one\ntwo\n");
    workspace
        .perform(Move {
            from: at("/a.txt"),
            to: at("/b.txt"),
            into_folder: false,
            on_existing: OnExisting::Refuse,
        })
        .unwrap();
    let (_, second) = write(&workspace, "/b.txt", "one\n2\n");
    let show = |version, of, max_bytes| workspace.perform(ShowVersion { version, of, max_bytes });
    let shown = show(second, Some(file), 10_000).unwrap();
    assert_eq!((shown.before, shown.path, shown.size), (Some(first), at("/b.txt"), 6));
    assert_eq!((shown.hash, shown.verb.as_str()), (ContentHash::of(b"one\n2\n"), "write"));
    assert_eq!((shown.actor.as_str(), shown.truncated), ("agent:local", false));
    let diff = shown.diff.unwrap();
    assert!(
        diff.starts_with("--- a/a.txt\n+++ b/b.txt\n") && diff.contains("-two\n+2\n"),
        "{diff}"
    );

    let shown = show(first, None, 10_000).unwrap();
    assert_eq!((shown.before, shown.path), (None, at("/a.txt")));
    assert!(shown.diff.unwrap().starts_with("--- /dev/null\n+++ b/a.txt\n"));
    let cut = show(first, None, 30).unwrap();
    assert!(cut.truncated && cut.diff.unwrap().len() <= 30);
    assert!(show(first, None, 0).unwrap().truncated);

    let (other, _) = write(&workspace, "/c", "c");
    for of in [Some(other), Some(FileId::ROOT)] {
        assert_eq!(show(first, of, 9).unwrap_err().code(), FaultCode::NotFound);
        let fetch = FetchVersion { version: first, of, offset: 0, length: 9 };
        assert_eq!(workspace.perform(fetch).unwrap_err().code(), FaultCode::NotFound);
    }
    remove(&workspace, "/b.txt");
    assert_eq!(fetch_version(&workspace, first).unwrap(), b"one\ntwo\n");
}

#[test]
fn versions_of_every_form_are_fetched_in_parts() {
    let limits = Limits { load_bytes: 2 << 20, ..Limits::default() };
    let workspace =
        TestWorkspace::open(&Folders::new(), OpenOptions { limits, ..OpenOptions::default() })
            .unwrap();
    let texts: Vec<Vec<u8>> = (0..20).map(|n| format!("{n}\n").repeat(400).into_bytes()).collect();
    let versions: Vec<VersionId> =
        texts.iter().map(|text| write(&workspace, "/t", text).1).collect();
    for (text, version) in texts.iter().zip(versions) {
        assert!(fetch_version(&workspace, version).unwrap() == *text);
    }
    let blob = noise((2 << 20) - 5, 4);
    let (_, version) = write(&workspace, "/blob", &blob);
    assert!(fetch_version(&workspace, version).unwrap() == blob);
    assert!(fetch_version(&workspace, version).unwrap() == blob);

    // Too large to load: the displaced file itself is the version.
    let large = noise((4 << 20) + 3, 5);
    workspace.put("/large", &large);
    let (file, _) = write(&workspace, "/large", "small now");
    let oldest = history(&workspace, HistoryOf::File(file)).pop().unwrap();
    let kept = oldest.version.unwrap();
    assert!(fetch_version(&workspace, kept).unwrap() == large);
    assert_eq!(
        workspace.perform(ShowVersion { version: kept, of: None, max_bytes: 99 }).unwrap().diff,
        None
    );
}

#[test]
fn a_purge_is_only_for_what_was_removed_and_leaves_the_history() {
    let workspace = TestWorkspace::new();
    let (file, first) = write(&workspace, "/a", "secret one");
    let (_, second) = write(&workspace, "/a", "secret two");
    let fault = workspace.perform(Purge { file }).unwrap_err();
    assert_eq!(fault.code(), FaultCode::Exists);
    assert!(fault.message().contains("remove it first"), "{fault}");
    let fault = workspace.perform(Purge { file: FileId::ROOT }).unwrap_err();
    assert_eq!(fault.code(), FaultCode::NotFound);

    remove(&workspace, "/a");
    let steps = history(&workspace, HistoryOf::File(file));
    let purged = workspace.perform(Purge { file }).unwrap();
    assert_eq!((purged.files, purged.contents, purged.bytes), (1, 2, 20));
    assert_eq!(workspace.perform(Trash { limit: 9, skip: 0 }).unwrap().entries, vec![]);
    assert_eq!(history(&workspace, HistoryOf::File(file)), steps);
    assert!(workspace.perform(Locate { file }).unwrap().purged);
    let shown =
        workspace.perform(ShowVersion { version: first, of: Some(file), max_bytes: 99 }).unwrap();
    assert_eq!((shown.purged, shown.diff, shown.size), (true, None, 10));
    workspace.perform(Show::all(steps[1].id, 99)).unwrap();

    let refused = [
        fetch_version(&workspace, second).unwrap_err(),
        workspace.perform(Restore::Removed(file)).unwrap_err(),
        workspace.perform(Restore::RemovedAt(at("/a"))).unwrap_err(),
        workspace.perform(Undo::of(steps[0].id)).unwrap_err(),
    ];
    for fault in refused {
        assert_eq!(fault.code(), FaultCode::NotFound, "{fault}");
        assert!(fault.message().starts_with("content purged"), "{fault}");
    }
    sound(&workspace);
    assert_eq!(workspace.perform(Purge { file }).unwrap().contents, 0);
    let workspace = workspace.reopen();
    sound(&workspace);
    assert_ne!(write(&workspace, "/a", "secret one").0, file);
    sound(&workspace);
}

#[test]
fn no_file_of_the_data_folder_holds_a_purged_byte() {
    let options = || {
        let limits = Limits { load_bytes: 2 << 20, ..Limits::default() };
        OpenOptions { limits, ..OpenOptions::default() }
    };
    let folders = Folders::new();
    let workspace = TestWorkspace::open(&folders, options()).unwrap();
    // A raw row that is packed later, a row of its own pages, a blob, and a file that is kept.
    let small = noise(900, 6);
    let packed = [noise(500, 7), vec![b' '; 9_000]].concat();
    let (inline, blob, kept) = (noise(100_000, 8), noise(1_500_000, 9), noise(3_000_000, 10));
    for (path, bytes) in [("/s/small", &small), ("/s/packed", &packed), ("/s/inline", &inline)] {
        write(&workspace, path, bytes);
        write(&workspace, path, [bytes.as_slice(), b"!"].concat());
    }
    write(&workspace, "/s/blob", &blob);
    workspace.put("/s/kept", &kept);
    workspace.perform(Import { path: at("/"), include_ignored: true }).unwrap();
    write(&workspace, "/other", "stays");
    // Closing packs what the packer has not reached yet.
    let workspace = workspace.reopen_as(options());
    remove(&workspace, "/s");
    let needles =
        [&small[100..160], &packed[100..160], &inline[5_000..5_060], &kept[70_000..70_060]];
    for needle in needles {
        assert!(!holds(folders.state(), needle).is_empty(), "where is it?");
    }
    let name = ContentHash::of(&blob).to_string();
    let shelf = folders.state().join("blobs").join(&name[..2]);
    assert!(shelf.join(&name).is_file());

    let trash = workspace.perform(Trash { limit: 99, skip: 0 }).unwrap().entries;
    let folder = trash.iter().find(|entry| entry.path == at("/s")).unwrap();
    let purged = workspace.perform(Purge { file: folder.file }).unwrap();
    assert_eq!(purged.files, 6);
    for needle in needles {
        assert_eq!(holds(folders.state(), needle), Vec::<String>::new());
    }
    assert!(!shelf.join(&name).exists());
    assert_eq!(workspace.perform(Trash { limit: 99, skip: 0 }).unwrap().entries, vec![]);
    sound(&workspace);
}

#[test]
fn what_another_file_was_made_from_survives_a_purge() {
    let workspace = TestWorkspace::new();
    let text = |n: usize| {
        (0..500)
            .map(|line| format!("line {line} {}\n", if line == 250 { n } else { 0 }))
            .collect::<String>()
    };
    let (file, _) = write(&workspace, "/a", text(0));
    for n in 1..40 {
        write(&workspace, "/a", text(n));
    }
    // The same contents become another file's, every third of them.
    let mut versions = Vec::new();
    for n in (0..40).step_by(3) {
        versions.push((n, write(&workspace, "/b", text(n)).1));
    }
    remove(&workspace, "/a");
    assert_eq!(workspace.perform(Purge { file }).unwrap().contents, 40 - 14);
    for (n, version) in versions {
        assert_eq!(fetch_version(&workspace, version).unwrap(), text(n).into_bytes());
    }
    sound(&workspace);
    let workspace = workspace.reopen();
    sound(&workspace);
}

#[test]
fn a_purged_file_stays_gone_although_another_has_its_content() {
    let workspace = TestWorkspace::new();
    let (file, _) = write(&workspace, "/a", "shared");
    let (_, version) = write(&workspace, "/b", "shared");
    remove(&workspace, "/a");
    let removal = history(&workspace, HistoryOf::Workspace)[0].id;
    assert_eq!(workspace.perform(Purge { file }).unwrap().contents, 0);
    assert_eq!(fetch_version(&workspace, version).unwrap(), b"shared");
    let refused = [
        workspace.perform(Restore::Removed(file)).unwrap_err(),
        workspace.perform(Undo::of(removal)).unwrap_err(),
    ];
    for fault in refused {
        assert!(fault.message().starts_with("content purged"), "{fault}");
    }
}

#[test]
fn a_folder_comes_back_without_what_was_purged_of_it() {
    let workspace = TestWorkspace::new();
    let (secret, _) = write(&workspace, "/d/secret", "secret");
    write(&workspace, "/d/open", "open");
    remove(&workspace, "/d");
    workspace.perform(Purge { file: secret }).unwrap();
    workspace.perform(Restore::RemovedAt(at("/d"))).unwrap();
    assert_eq!(workspace.bytes("/d/open"), b"open");
    assert!(!workspace.has("/d/secret"));
    sound(&workspace);
}

#[test]
fn steps_go_on_while_files_are_purged() {
    let folders = Folders::new();
    let workspace = TestWorkspace::open(&folders, OpenOptions::default()).unwrap();
    let victims: Vec<FileId> = (0..12)
        .map(|n| {
            let path = format!("/victim-{n}");
            let file = write(&workspace, &path, format!("shared text of {}\n", n % 3).repeat(40)).0;
            remove(&workspace, &path);
            file
        })
        .collect();
    // Another process on the same folders, with what it remembers of places.
    let other = TestWorkspace::open(&folders, OpenOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for (thread, workspace) in [&workspace, &other, &other].into_iter().enumerate() {
            scope.spawn(move || {
                for n in 0..30 {
                    let text = format!("shared text of {}\n", n % 5).repeat(40 + n / 10);
                    write(workspace, &format!("/w-{thread}"), text);
                }
            });
        }
        scope.spawn(|| {
            for file in &victims {
                workspace.perform(Purge { file: *file }).unwrap();
            }
        });
    });
    for thread in 0..3 {
        let steps = history(&workspace, HistoryOf::Path(at(&format!("/w-{thread}"))));
        for version in steps.iter().filter_map(|step| step.version) {
            fetch_version(&workspace, version).unwrap();
        }
    }
    sound(&workspace);
    sound(&other);
}

#[test]
fn a_purge_that_fails_at_any_store_call_can_be_made_again() {
    for when in [FailureTime::Before, FailureTime::After] {
        for nth in 0.. {
            let folders = Folders::new();
            let workspace = TestWorkspace::open(&folders, OpenOptions::default()).unwrap();
            let bytes = noise(400_000, nth);
            let (file, _) = write(&workspace, "/a", &bytes);
            remove(&workspace, "/a");
            drop(workspace);
            let trigger = FailureTrigger::new();
            let failing = Arc::clone(&trigger);
            let store = move |store: Arc<SqliteStore>| -> Arc<dyn Store> {
                let answer = FailureOutcome::Error(yard_store::StoreError::Io("broken".to_owned()));
                Arc::new(FailingStore::new(store, Arc::clone(&failing), when, answer))
            };
            let workspace = TestWorkspace::open(
                &folders,
                OpenOptions { store: Box::new(store), ..OpenOptions::default() },
            )
            .unwrap();
            trigger.arm(nth, FailingCalls::Once);
            let first = workspace.perform(Purge { file });
            let failed = trigger.disarm() > 0;
            drop(workspace);
            let workspace = TestWorkspace::open(&folders, OpenOptions::default()).unwrap();
            sound(&workspace);
            assert!(
                !failed || first.is_err() || workspace.perform(Locate { file }).unwrap().purged
            );
            workspace.perform(Purge { file }).unwrap();
            assert!(workspace.perform(Locate { file }).unwrap().purged);
            assert_eq!(holds(folders.state(), &bytes[1_000..1_060]), Vec::<String>::new());
            sound(&workspace);
            if !failed {
                break;
            }
        }
    }
}

#[test]
fn a_blob_that_a_crash_left_after_a_purge_goes_with_the_next_opening() {
    let folders = Folders::new();
    let workspace = TestWorkspace::open(&folders, OpenOptions::default()).unwrap();
    let blob = noise(700_000, 11);
    let (file, _) = write(&workspace, "/a", &blob);
    remove(&workspace, "/a");
    let name = ContentHash::of(&blob).to_string();
    let path = folders.state().join("blobs").join(&name[..2]).join(&name);
    let bytes = std::fs::read(&path).unwrap();
    workspace.perform(Purge { file }).unwrap();
    drop(workspace);
    // As if the process had ended between the transaction and the removal of its blob.
    std::fs::write(&path, bytes).unwrap();
    let db = rusqlite::Connection::open(folders.state().join("journal.db")).unwrap();
    let sql = "INSERT INTO doomed (hash, kept) VALUES (?1, '')";
    db.execute(sql, [ContentHash::of(&blob).as_bytes()]).unwrap();
    drop(db);
    drop(SqliteStore::open_with(folders.state(), Options { flush: false }).unwrap());
    assert!(!path.exists());
}

#[test]
fn a_file_of_the_year_2300_is_read_and_written_over() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    let path = workspace.root().join("a.txt");
    let year_2300 = std::time::UNIX_EPOCH + std::time::Duration::from_millis(10_413_792_000_500);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(year_2300).unwrap();
    assert_eq!(workspace.call("read", json!({"path": "/a.txt"})).status, 200);
    workspace.perform(Import { path: at("/"), include_ignored: true }).unwrap();
    write(&workspace, "/a.txt", "two\n");
    assert_eq!(workspace.bytes("/a.txt"), b"two\n");
    sound(&workspace);
}

#[test]
fn a_write_that_is_denied_leaves_nothing_in_the_data_folder() {
    let workspace = TestWorkspace::new();
    let bytes = noise(1_000_000, 13);
    let session = workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly);
    let origin = Origin { toolset: "test", tool: Write::VERB, asks: Asks::Never };
    let write = Write {
        path: at("/a"),
        content: bytes.clone(),
        json: false,
        file_type: None,
        on_existing: OnExisting::Replace,
        on_missing_folder: OnMissingFolder::Make,
        expected: None,
    };
    let denied = session.perform(origin, &workspace.call_context(), write).unwrap_err();
    assert_eq!(denied.code(), FaultCode::Denied, "{denied}");
    let needle = &bytes[500_000..500_060];
    assert_eq!(holds(workspace.folders().state(), needle), Vec::<String>::new());
}

#[test]
fn a_purge_reaches_what_another_process_prepared_of_a_content() {
    let workspace = TestWorkspace::new();
    let state = workspace.folders().state();
    let bytes = noise(1_500_000, 14);
    let other = SqliteStore::open_with(state, Options { flush: false }).unwrap();
    let hash = ContentHash::of(&bytes);
    // As of a process that is killed: nothing drops it.
    std::mem::forget(other.prepare(hash, &bytes, None, Effort::Quick).unwrap());
    let (file, _) = write(&workspace, "/a", &bytes);
    remove(&workspace, "/a");
    let needle = &bytes[500_000..500_060];
    assert_eq!(holds(state, needle).len(), 2, "the stored one and the prepared one");
    workspace.perform(Purge { file }).unwrap();
    assert_eq!(holds(state, needle), Vec::<String>::new());
}

#[test]
fn a_data_folder_that_was_removed_is_no_missing_file() {
    let workspace = TestWorkspace::new();
    workspace.call("write", json!({"path": "/a.txt", "content": "one\n"}));
    std::fs::remove_dir_all(workspace.folders().state()).unwrap();
    for path in ["/a.txt", "/new.txt"] {
        let args = json!({"path": path, "content": "two\n", "overwrite": true});
        let answer = workspace.call("write", args);
        assert_eq!(answer.status, 500, "{path}: {}", answer.body);
        assert!(answer.body["error"].as_str().unwrap().contains("data folder"), "{}", answer.body);
    }
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
}

/// Runs a line of Python that sees a file as `path`; what it printed, or none where that did not work.
fn python(line: &str, path: &Path) -> Option<String> {
    let script = format!("import os, sys\npath = sys.argv[1]\n{line}");
    let done =
        std::process::Command::new("python3").args(["-c", &script]).arg(path).output().ok()?;
    done.status.success().then(|| String::from_utf8(done.stdout).unwrap())
}

#[test]
fn r5_a_changed_file_keeps_its_attributes() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "one\n");
    let path = workspace.root().join("a");
    let set = "os.setxattr(path, 'user.origin', b'somewhere')";
    // Not every file system has attributes, and not every machine has Python.
    if python(set, &path).is_none() {
        return;
    }
    let kept = || python("print(os.getxattr(path, 'user.origin').decode())", &path);
    let (file, first) = write(&workspace, "/a", "two\n");
    assert_eq!(kept().as_deref(), Some("somewhere\n"), "written");
    let edit = yard_testkit::replace("/a", "two", "three");
    workspace.perform(edit).unwrap();
    assert_eq!(kept().as_deref(), Some("somewhere\n"), "edited");
    workspace.perform(Restore::Version(first)).unwrap();
    assert_eq!(kept().as_deref(), Some("somewhere\n"), "restored");
    let last = history(&workspace, HistoryOf::File(file))[0].id;
    workspace.perform(Undo::of(last)).unwrap();
    assert_eq!(kept().as_deref(), Some("somewhere\n"), "undone");
    assert_eq!(workspace.bytes("/a"), b"three\n");
}
