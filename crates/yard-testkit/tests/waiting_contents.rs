//! The contents of a step that is planned: beyond a bound they wait for the commit in a file and not in memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use yard_core::op::{Import, Restore};
use yard_testkit::failing_store::FailingStore;
use yard_testkit::{Folders, OpenOptions, TestWorkspace, at, rm, tree};

/// Bytes of contents that may wait in memory.
const BOUND: u64 = 32 << 20;
const FILE_BYTES: usize = 50 << 10;
const FILES: usize = 900;

/// A workspace with a folder of small files that the store does not know, and the most bytes of contents that one append
/// had in memory.
fn with_unknown_folder() -> (TestWorkspace, Arc<AtomicU64>) {
    let most = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&most);
    let store = move |store| {
        Arc::new(FailingStore::counting(store, Arc::clone(&counter))) as Arc<dyn yard_store::Store>
    };
    let options =
        OpenOptions { store: Box::new(move |inner| store(inner)), ..OpenOptions::default() };
    let workspace = TestWorkspace::open(&Folders::in_memory(), options).unwrap();
    for number in 0..FILES {
        // Bytes that compress badly, so that it is certain that they do not wait compressed.
        let mut state = number as u64 + 1;
        let bytes = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        let bytes: Vec<u8> = bytes.take(FILE_BYTES).collect();
        workspace.put(&format!("/unknown/{number}.bin"), bytes);
    }
    (workspace, most)
}

#[test]
fn a_removal_of_a_large_unknown_folder_has_bounded_contents_in_memory_and_is_restored() {
    let (workspace, most) = with_unknown_folder();
    let before = tree(workspace.root());
    workspace.perform(rm("/unknown")).unwrap();
    assert!(!workspace.has("/unknown"));
    let most = most.load(Ordering::SeqCst);
    assert!(most <= BOUND, "{most} bytes waited in memory");
    workspace.perform(Restore::RemovedAt(at("/unknown"))).unwrap();
    assert_eq!(before, tree(workspace.root()));
    workspace.reopen();
}

#[test]
fn an_import_has_bounded_contents_in_memory() {
    let (workspace, most) = with_unknown_folder();
    workspace.perform(Import { path: at("/"), include_ignored: true }).unwrap();
    let most = most.load(Ordering::SeqCst);
    assert!(most <= BOUND, "{most} bytes waited in memory");
    let unsynced = workspace.perform(yard_core::op::Verify).unwrap();
    assert!(unsynced.problems.is_empty(), "{:?}", unsynced.problems);
    assert!(unsynced.unsynced.is_empty(), "{:?}", unsynced.unsynced);
}
