//! land: makes the changes that a command wrote to its layer a step. The layer has the files that are new or changed, and
//! whiteouts for removed ones. A plan does not change the layer, so that a landing can wait for an approval or be planned
//! again.
//!
//! The workspace may have changed since the command began. Texts are then merged by lines. If a merge has a conflict,
//! nothing lands, and the fault names the file.

mod layer_contents;

use std::collections::{HashMap, HashSet};

use yard_core::op::{Land, Landed, Operation as _};
use yard_core::{
    Call, ContentHash, Effect, EffectKind, Fault, FaultCode, FileId, FileKind, FileState, FileType,
    Result, Subject, WsPath, git, git_index, merge,
};
use yard_disk::{
    Disk, EntryKind, EntryStat, OverlayLayer, RunFolder, StagedAttributes, hash_all, read_all,
};
use yard_store::{Change, Seq, StepRow};

use crate::commands::git::moved_refs::rewound_refs;
use crate::contents::build_output::{BuildOutputs, IgnoreFiles};
use crate::contents::staging::{self, BuildOutputToStage, ContentToStage, StagedContent};
use crate::draft::LandedRun;
use crate::op::relocate::move_entry;
use crate::op::remove::entries_of_removed;
use crate::planner::{Current, Large, Planner, StagedFile};
use crate::proposal::done_part::{DonePart, FileOutcome};
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;
use crate::workspace::upload::ReceivedFile;

use self::layer_contents::{LayerContents, LayerEntry};

/// Bytes of new contents that are staged at a time.
const BATCH_BYTES: u64 = 32 << 20;

impl Execute for Land {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Landed>> {
        let folder = workspace.commands.runs.find(self.run)?.ok_or_else(|| run_not_found(self))?;
        let mut landing = Landing::begin(workspace, call, folder, self)?;
        let contents = LayerContents::read(workspace, &landing.layer, call)?;
        landing.plan(&contents)?;
        let Landing { mut planner, mut landed, .. } = landing;
        landed.left_out.extend(contents.left_out);
        if planner.draft.changes.is_empty() {
            return Ok(Planned::Answer { effect: Effect::default(), answer: landed });
        }
        landed.step = Some(planner.draft.id);
        planner.draft.exclusive = true;
        planner.propose::<Self>(landed)
    }

    fn answer_for_part(answer: Landed, done: &DonePart) -> Landed {
        Landed {
            created: done.count(FileOutcome::Created),
            changed: done.count(FileOutcome::Changed),
            removed: done.count(FileOutcome::Removed),
            moved: done.count(FileOutcome::Moved),
            ..answer
        }
    }
}

fn run_not_found(land: &Land) -> Fault {
    let message = format!("the changes of run {} are not kept any more; run it again", land.run);
    Fault::new(FaultCode::NotFound, message)
}

struct Landing<'a> {
    planner: Planner<'a>,
    layer: OverlayLayer,
    /// The file system's time when the command began, and the newest step then.
    began: (i64, Seq),
    /// No step was recorded since.
    is_alone: bool,
    operation: &'a Land,
    build_outputs: BuildOutputs<'a>,
    landed: Landed,
}

/// The content that a file had when the command began, if it has another one now.
enum Base {
    Known(ContentHash),
    /// The file changed before the history had its content.
    Unknown,
}

/// A file or link that is new or changes.
struct FileToLand<'b> {
    entry: &'b LayerEntry,
    bytes: Vec<u8>,
    mode: u32,
    /// The bytes are the result of a merge, and not those of the layer.
    is_merged: bool,
    /// The file that it replaces.
    current: Option<Current>,
}

impl<'a> Landing<'a> {
    fn begin(
        workspace: &'a Workspace,
        call: &'a Call,
        folder: RunFolder,
        operation: &'a Land,
    ) -> Result<Self> {
        let (began, layer) = (folder.began()?, folder.layer()?);
        let rewound_refs = rewound_refs(&folder)?;
        let mut planner = Planner::new(workspace, call);
        planner.draft.landing = Some(LandedRun { folder, rewound_refs });
        Ok(Self {
            planner,
            layer,
            is_alone: workspace.store().head()? == began.1,
            began,
            operation,
            build_outputs: BuildOutputs::new(workspace, call, IgnoreFiles::WrittenByPeople),
            landed: Landed::default(),
        })
    }

    /// Plans the changes in an order in which each finds its path free: entries at the paths of new folders are removed,
    /// folders are made, entries are moved, other entries are removed, files are written, and modes are set.
    fn plan(&mut self, contents: &LayerContents) -> Result<()> {
        // Folders are read before the entries in them, so that each is adopted only once.
        let modes = contents.modes.iter().map(|(path, mode)| {
            let current = self.planner.current(path, Large::Leave)?;
            Ok((current, *mode))
        });
        let modes = modes.collect::<Result<Vec<_>>>()?;
        let mut removed = self.removed(contents)?;
        let folders: HashSet<&WsPath> = contents.folders.iter().map(|(path, _)| path).collect();
        let blocking = |current: &Current| folders.contains(&current.path);
        for current in removed.extract_if(.., |current| blocking(current)) {
            self.vacate(&current)?;
        }
        let mut closed = Vec::new();
        for (path, mode) in &contents.folders {
            // Its entries have to be written before it gets a mode that forbids that.
            let id = self.planner.make_folder_as(path, mode | 0o700)?;
            if mode | 0o700 != *mode {
                closed.push((id, path, *mode));
            }
            self.landed.created += 1;
            self.mark_last_change()?;
        }
        let entries = self.plan_moves(contents, &mut removed)?;
        for current in removed.iter().rev() {
            self.vacate(current)?;
        }
        self.plan_files(entries)?;
        for (id, path, mode) in closed.into_iter().rev() {
            self.set_folder_mode(id, path, mode);
        }
        for (current, mode) in modes {
            let mode = self.mode_of(&current, mode)?;
            if mode == current.state.mode {
                continue;
            }
            let after = FileState { mode, ..current.state.clone() };
            self.planner.rewrite(&current, None, after)?;
            self.landed.changed += 1;
            self.mark_last_change()?;
        }
        Ok(())
    }

    /// Plans the mode of a new folder, after its entries.
    fn set_folder_mode(&mut self, id: FileId, path: &WsPath, mode: u32) {
        let change = self.planner.draft.changes.iter().find(|change| change.file == id);
        let Some(before) = change.and_then(|change| change.after.clone()) else { return };
        let (after, at) = (FileState { mode, ..before.clone() }, Some(path.clone()));
        self.planner.push_change(id, Some(before), Some(after), at.clone(), at);
    }

    /// The mode that an entry gets: the layer's if the command set it, else its current mode.
    fn mode_of(&self, current: &Current, mode: u32) -> Result<u32> {
        if self.is_untouched(current) {
            return Ok(mode);
        }
        let base = self.base_state(current)?.map_or(mode, |state| state.mode);
        Ok(if mode == base { current.state.mode } else { mode })
    }

    /// All entries that are removed, folders before their entries.
    fn removed(&mut self, contents: &LayerContents) -> Result<Vec<Current>> {
        let mut removed = Vec::new();
        for (path, stat) in &contents.gone {
            let special = self.special_below(path, stat)?;
            let stays: HashSet<WsPath> = special.iter().flat_map(WsPath::lineage).collect();
            self.landed.left_out.extend(special);
            let mut ahead = vec![(path.clone(), *stat)];
            while let Some((path, stat)) = ahead.pop() {
                match (stays.contains(&path), stat.kind) {
                    (false, _) => self.add_removed(&path, &stat, &mut removed)?,
                    (true, EntryKind::Known(FileKind::Folder)) => {
                        ahead.extend(self.entries_of(&path)?);
                    }
                    (true, _) => {}
                }
            }
        }
        Ok(removed)
    }

    /// Adds an entry that is removed, and everything below it.
    fn add_removed(
        &mut self,
        path: &WsPath,
        stat: &EntryStat,
        removed: &mut Vec<Current>,
    ) -> Result<()> {
        let current = self.planner.current_as(path, stat, Large::Keep)?;
        self.check_untouched(&current)?;
        let mut ahead = vec![current];
        while let Some(current) = ahead.pop() {
            self.planner.call.check()?;
            if current.stat.is(FileKind::Folder) {
                let below = entries_of_removed(&mut self.planner, &current, true)?;
                below.iter().try_for_each(|current| self.check_untouched(current))?;
                ahead.extend(below);
            }
            removed.push(current);
        }
        Ok(())
    }

    /// Sockets, FIFOs and devices at and below a removed entry. No version could restore them, so they stay where they are,
    /// with the folders that contain them.
    fn special_below(&self, path: &WsPath, stat: &EntryStat) -> Result<Vec<WsPath>> {
        let disk = &self.planner.workspace.disk;
        let mut special = Vec::new();
        let mut ahead = vec![(path.clone(), stat.kind)];
        while let Some((path, kind)) = ahead.pop() {
            self.planner.call.check()?;
            match kind {
                EntryKind::Special(_) => special.push(path),
                EntryKind::Known(FileKind::Folder) => {
                    for entry in disk.list(&path)? {
                        let Ok(below) = path.join_bytes(&entry.name) else { continue };
                        let kind = match entry.kind {
                            Some(kind) => Some(kind),
                            None => disk.stat(&below)?.map(|stat| stat.kind),
                        };
                        ahead.extend(kind.map(|kind| (below, kind)));
                    }
                }
                EntryKind::Known(_) => {}
            }
        }
        Ok(special)
    }

    /// The entries of a folder that is not removed itself.
    fn entries_of(&self, folder: &WsPath) -> Result<Vec<(WsPath, EntryStat)>> {
        let disk = &self.planner.workspace.disk;
        let mut entries = Vec::new();
        for entry in disk.list(folder)? {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            entries.extend(disk.stat(&path)?.map(|stat| (path, stat)));
        }
        Ok(entries)
    }

    fn vacate(&mut self, current: &Current) -> Result<()> {
        self.planner.check_writable_above(&current.path)?;
        self.planner.vacate(current);
        self.landed.removed += 1;
        self.mark_last_change()
    }

    /// Plans a move for each removed file with the content of a new one. Returns the other new and changed files.
    fn plan_moves<'b>(
        &mut self,
        contents: &'b LayerContents,
        removed: &mut Vec<Current>,
    ) -> Result<Vec<&'b LayerEntry>> {
        let mut by_content: HashMap<(ContentHash, u64), Vec<usize>> = HashMap::new();
        for (at, current) in removed.iter().enumerate().rev() {
            // All empty files have the same content, so that an equal content does not mean a move.
            let is_file = current.stat.is(FileKind::File) && current.stat.size() > 0;
            // The stored content of build output may be evicted, which must not happen to a file elsewhere.
            let is_file = is_file && !self.build_outputs.contain(&current.path, false)?;
            if let Some(hash) = current.content().filter(|_| is_file) {
                by_content.entry((hash, current.stat.size())).or_default().push(at);
            }
        }
        let sizes: HashSet<u64> = by_content.keys().map(|(_, size)| *size).collect();
        let gone: HashSet<&WsPath> = contents.gone.iter().map(|(path, _)| path).collect();
        let (mut rest, mut moved) = (Vec::new(), HashSet::new());
        for entry in &contents.entries {
            self.planner.call.check()?;
            // A file of git is always judged as a new one, and not as one that is moved.
            let is_in_git = git::part(&entry.path).is_some();
            let is_new = entry.below.is_none() && entry.stat.is(FileKind::File) && !is_in_git;
            // An entry at the path of a removed one cannot be moved there before the removal.
            let is_occupied = || entry.path.lineage().iter().any(|above| gone.contains(above));
            let from = match is_new && sizes.contains(&entry.stat.size()) && !is_occupied() {
                true => {
                    let hash = self.hash(entry)?;
                    by_content.get_mut(&(hash, entry.stat.size())).and_then(Vec::pop)
                }
                false => None,
            };
            match from {
                Some(at) => {
                    self.plan_move(&removed[at], entry)?;
                    moved.insert(at);
                }
                None => rest.push(entry),
            }
        }
        let mut at = 0..;
        removed.retain(|_| at.next().is_none_or(|at| !moved.contains(&at)));
        Ok(rest)
    }

    fn plan_move(&mut self, current: &Current, entry: &LayerEntry) -> Result<()> {
        let moved = move_entry(&mut self.planner, current, &entry.path)?;
        self.landed.moved += 1;
        if moved.state.mode != entry.stat.mode {
            let after = FileState { mode: entry.stat.mode, ..moved.state.clone() };
            let bytes = self.read(entry)?;
            self.planner.rewrite(&moved, Some(bytes), after)?;
            self.mark_last_change()?;
        }
        Ok(())
    }

    /// Plans new and changed files and links, in batches of bounded bytes.
    fn plan_files(&mut self, entries: Vec<&LayerEntry>) -> Result<()> {
        let (mut batch, mut bytes, mut build_outputs) = (Vec::new(), 0, Vec::new());
        for entry in entries {
            self.planner.call.check()?;
            if entry.stat.is(FileKind::File) && self.build_outputs.contain(&entry.path, false)? {
                build_outputs.push(entry);
                continue;
            }
            if entry.stat.size() > self.planner.workspace.limits().load_bytes {
                self.plan_large_file(entry)?;
                continue;
            }
            let Some(file) = self.file_to_land(entry)? else { continue };
            bytes += file.bytes.len() as u64;
            batch.push(file);
            if bytes > BATCH_BYTES {
                self.plan_batch(std::mem::take(&mut batch))?;
                bytes = 0;
            }
        }
        self.plan_batch(batch)?;
        self.plan_build_outputs(&build_outputs)
    }

    /// Plans new and changed build output. It is never merged: the newest is right.
    fn plan_build_outputs(&mut self, entries: &[&LayerEntry]) -> Result<()> {
        let workspace = self.planner.workspace;
        let mut currents = Vec::with_capacity(entries.len());
        for entry in entries {
            let below = entry.below.as_ref();
            let current =
                below.map(|below| self.planner.current_as(&entry.path, below, Large::Keep));
            // All of them together may not fit into memory, and their bytes are not needed for a merge.
            currents.push(current.transpose()?.map(Current::without_bytes));
        }
        let pairs = entries.iter().zip(&currents);
        let files: Vec<_> = pairs
            .map(|(entry, current)| {
                let usual =
                    StagedAttributes { mode: Some(entry.stat.mode), owner: None, taking: None };
                let attributes = current.as_ref().map_or(usual, |current| {
                    self.planner.attributes_for(current, &with_mode(current, entry.stat.mode))
                });
                let (layer, path) = (&self.layer.disk, entry.path.clone());
                BuildOutputToStage { layer, attributes, path, run: self.operation.run }
            })
            .collect();
        let staged = staging::stage_build_outputs(workspace, &files, self.planner.call)?;
        drop(files);
        for ((entry, current), staged) in entries.iter().zip(&currents).zip(staged) {
            match current {
                Some(current) if is_unchanged(current, entry, staged.hash) => {
                    self.touch_if_newer(entry, current);
                    continue;
                }
                Some(current) => {
                    let after = with_mode(current, entry.stat.mode);
                    self.planner.put_content(current, after, staged)?;
                    self.landed.changed += 1;
                }
                None => self.create(&entry.path, staged)?,
            }
            self.mark_last_change()?;
        }
        Ok(())
    }

    /// The file that an entry of the layer becomes; `None` if the workspace has it already.
    fn file_to_land<'b>(&mut self, entry: &'b LayerEntry) -> Result<Option<FileToLand<'b>>> {
        let bytes = self.read(entry)?;
        let Some(below) = &entry.below else {
            self.check_not_removed(&entry.path)?;
            let mode = entry.stat.mode;
            return Ok(Some(FileToLand { entry, bytes, mode, is_merged: false, current: None }));
        };
        let current = self.planner.current_as(&entry.path, below, Large::Keep)?;
        let mode = self.mode_of(&current, entry.stat.mode)?;
        if current.is_not_loaded() {
            self.check_untouched(&current)?;
            let current = Some(current);
            return Ok(Some(FileToLand { entry, bytes, mode, is_merged: false, current }));
        }
        if mode == current.state.mode && is_same_index(&current, &bytes) {
            return Ok(None);
        }
        let theirs = bytes;
        let bytes = self.merged(&current, theirs.clone())?;
        let is_merged = bytes != theirs;
        if *current.bytes == bytes && current.state.mode == mode {
            self.touch_if_newer(entry, &current);
            return Ok(None);
        }
        Ok(Some(FileToLand { entry, bytes, mode, is_merged, current: Some(current) }))
    }

    /// Plans a touch if the command only set a file's time.
    fn touch_if_newer(&mut self, entry: &LayerEntry, current: &Current) {
        if entry.stat.signature.mtime <= current.stat.signature.mtime {
            return;
        }
        self.planner.touch(current);
        self.landed.changed += 1;
    }

    fn plan_batch(&mut self, files: Vec<FileToLand<'_>>) -> Result<()> {
        let Planner { workspace, call, effort, .. } = self.planner;
        let contents: Vec<_> = files.iter().map(|file| self.content_for(file)).collect();
        let staged = staging::stage_all(workspace, &contents, effort, call)?;
        drop(contents);
        for (file, staged) in files.into_iter().zip(staged) {
            match &file.current {
                Some(current) => {
                    let after = with_mode(current, file.mode);
                    self.planner.put_content(current, after, staged)?;
                    self.landed.changed += 1;
                }
                None => self.create(&file.entry.path, staged)?,
            }
            self.mark_last_change()?;
        }
        Ok(())
    }

    fn content_for<'b>(&'b self, file: &'b FileToLand<'b>) -> ContentToStage<'b> {
        let FileToLand { entry, bytes, current, .. } = file;
        // Merged bytes are in no layer. A file that gets another mode is staged as a copy, because the layer must not change.
        let is_in_layer = !file.is_merged && file.mode == entry.stat.mode;
        let layer = Some(&self.layer.disk).filter(|_| is_in_layer);
        match current {
            Some(current) => {
                let after = with_mode(current, file.mode);
                ContentToStage { layer, ..self.planner.content_for(current, bytes, &after) }
            }
            None => {
                let kind = entry.stat.kind.known().unwrap_or(FileKind::File);
                let mode = Some(entry.stat.mode);
                let attributes = StagedAttributes { mode, owner: None, taking: None };
                ContentToStage {
                    bytes,
                    base: None,
                    kind,
                    attributes,
                    path: entry.path.clone(),
                    layer,
                }
            }
        }
    }

    fn create(&mut self, path: &WsPath, staged: StagedContent) -> Result<()> {
        let add = |planner: &mut Planner<'a>, _: &StagedAttributes| planner.add_content(staged);
        self.planner.create_staged(path, FileType::Document, false, add)?;
        self.landed.created += 1;
        Ok(())
    }

    /// Plans a file that is too large to load: the layer's file is kept as the version, and the workspace gets a copy.
    fn plan_large_file(&mut self, entry: &LayerEntry) -> Result<()> {
        let (workspace, path) = (self.planner.workspace, &entry.path);
        let hash = self.hash(entry)?;
        let attributes =
            StagedAttributes { mode: Some(entry.stat.mode), owner: None, taking: None };
        let (disk, call) = (&self.layer.disk, self.planner.call);
        let staged = workspace.stage.adopt(&workspace.disk, disk, &attributes, path, call)?;
        staged.flush(path)?;
        let received = ReceivedFile { hash, size: entry.stat.size(), staged };
        let Some(below) = &entry.below else {
            self.planner.create_staged(path, FileType::Document, false, |planner, _| {
                planner.stage_upload(&received, &attributes, path)
            })?;
            self.landed.created += 1;
            return self.mark_last_change();
        };
        let current = self.planner.current_as(path, below, Large::Keep)?;
        self.check_untouched(&current)?;
        if is_unchanged(&current, entry, hash) {
            return Ok(());
        }
        let after = with_mode(&current, entry.stat.mode);
        self.planner.put_staged(&current, after, |planner, attributes| -> Result<StagedFile> {
            planner.stage_upload(&received, attributes, path)
        })?;
        self.landed.changed += 1;
        self.mark_last_change()
    }

    fn read(&self, entry: &LayerEntry) -> Result<Vec<u8>> {
        let disk: &Disk = &self.layer.disk;
        if entry.stat.is(FileKind::Link) {
            return disk.read_link(&entry.path);
        }
        let (mut file, stat) = disk.open_listed(&entry.path)?;
        read_all(&mut file, stat.size(), &entry.path)
    }

    fn hash(&self, entry: &LayerEntry) -> Result<ContentHash> {
        let (mut file, _) = self.layer.disk.open_listed(&entry.path)?;
        hash_all(&mut file, &entry.path, self.planner.call)
    }

    /// The command's text, merged with changes that were made to the file meanwhile.
    fn merged(&self, current: &Current, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let base = match self.moved_base(current)? {
            None => return Ok(bytes),
            Some(_) if *current.bytes == bytes => return Ok(bytes),
            Some(Base::Known(hash)) => self.planner.workspace.store().content(&hash)?,
            Some(Base::Unknown) => None,
        };
        let base = base.ok_or_else(|| conflict(&current.path))?;
        let limit = self.planner.workspace.limits().load_bytes;
        let merged = self
            .planner
            .call
            .bounding(limit, |bounds| merge::merge_within(&base, &current.bytes, &bytes, bounds));
        merged?.map_err(|_| conflict(&current.path))
    }

    /// Whether the time of a file's last change is before the start of the command.
    fn is_untouched(&self, current: &Current) -> bool {
        current.stat.signature.ctime < self.began.0
    }

    /// The content that the file had when the command began, if it may have changed since.
    fn moved_base(&self, current: &Current) -> Result<Option<Base>> {
        if self.is_untouched(current) {
            return Ok(None);
        }
        let last = self.last_change(current)?;
        let content = last.as_ref().and_then(|(_, change)| change.after.as_ref()?.content);
        if content.is_some() && content == current.content() {
            return Ok(None);
        }
        let landed = last.is_some_and(|(step, _)| step.verb == Land::VERB);
        if self.seems_older(current, landed) && !self.is_recorded_since(current)? {
            return Ok(None);
        }
        Ok(Some(content.map_or(Base::Unknown, Base::Known)))
    }

    /// Whether a file without a recorded change last changed before the command began, although its ctime is not older.
    fn seems_older(&self, current: &Current, landed: bool) -> bool {
        let signature = current.stat.signature;
        // The clock of a file system ticks a few hundred times a second. A change in the tick in which the command
        // began happened before it.
        let same_tick = signature.ctime == self.began.0;
        // A landed file is a hard link to the file of its layer. When the layer is removed, the link count and so the
        // ctime of the file change, but not its content.
        same_tick || landed && signature.mtime <= self.began.0
    }

    /// Whether a step changed this file after the command began.
    fn is_recorded_since(&self, current: &Current) -> Result<bool> {
        let changes = self.planner.store().file_changes(current.id, None, 1);
        let newest = changes?.into_iter().next();
        Ok(newest.is_some_and(|(step, _)| step.seq > self.began.1))
    }

    /// A fault if a file that the command removed or replaced was changed meanwhile.
    fn check_untouched(&self, current: &Current) -> Result<()> {
        // Of a folder, only its entries are checked.
        if current.stat.is(FileKind::Folder) || self.moved_base(current)?.is_none() {
            return Ok(());
        }
        Err(conflict(&current.path))
    }

    /// A fault if a file that the command changed was removed meanwhile.
    fn check_not_removed(&self, path: &WsPath) -> Result<()> {
        let (Some(above), Some(name)) = (path.parent(), path.name()) else { return Ok(()) };
        if self.is_alone {
            return Ok(());
        }
        let Some(folder) = self.planner.id_at(&above)? else { return Ok(()) };
        let former = self.planner.store().former_child(folder, &name)?;
        match former.is_some_and(|node| node.seq > self.began.1) {
            true => Err(conflict(path)),
            false => Ok(()),
        }
    }

    /// The last step before the command began that changed a file, and how.
    fn last_change(&self, current: &Current) -> Result<Option<(StepRow, Change)>> {
        let changes = self.planner.store().file_changes(current.id, Some(self.began.1 + 1), 1);
        Ok(changes?.into_iter().next())
    }

    /// The state that an entry had when the command began, if the history has it.
    fn base_state(&self, current: &Current) -> Result<Option<FileState>> {
        Ok(self.last_change(current)?.and_then(|(_, change)| change.after))
    }

    /// Marks the last planned change if it is of build output, and adjusts its effect if it rewinds a ref.
    fn mark_last_change(&mut self) -> Result<()> {
        let Some(path) = self.planner.effect.paths.last().map(|effect| effect.path.clone()) else {
            return Ok(());
        };
        if let Some(change) = self.planner.draft.changes.last()
            && self.build_outputs.contain(&path, false)?
        {
            let file = change.file;
            self.planner.draft.files.build_outputs.insert(file);
        }
        let rewound = self.planner.draft.landing.as_ref().map(|landed| &landed.rewound_refs);
        let is_rewound = rewound.is_some_and(|rewound| rewound.contains(&path));
        if let Some(last) = self.planner.effect.paths.last_mut().filter(|_| is_rewound) {
            // A ref that was in `packed-refs` gets a file of its own, but that is a change of the ref.
            last.kind = EffectKind::Modify;
        }
        Ok(())
    }
}

/// Whether git only refreshed the index of a repository and lists the same files in it, as commands such as `git status`
/// do.
fn is_same_index(current: &Current, bytes: &[u8]) -> bool {
    let is_index = current.path.name().is_some_and(|name| name.as_bytes() == b"index");
    is_index
        && git::part(&current.path).is_some()
        && git_index::list_the_same(&current.bytes, bytes)
}

fn is_unchanged(current: &Current, entry: &LayerEntry, hash: ContentHash) -> bool {
    current.content() == Some(hash) && current.state.mode == entry.stat.mode
}

fn with_mode(current: &Current, mode: u32) -> FileState {
    FileState { mode, ..current.state.clone() }
}

fn conflict(path: &WsPath) -> Fault {
    let message = format!(
        "{path} was changed by another caller or program while the command ran, and the two changes do not fit \
         together. Nothing of what the command changed was kept, and their change stays. Run it again"
    );
    Fault::new(FaultCode::Stale, message).about(Subject::Path)
}
