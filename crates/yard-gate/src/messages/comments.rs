//! Comments of people on lines of diffs. Only its author sees a comment, until it is sent to the agent of a chat together
//! with others, as one message.

use yard_core::diff_line::line_of_diff;
use yard_core::op::{Show, Shown};
use yard_core::{
    Call, ChatId, CommentId, ContentHash, DiffSide, Fault, FaultCode, Result, StepId, WsPath,
};
use yard_store::{Comment, CommentTarget, StoreError};

use crate::messages::person_message;
use crate::transcript::sent_comments::SentComment;
use crate::{Asks, Completion, ListPage, Origin, Session};

/// The longest comment, in bytes.
pub const COMMENT_BYTES: usize = 8 << 10;
/// How many comments one person may have in one workspace before they are sent.
const MAX_COMMENTS: u64 = 500;
/// The diff of a step in which the lines of comments are looked up, in bytes.
const DIFF_BYTES: u64 = 4 << 20;

/// The origin of reads for comments, for rules that name tools.
const COMMENTS: Origin<'static> =
    Origin { toolset: "workspace", tool: "comments", asks: Asks::Never };

/// A new comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewComment {
    /// The diff that it is about.
    pub target: CommentTarget,
    /// The file.
    pub path: WsPath,
    /// The side of the diff.
    pub side: DiffSide,
    /// The line, from 1.
    pub line: u64,
    /// The content of the file on that side.
    pub content: ContentHash,
    /// The comment.
    pub text: String,
}

/// The comments of a session's person that were not sent yet.
pub struct Comments<'a>(&'a Session);

impl Session {
    /// The comments of this session's person.
    pub fn comments(&self) -> Comments<'_> {
        Comments(self)
    }
}

impl Comments<'_> {
    /// Adds a comment.
    pub fn add(&self, call: &Call, new: NewComment) -> Result<Comment> {
        self.check_person(call)?;
        check_text(&new.text)?;
        self.check_place(call, &new)?;
        let (session, author) = (self.0, self.0.actor().name());
        if session.open().records.comment_count(&author)? >= MAX_COMMENTS {
            return Err(bad(format!(
                "there are {MAX_COMMENTS} comments that were not sent, which is the most: send or delete some"
            )));
        }
        let NewComment { target, path, side, line, content, text } = new;
        let (id, at) = (CommentId::new(call.world()), call.world().now());
        let comment = Comment { id, author, at, target, path, side, line, content, text };
        session.open().records.add_comment(&comment)?;
        Ok(comment)
    }

    /// A comment.
    pub fn get(&self, id: CommentId) -> Result<Comment> {
        let found = self.0.open().records.comment(id, &self.0.actor().name())?;
        found.ok_or_else(|| no_comment(id))
    }

    /// Comments after `after`, oldest first, only those about `target` if it is given.
    pub fn list(
        &self,
        target: Option<CommentTarget>,
        after: Option<CommentId>,
        limit: usize,
    ) -> Result<ListPage<Comment>> {
        if let Some(id) = after {
            self.get(id)?;
        }
        let (records, author) = (&self.0.open().records, self.0.actor().name());
        ListPage::read(limit, |count| records.comments(&author, target, after, count))
    }

    /// Gives a comment another text.
    pub fn edit(&self, call: &Call, id: CommentId, text: &str) -> Result<Comment> {
        self.check_person(call)?;
        check_text(text)?;
        match self.0.open().records.edit_comment(id, &self.0.actor().name(), text)? {
            true => self.get(id),
            false => Err(no_comment(id)),
        }
    }

    /// Removes a comment.
    pub fn remove(&self, call: &Call, id: CommentId) -> Result<()> {
        self.check_person(call)?;
        match self.0.open().records.remove_comment(id, &self.0.actor().name())? {
            true => Ok(()),
            false => Err(no_comment(id)),
        }
    }

    /// Sends comments, or all of them, to the agent of a chat as one message. Returns the number of its turn. The agent
    /// receives it with the next answer to one of its calls in that chat.
    pub fn send(&self, call: &Call, chat: ChatId, ids: Option<&[CommentId]>) -> Result<u64> {
        self.check_person(call)?;
        let session = self.0;
        session.check_bound(Some(chat))?;
        session.chats().get(chat)?;
        let comments = self.chosen(ids)?;
        let ids: Vec<CommentId> = comments.iter().map(|comment| comment.id).collect();
        let sent = self.with_lines(call, comments);
        let audit = session.audit_entry(
            call,
            "send comments",
            format!("{} comments to chat {chat}", ids.len()),
        );
        let turn = person_message::of_comments(audit.at, audit.actor.clone(), &sent)?;
        let turn = session.with_about(COMMENTS, call, turn, None);
        let number = match session.open().records.send_comments(chat, &ids, &turn, &audit) {
            Err(StoreError::Misfit(why)) => {
                let message = format!("{why}: list the comments, and send them again");
                return Err(Fault::new(FaultCode::Stale, message));
            }
            done => done?,
        };
        session.open().changes.notify();
        Ok(number)
    }

    /// The named comments, or all, oldest first.
    fn chosen(&self, ids: Option<&[CommentId]>) -> Result<Vec<Comment>> {
        let author = self.0.actor().name();
        let most = usize::try_from(MAX_COMMENTS).unwrap_or(usize::MAX);
        let mut comments = match ids {
            None => self.0.open().records.comments(&author, None, None, most)?,
            Some(ids) if ids.len() > most => {
                return Err(bad(format!("at most {MAX_COMMENTS} comments are sent at once")));
            }
            Some(ids) => ids.iter().map(|id| self.get(*id)).collect::<Result<Vec<_>>>()?,
        };
        comments.sort_by_key(|comment| comment.id);
        comments.dedup_by_key(|comment| comment.id);
        if comments.is_empty() {
            return Err(bad("there is no comment to send: make one first".to_owned()));
        }
        Ok(comments)
    }

    /// The comments with the texts of their lines, as far as the person may read them.
    fn with_lines(&self, call: &Call, comments: Vec<Comment>) -> Vec<SentComment> {
        // The diff that was shown last: consecutive comments are mostly about the same one.
        let mut shown: Option<(CommentTarget, Vec<String>)> = None;
        let quote = |comment: Comment| {
            if shown.as_ref().is_none_or(|(target, _)| *target != comment.target) {
                shown = Some((comment.target, self.diffs(call, comment.target)));
            }
            let mut diffs = shown.iter().flat_map(|(_, diffs)| diffs);
            let line = diffs
                .find_map(|diff| line_of_diff(diff, &comment.path, comment.side, comment.line));
            let line = line.map(str::to_owned);
            SentComment { line_text: line, comment }
        };
        comments.into_iter().map(quote).collect()
    }

    /// The diffs of a step or a request; none if it is not there any more, or cannot be shown.
    fn diffs(&self, call: &Call, target: CommentTarget) -> Vec<String> {
        match target {
            CommentTarget::Step(step) => {
                let shown = self.show(call, step, DIFF_BYTES);
                let changes = shown.map_or_else(|_| Vec::new(), |shown| shown.changes);
                changes.into_iter().filter_map(|change| change.diff).collect()
            }
            CommentTarget::Approval(id) => {
                let approval = self.0.approvals().get(id);
                approval.map_or_else(|_| Vec::new(), |approval| vec![approval.request.diff])
            }
        }
    }

    fn show(&self, call: &Call, step: StepId, max_bytes: u64) -> Result<Shown> {
        match self.0.perform(COMMENTS, call, Show::all(step, max_bytes))? {
            Completion::Done(shown) => Ok(shown),
            Completion::Pending(_) => {
                Err(Fault::new(FaultCode::Denied, "the step may be shown only after an approval"))
            }
        }
    }

    /// A fault if the diff does not have that line of that content.
    fn check_place(&self, call: &Call, new: &NewComment) -> Result<()> {
        let NewComment { target, path, side, line, content, .. } = new;
        if !(1..=u64::from(u32::MAX)).contains(line) {
            return Err(bad("lines are numbered from 1".to_owned()));
        }
        match target {
            CommentTarget::Step(step) => {
                let shown = self.show(call, *step, 0)?;
                let has_content = shown.changes.iter().any(|change| match side {
                    DiffSide::Old => {
                        (&change.from, change.hashes.0) == (&Some(path.clone()), Some(*content))
                    }
                    DiffSide::New => {
                        (&change.to, change.hashes.1) == (&Some(path.clone()), Some(*content))
                    }
                });
                if has_content {
                    return Ok(());
                }
                Err(bad(format!(
                    "the {} side of step {step} has no {path} with the content {content}: send path and hash as \
                     the step shows them",
                    side.word()
                )))
            }
            CommentTarget::Approval(id) => {
                let approval = self.0.approvals().get(*id)?;
                if line_of_diff(&approval.request.diff, path, *side, *line).is_some() {
                    return Ok(());
                }
                Err(bad(format!(
                    "line {line} of the {} side of {path} is not in the diff of request {id}: comment on a line \
                     that it shows",
                    side.word()
                )))
            }
        }
    }

    fn check_person(&self, call: &Call) -> Result<()> {
        let session = self.0;
        session.check_record_write(call, "comment")?;
        match session.actor().is_person() {
            true => Ok(()),
            false => session.refuse(call, "comment", "", "only a person comments"),
        }
    }
}

fn check_text(text: &str) -> Result<()> {
    if !text.trim().is_empty() && text.len() <= COMMENT_BYTES {
        return Ok(());
    }
    Err(bad(format!("a comment has 1 to {COMMENT_BYTES} bytes, this one has {}", text.len())))
}

fn bad(message: String) -> Fault {
    Fault::new(FaultCode::BadArgument, message)
}

fn no_comment(id: CommentId) -> Fault {
    let message = format!("you have no comment {id} in this workspace; it may have been sent");
    Fault::new(FaultCode::NotFound, message)
}
