//! Each line has the step that it came from: told by hand, and against a slow twin that compares every version with the
//! one before it, from the first on.

use std::sync::Arc;

use yard_core::op::{BackTo, Blame, BlameOf, Blamed, Import, Locate, Restore, Undo, UndoScope};
use yard_core::{Bounds, FaultCode, FileId, StepId, VersionId, WsPath, diff};
use yard_store::{SqliteStore, Store, StoreError};
use yard_testkit::failing_store::{FailingStore, FailureOutcome, FailureTime};
use yard_testkit::{
    FailingCalls, FailureTrigger, FakeWorld, Folders, OpenOptions, TestWorkspace, at, mv, replace,
    rm, scaled, write,
};

use super::Told;

fn blame(path: &str) -> Blame {
    Blame { of: BlameOf::Path(at(path)), version: None, first_line: 1, limit: 10_000 }
}

/// The step of each line.
fn lines(blamed: &Blamed) -> Vec<StepId> {
    let mut lines = Vec::new();
    for range in &blamed.ranges {
        assert_eq!(range.first_line, lines.len() as u64 + 1, "ranges follow each other");
        lines.resize(range.last_line as usize, range.step);
    }
    assert_eq!(lines.len() as u64, blamed.total_lines);
    lines
}

#[test]
fn a_line_has_the_step_that_it_came_from_across_moves_and_other_programs() {
    let told = Told::new();
    let first = told.write("/src/a", "1\n2\n3\n");
    let edit = told.step(replace("/src/a", "2", "two"));
    told.step(mv("/src", "/lib"));
    told.step(mv("/lib/a", "/b"));
    told.0.put("/b", "1\ntwo\n3\nby hand\n");
    let last = told.step(replace("/b", "1\n", "0\n1\n"));
    let blamed = told.did(blame("/b"));
    let external = blamed.ranges.last().unwrap().step;
    assert_eq!(lines(&blamed), [last, first, edit, first, external]);
    let author = |step: StepId| {
        let mut steps = blamed.steps.iter();
        steps.find(|entry| entry.id == step).unwrap().author.word()
    };
    assert_eq!((author(external), author(edit)), ("external", "agent"));
    assert_eq!(blamed.steps.len(), 4, "each step once");
    assert_eq!((blamed.path.to_string().as_str(), blamed.ranges.len()), ("/b", 5));
    let part = told.did(Blame { first_line: 3, limit: 2, ..blame("/b") });
    assert_eq!((part.ranges.as_slice(), part.next_line), (&blamed.ranges[2..4], Some(5)));
}

#[test]
fn what_is_brought_back_has_its_older_step() {
    let told = Told::new();
    let first = told.write("/a", "1\n2\n3\n");
    let version = told.did(Locate { file: told.did(blame("/a")).file }).version.unwrap();
    let edit = told.step(replace("/a", "2\n", "two\n"));
    let later = told.step(replace("/a", "3\n", "3\n4\n"));
    let undo = told.step(Undo::of(edit));
    assert_eq!(lines(&told.did(blame("/a"))), [first, first, first, later]);
    told.step(Undo::of(undo));
    assert_eq!(lines(&told.did(blame("/a"))), [first, edit, first, later], "a redo, too");
    told.step(Restore::Version(version));
    assert_eq!(lines(&told.did(blame("/a"))), [first; 3]);
    told.step(rm("/a"));
    assert_eq!(lines(&told.did(blame("/a"))), [first; 3], "of a removed file");
    let file = told.did(blame("/a")).file;
    told.step(Restore::Removed(file));
    assert_eq!(lines(&told.did(blame("/a"))), [first; 3]);
    let other = told.step(replace("/a", "1\n", "one\n"));
    told.step(BackTo { step: edit, scope: UndoScope::default() });
    assert_eq!(lines(&told.did(blame("/a"))), [first, edit, first]);
    told.step(Undo::of(told.newest()));
    assert_eq!(lines(&told.did(blame("/a"))), [other, first, first]);
}

#[test]
fn what_has_no_lines_says_so_and_is_passed_over() {
    let told = Told::new();
    let first = told.write("/a", "1\n2\n");
    told.write("/a", b"\0binary");
    let fault = told.0.perform(blame("/a")).unwrap_err();
    assert_eq!(fault.code(), FaultCode::Binary, "{fault}");
    let last = told.write("/a", "1\n2\n3\n");
    assert_eq!(lines(&told.did(blame("/a"))), [first, first, last]);
    told.write("/large", vec![b'x'; 5 << 20]);
    told.write("/long", "\n".repeat(200_001));
    for path in ["/large", "/long"] {
        let fault = told.0.perform(blame(path)).unwrap_err();
        assert_eq!(fault.code(), FaultCode::TooLarge, "{fault}");
    }
    told.write("/empty", "");
    let blamed = told.did(blame("/empty"));
    assert_eq!((blamed.total_lines, blamed.ranges.len(), blamed.next_line), (0, 0, None));
    told.write("/folder/file", "x\n");
    assert_eq!(told.0.perform(blame("/folder")).unwrap_err().code(), FaultCode::IsFolder);
    assert_eq!(told.0.perform(blame("/none")).unwrap_err().code(), FaultCode::NotFound);
    let of_another = told.did(blame("/empty")).version;
    let wrong = Blame { version: Some(of_another), ..blame("/folder/file") };
    assert_eq!(told.0.perform(wrong).unwrap_err().code(), FaultCode::NotFound);
}

/// The work of one more version does not grow with the number of versions.
#[test]
fn one_more_version_is_added_to_what_is_in_memory() {
    let trigger = FailureTrigger::new();
    let armed = Arc::clone(&trigger);
    let wrap = move |store: Arc<SqliteStore>| -> Arc<dyn Store> {
        let outcome = FailureOutcome::Error(StoreError::Full);
        Arc::new(FailingStore::new(store, Arc::clone(&armed), FailureTime::Before, outcome))
    };
    let options = OpenOptions { store: Box::new(wrap), ..OpenOptions::default() };
    let told = Told(TestWorkspace::open(&Folders::new(), options).unwrap());
    let text = |number: usize| format!("1\n2\n{number}\n");
    for number in 0..60 {
        told.write("/a", text(number));
    }
    let few = Blame { limit: 1, ..blame("/a") };
    trigger.arm(40, FailingCalls::Onwards);
    assert!(told.0.perform(few.clone()).is_err(), "each version is read the first time");
    trigger.disarm();
    told.did(few.clone());
    told.write("/a", text(60));
    trigger.arm(40, FailingCalls::Onwards);
    told.did(few);
    assert_eq!(trigger.disarm(), 0);
}

/// One version, as the twin knows it.
struct TwinVersion {
    seq: u64,
    version: Option<VersionId>,
    text: String,
    origins: Vec<StepId>,
}

/// The lines that are the same, by the diff of the project: every line that no hunk adds or removes.
fn same(old: &str, new: &str) -> Vec<(usize, usize)> {
    let sides = [old.as_bytes(), new.as_bytes()];
    let (text, _) = diff::unified(["a", "b"], sides, usize::MAX, Bounds::NONE).unwrap().unwrap();
    let (mut pairs, mut place) = (Vec::new(), (0, 0));
    let mut equal = |place: &mut (usize, usize), until: usize| {
        while place.0 < until {
            pairs.push(*place);
            *place = (place.0 + 1, place.1 + 1);
        }
    };
    for line in text.lines() {
        if let Some(header) = line.strip_prefix("@@ -") {
            let old = header.split(' ').next().unwrap();
            let (start, count) = old.split_once(',').unwrap_or((old, "1"));
            let start: usize = start.parse().unwrap();
            equal(&mut place, if count == "0" { start } else { start - 1 });
        } else if line.starts_with("---") || line.starts_with("+++") || line.starts_with('\\') {
            // No line of these texts begins like that.
        } else if line.starts_with(' ') {
            let next = place.0 + 1;
            equal(&mut place, next);
        } else if line.starts_with('-') {
            place.0 += 1;
        } else {
            place.1 += 1;
        }
    }
    equal(&mut place, old.split_inclusive('\n').count());
    pairs
}

fn twin(store: &SqliteStore, file: FileId) -> Vec<TwinVersion> {
    let mut changes = store.file_changes(file, None, usize::MAX).unwrap();
    changes.reverse();
    let mut versions: Vec<TwinVersion> = Vec::new();
    for (row, change) in changes {
        let Some(hash) = change.after.as_ref().and_then(|state| state.content) else { continue };
        let text = String::from_utf8(store.content(&hash).unwrap().unwrap()).unwrap();
        let mut origins = vec![None; text.split_inclusive('\n').count()];
        let seq_of = |step: StepId| store.step(step).unwrap().unwrap().seq;
        let undone = row.undoes.map(|step| seq_of(step) - 1);
        let end = undone.or(row.back_to.map(seq_of));
        let known = versions.iter().find(|version| version.text == text);
        let older = versions.iter().rev().find(|version| end.is_some_and(|end| version.seq <= end));
        for source in known.into_iter().chain(versions.last()).chain(older) {
            for (old, new) in same(&source.text, &text) {
                origins[new].get_or_insert(source.origins[old]);
            }
        }
        let origins = origins.into_iter().map(|origin| origin.unwrap_or(row.id)).collect();
        versions.push(TwinVersion { seq: row.seq, version: change.version, text, origins });
    }
    versions
}

/// A text close to another one. Lines repeat.
fn changed(dice: &FakeWorld, text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..1 + dice.below(3) {
        let start = dice.below(lines.len() + 1);
        let end = (start + dice.below(3)).min(lines.len());
        let new = (0..dice.below(4)).map(|_| format!("line {}\n", dice.below(9)));
        lines.splice(start..end, new.collect::<Vec<_>>());
    }
    lines.concat()
}

fn play(seed: u64) {
    let told = Told(TestWorkspace::open(&Folders::in_memory(), OpenOptions::default()).unwrap());
    let dice = FakeWorld::new(seed);
    told.write("/0", changed(&dice, "line 1\nline 2\nline 3\n"));
    let file = told.did(blame("/0")).file;
    let store = SqliteStore::open(told.0.folders().state()).unwrap();
    let (mut steps, mut text) = (vec![told.newest()], String::new());
    let mut versions = twin(&store, file);
    for turn in 1..24 {
        let node = store.node(file).unwrap().unwrap();
        let path: WsPath = store.path_of(file).unwrap().unwrap_or(node.path);
        let path = path.to_string();
        if told.0.has(&path) {
            text = String::from_utf8(told.0.bytes(&path)).unwrap();
        }
        let some = steps[dice.below(steps.len())];
        let version = versions[dice.below(versions.len())].version;
        // What is refused, because something is in its way, changes nothing.
        let _ = match dice.below(9) {
            0..3 => told.0.perform(write(&path, changed(&dice, &text), None)).map(drop),
            3 => told.0.perform(mv(&path, &format!("/{turn}"))).map(drop),
            4 | 5 => told.0.perform(Undo::of(some)).map(drop),
            6 => told.0.perform(BackTo { step: some, scope: UndoScope::default() }).map(drop),
            7 => match version {
                Some(version) => told.0.perform(Restore::Version(version)).map(drop),
                None => continue,
            },
            _ => {
                told.0.put(&path, changed(&dice, &text));
                told.0.perform(Import { path: WsPath::root(), include_ignored: true }).map(drop)
            }
        };
        steps.push(told.newest());
        versions = twin(&store, file);
        let of = BlameOf::File(file);
        for expected in [versions.len() - 1, dice.below(versions.len())].map(|at| &versions[at]) {
            let Some(version) = expected.version else { continue };
            let wanted =
                Blame { of: of.clone(), version: Some(version), first_line: 1, limit: 9_999 };
            let found = lines(&told.did(wanted));
            assert_eq!(found, expected.origins, "seed {seed}, turn {turn}\n{}", expected.text);
        }
    }
}

#[test]
fn the_step_of_each_line_is_what_a_slow_comparison_of_all_versions_says() {
    if let Some(seed) = std::env::var_os("YARD_SEED") {
        return play(seed.to_str().unwrap().parse().unwrap());
    }
    (0..scaled(300) as u64).for_each(play);
}
