//! The servers: HTTP and MCP, over the same catalog and the same gate.
//!
//! `http` serves REST, events and the documents that describe them. A handler turns a request into one
//! question to the gate and the answer into JSON; it opens no file, decides nothing about who may do
//! what (the route table says which role a route needs, the gate whether the caller has it) and reads
//! neither clock nor environment.

mod body_memory;
pub mod http;
mod listen;
pub mod mcp;
mod metrics;
mod pool;
mod request_id;
mod waiting;

pub use http::{App, ContinueTrace, InvalidNetwork, ProxyNetwork, REQUEST_SPAN, ServerSettings};
pub use listen::{BoundServer, serve};
