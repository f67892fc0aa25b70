//! Reads a file for a search by lines: it ends with its call, and passes on only the start of a very long line, so that
//! the searcher never has more than that in memory.

use std::io::{self, Read};

use memchr::memchr;
use yard_core::Call;

/// Bytes of a line that are passed on.
pub(super) const MAX_LINE_BYTES: usize = 8 << 20;

pub(super) struct LineReader<'a, R> {
    source: R,
    call: &'a Call,
    max_line_bytes: usize,
    /// Bytes of the current line that may still be passed on.
    left: usize,
}

impl<'a, R: Read> LineReader<'a, R> {
    /// Cuts long lines.
    pub(super) fn cutting(source: R, call: &'a Call) -> Self {
        Self { source, call, max_line_bytes: MAX_LINE_BYTES, left: MAX_LINE_BYTES }
    }

    /// Passes every byte on: in a text of two bytes a character, a byte of a line break may be half of a character.
    pub(super) fn whole(source: R, call: &'a Call) -> Self {
        Self { source, call, max_line_bytes: usize::MAX, left: usize::MAX }
    }

    /// Moves the bytes that are passed on to the front, and returns their number.
    fn cut(&mut self, bytes: &mut [u8]) -> usize {
        let (mut kept, mut at) = (0, 0);
        while at < bytes.len() {
            let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |found| at + found);
            let length = self.left.min(end - at);
            bytes.copy_within(at..at + length, kept);
            kept += length;
            self.left -= length;
            at = end;
            if at < bytes.len() {
                bytes[kept] = b'\n';
                kept += 1;
                at += 1;
                self.left = self.max_line_bytes;
            }
        }
        kept
    }
}

impl<R: Read> Read for LineReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.call.check().map_err(io::Error::other)?;
            let length = self.source.read(buffer)?;
            let kept = self.cut(&mut buffer[..length]);
            // To the searcher, no bytes are the end of the file.
            if kept > 0 || length == 0 {
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use yard_fixtures::RealWorld;

    use super::*;

    /// What is passed on of a text, read in pieces of that many bytes.
    fn read(text: &str, max_line_bytes: usize, piece: usize) -> String {
        let call = Call::new(Arc::new(RealWorld));
        let mut reader = LineReader {
            source: text.as_bytes(),
            call: &call,
            max_line_bytes,
            left: max_line_bytes,
        };
        let (mut all, mut buffer) = (Vec::new(), vec![0; piece]);
        loop {
            match reader.read(&mut buffer).unwrap() {
                0 => return String::from_utf8(all).unwrap(),
                length => all.extend_from_slice(&buffer[..length]),
            }
        }
    }

    #[test]
    fn the_end_of_a_long_line_is_left_out_and_line_breaks_stay() {
        let text = "a\nlong line\n\nlong line\r\nb\nlong line";
        for piece in 1..=text.len() {
            assert_eq!(read(text, 4, piece), "a\nlong\n\nlong\nb\nlong", "pieces of {piece}");
            assert_eq!(read(text, usize::MAX, piece), text, "pieces of {piece}");
        }
        assert_eq!(read("", 4, 8), "");
        assert_eq!(read("\n\n", 4, 1), "\n\n");
    }
}
