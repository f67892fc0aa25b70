//! Traces for OpenTelemetry: spans of requests and calls go to a collector, as OTLP in JSON over plain HTTP. A thread
//! of its own sends them, so that no request waits for a collector. One that does not answer costs a warning a
//! minute. Without an endpoint in the configuration, this module does nothing.
//!
//! It is the only module of this crate that connects to another program, and only to the configured endpoint.

#![allow(clippy::disallowed_methods, reason = "the exporter dials and measures (invariant 2)")]

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::{HeaderMap, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;
use yard_core::FaultCode;
use yard_gate::LOG_TARGET;

use crate::config::Otel;
use crate::failure::Failure;

/// How long a collector may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last spans may take when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the log has a warning about a collector that does not answer.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// Most bytes of a collector's answer that are read.
const ANSWER_BYTES: usize = 64 << 10;

/// Sends spans to the collector.
pub(crate) struct Exporter {
    provider: SdkTracerProvider,
}

impl Exporter {
    /// The exporter that is configured, if one is.
    pub(crate) fn start(otel: &Otel) -> Result<Option<Self>, Failure> {
        let Some(endpoint) = &otel.endpoint else { return Ok(None) };
        let wrong = |error: &dyn Display| {
            let message = format!("configuration: otel.endpoint: {error}");
            Failure::misuse(FaultCode::BadArgument, message)
        };
        let collector = Collector::new().map_err(|error| wrong(&error))?;
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(collector)
            .with_protocol(Protocol::HttpJson)
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .with_timeout(ANSWER_TIMEOUT)
            .build()
            .map_err(|error| wrong(&error))?;
        let resource = Resource::builder_empty().with_service_name(otel.service_name.clone());
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(spans)
            .with_resource(resource.build())
            .build();
        Ok(Some(Self { provider }))
    }

    /// The layer that takes the spans of requests and calls, whatever the level of the log is.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let layer = tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("toolyard"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false);
        layer.with_filter(filter_fn(|about| about.is_span() && about.target() == LOG_TARGET))
    }

    /// Sends the spans that are left.
    pub(crate) fn finish(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT) {
            tracing::warn!(%error, "the last traces were not exported");
        }
    }
}

/// Makes a request's span part of the trace that its headers name (W3C `traceparent`), if they do.
pub(crate) fn continue_trace(span: &Span, headers: &HeaderMap) {
    if headers.contains_key("traceparent") {
        let trace = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
        // This fails for a span that is not exported, which has no trace.
        let _ = span.set_parent(trace);
    }
}

/// The HTTP client that the exporter's thread uses.
#[derive(Debug)]
struct Collector {
    runtime: Runtime,
    warned: Mutex<Option<Instant>>,
}

impl Collector {
    fn new() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, warned: Mutex::default() })
    }

    fn warn(&self, error: &dyn Display) {
        let mut warned = self.warned.lock();
        if warned.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL) {
            *warned = Some(Instant::now());
            tracing::warn!(%error, "traces could not be exported; otel.endpoint names the collector");
        }
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        // This blocks the exporter's own thread, which has no other work.
        let sent = self
            .runtime
            .block_on(async { tokio::time::timeout(ANSWER_TIMEOUT, post(request)).await });
        let answer = sent.map_err(HttpError::from).and_then(|answer| answer);
        match &answer {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => self.warn(&answer.status()),
            Err(error) => self.warn(error),
        }
        answer
    }
}

/// One request on a connection of its own.
async fn post(request: Request<Bytes>) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
    let (mut parts, body) = request.into_parts();
    let host = parts.uri.host().ok_or("the endpoint names no host")?;
    let address = (host.trim_matches(['[', ']']), parts.uri.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address).await?;
    let authority = parts.uri.authority().map_or(host, |authority| authority.as_str());
    parts.headers.insert(HOST, HeaderValue::from_str(authority)?);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse::<Uri>()?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(Request::from_parts(parts, Full::new(body))).await?;
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, ANSWER_BYTES).collect().await?.to_bytes();
    connection.abort();
    Ok(Response::from_parts(head, body))
}
