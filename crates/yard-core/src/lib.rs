//! The data types and pure functions that every Toolyard crate shares.
//!
//! An operation is a plain value, a path is always validated, and every kind of failure is a [`FaultCode`]. Nothing in
//! this crate opens a file, reads a clock, draws a random number or waits: callers pass what it needs (see [`World`]).

pub mod auto_run;
pub mod bounds;
pub mod call;
pub mod change_part;
mod changed_lines;
pub mod diff;
pub mod diff_line;
pub mod effect;
mod fast_map;
pub mod fault;
pub mod git;
pub mod git_index;
pub mod hash;
pub mod id;
pub mod invisible;
pub mod limits;
mod line_diff;
pub mod line_origins;
pub mod lines;
mod listed_enum;
pub mod merge;
pub mod op;
pub mod patch;
pub mod path;
pub mod read_access;
pub mod replace;
pub mod role;
pub mod state;
pub mod surviving_lines;
pub mod text;
pub mod time;

pub use bounds::Bounds;
pub use call::{Call, Progress, World};
pub use change_part::ChangePart;
pub use diff_line::DiffSide;
pub use effect::{ChatScope, Dial, Effect, EffectKind, PathEffect};
pub use fast_map::FastMap;
pub use fault::{Fault, FaultCode, Remedy, Subject};
pub use hash::ContentHash;
pub use id::{
    ApprovalId, ChatId, CommentId, FileId, KeyId, LoginId, ProcessId, QuestionId, RunId, StepId,
    UploadId, UserId, VersionId, WorkspaceId,
};
pub use limits::Limits;
pub use listed_enum::Spelled;
pub use path::{Name, PathError, WsPath, below_root};
pub use read_access::ReadAccess;
pub use role::Role;
pub use state::{Author, FileKind, FileState, FileType, Signature};
pub use time::Timestamp;

/// What an operation's function returns: the value, or the one fault that explains why not.
pub type Result<T> = std::result::Result<T, Fault>;
