//! `write`: writes a whole file, and answers the diff.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::VersionId;
use yard_core::op;
use yard_gate::Asks;

use crate::tool::{Context, Hints, Stop, Tool};

/// Creates a file, or replaces all that an existing one holds; folders that are missing are made.
/// Answers with a unified diff of what changed. Use `edit` to change a part of a file.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Write {
    /// All that the file shall hold.
    content: String,
    /// Path of the file, relative to the workspace root.
    file_path: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// Always true: a failure is an error.
    success: bool,
    /// The file, relative to the workspace root.
    file_path: String,
    /// What changed, as a unified diff; empty if nothing did, if it was or is no text, or if it may not be
    /// shown.
    diff: String,
    /// Whether the diff is longer than one answer and was cut.
    diff_truncated: bool,
    /// Whether the file is new.
    created: bool,
}

impl Tool for Write {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "write";
    const ASKS: Asks = Asks::OnceToChange;
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.file_path)?;
        let changed = context.perform(op::Write::replacing(path, args.content.into_bytes()))?;
        let (diff, diff_truncated) = match changed.version {
            Some(version) if !changed.unchanged => diff_of(version, context),
            _ => (String::new(), false),
        };
        let file_path = context.display(&changed.path);
        Ok(Reply { success: true, file_path, diff, diff_truncated, created: changed.created })
    }
}

/// The diff of the new version, and whether it was cut. The file is written by now, so that a diff which cannot be made
/// is no failure of the call.
fn diff_of(version: VersionId, context: &Context<'_>) -> (String, bool) {
    let max_bytes = context.limits().answer_bytes;
    let shown = context.perform(op::ShowVersion { version, of: None, max_bytes });
    match shown {
        Ok(shown) => (shown.diff.unwrap_or_default(), shown.truncated),
        Err(_) => (String::new(), false),
    }
}
