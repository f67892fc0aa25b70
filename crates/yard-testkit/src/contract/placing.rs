//! What every store promises about what steps do to the disk, and about the folder that they do it to.

use yard_core::FileId;
use yard_store::{
    Batch, FileIdentity, Mark, Placement, RecoveryNote, RootIdentity, Store, StoreError,
};

use crate::step_builder::path;
use crate::{FakeWorld, StepBuilder};

pub(super) fn projected(store: &dyn Store, _: &FakeWorld) {
    for mark in [Mark { seq: 3, boot: u128::MAX }, Mark { seq: 2, boot: 9 }] {
        store.set_flushed_mark(mark).unwrap();
        assert_eq!(store.flushed_mark(), Ok(mark));
    }
}

pub(super) fn placements(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let identity = |inode| FileIdentity { inode, birth: -1, mtime: i64::MAX, ctime: 7 };
    let placement = |change, inode| Placement {
        change,
        placed: Some(identity(inode)),
        displaced: (change == 0).then(|| identity(u64::MAX)),
    };
    for name in ["a", "b"] {
        let bytes = name.as_bytes();
        let changes = vec![builder.create(FileId::ROOT, &path(name), bytes)];
        let mut step = builder.step("write", changes);
        step.placements = vec![placement(0, 5)];
        let contents = [builder.prepared(bytes)];
        store.append(store.head().unwrap(), Batch { steps: &[step], contents: &contents }).unwrap();
    }
    assert_eq!(store.placements(1), Ok(vec![placement(0, 5)]));
    store.add_placements(1, &[placement(0, 6)]).unwrap();
    assert_eq!(store.placements(1), Ok(vec![placement(0, 5), placement(0, 6)]));
    assert!(matches!(store.add_placements(9, &[placement(0, 6)]), Err(StoreError::Misfit(_))));
    store.set_flushed_mark(Mark { seq: 1, boot: 1 }).unwrap();
    assert_eq!(store.placements(1), Ok(Vec::new()));
    assert_eq!(store.placements(2), Ok(vec![placement(0, 5)]));
    assert_eq!(store.placements(3), Ok(Vec::new()));
}

pub(super) fn recovery_notes(store: &dyn Store, _: &FakeWorld) {
    assert_eq!(store.recovery_notes(), Ok(Vec::new()));
    let note = |inode, is_temporary| RecoveryNote {
        found: FileIdentity { inode, birth: -1, mtime: i64::MAX, ctime: 7 },
        is_temporary,
    };
    store.add_recovery_notes(&[note(u64::MAX, false), note(3, true)]).unwrap();
    store.add_recovery_notes(&[note(3, false)]).unwrap();
    let all = vec![note(u64::MAX, false), note(3, true), note(3, false)];
    assert_eq!(store.recovery_notes(), Ok(all));
    store.set_flushed_mark(Mark { seq: 0, boot: 1 }).unwrap();
    assert_eq!(store.recovery_notes(), Ok(Vec::new()));
}

pub(super) fn root(store: &dyn Store, _: &FakeWorld) {
    assert_eq!(store.root(), Ok(None));
    let one = RootIdentity { filesystem: Some(u64::MAX), inode: 2, birth: Some(-3) };
    for root in [one, RootIdentity { filesystem: None, inode: u64::MAX, birth: None }] {
        store.set_root(root).unwrap();
        assert_eq!(store.root(), Ok(Some(root)));
    }
}
