//! `git_diff`: compares files with the index, or commits with each other (A6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::git::changes::{self, ChangedFile};
use super::git::{self, Repository};
use super::root;
use crate::tool::{Context, Hints, Stop, Tool, Work};
use crate::{commands, paging};

/// Files that one answer names.
const MAX_FILES: usize = 500;

/// Shows what changed in a git repository: each file with its counts of lines, and a unified diff. By
/// default what is changed and not staged (untracked files are in no diff); with `staged` what the next
/// commit changes; with `range` how two commits differ. Changes nothing.
#[derive(Deserialize, JsonSchema)]
pub(super) struct GitDiff {
    /// Folder of the repository (the one that holds `.git`), relative to the workspace root.
    #[serde(default = "root")]
    repository: String,
    /// Only this file, or what is below this folder; relative to the workspace root.
    path: Option<String>,
    /// Compare what is staged with the last commit.
    #[serde(default)]
    staged: bool,
    /// A commit to compare with, or two: `main..feature`, `HEAD~3`, `HEAD~1..HEAD`.
    range: Option<String>,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// Each file that differs; of very many the first ones (`path` narrows it).
    files: Vec<ChangedFile>,
    /// How many files differ.
    file_count: usize,
    /// Lines that came, in all files.
    additions: u64,
    /// Lines that went, in all files.
    deletions: u64,
    /// The diff, or a part of it.
    diff: String,
    /// Whether something of the diff remains after this part.
    truncated: bool,
    /// The `cursor` that gives the part that remains; not there if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Tool for GitDiff {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "git_diff";
    const WORK: Work = Work::Run;
    const HINTS: Hints = Hints::LOOKS;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let skip = paging::skip_cursor(args.cursor.as_deref())?;
        let repository = Repository::parse(context, &args.repository, args.path.as_deref())?;
        let range = args.range.as_deref().map(|range| git::revision("range", range)).transpose()?;
        let flags = ["diff", "--raw", "--numstat", "--patch", "-z", "-M", "--no-color"];
        let safe = ["--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];
        let against = match (args.staged, range) {
            (true, _) => Some("--cached"),
            (false, Some(_)) => None,
            // A file in conflict has three sides, of which a diff shows two: ours and the work tree.
            (false, None) => Some("--ours"),
        };
        let options = flags.into_iter().chain(safe).chain(against).map(Into::into);
        let arguments = options.chain(repository.revision_and_path(range));
        let command = git::read_only_command(&repository.folder, arguments);
        let stdout = git::stdout(context, &commands::run_read_only(context, &command)?)?;
        let display = |path: &[u8]| git::display(context, &repository.folder, path);
        let changes = changes::parse(&stdout, display);
        let max_bytes = usize::try_from(context.limits().answer_bytes / 2).unwrap_or(usize::MAX);
        Ok(reply(changes, skip, max_bytes))
    }
}

fn reply(changes: changes::Changes<'_>, skip: usize, max_bytes: usize) -> Reply {
    let (additions, deletions) = changes::totals(&changes.files);
    let rest = changes.patch.get(skip..).unwrap_or_default();
    let part = whole_lines(rest, max_bytes);
    let truncated = part.len() < rest.len();
    let file_count = changes.files.len();
    let mut files = changes.files;
    files.truncate(MAX_FILES);
    Reply {
        files,
        file_count,
        additions,
        deletions,
        diff: String::from_utf8_lossy(part).into_owned(),
        truncated,
        next: truncated.then(|| (skip + part.len()).to_string()),
    }
}

/// As many whole lines as fit; of a first line that does not fit, the beginning.
fn whole_lines(text: &[u8], max_bytes: usize) -> &[u8] {
    if text.len() <= max_bytes {
        return text;
    }
    let newline = text[..max_bytes].iter().rposition(|byte| *byte == b'\n');
    &text[..newline.map_or(max_bytes, |at| at + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r12_a_diff_comes_in_parts_of_whole_lines() {
        let patch = b"one\ntwo\nthree is longer\n";
        let mut joined = String::new();
        let mut skip = 0;
        loop {
            let part = reply(changes::Changes { files: Vec::new(), patch }, skip, 8);
            joined.push_str(&part.diff);
            match part.next {
                Some(next) => skip = next.parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(joined.as_bytes(), patch);
        assert_eq!(whole_lines(patch, 9), b"one\ntwo\n");
        let past = reply(changes::Changes { files: Vec::new(), patch }, 1_000, 8);
        assert_eq!((past.diff.as_str(), past.truncated), ("", false));
    }
}
