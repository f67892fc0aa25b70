//! Counts the lines that a change adds to a text and removes from it, by the same comparison as its diff.

use similar::{Algorithm, DiffOp};

use crate::op::LineCount;
use crate::{Bounds, Result, line_diff, text};

impl LineCount {
    /// What leads from one content to another; `None` if one of them is no text.
    pub fn between(before: &[u8], after: &[u8], bounds: Bounds<'_>) -> Result<Option<Self>> {
        let (Ok(old), Ok(new)) = (text::detect(before), text::detect(after)) else {
            return Ok(None);
        };
        let (old, new) = (text::decode(before, old), text::decode(after, new));
        let lines = |text: &str| crate::lines::count(text.as_bytes());
        if old.is_empty() || new.is_empty() {
            return Ok(Some(Self { added: lines(&new), removed: lines(&old) }));
        }
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let mut count = Self::default();
        for operation in line_diff::compare(&old, &new, Algorithm::Myers, bounds)? {
            if !matches!(operation, DiffOp::Equal { .. }) {
                count.removed += operation.old_range().len() as u64;
                count.added += operation.new_range().len() as u64;
            }
        }
        Ok(Some(count))
    }
}

impl std::ops::AddAssign for LineCount {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.removed += other.removed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_is_removed_and_added() {
        let of = |before: &[u8], after: &[u8]| {
            let count = LineCount::between(before, after, Bounds::NONE).unwrap();
            count.map(|count| (count.added, count.removed))
        };
        assert_eq!(of(b"1\n2\n3\n", b"1\ntwo\n3\n4\n"), Some((2, 1)));
        assert_eq!(of(b"", b"1\n2"), Some((2, 0)));
        assert_eq!(of(b"1\n2", b""), Some((0, 2)));
        assert_eq!(of(b"1\n2", b"1\n2\n"), Some((1, 1)));
        assert_eq!(of(b"1\n", b"1\n"), Some((0, 0)));
        assert_eq!(of(b"1\n", b"\0"), None);
    }
}
