//! Files as they were after a step.

use yard_core::{FileId, FileState};
use yard_store::{NetChange, Seq, Store};

use crate::step_builder::{name, path};
use crate::{FakeWorld, StepBuilder};

pub(super) fn tree(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let folder = builder.create_folder(FileId::ROOT, &path("/src"));
    builder.append(vec![folder.clone()], &[]).unwrap();
    let a = builder.create(folder.file, &path("/src/a"), b"1");
    builder.append(vec![a.clone()], &[b"1"]).unwrap();
    builder.write(a.file, b"22");
    let moved = builder.rename(&builder.node(folder.file), FileId::ROOT, &path("/lib"));
    builder.append(vec![moved], &[]).unwrap();
    let moved = builder.rename(&builder.node(a.file), FileId::ROOT, &path("/b"));
    builder.append(vec![moved], &[]).unwrap();
    builder.delete(a.file);

    let names = |parent: FileId, seq: Seq| -> Vec<String> {
        let found = store.children_then(parent, None, seq).unwrap();
        let mut names: Vec<String> =
            found.iter().map(|found| found.state.name.to_string()).collect();
        names.sort();
        names
    };
    let of_root: Vec<Vec<String>> = (0..8).map(|seq| names(FileId::ROOT, seq)).collect();
    let expected: [&[&str]; 8] =
        [&[], &["src"], &["src"], &["src"], &["lib"], &["b", "lib"], &["lib"], &["lib"]];
    assert_eq!(of_root, expected);
    let of_folder: Vec<usize> = (0..7).map(|seq| names(folder.file, seq).len()).collect();
    assert_eq!(of_folder, [0, 0, 1, 1, 1, 0, 0]);
    let one = |text: &str, seq: Seq| {
        let mut found = store.children_then(FileId::ROOT, Some(&name(text)), seq).unwrap();
        found.pop().map(|found| found.file)
    };
    assert_eq!((one("src", 3), one("src", 4), one("rc", 3)), (Some(folder.file), None, None));
    assert_eq!(
        (one("lib", 3), one("lib", 4), one("b", 5)),
        (None, Some(folder.file), Some(a.file))
    );
    assert_eq!(store.children_then(FileId::new(world), None, 9), Ok(vec![]));

    let size = |seq: Seq| store.file_then(a.file, seq).unwrap().map(|state: FileState| state.size);
    assert_eq!(
        [0, 1, 2, 3, 4, 5, 6, 7].map(size),
        [None, None, Some(1), Some(2), Some(2), Some(2), None, None]
    );
    assert_eq!(store.file_then(FileId::new(world), 9), Ok(None));
}

pub(super) fn net(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let a = builder.file("/a", b"1");
    let b = builder.file("/b", b"1");
    let at = |file: FileId, seq: Seq| store.file_then(file, seq).unwrap();
    builder.write(a, b"22");
    builder.delete(b);
    builder.write(a, b"333");
    let net = |from: Seq, to: Seq| store.net_changes(from..to).unwrap();
    let change = |file: FileId, before: Seq, after: Seq| NetChange {
        file,
        before: at(file, before),
        after: at(file, after),
    };
    assert_eq!(net(0, 9), [change(a, 0, 5), change(b, 0, 5)]);
    assert_eq!(net(2, 4), [change(b, 1, 3), change(a, 1, 3)]);
    assert_eq!(net(3, 6), [change(a, 2, 5), change(b, 2, 5)]);
    assert_eq!(net(5, 6), [change(a, 4, 5)]);
    assert_eq!((net(6, 9), net(3, 3)), (vec![], vec![]));
}
