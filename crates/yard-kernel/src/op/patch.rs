//! patch: one patch creates, deletes, moves and changes any number of files in one step. If the place of one of its hunks is
//! ambiguous, nothing is changed (X3).

use std::collections::{HashMap, HashSet};

use yard_core::op::{ApplyPatch, Patched, PatchedFile};
use yard_core::patch::{self, Action, FileUpdate, Job, Transfer};
use yard_core::{
    Call, EffectKind, Fault, FaultCode, FileKind, FileState, FileType, PathError, Result, Subject,
    WsPath,
};
use yard_disk::{EntryStat, ResolvedPath, StagedAttributes, not_found, read_all};

use crate::contents::load_limits::check_loadable;
use crate::contents::staging::{self, ContentToStage, StagedContent};
use crate::lookup::path_faults::{file_exists, not_a_folder};
use crate::op::relocate::move_entry;
use crate::planner::{Current, Planner};
use crate::proposal::done_part::DonePart;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;
use yard_search::parallel;

/// The bits that git's mode 100755 sets and 100644 clears.
const EXECUTABLE: u32 = 0o111;

impl Execute for ApplyPatch {
    const IS_EDIT: bool = true;

    fn named_paths(&self) -> Vec<WsPath> {
        let named = |path: &Option<String>| WsPath::parse_shown(path.as_deref()?).ok();
        let files = self.patch.files.iter();
        files.flat_map(|file| [named(&file.old_path), named(&file.new_path)]).flatten().collect()
    }

    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Patched>> {
        let mut tree = PatchedTree::new(workspace, call);
        let jobs = patch::jobs(&self.patch)?;
        tree.read_all(&jobs)?;
        let changes = call.bounding(workspace.limits().load_bytes, |bounds| {
            parallel::map(&jobs, call, |job| job.apply(|text| tree.bytes(text), bounds))
        })?;
        let mut files = Vec::with_capacity(changes.len());
        // Files are deleted first, so that new ones can have their paths.
        for change in changes.iter().filter(|change| change.action == Action::Delete) {
            tree.remove(change)?;
        }
        let contents = tree.contents(&changes)?;
        for (change, content) in changes.iter().zip(contents) {
            call.check()?;
            files.push(tree.plan_change(change, content)?);
        }
        if tree.planner.draft.changes.is_empty() {
            let message = "the patch changes nothing: what it asks for is there already. Go on, or send other lines";
            return Err(Fault::new(FaultCode::NoChange, message).about(Subject::Patch));
        }
        tree.planner.propose::<Self>(Patched { files })
    }

    fn read_paths(&self) -> Vec<WsPath> {
        // A file that is only deleted or moved is not read.
        let fitted = self.patch.files.iter().filter(|file| !file.hunks.is_empty());
        let copied = |file: &&patch::FilePatch| file.transfer == Some(Transfer::Copy);
        let read = fitted.chain(self.patch.files.iter().filter(copied));
        let old = read.filter_map(|file| file.old_path.as_deref());
        old.filter_map(|path| WsPath::parse_shown(path).ok()).collect()
    }

    fn answer_for_part(mut answer: Patched, done: &DonePart) -> Patched {
        answer.files.retain(|file| done.touches(&file.path));
        for file in &mut answer.files {
            let size = done.change_at(&file.path).and_then(|change| change.after.as_ref());
            file.size = size.map_or(0, |after| after.size);
        }
        answer
    }
}

/// The current files that a patch names.
struct PatchedTree<'a> {
    planner: Planner<'a>,
    /// By the path as written in the patch.
    files: HashMap<String, Current>,
    /// The path as written in the patch for each resolved path: because of links, two may lead to the same file.
    names: HashMap<WsPath, String>,
}

impl<'a> PatchedTree<'a> {
    fn new(workspace: &'a Workspace, call: &'a Call) -> Self {
        let planner = Planner::new(workspace, call);
        Self { planner, files: HashMap::new(), names: HashMap::new() }
    }

    /// Notes which text of the patch names a path. A fault if two texts name the same path.
    fn name(&mut self, path: &WsPath, text: &str) -> Result<()> {
        let first = self.names.entry(path.clone()).or_insert_with(|| text.to_owned());
        if first == text {
            return Ok(());
        }
        let message = format!(
            "the patch names {path} twice, as {first} and as {text}: links lead there. Nothing \
             was changed. Name it once, as {path}."
        );
        Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Patch))
    }

    /// Reads every file that the patch changes, and those at the paths of new files.
    fn read_all(&mut self, jobs: &[Job<'_>]) -> Result<()> {
        let mut seen = HashSet::new();
        let reads = jobs.iter().flat_map(Job::reads);
        let texts: Vec<&str> = reads.filter(|text| seen.insert(*text)).collect();
        let Planner { workspace, call, .. } = self.planner;
        let files = parallel::map(&texts, call, |text| LoadedFile::read(workspace, text))?;
        for (text, file) in texts.into_iter().zip(files) {
            let Some(LoadedFile { path, stat, bytes }) = file else { continue };
            self.name(&path, text)?;
            let current = self.planner.current_read(&path, stat, bytes)?;
            self.files.insert(text.to_owned(), current);
        }
        Ok(())
    }

    /// The bytes of a file that was read; `None` if there is no file.
    fn bytes(&self, text: &str) -> Result<Option<&Vec<u8>>> {
        Ok(self.files.get(text).map(|current| &*current.bytes))
    }

    fn remove(&mut self, change: &FileUpdate) -> Result<()> {
        let current = self.source_itself(change)?;
        self.planner.check_writable_above(&current.path)?;
        self.planner.vacate(&current);
        Ok(())
    }

    /// Stages the contents of new files and of files that are changed in place, all in parallel: most patches have no
    /// others.
    fn contents(&self, changes: &[FileUpdate]) -> Result<Vec<Option<StagedContent>>> {
        let Planner { workspace, call, effort, .. } = self.planner;
        let contents: Vec<_> = changes.iter().map(|change| self.content_for(change)).collect();
        let has_content: Vec<bool> = contents.iter().map(Option::is_some).collect();
        let contents: Vec<_> = contents.into_iter().flatten().collect();
        let mut staged = staging::stage_all(workspace, &contents, effort, call)?.into_iter();
        Ok(has_content.into_iter().map(|has| has.then(|| staged.next()).flatten()).collect())
    }

    fn content_for<'b>(&'b self, change: &'b FileUpdate) -> Option<ContentToStage<'b>> {
        let bytes = change.content.as_slice();
        match (change.action, change.transfer) {
            (Action::Add, _) => {
                let path = parsed(change.new_path.as_deref()?).ok()?;
                let attributes = StagedAttributes {
                    mode: self.new_mode(change, None),
                    owner: None,
                    taking: None,
                };
                Some(ContentToStage {
                    bytes,
                    base: None,
                    kind: FileKind::File,
                    attributes,
                    path,
                    layer: None,
                })
            }
            (Action::Update, None) => {
                let current = self.files.get(change.old_path.as_deref()?)?;
                let differs = *current.bytes != change.content;
                differs.then(|| {
                    self.planner.content_for(current, bytes, &patched_state(current, change))
                })
            }
            _ => None,
        }
    }

    fn plan_change(
        &mut self,
        change: &FileUpdate,
        content: Option<StagedContent>,
    ) -> Result<PatchedFile> {
        let mut copied_from = None;
        let (path, moved_from) = match (change.action, change.transfer) {
            (Action::Delete, _) => (self.source(change)?.path, None),
            (Action::Add, _) => (self.create(change, None, content)?, None),
            (Action::Update, Some(Transfer::Copy)) => {
                let source = self.source(change)?;
                // A copy reveals the content of its source.
                let (path, file_type) = (source.path.clone(), source.state.file_type);
                self.planner.effect.push(EffectKind::Read, path, file_type);
                copied_from = Some(source.path.clone());
                (self.create(change, Some(&source), content)?, None)
            }
            (Action::Update, Some(Transfer::Rename)) => {
                let source = self.source_itself(change)?;
                let to = self.target(change)?;
                let moved = move_entry(&mut self.planner, &source, &to)?;
                self.rewrite(&moved, change, content)?;
                (moved.path, Some(source.path))
            }
            (Action::Update, None) => {
                let source = self.source(change)?;
                self.rewrite(&source, change, content)?;
                (source.path, None)
            }
        };
        let (action, size) = (change.action, change.content.len() as u64);
        let hunks = change.hunks.clone();
        Ok(PatchedFile { action, path, moved_from, copied_from, size, hunks })
    }

    fn source(&self, change: &FileUpdate) -> Result<Current> {
        let text = change.old_path.as_deref().unwrap_or_default();
        self.files.get(text).cloned().ok_or_else(|| match parsed(text) {
            Ok(path) => not_found(&path),
            Err(fault) => fault,
        })
    }

    /// As [`PatchedTree::source`], for a file that is moved or deleted. A fault if the path is a link, which would be left
    /// behind broken.
    fn source_itself(&self, change: &FileUpdate) -> Result<Current> {
        let current = self.source(change)?;
        let named = parsed(change.old_path.as_deref().unwrap_or_default())?;
        match self.planner.workspace.locate_to_change(&named, false)? {
            ResolvedPath::Present { path, .. } if path != current.path => {
                let message = format!(
                    "{path} is a link to {}, and a patch moves and deletes files only. Nothing was \
                     changed. Name the file itself.",
                    current.path
                );
                Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Path))
            }
            _ => Ok(current),
        }
    }

    /// The path of a new or moved file, with the links above it followed.
    fn target(&mut self, change: &FileUpdate) -> Result<WsPath> {
        let text = change.new_path.as_deref().unwrap_or_default();
        let named = parsed(text)?;
        let path = match self.planner.workspace.locate_to_change(&named, false)? {
            ResolvedPath::Present { path, .. } => return Err(file_exists(&path)),
            ResolvedPath::Missing { path } => path,
            // The patch deletes the file that blocks the path.
            ResolvedPath::Blocked { by }
                if self.planner.is_vacated(&by) && named.is_within(&by) =>
            {
                named
            }
            ResolvedPath::Blocked { by } => return Err(not_a_folder(&by)),
        };
        self.name(&path, text)?;
        Ok(path)
    }

    fn create(
        &mut self,
        change: &FileUpdate,
        copied: Option<&Current>,
        content: Option<StagedContent>,
    ) -> Result<WsPath> {
        let path = self.target(change)?;
        let bytes = change.content.as_slice();
        check_loadable(bytes.len() as u64, self.planner.workspace.limits(), &path)?;
        let file_type = copied.map_or(FileType::Document, |source| source.state.file_type);
        let mode = self.new_mode(change, copied);
        self.planner.create_staged(&path, file_type, false, |planner, attributes| {
            let (base, kind, attributes) =
                (None, FileKind::File, StagedAttributes { mode, ..*attributes });
            let path = path.clone();
            let to_stage = ContentToStage { bytes, base, kind, attributes, path, layer: None };
            let stage = || to_stage.stage(planner.workspace, planner.effort, planner.call);
            let staged = content.map_or_else(stage, Ok)?;
            planner.add_content(staged)
        })?;
        Ok(path)
    }

    /// The mode of a new file: that of the process's umask with git's bits, or for a copy that of its source.
    fn new_mode(&self, change: &FileUpdate, copied: Option<&Current>) -> Option<u32> {
        let usual = self.planner.workspace.folder_mode;
        let from_patch = change.mode.map(|mode| with_git_mode(usual & 0o666, mode, usual));
        from_patch.or_else(|| copied.map(|source| source.state.mode))
    }

    /// Plans the content and the mode that the patch gives to a file, if one of them changes.
    fn rewrite(
        &mut self,
        current: &Current,
        change: &FileUpdate,
        content: Option<StagedContent>,
    ) -> Result<()> {
        let (limits, size) = (self.planner.workspace.limits(), change.content.len() as u64);
        check_loadable(size, limits, &current.path)?;
        let after = patched_state(current, change);
        if let Some(content) = content {
            self.planner.check_replaceable(current)?;
            self.planner.put_content(current, after, content)?;
            return self.planner.copy_attributes(current);
        }
        let differs = *current.bytes != change.content;
        if !differs && after == current.state {
            return Ok(());
        }
        self.planner.check_replaceable(current)?;
        let bytes = differs.then(|| change.content.clone());
        self.planner.rewrite(current, bytes, after)
    }
}

/// A file that was read in parallel, before it is added to the plan.
struct LoadedFile {
    path: WsPath,
    stat: EntryStat,
    bytes: Vec<u8>,
}

impl LoadedFile {
    /// Reads the file at a path of a patch, if there is one.
    fn read(workspace: &Workspace, text: &str) -> Result<Option<Self>> {
        let located = workspace.locate_to_change(&parsed(text)?, true)?;
        let Some((path, seen)) = located.present() else { return Ok(None) };
        let (mut file, stat) = workspace.disk.open_seen(&path, &seen)?;
        check_loadable(stat.size(), workspace.limits(), &path)?;
        let bytes = read_all(&mut file, stat.size(), &path)?;
        Ok(Some(Self { path, stat, bytes }))
    }
}

/// The state of a file after the patch, without its content.
fn patched_state(current: &Current, change: &FileUpdate) -> FileState {
    let mode = current.state.mode;
    let mode = change.mode.map_or(mode, |git| with_git_mode(mode, git, mode | mode >> 2));
    FileState { mode, ..current.state.clone() }
}

/// A mode with the executable bits of a mode of git: those who may read may execute, within `allowed`.
fn with_git_mode(mode: u32, git: u32, allowed: u32) -> u32 {
    match git & EXECUTABLE {
        0 => mode & !EXECUTABLE,
        _ => mode | ((mode >> 2) & EXECUTABLE & allowed) | 0o100,
    }
}

/// Parses a path of a patch. The toolset has made it a path of the workspace.
fn parsed(text: &str) -> Result<WsPath> {
    WsPath::parse_shown(text).map_err(|error| {
        let code = match error {
            PathError::Outside => FaultCode::PathOutside,
            _ => FaultCode::BadPath,
        };
        Fault::new(code, format!("{text}: {error}")).about(Subject::Path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_git_set_and_clear_the_executable_bits() {
        assert_eq!(with_git_mode(0o644, 0o100_755, 0o755), 0o755);
        assert_eq!(with_git_mode(0o600, 0o100_755, 0o700), 0o700);
        assert_eq!(with_git_mode(0o640, 0o100_755, 0o750), 0o750);
        assert_eq!(with_git_mode(0o755, 0o100_644, 0o777), 0o644);
        assert_eq!(with_git_mode(0o644, 0o100_644, 0o644), 0o644);
    }
}
