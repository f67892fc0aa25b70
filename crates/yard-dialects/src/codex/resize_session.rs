//! `resize_session`: gives a terminal another size (X5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_gate::Size;

use crate::terminals;
use crate::tool::{Calling, Context, Hints, Stop, Tool};

/// The rows and the columns that a screen can have.
const SIDES: std::ops::RangeInclusive<u16> = 2..=500;

/// Gives a PTY session another size; its program is told. A new session has 24 rows of 80 columns.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ResizeSession {
    /// Existing PTY session id.
    session_id: String,
    /// How many rows.
    #[schemars(range(min = 2, max = 500))]
    rows: u16,
    /// How many columns.
    #[schemars(range(min = 2, max = 500))]
    columns: u16,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// How many rows there are now.
    rows: u16,
    /// How many columns there are now.
    columns: u16,
}

impl Tool for ResizeSession {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "resize_session";
    const SERVED: yard_gate::ExecutableBy = yard_gate::ExecutableBy::ConnectedProcess;
    const CALLING: Calling = Calling::Strict;
    const HINTS: Hints = Hints::ADDS.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let Self { session_id, rows, columns } = args;
        for (name, side) in [("rows", rows), ("columns", columns)] {
            if !SIDES.contains(&side) {
                return Err(Stop::argument(name, "expected between 2 and 500"));
            }
        }
        let size = Size { rows, columns };
        let resized = context.attempt.resize_terminal(&session_id, size);
        resized.map_err(|fault| terminals::to_stop(context, fault))?;
        Ok(Reply { rows, columns })
    }
}
