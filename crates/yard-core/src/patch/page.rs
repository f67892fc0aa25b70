//! The lines of a file as patches see them, and where a run of lines stands among them. Comparing
//! at one place costs that place; searching builds an index of the lines once a form and file, so
//! that a thousand hunks in a large file do not read it a thousand times. Changes nothing.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use memchr::memmem;

use crate::lines;

/// Lines that are looked for in the whole body before an index of it is built.
const LOOKED_UP_LINES: usize = 16;

/// How two lines are compared. Line endings are never part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// Every character counts.
    Exact,
    /// White space at the end does not.
    Trailing,
    /// White space at both ends does not.
    Surrounding,
    /// Nor does it matter whether quotes, dashes and spaces are typographic.
    Punctuation,
}

impl Fold {
    pub(super) const ALL: [Self; 4] =
        [Self::Exact, Self::Trailing, Self::Surrounding, Self::Punctuation];

    /// What of a line's content is compared.
    pub(super) fn key(self, content: &[u8]) -> Cow<'_, [u8]> {
        // A line that is no UTF-8 is compared by its bytes.
        let text = match self {
            Self::Exact => Err(()),
            _ => std::str::from_utf8(content).map_err(|_| ()),
        };
        match (self, text) {
            (Self::Exact, _) => Cow::Borrowed(content),
            (Self::Trailing, Ok(text)) => Cow::Borrowed(text.trim_end().as_bytes()),
            (Self::Trailing, Err(())) => Cow::Borrowed(content.trim_ascii_end()),
            (Self::Surrounding, Ok(text)) => Cow::Borrowed(text.trim().as_bytes()),
            (Self::Punctuation, Ok(text)) => typewritten(text),
            (_, Err(())) => Cow::Borrowed(content.trim_ascii()),
        }
    }
}

/// Trimmed, with what a typewriter has for typographic characters.
fn typewritten(text: &str) -> Cow<'_, [u8]> {
    let text = text.trim();
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{2018}'..='\u{201b}' | '\u{2032}' => plain.push('\''),
            '\u{201c}'..='\u{201f}' | '\u{2033}' => plain.push('"'),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
            '\u{2026}' => plain.push_str("..."),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
                plain.push(' ');
            }
            _ => plain.push(character),
        }
    }
    // A folded space at an end is white space there.
    Cow::Owned(plain.trim().as_bytes().to_vec())
}

/// A file's lines.
pub(super) struct Page<'a> {
    body: &'a [u8],
    /// Where each line begins, and the end of the body.
    starts: Vec<usize>,
    indexes: [OnceCell<Index>; 4],
    /// Where the blocks below some lines end: many chunks may name the same line.
    block_ends: RefCell<HashMap<usize, usize>>,
}

/// The lines of a file by what of them is compared.
struct Index {
    /// Line by line.
    hashes: Vec<u64>,
    /// The same with their lines, by hash and then by line.
    sorted: Vec<(u64, usize)>,
}

fn hash(key: &[u8]) -> u64 {
    // Its keys are constants, so that the same file always takes the same way.
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

impl<'a> Page<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        let mut starts = vec![0];
        let mut at = 0;
        for line in lines::split(body) {
            at += line.len();
            starts.push(at);
        }
        Self { body, starts, indexes: Default::default(), block_ends: RefCell::default() }
    }

    /// Where the block below a line ends; `find` says it the first time.
    pub(super) fn block_end(&self, line: usize, find: impl FnOnce(usize) -> usize) -> usize {
        *self.block_ends.borrow_mut().entry(line).or_insert_with(|| find(line))
    }

    pub(super) fn body(&self) -> &'a [u8] {
        self.body
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where a line begins; the end of the body for lines past it.
    pub(super) fn offset(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.body.len())
    }

    /// A line with its ending.
    pub(super) fn raw(&self, line: usize) -> &'a [u8] {
        self.body.get(self.offset(line)..self.offset(line + 1)).unwrap_or_default()
    }

    /// A line without its ending.
    pub(super) fn content(&self, line: usize) -> &'a [u8] {
        let raw = self.raw(line);
        match raw.strip_suffix(b"\n") {
            Some(content) => content.strip_suffix(b"\r").unwrap_or(content),
            None => raw,
        }
    }

    /// Whether `wanted` stands at `at`.
    pub(super) fn fits(&self, fold: Fold, wanted: &[&[u8]], at: usize) -> bool {
        let fits =
            |(offset, line): (usize, &&[u8])| fold.key(self.content(at + offset)) == fold.key(line);
        at + wanted.len() <= self.len() && wanted.iter().enumerate().all(fits)
    }

    fn cell(&self, fold: Fold) -> &OnceCell<Index> {
        let [exact, trailing, surrounding, punctuation] = &self.indexes;
        match fold {
            Fold::Exact => exact,
            Fold::Trailing => trailing,
            Fold::Surrounding => surrounding,
            Fold::Punctuation => punctuation,
        }
    }

    /// Whether a look at the whole body shows that one of the lines is nowhere in it: then there is no
    /// need for an index. Characters that are folded are left to the index.
    fn lacks_any(&self, fold: Fold, wanted: &[&[u8]]) -> bool {
        if fold == Fold::Punctuation && !self.body.is_ascii() {
            return false;
        }
        let lacks = |line: &&[u8]| {
            let text = std::str::from_utf8(line).ok().filter(|text| text.is_ascii());
            text.is_some_and(|text| memmem::find(self.body, text.trim().as_bytes()).is_none())
        };
        wanted.iter().take(LOOKED_UP_LINES).any(lacks)
    }

    fn index(&self, fold: Fold) -> &Index {
        self.cell(fold).get_or_init(|| {
            let keys = (0..self.len()).map(|line| hash(&fold.key(self.content(line))));
            let hashes: Vec<u64> = keys.collect();
            let mut sorted: Vec<(u64, usize)> =
                hashes.iter().enumerate().map(|(line, hash)| (*hash, line)).collect();
            sorted.sort_unstable();
            Index { hashes, sorted }
        })
    }

    /// Where `wanted` stands wholly within `region`, ascending; overlaps are places too. It takes
    /// time in proportion to the region at worst, and mostly in proportion to how often the rarest
    /// line occurs. `wanted` is not empty.
    pub(super) fn places(&self, fold: Fold, wanted: &[&[u8]], region: &Range<usize>) -> Vec<usize> {
        let last = region.end.min(self.len()).checked_sub(wanted.len());
        let Some(last) = last.filter(|last| *last >= region.start) else { return Vec::new() };
        if self.cell(fold).get().is_none() && self.lacks_any(fold, wanted) {
            return Vec::new();
        }
        let index = self.index(fold);
        let hashes: Vec<u64> = wanted.iter().map(|line| hash(&fold.key(line))).collect();
        let starts = region.start..last + 1;
        let found = match index.rarest(&hashes, &starts) {
            Some(Rarest { lines: [], .. }) => Vec::new(),
            Some(Rarest { lines, offset }) if lines.len() * hashes.len() <= 8 * starts.len() => {
                let begins = lines.iter().map(|(_, line)| line - offset);
                begins.filter(|start| index.stands(&hashes, *start)).collect()
            }
            _ => index.scan(&hashes, &starts),
        };
        // One place is where an edit happens: there, equal hashes are not enough.
        match found.as_slice() {
            [only] if !self.fits(fold, wanted, *only) => Vec::new(),
            _ => found,
        }
    }
}

/// The line of a run that occurs least often.
struct Rarest<'a> {
    lines: &'a [(u64, usize)],
    /// Its place in the run.
    offset: usize,
}

impl Index {
    /// The rarest of the lines, within what a run that begins in `starts` can reach.
    fn rarest(&self, hashes: &[u64], starts: &Range<usize>) -> Option<Rarest<'_>> {
        let occurrences = |(offset, hash): (usize, &u64)| {
            let first = self.sorted.partition_point(|one| *one < (*hash, starts.start + offset));
            let rest = self.sorted.get(first..).unwrap_or_default();
            let count = rest.partition_point(|one| *one < (*hash, starts.end + offset));
            Rarest { lines: rest.get(..count).unwrap_or_default(), offset }
        };
        hashes.iter().enumerate().map(occurrences).min_by_key(|rarest| rarest.lines.len())
    }

    fn stands(&self, hashes: &[u64], start: usize) -> bool {
        self.hashes.get(start..start + hashes.len()) == Some(hashes)
    }

    /// Knuth, Morris and Pratt's search: linear however much the lines repeat themselves.
    fn scan(&self, hashes: &[u64], starts: &Range<usize>) -> Vec<usize> {
        let borders = borders(hashes);
        let border = |length: usize| borders.get(length.wrapping_sub(1)).copied().unwrap_or(0);
        let end = starts.end + hashes.len() - 1;
        let mut found = Vec::new();
        let mut matched = 0;
        for (line, hash) in self.hashes.iter().enumerate().take(end).skip(starts.start) {
            while matched > 0 && hashes.get(matched) != Some(hash) {
                matched = border(matched);
            }
            if hashes.get(matched) == Some(hash) {
                matched += 1;
            }
            if matched == hashes.len() {
                found.push(line + 1 - matched);
                matched = border(matched);
            }
        }
        found
    }
}

/// For every beginning of the run, how long the longest shorter run is that both begins and ends
/// it.
fn borders(hashes: &[u64]) -> Vec<usize> {
    let mut borders: Vec<usize> = Vec::with_capacity(hashes.len());
    let mut matched = 0;
    for (at, hash) in hashes.iter().enumerate() {
        while matched > 0 && hashes.get(matched) != Some(hash) {
            matched = borders.get(matched - 1).copied().unwrap_or(0);
        }
        if at > 0 && hashes.get(matched) == Some(hash) {
            matched += 1;
        }
        borders.push(matched);
    }
    borders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn x3_folds_hide_only_what_they_say() {
        let key = |fold: Fold, line: &str| fold.key(line.as_bytes()).into_owned();
        assert_eq!(key(Fold::Trailing, " a\u{a0}\t"), b" a");
        assert_eq!(key(Fold::Surrounding, " a \t"), b"a");
        assert_eq!(key(Fold::Punctuation, "\u{a0}“a” – ‘b’…`"), b"\"a\" - 'b'...`");
        assert_eq!(Fold::Punctuation.key(b" \xff \xa0 ").as_ref(), b"\xff \xa0");
        assert_eq!(Fold::Exact.key(b" a ").as_ref(), b" a ");
    }

    #[test]
    fn lines_without_their_endings() {
        let page = Page::new(b"a\r\n\r\nb\r");
        let contents: Vec<&[u8]> = (0..page.len()).map(|line| page.content(line)).collect();
        assert_eq!(contents, [&b"a"[..], b"", b"b\r"]);
        assert_eq!(Page::new(b"").len(), 0);
    }

    proptest! {
        #[test]
        fn places_are_those_of_the_slow_twin(
            lines in proptest::collection::vec("[ab]| a|“a”", 0..40),
            wanted in proptest::collection::vec("[ab]|a |\"a\"", 1..5),
            (from, to) in (0usize..40, 0usize..45),
        ) {
            let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let page = Page::new(body.as_bytes());
            let wanted: Vec<&[u8]> = wanted.iter().map(|line| line.as_bytes()).collect();
            for fold in Fold::ALL {
                let end = to.min(page.len());
                let twin: Vec<usize> = (from..end)
                    .filter(|at| at + wanted.len() <= end && page.fits(fold, &wanted, *at))
                    .collect();
                prop_assert_eq!(page.places(fold, &wanted, &(from..to)), twin);
            }
        }
    }
}
