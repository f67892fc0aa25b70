//! `ls`: lists a directory (C6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, Depth, ListOrder, Want};
use yard_core::{FaultCode, FileKind, WsPath};

use crate::tool::{Context, Stop, Tool, Work};
use crate::{across_roots, paging, relative};

/// Lists the files and directories in a directory, level by level, files first. A directory that does
/// not exist is empty. A link is listed as what it points to.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ls {
    /// Path of the directory, relative to the workspace root; `.` is the root.
    dir_path: String,
    /// List everything below it too (links are not followed, `.git` is skipped).
    #[serde(default)]
    recursive: bool,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// What is there.
    entries: Vec<Entry>,
    /// How many entries these are.
    count: usize,
    /// Whether entries remain after these.
    truncated: bool,
    /// The `cursor` that gives the entries that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    /// Its name.
    name: String,
    /// Its path, relative to the workspace root.
    path: String,
    /// What it is: `file` or `directory`.
    r#type: &'static str,
}

impl Tool for Ls {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "ls";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let skip = paging::skip_cursor(args.cursor.as_deref())?;
        let list_at = |path| op::List {
            depth: if args.recursive { Depth::All } else { Depth::Own },
            order: ListOrder::BreadthFirst,
            skip,
            ..op::List::own(path)
        };
        let listed = across_roots::list(context, &args.dir_path, list_at, |listing, context| {
            reply(listing, skip, context)
        });
        match listed {
            Err(Stop::Fault(fault)) if fault.code() == FaultCode::NotFound => {
                Ok(Reply { entries: Vec::new(), count: 0, truncated: false, next: None })
            }
            listed => listed,
        }
    }
}

fn reply(listing: &op::Listing, skip: usize, context: &Context<'_>) -> Result<Reply, Stop> {
    let mut entries = Vec::with_capacity(listing.entries.len());
    for entry in &listing.entries {
        entries.push((entry.path.clone(), is_directory(entry, context)?));
    }
    entries.sort_by_cached_key(|(path, is_directory)| sort_key(path, *is_directory));
    Ok(Reply {
        count: entries.len(),
        truncated: listing.truncated,
        next: paging::next_skip(listing, skip),
        entries: entries
            .iter()
            .map(|(path, is_directory)| Entry::of(path, *is_directory, context))
            .collect(),
    })
}

/// Sorts level by level, folder by folder, files first.
fn sort_key(path: &WsPath, is_directory: bool) -> (usize, Option<WsPath>, bool, WsPath) {
    (path.names().count(), path.parent(), is_directory, path.clone())
}

/// A link that leads nowhere, or out of the workspace, is a file.
fn is_directory(entry: &op::Entry, context: &Context<'_>) -> Result<bool, Stop> {
    if entry.kind != Some(FileKind::Link) {
        return Ok(entry.kind == Some(FileKind::Folder));
    }
    let (session, path) = across_roots::root_of(context, &entry.path);
    let attempt = context.attempt.in_session(&session);
    let there = context.with(&attempt);
    match there.perform(op::Stat { path, want: Want::default(), follow: true }) {
        Ok(target) => Ok(target.entry.kind == Some(FileKind::Folder)),
        Err(Stop::Fault(fault)) if fault.code() != FaultCode::Timeout => Ok(false),
        Err(stop) => Err(stop),
    }
}

impl Entry {
    fn of(path: &WsPath, is_directory: bool, context: &Context<'_>) -> Self {
        Self {
            name: relative::name(path),
            path: context.display(path),
            r#type: if is_directory { "directory" } else { "file" },
        }
    }
}
