//! The output of `format.sh` as data. Whatever does not fit the format is skipped.

/// The outcome for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The formatter changed it; in a check: would change it.
    Changed,
    /// It was formatted already.
    Same,
    /// The formatter could not read it.
    Failed,
    /// The formatter is not installed.
    Missing,
    /// There is no formatter for such files.
    Unknown,
    /// There is no such file.
    NoSuchFile,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FormattedFile {
    pub(super) outcome: Outcome,
    pub(super) formatter: String,
    pub(super) path: Vec<u8>,
    /// The error output of the formatter.
    pub(super) message: String,
}

const FIELDS: usize = 4;

/// The files, in the order of their paths.
pub(super) fn parse(bytes: &[u8]) -> Vec<FormattedFile> {
    let fields: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let mut files: Vec<FormattedFile> = fields.chunks_exact(FIELDS).filter_map(file).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    files
}

fn file(fields: &[&[u8]]) -> Option<FormattedFile> {
    let [outcome, formatter, path, message] = *fields else { return None };
    let outcome = match outcome {
        b"changed" => Outcome::Changed,
        b"same" => Outcome::Same,
        b"failed" => Outcome::Failed,
        b"missing" => Outcome::Missing,
        b"unknown" => Outcome::Unknown,
        b"no_such_file" => Outcome::NoSuchFile,
        _ => return None,
    };
    let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    let (formatter, message) = (text(formatter), text(message));
    Some(FormattedFile { outcome, formatter, path: path.to_vec(), message })
}

/// How to install a formatter.
pub(super) fn install_advice(formatter: &str) -> &'static str {
    match formatter {
        "rustfmt" => "install Rust with its component rustfmt (`rustup component add rustfmt`)",
        "ruff" => {
            "call `install_package` with manager `pip` and packages [\"ruff\"] (as `pip install ruff` in the \
             project's environment), or install it on this machine"
        }
        "black" => {
            "the project is set up for black: call `install_package` with manager `pip` and packages \
             [\"black\"], or install it on this machine"
        }
        "prettier" => {
            "call `install_package` with manager `npm` and packages [\"prettier\"], or install it on this machine"
        }
        _ => "install Go, which brings gofmt",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_file_is_four_fields() {
        let text = b"changed\0ruff\0b.py\0\0failed\0ruff\0a\nb.py\0error: no\n\0missing\0gofmt\0c.go\0\0odd\0\0\0\0";
        let files = parse(text);
        let outcomes: Vec<_> = files.iter().map(|file| (file.outcome, &file.path[..])).collect();
        assert_eq!(
            outcomes,
            [
                (Outcome::Failed, &b"a\nb.py"[..]),
                (Outcome::Changed, b"b.py"),
                (Outcome::Missing, b"c.go"),
            ]
        );
        assert_eq!(files[0].message, "error: no");
    }

    proptest! {
        #[test]
        fn anything_at_all_is_read(bytes in prop::collection::vec(
            prop_oneof![2 => Just(0), 1 => any::<u8>()], 0..200,
        )) {
            prop_assert!(parse(&bytes).len() <= bytes.len());
        }
    }
}
