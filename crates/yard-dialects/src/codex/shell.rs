//! `shell`: runs a command to its end in a box (X4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::commands;
use crate::tool::{Calling, Context, Stop, Tool, Work};

/// Runs a shell command in a sandbox that sees the workspace. What it changes in the
/// workspace is kept as one step that can be undone; replacing or deleting files that this chat did not
/// make, and reaching a host that is not allowed yet, may need a person's approval. Of long output the answer shows
/// the beginning and the end, and names a file with the whole, for `read_file` and `grep_files`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Shell {
    /// Shell command to run.
    command: String,
    /// Working directory (optional), relative to the workspace root.
    workdir: Option<String>,
    /// Timeout in milliseconds.
    #[serde(default = "crate::defaults::number::<60_000>")]
    #[schemars(range(min = 1))]
    timeout_ms: u64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// What the command wrote to its standard output; of much, the beginning and the end, and between
    /// them where the whole is.
    stdout: String,
    /// What it wrote to its standard error; of much, the beginning and the end, and between them where the
    /// whole is.
    stderr: String,
    /// Its exit code; 128 and the signal's number if a signal ended it.
    returncode: i32,
    /// Whether something of the output is left out; the text says how many bytes.
    stdout_truncated: bool,
    /// Whether something of the errors is left out; the text says how many bytes.
    stderr_truncated: bool,
    /// The file with the whole output, for `read_file` and `grep_files`; only if something is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_path: Option<String>,
    /// The file with all errors, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_path: Option<String>,
    /// Whether it ran out of time.
    timeout: bool,
    /// Why it was ended, and what became of what it changed; null if it changed nothing.
    message: Option<String>,
}

impl Tool for Shell {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "shell";
    const WORK: Work = Work::Run;
    const CALLING: Calling = Calling::Strict;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        if args.command.contains('\0') {
            return Err(Stop::argument(
                "command",
                "holds a NUL, which no command can: leave it out",
            ));
        }
        let folder = match args.workdir.as_deref() {
            Some(folder) if !folder.is_empty() => commands::start_folder(context, folder)?,
            _ => context.whole()?,
        };
        let wall = commands::time_limit(context, "timeout_ms", args.timeout_ms)?;
        let finished = commands::run(context, &commands::in_shell(&args.command, folder, wall))?;
        let stdout = commands::output_text(context, &finished.ran.stdout);
        let stderr = commands::output_text(context, &finished.ran.stderr);
        Ok(Reply {
            stdout: stdout.text,
            stderr: stderr.text,
            returncode: commands::exit_code(&finished),
            stdout_truncated: stdout.truncated,
            stderr_truncated: stderr.truncated,
            stdout_path: stdout.path,
            stderr_path: stderr.path,
            timeout: commands::is_out_of_time(&finished),
            message: commands::outcome_message(context, &finished),
        })
    }
}
