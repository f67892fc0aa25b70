//! The sockets on a box's loopback device that this process serves: those of its proxy, and ports of other terminals of the
//! same chat. The box makes the sockets and hands them over in the order of the request. Which hosts may be reached is not
//! known here.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use yard_net::{HostTraffic, Proxy, ProxySockets};
use yard_sandbox::ServedSocket;

use crate::commands::ports::TerminalPort;

/// What a socket of the box is for.
enum Purpose {
    Proxy,
    Terminal(TerminalPort),
    Dns,
}

/// The sockets of a running box that this process serves.
pub(crate) struct BoxSockets {
    proxy: Arc<Proxy>,
    way_out: ProxySockets,
    terminals: Vec<(TcpListener, TerminalPort)>,
    /// Those that the box has not made yet.
    expected: VecDeque<(ServedSocket, Purpose)>,
}

impl BoxSockets {
    /// The sockets for a proxy and for these ports of terminals. Of two terminals with the same port, the first is served.
    pub(crate) fn new(proxy: Arc<Proxy>, terminals: Vec<TerminalPort>) -> Self {
        let way_out = ProxySockets::new(Arc::clone(&proxy));
        let own = way_out.listener_addresses().into_iter();
        let own = own.map(|at| (ServedSocket::Connections(at), Purpose::Proxy));
        let mut expected: VecDeque<(ServedSocket, Purpose)> = own.collect();
        for terminal in terminals {
            let socket = ServedSocket::Connections(terminal.address());
            if !expected.iter().any(|(other, _)| *other == socket) {
                expected.push_back((socket, Purpose::Terminal(terminal)));
            }
        }
        let dns = way_out.dns_address().map(ServedSocket::Datagrams);
        expected.extend(dns.map(|socket| (socket, Purpose::Dns)));
        Self { proxy, way_out, terminals: Vec::new(), expected }
    }

    /// The sockets that the box has to make.
    pub(crate) fn wanted(&self) -> Vec<ServedSocket> {
        self.expected.iter().map(|(socket, _)| *socket).collect()
    }

    /// The addresses in the box at which connections do not go to terminals.
    pub(crate) fn own_addresses(&self) -> Vec<SocketAddr> {
        self.way_out.listener_addresses().into_iter().map(SocketAddr::from).collect()
    }

    /// The ports of terminals that are available in the box from the start.
    pub(crate) fn wanted_terminals(&self) -> Vec<TerminalPort> {
        let terminal = |(_, purpose): &(ServedSocket, Purpose)| match purpose {
            Purpose::Terminal(terminal) => Some(terminal.clone()),
            Purpose::Proxy | Purpose::Dns => None,
        };
        self.expected.iter().filter_map(terminal).collect()
    }

    /// Takes over the next of the wanted sockets, which the box has made.
    pub(crate) fn opened(&mut self, socket: OwnedFd) -> io::Result<()> {
        match self.expected.pop_front() {
            Some((_, Purpose::Proxy)) => self.way_out.add_listener(socket.into()),
            Some((_, Purpose::Terminal(terminal))) => self.add_terminal(socket.into(), terminal),
            Some((_, Purpose::Dns)) => self.way_out.add_dns_socket(UdpSocket::from(socket)),
            None => Ok(()),
        }
    }

    /// Serves another port of a terminal.
    pub(crate) fn add_terminal(
        &mut self,
        listener: TcpListener,
        to: TerminalPort,
    ) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.terminals.push((listener, to));
        Ok(())
    }

    /// Stops serving a port of a terminal.
    pub(crate) fn remove_terminal(&mut self, terminal: &TerminalPort) {
        self.terminals.retain(|(_, one)| one != terminal);
    }

    /// The sockets on which another connection can be accepted now.
    pub(crate) fn listening(&self) -> Vec<BorrowedFd<'_>> {
        let mut all = self.way_out.listening();
        if self.proxy.has_room_for_local() {
            all.extend(self.terminals.iter().map(|(listener, _)| listener.as_fd()));
        }
        all
    }

    /// Accepts waiting connections, as many as there is room for.
    pub(crate) fn accept(&self) {
        self.way_out.accept();
        for (listener, to) in &self.terminals {
            while self.proxy.has_room_for_local() {
                let Ok((client, _)) = listener.accept() else { break };
                let to = to.clone();
                self.proxy.relay_local(client, move || to.connect());
            }
        }
    }

    /// Ends every connection. Returns the traffic of each host.
    pub(crate) fn end(&self) -> Vec<HostTraffic> {
        self.proxy.end()
    }
}
