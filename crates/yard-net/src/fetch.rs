//! Requests to the web (A4). A name is looked up once, every address that it has is checked, and
//! exactly those are dialled; each redirect is a new request that is checked again. Whatever a server does,
//! a request is bounded in time, bytes and redirects.
//!
//! This module does not know callers or which hosts they may reach: the gate decides that for the request and for
//! each redirect.

use std::fmt;
use std::io::{self, Read as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ureq::http::{self, HeaderMap};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::{Connector as _, RustlsConnector};
use yard_core::{Call, Fault, FaultCode, Remedy, Result};

use crate::address::refusal;
use crate::dial::{CheckedConnector, Deadline, Meter, NoResolver, run_with_deadline};
use crate::target::Target;

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 10;
/// Bytes of a response's status line and headers.
const HEADER_BYTES: usize = 64 << 10;
/// Bytes of a body, unpacked, that are read.
const BODY_BYTES: u64 = 8 << 20;
/// Bytes that may arrive over the connection for a body, so that a body which unpacks to nothing ends as well.
const LINE_BYTES: u64 = BODY_BYTES + (1 << 20);
const AGENT: &str = concat!("toolyard/", env!("CARGO_PKG_VERSION"));
const ACCEPT: &str = "text/html, text/markdown, text/plain, application/json, */*;q=0.5";
/// Headers that belong to the connection, and that no caller may set.
const CONNECTION_HEADERS: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Headers of a caller that a redirect to another origin keeps: any other may be a secret.
const CROSS_ORIGIN_HEADERS: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];

/// Looks names up.
pub trait Resolve: Send + Sync {
    /// Every address of a host.
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

struct System;

impl Resolve for System {
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok((host, port).to_socket_addrs()?.collect())
    }
}

yard_core::spelled_enum! {
    /// The method of a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Method {
        /// Reads a page.
        Get = "GET",
        /// Sends a body, which may change something.
        Post = "POST",
    }
}

/// One request to the web.
#[derive(Clone, Debug)]
pub struct WebRequest {
    /// The address.
    pub target: Target,
    /// The method.
    pub method: Method,
    /// The caller's headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// How long all of it may take, with redirects.
    pub wall: Duration,
}

/// The response of a web server.
#[derive(Clone, Debug)]
pub struct WebResponse {
    /// The address after all redirects.
    pub target: Target,
    /// How many redirects were followed.
    pub redirects: usize,
    /// The target of a redirect that was not followed.
    pub left: Option<Target>,
    /// The status.
    pub status: u16,
    /// The headers with names in lower case, in the order of the response.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// The body is longer than what was read.
    pub is_cut: bool,
}

impl WebResponse {
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Whether a redirect is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// The redirect is followed.
    Yes,
    /// The redirect itself is the response.
    No,
}

/// Access to the web. A clone shares the resolver.
#[derive(Clone)]
pub struct Net {
    resolver: Arc<dyn Resolve>,
    /// Hosts and ports whose addresses are not checked, because the operator exempted them.
    exempt: Vec<(String, u16)>,
    /// Certificate authorities (DER) that are trusted instead of the usual ones.
    authorities: Option<Vec<Vec<u8>>>,
}

impl Default for Net {
    fn default() -> Self {
        Self { resolver: Arc::new(System), exempt: Vec::new(), authorities: None }
    }
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net").field("exempt", &self.exempt).finish_non_exhaustive()
    }
}

impl Net {
    /// The same with another resolver.
    #[must_use]
    pub fn resolving_by(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    /// The same, trusting these certificate authorities (DER) and no others.
    #[must_use]
    pub fn trusting(self, authorities: Vec<Vec<u8>>) -> Self {
        Self { authorities: Some(authorities), ..self }
    }

    /// The same, with this `host:port` exempt from the check of addresses. The error says what is wrong with it.
    pub fn exempting(mut self, pair: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("{pair:?}: expected host:port, as 127.0.0.1:8888");
        let port = pair.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let port: u16 = port.filter(|port| *port > 0).ok_or_else(wrong)?;
        if pair.contains(['/', '?', '#', '@']) {
            return Err(wrong());
        }
        let target = Target::parse(&format!("http://{pair}/")).map_err(|_| wrong())?;
        self.exempt.push((target.host().to_owned(), port));
        Ok(self)
    }

    /// The exempt targets whose host names this machine's loopback device.
    pub(crate) fn on_loopback(&self) -> impl Iterator<Item = Target> {
        let local =
            self.exempt.iter().filter(|(host, _)| host == "127.0.0.1" || host == "localhost");
        local.filter_map(|(host, port)| Target::parse(&format!("http://{host}:{port}/")).ok())
    }

    fn is_exempt(&self, target: &Target) -> bool {
        let wanted = (target.host(), target.port());
        self.exempt.iter().any(|(host, port)| (host.as_str(), *port) == wanted)
    }

    /// Refuses a target that names an address that is not public, or this machine. Nothing is looked up, because a
    /// DNS query would reveal the name.
    pub fn check_named(&self, target: &Target) -> Result<()> {
        if self.is_exempt(target) {
            return Ok(());
        }
        if let Some((address, why)) =
            target.literal().and_then(|at| refusal(at.ip()).map(|why| (at.ip(), why)))
        {
            return Err(refused_fault(target, address, why));
        }
        let host = target.host().trim_end_matches('.');
        if host == "localhost" || host.ends_with(".localhost") {
            let loopback = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
            let why = refusal(loopback).unwrap_or("this machine");
            return Err(refused_fault(target, loopback, why));
        }
        Ok(())
    }

    /// Sends a request. `follow` decides about each redirect.
    pub fn fetch(
        &self,
        request: WebRequest,
        call: &Call,
        follow: &mut dyn FnMut(&Target) -> Result<Follow>,
    ) -> Result<WebResponse> {
        let deadline = Deadline::new(call, request.wall);
        let mut request = request;
        check_headers(&request.headers)?;
        for redirects in 0..=MAX_REDIRECTS {
            let mut response = self.send_once(&request, &deadline)?;
            response.redirects = redirects;
            let Some(next) = redirect_target(&response)? else { return Ok(response) };
            if follow(&next)? == Follow::No {
                response.left = Some(next);
                return Ok(response);
            }
            request = redirected_request(request, next, response.status);
        }
        let message = format!(
            "{} leads elsewhere more than {MAX_REDIRECTS} times in a row; the last address was {}",
            request.target.host_port(),
            request.target.as_str()
        );
        Err(Fault::new(FaultCode::TooLarge, message))
    }

    /// One request, without redirects.
    fn send_once(&self, request: &WebRequest, deadline: &Deadline) -> Result<WebResponse> {
        let addresses = self.addresses(&request.target, deadline)?;
        let meter = Meter::new(LINE_BYTES);
        let connector =
            CheckedConnector { addresses, deadline: deadline.clone(), meter: Arc::clone(&meter) };
        let connector = connector.chain(RustlsConnector::default());
        let agent = ureq::Agent::with_parts(self.config(), connector, NoResolver);
        let to_fault = |error: &(dyn std::error::Error + 'static)| {
            deadline.check().err().unwrap_or_else(|| failed(&request.target, error, &meter))
        };
        let response = send(&agent, request).map_err(|error| to_fault(&error))?;
        let status = response.status().as_u16();
        let headers = headers_of(response.headers());
        let (body, is_cut) = read(response.into_body()).map_err(|error| to_fault(&error))?;
        let (target, left) = (request.target.clone(), None);
        Ok(WebResponse { target, redirects: 0, left, status, headers, body, is_cut })
    }

    fn config(&self) -> ureq::config::Config {
        let roots = match &self.authorities {
            None => RootCerts::WebPki,
            Some(own) => {
                let own = own.iter().map(|der| Certificate::from_der(der).to_owned());
                RootCerts::new_with_certs(&own.collect::<Vec<_>>())
            }
        };
        ureq::config::Config::builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .max_response_header_size(HEADER_BYTES)
            .max_idle_connections(0)
            .user_agent(AGENT)
            .accept(ACCEPT)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build()
    }

    /// The addresses of a target: looked up once, every one of them checked.
    pub(crate) fn addresses(
        &self,
        target: &Target,
        deadline: &Deadline,
    ) -> Result<Vec<SocketAddr>> {
        let found = match target.literal() {
            Some(address) => vec![address],
            None => self.look_up(target, deadline)?,
        };
        if self.is_exempt(target) {
            return Ok(found);
        }
        // A single address that is not public among others is an attack, not a load balancer.
        let refused =
            found.iter().find_map(|found| refusal(found.ip()).map(|why| (found.ip(), why)));
        match refused {
            None => Ok(found),
            Some((address, why)) => Err(refused_fault(target, address, why)),
        }
    }

    fn look_up(&self, target: &Target, deadline: &Deadline) -> Result<Vec<SocketAddr>> {
        let (resolver, host, port) =
            (Arc::clone(&self.resolver), target.host().to_owned(), target.port());
        let thread = thread::Builder::new().name("toolyard-lookup".to_owned());
        match run_with_deadline(thread, deadline, move || resolver.resolve(&host, port))? {
            Some(Ok(found)) if !found.is_empty() => Ok(found),
            Some(outcome) => {
                let why = outcome.err().map(|error| format!(": {error}")).unwrap_or_default();
                let message = format!("there is no host {}{why}. Check the address", target.host());
                Err(Fault::new(FaultCode::NotFound, message))
            }
            None => {
                let message = format!("{} cannot be looked up", target.host());
                Err(Fault::new(FaultCode::Io, message))
            }
        }
    }
}

fn refused_fault(target: &Target, address: std::net::IpAddr, why: &str) -> Fault {
    let is = match target.literal() {
        Some(_) => format!("{address} is {why}"),
        None => format!("{} is at {address}, {why}", target.host()),
    };
    let message = format!(
        "{is}, which the web tools and commands do not reach; the operator can exempt it as {:?}",
        target.host_port()
    );
    Fault::new(FaultCode::Denied, message).with_remedy(Remedy::ExemptAddress)
}

/// Refuses headers that a caller may not set.
fn check_headers(headers: &[(String, String)]) -> Result<()> {
    for (name, value) in headers {
        let bad =
            |why: &str| Err(Fault::new(FaultCode::BadArgument, format!("header {name:?}: {why}")));
        if CONNECTION_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            return bad("it belongs to the connection and is set for you; leave it out");
        }
        if http::HeaderName::try_from(name.as_str()).is_err() {
            return bad("this is no name of a header");
        }
        if http::HeaderValue::try_from(value.as_str()).is_err() {
            return bad("its value holds what no header can, such as a line end");
        }
    }
    Ok(())
}

fn send(
    agent: &ureq::Agent,
    request: &WebRequest,
) -> std::result::Result<http::Response<ureq::Body>, ureq::Error> {
    let mut built =
        http::Request::builder().method(request.method.word()).uri(request.target.as_str());
    for (name, value) in &request.headers {
        built = built.header(name, value);
    }
    match (&request.body, request.method) {
        (None, Method::Get) => agent.run(built.body(())?),
        (body, _) => agent.run(built.body(body.as_deref().unwrap_or_default())?),
    }
}

fn headers_of(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

/// Reads a body up to the limit; the flag says whether it is longer.
fn read(body: ureq::Body) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    let reader = body.into_with_config().limit(u64::MAX).reader();
    reader.take(BODY_BYTES + 1).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() as u64 > BODY_BYTES;
    bytes.truncate(usize::try_from(BODY_BYTES).unwrap_or(usize::MAX));
    Ok((bytes, is_cut))
}

/// The target of a redirect, if the response is one.
fn redirect_target(response: &WebResponse) -> Result<Option<Target>> {
    let is_redirect = matches!(response.status, 301 | 302 | 303 | 307 | 308);
    match response.header("location").filter(|_| is_redirect) {
        None => Ok(None),
        Some(location) => response.target.join(location).map(Some).map_err(|fault| {
            let from = response.target.host_port();
            Fault::new(
                FaultCode::Denied,
                format!("{from} leads to a place that is refused: {fault}"),
            )
        }),
    }
}

/// The request that a redirect asks for, as browsers make it.
fn redirected_request(request: WebRequest, next: Target, status: u16) -> WebRequest {
    let mut next = WebRequest { target: next, ..request.clone() };
    if status == 303 || matches!(status, 301 | 302) && request.method == Method::Post {
        next.method = Method::Get;
        next.body = None;
        next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    }
    if !request.target.is_same_origin(&next.target) {
        next.headers
            .retain(|(name, _)| CROSS_ORIGIN_HEADERS.contains(&name.to_ascii_lowercase().as_str()));
    }
    next
}

/// The fault for a response that did not arrive.
fn failed(target: &Target, error: &(dyn std::error::Error + 'static), meter: &Meter) -> Fault {
    let place = target.host_port();
    if meter.is_full() {
        let message = format!(
            "{place} sent more than {LINE_BYTES} bytes and not the end of its answer; it was let go"
        );
        return Fault::new(FaultCode::TooLarge, message);
    }
    let message = format!("{place} did not answer as a web server does: {}", reason(error));
    Fault::new(FaultCode::Io, message)
}

/// The innermost message of an error: those around it only say that there is an error.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(inner) = error.source() {
        error = inner;
    }
    error.to_string()
}
