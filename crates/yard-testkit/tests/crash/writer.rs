//! The process that is killed: it does random things and tells of each before and after.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use yard_core::op::{FetchVersion, Mkdir, Restore, Touch, Undo};
use yard_core::{ContentHash, Limits, VersionId};
use yard_store::{SqliteStore, Store};
use yard_testkit::failing_store::FailingStore;
use yard_testkit::{ChildWorkspace, at, insert, mv, rm, staged, tree, write};
use yard_testkit::{FakeWorld, OpenOptions};

use crate::machine::Booted;
use crate::model::{Model, below, line, whole};

/// Larger files are versions themselves, and move into the data folder when they are removed. Nothing that
/// the writer makes is that large.
pub(crate) const LARGE: u64 = 1 << 20;

/// Tells a child process that no flush of its disk counts.
pub(crate) const UNFLUSHED: &str = "YARD_CRASH_UNFLUSHED";

/// How a child process opens the workspace: where it shall lose what it does, no flush of its disk counts,
/// however slow the machine is.
pub(crate) fn plan() -> OpenOptions {
    match std::env::var_os(UNFLUSHED) {
        None => OpenOptions::default(),
        Some(_) => OpenOptions {
            store: Box::new(|store| Arc::new(FailingStore::never_flushed(store))),
            ..OpenOptions::default()
        },
    }
}

/// In a child process: changes without end, each told before it is tried and after it happened.
#[test]
fn child() {
    let Some(order) = std::env::var_os("YARD_CRASH_CHILD") else { return };
    let order = order.into_string().unwrap();
    let parts: Vec<&str> = order.split('|').collect();
    let [root, state, seed, count] = parts[..] else { panic!("{order}") };
    let (root, state, seed) = (Path::new(root), Path::new(state), seed.parse().unwrap());
    let boot = std::env::var("YARD_CRASH_BOOT").ok().map(|boot| boot.parse().unwrap());
    let mut writer = match boot {
        None => Writer::open(root, state, seed, OpenOptions::default()),
        Some(boot) => {
            let limits = Limits { load_bytes: LARGE, ..Limits::default() };
            let plan = OpenOptions { limits, world: Arc::new(Booted(boot)), ..plan() };
            let mut writer = Writer::open(root, state, seed, plan);
            writer.store = Some(SqliteStore::open(state).unwrap());
            writer.inspect(state);
            writer
        }
    };
    writer.say("ready");
    for _ in 0..count.parse::<u64>().unwrap() {
        writer.step();
    }
    std::process::exit(0);
}

struct Writer {
    opened: ChildWorkspace,
    dice: FakeWorld,
    model: Model,
    root: PathBuf,
    count: u64,
    seed: u64,
    report: std::fs::File,
    /// Where the power is cut: a look at the history beside the open workspace.
    store: Option<SqliteStore>,
}

impl Writer {
    fn open(root: &Path, state: &Path, seed: u64, plan: OpenOptions) -> Self {
        let opened = ChildWorkspace::open(root, state, plan).unwrap();
        let model = Model::of(&tree(root));
        let report = std::fs::OpenOptions::new().write(true).open("/proc/self/fd/1");
        Self {
            opened,
            dice: FakeWorld::new(seed),
            model,
            root: root.to_owned(),
            count: 0,
            seed,
            report: report.unwrap(),
            store: None,
        }
    }

    /// Tells what recovery has left, and what is wrong with it.
    fn inspect(&mut self, state: &Path) {
        for left in staged(state) {
            self.say(&format!("wrong {left} was left in the stage"));
        }
        let verified = self.opened.perform(yard_core::op::Verify).unwrap();
        for problem in &verified.problems {
            self.say(&format!("wrong verify: {problem}"));
        }
        for path in &verified.unsynced {
            self.say(&format!("unsynced {path}"));
        }
        let acknowledged = std::env::var_os("YARD_CRASH_ACKNOWLEDGED").unwrap();
        for step in std::fs::read_to_string(acknowledged).unwrap_or_default().lines() {
            let found = self.store.as_ref().unwrap().step(step.parse().unwrap()).unwrap();
            if found.is_none() {
                self.say(&format!("wrong the acknowledged step {step} is not in the history"));
            }
        }
        let model = self.model.clone();
        for folder in &model.folders {
            self.say(&format!("folder {folder}"));
        }
        for (path, hash) in &model.files {
            self.say(&format!("file {path} {hash}"));
        }
        for _ in 0..8 {
            let Some(path) = self.pick(model.files.keys()) else { break };
            for (version, hash) in self.versions(&path) {
                self.check_version(&path, version, hash);
            }
        }
    }

    /// The versions of a file that the history has, newest first.
    fn versions(&self, path: &str) -> Vec<(VersionId, ContentHash)> {
        let steps = self.opened.history(Some(path), 8);
        steps.iter().filter_map(|step| Some((step.version?, step.hash?))).collect()
    }

    /// A version's bytes are those that it is named by.
    fn check_version(&mut self, path: &str, version: VersionId, hash: ContentHash) {
        let mut bytes = Vec::new();
        loop {
            let offset = bytes.len() as u64;
            let part = FetchVersion { version, of: None, offset, length: u64::MAX };
            match self.opened.perform(part) {
                Ok(part) if part.bytes.is_empty() => break,
                Ok(part) => bytes.extend(part.bytes),
                Err(fault) => {
                    self.say(&format!("wrong version {version} of {path}: {fault}"));
                    return;
                }
            }
        }
        if ContentHash::of(&bytes) != hash {
            self.say(&format!(
                "wrong version {version} of {path} is not {hash}: {} bytes",
                bytes.len()
            ));
        }
    }

    /// One line in one call of the system.
    fn say(&mut self, words: &str) {
        self.report.write_all(format!("\n@{words}\n").as_bytes()).unwrap();
    }

    fn pick<'a>(&self, from: impl Iterator<Item = &'a String>) -> Option<String> {
        let all: Vec<&String> = from.collect();
        all.get(self.dice.below(all.len().max(1))).map(|path| (*path).clone())
    }

    fn step(&mut self) {
        self.count += 1;
        if self.store.is_some() && self.dice.below(12) == 0 {
            return self.restore();
        }
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
    fn try_it<T>(
        &mut self,
        change: &str,
        work: impl FnOnce(&ChildWorkspace) -> yard_core::Result<T>,
    ) -> T {
        self.say(&format!("try {change}"));
        let done = work(&self.opened);
        // Somebody else may be at work; then a change may fail, and nothing is acknowledged.
        match done {
            Ok(done) => {
                self.acknowledge(change);
                self.model.apply(change);
                done
            }
            Err(fault) => {
                self.say(&format!("fail {fault} ({change})"));
                std::process::exit(3);
            }
        }
    }

    /// Tells that a change happened; where the power is cut, also which step it is.
    fn acknowledge(&mut self, change: &str) {
        self.say(&format!("ack {change}"));
        if let Some(store) = &self.store {
            let newest = store.steps(None, None, 1).unwrap();
            let words = newest.first().map(|row| format!("step {} {}", row.seq, row.id));
            self.say(&words.unwrap());
        }
    }

    /// Whether it is one of the person's files that are too large to be edited.
    fn is_large(&self, path: &str) -> bool {
        self.root.join(&path[1..]).metadata().unwrap().len() > LARGE
    }

    fn restore(&mut self) {
        let Some(path) = self.pick(self.model.files.keys()) else { return };
        let versions = self.versions(&path);
        let Some((version, hash)) = versions.get(self.dice.below(versions.len().max(1))).copied()
        else {
            return;
        };
        // A person may have put a file where one was removed, and that one's versions are shown.
        let living = self.store.as_ref().unwrap().lookup(&at(&path)).unwrap();
        let is_same = self.model.files[&path] == hash.to_string();
        if living.is_none() || is_same || self.is_large(&path) {
            return;
        }
        self.try_it(&format!("write {path} {hash}"), |opened| {
            opened.perform(Restore::Version(version))
        });
        let found = ContentHash::of(&std::fs::read(self.root.join(&path[1..])).unwrap());
        if found != hash {
            self.say(&format!("wrong {path} is {found} after its version {hash} was restored"));
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
        self.try_it(&format!("write {path} {hash}"), |opened| {
            opened.perform(write(&path, text, None))
        });
    }

    fn edit(&mut self) {
        let Some(path) = self.pick(self.model.files.keys()) else { return };
        if self.is_large(&path) {
            return;
        }
        let old = std::fs::read_to_string(self.root.join(&path[1..])).unwrap();
        if old.contains('\0') {
            // A person moved it away after a cut had taken its bytes.
            return;
        }
        let added = line(&format!("{} {} edited", self.seed, self.count));
        let hash = ContentHash::of(format!("{added}{old}").as_bytes());
        let change = format!("edit {path} {hash}");
        self.try_it(&change, |opened| opened.perform(insert(&path, 0, &added)));
    }

    fn move_file(&mut self) {
        let Some(from) = self.pick(self.model.files.keys()) else { return };
        let folder = self.pick(self.model.folders.iter()).unwrap_or_default();
        let to = format!("{folder}/f{}", self.dice.below(6));
        if self.model.files.contains_key(&to) || self.model.folders.contains(&to) {
            return;
        }
        self.try_it(&format!("mv {from} {to}"), |opened| opened.perform(mv(&from, &to)));
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
        self.try_it(&format!("mv {from} {to}"), |opened| opened.perform(mv(&from, &to)));
        if self.dice.below(2) == 0 {
            self.undo(&format!("mv {to} {from}"));
        }
    }

    fn remove_file(&mut self) {
        let Some(path) = self.pick(self.model.files.keys()) else { return };
        self.try_it(&format!("rm {path}"), |opened| opened.perform(rm(&path)));
        if self.dice.below(2) == 0 {
            self.undo(&format!("unrm {path}"));
        }
    }

    fn remove_folder(&mut self) {
        let Some(path) = self.pick(self.model.folders.iter()) else { return };
        self.try_it(&format!("rm {path}"), |opened| opened.perform(rm(&path)));
        if self.dice.below(4) != 0 {
            self.undo(&format!("unrm {path}"));
        }
    }

    fn undo(&mut self, change: &str) {
        let step = self.opened.history(None, 1)[0].id;
        self.try_it(change, |opened| opened.perform(Undo::of(step)));
    }

    fn small(&mut self) {
        if self.dice.below(2) == 0 {
            let Some(path) = self.pick(self.model.files.keys()) else { return };
            let op = Touch { path: at(&path) };
            self.try_it(&format!("touch {path}"), |opened| opened.perform(op));
        } else {
            let folder = self.pick(self.model.folders.iter()).unwrap_or_default();
            let path = format!("{folder}/d{}", self.dice.below(4));
            if self.model.files.contains_key(&path) || path.matches('/').count() > 4 {
                return;
            }
            let op = Mkdir { path: at(&path) };
            self.try_it(&format!("mkdir {path}"), |opened| opened.perform(op));
        }
    }
}
