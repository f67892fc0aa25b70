//! Files by their ids, as raw bytes and as versions: locate, fingerprint, fetch, version,
//! place, purge.

use super::OnExisting;
use crate::{
    Author, ContentHash, FileId, FileKind, FileType, Signature, StepId, Timestamp, UploadId,
    VersionId, WsPath,
};

/// Most bytes that one call hands out; a caller streams by asking again.
pub const FETCH_BYTES: u64 = 1 << 20;

/// Finds a file by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locate {
    /// The file, living or removed.
    pub file: FileId,
}

/// The record of a file in the store. The file on disk may have changed since: `Stat` and `Fingerprint` read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    /// The file.
    pub file: FileId,
    /// Where it is; `None` once it, or a folder above it, was removed.
    pub path: Option<WsPath>,
    /// Where it is, or was when it was removed.
    pub last_path: WsPath,
    /// File, folder or link.
    pub kind: FileKind,
    /// The type that its maker gave it.
    pub file_type: FileType,
    /// Bytes of its newest version; a folder has none.
    pub size: Option<u64>,
    /// Hash of its newest version, where the store has it.
    pub hash: Option<ContentHash>,
    /// When the store first recorded it.
    pub created_at: Timestamp,
    /// Its newest version.
    pub version: Option<VersionId>,
    /// When it was removed and by which step, if it was.
    pub removed: Option<Removal>,
    /// Its contents were purged: it cannot be restored.
    pub purged: bool,
}

/// The removal of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The time.
    pub at: Timestamp,
    /// The step.
    pub step: StepId,
}

/// Finds the hash of a file's bytes, which are read only if store and disk may disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The file; links are followed.
    pub path: WsPath,
}

/// The hash and the size of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprinted {
    /// The file, links resolved.
    pub path: WsPath,
    /// Its id, if the store knows it.
    pub file: Option<FileId>,
    /// The hash of its bytes.
    pub hash: ContentHash,
    /// How many there are.
    pub size: u64,
    /// Its modification time.
    pub updated_at: Timestamp,
    /// The signature that makes sure that a [`Fetch`] reads the same bytes.
    pub seen: Signature,
}

/// Reads bytes of any regular file, as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The file; links are followed.
    pub path: WsPath,
    /// The first byte; at or past the end there are none.
    pub offset: u64,
    /// At most that many, and at most [`FETCH_BYTES`].
    pub length: u64,
    /// How the file looked when an earlier part of it was read: anything else is a fault.
    pub seen: Option<Signature>,
}

/// A part of a file. It goes on at `offset + bytes.len()` until that is `size`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The file, links resolved.
    pub path: WsPath,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many the whole file has.
    pub size: u64,
    /// How the file looked: the next [`Fetch`] brings it along.
    pub seen: Signature,
}

/// Shows one version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowVersion {
    /// The version.
    pub version: VersionId,
    /// The file that it must be a version of, if that matters.
    pub of: Option<FileId>,
    /// At most that many bytes of diff; 0 for none.
    pub max_bytes: u64,
}

/// One version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownVersion {
    /// The version.
    pub version: VersionId,
    /// Its file.
    pub file: FileId,
    /// The step that made it.
    pub step: StepId,
    /// The time.
    pub at: Timestamp,
    /// The author.
    pub author: Author,
    /// The actor of the step's audit row.
    pub actor: String,
    /// The operation that made it.
    pub verb: String,
    /// Where the file was then.
    pub path: WsPath,
    /// The type that the file had then.
    pub file_type: FileType,
    /// The hash of its content.
    pub hash: ContentHash,
    /// Bytes of its content.
    pub size: u64,
    /// The version before it, if it is not the first.
    pub before: Option<VersionId>,
    /// A unified diff against the version before, for texts that differ.
    pub diff: Option<String>,
    /// The diff was cut, or left out for want of room.
    pub truncated: bool,
    /// Its content was purged; the other fields remain.
    pub purged: bool,
}

/// Reads bytes of one version of a file, as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchVersion {
    /// The version.
    pub version: VersionId,
    /// The file that it must be a version of, if that matters.
    pub of: Option<FileId>,
    /// The first byte; at or past the end there are none.
    pub offset: u64,
    /// At most that many, and at most [`FETCH_BYTES`].
    pub length: u64,
}

/// A part of a version. It goes on at `offset + bytes.len()` until that is `size`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedVersion {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many the whole version has.
    pub size: u64,
    /// The hash of the whole.
    pub hash: ContentHash,
}

/// Makes an upload a file, of any size; missing folders are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: WsPath,
    /// What was uploaded: its bytes arrived whole, and wait in this process.
    pub upload: UploadId,
    /// The type that it gets; `None` keeps that of an existing file and is a document for a new one.
    pub file_type: Option<FileType>,
    /// What happens to an existing file.
    pub on_existing: OnExisting,
    /// The hash that an existing file must have (R7).
    pub expected: Option<ContentHash>,
}

/// Removes the contents of a removed file for good, apart from those that another file shares.
/// The caller checks before that an owner asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The removed file; a removed folder stands for all that was removed with it.
    pub file: FileId,
}

/// What a purge removed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeAnswer {
    /// The file that was asked for.
    pub file: FileId,
    /// Files that can no longer be restored, it included.
    pub files: u64,
    /// Contents that are gone.
    pub contents: u64,
    /// Their bytes, before any compression.
    pub bytes: u64,
}
