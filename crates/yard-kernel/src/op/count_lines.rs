//! Counts the lines that steps added and removed, within bounds and for callers who may read them.

use yard_core::op::LineCount;
use yard_core::{Call, ContentHash, FileKind, FileState, Result};
use yard_store::{Change, Seq};

use crate::op::history::merge_changes;
use crate::op::tree_then::may_read;
use crate::workspace::Workspace;

/// A step whose texts have more bytes than that, before and after it together, has no count.
const MAX_STEP_BYTES: u64 = 4 << 20;
/// A step that changed more files than that has no count.
const MAX_STEP_FILES: u64 = 1_000;
/// What each changed file counts for, beside its bytes.
const FILE_BYTES: u64 = 4 << 10;
/// After so many bytes, one list of steps counts no further step.
pub(crate) const MAX_LIST_BYTES: u64 = 32 << 20;

/// The counts of one answer, whose work has a bound.
pub(crate) struct Counting<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    left: u64,
}

impl<'a> Counting<'a> {
    /// Counts that compare about so many bytes at most.
    pub(crate) fn up_to(max_bytes: u64, workspace: &'a Workspace, call: &'a Call) -> Self {
        Self { workspace, call, left: max_bytes }
    }

    /// Whether nothing further is counted.
    pub(crate) fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// The lines that a step of so many changes added and removed. `None` if it changed no text, if that is too much to
    /// count, or if the caller may not read all of it.
    pub(crate) fn of_step(&mut self, step: Seq, files: u64) -> Result<Option<LineCount>> {
        self.call.check()?;
        let cached = self.workspace.caches.line_counts.get(step);
        if files > MAX_STEP_FILES || cached == Some(None) {
            return Ok(None);
        }
        if let (Some(count), None) = (cached, self.call.reading()) {
            return Ok(count);
        }
        let changes = merge_changes(self.workspace.store().changes(step)?);
        for change in &changes {
            for path in change.from.iter().chain(&change.to) {
                if !may_read(self.workspace.store(), self.call, change.file, path)? {
                    return Ok(None);
                }
            }
        }
        let count = match cached {
            Some(count) => count,
            None => self.count(&changes)?,
        };
        self.workspace.caches.line_counts.insert(step, count);
        Ok(count)
    }

    fn count(&mut self, changes: &[Change]) -> Result<Option<LineCount>> {
        let changed: Vec<&Change> =
            changes.iter().filter(|change| has_new_content(change)).collect();
        let size = |state: &Option<FileState>| state.as_ref().map_or(0, |state| state.size);
        let sizes = changed.iter().map(|change| size(&change.before) + size(&change.after));
        let bytes = sizes.fold(0, u64::saturating_add);
        if bytes > MAX_STEP_BYTES {
            return Ok(None);
        }
        self.left = self.left.saturating_sub(bytes + FILE_BYTES * changed.len() as u64);
        let mut sum: Option<LineCount> = None;
        for change in changed {
            self.call.check()?;
            let old = self.bytes(&change.before)?;
            let new = self.bytes(&change.after)?;
            let (Some(old), Some(new)) = (old, new) else { continue };
            let count =
                self.call.bounding(u64::MAX, |bounds| LineCount::between(&old, &new, bounds))?;
            if let Some(count) = count {
                *sum.get_or_insert_default() += count;
            }
        }
        Ok(sum)
    }

    /// The bytes of a side: none without an entry, `None` if they are not stored.
    fn bytes(&self, state: &Option<FileState>) -> Result<Option<Vec<u8>>> {
        match content(state) {
            None => Ok(Some(Vec::new())),
            Some(hash) => Ok(self.workspace.store().content(&hash)?),
        }
    }
}

fn content(state: &Option<FileState>) -> Option<ContentHash> {
    state.as_ref().and_then(|state| state.content)
}

fn has_new_content(change: &Change) -> bool {
    let states = [&change.before, &change.after].into_iter().flatten();
    let has_folder = states.clone().any(|state| state.kind == FileKind::Folder);
    !has_folder && content(&change.before) != content(&change.after)
}
