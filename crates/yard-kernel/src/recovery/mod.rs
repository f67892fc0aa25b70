//! Recovery: brings the disk up to the recorded steps after a crash, without reverting work of other programs.
//!
//! The steps that may not be on disk are those beyond the applied mark and, after a restart of the machine, all since
//! the last flush. Recovery tells a lost write from the work of another program **by the identity of files, never by
//! their content**. It repairs an entry only if the entry is
//!
//! - a staged file that no program has written into, with other bytes than it was given (its data was lost), or
//! - the very entry that a step displaced, untouched since (the step's rename was lost), or
//! - missing, and its step is beyond the applied mark.
//!
//! Every other entry is the work of another program: it stays, and is adopted when it is next touched. The author of a
//! step decides nothing: a change without a placement was on disk when it was recorded. A step that was rolled back and
//! the step that compensates it left nothing on disk: both are skipped.
//!
//! `recorded.rs` is what the history says of the files, and `initial.rs` how they were before recovery began. The moves and
//! removals are repeated (`repeating.rs`, `unmoved.rs`), then the entries are repaired (`repairing.rs`). `open.rs` opens a
//! workspace, and `leftovers.rs` tidies its staging folder.

mod initial;
pub(crate) mod leftovers;
mod open;
mod recorded;
mod repairing;
mod repeating;
mod report;
mod unmoved;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use yard_core::{Call, ContentHash, FileId, FileKind, Result, StepId, WsPath};
use yard_disk::{EntryStat, hash_all};
use yard_store::{Change, Mark, Placement, Seq, StepRow};

use self::initial::InitialIdentities;
use self::recorded::{Boot, RecordedFiles};
use self::report::Report;
use self::unmoved::{MovedFile, UnmovedEntry};
use crate::projection::applied::{advance_applied_mark, flush_to};
use crate::projection::{compensated_step, make_folder};
use crate::workspace::Workspace;
use crate::workspace::root_identity::check_applied_mark;

/// Brings the disk up to the head of the history, and returns the head. The caller holds the workspace's lock.
pub(crate) fn recover(workspace: &Workspace, call: &Call) -> Result<Seq> {
    let head = workspace.store().head()?;
    let applied = workspace.history.locks.applied()?.unwrap_or_default();
    check_applied_mark(applied.seq, head)?;
    let boot = boot_of(applied, call);
    if boot == Boot::Same && applied.seq == head {
        return Ok(head);
    }
    let recovery = Recovery::load(workspace, call, applied, head)?;
    let report = recovery.run()?;
    leftovers::remove_recorded(workspace, &|identity| recovery.recorded.is_recorded(identity));
    if boot == Boot::Another {
        // Repaired files could be lost by the next power loss, too.
        flush_to(workspace, head, call)?;
    }
    report.record(workspace, head, call)?;
    advance_applied_mark(workspace, call)?;
    Ok(head)
}

fn boot_of(applied: Mark, call: &Call) -> Boot {
    if applied.boot == call.world().boot_id() { Boot::Same } else { Boot::Another }
}

/// A step that may not be on disk.
struct LostStep {
    row: StepRow,
    changes: Vec<Change>,
    placements: Vec<Placement>,
}

/// The steps that have to be on disk, and what is recorded of their files.
///
/// The disk may be at any point between the first of them and the last, so that none can be replayed blindly. Moves and
/// removals are repeated in order, where the entry that they name is still there and untouched. Then every entry that
/// these steps touched gets the state that the store has, at its current path.
struct Recovery<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    boot: Boot,
    /// The renames of the steps up to this one were on disk before the crash.
    applied: Seq,
    steps: Vec<LostStep>,
    recorded: RecordedFiles,
    /// Identities of entries before recovery began: recovery itself changes times.
    initial: RefCell<InitialIdentities>,
    /// Folders that were made only so that steps can be repeated: the path of each, by inode.
    temporary: RefCell<HashMap<u64, WsPath>>,
    /// Files that recovery moved, and where they are now.
    moved: RefCell<HashMap<FileId, MovedFile>>,
    /// Entries whose lost moves are not repeated.
    unmoved: RefCell<Vec<UnmovedEntry>>,
}

impl<'a> Recovery<'a> {
    fn load(workspace: &'a Workspace, call: &'a Call, applied: Mark, head: Seq) -> Result<Self> {
        let store = workspace.store();
        let boot = boot_of(applied, call);
        let from = match boot {
            Boot::Same => applied.seq,
            Boot::Another => store.flushed_mark()?.seq,
        };
        let notes = match boot {
            Boot::Same => Vec::new(),
            Boot::Another => store.recovery_notes()?,
        };
        let mut recovery = Self {
            workspace,
            call,
            boot,
            applied: applied.seq,
            steps: Vec::new(),
            recorded: RecordedFiles::default(),
            initial: RefCell::new(InitialIdentities::noted(&notes)),
            temporary: RefCell::default(),
            moved: RefCell::default(),
            unmoved: RefCell::default(),
        };
        let count = usize::try_from(head.saturating_sub(from)).unwrap_or(usize::MAX);
        let rows = store.steps(None, None, count)?;
        let compensated: HashSet<StepId> = rows.iter().filter_map(compensated_step).collect();
        for row in rows.into_iter().rev() {
            call.check()?;
            let seq = row.seq;
            let placements = store.placements(seq)?;
            if compensated_step(&row).is_some() || compensated.contains(&row.id) {
                recovery.recorded.add_rolled_back(&placements);
                continue;
            }
            let changes = store.changes(seq)?;
            for (index, change) in (0..).zip(&changes) {
                recovery.recorded.add(seq, index, change, &placements);
                for path in change.from.iter().chain(&change.to) {
                    recovery.note_initial(path);
                }
            }
            recovery.steps.push(LostStep { row, changes, placements });
        }
        Ok(recovery)
    }

    fn run(&self) -> Result<Report> {
        for LostStep { row, changes, placements } in &self.steps {
            for placement in placements {
                self.call.check()?;
                let Some(displaced) = &placement.displaced else { continue };
                let index = usize::try_from(placement.change).unwrap_or(usize::MAX);
                let Some(change) = changes.get(index) else { continue };
                match (&change.before, &change.after, &change.from, &change.to) {
                    (Some(before), None, Some(from), _) => {
                        self.repeat_removal(row, change, before, from, displaced)?;
                    }
                    (Some(before), Some(_), Some(from), Some(to)) if from != to => {
                        self.repeat_move(row, change, before, from, to, displaced)?;
                    }
                    _ => {}
                }
            }
            changes.iter().for_each(|change| self.follow(change));
        }
        self.move_unmoved()?;
        self.find_moved_earlier()?;
        self.remove_strays()?;
        self.remove_temporary_folders()?;
        self.repair_all()
    }

    fn make_folder(&self, path: &WsPath, mode: u32) -> Result<()> {
        self.note_before_changing([path])?;
        make_folder(self.workspace, path, mode)
    }

    fn remove_folder(&self, path: &WsPath) -> Result<()> {
        self.note_before_changing([path])?;
        self.workspace.disk.remove_folder(path)
    }

    fn set_folder_mode(&self, path: &WsPath, mode: u32) -> Result<()> {
        self.note_before_changing([path])?;
        self.workspace.disk.set_folder_mode(path, mode)
    }

    /// Whether an entry is a staged file that no program has written into, with other bytes than it was given.
    fn has_lost_bytes(
        &self,
        file: FileId,
        path: &WsPath,
        found: &EntryStat,
        until: Seq,
    ) -> Result<bool> {
        let Some(identity) = found.identity.filter(|_| self.boot == Boot::Another) else {
            return Ok(false);
        };
        let staged_as: Vec<_> = self.recorded.contents_of(file, &identity, until).collect();
        if staged_as.is_empty() {
            return Ok(false);
        }
        let content = self.content_on_disk(path, found)?;
        Ok(staged_as.iter().all(|staged| *staged != content))
    }

    /// Whether it is certain that a missing entry of a step beyond the applied mark was lost and not removed by another
    /// program: on a journalling file system that also holds the mark, or if the machine kept running.
    fn can_tell_missing(&self) -> bool {
        self.boot == Boot::Same || self.workspace.stage.is_beside_data()
    }

    /// Whether a living entry that is missing on disk was lost, and not removed by another program.
    fn is_missing(&self, file: FileId) -> bool {
        self.can_tell_missing()
            && self
                .recorded
                .newest(file)
                .is_some_and(|newest| newest.places && newest.seq > self.applied)
    }

    fn content_on_disk(&self, path: &WsPath, found: &EntryStat) -> Result<Option<ContentHash>> {
        let disk = &self.workspace.disk;
        match found.kind.known() {
            Some(FileKind::Link) => {
                disk.read_link(path).map(|target| Some(ContentHash::of(&target)))
            }
            Some(FileKind::File) => {
                let (mut file, _) = disk.open_file(path)?;
                hash_all(&mut file, path, self.call).map(Some)
            }
            _ => Ok(None),
        }
    }
}
