//! `run_code`: runs Python or bash code to its end in a box (A3).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Fault, FaultCode, WsPath};
use yard_gate::{Command, Finished};

use super::project::{self, python::Environment};
use crate::commands;
use crate::tool::{Context, Stop, Tool, Work};

/// Runs Python or bash code in a sandbox that sees the workspace and starts in its root. Python
/// imports the workspace's modules, and what `install_package` installed in the environment of its root.
/// What the code changes in the workspace is kept as one step that can be undone; replacing or deleting
/// files that this chat did not make, and reaching a host that is not allowed yet, may need a person's approval. Of
/// long output the answer shows the beginning and the end, and names a file with the whole, for `read_file`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct RunCode {
    /// What the code is written in.
    language: Language,
    /// The code.
    code: String,
    /// Command-line arguments.
    #[serde(default)]
    args: Vec<String>,
    /// Environment variables.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Seconds that it may take.
    #[serde(default = "crate::defaults::seconds::<60>")]
    timeout: f64,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Language {
    Python,
    Bash,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// What the code wrote to its standard output; of much, the beginning and the end, and between them
    /// where the whole is.
    stdout: String,
    /// What it wrote to its standard error; of much, the beginning and the end, and between them where the
    /// whole is.
    stderr: String,
    /// The file with the whole output, for `read_file`; only if something is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_path: Option<String>,
    /// The file with all errors, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_path: Option<String>,
    /// Its exit code; 128 and the signal's number if a signal ended it.
    exit_code: i32,
    /// Milliseconds that it took.
    duration: u64,
    /// Why it was ended, and what became of what it changed; left out if it changed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Tool for RunCode {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "run_code";
    const WORK: Work = Work::Run;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let finished = commands::run(context, &command(args, context)?)?;
        let mut reply = reply(context, &finished);
        if commands::is_out_of_time(&finished) {
            // A3: a timeout is a fault, with the output until then.
            let message = reply.message.take().unwrap_or_default();
            let details = serde_json::to_value(&reply).unwrap_or_default();
            return Err(Stop::Detailed(Fault::new(FaultCode::Timeout, message), details));
        }
        Ok(reply)
    }
}

fn command(args: RunCode, context: &Context<'_>) -> Result<Command, Stop> {
    if args.args.iter().any(|argument| argument.contains('\0')) {
        return Err(Stop::argument("args", "one holds a NUL, which no argument can: leave it out"));
    }
    let name = match args.language {
        Language::Python => "code.py",
        Language::Bash => "code.sh",
    };
    // A float that is too large, negative or NaN becomes an integer that is refused.
    let wall = commands::time_limit(context, "timeout", (args.timeout * 1_000.0) as u64)?;
    let mut argv = match args.language {
        Language::Python => python(context),
        Language::Bash => vec![OsString::from("bash")],
    };
    argv.push(format!("/run/toolyard/{name}").into());
    argv.extend(args.args.into_iter().map(OsString::from));
    let env = args.env.iter().map(|(name, value)| commands::env_variable(name, value));
    let mut env: Vec<_> = env.collect::<Result<_, _>>()?;
    if matches!(args.language, Language::Python) {
        import_from_workspace(&mut env);
    }
    let scripts = vec![(name.to_owned(), args.code.into_bytes())];
    Ok(Command { env, scripts, ..Command::new(argv, WsPath::root(), wall) })
}

/// The command that starts Python: that of the workspace's environment, in which `install_package` installs, or else
/// that of the machine.
fn python(context: &Context<'_>) -> Vec<OsString> {
    let folder = project::Folder::new(context, WsPath::root());
    let own = Environment::of(&folder).venv().map(|venv| format!("{venv}/bin/python"));
    let Some(own) = own else { return vec![OsString::from("python3")] };
    ["sh", "-c", OWN_PYTHON_OR_PYTHON3, "sh", &own].map(OsString::from).to_vec()
}

/// Runs the Python `$1` if it is there, and else that of the machine.
const OWN_PYTHON_OR_PYTHON3: &str =
    r#"own=$1; shift; [ -x "$own" ] && exec "$own" "$@"; exec python3 "$@""#;

/// Lets code import modules of the workspace, although its own file is in another folder. An import writes no cache
/// files.
fn import_from_workspace(env: &mut Vec<(OsString, OsString)>) {
    const PATH: &str = "PYTHONPATH";
    const NO_CACHE: &str = "PYTHONDONTWRITEBYTECODE";
    match env.iter_mut().find(|(name, _)| name == PATH) {
        Some((_, path)) => *path = [OsString::from("."), path.clone()].join(OsStr::new(":")),
        None => env.push((PATH.into(), ".".into())),
    }
    if !env.iter().any(|(name, _)| name == NO_CACHE) {
        env.push((NO_CACHE.into(), "1".into()));
    }
}

fn reply(context: &Context<'_>, finished: &Finished) -> Reply {
    let stdout = commands::output_text(context, &finished.ran.stdout);
    let stderr = commands::output_text(context, &finished.ran.stderr);
    Reply {
        stdout: stdout.text,
        stderr: stderr.text,
        stdout_path: stdout.path,
        stderr_path: stderr.path,
        exit_code: commands::exit_code(finished),
        duration: commands::duration_millis(finished),
        message: commands::outcome_message(context, finished),
    }
}
