//! How a line of the log reads as JSON: `{"timestamp", "level", "fields", "target", "spans"}`. Every call
//! makes at least one, so it is written straight into its bytes, without a value in between.
//!
//! Of a span a line has what the span began with. What is recorded on it later is for traces.

use std::fmt::{self, Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The form of a line.
pub(crate) struct JsonLine;

/// The form of what a line repeats of its spans: members of an object, each after a comma.
pub(crate) struct JsonMembers;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let about = event.metadata();
        line.write_str(r#"{"timestamp":""#)?;
        SystemTime.format_time(&mut line)?;
        line.write_str(r#"","level":""#)?;
        line.write_str(about.level().as_str())?;
        line.write_str(r#"","fields":{"#)?;
        let mut members = Members::new(line.by_ref(), "");
        event.record(&mut members);
        members.written?;
        line.write_str(r#"},"target":"#)?;
        write_text(&mut line, about.target())?;
        let mut before = r#","spans":["#;
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            line.write_str(before)?;
            line.write_str(r#"{"name":"#)?;
            write_text(&mut line, span.name())?;
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                line.write_str(fields)?;
            }
            line.write_char('}')?;
            before = ",";
        }
        line.write_str(if before == "," { "]}\n" } else { "}\n" })
    }
}

impl<'writer> FormatFields<'writer> for JsonMembers {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut members = Members::new(writer, ",");
        fields.record(&mut members);
        members.written
    }

    fn add_fields(
        &self,
        _: &'writer mut FormattedFields<Self>,
        _: &tracing::span::Record<'_>,
    ) -> fmt::Result {
        Ok(())
    }
}

/// Members of an object that are being written.
struct Members<'w> {
    to: Writer<'w>,
    before: &'static str,
    written: fmt::Result,
}

impl<'w> Members<'w> {
    fn new(to: Writer<'w>, before: &'static str) -> Self {
        Self { to, before, written: Ok(()) }
    }

    fn add(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'w>) -> fmt::Result) {
        // What only a trace wants.
        if field.name().starts_with("otel.") || self.written.is_err() {
            return;
        }
        self.written = self.name(field).and_then(|()| value(&mut self.to));
        self.before = ",";
    }

    fn name(&mut self, field: &Field) -> fmt::Result {
        self.to.write_str(self.before)?;
        self.to.write_char('"')?;
        self.to.write_str(field.name())?;
        self.to.write_str("\":")
    }
}

impl Visit for Members<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, |to| write_text(to, value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, |to| write!(to, "{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, |to| write!(to, "{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, |to| write!(to, "{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, |to| {
            to.write_char('"')?;
            write!(Escaped(to), "{value:?}")?;
            to.write_char('"')
        });
    }
}

fn write_text(to: &mut Writer<'_>, text: &str) -> fmt::Result {
    to.write_char('"')?;
    Escaped(to).write_str(text)?;
    to.write_char('"')
}

/// Writes the inside of a JSON text.
struct Escaped<'a, 'w>(&'a mut Writer<'w>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        // What needs an escape is ASCII, so that it stands between characters.
        while let Some(at) = rest.bytes().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')) {
            let (plain, after) = rest.split_at(at);
            self.0.write_str(plain)?;
            match after.as_bytes()[0] {
                b'"' => self.0.write_str("\\\"")?,
                b'\\' => self.0.write_str("\\\\")?,
                b'\n' => self.0.write_str("\\n")?,
                control => write!(self.0, "\\u{control:04x}")?,
            }
            rest = &after[1..];
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};
    use tracing_subscriber::fmt::MakeWriter;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Kept {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    fn logged(work: impl FnOnce()) -> Vec<Value> {
        let kept = Kept::default();
        let layer = tracing_subscriber::fmt::layer()
            .event_format(JsonLine)
            .fmt_fields(JsonMembers)
            .with_writer(kept.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        let bytes = kept.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_line_is_json_whatever_is_in_it() {
        let nasty = "a \"quoted\\\" line\nwith \u{1} and ünïcode";
        let lines = logged(|| {
            tracing::info!(target: "here", text = nasty, shown = %nasty, number = -1, yes = true, "{nasty}");
            tracing::warn!("only words");
        });
        let [first, second] = &lines[..] else { panic!("{lines:#?}") };
        let fields =
            json!({"text": nasty, "shown": nasty, "number": -1, "yes": true, "message": nasty});
        assert_eq!((&first["fields"], &first["target"]), (&fields, &json!("here")));
        assert_eq!((&first["level"], &second["level"]), (&json!("INFO"), &json!("WARN")));
        assert_eq!(second["fields"], json!({"message": "only words"}));
        assert!(first["timestamp"].as_str().unwrap().ends_with('Z') && first["spans"].is_null());
    }

    #[test]
    fn a_line_has_its_spans_from_the_outermost_as_they_began() {
        let lines = logged(|| {
            let outer = tracing::info_span!(
                "outer",
                id = "a\"b",
                otel.name = "x",
                late = tracing::field::Empty
            );
            outer.record("late", 7);
            let _outer = outer.enter();
            let _inner = tracing::info_span!("inner", n = 1).entered();
            tracing::info!("in");
        });
        let spans = json!([{"name": "outer", "id": "a\"b"}, {"name": "inner", "n": 1}]);
        assert_eq!(lines[0]["spans"], spans);
    }
}
