//! Copies sparse files: holes stay holes, so that the copy takes as little space as the original.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use rustix::fs::SeekFrom as Jump;
use rustix::io::Errno;
use yard_core::Call;

/// Bytes that are copied between two checks of the call.
const PIECE_BYTES: u64 = 32 << 20;

/// Copies `source` to the empty file `target`, and leaves out its holes. If the call ends, its fault is the error.
pub(crate) fn copy(mut source: &File, target: &mut File, call: &Call) -> io::Result<()> {
    let size = source.metadata()?.len();
    let mut at = 0;
    while let Some((start, end)) = written_after(source, at, size)? {
        call.check().map_err(io::Error::other)?;
        let end = end.min(start + PIECE_BYTES);
        source.seek(SeekFrom::Start(start))?;
        target.seek(SeekFrom::Start(start))?;
        io::copy(&mut source.take(end - start), target)?;
        at = end;
    }
    target.set_len(size)
}

/// The next part that is no hole, from `at` on. If the file system does not report holes, that is the rest.
fn written_after(file: &File, at: u64, size: u64) -> io::Result<Option<(u64, u64)>> {
    if at >= size {
        return Ok(None);
    }
    let start = match rustix::fs::seek(file, Jump::Data(at)) {
        Ok(start) => start.max(at),
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((at, size))),
        Err(errno) => return Err(errno.into()),
    };
    let end = rustix::fs::seek(file, Jump::Hole(start)).unwrap_or(size).min(size);
    Ok((start < end).then_some((start, end)))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test makes its own files")]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    use yard_fixtures::RealWorld;

    use super::*;

    fn call() -> Call {
        Call::new(std::sync::Arc::new(RealWorld))
    }

    #[test]
    fn a_call_that_ended_copies_nothing_more() {
        let mut source = tempfile::tempfile().unwrap();
        source.write_all(b"written").unwrap();
        let (mut target, call) = (tempfile::tempfile().unwrap(), call());
        call.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
        let error = copy(&source, &mut target, &call).unwrap_err();
        assert!(error.downcast::<yard_core::Fault>().is_ok());
        assert_eq!(target.metadata().unwrap().len(), 0);
    }

    fn copied(make: impl FnOnce(&mut File)) -> (File, File) {
        let mut source = tempfile::tempfile().unwrap();
        make(&mut source);
        let mut target = tempfile::tempfile().unwrap();
        copy(&source, &mut target, &call()).unwrap();
        (source, target)
    }

    fn bytes(file: &mut File) -> Vec<u8> {
        file.rewind().unwrap();
        let mut all = Vec::new();
        file.read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn g13_holes_at_the_start_in_the_middle_and_at_the_end_stay_holes() {
        let (mut source, mut target) = copied(|file| {
            for at in [1_u64 << 20, 3 << 20, (3 << 20) + 4_096] {
                file.seek(SeekFrom::Start(at)).unwrap();
                file.write_all(b"written").unwrap();
            }
            file.set_len(16 << 20).unwrap();
        });
        assert_eq!(bytes(&mut source), bytes(&mut target));
        let blocks = target.metadata().unwrap().blocks() * 512;
        assert!(blocks < 1 << 20, "the copy takes {blocks} bytes");
    }

    #[test]
    fn empty_full_and_hollow_files_are_copied_whole() {
        for length in [0_usize, 1, 4_096, 70_000] {
            let (mut source, mut target) = copied(|file| file.write_all(&vec![7; length]).unwrap());
            assert_eq!(bytes(&mut source), bytes(&mut target));
        }
        let (_, mut target) = copied(|file| file.set_len(100_000).unwrap());
        assert_eq!(bytes(&mut target), vec![0; 100_000]);
    }
}
