//! The network, and the only code that dials: requests for web pages, and the proxy of a box.
//!
//! A name is looked up once, every address that it has is checked, and exactly those addresses are dialled. This
//! crate does not know callers or which hosts they may reach: the gate decides that for each request, redirect and
//! connection. It does not make the sockets of a box: they are handed in.

#![allow(clippy::disallowed_methods, reason = "the crate that looks names up and dials")]

mod address;
mod dial;
mod fetch;
mod page;
mod proxy;
mod proxy_sockets;
mod target;

pub use address::refusal;
pub use fetch::{Follow, Method, Net, Resolve, WebRequest, WebResponse};
pub use page::{Page, PageFormat};
pub use proxy::{
    Access, ConnectionPolicy, ConnectionVerdict, HostTraffic, PROXY_PORT, Proxy, ProxyConfig, relay,
};
pub use proxy_sockets::ProxySockets;
pub use target::Target;
