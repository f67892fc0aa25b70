//! Compression: zstd by itself, and zstd against the bytes of another content.
//!
//! Contexts are kept a thread, because making one costs more than compressing a source file. Every
//! expansion is bounded by the size that was stored beside the data. Nothing here touches a file.

use std::cell::RefCell;
use std::io;

use zstd::zstd_safe::{CCtx, DCtx, compress_bound, get_error_name};

use crate::{Result, StoreError};

const LEVEL: i32 = 3;
/// Against a small base nearly everything is found again at any level; this one reads it fastest.
const SMALL_BASE_LEVEL: i32 = 1;
const SMALL_BASE: usize = 64 << 10;
/// Bytes that start like this would be read as a trained dictionary instead of as plain bytes.
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xA4, 0x30, 0xEC];

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

/// Compresses by itself.
pub(super) fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    with_room(bytes.len(), |coder| coder.compressor.compress(&mut coder.buffer, bytes, LEVEL))
}

/// Compresses against other bytes; `None` where those bytes cannot serve.
pub(super) fn compress_against(bytes: &[u8], base: &[u8]) -> Result<Option<Vec<u8>>> {
    if base.is_empty() || base.starts_with(&DICTIONARY_MAGIC) {
        return Ok(None);
    }
    let level = if base.len() <= SMALL_BASE { SMALL_BASE_LEVEL } else { LEVEL };
    with_room(bytes.len(), |coder| {
        coder.compressor.compress_using_dict(&mut coder.buffer, bytes, base, level)
    })
    .map(Some)
}

fn with_room(
    size: usize,
    work: impl FnOnce(&mut Coder) -> std::result::Result<usize, usize>,
) -> Result<Vec<u8>> {
    CODER.with_borrow_mut(|coder| {
        coder.buffer.clear();
        coder.buffer.reserve(compress_bound(size));
        work(coder).map_err(|code| StoreError::Io(get_error_name(code).to_owned()))?;
        Ok(coder.buffer.as_slice().to_vec())
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

/// Undoes [`compress_against`].
pub(crate) fn expand_against(data: &[u8], base: &[u8], size: u64) -> Result<Vec<u8>> {
    expanded(size, |coder, bytes| coder.expander.decompress_using_dict(bytes, data, base))
}

fn expanded(
    size: u64,
    work: impl FnOnce(&mut Coder, &mut Vec<u8>) -> std::result::Result<usize, usize>,
) -> Result<Vec<u8>> {
    let mut bytes = room(size)?;
    CODER
        .with_borrow_mut(|coder| work(coder, &mut bytes))
        .map_err(|code| damaged(get_error_name(code)))?;
    whole(bytes, size)
}

/// Undoes [`compress_into`].
pub(super) fn expand_from(reader: impl io::Read, size: u64) -> Result<Vec<u8>> {
    let mut bytes = room(size)?;
    let decoder = zstd::stream::read::Decoder::new(reader).map_err(|error| unreadable(&error))?;
    // One byte more than there should be, so that a longer content is seen to be one.
    let mut bounded = io::Read::take(decoder, size.saturating_add(1));
    io::Read::read_to_end(&mut bounded, &mut bytes).map_err(|error| unreadable(&error))?;
    whole(bytes, size)
}

/// Why a content could not be read: what the operating system says is about the machine, and only what the
/// decoder says is about the bytes.
fn unreadable(error: &io::Error) -> StoreError {
    match error.raw_os_error() {
        Some(_) => super::file::fault(error),
        None => damaged(&error.to_string()),
    }
}

/// Memory for a content, asked for politely: a damaged size must not end the process.
fn room(size: u64) -> Result<Vec<u8>> {
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
    fn a_delta_of_one_line_is_small_and_reads_back() {
        for lines in [5, 250, 20_000] {
            let base = source(lines);
            let mut bytes = base.clone();
            bytes.splice(10..14, *b"changed");
            let data = compress_against(&bytes, &base).unwrap().unwrap();
            assert!(data.len() < 64 + bytes.len() / 1000, "{} for {} lines", data.len(), lines);
            assert_eq!(expand_against(&data, &base, bytes.len() as u64).unwrap(), bytes);
        }
    }

    #[test]
    fn a_base_that_looks_like_a_dictionary_is_not_used() {
        let base = [&DICTIONARY_MAGIC[..], &source(10)].concat();
        assert_eq!(compress_against(&source(10), &base), Ok(None));
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
