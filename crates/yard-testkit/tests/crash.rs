//! A process that writes, edits, moves and removes is killed at random moments. After each kill the yard
//! is opened again, and by then no acknowledged change is lost, no file is torn, and nothing of ours is
//! left over: recovery needs no hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use yard_core::op::{Mkdir, Touch, Undo};
use yard_core::{ContentHash, World};
use yard_store::{SqliteStore, Store};
use yard_testkit::probe::{
    Hand, Seen, Tree, at, copy_tree, insert, mv, replace, rm, scaled, staged, tree, write,
};
use yard_testkit::{FakeWorld, Plan};

/// After so many kills a fresh root is taken: `verify` reads everything each time.
const KILLS_A_ROOT: usize = 20;

// --- contents that say of themselves whether they are whole -----------------------------------------

/// One line with its own checksum.
fn line(words: &str) -> String {
    let sum = ContentHash::of(words.as_bytes()).to_string();
    format!("{words} {}\n", &sum[..16])
}

fn whole(words: &str, lines: usize) -> String {
    let body: String = (0..lines).map(|n| line(&format!("{words} line {n}"))).collect();
    body + "END\n"
}

/// Every line checks, and the end is there.
fn is_whole(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Some(body) = text.strip_suffix("END\n") else { return false };
    body.split_inclusive('\n').all(|one| {
        let words = one.strip_suffix('\n').and_then(|one| one.rsplit_once(' '));
        words.is_some_and(|(words, _)| line(words) == one)
    })
}

// --- what the tree must be, worked out by the writer and by the judge alike --------------------------

#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Model {
    files: BTreeMap<String, String>,
    folders: BTreeSet<String>,
    /// What the last removal took, for its undo.
    taken: Box<Option<Model>>,
}

fn below(path: &str, folder: &str) -> bool {
    path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

impl Model {
    /// What is on disk.
    fn of(tree: &Tree) -> Self {
        let mut model = Self::default();
        for (path, seen) in tree {
            match seen {
                Seen::Folder(_) => drop(model.folders.insert(path.clone())),
                Seen::File(_, bytes) => {
                    model.files.insert(path.clone(), ContentHash::of(bytes).to_string());
                }
                other => panic!("{path} is {other:?}"),
            }
        }
        model
    }

    /// The same without memory of removals.
    fn shown(&self) -> Self {
        Self { taken: Box::default(), ..self.clone() }
    }

    fn apply(&mut self, change: &str) {
        let words: Vec<&str> = change.split(' ').collect();
        match words[..] {
            ["write" | "edit", path, hash, ..] => {
                self.folders(path);
                self.files.insert(path.to_owned(), hash.to_owned());
            }
            ["mkdir", path] => {
                self.folders(path);
                self.folders.insert(path.to_owned());
            }
            ["touch", _] => {}
            ["mv", from, to] => {
                let renamed = |path: &String| match below(path, from) {
                    true => format!("{to}{}", &path[from.len()..]),
                    false => path.clone(),
                };
                self.files =
                    self.files.iter().map(|(path, hash)| (renamed(path), hash.clone())).collect();
                self.folders = self.folders.iter().map(renamed).collect();
            }
            ["rm", path] => {
                *self.taken = Some(self.shown());
                self.files.retain(|file, _| !below(file, path));
                self.folders.retain(|folder| !below(folder, path));
            }
            ["unrm", path] => {
                let Some(before) = self.taken.take() else { panic!("nothing was removed") };
                self.files.extend(before.files.into_iter().filter(|(file, _)| below(file, path)));
                self.folders.extend(before.folders.into_iter().filter(|one| below(one, path)));
            }
            _ => panic!("{change}"),
        }
    }

    fn folders(&mut self, path: &str) {
        let mut at = path;
        while let Some((above, _)) = at.rsplit_once('/') {
            if above.is_empty() {
                break;
            }
            self.folders.insert(above.to_owned());
            at = above;
        }
    }
}

// --- the writer --------------------------------------------------------------------------------------

/// In a child process: changes without end, each told before it is tried and after it happened.
#[test]
fn child() {
    let Some(order) = std::env::var_os("YARD_CRASH_CHILD") else { return };
    let order = order.into_string().unwrap();
    let parts: Vec<&str> = order.split('|').collect();
    let [root, state, seed, count] = parts[..] else { panic!("{order}") };
    let mut writer = Writer::open(Path::new(root), Path::new(state), seed.parse().unwrap());
    for _ in 0..count.parse::<u64>().unwrap() {
        writer.step();
    }
    std::process::exit(0);
}

struct Writer {
    hand: Hand,
    dice: FakeWorld,
    model: Model,
    root: PathBuf,
    count: u64,
    seed: u64,
    told: std::fs::File,
}

impl Writer {
    fn open(root: &Path, state: &Path, seed: u64) -> Self {
        let hand = Hand::open(root, state, Plan::default()).unwrap();
        let model = Model::of(&tree(root));
        let told = std::fs::OpenOptions::new().write(true).open("/proc/self/fd/1");
        let mut writer = Self {
            hand,
            dice: FakeWorld::new(seed),
            model,
            root: root.to_owned(),
            count: 0,
            seed,
            told: told.unwrap(),
        };
        writer.say("ready");
        writer
    }

    /// One line in one call of the system.
    fn say(&mut self, words: &str) {
        self.told.write_all(format!("\n@{words}\n").as_bytes()).unwrap();
    }

    fn pick<'a>(&self, from: impl Iterator<Item = &'a String>) -> Option<String> {
        let all: Vec<&String> = from.collect();
        all.get(self.dice.below(all.len().max(1))).map(|path| (*path).clone())
    }

    fn step(&mut self) {
        self.count += 1;
        match self.dice.below(16) {
            0..=4 => self.write(),
            5..=8 => self.edit(),
            9 => self.move_file(),
            10 | 11 => self.move_folder(),
            12 => self.remove_file(),
            13 | 14 => self.remove_folder(),
            _ => self.small(),
        }
    }

    fn fresh(&self) -> String {
        let folder = self.pick(self.model.folders.iter()).filter(|_| self.dice.below(3) != 0);
        let folder = folder.filter(|folder| folder.matches('/').count() < 4);
        let folder = folder.unwrap_or_default();
        match self.dice.below(4) {
            0 => format!("{folder}/d{}/f{}", self.dice.below(4), self.dice.below(6)),
            _ => format!("{folder}/f{}", self.dice.below(6)),
        }
    }

    /// Tells, tries, tells.
    fn try_it<T>(&mut self, change: &str, work: impl FnOnce(&Hand) -> yard_core::Result<T>) -> T {
        self.say(&format!("try {change}"));
        let done = work(&self.hand);
        // Somebody else may be at work; then a change may fail, and nothing is acknowledged.
        match done {
            Ok(done) => {
                self.say(&format!("ack {change}"));
                self.model.apply(change);
                done
            }
            Err(fault) => {
                self.say(&format!("fail {fault} ({change})"));
                std::process::exit(3);
            }
        }
    }

    fn write(&mut self) {
        let path = self.fresh();
        let blocked = self.model.folders.contains(&path) || { self.model.files.keys() }
            .any(|file| path != *file && below(&path, file));
        if blocked {
            return;
        }
        let lines = [1, 5, 60, 2_000][self.dice.below(4)];
        let text = whole(&format!("{} {} {path}", self.seed, self.count), lines);
        let hash = ContentHash::of(text.as_bytes());
        self.try_it(&format!("write {path} {hash}"), |hand| hand.perform(write(&path, text, None)));
    }

    fn edit(&mut self) {
        let Some(path) = self.pick(self.model.files.keys()) else { return };
        let old = std::fs::read_to_string(self.root.join(&path[1..])).unwrap();
        let added = line(&format!("{} {} edited", self.seed, self.count));
        let hash = ContentHash::of(format!("{added}{old}").as_bytes());
        let change = format!("edit {path} {hash}");
        self.try_it(&change, |hand| hand.perform(insert(&path, 0, &added)));
    }

    fn move_file(&mut self) {
        let Some(from) = self.pick(self.model.files.keys()) else { return };
        let folder = self.pick(self.model.folders.iter()).unwrap_or_default();
        let to = format!("{folder}/f{}", self.dice.below(6));
        if self.model.files.contains_key(&to) || self.model.folders.contains(&to) {
            return;
        }
        self.try_it(&format!("mv {from} {to}"), |hand| hand.perform(mv(&from, &to)));
        if self.dice.below(3) == 0 {
            self.undo(&format!("mv {to} {from}"));
        }
    }

    fn move_folder(&mut self) {
        let Some(from) = self.pick(self.model.folders.iter()) else { return };
        let into = self.pick(self.model.folders.iter()).filter(|_| self.dice.below(2) == 0);
        let into = into.filter(|into| !below(into, &from) && into.matches('/').count() < 3);
        let to = format!("{}/d{}", into.unwrap_or_default(), self.dice.below(4));
        if self.model.files.contains_key(&to) || self.model.folders.contains(&to) {
            return;
        }
        self.try_it(&format!("mv {from} {to}"), |hand| hand.perform(mv(&from, &to)));
        if self.dice.below(2) == 0 {
            self.undo(&format!("mv {to} {from}"));
        }
    }

    fn remove_file(&mut self) {
        let Some(path) = self.pick(self.model.files.keys()) else { return };
        self.try_it(&format!("rm {path}"), |hand| hand.perform(rm(&path)));
        if self.dice.below(2) == 0 {
            self.undo(&format!("unrm {path}"));
        }
    }

    fn remove_folder(&mut self) {
        let Some(path) = self.pick(self.model.folders.iter()) else { return };
        self.try_it(&format!("rm {path}"), |hand| hand.perform(rm(&path)));
        if self.dice.below(4) != 0 {
            self.undo(&format!("unrm {path}"));
        }
    }

    fn undo(&mut self, change: &str) {
        let step = self.hand.history(None, 1)[0].id;
        self.try_it(change, |hand| hand.perform(Undo { step }));
    }

    fn small(&mut self) {
        if self.dice.below(2) == 0 {
            let Some(path) = self.pick(self.model.files.keys()) else { return };
            let op = Touch { path: at(&path) };
            self.try_it(&format!("touch {path}"), |hand| hand.perform(op));
        } else {
            let folder = self.pick(self.model.folders.iter()).unwrap_or_default();
            let path = format!("{folder}/d{}", self.dice.below(4));
            if self.model.files.contains_key(&path) || path.matches('/').count() > 4 {
                return;
            }
            let op = Mkdir { path: at(&path) };
            self.try_it(&format!("mkdir {path}"), |hand| hand.perform(op));
        }
    }
}

// --- the judge ---------------------------------------------------------------------------------------

struct Place {
    _home: TempDir,
    root: PathBuf,
    state: PathBuf,
}

impl Place {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (root, state) = (home.path().join("root"), home.path().join("data"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&state).unwrap();
        Self { _home: home, root, state }
    }

    fn order(&self, seed: u64, count: u64) -> String {
        format!("{}|{}|{seed}|{count}", self.root.display(), self.state.display())
    }

    fn spawn(&self, seed: u64) -> (Child, BufReader<ChildStdout>) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env("YARD_CRASH_CHILD", self.order(seed, u64::MAX))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stdout.take().unwrap());
        (child, told)
    }

    fn open(&self) -> Hand {
        let opened = Hand::open(&self.root, &self.state, Plan::default());
        opened.unwrap_or_else(|fault| panic!("the yard does not open again: {fault}"))
    }
}

/// Reads a line that the writer told.
fn hear(told: &mut BufReader<ChildStdout>) -> Option<String> {
    loop {
        let mut line = String::new();
        if told.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        if let Some(words) = line.trim_end().strip_prefix('@') {
            return Some(words.to_owned());
        }
    }
}

/// Lets a writer work, kills it, and says what it told.
fn kill_one(place: &Place, seed: u64, dice: &FakeWorld) -> Vec<String> {
    let (mut child, mut told) = place.spawn(seed);
    let first = hear(&mut told);
    assert_eq!(first.as_deref(), Some("ready"), "the writer does not start");
    // Microseconds count: kills must hit between any two calls of the system.
    std::thread::sleep(Duration::from_micros(dice.below(30_000) as u64));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    // The last line may be cut.
    let lines = rest.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    lines.filter_map(|line| line.trim_end().strip_prefix('@')).map(str::to_owned).collect()
}

fn check_whole(found: &Tree, context: &str) {
    for (path, seen) in found {
        if let Seen::File(_, bytes) = seen {
            assert!(is_whole(bytes), "{context}: {path} is torn: {seen:?}");
        }
    }
}

fn check_clean(place: &Place, context: &str) {
    assert_eq!(staged(&place.state), Vec::<String>::new(), "{context}: left in the stage");
    let inside = tree(&place.root);
    let ours = inside.keys().find(|path| path.contains("toolyard"));
    assert_eq!(ours, None, "{context}: left in the root");
}

/// Acknowledged contents are versions in the store.
fn check_stored(place: &Place, told: &[String], context: &str) {
    let store = SqliteStore::open(&place.state).unwrap();
    for words in told.iter().filter_map(|words| words.strip_prefix("ack ")) {
        if let ["write" | "edit", path, hash] = words.split(' ').collect::<Vec<_>>()[..] {
            let kept = store.content(&hash.parse().unwrap()).unwrap();
            assert!(kept.is_some(), "{context}: the acknowledged {words} is not in the store");
            assert!(is_whole(&kept.unwrap()), "{context}: {path} is torn in the store");
        }
    }
}

#[test]
fn killed_at_random_moments_nothing_acknowledged_is_lost() {
    let kills = scaled(1_000);
    let dice = FakeWorld::new(2);
    let (mut place, mut model) = (Place::new(), Model::default());
    let (mut acknowledged, mut finished, mut dropped) = (0, 0, 0);
    for kill in 0..kills {
        if kill % KILLS_A_ROOT == 0 {
            (place, model) = (Place::new(), Model::default());
        }
        let told = kill_one(&place, kill as u64, &dice);
        let mut trying = None;
        for words in &told {
            match words.split_once(' ') {
                Some(("try", change)) => trying = Some(change.to_owned()),
                Some(("ack", change)) => {
                    acknowledged += 1;
                    model.apply(change);
                    trying = None;
                }
                _ => panic!("kill {kill}: {words}"),
            }
        }
        let context = format!("kill {kill}, last {:?}", &told[told.len().saturating_sub(3)..]);
        let hand = place.open();
        let found = tree(&place.root);
        check_whole(&found, &context);
        let is = Model::of(&found);
        if is == model.shown() {
            dropped += usize::from(trying.is_some());
        } else {
            let Some(change) = trying else {
                panic!("{context}: lost\nmust be {model:#?}\nis {is:#?}");
            };
            model.apply(&change);
            assert_eq!(is, model.shown(), "{context}: half done");
            finished += 1;
        }
        assert_eq!(hand.verified(), Vec::<String>::new(), "{context}: store and disk differ");
        check_clean(&place, &context);
        drop(hand);
        check_stored(&place, &told, &context);
    }
    eprintln!(
        "{kills} kills, {acknowledged} acknowledged changes, of those under way {finished} finished and {dropped} dropped"
    );
    assert!(acknowledged > kills, "the writer hardly wrote");
}

/// Somebody who saves files behind our back, and remembers which saves must be found again.
struct Editor<'a> {
    place: &'a Place,
    saves: BTreeSet<ContentHash>,
    count: u64,
}

impl Editor<'_> {
    fn files(&self) -> Vec<PathBuf> {
        let found = Command::new("find").arg(&self.place.root).args(["-type", "f"]).output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        found.lines().map(PathBuf::from).collect()
    }

    fn save(&mut self, dice: &FakeWorld, in_place: bool) {
        let files = self.files();
        let Some(path) = files.get(dice.below(files.len().max(1))) else { return };
        self.count += 1;
        let text = whole(&format!("external {} {}", self.count, dice.below(1 << 30)), 3);
        // What the editor itself saved there before is its own to overwrite. A file that is gone may
        // come back before it is written over (a folder that turned out not to be empty): leave it.
        let Ok(bytes) = std::fs::read(path) else { return };
        self.saves.remove(&ContentHash::of(&bytes));
        let side = self.place.root.parent().unwrap().join("editor");
        let saved = if in_place {
            std::fs::write(path, &text).is_ok()
        } else {
            std::fs::write(&side, &text).unwrap();
            // It may be gone by now: then nothing is saved.
            path.symlink_metadata().is_ok() && std::fs::rename(&side, path).is_ok()
        };
        if saved {
            self.saves.insert(ContentHash::of(text.as_bytes()));
        }
    }

    /// Every save is on disk or in the store.
    fn check(&self, context: &str) {
        let found = tree(&self.place.root);
        let on_disk: BTreeSet<ContentHash> = { found.values() }
            .filter_map(|seen| match seen {
                Seen::File(_, bytes) => Some(ContentHash::of(bytes)),
                _ => None,
            })
            .collect();
        let store = SqliteStore::open(&self.place.state).unwrap();
        let lost: Vec<&ContentHash> = { self.saves.iter() }
            .filter(|hash| !on_disk.contains(hash) && store.content(hash).unwrap().is_none())
            .collect();
        assert!(lost.is_empty(), "{context}: saves are lost: {lost:?}");
    }
}

#[test]
fn killed_among_other_writers_no_save_is_lost() {
    let kills = scaled(300);
    let dice = FakeWorld::new(3);
    let mut saves = 0;
    for first in (0..kills).step_by(KILLS_A_ROOT) {
        let place = Place::new();
        let mut editor = Editor { place: &place, saves: BTreeSet::new(), count: 0 };
        for kill in first..kills.min(first + KILLS_A_ROOT) {
            let (mut child, mut told) = place.spawn(10_000 + kill as u64);
            assert_eq!(hear(&mut told).as_deref(), Some("ready"));
            for _ in 0..dice.below(10) {
                std::thread::sleep(Duration::from_micros(dice.below(3_000) as u64));
                editor.save(&dice, false);
            }
            child.kill().unwrap();
            child.wait().unwrap();
            let mut rest = String::new();
            told.read_to_string(&mut rest).unwrap();
            let told: Vec<String> = { rest.split_inclusive('\n') }
                .filter(|line| line.ends_with('\n'))
                .filter_map(|line| line.trim_end().strip_prefix('@'))
                .map(str::to_owned)
                .collect();
            // While nobody else is at work, a save in place.
            editor.save(&dice, true);
            let context = format!("kill {kill}, last {:?}", &told[told.len().saturating_sub(3)..]);
            let hand = place.open();
            hand.verified();
            check_whole(&tree(&place.root), &context);
            check_clean(&place, &context);
            drop(hand);
            editor.check(&context);
            // An edit on top of somebody's save has another hash than the writer worked out.
            let writes: Vec<String> =
                told.iter().filter(|words| words.starts_with("ack write")).cloned().collect();
            check_stored(&place, &writes, &context);
        }
        saves += editor.count;
    }
    eprintln!("{kills} kills among {saves} saves");
}

// --- another boot --------------------------------------------------------------------------------------

/// A yard whose machine can be started anew.
struct Machine {
    place: Place,
    world: Arc<FakeWorld>,
}

impl Machine {
    fn new() -> Self {
        Self { place: Place::new(), world: Arc::new(FakeWorld::new(7)) }
    }

    fn open(&self) -> Hand {
        let world = Arc::clone(&self.world);
        let plan = Plan { world, ..Plan::default() };
        let opened = Hand::open(&self.place.root, &self.place.state, plan);
        opened.unwrap_or_else(|fault| panic!("the yard does not open after a reboot: {fault}"))
    }

    /// Starts the machine again; the tree that recovery leaves.
    fn reboot(&self) -> (Hand, Tree) {
        self.world.set_boot_id(self.world.boot_id() + 1);
        let hand = self.open();
        let found = tree(&self.place.root);
        (hand, found)
    }
}

fn must<T>(result: yard_core::Result<T>) -> T {
    result.unwrap_or_else(|fault| panic!("{fault}"))
}

/// Runs a history, starts the machine again with the disk as it was, and expects it untouched.
fn reboot_changes_nothing(name: &str, before: impl Fn(&Path), history: impl Fn(&Hand)) {
    let machine = Machine::new();
    before(&machine.place.root);
    let hand = machine.open();
    history(&hand);
    drop(hand);
    let before = tree(&machine.place.root);
    let (hand, after) = machine.reboot();
    assert_eq!(after, before, "{name}: recovery after a reboot changed the disk");
    assert_eq!(hand.verified(), Vec::<String>::new(), "{name}");
    check_clean(&machine.place, name);
}

#[test]
fn reboot_with_nothing_lost_changes_nothing() {
    let put =
        |hand: &Hand, path: &str, text: &str| drop(must(hand.perform(write(path, text, None))));
    reboot_changes_nothing(
        "moved twice, and a new file at the first place",
        |_| {},
        |hand| {
            put(hand, "/a", "old\n");
            must(hand.perform(mv("/a", "/b")));
            must(hand.perform(mv("/b", "/c")));
            put(hand, "/a", "new\n");
        },
    );
    reboot_changes_nothing(
        "moved, removed, and a new file at the first place",
        |_| {},
        |hand| {
            put(hand, "/a", "old\n");
            must(hand.perform(mv("/a", "/b")));
            must(hand.perform(rm("/b")));
            put(hand, "/a", "new\n");
        },
    );
    reboot_changes_nothing(
        "an empty folder moved",
        |_| {},
        |hand| {
            must(hand.perform(Mkdir { path: at("/d") }));
            must(hand.perform(mv("/d", "/e")));
        },
    );
    reboot_changes_nothing(
        "a folder moved with what is in it",
        |_| {},
        |hand| {
            put(hand, "/d/x", "x\n");
            must(hand.perform(mv("/d", "/e")));
        },
    );
    reboot_changes_nothing(
        "a folder of somebody else's, written into and moved",
        |root| {
            std::fs::create_dir(root.join("d")).unwrap();
        },
        |hand| {
            put(hand, "/d/x", "x\n");
            must(hand.perform(mv("/d", "/e")));
        },
    );
    reboot_changes_nothing(
        "removed and made again",
        |_| {},
        |hand| {
            put(hand, "/d/x", "x\n");
            must(hand.perform(rm("/d")));
            put(hand, "/d/x", "x\n");
            must(hand.perform(rm("/d/x")));
            put(hand, "/d/x", "y\n");
        },
    );
    reboot_changes_nothing(
        "a folder moved in and out, its files too",
        |_| {},
        |hand| {
            put(hand, "/p/d/x", "x\n");
            must(hand.perform(mv("/p", "/q")));
            must(hand.perform(mv("/q/d", "/q/e")));
            must(hand.perform(mv("/q", "/s")));
            put(hand, "/p/d/x", "another\n");
            must(hand.perform(mv("/s/e/x", "/q")));
            must(hand.perform(replace("/q", "x", "z")));
        },
    );
    reboot_changes_nothing(
        "a file where a folder was",
        |_| {},
        |hand| {
            put(hand, "/d/x", "x\n");
            must(hand.perform(rm("/d")));
            put(hand, "/d", "a file\n");
            must(hand.perform(rm("/d")));
            put(hand, "/d/x/y", "deep\n");
        },
    );
    reboot_changes_nothing(
        "two files that changed places",
        |_| {},
        |hand| {
            put(hand, "/a", "a\n");
            put(hand, "/b", "b\n");
            must(hand.perform(mv("/a", "/t")));
            must(hand.perform(mv("/b", "/a")));
            must(hand.perform(mv("/t", "/b")));
        },
    );
}

/// A random history, and then a reboot with the disk as it was.
#[test]
fn reboot_after_random_histories_changes_nothing() {
    for seed in 0..scaled(200) as u64 {
        let place = Place::new();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env("YARD_CRASH_CHILD", place.order(20_000 + seed, 60))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "seed {seed}: {status}");
        let before = tree(&place.root);
        // The writer's boot was 1.
        let world = Arc::new(FakeWorld::new(seed));
        world.set_boot_id(2);
        let plan = Plan { world, ..Plan::default() };
        let hand = Hand::open(&place.root, &place.state, plan)
            .unwrap_or_else(|fault| panic!("seed {seed}: does not open: {fault}"));
        let after = tree(&place.root);
        assert_eq!(Model::of(&after), Model::of(&before), "seed {seed}: the disk changed");
        assert_eq!(hand.verified(), Vec::<String>::new(), "seed {seed}");
    }
}

/// The whole history in words, for whoever has to understand a failure.
fn story(place: &Place) -> String {
    let store = SqliteStore::open(&place.state).unwrap();
    let mut lines = Vec::new();
    for step in store.steps(None, None, usize::MAX).unwrap().iter().rev() {
        for change in store.changes(step.seq).unwrap() {
            let show = |path: Option<&yard_core::WsPath>| path.map(ToString::to_string);
            let (from, to) = (show(change.from.as_ref()), show(change.to.as_ref()));
            let content = change.after.and_then(|state| state.content);
            let content = content.map_or_else(String::new, |hash| hash.to_string()[..8].to_owned());
            let id = &change.file.to_string()[24..];
            lines.push(format!("{} {} {id} {from:?} -> {to:?} {content}", step.seq, step.verb));
        }
    }
    lines.join("\n")
}

/// A random history of which the disk kept only the beginning.
#[test]
fn reboot_with_an_earlier_disk_projects_the_rest() {
    let work = |place: &Place, seed: u64, count: usize| {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env("YARD_CRASH_CHILD", place.order(seed, count as u64))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "seed {seed}: {status}");
    };
    let mut left_over = 0;
    for seed in 0..scaled(300) as u64 {
        let dice = FakeWorld::new(seed);
        let place = Place::new();
        work(&place, 30_000 + seed, 10 + dice.below(30));
        let earlier = Place::new();
        copy_tree(&place.root, &earlier.root);
        work(&place, 40_000 + seed, 1 + dice.below(30));
        let must_be = Model::of(&tree(&place.root));
        std::fs::remove_dir_all(&place.root).unwrap();
        std::fs::create_dir(&place.root).unwrap();
        copy_tree(&earlier.root, &place.root);
        let world = Arc::new(FakeWorld::new(seed));
        world.set_boot_id(2);
        let plan = Plan { world, ..Plan::default() };
        let hand = Hand::open(&place.root, &place.state, plan)
            .unwrap_or_else(|fault| panic!("seed {seed}: does not open: {fault}"));
        let is = Model::of(&tree(&place.root));
        assert_eq!(hand.verified(), Vec::<String>::new(), "seed {seed}");
        for (path, hash) in &must_be.files {
            assert_eq!(is.files.get(path), Some(hash), "seed {seed}: {path}\n{}", story(&place));
        }
        let missing: Vec<&String> = must_be.folders.difference(&is.folders).collect();
        assert!(missing.is_empty(), "seed {seed}: {missing:?} is missing\n{}", story(&place));
        // What later steps removed may be back on such a disk, where it is in nobody's way.
        left_over += is.files.keys().filter(|path| !must_be.files.contains_key(*path)).count();
    }
    eprintln!("{} reboots with an earlier disk, {left_over} removed files came back", scaled(300));
}

#[test]
fn reboot_projects_again_what_the_page_cache_lost() {
    let machine = Machine::new();
    let root = machine.place.root.clone();
    let hand = machine.open();
    let put = |path: &str, text: &str| drop(must(hand.perform(write(path, text, None))));
    put("/truncated", "whole\n");
    put("/zeroed", "whole too\n");
    put("/missing/deep/file", "was never linked\n");
    put("/reverted", "first\n");
    put("/reverted", "second\n");
    put("/d/in", "in\n");
    must(hand.perform(mv("/d", "/e")));
    put("/moved-from", "moved\n");
    must(hand.perform(mv("/moved-from", "/moved-to")));
    put("/back", "must be gone\n");
    must(hand.perform(rm("/back")));
    put("/edited", "1\n2\n");
    must(hand.perform(replace("/edited", "2", "two")));
    drop(hand);
    let must_be = tree(&root);
    std::fs::write(root.join("truncated"), "").unwrap();
    std::fs::write(root.join("zeroed"), [0; 10]).unwrap();
    std::fs::remove_dir_all(root.join("missing")).unwrap();
    std::fs::write(root.join("reverted"), "first\n").unwrap();
    std::fs::rename(root.join("e"), root.join("d")).unwrap();
    std::fs::rename(root.join("moved-to"), root.join("moved-from")).unwrap();
    std::fs::write(root.join("back"), "must be gone\n").unwrap();
    std::fs::write(root.join("edited"), "1\n").unwrap();
    let (hand, after) = machine.reboot();
    assert_eq!(after, must_be);
    assert_eq!(hand.verified(), Vec::<String>::new());
    check_clean(&machine.place, "lost page cache");
}

/// What somebody saved before the power went is not projected over without being kept.
#[test]
fn reboot_keeps_what_somebody_saved() {
    let machine = Machine::new();
    let hand = machine.open();
    must(hand.perform(write("/a", "ours\n", None)));
    drop(hand);
    std::fs::write(machine.place.root.join("a"), "theirs\n").unwrap();
    let (hand, after) = machine.reboot();
    let on_disk = matches!(&after["/a"], Seen::File(_, bytes) if bytes == b"theirs\n");
    let theirs = ContentHash::of(b"theirs\n");
    let kept = hand.history(Some("/a"), 10).iter().any(|step| step.hash == Some(theirs));
    assert!(on_disk || kept, "the save is gone: {after:?}");
    hand.verified();
}

/// A save that was left in the stage by a process that died, when its file was removed and another one
/// has its name by now.
#[test]
fn a_rescued_save_of_a_file_that_is_gone_does_not_lock_us_out() {
    let machine = Machine::new();
    let hand = machine.open();
    let file = must(hand.perform(write("/a", "old\n", None))).file;
    must(hand.perform(rm("/a")));
    must(hand.perform(write("/a", "new\n", None)));
    let inner = must(hand.perform(write("/d/b", "old\n", None))).file;
    must(hand.perform(rm("/d")));
    drop(hand);
    let stage = machine.place.state.join("stage");
    std::fs::write(stage.join(format!("{:032x}-0.{file}.swap", 1)), "somebody's\n").unwrap();
    std::fs::write(stage.join(format!("{:032x}-1.{inner}.swap", 1)), "somebody else's\n").unwrap();
    let hand = machine.open();
    assert_eq!(hand.verified(), Vec::<String>::new());
    check_clean(&machine.place, "rescued");
    drop(hand);
    let store = SqliteStore::open(&machine.place.state).unwrap();
    for bytes in [&b"somebody's\n"[..], b"somebody else's\n"] {
        assert!(store.content(&ContentHash::of(bytes)).unwrap().is_some(), "the save is lost");
    }
    let tree = tree(&machine.place.root);
    assert!(matches!(&tree["/a"], Seen::File(_, bytes) if bytes == b"new\n"), "{tree:?}");
    assert_eq!(tree.len(), 1, "{tree:?}");
}

// --- the trace -----------------------------------------------------------------------------------------

/// Every acknowledgement follows the flush of what it acknowledges.
#[test]
fn every_acknowledgement_follows_its_flush() {
    if Command::new("strace").arg("-V").output().is_err() {
        let _ = Command::new("apt-get").args(["install", "-y", "strace"]).output();
    }
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("SKIPPED: strace is missing and cannot be installed; NOTHING WAS CHECKED");
        return;
    }
    let place = Place::new();
    let out = place.root.parent().unwrap().join("trace");
    let calls = "trace=fsync,fdatasync,sync_file_range,syncfs,rename,renameat,renameat2,write,pwrite64,pwritev";
    let status = Command::new("strace")
        .args(["-f", "-y", "-s", "200", "-e", calls, "-o"])
        .arg(&out)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env("YARD_CRASH_CHILD", place.order(5, 60))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    let trace = std::fs::read_to_string(out).unwrap();
    let mut check = Trace::default();
    for line in trace.lines() {
        check.line(line);
    }
    eprintln!("{} acknowledgements, {} flushes of the log", check.acks, check.flushes);
    assert!(check.acks >= 40, "{} acknowledgements", check.acks);
}

/// What the log of system calls says so far.
#[derive(Default)]
struct Trace {
    acks: usize,
    flushes: usize,
    /// Writes to the database's log that were not flushed yet.
    unflushed: usize,
    /// Whether the change under way has written to the log, and flushed it.
    written: bool,
    flushed: bool,
}

impl Trace {
    fn line(&mut self, line: &str) {
        let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
        let log = call.contains("journal.db-wal");
        if call.contains("@try ") {
            (self.written, self.flushed) = (false, false);
        } else if log && (call.starts_with("pwrite") || call.starts_with("write")) {
            self.unflushed += 1;
            self.written = true;
        } else if log && (call.starts_with("fdatasync") || call.starts_with("fsync")) {
            assert!(call.contains("= 0"), "a flush failed: {line}");
            self.unflushed = 0;
            self.flushes += 1;
            self.flushed = self.written;
        } else if call.starts_with("rename") && call.contains("/root") {
            assert!(self.flushed && self.unflushed == 0, "on disk before it is durable: {line}");
        } else if call.contains("@ack ") {
            self.acks += 1;
            assert!(self.written && self.flushed, "acknowledged without a flush: {line}");
            assert_eq!(self.unflushed, 0, "acknowledged before its flush: {line}");
        }
    }
}
