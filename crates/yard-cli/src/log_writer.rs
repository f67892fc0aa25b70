//! The log's way to standard error: lines wait in memory for a few milliseconds and go out together, so
//! that no request waits for whoever reads them. A reader that cannot keep up loses lines, and is told
//! how many. It does not know what a line says.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// How long the first line waits for others.
const GATHERING: Duration = Duration::from_millis(20);
/// Most bytes that wait; lines beyond are dropped and counted.
const MOST: usize = 1 << 20;

/// A log that is being written; what waits is written out when this is dropped.
pub(crate) struct Writer {
    waiting: Arc<Waiting>,
    writer: Option<JoinHandle<()>>,
}

/// Where lines are put.
#[derive(Clone)]
pub(crate) struct Lines(Arc<Waiting>);

/// One line that is being put there.
pub(crate) struct Line<'a>(&'a Waiting);

#[derive(Default)]
struct Waiting {
    lines: Mutex<Batch>,
    /// Something came, or it is over.
    news: Condvar,
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    dropped: u64,
    ended: bool,
}

impl Writer {
    /// A log that goes to `output`, by a thread of its own.
    pub(crate) fn to(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let waiting = Arc::new(Waiting::default());
        let shared = Arc::clone(&waiting);
        let work = move || shared.write_out(&mut output);
        let writer = thread::Builder::new().name("log".to_owned()).spawn(work)?;
        Ok(Self { waiting, writer: Some(writer) })
    }

    /// Where lines are put.
    pub(crate) fn lines(&self) -> Lines {
        Lines(Arc::clone(&self.waiting))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.waiting.held().ended = true;
        self.waiting.news.notify_one();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Waiting {
    fn held(&self) -> MutexGuard<'_, Batch> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: &[u8]) {
        let mut batch = self.held();
        if batch.bytes.len() + line.len() > MOST {
            batch.dropped += 1;
            return;
        }
        let first = batch.bytes.is_empty();
        batch.bytes.extend_from_slice(line);
        drop(batch);
        if first {
            self.news.notify_one();
        }
    }

    /// Writes until the log has ended and nothing is left.
    fn write_out(&self, output: &mut impl Write) {
        let mut room = Vec::new();
        while let Some(batch) = self.next(room) {
            // Nobody is left to tell if standard error is gone.
            let _ = output.write_all(&batch.bytes);
            if batch.dropped > 0 {
                let count = batch.dropped;
                let _ =
                    writeln!(output, "{count} lines of the log were lost: it is read too slowly");
            }
            let _ = output.flush();
            room = batch.bytes;
        }
    }

    /// What has come, once something has and others had the time to join it. `room` is used again.
    fn next(&self, mut room: Vec<u8>) -> Option<Batch> {
        room.clear();
        let quiet = |batch: &mut Batch| batch.bytes.is_empty() && !batch.ended;
        let wait = self.news.wait_while(self.held(), quiet);
        let batch = wait.unwrap_or_else(PoisonError::into_inner);
        let gather = self.news.wait_timeout_while(batch, GATHERING, |batch| !batch.ended);
        let (mut batch, _) = gather.unwrap_or_else(PoisonError::into_inner);
        if batch.bytes.is_empty() {
            return None;
        }
        let (bytes, dropped) =
            (mem::replace(&mut batch.bytes, room), mem::take(&mut batch.dropped));
        Some(Batch { bytes, dropped, ended: false })
    }
}

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.add(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Hands on what is written, after it was let to.
    struct Slow {
        go: Receiver<()>,
        written: Sender<Vec<u8>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.go.recv();
            let _ = self.written.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (Writer, Sender<()>, Receiver<Vec<u8>>) {
        let ((let_go, go), (written, seen)) = (channel(), channel());
        (Writer::to(Slow { go, written }).unwrap(), let_go, seen)
    }

    fn say(lines: &Lines, line: &str) {
        lines.make_writer().write_all(line.as_bytes()).unwrap();
    }

    #[test]
    fn every_line_is_out_when_the_log_has_ended() {
        let (log, let_go, seen) = slow();
        let lines = log.lines();
        drop(let_go);
        for number in 0..1_000 {
            say(&lines, &format!("{number}\n"));
        }
        drop(log);
        let all: Vec<u8> = seen.try_iter().flatten().collect();
        let expected: String = (0..1_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(String::from_utf8(all).unwrap(), expected);
    }

    #[test]
    fn lines_go_out_without_waiting_for_the_end() {
        let (log, let_go, seen) = slow();
        let_go.send(()).unwrap();
        say(&log.lines(), "hello\n");
        assert_eq!(seen.recv().unwrap(), b"hello\n");
        drop(let_go);
    }

    #[test]
    fn a_slow_reader_loses_lines_and_is_told_how_many() {
        let (log, let_go, seen) = slow();
        let (lines, line) = (log.lines(), "x".repeat(MOST / 4));
        for _ in 0..20 {
            say(&lines, &line);
        }
        drop(let_go);
        drop(log);
        let all: Vec<u8> = seen.try_iter().flatten().collect();
        let text = String::from_utf8(all).unwrap();
        assert!(text.len() < 10 * line.len() && text.contains("lines of the log were lost"));
    }
}
