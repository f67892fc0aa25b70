//! The connections to one database: one writes, behind a lock; the others read, and each query sees the newest
//! commit of any process. This module knows transactions and no table.

use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::Options;
use super::schema::Schema;
use crate::blobs::{fill_up, make_private};
use crate::{Result, StoreError};

/// How many reading connections are kept for the next reader.
const IDLE_READERS: usize = 8;
/// How long a writer waits for the writer of another process.
const BUSY: Duration = Duration::from_secs(10);

/// Bytes of a page of a new database.
const PAGE_BYTES: i64 = 1 << 10;
/// Size of the write-ahead log at which it is checkpointed into the database. Flushing a log that is
/// overwritten costs about half of flushing one that grows, so the log is short and preallocated.
const LOG_BYTES: i64 = 1 << 20;
/// Size of a connection's page cache. SQLite scans the whole cache whenever it splits a page of a tree, and
/// pages that are not in it are in the page cache of the operating system.
const CACHE_KIB: i64 = 2_000;
/// The log is preallocated from the second write on, so that a command, which writes once, does not pay for it.
const WRITES_BEFORE_FILLING: u64 = 2;

/// The connections of one store.
pub(super) struct Connections {
    database: PathBuf,
    schema: &'static Schema,
    options: Options,
    writer: Mutex<Writer>,
    readers: Mutex<Vec<Connection>>,
}

struct Writer {
    connection: Connection,
    flush: Flush,
    /// Transactions so far.
    writes: u64,
}

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    /// The commit is durable when it returns.
    Now,
    /// The commit becomes durable with the next one that is flushed.
    Later,
    /// The commit is never flushed.
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

impl Connections {
    /// Opens the database, and creates or migrates it first where that is needed. The caller holds a lock, because
    /// two processes cannot do this at once.
    pub(super) fn open(
        database: PathBuf,
        schema: &'static Schema,
        options: Options,
    ) -> Result<Self> {
        // SQLite gives the log and the index beside the database the mode of the database.
        make_private(&database)?;
        let writer = Mutex::new(Writer::open(&database, schema)?);
        Ok(Self { database, schema, options, writer, readers: Mutex::default() })
    }

    /// Does work in one transaction.
    pub(super) fn write<T>(
        &self,
        flush: Flush,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let flush = if self.options.flush { flush } else { Flush::Off };
        let mut writer = self.writer.lock();
        writer.flush(flush)?;
        writer.writes += 1;
        let writes = writer.writes;
        // Dropped before it is committed, a transaction is rolled back.
        let behavior = TransactionBehavior::Immediate;
        let transaction = writer.connection.transaction_with_behavior(behavior)?;
        self.schema.check(&transaction)?;
        if writes == WRITES_BEFORE_FILLING && self.options.flush {
            // Inside the transaction no other process can extend the log. If this fails, the log grows as it is
            // written.
            let _ = fill_up(&self.log(), LOG_BYTES.cast_unsigned());
        }
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// As [`Connections::write`], and overwrites with zeros what the transaction removes.
    pub(super) fn erase<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write(Flush::Now, |connection| {
            connection.pragma_update(None, "secure_delete", true)?;
            let done = work(connection);
            connection.pragma_update(None, "secure_delete", false)?;
            done
        })
    }

    /// Rewrites the database with its present contents and empties the log, so that neither file has bytes of
    /// anything that was ever removed.
    pub(super) fn scrub(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        writer.connection.execute_batch("VACUUM")?;
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: bool = writer.connection.query_row(sql, [], |row| row.get(0))?;
        // The log is empty: it is preallocated again.
        writer.writes = 0;
        if busy {
            let why = "others were reading all the time, so that old bytes are left in the log";
            return Err(StoreError::Io(format!("{why}; purge again")));
        }
        Ok(())
    }

    /// The path of the write-ahead log.
    fn log(&self) -> PathBuf {
        let mut log = self.database.clone().into_os_string();
        log.push("-wal");
        log.into()
    }

    /// Runs queries on a connection that no other thread uses meanwhile. Each query sees the newest commit, so that
    /// several queries may see different ones.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self.readers.lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => open_reader(&self.database)?,
        };
        let done = work(&connection)?;
        let mut readers = self.readers.lock();
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        Ok(done)
    }

    /// Reads a row or two. It uses the writer's connection if that is idle, because it has the pages that it wrote
    /// last in its cache; every other connection has to read them again after each commit.
    pub(super) fn glance<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        match self.writer.try_lock() {
            Some(writer) => work(&writer.connection),
            None => self.read(work),
        }
    }

    /// Runs several queries that see the same snapshot.
    pub(super) fn read_at_once<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }
}

impl Writer {
    fn open(database: &Path, schema: &Schema) -> Result<Self> {
        let mut connection = Connection::open(database)?;
        configure(&connection)?;
        // A step touches about nine pages by a few bytes each, and a commit writes whole pages.
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "wal_autocheckpoint", LOG_BYTES / PAGE_BYTES)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        schema.migrate(&mut connection, database)?;
        Ok(Self { connection, flush: Flush::Now, writes: 0 })
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
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok(())
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Connections").field(&self.database).finish()
    }
}
