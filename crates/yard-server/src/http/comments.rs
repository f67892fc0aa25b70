//! Comments of a person on lines of diffs, over HTTP: made one by one, and sent to an agent as one message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{CommentId, ContentHash, DiffSide, WsPath};
use yard_gate::{Comment, CommentTarget, NewComment};

use super::chats::{self, Posted};
use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::word::Word;

/// A new comment, on the diff of a step or of a request for approval.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CommentBody {
    /// The step.
    step_id: Option<String>,
    /// The request, if it is about no step.
    approval_id: Option<String>,
    /// The file.
    path: String,
    /// `old` or `new`: the side of the diff.
    side: Word<DiffSide>,
    /// The line on that side, from 1.
    line: u64,
    /// SHA-256 of the file's content on that side, as the diff was shown.
    content_hash: String,
    /// The comment, up to 8 KiB.
    text: String,
}

/// Which comments.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CommentsQuery {
    /// Only those on the diff of this step.
    step_id: Option<String>,
    /// Only those on the diff of this request.
    approval_id: Option<String>,
    /// At most that many, 1 to 1,000 (default 100).
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    cursor: Option<String>,
}

/// Another text.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewText {
    /// The comment, up to 8 KiB.
    text: String,
}

/// What is sent, and where to.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Sending {
    /// The chat of the agent.
    chat_id: String,
    /// The comments (default: all).
    comment_ids: Option<Vec<String>>,
}

/// A comment that was not sent yet.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommentRow {
    id: String,
    step_id: Option<String>,
    approval_id: Option<String>,
    path: String,
    /// `old` or `new`.
    side: &'static str,
    line: u64,
    content_hash: String,
    text: String,
    created_at: String,
}

impl From<&Comment> for CommentRow {
    fn from(comment: &Comment) -> Self {
        let (step_id, approval_id) = match comment.target {
            CommentTarget::Step(id) => (Some(id.to_string()), None),
            CommentTarget::Approval(id) => (None, Some(id.to_string())),
        };
        Self {
            id: comment.id.to_string(),
            step_id,
            approval_id,
            path: comment.path.to_string(),
            side: comment.side.word(),
            line: comment.line,
            content_hash: comment.content.to_string(),
            text: comment.text.clone(),
            created_at: comment.at.to_string(),
        }
    }
}

/// A comment, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneComment {
    comment: CommentRow,
}

/// Comments, oldest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommentList {
    comments: Vec<CommentRow>,
    /// Newer ones remain: send this as `cursor`.
    next: Option<String>,
}

/// The diff that a request names; at most one.
fn target(step: Option<&str>, approval: Option<&str>) -> Result<Option<CommentTarget>, Problem> {
    match (step, approval) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            Err(Problem::invalid("approval_id", "expected either `step_id` or `approval_id`"))
        }
        (Some(step), None) => {
            let id =
                step.parse().map_err(|_| Problem::invalid("step_id", "expected a step's id"))?;
            Ok(Some(CommentTarget::Step(id)))
        }
        (None, Some(approval)) => {
            let expected = |_| Problem::invalid("approval_id", "expected a request's id");
            Ok(Some(CommentTarget::Approval(approval.parse().map_err(expected)?)))
        }
    }
}

pub(super) fn create(request: &HttpRequest) -> Result<Reply, Problem> {
    let CommentBody { step_id, approval_id, path, side: Word(side), line, content_hash, text } =
        request.json()?;
    let target = target(step_id.as_deref(), approval_id.as_deref())?.ok_or_else(|| {
        Problem::invalid("step_id", "missing; expected `step_id` or `approval_id`")
    })?;
    let path = WsPath::parse(&path).map_err(|error| Problem::invalid("path", error.to_string()))?;
    let content: ContentHash = content_hash
        .parse()
        .map_err(|_| Problem::invalid("content_hash", "expected a SHA-256, in hexadecimal"))?;
    let new = NewComment { target, path, side, line, content, text };
    let comment = request.session()?.comments().add(&request.call, new)?;
    Reply::created(&OneComment { comment: CommentRow::from(&comment) })
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let CommentsQuery { step_id, approval_id, limit, cursor } = request.query()?;
    let paging = Paging { limit, cursor };
    let target = target(step_id.as_deref(), approval_id.as_deref())?;
    let session = request.session()?;
    let page = session.comments().list(target, paging.cursor()?, paging.limit()?)?;
    let next = page.rows.last().filter(|_| page.truncated).map(|comment| comment.id.to_string());
    Reply::ok(&CommentList { comments: page.rows.iter().map(CommentRow::from).collect(), next })
}

pub(super) fn change(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewText { text } = request.json()?;
    let id = request.id("comment_id", "comment")?;
    let comment = request.session()?.comments().edit(&request.call, id, &text)?;
    Reply::ok(&OneComment { comment: CommentRow::from(&comment) })
}

pub(super) fn remove(request: &HttpRequest) -> Result<Reply, Problem> {
    let id = request.id("comment_id", "comment")?;
    request.session()?.comments().remove(&request.call, id)?;
    Ok(Reply::empty())
}

pub(super) fn send(request: &HttpRequest) -> Result<Reply, Problem> {
    let Sending { chat_id, comment_ids } = request.json()?;
    let chat = chats::id(&chat_id)?;
    let parse = |id: &String| {
        id.parse::<CommentId>()
            .map_err(|_| Problem::invalid("comment_ids", format!("not the id of a comment: {id}")))
    };
    let ids = comment_ids.map(|ids| ids.iter().map(parse).collect::<Result<Vec<_>, _>>());
    let ids = ids.transpose()?;
    let number = request.session()?.comments().send(&request.call, chat, ids.as_deref())?;
    Reply::created(&Posted::new(chat, number))
}
