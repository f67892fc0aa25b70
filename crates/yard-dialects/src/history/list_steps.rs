//! `list_steps`: lists the steps, newest first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{History, HistoryEntry, HistoryOf};
use yard_core::{Author, StepId};

use crate::tool::{Context, Stop, Tool, Work};

/// Steps in one answer.
const MAX_STEPS: u64 = 200;

/// Lists what changed in the workspace, newest first: every step of anybody, with the id under which
/// `undo_step` takes it back.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ListSteps {
    /// Only steps that changed this file.
    path: Option<String>,
    /// How many (1 to 200).
    #[serde(default = "crate::defaults::number::<20>")]
    limit: u64,
    /// Only steps older than this one: `next` of the answer before.
    before: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The steps.
    steps: Vec<ListedStep>,
    /// Older ones remain: send this as `before`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ListedStep {
    /// Its id.
    step: String,
    /// When.
    at: String,
    /// Who: an agent, a person, or somebody outside of Toolyard (`external`).
    by: String,
    /// What was done.
    verb: String,
    /// The first path that it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// How many files it changed.
    files: u64,
    /// The step that it took back.
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<String>,
}

impl Tool for ListSteps {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "list_steps";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        if !(1..=MAX_STEPS).contains(&args.limit) {
            let message = format!("expected a number from 1 to {MAX_STEPS}");
            return Err(Stop::argument("limit", message));
        }
        let before = args.before.as_deref().map(step_id).transpose()?;
        let of = match &args.path {
            Some(path) => HistoryOf::Path(context.path(path)?),
            None => context.whole().map(|_| HistoryOf::Workspace)?,
        };
        let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
        let mut steps = context.perform(History { of, limit: limit + 1, before })?.steps;
        let more = steps.len() > limit;
        steps.truncate(limit);
        let next = steps.last().filter(|_| more).map(|step| step.id.to_string());
        Ok(Reply { steps: steps.iter().map(|step| listed(context, step)).collect(), next })
    }
}

fn step_id(text: &str) -> Result<StepId, Stop> {
    let wrong = "expected a step's id: `next` of an earlier answer";
    text.trim().parse().map_err(|_| Stop::argument("before", wrong))
}

fn listed(context: &Context<'_>, step: &HistoryEntry) -> ListedStep {
    ListedStep {
        step: step.id.to_string(),
        at: step.at.to_string(),
        by: if step.author == Author::External {
            step.author.word().to_owned()
        } else {
            step.actor.clone()
        },
        verb: step.verb.clone(),
        path: step.path.as_ref().map(|path| context.display(path)),
        files: step.files,
        undoes: step.undoes.map(|step| step.to_string()),
    }
}
