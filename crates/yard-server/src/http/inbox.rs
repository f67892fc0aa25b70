//! The inbox of a person over HTTP: what waits for a decision or an answer, in all workspaces, oldest first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Role, Timestamp, WorkspaceId};
use yard_gate::admin::{InboxEntry, InboxPart, InboxPosition, UnreadWorkspace, WaitingRequest};
use yard_gate::{Approval, Session};

use super::approvals::{self, ApprovalRow};
use super::paging::{Paging, cut};
use super::problem::Problem;
use super::questions::QuestionRow;
use super::reply::Reply;
use super::request::HttpRequest;

/// Something that waits for the caller.
#[derive(Serialize, JsonSchema)]
pub(super) struct Entry {
    workspace_id: String,
    workspace_name: String,
    /// `approval` or `question`.
    kind: &'static str,
    /// When the agent asked.
    waiting_since: String,
    /// Until when the caller put it off; null if they did not.
    later_until: Option<String>,
    /// The request, as `GET .../approvals` lists it. One with status `approved` was left undone by a process that ended: the
    /// same decision once more does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<ApprovalRow>,
    /// The question, as `GET .../questions` lists it.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<QuestionRow>,
}

impl From<&InboxEntry> for Entry {
    fn from(entry: &InboxEntry) -> Self {
        let (kind, waiting_since, approval, question) = match &entry.request {
            WaitingRequest::Approval(approval) => {
                ("approval", approval.at, Some(approvals::brief(approval)), None)
            }
            WaitingRequest::Question(question) => {
                ("question", question.at, None, Some(QuestionRow::from(question.as_ref())))
            }
        };
        Self {
            workspace_id: entry.workspace.id.to_string(),
            workspace_name: entry.workspace.name.clone(),
            kind,
            waiting_since: waiting_since.to_string(),
            later_until: entry.later_until.map(|until| until.to_string()),
            approval,
            question,
        }
    }
}

/// A workspace that could not be opened.
#[derive(Serialize, JsonSchema)]
pub(super) struct Unavailable {
    workspace_id: String,
    workspace_name: String,
    /// Why it could not be opened.
    error: String,
}

impl From<UnreadWorkspace> for Unavailable {
    fn from(unread: UnreadWorkspace) -> Self {
        Self {
            workspace_id: unread.workspace.id.to_string(),
            workspace_name: unread.workspace.name,
            error: Problem::from(unread.refusal).message(),
        }
    }
}

/// What waits for the caller, oldest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct InboxPage {
    entries: Vec<Entry>,
    /// Workspaces whose requests are missing here, because they could not be opened.
    unavailable: Vec<Unavailable>,
    /// More remain: send this as `cursor`.
    next: Option<String>,
}

/// Which part of the inbox.
#[derive(Clone, Deserialize, JsonSchema)]
pub(super) struct InboxQuery {
    /// At most that many entries, 1 to 1,000 (default 100).
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    cursor: Option<String>,
    /// Only what the caller put off and that has not come back yet, instead of everything else.
    later: Option<bool>,
}

/// Something to put off.
#[derive(Deserialize, JsonSchema)]
pub(super) struct PutOff {
    workspace_id: String,
    /// The id of a request or of a question.
    item_id: String,
    /// When it comes back, as RFC 3339, within a year; without it, it comes back now. It stays pending for
    /// everybody else.
    until: Option<String>,
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let InboxQuery { limit, cursor, later } = request.query()?;
    let paging = Paging { limit, cursor };
    let part = if later == Some(true) { InboxPart::Later } else { InboxPart::Now };
    let page = paging.page::<InboxPosition>()?;
    let catalog = &request.app.catalog;
    let can_execute = |approval: &Approval| catalog.is_executable_by_any_process(approval);
    let inbox = request.app.admin.inbox(request.identity()?, page, part, &can_execute)?;
    let (entries, next) = cut(inbox.entries, &paging, |entry| entry.position.to_string());
    Reply::ok(&InboxPage {
        entries: entries.iter().map(Entry::from).collect(),
        unavailable: inbox.unread.into_iter().map(Unavailable::from).collect(),
        next,
    })
}

pub(super) fn put_off(request: &HttpRequest) -> Result<Reply, Problem> {
    let PutOff { workspace_id, item_id, until } = request.json()?;
    let until = until.as_deref().map(|text| {
        let wrong = "expected a time as RFC 3339 writes it, such as 2026-01-31T09:00:00Z; leave it out to have it back now";
        Timestamp::parse(text).ok_or_else(|| Problem::invalid("until", wrong))
    });
    let session = session_in(request, &workspace_id)?;
    session.put_off(&request.call, &item_id, until.transpose()?)?;
    Ok(Reply::empty())
}

/// The caller's session in a workspace in which they may decide.
pub(super) fn session_in(request: &HttpRequest, workspace: &str) -> Result<Session, Problem> {
    // A text that is no id is answered like the id of a missing workspace.
    let workspace = workspace.parse().unwrap_or(WorkspaceId::from_bytes([0; 16]));
    let admin = &request.app.admin;
    let entered = admin.enter(request.identity()?.clone(), workspace, Role::Member)?;
    Ok(admin.session(&entered)?)
}
