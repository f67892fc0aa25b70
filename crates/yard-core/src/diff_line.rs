//! Finds one line of one side of a unified diff, for texts that quote it.

use crate::WsPath;
use crate::patch::{HunkHeader, diff_label, hunk_header};

crate::spelled_enum! {
    /// One side of a diff.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum DiffSide {
        /// The content before.
        Old = "old",
        /// The content after.
        New = "new",
    }
}

/// The text of a line of a file, as one side of a diff of any number of files has it. `None` if no hunk has that line.
pub fn line_of_diff<'a>(
    diff: &'a str,
    path: &WsPath,
    side: DiffSide,
    line: u64,
) -> Option<&'a str> {
    let (prefix, letter) = match side {
        DiffSide::Old => ("--- ", "a"),
        DiffSide::New => ("+++ ", "b"),
    };
    let label = diff_label(letter, Some(path));
    let mut is_of_file = false;
    let mut hunk = Hunk::default();
    for text in diff.lines() {
        if hunk.is_over() {
            if let Some(name) = text.strip_prefix(prefix) {
                is_of_file = name == label;
            } else if let Some(next) = Hunk::parse(text) {
                hunk = next;
            }
        } else if let Some(number) = hunk.take(text, side)
            && is_of_file
            && u64::try_from(number) == Ok(line)
        {
            return Some(text.get(1..).unwrap_or_default());
        }
    }
    None
}

/// The rest of a hunk that is being read.
#[derive(Default)]
struct Hunk {
    old: Lines,
    new: Lines,
}

/// The rest of one side of a hunk.
#[derive(Clone, Copy, Default)]
struct Lines {
    next: usize,
    left: usize,
}

impl Lines {
    /// Counts a line; its number.
    fn take(&mut self) -> usize {
        let number = self.next;
        self.next = number.saturating_add(1);
        self.left = self.left.saturating_sub(1);
        number
    }
}

impl Hunk {
    fn parse(header: &str) -> Option<Self> {
        let HunkHeader { stated, old_count, new_count } = hunk_header(header)?;
        let lines = |next, left| Lines { next, left };
        Some(Self { old: lines(stated.old, old_count), new: lines(stated.new, new_count) })
    }

    fn is_over(&self) -> bool {
        self.old.left == 0 && self.new.left == 0
    }

    /// Counts a line of the hunk; its number on one side, if that side has it.
    fn take(&mut self, text: &str, side: DiffSide) -> Option<usize> {
        let is_old = !text.starts_with(['+', '\\']);
        let is_new = !text.starts_with(['-', '\\']);
        let old = is_old.then(|| self.old.take());
        let new = is_new.then(|| self.new.take());
        match side {
            DiffSide::Old => old,
            DiffSide::New => new,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
--- a/b.txt
+two again
 three
@@ -10 +10,2 @@ in a function
-ten
+ten and
+eleven
\\ No newline at end of file
--- a/b.txt
+++ b/b.txt
@@ -1 +1 @@
-b
+B
";

    fn line(path: &str, side: DiffSide, line: u64) -> Option<&'static str> {
        line_of_diff(DIFF, &WsPath::parse(path).unwrap(), side, line)
    }

    #[test]
    fn a_line_is_found_on_its_side_of_its_file() {
        use DiffSide::{New, Old};
        assert_eq!(line("/a.txt", Old, 1), Some("one"));
        assert_eq!(line("/a.txt", Old, 2), Some("-- a/b.txt"), "no header: the hunk goes on");
        assert_eq!(line("/a.txt", New, 2), Some("two again"));
        assert_eq!(line("/a.txt", New, 3), Some("three"));
        assert_eq!(
            (line("/a.txt", Old, 10), line("/a.txt", New, 11)),
            (Some("ten"), Some("eleven"))
        );
        assert_eq!((line("/b.txt", Old, 1), line("/b.txt", New, 1)), (Some("b"), Some("B")));
    }

    #[test]
    fn a_line_outside_of_the_hunks_and_another_file_have_no_text() {
        for (path, number) in [("/a.txt", 4), ("/a.txt", 0), ("/b.txt", 2), ("/c.txt", 1)] {
            assert_eq!(line(path, DiffSide::New, number), None, "{path} {number}");
        }
        let path = WsPath::parse("/a.txt").unwrap();
        for text in ["", "@@", "@@ -1 +1", "--- a/a.txt\n+++ b/a.txt\n@@ -x +1 @@\n+a"] {
            assert_eq!(line_of_diff(text, &path, DiffSide::New, 1), None, "{text}");
        }
    }
}
