//! Contents that the kernel keeps as files.

use yard_core::{ContentHash, FileId};
use yard_store::{Batch, ContentLocation, KeptFile, Prepared, Retention, Store};

use super::purging;
use crate::step_builder::path;
use crate::{FakeWorld, StepBuilder};

fn kept_file(name: &str) -> KeptFile {
    KeptFile { name: name.to_owned(), retention: Retention::Keep }
}

pub(super) fn located(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let hash = ContentHash::of(b"large");
    let keep = |contents: &[Prepared]| {
        store.append(store.head().unwrap(), Batch { steps: &[], contents }).unwrap();
        (store.content(&hash).unwrap(), store.locate(&hash).unwrap().unwrap())
    };
    let as_kept = |file: KeptFile| ContentLocation { size: 5, kept: Some(file) };
    let of = |file: &KeptFile| [Prepared::kept(hash, 5, file.clone())];
    let built = KeptFile { name: "built".to_owned(), retention: Retention::Evictable };
    let (one, two) = (kept_file("one"), kept_file("two"));
    assert_eq!(keep(&of(&built)), (None, as_kept(built.clone())));
    assert_eq!(keep(&of(&one)), (None, as_kept(one.clone())), "a file that stays is better");
    assert_eq!(store.pending_deletions(), Ok(vec!["built".to_owned()]));
    for file in [&two, &built] {
        assert_eq!(keep(&of(file)), (None, as_kept(one.clone())));
    }
    let change = builder.create(FileId::ROOT, &path("/a"), b"large");
    assert_eq!(builder.append(vec![change], &[]), Ok(1));

    let other = builder.prepared_after(b"large too, and stored against it", b"large");
    store.append(1, Batch { steps: &[], contents: &[other] }).unwrap();
    let here = (Some(b"large".to_vec()), ContentLocation { size: 5, kept: None });
    assert_eq!(keep(&[builder.prepared(b"large")]), here);
    assert_eq!(keep(&of(&two)), here);
    assert_eq!(store.contents(None, 9).unwrap().len(), 2);
}

pub(super) fn pending_deletions(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let change = builder.create(FileId::ROOT, &path("/a"), b"large");
    let (id, hash) = (change.file, ContentHash::of(b"large"));
    let contents = [Prepared::kept(hash, 5, kept_file("one"))];
    let steps = [builder.step("write", vec![change])];
    store.append(0, Batch { steps: &steps, contents: &contents }).unwrap();
    builder.delete(id);
    assert_eq!(store.pending_deletions(), Ok(vec![]));
    store.purge(&[id], &purging(&builder)).unwrap();
    assert_eq!(store.pending_deletions(), Ok(vec!["one".to_owned()]));
    assert_eq!(store.forget_deletions(&["one".to_owned(), "two".to_owned()]), Ok(()));
    assert_eq!(store.pending_deletions(), Ok(vec![]));
}
