//! Another boot: what the page cache held is gone, or an earlier disk is back, and the journal puts it
//! right.

use std::path::Path;
use std::sync::Arc;

use yard_core::op::Mkdir;
use yard_core::{ContentHash, World};
use yard_store::{SqliteStore, Store};
use yard_testkit::probe::{Hand, Seen, Tree, at, copy_tree, mv, replace, rm, scaled, tree, write};
use yard_testkit::{FakeWorld, Folders, Plan};

use crate::judge::{check_clean, work};
use crate::model::Model;

/// A yard whose machine can be started anew.
struct Machine {
    place: Arc<Folders>,
    world: Arc<FakeWorld>,
}

impl Machine {
    fn new() -> Self {
        Self { place: Folders::new(), world: Arc::new(FakeWorld::new(7)) }
    }

    fn open(&self) -> Hand {
        let world = Arc::clone(&self.world);
        self.place.hand(Plan { world, ..Plan::default() })
    }

    /// Starts the machine again; the tree that recovery leaves.
    fn reboot(&self) -> (Hand, Tree) {
        self.world.set_boot_id(self.world.boot_id() + 1);
        let hand = self.open();
        let found = tree(self.place.root());
        (hand, found)
    }
}

fn must<T>(result: yard_core::Result<T>) -> T {
    result.unwrap_or_else(|fault| panic!("{fault}"))
}

/// Runs a history, starts the machine again with the disk as it was, and expects it untouched.
fn reboot_changes_nothing(name: &str, before: impl Fn(&Path), history: impl Fn(&Hand)) {
    let machine = Machine::new();
    before(machine.place.root());
    let hand = machine.open();
    history(&hand);
    drop(hand);
    let before = tree(machine.place.root());
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
        let place = Folders::new();
        work(&place, 20_000 + seed, 60);
        let before = tree(place.root());
        // The writer's boot was 1.
        let world = Arc::new(FakeWorld::new(seed));
        world.set_boot_id(2);
        let hand = place.hand(Plan { world, ..Plan::default() });
        let after = tree(place.root());
        assert_eq!(Model::of(&after), Model::of(&before), "seed {seed}: the disk changed");
        assert_eq!(hand.verified(), Vec::<String>::new(), "seed {seed}");
    }
}

/// The whole history in words, for whoever has to understand a failure.
fn story(place: &Folders) -> String {
    let store = SqliteStore::open(place.state()).unwrap();
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
    let mut left_over = 0;
    for seed in 0..scaled(300) as u64 {
        let dice = FakeWorld::new(seed);
        let place = Folders::new();
        work(&place, 30_000 + seed, 10 + dice.below(30) as u64);
        let earlier = Folders::new();
        copy_tree(place.root(), earlier.root());
        work(&place, 40_000 + seed, 1 + dice.below(30) as u64);
        let must_be = Model::of(&tree(place.root()));
        std::fs::remove_dir_all(place.root()).unwrap();
        std::fs::create_dir(place.root()).unwrap();
        copy_tree(earlier.root(), place.root());
        let world = Arc::new(FakeWorld::new(seed));
        world.set_boot_id(2);
        let hand = place.hand(Plan { world, ..Plan::default() });
        let is = Model::of(&tree(place.root()));
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
    let root = machine.place.root();
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
    let must_be = tree(root);
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
    std::fs::write(machine.place.root().join("a"), "theirs\n").unwrap();
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
    let stage = machine.place.state().join("stage");
    std::fs::write(stage.join(format!("{:032x}-0.{file}.swap", 1)), "somebody's\n").unwrap();
    std::fs::write(stage.join(format!("{:032x}-1.{inner}.swap", 1)), "somebody else's\n").unwrap();
    let hand = machine.open();
    assert_eq!(hand.verified(), Vec::<String>::new());
    check_clean(&machine.place, "rescued");
    drop(hand);
    let store = SqliteStore::open(machine.place.state()).unwrap();
    for bytes in [&b"somebody's\n"[..], b"somebody else's\n"] {
        assert!(store.content(&ContentHash::of(bytes)).unwrap().is_some(), "the save is lost");
    }
    let tree = tree(machine.place.root());
    assert!(matches!(&tree["/a"], Seen::File(_, bytes) if bytes == b"new\n"), "{tree:?}");
    assert_eq!(tree.len(), 1, "{tree:?}");
}
