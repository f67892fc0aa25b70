//! Files that are on no disk, as the transcripts of chats are to the kernel. These are in memory, and a test says what they hold.

use std::collections::BTreeMap;

use parking_lot::{Mutex, MutexGuard};
use yard_core::{Call, FileId, Name, Result, Timestamp};
use yard_kernel::{VirtualFile, VirtualFiles};

use crate::RealWorld;

/// A few files by name.
#[derive(Default)]
pub struct InMemoryFiles(Mutex<BTreeMap<Name, (FileId, String)>>);

impl InMemoryFiles {
    /// When all of them came to be, in milliseconds.
    pub const CREATED: i64 = 1_000;
    /// When all of them grew last, in milliseconds.
    pub const UPDATED: i64 = 2_000;

    /// Adds a file, or gives one another text.
    pub fn put(&self, name: &str, text: &str) {
        let name = Name::new(name.as_bytes()).expect("a name");
        let mut all = self.all();
        let id = all.get(&name).map_or_else(|| FileId::new(&RealWorld), |(id, _)| *id);
        all.insert(name, (id, text.to_owned()));
    }

    /// Takes a file away.
    pub fn remove(&self, name: &str) {
        self.all().remove(&Name::new(name.as_bytes()).expect("a name"));
    }

    /// The id of a file.
    pub fn id(&self, name: &str) -> FileId {
        self.all()[&Name::new(name.as_bytes()).expect("a name")].0
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<Name, (FileId, String)>> {
        self.0.lock()
    }
}

fn file(name: &Name, id: FileId, text: &str) -> VirtualFile {
    VirtualFile {
        id,
        name: name.clone(),
        size: text.len() as u64,
        created_at: Timestamp::from_millis(InMemoryFiles::CREATED),
        updated_at: Timestamp::from_millis(InMemoryFiles::UPDATED),
    }
}

impl VirtualFiles for InMemoryFiles {
    fn list(&self) -> Result<Vec<VirtualFile>> {
        Ok(self.all().iter().rev().map(|(name, (id, text))| file(name, *id, text)).collect())
    }

    fn newest(&self) -> Result<Option<VirtualFile>> {
        let all = self.all();
        Ok(all
            .iter()
            .max_by_key(|(_, (id, _))| *id)
            .map(|(name, (id, text))| file(name, *id, text)))
    }

    fn find(&self, name: &Name) -> Result<Option<VirtualFile>> {
        Ok(self.all().get(name).map(|(id, text)| file(name, *id, text)))
    }

    fn text(&self, name: &Name, _: &Call) -> Result<Option<Vec<u8>>> {
        Ok(self.all().get(name).map(|(_, text)| text.clone().into_bytes()))
    }
}
