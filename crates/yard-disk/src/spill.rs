//! The whole of what commands said, where that is more than an answer shows: one file a stream, in a
//! folder of the data folder that is a small tree of its own. What reads it has the same confinement and
//! the same reader as the workspace, and no path of it can mean a file of the workspace or of another one.
//!
//! While a command runs its output lies with its run, so that a crash leaves nothing of it here. What a
//! terminal says begins here, so that it can be read meanwhile, and outlives a crash. It is never flushed: it
//! is worth no wait.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use yard_core::path::OUTPUT_NAME;
use yard_core::{Fault, FaultCode, Result, RunId, Timestamp, WsPath};

use crate::beneath::{Disk, Resolution};
use crate::folders::{
    create_file, entries_in, open_file, open_folder, rename_new, unusable, unusable_io,
};
use crate::layer::RunFolder;
use crate::stat::EntryStat;

/// The folder of the data folder that stands for the root.
const ROOT: &str = "output";
/// The folder of the data folder that says of each run what its caller could read.
const NOTES: &str = "output-notes";
/// As much of a file system stays free for everybody else: twice what ends a command.
const KEPT_FREE: u64 = 128 << 20;
/// After so many bytes it is asked again what is free.
const LOOK: u64 = 8 << 20;

/// How much of what commands say and build is kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Bytes of one stream.
    pub stream_bytes: u64,
    /// Bytes of all streams of a workspace; the oldest go first.
    pub total_bytes: u64,
    /// Older ones go too.
    pub age: Duration,
    /// Bytes of build output that is not in the tree any more, to be undone to; the oldest goes first.
    pub builds_bytes: u64,
    /// Bytes of a chat's home, with its `/tmp`.
    pub home_bytes: u64,
    /// Bytes of what commands add to a workspace's caches of packages.
    pub caches_bytes: u64,
}

impl Default for Keeping {
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

/// What is kept of the commands of one workspace.
pub struct Spills {
    /// Rooted where nothing else is: the one folder in it has the name by which agents know it.
    disk: Disk,
    folder: OwnedFd,
    notes: OwnedFd,
    /// The names of those that are being written.
    spared: Arc<Mutex<HashSet<Vec<u8>>>>,
}

/// A file that is being written, until this is dropped.
struct Spared {
    all: Arc<Mutex<HashSet<Vec<u8>>>>,
    name: Vec<u8>,
}

impl Spared {
    fn new(all: &Arc<Mutex<HashSet<Vec<u8>>>>, name: Vec<u8>) -> Self {
        held(all).insert(name.clone());
        Self { all: Arc::clone(all), name }
    }
}

impl Drop for Spared {
    fn drop(&mut self) {
        held(&self.all).remove(&self.name);
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that is kept.
struct Kept {
    name: Vec<u8>,
    stat: EntryStat,
}

impl Spills {
    /// Opens (or makes) the folder of kept output.
    pub fn open(state: &Path, resolution: Resolution) -> Result<Self> {
        let made = || {
            let data = open_folder(rustix::fs::CWD, state.as_os_str())?;
            let root = open_folder(data.as_fd(), ROOT)?;
            let notes = open_folder(data.as_fd(), NOTES)?;
            Ok((open_folder(root.as_fd(), OUTPUT_NAME)?, notes))
        };
        let (folder, notes) = made().map_err(unusable)?;
        let disk = Disk::open(&state.join(ROOT), resolution, None)?;
        Ok(Self { disk, folder, notes, spared: Arc::default() })
    }

    /// The tree in which a path of kept output is what it is for agents.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Notes what the caller of a run could read, for who wants to read what it said.
    pub fn note(&self, run: RunId, note: &str) -> Result<()> {
        let mut file = create_file(&self.notes, run.to_string(), 0o600).map_err(unusable)?;
        file.write_all(note.as_bytes()).map_err(|error| unusable_io(&error))
    }

    /// What was noted of a run.
    pub fn noted(&self, run: RunId) -> Option<String> {
        std::io::read_to_string(open_file(&self.notes, run.to_string()).ok()?).ok()
    }

    /// Takes a stream over from its run; where it is then.
    pub(super) fn take(&self, from: &RunFolder, run: RunId, stream: &str) -> Result<WsPath> {
        let name = name_of(run, stream);
        rename_new(from.handle(), &whole_name(stream), &self.folder, &name).map_err(unusable)?;
        self.path_of(run, stream)
    }

    /// Begins a stream that can be read while it is written; `room` bytes of it are kept.
    /// Nobody sweeps it away until then.
    pub fn begin(&self, run: RunId, stream: &str, room: u64) -> Result<(Spill, WsPath)> {
        let name = name_of(run, stream);
        let file = create_file(&self.folder, &name, 0o600).map_err(unusable)?;
        let mut spill = Spill::new(file, room);
        spill.spared = Some(Spared::new(&self.spared, name.into_bytes()));
        Ok((spill, self.path_of(run, stream)?))
    }

    /// Takes back a stream that came to nothing.
    pub fn take_back(&self, run: RunId, stream: &str) {
        let _ = self.remove(name_of(run, stream).as_bytes());
    }

    /// Where a stream is kept, if it still is.
    pub fn find(&self, run: RunId, stream: &str) -> Option<WsPath> {
        let path = self.path_of(run, stream).ok()?;
        matches!(self.disk.stat(&path), Ok(Some(_))).then_some(path)
    }

    fn path_of(&self, run: RunId, stream: &str) -> Result<WsPath> {
        let name = name_of(run, stream);
        output_folder()?.join_bytes(name.as_bytes()).map_err(|_| unusable(Errno::INVAL))
    }

    /// Removes what is too old, and the oldest until the rest is within its bounds; nothing of one run.
    /// What cannot be removed now goes with the next sweep.
    pub fn sweep(&self, keeping: &Keeping, now: Timestamp, spared: Option<RunId>) {
        let Ok(mut kept) = self.all() else { return };
        kept.sort_unstable_by(|a, b| {
            (a.stat.signature.mtime, &a.name).cmp(&(b.stat.signature.mtime, &b.name))
        });
        let spared = spared.map(|run| format!("{run}.").into_bytes());
        let age = i64::try_from(keeping.age.as_millis()).unwrap_or(i64::MAX);
        let mut total: u64 = kept.iter().map(|one| one.stat.size()).sum();
        for one in kept {
            let is_spared = spared.as_ref().is_some_and(|name| one.name.starts_with(name))
                || held(&self.spared).contains(&one.name);
            let is_old = now.as_millis().saturating_sub(one.stat.modified().as_millis()) > age;
            if is_spared || (!is_old && total <= keeping.total_bytes) {
                continue;
            }
            total -= one.stat.size();
            let _ = self.remove(&one.name);
        }
    }

    /// Removes everything: nobody can tell whose bytes are in it.
    pub fn clear(&self) -> Result<()> {
        for (name, _) in entries_in(&self.folder).map_err(unusable)? {
            self.remove(&name).map_err(unusable)?;
        }
        Ok(())
    }

    fn remove(&self, name: &[u8]) -> std::result::Result<(), Errno> {
        // Without its note a stream is shown to nobody who may not read everything.
        let run = name.split(|byte| *byte == b'.').next().unwrap_or_default();
        let _ = rustix::fs::unlinkat(&self.notes, run, AtFlags::empty());
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            // Another process was first.
            Err(Errno::NOENT) => Ok(()),
            done => done,
        }
    }

    fn all(&self) -> std::result::Result<Vec<Kept>, Errno> {
        let mut kept = Vec::new();
        for (name, _) in entries_in(&self.folder)? {
            // Another process may remove what is listed here.
            let stat = EntryStat::at(&self.folder, &name[..]);
            kept.extend(stat.ok().map(|stat| Kept { name, stat }));
        }
        Ok(kept)
    }
}

/// What a stream's whole is called while its command runs.
pub(super) fn whole_name(stream: &str) -> String {
    format!("{stream}.whole")
}

/// A stream on its way into its file. What cannot be written is not there; the caller counts.
pub struct Spill {
    file: File,
    room: u64,
    written: u64,
    /// What is free is asked when so much is written.
    look_at: u64,
    /// Nobody sweeps it away meanwhile.
    spared: Option<Spared>,
}

impl Spill {
    pub(super) fn new(file: File, room: u64) -> Self {
        Self { file, room, written: 0, look_at: 0, spared: None }
    }

    /// Writes the next bytes of the stream, as far as there is room.
    pub fn take(&mut self, bytes: &[u8]) {
        let fitting = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        let mut rest = &bytes[..fitting];
        while !rest.is_empty() {
            if self.is_crowded() {
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
                // A gap would be worse than an end.
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

    fn is_crowded(&mut self) -> bool {
        if self.written < self.look_at {
            return false;
        }
        self.look_at = self.written + LOOK;
        let about = rustix::fs::fstatvfs(&self.file);
        // Where nothing is bounded there are no blocks to count.
        let bounded = about.ok().filter(|about| about.f_blocks > 0);
        bounded.is_some_and(|about| about.f_bavail.saturating_mul(about.f_frsize) < KEPT_FREE)
    }
}

/// The folder, as agents name it.
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
        let mut spill = Spill::new(File::from(memory), 5);
        for piece in ["", "abc", "", "def", "ghi"] {
            spill.take(piece.as_bytes());
        }
        let mut text = String::new();
        spill.file.rewind().unwrap();
        spill.file.read_to_string(&mut text).unwrap();
        assert_eq!((spill.written(), text.as_str()), (5, "abcde"));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut spill = Spill::new(full, 5);
        spill.take(b"abc");
        assert_eq!((spill.written(), spill.room), (0, 0));
    }
}
