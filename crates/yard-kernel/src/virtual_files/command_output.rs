//! The paths at which agents read the complete output of commands: `/.toolyard-output/<run>.stdout` and `.stderr`, for a
//! stream that is longer than what its answer shows. The files are in the data folder (`yard-disk`); this module knows
//! their names, refuses changes of them, and makes entries of them for listings.
//!
//! The name is reserved even if no output is stored: no operation changes anything below it, and a real file or folder of
//! that name in the workspace is shadowed. The folder appears in no listing, walk or search but its own. Nothing here
//! opens a file.

use yard_core::op::Entry;
use yard_core::{Fault, FaultCode, FileKind, FileType, Result, Subject, WsPath};
use yard_disk::EntryStat;

/// The folder of the output files, relative to the root.
pub(crate) use yard_core::path::OUTPUT_NAME as FOLDER;

/// Separates the name of an output file from the byte to begin at.
const OFFSET_SIGN: u8 = b'@';

/// Splits `<path>@<byte>`, which means the output from that byte on. With it, a caller that can only address lines reads a
/// line that is longer than an answer.
pub(crate) fn split_offset(path: &WsPath) -> (WsPath, u64) {
    let cut = || {
        let relative = path.relative();
        let at = memchr::memrchr(OFFSET_SIGN, relative)?;
        let byte = std::str::from_utf8(&relative[at + 1..]).ok()?.parse().ok()?;
        Some((WsPath::from_bytes(&relative[..at]).ok()?, byte))
    };
    cut().unwrap_or_else(|| (path.clone(), 0))
}

/// A fault if a path is reserved for command output, so that nothing may change there.
pub(crate) fn check_not_reserved(path: &WsPath) -> Result<()> {
    if !path.is_command_output() {
        return Ok(());
    }
    let message = format!(
        "{path} is reserved: /{FOLDER} holds what commands printed, which the system keeps for a while and no \
         tool changes. It can be read, searched and listed; keep a file of your own somewhere else"
    );
    Err(Fault::new(FaultCode::BadPath, message).about(Subject::Path))
}

/// The fault for a path of command output at which no output is stored.
pub(crate) fn output_not_found(path: &WsPath) -> Fault {
    let message = format!(
        "File not found: {path}. What a command said is kept only if it is longer than its answer, and only \
         for a while: the oldest goes first. List /{FOLDER} for what there is, or run the command again"
    );
    Fault::new(FaultCode::NotFound, message).about(Subject::Path)
}

/// A listing's entry for command output. It counts as synced, because it has no versions.
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
            assert_eq!(check_not_reserved(&path(text)).is_err(), expected, "{text}");
        }
    }

    #[test]
    fn x4_a_name_can_have_the_byte_to_begin_at() {
        for (text, expected) in [
            ("/.toolyard-output/a.stdout@12", ("/.toolyard-output/a.stdout", 12)),
            ("/.toolyard-output/a.stdout", ("/.toolyard-output/a.stdout", 0)),
            ("/.toolyard-output/a@b", ("/.toolyard-output/a@b", 0)),
            ("/.toolyard-output/a@", ("/.toolyard-output/a@", 0)),
            ("/.toolyard-output/a@1/b", ("/.toolyard-output/a@1/b", 0)),
        ] {
            assert_eq!(split_offset(&path(text)), (path(expected.0), expected.1), "{text}");
        }
    }
}
