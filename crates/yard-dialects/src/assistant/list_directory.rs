//! `list_directory`: lists a directory (A2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, Depth, ListOrder};
use yard_core::{FileKind, WsPath};

use crate::tool::{Context, Stop, Tool, Work};
use crate::{across_roots, paging, relative};

/// Lists files and directories, level by level, directories first.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListDirectory {
    /// Directory, relative to the workspace root; `.` is the root.
    path: String,
    /// List everything below it too (links are not followed, `.git` is skipped).
    #[serde(default)]
    recursive: bool,
    /// List also what has a name that begins with a dot, and what is below it.
    #[serde(default)]
    include_hidden: bool,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// What is there.
    entries: Vec<Entry>,
    /// Whether entries remain after these.
    truncated: bool,
    /// The `cursor` that gives the entries that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    /// Its name; of a recursive listing its path relative to the directory that is listed.
    name: String,
    /// What it is: `file`, `directory` or `symlink`.
    r#type: &'static str,
    /// Its size in bytes; 0 for a directory.
    size: u64,
    /// When it was last changed (RFC 3339, UTC).
    modified: String,
}

impl Tool for ListDirectory {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "list_directory";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let skip = paging::skip_cursor(args.cursor.as_deref())?;
        let list_at = |path| op::List {
            depth: if args.recursive { Depth::All } else { Depth::Own },
            hidden: args.include_hidden,
            order: ListOrder::BreadthFirst,
            skip,
            ..op::List::own(path)
        };
        across_roots::list(context, &args.path, list_at, |listing, _| {
            Ok(Reply {
                next: paging::next_skip(listing, skip),
                truncated: listing.truncated,
                entries: listing.entries.iter().map(|entry| shown(entry, &listing.path)).collect(),
            })
        })
    }
}

fn shown(entry: &op::Entry, folder: &WsPath) -> Entry {
    Entry {
        name: relative::below(&entry.path, folder),
        r#type: match entry.kind {
            Some(FileKind::Folder) => "directory",
            Some(FileKind::Link) => "symlink",
            Some(FileKind::File) | None => "file",
        },
        size: entry.size.unwrap_or(0),
        modified: entry.updated_at.to_string(),
    }
}
