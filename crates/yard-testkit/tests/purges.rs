//! A purge removes what quoted the purged contents only once it is certain that it happens.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests"
)]

use yard_core::op::{Purge, Restore};
use yard_core::path::OUTPUT_NAME;
use yard_core::{Author, World as _};
use yard_kernel::{Committed, Execute as _, Planned, StepMetadata};
use yard_store::AuditEntry;
use yard_testkit::{RealWorld, TestWorkspace, at, rm, write};

#[test]
fn a_purge_of_a_file_that_was_restored_meanwhile_leaves_command_output() {
    let workspace = TestWorkspace::new();
    workspace.perform(write("/a.txt", "a\n", None)).unwrap();
    let removed = workspace.perform(rm("/a.txt")).unwrap();
    let (kernel, call) = (workspace.kernel(), workspace.call_context());
    let Planned::Change(proposal) = Purge { file: removed.file }.plan(kernel, &call).unwrap()
    else {
        panic!("a purge changes something");
    };
    workspace.perform(Restore::RemovedAt(at("/a.txt"))).unwrap();
    let output = workspace.folders().state().join("output").join(OUTPUT_NAME).join("run.stdout");
    std::fs::write(&output, "printed\n").unwrap();
    let metadata = StepMetadata {
        author: Author::External,
        chat: None,
        audit: AuditEntry::by_toolyard(RealWorld.now(), "purge", String::new()),
        side_effects: Vec::new(),
    };
    let committed = kernel.commit(*proposal, metadata, &call).unwrap();
    assert!(matches!(committed, Committed::Stale));
    assert!(output.exists());
}
