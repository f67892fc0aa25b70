//! One connection of a client to the proxy, from its first bytes to its end: it finds out which host is meant, asks the
//! policy, connects and relays.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::client_hello::{self, ClientHello};
use super::relay::relay_counted;
use super::request_head::ProxyRequest;
use super::traffic::Access;
use super::{ALL_CONNECTIONS, ConnectionVerdict, Counts, MAX_HOSTS, Proxy, ProxyConfig, TLS_PORT};
use crate::dial::{Deadline, dial, read_some, write_all};
use crate::target::Target;

/// Bytes of the head of a request.
const HEAD_BYTES: usize = 16 << 10;
/// How long a client may take to send the head of its request.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long looking a host up and dialling it may take.
const DIAL_TIME: Duration = Duration::from_secs(60);
/// How long the proxy still reads from a client that it refused.
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// How often a connection that is held asks whether it may go on.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The stack of a thread that serves one connection.
const STACK_BYTES: usize = 256 << 10;

/// The result of connecting to a host.
enum DialOutcome {
    Connected(Arc<TcpStream>, Counts),
    /// The host may not be reached, for this reason.
    Refused(String),
    /// The host does not answer: the message for the client.
    Unreachable(String),
}

/// One connection of a client.
pub(super) struct ClientConnection {
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
    pub(super) fn open(proxy: &Arc<Proxy>, client: TcpStream, is_local: bool) -> Self {
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
    pub(super) fn run(self, serve: impl FnOnce(&Self) -> io::Result<()> + Send + 'static) {
        let thread =
            thread::Builder::new().name("toolyard-proxied".to_owned()).stack_size(STACK_BYTES);
        // The client sees a failure as a closed connection.
        let _ = thread.spawn(move || serve(&self));
    }

    /// Serves a client that names its host in the head of an HTTP request.
    pub(super) fn serve_http(&self, parse: fn(&[u8]) -> Option<ProxyRequest>) -> io::Result<()> {
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
    pub(super) fn serve_tls(&self) -> io::Result<()> {
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
    pub(super) fn forward(&self, target: &Target) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        match self.connect(target)? {
            DialOutcome::Connected(host, counts) => self.pass(&host, counts, b"", b""),
            DialOutcome::Refused(_) | DialOutcome::Unreachable(_) => Ok(()),
        }
    }

    /// Relays the connection to a socket of another box.
    pub(super) fn relay_to(&self, program: TcpStream) -> io::Result<()> {
        self.client.set_nonblocking(true)?;
        let program = Arc::new(program);
        program.set_nonblocking(true)?;
        self.register(&program)?;
        self.pass(&program, Counts::default(), b"", b"")
    }

    /// Asks the policy, looks the host up, checks its addresses and dials them.
    fn connect(&self, target: &Target) -> io::Result<DialOutcome> {
        let host_port = target.host_port();
        let Some(counts) = self.proxy.count_try(&host_port) else {
            return Ok(DialOutcome::Refused(format!(
                "{host_port}: this command asked for {MAX_HOSTS} hosts already, which is as many as one may"
            )));
        };
        let Some(reach) = self.proxy.reach.lock().clone() else {
            return Err(io::ErrorKind::ConnectionAborted.into());
        };
        if let Err(why) = self.wait_for_policy(&reach, target, &host_port)? {
            return Ok(DialOutcome::Refused(format!("{host_port}: {why}")));
        }
        let deadline = Deadline::new(&self.proxy.call, DIAL_TIME);
        let addresses = match reach.net.addresses(target, &deadline) {
            Ok(addresses) => addresses,
            Err(fault) => {
                let why = reach.reason_of(fault);
                let page = format!("{host_port}: {why}");
                self.proxy.set_access(&host_port, Access::Refused(why));
                return Ok(DialOutcome::Refused(page));
            }
        };
        let Ok(host) = dial(&addresses, &deadline) else {
            return Ok(DialOutcome::Unreachable(format!("{host_port}: the host does not answer")));
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
        relay_counted(&self.client, host, (&up, &down), &|| proxy.check(), &now)
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
        host_port: &str,
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
                    self.proxy.set_access(host_port, Access::Through);
                    return Ok(Ok(()));
                }
                ConnectionVerdict::Deny(why) => {
                    self.proxy.set_access(host_port, Access::Refused(why.clone()));
                    return Ok(Err(why));
                }
                ConnectionVerdict::Wait { request, message } => (request, message),
            };
            self.proxy.set_access(host_port, Access::Waits(request));
            let most = *most.get_or_insert_with(|| self.proxy.hold_time(host_port, *hold_time));
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
