//! Where agents find the whole of what commands said: `/.toolyard-output/<run>.stdout` and `.stderr`,
//! for a stream that is longer than what its answer shows. The files lie in the data folder
//! (`spill.rs` of `yard-disk`); here is what they are called, who may do what to them, and how they are shown.
//!
//! The name is reserved, whether anything is kept or not: no operation changes anything there, and a real
//! file or folder of that name in the workspace is shadowed. Nobody comes across them: the folder is in no
//! listing, walk or search but its own. Nothing here opens a file.

use yard_core::op::Entry;
use yard_core::{Fault, FaultCode, FileKind, FileType, Result, Subject, WsPath};
use yard_disk::EntryStat;

/// The folder that they are in, relative to the root.
pub(crate) use yard_core::path::OUTPUT_NAME as FOLDER;

/// Stands between a file's name and the byte to begin at.
const FROM: u8 = b'@';

/// `<path>@<byte>` is the same output from that byte on: a line that is longer than an answer can then be
/// read to its end also by who can only count lines.
pub(crate) fn from_byte(path: &WsPath) -> (WsPath, u64) {
    let cut = || {
        let relative = path.relative();
        let at = memchr::memrchr(FROM, relative)?;
        let byte = std::str::from_utf8(&relative[at + 1..]).ok()?.parse().ok()?;
        Some((WsPath::from_bytes(&relative[..at]).ok()?, byte))
    };
    cut().unwrap_or_else(|| (path.clone(), 0))
}

/// A fault if a path is reserved for kept output: nothing may change there.
pub(crate) fn check_free(path: &WsPath) -> Result<()> {
    if !path.is_command_output() {
        return Ok(());
    }
    let message = format!(
        "{path} is reserved: /{FOLDER} holds what commands said, which the system keeps for a while and no \
         tool changes. It can be read, searched and listed; keep a file of your own somewhere else"
    );
    Err(Fault::new(FaultCode::BadPath, message).about(Subject::Path))
}

/// Nothing is kept at a path.
pub(crate) fn not_kept(path: &WsPath) -> Fault {
    let message = format!(
        "File not found: {path}. What a command said is kept only if it is longer than its answer, and only \
         for a while: the oldest goes first. List /{FOLDER} for what there is, or run the command again"
    );
    Fault::new(FaultCode::NotFound, message).about(Subject::Path)
}

/// Kept output as listings show it. There is no version of it that could differ.
pub(crate) fn entry(path: WsPath, stat: &EntryStat) -> Entry {
    let is_folder = stat.is(FileKind::Folder);
    Entry {
        path,
        kind: stat.kind.known(),
        file_type: if is_folder { FileType::Folder } else { FileType::Document },
        id: None,
        synced: true,
        is_virtual: true,
        size: (!is_folder).then(|| stat.size()),
        updated_at: stat.modified(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WsPath {
        WsPath::parse(text).unwrap()
    }

    #[test]
    fn x4_one_folder_is_reserved_with_all_that_is_in_it() {
        for (text, expected) in [
            ("/.toolyard-output", true),
            ("/.toolyard-output/a", true),
            ("/.toolyard-output/a/b", true),
            ("/.toolyard-outputs", false),
            ("/a/.toolyard-output", false),
            ("/", false),
        ] {
            assert_eq!(path(text).is_command_output(), expected, "{text}");
            assert_eq!(check_free(&path(text)).is_err(), expected, "{text}");
        }
    }

    #[test]
    fn x4_a_name_can_say_where_to_begin() {
        for (text, expected) in [
            ("/.toolyard-output/a.stdout@12", ("/.toolyard-output/a.stdout", 12)),
            ("/.toolyard-output/a.stdout", ("/.toolyard-output/a.stdout", 0)),
            ("/.toolyard-output/a@b", ("/.toolyard-output/a@b", 0)),
            ("/.toolyard-output/a@", ("/.toolyard-output/a@", 0)),
            ("/.toolyard-output/a@1/b", ("/.toolyard-output/a@1/b", 0)),
        ] {
            assert_eq!(from_byte(&path(text)), (path(expected.0), expected.1), "{text}");
        }
    }
}
