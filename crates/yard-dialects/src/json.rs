//! JSON as answers need it: written once, straight from a reply, byte for byte as `serde_json` writes it;
//! and read as a value only by who wants to look into it.

mod text;
mod write;
mod written;

use std::convert::Infallible;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::{Deserialize as _, Serialize, Serializer};
use serde_json::Value;

use written::Written;

/// A place in a reply that is filled with JSON which was written before: see [`Json::around`].
pub(crate) struct Hole;

impl Serialize for Hole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit_struct(write::HOLE)
    }
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> Vec<u8> {
    let mut json = Vec::new();
    text::write(&mut json, text);
    json
}

/// Bytes that are kept free for the rest of a reply beside one long text, and for what comes around it. A
/// short text is written where there is room for six times as much.
const ROOM: usize = 960;

/// A JSON text that is also a value.
#[derive(Clone)]
pub struct Json {
    text: OnceLock<Written>,
    value: OnceLock<Value>,
    /// What it is made of, where that is one long text: written as JSON once somebody wants that.
    quoted: Option<Box<Quoted>>,
}

/// A text, and the JSON around it.
#[derive(Clone)]
struct Quoted {
    before: String,
    text: String,
    after: String,
}

impl Quoted {
    fn write(&self) -> Written {
        written(|json| {
            json.extend_from_slice(self.before.as_bytes());
            text::write(json, &self.text);
            json.extend_from_slice(self.after.as_bytes());
        })
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Written {
    let Ok(written) = Written::by::<Infallible>(|json| {
        write(json);
        Ok(())
    });
    written
}

impl Json {
    /// What `value` is as JSON. Fails only where a type cannot be: an object whose keys are no texts.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        Self::around(value, b"null")
    }

    /// The same with `written`, which is JSON, in each [`Hole`] of the value.
    pub(crate) fn around<T: Serialize + ?Sized>(
        value: &T,
        written: &[u8],
    ) -> serde_json::Result<Self> {
        let write = |json: &mut Vec<u8>| value.serialize(write::Writer::new(json, written));
        Written::about(written.len(), write).map(Self::from)
    }

    /// The JSON in which a text stands as a string between `before` and `after`. Who wants only the text
    /// back gets it without its ever having been written as JSON.
    pub fn quoting(before: &str, text: String, after: &str) -> Self {
        let quoted = Quoted { before: before.to_owned(), text, after: after.to_owned() };
        Self { text: OnceLock::new(), value: OnceLock::new(), quoted: Some(Box::new(quoted)) }
    }

    fn written(&self) -> &Written {
        self.text.get_or_init(|| match &self.quoted {
            Some(quoted) => quoted.write(),
            None => written(|_| ()),
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.written().as_str()
    }

    /// The text's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.written().as_bytes()
    }

    /// The text's bytes, to keep.
    pub fn into_bytes(self) -> Bytes {
        self.written();
        self.text.into_inner().map(Written::into_bytes).unwrap_or_default()
    }

    /// Takes the text that it quotes, if it was made of one. Then there is nothing left of it.
    pub fn take_quoted(&mut self) -> Option<String> {
        self.quoted.take().map(|quoted| quoted.text)
    }

    /// The value, to keep.
    pub fn into_value(mut self) -> Value {
        match self.value.take() {
            Some(value) => value,
            None => read(self.as_bytes()),
        }
    }

    /// The JSON of an object or list in which this stands: `before` and `after` are the rest of its text.
    #[must_use]
    pub fn within(self, before: &str, after: &str) -> Self {
        if let Some(quoted) = self.quoted {
            let Quoted { before: inner, text, after: end } = *quoted;
            return Self::quoting(&format!("{before}{inner}"), text, &format!("{end}{after}"));
        }
        let mut text = self.text.into_inner().unwrap_or_else(|| written(|_| ()));
        text.surround(before, after);
        text.into()
    }
}

/// What was written here can be read, also where an envelope made it deeper than a caller may send.
fn read(text: &[u8]) -> Value {
    let mut reader = serde_json::Deserializer::from_slice(text);
    reader.disable_recursion_limit();
    Value::deserialize(&mut reader).unwrap_or_default()
}

impl From<Written> for Json {
    fn from(text: Written) -> Self {
        Self { text: text.into(), value: OnceLock::new(), quoted: None }
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        let text = written(|json| {
            // The keys of a value are texts.
            let _ = value.serialize(write::Writer::new(json, b"null"));
        });
        Self { text: text.into(), value: value.into(), quoted: None }
    }
}

impl Deref for Json {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| read(self.as_bytes()))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
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
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    enum Shape {
        Point,
        Circle(u8),
        Line(i8, i8),
        Box { wide: f32, high: Option<char> },
    }

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Wrapped(u128);

    fn same<T: Serialize + ?Sized>(value: &T) {
        let written = Json::of(value).unwrap();
        assert_eq!(written.as_str(), serde_json::to_string(value).unwrap());
    }

    #[test]
    fn every_shape_is_written_as_by_serde_json() {
        let shapes = [
            Shape::Point,
            Shape::Circle(7),
            Shape::Line(-1, 0),
            Shape::Box { wide: 1.5, high: Some('"') },
            Shape::Box { wide: f32::NAN, high: None },
        ];
        same(&shapes);
        same(&(Unit, (), Wrapped(u128::MAX), i128::MIN, [1.0e300_f64, 0.1, -0.0, f64::INFINITY]));
        same(&BTreeMap::from([("a\n", [true, false]), ("", [false; 2])]));
        same(&BTreeMap::from([(1_u8, Some("x")), (2, None)]));
        same(&BTreeMap::from([('c', Vec::<u8>::new())]));
        same("x\ny".repeat(5_000).as_str());
        assert!(Json::of(&BTreeMap::from([((1, 2), 3)])).is_err());
    }

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
    fn a_text_is_a_value_for_who_looks_into_it() {
        let json = Json::of(&json!({"a": [1, "b"]})).unwrap().within("{\"x\":", ",\"y\":null}");
        assert_eq!(json.as_str(), r#"{"x":{"a":[1,"b"]},"y":null}"#);
        assert_eq!(json["x"]["a"][1], "b");
        assert_eq!(json, json!({"x": {"a": [1, "b"]}, "y": null}));
        assert_eq!(json.clone().into_value(), *json);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_by_serde_json(value in values()) {
            prop_assert_eq!(Json::from(value.clone()).into_bytes(), value.to_string());
        }
    }
}
