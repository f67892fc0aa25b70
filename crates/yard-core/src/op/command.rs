//! Operations that record the changes of a command as a step.

use crate::{ChatId, RunId, StepId, WsPath};

/// Records the changes in the overlay of a command as a step of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Land {
    /// The run.
    pub run: RunId,
    /// The chat that it belongs to: what that chat made is its own.
    pub chat: Option<ChatId>,
    /// The actor whose default chat that is: what the actor made in no chat belongs to it, too.
    pub default_of: Option<String>,
}

/// Makes what a command changed in place a step of its caller's: whatever is on disk and is not what the
/// store knows. It changes nothing on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeIn;

/// The changes of a command that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Landed {
    /// The step; none if nothing changed.
    pub step: Option<StepId>,
    /// Files, folders and links that were made.
    pub created: u64,
    /// Those that were changed.
    pub changed: u64,
    /// Those that were removed.
    pub removed: u64,
    /// Those that were moved.
    pub moved: u64,
    /// Sockets, FIFOs and devices, which no workspace records.
    pub left_out: Vec<WsPath>,
    /// Entries that were changed in place and are in no step, because they are too large or cannot be read.
    pub unrecorded: Vec<WsPath>,
}
