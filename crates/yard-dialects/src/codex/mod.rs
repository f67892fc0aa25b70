//! The dialect `codex`: tools with strict schemas, and patches in two forms.
//!
//! One line a tool below, one file a tool beside it; `fault.rs` answers faults.

mod apply_patch;
mod exec_command;
mod fault;
mod grep_files;
mod kill_session;
mod list_dir;
mod list_sessions;
mod read_file;
mod resize_session;
mod shell;
mod write_stdin;

use crate::dialect::Dialect;
use crate::tool::{AnyTool, PathStyle};
use crate::{assistant, envelope};

/// How this dialect answers (F1).
pub const DIALECT: Dialect = Dialect {
    name: "codex",
    about: "Listing, reading, searching and patching files, running commands, and terminals, with strict schemas: every argument is \
        listed as required, and one that is left out has its default. Paths are relative to the \
        root of the workspace.",
    path_style: PathStyle::Relative,
    error_code: |_, code| assistant::error_code(code),
    wrap_reply: envelope::wrap_reply,
    wrap_stop: fault::wrap_stop,
};

/// Every tool of the dialect, in the order of its specification; then those that look after terminals.
pub(crate) fn tools() -> Vec<AnyTool> {
    vec![
        AnyTool::of::<list_dir::ListDir>(),
        AnyTool::of::<read_file::ReadFile>(),
        AnyTool::of::<grep_files::GrepFiles>(),
        AnyTool::of::<apply_patch::Json>(),
        AnyTool::of::<apply_patch::Freeform>(),
        AnyTool::of::<shell::Shell>(),
        AnyTool::of::<exec_command::ExecCommand>(),
        AnyTool::of::<write_stdin::WriteStdin>(),
        AnyTool::of::<list_sessions::ListSessions>(),
        AnyTool::of::<resize_session::ResizeSession>(),
        AnyTool::of::<kill_session::KillSession>(),
    ]
}
