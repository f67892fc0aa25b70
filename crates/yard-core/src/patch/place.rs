//! Finds the place of a hunk (X3). A unified hunk whose lines are at its stated line belongs there; the lines of any
//! other hunk must occur exactly once, in the first pass in which they occur at all. This module writes nothing, and
//! never chooses between two places.

use std::fmt;
use std::ops::Range;

use super::file_lines::{FileLines, Fold};
use super::{Hunk, HunkLine, PatchForm, Sign};
use crate::Fault;

/// Context lines at each end of a unified hunk that may be left out as the last resort.
const MAX_FUZZ: usize = 2;

/// What had to be ignored to place a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    /// Nothing: the hunk is exactly at its stated line, or only adds lines at a stated line.
    Stated,
    /// The stated line: the hunk matches exactly at one other line.
    Exact,
    /// White space at the end of lines.
    TrailingSpace,
    /// White space at both ends of lines.
    SurroundingSpace,
    /// White space, and whether quotes, dashes and spaces are typographic.
    Punctuation,
    /// So many context lines at the ends of the hunk; in an envelope only blank ones.
    Fuzz(usize),
}

impl Pass {
    pub(super) fn of(fold: Fold) -> Self {
        match fold {
            Fold::Exact => Self::Exact,
            Fold::Trailing => Self::TrailingSpace,
            Fold::Surrounding => Self::SurroundingSpace,
            Fold::Punctuation => Self::Punctuation,
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated => f.write_str("where the patch says"),
            Self::Exact => f.write_str("the only exact match"),
            Self::TrailingSpace => f.write_str("white space at line ends ignored"),
            Self::SurroundingSpace => {
                f.write_str("indentation and white space at line ends ignored")
            }
            Self::Punctuation => f.write_str("white space and typographic punctuation ignored"),
            Self::Fuzz(1) => f.write_str("1 context line at the ends ignored"),
            Self::Fuzz(lines) => write!(f, "{lines} context lines at the ends ignored"),
        }
    }
}

/// The place of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HunkPlace {
    /// The line of the file, from 0, at which the kept lines of the hunk begin.
    pub start: usize,
    /// Which of the hunk's lines are kept.
    pub kept: Range<usize>,
    pub pass: Pass,
}

/// Why a hunk has no unique place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlaceError {
    /// Its lines do not occur.
    Nowhere,
    /// Its lines occur only before the end of the last hunk.
    Before(usize),
    /// Its lines do not occur, but its new lines do, at this line.
    Done(usize),
    /// Its lines occur at this line, which is not below the line that its `@@` names.
    NotBelow(usize),
    /// Its lines occur at this line, but the file goes on after them.
    NotAtEnd(usize),
    /// Its lines occur at all of these lines.
    Several(Vec<usize>, Pass),
    /// The line that an `@@` line names does not occur, or not within the blocks of those above it.
    Anchor(String),
    /// The line that an `@@` line names occurs several times.
    Anchors(String, Vec<usize>),
    /// It names no line of the file, and its stated line cannot be trusted.
    Unanchored,
    /// It only adds lines, and its `@@` line states no number.
    Unnumbered,
    /// The search was stopped before it found anything.
    Stopped(Fault),
}

impl From<Fault> for PlaceError {
    fn from(fault: Fault) -> Self {
        Self::Stopped(fault)
    }
}

/// How far the hunks of a file have been placed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The first line that is still free.
    pub cursor: usize,
    /// By how many lines the last hunk was off its stated line.
    pub drift: isize,
}

/// Finds the place of a hunk.
pub(super) fn find_place(
    file_lines: &FileLines<'_>,
    form: PatchForm,
    hunk: &Hunk,
    progress: Progress,
) -> Result<HunkPlace, PlaceError> {
    let search = Search { file_lines, hunk, progress };
    let found = match form {
        PatchForm::Unified if hunk.stated.is_some() => search.unified(),
        PatchForm::Unified => search.unnumbered(),
        PatchForm::Freeform => search.freeform(),
    };
    found.map_err(|missing| match missing {
        PlaceError::Nowhere => search.elsewhere().unwrap_or_else(|stopped| stopped),
        other => other,
    })
}

/// The line, from 0, at which a unified hunk says that it begins.
pub(super) fn stated_start(hunk: &Hunk) -> Option<usize> {
    let old = hunk.stated?.old;
    // A hunk without old lines states the line after which it goes.
    Some(if hunk.old_lines().next().is_none() { old } else { old.saturating_sub(1) })
}

/// The old lines among `lines`, as they are compared: a `\r` at the end belongs to the line ending, unless the line has
/// no ending.
fn old_lines(lines: &[HunkLine], last_is_open: bool) -> Vec<&[u8]> {
    let mut old = lines.iter().filter(|line| line.sign != Sign::Add);
    let mut wanted: Vec<&[u8]> = old
        .clone()
        .map(|line| line.text.strip_suffix('\r').unwrap_or(&line.text).as_bytes())
        .collect();
    if let (true, Some(last), Some(line)) = (last_is_open, wanted.last_mut(), old.next_back()) {
        *last = line.text.as_bytes();
    }
    wanted
}

/// The parts of the file that are searched, ascending and not adjacent.
pub(super) type Regions = Vec<Range<usize>>;

/// The places that count: those within one of the regions, and not before a line.
#[derive(Clone, Copy)]
pub(super) struct Area<'r> {
    regions: &'r [Range<usize>],
    from: usize,
}

impl<'r> Area<'r> {
    /// All of the regions.
    pub(super) fn all(regions: &'r [Range<usize>]) -> Self {
        Self { regions, from: 0 }
    }

    /// The region that a line is in, if it counts.
    fn region(&self, line: usize) -> Option<&Range<usize>> {
        let region = self.regions.partition_point(|region| region.end <= line);
        self.regions.get(region).filter(|region| region.start.max(self.from) <= line)
    }

    fn contains(&self, line: usize) -> bool {
        self.region(line).is_some()
    }

    /// Whether lines are wholly in one region.
    fn holds(&self, lines: &Range<usize>) -> bool {
        self.region(lines.start).is_some_and(|region| lines.end <= region.end)
    }
}

/// The search for the place of one hunk. What only envelopes have is in `anchor.rs`.
pub(super) struct Search<'a, 'b> {
    pub file_lines: &'a FileLines<'b>,
    pub hunk: &'a Hunk,
    pub progress: Progress,
}

impl<'a> Search<'a, '_> {
    pub(super) fn whole(&self) -> Range<usize> {
        0..self.hunk.lines.len()
    }

    fn wanted(&self, kept: &Range<usize>) -> Vec<&'a [u8]> {
        let lines = self.hunk.lines.get(kept.clone()).unwrap_or_default();
        old_lines(lines, self.hunk.old_open && kept.end == self.hunk.lines.len())
    }

    /// The rest of the file after the last hunk.
    pub(super) fn rest(&self) -> Range<usize> {
        self.progress.cursor..self.file_lines.len()
    }

    /// Whether the last line of the hunk must be the last of the file.
    fn ends_the_file(&self) -> bool {
        self.hunk.at_end || self.hunk.old_open || self.hunk.new_open
    }

    pub(super) fn place_at(&self, start: usize, pass: Pass) -> HunkPlace {
        HunkPlace { start, kept: self.whole(), pass }
    }

    fn unified(&self) -> Result<HunkPlace, PlaceError> {
        let wanted = self.wanted(&self.whole());
        let stated = stated_start(self.hunk).unwrap_or_default();
        if wanted.is_empty() {
            let rest = self.rest();
            let trusted = self.progress.drift == 0
                && (rest.start..=rest.end).contains(&stated)
                && (!self.ends_the_file() || stated == rest.end);
            return trusted
                .then(|| self.place_at(stated, Pass::Stated))
                .ok_or(PlaceError::Unanchored);
        }
        if let Some(start) = self.at_stated_line(&wanted, stated)? {
            return Ok(self.place_at(start, Pass::Stated));
        }
        self.in_passes(&self.whole(), &[&[self.rest()]])?.map_or_else(|| self.with_fuzz(), Ok)
    }

    /// A hunk of a unified diff that states no line is placed as one of an envelope. Lines that are only added
    /// need a line above them, unless there is nothing else in the file.
    fn unnumbered(&self) -> Result<HunkPlace, PlaceError> {
        let is_addition = self.hunk.old_lines().next().is_none();
        if is_addition && self.hunk.anchors.is_empty() && self.file_lines.len() > 0 {
            return Err(PlaceError::Unnumbered);
        }
        self.freeform()
    }

    /// The stated line, if the hunk matches there exactly. If the last hunk was off its stated line, the line with the
    /// same offset is as likely, and if the hunk matches at both, neither is taken.
    fn at_stated_line(&self, wanted: &[&[u8]], stated: usize) -> Result<Option<usize>, PlaceError> {
        let fits = |start: &usize| {
            *start >= self.progress.cursor
                && self.file_lines.fits(Fold::Exact, wanted, *start)
                && (!self.ends_the_file() || start + wanted.len() == self.file_lines.len())
        };
        let drifted = stated.checked_add_signed(self.progress.drift);
        let drifted = drifted.filter(|line| *line != stated).filter(fits);
        match (Some(stated).filter(fits), drifted) {
            (Some(_), Some(_)) => {
                let rest = self.rest();
                let places =
                    self.places(Fold::Exact, wanted, Area::all(std::slice::from_ref(&rest)))?;
                Err(PlaceError::Several(places, Pass::Exact))
            }
            (stated, _) => Ok(stated),
        }
    }

    /// The only place of the kept lines, in the first pass that has any. Only exact matches count in further sets of
    /// regions, because those are guesses, and only if the first set has no similar place.
    pub(super) fn in_passes(
        &self,
        kept: &Range<usize>,
        tiers: &[&[Range<usize>]],
    ) -> Result<Option<HunkPlace>, PlaceError> {
        // Only where no hunk was placed yet.
        let free = |regions| Area { regions, from: self.progress.cursor };
        let Some(first) = tiers.first() else { return Ok(None) };
        for fold in Fold::ALL {
            let sought = if fold == Fold::Exact { tiers } else { std::slice::from_ref(first) };
            for regions in sought {
                if let Some(start) = self.only_place(fold, Pass::of(fold), kept, free(regions))? {
                    return Ok(Some(HunkPlace { start, kept: kept.clone(), pass: Pass::of(fold) }));
                }
            }
            // A place that the loosest pass does not find is found by no pass between.
            let loosest = Fold::Punctuation;
            let is_exact = fold == Fold::Exact;
            if is_exact && self.places(loosest, &self.wanted(kept), free(first))?.is_empty() {
                break;
            }
        }
        Ok(None)
    }

    fn only_place(
        &self,
        fold: Fold,
        pass: Pass,
        kept: &Range<usize>,
        area: Area<'_>,
    ) -> Result<Option<usize>, PlaceError> {
        let wanted = self.wanted(kept);
        let mut places = self.places(fold, &wanted, area)?;
        match places.len() {
            0 | 1 => Ok(places.pop()),
            _ => Err(PlaceError::Several(places, pass)),
        }
    }

    fn places(
        &self,
        fold: Fold,
        wanted: &[&[u8]],
        area: Area<'_>,
    ) -> Result<Vec<usize>, PlaceError> {
        if self.ends_the_file() {
            let start = self.file_lines.len().checked_sub(wanted.len());
            let holds =
                |start: &usize| area.contains(*start) && self.file_lines.fits(fold, wanted, *start);
            return Ok(start.filter(holds).into_iter().collect());
        }
        self.within(fold, wanted, area)
    }

    /// Where `wanted` occurs within the regions of an area. They are searched at once, because there may be as many
    /// regions as lines.
    pub(super) fn within(
        &self,
        fold: Fold,
        wanted: &[&[u8]],
        area: Area<'_>,
    ) -> Result<Vec<usize>, PlaceError> {
        let first = area.regions.partition_point(|region| region.end <= area.from);
        let (first, last) = (area.regions.get(first), area.regions.last());
        let (Some(first), Some(last)) = (first, last) else { return Ok(Vec::new()) };
        let region = first.start.max(area.from)..last.end;
        let mut places = self.file_lines.places(fold, wanted, &region)?;
        places.retain(|place| area.holds(&(*place..place + wanted.len())));
        Ok(places)
    }

    /// Leaves out context as GNU patch does, at the longer end first. It is stricter than GNU patch: the context line
    /// next to a changed line is never left out, and the kept lines must occur only once in the whole file.
    fn with_fuzz(&self) -> Result<HunkPlace, PlaceError> {
        let is_context = |line: &&HunkLine| line.sign == Sign::Context;
        let before = self.hunk.lines.iter().take_while(is_context).count();
        let after = self.hunk.lines.iter().rev().take_while(is_context).count();
        let longest = before.max(after);
        let whole = 0..self.file_lines.len();
        let mut left_out = 0;
        for fuzz in 1..=MAX_FUZZ {
            let first = (fuzz + before).saturating_sub(longest).min(before.saturating_sub(1));
            let last = (fuzz + after).saturating_sub(longest).min(after.saturating_sub(1));
            let last = if self.ends_the_file() { 0 } else { last };
            let kept = first..self.hunk.lines.len().saturating_sub(last);
            if first + last == left_out || !self.names_a_line(&kept) {
                continue;
            }
            left_out = first + last;
            let pass = Pass::Fuzz(left_out);
            let area = Area::all(std::slice::from_ref(&whole));
            let place = self.only_place(Fold::Exact, pass, &kept, area)?;
            if let Some(start) = place.filter(|start| *start >= self.progress.cursor) {
                return Ok(HunkPlace { start, kept, pass });
            }
        }
        Err(PlaceError::Nowhere)
    }

    /// Whether the kept lines name a line of the file that is not blank.
    pub(super) fn names_a_line(&self, kept: &Range<usize>) -> bool {
        self.wanted(kept).iter().any(|line| !line.trim_ascii().is_empty())
    }

    /// The explanation for a hunk that does not occur after the last one.
    fn elsewhere(&self) -> Result<PlaceError, PlaceError> {
        let wanted = self.wanted(&self.whole());
        if wanted.is_empty() {
            return Ok(PlaceError::Nowhere);
        }
        let after = self.file_lines.places(Fold::Punctuation, &wanted, &self.rest())?;
        match after.first() {
            Some(place) if self.ends_the_file() => return Ok(PlaceError::NotAtEnd(*place)),
            Some(place) if !self.hunk.anchors.is_empty() => {
                return Ok(PlaceError::NotBelow(*place));
            }
            _ => {}
        }
        let reach = (self.progress.cursor + wanted.len()).saturating_sub(1);
        let before = self.file_lines.places(Fold::Punctuation, &wanted, &(0..reach))?;
        if let Some(place) = before.first() {
            return Ok(PlaceError::Before(*place));
        }
        Ok(self.done()?.map_or(PlaceError::Nowhere, PlaceError::Done))
    }

    /// The line at which the new lines of the hunk occur already.
    fn done(&self) -> Result<Option<usize>, PlaceError> {
        let says = |line: &HunkLine| line.sign == Sign::Add && !line.text.trim().is_empty();
        let bare = |line: &'a str| line.strip_suffix('\r').unwrap_or(line).as_bytes();
        let new: Vec<&[u8]> = self.hunk.new_lines().map(bare).collect();
        if !self.hunk.lines.iter().any(says) {
            return Ok(None);
        }
        let whole = 0..self.file_lines.len();
        Ok(self.file_lines.places(Fold::Exact, &new, &whole)?.first().copied())
    }
}
