//! patch: any number of files come, go, move and change by one patch, in one step. Where any of its
//! places is a guess nothing is changed (X3).

use std::collections::{HashMap, HashSet};

use yard_core::op::{ApplyPatch, Patched, PatchedFile};
use yard_core::patch::{self, Action, FileUpdate, Job, Transfer};
use yard_core::{
    Call, EffectKind, Fault, FaultCode, FileKind, FileState, FileType, PathError, Result, Subject,
    WsPath,
};
use yard_disk::{EntryStat, ResolvedPath, StagedAttributes, not_found, read_all};

use crate::load_limits::check_loadable;
use crate::making::{self, Made, Wanted};
use crate::op::relocate::carry;
use crate::planner::{Current, Planner, not_a_folder};
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;
use yard_search::parallel;

/// The bits that git's mode 100755 sets and 100644 clears.
const EXECUTABLE: u32 = 0o111;

impl Execute for ApplyPatch {
    const EDITS: bool = true;

    fn asked(&self) -> Vec<WsPath> {
        let named = |path: &Option<String>| WsPath::parse_shown(path.as_deref()?).ok();
        let files = self.patch.files.iter();
        files.flat_map(|file| [named(&file.old_path), named(&file.new_path)]).flatten().collect()
    }

    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Patched>> {
        let mut tree = Tree::new(workspace, call);
        let jobs = patch::jobs(&self.patch)?;
        tree.read_all(&jobs)?;
        let changes = call.bounding(workspace.limits().load_bytes, |bounds| {
            parallel::map(&jobs, call, |job| job.apply(|text| tree.bytes(text), bounds))
        })?;
        let mut files = Vec::with_capacity(changes.len());
        // What goes away makes room for what comes.
        for change in changes.iter().filter(|change| change.action == Action::Delete) {
            tree.remove(change)?;
        }
        let contents = tree.contents(&changes)?;
        for (change, content) in changes.iter().zip(contents) {
            call.check()?;
            files.push(tree.make(change, content)?);
        }
        if tree.planner.draft.changes.is_empty() {
            let message = "the patch changes nothing: what it asks for is there already. Go on, or send other lines";
            return Err(Fault::new(FaultCode::NoChange, message).about(Subject::Patch));
        }
        tree.planner.propose::<Self>(Patched { files })
    }

    fn reads(&self) -> Vec<WsPath> {
        // What only goes or moves is not looked into.
        let fitted = self.patch.files.iter().filter(|file| !file.hunks.is_empty());
        let copied = |file: &&patch::FilePatch| file.transfer == Some(Transfer::Copy);
        let read = fitted.chain(self.patch.files.iter().filter(copied));
        let old = read.filter_map(|file| file.old_path.as_deref());
        old.filter_map(|path| WsPath::parse_shown(path).ok()).collect()
    }
}

/// The files that a patch names, as they are.
struct Tree<'a> {
    planner: Planner<'a>,
    /// By the text of the path, as the patch has it.
    found: HashMap<String, Current>,
    /// How the patch names what is at a place: links may lead two names to one.
    names: HashMap<WsPath, String>,
}

impl<'a> Tree<'a> {
    fn new(workspace: &'a Workspace, call: &'a Call) -> Self {
        let planner = Planner::new(workspace, call);
        Self { planner, found: HashMap::new(), names: HashMap::new() }
    }

    /// Notes by which name the patch means a place.
    fn name(&mut self, place: &WsPath, text: &str) -> Result<()> {
        let first = self.names.entry(place.clone()).or_insert_with(|| text.to_owned());
        if first == text {
            return Ok(());
        }
        let message = format!(
            "the patch names {place} twice, as {first} and as {text}: links lead there. Nothing \
             was changed. Name it once, as {place}."
        );
        Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Patch))
    }

    /// Reads every file that the patch starts from, or finds in its way.
    fn read_all(&mut self, jobs: &[Job<'_>]) -> Result<()> {
        let mut asked = HashSet::new();
        let reads = jobs.iter().flat_map(Job::reads);
        let texts: Vec<&str> = reads.filter(|text| asked.insert(*text)).collect();
        let Planner { workspace, call, .. } = self.planner;
        let sights = parallel::map(&texts, call, |text| Sight::of(workspace, text))?;
        for (text, sight) in texts.into_iter().zip(sights) {
            let Some(Sight { path, stat, bytes }) = sight else { continue };
            self.name(&path, text)?;
            let current = self.planner.current_read(&path, stat, bytes)?;
            self.found.insert(text.to_owned(), current);
        }
        Ok(())
    }

    /// The bytes of a file that was read; none where there is no file.
    fn bytes(&self, text: &str) -> Result<Option<&Vec<u8>>> {
        Ok(self.found.get(text).map(|current| &*current.bytes))
    }

    fn remove(&mut self, change: &FileUpdate) -> Result<()> {
        let current = self.source_itself(change)?;
        self.planner.check_writable_above(&current.path)?;
        self.planner.vacate(&current);
        Ok(())
    }

    /// The new contents of files that come and of those that stay in their place, all made at once: most
    /// patches are nothing else.
    fn contents(&self, changes: &[FileUpdate]) -> Result<Vec<Option<Made>>> {
        let Planner { workspace, call, effort, .. } = self.planner;
        let wanted: Vec<_> = changes.iter().map(|change| self.wanted(change)).collect();
        let is_wanted: Vec<bool> = wanted.iter().map(Option::is_some).collect();
        let wanted: Vec<_> = wanted.into_iter().flatten().collect();
        let mut made = making::make_all(workspace, &wanted, effort, call)?.into_iter();
        Ok(is_wanted.into_iter().map(|is| is.then(|| made.next()).flatten()).collect())
    }

    fn wanted<'b>(&'b self, change: &'b FileUpdate) -> Option<Wanted<'b>> {
        let bytes = change.content.as_slice();
        match (change.action, change.transfer) {
            (Action::Add, _) => {
                let path = parsed(change.new_path.as_deref()?).ok()?;
                let shape = StagedAttributes {
                    mode: self.new_mode(change, None),
                    owner: None,
                    taking: None,
                };
                Some(Wanted { bytes, base: None, kind: FileKind::File, shape, path, from: None })
            }
            (Action::Update, None) => {
                let current = self.found.get(change.old_path.as_deref()?)?;
                let differs = *current.bytes != change.content;
                differs.then(|| self.planner.wanted(current, bytes, &rewritten(current, change)))
            }
            _ => None,
        }
    }

    fn make(&mut self, change: &FileUpdate, content: Option<Made>) -> Result<PatchedFile> {
        let mut copied_from = None;
        let (path, moved_from) = match (change.action, change.transfer) {
            (Action::Delete, _) => (self.source(change)?.path, None),
            (Action::Add, _) => (self.create(change, None, content)?, None),
            (Action::Update, Some(Transfer::Copy)) => {
                let source = self.source(change)?;
                // A copy shows what it was made of.
                let (path, file_type) = (source.path.clone(), source.state.file_type);
                self.planner.effect.push(EffectKind::Read, path, file_type);
                copied_from = Some(source.path.clone());
                (self.create(change, Some(&source), content)?, None)
            }
            (Action::Update, Some(Transfer::Rename)) => {
                let source = self.source_itself(change)?;
                let to = self.target(change)?;
                let moved = carry(&mut self.planner, &source, &to)?;
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
        self.found.get(text).cloned().ok_or_else(|| match parsed(text) {
            Ok(path) => not_found(&path),
            Err(fault) => fault,
        })
    }

    /// As [`Tree::source`], for one that leaves its place: a link would stay behind, leading nowhere.
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

    /// Where a file comes to be; the links above it are followed.
    fn target(&mut self, change: &FileUpdate) -> Result<WsPath> {
        let text = change.new_path.as_deref().unwrap_or_default();
        let named = parsed(text)?;
        let path = match self.planner.workspace.locate_to_change(&named, false)? {
            ResolvedPath::Present { path, .. } => return Err(super::write::exists(&path)),
            ResolvedPath::Missing { path } => path,
            // A file that the patch deletes makes room for a folder.
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
        content: Option<Made>,
    ) -> Result<WsPath> {
        let path = self.target(change)?;
        let bytes = change.content.as_slice();
        check_loadable(bytes.len() as u64, self.planner.workspace.limits(), &path)?;
        let file_type = copied.map_or(FileType::Document, |source| source.state.file_type);
        let mode = self.new_mode(change, copied);
        self.planner.create_image(&path, file_type, false, |planner, shape| {
            let (base, kind, shape) = (None, FileKind::File, StagedAttributes { mode, ..*shape });
            let wanted = Wanted { bytes, base, kind, shape, path: path.clone(), from: None };
            let made = content.map_or_else(|| wanted.make(planner.workspace, planner.effort), Ok);
            Ok(planner.accept(made?))
        })?;
        Ok(path)
    }

    /// A new file gets the mode that the process's mask leaves, with git's bits; a copy its source's.
    fn new_mode(&self, change: &FileUpdate, copied: Option<&Current>) -> Option<u32> {
        let usual = self.planner.workspace.folder_mode;
        let asked = change.mode.map(|mode| with_git_mode(usual & 0o666, mode, usual));
        asked.or_else(|| copied.map(|source| source.state.mode))
    }

    /// Gives a file the content and the mode that the patch says, if either is another.
    fn rewrite(
        &mut self,
        current: &Current,
        change: &FileUpdate,
        content: Option<Made>,
    ) -> Result<()> {
        let (limits, size) = (self.planner.workspace.limits(), change.content.len() as u64);
        check_loadable(size, limits, &current.path)?;
        let after = rewritten(current, change);
        if let Some(content) = content {
            self.planner.check_replaceable(current)?;
            self.planner.put_made(current, after, content)?;
            return self.planner.keep_attributes(current);
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

/// A file that was read, before the plan knows of it.
struct Sight {
    path: WsPath,
    stat: EntryStat,
    bytes: Vec<u8>,
}

impl Sight {
    /// What a path of a patch leads to, if there is anything.
    fn of(workspace: &Workspace, text: &str) -> Result<Option<Self>> {
        let (path, seen) = match workspace.locate_to_change(&parsed(text)?, true)? {
            ResolvedPath::Missing { .. } | ResolvedPath::Blocked { .. } => return Ok(None),
            ResolvedPath::Present { path, stat } => (path, stat),
        };
        let (mut file, stat) = workspace.disk.open_seen(&path, &seen)?;
        check_loadable(stat.size(), workspace.limits(), &path)?;
        let bytes = read_all(&mut file, stat.size(), &path)?;
        Ok(Some(Self { path, stat, bytes }))
    }
}

/// A file as the patch leaves it, but for its content.
fn rewritten(current: &Current, change: &FileUpdate) -> FileState {
    let mode = current.state.mode;
    let mode = change.mode.map_or(mode, |asked| with_git_mode(mode, asked, mode | mode >> 2));
    FileState { mode, ..current.state.clone() }
}

/// A mode with the bits of a mode of git's: whoever may read may run what is executable, as far as
/// `allowed` goes.
fn with_git_mode(mode: u32, git: u32, allowed: u32) -> u32 {
    match git & EXECUTABLE {
        0 => mode & !EXECUTABLE,
        _ => mode | ((mode >> 2) & EXECUTABLE & allowed) | 0o100,
    }
}

/// A path of a patch. Its dialect wrote it as the workspace shows it.
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
    fn git_s_modes_set_and_clear_what_may_be_run() {
        assert_eq!(with_git_mode(0o644, 0o100_755, 0o755), 0o755);
        assert_eq!(with_git_mode(0o600, 0o100_755, 0o700), 0o700);
        assert_eq!(with_git_mode(0o640, 0o100_755, 0o750), 0o750);
        assert_eq!(with_git_mode(0o755, 0o100_644, 0o777), 0o644);
        assert_eq!(with_git_mode(0o644, 0o100_644, 0o644), 0o644);
    }
}
