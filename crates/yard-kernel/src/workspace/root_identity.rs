//! Checks whether a history and a folder belong together. This is the first check when a workspace is opened: if it
//! fails, nothing is recovered or written until a person decides.

use yard_core::{Call, Fault, FaultCode, Remedy, Result};
use yard_disk::{Disk, Locks};
use yard_store::{Mark, RootIdentity, Seq};

use crate::workspace::opening::Opening;

/// A fault if the root is not the folder that the history was made for. A history without a recorded root gets this one.
pub(crate) fn check_root_identity(disk: &Disk, opening: &Opening) -> Result<()> {
    let store = &opening.store;
    let found = disk.root_identity()?;
    match store.root()? {
        None => store.set_root(found).map_err(Fault::from),
        Some(known) if known.can_be(&found) => match known.birth.is_none() && found.birth.is_some()
        {
            true => store.set_root(found).map_err(Fault::from),
            false => Ok(()),
        },
        Some(_) => Err(refused(format!(
            "the folder {} is not the one that its history was made for: it was replaced, restored or \
             exchanged since. Nothing was changed",
            String::from_utf8_lossy(disk.host_root())
        ))),
    }
}

/// A fault if the history ends before the step that the applied mark names: the history was lost, emptied, or replaced by
/// an older one.
pub(crate) fn check_applied_mark(applied: Seq, head: Seq) -> Result<()> {
    if applied <= head {
        return Ok(());
    }
    Err(refused(format!(
        "the history ends with step {head}, but step {applied} was already applied to the folder: the \
         journal was lost, or replaced by an older one. Nothing was changed"
    )))
}

fn refused(message: String) -> Fault {
    Fault::new(FaultCode::Unavailable, message).with_remedy(Remedy::AdoptFolder)
}

/// The mark of a step, with the machine's current boot id.
pub(crate) fn mark_of(seq: Seq, call: &Call) -> Mark {
    Mark { seq, boot: call.world().boot_id() }
}

/// The mismatches that were found when a person adopted a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdoptReport {
    /// The history was made for another folder.
    pub other_folder: bool,
    /// By how many steps the applied mark was ahead of the history.
    pub lost_steps: u64,
    /// How many steps the history has.
    pub steps: Seq,
}

/// Makes a history go on with the folder as it is now: nothing is recovered, and entries that differ are adopted when they
/// are next touched. The workspace must not be open.
pub fn adopt(opening: &Opening) -> Result<AdoptReport> {
    let call = Call::new(std::sync::Arc::clone(&opening.world));
    let disk = Disk::open(&opening.root, opening.resolution, None)?;
    let locks = Locks::open(&opening.state_dir, None)?;
    let _lock = locks.acquire(&call)?;
    let store = &opening.store;
    let found: RootIdentity = disk.root_identity()?;
    let known = store.root()?;
    let steps = store.head()?;
    let applied = locks.applied()?.unwrap_or_default();
    store.set_root(found)?;
    let mark: Mark = mark_of(steps, &call);
    store.set_flushed_mark(mark)?;
    locks.set_applied(mark)?;
    Ok(AdoptReport {
        other_folder: known.is_some_and(|known| !known.can_be(&found)),
        lost_steps: applied.seq.saturating_sub(steps),
        steps,
    })
}
