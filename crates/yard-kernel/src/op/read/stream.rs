//! Parts of a file that is too large to be loaded: the file is streamed through a window.

use std::fs::File;
use std::io::{Read as _, Seek, SeekFrom};

use yard_core::hash::ContentHasher;
use yard_core::op::{LineStart, Read, Slice, Want};
use yard_core::text::Encoding;
use yard_core::{Call, ContentHash, Fault, FaultCode, Result, Subject, WsPath, lines};

use yard_disk::{each_piece, io_fault};

use super::MAX_WHOLE_BYTES;
use super::encoded::{character_start, decode_at, detect, is_wide};
use super::part::Part;

/// How much of a large file is read to detect its encoding.
const HEAD: usize = 64 << 10;

/// An open file, with the request.
pub(super) struct Stream<'a> {
    pub(super) read: &'a Read,
    pub(super) file: &'a mut File,
    pub(super) path: &'a WsPath,
    pub(super) call: &'a Call,
}

/// Requested facts about the whole file.
#[derive(Default)]
struct Sums {
    hash: Option<ContentHash>,
    line_count: Option<u64>,
}

impl Stream<'_> {
    /// The requested part of the file.
    pub(super) fn part(mut self) -> Result<Part> {
        let encoding = self.detect_head()?;
        if is_wide(encoding) {
            let message = format!(
                "{} is UTF-16 and larger than {MAX_WHOLE_BYTES} bytes; convert it to UTF-8 to read it in slices",
                self.path
            );
            return Err(Fault::new(FaultCode::TooLarge, message).about(Subject::Path));
        }
        self.slice(self.read.slice, self.read.want, encoding)
    }

    /// The requested part of the file after byte `from`, as if that were the whole file. Byte offsets in the answer are those
    /// of the real file, and there is no hash.
    pub(super) fn part_after(mut self, from: u64) -> Result<Part> {
        let want = Want { hash: false, ..self.read.want };
        match self.read.slice {
            Slice::Lines { start: LineStart::FromStart(line), limit } => {
                self.seek(from)?;
                let mut window = Window::new(line, limit, self.read.max_bytes).starting_at(from);
                let sums = self.run_through(want, &mut window)?;
                Ok(window.part(Encoding::Utf8, sums))
            }
            Slice::Bytes { offset, limit } => {
                let offset = offset.saturating_add(from);
                self.slice(Slice::Bytes { offset, limit }, want, Encoding::Utf8)
            }
            last_lines => self.slice(last_lines, want, Encoding::Utf8),
        }
    }

    fn slice(&mut self, slice: Slice, want: Want, encoding: Encoding) -> Result<Part> {
        match slice {
            Slice::Bytes { offset, limit } => self.bytes(offset, limit, want, encoding),
            Slice::Lines { start: LineStart::FromStart(line), limit } => {
                let mut window = Window::new(line, limit, self.read.max_bytes);
                let sums = self.run_through(want, &mut window)?;
                Ok(window.part(encoding, sums))
            }
            Slice::Lines { start: LineStart::FromEnd(count), limit } => {
                self.last_lines(count, limit, want, encoding)
            }
        }
    }

    fn detect_head(&mut self) -> Result<Encoding> {
        let mut head = Vec::with_capacity(HEAD);
        let read = (&mut *self.file).take(HEAD as u64).read_to_end(&mut head);
        read.map_err(|error| io_fault(&error, self.path))?;
        self.seek(0)?;
        // The end of the prefix must not split a character, which would look like another encoding.
        let end = memchr::memrchr(b'\n', &head)
            .map_or_else(|| character_start(&head, head.len(), Encoding::Utf8), |at| at + 1);
        detect(&head[..end], self.path)
    }

    fn seek(&mut self, to: u64) -> Result<()> {
        let moved = self.file.seek(SeekFrom::Start(to));
        moved.map(|_| ()).map_err(|error| io_fault(&error, self.path))
    }

    /// Streams the file through a window of lines. It reads to the end only if the hash or the number of lines is requested.
    fn run_through(&mut self, want: Want, window: &mut Window) -> Result<Sums> {
        let path = self.path;
        let to_the_end = want.hash || want.line_count;
        let mut hasher = want.hash.then(ContentHasher::new);
        each_piece(self.file, path, self.call, |piece| {
            if !path.is_command_output() && memchr::memchr(0, piece).is_some() {
                let message = format!(
                    "{path} is not a text: the file is binary data (it holds a NUL byte). It cannot be read or edited \
                     as text"
                );
                return Err(Fault::new(FaultCode::Binary, message).about(Subject::Path));
            }
            if let Some(hasher) = &mut hasher {
                hasher.update(piece);
            }
            window.add(piece);
            Ok(to_the_end || !window.is_full())
        })?;
        let line_count = want.line_count.then(|| window.total());
        Ok(Sums { hash: hasher.map(ContentHasher::finish), line_count })
    }

    fn bytes(&mut self, offset: u64, limit: u64, want: Want, encoding: Encoding) -> Result<Part> {
        let sums = match want.hash || want.line_count {
            true => self.run_through(want, &mut Window::empty())?,
            false => Sums::default(),
        };
        self.seek(offset)?;
        let limit = limit.min(self.read.max_bytes);
        let mut bytes = Vec::new();
        let read = (&mut *self.file).take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| io_fault(&error, self.path))?;
        let mut part = Part::between(&bytes, encoding, 0, limit);
        let shown = part.cut_at_byte.map_or(bytes.len(), |end| end as usize);
        part.text = decode_at(&bytes[..shown], offset, encoding).into_owned();
        part.cut_at_byte = part.cut_at_byte.map(|at| at + offset);
        part.first_line = self.lines_before(offset)?;
        (part.hash, part.line_count) = (sums.hash, sums.line_count);
        Ok(part)
    }

    /// How many lines end before `offset`.
    fn lines_before(&mut self, offset: u64) -> Result<u64> {
        self.seek(0)?;
        let (mut left, mut newlines) = (offset, 0);
        each_piece(self.file, self.path, self.call, |piece| {
            let taken = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            newlines += memchr::memchr_iter(b'\n', &piece[..taken]).count() as u64;
            left -= taken as u64;
            Ok(left > 0)
        })?;
        Ok(newlines)
    }

    /// The last lines, whose start is found by reading backwards.
    fn last_lines(
        &mut self,
        count: u64,
        limit: Option<u64>,
        want: Want,
        encoding: Encoding,
    ) -> Result<Part> {
        let start = self.start_of_last_lines(count)?;
        self.seek(0)?;
        let counted = Want { line_count: true, ..want };
        let sums = self.run_through(counted, &mut Window::empty())?;
        self.seek(start)?;
        let mut window = Window::new(0, limit, self.read.max_bytes).starting_at(start);
        self.run_through(Want::default(), &mut window)?;
        let total = sums.line_count.unwrap_or(0);
        let line_count = want.line_count.then_some(total);
        let mut part = window.part(encoding, Sums { line_count, ..sums });
        part.first_line = total.saturating_sub(count);
        Ok(part)
    }

    fn start_of_last_lines(&mut self, count: u64) -> Result<u64> {
        let path = self.path;
        let size = self.file.seek(SeekFrom::End(0)).map_err(|error| io_fault(&error, path))?;
        let mut buffer = vec![0; HEAD];
        let (mut end, mut found) = (size, 0);
        while end > 0 && count > 0 {
            self.call.check()?;
            let length = usize::try_from(end).unwrap_or(usize::MAX).min(HEAD);
            let begin = end - length as u64;
            self.seek(begin)?;
            let piece = &mut buffer[..length];
            self.file.read_exact(piece).map_err(|error| io_fault(&error, path))?;
            for at in memchr::memrchr_iter(b'\n', piece) {
                // No line begins after the newline at the end of the file.
                if begin + at as u64 + 1 == size {
                    continue;
                }
                found += 1;
                if found == count {
                    return Ok(begin + at as u64 + 1);
                }
            }
            end = begin;
        }
        Ok(if count == 0 { size } else { 0 })
    }
}

/// A range of lines of a stream.
struct Window {
    /// The first line that is taken, and how many are.
    first: u64,
    limit: Option<u64>,
    /// Most bytes that are taken.
    max: usize,
    /// Lines that have ended so far.
    line: u64,
    /// The byte of the file that comes next.
    at: u64,
    /// The last byte did not end a line.
    open: bool,
    /// Where the bytes that were taken begin in the file.
    start: u64,
    taken: Vec<u8>,
    /// There is more than was taken.
    more: bool,
}

impl Window {
    fn new(first: u64, limit: Option<u64>, max: u64) -> Self {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        Self {
            first,
            limit,
            max,
            line: 0,
            at: 0,
            open: false,
            start: 0,
            taken: Vec::new(),
            more: false,
        }
    }

    /// A window that retains nothing and only counts lines.
    fn empty() -> Self {
        Self::new(u64::MAX, None, 0)
    }

    /// The window for a stream that begins at this byte of its file.
    fn starting_at(self, byte: u64) -> Self {
        Self { at: byte, start: byte, ..self }
    }

    fn is_full(&self) -> bool {
        self.more
    }

    fn total(&self) -> u64 {
        self.line + u64::from(self.open)
    }

    fn end(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| self.first.saturating_add(limit))
    }

    fn add(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() {
            if self.line >= self.end() || self.more {
                self.more = true;
                self.skip(rest, u64::MAX);
                return;
            }
            if self.line < self.first {
                rest = self.skip(rest, self.first);
                continue;
            }
            rest = self.add_line(rest);
        }
    }

    /// Skips bytes up to the start of line `until`, and returns the rest.
    fn skip<'b>(&mut self, bytes: &'b [u8], until: u64) -> &'b [u8] {
        for at in memchr::memchr_iter(b'\n', bytes) {
            self.line += 1;
            if self.line == until {
                self.open = false;
                self.at += at as u64 + 1;
                self.start = self.at;
                return &bytes[at + 1..];
            }
        }
        self.open = bytes.last() != Some(&b'\n');
        self.at += bytes.len() as u64;
        &[]
    }

    fn add_line<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
        let space = self.max.saturating_add(1).saturating_sub(self.taken.len());
        self.taken.extend_from_slice(&bytes[..end.min(space)]);
        self.open = bytes[end - 1] != b'\n';
        self.line += u64::from(!self.open);
        self.at += end as u64;
        self.more |= self.taken.len() > self.max;
        &bytes[end..]
    }

    fn part(self, encoding: Encoding, sums: Sums) -> Part {
        let mut part = Part {
            first_line: self.first.min(self.total()),
            lines: lines::count(&self.taken),
            truncated: self.more,
            line_count: sums.line_count,
            hash: sums.hash,
            ..Part::default()
        };
        let end = match self.more {
            true => character_start(&self.taken, self.taken.len(), encoding),
            false => self.taken.len(),
        };
        part.show_at(&self.taken[..end], self.start, encoding, self.max as u64);
        part
    }
}
