//! A unified diff of two contents, for people and models to read. It shows characters, not bytes: a
//! patch that must be applied is made elsewhere.

mod greedy;

use std::ops::Range;

use similar::udiff::UnifiedHunkHeader;
use similar::{Algorithm, ChangeTag, DiffOp, group_diff_ops};

use crate::text::{self, Encoding};
use crate::{Bounds, line_diff};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Above that many lines on either side the whole text is shown as replaced: nobody reads such a
/// diff, and finding a smaller one takes long.
const MAX_LINES: usize = 200_000;

/// The unified diff from `before` to `after`, under the names `from` and `to`, and whether it was
/// cut after the last line that fits into `max_bytes`.
///
/// Equal contents give an empty diff. None if either is binary.
pub fn unified(
    from: &str,
    to: &str,
    before: &[u8],
    after: &[u8],
    max_bytes: usize,
) -> Option<(String, bool)> {
    let (old_encoding, new_encoding) = (text::detect(before).ok()?, text::detect(after).ok()?);
    if before == after {
        return Some((String::new(), false));
    }
    let (old, new) = (text::decode(before, old_encoding), text::decode(after, new_encoding));
    let mut page = Page { text: String::new(), max_bytes };
    let complete = page.push(&[&format!("--- {from}")]).is_some()
        && page.push(&[&format!("+++ {to}")]).is_some()
        && encodings(&mut page, old_encoding, new_encoding).is_some()
        && hunks(&mut page, &old, &new).is_some();
    Some((page.text, !complete))
}

/// The hunks that lead from one text to another with that many unchanged lines around each change, and
/// whether they were cut after the last line that fits into `max_bytes`. Every count is written out
/// (`@@ -1,1 +1,1 @@`), and of several smallest diffs that one is chosen, as the tools of JavaScript do.
pub fn counted_hunks(old: &str, new: &str, context: usize, max_bytes: usize) -> (String, bool) {
    let mut page = Page { text: String::new(), max_bytes };
    let (old, new) = (lines(old), lines(new));
    let operations = greedy::compare(&old, &new).unwrap_or_else(|| compare(&old, &new));
    let groups = group_diff_ops(operations, context);
    let complete = each_hunk(&mut page, &old, &new, groups, counted_header).is_some();
    (page.text, !complete)
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
struct Page {
    text: String,
    max_bytes: usize,
}

impl Page {
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
fn encodings(page: &mut Page, old: Encoding, new: Encoding) -> Option<()> {
    if old == new {
        return Some(());
    }
    page.push(&["\\ Encoding changed from ", old.name(), " to ", new.name()])
}

fn hunks(page: &mut Page, old: &str, new: &str) -> Option<()> {
    let (old, new) = (lines(old), lines(new));
    let groups = group_diff_ops(compare(&old, &new), CONTEXT);
    each_hunk(page, &old, &new, groups, |group| UnifiedHunkHeader::new(group).to_string())
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn each_hunk(
    page: &mut Page,
    old: &[&str],
    new: &[&str],
    groups: Vec<Vec<DiffOp>>,
    header: impl Fn(&[DiffOp]) -> String,
) -> Option<()> {
    for group in groups {
        if group.iter().all(|op| matches!(op, DiffOp::Equal { .. })) {
            continue;
        }
        page.push(&[&header(&group)])?;
        for change in group.iter().flat_map(|op| op.iter_changes(old, new)) {
            push_change(page, change.tag(), change.value())?;
        }
    }
    Some(())
}

fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    if old.len().max(new.len()) > MAX_LINES {
        let (old_len, new_len) = (old.len(), new.len());
        return vec![DiffOp::Replace { old_index: 0, old_len, new_index: 0, new_len }];
    }
    // Without bounds nothing stops it.
    line_diff::compare(old, new, Algorithm::Myers, Bounds::NONE).unwrap_or_default()
}

fn push_change(page: &mut Page, tag: ChangeTag, line: &str) -> Option<()> {
    let sign = match tag {
        ChangeTag::Equal => " ",
        ChangeTag::Delete => "-",
        ChangeTag::Insert => "+",
    };
    match line.strip_suffix('\n') {
        Some(line) => page.push(&[sign, line]),
        None => page.push(&[sign, line, "\n\\ No newline at end of file"]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
