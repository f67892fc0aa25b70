//! list-steps: the steps that fit some filters, the newest first, with counts of lines.

use yard_core::op::{HistoryEntry, ListSteps, StepList};
use yard_core::{Call, Effect, EffectKind, Result, WsPath};
use yard_store::{ChangedEntry, Seq, StepFilter, StepRow};

use crate::op::count_lines::{Counting, MAX_LIST_BYTES};
use crate::op::history::{entry, find_step, last_at};
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

/// How many steps the store looks at before the call is checked again.
const LOOKED_AT_ONCE: Seq = 100_000;

impl Execute for ListSteps {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<StepList>> {
        let newest = workspace.store().head()?;
        let end = self.through.map_or(newest, |number| number.min(newest)) + 1;
        let before = match self.before {
            Some(step) => find_step(workspace, step)?.seq.min(end),
            None => end,
        };
        // One more than is shown, to find out whether there are more.
        let count = self.limit.saturating_add(1);
        let rows = find(workspace, call, &filter(workspace, self)?, before, count)?;
        let mut answer = StepList { steps: Vec::new(), truncated: rows.len() > self.limit };
        let mut counting = Counting::up_to(MAX_LIST_BYTES, workspace, call);
        for row in rows.into_iter().take(self.limit) {
            if counting.is_spent() {
                answer.truncated = true;
                break;
            }
            let lines = counting.of_step(row.seq, row.files)?;
            answer.steps.push(HistoryEntry { lines, ..entry(row, None) });
        }
        let path = self.path.clone().unwrap_or_else(WsPath::root);
        Ok(Planned::Answer { effect: Effect::one(EffectKind::Read, path), answer })
    }
}

fn filter(workspace: &Workspace, wanted: &ListSteps) -> Result<StepFilter> {
    let changed = match wanted.path.as_ref().filter(|path| !path.is_root()) {
        None => None,
        Some(path) => {
            let file = last_at(workspace, path)?.map(|node| node.id);
            Some(ChangedEntry { path: path.clone(), file })
        }
    };
    let (actor, verb) = (wanted.actor.clone(), wanted.verb.clone());
    Ok(StepFilter { author: wanted.author, actor, chat: wanted.chat, verb, changed })
}

/// The newest steps before `before` that fit.
fn find(
    workspace: &Workspace,
    call: &Call,
    filter: &StepFilter,
    mut before: Seq,
    count: usize,
) -> Result<Vec<StepRow>> {
    let mut found = Vec::new();
    while before > 1 && found.len() < count {
        call.check()?;
        let first = before.saturating_sub(LOOKED_AT_ONCE).max(1);
        let left = count - found.len();
        found.extend(workspace.store().find_steps(filter, first..before, left)?);
        before = first;
    }
    Ok(found)
}
