//! The part of a text that an answer shows, of a file that is loaded.

use std::borrow::Cow;

use yard_core::op::{LineStart, Read, Slice};
use yard_core::text::{self, Encoding};
use yard_core::{ContentHash, Result, WsPath, lines};

use super::encoded::{
    character_start, count_lines, decode_at, detect, encoded_len, is_wide, length_in, line_after,
    mark_len,
};

/// A part of a text, with requested facts about the whole text.
#[derive(Default)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) first_line: u64,
    pub(super) lines: u64,
    pub(super) truncated: bool,
    pub(super) cut_at_byte: Option<u64>,
    pub(super) line_count: Option<u64>,
    pub(super) hash: Option<ContentHash>,
}

impl Part {
    /// The requested part of a file; `bytes` are the whole file.
    pub(super) fn of_bytes(read: &Read, bytes: &[u8], path: &WsPath) -> Result<Self> {
        let encoding = detect(bytes, path)?;
        let mut part = match read.slice {
            Slice::Bytes { offset, limit } => {
                Self::between(bytes, encoding, offset, limit.min(read.max_bytes))
            }
            Slice::Lines { start, limit } => {
                Self::of_lines(bytes, encoding, start, limit, read.max_bytes)
            }
        };
        part.hash = read.want.hash.then(|| ContentHash::of(bytes));
        if read.want.line_count && part.line_count.is_none() {
            part.line_count = Some(count_lines(bytes, encoding));
        }
        Ok(part)
    }

    /// A range of lines. UTF-16 is decoded before it is split into lines.
    fn of_lines(
        bytes: &[u8],
        encoding: Encoding,
        start: LineStart,
        limit: Option<u64>,
        max: u64,
    ) -> Self {
        let body = match is_wide(encoding) {
            true => Cow::Owned(text::decode(bytes, encoding).into_owned().into_bytes()),
            false => Cow::Borrowed(bytes),
        };
        let slice = lines::slice(&body, start, limit);
        let mut part = Self {
            first_line: slice.first_line,
            lines: slice.lines,
            truncated: slice.truncated,
            line_count: Some(slice.total),
            ..Self::default()
        };
        let shown = &body[slice.range.clone()];
        if is_wide(encoding) {
            let before = String::from_utf8_lossy(&body[..slice.range.start]);
            let start = mark_len(bytes, encoding) + encoded_len(&before, encoding);
            part.show(shown, String::from_utf8_lossy(shown), start, encoding, max);
        } else {
            let start = slice.range.start as u64;
            part.show_at(shown, start, encoding, max);
        }
        part
    }

    /// Sets the text to these bytes, which begin at `start` of the file.
    pub(super) fn show_at(&mut self, bytes: &[u8], start: u64, encoding: Encoding, max: u64) {
        let mark = if start == 0 { mark_len(bytes, encoding) } else { 0 };
        let raw = &bytes[usize::try_from(mark).unwrap_or(0)..];
        self.show(raw, decode_at(bytes, start, encoding), start + mark, encoding, max);
    }

    /// Sets the text, cut to `max` bytes: at the end of a line if possible, else within a line. `raw` are its bytes in the
    /// file, which begin at `start`.
    fn show(&mut self, raw: &[u8], shown: Cow<'_, str>, start: u64, encoding: Encoding, max: u64) {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        if shown.len() <= max {
            self.text = shown.into_owned();
            return;
        }
        let end = match memchr::memrchr(b'\n', &shown.as_bytes()[..max]) {
            Some(at) => at + 1,
            None => {
                let end = shown.floor_char_boundary(max);
                self.cut_at_byte = Some(start + length_in(raw, &shown[..end], encoding));
                end
            }
        };
        self.truncated = true;
        self.lines = lines::count(&shown.as_bytes()[..end]);
        self.text = shown[..end].to_owned();
    }

    /// At most `limit` bytes from `offset` on, cut before a character that does not fit.
    pub(super) fn between(bytes: &[u8], encoding: Encoding, offset: u64, limit: u64) -> Self {
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (at(offset), at(offset.saturating_add(limit)));
        let is_cut = end < bytes.len();
        let end = if is_cut { character_start(bytes, end, encoding).max(start) } else { end };
        let text = decode_at(&bytes[start..end], offset, encoding).into_owned();
        Self {
            first_line: line_after(&bytes[..start], encoding),
            lines: lines::count(text.as_bytes()),
            text,
            truncated: end < bytes.len(),
            cut_at_byte: (end < bytes.len()).then_some(end as u64),
            ..Self::default()
        }
    }
}
