//! The dialect `file`: six tools on files, with dotted names and errors as answers.
//!
//! One line a tool below, one file a tool beside it; its words for faults are in `fault.rs`.

mod delete;
mod fault;
mod list;
mod patch;
mod read;
mod search;
mod write;

use crate::dialect::Dialect;
use crate::envelope;
use crate::tool::{AnyTool, Paths};

/// How this dialect answers (F1).
pub const DIALECT: Dialect = Dialect {
    name: "file",
    about: "Reading, writing, patching, listing and searching files. Paths are relative to the \
        root of the workspace; where a name must be a legal function name, `file.read` is \
        `file_read`.",
    paths: Paths::Relative,
    word: fault::word,
    done: envelope::done,
    stopped: fault::stopped,
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
