//! The log of this process: lines on standard error, by target and level. What is logged is decided where
//! it happens; here only where it goes and how it reads.

use std::io::IsTerminal as _;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};
use yard_core::FaultCode;

use crate::config::{self, Config, Log, LogFormat};
use crate::failure::Failure;
use crate::log_writer::Writer;
use crate::telemetry::Exporter;

/// What turns a command's log on.
const ASKED: &str = "TOOLYARD__LOG__LEVEL";

/// Starts the log and, where there is an exporter, the traces. What waits is written out when what is
/// returned is dropped.
pub(crate) fn start(log: &Log, exporter: Option<&Exporter>) -> Result<Writer, Failure> {
    let filter: Targets = log.level.parse().map_err(|error| {
        let message = format!("configuration: log.level: {error}");
        Failure::misuse(FaultCode::BadArgument, message)
            .hinting("say error, warn, info, debug or trace, or by target: info,session=debug")
    })?;
    let on_terminal = std::io::stderr().is_terminal();
    let json = log.format.map_or(!on_terminal, |format| format == LogFormat::Json);
    let writer = Writer::to(std::io::stderr())
        .map_err(|error| Failure::io("the log cannot be written", &error))?;
    let layer = fmt::layer().with_writer(writer.lines()).with_ansi(on_terminal && !json);
    let layer = if json { layer.json().with_current_span(false).boxed() } else { layer.boxed() };
    let traces = exporter.map(Exporter::layer);
    // A second server in one process logs with the first one's settings.
    let _ = tracing_subscriber::registry().with(traces).with(layer.with_filter(filter)).try_init();
    Ok(writer)
}

/// Starts the log of a command, which says nothing unless the environment asks for it.
pub(crate) fn start_if_asked() -> Result<Option<Writer>, Failure> {
    if !config::variables().any(|(name, _)| name == ASKED) {
        return Ok(None);
    }
    let variables = config::variables().filter(|(name, _)| name.starts_with("TOOLYARD__LOG__"));
    start(&Config::read(None, variables)?.log, None).map(Some)
}
