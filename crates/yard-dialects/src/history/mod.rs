//! Undo for agents: two tools that any toolset can have besides its own, where whoever runs a door wants
//! its agents to see what changed and to take it back. The catalog knows them in every toolset, so that what
//! a person approved can be done by any process, and shows them where it was told to.

mod list_steps;
mod undo_step;

use yard_core::WsPath;

use crate::tool::{AnyTool, Context, Paths};
use crate::{filesystem, relative};

/// Both tools.
pub(crate) fn tools() -> Vec<AnyTool> {
    vec![AnyTool::of::<list_steps::ListSteps>(), AnyTool::of::<undo_step::UndoStep>()]
}

/// A path as callers of this toolset write it.
fn shown(context: &Context<'_>, path: &WsPath) -> String {
    match context.paths {
        Paths::Rooted => path.to_string(),
        Paths::Relative => relative::shown(path),
        Paths::Host => filesystem::shown(context, path),
    }
}
