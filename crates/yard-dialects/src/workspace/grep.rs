//! `grep`: finds lines that match a regular expression (W10, R9).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, GrepMatch, PathFilter, RegexFlavor};

use super::root;
use crate::matches::Matches;
use crate::paging;
use crate::tool::{Context, Stop, Tool, Work};

/// Searches the text of files for a regular expression, line by line. Matches come ordered by path,
/// then line. Skips `.git` and what ignore files exclude. Use `glob` or `find` to search by name.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Grep {
    /// The regular expression, in PostgreSQL's syntax; look-around and back-references work too.
    pattern: String,
    /// Which files: with `%`, `*` (both also match `/`) or `?` a pattern for the whole path
    /// (`%.rs`, `/src/%`, `src/*`), or a glob (`test_*.py`, `js/**/*.js`), else text that the path
    /// contains. Case does not count.
    path_pattern: Option<String>,
    /// Folder or file to search.
    #[serde(default = "root")]
    path: String,
    /// Whether upper and lower case differ.
    #[serde(default)]
    case_sensitive: bool,
    /// Most matches to return; 0 is all that one answer may hold.
    #[serde(default = "crate::defaults::number::<50>")]
    limit: u64,
    /// Lines to show before each match.
    #[schemars(range(max = 100))]
    before_context: Option<u64>,
    /// Lines to show after each match.
    #[schemars(range(max = 100))]
    after_context: Option<u64>,
    /// Lines to show before and after each match, where the two above say nothing.
    #[schemars(range(max = 100))]
    context: Option<u64>,
    /// Search also what ignore files exclude.
    #[serde(default)]
    include_ignored: bool,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Match {
    /// The file.
    path: String,
    /// The line's number, counted from 1.
    line_number: u64,
    /// The line, without its end.
    line_text: String,
    /// The lines before it; not there if there are none, or none were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before_context: Vec<String>,
    /// The lines after it; not there if there are none, or none were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after_context: Vec<String>,
}

impl Match {
    fn of(found: GrepMatch, context: &Context<'_>) -> Self {
        Self {
            path: context.display(&found.path),
            line_number: found.line,
            line_text: found.text,
            before_context: found.before,
            after_context: found.after,
        }
    }
}

impl Tool for Grep {
    type Args = Self;
    type Reply = Matches<Match>;
    const NAME: &'static str = "grep";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Matches<Match>, Stop> {
        let answer = context.perform(op::Grep {
            path: context.path(&args.path)?,
            flavor: RegexFlavor::Postgres,
            case_sensitive: args.case_sensitive,
            filter: filter(args.path_pattern.map(|pattern| context.own_pattern(pattern))),
            before: lines(args.before_context.or(args.context)),
            after: lines(args.after_context.or(args.context)),
            include_ignored: args.include_ignored,
            limit: paging::max_entries(args.limit, context.limits()),
            cursor: args.cursor.as_deref().map(paging::match_cursor).transpose()?,
            pattern: args.pattern,
        })?;
        Ok(Matches::of(answer, |found| Match::of(found, context)))
    }
}

fn filter(path_pattern: Option<String>) -> PathFilter {
    match path_pattern {
        Some(pattern) if !pattern.trim().is_empty() => PathFilter::Like(pattern),
        _ => PathFilter::All,
    }
}

fn lines(context: Option<u64>) -> usize {
    usize::try_from(context.unwrap_or(0)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w10_an_empty_path_pattern_is_none() {
        assert_eq!(filter(Some(" ".to_owned())), PathFilter::All);
        assert_eq!(filter(Some("%.rs".to_owned())), PathFilter::Like("%.rs".to_owned()));
    }
}
