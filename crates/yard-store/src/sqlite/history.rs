//! Reading history: steps, their changes, versions and the audit chain.

use rusqlite::{Connection, Row, params};
use yard_core::{Author, ChatId, ChatScope, FileId, FileState, StepId, VersionId, WsPath};

use super::error::corrupt;
use super::value::{self, StateColumns, get, limit, moment, number, unsigned};
use super::{all, one};
use crate::{
    AuditRow, AuditedStep, Change, Formula, Maker, Node, OthersChange, Result, Seq, StepRow,
    StoredCounts, VersionRow, step_digest,
};

// The columns of a step `s`, joined with the step `u` that it undid and with the change `x` that it is known by: the first
// that left a content, which tells more than a folder that was made for it.
macro_rules! step_columns {
    () => {
        "s.seq, s.id, s.at, s.author, s.verb, s.undoes, u.id, s.files, \
         COALESCE(x.destination, x.origin), s.actor, s.chat"
    };
}

// Joins that change only for steps with more than `$more_than` files, and looks for it among the first 64. SQLite skips
// the seek where the CASE is NULL; with a condition in ON or WHERE it would seek first and drop the row afterwards.
macro_rules! step_joins {
    ($more_than:literal) => {
        concat!(
            " LEFT JOIN step u ON u.seq = s.undoes LEFT JOIN change x \
             ON x.id = CASE WHEN s.files > 1 THEN COALESCE((SELECT y.id FROM change y \
             WHERE y.id BETWEEN s.first AND s.first + min(s.files, 64) - 1 AND y.content IS NOT NULL \
             ORDER BY y.id LIMIT 1), s.first) WHEN s.files > ",
            $more_than,
            " THEN s.first END "
        )
    };
}

// The columns of the state after a change, joined with the row of its parent and the row of its content.
macro_rules! state_columns {
    ($change:literal, $parent:literal, $content:literal) => {
        concat!(
            $change,
            ".flags, ",
            $change,
            ".parent, ",
            $parent,
            ".uuid, ",
            $change,
            ".name, ",
            $change,
            ".mode, ",
            $content,
            ".hash, ",
            $change,
            ".size, ",
            $change,
            ".destination"
        )
    };
}
pub(super) const STATE_COLUMNS: usize = 8;
pub(super) use {state_columns, step_columns, step_joins};

pub(super) fn head(connection: &Connection) -> Result<Seq> {
    let sql = "SELECT COALESCE(max(seq), 0) FROM step";
    Ok(one(connection, sql, [], |row| unsigned(row, 0))?.unwrap_or(0))
}

pub(super) fn step(connection: &Connection, id: StepId) -> Result<Option<StepRow>> {
    let sql = concat!(
        "SELECT ",
        step_columns!(),
        " FROM named n JOIN step s ON s.seq = n.row AND s.id = n.id",
        step_joins!(0),
        "WHERE n.id = ?1"
    );
    one(connection, sql, [id.as_bytes()], |row| step_row(row, 0))
}

pub(super) fn steps(
    connection: &Connection,
    before: Option<Seq>,
    count: usize,
) -> Result<Vec<StepRow>> {
    let sql = concat!(
        "SELECT ",
        step_columns!(),
        " FROM step s",
        step_joins!(0),
        "WHERE s.seq < ?1 ORDER BY s.seq DESC LIMIT ?2"
    );
    let before = number(before.unwrap_or(Seq::MAX));
    all(connection, sql, params![before, limit(count)], |row| step_row(row, 0))
}

pub(super) fn steps_of(
    connection: &Connection,
    file: FileId,
    before: Option<Seq>,
    count: usize,
) -> Result<Vec<StepRow>> {
    let sql = concat!(
        "SELECT ",
        step_columns!(),
        " FROM (SELECT DISTINCT seq FROM change \
         WHERE file = (SELECT row FROM named WHERE id = ?1) AND seq < ?2 \
         ORDER BY seq DESC LIMIT ?3) c JOIN step s ON s.seq = c.seq",
        step_joins!(0),
        "ORDER BY s.seq DESC"
    );
    let before = number(before.unwrap_or(Seq::MAX));
    all(connection, sql, params![file.as_bytes(), before, limit(count)], |row| step_row(row, 0))
}

pub(super) fn step_row(row: &Row<'_>, at: usize) -> Result<StepRow> {
    let verb: String = get(row, at + 4)?;
    let named = value::link(row, at + 5, at + 6)?.map(StepId::from_bytes);
    let (undoes, back_to) = StepRow::undone_and_back_to(&verb, named);
    Ok(StepRow {
        seq: unsigned(row, at)?,
        id: StepId::from_bytes(get(row, at + 1)?),
        at: moment(row, at + 2)?,
        author: value::numbered(row, at + 3)?,
        verb,
        chat: value::id(row, at + 10, ChatId::from_bytes)?,
        undoes,
        back_to,
        files: unsigned(row, at + 7)?,
        path: value::path(row, at + 8)?,
        actor: get(row, at + 9)?,
    })
}

pub(super) fn changes(connection: &Connection, seq: Seq) -> Result<Vec<Change>> {
    let sql = "SELECT first, files FROM step WHERE seq = ?1";
    let own = one(connection, sql, [number(seq)], |row| Ok((get(row, 0)?, get(row, 1)?)))?;
    let Some((first, files)) = own else { return Ok(Vec::new()) };
    let changes = changes_in(connection, first, files)?;
    Ok(changes.into_iter().map(|(_, change)| change).collect())
}

/// `count` changes from row `first` on, each with its step.
pub(super) fn changes_in(
    connection: &Connection,
    first: i64,
    count: i64,
) -> Result<Vec<(Seq, Change)>> {
    let sql = concat!(
        "SELECT ",
        state_columns!("c", "cp", "cc"),
        ", ",
        state_columns!("p", "pp", "pc"),
        ", c.origin, c.version, f.uuid, c.seq FROM change c JOIN file f ON f.id = c.file \
         LEFT JOIN file cp ON cp.id = NULLIF(c.parent, 0) LEFT JOIN content cc ON cc.id = c.content \
         LEFT JOIN change p ON p.id = c.previous \
         LEFT JOIN file pp ON pp.id = NULLIF(p.parent, 0) LEFT JOIN content pc ON pc.id = p.content \
         WHERE c.id >= ?1 AND c.id < ?1 + ?2 ORDER BY c.id"
    );
    all(connection, sql, [first, count], |row| {
        let file = FileId::from_bytes(get(row, 2 * STATE_COLUMNS + 2)?);
        let mut change = change(row, file, 2 * STATE_COLUMNS)?;
        let before_to = value::path(row, 2 * STATE_COLUMNS - 1)?;
        change.before = state(row, STATE_COLUMNS, before_to.as_ref())?;
        Ok((unsigned(row, 2 * STATE_COLUMNS + 3)?, change))
    })
}

/// A change without the state before it. The state after it is in the first columns; the path before it and its
/// version are at `rest`.
fn change(row: &Row<'_>, file: FileId, rest: usize) -> Result<Change> {
    let to = value::path(row, STATE_COLUMNS - 1)?;
    let same = value::has_same_path(get(row, 0)?);
    Ok(Change {
        file,
        before: None,
        after: state(row, 0, to.as_ref())?,
        from: if same { to.clone() } else { value::path(row, rest)? },
        to,
        version: value::id(row, rest + 1, VersionId::from_bytes)?,
    })
}

/// The state in the columns from `at` on; `to` is the path after that change.
pub(super) fn state(row: &Row<'_>, at: usize, to: Option<&WsPath>) -> Result<Option<FileState>> {
    let flags = get::<Option<i64>>(row, at)?.unwrap_or(0);
    if !value::has_state(flags) {
        return Ok(None);
    }
    let name = match value::name(row, at + 3)? {
        None => to.and_then(WsPath::name),
        name => name,
    };
    StateColumns {
        flags,
        parent: parent(row, at + 1)?,
        name: name.ok_or_else(|| corrupt("a change has no name"))?,
        mode: get(row, at + 4)?,
        content: value::hash(row, at + 5)?,
        size: unsigned(row, at + 6)?,
    }
    .state()
    .map(Some)
}

fn parent(row: &Row<'_>, at: usize) -> Result<FileId> {
    if value::is_root(row, at)? {
        return Ok(FileId::ROOT);
    }
    let id = value::link(row, at, at + 1)?.map(FileId::from_bytes);
    id.ok_or_else(|| corrupt("a change has no parent"))
}

/// The makers of a file's first change and of its last.
pub(super) fn makers(connection: &Connection, file: FileId) -> Result<Vec<Maker>> {
    let first = "SELECT s.chat, s.actor, s.author, s.verb FROM change c JOIN step s ON s.seq = c.seq \
                 WHERE c.file = (SELECT row FROM named WHERE id = ?1) ORDER BY c.seq LIMIT 1";
    let last = "SELECT s.chat, s.actor, s.author, s.verb FROM change c JOIN step s ON s.seq = c.seq \
                WHERE c.file = (SELECT row FROM named WHERE id = ?1) ORDER BY c.seq DESC LIMIT 1";
    let mut makers = Vec::with_capacity(2);
    for sql in [first, last] {
        makers.extend(one(connection, sql, [file.as_bytes()], maker)?);
    }
    Ok(makers)
}

fn maker(row: &Row<'_>) -> Result<Maker> {
    // The step records a change that was found on disk; its actor did not make the change.
    if value::numbered::<Author>(row, 2)? == Author::External {
        let actor = Author::External.word().to_owned();
        return Ok(Maker { chat: None, actor, verb: get(row, 3)? });
    }
    Ok(Maker {
        chat: value::id(row, 0, ChatId::from_bytes)?,
        actor: get(row, 1)?,
        verb: get(row, 3)?,
    })
}

/// The newest change of a file after step `since` that was not made in this chat and did not remove the file.
pub(super) fn last_by_others(
    connection: &Connection,
    file: FileId,
    whose: &ChatScope,
    since: Seq,
) -> Result<Option<OthersChange>> {
    let sql = "SELECT c.seq, cc.hash FROM change c JOIN step s ON s.seq = c.seq \
               LEFT JOIN content cc ON cc.id = c.content \
               WHERE c.file = (SELECT row FROM named WHERE id = ?1) AND c.seq > ?2 AND (c.flags & ?3) != 0 \
               AND (s.author = ?4 OR NOT (coalesce(s.chat = ?5, 0) \
               OR s.chat IS NULL AND coalesce(s.actor = ?6, 0))) \
               ORDER BY c.seq DESC, c.id DESC LIMIT 1";
    let chat = whose.chat.as_ref().map(|chat| chat.as_bytes().to_vec());
    let external = value::to_number(Author::External);
    let parameters = params![
        file.as_bytes(),
        number(since),
        value::LIVING,
        external,
        chat,
        whose.default_of.as_deref()
    ];
    one(connection, sql, parameters, |row| {
        Ok(OthersChange { seq: unsigned(row, 0)?, content: value::hash(row, 1)? })
    })
}

/// Whether an agent ever changed a file.
pub(super) fn was_changed_by_agents(connection: &Connection, file: FileId) -> Result<bool> {
    let sql = "SELECT 1 FROM change c JOIN step s ON s.seq = c.seq \
               WHERE c.file = (SELECT row FROM named WHERE id = ?1) AND s.author = ?2 LIMIT 1";
    let agent = value::to_number(Author::Agent);
    let found = one(connection, sql, params![file.as_bytes(), agent], |row| get::<i64>(row, 0))?;
    Ok(found.is_some())
}

pub(super) fn file_changes(
    connection: &Connection,
    file: FileId,
    before: Option<Seq>,
    count: usize,
) -> Result<Vec<(StepRow, Change)>> {
    let sql = concat!(
        "SELECT ",
        state_columns!("c", "cp", "cc"),
        ", c.origin, c.version, ",
        step_columns!(),
        " FROM change c LEFT JOIN file cp ON cp.id = NULLIF(c.parent, 0) \
         LEFT JOIN content cc ON cc.id = c.content JOIN step s ON s.seq = c.seq",
        // If the step has only one change, it is this one.
        step_joins!(1),
        "WHERE c.file = (SELECT row FROM named WHERE id = ?1) AND c.seq >= ?2 AND c.seq < ?3 \
         ORDER BY c.seq, c.id"
    );
    let before = number(before.unwrap_or(Seq::MAX));
    let oldest = oldest_of_page(connection, file, before, count)?;
    let mut rows = all(connection, sql, params![file.as_bytes(), oldest, before], |row| {
        let step = step_row(row, STATE_COLUMNS + 2)?;
        Ok((step, change(row, file, STATE_COLUMNS)?))
    })?;
    // The query reads in ascending order, because SQLite then steps through neighbouring rows of the index.
    rows.reverse();
    for at in 0..rows.len() {
        let before = rows.get(at + 1).and_then(|(_, earlier)| earlier.after.clone());
        let (step, change) = &mut rows[at];
        change.before = before;
        if step.files == 1 {
            step.path = change.to.as_ref().or(change.from.as_ref()).cloned();
        }
    }
    rows.truncate(count);
    Ok(rows)
}

/// The step of the change right before the `count` newest ones. The state after that change is the state before
/// the oldest of them.
fn oldest_of_page(connection: &Connection, file: FileId, before: i64, count: usize) -> Result<i64> {
    let sql = "SELECT seq FROM change WHERE file = (SELECT row FROM named WHERE id = ?1) \
               AND seq < ?2 ORDER BY seq DESC, id DESC LIMIT 1 OFFSET ?3";
    let bounds = params![file.as_bytes(), before, limit(count)];
    Ok(one(connection, sql, bounds, |row| get(row, 0))?.unwrap_or(0))
}

pub(super) fn version(connection: &Connection, id: VersionId) -> Result<Option<VersionRow>> {
    let sql = concat!(
        "SELECT ",
        state_columns!("c", "cp", "cc"),
        ", f.uuid, c.seq FROM change c \
         JOIN file f ON f.id = c.file LEFT JOIN file cp ON cp.id = NULLIF(c.parent, 0) \
         LEFT JOIN content cc ON cc.id = c.content \
         WHERE c.id = (SELECT row FROM named WHERE id = ?1) AND c.version = ?1"
    );
    let found = one(connection, sql, [id.as_bytes()], |row| {
        let file = FileId::from_bytes(get(row, STATE_COLUMNS)?);
        let to = value::path(row, STATE_COLUMNS - 1)?;
        Ok((file, unsigned(row, STATE_COLUMNS + 1)?, state(row, 0, to.as_ref())?))
    })?;
    let made = found.and_then(|(file, seq, state)| Some((file, seq, state?)));
    Ok(made.map(|(file, seq, state)| VersionRow { file, seq, state }))
}

/// How many files, steps, versions and removed entries there are.
pub(super) fn counts(connection: &Connection) -> Result<StoredCounts> {
    let count = |sql: &str| -> Result<u64> {
        Ok(one(connection, sql, [], |row| value::unsigned(row, 0))?.unwrap_or(0))
    };
    let is_file = "SELECT count(*) FROM file WHERE living = 1 AND ((flags >> 4) & 15) = 0";
    Ok(StoredCounts {
        files: count(is_file)?,
        steps: head(connection)?,
        versions: count("SELECT count(*) FROM change WHERE version IS NOT NULL")?,
        removed: count("SELECT count(*) FROM file WHERE living = 0 AND purged IS NULL")?,
    })
}

/// Rows of the audit chain. The rows of steps and the notes are numbered together without gaps, so that the number
/// of a step's row follows from the notes before it. A step's digest is computed from its changes as they are
/// stored now: a change that was tampered with breaks the chain.
pub(super) fn audit(connection: &Connection, after: u64, count: usize) -> Result<Vec<AuditRow>> {
    let sql = "SELECT nth FROM note WHERE number <= ?1 ORDER BY number DESC LIMIT 1";
    let notes_before = one(connection, sql, [number(after)], |row| unsigned(row, 0))?.unwrap_or(0);
    let seq = after.saturating_sub(notes_before);
    let mut steps = audited_steps(connection, seq, count)?.into_iter();
    let mut notes = notes(connection, after, count)?.into_iter().peekable();
    let mut rows = Vec::new();
    let mut number = after;
    while rows.len() < count {
        number = number.saturating_add(1);
        let next = notes.next_if(|note| note.number == number).or_else(|| steps.next());
        let Some(row) = next else { break };
        rows.push(AuditRow { number, ..row });
    }
    Ok(rows)
}

fn notes(connection: &Connection, after: u64, count: usize) -> Result<Vec<AuditRow>> {
    let sql = "SELECT number, at, actor, action, detail, hash, formula FROM note WHERE number > ?1 \
               ORDER BY number LIMIT ?2";
    all(connection, sql, params![number(after), limit(count)], |row| {
        let entry = value::audit_entry(row, 1)?;
        let formula = value::formula(get(row, 6)?)?;
        Ok(AuditRow { number: unsigned(row, 0)?, formula, entry, step: None, hash: get(row, 5)? })
    })
}

/// The audit rows of the steps after `after`, not yet numbered.
fn audited_steps(connection: &Connection, after: Seq, count: usize) -> Result<Vec<AuditRow>> {
    let sql = "SELECT COALESCE(s.audit_at, s.at), s.actor, COALESCE(s.action, s.verb), s.detail, \
               s.hash, s.formula, s.id, s.at, s.author, s.verb, s.chat, s.undoes, u.id, s.first, \
               s.files FROM step s LEFT JOIN step u ON u.seq = s.undoes \
               WHERE s.seq > ?1 ORDER BY s.seq LIMIT ?2";
    let steps = all(connection, sql, params![number(after), limit(count)], |row| {
        let entry = value::audit_entry(row, 0)?;
        let step = AuditedStep {
            id: StepId::from_bytes(get(row, 6)?),
            at: moment(row, 7)?,
            author: value::numbered(row, 8)?,
            verb: get(row, 9)?,
            chat: value::id(row, 10, ChatId::from_bytes)?,
            undoes: value::link(row, 11, 12)?.map(StepId::from_bytes),
            changes: [0; 32],
        };
        let formula = value::formula(get(row, 5)?)?;
        let row_of_chain =
            AuditRow { number: 0, formula, entry, step: Some(step), hash: get(row, 4)? };
        Ok((row_of_chain, (get(row, 13)?, get(row, 14)?)))
    })?;
    with_digests(connection, steps)
}

fn with_digests(
    connection: &Connection,
    steps: Vec<(AuditRow, (i64, i64))>,
) -> Result<Vec<AuditRow>> {
    let first = steps.first().map_or(0, |(_, (first, _))| *first);
    let end = steps.last().map_or(0, |(_, (first, files))| first + files);
    let mut changes =
        changes_in(connection, first, end - first)?.into_iter().map(|(_, change)| change);
    let digested = steps.into_iter().map(|(mut row, (_, files))| {
        let own: Vec<Change> = changes.by_ref().take(usize::try_from(files).unwrap_or(0)).collect();
        if let Some(step) = &mut row.step {
            step.changes = step_digest(&own);
        }
        row
    });
    Ok(digested.collect())
}

/// Whether the chain ends with a row that an older version of the program wrote.
pub(super) fn is_unsealed(connection: &Connection) -> Result<bool> {
    let last = |sql| one(connection, sql, [], |row| value::formula(get(row, 0)?));
    let step = last("SELECT formula FROM step ORDER BY seq DESC LIMIT 1")?;
    let note = last("SELECT formula FROM note ORDER BY number DESC LIMIT 1")?;
    let newest = step.into_iter().chain(note).max();
    Ok(newest == Some(Formula::First))
}

/// The state of the file in row `file` as its changes give it, with the row of the newest change; `None` if it has
/// no changes. Fields that changes do not contain are copied from `known`.
pub(super) fn made_by_changes(
    connection: &Connection,
    file: i64,
    known: &Node,
) -> Result<Option<(i64, Node)>> {
    // For a removed file, `w` is the change before its removal: its last living state.
    let sql = concat!(
        "SELECT ",
        state_columns!("w", "wp", "wk"),
        ", c.id, c.seq, c.flags, COALESCE(c.destination, c.origin), \
         (SELECT version FROM change WHERE file = ?1 AND version IS NOT NULL \
          ORDER BY seq DESC, id DESC LIMIT 1), \
         (SELECT s.at FROM change x JOIN step s ON s.seq = x.seq WHERE x.file = ?1 \
          ORDER BY x.seq, x.id LIMIT 1) \
         FROM change c JOIN change w ON w.id = CASE WHEN c.flags & 1 THEN c.id ELSE c.previous END \
         LEFT JOIN file wp ON wp.id = NULLIF(w.parent, 0) LEFT JOIN content wk ON wk.id = w.content \
         WHERE c.id = (SELECT id FROM change WHERE file = ?1 ORDER BY seq DESC, id DESC LIMIT 1)"
    );
    let made = one(connection, sql, [file], |row| {
        let to = value::path(row, STATE_COLUMNS - 1)?;
        let Some(last) = state(row, 0, to.as_ref())? else { return Ok(None) };
        let living = value::has_state(get(row, STATE_COLUMNS + 2)?);
        let path = value::path(row, STATE_COLUMNS + 3)?.unwrap_or_else(WsPath::root);
        let node = Node {
            state: living.then(|| last.clone()),
            last,
            path,
            seq: unsigned(row, STATE_COLUMNS + 1)?,
            version: value::id(row, STATE_COLUMNS + 4, VersionId::from_bytes)?,
            created_at: moment(row, STATE_COLUMNS + 5)?,
            ..known.clone()
        };
        Ok(Some((get(row, STATE_COLUMNS)?, node)))
    })?;
    Ok(made.flatten())
}
