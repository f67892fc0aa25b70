//! How a line of the log reads as JSON: `{"timestamp", "level", "fields", "target", "request_id", "spans"}`.
//! Every call makes at least one, so it is written straight into its bytes, without a value in between. For
//! people it reads as lines of `tracing` do, with the request's id at the end.
//!
//! Of a span a line has what the span began with. What is recorded on it later is for traces.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;
use yard_core::Timestamp;
use yard_server::RequestId;

use crate::world::since_1970;

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
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        at_once(writer, |line| {
            let about = event.metadata();
            line.push_str(r#"{"timestamp":""#);
            push_now(line);
            line.push_str(r#"","level":""#);
            line.push_str(about.level().as_str());
            line.push_str(r#"","fields":{"#);
            event.record(&mut Members { to: line, before: "" });
            line.push_str(r#"},"target":"#);
            push_text(line, about.target());
            if let Some(id) = RequestId::current() {
                line.push_str(r#","request_id":"#);
                push_text(line, id.as_str());
            }
            let mut before = r#","spans":["#;
            for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
                line.push_str(before);
                line.push_str(r#"{"name":"#);
                push_text(line, span.name());
                if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                    line.push_str(fields);
                }
                line.push('}');
                before = ",";
            }
            line.push_str(if before == "," { "]}\n" } else { "}\n" });
        })
    }
}

impl<'writer> FormatFields<'writer> for JsonMembers {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        at_once(writer, |to| fields.record(&mut Members { to, before: "," }))
    }

    fn add_fields(
        &self,
        _: &'writer mut FormattedFields<Self>,
        _: &tracing::span::Record<'_>,
    ) -> fmt::Result {
        Ok(())
    }
}

/// The form of what a line tells to people.
#[derive(Default)]
pub(crate) struct Words(DefaultFields);

impl<'writer> FormatFields<'writer> for Words {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        self.0.format_fields(writer.by_ref(), fields)?;
        match RequestId::current() {
            Some(id) => write!(writer, " request_id={id}"),
            None => Ok(()),
        }
    }
}

/// Writes what `put` makes in one piece: a writer behind a pointer is slow for many small ones.
fn at_once(mut writer: Writer<'_>, put: impl FnOnce(&mut String)) -> fmt::Result {
    thread_local!(static TEXT: Cell<String> = const { Cell::new(String::new()) });
    let mut text = TEXT.take();
    text.clear();
    put(&mut text);
    let written = writer.write_str(&text);
    TEXT.set(text);
    written
}

/// Members of an object that are being written.
struct Members<'a> {
    to: &'a mut String,
    before: &'static str,
}

impl Members<'_> {
    fn add(&mut self, field: &Field, value: impl FnOnce(&mut String)) {
        // What only a trace wants.
        if field.name().starts_with("otel.") {
            return;
        }
        self.to.push_str(self.before);
        self.to.push('"');
        self.to.push_str(field.name());
        self.to.push_str("\":");
        value(self.to);
        self.before = ",";
    }

    fn add_shown(&mut self, field: &Field, value: impl fmt::Display) {
        self.add(field, |to| {
            let _ = write!(to, "{value}");
        });
    }
}

impl Visit for Members<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, |to| push_text(to, value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add_shown(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add_shown(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add_shown(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, |to| {
            to.push('"');
            // Whoever cannot say what he is leaves that out.
            let _ = write!(Escaped(to), "{value:?}");
            to.push('"');
        });
    }
}

fn push_text(to: &mut String, text: &str) {
    to.push('"');
    push_escaped(to, text);
    to.push('"');
}

/// Writes the inside of a JSON text.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        push_escaped(self.0, text);
        Ok(())
    }
}

fn push_escaped(to: &mut String, text: &str) {
    let mut rest = text;
    let is_special = |byte: u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    if is_plain(text.as_bytes()) {
        return to.push_str(text);
    }
    // What needs an escape is ASCII, so that it stands between characters.
    while let Some(at) = rest.bytes().position(is_special) {
        let (plain, after) = rest.split_at(at);
        to.push_str(plain);
        match after.as_bytes()[0] {
            b'"' => to.push_str("\\\""),
            b'\\' => to.push_str("\\\\"),
            b'\n' => to.push_str("\\n"),
            control => {
                let _ = write!(to, "\\u{control:04x}");
            }
        }
        rest = &after[1..];
    }
    to.push_str(rest);
}

/// Whether nothing in a text needs an escape, as in most. Eight bytes are looked at at once.
fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = ONES << 7;
    // Not zero if a byte of `word` is below `least`.
    let below = |word: u64, least: u64| word.wrapping_sub(ONES * least) & !word & TOPS;
    let is_plain = |eight: &[u8; 8]| {
        let word = u64::from_le_bytes(*eight);
        let (quote, slash) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
        below(word, 0x20) | below(quote, 1) | below(slash, 1) == 0
    };
    let (eights, rest) = text.as_chunks();
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    eights.iter().all(is_plain) && is_plain(&last)
}

/// Writes the moment, to the microsecond. Most lines are of the same second as the one before.
fn push_now(to: &mut String) {
    thread_local!(static SECOND: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) });
    let now = since_1970();
    SECOND.with_borrow_mut(|(second, shown)| {
        if *second != now.as_secs() || shown.is_empty() {
            *second = now.as_secs();
            let millis = i64::try_from(now.as_secs()).unwrap_or(0).saturating_mul(1_000);
            *shown = Timestamp::from_millis(millis).to_string();
            shown.truncate("1970-01-01T00:00:00".len());
        }
        to.push_str(shown);
    });
    to.push('.');
    let micros = now.subsec_micros();
    for digit in [100_000, 10_000, 1_000, 100, 10, 1] {
        to.push(char::from(b'0' + (micros / digit % 10) as u8));
    }
    to.push('Z');
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
        assert!(first["spans"].is_null());
    }

    #[test]
    fn what_needs_an_escape_is_found_wherever_it_stands() {
        for length in 0..40 {
            let plain: Vec<u8> = (0..length).map(|at| b" ~a\x7f\xc3\xa9[!#]"[at % 10]).collect();
            assert!(is_plain(&plain), "{plain:?}");
            for at in 0..length {
                for special in [0, 1, 0x1f, b'"', b'\\'] {
                    let mut text = plain.clone();
                    text[at] = special;
                    assert!(!is_plain(&text), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn lines_say_when_they_were_written() {
        let lines = logged(|| {
            for _ in 0..4 {
                tracing::info!("now");
                std::thread::sleep(std::time::Duration::from_millis(400));
            }
        });
        let times: Vec<&str> =
            lines.iter().map(|line| line["timestamp"].as_str().unwrap()).collect();
        let moments: Vec<i64> =
            times.iter().map(|time| Timestamp::parse(time).unwrap().as_millis()).collect();
        for pair in moments.windows(2) {
            let apart = pair[1] - pair[0];
            assert!((390..10_000).contains(&apart), "{times:?}");
        }
        assert!(times.iter().all(|time| time.len() == "1970-01-01T00:00:00.000000Z".len()));
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
