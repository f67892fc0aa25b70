//! Renders a reply as text for a model: without quotes, braces and escapes, so that a file reads as the file and a list
//! as a list. It knows JSON values and nothing of tools.

use serde_json::{Map, Value};

/// The indentation of nested values.
const INDENT: &str = "  ";

/// A reply as text.
pub(super) fn render(reply: &Value) -> String {
    let mut text = String::new();
    match reply {
        Value::Object(members) => write_members(&mut text, "", members),
        Value::Array(items) => write_items(&mut text, "", items),
        scalar => text.push_str(&scalar_text(scalar).unwrap_or_default()),
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// Writes names and values, one per line. Texts with several lines come last and are not indented.
fn write_members(text: &mut String, indent: &str, members: &Map<String, Value>) {
    let is_long = |value: &&Value| value.as_str().is_some_and(|text| text.contains('\n'));
    for (name, value) in members.iter().filter(|(_, value)| !is_long(value)) {
        write_member(text, indent, name, value);
    }
    for (name, value) in members.iter().filter(|(_, value)| is_long(value)) {
        let value = value.as_str().unwrap_or_default();
        push_line(text, &[indent, name, ":"]);
        text.push_str(value);
        if !value.ends_with('\n') {
            text.push('\n');
        }
    }
}

fn write_member(text: &mut String, indent: &str, name: &str, value: &Value) {
    match value {
        // A missing value needs no line.
        Value::Null => {}
        Value::Array(items) if items.is_empty() => push_line(text, &[indent, name, ": none"]),
        Value::Array(items) => {
            push_line(text, &[indent, name, ":"]);
            write_items(text, indent, items);
        }
        Value::Object(members) => write_object(text, indent, &format!("{name}:"), members),
        scalar => {
            push_line(text, &[indent, name, ": ", &scalar_text(scalar).unwrap_or_default()]);
        }
    }
}

/// An object behind its name or its dash: on the same line if it is short, else below it.
fn write_object(text: &mut String, indent: &str, head: &str, members: &Map<String, Value>) {
    match one_line(members) {
        Some(line) => push_line(text, &[indent, head, " ", &line]),
        None => {
            push_line(text, &[indent, head]);
            write_members(text, &format!("{indent}{INDENT}"), members);
        }
    }
}

fn write_items(text: &mut String, indent: &str, items: &[Value]) {
    for item in items {
        match item {
            Value::Object(members) => write_object(text, indent, "-", members),
            Value::Array(inner) => {
                push_line(text, &[indent, "-"]);
                write_items(text, &format!("{indent}{INDENT}"), inner);
            }
            scalar => push_line(text, &[indent, "- ", &scalar_text(scalar).unwrap_or_default()]),
        }
    }
}

/// An object of short values only, on one line.
fn one_line(members: &Map<String, Value>) -> Option<String> {
    let mut parts = Vec::with_capacity(members.len());
    for (name, value) in members {
        match value {
            Value::Null => {}
            Value::String(text) if text.contains('\n') => return None,
            Value::Array(items) if items.is_empty() => {}
            Value::Array(_) | Value::Object(_) => return None,
            scalar => parts.push(format!("{name}: {}", scalar_text(scalar)?)),
        }
    }
    Some(parts.join(", "))
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null => Some("none".to_owned()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn push_line(text: &mut String, parts: &[&str]) {
    parts.iter().for_each(|part| text.push_str(part));
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_reads_as_the_file_and_a_list_as_a_list() {
        let reply = json!({
            "content": "fn main() {\n    \"x\"\n}\n",
            "path": "/a.rs",
            "next": null,
            "lines": 3,
            "entries": [{"name": "a", "size": 1, "gone": null}, {"name": "b", "tags": ["x"]}],
            "none": [],
            "where": {"from": 1, "to": 2},
            "deep": {"in": {"it": "y\nz"}},
        });
        let expected = "\
path: /a.rs
lines: 3
entries:
- name: a, size: 1
-
  name: b
  tags:
  - x
none: none
where: from: 1, to: 2
deep:
  in:
    it:
y
z
content:
fn main() {
    \"x\"
}";
        assert_eq!(render(&reply), expected);
        assert_eq!(render(&json!("plain")), "plain");
        assert_eq!(render(&json!([1, [2], null])), "- 1\n-\n  - 2\n- none");
    }
}
