//! What of a call may be kept in a transcript: values of secret-looking keys are left out, long texts
//! and lists are cut, and each cut says how much is missing.

use serde_json::{Map, Value, json};

/// Bytes of one text that are kept.
const TEXT_BYTES: usize = 2 << 10;
/// Items of one list, and members of one object, that are kept.
const ITEMS: usize = 50;
/// Levels of nesting that are kept.
const LEVELS: usize = 12;
/// Bytes of one value, written as JSON, that are kept.
const VALUE_BYTES: usize = 16 << 10;

/// What stands for a secret.
const REDACTED: &str = "[redacted]";
/// What the name of a secret holds, without case, `-` and `_`.
const SECRET_WORDS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "authorization",
    "privatekey",
    "accesskey",
    "credential",
];

/// The value as it may be kept.
pub(crate) fn kept(value: &Value) -> Value {
    let kept = kept_at(value, LEVELS);
    let text = kept.to_string();
    if text.len() <= VALUE_BYTES { kept } else { Value::String(cut(&text, VALUE_BYTES)) }
}

fn kept_at(value: &Value, levels: usize) -> Value {
    match value {
        Value::String(text) => Value::String(cut(text, TEXT_BYTES)),
        Value::Array(_) | Value::Object(_) if levels == 0 => json!("[nested too deep to be kept]"),
        Value::Array(items) => Value::Array(kept_items(items, levels - 1)),
        Value::Object(members) => Value::Object(kept_members(members, levels - 1)),
        plain => plain.clone(),
    }
}

fn kept_items(items: &[Value], levels: usize) -> Vec<Value> {
    let mut kept: Vec<Value> = items.iter().take(ITEMS).map(|item| kept_at(item, levels)).collect();
    if items.len() > ITEMS {
        kept.push(Value::String(format!("[{} more items]", items.len() - ITEMS)));
    }
    kept
}

fn kept_members(members: &Map<String, Value>, levels: usize) -> Map<String, Value> {
    let one = |(key, value): (&String, &Value)| {
        let secret = is_secret(key) && !value.is_null();
        let value = if secret { json!(REDACTED) } else { kept_at(value, levels) };
        (cut(key, TEXT_BYTES), value)
    };
    let mut kept: Map<String, Value> = members.iter().take(ITEMS).map(one).collect();
    if members.len() > ITEMS {
        kept.insert("…".to_owned(), json!(format!("[{} more members]", members.len() - ITEMS)));
    }
    kept
}

fn is_secret(key: &str) -> bool {
    let plain = |character: &char| !matches!(character, '-' | '_' | ' ');
    let key: String = key.chars().filter(plain).flat_map(char::to_lowercase).collect();
    key.ends_with("token") || SECRET_WORDS.iter().any(|word| key.contains(word))
}

/// The beginning of a text that is too long, with how much more there was.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes);
    format!("{}… [{} more bytes]", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r13_secrets_are_left_out_at_any_depth() {
        let sent = json!({
            "path": "/a", "Password": "p", "api_key": "k", "API-Key": 5, "access_token": "t",
            "headers": [{"Authorization": "Bearer x", "client_secret": {"deep": "s"}}],
            "token": null, "tokens": 12
        });
        assert_eq!(
            kept(&sent),
            json!({
                "path": "/a", "Password": "[redacted]", "api_key": "[redacted]",
                "API-Key": "[redacted]", "access_token": "[redacted]",
                "headers": [{"Authorization": "[redacted]", "client_secret": "[redacted]"}],
                "token": null, "tokens": 12
            })
        );
    }

    #[test]
    fn r12_long_values_are_cut_and_say_so() {
        let long = "ä".repeat(3_000);
        let shown = kept(&json!({"content": long}));
        let shown = shown["content"].as_str().unwrap();
        assert!(shown.len() < 2_100 && shown.ends_with(" more bytes]"), "{shown}");
        let many = kept(&json!(vec![1; 500]));
        assert_eq!(many.as_array().unwrap().len(), 51);
        assert_eq!(many[50], "[450 more items]");
        let wide = kept(&json!(vec!["x".repeat(2_000); 50]));
        assert!(wide.as_str().unwrap().len() < 17_000);
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(kept(&deep).to_string().len() < 100);
    }
}
