//! `move_file`: moves or renames a file or directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, OnExisting, Want};
use yard_core::{Fault, FaultCode, FileKind, Subject, WsPath};
use yard_gate::Asks;

use crate::relative;
use crate::tool::{Context, Stop, Tool};

/// Moves or renames a file or directory. `to` is its new path, name included.
#[derive(Deserialize, JsonSchema)]
pub(super) struct MoveFile {
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
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "move_file";
    const ASKS: Asks = Asks::ToOverwrite;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let from = context.path(&args.from)?;
        let to = context.path_about(&args.to, Subject::Destination)?;
        if from != to {
            check_no_folder(&from, &to, context)?;
        }
        let on_existing = match args.overwrite {
            true => OnExisting::Replace,
            false => OnExisting::Refuse,
        };
        let operation = op::Move { from, to, into_folder: false, on_existing };
        let moved = context.perform(operation).map_err(|stop| {
            stop.reword(|fault| {
                let message = fault.message();
                (fault.code() == FaultCode::Exists && !args.overwrite)
                    .then(|| format!("{message}, or send `overwrite`: true to replace it"))
            })
        })?;
        Ok(Reply { from: context.display(&moved.from), to: context.display(&moved.to) })
    }
}

/// A move to a folder goes into it, while this tool's argument is the whole new path.
fn check_no_folder(from: &WsPath, to: &WsPath, context: &Context<'_>) -> Result<(), Stop> {
    let stat = context.perform(op::Stat { path: to.clone(), want: Want::default(), follow: true });
    match stat {
        Ok(stat) if stat.entry.kind == Some(FileKind::Folder) => {
            let folder = context.display(to);
            let message = format!(
                "{folder} is a directory, and no directory is replaced. To move into it, send \
                 {folder}/{} as `to`",
                relative::name(from)
            );
            Err(Stop::Fault(Fault::new(FaultCode::Exists, message).about(Subject::Destination)))
        }
        // The move itself reports what is wrong with the path.
        Ok(_) | Err(Stop::Fault(_)) => Ok(()),
        Err(stop) => Err(stop),
    }
}
