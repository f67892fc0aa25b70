//! import: records differences between disk and store as one step of author `external`. take-in: the same, as a step of the
//! caller that ran a command in place. Neither changes anything on disk.

use std::collections::HashSet;

use yard_core::op::{Import, Imported, Landed, TakeIn};
use yard_core::{
    Call, Effect, EffectKind, FaultCode, FileId, FileKind, FileState, FileType, Result, WsPath,
};
use yard_disk::{EntryKind, ResolvedPath, not_found};
use yard_search::{Flow, Visit, Walk, WalkOptions};
use yard_store::{Effort, NewChange, Node};

use crate::draft::StepOrigin;
use crate::lookup::node_lookup::NodeLookup;
use crate::planner::{Large, Planner, join};
use crate::proposal::{Execute, Planned};
use crate::virtual_files::check_not_reserved;
use crate::workspace::Workspace;

/// How often progress is reported, in entries.
const PROGRESS_EVERY: u64 = 64;

impl Execute for Import {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Imported>> {
        let (base, stat) = match workspace.disk.locate(&self.path, false)? {
            ResolvedPath::Present { path, stat } => (path, stat),
            ResolvedPath::Missing { path } => {
                return Importing::new(workspace, call).finish_gone(&path);
            }
            ResolvedPath::Blocked { .. } => return Err(not_found(&self.path)),
        };
        let mut importing = Importing::new(workspace, call);
        importing.visit(&Visit { path: base.clone(), kind: stat.kind, ignored: 0 })?;
        if stat.is(FileKind::Folder) {
            importing.visit_all(&base, self.include_ignored)?;
        }
        importing.finish(&base)
    }
}

impl Execute for TakeIn {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Landed>> {
        let mut importing = Importing::new(workspace, call);
        importing.planner.draft.origin = StepOrigin::InPlaceCommand;
        importing.planner.effort = Effort::Quick;
        importing.trusts_recent = true;
        importing.visit_all(&WsPath::root(), false)?;
        let Importing { mut planner, answer, .. } = importing;
        planner.draft.basis.expectations.clear();
        let effect = effect_of(&planner.draft.adopted);
        let step = (!planner.draft.adopted.is_empty()).then_some(planner.draft.id);
        let landed = Landed {
            step,
            created: answer.added,
            changed: answer.changed,
            removed: answer.removed,
            unrecorded: answer.skipped.into_iter().map(|(path, _)| path).collect(),
            ..Landed::default()
        };
        if step.is_none() {
            return Ok(Planned::Answer { effect, answer: landed });
        }
        planner.effect = effect;
        planner.propose::<Self>(landed)
    }
}

/// The effect of adopted changes.
fn effect_of(changes: &[NewChange]) -> Effect {
    let mut effect = Effect::default();
    for change in changes {
        let kind = match (&change.before, &change.after) {
            (None, _) => EffectKind::Create,
            (_, None) => EffectKind::Remove,
            _ => EffectKind::Modify,
        };
        let state: Option<&FileState> = change.after.as_ref().or(change.before.as_ref());
        let file_type = state.map_or(FileType::Document, |state| state.file_type);
        if let Some(path) = change.to.as_ref().or(change.from.as_ref()) {
            effect.push(kind, path.clone(), file_type);
        }
    }
    effect
}

struct Importing<'a> {
    planner: Planner<'a>,
    lookup: NodeLookup<'a>,
    seen: HashSet<FileId>,
    done: u64,
    /// Files that this process recorded a moment ago count as unchanged if they have the same signature, so that frequent
    /// imports do not read them each time.
    trusts_recent: bool,
    answer: Imported,
}

impl<'a> Importing<'a> {
    fn new(workspace: &'a Workspace, call: &'a Call) -> Self {
        let mut planner = Planner::new(workspace, call);
        planner.effort = Effort::Thorough;
        planner.draft.exclusive = true;
        planner.draft.origin = StepOrigin::External;
        let answer = Imported {
            step: None,
            added: 0,
            changed: 0,
            removed: 0,
            unchanged: 0,
            skipped: Vec::new(),
        };
        let (lookup, seen) = (NodeLookup::new(workspace), HashSet::new());
        Self { planner, lookup, seen, done: 0, trusts_recent: false, answer }
    }

    /// Records changes of everything below a folder, and entries that are gone.
    fn visit_all(&mut self, base: &WsPath, include_ignored: bool) -> Result<()> {
        let Planner { workspace, call, .. } = self.planner;
        let options = WalkOptions { recursive: true, include_ignored };
        Walk::new(&workspace.disk, call, options).run(base, &mut |visit| {
            self.visit(&visit)?;
            Ok(Flow::Continue(()))
        })?;
        self.record_gone_below(base)
    }

    fn visit(&mut self, visit: &Visit) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(PROGRESS_EVERY) {
            self.planner.call.progress(self.done, None);
        }
        if visit.path.is_root() {
            return Ok(());
        }
        match self.record(visit) {
            Ok(()) => Ok(()),
            // These faults are not about this file.
            Err(fault) if matches!(fault.code(), FaultCode::Timeout | FaultCode::DiskFull) => {
                Err(fault)
            }
            Err(fault) => {
                self.answer.skipped.push((visit.path.clone(), fault.message().to_owned()));
                Ok(())
            }
        }
    }

    fn record(&mut self, visit: &Visit) -> Result<()> {
        check_not_reserved(&visit.path)?;
        let node = self.lookup.take(&visit.path)?;
        let id = node.as_ref().map(|node| node.id);
        self.seen.extend(id);
        if self.is_unchanged(node.as_ref(), visit)? {
            self.answer.unchanged += 1;
            return Ok(());
        }
        let before = self.planner.draft.adopted.len();
        let current = self.planner.current(&visit.path, Large::Leave)?;
        if let (EntryKind::Known(FileKind::File), Some(content)) =
            (visit.kind, current.state.content)
        {
            self.planner.draft.basis.observed.push((current.id, content, current.stat));
        }
        let large =
            visit.kind == EntryKind::Known(FileKind::File) && current.state.content.is_none();
        if large {
            let message =
                "larger than what is loaded whole: known, but its content is not recorded";
            self.answer.skipped.push((visit.path.clone(), message.to_owned()));
        }
        let adopted = self.planner.draft.adopted.len() > before;
        match (adopted, id) {
            (false, _) => self.answer.unchanged += 1,
            (true, Some(_)) => self.answer.changed += 1,
            (true, None) => self.answer.added += 1,
        }
        Ok(())
    }

    /// Whether a trusted signature says that an entry has not changed.
    fn is_unchanged(&self, node: Option<&Node>, visit: &Visit) -> Result<bool> {
        let Some(node) = node else { return Ok(false) };
        let Some(stat) = self.planner.workspace.disk.stat(&visit.path)? else { return Ok(false) };
        let same = stat.is(node.last.kind) && stat.mode == node.last.mode;
        let was_recorded = || {
            let workspace = self.planner.workspace;
            let recorded =
                |content| workspace.caches.signatures.did_record(node.id, content, stat.signature);
            self.trusts_recent && node.last.content.is_some_and(recorded)
        };
        let is_folder = node.last.kind == FileKind::Folder;
        Ok(same && (is_folder || node.signature == Some(stat.signature) || was_recorded()))
    }

    /// Records entries below `base` that are no longer on disk.
    fn record_gone_below(&mut self, base: &WsPath) -> Result<()> {
        let folder = self.planner.id_at(base)?;
        let mut ahead: Vec<_> = folder.into_iter().map(|folder| (folder, base.clone())).collect();
        while let Some((folder, path)) = ahead.pop() {
            self.planner.call.check()?;
            for node in self.planner.store().children(folder)? {
                let below = join(&path, &node.last.name)?;
                let seen = self.seen.contains(&node.id);
                if !seen && self.planner.workspace.disk.stat(&below)?.is_none() {
                    self.record_gone(&node, &below)?;
                } else if node.last.kind == FileKind::Folder {
                    ahead.push((node.id, below));
                }
            }
        }
        Ok(())
    }

    fn record_gone(&mut self, node: &Node, path: &WsPath) -> Result<()> {
        let before = self.planner.draft.adopted.len();
        self.planner.adopt_gone(node, path)?;
        self.answer.removed += (self.planner.draft.adopted.len() - before) as u64;
        Ok(())
    }

    /// Records that the path itself is no longer on disk.
    fn finish_gone(mut self, path: &WsPath) -> Result<Planned<Imported>> {
        let node = self.planner.store().lookup(path)?;
        let node = node.ok_or_else(|| not_found(path))?;
        self.record_gone(&node, path)?;
        self.finish(path)
    }

    fn finish(mut self, base: &WsPath) -> Result<Planned<Imported>> {
        self.planner.call.progress(self.done, Some(self.done));
        // The step records what was seen: it does not matter if that changes before the commit.
        self.planner.draft.basis.expectations.clear();
        let effect = yard_core::Effect::one(EffectKind::Read, base.clone()).with_contents();
        if self.planner.draft.adopted.is_empty() {
            return Ok(Planned::Answer { effect, answer: self.answer });
        }
        self.planner.effect = effect;
        self.answer.step = Some(self.planner.draft.id);
        self.planner.propose::<Import>(self.answer)
    }
}
