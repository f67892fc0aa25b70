//! The audit chain: every row's hash covers the row and the hash before it, so that nothing can be
//! changed, removed or inserted later without breaking every hash that follows.

use yard_core::hash::ContentHasher;
use yard_core::{StepId, Timestamp};

/// What one row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// Who: `agent:local`, `person:local`.
    pub actor: String,
    /// What: the operation, or the decision.
    pub action: String,
    /// More about it, redacted: never a content, never a secret.
    pub detail: String,
}

/// One row of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number, from 1.
    pub number: u64,
    /// What it says.
    pub entry: AuditEntry,
    /// The step that it belongs to, with the digest of that step's changes.
    pub step: Option<(StepId, [u8; 32])>,
    /// The chain's hash at this row.
    pub hash: [u8; 32],
}

/// The hash of a row that follows a row with hash `previous` (zeros before the first).
pub fn chain(
    previous: &[u8; 32],
    entry: &AuditEntry,
    step: Option<(StepId, [u8; 32])>,
) -> [u8; 32] {
    let mut hasher = ContentHasher::new();
    hasher.update(previous);
    hasher.update(&entry.at.as_millis().to_be_bytes());
    for text in [&entry.actor, &entry.action, &entry.detail] {
        hasher.update(&(text.len() as u64).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    match step {
        Some((id, digest)) => {
            hasher.update(id.as_bytes());
            hasher.update(&digest);
        }
        None => hasher.update(&[0]),
    }
    *hasher.finish().as_bytes()
}
