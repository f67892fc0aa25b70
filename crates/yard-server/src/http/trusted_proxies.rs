//! The address of a request's client, also behind a proxy. Any client can send `X-Forwarded-For`, so that the header is
//! read only from proxies that the operator named, and only the entries that they wrote.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use http::{HeaderMap, HeaderName};

const HEADER: HeaderName = HeaderName::from_static("x-forwarded-for");

/// An address, or a range of them: `10.1.2.3`, `10.0.0.0/8`, `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyNetwork {
    base: IpAddr,
    bits: u32,
}

const EXPECTED: &str = "expected an address such as 10.1.2.3, or a range such as 10.0.0.0/8";

impl FromStr for ProxyNetwork {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base, Some(bits.parse::<u32>().map_err(|_| EXPECTED)?)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().map_err(|_| EXPECTED)?;
        let max = if base.is_ipv4() { 32 } else { 128 };
        match bits.unwrap_or(max) {
            bits if bits <= max => Ok(Self { base, bits }),
            _ => Err(EXPECTED),
        }
    }
}

impl ProxyNetwork {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let shift = 32 - self.bits;
                base.to_bits().checked_shr(shift) == address.to_bits().checked_shr(shift)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let shift = 128 - self.bits;
                base.to_bits().checked_shr(shift) == address.to_bits().checked_shr(shift)
            }
            _ => false,
        }
    }
}

/// The client: the nearest address that is not a trusted proxy's. `peer` is the address of the connection.
pub(super) fn client(proxies: &[ProxyNetwork], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let is_trusted = |address: IpAddr| proxies.iter().any(|proxy| proxy.contains(address));
    let mut client = peer;
    let sent = headers.get_all(HEADER).iter().rev();
    let mut hops = sent.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
    while is_trusted(client) {
        // A text that is no address was not written by a trusted proxy, so nothing before it counts.
        let Some(next) = hops.next().and_then(address) else { break };
        client = next;
    }
    client.to_canonical()
}

fn address(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    hop.trim_matches(['[', ']']).parse().ok().or_else(with_port)
}

/// The key by which one client is counted: its IPv4 address, or its IPv6 network of 64 bits, which one customer gets.
pub(super) fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let network = Ipv6Addr::from_bits(address.to_bits() >> 64 << 64);
            format!("{network}/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_of(proxies: &[&str], peer: &str, lines: &[&str]) -> String {
        let proxies: Vec<ProxyNetwork> = proxies.iter().map(|text| text.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(HEADER, line.parse().unwrap());
        }
        client(&proxies, peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_header_counts_only_from_trusted_proxies() {
        assert_eq!(client_of(&[], "10.0.0.1", &["1.2.3.4"]), "10.0.0.1");
        assert_eq!(client_of(&["10.0.0.0/8"], "11.0.0.1", &["1.2.3.4"]), "11.0.0.1");
        assert_eq!(client_of(&["10.0.0.0/8"], "10.9.0.1", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(client_of(&["10.0.0.0/8"], "::ffff:10.9.0.1", &["1.2.3.4"]), "1.2.3.4");
    }

    #[test]
    fn addresses_that_the_client_wrote_itself_do_not_count() {
        let trusted = ["10.0.0.0/8", "fd00::/8"];
        assert_eq!(client_of(&trusted, "10.0.0.1", &["6.6.6.6, 1.2.3.4, fd00::1"]), "1.2.3.4");
        assert_eq!(client_of(&trusted, "10.0.0.1", &["6.6.6.6", "1.2.3.4:99"]), "1.2.3.4");
        assert_eq!(client_of(&trusted, "10.0.0.1", &["6.6.6.6, nonsense"]), "10.0.0.1");
        assert_eq!(client_of(&trusted, "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(client_of(&trusted, "10.0.0.1", &["10.0.0.2, 10.0.0.3"]), "10.0.0.2");
    }

    #[test]
    fn networks_are_read_and_counted() {
        for wrong in ["", "10.0.0.0/33", "10.0.0.0/x", "fd00::/129", "host"] {
            assert_eq!(wrong.parse::<ProxyNetwork>(), Err(EXPECTED), "{wrong}");
        }
        assert_eq!(client_of(&["0.0.0.0/0"], "9.9.9.9", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(network("1.2.3.4".parse().unwrap()), "1.2.3.4");
        assert_eq!(network("2001:db8:1:2:3::4".parse().unwrap()), "2001:db8:1:2::/64");
    }
}
