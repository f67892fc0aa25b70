//! Where a chunk of an envelope belongs: its `@@` lines narrow where to look, step by step. An
//! anchor only ever leaves out places; of those that are left there must be one (X3).

use std::ops::Range;
use std::rc::Rc;

use super::page::Fold;
use super::place::{Area, Missing, Pass, Regions, Search, Spot};
use super::{HunkLine, Sign};

impl Search<'_, '_> {
    pub(super) fn freeform(&self) -> Result<Spot, Missing> {
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
            if let Some(mut spot) = found {
                // What was ignored within lines says more than blank ones at the ends.
                if kept != whole && spot.pass == Pass::Exact {
                    spot.pass = Pass::Fuzz(whole.len() - kept.len());
                }
                return Ok(spot);
            }
        }
        Err(Missing::Nowhere)
    }

    /// Lines that are only added go below the line that `@@` names, or to the end of the file.
    fn addition(&self) -> Result<Spot, Missing> {
        let end = self.page.len();
        let Some((anchor, outer)) = self.hunk.anchors.split_last() else {
            return Ok(self.spot(end, Pass::Stated));
        };
        let blocks = self.narrowed_by(outer)?;
        // An outer anchor is not its own inner one.
        let head = usize::from(!outer.is_empty());
        let below = vec![self.below(outer)?];
        for regions in blocks.iter().chain([&below]) {
            let inside: Regions = regions.iter().map(|one| one.start + head..one.end).collect();
            let (fold, mut found) = self.anchor_lines(anchor, &inside)?;
            found.retain(|line| line + 1 >= self.progress.cursor);
            match found.as_slice() {
                [] => {}
                [line] if self.hunk.at_end && line + 1 != end => {
                    return Err(Missing::NotAtEnd(*line));
                }
                [line] => return Ok(self.spot(line + 1, Pass::of(fold))),
                _ => return Err(Missing::Anchors(anchor.clone(), found)),
            }
        }
        let passed = self.first_anchor_line(anchor, &(0..self.progress.cursor))?;
        Err(passed.map_or_else(|| Missing::Anchor(anchor.clone()), Missing::Before))
    }

    /// Blank context at the ends is what models add to set chunks apart.
    fn without_blank_ends(&self) -> Option<Range<usize>> {
        let is_blank = |line: &HunkLine| line.sign == Sign::Context && line.text.trim().is_empty();
        let first = self.hunk.lines.iter().position(|line| !is_blank(line))?;
        let last = self.hunk.lines.iter().rposition(|line| !is_blank(line))? + 1;
        let kept = first..last;
        (kept != self.whole() && self.says_something(&kept)).then_some(kept)
    }

    /// The blocks below the lines that the anchors name: as they are written, and then with white space
    /// and punctuation ignored, for anchors are often written without their indentation. A block may
    /// have begun before the last chunk ended: what is left of it counts.
    fn narrowed_by(&self, anchors: &[String]) -> Result<Rc<Vec<Regions>>, Missing> {
        if anchors.is_empty() {
            return Ok(Rc::default());
        }
        let blocks = self.page.blocks_below(anchors, || {
            let written =
                self.nested(anchors, |anchor, inside| Ok(self.anchor_lines(anchor, inside)?.1))?;
            let loose = self.nested(anchors, |anchor, inside| {
                self.within(Fold::Punctuation, &[anchor.as_bytes()], Area::all(inside))
            })?;
            Ok(if loose == written { vec![written] } else { vec![written, loose] })
        })?;
        // Flat text has no blocks that could hold an inner anchor: it is sought below.
        if blocks.first().is_none_or(Vec::is_empty) {
            self.named_below(anchors)?;
        }
        Ok(blocks)
    }

    /// The blocks below what the last anchor names within the blocks of those before it.
    fn nested(
        &self,
        anchors: &[String],
        lines: impl Fn(&str, &[Range<usize>]) -> Result<Vec<usize>, Missing>,
    ) -> Result<Regions, Missing> {
        let whole = 0..self.page.len();
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

    /// Fails for an anchor that is not below the one before it at all.
    fn named_below(&self, anchors: &[String]) -> Result<(), Missing> {
        let mut below = self.rest();
        for anchor in anchors {
            let first = self.first_anchor_line(anchor, &below)?;
            below.start = first.ok_or_else(|| Missing::Anchor(anchor.clone()))? + 1;
        }
        Ok(())
    }

    /// Everything from the first line on that the anchors name, one after the other. The line itself
    /// is part of it: a chunk may repeat it as its context.
    fn below(&self, anchors: &[String]) -> Result<Range<usize>, Missing> {
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

    /// The lines that an anchor names, at the first pass that finds any.
    fn anchor_lines(
        &self,
        anchor: &str,
        regions: &[Range<usize>],
    ) -> Result<(Fold, Vec<usize>), Missing> {
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
    ) -> Result<Option<usize>, Missing> {
        for fold in Fold::ALL {
            if let Some(first) = self.page.first(fold, anchor.as_bytes(), region)? {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }

    /// The blocks below the named lines, which ascend. One that begins in another ends in it.
    fn blocks(&self, named: &[usize]) -> Result<Regions, Missing> {
        let mut blocks = Regions::new();
        for line in named {
            if blocks.last().is_none_or(|last| last.end <= *line) {
                blocks.push(*line..self.page.block_end(*line, || self.block_ends())?);
            }
        }
        Ok(blocks)
    }

    /// Where each line's block ends. The block is the line and what is indented below it: the body of a
    /// class, a function, an entry, with the bracket that closes it.
    fn block_ends(&self) -> Result<Vec<u32>, Missing> {
        let mut ends = vec![self.page.len() as u32; self.page.len()];
        let mut steps = self.page.steps();
        // Lines that can end a block of a line above them, the nearest last. One that is not less
        // indented than a nearer one ends nothing above that one.
        let mut below: Vec<(usize, u32)> = Vec::new();
        for line in (0..self.page.len()).rev() {
            steps.step()?;
            let content = self.page.content(line);
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
