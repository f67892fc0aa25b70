//! Random histories of which the disk loses the last steps, the same ones each time: the file system is
//! exchanged for the copy that was taken before them, and gets the journal that it had after them. That is
//! what a power loss leaves when the file system has not committed for a while: the journal is flushed with
//! each step, the renames are not. Where the cuts of `power` hit depends on the speed of the machine; these
//! do not. On ext4 some files lose their bytes too, or the time that a touch gave them; and the recovery
//! itself may be cut off before it is done. `YARD_SEED=n` runs that one.

use std::collections::HashMap;
use std::fs::{File, FileTimes};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use yard_core::Limits;
use yard_core::op::Verify;
use yard_store::{FileIdentity, SqliteStore, Store as _};
use yard_testkit::{ChildWorkspace, EntrySnapshot, soak, staged, tree};
use yard_testkit::{FakeWorld, OpenOptions};

use crate::interrupted::cut_off;
use crate::machine::{Booted, Machine, is_apart, run_apart};
use crate::model::Model;
use crate::older::{Case, judge as judge_files, perform};
use crate::power::{WriterReport, append_to};
use crate::writer::{LARGE, UNFLUSHED};

/// Lost steps, and what must be there after the next opening. The data folder is lost with them, all but the
/// journal. In each of them a path is another entry's by now than it was when a step moved something.
pub(crate) const CASES: [Case; 5] = [
    (
        "in the place of a removed file, moved, and a third file in that place",
        &["write /a 1"],
        &["rm /a", "write /a 2", "mv /a /b", "write /a 3"],
        &["/a 3", "/b 2"],
    ),
    (
        "in the place of a removed file, moved and removed, and a third file in that place",
        &["write /a 1"],
        &["rm /a", "write /a 2", "mv /a /b", "rm /b", "write /a 3"],
        &["/a 3"],
    ),
    (
        "into a lost folder that moved on, and another folder has its path",
        &["write /a 1"],
        &["mkdir /d/e", "mv /a /d/e/a", "mv /d /f", "mkdir /d/e"],
        &["/f/e/a 1"],
    ),
    (
        "into a lost folder whose path is now that of one that was there",
        &["write /a 1", "mkdir /x/e"],
        &["mkdir /d/e", "mv /a /d/e/b", "mv /d /g", "mv /x /d"],
        &["/g/e/b 1"],
    ),
    (
        "through such a folder, and another file in its place",
        &["write /a 1", "mkdir /x/e"],
        &["mkdir /d/e", "mv /a /d/e/b", "write /a 2", "mv /d/e/b /x/e/b", "mv /d /g", "mv /x /d"],
        &["/a 2", "/d/e/b 1"],
    ),
];

const PLAIN: u64 = 20;
const SOAK: u64 = 1_000;
/// Steps that are on disk for good, at most.
const MOST_BEFORE: usize = 120;
/// Steps that are lost, at most.
const MOST_LOST: usize = 200;

#[test]
fn lost_moves_whose_paths_are_others_by_now_are_done_again() {
    run_apart("lost::cases");
}

/// In a mount namespace of its own.
#[test]
fn cases() {
    if !is_apart() {
        return;
    }
    for (name, before, lost, after) in CASES {
        let mut machine = Machine::new("ext4");
        let (root, state) = (machine.root(), machine.state());
        perform(&root, &state, before);
        machine.remember();
        perform(&root, &state, lost);
        exchange_all_but_the_journal(&mut machine);
        judge_files(&machine, &state, name, after);
    }
}

#[test]
fn a_disk_that_lost_its_last_steps_is_what_the_history_says_after_the_opening() {
    run_apart("lost::random_histories");
}

#[test]
fn a_lost_move_into_a_folder_that_a_person_removed_leaves_its_files_whole_where_they_are() {
    run_apart("lost::into_a_removed_folder");
}

/// In a mount namespace of its own.
#[test]
fn into_a_removed_folder() {
    if !is_apart() {
        return;
    }
    let mut machine = Machine::new("ext4");
    let (root, state) = (machine.root(), machine.state());
    perform(&root, &state, &["mkdir /e", "write /d/a 1", "write /b 1", "write /c 1"]);
    machine.remember();
    let lost = ["mv /d /e/d", "mv /b /e/b", "write /e/b 2", "mv /c /e/c", "write /c 2"];
    perform(&root, &state, &lost);
    exchange_all_but_the_journal(&mut machine);
    lose_bytes(&root.join("d/a"));
    lose_bytes(&root.join("b"));
    std::fs::remove_dir(root.join("e")).unwrap();
    let world = Arc::new(Booted(machine.boot));
    let _hand =
        ChildWorkspace::open(&root, &state, OpenOptions { world, ..OpenOptions::default() })
            .unwrap();
    let texts = ["d/a", "b", "c"].map(|name| std::fs::read_to_string(root.join(name)).unwrap());
    assert_eq!(texts, ["1", "2", "2"], "/c is another file by now");
    assert!(!root.join("e").exists(), "the person removed it");
}

#[test]
fn what_was_moved_into_a_folder_that_a_person_kept_is_not_left_there() {
    run_apart("lost::into_a_folder_that_was_kept");
}

/// In a mount namespace of its own.
#[test]
fn into_a_folder_that_was_kept() {
    if !is_apart() {
        return;
    }
    let mut machine = Machine::new("xfs");
    let (root, state) = (machine.root(), machine.state());
    perform(&root, &state, &["write /d/saved 1", "write /f 1"]);
    machine.remember();
    perform(&root, &state, &["rm /d", "write /d/new 1", "mv /f /d/f", "mv /d /e"]);
    exchange_all_but_the_journal(&mut machine);
    lose_bytes(&root.join("f"));
    std::fs::write(root.join("d/saved"), "the person's").unwrap();
    let world = Arc::new(Booted(machine.boot));
    let _hand =
        ChildWorkspace::open(&root, &state, OpenOptions { world, ..OpenOptions::default() })
            .unwrap();
    let found = tree(&root);
    let files: Vec<String> = { found.iter() }
        .filter_map(|(path, seen)| match seen {
            EntrySnapshot::File(_, bytes) => {
                Some(format!("{path} {}", String::from_utf8_lossy(bytes)))
            }
            _ => None,
        })
        .collect();
    assert_eq!(files, ["/d/saved the person's", "/e/f 1", "/e/new 1"]);
}

#[test]
fn a_move_there_and_back_leaves_a_file_in_the_folder_that_stays() {
    run_apart("lost::there_and_back");
}

/// In a mount namespace of its own.
#[test]
fn there_and_back() {
    if !is_apart() {
        return;
    }
    let mut machine = Machine::new("xfs");
    let (root, state) = (machine.root(), machine.state());
    let before =
        ["write /d/a 1", "write /d/saved 1", "mkdir /y", "mv /d/a /y/a", "mv /y/a /d/a", "rm /y"];
    perform(&root, &state, &before);
    machine.remember();
    perform(&root, &state, &["mv /d /f"]);
    exchange_all_but_the_journal(&mut machine);
    lose_bytes(&root.join("d/a"));
    std::fs::write(root.join("d/draft"), "the person's").unwrap();
    std::fs::rename(root.join("d/draft"), root.join("d/saved")).unwrap();
    let world = Arc::new(Booted(machine.boot));
    let _hand =
        ChildWorkspace::open(&root, &state, OpenOptions { world, ..OpenOptions::default() })
            .unwrap();
    assert_eq!(std::fs::read_to_string(root.join("d/a")).unwrap(), "1");
    assert!(!root.join("f").exists(), "the person works in /d");
}

#[test]
fn a_lost_move_of_a_folder_that_a_person_saved_into_leaves_it_whole_where_it_is() {
    run_apart("lost::of_a_folder_with_a_saved_file");
}

/// In a mount namespace of its own.
#[test]
fn of_a_folder_with_a_saved_file() {
    if !is_apart() {
        return;
    }
    let mut machine = Machine::new("ext4");
    let (root, state) = (machine.root(), machine.state());
    perform(&root, &state, &["write /d/a 1", "write /d/b 1", "write /d/e/a 1", "write /d/saved 1"]);
    machine.remember();
    let lost = ["mv /d /f", "write /f/e/new 2", "write /f/a 2", "rm /f/b", "mv /f /g"];
    perform(&root, &state, &lost);
    exchange_all_but_the_journal(&mut machine);
    lose_bytes(&root.join("d/e/a"));
    // As editors save: the folder gets another entry.
    std::fs::write(root.join("d/draft"), "the person's").unwrap();
    std::fs::rename(root.join("d/draft"), root.join("d/saved")).unwrap();
    let world = Arc::new(Booted(machine.boot));
    let _hand =
        ChildWorkspace::open(&root, &state, OpenOptions { world, ..OpenOptions::default() })
            .unwrap();
    let texts = ["a", "e/a", "e/new", "saved"].map(|name| {
        std::fs::read_to_string(root.join("d").join(name)).unwrap_or_else(|error| error.to_string())
    });
    assert_eq!(texts, ["2", "1", "2", "the person's"]);
    let names = |folder: &str| std::fs::read_dir(root.join(folder)).unwrap().count();
    assert_eq!((names("d"), names("d/e"), names("")), (3, 2, 1), "the agent removed /d/b");
}

/// The bytes of a file are lost; its inode and its time of writing are not.
fn lose_bytes(path: &Path) {
    let modified = path.metadata().unwrap().modified().unwrap();
    std::fs::write(path, "").unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(modified)).unwrap();
}

/// In a mount namespace of its own.
#[test]
fn random_histories() {
    if !is_apart() {
        return;
    }
    let seed = std::env::var("YARD_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds = match seed {
        Some(seed) => seed..seed + 1,
        None => 1..1 + if soak() { SOAK } else { PLAIN },
    };
    let (count, lost) = (seeds.clone().count(), seeds.map(lose).sum::<usize>());
    eprintln!("{count} histories, {lost} lost steps");
}

/// How many steps were lost.
fn lose(seed: u64) -> usize {
    let dice = FakeWorld::new(seed);
    let mut machine = Machine::new(["ext4", "xfs"][dice.below(2)]);
    let context = format!("{} seed {seed}", machine.kind);
    std::fs::write(machine.safe().join("acknowledged"), "").unwrap();
    work(&machine, &context, seed * 10, 1 + dice.below(MOST_BEFORE));
    machine.remember();
    let answer = work(&machine, &context, seed * 10 + 1, 1 + dice.below(MOST_LOST));
    exchange_all_but_the_journal(&mut machine);
    lose_bytes_and_touches(&machine, &dice);
    for _ in 0..dice.below(3) {
        // Half of them within the first 64 calls to the disk, some after recovery is done.
        let most = 64 << (4 * dice.below(2));
        cut_off(&machine, dice.below(most) as u64);
        machine.boot += dice.below(2) as u128;
    }
    let mut model = answer.found;
    for (_, _, change) in &answer.acknowledged {
        model.apply(change);
    }
    judge(&machine, &context, &model.shown(), &answer.acknowledged);
    answer.acknowledged.len()
}

/// Takes the bytes of some files, and the times that a touch gave to some, as a power loss does.
fn lose_bytes_and_touches(machine: &Machine, dice: &FakeWorld) {
    if machine.kind != "ext4" {
        return;
    }
    let touches = touches(&machine.state());
    let mut commands = String::new();
    let root = machine.root();
    for (path, _) in { tree(&root) }.iter().filter(|(_, seen)| is_file(seen)) {
        let found = root.join(&path[1..]).metadata().unwrap();
        let (inode, length) = (found.ino(), found.len() as usize);
        commands += &match dice.below(8) {
            0 => format!("sif <{inode}> size 0\n"),
            1 => format!("sif <{inode}> size {}\n", dice.below(length)),
            2 => format!("zap_block -f <{inode}> 0\n"),
            _ => String::new(),
        };
        let mtime = found.mtime() * NANOS + found.mtime_nsec();
        if let Some(before) = touches.get(&(inode, mtime)).filter(|_| dice.below(2) == 0) {
            for (name, time) in [("mtime", before.mtime), ("ctime", before.ctime)] {
                let (seconds, extra) = (time / NANOS, (time % NANOS) << 2);
                commands += &format!("sif <{inode}> {name} @{seconds}\n");
                commands += &format!("sif <{inode}> {name}_extra {extra}\n");
            }
        }
    }
    machine.edit_inodes(&commands);
}

const NANOS: i64 = 1_000_000_000;

fn is_file(seen: &EntrySnapshot) -> bool {
    matches!(seen, EntrySnapshot::File(..))
}

/// The files that were touched, by inode and the time that they got, with what they were before.
fn touches(state: &Path) -> HashMap<(u64, i64), FileIdentity> {
    let store = SqliteStore::open(state).unwrap();
    let steps = 1..=store.head().unwrap();
    let placements = steps.flat_map(|seq| store.placements(seq).unwrap());
    let touched = placements.filter_map(|placement| placement.placed.zip(placement.displaced));
    let touched = touched.filter(|(placed, displaced)| placed.is_same_inode(displaced));
    touched.map(|(placed, displaced)| ((placed.inode, placed.mtime), displaced)).collect()
}

fn judge(machine: &Machine, context: &str, must: &Model, steps: &[(u64, String, String)]) {
    let (root, state) = (machine.root(), machine.state());
    let before = Model::of(&tree(&root));
    let world = Arc::new(Booted(machine.boot));
    let limits = Limits { load_bytes: LARGE, ..Limits::default() };
    let opened = ChildWorkspace::open(
        &root,
        &state,
        OpenOptions { world, limits, ..OpenOptions::default() },
    )
    .unwrap();
    let found = Model::of(&tree(&root));
    let answer = || {
        let steps: Vec<_> =
            steps.iter().map(|(seq, _, change)| format!("{seq} {change}")).collect();
        format!("before: {before:#?}\nlost: {steps:#?}")
    };
    let mut differences = Vec::new();
    for (path, hash) in &must.files {
        let is = found.files.get(path);
        if is != Some(hash) {
            let was = before.files.get(path);
            differences.push(format!("{path} must be {hash}, is {is:?}, was {was:?}"));
        }
    }
    let back = found.files.keys().filter(|path| !must.files.contains_key(*path));
    differences.extend(back.map(|path| format!("{path} is back")));
    let folders = must.folders.symmetric_difference(&found.folders);
    differences.extend(folders.map(|path| format!("the folder {path}")));
    assert!(differences.is_empty(), "{context}: {differences:#?}\n{}", answer());
    let verified = opened.perform(Verify).unwrap();
    assert_eq!(verified.problems, Vec::<String>::new(), "{context}: {}", answer());
    assert_eq!(verified.unsynced, Vec::new(), "{context}: {}", answer());
    assert_eq!(staged(&state), Vec::<String>::new(), "{context}: left in the stage");
}

/// Lets a writer do so many things. It ends without closing the workspace, which would flush it.
fn work(machine: &Machine, context: &str, seed: u64, count: usize) -> WriterReport {
    let (root, state) = (machine.root(), machine.state());
    let (out, errors) = (machine.safe().join("told"), machine.safe().join("errors"));
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer::child", "--nocapture"])
        .env("YARD_CRASH_CHILD", format!("{}|{}|{seed}|{count}", root.display(), state.display()))
        .env(UNFLUSHED, "1")
        .env("YARD_CRASH_BOOT", machine.boot.to_string())
        .env("YARD_CRASH_ACKNOWLEDGED", machine.safe().join("acknowledged"))
        .stdout(append_to(&out))
        .stderr(append_to(&errors))
        .status()
        .unwrap();
    let words = || std::fs::read_to_string(&errors).unwrap();
    assert!(status.success(), "{context}: {status}: {}", words());
    let answer = WriterReport::read(&out);
    assert!(answer.wrong.is_empty(), "{context}: {:#?}", answer.wrong);
    answer
}

/// What is flushed with each step.
const JOURNAL: [&str; 3] = ["journal.db", "journal.db-wal", "blobs"];

/// Goes on with the copy of the file system that was taken, and the journal as it is now.
pub(crate) fn exchange_all_but_the_journal(machine: &mut Machine) {
    let journal = machine.safe().join("journal");
    std::fs::create_dir(&journal).unwrap();
    copy(&machine.state(), &journal);
    machine.exchange();
    for name in JOURNAL.into_iter().chain(["journal.db-shm"]) {
        let _ = std::fs::remove_file(machine.state().join(name));
        let _ = std::fs::remove_dir_all(machine.state().join(name));
    }
    copy(&journal, &machine.state());
}

fn copy(from: &Path, to: &Path) {
    for name in JOURNAL {
        if from.join(name).exists() {
            let status = Command::new("cp").arg("-a").arg(from.join(name)).arg(to).status();
            assert!(status.unwrap().success());
        }
    }
}
