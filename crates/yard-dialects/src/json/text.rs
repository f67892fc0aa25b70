//! Writes a text as JSON, quoted. Most of an answer is one long text, and what there is to escape in it is
//! found many bytes at a time: `serde_json` looks at each.

use json_escape_simd::escape_into;

/// Bytes that are escaped at once. There has to be room for each of them to become six.
const PIECE: usize = 2 << 10;

/// Writes a text, quoted and escaped.
pub(super) fn write(out: &mut Vec<u8>, text: &str) {
    let (piece, mut rest) = cut(text);
    if !rest.is_empty() {
        // What comes after a long text is short: with room for it the text is not copied again.
        out.reserve(text.len() + text.len() / 8 + 6 * PIECE + super::ROOM);
    }
    escape_into(piece, out);
    while !rest.is_empty() {
        let (piece, after) = cut(rest);
        go_on(out, piece);
        rest = after;
    }
}

fn cut(text: &str) -> (&str, &str) {
    text.split_at(text.floor_char_boundary(PIECE))
}

/// Adds a piece to a text. A piece comes with quotes of its own: the last one of the text so far is taken
/// away, and the first one of the piece gives its place back to the byte that it was written over.
fn go_on(out: &mut Vec<u8>, piece: &str) {
    out.pop();
    let Some(before) = out.pop() else { return };
    let at = out.len();
    escape_into(piece, out);
    out[at] = before;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever was written before.
    fn same(text: &str) {
        let json = serde_json::to_string(text).unwrap();
        for before in ["", "é"] {
            let mut out = before.as_bytes().to_vec();
            write(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{before}{json}"), "{text:?}");
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
                }
            }
        }
    }

    #[test]
    fn a_long_text_is_one_text_wherever_it_is_cut() {
        for character in ['a', '"', '\\', '\n', '\u{1}', 'é', '€', '\u{1f600}'] {
            for length in PIECE - 9..PIECE + 9 {
                let start = "x".repeat(length);
                for times in [1, 2, 9, PIECE, 3 * PIECE] {
                    same(&format!("{start}{}", character.to_string().repeat(times)));
                }
            }
        }
    }
}
