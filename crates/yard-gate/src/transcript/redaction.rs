//! Redaction of calls. In a transcript the values of secret-looking keys are left out, long texts and lists are cut, and
//! each cut says how much is missing. A log shows an outline, which holds no content at all.

use serde_json::{Map, Value, json};

use crate::open::caller_hints::LoggedMembers;

/// The longest text in a transcript, in bytes.
const MAX_TEXT_BYTES: usize = 2 << 10;
/// How many items of a list, or members of an object, a transcript has.
const MAX_ITEMS: usize = 50;
/// How many levels of nesting a transcript has.
const MAX_LEVELS: usize = 12;
/// The largest value in a transcript, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 16 << 10;

/// The text in the place of a secret.
const REDACTED: &str = "[redacted]";
/// Parts of names of secrets, without case, `-` and `_`.
const SECRET_WORDS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "authorization",
    "privatekey",
    "accesskey",
    "credential",
    "cookie",
    "authtoken",
    "accesstoken",
];

/// The longest text that a log shows, in bytes.
const MAX_SHOWN_BYTES: usize = 256;
/// How many items of a list a log shows.
const MAX_SHOWN_ITEMS: usize = 8;
/// The longest outline, in bytes.
const MAX_OUTLINE_BYTES: usize = 4 << 10;

/// The outline of the arguments or the answer of a call, for a log: JSON, bounded, without contents.
pub(crate) fn outline(value: &Value, members: &LoggedMembers) -> String {
    let mut text = String::with_capacity(128);
    Outline { members }.write_opened(&mut text, value);
    if text.len() <= MAX_OUTLINE_BYTES { text } else { cut(&text, MAX_OUTLINE_BYTES) }
}

/// Writes outlines. Dialects and doors name the members whose values it shows.
struct Outline<'m> {
    members: &'m LoggedMembers,
}

impl Outline<'_> {
    fn write_opened(&self, out: &mut String, value: &Value) {
        match value {
            Value::Object(members) => {
                let mut before = '{';
                for (name, value) in members.iter().take(MAX_ITEMS) {
                    out.push(before);
                    self.write_outlined(out, name, value);
                    before = ',';
                }
                out.push_str(if before == '{' { "{}" } else { "}" });
            }
            Value::Array(items) => {
                write_first(out, items, |out, item| self.write_opened(out, item))
            }
            other => write_measured(out, other),
        }
    }

    fn write_outlined(&self, out: &mut String, name: &str, value: &Value) {
        // The name of an undeclared member may be content as well.
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_declared = name.len() <= 40 && name.bytes().all(is_word);
        out.push('"');
        out.push_str(if is_declared { name } else { "…" });
        out.push_str("\":");
        if is_declared && self.members.shown.contains(&name) {
            write_plain(out, value);
        } else if is_declared && self.members.opened.contains(&name) {
            self.write_opened(out, value);
        } else {
            write_measured(out, value);
        }
    }
}

fn write_plain(out: &mut String, value: &Value) {
    match value {
        Value::Array(items) => write_first(out, items, |out, item| match item {
            Value::String(_) => write_plain(out, item),
            other => write_measured(out, other),
        }),
        Value::String(text) if text.len() <= MAX_SHOWN_BYTES => write_text(out, text),
        Value::String(text) => write_text(out, &cut(text, MAX_SHOWN_BYTES)),
        Value::Number(number) if number.as_str().len() <= 20 => out.push_str(number.as_str()),
        other => write_measured(out, other),
    }
}

fn write_first(out: &mut String, items: &[Value], write: impl Fn(&mut String, &Value)) {
    let mut before = '[';
    for item in items.iter().take(MAX_SHOWN_ITEMS) {
        out.push(before);
        write(out, item);
        before = ',';
    }
    if items.len() > MAX_SHOWN_ITEMS {
        out.push_str(&format!(",\"[{} more items]\"", items.len() - MAX_SHOWN_ITEMS));
    }
    out.push_str(if before == '[' { "[]" } else { "]" });
}

/// The size of a value instead of the value.
fn write_measured(out: &mut String, value: &Value) {
    let measure = match value {
        Value::Null => return out.push_str("null"),
        Value::Bool(word) => return out.push_str(if *word { "true" } else { "false" }),
        Value::Number(_) => return out.push_str("\"[a number]\""),
        Value::String(text) => (text.len(), "bytes"),
        Value::Array(items) => (items.len(), "items"),
        Value::Object(members) => (members.len(), "members"),
    };
    out.push_str(&format!("\"[{} {}]\"", measure.0, measure.1));
}

fn write_text(out: &mut String, text: &str) {
    // A text can be written as JSON.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// The value for a transcript.
pub(crate) fn redacted(value: &Value, secret: &[&str]) -> Value {
    let redacted = redacted_at(value, MAX_LEVELS, secret);
    let text = redacted.to_string();
    if text.len() <= MAX_VALUE_BYTES {
        redacted
    } else {
        Value::String(cut(&text, MAX_VALUE_BYTES))
    }
}

fn redacted_at(value: &Value, levels: usize, secret: &[&str]) -> Value {
    match value {
        Value::String(text) => Value::String(cut(text, MAX_TEXT_BYTES)),
        Value::Array(_) | Value::Object(_) if levels == 0 => json!("[nested too deep to be kept]"),
        Value::Array(items) => Value::Array(redacted_items(items, levels - 1, secret)),
        Value::Object(members) => Value::Object(redacted_members(members, levels - 1, secret)),
        plain => plain.clone(),
    }
}

fn redacted_items(items: &[Value], levels: usize, secret: &[&str]) -> Vec<Value> {
    let mut redacted: Vec<Value> =
        items.iter().take(MAX_ITEMS).map(|item| redacted_at(item, levels, secret)).collect();
    if items.len() > MAX_ITEMS {
        redacted.push(Value::String(format!("[{} more items]", items.len() - MAX_ITEMS)));
    }
    redacted
}

fn redacted_members(
    members: &Map<String, Value>,
    levels: usize,
    secret: &[&str],
) -> Map<String, Value> {
    let one = |(key, value): (&String, &Value)| {
        let is_left_out = is_secret(key, secret) && !value.is_null();
        let value = if is_left_out { json!(REDACTED) } else { redacted_at(value, levels, secret) };
        (cut(key, MAX_TEXT_BYTES), value)
    };
    let mut redacted: Map<String, Value> = members.iter().take(MAX_ITEMS).map(one).collect();
    if members.len() > MAX_ITEMS {
        redacted
            .insert("…".to_owned(), json!(format!("[{} more members]", members.len() - MAX_ITEMS)));
    }
    redacted
}

fn is_secret(key: &str, named: &[&str]) -> bool {
    let plain = |character: &char| !matches!(character, '-' | '_' | ' ');
    let key: String = key.chars().filter(plain).flat_map(char::to_lowercase).collect();
    named.contains(&key.as_str())
        || key.ends_with("token")
        || SECRET_WORDS.iter().any(|word| key.contains(word))
}

/// A text, cut after at most `bytes` bytes with the size of the rest.
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

    const MEMBERS: LoggedMembers = LoggedMembers {
        shown: &["path", "paths", "limit", "cursor", "code"],
        opened: &["entries", "matches", "result"],
        secret: &["chars"],
    };

    #[test]
    fn r13_secrets_are_left_out_at_any_depth() {
        let sent = json!({
            "path": "/a", "Password": "p", "api_key": "k", "API-Key": 5, "access_token": "t",
            "headers": [{"Authorization": "Bearer x", "client_secret": {"deep": "s"}}],
            "token": null, "tokens": 12
        });
        assert_eq!(
            redacted(&sent, &[]),
            json!({
                "path": "/a", "Password": "[redacted]", "api_key": "[redacted]",
                "API-Key": "[redacted]", "access_token": "[redacted]",
                "headers": [{"Authorization": "[redacted]", "client_secret": "[redacted]"}],
                "token": null, "tokens": 12
            })
        );
    }

    #[test]
    fn r13_an_outline_shows_places_and_sizes_and_no_content() {
        let args = json!({
            "path": "/a", "content": {"pin": 1234}, "old_string": "hush", "limit": 5,
            "overwrite": true, "sk-live-1": 1, "answers": {"path": "hush"}, "cursor": "c"
        });
        assert_eq!(
            outline(&args, &MEMBERS),
            json!({
                "path": "/a", "content": "[1 members]", "old_string": "[4 bytes]", "limit": 5,
                "overwrite": true, "…": "[a number]", "answers": "[1 members]", "cursor": "c"
            })
            .to_string()
        );
        let answer = json!({
            "success": true,
            "result": {"matches": [{"path": "/a", "line_text": "hush", "before_context": ["hush"]}]},
            "error": "near: hush", "code": "NOT_FOUND"
        });
        let shown = outline(&answer, &MEMBERS);
        assert!(shown.contains("\"path\":\"/a\"") && shown.contains("NOT_FOUND"), "{shown}");
        assert!(!outline(&answer, &MEMBERS).contains("hush"), "{shown}");
        assert_eq!(outline(&json!("hush"), &MEMBERS), "\"[4 bytes]\"");
    }

    #[test]
    fn r12_an_outline_is_bounded() {
        let wide =
            json!({"paths": vec!["x".repeat(9_000); 90], "result": {"entries": vec![1; 90]}});
        let shown = outline(&wide, &MEMBERS);
        assert!(shown.len() < 5_000 && shown.contains("[82 more items]"), "{shown}");
    }

    #[test]
    fn r12_long_values_are_cut_and_say_so() {
        let long = "ä".repeat(3_000);
        let shown = redacted(&json!({"content": long, "chars": "typed"}), MEMBERS.secret);
        assert_eq!(shown["chars"], "[redacted]");
        let shown = shown["content"].as_str().unwrap();
        assert!(shown.len() < 2_100 && shown.ends_with(" more bytes]"), "{shown}");
        let many = redacted(&json!(vec![1; 500]), &[]);
        assert_eq!(many.as_array().unwrap().len(), 51);
        assert_eq!(many[50], "[450 more items]");
        let wide = redacted(&json!(vec!["x".repeat(2_000); 50]), &[]);
        assert!(wide.as_str().unwrap().len() < 17_000);
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(redacted(&deep, &[]).to_string().len() < 100);
    }
}
