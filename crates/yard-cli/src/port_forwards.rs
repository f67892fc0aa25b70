//! Ports of agents' terminals on loopback addresses of this machine. Each chat has an address of its own, because
//! browsers send cookies to every port of an address; 127.0.0.1 is never taken, where other servers of the person
//! are.

#![allow(clippy::disallowed_methods, reason = "a person asked for these ports to be listened on")]

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use yard_core::ChatId;
use yard_kernel::TerminalPort;
use yard_kernel::net::relay;

/// The last number of the first chat's address, and of the last one's.
const FIRST: u8 = 2;
const LAST: u8 = 254;
/// Connections to one port at a time.
const MOST_CONNECTIONS: usize = 256;
/// How often a listening socket looks whether it is to be closed.
const LOOK: Duration = Duration::from_millis(50);

/// A port of a terminal, and the address at which it was opened.
#[derive(Clone)]
pub(crate) struct Forward {
    pub(crate) port: TerminalPort,
    pub(crate) address: Result<SocketAddr, Arc<io::Error>>,
    is_closed: Arc<AtomicBool>,
}

/// The ports that are open.
#[derive(Default)]
pub(crate) struct Forwards {
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
    /// Opens the ports that are new and closes those that are gone: what was opened, and what was closed.
    pub(crate) fn follow(&mut self, ports: Vec<TerminalPort>) -> (Vec<Forward>, Vec<Forward>) {
        let (stay, closed): (Vec<Forward>, Vec<Forward>) =
            self.open.drain(..).partition(|forward| ports.contains(&forward.port));
        closed.iter().for_each(Forward::close);
        self.open = stay;
        let is_open = |port: &TerminalPort| self.open.iter().any(|forward| forward.port == *port);
        let new: Vec<TerminalPort> = ports.into_iter().filter(|port| !is_open(port)).collect();
        let opened: Vec<Forward> = new.into_iter().map(|port| self.open_one(port)).collect();
        self.open.extend(opened.iter().cloned());
        (opened, closed)
    }

    fn open_one(&mut self, port: TerminalPort) -> Forward {
        let is_closed = Arc::default();
        let address = self.address_of(port.chat).and_then(|address| {
            // A port that somebody on this machine has already is opened at another one.
            let listener = TcpListener::bind((address, port.port));
            let listener = listener.or_else(|_| TcpListener::bind((address, 0)))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            let (port, is_closed) = (port.clone(), Arc::clone(&is_closed));
            let named = thread::Builder::new().name("port".to_owned());
            named.spawn(move || serve(&listener, &port, &is_closed))?;
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

fn serve(listener: &TcpListener, port: &TerminalPort, is_closed: &Arc<AtomicBool>) {
    let connections = Arc::new(AtomicUsize::new(0));
    while !is_closed.load(Ordering::Relaxed) {
        if connections.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
            thread::sleep(LOOK);
            continue;
        }
        let mut ready = [PollFd::new(listener, PollFlags::IN)];
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        // A wait that was interrupted is begun again.
        let _ = poll(&mut ready, Some(&look));
        let Ok((client, _)) = listener.accept() else { continue };
        let (port, is_closed) = (port.clone(), Arc::clone(is_closed));
        let counted = Counted::one_of(&connections);
        let named = thread::Builder::new().name("port-connection".to_owned());
        // Without a thread the connection is closed, and its client tries again.
        let _ = named.spawn(move || {
            let _counted = counted;
            // A connection that breaks off is its client's to notice.
            let _ = pass_on(&client, &port, &is_closed);
        });
    }
}

fn pass_on(client: &TcpStream, port: &TerminalPort, is_closed: &AtomicBool) -> io::Result<()> {
    let program = port.connect()?;
    let check = || match is_closed.load(Ordering::Relaxed) {
        true => Err(io::ErrorKind::ConnectionAborted.into()),
        false => Ok(()),
    };
    let passed = relay(client, &program, &check);
    // Also while a copy of either socket is left.
    let _ = (client.shutdown(Shutdown::Both), program.shutdown(Shutdown::Both));
    passed
}

/// Counts a connection for as long as it is there.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn one_of(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(all))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
