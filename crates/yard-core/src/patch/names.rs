//! File names in diffs: C-style quotes, git's one-letter prefixes, and the time stamps of GNU diff. Paths stay text;
//! nothing is resolved here.

use std::fmt::Write as _;

use crate::{WsPath, path};

/// What stands for "no file" on one side of a diff.
pub(super) const NO_FILE: &str = "/dev/null";

/// A name of a `---` or `+++` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// As it stands there, unquoted; none for `/dev/null`.
    pub name: Option<String>,
    /// GNU diff says by a time stamp of 1970 that there is no such file.
    pub epoch: bool,
}

/// Reads what follows `--- ` or `+++ `. None if its quotes are broken.
pub(super) fn read(rest: &str) -> Option<Named> {
    let (name, stamp) = if rest.starts_with('"') {
        unquote(rest)?
    } else {
        match rest.split_once('\t') {
            Some((name, stamp)) => (unquoted(name), stamp),
            None => (unquoted(rest.trim_end()), ""),
        }
    };
    let stamp = stamp.trim_start();
    let epoch = stamp.starts_with("1970-01-01 ") || stamp.starts_with("1969-12-31 ");
    let name = Some(name).filter(|name| name != NO_FILE);
    Some(Named { name, epoch })
}

/// Reads a name that may be quoted and has nothing after it.
pub(super) fn read_bare(rest: &str) -> Option<String> {
    if rest.starts_with('"') {
        return unquote(rest).map(|(name, _)| name);
    }
    Some(unquoted(rest.trim_end_matches('\r'))).filter(|name| !name.is_empty())
}

/// A name without quotes, spelt as [`crate::WsPath`] shows it: `\x5c` for a backslash is spelt so only
/// where it must be.
fn unquoted(name: &str) -> String {
    path::shown(&path::unshow(name))
}

/// The name within the quotes at the start, and what follows them. Bytes that are no UTF-8 are
/// written as [`crate::WsPath`] reads them.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?.as_bytes();
    let mut bytes = Vec::new();
    loop {
        let (first, tail) = rest.split_first()?;
        rest = tail;
        match first {
            b'"' => break,
            b'\\' => {
                let (byte, length) = escape(rest)?;
                bytes.push(byte);
                rest = rest.get(length..)?;
            }
            other => bytes.push(*other),
        }
    }
    Some((path::shown(&bytes), std::str::from_utf8(rest).ok()?))
}

/// The byte that the escape after a backslash means, and its length.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    let single = match text.first()? {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        other @ (b'"' | b'\\') => *other,
        _ => {
            let digits = std::str::from_utf8(text.get(..3)?).ok()?;
            return u8::from_str_radix(digits, 8).ok().map(|byte| (byte, 3));
        }
    };
    Some((single, 1))
}

/// One byte of a quoted name, as git writes it.
fn push_escaped(quoted: &mut String, byte: u8) {
    let letter = match byte {
        7 => 'a',
        8 => 'b',
        b'\t' => 't',
        b'\n' => 'n',
        11 => 'v',
        12 => 'f',
        b'\r' => 'r',
        b'"' | b'\\' => char::from(byte),
        b' '..=b'~' => {
            quoted.push(char::from(byte));
            return;
        }
        _ => {
            // Writing to a String cannot fail.
            let _ = write!(quoted, "\\{byte:03o}");
            return;
        }
    };
    quoted.extend(['\\', letter]);
}

/// A path on one side (`a` or `b`) of a diff, `/dev/null` where there is none: in quotes, as git writes it with
/// `core.quotePath=false`, where it holds what would break the line or be read otherwise.
pub fn diff_label(side: &str, path: Option<&WsPath>) -> String {
    let Some(path) = path else { return NO_FILE.to_owned() };
    let bytes = [side.as_bytes(), b"/", path.relative()].concat();
    let needs_quotes = |character: char| character.is_control() || matches!(character, '"' | '\\');
    match std::str::from_utf8(&bytes) {
        Ok(text) if !text.contains(needs_quotes) => return text.to_owned(),
        _ => {}
    }
    let mut quoted = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut buffer = [0; 4];
            match character.is_ascii() || character.is_control() {
                true => character
                    .encode_utf8(&mut buffer)
                    .bytes()
                    .for_each(|byte| push_escaped(&mut quoted, byte)),
                false => quoted.push(character),
            }
        }
        chunk.invalid().iter().for_each(|byte| push_escaped(&mut quoted, *byte));
    }
    quoted.push('"');
    quoted
}

/// The two names of a `diff --git` line, with their prefixes. None where spaces leave it open.
pub(super) fn split_git_line(rest: &str) -> Option<(String, String)> {
    let rest = rest.trim_end_matches('\r');
    if rest.starts_with('"') {
        let (old, rest) = unquote(rest)?;
        return Some((old, read_bare(rest.strip_prefix(' ')?)?));
    }
    if rest.ends_with('"') {
        let (old, new) = rest.split_once(" \"")?;
        let (new, _) = unquote(&format!("\"{new}"))?;
        return Some((unquoted(old), new));
    }
    // Both names are the same but for prefixes of one length, so the middle is the only candidate.
    let middle = rest.len() / 2;
    let halves = rest.split_at_checked(middle);
    let halves = halves.and_then(|(old, new)| Some((old, new.strip_prefix(' ')?)));
    let same = |(old, new): &(&str, &str)| {
        old == new || matches!((prefixed(old), prefixed(new)), (Some(o), Some(n)) if o.1 == n.1)
    };
    let only = || rest.split_once(' ').filter(|(_, new)| !new.contains(' '));
    let (old, new) = halves.filter(same).or_else(only)?;
    Some((unquoted(old), unquoted(new)))
}

/// The letter of git's prefix and the name behind it.
fn prefixed(name: &str) -> Option<(char, &str)> {
    let (prefix, rest) = name.split_once('/')?;
    let mut letters = prefix.chars();
    let letter = letters.next().filter(|letter| "abciow".contains(*letter))?;
    (letters.next().is_none() && !rest.is_empty()).then_some((letter, rest))
}

/// Whether the two names of one file carry git's prefixes.
pub(super) fn have_prefixes(old: &str, new: &str) -> bool {
    matches!((prefixed(old), prefixed(new)), (Some(old), Some(new)) if old.0 != new.0)
}

/// The name without git's prefix.
pub(super) fn without_prefix(name: &str) -> String {
    prefixed(name).map_or(name, |(_, rest)| rest).to_owned()
}

/// A name without the prefix that its side of a diff has, where the other side is no file and
/// cannot show whether these are prefixes at all.
pub(super) fn without_side(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).filter(|rest| !rest.is_empty()).unwrap_or(name).to_owned()
}

/// The one file that two names of a diff without git's headers mean: the same name twice, below
/// two folders that were compared, or with the ending of a backup.
pub(super) fn one_file(old: &str, new: &str) -> Option<String> {
    if old == new {
        return Some(new.to_owned());
    }
    if let (Some((_, old)), Some((_, new))) = (old.split_once('/'), new.split_once('/'))
        && old == new
    {
        return Some(new.to_owned());
    }
    let backup = |long: &str, short: &str| {
        let ending = long.strip_prefix(short);
        ending.is_some_and(|ending| matches!(ending, ".orig" | "~" | ".old" | ".bak" | ".new"))
    };
    if backup(old, new) {
        return Some(new.to_owned());
    }
    backup(new, old).then(|| old.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_read_as_git_and_gnu_write_them() {
        let name = |rest| read(rest).unwrap().name.unwrap();
        assert_eq!(name("a/x y\t"), "a/x y");
        assert_eq!(name("a/x\t2026-01-02 03:04:05.000000000 +0000"), "a/x");
        assert_eq!(name(r#""a/\303\244 \"q\" \\ \t""#), "a/ä \"q\" \\ \t");
        assert_eq!(name(r#""a/\377""#), "a/\\xff");
        assert!(read("x\t1970-01-01 00:00:00.000000000 +0000").unwrap().epoch);
        assert_eq!(read("/dev/null").unwrap().name, None);
        assert_eq!(read("\"open"), None);
        assert_eq!(read(r#""\9""#), None);
    }

    #[test]
    fn a_name_that_would_break_the_line_of_a_diff_is_quoted_as_git_does() {
        let label = |bytes: &[u8]| diff_label("a", Some(&WsPath::from_bytes(bytes).unwrap()));
        assert_eq!(label(b"x y.txt"), "a/x y.txt");
        assert_eq!(label("größe".as_bytes()), "a/größe");
        assert_eq!(label(b"tab\there"), r#""a/tab\there""#);
        assert_eq!(label(b"two\nlines"), r#""a/two\nlines""#);
        assert_eq!(label(b"\"q\" \\ \x1b"), r#""a/\"q\" \\ \033""#);
        assert_eq!(label("ä\n\u{85}".as_bytes()), r#""a/ä\n\302\205""#);
        assert_eq!(label(b"\xff"), r#""a/\377""#);
        assert_eq!(diff_label("b", None), "/dev/null");
        for name in ["tab\there", "two\nlines", "\"q\"", "ä\n"] {
            let read = read(&label(name.as_bytes())).unwrap();
            assert_eq!(read.name, Some(format!("a/{name}")));
        }
    }

    #[test]
    fn git_lines_are_split() {
        let split = |rest| split_git_line(rest).map(|(old, new)| format!("{old}|{new}"));
        assert_eq!(split("a/x b/x").as_deref(), Some("a/x|b/x"));
        assert_eq!(split("a/x y b/x y").as_deref(), Some("a/x y|b/x y"));
        assert_eq!(split("x y x y").as_deref(), Some("x y|x y"));
        assert_eq!(split("a/old b/new").as_deref(), Some("a/old|b/new"));
        assert_eq!(split(r#""a/\303\244" "b/\303\244""#).as_deref(), Some("a/ä|b/ä"));
        assert_eq!(split(r#"a/x y "b/\303\244""#).as_deref(), Some("a/x y|b/ä"));
        assert_eq!(split("a/x y b/other name"), None);
    }

    #[test]
    fn two_names_of_one_file() {
        assert_eq!(one_file("old/src/x", "new/src/x").as_deref(), Some("src/x"));
        assert_eq!(one_file("x.orig", "x").as_deref(), Some("x"));
        assert_eq!(one_file("x", "y"), None);
        assert!(have_prefixes("a/x", "b/x") && have_prefixes("i/x", "w/x"));
        assert!(!have_prefixes("a/x", "a/x") && !have_prefixes("src/x", "src/x"));
    }

    proptest! {
        #[test]
        fn quoted_names_read_back(bytes in proptest::collection::vec(any::<u8>(), 1..12)) {
            let Ok(path) = WsPath::from_bytes(&bytes) else { return Ok(()) };
            let label = diff_label("a", Some(&path));
            // White space at the end of a line is no part of a name without quotes.
            prop_assume!(label.trim_end() == label);
            prop_assert_eq!(read(&label).unwrap().name, Some(format!("a{path}")));
        }
    }
}
