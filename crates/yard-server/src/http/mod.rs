//! REST over the gate: one table of routes (`routes.rs`), from which the table that finds them, the OpenAPI document
//! and the tests' list of everything that can be asked are made. `answer.rs` is the one way that every
//! request takes: checked, known, let in, done, told.

mod answer;
mod app;
mod approvals;
mod ask;
mod auth;
mod body;
mod chats;
mod content;
mod cookie;
mod decide;
mod events;
mod examples;
mod fields;
mod files;
mod forwarded;
mod guard;
mod health;
mod html;
mod idempotency;
mod keys;
mod mcp;
mod members;
mod metrics;
mod openapi;
mod operation;
mod page;
mod paging;
mod policy;
mod problem;
mod questions;
mod reply;
mod route;
mod routes;
mod steps;
mod stream;
mod table;
mod terminals;
mod tools;
mod waiting;
mod welcome;
mod workspaces;

pub use answer::REQUEST_SPAN;
pub use app::{App, ContinueTrace, Settings};
pub use examples::laid_out;
pub use forwarded::{Network, NotANetwork};
pub use openapi::document;
pub use route::{Access, Route};
pub use routes::routes;

pub(crate) use answer::{respond, table};
pub(crate) use table::Table;
