//! HTTP over the gate: one table of routes (`routes.rs`), from which the router, the OpenAPI document and the
//! tests' list of routes are made. `answer.rs` is the one way of every request, MCP's included.

mod all_events;
mod answer;
mod app;
mod approvals;
mod auth;
mod body;
mod chats;
mod content;
mod cookie;
mod decide;
mod event_stream;
mod events;
mod examples;
mod files;
mod guard;
mod health;
mod html;
mod idempotency;
mod inbox;
mod keys;
mod mcp;
mod members;
mod openapi;
mod page;
mod paging;
mod policy;
mod problem;
mod questions;
mod reply;
mod request;
mod response;
mod route;
mod route_table;
mod routes;
mod schema_table;
mod steps;
mod stream;
mod terminals;
mod tools;
mod trusted_proxies;
mod waiting;
mod web;
mod welcome;
mod word;
mod workspaces;

pub use answer::REQUEST_SPAN;
pub use app::{App, ContinueTrace, ServerSettings};
pub use examples::format_json;
pub use openapi::document;
pub use route::{Route, RouteAccess};
pub use routes::routes;
pub use trusted_proxies::ProxyNetwork;

pub(crate) use answer::{respond, table};
pub(crate) use route_table::RouteTable;
