//! `undo_step`: undoes one step by a new step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{Show, Undo};
use yard_core::{Author, Fault, FaultCode};

use crate::tool::{Context, Stop, Tool};

/// Takes back one step of the workspace, and nothing that came after it: later changes to the same files stay
/// if they fit. Undoing is a step itself, so undoing that brings the change back. `list_steps` has the ids.
#[derive(Deserialize, JsonSchema)]
pub(super) struct UndoStep {
    /// The step's id.
    step: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The new step.
    step: String,
    /// The step that it took back.
    undoes: String,
    /// The files that changed by that.
    paths: Vec<String>,
    /// Build output that stays as it is: it is something else by now, or was not kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
}

impl Tool for UndoStep {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "undo_step";

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let wrong = "expected a step's id, as list_steps has it";
        let step = args.step.trim().parse().map_err(|_| Stop::argument("step", wrong))?;
        let shown = context.perform(Show::all(step, 0))?;
        if shown.step.author == Author::External {
            let message = "this step only wrote down what was on disk already: undoing it would remove files that \
                           nobody made here. A person can, with `toolyard undo`";
            return Err(Stop::Fault(Fault::new(FaultCode::Denied, message)));
        }
        let done = context.perform(Undo::of(step))?;
        Ok(Reply {
            step: done.step.to_string(),
            undoes: done.undoes.to_string(),
            paths: done.paths.iter().map(|path| context.display(path)).collect(),
            left: done.left.iter().map(|path| context.display(path)).collect(),
        })
    }
}
