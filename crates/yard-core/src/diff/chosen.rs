//! Applies some of the hunks of a unified diff and leaves the others out. The hunks are those that [`unified`](super::unified)
//! shows, in its order.

use std::collections::BTreeSet;
use std::ops::Range;

use similar::DiffOp;

use super::{Style, compared, lines};
use crate::text::{Encoding, Text};
use crate::{Bounds, Result};

/// The hunks that lead from one text to another.
#[derive(Debug)]
pub struct TextHunks {
    encoding: Encoding,
    old: String,
    new: String,
    hunks: Vec<Hunk>,
}

/// The lines of a hunk in both texts, with the unchanged lines around the change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    old: Range<usize>,
    new: Range<usize>,
}

impl TextHunks {
    /// The hunks between two contents. None if they cannot be told apart byte for byte in the diff that is shown: one of
    /// them is no text, has damaged characters, or another encoding. The fault is that it was stopped.
    pub fn between(before: &[u8], after: &[u8], bounds: Bounds<'_>) -> Result<Option<Self>> {
        bounds.check()?;
        let (Ok(old), Ok(new)) = (Text::parse(before), Text::parse(after)) else { return Ok(None) };
        if old.encoding != new.encoding || old.encoding == Encoding::DamagedUtf8 {
            return Ok(None);
        }
        let (encoding, old, new) = (old.encoding, old.body, new.body);
        if old == new {
            return Ok(None);
        }
        let hunks = hunks_between(&old, &new, bounds)?;
        Ok(Some(Self { encoding, old, new, hunks }))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.hunks.len()
    }

    /// The old content with the hunks of these indices applied; an index without a hunk is left out. None if that cannot
    /// be written in the encoding of the text.
    pub fn apply(&self, chosen: &BTreeSet<usize>) -> Option<Vec<u8>> {
        let (old, new) = (lines(&self.old), lines(&self.new));
        let mut body = String::with_capacity(self.old.len().max(self.new.len()));
        let mut at = 0;
        for (index, hunk) in self.hunks.iter().enumerate() {
            body.extend(old[at..hunk.old.start].iter().copied());
            match chosen.contains(&index) {
                true => body.extend(new[hunk.new.clone()].iter().copied()),
                false => body.extend(old[hunk.old.clone()].iter().copied()),
            }
            at = hunk.old.end;
        }
        body.extend(old[at..].iter().copied());
        Text { encoding: self.encoding, body }.to_bytes().ok()
    }
}

fn hunks_between(old: &str, new: &str, bounds: Bounds<'_>) -> Result<Vec<Hunk>> {
    let (part, groups) = compared(old, new, &Style::Unified, bounds)?;
    let Some(groups) = groups else {
        let range = |text: &str| part.first..part.first + lines(text).len();
        return Ok(vec![Hunk { old: range(part.old), new: range(part.new) }]);
    };
    let hunk = |group: &Vec<DiffOp>| {
        let group = part.in_the_text(group);
        let span = |range: fn(&DiffOp) -> Range<usize>| {
            let start = group.first().map_or(0, |first| range(first).start);
            start..group.last().map_or(start, |last| range(last).end)
        };
        Hunk { old: span(DiffOp::old_range), new: span(DiffOp::new_range) }
    };
    Ok(groups.iter().map(hunk).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diff::unified;

    fn between(before: &[u8], after: &[u8]) -> Option<TextHunks> {
        TextHunks::between(before, after, Bounds::NONE).unwrap()
    }

    fn applied(before: &[u8], after: &[u8], chosen: &[usize]) -> Vec<u8> {
        between(before, after).unwrap().apply(&chosen.iter().copied().collect()).unwrap()
    }

    fn shown(before: &str, after: &str) -> String {
        let (before, after) = (before.as_bytes(), after.as_bytes());
        unified(["a/x", "b/x"], [before, after], usize::MAX, Bounds::NONE).unwrap().unwrap().0
    }

    /// One hunk of a diff as a person reads it: where it begins in the old text, and its lines with their signs.
    type ReadHunk = (usize, Vec<(char, String)>);

    /// Reads the hunks of a diff line by line, by the numbers of their headers.
    fn read(diff: &str) -> Vec<ReadHunk> {
        let mut hunks: Vec<ReadHunk> = Vec::new();
        for line in diff.split_inclusive('\n').skip(2) {
            match line.chars().next().unwrap() {
                '@' => {
                    let range = line.split(['-', ' ']).nth(2).unwrap();
                    let (first, count) = range.split_once(',').unwrap_or((range, "1"));
                    let first: usize = first.parse().unwrap();
                    hunks.push((if count == "0" { first } else { first - 1 }, Vec::new()));
                }
                // The line before it has no line break in the text.
                '\\' => {
                    let last = hunks.last_mut().unwrap().1.last_mut().unwrap();
                    assert_eq!(last.1.pop(), Some('\n'));
                }
                sign => hunks.last_mut().unwrap().1.push((sign, line[1..].to_owned())),
            }
        }
        hunks
    }

    /// Applies the chosen hunks of a diff to a text by hand: a slow, obvious reader that trusts the numbers.
    fn by_hand(before: &str, diff: &str, chosen: &BTreeSet<usize>) -> String {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let (mut at, mut result) = (0, String::new());
        for (index, (start, lines)) in read(diff).into_iter().enumerate() {
            while at < start {
                result.push_str(old[at]);
                at += 1;
            }
            for (sign, text) in lines {
                let is_chosen = chosen.contains(&index);
                if sign == ' ' || sign == if is_chosen { '+' } else { '-' } {
                    result.push_str(&text);
                }
                if sign != '+' {
                    at += 1;
                }
            }
        }
        old[at..].iter().for_each(|line| result.push_str(line));
        result
    }

    const OLD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20";
    const NEW: &str =
        "0\n1\n3\n4\n5\n6\n7\n8\n9\nnew\nnewer\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n21\n";

    #[test]
    fn a_hunk_is_applied_at_its_place_whichever_others_are() {
        assert_eq!(between(OLD.as_bytes(), NEW.as_bytes()).unwrap().count(), 3);
        let text = |chosen: &[usize]| {
            String::from_utf8(applied(OLD.as_bytes(), NEW.as_bytes(), chosen)).unwrap()
        };
        assert_eq!(text(&[]), OLD);
        assert_eq!(text(&[0, 1, 2]), NEW);
        assert_eq!(text(&[0]), OLD.replacen("1\n2\n", "0\n1\n", 1));
        assert_eq!(text(&[1]), OLD.replacen("9\n10", "9\nnew\nnewer\n10", 1));
        assert_eq!(text(&[2]), format!("{OLD}\n21\n"));
        assert_eq!(text(&[2, 7]), text(&[2]), "an index without a hunk is left out");
    }

    #[test]
    fn the_other_lines_keep_their_endings_and_their_encoding() {
        let before = b"1\r\n2\r\n3\n4\r\n5\n6\n7\r\n8\n9\n10\r\n11\n12";
        let after = b"one\r\n2\r\n3\n4\r\n5\n6\n7\r\n8\n9\n10\r\n11\ntwelve\r\n";
        assert_eq!(
            applied(before, after, &[1]),
            b"1\r\n2\r\n3\n4\r\n5\n6\n7\r\n8\n9\n10\r\n11\ntwelve\r\n"
        );
        assert_eq!(
            applied(before, after, &[0]),
            b"one\r\n2\r\n3\n4\r\n5\n6\n7\r\n8\n9\n10\r\n11\n12"
        );
        let wide = |text: &str| {
            let units = text.encode_utf16().flat_map(u16::to_le_bytes);
            [0xff, 0xfe].into_iter().chain(units).collect::<Vec<u8>>()
        };
        let expected = wide(&format!("{OLD}\n21\n"));
        assert_eq!(applied(&wide(OLD), &wide(NEW), &[2]), expected);
    }

    #[test]
    fn what_the_diff_does_not_show_byte_for_byte_has_no_hunks_to_choose() {
        assert!(between(b"a\0", b"b").is_none());
        assert!(between(b"a\n", b"\xef\xbb\xbfb\n").is_none());
        assert!(between(b"same\n", b"same\n").is_none());
        assert!(between(b"caf\xe9 ok \xff and more text\n", b"x\n").is_none());
    }

    #[test]
    fn very_many_lines_that_all_differ_are_one_hunk() {
        let old = "a\n".repeat(super::super::MAX_LINES + 1);
        let hunks = between(old.as_bytes(), b"b\n").unwrap();
        assert_eq!(hunks.count(), 1);
        assert_eq!(hunks.apply(&BTreeSet::from([0])).unwrap(), b"b\n");
        assert_eq!(hunks.apply(&BTreeSet::new()).unwrap(), old.as_bytes());
    }

    proptest! {
        #[test]
        fn chosen_hunks_are_what_a_reader_of_the_diff_applies(
            before in "([abc]\r?\n){0,40}[ab]?",
            after in "([abc]\r?\n){0,40}[ab]?",
            chosen in proptest::collection::btree_set(0usize..6, 0..6),
        ) {
            let Some(hunks) = between(before.as_bytes(), after.as_bytes()) else {
                prop_assert_eq!(before, after);
                return Ok(());
            };
            let diff = shown(&before, &after);
            prop_assert_eq!(hunks.count(), read(&diff).len());
            let bytes = hunks.apply(&chosen).unwrap();
            let expected = by_hand(&before, &diff, &chosen);
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        }

        #[test]
        fn edits_far_apart_are_chosen_one_by_one(
            edits in proptest::collection::btree_map(0usize..120, "([xy]\n){0,3}", 0..8),
            chosen in proptest::collection::btree_set(0usize..8, 0..8),
        ) {
            let lines: Vec<String> = (0..120).map(|line| format!("{line}\n")).collect();
            let before = lines.concat();
            let line = |(at, line): (usize, &String)| edits.get(&at).unwrap_or(line).clone();
            let after: String = lines.iter().enumerate().map(line).collect();
            let Some(hunks) = between(before.as_bytes(), after.as_bytes()) else { return Ok(()) };
            let diff = shown(&before, &after);
            let bytes = hunks.apply(&chosen).unwrap();
            let expected = by_hand(&before, &diff, &chosen);
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), expected);
            let all = (0..hunks.count()).collect();
            prop_assert_eq!(hunks.apply(&all).unwrap(), after.into_bytes());
        }
    }
}
