//! Brings up `lo` in a new network namespace, so that programs in the box can connect to each other, and makes the
//! sockets there that the server listens on.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrV4, SocketFlags, SocketType};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;

/// `RTM_NEWLINK` with `IFF_UP` for the interface of index 1, which `lo` is in every namespace.
const UP: [u8; 32] = {
    let mut message = [0; 32];
    message[0] = 32; // nlmsg_len
    message[4] = 16; // nlmsg_type: RTM_NEWLINK
    message[6] = 1 | 4; // nlmsg_flags: NLM_F_REQUEST | NLM_F_ACK
    message[20] = 1; // ifi_index
    message[24] = 1; // ifi_flags: IFF_UP
    message[28] = 1; // ifi_change: IFF_UP
    message
};

/// Brings `lo` up.
pub(crate) fn bring_up() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::sendto(&socket, &UP, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 64];
    let (_, length) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    // The answer is a header of 16 bytes and a negated errno.
    let errno = answer.get(16..20).and_then(|four| four.first_chunk()).filter(|_| length >= 20);
    match errno.map(|four| i32::from_le_bytes(*four)) {
        Some(0) => Ok(()),
        Some(errno) => Err(io::Error::from_raw_os_error(-errno)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// An unconnected TCP socket in the network of this process.
pub(crate) fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// A socket that listens on an address of `lo`.
pub(crate) fn listen(address: SocketAddrV4) -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::INET)?;
    listen_on(&socket, address)?;
    Ok(socket)
}

/// Lets a socket listen on an address of the `lo` of its own network.
pub(crate) fn listen_on(socket: &OwnedFd, address: SocketAddrV4) -> io::Result<()> {
    // So that a program in the box can use the port right afterwards.
    rustix::net::sockopt::set_socket_reuseaddr(socket, true)?;
    rustix::net::bind(socket, &address)?;
    Ok(rustix::net::listen(socket, BACKLOG)?)
}

/// A socket that gets datagrams at an address of `lo`.
pub(crate) fn datagrams(address: SocketAddrV4) -> io::Result<OwnedFd> {
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}
