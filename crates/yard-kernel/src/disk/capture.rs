//! What a command says, as it comes: how each stream begins and ends stays in memory, all of it goes to
//! disk, and what is too much for that is counted.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use yard_core::Result;

use super::layer::{RunFolder, unusable_io};

/// Bytes of the beginning and of the end of a stream that an answer may show.
const HEAD: usize = 24 << 10;
const TAIL: usize = 40 << 10;
/// Bytes of a stream that are kept on disk.
const MOST_KEPT: u64 = 1 << 30;

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

    /// What a run that is over said.
    pub(crate) fn read(folder: &RunFolder, name: &str) -> Result<Self> {
        let Some(mut file) = folder.open(name)? else { return Ok(Self::default()) };
        let mut read = || -> io::Result<Self> {
            let total = file.metadata()?.len();
            let mut head = Vec::new();
            io::Read::by_ref(&mut file).take(HEAD as u64).read_to_end(&mut head)?;
            let after = (head.len() as u64).max(total.saturating_sub(TAIL as u64));
            file.seek(SeekFrom::Start(after))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail)?;
            Ok(joined(head, tail, total))
        };
        read().map_err(|error| unusable_io(&error))
    }
}

pub(crate) struct Capture<'a> {
    folder: &'a RunFolder,
    name: &'static str,
    head: Vec<u8>,
    /// The last bytes, and up to as many again before they are cut.
    recent: Vec<u8>,
    total: u64,
    file: Option<File>,
}

impl<'a> Capture<'a> {
    pub(crate) fn new(folder: &'a RunFolder, name: &'static str) -> Self {
        Self { folder, name, head: Vec::new(), recent: Vec::new(), total: 0, file: None }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.total < MOST_KEPT && !bytes.is_empty() {
            let file = match &mut self.file {
                Some(file) => file,
                none => {
                    let made = self.folder.create(self.name);
                    none.insert(made.map_err(|fault| io::Error::other(fault.to_string()))?)
                }
            };
            file.write_all(bytes)?;
        }
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
        Ok(())
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
