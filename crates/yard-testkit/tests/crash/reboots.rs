//! Another boot: what the page cache held is gone, or an earlier disk is back, and the journal puts it
//! right.

use std::path::Path;
use std::sync::Arc;

use yard_core::op::Mkdir;
use yard_core::{ContentHash, World};
use yard_store::{SqliteStore, Store};
use yard_testkit::{
    ChildWorkspace, EntrySnapshot, FolderSnapshot, at, mv, replace, rm, scaled, tree, write,
};
use yard_testkit::{FakeWorld, Folders, OpenOptions};

use crate::judge::{check_clean, work};
use crate::model::Model;

/// A workspace whose machine can be rebooted.
struct Machine {
    place: Arc<Folders>,
    world: Arc<FakeWorld>,
}

impl Machine {
    fn new() -> Self {
        Self { place: Folders::new(), world: Arc::new(FakeWorld::new(7)) }
    }

    fn open(&self) -> ChildWorkspace {
        let world = Arc::clone(&self.world);
        self.place.open_as_child(OpenOptions { world, ..OpenOptions::default() })
    }

    /// Starts the machine again; the tree that recovery leaves.
    fn reboot(&self) -> (ChildWorkspace, FolderSnapshot) {
        self.world.set_boot_id(self.world.boot_id() + 1);
        let child = self.open();
        let found = tree(self.place.root());
        (child, found)
    }
}

fn must<T>(result: yard_core::Result<T>) -> T {
    result.unwrap_or_else(|fault| panic!("{fault}"))
}

/// Runs a history, starts the machine again with the disk as it was, and expects it untouched.
fn reboot_changes_nothing(name: &str, before: impl Fn(&Path), history: impl Fn(&ChildWorkspace)) {
    let machine = Machine::new();
    before(machine.place.root());
    let child = machine.open();
    history(&child);
    drop(child);
    let before = tree(machine.place.root());
    let (child, after) = machine.reboot();
    assert_eq!(after, before, "{name}: recovery after a reboot changed the disk");
    assert_eq!(child.verified(), Vec::<String>::new(), "{name}");
    check_clean(&machine.place, name);
}

#[test]
fn reboot_with_nothing_lost_changes_nothing() {
    let put = |child: &ChildWorkspace, path: &str, text: &str| {
        drop(must(child.perform(write(path, text, None))))
    };
    reboot_changes_nothing(
        "moved twice, and a new file at the first place",
        |_| {},
        |child| {
            put(child, "/a", "old\n");
            must(child.perform(mv("/a", "/b")));
            must(child.perform(mv("/b", "/c")));
            put(child, "/a", "new\n");
        },
    );
    reboot_changes_nothing(
        "moved, removed, and a new file at the first place",
        |_| {},
        |child| {
            put(child, "/a", "old\n");
            must(child.perform(mv("/a", "/b")));
            must(child.perform(rm("/b")));
            put(child, "/a", "new\n");
        },
    );
    reboot_changes_nothing(
        "an empty folder moved",
        |_| {},
        |child| {
            must(child.perform(Mkdir { path: at("/d") }));
            must(child.perform(mv("/d", "/e")));
        },
    );
    reboot_changes_nothing(
        "a folder moved with what is in it",
        |_| {},
        |child| {
            put(child, "/d/x", "x\n");
            must(child.perform(mv("/d", "/e")));
        },
    );
    reboot_changes_nothing(
        "a folder of somebody else's, written into and moved",
        |root| {
            std::fs::create_dir(root.join("d")).unwrap();
        },
        |child| {
            put(child, "/d/x", "x\n");
            must(child.perform(mv("/d", "/e")));
        },
    );
    reboot_changes_nothing(
        "removed and made again",
        |_| {},
        |child| {
            put(child, "/d/x", "x\n");
            must(child.perform(rm("/d")));
            put(child, "/d/x", "x\n");
            must(child.perform(rm("/d/x")));
            put(child, "/d/x", "y\n");
        },
    );
    reboot_changes_nothing(
        "a folder moved in and out, its files too",
        |_| {},
        |child| {
            put(child, "/p/d/x", "x\n");
            must(child.perform(mv("/p", "/q")));
            must(child.perform(mv("/q/d", "/q/e")));
            must(child.perform(mv("/q", "/s")));
            put(child, "/p/d/x", "another\n");
            must(child.perform(mv("/s/e/x", "/q")));
            must(child.perform(replace("/q", "x", "z")));
        },
    );
    reboot_changes_nothing(
        "a file where a folder was",
        |_| {},
        |child| {
            put(child, "/d/x", "x\n");
            must(child.perform(rm("/d")));
            put(child, "/d", "a file\n");
            must(child.perform(rm("/d")));
            put(child, "/d/x/y", "deep\n");
        },
    );
    reboot_changes_nothing(
        "two files that changed places",
        |_| {},
        |child| {
            put(child, "/a", "a\n");
            put(child, "/b", "b\n");
            must(child.perform(mv("/a", "/t")));
            must(child.perform(mv("/b", "/a")));
            must(child.perform(mv("/t", "/b")));
        },
    );
}

/// A random history, and then a reboot with the disk as it was.
#[test]
fn reboot_after_random_histories_changes_nothing() {
    for seed in 0..scaled(200) as u64 {
        let place = Folders::new();
        work(&place, 20_000 + seed, 60);
        let before = tree(place.root());
        // The writer's boot was 1.
        let world = Arc::new(FakeWorld::new(seed));
        world.set_boot_id(2);
        let child = place.open_as_child(OpenOptions { world, ..OpenOptions::default() });
        let after = tree(place.root());
        assert_eq!(Model::of(&after), Model::of(&before), "seed {seed}: the disk changed");
        assert_eq!(child.verified(), Vec::<String>::new(), "seed {seed}");
    }
}

/// A save that was left in the stage by a process that died, when its file was removed and another one
/// has its name by now.
#[test]
fn a_rescued_save_of_a_file_that_is_gone_does_not_lock_us_out() {
    let machine = Machine::new();
    let child = machine.open();
    let file = must(child.perform(write("/a", "old\n", None))).file;
    must(child.perform(rm("/a")));
    must(child.perform(write("/a", "new\n", None)));
    let inner = must(child.perform(write("/d/b", "old\n", None))).file;
    must(child.perform(rm("/d")));
    drop(child);
    let stage = machine.place.state().join("stage");
    std::fs::write(stage.join(format!("{:032x}-0.{file}.swap", 1)), "somebody's\n").unwrap();
    std::fs::write(stage.join(format!("{:032x}-1.{inner}.swap", 1)), "somebody else's\n").unwrap();
    let child = machine.open();
    assert_eq!(child.verified(), Vec::<String>::new());
    check_clean(&machine.place, "rescued");
    drop(child);
    let store = SqliteStore::open(machine.place.state()).unwrap();
    for bytes in [&b"somebody's\n"[..], b"somebody else's\n"] {
        assert!(store.content(&ContentHash::of(bytes)).unwrap().is_some(), "the save is lost");
    }
    let tree = tree(machine.place.root());
    assert!(matches!(&tree["/a"], EntrySnapshot::File(_, bytes) if bytes == b"new\n"), "{tree:?}");
    assert_eq!(tree.len(), 1, "{tree:?}");
}
