//! What was prepared and not committed leaves no file, and what is committed keeps its own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use yard_core::ContentHash;
use yard_store::{Batch, Effort, Prepared, SqliteStore, Store as _, StoreError};

use crate::open;

/// Bytes that no compression makes smaller than a row.
fn noise(seed: u32) -> Vec<u8> {
    let block = |n: u32| ContentHash::of(&[seed.to_le_bytes(), n.to_le_bytes()].concat());
    (0..40_000).flat_map(|n| block(n).as_bytes().to_owned()).collect()
}

fn prepare(store: &SqliteStore, bytes: &[u8]) -> Prepared {
    store.prepare(ContentHash::of(bytes), bytes, None, Effort::Thorough).unwrap()
}

fn append(store: &SqliteStore, prepared: Prepared) {
    let head = store.head().unwrap();
    store.append(head, Batch { steps: &[], contents: &[prepared] }).unwrap();
}

/// The files with contents in the folder of a store.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(dir.join("blobs")).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if !path.file_name().unwrap().to_string_lossy().starts_with("writer-") {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    found
}

/// The place of a committed content.
fn place(dir: &Path, bytes: &[u8]) -> PathBuf {
    let name = ContentHash::of(bytes).to_string();
    dir.join("blobs").join(&name[..2]).join(&name)
}

#[test]
fn a_content_that_is_prepared_and_not_committed_leaves_no_file() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path());
    let bytes = noise(1);
    let prepared = prepare(&store, &bytes);
    assert_eq!(files(folder.path()).len(), 1, "it is written already");
    let other = prepared.clone();
    drop(prepared);
    assert_eq!(files(folder.path()).len(), 1, "a clone of it is left");
    drop(other);
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_plan_that_is_dropped_takes_nothing_from_another_one() {
    let folder = TempDir::new().unwrap();
    let (ours, theirs) = (open(folder.path()), open(folder.path()));
    let bytes = noise(2);
    let (dropped, kept) = (prepare(&ours, &bytes), prepare(&theirs, &bytes));
    drop(dropped);
    append(&theirs, kept);
    drop(prepare(&ours, &bytes));
    assert_eq!(ours.content(&ContentHash::of(&bytes)).unwrap(), Some(bytes.clone()));
    assert_eq!(files(folder.path()), [place(folder.path(), &bytes)]);
}

#[test]
fn an_append_that_fails_leaves_no_file() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path());
    let (bytes, missing) = (noise(3), noise(4));
    let contents = [prepare(&store, &bytes), prepare(&store, &missing)];
    // As the purge of another process does.
    std::fs::remove_file(prepared_file(folder.path(), &missing)).unwrap();
    let batch = Batch { steps: &[], contents: &contents };
    assert!(matches!(store.append(0, batch), Err(StoreError::Misfit(_))));
    drop(contents);
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    assert_eq!(store.content(&ContentHash::of(&bytes)).unwrap(), None);
}

/// The file of a content that is prepared.
fn prepared_file(dir: &Path, bytes: &[u8]) -> PathBuf {
    let hash = ContentHash::of(bytes).to_string();
    let is_of_it = |path: &PathBuf| path.to_string_lossy().ends_with(&hash);
    files(dir).into_iter().find(is_of_it).unwrap()
}

#[test]
fn what_a_killed_process_prepared_goes_with_the_next_opening() {
    let folder = TempDir::new().unwrap();
    let (store, other) = (open(folder.path()), open(folder.path()));
    let (lost, placed, living) = (noise(5), noise(6), noise(7));
    // A killed process drops nothing, and its locks are gone.
    std::mem::forget([prepare(&store, &lost), prepare(&store, &placed)]);
    let place_of_placed = place(folder.path(), &placed);
    std::fs::create_dir_all(place_of_placed.parent().unwrap()).unwrap();
    std::fs::hard_link(prepared_file(folder.path(), &placed), place_of_placed).unwrap();
    drop(store);
    let prepared = prepare(&other, &living);
    let next = open(folder.path());
    assert_eq!(
        files(folder.path()),
        [prepared_file(folder.path(), &living)],
        "of a plan that goes on"
    );
    append(&other, prepared);
    assert_eq!(next.content(&ContentHash::of(&living)).unwrap(), Some(living.clone()));
    append(&next, prepare(&next, &placed));
    assert_eq!(other.content(&ContentHash::of(&placed)).unwrap(), Some(placed));
}

#[test]
fn what_an_older_version_left_goes_with_the_first_opening() {
    let folder = TempDir::new().unwrap();
    let (committed, lost) = (noise(8), noise(9));
    let store = open(folder.path());
    append(&store, prepare(&store, &committed));
    drop(store);
    let kept = place(folder.path(), &committed);
    let left = [place(folder.path(), &lost), kept.with_file_name("draft-3")];
    for path in &left {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &lost).unwrap();
    }
    std::fs::remove_dir_all(folder.path().join("blobs/prepared")).unwrap();
    let store = open(folder.path());
    assert_eq!(files(folder.path()), [kept]);
    assert_eq!(store.content(&ContentHash::of(&committed)).unwrap(), Some(committed));
}
