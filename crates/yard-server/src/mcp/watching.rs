//! Tells subscribers what changed: whoever changed it, through Toolyard or behind its back. Both revisions
//! of the protocol use it; how they are told is theirs.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use yard_core::{Call, Result, WsPath};
use yard_gate::{Event, MOST_EVENTS};

use super::address::Address;
use super::seat::Room;

/// How often the store is looked at although no bell rang: another process may have written.
const GLANCE: Duration = Duration::from_secs(1);

/// How far back a subscription looks: the protocol says that it holds before it is handed over.
const BACK_MILLIS: i64 = 5_000;

/// What changed since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Addresses of files.
    pub(super) files: HashSet<String>,
    /// More than is named.
    pub(super) more: bool,
    /// Files came or went.
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

/// From when on somebody looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// From now on.
    Now,
    /// From a moment ago on: for who was told already that it would be told. What it is told twice is no
    /// harm; what it is never told is.
    AMomentAgo,
}

/// Somebody who looks at what happens in one workspace.
pub(super) struct Watcher {
    room: Room,
    seen: u64,
    rung: Arc<Notify>,
    _listening: yard_gate::BellSubscription,
}

impl Watcher {
    /// Looks from then on.
    pub(super) fn new(room: Room, from: Since, call: &Call) -> Result<Self> {
        room.session.watch(call)?;
        let rung = Arc::new(Notify::new());
        let ear = Arc::clone(&rung);
        let listening = room.session.listen(Arc::new(move || ear.notify_one()));
        let mut seen = room.session.last_event()?;
        if from == Since::AMomentAgo {
            let since = call.world().now().as_millis().saturating_sub(BACK_MILLIS);
            let after = seen.saturating_sub(MOST_EVENTS as u64);
            let late = room.session.events(after, MOST_EVENTS)?.into_iter();
            let first = late.filter(|row| row.at.as_millis() >= since).map(|row| row.number).min();
            seen = first.map_or(seen, |number| number.saturating_sub(1).min(seen));
            rung.notify_one();
        }
        Ok(Self { room, seen, rung, _listening: listening })
    }

    /// Waits until something may have happened.
    pub(super) async fn wait(&self) {
        tokio::select! {
            () = self.rung.notified() => {}
            () = sleep(GLANCE) => {}
        }
    }

    /// What has happened since the last look; one page of it.
    pub(super) fn look(&mut self) -> Result<Option<Changed>> {
        let events = self.room.session.events(self.seen, MOST_EVENTS)?;
        let Some(last) = events.last() else { return Ok(None) };
        self.seen = last.number;
        let mut changed = Changed::default();
        for row in &events {
            self.note(&row.what, &mut changed);
        }
        Ok(Some(changed))
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
                // Without paths, more changed than anybody counted.
                changed.more |= paths.is_empty();
                changed.files.extend(paths.iter().map(|path| self.uri(path)));
            }
            _ => {}
        }
    }

    fn uri(&self, path: &WsPath) -> String {
        Address::of_file(self.room.name.as_deref(), path)
    }
}
