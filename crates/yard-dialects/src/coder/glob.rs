//! `glob`: finds files by name pattern.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::WsPath;
use yard_core::op::{self, FindBy, Found, SizeRange};

use crate::paging::is_zero;
use crate::tool::{Context, Stop, Tool, Work};
use crate::{across_roots, paging, patterns};

/// Finds files by glob pattern in the whole workspace, ordered by path. Without a slash a pattern
/// matches the name at any depth (`*.ts`); with one, the path from the workspace root (`src/**/*.ts`).
/// Skips `.git` and what ignore files exclude.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Glob {
    /// The pattern: `*`, `**`, `?`, `[]`, `{a,b}` and `@(a|b)`; with `!` before it, all but what it matches.
    pattern: String,
    /// Most files to return.
    #[serde(default = "crate::defaults::number::<100>")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u64,
    /// Find also what ignore files exclude.
    #[serde(default)]
    include_ignored: bool,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The files, relative to the workspace root.
    files: Vec<String>,
    /// How many files these are.
    count: usize,
    /// The pattern, as it was sent.
    pattern: String,
    /// Whether files remain after these.
    truncated: bool,
    /// The `cursor` that gives the files that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many files and folders were left out because ignore files exclude them; not there if none were.
    #[serde(skip_serializing_if = "is_zero")]
    ignored: u64,
    /// How many were left out because they may not be listed; not there if none were.
    #[serde(skip_serializing_if = "is_zero")]
    withheld: u64,
}

impl Tool for Glob {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "glob";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let mut find = op::Find {
            size: SizeRange::FILES,
            include_ignored: args.include_ignored,
            limit: paging::max_entries(args.limit, context.limits()),
            after: args.cursor.as_deref().map(paging::path_cursor).transpose()?,
            ..op::Find::below(WsPath::root(), FindBy::Any)
        };
        if args.pattern.trim().starts_with('/') {
            let glob = patterns::absolute_glob(context, &args.pattern)?;
            find.by = FindBy::Globs(vec![glob]);
            return Ok(reply(args.pattern, &context.perform(find)?, context));
        }
        let globs = [args.pattern.clone()];
        across_roots::find(context, ".", &globs, find, |found, context| {
            Ok(reply(args.pattern, found, context))
        })
    }
}

fn reply(pattern: String, found: &Found, context: &Context<'_>) -> Reply {
    Reply {
        files: found.entries.iter().map(|entry| context.display(&entry.path)).collect(),
        count: found.entries.len(),
        pattern,
        truncated: found.truncated,
        next: paging::next_path(found),
        ignored: found.ignored,
        withheld: found.withheld,
    }
}
