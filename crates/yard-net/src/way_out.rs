//! The sockets by which connections of a box come: they were made in the box's network and handed in. No thread
//! waits on them: the thread that watches the command accepts, and the proxy serves each connection. Questions for
//! names are answered here. Which hosts may be reached is not known here.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use crate::proxy::{Destination, Proxy, names};

/// Where names are asked for, in the box.
const NAMES_PORT: u16 = 53;
/// Questions for names that are answered at a time, before anything else is looked at.
const MOST_QUESTIONS: usize = 64;

/// The way out of a box that runs: its proxy, and the sockets that connections come by.
pub struct WayOut {
    proxy: Arc<Proxy>,
    listeners: Vec<(TcpListener, Destination)>,
    /// By which programs ask for names.
    questions: Option<UdpSocket>,
    /// Those whose sockets were not handed in yet.
    expected: VecDeque<Destination>,
}

impl WayOut {
    /// To the hosts of the proxy's reach.
    pub fn new(proxy: Arc<Proxy>) -> Self {
        let expected = VecDeque::from(proxy.destinations());
        Self { proxy, listeners: Vec::new(), questions: None, expected }
    }

    /// Where the box is to listen for connections: [`WayOut::add_listener`] takes those sockets in this order.
    pub fn connections_at(&self) -> Vec<SocketAddrV4> {
        self.expected.iter().map(Destination::address).collect()
    }

    /// Where the box is to take questions for names ([`WayOut::add_questions`]): they are answered where there
    /// is a proxy to reach the names by.
    pub fn questions_at(&self) -> Option<SocketAddrV4> {
        let mut destinations = self.listeners.iter().map(|(_, to)| to).chain(&self.expected);
        let has_proxy = destinations.any(|to| matches!(to, Destination::AsAsked));
        has_proxy.then_some(SocketAddrV4::new(Ipv4Addr::LOCALHOST, NAMES_PORT))
    }

    /// Takes connections by the next of the sockets that the box was to make.
    pub fn add_listener(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.listeners.extend(self.expected.pop_front().map(|to| (listener, to)));
        Ok(())
    }

    /// Takes questions for names by this socket.
    pub fn add_questions(&mut self, questions: UdpSocket) -> io::Result<()> {
        questions.set_nonblocking(true)?;
        self.questions = Some(questions);
        Ok(())
    }

    /// The sockets, while another connection can be taken.
    pub fn listening(&self) -> Vec<BorrowedFd<'_>> {
        let questions = self.questions.iter().map(|questions| questions.as_fd());
        let listeners = self.listeners.iter().filter(|_| self.proxy.has_room());
        questions.chain(listeners.map(|(listener, _)| listener.as_fd())).collect()
    }

    /// Takes the connections that wait, as many as there is room for, and answers questions for names.
    pub fn accept(&self) {
        self.answer_questions();
        for (listener, to) in &self.listeners {
            while self.proxy.has_room() {
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
