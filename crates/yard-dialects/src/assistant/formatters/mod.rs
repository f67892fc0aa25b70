//! What `format.sh` tells of each file, as data. Whatever does not fit the format is passed over.

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    /// It is not formatted as it was; of a check: it would not be.
    Changed,
    /// It was formatted already.
    Same,
    /// The formatter could not read it.
    Failed,
    /// The formatter is not there.
    Missing,
    /// There is no formatter for such files.
    Unknown,
    /// There is no such file.
    Nowhere,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Formatted {
    pub(super) became: Became,
    pub(super) formatter: String,
    pub(super) path: Vec<u8>,
    /// What the formatter said.
    pub(super) words: String,
}

const FIELDS: usize = 4;

/// Reads it, in the order of the paths.
pub(super) fn parse(bytes: &[u8]) -> Vec<Formatted> {
    let fields: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let mut files: Vec<Formatted> = fields.chunks_exact(FIELDS).filter_map(formatted).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    files
}

fn formatted(fields: &[&[u8]]) -> Option<Formatted> {
    let [became, formatter, path, words] = *fields else { return None };
    let became = match became {
        b"changed" => Became::Changed,
        b"same" => Became::Same,
        b"failed" => Became::Failed,
        b"missing" => Became::Missing,
        b"unknown" => Became::Unknown,
        b"nowhere" => Became::Nowhere,
        _ => return None,
    };
    let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    Some(Formatted { became, formatter: text(formatter), path: path.to_vec(), words: text(words) })
}

/// How to get a formatter.
pub(super) fn remedy(formatter: &str) -> &'static str {
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
        let told: Vec<_> = files.iter().map(|file| (file.became, &file.path[..])).collect();
        assert_eq!(
            told,
            [
                (Became::Failed, &b"a\nb.py"[..]),
                (Became::Changed, b"b.py"),
                (Became::Missing, b"c.go"),
            ]
        );
        assert_eq!(files[0].words, "error: no");
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
