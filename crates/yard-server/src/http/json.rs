//! Writes a value as JSON, byte for byte as `serde_json` does. Most of an answer is one long text, and
//! what there is to escape in it is found eight bytes at a time: that writer looks at each byte.

use std::io::Write as _;

use serde_json::Value;

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

/// The value as compact JSON.
pub(super) fn written(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(room(value));
    write(&mut out, value);
    out
}

/// About how many bytes it takes: the texts of the two outer levels, where the long ones are.
fn room(value: &Value) -> usize {
    let text = |value: &Value| value.as_str().map_or(32, |text| text.len() + text.len() / 16);
    let inner = |value: &Value| match value {
        Value::Object(map) => map.values().map(text).sum(),
        other => text(other),
    };
    let outer: usize = value.as_object().map_or(0, |map| map.values().map(inner).sum());
    outer + 512
}

fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        // Writing into memory cannot fail.
        Value::Number(number) => drop(write!(out, "{number}")),
        Value::String(text) => write_text(out, text),
        Value::Array(values) => {
            out.push(b'[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(out, value);
            }
            out.push(b']');
        }
        Value::Object(map) => {
            out.push(b'{');
            for (at, (name, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_text(out, name);
                out.push(b':');
                write(out, value);
            }
            out.push(b'}');
        }
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, after) = rest.split_at(plain_len(rest));
        out.extend_from_slice(plain);
        let Some((byte, after)) = after.split_first() else { break };
        write_escaped(out, *byte);
        rest = after;
    }
    out.push(b'"');
}

fn write_escaped(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        // Writing into memory cannot fail.
        _ => return drop(write!(out, "\\u{byte:04x}")),
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// How many bytes at the start need no escape.
fn plain_len(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let found = special(u64::from_le_bytes(*word));
        if found != 0 {
            return at * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    let tail = rest.iter().position(is_special).unwrap_or(rest.len());
    words.len() * 8 + tail
}

/// The high bit of each byte that needs an escape; above the lowest of them, also of some that do not.
fn special(word: u64) -> u64 {
    let below = |word: u64, least: u8| word.wrapping_sub(ONES * u64::from(least)) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | is(b'"') | is(b'\\')) & HIGHS
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn same(value: &Value) {
        assert_eq!(written(value), serde_json::to_vec(value).unwrap(), "{value}");
    }

    #[test]
    fn every_character_is_written_as_by_serde_json_wherever_it_stands() {
        for character in (0..=0x2ff).chain([0x7fff, 0xfeff, 0x1_f600]).filter_map(char::from_u32) {
            for before in 0..17 {
                for neighbour in ['a', '\u{80}', '!', '#', '[', ']', '\u{7f}', ' '] {
                    let start = neighbour.to_string().repeat(before);
                    same(&Value::String(format!("{start}{character}{neighbour}{character}tail")));
                }
            }
        }
    }

    #[test]
    fn values_are_written_as_by_serde_json() {
        same(&json!([]));
        same(&json!({}));
        same(&json!({"a": [null, true, false, {"b\n": "\"", "": []}], "n": [0, -1, 1.5, 1e300]}));
        same(
            &serde_json::from_str(r#"{"n": -0, "long": 1234567890123456789012345678901234567890}"#)
                .unwrap(),
        );
        same(&json!("x\ny".repeat(5_000)));
    }
}
