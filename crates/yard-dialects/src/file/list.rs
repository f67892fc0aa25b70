//! `file.list`: lists a directory's own entries, or the files below it that match a pattern (F4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, FindBy, SizeRange};
use yard_core::{FileType, WsPath};

use crate::paging::is_zero;
use crate::relative::root;
use crate::tool::{Context, Stop, Tool, Work};
use crate::{across_roots, paging};

/// Lists a directory. Without `pattern`: its own files and directories. With `pattern`: the files below
/// it, at any depth, that match; `.git` and what ignore files exclude is then skipped.
#[derive(Deserialize, JsonSchema)]
pub(super) struct List {
    /// Directory, relative to the workspace root.
    #[serde(default = "root")]
    path: String,
    /// Glob that files must match: without a slash the name at any depth (`*.py`), with one the path
    /// relative to the directory (`src/**/*.ts`); with `!` before it, all but what it matches.
    pattern: Option<String>,
    /// With `pattern`: list also what ignore files exclude.
    #[serde(default)]
    include_ignored: bool,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// What was found.
    files: Vec<Entry>,
    /// Whether entries remain after these.
    truncated: bool,
    /// The `cursor` that gives the entries that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many files and folders were left out because ignore files exclude them; not there if none were.
    #[serde(skip_serializing_if = "is_zero")]
    ignored: u64,
    /// How many were left out because they may not be listed; not there if none were.
    #[serde(skip_serializing_if = "is_zero")]
    withheld: u64,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    /// Its path, relative to the workspace root.
    path: String,
    /// Its size in bytes; 0 for a directory.
    size: u64,
    /// When it was last changed (RFC 3339, UTC).
    modified: String,
    /// Whether it is a directory, or a link to one.
    is_directory: bool,
}

impl Entry {
    fn of(entry: &op::Entry, context: &Context<'_>) -> Self {
        Self {
            path: context.display(&entry.path),
            size: entry.size.unwrap_or(0),
            modified: entry.updated_at.to_string(),
            is_directory: entry.file_type == FileType::Folder,
        }
    }
}

impl Tool for List {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "file.list";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        match &args.pattern {
            Some(pattern) => matching(pattern, &args, context),
            None => own(&args, context),
        }
    }
}

fn own(args: &List, context: &Context<'_>) -> Result<Reply, Stop> {
    let skip = paging::skip_cursor(args.cursor.as_deref())?;
    let list_at = |path| op::List { skip, ..op::List::own(path) };
    across_roots::list(context, &args.path, list_at, |listing, context| {
        Ok(Reply {
            next: paging::next_skip(listing, skip),
            truncated: listing.truncated,
            files: listing.entries.iter().map(|entry| Entry::of(entry, context)).collect(),
            ignored: 0,
            withheld: 0,
        })
    })
}

fn matching(pattern: &str, args: &List, context: &Context<'_>) -> Result<Reply, Stop> {
    let find = op::Find {
        size: SizeRange::FILES,
        include_ignored: args.include_ignored,
        after: args.cursor.as_deref().map(paging::path_cursor).transpose()?,
        ..op::Find::below(WsPath::root(), FindBy::Any)
    };
    across_roots::find(context, &args.path, &[pattern.to_owned()], find, |found, context| {
        Ok(Reply {
            next: paging::next_path(found),
            truncated: found.truncated,
            ignored: found.ignored,
            withheld: found.withheld,
            files: found.entries.iter().map(|entry| Entry::of(entry, context)).collect(),
        })
    })
}
