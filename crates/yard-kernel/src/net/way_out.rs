//! The sockets by which connections of a box come: they were made in the box's network and handed out. No thread
//! waits on them: the thread that watches the command accepts, and the proxy serves each connection. Questions for
//! names are answered here. Which hosts may be reached is not known here.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use yard_sandbox::ServedSocket;

use super::proxy::{Destination, Proxy, names};
use crate::ports::TerminalPort;

/// Where names are asked for, in the box.
const NAMES_PORT: u16 = 53;
/// Questions for names that are answered at a time, before anything else is looked at.
const MOST_QUESTIONS: usize = 64;

/// The way out of a box that runs: its proxy, and the sockets that connections come by.
pub(crate) struct WayOut {
    pub(crate) proxy: Arc<Proxy>,
    listeners: Vec<(TcpListener, Destination)>,
    /// By which programs ask for names.
    questions: Option<UdpSocket>,
    /// Those whose sockets the box has not made yet, before that of the questions.
    expected: VecDeque<Destination>,
}

impl WayOut {
    /// To the hosts of the proxy's reach, and to these ports of terminals. Of two that have the same port, the
    /// first is taken.
    pub(crate) fn new(proxy: Arc<Proxy>, terminals: Vec<TerminalPort>) -> Self {
        let mut expected = VecDeque::from(proxy.destinations());
        for terminal in terminals.into_iter().map(Destination::Terminal) {
            let is_there = |other: &Destination| other.address() == terminal.address();
            if !expected.iter().any(is_there) {
                expected.push_back(terminal);
            }
        }
        Self { proxy, listeners: Vec::new(), questions: None, expected }
    }

    /// The sockets that the box is to make. Names are answered where there is a proxy to reach them by.
    pub(crate) fn sockets(&self) -> Vec<ServedSocket> {
        let connections = self.expected.iter().map(Destination::address);
        let mut sockets: Vec<ServedSocket> = connections.map(ServedSocket::Connections).collect();
        if self.expected.iter().any(|to| matches!(to, Destination::AsAsked)) {
            let questions = SocketAddrV4::new(Ipv4Addr::LOCALHOST, NAMES_PORT);
            sockets.push(ServedSocket::Datagrams(questions));
        }
        sockets
    }

    /// Where connections are taken in the box that do not go to terminals.
    pub(crate) fn own_addresses(&self) -> Vec<SocketAddr> {
        let made = self.listeners.iter().map(|(_, to)| to);
        let own = made.chain(&self.expected).filter(|to| !matches!(to, Destination::Terminal(_)));
        own.map(|to| to.address().into()).collect()
    }

    /// The ports of terminals that are served out here.
    pub(crate) fn terminals(&self) -> Vec<TerminalPort> {
        let made = self.listeners.iter().map(|(_, to)| to);
        let terminal = |to: &Destination| match to {
            Destination::Terminal(terminal) => Some(terminal.clone()),
            _ => None,
        };
        made.chain(&self.expected).filter_map(terminal).collect()
    }

    /// The box made the next of [`WayOut::sockets`].
    pub(crate) fn opened(&mut self, socket: OwnedFd) -> io::Result<()> {
        if let Some(to) = self.expected.pop_front() {
            return self.add(TcpListener::from(socket), to);
        }
        let questions = UdpSocket::from(socket);
        questions.set_nonblocking(true)?;
        self.questions = Some(questions);
        Ok(())
    }

    /// Takes connections by one more socket.
    pub(crate) fn add(&mut self, listener: TcpListener, to: Destination) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.listeners.push((listener, to));
        Ok(())
    }

    /// Takes no more connections to a port of a terminal.
    pub(crate) fn remove(&mut self, terminal: &TerminalPort) {
        let is_it = |to: &Destination| matches!(to, Destination::Terminal(one) if one == terminal);
        self.listeners.retain(|(_, to)| !is_it(to));
    }

    /// The sockets, while another connection can be taken.
    pub(crate) fn listening(&self) -> Vec<BorrowedFd<'_>> {
        let questions = self.questions.iter().map(|questions| questions.as_fd());
        let listeners = self.listeners.iter().filter(|(_, to)| self.proxy.has_room(to));
        questions.chain(listeners.map(|(listener, _)| listener.as_fd())).collect()
    }

    /// Takes the connections that wait, as many as there is room for, and answers questions for names.
    pub(crate) fn accept(&self) {
        self.answer_questions();
        for (listener, to) in &self.listeners {
            while self.proxy.has_room(to) {
                let Ok((client, _)) = listener.accept() else { break };
                self.proxy.take(client, to.clone());
            }
        }
    }

    fn answer_questions(&self) {
        let Some(questions) = &self.questions else { return };
        let mut question = [0; names::MOST_BYTES + 1];
        for _ in 0..MOST_QUESTIONS {
            let Ok((count, from)) = questions.recv_from(&mut question) else { break };
            if let Some(answer) = names::answer(&question[..count]) {
                // Who gets no answer asks again.
                let _ = questions.send_to(&answer, from);
            }
        }
    }
}
