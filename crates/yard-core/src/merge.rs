//! A three-way merge by lines, on bytes, for undoing a step that later ones came after. It never
//! leaves conflict marks in a file and never guesses: two changes that touch are a collision.

use std::fmt;
use std::ops::Range;

use memchr::{memchr, memchr_iter};
use similar::{Algorithm, DiffOp};

use crate::text::{Encoding, byte_order_mark, marked};
use crate::{Bounds, line_diff, lines};

/// A text with more lines is not merged by lines: that would take too much memory.
const MAX_LINES: usize = 1_000_000;

/// Both sides changed the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collision {
    /// The line of `ours` where the colliding change begins, from 1.
    pub ours_line: u64,
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "both sides changed the text at line {}", self.ours_line)
    }
}

impl std::error::Error for Collision {}

/// `base` with the changes of both `ours` and `theirs`; the outer fault is that it was stopped.
///
/// Changes that overlap, or that no unchanged line of `base` parts, collide, unless both sides made
/// the very same one. Binary content is one indivisible value, and so is a text with very many lines.
pub fn merge_within(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    bounds: Bounds<'_>,
) -> crate::Result<Result<Vec<u8>, Collision>> {
    bounds.check()?;
    if theirs == base || ours == theirs {
        return Ok(Ok(ours.to_vec()));
    }
    if ours == base {
        return Ok(Ok(theirs.to_vec()));
    }
    let versions = [base, ours, theirs];
    let has_few_lines = |bytes: &&[u8]| memchr_iter(b'\n', bytes).count() <= MAX_LINES;
    let unit = Unit::of(versions).filter(|_| versions.iter().all(has_few_lines));
    let Some(unit) = unit else { return Ok(Err(Collision { ours_line: 1 })) };
    let marked = u64::from(!byte_order_mark(ours).is_empty());
    let [base, ours, theirs] = versions.map(|bytes| unit.split(bytes));
    let our_hunks = hunks(&base, &ours, bounds)?;
    let their_hunks = hunks(&base, &theirs, bounds)?;
    let merged = interleave(&our_hunks, &their_hunks).map_err(|collision| Collision {
        ours_line: collision.ours_line.saturating_sub(marked).max(1),
    });
    Ok(merged.map(|merged| apply(&base, &merged)))
}

/// How lines are told in the bytes of a text.
#[derive(Clone, Copy)]
enum Unit {
    /// `\n` is one byte.
    Byte,
    /// `\n` is this UTF-16 unit.
    Wide([u8; 2]),
}

impl Unit {
    /// The unit that all versions share; none for binary content.
    fn of(versions: [&[u8]; 3]) -> Option<Self> {
        let wide = [(Encoding::Utf16Le, [b'\n', 0]), (Encoding::Utf16Be, [0, b'\n'])];
        for (encoding, newline) in wide {
            match versions.iter().filter(|bytes| marked(bytes) == Some(encoding)).count() {
                3 => return Some(Self::Wide(newline)),
                0 => {}
                _ => return None,
            }
        }
        let binary = versions.iter().any(|bytes| memchr(0, bytes).is_some());
        (!binary).then_some(Self::Byte)
    }

    /// The lines. A byte order mark is a piece of its own: it belongs to no line, and the first line
    /// can change without it.
    fn split(self, bytes: &[u8]) -> Vec<&[u8]> {
        let (mark, body) = bytes.split_at(byte_order_mark(bytes).len());
        let mut pieces = match self {
            Self::Byte => lines::split(body).collect(),
            Self::Wide(newline) => split_wide(body, newline),
        };
        if !mark.is_empty() {
            pieces.insert(0, mark);
        }
        pieces
    }
}

fn split_wide(bytes: &[u8], newline: [u8; 2]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (index, unit) in bytes.chunks_exact(2).enumerate() {
        if unit == newline {
            let end = index * 2 + 2;
            lines.push(&bytes[start..end]);
            start = end;
        }
    }
    if start < bytes.len() {
        lines.push(&bytes[start..]);
    }
    lines
}

/// One maximal run of changed lines.
struct Hunk<'a> {
    /// The lines of the base that it replaces; empty for an insertion.
    base: Range<usize>,
    /// Where it begins in its own version.
    line: usize,
    /// What stands there instead.
    lines: &'a [&'a [u8]],
}

impl Hunk<'_> {
    fn is_same_as(&self, other: &Hunk<'_>) -> bool {
        self.base == other.base && self.lines == other.lines
    }

    /// Whether at least one unchanged line of the base follows it before `other`.
    fn is_clear_before(&self, other: &Hunk<'_>) -> bool {
        self.base.end < other.base.start
    }
}

/// One version's changes to the base, in order.
fn hunks<'a>(
    base: &[&[u8]],
    version: &'a [&'a [u8]],
    bounds: Bounds<'_>,
) -> crate::Result<Vec<Hunk<'a>>> {
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    // Patience anchors on lines that are unique in both, which is what people mean by "the same
    // line"; other algorithms may align a brace with any other brace.
    for op in line_diff::compare(base, version, Algorithm::Patience, bounds)? {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (mut old, mut new) = (op.old_range(), op.new_range());
        // A deletion and an insertion at one place are one change.
        if let Some(last) = hunks.pop_if(|last| last.base.end == old.start) {
            (old.start, new.start) = (last.base.start, last.line);
        }
        hunks.push(Hunk { base: old, line: new.start, lines: &version[new] });
    }
    Ok(hunks)
}

/// The hunks of both sides in the order of the base.
fn interleave<'h, 'a>(
    ours: &'h [Hunk<'a>],
    theirs: &'h [Hunk<'a>],
) -> Result<Vec<&'h Hunk<'a>>, Collision> {
    let (mut left, mut right) = (ours.iter().peekable(), theirs.iter().peekable());
    let mut merged = Vec::with_capacity(ours.len() + theirs.len());
    while let (Some(our), Some(their)) = (left.peek(), right.peek()) {
        if our.is_same_as(their) {
            merged.extend(left.next());
            right.next();
        } else if our.is_clear_before(their) {
            merged.extend(left.next());
        } else if their.is_clear_before(our) {
            merged.extend(right.next());
        } else {
            return Err(Collision { ours_line: our.line as u64 + 1 });
        }
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}

fn apply(base: &[&[u8]], hunks: &[&Hunk<'_>]) -> Vec<u8> {
    let mut pieces: Vec<&[u8]> = Vec::with_capacity(base.len());
    let mut at = 0;
    for hunk in hunks {
        pieces.extend_from_slice(&base[at..hunk.base.start]);
        pieces.extend_from_slice(hunk.lines);
        at = hunk.base.end;
    }
    pieces.extend_from_slice(&base[at..]);
    pieces.concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Text;

    fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, Collision> {
        merge_within(base, ours, theirs, Bounds::NONE).unwrap()
    }

    fn check(base: &str, ours: &str, theirs: &str) -> Result<String, u64> {
        let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes());
        merged
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .map_err(|collision| collision.ours_line)
    }

    #[test]
    fn distant_changes_are_both_kept() {
        let merged = check("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\ne\n");
        assert_eq!(merged.as_deref(), Ok("A\nb\nc\nD\ne\n"));
        assert_eq!(check("a\nb\nc\n", "x\na\nb\nc\n", "a\nb\n").as_deref(), Ok("x\na\nb\n"));
    }

    #[test]
    fn touching_changes_collide() {
        assert_eq!(check("a\nb\n", "A\nb\n", "a\nB\n"), Err(1));
        assert_eq!(check("a\nb\nc\n", "a\nx\nb\nc\n", "a\ny\nb\nc\n"), Err(2));
        assert_eq!(check("a\nb", "a\nb\nc\n", "a\nb\nd\n"), Err(2));
        assert_eq!(check("a\n", "", "b\n"), Err(1));
    }

    #[test]
    fn the_same_change_is_made_once() {
        let merged = check("a\nb\nc\n", "X\nb\nc\n", "X\nb\nC\n");
        assert_eq!(merged.as_deref(), Ok("X\nb\nC\n"));
        assert_eq!(check("a\n", "b\n", "b\n").as_deref(), Ok("b\n"));
    }

    #[test]
    fn binary_content_is_one_value() {
        let (base, one, other) = (b"a\nb\nc\0", b"A\nb\nc\0", b"a\nb\nC\0");
        assert_eq!(merge(base, one, other), Err(Collision { ours_line: 1 }));
        assert_eq!(merge(base, base, other).as_deref(), Ok(&other[..]));
        assert_eq!(merge(base, one, base).as_deref(), Ok(&one[..]));
        assert!(merge(b"\xff\xfea\0", b"\xff\xfeb\0", b"\xfe\xff\0a").is_err());
    }

    #[test]
    fn utf_16_merges_by_its_own_lines() {
        for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
            // U+0A0A and U+010A hold the byte of a newline.
            let bytes = |body: &str| Text { encoding, body: body.to_owned() }.to_bytes().unwrap();
            let [base, ours, theirs, both] = [
                "a\n\u{a0a}\u{10a}\nc",
                "A\n\u{a0a}\u{10a}\nc",
                "a\n\u{a0a}\u{10a}\nC",
                "A\n\u{a0a}\u{10a}\nC",
            ]
            .map(bytes);
            assert_eq!(merge(&base, &ours, &theirs), Ok(both));
        }
    }

    #[test]
    fn a_mark_belongs_to_no_line() {
        let cut = check("\u{feff}a\nb\nc\nd\n", "\u{feff}a\nb\nC\nd\n", "\u{feff}b\nc\nd\n");
        assert_eq!(cut.as_deref(), Ok("\u{feff}b\nC\nd\n"));
        assert_eq!(check("\u{feff}a\nb\n", "\u{feff}A\nb\n", "\u{feff}x\nb\n"), Err(1));
        assert_eq!(check("\u{feff}a\nb\n", "\u{feff}a\nB\n", "\u{feff}a\nx\n"), Err(2));
        let unmarked = check("\u{feff}a\nb\nc\n", "\u{feff}a\nb\nC\n", "a\nb\nc\n");
        assert_eq!(unmarked.as_deref(), Ok("a\nb\nC\n"));
    }

    /// A change of a base of unique lines: where, how many lines go, how many come.
    #[derive(Clone, Debug)]
    struct Change {
        range: Range<usize>,
        new: Vec<String>,
    }

    /// Which side makes a change, how many lines it leaves alone first, takes and gives.
    type Plan = Vec<(bool, usize, usize, usize)>;

    fn changes(plan: &Plan, least_gap: usize) -> (Vec<(bool, Change)>, usize) {
        let mut at = 0;
        let mut changes = Vec::new();
        for (index, (ours, gap, gone, come)) in plan.iter().enumerate() {
            let start = at + gap + if index == 0 { 0 } else { least_gap };
            // A change that changes nothing is none.
            let come = if *gone == 0 { (*come).max(1) } else { *come };
            let new = (0..come).map(|line| format!("new {index}.{line}\n")).collect();
            changes.push((*ours, Change { range: start..start + gone, new }));
            at = start + gone;
        }
        (changes, at)
    }

    fn base(lines: usize) -> Vec<String> {
        (0..lines).map(|line| format!("line {line}\n")).collect()
    }

    fn applied<'a>(base: &[String], changes: impl Iterator<Item = &'a Change>) -> Vec<u8> {
        let mut result = base.to_vec();
        let mut changes: Vec<&Change> = changes.collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.range.start));
        for change in changes {
            result.splice(change.range.clone(), change.new.iter().cloned());
        }
        result.concat().into_bytes()
    }

    fn plan(sides: std::ops::Range<usize>) -> impl Strategy<Value = Plan> {
        proptest::collection::vec((any::<bool>(), 0usize..4, 0usize..4, 0usize..4), sides)
    }

    proptest! {
        #[test]
        fn parted_changes_merge_to_both(plan in plan(1..8), tail in 0usize..4) {
            let (changes, end) = changes(&plan, 1);
            let base = base(end + tail);
            let side = |wanted| {
                let made = changes.iter().filter(move |(ours, _)| *ours == wanted);
                made.map(|(_, change)| change)
            };
            let (ours, theirs) = (applied(&base, side(true)), applied(&base, side(false)));
            let both = applied(&base, changes.iter().map(|(_, change)| change));
            let base = base.concat().into_bytes();
            prop_assert_eq!(merge(&base, &ours, &theirs), Ok(both.clone()));
            prop_assert_eq!(merge(&base, &theirs, &ours), Ok(both));
        }

        #[test]
        fn touching_changes_are_refused(
            start in 0usize..4,
            ours in (0usize..4, 1usize..4),
            theirs in (0usize..4, 1usize..4),
            shift in 0usize..4,
            tail in 0usize..4,
        ) {
            // `theirs` begins within `ours` or right at its end.
            let begin = start + shift.min(ours.0);
            let base = base(start + 8 + tail);
            let change = |name: &str, at: usize, (gone, come): (usize, usize)| Change {
                range: at..at + gone,
                new: (0..come).map(|line| format!("{name} {line}\n")).collect(),
            };
            let ours = applied(&base, std::iter::once(&change("ours", start, ours)));
            let theirs = applied(&base, std::iter::once(&change("theirs", begin, theirs)));
            let base = base.concat().into_bytes();
            let collision = merge(&base, &ours, &theirs).unwrap_err();
            prop_assert_eq!(collision.ours_line, start as u64 + 1);
            prop_assert!(merge(&base, &theirs, &ours).is_err());
        }

        #[test]
        fn sides_may_be_swapped(texts in proptest::array::uniform3("([abc]\n){0,8}[abc]?")) {
            let [base, ours, theirs] = texts.each_ref().map(|text| text.as_bytes());
            let one = merge(base, ours, theirs);
            let other = merge(base, theirs, ours);
            prop_assert_eq!(one.ok(), other.ok());
        }
    }
}
