//! Makes unified diffs of two contents for people and models. They show characters, not bytes, and are not meant to be
//! applied.

mod chosen;
mod greedy;

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use similar::udiff::UnifiedHunkHeader;
use similar::{Algorithm, ChangeTag, DiffOp, group_diff_ops};

pub use self::chosen::TextHunks;
use crate::text::{self, Encoding};
use crate::{Bounds, Result, line_diff};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Where more lines than that on either side are not the same at the start or the end, all of them are
/// shown as replaced.
const MAX_LINES: usize = 200_000;
/// Bytes that are compared at once.
const CHUNK: usize = 4 << 10;

/// The unified diff from the first to the second content, each with its label, and whether it was
/// cut after the last line that fits into `max_bytes`. The fault is that it was stopped.
///
/// Equal contents give an empty diff. None if either is binary.
pub fn unified(
    [from, to]: [&str; 2],
    [before, after]: [&[u8]; 2],
    max_bytes: usize,
    bounds: Bounds<'_>,
) -> Result<Option<(String, bool)>> {
    bounds.check()?;
    let (Ok(old_encoding), Ok(new_encoding)) = (text::detect(before), text::detect(after)) else {
        return Ok(None);
    };
    if before == after {
        return Ok(Some((String::new(), false)));
    }
    let (old, new) = (text::decode(before, old_encoding), text::decode(after, new_encoding));
    let mut output = BoundedText { text: String::new(), max_bytes };
    let is_begun = output.push(&[&format!("--- {from}")]).is_some()
        && output.push(&[&format!("+++ {to}")]).is_some()
        && encodings(&mut output, old_encoding, new_encoding).is_some();
    let complete = is_begun && hunks(&mut output, &old, &new, &Style::Unified, bounds)?;
    Ok(Some((output.text, !complete)))
}

/// The hunks that lead from one text to another with that many unchanged lines around each change, and whether they
/// were cut after the last line that fits into `max_bytes`. Every count is written out (`@@ -1,1 +1,1 @@`), and of
/// several smallest diffs that one is chosen, as the tools of JavaScript do. The fault is that it was stopped.
pub fn counted_hunks_within(
    old: &str,
    new: &str,
    context: usize,
    max_bytes: usize,
    bounds: Bounds<'_>,
) -> Result<(String, bool)> {
    bounds.check()?;
    let mut output = BoundedText { text: String::new(), max_bytes };
    let complete = hunks(&mut output, old, new, &Style::Counted(context), bounds)?;
    Ok((output.text, !complete))
}

fn counted_header(group: &[DiffOp]) -> String {
    let side = |ranges: Vec<Range<usize>>| {
        let start = ranges.first().map_or(0, |first| first.start);
        let count = ranges.last().map_or(start, |last| last.end) - start;
        // Before nothing stands the line after which it would be.
        format!("{},{count}", if count == 0 { start } else { start + 1 })
    };
    let old = side(group.iter().map(DiffOp::old_range).collect());
    let new = side(group.iter().map(DiffOp::new_range).collect());
    format!("@@ -{old} +{new} @@")
}

/// A text that takes whole lines until it is full.
struct BoundedText {
    text: String,
    max_bytes: usize,
}

impl BoundedText {
    /// Adds a line made of `parts`; nothing, when it does not fit.
    fn push(&mut self, parts: &[&str]) -> Option<()> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if self.text.len() + length + 1 > self.max_bytes {
            return None;
        }
        parts.iter().for_each(|part| self.text.push_str(part));
        self.text.push('\n');
        Some(())
    }
}

/// A changed encoding has no line of its own in a diff of characters; without a word the diff would
/// look empty. Readers of diffs skip lines that begin with a backslash.
fn encodings(output: &mut BoundedText, old: Encoding, new: Encoding) -> Option<()> {
    if old == new {
        return Some(());
    }
    output.push(&["\\ Encoding changed from ", old.name(), " to ", new.name()])
}

/// How hunks are found and headed.
enum Style {
    Unified,
    /// With every count, and so many unchanged lines around each change.
    Counted(usize),
}

impl Style {
    fn context(&self) -> usize {
        match self {
            Self::Unified => CONTEXT,
            Self::Counted(context) => *context,
        }
    }

    fn header(&self, group: &[DiffOp]) -> String {
        match self {
            Self::Unified => UnifiedHunkHeader::new(group).to_string(),
            Self::Counted(_) => counted_header(group),
        }
    }

    fn compare(&self, old: &[&str], new: &[&str], bounds: Bounds<'_>) -> Result<Vec<DiffOp>> {
        let [old, new] = line_diff::numbered(old, new, bounds)?;
        if let Self::Counted(_) = self
            && let Some(operations) = greedy::compare(&old, &new, bounds)?
        {
            return Ok(operations);
        }
        line_diff::compare_numbered(&old, &new, Algorithm::Myers, bounds)
    }
}

/// Adds the hunks; false once one does not fit.
fn hunks(
    output: &mut BoundedText,
    old: &str,
    new: &str,
    style: &Style,
    bounds: Bounds<'_>,
) -> Result<bool> {
    let (part, groups) = compared(old, new, style, bounds)?;
    let Some(groups) = groups else { return Ok(part.replaced(output, style).is_some()) };
    let (old, new) = (lines(part.old), lines(part.new));
    let mut steps = bounds.steps();
    for group in groups {
        if output.push(&[&style.header(&part.in_the_text(&group))]).is_none() {
            return Ok(false);
        }
        for change in group.iter().flat_map(|op| op.iter_changes(&old[..], &new[..])) {
            steps.step()?;
            if push_change(output, change.tag(), change.value()).is_none() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// What of two texts is compared, and the operations of each of its hunks. Without hunks, all of it is one hunk that
/// replaces it.
fn compared<'a>(
    old: &'a str,
    new: &'a str,
    style: &Style,
    bounds: Bounds<'_>,
) -> Result<(Part<'a>, Option<Vec<Vec<DiffOp>>>)> {
    let mut part = Part { old, new, first: 0 };
    if part.most_lines() > MAX_LINES {
        part = part.trimmed(style.context());
        bounds.check()?;
    }
    if part.most_lines() > MAX_LINES {
        return Ok((part, None));
    }
    let operations = style.compare(&lines(part.old), &lines(part.new), bounds)?;
    let mut groups = group_diff_ops(operations, style.context());
    groups.retain(|group| group.iter().any(|op| !matches!(op, DiffOp::Equal { .. })));
    Ok((part, Some(groups)))
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// What of two texts is compared.
struct Part<'a> {
    old: &'a str,
    new: &'a str,
    /// So many lines are before it, the same in both.
    first: usize,
}

impl<'a> Part<'a> {
    fn most_lines(&self) -> usize {
        let count = |text: &str| crate::lines::count(text.as_bytes()) as usize;
        count(self.old).max(count(self.new))
    }

    /// Without the lines with which both begin and end, but for as many as are shown around a change.
    fn trimmed(&self, context: usize) -> Part<'a> {
        let (old, new) = (self.old.as_bytes(), self.new.as_bytes());
        let mut start = line_start(old, same_start(old, new));
        for _ in 0..context {
            start = line_start(old, start.saturating_sub(1));
        }
        let (old, new) = (&self.old[start..], &self.new[start..]);
        let mut end = old.len() - same_end(old.as_bytes(), new.as_bytes());
        // The first of the same lines may be the end of one that is not.
        for _ in 0..=context {
            let rest = &old.as_bytes()[end..];
            end += memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        }
        let first = memchr_iter(b'\n', &self.old.as_bytes()[..start]).count();
        let (old, new) = (&old[..end], &new[..new.len() - (old.len() - end)]);
        Part { old, new, first }
    }

    /// Operations of the part as operations of the text.
    fn in_the_text(&self, group: &[DiffOp]) -> Vec<DiffOp> {
        let mut group = group.to_vec();
        for operation in &mut group {
            let (DiffOp::Equal { old_index, new_index, .. }
            | DiffOp::Delete { old_index, new_index, .. }
            | DiffOp::Insert { old_index, new_index, .. }
            | DiffOp::Replace { old_index, new_index, .. }) = operation;
            *old_index += self.first;
            *new_index += self.first;
        }
        group
    }

    /// One hunk that replaces all of it: a smaller one would take long to find, and would not be read.
    fn replaced(&self, output: &mut BoundedText, style: &Style) -> Option<()> {
        let count = |text: &str| crate::lines::count(text.as_bytes()) as usize;
        let (old_len, new_len) = (count(self.old), count(self.new));
        let all = DiffOp::Replace { old_index: 0, old_len, new_index: 0, new_len };
        output.push(&[&style.header(&self.in_the_text(&[all]))])?;
        for line in self.old.split_inclusive('\n') {
            push_change(output, ChangeTag::Delete, line)?;
        }
        for line in self.new.split_inclusive('\n') {
            push_change(output, ChangeTag::Insert, line)?;
        }
        Some(())
    }
}

/// Where the line of an offset begins.
pub(crate) fn line_start(text: &[u8], offset: usize) -> usize {
    memrchr(b'\n', &text[..offset]).map_or(0, |at| at + 1)
}

/// With how many bytes both begin.
pub(crate) fn same_start(old: &[u8], new: &[u8]) -> usize {
    let chunks = old.chunks(CHUNK).zip(new.chunks(CHUNK));
    let same = chunks.take_while(|(old, new)| old == new).count() * CHUNK;
    let same = same.min(old.len()).min(new.len());
    let bytes = old[same..].iter().zip(&new[same..]);
    same + bytes.take_while(|(old, new)| old == new).count()
}

/// With how many bytes both end.
pub(crate) fn same_end(old: &[u8], new: &[u8]) -> usize {
    let chunks = old.rchunks(CHUNK).zip(new.rchunks(CHUNK));
    let same = chunks.take_while(|(old, new)| old == new).count() * CHUNK;
    let same = same.min(old.len()).min(new.len());
    let bytes = old[..old.len() - same].iter().rev().zip(new[..new.len() - same].iter().rev());
    same + bytes.take_while(|(old, new)| old == new).count()
}

fn push_change(output: &mut BoundedText, tag: ChangeTag, line: &str) -> Option<()> {
    let sign = match tag {
        ChangeTag::Equal => " ",
        ChangeTag::Delete => "-",
        ChangeTag::Insert => "+",
    };
    match line.strip_suffix('\n') {
        Some(line) => output.push(&[sign, line]),
        None => output.push(&[sign, line, "\n\\ No newline at end of file"]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unified(
        from: &str,
        to: &str,
        before: &[u8],
        after: &[u8],
        max_bytes: usize,
    ) -> Option<(String, bool)> {
        super::unified([from, to], [before, after], max_bytes, Bounds::NONE).unwrap()
    }

    fn diff(before: &[u8], after: &[u8]) -> String {
        unified("a/x", "b/x", before, after, usize::MAX).unwrap().0
    }

    #[test]
    fn a_change_with_context() {
        let before = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = b"1\n2\n3\n4\nfive\n6\n7\n8\n9";
        assert_eq!(
            diff(before, after),
            "--- a/x\n+++ b/x\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+9\n\
             \\ No newline at end of file\n"
        );
    }

    #[test]
    fn made_and_emptied_files() {
        assert_eq!(diff(b"", b"x\n"), "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(diff(b"x\n", b""), "--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-x\n");
        assert_eq!(diff(b"x\n", b"x\n"), "");
    }

    fn counted_hunks(old: &str, new: &str, context: usize, max_bytes: usize) -> (String, bool) {
        counted_hunks_within(old, new, context, max_bytes, Bounds::NONE).unwrap()
    }

    #[test]
    fn hunks_with_every_count() {
        let hunks = |old, new| counted_hunks(old, new, 1, 1000);
        assert_eq!(hunks("x\n", "y\n").0, "@@ -1,1 +1,1 @@\n-x\n+y\n");
        assert_eq!(hunks("", "y\n").0, "@@ -0,0 +1,1 @@\n+y\n");
        let apart = hunks("1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5").0;
        assert_eq!(
            apart,
            "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n@@ -4,2 +4,2 @@\n 4\n-5\n+5\n\\ No newline at end of file\n"
        );
        assert_eq!(counted_hunks("x\n", "y\n", 1, 20), ("@@ -1,1 +1,1 @@\n-x\n".to_owned(), true));
        assert_eq!(hunks("x", "x"), (String::new(), false));
    }

    /// Texts with too many lines to be compared as a whole.
    fn many_lines(change: impl Fn(&mut Vec<String>)) -> [String; 2] {
        let mut lines: Vec<String> = (0..MAX_LINES + 10).map(|line| format!("é{line}\n")).collect();
        let old = lines.concat();
        change(&mut lines);
        [old, lines.concat()]
    }

    #[test]
    fn a_change_in_a_text_with_very_many_lines_is_found_at_its_place() {
        let [old, new] = many_lines(|lines| {
            lines[5_000] = "è5000\n".to_owned();
            lines.remove(7_000);
        });
        let text = diff(old.as_bytes(), new.as_bytes());
        let first = "@@ -4998,7 +4998,7 @@\n é4997\n é4998\n é4999\n-é5000\n+è5000\n é5001\n";
        assert!(text.contains(first), "{text}");
        assert!(text.contains("\n-é7000\n"), "{text}");
        assert_eq!(text.lines().count(), 2 + 9 + 8);
        assert_eq!(counted_hunks(&old, &new, 1, 4_096).0.lines().count(), 5 + 4);
    }

    #[test]
    fn a_change_at_an_end_of_a_text_with_very_many_lines_is_found() {
        for at in [0, MAX_LINES + 9] {
            let [old, new] = many_lines(|lines| lines[at] = "x".to_owned());
            let text = diff(old.as_bytes(), new.as_bytes());
            let changed = |line: &&str| line.starts_with(['-', '+']) && !line.contains("/x");
            assert!(text.lines().filter(changed).count() <= 3, "{text}");
            let [old, new] = many_lines(|lines| lines.insert(at, "new\n".to_owned()));
            let text = diff(old.as_bytes(), new.as_bytes());
            assert_eq!(text.lines().filter(changed).collect::<Vec<_>>(), ["+new"], "{text}");
        }
    }

    #[test]
    fn very_many_lines_that_all_differ_are_one_hunk_that_is_cut() {
        let [old, _] = many_lines(|_| ());
        let (text, is_cut) =
            unified("a", "b", old.as_bytes(), old.replace('é', "e").as_bytes(), 99).unwrap();
        let total = MAX_LINES + 10;
        assert!(text.contains(&format!("@@ -1,{total} +1,{total} @@\n-é0\n-é1\n")), "{text}");
        assert!(is_cut);
    }

    #[test]
    fn other_encodings_are_decoded() {
        assert_eq!(
            diff(b"\xff\xfea\0\n\0", b"\xff\xfe\xe9\0\n\0"),
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\u{e9}\n"
        );
        assert_eq!(
            diff(b"a\n", b"\xef\xbb\xbfa\n"),
            "--- a/x\n+++ b/x\n\\ Encoding changed from UTF-8 to UTF-8 with BOM\n"
        );
        assert_eq!(unified("a", "b", b"a\0", b"a", 100), None);
        assert_eq!(unified("a", "b", b"a", b"\x89PNG\r\n\x1a\n", 100), None);
    }

    #[test]
    fn a_cut_diff_ends_at_a_line() {
        let (text, cut) = unified("a", "b", b"one\n", b"two\n", 30).unwrap();
        assert_eq!((text.as_str(), cut), ("--- a\n+++ b\n@@ -1 +1 @@\n-one\n", true));
    }

    #[test]
    fn huge_texts_are_replaced_whole() {
        let before = "a\n".repeat(MAX_LINES + 1);
        let (text, cut) = unified("a", "b", before.as_bytes(), b"a\n", 100).unwrap();
        assert!(text.starts_with("--- a\n+++ b\n@@ -1,200001 +1 @@\n-a\n"), "{text}");
        assert!(cut);
    }

    /// Applies a diff with full trust in its line numbers: a slow, obvious reader.
    fn patched(before: &str, diff: &str) -> String {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let (mut at, mut result) = (0, String::new());
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            let open = lines.peek().is_some_and(|next| next.starts_with('\\'));
            let text = if open { &line[1..line.len() - 1] } else { &line[1..] };
            match line.as_bytes()[0] {
                b'@' => {
                    let range = line.split(['-', ' ']).nth(2).unwrap();
                    let (first, count) = range.split_once(',').unwrap_or((range, "1"));
                    let first: usize = first.parse().unwrap();
                    let start = if count == "0" { first } else { first - 1 };
                    old[at..start].iter().for_each(|line| result.push_str(line));
                    at = start;
                }
                b'+' => result.push_str(text),
                b' ' => {
                    result.push_str(text);
                    at += 1;
                }
                b'-' => at += 1,
                _ => {}
            }
        }
        old[at..].iter().for_each(|line| result.push_str(line));
        result
    }

    proptest! {
        #[test]
        fn a_diff_leads_from_one_to_the_other(
            before in "([ab]\r?\n){0,12}[ab]?",
            after in "([ab]\r?\n){0,12}[ab]?",
        ) {
            let diff = diff(before.as_bytes(), after.as_bytes());
            prop_assert_eq!(patched(&before, &diff), after.clone());
            let counted = counted_hunks(&before, &after, 2, usize::MAX).0;
            let changes = |diff: &str| {
                diff.lines().filter(|line| line.starts_with(['+', '-'])).count()
            };
            prop_assert_eq!(patched(&before, &format!("---\n+++\n{counted}")), after);
            prop_assert!(before.len() + diff.len() == 0 || changes(&counted) <= changes(&diff));
        }

        #[test]
        fn a_cut_diff_is_a_beginning(
            max in 0usize..200,
            before in "([ab]\n){0,12}",
            after in "([ab]\n){0,12}",
        ) {
            let whole = diff(before.as_bytes(), after.as_bytes());
            let (text, cut) =
                unified("a/x", "b/x", before.as_bytes(), after.as_bytes(), max).unwrap();
            prop_assert!(text.len() <= max && whole.starts_with(&text));
            prop_assert_eq!(cut, text != whole);
        }
    }
}
