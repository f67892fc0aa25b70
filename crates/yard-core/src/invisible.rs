//! The characters that cannot be seen in a text, or that change how the rest of it is shown. Where a person reads what others
//! wrote in order to decide, they are spelled out.

use std::borrow::Cow;

/// Control characters but for line break and tab, characters without a width, those that turn the direction of text around,
/// variation selectors, and tags, which hide whole texts. `web/parts/text.js` has the same characters; a test compares them.
const INVISIBLE: [(char, char); 20] = [
    ('\0', '\u{8}'),
    ('\u{b}', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{115f}'),
    ('\u{1160}', '\u{1160}'),
    ('\u{17b4}', '\u{17b4}'),
    ('\u{17b5}', '\u{17b5}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Most characters of an emoji.
const EMOJI: [(char, char); 4] = [
    ('\u{203c}', '\u{21ff}'),
    ('\u{2300}', '\u{2bff}'),
    ('\u{fe0f}', '\u{fe0f}'),
    ('\u{1f000}', '\u{1faff}'),
];

/// Joins two characters to one.
const JOINER: char = '\u{200d}';
/// Shows the character before it as an emoji.
const AS_EMOJI: char = '\u{fe0f}';

/// Whether a character cannot be seen, or changes how others are shown. A line break and a tab do neither.
pub fn is_invisible(character: char) -> bool {
    is_in(&INVISIBLE, character)
}

/// The text with `spell(character)` in the place of each invisible character, and of each line break and tab if it is
/// one line. What an emoji is made of stays.
pub fn spell_out(text: &str, is_line: bool, spell: impl Fn(char) -> String) -> Cow<'_, str> {
    let is_spelled = |before: char, character: char| match character {
        '\n' | '\t' => is_line,
        JOINER | AS_EMOJI => !is_in(&EMOJI, before),
        _ => is_invisible(character),
    };
    let mut before = '\0';
    let is_plain = text.chars().all(|character| {
        let plain = !is_spelled(before, character);
        before = character;
        plain
    });
    if is_plain {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    before = '\0';
    for character in text.chars() {
        if is_spelled(before, character) {
            shown.push_str(&spell(character));
        } else {
            shown.push(character);
        }
        before = character;
    }
    Cow::Owned(shown)
}

/// The text with each invisible character as `‹U+202E›`, as the page shows it.
pub fn by_number(text: &str) -> Cow<'_, str> {
    spell_out(text, false, number_of)
}

/// The same for a text that is one line: a line break and a tab have their number, too.
pub fn line_by_number(text: &str) -> Cow<'_, str> {
    spell_out(text, true, number_of)
}

fn number_of(character: char) -> String {
    format!("‹U+{:04X}›", u32::from(character))
}

fn is_in(ranges: &[(char, char)], character: char) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_has_its_number_and_everything_else_stays() {
        let text = "rm -rf \u{202e}x\u{200b}\u{1b}[8m\u{e0041}\r\n\tend";
        let shown = "rm -rf ‹U+202E›x‹U+200B›‹U+001B›[8m‹U+E0041›‹U+000D›\n\tend";
        assert_eq!(by_number(text), shown);
        assert_eq!(line_by_number("a\nb\t"), "a‹U+000A›b‹U+0009›");
        for plain in
            ["", "plain Ä 漢 e\u{301}", "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 ☎\u{fe0f}"]
        {
            assert!(matches!(by_number(plain), Cow::Borrowed(_)), "{plain}");
        }
        assert_eq!(by_number("a\u{200d}b\u{fe0f}"), "a‹U+200D›b‹U+FE0F›", "no emoji");
    }

    /// The characters that the page's own list names, in its notation.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test that reads the repository")]
    fn the_page_shows_the_same_characters() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/parts/text.js");
        let script = std::fs::read_to_string(script).unwrap();
        let list = script.lines().find_map(|line| line.strip_prefix("const HIDDEN = /[")).unwrap();
        let list = list.split(']').next().unwrap();
        let number = |text: &str| char::from_u32(u32::from_str_radix(text, 16).unwrap()).unwrap();
        let mut ranges: Vec<(char, char)> = Vec::new();
        for part in list.split("\\u").skip(1) {
            let (first, rest) = part.split_at(4);
            match ranges.last_mut() {
                Some((_, last)) if *last == '-' => *last = number(first),
                _ => ranges.push((number(first), number(first))),
            }
            if rest == "-" {
                ranges.last_mut().unwrap().1 = '-';
            }
        }
        let own: Vec<(char, char)> =
            INVISIBLE.into_iter().filter(|(first, _)| *first < '\u{10000}').collect();
        assert_eq!(ranges, own);
    }
}
