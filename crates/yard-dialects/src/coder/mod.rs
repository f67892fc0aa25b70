//! The dialect `coder`: seven tools of a coding agent, with arguments in camel case.
//!
//! One line a tool below, one file a tool beside it; `fault.rs` answers faults.

mod apply_patch;
mod edit;
mod fault;
mod glob;
mod ls;
mod multiedit;
mod read;
mod write;

use crate::dialect::Dialect;
use crate::tool::{AnyTool, PathStyle};
use crate::{assistant, envelope};

/// How this dialect answers (F1).
pub const DIALECT: Dialect = Dialect {
    name: "coder",
    about: "Reading, writing, editing, patching and finding files, for coding. Paths are relative \
        to the root of the workspace, or absolute inside it.",
    path_style: PathStyle::Relative,
    error_code: |_, code| assistant::error_code(code),
    wrap_reply: envelope::wrap_reply,
    wrap_stop: fault::wrap_stop,
};

/// Every tool of the dialect, in the order of its specification.
pub(crate) fn tools() -> Vec<AnyTool> {
    vec![
        AnyTool::of::<read::Read>(),
        AnyTool::of::<write::Write>(),
        AnyTool::of::<edit::Edit>(),
        AnyTool::of::<multiedit::MultiEdit>(),
        AnyTool::of::<apply_patch::ApplyPatch>(),
        AnyTool::of::<ls::Ls>(),
        AnyTool::of::<glob::Glob>(),
    ]
}
