//! Health and metrics of the server.

use schemars::JsonSchema;
use serde::Serialize;

use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// The server is ready.
#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    /// `ok`.
    status: &'static str,
    /// The program's version.
    version: &'static str,
    /// How much holds commands here: `full`, `walls`, `refuse` (none runs), or `unconfined`.
    commands: &'static str,
    /// How people log in: with a `password`, or with the `code` that `toolyard ui` prints.
    login: &'static str,
}

pub(super) fn health(request: &HttpRequest) -> Result<Reply, Problem> {
    let settings = &request.app.settings;
    let login = if settings.is_local { "code" } else { "password" };
    let (version, commands) = (env!("CARGO_PKG_VERSION"), settings.commands.word());
    Reply::ok(&Health { status: "ok", version, commands, login })
}

pub(super) fn metrics(request: &HttpRequest) -> Result<Reply, Problem> {
    if !request.peer.is_loopback() && !request.app.settings.public_metrics {
        return Err(Problem::forbidden(
            "metrics are for this machine; its operator can open them (server.public_metrics)",
        ));
    }
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(Reply::text(media, request.app.metrics.text()))
}
