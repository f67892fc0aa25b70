//! A step fails on disk and is rolled back, and the applied mark is not moved after that: recovery must not repeat any
//! part of the step, because its caller was told that nothing happened.

use std::fs::OpenOptions as FileOptions;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use yard_core::{Timestamp, World};
use yard_disk::{DiskCall, Probe};
use yard_testkit::failing_store::FailingStore;
use yard_testkit::{
    ChildWorkspace, FailingCalls, FailingProbe, FailureTrigger, Folders, InjectedFailure,
    OpenOptions, RealWorld, mv, soak, tree, write,
};

use super::{ACTS, Act, EIO, copy, expected, judge, plan, template};

/// A disk that refuses the kinds of calls that it is told at the moment.
#[derive(Default)]
struct RefusingProbe(Mutex<Vec<DiskCall>>);

impl RefusingProbe {
    fn refuse(&self, calls: &[DiskCall]) {
        *self.0.lock() = calls.to_vec();
    }
}

impl Probe for RefusingProbe {
    fn before(&self, call: DiskCall) -> io::Result<()> {
        match self.0.lock().contains(&call) {
            true => Err(io::Error::from_raw_os_error(EIO)),
            false => Ok(()),
        }
    }
}

/// The world after a restart of the machine.
struct RestartedWorld;

impl World for RestartedWorld {
    fn now(&self) -> Timestamp {
        RealWorld.now()
    }

    fn random(&self) -> u128 {
        RealWorld.random()
    }

    fn secret(&self) -> Option<[u8; 32]> {
        RealWorld.secret()
    }

    fn boot_id(&self) -> u128 {
        !RealWorld.boot_id()
    }
}

/// Options under which no flush is recorded.
fn never_flushed() -> OpenOptions {
    OpenOptions {
        store: Box::new(|store| Arc::new(FailingStore::never_flushed(store))),
        ..OpenOptions::default()
    }
}

/// A workspace with a file and a folder, whose disk refused to move each of them and to move the applied mark.
fn after_refused_moves() -> Arc<Folders> {
    let place = Folders::new();
    let disk = Arc::new(RefusingProbe::default());
    let opened = place.open_as_child(OpenOptions { probe: Some(disk.clone()), ..never_flushed() });
    opened.perform(write("/a.txt", "one\n", None)).unwrap();
    opened.perform(write("/d/x.txt", "two\n", None)).unwrap();
    for (from, to) in [("/a.txt", "/b.txt"), ("/d", "/e")] {
        disk.refuse(&[DiskCall::Move, DiskCall::Mark]);
        opened.perform(mv(from, to)).unwrap_err();
        // The next move begins with a recovery of this one.
        disk.refuse(&[]);
    }
    drop(opened);
    place
}

#[test]
fn the_next_change_repeats_no_move_that_was_rolled_back() {
    let place = after_refused_moves();
    let before = tree(place.root());
    let opened = place.open_as_child(OpenOptions::default());
    assert_eq!(before, tree(place.root()));
    assert_eq!(opened.verified(), Vec::<String>::new());
}

#[test]
fn after_a_restart_of_the_machine_no_move_that_was_rolled_back_is_repeated() {
    let place = after_refused_moves();
    let before = tree(place.root());
    assert!(before.contains_key("/a.txt") && before.contains_key("/d/x.txt"), "{before:?}");
    let options = OpenOptions { world: Arc::new(RestartedWorld), ..never_flushed() };
    let opened = place.open_as_child(options);
    assert_eq!(before, tree(place.root()));
    assert_eq!(opened.verified(), Vec::<String>::new());
}

#[test]
fn a_write_before_a_step_that_was_rolled_back_is_restored_when_a_power_loss_took_its_bytes() {
    let place = after_refused_moves();
    let file = FileOptions::new().write(true).open(place.root().join("a.txt")).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_len(0).unwrap();
    file.set_modified(written).unwrap();
    drop(file);
    let options = OpenOptions { world: Arc::new(RestartedWorld), ..never_flushed() };
    let _opened = place.open_as_child(options);
    assert_eq!(std::fs::read(place.root().join("a.txt")).unwrap(), b"one\n");
}

/// Fails one call, and ends the process when the applied mark is to be moved after that.
struct FailThenEnd {
    failing: FailingProbe,
    has_failed: AtomicBool,
}

impl Probe for FailThenEnd {
    fn before(&self, call: DiskCall) -> io::Result<()> {
        if call == DiskCall::Mark {
            if self.has_failed.load(Ordering::SeqCst) {
                std::process::abort();
            }
            return Ok(());
        }
        let result = self.failing.before(call);
        if result.is_err() {
            self.has_failed.store(true, Ordering::SeqCst);
        }
        result
    }
}

/// How a child process ends in which a call failed and the mark was not moved after it.
const NOTHING_RECORDED: i32 = 3;

/// In a child process: one act in which the n-th disk call fails.
#[test]
fn child() {
    let Some(order) = std::env::var_os("YARD_ROLLED_BACK_CHILD") else { return };
    let order = order.into_string().unwrap();
    let parts: Vec<&str> = order.split('|').collect();
    let [root, state, act, nth] = parts[..] else { panic!("{order}") };
    let (act, nth): (usize, u64) = (act.parse().unwrap(), nth.parse().unwrap());
    let trigger = FailureTrigger::new();
    let failing = FailingProbe::new(Arc::clone(&trigger), InjectedFailure::Errno(EIO));
    let probe = FailThenEnd { failing, has_failed: AtomicBool::new(false) };
    let options = OpenOptions { probe: Some(Arc::new(probe)), ..plan() };
    let opened = ChildWorkspace::open(Path::new(root), Path::new(state), options).unwrap();
    let ready = ACTS[act].1(&opened);
    trigger.arm(nth, FailingCalls::Once);
    let _ = ready(&opened);
    std::process::exit(if trigger.disarm() == 0 { 0 } else { NOTHING_RECORDED });
}

#[test]
fn a_step_that_was_rolled_back_before_a_crash_stays_rolled_back() {
    let template = template();
    let (mut crashes, mut wrong) = (0, Vec::new());
    let moving = |act: &Act| act.0.contains("move") || act.0.contains("patch");
    for (number, act) in ACTS.iter().enumerate().filter(|(_, act)| moving(act)) {
        let expected = expected(&template, act);
        for nth in 0.. {
            // A plain run takes every fourth call.
            if !soak() && (nth + number) % 4 != 0 {
                continue;
            }
            let place = copy(&template);
            let (root, state) = (place.root().display(), place.state().display());
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "faults::rolled_back::child", "--nocapture"])
                .env("YARD_ROLLED_BACK_CHILD", format!("{root}|{state}|{number}|{nth}"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            match status.code() {
                Some(0) => break,
                Some(NOTHING_RECORDED) => continue,
                Some(_) => panic!("{}: the child failed: {status}", act.0),
                None => crashes += 1,
            }
            let found = judge(&place, &expected, None);
            wrong.extend(found.iter().map(|line| format!("{} / {nth}\n    {line}", act.0)));
        }
    }
    assert!(crashes > 0, "no process ended after a step had failed");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
