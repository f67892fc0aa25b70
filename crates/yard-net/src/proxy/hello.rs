//! Which host the client of a TLS connection means: the name in its first message. Nothing is decrypted, and
//! whoever answers proves to the client that it is that host.

use std::io;

use rustls::server::Acceptor;

/// Bytes of the first message that are read.
pub(super) const MOST_BYTES: usize = 32 << 10;

/// What is told to a client whose host may not be reached: a fatal alert, `access_denied`.
pub(super) const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];
/// What is told to a client whose host does not answer: a fatal alert, `internal_error`.
pub(super) const INTERNAL_ERROR: [u8; 7] = [21, 3, 3, 0, 2, 2, 80];

/// The first message of a client, piece by piece.
#[derive(Default)]
pub(super) struct Hello {
    acceptor: Acceptor,
    bytes: Vec<u8>,
}

impl Hello {
    /// Takes a piece; the name of the host, once it is there.
    pub(super) fn take(&mut self, mut piece: &[u8]) -> io::Result<Option<String>> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        self.bytes.extend(piece);
        if self.bytes.len() > MOST_BYTES {
            return Err(invalid());
        }
        while !piece.is_empty() {
            if self.acceptor.read_tls(&mut piece)? == 0 {
                break;
            }
        }
        let Some(accepted) = self.acceptor.accept().map_err(|_| invalid())? else {
            return Ok(None);
        };
        let name = accepted.client_hello().server_name().map(str::to_owned);
        name.map(Some).ok_or_else(invalid)
    }

    /// Everything that was taken.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;

    pub(in super::super) fn hello_to(host: &str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_host_is_read_from_pieces_and_every_byte_is_kept() {
        let bytes = hello_to("files.example");
        for size in [1, 7, 100, bytes.len()] {
            let mut hello = Hello::default();
            let mut name = None;
            for piece in bytes.chunks(size) {
                assert_eq!(name, None, "not before all of it came");
                name = hello.take(piece).unwrap();
            }
            assert_eq!(name.as_deref(), Some("files.example"));
            assert_eq!(hello.into_bytes(), bytes);
        }
    }

    #[test]
    fn what_names_no_host_is_refused() {
        let mut hello = Hello::default();
        assert!(hello.take(&hello_to("192.0.2.1")).is_err(), "an address is no name");
        assert!(Hello::default().take(b"GET / HTTP/1.1\r\n\r\n").is_err());
        assert!(Hello::default().take(b"SSH-2.0-OpenSSH_9.6\r\n").is_err());
        let mut long = Hello::default();
        let record = [&[22, 3, 1, 0x40, 0][..], &[0; 0x4000]].concat();
        let taken: io::Result<Vec<_>> = (0..4).map(|_| long.take(&record)).collect();
        assert!(taken.is_err(), "it is bounded");
    }
}
