//! Passes open files between processes over a socket, as the server does to its helper before the task. A handle
//! stays open on the same file, whatever happens to the path that it was opened by.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The byte that a file is sent with; its value has no meaning.
const CARRIER: u8 = b'H';

/// Sends one open file.
pub fn send(to: &UnixStream, file: BorrowedFd<'_>) -> io::Result<()> {
    send_with(to, &[CARRIER], file)
}

/// Receives the next file. No other bytes are read.
pub fn receive(from: &UnixStream) -> io::Result<OwnedFd> {
    receive_with(from, &mut [0])?.1.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Sends bytes together with an open file.
pub(crate) fn send_with(to: &UnixStream, bytes: &[u8], file: BorrowedFd<'_>) -> io::Result<()> {
    let files = [file];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = sendmsg(to, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Receives the next bytes, and a file that came with them; returns how many bytes there are.
pub(crate) fn receive_with(
    from: &UnixStream,
    bytes: &mut [u8],
) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let into = &mut [IoSliceMut::new(bytes)];
    let count = recvmsg(from, into, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    let file = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    Ok((count, file))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test makes its own folder")]
    fn a_handle_arrives_before_the_bytes_and_names_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let sent = File::open(folder.path()).unwrap();
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        send(&ours, sent.as_fd()).unwrap();
        ours.write_all(b"bytes").unwrap();
        let got = receive(&theirs).unwrap();
        let inode = |fd: &dyn std::os::fd::AsFd| rustix::fs::fstat(fd.as_fd()).unwrap().st_ino;
        assert_eq!(inode(&got), inode(&sent));
        let mut rest = [0; 5];
        theirs.read_exact(&mut rest).unwrap();
        assert_eq!(&rest, b"bytes");
        drop(ours);
        assert!(receive(&theirs).is_err(), "nothing more comes");
    }
}
