//! Captures the output of a command: the beginning and the end of each stream, and its length. A stream that is longer
//! than both goes to a file as well, as far as there is room.

use yard_core::{Fault, FaultCode, Result, RunId, WsPath};

use crate::output_store::{OutputStore, OutputWriter, full_output_name};
use crate::runs::RunFolder;

/// Bytes of the beginning and of the end of a stream that an answer may show.
const HEAD: usize = 24 << 10;
const TAIL: usize = 40 << 10;

/// The output of a command on one of its streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The beginning; all of it, if it is short.
    pub head: Vec<u8>,
    /// The end, if bytes in between are left out.
    pub tail: Vec<u8>,
    /// The length of the stream.
    pub total: u64,
    /// The file with the stream, if bytes are left out here.
    pub whole: Option<OutputFile>,
}

/// The file of a stream, from its beginning on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Its path for tools.
    pub path: WsPath,
    /// The length of the file: that of the stream, or the limit.
    pub bytes: u64,
}

impl CapturedOutput {
    /// How many bytes between head and tail are left out.
    pub fn left_out(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Writes it to the folder of its run.
    pub fn keep(&self, folder: &RunFolder, stream: &str) -> Result<()> {
        let Self { head, tail, total, whole } = self;
        if *total == 0 {
            return Ok(());
        }
        let in_file = whole.as_ref().map_or(0, |whole| whole.bytes);
        let lengths = format!("{total} {} {in_file}\n", head.len());
        folder.write_file(stream, &[lengths.as_bytes(), head, tail].concat())
    }

    /// Reads it from the folder of its run.
    pub fn kept(folder: &RunFolder, stream: &str, run: RunId, store: &OutputStore) -> Result<Self> {
        let Some(bytes) = folder.read_file(stream)? else { return Ok(Self::default()) };
        let (mut output, in_file) = parse(&bytes)
            .ok_or_else(|| Fault::new(FaultCode::Io, "what the command said cannot be read"))?;
        if in_file > 0 {
            // The file may have been removed since.
            let path = store.find(run, stream);
            output.whole = path.map(|path| OutputFile { path, bytes: in_file });
        }
        Ok(output)
    }
}

/// Parses what [`CapturedOutput::keep`] wrote: the output, and how many bytes of the stream are in a file.
fn parse(bytes: &[u8]) -> Option<(CapturedOutput, u64)> {
    let line = bytes.iter().position(|byte| *byte == b'\n')?;
    let mut numbers = std::str::from_utf8(&bytes[..line]).ok()?.split(' ');
    let (total, head) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    // Older programs wrote no files, and so no third number.
    let in_file = numbers.next().map_or(Some(0), |number| number.parse().ok())?;
    let (head, tail) = bytes[line + 1..].split_at_checked(head)?;
    let output = CapturedOutput { head: head.to_vec(), tail: tail.to_vec(), total, whole: None };
    Some((output, in_file))
}

/// Captures one stream of a running command.
pub struct Capture<'a> {
    folder: &'a RunFolder,
    stream: &'static str,
    excerpt: Excerpt,
    whole: FullOutput,
}

/// The file of a stream, while it is captured.
enum FullOutput {
    /// There is none yet, because all of the stream fits into an answer. It may have this many bytes.
    Pending(u64),
    File(OutputWriter),
    /// There will be none, because it is not allowed or cannot be made.
    Never,
}

impl<'a> Capture<'a> {
    /// Captures a stream; if it does not fit into an answer, a file gets its first `room` bytes.
    pub fn new(folder: &'a RunFolder, stream: &'static str, room: u64) -> Self {
        let whole = if room == 0 { FullOutput::Never } else { FullOutput::Pending(room) };
        Self { folder, stream, excerpt: Excerpt::default(), whole }
    }

    /// Adds the next bytes of the stream.
    pub fn take(&mut self, bytes: &[u8]) {
        self.write_to_file(bytes);
        self.excerpt.take(bytes);
    }

    /// Passes bytes on to the file. It is created when the first byte is about to be left out of the excerpt: until then
    /// the excerpt has all of the stream.
    fn write_to_file(&mut self, bytes: &[u8]) {
        if let FullOutput::Pending(room) = self.whole {
            if self.excerpt.total + bytes.len() as u64 <= (HEAD + TAIL) as u64 {
                return;
            }
            self.whole = self.create_file(room);
        }
        if let FullOutput::File(file) = &mut self.whole {
            file.take(bytes);
        }
    }

    fn create_file(&self, room: u64) -> FullOutput {
        // The command must not fail because its output cannot be stored.
        let Ok(file) = self.folder.create(&full_output_name(self.stream)) else {
            return FullOutput::Never;
        };
        let mut file = OutputWriter::new(file, room);
        file.take(&self.excerpt.head);
        file.take(&self.excerpt.recent);
        FullOutput::File(file)
    }

    /// The captured output. Its file is moved to the stored ones.
    pub fn finish(self, run: RunId, store: &OutputStore) -> CapturedOutput {
        let whole = match &self.whole {
            FullOutput::File(file) if file.written() > 0 => {
                let path = store.take(self.folder, run, self.stream).ok();
                path.map(|path| OutputFile { path, bytes: file.written() })
            }
            _ => None,
        };
        CapturedOutput { whole, ..self.excerpt.into_output() }
    }
}

/// The beginning and the end of a stream.
#[derive(Debug, Default)]
pub struct Excerpt {
    head: Vec<u8>,
    /// The last bytes: up to twice as many as are shown, so that they are cut less often.
    recent: Vec<u8>,
    total: u64,
}

impl Excerpt {
    /// Adds the next bytes of the stream.
    pub fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Only the last bytes of a long piece can be shown.
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        if self.recent.len() + rest.len() > 2 * TAIL {
            let cut = (self.recent.len() + rest.len() - TAIL).min(self.recent.len());
            self.recent.drain(..cut);
        }
        self.recent.extend_from_slice(rest);
    }

    /// Removes an incomplete UTF-8 character at the end of the stream, and returns its bytes.
    pub fn split_character(&mut self) -> Vec<u8> {
        let end = if self.recent.is_empty() { &mut self.head } else { &mut self.recent };
        let from = end.len().saturating_sub(3);
        let begins = |at: &usize| match end[*at] {
            0xc0..=0xdf => end.len() - at < 2,
            0xe0..=0xef => end.len() - at < 3,
            0xf0..=0xf7 => end.len() - at < 4,
            _ => false,
        };
        let cut = (from..end.len()).find(begins).unwrap_or(end.len());
        let split = end.split_off(cut);
        self.total -= split.len() as u64;
        split
    }

    /// The output that is shown.
    pub fn into_output(mut self) -> CapturedOutput {
        let cut = self.recent.len().saturating_sub(TAIL);
        self.recent.drain(..cut);
        joined(self.head, self.recent, self.total)
    }
}

/// The output, with head and tail joined if nothing is left out between them.
fn joined(mut head: Vec<u8>, mut tail: Vec<u8>, total: u64) -> CapturedOutput {
    if (head.len() + tail.len()) as u64 == total {
        head.append(&mut tail);
    }
    CapturedOutput { head, tail, total, whole: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_one_piece() {
        let output = joined(b"abc".to_vec(), b"def".to_vec(), 6);
        assert_eq!((output.head.as_slice(), output.left_out()), (&b"abcdef"[..], 0));
        let output = joined(b"abc".to_vec(), b"xyz".to_vec(), 10);
        assert_eq!((output.tail.as_slice(), output.left_out()), (&b"xyz"[..], 4));
    }

    #[test]
    fn a_character_is_not_cut_in_two() {
        for (text, split) in [("a\u{20ac}", 2), ("a\u{1f600}", 3), ("\u{e9}", 1)] {
            let bytes = text.as_bytes();
            let mut excerpt = Excerpt::default();
            excerpt.take(&bytes[..bytes.len() - 1]);
            let rest = excerpt.split_character();
            assert_eq!(rest, bytes[bytes.len() - 1 - split..bytes.len() - 1]);
            assert_eq!(excerpt.into_output().total as usize, bytes.len() - 1 - split);
        }
        for whole in ["", "abc", "\u{20ac}"] {
            let mut excerpt = Excerpt::default();
            excerpt.take(whole.as_bytes());
            assert!(excerpt.split_character().is_empty());
            assert_eq!(excerpt.into_output().head, whole.as_bytes());
        }
    }

    #[test]
    fn written_output_is_parsed_also_in_the_older_form_without_a_file() {
        for (text, expected) in [("10 3 7\nabcxyz", 7), ("10 3 0\nabcxyz", 0), ("10 3\nabcxyz", 0)]
        {
            let (output, in_file) = parse(text.as_bytes()).unwrap();
            let parts = (&output.head[..], &output.tail[..], output.total, in_file);
            assert_eq!(parts, (&b"abc"[..], &b"xyz"[..], 10, expected));
        }
        assert!(parse(b"").is_none() && parse(b"10 30\nabc").is_none());
    }
}
