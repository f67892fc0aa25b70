//! A database that an older version of the program wrote is opened and reads back as it was.

use std::ops::ControlFlow;

use tempfile::TempDir;
use yard_core::{ContentHash, WsPath};
use yard_store::{ContentCheck, Effort, Retention, Store, StoreError};
use yard_testkit::{FakeWorld, StepBuilder};

use super::{open, raw};

/// What version 11 of the format wrote: 21 versions of `/a.rs`, of which 13 were compressed with the version
/// before as the dictionary, and two kept files.
const ZSTD_DELTAS: &str = include_str!("zstd_deltas.sql");

fn written_by_version_11() -> TempDir {
    let folder = TempDir::new().unwrap();
    raw(folder.path()).execute_batch(ZSTD_DELTAS).unwrap();
    folder
}

fn zstd_deltas(folder: &TempDir) -> i64 {
    let sql = "SELECT count(*) FROM content WHERE form = 2";
    raw(folder.path()).query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Every content that is read back, with what was found.
fn rechecked(store: &dyn Store) -> Vec<(ContentHash, ContentCheck)> {
    let mut checked = Vec::new();
    let each = &mut |hash: &ContentHash, found| {
        checked.push((*hash, found));
        ControlFlow::Continue(())
    };
    store.recheck(each).unwrap();
    checked
}

#[test]
fn contents_compressed_against_others_are_re_encoded_and_read_back() {
    let folder = written_by_version_11();
    assert!(zstd_deltas(&folder) > 10);
    let store = open(folder.path());
    assert_eq!(zstd_deltas(&folder), 0);
    let file = store.lookup(&WsPath::parse("/a.rs").unwrap()).unwrap().unwrap();
    let versions = store.file_changes(file.id, None, 99).unwrap();
    assert_eq!(versions.len(), 21);
    for (_, change) in &versions {
        let hash = change.after.as_ref().unwrap().content.unwrap();
        let bytes = store.content(&hash).unwrap().unwrap();
        assert_eq!(ContentHash::of(&bytes), hash);
    }
    let (whole, kept): (Vec<_>, Vec<_>) =
        { rechecked(&store).into_iter() }.partition(|(_, found)| *found == ContentCheck::Whole);
    assert_eq!((whole.len(), kept.len()), (21, 2), "{kept:?}");
    assert_eq!(store.contradictions(), Ok(vec![]));

    let world = FakeWorld::new(7);
    let builder = StepBuilder::new(&store, &world);
    let before = store.content(&file.last.content.unwrap()).unwrap().unwrap();
    let after = [&before[..], b"one more line\n"].concat();
    let contents = [builder.prepared_after(&after, &before)];
    let steps = [builder.step("edit", vec![builder.edit(&file, &after)])];
    let head = store.head().unwrap();
    store.append(head, yard_store::Batch { steps: &steps, contents: &contents }).unwrap();
    drop(store);
    assert_eq!(open(folder.path()).content(&ContentHash::of(&after)), Ok(Some(after)));
}

#[test]
fn kept_build_output_stays_evictable() {
    let folder = written_by_version_11();
    let store = open(folder.path());
    for (bytes, retention) in [(b"large", Retention::Keep), (b"built", Retention::Evictable)] {
        let located = store.locate(&ContentHash::of(bytes)).unwrap().unwrap();
        assert_eq!(located.kept.map(|file| file.retention), Some(retention));
    }
}

#[test]
fn a_damaged_content_of_an_older_version_is_reported_and_keeps_nothing_else_from_opening() {
    let folder = written_by_version_11();
    let raw = raw(folder.path());
    let (row, hash): (i64, Vec<u8>) = raw
        .query_row("SELECT id, hash FROM content WHERE form = 2 ORDER BY depth DESC", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    raw.execute("UPDATE content SET data = x'00' WHERE id = ?1", [row]).unwrap();
    drop(raw);
    let hash = ContentHash::from_bytes(hash.try_into().unwrap());
    let store = open(folder.path());
    assert!(matches!(store.content(&hash), Err(StoreError::Corrupt(_))));
    let damaged = rechecked(&store)
        .into_iter()
        .filter(|(_, found)| matches!(found, ContentCheck::Damaged(_)));
    assert!(damaged.map(|(damaged, _)| damaged).any(|damaged| damaged == hash));
    assert_ne!(store.contradictions(), Ok(vec![]));
    let other = b"new".to_vec();
    let contents = [store.prepare(ContentHash::of(&other), &other, None, Effort::Quick).unwrap()];
    let head = store.head().unwrap();
    store.append(head, yard_store::Batch { steps: &[], contents: &contents }).unwrap();
    assert_eq!(store.content(&ContentHash::of(&other)), Ok(Some(other)));
}
