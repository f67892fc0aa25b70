//! import: records what is on disk and differs from what the store knows, as one step of author
//! `external`; take-in: the same, as a step of whoever had a command run in place. Neither changes
//! anything on disk.

use std::collections::HashSet;

use yard_core::op::{Import, Imported, Landed, TakeIn};
use yard_core::{
    Call, Effect, EffectKind, FaultCode, FileId, FileKind, FileState, FileType, Result, WsPath,
};
use yard_disk::{EntryKind, ResolvedPath, not_found};
use yard_search::{Flow, Rules, Visit, Walk};
use yard_store::{Effort, NewChange, Node};

use crate::draft::Records;
use crate::op::list::Lookup;
use crate::planner::{Large, Planner, join};
use crate::proposal::{Execute, Planned};
use crate::virtual_files::check_free;
use crate::workspace::Workspace;

/// How often progress is reported, in entries.
const PROGRESS_EVERY: u64 = 64;

impl Execute for Import {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Imported>> {
        let (base, stat) = match workspace.disk.locate(&self.path, false)? {
            ResolvedPath::Present { path, stat } => (path, stat),
            ResolvedPath::Missing { path } => {
                return Importing::new(workspace, call).gone_only(&path);
            }
            ResolvedPath::Blocked { .. } => return Err(not_found(&self.path)),
        };
        let mut importing = Importing::new(workspace, call);
        importing.visit(&Visit { path: base.clone(), kind: stat.kind })?;
        if stat.is(FileKind::Folder) {
            importing.visit_all(&base, self.include_ignored)?;
        }
        importing.finish(&base)
    }
}

impl Execute for TakeIn {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Landed>> {
        let mut importing = Importing::new(workspace, call);
        importing.planner.draft.records = Records::Callers;
        importing.planner.effort = Effort::Quick;
        importing.is_repeated = true;
        importing.visit_all(&WsPath::root(), false)?;
        let Importing { mut planner, answer, .. } = importing;
        planner.draft.expects.clear();
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

/// What is recorded, as what happened path by path.
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
    lookup: Lookup<'a>,
    seen: HashSet<FileId>,
    done: u64,
    /// What this process recorded a moment ago is taken to be the same under the same signature: whoever
    /// looks again and again, or ends with many terminals, does not read it all each time.
    is_repeated: bool,
    answer: Imported,
}

impl<'a> Importing<'a> {
    fn new(workspace: &'a Workspace, call: &'a Call) -> Self {
        let mut planner = Planner::new(workspace, call);
        planner.effort = Effort::Thorough;
        planner.draft.exclusive = true;
        planner.draft.records = Records::Others;
        let answer = Imported {
            step: None,
            added: 0,
            changed: 0,
            removed: 0,
            unchanged: 0,
            skipped: Vec::new(),
        };
        let (lookup, seen) = (Lookup::new(workspace), HashSet::new());
        Self { planner, lookup, seen, done: 0, is_repeated: false, answer }
    }

    /// Looks at everything below a folder, and at what is not there any more.
    fn visit_all(&mut self, base: &WsPath, include_ignored: bool) -> Result<()> {
        let Planner { workspace, call, .. } = self.planner;
        let rules = Rules { recursive: true, include_ignored };
        Walk::new(&workspace.disk, call, rules).run(base, &mut |visit| {
            self.visit(&visit)?;
            Ok(Flow::Continue(()))
        })?;
        self.look_for_gone(base)
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
            // What is wrong with this machine is not about this file.
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
        check_free(&visit.path)?;
        let node = self.lookup.node(&visit.path)?;
        let known = node.as_ref().map(|node| node.id);
        self.seen.extend(known);
        if self.is_remembered(node.as_ref(), visit)? {
            self.answer.unchanged += 1;
            return Ok(());
        }
        let before = self.planner.draft.adopted.len();
        let current = self.planner.current(&visit.path, Large::Leave)?;
        if let (EntryKind::Known(FileKind::File), Some(content)) =
            (visit.kind, current.state.content)
        {
            self.planner.draft.seen.push((current.id, content, current.stat));
        }
        let large =
            visit.kind == EntryKind::Known(FileKind::File) && current.state.content.is_none();
        if large {
            let message =
                "larger than what is loaded whole: known, but its content is not recorded";
            self.answer.skipped.push((visit.path.clone(), message.to_owned()));
        }
        let adopted = self.planner.draft.adopted.len() > before;
        match (adopted, known) {
            (false, _) => self.answer.unchanged += 1,
            (true, Some(_)) => self.answer.changed += 1,
            (true, None) => self.answer.added += 1,
        }
        Ok(())
    }

    /// Whether a trusted signature says that nothing changed.
    fn is_remembered(&self, node: Option<&Node>, visit: &Visit) -> Result<bool> {
        let Some(node) = node else { return Ok(false) };
        let Some(stat) = self.planner.workspace.disk.stat(&visit.path)? else { return Ok(false) };
        let same = stat.is(node.last.kind) && stat.mode == node.last.mode;
        let was_recorded = || {
            let workspace = self.planner.workspace;
            let recorded =
                |content| workspace.signatures.did_record(node.id, content, stat.signature);
            self.is_repeated && node.last.content.is_some_and(recorded)
        };
        let is_folder = node.last.kind == FileKind::Folder;
        Ok(same && (is_folder || node.signature == Some(stat.signature) || was_recorded()))
    }

    /// Nodes below `base` that are no longer on disk.
    fn look_for_gone(&mut self, base: &WsPath) -> Result<()> {
        match self.planner.known_folder(base)? {
            Some(folder) => self.gone_below(folder, base),
            None => Ok(()),
        }
    }

    fn gone_below(&mut self, folder: FileId, path: &WsPath) -> Result<()> {
        let mut ahead = vec![(folder, path.clone())];
        while let Some((folder, path)) = ahead.pop() {
            self.planner.call.check()?;
            for node in self.planner.store().children(folder)? {
                let below = join(&path, &node.last.name)?;
                let seen = self.seen.contains(&node.id);
                if !seen && self.planner.workspace.disk.stat(&below)?.is_none() {
                    self.gone(&node, &below)?;
                } else if node.last.kind == FileKind::Folder {
                    ahead.push((node.id, below));
                }
            }
        }
        Ok(())
    }

    fn gone(&mut self, node: &Node, path: &WsPath) -> Result<()> {
        let before = self.planner.draft.adopted.len();
        self.planner.adopt_gone(node, path)?;
        self.answer.removed += (self.planner.draft.adopted.len() - before) as u64;
        Ok(())
    }

    /// The path itself is gone from disk.
    fn gone_only(mut self, path: &WsPath) -> Result<Planned<Imported>> {
        let node = self.planner.store().lookup(path)?;
        let node = node.ok_or_else(|| not_found(path))?;
        self.gone(&node, path)?;
        self.finish(path)
    }

    fn finish(mut self, base: &WsPath) -> Result<Planned<Imported>> {
        self.planner.call.progress(self.done, Some(self.done));
        // What is recorded is what was seen; it need not be what will be there at the commit.
        self.planner.draft.expects.clear();
        let effect = yard_core::Effect::one(EffectKind::Read, base.clone()).with_contents();
        if self.planner.draft.adopted.is_empty() {
            return Ok(Planned::Answer { effect, answer: self.answer });
        }
        self.planner.effect = effect;
        self.answer.step = Some(self.planner.draft.id);
        self.planner.propose::<Import>(self.answer)
    }
}
