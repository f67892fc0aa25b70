//! What a crash left in the staging folder and cannot be put right: it is set aside, under its own name, until
//! a person looks at it.

use std::fs::File;
use std::io::Write as _;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use yard_store::FileIdentity;

use super::{Displaced, Stage, errno_of, names_in};
use crate::folders::{open_file, rename_new};
use crate::stat::EntryStat;

impl Stage {
    /// Which file a displaced one is, where the file system tells.
    pub fn identity_of(&self, displaced: &Displaced) -> Option<FileIdentity> {
        EntryStat::at(&self.folder, displaced.name.as_bytes()).ok()?.identity
    }

    /// Sets aside what cannot be put right. It stays until a person removes it.
    pub fn set_aside(&self, displaced: &Displaced) {
        // If it cannot be moved it stays where it is, and the next opening tries again.
        let name = displaced.name.as_bytes();
        let _ = rename_new(&self.folder, name, &self.aside, name);
    }

    /// Leaves a note for a person beside what was set aside.
    pub fn note_aside(&self, name: &str, text: &str) -> std::result::Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.aside, name, flags, Mode::from_raw_mode(0o600))?;
        File::from(handle).write_all(text.as_bytes()).map_err(|error| errno_of(&error))
    }

    /// The text of such a note.
    pub fn read_note(&self, name: &str) -> Option<String> {
        std::io::read_to_string(open_file(&self.aside, name).ok()?).ok()
    }

    /// What was set aside.
    pub fn set_aside_entries(&self) -> Vec<Displaced> {
        let names = names_in(&self.aside).unwrap_or_default();
        let look = |name: &String| EntryStat::at(&self.aside, name);
        let found = names.into_iter().filter_map(|name| look(&name).ok().map(|stat| (name, stat)));
        found.map(|(name, stat)| Displaced { name, stat }).collect()
    }
}
