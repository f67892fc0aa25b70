//! The log of this process: lines on standard error, by target and level. Other crates decide what they log; this
//! module decides which lines are shown, how they look and how they reach standard error.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Metadata, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::field::{RecordFields, VisitOutput as _};
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets, filter_fn};
use tracing_subscriber::fmt::format::{DefaultVisitor, JsonVisitor, Writer};
use tracing_subscriber::fmt::{FormatFields, FormattedFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, fmt as lines, registry};
use yard_core::FaultCode;
use yard_gate::{CALL_SPAN, LOG_TARGET};
use yard_server::REQUEST_SPAN;

use crate::config::{self, Config, Log, LogFormat};
use crate::failure::Failure;
use crate::telemetry::Exporter;

/// The variable that turns on the log of a command.
const LEVEL_VARIABLE: &str = "TOOLYARD__LOG__LEVEL";
/// How many lines may wait for the writer thread. More are dropped and counted.
const MAX_WAITING_LINES: usize = 8_192;
/// Fields whose names begin so are for traces only.
const TRACE_FIELDS: &str = "otel.";

/// Keeps the thread that writes the log. Dropping it writes what still waits, and how many lines were dropped.
pub(crate) struct LogGuard {
    _writer_thread: WorkerGuard,
    dropped: ErrorCounter,
}

impl LogGuard {
    /// Starts the thread that writes lines to standard error, so that no request waits for their reader.
    fn start() -> (NonBlocking, Self) {
        let builder = NonBlockingBuilder::default().buffered_lines_limit(MAX_WAITING_LINES);
        let (writer, guard) = builder.lossy(true).thread_name("log").finish(io::stderr());
        let dropped = writer.error_counter();
        (writer, Self { _writer_thread: guard, dropped })
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        let count = self.dropped.dropped_lines();
        if count > 0 {
            let _ =
                writeln!(io::stderr(), "{count} lines of the log were lost: it is read too slowly");
        }
    }
}

/// Starts the log and, where there is an exporter, the traces.
pub(crate) fn start(log: &Log, exporter: Option<&Exporter>) -> Result<LogGuard, Failure> {
    let levels: Targets = log.level.parse().map_err(|error| {
        let message = format!("configuration: log.level: {error}");
        Failure::misuse(FaultCode::BadArgument, message)
            .with_hint("say error, warn, info, debug or trace, or by target: info,session=debug")
    })?;
    // The line of a call says everything that the span of the call does, so the span is for traces only.
    let is_no_call_span = filter_fn(|about| !is_span(about, CALL_SPAN));
    // The span of a request gives each line its `request_id`, whatever the level of the span's target is.
    let is_request_span = filter_fn(|about| is_span(about, REQUEST_SPAN));
    let shown = levels
        .and(is_no_call_span.with_max_level_hint(LevelFilter::TRACE))
        .or(is_request_span.with_max_level_hint(LevelFilter::ERROR));
    let (writer, guard) = LogGuard::start();
    let layer = line_layer(log.format, writer).with_filter(shown);
    // A second server in one process logs with the settings of the first one.
    let _ = registry().with(exporter.map(Exporter::layer)).with(layer).try_init();
    Ok(guard)
}

/// Starts the log of a command. It is silent unless the environment asks for a log.
pub(crate) fn start_if_asked() -> Result<Option<LogGuard>, Failure> {
    if !config::variables().any(|(name, _)| name == LEVEL_VARIABLE) {
        return Ok(None);
    }
    let variables = config::variables().filter(|(name, _)| name.starts_with("TOOLYARD__LOG__"));
    start(&Config::read(None, variables)?.log, None).map(Some)
}

fn is_span(about: &Metadata<'_>, name: &str) -> bool {
    about.is_span() && about.target() == LOG_TARGET && about.name() == name
}

/// Formats lines: as text for people on a terminal, as JSON elsewhere, unless the configuration says which.
fn line_layer<S>(format: Option<LogFormat>, writer: NonBlocking) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let on_terminal = io::stderr().is_terminal();
    let default = if on_terminal { LogFormat::Text } else { LogFormat::Json };
    let format = format.unwrap_or(default);
    let layer = lines::layer().with_writer(writer);
    match format {
        LogFormat::Json => {
            let layer = layer.json().with_current_span(true).with_span_list(false);
            layer.fmt_fields(LineFields(format)).boxed()
        }
        LogFormat::Text => layer.fmt_fields(LineFields(format)).with_ansi(on_terminal).boxed(),
    }
}

/// Formats the fields of a span or an event, without those that are for traces only.
struct LineFields(LogFormat);

impl<'writer> FormatFields<'writer> for LineFields {
    fn format_fields<R: RecordFields>(&self, mut to: Writer<'writer>, fields: R) -> fmt::Result {
        match self.0 {
            LogFormat::Json => {
                let mut visitor = JsonVisitor::new(&mut to);
                fields.record(&mut LogFields(&mut visitor));
                visitor.finish()
            }
            LogFormat::Text => {
                let mut visitor = DefaultVisitor::new(to, true);
                fields.record(&mut LogFields(&mut visitor));
                visitor.finish()
            }
        }
    }

    fn add_fields(
        &self,
        _: &'writer mut FormattedFields<Self>,
        _: &tracing::span::Record<'_>,
    ) -> fmt::Result {
        // A line has the fields that its span began with. What is recorded later is for traces.
        Ok(())
    }
}

/// Passes on all fields but those that are for traces only.
struct LogFields<'a>(&'a mut dyn Visit);

impl LogFields<'_> {
    fn pass_on(&mut self, field: &Field, record: impl FnOnce(&mut dyn Visit)) {
        if !field.name().starts_with(TRACE_FIELDS) {
            record(self.0);
        }
    }
}

impl Visit for LogFields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.pass_on(field, |to| to.record_debug(field, value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.pass_on(field, |to| to.record_str(field, value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.pass_on(field, |to| to.record_bool(field, value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.pass_on(field, |to| to.record_i64(field, value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.pass_on(field, |to| to.record_u64(field, value));
    }
}
