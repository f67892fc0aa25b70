//! Forwards ports of agents' terminals to loopback addresses of this machine. Each chat has an address of its own,
//! because browsers send cookies to every port of an address. 127.0.0.1 is not used: other servers of the person are
//! there.

#![allow(clippy::disallowed_methods, reason = "a person asked for these ports to be listened on")]

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use yard_core::{ChatId, World};
use yard_kernel::{PortList, TerminalPort};
use yard_net::relay;

/// The last number of the first chat's address, and of the last one's.
const FIRST: u8 = 2;
const LAST: u8 = 254;
/// Connections to one port at a time.
const MAX_CONNECTIONS: usize = 256;
/// How often a listening socket checks whether it is to be closed.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A port of a terminal, and the address at which it was opened.
#[derive(Clone)]
pub(crate) struct Forward {
    pub(crate) port: TerminalPort,
    pub(crate) address: Result<SocketAddr, Arc<io::Error>>,
    is_closed: Arc<AtomicBool>,
}

/// The ports that are open.
pub(crate) struct Forwards {
    world: Arc<dyn World>,
    open: Vec<Forward>,
    /// The chats that have an address, in the order of their addresses.
    chats: Vec<ChatId>,
}

impl Drop for Forwards {
    fn drop(&mut self) {
        self.open.iter().for_each(Forward::close);
    }
}

impl Forwards {
    /// No open ports.
    pub(crate) fn new(world: Arc<dyn World>) -> Self {
        Self { world, open: Vec::new(), chats: Vec::new() }
    }

    /// Opens the ports that are new and closes those that are gone: what was opened, and what was closed. Those of
    /// a terminal that did not answer stay.
    pub(crate) fn update(&mut self, listing: &PortList) -> (Vec<Forward>, Vec<Forward>) {
        let stays = |forward: &Forward| {
            listing.ports.contains(&forward.port) || listing.silent.contains(&forward.port.run)
        };
        let (stay, closed): (Vec<Forward>, Vec<Forward>) = self.open.drain(..).partition(stays);
        closed.iter().for_each(Forward::close);
        self.open = stay;
        let is_open = |port: &TerminalPort| self.open.iter().any(|forward| forward.port == *port);
        let new = listing.ports.iter().filter(|port| !is_open(port)).cloned();
        let new: Vec<TerminalPort> = new.collect();
        let opened: Vec<Forward> = new.into_iter().map(|port| self.open_one(port)).collect();
        self.open.extend(opened.iter().cloned());
        (opened, closed)
    }

    fn open_one(&mut self, port: TerminalPort) -> Forward {
        let is_closed = Arc::default();
        let address = self.address_of(port.chat).and_then(|address| {
            // A port that is in use on this machine is replaced by a free one.
            let listener = TcpListener::bind((address, port.port));
            let listener = listener.or_else(|_| TcpListener::bind((address, 0)))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            let forwarded = ForwardedPort {
                port: port.clone(),
                is_closed: Arc::clone(&is_closed),
                world: Arc::clone(&self.world),
            };
            let named = thread::Builder::new().name("port".to_owned());
            named.spawn(move || serve(&listener, &forwarded))?;
            Ok(address)
        });
        Forward { port, address: address.map_err(Arc::new), is_closed }
    }

    fn address_of(&mut self, chat: ChatId) -> io::Result<Ipv4Addr> {
        let known = self.chats.iter().position(|known| *known == chat);
        let number = known.unwrap_or_else(|| {
            self.chats.push(chat);
            self.chats.len() - 1
        });
        let last = u8::try_from(number).ok().and_then(|number| FIRST.checked_add(number));
        match last.filter(|last| *last <= LAST) {
            Some(last) => Ok(Ipv4Addr::new(127, 0, 0, last)),
            None => Err(io::Error::other("too many chats have ports open; start this again")),
        }
    }
}

impl Forward {
    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

/// What the connections to one port share.
#[derive(Clone)]
struct ForwardedPort {
    port: TerminalPort,
    is_closed: Arc<AtomicBool>,
    world: Arc<dyn World>,
}

fn serve(listener: &TcpListener, port: &ForwardedPort) {
    let connections = Arc::new(AtomicUsize::new(0));
    while !port.is_closed.load(Ordering::Relaxed) {
        if connections.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
            thread::sleep(CHECK_INTERVAL);
            continue;
        }
        let mut ready = [PollFd::new(listener, PollFlags::IN)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: CHECK_INTERVAL.subsec_nanos().into() };
        // An interrupted wait starts again with the next turn of the loop.
        let _ = poll(&mut ready, Some(&timeout));
        let client = match listener.accept() {
            Ok((client, _)) => client,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => {
                // The limit of open files may be reached.
                thread::sleep(CHECK_INTERVAL);
                continue;
            }
        };
        let port = port.clone();
        let counted = ConnectionCount::one_of(&connections);
        let named = thread::Builder::new().name("port-connection".to_owned());
        // Without a thread the connection is closed, and its client tries again.
        let _ = named.spawn(move || {
            let _counted = counted;
            // A connection that breaks is closed, and its client sees that.
            let _ = port.pass_on(&client);
        });
    }
}

impl ForwardedPort {
    fn pass_on(&self, client: &TcpStream) -> io::Result<()> {
        let program = self.port.connect()?;
        let check = || match self.is_closed.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        };
        let passed = relay(client, &program, &check, &|| self.world.elapsed());
        // Also while a copy of either socket is left.
        let _ = (client.shutdown(Shutdown::Both), program.shutdown(Shutdown::Both));
        passed
    }
}

/// Counts a connection for as long as it is there.
struct ConnectionCount(Arc<AtomicUsize>);

impl ConnectionCount {
    fn one_of(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(all))
    }
}

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
