//! The event stream (SSE) of a person: what happens in all of their workspaces. An event says only where something
//! happened and what it was, so that the reader asks the other routes for the rest. Membership is looked at again for
//! each event.
//!
//! `change` names a workspace and what happened in it. `workspaces` says that the person is in other workspaces than
//! before. After `reset` the reader has missed events, and reads everything again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use yard_core::{Call, Role, Timestamp, WorkspaceId};
use yard_gate::admin::{Identity, PageRequest};
use yard_gate::{ChangeSubscription, EventRow, MAX_EVENTS, Session};

use super::event_stream::{self, EventSource, RETRY};
use super::events;
use super::problem::Problem;
use super::reply::{Content, Reply};
use super::request::HttpRequest;
use super::response::CancelOnDrop;
use super::stream::Body;
use crate::pool::WorkKind;

/// How often the list of the person's workspaces is read.
const RELIST_INTERVAL: Duration = Duration::from_secs(1);
/// The largest number of workspaces that one stream follows.
const MAX_WORKSPACES: usize = 200;
/// How many events of a workspace a reader that comes back may have missed.
const MAX_MISSED: u64 = 200;

/// Begins a stream, or goes on after the event whose id the header `Last-Event-ID` has.
pub(super) fn open(request: &HttpRequest) -> Result<Reply, Problem> {
    request.identity()?;
    let header = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
    // An id that this server did not send is answered like one that is too old.
    let since = header.map(|id| Timestamp::parse(id).unwrap_or(Timestamp::from_millis(0)));
    Ok(Reply { status: 200, content: Content::AllEvents(since), cookies: Vec::new() })
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
        pools.run(&self.request.workspace_key(), WorkKind::Look, read).await?.ok()
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
struct FollowChange {
    /// The person is in other workspaces than before.
    other_workspaces: bool,
    /// The reader missed more events than are sent again.
    missed_events: bool,
}

/// One workspace that is followed.
struct FollowedWorkspace {
    session: Session,
    /// The number of the last event that was read.
    cursor: u64,
    _subscription: ChangeSubscription,
}

impl Followed {
    /// What happened since the last look; at the first look, since then.
    fn read(&mut self, since: Option<Timestamp>) -> Result<String, Problem> {
        let identity = self.request.identify()?;
        let mut text = String::new();
        let mut other_workspaces = false;
        let now = self.request.call.world().elapsed();
        if self.listed_at.is_none_or(|at| now >= at + RELIST_INTERVAL) {
            let is_first = self.listed_at.replace(now).is_none();
            if is_first {
                text.push_str(RETRY);
            }
            let change = self.follow(&identity, since)?;
            other_workspaces = change.other_workspaces && !is_first;
            if change.missed_events {
                text.push_str("event: reset\ndata: {}\n\n");
            }
        }
        let request = Arc::clone(&self.request);
        let mut rows: Vec<(WorkspaceId, EventRow)> = Vec::new();
        self.workspaces.retain(|id, workspace| {
            // A workspace that was closed is opened again if it is still in the list.
            let Ok(new) = workspace.read(&request.call) else { return false };
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
        let admin = &self.request.app.admin;
        let page = PageRequest { after: None, limit: MAX_WORKSPACES };
        let rows = admin.workspaces(identity, page)?;
        let ids: Vec<WorkspaceId> = rows.iter().map(|(row, _)| row.id).collect();
        let before = self.workspaces.len();
        self.workspaces.retain(|id, _| ids.contains(id));
        let other_workspaces = self.workspaces.len() < before;
        let mut change = FollowChange { other_workspaces, missed_events: false };
        for id in ids {
            if self.workspaces.contains_key(&id) {
                continue;
            }
            let entered = admin.enter(identity.clone(), id, Role::Viewer);
            // The inbox names a workspace that cannot be opened.
            let Ok(session) = entered.and_then(|entered| admin.session(&entered)) else { continue };
            let waker = Arc::clone(&self.notify);
            let subscription = session.subscribe(Arc::new(move || waker.notify_one()));
            let (cursor, missed) = begin(&session, &self.request, since)?;
            change.missed_events |= missed;
            change.other_workspaces = true;
            let workspace = FollowedWorkspace { session, cursor, _subscription: subscription };
            self.workspaces.insert(id, workspace);
        }
        Ok(change)
    }
}

/// The number of the event after which a reader goes on, and whether it missed more than are sent again.
fn begin(
    session: &Session,
    request: &HttpRequest,
    since: Option<Timestamp>,
) -> Result<(u64, bool), Problem> {
    let last = session.last_event()?;
    let Some(since) = since else { return Ok((last, false)) };
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

impl FollowedWorkspace {
    /// The events since the last look.
    fn read(&mut self, call: &Call) -> yard_core::Result<Vec<EventRow>> {
        let last = self.session.last_event()?;
        if last == self.cursor {
            return Ok(Vec::new());
        }
        let rows = self.session.events(call, self.cursor.min(last), MAX_EVENTS)?;
        self.cursor = rows.last().map_or(last, |row| row.number);
        Ok(rows)
    }
}

/// An event in the format of SSE. Its id is its time.
fn to_sse(workspace: WorkspaceId, row: &EventRow) -> String {
    let (kind, data) = events::name_and_data(&row.what);
    let names = ["step_id", "approval_id", "question_id", "terminal_id", "chat_id"];
    let reference = names.iter().find_map(|name| data[name].as_str());
    let data = json!({"workspace": workspace.to_string(), "kind": kind, "ref": reference});
    format!("id: {}\nevent: change\ndata: {data}\n\n", row.at)
}
