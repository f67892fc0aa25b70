//! SIGKILL at random moments, alone and among others who save the same files.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use yard_core::ContentHash;
use yard_store::{SqliteStore, Store};
use yard_testkit::{EntrySnapshot, scaled, tree};
use yard_testkit::{FakeWorld, Folders, OpenOptions};

use crate::judge::{
    check_clean, check_stored, check_whole, read_acknowledged, read_line, rest, spawn,
};
use crate::model::{Model, whole};

/// After so many kills a fresh root is taken: `verify` reads everything each time.
const KILLS_A_ROOT: usize = 20;

/// Most changes that a writer must have acknowledged before it is killed.
const MOST_AWAITED: usize = 5;

/// Lets a writer acknowledge a drawn number of changes, kills it a moment later, and returns what it reported.
fn kill_one(place: &Folders, seed: u64, dice: &FakeWorld) -> Vec<String> {
    let (mut child, mut answer) = spawn(place, seed);
    let first = read_line(&mut answer);
    assert_eq!(first.as_deref(), Some("ready"), "the writer does not start");
    let mut reported = read_acknowledged(&mut answer, dice.below(MOST_AWAITED + 1));
    // Microseconds count: kills must hit between any two calls of the system.
    std::thread::sleep(Duration::from_micros(dice.below(10_000) as u64));
    child.kill().unwrap();
    child.wait().unwrap();
    reported.extend(rest(answer));
    reported
}

#[test]
fn killed_at_random_moments_nothing_acknowledged_is_lost() {
    let kills = scaled(1_000);
    let dice = FakeWorld::new(2);
    let (mut place, mut model) = (Folders::new(), Model::default());
    let (mut acknowledged, mut finished, mut dropped) = (0, 0, 0);
    for kill in 0..kills {
        if kill % KILLS_A_ROOT == 0 {
            (place, model) = (Folders::new(), Model::default());
        }
        let answer = kill_one(&place, kill as u64, &dice);
        let mut trying = None;
        for words in &answer {
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
        let context = format!("kill {kill}, last {:?}", &answer[answer.len().saturating_sub(3)..]);
        let opened = place.open_as_child(OpenOptions::default());
        let found = tree(place.root());
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
        assert_eq!(opened.verified(), Vec::<String>::new(), "{context}: store and disk differ");
        check_clean(&place, &context);
        drop(opened);
        check_stored(&place, &answer, &context);
    }
    eprintln!(
        "{kills} kills, {acknowledged} acknowledged changes, of those under way {finished} finished and {dropped} dropped"
    );
    assert!(acknowledged > kills, "the writer hardly wrote");
}

/// Somebody who saves files behind our back, and remembers which saves must be found again.
struct Editor<'a> {
    place: &'a Folders,
    saves: BTreeSet<ContentHash>,
    count: u64,
}

impl Editor<'_> {
    fn files(&self) -> Vec<PathBuf> {
        let found = Command::new("find").arg(self.place.root()).args(["-type", "f"]).output();
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
        let side = self.place.root().parent().unwrap().join("editor");
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
        let found = tree(self.place.root());
        let on_disk: BTreeSet<ContentHash> = { found.values() }
            .filter_map(|seen| match seen {
                EntrySnapshot::File(_, bytes) => Some(ContentHash::of(bytes)),
                _ => None,
            })
            .collect();
        let store = SqliteStore::open(self.place.state()).unwrap();
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
        let place = Folders::new();
        let mut editor = Editor { place: &place, saves: BTreeSet::new(), count: 0 };
        for kill in first..kills.min(first + KILLS_A_ROOT) {
            let (mut child, mut answer) = spawn(&place, 10_000 + kill as u64);
            assert_eq!(read_line(&mut answer).as_deref(), Some("ready"));
            let mut reported = Vec::new();
            for _ in 0..dice.below(10) {
                reported.extend(read_acknowledged(&mut answer, dice.below(2)));
                std::thread::sleep(Duration::from_micros(dice.below(3_000) as u64));
                editor.save(&dice, false);
            }
            child.kill().unwrap();
            child.wait().unwrap();
            reported.extend(rest(answer));
            let answer = reported;
            // While nobody else is at work, a save in place.
            editor.save(&dice, true);
            let context =
                format!("kill {kill}, last {:?}", &answer[answer.len().saturating_sub(3)..]);
            let opened = place.open_as_child(OpenOptions::default());
            opened.verified();
            check_whole(&tree(place.root()), &context);
            check_clean(&place, &context);
            drop(opened);
            editor.check(&context);
            // An edit on top of somebody's save has another hash than the writer worked out.
            let writes: Vec<String> =
                answer.iter().filter(|words| words.starts_with("ack write")).cloned().collect();
            check_stored(&place, &writes, &context);
        }
        saves += editor.count;
    }
    eprintln!("{kills} kills among {saves} saves");
}
