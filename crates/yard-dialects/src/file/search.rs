//! `file.search`: finds lines that match a regular expression, marked among their neighbours (F5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::WsPath;
use yard_core::op::{self, GrepMatch, PathFilter, RegexFlavor};

use crate::matches::Matches;
use crate::relative::root;
use crate::tool::{Context, Stop, Tool, Work};
use crate::{across_roots, paging};

/// Searches the text of files for a regular expression, line by line. Matches come ordered by path,
/// then line. Skips `.git` and what ignore files exclude.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Search {
    /// The regular expression, in Rust's syntax; look-around and back-references work too.
    pattern: String,
    /// Directory or file to search, relative to the workspace root.
    #[serde(default = "root")]
    path: String,
    /// Glob that files must match: without a slash the name (`*.py`), with one the path (`src/**/*.py`);
    /// with `!` before it, all but what it matches.
    glob: Option<String>,
    /// Whether upper and lower case differ.
    #[serde(default = "crate::defaults::yes")]
    case_sensitive: bool,
    /// Lines to show on both sides of each match.
    #[serde(default)]
    #[schemars(range(max = 100))]
    context_lines: u64,
    /// Most matches to return.
    #[serde(default = "crate::defaults::number::<100>")]
    #[schemars(range(min = 1))]
    max_results: u64,
    /// Search also what ignore files exclude.
    #[serde(default)]
    include_ignored: bool,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Match {
    /// The file, relative to the workspace root.
    path: String,
    /// The line's number, counted from 1.
    line: u64,
    /// The line after `--> `, with its neighbours, each after four spaces.
    content: String,
}

impl Match {
    fn of(found: &GrepMatch, context: &Context<'_>) -> Self {
        Self { path: context.display(&found.path), line: found.line, content: marked(found) }
    }
}

fn marked(found: &GrepMatch) -> String {
    let neighbour = |line: &String| format!("    {line}");
    let before = found.before.iter().map(neighbour);
    let this = std::iter::once(format!("--> {}", found.text));
    let after = found.after.iter().map(neighbour);
    before.chain(this).chain(after).collect::<Vec<_>>().join("\n")
}

impl Tool for Search {
    type Args = Self;
    type Reply = Matches<Match>;
    const NAME: &'static str = "file.search";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Matches<Match>, Stop> {
        let around = usize::try_from(args.context_lines).unwrap_or(usize::MAX);
        let globs: Vec<String> = args.glob.into_iter().collect();
        let grep = op::Grep {
            pattern: args.pattern,
            flavor: RegexFlavor::Plain,
            case_sensitive: args.case_sensitive,
            path: WsPath::root(),
            filter: PathFilter::All,
            before: around,
            after: around,
            include_ignored: args.include_ignored,
            limit: paging::max_entries(args.max_results, context.limits()),
            cursor: args.cursor.as_deref().map(paging::match_cursor).transpose()?,
        };
        across_roots::grep(context, &args.path, &globs, grep, |answer, context| {
            Ok(Matches::of(answer, |found| Match::of(&found, context)))
        })
    }
}
