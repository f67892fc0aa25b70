//! The dialect `file`: six tools on files, with dotted names and errors as answers.
//!
//! One line a tool below, one file a tool beside it; its error codes are in `fault.rs`.

mod delete;
mod fault;
mod list;
mod patch;
mod read;
mod search;
mod write;

use crate::dialect::Dialect;
use crate::envelope;
use crate::tool::{AnyTool, PathStyle};

/// How this dialect answers (F1).
pub const DIALECT: Dialect = Dialect {
    name: "file",
    about: "Reading, writing, patching, listing and searching files. Paths are relative to the \
        root of the workspace; where a name must be a legal function name, `file.read` is \
        `file_read`.",
    path_style: PathStyle::Relative,
    error_code: fault::error_code,
    wrap_reply: envelope::wrap_reply,
    wrap_stop: fault::wrap_stop,
};

/// Every tool of the dialect, in the order of its specification.
pub(crate) fn tools() -> Vec<AnyTool> {
    vec![
        AnyTool::of::<read::Read>(),
        AnyTool::of::<write::Write>(),
        AnyTool::of::<patch::Patch>(),
        AnyTool::of::<delete::Delete>(),
        AnyTool::of::<list::List>(),
        AnyTool::of::<search::Search>(),
    ]
}
