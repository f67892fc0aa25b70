//! Undo for agents: two tools that any toolset can have besides its own. They are in every toolset of the catalog, so
//! that any process can execute their approved calls; callers see them where the door is configured to show them.

mod list_steps;
mod undo_step;

use crate::tool::AnyTool;

/// Both tools.
pub(crate) fn tools() -> Vec<AnyTool> {
    vec![AnyTool::of::<list_steps::ListSteps>(), AnyTool::of::<undo_step::UndoStep>()]
}
