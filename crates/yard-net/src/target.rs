//! The address of a request, parsed as browsers parse it.

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};
use yard_core::{Fault, FaultCode, Result};

/// Longest address that is parsed.
const MAX_BYTES: usize = 8 << 10;

/// An `http` or `https` address without a user name or password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    url: Url,
    host: String,
    port: u16,
}

impl Target {
    /// Parses an address as a caller wrote it.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_BYTES {
            return Err(bad(
                text,
                &format!("it is longer than {MAX_BYTES} bytes; send a shorter one"),
            ));
        }
        let url = Url::parse(text.trim()).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => {
                bad(text, "it has no scheme; write it as https://example.com/page")
            }
            error => bad(text, &error.to_string()),
        })?;
        Self::of(url, text)
    }

    /// The target of a redirect from here.
    pub fn join(&self, location: &str) -> Result<Self> {
        if location.len() > MAX_BYTES {
            return Err(bad(location, &format!("it is longer than {MAX_BYTES} bytes")));
        }
        let url = self.url.join(location).map_err(|error| bad(location, &error.to_string()))?;
        Self::of(url, location)
    }

    fn of(mut url: Url, text: &str) -> Result<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(
                text,
                "only http and https addresses can be fetched; send one of these",
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let why = "a name or password in an address is not sent; use an Authorization header";
            // The message must not repeat the password.
            return Err(Fault::new(FaultCode::BadArgument, format!("the address is wrong: {why}")));
        }
        url.set_fragment(None);
        let host = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => String::new(),
        };
        let port = url.port_or_known_default().unwrap_or(0);
        if host.is_empty() || port == 0 {
            return Err(bad(text, "it names no host and port"));
        }
        Ok(Self { url, host, port })
    }

    /// The whole address.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The host: lower case, without a dot at its end or brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, the default one included.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port.
    pub fn host_port(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// The address of a host that is written as an address and not as a name.
    pub(crate) fn literal(&self) -> Option<SocketAddr> {
        let address: IpAddr = self.host.parse().ok()?;
        Some(SocketAddr::new(address, self.port))
    }

    /// Whether both have the same origin, so that headers for one may be sent to the other.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.url.scheme() == other.url.scheme()
            && (&self.host, self.port) == (&other.host, other.port)
    }

    /// Whether a redirect from this target to the other one stays on the site, so that no further decision is
    /// needed: the same host with or without `www.`, the same port or both default ports, and not from `https` to
    /// `http`.
    pub fn is_trusted_redirect(&self, other: &Self) -> bool {
        let bare = |target: &Self| target.host.trim_start_matches("www.").to_owned();
        let is_default = |target: &Self| target.url.port().is_none();
        let loses_tls = self.url.scheme() == "https" && other.url.scheme() == "http";
        bare(self) == bare(other)
            && (self.port == other.port || is_default(self) && is_default(other))
            && !loses_tls
    }
}

fn bad(text: &str, why: &str) -> Fault {
    let shown: String = text.chars().take(200).collect();
    Fault::new(FaultCode::BadArgument, format!("{shown:?} cannot be fetched: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a4_hosts_are_read_as_browsers_read_them() {
        for (text, place) in [
            ("https://Example.COM/a#b", "example.com:443"),
            ("http://example.com.:8080/", "example.com:8080"),
            ("http://0x7f.1/", "127.0.0.1:80"),
            ("http://2130706433/", "127.0.0.1:80"),
            ("http://0177.0.0.1/", "127.0.0.1:80"),
            ("http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]:80"),
            ("http://[::1]:90/", "[::1]:90"),
            ("http://１２７.０.０.１/", "127.0.0.1:80"),
            ("https://bücher.example", "xn--bcher-kva.example:443"),
            ("http:example.com", "example.com:80"),
        ] {
            assert_eq!(Target::parse(text).unwrap().host_port(), place, "{text}");
        }
        assert!(Target::parse("http://[::1]/").unwrap().literal().is_some());
        assert!(Target::parse("http://localhost/").unwrap().literal().is_none());
    }

    #[test]
    fn what_is_no_address_of_the_web_is_refused() {
        for text in [
            "file:///etc/passwd",
            "ftp://a/",
            "gopher://a:70/",
            "javascript:1",
            "example.com",
            "",
            "http://",
            "https://user@a/",
            "https://u:p@a/",
            "http://a:0/",
            "http://a:99999/",
            "http://a b/",
            "data:,x",
        ] {
            assert_eq!(Target::parse(text).unwrap_err().code(), FaultCode::BadArgument, "{text}");
        }
        let secret = Target::parse("https://u:hunter2@a/").unwrap_err();
        assert!(!secret.message().contains("hunter2"), "{secret}");
    }

    #[test]
    fn a_redirect_within_the_site_needs_no_other_decision() {
        let leads = |from: &str, to: &str| {
            let from = Target::parse(from).unwrap();
            from.is_trusted_redirect(&from.join(to).unwrap())
        };
        assert!(leads("http://a.example/", "https://www.a.example/x"));
        assert!(leads("https://www.a.example/", "https://a.example/"));
        assert!(leads("http://a.example:81/", "/y"));
        assert!(!leads("https://a.example/", "http://a.example/"));
        assert!(!leads("http://a.example/", "http://a.example:81/"));
        assert!(!leads("http://a.example/", "http://b.example/"));
        assert!(!leads("http://a.example/", "//a.example.evil.example/"));
    }
}
