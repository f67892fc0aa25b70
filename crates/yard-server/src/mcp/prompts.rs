//! Prompts that people pick in their client: one for planning a change, one for reviewing the last changes.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use yard_core::op::{History, HistoryOf, Show};
use yard_core::{Call, Fault, Result};
use yard_gate::Session;

use super::callers::WorkspaceView;
use super::resources::perform;

const PLAN: &str = "plan";
const REVIEW: &str = "review";

/// How many steps a review reads by default, and at most.
const DEFAULT_STEPS: usize = 5;
const MAX_STEPS: usize = 50;
/// The longest diff in a review, in bytes.
const DIFF_BYTES: u64 = 128 << 10;

/// The prompts.
pub(super) fn list() -> Vec<Prompt> {
    let argument = |name: &str, about: &str, required| {
        PromptArgument::new(name).with_description(about).with_required(required)
    };
    let task = argument("task", "What shall be done.", true);
    let path = argument("path", "A file or folder that the plan is mostly about.", false);
    let steps = argument("steps", "How many of the newest steps to look at (default 5).", false);
    let plan = "Think a task through and write a plan; change nothing yet.";
    let review = "Review what was changed last, with its diffs.";
    vec![
        Prompt::new(PLAN, Some(plan), Some(vec![task, path])).with_title("Plan a change"),
        Prompt::new(REVIEW, Some(review), Some(vec![steps])).with_title("Review what changed"),
    ]
}

/// Renders a prompt.
pub(super) fn get(
    workspaces: &[WorkspaceView],
    name: &str,
    arguments: Option<&JsonObject>,
    call: &Call,
) -> std::result::Result<GetPromptResult, ErrorData> {
    let text = |name: &str| {
        let value = arguments.and_then(|arguments| arguments.get(name));
        value.and_then(|value| value.as_str()).map(str::trim).filter(|text| !text.is_empty())
    };
    let text = match name {
        PLAN => {
            let task = text("task").ok_or_else(|| {
                ErrorData::invalid_params("task: missing; say what shall be done", None)
            })?;
            plan(task, text("path"))
        }
        REVIEW => {
            let steps = text("steps").map_or(Ok(DEFAULT_STEPS), str::parse).map_err(|_| {
                let message = format!("steps: expected a number from 1 to {MAX_STEPS}");
                ErrorData::invalid_params(message, None)
            })?;
            review(workspaces, steps.clamp(1, MAX_STEPS), call).map_err(|fault: Fault| {
                ErrorData::invalid_params(fault.message().to_owned(), None)
            })?
        }
        other => {
            let message = format!("there is no prompt {other:?}; there are {PLAN} and {REVIEW}");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

fn plan(task: &str, path: Option<&str>) -> String {
    let about = path.map(|path| format!("\nIt is mostly about {path}.")).unwrap_or_default();
    format!(
        "Make a plan for this task, and change nothing yet:\n\n{task}\n{about}\n\
         Read what you need to know first. Then write the plan: what you found, what you will change file by \
         file and in which order, how you will check that it works, and what could go wrong. If you have plan \
         tools, keep it with plan_write. Ask me about whatever is not clear, and wait for my word before you \
         change anything."
    )
}

fn review(workspaces: &[WorkspaceView], steps: usize, call: &Call) -> Result<String> {
    let mut shown = String::new();
    for workspace in workspaces {
        shown.push_str(&changes(&workspace.session, steps, call)?);
    }
    if shown.is_empty() {
        shown.push_str("(nothing has changed yet)\n");
    }
    Ok(format!(
        "Review the newest changes in this workspace, oldest of them last. For each: is it right, is it \
         complete, does it fit its context, what would you do differently? Name a step's id where you \
         would undo it. Change nothing.\n\n{shown}"
    ))
}

/// The newest steps with their diffs, up to the limit.
fn changes(session: &Session, steps: usize, call: &Call) -> Result<String> {
    let history =
        perform(session, call, History { of: HistoryOf::Workspace, limit: steps, before: None })?;
    let (mut text, mut remaining) = (String::new(), DIFF_BYTES);
    for step in &history.steps {
        text.push_str(&format!(
            "step {} at {}: {} by {}\n",
            step.id, step.at, step.verb, step.actor
        ));
        let shown = perform(session, call, Show::all(step.id, remaining))?;
        for diff in shown.changes.iter().filter_map(|change| change.diff.as_deref()) {
            remaining = remaining.saturating_sub(diff.len() as u64);
            text.push_str(diff);
        }
        if shown.truncated {
            text.push_str("(cut)\n");
        }
        text.push('\n');
    }
    Ok(text)
}
