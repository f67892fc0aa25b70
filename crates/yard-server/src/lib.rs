//! The servers: HTTP and MCP, over the same catalog and the same gate.
//!
//! `http` serves REST, events and the documents that describe them. A handler makes at most one change through the gate, and
//! converts the result into JSON. It opens no file, reads neither clock nor environment, and checks no rights: the route table says
//! which role a route needs, and the gate whether the caller has it.

mod body_memory;
pub mod http;
mod listen;
pub mod mcp;
mod messages;
mod metrics;
mod pool;
mod request_id;
mod waiting;

pub use http::{
    App, BoxReport, ContinueTrace, Doctor, PageFiles, ProxyNetwork, REQUEST_SPAN, ServerSettings,
};
pub use listen::{BoundServer, serve};
