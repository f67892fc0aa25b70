//! What only a store on a disk has to show: that it is still there, shared, checked and small.

#![allow(clippy::unwrap_used, clippy::print_stdout)]
#![allow(clippy::disallowed_methods, reason = "tests look at files and at the clock")]

mod older;
mod tampered;
mod uncommitted;
mod unread;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use tempfile::TempDir;
use yard_core::{ContentHash, FileId, World as _, WsPath};
use yard_store::sqlite::Options;
use yard_store::{
    ApprovalStore, AuditEntry, Batch, ContentCheck, Effort, EventLog, SqliteStore, Store,
    StoreError,
};
use yard_testkit::store_equality::assert_stores_equal;
use yard_testkit::{FakeWorld, StepBuilder, model_comparison};

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir).unwrap()
}

fn raw(dir: &Path) -> Connection {
    Connection::open(dir.join("journal.db")).unwrap()
}

/// A source file of about 10 KB in which hardly a line is like another.
fn source() -> Vec<String> {
    let verbs = ["load", "store", "merge", "split", "check", "apply", "render", "parse"];
    let nouns = ["header", "record", "buffer", "window", "index", "cursor", "segment"];
    let line = |n: usize| {
        let (verb, noun) = (verbs[n * 5 % 8], nouns[n * 3 % 7]);
        format!(
            "    let {noun}_{n} = {verb}_{noun}(&mut state, {}, \"{:x}\")?;\n",
            n * 7919 % 1013,
            n * n * 31
        )
    };
    (0..175).map(line).collect()
}

/// Edits one file by a line a step; the raw bytes of all its versions.
fn edit_lines(store: &dyn Store, times: usize) -> (FileId, usize) {
    let world = FakeWorld::new(3);
    let builder = StepBuilder::new(store, &world);
    let mut lines = source();
    let mut before = lines.concat().into_bytes();
    let parent = builder.create_folder(FileId::ROOT, &WsPath::parse("/src").unwrap());
    let file = builder.create(parent.file, &WsPath::parse("/src/kernel.rs").unwrap(), &before);
    let id = file.file;
    builder.append(vec![parent, file], &[&before]).unwrap();
    let mut total = 0;
    for n in 0..times {
        let at = world.below(lines.len());
        lines[at] = format!("    let changed_{n} = another({}, &value)?;\n", world.below(1 << 30));
        let after = lines.concat().into_bytes();
        let contents = [builder.prepared_after(&after, &before)];
        let steps = [builder.step("edit", vec![builder.edit(&builder.node(id), &after)])];
        store.append(n as u64 + 1, Batch { steps: &steps, contents: &contents }).unwrap();
        total += after.len();
        before = after;
    }
    (id, total)
}

#[test]
fn a_thousand_edits_cost_a_tenth_of_their_copies() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open_with(folder.path(), Options { flush: false }).unwrap();
    let (id, copies) = edit_lines(&store, 1000);
    assert_eq!(store.file_changes(id, None, usize::MAX).unwrap().len(), 1001);
    drop(store);
    let size = std::fs::metadata(folder.path().join("journal.db")).unwrap().len() as usize;
    println!(
        "{} bytes a step, {:.2} % of the copies",
        size / 1000,
        size as f64 * 100.0 / copies as f64
    );
    assert!(size * 10 <= copies, "{size} bytes for {copies}");
    let store = open(folder.path());
    for hash in store.contents(None, usize::MAX).unwrap() {
        assert_eq!(ContentHash::of(&store.content(&hash).unwrap().unwrap()), hash);
    }
}

#[test]
fn what_came_in_a_hurry_is_small_once_it_is_quiet() {
    let dir = TempDir::new().unwrap();
    let form = |hash: &ContentHash| -> (i64, i64) {
        let sql = "SELECT form, length(data) FROM content WHERE hash = ?1";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        raw(dir.path()).query_row(sql, [hash.as_bytes()], row).unwrap()
    };
    let text = source().concat().into_bytes();
    let noise: Vec<u8> =
        (0..300u32).flat_map(|n| ContentHash::of(&n.to_le_bytes()).as_bytes().to_owned()).collect();
    let store = open(dir.path());
    let contents = [&text, &noise]
        .map(|bytes| store.prepare(ContentHash::of(bytes), bytes, None, Effort::Quick).unwrap());
    store.append(0, Batch { steps: &[], contents: &contents }).unwrap();
    let (text_hash, noise_hash) = (ContentHash::of(&text), ContentHash::of(&noise));
    assert_eq!(form(&text_hash), (0, text.len() as i64));
    let started = std::time::Instant::now();
    while form(&text_hash).0 == 0 && started.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (packed, length) = form(&text_hash);
    assert!(packed == 1 && length * 2 < text.len() as i64, "form {packed}, {length} bytes");
    assert_eq!(form(&noise_hash), (0, noise.len() as i64), "what is not smaller stays");
    for bytes in [&text, &noise] {
        assert_eq!(store.content(&ContentHash::of(bytes)), Ok(Some(bytes.clone())));
    }
}

#[test]
fn a_content_that_is_stored_again_after_a_purge_is_compressed() {
    let dir = TempDir::new().unwrap();
    let (store, world) = (open(dir.path()), FakeWorld::new(8));
    let builder = StepBuilder::new(&store, &world);
    let text = source().concat().into_bytes();
    let hash = ContentHash::of(&text);
    let file = builder.file("/a", &text);
    let steps = [builder.step("remove", vec![builder.remove(&builder.node(file))])];
    store.append(store.head().unwrap(), Batch { steps: &steps, contents: &[] }).unwrap();
    let entry = AuditEntry::by_toolyard(world.now(), "purge", String::new());
    store.purge(&[file], &entry).unwrap();
    let contents = [store.prepare(hash, &text, None, Effort::Quick).unwrap()];
    store.append(store.head().unwrap(), Batch { steps: &[], contents: &contents }).unwrap();
    let sql = "SELECT form FROM content WHERE hash = ?1";
    let form: i64 = raw(dir.path()).query_row(sql, [hash.as_bytes()], |row| row.get(0)).unwrap();
    assert_eq!(form, 1, "the packer does not come back to this row");
    assert_eq!(store.content(&hash), Ok(Some(text)));
}

#[test]
fn who_closes_at_once_leaves_nothing_unpacked() {
    let dir = TempDir::new().unwrap();
    let text = source().concat().into_bytes();
    let hash = ContentHash::of(&text);
    let store = open(dir.path());
    let contents = [store.prepare(hash, &text, None, Effort::Quick).unwrap()];
    store.append(0, Batch { steps: &[], contents: &contents }).unwrap();
    drop(store);
    let raw_left = "SELECT count(*) FROM content WHERE form = 0";
    let left: i64 = raw(dir.path()).query_row(raw_left, [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
    assert_eq!(open(dir.path()).content(&hash), Ok(Some(text)));
}

#[test]
fn the_log_is_filled_up_for_those_who_write_on_and_nothing_is_lost_in_it() {
    let dir = TempDir::new().unwrap();
    let log = || std::fs::metadata(dir.path().join("journal.db-wal")).map_or(0, |meta| meta.len());
    let (one, other) = (open(dir.path()), open(dir.path()));
    let world = FakeWorld::new(5);
    let mut files = Vec::new();
    for n in 0..12 {
        // Two in turn: each fills the log up while the other's steps are in it.
        let builder = StepBuilder::new(if n % 2 == 0 { &one } else { &other }, &world);
        files.push((builder.file(&format!("/f{n}"), format!("{n}").as_bytes()), n));
        assert_eq!(log() >= 1 << 20, n >= 2, "{} bytes after {n}", log());
    }
    let copy = TempDir::new().unwrap();
    for name in ["journal.db", "journal.db-wal"] {
        // As a crash would leave them.
        std::fs::copy(dir.path().join(name), copy.path().join(name)).unwrap();
    }
    for store in [&one, &other, &open(copy.path())] {
        for (id, n) in &files {
            let hash = store.node(*id).unwrap().unwrap().last.content.unwrap();
            assert_eq!(store.content(&hash), Ok(Some(format!("{n}").into_bytes())));
        }
    }
}

#[test]
fn opening_again_finds_everything() {
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let kept = open(other.path());
    model_comparison::run(&kept, 5, 40);
    model_comparison::run(&open(folder.path()), 5, 40);
    assert_stores_equal(&kept, &open(folder.path()));
}

#[test]
fn two_on_one_folder_see_each_other() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (open(folder.path()), open(folder.path()));
    let world = FakeWorld::new(1);
    let first = StepBuilder::new(&one, &world).file("/a", b"1");
    StepBuilder::new(&two, &world).write(first, b"2");
    StepBuilder::new(&one, &world).write(first, b"3");
    assert_stores_equal(&one, &two);
    assert_eq!(two.head(), Ok(3));
    assert_eq!(one.append(2, step(&world, &one).batch()), Err(StoreError::Moved { head: 3 }));
}

struct Steps(Vec<yard_store::NewStep>);

impl Steps {
    fn batch(&self) -> Batch<'_> {
        Batch { steps: &self.0, contents: &[] }
    }
}

fn step(world: &FakeWorld, store: &dyn Store) -> Steps {
    Steps(vec![StepBuilder::new(store, world).step("write", vec![])])
}

#[test]
fn many_may_open_a_new_folder_at_once() {
    let folder = TempDir::new().unwrap();
    let world = FakeWorld::new(1);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = open(folder.path());
                let steps = step(&world, &store);
                while let Err(error) = store.append(store.head().unwrap(), steps.batch()) {
                    assert!(matches!(error, StoreError::Moved { .. }), "{error}");
                }
            });
        }
    });
    assert_eq!(open(folder.path()).head(), Ok(8));
}

#[test]
fn another_format_is_not_written_into() {
    let folder = TempDir::new().unwrap();
    let world = FakeWorld::new(1);
    let store = open(folder.path());
    let id = StepBuilder::new(&store, &world).file("/a", b"1");
    raw(folder.path()).pragma_update(None, "user_version", 99).unwrap();
    let audit = yard_store::AuditEntry {
        at: yard_core::Timestamp::from_millis(0),
        actor: String::new(),
        action: String::new(),
        detail: String::new(),
    };
    let refused = store.append(1, step(&world, &store).batch()).unwrap_err();
    assert!(matches!(refused, StoreError::Format { found: 99, .. }), "{refused}");
    assert_eq!(store.append_audit(&audit), Err(refused.clone()));
    assert_eq!(store.purge(&[], &audit), Err(refused.clone()));
    assert_eq!(store.set_flushed_mark(yard_store::Mark::default()), Err(refused.clone()));
    assert_eq!(store.node(id).unwrap().unwrap().seq, 1);
    assert_eq!(SqliteStore::open(folder.path()).err(), Some(refused));
}

#[test]
fn damaged_contents_are_noticed() {
    let noise: Vec<u8> = (0..40_000u32)
        .flat_map(|n| ContentHash::of(&n.to_le_bytes()).as_bytes().to_owned())
        .collect();
    let text = source().concat().into_bytes();
    for bytes in [b"short".to_vec(), text, noise] {
        let folder = TempDir::new().unwrap();
        let world = FakeWorld::new(1);
        let store = open(folder.path());
        StepBuilder::new(&store, &world).append(vec![], &[&bytes]).unwrap();
        spoil(folder.path(), &ContentHash::of(&bytes));
        let read = store.content(&ContentHash::of(&bytes));
        assert!(matches!(read, Err(StoreError::Corrupt(_))), "{} bytes", bytes.len());
    }
}

/// Turns a bit in the middle of a content, wherever it is.
fn spoil(dir: &Path, hash: &ContentHash) {
    let hex = hash.to_string();
    let blob = dir.join("blobs").join(&hex[..2]).join(&hex);
    if let Ok(mut bytes) = std::fs::read(&blob) {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        return std::fs::write(blob, bytes).unwrap();
    }
    let raw = raw(dir);
    let mut data: Vec<u8> =
        raw.query_row("SELECT data FROM content", [], |row| row.get(0)).unwrap();
    let middle = data.len() / 2;
    data[middle] ^= 1;
    raw.execute("UPDATE content SET data = ?1", [data]).unwrap();
}

#[test]
fn a_blob_that_cannot_be_read_is_no_damage() {
    let folder = TempDir::new().unwrap();
    let noise: Vec<u8> = (0..40_000u32)
        .flat_map(|n| ContentHash::of(&n.to_le_bytes()).as_bytes().to_owned())
        .collect();
    let hash = ContentHash::of(&noise);
    let store = open(folder.path());
    let contents = [store.prepare(hash, &noise, None, Effort::Thorough).unwrap()];
    store.append(0, Batch { steps: &[], contents: &contents }).unwrap();
    let text = hash.to_string();
    let blob = folder.path().join("blobs").join(&text[..2]).join(&text);
    // A folder can be opened and not read.
    std::fs::remove_file(&blob).unwrap();
    std::fs::create_dir(&blob).unwrap();
    assert!(
        matches!(store.content(&hash), Err(StoreError::Io(_))),
        "{:?}",
        store.content(&hash).err()
    );
    std::fs::remove_dir(&blob).unwrap();
    std::fs::write(&blob, b"other bytes").unwrap();
    assert!(matches!(store.content(&hash), Err(StoreError::Corrupt(_))));
}

/// Run with `--release --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn measure_reading_a_growing_file_back() {
    for versions in [2_500, 5_000, 10_000] {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open_with(folder.path(), Options { flush: false }).unwrap();
        let world = FakeWorld::new(9);
        let builder = StepBuilder::new(&store, &world);
        let mut text = b"the first line\n".to_vec();
        let id = builder.file("/log", &text);
        for n in 0..versions {
            let before = text.clone();
            text.extend_from_slice(format!("line {n} of a file that grows\n").as_bytes());
            let contents = [builder.prepared_after(&text, &before)];
            let steps = [builder.step("edit", vec![builder.edit(&builder.node(id), &text)])];
            store.append(n as u64 + 1, Batch { steps: &steps, contents: &contents }).unwrap();
        }
        let clock = std::time::Instant::now();
        let mut whole = 0;
        store
            .recheck(&mut |_, found| {
                whole += usize::from(found == yard_store::ContentCheck::Whole);
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        let once = clock.elapsed();
        let clock = std::time::Instant::now();
        for hash in store.contents(None, usize::MAX).unwrap() {
            assert!(store.content(&hash).unwrap().is_some());
        }
        println!("{versions} versions: {once:?} for {whole}, one by one {:?}", clock.elapsed());
    }
}

#[test]
fn tampering_with_a_change_breaks_the_chain() {
    let folder = TempDir::new().unwrap();
    let world = FakeWorld::new(1);
    let store = open(folder.path());
    StepBuilder::new(&store, &world).file("/a", b"1");
    let verifies = || {
        let row = store.audit(0, 1).unwrap().remove(0);
        row.hash == row.expected_hash(&[0; 32])
    };
    assert!(verifies());
    raw(folder.path()).execute("UPDATE change SET mode = 511", []).unwrap();
    assert!(!verifies());
}

#[test]
fn what_is_no_database_is_corrupt_and_a_file_in_the_way_is_refused() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("journal.db"), [7; 4096]).unwrap();
    assert!(matches!(SqliteStore::open(folder.path()), Err(StoreError::Corrupt(_))));
    let under_a_file = folder.path().join("journal.db").join("deeper");
    assert!(SqliteStore::open(&under_a_file).is_err());
}

/// Run with `--release --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn measure() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open_with(folder.path(), Options { flush: false }).unwrap();
    let clock = std::time::Instant::now();
    let (id, _) = edit_lines(&store, 10_000);
    println!("whole edit loop: {:?} each", clock.elapsed() / 10_000);
    measure_parts(&store, id);
    measure_reads(&store, id);
}

fn measure_parts(store: &dyn Store, id: FileId) {
    let world = FakeWorld::new(4);
    let builder = StepBuilder::new(store, &world);
    let node = store.node(id).unwrap().unwrap();
    let mut before = store.content(&node.last.content.unwrap()).unwrap().unwrap();
    let (mut hashing, mut preparing, mut appending) = (Times::new(), Times::new(), Times::new());
    for n in 0..2000u64 {
        let mut after = before.clone();
        let at = world.below(after.len() - 20);
        after.splice(at..at + 12, format!("{n:012}").into_bytes());
        hashing.take(|| ContentHash::of(&after));
        // Hashes both contents itself.
        let contents = [preparing.take(|| builder.prepared_after(&after, &before))];
        let steps = [builder.step("edit", vec![builder.edit(&builder.node(id), &after)])];
        let head = store.head().unwrap();
        let batch = Batch { steps: &steps, contents: &contents };
        appending.take(|| store.append(head, batch).unwrap());
        before = after;
    }
    hashing.print("hash");
    preparing.print("prepare, with two hashes");
    appending.print("append");
}

fn measure_reads(store: &dyn Store, id: FileId) {
    let world = FakeWorld::new(5);
    let builder = StepBuilder::new(store, &world);
    let folder = builder.create_folder(FileId::ROOT, &WsPath::parse("/many").unwrap());
    let parent = folder.file;
    let mut changes = vec![folder];
    for n in 0..10_000 {
        let at = WsPath::parse(&format!("/many/file-{n}.txt")).unwrap();
        changes.push(builder.create(parent, &at, b"same"));
    }
    let mut files = Times::new();
    files.take(|| builder.append(changes, &[b"same"]).unwrap());
    files.print("append of 10,000 files");
    report("children of 10,000", 20, || store.children(parent).unwrap().len());
    report("file_changes of 12,000", 20, || {
        store.file_changes(id, None, usize::MAX).unwrap().len()
    });
    report("node", 1000, || store.node(id).unwrap().unwrap());
    let name = yard_core::Name::new(b"file-77.txt").unwrap();
    report("child", 1000, || store.child(parent, &name).unwrap().unwrap());
    let missing = yard_core::Name::new(b"missing").unwrap();
    report("child that is not there", 1000, || store.child(parent, &missing).unwrap());
    report("former_child", 1000, || store.former_child(parent, &name).unwrap());
    report("steps, a page of 50", 100, || store.steps(None, Some(5000), 50).unwrap());
    report("audit, a page of 1000", 20, || store.audit(5000, 1000).unwrap());
    let content = store.node(id).unwrap().unwrap().last.content.unwrap();
    report("content", 100, || store.content(&content).unwrap());
}

fn report<T>(what: &str, times: u32, work: impl Fn() -> T) {
    let mut took = Times::new();
    for _ in 0..times {
        took.take(&work);
    }
    took.print(what);
}

/// Times of one thing. The median is printed, which a busy machine moves least.
struct Times(Vec<std::time::Duration>);

impl Times {
    fn new() -> Self {
        Self(Vec::new())
    }

    fn take<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let clock = std::time::Instant::now();
        let done = work();
        self.0.push(clock.elapsed());
        done
    }

    fn print(mut self, what: &str) {
        self.0.sort();
        println!("{what}: {:?} (least {:?})", self.0[self.0.len() / 2], self.0[0]);
    }
}

/// A database from before the tables of chats and questions, as the first migration left it.
#[test]
fn a_request_of_an_older_database_keeps_the_preset_of_its_door() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path()));
    raw(folder.path())
        .execute_batch(
            "INSERT INTO chat VALUES (1, x'00000000000000000000000000000001', 't', x'74', 0, 'a', NULL, 0,
             0, 0, '');
             DROP TABLE placement; DROP TABLE root; DROP TABLE display_name; DROP TABLE later;
             DROP TABLE comment; DROP TABLE unread; DROP TABLE seen;
             ALTER TABLE step DROP COLUMN formula; ALTER TABLE note DROP COLUMN formula;
             ALTER TABLE step DROP COLUMN chat; ALTER TABLE approval DROP COLUMN preset;
             ALTER TABLE approval DROP COLUMN run; ALTER TABLE approval DROP COLUMN root;
             ALTER TABLE approval DROP COLUMN asked_in; ALTER TABLE approval DROP COLUMN claimed_by;
             ALTER TABLE approval DROP COLUMN started; ALTER TABLE approval DROP COLUMN parts;
             INSERT INTO approval (uuid, chat, asked_by, at, toolset, tool, args, reason, effect, diff,
             state, status) VALUES (zeroblob(16), 1, 'a', 0, 's', 't', '{}', 'r',
             '{\"paths\":[],\"more\":0,\"preset\":\"guarded\"}', '', zeroblob(32), 0);
             PRAGMA user_version = 4;",
        )
        .unwrap();
    let store = open(folder.path());
    let request =
        store.approval(yard_core::ApprovalId::from_bytes([0; 16])).unwrap().unwrap().request;
    assert_eq!((request.preset.as_str(), request.run), ("guarded", None));
    assert_eq!(request.effect, "{\"paths\":[],\"more\":0}");
}

#[test]
fn an_older_database_gets_its_desk_and_keeps_its_history() {
    let folder = TempDir::new().unwrap();
    let world = FakeWorld::new(5);
    let file = StepBuilder::new(&open(folder.path()), &world).file("/a", b"a");
    raw(folder.path())
        .execute_batch(
            "DROP TABLE approval; DROP TABLE allowed; DROP TABLE policy;
             DROP TABLE event; DROP TABLE question; DROP TABLE turn; DROP TABLE chat;
             DROP TABLE doomed; ALTER TABLE file DROP COLUMN purged;
             DROP TABLE placement; DROP TABLE root; DROP TABLE display_name; DROP TABLE later;
             DROP TABLE comment; DROP TABLE unread; DROP TABLE seen;
             ALTER TABLE step DROP COLUMN chat;
             ALTER TABLE step DROP COLUMN formula; ALTER TABLE note DROP COLUMN formula;
             PRAGMA user_version = 1;",
        )
        .unwrap();
    let store = open(folder.path());
    assert!(store.node(file).unwrap().is_some());
    assert_eq!(store.last_event(), Ok(1));
    store.changed_outside(yard_core::World::now(&world), &[]).unwrap();
    StepBuilder::new(&store, &world).file("/b", b"b");
    let numbers: Vec<u64> = store.events(0, 9).unwrap().iter().map(|row| row.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn a_content_can_be_read_while_the_one_that_it_is_spliced_from_is_purged() {
    let dir = TempDir::new().unwrap();
    let (store, other) = (open(dir.path()), open(dir.path()));
    let world = FakeWorld::new(5);
    let builder = StepBuilder::new(&store, &world);
    for round in 0..40 {
        let base = format!("{round}\n{}", source().concat()).into_bytes();
        let edited = [&base[..], b"one more line\n"].concat();
        let removed = builder.file(&format!("base-{round}"), &base);
        let contents = [builder.prepared_after(&edited, &base)];
        let path = WsPath::parse(&format!("/edited-{round}")).unwrap();
        let steps = [builder.step("write", vec![builder.create(FileId::ROOT, &path, &edited)])];
        let batch = Batch { steps: &steps, contents: &contents };
        store.append(store.head().unwrap(), batch).unwrap();
        builder.delete(removed);
        let (hash, is_over) = (ContentHash::of(&edited), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(other.content(&hash).unwrap().as_deref(), Some(&edited[..]));
                }
            });
            let entry = AuditEntry::by_toolyard(world.now(), "purge", String::new());
            let purged = store.purge(&[removed], &entry);
            is_over.store(true, Ordering::Relaxed);
            reader.join().unwrap();
            purged.unwrap();
        });
    }
}

#[test]
fn a_content_that_is_purged_while_all_are_checked_is_not_damaged() {
    let dir = TempDir::new().unwrap();
    let (store, other) = (open(dir.path()), open(dir.path()));
    let world = FakeWorld::new(6);
    let builder = StepBuilder::new(&store, &world);
    builder.file("first", b"checked first");
    let noise: Vec<u8> = (0..40_000u32)
        .flat_map(|n| ContentHash::of(&n.to_le_bytes()).as_bytes().to_owned())
        .collect();
    let removed = builder.file("noise", &noise);
    builder.delete(removed);
    let mut found = Vec::new();
    let result = store.recheck(&mut |_, check| {
        if found.is_empty() {
            // The rows of both contents have been read by now.
            let entry = AuditEntry::by_toolyard(world.now(), "purge", String::new());
            other.purge(&[removed], &entry).unwrap();
        }
        found.push(check);
        ControlFlow::Continue(())
    });
    result.unwrap();
    assert_eq!(found, [ContentCheck::Whole]);
}
