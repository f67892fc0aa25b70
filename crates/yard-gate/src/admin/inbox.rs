//! What waits for a person: the requests and questions of all workspaces in which the person may decide, oldest first. A
//! request that was approved and that an ended process left undone waits again, for a second approval. A workspace that
//! cannot be opened is named instead of hiding what the others have. A person may have hundreds of workspaces: the inbox
//! uses one at a time.

use std::fmt;
use std::str::FromStr;

use yard_core::{ApprovalId, FaultCode, QuestionId, Role, Timestamp};
use yard_store::registry::WorkspaceRow;

use super::identity::{Entered, Identity};
use super::refusal::Refusal;
use super::server::Server;
use super::workspaces::PageRequest;
use crate::{Approval, ApprovalStatus, AskedQuestion, Session};

/// The largest number of requests, and of questions, that are read of one workspace in addition to those that were put off.
const MAX_OF_WORKSPACE: usize = 1_000;
/// The largest number of approved requests of a workspace of which is found out whether they were left undone.
const MAX_APPROVED: usize = 100;

/// Which part of what waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxPart {
    /// What the person did not put off.
    Now,
    /// What the person put off and that has not come back yet.
    Later,
}

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
    /// Until when the person put it off.
    pub later_until: Option<Timestamp>,
    /// What waits.
    pub request: WaitingRequest,
}

/// What waits for a person.
#[derive(Debug)]
pub enum WaitingRequest {
    /// A call that the person may allow; or that was allowed and left undone, if its status is `approved`.
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

/// Something that waits, before it is read.
struct Waiting<'a> {
    position: InboxPosition,
    workspace: &'a DecidableWorkspace,
    id: WaitingId,
    later_until: Option<Timestamp>,
}

/// A workspace in which the person may decide.
struct DecidableWorkspace {
    row: WorkspaceRow,
    entered: Entered,
}

impl DecidableWorkspace {
    fn unread(&self, refusal: Refusal) -> UnreadWorkspace {
        UnreadWorkspace { workspace: self.row.clone(), refusal }
    }
}

impl Server {
    /// One page of what waits for a person. An agent's inbox and a viewer's are empty. `can_execute` says whether a second
    /// approval could execute an approved request in this process.
    pub fn inbox(
        &self,
        identity: &Identity,
        page: PageRequest<InboxPosition>,
        part: InboxPart,
        can_execute: &dyn Fn(&Approval) -> bool,
    ) -> Result<Inbox, Refusal> {
        let workspaces = self.decidable_workspaces(identity)?;
        let (mut waiting, mut unread) = (Vec::new(), Vec::new());
        for workspace in &workspaces {
            match self.waiting_in(workspace, can_execute) {
                Ok(found) => waiting.extend(found),
                Err(refusal) => unread.push(workspace.unread(refusal)),
            }
        }
        waiting.retain(|one| one.later_until.is_some() == (part == InboxPart::Later));
        waiting.retain(|one| page.after.as_ref().is_none_or(|after| one.position > *after));
        waiting.sort_by(|one, other| one.position.cmp(&other.position));
        let mut entries = Vec::new();
        // What was decided since its id was read is left out, so that a page may need more than it has entries.
        while entries.len() < page.limit && !waiting.is_empty() {
            let count = waiting.len().min(page.limit - entries.len());
            entries.extend(self.read_waiting(waiting.drain(..count).collect(), &mut unread));
        }
        Ok(Inbox { entries, unread })
    }

    /// Every workspace in which the person may decide.
    fn decidable_workspaces(
        &self,
        identity: &Identity,
    ) -> Result<Vec<DecidableWorkspace>, Refusal> {
        if matches!(identity, Identity::Agent(_)) {
            return Ok(Vec::new());
        }
        let rows = self.all_workspaces(identity)?.into_iter();
        let decidable = rows.filter(|(_, role)| *role >= Role::Member).map(|(row, role)| {
            let entered = Entered { identity: identity.clone(), workspace: row.id, role };
            DecidableWorkspace { row, entered }
        });
        Ok(decidable.collect())
    }

    /// What waits in one workspace.
    fn waiting_in<'a>(
        &self,
        workspace: &'a DecidableWorkspace,
        can_execute: &dyn Fn(&Approval) -> bool,
    ) -> Result<Vec<Waiting<'a>>, Refusal> {
        let session = self.session(&workspace.entered)?;
        let put_off = session.put_off_until(self.now())?;
        let waiting = |(position, id): (InboxPosition, WaitingId)| {
            let later_until = put_off.get(&position.id).copied();
            Waiting { position, workspace, id, later_until }
        };
        // What was put off is read in addition: it must not keep anything else out.
        let limit = MAX_OF_WORKSPACE + put_off.len();
        let left_undone = session
            .approvals()
            .left_undone(self.now(), MAX_APPROVED, can_execute)?
            .into_iter()
            .map(|(id, at)| (InboxPosition { at, id: id.to_string() }, WaitingId::Approval(id)));
        let ids = waiting_ids(&session, limit)?.into_iter().chain(left_undone);
        Ok(ids.map(waiting).collect())
    }

    /// Reads what still waits, one workspace after the other, and brings it into the order of the inbox.
    fn read_waiting(
        &self,
        mut waiting: Vec<Waiting<'_>>,
        unread: &mut Vec<UnreadWorkspace>,
    ) -> Vec<InboxEntry> {
        waiting.sort_by_key(|one| one.workspace.row.id);
        let mut entries = Vec::new();
        for of_one in waiting.chunk_by(|one, other| one.workspace.row.id == other.workspace.row.id)
        {
            match self.read_entries(of_one) {
                Ok(read) => entries.extend(read),
                Err(refusal) => {
                    unread.extend(of_one.first().map(|one| one.workspace.unread(refusal)));
                }
            }
        }
        entries.sort_by(|one, other| one.position.cmp(&other.position));
        entries
    }

    /// Reads what still waits in one workspace.
    fn read_entries(&self, waiting: &[Waiting<'_>]) -> Result<Vec<InboxEntry>, Refusal> {
        let Some(first) = waiting.first() else { return Ok(Vec::new()) };
        let session = self.session(&first.workspace.entered)?;
        let mut entries = Vec::new();
        for Waiting { position, workspace, id, later_until } in waiting {
            if let Some(request) = still_waiting(&session, *id, self.now())? {
                let (workspace, position) = (workspace.row.clone(), position.clone());
                let later_until = *later_until;
                entries.push(InboxEntry { workspace, position, later_until, request });
            }
        }
        Ok(entries)
    }
}

/// What waits in one workspace, with its place in the inbox.
fn waiting_ids(
    session: &Session,
    limit: usize,
) -> Result<Vec<(InboxPosition, WaitingId)>, Refusal> {
    let approvals = session
        .approvals()
        .pending(limit)?
        .into_iter()
        .map(|(id, at)| (InboxPosition { at, id: id.to_string() }, WaitingId::Approval(id)));
    let questions = session
        .questions()
        .pending(limit)?
        .into_iter()
        .map(|(id, at)| (InboxPosition { at, id: id.to_string() }, WaitingId::Question(id)));
    Ok(approvals.chain(questions).collect())
}

/// What waits under an id; nothing if it was decided, answered or removed since the ids were read.
fn still_waiting(
    session: &Session,
    id: WaitingId,
    now: Timestamp,
) -> Result<Option<WaitingRequest>, Refusal> {
    let approvals = session.approvals();
    let found = match id {
        WaitingId::Approval(id) => approvals.get(id).map(|approval| {
            let waits = approval.status == ApprovalStatus::Pending
                || approvals.is_left_undone(&approval, now);
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
