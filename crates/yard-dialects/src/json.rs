//! The JSON of an answer: serialized once from a reply, and parsed again only by code that reads it as
//! a value.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

/// A JSON text that can be read as a value.
#[derive(Clone)]
pub struct Json {
    text: String,
    value: OnceLock<Value>,
}

impl Json {
    /// Serializes a value. Fails only for a type that JSON cannot express: an object whose keys are no strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        Ok(Self { text: serde_json::to_string(value)?, value: OnceLock::new() })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text's bytes.
    pub fn into_bytes(self) -> Bytes {
        self.text.into()
    }

    /// The value.
    pub fn into_value(self) -> Value {
        self.value.into_inner().unwrap_or_else(|| parse(&self.text))
    }

    /// The JSON of an object or list that contains this; `before` and `after` are the rest of its text.
    #[must_use]
    pub fn within(self, before: &str, after: &str) -> Self {
        Self { text: [before, &self.text, after].concat(), value: OnceLock::new() }
    }
}

/// Parses a text that was serialized here, even if an envelope made it deeper than a caller may send.
fn parse(text: &str) -> Value {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    Value::deserialize(&mut reader).unwrap_or_default()
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self { text: value.to_string(), value: value.into() }
    }
}

impl Deref for Json {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| parse(&self.text))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Json {}

impl PartialEq<Value> for Json {
    fn eq(&self, other: &Value) -> bool {
        **self == *other
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn w3_numbers_keep_their_spelling() {
        let text = r#"{"a":[-0,1.50,1e3,123456789012345678901234567890,-0.0]}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Json::from(value.clone()).as_str(), value.to_string());
        assert_eq!(Json::of(&value).unwrap().into_value(), value);
    }

    #[test]
    fn a_value_as_deep_as_callers_may_send_is_read_within_an_envelope() {
        let deepest = format!("{}{}", "[".repeat(127), "]".repeat(127));
        let value: Value = serde_json::from_str(&deepest).unwrap();
        let answer = Json::of(&value).unwrap().within(r#"{"result":{"content":"#, "}}");
        assert_eq!(answer["result"]["content"], value);
        assert_eq!(answer.into_value()["result"]["content"], value);
    }

    #[test]
    fn a_text_is_read_as_a_value() {
        let json = Json::of(&json!({"a": [1, "b"]})).unwrap().within("{\"x\":", ",\"y\":null}");
        assert_eq!(json.as_str(), r#"{"x":{"a":[1,"b"]},"y":null}"#);
        assert_eq!(json["x"]["a"][1], "b");
        assert_eq!(json, json!({"x": {"a": [1, "b"]}, "y": null}));
        assert_eq!(json.clone().into_value(), *json);
    }

    #[test]
    fn an_object_whose_keys_are_no_texts_has_no_json() {
        assert!(Json::of(&std::collections::BTreeMap::from([((1, 2), 3)])).is_err());
    }
}
