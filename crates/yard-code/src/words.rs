//! Splits text into words: identifiers, and the parts of which they are composed. The same for indexed text and queries.

use std::collections::HashMap;

/// Longer words are skipped: they are encoded data.
const MAX_WORD_BYTES: usize = 128;
/// Most different words of one file.
const MAX_WORDS: usize = 4_096;

/// The identifiers of a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The parts of an identifier: those of `parseHTTPReply2` and `parse_http_reply_2` differ only in case.
pub(crate) fn parts(word: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let mut characters = word.char_indices().peekable();
    let mut before = Class::Other;
    while let Some((at, character)) = characters.next() {
        let class = Class::of(character);
        let next = characters.peek().map_or(Class::Other, |(_, next)| Class::of(*next));
        if is_boundary(before, class, next) {
            parts.push(&word[start..at]);
            start = at;
        }
        if class == Class::Other {
            start = at + character.len_utf8();
        }
        before = class;
    }
    parts.push(&word[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Other,
}

impl Class {
    fn of(character: char) -> Self {
        match character {
            '_' => Self::Other,
            _ if character.is_numeric() => Self::Digit,
            _ if character.is_uppercase() => Self::Upper,
            _ => Self::Lower,
        }
    }
}

/// Whether a part ends before a character of `class`.
fn is_boundary(before: Class, class: Class, next: Class) -> bool {
    match (before, class) {
        (_, Class::Other) => true,
        // The last of several capitals begins the next word: `HTTPReply`.
        (Class::Upper, Class::Upper) => next == Class::Lower,
        (Class::Upper, Class::Lower) => false,
        _ => before != class,
    }
}

/// A name without underscores and case: `search_code`, `searchCode` and `SearchCode` fold to the same.
pub(crate) fn folded(word: &str) -> String {
    word.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

/// The terms by which a word is found: its parts, and the whole word if it has several.
pub(crate) fn terms(word: &str) -> impl Iterator<Item = String> {
    let parts = parts(word);
    let whole = (parts.len() > 1).then(|| folded(word));
    let parts: Vec<String> = parts.into_iter().map(str::to_lowercase).collect();
    parts.into_iter().chain(whole).filter(|term| term.len() > 1)
}

/// How often each term occurs in a text, at most 255 times, and whether terms were left out.
pub(crate) struct Counted {
    pub(crate) terms: Vec<(String, u8)>,
    /// How many words the text has.
    pub(crate) length: u32,
    pub(crate) is_cut: bool,
}

/// Counts the terms of a text.
pub(crate) fn count(text: &str, path: &str) -> Counted {
    // Whole words are counted first: most occur often, and are split only once.
    let mut seen: HashMap<&str, u32> = HashMap::new();
    let mut length = 0u32;
    for word in words(text).filter(|word| word.len() <= MAX_WORD_BYTES) {
        *seen.entry(word).or_default() += 1;
        length = length.saturating_add(1);
    }
    // The words of a path describe a file better than a word in it.
    words(path).for_each(|word| *seen.entry(word).or_default() += 2);
    let is_cut = seen.len() > MAX_WORDS;
    if is_cut {
        keep_most(&mut seen);
    }
    let mut counts: HashMap<String, u32> = HashMap::with_capacity(seen.len() * 2);
    for (word, times) in seen {
        for term in terms(word) {
            *counts.entry(term).or_default() += times;
        }
    }
    let capped = |times: u32| u8::try_from(times).unwrap_or(u8::MAX);
    let terms = counts.into_iter().map(|(term, times)| (term, capped(times))).collect();
    Counted { terms, length, is_cut }
}

/// Retains the most frequent words.
fn keep_most(seen: &mut HashMap<&str, u32>) {
    let mut all: Vec<(&str, u32)> = seen.drain().collect();
    all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    seen.extend(all.into_iter().take(MAX_WORDS));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_into_their_parts() {
        for (word, expected) in [
            ("search_code", vec!["search", "code"]),
            ("searchCode", vec!["search", "Code"]),
            ("HTTPServer", vec!["HTTP", "Server"]),
            ("parseHTTPReply2", vec!["parse", "HTTP", "Reply", "2"]),
            ("sha256_of", vec!["sha", "256", "of"]),
            ("__init__", vec!["init"]),
            ("X", vec!["X"]),
            ("größeÄndern", vec!["größe", "Ändern"]),
            ("_", vec![]),
        ] {
            assert_eq!(parts(word), expected, "{word}");
        }
    }

    #[test]
    fn spellings_of_one_name_fold_to_one() {
        for word in ["search_code", "searchCode", "SearchCode", "SEARCH_CODE"] {
            assert_eq!(folded(word), "searchcode");
        }
    }

    #[test]
    fn a_text_is_counted_by_parts_and_wholes() {
        let counted = count("fn read_all(read: x) {}", "src/walk.rs");
        let times = |term: &str| counted.terms.iter().find(|(t, _)| t == term).map(|(_, n)| *n);
        assert_eq!((times("read"), times("all"), times("readall")), (Some(2), Some(1), Some(1)));
        assert_eq!((times("walk"), times("x"), times("nowhere")), (Some(2), None, None));
        assert!(!counted.is_cut);
        let many: String = (0..10_000).map(|n| format!("word{n}x ")).collect();
        assert!(count(&many, "a").is_cut);
    }
}
