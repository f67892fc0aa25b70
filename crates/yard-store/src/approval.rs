//! Requests for approval with their planned effects, the decisions of persons, permissions for more than one call,
//! and the policy. It holds plain values and one trait; JSON is text here, and the layers above check who may decide.

use yard_core::{ApprovalId, ChatId, ContentHash, ProcessId, RunId, StepId, Timestamp};

use crate::{AuditEntry, NewTurn, Result};

/// What a person sees before deciding: a call, and exactly what it would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The dialect of the tool.
    pub toolset: String,
    /// The tool.
    pub tool: String,
    /// Its arguments, as JSON.
    pub args: String,
    /// Why a person is asked.
    pub reason: String,
    /// What it would do, path by path, as JSON.
    pub effect: String,
    /// The same as a unified diff, where texts change; never cut.
    pub diff: String,
    /// The hash of the call, of what it would do and of the state that it was planned on.
    pub state: ContentHash,
    /// The preset under which it came: it may be executed by a process with another one.
    pub preset: String,
    /// The run of a command that is over, and whose changes it is about.
    pub run: Option<RunId>,
    /// The name of the root that its paths begin with, where the caller works in several roots (R15).
    pub root: Option<String>,
}

/// A new request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApproval {
    /// Its id.
    pub id: ApprovalId,
    /// The chat that the call belongs to.
    pub chat: ChatId,
    /// The actor that asks.
    pub asked_by: String,
    /// The time.
    pub at: Timestamp,
    /// The process that asks: where the answer is a terminal, only this process can serve it.
    pub asked_in: Option<ProcessId>,
    /// The request.
    pub request: ApprovalRequest,
}

yard_core::spelled_enum! {
    /// The status of a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ApprovalStatus {
        /// It waits for a person.
        Pending = "pending",
        /// A person allowed it; it has not happened yet.
        Approved = "approved",
        /// A person denied it.
        Denied = "denied",
        /// It happened, once.
        Executed = "executed",
        /// A person allowed it, and it could not be done.
        Failed = "failed",
        /// A person allowed it and it was started, but the process that did it ended before it could say
        /// what came of it. It is not done again by itself.
        Unknown = "unknown",
        /// The caller cancelled the call.
        Withdrawn = "withdrawn",
        /// A person allowed it, and no process executed it in time.
        Expired = "expired",
    }
}

yard_core::spelled_enum! {
    /// What a person's approval covers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Scope {
        /// This call.
        Once = "once",
        /// Every such call of this chat.
        Chat = "chat",
        /// Every such call on the same paths, by a saved rule.
        Rule = "rule",
    }
}

/// The decision of a person about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it approves.
    pub approves: bool,
    /// What an approval covers.
    pub scope: Scope,
    /// A message to the agent.
    pub reason: Option<String>,
    /// The part that it approves and the rest, which it refuses, as JSON; none if it is about the whole.
    pub parts: Option<String>,
    /// The person.
    pub by: String,
    /// The time.
    pub at: Timestamp,
}

/// What a request becomes when a person gives other arguments: the new plan, which is what happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The arguments of the person, as JSON.
    pub args: String,
    /// What the call would do with them.
    pub effect: String,
    /// The same as a unified diff.
    pub diff: String,
    /// The hash of all of that.
    pub state: ContentHash,
}

/// A new decision, with everything that is recorded together with it.
#[derive(Clone, Copy, Debug)]
pub struct NewDecision<'a> {
    /// The request.
    pub id: ApprovalId,
    /// The state that the person was shown.
    pub shown: ContentHash,
    /// The decision.
    pub decision: &'a Decision,
    /// The new plan, where they gave other arguments.
    pub revision: Option<&'a Revision>,
    /// The process that is going to execute it. Without one it waits for a process that can.
    pub claimed_by: Option<ProcessId>,
    /// A permission for more than this call.
    pub grant: Option<&'a Grant>,
}

/// A request with its status, decision and answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The chat that the call belongs to.
    pub chat: ChatId,
    /// The actor that asked.
    pub asked_by: String,
    /// The time.
    pub at: Timestamp,
    /// The request as it was last shown.
    pub request: ApprovalRequest,
    /// Its status.
    pub status: ApprovalStatus,
    /// The process that asked.
    pub asked_in: Option<ProcessId>,
    /// The decision, once there is one.
    pub decision: Option<Decision>,
    /// The arguments that a person wants instead, as JSON.
    pub edited_args: Option<String>,
    /// The process that executes it, or that was about to when it ended.
    pub claimed_by: Option<ProcessId>,
    /// A command, a terminal or a web request was started by it: it must not be started again by itself.
    pub started: bool,
    /// The step in which it happened, if it changed anything.
    pub step: Option<StepId>,
    /// What the call answered, as JSON, once it was made.
    pub answer: Option<String>,
}

/// Selects requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// Only those with this status.
    pub status: Option<ApprovalStatus>,
    /// Only those of this actor.
    pub asked_by: Option<String>,
    /// Only those of this chat.
    pub chat: Option<ChatId>,
    /// Only those with this state hash.
    pub state: Option<ContentHash>,
    /// Only those about this run.
    pub run: Option<RunId>,
    /// Only those with a diff, or only those without one.
    pub has_diff: Option<bool>,
}

/// How many requests there are, and how large they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApprovalTotals {
    /// The number of requests.
    pub count: u64,
    /// The bytes of their arguments, effects and diffs.
    pub bytes: u64,
}

/// The permissions for every chat that take the place of others.
#[derive(Clone, Copy, Debug)]
pub struct ReplacedGrants<'a> {
    /// Those that are replaced. If there are others by now, nothing is set.
    pub before: &'a [Grant],
    /// Those that take their place.
    pub after: &'a [Grant],
}

/// A permission that a person gave for more than one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The chat for which it is allowed; none for all of them.
    pub chat: Option<ChatId>,
    /// What is allowed, as JSON.
    pub rule: String,
    /// The person.
    pub by: String,
    /// The time.
    pub at: Timestamp,
}

/// The requests for approval of one workspace, what persons allowed, and the policy, in the same database as its journal.
///
/// **Crash notes.** `request`, `decide`, `claim`, `close`, `renew`, `start`, `conclude` and `set_policy` return only after what
/// they wrote is flushed, each with its row, its turn, its event and its audit row, all or nothing. `reword` may be lost
/// in a crash. Everything else reads, and returns at most `limit` rows.
pub trait ApprovalStore: Send + Sync {
    /// Asks whether something may happen.
    fn request(&self, asked: &NewApproval, turn: &NewTurn, audit: &AuditEntry) -> Result<()>;

    /// Decides about a request, claims its execution and stores the permission for more than this call; a misfit if
    /// the request is not pending, or is no longer the one that was shown.
    fn decide(&self, made: &NewDecision<'_>, turn: &NewTurn, audit: &AuditEntry) -> Result<()>;

    /// Makes `claimant` the process that executes an approved request, in place of `before`; with `None` no process
    /// is. A misfit if another process has claimed it meanwhile, or something was started.
    fn claim(
        &self,
        id: ApprovalId,
        before: Option<ProcessId>,
        claimant: Option<ProcessId>,
    ) -> Result<()>;

    /// Closes a request that waits for a person, or for a process that can serve it: withdrawn or expired.
    /// A misfit in any other state.
    fn close(&self, id: ApprovalId, status: ApprovalStatus, audit: &AuditEntry) -> Result<()>;

    /// Makes a request pending again, because the approved plan is no longer what would happen; a misfit unless the
    /// request is approved and not executed.
    fn renew(
        &self,
        id: ApprovalId,
        request: &ApprovalRequest,
        turn: &NewTurn,
        audit: &AuditEntry,
    ) -> Result<()>;

    /// Replaces the reason of a pending request; what it asks for stays the same. If it is not pending any more,
    /// nothing changes.
    fn reword(&self, id: ApprovalId, reason: &str) -> Result<()>;

    /// Uses up the approval that a command starts with; a misfit unless it was given and not used yet.
    fn start(&self, id: ApprovalId, run: RunId) -> Result<()>;

    /// Stores the answer of a decided call. A request that was executed by a step stays executed, a denied one stays
    /// denied; another approved one gets `status`; in any other state nothing changes.
    fn conclude(
        &self,
        id: ApprovalId,
        status: ApprovalStatus,
        answer: &str,
        at: Timestamp,
    ) -> Result<()>;

    /// A request by its id.
    fn approval(&self, id: ApprovalId) -> Result<Option<Approval>>;

    /// The ids of requests made before `before` (or the newest), newest first. A request can have a diff of many megabytes,
    /// so that each is read by its id.
    fn approval_ids(
        &self,
        filter: &ApprovalFilter,
        before: Option<ApprovalId>,
        limit: usize,
    ) -> Result<Vec<ApprovalId>>;

    /// How many requests there are, and how large they are.
    fn approval_totals(&self, filter: &ApprovalFilter) -> Result<ApprovalTotals>;

    /// The pending requests with the times at which they were made, oldest first, at most `limit`.
    fn pending_approvals(&self, limit: usize) -> Result<Vec<(ApprovalId, Timestamp)>>;

    /// The permissions for every chat, and for this one.
    fn grants(&self, chat: Option<ChatId>) -> Result<Vec<Grant>>;

    /// The policy as it was last set, as JSON.
    fn policy(&self) -> Result<Option<String>>;

    /// Sets the policy; with `saved`, also replaces the permissions for every chat. A misfit if the policy is not `before`
    /// any more, or these permissions are not those that are to be replaced.
    fn set_policy(
        &self,
        before: Option<&str>,
        text: &str,
        saved: Option<ReplacedGrants<'_>>,
        audit: &AuditEntry,
    ) -> Result<()>;
}
