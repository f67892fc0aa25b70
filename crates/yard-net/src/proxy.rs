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
mod connection;
pub(crate) mod dns;
mod relay;
mod request_head;
mod traffic;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use yard_core::{Call, Fault, Remedy};

use self::connection::ClientConnection;
pub use self::relay::relay;
use self::request_head::{parse_origin_request, parse_proxy_request};
pub use self::traffic::{Access, HostTraffic};
use crate::fetch::Net;
use crate::target::Target;

/// Where the proxy listens, in the box.
pub const PROXY_PORT: u16 = 3_128;
/// The ports of [`dns::ADDRESS`], the address of every name in the box.
const HTTP_PORT: u16 = 80;
const TLS_PORT: u16 = 443;
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
/// How long the end of a command waits for the threads of its connections, whose sockets were shut down before.
const END_TIMEOUT: Duration = Duration::from_secs(2);

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
pub(crate) enum Destination {
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
    pub(crate) fn address(&self) -> SocketAddrV4 {
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

/// Where the bytes to a host and from it are counted.
type Counts = (Arc<AtomicU64>, Arc<AtomicU64>);

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
        let traffic = hosts.iter().map(|(host_port, host)| HostTraffic {
            host_port: host_port.clone(),
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
    pub(crate) fn destinations(&self) -> Vec<Destination> {
        let reach = self.reach.lock();
        let Some(reach) = reach.as_ref() else { return Vec::new() };
        let own = [Destination::Requested, Destination::HttpHost, Destination::TlsHost];
        own.into_iter().chain(reach.forwards.iter().cloned().map(Destination::Forward)).collect()
    }

    /// Whether another connection that leaves the machine can be served.
    pub(crate) fn has_room(&self) -> bool {
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
    pub(crate) fn serve(self: &Arc<Self>, client: TcpStream, to: Destination) {
        let serve = move |connection: &ClientConnection| match to {
            Destination::Requested => connection.serve_http(parse_proxy_request),
            Destination::HttpHost => connection.serve_http(parse_origin_request),
            Destination::TlsHost => connection.serve_tls(),
            Destination::Forward(target) => connection.forward(&target),
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

impl Proxy {
    fn check(&self) -> io::Result<()> {
        match self.is_over.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// Counts a try, and returns the counters of its bytes; `None` if the command has asked for too many hosts.
    fn count_try(&self, host_port: &str) -> Option<Counts> {
        let mut hosts = self.hosts.lock();
        if hosts.len() >= MAX_HOSTS && !hosts.contains_key(host_port) {
            return None;
        }
        let host = hosts.entry(host_port.to_owned()).or_insert_with(|| HostState {
            tries: 0,
            access: Access::Through,
            held_since: None,
            up: Arc::default(),
            down: Arc::default(),
        });
        host.tries += 1;
        Some((Arc::clone(&host.up), Arc::clone(&host.down)))
    }

    fn set_access(&self, host_port: &str, access: Access) {
        if let Some(host) = self.hosts.lock().get_mut(host_port) {
            host.access = access;
        }
    }

    /// How long a connection to a host may be held.
    fn hold_time(&self, host_port: &str, most: Duration) -> Duration {
        let now = self.call.world().elapsed();
        let mut hosts = self.hosts.lock();
        let since = hosts.get_mut(host_port).map(|host| *host.held_since.get_or_insert(now));
        let so_far = now.saturating_sub(since.unwrap_or(now));
        most.min(MAX_HOLD_TIME.saturating_sub(so_far))
    }
}

#[cfg(test)]
mod tests;
