//! `ls`: lists a directory's entries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, Depth};

use super::entry::{self, Entry};
use super::root;
use crate::tool::{Context, Stop, Tool, Work};
use crate::{across_roots, paging};

/// Lists the files and folders in a directory, folders first, then by path. Shows everything that
/// is on disk. Use `glob` or `find` to search by name, `grep` to search by content.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Ls {
    /// Directory to list.
    #[serde(default = "root")]
    path: String,
    /// List everything below it too (links are not followed, `.git` is skipped).
    #[serde(default)]
    recursive: bool,
    /// Most entries to return; 0 is all that one answer may hold.
    #[serde(default = "crate::defaults::number::<50>")]
    limit: u64,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The directory that was listed.
    path: String,
    /// Its entries.
    entries: Vec<Entry>,
    /// How many there are in all.
    total: usize,
    /// Whether entries remain after these.
    truncated: bool,
    /// The `cursor` that gives the entries that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

impl Tool for Ls {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "ls";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let skip = args.cursor.unwrap_or(0);
        let list_at = |path| op::List {
            depth: if args.recursive { Depth::All } else { Depth::Own },
            limit: paging::max_entries(args.limit, context.limits()),
            skip: usize::try_from(skip).unwrap_or(usize::MAX),
            ..op::List::own(path)
        };
        across_roots::list(context, &args.path, list_at, |listing, context| {
            Ok(Reply {
                path: context.display(&listing.path),
                total: listing.total,
                truncated: listing.truncated,
                next: listing.truncated.then(|| skip.saturating_add(listing.entries.len() as u64)),
                entries: entry::entries(&listing.entries, context)?,
            })
        })
    }
}
