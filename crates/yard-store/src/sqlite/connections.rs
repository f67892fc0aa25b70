//! The connections to one database: one writes, behind a lock; others read, each seeing the newest
//! commit of any process. What they are used for is not known here.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::Options;
use super::schema::Schema;
use crate::blobs::{fill_up, make_private};
use crate::{Result, StoreError};

/// How many reading connections are kept for the next reader.
const IDLE_READERS: usize = 8;
/// How long a writer waits for another process's.
const BUSY: Duration = Duration::from_secs(10);

/// Bytes of a page of a new database.
const PAGE_BYTES: i64 = 1 << 10;
/// How large the log grows before it is worked into the database. Flushing a log that is written over
/// costs about half of flushing one that grows, so it is not long, and filled up in advance.
const LOG_BYTES: i64 = 1 << 20;
/// What a connection keeps in memory. SQLite looks through all of it whenever a page of a tree is divided, and
/// whatever is not in it is in the system's cache.
const CACHE_KIB: i64 = 2_000;
/// Who writes only once, as a command does, need not wait for that.
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

impl Connections {
    /// Opens the database, making and migrating it if need be. Two processes cannot do this at once.
    pub(super) fn open(
        database: PathBuf,
        schema: &'static Schema,
        options: Options,
    ) -> Result<Self> {
        // The database's own files beside it get the mode that it has.
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
        let mut writer = held(&self.writer);
        writer.flush(flush)?;
        writer.writes += 1;
        let writes = writer.writes;
        // Dropped before it is committed, a transaction is rolled back.
        let behavior = TransactionBehavior::Immediate;
        let transaction = writer.connection.transaction_with_behavior(behavior)?;
        self.schema.check(&transaction)?;
        if writes == WRITES_BEFORE_FILLING && self.options.flush {
            // Inside the transaction nobody else can make the log longer. Without it, it only grows.
            let _ = fill_up(&self.log(), LOG_BYTES.cast_unsigned());
        }
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// As [`Connections::write`], overwriting with zeros whatever the transaction removes.
    pub(super) fn erase<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write(Flush::Now, |connection| {
            connection.pragma_update(None, "secure_delete", true)?;
            let done = work(connection);
            connection.pragma_update(None, "secure_delete", false)?;
            done
        })
    }

    /// Rewrites the database with what it holds now and empties the log, so that no file has bytes
    /// left of what was removed, however long ago and in whatever form it lay there.
    pub(super) fn scrub(&self) -> Result<()> {
        let mut writer = held(&self.writer);
        writer.connection.execute_batch("VACUUM")?;
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: bool = writer.connection.query_row(sql, [], |row| row.get(0))?;
        // The log is short again: it is filled up anew.
        writer.writes = 0;
        if busy {
            let why = "others were reading all the time, so that old bytes are left in the log";
            return Err(StoreError::Io(format!("{why}; purge again")));
        }
        Ok(())
    }

    /// SQLite's log.
    fn log(&self) -> PathBuf {
        let mut log = self.database.clone().into_os_string();
        log.push("-wal");
        log.into()
    }

    /// A query, on a connection of its own.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
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
    pub(super) fn glance<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        match self.writer.try_lock() {
            Ok(writer) => work(&writer.connection),
            Err(TryLockError::Poisoned(broken)) => work(&broken.into_inner().connection),
            Err(TryLockError::WouldBlock) => self.read(work),
        }
    }

    /// Several queries that see one moment.
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

/// A lock is poisoned by a panic, but what it guards is whole: a transaction that was under way was
/// rolled back when it was dropped.
pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Connections").field(&self.database).finish()
    }
}
