//! Comments that were not sent yet, one row each.

use rusqlite::{Row, params};
use yard_core::{ApprovalId, ChatId, CommentId, ContentHash, StepId};

use super::connections::Flush;
use super::error::corrupt;
use super::value::{self, get, limit, moment, number, unsigned};
use super::{SqliteStore, all, append, chat, event, one, run, run_or, unread};
use crate::{AuditEntry, Comment, CommentStore, CommentTarget, Event, NewTurn, Result};

macro_rules! comments {
    ($rest:literal) => {
        concat!(
            "SELECT uuid, author, at, step, approval, path, side, line, content, text FROM comment ",
            $rest
        )
    };
}

impl CommentStore for SqliteStore {
    fn add_comment(&self, comment: &Comment) -> Result<()> {
        let sql = "INSERT INTO comment (uuid, author, at, step, approval, path, side, line, content, text) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let (step, approval) = ids(Some(comment.target));
        let values = params![
            comment.id.as_bytes(),
            comment.author,
            comment.at.as_millis(),
            step,
            approval,
            comment.path.relative(),
            value::to_number(comment.side),
            number(comment.line),
            comment.content.as_bytes(),
            comment.text,
        ];
        self.db.write(Flush::Now, |connection| run(connection, sql, values).map(drop))
    }

    fn edit_comment(&self, id: CommentId, author: &str, text: &str) -> Result<bool> {
        let sql = "UPDATE comment SET text = ?3 WHERE uuid = ?1 AND author = ?2";
        let values = params![id.as_bytes(), author, text];
        self.db.write(Flush::Now, |connection| Ok(run(connection, sql, values)? > 0))
    }

    fn remove_comment(&self, id: CommentId, author: &str) -> Result<bool> {
        let values = params![id.as_bytes(), author];
        self.db.write(Flush::Now, |connection| Ok(run(connection, REMOVE, values)? > 0))
    }

    fn comment(&self, id: CommentId, author: &str) -> Result<Option<Comment>> {
        let sql = comments!("WHERE uuid = ?1 AND author = ?2");
        let values = params![id.as_bytes(), author];
        self.db.read(|connection| one(connection, sql, values, comment))
    }

    fn comments(
        &self,
        author: &str,
        target: Option<CommentTarget>,
        after: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<Comment>> {
        let sql = comments!(
            "WHERE author = ?1 AND (?2 IS NULL OR step = ?2) AND (?3 IS NULL OR approval = ?3) \
             AND id > COALESCE((SELECT id FROM comment WHERE uuid = ?4), 0) ORDER BY id LIMIT ?5"
        );
        let (step, approval) = ids(target);
        let after = after.as_ref().map(CommentId::as_bytes);
        let wanted = params![author, step, approval, after, limit(count)];
        self.db.read(|connection| all(connection, sql, wanted, comment))
    }

    fn comment_count(&self, author: &str) -> Result<u64> {
        let sql = "SELECT count(*) FROM comment WHERE author = ?1";
        let count =
            self.db.read(|connection| one(connection, sql, [author], |row| unsigned(row, 0)))?;
        Ok(count.unwrap_or(0))
    }

    fn send_comments(
        &self,
        chat: ChatId,
        comments: &[CommentId],
        turn: &NewTurn,
        audit: &AuditEntry,
    ) -> Result<u64> {
        self.db.write(Flush::Now, |connection| {
            for id in comments {
                let why = format!("comment {id} is not there any more");
                run_or(connection, REMOVE, params![id.as_bytes(), turn.actor], why)?;
            }
            let posted = chat::add_turn(connection, chat, turn)?;
            unread::add(connection, chat, posted)?;
            event::add(connection, turn.at, &Event::Posted { chat, turn: posted })?;
            append::note(connection, audit)?;
            Ok(posted)
        })
    }
}

const REMOVE: &str = "DELETE FROM comment WHERE uuid = ?1 AND author = ?2";

/// The columns of a target: a step or a request.
fn ids(target: Option<CommentTarget>) -> (Option<[u8; 16]>, Option<[u8; 16]>) {
    match target {
        None => (None, None),
        Some(CommentTarget::Step(id)) => (Some(*id.as_bytes()), None),
        Some(CommentTarget::Approval(id)) => (None, Some(*id.as_bytes())),
    }
}

fn comment(row: &Row<'_>) -> Result<Comment> {
    let step = value::id(row, 3, StepId::from_bytes)?.map(CommentTarget::Step);
    let approval = value::id(row, 4, ApprovalId::from_bytes)?.map(CommentTarget::Approval);
    Ok(Comment {
        id: CommentId::from_bytes(get(row, 0)?),
        author: get(row, 1)?,
        at: moment(row, 2)?,
        target: step.or(approval).ok_or_else(|| corrupt("a comment is about nothing"))?,
        path: value::path(row, 5)?.ok_or_else(|| corrupt("a comment has no path"))?,
        side: value::numbered(row, 6)?,
        line: unsigned(row, 7)?,
        content: ContentHash::from_bytes(get(row, 8)?),
        text: get(row, 9)?,
    })
}
