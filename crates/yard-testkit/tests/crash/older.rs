//! Lost renames, the same ones each time: the root is on an image of its own, which is exchanged for the copy
//! that was taken before some steps. Inodes and times are exactly what they were then, and the journal, on
//! another file system, has all steps.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use yard_core::op::{Mkdir, Touch, Undo};
use yard_testkit::OpenOptions;
use yard_testkit::{ChildWorkspace, EntrySnapshot, at, mv, rm, tree, write};

use crate::machine::{Booted, Machine, is_apart, run_apart};
use crate::writer::{UNFLUSHED, plan};

/// What the disk has, what it loses, and which files must be there after the next opening.
pub(crate) type Case =
    (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

pub(crate) const CASES: [Case; 15] = [
    ("edited", &["write /a 1"], &["write /a 2"], &["/a 2"]),
    ("moved", &["write /a 1"], &["mv /a /b"], &["/b 1"]),
    ("removed", &["write /a 1"], &["rm /a"], &[]),
    ("edited and moved", &["write /a 1"], &["write /a 2", "mv /a /b"], &["/b 2"]),
    ("moved twice", &["write /a 1"], &["mv /a /b", "mv /b /c"], &["/c 1"]),
    ("moved and edited", &["write /a 1"], &["mv /a /b", "write /b 2"], &["/b 2"]),
    ("moved and removed", &["write /a 1"], &["mv /a /b", "rm /b"], &[]),
    ("touched and moved", &["write /a 1"], &["touch /a", "mv /a /b"], &["/b 1"]),
    (
        "edited, removed, and another file in its place",
        &["write /a 1"],
        &["write /a 2", "rm /a", "write /a 3"],
        &["/a 3"],
    ),
    (
        "moved into a folder that was removed",
        &["write /a 1"],
        &["mkdir /d", "mv /a /d/a", "rm /d"],
        &[],
    ),
    (
        "a folder moved into another that was removed",
        &["write /d/a 1"],
        &["mkdir /e", "mv /d /e/d", "rm /e"],
        &[],
    ),
    (
        "out of a folder on its way through another",
        &["write /d/a 1", "write /d/b 1"],
        &["mkdir /e", "mv /d /e/d", "mv /e/d/a /a", "rm /e"],
        &["/a 1"],
    ),
    (
        "into a new folder, which moved on with the folder above it",
        &["write /a 1", "write /d/b 1"],
        &["mkdir /d/e", "mv /a /d/e/a", "mv /d /f"],
        &["/f/b 1", "/f/e/a 1"],
    ),
    (
        "to where another was removed",
        &["write /a 1", "write /b 2"],
        &["rm /a", "mv /b /a"],
        &["/a 2"],
    ),
    (
        "a folder to where another was removed",
        &["write /d/a 1", "write /e/a 2"],
        &["rm /d", "mv /e /d"],
        &["/d/a 2"],
    ),
];

#[test]
fn lost_renames_are_done_again_whatever_came_after_them() {
    run_apart("older::exchanged_for_an_older_root");
}

/// In a mount namespace of its own.
#[test]
fn exchanged_for_an_older_root() {
    if !is_apart() {
        return;
    }
    for (name, before, lost, after) in CASES {
        try_case(name, before, lost, after);
    }
}

fn try_case(name: &str, before: &[&str], lost: &[&str], after: &[&str]) {
    let mut machine = Machine::new("ext4");
    let (root, state) = (machine.root(), machine.safe().join("data/ws"));
    std::fs::create_dir_all(&state).unwrap();
    perform(&root, &state, before);
    machine.remember();
    perform(&root, &state, lost);
    machine.exchange();
    judge(&machine, &state, name, after);
}

/// Opens what is left, and finds these files.
pub(crate) fn judge(machine: &Machine, state: &Path, name: &str, after: &[&str]) {
    judge_with(machine, state, name, after, &[]);
}

/// Opens what is left, and finds these files, of which a person saved some.
pub(crate) fn judge_with(
    machine: &Machine,
    state: &Path,
    name: &str,
    after: &[&str],
    unsynced: &[&str],
) {
    let root = machine.root();
    let world = Arc::new(Booted(machine.boot));
    let opened =
        ChildWorkspace::open(&root, state, OpenOptions { world, ..OpenOptions::default() })
            .unwrap();
    let entries = tree(&root);
    let found: Vec<String> = { entries.iter() }
        .filter(|(path, _)| !path.starts_with("/.toolyard"))
        .filter_map(|(path, seen)| match seen {
            EntrySnapshot::File(_, bytes) => {
                Some(format!("{path} {}", String::from_utf8_lossy(bytes)))
            }
            EntrySnapshot::Folder(_) => None,
            other => panic!("{name}: {path} is {other:?}"),
        })
        .collect();
    assert_eq!(found, after, "{name}");
    assert_eq!(opened.verified(), unsynced, "{name}");
}

/// Lets another process do some steps. It ends without closing the workspace, which would flush it.
pub(crate) fn perform(root: &Path, state: &Path, steps: &[&str]) {
    let order = format!("{}|{}|{}", root.display(), state.display(), steps.join(";"));
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "older::child", "--nocapture"])
        .env("YARD_OLDER_CHILD", order)
        .env(UNFLUSHED, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{steps:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// In a child process.
#[test]
fn child() {
    let Some(order) = std::env::var_os("YARD_OLDER_CHILD") else { return };
    let order = order.into_string().unwrap();
    let parts: Vec<&str> = order.split('|').collect();
    let [root, state, steps] = parts[..] else { panic!("{order}") };
    let plan = OpenOptions { world: Arc::new(Booted(1)), ..plan() };
    let opened = ChildWorkspace::open(Path::new(root), Path::new(state), plan).unwrap();
    for step in steps.split(';') {
        match step.split(' ').collect::<Vec<_>>()[..] {
            ["write", path, text] => drop(opened.perform(write(path, text, None)).unwrap()),
            ["mkdir", path] => drop(opened.perform(Mkdir { path: at(path) }).unwrap()),
            ["touch", path] => drop(opened.perform(Touch { path: at(path) }).unwrap()),
            ["mv", from, to] => drop(opened.perform(mv(from, to)).unwrap()),
            ["rm", path] => drop(opened.perform(rm(path)).unwrap()),
            ["undo"] => {
                let step = opened.history(None, 1)[0].id;
                opened.perform(Undo::of(step)).unwrap();
            }
            _ => panic!("{step}"),
        }
    }
    std::process::exit(0);
}
