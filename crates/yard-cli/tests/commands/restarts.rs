//! Random days on which agents run commands in the box beside their file tools, a person works on what they
//! left, and the machine starts again: nothing that the person did is touched, and bytes that were lost with
//! the power are back. `yard-testkit/tests/crash/restarts.rs` has the same without commands, far more often.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use yard_core::World as _;
use yard_store::{SqliteStore, Store as _};
use yard_testkit::failing_store::FailingStore;
use yard_testkit::{EntrySnapshot, FolderSnapshot, mv, rm, soak, tree, write};
use yard_testkit::{FakeWorld, Folders, OpenOptions, TestWorkspace};

use crate::box_setup::{plan, shell};

const PLAIN: u64 = 12;
const SOAK: u64 = 1_000;

const FILES: [&str; 7] = ["/a", "/b", "/d/a", "/d/b", "/e/f/a", "/e/b", "/g"];

/// A machine whose disk is never flushed, so that everything since the beginning may be lost.
struct Machine {
    folders: Arc<Folders>,
    world: Arc<FakeWorld>,
}

impl Machine {
    fn open(&self) -> TestWorkspace {
        let plan = OpenOptions {
            world: Arc::clone(&self.world) as _,
            store: Box::new(|store| Arc::new(FailingStore::never_flushed(store))),
            ..plan()
        };
        TestWorkspace::open(&self.folders, plan).unwrap()
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

    fn file(&self) -> &'static str {
        FILES[self.world.below(FILES.len())]
    }

    /// One thing that an agent does, with a tool or with a command.
    fn agent_works(&self, workspace: &TestWorkspace, step: usize) {
        let (one, other) = (self.file(), self.file());
        let text = format!("agent {step} {}\n", self.world.below(1_000_000));
        let (from, to) = (&one[1..], &other[1..]);
        let make = |path: &str| format!("mkdir -p $(dirname {path})");
        match self.world.below(10) {
            0 => drop(workspace.perform(write(one, &text, None))),
            1 => drop(workspace.perform(rm(one))),
            2 => drop(workspace.perform(mv(one, other))),
            3 => drop(shell(workspace, &format!("{}; printf '{text}' > {from}", make(from)))),
            4 => drop(shell(workspace, &format!("{}; printf '{text}' >> {from}", make(from)))),
            5 => drop(shell(workspace, &format!("rm -f {from}"))),
            6 => {
                let moves = format!("{}; test -f {from} && mv {from} {to} || true", make(to));
                drop(shell(workspace, &moves));
            }
            7 => drop(shell(workspace, "test -d d && rm -rf h && mv d h || mkdir -p d")),
            8 => {
                drop(shell(workspace, "rm -rf e; mkdir -p e/f; echo new > e/f/a; chmod 755 e/f/a"))
            }
            _ => drop(shell(workspace, &format!("for n in 1 2 3; do echo $n {step} > n$n; done"))),
        }
    }

    /// What a person does to files by hand; the paths.
    fn person_works(&self) -> BTreeSet<String> {
        let mut touched = BTreeSet::new();
        for _ in 0..self.world.below(4) {
            let name = self.file();
            let path = self.path(name);
            if !path.parent().is_some_and(|folder| folder.is_dir()) {
                continue;
            }
            touched.insert(name.to_owned());
            let text = format!("person {}\n", self.world.below(1_000));
            match self.world.below(5) {
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
                    fs::write(&draft, text).unwrap();
                    fs::rename(&draft, &path).unwrap();
                }
                _ => {
                    fs::remove_file(&path).ok();
                    fs::write(&path, text).unwrap();
                }
            }
        }
        touched
    }

    /// Of some files that nobody but agents touched, the end of their bytes is lost; which files.
    fn lose_bytes(&self, persons: &BTreeSet<String>) -> BTreeSet<String> {
        let mut lost = BTreeSet::new();
        for (name, seen) in self.tree() {
            let EntrySnapshot::File(_, bytes) = seen else { continue };
            if persons.contains(&name) || self.world.below(3) != 0 || bytes.is_empty() {
                continue;
            }
            let path = self.path(&name);
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, &bytes[..self.world.below(bytes.len())]).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_times(FileTimes::new().set_modified(modified)).unwrap();
            lost.insert(name);
        }
        lost
    }
}

#[test]
fn after_random_days_with_commands_a_persons_work_is_untouched_and_lost_bytes_are_back() {
    let mut losses = 0;
    for seed in 0..if soak() { SOAK } else { PLAIN } {
        let machine = Machine { folders: Folders::new(), world: Arc::new(FakeWorld::new(seed)) };
        for _ in 0..1 + machine.world.below(2) {
            let workspace = machine.open();
            for step in 0..1 + machine.world.below(8) {
                machine.agent_works(&workspace, step);
            }
        }
        let persons = machine.person_works();
        let must = machine.tree();
        let is_another_boot = machine.world.below(4) > 0;
        if is_another_boot {
            losses += machine.lose_bytes(&persons).len();
            machine.reboot();
        }
        let steps = machine.head();
        for opening in ["first", "second"] {
            let workspace = machine.open();
            let found = machine.tree();
            assert_eq!(found, must, "seed {seed}, {opening} opening; the person: {persons:?}");
            let verified = workspace.perform(yard_core::op::Verify).unwrap();
            assert_eq!(verified.problems, Vec::<String>::new(), "seed {seed}, {opening} opening");
            assert_eq!(machine.head(), steps, "seed {seed}: recovery wrote history");
        }
    }
    assert!(losses > 0, "no bytes were lost");
}
