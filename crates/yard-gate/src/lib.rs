//! The one answer to "may this happen?", for every dialect and every door.
//!
//! A [`Session`] is who is calling: the actor, its chat, its policy and its workspaces. Whatever a call does is one
//! [`Attempt`] of its session: what an operation would do is judged (never the text of a call), and the audit row is
//! written in the same transaction as the step. For people there are [`Session::chats`], [`Session::questions`] and
//! [`Session::approvals`].
//!
//! From the callers to what they share, each module uses only those below it:
//!
//! | module | what it is |
//! |---|---|
//! | `admin` | people, members, keys and workspaces of a server |
//! | `commands`, `fetch` | what a call starts: commands, terminals, requests to the web; and the connections of commands |
//! | `questions`, `messages` | what agents ask people, and what people write to agents |
//! | `attempt` | one try to perform a call: plans, judges, asks and commits |
//! | `approvals` | the requests to people that an attempt makes: decided here, and executed once |
//! | `session` | who is calling; the chats, marks, names, events and settings that a caller reads and sets |
//! | `transcript`, `question_form` | turns of chats as text, redacted, and who may see them; the form of a question |
//! | `open` | an open workspace, and what its sessions share |
//! | `policy` | presets, rules, plan mode, read restrictions: which effects are allowed |
//! | `actor`, `page` | the identity of a caller; a page of a listing |
//!
//! Where to begin: [`Session`], then [`Attempt::perform`], then the module that you need. A method of `Session` or `Attempt` is
//! in the module that does its work.
//!
//! This crate opens no file. It knows no tool, route or command by its name; of names from above it has those of the doors
//! (`session/mod.rs`) and the second spelling of each preset (`policy/presets.rs`). What a refusal advises comes from above, in
//! [`CallerHints`].

mod actor;
pub mod admin;
mod approvals;
mod attempt;
mod commands;
mod fetch;
mod messages;
mod open;
mod page;
mod policy;
mod question_form;
mod questions;
mod session;
mod transcript;

pub use actor::Actor;
pub use approvals::{
    Approvals, ClaimTurn, DecidedPart, DecisionContext, DecisionInput, ExecutableBy, PermittedCall,
    RulePreview, denial_message, effect_lines, effect_value, is_for_host, outcome_unknown,
    shows_change,
};
pub use attempt::call_log::{CALL_SPAN, CallLog, LOG_TARGET};
pub use attempt::{Attempt, Awaited, Completion, ExplainedEffect, Pending, UnwrittenTurn};
pub use commands::Finished;
pub use commands::terminals::Terminals;
pub use fetch::FetchedPage;
pub use messages::comments::{COMMENT_BYTES, Comments, NewComment};
pub use messages::person_message::{PersonMessage, TakenMessages};
pub use open::caller_hints::{CallerHints, LoggedMembers};
pub use open::change_notifier::{ChangeNotifier, ChangeSubscription, CommitListener};
pub use open::{OpenWorkspace, TerminalInfo, TerminalView, Waiter};
pub use page::ListPage;
pub(crate) use page::MAX_ROWS;
pub use policy::presets::{Asks, CallerPolicy, Origin, Preset, Verdict};
pub(crate) use policy::rules::Rule;
pub use policy::web::{SearchHit, SearchProvider, Web};
pub(crate) use policy::workspace_policy::{Judgement, WorkspacePolicy};
pub use question_form::{Button, Choice, FormError, FormQuestion, QuestionForm};
pub use questions::{AskedQuestion, GivenAnswer, Questions};
pub use session::events::{LastEvent, MAX_EVENTS};
pub use session::policy_settings::{PolicySettings, SavedRule};
pub use session::{
    Chats, ConnectionChat, FILES_TOOLSET, MESSAGE_BYTES, MessageRole, Mount, NamedRoot, Session,
    is_at_or_below,
};
pub use transcript::{TranscriptFiles, transcript_path};
pub use yard_disk::CapturedOutput;
pub use yard_kernel::{
    Command, CommandBox, Execute, FinishedRun, Leftover, Screen, StorageWarning, TerminalUpdate,
    UpdateReason, Upload, Uploaded, Workspace,
};
pub use yard_net::{
    Access, HostTraffic, Method, Net, Page as WebPage, PageFormat, Resolve, Target, WebRequest,
    WebResponse,
};
pub use yard_sandbox::{
    CommandEnd, CommandLimits, Exit, Finding, Level, SharedMemory, Size, StopReason,
};
pub use yard_store::registry;
pub use yard_store::{
    Approval, ApprovalFilter, ApprovalStatus, ChangedFile, Chat, Comment, CommentTarget, Decision,
    Event, EventRow, Mode, QuestionFilter, Revision, Scope, SeenMark, StepEvent, TerminalState,
    Turn, TurnKind, Via, WorkspaceRecords,
};
