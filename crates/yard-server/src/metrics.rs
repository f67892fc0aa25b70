//! Metrics for Prometheus: counts and times by route and by tool, never a name, an id or a path of a workspace.

use std::time::Duration;

use http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use yard_dialects::{Answer, Catalog};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    toolset: &'static str,
    tool: &'static str,
    ok: &'static str,
}

/// The methods that routes have.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// The server's counters.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RouteLabels, Counter>,
    seconds: Histogram,
    calls: Family<ToolLabels, Counter>,
    /// Event streams that are open.
    pub(crate) streams: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("toolyard");
        let requests = Family::default();
        // 50 us to 13 s.
        let seconds = Histogram::new(exponential_buckets(0.000_05, 2.0, 19));
        let calls = Family::default();
        let streams = Gauge::default();
        registry.register("http_requests", "Requests by route and status", requests.clone());
        registry.register("http_seconds", "Seconds until an answer was ready", seconds.clone());
        registry.register("tool_calls", "Calls of tools that exist", calls.clone());
        registry.register("event_streams", "Event streams that are open", streams.clone());
        Self { registry, requests, seconds, calls, streams }
    }

    /// Counts an answered request of a route, which its path names.
    pub(crate) fn count_request(
        &self,
        method: &Method,
        route: &'static str,
        status: u16,
        took: Duration,
    ) {
        let labels = RouteLabels { method: method_name(method), route, status };
        self.requests.get_or_create(&labels).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// Counts a call of a tool, if there is such a tool.
    pub(crate) fn count_call(&self, catalog: &Catalog, toolset: &str, tool: &str, answer: &Answer) {
        let dialect = catalog.dialects().find(|dialect| dialect.name == toolset);
        let (Some(dialect), Some(tool)) = (dialect, catalog.get(toolset, tool)) else { return };
        let ok = if answer.ok { "true" } else { "false" };
        let labels = ToolLabels { toolset: dialect.name, tool: tool.name(), ok };
        self.calls.get_or_create(&labels).inc();
    }

    /// All metrics, in the text format.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
