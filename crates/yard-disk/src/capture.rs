//! What a command says: how each stream begins and ends, and how much there was. A stream of which
//! something is left out between the two goes into a file as a whole, as far as there is room.

use yard_core::{Fault, FaultCode, Result, RunId, WsPath};

use crate::layer::RunFolder;
use crate::spill::{Spill, Spills, whole_name};

/// Bytes of the beginning and of the end of a stream that an answer may show.
const HEAD: usize = 24 << 10;
const TAIL: usize = 40 << 10;

/// What a command wrote to one of its streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// How it begins: all of it, where that is not much.
    pub head: Vec<u8>,
    /// How it ends, where something in between is left out.
    pub tail: Vec<u8>,
    /// How many bytes there were.
    pub total: u64,
    /// Where more of it is, if something is left out and was kept.
    pub whole: Option<Whole>,
}

/// A stream from its beginning on, in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Where tools find it.
    pub path: WsPath,
    /// How many bytes of it are there: all, unless that is more than may be kept.
    pub bytes: u64,
}

impl Said {
    /// How many bytes between head and tail are left out.
    pub fn left_out(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Keeps it with its run.
    pub fn keep(&self, folder: &RunFolder, stream: &str) -> Result<()> {
        let Self { head, tail, total, whole } = self;
        if *total == 0 {
            return Ok(());
        }
        let spilled = whole.as_ref().map_or(0, |whole| whole.bytes);
        let lengths = format!("{total} {} {spilled}\n", head.len());
        folder.keep(stream, &[lengths.as_bytes(), head, tail].concat())
    }

    /// What a run that is over said.
    pub fn kept(folder: &RunFolder, stream: &str, run: RunId, spills: &Spills) -> Result<Self> {
        let Some(bytes) = folder.kept(stream)? else { return Ok(Self::default()) };
        let (mut said, spilled) = read_back(&bytes)
            .ok_or_else(|| Fault::new(FaultCode::Io, "what the command said cannot be read"))?;
        if spilled > 0 {
            // It may be gone since: nobody is sent to where nothing is.
            let path = spills.find(run, stream);
            said.whole = path.map(|path| Whole { path, bytes: spilled });
        }
        Ok(said)
    }
}

/// What [`Said::keep`] wrote, and how much of the stream is in a file.
fn read_back(bytes: &[u8]) -> Option<(Said, u64)> {
    let line = bytes.iter().position(|byte| *byte == b'\n')?;
    let mut numbers = std::str::from_utf8(&bytes[..line]).ok()?.split(' ');
    let (total, head) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    // Before there were such files nobody wrote of them.
    let spilled = numbers.next().map_or(Some(0), |number| number.parse().ok())?;
    let (head, tail) = bytes[line + 1..].split_at_checked(head)?;
    let said = Said { head: head.to_vec(), tail: tail.to_vec(), total, whole: None };
    Some((said, spilled))
}

/// One stream, while it is heard.
pub struct Capture<'a> {
    folder: &'a RunFolder,
    stream: &'static str,
    excerpt: Excerpt,
    whole: Spilling,
}

/// Whether a stream goes into a file.
enum Spilling {
    /// Not yet, because all of it fits into an answer; so many bytes of it may.
    NotYet(u64),
    Begun(Spill),
    /// It may not, or cannot.
    Never,
}

impl<'a> Capture<'a> {
    /// Of a stream that does not fit into an answer, `room` bytes are kept.
    pub fn new(folder: &'a RunFolder, stream: &'static str, room: u64) -> Self {
        let whole = if room == 0 { Spilling::Never } else { Spilling::NotYet(room) };
        Self { folder, stream, excerpt: Excerpt::default(), whole }
    }

    /// Takes the next bytes of the stream.
    pub fn take(&mut self, bytes: &[u8]) {
        self.spill(bytes);
        self.excerpt.take(bytes);
    }

    /// Hands bytes on to the file. It begins when the first byte is about to be left out: until then all
    /// that was heard is still here.
    fn spill(&mut self, bytes: &[u8]) {
        if let Spilling::NotYet(room) = self.whole {
            if self.excerpt.total + bytes.len() as u64 <= (HEAD + TAIL) as u64 {
                return;
            }
            self.whole = self.begin(room);
        }
        if let Spilling::Begun(spill) = &mut self.whole {
            spill.take(bytes);
        }
    }

    fn begin(&self, room: u64) -> Spilling {
        // A command is not to fail because nothing more can be kept of what it says.
        let Ok(file) = self.folder.create(&whole_name(self.stream)) else {
            return Spilling::Never;
        };
        let mut spill = Spill::new(file, room);
        spill.take(&self.excerpt.head);
        spill.take(&self.excerpt.recent);
        Spilling::Begun(spill)
    }

    /// What was said, with its file handed over to those that are kept.
    pub fn finish(self, run: RunId, spills: &Spills) -> Said {
        let whole = match &self.whole {
            Spilling::Begun(spill) if spill.written() > 0 => {
                let path = spills.take(self.folder, run, self.stream).ok();
                path.map(|path| Whole { path, bytes: spill.written() })
            }
            _ => None,
        };
        Said { whole, ..self.excerpt.said() }
    }
}

/// How a stream begins and how it ends.
#[derive(Debug, Default)]
pub struct Excerpt {
    head: Vec<u8>,
    /// The last bytes, and up to as many again before they are cut.
    recent: Vec<u8>,
    total: u64,
}

impl Excerpt {
    /// Takes the next bytes of the stream.
    pub fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Of a flood only the end can matter.
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        if self.recent.len() + rest.len() > 2 * TAIL {
            let cut = (self.recent.len() + rest.len() - TAIL).min(self.recent.len());
            self.recent.drain(..cut);
        }
        self.recent.extend_from_slice(rest);
    }

    /// Takes back the beginning of a character whose end is still to come, if that is how it ends.
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

    /// What is shown of the stream.
    pub fn said(mut self) -> Said {
        let cut = self.recent.len().saturating_sub(TAIL);
        self.recent.drain(..cut);
        joined(self.head, self.recent, self.total)
    }
}

/// What fits is one piece.
fn joined(mut head: Vec<u8>, mut tail: Vec<u8>, total: u64) -> Said {
    if (head.len() + tail.len()) as u64 == total {
        head.append(&mut tail);
    }
    Said { head, tail, total, whole: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_one_piece() {
        let said = joined(b"abc".to_vec(), b"def".to_vec(), 6);
        assert_eq!((said.head.as_slice(), said.left_out()), (&b"abcdef"[..], 0));
        let said = joined(b"abc".to_vec(), b"xyz".to_vec(), 10);
        assert_eq!((said.tail.as_slice(), said.left_out()), (&b"xyz"[..], 4));
    }

    #[test]
    fn a_character_is_not_cut_in_two() {
        for (text, split) in [("a\u{20ac}", 2), ("a\u{1f600}", 3), ("\u{e9}", 1)] {
            let bytes = text.as_bytes();
            let mut excerpt = Excerpt::default();
            excerpt.take(&bytes[..bytes.len() - 1]);
            let rest = excerpt.split_character();
            assert_eq!(rest, bytes[bytes.len() - 1 - split..bytes.len() - 1]);
            assert_eq!(excerpt.said().total as usize, bytes.len() - 1 - split);
        }
        for whole in ["", "abc", "\u{20ac}"] {
            let mut excerpt = Excerpt::default();
            excerpt.take(whole.as_bytes());
            assert!(excerpt.split_character().is_empty());
            assert_eq!(excerpt.said().head, whole.as_bytes());
        }
    }

    #[test]
    fn what_was_said_reads_back_also_as_it_was_written_before_it_was_spilled() {
        for (text, expected) in [("10 3 7\nabcxyz", 7), ("10 3 0\nabcxyz", 0), ("10 3\nabcxyz", 0)]
        {
            let (said, spilled) = read_back(text.as_bytes()).unwrap();
            let parts = (&said.head[..], &said.tail[..], said.total, spilled);
            assert_eq!(parts, (&b"abc"[..], &b"xyz"[..], 10, expected));
        }
        assert!(read_back(b"").is_none() && read_back(b"10 30\nabc").is_none());
    }
}
