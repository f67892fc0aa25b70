//! Writes the lines of a chat's transcript after the calls were answered, so that no call waits for them. One
//! thread for each connection writes them in order; it ends with the connection.

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use yard_gate::UnwrittenTurn;

/// Lines that wait to be written. When the queue is full, the caller writes its line itself.
const QUEUE_LINES: usize = 256;

/// The transcript writer of one connection.
#[derive(Default)]
pub(super) struct TranscriptWriter(Mutex<Option<WriterThread>>);

struct WriterThread {
    queue: SyncSender<UnwrittenTurn>,
    thread: JoinHandle<()>,
}

impl TranscriptWriter {
    /// Queues a line. The first one starts the thread.
    pub(super) fn push(&self, line: UnwrittenTurn) {
        let mut writer = self.0.lock();
        let refused = match writer.get_or_insert_with(start_thread).queue.try_send(line) {
            Ok(()) => return,
            Err(TrySendError::Full(line) | TrySendError::Disconnected(line)) => line,
        };
        drop(writer);
        refused.write();
    }

    /// Waits until all queued lines are written.
    pub(super) fn finish(&self) {
        let writer = self.0.lock().take();
        if let Some(WriterThread { queue, thread }) = writer {
            drop(queue);
            // A line that cannot be written is lost; the call that it describes is not.
            let _ = thread.join();
        }
    }
}

fn start_thread() -> WriterThread {
    let (queue, lines) = sync_channel::<UnwrittenTurn>(QUEUE_LINES);
    let thread = thread::spawn(move || lines.into_iter().for_each(UnwrittenTurn::write));
    WriterThread { queue, thread }
}
