//! The inbox of a person over HTTP: what waits for a decision or an answer, in all workspaces, oldest first.

use schemars::JsonSchema;
use serde::Serialize;
use yard_gate::admin::{InboxEntry, InboxPosition, UnreadWorkspace, WaitingRequest};

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
    /// The request, as `GET .../approvals` lists it.
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

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let inbox = request.app.admin.inbox(request.identity()?, paging.page::<InboxPosition>()?)?;
    let (entries, next) = cut(inbox.entries, &paging, |entry| entry.position.to_string());
    Reply::ok(&InboxPage {
        entries: entries.iter().map(Entry::from).collect(),
        unavailable: inbox.unread.into_iter().map(Unavailable::from).collect(),
        next,
    })
}
