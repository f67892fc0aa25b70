//! The log of this process: lines on standard error, by target and level. What is logged is decided where
//! it happens; here only where it goes and how it reads.

use std::io::IsTerminal as _;

use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, fmt, registry};
use yard_core::FaultCode;
use yard_gate::{CALL_SPAN, LOG_TARGET};
use yard_server::REQUEST_SPAN;

use crate::config::{self, Config, Log, LogFormat};
use crate::failure::Failure;
use crate::log_lines::{JsonLine, JsonMembers, Words};
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
    let writer = Writer::to(std::io::stderr())
        .map_err(|error| Failure::io("the log cannot be written", &error))?;
    let is_told = filter_fn(is_told).with_max_level_hint(LevelFilter::TRACE);
    // A second server in one process logs with the first one's settings.
    let _ = match exporter.map(Exporter::layer) {
        Some(traces) => {
            let layer = lines(log, &writer).with_filter(filter.and(is_told));
            registry().with(traces).with(layer).try_init()
        }
        // Where nothing is exported, what is not told is not even made.
        None => registry().with(filter).with(is_told).with(lines(log, &writer)).try_init(),
    };
    Ok(writer)
}

/// What makes lines: for people on a terminal, as JSON elsewhere.
fn lines<S>(log: &Log, writer: &Writer) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let on_terminal = std::io::stderr().is_terminal();
    let json = log.format.map_or(!on_terminal, |format| format == LogFormat::Json);
    let layer = fmt::layer().with_writer(writer.lines()).with_ansi(on_terminal && !json);
    match json {
        true => layer.event_format(JsonLine).fmt_fields(JsonMembers).boxed(),
        false => layer.fmt_fields(Words::default()).boxed(),
    }
}

/// Lines say everything that the spans of requests and calls do, which are for traces.
fn is_told(about: &Metadata<'_>) -> bool {
    let is_traced =
        about.target() == LOG_TARGET && [REQUEST_SPAN, CALL_SPAN].contains(&about.name());
    about.is_event() || !is_traced
}

/// Starts the log of a command, which says nothing unless the environment asks for it.
pub(crate) fn start_if_asked() -> Result<Option<Writer>, Failure> {
    if !config::variables().any(|(name, _)| name == ASKED) {
        return Ok(None);
    }
    let variables = config::variables().filter(|(name, _)| name.starts_with("TOOLYARD__LOG__"));
    start(&Config::read(None, variables)?.log, None).map(Some)
}
