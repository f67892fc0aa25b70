//! `create_directory`: makes a directory, and those above it.

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::{FaultCode, Subject, op};

use super::{Reply, fault, host_paths};
use crate::tool::{Context, Hints, Stop, Tool};

/// Create a new directory or ensure a directory exists. Can create multiple nested directories in one
/// operation. If the directory already exists, this operation will succeed silently. Only works within
/// allowed directories.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CreateDirectory {
    /// The directory: an absolute path within an allowed directory, or one relative to it.
    path: String,
}

impl Tool for CreateDirectory {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "create_directory";
    const HINTS: Hints = Hints::ADDS.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = host_paths::parse(context, &args.path, Subject::Path)?;
        let made = context.perform(op::Mkdir { path: path.clone() });
        made.map_err(|stop| match stop {
            Stop::Fault(fault) if fault.code() == FaultCode::NotFolder => {
                let shown = context.host_display(&path);
                let message = format!(
                    "EEXIST: file already exists, mkdir '{shown}'. Choose another name: a file is in the way"
                );
                Stop::Fault(fault.reworded(message))
            }
            stop => fault::of_system_call(context, "mkdir", &path)(stop),
        })?;
        Ok(format!("Successfully created directory {}", args.path).into())
    }
}
