//! The dialect `assistant`: an assistant's tools on files and folders, answered by `ok` and `value`.
//!
//! One line a tool below, one file a tool beside it; its error codes are in `fault.rs`.

mod delete_file;
mod encoding;
mod fault;
mod format_code;
mod formatters;
mod git;
mod git_commit;
mod git_diff;
mod git_log;
mod git_push;
mod git_status;
mod install_advice;
mod install_package;
mod list_directory;
mod move_file;
mod project;
mod read_file;
mod run_code;
mod run_tests;
mod search_code;
mod search_providers;
mod test_reports;
mod web_fetch;
mod web_search;
mod write_file;

pub(crate) use fault::error_code;
pub use search_providers::{Provider, search_provider};

use crate::dialect::Dialect;
use crate::relative::root;
use crate::tool::{AnyTool, PathStyle};

/// How this dialect answers (A1, within F1).
pub const DIALECT: Dialect = Dialect {
    name: "assistant",
    about: "Listing, reading, writing, moving and deleting files and directories, running code and tests, \
        the web, formatting, searching code, and git. Answers are \
        `{\"ok\": true, \"value\": ...}`, or `{\"ok\": false, \"error\": {\"code\", \"message\", \
        \"details\"}}`. Paths are relative to the root of the workspace.",
    path_style: PathStyle::Relative,
    error_code: |_, code| fault::error_code(code),
    wrap_reply: fault::wrap_reply,
    wrap_stop: fault::wrap_stop,
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
        AnyTool::of::<web_fetch::WebFetch>(),
        AnyTool::of::<web_search::WebSearch>(),
        AnyTool::of::<git_status::GitStatus>(),
        AnyTool::of::<git_diff::GitDiff>(),
        AnyTool::of::<git_log::GitLog>(),
        AnyTool::of::<git_commit::GitCommit>(),
        AnyTool::of::<git_push::GitPush>(),
        AnyTool::of::<run_tests::RunTests>(),
        AnyTool::of::<format_code::FormatCode>(),
        AnyTool::of::<install_package::InstallPackage>(),
        AnyTool::of::<search_code::SearchCode>(),
    ]
}
