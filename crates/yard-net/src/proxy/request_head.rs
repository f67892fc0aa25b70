//! Parses the head of a request to the proxy. The body is never read.

use crate::target::Target;

/// A request to the proxy.
pub(super) struct ProxyRequest {
    pub(super) target: Target,
    /// The first bytes to send to the host.
    pub(super) first_bytes: Vec<u8>,
    /// The first bytes to send to the client.
    pub(super) answer: &'static [u8],
}

/// Parses a request to the proxy's own port: `CONNECT host:port`, or a method with a whole address.
pub(super) fn parse_proxy_request(head: &[u8]) -> Option<ProxyRequest> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.trim_end().split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, what, version) = (words.next()?, words.next()?, words.next()?);
    if !version.starts_with("HTTP/1.") || words.next().is_some() {
        return None;
    }
    if method == "CONNECT" {
        let (_, port) = what.rsplit_once(':')?;
        port.parse::<u16>().ok()?;
        let target = Target::parse(&format!("https://{what}/")).ok()?;
        let answer = b"HTTP/1.1 200 Connection established\r\n\r\n";
        return Some(ProxyRequest { target, first_bytes: Vec::new(), answer });
    }
    let target = Target::parse(what).ok().filter(|_| what.starts_with("http://"))?;
    let address = what.strip_prefix("http://")?;
    let (address, _) = address.split_once('#').unwrap_or((address, ""));
    let (host, path) = address.split_at(address.find(['/', '?']).unwrap_or(address.len()));
    let slash = if path.starts_with('/') { "" } else { "/" };
    let is_passed_on = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !name.starts_with("proxy-")
            && !matches!(name.as_str(), "connection" | "keep-alive" | "host")
    };
    // The first request gets a `Host` line made from the address that the policy judged, in the place of the client's own
    // one. Later bytes of the connection are relayed as they are, as those of a tunnel are.
    let mut first = format!("{method} {slash}{path} {version}\r\nHost: {host}\r\n");
    let lines: Vec<&str> = lines.filter(is_passed_on).collect();
    lines.iter().for_each(|line| first.push_str(&format!("{line}\r\n")));
    // A web socket begins with a request that asks to upgrade the connection.
    let is_upgrade = |line: &&str| line.to_ascii_lowercase().starts_with("upgrade:");
    let connection = if lines.iter().any(is_upgrade) { "Upgrade" } else { "close" };
    first.push_str(&format!("Connection: {connection}\r\n\r\n"));
    Some(ProxyRequest { target, first_bytes: first.into_bytes(), answer: b"" })
}

/// Parses a request to port 80 of a host: a method with a path, and a `Host` line.
pub(super) fn parse_origin_request(head: &[u8]) -> Option<ProxyRequest> {
    let head = std::str::from_utf8(head).ok()?;
    let (first, lines) = head.split_once("\r\n")?;
    let mut words = first.splitn(3, ' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
    };
    let mut hosts = lines.split("\r\n").filter_map(value);
    let (host, another) = (hosts.next()?, hosts.next());
    if !path.starts_with('/') || host.contains(['/', '@', '?', '#']) || another.is_some() {
        return None;
    }
    let whole = format!("{method} http://{host}{path} {version}\r\n{lines}");
    parse_proxy_request(whole.as_bytes()).filter(|request| request.target.port() == 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_a_web_socket_keeps_its_upgrade() {
        let head =
            "GET http://b.example/x HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        let request = parse_proxy_request(head.as_bytes()).unwrap();
        let first = String::from_utf8(request.first_bytes).unwrap();
        let expected = "GET /x HTTP/1.1\r\nHost: b.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
        assert_eq!(first, expected);
    }

    #[test]
    fn a_request_to_port_80_is_for_the_host_that_it_names() {
        let read = |head: &str| parse_origin_request(head.as_bytes());
        let request = read("GET /x?y HTTP/1.1\r\nAccept: */*\r\nHost: b.example\r\n\r\n").unwrap();
        assert_eq!(request.target.host_port(), "b.example:80");
        let first = String::from_utf8(request.first_bytes).unwrap();
        assert_eq!(
            first,
            "GET /x?y HTTP/1.1\r\nHost: b.example\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        for odd in [
            "GET /x HTTP/1.1\r\n\r\n",
            "GET /x HTTP/1.1\r\nHost: a.example:22\r\n\r\n",
            "GET /x HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
            "GET /x HTTP/1.1\r\nHost: a.example/@b.example\r\n\r\n",
            "GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "CONNECT b.example:80 HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "SSH-2.0-OpenSSH_9.6\r\n\r\n",
        ] {
            assert!(read(odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn a6_what_a_client_asks_for_is_read() {
        let read =
            |head: &str| parse_proxy_request(head.as_bytes()).map(|read| read.target.host_port());
        assert_eq!(
            read("CONNECT a.example:443 HTTP/1.1\r\n\r\n").as_deref(),
            Some("a.example:443")
        );
        assert_eq!(
            read("GET http://b.example/x HTTP/1.1\r\n\r\n").as_deref(),
            Some("b.example:80")
        );
        for odd in [
            "GET /x HTTP/1.1\r\n\r\n",
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT user@a.example:443 HTTP/1.1\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\n\r\n",
            "GET http://a.example/ HTTP/1.1 x\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert_eq!(read(odd), None, "{odd}");
        }
        for (address, line) in [
            ("http://b.example", "GET / HTTP/1.1"),
            ("http://b.example?u=a/b", "GET /?u=a/b HTTP/1.1"),
            ("http://b.example/x?y=/z#part", "GET /x?y=/z HTTP/1.1"),
        ] {
            let head = format!("GET {address} HTTP/1.1\r\n\r\n");
            let request = parse_proxy_request(head.as_bytes()).unwrap();
            let first = String::from_utf8(request.first_bytes).unwrap();
            let expected = format!("{line}\r\nHost: b.example\r\nConnection: close\r\n\r\n");
            assert_eq!(first, expected);
        }
        let head = "GET http://b.example:81/x?y HTTP/1.1\r\nHost: b.example:81\r\nProxy-Authorization: s\r\n\
                    Connection: keep-alive\r\n\r\n";
        let request = parse_proxy_request(head.as_bytes()).unwrap();
        let first = String::from_utf8(request.first_bytes).unwrap();
        assert_eq!(first, "GET /x?y HTTP/1.1\r\nHost: b.example:81\r\nConnection: close\r\n\r\n");
    }
}
