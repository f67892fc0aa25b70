//! Converts between the bytes of a file and its text: boundaries of characters, lengths in bytes, and lines.

use std::borrow::Cow;

use yard_core::text::{self, Encoding};
use yard_core::{Fault, FaultCode, Result, Subject, WsPath, lines};

/// The encoding of a file. Command output always counts as UTF-8.
pub(super) fn detect(bytes: &[u8], path: &WsPath) -> Result<Encoding> {
    if path.is_command_output() {
        return Ok(Encoding::Utf8);
    }
    text::detect(bytes).map_err(|not_text| {
        let message = format!(
            "{path} is not a text: the file is {not_text}. It cannot be read or edited as text"
        );
        Fault::new(FaultCode::Binary, message).about(Subject::Path)
    })
}

pub(super) fn is_wide(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be)
}

fn is_utf8(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Utf8 | Encoding::Utf8Bom | Encoding::DamagedUtf8)
}

pub(super) fn count_lines(bytes: &[u8], encoding: Encoding) -> u64 {
    if is_wide(encoding) {
        return lines::count(text::decode(bytes, encoding).as_bytes());
    }
    lines::count(bytes)
}

/// The length of the byte order mark at the start of a file.
pub(super) fn mark_len(bytes: &[u8], encoding: Encoding) -> u64 {
    let mark = encoding.byte_order_mark();
    if bytes.starts_with(mark) { mark.len() as u64 } else { 0 }
}

/// Decodes bytes at `offset` of a file. A byte order mark is one only at the start of the file; anywhere else it is an
/// ordinary character.
pub(super) fn decode_at(bytes: &[u8], offset: u64, encoding: Encoding) -> Cow<'_, str> {
    let mark = match encoding {
        Encoding::Legacy(_) => return text::decode(bytes, encoding),
        _ if is_utf8(encoding) => Encoding::Utf8Bom.byte_order_mark(),
        wide => wide.byte_order_mark(),
    };
    match bytes.strip_prefix(mark) {
        Some(rest) if offset > 0 => Cow::Owned(format!("\u{feff}{}", text::decode(rest, encoding))),
        _ => text::decode(bytes, encoding),
    }
}

/// How many of these bytes a prefix of their text takes.
pub(super) fn length_in(raw: &[u8], text: &str, encoding: Encoding) -> u64 {
    if !is_utf8(encoding) {
        return encoded_len(text, encoding);
    }
    // Invalid bytes are decoded to a replacement character, which may be longer.
    let (mut length, mut left) = (0, text.len());
    for chunk in raw.utf8_chunks() {
        let valid = chunk.valid().len().min(left);
        (length, left) = (length + valid, left - valid);
        if left == 0 {
            break;
        }
        length += chunk.invalid().len();
        left = left.saturating_sub(char::REPLACEMENT_CHARACTER.len_utf8());
    }
    length as u64
}

/// How many bytes a text takes in an encoding.
pub(super) fn encoded_len(text: &str, encoding: Encoding) -> u64 {
    match encoding {
        Encoding::Utf8 | Encoding::Utf8Bom | Encoding::DamagedUtf8 => text.len() as u64,
        Encoding::Utf16Le | Encoding::Utf16Be => 2 * text.encode_utf16().count() as u64,
        Encoding::Legacy(legacy) => legacy.encode(text).0.len() as u64,
    }
}

/// The nearest start of a character at or before `at`.
pub(super) fn character_start(bytes: &[u8], at: usize, encoding: Encoding) -> usize {
    let continues = |byte: &u8| byte & 0xC0 == 0x80;
    match encoding {
        Encoding::Utf16Le | Encoding::Utf16Be => at - at % 2,
        Encoding::Legacy(_) => at,
        Encoding::Utf8 | Encoding::Utf8Bom | Encoding::DamagedUtf8 => {
            let back =
                (0..4).find(|back| at >= *back && !bytes.get(at - back).is_some_and(continues));
            at - back.unwrap_or(0)
        }
    }
}

/// The number of the line that the next byte after these belongs to.
pub(super) fn line_after(bytes: &[u8], encoding: Encoding) -> u64 {
    let text = text::decode(bytes, encoding);
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}
