//! What is left of a text in a data folder: in any file as it lies there, free pages and logs included,
//! and in any content as a store would give it back.

use std::path::{Path, PathBuf};

use yard_store::{SqliteStore, Store};

/// Where one of these texts is found, in words; nothing if there is none.
pub fn remains(folder: &Path, texts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files(folder) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        if holds(&bytes, texts) {
            found.push(format!("the file {}", file.display()));
        }
        if file.file_name().is_some_and(|name| name == "journal.db") {
            found.extend(unpacked(&file, texts));
        }
    }
    found
}

/// Whether bytes hold one of these texts.
pub fn holds(bytes: &[u8], texts: &[String]) -> bool {
    let bytes = String::from_utf8_lossy(bytes);
    texts.iter().any(|text| bytes.contains(text.as_str()))
}

fn unpacked(database: &Path, texts: &[String]) -> Vec<String> {
    let store = SqliteStore::open(database.parent().unwrap()).unwrap();
    let contents = store.contents(None, usize::MAX).unwrap().into_iter();
    let holding = contents.filter(|hash| {
        let bytes = store.content(hash).unwrap().unwrap_or_default();
        holds(&bytes, texts)
    });
    holding.map(|hash| format!("the content {hash} of {}", database.display())).collect()
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
