//! Unix sockets in the data folder, by which other processes of the same user connect to a running terminal. They are
//! bound and connected through the handle of the folder, because its path may be too long for the address of a socket.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use yard_core::Result;

use crate::folders::{names_in, open_in_data, rename_new, unusable};

/// The folder of the sockets of ports, in the data folder.
pub const PORT_SOCKETS: &str = "ports";
/// The folder of the sockets of terminals, in the data folder.
pub const TERMINAL_SOCKETS: &str = "terminals";
/// The prefix of the name of a socket that does not listen yet.
const UNBOUND_PREFIX: &str = "new-";
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;

/// The sockets of one workspace for one purpose. A clone shares their folder.
#[derive(Clone, Debug)]
pub struct Sockets(Arc<OwnedFd>);

/// A listening socket. Its name is removed when this is dropped.
pub struct Bound {
    /// The socket.
    pub listener: UnixListener,
    sockets: Sockets,
    name: String,
}

impl Bound {
    /// Ends every wait for a connection with an error.
    pub fn close(&self) {
        // It may be closed already.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.sockets.remove(&self.name);
    }
}

impl Sockets {
    /// Opens (or makes) a folder of sockets.
    pub fn open(state: &Path, folder: &str) -> Result<Self> {
        let folder = open_in_data(state, folder)?;
        Ok(Self(Arc::new(folder)))
    }

    /// As [`Sockets::open`], without making anything; `None` if no workspace was opened here.
    pub fn open_existing(state: &Path, folder: &str) -> Result<Option<Self>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::open(state.join(folder), flags, Mode::empty()) {
            Ok(folder) => Ok(Some(Self(Arc::new(folder)))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(unusable(errno)),
        }
    }

    /// Listens under a name, which must be free.
    pub fn bind(&self, name: &str) -> io::Result<Bound> {
        let socket = socket()?;
        // Another process would remove a name under which no process listens, so the socket gets its name last.
        let unbound_name = format!("{UNBOUND_PREFIX}{name}");
        rustix::net::bind(&socket, &self.address(&unbound_name)?)?;
        rustix::net::listen(&socket, BACKLOG)?;
        if let Err(errno) = rename_new(&self.0, &unbound_name, &self.0, name) {
            self.remove(&unbound_name);
            return Err(errno.into());
        }
        let listener = UnixListener::from(socket);
        let bound = Bound { listener, sockets: self.clone(), name: name.to_owned() };
        bound.listener.set_nonblocking(true)?;
        Ok(bound)
    }

    /// Connects to the process that listens under a name; reads and writes time out after `time`. A name that a crash
    /// left is removed.
    pub fn connect(&self, name: &str, time: Duration) -> io::Result<UnixStream> {
        let socket = UnixStream::from(socket()?);
        socket.set_read_timeout(Some(time))?;
        socket.set_write_timeout(Some(time))?;
        match rustix::net::connect(&socket, &self.address(name)?) {
            Ok(()) => Ok(socket),
            Err(errno) => {
                if errno == Errno::CONNREFUSED {
                    self.remove(name);
                }
                Err(errno.into())
            }
        }
    }

    /// Every name.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = names_in(&self.0)?;
        names.retain(|name| !name.starts_with(UNBOUND_PREFIX));
        names.sort_unstable();
        Ok(names)
    }

    fn address(&self, name: &str) -> io::Result<SocketAddrUnix> {
        Ok(SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))?)
    }

    fn remove(&self, name: &str) {
        // The name may be removed already.
        let _ = rustix::fs::unlinkat(&self.0, name, AtFlags::empty());
    }
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_there_for_as_long_as_it_is_listened_to() {
        let state = tempfile::tempdir().unwrap();
        let deep = state.path().join("d".repeat(200));
        let sockets = Sockets::open(&deep, PORT_SOCKETS).unwrap();
        let bound = sockets.bind("one").unwrap();
        assert_eq!(sockets.names().unwrap(), ["one"]);
        sockets.connect("one", Duration::from_secs(9)).unwrap();
        bound.listener.accept().unwrap();
        assert!(sockets.bind("one").is_err());
        drop(bound);
        assert_eq!(sockets.names().unwrap(), Vec::<String>::new());
        assert!(sockets.connect("one", Duration::from_secs(9)).is_err());
    }

    #[test]
    fn closing_ends_the_wait_for_a_connection() {
        let state = tempfile::tempdir().unwrap();
        let sockets = Sockets::open(state.path(), TERMINAL_SOCKETS).unwrap();
        let bound = Arc::new(sockets.bind("one").unwrap());
        bound.listener.set_nonblocking(false).unwrap();
        let waiting = Arc::clone(&bound);
        let waiting = std::thread::spawn(move || waiting.listener.accept().is_err());
        bound.close();
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn a_name_that_a_crash_left_is_removed_by_the_next_connect() {
        let state = tempfile::tempdir().unwrap();
        let sockets = Sockets::open(state.path(), PORT_SOCKETS).unwrap();
        let socket = socket().unwrap();
        rustix::net::bind(&socket, &sockets.address("left").unwrap()).unwrap();
        drop(socket);
        assert_eq!(sockets.names().unwrap(), ["left"]);
        assert!(sockets.connect("left", Duration::from_secs(9)).is_err());
        assert_eq!(sockets.names().unwrap(), Vec::<String>::new());
    }
}
