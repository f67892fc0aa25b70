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
mod extras;
mod hosts;
mod local;
mod prompts;
mod remote;
mod resources;
mod result;
mod scribe;
mod seat;
mod service;
mod stdio;
mod streamable;
mod text;
mod tools;
mod watching;
mod wrong;

pub use door::Door as McpDoor;
pub use extras::{Answering, Extras};
pub use local::{Local, Resolve, Root};
/// The SDK whose types [`Extras`] speak, in the version that the server is built with.
pub use rmcp;
pub use stdio::serve as serve_stdio;

pub(crate) use remote::McpCaller;
pub(crate) use streamable::Streamable;
