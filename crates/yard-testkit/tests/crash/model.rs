//! Contents that say of themselves whether they are whole, and what the tree must be, worked out by the
//! writer and by the judge alike.

use std::collections::{BTreeMap, BTreeSet};

use yard_core::ContentHash;
use yard_testkit::{EntrySnapshot, FolderSnapshot};

/// One line with its own checksum.
pub(crate) fn line(words: &str) -> String {
    let sum = ContentHash::of(words.as_bytes()).to_string();
    format!("{words} {}\n", &sum[..16])
}

pub(crate) fn whole(words: &str, lines: usize) -> String {
    let body: String = (0..lines).map(|n| line(&format!("{words} line {n}"))).collect();
    body + "END\n"
}

/// Every line checks, and the end is there.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Some(body) = text.strip_suffix("END\n") else { return false };
    body.split_inclusive('\n').all(|one| {
        let words = one.strip_suffix('\n').and_then(|one| one.rsplit_once(' '));
        words.is_some_and(|(words, _)| line(words) == one)
    })
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Model {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) folders: BTreeSet<String>,
    /// What the last removal took, for its undo.
    pub(crate) taken: Box<Option<Model>>,
}

pub(crate) fn below(path: &str, folder: &str) -> bool {
    path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

impl Model {
    /// What is on disk.
    pub(crate) fn of(tree: &FolderSnapshot) -> Self {
        let mut model = Self::default();
        for (path, seen) in tree {
            match seen {
                EntrySnapshot::Folder(_) => drop(model.folders.insert(path.clone())),
                EntrySnapshot::File(_, bytes) => {
                    model.files.insert(path.clone(), ContentHash::of(bytes).to_string());
                }
                other => panic!("{path} is {other:?}"),
            }
        }
        model
    }

    /// The same without memory of removals.
    pub(crate) fn shown(&self) -> Self {
        Self { taken: Box::default(), ..self.clone() }
    }

    pub(crate) fn apply(&mut self, change: &str) {
        let words: Vec<&str> = change.split(' ').collect();
        match words[..] {
            ["write" | "edit", path, hash, ..] => {
                self.folders(path);
                self.files.insert(path.to_owned(), hash.to_owned());
            }
            ["mkdir", path] => {
                self.folders(path);
                self.folders.insert(path.to_owned());
            }
            ["touch", _] => {}
            ["mv", from, to] => {
                let renamed = |path: &String| match below(path, from) {
                    true => format!("{to}{}", &path[from.len()..]),
                    false => path.clone(),
                };
                self.files =
                    self.files.iter().map(|(path, hash)| (renamed(path), hash.clone())).collect();
                self.folders = self.folders.iter().map(renamed).collect();
            }
            ["rm", path] => {
                *self.taken = Some(self.shown());
                self.files.retain(|file, _| !below(file, path));
                self.folders.retain(|folder| !below(folder, path));
            }
            ["unrm", path] => {
                let Some(before) = self.taken.take() else { panic!("nothing was removed") };
                self.files.extend(before.files.into_iter().filter(|(file, _)| below(file, path)));
                self.folders.extend(before.folders.into_iter().filter(|one| below(one, path)));
            }
            _ => panic!("{change}"),
        }
    }

    pub(crate) fn folders(&mut self, path: &str) {
        let mut at = path;
        while let Some((above, _)) = at.rsplit_once('/') {
            if above.is_empty() {
                break;
            }
            self.folders.insert(above.to_owned());
            at = above;
        }
    }
}
