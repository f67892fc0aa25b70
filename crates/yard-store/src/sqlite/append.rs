//! Writes steps, inside of a transaction that the caller commits or rolls back.

use rusqlite::{Connection, params};
use yard_core::{ContentHash, FileId, FileState, Timestamp, WsPath};

use super::error::is_taken;
use super::node::Stored;
use super::value::{self, SamePath};
use super::{content, event, history, node, one, placement, run};
use crate::blobs::Blobs;
use crate::{
    AuditEntry, AuditedStep, Batch, Formula, NewChange, NewStep, Node, Result, Seal, SeenContent,
    Seq, StoreError, chain, step_digest,
};

/// Rows that are sealed at once.
const SEALED_AT_ONCE: usize = 1_000;

/// The ends of history and of the audit chain, after which the next rows are written.
struct Tip {
    head: Seq,
    change: i64,
    notes: u64,
    hash: [u8; 32],
}

impl Tip {
    fn read(connection: &Connection) -> Result<Self> {
        let mut tip = Self { head: 0, change: 1, notes: 0, hash: [0; 32] };
        let sql = "SELECT seq, first + files, hash FROM step ORDER BY seq DESC LIMIT 1";
        let step = one(connection, sql, [], |row| {
            Ok((value::unsigned(row, 0)?, value::get(row, 1)?, value::get(row, 2)?))
        })?;
        if let Some(step) = step {
            (tip.head, tip.change, tip.hash) = step;
        }
        let sql = "SELECT number, nth, hash FROM note ORDER BY number DESC LIMIT 1";
        let note = one(connection, sql, [], |row| {
            Ok((value::unsigned(row, 0)?, value::unsigned(row, 1)?, value::get(row, 2)?))
        })?;
        if let Some((number, nth, hash)) = note {
            tip.notes = nth;
            // The chain ends with this note only if it was written after the newest step.
            if number == tip.head + nth {
                tip.hash = hash;
            }
        }
        Ok(tip)
    }
}

/// Appends a batch; returns the new head.
pub(super) fn append(
    connection: &Connection,
    expected: Seq,
    batch: Batch<'_>,
    blobs: &Blobs,
) -> Result<Seq> {
    let tip = Tip::read(connection)?;
    if tip.head != expected {
        return Err(StoreError::Moved { head: tip.head });
    }
    let mut files = Vec::new();
    for prepared in batch.contents {
        if content::store(connection, prepared)? {
            files.push(prepared);
        }
    }
    let mut appender = Appender { connection, tip };
    for step in batch.steps {
        appender.step(step)?;
    }
    // Last, so that a step that does not fit leaves no file.
    blobs.place(files.into_iter())?;
    Ok(appender.tip.head)
}

struct Appender<'a> {
    connection: &'a Connection,
    tip: Tip,
}

impl Appender<'_> {
    fn step(&mut self, step: &NewStep) -> Result<()> {
        let first = self.tip.change;
        self.tip.head += 1;
        let number = self.tip.head + self.tip.notes;
        self.tip.hash = chain(&self.tip.hash, number, &step.audit, Some(&audited(step)));
        self.insert_step(step, first)?;
        for change in &step.changes {
            self.change(step, change)?;
        }
        for placement in &step.placements {
            placement::insert(self.connection, first, placement)?;
        }
        let add = |side_effect| event::add_side_effect(self.connection, self.tip.head, side_effect);
        step.side_effects.iter().try_for_each(add)
    }

    fn insert_step(&self, step: &NewStep, first: i64) -> Result<()> {
        let sql =
            "INSERT INTO step (seq, id, at, author, verb, undoes, first, files, audit_at, actor,
                   action, detail, hash, chat, formula)
                   VALUES (?1, ?2, ?3, ?4, ?5, COALESCE((SELECT row FROM named WHERE id = ?6), ?6),
                   ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
        let audit = &step.audit;
        let values = params![
            value::number(self.tip.head),
            step.id.as_bytes(),
            step.at.as_millis(),
            value::to_number(step.author),
            step.verb,
            step.undoes.as_ref().map(|id| id.as_bytes()),
            first,
            step.changes.len() as i64,
            (audit.at != step.at).then_some(audit.at.as_millis()),
            audit.actor,
            (audit.action != step.verb).then_some(&audit.action),
            audit.detail,
            self.tip.hash,
            step.chat.as_ref().map(|chat| chat.as_bytes()),
            value::formula_number(Formula::Second),
        ];
        run(self.connection, sql, values)?;
        self.name(step.id.as_bytes(), value::number(self.tip.head), || {
            format!("step {} happened already", step.id)
        })
    }

    fn change(&mut self, step: &NewStep, change: &NewChange) -> Result<()> {
        let current = node::at_row(self.connection, change.file)?;
        check(change, current.as_ref())?;
        let file = match &current {
            Some(current) => self.update_file(change, current).map(|()| current.row)?,
            None => self.insert_file(step, change)?,
        };
        self.insert_change(change, file, current.map(|current| current.last))?;
        self.tip.change += 1;
        Ok(())
    }

    /// Adds the name of a row; a misfit if the id names a row already.
    fn name(&self, id: &[u8; 16], row: i64, why: impl FnOnce() -> String) -> Result<()> {
        let sql = "INSERT INTO named (id, row) VALUES (?1, ?2)";
        unless_taken(self.connection.prepare_cached(sql)?.execute(params![id, row]), why)
    }

    fn insert_change(&self, change: &NewChange, file: i64, previous: Option<i64>) -> Result<()> {
        let sql = "INSERT INTO change (id, file, seq, previous, flags, parent, name, mode, content,
                   size, destination, origin, version)
                   VALUES (?1, ?2, ?3, ?4, ?5, CASE ?6 WHEN zeroblob(16) THEN 0
                   ELSE COALESCE((SELECT row FROM named WHERE id = ?6), ?6) END,
                   ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        let after = change.after.as_ref();
        let same = if change.from == change.to { SamePath::Yes } else { SamePath::No };
        let own_name = after
            .filter(|state| change.to.as_ref().and_then(WsPath::name) != Some(state.name.clone()));
        let values = params![
            self.tip.change,
            file,
            value::number(self.tip.head),
            previous,
            value::flags(after, same),
            after.map(|state| state.parent.as_bytes()),
            own_name.map(|state| state.name.as_bytes()),
            after.map(|state| state.mode),
            self.content_row(after)?,
            after.map(|state| value::number(state.size)),
            change.to.as_ref().map(WsPath::relative),
            change.from.as_ref().filter(|_| same == SamePath::No).map(WsPath::relative),
            change.version.as_ref().map(|version| version.as_bytes()),
        ];
        run(self.connection, sql, values)?;
        let Some(version) = &change.version else { return Ok(()) };
        self.name(version.as_bytes(), self.tip.change, || {
            "a version of the step exists already".to_owned()
        })
    }

    fn content_row(&self, state: Option<&FileState>) -> Result<Option<i64>> {
        let Some(hash) = state.and_then(|state| state.content) else { return Ok(None) };
        content::needed(self.connection, &hash).map(Some)
    }

    fn insert_file(&self, step: &NewStep, change: &NewChange) -> Result<i64> {
        let Some(state) = &change.after else {
            return Err(misfit(change, "is neither there before the step nor after it"));
        };
        let sql =
            "INSERT INTO file (uuid, created, parent, name, living, flags, mode, content, size,
                   path, seq, last, version)
                   VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let inserted = self.connection.prepare_cached(sql)?.execute(params![
            change.file.as_bytes(),
            step.at.as_millis(),
            state.parent.as_bytes(),
            state.name.as_bytes(),
            value::flags(Some(state), SamePath::No),
            state.mode,
            state.content.as_ref().map(ContentHash::as_bytes),
            value::number(state.size),
            path(change).relative(),
            value::number(self.tip.head),
            self.tip.change,
            change.version.as_ref().map(|version| version.as_bytes()),
        ]);
        unless_taken(inserted, || name_taken(change))?;
        let row = self.connection.last_insert_rowid();
        self.name(change.file.as_bytes(), row, || name_taken(change))?;
        Ok(row)
    }

    fn update_file(&self, change: &NewChange, current: &Stored) -> Result<()> {
        match &change.after {
            None => self.remove_file(change, current.row),
            Some(state) if in_place(&current.node, state) => self.edit_file(change, state, current),
            Some(state) => {
                self.place_file(change, state, current.row)?;
                self.edit_file(change, state, current)
            }
        }
    }

    /// Writes the columns that every change of a living file writes; none of them is in an index.
    fn edit_file(&self, change: &NewChange, state: &FileState, current: &Stored) -> Result<()> {
        let sql =
            "UPDATE file SET flags = ?2, mode = ?3, content = ?4, size = ?5, path = ?6, seq = ?7,
                   last = ?8, version = COALESCE(?9, version),
                   seen_size = CASE WHEN ?10 THEN seen_size END,
                   seen_mtime = CASE WHEN ?10 THEN seen_mtime END,
                   seen_ctime = CASE WHEN ?10 THEN seen_ctime END,
                   seen_inode = CASE WHEN ?10 THEN seen_inode END
                   WHERE id = ?1";
        let same_content =
            current.node.state.as_ref().is_some_and(|before| before.content == state.content);
        let path = path(change);
        let values = params![
            current.row,
            value::flags(Some(state), SamePath::No),
            state.mode,
            state.content.as_ref().map(ContentHash::as_bytes),
            value::number(state.size),
            path.relative(),
            value::number(self.tip.head),
            self.tip.change,
            change.version.as_ref().map(|version| version.as_bytes()),
            same_content,
        ];
        run(self.connection, sql, values).map(drop)
    }

    fn place_file(&self, change: &NewChange, state: &FileState, row: i64) -> Result<()> {
        let sql = "UPDATE file SET parent = ?2, name = ?3, living = 1, purged = NULL WHERE id = ?1";
        let ids = params![row, state.parent.as_bytes(), state.name.as_bytes()];
        let placed = self.connection.prepare_cached(sql)?.execute(ids);
        unless_taken(placed, || name_taken(change))
    }

    fn remove_file(&self, change: &NewChange, row: i64) -> Result<()> {
        let sql = "UPDATE file SET living = 0, path = ?2, seq = ?3, last = ?4,
                   version = COALESCE(?5, version),
                   seen_size = NULL, seen_mtime = NULL, seen_ctime = NULL, seen_inode = NULL
                   WHERE id = ?1";
        let path = path(change);
        let values = params![
            row,
            path.relative(),
            value::number(self.tip.head),
            self.tip.change,
            change.version.as_ref().map(|version| version.as_bytes()),
        ];
        run(self.connection, sql, values).map(drop)
    }
}

/// Fails unless the change starts from the present state of its file.
fn check(change: &NewChange, current: Option<&Stored>) -> Result<()> {
    let state = current.and_then(|current| current.node.state.as_ref());
    if change.file == FileId::ROOT {
        return Err(misfit(change, "is the root, which no step changes"));
    }
    if state != change.before.as_ref() {
        return Err(misfit(change, "is not in the state that the step starts from"));
    }
    if change.before.is_none() && change.after.is_none() {
        return Err(misfit(change, "is neither there before the step nor after it"));
    }
    Ok(())
}

fn in_place(node: &Node, state: &FileState) -> bool {
    node.state.as_ref().is_some_and(|at| at.parent == state.parent && at.name == state.name)
}

/// The path that a change gives its file; of a removed one, where it was.
fn path(change: &NewChange) -> WsPath {
    change.to.as_ref().or(change.from.as_ref()).cloned().unwrap_or_else(WsPath::root)
}

fn unless_taken(done: rusqlite::Result<usize>, why: impl FnOnce() -> String) -> Result<()> {
    match done {
        Err(error) if is_taken(&error) => Err(StoreError::Misfit(why())),
        done => Ok(done.map(|_| ())?),
    }
}

fn name_taken(change: &NewChange) -> String {
    format!("{} exists already", path(change))
}

fn misfit(change: &NewChange, why: &str) -> StoreError {
    StoreError::Misfit(format!("{} ({}) {why}", path(change), change.file))
}

/// Adds a row to the audit chain that belongs to no step.
pub(super) fn note(connection: &Connection, entry: &AuditEntry) -> Result<()> {
    let tip = Tip::read(connection)?;
    let sql = "INSERT INTO note (number, nth, at, actor, action, detail, hash, formula)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let number = tip.head + tip.notes + 1;
    let values = params![
        value::number(number),
        value::number(tip.notes + 1),
        entry.at.as_millis(),
        entry.actor,
        entry.action,
        entry.detail,
        chain(&tip.hash, number, entry, None),
        value::formula_number(Formula::Second),
    ];
    run(connection, sql, values).map(drop)
}

/// Adds the row that covers what the rows of an older version of the program left out of their hashes.
pub(super) fn seal(connection: &Connection) -> Result<()> {
    // Another process may have opened the same folder at the same moment.
    if !history::is_unsealed(connection)? {
        return Ok(());
    }
    let (mut seal, mut after, mut at) = (Seal::default(), 0, Timestamp::from_millis(0));
    loop {
        let rows = history::audit(connection, after, SEALED_AT_ONCE)?;
        let Some(last) = rows.last() else { break };
        (after, at) = (last.number, last.entry.at);
        rows.iter().for_each(|row| seal.add(row));
    }
    note(connection, &seal.entry(at))
}

/// The part of a step that the audit chain covers.
fn audited(step: &NewStep) -> AuditedStep {
    AuditedStep {
        id: step.id,
        at: step.at,
        author: step.author,
        verb: step.verb.clone(),
        chat: step.chat,
        undoes: step.undoes,
        changes: step_digest(&step.changes),
    }
}

/// Records the signatures of contents that are still the contents of their files.
pub(super) fn remember(connection: &Connection, seen: &[SeenContent]) -> Result<()> {
    let sql = "UPDATE file SET seen_size = ?3, seen_mtime = ?4, seen_ctime = ?5, seen_inode = ?6
               WHERE id = (SELECT row FROM named WHERE id = ?1) AND uuid = ?1 AND content = ?2
               AND living = 1";
    let mut statement = connection.prepare_cached(sql)?;
    for SeenContent { file, content, signature } in seen {
        statement.execute(params![
            file.as_bytes(),
            content.as_bytes(),
            signature.size.cast_signed(),
            signature.mtime,
            signature.ctime,
            signature.inode.cast_signed(),
        ])?;
    }
    Ok(())
}
