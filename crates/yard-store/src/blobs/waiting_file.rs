//! The file in which the bytes of prepared contents wait for their commit. It has no name, so that its space is free again
//! when the step is committed or dropped, or the process ends.

use std::io::{self, BufWriter, Write as _};
use std::sync::Arc;

use super::file::{self, BlobFolder};
use super::form_bytes::FormBytes;
use super::prepared::Prepared;
use crate::Result;

/// Bytes that are written to the file at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// Moves the bytes of contents to a file. Contents of the same step share one: if one of these is in a file already, the
/// others behind it go there too.
pub(super) fn move_to_file(contents: &mut [Prepared], folder: &BlobFolder) -> Result<()> {
    move_behind(contents, folder).map_err(|error| file::fault(&error))
}

fn move_behind(contents: &mut [Prepared], folder: &BlobFolder) -> io::Result<()> {
    let earlier =
        contents.iter().enumerate().rev().find_map(|(at, prepared)| match prepared.form.bytes() {
            Some(FormBytes::File { file, .. }) => Some((at + 1, Arc::clone(file))),
            _ => None,
        });
    let (first, file) = match earlier {
        Some(earlier) => earlier,
        None => (0, Arc::new(folder.create_unnamed()?)),
    };
    let mut at = file.metadata()?.len();
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, &*file);
    for bytes in contents[first..].iter_mut().filter_map(|prepared| prepared.form.bytes_mut()) {
        let Some(data) = bytes.in_memory() else { continue };
        let length = data.len();
        writer.write_all(data)?;
        *bytes = FormBytes::File { file: Arc::clone(&file), at, length };
        at += length as u64;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use yard_core::ContentHash;

    use super::super::Blobs;
    use super::super::prepared::{Effort, KeptFile, Retention};
    use super::*;

    #[test]
    fn moved_contents_share_one_file_without_a_name_and_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(folder.path()).unwrap();
        let texts: Vec<Vec<u8>> = (0..40_u8).map(|number| vec![number; 2_000]).collect();
        let prepare = |text: &Vec<u8>| {
            blobs.prepare(ContentHash::of(text), text, None, Effort::Quick).unwrap()
        };
        let mut contents: Vec<Prepared> = texts[..30].iter().map(prepare).collect();
        let kept = KeptFile { name: "kept".to_owned(), retention: Retention::Keep };
        contents.push(Prepared::kept(ContentHash::of(b"kept"), 4, kept));
        assert_eq!(contents.iter().map(Prepared::bytes_in_memory).sum::<u64>(), 60_000);
        blobs.move_to_file(&mut contents).unwrap();
        contents.extend(texts[30..].iter().map(prepare));
        blobs.move_to_file(&mut contents).unwrap();
        assert_eq!(contents.iter().map(Prepared::bytes_in_memory).sum::<u64>(), 0);
        let all = contents.iter().filter_map(|prepared| prepared.form.bytes());
        let read: Vec<Vec<u8>> =
            all.clone().map(|bytes| bytes.read().unwrap().into_owned()).collect();
        assert_eq!(read, texts);
        let mut files: Vec<*const File> = Vec::new();
        for bytes in all {
            let FormBytes::File { file, .. } = bytes else { panic!("in memory") };
            files.push(Arc::as_ptr(file));
        }
        files.dedup();
        assert_eq!(files.len(), 1);
        assert!(blobs.abandoned().unwrap().is_empty());
    }
}
