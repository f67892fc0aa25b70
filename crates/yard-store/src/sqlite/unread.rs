//! Messages that the agent of a chat has not received yet: the numbers of their turns, by chat.

use rusqlite::{Connection, params};
use yard_core::ChatId;

use super::connections::Flush;
use super::value::{limit, number};
use super::{SqliteStore, all, chat, one, run};
use crate::{Result, Turn, UnreadMessages};

impl UnreadMessages for SqliteStore {
    fn has_unread(&self) -> Result<bool> {
        let sql = "SELECT 1 FROM unread LIMIT 1";
        self.db.glance(|connection| Ok(one(connection, sql, [], |_| Ok(()))?.is_some()))
    }

    fn take_unread(&self, chat: ChatId, count: usize, max_bytes: usize) -> Result<Vec<Turn>> {
        let of_chat =
            "SELECT 1 FROM unread WHERE chat = (SELECT id FROM chat WHERE uuid = ?1) LIMIT 1";
        let waits =
            |connection: &Connection| one(connection, of_chat, [chat.as_bytes()], |_| Ok(()));
        // Where nothing waits, which is the rule, nothing is written.
        if self.db.glance(waits)?.is_none() {
            return Ok(Vec::new());
        }
        let sql = "SELECT turn.id, at, actor, kind, data, text FROM unread \
                   JOIN turn ON turn.id = unread.turn \
                   WHERE unread.chat = (SELECT id FROM chat WHERE uuid = ?1) \
                   ORDER BY unread.turn LIMIT ?2";
        self.db.write(Flush::Now, |connection| {
            let wanted = params![chat.as_bytes(), limit(count)];
            let mut turns = all(connection, sql, wanted, chat::turn)?;
            let mut bytes = 0_usize;
            let fitting = turns.iter().take_while(|turn| {
                let is_first = bytes == 0;
                bytes = bytes.saturating_add(turn.data.len().max(1));
                is_first || bytes <= max_bytes
            });
            let fitting = fitting.count();
            turns.truncate(fitting);
            for turn in &turns {
                let sql = "DELETE FROM unread WHERE turn = ?1 \
                           AND chat = (SELECT id FROM chat WHERE uuid = ?2)";
                run(connection, sql, params![number(turn.number), chat.as_bytes()])?;
            }
            Ok(turns)
        })
    }

    fn put_back_unread(&self, chat: ChatId, numbers: &[u64]) -> Result<()> {
        self.db.write(Flush::Now, |connection| {
            numbers.iter().try_for_each(|turn| add(connection, chat, *turn))
        })
    }
}

/// Makes a turn of a chat unread; nothing if the chat does not have it.
pub(super) fn add(connection: &Connection, chat: ChatId, turn: u64) -> Result<()> {
    let sql = "INSERT OR IGNORE INTO unread (chat, turn) SELECT chat, id FROM turn \
               WHERE id = ?2 AND chat = (SELECT id FROM chat WHERE uuid = ?1)";
    run(connection, sql, params![chat.as_bytes(), number(turn)]).map(drop)
}
