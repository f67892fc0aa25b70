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
    Edit, EditAction, Import, Mkdir, Move, OnExisting, OnFolder, OnMissingFolder, Remove, Restore,
    Touch, Trash, Undo, Verify, Write,
};
use yard_core::{FaultCode, FileKind, Result, StepId, WsPath};
use yard_store::{SqliteStore, Store};
use yard_testkit::replay::{ExpectedTree, StepHistory, differences, read_tree};
use yard_testkit::{FakeWorld, TestWorkspace};

#[path = "undo/back_to.rs"]
mod back_to;
#[path = "undo/by_hand.rs"]
mod by_hand;
#[path = "undo/growth.rs"]
mod growth;
#[path = "undo/preview.rs"]
mod preview;

const PLAIN: u64 = 100;
const SOAK: u64 = 1_000;

/// `YARD_SOAK=20` runs twenty times as many as `YARD_SOAK=1`.
fn wanted(plain: u64, soak: u64) -> u64 {
    let times = std::env::var("YARD_SOAK").ok();
    times.map_or(plain, |times| soak * times.parse::<u64>().unwrap_or(1).max(1))
}

fn path(text: &str) -> WsPath {
    WsPath::parse(text).unwrap()
}

fn in_utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A text, byte order mark included, and whether it is UTF-16.
fn decoded(bytes: &[u8]) -> (String, bool) {
    if !bytes.starts_with(b"\xff\xfe") {
        return (String::from_utf8(bytes.to_vec()).unwrap(), false);
    }
    let units = bytes.chunks_exact(2).skip(1).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    (String::from_utf16(&units.collect::<Vec<_>>()).unwrap(), true)
}

/// How undos ended, over all histories.
#[derive(Default)]
struct Tally {
    certain: AtomicU64,
    refused: AtomicU64,
    lucky: AtomicU64,
}

/// One history: a workspace, the dice that choose what happens in it, and what happened.
struct History {
    workspace: TestWorkspace,
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
        let workspace = TestWorkspace::new();
        let store = SqliteStore::open(workspace.folders().state()).unwrap();
        Self { workspace, store, dice: FakeWorld::new(seed), seed, lines: 0, story: Vec::new() }
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
        let text = self.text(1);
        match self.below(16) {
            0 | 1 => [text.as_bytes(), b"\0"].concat(),
            2 | 3 => in_utf16(&text),
            4 => format!("\u{feff}{text}").into_bytes(),
            _ => text.into_bytes(),
        }
    }

    fn tree(&self) -> ExpectedTree {
        read_tree(self.workspace.root())
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
            on_missing_folder: OnMissingFolder::Make,
            expected: None,
        };
        let result = self.workspace.perform(write);
        self.did(what, result);
    }

    fn create(&mut self) {
        let (at, content) = (self.somewhere(), self.content());
        self.write(&at, content);
    }

    /// A new content that keeps some of the old lines.
    fn varied(&mut self, at: &str) -> Vec<u8> {
        let (old, wide) = decoded(&self.workspace.bytes(at));
        let (mark, old) = old.split_at(if old.starts_with('\u{feff}') { 3 } else { 0 });
        let mut new = mark.to_owned();
        for line in old.split_inclusive('\n') {
            match self.below(4) {
                0 => new.push_str(&self.line()),
                1 if line.ends_with('\n') => {
                    new.push_str(&self.line());
                    new.push_str(line);
                }
                _ => new.push_str(line),
            }
        }
        if wide { in_utf16(&new) } else { new.into_bytes() }
    }

    fn overwrite(&mut self) {
        let Some(at) = self.file() else { return };
        let content = if self.below(3) == 0 { self.content() } else { self.varied(&at) };
        self.write(&at, content);
    }

    fn edit(&mut self) {
        let Some(at) = self.file() else { return };
        let (text, _) = decoded(&self.workspace.bytes(&at));
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let first = self.below(lines.len());
        let last = (first + 1 + self.below(2)).min(lines.len());
        let old = lines.get(first..last).unwrap_or_default().concat();
        let new: String = (0..self.below(3)).map(|_| self.line()).collect();
        let what = format!("edit {at} {old:?} to {new:?}");
        let action = EditAction::Replace { old, new, all: false };
        let result =
            self.workspace.perform(Edit { path: path(&at), actions: vec![action], expected: None });
        self.did(what, result);
    }

    fn insert(&mut self) {
        let Some(at) = self.file() else { return };
        let total = decoded(&self.workspace.bytes(&at)).0.split_inclusive('\n').count();
        let (line, text) = (self.below(total + 1) as u64, self.line());
        let what = format!("insert into {at} before {line} {text:?}");
        let action = EditAction::Insert { line, text };
        let result =
            self.workspace.perform(Edit { path: path(&at), actions: vec![action], expected: None });
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
        let order = Move {
            from: path(&from),
            to: path(&to),
            into_folder: false,
            on_existing: OnExisting::Refuse,
        };
        let result = self.workspace.perform(order);
        self.did(what, result);
    }

    fn remove(&mut self) {
        let Some(at) = self.anything() else { return };
        let recursive = self.below(3) > 0;
        let what = format!("remove {at} recursive {recursive}");
        let on_folder = if recursive { OnFolder::WithContents } else { OnFolder::IfEmpty };
        let result = self.workspace.perform(Remove { path: path(&at), on_folder });
        self.did(what, result);
    }

    fn make(&mut self) {
        let at = self.somewhere();
        if self.below(2) == 0 {
            let result = self.workspace.perform(Mkdir { path: path(&at) });
            self.did(format!("mkdir {at}"), result);
        } else {
            let result = self.workspace.perform(Touch { path: path(&at) });
            self.did(format!("touch {at}"), result);
        }
    }

    fn real(&self, at: &str) -> std::path::PathBuf {
        self.workspace.root().join(at.trim_start_matches('/'))
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
                let (text, wide) = decoded(&self.workspace.bytes(&at));
                let text = text + &self.line();
                let bytes = if wide { in_utf16(&text) } else { text.into_bytes() };
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
                if !self.workspace.has(&at) {
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
                self.workspace.put(&inside, bytes);
                self.say(format!("(external) rm {at}, create {inside}"));
            }
        }
        if self.below(2) == 0 {
            self.import();
        }
    }

    fn import(&mut self) {
        let result = self.workspace.perform(Import { path: WsPath::root(), include_ignored: true });
        let imported = self.did("import".to_owned(), result);
        assert_eq!(imported.unwrap().skipped, [], "everything can be recorded");
    }

    fn restore(&mut self) {
        if self.below(2) == 0 {
            let trash = self.workspace.perform(Trash { limit: 20, skip: 0 }).unwrap();
            let Some(entry) = self.pick(&trash.entries).cloned() else { return };
            let result = self.workspace.perform(Restore::Removed(entry.file));
            self.did(format!("restore {}", entry.path), result);
        } else {
            let past = StepHistory::read(&self.store);
            let changes = past.steps.iter().flat_map(|step| &step.changes);
            let versions: Vec<_> = changes.filter_map(|change| change.version).collect();
            let Some(version) = self.pick(&versions).copied() else { return };
            let result = self.workspace.perform(Restore::Version(version));
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

    /// What the store knows is what is on disk, and nothing of it is damaged.
    fn settle(&mut self) {
        self.import();
        let now = StepHistory::read(&self.store).now().expect("what is recorded is a tree");
        assert_eq!(differences(&now, &self.tree()), "", "what is recorded is what is there");
        let verified = self.workspace.perform(Verify).unwrap();
        assert_eq!((verified.problems, verified.unsynced), (vec![], vec![]));
    }

    /// Undoes a step and judges what came of it; the new step, if there is one.
    fn undo(&mut self, step: StepId, tally: &Tally) -> Option<StepId> {
        let seq = self.store.step(step).unwrap().unwrap().seq;
        let (before, head) = (self.tree(), self.store.head().unwrap());
        let result = self.workspace.perform(Undo::of(step));
        let after = self.tree();
        let fault = result.as_ref().err().cloned();
        let undone = self.did(format!("undo step {seq}"), result).map(|undone| undone.step);
        // What was left unrecorded is a later change too.
        self.import();
        let past = StepHistory::read(&self.store);
        let certain = match past.abutting(step, undone) {
            Some(why) => Err(why),
            None => past.without(step, undone),
        };
        let merged = past.merged(step, undone);
        match (fault, &certain, &merged) {
            (Some(fault), certain, _) => {
                assert_eq!(fault.code(), FaultCode::MergeConflict, "{fault}");
                assert_eq!(differences(&before, &after), "", "a refusal changes nothing");
                let own = past.steps.iter().filter(|step| step.row.seq > head).collect::<Vec<_>>();
                assert!(own.iter().all(|step| step.row.verb == "import"), "{own:?}");
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
    history.settle();
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
    assert!(counts[0] > histories / 2 && counts[1] > histories / 10, "{counts:?}");
}

/// A workspace with the verbs that the told stories need.
struct Told {
    workspace: TestWorkspace,
}

impl Told {
    fn new() -> Self {
        Self { workspace: TestWorkspace::new() }
    }

    fn newest(&self) -> StepId {
        let store = SqliteStore::open(self.workspace.folders().state()).unwrap();
        store.steps(None, None, 1).unwrap()[0].id
    }

    fn write(&self, at: &str, content: &str) -> StepId {
        let write = Write {
            path: path(at),
            content: content.into(),
            json: false,
            file_type: None,
            on_existing: OnExisting::Replace,
            on_missing_folder: OnMissingFolder::Make,
            expected: None,
        };
        self.workspace.perform(write).unwrap();
        self.newest()
    }

    fn edit(&self, at: &str, old: &str, new: &str) -> StepId {
        let action = EditAction::Replace { old: old.to_owned(), new: new.to_owned(), all: false };
        self.workspace
            .perform(Edit { path: path(at), actions: vec![action], expected: None })
            .unwrap();
        self.newest()
    }

    fn relocate(&self, from: &str, to: &str) -> StepId {
        self.workspace
            .perform(Move {
                from: path(from),
                to: path(to),
                into_folder: false,
                on_existing: OnExisting::Refuse,
            })
            .unwrap();
        self.newest()
    }

    fn remove(&self, at: &str) -> StepId {
        self.workspace
            .perform(Remove { path: path(at), on_folder: OnFolder::WithContents })
            .unwrap();
        self.newest()
    }

    fn import(&self) -> StepId {
        let import = Import { path: WsPath::root(), include_ignored: true };
        self.workspace.perform(import).unwrap().step.unwrap()
    }

    fn undo(&self, step: StepId) -> StepId {
        self.workspace.perform(Undo::of(step)).unwrap().step
    }

    /// The fault of an undo that changes and records nothing.
    fn refusal(&self, step: StepId) -> String {
        let (before, head) = (self.tree(), self.newest());
        let fault = self.workspace.perform(Undo::of(step)).unwrap_err();
        assert_eq!(fault.code(), FaultCode::MergeConflict, "{fault}");
        assert_eq!(differences(&before, &self.tree()), "");
        assert_eq!(self.newest(), head, "nothing was recorded");
        fault.message().to_owned()
    }

    fn tree(&self) -> ExpectedTree {
        read_tree(self.workspace.root())
    }

    fn text(&self, at: &str) -> String {
        String::from_utf8(self.workspace.bytes(at)).unwrap()
    }
}

#[test]
fn an_old_edit_is_undone_and_later_ones_stay() {
    let reply = Told::new();
    reply.write("/a", "one\ntwo\nthree\nfour\nfive\n");
    let old = reply.edit("/a", "one\n", "ONE\n");
    reply.edit("/a", "three\n", "THREE\nthree and a half\n");
    reply.edit("/a", "five\n", "");
    let undo = reply.undo(old);
    assert_eq!(reply.text("/a"), "one\ntwo\nTHREE\nthree and a half\nfour\n");
    reply.undo(undo);
    assert_eq!(reply.text("/a"), "ONE\ntwo\nTHREE\nthree and a half\nfour\n");
}

#[test]
fn a_conflict_names_the_later_step_and_changes_nothing() {
    let reply = Told::new();
    reply.write("/a", "one\ntwo\nthree\n");
    let old = reply.edit("/a", "two\n", "TWO\n");
    let later = reply.edit("/a", "TWO\n", "2\n");
    let message = reply.refusal(old);
    assert!(message.contains(&later.to_string()), "{message}");
    assert!(message.contains("/a"), "{message}");
    reply.undo(later);
    reply.undo(old);
    assert_eq!(reply.text("/a"), "one\ntwo\nthree\n");
    // Abutting is touching.
    let old = reply.edit("/a", "two\n", "TWO\n");
    reply.edit("/a", "three\n", "THREE\n");
    reply.refusal(old);
}

#[test]
fn a_moved_folder_goes_back_with_what_was_made_in_it_since() {
    let reply = Told::new();
    reply.write("/a/x", "x\n");
    let moved = reply.relocate("/a", "/b");
    reply.write("/b/new", "new\n");
    reply.edit("/b/x", "x", "y");
    reply.workspace.put("/b/behind", "our back\n");
    let undo = reply.undo(moved);
    let paths: Vec<String> = reply.tree().into_keys().collect();
    assert_eq!(paths, ["/a", "/a/behind", "/a/new", "/a/x"]);
    assert_eq!(reply.text("/a/x"), "y\n");
    reply.undo(undo);
    assert_eq!(reply.text("/b/new"), "new\n");
    assert_eq!(reply.text("/b/behind"), "our back\n");
    assert!(!reply.workspace.has("/a"));
}

#[test]
fn fifty_removed_files_come_back() {
    let reply = Told::new();
    for number in 0..50 {
        reply.write(&format!("/a/{}/{number}", number % 7), &format!("{number}\n"));
    }
    fs::set_permissions(reply.workspace.root().join("a/3"), fs::Permissions::from_mode(0o700))
        .unwrap();
    fs::set_permissions(reply.workspace.root().join("a/3/3"), fs::Permissions::from_mode(0o755))
        .unwrap();
    let before = reply.tree();
    assert_eq!(before.len(), 58);
    let removed = reply.remove("/a");
    assert_eq!(reply.tree(), ExpectedTree::new());
    reply.write("/b", "later\n");
    let undo = reply.undo(removed);
    fs::remove_file(reply.workspace.root().join("b")).unwrap();
    assert_eq!(differences(&before, &reply.tree()), "");
    reply.undo(undo);
    assert_eq!(reply.tree(), ExpectedTree::new());
}

#[test]
fn an_external_change_is_undone_like_any_other() {
    let reply = Told::new();
    reply.write("/a", "one\ntwo\nthree\n");
    reply.workspace.put("/a", "one\ntwo\nthree\nfour\n");
    fs::set_permissions(reply.workspace.root().join("a"), fs::Permissions::from_mode(0o755))
        .unwrap();
    reply.workspace.put("/b/c", "new\n");
    let external = reply.import();
    reply.edit("/a", "one", "1");
    let undo = reply.undo(external);
    assert_eq!(reply.text("/a"), "1\ntwo\nthree\n");
    let tree = reply.tree();
    assert_eq!((tree.len(), tree["/a"].mode & 0o111), (1, 0));
    reply.undo(undo);
    assert_eq!(reply.text("/a"), "1\ntwo\nthree\nfour\n");
    assert_eq!((reply.text("/b/c").as_str(), reply.tree()["/a"].mode), ("new\n", 0o755));
}

#[test]
fn what_was_not_recorded_yet_is_a_later_change() {
    let reply = Told::new();
    reply.write("/a", "one\ntwo\nthree\n");
    let edit = reply.edit("/a", "one\n", "ONE\n");
    reply.workspace.put("/a", "1\ntwo\nthree\n");
    reply.refusal(edit);
    reply.workspace.put("/a", "ONE\ntwo\n3\n");
    reply.undo(edit);
    assert_eq!(reply.text("/a"), "one\ntwo\n3\n");
}

#[test]
fn a_folder_in_a_files_place_is_undone_and_the_reverse() {
    let reply = Told::new();
    reply.write("/a", "a file\n");
    reply.write("/b/c/d", "in folders\n");
    let before = reply.tree();
    fs::remove_file(reply.workspace.root().join("a")).unwrap();
    reply.workspace.put("/a/b/c", "inside\n");
    fs::remove_dir_all(reply.workspace.root().join("b")).unwrap();
    reply.workspace.put("/b", "was a folder\n");
    let after = reply.tree();
    let swapped = reply.import();
    let undo = reply.undo(swapped);
    assert_eq!(differences(&before, &reply.tree()), "");
    let undo = reply.undo(undo);
    assert_eq!(differences(&after, &reply.tree()), "");
    reply.workspace.put("/a/new", "later\n");
    reply.refusal(undo);
    reply.refusal(swapped);
}

#[test]
fn undo_works_after_a_restart() {
    let mut reply = Told::new();
    reply.write("/a", "one\ntwo\nthree\n");
    let edit = reply.edit("/a", "one", "ONE");
    reply.edit("/a", "three", "THREE");
    reply.workspace = reply.workspace.reopen();
    let undo = reply.undo(edit);
    assert_eq!(reply.text("/a"), "one\ntwo\nTHREE\n");
    reply.workspace = reply.workspace.reopen();
    reply.undo(undo);
    assert_eq!(reply.text("/a"), "ONE\ntwo\nTHREE\n");
}

/// What a step changed can be taken back again and again, which changes nothing; what it made can
/// go, and what it removed can come back, only once.
#[test]
fn undoing_twice() {
    let reply = Told::new();
    let made = reply.write("/a", "one\ntwo\n");
    let edit = reply.edit("/a", "one", "ONE");
    for _ in 0..2 {
        reply.undo(edit);
        assert_eq!(reply.text("/a"), "one\ntwo\n");
    }
    let moved = reply.relocate("/a", "/b");
    for _ in 0..2 {
        reply.undo(moved);
        assert!(reply.workspace.has("/a") && !reply.workspace.has("/b"));
    }
    let removed = reply.remove("/a");
    for _ in 0..2 {
        reply.undo(removed);
        assert!(reply.workspace.has("/a"));
    }
    let undo = reply.undo(made);
    assert!(reply.refusal(made).contains("removed since"));
    reply.undo(undo);
    reply.undo(made);
    assert!(!reply.workspace.has("/a"));
}

#[test]
fn a_touch_leaves_nothing_to_undo() {
    let reply = Told::new();
    reply.write("/a", "one\n");
    reply.workspace.perform(Touch { path: path("/a") }).unwrap();
    reply.undo(reply.newest());
    assert_eq!(reply.text("/a"), "one\n");
}

/// What is missing from a folder that an undo removes goes to the trash, and does not live on
/// nowhere.
#[test]
fn a_made_folder_goes_with_what_was_removed_from_it_behind_our_back() {
    let reply = Told::new();
    reply.workspace.perform(Mkdir { path: path("/a") }).unwrap();
    let made = reply.newest();
    reply.write("/a/b/c", "text\n");
    fs::remove_dir_all(reply.workspace.root().join("a/b")).unwrap();
    reply.undo(made);
    assert_eq!(reply.tree(), ExpectedTree::new());
    let trash = reply.workspace.perform(Trash { limit: 9, skip: 0 }).unwrap().entries;
    let gone: Vec<String> = trash.iter().map(|entry| entry.path.to_string()).collect();
    assert!(["/a", "/a/b", "/a/b/c"].iter().all(|at| gone.contains(&(*at).to_owned())), "{gone:?}");
    reply.workspace.perform(Restore::RemovedAt(path("/a/b/c"))).unwrap();
    assert_eq!(reply.text("/a/b/c"), "text\n");
}

/// A byte order mark belongs to no line: the first line is as good as any other.
#[test]
fn the_first_line_after_a_mark_is_a_line_like_any_other() {
    let reply = Told::new();
    for wide in [false, true] {
        let text = |text: &str| match wide {
            true => in_utf16(text),
            false => format!("\u{feff}{text}").into_bytes(),
        };
        reply.workspace.put("/a", text("one\ntwo\nthree\nfour\n"));
        let cut = reply.edit("/a", "one\n", "");
        reply.edit("/a", "three\n", "THREE\n");
        let undo = reply.undo(cut);
        assert_eq!(reply.workspace.bytes("/a"), text("one\ntwo\nTHREE\nfour\n"), "wide {wide}");
        reply.undo(undo);
        assert_eq!(reply.workspace.bytes("/a"), text("two\nTHREE\nfour\n"), "wide {wide}");
    }
}
