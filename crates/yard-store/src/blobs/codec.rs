//! Compression by zstd.
//!
//! Each thread keeps its contexts, because making one costs more than compressing a source file. Every
//! expansion is bounded by the size that was stored beside the data. Nothing here touches a file.

use std::cell::RefCell;
use std::io;

use zstd::zstd_safe::{CCtx, DCtx, compress_bound, get_error_name};

use crate::{Result, StoreError};

const LEVEL: i32 = 3;

struct Coder {
    compressor: CCtx<'static>,
    expander: DCtx<'static>,
    buffer: Vec<u8>,
}

thread_local! {
    static CODER: RefCell<Coder> = RefCell::new(Coder {
        compressor: CCtx::create(),
        expander: DCtx::create(),
        buffer: Vec::new(),
    });
}

/// Compresses in memory.
pub(super) fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    CODER.with_borrow_mut(|Coder { compressor, buffer, .. }| {
        buffer.clear();
        buffer.reserve(compress_bound(bytes.len()));
        let compressed = compressor.compress(buffer, bytes, LEVEL);
        compressed.map_err(|code| StoreError::Io(get_error_name(code).to_owned()))?;
        Ok(buffer.clone())
    })
}

/// Compresses piece by piece into a writer.
pub(super) fn compress_into(bytes: &[u8], writer: &mut impl io::Write) -> io::Result<()> {
    let mut encoder = zstd::stream::write::Encoder::new(writer, LEVEL)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
    io::Write::write_all(&mut encoder, bytes)?;
    encoder.finish().map(|_| ())
}

/// Undoes [`compress`].
pub(crate) fn expand(data: &[u8], size: u64) -> Result<Vec<u8>> {
    expanded(size, |coder, bytes| coder.expander.decompress(bytes, data))
}

/// Expands what an older version of this program compressed with the bytes of another content as the
/// dictionary. Only the migration of its databases reads this.
pub(crate) fn expand_against(data: &[u8], base: &[u8], size: u64) -> Result<Vec<u8>> {
    expanded(size, |coder, bytes| coder.expander.decompress_using_dict(bytes, data, base))
}

fn expanded(
    size: u64,
    work: impl FnOnce(&mut Coder, &mut Vec<u8>) -> std::result::Result<usize, usize>,
) -> Result<Vec<u8>> {
    let mut bytes = allocated(size)?;
    CODER
        .with_borrow_mut(|coder| work(coder, &mut bytes))
        .map_err(|code| damaged(get_error_name(code)))?;
    whole(bytes, size)
}

/// Undoes [`compress_into`].
pub(super) fn expand_from(reader: impl io::Read, size: u64) -> Result<Vec<u8>> {
    let mut bytes = allocated(size)?;
    let decoder = zstd::stream::read::Decoder::new(reader).map_err(|error| unreadable(&error))?;
    // One byte more than there should be, so that a longer content is seen to be one.
    let mut bounded = io::Read::take(decoder, size.saturating_add(1));
    io::Read::read_to_end(&mut bounded, &mut bytes).map_err(|error| unreadable(&error))?;
    whole(bytes, size)
}

/// Why a content could not be read: errors of the operating system are about the machine, errors of the decoder
/// are about the bytes.
fn unreadable(error: &io::Error) -> StoreError {
    match error.raw_os_error() {
        Some(_) => super::file::fault(error),
        None => damaged(&error.to_string()),
    }
}

/// Allocates memory for a content, or fails: a damaged size must not abort the process.
fn allocated(size: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = usize::try_from(size).map_err(|_| damaged("a content's size is impossible"))?;
    bytes
        .try_reserve_exact(size)
        .map_err(|_| damaged("a content's size does not fit in memory"))?;
    Ok(bytes)
}

fn whole(bytes: Vec<u8>, size: u64) -> Result<Vec<u8>> {
    if bytes.len() as u64 == size { Ok(bytes) } else { Err(damaged("a content has another size")) }
}

fn damaged(why: &str) -> StoreError {
    StoreError::Corrupt(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(lines: usize) -> Vec<u8> {
        let line =
            |n: usize| format!("    let value_{n} = compute({}, \"{:x}\");\n", n * 7919, n * n);
        (0..lines).map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn expansion_is_bounded_by_the_size() {
        let bytes = source(100);
        let data = compress(&bytes).unwrap();
        assert_eq!(expand(&data, bytes.len() as u64), Ok(bytes.clone()));
        for wrong in [0, bytes.len() as u64 - 1, bytes.len() as u64 + 1, u64::MAX] {
            assert!(matches!(expand(&data, wrong), Err(StoreError::Corrupt(_))), "{wrong}");
            let streamed = expand_from(&data[..], wrong);
            assert!(matches!(streamed, Err(StoreError::Corrupt(_))), "{wrong}");
        }
    }
}
