//! The quarantine: entries that a crash left in the staging folder and that recovery cannot restore stay there under
//! their own names until a person has looked at them.

use std::fs::File;
use std::io::Write as _;

use rustix::fs::{Mode, OFlags};
use yard_store::FileIdentity;

use super::{Displaced, Stage, errno_of, names_in};
use crate::folders::{DiskResult, open_file, rename_new};
use crate::stat::EntryStat;

impl Stage {
    /// The identity of a displaced file, where the file system has one.
    pub fn identity_of(&self, displaced: &Displaced) -> Option<FileIdentity> {
        EntryStat::at(&self.folder, displaced.name.as_bytes()).ok()?.identity
    }

    /// Moves an entry that cannot be restored to the quarantine, where it stays until a person removes it.
    pub fn quarantine(&self, displaced: &Displaced) {
        // If this fails, the entry stays in the staging folder, and the next opening tries again.
        let name = displaced.name.as_bytes();
        let _ = rename_new(&self.folder, name, &self.quarantine, name);
    }

    /// Writes a note for a person into the quarantine.
    pub fn write_note(&self, name: &str, text: &str) -> DiskResult {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.quarantine, name, flags, Mode::from_raw_mode(0o600))?;
        File::from(handle).write_all(text.as_bytes()).map_err(|error| errno_of(&error))
    }

    /// The text of a note in the quarantine.
    pub fn read_note(&self, name: &str) -> Option<String> {
        std::io::read_to_string(open_file(&self.quarantine, name).ok()?).ok()
    }

    /// The entries in the quarantine.
    pub fn quarantined(&self) -> Vec<Displaced> {
        let names = names_in(&self.quarantine).unwrap_or_default();
        let entry = |name: String| {
            let stat = EntryStat::at(&self.quarantine, &name).ok()?;
            Some(Displaced { name, stat })
        };
        names.into_iter().filter_map(entry).collect()
    }
}
