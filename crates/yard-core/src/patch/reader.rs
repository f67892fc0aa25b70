//! The position of a parser in the lines of a patch, for both forms.

use super::PatchError;

/// The lines of a patch and how far they are read.
pub(super) struct Reader<'a> {
    pub(super) lines: Vec<&'a str>,
    pub(super) at: usize,
    /// Whether the last line has its end: a patch that was cut off on its way has not.
    pub(super) is_complete: bool,
}

impl<'a> Reader<'a> {
    /// The line that is read next.
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    /// Its number, from 1.
    pub(super) fn number(&self) -> usize {
        self.at + 1
    }

    /// What is wrong with it.
    pub(super) fn error(&self, message: impl Into<String>) -> PatchError {
        PatchError::new(self.number(), message)
    }
}
