//! The output of `git diff --raw --numstat --patch -z` as data: the status of each file, how many lines changed,
//! and the text of the diff. Whatever does not fit the format is skipped.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::status;

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(in super::super) struct ChangedFile {
    /// The file.
    pub(in super::super) path: String,
    /// Where it was before it was renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) from: Option<String>,
    /// What became of it: added, modified, deleted, renamed, copied, type changed or conflicted.
    pub(in super::super) status: &'static str,
    /// Lines that came; null if it is binary.
    pub(in super::super) additions: Option<u64>,
    /// Lines that went; null if it is binary.
    pub(in super::super) deletions: Option<u64>,
}

/// All that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Changes<'a> {
    pub(in super::super) files: Vec<ChangedFile>,
    /// The diff.
    pub(in super::super) patch: &'a [u8],
}

/// `display` writes the paths as the caller reads them.
pub(in super::super) fn parse(bytes: &[u8], display: impl Fn(&[u8]) -> String) -> Changes<'_> {
    let mut records = Records { rest: bytes };
    let mut changes = Changes::default();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    while let Some(record) = records.next() {
        if record.is_empty() {
            // After an empty record the diff begins.
            changes.patch = records.rest;
            break;
        }
        if let Some(raw) = record.strip_prefix(b":") {
            let Some(file) = raw_file(raw, &mut records, &display) else { continue };
            // A file in conflict has a second record, for its state in the work tree.
            if !indexes.contains_key(&file.path) {
                indexes.insert(file.path.clone(), changes.files.len());
                changes.files.push(file);
            }
        } else if let Some(counts) = Counts::read(record, &mut records) {
            let index = indexes.get(&display(counts.path));
            if let Some(file) = index.and_then(|index| changes.files.get_mut(*index)) {
                (file.additions, file.deletions) = (counts.additions, counts.deletions);
            }
        }
    }
    changes
}

/// `old-mode new-mode old-hash new-hash status`, and one path or two after it.
fn raw_file(
    raw: &[u8],
    records: &mut Records<'_>,
    display: impl Fn(&[u8]) -> String,
) -> Option<ChangedFile> {
    let letter = *raw.rsplit(|byte| *byte == b' ').next()?.first()?;
    let first = records.next()?;
    let is_pair = matches!(letter, b'R' | b'C');
    let (path, from) = if is_pair { (records.next()?, Some(first)) } else { (first, None) };
    Some(ChangedFile {
        path: display(path),
        from: from.map(display),
        status: status::name(letter)?,
        additions: None,
        deletions: None,
    })
}

/// `additions TAB deletions TAB path`; without a path the two of a rename follow.
struct Counts<'a> {
    path: &'a [u8],
    additions: Option<u64>,
    deletions: Option<u64>,
}

impl<'a> Counts<'a> {
    fn read(record: &'a [u8], records: &mut Records<'a>) -> Option<Self> {
        let mut fields = record.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(fields.next()?).ok();
        let (additions, deletions) = (number()?.parse().ok(), number()?.parse().ok());
        let mut path = fields.next()?;
        if path.is_empty() {
            records.next()?;
            path = records.next()?;
        }
        Some(Self { path, additions, deletions })
    }
}

/// Records that end with NUL, and the rest of the output after them.
struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let record = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(record)
    }
}

/// The added and the deleted lines of all files.
pub(in super::super) fn totals(files: &[ChangedFile]) -> (u64, u64) {
    let sum = |count: fn(&ChangedFile) -> Option<u64>| files.iter().filter_map(count).sum();
    (sum(|file| file.additions), sum(|file| file.deletions))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_counts_and_the_diff_are_separated() {
        let text =
            b":000000 100644 0000000 7a002a8 A\0bin\0:100644 100644 7898192 7898192 R100\0a\0c d\0\
            :100644 000000 7898192 0000000 D\0gone\0:000000 100644 0000000 0000000 U\0both\0\
            :100644 100644 00750ed 0000000 M\0both\0\
            -\t-\tbin\x001\t2\t\0a\0c d\x000\t7\tgone\0\0diff --git a/bin b/bin\nBinary\n";
        let changes = parse(text, |path| format!("sub/{}", String::from_utf8_lossy(path)));
        let files: Vec<_> = changes
            .files
            .iter()
            .map(|file| {
                (
                    file.path.as_str(),
                    file.from.as_deref(),
                    file.status,
                    file.additions,
                    file.deletions,
                )
            })
            .collect();
        assert_eq!(
            files,
            [
                ("sub/bin", None, "added", None, None),
                ("sub/c d", Some("sub/a"), "renamed", Some(1), Some(2)),
                ("sub/gone", None, "deleted", Some(0), Some(7)),
                ("sub/both", None, "conflicted", None, None),
            ]
        );
        assert_eq!(changes.patch, b"diff --git a/bin b/bin\nBinary\n");
        assert_eq!(totals(&changes.files), (1, 9));
        assert_eq!(parse(b"", |_| String::new()), Changes::default());
    }

    proptest! {
        #[test]
        fn anything_at_all_is_read(bytes in prop::collection::vec(
            prop_oneof![Just(0), Just(b':'), Just(b'\t'), Just(b' '), Just(b'R'), any::<u8>()], 0..300,
        )) {
            let changes = parse(&bytes, |path| String::from_utf8_lossy(path).into_owned());
            prop_assert!(changes.files.len() <= bytes.len());
        }
    }
}
