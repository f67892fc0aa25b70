//! Chats and their turns.

use rusqlite::{Connection, Row, params};
use yard_core::{ChatId, Name};

use super::connections::Flush;
use super::error::corrupt;
use super::event;
use super::value::{self, get, limit, moment, number, unsigned};
use super::{SqliteStore, all, append, one, run, run_or};
use crate::{
    ApprovalStatus, AuditEntry, Chat, ChatStore, Event, Mode, NewChat, NewTurn, Result, StoreError,
    Turn, TurnKind, chat_file_name,
};

macro_rules! chats {
    ($rest:literal) => {
        concat!(
            "SELECT uuid, title, name, mode, made_by, default_of, created, updated, bytes FROM chat ",
            $rest
        )
    };
}

impl ChatStore for SqliteStore {
    fn make_chat(&self, chat: &NewChat, audit: &AuditEntry) -> Result<Chat> {
        self.db.write(Flush::Now, |connection| make_chat(connection, chat, audit))
    }

    fn rename_chat(&self, id: ChatId, title: &str, header: &str, audit: &AuditEntry) -> Result<()> {
        self.db.write(Flush::Now, |connection| {
            let sql = "UPDATE chat SET title = ?2, bytes = bytes - octet_length(header) + ?4, \
                       header = ?3 WHERE uuid = ?1";
            let values = params![id.as_bytes(), title, header, header.len() as i64];
            run_or(connection, sql, values, no_chat(id))?;
            event::add(connection, audit.at, &Event::ChatRenamed { chat: id })?;
            append::note(connection, audit)
        })
    }

    fn remove_chat(&self, id: ChatId, audit: &AuditEntry) -> Result<()> {
        self.db.write(Flush::Now, |connection| {
            remove_chat(connection, id)?;
            event::add(connection, audit.at, &Event::ChatRemoved { chat: id })?;
            append::note(connection, audit)
        })
    }

    fn chat(&self, id: ChatId) -> Result<Option<Chat>> {
        self.db.glance(|connection| by_id(connection, id))
    }

    fn default_chat(&self, actor: &str) -> Result<Option<Chat>> {
        self.db.glance(|connection| default_of(connection, actor))
    }

    fn chat_named(&self, name: &Name) -> Result<Option<Chat>> {
        let sql = chats!("WHERE name = ?1");
        self.db.glance(|connection| one(connection, sql, [name.as_bytes()], chat))
    }

    fn chats(&self, before: Option<ChatId>, count: usize) -> Result<Vec<Chat>> {
        let sql = chats!(
            "WHERE id < COALESCE((SELECT id FROM chat WHERE uuid = ?1), ?3) \
             ORDER BY id DESC LIMIT ?2"
        );
        let before = before.as_ref().map(ChatId::as_bytes);
        let bounds = params![before, limit(count), value::AFTER_NEWEST];
        self.db.read(|connection| all(connection, sql, bounds, chat))
    }

    fn set_mode(&self, chat: ChatId, mode: Mode, turn: &NewTurn, audit: &AuditEntry) -> Result<()> {
        self.db.write(Flush::Now, |connection| {
            set_mode(connection, chat, mode)?;
            add_turn(connection, chat, turn)?;
            event::add(connection, turn.at, &Event::ModeChanged { chat, mode })?;
            append::note(connection, audit)
        })
    }

    fn post(&self, chat: ChatId, turn: &NewTurn) -> Result<u64> {
        self.db.write(Flush::Now, |connection| {
            let posted = add_turn(connection, chat, turn)?;
            event::add(connection, turn.at, &Event::Posted { chat, turn: posted })?;
            Ok(posted)
        })
    }

    fn record(&self, chat: ChatId, turn: &NewTurn) -> Result<()> {
        self.db.write(Flush::Later, |connection| add_turn(connection, chat, turn).map(|_| ()))
    }

    fn turns(
        &self,
        chat: ChatId,
        kind: Option<TurnKind>,
        after: u64,
        count: usize,
    ) -> Result<Vec<Turn>> {
        let sql = "SELECT id, at, actor, kind, data, text FROM turn \
                   WHERE chat = (SELECT id FROM chat WHERE uuid = ?1) AND id > ?2 \
                   AND (?3 IS NULL OR kind = ?3) ORDER BY id LIMIT ?4";
        let kind = kind.map(value::to_number);
        let wanted = params![chat.as_bytes(), number(after), kind, limit(count)];
        self.db.read(|connection| all(connection, sql, wanted, turn))
    }

    fn transcript_header(&self, chat: ChatId) -> Result<Option<String>> {
        let sql = "SELECT header FROM chat WHERE uuid = ?1";
        self.db.glance(|connection| one(connection, sql, [chat.as_bytes()], |row| get(row, 0)))
    }

    fn transcript(&self, chat: ChatId) -> Result<Option<String>> {
        self.db.read_at_once(|connection| transcript(connection, chat))
    }
}

fn make_chat(connection: &Connection, chat: &NewChat, audit: &AuditEntry) -> Result<Chat> {
    if let Some(actor) = &chat.default_of
        && let Some(known) = default_of(connection, actor)?
    {
        return Ok(known);
    }
    let sql = "INSERT INTO chat (uuid, title, name, mode, made_by, default_of, created, updated, \
               bytes, header) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?9)";
    let (at, name) = (chat.at.as_millis(), free_name(connection, &chat.title)?);
    let values = params![
        chat.id.as_bytes(),
        chat.title,
        name.as_bytes(),
        value::to_number(chat.mode),
        chat.made_by,
        chat.default_of,
        at,
        chat.header.len() as i64,
        chat.header,
    ];
    run(connection, sql, values)?;
    event::add(connection, chat.at, &Event::ChatMade { chat: chat.id })?;
    append::note(connection, audit)?;
    by_id(connection, chat.id)?.ok_or_else(|| corrupt("a chat is gone as soon as it is made"))
}

/// Removes a chat with its turns, questions, requests and permissions.
fn remove_chat(connection: &Connection, id: ChatId) -> Result<()> {
    let sql = "SELECT id FROM chat WHERE uuid = ?1";
    let row = one(connection, sql, [id.as_bytes()], |row| get::<i64>(row, 0))?;
    let row = row.ok_or_else(|| StoreError::Misfit(no_chat(id)))?;
    let sql = "SELECT 1 FROM approval WHERE chat = ?1 AND status IN (?2, ?3) LIMIT 1";
    let [pending, approved] =
        [ApprovalStatus::Pending, ApprovalStatus::Approved].map(value::to_number);
    if one(connection, sql, params![row, pending, approved], |_| Ok(()))?.is_some() {
        return Err(StoreError::Misfit(format!("requests of chat {id} still wait")));
    }
    let sql = "SELECT 1 FROM question WHERE chat = ?1 AND answers IS NULL LIMIT 1";
    if one(connection, sql, [row], |_| Ok(()))?.is_some() {
        return Err(StoreError::Misfit(format!("questions of chat {id} still wait")));
    }
    for sql in [
        "DELETE FROM unread WHERE chat = ?1",
        "DELETE FROM turn WHERE chat = ?1",
        "DELETE FROM question WHERE chat = ?1",
        "DELETE FROM approval WHERE chat = ?1",
        "DELETE FROM chat WHERE id = ?1",
    ] {
        run(connection, sql, [row])?;
    }
    let sql = "DELETE FROM allowed WHERE chat = ?1";
    run(connection, sql, [id.as_bytes()]).map(drop)
}

/// The first name for a title that no chat has.
fn free_name(connection: &Connection, title: &str) -> Result<Name> {
    let sql = "SELECT 1 FROM chat WHERE name = ?1";
    for nth in 1.. {
        let name = chat_file_name(title, nth);
        if one(connection, sql, [name.as_bytes()], |_| Ok(()))?.is_none() {
            return Name::new(name.as_bytes()).map_err(corrupt);
        }
    }
    Err(corrupt("every name is taken"))
}

fn by_id(connection: &Connection, id: ChatId) -> Result<Option<Chat>> {
    one(connection, chats!("WHERE uuid = ?1"), [id.as_bytes()], chat)
}

fn default_of(connection: &Connection, actor: &str) -> Result<Option<Chat>> {
    one(connection, chats!("WHERE default_of = ?1"), [actor], chat)
}

fn chat(row: &Row<'_>) -> Result<Chat> {
    Ok(Chat {
        id: ChatId::from_bytes(get(row, 0)?),
        title: get(row, 1)?,
        name: value::name(row, 2)?.ok_or_else(|| corrupt("a chat has no name"))?,
        mode: value::numbered(row, 3)?,
        made_by: get(row, 4)?,
        default_of: get(row, 5)?,
        created_at: moment(row, 6)?,
        updated_at: moment(row, 7)?,
        bytes: unsigned(row, 8)?,
    })
}

pub(super) fn set_mode(connection: &Connection, chat: ChatId, mode: Mode) -> Result<()> {
    let sql = "UPDATE chat SET mode = ?2 WHERE uuid = ?1";
    let values = params![chat.as_bytes(), value::to_number(mode)];
    run_or(connection, sql, values, no_chat(chat))
}

/// Adds a turn to a chat's transcript; returns its number.
pub(super) fn add_turn(connection: &Connection, chat: ChatId, turn: &NewTurn) -> Result<u64> {
    let sql = "UPDATE chat SET bytes = bytes + ?2, updated = max(updated, ?3) WHERE uuid = ?1 \
               RETURNING id";
    let grown = params![chat.as_bytes(), turn.text.len() as i64, turn.at.as_millis()];
    let row = one(connection, sql, grown, |row| get::<i64>(row, 0))?;
    let sql =
        "INSERT INTO turn (chat, at, actor, kind, data, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![
        row.ok_or_else(|| StoreError::Misfit(no_chat(chat)))?,
        turn.at.as_millis(),
        turn.actor,
        value::to_number(turn.kind),
        turn.data,
        turn.text,
    ];
    run(connection, sql, values)?;
    Ok(connection.last_insert_rowid().cast_unsigned())
}

pub(super) fn no_chat(chat: ChatId) -> String {
    format!("there is no chat {chat}")
}

pub(super) fn turn(row: &Row<'_>) -> Result<Turn> {
    Ok(Turn {
        number: unsigned(row, 0)?,
        at: moment(row, 1)?,
        actor: get(row, 2)?,
        kind: value::numbered(row, 3)?,
        data: get(row, 4)?,
        text: get(row, 5)?,
    })
}

fn transcript(connection: &Connection, chat: ChatId) -> Result<Option<String>> {
    let sql = "SELECT id, header FROM chat WHERE uuid = ?1";
    let begun = one(connection, sql, [chat.as_bytes()], |row| {
        Ok((get::<i64>(row, 0)?, get::<String>(row, 1)?))
    })?;
    let Some((row, mut text)) = begun else { return Ok(None) };
    let mut statement =
        connection.prepare_cached("SELECT text FROM turn WHERE chat = ?1 ORDER BY id")?;
    let mut turns = statement.query([row])?;
    while let Some(turn) = turns.next()? {
        text.push_str(turn.get_ref(0)?.as_str().map_err(corrupt)?);
    }
    Ok(Some(text))
}
