//! Which files one caller may read. The gate says it, from the rules of the workspace, and a [`Call`]
//! carries it to whatever looks at many files at once: a search, a listing, a command's box, a diff of a
//! step. Rules are about paths; nothing here knows what a file holds.
//!
//! [`Call`]: crate::Call

use crate::WsPath;

/// What the rules of a workspace let one caller read.
pub trait Reading: Send + Sync {
    /// Whether the contents of the file at this path may be read.
    fn may_read(&self, path: &WsPath) -> bool;

    /// Whether the entry at this path may be named in a listing.
    fn may_list(&self, path: &WsPath) -> bool;

    /// The places at or below which something may not be read. Everything else may be.
    fn withheld_places(&self) -> Vec<WsPath>;

    /// Whether nothing below this folder may be read, whatever it is called.
    fn withholds_all_below(&self, folder: &WsPath) -> bool;

    /// What this caller may read, as a text to be kept beside words of theirs: whoever wants to see those
    /// words later is asked [`Reading::may_see`].
    fn note(&self) -> String;

    /// Whether this caller may read all that somebody could who spoke under `note`.
    fn may_see(&self, note: &str) -> bool;
}
