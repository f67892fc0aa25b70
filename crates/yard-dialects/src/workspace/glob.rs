//! `glob`: finds files and folders by name pattern (W11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, FindBy};
use yard_core::{Fault, Subject};

use super::entry::{self, Found};
use super::root;
use crate::paging::{self, is_zero};
use crate::tool::{Context, Stop, Tool, Work};

/// Finds files and folders by glob pattern, ordered by path. Without a slash a pattern matches the
/// name at any depth (`*.rs`); with one it is relative to `path` (`src/**/*.rs`); with a leading
/// slash to the root of the workspace (`/src/**/*.rs`). Skips `.git` and what ignore files exclude.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Glob {
    /// The pattern: `*`, `**`, `?`, `[]` and `{}`. Send this or `patterns`.
    pattern: Option<String>,
    /// Several patterns; what matches any of them is found. Send this or `pattern`.
    patterns: Option<Vec<String>>,
    /// Folder to search.
    #[serde(default = "root")]
    path: String,
    /// Most matches to return; 0 is all that one answer may hold.
    #[serde(default = "crate::defaults::number::<500>")]
    limit: u64,
    /// Find also what ignore files exclude.
    #[serde(default)]
    include_ignored: bool,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The pattern, as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    /// The patterns, as they were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    patterns: Option<Vec<String>>,
    /// The folder that was searched.
    base_path: String,
    /// What was found.
    matches: Vec<Found>,
    /// Whether matches remain after these.
    truncated: bool,
    /// The `cursor` that gives the matches that remain; not there if none do.
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
        let globs = globs(args.pattern.as_ref(), args.patterns.as_ref())?;
        let several = args.patterns.is_some();
        let globs = globs.into_iter().map(|glob| context.own_pattern(glob)).collect();
        let below = op::Find::below(context.path(&args.path)?, FindBy::Globs(globs));
        let found = context.perform(op::Find {
            include_ignored: args.include_ignored,
            limit: paging::max_entries(args.limit, context.limits()),
            after: args.cursor.as_deref().map(paging::path_cursor).transpose()?,
            ..below
        });
        let found =
            found.map_err(|stop| if several { stop.map_fault(about_patterns) } else { stop })?;
        Ok(Reply {
            pattern: args.pattern,
            patterns: args.patterns,
            base_path: context.display(&found.path),
            matches: entry::globbed(&found.entries, context)?,
            truncated: found.truncated,
            next: paging::next_path(&found),
            ignored: found.ignored,
            withheld: found.withheld,
        })
    }
}

/// The patterns of either argument.
fn globs(pattern: Option<&String>, patterns: Option<&Vec<String>>) -> Result<Vec<String>, Stop> {
    match (pattern, patterns) {
        (Some(_), Some(_)) => {
            Err(Stop::argument("patterns", "send either `pattern` or `patterns`, not both"))
        }
        (None, None) => Err(Stop::argument(
            "pattern",
            "missing; expected a glob such as `*.rs` or `src/**/*.md`, or several as `patterns`",
        )),
        (Some(pattern), None) => Ok(vec![checked("pattern", pattern)?]),
        (None, Some(patterns)) if patterns.is_empty() => {
            Err(Stop::argument("patterns", "expected at least one glob such as `*.rs`"))
        }
        (None, Some(patterns)) => {
            patterns.iter().map(|pattern| checked("patterns", pattern)).collect()
        }
    }
}

fn checked(argument: &str, pattern: &str) -> Result<String, Stop> {
    if pattern.trim().is_empty() {
        return Err(Stop::argument(
            argument,
            "a pattern must not be empty; send `**` to match everything",
        ));
    }
    if pattern.split('/').any(|part| part.trim() == "..") {
        let wrong = "`..` is not allowed in a pattern; search from another `path`, \
            or start with `/` for the root";
        return Err(Stop::argument(argument, wrong));
    }
    Ok(pattern.trim().to_owned())
}

/// A bad pattern of several is about `patterns`.
fn about_patterns(fault: Fault) -> Stop {
    match fault.subject() {
        Some(Subject::Pattern) => Stop::argument("patterns", fault.message()),
        _ => Stop::Fault(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(pattern: Option<&str>, patterns: Option<&[&str]>) -> Result<usize, String> {
        let pattern = pattern.map(str::to_owned);
        let patterns = patterns.map(|all| all.iter().map(|&one| one.to_owned()).collect());
        match globs(pattern.as_ref(), patterns.as_ref()) {
            Ok(globs) => Ok(globs.len()),
            Err(Stop::Arguments(fields)) => Err(fields.iter().map(|(name, _)| name).collect()),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn w11_pattern_or_patterns_and_no_climbing() {
        assert_eq!(field(Some("*.rs"), None), Ok(1));
        assert_eq!(field(None, Some(&["*.rs", "a..b"])), Ok(2));
        assert_eq!(field(Some("*.rs"), Some(&["*.md"])), Err("patterns".to_owned()));
        assert_eq!(field(None, None), Err("pattern".to_owned()));
        assert_eq!(field(None, Some(&[])), Err("patterns".to_owned()));
        assert_eq!(field(Some(" "), None), Err("pattern".to_owned()));
        for climbing in ["..", "../x", "a/../b", "/..", "a/.."] {
            assert_eq!(field(Some(climbing), None), Err("pattern".to_owned()), "{climbing}");
            assert_eq!(
                field(None, Some(&["x", climbing])),
                Err("patterns".to_owned()),
                "{climbing}"
            );
        }
    }
}
