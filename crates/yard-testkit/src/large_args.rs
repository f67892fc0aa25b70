//! Arguments that are large in the ways that make careless code slow: very many of one kind, very deep, very
//! long, and patterns that are hard to compile or to match. They are made from the schema of the arguments.

use serde_json::{Map, Value, json};

/// A value that a property usually has, so that the call gets as far as possible.
fn usual(name: &str, schema: &Value) -> Value {
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("");
    match (name, kind) {
        ("pattern" | "path_pattern" | "name" | "query", _) => json!("value"),
        ("old_string" | "find" | "old_str" | "oldText", _) => json!("value_000001 ="),
        _ if schema["enum"].is_array() => schema["enum"][0].clone(),
        (name, "string" | "") if name.contains("path") || name.contains("file") => {
            json!("/rows.txt")
        }
        (_, "boolean") => json!(false),
        (_, "integer" | "number") => json!(1),
        (_, "array") => json!([]),
        (_, "object") => json!({}),
        _ => json!("x"),
    }
}

/// An item of a list: each is another one, as far as its schema lets it be.
fn item(schema: &Value, whole: &Value, at: usize) -> Value {
    let schema = match schema["$ref"].as_str() {
        Some(place) => whole.pointer(place.trim_start_matches('#')).unwrap_or(schema),
        None => schema,
    };
    let Some(properties) = schema["properties"].as_object() else {
        return match schema["type"].as_str() {
            Some("integer" | "number") => json!(at),
            _ => json!(format!("value_{at:06} =")),
        };
    };
    let value = |(name, of): (&String, &Value)| {
        let is_text = of["type"].as_str() == Some("string") && !of["enum"].is_array();
        let text = if name.to_lowercase().contains("new") || name == "replace" {
            json!(format!("other_{at:06} ="))
        } else {
            json!(format!("value_{at:06} ="))
        };
        (name.clone(), if is_text { text } else { usual(name, of) })
    };
    Value::Object(properties.iter().map(value).collect())
}

/// Texts that are hard to take.
fn texts(size: usize) -> Vec<String> {
    let times = |part: &str| part.repeat(size / part.len());
    vec![
        times("a"),
        times("line\n"),
        times("\n"),
        times("/a"),
        times("../"),
        times("\u{1b}\\\""),
        times("é"),
        times("**/"),
        times("{a,b}"),
        times("[a-z]*"),
        times("(a|b?)*"),
        times("("),
        times("(?:a{1,9})"),
        format!("({}){{1000}}", "a|".repeat(size / 2)),
        "(?:(?:(?:(?:a{9}){9}){9}){9}){9}".to_owned(),
        r"\p{L}{1000}".to_owned(),
        times("%_"),
        times("*** Update File: rows.txt\n"),
        format!(
            "*** Begin Patch\n*** Update File: rows.txt\n{}*** End Patch\n",
            times("@@ x\n-y\n")
        ),
        format!(
            "*** Begin Patch\n{}*** End Patch\n",
            times("*** Update File: rows.txt\n@@\n-value_000001 = of some length;\n+x\n")
        ),
        format!("--- a/rows.txt\n+++ b/rows.txt\n{}", times("@@ -1 +1 @@\n-a\n+b\n")),
        times("{\"a\":"),
        times("SELECT "),
        format!("http://{}/", "a.".repeat(size / 2)),
    ]
}

/// Arguments of about `size` bytes that are large in one way each, and what is large in them.
pub fn large(schema: &Value, size: usize) -> Vec<(String, Value)> {
    let nested = (0..100).fold(json!([]), |inner, _| json!([inner]));
    let unknown: Map<_, _> = (0..size / 12).map(|at| (format!("u{at}"), json!(1))).collect();
    let mut all = vec![
        ("unknown arguments".to_owned(), Value::Object(unknown)),
        ("deep lists".to_owned(), json!(vec![nested.clone(); size / 200])),
    ];
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let mut add = |name: &String, what: &str, value: Value| {
        let mut args: Map<String, Value> =
            properties.iter().map(|(name, of)| (name.clone(), usual(name, of))).collect();
        args.insert(name.clone(), value);
        all.push((format!("{name}: {what}"), Value::Object(args)));
    };
    for (name, of) in properties {
        for text in texts(size) {
            let begin: String = text.chars().take(24).collect();
            add(name, &begin, json!(text));
        }
        add(name, "deep lists", json!(vec![nested.clone(); size / 200]));
        add(name, "numbers", json!((0..size / 8).collect::<Vec<_>>()));
        let items = (0..size / 40).map(|at| item(&of["items"], schema, at));
        add(name, "many", json!(items.collect::<Vec<_>>()));
        let keys: Map<_, _> = (0..size / 12).map(|at| (format!("u{at}"), json!(1))).collect();
        add(name, "keys", Value::Object(keys));
    }
    all
}
