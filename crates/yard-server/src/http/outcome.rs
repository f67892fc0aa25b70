//! What a handler leaves: an answer, or what has to be done to get one.

use bytes::Bytes;
use yard_core::Timestamp;

use super::download::Download;
use super::reply::Reply;
use super::waiting::PendingCall;
use crate::mcp::McpCaller;

/// What a handler leaves.
pub(super) enum Outcome {
    /// The answer.
    Reply(Reply),
    /// The call waits for a person, who may decide in time; else it has this answer.
    Waiting {
        /// The status of the answer.
        status: u16,
        /// The answer for as long as nobody has decided.
        body: Bytes,
        call: Box<PendingCall>,
    },
    /// A request for the MCP server, with its caller.
    Mcp(Box<McpCaller>),
    /// The stream of events after this number.
    Events(u64),
    /// The stream of events of all workspaces of the caller, after this time.
    AllEvents(Option<Timestamp>),
    /// Bytes of a file.
    Download(Download),
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}
