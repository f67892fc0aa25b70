//! Claims: an approved call is executed by exactly one process, which claims it in the store before it begins. Other
//! processes read the answer from the store.
//!
//! The process that decides claims the execution in the same transaction. Where only the process that made the request
//! can execute it (a terminal), another process that decides claims nothing: the waiting process, or the next identical
//! call of the chat, claims it. The claim of a process that ended is taken over if it started nothing. Nothing is
//! executed here.

use serde_json::Value;
use yard_core::{ApprovalId, Call, ContentHash, Fault, FaultCode, ProcessId, Result, Timestamp};
use yard_store::{Approval, ApprovalFilter, ApprovalRequest, ApprovalStatus, StoreError};

use super::Approvals;
use crate::{OpenWorkspace, Session, Waiter};

/// How long an approval waits for a process that can execute it.
const APPROVED_MILLIS: i64 = 24 * 3_600_000;
/// How many requests are compared with a call.
const MAX_COMPARED: usize = 100;

/// The result of an attempt to claim an approved request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimTurn {
    /// This call has claimed the request and executes it now.
    Mine,
    /// Another process has claimed it, or none that can execute it has come yet.
    Others,
    /// It was started by a process that ended. Its outcome is unknown, and it is not started again.
    Lost,
    /// No process executed it in time.
    Expired,
}

/// Which process can execute an approved call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutableBy {
    /// Any process.
    AnyProcess,
    /// The process that the caller is connected to.
    ConnectedProcess,
}

impl Approvals<'_> {
    /// The process that claims a request with its decision: this one, unless another has to execute it.
    pub fn claimant(
        &self,
        call: &Call,
        approval: &Approval,
        executable_by: ExecutableBy,
    ) -> Result<Option<ProcessId>> {
        let own = self.0.open().workspace.process(call)?;
        let can_execute =
            executable_by == ExecutableBy::AnyProcess || approval.asked_in == Some(own);
        Ok(can_execute.then_some(own))
    }

    /// Claims an approved request for this call, if no process has claimed it, or the one that did has ended before it
    /// started anything.
    pub fn claim(&self, call: &Call, approval: &Approval) -> Result<ClaimTurn> {
        let open = self.0.open();
        if approval.status == ApprovalStatus::Unknown || self.is_lost(approval) {
            return Ok(ClaimTurn::Lost);
        }
        if approval.claimed_by.is_some_and(|claimant| open.workspace.is_alive(claimant)) {
            return Ok(ClaimTurn::Others);
        }
        if is_expired(approval, call) {
            // The claim of a process that ended is removed, and no process takes it over.
            let _ = open.records.claim(approval.id, approval.claimed_by, None);
            return Ok(ClaimTurn::Expired);
        }
        let own = open.workspace.process(call)?;
        match open.records.claim(approval.id, approval.claimed_by, Some(own)) {
            Ok(()) => Ok(ClaimTurn::Mine),
            Err(StoreError::Misfit(_)) => Ok(ClaimTurn::Others),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a claim back, because the call could not be started now.
    pub fn release(&self, call: &Call, id: ApprovalId) -> Result<()> {
        let open = self.0.open();
        let own = open.workspace.process(call)?;
        match open.records.claim(id, Some(own), None) {
            // It was started, or is not approved any more.
            Err(StoreError::Misfit(_)) => Ok(()),
            done => done.map_err(Fault::from),
        }
    }

    /// Whether a request was started by a process that has ended.
    pub(crate) fn is_lost(&self, row: &Approval) -> bool {
        let workspace = &self.0.open().workspace;
        let is_over = || !row.claimed_by.is_some_and(|claimant| workspace.is_alive(claimant));
        row.status == ApprovalStatus::Approved && row.started && is_over()
    }

    /// Whether a person approved a request, and the process that was to execute it ended before it began anything: a second
    /// approval executes it.
    pub(crate) fn is_left_undone(&self, row: &Approval, now: Timestamp) -> bool {
        let workspace = &self.0.open().workspace;
        row.status == ApprovalStatus::Approved
            && !row.started
            && row.claimed_by.is_some_and(|claimant| !workspace.is_alive(claimant))
            && !is_expired_at(row, now)
    }

    /// The ids and times of the requests that were approved and left undone, at most `limit`. Only for a person's session.
    pub(crate) fn left_undone(
        &self,
        now: Timestamp,
        limit: usize,
        can_execute: &dyn Fn(&Approval) -> bool,
    ) -> Result<Vec<(ApprovalId, Timestamp)>> {
        let records = &self.0.open().records;
        let filter =
            ApprovalFilter { status: Some(ApprovalStatus::Approved), ..ApprovalFilter::default() };
        let mut found = Vec::new();
        for id in records.approval_ids(&filter, None, limit)? {
            let row = records.approval(id)?;
            let row = row.filter(|row| self.is_left_undone(row, now) && can_execute(row));
            found.extend(row.map(|row| (id, row.at)));
        }
        Ok(found)
    }

    /// Whether the process that executed it is alive and has yet to store the answer.
    pub fn is_being_answered(&self, row: &Approval) -> bool {
        let workspace = &self.0.open().workspace;
        row.status == ApprovalStatus::Executed
            && row.answer.is_none()
            && row.claimed_by.is_some_and(|claimant| workspace.is_alive(claimant))
    }

    /// Whether the process that made the request is alive.
    pub fn asker_is_alive(&self, row: &Approval) -> bool {
        row.asked_in.is_some_and(|process| self.0.open().workspace.is_alive(process))
    }

    /// Withdraws a request whose caller cancelled it, or closes one that expired. A request that is being executed, or
    /// was decided meanwhile, stays as it is.
    pub fn close(&self, call: &Call, id: ApprovalId, status: ApprovalStatus) -> Result<()> {
        let (session, open) = (self.0, self.0.open());
        let row = self.get(id)?;
        let audit = session.audit_entry(call, "close approval", format!("{id} {}", status.word()));
        match open.records.close(id, status, &audit) {
            Err(StoreError::Misfit(_)) => return Ok(()),
            done => done?,
        }
        row.request.run.into_iter().for_each(|run| open.workspace.drop_run(run));
        open.changes.notify();
        Ok(())
    }

    /// Closes an approved request that no process has begun to execute, because its chat is being deleted. A fault if a
    /// process is executing it.
    pub(crate) fn take_back(&self, call: &Call, id: ApprovalId) -> Result<()> {
        let open = self.0.open();
        let Some(row) = open.records.approval(id)? else { return Ok(()) };
        if row.claimed_by.is_some_and(|claimant| open.workspace.is_alive(claimant)) {
            let message = format!(
                "the request {id} of this chat is being executed: wait until it is done before the chat is deleted"
            );
            return Err(Fault::new(FaultCode::Exists, message));
        }
        if self.is_lost(&row) {
            return self.conclude(call, id, ApprovalStatus::Unknown, &Value::Null);
        }
        if row.claimed_by.is_some() {
            // If another process claims it at this moment, the chat is not deleted.
            let _ = open.records.claim(id, row.claimed_by, None);
        }
        self.close(call, id, ApprovalStatus::Expired)
    }

    /// Counts a call that waits for a request, until the waiter leaves or is dropped.
    pub fn wait_for(&self, id: ApprovalId) -> Waiter {
        self.0.open().waiters.add(id)
    }

    /// The same, unless another call of this process waits for the request already.
    pub fn wait_first_for(&self, id: ApprovalId) -> Option<Waiter> {
        self.0.open().waiters.add_first(id)
    }
}

impl Session {
    /// The approved request that equals this call's, if no process executes it: this call executes it then.
    pub(crate) fn equal_approved_request(
        &self,
        call: &Call,
        same_asker: &ApprovalFilter,
        request: &ApprovalRequest,
    ) -> Result<Option<ApprovalId>> {
        if request.run.is_some() {
            // The command has run again, so that its changes are another request.
            return Ok(None);
        }
        let filter =
            ApprovalFilter { status: Some(ApprovalStatus::Approved), ..same_asker.clone() };
        let open: &OpenWorkspace = self.open();
        let is_claimable = |row: &Approval| {
            let claimed = row.claimed_by.is_some_and(|process| open.workspace.is_alive(process));
            !claimed && !row.started && !is_expired(row, call)
        };
        let is_same = |row: &Approval| {
            let other = &row.request;
            (&other.toolset, &other.tool, &other.args, other.state, &other.preset, &other.root)
                == (
                    &request.toolset,
                    &request.tool,
                    &request.args,
                    request.state,
                    &request.preset,
                    &request.root,
                )
        };
        self.find_request(&filter, request.state, |row| is_same(row) && is_claimable(row))
    }

    /// The request that waits for a person and equals this one.
    pub(crate) fn equal_pending_request(
        &self,
        same_asker: &ApprovalFilter,
        request: &ApprovalRequest,
    ) -> Result<Option<ApprovalId>> {
        let filter = ApprovalFilter { run: request.run, ..same_asker.clone() };
        self.find_request(&filter, request.state, |row| row.request == *request)
    }

    /// The first of the requests with a state hash that is the wanted one. They are read one after the other, because each
    /// may have a long diff.
    fn find_request(
        &self,
        filter: &ApprovalFilter,
        state: ContentHash,
        is_wanted: impl Fn(&Approval) -> bool,
    ) -> Result<Option<ApprovalId>> {
        let records = &self.open().records;
        let filter = ApprovalFilter { state: Some(state), ..filter.clone() };
        for id in records.approval_ids(&filter, None, MAX_COMPARED)? {
            let has_status = |row: &Approval| filter.status.is_none_or(|one| row.status == one);
            if records.approval(id)?.is_some_and(|row| has_status(&row) && is_wanted(&row)) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

pub(crate) fn is_expired(row: &Approval, call: &Call) -> bool {
    is_expired_at(row, call.world().now())
}

fn is_expired_at(row: &Approval, now: Timestamp) -> bool {
    let decided = row.decision.as_ref().map_or(row.at, |decision| decision.at);
    now.as_millis().saturating_sub(decided.as_millis()) > APPROVED_MILLIS
}

/// The fault of a call whose process ended after it had started.
pub fn outcome_unknown() -> Fault {
    let message = "it was approved and started, and the process that did it ended before it could say what \
                   came of it: the outcome is unknown, and it is not started again by itself. Look at what is \
                   there before you call it again";
    Fault::new(FaultCode::Stale, message)
}
