//! `git_log`: lists the commits of a repository (A6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::git::history::{self, Commit};
use super::git::{self, Repository};
use super::root;
use crate::tool::{Context, Hints, Stop, Tool, Work};
use crate::{commands, paging};

/// Commits in one answer.
const MAX_COMMITS: u64 = 200;

/// Lists the commits of a git repository, newest first. Changes nothing.
#[derive(Deserialize, JsonSchema)]
pub(super) struct GitLog {
    /// Folder of the repository (the one that holds `.git`), relative to the workspace root.
    #[serde(default = "root")]
    repository: String,
    /// Only commits that changed this file, or something below this folder; relative to the workspace
    /// root.
    path: Option<String>,
    /// The branch, tag or commit to begin at, or a range such as `main..feature`; what is checked out, if
    /// left out.
    r#ref: Option<String>,
    /// Most commits in one answer, up to 200.
    #[serde(default = "crate::defaults::number::<20>")]
    limit: u64,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The commits; none before the first one.
    commits: Vec<Commit>,
    /// Whether commits remain after these.
    truncated: bool,
    /// The `cursor` that gives the commits that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Tool for GitLog {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "git_log";
    const WORK: Work = Work::Run;
    const HINTS: Hints = Hints::LOOKS;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let skip = paging::skip_cursor(args.cursor.as_deref())?;
        if args.limit == 0 || args.limit > MAX_COMMITS {
            return Err(Stop::argument("limit", format!("expected between 1 and {MAX_COMMITS}")));
        }
        let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
        let repository = Repository::parse(context, &args.repository, args.path.as_deref())?;
        let revision = args.r#ref.as_deref().map(|text| git::revision("ref", text)).transpose()?;
        // One commit more than requested shows whether there are more.
        let bounds = [format!("--max-count={}", args.limit + 1), format!("--skip={skip}")];
        let flags = ["log", "-z", "--no-color", "--no-ext-diff", history::FORMAT];
        let options = flags.iter().map(Into::into).chain(bounds.map(Into::into));
        let arguments = options.chain(repository.revision_and_path(revision));
        let command = git::read_only_command(&repository.folder, arguments);
        let finished = commands::run_read_only(context, &command)?;
        if git::stderr_excerpt(context, &finished).contains("does not have any commits yet") {
            return Ok(Reply { commits: Vec::new(), truncated: false, next: None });
        }
        let mut commits = history::parse(&git::stdout(context, &finished)?);
        let truncated = commits.len() > limit;
        commits.truncate(limit);
        let next = truncated.then(|| skip.saturating_add(limit).to_string());
        Ok(Reply { commits, truncated, next })
    }
}
