//! One caller's way to one workspace: plan, judge, commit; and again if the state moved in between.

use std::sync::Arc;

use yard_core::op::Operation;
use yard_core::{Call, Effect, Fault, FaultCode, Limits, Result};
use yard_kernel::{Committed, Execute, Planned, Signed, Upload, Workspace};
use yard_store::AuditEntry;

use crate::{Actor, Policy, Verdict};

/// Most paths that an audit row names; the step itself has them all.
const AUDITED_PATHS: usize = 8;

/// Which tool of which dialect asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The dialect.
    pub toolset: &'a str,
    /// The tool, or the command.
    pub tool: &'a str,
}

/// What became of an operation that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<A> {
    /// It happened.
    Done(A),
    /// A person is asked; the door waits, no thread does.
    Pending(Pending),
}

/// An operation that waits for a person's decision. No policy asks yet: approvals come with their
/// issue, and this is the room that the types leave for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The durable request that is waited for.
    pub approval: String,
}

/// One caller's way to one workspace.
#[derive(Clone)]
pub struct Session {
    workspace: Arc<Workspace>,
    actor: Actor,
    policy: Policy,
}

impl Session {
    /// A session of `actor` under `policy`.
    pub fn new(workspace: Arc<Workspace>, actor: Actor, policy: Policy) -> Self {
        Self { workspace, actor, policy }
    }

    /// The bounds that answers keep.
    pub fn limits(&self) -> &Limits {
        self.workspace.limits()
    }

    /// The workspace's real directory, for callers that send paths below it (R2).
    pub fn host_root(&self) -> &[u8] {
        self.workspace.host_root()
    }

    /// Begins an upload: any number of bytes come to the staging folder and change nothing, until a
    /// `Place` that names them is performed.
    pub fn upload(&self, call: &Call) -> Result<Upload> {
        self.workspace.upload(call)
    }

    /// Performs one operation: the only way in.
    ///
    /// Planned, judged, committed. Where the state moved between plan and commit it is planned and
    /// judged again, because what was judged would no longer be what happens.
    pub fn perform<O: Execute>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        op: O,
    ) -> Result<Outcome<O::Answer>> {
        for _ in 0..self.limits().replans {
            call.check()?;
            match op.plan(&self.workspace, call)? {
                Planned::Answer { effect, answer } => {
                    self.admit::<O>(origin, call, &effect)?;
                    return Ok(Outcome::Done(answer));
                }
                Planned::Change(proposal) => {
                    self.admit::<O>(origin, call, &proposal.effect)?;
                    let signed = self.sign::<O>(origin, call, &proposal.effect);
                    if let Committed::Done(answer) =
                        self.workspace.commit(*proposal, signed, call)?
                    {
                        return Ok(Outcome::Done(answer));
                    }
                }
            }
        }
        Err(Fault::new(
            FaultCode::Stale,
            "the files changed again and again while this call was planned; nothing was changed. Call again",
        ))
    }

    fn admit<O: Operation>(&self, origin: Origin<'_>, call: &Call, effect: &Effect) -> Result<()> {
        let Verdict::Deny(reason) = self.policy.judge(effect) else { return Ok(()) };
        let mut entry = self.audit_entry::<O>(origin, call, effect);
        entry.action = format!("deny {}", entry.action);
        self.workspace.record_denial(&entry)?;
        Err(Fault::new(FaultCode::Denied, reason))
    }

    fn sign<O: Operation>(&self, origin: Origin<'_>, call: &Call, effect: &Effect) -> Signed {
        Signed { author: self.actor.author(), audit: self.audit_entry::<O>(origin, call, effect) }
    }

    fn audit_entry<O: Operation>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
    ) -> AuditEntry {
        AuditEntry {
            at: call.world().now(),
            actor: self.actor.name(),
            action: O::VERB.to_owned(),
            detail: format!("{}.{} {}", origin.toolset, origin.tool, summary(effect)),
        }
    }
}

/// The effect in one line: kinds and paths, never contents.
fn summary(effect: &Effect) -> String {
    let shown = effect.paths.iter().take(AUDITED_PATHS);
    let mut parts: Vec<String> =
        shown.map(|effect| format!("{} {}", effect.kind.word(), effect.path)).collect();
    let rest = effect.paths.len().saturating_sub(AUDITED_PATHS);
    if rest > 0 {
        parts.push(format!("and {rest} more"));
    }
    parts.join(", ")
}
