//! What `toolyard undo`, `redo` and `back-to` share: the step, the files, and the preview.

use serde_json::{Value, json};
use yard_core::op::{ChangeExtent, PreviewUndo, UndoKind, UndoPreview, UndoScope};
use yard_core::{FaultCode, StepId, WsPath};
use yard_gate::Actor;

use crate::context::{CommandContext, LocalSession};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::short_ids;
use crate::terminal::{BOLD, FAINT, Terminal, visible_cell};

use super::show::{change_json, changes_text};

/// Bytes of diff in a preview.
const DIFF_BYTES: u64 = 1 << 20;

/// Which step, and which part of it.
#[derive(clap::Args)]
pub(super) struct Selection {
    /// Step: an id, the beginning of one, or `last`
    step: String,
    /// Only this file, or what is in this folder; can be given several times
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    preview: bool,
}

impl Selection {
    /// Shows what would be done, or has `perform` do it.
    pub(super) fn run(
        &self,
        context: &CommandContext,
        kind: UndoKind,
        json: bool,
        perform: impl FnOnce(&LocalSession, StepId, UndoScope) -> Result<Reply, Failure>,
    ) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let step = match kind {
            UndoKind::Redo => short_ids::resolve_undone(&local, &self.step)?,
            _ => short_ids::resolve(&local, &self.step)?,
        };
        let paths = self.paths.iter().map(|text| local.path(text));
        let paths = paths.collect::<Result<Vec<WsPath>, _>>()?;
        if !self.preview {
            if kind == UndoKind::Undo {
                check_something_is_left(&local, step, &paths)?;
            }
            return perform(&local, step, UndoScope { paths, state: None });
        }
        let extent = ChangeExtent::All { max_bytes: DIFF_BYTES };
        let preview = local.perform(PreviewUndo { kind, step, paths, extent })?;
        Ok(Reply::either(json, || to_json(&preview), || to_text(&preview, context.terminal)))
    }
}

/// A step whose changes are all taken back already is not undone once more, by a step that changes nothing.
fn check_something_is_left(
    local: &LocalSession,
    step: StepId,
    paths: &[WsPath],
) -> Result<(), Failure> {
    let extent = ChangeExtent::All { max_bytes: 0 };
    let preview =
        local.perform(PreviewUndo { kind: UndoKind::Undo, step, paths: paths.to_vec(), extent })?;
    let is_empty =
        preview.changes.is_empty() && preview.conflicts.is_empty() && preview.left.is_empty();
    if !is_empty {
        return Ok(());
    }
    let message = format!("nothing is left of step {step}: what it changed is taken back already");
    Err(Failure::new(FaultCode::NoChange, message).with_hint(format!(
        "`toolyard redo {step}` brings it back, `toolyard history` shows the steps"
    )))
}

fn to_json(preview: &UndoPreview) -> Value {
    let conflicts = preview.conflicts.iter();
    let conflicts: Vec<Value> = conflicts
        .map(|conflict| json!({"path": conflict.path.to_string(), "why": conflict.why}))
        .collect();
    json!({
        "changes": preview.changes.iter().map(change_json).collect::<Vec<_>>(),
        "conflicts": conflicts,
        "left": texts(&preview.left),
        "truncated": preview.truncated,
    })
}

fn to_text(preview: &UndoPreview, terminal: Terminal) -> String {
    let mut text = changes_text(&preview.changes, terminal);
    if preview.changes.is_empty() && preview.conflicts.is_empty() {
        text.push_str("nothing would change\n");
    }
    if preview.truncated {
        text.push_str(&terminal.line(FAINT, "the diff is cut here"));
    }
    for conflict in &preview.conflicts {
        let path = conflict.path.to_string();
        let line = format!("conflict: {}: {}", visible_cell(&path), conflict.why);
        text.push_str(&terminal.line(BOLD, &line));
    }
    text.push_str(&left_text(&preview.left));
    let hint = match preview.conflicts.is_empty() {
        true => "nothing was changed; without --preview this is done",
        false => "nothing was changed; --path PATH takes back only what has no conflict",
    };
    text.push_str(&terminal.line(FAINT, hint));
    text
}

/// What was done: the paths under a first line.
pub(super) fn done_text(first: &str, paths: &[WsPath], left: &[WsPath]) -> String {
    let mut text = format!("{first}\n");
    for path in texts(paths) {
        text.push_str(&format!("  {}\n", visible_cell(&path)));
    }
    text.push_str(&left_text(left));
    text
}

fn left_text(left: &[WsPath]) -> String {
    let line = |path: String| {
        let path = visible_cell(&path);
        format!("  {path} stays as it is: build output that was not kept\n")
    };
    texts(left).into_iter().map(line).collect()
}

pub(super) fn texts(paths: &[WsPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}
