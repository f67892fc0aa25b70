//! R1: lenient in. Arguments as models send them become arguments as the schema wants them, or one
//! message for each that is wrong, from which the next call can succeed.
//!
//! Works on the derived schema alone, so that a tool's type is the only place that says what it
//! takes.

use std::fmt;

use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::nearest::nearest;
use crate::schema::primary_type;

/// The name under which a fault of the arguments as a whole is reported.
pub const WHOLE: &str = "arguments";

/// Characters of a caller's own value that a message repeats.
const SHOWN_CHARS: usize = 80;

/// Arguments that a message names; the rest is counted. A caller can send any number of wrong ones.
const NAMED: usize = 10;

/// Bytes of the name of an argument, of what is said about it, and of all of that together: any of it may repeat
/// what was sent.
const LONGEST_NAME: usize = 200;
const LONGEST_MESSAGE: usize = 2 << 10;
const LONGEST: usize = 3 << 10;

/// What is wrong, argument by argument: the first ten of those that no tool knows, the first ten of the
/// others, and how many more there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    named: Vec<(String, String)>,
    unknown: usize,
    wrong: usize,
    /// How many bytes are said of those that are named.
    bytes: usize,
    /// Says how many more there are.
    rest: Option<String>,
}

impl Fields {
    /// One argument is wrong.
    pub fn one(name: &str, message: impl Into<String>) -> Self {
        let mut fields = Self::default();
        fields.push(name, message);
        fields
    }

    /// Adds what is wrong with one more argument.
    pub fn push(&mut self, name: &str, message: impl Into<String>) {
        self.wrong += 1;
        self.name_if(self.wrong <= NAMED, || (name.to_owned(), message.into()));
    }

    /// Adds an argument that is not known; its words are made only if they are said.
    fn push_unknown(&mut self, words: impl FnOnce() -> (String, String)) {
        self.unknown += 1;
        self.name_if(self.unknown <= NAMED, words);
    }

    fn name_if(&mut self, has_room: bool, words: impl FnOnce() -> (String, String)) {
        if has_room {
            let (mut name, mut message) = words();
            shorten(&mut name, LONGEST_NAME);
            shorten(&mut message, LONGEST_MESSAGE);
            let bytes = name.len() + message.len();
            if self.bytes + bytes <= LONGEST {
                self.bytes += bytes;
                self.named.push((name, message));
                return;
            }
        }
        let more = self.unknown + self.wrong - self.named.len();
        self.rest = Some(format!(
            "{more} more arguments are unknown or wrong; send only those that the tool's description names"
        ));
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Argument and message, in the order in which they were found; at the end how many more there are.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = self.named.iter().map(|(name, message)| (name.as_str(), message.as_str()));
        named.chain(self.rest.iter().map(|rest| (WHOLE, rest.as_str())))
    }

    /// As JSON: `{name: message}`.
    pub fn to_value(&self) -> Value {
        Value::Object(
            self.iter().map(|(name, message)| (name.to_owned(), message.into())).collect(),
        )
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, message)) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { "; " };
            write!(f, "{comma}{name}: {message}")?;
        }
        Ok(())
    }
}

/// What a schema wants, ready to read arguments by: nothing has to be looked up in the schema at a call.
#[derive(Clone, Debug)]
pub struct Shape {
    /// For messages.
    schema: Value,
    wanted: Wanted,
    takes_null: bool,
}

#[derive(Clone, Debug)]
enum Wanted {
    Anything,
    Boolean,
    Integer(Bounds),
    Number,
    Text(Option<Vec<String>>),
    List(Bounds, Option<Box<Shape>>),
    Object(Members),
    /// A type that no argument has.
    Nothing,
}

/// The members of an object.
#[derive(Clone, Debug)]
struct Members {
    known: Vec<(String, Shape)>,
    required: Vec<String>,
    is_closed: bool,
}

impl Members {
    fn get(&self, name: &str) -> Option<&Shape> {
        self.known.iter().find(|(known, _)| known == name).map(|(_, shape)| shape)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|(name, _)| name.as_str())
    }
}

/// The least and the most, both allowed.
#[derive(Clone, Copy, Debug)]
struct Bounds(Option<i128>, Option<i128>);

impl Bounds {
    fn of(schema: &Value, least: &str, most: &str) -> Self {
        let bound = |keyword| schema.get(keyword).and_then(Value::as_number).and_then(wide);
        Self(bound(least), bound(most))
    }

    fn hold(self, value: Option<i128>) -> bool {
        let Self(least, most) = self;
        least.is_none_or(|least| value >= Some(least))
            && most.is_none_or(|most| value <= Some(most))
    }
}

impl Shape {
    /// The shape of what a schema describes.
    pub fn of(schema: &Value) -> Self {
        let wanted = match schema.as_object().and_then(primary_type) {
            None => Wanted::Anything,
            Some("boolean") => Wanted::Boolean,
            Some("integer") => Wanted::Integer(Bounds::of(schema, "minimum", "maximum")),
            Some("number") => Wanted::Number,
            Some("string") => Wanted::Text(words(schema)),
            Some("array") => {
                let item = schema.get("items").map(|item| Box::new(Self::of(item)));
                Wanted::List(Bounds::of(schema, "minItems", "maxItems"), item)
            }
            Some("object") => Wanted::Object(members(schema)),
            Some(_) => Wanted::Nothing,
        };
        Self { schema: schema.clone(), wanted, takes_null: takes_null(schema) }
    }
}

fn members(schema: &Value) -> Members {
    let known = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    Members {
        known: known.map(|(name, schema)| (name.clone(), Shape::of(schema))).collect(),
        required: required.filter_map(Value::as_str).map(str::to_owned).collect(),
        is_closed: schema.get("additionalProperties") == Some(&Value::Bool(false)),
    }
}

/// The arguments that `sent` means under the shape of an object, or everything that is wrong with them.
pub fn accept(shape: &Shape, sent: Value) -> Result<Value, Fields> {
    let mut fields = Fields::default();
    let accepted = match (unwrapped(sent), &shape.wanted) {
        (Value::Object(sent), Wanted::Object(members)) => {
            object(members, sent, At::Top, &mut fields)
        }
        (Value::Object(sent), _) => Value::Object(sent),
        (other, _) => {
            let wrong =
                format!("expected an object that holds the arguments, got {}", named(&other));
            return Err(Fields::one(WHOLE, wrong));
        }
    };
    if fields.is_empty() { Ok(accepted) } else { Err(fields) }
}

/// Some models send the object as a string that holds it.
fn unwrapped(sent: Value) -> Value {
    let Value::String(text) = &sent else { return sent };
    match serde_json::from_str(text) {
        Ok(inner @ Value::Object(_)) => inner,
        _ => sent,
    }
}

/// Where in the arguments a value stands; put into words only if there is something to say about it.
#[derive(Clone, Copy)]
enum At<'a> {
    Top,
    Member(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Member(Self::Top, name) => f.write_str(name),
            Self::Member(above, name) => write!(f, "{above}.{name}"),
            Self::Item(above, index) => write!(f, "{above}[{index}]"),
        }
    }
}

fn object(
    members: &Members,
    mut sent: Map<String, Value>,
    at: At<'_>,
    fields: &mut Fields,
) -> Value {
    // Once is enough for a caller to know them.
    let mut lists_known = true;
    sent.retain(|name, value| match members.get(name) {
        // An explicit null is an argument that was not sent.
        Some(shape) if value.is_null() && !shape.takes_null => false,
        Some(shape) => {
            *value = one(shape, value.take(), At::Member(&at, name), fields);
            true
        }
        None => {
            if members.is_closed {
                let known = if lists_known { Known::Listed } else { Known::Nearest };
                lists_known = false;
                fields.push_unknown(|| {
                    let name = cut(name);
                    (At::Member(&at, &name).to_string(), unknown(&name, members, known))
                });
            }
            true
        }
    });
    for name in members.required.iter().filter(|name| !sent.contains_key(name.as_str())) {
        let property = members.get(name).map(|shape| &shape.schema);
        fields.push(&At::Member(&at, name).to_string(), missed(property));
    }
    Value::Object(sent)
}

/// A schema that names no type takes anything, null too.
fn takes_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "null",
        Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
        _ => {
            schema.get("enum").is_none()
                && schema.get("anyOf").is_none()
                && schema.get("oneOf").is_none()
        }
    }
}

/// What is said of the arguments that there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Listed,
    Nearest,
}

fn unknown(name: &str, members: &Members, known: Known) -> String {
    let all = members.names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let listed = if known == Known::Listed { format!("Known: {all}") } else { String::new() };
    let words = match nearest(name, members.names()) {
        Some(meant) => format!("unknown argument; did you mean `{meant}`? {listed}"),
        None if all.is_empty() => "unknown argument: none are taken; send {}".to_owned(),
        None if listed.is_empty() => "unknown argument; leave it out".to_owned(),
        None => format!("unknown argument. {listed}"),
    };
    words.trim_end().to_owned()
}

fn missed(property: Option<&Value>) -> String {
    let wanted = property.map_or_else(|| "a value".to_owned(), expected);
    let about = property.and_then(|schema| schema.get("description")).and_then(Value::as_str);
    match about {
        Some(about) => format!("missing; expected {wanted}: {}", about.trim_end_matches('.')),
        None => format!("missing; expected {wanted}"),
    }
}

/// One value: coerced where R1 says so, else as it is with a message if it cannot be meant.
fn one(shape: &Shape, sent: Value, at: At<'_>, fields: &mut Fields) -> Value {
    let accepted = match (&shape.wanted, sent) {
        (Wanted::Anything, sent) => return sent,
        (Wanted::Boolean, sent) => boolean(&sent).map(Value::Bool).ok_or(sent),
        (Wanted::Integer(bounds), sent) => integer(*bounds, sent),
        (Wanted::Text(None), sent @ Value::String(_)) => Ok(sent),
        (Wanted::Text(Some(words)), Value::String(text)) => word(words, text),
        (Wanted::Number, sent @ Value::Number(_)) => Ok(sent),
        (Wanted::Number, Value::String(text)) => number(text),
        (Wanted::List(bounds, item), Value::Array(items))
            if bounds.hold(Some(items.len() as i128)) =>
        {
            Ok(list(item.as_deref(), items, at, fields))
        }
        (Wanted::Object(members), Value::Object(sent)) => Ok(object(members, sent, at, fields)),
        (_, sent) => Err(sent),
    };
    accepted.unwrap_or_else(|sent| {
        let mut wrong = format!("expected {}, got {}", expected(&shape.schema), named(&sent));
        if let (Wanted::Text(None), Some(text)) = (&shape.wanted, joined(&sent)) {
            wrong.push_str(&format!("; send one string, such as {}", shown(&text)));
        }
        fields.push(&at.to_string(), wrong);
        sent
    })
}

fn list(item: Option<&Shape>, items: Vec<Value>, at: At<'_>, fields: &mut Fields) -> Value {
    let Some(item) = item else { return Value::Array(items) };
    let accepted = items
        .into_iter()
        .enumerate()
        .map(|(index, sent)| one(item, sent, At::Item(&at, index), fields));
    Value::Array(accepted.collect())
}

/// A number that was sent as text.
fn number(text: String) -> Result<Value, Value> {
    match serde_json::from_str(text.trim()) {
        Ok(number @ Value::Number(_)) => Ok(number),
        _ => Err(Value::String(text)),
    }
}

/// The words of a list, as one line: commands are often sent so.
fn joined(sent: &Value) -> Option<String> {
    let words: Option<Vec<&str>> = sent.as_array()?.iter().map(Value::as_str).collect();
    words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
}

/// Reads accepted arguments as what a tool takes. What the schema does not say is told here: which argument is
/// wrong, without a word about types of this program.
pub(crate) fn read<'a, T, D>(from: D) -> Result<T, Fields>
where
    T: DeserializeOwned,
    D: Deserializer<'a, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize(from).map_err(|error| {
        let at = error.path().to_string();
        let name = if at == "." { WHOLE } else { &at };
        Fields::one(name, in_plain_words(&error.inner().to_string()))
    })
}

/// What the parser of JSON says, in words about JSON.
fn in_plain_words(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or(message);
    if message.starts_with("data did not match any variant") {
        return "expected one of the forms that the tool's description names".to_owned();
    }
    if let Some((sent, wanted)) = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.split_once(", expected "))
    {
        return format!("expected {}, got {}", in_json(wanted), in_json(sent));
    }
    if let Some((sent, wanted)) =
        message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected "))
    {
        return format!("expected {wanted}, got {sent}");
    }
    let (said, wanted) = message.split_once("expected ").unwrap_or((message, ""));
    let wanted = match wanted.split(' ').next().unwrap_or_default() {
        "struct" | "newtype" => "an object",
        "enum" => "one of the values that the tool's description names",
        "tuple" => "an array",
        _ => wanted,
    };
    let wanted = wanted.replace("a map", "an object").replace("a sequence", "an array");
    let said = said.replace("map", "object").replace("sequence", "array");
    if wanted.is_empty() { said } else { format!("{said}expected {wanted}") }
}

/// A kind of value as JSON calls it.
fn in_json(kind: &str) -> String {
    let words = match kind.split(' ').next().unwrap_or_default() {
        "struct" | "newtype" | "map" => "an object",
        "enum" => "one of the values that the tool's description names",
        "tuple" | "sequence" => "an array",
        "number" => "a number",
        _ => return kind.replace("a map", "an object").replace("a sequence", "an array"),
    };
    words.to_owned()
}

fn boolean(sent: &Value) -> Option<bool> {
    match sent {
        Value::Bool(value) => Some(*value),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
        Value::Number(number) => match whole(number.as_str())? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
        _ => None,
    }
}

fn integer(bounds: Bounds, sent: Value) -> Result<Value, Value> {
    let (spelling, is_number) = match &sent {
        Value::Number(number) => (number.as_str(), true),
        Value::String(text) => (text.trim(), false),
        _ => return Err(sent),
    };
    match whole(spelling).filter(|value| bounds.hold(Some(*value))) {
        None => Err(sent),
        // Digits alone are spelled as we would: JSON has no zeros before them.
        Some(_) if is_number && spelling.bytes().all(|byte| byte.is_ascii_digit()) => Ok(sent),
        Some(value) => Ok(Value::Number(value.into())),
    }
}

/// The integer that a spelling stands for; `5.0` and `5e0` are five.
fn whole(spelling: &str) -> Option<i128> {
    if let Ok(value) = spelling.parse::<i64>() {
        return Some(value.into());
    }
    if let Ok(value) = spelling.parse::<u64>() {
        return Some(value.into());
    }
    let is_number = spelling.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    let value = spelling.parse::<f64>().ok().filter(|_| is_number)?;
    // Beyond 2^53 a fraction says nothing: what was meant is not known.
    let exact = value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
    exact.then(|| i128::from(value as i64))
}

fn wide(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// The listed word that a text is, in whichever case.
fn word(words: &[String], text: String) -> Result<Value, Value> {
    let meant = words.iter().find(|word| word.eq_ignore_ascii_case(text.trim()));
    meant.map(|word| Value::String(word.clone())).ok_or(Value::String(text))
}

/// The words that a schema allows, where it allows nothing else.
fn words(schema: &Value) -> Option<Vec<String>> {
    let words = schema.get("enum")?.as_array()?.iter();
    Some(words.filter_map(Value::as_str).map(str::to_owned).collect())
}

/// What a schema wants, in words.
fn expected(schema: &Value) -> String {
    let bounds = |least, most| Bounds::of(schema, least, most);
    match schema.as_object().and_then(primary_type) {
        Some("boolean") => "true or false".to_owned(),
        Some("integer") => format!("an integer{}", between(bounds("minimum", "maximum"))),
        Some("number") => "a number".to_owned(),
        Some("string") => match words(schema) {
            Some(words) => format!("one of {}", words.join(", ")),
            None => "a string".to_owned(),
        },
        Some("array") => format!(
            "an array{}{}",
            of(schema.get("items")),
            between(bounds("minItems", "maxItems"))
        ),
        Some("object") => "an object".to_owned(),
        _ => "a value".to_owned(),
    }
}

fn of(items: Option<&Value>) -> String {
    match items.and_then(Value::as_object).and_then(primary_type) {
        Some(name) => format!(" of {name}s"),
        None => String::new(),
    }
}

fn between(bounds: Bounds) -> String {
    match bounds {
        Bounds(Some(least), Some(most)) => format!(" ({least} to {most})"),
        Bounds(Some(least), None) => format!(" ({least} or more)"),
        Bounds(None, Some(most)) => format!(" ({most} or less)"),
        Bounds(None, None) => String::new(),
    }
}

/// What was sent, in words.
fn named(sent: &Value) -> String {
    match sent {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {}", cut(&number.to_string())),
        Value::String(text) => format!("the string {}", shown(text)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A caller's own text, quoted, as far as it helps to recognise it.
pub(crate) fn shown(text: &str) -> String {
    format!("{:?}", cut(text))
}

fn shorten(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Full path to the file"},
                "flag": {"type": "boolean", "default": false},
                "limit": {"type": "integer", "minimum": 0, "default": 50},
                "offset": {"type": "integer"},
                "kind": {"type": "string", "enum": ["document", "folder"]},
                "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
                "lines": {"type": "array", "items": {"type": "integer"}},
                "inner": {
                    "type": "object",
                    "properties": {"deep": {"type": "boolean"}},
                    "required": ["deep"],
                    "additionalProperties": false
                },
                "content": {"description": "Anything"},
            },
            "required": ["path"],
            "additionalProperties": false,
        })
    }

    fn accepted(sent: Value) -> Value {
        match accept(&Shape::of(&schema()), sent.clone()) {
            Ok(accepted) => accepted,
            Err(fields) => panic!("{sent} was refused: {fields:?}"),
        }
    }

    fn refused(sent: Value) -> Value {
        match accept(&Shape::of(&schema()), sent.clone()) {
            Ok(accepted) => panic!("{sent} was accepted as {accepted}"),
            Err(fields) => fields.to_value(),
        }
    }

    #[test]
    fn r1_booleans_and_integers_are_taken_as_models_send_them() {
        for (sent, meant) in [
            (json!({"flag": "true"}), json!({"flag": true})),
            (json!({"flag": "False"}), json!({"flag": false})),
            (json!({"flag": 1}), json!({"flag": true})),
            (json!({"flag": 0}), json!({"flag": false})),
            (json!({"limit": "100"}), json!({"limit": 100})),
            (json!({"limit": " 7 "}), json!({"limit": 7})),
            (json!({"limit": 5.0}), json!({"limit": 5})),
            (json!({"limit": 1e3}), json!({"limit": 1000})),
            (json!({"offset": "-3"}), json!({"offset": -3})),
            (json!({"limit": u64::MAX}), json!({"limit": u64::MAX})),
            (json!({"lines": ["1", 2, 3.0]}), json!({"lines": [1, 2, 3]})),
            (json!({"inner": {"deep": "true"}}), json!({"inner": {"deep": true}})),
            (json!({"kind": "Folder"}), json!({"kind": "folder"})),
            (json!({"limit": null, "flag": null}), json!({})),
            (json!({"content": null}), json!({"content": null})),
            (json!({"content": 1.50}), json!({"content": 1.50})),
        ] {
            let with_path = |value: &Value| {
                let mut value = value.clone();
                value["path"] = json!("/a");
                value
            };
            assert_eq!(accepted(with_path(&sent)), with_path(&meant), "{sent}");
        }
    }

    #[test]
    fn r1_an_object_in_a_string_is_that_object() {
        assert_eq!(
            accepted(json!(r#"{"path": "/a", "flag": "true"}"#)),
            json!({"path": "/a", "flag": true})
        );
    }

    #[test]
    fn r1_strings_stay_strings() {
        assert_eq!(accepted(json!({"path": "true"})), json!({"path": "true"}));
        assert_eq!(accepted(json!({"path": "100"})), json!({"path": "100"}));
    }

    #[test]
    fn r1_an_unknown_argument_is_named_with_the_nearest() {
        let fields = refused(json!({"path": "/a", "file_path": "/b"}));
        let message = fields["file_path"].as_str().unwrap();
        assert!(
            message.contains("unknown") && message.contains("did you mean `path`?"),
            "{message}"
        );
        let fields = refused(json!({"path": "/a", "zzz": 1}));
        assert!(fields["zzz"].as_str().unwrap().starts_with("unknown argument. Known: `path`"));
    }

    #[test]
    fn r1_missing_and_wrong_ones_are_named_together_with_what_was_expected() {
        let fields = refused(
            json!({"flag": "maybe", "limit": -1, "paths": [], "lines": [1, "x"], "inner": {}}),
        );
        assert_eq!(
            fields,
            json!({
                "flag": "expected true or false, got the string \"maybe\"",
                "limit": "expected an integer (0 or more), got the number -1",
                "paths": "expected an array of strings (1 to 3), got an array of 0",
                "lines[1]": "expected an integer, got the string \"x\"",
                "inner.deep": "missing; expected true or false",
                "path": "missing; expected a string: Full path to the file",
            })
        );
        for (sent, message) in [
            (json!({"path": 3}), "expected a string, got the number 3"),
            (
                json!({"path": ["/a"]}),
                "expected a string, got an array of 1; send one string, such as \"/a\"",
            ),
            (json!({"path": null}), "missing; expected a string: Full path to the file"),
        ] {
            assert_eq!(refused(sent)["path"], message);
        }
        for value in [
            json!(2.5),
            json!("2.5"),
            json!("inf"),
            json!("NaN"),
            json!(""),
            json!(true),
            json!(1e300),
        ] {
            refused(json!({"path": "/a", "limit": value}));
        }
        for value in [json!(2), json!("1"), json!("yes"), json!([])] {
            refused(json!({"path": "/a", "flag": value}));
        }
        assert_eq!(
            refused(json!({"path": "/a", "kind": "film"}))["kind"],
            "expected one of document, folder, got the string \"film\""
        );
    }

    #[test]
    fn r1_arguments_that_are_no_object_are_refused() {
        for sent in [json!(null), json!([]), json!(3), json!("path"), json!("[1]"), json!(true)] {
            assert!(refused(sent)[WHOLE].as_str().unwrap().starts_with("expected an object"));
        }
    }

    #[test]
    fn g8_of_many_wrong_arguments_ten_are_named_and_the_rest_is_counted() {
        let mut sent = serde_json::Map::new();
        sent.insert("path".to_owned(), json!("/a"));
        sent.extend((0..50_000).map(|at| (format!("{at}{}", "x".repeat(1_000)), json!(1))));
        let fields = refused(Value::Object(sent));
        assert_eq!(fields.as_object().unwrap().len(), 11);
        assert_eq!(
            fields[WHOLE],
            "49990 more arguments are unknown or wrong; send only those that the tool's description names"
        );
        assert!(fields.to_string().len() < 4_096, "{} bytes", fields.to_string().len());
        let lines: Vec<Value> = (0..50_000).map(|_| json!("x")).collect();
        let fields = refused(json!({"lines": lines, "unheard": 1}));
        assert!(fields["unheard"].as_str().unwrap().starts_with("unknown argument"));
        assert_eq!(
            fields[WHOLE],
            "49991 more arguments are unknown or wrong; send only those that the tool's description names"
        );
        assert!(fields.to_string().len() < 4_096, "{} bytes", fields.to_string().len());
    }

    #[test]
    fn messages_repeat_little_of_what_was_sent() {
        let fields = refused(json!({"path": "/a", "flag": "x".repeat(10_000)}));
        assert!(fields["flag"].as_str().unwrap().len() < 200);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(|value| json!(value)),
            any::<f64>().prop_map(|value| json!(value)),
            "\\PC{0,8}".prop_map(Value::String),
            "-?[0-9]{0,25}(\\.0)?".prop_map(Value::String),
        ];
        let name =
            prop_oneof!["\\PC{0,6}", "(path|flag|limit|offset|kind|paths|lines|inner|content)"];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                proptest::collection::vec((name.clone(), inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn r1_any_json_is_accepted_or_refused_without_a_panic(sent in any_json()) {
            match accept(&Shape::of(&schema()), sent.clone()) {
                // What was accepted once is accepted again, unchanged.
                Ok(accepted) => prop_assert_eq!(accept(&Shape::of(&schema()), accepted.clone()), Ok(accepted)),
                Err(fields) => prop_assert!(!fields.is_empty()),
            }
        }

        #[test]
        fn r1_any_schema_is_survived(schema in any_json(), sent in any_json()) {
            let _ = accept(&Shape::of(&schema), sent);
        }
    }
}
