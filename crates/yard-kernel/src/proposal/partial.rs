//! A part of a proposal: a person approves some of what was shown and refuses the rest. The parts are what happens to each
//! file, and the hunks of its text. What is chosen is completed with the new folders that it needs; a folder is removed only
//! if everything in it is; and a choice that would leave a path occupied, or half of a move, is a fault that says what to
//! choose too.
//!
//! Everything that the whole proposal expects to find on disk is still expected, because all of it was shown.

mod parts;

use std::collections::{BTreeSet, HashMap, HashSet};

use yard_core::diff::TextHunks;
use yard_core::{Call, ChangePart, Fault, FaultCode, FileId, FileKind, Result, WsPath};
use yard_disk::{Replaces, StagedAttributes};
use yard_store::{Base, Effort, NewChange};

use self::parts::{Parts, decided_whole, no_such_hunk};
use crate::contents::staging::ContentToStage;
use crate::draft::Draft;
use crate::proposal::done_part::DonePart;
use crate::proposal::preview::{MAX_SHOWN_BYTES, after, before};
use crate::proposal::{CommitWork, Execute, Proposal};
use crate::workspace::Workspace;

/// A choice among the parts of a draft, completed.
struct Choice {
    /// The files of which anything is done.
    files: HashSet<FileId>,
    /// The files of which some hunks are done, with the new bytes.
    texts: HashMap<FileId, ChosenText>,
    /// What is not done.
    refused: Vec<ChangePart>,
}

/// A text with some of its hunks.
struct ChosenText {
    /// The text before.
    old: Vec<u8>,
    bytes: Vec<u8>,
}

impl<A> Proposal<A> {
    /// What is not done if only these parts are. The fault says what is wrong with the choice.
    pub fn refused_without(
        &self,
        workspace: &Workspace,
        chosen: &[ChangePart],
        call: &Call,
    ) -> Result<Vec<ChangePart>> {
        Ok(choose(self.draft()?, workspace, chosen, call)?.refused)
    }

    /// Leaves out everything but these parts, also from the effect and the answer.
    pub fn keep_only<O: Execute<Answer = A>>(
        self,
        workspace: &Workspace,
        chosen: &[ChangePart],
        call: &Call,
    ) -> Result<Self> {
        let choice = choose(self.draft()?, workspace, chosen, call)?;
        let Self { mut effect, work } = self;
        let CommitWork::Step { mut draft, answer } = work else { return Err(no_parts()) };
        draft.keep_only(&choice, workspace, call)?;
        let kept = draft.changes.iter().flat_map(|change| change.from.iter().chain(&change.to));
        let kept: HashSet<&WsPath> = kept.collect();
        effect.paths.retain(|one| !one.kind.changes() || kept.contains(&one.path));
        let answer = O::answer_for_part(answer, &DonePart::of(&draft.changes));
        Ok(Self { effect, work: CommitWork::Step { draft, answer } })
    }

    fn draft(&self) -> Result<&Draft> {
        match &self.work {
            CommitWork::Step { draft, .. } => Ok(draft),
            CommitWork::Purge { .. } => Err(no_parts()),
        }
    }
}

/// The fault for a proposal that has no parts.
fn no_parts() -> Fault {
    let message = "this cannot be approved in part: approve all of it or none, without `parts`";
    Fault::new(FaultCode::BadArgument, message)
}

/// Completes a choice. Nothing is changed.
fn choose(
    draft: &Draft,
    workspace: &Workspace,
    chosen: &[ChangePart],
    call: &Call,
) -> Result<Choice> {
    let parts = Parts::of(draft);
    let (mut whole, mut texts, mut refused) = (HashSet::new(), HashMap::new(), Vec::new());
    let mut named = HashSet::new();
    for part in chosen {
        call.check()?;
        if !named.insert(&part.path) {
            return Err(parts::named_twice(&part.path));
        }
        let at = parts.at(&part.path, |unit| hunks_of(draft, workspace, unit, call))?;
        whole.extend(at.iter().copied());
        let Some(indices) = &part.hunks else { continue };
        let (file, change) = parts.single_change(at).ok_or_else(|| decided_whole(&part.path))?;
        let (text, others) = choose_hunks(draft, workspace, change, part, indices, call)?;
        if let Some(text) = text {
            texts.insert(file, text);
            refused.push(ChangePart { path: part.path.clone(), hunks: Some(others) });
        }
    }
    let kept = parts.complete(whole)?;
    let rest = parts.refused(&kept);
    refused.extend(rest.into_iter().map(ChangePart::whole));
    let files = kept.iter().map(|unit| parts.file(*unit)).collect();
    Ok(Choice { files, texts, refused })
}

/// The text of a change, if its hunks can be chosen: an edit of a text that changes nothing else.
fn hunks_of(
    draft: &Draft,
    workspace: &Workspace,
    change: &NewChange,
    call: &Call,
) -> Result<Option<(Vec<u8>, TextHunks)>> {
    let (Some(old), Some(new)) = (&change.before, &change.after) else { return Ok(None) };
    let is_file = [old, new].iter().all(|state| state.kind == FileKind::File && !state.json);
    let is_edit = change.from == change.to && old.mode == new.mode && old.content != new.content;
    if !is_file || !is_edit || draft.is_one_move || draft.files.build_outputs.contains(&change.file)
    {
        return Ok(None);
    }
    let old = before(workspace, draft, change, MAX_SHOWN_BYTES);
    let new = after(workspace, draft, change, MAX_SHOWN_BYTES);
    let (Some(old), Some(new)) = (old, new) else { return Ok(None) };
    let hunks = call.bounding(u64::MAX, |bounds| TextHunks::between(&old, &new, bounds))?;
    Ok(hunks.map(|hunks| (old, hunks)))
}

/// The text with the chosen hunks, and the indices of the others. Without a text all of them are chosen.
fn choose_hunks(
    draft: &Draft,
    workspace: &Workspace,
    change: &NewChange,
    part: &ChangePart,
    indices: &[usize],
    call: &Call,
) -> Result<(Option<ChosenText>, Vec<usize>)> {
    let path = &part.path;
    let text = hunks_of(draft, workspace, change, call)?;
    let (old, hunks) = text.ok_or_else(|| decided_whole(path))?;
    let chosen: BTreeSet<usize> = indices.iter().copied().collect();
    let count = hunks.count();
    if chosen.is_empty() || chosen.iter().any(|index| *index >= count) {
        return Err(no_such_hunk(path, count));
    }
    let others: Vec<usize> = (0..count).filter(|index| !chosen.contains(index)).collect();
    if others.is_empty() {
        return Ok((None, others));
    }
    let bytes = hunks.apply(&chosen).ok_or_else(|| decided_whole(path))?;
    Ok((Some(ChosenText { old, bytes }), others))
}

impl Draft {
    /// Leaves out what was not chosen. What was adopted stays, because it is on disk.
    fn keep_only(&mut self, choice: &Choice, workspace: &Workspace, call: &Call) -> Result<()> {
        let is_kept = |file: &FileId| choice.files.contains(file);
        self.changes.retain(|change| is_kept(&change.file));
        self.files.retain(is_kept);
        for (file, text) in &choice.texts {
            self.write_chosen(*file, text, workspace, call)?;
        }
        self.leave_large_files_in_place();
        self.contents.drop_unneeded(self.changes.iter().chain(&self.adopted));
        Ok(())
    }

    /// Replaces the new content of a file by the text with the chosen hunks.
    fn write_chosen(
        &mut self,
        file: FileId,
        text: &ChosenText,
        workspace: &Workspace,
        call: &Call,
    ) -> Result<()> {
        let Some(at) = self.changes.iter().position(|change| change.file == file) else {
            return Ok(());
        };
        let (Some(path), Some(state)) =
            (self.changes[at].to.clone(), self.changes[at].after.clone())
        else {
            return Ok(());
        };
        let base = self.changes[at].before.as_ref().and_then(|before| before.content);
        let base = base.map(|hash| Base { hash, bytes: &text.old });
        let attributes = StagedAttributes {
            mode: Some(state.mode),
            owner: self.basis.stat_at(&path).map(|stat| stat.owner),
            taking: Some(Replaces { file, step: self.id }),
        };
        let content = ContentToStage {
            bytes: &text.bytes,
            base,
            kind: FileKind::File,
            attributes,
            path: path.clone(),
            layer: None,
        };
        let content = content.stage(workspace, Effort::Quick, call)?;
        match workspace.disk.open_listed(&path) {
            Ok((from, _)) => {
                content.staged.take_attributes(&from, content.staged.stat.mode, &path)?;
            }
            // The commit finds that the file is gone, and plans again.
            Err(fault) if fault.code() == FaultCode::NotFound => {}
            Err(fault) => return Err(fault),
        }
        if let Some(after) = &mut self.changes[at].after {
            (after.content, after.size) = (Some(content.hash), content.size);
        }
        self.contents.add(content.prepared, content.stored_file, workspace.store())?;
        self.contents.written.extend(content.written.map(|bytes| (content.hash, bytes)));
        self.files.staged.insert(file, content.staged);
        Ok(())
    }
}
