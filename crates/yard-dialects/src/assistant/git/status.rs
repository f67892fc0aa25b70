//! The output of `git status --porcelain=v2 --branch -z` as data. Whatever does not fit the format is
//! skipped: nothing here can fail.

/// The state of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Status {
    /// The commit that is checked out; none before the first.
    pub(in super::super) head: Option<String>,
    /// The branch; none if no branch is checked out.
    pub(in super::super) branch: Option<String>,
    pub(in super::super) upstream: Option<String>,
    pub(in super::super) ahead: Option<u64>,
    pub(in super::super) behind: Option<u64>,
    pub(in super::super) entries: Vec<Entry>,
}

/// One thing that is not as it was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Entry {
    pub(in super::super) list: List,
    pub(in super::super) path: Vec<u8>,
    /// Where it was before it was renamed or copied.
    pub(in super::super) from: Option<Vec<u8>>,
    /// What happened to it.
    pub(in super::super) status: &'static str,
}

/// Where an entry belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum List {
    Staged,
    Unstaged,
    Untracked,
    Conflicted,
}

pub(in super::super) fn parse(bytes: &[u8]) -> Status {
    let mut status = Status::default();
    let mut records = bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    while let Some(record) = records.next() {
        let (kind, rest) = match record {
            [kind, b' ', rest @ ..] => (*kind, rest),
            _ => continue,
        };
        match kind {
            b'#' => header(&mut status, &String::from_utf8_lossy(rest)),
            b'1' => tracked(&mut status, rest, 8, None),
            b'2' => tracked(&mut status, rest, 9, records.next()),
            b'u' => conflicted(&mut status, rest),
            b'?' => {
                let path = rest.to_vec();
                let (list, from) = (List::Untracked, None);
                status.entries.push(Entry { list, path, from, status: "untracked" });
            }
            _ => {}
        }
    }
    status
}

fn header(status: &mut Status, line: &str) {
    let Some((name, value)) = line.split_once(' ') else { return };
    // `(initial)` and `(detached)` stand for nothing.
    let real = |value: &str| (!value.starts_with('(')).then(|| value.to_owned());
    match name {
        "branch.oid" => status.head = real(value),
        "branch.head" => status.branch = real(value),
        "branch.upstream" => status.upstream = Some(value.to_owned()),
        "branch.ab" => {
            let mut counts = value.split(' ').map(|word| word.trim_start_matches(['+', '-']));
            status.ahead = counts.next().and_then(|count| count.parse().ok());
            status.behind = counts.next().and_then(|count| count.parse().ok());
        }
        _ => {}
    }
}

/// A tracked file: `XY` and so many fields, the last of them the path.
fn tracked(status: &mut Status, record: &[u8], fields: usize, from: Option<&[u8]>) {
    let fields: Vec<&[u8]> = record.splitn(fields, |byte| *byte == b' ').collect();
    let (Some([x, y]), Some(path)) = (fields.first().copied(), fields.last()) else { return };
    if fields.len() < 8 {
        return;
    }
    for (list, letter) in [(List::Staged, *x), (List::Unstaged, *y)] {
        let Some(name) = name(letter) else { continue };
        let from = from.filter(|_| matches!(letter, b'R' | b'C')).map(<[u8]>::to_vec);
        status.entries.push(Entry { list, path: path.to_vec(), from, status: name });
    }
}

/// The status that a letter of git stands for; none for an unchanged file.
pub(super) fn name(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'A' => "added",
        b'M' => "modified",
        b'D' => "deleted",
        b'R' => "renamed",
        b'C' => "copied",
        b'T' => "type changed",
        b'U' => "conflicted",
        _ => return None,
    })
}

fn conflicted(status: &mut Status, record: &[u8]) {
    let fields: Vec<&[u8]> = record.splitn(10, |byte| *byte == b' ').collect();
    let [how, .., path] = fields[..] else { return };
    if fields.len() < 10 {
        return;
    }
    let name = match how {
        b"DD" => "both deleted",
        b"AU" => "added by us",
        b"UD" => "deleted by them",
        b"UA" => "added by them",
        b"DU" => "deleted by us",
        b"AA" => "both added",
        _ => "both modified",
    };
    let (list, path) = (List::Conflicted, path.to_vec());
    status.entries.push(Entry { list, path, from: None, status: name });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_record_is_read() {
        let hash = "78981922613b2afb6025042ff6bd878ac1994e85";
        let text = format!(
            "# branch.oid {hash}\0# branch.head main\0# branch.upstream origin/main\0\
             # branch.ab +2 -1\01 MM N... 100644 100644 100644 {hash} {hash} a b\0\
             2 R. N... 100644 100644 100644 {hash} {hash} R100 new\nline\0old\0\
             u AA N... 100644 100644 100644 100644 {hash} {hash} {hash} both\0? new/\0! ignored\0"
        );
        let status = parse(text.as_bytes());
        assert_eq!(status.head.as_deref(), Some(hash));
        assert_eq!(status.branch.as_deref(), Some("main"));
        assert_eq!((status.ahead, status.behind), (Some(2), Some(1)));
        let entry = |list, path: &str, from: Option<&str>, status| Entry {
            list,
            path: path.into(),
            from: from.map(Into::into),
            status,
        };
        let expected = [
            entry(List::Staged, "a b", None, "modified"),
            entry(List::Unstaged, "a b", None, "modified"),
            entry(List::Staged, "new\nline", Some("old"), "renamed"),
            entry(List::Conflicted, "both", None, "both added"),
            entry(List::Untracked, "new/", None, "untracked"),
        ];
        assert_eq!(status.entries, expected);
    }

    #[test]
    fn before_the_first_commit_and_without_a_branch_there_is_none() {
        let status = parse(b"# branch.oid (initial)\0# branch.head (detached)\0");
        assert_eq!((status.head, status.branch), (None, None));
    }

    proptest! {
        #[test]
        fn anything_at_all_is_read(bytes in prop::collection::vec(
            prop_oneof![Just(0), Just(b' '), Just(b'1'), Just(b'2'), Just(b'u'), Just(b'#'), any::<u8>()],
            0..300,
        )) {
            let status = parse(&bytes);
            prop_assert!(status.entries.len() <= bytes.len());
        }
    }
}
