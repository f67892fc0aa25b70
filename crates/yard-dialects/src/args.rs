//! R1: lenient in. Arguments as models send them are converted to arguments as the schema wants them; for each wrong
//! one there is a message which says what to send.
//!
//! Works on the derived schema alone, so that the arguments of a tool are defined in its type only.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::schema::primary_type;
use crate::synonyms::meant_argument;

/// The name under which a fault of the arguments as a whole is reported.
pub const WHOLE: &str = "arguments";

/// Characters of a sent value that a message repeats.
const MAX_QUOTED_CHARS: usize = 80;

/// Arguments that are named; the others are counted. A caller can send any number of wrong ones.
const MAX_NAMED: usize = 10;

/// Bytes of the name of an argument, of the message about it, and of all names and messages: all of them may repeat
/// what was sent.
const MAX_NAME_BYTES: usize = 200;
const MAX_MESSAGE_BYTES: usize = 2 << 10;
const MAX_BYTES: usize = 3 << 10;

/// A message for each wrong argument: for the first ten unknown ones, for the first ten others, and how many more
/// there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    named: Vec<(String, String)>,
    unknown: usize,
    wrong: usize,
    /// The bytes of all names and messages.
    bytes: usize,
    /// The message about how many more there are.
    rest: Option<String>,
}

impl Fields {
    /// One argument is wrong.
    pub fn one(name: &str, message: impl Into<String>) -> Self {
        let mut fields = Self::default();
        fields.push(name, message);
        fields
    }

    /// Adds a wrong argument.
    pub fn push(&mut self, name: &str, message: impl Into<String>) {
        self.wrong += 1;
        self.add_if(self.wrong <= MAX_NAMED, || (name.to_owned(), message.into()));
    }

    /// Adds an unknown argument; name and message are made only if there is room for them.
    fn push_unknown(&mut self, name_and_message: impl FnOnce() -> (String, String)) {
        self.unknown += 1;
        self.add_if(self.unknown <= MAX_NAMED, name_and_message);
    }

    fn add_if(&mut self, has_room: bool, name_and_message: impl FnOnce() -> (String, String)) {
        if has_room {
            let (mut name, mut message) = name_and_message();
            shorten(&mut name, MAX_NAME_BYTES);
            shorten(&mut message, MAX_MESSAGE_BYTES);
            let bytes = name.len() + message.len();
            if self.bytes + bytes <= MAX_BYTES {
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

/// A schema in a form in which a call looks nothing up.
#[derive(Clone, Debug)]
pub struct CompiledSchema {
    /// For messages.
    source: Value,
    expected: Expected,
    takes_null: bool,
}

#[derive(Clone, Debug)]
enum Expected {
    Anything,
    Boolean,
    Integer(Bounds),
    Number,
    Text(Option<Vec<String>>),
    List(Bounds, Option<Box<CompiledSchema>>),
    Object(Members),
    /// A type that no argument has.
    Nothing,
}

/// The members of an object.
#[derive(Clone, Debug)]
struct Members {
    known: Vec<(String, CompiledSchema)>,
    required: Vec<String>,
    is_closed: bool,
}

impl Members {
    fn get(&self, name: &str) -> Option<&CompiledSchema> {
        self.known.iter().find(|(known, _)| known == name).map(|(_, schema)| schema)
    }

    fn names(&self) -> impl Iterator<Item = &str> + Clone {
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

impl CompiledSchema {
    /// Compiles a JSON Schema.
    pub fn of(schema: &Value) -> Self {
        let expected = match schema.as_object().and_then(primary_type) {
            None => Expected::Anything,
            Some("boolean") => Expected::Boolean,
            Some("integer") => Expected::Integer(Bounds::of(schema, "minimum", "maximum")),
            Some("number") => Expected::Number,
            Some("string") => Expected::Text(enum_values(schema)),
            Some("array") => {
                let item = schema.get("items").map(|item| Box::new(Self::of(item)));
                Expected::List(Bounds::of(schema, "minItems", "maxItems"), item)
            }
            Some("object") => Expected::Object(members(schema)),
            Some(_) => Expected::Nothing,
        };
        Self { source: schema.clone(), expected, takes_null: takes_null(schema) }
    }
}

fn members(schema: &Value) -> Members {
    let known = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    Members {
        known: known.map(|(name, schema)| (name.clone(), CompiledSchema::of(schema))).collect(),
        required: required.filter_map(Value::as_str).map(str::to_owned).collect(),
        is_closed: schema.get("additionalProperties") == Some(&Value::Bool(false)),
    }
}

/// The arguments that `sent` means under the schema of an object, or a message for each that is wrong.
pub fn accept(schema: &CompiledSchema, sent: Value) -> Result<Value, Fields> {
    let mut fields = Fields::default();
    let accepted = match (unwrapped(sent), &schema.expected) {
        (Value::Object(sent), Expected::Object(members)) => {
            accept_object(members, sent, At::Top, &mut fields)
        }
        (Value::Object(sent), _) => Value::Object(sent),
        (other, _) => {
            let wrong =
                format!("expected an object that holds the arguments, got {}", describe(&other));
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

/// The position of a value in the arguments; it becomes a text only if the value is wrong.
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

fn accept_object(
    members: &Members,
    mut sent: Map<String, Value>,
    at: At<'_>,
    fields: &mut Fields,
) -> Value {
    // Only the message about the first unknown argument lists the known ones.
    let mut lists_known = true;
    sent.retain(|name, value| match members.get(name) {
        // An explicit null is an argument that was not sent.
        Some(schema) if value.is_null() && !schema.takes_null => false,
        Some(schema) => {
            *value = accept_value(schema, value.take(), At::Member(&at, name), fields);
            true
        }
        None => {
            if members.is_closed {
                let known = if lists_known { Known::Listed } else { Known::Nearest };
                lists_known = false;
                fields.push_unknown(|| {
                    let name = cut(name);
                    (At::Member(&at, &name).to_string(), unknown_message(&name, members, known))
                });
            }
            true
        }
    });
    for name in members.required.iter().filter(|name| !sent.contains_key(name.as_str())) {
        let property = members.get(name).map(|schema| &schema.source);
        fields.push(&At::Member(&at, name).to_string(), missing_message(property));
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

/// Which known arguments a message names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Listed,
    Nearest,
}

fn unknown_message(name: &str, members: &Members, known: Known) -> String {
    let all = members.names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let listed = if known == Known::Listed { format!("Known: {all}") } else { String::new() };
    let message = match meant_argument(name, members.names()) {
        Some(meant) => format!("unknown argument; did you mean `{meant}`? {listed}"),
        None if all.is_empty() => "unknown argument: none are taken; send {}".to_owned(),
        None if listed.is_empty() => {
            "unknown argument; leave it out, or send it as one of the known ones".to_owned()
        }
        None => format!("unknown argument. {listed}"),
    };
    message.trim_end().to_owned()
}

fn missing_message(property: Option<&Value>) -> String {
    let expected = property.map_or_else(|| "a value".to_owned(), describe_expected);
    let about = property.and_then(|schema| schema.get("description")).and_then(Value::as_str);
    match about {
        Some(about) => format!("missing; expected {expected}: {}", about.trim_end_matches('.')),
        None => format!("missing; expected {expected}"),
    }
}

/// Converts one value where R1 says so; a wrong value stays as it is and gets a message.
fn accept_value(schema: &CompiledSchema, sent: Value, at: At<'_>, fields: &mut Fields) -> Value {
    let accepted = match (&schema.expected, sent) {
        (Expected::Anything, sent) => return sent,
        (Expected::Boolean, sent) => to_boolean(&sent).map(Value::Bool).ok_or(sent),
        (Expected::Integer(bounds), sent) => to_integer(*bounds, sent),
        (Expected::Text(None), sent @ Value::String(_)) => Ok(sent),
        (Expected::Text(Some(values)), Value::String(text)) => to_enum_value(values, text),
        (Expected::Number, sent @ Value::Number(_)) => Ok(sent),
        (Expected::Number, Value::String(text)) => to_number(text),
        (Expected::List(bounds, item), Value::Array(items))
            if bounds.hold(Some(items.len() as i128)) =>
        {
            Ok(accept_list(item.as_deref(), items, at, fields))
        }
        (Expected::Object(members), Value::Object(sent)) => {
            Ok(accept_object(members, sent, at, fields))
        }
        (Expected::List(..) | Expected::Object(_), Value::String(text)) => {
            match value_in_text(&text, schema) {
                Some(value) => return accept_value(schema, value, at, fields),
                None => Err(Value::String(text)),
            }
        }
        (_, sent) => Err(sent),
    };
    accepted.unwrap_or_else(|sent| {
        let expected = describe_expected(&schema.source);
        let mut wrong = format!("expected {expected}, got {}", describe(&sent));
        if let (Expected::Text(None), Some(text)) = (&schema.expected, joined(&sent)) {
            wrong.push_str(&format!("; send one string, such as {}", quoted(&text)));
        }
        fields.push(&at.to_string(), wrong);
        sent
    })
}

/// The list or the object that a string holds, where the schema expects one. Some models send them so.
fn value_in_text(text: &str, schema: &CompiledSchema) -> Option<Value> {
    let is_meant = |value: &Value| match &schema.expected {
        Expected::List(..) => value.is_array(),
        Expected::Object(_) => value.is_object(),
        _ => false,
    };
    serde_json::from_str(text).ok().filter(is_meant)
}

fn accept_list(
    item: Option<&CompiledSchema>,
    items: Vec<Value>,
    at: At<'_>,
    fields: &mut Fields,
) -> Value {
    let Some(item) = item else { return Value::Array(items) };
    let accepted = items
        .into_iter()
        .enumerate()
        .map(|(index, sent)| accept_value(item, sent, At::Item(&at, index), fields));
    Value::Array(accepted.collect())
}

/// A number that was sent as text.
fn to_number(text: String) -> Result<Value, Value> {
    match serde_json::from_str(text.trim()) {
        Ok(number @ Value::Number(_)) => Ok(number),
        _ => Err(Value::String(text)),
    }
}

/// The strings of a list as one: models often send commands as a list, which a shell reads back as it was.
fn joined(sent: &Value) -> Option<String> {
    let words: Option<Vec<&str>> = sent.as_array()?.iter().map(Value::as_str).collect();
    match words?.as_slice() {
        [] => None,
        [word] => Some((*word).to_owned()),
        words => Some(words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// A word of a command line, in quotes if a shell would read it otherwise.
fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")).into(),
    }
}

/// Deserializes accepted arguments. The schema does not express every error of the type: such a message names the
/// argument, and no types of Rust.
pub(crate) fn read<'a, T, D>(from: D) -> Result<T, Fields>
where
    T: DeserializeOwned,
    D: Deserializer<'a, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize(from).map_err(|error| {
        let at = error.path().to_string();
        let name = if at == "." { WHOLE } else { &at };
        Fields::one(name, without_rust_types(&error.inner().to_string()))
    })
}

/// A message of serde_json, with types of JSON in place of those of Rust.
fn without_rust_types(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or(message);
    if message.starts_with("data did not match any variant") {
        return "expected one of the forms that the tool's description names".to_owned();
    }
    if let Some((sent, wanted)) = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.split_once(", expected "))
    {
        return format!("expected {}, got {}", json_type(wanted), json_type(sent));
    }
    if let Some((sent, wanted)) =
        message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected "))
    {
        return format!("expected {wanted}, got {sent}");
    }
    let (problem, wanted) = message.split_once("expected ").unwrap_or((message, ""));
    let wanted = match wanted.split(' ').next().unwrap_or_default() {
        "struct" | "newtype" => "an object",
        "enum" => "one of the values that the tool's description names",
        "tuple" => "an array",
        _ => wanted,
    };
    let wanted = wanted.replace("a map", "an object").replace("a sequence", "an array");
    let problem = problem.replace("map", "object").replace("sequence", "array");
    if wanted.is_empty() { problem } else { format!("{problem}expected {wanted}") }
}

/// The type of JSON for a type in a message of serde_json.
fn json_type(kind: &str) -> String {
    let name = match kind.split(' ').next().unwrap_or_default() {
        "struct" | "newtype" | "map" => "an object",
        "enum" => "one of the values that the tool's description names",
        "tuple" | "sequence" => "an array",
        "number" => "a number",
        _ => return kind.replace("a map", "an object").replace("a sequence", "an array"),
    };
    name.to_owned()
}

fn to_boolean(sent: &Value) -> Option<bool> {
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

fn to_integer(bounds: Bounds, sent: Value) -> Result<Value, Value> {
    let (spelling, is_number) = match &sent {
        Value::Number(number) => (number.as_str(), true),
        Value::String(text) => (text.trim(), false),
        _ => return Err(sent),
    };
    match whole(spelling).filter(|value| bounds.hold(Some(*value))) {
        None => Err(sent),
        // Digits alone need no conversion: JSON has no leading zeros.
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
    // Beyond 2^53 a float does not have every integer: the value may not be the one that was sent.
    let exact = value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
    exact.then(|| i128::from(value as i64))
}

fn wide(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// The value of an enumeration that a text spells, in any case.
fn to_enum_value(values: &[String], text: String) -> Result<Value, Value> {
    let value = values.iter().find(|value| value.eq_ignore_ascii_case(text.trim()));
    value.map(|value| Value::String(value.clone())).ok_or(Value::String(text))
}

/// The values of an enumeration; none for any other schema.
fn enum_values(schema: &Value) -> Option<Vec<String>> {
    let values = schema.get("enum")?.as_array()?.iter();
    Some(values.filter_map(Value::as_str).map(str::to_owned).collect())
}

/// A phrase for the values that a schema allows.
fn describe_expected(schema: &Value) -> String {
    let bounds = |least, most| Bounds::of(schema, least, most);
    match schema.as_object().and_then(primary_type) {
        Some("boolean") => "true or false".to_owned(),
        Some("integer") => format!("an integer{}", between(bounds("minimum", "maximum"))),
        Some("number") => "a number".to_owned(),
        Some("string") => match enum_values(schema) {
            Some(values) => format!("one of {}", values.join(", ")),
            None => "a string".to_owned(),
        },
        Some("array") => format!(
            "an array{}{}",
            of(schema.get("items")),
            between(bounds("minItems", "maxItems"))
        ),
        Some("object") => format!("an object{}", with_members(schema)),
        _ => "a value".to_owned(),
    }
}

/// The members that an object must have.
fn with_members(schema: &Value) -> String {
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<String> =
        names.filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(" with {}", names.join(", ")),
    }
}

fn of(items: Option<&Value>) -> String {
    match items.and_then(Value::as_object).and_then(primary_type) {
        Some("object") => format!(" of objects{}", items.map(with_members).unwrap_or_default()),
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

/// A phrase for a value that was sent.
fn describe(sent: &Value) -> String {
    match sent {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {}", cut(&number.to_string())),
        Value::String(text) => format!("the string {}", quoted(text)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The beginning of a caller's text, quoted.
pub(crate) fn quoted(text: &str) -> String {
    format!("{:?}", cut(text))
}

fn shorten(text: &mut String, max_bytes: usize) {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push('…');
    }
}

fn cut(text: &str) -> String {
    let mut start: String = text.chars().take(MAX_QUOTED_CHARS).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
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
        match accept(&CompiledSchema::of(&schema()), sent.clone()) {
            Ok(accepted) => accepted,
            Err(fields) => panic!("{sent} was refused: {fields:?}"),
        }
    }

    fn refused(sent: Value) -> Value {
        match accept(&CompiledSchema::of(&schema()), sent.clone()) {
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
            (
                json!({"path": ["sh", "-c", "ls -la"]}),
                "expected a string, got an array of 3; send one string, such as \"sh -c 'ls -la'\"",
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
    fn r1_a_list_or_an_object_in_a_string_is_taken_where_no_string_is() {
        assert_eq!(
            accepted(
                json!({"path": "[1]", "lines": "[1, \"2\"]", "inner": "{\"deep\": \"true\"}"})
            ),
            json!({"path": "[1]", "lines": [1, 2], "inner": {"deep": true}})
        );
        assert_eq!(
            refused(json!({"path": "/a", "lines": "{}"}))["lines"],
            "expected an array of integers, got the string \"{}\""
        );
        assert_eq!(
            refused(json!({"path": "/a", "paths": "[]"}))["paths"],
            "expected an array of strings (1 to 3), got an array of 0"
        );
    }

    #[test]
    fn an_object_that_is_expected_is_described_by_its_required_members() {
        assert_eq!(
            refused(json!({"path": "/a", "inner": "deep"}))["inner"],
            "expected an object with `deep`, got the string \"deep\""
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
            match accept(&CompiledSchema::of(&schema()), sent.clone()) {
                // What was accepted once is accepted again, unchanged.
                Ok(accepted) => prop_assert_eq!(accept(&CompiledSchema::of(&schema()), accepted.clone()), Ok(accepted)),
                Err(fields) => prop_assert!(!fields.is_empty()),
            }
        }

        #[test]
        fn r1_any_schema_is_survived(schema in any_json(), sent in any_json()) {
            let _ = accept(&CompiledSchema::of(&schema), sent);
        }
    }
}
