//! SQLite's log, written by two calls a commit. SQLite itself makes two for every page, which is a
//! fifth of what a small step costs beside its flush.
//!
//! This is a copy of the system's own VFS, in which the file of the log holds back what is written to
//! it side by side. Held bytes reach the file before anybody can ask for them: at the end of a commit
//! and before every other call on the file. So others see a commit whole or not at all, as before, and
//! it knows nothing of pages, of flushes or of what SQLite keeps in memory. Whoever takes a transaction
//! back says so ([`forget`]): SQLite does not tell the file.

#![allow(unsafe_code, reason = "SQLite calls a VFS through C; each use says why it is sound")]

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use rusqlite::{Connection, ffi};

/// What the VFS is called among SQLite's.
const NAME: &CStr = c"toolyard-log";
/// As soon as so many bytes are held they are written.
const MOST: usize = 256 << 10;
/// Bytes a call: SQLite's own method writes less than 128 KiB.
const AT_ONCE: usize = 64 << 10;
/// Bytes of what the log has before each page. It says how many pages the database has after the
/// commit that ends with this page, and 0 before every other page.
const FRAME_HEADER: usize = 24;

/// The name of a VFS that writes logs this way; `None` where SQLite takes none.
pub(super) fn vfs() -> Option<&'static CStr> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    REGISTERED.get_or_init(register).then_some(NAME)
}

/// The system's own VFS.
struct System(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite's own VFS is a static of the library that is never changed once it is registered, and
// its functions may be called by any thread.
unsafe impl Send for System {}
// SAFETY: as above.
unsafe impl Sync for System {}

static SYSTEM: OnceLock<System> = OnceLock::new();

fn register() -> bool {
    // SAFETY: a null name asks for the default VFS; what comes is null or lives as long as the library.
    let system = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
    if system.is_null() {
        return false;
    }
    SYSTEM.get_or_init(|| System(system));
    // SAFETY: `system` was just checked; the struct is plain data, and all that it points to is static.
    let mut copy = unsafe { std::ptr::read(system) };
    copy.zName = NAME.as_ptr();
    copy.pNext = std::ptr::null_mut();
    copy.xOpen = Some(open);
    // SAFETY: the copy is leaked, so it lives as long as SQLite may use it.
    let done = unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(copy)), 0) };
    done == ffi::SQLITE_OK
}

/// Gives up what a transaction left that was taken back. Until then it would be written by the next call on
/// the file, over what others have committed there since.
pub(super) fn forget(connection: &Connection) {
    let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
    let into: *mut *mut ffi::sqlite3_file = &raw mut file;
    // SAFETY: the connection is open, and this call only tells where the file of its log is.
    let found = unsafe {
        let op = ffi::SQLITE_FCNTL_JOURNAL_POINTER;
        ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), op, into.cast())
    };
    if found != ffi::SQLITE_OK || file.is_null() {
        return;
    }
    // SAFETY: the file lives as long as the connection, which nobody else uses meanwhile. It has our methods
    // only if `wrap` has seen it.
    unsafe {
        let methods = (*file).pMethods;
        let ours: unsafe extern "C" fn(_, _, _, _) -> _ = write;
        if !methods.is_null()
            && (*methods).xWrite.is_some_and(|one| std::ptr::fn_addr_eq(one, ours))
        {
            log(file).held.bytes.clear();
        }
    }
}

/// A log's file as SQLite sees it: its methods, and behind them what they need.
#[repr(C)]
struct Log {
    /// First, so that the methods' address is the log's.
    methods: ffi::sqlite3_io_methods,
    /// The methods of the file itself.
    system: ffi::sqlite3_io_methods,
    held: Held,
}

/// Bytes that were written side by side and are not in the file yet.
#[derive(Default)]
struct Held {
    start: i64,
    bytes: Vec<u8>,
    /// Whether the frame under way ends a commit. Its header is not held for its page: SQLite also
    /// writes it alone, when it seals a commit of which it had written a part before.
    ends_commit: bool,
}

impl Held {
    fn adjoins(&self, offset: i64) -> bool {
        self.bytes.is_empty() || self.start + self.bytes.len() as i64 == offset
    }

    /// Takes bytes that adjoin; whether all have to be written now.
    fn push(&mut self, bytes: &[u8], offset: i64) -> bool {
        if self.bytes.is_empty() {
            self.start = offset;
        }
        self.bytes.extend_from_slice(bytes);
        if bytes.len() == FRAME_HEADER {
            self.ends_commit = bytes[4..8] != [0; 4];
        }
        self.ends_commit || self.bytes.len() >= MOST
    }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let Some(System(system)) = SYSTEM.get() else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: the arguments are SQLite's own, and `file` has room for a file of the system's VFS, because
    // the copy kept its size.
    let done = unsafe { (**system).xOpen.map(|open| open(*system, name, file, flags, out)) };
    let done = done.unwrap_or(ffi::SQLITE_CANTOPEN);
    if done == ffi::SQLITE_OK && flags & ffi::SQLITE_OPEN_WAL != 0 {
        // SAFETY: the file was just opened, so its methods are the system's.
        unsafe { wrap(file) };
    }
    done
}

/// Puts our methods before the file's own.
unsafe fn wrap(file: *mut ffi::sqlite3_file) {
    // SAFETY: the caller opened the file; its methods are a static table of the system's VFS.
    let system = unsafe { std::ptr::read((*file).pMethods) };
    let methods = ffi::sqlite3_io_methods {
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(file_size),
        ..system
    };
    let log = Box::into_raw(Box::new(Log { methods, system, held: Held::default() }));
    // SAFETY: as above. `close` takes the log back.
    unsafe { (*file).pMethods = log.cast() };
}

/// The log of a file that `wrap` has seen. SQLite makes one call at a time on a file, so nobody else
/// has it meanwhile.
unsafe fn log<'a>(file: *mut ffi::sqlite3_file) -> &'a mut Log {
    // SAFETY: `wrap` put the address of a whole `Log` there, and only `close` takes it away.
    unsafe { &mut *(*file).pMethods.cast::<Log>().cast_mut() }
}

/// Writes what is held. What could not be written is given up: SQLite takes the commit back.
///
/// `file` is the file that `log` is the log of.
unsafe fn flush(log: &mut Log, file: *mut ffi::sqlite3_file) -> c_int {
    let (Some(write), false) = (log.system.xWrite, log.held.bytes.is_empty()) else {
        return ffi::SQLITE_OK;
    };
    let mut done = ffi::SQLITE_OK;
    let mut offset = log.held.start;
    for piece in log.held.bytes.chunks(AT_ONCE) {
        let length = piece.len() as c_int;
        // SAFETY: the system's own method on the system's own file, which knows nothing of `log`; the bytes
        // live until it returns.
        done = unsafe { write(file, piece.as_ptr().cast(), length, offset) };
        offset += i64::from(length);
        if done != ffi::SQLITE_OK {
            break;
        }
    }
    log.held.bytes.clear();
    done
}

/// Calls one of the file's own methods once nothing is held any more.
macro_rules! flushed {
    ($file:ident, $method:ident ( $($argument:expr),* )) => {{
        // SAFETY: SQLite calls these methods on files that `wrap` gave them to, with arguments that are
        // good for the file's own methods.
        unsafe {
            let log = log($file);
            match (flush(log, $file), log.system.$method) {
                (ffi::SQLITE_OK, Some(method)) => method($file, $($argument),*),
                // The writing that failed was told to be done: only this takes back all of the transaction.
                _ => ffi::SQLITE_IOERR_WRITE,
            }
        }
    }};
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: a wrapped file, and so many bytes that SQLite lets us read until we return.
    let (log, bytes) = unsafe {
        (log(file), std::slice::from_raw_parts(bytes.cast(), usize::try_from(length).unwrap_or(0)))
    };
    if !log.held.adjoins(offset) {
        // SAFETY: the log of this file.
        let done = unsafe { flush(log, file) };
        if done != ffi::SQLITE_OK {
            return done;
        }
    }
    match log.held.push(bytes, offset) {
        // SAFETY: the log of this file.
        true => unsafe { flush(log, file) },
        false => ffi::SQLITE_OK,
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    flushed!(file, xRead(into, length, offset))
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    flushed!(file, xTruncate(size))
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    flushed!(file, xSync(flags))
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    flushed!(file, xFileSize(size))
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // What is held now belongs to no commit, so it need not be written.
    // SAFETY: `wrap` made the log by a box, and nobody reads it after this, because the file's methods
    // are its own again, in a table that outlives the call.
    unsafe {
        let log = Box::from_raw((*file).pMethods.cast::<Log>().cast_mut());
        (*file).pMethods = &raw const log.system;
        let done = log.system.xClose.map_or(ffi::SQLITE_OK, |close| close(file));
        (*file).pMethods = std::ptr::null();
        done
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a crash is looked at from outside")]
mod tests {
    use std::path::Path;

    use rusqlite::{Connection, OpenFlags, params};

    use super::{forget, vfs};

    /// Chance that is the same in every run.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, sides: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % sides
        }
    }

    /// A connection that holds so many pages: with few, most transactions write before they commit.
    fn open(database: &Path, ours: bool, pages: u32) -> Connection {
        let flags = OpenFlags::default();
        let connection = match vfs().filter(|_| ours) {
            Some(vfs) => Connection::open_with_flags_and_vfs(database, flags, vfs).unwrap(),
            None => Connection::open_with_flags(database, flags).unwrap(),
        };
        let setup = "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL;
                     PRAGMA wal_autocheckpoint = 900";
        connection.execute_batch(setup).unwrap();
        connection.pragma_update(None, "cache_size", pages).unwrap();
        connection
    }

    fn change(connection: &Connection, dice: &mut Dice) {
        for _ in 0..=dice.below(8) {
            let data = vec![dice.below(256) as u8; dice.below(90_000) as usize];
            let sql = "INSERT INTO thing (id, data) VALUES (?1, ?2)
                       ON CONFLICT (id) DO UPDATE SET data = excluded.data";
            connection.execute(sql, params![dice.below(40) as i64, data]).unwrap();
        }
    }

    /// A transaction that may take back a part of itself, or all.
    fn transact(connection: &Connection, dice: &mut Dice) {
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        change(connection, dice);
        connection.execute_batch("SAVEPOINT part").unwrap();
        change(connection, dice);
        if dice.below(3) == 0 {
            connection.execute_batch("ROLLBACK TO part").unwrap();
            change(connection, dice);
        }
        let end = if dice.below(4) == 0 { "ROLLBACK" } else { "COMMIT" };
        connection.execute_batch(end).unwrap();
    }

    fn things(connection: &Connection) -> Vec<(i64, Vec<u8>)> {
        let mut rows = connection.prepare("SELECT id, data FROM thing ORDER BY id").unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// What a machine finds that stops now: the files as they are, and nobody's memory.
    fn found_after_a_crash(database: &Path) -> Vec<(i64, Vec<u8>)> {
        let copies = tempfile::tempdir().unwrap();
        let copy = copies.path().join("copy");
        for (from, to) in [("our.db", "copy"), ("our.db-wal", "copy-wal")] {
            let bytes = std::fs::read(database.with_file_name(from)).unwrap();
            std::fs::write(copies.path().join(to), bytes).unwrap();
        }
        let found = Connection::open(&copy).unwrap();
        let whole = found.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        assert_eq!(whole.unwrap(), "ok");
        things(&found)
    }

    /// What was taken back is never written over what another process committed in its place.
    #[test]
    fn what_is_taken_back_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("our.db");
        let (ours, theirs) = (open(&database, true, 12), open(&database, false, 12));
        let sql = "CREATE TABLE thing (id INTEGER PRIMARY KEY, data BLOB)";
        ours.execute_batch(sql).unwrap();
        for round in 0..20 {
            ours.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            ours.execute_batch("BEGIN IMMEDIATE").unwrap();
            change(&ours, &mut Dice(round + 1));
            ours.execute_batch("ROLLBACK").unwrap();
            forget(&ours);
            theirs.execute_batch("BEGIN IMMEDIATE").unwrap();
            change(&theirs, &mut Dice(round + 100));
            theirs.execute_batch("COMMIT").unwrap();
            let expected = things(&theirs);
            assert_eq!(things(&ours), expected);
            assert_eq!(found_after_a_crash(&database), expected);
        }
    }

    /// The twin is SQLite with its own log. Whoever reads through it, and whoever comes after a crash,
    /// has every commit at once, flushed or not.
    #[test]
    fn every_commit_is_in_the_file_when_it_returns() {
        for (pages, synchronous) in
            [(12, "OFF"), (12, "NORMAL"), (9_000, "NORMAL"), (9_000, "FULL")]
        {
            let folder = tempfile::tempdir().unwrap();
            let (database, twin) = (folder.path().join("our.db"), folder.path().join("twin.db"));
            let (ours, twins) = (open(&database, true, pages), open(&twin, false, pages));
            for connection in [&ours, &twins] {
                connection.pragma_update(None, "synchronous", synchronous).unwrap();
                let sql = "CREATE TABLE thing (id INTEGER PRIMARY KEY, data BLOB)";
                connection.execute_batch(sql).unwrap();
            }
            let reader = open(&database, false, pages);
            let (mut our_dice, mut twin_dice) = (Dice(7), Dice(7));
            for _ in 0..40 {
                transact(&ours, &mut our_dice);
                transact(&twins, &mut twin_dice);
                let expected = things(&twins);
                assert_eq!(things(&reader), expected);
                assert_eq!(found_after_a_crash(&database), expected);
            }
        }
    }
}
