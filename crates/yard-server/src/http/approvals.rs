//! Approvals over HTTP: calls that agents may not make by themselves. People see them with their diffs, and decide. An
//! approved call is executed at once, and its answer stored (R16). The state hash that a decision needs is sent only
//! with the last part of the diff.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yard_core::{ChangePart, ContentHash, FaultCode, WsPath};
use yard_gate::{
    Approval, ApprovalFilter, ApprovalStatus, DecidedPart, DecisionInput, Scope, effect_value,
    is_for_host,
};

use super::chats;
use super::diff_part::{DiffPart, DiffPosition};
use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::word::Word;
use crate::pool::WorkKind;
use crate::waiting::work_of_approved;

/// The path of a decision.
pub(super) const DECISION_PATH: &str = "/api/v1/workspaces/{id}/approvals/{approval_id}/decision";
/// The longest diff, arguments and result that a list shows, in bytes.
const BRIEF_BYTES: usize = 4 << 10;
/// The longest diff in the answer about one request, in bytes.
const PAGE_BYTES: usize = 256 << 10;

/// Most parts of a decision that an answer lists, and most hunks of one of them.
const MAX_PARTS: usize = 1_000;
/// Most parts of a decision that a list shows of each request.
const BRIEF_PARTS: usize = 20;

/// Which requests.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ApprovalsQuery {
    /// Only those that have come that far.
    status: Option<Word<ApprovalStatus>>,
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
pub(super) enum DecisionWord {
    /// It may happen.
    Approve,
    /// It may not.
    Deny,
}

/// A decision.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewDecision {
    /// Whether it may happen.
    decision: DecisionWord,
    /// How far a yes reaches (default `once`).
    scope: Option<Word<Scope>>,
    /// Other arguments for the call; it is then planned anew, and that plan is done and kept. If it cannot
    /// be planned, nothing is decided.
    args: Option<Map<String, Value>>,
    /// The `state_hash` of the plan with these arguments, as it was shown: if something else would be done
    /// by now, nothing is decided.
    plan_hash: Option<String>,
    /// What may happen, if it is not all of it: the rest is refused, in one step with what is done. Only with a yes for
    /// this call, and without `args`. If a part is not there, nothing is decided.
    #[schemars(length(min = 1, max = 5_000))]
    parts: Option<Vec<NewPart>>,
    /// A word to the agent.
    reason: Option<String>,
    /// The `state_hash` of the request as it was shown: if it asks for something else by now, nothing is
    /// decided.
    state_hash: String,
}

/// A part of what a call would change.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewPart {
    /// The path of a file, as the diff has it; of one that moves, either. Where the diff sums up git's own files or build
    /// output, their folder.
    path: String,
    /// The hunks of the file's diff, from 0; all of them, and whatever else happens there, if it is left out. A file
    /// without a diff of its text is decided whole, as a move is.
    #[schemars(length(min = 1))]
    hunks: Option<Vec<usize>>,
}

impl NewPart {
    fn read(self) -> Result<ChangePart, Problem> {
        let path = WsPath::parse_shown(&self.path)
            .map_err(|error| Problem::invalid("parts", format!("{}: {error}", self.path)))?;
        Ok(ChangePart { path, hunks: self.hunks })
    }
}

fn read_parts(parts: Vec<NewPart>) -> Result<Vec<ChangePart>, Problem> {
    parts.into_iter().map(NewPart::read).collect()
}

/// A part of what a call would have changed.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct PartRow {
    path: String,
    /// The hunks of its diff, from 0; null is all of what happens at the path.
    hunks: Option<Vec<usize>>,
}

/// A call with other arguments.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewPlan {
    /// The arguments.
    args: Map<String, Value>,
    /// Where in the diff to go on: the `next` of the part before (default 0).
    from: Option<DiffPosition>,
}

/// What the call would do with them.
#[derive(Serialize, JsonSchema)]
pub(super) struct Plan {
    /// `paths`, each with `kind`, `path`, `file_type` and `with_contents`; and how many `more` there are.
    effect: Value,
    #[serde(flatten)]
    diff: DiffPart,
}

/// A plan, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OnePlan {
    plan: Plan,
}

/// Which part of a diff.
#[derive(Deserialize, JsonSchema)]
pub(super) struct DiffQuery {
    /// Where to go on: the `next` of the part before (default 0).
    from: Option<DiffPosition>,
}

/// A request, with what became of it.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct ApprovalRow {
    id: String,
    chat_id: String,
    /// `pending`, `approved`, `denied`, `executed`, `failed`, `unknown`, `withdrawn` or `expired`.
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
    /// What would change, as a unified diff; the beginning of a long one.
    diff: String,
    /// Bytes of the whole diff; where `diff` has fewer, `GET .../approvals/{id}/diff` has all of it.
    diff_bytes: usize,
    /// The hash of the call, of what would change and of the files as they were, which a decision needs.
    /// Null where something of that is not shown here.
    state_hash: Option<String>,
    /// `approve` or `deny`, once it was decided.
    decision: Option<&'static str>,
    /// `once`, `chat` or `rule`.
    scope: Option<&'static str>,
    /// A word to the agent.
    decision_reason: Option<String>,
    /// Other arguments that the person gave.
    decision_args: Option<Value>,
    /// The parts that were approved, if it was not all of it; of very many the first ones.
    decision_parts: Option<Vec<PartRow>>,
    /// What was refused then; of very many the first ones.
    refused: Option<Vec<PartRow>>,
    /// How many parts were refused then.
    refused_count: Option<usize>,
    decided_by: Option<String>,
    decided_at: Option<String>,
    /// The step in which it happened, if it changed anything.
    step_id: Option<String>,
    /// What the tool answered, in its dialect's own words, once it ran.
    result: Option<Value>,
}

impl From<&Approval> for ApprovalRow {
    fn from(approval: &Approval) -> Self {
        let decision = approval.decision.as_ref();
        let planned = &approval.request;
        let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
        let part = DecidedPart::of(approval);
        let refused = part.as_ref().and_then(|part| part.refused.as_ref());
        Self {
            id: approval.id.to_string(),
            chat_id: approval.chat.to_string(),
            status: approval.status.word(),
            asked_by: approval.asked_by.clone(),
            asked_at: approval.at.to_string(),
            toolset: planned.toolset.clone(),
            tool: planned.tool.clone(),
            args: json(&planned.args),
            reason: planned.reason.clone(),
            effect: effect_value(approval),
            diff: planned.diff.clone(),
            diff_bytes: planned.diff.len(),
            state_hash: Some(planned.state.to_string()),
            decision: decision.map(|decision| if decision.approves { "approve" } else { "deny" }),
            scope: decision.map(|decision| decision.scope.word()),
            decision_reason: decision.and_then(|decision| decision.reason.clone()),
            decision_args: approval.edited_args.as_deref().map(json),
            decision_parts: part.as_ref().map(|part| part_rows(&part.approved)),
            refused: refused.map(|refused| part_rows(refused)),
            refused_count: refused.map(Vec::len),
            decided_by: decision.map(|decision| decision.by.clone()),
            decided_at: decision.map(|decision| decision.at.to_string()),
            step_id: approval.step.map(|step| step.to_string()),
            result: approval.answer.as_deref().map(tool_answer),
        }
    }
}

fn part_rows(parts: &[ChangePart]) -> Vec<PartRow> {
    let row = |part: &ChangePart| PartRow {
        path: part.path.to_string(),
        hunks: part.hunks.as_ref().map(|hunks| hunks.iter().copied().take(MAX_PARTS).collect()),
    };
    parts.iter().take(MAX_PARTS).map(row).collect()
}

impl ApprovalRow {
    /// Cuts a longer diff, and leaves out the state hash: a request that is not shown as a whole cannot be decided.
    fn cut_diff(&mut self, max: usize) {
        if self.diff.len() > max {
            self.diff.truncate(self.diff.floor_char_boundary(max));
            self.state_hash = None;
        }
    }
}

/// The answer of the tool: the content of the envelope, or the envelope of a failure.
fn tool_answer(answer: &str) -> Value {
    let mut stored: Value = serde_json::from_str(answer).unwrap_or_default();
    let mut body = stored["body"].take();
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
        let mut row = ApprovalRow::from(approval);
        row.cut_diff(PAGE_BYTES);
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

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let ApprovalsQuery { status, chat_id, limit, cursor } = request.query()?;
    let paging = Paging { limit, cursor };
    let filter = ApprovalFilter {
        status: status.map(|Word(status)| status),
        asked_by: None,
        chat: chat_id.as_deref().map(chats::id).transpose()?,
        ..ApprovalFilter::default()
    };
    let session = request.session()?;
    let page = session.approvals().list(filter, paging.cursor()?, paging.limit()?)?;
    let next = page.rows.last().filter(|_| page.truncated).map(|row| row.id.to_string());
    Reply::ok(&ApprovalList { approvals: page.rows.iter().map(brief).collect(), next })
}

/// A request in a list, in which long values are cut.
pub(super) fn brief(approval: &Approval) -> ApprovalRow {
    let mut row = ApprovalRow::from(approval);
    row.cut_diff(BRIEF_BYTES);
    if approval.request.args.len() > BRIEF_BYTES {
        row.args = Value::Null;
        row.state_hash = None;
    }
    for parts in [&mut row.decision_parts, &mut row.refused].into_iter().flatten() {
        parts.truncate(BRIEF_PARTS);
        parts
            .iter_mut()
            .filter_map(|part| part.hunks.as_mut())
            .for_each(|hunks| hunks.truncate(BRIEF_PARTS));
    }
    row.result = row
        .result
        .filter(|_| approval.answer.as_ref().is_some_and(|answer| answer.len() <= BRIEF_BYTES));
    row
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    Reply::ok(&OneApproval::from(&named(request)?))
}

/// A part of the diff of the request that the path names.
pub(super) fn diff(request: &HttpRequest) -> Result<Reply, Problem> {
    let DiffQuery { from } = request.query()?;
    let approval = named(request)?;
    Reply::ok(&DiffPart::of(&approval.request.diff, from, approval.request.state)?)
}

/// Plans the call of the request that the path names with other arguments, and does nothing.
pub(super) fn plan(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewPlan { args, from } = request.json()?;
    let (approval, session) = (named(request)?, request.session()?);
    let call = request.call.clone().within_millis(session.limits().call_millis);
    session.approvals().check_may_decide(&call, approval.id)?;
    let revision = request.app.catalog.revise(&approval, &Value::Object(args), &session, &call)?;
    let effect = serde_json::from_str(&revision.effect).unwrap_or_default();
    let diff = DiffPart::of(&revision.diff, from, revision.state)?;
    Reply::ok(&OnePlan { plan: Plan { effect, diff } })
}

/// The request that the path names.
pub(super) fn named(request: &HttpRequest) -> Result<Approval, Problem> {
    let id = request.id("approval_id", "approval")?;
    Ok(request.session()?.approvals().get(id)?)
}

/// Decides the request that the path names.
pub(super) fn decide_named(
    request: &HttpRequest,
    decision: &DecisionInput,
) -> Result<Approval, Problem> {
    let id = request.id("approval_id", "approval")?;
    let session = request.session()?;
    let call = request.call.clone().within_millis(session.limits().call_millis);
    let decided = request.app.catalog.decide(id, decision, &session, &call);
    decided.map_err(|fault| match (fault.code(), &decision.parts) {
        (FaultCode::BadArgument, Some(_)) => Problem::invalid("parts", fault.message()),
        _ => fault.into(),
    })
}

/// Whether a request is a yes to the request that its path names.
pub(super) fn is_yes(request: &HttpRequest) -> bool {
    #[derive(Deserialize)]
    struct Decided {
        decision: String,
    }
    let decided = || request.body.peek::<Decided>();
    request.route.path == DECISION_PATH && decided().is_some_and(|one| one.decision == "approve")
}

/// The kind of work of a yes to the request that the path names, whose call is made at once.
pub(super) fn work(request: &HttpRequest) -> WorkKind {
    named(request).map_or(WorkKind::Change, |approval| work_of(request, &approval))
}

/// The kind of work of a yes.
pub(super) fn work_of(request: &HttpRequest, approval: &Approval) -> WorkKind {
    if is_for_host(approval) {
        // Only the rule is stored: the command that asked is running, or comes again.
        return WorkKind::Change;
    }
    let asked = &approval.request;
    work_of_approved(&request.app.catalog, &asked.toolset, &asked.tool)
}

/// The state hash that a decision carries.
pub(super) fn shown_state(text: &str) -> Result<ContentHash, Problem> {
    let wrong = "expected the `state_hash` of the request as it was shown";
    text.parse().map_err(|_| Problem::invalid("state_hash", wrong))
}

pub(super) fn decide(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewDecision { decision, scope, args, plan_hash, parts, reason, state_hash } =
        request.json()?;
    let parts: Option<Vec<ChangePart>> = parts.map(read_parts).transpose()?;
    let state = shown_state(&state_hash)?;
    let planned = plan_hash.as_deref().map(str::parse).transpose();
    let planned = planned.map_err(|_| {
        Problem::invalid("plan_hash", "expected the `state_hash` of a plan with these arguments")
    })?;
    let decision = DecisionInput {
        approves: matches!(decision, DecisionWord::Approve),
        scope: scope.map_or(Scope::Once, |Word(scope)| scope),
        reason,
        args: args.map(Value::Object),
        state,
        planned,
        parts,
    };
    Reply::ok(&OneApproval::from(&decide_named(request, &decision)?))
}
