//! `git_status`: lists the files that differ from the last commit (A6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::git::{self, Repository, status};
use super::root;
use crate::tool::{Context, Hints, Stop, Tool, Work};
use crate::{commands, paging};

/// Shows the branch of a git repository, how far it is from its upstream, and which files are staged,
/// changed, untracked or in conflict. Changes nothing.
#[derive(Deserialize, JsonSchema)]
pub(super) struct GitStatus {
    /// Folder of the repository (the one that holds `.git`), relative to the workspace root.
    #[serde(default = "root")]
    repository: String,
    /// Only this file, or what is below this folder; relative to the workspace root.
    path: Option<String>,
    /// Most entries in one answer; 0 is all that an answer may hold.
    #[serde(default = "crate::defaults::number::<500>")]
    limit: u64,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Default, Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The branch that is checked out; null if none is (a detached HEAD).
    branch: Option<String>,
    /// The commit that is checked out; null before the first one.
    head: Option<String>,
    /// The branch elsewhere that this one follows, if it follows any.
    upstream: Option<String>,
    /// Commits that the upstream does not have; null without an upstream.
    ahead: Option<u64>,
    /// Commits that only the upstream has; null without an upstream.
    behind: Option<u64>,
    /// Whether nothing at all differs from the last commit.
    clean: bool,
    /// What the next commit changes.
    staged: Vec<Changed>,
    /// What is changed and not staged.
    unstaged: Vec<Changed>,
    /// What git does not know; a folder of which it knows nothing is named once, with a slash at its end.
    untracked: Vec<String>,
    /// What a merge left for somebody to decide.
    conflicted: Vec<Changed>,
    /// How many there are of each.
    counts: Counts,
    /// Whether entries remain after these.
    truncated: bool,
    /// The `cursor` that gives the entries that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Changed {
    /// The file.
    path: String,
    /// Where it was before it was renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// What happened to it.
    status: &'static str,
}

#[derive(Default, Serialize, JsonSchema)]
struct Counts {
    /// Staged ones.
    staged: u64,
    /// Those that are changed and not staged.
    unstaged: u64,
    /// Those that git does not know.
    untracked: u64,
    /// Those in conflict.
    conflicted: u64,
}

impl Tool for GitStatus {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "git_status";
    const WORK: Work = Work::Run;
    const HINTS: Hints = Hints::LOOKS;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let skip = paging::skip_cursor(args.cursor.as_deref())?;
        let repository = Repository::parse(context, &args.repository, args.path.as_deref())?;
        // The work trees of submodules are left out: these repositories have settings of their own.
        let flags = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"];
        let more = ["--find-renames", "--ignore-submodules=dirty"];
        let options = flags.into_iter().chain(more).map(Into::into);
        let arguments = options.chain(repository.revision_and_path(None));
        let command = git::read_only_command(&repository.folder, arguments);
        let finished = commands::run_read_only(context, &command)?;
        let status = status::parse(&git::stdout(context, &finished)?);
        let limit = paging::max_entries(args.limit, context.limits());
        let limit = limit.unwrap_or(context.limits().answer_entries);
        let display = |path: &[u8]| git::display(context, &repository.folder, path);
        Ok(reply(status, display, skip, limit))
    }
}

fn reply(
    status: status::Status,
    display: impl Fn(&[u8]) -> String,
    skip: usize,
    limit: usize,
) -> Reply {
    let until = skip.saturating_add(limit);
    let truncated = status.entries.len() > until;
    let mut reply = Reply {
        branch: status.branch,
        head: status.head,
        upstream: status.upstream,
        ahead: status.ahead,
        behind: status.behind,
        clean: status.entries.is_empty(),
        truncated,
        next: truncated.then(|| until.to_string()),
        ..Reply::default()
    };
    for (at, entry) in status.entries.into_iter().enumerate() {
        reply.add(entry, &display, (skip..until).contains(&at));
    }
    reply
}

impl Reply {
    /// Counts an entry, and names it if it is on this page.
    fn add(&mut self, entry: status::Entry, display: impl Fn(&[u8]) -> String, is_on_page: bool) {
        let (list, count) = match entry.list {
            status::List::Staged => (&mut self.staged, &mut self.counts.staged),
            status::List::Unstaged => (&mut self.unstaged, &mut self.counts.unstaged),
            status::List::Conflicted => (&mut self.conflicted, &mut self.counts.conflicted),
            status::List::Untracked => {
                self.counts.untracked += 1;
                self.untracked.extend(is_on_page.then(|| display(&entry.path)));
                return;
            }
        };
        *count += 1;
        if is_on_page {
            let (path, from) = (display(&entry.path), entry.from.as_deref().map(display));
            list.push(Changed { path, from, status: entry.status });
        }
    }
}
