//! A long diff in parts. Where to go on names the diff that it is of, so that the parts of two different diffs are never read
//! as one: the request may be renewed in between.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use yard_core::ContentHash;

use super::problem::Problem;

/// The size of a part, in bytes.
const PART_BYTES: usize = 256 << 10;
/// Characters that tell one diff from another.
const DIFF_ID_CHARS: usize = 16;

/// A part of a diff.
#[derive(Serialize, JsonSchema)]
pub(super) struct DiffPart {
    /// The part.
    diff: String,
    /// Bytes of the whole diff.
    diff_bytes: usize,
    /// Where to go on: send it as `from`. Null in the last part.
    next: Option<String>,
    /// What a decision on it needs; only with the last part.
    state_hash: Option<String>,
}

impl DiffPart {
    /// The part of a diff that begins there; the state hash comes with the last one.
    pub(super) fn of(
        whole: &str,
        from: Option<DiffPosition>,
        state: ContentHash,
    ) -> Result<Self, Problem> {
        let DiffPosition { byte, diff_id } = from.unwrap_or_default();
        let own_id = diff_id_of(state);
        if byte > 0 && diff_id.as_ref() != Some(&own_id) {
            let message = "what is asked changed while its diff was read: read it again from the start, without `from`";
            return Err(Problem::conflict(message));
        }
        let from = whole.floor_char_boundary(byte);
        let end = whole.floor_char_boundary(from.saturating_add(PART_BYTES));
        let is_last = end >= whole.len();
        Ok(Self {
            diff: whole[from..end].to_owned(),
            diff_bytes: whole.len(),
            next: (!is_last).then(|| format!("{end}-{own_id}")),
            state_hash: is_last.then(|| state.to_string()),
        })
    }
}

/// Tells a diff from others. The state hash itself is sent only with the whole diff.
fn diff_id_of(state: ContentHash) -> String {
    let mut id = ContentHash::of(state.as_bytes()).to_string();
    id.truncate(DIFF_ID_CHARS);
    id
}

/// A byte of a diff, as the `next` of the part before: `262144-0123456789abcdef`, or 0.
#[derive(Default)]
pub(super) struct DiffPosition {
    byte: usize,
    diff_id: Option<String>,
}

impl JsonSchema for DiffPosition {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "DiffPosition".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "string", "pattern": "^[0-9]{1,15}(-[0-9a-f]{16})?$"},
            {"type": "integer", "minimum": 0, "maximum": 999_999_999_999_999_i64},
        ]})
    }
}

impl<'de> Deserialize<'de> for DiffPosition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let (byte, diff_id) = match text.split_once('-') {
            Some((byte, id)) => (byte, Some(id.to_owned())),
            None => (text.as_str(), None),
        };
        let byte =
            byte.trim().parse().map_err(|_| D::Error::custom("expected the `next` of a part"))?;
        Ok(Self { byte, diff_id })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn position(value: Value) -> DiffPosition {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn parts_of_two_diffs_are_never_read_as_one() {
        let (shown, renewed) = (ContentHash::of(b"shown"), ContentHash::of(b"renewed"));
        let whole = "x".repeat(PART_BYTES + 10);
        let part = |from: Value, state| DiffPart::of(&whole, Some(position(from)), state);
        let first = part(json!(0), shown).ok().unwrap();
        assert_eq!((first.diff.len(), first.state_hash), (PART_BYTES, None));
        let next = first.next.unwrap();
        let last = part(json!(next), shown).ok().unwrap();
        assert_eq!((last.diff.len(), last.next), (10, None));
        assert_eq!(last.state_hash, Some(shown.to_string()));
        let other = part(json!(next), renewed);
        assert!(other.is_err_and(|problem| problem.status == 409));
        assert!(part(json!(PART_BYTES), shown).is_err(), "a byte of any diff");
        assert!(!next.contains(&shown.to_string()[..8]), "it tells nothing of the state hash");
        assert!(serde_json::from_value::<DiffPosition>(json!("x-y")).is_err());
    }
}
