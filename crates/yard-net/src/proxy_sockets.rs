//! The sockets of a box's proxy: they were made in the box's network and handed to the server. No thread waits on
//! them: the thread that watches the command accepts connections, and the proxy serves each on a thread of its own.
//! DNS queries are answered here. This module does not know which hosts may be reached.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use crate::proxy::{Destination, Proxy, dns};

/// The port for DNS queries, in the box.
const DNS_PORT: u16 = 53;
/// DNS queries that are answered in a row, before connections are accepted.
const MAX_QUERIES: usize = 64;

/// The proxy of a box that runs, with the sockets that it listens on.
pub struct ProxySockets {
    proxy: Arc<Proxy>,
    listeners: Vec<(TcpListener, Destination)>,
    /// Gets the DNS queries of programs.
    dns: Option<UdpSocket>,
    /// The destinations whose sockets were not handed in yet.
    expected: VecDeque<Destination>,
}

impl ProxySockets {
    /// The sockets of this proxy, none of which was handed in yet.
    pub fn new(proxy: Arc<Proxy>) -> Self {
        let expected = VecDeque::from(proxy.destinations());
        Self { proxy, listeners: Vec::new(), dns: None, expected }
    }

    /// The addresses on which the box has to listen: [`ProxySockets::add_listener`] takes their sockets in this order.
    pub fn listener_addresses(&self) -> Vec<SocketAddrV4> {
        self.expected.iter().map(Destination::address).collect()
    }

    /// The address that gets DNS queries ([`ProxySockets::add_dns_socket`]); `None` without a proxy port, because the
    /// answers lead to the proxy.
    pub fn dns_address(&self) -> Option<SocketAddrV4> {
        let mut destinations = self.listeners.iter().map(|(_, to)| to).chain(&self.expected);
        let has_proxy = destinations.any(|to| matches!(to, Destination::Requested));
        has_proxy.then_some(SocketAddrV4::new(Ipv4Addr::LOCALHOST, DNS_PORT))
    }

    /// Adds the next of the sockets that the box had to make.
    pub fn add_listener(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.listeners.extend(self.expected.pop_front().map(|to| (listener, to)));
        Ok(())
    }

    /// Adds the socket that gets DNS queries.
    pub fn add_dns_socket(&mut self, dns: UdpSocket) -> io::Result<()> {
        dns.set_nonblocking(true)?;
        self.dns = Some(dns);
        Ok(())
    }

    /// The sockets to wait on: listeners are among them only while another connection can be served.
    pub fn listening(&self) -> Vec<BorrowedFd<'_>> {
        let dns = self.dns.iter().map(|dns| dns.as_fd());
        let listeners = self.listeners.iter().filter(|_| self.proxy.has_room());
        dns.chain(listeners.map(|(listener, _)| listener.as_fd())).collect()
    }

    /// Accepts waiting connections, as many as can be served, and answers DNS queries.
    pub fn accept(&self) {
        self.answer_queries();
        for (listener, to) in &self.listeners {
            while self.proxy.has_room() {
                let Ok((client, _)) = listener.accept() else { break };
                self.proxy.serve(client, to.clone());
            }
        }
    }

    fn answer_queries(&self) {
        let Some(socket) = &self.dns else { return };
        let mut query = [0; dns::MAX_BYTES + 1];
        for _ in 0..MAX_QUERIES {
            let Ok((count, from)) = socket.recv_from(&mut query) else { break };
            if let Some(answer) = dns::answer(&query[..count]) {
                // A program that gets no answer asks again.
                let _ = socket.send_to(&answer, from);
            }
        }
    }
}
