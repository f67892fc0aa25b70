//! Ports that programs in terminals listen on. A terminal's box has a network of its own, so that its ports cannot be reached
//! from outside. The process that runs the terminal listens on a socket in the data folder, and hands out connections that it
//! makes in that network.
//!
//! A request is two bytes: a port to connect to, or 0 for the list of ports. The answer to the latter is a line of ports and
//! the terminal's description; the answer to the former is an open file. Every process that may use the data folder may send
//! requests; no box shows that folder.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use yard_core::{ChatId, Result, RunId};
use yard_disk::{Bound, PORT_SOCKETS, Sockets};
use yard_sandbox::{receive_file, send_file};

/// How long either side waits for the other. A connection in the box may take 5 seconds to be made.
const TIME: Duration = Duration::from_secs(8);
/// How long a list is waited for.
const LIST_TIME: Duration = Duration::from_secs(2);
/// The request for the list.
const LIST: [u8; 2] = [0, 0];
/// The longest list, with what the terminal is.
const MAX_LIST_BYTES: u64 = 64 << 10;
/// Ports of one terminal that are listed.
pub(crate) const MAX_PORTS: usize = 32;

/// A port that a program in a terminal listens on.
#[derive(Clone, Debug)]
pub struct TerminalPort {
    /// The chat that the terminal belongs to.
    pub chat: ChatId,
    /// The terminal.
    pub run: RunId,
    /// The description that its opener stored with the terminal.
    pub note: Vec<u8>,
    /// The port, of the box's loopback device.
    pub port: u16,
    sockets: Sockets,
}

impl PartialEq for TerminalPort {
    fn eq(&self, other: &Self) -> bool {
        (self.run, self.port) == (other.run, other.port)
    }
}

impl Eq for TerminalPort {}

/// The ports of several terminals.
#[derive(Debug, Default)]
pub struct PortList {
    /// The ports of those that answered.
    pub ports: Vec<TerminalPort>,
    /// Running terminals that did not answer in time, so that their ports are not known.
    pub silent: Vec<RunId>,
}

impl TerminalPort {
    /// Its address in the boxes of other terminals.
    pub(crate) fn address(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port)
    }

    /// A new connection to the program that listens.
    pub fn connect(&self) -> io::Result<TcpStream> {
        let mut stream = self.sockets.connect(&name(self.chat, self.run), TIME)?;
        stream.write_all(&self.port.to_be_bytes())?;
        Ok(TcpStream::from(receive_file(&stream)?))
    }
}

/// The ports of every terminal of a workspace that runs, by the folder of its data.
pub fn terminal_ports(state: &Path) -> Result<PortList> {
    let sockets = Sockets::open_existing(state, PORT_SOCKETS)?;
    Ok(sockets.map(|sockets| listed(&sockets, |_| true)).unwrap_or_default())
}

/// The ports of terminals of a chat that run.
pub(crate) fn of_chat(sockets: &Sockets, chat: ChatId) -> PortList {
    listed(sockets, |of| of == chat)
}

fn listed(sockets: &Sockets, which: impl Fn(ChatId) -> bool) -> PortList {
    let mut all = PortList::default();
    // Without the folder there are none.
    for name in sockets.names().unwrap_or_default() {
        let Some((chat, run)) = parsed(&name).filter(|(chat, _)| which(*chat)) else { continue };
        let (ports, note) = match request_list(sockets, &name) {
            Ok(answer) => answer,
            // The terminal has ended, in a crash if the socket still exists.
            Err(error) if is_gone(&error) => continue,
            Err(_) => {
                all.silent.push(run);
                continue;
            }
        };
        all.ports.extend(ports.into_iter().map(|port| {
            let (note, sockets) = (note.clone(), sockets.clone());
            TerminalPort { chat, run, note, port, sockets }
        }));
    }
    all
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

fn request_list(sockets: &Sockets, name: &str) -> io::Result<(Vec<u16>, Vec<u8>)> {
    let mut stream = sockets.connect(name, LIST_TIME)?;
    stream.write_all(&LIST)?;
    let mut list = Vec::new();
    stream.take(MAX_LIST_BYTES).read_to_end(&mut list)?;
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let end = list.iter().position(|byte| *byte == b'\n').ok_or_else(invalid)?;
    let ports = std::str::from_utf8(&list[..end]).map_err(|_| invalid())?;
    let ports = ports.split_ascii_whitespace().map(|port| port.parse().map_err(|_| invalid()));
    Ok((ports.collect::<io::Result<_>>()?, list[end + 1..].to_vec()))
}

/// The ports of a terminal, in the process that runs it.
pub(crate) trait PortSource {
    /// The ports that programs in the box listen on, in order.
    fn ports(&self) -> Vec<u16>;
    /// A new connection to one of them.
    fn connect(&self, port: u16) -> io::Result<TcpStream>;
    /// The description of the terminal.
    fn note(&self) -> &[u8];
}

/// Listens for requests for the ports of a terminal.
pub(crate) fn listen(sockets: &Sockets, chat: ChatId, run: RunId) -> io::Result<Bound> {
    sockets.bind(&name(chat, run))
}

/// Answers one request.
pub(crate) fn answer(mut stream: UnixStream, source: &dyn PortSource) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(TIME))?;
    stream.set_write_timeout(Some(TIME))?;
    let mut request = [0; 2];
    stream.read_exact(&mut request)?;
    if request != LIST {
        let connection = source.connect(u16::from_be_bytes(request))?;
        return send_file(&stream, connection.as_fd());
    }
    let ports: Vec<String> = source.ports().iter().take(MAX_PORTS).map(u16::to_string).collect();
    stream.write_all(ports.join(" ").as_bytes())?;
    stream.write_all(b"\n")?;
    stream.write_all(source.note())?;
    stream.shutdown(Shutdown::Write)
}

fn name(chat: ChatId, run: RunId) -> String {
    format!("{chat}.{run}")
}

fn parsed(name: &str) -> Option<(ChatId, RunId)> {
    let (chat, run) = name.split_once('.')?;
    Some((chat.parse().ok()?, run.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    struct Server(TcpListener);

    #[allow(
        clippy::disallowed_methods,
        reason = "a server of the test stands for a program in a box"
    )]
    impl PortSource for Server {
        fn ports(&self) -> Vec<u16> {
            vec![5_173, 8_000]
        }

        fn connect(&self, port: u16) -> io::Result<TcpStream> {
            match port {
                5_173 => TcpStream::connect(self.0.local_addr()?),
                _ => Err(io::ErrorKind::ConnectionRefused.into()),
            }
        }

        fn note(&self) -> &[u8] {
            b"{\"name\":\"dev\"}"
        }
    }

    #[test]
    #[allow(
        clippy::disallowed_methods,
        reason = "a server of the test stands for a program in a box"
    )]
    fn ports_are_listed_and_connected_to_over_the_socket_of_their_terminal() {
        let state = tempfile::tempdir().unwrap();
        let sockets = Sockets::open(state.path(), PORT_SOCKETS).unwrap();
        let (chat, other) = (ChatId::from_bytes([1; 16]), ChatId::from_bytes([2; 16]));
        let bound = listen(&sockets, chat, RunId::from_bytes([7; 16])).unwrap();
        let server = Server(TcpListener::bind("127.0.0.1:0").unwrap());
        let answering = thread::spawn(move || {
            for _ in 0..3 {
                let stream = loop {
                    match bound.listener.accept() {
                        Ok((stream, _)) => break stream,
                        Err(_) => thread::yield_now(),
                    }
                };
                let _ = answer(stream, &server);
            }
            let (mut client, _) = server.0.accept().unwrap();
            client.write_all(b"hello").unwrap();
        });
        let ports = of_chat(&sockets, chat).ports;
        assert_eq!(ports.iter().map(|port| port.port).collect::<Vec<_>>(), [5_173, 8_000]);
        assert_eq!(ports[0].note, b"{\"name\":\"dev\"}");
        assert!(of_chat(&sockets, other).ports.is_empty());
        assert!(ports[1].connect().is_err(), "nobody listens there");
        let mut text = String::new();
        ports[0].connect().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
        answering.join().unwrap();
        assert!(
            terminal_ports(state.path()).unwrap().ports.is_empty(),
            "the socket goes with its terminal"
        );
    }
}
