//! `write_stdin`: types into a terminal that `exec_command` opened, or polls it (X5).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::terminals::{self, MAX_WAIT, TerminalReply};
use crate::tool::{Calling, Context, Stop, Tool, Work};

/// Types characters into a session that `exec_command` opened, and returns once its program ends, waits for
/// input again, or is still busy after ten seconds. Empty chars only poll. End a line with \n; ctrl-c is
/// \u0003, ctrl-d \u0004, escape \u001b, the arrow keys \u001b[A to \u001b[D.
#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteStdin {
    /// Existing PTY session id.
    session_id: String,
    /// Characters to write to stdin.
    chars: String,
}

impl Tool for WriteStdin {
    type Args = Self;
    type Reply = TerminalReply;
    const NAME: &'static str = "write_stdin";
    const SERVED: yard_gate::ExecutableBy = yard_gate::ExecutableBy::ConnectedProcess;
    const WORK: Work = Work::Run;
    const CALLING: Calling = Calling::Strict;

    fn run(args: Self, context: &Context<'_>) -> Result<TerminalReply, Stop> {
        let look = context.attempt.send_input(&args.session_id, &args.chars, MAX_WAIT);
        let look = look.map_err(|fault| terminals::to_stop(context, fault))?;
        Ok(TerminalReply::of(context, &look))
    }
}
