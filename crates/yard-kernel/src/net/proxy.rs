//! The one way out of a box: an HTTP proxy on the box's own loopback, served out here. The socket that it
//! listens on was made in the box's network and handed out, so that nobody but the box can dial it; what it
//! asks for is dialled here, as everything is: only hosts that the operator named, only addresses that are
//! public or exempt, looked up once.
//!
//! It passes bytes on and understands none of them beyond the first lines of a request.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use yard_core::Call;

use super::dial::{Patience, dial};
use super::{Net, Target};

/// Where the proxy listens, in the box.
pub(crate) const PORT: u16 = 3_128;
/// Bytes of the first lines of a request.
const HEAD_BYTES: usize = 16 << 10;
/// Bytes that one line may carry, both ways.
const LINE_BYTES: u64 = 4 << 30;
/// Lines at a time.
const LINES: usize = 32;
/// How long one line may last.
const LINE: Duration = Duration::from_secs(1_800);
const SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What a command may reach, and by which way.
#[derive(Clone)]
pub struct Reach {
    net: Net,
    allows: Arc<dyn Fn(&Target) -> bool + Send + Sync>,
}

impl Reach {
    /// Hosts that `allows` says, over `net`.
    pub fn new(net: Net, allows: impl Fn(&Target) -> bool + Send + Sync + 'static) -> Self {
        Self { net, allows: Arc::new(allows) }
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach").field("net", &self.net).finish_non_exhaustive()
    }
}

/// A proxy at work.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

struct Shared {
    reach: Reach,
    call: Call,
    is_over: AtomicBool,
    lines: AtomicUsize,
    refused: Mutex<BTreeSet<String>>,
}

impl Proxy {
    /// Serves on a socket that the box made.
    pub(crate) fn serve(listener: OwnedFd, reach: Reach, call: &Call) -> io::Result<Self> {
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared {
            reach,
            call: Call::new(call.shared_world()),
            is_over: AtomicBool::new(false),
            lines: AtomicUsize::new(0),
            refused: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let thread = thread::Builder::new().name("toolyard-proxy".to_owned());
        let thread = thread.spawn(move || accept(&listener, &serving))?;
        Ok(Self { shared, thread })
    }

    /// Ends it: every line, too. What was asked for and refused.
    pub(crate) fn end(self) -> Vec<String> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
        let refused = self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().cloned().collect()
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.is_over.load(Ordering::Relaxed) {
        let mut ready = [PollFd::new(listener, PollFlags::IN)];
        let _ = poll(&mut ready, Some(&SLICE));
        let Ok((line, _)) = listener.accept() else { continue };
        if shared.lines.fetch_add(1, Ordering::Relaxed) >= LINES {
            shared.lines.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let serving = Arc::clone(shared);
        let thread = thread::Builder::new().name("toolyard-proxied".to_owned());
        let spawned = thread.spawn(move || {
            // A line that breaks off is its client's to notice.
            let _ = serving.line(line);
            serving.lines.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            shared.lines.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// What a client asked for.
struct Asked {
    target: Target,
    /// What goes to the host before anything else.
    first: Vec<u8>,
    /// What the client hears before anything else.
    answer: &'static [u8],
}

impl Shared {
    fn line(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_nonblocking(true)?;
        let patience = Patience::new(&self.call, LINE);
        let (head, rest) = self.head(&mut client, &patience)?;
        let Some(mut asked) = asked(&head) else {
            return self.say(&mut client, &patience, "400 Bad Request", "this is an HTTP proxy");
        };
        let place = asked.target.place();
        if !(self.reach.allows)(&asked.target) {
            return self.refuse(
                &mut client,
                &patience,
                &place,
                "the operator did not allow this host",
            );
        }
        let addresses = match self.reach.net.addresses(&asked.target, &patience) {
            Ok(addresses) => addresses,
            Err(fault) => return self.refuse(&mut client, &patience, &place, fault.message()),
        };
        let Ok(mut host) = dial(&addresses, &patience) else {
            return self.say(&mut client, &patience, "502 Bad Gateway", "the host does not answer");
        };
        asked.first.extend(rest);
        self.write(&mut host, &asked.first, &patience)?;
        self.write(&mut client, asked.answer, &patience)?;
        self.pass_on(client, host, &patience)
    }

    fn refuse(
        &self,
        client: &mut TcpStream,
        patience: &Patience,
        place: &str,
        why: &str,
    ) -> io::Result<()> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < LINES {
            refused.insert(place.to_owned());
        }
        drop(refused);
        self.say(client, patience, "403 Forbidden", &format!("{place}: {why}"))
    }

    fn say(
        &self,
        client: &mut TcpStream,
        patience: &Patience,
        status: &str,
        why: &str,
    ) -> io::Result<()> {
        let length = why.len() + 1;
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{why}\n"
        );
        self.write(client, answer.as_bytes(), patience)
    }

    /// The first lines of a request, and what came after them.
    fn head(&self, client: &mut TcpStream, patience: &Patience) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let (mut bytes, mut piece) = (Vec::new(), [0; 4_096]);
        loop {
            let count = self.read(client, &mut piece, patience)?;
            bytes.extend_from_slice(&piece[..count]);
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let rest = bytes.split_off(end + 4);
                return Ok((bytes, rest));
            }
            if count == 0 || bytes.len() > HEAD_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }

    fn check(&self, patience: &Patience) -> io::Result<()> {
        match self.is_over.load(Ordering::Relaxed) || patience.check().is_err() {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }

    fn read(
        &self,
        from: &mut TcpStream,
        piece: &mut [u8],
        patience: &Patience,
    ) -> io::Result<usize> {
        loop {
            self.check(patience)?;
            match from.read(piece) {
                Err(error) if must_wait(&error) => {
                    poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&SLICE))?;
                }
                done => return done,
            }
        }
    }

    fn write(&self, to: &mut TcpStream, mut bytes: &[u8], patience: &Patience) -> io::Result<()> {
        while !bytes.is_empty() {
            self.check(patience)?;
            match to.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if must_wait(&error) => {
                    poll(&mut [PollFd::new(to, PollFlags::OUT)], Some(&SLICE))?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Passes bytes on, both ways, until both sides said all.
    fn pass_on(&self, client: TcpStream, host: TcpStream, patience: &Patience) -> io::Result<()> {
        let mut ends = [client, host];
        let (mut open, mut piece, mut carried) = ([true, true], vec![0; 64 << 10], 0_u64);
        while open.contains(&true) && carried < LINE_BYTES {
            self.check(patience)?;
            let [client, host] = &ends;
            let mut ready = [PollFd::new(client, PollFlags::IN), PollFd::new(host, PollFlags::IN)];
            poll(&mut ready, Some(&SLICE))?;
            let spoke = [!ready[0].revents().is_empty(), !ready[1].revents().is_empty()];
            for from in [0, 1] {
                if !open[from] || !spoke[from] {
                    continue;
                }
                match ends[from].read(&mut piece) {
                    Err(error) if must_wait(&error) => {}
                    Err(error) => return Err(error),
                    Ok(0) => {
                        open[from] = false;
                        ends[1 - from].shutdown(Shutdown::Write)?;
                    }
                    Ok(count) => {
                        carried += count as u64;
                        self.write(&mut ends[1 - from], &piece[..count], patience)?;
                    }
                }
            }
            if spoke[0] && !open[0] || spoke[1] && !open[1] {
                // One side has said all and stays: looking at it again would not wait.
                thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(())
    }
}

fn must_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Reads the first lines: `CONNECT host:port`, or a method with a whole address.
fn asked(head: &[u8]) -> Option<Asked> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.trim_end().split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, what, version) = (words.next()?, words.next()?, words.next()?);
    if !version.starts_with("HTTP/1.") || words.next().is_some() {
        return None;
    }
    if method == "CONNECT" {
        let (_, port) = what.rsplit_once(':')?;
        port.parse::<u16>().ok()?;
        let target = Target::parse(&format!("https://{what}/")).ok()?;
        let answer = b"HTTP/1.1 200 Connection established\r\n\r\n";
        return Some(Asked { target, first: Vec::new(), answer });
    }
    let target = Target::parse(what).ok().filter(|_| what.starts_with("http://"))?;
    let place = what.strip_prefix("http://")?;
    let path = place.find('/').map_or("/", |at| &place[at..]);
    let is_passed_on = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !name.starts_with("proxy-")
            && !matches!(name.as_str(), "connection" | "keep-alive" | "host")
    };
    // What was judged is what the host is asked for.
    let host = place.split('/').next().unwrap_or_default();
    let mut first = format!("{method} {path} {version}\r\nHost: {host}\r\n");
    lines.filter(is_passed_on).for_each(|line| first.push_str(&format!("{line}\r\n")));
    first.push_str("Connection: close\r\n\r\n");
    Some(Asked { target, first: first.into_bytes(), answer: b"" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_what_a_client_asks_for_is_read() {
        let read = |head: &str| asked(head.as_bytes()).map(|asked| asked.target.place());
        assert_eq!(
            read("CONNECT a.example:443 HTTP/1.1\r\n\r\n").as_deref(),
            Some("a.example:443")
        );
        assert_eq!(
            read("GET http://b.example/x HTTP/1.1\r\n\r\n").as_deref(),
            Some("b.example:80")
        );
        for odd in [
            "GET /x HTTP/1.1\r\n\r\n",
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT user@a.example:443 HTTP/1.1\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\n\r\n",
            "GET http://a.example/ HTTP/1.1 x\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert_eq!(read(odd), None, "{odd}");
        }
        let head = "GET http://b.example:81/x?y HTTP/1.1\r\nHost: b.example:81\r\nProxy-Authorization: s\r\n\
                    Connection: keep-alive\r\n\r\n";
        let first = String::from_utf8(asked(head.as_bytes()).unwrap().first).unwrap();
        assert_eq!(first, "GET /x?y HTTP/1.1\r\nHost: b.example:81\r\nConnection: close\r\n\r\n");
    }
}
