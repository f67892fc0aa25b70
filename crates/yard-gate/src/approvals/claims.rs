//! Who executes what was approved: exactly one process, which says so in the store before it begins. All
//! others read its answer there.
//!
//! Whoever decides claims the execution together with the decision, so that no crash comes between the
//! two. Where only the process that asked can serve the answer (a terminal), another one that decides claims
//! nothing, and the one that waits, or the chat's next identical call, does. The claim of a process that
//! ended is taken over as long as nothing was started by it. Nothing is executed here.

use yard_core::{ApprovalId, Call, Fault, FaultCode, ProcessId, Result};
use yard_kernel::store_fault;
use yard_store::{Approval, ApprovalFilter, ApprovalRequest, ApprovalStatus, StoreError};

use super::Approvals;
use crate::{OpenWorkspace, Session, Waiter};

/// How long a yes waits for a process that can serve it.
const APPROVED_MILLIS: i64 = 24 * 3_600_000;
/// Approved requests that are compared with a call.
const MOST_COMPARED: usize = 100;

/// Whose turn it is with an approved request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimTurn {
    /// This call's: it has claimed the request and executes it now.
    Mine,
    /// Another's, or nobody's until a process comes that can serve it.
    Others,
    /// It was started by a process that ended: nobody knows what came of it, and nobody starts it again.
    Lost,
    /// Nobody came to execute it in time.
    Expired,
}

/// Where the answer of a call can be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// By whichever process executes it.
    Anywhere,
    /// In the process that the caller is connected to.
    WhereCalled,
}

impl Approvals<'_> {
    /// The process that claims a request by deciding it: this one, unless another has to serve it.
    pub fn claimant(
        &self,
        call: &Call,
        approval: &Approval,
        served: Served,
    ) -> Result<Option<ProcessId>> {
        let own = self.0.open().workspace.process(call)?;
        let serves = served == Served::Anywhere || approval.asked_in == Some(own);
        Ok(serves.then_some(own))
    }

    /// Claims an approved request for this call, if it is for it to execute: nobody has claimed it, or the
    /// process that did has ended before it started anything.
    pub fn claim(&self, call: &Call, approval: &Approval) -> Result<ClaimTurn> {
        let open = self.0.open();
        if approval.status == ApprovalStatus::Unknown || self.is_lost(approval) {
            return Ok(ClaimTurn::Lost);
        }
        if approval.claimed_by.is_some_and(|claimant| open.workspace.is_alive(claimant)) {
            return Ok(ClaimTurn::Others);
        }
        if is_expired(approval, call) {
            // Nobody else takes over what a process left that ended.
            let _ = open.desk.claim(approval.id, approval.claimed_by, None);
            return Ok(ClaimTurn::Expired);
        }
        let own = open.workspace.process(call)?;
        match open.desk.claim(approval.id, approval.claimed_by, Some(own)) {
            Ok(()) => Ok(ClaimTurn::Mine),
            Err(StoreError::Misfit(_)) => Ok(ClaimTurn::Others),
            Err(error) => Err(store_fault(error)),
        }
    }

    /// Gives a claim back: what was approved could not be done now, and was not started.
    pub fn release(&self, call: &Call, id: ApprovalId) -> Result<()> {
        let open = self.0.open();
        let own = open.workspace.process(call)?;
        match open.desk.claim(id, Some(own), None) {
            // It has been started, or is not approved any more.
            Err(StoreError::Misfit(_)) => Ok(()),
            done => done.map_err(store_fault),
        }
    }

    /// Whether it was started by a process that has ended since.
    pub(crate) fn is_lost(&self, row: &Approval) -> bool {
        let workspace = &self.0.open().workspace;
        let is_over = || !row.claimed_by.is_some_and(|claimant| workspace.is_alive(claimant));
        row.status == ApprovalStatus::Approved && row.started && is_over()
    }

    /// Whether the process that executes it is still there to keep its answer.
    pub fn is_being_answered(&self, row: &Approval) -> bool {
        let workspace = &self.0.open().workspace;
        row.status == ApprovalStatus::Executed
            && row.answer.is_none()
            && row.claimed_by.is_some_and(|claimant| workspace.is_alive(claimant))
    }

    /// Whether the process that asked is still there.
    pub fn asker_is_alive(&self, row: &Approval) -> bool {
        row.asked_in.is_some_and(|process| self.0.open().workspace.is_alive(process))
    }

    /// Withdraws a request whose caller cancelled it, or closes one that expired. What is being executed, or
    /// was decided otherwise, stays as it is.
    pub fn close(&self, call: &Call, id: ApprovalId, status: ApprovalStatus) -> Result<()> {
        let (session, open) = (self.0, self.0.open());
        let row = self.get(id)?;
        let audit = session.desk_audit(call, "close approval", format!("{id} {}", status.word()));
        match open.desk.close(id, status, &audit) {
            Err(StoreError::Misfit(_)) => return Ok(()),
            done => done.map_err(store_fault)?,
        }
        row.request.run.into_iter().for_each(|run| open.workspace.drop_run(run));
        open.bell.ring();
        Ok(())
    }

    /// Counts a call that waits for a request, until what is returned is dropped.
    pub fn wait_for(&self, id: ApprovalId) -> Waiter {
        self.0.open().waiters.add(id)
    }
}

impl Session {
    /// The approved request that a call is the same as, if nobody executes it: the call does then.
    pub(crate) fn approved_already(
        &self,
        call: &Call,
        same_asker: &ApprovalFilter,
        request: &ApprovalRequest,
    ) -> Result<Option<ApprovalId>> {
        if request.run.is_some() {
            // The command has run again: what it changed is another request.
            return Ok(None);
        }
        let filter =
            ApprovalFilter { status: Some(ApprovalStatus::Approved), ..same_asker.clone() };
        let open: &OpenWorkspace = self.open();
        let rows = open.desk.approvals(&filter, None, MOST_COMPARED).map_err(store_fault)?;
        let is_free = |row: &Approval| {
            let claimed = row.claimed_by.is_some_and(|process| open.workspace.is_alive(process));
            !claimed && !row.started && !is_expired(row, call)
        };
        let is_same = |row: &&Approval| {
            let known = &row.request;
            (&known.toolset, &known.tool, &known.args, known.state, &known.preset, &known.root)
                == (
                    &request.toolset,
                    &request.tool,
                    &request.args,
                    request.state,
                    &request.preset,
                    &request.root,
                )
        };
        Ok(rows.iter().filter(is_same).find(|row| is_free(row)).map(|row| row.id))
    }
}

pub(crate) fn is_expired(row: &Approval, call: &Call) -> bool {
    let decided = row.decision.as_ref().map_or(row.at, |decision| decision.at);
    call.world().now().as_millis().saturating_sub(decided.as_millis()) > APPROVED_MILLIS
}

/// What was started and whose process ended.
pub fn lost() -> Fault {
    let message = "it was approved and started, and the process that did it ended before it could say what \
                   came of it: the outcome is unknown, and it is not started again by itself. Look at what is \
                   there before you call it again";
    Fault::new(FaultCode::Stale, message)
}
