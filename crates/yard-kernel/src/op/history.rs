//! history: the steps of one file or of all files, the newest first.

use yard_core::op::{History, HistoryAnswer, HistoryEntry, HistoryOf};
use yard_core::{
    Call, Effect, EffectKind, Fault, FaultCode, FileId, Result, StepId, Subject, WsPath,
};
use yard_disk::ResolvedPath;
use yard_store::{Change, Node, Seq, StepRow};

use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for History {
    fn plan(&self, workspace: &Workspace, _call: &Call) -> Result<Planned<HistoryAnswer>> {
        let before =
            self.before.map(|step| find_step(workspace, step)).transpose()?.map(|row| row.seq);
        // One more than is shown, to find out whether there are more.
        let count = self.limit.saturating_add(1);
        let (path, mut steps) = match &self.of {
            HistoryOf::Path(path) if !path.is_root() => {
                (path.clone(), at_path(workspace, path, before, count)?)
            }
            HistoryOf::File(file) => {
                let node = find_file(workspace, *file)?;
                (node.path, of_file(workspace, *file, before, count)?)
            }
            _ => (WsPath::root(), all(workspace, before, count)?),
        };
        let truncated = steps.len() > self.limit;
        steps.truncate(self.limit);
        let effect = Effect::one(EffectKind::Read, path);
        Ok(Planned::Answer { effect, answer: HistoryAnswer { steps, truncated } })
    }
}

fn all(workspace: &Workspace, before: Option<Seq>, count: usize) -> Result<Vec<HistoryEntry>> {
    let rows = workspace.store().steps(None, before, count)?;
    Ok(rows.into_iter().map(|row| entry(row, None)).collect())
}

fn at_path(
    workspace: &Workspace,
    path: &WsPath,
    before: Option<Seq>,
    count: usize,
) -> Result<Vec<HistoryEntry>> {
    let Some(file) = last_at(workspace, path)? else {
        // A file that no step has touched has an empty history.
        return match workspace.disk.locate(path, false)? {
            ResolvedPath::Present { .. } => Ok(Vec::new()),
            ResolvedPath::Missing { .. } | ResolvedPath::Blocked { .. } => Err(no_history(path)),
        };
    };
    of_file(workspace, file.id, before, count)
}

fn of_file(
    workspace: &Workspace,
    file: FileId,
    before: Option<Seq>,
    count: usize,
) -> Result<Vec<HistoryEntry>> {
    // A step that moves and edits a file has two changes of it.
    let rows = count.saturating_mul(2);
    let changes = workspace.store().file_changes(file, before, rows)?;
    let mut steps: Vec<(StepRow, Change)> = Vec::with_capacity(changes.len());
    for (row, earlier) in changes {
        match steps.last_mut().filter(|(last, _)| last.seq == row.seq) {
            Some((_, change)) => {
                change.before = earlier.before;
                change.from = earlier.from;
                change.version = change.version.or(earlier.version);
            }
            None => steps.push((row, earlier)),
        }
    }
    Ok(steps.into_iter().take(count).map(|(row, change)| entry(row, Some(change))).collect())
}

/// Merges consecutive changes of one entry in a step, such as a move and an edit, to one change.
pub(crate) fn merge_changes(changes: Vec<Change>) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes {
        match all.last_mut().filter(|last| last.file == change.file) {
            Some(last) => add_later(last, change),
            None => all.push(change),
        }
    }
    all
}

/// Adds a later change of the same entry to a change.
pub(crate) fn add_later(change: &mut Change, later: Change) {
    change.after = later.after;
    change.to = later.to;
    change.version = later.version.or(change.version);
}

pub(crate) fn no_history(path: &WsPath) -> Fault {
    let message = format!(
        "{path} has no history: it is not there, and no step has changed a file of that path. Check the path, or list the \
         history of the whole workspace"
    );
    Fault::new(FaultCode::NotFound, message).about(Subject::Path)
}

/// The file at a path, or the last one that was there.
pub(crate) fn last_at(workspace: &Workspace, path: &WsPath) -> Result<Option<Node>> {
    let store = workspace.store();
    let mut found: Option<Node> = None;
    let mut parent = FileId::ROOT;
    for name in path.names() {
        let living = store.child(parent, &name)?;
        let node = match living {
            Some(node) => Some(node),
            None => store.former_child(parent, &name)?,
        };
        let Some(node) = node else { return Ok(None) };
        parent = node.id;
        found = Some(node);
    }
    Ok(found)
}

/// The file of an id, living or removed, or a fault that says where ids come from.
pub(crate) fn find_file(workspace: &Workspace, file: FileId) -> Result<Node> {
    workspace.store().node(file)?.ok_or_else(|| {
        let message =
            format!("there is no file {file}; listings and the trash name the ids that there are");
        Fault::new(FaultCode::NotFound, message)
    })
}

/// The step of an id, or a fault that says where ids come from.
pub(crate) fn find_step(workspace: &Workspace, step: StepId) -> Result<StepRow> {
    workspace.store().step(step)?.ok_or_else(|| {
        let message =
            format!("there is no step {step}; list the history to find the one that is meant");
        Fault::new(FaultCode::NotFound, message).about(Subject::Step)
    })
}

/// A step as an entry of a history. `change` is its change of the file whose history it is.
pub(crate) fn entry(row: StepRow, change: Option<Change>) -> HistoryEntry {
    let after = change.as_ref().and_then(|change| change.after.as_ref());
    let (hash, size) = (after.and_then(|state| state.content), after.map(|state| state.size));
    let version = change.as_ref().and_then(|change| change.version);
    let path = match change {
        Some(change) => change.to.or(change.from),
        None => row.path,
    };
    HistoryEntry {
        id: row.id,
        number: row.seq,
        at: row.at,
        author: row.author,
        actor: row.actor,
        verb: row.verb,
        chat: row.chat,
        undoes: row.undoes,
        back_to: row.back_to,
        files: row.files,
        path,
        hash,
        version,
        size: size.filter(|_| hash.is_some()),
        lines: None,
    }
}
