//! The sockets of a box's own loopback device that this process serves: those of its way out to the web, and the
//! ports of other terminals of the same chat. The box makes them and hands them out in the order in which they
//! were asked for. Which hosts may be reached is not known here.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use yard_net::{HostTraffic, Proxy, ProxySockets};
use yard_sandbox::ServedSocket;

use crate::ports::TerminalPort;

/// What a socket of the box is for.
enum Purpose {
    Proxy,
    Terminal(TerminalPort),
    Questions,
}

/// The sockets of a box that runs.
pub(crate) struct BoxSockets {
    proxy: Arc<Proxy>,
    way_out: ProxySockets,
    terminals: Vec<(TcpListener, TerminalPort)>,
    /// Those that the box has not made yet.
    expected: VecDeque<(ServedSocket, Purpose)>,
}

impl BoxSockets {
    /// For the proxy, and for these ports of terminals. Of two that have the same port, the first is taken.
    pub(crate) fn new(proxy: Arc<Proxy>, terminals: Vec<TerminalPort>) -> Self {
        let way_out = ProxySockets::new(Arc::clone(&proxy));
        let own = way_out.connections_at().into_iter();
        let own = own.map(|at| (ServedSocket::Connections(at), Purpose::Proxy));
        let mut expected: VecDeque<(ServedSocket, Purpose)> = own.collect();
        for terminal in terminals {
            let socket = ServedSocket::Connections(terminal.address());
            if !expected.iter().any(|(other, _)| *other == socket) {
                expected.push_back((socket, Purpose::Terminal(terminal)));
            }
        }
        let questions = way_out.questions_at().map(ServedSocket::Datagrams);
        expected.extend(questions.map(|socket| (socket, Purpose::Questions)));
        Self { proxy, way_out, terminals: Vec::new(), expected }
    }

    /// The sockets that the box is to make.
    pub(crate) fn wanted(&self) -> Vec<ServedSocket> {
        self.expected.iter().map(|(socket, _)| *socket).collect()
    }

    /// Where the box is to take connections that do not go to terminals.
    pub(crate) fn own_addresses(&self) -> Vec<SocketAddr> {
        self.way_out.connections_at().into_iter().map(SocketAddr::from).collect()
    }

    /// The ports of terminals that the box is to have from the start.
    pub(crate) fn wanted_terminals(&self) -> Vec<TerminalPort> {
        let terminal = |(_, purpose): &(ServedSocket, Purpose)| match purpose {
            Purpose::Terminal(terminal) => Some(terminal.clone()),
            Purpose::Proxy | Purpose::Questions => None,
        };
        self.expected.iter().filter_map(terminal).collect()
    }

    /// The box made the next of the wanted sockets.
    pub(crate) fn opened(&mut self, socket: OwnedFd) -> io::Result<()> {
        match self.expected.pop_front() {
            Some((_, Purpose::Proxy)) => self.way_out.add_listener(socket.into()),
            Some((_, Purpose::Terminal(terminal))) => self.add_terminal(socket.into(), terminal),
            Some((_, Purpose::Questions)) => self.way_out.add_questions(UdpSocket::from(socket)),
            None => Ok(()),
        }
    }

    /// Takes connections to one more port of a terminal.
    pub(crate) fn add_terminal(
        &mut self,
        listener: TcpListener,
        to: TerminalPort,
    ) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.terminals.push((listener, to));
        Ok(())
    }

    /// Takes no more connections to a port of a terminal.
    pub(crate) fn remove_terminal(&mut self, terminal: &TerminalPort) {
        self.terminals.retain(|(_, one)| one != terminal);
    }

    /// The sockets, while another connection can be taken.
    pub(crate) fn listening(&self) -> Vec<BorrowedFd<'_>> {
        let mut all = self.way_out.listening();
        if self.proxy.has_room_for_local() {
            all.extend(self.terminals.iter().map(|(listener, _)| listener.as_fd()));
        }
        all
    }

    /// Takes the connections that wait, as many as there is room for.
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

    /// Ends every connection; what the command did with each host.
    pub(crate) fn end(&self) -> Vec<HostTraffic> {
        self.proxy.end()
    }
}
