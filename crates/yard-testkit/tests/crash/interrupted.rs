//! A recovery that is cut off itself, at any of its calls to the disk, and then done again: by the next process, or
//! after the next power loss. Recovery changes times of files and folders, and what it did before it was cut off must
//! not be taken for the work of a person.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use yard_core::Limits;
use yard_testkit::{
    ChildWorkspace, FailingCalls, FailingProbe, FailureTrigger, InjectedFailure, OpenOptions, soak,
};

use crate::lost::{self, exchange_all_but_the_journal};
use crate::machine::{Booted, Machine, is_apart, run_apart};
use crate::older::{self, Case, judge, judge_with, perform};
use crate::writer::LARGE;

/// Lost steps that need several changes of the disk to be done again.
const CASES: [Case; 9] = [
    (
        "a file that was edited and moved on through folders that moved",
        &["write /f 1", "mkdir /d1", "mkdir /d2"],
        &["write /f 2", "touch /f", "mv /f /d1/g", "mv /d1 /d0", "mv /d0/g /d2/f"],
        &["/d2/f 2"],
    ),
    (
        "a file that was moved three times",
        &["write /a 1"],
        &["mv /a /b", "mv /b /c", "mv /c /d"],
        &["/d 1"],
    ),
    (
        "a file that was edited between its moves",
        &["write /a 1"],
        &["mv /a /b", "write /b 2", "mv /b /c", "touch /c", "mv /c /d"],
        &["/d 2"],
    ),
    (
        "out of a folder below one that moved, and that folder after it",
        &["write /p/d/x 1", "write /p/d/z 2"],
        &["mv /p /q", "mv /q/d/x /y", "mv /q/d /e"],
        &["/e/z 2", "/y 1"],
    ),
    (
        "into a folder that moved and was removed and brought back",
        &["write /a 1", "write /d/b 1"],
        &["write /a 2", "mv /a /d/a", "mv /d /e", "rm /e", "undo", "mv /e /f"],
        &["/f/a 2", "/f/b 1"],
    ),
    (
        "out of the folder that was then removed and brought back",
        &["write /d/a 1", "write /d/b 1"],
        &["write /d/a 2", "mv /d /e", "mv /e/a /a", "rm /e", "undo"],
        &["/a 2", "/e/b 1"],
    ),
    (
        "through a new folder that was removed",
        &["write /a 1"],
        &["mkdir /d/e", "mv /a /d/e/a", "mv /d /f", "mv /f/e/a /b", "rm /f"],
        &["/b 1"],
    ),
    (
        "two files that changed places, and one of them was edited",
        &["write /a 1", "write /b 2"],
        &["mv /a /t", "mv /b /a", "mv /t /b", "write /b 3"],
        &["/a 2", "/b 3"],
    ),
    (
        "a folder with a folder that moved out and in again",
        &["write /p/d/x 1", "write /p/y 1"],
        &["mv /p/d /d", "mv /p /q", "write /d/x 2", "mv /d /q/e", "mv /q /r"],
        &["/r/e/x 2", "/r/y 1"],
    ),
];

#[test]
fn a_recovery_that_was_cut_off_is_done_again() {
    run_apart("interrupted::cases");
}

/// In a mount namespace of its own.
#[test]
fn cases() {
    if !is_apart() {
        return;
    }
    let others = older::CASES.into_iter().chain(lost::CASES);
    let others = others.filter(|_| soak());
    for (at, (name, before, lost, after)) in CASES.into_iter().chain(others).enumerate() {
        let mut machine = Machine::new(["ext4", "xfs"][at % 2]);
        let (root, state) = (machine.root(), machine.state());
        perform(&root, &state, before);
        machine.remember();
        perform(&root, &state, lost);
        exchange_all_but_the_journal(&mut machine);
        let cuts = cut_off_ever_later(&mut machine);
        judge(&machine, &state, &format!("{name}, cut off {cuts} times"), after);
    }
}

#[test]
fn a_recovery_that_was_cut_off_once_is_done_again() {
    run_apart("interrupted::cut_off_once");
}

/// In a mount namespace of its own. Each call of the first case is the last one once.
#[test]
fn cut_off_once() {
    if !is_apart() {
        return;
    }
    let (name, before, lost, after) = CASES[0];
    for nth in (0..).step_by(if soak() { 1 } else { 3 }) {
        let mut machine = Machine::new("ext4");
        let (root, state) = (machine.root(), machine.state());
        perform(&root, &state, before);
        machine.remember();
        perform(&root, &state, lost);
        exchange_all_but_the_journal(&mut machine);
        let is_done = !cut_off(&machine, nth);
        machine.boot += 1;
        judge(&machine, &state, &format!("{name}, cut off at call {nth}"), after);
        if is_done {
            return;
        }
    }
}

#[test]
fn what_a_person_saved_after_a_recovery_was_cut_off_stays() {
    run_apart("interrupted::saved_in_between");
}

/// In a mount namespace of its own.
#[test]
fn saved_in_between() {
    if !is_apart() {
        return;
    }
    let mut machine = Machine::new("xfs");
    let (root, state) = (machine.root(), machine.state());
    let before = ["write /a 1", "write /b 1", "write /c 1", "write /d/e 1"];
    perform(&root, &state, &before);
    machine.remember();
    let lost = ["write /a 2", "mv /a /x", "write /b 2", "mv /b /y", "write /c 2", "mv /d /z"];
    perform(&root, &state, &lost);
    exchange_all_but_the_journal(&mut machine);
    // Each of them is cut off one call later, until all moves are done again.
    let moved = || ["x", "y", "z"].iter().all(|name| root.join(name).exists());
    let mut nth = 0;
    while !moved() {
        assert!(cut_off(&machine, nth), "recovery ended without the moves");
        nth += 1;
    }
    std::fs::write(root.join("x"), "saved in place").unwrap();
    std::fs::write(root.join("z/draft"), "saved by renaming").unwrap();
    std::fs::rename(root.join("z/draft"), root.join("z/e")).unwrap();
    machine.boot += 1;
    let after = ["/c 2", "/x saved in place", "/y 2", "/z/e saved by renaming"];
    let unsynced = ["/x", "/z/e"];
    judge_with(&machine, &state, "saved in between", &after, &unsynced);
}

/// Cuts recovery off again and again, each time later than before, until it is done. Returns how often.
fn cut_off_ever_later(machine: &mut Machine) -> usize {
    let (mut nth, mut count) = (0, 0);
    while cut_off(machine, nth) {
        nth += if soak() { 1 } else { 1 + nth / 4 };
        count += 1;
        // Every other time only the process ended, and the machine kept running.
        machine.boot += (count % 2) as u128;
    }
    count
}

/// Opens what is left in a process that ends right before its `nth` call to the disk. Returns whether it got there.
pub(crate) fn cut_off(machine: &Machine, nth: u64) -> bool {
    let (root, state, boot) = (machine.root(), machine.state(), machine.boot);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "interrupted::child", "--nocapture"])
        .env(CHILD, format!("{}|{}|{boot}|{nth}", root.display(), state.display()))
        .output()
        .unwrap();
    let is_cut = output.status.signal().is_some();
    assert!(is_cut || output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    is_cut
}

/// Tells a child process what it has to open, and where it ends.
const CHILD: &str = "YARD_INTERRUPTED_CHILD";

/// In a child process.
#[test]
fn child() {
    let Some(order) = std::env::var_os(CHILD) else { return };
    let order = order.into_string().unwrap();
    let parts: Vec<&str> = order.split('|').collect();
    let [root, state, boot, nth] = parts[..] else { panic!("{order}") };
    let trigger = FailureTrigger::new();
    trigger.arm(nth.parse().unwrap(), FailingCalls::Once);
    let probe = FailingProbe::new(Arc::clone(&trigger), InjectedFailure::Abort);
    let plan = OpenOptions {
        limits: Limits { load_bytes: LARGE, ..Limits::default() },
        world: Arc::new(Booted(boot.parse().unwrap())),
        probe: Some(Arc::new(probe)),
        ..OpenOptions::default()
    };
    drop(ChildWorkspace::open(Path::new(root), Path::new(state), plan).unwrap());
}
