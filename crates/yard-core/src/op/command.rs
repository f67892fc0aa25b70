//! Commands: what one changed becomes a step, like any other change.

use crate::{ChatId, RunId, StepId, WsPath};

/// Makes what a command changed on its own layer a step of the workspace.
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

/// What a command changed, once that is so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Landed {
    /// The step; none if nothing changed.
    pub step: Option<StepId>,
    /// Files, folders and links that came to be.
    pub created: u64,
    /// Those that are not what they were.
    pub changed: u64,
    /// Those that went away.
    pub removed: u64,
    /// Those that are elsewhere now.
    pub moved: u64,
    /// What no workspace keeps: sockets, FIFOs, devices.
    pub left_out: Vec<WsPath>,
    /// What was changed in place and is in no step: it is too large, or cannot be read.
    pub unrecorded: Vec<WsPath>,
}
