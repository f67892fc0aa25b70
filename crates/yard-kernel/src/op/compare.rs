//! compare: what differs between the files after one step and the files after another, file by file.

use yard_core::op::{ChangeExtent, Compare, Compared, ShownChange};
use yard_core::{Call, Effect, EffectKind, Fault, FaultCode, FileState, Result, Subject, WsPath};
use yard_store::{Change, StepRow};

use crate::op::history::find_step;
use crate::op::show::{Diffs, ShownChanges, diff_of, show_changes};
use crate::op::tree_then::{Past, may_list, may_read, path_now};
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Compare {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Compared>> {
        let from = find_step(workspace, self.from)?;
        let to = match self.to {
            Some(step) => find_step(workspace, step)?,
            None => newest(workspace)?,
        };
        let mut changes = changes_between(workspace, call, &from, &to)?;
        let is_within = |change: &Change| {
            let mut paths = change.from.iter().chain(&change.to);
            self.path.as_ref().is_none_or(|path| paths.any(|own| own.is_within(path)))
        };
        changes.retain(is_within);
        let place = |change: &Change| change.to.clone().or(change.from.clone());
        changes.sort_by_cached_key(|change| (place(change), change.file));
        let shown =
            show_changes(&changes, ChangeExtent::Page(self.page), call, |diffs, change| {
                show(workspace, call, change, diffs)
            })?;
        let ShownChanges { changes, truncated, next } = shown;
        let answer = Compared { from: from.id, to: to.id, changes, truncated, next };
        let effect = Effect::one(EffectKind::Read, WsPath::root()).with_contents();
        Ok(Planned::Answer { effect, answer })
    }
}

fn newest(workspace: &Workspace) -> Result<StepRow> {
    let newest = workspace.store().steps(None, None, 1)?.pop();
    newest
        .ok_or_else(|| Fault::new(FaultCode::NotFound, "there is no step yet").about(Subject::Step))
}

/// What differs, without what the caller may not see.
fn changes_between(
    workspace: &Workspace,
    call: &Call,
    from: &StepRow,
    to: &StepRow,
) -> Result<Vec<Change>> {
    let (older, newer) = (from.seq.min(to.seq), from.seq.max(to.seq));
    let net = workspace.store().net_changes(older + 1..newer + 1)?;
    let mut past = [Past::at(workspace, older), Past::at(workspace, newer)];
    let mut changes = Vec::new();
    for net in net.into_iter().filter(|net| net.before != net.after) {
        call.check()?;
        let mut path = |side: usize, state: &Option<FileState>| -> Result<Option<WsPath>> {
            let Some(state) = state else { return Ok(None) };
            match past[side].path_of(state)? {
                Some(path) => Ok(Some(path)),
                None => path_now(workspace.store(), net.file),
            }
        };
        let (before, after) = (path(0, &net.before)?, path(1, &net.after)?);
        let mut may_see = true;
        for path in before.iter().chain(&after) {
            may_see &= may_list(workspace.store(), call, net.file, path)?;
        }
        if !may_see {
            continue;
        }
        let forward = Change {
            file: net.file,
            before: net.before,
            after: net.after,
            from: before,
            to: after,
            version: None,
        };
        changes.push(if from.seq <= to.seq { forward } else { reversed(forward) });
    }
    Ok(changes)
}

fn reversed(change: Change) -> Change {
    let Change { file, before, after, from, to, version } = change;
    Change { file, before: after, after: before, from: to, to: from, version }
}

/// A change with its diff.
fn show(
    workspace: &Workspace,
    call: &Call,
    change: &Change,
    diffs: &mut Diffs,
) -> Result<ShownChange> {
    let mut is_readable = true;
    for path in change.from.iter().chain(&change.to) {
        is_readable &= may_read(workspace.store(), call, change.file, path)?;
    }
    let mut shown = diffs.show(change, call, |left| match is_readable {
        true => diff_of(workspace, call, change, left),
        false => Ok(None),
    })?;
    if !is_readable {
        shown.hashes = (None, None);
    }
    Ok(shown)
}
