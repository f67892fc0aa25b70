//! `exec_command`: starts a command on a terminal, which outlives the call (X5).

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::FaultCode;

use crate::commands;
use crate::stop::completed;
use crate::terminals::{MAX_WAIT, TerminalReply};
use crate::tool::{Calling, Context, Stop, Tool, Work};

/// Starts a command on a terminal (PTY) of its own, in a sandbox that sees the workspace,
/// and returns once it ends, waits for input, or is still busy after ten seconds: it then goes on in the
/// background. Type into it and poll it with `write_stdin`. Use it for prompts, editors, pagers, servers and
/// other long work; `shell` is better for a command that just ends. It changes the workspace directly, so
/// that opening it, and reaching a host that is not allowed yet, may need a person's approval; what it changes is
/// recorded as steps that can be undone, but for git's own files and what ignore files exclude.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ExecCommand {
    /// Opaque PTY session identifier: a name of your choice, not in use in this chat.
    session_id: String,
    /// Command to execute in PTY, as a shell reads it.
    cmd: String,
    /// Working directory (optional), relative to the workspace root.
    workdir: Option<String>,
}

impl Tool for ExecCommand {
    type Args = Self;
    type Reply = TerminalReply;
    const NAME: &'static str = "exec_command";
    const SERVED: yard_gate::ExecutableBy = yard_gate::ExecutableBy::ConnectedProcess;
    const WORK: Work = Work::Run;
    const CALLING: Calling = Calling::Strict;

    fn run(args: Self, context: &Context<'_>) -> Result<TerminalReply, Stop> {
        if args.cmd.trim().is_empty() || args.cmd.contains('\0') {
            return Err(Stop::argument("cmd", "expected a command, without a NUL"));
        }
        let folder = match args.workdir.as_deref() {
            Some(folder) if !folder.is_empty() => commands::start_folder(context, folder)?,
            _ => context.whole()?,
        };
        let life = context.session().terminals().longest_life();
        let command = commands::in_shell(&args.cmd, folder, life);
        let opened = context.attempt.open_terminal(&args.session_id, &command, MAX_WAIT);
        let opened = opened.map_err(|fault| match fault.code() {
            FaultCode::BadArgument => Stop::argument("session_id", fault.message()),
            _ => {
                let folder = std::slice::from_ref(&command.folder);
                Stop::Fault(context.fault_for_caller(fault, folder))
            }
        })?;
        Ok(TerminalReply::of(context, &completed(opened)?))
    }
}
