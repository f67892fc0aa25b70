//! Comments of people on lines of diffs, until they are sent to an agent. The layers above check who may comment, and
//! what a comment is about.

use yard_core::{ApprovalId, ChatId, CommentId, ContentHash, DiffSide, StepId, Timestamp, WsPath};

use crate::{AuditEntry, NewTurn, Result};

/// The diff that a comment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentTarget {
    /// That of a step.
    Step(StepId),
    /// That of a request for approval.
    Approval(ApprovalId),
}

/// A comment that was not sent yet. Only its author sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its id.
    pub id: CommentId,
    /// The person.
    pub author: String,
    /// The time.
    pub at: Timestamp,
    /// The diff that it is about.
    pub target: CommentTarget,
    /// The file.
    pub path: WsPath,
    /// On which side of the diff.
    pub side: DiffSide,
    /// The line, from 1.
    pub line: u64,
    /// The content of the file on that side.
    pub content: ContentHash,
    /// The comment.
    pub text: String,
}

/// The comments of one workspace, in the same database as its journal.
///
/// **Crash notes.** Whatever changes something returns only after it is flushed, all or nothing. Everything else reads,
/// and returns at most `limit` rows.
pub trait CommentStore: Send + Sync {
    /// Adds a comment.
    fn add_comment(&self, comment: &Comment) -> Result<()>;

    /// Gives a comment of this author another text; `false` if there is none.
    fn edit_comment(&self, id: CommentId, author: &str, text: &str) -> Result<bool>;

    /// Removes a comment of this author; `false` if there is none.
    fn remove_comment(&self, id: CommentId, author: &str) -> Result<bool>;

    /// A comment of this author.
    fn comment(&self, id: CommentId, author: &str) -> Result<Option<Comment>>;

    /// The comments of an author after `after` (or from the oldest on), oldest first; only those about `target`, if it is
    /// given.
    fn comments(
        &self,
        author: &str,
        target: Option<CommentTarget>,
        after: Option<CommentId>,
        limit: usize,
    ) -> Result<Vec<Comment>>;

    /// How many comments of an author there are.
    fn comment_count(&self, author: &str) -> Result<u64>;

    /// Posts `turn`, a message that says what these comments of the turn's actor say, in a chat for its agent to receive,
    /// and removes the comments; returns the number of the turn. A misfit if there is no such chat, or if one of the
    /// comments is not there any more.
    fn send_comments(
        &self,
        chat: ChatId,
        comments: &[CommentId],
        turn: &NewTurn,
        audit: &AuditEntry,
    ) -> Result<u64>;
}
