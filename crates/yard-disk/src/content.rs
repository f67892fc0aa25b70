//! Reads files: whole ones, ranges, and hashes of files that are not loaded.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;

use yard_core::hash::ContentHasher;
use yard_core::{Call, ContentHash, Fault, Result, WsPath};

use crate::faults::{errno_of, read_fault};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 128 * 1024;

/// Reads a whole file of about `size` bytes.
pub fn read_all(file: &mut File, size: u64, path: &WsPath) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.read_to_end(&mut bytes).map_err(|error| io_fault(&error, path))?;
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

/// Whether a file has that content; false if it cannot be read.
pub fn is_content(file: &mut File, hash: &ContentHash) -> bool {
    let (mut hasher, mut buffer) = (ContentHasher::new(), vec![0; BUFFER_BYTES]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return hasher.finish() == *hash,
            Ok(length) => hasher.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
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
