//! Refuses requests that a page of another site may have made a browser send, also under a name that was
//! rebound to this server's address: Host, Origin and Content-Type are checked on every route, before the
//! caller is authorized.

use std::net::IpAddr;

use http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method, Uri};

use super::app::ServerSettings;
use super::problem::Problem;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses a request for a foreign host, or from a page of a foreign origin.
pub(crate) fn check(
    settings: &ServerSettings,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let host = host_of(uri, headers)?;
    if !is_our_host(settings, host) {
        return Err(Problem::forbidden(
            "this server is not known under the name in the Host header; ask for it by address, as \
             localhost, or add the name to server.hosts in its configuration",
        ));
    }
    match headers.get(ORIGIN).map(|origin| origin.to_str()) {
        None => Ok(()),
        Some(Ok(origin)) if is_our_origin(settings, origin, host) => Ok(()),
        Some(_) => Err(Problem::forbidden(
            "pages of another origin may not call this server; its operator can allow one with \
             server.origins in the configuration",
        )),
    }
}

/// The address that the request used, which `check` has accepted.
pub(crate) fn address(
    settings: &ServerSettings,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<String, Problem> {
    // Secure cookies mean that browsers reach the server over TLS.
    let scheme = if settings.secure_cookies { "https" } else { "http" };
    Ok(format!("{scheme}://{}", host_of(uri, headers)?.to_ascii_lowercase()))
}

/// Refuses a write that a cookie authorizes if a page of another site may have sent it. Browsers send the site of the
/// page; a program without that header has only cookies that it was given on purpose.
pub(crate) fn check_cookie_write(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let reads = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let site = headers.get(FETCH_SITE).and_then(|site| site.to_str().ok());
    match site {
        _ if reads => Ok(()),
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(Problem::forbidden(
            "a change by cookie must come from this server's own pages; send the token in the \
             Authorization header instead",
        )),
    }
}

/// Refuses a body whose Content-Type is not JSON: a form of another site cannot set it.
pub(crate) fn check_json(headers: &HeaderMap) -> Result<(), Problem> {
    check_media(headers, "application/json", "send the body as JSON")
}

/// Refuses a body that is not the form of a page.
pub(crate) fn check_form(headers: &HeaderMap) -> Result<(), Problem> {
    check_media(headers, "application/x-www-form-urlencoded", "this is for the form of the page")
}

fn check_media(headers: &HeaderMap, wanted: &str, what: &str) -> Result<(), Problem> {
    let media = headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    let is_wanted = || {
        let essence = media.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case(wanted)
    };
    if media == wanted || is_wanted() {
        return Ok(());
    }
    let message = format!("{what}, with the header Content-Type: {wanted}");
    Err(Problem::new(415, "UNSUPPORTED_MEDIA_TYPE", message))
}

/// The host and port that the request names.
fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    let host = uri.authority().map(|authority| authority.as_str()).or(host);
    match host {
        Some(host) if hosts.next().is_none() && !host.is_empty() => Ok(host),
        _ => Err(Problem::new(400, "VALIDATION_ERROR", "send one Host header")),
    }
}

/// Whether a host is a loopback name, a name that the operator allowed, or an address. A name can be rebound to another
/// address; an address cannot.
fn is_our_host(settings: &ServerSettings, host: &str) -> bool {
    let name = without_port(host);
    let is_port = |rest: &str| {
        rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let rest = &host[name.len()..];
    if !rest.is_empty() && !is_port(rest) {
        return false;
    }
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok()
        || settings.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
}

fn without_port(host: &str) -> &str {
    let name_end =
        if host.starts_with('[') { host.find(']').map(|at| at + 1) } else { host.find(':') };
    name_end.map_or(host, |end| &host[..end])
}

/// Whether an origin is that of this host, or one that the operator allowed.
fn is_our_origin(settings: &ServerSettings, origin: &str, host: &str) -> bool {
    let origin = origin.to_ascii_lowercase();
    let own = origin.split_once("://").is_some_and(|(scheme, rest)| {
        matches!(scheme, "http" | "https") && rest.eq_ignore_ascii_case(host)
    });
    own || settings.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(&origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_headers(settings: &ServerSettings, pairs: &[(&str, &str)]) -> Result<(), u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        check(settings, &Uri::from_static("/x"), &headers).map_err(|problem| problem.status)
    }

    #[test]
    fn hosts_that_can_be_rebound_are_refused() {
        let settings =
            ServerSettings { hosts: vec!["yard.example".to_owned()], ..ServerSettings::default() };
        for host in
            ["localhost", "LOCALHOST:3000", "127.0.0.1:3000", "[::1]:3000", "yard.example:1"]
        {
            assert_eq!(check_headers(&settings, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:3000",
            "127.0.0.1.evil.example",
            "localhost:80@evil.example",
            "[::1]@evil.example",
            "",
        ] {
            assert!(check_headers(&settings, &[("host", host)]).is_err(), "{host}");
        }
        assert_eq!(check_headers(&settings, &[]), Err(400));
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(check_headers(&settings, &two), Err(400));
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        let allowed = "https://app.example".to_owned();
        let settings = ServerSettings { origins: vec![allowed], ..ServerSettings::default() };
        let from =
            |origin| check_headers(&settings, &[("host", "localhost:3000"), ("origin", origin)]);
        assert_eq!(from("http://localhost:3000"), Ok(()));
        assert_eq!(from("https://app.example"), Ok(()));
        for other in ["http://evil.example", "null", "http://localhost:3001", "http://localhost"] {
            assert_eq!(from(other), Err(403), "{other}");
        }
    }

    #[test]
    fn a_cookie_changes_nothing_for_another_site() {
        let judged = |method: Method, site: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(site) = site {
                headers.insert(FETCH_SITE, site.parse().unwrap());
            }
            check_cookie_write(&method, &headers).is_ok()
        };
        assert!(judged(Method::POST, None) && judged(Method::POST, Some("same-origin")));
        assert!(
            !judged(Method::POST, Some("cross-site")) && !judged(Method::PUT, Some("same-site"))
        );
        assert!(judged(Method::GET, Some("cross-site")));
    }
}
