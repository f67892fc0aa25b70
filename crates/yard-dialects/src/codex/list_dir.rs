//! `list_dir`: lists a directory, level by level (X2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::FileKind;
use yard_core::op::{self, Depth, ListOrder};

use crate::relative::root;
use crate::tool::{Calling, Context, Stop, Tool, Work};
use crate::{across_roots, paging};

/// Lists a directory level by level, in each directory its directories first. A directory ends in `/`,
/// a symbolic link in `@`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ListDir {
    /// Directory to list, relative to the workspace root.
    #[serde(default = "root")]
    path: String,
    /// How many levels to list; 0 and 1 are the directory's own entries.
    #[serde(default = "crate::defaults::number::<2>")]
    depth: u64,
    /// How many entries to skip first.
    #[serde(default)]
    offset: u64,
    /// Most entries to return.
    #[serde(default = "crate::defaults::number::<200>")]
    #[schemars(range(min = 1))]
    limit: u64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The entries, relative to the workspace root.
    entries: Vec<String>,
    /// Whether entries remain after these: skip them with `offset`.
    truncated: bool,
    /// How many entries there are in all.
    total: usize,
}

impl Tool for ListDir {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "list_dir";
    const WORK: Work = Work::Walk;
    const CALLING: Calling = Calling::Strict;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let list_at = |path| op::List {
            depth: Depth::Levels(u32::try_from(args.depth).unwrap_or(u32::MAX)),
            order: ListOrder::BreadthFirst,
            limit: paging::max_entries(args.limit, context.limits()),
            skip: usize::try_from(args.offset).unwrap_or(usize::MAX),
            ..op::List::own(path)
        };
        across_roots::list(context, &args.path, list_at, |listing, context| {
            Ok(Reply {
                entries: listing.entries.iter().map(|entry| marked(entry, context)).collect(),
                truncated: listing.truncated,
                total: listing.total,
            })
        })
    }
}

/// The path with a mark for the kind of the entry.
fn marked(entry: &op::Entry, context: &Context<'_>) -> String {
    let mark = match entry.kind {
        Some(FileKind::Folder) => "/",
        Some(FileKind::Link) => "@",
        Some(FileKind::File) | None => "",
    };
    format!("{}{mark}", context.display(&entry.path))
}
