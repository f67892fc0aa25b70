//! Requests of other processes about a running terminal. Its program runs in the process that opened it; the other
//! processes on the data folder send it one request for each connection to the terminal's socket, and read one answer.
//! What requests and answers say is not known here.
//!
//! Every process that may use the data folder may send requests; no box shows that folder.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use yard_core::{Fault, FaultCode, Result, RunId};
use yard_disk::Bound;

use crate::commands::run_files::TERMINAL_DESCRIPTION;
use crate::workspace::Workspace;

/// How long a process waits for the rest of a request.
const REQUEST_TIME: Duration = Duration::from_secs(2);
/// How long to wait after a connection could not be accepted.
const RETRY_TIME: Duration = Duration::from_millis(100);
/// The longest request and the longest answer.
const MAX_BYTES: u64 = 4 << 20;

/// Answers requests about a terminal until it is dropped.
pub struct TerminalService(Arc<Bound>);

impl Drop for TerminalService {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Workspace {
    /// Answers the requests of other processes about a terminal of this process, one after the other.
    pub fn serve_terminal(
        &self,
        run: RunId,
        answer: impl Fn(&[u8]) -> Vec<u8> + Send + 'static,
    ) -> io::Result<TerminalService> {
        let bound = self.commands.terminal_sockets.bind(&run.to_string())?;
        bound.listener.set_nonblocking(false)?;
        let bound = Arc::new(bound);
        let service = TerminalService(Arc::clone(&bound));
        let thread = thread::Builder::new().name("terminal-requests".to_owned());
        thread.spawn(move || {
            loop {
                match bound.listener.accept() {
                    // The client sees that the connection is closed.
                    Ok((stream, _)) => drop(answer_one(stream, &answer)),
                    // So it ends once the socket is closed.
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => break,
                    // Too many files may be open now.
                    Err(_) => thread::sleep(RETRY_TIME),
                }
            }
        })?;
        Ok(service)
    }

    /// The terminals that run now in any process on the data folder.
    pub fn served_terminals(&self) -> Result<Vec<RunId>> {
        let names = self.commands.terminal_sockets.names().map_err(|error| not_reached(&error))?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// The description that the opener of a terminal stored with it.
    pub fn terminal_note(&self, run: RunId) -> Result<Option<Vec<u8>>> {
        let folder = self.commands.runs.find(run)?;
        folder.map_or(Ok(None), |folder| folder.read_file(TERMINAL_DESCRIPTION))
    }

    /// Sends a request to the process that runs a terminal, and waits at most `time` for the answer. `None` if no process
    /// runs it any more.
    pub fn request_of_terminal(
        &self,
        run: RunId,
        request: &[u8],
        time: Duration,
    ) -> Result<Option<Vec<u8>>> {
        let exchange = || {
            let mut stream = self.commands.terminal_sockets.connect(&run.to_string(), time)?;
            stream.write_all(request)?;
            stream.shutdown(Shutdown::Write)?;
            read_whole(&stream)
        };
        match exchange() {
            Ok(answer) if answer.is_empty() => Ok(None),
            Ok(answer) => Ok(Some(answer)),
            Err(error) if has_ended(&error) => Ok(None),
            Err(error) => Err(not_reached(&error)),
        }
    }
}

fn answer_one(mut stream: UnixStream, answer: &impl Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIME))?;
    stream.set_write_timeout(Some(REQUEST_TIME))?;
    let request = read_whole(&stream)?;
    stream.write_all(&answer(&request))
}

fn read_whole(stream: &UnixStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether the process that ran the terminal, or the terminal itself, has ended.
fn has_ended(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound};
    matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset | BrokenPipe)
}

fn not_reached(error: &io::Error) -> Fault {
    let message =
        format!("the process that runs this terminal does not answer ({error}); try again");
    Fault::new(FaultCode::Unavailable, message)
}
