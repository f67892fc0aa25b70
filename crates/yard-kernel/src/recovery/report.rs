//! What recovery says that it did: a row of the audit chain, and a note for a person about entries that it left.

use yard_core::{Call, Result, WsPath};
use yard_store::{AuditEntry, Seq};

use crate::recovery::leftovers;
use crate::workspace::Workspace;

/// Most paths that a report names; the others are counted.
const MAX_NAMED_PATHS: usize = 20;

/// What recovery restored, and what it did not restore because another program may have removed it.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) restored: usize,
    pub(super) not_restored: Vec<WsPath>,
}

impl Report {
    /// Adds a row to the audit chain, if there is something to report.
    pub(super) fn record(&self, workspace: &Workspace, head: Seq, call: &Call) -> Result<()> {
        let mut parts = Vec::new();
        if self.restored > 0 {
            parts.push(format!("{} put back that a crash had taken from the disk", self.restored));
        }
        if !self.not_restored.is_empty() {
            let named: Vec<String> =
                self.not_restored.iter().take(MAX_NAMED_PATHS).map(ToString::to_string).collect();
            let more = match self.not_restored.len().saturating_sub(MAX_NAMED_PATHS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let text = format!(
                "not found, and left as they are because it cannot be told who removed them: {}{more}",
                named.join(", ")
            );
            leftovers::leave_note(workspace, head, &text);
            parts.push(text);
        }
        if parts.is_empty() {
            return Ok(());
        }
        let entry = AuditEntry::by_toolyard(call.world().now(), "recover", parts.join("; "));
        Ok(workspace.store().append_audit(&entry)?)
    }
}
