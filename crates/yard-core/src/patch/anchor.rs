//! Where a chunk of an envelope belongs: its `@@` lines narrow where to look, step by step. An
//! anchor only ever leaves out places; of those that are left there must be one (X3).

use std::ops::Range;

use super::page::Fold;
use super::place::{Missing, Pass, Regions, Search, Spot};
use super::{HunkLine, Sign};

/// Where to look, as the anchors say it.
struct Narrowed {
    /// The blocks below the lines that the anchors name: as they are written, and then with white
    /// space and punctuation ignored, for anchors are often written without their indentation.
    blocks: Vec<Regions>,
    /// Everything below the first line that is so named.
    below: Regions,
}

impl Search<'_, '_> {
    pub(super) fn freeform(&self) -> Result<Spot, Missing> {
        if self.hunk.old_lines().next().is_none() {
            return self.addition();
        }
        let narrowed = self.narrowed()?;
        let whole = self.whole();
        for kept in [Some(whole.clone()), self.without_blank_ends()].into_iter().flatten() {
            for tiers in [narrowed.blocks.as_slice(), std::slice::from_ref(&narrowed.below)] {
                if let Some(mut spot) = self.in_passes(&kept, tiers)? {
                    // What was ignored within lines says more than blank ones at the ends.
                    if kept != whole && spot.pass == Pass::Exact {
                        spot.pass = Pass::Fuzz(whole.len() - kept.len());
                    }
                    return Ok(spot);
                }
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
        let narrowed = self.narrowed_by(outer)?;
        // An outer anchor is not its own inner one.
        let head = usize::from(!outer.is_empty());
        for regions in narrowed.blocks.iter().chain([&narrowed.below]) {
            let inside: Regions = regions.iter().map(|one| one.start + head..one.end).collect();
            let (fold, mut found) = self.anchor_lines(anchor, &inside);
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
        let before = 0..self.progress.cursor;
        let (_, passed) = self.anchor_lines(anchor, &[before]);
        Err(passed.first().map_or_else(|| Missing::Anchor(anchor.clone()), |l| Missing::Before(*l)))
    }

    /// Blank context at the ends is what models add to set chunks apart.
    fn without_blank_ends(&self) -> Option<Range<usize>> {
        let is_blank = |line: &HunkLine| line.sign == Sign::Context && line.text.trim().is_empty();
        let first = self.hunk.lines.iter().position(|line| !is_blank(line))?;
        let last = self.hunk.lines.iter().rposition(|line| !is_blank(line))? + 1;
        let kept = first..last;
        (kept != self.whole() && self.says_something(&kept)).then_some(kept)
    }

    /// Where to look for a chunk: only where no chunk was placed yet.
    fn narrowed(&self) -> Result<Narrowed, Missing> {
        let free = |region: Range<usize>| region.start.max(self.progress.cursor)..region.end;
        let mut narrowed = self.narrowed_by(&self.hunk.anchors)?;
        for regions in &mut narrowed.blocks {
            *regions = regions.drain(..).map(free).filter(|region| !region.is_empty()).collect();
        }
        Ok(narrowed)
    }

    /// A block may have begun before the last chunk ended: what is left of it counts.
    fn narrowed_by(&self, anchors: &[String]) -> Result<Narrowed, Missing> {
        if anchors.is_empty() {
            return Ok(Narrowed { blocks: Vec::new(), below: vec![self.rest()] });
        }
        let written = self.nested(anchors, |anchor, inside| self.anchor_lines(anchor, inside).1)?;
        let loosely = |anchor: &str, inside: &[Range<usize>]| {
            self.within(Fold::Punctuation, &[anchor.as_bytes()], inside)
        };
        let mut blocks = vec![written];
        blocks.extend(self.nested(anchors, loosely).ok().filter(|loose| !blocks.contains(loose)));
        Ok(Narrowed { blocks, below: vec![self.below(anchors)] })
    }

    /// The blocks below what the last anchor names within the blocks of those before it.
    fn nested(
        &self,
        anchors: &[String],
        lines: impl Fn(&str, &[Range<usize>]) -> Vec<usize>,
    ) -> Result<Regions, Missing> {
        let whole = 0..self.page.len();
        let mut inside = vec![whole];
        let mut blocks = Regions::new();
        for anchor in anchors {
            blocks = self.blocks(&lines(anchor, &inside));
            if blocks.is_empty() {
                // Flat text has no blocks that could hold an inner anchor: it is sought below.
                return self.named_below(anchors).map(|()| Regions::new());
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
            let (_, first) = self.anchor_lines(anchor, std::slice::from_ref(&below));
            let first = first.first().ok_or_else(|| Missing::Anchor(anchor.clone()))?;
            below.start = first + 1;
        }
        Ok(())
    }

    /// Everything from the first line on that the anchors name, one after the other. The line itself
    /// is part of it: a chunk may repeat it as its context.
    fn below(&self, anchors: &[String]) -> Range<usize> {
        let mut below = self.rest();
        let mut head = below.start;
        for anchor in anchors {
            let (_, first) = self.anchor_lines(anchor, std::slice::from_ref(&below));
            if let Some(first) = first.first() {
                head = *first;
                below.start = first + 1;
            }
        }
        head..below.end
    }

    /// The lines that an anchor names, at the first pass that finds any.
    fn anchor_lines(&self, anchor: &str, regions: &[Range<usize>]) -> (Fold, Vec<usize>) {
        for fold in Fold::ALL {
            let found = self.within(fold, &[anchor.as_bytes()], regions);
            if !found.is_empty() {
                return (fold, found);
            }
        }
        (Fold::Exact, Vec::new())
    }

    /// The blocks below the named lines, which ascend. One that begins in another ends in it.
    fn blocks(&self, named: &[usize]) -> Regions {
        let mut blocks = Regions::new();
        for line in named {
            if blocks.last().is_none_or(|last| last.end <= *line) {
                blocks.push(self.block(*line));
            }
        }
        blocks
    }

    /// The line and what is indented below it: the body of a class, a function, an entry, with the
    /// bracket that closes it.
    fn block(&self, line: usize) -> Range<usize> {
        line..self.page.block_end(line, |line| self.find_block_end(line))
    }

    fn find_block_end(&self, line: usize) -> usize {
        let head = depth(self.page.content(line));
        let ends = |below: &usize| {
            let content = self.page.content(*below);
            let blank = content.trim_ascii().is_empty();
            let depth = depth(content);
            !blank && (depth < head || depth == head && !is_bracket(content))
        };
        (line + 1..self.page.len()).find(ends).unwrap_or(self.page.len())
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
