//! Several decisions in one request: each is made as if it were sent by itself, with its own state hash and its own result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yard_core::{ApprovalId, WorkspaceId};
use yard_gate::{Approval, DecisionInput, Scope};

use super::approvals::{self, ApprovalRow, brief, shown_state};
use super::inbox::session_in;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::word::Word;
use crate::pool::WorkKind;

/// Most decisions in one request.
const MAX_DECISIONS: usize = 50;

/// Decisions about requests of any of the caller's workspaces.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewDecisions {
    /// 1 to 50; they are made in this order, and one that fails does not stop the others.
    #[schemars(length(min = 1, max = 50))]
    decisions: Vec<DecisionInInbox>,
}

/// One decision.
#[derive(Deserialize, JsonSchema)]
pub(super) struct DecisionInInbox {
    workspace_id: String,
    approval_id: String,
    /// Whether it may happen.
    approve: bool,
    /// The `state_hash` of the request as it was shown: if it asks for something else by now, nothing is decided.
    state_hash: String,
    /// How far a yes reaches (default `once`).
    scope: Option<Word<Scope>>,
    /// A word to the agent.
    reason: Option<String>,
}

/// What became of the decisions, in their order.
#[derive(Serialize, JsonSchema)]
pub(super) struct DecisionResults {
    results: Vec<DecisionResult>,
}

/// What became of one decision.
#[derive(Serialize, JsonSchema)]
pub(super) struct DecisionResult {
    workspace_id: String,
    approval_id: String,
    /// The request after it, as lists show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<ApprovalRow>,
    /// Why nothing was decided: the answer that the decision would have got by itself, with its `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

pub(super) fn decide(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewDecisions { decisions } = request.json()?;
    if decisions.is_empty() || decisions.len() > MAX_DECISIONS {
        let message = format!("expected 1 to {MAX_DECISIONS} decisions");
        return Err(Problem::invalid("decisions", message));
    }
    let results = decisions.into_iter().map(|decision| result_of(request, decision)).collect();
    Reply::ok(&DecisionResults { results })
}

fn result_of(request: &HttpRequest, decision: DecisionInInbox) -> DecisionResult {
    let (workspace_id, approval_id) = (decision.workspace_id.clone(), decision.approval_id.clone());
    let (approval, error) = match decide_one(request, decision) {
        Ok(approval) => (Some(brief(&approval)), None),
        Err(problem) => (None, Some(problem.with_status())),
    };
    DecisionResult { workspace_id, approval_id, approval, error }
}

fn decide_one(request: &HttpRequest, decision: DecisionInInbox) -> Result<Approval, Problem> {
    let DecisionInInbox { workspace_id, approval_id, approve, state_hash, scope, reason } =
        decision;
    request.call.check()?;
    let session = session_in(request, &workspace_id)?;
    let id: ApprovalId = approval_id.parse().map_err(|_| Problem::not_found("no such approval"))?;
    let input = DecisionInput {
        approves: approve,
        scope: scope.map_or(Scope::Once, |Word(scope)| scope),
        reason,
        args: None,
        state: shown_state(&state_hash)?,
        planned: None,
        parts: None,
    };
    let decide = || {
        let call = request.call.clone().within_millis(session.limits().call_millis);
        request.app.catalog.decide(id, &input, &session, &call)
    };
    // This request counts for the person. What is approved counts for its workspace, as if it were decided by itself.
    let work = match approve {
        true => approvals::work_of(request, &session.approvals().get(id)?),
        false => WorkKind::Change,
    };
    let owner = workspace_id.parse::<WorkspaceId>().map(|id| id.to_string()).unwrap_or_default();
    Ok(request.app.pools.run_within(&owner, work, decide)??)
}
