//! What every store promises, one case a promise. A case is given a new, empty store.

mod history;
mod kept_files;
mod past;
mod placing;

use std::panic::{AssertUnwindSafe, catch_unwind};

use yard_core::{
    Author, ContentHash, FileId, FileKind, FileState, FileType, Name, Signature, StepId, VersionId,
    World, WsPath,
};
use yard_store::{
    AuditEntry, AuditedStep, Batch, ContentLocation, Mark, NewChange, Node, SeenContent, Store,
    StoreError, StoredCounts, VersionRow, chain, step_digest,
};

use crate::step_builder::{name, path};
use crate::{FakeWorld, StepBuilder};

/// One promise.
pub type StoreCase = (&'static str, fn(&dyn Store, &FakeWorld));

/// All promises.
pub const CASES: &[StoreCase] = &[
    ("an empty store answers with nothing", empty),
    ("a created file reads back", created),
    ("a state reads back in every field", every_field),
    ("an empty batch changes nothing", empty_batch),
    ("a batch on an old head is refused with the new one", moved),
    ("a batch is all or nothing", all_or_nothing),
    ("a change must start from the current state", wrong_before),
    ("a named content must be there", missing_content),
    ("a living name is unique in its folder", unique_names),
    ("ids are never used twice", unique_ids),
    ("the root is never changed", root_stays),
    ("the changes of a step apply in order", move_then_create),
    ("the steps of a batch build on each other", batch_of_steps),
    ("a step without changes is a step", bare_step),
    ("a file that comes back keeps its id and history", restored),
    ("removed files are found, the newest first", removed),
    ("everything is counted", counted),
    ("a moved folder takes its files along", moved_folder),
    ("a folder inside itself has no path, and no endless one", looped_folder),
    ("steps are read in pages", paged_steps),
    ("a file's changes are read in pages", paged_changes),
    ("a step may change one file twice", twice_in_a_step),
    ("a version names one state", versions),
    ("an undoing step names what it undid", undoing),
    ("a step that goes back names the step that it went back to", history::went_back),
    ("steps are found by actor, chat, operation and path", history::found_steps),
    ("a folder and a file read as they were after a step", past::tree),
    ("several steps are one change for each file", past::net),
    ("contents of all sizes read back", contents),
    ("a long chain of edits reads back", long_chain),
    ("contents that repeat are stored once", repeated_content),
    ("a kept content is only located", kept_files::located),
    ("contents are listed by hash", listed_contents),
    ("a purge removes contents and keeps the history", purged),
    ("only removed files are purged", unfit_purge),
    ("what stands on a purged content stays", purged_base),
    ("what another file names is not purged", shared_content),
    ("a purged content can be brought again", brought_again),
    ("a purged kept file waits for its deletion", kept_files::pending_deletions),
    ("a signature is remembered until the content changes", signatures),
    ("the projected mark is remembered", placing::projected),
    ("placements are kept until their step is flushed", placing::placements),
    ("notes of recovery are kept until the disk is flushed", placing::recovery_notes),
    ("the history's folder is remembered", placing::root),
    ("the audit chain covers every step and note", audit_chain),
    ("names need not be UTF-8", odd_names),
    ("one of those who append on one head wins", racing),
];

/// Runs every case on a store of its own, and panics with the names of those that failed.
pub fn suite(open: &dyn Fn() -> Box<dyn Store>) {
    let mut failed = Vec::new();
    for (promise, case) in CASES {
        let store = open();
        let run = || case(store.as_ref(), &FakeWorld::new(7));
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            failed.push(*promise);
        }
    }
    assert!(failed.is_empty(), "broken promises: {failed:#?}");
}

fn empty(store: &dyn Store, world: &FakeWorld) {
    let (id, hash) = (FileId::new(world), ContentHash::of(b"x"));
    assert_eq!(store.head(), Ok(0));
    assert_eq!(store.node(id), Ok(None));
    assert_eq!(store.node(FileId::ROOT), Ok(None));
    assert_eq!(store.child(FileId::ROOT, &name("a")), Ok(None));
    assert_eq!(store.former_child(FileId::ROOT, &name("a")), Ok(None));
    assert_eq!(store.children(FileId::ROOT), Ok(vec![]));
    assert_eq!(store.removed(0, 10), Ok(vec![]));
    assert_eq!(store.step(StepId::new(world)), Ok(None));
    assert_eq!(store.steps(None, None, 10), Ok(vec![]));
    assert_eq!(store.changes(0), Ok(vec![]));
    assert_eq!(store.changes(1), Ok(vec![]));
    assert_eq!(store.file_changes(id, None, 10), Ok(vec![]));
    assert_eq!(store.version(VersionId::new(world)), Ok(None));
    assert_eq!(store.content(&hash), Ok(None));
    assert_eq!(store.locate(&hash), Ok(None));
    assert_eq!(store.contents(None, 10), Ok(vec![]));
    assert_eq!(store.flushed_mark(), Ok(Mark::default()));
    assert_eq!(store.audit(0, 10), Ok(vec![]));
    assert_eq!(store.lookup(&WsPath::root()), Ok(None));
    assert_eq!(store.path_of(FileId::ROOT), Ok(Some(WsPath::root())));
}

fn created(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let change = builder.create(FileId::ROOT, &path("/a.txt"), b"hello");
    let step = builder.step("write", vec![change.clone()]);
    let contents = [builder.prepared(b"hello")];
    let batch = Batch { steps: std::slice::from_ref(&step), contents: &contents };
    assert_eq!(store.append(0, batch), Ok(1));

    assert_eq!(store.head(), Ok(1));
    let node = store.lookup(&path("/a.txt")).unwrap().unwrap();
    assert_eq!(Ok(Some(&node)), store.node(change.file).as_ref().map(Option::as_ref));
    assert_eq!(store.children(FileId::ROOT), Ok(vec![node.clone()]));
    assert_eq!((&node.state, &node.last), (&change.after, change.after.as_ref().unwrap()));
    assert_eq!((node.path, node.seq, node.version), (path("/a.txt"), 1, change.version));
    assert_eq!((node.created_at, node.signature), (step.at, None));
    assert_eq!(store.path_of(change.file), Ok(Some(path("/a.txt"))));
    assert_eq!(store.changes(1), Ok(vec![change.clone()]));
    assert_eq!(store.content(&ContentHash::of(b"hello")), Ok(Some(b"hello".to_vec())));
    let row = store.step(step.id).unwrap().unwrap();
    assert_eq!((row.seq, row.id, row.at, row.author), (1, step.id, step.at, Author::Agent));
    assert_eq!((row.verb.as_str(), row.undoes, row.files), ("write", None, 1));
    assert_eq!(row.actor, "agent:local");
    assert_eq!(row.path, Some(path("/a.txt")));
    assert_eq!(store.file_changes(change.file, None, 9), Ok(vec![(row, change)]));
}

fn every_field(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let mut changes = Vec::new();
    let kinds = [FileKind::File, FileKind::Folder, FileKind::Link];
    for (at, (file_type, word)) in FileType::WORDS.into_iter().enumerate() {
        let at_path = path(&format!("/{word}"));
        let mut change = builder.create(FileId::ROOT, &at_path, b"");
        let state = change.after.as_mut().unwrap();
        (state.kind, state.file_type, state.json) = (kinds[at % 3], file_type, at % 2 == 1);
        (state.mode, state.size) = (0o7777 - at as u32, 1 << (5 * at));
        state.content = state.content.filter(|_| at % 3 != 1);
        // The store takes parents, names and paths as given, even if they contradict each other.
        state.parent = if at % 4 == 3 { FileId::new(world) } else { state.parent };
        change.from = (at == 5).then(|| path("/elsewhere"));
        change.to = change.to.filter(|_| at != 6);
        changes.push(change);
    }
    builder.append(changes.clone(), &[b""]).unwrap();
    assert_eq!(store.changes(1), Ok(changes.clone()));
    for change in &changes {
        assert_eq!(builder.node(change.file).state, change.after);
        assert_eq!(store.file_changes(change.file, None, 1).unwrap()[0].1, *change);
    }
}

fn empty_batch(store: &dyn Store, world: &FakeWorld) {
    StepBuilder::new(store, world).file("/a", b"a");
    assert_eq!(store.append(1, Batch::default()), Ok(1));
    assert_eq!(store.append(0, Batch::default()), Ok(1));
    assert_eq!(store.audit(0, 9).unwrap().len(), 1);
}

fn moved(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    builder.file("/a", b"a");
    let steps = [builder.step("mkdir", vec![builder.create_folder(FileId::ROOT, &path("/d"))])];
    for expected in [0, 2, u64::MAX] {
        let batch = Batch { steps: &steps, contents: &[] };
        assert_eq!(store.append(expected, batch), Err(StoreError::Moved { head: 1 }));
    }
    assert_eq!(store.append(1, Batch { steps: &steps, contents: &[] }), Ok(2));
}

fn all_or_nothing(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let good = builder.create(FileId::ROOT, &path("/a"), b"a");
    let bad = builder.create(FileId::ROOT, &path("/b"), b"nobody gave this");
    let steps = [builder.step("write", vec![good.clone()]), builder.step("write", vec![bad])];
    let contents = [builder.prepared(b"a")];
    assert_misfit(store.append(0, Batch { steps: &steps, contents: &contents }));
    assert_eq!(store.head(), Ok(0));
    assert_eq!(store.node(good.file), Ok(None));
    assert_eq!(store.step(steps[0].id), Ok(None));
    assert_eq!(store.contents(None, 9), Ok(vec![]));
    assert_eq!(store.audit(0, 9), Ok(vec![]));
    assert_eq!(store.append(0, Batch { steps: &steps[..1], contents: &contents }), Ok(1));
}

fn wrong_before(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let id = builder.file("/a", b"a");
    let old = builder.node(id);
    builder.write(id, b"b");
    let stranger = NewChange { file: FileId::new(world), ..builder.edit(&old, b"a") };
    let again = NewChange { before: None, ..builder.edit(&old, b"a") };
    let never = NewChange { file: FileId::new(world), before: None, ..builder.remove(&old) };
    for change in [builder.edit(&old, b"a"), builder.remove(&old), stranger, again, never] {
        assert_misfit(builder.append(vec![change], &[b"a"]));
    }
    builder.delete(id);
    assert_misfit(builder.append(vec![builder.edit(&old, b"a")], &[]));
    assert_eq!(store.head(), Ok(3));
}

fn missing_content(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let change = builder.create(FileId::ROOT, &path("/a"), b"nobody gave this");
    let Err(StoreError::Misfit(why)) = builder.append(vec![change.clone()], &[b"other"]) else {
        panic!("a content was missing");
    };
    assert!(why.contains(&ContentHash::of(b"nobody gave this").to_string()), "{why}");
    assert_eq!(builder.append(vec![change], &[b"nobody gave this"]), Ok(1));
}

fn unique_names(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let a = builder.file("/a", b"a");
    let b = builder.file("/b", b"a");
    assert_misfit(builder.append(vec![builder.create(FileId::ROOT, &path("/a"), b"a")], &[]));
    let onto = |id, to: &str| builder.rename(&builder.node(id), FileId::ROOT, &path(to));
    assert_misfit(builder.append(vec![onto(b, "/a")], &[]));
    builder.delete(a);
    assert_eq!(builder.append(vec![onto(b, "/a")], &[]), Ok(4));
    let last = builder.node(a).last;
    assert_misfit(builder.append(vec![builder.appear(a, &path("/a"), last)], &[]));
    let folder = builder.create_folder(FileId::ROOT, &path("/d"));
    let inside = builder.create(folder.file, &path("/d/a"), b"a");
    assert_eq!(builder.append(vec![folder, inside], &[]), Ok(5));
}

fn unique_ids(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let step = builder.step("write", vec![]);
    let again = [step.clone()];
    assert_misfit(store.append(0, Batch { steps: &[step.clone(), step], contents: &[] }));
    assert_eq!(store.append(0, Batch { steps: &again, contents: &[] }), Ok(1));
    assert_misfit(store.append(1, Batch { steps: &again, contents: &[] }));
    let id = builder.file("/a", b"a");
    let node = builder.node(id);
    let change = NewChange { version: node.version, ..builder.edit(&node, b"b") };
    assert_misfit(builder.append(vec![change], &[b"b"]));
}

fn root_stays(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let change = builder.create_folder(FileId::ROOT, &path("/d"));
    assert_misfit(builder.append(vec![NewChange { file: FileId::ROOT, ..change }], &[]));
}

fn move_then_create(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let a = builder.file("/a", b"a");
    let away = builder.rename(&builder.node(a), FileId::ROOT, &path("/a.old"));
    let fresh = builder.create(FileId::ROOT, &path("/a"), b"new");
    let changes = vec![away, fresh.clone()];
    assert_eq!(builder.append(changes.clone(), &[b"new"]), Ok(2));
    assert_eq!(store.lookup(&path("/a.old")).unwrap().unwrap().id, a);
    assert_eq!(store.lookup(&path("/a")).unwrap().unwrap().id, fresh.file);
    assert_eq!(store.changes(2), Ok(changes));

    let away = builder.rename(&builder.node(a), FileId::ROOT, &path("/b"));
    let turned = builder.create(FileId::ROOT, &path("/b"), b"new");
    assert_misfit(builder.append(vec![turned, away], &[]));
}

fn batch_of_steps(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let one = builder.create(FileId::ROOT, &path("/a"), b"1");
    let (content, after) = (Some(ContentHash::of(b"2")), one.after.clone().unwrap());
    let two = NewChange {
        before: one.after.clone(),
        after: Some(FileState { content, ..after }),
        from: one.to.clone(),
        version: Some(VersionId::new(world)),
        ..one.clone()
    };
    let steps = [builder.step("write", vec![one.clone()]), builder.step("edit", vec![two.clone()])];
    let contents = [builder.prepared(b"1"), builder.prepared(b"2")];
    assert_eq!(store.append(0, Batch { steps: &steps, contents: &contents }), Ok(2));
    let changes: Vec<_> = store.file_changes(one.file, None, 9).unwrap().into_iter().collect();
    assert_eq!(changes.iter().map(|(step, _)| step.seq).collect::<Vec<_>>(), [2, 1]);
    assert_eq!((&changes[0].1, &changes[1].1), (&two, &one));
}

fn bare_step(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    assert_eq!(builder.append(vec![], &[]), Ok(1));
    builder.file("/a", b"a");
    assert_eq!(builder.append(vec![], &[]), Ok(3));
    let rows = store.steps(None, None, 9).unwrap();
    assert_eq!(rows.iter().map(|row| row.files).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!((&rows[0].path, &rows[1].path), (&None, &Some(path("/a"))));
    assert_eq!(store.changes(3), Ok(vec![]));
    let audited = store.audit(0, 9).unwrap()[2].step.clone().unwrap();
    assert_eq!((audited.id, audited.changes), (rows[0].id, step_digest(&[])));
}

fn restored(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let id = builder.file("/a", b"a");
    let first = builder.node(id);
    builder.delete(id);
    let gone = builder.node(id);
    assert_eq!((&gone.state, &gone.last), (&None, &first.last));
    assert_eq!((gone.version, gone.seq, &gone.path), (first.version, 2, &path("/a")));
    assert_eq!(store.path_of(id), Ok(None));
    assert_eq!(store.child(FileId::ROOT, &name("a")), Ok(None));

    let back = builder.appear(id, &path("/a"), gone.last);
    assert_eq!(builder.append(vec![back.clone()], &[]), Ok(3));
    let node = builder.node(id);
    assert_eq!((&node.state, node.version), (&back.after, back.version));
    assert_eq!(node.created_at, first.created_at);
    let history = store.file_changes(id, None, 9).unwrap();
    assert_eq!(history.len(), 3);
    assert_eq!((&history[0].1.before, &history[1].1.after), (&None, &None));
    assert_eq!(history[1].1.before, first.state);
    assert_eq!(store.former_child(FileId::ROOT, &name("a")), Ok(None));
    assert_eq!(store.removed(0, 9), Ok(vec![]));
}

fn removed(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let first = builder.file("/a", b"1");
    builder.delete(first);
    let second = builder.file("/a", b"2");
    let others = [builder.file("/b", b"1"), builder.file("/c", b"1")];
    builder.delete(second);
    builder.append(others.map(|id| builder.remove(&builder.node(id))).to_vec(), &[]).unwrap();
    let ids = |skip, limit| -> Vec<FileId> {
        store.removed(skip, limit).unwrap().iter().map(|node| node.id).collect()
    };
    assert_eq!(ids(0, 9), [others[1], others[0], second, first]);
    assert_eq!(ids(1, 2), [others[0], second]);
    assert_eq!(ids(4, 9), Vec::<FileId>::new());
    let former = |text: &str| store.former_child(FileId::ROOT, &name(text)).unwrap();
    assert_eq!(former("a").map(|node| node.id), Some(second));
    assert_eq!(former("b").map(|node| node.id), Some(others[0]));
    assert_eq!(former("x"), None);
}

fn counted(store: &dyn Store, world: &FakeWorld) {
    assert_eq!(store.counts(), Ok(StoredCounts::default()));
    let builder = StepBuilder::new(store, world);
    builder.append(vec![builder.create_folder(FileId::ROOT, &path("/d"))], &[]).unwrap();
    let (gone, kept) = (builder.file("/a", b"1"), builder.file("/b", b"1"));
    builder.write(kept, b"2");
    builder.delete(gone);
    let counts = StoredCounts { files: 1, steps: 5, versions: 3, removed: 1 };
    assert_eq!(store.counts(), Ok(counts));
}

fn moved_folder(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let folder = builder.create_folder(FileId::ROOT, &path("/d"));
    let inside = builder.create(folder.file, &path("/d/a"), b"a");
    builder.append(vec![folder.clone(), inside.clone()], &[b"a"]).unwrap();
    let away = builder.rename(&builder.node(folder.file), FileId::ROOT, &path("/e"));
    builder.append(vec![away], &[]).unwrap();
    assert_eq!(store.lookup(&path("/e/a")).unwrap().unwrap().id, inside.file);
    assert_eq!(store.lookup(&path("/d/a")), Ok(None));
    assert_eq!(store.path_of(inside.file), Ok(Some(path("/e/a"))));
    assert_eq!(builder.node(inside.file).path, path("/d/a"));
    builder.delete(folder.file);
    assert_eq!(store.path_of(inside.file), Ok(None));
}

fn looped_folder(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let folder = builder.create_folder(FileId::ROOT, &path("/d"));
    let id = folder.file;
    builder.append(vec![folder], &[]).unwrap();
    builder.append(vec![builder.rename(&builder.node(id), id, &path("/d/d"))], &[]).unwrap();
    assert!(matches!(store.path_of(id), Err(StoreError::Corrupt(_))));
}

fn paged_steps(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let a = builder.file("/a", b"0");
    let b = builder.file("/b", b"0");
    for n in 1..=4u8 {
        builder.write(if n % 2 == 0 { a } else { b }, &[n]);
    }
    let seqs = |file, before, limit| -> Vec<u64> {
        store.steps(file, before, limit).unwrap().iter().map(|row| row.seq).collect()
    };
    assert_eq!(seqs(None, None, 3), [6, 5, 4]);
    assert_eq!(seqs(None, Some(4), 2), [3, 2]);
    assert_eq!(seqs(None, Some(1), 2), Vec::<u64>::new());
    assert_eq!(seqs(None, Some(u64::MAX), usize::MAX), [6, 5, 4, 3, 2, 1]);
    assert_eq!(seqs(Some(a), None, 9), [6, 4, 1]);
    assert_eq!(seqs(Some(a), Some(6), 1), [4]);
    assert_eq!(seqs(Some(b), None, 0), Vec::<u64>::new());
    assert_eq!(seqs(Some(FileId::new(world)), None, 9), Vec::<u64>::new());
}

fn paged_changes(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let id = builder.file("/a", b"0");
    for n in 1..=9u8 {
        builder.write(id, &[n]);
    }
    let whole = store.file_changes(id, None, usize::MAX).unwrap();
    assert_eq!(
        whole.iter().map(|(row, _)| row.seq).collect::<Vec<_>>(),
        [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    );
    for (row, change) in &whole {
        assert_eq!(store.changes(row.seq), Ok(vec![change.clone()]));
    }
    let mut paged = Vec::new();
    let mut before = None;
    while let Ok([page @ .., last]) = store.file_changes(id, before, 4).as_deref() {
        paged.extend(page.iter().chain([last]).cloned());
        before = Some(last.0.seq);
    }
    assert_eq!(paged, whole);
}

fn twice_in_a_step(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let id = builder.file("/a", b"a");
    let away = builder.rename(&builder.node(id), FileId::ROOT, &path("/b"));
    let back = NewChange {
        before: away.after.clone(),
        after: away.before.clone(),
        from: away.to.clone(),
        to: away.from.clone(),
        ..away.clone()
    };
    builder.append(vec![away.clone(), back.clone()], &[]).unwrap();
    let history = store.file_changes(id, None, 9).unwrap();
    assert_eq!(
        history.iter().map(|(_, change)| change).take(2).collect::<Vec<_>>(),
        [&back, &away]
    );
    assert_eq!(store.steps(Some(id), None, 9).unwrap().len(), 2);
    assert_eq!(store.lookup(&path("/a")).unwrap().unwrap().id, id);
}

fn versions(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let id = builder.file("/a", b"1");
    let first = builder.node(id);
    builder.write(id, b"2");
    let second = builder.node(id);
    builder.append(vec![builder.rename(&second, FileId::ROOT, &path("/b"))], &[]).unwrap();
    assert_eq!(builder.node(id).version, second.version, "a move makes no version");
    for node in [first, second] {
        let row = VersionRow { file: id, seq: node.seq, state: node.last };
        assert_eq!(store.version(node.version.unwrap()), Ok(Some(row)));
    }
}

fn undoing(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    builder.file("/a", b"1");
    let first = store.steps(None, None, 1).unwrap()[0].id;
    for undoes in [first, StepId::new(world)] {
        let mut step = builder.step("undo", vec![]);
        step.undoes = Some(undoes);
        step.author = Author::Person;
        let steps = [step];
        store.append(store.head().unwrap(), Batch { steps: &steps, contents: &[] }).unwrap();
        let row = store.step(steps[0].id).unwrap().unwrap();
        assert_eq!((row.undoes, row.author), (Some(undoes), Author::Person));
    }
}

/// Bytes that do not compress, or do.
fn bytes(world: &FakeWorld, size: usize, noise: bool) -> Vec<u8> {
    if noise {
        return (0..size.div_ceil(16))
            .flat_map(|_| world.random().to_le_bytes())
            .take(size)
            .collect();
    }
    (0..).flat_map(|n: u64| format!("line {n} of {}\n", n * n).into_bytes()).take(size).collect()
}

fn contents(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let sizes = [0, 1, 95, 1024, 1025, 10_000, 300_000, 1 << 20, (1 << 20) + 1, 5_000_000];
    for size in sizes {
        for noise in [false, true] {
            let bytes = bytes(world, size, noise);
            builder.append(vec![], &[&bytes]).unwrap();
            let hash = ContentHash::of(&bytes);
            assert!(store.content(&hash).unwrap() == Some(bytes), "{size} bytes");
            let located = ContentLocation { size: size as u64, kept: None };
            assert_eq!(store.locate(&hash), Ok(Some(located)));
        }
    }
}

fn long_chain(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    for size in [200, 10_000, 400_000] {
        let mut versions = vec![bytes(world, size, false)];
        builder.append(vec![], &[&versions[0]]).unwrap();
        for n in 1..40u32 {
            let before = versions.last().unwrap();
            let mut after = before.clone();
            let at = world.below(size);
            after.splice(at..at, format!("edit {n}\n").into_bytes());
            let contents = [builder.prepared_after(&after, before)];
            store.append(store.head().unwrap(), Batch { steps: &[], contents: &contents }).unwrap();
            versions.push(after);
        }
        for version in versions {
            let stored = store.content(&ContentHash::of(&version)).unwrap();
            assert!(stored == Some(version), "a version of {size} bytes");
        }
    }
    let stranger = builder.prepared_after(b"against what is not stored", &[7; 9000]);
    store.append(store.head().unwrap(), Batch { steps: &[], contents: &[stranger] }).unwrap();
    let hash = ContentHash::of(b"against what is not stored");
    assert_eq!(store.content(&hash), Ok(Some(b"against what is not stored".to_vec())));
}

fn repeated_content(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    builder.append(vec![], &[b"same", b"same"]).unwrap();
    builder.append(vec![], &[b"same"]).unwrap();
    assert_eq!(store.contents(None, 9), Ok(vec![ContentHash::of(b"same")]));
}

fn listed_contents(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let all: Vec<Vec<u8>> = (0..20u8).map(|n| vec![n]).collect();
    builder.append(vec![], &all.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    let mut hashes: Vec<_> = all.iter().map(|bytes| ContentHash::of(bytes)).collect();
    hashes.sort();
    let mut listed: Vec<ContentHash> = Vec::new();
    loop {
        let page = store.contents(listed.last(), 7).unwrap();
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    assert_eq!(listed, hashes);
}

fn purging(builder: &StepBuilder<'_>) -> AuditEntry {
    AuditEntry { actor: "person:local".into(), ..builder.step("purge", vec![]).audit }
}

fn purged(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let id = builder.file("/a", b"one");
    builder.write(id, b"second");
    builder.delete(id);
    let (before, history) = (builder.node(id), store.file_changes(id, None, 9).unwrap());
    let entry = purging(&builder);
    let gone = store.purge(&[id], &entry).unwrap();
    assert_eq!((gone.contents.len(), gone.bytes), (2, 9));
    for bytes in [&b"one"[..], b"second"] {
        let hash = ContentHash::of(bytes);
        assert!(gone.contents.contains(&hash));
        assert_eq!(store.content(&hash), Ok(None));
        assert_eq!(store.locate(&hash), Ok(None));
        assert_eq!(store.is_purged(&hash), Ok(true));
    }
    assert_eq!(store.contents(None, 9), Ok(vec![]));
    assert_eq!(store.removed(0, 9), Ok(vec![]));
    assert_eq!(store.node(id), Ok(Some(Node { purged: true, ..before })));
    assert_eq!(store.file_changes(id, None, 9), Ok(history));
    assert_eq!(store.head(), Ok(3));
    let last = store.audit(3, 9).unwrap().remove(0);
    assert_eq!((last.number, last.entry, last.step), (4, entry.clone(), None));
    audited(store);
    let back = builder.appear(id, &path("/a"), builder.node(id).last);
    assert_misfit(builder.append(vec![back.clone()], &[]));
    assert_eq!(store.purge(&[id], &entry).map(|gone| gone.contents), Ok(vec![]));
    assert_eq!(builder.append(vec![back], &[b"second"]), Ok(4));
    assert!(!builder.node(id).purged);
}

fn unfit_purge(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let (living, removed) = (builder.file("/a", b"a"), builder.file("/b", b"b"));
    builder.delete(removed);
    for files in [vec![living], vec![removed, living], vec![FileId::new(world)]] {
        assert_misfit(store.purge(&files, &purging(&builder)));
    }
    assert_eq!(store.content(&ContentHash::of(b"b")), Ok(Some(b"b".to_vec())));
    assert_eq!(store.removed(0, 9).unwrap().len(), 1);
    assert_eq!(store.audit(0, 9).unwrap().len(), 3);
}

fn purged_base(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let text = |n: usize| -> Vec<u8> {
        (0..300).flat_map(|at| format!("line {at} of {}\n", n * (at / 290)).into_bytes()).collect()
    };
    let (old, heir) = (builder.file("/old", &text(0)), builder.file("/heir", b"-"));
    for n in 1..40 {
        // The odd ones are the heir's, each made from the other file's content before it.
        let id = if n % 2 == 1 { heir } else { old };
        let contents = [builder.prepared_after(&text(n), &text(n - 1))];
        let steps = [builder.step("write", vec![builder.edit(&builder.node(id), &text(n))])];
        let head = store.head().unwrap();
        store.append(head, Batch { steps: &steps, contents: &contents }).unwrap();
    }
    builder.delete(old);
    assert_eq!(store.purge(&[old], &purging(&builder)).unwrap().contents.len(), 20);
    for n in 0..40 {
        let bytes = store.content(&ContentHash::of(&text(n))).unwrap();
        assert_eq!(bytes, (n % 2 == 1).then(|| text(n)), "{n}");
    }
    let contents = [builder.prepared_after(&text(40), &text(39))];
    let steps = [builder.step("write", vec![builder.edit(&builder.node(heir), &text(40))])];
    store.append(store.head().unwrap(), Batch { steps: &steps, contents: &contents }).unwrap();
    assert_eq!(store.content(&ContentHash::of(&text(40))), Ok(Some(text(40))));
    audited(store);
}

fn shared_content(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let (a, b) = (builder.file("/a", b"shared"), builder.file("/b", b"shared"));
    builder.delete(a);
    assert_eq!(store.purge(&[a], &purging(&builder)).unwrap().contents, []);
    assert_eq!(store.content(&ContentHash::of(b"shared")), Ok(Some(b"shared".to_vec())));
    assert_eq!(store.removed(0, 9), Ok(vec![]));
    builder.delete(b);
    let gone = store.purge(&[b], &purging(&builder)).unwrap();
    assert_eq!(gone.contents, [ContentHash::of(b"shared")]);
}

fn brought_again(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let id = builder.file("/a", b"again");
    builder.delete(id);
    store.purge(&[id], &purging(&builder)).unwrap();
    builder.file("/a", b"again");
    let hash = ContentHash::of(b"again");
    assert_eq!(store.content(&hash), Ok(Some(b"again".to_vec())));
    assert_eq!((store.is_purged(&hash), store.contents(None, 9)), (Ok(false), Ok(vec![hash])));
    assert!(builder.node(id).purged);
}

/// Recomputes the whole audit chain from the steps as they read now.
fn audited(store: &dyn Store) {
    let mut previous = [0; 32];
    for row in store.audit(0, usize::MAX).unwrap() {
        let step = row.step.map(|step| {
            let seq = store.step(step.id).unwrap().unwrap().seq;
            AuditedStep { changes: step_digest(&store.changes(seq).unwrap()), ..step }
        });
        let hash = chain(&previous, row.number, &row.entry, step.as_ref());
        assert_eq!(row.hash, hash, "row {}", row.number);
        previous = row.hash;
    }
}

fn signatures(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let id = builder.file("/a", b"1");
    let signature = Signature { size: 1, mtime: -5, ctime: i64::MAX, inode: u64::MAX };
    let saw = |file, content: &[u8]| {
        let content = ContentHash::of(content);
        store.remember(&[SeenContent { file, content, signature }]).unwrap();
        store.node(id).unwrap().unwrap().signature
    };
    assert_eq!(saw(id, b"other"), None);
    assert_eq!(saw(FileId::new(world), b"1"), None);
    assert_eq!(saw(id, b"1"), Some(signature));
    builder
        .append(vec![builder.rename(&builder.node(id), FileId::ROOT, &path("/b"))], &[])
        .unwrap();
    assert_eq!(builder.node(id).signature, Some(signature), "a move changes no content");
    builder.write(id, b"2");
    assert_eq!(builder.node(id).signature, None);
    builder.write(id, b"1");
    assert_eq!(builder.node(id).signature, None);
    assert_eq!(saw(id, b"1"), Some(signature));
    builder.delete(id);
    assert_eq!(builder.node(id).signature, None);
    assert_eq!(saw(id, b"1"), None);
}

fn audit_chain(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let note = |action: &str| {
        let (actor, detail) = ("person:local".to_owned(), "no".to_owned());
        store.append_audit(&AuditEntry { at: world.now(), actor, action: action.into(), detail })
    };
    note("denied").unwrap();
    note("denied").unwrap();
    let id = builder.file("/a", b"1");
    builder.write(id, b"2");
    note("asked").unwrap();
    let mut step = builder.step("remove", vec![builder.remove(&builder.node(id))]);
    step.audit.at = world.now();
    step.audit.action = "delete".into();
    store.append(2, Batch { steps: std::slice::from_ref(&step), contents: &[] }).unwrap();
    note("denied").unwrap();

    let rows = store.audit(0, 99).unwrap();
    let words: Vec<&str> = rows.iter().map(|row| row.entry.action.as_str()).collect();
    assert_eq!(words, ["denied", "denied", "write", "write", "asked", "delete", "denied"]);
    let mut previous = [0; 32];
    for (row, number) in rows.iter().zip(1..) {
        assert_eq!(row.number, number);
        assert_eq!(row.hash, row.expected_hash(&previous), "row {number}");
        if let Some(step) = &row.step {
            let seq = store.step(step.id).unwrap().unwrap().seq;
            assert_eq!(step.changes, step_digest(&store.changes(seq).unwrap()), "row {number}");
        }
        previous = row.hash;
    }
    assert_eq!(rows[5].entry, step.audit);
    assert_eq!(rows.iter().filter(|row| row.step.is_some()).count(), 3);
    for after in 0..9 {
        for limit in [0, 1, 3, usize::MAX] {
            let page: Vec<_> = rows.iter().skip(after).take(limit).cloned().collect();
            assert_eq!(store.audit(after as u64, limit), Ok(page), "{limit} after {after}");
        }
    }
    assert_eq!(store.audit(u64::MAX, 9), Ok(vec![]));
}

fn odd_names(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    for bytes in [&b"caf\xe9"[..], b"a\nb", b"\xff\xfe", b" ", b"A", b"a"] {
        let at = WsPath::root().join(&Name::new(bytes).unwrap()).unwrap();
        let change = builder.create(FileId::ROOT, &at, b"x");
        let id = change.file;
        builder.append(vec![change], &[b"x"]).unwrap();
        assert_eq!(store.lookup(&at).unwrap().map(|node| node.id), Some(id));
        assert_eq!(store.path_of(id), Ok(Some(at)));
    }
    assert_eq!(store.children(FileId::ROOT).unwrap().len(), 6);
}

fn racing(store: &dyn Store, world: &FakeWorld) {
    const THREADS: usize = 8;
    const EACH: u64 = 5;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || win(store, world, thread, EACH));
        }
    });
    let total = THREADS as u64 * EACH;
    assert_eq!(store.head(), Ok(total));
    assert_eq!(store.children(FileId::ROOT).unwrap().len() as u64, total);
    let seqs: Vec<u64> = store.steps(None, None, 99).unwrap().iter().map(|row| row.seq).collect();
    assert_eq!(seqs, (1..=total).rev().collect::<Vec<_>>());
    assert_eq!(store.audit(0, 99).unwrap().len() as u64, total);
}

/// Appends `each` steps, each when it is first on the head that it saw.
fn win(store: &dyn Store, world: &FakeWorld, thread: usize, each: u64) {
    let builder = StepBuilder::new(store, world);
    for n in 0..each {
        let at = path(&format!("/{thread}-{n}"));
        let steps = [builder.step("mkdir", vec![builder.create_folder(FileId::ROOT, &at)])];
        loop {
            let expected = store.head().unwrap();
            match store.append(expected, Batch { steps: &steps, contents: &[] }) {
                Ok(head) => break assert_eq!(head, expected + 1),
                Err(StoreError::Moved { head }) => assert!(head > expected),
                Err(other) => panic!("{other}"),
            }
        }
    }
}

fn assert_misfit<T: std::fmt::Debug>(done: Result<T, StoreError>) {
    assert!(matches!(done, Err(StoreError::Misfit(_))), "{done:?}");
}
