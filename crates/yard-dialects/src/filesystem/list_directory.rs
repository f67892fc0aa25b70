//! `list_directory`: lists a directory.

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::op::{Names, NamesAnswer};
use yard_core::{FileKind, Subject};

use super::{Reply, fault, host_paths};
use crate::relative;
use crate::tool::{Context, Stop, Tool, Work};

/// Get a detailed listing of all files and directories in a specified path. Results clearly distinguish
/// between files and directories with [FILE] and [DIR] prefixes. Only works within allowed directories.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ListDirectory {
    /// The directory: an absolute path within an allowed directory, or one relative to it.
    path: String,
}

impl Tool for ListDirectory {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "list_directory";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = host_paths::parse(context, &args.path, Subject::Path)?;
        let listed = names(context, Names { path, for_tree: false })?;
        let mut lines: Vec<String> = listed
            .entries
            .iter()
            .map(|entry| format!("{} {}", mark(entry.kind), relative::name(&entry.path)))
            .collect();
        lines.extend(rest(listed.entries.len(), listed.total));
        Ok(lines.join("\n").into())
    }
}

/// The entries of a directory, sorted by the bytes of their names.
pub(super) fn names(context: &Context<'_>, operation: Names) -> Result<NamesAnswer, Stop> {
    let path = operation.path.clone();
    context.perform(operation).map_err(fault::of_system_call(context, "scandir", &path))
}

/// A link is a file, wherever it leads.
pub(super) fn mark(kind: Option<FileKind>) -> &'static str {
    match kind {
        Some(FileKind::Folder) => "[DIR]",
        Some(FileKind::File | FileKind::Link) | None => "[FILE]",
    }
}

/// R12: the last line of a cut listing.
pub(super) fn rest(shown: usize, total: usize) -> Option<String> {
    (shown < total)
        .then(|| format!("[{shown} of {total} entries; find the others by name with search_files]"))
}
