//! The files of the repository, as the tests of the house rules read them.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file of the repository.
pub(crate) struct Source {
    /// Relative to the repository, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// In a crate's `src`, and not the tests of a module in a file of their own.
    pub(crate) fn is_shipped(&self) -> bool {
        let is_source = self.is_rust() && self.path.starts_with("crates/");
        is_source && self.path.contains("/src/") && !self.path.ends_with("/tests.rs")
    }

    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.split('.').next().unwrap_or_default()
    }

    /// Lines with their numbers, without comments and without the tests at the end.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().take(self.tests_begin());
        let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
        code.map(|(at, line)| (at + 1, line))
    }

    /// How many lines stand before `#[cfg(test)] mod tests {`.
    pub(crate) fn tests_begin(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_start = |pair: &[&str]| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].contains('{')
        };
        lines.windows(2).position(is_start).unwrap_or(lines.len())
    }
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every text file that is ours.
pub(crate) fn sources() -> Vec<Source> {
    let root = repository();
    let mut sources = Vec::new();
    collect(&root, &root, &mut sources);
    assert!(sources.iter().any(|source| source.path == "crates/yard-core/src/lib.rs"));
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            if !["target", ".git", "corpus", "artifacts", "node_modules"]
                .iter()
                .any(|skipped| name == *skipped)
            {
                collect(root, &path, sources);
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            sources.push(Source { path, text });
        }
    }
}

/// The text of one file of the repository.
pub(crate) fn text_of<'a>(sources: &'a [Source], path: &str) -> &'a str {
    let source = sources.iter().find(|source| source.path == path);
    &source.unwrap_or_else(|| panic!("there is no {path}")).text
}
