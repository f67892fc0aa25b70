//! `grep_files`: finds lines that match a regular expression, file by file (X2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::WsPath;
use yard_core::op::{self, GrepMatch, PathFilter, RegexFlavor};

use crate::paging::is_zero;
use crate::relative::root;
use crate::tool::{Calling, Context, Stop, Tool, Work};
use crate::{across_roots, paging};

/// Searches files for a regular expression, line by line. Files come in the order of their paths.
/// Skips `.git` and what ignore files exclude.
#[derive(Deserialize, JsonSchema)]
pub(super) struct GrepFiles {
    /// The regular expression, in Rust's syntax; look-around and back-references work too.
    pattern: String,
    /// Directory or file to search, relative to the workspace root.
    #[serde(default = "root")]
    path: String,
    /// Globs; a file must match one of them. Without a slash a glob is for the name (`*.py`), with one
    /// for the path; with `!` before it, it leaves out what it matches (`!test_*`).
    include: Option<Vec<String>>,
    /// Most matches to return.
    #[serde(default = "crate::defaults::number::<200>")]
    #[schemars(range(min = 1))]
    limit: u64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// File by file.
    results: Vec<File>,
    /// Whether matches remain after these.
    truncated: bool,
    /// How many files and folders were left out because ignore files exclude them; not there if none were.
    #[serde(skip_serializing_if = "is_zero")]
    ignored: u64,
    /// How many were left out because they may not be read; not there if none were.
    #[serde(skip_serializing_if = "is_zero")]
    withheld: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct File {
    /// The file, relative to the workspace root.
    file: String,
    /// Its matching lines.
    matches: Vec<Line>,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Line {
    /// The line's number, counted from 1.
    line_num: u64,
    /// The line, without its end.
    line: String,
}

impl Tool for GrepFiles {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "grep_files";
    const WORK: Work = Work::Walk;
    const CALLING: Calling = Calling::Strict;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let grep = op::Grep {
            pattern: args.pattern,
            flavor: RegexFlavor::Plain,
            case_sensitive: true,
            path: WsPath::root(),
            filter: PathFilter::All,
            before: 0,
            after: 0,
            include_ignored: false,
            limit: paging::max_entries(args.limit, context.limits()),
            cursor: None,
        };
        let globs = args.include.unwrap_or_default();
        across_roots::grep(context, &args.path, &globs, grep, |answer, context| {
            Ok(Reply {
                results: by_file(answer.matches, context),
                truncated: answer.truncated,
                ignored: answer.ignored,
                withheld: answer.withheld,
            })
        })
    }
}

/// Matches come file by file already.
fn by_file(matches: Vec<GrepMatch>, context: &Context<'_>) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    let mut last: Option<WsPath> = None;
    for found in matches {
        let line = Line { line_num: found.line, line: found.text };
        match files.last_mut() {
            Some(file) if last.as_ref() == Some(&found.path) => file.matches.push(line),
            _ => files.push(File { file: context.display(&found.path), matches: vec![line] }),
        }
        last = Some(found.path);
    }
    files
}
