//! The one way out of a box: an HTTP proxy on the box's own loopback, served out here. The socket that it
//! listens on was made in the box's network and handed out, so that nobody but the box can dial it. Each
//! connection is first put to a [`ConnectionPolicy`], which may hold it while somebody is asked; then its
//! host is looked up once, every address is checked, and exactly those are dialled.
//!
//! It understands nothing of a connection beyond the first lines of its request. It knows neither rules nor
//! persons. No thread waits for connections: the thread that watches the command accepts them.

mod asked;
mod pass;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use yard_core::Call;

use self::asked::asked;
use super::dial::{Patience, dial};
use super::{Net, Target};

/// Where the proxy listens, in the box.
pub(crate) const PORT: u16 = 3_128;
/// Bytes of the first lines of a request.
const HEAD_BYTES: usize = 16 << 10;
/// How long a client may take to send them.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long looking a host up and dialling it may take.
const DIAL_TIME: Duration = Duration::from_secs(60);
/// How long a client that was refused is listened to.
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// Connections of one command at a time. More than that wait in the box to be accepted.
const MOST_CONNECTIONS: usize = 64;
/// Connections of all commands of this process at a time.
const MOST_OF_ALL: usize = 1_024;
/// Hosts that one command may ask for.
const MOST_HOSTS: usize = 256;
/// For how long after the first one a command's connections to one host are held: it may try again and again.
const HELD_IN_ALL: Duration = Duration::from_secs(60);
/// Ports of this machine's loopback that a box has, too.
const MOST_FORWARDS: usize = 32;
/// How often a wait looks whether it may go on.
const SLICE: Duration = Duration::from_millis(50);
/// How long the end of a command waits for its connections, which were shut down by then.
const ENDING: Duration = Duration::from_secs(2);
/// The stack of a thread that serves one connection.
const STACK: usize = 256 << 10;

static ALL_CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

/// What is said to a connection that a command wants to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionVerdict {
    /// It may be made.
    Allow,
    /// It may not, for this reason.
    Deny(String),
    /// Somebody is asked, and the connection is held for a while.
    Wait {
        /// What the request is called.
        request: String,
        /// What the client reads if no answer comes in time.
        message: String,
    },
}

/// Decides which hosts a command may reach. It is asked from several threads at a time.
pub trait ConnectionPolicy: Send + Sync {
    /// What is said to a new connection. Nothing was looked up or dialled for it yet.
    fn decide(&self, target: &Target) -> ConnectionVerdict;

    /// The same for a connection that is held: returns as soon as there is an answer, or after `at_most`.
    fn decide_again(&self, target: &Target, at_most: Duration) -> ConnectionVerdict;
}

/// What a command may reach, and by which way.
#[derive(Clone)]
pub struct Reach {
    net: Net,
    policy: Arc<dyn ConnectionPolicy>,
    held: Duration,
    /// Places on this machine's own loopback, each of which the box has at the same port of its loopback.
    forwards: Vec<Target>,
}

impl Reach {
    /// Hosts that `policy` allows, over `net`. A connection is held for as long as `held` while somebody is
    /// asked.
    pub fn new(net: Net, policy: Arc<dyn ConnectionPolicy>, held: Duration) -> Self {
        let forwards = net.on_loopback().filter(|target| target.port() != PORT);
        let forwards = forwards.take(MOST_FORWARDS).collect();
        Self { net, policy, held, forwards }
    }

    /// The ports of the box's loopback that are served out here: the proxy's, and those of this machine's
    /// loopback that it can reach. A program that means one of them dials it in the box.
    pub(crate) fn ports(&self) -> Vec<u16> {
        std::iter::once(PORT).chain(self.forwards.iter().map(Target::port)).collect()
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach").field("net", &self.net).finish_non_exhaustive()
    }
}

/// What came of the last connection of a command to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// It was let through, whether or not the host answered.
    Through,
    /// It was refused, for this reason.
    Refused(String),
    /// It was not let through, because nobody has answered this request yet.
    Waits(String),
}

/// What one command did with one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTraffic {
    /// Host and port.
    pub place: String,
    /// How often it was tried.
    pub tries: u64,
    /// Bytes that went to the host.
    pub up: u64,
    /// Bytes that came from it.
    pub down: u64,
    /// What came of the last try.
    pub access: Access,
}

/// Between the words of a line of [`HostTraffic`].
const BETWEEN: char = '\t';

impl HostTraffic {
    /// As a line of text.
    pub(crate) fn to_line(&self) -> String {
        let (word, text) = match &self.access {
            Access::Through => ("through", ""),
            Access::Refused(why) => ("refused", why.as_str()),
            Access::Waits(request) => ("waits", request.as_str()),
        };
        let text = text.replace(char::is_control, " ");
        let Self { place, tries, up, down, .. } = self;
        format!("{place}\t{tries}\t{up}\t{down}\t{word}\t{text}\n")
    }

    /// Reads such a line.
    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.splitn(6, BETWEEN).collect();
        let [place, tries, up, down, word, text] = words[..] else { return None };
        let access = match word {
            "through" => Access::Through,
            "refused" => Access::Refused(text.to_owned()),
            "waits" => Access::Waits(text.to_owned()),
            _ => return None,
        };
        let number = |text: &str| text.parse().ok();
        let (tries, up, down) = (number(tries)?, number(up)?, number(down)?);
        Some(Self { place: place.to_owned(), tries, up, down, access })
    }
}

/// What is known of one host while the command runs.
struct Host {
    tries: u64,
    access: Access,
    /// When a connection was held for the first time.
    held_since: Option<Duration>,
    up: Arc<AtomicU64>,
    down: Arc<AtomicU64>,
}

/// The proxy of one command.
pub(crate) struct Proxy {
    /// Nothing, once the command is over: whoever decides may hold more than this proxy.
    reach: Mutex<Option<Reach>>,
    /// Cancelled when the command is over.
    call: Call,
    is_over: AtomicBool,
    connections: Mutex<Connections>,
    ended: Condvar,
    hosts: Mutex<BTreeMap<String, Host>>,
}

/// The connections that are open, each with the sockets that it has by now.
#[derive(Default)]
struct Connections {
    next: u64,
    open: HashMap<u64, Vec<Arc<TcpStream>>>,
}

impl Proxy {
    pub(crate) fn new(reach: Reach, call: &Call) -> Arc<Self> {
        Arc::new(Self {
            reach: Mutex::new(Some(reach)),
            call: Call::new(call.shared_world()),
            is_over: AtomicBool::new(false),
            connections: Mutex::default(),
            ended: Condvar::new(),
            hosts: Mutex::default(),
        })
    }

    /// What the command did with each host so far.
    pub(crate) fn traffic(&self) -> Vec<HostTraffic> {
        let hosts = held(&self.hosts);
        let told = hosts.iter().map(|(place, host)| HostTraffic {
            place: place.clone(),
            tries: host.tries,
            up: host.up.load(Ordering::Relaxed),
            down: host.down.load(Ordering::Relaxed),
            access: host.access.clone(),
        });
        told.collect()
    }

    /// Ends every connection; what the command did with each host.
    pub(crate) fn end(&self) -> Vec<HostTraffic> {
        self.is_over.store(true, Ordering::SeqCst);
        self.call.cancel_flag().store(true, Ordering::SeqCst);
        let connections = held(&self.connections);
        for socket in connections.open.values().flatten() {
            // One that is closed already needs nothing.
            let _ = socket.shutdown(Shutdown::Both);
        }
        let is_any_open = |connections: &mut Connections| !connections.open.is_empty();
        drop(self.ended.wait_timeout_while(connections, ENDING, is_any_open));
        drop(held(&self.reach).take());
        self.traffic()
    }

    fn has_room(&self) -> bool {
        held(&self.connections).open.len() < MOST_CONNECTIONS
            && ALL_CONNECTIONS.load(Ordering::Relaxed) < MOST_OF_ALL
    }

    /// Serves one connection on a thread of its own.
    fn take(self: &Arc<Self>, client: TcpStream, to: Option<Target>) {
        let line = Line::open(self, client);
        let thread = thread::Builder::new().name("toolyard-proxied".to_owned()).stack_size(STACK);
        // Without a thread the connection is closed with `line`, and its client tries again.
        let _ = thread.spawn(move || {
            // A connection that breaks off is its client's to notice.
            let _ = match to {
                None => line.serve(),
                Some(place) => line.forward(place),
            };
        });
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The way out of a box that runs: its proxy, and the socket that connections come by.
pub(crate) struct WayOut {
    pub(crate) proxy: Arc<Proxy>,
    /// Where connections through each socket go: where they say, or to one place.
    listeners: Vec<(TcpListener, Option<Target>)>,
    /// The places whose sockets are not there yet.
    forwards: std::vec::IntoIter<Target>,
}

impl WayOut {
    pub(crate) fn new(proxy: Arc<Proxy>) -> Self {
        let forwards = held(&proxy.reach).as_ref().map(|reach| reach.forwards.clone());
        let forwards = forwards.unwrap_or_default().into_iter();
        Self { proxy, listeners: Vec::new(), forwards }
    }

    /// The box made the next socket: the proxy's first, then those of [`Reach::ports`].
    pub(crate) fn listen(&mut self, listener: OwnedFd) -> io::Result<()> {
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let to = if self.listeners.is_empty() { None } else { self.forwards.next() };
        self.listeners.push((listener, to));
        Ok(())
    }

    /// The sockets, while another connection can be taken.
    pub(crate) fn listening(&self) -> Vec<BorrowedFd<'_>> {
        match self.proxy.has_room() {
            true => self.listeners.iter().map(|(listener, _)| listener.as_fd()).collect(),
            false => Vec::new(),
        }
    }

    /// Takes the connections that wait, as many as there is room for.
    pub(crate) fn accept(&self) {
        for (listener, to) in &self.listeners {
            while self.proxy.has_room() {
                let Ok((client, _)) = listener.accept() else { break };
                self.proxy.take(client, to.clone());
            }
        }
    }
}

/// Where the bytes to a host and from it are counted.
type Counts = (Arc<AtomicU64>, Arc<AtomicU64>);

/// What came of reaching for a host.
enum Reached {
    Host(Arc<TcpStream>, Counts),
    /// It may not be reached: why.
    Refused(String),
    /// It does not answer: in words.
    Silent(String),
}

/// One connection of a client.
struct Line {
    proxy: Arc<Proxy>,
    number: u64,
    client: Arc<TcpStream>,
}

impl Drop for Line {
    fn drop(&mut self) {
        // Who looks at the sockets of the other side sees that it is over also while a copy is left.
        let sockets = held(&self.proxy.connections).open.remove(&self.number);
        for socket in sockets.into_iter().flatten() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        ALL_CONNECTIONS.fetch_sub(1, Ordering::Relaxed);
        self.proxy.ended.notify_all();
    }
}

impl Line {
    fn open(proxy: &Arc<Proxy>, client: TcpStream) -> Self {
        let client = Arc::new(client);
        let mut connections = held(&proxy.connections);
        let number = connections.next;
        connections.next += 1;
        connections.open.insert(number, vec![Arc::clone(&client)]);
        ALL_CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        drop(connections);
        Self { proxy: Arc::clone(proxy), number, client }
    }

    /// Serves a client that says where it wants to go.
    fn serve(&self) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        let (head, rest) = self.head()?;
        let Some(mut asked) = asked(&head) else {
            return self.say(
                "400 Bad Request",
                "this is an HTTP proxy; it takes CONNECT host:port \
                and requests with a whole http address",
            );
        };
        asked.first.extend(rest);
        match self.reach(&asked.target)? {
            Reached::Host(host, counts) => self.pass(&host, counts, &asked.first, asked.answer),
            Reached::Refused(why) => self.say("403 Forbidden", &why),
            Reached::Silent(why) => self.say("502 Bad Gateway", &why),
        }
    }

    /// Serves a client that dialled the port of one place. What is refused is closed: there is no telling
    /// what the client speaks.
    fn forward(&self, target: Target) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        match self.reach(&target)? {
            Reached::Host(host, counts) => self.pass(&host, counts, b"", b""),
            Reached::Refused(_) | Reached::Silent(_) => Ok(()),
        }
    }

    /// Asks whether a host may be reached, looks it up, checks where it is and dials it.
    fn reach(&self, target: &Target) -> io::Result<Reached> {
        let place = target.place();
        let Some(counts) = self.proxy.tried(&place) else {
            return Ok(Reached::Refused(format!("{place}: {}", too_many_hosts())));
        };
        let Some(reach) = held(&self.proxy.reach).clone() else {
            return Err(io::ErrorKind::ConnectionAborted.into());
        };
        if let Err(why) = self.admit(&reach, target, &place)? {
            return Ok(Reached::Refused(format!("{place}: {why}")));
        }
        let patience = Patience::new(&self.proxy.call, DIAL_TIME);
        let addresses = match reach.net.addresses(target, &patience) {
            Ok(addresses) => addresses,
            Err(fault) => {
                self.proxy.note(&place, Access::Refused(fault.message().to_owned()));
                return Ok(Reached::Refused(format!("{place}: {}", fault.message())));
            }
        };
        let Ok(host) = dial(&addresses, &patience) else {
            return Ok(Reached::Silent(format!("{place}: the host does not answer")));
        };
        let host = Arc::new(host);
        self.remember(&host)?;
        Ok(Reached::Host(host, counts))
    }

    /// Passes everything on, after what each side hears first.
    fn pass(
        &self,
        host: &TcpStream,
        (up, down): Counts,
        first: &[u8],
        answer: &[u8],
    ) -> io::Result<()> {
        self.write(host, first)?;
        up.fetch_add(first.len() as u64, Ordering::Relaxed);
        self.write(&self.client, answer)?;
        let proxy = &self.proxy;
        let now = || proxy.call.world().elapsed();
        pass::pass(&self.client, host, (&up, &down), &|| proxy.check(), &now)
    }

    /// Keeps a socket where the end of the command finds it.
    fn remember(&self, host: &Arc<TcpStream>) -> io::Result<()> {
        let mut connections = held(&self.proxy.connections);
        if let Some(sockets) = connections.open.get_mut(&self.number) {
            sockets.push(Arc::clone(host));
        }
        drop(connections);
        // The end may have come before the socket was there to be found.
        self.proxy.check()
    }

    /// Whether a host may be reached, once there is an answer or the time for one is over; if not, why.
    fn admit(&self, reach: &Reach, target: &Target, place: &str) -> io::Result<Result<(), String>> {
        let Reach { net, policy, held, .. } = reach;
        // Nobody is asked about what can only be refused.
        let mut verdict = match net.check_named(target) {
            Ok(()) => policy.decide(target),
            Err(fault) => ConnectionVerdict::Deny(fault.message().to_owned()),
        };
        let now = || self.proxy.call.world().elapsed();
        let (begun, mut most) = (now(), None);
        loop {
            self.proxy.check()?;
            let (request, message) = match verdict {
                ConnectionVerdict::Allow => {
                    self.proxy.note(place, Access::Through);
                    return Ok(Ok(()));
                }
                ConnectionVerdict::Deny(why) => {
                    self.proxy.note(place, Access::Refused(why.clone()));
                    return Ok(Err(why));
                }
                ConnectionVerdict::Wait { request, message } => (request, message),
            };
            self.proxy.note(place, Access::Waits(request));
            let most = *most.get_or_insert_with(|| self.proxy.may_hold(place, *held));
            let left = most.saturating_sub(now().saturating_sub(begun));
            if left.is_zero() {
                return Ok(Err(message));
            }
            if self.is_gone() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            verdict = policy.decide_again(target, left.min(SLICE));
        }
    }

    /// Whether the client has closed its end.
    fn is_gone(&self) -> bool {
        let mut ready = [PollFd::new(&*self.client, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut ready, Some(&now)).is_ok() && !ready[0].revents().is_empty()
    }

    fn say(&self, status: &str, why: &str) -> io::Result<()> {
        let length = why.len() + 1;
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{why}\n"
        );
        self.write(&self.client, answer.as_bytes())?;
        self.client.shutdown(Shutdown::Write)?;
        self.drain()
    }

    /// Takes what the client still sends, for a moment: a socket that is closed with bytes unread is reset,
    /// and its client may never read what it was told.
    fn drain(&self) -> io::Result<()> {
        let patience = Patience::new(&self.proxy.call, DRAIN_TIME);
        let mut piece = [0; 4_096];
        while patience.check().is_ok() {
            match { &*self.client }.read(&mut piece) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if must_wait(&error) => wait_for(&self.client, PollFlags::IN)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The first lines of a request, and what came after them.
    fn head(&self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let patience = Patience::new(&self.proxy.call, HEAD_TIME);
        let (mut bytes, mut piece) = (Vec::new(), [0; 4_096]);
        loop {
            let count = loop {
                patience.check().map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
                match { &*self.client }.read(&mut piece) {
                    Err(error) if must_wait(&error) => wait_for(&self.client, PollFlags::IN)?,
                    done => break done?,
                }
            };
            let searched = bytes.len().saturating_sub(3);
            bytes.extend_from_slice(&piece[..count]);
            let end = bytes[searched..].windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                let rest = bytes.split_off(searched + end + 4);
                return Ok((bytes, rest));
            }
            if count == 0 || bytes.len() > HEAD_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }

    fn write(&self, to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
        let patience = Patience::new(&self.proxy.call, DIAL_TIME);
        let mut to = to;
        while !bytes.is_empty() {
            patience.check().map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
            match to.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if must_wait(&error) => wait_for(to, PollFlags::OUT)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Proxy {
    fn check(&self) -> io::Result<()> {
        match self.is_over.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// Counts a try, and answers where its bytes are counted; `None` if these are too many hosts.
    fn tried(&self, place: &str) -> Option<Counts> {
        let mut hosts = held(&self.hosts);
        if hosts.len() >= MOST_HOSTS && !hosts.contains_key(place) {
            return None;
        }
        let host = hosts.entry(place.to_owned()).or_insert_with(|| Host {
            tries: 0,
            access: Access::Through,
            held_since: None,
            up: Arc::default(),
            down: Arc::default(),
        });
        host.tries += 1;
        Some((Arc::clone(&host.up), Arc::clone(&host.down)))
    }

    fn note(&self, place: &str, access: Access) {
        if let Some(host) = held(&self.hosts).get_mut(place) {
            host.access = access;
        }
    }

    /// How long a connection to a host may be held.
    fn may_hold(&self, place: &str, most: Duration) -> Duration {
        let now = self.call.world().elapsed();
        let mut hosts = held(&self.hosts);
        let since = hosts.get_mut(place).map(|host| *host.held_since.get_or_insert(now));
        let so_far = now.saturating_sub(since.unwrap_or(now));
        most.min(HELD_IN_ALL.saturating_sub(so_far))
    }
}

fn too_many_hosts() -> String {
    format!("this command asked for {MOST_HOSTS} hosts already, which is as many as one may")
}

/// Waits a moment for a socket.
fn wait_for(socket: &TcpStream, flags: PollFlags) -> io::Result<()> {
    let slice = Timespec { tv_sec: 0, tv_nsec: SLICE.subsec_nanos().into() };
    match poll(&mut [PollFd::new(socket, flags)], Some(&slice)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn must_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests;
