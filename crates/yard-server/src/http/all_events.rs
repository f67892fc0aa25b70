//! The event stream (SSE) of a person: what happens in all of their workspaces. An event says only where something
//! happened and what it was, so that the reader asks the other routes for the rest. Membership is looked at again for
//! each event.
//!
//! `change` names a workspace and what happened in it. `workspaces` says that the person is in other workspaces than
//! before. After `reset` the reader has missed events, and reads everything again. `partial` says that the person is in more
//! workspaces than are followed, which are the newest ones.
//!
//! A stream keeps no workspace open. One that is open for another reason tells it of changes; of the others it asks once a
//! second for the number of the newest event.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use yard_core::{Role, Timestamp, WorkspaceId};
use yard_gate::admin::{Entered, Identity};
use yard_gate::registry::WorkspaceRow;
use yard_gate::{ChangeSubscription, EventRow, LastEvent, MAX_EVENTS, Session};

use super::cancel::CancelOnDrop;
use super::event_stream::{self, EventSource, RETRY};
use super::events;
use super::outcome::Outcome;
use super::problem::Problem;
use super::request::HttpRequest;
use super::stream::Body;
use crate::pool::WorkKind;

/// How often the list of the person's workspaces is read, and each of them asked: a little more often than a stream without
/// notifications wakes up.
const RELIST_INTERVAL: Duration = Duration::from_millis(900);
/// The largest number of workspaces that one stream follows.
const MAX_WORKSPACES: usize = 1_000;
/// How many events of a workspace a reader that comes back may have missed.
const MAX_MISSED: u64 = 200;
/// In how many workspaces a reader that comes back may have missed events: each of them is opened.
const MAX_MISSED_WORKSPACES: usize = 32;
/// How much later an event may be committed than its time says.
const COMMIT_MILLIS: i64 = 10_000;

/// Begins a stream, or goes on after the event whose id the header `Last-Event-ID` has.
pub(super) fn open(request: &HttpRequest) -> Result<Outcome, Problem> {
    request.identity()?;
    let header = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
    // An id that this server did not send is answered like one that is too old.
    let since = header.map(|id| Timestamp::parse(id).unwrap_or(Timestamp::from_millis(0)));
    Ok(Outcome::AllEvents(since))
}

/// The stream.
pub(super) fn body(
    request: Arc<HttpRequest>,
    since: Option<Timestamp>,
    stop: CancelOnDrop,
) -> Body {
    let notify = Arc::new(Notify::new());
    let followed = Followed {
        request: Arc::clone(&request),
        notify: Arc::clone(&notify),
        workspaces: HashMap::new(),
        listed_at: None,
    };
    let followed = Arc::new(Mutex::new(followed));
    let source = PersonEvents { request: Arc::clone(&request), followed, since };
    event_stream::body(request, notify, source, stop)
}

/// The events of a person's workspaces for one reader.
struct PersonEvents {
    request: Arc<HttpRequest>,
    followed: Arc<Mutex<Followed>>,
    /// When the last event happened that the reader has from an earlier stream.
    since: Option<Timestamp>,
}

impl EventSource for PersonEvents {
    /// The events since the last look; `None` if the caller is not logged in any more.
    async fn read(&mut self) -> Option<String> {
        let (followed, since) = (Arc::clone(&self.followed), self.since.take());
        let read = move || followed.lock().read(since);
        let pools = &self.request.app.pools;
        pools.run(&self.request.share_owner(), WorkKind::Look, read).await?.ok()
    }
}

/// The workspaces of a person, with how far each was read.
struct Followed {
    request: Arc<HttpRequest>,
    notify: Arc<Notify>,
    workspaces: HashMap<WorkspaceId, FollowedWorkspace>,
    /// When the list of workspaces was read, by the monotonic clock.
    listed_at: Option<Duration>,
}

/// What a look at the list of workspaces found.
#[derive(Default)]
struct FollowChange {
    /// The person is in other workspaces than before.
    other_workspaces: bool,
    /// In how many workspaces the reader missed events.
    missed_workspaces: usize,
    /// The reader missed more events than are sent again.
    missed_too_much: bool,
    /// The person is in more workspaces than are followed.
    is_partial: bool,
}

/// One workspace that is followed.
struct FollowedWorkspace {
    row: WorkspaceRow,
    entered: Entered,
    /// The number of the last event that was read.
    cursor: u64,
    /// Wakes the stream while the workspace is open.
    subscription: Option<ChangeSubscription>,
    /// The open workspace has told of a change since it was read.
    has_told: Arc<AtomicBool>,
}

impl Followed {
    /// What happened since the last look; at the first look, since then.
    fn read(&mut self, since: Option<Timestamp>) -> Result<String, Problem> {
        let identity = self.request.identify()?;
        let mut text = String::new();
        let mut other_workspaces = false;
        let now = self.request.call.world().elapsed();
        // Between two lists, only workspaces that told of a change are asked.
        let asks_all = self.listed_at.is_none_or(|at| now >= at + RELIST_INTERVAL);
        if asks_all {
            let is_first = self.listed_at.replace(now).is_none();
            if is_first {
                text.push_str(RETRY);
            }
            let change = self.follow(&identity, since)?;
            other_workspaces = change.other_workspaces && !is_first;
            if change.missed_too_much {
                text.push_str("event: reset\ndata: {}\n\n");
            }
            if change.is_partial && is_first {
                let data = json!({"followed": MAX_WORKSPACES});
                text.push_str(&format!("event: partial\ndata: {data}\n\n"));
            }
        }
        let (request, notify) = (Arc::clone(&self.request), Arc::clone(&self.notify));
        let mut rows: Vec<(WorkspaceId, EventRow)> = Vec::new();
        self.workspaces.retain(|id, workspace| {
            // One that cannot be read is followed again as soon as it can, if it is still in the list.
            if !workspace.has_told.swap(false, Ordering::Relaxed) && !asks_all {
                return true;
            }
            let Ok(new) = workspace.read(&request, &notify) else { return false };
            let is_member = new.is_empty()
                || request.app.admin.enter(identity.clone(), *id, Role::Viewer).is_ok();
            other_workspaces |= !is_member;
            rows.extend(new.into_iter().filter(|_| is_member).map(|row| (*id, row)));
            is_member
        });
        if other_workspaces {
            text.push_str("event: workspaces\ndata: {}\n\n");
        }
        rows.sort_by_key(|(_, row)| row.at);
        rows.iter().for_each(|(id, row)| text.push_str(&to_sse(*id, row)));
        Ok(text)
    }

    /// Follows the workspaces that the person is in by now, and no others.
    fn follow(
        &mut self,
        identity: &Identity,
        since: Option<Timestamp>,
    ) -> Result<FollowChange, Problem> {
        let mut rows = self.request.app.admin.all_workspaces(identity)?;
        let mut change =
            FollowChange { is_partial: rows.len() > MAX_WORKSPACES, ..FollowChange::default() };
        if change.is_partial {
            rows.sort_by_key(|(row, _)| row.created_at);
            rows.drain(..rows.len() - MAX_WORKSPACES);
        }
        let before = self.workspaces.len();
        let ids: HashSet<WorkspaceId> = rows.iter().map(|(row, _)| row.id).collect();
        self.workspaces.retain(|id, _| ids.contains(id));
        change.other_workspaces = self.workspaces.len() < before;
        for (row, role) in rows {
            if self.workspaces.contains_key(&row.id) {
                continue;
            }
            let entered = Entered { identity: identity.clone(), workspace: row.id, role };
            let has_told = Arc::default();
            let mut workspace =
                FollowedWorkspace { row, entered, cursor: 0, subscription: None, has_told };
            // The inbox names a workspace that cannot be read. It must not end the stream of the others.
            if workspace.begin(&self.request, since, &mut change).is_ok() {
                change.other_workspaces = true;
                self.workspaces.insert(workspace.row.id, workspace);
            }
        }
        Ok(change)
    }
}

impl FollowedWorkspace {
    /// Sets the event after which a reader goes on.
    fn begin(
        &mut self,
        request: &HttpRequest,
        since: Option<Timestamp>,
        change: &mut FollowChange,
    ) -> Result<(), Problem> {
        let admin = &request.app.admin;
        let last = match admin.session_if_open(&self.entered) {
            Some(session) => session.newest_event()?,
            None => admin.last_event(&self.row)?,
        };
        self.cursor = last.number;
        let Some(since) = since.filter(|since| may_have_missed(last, *since)) else {
            return Ok(());
        };
        change.missed_workspaces += 1;
        if change.missed_workspaces > MAX_MISSED_WORKSPACES {
            change.missed_too_much = true;
            return Ok(());
        }
        let (cursor, missed_too_much) =
            event_before(&admin.session(&self.entered)?, request, since)?;
        self.cursor = cursor;
        change.missed_too_much |= missed_too_much;
        Ok(())
    }

    /// The events since the last look.
    fn read(
        &mut self,
        request: &HttpRequest,
        notify: &Arc<Notify>,
    ) -> Result<Vec<EventRow>, Problem> {
        let admin = &request.app.admin;
        let session = match admin.session_if_open(&self.entered) {
            Some(session) => {
                self.subscribe(&session, notify);
                session
            }
            None if admin.last_event(&self.row)?.number == self.cursor => return Ok(Vec::new()),
            None => admin.session(&self.entered)?,
        };
        let last = session.last_event()?;
        if last == self.cursor {
            return Ok(Vec::new());
        }
        let rows = session.events(&request.call, self.cursor.min(last), MAX_EVENTS)?;
        self.cursor = rows.last().map_or(last, |row| row.number);
        if rows.len() >= MAX_EVENTS {
            // There may be more.
            self.has_told.store(true, Ordering::Relaxed);
        }
        Ok(rows)
    }

    /// Listens to the open workspace, unless it does already.
    fn subscribe(&mut self, session: &Session, notify: &Arc<Notify>) {
        let subscription = self.subscription.as_ref();
        if subscription.is_none_or(|subscription| !session.is_subscribed(subscription)) {
            let (waker, has_told) = (Arc::clone(notify), Arc::clone(&self.has_told));
            let tell = move || {
                has_told.store(true, Ordering::Relaxed);
                waker.notify_one();
            };
            self.subscription = Some(session.subscribe(Arc::new(tell)));
        }
    }
}

/// Whether a reader who had everything until `since` may have missed the newest event.
fn may_have_missed(last: LastEvent, since: Timestamp) -> bool {
    last.at.is_some_and(|at| at.as_millis().saturating_add(COMMIT_MILLIS) >= since.as_millis())
}

/// The number of the event after which a reader goes on who had everything until `since`, and whether that reader missed
/// more than is sent again.
fn event_before(
    session: &Session,
    request: &HttpRequest,
    since: Timestamp,
) -> Result<(u64, bool), Problem> {
    let last = session.last_event()?;
    let oldest = last.saturating_sub(MAX_MISSED);
    let rows = session.events(&request.call, oldest, MAX_EVENTS)?;
    // An event of the same millisecond is sent again: nobody knows whether the reader has it.
    let new = rows.iter().find(|row| row.at >= since);
    let missed = oldest > 0 && rows.first().is_some_and(|row| row.at > since);
    Ok(match new {
        _ if missed => (last, true),
        Some(row) => (row.number - 1, false),
        None => (last, false),
    })
}

/// An event in the format of SSE. Its id is its time.
fn to_sse(workspace: WorkspaceId, row: &EventRow) -> String {
    let (kind, data) = events::name_and_data(&row.what);
    let names = ["step_id", "approval_id", "question_id", "terminal_id", "chat_id"];
    let reference = names.iter().find_map(|name| data[name].as_str());
    let data = json!({"workspace": workspace.to_string(), "kind": kind, "ref": reference});
    format!("id: {}\nevent: change\ndata: {data}\n\n", row.at)
}
