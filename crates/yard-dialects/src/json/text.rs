//! Writes a text as JSON. Most of an answer is one long text, and what there is to escape in it is found
//! eight bytes at a time: `serde_json` looks at each byte.

/// Shorter texts are not worth a buffer of their own.
const LONG: usize = 256;

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

/// Writes a text, quoted and escaped.
pub(super) fn write(out: &mut String, text: &str) {
    match text.len() >= LONG {
        true => write_long(out, text),
        false => write_quoted(out, text),
    }
}

fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    write_parts(out, text);
    out.push('"');
}

/// Writes a long text into the bytes of `out` themselves. Together they are checked to be text, which takes
/// long where much of it was there before: then the new part is made and checked apart.
fn write_long(out: &mut String, text: &str) {
    let start = out.len();
    let is_most = start <= text.len();
    let mut bytes = if is_most { std::mem::take(out).into_bytes() } else { Vec::new() };
    // What comes after a long text is short: with room for it the text is not copied again.
    bytes.reserve(text.len() + text.len() / 8 + LONG + super::ROOM);
    bytes.push(b'"');
    escape(&mut bytes, text.as_bytes());
    bytes.push(b'"');
    match String::from_utf8(bytes) {
        Ok(written) if is_most => *out = written,
        Ok(written) => out.push_str(&written),
        Err(error) if is_most => {
            let mut before = error.into_bytes();
            before.truncate(start);
            *out = String::from_utf8(before).unwrap_or_default();
            write_quoted(out, text);
        }
        Err(_) => write_quoted(out, text),
    }
}

/// Eight bytes are copied before it is known whether one of them needs an escape: what comes after that one
/// is taken back. In source there is one in sixteen, so that copying what lies between is mostly overhead.
/// Words end in the middle of characters, and what needs an escape is ASCII: together it is text again.
fn escape(escaped: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        escaped.extend_from_slice(word);
        let found = special(u64::from_le_bytes(*word));
        if found == 0 {
            rest = after;
            continue;
        }
        let at = found.trailing_zeros() as usize / 8;
        escaped.truncate(escaped.len() - (8 - at));
        escape_one(escaped, word[at]);
        rest = &rest[at + 1..];
    }
    rest.iter().for_each(|byte| escape_one(escaped, *byte));
}

fn escape_one(escaped: &mut Vec<u8>, byte: u8) {
    match short(byte) {
        Some(letter) => escaped.extend_from_slice(&[b'\\', letter]),
        None if byte < 0x20 => escaped.extend_from_slice(&by_number(byte)),
        None => escaped.push(byte),
    }
}

/// The letter that stands for a byte after a backslash.
fn short(byte: u8) -> Option<u8> {
    match byte {
        b'"' | b'\\' => Some(byte),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        b'\t' => Some(b't'),
        0x08 => Some(b'b'),
        0x0c => Some(b'f'),
        _ => None,
    }
}

fn by_number(byte: u8) -> [u8; 6] {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
    [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]
}

fn write_parts(out: &mut String, text: &str) {
    let mut rest = text;
    loop {
        // What needs an escape is ASCII, so that it stands between characters.
        let (plain, after) = rest.split_at(plain_len(rest.as_bytes()));
        out.push_str(plain);
        let Some(byte) = after.bytes().next() else { break };
        match short(byte) {
            Some(letter) => out.extend(['\\', char::from(letter)]),
            None => out.extend(by_number(byte).map(char::from)),
        }
        rest = &after[1..];
    }
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

    /// Whatever was written before, little or more than the text itself.
    fn same(text: &str) {
        let json = serde_json::to_string(text).unwrap();
        for before in [String::new(), "é".to_owned(), "é".repeat(text.len())] {
            let mut out = before.clone();
            write(&mut out, text);
            assert_eq!(out.strip_prefix(&before), Some(json.as_str()), "{text:?}");
        }
    }

    #[test]
    fn every_character_is_written_as_by_serde_json_wherever_it_stands() {
        for character in (0..=0x2ff).chain([0x7fff, 0xfeff, 0x1_f600]).filter_map(char::from_u32) {
            for before in 0..17 {
                for neighbour in ['a', '\u{80}', '!', '#', '[', ']', '\u{7f}', ' '] {
                    let start = neighbour.to_string().repeat(before);
                    let text = format!("{start}{character}{neighbour}{character}tail");
                    same(&text);
                    same(&format!("{}{text}", "long ".repeat(LONG / 5 + 1)));
                }
            }
        }
    }
}
