//! The one way out of a box: an HTTP proxy on the box's own loopback, served out here. The socket that it
//! listens on was made in the box's network and handed out, so that nobody but the box can dial it. Each
//! connection is first put to a [`ConnectionPolicy`], which may hold it while somebody is asked; then its
//! host is looked up once, every address is checked, and exactly those are dialled.
//!
//! Programs that know no proxy come here as well: every name that they ask for is at one address of the box, and
//! which host they mean is in the first bytes that they send there, on the ports 80 and 443 alone.
//!
//! It understands nothing of a connection beyond the first lines of its request. It knows neither rules nor
//! persons. The sockets that connections come by are in `way_out.rs`.

mod asked;
mod hello;
pub(super) mod names;
mod pass;
mod traffic;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use yard_core::Call;

use self::asked::{Asked, asked, asked_of_host};
use self::hello::Hello;
pub use self::pass::relay;
pub use self::traffic::{Access, HostTraffic};
use crate::dial::{Patience, dial, read_some, write_all};
use crate::fetch::Net;
use crate::target::Target;

/// Where the proxy listens, in the box.
pub const PROXY_PORT: u16 = 3_128;
/// The ports at which every name is, in the box.
const HTTP_PORT: u16 = 80;
const TLS_PORT: u16 = 443;
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
/// Connections of one command to other boxes of this machine at a time.
const MOST_LOCAL: usize = 256;
/// Connections of all commands of this process at a time, but for those to other boxes.
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
        let forwards = net.on_loopback().filter(|target| target.port() != PROXY_PORT);
        let forwards = forwards.take(MOST_FORWARDS).collect();
        Self { net, policy, held, forwards }
    }
}

/// Where the connections go that come by one port of the box's loopback device.
#[derive(Clone, Debug)]
pub(super) enum Destination {
    /// The proxy's own port: where each connection asks it to go.
    AsAsked,
    /// Where every name is, for programs that know no proxy: to the host that an HTTP request names.
    HttpHost,
    /// The same: to the host that the first message of TLS names.
    TlsHost,
    /// A place on this machine's loopback, at the same port.
    Place(Target),
}

impl Destination {
    /// Where its connections come in, on the box's loopback device.
    pub(super) fn address(&self) -> SocketAddrV4 {
        let own = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        match self {
            Self::AsAsked => own(PROXY_PORT),
            Self::HttpHost => SocketAddrV4::new(names::ADDRESS, HTTP_PORT),
            Self::TlsHost => SocketAddrV4::new(names::ADDRESS, TLS_PORT),
            Self::Place(target) => own(target.port()),
        }
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach").field("net", &self.net).finish_non_exhaustive()
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
pub struct Proxy {
    /// Nothing for a command that reaches no host, and once it is over: whoever decides may hold more than
    /// this proxy.
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
    /// How many of them go to other boxes of this machine.
    local: usize,
}

impl Proxy {
    /// Without a reach it only relays connections to other boxes ([`Proxy::relay_local`]).
    pub fn new(reach: Option<Reach>, call: &Call) -> Arc<Self> {
        Arc::new(Self {
            reach: Mutex::new(reach),
            call: Call::new(call.shared_world()),
            is_over: AtomicBool::new(false),
            connections: Mutex::default(),
            ended: Condvar::new(),
            hosts: Mutex::default(),
        })
    }

    /// What the command did with each host so far.
    pub fn traffic(&self) -> Vec<HostTraffic> {
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
    pub fn end(&self) -> Vec<HostTraffic> {
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

    /// Where connections go by the box's own ports: nowhere, for a command that reaches no host.
    pub(super) fn destinations(&self) -> Vec<Destination> {
        let reach = held(&self.reach);
        let Some(reach) = reach.as_ref() else { return Vec::new() };
        let own = [Destination::AsAsked, Destination::HttpHost, Destination::TlsHost];
        own.into_iter().chain(reach.forwards.iter().cloned().map(Destination::Place)).collect()
    }

    /// Whether another connection that leaves the machine can be served.
    pub(super) fn has_room(&self) -> bool {
        let connections = held(&self.connections);
        connections.open.len() - connections.local < MOST_CONNECTIONS
            && ALL_CONNECTIONS.load(Ordering::Relaxed) < MOST_OF_ALL
    }

    /// Whether another connection can be relayed to another box. Those do not count as connections that leave
    /// the machine.
    pub fn has_room_for_local(&self) -> bool {
        held(&self.connections).local < MOST_LOCAL
    }

    /// Serves one connection on a thread of its own.
    pub(super) fn take(self: &Arc<Self>, client: TcpStream, to: Destination) {
        let serve = move |line: &Line| match to {
            Destination::AsAsked => line.serve(asked),
            Destination::HttpHost => line.serve(asked_of_host),
            Destination::TlsHost => line.serve_tls(),
            Destination::Place(place) => line.forward(&place),
        };
        Line::open(self, client, false).run(serve);
    }

    /// Relays a connection on a thread of its own to the socket that `connect` makes there. It ends with the
    /// command, like every other.
    pub fn relay_local(
        self: &Arc<Self>,
        client: TcpStream,
        connect: impl FnOnce() -> io::Result<TcpStream> + Send + 'static,
    ) {
        Line::open(self, client, true).run(|line| line.relay_to(connect()?));
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    is_local: bool,
}

impl Drop for Line {
    fn drop(&mut self) {
        // Who looks at the sockets of the other side sees that it is over also while a copy is left.
        let mut connections = held(&self.proxy.connections);
        let sockets = connections.open.remove(&self.number);
        connections.local -= usize::from(self.is_local);
        drop(connections);
        for socket in sockets.into_iter().flatten() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        if !self.is_local {
            ALL_CONNECTIONS.fetch_sub(1, Ordering::Relaxed);
        }
        self.proxy.ended.notify_all();
    }
}

impl Line {
    fn open(proxy: &Arc<Proxy>, client: TcpStream, is_local: bool) -> Self {
        let client = Arc::new(client);
        let mut connections = held(&proxy.connections);
        let number = connections.next;
        connections.next += 1;
        connections.open.insert(number, vec![Arc::clone(&client)]);
        connections.local += usize::from(is_local);
        drop(connections);
        if !is_local {
            ALL_CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        }
        Self { proxy: Arc::clone(proxy), number, client, is_local }
    }

    /// Serves the connection on a thread of its own. Without one it is closed, and its client tries again.
    fn run(self, serve: impl FnOnce(&Self) -> io::Result<()> + Send + 'static) {
        let thread = thread::Builder::new().name("toolyard-proxied".to_owned()).stack_size(STACK);
        // The client notices a connection that breaks off.
        let _ = thread.spawn(move || serve(&self));
    }

    /// Serves a client that says where it wants to go in the first lines of its request.
    fn serve(&self, read: fn(&[u8]) -> Option<Asked>) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        let (head, rest) = self.head()?;
        let Some(mut asked) = read(&head) else {
            return self.say(
                "400 Bad Request",
                "this is an HTTP proxy; it takes CONNECT host:port, requests with a whole http address, and \
                 on port 80 requests that name their host",
            );
        };
        asked.first.extend(rest);
        match self.reach(&asked.target)? {
            Reached::Host(host, counts) => self.pass(&host, counts, &asked.first, asked.answer),
            Reached::Refused(why) => self.say("403 Forbidden", &why),
            Reached::Silent(why) => self.say("502 Bad Gateway", &why),
        }
    }

    /// Serves a client that names its host in the first message of TLS.
    fn serve_tls(&self) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        let (mut hello, mut piece) = (Hello::default(), [0; 4_096]);
        let patience = Patience::new(&self.proxy.call, HEAD_TIME);
        let host = loop {
            let count = read_some(&self.client, &mut piece, &patience)?;
            match hello.take(&piece[..count])? {
                Some(host) => break host,
                None if count == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                None => {}
            }
        };
        let target = Target::parse(&format!("https://{host}/")).ok();
        let target = target.filter(|target| target.port() == TLS_PORT);
        let reached = target.map(|target| self.reach(&target)).transpose()?;
        match reached {
            Some(Reached::Host(host, counts)) => self.pass(&host, counts, &hello.into_bytes(), b""),
            Some(Reached::Silent(_)) => self.alert(&hello::INTERNAL_ERROR),
            Some(Reached::Refused(_)) | None => self.alert(&hello::ACCESS_DENIED),
        }
    }

    /// Tells a client of TLS why there is no host.
    fn alert(&self, alert: &[u8]) -> io::Result<()> {
        self.write(&self.client, alert)?;
        self.client.shutdown(Shutdown::Write)?;
        self.drain()
    }

    /// Serves a client that dialled the port of one place. What is refused is closed: there is no telling
    /// what the client speaks.
    fn forward(&self, target: &Target) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        match self.reach(target)? {
            Reached::Host(host, counts) => self.pass(&host, counts, b"", b""),
            Reached::Refused(_) | Reached::Silent(_) => Ok(()),
        }
    }

    /// Passes everything on to a socket of another box.
    fn relay_to(&self, program: TcpStream) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        let program = Arc::new(program);
        program.set_nonblocking(true)?;
        self.remember(&program)?;
        self.pass(&program, Counts::default(), b"", b"")
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
    /// and its client may never read what was written to it.
    fn drain(&self) -> io::Result<()> {
        let patience = Patience::new(&self.proxy.call, DRAIN_TIME);
        let mut piece = [0; 4_096];
        while read_some(&self.client, &mut piece, &patience)? > 0 {}
        Ok(())
    }

    /// The first lines of a request, and what came after them.
    fn head(&self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let patience = Patience::new(&self.proxy.call, HEAD_TIME);
        let (mut bytes, mut piece) = (Vec::new(), [0; 4_096]);
        loop {
            let count = read_some(&self.client, &mut piece, &patience)?;
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

    fn write(&self, to: &TcpStream, bytes: &[u8]) -> io::Result<()> {
        write_all(to, bytes, &Patience::new(&self.proxy.call, DIAL_TIME))
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

#[cfg(test)]
mod tests {
    //! The proxy by itself: a listening socket of this machine stands for the box's, and every host is a server
    //! of the test on loopback. What must not be dialled is refused before anything is.

    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::{TcpListener, UdpSocket};
    use std::sync::atomic::AtomicUsize;
    use std::time::Instant;

    use yard_core::{Call, Timestamp, World};

    use super::*;
    use crate::{Resolve, WayOut};

    struct Clock(Instant);

    impl World for Clock {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(0)
        }

        fn elapsed(&self) -> Duration {
            self.0.elapsed()
        }

        fn random(&self) -> u128 {
            7
        }

        fn secret(&self) -> Option<[u8; 32]> {
            None
        }

        fn boot_id(&self) -> u128 {
            1
        }
    }

    /// Answers as it is told, and counts how often it was asked.
    struct Says {
        verdict: Mutex<ConnectionVerdict>,
        asked: AtomicUsize,
    }

    impl Says {
        fn new(verdict: ConnectionVerdict) -> Arc<Self> {
            Arc::new(Self { verdict: Mutex::new(verdict), asked: AtomicUsize::new(0) })
        }

        fn waits() -> ConnectionVerdict {
            ConnectionVerdict::Wait {
                request: "r1".to_owned(),
                message: "nobody answered".to_owned(),
            }
        }

        fn say(&self, verdict: ConnectionVerdict) {
            *held(&self.verdict) = verdict;
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }
    }

    impl ConnectionPolicy for Says {
        fn decide(&self, _: &Target) -> ConnectionVerdict {
            self.asked.fetch_add(1, Ordering::SeqCst);
            held(&self.verdict).clone()
        }

        fn decide_again(&self, _: &Target, at_most: Duration) -> ConnectionVerdict {
            thread::sleep(at_most.min(Duration::from_millis(5)));
            held(&self.verdict).clone()
        }
    }

    /// Names lead where a test says, and each look is counted.
    struct Names {
        addresses: Vec<&'static str>,
        asked: AtomicUsize,
    }

    impl Resolve for Names {
        fn resolve(&self, _: &str, port: u16) -> io::Result<Vec<std::net::SocketAddr>> {
            let before = self.asked.fetch_add(1, Ordering::SeqCst);
            // What begins with a number of looks is the answer from that look on.
            let now = self.addresses.iter().filter_map(|text| match text.split_once('@') {
                Some((look, address)) => (look.parse() == Ok(before)).then_some(address),
                None => Some(*text),
            });
            let address = |text: &str| std::net::SocketAddr::new(text.parse().unwrap(), port);
            Ok(now.map(address).collect())
        }
    }

    fn names(addresses: &[&'static str]) -> Arc<Names> {
        Arc::new(Names { addresses: addresses.to_vec(), asked: AtomicUsize::new(0) })
    }

    /// A proxy at work, as a box's watcher serves it.
    struct ExecutableBy {
        place: std::net::SocketAddr,
        /// Where it takes requests on port 80, connections of TLS, and questions for names.
        http: std::net::SocketAddr,
        tls: std::net::SocketAddr,
        questions: std::net::SocketAddr,
        proxy: Arc<Proxy>,
        is_done: Arc<AtomicBool>,
    }

    impl ExecutableBy {
        fn new(net: Net, policy: Arc<dyn ConnectionPolicy>, hold: Duration) -> Self {
            let call = Call::new(Arc::new(Clock(Instant::now())));
            let proxy = Proxy::new(Some(Reach::new(net, policy, hold)), &call);
            let mut way_out = WayOut::new(Arc::clone(&proxy));
            let mut places = Vec::new();
            for _ in way_out.connections_at() {
                let made = TcpListener::bind("127.0.0.1:0").unwrap();
                places.push(made.local_addr().unwrap());
                way_out.add_listener(made).unwrap();
            }
            let (place, http, tls) = (places[0], places[1], places[2]);
            assert!(way_out.questions_at().is_some());
            let made = UdpSocket::bind("127.0.0.1:0").unwrap();
            let questions = made.local_addr().unwrap();
            way_out.add_questions(made).unwrap();
            let is_done = Arc::new(AtomicBool::new(false));
            let done = Arc::clone(&is_done);
            thread::spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    let tick = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
                    let sockets = way_out.listening().into_iter();
                    let ready =
                        sockets.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN));
                    poll(&mut ready.collect::<Vec<_>>(), Some(&tick)).unwrap();
                    way_out.accept();
                }
            });
            Self { place, http, tls, questions, proxy, is_done }
        }

        /// What the proxy answers to these lines.
        fn answer(&self, lines: &str) -> String {
            let mut client = TcpStream::connect(self.place).unwrap();
            client.write_all(lines.as_bytes()).unwrap();
            let mut said = String::new();
            let _ = client.read_to_string(&mut said);
            said
        }

        fn connect(&self, place: &str) -> String {
            self.answer(&format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n"))
        }
    }

    impl Drop for ExecutableBy {
        fn drop(&mut self) {
            self.proxy.end();
            self.is_done.store(true, Ordering::SeqCst);
        }
    }

    /// A server that answers every connection with what `serve` does, and counts them.
    fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let (serve, counted) = (Arc::new(serve), Arc::clone(&count));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(stream));
            }
        });
        (port, count)
    }

    fn hello(stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let mut stream = stream;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    }

    fn exempt(port: u16) -> Net {
        let net = Net::default().resolving_by(names(&["127.0.0.1"]));
        net.exempting(&format!("site.example:{port}")).unwrap()
    }

    /// Every name is at one place, whichever port is asked for.
    struct At(std::net::SocketAddr);

    impl Resolve for At {
        fn resolve(&self, _: &str, _: u16) -> io::Result<Vec<std::net::SocketAddr>> {
            Ok(vec![self.0])
        }
    }

    /// A proxy that a policy holds, for a host whose ports 80 and 443 are a server of the test.
    fn served_for(port: u16, verdict: ConnectionVerdict) -> ExecutableBy {
        let net = Net::default().resolving_by(Arc::new(At(([127, 0, 0, 1], port).into())));
        let net = net.exempting("site.example:80").unwrap();
        let net = net.exempting("site.example:443").unwrap();
        ExecutableBy::new(net, Says::new(verdict), SHORT)
    }

    fn no() -> ConnectionVerdict {
        ConnectionVerdict::Deny("not there".to_owned())
    }

    #[test]
    fn a_program_that_knows_no_proxy_finds_every_name_and_is_taken_to_its_host() {
        let (port, count) = server(hello);
        let served = served_for(port, ConnectionVerdict::Allow);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        let question = b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0\x04site\x07example\0\0\x01\0\x01";
        socket.send_to(question, served.questions).unwrap();
        let mut answer = [0; 512];
        let (length, _) = socket.recv_from(&mut answer).unwrap();
        assert_eq!(answer[length - 4..length], names::ADDRESS.octets());
        let mut client = TcpStream::connect(served.http).unwrap();
        client.write_all(b"GET /x HTTP/1.1\r\nHost: site.example\r\n\r\n").unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).unwrap();
        assert!(said.ends_with("hello"), "{said}");
        assert_eq!(count.load(Ordering::SeqCst), 1);
        let traffic = served.proxy.traffic();
        assert_eq!(
            traffic.iter().map(|host| host.place.as_str()).collect::<Vec<_>>(),
            ["site.example:80"]
        );
    }

    #[test]
    fn a_connection_of_tls_goes_to_the_host_that_it_names_with_every_byte() {
        let (sender, received) = std::sync::mpsc::channel();
        let sender = Mutex::new(sender);
        let (port, _) = server(move |mut stream: TcpStream| {
            let mut bytes = vec![0; 2_048];
            let count = stream.read(&mut bytes).unwrap();
            bytes.truncate(count);
            held(&sender).send(bytes).unwrap();
            stream.write_all(b"its answer").unwrap();
        });
        let served = served_for(port, ConnectionVerdict::Allow);
        let mut client = TcpStream::connect(served.tls).unwrap();
        let first = hello::tests::hello_to("site.example");
        client.write_all(&first).unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).unwrap();
        assert_eq!(said, "its answer");
        assert_eq!(received.recv_timeout(LONG).unwrap(), first);
    }

    #[test]
    fn a_host_that_may_not_be_reached_is_not_reached_by_its_name_either() {
        let (port, count) = server(hello);
        let served = served_for(port, no());
        let mut client = TcpStream::connect(served.tls).unwrap();
        client.write_all(&hello::tests::hello_to("site.example")).unwrap();
        let mut said = Vec::new();
        client.read_to_end(&mut said).unwrap();
        assert_eq!(said, hello::ACCESS_DENIED);
        let mut client = TcpStream::connect(served.http).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: site.example\r\n\r\n").unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 403 ") && said.contains("not there"), "{said}");
        assert_eq!(count.load(Ordering::SeqCst), 0);
        let traffic = served.proxy.traffic();
        let refused = |host: &HostTraffic| matches!(host.access, Access::Refused(_));
        assert_eq!(traffic.iter().filter(|host| refused(host)).count(), 2, "{traffic:?}");
    }

    const SHORT: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_connection_is_held_until_there_is_a_yes() {
        let (port, count) = server(hello);
        let policy = Says::new(Says::waits());
        let served = ExecutableBy::new(exempt(port), Arc::clone(&policy) as _, LONG);
        let get = format!("GET http://site.example:{port}/ HTTP/1.1\r\n\r\n");
        thread::scope(|scope| {
            let answer = scope.spawn(|| served.answer(&get));
            let until = Instant::now() + LONG;
            while served.proxy.traffic().first().map(|host| &host.access)
                != Some(&Access::Waits("r1".to_owned()))
            {
                assert!(Instant::now() < until, "it is not held");
                thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(count.load(Ordering::SeqCst), 0, "nothing is dialled before the yes");
            policy.say(ConnectionVerdict::Allow);
            assert!(answer.join().unwrap().ends_with("hello"));
        });
        assert_eq!(policy.asked(), 1);
        let hosts = served.proxy.end();
        assert_eq!((hosts[0].tries, &hosts[0].access, hosts[0].down), (1, &Access::Through, 43));
        assert!(hosts[0].up > 0);
    }

    #[test]
    fn a_no_and_the_end_of_the_time_are_told_in_the_page() {
        let (port, count) = server(hello);
        let policy = Says::new(ConnectionVerdict::Deny("a person said no".to_owned()));
        let served = ExecutableBy::new(exempt(port), Arc::clone(&policy) as _, SHORT);
        let place = format!("site.example:{port}");
        let said = served.connect(&place);
        assert!(said.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{said}");
        assert!(said.ends_with(&format!("\r\n\r\n{place}: a person said no\n")), "{said}");
        policy.say(Says::waits());
        assert!(served.connect(&place).ends_with(&format!("{place}: nobody answered\n")));
        assert_eq!(served.proxy.traffic()[0].access, Access::Waits("r1".to_owned()));
        policy.say(ConnectionVerdict::Allow);
        assert!(served.answer(&format!("GET http://{place}/ HTTP/1.1\r\n\r\n")).ends_with("hello"));
        assert_eq!((served.proxy.traffic()[0].tries, count.load(Ordering::SeqCst)), (3, 1));
    }

    #[test]
    fn addresses_that_are_not_public_are_refused_before_anybody_is_asked() {
        let policy = Says::new(ConnectionVerdict::Allow);
        let resolver = names(&["127.0.0.1"]);
        let net = Net::default().resolving_by(Arc::clone(&resolver) as _);
        let served = ExecutableBy::new(net, Arc::clone(&policy) as _, SHORT);
        for place in [
            "127.0.0.1:80",
            "2130706433:80",
            "0x7f.1:80",
            "0177.0.0.1:80",
            "[::1]:80",
            "localhost:80",
            "a.localhost:80",
            "10.0.0.1:443",
            "192.168.1.1:443",
            "169.254.169.254:80",
            "[fe80::1]:80",
            "[fd00::1]:80",
            "[::ffff:127.0.0.1]:80",
            "[64:ff9b::7f00:1]:80",
            "0.0.0.0:80",
            "100.64.0.1:80",
        ] {
            let said = served.connect(place);
            assert!(said.starts_with("HTTP/1.1 403"), "{place}: {said}");
            assert!(said.contains("do not reach"), "{place}: {said}");
        }
        assert_eq!(policy.asked(), 0);
        assert_eq!(resolver.asked.load(Ordering::SeqCst), 0, "nothing is looked up");
    }

    #[test]
    fn a_name_is_looked_up_after_the_yes_and_its_addresses_are_checked_each_time() {
        let policy = Says::new(ConnectionVerdict::Deny("no".to_owned()));
        let resolver = names(&["0@127.0.0.1", "1@10.0.0.1", "2@169.254.169.254", "3@::1"]);
        let net = Net::default().resolving_by(Arc::clone(&resolver) as _);
        let served = ExecutableBy::new(net, Arc::clone(&policy) as _, SHORT);
        served.connect("secret-word.evil.example:443");
        assert_eq!(
            resolver.asked.load(Ordering::SeqCst),
            0,
            "a question for a name would tell of it"
        );
        policy.say(ConnectionVerdict::Allow);
        for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"] {
            let said = served.connect("moving.example:443");
            assert!(said.starts_with("HTTP/1.1 403"), "{said}");
            assert!(said.contains(&format!("moving.example is at {address}")), "{said}");
        }
        assert_eq!(resolver.asked.load(Ordering::SeqCst), 4, "once a connection");
        assert!(matches!(served.proxy.traffic()[0].access, Access::Refused(_)));
    }

    #[test]
    fn a_host_and_a_client_that_both_talk_at_once_hold_nobody_up() {
        const BYTES: usize = 32 << 20;
        // Both sides say everything before they listen: whoever passes one direction at a time is stuck.
        let (port, _) = server(|stream| {
            let sending = stream.try_clone().unwrap();
            let sender = thread::spawn(move || { &sending }.write_all(&vec![7; BYTES]).unwrap());
            sender.join().unwrap();
            let (mut read, mut piece) = (0, vec![0; 1 << 20]);
            while read < BYTES {
                read += { &stream }.read(&mut piece).unwrap();
            }
        });
        let served = ExecutableBy::new(exempt(port), Says::new(ConnectionVerdict::Allow), SHORT);
        let client = tunnel(&served, &format!("site.example:{port}"));
        let writing = client.try_clone().unwrap();
        let writer = thread::spawn(move || { &writing }.write_all(&vec![9; BYTES]).unwrap());
        let (mut read, mut piece) = (0, vec![0; 1 << 20]);
        while read < BYTES {
            read += { &client }.read(&mut piece).unwrap();
        }
        writer.join().unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        // The host closes its end once it has read everything.
        assert_eq!({ &client }.read(&mut piece).unwrap(), 0);
        let hosts = served.proxy.end();
        assert_eq!((hosts[0].up, hosts[0].down), (BYTES as u64, BYTES as u64));
    }

    /// A connection through the proxy that is there.
    fn tunnel(served: &ExecutableBy, place: &str) -> TcpStream {
        let mut client = TcpStream::connect(served.place).unwrap();
        write!(client, "CONNECT {place} HTTP/1.1\r\n\r\n").unwrap();
        let mut said = [0; 39];
        client.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"HTTP/1.1 200 Connection established\r\n\r\n");
        client
    }

    #[test]
    fn the_end_of_the_command_closes_every_connection_at_once() {
        let (gone_tx, gone) = std::sync::mpsc::channel();
        let gone_tx = Mutex::new(gone_tx);
        let (port, _) = server(move |mut stream| {
            let tell = held(&gone_tx).clone();
            let mut piece = [0; 64];
            while matches!(stream.read(&mut piece), Ok(count) if count > 0) {}
            tell.send(()).unwrap();
        });
        let served = ExecutableBy::new(exempt(port), Says::new(ConnectionVerdict::Allow), SHORT);
        let place = format!("site.example:{port}");
        let open: Vec<TcpStream> = (0..20).map(|_| tunnel(&served, &place)).collect();
        // One that has not said what it wants, and one that is held.
        let silent = TcpStream::connect(served.place).unwrap();
        let begun = Instant::now();
        served.proxy.end();
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        for _ in &open {
            gone.recv_timeout(LONG).unwrap();
        }
        for mut client in open.into_iter().chain([silent]) {
            assert!(matches!(client.read(&mut [0; 8]), Ok(0) | Err(_)));
        }
        assert_eq!(held(&served.proxy.connections).open.len(), 0);
        assert_eq!(served.connect(&place), "", "nothing is served any more");
    }

    #[test]
    fn more_connections_than_there_is_room_for_wait_and_a_slow_one_holds_nobody_up() {
        let (port, count) = server(hello);
        let served = ExecutableBy::new(exempt(port), Says::new(ConnectionVerdict::Allow), SHORT);
        let mut slow = TcpStream::connect(served.place).unwrap();
        slow.write_all(b"GET http://site.exam").unwrap();
        let each = if std::env::var_os("YARD_SOAK").is_some() { 100 } else { 10 };
        let get = format!("GET http://site.example:{port}/ HTTP/1.1\r\n\r\n");
        let most = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| {
                    for _ in 0..each {
                        assert!(served.answer(&get).ends_with("hello"));
                        most.fetch_max(
                            held(&served.proxy.connections).open.len(),
                            Ordering::SeqCst,
                        );
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::SeqCst), 100 * each);
        assert!(most.load(Ordering::SeqCst) <= MOST_CONNECTIONS);
        slow.write_all(format!("ple:{port}/ HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let mut said = String::new();
        slow.read_to_string(&mut said).unwrap();
        assert!(said.ends_with("hello"), "{said}");
    }

    #[test]
    fn a_command_asks_for_so_many_hosts_and_no_more() {
        let policy = Says::new(ConnectionVerdict::Deny("no".to_owned()));
        let served = ExecutableBy::new(Net::default().resolving_by(names(&[])), policy, SHORT);
        for number in 0..MOST_HOSTS {
            assert!(served.connect(&format!("h{number}.example:443")).ends_with(": no\n"));
        }
        assert!(served.connect("one-more.example:443").contains("as many as one may"));
        assert_eq!(served.proxy.traffic().len(), MOST_HOSTS);
    }

    #[test]
    fn what_a_command_did_with_a_host_reads_back() {
        let accesses = [
            Access::Through,
            Access::Refused("rule 1 (deny)\tsays\nno".to_owned()),
            Access::Waits("0190".to_owned()),
        ];
        for access in accesses {
            let told = HostTraffic {
                place: "[::1]:80".to_owned(),
                tries: 2,
                up: 3,
                down: u64::MAX,
                access,
            };
            let line = told.to_line();
            let read = HostTraffic::from_line(line.trim_end_matches('\n')).unwrap();
            match (&read.access, &told.access) {
                (Access::Refused(why), Access::Refused(_)) => {
                    assert_eq!(why, "rule 1 (deny) says no")
                }
                (read, told) => assert_eq!(read, told),
            }
            assert_eq!((read.place, read.up, read.down), (told.place, told.up, told.down));
        }
        assert_eq!(HostTraffic::from_line("a\tb"), None);
    }

    /// Run by hand, in a release build: `cargo test --release -p yard-net -- --ignored download_speed`.
    #[test]
    #[ignore = "a measurement"]
    fn download_speed() {
        const BYTES: usize = 2 << 30;
        let (port, _) = server(|mut stream| {
            let piece = vec![7; 1 << 20];
            for _ in 0..BYTES >> 20 {
                stream.write_all(&piece).unwrap();
            }
        });
        let served = ExecutableBy::new(exempt(port), Says::new(ConnectionVerdict::Allow), SHORT);
        let mut client = tunnel(&served, &format!("site.example:{port}"));
        let (begun, mut read, mut piece) = (Instant::now(), 0, vec![0; 1 << 20]);
        while read < BYTES {
            read += client.read(&mut piece).unwrap();
        }
        let speed = BYTES as f64 / begun.elapsed().as_secs_f64() / 1e6;
        assert!(speed >= 300.0, "{speed:.0} MB/s");
        eprintln!("{speed:.0} MB/s");
    }
}
