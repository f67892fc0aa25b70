//! Whether a change on disk is ours. A step is in the store before it is on disk: what the store says of
//! a path, and what the newest steps took from it, explains everything that steps did.

use std::collections::{HashMap, HashSet};

use yard_core::{Author, Call, FaultCode, FileKind, Result, WsPath};
use yard_disk::EntryStat;
use yard_store::{Change, Node, Seq};

use super::How;
use crate::workspace::Workspace;

/// Steps that are read at once.
const PAGE: usize = 100;
/// How many of the newest steps can explain what is heard now; hints are much younger.
const RECENT: Seq = 2_000;
/// When more places are remembered, those of earlier looks are forgotten.
const PLACES: usize = 8_192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A step did it.
    Ours,
    /// Somebody else did it.
    Outside,
    /// A step is on its way to the disk here: to be looked at again.
    Unsettled,
}

/// What the newest steps took away and moved.
pub(super) struct Own {
    /// The steps up to this one were read.
    read: Seq,
    /// The newest steps are to be read before anything is said.
    behind: bool,
    /// Places that a step emptied.
    vacated: HashMap<WsPath, Seq>,
    /// Places that a step moved something to.
    arrived: HashSet<WsPath>,
}

impl Own {
    pub(super) fn new(workspace: &Workspace) -> Result<Self> {
        let read = workspace.store().head()?;
        Ok(Self { read, behind: true, vacated: HashMap::new(), arrived: HashSet::new() })
    }

    /// Begins a round of looks.
    pub(super) fn begin(&mut self) {
        self.behind = true;
    }

    /// Looks at a path.
    pub(super) fn judge(
        &mut self,
        workspace: &Workspace,
        path: &WsPath,
        how: &How,
        call: &Call,
    ) -> Verdict {
        match self.look(workspace, path, how, call) {
            Ok(verdict) => verdict,
            // A link was swapped in: what is heard is not of this workspace.
            Err(fault) if fault.code() == FaultCode::PathOutside => Verdict::Ours,
            // It changed while it was looked at.
            Err(_) => Verdict::Unsettled,
        }
    }

    fn look(
        &mut self,
        workspace: &Workspace,
        path: &WsPath,
        how: &How,
        call: &Call,
    ) -> Result<Verdict> {
        // In this order: what is applied now is on disk when that is looked at.
        let applied = workspace.locks.applied()?.unwrap_or_default().seq;
        let node = workspace.store().lookup(path)?;
        let stat = workspace.disk.stat(path)?;
        if stat.is_some() {
            self.is_filled(path, applied);
        }
        let ours = match (&node, &stat) {
            (Some(node), Some(stat)) => agrees(workspace, node, path, stat, call)?,
            (Some(_), None) => false,
            (None, Some(_)) => self.was_moved_here(workspace, how)?,
            // What came and went between two looks left nothing to tell of.
            (None, None) => {
                let taken = self.was_taken(workspace, path)?;
                taken.is_some() || !matches!(how, How::Changed)
            }
        };
        if ours {
            return Ok(Verdict::Ours);
        }
        let moving = self.is_moving(workspace, path, node.as_ref(), applied)?;
        let gone_by_step =
            node.is_none() && stat.is_none() && self.was_taken(workspace, path)?.is_some();
        Ok(if moving || gone_by_step { Verdict::Unsettled } else { Verdict::Outside })
    }

    /// Whether a step changed a path since it was looked up, or was not on disk yet when that was looked
    /// at.
    fn is_moving(
        &mut self,
        workspace: &Workspace,
        path: &WsPath,
        node: Option<&Node>,
        applied: Seq,
    ) -> Result<bool> {
        // Steps may have come since this round of looks began.
        self.behind = true;
        let newest = |node: &Node| (node.id, node.seq);
        let again = workspace.store().lookup(path)?;
        if node.map(newest) != again.as_ref().map(newest) {
            return Ok(true);
        }
        let last = match node {
            Some(node) => Some(node.seq),
            None => self.was_taken(workspace, path)?,
        };
        Ok(last.is_some_and(|seq| seq > applied))
    }

    /// What a step emptied is filled again: that step explains nothing that happens from now on.
    fn is_filled(&mut self, path: &WsPath, applied: Seq) {
        if self.vacated.get(path).is_some_and(|seq| *seq <= applied) {
            self.vacated.remove(path);
        }
    }

    /// Whether a path was found in a folder that a step moved to where it is, with all that was in it.
    fn was_moved_here(&mut self, workspace: &Workspace, how: &How) -> Result<bool> {
        let How::FoundIn(folder) = how else { return Ok(false) };
        self.catch_up(workspace)?;
        Ok(self.arrived.contains(folder))
    }

    /// The step that took away what was at a path, or a folder above it.
    fn was_taken(&mut self, workspace: &Workspace, path: &WsPath) -> Result<Option<Seq>> {
        self.catch_up(workspace)?;
        let lineage = path.lineage();
        Ok(lineage.iter().rev().find_map(|path| self.vacated.get(path).copied()))
    }

    /// Reads the steps since the last look.
    fn catch_up(&mut self, workspace: &Workspace) -> Result<()> {
        if !std::mem::take(&mut self.behind) {
            return Ok(());
        }
        if self.vacated.len() + self.arrived.len() > PLACES {
            self.vacated.clear();
            self.arrived.clear();
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
            changes.iter().for_each(|change| self.learn(change, row.seq));
        }
        self.read = head;
        Ok(())
    }

    fn learn(&mut self, change: &Change, seq: Seq) {
        if let Some(to) = &change.to {
            self.vacated.remove(to);
        }
        let Some(from) = change.from.as_ref().filter(|_| change.from != change.to) else { return };
        self.vacated.insert(from.clone(), seq);
        self.arrived.extend(change.to.clone());
    }
}

/// Whether what is on disk is what the store's newest version says. Of a file that is too large to be a
/// version, the size must do.
fn agrees(
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
    Ok(workspace.judge(Some(node.clone()), path, stat, None, call)?.synced)
}
