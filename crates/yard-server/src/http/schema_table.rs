//! The fields of a JSON schema as an HTML table: name, type and description. Nested fields are below their parent.

use std::fmt::Write as _;

use serde_json::Value;

use super::html::escaped;

/// The table; empty if the schema has no fields.
pub(super) fn table(schema: &Value) -> String {
    let mut rows = String::new();
    add_rows(&mut rows, schema, "");
    if rows.is_empty() { rows } else { format!("<table>{rows}</table>") }
}

fn add_rows(rows: &mut String, schema: &Value, prefix: &str) {
    let required = schema["required"].as_array();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let name_path = format!("{prefix}{name}");
        let is_required = required.is_some_and(|names| names.contains(&Value::from(name.as_str())));
        // Writing into a string cannot fail.
        let _ = write!(
            rows,
            "<tr><td><code>{}</code><td>{}{}<td>{}",
            escaped(&name_path),
            escaped(&type_of(property)),
            if is_required { "" } else { ", optional" },
            description_html(property)
        );
        match property.get("items") {
            Some(items) => add_rows(rows, items, &format!("{name_path}[].")),
            None => add_rows(rows, property, &format!("{name_path}.")),
        }
    }
}

/// The values that a schema lists.
fn allowed_values(property: &Value) -> impl Iterator<Item = &str> {
    property["enum"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn type_of(property: &Value) -> String {
    let all: Vec<&str> = allowed_values(property).collect();
    if !all.is_empty() {
        return all.join(", ");
    }
    let name = match &property["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    };
    match property["items"]["type"].as_str() {
        Some(inside) if inside != "object" => format!("{name} of {inside}"),
        _ => name,
    }
}

/// The description, with names as code.
fn description_html(property: &Value) -> String {
    let text = property["description"].as_str().unwrap_or_default();
    with_code_spans(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A text as markup, with the parts between backticks as code.
pub(super) fn with_code_spans(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", escaped(part)),
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_fields_are_below_their_parent_and_optional_ones_are_marked() {
        let schema = json!({
            "required": ["files"],
            "properties": {
                "files": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"path": {"type": "string", "description": "As `/a<b`."}},
                    "required": ["path"],
                }},
                "mode": {"type": "string", "enum": ["plan", "build"]},
            },
        });
        let expected = "<table><tr><td><code>files</code><td>array<td>\
            <tr><td><code>files[].path</code><td>string<td>As <code>/a&lt;b</code>.\
            <tr><td><code>mode</code><td>plan, build, optional<td></table>";
        assert_eq!(table(&schema), expected);
        assert_eq!(table(&json!({"type": "string"})), "");
    }
}
