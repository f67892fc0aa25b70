//! `format_code`: formats files with the formatters of their languages (A6). `formatters/format.sh` finds and runs them
//! in the box.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Fault, FaultCode, WsPath};
use yard_gate::{Command, Finished};

use super::formatters::{self, FormattedFile, Outcome};
use super::git;
use crate::commands;
use crate::tool::{Context, Hints, Stop, Tool, Work};

const FORMAT: &str = include_str!("formatters/format.sh");
const WALL: Duration = Duration::from_secs(300);
/// Paths that a caller may name.
const MAX_PATHS: usize = 500;
/// Files that each list of an answer names.
const MAX_FILES: usize = 500;
/// Bytes of the script's output that are parsed.
const MAX_PARSED_OUTPUT: u64 = 16 << 20;

/// Formats source files: Rust with rustfmt, Python with ruff or black, JavaScript, TypeScript, CSS, JSON,
/// Markdown and the like with prettier, Go with gofmt; whichever are installed, the project's own first. What
/// changes is one step that can be undone. With `check` nothing changes and the answer says what would.
#[derive(Deserialize, JsonSchema)]
pub(super) struct FormatCode {
    /// Files and folders, relative to the workspace root; in folders what ignore files exclude is left out.
    paths: Vec<String>,
    /// Only say what would change.
    #[serde(default)]
    check: bool,
    /// Environment variables.
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// Files that were formatted anew, or with `check` would be; of very many the first ones.
    changed: Vec<File>,
    /// How many those are.
    changed_count: usize,
    /// How many files were formatted already.
    unchanged: usize,
    /// Files that their formatter could not read; of very many the first ones.
    failed: Vec<Failed>,
    /// Formatters that are not there.
    missing: Vec<Missing>,
    /// Files for which no formatter is known.
    unknown: Vec<String>,
    /// What became of it in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct File {
    /// The file.
    path: String,
    /// What formatted it.
    formatter: String,
}

#[derive(Serialize, JsonSchema)]
struct Failed {
    /// The file.
    path: String,
    /// What tried to format it.
    formatter: String,
    /// What it said.
    message: String,
}

#[derive(Serialize, JsonSchema)]
struct Missing {
    /// What would format them.
    formatter: String,
    /// How many files wait for it.
    files: usize,
    /// How to get it.
    install: String,
}

impl Tool for FormatCode {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "format_code";
    const WORK: Work = Work::Run;
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let command = command(&args, context)?;
        let finished = match args.check {
            true => commands::run_read_only(context, &command)?,
            false => commands::run(context, &command)?,
        };
        if commands::is_out_of_time(&finished) {
            let message = "the formatters took longer than they may: name fewer `paths`";
            return Err(Stop::Fault(Fault::new(FaultCode::Timeout, message)));
        }
        git::check_changes_stay(&finished)?;
        let stdout = context.attempt.whole_output(&finished.ran.stdout, MAX_PARSED_OUTPUT)?;
        reply(formatters::parse(&stdout), &finished, context)
    }
}

fn command(args: &FormatCode, context: &Context<'_>) -> Result<Command, Stop> {
    if args.paths.is_empty() || args.paths.len() > MAX_PATHS {
        let message = format!("expected between 1 and {MAX_PATHS} files and folders; `.` is all");
        return Err(Stop::argument("paths", message));
    }
    let script = "format.sh";
    let mode = if args.check { "check" } else { "write" };
    let shell = ["sh", &format!("/run/toolyard/{script}"), mode].map(OsString::from).into_iter();
    let paths = args.paths.iter().map(|path| {
        let path = context.path(path)?;
        commands::kind_at(context, &path)?;
        Ok(from_root(&path))
    });
    let argv = shell.map(Ok).chain(paths).collect::<Result<_, Stop>>()?;
    // The script asks git which files are ignored: the same precautions hold as for the git tools.
    let mut command = git::command(&WsPath::root(), argv);
    for (name, value) in &args.env {
        command.env.push(commands::env_variable(name, value)?);
    }
    command.scripts.push((script.to_owned(), FORMAT.as_bytes().to_vec()));
    command.wall = WALL;
    Ok(command)
}

/// A path relative to the root of the workspace, which no program takes for an option.
fn from_root(path: &WsPath) -> OsString {
    match path.is_root() {
        true => ".".into(),
        false => OsString::from_vec([b"./", path.relative()].concat()),
    }
}

fn reply(
    files: Vec<FormattedFile>,
    finished: &Finished,
    context: &Context<'_>,
) -> Result<Reply, Stop> {
    let path = |file: &FormattedFile| git::display(context, &WsPath::root(), &file.path);
    let with = |outcome: Outcome| files.iter().filter(move |file| file.outcome == outcome);
    if let Some(file) = with(Outcome::NoSuchFile).next() {
        let named = WsPath::from_bytes(&file.path).unwrap_or_else(|_| WsPath::root());
        return Err(commands::not_found_at(context, named));
    }
    let mut missing: BTreeMap<&str, usize> = BTreeMap::new();
    with(Outcome::Missing).for_each(|file| *missing.entry(&file.formatter).or_default() += 1);
    let missing = missing.into_iter().map(|(formatter, files)| Missing {
        formatter: formatter.to_owned(),
        files,
        install: formatters::install_advice(formatter).to_owned(),
    });
    let changed =
        |file: &FormattedFile| File { path: path(file), formatter: file.formatter.clone() };
    let failed = |file: &FormattedFile| {
        let File { path, formatter } = changed(file);
        Failed { path, formatter, message: file.message.clone() }
    };
    Ok(Reply {
        changed: with(Outcome::Changed).take(MAX_FILES).map(changed).collect(),
        changed_count: with(Outcome::Changed).count(),
        unchanged: with(Outcome::Same).count(),
        failed: with(Outcome::Failed).take(MAX_FILES).map(failed).collect(),
        missing: missing.collect(),
        unknown: with(Outcome::Unknown).take(MAX_FILES).map(path).collect(),
        message: commands::outcome_message(context, finished),
    })
}
