//! The output of `git log -z` in [`FORMAT`] as data.

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::Timestamp;

/// Fields of a commit, each ended by NUL: the record's own end is the last one's.
pub(in super::super) const FORMAT: &str =
    "--format=%H%x00%P%x00%an%x00%ae%x00%at%x00%D%x00%s%x00%b";
const FIELDS: usize = 8;
/// Bytes of a commit's message that an answer shows.
const MAX_BODY_BYTES: usize = 4 << 10;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(in super::super) struct Commit {
    /// Its hash.
    pub(in super::super) hash: String,
    /// The commits that it follows: one, none for the first, several for a merge.
    parents: Vec<String>,
    /// Who wrote it.
    author: String,
    /// Their address.
    email: String,
    /// When (RFC 3339, UTC).
    date: String,
    /// Branches and tags that lead to it.
    refs: Vec<String>,
    /// The first line of its message.
    pub(in super::super) subject: String,
    /// The rest of its message; of a long one the beginning.
    body: String,
}

/// The commits, in the order of the output.
pub(in super::super) fn parse(bytes: &[u8]) -> Vec<Commit> {
    let fields: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    fields.chunks_exact(FIELDS).filter_map(commit).collect()
}

fn commit(fields: &[&[u8]]) -> Option<Commit> {
    let text = |at: usize| String::from_utf8_lossy(fields.get(at).copied().unwrap_or_default());
    let list = |at: usize, separator: &str| -> Vec<String> {
        let text = text(at);
        text.split(separator).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let hash = text(0).trim().to_owned();
    let seconds: i64 = text(4).parse().unwrap_or(0);
    Some(Commit {
        hash: (!hash.is_empty()).then_some(hash)?,
        parents: list(1, " "),
        author: text(2).into_owned(),
        email: text(3).into_owned(),
        date: Timestamp::from_nanos(seconds.saturating_mul(1_000_000_000)).to_string(),
        refs: list(5, ", "),
        subject: bounded(&text(6)),
        body: bounded(text(7).trim_end()),
    })
}

fn bounded(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_BODY_BYTES.min(text.len()));
    match end < text.len() {
        true => format!("{}\n[... {} bytes are left out]", &text[..end], text.len() - end),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commits_are_read_field_by_field() {
        let long = "x".repeat(MAX_BODY_BYTES + 10);
        let text = format!(
            "aa\0bb cc\0Ann O\0a@b.example\x000\0HEAD -> main, tag: v1\0subject\0line one\nline two\n\0\
             bb\0\0\0\0odd\0\0\0{long}\0"
        );
        let commits = parse(text.as_bytes());
        assert_eq!(commits.len(), 2);
        let first = &commits[0];
        assert_eq!((first.hash.as_str(), first.parents.len()), ("aa", 2));
        assert_eq!(first.date, "1970-01-01T00:00:00.000Z");
        assert_eq!(first.refs, ["HEAD -> main", "tag: v1"]);
        assert_eq!(first.body, "line one\nline two");
        assert!(commits[1].body.ends_with("[... 10 bytes are left out]"));
    }

    proptest! {
        #[test]
        fn anything_at_all_is_read(bytes in prop::collection::vec(
            prop_oneof![3 => Just(0), 1 => any::<u8>()], 0..200,
        )) {
            prop_assert!(parse(&bytes).len() <= bytes.len());
        }
    }
}
