//! The process that is killed: it does random things and tells of each before and after.

use std::io::Write;
use std::path::{Path, PathBuf};

use yard_core::ContentHash;
use yard_core::op::{Mkdir, Touch, Undo};
use yard_testkit::probe::{Hand, at, insert, mv, rm, tree, write};
use yard_testkit::{FakeWorld, Plan};

use crate::model::{Model, below, line, whole};

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
