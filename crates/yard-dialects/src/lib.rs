//! The dialects: tool names and argument shapes that models already speak.
//!
//! A tool is a type with its arguments, its reply and one function ([`Tool`]); the [`Catalog`] holds
//! them by toolset, and everything that people and models see of a tool (schemas, definitions for
//! each vendor, documentation) is derived from those types and their doc comments. A dialect turns
//! its arguments into operations, hands them to the gate, and says the outcome in its own words.
//!
//! Nothing here opens a file, starts a process or knows a wire.

mod across_roots;
pub mod args;
pub mod assistant;
mod caller_hints;
mod catalog;
pub mod coder;
pub mod codex;
mod commands;
mod context;
mod defaults;
mod definitions;
mod dialect;
pub mod docs;
pub mod envelope;
pub mod file;
pub mod filesystem;
pub mod form;
mod hidden_programs;
mod history;
mod json;
mod limit_messages;
mod matches;
mod nearest;
mod pages;
mod paging;
mod patches;
mod path_style;
mod patterns;
mod relative;
mod schema;
mod standard;
mod stop;
mod synonyms;
mod terminals;
mod tool;
pub mod workspace;

pub use args::Fields;
pub use caller_hints::{CALLER_HINTS, with_remedy_in_words};
pub use catalog::{CHANGED_BY_PERSON, CallOutcome, Catalog, REFUSED_BY_PERSON, refused_in_words};
pub use context::Context;
pub use definitions::Format;
pub use dialect::{Answer, Dialect, failure_message};
pub use json::Json;
pub use path_style::PathStyle;
pub use stop::Stop;
pub use tool::{AnyTool, CallTraits, Calling, ErasedReply, Hints, Tool, Work};
