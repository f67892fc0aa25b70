//! What a command says: how each stream begins and ends, and how much there was. What is in between is
//! counted and not kept.

use yard_core::{Fault, FaultCode, Result};

use super::layer::RunFolder;

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
}

impl Said {
    /// How many bytes between head and tail are left out.
    pub fn left_out(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Keeps it with its run.
    pub(crate) fn keep(&self, folder: &RunFolder, name: &str) -> Result<()> {
        let Self { head, tail, total } = self;
        if *total == 0 {
            return Ok(());
        }
        let lengths = format!("{total} {}\n", head.len());
        folder.keep(name, &[lengths.as_bytes(), head, tail].concat())
    }

    /// What a run that is over said.
    pub(crate) fn kept(folder: &RunFolder, name: &str) -> Result<Self> {
        let Some(bytes) = folder.kept(name)? else { return Ok(Self::default()) };
        let said = || {
            let line = bytes.iter().position(|byte| *byte == b'\n')?;
            let (total, head) = std::str::from_utf8(&bytes[..line]).ok()?.split_once(' ')?;
            let rest = &bytes[line + 1..];
            let (head, tail) = rest.split_at_checked(head.parse().ok()?)?;
            Some(Self { head: head.to_vec(), tail: tail.to_vec(), total: total.parse().ok()? })
        };
        said().ok_or_else(|| Fault::new(FaultCode::Io, "what the command said cannot be read"))
    }
}

/// One stream, while it is heard.
#[derive(Default)]
pub(crate) struct Capture {
    head: Vec<u8>,
    /// The last bytes, and up to as many again before they are cut.
    recent: Vec<u8>,
    total: u64,
}

impl Capture {
    pub(crate) fn take(&mut self, bytes: &[u8]) {
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

    pub(crate) fn finish(mut self) -> Said {
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
    Said { head, tail, total }
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
}
