//! `format_code`: files as their languages' formatters have them (A6). Which formatters there are,
//! `formatters/format.sh` finds out in the box.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Fault, FaultCode, WsPath};
use yard_gate::{Command, Finished};

use super::formatters::{self, Became, Formatted};
use super::git;
use crate::commands;
use crate::tool::{Context, Hints, Stop, Tool, Work};

const FORMAT: &str = include_str!("formatters/format.sh");
const WALL: Duration = Duration::from_secs(300);
/// Paths that a caller may name.
const MOST_PATHS: usize = 500;
/// Files that each list of an answer names.
const MOST_FILES: usize = 500;
/// Bytes of what the script says that are read, at most.
const MOST_READ: u64 = 16 << 20;

pub(super) struct FormatCode;

/// Formats source files: Rust with rustfmt, Python with ruff or black, JavaScript, TypeScript, CSS, JSON,
/// Markdown and the like with prettier, Go with gofmt; whichever are installed, the project's own first. What
/// changes is one step that can be undone. With `check` nothing changes and the answer says what would.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
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
    type Args = Args;
    type Reply = Reply;
    const NAME: &'static str = "format_code";
    const WORK: Work = Work::Run;
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Args, context: &Context<'_>) -> Result<Reply, Stop> {
        let command = command(&args, context)?;
        let finished = match args.check {
            true => commands::look(context, &command)?,
            false => commands::run(context, &command)?,
        };
        if commands::is_out_of_time(&finished) {
            let message = "the formatters took longer than they may: name fewer `paths`";
            return Err(Stop::Fault(Fault::new(FaultCode::Timeout, message)));
        }
        git::check_kept(&finished)?;
        let printed = commands::all_said(context, &finished.ran.stdout, MOST_READ)?;
        reply(formatters::parse(&printed), &finished, context)
    }
}

fn command(args: &Args, context: &Context<'_>) -> Result<Command, Stop> {
    if args.paths.is_empty() || args.paths.len() > MOST_PATHS {
        let message = format!("expected between 1 and {MOST_PATHS} files and folders; `.` is all");
        return Err(Stop::argument("paths", message));
    }
    let script = "format.sh";
    let mode = if args.check { "check" } else { "write" };
    let words = ["sh", &format!("/run/toolyard/{script}"), mode].map(OsString::from).into_iter();
    let paths = args.paths.iter().map(|path| {
        let path = context.path(path)?;
        commands::kind_at(context, &path)?;
        Ok(from_root(&path))
    });
    let argv = words.map(Ok).chain(paths).collect::<Result<_, Stop>>()?;
    // Git is asked what is ignored, and is not to be misled there either.
    let mut command = git::command(&WsPath::root(), argv);
    for (name, value) in &args.env {
        command.env.push(commands::variable(name, value)?);
    }
    command.scripts.push((script.to_owned(), FORMAT.as_bytes().to_vec()));
    command.wall = WALL;
    Ok(command)
}

/// Never an option, whatever its name.
fn from_root(path: &WsPath) -> OsString {
    match path.is_root() {
        true => ".".into(),
        false => OsString::from_vec([b"./", path.relative()].concat()),
    }
}

fn reply(files: Vec<Formatted>, finished: &Finished, context: &Context<'_>) -> Result<Reply, Stop> {
    let shown = |file: &Formatted| git::shown(context, &WsPath::root(), &file.path);
    let of = |became: Became| files.iter().filter(move |file| file.became == became);
    if let Some(file) = of(Became::Nowhere).next() {
        let named = WsPath::from_bytes(&file.path).unwrap_or_else(|_| WsPath::root());
        return Err(commands::nothing_at(context, named));
    }
    let mut missing: BTreeMap<&str, usize> = BTreeMap::new();
    of(Became::Missing).for_each(|file| *missing.entry(&file.formatter).or_default() += 1);
    let install = |(formatter, files): (&str, usize)| Missing {
        formatter: formatter.to_owned(),
        files,
        install: formatters::remedy(formatter).to_owned(),
    };
    let changed = |file: &Formatted| File { path: shown(file), formatter: file.formatter.clone() };
    let failed = |file: &Formatted| {
        let File { path, formatter } = changed(file);
        Failed { path, formatter, message: file.words.clone() }
    };
    Ok(Reply {
        changed: of(Became::Changed).take(MOST_FILES).map(changed).collect(),
        changed_count: of(Became::Changed).count(),
        unchanged: of(Became::Same).count(),
        failed: of(Became::Failed).take(MOST_FILES).map(failed).collect(),
        missing: missing.into_iter().map(install).collect(),
        unknown: of(Became::Unknown).take(MOST_FILES).map(shown).collect(),
        message: commands::story(context, finished),
    })
}
