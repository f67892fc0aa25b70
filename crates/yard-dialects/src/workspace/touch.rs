//! `touch`: sets a file's time, or makes an empty file (W19).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op;

use crate::tool::{Context, Hints, Stop, Tool};

/// Sets a file's modification time to now, or creates an empty file; missing folders are made. The
/// content of an existing file stays. Use `mkdir` for folders.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Touch {
    /// Full path to the file.
    path: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The file that was touched.
    path: String,
    /// Its id.
    file_id: String,
}

impl Tool for Touch {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "touch";
    const HINTS: Hints = Hints::ADDS;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let changed = context.perform(op::Touch { path })?;
        Ok(Reply { path: context.display(&changed.path), file_id: changed.file.to_string() })
    }
}
