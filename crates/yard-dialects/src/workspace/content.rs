//! W3: contents as callers send and get them. A string is text; any other JSON value is stored as
//! pretty-printed JSON and is returned as that value for as long as its bytes parse.

use serde_json::Value;
use yard_core::op::{LineStart, Read, ReadAnswer, Slice, Want};
use yard_core::{ContentHash, Fault, FaultCode, Subject, WsPath};

use crate::tool::{Context, Stop};

/// Everything that a read can return besides its text.
pub(super) const EVERYTHING: Want =
    Want { hash: true, line_count: true, synced: true, up_to: None };

/// A larger file is not read to its end only for its hash and its number of lines.
const MAX_HASHED_BYTES: u64 = 8 << 20;

/// The same, without the hash and the number of lines of a large file.
pub(super) const WHAT_IS_CHEAP: Want = Want { up_to: Some(MAX_HASHED_BYTES), ..EVERYTHING };

/// A value's bytes, and whether they are JSON rather than text.
pub(super) fn to_bytes(content: Value) -> Result<(Vec<u8>, bool), Stop> {
    match content {
        Value::String(text) => Ok((text.into_bytes(), false)),
        value => match serde_json::to_string_pretty(&value) {
            Ok(text) => Ok((text.into_bytes(), true)),
            Err(error) => {
                Err(Stop::argument("content", format!("cannot be written as JSON: {error}")))
            }
        },
    }
}

/// The value of a file that was written as JSON, with the answer of the read; none if it is text by now, or longer
/// than `max_bytes`.
pub(super) fn read_value(
    path: &WsPath,
    max_bytes: u64,
    context: &Context<'_>,
) -> Result<Option<(Value, ReadAnswer)>, Stop> {
    let slice = Slice::Lines { start: LineStart::FromStart(0), limit: None };
    let whole = context.perform(Read { path: path.clone(), slice, want: EVERYTHING, max_bytes })?;
    if !whole.json || whole.truncated || whole.cut_at_byte.is_some() {
        return Ok(None);
    }
    Ok(serde_json::from_str(&whole.text).ok().map(|value| (value, whole)))
}

/// The hash of an earlier read that a caller sends.
pub(super) fn parse_hash(text: Option<&str>) -> Result<Option<ContentHash>, Stop> {
    let parse = |text: &str| {
        text.parse().map_err(|error| {
            let message = format!("{error}, as `read` returns it in `hash`; got {text:.80}");
            Stop::Fault(Fault::new(FaultCode::BadArgument, message).about(Subject::Hash))
        })
    };
    text.map(parse).transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn w3_a_string_is_stored_as_it_is_even_if_it_is_json() {
        assert_eq!(to_bytes(json!("{\"a\": 1}")), Ok((b"{\"a\": 1}".to_vec(), false)));
        assert_eq!(to_bytes(json!("")), Ok((Vec::new(), false)));
    }

    #[test]
    fn w3_values_keep_key_order_and_number_spelling() {
        let sent = r#"{"z":1.50,"a":[2e-7,12345678901234567890123],"m":null}"#;
        let value: Value = serde_json::from_str(sent).unwrap();
        let (bytes, json) = to_bytes(value.clone()).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(json);
        assert_eq!(
            text,
            "{\n  \"z\": 1.50,\n  \"a\": [\n    2e-7,\n    12345678901234567890123\n  ],\n  \"m\": null\n}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(to_bytes(json!(null)), Ok((b"null".to_vec(), true)));
    }

    #[test]
    fn w9_a_malformed_hash_is_about_last_read_hash() {
        assert_eq!(parse_hash(None), Ok(None));
        let known = ContentHash::of(b"abc");
        assert_eq!(parse_hash(Some(&known.to_string())), Ok(Some(known)));
        match parse_hash(Some("a1b2c3d4...")) {
            Err(Stop::Fault(fault)) => {
                assert_eq!(
                    (fault.code(), fault.subject()),
                    (FaultCode::BadArgument, Some(Subject::Hash))
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
