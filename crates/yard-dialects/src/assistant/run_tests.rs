//! `run_tests`: a project's tests, with what came of them as data (A6). Who runs them, and in which
//! environment, the project's files say (`project/`); `tests_told/run.sh` runs them in the box, and says what
//! is not installed there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use yard_core::{Fault, FaultCode, WsPath};
use yard_gate::{Command, Finished};

use super::project::{self, Found, Runner, Wanted, python};
use super::tests_told::{self, Failure, Told};
use super::{remedy, root};
use crate::tool::{Context, Stop, Tool, Work};
use crate::{args, commands};

const RUN: &str = include_str!("tests_told/run.sh");
const RUN_PYTHON: &str = include_str!("tests_told/run.py");
/// Bytes of the end of what was said that an answer shows.
const MOST_OUTPUT: usize = 16 << 10;
/// Bytes of what a framework printed that are read, at most.
const MOST_READ: u64 = 16 << 20;

pub(super) struct RunTests;

/// Runs the tests of a project in a sandbox and tells how many passed, failed and were skipped, and what
/// went wrong in those that failed. The project's own environment is used: its `.venv`, uv, poetry, pdm, hatch,
/// tox; npm, pnpm, yarn or bun (Node's own runner, Jest, Vitest); cargo, go, Maven, Gradle, make, CMake. Where
/// it is not installed the answer says how to get it, and nothing else is run. What the tests change in the
/// workspace is kept as one step that can be undone.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// What runs the tests; `auto` looks at the project's files. `npm` is the script `test` of package.json,
    /// whoever manages its packages.
    #[serde(default)]
    framework: Framework,
    /// Folder of the project, or a file or folder of tests in it; relative to the workspace root.
    #[serde(default = "root")]
    path: String,
    /// Only tests whose name contains this.
    filter: Option<String>,
    /// Environment variables.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Seconds that it may take.
    #[serde(default = "timeout")]
    timeout: f64,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Framework {
    #[default]
    Auto,
    Cargo,
    Pytest,
    Unittest,
    Tox,
    Npm,
    Go,
    Maven,
    Gradle,
    Make,
    Ctest,
}

impl From<Framework> for Wanted {
    fn from(framework: Framework) -> Self {
        match framework {
            Framework::Auto => Self::Any,
            Framework::Cargo => Self::Cargo,
            Framework::Pytest => Self::Pytest,
            Framework::Unittest => Self::Unittest,
            Framework::Tox => Self::Tox,
            Framework::Npm => Self::Script,
            Framework::Go => Self::Go,
            Framework::Maven => Self::Maven,
            Framework::Gradle => Self::Gradle,
            Framework::Make => Self::Make,
            Framework::Ctest => Self::Ctest,
        }
    }
}

fn timeout() -> f64 {
    300.0
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// What ran the tests.
    framework: String,
    /// The command.
    command: String,
    /// Tests that passed; null if that could not be told.
    passed: Option<u64>,
    /// Tests that failed, likewise.
    failed: Option<u64>,
    /// Tests that were skipped, likewise.
    skipped: Option<u64>,
    /// All of them, likewise.
    total: Option<u64>,
    /// Those that failed; of very many the first ones.
    failures: Vec<Failure>,
    /// The exit code; 0 if everything went well.
    exit_code: i32,
    /// Milliseconds that it took.
    duration: u64,
    /// What was said, or the end of it.
    output: String,
    /// The file with all that was said, for `read_file`; only if much of it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_path: Option<String>,
    /// What to know besides, and what became of what the tests changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Tool for RunTests {
    type Args = Args;
    type Reply = Reply;
    const NAME: &'static str = "run_tests";
    const WORK: Work = Work::Run;

    fn run(args: Args, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        commands::kind_at(context, &path)?;
        let found = project::find_tests(context, &path, args.framework.into());
        let finished = commands::run(context, &command(&args, &path, found.as_ref(), context)?)?;
        let printed = commands::all_said(context, &finished.ran.stdout, MOST_READ)?;
        let printed = String::from_utf8_lossy(&printed);
        let (began, rest) = Began::read(&printed);
        match (began.framework, &found) {
            ("missing", Some(found)) => return Err(missing(began.command, found, context)),
            ("broken", _) => return Err(broken(began.command, rest)),
            ("none", _) => return Err(no_project(context, &path)),
            ("nowhere", _) => return Err(nowhere(context, &path)),
            _ => {}
        }
        let (said, told) = tests_told::read(began.framework, args.filter.as_deref(), rest);
        let mut reply = reply(&began, told, said, &finished, context);
        if let (Some(_), Some(why)) = (&args.filter, found.as_ref().and_then(ignores_filter)) {
            let message = reply.message.into_iter().fold(why, |all, one| format!("{all}; {one}"));
            reply.message = Some(message);
        }
        if commands::is_out_of_time(&finished) {
            return Err(timed_out(reply));
        }
        Ok(reply)
    }
}

fn command(
    args: &Args,
    path: &WsPath,
    found: Option<&Found>,
    context: &Context<'_>,
) -> Result<Command, Stop> {
    let filter = args.filter.as_deref().unwrap_or_default();
    if filter.starts_with('-') || filter.contains(char::is_control) {
        let message = format!("{} is no part of a test's name", args::shown(filter));
        return Err(Stop::argument("filter", message));
    }
    let wall = commands::wall(context, "timeout", (args.timeout * 1_000.0) as u64)?;
    let (script, python) = ("run_tests.sh", "run_tests.py");
    let (runner, words) = found.map_or(("none", Vec::new()), |found| {
        let filter = Some(filter).filter(|filter| !filter.is_empty());
        words(&found.runner, filter, &format!("/run/toolyard/{python}"))
    });
    let folder = found.map_or_else(WsPath::root, |found| found.folder.clone());
    let argv = [
        "sh".into(),
        format!("/run/toolyard/{script}").into(),
        runner.into(),
        in_box(path),
        in_box(&folder),
        filter.into(),
    ];
    let argv = argv.into_iter().chain(words.into_iter().map(OsString::from)).collect();
    // Nobody watches and nobody answers. What is missing is fetched as far as a person lets the run reach its
    // hosts; another toolchain than the installed one is not.
    let usual = [
        ("CI", "1"),
        ("NO_COLOR", "1"),
        ("CARGO_TERM_COLOR", "never"),
        ("GOTOOLCHAIN", "local"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    let usual = usual.into_iter().map(|(name, value)| commands::variable(name, value));
    let own = args.env.iter().map(|(name, value)| commands::variable(name, value));
    Ok(Command {
        reach: None,
        argv,
        env: usual.chain(own).collect::<Result<_, _>>()?,
        scripts: vec![
            (script.to_owned(), RUN.as_bytes().to_vec()),
            (python.to_owned(), RUN_PYTHON.as_bytes().to_vec()),
        ],
        folder: WsPath::root(),
        wall,
    })
}

/// A path as a program names it that starts in the root of the workspace.
fn in_box(path: &WsPath) -> OsString {
    OsString::from_vec(if path.is_root() { b".".to_vec() } else { path.relative().to_vec() })
}

/// The runner as `run.sh` calls it, and what it needs to know besides. `script` is ours, for Python.
fn words(runner: &Runner, filter: Option<&str>, script: &str) -> (&'static str, Vec<String>) {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match runner {
        Runner::Cargo => ("cargo", Vec::new()),
        Runner::Go => ("go", Vec::new()),
        Runner::Make => ("make", Vec::new()),
        Runner::Ctest { build } => ("ctest", vec![build.clone()]),
        Runner::Maven { wrapper: true } => ("maven", owned(&["sh", "./mvnw"])),
        Runner::Maven { wrapper: false } => ("maven", owned(&["mvn"])),
        Runner::Gradle { wrapper: true } => ("gradle", owned(&["sh", "./gradlew"])),
        Runner::Gradle { wrapper: false } => ("gradle", owned(&["gradle"])),
        Runner::Script(tests) => {
            let program = tests.program().unwrap_or_default();
            ("script", std::iter::once(program).chain(tests.words(filter)).collect())
        }
        Runner::Python(tests) => {
            let framework = match tests.framework {
                python::Framework::Pytest => "pytest",
                python::Framework::Unittest => "unittest",
                python::Framework::Either => "either",
                python::Framework::Tox => {
                    let filter = filter.filter(|_| tests.passes_arguments);
                    return ("tox", filter.map_or_else(Vec::new, |filter| owned(&["-k", filter])));
                }
            };
            let (other, start) = tests.environment.python();
            let words = [script.to_owned(), framework.to_owned(), other];
            ("python", words.into_iter().chain(start).collect())
        }
    }
}

/// Why a filter chose nothing, where the runner has no way to choose tests.
fn ignores_filter(found: &Found) -> Option<String> {
    let runner = match &found.runner {
        Runner::Make => "make",
        Runner::Python(tests) => {
            let is_tox = tests.framework == python::Framework::Tox && !tests.passes_arguments;
            is_tox.then_some("tox, whose configuration has no {posargs},")?
        }
        _ => return None,
    };
    Some(format!("all tests ran: {runner} has no way to choose some of them by `filter`"))
}

/// The four lines that the script says first.
struct Began<'a> {
    framework: &'a str,
    /// Where the box shows the workspace.
    root: &'a str,
    /// The project's folder in it, with a slash before it.
    folder: &'a str,
    command: &'a str,
}

impl<'a> Began<'a> {
    fn read(printed: &'a str) -> (Self, &'a str) {
        let mut lines = printed.splitn(5, '\n');
        let mut line = || lines.next().unwrap_or_default();
        let began = Self { framework: line(), root: line(), folder: line(), command: line() };
        (began, lines.next().unwrap_or_default())
    }

    /// A file that a framework named, relative to the root of the workspace.
    fn shown(&self, file: &str, show: impl Fn(&WsPath) -> String) -> String {
        let inside = match file.strip_prefix(self.root) {
            Some(rest) if !self.root.is_empty() => rest.to_owned(),
            _ if file.starts_with('/') => return file.to_owned(),
            _ => format!("{}/{file}", self.folder),
        };
        let shown = WsPath::parse_shown(&inside).map(|path| show(&path));
        shown.unwrap_or_else(|_| inside.trim_start_matches('/').to_owned())
    }
}

fn reply(
    began: &Began<'_>,
    told: Option<Told>,
    printed: &str,
    finished: &Finished,
    context: &Context<'_>,
) -> Reply {
    // Python's frameworks speak to people on the other stream.
    let is_apart = matches!(began.framework, "pytest" | "unittest" | "go");
    let said = if is_apart { &finished.ran.stderr } else { &finished.ran.stdout };
    let mut output = if is_apart { commands::told(context, said).text } else { printed.to_owned() };
    if let Some(words) = told.as_ref().and_then(|told| told.text.as_deref()) {
        output.insert_str(0, words);
    }
    let exit_code = commands::code(finished);
    let counted = |count: fn(&Told) -> u64| told.as_ref().map(count);
    let unknown = told.is_none().then(|| match exit_code {
        0 => "how many tests there were could not be told from the output".to_owned(),
        _ => "the tests did not run to their end: `output` says why".to_owned(),
    });
    let message: Vec<String> =
        unknown.into_iter().chain(commands::story(context, finished)).collect();
    Reply {
        framework: began.framework.to_owned(),
        command: began.command.to_owned(),
        passed: counted(|told| told.passed),
        failed: counted(|told| told.failed),
        skipped: counted(|told| told.skipped),
        total: counted(|told| told.passed + told.failed + told.skipped),
        exit_code,
        duration: u64::try_from(finished.ran.ended.took.as_millis()).unwrap_or(u64::MAX),
        output: end_of(&output),
        output_path: said.whole.as_ref().map(|whole| context.shown(&whole.path)),
        message: (!message.is_empty()).then(|| message.join("; ")),
        failures: placed(told.map(|told| told.failures).unwrap_or_default(), began, context),
    }
}

fn placed(mut failures: Vec<Failure>, began: &Began<'_>, context: &Context<'_>) -> Vec<Failure> {
    for failure in &mut failures {
        failure.file =
            failure.file.take().map(|file| began.shown(&file, |path| context.shown(path)));
    }
    failures
}

fn end_of(text: &str) -> String {
    if text.len() <= MOST_OUTPUT {
        return text.to_owned();
    }
    let cut = text.ceil_char_boundary(text.len() - MOST_OUTPUT);
    let cut = text[cut..].find('\n').map_or(cut, |at| cut + at + 1);
    format!("[... {cut} bytes are left out here ...]\n{}", &text[cut..])
}

/// What the project runs its tests with is not installed.
fn missing(program: &str, found: &Found, context: &Context<'_>) -> Stop {
    let message = remedy::of_tests(program, found, &context.shown(&found.folder));
    Stop::Detailed(Fault::new(FaultCode::Unavailable, message), json!({"missing": program}))
}

/// What manages the project's environment is there, and cannot start its Python.
fn broken(command: &str, said: &str) -> Stop {
    let message = format!(
        "`{command}` does not start the Python of the project's environment, so that no test was run; what \
         it said is in `details`"
    );
    let details = json!({"output": end_of(said)});
    Stop::Detailed(Fault::new(FaultCode::Unavailable, message), details)
}

fn no_project(context: &Context<'_>, path: &WsPath) -> Stop {
    let message = format!(
        "nothing at {} says how its tests are run: no Cargo.toml, go.mod, pyproject.toml or tests in Python, no \
         package.json with a script `test`, no pom.xml or build.gradle, no Makefile with a target `test`, no \
         CMakeLists.txt with tests. Name the project's folder in `path`, or a `framework`",
        context.shown(path)
    );
    Stop::argument("path", message)
}

fn nowhere(context: &Context<'_>, path: &WsPath) -> Stop {
    commands::nothing_at(context, path.clone())
}

/// As of `run_code` (A3): a timeout is a fault, with what was told until then.
fn timed_out(mut reply: Reply) -> Stop {
    let message = reply.message.take().unwrap_or_default();
    let details = serde_json::to_value(&reply).unwrap_or_default();
    Stop::Detailed(Fault::new(FaultCode::Timeout, message), details)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relative;

    #[test]
    fn files_are_those_of_the_workspace() {
        let printed = "npm\n/w s\n/sub\nnpm test\nrest\nof it";
        let (began, rest) = Began::read(printed);
        assert_eq!((began.framework, began.command, rest), ("npm", "npm test", "rest\nof it"));
        assert_eq!(began.shown("/w s/sub/a.js", relative::shown), "sub/a.js");
        assert_eq!(began.shown("a.js", relative::shown), "sub/a.js");
        assert_eq!(began.shown("/usr/lib/x.js", relative::shown), "/usr/lib/x.js");
        assert_eq!(Began::read("").1, "");
    }

    #[test]
    fn r12_of_much_output_the_end_is_shown() {
        let text = "é line\n".repeat(10_000);
        let shown = end_of(&text);
        assert!(shown.len() < MOST_OUTPUT + 100 && shown.ends_with("é line\n"));
        assert!(shown.starts_with("[... "));
        assert_eq!(end_of("short"), "short");
    }
}
