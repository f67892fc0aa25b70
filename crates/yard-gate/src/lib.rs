//! The one answer to "may this happen?", for every dialect and every door.
//!
//! A [`Session`] is the only way in: it owns the kernel, knows who is calling and in which chat, judges
//! what an operation would do (never the text of a call) and leaves the audit row in the same
//! transaction as the step. Its faces for people are [`Session::chats`] and [`Session::questions`]. It
//! opens no file, speaks no dialect and knows no wire.

mod actor;
pub mod admin;
mod approvals;
mod bell;
mod call_log;
mod chats;
mod claims;
mod commands;
mod connections;
mod display_names;
mod events;
mod form;
mod install_commands;
mod mount;
mod open;
mod page;
mod plan_mode;
mod policy;
mod project_files;
mod questions;
mod reading;
mod redaction;
mod revision;
mod rules;
mod search;
mod session;
mod settings;
mod terminals;
mod transcript;
mod web;

pub use actor::Actor;
pub use approvals::{
    Approvals, Deciding, Ruling, effect_told, effects_told, is_for_host, said_no, shows_change,
};
pub use bell::{Bell, Listener, Listening};
pub use call_log::{CALL_SPAN, CallLog, LOG_TARGET};
pub use chats::{Chats, ConnectionChat, MESSAGE_BYTES, Role};
pub use claims::{ClaimTurn, Served, Waiter, lost};
pub use commands::Finished;
pub use events::MOST_EVENTS;
pub use form::{Button, Choice, Flaw, Form, Item};
pub use mount::{Mount, Named, is_at_or_below};
pub use open::OpenWorkspace;
pub use page::{MOST_ROWS, Page};
pub use policy::{Asks, Policy, Preset, Verdict};
pub use questions::{GivenAnswer, Question, Questions};
pub use rules::{Judgement, Rule, Rules, Then};
pub use search::{Hit, Provider, Search};
pub use session::{Awaited, FILES_TOOLSET, Line, Origin, Outcome, Pending, Session};
pub use settings::{Explained, Saved, Settings};
pub use terminals::{Listed, Seen, Terminals};
pub use transcript::Transcripts;
pub use web::{Fetched, Web};
pub use yard_disk::Said;
pub use yard_kernel::{
    Boxed, Command, Execute, Glance, Leftover, NotKept, Ran, Screen, Upload, Uploaded, Why,
    Workspace,
};
pub use yard_net::{
    Access, HostTraffic, Method, Net, Page as WebPage, Request, Resolve, Shape, Target,
};
pub use yard_sandbox::{Ended, Exit, Level, Limits as CommandLimits, SharedMemory, Size, Stopped};
pub use yard_store::registry;
pub use yard_store::{
    Approval, ApprovalFilter, ApprovalStatus, ChangedFile, Chat, Decision, Event, EventRow, Mode,
    QuestionFilter, Revision, Scope, StepEvent, TerminalState, Turn, TurnKind, Via,
    WorkspaceRecords,
};
