//! The way out to the web, and the only code that dials: requests for pages, and the proxy of a box.
//!
//! A name is looked up once, every address that it has is checked, and exactly those are dialled. Nothing here
//! knows who is asking or which hosts they may reach: the gate decides that for each request, redirect and
//! connection. Nothing here makes the sockets of a box: they are handed in.

#![allow(clippy::disallowed_methods, reason = "the crate that looks names up and dials")]

mod address;
mod dial;
mod fetch;
mod page;
mod proxy;
mod target;
mod way_out;

pub use address::refusal;
pub use fetch::{Follow, Method, Net, Request, Resolve, Response};
pub use page::{Page, Shape};
pub use proxy::{
    Access, ConnectionPolicy, ConnectionVerdict, HostTraffic, PROXY_PORT, Proxy, Reach, relay,
};
pub use target::Target;
pub use way_out::WayOut;
