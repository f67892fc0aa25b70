//! Approvals over HTTP: what agents want to do and may not do by themselves; people see it, with its diff,
//! and decide. What was approved is done at once, and its answer kept (R16).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yard_core::ChatId;
use yard_gate::{Approval, ApprovalFilter, ApprovalStatus, MOST_ROWS, Ruling, Scope, effect_told};

use super::ask::Ask;
use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;

/// Bytes of a diff, of arguments and of a result that a list shows.
const BRIEF_BYTES: usize = 4 << 10;

/// How far a request has come.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// It waits for a person.
    Pending,
    /// A person allowed it; it has not happened yet.
    Approved,
    /// A person said no.
    Denied,
    /// It happened, once.
    Executed,
    /// A person allowed it, and it could not be done.
    Failed,
}

impl From<Status> for ApprovalStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Approved => Self::Approved,
            Status::Denied => Self::Denied,
            Status::Executed => Self::Executed,
            Status::Failed => Self::Failed,
        }
    }
}

/// Which requests.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Which {
    /// Only those that have come that far.
    status: Option<Status>,
    /// Only those of this chat.
    chat_id: Option<String>,
    /// At most that many, 1 to 1,000 (default 100).
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    cursor: Option<String>,
}

/// Yes or no.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Word {
    /// It may happen.
    Approve,
    /// It may not.
    Deny,
}

/// How far a yes reaches.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reach {
    /// This call.
    Once,
    /// Every such call of the same chat.
    Chat,
    /// Every such call on the same paths, by a saved rule.
    Rule,
}

/// A decision.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewDecision {
    /// Whether it may happen.
    decision: Word,
    /// How far a yes reaches (default `once`).
    scope: Option<Reach>,
    /// Other arguments for the call; it is then planned anew, and done without asking again.
    args: Option<Map<String, Value>>,
    /// A word to the agent.
    reason: Option<String>,
    /// The `state_hash` of the request as it was shown: if it asks for something else by now, nothing is
    /// decided.
    state_hash: Option<String>,
}

/// A request, with what became of it.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct ApprovalRow {
    id: String,
    chat_id: String,
    /// `pending`, `approved`, `denied`, `executed` or `failed`.
    status: &'static str,
    /// Who asked, as `person:ID` or `key:ID`.
    asked_by: String,
    asked_at: String,
    toolset: String,
    tool: String,
    /// The arguments of the call; null in a list where they are long.
    args: Value,
    /// Why a person is asked.
    reason: String,
    /// `paths`, each with `kind`, `path`, `file_type` and `with_contents`; and how many `more` there are.
    effect: Value,
    /// What would change, as a unified diff.
    diff: String,
    /// The hash of what would change and of the files as they were.
    state_hash: String,
    /// `approve` or `deny`, once it was decided.
    decision: Option<&'static str>,
    /// `once`, `chat` or `rule`.
    scope: Option<&'static str>,
    /// A word to the agent.
    decision_reason: Option<String>,
    /// Other arguments that the person gave.
    decision_args: Option<Value>,
    decided_by: Option<String>,
    decided_at: Option<String>,
    /// The step in which it happened, if it changed anything.
    step_id: Option<String>,
    /// What the tool answered, in its dialect's own words, once it ran.
    result: Option<Value>,
}

impl From<&Approval> for ApprovalRow {
    fn from(approval: &Approval) -> Self {
        let said = approval.decision.as_ref();
        let request = &approval.request;
        let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
        Self {
            id: approval.id.to_string(),
            chat_id: approval.chat.to_string(),
            status: approval.status.word(),
            asked_by: approval.asked_by.clone(),
            asked_at: approval.at.to_string(),
            toolset: request.toolset.clone(),
            tool: request.tool.clone(),
            args: json(&request.args),
            reason: request.reason.clone(),
            effect: effect_told(approval),
            diff: request.diff.clone(),
            state_hash: request.state.to_string(),
            decision: said.map(|said| if said.approves { "approve" } else { "deny" }),
            scope: said.map(|said| said.scope.word()),
            decision_reason: said.and_then(|said| said.reason.clone()),
            decision_args: said.and_then(|said| said.args.as_deref()).map(json),
            decided_by: said.map(|said| said.by.clone()),
            decided_at: said.map(|said| said.at.to_string()),
            step_id: approval.step.map(|step| step.to_string()),
            result: approval.answer.as_deref().map(own_words),
        }
    }
}

/// The dialect's own answer: what is inside the envelope, or the envelope of a failure.
fn own_words(answer: &str) -> Value {
    let mut kept: Value = serde_json::from_str(answer).unwrap_or_default();
    let mut body = kept["body"].take();
    match body.get_mut("result").map(Value::take) {
        None | Some(Value::Null) => body,
        Some(result) => result,
    }
}

/// A request: its fields, and the same once more by name, as every other answer has it.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneApproval {
    #[serde(flatten)]
    fields: ApprovalRow,
    approval: ApprovalRow,
}

impl From<&Approval> for OneApproval {
    fn from(approval: &Approval) -> Self {
        let row = ApprovalRow::from(approval);
        Self { fields: row.clone(), approval: row }
    }
}

/// Requests, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct ApprovalList {
    approvals: Vec<ApprovalRow>,
    /// Older ones remain: send this as `cursor`.
    next: Option<String>,
}

pub(super) fn list(ask: &Ask) -> Result<Reply, Problem> {
    let Which { status, chat_id, limit, cursor } = ask.query()?;
    let paging = Paging { limit, cursor };
    let chat = chat_id.map(|id| id.parse::<ChatId>()).transpose();
    let filter = ApprovalFilter {
        status: status.map(ApprovalStatus::from),
        asked_by: None,
        chat: chat.map_err(|_| Problem::invalid("chat_id", "expected a chat's id"))?,
    };
    let limit = paging.limit()?.min(MOST_ROWS);
    let page = ask.session()?.approvals().list(filter, paging.cursor()?, limit)?;
    let next = page.rows.last().filter(|_| page.truncated).map(|row| row.id.to_string());
    Reply::ok(&ApprovalList { approvals: page.rows.iter().map(brief).collect(), next })
}

/// A request in a list: what is long is cut, and the request by itself shows it.
fn brief(approval: &Approval) -> ApprovalRow {
    let mut row = ApprovalRow::from(approval);
    if row.diff.len() > BRIEF_BYTES {
        row.diff.truncate(row.diff.floor_char_boundary(BRIEF_BYTES));
        row.diff.push_str("\n\\ cut here: the request by itself shows the rest\n");
    }
    if approval.request.args.len() > BRIEF_BYTES {
        row.args = Value::Null;
    }
    row.result = row
        .result
        .filter(|_| approval.answer.as_ref().is_some_and(|answer| answer.len() <= BRIEF_BYTES));
    row
}

pub(super) fn read(ask: &Ask) -> Result<Reply, Problem> {
    Reply::ok(&OneApproval::from(&named(ask)?))
}

/// The request that the path names. What was approved and not done yet is done by who looks.
pub(super) fn named(ask: &Ask) -> Result<Approval, Problem> {
    let id = ask.id("approval_id", "approval")?;
    let session = ask.session()?;
    let call = ask.call.clone().within_millis(session.limits().call_millis);
    Ok(ask.app.catalog.approval(id, &session, &call)?)
}

/// Decides on the request that the path names.
pub(super) fn rule(ask: &Ask, ruling: &Ruling) -> Result<Approval, Problem> {
    let id = ask.id("approval_id", "approval")?;
    let session = ask.session()?;
    let call = ask.call.clone().within_millis(session.limits().call_millis);
    Ok(ask.app.catalog.decide(id, ruling, &session, &call)?)
}

pub(super) fn decide(ask: &Ask) -> Result<Reply, Problem> {
    let NewDecision { decision, scope, args, reason, state_hash } = ask.json()?;
    let state = state_hash.map(|hash| hash.parse()).transpose();
    let state = state.map_err(|_| Problem::invalid("state_hash", "expected a `state_hash`"))?;
    let ruling = Ruling {
        approves: matches!(decision, Word::Approve),
        scope: match scope {
            None | Some(Reach::Once) => Scope::Once,
            Some(Reach::Chat) => Scope::Chat,
            Some(Reach::Rule) => Scope::Rule,
        },
        reason,
        args: args.map(Value::Object),
        state,
    };
    Reply::ok(&OneApproval::from(&rule(ask, &ruling)?))
}
