//! What waits for a person: the requests and questions of all workspaces in which the person may decide, oldest first.
//! A workspace that cannot be opened is named instead of hiding what the others have.

use std::fmt;
use std::str::FromStr;

use yard_core::{ApprovalId, FaultCode, QuestionId, Role, Timestamp, WorkspaceId};
use yard_store::registry::WorkspaceRow;

use super::identity::{Entered, Identity};
use super::refusal::Refusal;
use super::server::Server;
use super::workspaces::PageRequest;
use crate::{Approval, ApprovalStatus, AskedQuestion, Session};

/// The largest number of requests, and of questions, that are read of one workspace.
const MAX_OF_WORKSPACE: usize = 1_000;
/// The number of workspaces that are read from the registry at once.
const WORKSPACES_AT_ONCE: usize = 200;

/// What waits for one person.
#[derive(Debug)]
pub struct Inbox {
    /// Oldest first.
    pub entries: Vec<InboxEntry>,
    /// The workspaces that could not be opened.
    pub unread: Vec<UnreadWorkspace>,
}

/// A request or a question with its workspace.
#[derive(Debug)]
pub struct InboxEntry {
    /// The workspace in which it waits.
    pub workspace: WorkspaceRow,
    /// Where it stands in the inbox.
    pub position: InboxPosition,
    /// What waits.
    pub request: WaitingRequest,
}

/// What waits for a person.
#[derive(Debug)]
pub enum WaitingRequest {
    /// A call that the person may allow.
    Approval(Box<Approval>),
    /// A question that the person may answer.
    Question(Box<AskedQuestion>),
}

/// A workspace of which nothing could be read.
#[derive(Debug)]
pub struct UnreadWorkspace {
    /// The workspace.
    pub workspace: WorkspaceRow,
    /// Why.
    pub refusal: Refusal,
}

/// Where an entry stands: by its time, then by its id, so that pages neither overlap nor leave an entry out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InboxPosition {
    at: Timestamp,
    id: String,
}

impl fmt::Display for InboxPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.as_millis(), self.id)
    }
}

impl FromStr for InboxPosition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, id) = text.split_once('.').ok_or(())?;
        let at = Timestamp::from_millis(at.parse().map_err(drop)?);
        Ok(Self { at, id: id.to_owned() })
    }
}

/// The id of a request or of a question.
#[derive(Clone, Copy)]
enum WaitingId {
    Approval(ApprovalId),
    Question(QuestionId),
}

/// A person's session in a workspace.
struct OpenedWorkspace {
    row: WorkspaceRow,
    session: Session,
}

impl Server {
    /// One page of what waits for a person. An agent's inbox and a viewer's are empty.
    pub fn inbox(
        &self,
        identity: &Identity,
        page: PageRequest<InboxPosition>,
    ) -> Result<Inbox, Refusal> {
        let (opened, mut unread) = self.open_decidable(identity)?;
        let mut waiting = Vec::new();
        for workspace in &opened {
            match waiting_ids(&workspace.session) {
                Ok(ids) => {
                    waiting.extend(ids.into_iter().map(|(position, id)| (position, workspace, id)));
                }
                Err(refusal) => {
                    unread.push(UnreadWorkspace { workspace: workspace.row.clone(), refusal });
                }
            }
        }
        waiting.retain(|(position, ..)| page.after.as_ref().is_none_or(|after| position > after));
        waiting.sort_by(|one, other| one.0.cmp(&other.0));
        let mut entries = Vec::new();
        for (position, OpenedWorkspace { row, session }, id) in waiting {
            if entries.len() == page.limit {
                break;
            }
            if let Some(request) = still_waiting(session, id)? {
                entries.push(InboxEntry { workspace: row.clone(), position, request });
            }
        }
        Ok(Inbox { entries, unread })
    }

    /// Opens every workspace in which the person may decide.
    fn open_decidable(
        &self,
        identity: &Identity,
    ) -> Result<(Vec<OpenedWorkspace>, Vec<UnreadWorkspace>), Refusal> {
        let (mut opened, mut unread) = (Vec::new(), Vec::new());
        if matches!(identity, Identity::Agent(_)) {
            return Ok((opened, unread));
        }
        let mut after: Option<WorkspaceId> = None;
        loop {
            let rows =
                self.workspaces(identity, PageRequest { after, limit: WORKSPACES_AT_ONCE })?;
            let is_last = rows.len() < WORKSPACES_AT_ONCE;
            after = rows.last().map(|(row, _)| row.id);
            for (row, role) in rows.into_iter().filter(|(_, role)| *role >= Role::Member) {
                let entered = Entered { identity: identity.clone(), workspace: row.id, role };
                match self.session(&entered) {
                    Ok(session) => opened.push(OpenedWorkspace { row, session }),
                    Err(refusal) => {
                        unread.push(UnreadWorkspace { workspace: row, refusal });
                    }
                }
            }
            if is_last {
                return Ok((opened, unread));
            }
        }
    }
}

/// What waits in one workspace, with its place in the inbox.
fn waiting_ids(session: &Session) -> Result<Vec<(InboxPosition, WaitingId)>, Refusal> {
    let approvals = session
        .approvals()
        .pending(MAX_OF_WORKSPACE)?
        .into_iter()
        .map(|(id, at)| (InboxPosition { at, id: id.to_string() }, WaitingId::Approval(id)));
    let questions = session
        .questions()
        .pending(MAX_OF_WORKSPACE)?
        .into_iter()
        .map(|(id, at)| (InboxPosition { at, id: id.to_string() }, WaitingId::Question(id)));
    Ok(approvals.chain(questions).collect())
}

/// What waits under an id; nothing if it was decided, answered or removed since the ids were read.
fn still_waiting(session: &Session, id: WaitingId) -> Result<Option<WaitingRequest>, Refusal> {
    let found = match id {
        WaitingId::Approval(id) => session.approvals().get(id).map(|approval| {
            let waits = approval.status == ApprovalStatus::Pending;
            waits.then(|| WaitingRequest::Approval(Box::new(approval)))
        }),
        WaitingId::Question(id) => session.questions().get(id).map(|question| {
            let waits = question.answer.is_none();
            waits.then(|| WaitingRequest::Question(Box::new(question)))
        }),
    };
    match found {
        Err(fault) if fault.code() == FaultCode::NotFound => Ok(None),
        found => Ok(found?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written() {
        let position = InboxPosition { at: Timestamp::from_millis(1_234), id: "a-b".to_owned() };
        assert_eq!(position.to_string().parse(), Ok(position));
        for other in ["", "12", "x.a-b"] {
            assert_eq!(other.parse::<InboxPosition>(), Err(()), "{other}");
        }
    }
}
