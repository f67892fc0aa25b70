//! show: one step with its changes, as diffs.

use yard_core::op::{ChangeExtent, HistoryEntry, Show, Shown, ShownChange};
use yard_core::patch::diff_label;
use yard_core::{Call, ContentHash, Effect, EffectKind, FileKind, FileState, Result, WsPath, diff};
use yard_store::Change;

use crate::op::count_lines::{Counting, MAX_LIST_BYTES};
use crate::op::history::{entry, find_step, merge_changes};
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Show {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Shown>> {
        let row = find_step(workspace, self.step)?;
        let changes = merge_changes(workspace.store().changes(row.seq)?);
        let shown = show_changes(&changes, self.extent, call, |diffs, change| {
            diffs.show(change, call, |left| diff_of(workspace, call, change, left))
        })?;
        let effect = Effect::one(EffectKind::Read, WsPath::root()).with_contents();
        let files = changes.len() as u64;
        let lines = Counting::up_to(MAX_LIST_BYTES, workspace, call).of_step(row.seq, row.files)?;
        let step = HistoryEntry { lines, files, ..entry(row, None) };
        let ShownChanges { changes, truncated, next } = shown;
        let answer = Shown { step, changes, truncated, next };
        Ok(Planned::Answer { effect, answer })
    }
}

/// Changes as an answer has them.
pub(crate) struct ShownChanges {
    pub(crate) changes: Vec<ShownChange>,
    /// A diff was cut or left out.
    pub(crate) truncated: bool,
    /// How many changes are left out for the next page, if there is one.
    pub(crate) next: Option<usize>,
}

/// Those of the changes that the extent has, each as `show` makes it.
pub(crate) fn show_changes(
    changes: &[Change],
    extent: ChangeExtent,
    call: &Call,
    mut show: impl FnMut(&mut Diffs, &Change) -> Result<ShownChange>,
) -> Result<ShownChanges> {
    let page = match extent {
        ChangeExtent::Page(page) => page,
        ChangeExtent::All { max_bytes } => {
            let mut diffs = Diffs::up_to(max_bytes);
            let mut all = Vec::new();
            for change in changes {
                call.check()?;
                all.push(show(&mut diffs, change)?);
            }
            return Ok(ShownChanges { changes: all, truncated: diffs.truncated, next: None });
        }
    };
    let mut shown = ShownChanges { changes: Vec::new(), truncated: false, next: None };
    let mut bytes = 0;
    for change in changes.iter().skip(page.skip) {
        call.check()?;
        if shown.changes.len() == page.limit || bytes >= page.max_bytes {
            shown.next = Some(page.skip + shown.changes.len());
            break;
        }
        let mut diffs = Diffs::up_to(page.max_diff_bytes);
        let change = show(&mut diffs, change)?;
        bytes += match diffs.truncated {
            true => page.max_bytes,
            false => change.diff.as_ref().map_or(0, |diff| diff.len() as u64),
        };
        shown.truncated |= diffs.truncated;
        shown.changes.push(change);
    }
    Ok(shown)
}

/// The diffs of an answer, which has a bound on their bytes.
pub(crate) struct Diffs {
    left: usize,
    /// Some were cut or left out.
    pub(crate) truncated: bool,
}

impl Diffs {
    pub(crate) fn up_to(max_bytes: u64) -> Self {
        Self { left: usize::try_from(max_bytes).unwrap_or(usize::MAX), truncated: false }
    }

    /// A change with the diff that `diff` makes in at most so many bytes, and whether it was cut there. The caller sees
    /// neither content nor hashes of what it may not read.
    pub(crate) fn show(
        &mut self,
        change: &Change,
        call: &Call,
        diff: impl FnOnce(usize) -> Result<Option<(String, bool)>>,
    ) -> Result<ShownChange> {
        let content = |state: &Option<FileState>| state.as_ref().and_then(|state| state.content);
        let hashes = (content(&change.before), content(&change.after));
        let is_withheld = change.from.iter().chain(&change.to).any(|path| !call.may_read(path));
        let has_diff = !is_withheld && hashes.0 != hashes.1;
        let modes = match (&change.before, &change.after) {
            (Some(before), Some(after)) if before.mode != after.mode => {
                Some((before.mode, after.mode))
            }
            _ => None,
        };
        Ok(ShownChange {
            file: change.file,
            summary: change.summary(),
            from: change.from.clone(),
            to: change.to.clone(),
            modes,
            hashes: if is_withheld { (None, None) } else { hashes },
            diff: if has_diff { self.take(diff)? } else { None },
        })
    }

    fn take(
        &mut self,
        diff: impl FnOnce(usize) -> Result<Option<(String, bool)>>,
    ) -> Result<Option<String>> {
        if self.left == 0 {
            self.truncated = true;
            return Ok(None);
        }
        let Some((text, is_cut)) = diff(self.left)? else { return Ok(None) };
        self.left -= text.len().min(self.left);
        self.truncated |= is_cut;
        Ok(Some(text))
    }
}

/// The diff of the stored contents of a change; a folder has none.
pub(crate) fn diff_of(
    workspace: &Workspace,
    call: &Call,
    change: &Change,
    max_bytes: usize,
) -> Result<Option<(String, bool)>> {
    let sides = [(&change.before, &change.from), (&change.after, &change.to)];
    let mut states = sides.iter().filter_map(|(state, _)| state.as_ref());
    if states.any(|state| state.kind == FileKind::Folder) {
        return Ok(None);
    }
    let [before, after] = sides.map(|(state, path)| Side {
        content: state.as_ref().and_then(|state| state.content),
        path: path.as_ref(),
    });
    unified(workspace, call, &before, &after, max_bytes)
}

/// One side of a diff: a content and its path, if there are any.
pub(crate) struct Side<'a> {
    pub(crate) content: Option<ContentHash>,
    pub(crate) path: Option<&'a WsPath>,
}

/// The diff of two stored texts, and whether it was cut. `None` if one of them is no text, too large, or purged.
pub(crate) fn unified(
    workspace: &Workspace,
    call: &Call,
    before: &Side<'_>,
    after: &Side<'_>,
    max_bytes: usize,
) -> Result<Option<(String, bool)>> {
    let old = bytes_of(workspace, before.content)?;
    let new = bytes_of(workspace, after.content)?;
    let (Some(old), Some(new)) = (old, new) else { return Ok(None) };
    let (from, to) = (diff_label("a", before.path), diff_label("b", after.path));
    call.bounding(u64::MAX, |bounds| diff::unified([&from, &to], [&old, &new], max_bytes, bounds))
}

/// The bytes of a content: empty without a content, `None` if it is too large.
fn bytes_of(workspace: &Workspace, hash: Option<ContentHash>) -> Result<Option<Vec<u8>>> {
    match hash {
        None => Ok(Some(Vec::new())),
        Some(hash) => Ok(workspace.store().content(&hash)?),
    }
}
