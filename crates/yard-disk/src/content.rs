//! Reads files: whole ones, ranges, and hashes of files that are not loaded.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;

use yard_core::hash::ContentHasher;
use yard_core::{Call, ContentHash, Fault, FaultCode, Result, Subject, WsPath};

use crate::faults::{errno_of, read_fault};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 128 * 1024;
/// How much a file may grow while it is read.
const MAX_GROWTH: u64 = 1 << 20;

/// Reads a whole file that had `size` bytes a moment ago. A fault if it grew a lot since, because callers have checked that
/// they can load that many bytes.
pub fn read_all(file: &mut File, size: u64, path: &WsPath) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    let most = size.saturating_add(MAX_GROWTH);
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
    let length = read.map_err(|error| io_fault(&error, path))? as u64;
    if length > most {
        let message = format!(
            "{path} had {size} bytes and grew to more than {most} while it was read; call again when nothing \
             writes into it, or read a part of it"
        );
        return Err(Fault::new(FaultCode::TooLarge, message).about(Subject::Path));
    }
    Ok(bytes)
}

/// Reads at most `length` bytes from `offset` on; fewer only at the end of the file.
pub fn read_range(file: &File, offset: u64, length: u64, path: &WsPath) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io_fault(&error, path)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Hashes a file without loading it.
pub fn hash_all(file: &mut File, path: &WsPath, call: &Call) -> Result<ContentHash> {
    let mut hasher = ContentHasher::new();
    each_piece(file, path, call, |piece| {
        hasher.update(piece);
        Ok(true)
    })?;
    Ok(hasher.finish())
}

/// Whether a file has that content; false if it cannot be read. A fault only if the call ends.
pub fn is_content(file: &mut File, hash: &ContentHash, call: &Call) -> Result<bool> {
    let found = hash_all(file, &WsPath::root(), call);
    call.check()?;
    Ok(found.is_ok_and(|found| found == *hash))
}

/// Passes a file to `take` piece by piece, until it returns false.
pub fn each_piece(
    file: &mut File,
    path: &WsPath,
    call: &Call,
    mut take: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        call.check()?;
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                if !take(&buffer[..length])? {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io_fault(&error, path)),
        }
    }
}

/// The fault for a read that failed.
pub fn io_fault(error: &io::Error, path: &WsPath) -> Fault {
    read_fault(errno_of(error), path)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test makes its own files")]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    #[test]
    fn a_file_that_grows_while_it_is_read_is_loaded_within_a_bound() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![b'x'; 3 << 20]).unwrap();
        let mut read = |size| {
            file.rewind().unwrap();
            read_all(&mut file, size, &WsPath::root())
        };
        assert_eq!(read(3 << 20).unwrap().len(), 3 << 20);
        assert_eq!(read(2 << 20).unwrap().len(), 3 << 20);
        assert_eq!(read(1 << 20).unwrap_err().code(), FaultCode::TooLarge);
    }
}
