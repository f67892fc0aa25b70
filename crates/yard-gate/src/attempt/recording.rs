//! Records changes that have happened already as steps: those of other programs, before a command runs in place, and
//! those of a command that ran in place. They are not judged, because it is too late: the start of the command was. The
//! audit row of each is written in the transaction of its step.

use yard_core::op::{Import, Landed, TakeIn};
use yard_core::{Call, Result, WsPath};
use yard_kernel::{Committed, Execute, Planned};

use super::performing::changed_again_and_again;
use super::{Attempt, CallChat, summary};

impl Attempt<'_> {
    /// Records what other programs changed on disk, before a command runs in place, so that the step of the command has
    /// the changes of the command alone.
    pub(crate) fn record_changes_of_others(&self) -> Result<()> {
        self.record(Import { path: WsPath::root(), include_ignored: false }).map(drop)
    }

    /// Records what a command changed in place, as a step of its caller. The caller's deadline does not apply, because
    /// the command is over.
    pub(crate) fn record_changes_in_place(&self) -> Result<Landed> {
        let call = Call::new(self.call.shared_world());
        self.with_call(&call).record(TakeIn)
    }

    /// Commits the change that an operation finds on disk, without judging it.
    fn record<O: Execute>(&self, op: O) -> Result<O::Answer> {
        let workspace = &self.open().workspace;
        for _ in 0..self.session.limits().replans {
            self.call.check()?;
            workspace.check_root()?;
            match op.plan(workspace, self.call)? {
                Planned::Answer { answer, .. } => return Ok(answer),
                Planned::Change(proposal) => {
                    if let Some(effects) = &self.notes.effects {
                        effects.add(summary(&proposal.effect));
                    }
                    let chat = CallChat::of_past_change(self.session)?;
                    let signed = self.sign::<O>(&chat, &proposal.effect)?;
                    if let Committed::Done(answer) =
                        workspace.commit(*proposal, signed, self.call)?
                    {
                        self.set_changed();
                        return Ok(answer);
                    }
                }
            }
        }
        Err(changed_again_and_again())
    }
}
