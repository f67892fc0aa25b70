//! Finds out what changed in a workspace, through Toolyard or outside of it, for clients that subscribed. Both
//! revisions of the protocol use it, and notify their clients in their own ways.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use yard_core::{Call, ChatId, Result, WsPath};
use yard_gate::{Event, EventRow, MAX_EVENTS, Session, transcript_path};

use super::address::Address;
use super::callers::WorkspaceView;
use crate::pool::{Pools, WorkKind};

/// How often the store is read without a notification: another process may have written to it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How far back a subscription begins: the protocol confirms it before the server has registered it.
const BACK_MILLIS: i64 = 5_000;

/// What changed since the last read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Addresses of files.
    pub(super) files: HashSet<String>,
    /// More files changed than `files` names.
    pub(super) more: bool,
    /// Files were added or removed.
    pub(super) list: bool,
    /// There is a new step.
    pub(super) history: bool,
}

impl Changed {
    /// Whether what an address names may have changed.
    pub(super) fn concerns(&self, uri: &str) -> bool {
        match Address::parse(uri) {
            Some(Address::File(_)) => self.more || self.files.contains(uri),
            Some(Address::History(_)) => self.history,
            // What a step changed never changes.
            Some(Address::Diff(_)) | None => false,
        }
    }
}

/// Where a watcher begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// At the newest event.
    Now,
    /// A moment ago, for a client whose subscription was confirmed before it was registered. An event that is
    /// reported twice does no harm; one that is never reported does.
    AMomentAgo,
}

/// Reads the events of one workspace.
pub(super) struct Watcher {
    workspace: WorkspaceView,
    call: Call,
    seen: u64,
    notify: Arc<Notify>,
    _subscription: yard_gate::ChangeSubscription,
}

impl Watcher {
    /// A watcher that begins there.
    pub(super) fn new(workspace: WorkspaceView, from: Since, call: &Call) -> Result<Self> {
        workspace.session.watch(call)?;
        let notify = Arc::new(Notify::new());
        let waker = Arc::clone(&notify);
        let subscription = workspace.session.subscribe(Arc::new(move || waker.notify_one()));
        let mut seen = workspace.session.last_event()?;
        if from == Since::AMomentAgo {
            let since = call.world().now().as_millis().saturating_sub(BACK_MILLIS);
            let after = seen.saturating_sub(MAX_EVENTS as u64);
            let late = workspace.session.events(call, after, MAX_EVENTS)?.into_iter();
            let first = late.filter(|row| row.at.as_millis() >= since).map(|row| row.number).min();
            seen = first.map_or(seen, |number| number.saturating_sub(1).min(seen));
            notify.notify_one();
        }
        Ok(Self { workspace, call: call.clone(), seen, notify, _subscription: subscription })
    }

    /// Waits until there may be new events.
    pub(super) async fn wait(&self) {
        tokio::select! {
            () = self.notify.notified() => {}
            () = sleep(POLL_INTERVAL) => {}
        }
    }

    /// What one page of the events since the last read changed; `None` if there are none, or if they cannot be read
    /// now. The store is read where that may block.
    pub(super) async fn read(&mut self, pools: &Pools) -> Option<Changed> {
        let (session, call, seen) = (self.workspace.session.clone(), self.call.clone(), self.seen);
        let read = move || -> Result<(Vec<EventRow>, Vec<WsPath>)> {
            let events = session.events(&call, seen, MAX_EVENTS)?;
            let transcripts = grown_transcripts(&session, &events);
            Ok((events, transcripts))
        };
        let read = pools.run(&self.workspace.workspace_key, WorkKind::Look, read).await?.ok()?;
        let (events, transcripts) = read;
        self.seen = events.last()?.number;
        let mut changed = Changed::default();
        for row in &events {
            self.note(&row.what, &mut changed);
        }
        changed.files.extend(transcripts.iter().map(|path| self.uri(path)));
        Some(changed)
    }

    fn note(&self, event: &Event, changed: &mut Changed) {
        match event {
            Event::Step(step) => {
                changed.history = true;
                changed.more |= step.files > step.changes.len() as u64;
                for change in &step.changes {
                    changed.files.insert(self.uri(&change.path));
                    changed.list |= !matches!(change.summary.word(), "modified" | "touched");
                }
            }
            Event::ChangedOutside { paths } => {
                changed.list = true;
                // Without paths, more files changed than were counted.
                changed.more |= paths.is_empty();
                changed.files.extend(paths.iter().map(|path| self.uri(path)));
            }
            _ => {}
        }
    }

    fn uri(&self, path: &WsPath) -> String {
        Address::of_file(self.workspace.name.as_deref(), path)
    }
}

/// The transcripts of the chats in which messages were posted.
fn grown_transcripts(session: &Session, events: &[EventRow]) -> Vec<WsPath> {
    let chats: HashSet<ChatId> = events
        .iter()
        .filter_map(|row| match row.what {
            Event::Posted { chat, .. } => Some(chat),
            _ => None,
        })
        .collect();
    // A chat that was removed since has no transcript.
    let chats = chats.into_iter().filter_map(|id| session.chats().get(id).ok());
    chats.filter_map(|chat| transcript_path(&chat)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use serde_json::json;
    use tokio::time::timeout;
    use yard_testkit::TestWorkspace;

    use super::*;

    /// As many looks as one workspace may have at a time.
    const LOOKS: usize = 16;

    #[test]
    fn events_are_read_in_a_slot_of_the_workspace() {
        let workspace = TestWorkspace::new();
        let (session, workspace_key) = (workspace.session(), "here".to_owned());
        let view = WorkspaceView { name: None, workspace_key, session };
        let mut watcher = Watcher::new(view, Since::Now, &workspace.call_context()).unwrap();
        assert!(workspace.call("write", json!({"path": "/a", "content": "x"})).ok);
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let pools = Arc::new(Pools::new());
            let (begun, end) =
                (Arc::new(Barrier::new(LOOKS + 1)), Arc::new(Barrier::new(LOOKS + 1)));
            for _ in 0..LOOKS {
                let (pools, begun, end) = (Arc::clone(&pools), begun.clone(), end.clone());
                let look = move || {
                    begun.wait();
                    end.wait();
                };
                tokio::spawn(async move { pools.run("here", WorkKind::Look, look).await });
            }
            begun.wait();
            let wait = Duration::from_millis(100);
            assert!(timeout(wait, watcher.read(&pools)).await.is_err(), "no slot is free");
            end.wait();
            let changed = watcher.read(&pools).await.unwrap();
            assert!(changed.list && changed.history && changed.files.contains("toolyard://file/a"));
            assert_eq!(watcher.read(&pools).await, None);
        });
    }
}
