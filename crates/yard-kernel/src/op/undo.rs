//! undo, redo and back-to: take back one step, its newest undo, or everything after a step, as one new step. Later steps
//! stay. If anything is in the way, nothing is changed, and the fault names it. preview-undo answers what would be done.

mod file_changes;
mod order;
mod reversal;

use std::collections::{HashMap, HashSet};

use yard_core::op::{
    BackTo, Operation, PreviewUndo, Redo, Undo, UndoKind, UndoPreview, UndoScope, Undone, WentBack,
};
use yard_core::patch::diff_label;
use yard_core::{
    Call, Effect, EffectKind, Fault, FaultCode, FileId, Result, StepId, Subject, WsPath, diff,
};
use yard_store::{Change, StepRow};

use self::reversal::{Reversal, Target};
use crate::draft::Draft;
use crate::op::history::find_step;
use crate::op::show::show_changes;
use crate::proposal::done_part::DonePart;
use crate::proposal::preview::{MAX_SHOWN_BYTES, after, before};
use crate::proposal::{CommitWork, Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Undo {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Undone>> {
        undo_step::<Self>(workspace, call, find_step(workspace, self.step)?, &self.scope)
    }

    fn answer_for_part(mut answer: Undone, done: &DonePart) -> Undone {
        answer.paths.retain(|path| done.touches(path));
        answer
    }
}

impl Execute for Redo {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Undone>> {
        undo_step::<Self>(workspace, call, newest_undo(workspace, call, self.step)?, &self.scope)
    }

    fn answer_for_part(mut answer: Undone, done: &DonePart) -> Undone {
        answer.paths.retain(|path| done.touches(path));
        answer
    }
}

impl Execute for BackTo {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<WentBack>> {
        let target = Target::After(find_step(workspace, self.step)?);
        let reversal = plan_whole(workspace, call, target, &self.scope.paths)?;
        let (step, back_to) = (reversal.planner.draft.id, self.step);
        let paths = changed_paths(&reversal);
        let answer = WentBack { step, back_to, paths, left: reversal.left.clone() };
        propose::<Self>(reversal, answer, &self.scope)
    }

    fn answer_for_part(mut answer: WentBack, done: &DonePart) -> WentBack {
        answer.paths.retain(|path| done.touches(path));
        answer
    }
}

impl Execute for PreviewUndo {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<UndoPreview>> {
        let target = match self.kind {
            UndoKind::Undo => Target::Step(find_step(workspace, self.step)?),
            UndoKind::Redo => Target::Step(newest_undo(workspace, call, self.step)?),
            UndoKind::BackTo => Target::After(find_step(workspace, self.step)?),
        };
        let answer = preview(workspace, call, target, self)?;
        let effect = Effect::one(EffectKind::Read, WsPath::root()).with_contents();
        Ok(Planned::Answer { effect, answer })
    }
}

fn undo_step<O: Operation<Answer = Undone>>(
    workspace: &Workspace,
    call: &Call,
    step: StepRow,
    scope: &UndoScope,
) -> Result<Planned<Undone>> {
    let undoes = step.id;
    let reversal = plan_whole(workspace, call, Target::Step(step), &scope.paths)?;
    let step = reversal.planner.draft.id;
    let paths = changed_paths(&reversal);
    let answer = Undone { step, undoes, paths, left: reversal.left.clone() };
    propose::<O>(reversal, answer, scope)
}

/// Plans a reversal; a fault if anything is in its way.
fn plan_whole<'a>(
    workspace: &'a Workspace,
    call: &'a Call,
    target: Target,
    paths: &[WsPath],
) -> Result<Reversal<'a>> {
    let changes = changes_of(workspace, call, &target, paths)?;
    let mut reversal = Reversal::new(workspace, call, target);
    reversal.revert_all(&changes, false)?;
    match reversal.conflicts.pop() {
        Some(conflict) => Err(conflict.fault),
        None => Ok(reversal),
    }
}

/// The changes that are taken back, in the order in which they are reversed.
fn changes_of(
    workspace: &Workspace,
    call: &Call,
    target: &Target,
    paths: &[WsPath],
) -> Result<Vec<Change>> {
    let changes = match target {
        Target::Step(step) => file_changes::changes_of(workspace, step)?,
        Target::After(step) => {
            let changes = file_changes::changes_after(workspace, call, step)?;
            if changes.is_empty() {
                return Err(nothing_since(step));
            }
            changes
        }
    };
    if paths.is_empty() {
        return Ok(changes);
    }
    let chosen = at_paths(changes, paths);
    if chosen.is_empty() { Err(nothing_there(target.step(), paths)) } else { Ok(chosen) }
}

/// The changes of entries at or below these paths, and those that removed a folder in which such an entry was.
fn at_paths(changes: Vec<Change>, paths: &[WsPath]) -> Vec<Change> {
    let is_chosen = |change: &Change| {
        let mut own = change.from.iter().chain(&change.to);
        own.any(|own| paths.iter().any(|path| own.is_within(path)))
    };
    let removed: HashMap<FileId, &Change> = changes
        .iter()
        .filter(|change| change.after.is_none())
        .map(|change| (change.file, change))
        .collect();
    let mut needed: HashSet<FileId> = HashSet::new();
    for change in changes.iter().filter(|change| is_chosen(change)) {
        let mut next = change.before.as_ref().map(|state| state.parent);
        while let Some(folder) = next.and_then(|parent| removed.get(&parent)) {
            if !needed.insert(folder.file) {
                break;
            }
            next = folder.before.as_ref().map(|state| state.parent);
        }
    }
    let is_needed = |change: &Change| is_chosen(change) || needed.contains(&change.file);
    let chosen: Vec<bool> = changes.iter().map(is_needed).collect();
    let with_choice = changes.into_iter().zip(chosen);
    with_choice.filter(|(_, is_chosen)| *is_chosen).map(|(change, _)| change).collect()
}

fn changed_paths(reversal: &Reversal<'_>) -> Vec<WsPath> {
    reversal.planner.effect.paths.iter().map(|effect| effect.path.clone()).collect()
}

/// Ends the plan; a fault if it is not the one that a preview showed.
fn propose<O: Operation>(
    reversal: Reversal<'_>,
    answer: O::Answer,
    scope: &UndoScope,
) -> Result<Planned<O::Answer>> {
    let (workspace, call) = (reversal.planner.workspace, reversal.planner.call);
    let planned = reversal.planner.propose::<O>(answer)?;
    if let (Some(shown), Planned::Change(proposal)) = (scope.state, &planned)
        && proposal.state(workspace, call)? != shown
    {
        return Err(changed_since_preview());
    }
    Ok(planned)
}

fn preview(
    workspace: &Workspace,
    call: &Call,
    target: Target,
    wanted: &PreviewUndo,
) -> Result<UndoPreview> {
    let changes = changes_of(workspace, call, &target, &wanted.paths)?;
    let mut reversal = Reversal::new(workspace, call, target);
    reversal.revert_all(&changes, true)?;
    let conflicts: Vec<_> = reversal.conflicts.drain(..).map(|conflict| conflict.named).collect();
    let left = std::mem::take(&mut reversal.left);
    let mut shown = UndoPreview {
        changes: Vec::new(),
        conflicts,
        left,
        truncated: false,
        next: None,
        state: None,
    };
    let Planned::Change(proposal) = reversal.planner.propose::<PreviewUndo>(shown.clone())? else {
        return Ok(shown);
    };
    let state = proposal.state(workspace, call)?;
    let CommitWork::Step { draft, .. } = proposal.work else { return Ok(shown) };
    if shown.conflicts.is_empty() && !draft.changes.is_empty() {
        shown.state = Some(state);
    }
    let part = show_changes(&draft.changes, wanted.extent, call, |diffs, change| {
        diffs.show(change, call, |left| diff_of(workspace, call, &draft, change, left))
    })?;
    (shown.changes, shown.truncated, shown.next) = (part.changes, part.truncated, part.next);
    Ok(shown)
}

/// The diff of a planned change of a text, and whether it was cut.
fn diff_of(
    workspace: &Workspace,
    call: &Call,
    draft: &Draft,
    change: &Change,
    max_bytes: usize,
) -> Result<Option<(String, bool)>> {
    let old = before(workspace, draft, change, MAX_SHOWN_BYTES);
    let new = after(workspace, draft, change, MAX_SHOWN_BYTES);
    let (Some(old), Some(new)) = (old, new) else { return Ok(None) };
    let (from, to) = (diff_label("a", change.from.as_ref()), diff_label("b", change.to.as_ref()));
    call.bounding(u64::MAX, |bounds| diff::unified([&from, &to], [&old, &new], max_bytes, bounds))
}

/// The newest undo of a step that was not undone itself; a fault if there is none.
fn newest_undo(workspace: &Workspace, call: &Call, step: StepId) -> Result<StepRow> {
    let undone = find_step(workspace, step)?;
    let mut taken_back: HashSet<StepId> = HashSet::new();
    for row in file_changes::steps_after(workspace, call, undone.seq)? {
        if taken_back.contains(&row.id) {
            continue;
        }
        match row.undoes {
            Some(undoes) if undoes == step => return Ok(row),
            undoes => taken_back.extend(undoes),
        }
    }
    let message = format!(
        "step {step} is not undone, so that there is nothing to redo; the history says which step undid which"
    );
    Err(Fault::new(FaultCode::MergeConflict, message).about(Subject::Step))
}

fn nothing_since(step: &StepRow) -> Fault {
    let message =
        format!("everything is as it was after step {}: there is nothing to take back", step.id);
    Fault::new(FaultCode::MergeConflict, message).about(Subject::Step)
}

fn nothing_there(step: &StepRow, paths: &[WsPath]) -> Fault {
    let named: Vec<String> = paths.iter().take(8).map(ToString::to_string).collect();
    let message = format!(
        "nothing that would be taken back is at {}: show step {} to see the paths, or leave the paths out",
        named.join(", "),
        step.id
    );
    Fault::new(FaultCode::NotFound, message).about(Subject::Path)
}

fn changed_since_preview() -> Fault {
    let message = "this would do something else by now than the preview showed, because files changed in between. \
                   Nothing was changed; preview it again";
    Fault::new(FaultCode::Stale, message).about(Subject::Hash)
}
