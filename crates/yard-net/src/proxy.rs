//! The HTTP proxy of a box, its only connection to other machines. It runs in the server and listens on a socket
//! that was made in the box's network and handed out, so that only programs of the box can dial it. Each
//! connection is first put to a [`ConnectionPolicy`], which may hold it until a person has decided; then its
//! host is looked up once, every address is checked, and exactly those addresses are dialled.
//!
//! Programs that use no proxy are served as well: DNS answers in the box give one address for every name, and the
//! first bytes that a program sends to that address, on port 80 or 443, name the host that it means.
//!
//! The proxy reads nothing of a connection beyond the head of its request. It knows neither rules nor persons. The
//! sockets of the box are in `proxy_sockets.rs`.

mod client_hello;
pub(super) mod dns;
mod relay;
mod request_head;
mod traffic;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use yard_core::{Call, Fault, Remedy};

use self::client_hello::ClientHello;
pub use self::relay::relay;
use self::request_head::{ProxyRequest, parse_origin_request, parse_proxy_request};
pub use self::traffic::{Access, HostTraffic};
use crate::dial::{Deadline, dial, read_some, write_all};
use crate::fetch::Net;
use crate::target::Target;

/// Where the proxy listens, in the box.
pub const PROXY_PORT: u16 = 3_128;
/// The ports of [`dns::ADDRESS`], the address of every name in the box.
const HTTP_PORT: u16 = 80;
const TLS_PORT: u16 = 443;
/// Bytes of the head of a request.
const HEAD_BYTES: usize = 16 << 10;
/// How long a client may take to send the head of its request.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long looking a host up and dialling it may take.
const DIAL_TIME: Duration = Duration::from_secs(60);
/// How long the proxy still reads from a client that it refused.
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// Connections of one command at a time. Further ones wait in the box to be accepted.
const MAX_CONNECTIONS: usize = 64;
/// Connections of one command to other boxes of this machine at a time.
const MAX_LOCAL: usize = 256;
/// Connections of all commands of this process at a time, but for those to other boxes.
const MAX_OF_ALL: usize = 1_024;
/// Hosts that one command may ask for.
const MAX_HOSTS: usize = 256;
/// How long after the first one a command's connections to one host are held, however often the command tries again.
const MAX_HOLD_TIME: Duration = Duration::from_secs(60);
/// Ports of this machine's loopback device that are forwarded into a box.
const MAX_FORWARDS: usize = 32;
/// How often a connection that is held asks whether it may go on.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long the end of a command waits for the threads of its connections, whose sockets were shut down before.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// The stack of a thread that serves one connection.
const STACK_BYTES: usize = 256 << 10;

static ALL_CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

/// What the policy says about a connection that a command wants to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionVerdict {
    /// It may be made.
    Allow,
    /// It may not, for this reason.
    Deny(String),
    /// A person is asked, and the connection is held for a while.
    Wait {
        /// The id of the approval request.
        request: String,
        /// The response to the client if no decision comes in time.
        message: String,
    },
}

/// Decides which hosts a command may reach. Several threads call it at a time.
pub trait ConnectionPolicy: Send + Sync {
    /// Decides about a new connection, before anything is looked up or dialled for it.
    fn decide(&self, target: &Target) -> ConnectionVerdict;

    /// Decides again about a connection that is held: returns as soon as a person has decided, or after `at_most`.
    fn decide_again(&self, target: &Target, at_most: Duration) -> ConnectionVerdict;

    /// What helps against a refusal, in words for whoever runs the command.
    fn describe_remedy(&self, remedy: Remedy) -> &'static str;
}

/// Which hosts a command may reach, and how they are dialled.
#[derive(Clone)]
pub struct ProxyConfig {
    net: Net,
    policy: Arc<dyn ConnectionPolicy>,
    hold_time: Duration,
    /// Ports of this machine's loopback device that the box has at the same port of its own one.
    forwards: Vec<Target>,
}

impl ProxyConfig {
    /// Hosts that `policy` allows, over `net`. A connection is held for at most `hold_time` while a person is asked.
    pub fn new(net: Net, policy: Arc<dyn ConnectionPolicy>, hold_time: Duration) -> Self {
        let forwards = net.on_loopback().filter(|target| target.port() != PROXY_PORT);
        let forwards = forwards.take(MAX_FORWARDS).collect();
        Self { net, policy, hold_time, forwards }
    }

    /// Why a host is refused, for whoever runs the command.
    fn reason_of(&self, fault: Fault) -> String {
        let fault = fault.describing_remedy(|remedy| self.policy.describe_remedy(remedy));
        fault.message().to_owned()
    }
}

/// Where the connections to one port of the box's loopback device go.
#[derive(Clone, Debug)]
pub(super) enum Destination {
    /// To the host that the client names in a request to the proxy (the proxy's own port).
    Requested,
    /// To the host that the `Host` line of a request names (port 80, for programs that use no proxy).
    HttpHost,
    /// To the host that the first message of TLS names (port 443, for programs that use no proxy).
    TlsHost,
    /// To the same port of this machine's loopback device.
    Forward(Target),
}

impl Destination {
    /// The address on the box's loopback device that clients dial.
    pub(super) fn address(&self) -> SocketAddrV4 {
        let own = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        match self {
            Self::Requested => own(PROXY_PORT),
            Self::HttpHost => SocketAddrV4::new(dns::ADDRESS, HTTP_PORT),
            Self::TlsHost => SocketAddrV4::new(dns::ADDRESS, TLS_PORT),
            Self::Forward(target) => own(target.port()),
        }
    }
}

impl fmt::Debug for ProxyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyConfig").field("net", &self.net).finish_non_exhaustive()
    }
}

/// What the command did with one host so far.
struct HostState {
    tries: u64,
    access: Access,
    /// When a connection was held for the first time.
    held_since: Option<Duration>,
    up: Arc<AtomicU64>,
    down: Arc<AtomicU64>,
}

/// The proxy of one command.
pub struct Proxy {
    /// `None` for a command that reaches no host, and after its end, because the policy may keep other things alive.
    reach: Mutex<Option<ProxyConfig>>,
    /// Cancelled when the command is over.
    call: Call,
    is_over: AtomicBool,
    connections: Mutex<Connections>,
    ended: Condvar,
    hosts: Mutex<BTreeMap<String, HostState>>,
}

/// The open connections, each with its sockets.
#[derive(Default)]
struct Connections {
    next: u64,
    open: HashMap<u64, Vec<Arc<TcpStream>>>,
    /// How many of them go to other boxes of this machine.
    local: usize,
}

impl Proxy {
    /// The proxy of a command. Without `reach` it only relays connections to other boxes ([`Proxy::relay_local`]).
    pub fn new(reach: Option<ProxyConfig>, call: &Call) -> Arc<Self> {
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
        let hosts = self.hosts.lock();
        let traffic = hosts.iter().map(|(place, host)| HostTraffic {
            place: place.clone(),
            tries: host.tries,
            up: host.up.load(Ordering::Relaxed),
            down: host.down.load(Ordering::Relaxed),
            access: host.access.clone(),
        });
        traffic.collect()
    }

    /// Ends every connection, and returns what the command did with each host.
    pub fn end(&self) -> Vec<HostTraffic> {
        self.is_over.store(true, Ordering::SeqCst);
        self.call.cancel_flag().store(true, Ordering::SeqCst);
        let mut connections = self.connections.lock();
        for socket in connections.open.values().flatten() {
            // The socket may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
        let is_any_open = |connections: &mut Connections| !connections.open.is_empty();
        self.ended.wait_while_for(&mut connections, is_any_open, END_TIMEOUT);
        drop(connections);
        drop(self.reach.lock().take());
        self.traffic()
    }

    /// The destinations of the box's ports; none for a command that reaches no host.
    pub(super) fn destinations(&self) -> Vec<Destination> {
        let reach = self.reach.lock();
        let Some(reach) = reach.as_ref() else { return Vec::new() };
        let own = [Destination::Requested, Destination::HttpHost, Destination::TlsHost];
        own.into_iter().chain(reach.forwards.iter().cloned().map(Destination::Forward)).collect()
    }

    /// Whether another connection that leaves the machine can be served.
    pub(super) fn has_room(&self) -> bool {
        let connections = self.connections.lock();
        connections.open.len() - connections.local < MAX_CONNECTIONS
            && ALL_CONNECTIONS.load(Ordering::Relaxed) < MAX_OF_ALL
    }

    /// Whether another connection to another box can be relayed. These do not count as connections that leave the
    /// machine.
    pub fn has_room_for_local(&self) -> bool {
        self.connections.lock().local < MAX_LOCAL
    }

    /// Serves one connection on a thread of its own.
    pub(super) fn serve(self: &Arc<Self>, client: TcpStream, to: Destination) {
        let serve = move |connection: &ClientConnection| match to {
            Destination::Requested => connection.serve_http(parse_proxy_request),
            Destination::HttpHost => connection.serve_http(parse_origin_request),
            Destination::TlsHost => connection.serve_tls(),
            Destination::Forward(place) => connection.forward(&place),
        };
        ClientConnection::open(self, client, false).run(serve);
    }

    /// Relays a connection, on a thread of its own, to the socket that `connect` returns. Like every connection it
    /// ends with the command.
    pub fn relay_local(
        self: &Arc<Self>,
        client: TcpStream,
        connect: impl FnOnce() -> io::Result<TcpStream> + Send + 'static,
    ) {
        ClientConnection::open(self, client, true)
            .run(|connection| connection.relay_to(connect()?));
    }
}

/// Where the bytes to a host and from it are counted.
type Counts = (Arc<AtomicU64>, Arc<AtomicU64>);

/// The result of connecting to a host.
enum DialOutcome {
    Connected(Arc<TcpStream>, Counts),
    /// The host may not be reached, for this reason.
    Refused(String),
    /// The host does not answer: the message for the client.
    Unreachable(String),
}

/// One connection of a client.
struct ClientConnection {
    proxy: Arc<Proxy>,
    number: u64,
    client: Arc<TcpStream>,
    is_local: bool,
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        // The other side sees the end of the connection even while another thread holds a copy of the socket.
        let mut connections = self.proxy.connections.lock();
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

impl ClientConnection {
    fn open(proxy: &Arc<Proxy>, client: TcpStream, is_local: bool) -> Self {
        let client = Arc::new(client);
        let mut connections = proxy.connections.lock();
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

    /// Serves the connection on a thread of its own. If no thread can be started, it is closed, and the client tries
    /// again.
    fn run(self, serve: impl FnOnce(&Self) -> io::Result<()> + Send + 'static) {
        let thread =
            thread::Builder::new().name("toolyard-proxied".to_owned()).stack_size(STACK_BYTES);
        // The client sees a failure as a closed connection.
        let _ = thread.spawn(move || serve(&self));
    }

    /// Serves a client that names its host in the head of an HTTP request.
    fn serve_http(&self, parse: fn(&[u8]) -> Option<ProxyRequest>) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        let (head, rest) = self.read_head()?;
        let Some(mut request) = parse(&head) else {
            return self.respond(
                "400 Bad Request",
                "this is an HTTP proxy; it takes CONNECT host:port, requests with a whole http address, and \
                 on port 80 requests that name their host",
            );
        };
        request.first_bytes.extend(rest);
        match self.connect(&request.target)? {
            DialOutcome::Connected(host, counts) => {
                self.pass(&host, counts, &request.first_bytes, request.answer)
            }
            DialOutcome::Refused(why) => self.respond("403 Forbidden", &why),
            DialOutcome::Unreachable(why) => self.respond("502 Bad Gateway", &why),
        }
    }

    /// Serves a client that names its host in the first message of TLS.
    fn serve_tls(&self) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        let (mut hello, mut buffer) = (ClientHello::default(), [0; 4_096]);
        let deadline = Deadline::new(&self.proxy.call, HEAD_TIME);
        let host = loop {
            let count = read_some(&self.client, &mut buffer, &deadline)?;
            match hello.push(&buffer[..count])? {
                Some(host) => break host,
                None if count == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                None => {}
            }
        };
        let target = Target::parse(&format!("https://{host}/")).ok();
        let target = target.filter(|target| target.port() == TLS_PORT);
        let reached = target.map(|target| self.connect(&target)).transpose()?;
        match reached {
            Some(DialOutcome::Connected(host, counts)) => {
                self.pass(&host, counts, &hello.into_bytes(), b"")
            }
            Some(DialOutcome::Unreachable(_)) => self.alert(&client_hello::INTERNAL_ERROR),
            Some(DialOutcome::Refused(_)) | None => self.alert(&client_hello::ACCESS_DENIED),
        }
    }

    /// Sends a TLS client the alert that says why there is no host.
    fn alert(&self, alert: &[u8]) -> io::Result<()> {
        self.write(&self.client, alert)?;
        self.client.shutdown(Shutdown::Write)?;
        self.drain()
    }

    /// Serves a client of a forwarded port. A refused connection is closed without an answer, because the protocol
    /// of the client is unknown.
    fn forward(&self, target: &Target) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        match self.connect(target)? {
            DialOutcome::Connected(host, counts) => self.pass(&host, counts, b"", b""),
            DialOutcome::Refused(_) | DialOutcome::Unreachable(_) => Ok(()),
        }
    }

    /// Relays the connection to a socket of another box.
    fn relay_to(&self, program: TcpStream) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        let program = Arc::new(program);
        program.set_nonblocking(true)?;
        self.register(&program)?;
        self.pass(&program, Counts::default(), b"", b"")
    }

    /// Asks the policy, looks the host up, checks its addresses and dials them.
    fn connect(&self, target: &Target) -> io::Result<DialOutcome> {
        let place = target.place();
        let Some(counts) = self.proxy.count_try(&place) else {
            return Ok(DialOutcome::Refused(format!("{place}: {}", too_many_hosts())));
        };
        let Some(reach) = self.proxy.reach.lock().clone() else {
            return Err(io::ErrorKind::ConnectionAborted.into());
        };
        if let Err(why) = self.wait_for_policy(&reach, target, &place)? {
            return Ok(DialOutcome::Refused(format!("{place}: {why}")));
        }
        let deadline = Deadline::new(&self.proxy.call, DIAL_TIME);
        let addresses = match reach.net.addresses(target, &deadline) {
            Ok(addresses) => addresses,
            Err(fault) => {
                let why = reach.reason_of(fault);
                let page = format!("{place}: {why}");
                self.proxy.set_access(&place, Access::Refused(why));
                return Ok(DialOutcome::Refused(page));
            }
        };
        let Ok(host) = dial(&addresses, &deadline) else {
            return Ok(DialOutcome::Unreachable(format!("{place}: the host does not answer")));
        };
        let host = Arc::new(host);
        self.register(&host)?;
        Ok(DialOutcome::Connected(host, counts))
    }

    /// Sends each side its first bytes, and then relays in both directions.
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
        relay::relay_counted(&self.client, host, (&up, &down), &|| proxy.check(), &now)
    }

    /// Registers a socket, so that the end of the command shuts it down.
    fn register(&self, host: &Arc<TcpStream>) -> io::Result<()> {
        let mut connections = self.proxy.connections.lock();
        if let Some(sockets) = connections.open.get_mut(&self.number) {
            sockets.push(Arc::clone(host));
        }
        drop(connections);
        // The command may have ended before the socket was registered.
        self.proxy.check()
    }

    /// Asks the policy about a host, and waits while a person is asked. The inner error says why it is refused.
    fn wait_for_policy(
        &self,
        reach: &ProxyConfig,
        target: &Target,
        place: &str,
    ) -> io::Result<Result<(), String>> {
        let ProxyConfig { net, policy, hold_time, .. } = reach;
        // No person is asked about a target that is refused anyway.
        let mut verdict = match net.check_named(target) {
            Ok(()) => policy.decide(target),
            Err(fault) => ConnectionVerdict::Deny(reach.reason_of(fault)),
        };
        let now = || self.proxy.call.world().elapsed();
        let (begun, mut most) = (now(), None);
        loop {
            self.proxy.check()?;
            let (request, message) = match verdict {
                ConnectionVerdict::Allow => {
                    self.proxy.set_access(place, Access::Through);
                    return Ok(Ok(()));
                }
                ConnectionVerdict::Deny(why) => {
                    self.proxy.set_access(place, Access::Refused(why.clone()));
                    return Ok(Err(why));
                }
                ConnectionVerdict::Wait { request, message } => (request, message),
            };
            self.proxy.set_access(place, Access::Waits(request));
            let most = *most.get_or_insert_with(|| self.proxy.hold_time(place, *hold_time));
            let left = most.saturating_sub(now().saturating_sub(begun));
            if left.is_zero() {
                return Ok(Err(message));
            }
            if self.is_gone() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            verdict = policy.decide_again(target, left.min(POLL_INTERVAL));
        }
    }

    /// Whether the client has closed its end.
    fn is_gone(&self) -> bool {
        let mut ready = [PollFd::new(&*self.client, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut ready, Some(&now)).is_ok() && !ready[0].revents().is_empty()
    }

    fn respond(&self, status: &str, why: &str) -> io::Result<()> {
        let length = why.len() + 1;
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{why}\n"
        );
        self.write(&self.client, answer.as_bytes())?;
        self.client.shutdown(Shutdown::Write)?;
        self.drain()
    }

    /// Reads for a moment what the client still sends: closing a socket with unread bytes resets the connection,
    /// and the client may then never read the answer.
    fn drain(&self) -> io::Result<()> {
        let deadline = Deadline::new(&self.proxy.call, DRAIN_TIME);
        let mut buffer = [0; 4_096];
        while read_some(&self.client, &mut buffer, &deadline)? > 0 {}
        Ok(())
    }

    /// The head of a request, and the bytes that came after it.
    fn read_head(&self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let deadline = Deadline::new(&self.proxy.call, HEAD_TIME);
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4_096]);
        loop {
            let count = read_some(&self.client, &mut buffer, &deadline)?;
            let searched = bytes.len().saturating_sub(3);
            bytes.extend_from_slice(&buffer[..count]);
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
        write_all(to, bytes, &Deadline::new(&self.proxy.call, DIAL_TIME))
    }
}

impl Proxy {
    fn check(&self) -> io::Result<()> {
        match self.is_over.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// Counts a try, and returns the counters of its bytes; `None` if the command has asked for too many hosts.
    fn count_try(&self, place: &str) -> Option<Counts> {
        let mut hosts = self.hosts.lock();
        if hosts.len() >= MAX_HOSTS && !hosts.contains_key(place) {
            return None;
        }
        let host = hosts.entry(place.to_owned()).or_insert_with(|| HostState {
            tries: 0,
            access: Access::Through,
            held_since: None,
            up: Arc::default(),
            down: Arc::default(),
        });
        host.tries += 1;
        Some((Arc::clone(&host.up), Arc::clone(&host.down)))
    }

    fn set_access(&self, place: &str, access: Access) {
        if let Some(host) = self.hosts.lock().get_mut(place) {
            host.access = access;
        }
    }

    /// How long a connection to a host may be held.
    fn hold_time(&self, place: &str, most: Duration) -> Duration {
        let now = self.call.world().elapsed();
        let mut hosts = self.hosts.lock();
        let since = hosts.get_mut(place).map(|host| *host.held_since.get_or_insert(now));
        let so_far = now.saturating_sub(since.unwrap_or(now));
        most.min(MAX_HOLD_TIME.saturating_sub(so_far))
    }
}

fn too_many_hosts() -> String {
    format!("this command asked for {MAX_HOSTS} hosts already, which is as many as one may")
}

#[cfg(test)]
mod tests;
