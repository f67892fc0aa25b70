//! Reads the host that a TLS client names in its first message (the ClientHello). Nothing is decrypted: the host
//! itself still has to prove to the client who it is.

use std::io;

use rustls::server::Acceptor;

/// Bytes of the first message that are read.
pub(super) const MAX_BYTES: usize = 32 << 10;

/// The fatal alert `access_denied`, for a client whose host may not be reached.
pub(super) const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];
/// The fatal alert `internal_error`, for a client whose host does not answer.
pub(super) const INTERNAL_ERROR: [u8; 7] = [21, 3, 3, 0, 2, 2, 80];

/// The first message of a client, as it arrives.
#[derive(Default)]
pub(super) struct ClientHello {
    acceptor: Acceptor,
    bytes: Vec<u8>,
}

impl ClientHello {
    /// Adds bytes, and returns the name of the host once the message is complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> io::Result<Option<String>> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        self.bytes.extend(bytes);
        if self.bytes.len() > MAX_BYTES {
            return Err(invalid());
        }
        while !bytes.is_empty() {
            if self.acceptor.read_tls(&mut bytes)? == 0 {
                break;
            }
        }
        let Some(accepted) = self.acceptor.accept().map_err(|_| invalid())? else {
            return Ok(None);
        };
        let name = accepted.client_hello().server_name().map(str::to_owned);
        name.map(Some).ok_or_else(invalid)
    }

    /// All bytes that were added.
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
            let mut hello = ClientHello::default();
            let mut name = None;
            for chunk in bytes.chunks(size) {
                assert_eq!(name, None, "not before all of it came");
                name = hello.push(chunk).unwrap();
            }
            assert_eq!(name.as_deref(), Some("files.example"));
            assert_eq!(hello.into_bytes(), bytes);
        }
    }

    #[test]
    fn what_names_no_host_is_refused() {
        let mut hello = ClientHello::default();
        assert!(hello.push(&hello_to("192.0.2.1")).is_err(), "an address is no name");
        assert!(ClientHello::default().push(b"GET / HTTP/1.1\r\n\r\n").is_err());
        assert!(ClientHello::default().push(b"SSH-2.0-OpenSSH_9.6\r\n").is_err());
        let mut long = ClientHello::default();
        let record = [&[22, 3, 1, 0x40, 0][..], &[0; 0x4000]].concat();
        let taken: io::Result<Vec<_>> = (0..4).map(|_| long.push(&record)).collect();
        assert!(taken.is_err(), "it is bounded");
    }
}
