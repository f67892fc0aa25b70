//! Lines (R4). A line ends at `\n`, and its `\r` belongs to it; a last piece without `\n` is a
//! line; an empty text has none. Works on bytes whose `\n` is one byte: UTF-16 is decoded before
//! it comes here. Copies nothing.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

/// Where a slice of lines begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStart {
    /// That many lines from the start; past the end gives an empty slice.
    FromStart(u64),
    /// That many lines before the end; before the start gives the start.
    FromEnd(u64),
}

/// How many lines `bytes` holds.
pub fn count(bytes: &[u8]) -> u64 {
    let ends = memchr_iter(b'\n', bytes).count() as u64;
    let open = bytes.last().is_some_and(|last| *last != b'\n');
    ends + u64::from(open)
}

/// The lines of `bytes` with their terminators; joined they are `bytes` again.
pub fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, tail) = rest.split_at(end);
        rest = tail;
        Some(line)
    })
}

/// Some whole lines of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSlice {
    /// Their bytes, terminators included.
    pub range: Range<usize>,
    /// The number of the first of them, from 0; of an empty slice, where it would begin.
    pub first_line: u64,
    /// How many they are.
    pub lines: u64,
    /// Lines of the whole text.
    pub total: u64,
    /// Lines remain after them.
    pub truncated: bool,
}

/// The lines of `text` from `start` on, at most `limit` of them.
///
/// A start past the end gives an empty slice at the end, a start before the beginning the
/// beginning.
pub fn slice(text: &[u8], start: LineStart, limit: Option<u64>) -> LineSlice {
    let total = count(text);
    let first_line = match start {
        LineStart::FromStart(lines) => lines.min(total),
        LineStart::FromEnd(lines) => total.saturating_sub(lines),
    };
    let lines = limit.unwrap_or(u64::MAX).min(total - first_line);
    let begin = offset_of(text, first_line);
    let truncated = first_line + lines < total;
    let end = if truncated { begin + offset_of(&text[begin..], lines) } else { text.len() };
    LineSlice { range: begin..end, first_line, lines, total, truncated }
}

/// Where line `line` (from 0) begins; the end of the text when it has no such line.
pub(crate) fn offset_of(text: &[u8], line: u64) -> usize {
    let Some(before) = line.checked_sub(1) else { return 0 };
    let before = usize::try_from(before).unwrap_or(usize::MAX);
    memchr_iter(b'\n', text).nth(before).map_or(text.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The slow, obvious twin.
    fn twin(text: &[u8], start: LineStart, limit: Option<u64>) -> LineSlice {
        let all: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let first = match start {
            LineStart::FromStart(lines) => (lines as usize).min(all.len()),
            LineStart::FromEnd(lines) => all.len() - (lines as usize).min(all.len()),
        };
        let lines = (limit.unwrap_or(u64::MAX) as usize).min(all.len() - first);
        let begin: usize = all[..first].iter().map(|line| line.len()).sum();
        let length: usize = all[first..first + lines].iter().map(|line| line.len()).sum();
        LineSlice {
            range: begin..begin + length,
            first_line: first as u64,
            lines: lines as u64,
            total: all.len() as u64,
            truncated: first + lines < all.len(),
        }
    }

    #[test]
    fn r4_lines_are_counted() {
        for (text, lines) in
            [("", 0), ("a", 1), ("a\n", 1), ("\n", 1), ("a\nb", 2), ("a\r\nb\r\n", 2), ("a\rb", 1)]
        {
            assert_eq!(count(text.as_bytes()), lines, "{text:?}");
        }
    }

    #[test]
    fn r4_slices_past_the_ends() {
        let past = slice(b"a\nb\n", LineStart::FromStart(9), None);
        assert_eq!((past.range, past.first_line, past.lines), (4..4, 2, 0));
        assert!(!past.truncated);
        let whole = slice(b"a\nb\n", LineStart::FromEnd(9), None);
        assert_eq!((whole.range, whole.first_line, whole.truncated), (0..4, 0, false));
        let none = slice(b"a\nb\n", LineStart::FromStart(0), Some(0));
        assert_eq!((none.range, none.truncated), (0..0, true));
        let huge = slice(b"a\nb\n", LineStart::FromStart(u64::MAX), Some(u64::MAX));
        assert_eq!(huge.first_line, 2);
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), any::<u8>()];
        proptest::collection::vec(byte, 0..60)
    }

    fn start() -> impl Strategy<Value = LineStart> {
        let lines = prop_oneof![0u64..20, Just(u64::MAX)];
        (lines, any::<bool>()).prop_map(|(lines, from_end)| {
            if from_end { LineStart::FromEnd(lines) } else { LineStart::FromStart(lines) }
        })
    }

    proptest! {
        #[test]
        fn r4_slice_is_its_twin(
            text in text(),
            start in start(),
            limit in proptest::option::of(0u64..20),
        ) {
            prop_assert_eq!(slice(&text, start, limit), twin(&text, start, limit));
        }

        #[test]
        fn r4_split_joins_back(text in text()) {
            let parts: Vec<&[u8]> = split(&text).collect();
            let twin: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
            prop_assert_eq!(&parts, &twin);
            prop_assert_eq!(count(&text), parts.len() as u64);
        }
    }
}
