//! Stores command output that is longer than an answer shows: one file for each stream, in a small tree of its own in
//! the data folder. It is read with the same confinement and code as the workspace, and no path of it can mean a file
//! of a workspace.
//!
//! While a command runs, its output is in the folder of its run, so that a crash leaves nothing of it here. The output
//! of a terminal is written here from its beginning, so that it can be read meanwhile, and outlives a crash. The files
//! are never flushed.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, FlockOperation};
use rustix::io::Errno;
use yard_core::path::OUTPUT_NAME;
use yard_core::{Fault, FaultCode, Result, RunId, Timestamp, WsPath};

use crate::disk::{Disk, Resolution};
use crate::folders::{
    DiskResult, create_file, entries_in, open_file, open_folder, rename_new, unusable, unusable_io,
};
use crate::runs::RunFolder;
use crate::stat::EntryStat;

/// The folder of the data folder that is the root of the tree.
const ROOT: &str = "output";
/// The folder of the data folder with a note for each run: what its caller could read.
const NOTES: &str = "output-notes";
/// As many bytes of a file system stay free for other programs: twice the limit at which a command is stopped.
const RESERVED_BYTES: u64 = 128 << 20;
/// The free space is checked again after so many bytes.
const CHECK_BYTES: u64 = 8 << 20;

/// How much output of commands is stored, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Bytes of one stream.
    pub stream_bytes: u64,
    /// Bytes of all streams of a workspace; the oldest are removed first.
    pub total_bytes: u64,
    /// Older streams are removed.
    pub age: Duration,
    /// Bytes of build output that is not in the tree any more and that an undo can restore; the oldest is removed first.
    pub builds_bytes: u64,
    /// Bytes of a chat's home, with its `/tmp`.
    pub home_bytes: u64,
    /// Bytes of what commands add to a workspace's caches of packages.
    pub caches_bytes: u64,
}

impl Default for RetentionLimits {
    fn default() -> Self {
        let days = |count: u64| Duration::from_secs(count * 24 * 3_600);
        Self {
            stream_bytes: 256 << 20,
            total_bytes: 2 << 30,
            age: days(7),
            builds_bytes: 2 << 30,
            home_bytes: 8 << 30,
            caches_bytes: 16 << 30,
        }
    }
}

/// The stored output of the commands of one workspace.
pub struct OutputStore {
    /// A tree with only one folder, which has the name by which agents know it.
    disk: Disk,
    folder: OwnedFd,
    notes: OwnedFd,
}

/// The file of a stream.
struct StoredStream {
    name: Vec<u8>,
    stat: EntryStat,
}

impl OutputStore {
    /// Opens (or makes) the folder of stored output.
    pub fn open(state: &Path, resolution: Resolution) -> Result<Self> {
        let made = || {
            let data = open_folder(rustix::fs::CWD, state.as_os_str())?;
            let root = open_folder(data.as_fd(), ROOT)?;
            let notes = open_folder(data.as_fd(), NOTES)?;
            Ok((open_folder(root.as_fd(), OUTPUT_NAME)?, notes))
        };
        let (folder, notes) = made().map_err(unusable)?;
        let disk = Disk::open(&state.join(ROOT), resolution, None)?;
        Ok(Self { disk, folder, notes })
    }

    /// The tree in which the paths of stored output are those that agents know.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Records what the caller of a run could read, to decide later who may read its output.
    pub fn note(&self, run: RunId, note: &str) -> Result<()> {
        let mut file = create_file(&self.notes, run.to_string(), 0o600).map_err(unusable)?;
        file.write_all(note.as_bytes()).map_err(|error| unusable_io(&error))
    }

    /// What was recorded for a run.
    pub fn noted(&self, run: RunId) -> Option<String> {
        std::io::read_to_string(open_file(&self.notes, run.to_string()).ok()?).ok()
    }

    /// Moves the file of a stream here from the folder of its run; returns its path.
    pub(crate) fn take(&self, from: &RunFolder, run: RunId, stream: &str) -> Result<WsPath> {
        let name = name_of(run, stream);
        rename_new(from.handle(), &full_output_name(stream), &self.folder, &name)
            .map_err(unusable)?;
        self.path_of(run, stream)
    }

    /// Begins the file of a stream that can be read while it is written; it gets at most `room` bytes. Until the result
    /// is dropped it is locked, and no sweep of any process removes it.
    pub fn begin(&self, run: RunId, stream: &str, room: u64) -> Result<(OutputWriter, WsPath)> {
        let name = name_of(run, stream);
        let file = create_file(&self.folder, &name, 0o600).map_err(unusable)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(unusable)?;
        Ok((OutputWriter::new(file, room), self.path_of(run, stream)?))
    }

    /// Removes the file of a stream that was begun and is not needed.
    pub fn take_back(&self, run: RunId, stream: &str) {
        let _ = self.remove(name_of(run, stream).as_bytes());
    }

    /// The path of a stream's file, if it still exists.
    pub fn find(&self, run: RunId, stream: &str) -> Option<WsPath> {
        let path = self.path_of(run, stream).ok()?;
        matches!(self.disk.stat(&path), Ok(Some(_))).then_some(path)
    }

    fn path_of(&self, run: RunId, stream: &str) -> Result<WsPath> {
        let name = name_of(run, stream);
        output_folder()?.join_bytes(name.as_bytes()).map_err(|_| unusable(Errno::INVAL))
    }

    /// Removes streams that are too old, and the oldest ones until the rest is within its bounds, but none of the run
    /// `exempt`. A file that cannot be removed now is tried again by the next sweep.
    pub fn sweep(&self, keeping: &RetentionLimits, now: Timestamp, exempt: Option<RunId>) {
        let Ok(mut kept) = self.all() else { return };
        kept.sort_unstable_by(|a, b| {
            (a.stat.signature.mtime, &a.name).cmp(&(b.stat.signature.mtime, &b.name))
        });
        let exempt = exempt.map(|run| format!("{run}.").into_bytes());
        let age = i64::try_from(keeping.age.as_millis()).unwrap_or(i64::MAX);
        let mut total: u64 = kept.iter().map(|one| one.stat.size()).sum();
        for one in kept {
            let is_exempt = exempt.as_ref().is_some_and(|name| one.name.starts_with(name));
            let is_old = now.as_millis().saturating_sub(one.stat.modified().as_millis()) > age;
            let is_kept = is_exempt || (!is_old && total <= keeping.total_bytes);
            if is_kept || self.is_being_written(&one.name) {
                continue;
            }
            total -= one.stat.size();
            let _ = self.remove(&one.name);
        }
    }

    /// Whether a process writes into a file.
    fn is_being_written(&self, name: &[u8]) -> bool {
        let file = open_file(&self.folder, name);
        let lock = |file| rustix::fs::flock(file, FlockOperation::NonBlockingLockShared);
        file.is_ok_and(|file| lock(file) == Err(Errno::WOULDBLOCK))
    }

    /// Removes everything, because the files may contain bytes of any purged content.
    pub fn clear(&self) -> Result<()> {
        for (name, _) in entries_in(&self.folder).map_err(unusable)? {
            self.remove(&name).map_err(unusable)?;
        }
        Ok(())
    }

    fn remove(&self, name: &[u8]) -> DiskResult {
        // Without its note a stream is shown only to callers who may read everything.
        let run = name.split(|byte| *byte == b'.').next().unwrap_or_default();
        let _ = rustix::fs::unlinkat(&self.notes, run, AtFlags::empty());
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            // Another process may have removed it.
            Err(Errno::NOENT) => Ok(()),
            done => done,
        }
    }

    fn all(&self) -> DiskResult<Vec<StoredStream>> {
        let mut kept = Vec::new();
        for (name, _) in entries_in(&self.folder)? {
            // Another process may remove a file after it was listed.
            let stat = EntryStat::at(&self.folder, &name[..]);
            kept.extend(stat.ok().map(|stat| StoredStream { name, stat }));
        }
        Ok(kept)
    }
}

/// The name of a stream's file in the folder of its run.
pub(crate) fn full_output_name(stream: &str) -> String {
    format!("{stream}.whole")
}

/// The file of a stream, while it is written. After the first write that fails, nothing more is written.
pub struct OutputWriter {
    file: File,
    room: u64,
    written: u64,
    /// The free space is checked when so many bytes are written.
    next_check_at: u64,
}

impl OutputWriter {
    pub(crate) fn new(file: File, room: u64) -> Self {
        Self { file, room, written: 0, next_check_at: 0 }
    }

    /// Writes the next bytes of the stream, as far as there is room.
    pub fn take(&mut self, bytes: &[u8]) {
        let fitting = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        let mut rest = &bytes[..fitting];
        while !rest.is_empty() {
            if self.is_disk_full() {
                self.room = 0;
                return;
            }
            match self.file.write(rest) {
                Ok(count) if count > 0 => {
                    rest = &rest[count..];
                    self.written += count as u64;
                    self.room -= count as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // The file must not have a gap.
                _ => {
                    self.room = 0;
                    return;
                }
            }
        }
    }

    /// How much was written.
    pub fn written(&self) -> u64 {
        self.written
    }

    fn is_disk_full(&mut self) -> bool {
        if self.written < self.next_check_at {
            return false;
        }
        self.next_check_at = self.written + CHECK_BYTES;
        let about = rustix::fs::fstatvfs(&self.file);
        // A file system without a bound reports no blocks.
        let bounded = about.ok().filter(|about| about.f_blocks > 0);
        bounded.is_some_and(|about| about.f_bavail.saturating_mul(about.f_frsize) < RESERVED_BYTES)
    }
}

/// The path of the folder, as agents name it.
pub fn output_folder() -> Result<WsPath> {
    WsPath::root().join_bytes(OUTPUT_NAME.as_bytes()).map_err(|error| {
        Fault::new(FaultCode::BadPath, format!("{OUTPUT_NAME} cannot be a path: {error}"))
    })
}

/// The name of a stream's file.
fn name_of(run: RunId, stream: &str) -> String {
    format!("{run}.{stream}")
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;

    #[test]
    fn x4_what_does_not_fit_or_cannot_be_written_ends_there() {
        let memory = rustix::fs::memfd_create("whole", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut writer = OutputWriter::new(File::from(memory), 5);
        for piece in ["", "abc", "", "def", "ghi"] {
            writer.take(piece.as_bytes());
        }
        let mut text = String::new();
        writer.file.rewind().unwrap();
        writer.file.read_to_string(&mut text).unwrap();
        assert_eq!((writer.written(), text.as_str()), (5, "abcde"));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut writer = OutputWriter::new(full, 5);
        writer.take(b"abc");
        assert_eq!((writer.written(), writer.room), (0, 0));
    }

    #[test]
    fn what_one_process_writes_is_removed_by_no_sweep_of_another() {
        let state = tempfile::tempdir().unwrap();
        // Each has files of its own, as two processes do.
        let open = || OutputStore::open(state.path(), Resolution::Auto).unwrap();
        let (ours, theirs) = (open(), open());
        let [quiet, ended] = [1, 2].map(|number| RunId::from_bytes([number; 16]));
        let (mut writer, _) = ours.begin(quiet, "terminal", 100).unwrap();
        writer.take(b"before");
        drop(ours.begin(ended, "terminal", 100).unwrap());
        let nothing = RetentionLimits { total_bytes: 0, age: Duration::ZERO, ..Default::default() };
        let later = Timestamp::from_millis(i64::MAX / 2);
        theirs.sweep(&nothing, later, None);
        assert!(ours.find(quiet, "terminal").is_some(), "it is being written");
        assert!(ours.find(ended, "terminal").is_none());
        drop(writer);
        theirs.sweep(&nothing, later, None);
        assert!(ours.find(quiet, "terminal").is_none());
    }
}
