//! The lines of a file, and the search for runs of lines. A search builds an index of the lines once for each way to
//! compare them, so that a thousand hunks do not read a large file a thousand times. A search can be stopped.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

use super::place::{PlaceError, Regions};
use super::suffix_array::SuffixArray;
use crate::bounds::Steps;
use crate::{Bounds, lines, text};

/// Up to so many comparisons of lines are made one by one; more build a suffix array.
const FEW_COMPARED: usize = 1 << 10;

/// The blocks of so many different `@@` lines are cached: if there are more, none of them is very frequent.
const MAX_BLOCKS: usize = 1 << 12;

/// The lines where a run begins.
type Found = Result<Vec<usize>, PlaceError>;

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

    /// The part of a line that is compared.
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
            (Self::Punctuation, Ok(text)) => plain(text),
            (_, Err(())) => Cow::Borrowed(content.trim_ascii()),
        }
    }
}

/// Trimmed, with plain characters in place of typographic ones.
fn plain(text: &str) -> Cow<'_, [u8]> {
    let text = text.trim();
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
                plain.push(' ');
            }
            _ => match text::typed(character) {
                Some(typed) => plain.push_str(typed),
                None => plain.push(character),
            },
        }
    }
    // A folded space at an end is white space there.
    Cow::Owned(plain.trim().as_bytes().to_vec())
}

/// The lines of a file.
pub(super) struct FileLines<'a> {
    body: &'a [u8],
    /// Where each line begins, and the end of the body.
    starts: Vec<usize>,
    indexes: [OnceCell<FoldIndex>; 4],
    /// The end of the block below each line, computed at its first use.
    block_ends: OnceCell<Vec<u32>>,
    /// The blocks below the lines that `@@` lines name, cached because many chunks may have the same ones.
    blocks: RefCell<HashMap<Vec<String>, Rc<Vec<Regions>>>>,
    bounds: Bounds<'a>,
}

/// An index of the lines of a file by the part of them that is compared.
struct FoldIndex {
    /// The number of each line: lines that are compared as equal have the same.
    numbers: Vec<u32>,
    /// All lines by number, and then ascending.
    sorted: Vec<u32>,
    /// Where in `sorted` the lines of each number begin, and the end.
    begins: Vec<u32>,
    by_hash: HashMap<u64, u32>,
    /// Built when lines that occur often are looked for.
    runs: RefCell<Option<SuffixArray>>,
}

fn hash(key: &[u8]) -> u64 {
    // The default keys are constants, so that the same file always gives the same hashes.
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

impl<'a> FileLines<'a> {
    pub(super) fn new(body: &'a [u8], bounds: Bounds<'a>) -> Result<Self, PlaceError> {
        let mut starts = vec![0];
        let (mut at, mut steps) = (0, bounds.steps());
        for line in lines::split(body) {
            steps.step()?;
            at += line.len();
            starts.push(at);
        }
        let (indexes, block_ends) = (Default::default(), OnceCell::new());
        let blocks = RefCell::default();
        Ok(Self { body, starts, indexes, block_ends, blocks, bounds })
    }

    /// Counts steps of work on this file.
    pub(super) fn steps(&self) -> Steps<'a> {
        self.bounds.steps()
    }

    /// The end of the block below a line; `find` computes it for all lines at the first call.
    pub(super) fn block_end(
        &self,
        line: usize,
        find: impl FnOnce() -> Result<Vec<u32>, PlaceError>,
    ) -> Result<usize, PlaceError> {
        let ends = match self.block_ends.get() {
            Some(ends) => ends,
            None => {
                let ends = find()?;
                self.block_ends.get_or_init(|| ends)
            }
        };
        Ok(ends.get(line).map_or(self.len(), |end| *end as usize))
    }

    /// The blocks below the lines that `anchors` name; `find` computes them at the first call.
    pub(super) fn blocks_below(
        &self,
        anchors: &[String],
        find: impl FnOnce() -> Result<Vec<Regions>, PlaceError>,
    ) -> Result<Rc<Vec<Regions>>, PlaceError> {
        if let Some(known) = self.blocks.borrow().get(anchors) {
            return Ok(Rc::clone(known));
        }
        let found = Rc::new(find()?);
        let mut blocks = self.blocks.borrow_mut();
        if blocks.len() == MAX_BLOCKS {
            blocks.clear();
        }
        blocks.insert(anchors.to_vec(), Rc::clone(&found));
        Ok(found)
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
        self.raw_lines(line..line + 1)
    }

    /// Lines with their endings.
    pub(super) fn raw_lines(&self, lines: Range<usize>) -> &'a [u8] {
        self.body.get(self.offset(lines.start)..self.offset(lines.end)).unwrap_or_default()
    }

    /// A line without its ending.
    pub(super) fn content(&self, line: usize) -> &'a [u8] {
        let raw = self.raw(line);
        match raw.strip_suffix(b"\n") {
            Some(content) => content.strip_suffix(b"\r").unwrap_or(content),
            None => raw,
        }
    }

    /// Whether `wanted` is at line `at`.
    pub(super) fn fits(&self, fold: Fold, wanted: &[&[u8]], at: usize) -> bool {
        let fits =
            |(offset, line): (usize, &&[u8])| fold.key(self.content(at + offset)) == fold.key(line);
        at + wanted.len() <= self.len() && wanted.iter().enumerate().all(fits)
    }

    fn index(&self, fold: Fold) -> Result<&FoldIndex, PlaceError> {
        let [exact, trailing, surrounding, punctuation] = &self.indexes;
        let cell = match fold {
            Fold::Exact => exact,
            Fold::Trailing => trailing,
            Fold::Surrounding => surrounding,
            Fold::Punctuation => punctuation,
        };
        match cell.get() {
            Some(index) => Ok(index),
            None => {
                let keys = (0..self.len()).map(|line| hash(&fold.key(self.content(line))));
                let index = FoldIndex::new(keys, &mut self.steps())?;
                Ok(cell.get_or_init(|| index))
            }
        }
    }

    /// Where `wanted` occurs within `region`, ascending, with overlaps. With an index it takes time in proportion to
    /// the number of places. `wanted` is not empty.
    pub(super) fn places(&self, fold: Fold, wanted: &[&[u8]], region: &Range<usize>) -> Found {
        let last = region.end.min(self.len()).checked_sub(wanted.len());
        let Some(last) = last.filter(|last| *last >= region.start) else { return Ok(Vec::new()) };
        let index = self.index(fold)?;
        let Some(numbers) = index.numbers_of(fold, wanted) else { return Ok(Vec::new()) };
        let found = index.places(&numbers, &(region.start..last + 1), &mut self.steps())?;
        // A single place will be edited, and equal hashes are not enough for that.
        match found.as_slice() {
            [only] if !self.fits(fold, wanted, *only) => Ok(Vec::new()),
            _ => Ok(found),
        }
    }

    /// The first place of one line within `region`.
    pub(super) fn first(
        &self,
        fold: Fold,
        line: &[u8],
        region: &Range<usize>,
    ) -> Result<Option<usize>, PlaceError> {
        if region.is_empty() {
            return Ok(None);
        }
        let index = self.index(fold)?;
        let Some(numbers) = index.numbers_of(fold, &[line]) else { return Ok(None) };
        let found = index.rarest(&numbers, region).and_then(|rarest| rarest.lines.first());
        let found = found.map(|line| *line as usize);
        Ok(found.filter(|at| self.fits(fold, &[line], *at)))
    }
}

/// The line of a run that occurs least often.
struct Rarest<'a> {
    lines: &'a [u32],
    /// Its place in the run.
    offset: usize,
}

impl FoldIndex {
    fn new(keys: impl Iterator<Item = u64>, steps: &mut Steps<'_>) -> Result<Self, PlaceError> {
        let mut by_hash = HashMap::new();
        let (mut numbers, mut counts) = (Vec::new(), Vec::new());
        for key in keys {
            steps.step()?;
            let number = match by_hash.entry(key) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    counts.push(0);
                    *new.insert(counts.len() as u32 - 1)
                }
            };
            numbers.push(number);
            counts[number as usize] += 1;
        }
        let mut begins = Vec::with_capacity(counts.len() + 1);
        let mut begin = 0;
        for count in counts {
            begins.push(begin);
            begin += count;
        }
        begins.push(begin);
        let mut next = begins.clone();
        let mut sorted = vec![0; numbers.len()];
        for (line, number) in numbers.iter().enumerate() {
            steps.step()?;
            let slot = &mut next[*number as usize];
            sorted[*slot as usize] = line as u32;
            *slot += 1;
        }
        Ok(Self { numbers, sorted, begins, by_hash, runs: RefCell::default() })
    }

    /// The numbers of lines; none if one of them is nowhere in the file.
    fn numbers_of(&self, fold: Fold, wanted: &[&[u8]]) -> Option<Vec<u32>> {
        let number = |line: &&[u8]| self.by_hash.get(&hash(&fold.key(line))).copied();
        wanted.iter().map(number).collect()
    }

    /// The lines with this number.
    fn with(&self, number: u32) -> &[u32] {
        let number = number as usize;
        &self.sorted[self.begins[number] as usize..self.begins[number + 1] as usize]
    }

    /// Where a run of these lines begins in `starts`, ascending.
    fn places(&self, run: &[u32], starts: &Range<usize>, steps: &mut Steps<'_>) -> Found {
        let Some(Rarest { lines, offset }) = self.rarest(run, starts) else {
            return Ok(Vec::new());
        };
        let one_by_one = |steps: &mut Steps<'_>| {
            let mut found = Vec::new();
            for line in lines {
                steps.step()?;
                let start = *line as usize - offset;
                if self.numbers[start..].starts_with(run) {
                    found.push(start);
                }
            }
            Ok(found)
        };
        if run.len() == 1 || lines.len() * run.len() <= FEW_COMPARED {
            return one_by_one(steps);
        }
        let mut runs = self.runs.borrow_mut();
        let runs = runs.get_or_insert_with(|| SuffixArray::new(&self.sorted, &self.numbers));
        runs.deepen(run.len(), steps)?;
        let everywhere = runs.places(&self.numbers, run);
        // A small part of a file may have few of very many places.
        if everywhere.len() > lines.len() * run.len() {
            return one_by_one(steps);
        }
        let places = everywhere.iter().map(|place| *place as usize);
        let mut found: Vec<usize> = places.filter(|place| starts.contains(place)).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// The rarest of the lines, within what a run that begins in `starts` can reach.
    fn rarest(&self, run: &[u32], starts: &Range<usize>) -> Option<Rarest<'_>> {
        let occurrences = |(offset, number): (usize, &u32)| {
            let all = self.with(*number);
            let first = all.partition_point(|line| (*line as usize) < starts.start + offset);
            let rest = &all[first..];
            let count = rest.partition_point(|line| (*line as usize) < starts.end + offset);
            Rarest { lines: &rest[..count], offset }
        };
        run.iter().enumerate().map(occurrences).min_by_key(|rarest| rarest.lines.len())
    }
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
        let file_lines = FileLines::new(b"a\r\n\r\nb\r", Bounds::NONE).unwrap();
        let contents: Vec<&[u8]> =
            (0..file_lines.len()).map(|line| file_lines.content(line)).collect();
        assert_eq!(contents, [&b"a"[..], b"", b"b\r"]);
        assert_eq!(FileLines::new(b"", Bounds::NONE).unwrap().len(), 0);
    }

    proptest! {
        #[test]
        fn places_are_those_of_the_slow_twin(
            lines in proptest::collection::vec("[ab]| a|“a”", 0..40),
            wanted in proptest::collection::vec("[ab]|a |\"a\"", 1..5),
            (from, to) in (0usize..40, 0usize..45),
        ) {
            let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let file_lines = FileLines::new(body.as_bytes(), Bounds::NONE).unwrap();
            let wanted: Vec<&[u8]> = wanted.iter().map(|line| line.as_bytes()).collect();
            for fold in Fold::ALL {
                let end = to.min(file_lines.len());
                let twin: Vec<usize> = (from..end)
                    .filter(|at| at + wanted.len() <= end && file_lines.fits(fold, &wanted, *at))
                    .collect();
                prop_assert_eq!(file_lines.places(fold, &wanted, &(from..to)).unwrap(), twin);
            }
        }
    }
    #[test]
    fn runs_of_lines_that_occur_often_are_found_in_their_region() {
        let lines: Vec<usize> = (0..4_000usize).map(|line| line * line % 11 % 2).collect();
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let file_lines = FileLines::new(body.as_bytes(), Bounds::NONE).unwrap();
        let text: Vec<String> = lines[100..140].iter().map(usize::to_string).collect();
        let wanted: Vec<&[u8]> = text.iter().map(|line| line.as_bytes()).collect();
        for region in [0..4_000usize, 90..2_000, 100..140, 101..140] {
            let twin: Vec<usize> = (region.start..region.end.saturating_sub(wanted.len() - 1))
                .filter(|at| file_lines.fits(Fold::Exact, &wanted, *at))
                .collect();
            assert_eq!(file_lines.places(Fold::Exact, &wanted, &region).unwrap(), twin);
        }
    }
}
