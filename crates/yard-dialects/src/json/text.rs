//! Writes a text as JSON. Most of an answer is one long text, and what there is to escape in it is found
//! eight bytes at a time: `serde_json` looks at each byte.

use std::fmt::Write as _;

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

/// Writes a text, quoted and escaped.
pub(super) fn write(out: &mut String, text: &str) {
    // About one character in sixteen is escaped, in source. What comes after a long text is short: with
    // room for it the text is not copied again.
    out.reserve(text.len() + text.len() / 16 + super::ROOM);
    out.push('"');
    let mut rest = text;
    loop {
        // What needs an escape is ASCII, so that it stands between characters.
        let (plain, after) = rest.split_at(plain_len(rest.as_bytes()));
        out.push_str(plain);
        let Some(byte) = after.bytes().next() else { break };
        write_escaped(out, byte);
        rest = &after[1..];
    }
    out.push('"');
}

fn write_escaped(out: &mut String, byte: u8) {
    let short = match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        0x08 => "\\b",
        0x0c => "\\f",
        _ => {
            // Writing into memory cannot fail.
            let _ = write!(out, "\\u{byte:04x}");
            return;
        }
    };
    out.push_str(short);
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
    use super::*;

    fn same(text: &str) {
        let mut out = String::new();
        write(&mut out, text);
        assert_eq!(out, serde_json::to_string(text).unwrap(), "{text:?}");
    }

    #[test]
    fn every_character_is_written_as_by_serde_json_wherever_it_stands() {
        for character in (0..=0x2ff).chain([0x7fff, 0xfeff, 0x1_f600]).filter_map(char::from_u32) {
            for before in 0..17 {
                for neighbour in ['a', '\u{80}', '!', '#', '[', ']', '\u{7f}', ' '] {
                    let start = neighbour.to_string().repeat(before);
                    same(&format!("{start}{character}{neighbour}{character}tail"));
                }
            }
        }
    }
}
