//! A store in a folder: one SQLite database, `journal.db`, and the `blobs/` beside it.
//!
//! One connection writes, behind a lock; others read, each seeing the newest commit of any process.
//! It decides nothing about what is stored in which form (`blobs/`) and nothing about when.

mod append;
mod content;
mod error;
mod history;
mod node;
mod schema;
mod value;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Params, Row, TransactionBehavior, params};
use yard_core::{ContentHash, FileId, Name, StepId, VersionId};

use crate::blobs::{Against, Blobs, create_folder, lock_file};
use crate::{
    AuditEntry, AuditRow, Base, Batch, Change, Located, Mark, Node, Prepared, Remembered, Result,
    Seq, StepRow, Store, VersionRow,
};
use content::Anchor;

/// How many reading connections are kept for the next reader.
const IDLE_READERS: usize = 8;
/// How long a writer waits for another process's.
const BUSY: Duration = Duration::from_secs(10);

/// Bytes of a page of a new database.
const PAGE_BYTES: i64 = 1 << 10;
/// How large the log grows before it is worked into the database.
const LOG_BYTES: i64 = 4 << 20;

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
pub struct SqliteStore {
    database: PathBuf,
    options: Options,
    blobs: Blobs,
    writer: Mutex<Writer>,
    readers: Mutex<Vec<Connection>>,
}

struct Writer {
    connection: Connection,
    flush: Flush,
}

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flush {
    /// It is durable when it returns.
    Now,
    /// It becomes durable with the next one that is flushed.
    Later,
    /// Never on our account.
    Off,
}

impl Flush {
    fn level(self) -> &'static str {
        match self {
            Self::Now => "FULL",
            Self::Later => "NORMAL",
            Self::Off => "OFF",
        }
    }
}

impl SqliteStore {
    /// Opens the store in `dir`, making what is missing.
    pub fn open(dir: &Path) -> Result<Self> {
        Self::open_with(dir, Options::default())
    }

    /// As [`SqliteStore::open`].
    pub fn open_with(dir: &Path, options: Options) -> Result<Self> {
        create_folder(dir)?;
        let blobs = Blobs::open(&dir.join("blobs"))?;
        let database = dir.join("journal.db");
        let writer = {
            // Turning a new database to WAL and migrating cannot be done by two at once.
            let _opening = lock_file(&dir.join("journal.lock"))?;
            Writer::open(&database)?
        };
        Ok(Self { database, options, blobs, writer: Mutex::new(writer), readers: Mutex::default() })
    }

    fn write<T>(&self, flush: Flush, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let flush = if self.options.flush { flush } else { Flush::Off };
        let mut writer = held(&self.writer);
        writer.flush(flush)?;
        let transaction =
            writer.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        schema::check(&transaction)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = held(&self.readers).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => open_reader(&self.database)?,
        };
        let done = work(&connection)?;
        let mut readers = held(&self.readers);
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        Ok(done)
    }

    /// A look at a row or two. The writer's connection, when it is idle, still has the pages that it
    /// wrote last; every other connection has to read them again after each commit.
    fn glance<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        match self.writer.try_lock() {
            Ok(writer) => work(&writer.connection),
            Err(_) => self.read(work),
        }
    }

    /// Several queries that see one moment.
    fn read_at_once<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }
}

impl Writer {
    fn open(database: &Path) -> Result<Self> {
        let mut connection = Connection::open(database)?;
        configure(&connection)?;
        // A step touches about nine pages by a few bytes each, and a commit writes whole pages.
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "wal_autocheckpoint", LOG_BYTES / PAGE_BYTES)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        schema::migrate(&mut connection)?;
        Ok(Self { connection, flush: Flush::Now })
    }

    fn flush(&mut self, flush: Flush) -> Result<()> {
        if self.flush != flush {
            self.connection.pragma_update(None, "synchronous", flush.level())?;
            self.flush = flush;
        }
        Ok(())
    }
}

fn open_reader(database: &Path) -> Result<Connection> {
    // A reader in WAL mode writes into the shared index, so it cannot be opened read-only.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    configure(&connection)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "cache_size", -8000)?;
    Ok(())
}

/// A lock is poisoned by a panic, but what it guards is whole: a transaction that was under way was
/// rolled back when it was dropped.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Store for SqliteStore {
    fn head(&self) -> Result<Seq> {
        self.glance(history::head)
    }

    fn append(&self, expected: Seq, batch: Batch<'_>) -> Result<Seq> {
        if batch.steps.is_empty() && batch.contents.is_empty() {
            return self.head();
        }
        self.write(Flush::Now, |connection| append::append(connection, expected, batch))
    }

    fn prepare(&self, hash: ContentHash, bytes: &[u8], base: Option<Base<'_>>) -> Result<Prepared> {
        let Some(base) = base else { return self.blobs.prepare(hash, bytes, None) };
        let anchor =
            self.glance(|connection| content::anchor(connection, &self.blobs, &base.hash))?;
        let against = match &anchor {
            None => None,
            Some(Anchor::Itself(depth)) => Some(Against { base, depth: *depth }),
            Some(Anchor::Foot(hash, bytes)) => {
                Some(Against { base: Base { hash: *hash, bytes }, depth: 0 })
            }
        };
        self.blobs.prepare(hash, bytes, against)
    }

    fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>> {
        self.read(|connection| content::bytes(connection, &self.blobs, hash))
    }

    fn locate(&self, hash: &ContentHash) -> Result<Option<Located>> {
        self.glance(|connection| content::locate(connection, hash))
    }

    fn contents(&self, after: Option<&ContentHash>, limit: usize) -> Result<Vec<ContentHash>> {
        self.read(|connection| content::list(connection, after, limit))
    }

    fn node(&self, id: FileId) -> Result<Option<Node>> {
        self.glance(|connection| node::by_id(connection, id))
    }

    fn child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        self.glance(|connection| node::child(connection, parent, name))
    }

    fn former_child(&self, parent: FileId, name: &Name) -> Result<Option<Node>> {
        self.read(|connection| node::former_child(connection, parent, name))
    }

    fn children(&self, parent: FileId) -> Result<Vec<Node>> {
        self.read(|connection| node::children(connection, parent))
    }

    fn removed(&self, skip: usize, limit: usize) -> Result<Vec<Node>> {
        self.read(|connection| node::removed(connection, skip, limit))
    }

    fn step(&self, id: StepId) -> Result<Option<StepRow>> {
        self.glance(|connection| history::step(connection, id))
    }

    fn steps(
        &self,
        file: Option<FileId>,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<StepRow>> {
        self.read(|connection| match file {
            Some(file) => history::steps_of(connection, file, before, limit),
            None => history::steps(connection, before, limit),
        })
    }

    fn changes(&self, seq: Seq) -> Result<Vec<Change>> {
        self.read(|connection| history::changes(connection, seq))
    }

    fn file_changes(
        &self,
        file: FileId,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<(StepRow, Change)>> {
        self.read_at_once(|connection| history::file_changes(connection, file, before, limit))
    }

    fn version(&self, id: VersionId) -> Result<Option<VersionRow>> {
        self.read(|connection| history::version(connection, id))
    }

    fn remember(&self, seen: &[Remembered]) -> Result<()> {
        if seen.is_empty() {
            return Ok(());
        }
        self.write(Flush::Later, |connection| append::remember(connection, seen))
    }

    fn projected(&self) -> Result<Mark> {
        let sql = "SELECT seq, boot FROM mark WHERE id = 1";
        let mark = self.read(|connection| {
            one(connection, sql, [], |row| {
                let boot = u128::from_be_bytes(value::get(row, 1)?);
                Ok(Mark { seq: value::unsigned(row, 0)?, boot })
            })
        })?;
        Ok(mark.unwrap_or_default())
    }

    fn set_projected(&self, mark: Mark) -> Result<()> {
        let sql = "INSERT INTO mark (id, seq, boot) VALUES (1, ?1, ?2)
                   ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, boot = excluded.boot";
        self.write(Flush::Later, |connection| {
            let values = params![value::number(mark.seq), mark.boot.to_be_bytes()];
            connection.prepare_cached(sql)?.execute(values)?;
            Ok(())
        })
    }

    fn append_audit(&self, entry: &AuditEntry) -> Result<()> {
        self.write(Flush::Now, |connection| append::note(connection, entry))
    }

    fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditRow>> {
        self.read_at_once(|connection| history::audit(connection, after, limit))
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("database", &self.database).finish_non_exhaustive()
    }
}
