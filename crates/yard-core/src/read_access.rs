//! The files that one caller may read. The gate derives them from the rules of the workspace, and a [`Call`] carries
//! them to code that reads many files: a search, a listing, a command's box, the diff of a step. Rules are about paths,
//! not about contents.
//!
//! [`Call`]: crate::Call

use crate::WsPath;

/// The read access of one caller, by the rules of a workspace.
pub trait ReadAccess: Send + Sync {
    /// Whether the contents of the file at this path may be read.
    fn may_read(&self, path: &WsPath) -> bool;

    /// Whether the entry at this path may be named in a listing.
    fn may_list(&self, path: &WsPath) -> bool;

    /// The paths at or below which something may not be read. Everything else may be.
    fn withheld_paths(&self) -> Vec<WsPath>;

    /// Whether no entry below this folder may be read, whatever its name.
    fn withholds_all_below(&self, folder: &WsPath) -> bool;

    /// This access as a text, which is stored with output that may repeat what the caller could read. Later,
    /// [`ReadAccess::may_see`] decides who may read that output.
    fn note(&self) -> String;

    /// Whether this caller may read everything that the caller of `note` could.
    fn may_see(&self, note: &str) -> bool;
}
