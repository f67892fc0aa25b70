//! `move_file`: moves or renames a file or directory, and overwrites nothing.

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::op::{self, OnExisting, Stat, Want};
use yard_core::{Fault, FaultCode, Subject, WsPath};

use super::{Reply, fault, host_paths};
use crate::context::suggestions;
use crate::tool::{Context, Stop, Tool};

/// Move or rename files and directories. Can move files between directories and rename them in a single
/// operation. If the destination exists, the operation will fail. Both source and destination must be within
/// allowed directories.
#[derive(Deserialize, JsonSchema)]
pub(super) struct MoveFile {
    /// What to move: an absolute path within an allowed directory, or one relative to it.
    source: String,
    /// Its new path, name included; the directory that it goes into must exist.
    destination: String,
}

impl Tool for MoveFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "move_file";

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let from = host_paths::parse(context, &args.source, Subject::Path)?;
        let to = host_paths::parse(context, &args.destination, Subject::Destination)?;
        check_free(context, &to)?;
        let operation = op::Move {
            from: from.clone(),
            to: to.clone(),
            into_folder: false,
            on_existing: OnExisting::Refuse,
        };
        context.perform(operation).map_err(|stop| match stop {
            Stop::Fault(fault) if fault.code() == FaultCode::Exists => taken(context, &to),
            Stop::Fault(fault) if fault.code() == FaultCode::NotFound => {
                let message = format!(
                    "ENOENT: no such file or directory, rename '{}' -> '{}'",
                    context.host_display(&from),
                    context.host_display(&to)
                );
                // Either the source is missing, or the directory of the destination.
                let to_folder = to.parent().unwrap_or_else(WsPath::root);
                let missing = suggestions::suggestion(context, &from).or_else(|| {
                    (!to_folder.is_root()).then(|| fault::to_make(context, &to_folder))
                });
                Stop::Fault(fault.reworded(format!("{message}{}", missing.unwrap_or_default())))
            }
            stop => fault::of_system_call(context, "rename", &from)(stop),
        })?;
        Ok(format!("Successfully moved {} to {}", args.source, args.destination).into())
    }
}

/// A move to a folder goes into it, while this tool's argument is the whole new path.
fn check_free(context: &Context<'_>, to: &WsPath) -> Result<(), Stop> {
    let look = Stat { path: to.clone(), want: Want::default(), follow: false };
    match context.perform(look) {
        Ok(_) => Err(taken(context, to)),
        // The move itself reports what is wrong with the path.
        Err(Stop::Fault(fault)) if fault.code() != FaultCode::Timeout => Ok(()),
        Err(stop) => Err(stop),
    }
}

fn taken(context: &Context<'_>, to: &WsPath) -> Stop {
    let message =
        format!("Destination already exists: {}. Choose another name", context.host_display(to));
    Stop::Fault(Fault::new(FaultCode::Exists, message).about(Subject::Destination))
}
