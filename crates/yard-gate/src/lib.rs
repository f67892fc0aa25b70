//! The one answer to "may this happen?", for every dialect and every door.
//!
//! A [`Session`] is who is calling: the actor, its chat, its policy and its workspaces. Whatever a call does is one
//! [`Attempt`] of its session: what an operation would do is judged (never the text of a call), and the audit row is
//! written in the same transaction as the step. For people there are [`Session::chats`], [`Session::questions`] and
//! [`Session::approvals`].
//!
//! This crate opens no file. It knows no tool, route or command by its name; of names from above it has those of the doors
//! (`session.rs`) and the second spelling of each preset (`presets.rs`). What a refusal advises comes from above, in
//! [`CallerHints`].
//!
//! Where to begin: `session.rs` and `attempt.rs`, then the group that you need.
//!
//! - **Judging**: `presets.rs` (what asks where no rule matches), `rules.rs` (one rule), `workspace_policy.rs` (preset and
//!   rules together), `policy_settings.rs` (how people set them), `plan_mode.rs`, `read_restrictions.rs` (what may not be
//!   read), `attempt/judging.rs` (all of these about one effect).
//! - **Asking a person**: `attempt/asking.rs` (makes a request), `approvals.rs` (decides it), `approvals/claims.rs` (who
//!   executes it), `revision.rs` (with other arguments), `attempt/part.rs` (in part), `questions.rs`, `question_form.rs`,
//!   `leave_plan_mode.rs`.
//! - **Commands**: `commands.rs`, `terminals.rs` with `open/terminals.rs`, `connections.rs` (the hosts of a command),
//!   `install_commands.rs`, `project_files.rs`.
//! - **The web**: `web.rs` (what the operator set), `fetch.rs`.
//! - **Records**: `session/chats.rs`, `transcript.rs`, `redaction.rs`, `person_message.rs`, `comments.rs`,
//!   `sent_comments.rs`, `display_names.rs`, `seen.rs` and `later.rs` (marks of a person), `call_log.rs`.
//! - **What sessions share**: `open.rs`, `change_notifier.rs`, `events.rs`.
//! - **People and keys of a server**: `admin`.

mod actor;
pub mod admin;
mod approvals;
mod attempt;
mod call_log;
mod caller_hints;
mod change_notifier;
mod commands;
mod comments;
mod connections;
mod display_names;
mod events;
mod fetch;
mod install_commands;
mod later;
mod leave_plan_mode;
mod open;
mod page;
mod person_message;
mod plan_mode;
mod policy_settings;
mod presets;
mod project_files;
mod question_form;
mod questions;
mod read_restrictions;
mod redaction;
mod revision;
mod rules;
mod seen;
mod sent_comments;
mod session;
mod terminals;
mod transcript;
mod web;
mod workspace_policy;

pub use actor::Actor;
pub use approvals::{
    Approvals, ClaimTurn, DecidedPart, DecisionContext, DecisionInput, ExecutableBy, PermittedCall,
    RulePreview, denial_message, effect_lines, effect_value, is_for_host, outcome_unknown,
    shows_change,
};
pub use attempt::{Attempt, Awaited, Completion, ExplainedEffect, Pending, UnwrittenTurn};
pub use call_log::{CALL_SPAN, CallLog, LOG_TARGET};
pub use caller_hints::{CallerHints, LoggedMembers};
pub use change_notifier::{ChangeNotifier, ChangeSubscription, CommitListener};
pub use commands::Finished;
pub use comments::{COMMENT_BYTES, Comments, NewComment};
pub use events::{LastEvent, MAX_EVENTS};
pub use fetch::FetchedPage;
pub use open::{OpenWorkspace, TerminalInfo, TerminalView, Waiter};
pub use page::ListPage;
pub(crate) use page::MAX_ROWS;
pub use person_message::{PersonMessage, TakenMessages};
pub use policy_settings::{PolicySettings, SavedRule};
pub use presets::{Asks, CallerPolicy, Origin, Preset, Verdict};
pub use question_form::{Button, Choice, FormError, FormQuestion, QuestionForm};
pub use questions::{AskedQuestion, GivenAnswer, Questions};
pub(crate) use rules::Rule;
pub use session::{
    Chats, ConnectionChat, FILES_TOOLSET, MESSAGE_BYTES, MessageRole, Mount, NamedRoot, Session,
    is_at_or_below,
};
pub use terminals::Terminals;
pub use transcript::{TranscriptFiles, transcript_path};
pub use web::{SearchHit, SearchProvider, Web};
pub(crate) use workspace_policy::{Judgement, WorkspacePolicy};
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
