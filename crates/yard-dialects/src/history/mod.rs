//! Undo for agents: two tools that any toolset can have besides its own, where whoever runs a door wants
//! its agents to see what changed and to take it back. The catalog knows them in every toolset, so that what
//! a person approved can be done by any process, and shows them where it was told to.

mod list_steps;
mod undo_step;

use crate::tool::AnyTool;

/// Both tools.
pub(crate) fn tools() -> Vec<AnyTool> {
    vec![AnyTool::of::<list_steps::ListSteps>(), AnyTool::of::<undo_step::UndoStep>()]
}
