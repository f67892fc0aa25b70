//! The one answer to "may this happen?", for every dialect and every door.
//!
//! A [`Session`] is who is calling: the actor, its chat, its policy and its workspaces. Whatever a call does is one
//! [`Attempt`] of its session: what an operation would do is judged (never the text of a call), and the audit row is
//! written in the same transaction as the step. For people there are [`Session::chats`], [`Session::questions`] and
//! [`Session::approvals`]. This crate opens no file, speaks no dialect and knows no wire.

mod actor;
pub mod admin;
mod approvals;
mod attempt;
mod bell;
mod call_log;
mod commands;
mod connections;
mod display_names;
mod events;
mod fetch;
mod form;
mod install_commands;
mod leave_plan_mode;
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
mod session;
mod settings;
mod terminals;
mod transcript;
mod web;
mod words;

pub use actor::Actor;
pub use approvals::{
    Approvals, ClaimTurn, Deciding, Permitted, Ruling, Served, denial_words, effect_value,
    effect_words, is_for_host, lost, shows_change,
};
pub use attempt::{Attempt, Awaited, Completion, Explained, Line, Pending};
pub use bell::{Bell, BellSubscription, Listener};
pub use call_log::{CALL_SPAN, CallLog, LOG_TARGET};
pub use commands::Finished;
pub use events::MOST_EVENTS;
pub use fetch::FetchedPage;
pub use form::{Button, Choice, Flaw, Item, QuestionForm};
pub use open::{OpenWorkspace, TerminalInfo, TerminalLook, Waiter};
pub use page::{ListPage, MOST_ROWS};
pub use policy::{Asks, Origin, Policy, Preset, Verdict};
pub use questions::{AskedQuestion, GivenAnswer, Questions};
pub use rules::{Judgement, Rule, Rules, Then};
pub use session::{
    Chats, ConnectionChat, FILES_TOOLSET, MESSAGE_BYTES, MessageRole, Mount, NamedRoot, Session,
    is_at_or_below,
};
pub use settings::{PolicySettings, Saved};
pub use terminals::Terminals;
pub use transcript::TranscriptFiles;
pub use web::{SearchHit, SearchProvider, Web};
pub use words::{CallerWords, LoggedMembers};
pub use yard_disk::CapturedOutput;
pub use yard_kernel::{
    Boxed, Command, Execute, Glance, Leftover, NotKept, Ran, Screen, Upload, Uploaded, Why,
    Workspace,
};
pub use yard_net::{
    Access, HostTraffic, Method, Net, Page as WebPage, PageFormat, Resolve, Target, WebRequest,
    WebResponse,
};
pub use yard_sandbox::{CommandEnd, CommandLimits, Exit, Level, SharedMemory, Size, StopReason};
pub use yard_store::registry;
pub use yard_store::{
    Approval, ApprovalFilter, ApprovalStatus, ChangedFile, Chat, Decision, Event, EventRow, Mode,
    QuestionFilter, Revision, Scope, StepEvent, TerminalState, Turn, TurnKind, Via,
    WorkspaceRecords,
};
