//! Schemas, derived from the types. What a model is shown is plain JSON Schema that every vendor
//! takes: nothing referenced, no unions with null in arguments, no number formats of Rust.

use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

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

/// The schema of a tool's reply. A field that may be null says so.
pub(crate) fn output<T: JsonSchema>() -> Value {
    let mut schema = derived::<T>(Contract::Serialize);
    tidy(&mut schema, Nulls::Shown);
    schema
}

/// The schemas directly below this one, with the place where they stand.
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
    for schema in below(object) {
        tidy(schema, nulls);
    }
}

/// `uint64` and its like are no formats of JSON Schema.
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

/// A doc comment is wrapped for people who read source; a description is not.
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
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(only) = only_alternative(object) {
        object.shift_remove("anyOf");
        for (keyword, value) in only {
            object.entry(keyword).or_insert(value);
        }
    }
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

/// Arguments that are not named are not taken (R1).
fn close(object: &mut Map<String, Value>) {
    if object.get("type").and_then(Value::as_str) == Some("object")
        && !object.contains_key("additionalProperties")
    {
        object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        object.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

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
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn replies_say_what_may_be_null() {
        let schema = output::<Inner>();
        assert_eq!(schema["properties"]["depth"]["type"], json!(["integer", "null"]));
        assert_eq!(schema["required"], json!(["depth"]));
        assert_eq!(schema.get("additionalProperties"), None);
    }
}
