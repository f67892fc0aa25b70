//! The dialect `filesystem`: a drop-in for the MCP project's reference server for files, with its
//! argument names and answer texts. Where that one would corrupt a file, this one refuses or keeps the
//! bytes.
//!
//! One line a tool below, one file a tool beside it. `host_paths.rs` reads and shows paths, `fault.rs` words the
//! faults, `globs.rs` reads patterns.

mod create_directory;
mod directory_tree;
mod edit_file;
mod fault;
mod flexible;
mod get_file_info;
mod globs;
mod host_paths;
mod list_allowed_directories;
mod list_directory;
mod list_directory_with_sizes;
mod move_file;
mod read_file;
mod read_media_file;
mod read_multiple_files;
mod read_text_file;
mod search_files;
mod write_file;

use schemars::JsonSchema;
use serde::Serialize;

use crate::dialect::Dialect;
use crate::tool::{AnyTool, PathStyle};
use crate::{assistant, envelope};

/// How this dialect answers (F1).
pub const DIALECT: Dialect = Dialect {
    name: "filesystem",
    about: "A drop-in for the MCP project's reference server for files: the same tools, arguments and \
        answer texts. An answer is `{\"content\": text}`. Paths are absolute, at or below a directory \
        that `list_allowed_directories` names, or relative to it.",
    path_style: PathStyle::Host,
    error_code: |_, code| assistant::error_code(code),
    wrap_reply: envelope::wrap_reply,
    wrap_stop: fault::wrap_stop,
};

/// Every tool of the dialect, in the order of the reference server.
pub(crate) fn tools() -> Vec<AnyTool> {
    vec![
        AnyTool::of::<read_file::ReadFile>(),
        AnyTool::of::<read_text_file::ReadTextFile>(),
        AnyTool::of::<read_media_file::ReadMediaFile>(),
        AnyTool::of::<read_multiple_files::ReadMultipleFiles>(),
        AnyTool::of::<write_file::WriteFile>(),
        AnyTool::of::<edit_file::EditFile>(),
        AnyTool::of::<create_directory::CreateDirectory>(),
        AnyTool::of::<list_directory::ListDirectory>(),
        AnyTool::of::<list_directory_with_sizes::ListDirectoryWithSizes>(),
        AnyTool::of::<directory_tree::DirectoryTree>(),
        AnyTool::of::<move_file::MoveFile>(),
        AnyTool::of::<search_files::SearchFiles>(),
        AnyTool::of::<get_file_info::GetFileInfo>(),
        AnyTool::of::<list_allowed_directories::ListAllowedDirectories>(),
    ]
}

/// What all tools answer but `read_media_file`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    /// The answer, as text.
    content: String,
}

impl From<String> for Reply {
    fn from(content: String) -> Self {
        Self { content }
    }
}
