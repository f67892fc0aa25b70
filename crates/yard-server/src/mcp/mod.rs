//! The MCP server: the tools of the catalog over both revisions of the protocol, on stdio and over HTTP. No other module
//! knows the SDK. It decides nothing: the gate decides what a caller may do, the catalog what a tool is.
//!
//! `service.rs` has the methods of the protocol; `call.rs` one call of one tool; `callers.rs` in whose name it
//! is made.

mod address;
mod call;
mod callers;
mod completion;
mod elicitation;
mod extension;
mod hosts;
mod invalid_message;
mod local;
mod message_notices;
mod prompts;
mod remote;
mod resources;
mod result;
mod server;
mod service;
mod stdio;
mod streamable;
mod text;
mod tools;
mod transcript_writer;
mod watcher;

pub use extension::{ExtensionReply, McpExtension};
pub use local::{LocalCallers, LocalRoot, ResolveLinks};
/// The SDK whose types [`McpExtension`] uses, in the version that the server is built with.
pub use rmcp;
pub use server::McpServer;
pub use stdio::serve as serve_stdio;

pub(crate) use remote::McpCaller;
pub(crate) use streamable::Streamable;
