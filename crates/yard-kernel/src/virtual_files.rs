//! Files that are not on disk: what somebody above the kernel shows below `/chats/` as readable text
//! (W18). Tools list, read and search them like any other; no operation changes them. The kernel does
//! not know what they are made of.

use yard_core::{FileId, Name, Result, Timestamp};

/// One file that is not on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualFile {
    /// Its id.
    pub id: FileId,
    /// Its name in `/chats`, which ends in `.chat`.
    pub name: Name,
    /// Bytes of its text.
    pub size: u64,
    /// When it came to be.
    pub created_at: Timestamp,
    /// When its text last grew.
    pub updated_at: Timestamp,
}

/// Whoever has such files.
pub trait VirtualFiles: Send + Sync {
    /// All of them, in no order.
    fn list(&self) -> Result<Vec<VirtualFile>>;

    /// One of them.
    fn find(&self, name: &Name) -> Result<Option<VirtualFile>>;

    /// Its text, in UTF-8.
    fn text(&self, name: &Name) -> Result<Option<Vec<u8>>>;
}
