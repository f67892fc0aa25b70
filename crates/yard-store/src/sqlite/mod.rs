//! A store in a folder: one SQLite database, `journal.db`, and the `blobs/` beside it.
//!
//! The forms of contents are chosen in `blobs/`.

mod append;
mod approval;
mod chat;
mod comment;
mod connections;
mod content;
mod display_name;
mod error;
mod event;
mod history;
mod inspect;
mod later;
mod node;
mod packer;
mod past;
mod placement;
mod purge;
mod question;
mod quotations;
mod recheck;
mod registry;
mod schema;
mod seen;
mod step_search;
mod unread;
mod value;
mod zstd_deltas;

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Params, Row};
use yard_core::{ChatId, ChatScope, ContentHash, FileId, FileState, Name, StepId, VersionId};

use crate::blobs::{Blobs, DeltaBase, create_folder, lock_file};
use crate::{
    AuditEntry, AuditRow, Base, Batch, Change, ContentCheck, ContentLocation, Effort, FileThen,
    Maker, Mark, NetChange, Node, OthersChange, Placement, Prepared, Purged, RecoveryNote, Result,
    RootIdentity, SeenContent, Seq, StepFilter, StepRow, Store, StoreError, StoredCounts,
    VersionRow,
};
use connections::{Connections, Flush};
use content::BaseChoice;
use packer::Packer;
pub use registry::SqliteRegistry;

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether anything is ever flushed. Only tests and measurements turn it off.
    pub flush: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { flush: true }
    }
}

/// One workspace's journal in a folder. Any number of them, in any number of processes, may be open
/// on one folder.
#[derive(Debug)]
pub struct SqliteStore {
    db: Arc<Connections>,
    blobs: Blobs,
    packer: Packer,
}

impl SqliteStore {
    /// Opens the store in `dir`, and creates it if it is missing.
    pub fn open(dir: &Path) -> Result<Self> {
        Self::open_with(dir, Options::default())
    }

    /// As [`SqliteStore::open`].
    pub fn open_with(dir: &Path, options: Options) -> Result<Self> {
        create_folder(dir)?;
        let blobs = Blobs::open(&dir.join("blobs"))?;
        let store = {
            // Two processes cannot switch a new database to WAL, or migrate one, at once.
            let _opening = lock_file(&dir.join("journal.lock"))?;
            let is_older = blobs.is_of_older_version()?;
            let db = Connections::open(dir.join("journal.db"), &schema::JOURNAL, options)?;
            let db = Arc::new(db);
            let store = Self { packer: Packer::new(Arc::clone(&db)), db, blobs };
            // If this fails, only space is lost, and the next opening tries again.
            let _ = store.remove_uncommitted_files(is_older);
            store
        };
        if store.db.read(history::is_unsealed)? {
            store.db.write(Flush::Now, append::seal)?;
        }
        if store.db.read(purge::has_pending_blobs)? {
            store.clear_blobs()?;
        }
        Ok(store)
    }

    /// A fault if the database is damaged, wherever that is. It reads all of it.
    pub fn check_database(&self) -> Result<()> {
        let found: String = self.db.read(|connection| {
            Ok(connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?)
        })?;
        if found == "ok" { Ok(()) } else { Err(StoreError::Corrupt(found)) }
    }

    /// Removes the files of contents that were never committed: what killed processes prepared, and, once, what an older
    /// version of this program left.
    fn remove_uncommitted_files(&self, is_older: bool) -> Result<()> {
        if is_older {
            self.db.write(Flush::Later, |db| purge::remove_unnamed_blobs(db, &self.blobs))?;
            return self.blobs.create_prepared_folder();
        }
        let files = self.blobs.abandoned()?;
        if files.is_empty() {
            return Ok(());
        }
        self.db.write(Flush::Later, |db| purge::remove_abandoned(db, &self.blobs, files))
    }

    /// Removes the files that an append placed which recorded nothing. If this fails, the next purge removes them.
    fn remove_placed(&self, contents: &[Prepared]) {
        let placed = contents.iter().filter(|prepared| prepared.has_file());
        let placed: Vec<ContentHash> = placed.map(Prepared::hash).collect();
        if !placed.is_empty() {
            let _ = self.db.write(Flush::Later, |db| {
                purge::remove_blobs_unless_named(db, &self.blobs, placed.iter())
            });
        }
    }

    /// Removes the blobs of purged contents.
    fn clear_blobs(&self) -> Result<()> {
        self.db.write(Flush::Now, |connection| purge::clear_blobs(connection, &self.blobs))
    }
}

/// Every row that a query finds.
fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// The first row that a query finds.
fn one<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(read).transpose()
}

/// Executes a statement; the number of rows that it changed.
fn run(connection: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    Ok(connection.prepare_cached(sql)?.execute(params)?)
}

/// Executes a statement that must change a row; the misfit says why it changed none.
fn run_or(connection: &Connection, sql: &str, params: impl Params, why: String) -> Result<()> {
    if run(connection, sql, params)? > 0 { Ok(()) } else { Err(StoreError::Misfit(why)) }
}

/// As [`run_or`], for a statement that returns the chat of the row.
fn run_returning_chat(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    why: String,
) -> Result<ChatId> {
    one(connection, sql, params, value::chat_id)?.ok_or(StoreError::Misfit(why))
}

impl Store for SqliteStore {
    fn head(&self) -> Result<Seq> {
        self.db.glance(history::head)
    }

    fn append(&self, expected: Seq, batch: Batch<'_>) -> Result<Seq> {
        if batch.steps.is_empty() && batch.contents.is_empty() {
            return self.head();
        }
        let appended = self.db.write(Flush::Now, |connection| {
            append::append(connection, expected, batch, &self.blobs)
        });
        match &appended {
            Ok(_) => self.packer.appended(batch.contents),
            // After any other error the batch may have been recorded.
            Err(StoreError::Full | StoreError::Misfit(_)) => self.remove_placed(batch.contents),
            Err(_) => {}
        }
        appended
    }

    fn prepare(
        &self,
        hash: ContentHash,
        bytes: &[u8],
        base: Option<Base<'_>>,
        mut effort: Effort,
    ) -> Result<Prepared> {
        let Some(base) = base else { return self.blobs.prepare(hash, bytes, None, effort) };
        let choice = self.db.glance(|db| content::choose_base(db, &base.hash))?;
        let root = match choice {
            Some(BaseChoice::ChainRoot) => {
                self.db.read_at_once(|db| content::chain_root(db, &self.blobs, &base.hash))?
            }
            _ => None,
        };
        let delta_base = match (choice, &root) {
            (Some(BaseChoice::Previous(depth)), _) => Some(DeltaBase { base, depth }),
            // Every version of the new chain reads its first splice, so that is compressed at once.
            (_, Some((hash, bytes))) => {
                effort = Effort::Thorough;
                Some(DeltaBase { base: Base { hash: *hash, bytes }, depth: 0 })
            }
            _ => None,
        };
        self.blobs.prepare(hash, bytes, delta_base, effort)
    }

    fn move_to_file(&self, contents: &mut [Prepared]) -> Result<()> {
        self.blobs.move_to_file(contents)
    }

    fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>> {
        self.db.read_at_once(|connection| content::bytes(connection, &self.blobs, hash))
    }

    fn locate(&self, hash: &ContentHash) -> Result<Option<ContentLocation>> {
        self.db.glance(|connection| content::locate(connection, hash))
    }

    fn contents(&self, after: Option<&ContentHash>, limit: usize) -> Result<Vec<ContentHash>> {
        self.db.read(|connection| content::list(connection, after, limit))
    }

    fn node(&self, id: FileId) -> Result<Option<Node>> {
        self.db.glance(|connection| node::by_id(connection, id))
    }

    fn child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        self.db.glance(|connection| node::child(connection, parent, name))
    }

    fn former_child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        self.db.read(|connection| node::former_child(connection, parent, name))
    }

    fn children(&self, parent: FileId) -> Result<Vec<Node>> {
        self.db.read(|connection| node::children(connection, parent))
    }

    fn removed(&self, skip: usize, limit: usize) -> Result<Vec<Node>> {
        self.db.read(|connection| node::removed(connection, skip, limit))
    }

    fn step(&self, id: StepId) -> Result<Option<StepRow>> {
        self.db.glance(|connection| history::step(connection, id))
    }

    fn steps(
        &self,
        file: Option<FileId>,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>> {
        self.db.read(|connection| match file {
            Some(file) => history::steps_of(connection, file, before, limit),
            None => history::steps(connection, before, limit),
        })
    }

    fn find_steps(
        &self,
        filter: &StepFilter,
        numbers: Range<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>> {
        self.db.read_at_once(|connection| step_search::find(connection, filter, numbers, limit))
    }

    fn children_then(
        &self,
        parent: FileId,
        name: Option<&Name>,
        seq: Seq,
    ) -> Result<Vec<FileThen>> {
        self.db.read_at_once(|connection| past::children(connection, parent, name, seq))
    }

    fn file_then(&self, file: FileId, seq: Seq) -> Result<Option<FileState>> {
        self.db.read(|connection| past::file(connection, file, seq))
    }

    fn net_changes(&self, numbers: Range<Seq>) -> Result<Vec<NetChange>> {
        self.db.read(|connection| past::net_changes(connection, numbers))
    }

    fn changes(&self, seq: Seq) -> Result<Vec<Change>> {
        self.db.read(|connection| history::changes(connection, seq))
    }

    fn file_changes(
        &self,
        file: FileId,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<(StepRow, Change)>> {
        self.db.read_at_once(|connection| history::file_changes(connection, file, before, limit))
    }

    fn makers(&self, file: FileId) -> Result<Vec<Maker>> {
        self.db.read(|connection| history::makers(connection, file))
    }

    fn last_by_others(
        &self,
        file: FileId,
        whose: &ChatScope,
        since: Seq,
    ) -> Result<Option<OthersChange>> {
        self.db.read(|connection| history::last_by_others(connection, file, whose, since))
    }

    fn was_changed_by_agents(&self, file: FileId) -> Result<bool> {
        self.db.read(|connection| history::was_changed_by_agents(connection, file))
    }

    fn version(&self, id: VersionId) -> Result<Option<VersionRow>> {
        self.db.read(|connection| history::version(connection, id))
    }

    fn remember(&self, seen: &[SeenContent]) -> Result<()> {
        if seen.is_empty() {
            return Ok(());
        }
        self.db.write(Flush::Later, |connection| append::remember(connection, seen))
    }

    fn flushed_mark(&self) -> Result<Mark> {
        let sql = "SELECT seq, boot FROM mark WHERE id = 1";
        let mark = self.db.read(|connection| {
            one(connection, sql, [], |row| {
                let boot = u128::from_be_bytes(value::get(row, 1)?);
                Ok(Mark { seq: value::unsigned(row, 0)?, boot })
            })
        })?;
        Ok(mark.unwrap_or_default())
    }

    fn set_flushed_mark(&self, mark: Mark) -> Result<()> {
        self.db.write(Flush::Later, |connection| placement::set_flushed_mark(connection, mark))
    }

    fn placements(&self, seq: Seq) -> Result<Vec<Placement>> {
        self.db.read(|connection| placement::of_step(connection, seq))
    }

    fn add_placements(&self, seq: Seq, placements: &[Placement]) -> Result<()> {
        if placements.is_empty() {
            return Ok(());
        }
        self.db.write(Flush::Now, |connection| placement::add(connection, seq, placements))
    }

    fn recovery_notes(&self) -> Result<Vec<RecoveryNote>> {
        self.db.read(placement::recovery_notes)
    }

    fn add_recovery_notes(&self, notes: &[RecoveryNote]) -> Result<()> {
        if notes.is_empty() {
            return Ok(());
        }
        self.db.write(Flush::Now, |connection| placement::add_recovery_notes(connection, notes))
    }

    fn root(&self) -> Result<Option<RootIdentity>> {
        self.db.read(placement::root)
    }

    fn set_root(&self, root: RootIdentity) -> Result<()> {
        self.db.write(Flush::Now, |connection| placement::set_root(connection, root))
    }

    fn purge(&self, files: &[FileId], entry: &AuditEntry) -> Result<Purged> {
        let purged =
            self.db.erase(|connection| purge::purge(connection, &self.blobs, files, entry))?;
        self.clear_blobs()?;
        self.db.scrub()?;
        Ok(purged)
    }

    fn counts(&self) -> Result<StoredCounts> {
        self.db.read_at_once(history::counts)
    }

    fn is_purged(&self, hash: &ContentHash) -> Result<bool> {
        self.db.glance(|connection| content::is_purged(connection, hash))
    }

    fn pending_deletions(&self) -> Result<Vec<String>> {
        self.db.read(purge::pending_deletions)
    }

    fn forget_deletions(&self, names: &[String]) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        self.db.write(Flush::Later, |connection| purge::forget_deletions(connection, names))
    }

    fn append_audit(&self, entry: &AuditEntry) -> Result<()> {
        self.db.write(Flush::Now, |connection| append::note(connection, entry))
    }

    fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditRow>> {
        self.db.read_at_once(|connection| history::audit(connection, after, limit))
    }

    fn recheck(
        &self,
        each: &mut dyn FnMut(&ContentHash, ContentCheck) -> ControlFlow<()>,
    ) -> Result<()> {
        self.db.read(|connection| recheck::recheck(connection, &self.blobs, each))
    }

    fn contradictions(&self) -> Result<Vec<String>> {
        self.db.read_at_once(inspect::inspect)
    }
}

#[allow(clippy::disallowed_methods, reason = "a test that reads the kernel's table of locks")]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    /// How many POSIX locks this process has on a file.
    fn locks(file: &Path) -> usize {
        let inode = std::fs::metadata(file).unwrap().ino();
        let process = std::process::id().to_string();
        let table = std::fs::read_to_string("/proc/locks").unwrap();
        let is_ours = |line: &&str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(1) == Some(&"POSIX")
                && fields.get(4) == Some(&process.as_str())
                && fields.get(5).is_some_and(|id| id.ends_with(&format!(":{inode}")))
        };
        table.lines().filter(is_ours).count()
    }

    #[test]
    fn opening_a_folder_again_leaves_the_locks_of_the_first_store() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("journal.db");
        let first = SqliteStore::open(folder.path()).unwrap();
        let before = locks(&database);
        assert!(before > 0, "SQLite locks the database while it is open");
        let second = SqliteStore::open(folder.path()).unwrap();
        assert_eq!(locks(&database), before);
        drop((first, second));
    }
}
