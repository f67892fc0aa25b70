//! The build without the feature `telemetry`: it exports no traces, and refuses a configuration that asks for them.

#![cfg_attr(feature = "telemetry", allow(dead_code, reason = "there only its tests are built"))]

use http::HeaderMap;
use tracing::Span;
use tracing_subscriber::layer::Identity;
use yard_core::FaultCode;

use crate::config::Otel;
use crate::failure::Failure;

/// The exporter of traces, which this build does not have.
pub(crate) enum Exporter {}

impl Exporter {
    /// No exporter. It is an error if the configuration names a collector.
    pub(crate) fn start(otel: &Otel) -> Result<Option<Self>, Failure> {
        if otel.endpoint.is_none() {
            return Ok(None);
        }
        let message = "configuration: otel.endpoint: this build of toolyard cannot export traces";
        Err(Failure::misuse(FaultCode::Unavailable, message).with_hint(
            "build it with `cargo build --profile dist --features dist -p yard-cli`, or with \
             `--features telemetry` alone; or leave otel.endpoint out",
        ))
    }

    pub(crate) fn layer(&self) -> Identity {
        match *self {}
    }

    pub(crate) fn finish(self) {
        match self {}
    }
}

/// Does nothing: without an exporter, no span belongs to a trace.
pub(crate) fn continue_trace(_: &Span, _: &HeaderMap) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_refused_with_a_hint_at_the_build_that_can_export() {
        assert!(matches!(Exporter::start(&Otel::default()), Ok(None)));
        let endpoint = Some("http://127.0.0.1:4318".to_owned());
        let refused = Exporter::start(&Otel { endpoint, ..Otel::default() }).err().unwrap();
        assert!(refused.message().contains("otel.endpoint"));
        assert!(refused.hint().unwrap().contains("--features telemetry"));
    }
}
