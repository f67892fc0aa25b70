//! `git_commit`: commits what is staged, or the paths that the caller names (A6).

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Fault, FaultCode};
use yard_gate::{Actor, Command, Finished};

use super::git::changes::{self, ChangedFile};
use super::git::{self, Repository};
use super::root;
use crate::commands;
use crate::tool::{Context, Stop, Tool, Work};

/// Stages, commits, and prints the hash, the branch, the author and the files.
const SCRIPT: &str = include_str!("git/commit.sh");
/// The exit code of the script if nothing differs from the last commit.
const NOTHING: i32 = 65;
/// The exit code of the script if a file still has conflict markers.
const CONFLICTED: i32 = 66;
/// Files that one answer names.
const MAX_FILES: usize = 500;
/// Bytes of a message, at most: it is handed over as an argument.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// Commits to a git repository: what is staged, or with `all` everything that changed (untracked files
/// too), or with `paths` only what is there. The author is the `user.name` and `user.email` of the repository, or
/// the caller where it sets none; hooks do not run and nothing is signed. The commit is a step that can be undone.
#[derive(Deserialize, JsonSchema)]
pub(super) struct GitCommit {
    /// Folder of the repository (the one that holds `.git`), relative to the workspace root.
    #[serde(default = "root")]
    repository: String,
    /// The message: a short first line; behind an empty line, why.
    message: String,
    /// Files and folders to stage and commit, and nothing else; relative to the workspace root.
    #[serde(default)]
    paths: Vec<String>,
    /// Stage everything that changed first.
    #[serde(default)]
    all: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// The commit.
    hash: String,
    /// The branch that it is on; null if none is checked out.
    branch: Option<String>,
    /// Whose commit it is.
    author: String,
    /// What it changes; of very many files the first ones.
    files: Vec<ChangedFile>,
    /// How many files it changes.
    file_count: usize,
    /// Lines that came.
    additions: u64,
    /// Lines that went.
    deletions: u64,
    /// What became of it in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Tool for GitCommit {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "git_commit";
    const WORK: Work = Work::Run;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let repository = Repository::parse(context, &args.repository, None)?;
        let author = Signature::of(context.session().actor());
        let finished = commands::run(context, &command(&args, &repository, &author, context)?)?;
        match commands::exit_code(&finished) {
            0 => git::check_changes_stay(&finished)?,
            NOTHING => return Err(nothing_to_commit(&args)),
            CONFLICTED => return Err(conflicted(context, &finished)),
            _ => return Err(git::failure(context, &finished)),
        }
        let stdout = git::stdout(context, &finished)?;
        Ok(reply(&stdout, &repository, &finished, context))
    }
}

/// The author where the repository names none: the caller's name in the audit chain, and an address that cannot exist.
struct Signature {
    name: String,
    email: String,
}

impl Signature {
    fn of(actor: Actor) -> Self {
        let name = actor.name();
        let email = format!("{}@toolyard.invalid", name.replace(':', "-"));
        Self { name, email }
    }
}

fn command(
    args: &GitCommit,
    repository: &Repository,
    author: &Signature,
    context: &Context<'_>,
) -> Result<Command, Stop> {
    if args.message.trim().is_empty() || args.message.contains('\0') {
        return Err(Stop::argument("message", "expected a text that says what the commit does"));
    }
    if args.message.len() > MAX_MESSAGE_BYTES {
        return Err(Stop::argument("message", format!("longer than {MAX_MESSAGE_BYTES} bytes")));
    }
    if args.all && !args.paths.is_empty() {
        let message = "`all` commits everything, `paths` only what it names: send one of them";
        return Err(Stop::argument("all", message));
    }
    let what = match (args.all, args.paths.is_empty()) {
        (true, _) => "all",
        (false, true) => "staged",
        (false, false) => "paths",
    };
    let shell = ["sh", "-c", SCRIPT, "sh", &args.message, what].map(OsString::from).into_iter();
    let paths = args.paths.iter();
    let paths = paths.map(|path| git::pathspec(context, &repository.folder, path, "paths"));
    let argv = shell.map(Ok).chain(paths).collect::<Result<_, _>>()?;
    let mut command = git::command(&repository.folder, argv);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env.push((format!("GIT_{role}_NAME").into(), author.name.as_str().into()));
        command.env.push((format!("GIT_{role}_EMAIL").into(), author.email.as_str().into()));
    }
    Ok(command)
}

/// The output has the hash, the branch and the author on a line each, and the files after them.
fn reply(
    stdout: &[u8],
    repository: &Repository,
    finished: &Finished,
    context: &Context<'_>,
) -> Reply {
    let mut parts = stdout.splitn(4, |byte| *byte == b'\n');
    let mut line = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (hash, branch, author) = (line(), line(), line());
    let display = |path: &[u8]| git::display(context, &repository.folder, path);
    let mut files = changes::parse(parts.next().unwrap_or_default(), display).files;
    let (additions, deletions) = changes::totals(&files);
    let file_count = files.len();
    files.truncate(MAX_FILES);
    Reply {
        hash,
        branch: (branch != "HEAD").then_some(branch),
        author,
        files,
        file_count,
        additions,
        deletions,
        message: commands::outcome_message(context, finished),
    }
}

fn nothing_to_commit(args: &GitCommit) -> Stop {
    let why = match (args.all, args.paths.is_empty()) {
        (true, _) => "nothing differs from the last commit",
        (false, false) => "nothing in `paths` differs from the last commit",
        (false, true) => {
            "nothing is staged. Send `all: true` for everything that changed, or name `paths`"
        }
    };
    let message = format!("nothing to commit: {why}. git_status shows what changed");
    Stop::Fault(Fault::new(FaultCode::NoChange, message))
}

fn conflicted(context: &Context<'_>, finished: &Finished) -> Stop {
    let markers = commands::output_text(context, &finished.ran.stdout).text;
    let markers: Vec<&str> = markers.lines().take(20).collect();
    let message = format!(
        "nothing was committed: files still have the marks of a conflict in them. Edit them, then commit \
         with `all: true`. {}",
        markers.join("; ")
    );
    Stop::Fault(Fault::new(FaultCode::MergeConflict, message))
}
