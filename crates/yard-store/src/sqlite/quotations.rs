//! Removing quotations of purged contents: requests for approval, turns of chats and questions lose the texts that
//! quote one. The rows stay, with who asked and what was decided. A comment that quotes one and was not sent is removed.

use rusqlite::{Connection, params};
use yard_core::{ApprovalId, ChatId};

use super::event;
use super::value::{self, get};
use super::{all, one, run};
use crate::traces::Traces;
use crate::{ApprovalStatus, AuditEntry, Event, Result, Scope, Via};

/// The replacement of a text that was purged.
const PURGED: &str = "[purged]";
/// The same for the JSON data of a turn.
const PURGED_DATA: &str = r#"{"purged":true}"#;
/// The same for the text of a turn in a transcript.
const PURGED_TURN: &str = "\n[purged]\n";
/// Rows that are read at once.
const PAGE: i64 = 256;

/// Removes every quotation. A request that was still pending is denied, because it no longer says what it asks for.
pub(super) fn forget(connection: &Connection, traces: &Traces, entry: &AuditEntry) -> Result<()> {
    for row in quoting(connection, APPROVALS, traces)? {
        approval(connection, row)?;
        deny(connection, row, entry)?;
    }
    // The undecided changes of a command may contain anything. (A request that was approved and has a run is about
    // a command that runs now.)
    let sql = "SELECT id FROM approval WHERE run IS NOT NULL AND status = ?1";
    let pending = value::to_number(ApprovalStatus::Pending);
    for row in all(connection, sql, [pending], |row| get::<i64>(row, 0))? {
        approval(connection, row)?;
        deny(connection, row, entry)?;
    }
    for row in quoting(connection, TURNS, traces)? {
        turn(connection, row)?;
    }
    for row in quoting(connection, QUESTIONS, traces)? {
        question(connection, row, entry)?;
    }
    for row in quoting(connection, COMMENTS, traces)? {
        run(connection, "DELETE FROM comment WHERE id = ?1", [row])?;
    }
    Ok(())
}

/// Each selects a row's number and everything in it that may quote, after row ?1.
const APPROVALS: &str =
    "SELECT id, args || ' ' || reason || ' ' || diff || ' ' || COALESCE(word, '')
                         || ' ' || COALESCE(other_args, '') || ' ' || COALESCE(answer, '')
                         FROM approval WHERE id > ?1 ORDER BY id LIMIT ?2";
const TURNS: &str = "SELECT id, data || ' ' || text FROM turn WHERE id > ?1 ORDER BY id LIMIT ?2";
const QUESTIONS: &str = "SELECT id, form || ' ' || COALESCE(answers, '') FROM question
                         WHERE id > ?1 ORDER BY id LIMIT ?2";
const COMMENTS: &str = "SELECT id, text FROM comment WHERE id > ?1 ORDER BY id LIMIT ?2";

/// The rows whose texts quote.
fn quoting(connection: &Connection, sql: &str, traces: &Traces) -> Result<Vec<i64>> {
    let (mut quoting, mut after) = (Vec::new(), 0);
    loop {
        let rows = all(connection, sql, [after, PAGE], |row| {
            Ok((get::<i64>(row, 0)?, get::<String>(row, 1)?))
        })?;
        let Some((last, _)) = rows.last() else { return Ok(quoting) };
        after = *last;
        quoting.extend(rows.iter().filter(|(_, text)| traces.are_in(text)).map(|(row, _)| *row));
    }
}

fn approval(connection: &Connection, row: i64) -> Result<()> {
    let sql = "UPDATE approval SET args = '{}', reason = ?2, diff = '', answer = NULL,
               word = CASE WHEN word IS NOT NULL THEN ?2 END,
               other_args = CASE WHEN other_args IS NOT NULL THEN '{}' END WHERE id = ?1";
    run(connection, sql, params![row, PURGED]).map(drop)
}

/// Denies a request that is not executed yet, in the name of the actor who purges.
fn deny(connection: &Connection, row: i64, entry: &AuditEntry) -> Result<()> {
    let sql =
        "UPDATE approval SET status = ?2, approves = 0, scope = ?3, word = ?4, decided_by = ?5,
               decided_at = ?6 WHERE id = ?1 AND status IN (?7, ?8)
               RETURNING uuid, (SELECT uuid FROM chat WHERE chat.id = approval.chat)";
    let word = "what it asked for was purged";
    let denied = one(
        connection,
        sql,
        params![
            row,
            value::to_number(ApprovalStatus::Denied),
            value::to_number(Scope::Once),
            word,
            entry.actor,
            entry.at.as_millis(),
            value::to_number(ApprovalStatus::Pending),
            value::to_number(ApprovalStatus::Approved),
        ],
        |row| Ok((ApprovalId::from_bytes(get(row, 0)?), ChatId::from_bytes(get(row, 1)?))),
    )?;
    match denied {
        Some((approval, chat)) => {
            let event = Event::Decided { chat, approval, status: ApprovalStatus::Denied };
            event::add(connection, entry.at, &event)
        }
        None => Ok(()),
    }
}

fn turn(connection: &Connection, row: i64) -> Result<()> {
    let sql = "UPDATE chat SET bytes = bytes + ?2 - (SELECT length(CAST(text AS BLOB)) FROM turn WHERE id = ?1)
               WHERE id = (SELECT chat FROM turn WHERE id = ?1)";
    run(connection, sql, params![row, PURGED_TURN.len() as i64])?;
    let sql = "UPDATE turn SET data = ?2, text = ?3 WHERE id = ?1";
    run(connection, sql, params![row, PURGED_DATA, PURGED_TURN]).map(drop)
}

/// Empties a question; one that was still pending becomes answered with nothing.
fn question(connection: &Connection, row: i64, entry: &AuditEntry) -> Result<()> {
    let sql = "UPDATE question SET form = '[]', answers = '{}',
               answered_by = COALESCE(answered_by, ?2), via = COALESCE(via, ?3),
               answered_at = COALESCE(answered_at, ?4) WHERE id = ?1";
    let via = value::to_number(Via::Text);
    run(connection, sql, params![row, entry.actor, via, entry.at.as_millis()]).map(drop)
}
