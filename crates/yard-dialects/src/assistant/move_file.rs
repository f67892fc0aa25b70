//! `move_file`: a file or directory gets another path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, OnExisting, Want};
use yard_core::{Fault, FaultCode, FileKind, Subject, WsPath};
use yard_gate::Asks;

use crate::relative;
use crate::tool::{Context, Stop, Tool};

pub(super) struct MoveFile;

/// Moves or renames a file or directory. `to` is its new path, name included.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Where it is, relative to the workspace root.
    from: String,
    /// Where it shall be, relative to the workspace root: the whole path, not the directory that it
    /// goes into.
    to: String,
    /// Replace a file that is at `to`; otherwise it is an error.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// Where it was, relative to the workspace root.
    from: String,
    /// Where it is, relative to the workspace root.
    to: String,
}

impl Tool for MoveFile {
    type Args = Args;
    type Reply = Reply;
    const NAME: &'static str = "move_file";
    const ASKS: Asks = Asks::ToOverwrite;

    fn run(args: Args, context: &Context<'_>) -> Result<Reply, Stop> {
        let from = context.path(&args.from)?;
        let to = context.path_about(&args.to, Subject::Destination)?;
        if from != to {
            check_no_folder(&from, &to, context)?;
        }
        let on_existing = match args.overwrite {
            true => OnExisting::Replace,
            false => OnExisting::Refuse,
        };
        let order = op::Move { from, to, into_folder: false, on_existing };
        let moved = context.perform(order).map_err(|stop| {
            stop.map_fault(|fault| match fault.code() {
                FaultCode::Exists if !args.overwrite => {
                    let message =
                        format!("{}, or send `overwrite`: true to replace it", fault.message());
                    Stop::Fault(fault.reworded(message))
                }
                _ => Stop::Fault(fault),
            })
        })?;
        Ok(Reply { from: context.shown(&moved.from), to: context.shown(&moved.to) })
    }
}

/// A move that finds a folder goes into it; here the path was meant.
fn check_no_folder(from: &WsPath, to: &WsPath, context: &Context<'_>) -> Result<(), Stop> {
    let found = context.perform(op::Stat { path: to.clone(), want: Want::default(), follow: true });
    match found {
        Ok(found) if found.entry.kind == Some(FileKind::Folder) => {
            let folder = context.shown(to);
            let message = format!(
                "{folder} is a directory, and no directory is replaced. To move into it, send \
                 {folder}/{} as `to`",
                relative::name(from)
            );
            Err(Stop::Fault(Fault::new(FaultCode::Exists, message).about(Subject::Destination)))
        }
        // What is wrong with the path is for the move to say.
        Ok(_) | Err(Stop::Fault(_)) => Ok(()),
        Err(stop) => Err(stop),
    }
}
