//! The MCP door: the catalog's tools over both revisions of the protocol, on stdio and over HTTP. The only
//! module that knows the SDK. It decides nothing: who may do what is the gate's to say, what a tool is the
//! catalog's.
//!
//! `service.rs` is what can be asked, method by method; `call.rs` one call of one tool; `seat.rs` who
//! asks.

mod address;
mod asked;
mod call;
mod completion;
mod door;
mod local;
mod prompts;
mod resources;
mod result;
mod seat;
mod service;
mod stdio;
mod text;
mod tools;
mod watching;

pub use door::Door as McpDoor;
pub use local::{Local, Root};
pub use stdio::serve as serve_stdio;
