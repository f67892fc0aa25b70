//! Counts the lines of a text that survive a change. The count distinguishes an edit from a replacement, whatever tool
//! made the change. Positions do not matter: a line that moved survives.

use std::collections::HashMap;

use crate::text;

/// In a file with at most so many lines, an edit may change all of them.
const FEW_LINES: usize = 10;

/// How many lines of a text survive a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurvivingLines {
    /// Lines of the text before the change.
    pub lines: usize,
    /// Those of them that are in the text after it.
    pub surviving: usize,
}

impl SurvivingLines {
    /// Compares two contents; `None` if one of them is no text.
    pub fn between(before: &[u8], after: &[u8]) -> Option<Self> {
        let before = text::decode(before, text::detect(before).ok()?);
        let after = text::decode(after, text::detect(after).ok()?);
        let mut left: HashMap<&str, usize> = HashMap::new();
        for line in after.lines() {
            *left.entry(line).or_default() += 1;
        }
        let (mut lines, mut surviving) = (0, 0);
        for line in before.lines() {
            lines += 1;
            if let Some(count) = left.get_mut(line).filter(|count| **count > 0) {
                *count -= 1;
                surviving += 1;
            }
        }
        Some(Self { lines, surviving })
    }

    /// Whether at least half of the lines survive.
    pub fn is_half(self) -> bool {
        self.surviving >= self.lines - self.surviving
    }

    /// Whether the text before was so short that an edit may change all of it.
    pub fn was_short(self) -> bool {
        self.lines <= FEW_LINES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_lines_is_enough_and_less_is_not() {
        let of = |before: &str, after: &str| {
            SurvivingLines::between(before.as_bytes(), after.as_bytes())
        };
        let four = "a\nb\nc\nd\n";
        for (after, half) in [
            ("a\nb\nx\ny\n", true),
            ("a\nx\ny\nz\n", false),
            ("", false),
            ("d\nc\nb\na\n", true),
            ("a\r\nb\r\nc\r\nd", true),
            ("a\na\na\na\n", false),
        ] {
            assert_eq!(of(four, after).unwrap().is_half(), half, "{after:?}");
        }
        assert!(of("", "anything\n").unwrap().is_half(), "nothing was there");
        assert!(!of("one", "two").unwrap().is_half());
    }

    #[test]
    fn what_is_no_text_is_never_edited() {
        assert_eq!(SurvivingLines::between(b"a\0b", b"a\0b"), None);
        assert_eq!(SurvivingLines::between(b"text\n", b"a\0b"), None);
    }

    #[test]
    fn ten_lines_are_few() {
        let text = |lines: usize| "line\n".repeat(lines);
        let of = |lines| SurvivingLines::between(text(lines).as_bytes(), b"").unwrap();
        assert!(of(10).was_short());
        assert!(!of(11).was_short());
    }
}
