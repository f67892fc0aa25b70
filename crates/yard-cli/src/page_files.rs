//! The files of the page from a folder, for whoever works on them (`--page-files`).

#![allow(
    clippy::disallowed_methods,
    reason = "the folder is the developer's own, and no workspace"
)]

use std::path::PathBuf;

use yard_server::PageFiles;

/// Reads each file anew when it is asked for.
pub(crate) fn in_folder(folder: PathBuf) -> PageFiles {
    PageFiles::new(move |path| std::fs::read(folder.join(path)).ok())
}
