//! Searches a data folder for texts that must not be in it: in every file as it is on disk, with free pages and logs, and
//! in every content as a store returns it.

use std::path::{Path, PathBuf};

use yard_store::{SqliteStore, Store};

/// The places where one of these texts was found, for people; none if there is no such text.
pub fn find_texts(folder: &Path, texts: &[String]) -> Vec<String> {
    let mut places = Vec::new();
    for file in files(folder) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        if contains_any(&bytes, texts) {
            places.push(format!("the file {}", file.display()));
        }
        if file.file_name().is_some_and(|name| name == "journal.db") {
            places.extend(find_in_contents(&file, texts));
        }
    }
    places
}

/// Whether bytes contain one of these texts.
pub fn contains_any(bytes: &[u8], texts: &[String]) -> bool {
    let bytes = String::from_utf8_lossy(bytes);
    texts.iter().any(|text| bytes.contains(text.as_str()))
}

fn find_in_contents(database: &Path, texts: &[String]) -> Vec<String> {
    let store = SqliteStore::open(database.parent().unwrap()).unwrap();
    let contents = store.contents(None, usize::MAX).unwrap().into_iter();
    let matching = contents.filter(|hash| {
        let bytes = store.content(hash).unwrap().unwrap_or_default();
        contains_any(&bytes, texts)
    });
    matching.map(|hash| format!("the content {hash} of {}", database.display())).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return files };
    for entry in entries.map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files.extend(self::files(&entry.path())),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}
