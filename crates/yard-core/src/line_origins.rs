//! For each line of a text the version that it came from. Versions are added one after the other; the lines of each are
//! compared with those of the version before, by the comparison of diffs. Of a version only the way from an earlier one is
//! stored, and every so often all of it, so that the origins of any version can be made again quickly.

use similar::{Algorithm, DiffOp};

use crate::diff::{line_start, same_end, same_start};
use crate::line_diff::{self, Same};
use crate::{Bounds, Result};

/// After so many ways in a row, a version is stored as a whole.
const MAX_WAYS: u32 = 32;

/// The versions of one text, each with the origins of its lines. Versions are named by their places, from 0 on.
#[derive(Debug, Default)]
pub struct LineOrigins {
    versions: Vec<Stored>,
    /// The newest version with a text, and the origins of its lines.
    last: Option<(usize, Vec<u32>)>,
}

/// The origins of a version's lines, in the order of the lines.
#[derive(Debug)]
enum Stored {
    /// The version has no text.
    NoText,
    /// Its text is that of an earlier version.
    As(usize),
    /// Its own.
    Whole(Vec<Run>),
    /// They are made from those of an earlier version, which may be made as well: `ways` is how often in a row.
    Made { from: usize, pieces: Vec<Piece>, ways: u32 },
}

/// Lines in a row from one version.
#[derive(Clone, Copy, Debug)]
struct Run {
    origin: u32,
    lines: u32,
}

/// Lines in a row.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// Lines of the earlier version, from this one on.
    Copied { start: u32, lines: u32 },
    /// Other lines.
    Other(Run),
}

impl LineOrigins {
    /// The number of versions.
    pub fn len(&self) -> usize {
        self.versions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// The newest version with a text: its next version is compared with it.
    pub fn last_text(&self) -> Option<usize> {
        self.last.as_ref().map(|(version, _)| *version)
    }

    /// Whether a version has a text.
    pub fn has_text(&self, version: usize) -> bool {
        self.versions.get(version).is_some_and(|stored| !matches!(stored, Stored::NoText))
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        let of = |stored: &Stored| match stored {
            Stored::NoText | Stored::As(_) => 0,
            Stored::Whole(runs) => size_of_val(runs.as_slice()),
            Stored::Made { pieces, .. } => size_of_val(pieces.as_slice()),
        };
        let last = self.last.as_ref().map_or(0, |(_, origins)| size_of_val(origins.as_slice()));
        self.versions.iter().map(|stored| size_of::<Stored>() + of(stored)).sum::<usize>() + last
    }

    /// Adds a version without a text, or with one that is too large. The next one is compared with the version before it.
    pub fn push_no_text(&mut self) {
        self.versions.push(Stored::NoText);
    }

    /// Adds a version with the text of an earlier one: its lines came from where they came from then.
    pub fn push_same(&mut self, earlier: usize) {
        let Some(origins) = self.origins(earlier) else { return self.push_no_text() };
        self.last = Some((self.versions.len(), origins));
        self.versions.push(Stored::As(self.resolved(earlier)));
    }

    /// Adds a version. `previous` is the text of [`Self::last_text`], empty if there is none. `older` is a version that this
    /// one brings back, at least in part, with its text: lines of it that are there again came from where they came from
    /// then. The fault is that it was stopped, and nothing was added.
    pub fn push(
        &mut self,
        text: &str,
        previous: &str,
        older: Option<(usize, &str)>,
        bounds: Bounds<'_>,
    ) -> Result<()> {
        let own = self.versions.len() as u32;
        let mut origins = vec![own; line_count(text)];
        let mut copied: Vec<Option<u32>> = vec![None; origins.len()];
        if let Some((_, before)) = &self.last {
            for Same { old, new, length } in same_lines(previous, text, bounds)? {
                for line in 0..length {
                    origins[new + line] = before[old + line];
                    copied[new + line] = Some((old + line) as u32);
                }
            }
        }
        if let Some((version, older)) = older
            && let Some(then) = self.origins(version)
        {
            for Same { old, new, length } in same_lines(older, text, bounds)? {
                for line in 0..length {
                    if origins[new + line] == own {
                        origins[new + line] = then[old + line];
                    }
                }
            }
        }
        let stored = self.stored(&origins, &copied);
        self.last = Some((self.versions.len(), origins));
        self.versions.push(stored);
        Ok(())
    }

    /// For each line of a version the version that it came from; `None` if the version has no text.
    pub fn origins(&self, version: usize) -> Option<Vec<u32>> {
        let mut ways = Vec::new();
        let mut at = self.resolved(version);
        if let Some((last, origins)) = &self.last
            && self.resolved(*last) == at
        {
            return Some(origins.clone());
        }
        let mut origins = loop {
            match self.versions.get(at)? {
                Stored::NoText => return None,
                Stored::As(earlier) => at = *earlier,
                Stored::Whole(runs) => break expanded(runs),
                Stored::Made { from, pieces, .. } => {
                    ways.push(pieces);
                    at = *from;
                }
            }
        };
        for pieces in ways.into_iter().rev() {
            let mut next = Vec::with_capacity(origins.len());
            for piece in pieces {
                match *piece {
                    Piece::Copied { start, lines } => {
                        next.extend_from_slice(&origins[start as usize..(start + lines) as usize]);
                    }
                    Piece::Other(run) => {
                        next.extend(std::iter::repeat_n(run.origin, run.lines as usize))
                    }
                }
            }
            origins = next;
        }
        Some(origins)
    }

    /// The version whose text a version has, itself if it has its own.
    fn resolved(&self, version: usize) -> usize {
        match self.versions.get(version) {
            Some(Stored::As(earlier)) => *earlier,
            _ => version,
        }
    }

    fn stored(&self, origins: &[u32], copied: &[Option<u32>]) -> Stored {
        let runs = runs(origins);
        let from = self.last.as_ref().map(|(version, _)| self.resolved(*version));
        let Some(from) = from else { return Stored::Whole(runs) };
        let ways = match &self.versions[from] {
            Stored::Made { ways, .. } => ways + 1,
            _ => 1,
        };
        if ways > MAX_WAYS {
            return Stored::Whole(runs);
        }
        let pieces = pieces(origins, copied);
        match pieces.len() < runs.len() {
            true => Stored::Made { from, pieces, ways },
            false => Stored::Whole(runs),
        }
    }
}

fn expanded(runs: &[Run]) -> Vec<u32> {
    runs.iter().flat_map(|run| std::iter::repeat_n(run.origin, run.lines as usize)).collect()
}

fn runs(origins: &[u32]) -> Vec<Run> {
    let same = origins.chunk_by(|one, two| one == two);
    same.map(|lines| Run { origin: lines[0], lines: lines.len() as u32 }).collect()
}

fn pieces(origins: &[u32], copied: &[Option<u32>]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (origin, copied) in origins.iter().zip(copied) {
        match (pieces.last_mut(), copied) {
            (Some(Piece::Copied { start, lines }), Some(line)) if *start + *lines == *line => {
                *lines += 1;
            }
            (Some(Piece::Other(run)), None) if run.origin == *origin => run.lines += 1,
            (_, Some(line)) => pieces.push(Piece::Copied { start: *line, lines: 1 }),
            (_, None) => pieces.push(Piece::Other(Run { origin: *origin, lines: 1 })),
        }
    }
    pieces
}

/// The number of lines as diffs count them: what is after the last line break is a line, too.
pub fn line_count(text: &str) -> usize {
    crate::lines::count(text.as_bytes()) as usize
}

/// The lines that are the same in two texts, by the comparison of diffs. Of large texts, the bytes with which both begin
/// and end are not split into lines, which makes it fast where little differs.
fn same_lines(old: &str, new: &str, bounds: Bounds<'_>) -> Result<Vec<Same>> {
    if line_diff::is_small(line_count(old) + line_count(new)) {
        let (old, new) = (lines(old), lines(new));
        let compared = line_diff::compare(&old, &new, Algorithm::Myers, bounds)?;
        return Ok(compared.into_iter().filter_map(same).collect());
    }
    let start = line_start(old.as_bytes(), same_start(old.as_bytes(), new.as_bytes()));
    let before = line_count(&old[..start]);
    let (old, new) = (&old[start..], &new[start..]);
    let tail = &old[old.len() - same_end(old.as_bytes(), new.as_bytes())..];
    // The first line of what is the same at the end may be the end of one that differs.
    let tail = tail.find('\n').map_or("", |at| &tail[at + 1..]);
    let old_lines = lines(&old[..old.len() - tail.len()]);
    let new_lines = lines(&new[..new.len() - tail.len()]);
    let mut found = vec![Same { old: 0, new: 0, length: before }];
    for same in line_diff::same_in_large(&old_lines, &new_lines, Algorithm::Myers, bounds)? {
        found.push(Same { old: same.old + before, new: same.new + before, ..same });
    }
    let (old, new) = (before + old_lines.len(), before + new_lines.len());
    found.push(Same { old, new, length: line_count(tail) });
    Ok(found)
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn same(operation: DiffOp) -> Option<Same> {
    match operation {
        DiffOp::Equal { old_index, new_index, len } => {
            Some(Same { old: old_index, new: new_index, length: len })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(lines: &[u32]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The pairs of lines that are the same, as a comparison of all lines finds them.
    fn slowly(old: &str, new: &str) -> Vec<(usize, usize)> {
        let compared = line_diff::compare(&lines(old), &lines(new), Algorithm::Myers, Bounds::NONE);
        let mut pairs = Vec::new();
        for Same { old, new, length } in compared.unwrap().into_iter().filter_map(same) {
            pairs.extend((0..length).map(|line| (old + line, new + line)));
        }
        pairs
    }

    fn quickly(old: &str, new: &str) -> Vec<(usize, usize)> {
        let same = same_lines(old, new, Bounds::NONE).unwrap();
        let pairs = |same: &Same| {
            let (old, new) = (same.old, same.new);
            (0..same.length).map(move |line| (old + line, new + line))
        };
        same.iter().flat_map(pairs).collect()
    }

    fn of(texts: &[&str]) -> Vec<Vec<u32>> {
        let mut origins = LineOrigins::default();
        let mut previous = "";
        for text in texts {
            origins.push(text, previous, None, Bounds::NONE).unwrap();
            previous = text;
        }
        (0..texts.len()).map(|version| origins.origins(version).unwrap()).collect()
    }

    #[test]
    fn a_line_keeps_its_version_until_it_changes() {
        let found = of(&["a\nb\nc\n", "a\nB\nc\nd\n", "", "a\n", "x\na"]);
        assert_eq!(found[0], [0, 0, 0]);
        assert_eq!(found[1], [0, 1, 0, 1]);
        assert_eq!((&found[2], &found[3], &found[4]), (&vec![], &vec![3], &vec![4, 4]));
    }

    #[test]
    fn what_comes_back_keeps_its_older_version() {
        let mut origins = LineOrigins::default();
        origins.push("a\nb\n", "", None, Bounds::NONE).unwrap();
        origins.push("a\nB\n", "a\nb\n", None, Bounds::NONE).unwrap();
        origins.push("x\na\nB\n", "a\nB\n", None, Bounds::NONE).unwrap();
        origins.push("x\na\nb\n", "x\na\nB\n", Some((0, "a\nb\n")), Bounds::NONE).unwrap();
        assert_eq!(origins.origins(3), Some(vec![2, 0, 0]));
        origins.push_no_text();
        origins.push_same(1);
        origins.push("a\nB\nz\n", "a\nB\n", None, Bounds::NONE).unwrap();
        assert_eq!(origins.origins(4), None);
        assert_eq!(origins.origins(5), Some(vec![0, 1]));
        assert_eq!(origins.origins(6), Some(vec![0, 1, 6]));
        assert_eq!((origins.len(), origins.last_text()), (7, Some(6)));
    }

    #[test]
    fn a_long_row_of_versions_is_made_again_and_takes_little_memory() {
        let mut lines: Vec<u32> = (0..500).collect();
        let mut origins = LineOrigins::default();
        let (mut previous, mut expected) = (String::new(), Vec::new());
        for version in 0..300u32 {
            lines[(version * 7 % 500) as usize] = 1_000 + version;
            let text = text(&lines);
            origins.push(&text, &previous, None, Bounds::NONE).unwrap();
            expected.push(lines.iter().map(|line| line.saturating_sub(1_000)).collect::<Vec<_>>());
            previous = text;
        }
        for (version, expected) in expected.iter().enumerate() {
            assert_eq!(origins.origins(version).as_ref(), Some(expected), "{version}");
        }
        assert!(origins.bytes() < 150_000, "{}", origins.bytes());
    }

    proptest! {
        #[test]
        fn what_is_the_same_is_what_the_diff_of_all_lines_says(
            old in proptest::collection::vec(0u32..12, 0..40),
            new in proptest::collection::vec(0u32..12, 0..40),
            ends in any::<[bool; 2]>(),
        ) {
            let cut = |lines: &[u32], is_cut: bool| {
                let mut text = text(lines);
                if is_cut {
                    text.pop();
                }
                text
            };
            let (old, new) = (cut(&old, ends[0]), cut(&new, ends[1]));
            prop_assert_eq!(quickly(&old, &new), slowly(&old, &new));
        }

        /// Texts that are not compared exactly as a whole.
        #[test]
        fn the_same_in_large_texts(
            edits in proptest::collection::vec((0usize..3_000, 0usize..300, 0u32..500), 0..6),
        ) {
            let old: Vec<u32> = (0..3_000).map(|line: u32| line.wrapping_mul(2_654_435_761) % 700).collect();
            let mut new = old.clone();
            for (at, length, line) in edits {
                let at = at.min(new.len());
                let end = (at + length).min(new.len());
                new.splice(at..end, (0..length as u32 / 2).map(|more| line + more));
            }
            let (old, new) = (text(&old), text(&new));
            prop_assert_eq!(quickly(&old, &new), slowly(&old, &new));
        }
    }
}
