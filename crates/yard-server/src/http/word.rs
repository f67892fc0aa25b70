//! Enums of the gate in what a caller sends. The gate knows nothing of JSON schemas.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use yard_core::Spelled;

/// A value of such an enum, which a caller names by its spelling.
pub(super) struct Word<T>(pub(super) T);

impl<T: Spelled> JsonSchema for Word<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = T::SPELLINGS.iter().map(|(_, word)| json!({"const": word}));
        json_schema!({"oneOf": words.collect::<Vec<_>>()})
    }
}

impl<'de, T: Spelled> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = T::SPELLINGS.iter().find(|(_, known)| *known == word);
        known.map(|(value, _)| Self(*value)).ok_or_else(|| D::Error::custom("an unknown word"))
    }
}
