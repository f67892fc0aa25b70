//! Questions and their answers, one row each.

use rusqlite::{Connection, Row, params};
use yard_core::{ChatId, ContentHash, QuestionId, Timestamp, WsPath};

use super::connections::Flush;
use super::error::corrupt;
use super::event;
use super::value::{self, get, limit, moment};
use super::{SqliteStore, all, append, chat, one, run_or, run_returning_chat};
use crate::{
    AuditEntry, Event, NewQuestion, NewTurn, Question, QuestionAnswer, QuestionFilter,
    QuestionStore, Result,
};

macro_rules! questions {
    ($rest:literal) => {
        concat!(
            "SELECT q.uuid, c.uuid, q.asked_by, q.at, q.form, q.plans, q.answers, q.answered_by, \
             q.via, q.answered_at, q.used FROM question q JOIN chat c ON c.id = q.chat ",
            $rest
        )
    };
}

impl QuestionStore for SqliteStore {
    fn ask(&self, asked: &NewQuestion, turn: &NewTurn, audit: &AuditEntry) -> Result<()> {
        let sql = "INSERT INTO question (uuid, chat, asked_by, at, form, plans) \
                   SELECT ?1, id, ?3, ?4, ?5, ?6 FROM chat WHERE uuid = ?2";
        let values = params![
            asked.id.as_bytes(),
            asked.chat.as_bytes(),
            asked.asked_by,
            asked.at.as_millis(),
            asked.form,
            plans_to_bytes(&asked.plans),
        ];
        let why = format!("there is no chat {}", asked.chat);
        self.db.write(Flush::Now, |connection| {
            run_or(connection, sql, values, why)?;
            chat::add_turn(connection, asked.chat, turn)?;
            let event = Event::Asked { chat: asked.chat, question: asked.id };
            event::add(connection, asked.at, &event)?;
            append::note(connection, audit)
        })
    }

    fn answer(
        &self,
        id: QuestionId,
        given: &QuestionAnswer,
        turn: &NewTurn,
        audit: &AuditEntry,
    ) -> Result<()> {
        let sql = "UPDATE question SET answers = ?2, answered_by = ?3, via = ?4, answered_at = ?5 \
                   WHERE uuid = ?1 AND answers IS NULL \
                   RETURNING (SELECT uuid FROM chat WHERE chat.id = question.chat)";
        let via = value::to_number(given.via);
        let values = params![id.as_bytes(), given.answers, given.by, via, given.at.as_millis()];
        let why = format!("question {id} does not wait for an answer");
        self.db.write(Flush::Now, |connection| {
            let chat = run_returning_chat(connection, sql, values, why)?;
            chat::add_turn(connection, chat, turn)?;
            event::add(connection, given.at, &Event::Answered { chat, question: id })?;
            append::note(connection, audit)
        })
    }

    fn question(&self, id: QuestionId) -> Result<Option<Question>> {
        let sql = questions!("WHERE q.uuid = ?1");
        self.db.glance(|connection| one(connection, sql, [id.as_bytes()], question))
    }

    fn questions(
        &self,
        filter: &QuestionFilter,
        before: Option<QuestionId>,
        count: usize,
    ) -> Result<Vec<Question>> {
        let sql = questions!(
            "WHERE q.id < COALESCE((SELECT id FROM question WHERE uuid = ?1), ?6) \
             AND (?2 IS NULL OR (q.answers IS NOT NULL) = ?2) AND (?3 IS NULL OR q.asked_by = ?3) \
             AND (?4 IS NULL OR c.uuid = ?4) ORDER BY q.id DESC LIMIT ?5"
        );
        let wanted = params![
            before.as_ref().map(QuestionId::as_bytes),
            filter.answered,
            filter.asked_by,
            filter.chat.as_ref().map(ChatId::as_bytes),
            limit(count),
            value::AFTER_NEWEST,
        ];
        self.db.read(|connection| all(connection, sql, wanted, question))
    }

    fn pending_questions(&self, count: usize) -> Result<Vec<(QuestionId, Timestamp)>> {
        let sql = "SELECT uuid, at FROM question WHERE answers IS NULL ORDER BY id LIMIT ?1";
        self.db.read(|connection| {
            all(connection, sql, [limit(count)], |row| {
                Ok((QuestionId::from_bytes(get(row, 0)?), moment(row, 1)?))
            })
        })
    }
}

/// Uses up the answer to a question of a chat; a misfit if there is none that is unused.
pub(super) fn use_up(connection: &Connection, chat: ChatId, id: QuestionId) -> Result<()> {
    let sql = "UPDATE question SET used = 1 WHERE uuid = ?1 AND used = 0 AND answers IS NOT NULL \
               AND chat = (SELECT id FROM chat WHERE uuid = ?2)";
    let why = format!("the answer to question {id} was used already");
    run_or(connection, sql, params![id.as_bytes(), chat.as_bytes()], why)
}

fn question(row: &Row<'_>) -> Result<Question> {
    Ok(Question {
        id: QuestionId::from_bytes(get(row, 0)?),
        chat: ChatId::from_bytes(get(row, 1)?),
        asked_by: get(row, 2)?,
        at: moment(row, 3)?,
        form: get(row, 4)?,
        plans: plans_of_bytes(row.get_ref(5)?.as_blob().map_err(corrupt)?)?,
        given: given(row)?,
        used: get(row, 10)?,
    })
}

fn given(row: &Row<'_>) -> Result<Option<QuestionAnswer>> {
    let Some(answers) = get(row, 6)? else { return Ok(None) };
    let (by, via, at) = (get(row, 7)?, value::numbered(row, 8)?, moment(row, 9)?);
    Ok(Some(QuestionAnswer { answers, by, via, at }))
}

/// Each plan as its hash, its path and a NUL, which no path contains.
fn plans_to_bytes(plans: &[(WsPath, ContentHash)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (path, hash) in plans {
        bytes.extend_from_slice(hash.as_bytes());
        bytes.extend_from_slice(path.relative());
        bytes.push(0);
    }
    bytes
}

fn plans_of_bytes(mut bytes: &[u8]) -> Result<Vec<(WsPath, ContentHash)>> {
    let mut plans = Vec::new();
    while let Some((hash, rest)) = bytes.split_first_chunk::<32>() {
        let end = rest.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| corrupt("the plans of a question do not end"))?;
        let path = WsPath::from_bytes(&rest[..end]).map_err(corrupt)?;
        plans.push((path, ContentHash::from_bytes(*hash)));
        bytes = &rest[end + 1..];
    }
    Ok(plans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_read_back_whatever_their_hashes_hold() {
        let plans: Vec<_> = (0..40u8)
            .map(|n| {
                let path = WsPath::parse(&format!("/plans/{n}.plan")).unwrap();
                // A hash may hold the byte that ends a path.
                (path, ContentHash::from_bytes([n % 3; 32]))
            })
            .collect();
        assert_eq!(plans_of_bytes(&plans_to_bytes(&plans)), Ok(plans));
        assert_eq!(plans_of_bytes(&[]), Ok(vec![]));
    }
}
