//! Undo against its slow twin: random histories of globally unique lines, in which undoing step k
//! equals replaying everything but k, or is refused where a later step is in its way. `YARD_SOAK=1`
//! runs 1,000 histories; `YARD_SEED=n` runs that one and tells its story.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test prepares a disk and fails loudly"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

use yard_core::op::{
    Edit, EditAction, Import, Mkdir, Move, OnExisting, Remove, Restore, Touch, Trash, Undo, Write,
};
use yard_core::{Author, FaultCode, FileKind, Result, StepId, WsPath};
use yard_store::{SqliteStore, Store};
use yard_testkit::replay::{Past, Tree, differences, on_disk};
use yard_testkit::{FakeWorld, Yard};

const PLAIN: u64 = 100;
const SOAK: u64 = 1_000;

fn wanted(plain: u64, soak: u64) -> u64 {
    if std::env::var_os("YARD_SOAK").is_some() { soak } else { plain }
}

fn path(text: &str) -> WsPath {
    WsPath::parse(text).unwrap()
}

/// How undos ended, over all histories.
#[derive(Default)]
struct Tally {
    certain: AtomicU64,
    refused: AtomicU64,
    lucky: AtomicU64,
}

/// One history: a yard, the dice that choose what happens in it, and what happened.
struct History {
    yard: Yard,
    store: SqliteStore,
    dice: FakeWorld,
    seed: u64,
    lines: u64,
    story: Vec<String>,
}

impl Drop for History {
    fn drop(&mut self) {
        if std::thread::panicking() || std::env::var_os("YARD_SEED").is_some() {
            eprintln!("seed {}:\n  {}", self.seed, self.story.join("\n  "));
        }
    }
}

impl History {
    fn new(seed: u64) -> Self {
        let yard = Yard::new();
        let store = SqliteStore::open(yard.folders().state()).unwrap();
        Self { yard, store, dice: FakeWorld::new(seed), seed, lines: 0, story: Vec::new() }
    }

    fn below(&self, bound: usize) -> usize {
        self.dice.below(bound)
    }

    fn pick<'a, T>(&self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }

    fn line(&mut self) -> String {
        self.lines += 1;
        format!("line {}\n", self.lines)
    }

    fn text(&mut self, least: usize) -> String {
        let mut text: String = (0..least + self.below(6)).map(|_| self.line()).collect();
        if self.below(6) == 0 {
            text.pop();
        }
        text
    }

    fn content(&mut self) -> Vec<u8> {
        let mut bytes = self.text(1).into_bytes();
        if self.below(8) == 0 {
            bytes.push(0);
        }
        bytes
    }

    fn tree(&self) -> Tree {
        on_disk(self.yard.root())
    }

    fn paths(&self, kind: FileKind) -> Vec<String> {
        self.tree().into_iter().filter(|(_, thing)| thing.kind == kind).map(|(at, _)| at).collect()
    }

    fn file(&self) -> Option<String> {
        self.pick(&self.paths(FileKind::File)).cloned()
    }

    fn folder(&self) -> String {
        let mut folders = self.paths(FileKind::Folder);
        folders.push(String::new());
        self.pick(&folders).unwrap().clone()
    }

    fn name(&self) -> &'static str {
        ["a", "b", "c", "d", "e"][self.below(5)]
    }

    /// A path that may or may not be taken.
    fn somewhere(&self) -> String {
        let deeper = if self.below(6) == 0 { format!("/{}", self.name()) } else { String::new() };
        format!("{}{deeper}/{}", self.folder(), self.name())
    }

    fn say(&mut self, what: String) {
        self.story.push(what);
    }

    /// What an operation answered goes into the story; only faults that a caller can cause are fine.
    fn did<T>(&mut self, what: String, result: Result<T>) -> Option<T> {
        match result {
            Ok(answer) => {
                let head = self.store.head().unwrap();
                self.say(format!("{what} (now {head})"));
                Some(answer)
            }
            Err(fault) => {
                self.say(format!("{what}: {fault}"));
                let unheard = matches!(
                    fault.code(),
                    FaultCode::Io
                        | FaultCode::Timeout
                        | FaultCode::DiskFull
                        | FaultCode::WriteRefused
                        | FaultCode::ReadRefused
                        | FaultCode::Unavailable
                );
                assert!(!unheard, "{what}: {fault}");
                None
            }
        }
    }

    fn happen(&mut self) {
        match self.below(22) {
            0..=3 => self.create(),
            4 => self.overwrite(),
            5..=8 => self.edit(),
            9 | 10 => self.insert(),
            11..=13 => self.relocate(),
            14 => self.remove(),
            15 => self.make(),
            16 | 17 => self.meddle(),
            18 => self.meddle_with_tree(),
            19 => self.restore(),
            20 => self.undo_something(),
            _ => self.import(),
        }
    }

    fn write(&mut self, at: &str, content: Vec<u8>) {
        let what = format!("write {at} {:?}", String::from_utf8_lossy(&content));
        let write = Write {
            path: path(at),
            content,
            json: false,
            file_type: None,
            on_existing: OnExisting::Replace,
            expected: None,
        };
        let result = self.yard.perform(write);
        self.did(what, result);
    }

    fn create(&mut self) {
        let (at, content) = (self.somewhere(), self.content());
        self.write(&at, content);
    }

    /// A new content that keeps some of the old lines.
    fn varied(&mut self, at: &str) -> Vec<u8> {
        let old = self.yard.bytes(at);
        let mut new = Vec::new();
        for line in old.split_inclusive(|byte| *byte == b'\n') {
            match self.below(4) {
                0 => new.extend(self.line().into_bytes()),
                1 if line.ends_with(b"\n") => {
                    new.extend(self.line().into_bytes());
                    new.extend_from_slice(line);
                }
                _ => new.extend_from_slice(line),
            }
        }
        new
    }

    fn overwrite(&mut self) {
        let Some(at) = self.file() else { return };
        let content = if self.below(3) == 0 { self.content() } else { self.varied(&at) };
        self.write(&at, content);
    }

    fn edit(&mut self) {
        let Some(at) = self.file() else { return };
        let Ok(text) = String::from_utf8(self.yard.bytes(&at)) else { return };
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let first = self.below(lines.len());
        let last = (first + 1 + self.below(2)).min(lines.len());
        let old = lines.get(first..last).unwrap_or_default().concat();
        let new: String = (0..self.below(3)).map(|_| self.line()).collect();
        let what = format!("edit {at} {old:?} to {new:?}");
        let action = EditAction::Replace { old, new };
        let result = self.yard.perform(Edit { path: path(&at), action, expected: None });
        self.did(what, result);
    }

    fn insert(&mut self) {
        let Some(at) = self.file() else { return };
        let total = self.yard.bytes(&at).split_inclusive(|byte| *byte == b'\n').count();
        let (line, text) = (self.below(total + 1) as u64, self.line());
        let what = format!("insert into {at} before {line} {text:?}");
        let action = EditAction::Insert { line, text };
        let result = self.yard.perform(Edit { path: path(&at), action, expected: None });
        self.did(what, result);
    }

    fn anything(&self) -> Option<String> {
        let tree: Vec<String> = self.tree().into_keys().collect();
        self.pick(&tree).cloned()
    }

    fn relocate(&mut self) {
        let Some(from) = self.anything() else { return };
        let to = format!("{}/{}", self.folder(), self.name());
        let what = format!("move {from} to {to}");
        let order = Move { from: path(&from), to: path(&to), into_folder: false };
        let result = self.yard.perform(order);
        self.did(what, result);
    }

    fn remove(&mut self) {
        let Some(at) = self.anything() else { return };
        let recursive = self.below(3) > 0;
        let what = format!("remove {at} recursive {recursive}");
        let result = self.yard.perform(Remove { path: path(&at), recursive });
        self.did(what, result);
    }

    fn make(&mut self) {
        let at = self.somewhere();
        if self.below(2) == 0 {
            let result = self.yard.perform(Mkdir { path: path(&at) });
            self.did(format!("mkdir {at}"), result);
        } else {
            let result = self.yard.perform(Touch { path: path(&at) });
            self.did(format!("touch {at}"), result);
        }
    }

    fn real(&self, at: &str) -> std::path::PathBuf {
        self.yard.root().join(at.trim_start_matches('/'))
    }

    /// Changes one file behind the kernel's back.
    fn meddle(&mut self) {
        let Some(at) = self.file() else { return };
        let real = self.real(&at);
        match self.below(5) {
            0 => {
                let bytes = self.content();
                fs::write(real, bytes).unwrap();
                self.say(format!("(external) write {at}"));
            }
            1 => {
                let bytes = self.varied(&at);
                fs::write(real, bytes).unwrap();
                self.say(format!("(external) vary {at}"));
            }
            2 => {
                let bytes = [self.yard.bytes(&at), self.line().into_bytes()].concat();
                fs::write(real, bytes).unwrap();
                self.say(format!("(external) append {at}"));
            }
            3 => {
                let mode = [0o644, 0o600, 0o755, 0o640][self.below(4)];
                fs::set_permissions(real, fs::Permissions::from_mode(mode)).unwrap();
                self.say(format!("(external) chmod {mode:o} {at}"));
            }
            _ => {
                fs::remove_file(real).unwrap();
                self.say(format!("(external) rm {at}"));
            }
        }
    }

    /// Changes what is where behind the kernel's back.
    fn meddle_with_tree(&mut self) {
        match self.below(4) {
            0 => {
                let at = format!("{}/{}", self.folder(), self.name());
                if !self.yard.has(&at) {
                    let bytes = self.content();
                    fs::write(self.real(&at), bytes).unwrap();
                    self.say(format!("(external) create {at}"));
                }
            }
            1 => {
                let Some(at) = self.pick(&self.paths(FileKind::Folder)).cloned() else { return };
                let mode = [0o755, 0o700, 0o750][self.below(3)];
                fs::set_permissions(self.real(&at), fs::Permissions::from_mode(mode)).unwrap();
                self.say(format!("(external) chmod {mode:o} {at}"));
            }
            2 => {
                let Some(at) = self.pick(&self.paths(FileKind::Folder)).cloned() else { return };
                fs::remove_dir_all(self.real(&at)).unwrap();
                self.say(format!("(external) rm -r {at}"));
                if self.below(2) == 0 {
                    let bytes = self.content();
                    fs::write(self.real(&at), bytes).unwrap();
                    self.say(format!("(external) create {at}"));
                }
            }
            _ => {
                let Some(at) = self.file() else { return };
                fs::remove_file(self.real(&at)).unwrap();
                let inside = format!("{at}/{}", self.name());
                let bytes = self.content();
                self.yard.put(&inside, bytes);
                self.say(format!("(external) rm {at}, create {inside}"));
            }
        }
        if self.below(2) == 0 {
            self.import();
        }
    }

    fn import(&mut self) {
        let result = self.yard.perform(Import { path: WsPath::root(), include_ignored: true });
        let imported = self.did("import".to_owned(), result);
        assert_eq!(imported.unwrap().skipped, [], "everything can be recorded");
    }

    fn restore(&mut self) {
        if self.below(2) == 0 {
            let trash = self.yard.perform(Trash { limit: 20, skip: 0 }).unwrap();
            let Some(entry) = self.pick(&trash.entries).cloned() else { return };
            let result = self.yard.perform(Restore::Removed(entry.file));
            self.did(format!("restore {}", entry.path), result);
        } else {
            let past = Past::read(&self.store);
            let changes = past.steps.iter().flat_map(|step| &step.changes);
            let versions: Vec<_> = changes.filter_map(|change| change.version).collect();
            let Some(version) = self.pick(&versions).copied() else { return };
            let result = self.yard.perform(Restore::Version(version));
            self.did(format!("restore version {version}"), result);
        }
    }

    fn some_step(&self) -> Option<StepId> {
        let steps = self.store.steps(None, None, 1_000).unwrap();
        self.pick(&steps).map(|step| step.id)
    }

    fn undo_something(&mut self) {
        let Some(step) = self.some_step() else { return };
        self.undo(step, &Tally::default());
    }

    /// Undoes a step and judges what came of it; the new step, if there is one.
    fn undo(&mut self, step: StepId, tally: &Tally) -> Option<StepId> {
        let seq = self.store.step(step).unwrap().unwrap().seq;
        let (before, head) = (self.tree(), self.store.head().unwrap());
        let result = self.yard.perform(Undo { step });
        let after = self.tree();
        let fault = result.as_ref().err().cloned();
        let undone = self.did(format!("undo step {seq}"), result).map(|undone| undone.step);
        // What was left unrecorded is a later change too.
        self.import();
        let past = Past::read(&self.store);
        let certain = match past.abutting(step, undone) {
            Some(why) => Err(why),
            None => past.without(&[Some(step), undone].map(|step| step.unwrap_or(StepId::ROOT))),
        };
        let merged = past.merged(step, undone);
        match (fault, &certain, &merged) {
            (Some(fault), certain, _) => {
                assert_eq!(fault.code(), FaultCode::MergeConflict, "{fault}");
                assert_eq!(differences(&before, &after), "", "a refusal changes nothing");
                let own = past.steps.iter().filter(|step| step.row.seq > head);
                assert!(own.clone().all(|step| step.row.verb == "import"), "{:?}", own.last());
                if let Ok(tree) = certain {
                    panic!(
                        "step {seq} can be undone, no later step is in the way: {fault}\n{}",
                        differences(tree, &before)
                    );
                }
                tally.refused.fetch_add(1, Ordering::Relaxed);
            }
            (None, Ok(tree), merged) => {
                assert_eq!(differences(tree, &after), "", "undo of {seq} is no replay without it");
                assert_eq!(merged, &certain, "the twins agree");
                tally.certain.fetch_add(1, Ordering::Relaxed);
            }
            (None, Err(_), Ok(tree)) => {
                assert_eq!(differences(tree, &after), "", "undo of {seq} is no merge");
                tally.lucky.fetch_add(1, Ordering::Relaxed);
            }
            (None, Err(why), Err(doubt)) => {
                panic!("undo of {seq} had to be refused: {why}; {doubt}");
            }
        }
        undone
    }
}

fn run(seed: u64, tally: &Tally) {
    let mut history = History::new(seed);
    for _ in 0..6 + history.below(15) {
        history.happen();
    }
    if history.below(2) == 0 {
        history.import();
    }
    for _ in 0..3 {
        let Some(step) = history.some_step() else { return };
        let before = history.tree();
        let Some(undone) = history.undo(step, tally) else { continue };
        let undone = history.undo(undone, &Tally::default());
        assert!(undone.is_some(), "an undo can be undone at once");
        assert_eq!(differences(&before, &history.tree()), "", "undoing the undo brings it back");
    }
}

#[test]
fn undoing_a_step_is_replaying_the_others() {
    let tally = Tally::default();
    if let Some(seed) = std::env::var_os("YARD_SEED") {
        return run(seed.to_str().unwrap().parse().unwrap(), &tally);
    }
    let histories = wanted(PLAIN, SOAK);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let tally = &tally;
            scope.spawn(move || (0..histories).skip(half).step_by(2).for_each(|at| run(at, tally)));
        }
    });
    let counts = [&tally.certain, &tally.refused, &tally.lucky].map(|n| n.load(Ordering::Relaxed));
    eprintln!("{histories} histories: [undone, refused, undone over cancelled changes] {counts:?}");
    // The dice must not make the test easy.
    assert!(counts[0] > histories && counts[1] > histories / 10, "{counts:?}");
}
