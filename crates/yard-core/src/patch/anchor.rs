//! Finds the place of a chunk of an envelope. Each of its `@@` lines (anchors) restricts the search to the block below
//! the line that it names; exactly one place must be left (X3).

use std::ops::Range;
use std::rc::Rc;

use super::file_lines::Fold;
use super::place::{Area, HunkPlace, Pass, PlaceError, Regions, Search};
use super::{HunkLine, Sign};

impl Search<'_, '_> {
    pub(super) fn freeform(&self) -> Result<HunkPlace, PlaceError> {
        if self.hunk.old_lines().next().is_none() {
            return self.addition();
        }
        let blocks = self.narrowed_by(&self.hunk.anchors)?;
        let blocks: Vec<&[Range<usize>]> = blocks.iter().map(Vec::as_slice).collect();
        let whole = self.whole();
        for kept in [Some(whole.clone()), self.without_blank_ends()].into_iter().flatten() {
            let mut found = self.in_passes(&kept, &blocks)?;
            if found.is_none() {
                found = self.in_passes(&kept, &[&[self.below(&self.hunk.anchors)?]])?;
            }
            if let Some(mut place) = found {
                // A looser pass is worth more to report than blank lines that were left out.
                if kept != whole && place.pass == Pass::Exact {
                    place.pass = Pass::Fuzz(whole.len() - kept.len());
                }
                return Ok(place);
            }
        }
        Err(PlaceError::Nowhere)
    }

    /// The place of a chunk that only adds lines: below the line that `@@` names, or at the end of the file.
    fn addition(&self) -> Result<HunkPlace, PlaceError> {
        let end = self.file_lines.len();
        let Some((anchor, outer)) = self.hunk.anchors.split_last() else {
            return Ok(self.place_at(end, Pass::Stated));
        };
        let blocks = self.narrowed_by(outer)?;
        // An inner anchor must be below the outer one.
        let head = usize::from(!outer.is_empty());
        let below = vec![self.below(outer)?];
        for regions in blocks.iter().chain([&below]) {
            let inside: Regions = regions.iter().map(|one| one.start + head..one.end).collect();
            let (fold, mut found) = self.anchor_lines(anchor, &inside)?;
            found.retain(|line| line + 1 >= self.progress.cursor);
            match found.as_slice() {
                [] => {}
                [line] if self.hunk.at_end && line + 1 != end => {
                    return Err(PlaceError::NotAtEnd(*line));
                }
                [line] => return Ok(self.place_at(line + 1, Pass::of(fold))),
                _ => return Err(PlaceError::Anchors(anchor.clone(), found)),
            }
        }
        let passed = self.first_anchor_line(anchor, &(0..self.progress.cursor))?;
        Err(passed.map_or_else(|| PlaceError::Anchor(anchor.clone()), PlaceError::Before))
    }

    /// The chunk without blank context at its ends, which models add to separate chunks.
    fn without_blank_ends(&self) -> Option<Range<usize>> {
        let is_blank = |line: &HunkLine| line.sign == Sign::Context && line.text.trim().is_empty();
        let first = self.hunk.lines.iter().position(|line| !is_blank(line))?;
        let last = self.hunk.lines.iter().rposition(|line| !is_blank(line))? + 1;
        let kept = first..last;
        (kept != self.whole() && self.names_a_line(&kept)).then_some(kept)
    }

    /// The blocks below the lines that the anchors name: first as they are written, and then with white space and
    /// punctuation ignored, because anchors are often written without their indentation. If a block began before the
    /// last chunk ended, the rest of it counts.
    fn narrowed_by(&self, anchors: &[String]) -> Result<Rc<Vec<Regions>>, PlaceError> {
        if anchors.is_empty() {
            return Ok(Rc::default());
        }
        let blocks = self.file_lines.blocks_below(anchors, || {
            let written =
                self.nested(anchors, |anchor, inside| Ok(self.anchor_lines(anchor, inside)?.1))?;
            let loose = self.nested(anchors, |anchor, inside| {
                self.within(Fold::Punctuation, &[anchor.as_bytes()], Area::all(inside))
            })?;
            Ok(if loose == written { vec![written] } else { vec![written, loose] })
        })?;
        // Text without indentation has no blocks: an inner anchor is then looked for in the rest of the file.
        if blocks.first().is_none_or(Vec::is_empty) {
            self.named_below(anchors)?;
        }
        Ok(blocks)
    }

    /// The blocks below what the last anchor names within the blocks of those before it.
    fn nested(
        &self,
        anchors: &[String],
        lines: impl Fn(&str, &[Range<usize>]) -> Result<Vec<usize>, PlaceError>,
    ) -> Result<Regions, PlaceError> {
        let whole = 0..self.file_lines.len();
        let mut inside = vec![whole];
        let mut blocks = Regions::new();
        for anchor in anchors {
            blocks = self.blocks(&lines(anchor, &inside)?)?;
            if blocks.is_empty() {
                break;
            }
            // The next anchor is below this one; a chunk may repeat the line as its context.
            inside = blocks.iter().map(|block| block.start + 1..block.end).collect();
        }
        Ok(blocks)
    }

    /// Fails if an anchor does not occur below the one before it.
    fn named_below(&self, anchors: &[String]) -> Result<(), PlaceError> {
        let mut below = self.rest();
        for anchor in anchors {
            let first = self.first_anchor_line(anchor, &below)?;
            below.start = first.ok_or_else(|| PlaceError::Anchor(anchor.clone()))? + 1;
        }
        Ok(())
    }

    /// Everything from the line of the last anchor on, taking for each anchor the first line that it names below the
    /// one before. The line itself is included, because a chunk may repeat it as context.
    fn below(&self, anchors: &[String]) -> Result<Range<usize>, PlaceError> {
        let mut below = self.rest();
        let mut head = below.start;
        for anchor in anchors {
            if let Some(first) = self.first_anchor_line(anchor, &below)? {
                head = first;
                below.start = first + 1;
            }
        }
        Ok(head..below.end)
    }

    /// The lines that an anchor names, in the first pass that finds any.
    fn anchor_lines(
        &self,
        anchor: &str,
        regions: &[Range<usize>],
    ) -> Result<(Fold, Vec<usize>), PlaceError> {
        for fold in Fold::ALL {
            let found = self.within(fold, &[anchor.as_bytes()], Area::all(regions))?;
            if !found.is_empty() {
                return Ok((fold, found));
            }
        }
        Ok((Fold::Exact, Vec::new()))
    }

    /// The first of the lines that an anchor names.
    fn first_anchor_line(
        &self,
        anchor: &str,
        region: &Range<usize>,
    ) -> Result<Option<usize>, PlaceError> {
        for fold in Fold::ALL {
            if let Some(first) = self.file_lines.first(fold, anchor.as_bytes(), region)? {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }

    /// The blocks below the named lines, which ascend. One that begins in another ends in it.
    fn blocks(&self, named: &[usize]) -> Result<Regions, PlaceError> {
        let mut blocks = Regions::new();
        for line in named {
            if blocks.last().is_none_or(|last| last.end <= *line) {
                blocks.push(*line..self.file_lines.block_end(*line, || self.block_ends())?);
            }
        }
        Ok(blocks)
    }

    /// Where each line's block ends. The block is the line and what is indented below it: the body of a
    /// class, a function, an entry, with the bracket that closes it.
    fn block_ends(&self) -> Result<Vec<u32>, PlaceError> {
        let mut ends = vec![self.file_lines.len() as u32; self.file_lines.len()];
        let mut steps = self.file_lines.steps();
        // Lines that can end a block of a line above them, the nearest last. One that is not less
        // indented than a nearer one ends nothing above that one.
        let mut below: Vec<(usize, u32)> = Vec::new();
        for line in (0..self.file_lines.len()).rev() {
            steps.step()?;
            let content = self.file_lines.content(line);
            let depth = depth(content);
            // A bracket at the depth of the first line belongs to the block.
            let ends_this = |one: &(usize, u32)| one.0 < 2 * depth + 1;
            let count = below.partition_point(ends_this);
            if let Some((_, end)) = count.checked_sub(1).and_then(|last| below.get(last)) {
                ends[line] = *end;
            }
            if !content.trim_ascii().is_empty() {
                let rank = 2 * depth + usize::from(is_bracket(content));
                below.truncate(below.partition_point(|one| one.0 < rank));
                below.push((rank, line as u32));
            }
        }
        Ok(ends)
    }
}

/// The width of a line's indentation in characters.
fn depth(content: &[u8]) -> usize {
    content.len() - content.trim_ascii_start().len()
}

/// Whether a line at the depth of a block's first line is still part of the block: it closes it, or
/// opens it on a line of its own.
fn is_bracket(content: &[u8]) -> bool {
    matches!(content.trim_ascii_start().first(), Some(b'}' | b')' | b']' | b'{'))
}
