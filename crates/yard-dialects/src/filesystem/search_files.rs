//! `search_files`: finds files and directories by pattern.

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::op::{self, FindBy};
use yard_core::{Subject, WsPath};

use super::globs::{Excluded, checked};
use super::{Reply, fault, host_paths};
use crate::relative;
use crate::tool::{Context, Stop, Tool, Work};

/// Recursively search for files and directories matching a pattern. The patterns should be glob-style
/// patterns that match paths relative to the directory that is searched. Use pattern like '*.ext' to match
/// files in that directory, and '**/*.ext' to match files in all subdirectories. Returns full paths to all
/// matching items; what is in `.git` is left out. Only searches within allowed directories.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchFiles {
    /// The directory to search: an absolute path within an allowed directory, or one relative to it.
    path: String,
    /// The pattern: `*`, `**`, `?`, `[]` and `{}`.
    pattern: String,
    /// Patterns of what to leave out, with all below it.
    #[serde(default)]
    exclude_patterns: Vec<String>,
}

impl Tool for SearchFiles {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "search_files";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = host_paths::parse(context, &args.path, Subject::Path)?;
        let excluded = Excluded::by_path(&args.exclude_patterns)?;
        // A pattern without a slash means the directory itself, not any below it.
        let glob = format!("./{}", checked(&args.pattern)?);
        let below = op::Find::below(path.clone(), FindBy::Globs(vec![glob]));
        let found = context
            .perform(op::Find { include_ignored: true, ..below })
            .map_err(fault::of_system_call(context, "scandir", &path))?;
        let mut paths: Vec<&WsPath> = found.entries.iter().map(|entry| &entry.path).collect();
        paths.retain(|path| !excluded.matches_any_above(&relative::below(path, &found.path)));
        paths.sort_by(|a, b| by_names(a, b));
        let mut lines: Vec<String> = paths.iter().map(|path| context.host_display(path)).collect();
        if found.truncated {
            lines.push(format!(
                "[more than {} matches; search a directory below this one, or by a narrower pattern]",
                found.entries.len()
            ));
        }
        match lines.is_empty() {
            true => Ok("No matches found".to_owned().into()),
            false => Ok(lines.join("\n").into()),
        }
    }
}

/// Orders a directory before its entries, and these before the next directory.
fn by_names(a: &WsPath, b: &WsPath) -> std::cmp::Ordering {
    let slash = |byte: &u8| *byte == b'/';
    a.relative().split(slash).cmp(b.relative().split(slash))
}
