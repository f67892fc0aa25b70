//! The sequence of events. Every step is an event without a row here; only other events have rows. A row says after
//! which step it came, so that the number of a step's event follows from the rows before it, and appending a step
//! writes nothing to this table.

use rusqlite::{Connection, Row, params};
use yard_core::{ApprovalId, ChatId, QuestionId, RunId, StepId, Timestamp, WsPath};

use super::connections::Flush;
use super::error::corrupt;
use super::value::{self, get, limit, moment, number, unsigned};
use super::{SqliteStore, all, approval, chat, history, one, question, run};
use crate::{
    ApprovalStatus, Change, ChangedFile, EVENT_PATHS, Event, EventLog, EventRow, Mode, Result, Seq,
    StepEvent, StepRow, StepSideEffect, StoreError, TerminalState,
};

const ASKED: i64 = 1;
const ANSWERED: i64 = 2;
const MODE: i64 = 3;
const MADE: i64 = 4;
const POSTED: i64 = 5;
const OUTSIDE: i64 = 6;
const REQUESTED: i64 = 7;
const DECIDED: i64 = 8;
const CONCLUDED: i64 = 9;
const TERMINAL: i64 = 10;
const RENAMED: i64 = 11;
const REMOVED: i64 = 12;

/// How a terminal's state is stored, beside the code that its program ended with.
const RUNNING: i64 = -1;
const INTERRUPTED: i64 = -2;

/// The columns of an event beside its numbers.
#[derive(Default)]
struct Columns {
    kind: i64,
    chat: Option<ChatId>,
    /// The question, approval or run that it is about.
    about: Option<[u8; 16]>,
    value: Option<i64>,
    paths: Option<Vec<u8>>,
}

/// What the row of an event holds. The event of a step has no row of its own: it is read from the history.
fn columns(event: &Event) -> Result<Columns> {
    let of = |kind, chat: &ChatId| Columns { kind, chat: Some(*chat), ..Columns::default() };
    let about = |kind, chat, id: &[u8; 16]| Columns { about: Some(*id), ..of(kind, chat) };
    let with = |value: i64, columns| Columns { value: Some(value), ..columns };
    Ok(match event {
        Event::Step(_) => return Err(corrupt("the event of a step has no row")),
        Event::Asked { chat, question } => about(ASKED, chat, question.as_bytes()),
        Event::Answered { chat, question } => about(ANSWERED, chat, question.as_bytes()),
        Event::Requested { chat, approval } => about(REQUESTED, chat, approval.as_bytes()),
        Event::Decided { chat, approval, status } => {
            with(value::to_number(*status), about(DECIDED, chat, approval.as_bytes()))
        }
        Event::Concluded { chat, approval, status } => {
            with(value::to_number(*status), about(CONCLUDED, chat, approval.as_bytes()))
        }
        Event::ModeChanged { chat, mode } => with(value::to_number(*mode), of(MODE, chat)),
        Event::ChatMade { chat } => of(MADE, chat),
        Event::ChatRenamed { chat } => of(RENAMED, chat),
        Event::ChatRemoved { chat } => of(REMOVED, chat),
        Event::Posted { chat, turn } => with(number(*turn), of(POSTED, chat)),
        Event::Terminal { chat, run, name, state } => {
            let state = match state {
                TerminalState::Running => RUNNING,
                TerminalState::Interrupted => INTERRUPTED,
                TerminalState::Ended(code) => (*code).into(),
            };
            let paths = Some(name.as_bytes().to_vec());
            Columns { paths, ..with(state, about(TERMINAL, chat, run.as_bytes())) }
        }
        Event::ChangedOutside { paths } => {
            Columns { kind: OUTSIDE, paths: Some(joined(paths)), ..Columns::default() }
        }
    })
}

/// Adds an event after the newest step.
pub(super) fn add(connection: &Connection, at: Timestamp, event: &Event) -> Result<()> {
    add_after(connection, history::head(connection)?, at, event)
}

fn add_after(connection: &Connection, head: Seq, at: Timestamp, event: &Event) -> Result<()> {
    let nth = count(connection)? + 1;
    let sql = "INSERT INTO event (number, nth, at, kind, chat, question, value, paths) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let columns = columns(event)?;
    let values = params![
        number(head + nth),
        number(nth),
        at.as_millis(),
        columns.kind,
        columns.chat.as_ref().map(ChatId::as_bytes),
        columns.about,
        columns.value,
        columns.paths,
    ];
    run(connection, sql, values).map(drop)
}

/// Writes a side effect of the step that was just inserted as number `head`.
pub(super) fn add_side_effect(
    connection: &Connection,
    head: Seq,
    side_effect: &StepSideEffect,
) -> Result<()> {
    match side_effect {
        StepSideEffect::LeavePlan { chat, question, turn } => {
            question::use_up(connection, *chat, *question)?;
            chat::set_mode(connection, *chat, Mode::Build)?;
            chat::add_turn(connection, *chat, turn)?;
            let event = Event::ModeChanged { chat: *chat, mode: Mode::Build };
            add_after(connection, head, turn.at, &event)
        }
        StepSideEffect::Execute { approval, at } => {
            let chat = approval::execute(connection, head, *approval)?;
            let done =
                Event::Concluded { chat, approval: *approval, status: ApprovalStatus::Executed };
            add_after(connection, head, *at, &done)
        }
    }
}

impl EventLog for SqliteStore {
    fn terminal_is(
        &self,
        at: Timestamp,
        chat: ChatId,
        run: RunId,
        name: &str,
        state: TerminalState,
    ) -> Result<()> {
        self.db.write(Flush::Later, |connection| {
            let name = name.to_owned();
            add(connection, at, &Event::Terminal { chat, run, name, state })
        })
    }

    fn changed_outside(&self, at: Timestamp, paths: &[WsPath]) -> Result<()> {
        self.db.write(Flush::Later, |connection| {
            add(connection, at, &Event::ChangedOutside { paths: paths.to_vec() })
        })
    }

    fn events(&self, after: u64, count: usize) -> Result<Vec<EventRow>> {
        self.db.read_at_once(|connection| list(connection, after, count))
    }

    fn last_event(&self) -> Result<u64> {
        self.db.glance(last)
    }
}

fn count(connection: &Connection) -> Result<u64> {
    let sql = "SELECT nth FROM event ORDER BY number DESC LIMIT 1";
    Ok(one(connection, sql, [], |row| unsigned(row, 0))?.unwrap_or(0))
}

fn last(connection: &Connection) -> Result<u64> {
    Ok(history::head(connection)? + count(connection)?)
}

fn list(connection: &Connection, after: u64, count: usize) -> Result<Vec<EventRow>> {
    let sql = "SELECT nth FROM event WHERE number <= ?1 ORDER BY number DESC LIMIT 1";
    let before = one(connection, sql, [number(after)], |row| unsigned(row, 0))?.unwrap_or(0);
    let mut steps = steps(connection, after.saturating_sub(before), count)?.into_iter();
    let mut others = others(connection, after, count)?.into_iter().peekable();
    let mut rows = Vec::new();
    let mut number = after;
    while rows.len() < count {
        number = number.saturating_add(1);
        let next = others.next_if(|other| other.number == number).or_else(|| steps.next());
        let Some(row) = next else { break };
        rows.push(EventRow { number, ..row });
    }
    Ok(rows)
}

fn others(connection: &Connection, after: u64, count: usize) -> Result<Vec<EventRow>> {
    let sql = "SELECT number, at, kind, chat, question, value, paths FROM event \
               WHERE number > ?1 ORDER BY number LIMIT ?2";
    all(connection, sql, params![number(after), limit(count)], |row| {
        Ok(EventRow { number: unsigned(row, 0)?, at: moment(row, 1)?, what: event(row)? })
    })
}

fn event(row: &Row<'_>) -> Result<Event> {
    let kind: i64 = get(row, 2)?;
    if kind == OUTSIDE {
        let paths = row.get_ref(6)?.as_blob().map_err(corrupt)?;
        return Ok(Event::ChangedOutside { paths: split(paths)? });
    }
    let chat = ChatId::from_bytes(get(row, 3)?);
    let approval = || Ok::<_, StoreError>(ApprovalId::from_bytes(get(row, 4)?));
    Ok(match kind {
        ASKED => Event::Asked { chat, question: QuestionId::from_bytes(get(row, 4)?) },
        ANSWERED => Event::Answered { chat, question: QuestionId::from_bytes(get(row, 4)?) },
        MODE => Event::ModeChanged { chat, mode: value::numbered(row, 5)? },
        MADE => Event::ChatMade { chat },
        RENAMED => Event::ChatRenamed { chat },
        REMOVED => Event::ChatRemoved { chat },
        POSTED => Event::Posted { chat, turn: unsigned(row, 5)? },
        REQUESTED => Event::Requested { chat, approval: approval()? },
        DECIDED => Event::Decided { chat, approval: approval()?, status: value::numbered(row, 5)? },
        CONCLUDED => {
            Event::Concluded { chat, approval: approval()?, status: value::numbered(row, 5)? }
        }
        TERMINAL => terminal(row, chat)?,
        _ => return Err(corrupt("an event is of an unknown kind")),
    })
}

fn terminal(row: &Row<'_>, chat: ChatId) -> Result<Event> {
    let name = row.get_ref(6)?.as_blob().map_err(corrupt)?;
    let state = match get::<i64>(row, 5)? {
        RUNNING => TerminalState::Running,
        INTERRUPTED => TerminalState::Interrupted,
        code => TerminalState::Ended(i32::try_from(code).map_err(corrupt)?),
    };
    let (run, name) = (RunId::from_bytes(get(row, 4)?), String::from_utf8_lossy(name).into_owned());
    Ok(Event::Terminal { chat, run, name, state })
}

/// The steps after `after` as events, not yet numbered.
fn steps(connection: &Connection, after: Seq, count: usize) -> Result<Vec<EventRow>> {
    let sql = "SELECT s.at, s.id, s.author, s.actor, s.verb, s.undoes, u.id, s.files, s.first \
               FROM step s LEFT JOIN step u ON u.seq = s.undoes \
               WHERE s.seq > ?1 ORDER BY s.seq LIMIT ?2";
    let steps = all(connection, sql, params![number(after), limit(count)], |row| {
        let verb: String = get(row, 4)?;
        let named = value::link(row, 5, 6)?.map(StepId::from_bytes);
        let (undoes, _) = StepRow::undone_and_back_to(&verb, named);
        let step = StepEvent {
            id: StepId::from_bytes(get(row, 1)?),
            author: value::numbered(row, 2)?,
            actor: get(row, 3)?,
            verb,
            undoes,
            files: unsigned(row, 7)?,
            changes: Vec::new(),
        };
        Ok((moment(row, 0)?, step, get::<i64>(row, 8)?))
    })?;
    let with_changes = steps.into_iter().map(|(at, mut step, first)| {
        let shown = number(step.files.min(EVENT_PATHS as u64));
        let changes = history::changes_in(connection, first, shown)?;
        step.changes = changes.into_iter().filter_map(|(_, change)| changed(change)).collect();
        Ok(EventRow { number: 0, at, what: Event::Step(step) })
    });
    with_changes.collect()
}

fn changed(change: Change) -> Option<ChangedFile> {
    let summary = change.summary();
    Some(ChangedFile { file: change.file, path: change.to.or(change.from)?, summary })
}

/// Paths with a NUL after each, which no path holds.
fn joined(paths: &[WsPath]) -> Vec<u8> {
    let shown = paths.iter().take(EVENT_PATHS);
    shown.flat_map(|path| path.relative().iter().copied().chain([0])).collect()
}

fn split(bytes: &[u8]) -> Result<Vec<WsPath>> {
    let Some(bytes) = bytes.strip_suffix(&[0]) else { return Ok(Vec::new()) };
    bytes.split(|byte| *byte == 0).map(|path| WsPath::from_bytes(path).map_err(corrupt)).collect()
}
