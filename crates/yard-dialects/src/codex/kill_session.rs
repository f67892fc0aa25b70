//! `kill_session`: ends a terminal (X5).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::terminals::{self, TerminalReply};
use crate::tool::{Calling, Context, Hints, Stop, Tool, Work};

/// Ends a PTY session with everything that it started, and returns what it still said and what became of the
/// files that it changed.
#[derive(Deserialize, JsonSchema)]
pub(super) struct KillSession {
    /// Existing PTY session id.
    session_id: String,
}

impl Tool for KillSession {
    type Args = Self;
    type Reply = TerminalReply;
    const NAME: &'static str = "kill_session";
    const SERVED: yard_gate::ExecutableBy = yard_gate::ExecutableBy::ConnectedProcess;
    const WORK: Work = Work::Run;
    const CALLING: Calling = Calling::Strict;
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<TerminalReply, Stop> {
        let look = context.attempt.stop_terminal(&args.session_id);
        let look = look.map_err(|fault| terminals::to_stop(context, fault))?;
        Ok(TerminalReply::of(context, &look))
    }
}
