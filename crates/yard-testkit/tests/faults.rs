//! The n-th store or disk call fails, or the process ends there, for every n (invariant 5): the operation
//! changed nothing, or recovery finishes it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests"
)]

mod rolled_back;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use yard_core::op::{ApplyPatch, Import, Mkdir, Move, OnExisting, Restore, Touch, Undo};
use yard_core::{Limits, Result, StepId};
use yard_store::StoreError;
use yard_testkit::failing_store::{FailingStore, FailureOutcome, FailureTime};
use yard_testkit::{
    ChildWorkspace, EntrySnapshot, FailingCalls, FailingProbe, FailureTrigger, FolderSnapshot,
    InjectedFailure, at, copy_tree, mv, replace, rm, soak, staged, tree, write,
};
use yard_testkit::{Folders, OpenOptions};

const EIO: i32 = 5;
const EACCES: i32 = 13;
const ENOSPC: i32 = 28;
/// Files above this are kept whole, not loaded.
const LOAD_BYTES: u64 = 4_096;

/// One operation, made ready while nothing fails.
type Ready = Box<dyn FnOnce(&ChildWorkspace) -> Result<()>>;
type Act = (&'static str, fn(&ChildWorkspace) -> Ready);

macro_rules! act {
    ($op:expr) => {
        |_| Box::new(|opened| opened.perform($op).map(|_| ()))
    };
}

/// The newest step of that verb that is known by that path.
fn step(opened: &ChildWorkspace, verb: &str, path: &str) -> StepId {
    let found = opened.history(None, 100).into_iter().find(|step| {
        step.verb == verb && step.path.as_ref().is_some_and(|first| first.to_string() == path)
    });
    found.unwrap_or_else(|| panic!("no {verb} of {path}")).id
}

fn undo(opened: &ChildWorkspace, verb: &str, path: &str) -> Ready {
    let step = step(opened, verb, path);
    Box::new(move |opened| opened.perform(Undo::of(step)).map(|_| ()))
}

/// Every kind of change, in every shape that takes another way through the kernel.
const ACTS: &[Act] = &[
    ("create in new folders", act!(write("/n1/n2/new.txt", "new\n", None))),
    ("overwrite", act!(write("/a.txt", "other\n", None))),
    ("overwrite what changed behind our back", act!(write("/changed.txt", "ours\n", None))),
    ("overwrite an unknown file", act!(write("/ext/e.txt", "ours\n", None))),
    ("overwrite a large file", act!(write("/big.bin", "small now\n", None))),
    ("edit", act!(replace("/a.txt", "two", "zwei"))),
    ("move a file", act!(mv("/a.txt", "/d/a.txt"))),
    ("move over a file", act!(mv_over("/a.txt", "/d/x.txt"))),
    ("move an unknown file over one that changed", act!(mv_over("/ext/e.txt", "/changed.txt"))),
    ("patch", act!(patched())),
    ("move a folder", act!(mv("/d", "/moved"))),
    ("move an unknown folder", act!(mv("/ext", "/d/ext"))),
    ("remove a file", act!(rm("/a.txt"))),
    ("remove a link", act!(rm("/d/link"))),
    ("remove a large file", act!(rm("/big.bin"))),
    ("remove a folder", act!(rm("/d"))),
    ("remove an unknown folder", act!(rm("/ext"))),
    ("touch", act!(Touch { path: at("/a.txt") })),
    ("touch anew", act!(Touch { path: at("/t1/t.txt") })),
    ("mkdir", act!(Mkdir { path: at("/m1/m2/m3") })),
    ("undo a removed folder", |opened| undo(opened, "remove", "/gone/deep/old.txt")),
    ("undo an old edit", |opened| undo(opened, "edit", "/merge.txt")),
    ("undo a created folder", |opened| undo(opened, "write", "/made/m/n.txt")),
    ("patch a file to a folder", act!(patch(ROOM))),
    ("undo a file's patch to a folder", |opened| undo(opened, "patch", "/p/room/b/c")),
    ("undo a patch", |opened| undo(opened, "patch", "/r/carried")),
    ("undo a move over a file", |opened| undo(opened, "move", "/p/over")),
    ("undo a moved folder", |opened| undo(opened, "move", "/there")),
    ("restore a folder", act!(Restore::RemovedAt(at("/gone")))),
    ("restore a file below it", act!(Restore::RemovedAt(at("/gone/deep/old.txt")))),
    ("restore a large file", act!(Restore::RemovedAt(at("/big2.bin")))),
    ("import", act!(Import { path: at("/"), include_ignored: true })),
];

/// A patch that adds, deletes, moves with other lines, moves, copies, changes a mode, and edits.
const PATCH: &str = "\
diff --git a/new/made b/new/made
new file mode 100755
--- /dev/null
+++ b/new/made
@@ -0,0 +1 @@
+made
diff --git a/p/gone b/p/gone
deleted file mode 100644
--- a/p/gone
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/p/both b/q/both
old mode 100644
new mode 100755
similarity index 50%
rename from p/both
rename to q/both
--- a/p/both
+++ b/q/both
@@ -1,2 +1,2 @@
-1
+one
 2
diff --git a/p/moved b/q/moved
similarity index 100%
rename from p/moved
rename to q/moved
diff --git a/a.txt b/p/copy
similarity index 100%
copy from a.txt
copy to p/copy
diff --git a/p/mode b/p/mode
old mode 100644
new mode 100755
--- a/changed.txt
+++ b/changed.txt
@@ -1 +1,2 @@
 behind your back
+and ours
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+zwei
 three
";

/// A patch of the template's past, to be undone.
const UNDONE: &str = "\
*** Begin Patch
*** Delete File: p/delete
*** Update File: p/carried
*** Move to: r/carried
@@
-1
+one
*** Add File: r/added
+added
*** Update File: merge.txt
@@
-4
+four
*** End Patch
";

/// A file that makes room for a folder of its name.
const ROOM: &str = "\
*** Begin Patch
*** Delete File: a.txt
*** Add File: a.txt/b/c
+below
*** End Patch
";

fn patch(text: &str) -> ApplyPatch {
    let patch = yard_core::patch::parse(text);
    ApplyPatch { patch: patch.unwrap_or_else(|error| panic!("{error}")) }
}

fn patched() -> ApplyPatch {
    patch(PATCH)
}

/// A move that may replace a file.
fn mv_over(from: &str, to: &str) -> Move {
    Move { on_existing: OnExisting::Replace, ..mv(from, to) }
}

fn limits() -> Limits {
    Limits { load_bytes: LOAD_BYTES, ..Limits::default() }
}

fn plan() -> OpenOptions {
    OpenOptions { limits: limits(), ..OpenOptions::default() }
}

/// Folders with the same in them.
fn copy(place: &Folders) -> Arc<Folders> {
    let copy = Folders::new();
    copy_tree(place.root(), copy.root());
    copy_tree(place.state(), copy.state());
    copy.adopt();
    copy
}

/// A file that somebody else saves.
fn save(place: &Folders, path: &str, bytes: impl AsRef<[u8]>) {
    let path = place.root().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Folders with some history, to be copied.
fn template() -> Arc<Folders> {
    let place = Folders::new();
    save(&place, "big.bin", vec![b'b'; 10_000]);
    save(&place, "big2.bin", vec![b'c'; 10_000]);
    let opened = place.open_as_child(plan());
    let done = |result: Result<()>| result.unwrap_or_else(|fault| panic!("template: {fault}"));
    let put = |path: &str, text: &str| done(opened.perform(write(path, text, None)).map(|_| ()));
    put("/a.txt", "one\ntwo\nthree\n");
    put("/d/x.txt", "x\n");
    put("/d/y.txt", "y\n");
    put("/d/sub/z.txt", "z\n");
    put("/changed.txt", "before\n");
    put("/gone/deep/old.txt", "old\n");
    put("/gone/other.txt", "other\n");
    std::os::unix::fs::symlink("x.txt", place.root().join("d/link")).unwrap();
    // Modes that the process's mask would not give.
    let mode = |path: &str, mode| {
        std::fs::set_permissions(place.root().join(path), PermissionsExt::from_mode(mode)).unwrap();
    };
    mode("d/sub", 0o777);
    mode("d/x.txt", 0o600);
    mode("gone/deep", 0o2770);
    done(opened.perform(Import { path: at("/"), include_ignored: true }).map(|_| ()));
    put("/merge.txt", "1\n2\n3\n4\n5\n");
    done(opened.perform(replace("/merge.txt", "2", "two")).map(|_| ()));
    put("/merge.txt", "1\ntwo\n3\n4\n5\n6\n");
    put("/made/m/n.txt", "n\n");
    put("/here/h.txt", "h\n");
    done(opened.perform(mv("/here", "/there")).map(|_| ()));
    done(opened.perform(rm("/gone")).map(|_| ()));
    done(opened.perform(rm("/big2.bin")).map(|_| ()));
    for name in ["gone", "moved", "mode", "delete", "over", "under"] {
        put(&format!("/p/{name}"), &format!("{name}\n"));
    }
    put("/p/both", "1\n2\n");
    put("/p/carried", "1\n2\n");
    put("/p/room", "room\n");
    done(opened.perform(patch(UNDONE)).map(|_| ()));
    done(opened.perform(patch(&ROOM.replace("a.txt", "p/room"))).map(|_| ()));
    done(opened.perform(mv_over("/p/under", "/p/over")).map(|_| ()));
    drop(opened);
    save(&place, "changed.txt", "behind your back\n");
    save(&place, "ext/e.txt", "e\n");
    save(&place, "ext/in/f.txt", "f\n");
    place
}

/// The tree before an act and the one after it, when nothing fails.
struct Expected {
    before: FolderSnapshot,
    after: FolderSnapshot,
}

fn expected(template: &Folders, act: &Act) -> Expected {
    let place = copy(template);
    let before = tree(place.root());
    let opened = place.open_as_child(plan());
    let ready = act.1(&opened);
    ready(&opened).unwrap_or_else(|fault| panic!("{}: {fault}", act.0));
    let after = tree(place.root());
    let allowed = opened.verified();
    assert!(allowed.iter().all(|path| unsynced(path)), "{}: {allowed:?}", act.0);
    Expected { before, after }
}

/// The template changes the one behind the store's back, and the other is too large to be recorded.
fn unsynced(path: &str) -> bool {
    path == "/changed.txt" || path == "/big.bin"
}

/// A large file was to be kept as the version itself, but stayed in its place: nothing is lost.
fn taken_back(problem: &str, found: &FolderSnapshot) -> bool {
    problem.contains("is kept as")
        && matches!(found.get("/big.bin"), Some(EntrySnapshot::File(_, bytes)) if bytes.len() == 10_000)
}

fn differences(a: &FolderSnapshot, b: &FolderSnapshot) -> String {
    let mut lines = Vec::new();
    for (path, seen) in a {
        match b.get(path) {
            None => lines.push(format!("- {path} ({seen:?})")),
            Some(other) if other != seen => lines.push(format!("~ {path} {seen:?} -> {other:?}")),
            Some(_) => {}
        }
    }
    lines.extend(b.keys().filter(|path| !a.contains_key(*path)).map(|path| format!("+ {path}")));
    lines.join(", ")
}

/// What is wrong after a failure, once recovery ran; nothing if all is well.
fn judge(place: &Folders, expected: &Expected, reply: Option<&Result<()>>) -> Vec<String> {
    let mut wrong = Vec::new();
    let opened = match ChildWorkspace::open(place.root(), place.state(), plan()) {
        Ok(opened) => opened,
        Err(fault) => return vec![format!("the workspace does not open again: {fault}")],
    };
    let found = tree(place.root());
    let complete = found == expected.after;
    if matches!(reply, Some(Ok(()))) && !complete {
        wrong.push(format!("acknowledged, but: {}", differences(&expected.after, &found)));
    } else if !complete && found != expected.before {
        wrong.push(format!(
            "half done: before it {}; after it {}",
            differences(&expected.before, &found),
            differences(&expected.after, &found)
        ));
    }
    let is_rolled_back = opened.history(None, 4).iter().any(|step| step.verb == "compensate");
    if is_rolled_back && found != expected.before {
        let repeated = differences(&expected.before, &found);
        wrong.push(format!("rolled back, and repeated by recovery: {repeated}"));
    }
    let happened = complete && expected.before != expected.after;
    if let Some(Err(fault)) = reply.filter(|_| happened)
        && fault.message().contains("nothing was changed")
    {
        wrong.push(format!("told \"{fault}\", yet it happened"));
    }
    match opened.perform(yard_core::op::Verify) {
        Err(fault) => wrong.push(format!("verify: {fault}")),
        Ok(verified) => {
            wrong.extend(
                verified.problems.into_iter().filter(|problem| !taken_back(problem, &found)),
            );
            let differ = verified.unsynced.iter().map(ToString::to_string);
            let differ: Vec<String> = differ.filter(|path| !unsynced(path)).collect();
            if !differ.is_empty() {
                wrong.push(format!("unsynced: {differ:?}"));
            }
        }
    }
    let left = staged(place.state());
    if !left.is_empty() {
        wrong.push(format!("left in the stage: {left:?}"));
    }
    wrong
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Disk(i32),
    Store(FailureTime, u8),
}

fn store_error(kind: u8) -> StoreError {
    match kind {
        0 => StoreError::Io("injected".to_owned()),
        1 => StoreError::Full,
        _ => StoreError::Refused("injected".to_owned()),
    }
}

/// Two changes that leave nothing behind.
fn come_and_go(opened: &ChildWorkspace) -> yard_core::Result<()> {
    opened.perform(write("/zz.txt", "next\n", None))?;
    opened.perform(rm("/zz.txt")).map(drop)
}

/// Runs one act with one failure; what is wrong, or `None` once the failure is never reached.
fn run(
    template: &Folders,
    act: &Act,
    expected: &Expected,
    target: Target,
    nth: u64,
    reach: FailingCalls,
) -> Option<Vec<String>> {
    let place = copy(template);
    let trigger = FailureTrigger::new();
    let mut plan = plan();
    let mut probe = None;
    match target {
        Target::Disk(errno) => {
            let failing =
                Arc::new(FailingProbe::new(Arc::clone(&trigger), InjectedFailure::Errno(errno)));
            probe = Some(Arc::clone(&failing));
            plan.probe = Some(failing);
        }
        Target::Store(when, kind) => {
            let trigger = Arc::clone(&trigger);
            plan.store = Box::new(move |store| {
                let answer = FailureOutcome::Error(store_error(kind));
                Arc::new(FailingStore::new(store, Arc::clone(&trigger), when, answer))
            });
        }
    }
    let opened = place.open_as_child(plan);
    // Another process on the same root, in a part of the runs.
    let other = (nth % 8 >= 6).then(|| place.open_as_child(self::plan()));
    let survivor = other.as_ref().unwrap_or(&opened);
    if nth % 4 >= 2 {
        // Who has changed something knows where the history ended.
        come_and_go(survivor).unwrap();
    }
    let ready = act.1(&opened);
    trigger.arm(nth, reach);
    let reply = ready(&opened);
    if trigger.disarm() == 0 {
        return None;
    }
    let mut wrong = Vec::new();
    if nth % 2 == 1 {
        // Somebody goes on: the next change finishes what was left.
        if let Err(fault) = come_and_go(survivor) {
            wrong.push(format!("the next change fails: {fault}"));
        }
    }
    drop(other);
    drop(opened);
    wrong.extend(judge(&place, expected, Some(&reply)));
    let call = probe.and_then(|probe| probe.last());
    let context = format!("{} / {target:?} {call:?} nth {nth} {reach:?} told {reply:?}", act.0);
    Some(wrong.into_iter().map(|line| format!("{context}\n    {line}")).collect())
}

fn every_call(targets: &[Target], reach: FailingCalls) {
    let template = template();
    let (mut runs, mut wrong) = (0, Vec::new());
    for (first, act) in (0..).zip(ACTS) {
        let expected = expected(&template, act);
        // A plain run takes the errors in turn at every fifth call, a soak all of them at each call.
        let (rounds, stride) = if soak() { (targets.len(), 1) } else { (1, 5) };
        for round in 0..rounds {
            for (turn, nth) in (first % stride as u64..).step_by(stride).enumerate() {
                let target = targets[(round + turn) % targets.len()];
                match run(&template, act, &expected, target, nth, reach) {
                    None => break,
                    Some(found) => wrong.extend(found),
                }
                runs += 1;
            }
        }
    }
    eprintln!("{runs} failures injected, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_nth_disk_call_fails() {
    every_call(
        &[Target::Disk(EIO), Target::Disk(ENOSPC), Target::Disk(EACCES)],
        FailingCalls::Once,
    );
}

#[test]
fn the_disk_fails_from_the_nth_call_on() {
    every_call(
        &[Target::Disk(EIO), Target::Disk(ENOSPC), Target::Disk(EACCES)],
        FailingCalls::Onwards,
    );
}

#[test]
fn the_nth_store_call_fails_before_it_is_made() {
    let kinds = [0, 1, 2].map(|kind| Target::Store(FailureTime::Before, kind));
    every_call(&kinds, FailingCalls::Once);
}

#[test]
fn the_nth_store_call_fails_after_it_was_made() {
    let kinds = [0, 1, 2].map(|kind| Target::Store(FailureTime::After, kind));
    every_call(&kinds, FailingCalls::Once);
}

#[test]
fn the_store_fails_from_the_nth_call_on() {
    let kinds = [
        (FailureTime::Before, 0),
        (FailureTime::After, 0),
        (FailureTime::Before, 1),
        (FailureTime::After, 2),
    ];
    every_call(&kinds.map(|(when, kind)| Target::Store(when, kind)), FailingCalls::Onwards);
}

/// In a child process: one act, and the end of the process at the n-th call.
#[test]
fn child() {
    let Some(order) = std::env::var_os("YARD_FAULT_CHILD") else { return };
    let order = order.into_string().unwrap();
    let parts: Vec<&str> = order.split('|').collect();
    let [root, state, act, target, nth] = parts[..] else { panic!("{order}") };
    let (act, nth): (usize, u64) = (act.parse().unwrap(), nth.parse().unwrap());
    let trigger = FailureTrigger::new();
    let mut plan = plan();
    if target == "disk" {
        plan.probe =
            Some(Arc::new(FailingProbe::new(Arc::clone(&trigger), InjectedFailure::Abort)));
    } else {
        let when = if target == "before" { FailureTime::Before } else { FailureTime::After };
        let trigger = Arc::clone(&trigger);
        plan.store = Box::new(move |store| {
            Arc::new(FailingStore::new(store, Arc::clone(&trigger), when, FailureOutcome::Abort))
        });
    }
    let opened = ChildWorkspace::open(Path::new(root), Path::new(state), plan).unwrap();
    let ready = ACTS[act].1(&opened);
    trigger.arm(nth, FailingCalls::Once);
    ready(&opened).unwrap();
    trigger.disarm();
    std::process::exit(0);
}

#[test]
fn the_process_ends_at_the_nth_call() {
    let template = template();
    let (mut runs, mut wrong) = (0, Vec::new());
    for (number, act) in ACTS.iter().enumerate() {
        let expected = expected(&template, act);
        for target in ["disk", "before", "after"] {
            for nth in 0.. {
                // A plain run takes every fourth call.
                if !soak() && (nth + number) % 4 != 0 {
                    continue;
                }
                let place = copy(&template);
                let (root, state) = (place.root().display(), place.state().display());
                let order = format!("{root}|{state}|{number}|{target}|{nth}");
                let status = Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "faults::child", "--nocapture"])
                    .env("YARD_FAULT_CHILD", order)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
                    .unwrap();
                if status.success() {
                    break;
                }
                assert!(status.code().is_none(), "{}: the child failed: {status}", act.0);
                runs += 1;
                let found = judge(&place, &expected, None);
                wrong.extend(
                    found.iter().map(|line| format!("{} / {target} {nth}\n    {line}", act.0)),
                );
            }
        }
    }
    eprintln!("{runs} crashes, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
