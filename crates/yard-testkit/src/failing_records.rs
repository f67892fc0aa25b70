//! Workspace records in which a test decides before each call whether it fails. The test may also do something else at that
//! moment, such as what another process does between two calls.

use std::sync::Arc;

use yard_core::{
    ApprovalId, ChatId, CommentId, ContentHash, FileId, Name, ProcessId, QuestionId, RunId,
    Timestamp, WsPath,
};
use yard_store::{
    Approval, ApprovalFilter, ApprovalRequest, ApprovalStatus, ApprovalStore, ApprovalTotals,
    AuditEntry, Chat, ChatStore, Comment, CommentStore, CommentTarget, DisplayNames, EventLog,
    EventRow, Grant, LaterMarks, Mode, NewApproval, NewChat, NewDecision, NewQuestion, NewTurn,
    Question, QuestionAnswer, QuestionFilter, QuestionStore, ReplacedGrants, Result, SeenMark,
    SeenMarks, StoreError, TerminalState, Turn, TurnKind, UnreadMessages, WaitingItem,
    WorkspaceRecords,
};

/// Gets the name of each method before it is called, and says how the call fails, if it does.
type BeforeCall = Box<dyn Fn(&str) -> Option<StoreError> + Send + Sync>;

/// Records over others. Each call is announced by the name of its method, and fails with the error that comes back.
pub struct FailingRecords {
    inner: Arc<dyn WorkspaceRecords>,
    before: BeforeCall,
}

impl FailingRecords {
    /// Records over `inner`.
    pub fn new(
        inner: Arc<dyn WorkspaceRecords>,
        before: impl Fn(&str) -> Option<StoreError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { inner, before: Box::new(before) })
    }
}

/// Implements a trait by calling the same method of the inner records, unless the call fails.
macro_rules! forward {
    ($store:ident: $(fn $method:ident($($value:ident: $kind:ty),*) -> $answer:ty;)*) => {
        impl $store for FailingRecords {
            $(fn $method(&self, $($value: $kind),*) -> Result<$answer> {
                match (self.before)(stringify!($method)) {
                    Some(error) => Err(error),
                    None => self.inner.$method($($value),*),
                }
            })*
        }
    };
}

forward! { ApprovalStore:
    fn request(asked: &NewApproval, turn: &NewTurn, audit: &AuditEntry) -> ();
    fn decide(made: &NewDecision<'_>, turn: &NewTurn, audit: &AuditEntry) -> ();
    fn claim(id: ApprovalId, before: Option<ProcessId>, claimant: Option<ProcessId>) -> ();
    fn close(id: ApprovalId, status: ApprovalStatus, audit: &AuditEntry) -> ();
    fn renew(id: ApprovalId, request: &ApprovalRequest, turn: &NewTurn, audit: &AuditEntry) -> ();
    fn reword(id: ApprovalId, reason: &str) -> ();
    fn start(id: ApprovalId, run: RunId) -> ();
    fn conclude(id: ApprovalId, status: ApprovalStatus, answer: &str, at: Timestamp) -> ();
    fn approval(id: ApprovalId) -> Option<Approval>;
    fn approval_ids(filter: &ApprovalFilter, before: Option<ApprovalId>, limit: usize) -> Vec<ApprovalId>;
    fn approval_totals(filter: &ApprovalFilter) -> ApprovalTotals;
    fn pending_approvals(limit: usize) -> Vec<(ApprovalId, Timestamp)>;
    fn grants(chat: Option<ChatId>) -> Vec<Grant>;
    fn policy() -> Option<String>;
    fn set_policy(before: Option<&str>, text: &str, saved: Option<ReplacedGrants<'_>>, audit: &AuditEntry) -> ();
}

forward! { ChatStore:
    fn make_chat(chat: &NewChat, audit: &AuditEntry) -> Chat;
    fn rename_chat(id: ChatId, title: &str, header: &str, audit: &AuditEntry) -> ();
    fn remove_chat(id: ChatId, audit: &AuditEntry) -> ();
    fn chat(id: ChatId) -> Option<Chat>;
    fn default_chat(actor: &str) -> Option<Chat>;
    fn chat_named(name: &Name) -> Option<Chat>;
    fn chats(before: Option<ChatId>, limit: usize) -> Vec<Chat>;
    fn set_mode(chat: ChatId, mode: Mode, turn: &NewTurn, audit: &AuditEntry) -> ();
    fn post(chat: ChatId, turn: &NewTurn) -> u64;
    fn record(chat: ChatId, turn: &NewTurn) -> ();
    fn turns(chat: ChatId, kind: Option<TurnKind>, after: u64, limit: usize) -> Vec<Turn>;
    fn transcript_header(chat: ChatId) -> Option<String>;
    fn transcript(chat: ChatId) -> Option<String>;
}

forward! { QuestionStore:
    fn ask(question: &NewQuestion, turn: &NewTurn, audit: &AuditEntry) -> ();
    fn answer(question: QuestionId, given: &QuestionAnswer, turn: &NewTurn, audit: &AuditEntry) -> ();
    fn question(id: QuestionId) -> Option<Question>;
    fn questions(filter: &QuestionFilter, before: Option<QuestionId>, limit: usize) -> Vec<Question>;
    fn pending_questions(limit: usize) -> Vec<(QuestionId, Timestamp)>;
}

forward! { CommentStore:
    fn add_comment(comment: &Comment) -> ();
    fn edit_comment(id: CommentId, author: &str, text: &str) -> bool;
    fn remove_comment(id: CommentId, author: &str) -> bool;
    fn comment(id: CommentId, author: &str) -> Option<Comment>;
    fn comments(author: &str, target: Option<CommentTarget>, after: Option<CommentId>, limit: usize) -> Vec<Comment>;
    fn comment_count(author: &str) -> u64;
    fn send_comments(chat: ChatId, comments: &[CommentId], turn: &NewTurn, audit: &AuditEntry) -> u64;
}

forward! { UnreadMessages:
    fn has_unread() -> bool;
    fn take_unread(chat: ChatId, limit: usize, max_bytes: usize) -> Vec<Turn>;
    fn put_back_unread(chat: ChatId, numbers: &[u64]) -> ();
}

forward! { SeenMarks:
    fn mark_seen(person: &str, path: &WsPath, content: &ContentHash, at: Timestamp) -> ();
    fn unmark_seen(person: &str, path: &WsPath, content: &ContentHash) -> ();
    fn seen_marks(person: &str, after: u64, limit: usize) -> Vec<SeenMark>;
}

forward! { LaterMarks:
    fn put_off(person: &str, item: WaitingItem, until: Option<Timestamp>, now: Timestamp) -> ();
    fn put_off_by(person: &str, now: Timestamp, limit: usize) -> Vec<(WaitingItem, Timestamp)>;
}

forward! { DisplayNames:
    fn display_name(file: FileId) -> Option<String>;
    fn set_display_name(file: FileId, name: Option<&str>, audit: &AuditEntry) -> ();
}

forward! { EventLog:
    fn changed_outside(at: Timestamp, paths: &[WsPath]) -> ();
    fn terminal_is(at: Timestamp, chat: ChatId, run: RunId, name: &str, state: TerminalState) -> ();
    fn events(after: u64, limit: usize) -> Vec<EventRow>;
    fn last_event() -> u64;
}
