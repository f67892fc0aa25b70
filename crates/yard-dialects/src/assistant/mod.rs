//! The dialect `assistant`: an assistant's tools on files and folders, answered by `ok` and `value`.
//!
//! One line a tool below, one file a tool beside it; its words for faults are in `fault.rs`.

mod delete_file;
mod encoding;
mod fault;
mod list_directory;
mod move_file;
mod read_file;
mod run_code;
mod write_file;

pub(crate) use fault::word;

use crate::catalog::Dialect;
use crate::tool::{AnyTool, Paths};

/// How this dialect answers (A1, within F1).
pub const DIALECT: Dialect = Dialect {
    name: "assistant",
    about: "Listing, reading, writing, moving and deleting files and directories, and running code. Answers are \
        `{\"ok\": true, \"value\": ...}`, or `{\"ok\": false, \"error\": {\"code\", \"message\", \
        \"details\"}}`. Paths are relative to the root of the workspace.",
    paths: Paths::Relative,
    word: |_, code| fault::word(code),
    done: fault::done,
    stopped: fault::stopped,
};

/// Every tool of the dialect, in the order of its specification.
pub(crate) fn tools() -> Vec<AnyTool> {
    vec![
        AnyTool::of::<list_directory::ListDirectory>(),
        AnyTool::of::<read_file::ReadFile>(),
        AnyTool::of::<write_file::WriteFile>(),
        AnyTool::of::<delete_file::DeleteFile>(),
        AnyTool::of::<move_file::MoveFile>(),
        AnyTool::of::<run_code::RunCode>(),
    ]
}
