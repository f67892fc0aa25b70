//! `find`: finds files and folders by name, type and size (W12).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::FileType;
use yard_core::op::{self, FindBy, SizeRange};

use super::entry::{self, Found};
use super::{root, write};
use crate::paging::{self, is_zero};
use crate::tool::{Context, Stop, Tool, Work};

/// Finds files and folders by name, type and size, ordered by path. With `min_size` or `max_size`
/// only files match. Skips `.git` and what ignore files exclude. Use `grep` to search by content.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Find {
    /// Pattern for the name alone: `*`, `?` and `[]` (`*.txt`, `test_*`). All names if not given.
    name: Option<String>,
    /// Folder to search; it is never a match itself.
    #[serde(default = "root")]
    path: String,
    /// Only entries of this type.
    #[schemars(extend("enum" = FileType::WORDS.map(|(_, word)| word)))]
    file_type: Option<String>,
    /// Smallest size in bytes, inclusive.
    min_size: Option<u64>,
    /// Largest size in bytes, inclusive.
    max_size: Option<u64>,
    /// Search subfolders too.
    #[serde(default = "crate::defaults::yes")]
    recursive: bool,
    /// Most matches to return; 0 is all that one answer may hold.
    #[serde(default = "crate::defaults::number::<50>")]
    limit: u64,
    /// Find also what ignore files exclude.
    #[serde(default)]
    include_ignored: bool,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
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

impl Tool for Find {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "find";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let found = context.perform(op::Find {
            path: context.path(&args.path)?,
            by: args.name.map_or(FindBy::Any, FindBy::Name),
            file_type: args.file_type.as_deref().map(file_type).transpose()?,
            size: SizeRange { min: args.min_size, max: args.max_size },
            recursive: args.recursive,
            include_ignored: args.include_ignored,
            limit: paging::max_entries(args.limit, context.limits()),
            after: args.cursor.as_deref().map(paging::path_cursor).transpose()?,
        })?;
        Ok(Reply {
            matches: entry::found(&found.entries, context)?,
            truncated: found.truncated,
            next: paging::next_path(&found),
            ignored: found.ignored,
            withheld: found.withheld,
        })
    }
}

fn file_type(word: &str) -> Result<FileType, Stop> {
    FileType::from_word(&word.trim().to_ascii_lowercase()).ok_or_else(|| write::unknown_type(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w12_types_are_those_of_the_store() {
        assert_eq!(file_type("Folder"), Ok(FileType::Folder));
        assert!(file_type("film").is_err());
    }
}
