//! `write_file`: writes a whole file, from text or from bytes (A2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::FaultCode;
use yard_core::op::{self, OnMissingFolder};
use yard_gate::Asks;

use super::encoding::Encoding;
use crate::tool::{Context, Hints, Stop, Tool};

/// Creates a file, or replaces all that an existing one holds.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteFile {
    /// Path of the file, relative to the workspace root.
    path: String,
    /// All that the file shall hold.
    content: String,
    /// How `content` is written: `utf-8` for text, `base64` for bytes.
    #[serde(default)]
    encoding: Encoding,
    /// Make the directories above the file that are missing; otherwise a missing one is an error.
    #[serde(default)]
    create_dirs: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The file, relative to the workspace root.
    path: String,
    /// Its size in bytes.
    size: usize,
}

impl Tool for WriteFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "write_file";
    const ASKS: Asks = Asks::ToOverwrite;
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let content = args.encoding.decode(args.content)?;
        let size = content.len();
        let changed = context.perform(op::Write {
            on_missing_folder: match args.create_dirs {
                true => OnMissingFolder::Make,
                false => OnMissingFolder::Refuse,
            },
            ..op::Write::replacing(context.path(&args.path)?, content)
        });
        let changed = changed.map_err(|stop| {
            stop.reword(|fault| {
                // This dialect has no other tool that makes a folder.
                (fault.code() == FaultCode::NotFound)
                    .then(|| format!("{}; send `createDirs`: true to make it", fault.message()))
            })
        })?;
        Ok(Reply { path: context.display(&changed.path), size })
    }
}
