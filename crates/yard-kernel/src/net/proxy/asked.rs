//! What a client of the proxy asks for: the first lines of its request, and nothing after them.

use crate::net::Target;

/// What a client asked for.
pub(super) struct Asked {
    pub(super) target: Target,
    /// What goes to the host before anything else.
    pub(super) first: Vec<u8>,
    /// What the client hears before anything else.
    pub(super) answer: &'static [u8],
}

/// Reads the first lines: `CONNECT host:port`, or a method with a whole address.
pub(super) fn asked(head: &[u8]) -> Option<Asked> {
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
        return Some(Asked { target, first: Vec::new(), answer });
    }
    let target = Target::parse(what).ok().filter(|_| what.starts_with("http://"))?;
    let place = what.strip_prefix("http://")?;
    let path = place.find('/').map_or("/", |at| &place[at..]);
    let is_passed_on = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !name.starts_with("proxy-")
            && !matches!(name.as_str(), "connection" | "keep-alive" | "host")
    };
    // What was judged is what the host is asked for.
    let host = place.split('/').next().unwrap_or_default();
    let mut first = format!("{method} {path} {version}\r\nHost: {host}\r\n");
    lines.filter(is_passed_on).for_each(|line| first.push_str(&format!("{line}\r\n")));
    first.push_str("Connection: close\r\n\r\n");
    Some(Asked { target, first: first.into_bytes(), answer: b"" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_what_a_client_asks_for_is_read() {
        let read = |head: &str| asked(head.as_bytes()).map(|asked| asked.target.place());
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
        let head = "GET http://b.example:81/x?y HTTP/1.1\r\nHost: b.example:81\r\nProxy-Authorization: s\r\n\
                    Connection: keep-alive\r\n\r\n";
        let first = String::from_utf8(asked(head.as_bytes()).unwrap().first).unwrap();
        assert_eq!(first, "GET /x?y HTTP/1.1\r\nHost: b.example:81\r\nConnection: close\r\n\r\n");
    }
}
