//! show: one step with its changes, as diffs.

use yard_core::op::{Show, Shown, ShownChange};
use yard_core::patch::diff_label;
use yard_core::{Call, ContentHash, Effect, EffectKind, FileKind, FileState, Result, WsPath, diff};
use yard_store::Change;

use crate::op::history::{entry, find_step, merge_changes};
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Show {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Shown>> {
        let row = find_step(workspace, self.step)?;
        let mut left = usize::try_from(self.max_bytes).unwrap_or(usize::MAX);
        let mut truncated = false;
        let mut changes = Vec::new();
        let recorded = workspace.store().changes(row.seq)?;
        for change in merge_changes(recorded) {
            call.check()?;
            let is_withheld =
                [&change.from, &change.to].into_iter().flatten().any(|path| !call.may_read(path));
            let mut shown =
                show((workspace, call), change, is_withheld, &mut left, &mut truncated)?;
            if is_withheld {
                shown.hashes = (None, None);
            }
            changes.push(shown);
        }
        let effect = Effect::one(EffectKind::Read, WsPath::root()).with_contents();
        let mut step = entry(row, None);
        step.files = changes.len() as u64;
        Ok(Planned::Answer { effect, answer: Shown { step, changes, truncated } })
    }
}

fn show(
    within: (&Workspace, &Call),
    change: Change,
    is_withheld: bool,
    left: &mut usize,
    truncated: &mut bool,
) -> Result<ShownChange> {
    let content = |state: &Option<FileState>| state.as_ref().and_then(|state| state.content);
    let hashes = (content(&change.before), content(&change.after));
    let modes = match (&change.before, &change.after) {
        (Some(before), Some(after)) if before.mode != after.mode => Some((before.mode, after.mode)),
        _ => None,
    };
    let diff = if is_withheld || hashes.0 == hashes.1 {
        None
    } else {
        diff_of(within, &change, left, truncated)?
    };
    Ok(ShownChange {
        file: change.file,
        summary: change.summary(),
        from: change.from,
        to: change.to,
        modes,
        hashes,
        diff,
    })
}

fn diff_of(
    within: (&Workspace, &Call),
    change: &Change,
    left: &mut usize,
    truncated: &mut bool,
) -> Result<Option<String>> {
    let sides = [(&change.before, &change.from), (&change.after, &change.to)];
    let is_folder = sides
        .iter()
        .filter_map(|(state, _)| state.as_ref())
        .any(|state| state.kind == FileKind::Folder);
    if is_folder {
        return Ok(None);
    }
    if *left == 0 {
        *truncated = true;
        return Ok(None);
    }
    let [before, after] = sides.map(|(state, path)| Side {
        content: state.as_ref().and_then(|state| state.content),
        path: path.as_ref(),
    });
    let diff = unified(within, &before, &after, *left)?;
    Ok(diff.map(|(text, cut)| {
        *left -= text.len().min(*left);
        *truncated |= cut;
        text
    }))
}

/// One side of a diff: a content and its path, if there are any.
pub(crate) struct Side<'a> {
    pub(crate) content: Option<ContentHash>,
    pub(crate) path: Option<&'a WsPath>,
}

/// The diff of two stored texts, and whether it was cut. `None` if one of them is no text, too large, or purged.
pub(crate) fn unified(
    (workspace, call): (&Workspace, &Call),
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
