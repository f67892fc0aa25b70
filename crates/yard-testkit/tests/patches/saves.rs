//! Somebody saves a file between the plan and the end of a patch: what they saved is on disk or in the
//! store, whatever became of the patch.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use yard_core::ContentHash;
use yard_disk::{DiskCall, Probe};
use yard_store::{SqliteStore, Store};
use yard_testkit::{EntrySnapshot, soak, tree};
use yard_testkit::{Folders, OpenOptions};

use super::{patch, put};

/// A patch that edits, moves, moves with other lines, removes, and makes.
const PATCH: &str = "*** Begin Patch\n*** Update File: edit\n@@\n-edit\n+EDIT\n\
    *** Update File: move\n*** Move to: to/moved\n\
    *** Update File: both\n*** Move to: to/both\n@@\n-both\n+BOTH\n\
    *** Delete File: gone\n*** Add File: made\n+made\n*** End Patch\n";
const NAMES: [&str; 7] = ["edit", "move", "both", "gone", "made", "to/moved", "to/both"];
const SAVED: &str = "somebody's\n";

/// How somebody saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Over the file itself, where it is.
    InPlace,
    /// A new file, renamed over it.
    Renamed,
}

/// At the n-th disk call somebody saves, if the file is there; and that call may fail.
struct Saver {
    plan: AtomicUsize,
    root: PathBuf,
    name: &'static str,
    how: How,
    fail: bool,
    saved: Mutex<bool>,
}

impl Probe for Saver {
    fn before(&self, _: DiskCall) -> io::Result<()> {
        let left = self.plan.load(Ordering::SeqCst);
        if left == 0 {
            return Ok(());
        }
        self.plan.store(left - 1, Ordering::SeqCst);
        if left != 1 {
            return Ok(());
        }
        let path = self.root.join(self.name);
        if path.exists() {
            save(&self.root, &path, self.how);
            *self.saved.lock().unwrap() = true;
        }
        if self.fail { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }
}

fn save(root: &Path, path: &Path, how: How) {
    if how == How::InPlace {
        return std::fs::write(path, SAVED).unwrap();
    }
    let side = root.parent().unwrap().join("side");
    std::fs::write(&side, SAVED).unwrap();
    std::fs::rename(&side, path).unwrap();
}

fn is_kept(place: &Folders) -> bool {
    let on_disk = tree(place.root()).into_values().any(|seen| match seen {
        EntrySnapshot::File(_, bytes) => bytes == SAVED.as_bytes(),
        _ => false,
    });
    let store = SqliteStore::open(place.state()).unwrap();
    on_disk || store.content(&ContentHash::of(SAVED.as_bytes())).unwrap().is_some()
}

/// One patch in which somebody saves at the n-th call; whether it came so far.
fn run(nth: usize, name: &'static str, how: How, fail: bool) -> bool {
    let place = Folders::new();
    let quiet = place.open_as_child(OpenOptions::default());
    for name in &NAMES[..4] {
        put(&quiet, &format!("/{name}"), &format!("{name}\n"));
    }
    drop(quiet);
    let saver = Arc::new(Saver {
        plan: AtomicUsize::new(0),
        root: place.root().to_owned(),
        name,
        how,
        fail,
        saved: Mutex::new(false),
    });
    let probe = Some(Arc::clone(&saver) as Arc<dyn Probe>);
    let child = place.open_as_child(OpenOptions { probe, ..OpenOptions::default() });
    saver.plan.store(nth, Ordering::SeqCst);
    let answer = child.perform(patch(PATCH)).map(|_| ());
    let reached = saver.plan.swap(0, Ordering::SeqCst) == 0;
    drop(child);
    let child = place.open_as_child(OpenOptions::default());
    let context = format!("{name} saved {how:?} at call {nth}, failing {fail}: {answer:?}");
    assert!(!*saver.saved.lock().unwrap() || is_kept(&place), "{context}: the save is lost");
    let verified = child.perform(yard_core::op::Verify).unwrap();
    assert!(verified.problems.is_empty(), "{context}: {:?}", verified.problems);
    reached
}

#[test]
fn r7_a_save_at_any_moment_of_a_patch_is_not_lost() {
    let mut runs = 0;
    for (turn, name) in NAMES.into_iter().enumerate() {
        for nth in 1.. {
            let ways = [(How::InPlace, false), (How::Renamed, false), (How::Renamed, true)];
            // A plain run takes the ways in turn, at every second call; a soak takes all of them at each call.
            if !soak() && (turn + nth) % 2 != 0 {
                continue;
            }
            let (first, count) = if soak() { (0, 3) } else { ((turn + nth) / 2, 1) };
            let chosen = (first..first + count).map(|way| ways[way % ways.len()]);
            let reached: Vec<bool> = chosen.map(|(how, fail)| run(nth, name, how, fail)).collect();
            runs += reached.len();
            if !reached.contains(&true) {
                break;
            }
        }
    }
    eprintln!("{runs} patches among saves");
}
