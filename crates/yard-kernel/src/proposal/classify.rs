//! Classifies the effects of a proposal for the gate: whether a changed file is the chat's own, how much of what others
//! wrote the change retains, and whether it decides what programs of others do later. All operations are classified in the
//! same way, so that the same change gets the same verdict whichever operation makes it.
//!
//! Nothing here changes or judges anything.

mod aliases;
mod bare_repository;
mod git_config;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use yard_core::git::{self, GitFileKind};
use yard_core::op::{Land, Operation as _};
use yard_core::surviving_lines::SurvivingLines;
use yard_core::{
    Call, ChatScope, ContentHash, Effect, EffectKind, FileId, FileKind, PathEffect, Result, WsPath,
};
use yard_disk::{EntryKind, read_all};
use yard_store::{NewChange, OthersChange};

use crate::commands::git::moved_refs;
use crate::contents::build_output::{BuildOutputs, IgnoreFiles};
use crate::draft::Draft;
use crate::proposal::preview;
use crate::proposal::{CommitWork, Proposal};
use crate::workspace::Workspace;
use crate::workspace::caches::git_config_cache::ConfigTargets;

/// Most entries of a moved folder that are checked for changes by others. A folder with more counts as not own.
const MAX_MOVED: usize = 1_000;
impl Workspace {
    /// Adds to the effects of a proposal what only the kernel can find out. `is_edit` says that the operation names the parts
    /// of a file that it changes.
    pub fn classify_effects<A>(
        &self,
        proposal: &mut Proposal<A>,
        whose: &ChatScope,
        is_edit: bool,
        call: &Call,
    ) -> Result<()> {
        let Proposal { effect, work } = proposal;
        let CommitWork::Step { draft, .. } = work else { return Ok(()) };
        let mut classifier = EffectClassifier::new(self, draft, whose, is_edit, call);
        for one in effect.paths.iter_mut().filter(|one| one.kind.changes()) {
            call.check()?;
            classifier.classify(one)?;
        }
        if draft.landing.is_some() {
            // Approvals list first the effects that need one.
            let is_harmless = |one: &PathEffect| {
                !one.decides && (one.own || one.edits || one.kind == EffectKind::Create)
            };
            effect.paths.sort_by_key(is_harmless);
        }
        Ok(())
    }

    /// Adds to an effect's paths the other paths that lead to them by links, as named by the caller and by rules.
    pub fn add_path_aliases<'n>(
        &self,
        effect: &mut Effect,
        others: impl Iterator<Item = &'n WsPath>,
    ) {
        aliases::add(self, effect, others);
    }

    /// The newest change of a file that was made outside of the caller's chat.
    fn last_by_others(&self, file: FileId, whose: &ChatScope) -> Result<Option<OthersChange>> {
        let key = (file, whose.chat.map(|chat| chat.to_string()).or(whose.default_of.clone()));
        let (since, before) = self.caches.foreign_changes.get(&key).unwrap_or_default();
        let head = self.store().head()?;
        let newer = self.store().last_by_others(file, whose, since)?;
        let found = newer.or(before);
        self.caches.foreign_changes.insert(key, (head, found));
        Ok(found)
    }
}

/// Classifies the effects of one proposal.
struct EffectClassifier<'a> {
    workspace: &'a Workspace,
    draft: &'a Draft,
    whose: &'a ChatScope,
    is_edit: bool,
    call: &'a Call,
    build_outputs: BuildOutputs<'a>,
    leaving: HashMap<&'a WsPath, &'a NewChange>,
    arriving: HashMap<&'a WsPath, &'a NewChange>,
    /// Contents of files that other programs changed, which this proposal adopts.
    adopted: HashMap<FileId, Option<ContentHash>>,
    /// Every path that has an entry after the change and had none before.
    new_paths: HashSet<&'a WsPath>,
    repositories: HashMap<WsPath, bool>,
    config_targets: HashMap<WsPath, Option<Arc<ConfigTargets>>>,
}

impl<'a> EffectClassifier<'a> {
    fn new(
        workspace: &'a Workspace,
        draft: &'a Draft,
        whose: &'a ChatScope,
        is_edit: bool,
        call: &'a Call,
    ) -> Self {
        let by = |side: fn(&NewChange) -> Option<&WsPath>| {
            let placed = draft.changes.iter().filter_map(|change| Some((side(change)?, change)));
            placed.collect::<HashMap<_, _>>()
        };
        let adopted = draft
            .adopted
            .iter()
            .map(|change| (change.file, change.after.as_ref().and_then(|after| after.content)));
        let new_paths = draft.changes.iter().filter(|change| change.from != change.to);
        Self {
            workspace,
            draft,
            whose,
            is_edit,
            call,
            build_outputs: BuildOutputs::new(workspace, call, IgnoreFiles::WrittenByPeople),
            leaving: by(|change| change.from.as_ref()),
            arriving: by(|change| change.to.as_ref()),
            adopted: adopted.collect(),
            new_paths: new_paths.filter_map(|change| change.to.as_ref()).collect(),
            repositories: HashMap::new(),
            config_targets: HashMap::new(),
        }
    }

    fn classify(&mut self, one: &mut PathEffect) -> Result<()> {
        let change = match one.kind {
            EffectKind::Remove | EffectKind::MoveFrom => self.leaving.get(&one.path),
            _ => self.arriving.get(&one.path),
        };
        let Some(change) = change.copied() else { return Ok(()) };
        let is_placed =
            matches!(one.kind, EffectKind::Create | EffectKind::Modify | EffectKind::MoveTo);
        let kind = change.after.as_ref().map(|after| after.kind);
        one.is_link = is_placed && kind == Some(FileKind::Link);
        one.decides = self.decides(one, change)?;
        if one.kind == EffectKind::Create {
            return Ok(());
        }
        one.own = !self.is_rewound(&one.path) && self.is_own(one, change)?;
        one.edits = one.kind == EffectKind::Modify && !one.own && self.is_edit(change)?;
        one.mode_only = one.kind == EffectKind::Modify && changes_mode_only(change);
        Ok(())
    }

    /// Whether a ref was moved so that commits were left behind.
    fn is_rewound(&self, path: &WsPath) -> bool {
        self.draft.landing.as_ref().is_some_and(|landed| landed.rewound_refs.contains(path))
    }

    fn is_own(&mut self, one: &PathEffect, change: &NewChange) -> Result<bool> {
        let before = change.before.as_ref().or(change.after.as_ref());
        let is_folder = before.is_some_and(|state| state.kind == FileKind::Folder);
        if self.build_outputs.contain(&one.path, is_folder)? || is_git_at_work(&one.path, one.kind)
        {
            return Ok(true);
        }
        if !self.is_own_file(change.file)? {
            return self.is_remade(change.file, &one.path, is_folder);
        }
        let moves = matches!(one.kind, EffectKind::MoveFrom | EffectKind::MoveTo);
        match change.from.as_ref().filter(|_| moves && is_folder) {
            Some(from) => self.is_own_tree(from),
            None => Ok(true),
        }
    }

    /// Whether only this chat ever changed a file.
    fn is_own_file(&self, file: FileId) -> Result<bool> {
        if self.adopted.contains_key(&file) {
            return Ok(false);
        }
        Ok(self.workspace.last_by_others(file, self.whose)?.is_none())
    }

    /// Whether only commands made a file, and ignore files that people wrote exclude it: commands can make it again.
    fn is_remade(&mut self, file: FileId, path: &WsPath, is_folder: bool) -> Result<bool> {
        if self.adopted.contains_key(&file) {
            return Ok(false);
        }
        let makers = self.workspace.store().makers(file)?;
        let by_commands = makers.iter().all(|maker| maker.verb == Land::VERB);
        Ok(!makers.is_empty() && by_commands && self.build_outputs.is_ignored(path, is_folder)?)
    }

    /// Whether everything in a folder is the chat's own. An entry with a difference to the store is not.
    fn is_own_tree(&self, folder: &WsPath) -> Result<bool> {
        let (store, disk) = (self.workspace.store(), &self.workspace.disk);
        let mut seen = 0;
        let mut ahead = vec![folder.clone()];
        while let Some(folder) = ahead.pop() {
            self.call.check()?;
            for entry in disk.list(&folder)? {
                seen += 1;
                let Ok(path) = folder.join_bytes(&entry.name) else { return Ok(false) };
                let node = store.lookup(&path)?;
                let (Some(node), Some(stat)) = (node, disk.stat(&path)?) else { return Ok(false) };
                let EntryKind::Known(kind) = stat.kind else { return Ok(false) };
                let is_recorded = kind == node.last.kind
                    && (kind != FileKind::File || stat.size() == node.last.size);
                if seen > MAX_MOVED || !is_recorded || !self.is_own_file(node.id)? {
                    return Ok(false);
                }
                if kind == FileKind::File && !self.has_content(&path, node.last.content)? {
                    return Ok(false);
                }
                if kind == FileKind::Folder {
                    ahead.push(path);
                }
            }
        }
        Ok(true)
    }

    /// Whether a file on disk has that content.
    fn has_content(&self, path: &WsPath, content: Option<ContentHash>) -> Result<bool> {
        let (mut file, _) = self.workspace.disk.open_listed(path)?;
        let hash = yard_disk::hash_all(&mut file, path, self.call)?;
        Ok(Some(hash) == content)
    }

    /// Whether a change retains enough of what others wrote into a file to count as an edit.
    fn is_edit(&self, change: &NewChange) -> Result<bool> {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return Ok(false) };
        let are_files = before.kind == FileKind::File && after.kind == FileKind::File;
        if !are_files || before.mode != after.mode {
            return Ok(false);
        }
        let theirs = match self.adopted.get(&change.file) {
            Some(content) => *content,
            None => {
                let last = self.workspace.last_by_others(change.file, self.whose)?;
                last.and_then(|last| last.content)
            }
        };
        if theirs.is_some() && theirs == after.content {
            return Ok(true);
        }
        let most = self.workspace.limits().load_bytes;
        let Some(new) = preview::after(self.workspace, self.draft, change, most) else {
            return Ok(false);
        };
        let Some(theirs) = theirs else { return Ok(false) };
        let Some(old) = preview::before(self.workspace, self.draft, change, most) else {
            return Ok(false);
        };
        let is_newest = before.content == Some(theirs);
        let stored = if is_newest { None } else { self.workspace.store().content(&theirs)? };
        let theirs = match (is_newest, &stored) {
            (true, _) => &old,
            (false, Some(stored)) => stored,
            (false, None) => return Ok(false),
        };
        let Some(left) = SurvivingLines::between(theirs, &new) else { return Ok(false) };
        let was_short = || {
            let now = SurvivingLines::between(&old, &new);
            self.is_edit && left.was_short() && now.is_some_and(SurvivingLines::was_short)
        };
        Ok(left.is_half() || was_short())
    }

    /// Whether a change decides what programs of others do later.
    fn decides(&mut self, one: &PathEffect, change: &NewChange) -> Result<bool> {
        let state = change.after.as_ref().or(change.before.as_ref());
        let is_folder = state.is_some_and(|state| state.kind == FileKind::Folder);
        if self.is_rewound(&one.path) || self.moves_ref(one)? {
            return Ok(true);
        }
        if self.decides_by_name(one, change, is_folder) || self.decides_in_bare(one, change)? {
            return Ok(true);
        }
        Ok(!(is_folder && one.kind == EffectKind::Create) && self.is_config_target(&one.path)?)
    }

    fn decides_by_name(&self, one: &PathEffect, change: &NewChange, is_folder: bool) -> bool {
        let is_empty_folder = is_folder && one.kind == EffectKind::Create;
        let brings_more = one.is_link || one.with_contents;
        let is_named = yard_core::auto_run::is_auto_run(&one.path)
            || brings_more && yard_core::auto_run::may_contain_auto_run(&one.path);
        if is_named && !is_empty_folder && one.kind != EffectKind::Touch {
            return true;
        }
        let Some(part) = git::part(&one.path) else { return false };
        let inside = names_below(&one.path, git::repository(&one.path).as_ref());
        part.decides(one.kind, is_folder)
            && !self.is_initial(one.kind, &inside, change)
            && !self.only_adds_upstream(one.kind, &inside, change)
    }

    /// Whether the configuration of a repository only gets an upstream for a branch.
    fn only_adds_upstream(
        &self,
        kind: EffectKind,
        inside: &[yard_core::Name],
        change: &NewChange,
    ) -> bool {
        let is_config = matches!(inside, [name] if name.as_bytes() == b"config");
        if kind != EffectKind::Modify || !is_config || change.from != change.to {
            return false;
        }
        let most = bare_repository::MAX_CONFIG_BYTES;
        let before = preview::before(self.workspace, self.draft, change, most);
        let after = preview::after(self.workspace, self.draft, change, most);
        before.zip(after).is_some_and(|(before, after)| git::only_adds_upstream(&before, &after))
    }

    /// Whether a new file has the content that `git init` writes.
    fn is_initial(&self, kind: EffectKind, inside: &[yard_core::Name], change: &NewChange) -> bool {
        let is_new_file = kind == EffectKind::Create
            && change.after.as_ref().is_some_and(|after| after.kind == FileKind::File);
        let most = bare_repository::MAX_CONFIG_BYTES;
        let content = || preview::after(self.workspace, self.draft, change, most);
        is_new_file && content().is_some_and(|content| git::is_initial(inside, &content))
    }

    /// Whether a tool other than git writes a ref or its log, so that git has not checked which commits are lost.
    fn moves_ref(&self, one: &PathEffect) -> Result<bool> {
        if self.draft.landing.is_some() || git::part(&one.path).is_none() {
            return Ok(false);
        }
        Ok(moved_refs::may_lose(self.workspace, &one.path, one.kind))
    }
}

fn changes_mode_only(change: &NewChange) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return false };
    before.mode != after.mode && before.kind == after.kind && before.content == after.content
}

/// The names of a path below a folder.
fn names_below(path: &WsPath, folder: Option<&WsPath>) -> Vec<yard_core::Name> {
    let above = folder.map_or(0, |folder| folder.names().count());
    path.names().skip(above).collect()
}

/// Whether git itself makes such a change routinely, without losing history. It removes locks and notes of finished
/// operations, but no history and no refs.
fn is_git_at_work(path: &WsPath, kind: EffectKind) -> bool {
    let Some(part) = git::part(path) else { return false };
    match (kind, part) {
        (_, GitFileKind::Folder) => false,
        (EffectKind::Create | EffectKind::Touch, _) => true,
        (EffectKind::Modify, part) => {
            !matches!(part, GitFileKind::Object | GitFileKind::PackedRefs)
        }
        (EffectKind::Remove, part) => part == GitFileKind::InProgress,
        _ => false,
    }
}

/// The bytes of a file; `None` if there is none, or it is larger than `most`.
fn small_file(workspace: &Workspace, path: &WsPath, most: u64) -> Option<Vec<u8>> {
    let (mut file, stat) = workspace.disk.open_file(path).ok()?;
    if stat.size() > most {
        return None;
    }
    read_all(&mut file, stat.size(), path).ok()
}
