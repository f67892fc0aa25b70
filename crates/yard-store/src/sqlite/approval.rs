//! Requests for approval and what persons allowed, one row each; and the policy, one row.

use rusqlite::{Connection, Row, params};
use yard_core::{ApprovalId, ChatId, ContentHash, ProcessId, RunId, StepId, Timestamp};

use super::connections::Flush;
use super::event;
use super::value::{self, get, limit, moment, number, unsigned};
use super::{SqliteStore, all, append, chat, one, run, run_or, run_returning_chat};
use crate::{
    Approval, ApprovalFilter, ApprovalRequest, ApprovalStatus, ApprovalStore, ApprovalTotals,
    AuditEntry, Decision, Event, Grant, NewApproval, NewDecision, NewTurn, ReplacedGrants, Result,
    Seq, StoreError,
};

macro_rules! approvals {
    ($rest:literal) => {
        concat!(
            "SELECT a.uuid, c.uuid, a.asked_by, a.at, a.toolset, a.tool, a.args, a.reason, a.effect, \
             a.diff, a.state, a.status, s.id, a.answer, a.approves, a.scope, a.word, a.other_args, \
             a.decided_by, a.decided_at, a.preset, a.run, a.root, a.asked_in, a.claimed_by, a.started, a.parts \
             FROM approval a JOIN chat c ON c.id = a.chat LEFT JOIN step s ON s.seq = a.step ",
            $rest
        )
    };
}

/// A query of the requests that a filter selects, with the filter in the parameters 1 to 6. The columns that come first in a
/// row are compared first, so that a long diff is rarely read over.
macro_rules! selected {
    ($select:literal, $status:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $select,
            " FROM approval WHERE ",
            $status,
            " AND (?2 IS NULL OR asked_by = ?2) \
             AND (?3 IS NULL OR chat = (SELECT id FROM chat WHERE uuid = ?3)) \
             AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR run = ?5) \
             AND (?6 IS NULL OR (diff <> '') = ?6) ",
            $rest
        )
    };
    // With a status, the index on it is used.
    ($select:literal, $rest:literal, if $has_status:expr) => {
        match $has_status {
            true => selected!($select, "status = ?1", $rest),
            false => selected!($select, "?1 IS NULL", $rest),
        }
    };
}

impl ApprovalStore for SqliteStore {
    fn request(&self, asked: &NewApproval, turn: &NewTurn, audit: &AuditEntry) -> Result<()> {
        let requested = Event::Requested { chat: asked.chat, approval: asked.id };
        self.db.write(Flush::Now, |connection| {
            insert(connection, asked)?;
            chat::add_turn(connection, asked.chat, turn)?;
            event::add(connection, asked.at, &requested)?;
            append::note(connection, audit)
        })
    }

    fn decide(&self, made: &NewDecision<'_>, turn: &NewTurn, audit: &AuditEntry) -> Result<()> {
        let (id, at) = (made.id, made.decision.at);
        let status = status_of(made.decision);
        self.db.write(Flush::Now, |connection| {
            let chat = decide(connection, made)?;
            made.grant.map_or(Ok(()), |given| grant(connection, given))?;
            chat::add_turn(connection, chat, turn)?;
            event::add(connection, at, &Event::Decided { chat, approval: id, status })?;
            append::note(connection, audit)
        })
    }

    fn claim(
        &self,
        id: ApprovalId,
        before: Option<ProcessId>,
        claimant: Option<ProcessId>,
    ) -> Result<()> {
        let sql = "UPDATE approval SET claimed_by = ?3 \
                   WHERE uuid = ?1 AND claimed_by IS ?2 AND status = ?4 AND started IS NULL";
        let values = params![
            id.as_bytes(),
            before.as_ref().map(ProcessId::as_bytes),
            claimant.as_ref().map(ProcessId::as_bytes),
            value::to_number(ApprovalStatus::Approved),
        ];
        let why = format!("approval {id} is somebody else's to execute");
        self.db.write(Flush::Now, |connection| run_or(connection, sql, values, why))
    }

    fn close(&self, id: ApprovalId, status: ApprovalStatus, audit: &AuditEntry) -> Result<()> {
        let sql = "UPDATE approval SET status = ?2 \
                   WHERE uuid = ?1 AND (status = ?3 OR (status = ?4 AND claimed_by IS NULL)) \
                   RETURNING (SELECT uuid FROM chat WHERE chat.id = approval.chat)";
        let [pending, approved] =
            [ApprovalStatus::Pending, ApprovalStatus::Approved].map(value::to_number);
        let values = params![id.as_bytes(), value::to_number(status), pending, approved];
        let why = format!("approval {id} does not wait any more");
        self.db.write(Flush::Now, |connection| {
            let chat = run_returning_chat(connection, sql, values, why)?;
            event::add(connection, audit.at, &Event::Concluded { chat, approval: id, status })?;
            append::note(connection, audit)
        })
    }

    fn renew(
        &self,
        id: ApprovalId,
        request: &ApprovalRequest,
        turn: &NewTurn,
        audit: &AuditEntry,
    ) -> Result<()> {
        self.db.write(Flush::Now, |connection| {
            let chat = renew(connection, id, request)?;
            chat::add_turn(connection, chat, turn)?;
            event::add(connection, turn.at, &Event::Requested { chat, approval: id })?;
            append::note(connection, audit)
        })
    }

    fn start(&self, id: ApprovalId, run: RunId) -> Result<()> {
        let sql = "UPDATE approval SET run = ?2, started = 1 \
                   WHERE uuid = ?1 AND status = ?3 AND run IS NULL AND started IS NULL";
        let approved = value::to_number(ApprovalStatus::Approved);
        let values = params![id.as_bytes(), run.as_bytes(), approved];
        let why = format!("approval {id} was started already");
        self.db.write(Flush::Now, |connection| run_or(connection, sql, values, why))
    }

    fn reword(&self, id: ApprovalId, reason: &str) -> Result<()> {
        let sql = "UPDATE approval SET reason = ?2 WHERE uuid = ?1 AND status = ?3";
        let values = params![id.as_bytes(), reason, value::to_number(ApprovalStatus::Pending)];
        self.db.write(Flush::Later, |connection| run(connection, sql, values).map(drop))
    }

    fn conclude(
        &self,
        id: ApprovalId,
        status: ApprovalStatus,
        answer: &str,
        at: Timestamp,
    ) -> Result<()> {
        self.db.write(Flush::Now, |connection| match conclude(connection, id, status, answer)? {
            Some(chat) => {
                event::add(connection, at, &Event::Concluded { chat, approval: id, status })
            }
            None => Ok(()),
        })
    }

    fn approval(&self, id: ApprovalId) -> Result<Option<Approval>> {
        let sql = approvals!("WHERE a.uuid = ?1");
        self.db.glance(|connection| one(connection, sql, [id.as_bytes()], approval))
    }

    fn approval_ids(
        &self,
        filter: &ApprovalFilter,
        before: Option<ApprovalId>,
        count: usize,
    ) -> Result<Vec<ApprovalId>> {
        let sql = selected!(
            "uuid",
            "AND id < COALESCE((SELECT id FROM approval WHERE uuid = ?7), ?8) \
             ORDER BY id DESC LIMIT ?9",
            if filter.status.is_some()
        );
        let wanted = params![
            filter.status.map(value::to_number),
            filter.asked_by,
            filter.chat.as_ref().map(ChatId::as_bytes),
            filter.state.as_ref().map(ContentHash::as_bytes),
            filter.run.as_ref().map(RunId::as_bytes),
            filter.has_diff,
            before.as_ref().map(ApprovalId::as_bytes),
            value::AFTER_NEWEST,
            limit(count),
        ];
        self.db.read(|connection| {
            all(connection, sql, wanted, |row| Ok(ApprovalId::from_bytes(get(row, 0)?)))
        })
    }

    fn approval_totals(&self, filter: &ApprovalFilter) -> Result<ApprovalTotals> {
        let sql = selected!(
            "count(*), COALESCE(sum(octet_length(args) + octet_length(effect) + octet_length(diff)), 0)",
            "",
            if filter.status.is_some()
        );
        let wanted = params![
            filter.status.map(value::to_number),
            filter.asked_by,
            filter.chat.as_ref().map(ChatId::as_bytes),
            filter.state.as_ref().map(ContentHash::as_bytes),
            filter.run.as_ref().map(RunId::as_bytes),
            filter.has_diff,
        ];
        let totals = self.db.read(|connection| {
            one(connection, sql, wanted, |row| {
                Ok(ApprovalTotals { count: unsigned(row, 0)?, bytes: unsigned(row, 1)? })
            })
        })?;
        Ok(totals.unwrap_or_default())
    }

    fn pending_approvals(&self, count: usize) -> Result<Vec<(ApprovalId, Timestamp)>> {
        let sql = "SELECT uuid, at FROM approval WHERE status = ?1 ORDER BY id LIMIT ?2";
        let wanted = params![value::to_number(ApprovalStatus::Pending), limit(count)];
        self.db.read(|connection| {
            all(connection, sql, wanted, |row| {
                Ok((ApprovalId::from_bytes(get(row, 0)?), moment(row, 1)?))
            })
        })
    }

    fn grants(&self, chat: Option<ChatId>) -> Result<Vec<Grant>> {
        self.db.read(|connection| grants(connection, chat))
    }

    fn policy(&self) -> Result<Option<String>> {
        self.db.glance(policy)
    }

    fn set_policy(
        &self,
        before: Option<&str>,
        text: &str,
        saved: Option<ReplacedGrants<'_>>,
        audit: &AuditEntry,
    ) -> Result<()> {
        self.db.write(Flush::Now, |connection| {
            if policy(connection)?.as_deref() != before {
                return Err(StoreError::Misfit("the policy was set meanwhile".to_owned()));
            }
            set_policy(connection, text)?;
            saved.map_or(Ok(()), |saved| replace_saved(connection, &saved))?;
            append::note(connection, audit)
        })
    }
}

fn status_of(decision: &Decision) -> ApprovalStatus {
    if decision.approves { ApprovalStatus::Approved } else { ApprovalStatus::Denied }
}

fn insert(connection: &Connection, asked: &NewApproval) -> Result<()> {
    let sql = "INSERT INTO approval (uuid, chat, asked_by, at, toolset, tool, args, reason, effect, \
               diff, state, status, preset, run, root, asked_in) \
               SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16 \
               FROM chat WHERE uuid = ?2";
    let ApprovalRequest { toolset, tool, args, reason, effect, diff, state, preset, run, root } =
        &asked.request;
    let values = params![
        asked.id.as_bytes(),
        asked.chat.as_bytes(),
        asked.asked_by,
        asked.at.as_millis(),
        toolset,
        tool,
        args,
        reason,
        effect,
        diff,
        state.as_bytes(),
        value::to_number(ApprovalStatus::Pending),
        preset,
        run.as_ref().map(RunId::as_bytes),
        root,
        asked.asked_in.as_ref().map(ProcessId::as_bytes),
    ];
    run_or(connection, sql, values, format!("there is no chat {}", asked.chat))
}

/// Writes a decision, if there is none yet; returns the request's chat.
fn decide(connection: &Connection, made: &NewDecision<'_>) -> Result<ChatId> {
    let NewDecision { id, shown, decision, revision, claimed_by, .. } = made;
    let sql = "UPDATE approval SET status = ?2, approves = ?3, scope = ?4, word = ?5, \
               other_args = COALESCE(?6, other_args), decided_by = ?7, decided_at = ?8, \
               claimed_by = ?11, started = NULL, effect = COALESCE(?12, effect), \
               diff = COALESCE(?13, diff), state = COALESCE(?14, state), parts = ?15 \
               WHERE uuid = ?1 AND status = ?9 AND state = ?10 \
               RETURNING (SELECT uuid FROM chat WHERE chat.id = approval.chat)";
    let values = params![
        id.as_bytes(),
        value::to_number(status_of(decision)),
        decision.approves,
        value::to_number(decision.scope),
        decision.reason,
        revision.map(|revision| &revision.args),
        decision.by,
        decision.at.as_millis(),
        value::to_number(ApprovalStatus::Pending),
        shown.as_bytes(),
        claimed_by.as_ref().map(ProcessId::as_bytes),
        revision.map(|revision| &revision.effect),
        revision.map(|revision| &revision.diff),
        revision.map(|revision| revision.state.as_bytes()),
        decision.parts,
    ];
    run_returning_chat(
        connection,
        sql,
        values,
        format!("approval {id} does not wait for a decision"),
    )
}

/// Makes a request pending again, because the approved plan is no longer what would happen; returns the request's
/// chat. The arguments stay: those of the agent, and those that a person gave instead.
fn renew(connection: &Connection, id: ApprovalId, request: &ApprovalRequest) -> Result<ChatId> {
    let sql = "UPDATE approval SET reason = ?2, effect = ?3, diff = ?4, state = ?5, status = ?6, \
               approves = NULL, scope = NULL, word = NULL, parts = NULL, decided_by = NULL, \
               decided_at = NULL, claimed_by = NULL, started = NULL, run = ?8 WHERE uuid = ?1 AND status = ?7 \
               RETURNING (SELECT uuid FROM chat WHERE chat.id = approval.chat)";
    let values = params![
        id.as_bytes(),
        request.reason,
        request.effect,
        request.diff,
        request.state.as_bytes(),
        value::to_number(ApprovalStatus::Pending),
        value::to_number(ApprovalStatus::Approved),
        request.run.as_ref().map(RunId::as_bytes),
    ];
    run_returning_chat(
        connection,
        sql,
        values,
        format!("approval {id} is not about to be executed"),
    )
}

/// Marks a request as executed by the step `head`; a misfit unless it was approved and not executed. Returns its chat.
pub(super) fn execute(connection: &Connection, head: Seq, id: ApprovalId) -> Result<ChatId> {
    let sql = "UPDATE approval SET status = ?2, step = ?3 WHERE uuid = ?1 AND status = ?4 \
               RETURNING (SELECT uuid FROM chat WHERE chat.id = approval.chat)";
    let values = params![
        id.as_bytes(),
        value::to_number(ApprovalStatus::Executed),
        number(head),
        value::to_number(ApprovalStatus::Approved),
    ];
    run_returning_chat(connection, sql, values, format!("approval {id} was executed already"))
}

/// Stores the answer of a decided call. A request that was executed by a step stays executed, a denied one stays denied;
/// one that changed nothing gets `status`. Returns the request's chat, if its status changed.
fn conclude(
    connection: &Connection,
    id: ApprovalId,
    status: ApprovalStatus,
    answer: &str,
) -> Result<Option<ChatId>> {
    let sql = "UPDATE approval SET answer = ?2 \
               WHERE uuid = ?1 AND status IN (?3, ?4) AND answer IS NULL";
    let [executed, denied] =
        [ApprovalStatus::Executed, ApprovalStatus::Denied].map(value::to_number);
    let values = params![id.as_bytes(), answer, executed, denied];
    if run(connection, sql, values)? > 0 {
        return Ok(None);
    }
    let sql = "UPDATE approval SET answer = ?2, status = ?3 WHERE uuid = ?1 AND status = ?4 \
               RETURNING (SELECT uuid FROM chat WHERE chat.id = approval.chat)";
    let approved = value::to_number(ApprovalStatus::Approved);
    let values = params![id.as_bytes(), answer, value::to_number(status), approved];
    one(connection, sql, values, value::chat_id)
}

fn approval(row: &Row<'_>) -> Result<Approval> {
    Ok(Approval {
        id: ApprovalId::from_bytes(get(row, 0)?),
        chat: ChatId::from_bytes(get(row, 1)?),
        asked_by: get(row, 2)?,
        at: moment(row, 3)?,
        request: ApprovalRequest {
            toolset: get(row, 4)?,
            tool: get(row, 5)?,
            args: get(row, 6)?,
            reason: get(row, 7)?,
            effect: get(row, 8)?,
            diff: get(row, 9)?,
            state: ContentHash::from_bytes(get(row, 10)?),
            preset: get(row, 20)?,
            run: value::id(row, 21, RunId::from_bytes)?,
            root: get(row, 22)?,
        },
        status: value::numbered(row, 11)?,
        step: value::id(row, 12, StepId::from_bytes)?,
        answer: get(row, 13)?,
        asked_in: value::id(row, 23, ProcessId::from_bytes)?,
        decision: decision(row)?,
        edited_args: get(row, 17)?,
        claimed_by: value::id(row, 24, ProcessId::from_bytes)?,
        started: get::<Option<i64>>(row, 25)?.is_some(),
    })
}

fn decision(row: &Row<'_>) -> Result<Option<Decision>> {
    let Some(approves) = get(row, 14)? else { return Ok(None) };
    Ok(Some(Decision {
        approves,
        scope: value::numbered(row, 15)?,
        reason: get(row, 16)?,
        parts: get(row, 26)?,
        by: get(row, 18)?,
        at: moment(row, 19)?,
    }))
}

fn grant(connection: &Connection, grant: &Grant) -> Result<()> {
    let sql = "INSERT INTO allowed (chat, rule, by, at) VALUES (?1, ?2, ?3, ?4)";
    let chat = grant.chat.as_ref().map(ChatId::as_bytes);
    let values = params![chat, grant.rule, grant.by, grant.at.as_millis()];
    run(connection, sql, values).map(drop)
}

/// The permissions for every chat, and for this one.
fn grants(connection: &Connection, chat: Option<ChatId>) -> Result<Vec<Grant>> {
    let sql = "SELECT chat, rule, by, at FROM allowed WHERE chat IS NULL OR chat = ?1 ORDER BY id";
    all(connection, sql, [chat.as_ref().map(ChatId::as_bytes)], |row| {
        let chat = value::id(row, 0, ChatId::from_bytes)?;
        Ok(Grant { chat, rule: get(row, 1)?, by: get(row, 2)?, at: moment(row, 3)? })
    })
}

/// Replaces the permissions for every chat.
fn replace_saved(connection: &Connection, saved: &ReplacedGrants<'_>) -> Result<()> {
    if grants(connection, None)? != saved.before {
        return Err(StoreError::Misfit("a permission was given meanwhile".to_owned()));
    }
    run(connection, "DELETE FROM allowed WHERE chat IS NULL", [])?;
    saved.after.iter().try_for_each(|saved| grant(connection, saved))
}

fn policy(connection: &Connection) -> Result<Option<String>> {
    one(connection, "SELECT text FROM policy", [], |row| get(row, 0))
}

fn set_policy(connection: &Connection, text: &str) -> Result<()> {
    let sql = "INSERT INTO policy (id, text) VALUES (1, ?1) \
               ON CONFLICT (id) DO UPDATE SET text = excluded.text";
    run(connection, sql, [text]).map(drop)
}
