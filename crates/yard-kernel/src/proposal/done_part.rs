//! What was done of a change of which a person approved a part, so that the answer of its operation says that and no more.

use std::collections::HashMap;

use yard_core::op::Changed;
use yard_core::{FileId, WsPath};
use yard_store::NewChange;

/// The changes that were done.
pub struct DonePart {
    /// By file, in the order of the step: the first and the last change of each.
    files: Vec<(FileId, NewChange, NewChange)>,
    by_file: HashMap<FileId, usize>,
    /// The files that were or are at a path.
    by_path: HashMap<WsPath, usize>,
}

/// What happened to one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileOutcome {
    Created,
    Changed,
    Removed,
    Moved,
}

impl DonePart {
    pub(crate) fn of(changes: &[NewChange]) -> Self {
        let mut files: Vec<(FileId, NewChange, NewChange)> = Vec::new();
        let (mut by_file, mut by_path) = (HashMap::new(), HashMap::new());
        for change in changes {
            let at = *by_file.entry(change.file).or_insert(files.len());
            match files.get_mut(at) {
                Some((_, _, last)) => *last = change.clone(),
                None => files.push((change.file, change.clone(), change.clone())),
            }
            let paths = change.from.iter().chain(&change.to);
            by_path.extend(paths.map(|path| (path.clone(), at)));
        }
        Self { files, by_file, by_path }
    }

    /// The last change of a file, if something was done to it.
    pub(crate) fn last_change(&self, file: FileId) -> Option<&NewChange> {
        self.by_file.get(&file).and_then(|at| self.files.get(*at)).map(|(_, _, last)| last)
    }

    /// The last change of the entry that was or is at a path.
    pub(crate) fn change_at(&self, path: &WsPath) -> Option<&NewChange> {
        self.by_path.get(path).and_then(|at| self.files.get(*at)).map(|(_, _, last)| last)
    }

    /// Whether something was done to an entry that was or is at a path.
    pub(crate) fn touches(&self, path: &WsPath) -> bool {
        self.by_path.contains_key(path)
    }

    /// How many entries came to that.
    pub(crate) fn count(&self, outcome: FileOutcome) -> u64 {
        let is_so = |(_, first, last): &&(FileId, NewChange, NewChange)| {
            let was_moved = first.from != last.to;
            let own = match (&first.before, &last.after) {
                (None, _) => FileOutcome::Created,
                (_, None) => FileOutcome::Removed,
                _ if was_moved => FileOutcome::Moved,
                _ => FileOutcome::Changed,
            };
            own == outcome
        };
        self.files.iter().filter(is_so).count() as u64
    }

    /// The answer about one file: what it holds now, or that nothing was done to it.
    pub(crate) fn changed(&self, answer: Changed) -> Changed {
        match self.last_change(answer.file) {
            Some(change) => {
                let hash = change.after.as_ref().and_then(|after| after.content);
                Changed { version: change.version.or(answer.version), hash, ..answer }
            }
            None => {
                Changed { version: None, hash: None, created: false, unchanged: true, ..answer }
            }
        }
    }
}
