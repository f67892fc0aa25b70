//! Schemas, derived from the types. Models get plain JSON Schema that every vendor
//! takes: no references, no unions with null in arguments, no number formats of Rust.

use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments, and the description that their doc comment gives the tool.
pub(crate) fn input<T: JsonSchema>() -> (Value, String) {
    let mut schema = derived::<T>(Contract::Deserialize);
    tidy(&mut schema, Nulls::Absent);
    let about = match schema.as_object_mut().and_then(|object| object.shift_remove("description")) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    (schema, about)
}

/// Makes every argument required (X1). An argument without a default takes null.
pub(crate) fn require_all(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    for (name, property) in properties.iter_mut() {
        let is_required = required.iter().any(|known| known == name);
        if !is_required && property.get("default").is_none() {
            or_null(property);
        }
    }
    let all = properties.keys().map(|name| Value::from(name.as_str())).collect();
    object.insert("required".to_owned(), all);
}

/// Allows null besides the schema, and makes it the default.
fn or_null(property: &mut Value) {
    let mut inner = std::mem::take(property);
    let about = inner.as_object_mut().and_then(|inner| inner.shift_remove("description"));
    *property = json!({"anyOf": [inner, {"type": "null"}], "default": null});
    if let (Some(object), Some(about)) = (property.as_object_mut(), about) {
        object.shift_insert(0, "description".to_owned(), about);
    }
}

/// Whether every argument is required and no others are allowed: vendors can make their models follow such a schema
/// strictly.
pub(crate) fn is_strict(schema: &Value) -> bool {
    let Some(object) = schema.as_object() else { return false };
    if let Some(alternatives) = object.get("anyOf").and_then(Value::as_array) {
        return alternatives.iter().all(is_strict);
    }
    match object.get("type").and_then(Value::as_str) {
        None => false,
        Some("array") => object.get("items").is_some_and(is_strict),
        Some("object") => is_strict_object(object),
        Some(_) => true,
    }
}

fn is_strict_object(object: &Map<String, Value>) -> bool {
    let required = object.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let properties = object.get("properties").and_then(Value::as_object);
    object.get("additionalProperties") == Some(&Value::Bool(false))
        && properties
            .into_iter()
            .flatten()
            .all(|(name, property)| is_required(name) && is_strict(property))
}

/// The schema of a tool's reply. A field that may be null says so.
pub(crate) fn output<T: JsonSchema>() -> Value {
    let mut schema = derived::<T>(Contract::Serialize);
    tidy(&mut schema, Nulls::Shown);
    schema
}

/// The schemas directly below this one.
pub(crate) fn below(schema: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    schema.iter_mut().flat_map(|(keyword, value)| -> Box<dyn Iterator<Item = &mut Value>> {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(schemas)) => Box::new(schemas.values_mut()),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                Box::new(schemas.iter_mut())
            }
            ("items" | "additionalProperties", schema) => Box::new(std::iter::once(schema)),
            _ => Box::new(std::iter::empty()),
        }
    })
}

/// How a schema treats `Option`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// A value that is not sent: the schema is that of the value.
    Absent,
    /// A null in the answer.
    Shown,
}

fn derived<T: JsonSchema>(contract: Contract) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.contract = contract;
    });
    Schema::to_value(settings.into_generator().into_root_schema_for::<T>())
}

fn tidy(schema: &mut Value, nulls: Nulls) {
    let Value::Object(object) = schema else { return };
    object.shift_remove("title");
    drop_rust_formats(object);
    reflow_description(object);
    if nulls == Nulls::Absent {
        drop_null(object);
        close(object);
    }
    to_enum(object);
    for schema in below(object) {
        tidy(schema, nulls);
    }
}

/// `uint64` and similar ones are no formats of JSON Schema.
fn drop_rust_formats(object: &mut Map<String, Value>) {
    let numeric = matches!(primary_type(object), Some("integer" | "number"));
    if numeric {
        object.shift_remove("format");
    }
}

/// The one type that is not null, if the schema names one.
pub(crate) fn primary_type(object: &Map<String, Value>) -> Option<&str> {
    match object.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    }
}

/// Joins the lines of a doc comment.
fn reflow_description(object: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = object.get_mut("description") {
        let paragraphs = text
            .split("\n\n")
            .map(|paragraph| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" "));
        *text = paragraphs.collect::<Vec<_>>().join("\n\n");
    }
}

fn drop_null(object: &mut Map<String, Value>) {
    if let Some(name) = primary_type(object).map(str::to_owned) {
        object.insert("type".to_owned(), Value::String(name));
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.shift_remove("default");
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(only) = only_alternative(object) {
        object.shift_remove("anyOf");
        for (keyword, value) in only {
            object.entry(keyword).or_insert(value);
        }
    }
}

/// Converts a `oneOf` of constant strings to an `enum`, also where each string has a description of its own: models,
/// vendors and `args.rs` know no other form.
fn to_enum(object: &mut Map<String, Value>) {
    let alternatives = object.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let strings: Option<Vec<Vec<Value>>> = alternatives.map(constant_strings).collect();
    let strings = strings.map(|each| each.concat()).filter(|strings| !strings.is_empty());
    let Some(strings) = strings else { return };
    object.shift_remove("oneOf");
    object.insert("type".to_owned(), "string".into());
    object.insert("enum".to_owned(), Value::Array(strings));
}

/// The strings that a schema lists, if it lists strings only.
fn constant_strings(schema: &Value) -> Option<Vec<Value>> {
    let values = match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => vec![value.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        (None, _) => return None,
    };
    values.iter().all(Value::is_string).then_some(values)
}

/// `anyOf` a schema and null is that schema.
fn only_alternative(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    let alternatives = object.get("anyOf")?.as_array()?;
    let mut others = alternatives
        .iter()
        .filter(|schema| schema.get("type").and_then(Value::as_str) != Some("null"));
    match (others.next(), others.next()) {
        (Some(Value::Object(only)), None) => Some(only.clone()),
        _ => None,
    }
}

/// Refuses arguments that the schema does not name (R1).
fn close(object: &mut Map<String, Value>) {
    if object.get("type").and_then(Value::as_str) == Some("object")
        && !object.contains_key("additionalProperties")
    {
        object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        object.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

/// The placeholder for a tool's reply in a sample of an envelope.
pub const MARK: &str = "reply";

/// The schema of all values with the structure of `sample`; the schema `reply` takes the place of [`MARK`].
pub fn like(sample: &Value, reply: &Value) -> Value {
    match sample {
        Value::String(text) if text == MARK => reply.clone(),
        Value::Object(members) => {
            let properties: Map<String, Value> =
                members.iter().map(|(name, value)| (name.clone(), like(value, reply))).collect();
            let required: Vec<&String> = members.keys().collect();
            json!({"type": "object", "required": required, "properties": properties})
        }
        Value::Null => json!({"type": "null"}),
        Value::Bool(truth) => json!({"const": truth}),
        Value::String(_) => json!({"type": "string"}),
        Value::Number(_) | Value::Array(_) => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    fn ten() -> u64 {
        10
    }

    /// Counts
    /// things.
    ///
    /// Twice.
    #[derive(Deserialize, Serialize, JsonSchema)]
    #[allow(dead_code)]
    struct Sample {
        /// Where.
        path: String,
        /// How many.
        #[serde(default = "ten")]
        limit: u64,
        /// Which.
        kind: Option<Kind>,
        /// Inside.
        inner: Option<Inner>,
        /// Names.
        names: Option<Vec<String>>,
        /// Form.
        form: Option<Form>,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Form {
        /// As text.
        Text,
        /// As bytes.
        Bytes,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Kind {
        Big,
        Small,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        /// Depth.
        depth: Option<i64>,
    }

    #[test]
    fn arguments_are_plain_and_closed() {
        let (schema, about) = input::<Sample>();
        assert_eq!(about, "Counts things.\n\nTwice.");
        let expected = json!({
            "type": "object",
            "properties": {
                "path": {"description": "Where.", "type": "string"},
                "limit": {"description": "How many.", "type": "integer", "minimum": 0, "default": 10},
                "kind": {"description": "Which.", "type": "string", "enum": ["big", "small"]},
                "inner": {
                    "description": "Inside.",
                    "type": "object",
                    "properties": {"depth": {"description": "Depth.", "type": "integer"}},
                    "additionalProperties": false,
                },
                "names": {"description": "Names.", "type": "array", "items": {"type": "string"}},
                "form": {"description": "Form.", "type": "string", "enum": ["text", "bytes"]},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn x1_a_strict_schema_lists_every_argument() {
        let (mut schema, _) = input::<Inner>();
        assert!(!is_strict(&schema));
        require_all(&mut schema);
        let depth = json!({
            "description": "Depth.",
            "anyOf": [{"type": "integer"}, {"type": "null"}],
            "default": null,
        });
        let expected = json!({
            "type": "object",
            "properties": {"depth": depth},
            "additionalProperties": false,
            "required": ["depth"],
        });
        assert_eq!(schema, expected);
        assert!(is_strict(&schema));
        assert!(!is_strict(&input::<Sample>().0), "an object inside has an optional member");
    }

    #[test]
    fn replies_say_what_may_be_null() {
        let schema = output::<Inner>();
        assert_eq!(schema["properties"]["depth"]["type"], json!(["integer", "null"]));
        assert_eq!(schema["required"], json!(["depth"]));
        assert_eq!(schema.get("additionalProperties"), None);
    }
}
