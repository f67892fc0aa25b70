//! `run_tests`: runs a project's tests and reports the results as data (A6). The project's files name the runner and
//! the environment (`project/`); `test_reports/run.sh` runs the tests in the box, and reports missing programs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use yard_core::{Fault, FaultCode, WsPath};
use yard_gate::{Command, Finished};

use super::project::{self, ProjectTests, Runner, WantedRunner, python};
use super::test_reports::{self, Failure, TestReport};
use super::{install_advice, root};
use crate::tool::{Context, Stop, Tool, Work};
use crate::{args, commands};

const RUN: &str = include_str!("test_reports/run.sh");
const RUN_PYTHON: &str = include_str!("test_reports/run.py");
/// Bytes of the end of the output that an answer shows.
const MAX_SHOWN_OUTPUT: usize = 16 << 10;
/// Bytes of the output that are parsed.
const MAX_PARSED_OUTPUT: u64 = 16 << 20;

/// Runs the tests of a project in a sandbox and tells how many passed, failed and were skipped, and what
/// went wrong in those that failed. The project's own environment is used: its `.venv`, uv, poetry, pdm, hatch,
/// tox; npm, pnpm, yarn or bun (Node's own runner, Jest, Vitest); cargo, go, Maven, Gradle, make, CMake. Where
/// it is not installed the answer says how to get it, and nothing else is run. What the tests change in the
/// workspace is kept as one step that can be undone.
#[derive(Deserialize, JsonSchema)]
pub(super) struct RunTests {
    /// What runs the tests; `auto` looks at the project's files. `npm` is the script `test` of package.json,
    /// whoever manages its packages.
    #[serde(default)]
    framework: WantedRunner,
    /// Folder of the project, or a file or folder of tests in it; relative to the workspace root.
    #[serde(default = "root")]
    path: String,
    /// Only tests whose name contains this.
    filter: Option<String>,
    /// Environment variables.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Seconds that it may take.
    #[serde(default = "crate::defaults::seconds::<300>")]
    timeout: f64,
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
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "run_tests";
    const WORK: Work = Work::Run;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        commands::kind_at(context, &path)?;
        let tests = project::find_tests(context, &path, args.framework);
        let finished = commands::run(context, &command(&args, &path, tests.as_ref(), context)?)?;
        let stdout = context.attempt.whole_output(&finished.ran.stdout, MAX_PARSED_OUTPUT)?;
        let stdout = String::from_utf8_lossy(&stdout);
        let (header, rest) = Header::split_off(&stdout);
        match (header.framework, &tests) {
            ("missing", Some(tests)) => return Err(missing(header.command, tests, context)),
            ("broken", _) => return Err(broken(header.command, rest)),
            ("no_project", _) => return Err(no_project(context, &path)),
            ("no_such_path", _) => return Err(commands::not_found_at(context, path)),
            _ => {}
        }
        let (output, report) = test_reports::parse(header.framework, args.filter.as_deref(), rest);
        let mut reply = reply(&header, report, output, &finished, context);
        if let (Some(_), Some(why)) = (&args.filter, tests.as_ref().and_then(ignores_filter)) {
            let message = reply.message.into_iter().fold(why, |all, one| format!("{all}; {one}"));
            reply.message = Some(message);
        }
        if commands::is_out_of_time(&finished) {
            // As for `run_code` (A3): a timeout is a fault, with the results until then.
            let message = reply.message.take().unwrap_or_default();
            let details = serde_json::to_value(&reply).unwrap_or_default();
            return Err(Stop::Detailed(Fault::new(FaultCode::Timeout, message), details));
        }
        Ok(reply)
    }
}

fn command(
    args: &RunTests,
    path: &WsPath,
    tests: Option<&ProjectTests>,
    context: &Context<'_>,
) -> Result<Command, Stop> {
    let filter = args.filter.as_deref().unwrap_or_default();
    if filter.starts_with('-') || filter.contains(char::is_control) {
        let message = format!("{} is no part of a test's name", args::quoted(filter));
        return Err(Stop::argument("filter", message));
    }
    let wall = commands::time_limit(context, "timeout", (args.timeout * 1_000.0) as u64)?;
    let (script, python) = ("run_tests.sh", "run_tests.py");
    let (runner, runner_args) = tests.map_or(("none", Vec::new()), |tests| {
        let filter = Some(filter).filter(|filter| !filter.is_empty());
        script_arguments(&tests.runner, filter, &format!("/run/toolyard/{python}"))
    });
    let folder = tests.map_or_else(WsPath::root, |tests| tests.folder.clone());
    let argv = [
        "sh".into(),
        format!("/run/toolyard/{script}").into(),
        runner.into(),
        from_root(path),
        from_root(&folder),
        filter.into(),
    ];
    let argv = argv.into_iter().chain(runner_args.into_iter().map(OsString::from)).collect();
    // No person watches or answers prompts. Missing packages are fetched as far as a person lets the run reach their
    // hosts; a missing Go toolchain is not.
    let defaults = [
        ("CI", "1"),
        ("NO_COLOR", "1"),
        ("CARGO_TERM_COLOR", "never"),
        ("GOTOOLCHAIN", "local"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    let defaults = defaults.into_iter().map(|(name, value)| commands::env_variable(name, value));
    let own = args.env.iter().map(|(name, value)| commands::env_variable(name, value));
    let env = defaults.chain(own).collect::<Result<_, _>>()?;
    let scripts = vec![
        (script.to_owned(), RUN.as_bytes().to_vec()),
        (python.to_owned(), RUN_PYTHON.as_bytes().to_vec()),
    ];
    Ok(Command { env, scripts, ..Command::new(argv, WsPath::root(), wall) })
}

/// A path relative to the root of the workspace, where the script starts.
fn from_root(path: &WsPath) -> OsString {
    OsString::from_vec(if path.is_root() { b".".to_vec() } else { path.relative().to_vec() })
}

/// The name of the runner in `run.sh`, and its arguments there. `script` is the path of `run.py`.
fn script_arguments(
    runner: &Runner,
    filter: Option<&str>,
    script: &str,
) -> (&'static str, Vec<String>) {
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
            ("script", std::iter::once(program).chain(tests.command(filter)).collect())
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
            let (other, python) = tests.environment.python();
            let first = [script.to_owned(), framework.to_owned(), other];
            ("python", first.into_iter().chain(python).collect())
        }
    }
}

/// The message that all tests ran, where the runner has no way to choose some by a filter.
fn ignores_filter(tests: &ProjectTests) -> Option<String> {
    let runner = match &tests.runner {
        Runner::Make => "make",
        Runner::Python(tests) => {
            let is_tox = tests.framework == python::Framework::Tox && !tests.passes_arguments;
            is_tox.then_some("tox, whose configuration has no {posargs},")?
        }
        _ => return None,
    };
    Some(format!("all tests ran: {runner} has no way to choose some of them by `filter`"))
}

/// The first four lines of the script's output.
struct Header<'a> {
    framework: &'a str,
    /// The path of the workspace in the box.
    root: &'a str,
    /// The project's folder in it, with a slash before it.
    folder: &'a str,
    command: &'a str,
}

impl<'a> Header<'a> {
    /// The header, and the output after it.
    fn split_off(stdout: &'a str) -> (Self, &'a str) {
        let mut lines = stdout.splitn(5, '\n');
        let mut line = || lines.next().unwrap_or_default();
        let header = Self { framework: line(), root: line(), folder: line(), command: line() };
        (header, lines.next().unwrap_or_default())
    }

    /// A file that a framework named, relative to the root of the workspace.
    fn workspace_path(&self, file: &str, display: impl Fn(&WsPath) -> String) -> String {
        let inside = match file.strip_prefix(self.root) {
            Some(rest) if !self.root.is_empty() => rest.to_owned(),
            _ if file.starts_with('/') => return file.to_owned(),
            _ => format!("{}/{file}", self.folder),
        };
        let shown = WsPath::parse_shown(&inside).map(|path| display(&path));
        shown.unwrap_or_else(|_| inside.trim_start_matches('/').to_owned())
    }
}

fn reply(
    header: &Header<'_>,
    report: Option<TestReport>,
    stdout: &str,
    finished: &Finished,
    context: &Context<'_>,
) -> Reply {
    // These frameworks write data to the standard output, and their output for people to the standard error.
    let is_on_stderr = matches!(header.framework, "pytest" | "unittest" | "go");
    let (stream, mut output) = match is_on_stderr {
        true => {
            let stderr = &finished.ran.stderr;
            (stderr, commands::output_text(context, stderr).text)
        }
        false => (&finished.ran.stdout, stdout.to_owned()),
    };
    if let Some(text) = report.as_ref().and_then(|report| report.text.as_deref()) {
        output.insert_str(0, text);
    }
    let exit_code = commands::exit_code(finished);
    let count = |count: fn(&TestReport) -> u64| report.as_ref().map(count);
    let unknown = report.is_none().then(|| match exit_code {
        0 => "how many tests there were could not be told from the output".to_owned(),
        _ => "the tests did not run to their end: `output` says why".to_owned(),
    });
    let message: Vec<String> =
        unknown.into_iter().chain(commands::outcome_message(context, finished)).collect();
    Reply {
        framework: header.framework.to_owned(),
        command: header.command.to_owned(),
        passed: count(|report| report.passed),
        failed: count(|report| report.failed),
        skipped: count(|report| report.skipped),
        total: count(|report| report.passed + report.failed + report.skipped),
        exit_code,
        duration: commands::duration_millis(finished),
        output: end_of(&output),
        output_path: stream.whole.as_ref().map(|whole| context.display(&whole.path)),
        message: (!message.is_empty()).then(|| message.join("; ")),
        failures: failures(report, header, context),
    }
}

/// The failures of a report, with the paths of the workspace in place of those in the box.
fn failures(
    report: Option<TestReport>,
    header: &Header<'_>,
    context: &Context<'_>,
) -> Vec<Failure> {
    let mut failures = report.map(|report| report.failures).unwrap_or_default();
    for file in failures.iter_mut().filter_map(|failure| failure.file.as_mut()) {
        *file = header.workspace_path(file, |path| context.display(path));
    }
    failures
}

fn end_of(text: &str) -> String {
    if text.len() <= MAX_SHOWN_OUTPUT {
        return text.to_owned();
    }
    let cut = text.ceil_char_boundary(text.len() - MAX_SHOWN_OUTPUT);
    let cut = text[cut..].find('\n').map_or(cut, |at| cut + at + 1);
    format!("[... {cut} bytes are left out here ...]\n{}", &text[cut..])
}

/// The program that runs the project's tests is not installed.
fn missing(program: &str, tests: &ProjectTests, context: &Context<'_>) -> Stop {
    let message = install_advice::for_tests(program, tests, &context.display(&tests.folder));
    Stop::Detailed(Fault::new(FaultCode::Unavailable, message), json!({"missing": program}))
}

/// The program that manages the project's environment is installed, and cannot start its Python.
fn broken(command: &str, output: &str) -> Stop {
    let message = format!(
        "`{command}` does not start the Python of the project's environment, so that no test was run; what \
         it said is in `details`"
    );
    let details = json!({"output": end_of(output)});
    Stop::Detailed(Fault::new(FaultCode::Unavailable, message), details)
}

fn no_project(context: &Context<'_>, path: &WsPath) -> Stop {
    let message = format!(
        "nothing at {} says how its tests are run: no Cargo.toml, go.mod, pyproject.toml or tests in Python, no \
         package.json with a script `test`, no pom.xml or build.gradle, no Makefile with a target `test`, no \
         CMakeLists.txt with tests. Name the project's folder in `path`, or a `framework`",
        context.display(path)
    );
    Stop::argument("path", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relative;

    #[test]
    fn files_in_reports_become_paths_of_the_workspace() {
        let stdout = "npm\n/w s\n/sub\nnpm test\nrest\nof it";
        let (header, rest) = Header::split_off(stdout);
        assert_eq!((header.framework, header.command, rest), ("npm", "npm test", "rest\nof it"));
        for (file, path) in [
            ("/w s/sub/a.js", "sub/a.js"),
            ("a.js", "sub/a.js"),
            ("/usr/lib/x.js", "/usr/lib/x.js"),
        ] {
            assert_eq!(header.workspace_path(file, relative::display), path);
        }
        assert_eq!(Header::split_off("").1, "");
    }

    #[test]
    fn r12_of_much_output_the_end_is_shown() {
        let text = "é line\n".repeat(10_000);
        let shown = end_of(&text);
        assert!(shown.len() < MAX_SHOWN_OUTPUT + 100 && shown.ends_with("é line\n"));
        assert!(shown.starts_with("[... "));
        assert_eq!(end_of("short"), "short");
    }
}
