//! The network of a running box, as the server uses it: the ports that its programs listen on, and new sockets in it.
//! The helper makes the sockets, because it is in that network; a socket stays in the network in which it was made, so
//! that the server can connect it or listen on it.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::loopback;

/// The server sends this byte to get a socket for IPv4.
pub(crate) const SOCKET_V4: u8 = b'4';
/// The server sends this byte to get a socket for IPv6.
pub(crate) const SOCKET_V6: u8 = b'6';
/// How long the helper may take to make a socket.
const SOCKET_TIME: Duration = Duration::from_secs(20);
/// How long a program in the box may take to accept a connection.
const CONNECT_TIME: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
/// How many bytes of each of the kernel's tables are read.
const TABLE_BYTES: u64 = 1 << 20;
/// The kernel's number for a socket that listens.
const LISTENS: &str = "0A";

/// The network of one box. A clone is the same network.
#[derive(Clone, Debug)]
pub struct BoxNetwork(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The helper's folder in `/proc`. After the helper's end every lookup in it fails, even if another process has its
    /// number by then.
    process: OwnedFd,
    /// One request at a time.
    requests: Mutex<Requests>,
    /// The helper has left the machine's own network.
    is_apart: OnceLock<()>,
}

#[derive(Debug)]
struct Requests {
    /// The helper's socket, while the command is watched. It is weak, because closing the socket ends the command.
    socket: Weak<UnixStream>,
    answers: Receiver<io::Result<OwnedFd>>,
    /// An answer was late: a later answer could be the one to that request.
    is_broken: bool,
}

/// Passes on the sockets that the helper made.
pub(crate) type Answers = Sender<io::Result<OwnedFd>>;

impl BoxNetwork {
    /// The network of the box of a running helper, and the channel for its answers.
    pub(crate) fn of(helper: u32, socket: &Arc<UnixStream>) -> io::Result<(Self, Answers)> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let process = rustix::fs::open(format!("/proc/{helper}"), flags, Mode::empty())?;
        let (sender, answers) = mpsc::channel();
        let requests = Requests { socket: Arc::downgrade(socket), answers, is_broken: false };
        let requests = Mutex::new(requests);
        let shared = Shared { process, requests, is_apart: OnceLock::new() };
        Ok((Self(Arc::new(shared)), sender))
    }

    /// The addresses on which programs in the box listen, in the order of ports.
    pub fn listening(&self) -> io::Result<Vec<SocketAddr>> {
        if self.0.is_apart.get().is_none() {
            drop(self.socket(SOCKET_V4)?);
        }
        let mut all = listed(&self.table("net/tcp")?);
        all.extend(listed(&self.table("net/tcp6").unwrap_or_default()));
        all.sort_unstable_by_key(|address| (address.port(), address.ip()));
        Ok(all)
    }

    /// Connects to a program in the box.
    pub fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let candidates: &[IpAddr] = match to.ip() {
            ip if !ip.is_unspecified() => &[ip],
            IpAddr::V4(_) => &[IpAddr::V4(Ipv4Addr::LOCALHOST)],
            // If the box's loopback device has no IPv6, such a program is reached over IPv4.
            IpAddr::V6(_) => &[IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)],
        };
        let mut connected = Err(io::ErrorKind::AddrNotAvailable.into());
        for ip in candidates {
            connected = self.connect_to(SocketAddr::new(*ip, to.port()));
            if connected.is_ok() {
                break;
            }
        }
        connected
    }

    fn connect_to(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let socket = self.socket(if to.is_ipv4() { SOCKET_V4 } else { SOCKET_V6 })?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        match rustix::net::connect(&socket, &to) {
            Ok(()) => {}
            Err(Errno::INPROGRESS) => {
                let mut ready = [PollFd::new(&socket, PollFlags::OUT)];
                if poll(&mut ready, Some(&CONNECT_TIME))? == 0 {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                rustix::net::sockopt::socket_error(&socket)??;
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(TcpStream::from(socket))
    }

    /// Listens on a port of the box's loopback device, for programs in the box.
    pub fn listen(&self, port: u16) -> io::Result<TcpListener> {
        let socket = self.socket(SOCKET_V4)?;
        loopback::listen_on(&socket, SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
        Ok(TcpListener::from(socket))
    }

    /// A new socket in the box's network.
    fn socket(&self, family: u8) -> io::Result<OwnedFd> {
        let mut requests = self.0.requests.lock();
        match requests.socket.upgrade() {
            Some(socket) if !requests.is_broken => socket.as_ref().write_all(&[family])?,
            _ => return Err(io::ErrorKind::NotConnected.into()),
        }
        let Ok(answer) = requests.answers.recv_timeout(SOCKET_TIME) else {
            requests.is_broken = true;
            return Err(io::ErrorKind::NotConnected.into());
        };
        // The helper only answers once it has left the machine's network.
        let _ = self.0.is_apart.set(());
        answer
    }

    fn table(&self, name: &str) -> io::Result<String> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let table = rustix::fs::openat(self.0.process.as_fd(), name, flags, Mode::empty())?;
        let mut text = String::new();
        File::from(table).take(TABLE_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }
}

/// The addresses of listening sockets in a table of the kernel.
fn listed(table: &str) -> Vec<SocketAddr> {
    let lines = table.lines().skip(1);
    let address = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (local, state) = (fields.nth(1)?, fields.nth(1)?);
        (state == LISTENS).then(|| address(local)).flatten()
    };
    lines.filter_map(address).collect()
}

/// An address as the kernel writes it: each four bytes as a number of this machine, in hexadecimal digits.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let four = |at: usize| {
        let number = u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(number.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::from(four(0)?),
        32 => {
            let parts = [four(0)?, four(1)?, four(2)?, four(3)?];
            IpAddr::from(<[u8; 16]>::try_from(parts.concat()).ok()?)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn sockets_that_listen_are_read_from_the_kernels_table() {
        let v4 = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n\
                  \u{20}  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0\n\
                  \u{20}  1: 0100007F:1F90 0100007F:C5F2 01 00000000:00000000 00:00000000 00000000  0\n\
                  \u{20}  2: 00000000:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0\n";
        let expected: Vec<SocketAddr> =
            ["127.0.0.1:8080", "0.0.0.0:5173"].map(|text| text.parse().unwrap()).to_vec();
        assert_eq!(listed(v4), expected);
        let v6 = "  sl  local_address                         remote_address  st\n\
                  \u{20}  0: 00000000000000000000000001000000:0BB8 \
                  00000000000000000000000000000000:0000 0A 00000000:00000000\n\
                  \u{20}  1: 00000000000000000000000000000000:0050 \
                  00000000000000000000000000000000:0000 0A 00000000:00000000\n";
        let expected: Vec<SocketAddr> =
            ["[::1]:3000", "[::]:80"].map(|text| text.parse().unwrap()).to_vec();
        assert_eq!(listed(v6), expected);
        for broken in ["", "x", "\n0: 01:1\n", "\n 0: 0100007F:1F90", "\n 0: zz:zz x 0A"] {
            assert_eq!(listed(broken), []);
        }
    }
}
