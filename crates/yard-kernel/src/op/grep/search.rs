//! Searches one file line by line, as text in its own encoding, and retains only the lines that the answer shows.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;

use grep_matcher::LineTerminator;
use grep_searcher::{
    BinaryDetection, Searcher as LineSearcher, SearcherBuilder, Sink, SinkContext, SinkError,
    SinkMatch,
};
use yard_core::op::{Grep, GrepMatch};
use yard_core::text::{self, Encoding};
use yard_core::{Fault, FaultCode, Result, Subject, WsPath};
use yard_disk::{io_fault, read_range};

use super::Search;
use super::line_reader::{LineReader, MAX_LINE_BYTES};

/// Larger files are streamed through the searcher instead of being loaded.
const MAX_WHOLE_BYTES: u64 = 8 << 20;
/// Most bytes that the searcher of a thread has in memory: a line of the greatest length, and others around it.
const MAX_BUFFERED_BYTES: usize = 2 * MAX_LINE_BYTES;

/// The matches of one file, and whether there are more than the answer could show.
#[derive(Default)]
pub(super) struct FileMatches {
    pub(super) matches: Vec<GrepMatch>,
    pub(super) more: bool,
}

pub(super) struct Searcher<'a> {
    search: &'a Search<'a>,
    lines: LineSearcher,
    buffer: Vec<u8>,
}

impl<'a> Searcher<'a> {
    pub(super) fn new(search: &'a Search<'a>) -> Self {
        let lines = SearcherBuilder::new()
            .line_number(true)
            .line_terminator(LineTerminator::crlf())
            .before_context(search.grep.before)
            .after_context(search.grep.after)
            .binary_detection(BinaryDetection::quit(0))
            .bom_sniffing(true)
            .heap_limit(Some(MAX_BUFFERED_BYTES))
            .build();
        Self { search, lines, buffer: Vec::new() }
    }

    pub(super) fn file(&mut self, path: &WsPath) -> Result<FileMatches> {
        self.search.call.check()?;
        if self.search.virtuals.contain(path) {
            return self.virtual_file(path);
        }
        if path.is_command_output() {
            return self.command_output(path);
        }
        let (mut file, stat) = self.search.workspace.disk.open_listed(path)?;
        if stat.size() > MAX_WHOLE_BYTES {
            return self.stream(file, path);
        }
        let mut sink = MatchSink::new(self.search, path);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let read = (&mut file).take(MAX_WHOLE_BYTES * 2).read_to_end(&mut buffer);
        let searched = read
            .map_err(|error| io_fault(&error, path))
            .and_then(|_| self.bytes(&buffer, &mut sink));
        self.buffer = buffer;
        searched?;
        let mut found = sink.finish();
        // The full test whether a file is a text is slow, and so is done only for files with matches.
        if !found.matches.is_empty() && text::detect(&self.buffer).is_err() {
            found = FileMatches::default();
        }
        Ok(found)
    }

    /// Searches the output of a command, which counts as text whatever bytes it has.
    fn command_output(&mut self, path: &WsPath) -> Result<FileMatches> {
        let (file, _) = self.search.workspace.disk_of(path).open_listed(path)?;
        self.lines.set_binary_detection(BinaryDetection::none());
        self.stream(file, path)
    }

    /// Searches a file without loading it.
    fn stream(&mut self, file: File, path: &WsPath) -> Result<FileMatches> {
        let Search { call, regex, .. } = self.search;
        let start = read_range(&file, 0, 4, path)?;
        let reader = match text::marked(&start) {
            Some(Encoding::Utf16Le | Encoding::Utf16Be) => LineReader::whole(file, call),
            _ => LineReader::cutting(file, call),
        };
        let mut sink = MatchSink::new(self.search, path);
        let searched = self.lines.search_reader(regex, reader, &mut sink);
        searched.map(|()| sink.finish()).map_err(|error| error.into_fault(path))
    }

    /// Searches the text of a virtual file. If the file was removed meanwhile, its text is empty.
    fn virtual_file(&mut self, path: &WsPath) -> Result<FileMatches> {
        let bytes = self.search.workspace.virtual_text(path, self.search.call)?.unwrap_or_default();
        let mut sink = MatchSink::new(self.search, path);
        self.bytes(&bytes, &mut sink)?;
        Ok(sink.finish())
    }

    /// Searches bytes, after decoding them if they are not UTF-8.
    fn bytes(&mut self, bytes: &[u8], sink: &mut MatchSink<'_>) -> Result<()> {
        let wide = matches!(text::marked(bytes), Some(Encoding::Utf16Le | Encoding::Utf16Be));
        if !wide && memchr::memchr(0, bytes).is_some() {
            return Ok(());
        }
        if !wide && std::str::from_utf8(bytes).is_ok() {
            return self.text(&bytes[text::byte_order_mark(bytes).len()..], sink);
        }
        let Ok(encoding) = text::detect(bytes) else { return Ok(()) };
        let decoded = match encoding {
            Encoding::Utf8 => return self.text(bytes, sink),
            other => text::decode(bytes, other),
        };
        self.text(decoded.as_bytes(), sink)
    }

    fn text(&mut self, bytes: &[u8], sink: &mut MatchSink<'_>) -> Result<()> {
        let path = sink.path;
        let searched = self.lines.search_slice(self.search.regex, bytes, sink);
        searched.map_err(|error| error.into_fault(path))
    }
}

/// Why a search failed.
enum SearchError {
    Io(std::io::Error),
    /// The pattern exceeded its bound on work.
    Pattern(String),
}

impl SearchError {
    fn into_fault(self, path: &WsPath) -> Fault {
        match self {
            Self::Io(error) if error.raw_os_error().is_some() => io_fault(&error, path),
            // The call ended, or a line did not fit into memory.
            Self::Io(error) => error.downcast::<Fault>().unwrap_or_else(|_| line_too_long(path)),
            Self::Pattern(message) => {
                Fault::new(FaultCode::BadPattern, message).about(Subject::Pattern)
            }
        }
    }
}

impl SinkError for SearchError {
    fn error_message<T: std::fmt::Display>(message: T) -> Self {
        Self::Pattern(message.to_string())
    }

    fn error_io(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// The fault for a file with a line that the searcher cannot have in memory.
fn line_too_long(path: &WsPath) -> Fault {
    let message = format!(
        "{path} has a line of more than {MAX_BUFFERED_BYTES} bytes, or too many long lines around a match, which is \
         too much for a search. Ask for fewer lines around a match, or search the file with a command"
    );
    Fault::new(FaultCode::TooLarge, message).about(Subject::Path)
}

fn trim(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Collects matching lines with the lines around each of them.
struct MatchSink<'a> {
    grep: &'a Grep,
    path: &'a WsPath,
    /// Most matches that are collected: one more than the answer shows, to tell that it is cut.
    most: usize,
    line_bytes: usize,
    skip_to: u64,
    recent: VecDeque<(u64, String)>,
    matches: Vec<GrepMatch>,
}

impl<'a> MatchSink<'a> {
    fn new(search: &'a Search<'_>, path: &'a WsPath) -> Self {
        let Search { grep, workspace, limit, .. } = search;
        let line_bytes = workspace.limits().match_line_bytes;
        let skip_to = match &grep.cursor {
            Some(cursor) if cursor.path == *path => cursor.line,
            _ => 0,
        };
        let most = limit.saturating_add(1);
        Self { grep, path, most, line_bytes, skip_to, recent: VecDeque::new(), matches: Vec::new() }
    }

    /// Adds one line, and returns whether more are wanted.
    fn line(&mut self, number: u64, bytes: &[u8], matched: bool) -> bool {
        let around = self.grep.before > 0 || self.grep.after > 0;
        let counts = matched && number > self.skip_to;
        if !around && !counts {
            return true;
        }
        if counts && self.matches.len() >= self.most {
            return false;
        }
        let text = render_line(trim(bytes), self.line_bytes);
        if self.grep.after > 0 {
            self.add_context_after(number, &text);
        }
        if counts {
            let nearest =
                self.recent.iter().filter(|(line, _)| line + (self.grep.before as u64) >= number);
            let before = nearest.map(|(_, text)| text.clone()).collect();
            let text = text.clone();
            self.matches.push(GrepMatch {
                path: self.path.clone(),
                line: number,
                text,
                before,
                after: Vec::new(),
            });
        }
        if self.grep.before > 0 {
            self.recent.push_back((number, text));
            if self.recent.len() > self.grep.before {
                self.recent.pop_front();
            }
        }
        let last =
            self.matches.last().map_or(u64::MAX, |found| found.line + self.grep.after as u64);
        self.matches.len() < self.most || number < last
    }

    /// Adds a line to the matches whose following lines include it.
    fn add_context_after(&mut self, number: u64, text: &str) {
        for found in self.matches.iter_mut().rev() {
            if found.line + (self.grep.after as u64) < number {
                return;
            }
            found.after.push(text.to_owned());
        }
    }

    fn finish(mut self) -> FileMatches {
        let more = self.matches.len() >= self.most;
        if more {
            self.matches.truncate(self.most - 1);
        }
        FileMatches { matches: self.matches, more }
    }
}

/// A line as the answer shows it: decoded, and cut with a note if it is very long.
fn render_line(line: &[u8], max: usize) -> String {
    if line.len() <= max {
        return String::from_utf8_lossy(line).into_owned();
    }
    let text = String::from_utf8_lossy(&line[..max]);
    format!("{} [... {} more bytes]", text.trim_end_matches('\u{fffd}'), line.len() - max)
}

impl Sink for &mut MatchSink<'_> {
    type Error = SearchError;

    fn matched(
        &mut self,
        _: &LineSearcher,
        found: &SinkMatch<'_>,
    ) -> std::result::Result<bool, SearchError> {
        Ok(self.line(found.line_number().unwrap_or(0), found.bytes(), true))
    }

    fn context(
        &mut self,
        _: &LineSearcher,
        context: &SinkContext<'_>,
    ) -> std::result::Result<bool, SearchError> {
        Ok(self.line(context.line_number().unwrap_or(0), context.bytes(), false))
    }
}
