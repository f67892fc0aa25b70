//! Finds out whether a step or another program changed an entry on disk. A step is in the store before it is on disk, so that
//! every change by a step follows from the state of its path in the store and from the newest steps.

use std::collections::{HashMap, HashSet};

use yard_core::{Author, Call, FaultCode, FileKind, Result, WsPath};
use yard_disk::EntryStat;
use yard_store::{Change, Node, Seq};

use super::PathEvent;
use crate::workspace::Workspace;

/// Steps that are read at once.
const PAGE: usize = 100;
/// How many of the newest steps are considered. Hints are much younger than the oldest of them.
const RECENT: Seq = 2_000;
/// The recorded paths of steps are dropped when there are more than this.
const MAX_PATHS: usize = 8_192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A step changed the entry.
    Step,
    /// Another program changed the entry.
    External,
    /// A step is being projected to this path, which has to be checked again.
    Pending,
}

/// The paths that the newest steps vacated and moved entries to.
pub(super) struct StepFilter {
    /// The steps up to this one were read.
    read: Seq,
    /// Newer steps have to be read before the next decision.
    is_behind: bool,
    /// Paths that a step vacated.
    vacated: HashMap<WsPath, Seq>,
    /// Paths to which a step moved an entry.
    move_targets: HashSet<WsPath>,
}

impl StepFilter {
    pub(super) fn new(workspace: &Workspace) -> Result<Self> {
        let read = workspace.store().head()?;
        Ok(Self { read, is_behind: true, vacated: HashMap::new(), move_targets: HashSet::new() })
    }

    /// Begins a round of checks.
    pub(super) fn begin_round(&mut self) {
        self.is_behind = true;
    }

    /// What changed the entry at a path.
    pub(super) fn origin_of(
        &mut self,
        workspace: &Workspace,
        path: &WsPath,
        event: &PathEvent,
        call: &Call,
    ) -> Origin {
        match self.check(workspace, path, event, call) {
            Ok(origin) => origin,
            // A link was swapped in, and the hint is about an entry outside of the workspace: there is nothing to report.
            Err(fault) if fault.code() == FaultCode::PathOutside => Origin::Step,
            // The entry changed during the check.
            Err(_) => Origin::Pending,
        }
    }

    fn check(
        &mut self,
        workspace: &Workspace,
        path: &WsPath,
        event: &PathEvent,
        call: &Call,
    ) -> Result<Origin> {
        // The mark is read first, so that every step up to it is on disk when the disk is read.
        let applied = workspace.history.locks.applied()?.unwrap_or_default().seq;
        let node = workspace.store().lookup(path)?;
        let stat = workspace.disk.stat(path)?;
        if stat.is_some() {
            self.note_filled(path, applied);
        }
        let is_by_step = match (&node, &stat) {
            (Some(node), Some(stat)) => is_newest_version(workspace, node, path, stat, call)?,
            (Some(_), None) => false,
            (None, Some(_)) => self.was_moved_here(workspace, event)?,
            // An entry that was created and removed between two checks is not reported.
            (None, None) => {
                let removed_by = self.vacated_by(workspace, path)?;
                removed_by.is_some() || !matches!(event, PathEvent::Changed)
            }
        };
        if is_by_step {
            return Ok(Origin::Step);
        }
        let is_pending = self.is_pending(workspace, path, node.as_ref(), applied)?;
        let is_removed_by_step =
            node.is_none() && stat.is_none() && self.vacated_by(workspace, path)?.is_some();
        Ok(if is_pending || is_removed_by_step { Origin::Pending } else { Origin::External })
    }

    /// Whether a step changed a path since it was looked up, or was not on disk yet when the disk was read.
    fn is_pending(
        &mut self,
        workspace: &Workspace,
        path: &WsPath,
        node: Option<&Node>,
        applied: Seq,
    ) -> Result<bool> {
        // There may be new steps since this round began.
        self.is_behind = true;
        let newest = |node: &Node| (node.id, node.seq);
        let again = workspace.store().lookup(path)?;
        if node.map(newest) != again.as_ref().map(newest) {
            return Ok(true);
        }
        let last = match node {
            Some(node) => Some(node.seq),
            None => self.vacated_by(workspace, path)?,
        };
        Ok(last.is_some_and(|seq| seq > applied))
    }

    /// Notes that a vacated path has an entry again: the step that vacated it does not explain later changes.
    fn note_filled(&mut self, path: &WsPath, applied: Seq) {
        if self.vacated.get(path).is_some_and(|seq| *seq <= applied) {
            self.vacated.remove(path);
        }
    }

    /// Whether a path was found in a folder that a step moved there with all its entries.
    fn was_moved_here(&mut self, workspace: &Workspace, event: &PathEvent) -> Result<bool> {
        let PathEvent::FoundIn(folder) = event else { return Ok(false) };
        self.catch_up(workspace)?;
        Ok(self.move_targets.contains(folder))
    }

    /// The step that vacated a path, or a folder above it.
    fn vacated_by(&mut self, workspace: &Workspace, path: &WsPath) -> Result<Option<Seq>> {
        self.catch_up(workspace)?;
        let lineage = path.lineage();
        Ok(lineage.iter().rev().find_map(|path| self.vacated.get(path).copied()))
    }

    /// Reads the steps since the last round.
    fn catch_up(&mut self, workspace: &Workspace) -> Result<()> {
        if !std::mem::take(&mut self.is_behind) {
            return Ok(());
        }
        if self.vacated.len() + self.move_targets.len() > MAX_PATHS {
            self.vacated.clear();
            self.move_targets.clear();
        }
        let store = workspace.store();
        let head = store.head()?;
        let oldest = self.read.max(head.saturating_sub(RECENT));
        let mut rows = Vec::new();
        let mut before = head + 1;
        while before > oldest + 1 {
            let page = store.steps(None, Some(before), PAGE)?;
            let Some(last) = page.last() else { break };
            before = last.seq;
            rows.extend(page.into_iter().filter(|row| row.seq > oldest));
        }
        for row in rows.iter().rev().filter(|row| row.author != Author::External) {
            let changes = store.changes(row.seq)?;
            changes.iter().for_each(|change| self.add(change, row.seq));
        }
        self.read = head;
        Ok(())
    }

    fn add(&mut self, change: &Change, seq: Seq) {
        if let Some(to) = &change.to {
            self.vacated.remove(to);
        }
        let Some(from) = change.from.as_ref().filter(|_| change.from != change.to) else { return };
        self.vacated.insert(from.clone(), seq);
        self.move_targets.extend(change.to.clone());
    }
}

/// Whether an entry on disk equals the store's newest version. Of a file that is too large to be a version, only the size is
/// compared.
fn is_newest_version(
    workspace: &Workspace,
    node: &Node,
    path: &WsPath,
    stat: &EntryStat,
    call: &Call,
) -> Result<bool> {
    let large = node.last.content.is_none() && node.last.kind == FileKind::File;
    if large && stat.is(FileKind::File) {
        return Ok(node.last.size == stat.size());
    }
    Ok(workspace.sync_state_of(Some(node.clone()), path, stat, None, call)?.synced)
}
