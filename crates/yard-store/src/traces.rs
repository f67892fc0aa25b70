//! Finds other texts (arguments, diffs, answers, turns of chats) that quote purged contents or name their files. It only
//! answers whether a text does. In doubt it answers yes, because a quotation that is missed stays in the store.
//!
//! Quotations have line numbers, signs of diffs and escapes of JSON in between. So only letters, digits and non-ASCII
//! bytes are compared, in runs.

use std::collections::HashSet;

/// So many letters or digits in a row that a text and a content share are a quotation.
const RUN: usize = 16;
/// A content with fewer letters and digits than this names nothing.
const SHORTEST: usize = 4;
/// Runs that are remembered. Of more, every text counts as one that quotes.
const MAX_RUNS: usize = 4 << 20;
/// Paths that are looked for, likewise.
const MAX_PATHS: usize = 64;
/// Bytes beside what differs from the version before that are looked at again.
const BESIDE: usize = 256;

/// The runs and paths by which purged contents are recognized.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    runs: HashSet<u64>,
    /// Contents that are too short to have a run.
    short: Vec<Vec<u8>>,
    paths: Vec<Vec<u8>>,
    /// Every text counts as one that quotes them.
    everything: bool,
}

impl Traces {
    /// Adds a content. `before` is the content that was added before it; only bytes that differ from it are added.
    pub(crate) fn add_content(&mut self, bytes: &[u8], before: &[u8]) {
        if self.everything {
            return;
        }
        let plain = letters(differing(bytes, before));
        if plain.len() < RUN {
            let whole = letters(bytes);
            if (SHORTEST..RUN).contains(&whole.len()) {
                self.short.push(whole);
            }
            return;
        }
        for run in plain.windows(RUN) {
            self.runs.insert(fingerprint(run));
            if self.runs.len() > MAX_RUNS {
                return self.add_unknown();
            }
        }
    }

    /// Adds a path that one of the files had.
    pub(crate) fn add_path(&mut self, relative: &[u8]) {
        self.everything |= self.paths.len() >= MAX_PATHS;
        if !self.everything && !relative.is_empty() {
            self.paths.push(relative.to_vec());
        }
    }

    /// Records that a purged content cannot be read, or that there are too many runs to remember.
    pub(crate) fn add_unknown(&mut self) {
        self.everything = true;
        self.runs = HashSet::new();
    }

    /// Whether a text may quote a purged content, or is about one of its files.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        let text = text.as_bytes();
        self.everything
            || self.paths.iter().any(|path| names(text, path))
            || self.is_quoted_in(&letters(text))
            || (text.contains(&b'\\') && self.is_quoted_in(&letters(&unescaped(text))))
    }

    fn is_quoted_in(&self, plain: &[u8]) -> bool {
        self.short.iter().any(|short| finds(plain, short))
            || plain.windows(RUN).any(|run| self.runs.contains(&fingerprint(run)))
    }
}

/// The middle of `bytes` that differs from `before`, and a few bytes on both sides of it.
fn differing<'a>(bytes: &'a [u8], before: &[u8]) -> &'a [u8] {
    let start = bytes.iter().zip(before).take_while(|(a, b)| a == b).count();
    let rest = bytes[start..].iter().rev().zip(before[start..].iter().rev());
    let end = rest.take_while(|(a, b)| a == b).count();
    let until = (bytes.len() - end).saturating_add(BESIDE).min(bytes.len());
    &bytes[start.saturating_sub(BESIDE)..until]
}

fn letters(bytes: &[u8]) -> Vec<u8> {
    let counts = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    bytes.iter().copied().filter(counts).collect()
}

/// A text without the escapes that JSON writes.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = match (first, after.first()) {
            (b'\\', Some(b'u')) => after.get(5..).unwrap_or_default(),
            (b'\\', Some(_)) => &after[1..],
            _ => {
                plain.push(*first);
                after
            }
        };
    }
    plain
}

fn fingerprint(run: &[u8]) -> u64 {
    // FNV-1a: two different runs with one number only make a text be forgotten that need not be.
    run.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn finds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Whether a text contains a path as a separate word or after a slash.
fn names(text: &[u8], path: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let mut places = text.windows(path.len()).enumerate().filter(|(_, window)| *window == path);
    places.any(|(at, _)| {
        let (before, after) = (text[..at].last(), text.get(at + path.len()));
        // A name of one or two letters may be any word.
        let begins = match path.len() {
            0..3 => matches!(before, Some(b'/' | b'"')),
            _ => !before.is_some_and(|byte| is_word(byte) || *byte == b'.'),
        };
        begins && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(contents: &[&str]) -> Traces {
        let mut traces = Traces::default();
        let mut before = "";
        for content in contents {
            traces.add_content(content.as_bytes(), before.as_bytes());
            before = content;
        }
        traces
    }

    #[test]
    fn a_quotation_is_found_however_it_is_written() {
        let traces = of(&["fn main() {\n    launch(the_rockets, 42);\n}\n"]);
        let json = r#"{"content": "fn main() {\n    launch(the_rockets, 42);\n}\n"}"#;
        for quoted in [
            json,
            "+    launch(the_rockets, 42);",
            "  2: launch(the_rockets,",
            "x launch(the_rockets",
        ] {
            assert!(traces.are_in(quoted), "{quoted}");
        }
        assert!(!traces.are_in("launch it, and mind the rockets"));
        assert!(!traces.are_in(""));
    }

    #[test]
    fn short_lines_are_found_across_their_ends() {
        let traces = of(&["ab cd\nef gh\nij kl\nmn op\nqr st\n"]);
        assert!(traces.are_in(r#"{"content": "ab cd\nef gh\nij kl\nmn op\nqr st\n"}"#));
        assert!(traces.are_in("+ab cd\n+ef gh\n+ij kl\n+mn op\n+qr st\n"));
        assert!(!traces.are_in("ab cd"));
    }

    #[test]
    fn a_short_secret_is_found_whole() {
        let traces = of(&["hunter2\n"]);
        assert!(traces.are_in(r#"{"command": "echo hunter2"}"#));
        assert!(!traces.are_in("hunter"));
    }

    #[test]
    fn what_a_later_version_brought_is_found() {
        let base = "a line that is in both versions\n".repeat(40);
        let later = format!("{base}and this one came afterwards\n");
        let traces = of(&[&base, &later]);
        assert!(traces.are_in("and this one came afterwards"));
        assert!(traces.are_in("a line that is in both versions"));
    }

    #[test]
    fn a_path_is_found_as_a_word_of_its_own() {
        let mut traces = Traces::default();
        traces.add_path(b"keys.txt");
        traces.add_path(b"a");
        for named in
            [r#"{"path": "/keys.txt"}"#, "cat keys.txt", "rm ./keys.txt;", r#"{"path":"a"}"#, "b/a"]
        {
            assert!(traces.are_in(named), "{named}");
        }
        for other in ["my-keys.txt", "keys.txts", "a word", "monkeys.txt"] {
            assert!(!traces.are_in(other), "{other}");
        }
    }

    #[test]
    fn one_content_takes_no_more_memory_than_many() {
        let mut number = 1_u64;
        let letter = |_| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'a' + (number >> 60) as u8
        };
        let large: Vec<u8> = (0..2 * MAX_RUNS).map(letter).collect();
        let mut traces = Traces::default();
        traces.add_content(&large, b"");
        assert!(traces.runs.capacity() == 0 && traces.are_in("x"), "{}", traces.runs.len());
    }

    #[test]
    fn what_cannot_be_told_is_in_everything() {
        let mut traces = Traces::default();
        traces.add_unknown();
        assert!(traces.are_in("x"));
    }
}
