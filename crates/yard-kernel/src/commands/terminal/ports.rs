//! The ports of a terminal's box. Ports that its programs listen on are offered to the other commands of its chat and
//! to the person (`commands/ports.rs`). Ports of the chat's other terminals are available in the box at the same numbers.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use yard_core::ChatId;
use yard_disk::Bound;
use yard_net::Proxy;
use yard_sandbox::{BoxNetwork, CommandListener, Level, ServedSocket};

use super::{NewTerminal, Terminal};
use crate::commands::box_sockets::BoxSockets;
use crate::commands::ports::{self, MAX_PORTS, PortList, PortSource, TerminalPort};
use crate::workspace::Workspace;
use crate::workspace::command_box::CommandBox;

/// Most requests for the ports of one terminal that are answered at a time.
const MAX_REQUESTS: usize = 64;
/// How long to wait until the thread of the box has applied a change of the ports of other terminals.
const CHANGE_TIME: Duration = Duration::from_secs(2);

/// The ports of the box of a terminal.
#[derive(Clone)]
pub(super) struct BoxPorts(Arc<Shared>);

struct Shared {
    /// Unset until the box is made, and where boxes have no network of their own.
    network: OnceLock<BoxNetwork>,
    /// The description that its opener stored with the terminal.
    note: Vec<u8>,
    /// Addresses in the box that this process serves.
    served: Vec<SocketAddr>,
    /// Ports of other terminals that are available in the box.
    others: Mutex<Vec<TerminalPort>>,
    changes: Mutex<Sender<Change>>,
    /// The ports that the last update reported.
    reported: Mutex<Vec<u16>>,
    requests: AtomicUsize,
}

/// A change of the ports of other terminals that are available in the box.
struct Change {
    removed: Vec<TerminalPort>,
    added: Vec<(TcpListener, TerminalPort)>,
    done: Sender<()>,
}

impl Workspace {
    /// The ports of a terminal that is about to be opened, and what accepts the connections of its box.
    pub(super) fn terminal_ports(
        &self,
        new: &NewTerminal<'_>,
        boxed: &CommandBox,
        proxy: &Arc<Proxy>,
    ) -> (BoxPorts, Connecting) {
        let has_network = boxed.sandbox().level() == Level::Full;
        let others = match has_network {
            true => ports::of_chat(&self.commands.port_sockets, new.chat).ports,
            false => Vec::new(),
        };
        let sockets = BoxSockets::new(Arc::clone(proxy), others);
        let (others, served) = (sockets.wanted_terminals(), sockets.own_addresses());
        let (sender, changes) = mpsc::channel();
        let ports = BoxPorts(Arc::new(Shared {
            network: OnceLock::new(),
            note: new.note.to_vec(),
            served,
            others: Mutex::new(others),
            changes: Mutex::new(sender),
            reported: Mutex::default(),
            requests: AtomicUsize::new(0),
        }));
        // Without this socket the terminal still works, but nothing else can reach its ports.
        let offered =
            has_network.then(|| ports::listen(&self.commands.port_sockets, new.chat, new.run));
        let offered = offered.and_then(Result::ok);
        let connecting = Connecting { sockets, ports: ports.clone(), offered, changes };
        (ports, connecting)
    }

    /// Updates which ports of the chat's other terminals are available in the box of a terminal.
    pub fn share_ports(&self, chat: ChatId, terminal: &Terminal) {
        let mut listing = ports::of_chat(&self.commands.port_sockets, chat);
        listing.ports.retain(|port| port.run != terminal.run());
        terminal.ports.set_others(&listing);
    }
}

impl Terminal {
    /// The ports that its programs listen on, in order.
    pub fn ports(&self) -> Vec<u16> {
        self.ports.ports()
    }
}

impl BoxPorts {
    /// Ports that programs in the box listen on and that no update has reported.
    pub(super) fn unreported(&self) -> Vec<u16> {
        let (ports, reported) = (self.ports(), self.0.reported.lock());
        ports.into_iter().filter(|port| !reported.contains(port)).collect()
    }

    /// Returns the unreported ports and marks them as reported.
    pub(super) fn report(&self) -> Vec<u16> {
        let ports = self.ports();
        let reported = std::mem::replace(&mut *self.0.reported.lock(), ports.clone());
        ports.into_iter().filter(|port| !reported.contains(port)).collect()
    }

    /// Makes exactly the listed ports of other terminals available in the box, and retains those of terminals that
    /// did not answer. A port that a program of this box listens on is not replaced.
    fn set_others(&self, listing: &PortList) {
        let Some(network) = self.0.network.get() else { return };
        let own = self.ports();
        let wanted: Vec<&TerminalPort> =
            listing.ports.iter().filter(|port| !own.contains(&port.port)).collect();
        let mut others = self.0.others.lock();
        let stays =
            |other: &TerminalPort| wanted.contains(&other) || listing.silent.contains(&other.run);
        let removed: Vec<TerminalPort> =
            others.iter().filter(|other| !stays(other)).cloned().collect();
        if !removed.is_empty() {
            others.retain(|other| !removed.contains(other));
            self.change(removed, Vec::new());
        }
        let mut added = Vec::new();
        for one in wanted.into_iter().filter(|one| !others.contains(one)) {
            if let Ok(listener) = network.listen(one.port) {
                added.push((listener, one.clone()));
            }
        }
        if !added.is_empty() {
            others.extend(added.iter().map(|(_, one)| one.clone()));
            self.change(Vec::new(), added);
        }
    }

    /// Hands a change to the thread that runs the box, and waits until that has applied it.
    fn change(&self, removed: Vec<TerminalPort>, added: Vec<(TcpListener, TerminalPort)>) {
        let (done, is_done) = mpsc::channel();
        // Sending fails if the box has ended, and nothing is to be done then.
        if self.0.changes.lock().send(Change { removed, added, done }).is_ok() {
            let _ = is_done.recv_timeout(CHANGE_TIME);
        }
    }

    /// Whether another request can be answered now. Further connections wait until they are accepted.
    fn has_room(&self) -> bool {
        self.0.requests.load(Ordering::Relaxed) < MAX_REQUESTS
    }

    /// Answers a request on a thread of its own.
    fn answer(&self, stream: UnixStream) {
        let requests = &self.0.requests;
        requests.fetch_add(1, Ordering::Relaxed);
        let ports = self.clone();
        let answering = thread::Builder::new().name("terminal-ports".to_owned()).spawn(move || {
            // The client sees the closed connection.
            let _ = ports::answer(stream, &ports);
            ports.0.requests.fetch_sub(1, Ordering::Relaxed);
        });
        if answering.is_err() {
            requests.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl BoxPorts {
    /// Addresses that programs in the box listen on, without those that this process serves.
    fn own(&self) -> Vec<SocketAddr> {
        let listening = self.0.network.get().map(BoxNetwork::listening);
        let mut listening = listening.and_then(Result::ok).unwrap_or_default();
        let others = self.0.others.lock();
        listening.retain(|address| {
            let is_others =
                || others.iter().any(|other| SocketAddr::from(other.address()) == *address);
            !self.0.served.contains(address) && !is_others()
        });
        listening
    }
}

impl PortSource for BoxPorts {
    fn ports(&self) -> Vec<u16> {
        let mut ports: Vec<u16> = self.own().iter().map(SocketAddr::port).collect();
        ports.dedup();
        ports.truncate(MAX_PORTS);
        ports
    }

    fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let network = self.0.network.get().ok_or_else(refused)?;
        let mut connected = Err(refused());
        for address in self.own().into_iter().filter(|address| address.port() == port) {
            connected = network.connect(address);
            if connected.is_ok() {
                break;
            }
        }
        connected
    }

    fn note(&self) -> &[u8] {
        &self.0.note
    }
}

/// Accepts the connections of a terminal's box, and requests for its ports. The program's output does not come this
/// way, but by the pseudo terminal.
pub(super) struct Connecting {
    sockets: BoxSockets,
    ports: BoxPorts,
    offered: Option<Bound>,
    changes: Receiver<Change>,
}

impl Connecting {
    /// The sockets of the box that this process serves from the start.
    pub(super) fn sockets(&self) -> Vec<ServedSocket> {
        self.sockets.wanted()
    }
}

impl CommandListener for Connecting {
    fn opened(&mut self, socket: OwnedFd) -> io::Result<()> {
        self.sockets.opened(socket)
    }

    fn has_network(&mut self, network: BoxNetwork) {
        // Each box has exactly one network.
        let _ = self.ports.0.network.set(network);
    }

    fn listening(&mut self) -> Vec<BorrowedFd<'_>> {
        for Change { removed, added, done } in self.changes.try_iter() {
            removed.iter().for_each(|terminal| self.sockets.remove_terminal(terminal));
            for (listener, terminal) in added {
                // If the socket cannot be used, it is closed, and connections to the port are refused.
                let _ = self.sockets.add_terminal(listener, terminal);
            }
            // The thread in `change` may have given up waiting.
            let _ = done.send(());
        }
        let mut all = self.sockets.listening();
        let offered = self.offered.iter().filter(|_| self.ports.has_room());
        all.extend(offered.map(|offered| offered.listener.as_fd()));
        all
    }

    fn accept(&mut self) {
        self.sockets.accept();
        let Some(offered) = &self.offered else { return };
        while self.ports.has_room() {
            let Ok((stream, _)) = offered.listener.accept() else { break };
            self.ports.answer(stream);
        }
    }
}
