//! land: what a command changed on its layer becomes a step. The layer is the effect: what is in it came
//! to be or changed, and a mark says what is gone. A plan leaves it as it was, so that a landing that has to
//! wait, or to be planned again, finds the same.
//!
//! Somebody may have changed the workspace since the command began. Texts are merged by lines; where that
//! would be a guess nothing lands, and the fault names the file.

mod found;

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

use crate::making::{self, Made, Wanted, WantedOutput};
use crate::op::relocate::carry;
use crate::op::remove::inside;
use crate::output::{Ignoring, Outputs};
use crate::planner::{Current, Image, Large, Planner};
use crate::proposal::{Execute, Planned};
use crate::refs::rewound;
use crate::upload::Arrived;
use crate::workspace::Workspace;

use self::found::{Entry, Found};

/// Bytes of new contents that are made ready at a time.
const AT_A_TIME: u64 = 32 << 20;

impl Execute for Land {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Landed>> {
        let folder = workspace.runs.find(self.run)?.ok_or_else(|| not_kept(self))?;
        let mut landing = Landing::begin(workspace, call, &folder, self)?;
        let found = Found::in_layer(workspace, &landing.layer, call)?;
        landing.plan(&found)?;
        let Landing { mut planner, mut landed, .. } = landing;
        landed.left_out.extend(found.left_out);
        if planner.draft.changes.is_empty() {
            return Ok(Planned::Answer { effect: Effect::default(), answer: landed });
        }
        landed.step = Some(planner.draft.id);
        folder.lands_as(planner.draft.id)?;
        planner.draft.exclusive = true;
        planner.propose::<Self>(landed)
    }
}

fn not_kept(land: &Land) -> Fault {
    let message = format!("the changes of run {} are not kept any more; run it again", land.run);
    Fault::new(FaultCode::NotFound, message)
}

struct Landing<'a> {
    planner: Planner<'a>,
    layer: OverlayLayer,
    /// The clock of the file system when the command began, and the newest step then.
    began: (i64, Seq),
    /// Nothing was recorded since.
    is_alone: bool,
    whose: &'a Land,
    outputs: Outputs<'a>,
    landed: Landed,
}

/// What a file was when the command began, where it is something else by now.
enum Base {
    Known(ContentHash),
    /// It changed before the history had it.
    Unknown,
}

/// A file or link that comes to be or changes.
struct Wish<'b> {
    entry: &'b Entry,
    bytes: Vec<u8>,
    mode: u32,
    /// The bytes are not those of the layer.
    merged: bool,
    current: Option<Current>,
}

impl<'a> Landing<'a> {
    fn begin(
        workspace: &'a Workspace,
        call: &'a Call,
        folder: &RunFolder,
        whose: &'a Land,
    ) -> Result<Self> {
        let began = folder.began()?;
        let mut planner = Planner::new(workspace, call);
        planner.draft.rewound = Some(rewound(folder)?);
        Ok(Self {
            planner,
            layer: folder.layer()?,
            is_alone: workspace.store().head()? == began.1,
            began,
            whose,
            outputs: Outputs::new(workspace, call, Ignoring::ByPeople),
            landed: Landed::default(),
        })
    }

    /// First whatever makes room, so that what comes finds it: entries in the place of folders go,
    /// folders come, moves happen, the rest goes, files come and change, modes are set.
    fn plan(&mut self, found: &Found) -> Result<()> {
        // Looked at before anything in them is, so that each is met once.
        let modes = found.modes.iter().map(|(path, mode)| {
            let current = self.planner.current(path, Large::Leave)?;
            Ok((current, *mode))
        });
        let modes = modes.collect::<Result<Vec<_>>>()?;
        let mut going = self.going(found)?;
        let folders: HashSet<&WsPath> = found.folders.iter().map(|(path, _)| path).collect();
        let blocking = |current: &Current| folders.contains(&current.path);
        for current in going.extract_if(.., |current| blocking(current)) {
            self.vacate(&current)?;
        }
        let mut closed = Vec::new();
        for (path, mode) in &found.folders {
            // What is in it has to come first.
            let id = self.planner.make_folder_as(path, mode | 0o700)?;
            if mode | 0o700 != *mode {
                closed.push((id, path, *mode));
            }
            self.landed.created += 1;
            self.note_last()?;
        }
        let wishes = self.moves(found, &mut going)?;
        for current in going.iter().rev() {
            self.vacate(current)?;
        }
        self.fulfil(wishes)?;
        for (id, path, mode) in closed.into_iter().rev() {
            self.close(id, path, mode);
        }
        for (current, mode) in modes {
            let mode = self.mode_of(&current, mode)?;
            if mode == current.state.mode {
                continue;
            }
            let after = FileState { mode, ..current.state.clone() };
            self.planner.rewrite(&current, None, after)?;
            self.landed.changed += 1;
            self.note_last()?;
        }
        Ok(())
    }

    /// Gives a new folder its mode, once everything in it is there.
    fn close(&mut self, id: FileId, path: &WsPath, mode: u32) {
        let made = self.planner.draft.changes.iter().find(|change| change.file == id);
        let Some(before) = made.and_then(|change| change.after.clone()) else { return };
        let (after, at) = (FileState { mode, ..before.clone() }, Some(path.clone()));
        self.planner.push_change(id, Some(before), Some(after), at.clone(), at);
    }

    /// The mode that an entry shall have: the layer's if the command set it, else the one that it has.
    fn mode_of(&self, current: &Current, mode: u32) -> Result<u32> {
        if self.is_untouched(current) {
            return Ok(mode);
        }
        let base = self.base_state(current)?.map_or(mode, |state| state.mode);
        Ok(if mode == base { current.state.mode } else { mode })
    }

    /// Everything that goes, with what is in it; folders before what they hold.
    fn going(&mut self, found: &Found) -> Result<Vec<Current>> {
        let mut going = Vec::new();
        for (path, stat) in &found.gone {
            let special = self.special_below(path, stat)?;
            let stays: HashSet<WsPath> = special.iter().flat_map(WsPath::lineage).collect();
            self.landed.left_out.extend(special);
            let mut ahead = vec![(path.clone(), *stat)];
            while let Some((path, stat)) = ahead.pop() {
                match (stays.contains(&path), stat.kind) {
                    (false, _) => self.goes(&path, &stat, &mut going)?,
                    (true, EntryKind::Known(FileKind::Folder)) => ahead.extend(self.held(&path)?),
                    (true, _) => {}
                }
            }
        }
        Ok(going)
    }

    /// What goes with an entry, and the entry itself.
    fn goes(&mut self, path: &WsPath, stat: &EntryStat, going: &mut Vec<Current>) -> Result<()> {
        let current = self.planner.current_as(path, stat, Large::Keep)?;
        self.check_untouched(&current)?;
        let mut ahead = vec![current];
        while let Some(current) = ahead.pop() {
            self.planner.call.check()?;
            if current.stat.is(FileKind::Folder) {
                let below = inside(&mut self.planner, &current, true)?;
                below.iter().try_for_each(|current| self.check_untouched(current))?;
                ahead.extend(below);
            }
            going.push(current);
        }
        Ok(())
    }

    /// Sockets, FIFOs and devices in what goes. No version could bring them back, so they stay where they
    /// are, and what they are in.
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

    /// What a folder holds that stays itself.
    fn held(&self, folder: &WsPath) -> Result<Vec<(WsPath, EntryStat)>> {
        let disk = &self.planner.workspace.disk;
        let mut held = Vec::new();
        for entry in disk.list(folder)? {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            held.extend(disk.stat(&path)?.map(|stat| (path, stat)));
        }
        Ok(held)
    }

    fn vacate(&mut self, current: &Current) -> Result<()> {
        self.planner.check_writable_above(&current.path)?;
        self.planner.vacate(current);
        self.landed.removed += 1;
        self.note_last()
    }

    /// Makes moves of what goes here and comes there with the same content; what is still to be made.
    fn moves<'b>(&mut self, found: &'b Found, going: &mut Vec<Current>) -> Result<Vec<&'b Entry>> {
        let mut leaving: HashMap<(ContentHash, u64), Vec<usize>> = HashMap::new();
        for (at, current) in going.iter().enumerate().rev() {
            // Empty files are all alike: that one goes and another comes says nothing.
            let is_file = current.stat.is(FileKind::File) && current.stat.size() > 0;
            // What is kept of build output may go for room: elsewhere it is a file like any other.
            let is_file = is_file && !self.outputs.holds(&current.path, false)?;
            if let Some(hash) = current.content().filter(|_| is_file) {
                leaving.entry((hash, current.stat.size())).or_default().push(at);
            }
        }
        let sizes: HashSet<u64> = leaving.keys().map(|(_, size)| *size).collect();
        let gone: HashSet<&WsPath> = found.gone.iter().map(|(path, _)| path).collect();
        let (mut wishes, mut moved) = (Vec::new(), HashSet::new());
        for entry in &found.entries {
            self.planner.call.check()?;
            // What git is told is judged as what it is, and not as something that came from elsewhere.
            let is_git_s = git::part(&entry.path).is_some();
            let comes = entry.below.is_none() && entry.stat.is(FileKind::File) && !is_git_s;
            // What comes in the place of something that goes has to wait for that.
            let waits = || entry.path.lineage().iter().any(|above| gone.contains(above));
            let from = match comes && sizes.contains(&entry.stat.size()) && !waits() {
                true => {
                    let hash = self.hash(entry)?;
                    leaving.get_mut(&(hash, entry.stat.size())).and_then(Vec::pop)
                }
                false => None,
            };
            match from {
                Some(at) => {
                    self.carry(&going[at], entry)?;
                    moved.insert(at);
                }
                None => wishes.push(entry),
            }
        }
        let mut at = 0..;
        going.retain(|_| at.next().is_none_or(|at| !moved.contains(&at)));
        Ok(wishes)
    }

    fn carry(&mut self, current: &Current, entry: &Entry) -> Result<()> {
        let moved = carry(&mut self.planner, current, &entry.path)?;
        self.landed.moved += 1;
        if moved.state.mode != entry.stat.mode {
            let after = FileState { mode: entry.stat.mode, ..moved.state.clone() };
            let bytes = self.read(entry)?;
            self.planner.rewrite(&moved, Some(bytes), after)?;
            self.note_last()?;
        }
        Ok(())
    }

    /// Makes files and links come to be and change, as many at a time as memory has room for.
    fn fulfil(&mut self, entries: Vec<&Entry>) -> Result<()> {
        let (mut batch, mut bytes, mut outputs) = (Vec::new(), 0, Vec::new());
        for entry in entries {
            self.planner.call.check()?;
            if entry.stat.is(FileKind::File) && self.outputs.holds(&entry.path, false)? {
                outputs.push(entry);
                continue;
            }
            if entry.stat.size() > self.planner.workspace.limits().load_bytes {
                self.large(entry)?;
                continue;
            }
            let Some(wish) = self.wish(entry)? else { continue };
            bytes += wish.bytes.len() as u64;
            batch.push(wish);
            if bytes > AT_A_TIME {
                self.make(std::mem::take(&mut batch))?;
                bytes = 0;
            }
        }
        self.make(batch)?;
        self.make_outputs(&outputs)
    }

    /// Makes build output come to be and change. Nobody merges it: the last one to make it is right.
    fn make_outputs(&mut self, entries: &[&Entry]) -> Result<()> {
        let workspace = self.planner.workspace;
        let mut currents = Vec::with_capacity(entries.len());
        for entry in entries {
            let below = entry.below.as_ref();
            let current =
                below.map(|below| self.planner.current_as(&entry.path, below, Large::Keep));
            // All of them at once may be more than memory holds, and none is merged.
            currents.push(current.transpose()?.map(Current::without_bytes));
        }
        let wanted: Vec<_> = { entries.iter().zip(&currents) }
            .map(|(entry, current)| {
                let usual =
                    StagedAttributes { mode: Some(entry.stat.mode), owner: None, taking: None };
                let shape = current.as_ref().map_or(usual, |current| {
                    self.planner.shape(current, &rewritten(current, entry.stat.mode))
                });
                let (layer, path) = (&self.layer.disk, entry.path.clone());
                WantedOutput { layer, shape, path, run: self.whose.run }
            })
            .collect();
        let made = making::make_outputs(workspace, &wanted, self.planner.call)?;
        drop(wanted);
        for ((entry, current), made) in entries.iter().zip(&currents).zip(made) {
            match current {
                Some(current) if is_same(current, entry, &made) => {
                    self.touch(entry, current);
                    continue;
                }
                Some(current) => {
                    let after = rewritten(current, entry.stat.mode);
                    self.planner.put_made(current, after, made)?;
                    self.landed.changed += 1;
                }
                None => self.create(&entry.path, made)?,
            }
            self.note_last()?;
        }
        Ok(())
    }

    /// What an entry of the layer asks for; `None` if it is there already.
    fn wish<'b>(&mut self, entry: &'b Entry) -> Result<Option<Wish<'b>>> {
        let bytes = self.read(entry)?;
        let Some(below) = &entry.below else {
            self.check_not_removed(&entry.path)?;
            let mode = entry.stat.mode;
            return Ok(Some(Wish { entry, bytes, mode, merged: false, current: None }));
        };
        let current = self.planner.current_as(&entry.path, below, Large::Keep)?;
        let mode = self.mode_of(&current, entry.stat.mode)?;
        if current.is_not_loaded() {
            self.check_untouched(&current)?;
            return Ok(Some(Wish { entry, bytes, mode, merged: false, current: Some(current) }));
        }
        if mode == current.state.mode && is_same_index(&current, &bytes) {
            return Ok(None);
        }
        let theirs = bytes;
        let bytes = self.merged(&current, theirs.clone())?;
        let merged = bytes != theirs;
        if *current.bytes == bytes && current.state.mode == mode {
            self.touch(entry, &current);
            return Ok(None);
        }
        Ok(Some(Wish { entry, bytes, mode, merged, current: Some(current) }))
    }

    /// A command that only set a file's time has touched it.
    fn touch(&mut self, entry: &Entry, current: &Current) {
        if entry.stat.signature.mtime <= current.stat.signature.mtime {
            return;
        }
        self.planner.touch(current);
        self.landed.changed += 1;
    }

    fn make(&mut self, wishes: Vec<Wish<'_>>) -> Result<()> {
        let Planner { workspace, call, effort, .. } = self.planner;
        let wanted: Vec<_> = wishes.iter().map(|wish| self.wanted(wish)).collect();
        let made = making::make_all(workspace, &wanted, effort, call)?;
        drop(wanted);
        for (wish, made) in wishes.into_iter().zip(made) {
            match &wish.current {
                Some(current) => {
                    let after = rewritten(current, wish.mode);
                    self.planner.put_made(current, after, made)?;
                    self.landed.changed += 1;
                }
                None => {
                    self.create(&wish.entry.path, made)?;
                }
            }
            self.note_last()?;
        }
        Ok(())
    }

    fn wanted<'b>(&'b self, wish: &'b Wish<'b>) -> Wanted<'b> {
        let Wish { entry, bytes, current, .. } = wish;
        let from = Some(&self.layer.disk);
        match current {
            Some(current) => {
                let wanted = self.planner.wanted(current, bytes, &rewritten(current, wish.mode));
                // What was merged is in no layer.
                Wanted { from: from.filter(|_| !wish.merged), ..wanted }
            }
            None => {
                let kind = entry.stat.kind.known().unwrap_or(FileKind::File);
                let mode = Some(entry.stat.mode);
                let shape = StagedAttributes { mode, owner: None, taking: None };
                Wanted { bytes, base: None, kind, shape, path: entry.path.clone(), from }
            }
        }
    }

    fn create(&mut self, path: &WsPath, made: Made) -> Result<()> {
        let create = |planner: &mut Planner<'a>, _: &StagedAttributes| Ok(planner.accept(made));
        self.planner.create_image(path, FileType::Document, false, create)?;
        self.landed.created += 1;
        Ok(())
    }

    /// A file that is too large to load: the layer's becomes the kept one, and the tree gets a copy.
    fn large(&mut self, entry: &Entry) -> Result<()> {
        let (workspace, path) = (self.planner.workspace, &entry.path);
        let hash = self.hash(entry)?;
        let shape = StagedAttributes { mode: Some(entry.stat.mode), owner: None, taking: None };
        let staged = workspace.stage.adopt(&workspace.disk, &self.layer.disk, &shape, path)?;
        staged.flush(path)?;
        let arrived = Arrived::new(hash, entry.stat.size(), staged);
        let Some(below) = &entry.below else {
            self.planner.create_image(path, FileType::Document, false, |planner, _| {
                planner.receive(&arrived, &shape, path)
            })?;
            self.landed.created += 1;
            return self.note_last();
        };
        let current = self.planner.current_as(path, below, Large::Keep)?;
        self.check_untouched(&current)?;
        if current.content() == Some(hash) && current.state.mode == entry.stat.mode {
            return Ok(());
        }
        let after = rewritten(&current, entry.stat.mode);
        self.planner.put_image(&current, after, |planner, shape| -> Result<Image> {
            planner.receive(&arrived, shape, path)
        })?;
        self.landed.changed += 1;
        self.note_last()
    }

    fn read(&self, entry: &Entry) -> Result<Vec<u8>> {
        let disk: &Disk = &self.layer.disk;
        if entry.stat.is(FileKind::Link) {
            return disk.read_link(&entry.path);
        }
        let (mut file, stat) = disk.open_listed(&entry.path)?;
        read_all(&mut file, stat.size(), &entry.path)
    }

    fn hash(&self, entry: &Entry) -> Result<ContentHash> {
        let (mut file, _) = self.layer.disk.open_listed(&entry.path)?;
        hash_all(&mut file, &entry.path, self.planner.call)
    }

    /// The command's text, with what others changed meanwhile.
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

    /// Whether nobody can have changed a file since the command began: not by the time of its last change.
    fn is_untouched(&self, current: &Current) -> bool {
        current.stat.signature.ctime < self.began.0
    }

    /// What the command may have started from, where it is not what is there now.
    fn moved_base(&self, current: &Current) -> Result<Option<Base>> {
        if self.is_untouched(current) {
            return Ok(None);
        }
        let last = self.last_change(current)?;
        let known = last.as_ref().and_then(|(_, change)| change.after.as_ref()?.content);
        if known.is_some() && known == current.content() {
            return Ok(None);
        }
        let landed = last.is_some_and(|(step, _)| step.verb == Land::VERB);
        if self.seems_older(current, landed) && !self.is_recorded_since(current)? {
            return Ok(None);
        }
        Ok(Some(known.map_or(Base::Unknown, Base::Known)))
    }

    /// Whether a file that nobody recorded a change of changed before the command began, although the time
    /// of its last change does not say so.
    fn seems_older(&self, current: &Current, landed: bool) -> bool {
        let signature = current.stat.signature;
        // The clock of a file system ticks a few hundred times a second: what changed in the tick in
        // which the command began changed before.
        let same_tick = signature.ctime == self.began.0;
        // What landed shares its file with the layer that it came from. Once that layer is cleared away
        // the file has a link less, which is a change of it and none of its content.
        same_tick || landed && signature.mtime <= self.began.0
    }

    /// Whether a step changed this file after the command began.
    fn is_recorded_since(&self, current: &Current) -> Result<bool> {
        let changes = self.planner.store().file_changes(current.id, None, 1);
        let newest = changes?.into_iter().next();
        Ok(newest.is_some_and(|(step, _)| step.seq > self.began.1))
    }

    /// A fault if somebody changed what the command removed or replaced.
    fn check_untouched(&self, current: &Current) -> Result<()> {
        // A folder is what is in it.
        if current.stat.is(FileKind::Folder) || self.moved_base(current)?.is_none() {
            return Ok(());
        }
        Err(conflict(&current.path))
    }

    /// A fault if somebody removed, while the command ran, what it would bring back.
    fn check_not_removed(&self, path: &WsPath) -> Result<()> {
        let (Some(above), Some(name)) = (path.parent(), path.name()) else { return Ok(()) };
        if self.is_alone {
            return Ok(());
        }
        let Some(folder) = self.planner.known_folder(&above)? else { return Ok(()) };
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

    /// What an entry was when the command began, as far as the history has it.
    fn base_state(&self, current: &Current) -> Result<Option<FileState>> {
        Ok(self.last_change(current)?.and_then(|(_, change)| change.after))
    }

    /// Notes of the change that was planned last whether it is build output, and of a ref that it changes.
    fn note_last(&mut self) -> Result<()> {
        let Some(path) = self.planner.effect.paths.last().map(|effect| effect.path.clone()) else {
            return Ok(());
        };
        if let Some(change) = self.planner.draft.changes.last()
            && self.outputs.holds(&path, false)?
        {
            let file = change.file;
            self.planner.draft.outputs.insert(file);
        }
        let rewound = self.planner.draft.rewound.as_ref();
        let is_rewound = rewound.is_some_and(|rewound| rewound.contains(&path));
        if let Some(last) = self.planner.effect.paths.last_mut().filter(|_| is_rewound) {
            // A ref that was packed with others comes to be as a file, and is changed all the same.
            last.kind = EffectKind::Modify;
        }
        Ok(())
    }
}

/// Whether git wrote the index of a repository anew and lists in it what was listed there: commands that
/// only look do that.
fn is_same_index(current: &Current, bytes: &[u8]) -> bool {
    let is_index = current.path.name().is_some_and(|name| name.as_bytes() == b"index");
    is_index
        && git::part(&current.path).is_some()
        && git_index::list_the_same(&current.bytes, bytes)
}

/// Whether build output is what it was.
fn is_same(current: &Current, entry: &Entry, made: &Made) -> bool {
    current.content() == Some(made.hash) && current.state.mode == entry.stat.mode
}

fn rewritten(current: &Current, mode: u32) -> FileState {
    FileState { mode, ..current.state.clone() }
}

fn conflict(path: &WsPath) -> Fault {
    let message = format!(
        "{path} was changed by somebody else while the command ran, and the two changes do not fit \
         together. Nothing of what the command changed was kept, and their change stays. Run it again"
    );
    Fault::new(FaultCode::Stale, message).about(Subject::Path)
}
