//! What a person did between the end of the machine and the next opening stays, and what a lost write left
//! is put right: told apart by identity, never by content.
//!
//! Lost writes are made here as a power loss makes them, as far as a program can. A staged file whose bytes
//! are gone keeps its inode and its time of writing. An entry that was displaced and is back gets an
//! identity that the history knows: a program cannot set the time of change, so the history is told it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use yard_core::op::{Mkdir, Moved};
use yard_core::{FaultCode, Remedy, World};
use yard_store::{FileIdentity, Placement, SqliteStore, Store};
use yard_testkit::failing_store::FailingStore;
use yard_testkit::{
    ChildWorkspace, EntrySnapshot, FolderSnapshot, at, mv, replace, rm, soak, tree, write,
};
use yard_testkit::{FakeWorld, Folders, OpenOptions};

use crate::model::below;

/// A machine whose disk is never flushed, so that everything since the beginning may be lost.
struct Machine {
    folders: Arc<Folders>,
    world: Arc<FakeWorld>,
}

impl Machine {
    fn new(seed: u64) -> Self {
        Self { folders: Folders::new(), world: Arc::new(FakeWorld::new(seed)) }
    }

    fn plan(&self) -> OpenOptions {
        let world = Arc::clone(&self.world);
        OpenOptions {
            world,
            store: Box::new(|store| Arc::new(FailingStore::never_flushed(store))),
            ..OpenOptions::default()
        }
    }

    fn open(&self) -> ChildWorkspace {
        self.folders.open_as_child(self.plan())
    }

    fn reboot(&self) {
        self.world.set_boot_id(self.world.boot_id() + 1);
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folders.root().join(path.trim_start_matches('/'))
    }

    fn tree(&self) -> FolderSnapshot {
        tree(self.folders.root())
    }

    /// Steps in the history.
    fn head(&self) -> u64 {
        SqliteStore::open(self.folders.state()).unwrap().head().unwrap()
    }

    /// The bytes of a file are lost; its inode and its time of writing are not.
    fn lose_bytes(&self, path: &str, left: &[u8]) {
        let path = self.path(path);
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, left).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_times(FileTimes::new().set_modified(modified)).unwrap();
    }

    /// The newest step's rename is lost: the entry that it displaced is back at `path`.
    fn lose_replacement(&self, path: &str, former: &[u8]) {
        let path = self.path(path);
        fs::remove_file(&path).ok();
        fs::write(&path, former).unwrap();
        let placement = Placement { change: 0, placed: None, displaced: Some(identity(&path)) };
        let store = SqliteStore::open(self.folders.state()).unwrap();
        store.add_placements(store.head().unwrap(), &[placement]).unwrap();
    }

    /// The newest step was never put on disk, nor the mark that covers it.
    fn lose_creation(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
        self.set_mark(self.head() - 1);
    }

    fn set_mark(&self, seq: u64) {
        let state = self.folders.state();
        let names = fs::read_dir(state).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        let mark = { names }.find(|name| name.starts_with("applied.")).unwrap();
        let boot = mark.rsplit('.').next().unwrap();
        fs::rename(state.join(&mark), state.join(format!("applied.{seq}.{boot}"))).unwrap();
    }
}

fn identity(path: &Path) -> FileIdentity {
    let meta = path.symlink_metadata().unwrap();
    let nanos = |seconds: i64, nanos: i64| seconds * 1_000_000_000 + nanos;
    let birth = meta.created().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    FileIdentity {
        inode: meta.ino(),
        birth: birth as i64,
        mtime: nanos(meta.mtime(), meta.mtime_nsec()),
        ctime: nanos(meta.ctime(), meta.ctime_nsec()),
    }
}

fn must<T>(result: yard_core::Result<T>) -> T {
    result.unwrap_or_else(|fault| panic!("{fault}"))
}

fn put(child: &ChildWorkspace, path: &str, text: &str) {
    must(child.perform(write(path, text, None)));
}

fn text_of(tree: &FolderSnapshot, path: &str) -> Option<String> {
    match tree.get(path) {
        Some(EntrySnapshot::File(_, bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

/// An agent's day, then a person's; the machine starts again, and opening changes nothing.
fn stays(name: &str, agent: impl Fn(&ChildWorkspace), person: impl Fn(&Machine)) {
    let machine = Machine::new(7);
    for (path, text) in [("file.txt", "first\n"), ("d/inner.txt", "inner\n"), ("keep", "keep\n")] {
        fs::create_dir_all(machine.path(path).parent().unwrap()).unwrap();
        fs::write(machine.path(path), text).unwrap();
    }
    let child = machine.open();
    agent(&child);
    drop(child);
    person(&machine);
    let left = machine.tree();
    for boot in ["another boot", "the same one once more"] {
        if boot == "another boot" {
            machine.reboot();
        }
        let child = machine.open();
        assert_eq!(machine.tree(), left, "{name}, {boot}: a person's work was taken back");
        child.verified();
        child.history(None, 10);
        assert_eq!(machine.tree(), left, "{name}, {boot}: looking changed the disk");
    }
}

#[test]
fn p1_after_a_restart_what_a_person_did_is_untouched() {
    let edit = |child: &ChildWorkspace| {
        must(child.perform(replace("/file.txt", "first", "agent")));
        put(child, "/new.txt", "new\n");
    };
    stays("edited and deleted", edit, |machine| {
        fs::write(machine.path("file.txt"), "person\n").unwrap();
        fs::remove_file(machine.path("new.txt")).unwrap();
    });
    stays("an older state restored by hand", edit, |machine| {
        fs::write(machine.path("file.txt"), "first\n").unwrap();
    });
    stays("replaced by another file, as editors and git do it", edit, |machine| {
        fs::write(machine.path("tmp"), "first\n").unwrap();
        fs::rename(machine.path("tmp"), machine.path("file.txt")).unwrap();
    });
    stays("replaced by a link", edit, |machine| {
        fs::remove_file(machine.path("new.txt")).unwrap();
        symlink("keep", machine.path("new.txt")).unwrap();
    });
    stays("its mode changed", edit, |machine| {
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(machine.path("file.txt"), mode).unwrap();
    });
    stays(
        "a file that the agent removed, restored",
        |child| {
            must(child.perform(rm("/file.txt")));
        },
        |machine| fs::write(machine.path("file.txt"), "first\n").unwrap(),
    );
    stays(
        "a file that the agent moved, moved back",
        |child| {
            must(child.perform(mv("/file.txt", "/moved.txt")));
        },
        |machine| fs::rename(machine.path("moved.txt"), machine.path("file.txt")).unwrap(),
    );
    stays(
        "a folder that the agent moved, moved back",
        |child| {
            must(child.perform(mv("/d", "/e")));
        },
        |machine| fs::rename(machine.path("e"), machine.path("d")).unwrap(),
    );
    stays(
        "a folder that the agent removed, made again",
        |child| {
            must(child.perform(rm("/d")));
        },
        |machine| fs::create_dir(machine.path("d")).unwrap(),
    );
    stays(
        "a folder that the agent made, removed",
        |child| {
            must(child.perform(Mkdir { path: at("/made") }));
            put(child, "/made/x", "x\n");
        },
        |machine| fs::remove_dir_all(machine.path("made")).unwrap(),
    );
    stays(
        "a folder moved elsewhere by hand",
        |child| put(child, "/d/new.txt", "new\n"),
        |machine| fs::rename(machine.path("d"), machine.path("elsewhere")).unwrap(),
    );
}

#[test]
fn p4_an_unknown_boot_counts_as_another_one() {
    let machine = Machine::new(7);
    let child = machine.open();
    put(&child, "/a", "agent\n");
    drop(child);
    machine.lose_bytes("/a", b"");
    machine.world.set_boot_id(0);
    let child = machine.open();
    assert_eq!(text_of(&machine.tree(), "/a").as_deref(), Some("agent\n"));
    child.verified();
}

#[test]
fn what_a_power_loss_took_is_put_back() {
    let machine = Machine::new(7);
    let child = machine.open();
    put(&child, "/empty", "whole\n");
    put(&child, "/torn", "whole and long\n");
    put(&child, "/removed", "must be gone\n");
    must(child.perform(rm("/removed")));
    put(&child, "/replaced", "before\n");
    put(&child, "/replaced", "after\n");
    drop(child);
    machine.lose_replacement("/replaced", b"before\n");
    machine.lose_bytes("/empty", b"");
    machine.lose_bytes("/torn", b"whole \0\0\0");
    machine.reboot();
    let child = machine.open();
    let found = machine.tree();
    assert_eq!(text_of(&found, "/empty").as_deref(), Some("whole\n"));
    assert_eq!(text_of(&found, "/torn").as_deref(), Some("whole and long\n"));
    assert_eq!(text_of(&found, "/replaced").as_deref(), Some("after\n"));
    assert_eq!(child.verified(), Vec::<String>::new());
    drop(child);
    let child = machine.open();
    put(&child, "/created", "created\n");
    drop(child);
    machine.lose_creation("/created");
    machine.reboot();
    drop(machine.open());
    assert_eq!(text_of(&machine.tree(), "/created").as_deref(), Some("created\n"));
}

/// A1 of the first report of damage: what recovery had put back was empty after the next power loss.
#[test]
fn h1_what_recovery_put_back_survives_the_next_power_loss_too() {
    let machine = Machine::new(7);
    let child = machine.open();
    put(&child, "/a", "whole\n");
    drop(child);
    for cut in 1..4 {
        machine.lose_bytes("/a", b"");
        machine.reboot();
        let child = machine.open();
        assert_eq!(text_of(&machine.tree(), "/a").as_deref(), Some("whole\n"), "cut {cut}");
        assert_eq!(child.verified(), Vec::<String>::new(), "cut {cut}");
        assert_eq!(child.history(Some("/a"), 10).len(), 1, "recovery makes no versions");
    }
}

#[test]
fn h4_a_removed_file_that_a_power_loss_brought_back_is_removed_again() {
    let machine = Machine::new(7);
    let child = machine.open();
    put(&child, "/a", "agent\n");
    must(child.perform(rm("/a")));
    drop(child);
    machine.lose_replacement("/a", b"");
    machine.reboot();
    let child = machine.open();
    assert_eq!(machine.tree(), FolderSnapshot::new());
    assert_eq!(child.verified(), Vec::<String>::new());
}

#[test]
fn a_missing_file_whose_step_was_applied_was_removed_by_somebody() {
    let machine = Machine::new(7);
    let child = machine.open();
    put(&child, "/a", "agent\n");
    drop(child);
    fs::remove_file(machine.path("a")).unwrap();
    machine.reboot();
    drop(machine.open());
    assert_eq!(machine.tree(), FolderSnapshot::new());
}

/// The root is another folder than the one that the history was made for.
#[test]
fn h3_a_history_is_not_applied_to_another_folder() {
    let machine = Machine::new(7);
    let child = machine.open();
    put(&child, "/a", "agent\n");
    drop(child);
    let root = machine.folders.root();
    fs::rename(root, root.with_extension("away")).unwrap();
    fs::create_dir(root).unwrap();
    fs::write(root.join("other"), "another project\n").unwrap();
    let left = machine.tree();
    machine.reboot();
    let opened = ChildWorkspace::open(root, machine.folders.state(), machine.plan());
    let fault = opened.err().expect("another folder is refused");
    assert_eq!(fault.code(), FaultCode::Unavailable);
    assert_eq!(fault.remedy(), Some(Remedy::AdoptFolder), "{fault}");
    assert_eq!(machine.tree(), left);
    // The folder that it was made for is known wherever it is.
    fs::remove_dir_all(root).unwrap();
    fs::rename(root.with_extension("away"), root).unwrap();
    drop(machine.open());
    assert_eq!(text_of(&machine.tree(), "/a").as_deref(), Some("agent\n"));
}

#[test]
fn h5_a_journal_that_ends_before_the_applied_mark_is_refused_and_nothing_is_written() {
    let machine = Machine::new(7);
    let child = machine.open();
    put(&child, "/a", "one\n");
    put(&child, "/a", "two\n");
    drop(child);
    let state = machine.folders.state();
    for part in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(state.join(format!("journal.db{part}")));
    }
    let left = machine.tree();
    let refused = || {
        let opened = ChildWorkspace::open(machine.folders.root(), state, machine.plan());
        opened.err().expect("an emptied journal is refused")
    };
    assert_eq!(refused().code(), FaultCode::Unavailable);
    assert_eq!(refused().remedy(), Some(Remedy::AdoptFolder), "{}", refused());
    assert_eq!(machine.tree(), left);
}

/// A leftover that cannot be put right: it is kept, and the workspace opens.
#[test]
fn p3_a_leftover_that_is_a_folder_is_set_aside_and_reported() {
    let machine = Machine::new(7);
    let child = machine.open();
    let file = must(child.perform(write("/a", "agent\n", None))).file;
    drop(child);
    let name = format!("{:032x}-0.{file}.swap", 1);
    let stage = machine.folders.state().join("stage");
    fs::create_dir(stage.join(&name)).unwrap();
    fs::write(stage.join(&name).join("inside"), "somebody's\n").unwrap();
    for _ in 0..2 {
        drop(machine.open());
        let kept = machine.folders.state().join("leftovers").join(&name).join("inside");
        assert_eq!(fs::read_to_string(kept).unwrap(), "somebody's\n");
    }
}

/// What the test knows of one random history.
#[derive(Default)]
struct Day {
    /// Files as the agent left them.
    agents: BTreeMap<String, String>,
    /// Paths that a person touched.
    persons: BTreeSet<String>,
}

/// Random histories: in a plain run, and in a soak.
const PLAIN: u64 = 100;
const SOAK: u64 = 10_000;

const FOLDERS: [&str; 5] = ["/d", "/e", "/e/f", "/h", "/d/k"];
const NAMES: [&str; 8] = ["/a", "/b", "/c", "/d/a", "/d/b", "/e/f/a", "/e/b", "/g"];

impl Day {
    /// An agent tried to move a file, or a folder with what is in it.
    fn is_moved(&mut self, moved: yard_core::Result<Moved>) {
        let Ok(moved) = moved else { return };
        let (from, to) = (moved.from.to_string(), moved.to.to_string());
        let files = std::mem::take(&mut self.agents).into_iter();
        self.agents = files
            .map(|(path, text)| match below(&path, &from) {
                true => (format!("{to}{}", &path[from.len()..]), text),
                false => (path, text),
            })
            .collect();
    }
}

fn agent_works(child: &ChildWorkspace, world: &FakeWorld, day: &mut Day, steps: usize) {
    for step in 0..steps {
        let name = NAMES[world.below(NAMES.len())];
        let text = format!("agent {step} {}\n", world.below(1_000_000));
        match world.below(6) {
            0 if day.agents.contains_key(name) => {
                must(child.perform(rm(name)));
                day.agents.remove(name);
            }
            1 if day.agents.contains_key(name) => {
                day.is_moved(child.perform(mv(name, NAMES[world.below(NAMES.len())])));
            }
            2 => {
                let [from, to] = [(); 2].map(|()| FOLDERS[world.below(FOLDERS.len())]);
                day.is_moved(child.perform(mv(from, to)));
            }
            _ => {
                put(child, name, &text);
                day.agents.insert(name.to_owned(), text);
            }
        }
    }
}

fn person_works(machine: &Machine, day: &mut Day) {
    let dice = &machine.world;
    for _ in 0..dice.below(4) {
        let name = NAMES[dice.below(NAMES.len())];
        let path = machine.path(name);
        if path.parent().is_none_or(|folder| !folder.is_dir()) {
            continue;
        }
        day.persons.insert(name.to_owned());
        match dice.below(5) {
            0 => drop(fs::remove_file(&path)),
            1 => {
                fs::remove_file(&path).ok();
                symlink("a", &path).unwrap();
            }
            2 if path.is_file() => {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            }
            3 => {
                let draft = path.with_extension("draft");
                fs::write(&draft, format!("checked out {}\n", dice.below(1_000))).unwrap();
                fs::rename(&draft, &path).unwrap();
            }
            _ => {
                fs::remove_file(&path).ok();
                fs::write(&path, format!("person {}\n", dice.below(1_000))).unwrap();
            }
        }
    }
}

/// Makes a repository of some files, as a person has it before an agent comes; whether there is git.
fn commit(machine: &Machine) -> bool {
    for name in ["/a", "/d/a", "/e/f/a"] {
        fs::create_dir_all(machine.path(name).parent().unwrap()).unwrap();
        fs::write(machine.path(name), format!("committed {name}\n")).unwrap();
    }
    let all: [&[&str]; 3] = [&["init", "-q"], &["add", "-A"], &["commit", "-q", "-m", "first"]];
    all.into_iter().all(|arguments| git(machine, arguments))
}

/// The person takes the committed files back.
fn check_out(machine: &Machine, day: &mut Day) {
    let before = machine.tree();
    assert!(git(machine, &["checkout", "-q", "-f", "HEAD", "--", "."]));
    let after = machine.tree();
    let changed = after.iter().filter(|(path, seen)| before.get(*path) != Some(seen));
    day.persons.extend(changed.map(|(path, _)| path.clone()));
}

fn git(machine: &Machine, arguments: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Person", "-c", "user.email=person@example.com"]);
    git.args(["-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"]);
    let done = git.args(arguments).current_dir(machine.folders.root()).output();
    done.is_ok_and(|done| done.status.success())
}

/// Random agents, random people, lost bytes, boots of all kinds.
#[test]
fn after_random_days_every_byte_of_a_person_is_there_and_what_was_lost_is_back() {
    for seed in 0..if soak() { SOAK } else { PLAIN } {
        let machine = Machine { folders: Folders::in_memory(), ..Machine::new(seed) };
        let dice = &machine.world;
        let mut day = Day::default();
        let has_repository = seed % 10 == 0 && commit(&machine);
        for _ in 0..1 + dice.below(3) {
            let child = machine.open();
            agent_works(&child, dice, &mut day, 1 + dice.below(12));
            drop(child);
        }
        person_works(&machine, &mut day);
        if has_repository {
            check_out(&machine, &mut day);
        }
        let agents = day.agents.clone();
        let untouched = agents.iter().filter(|(name, _)| !day.persons.contains(*name));
        let is_another_boot = dice.below(4) > 0;
        let mut lost = Vec::new();
        for (name, text) in untouched {
            if is_another_boot && dice.below(3) == 0 {
                machine.lose_bytes(name, &text.as_bytes()[..dice.below(text.len())]);
                lost.push((name, text));
            }
        }
        let before = machine.tree();
        let steps = machine.head();
        if is_another_boot {
            machine.reboot();
        }
        let child = machine.open();
        let after = machine.tree();
        child.verified();
        drop(child);
        for (name, text) in &lost {
            assert_eq!(text_of(&after, name).as_ref(), Some(*text), "seed {seed}: {name} is lost");
        }
        let is_lost = |name: &String| lost.iter().any(|(lost, _)| *lost == name);
        for (name, seen) in before.iter().filter(|(name, _)| !is_lost(name)) {
            assert_eq!(after.get(name), Some(seen), "seed {seed}: {name} was touched");
        }
        assert_eq!(after.len(), before.len(), "seed {seed}: {before:?} became {after:?}");
        assert_eq!(machine.head(), steps, "seed {seed}: recovery wrote history");
        drop(machine.open());
        assert_eq!(machine.tree(), after, "seed {seed}: a second opening changed something");
    }
}
