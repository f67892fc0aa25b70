//! `plan_list`: lists the plans below `/plans/`, newest first (W17).

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{Entry, LineStart, Read, Slice, Want};
use yard_core::{FaultCode, Timestamp, WsPath};

use super::front_matter::{Metadata, Plan, Status};
use super::plan_file;
use crate::paging;
use crate::tool::{Context, Stop, Tool, Work};

/// Lines and bytes in which a front matter is looked for.
const HEAD_LINES: u64 = 100;
const HEAD_BYTES: u64 = 16 << 10;

/// Lists the plans below `/plans/` with what their front matter says, newest first.
#[derive(Deserialize, JsonSchema)]
pub(super) struct PlanList {
    /// Only plans of this status.
    #[schemars(extend("enum" = Status::WORDS.map(|(_, word)| word)))]
    status: Option<String>,
    /// Most plans to return; 0 is all that one answer may hold.
    #[serde(default = "crate::defaults::number::<50>")]
    limit: u64,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The plans.
    plans: Vec<Listed>,
    /// How many there are in all.
    total: usize,
    /// Whether plans remain after these.
    truncated: bool,
    /// The `cursor` that gives the plans that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct Listed {
    /// Its path.
    path: String,
    /// Its name, without `.plan`.
    name: String,
    /// What its front matter says; null if it has none.
    metadata: Option<Metadata>,
}

/// A plan before it is sorted.
struct Found {
    path: WsPath,
    metadata: Option<Metadata>,
    at: Timestamp,
}

impl Tool for PlanList {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "plan_list";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let status = args.status.as_deref().map(Status::named).transpose()?;
        let mut plans = Vec::new();
        for entry in plan_file::all(context)? {
            plans.extend(found(&entry, context)?.filter(|plan| has_status(plan, status)));
        }
        plans.sort_by(|a, b| (Reverse(a.at), &a.path).cmp(&(Reverse(b.at), &b.path)));
        let total = plans.len();
        let limit = paging::max_entries(args.limit, context.limits());
        let limit = limit.unwrap_or(context.limits().answer_entries);
        let skip = usize::try_from(args.cursor.unwrap_or(0)).unwrap_or(usize::MAX).min(total);
        let shown: Vec<Listed> =
            plans.into_iter().skip(skip).take(limit).map(|plan| listed(plan, context)).collect();
        let next = skip + shown.len();
        let truncated = next < total;
        Ok(Reply { plans: shown, total, truncated, next: truncated.then_some(next as u64) })
    }
}

/// A plan with its front matter; none if it was removed meanwhile.
fn found(entry: &Entry, context: &Context<'_>) -> Result<Option<Found>, Stop> {
    let read = context.perform(Read {
        path: entry.path.clone(),
        slice: Slice::Lines { start: LineStart::FromStart(0), limit: Some(HEAD_LINES) },
        want: Want::default(),
        max_bytes: HEAD_BYTES,
    });
    let metadata = match read {
        Ok(answer) => Plan::of(&answer.text).metadata(),
        Err(Stop::Fault(fault)) => match fault.code() {
            FaultCode::NotFound => return Ok(None),
            FaultCode::Timeout => return Err(fault.into()),
            // A plan that cannot be read is listed all the same.
            _ => None,
        },
        Err(stop) => return Err(stop),
    };
    let at = metadata.as_ref().and_then(Metadata::created).unwrap_or(entry.updated_at);
    Ok(Some(Found { path: entry.path.clone(), metadata, at }))
}

fn has_status(plan: &Found, status: Option<Status>) -> bool {
    let Some(status) = status else { return true };
    let own = plan.metadata.as_ref().and_then(|metadata| metadata.status.as_deref());
    own == Some(status.word())
}

fn listed(plan: Found, context: &Context<'_>) -> Listed {
    let name = plan.path.name().map(|name| name.to_string()).unwrap_or_default();
    let name = name.strip_suffix(plan_file::END).unwrap_or(&name).to_owned();
    Listed { path: context.display(&plan.path), name, metadata: plan.metadata }
}
