//! Writes transcripts behind the answers: nobody waits for a line that tells what is over, and a call that
//! comes right after it does not meet the writer at the store. In order, by one thread a connection, which
//! is finished when the connection ends.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use yard_gate::Line;

/// Lines that wait to be written; whoever brings one more writes it himself.
const WAITING: usize = 256;
/// How long it is quiet before lines are written.
const PAUSE: Duration = Duration::from_millis(100);
/// So many are written also when it is not.
const TOGETHER: usize = 200;

/// Who writes for one connection.
#[derive(Default)]
pub(super) struct Scribe(Mutex<Option<Desk>>);

struct Desk {
    tray: SyncSender<Line>,
    writing: JoinHandle<()>,
}

impl Scribe {
    /// Takes a line to be written.
    pub(super) fn take(&self, line: Line) {
        let mut desk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = match desk.get_or_insert_with(sit_down).tray.try_send(line) {
            Ok(()) => return,
            Err(TrySendError::Full(line) | TrySendError::Disconnected(line)) => line,
        };
        drop(desk);
        left.write();
    }

    /// Writes what is left.
    pub(super) fn finish(&self) {
        let desk = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Desk { tray, writing }) = desk {
            drop(tray);
            // A line that cannot be written is lost with it; the calls themselves are not.
            let _ = writing.join();
        }
    }
}

fn sit_down() -> Desk {
    let (tray, lines) = sync_channel::<Line>(WAITING);
    let writing = thread::spawn(move || write_down(&lines));
    Desk { tray, writing }
}

/// Gathers lines for a while and writes them together, until no more come.
fn write_down(lines: &Receiver<Line>) {
    while let Ok(first) = lines.recv() {
        let mut gathered = vec![first];
        while let Ok(next) = lines.recv_timeout(PAUSE) {
            gathered.push(next);
            if gathered.len() >= TOGETHER {
                break;
            }
        }
        gathered.into_iter().for_each(Line::write);
    }
}
