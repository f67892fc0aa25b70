//! Explains why a text was not found (R10): the most similar place, and how it differs. Nothing is ever edited at a
//! similar place. The work is bounded: one pass over the text, and a close comparison at a few places.

mod part_of_line;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use icu_normalizer::ComposingNormalizerBorrowed;
use memchr::memmem;
use similar::{Algorithm, capture_diff_slices, diff_ratio};

use crate::{lines, text};

/// Most lines of a place that are shown.
const SHOWN_LINES: usize = 10;
/// Most characters of a place that are shown.
const SHOWN_CHARS: usize = 600;
/// Most characters of one line that are shown.
const SHOWN_LINE_CHARS: usize = 160;
/// How many places are compared closely.
const CANDIDATES: usize = 6;
/// A line that occurs more often does not help to find a place.
const MAX_ANCHORS: usize = 40;
/// Characters that are compared closely, of each side.
const COMPARED_CHARS: usize = 1200;
/// Lines of the wanted text that are looked up; further ones hardly change the result.
const LOOKED_UP_LINES: usize = 60;
/// A larger text is not searched, because each comparison goes over all of it.
const MAX_BODY_BYTES: usize = 4 << 20;
/// A longer text that is looked for, or a longer place, is not compared closely.
const MAX_PLACE_BYTES: usize = 256 << 10;
/// A less similar place is not reported.
const MIN_RATIO: f32 = 0.5;

/// The caller's wording of the explanation.
pub(crate) struct Wording<'a> {
    /// The text, as the subject of a sentence.
    pub what: &'a str,
    /// The last sentence, when a place is close.
    pub advice: &'a str,
    /// The last sentence, when the file is empty.
    pub empty: &'a str,
}

/// The explanation for an edit whose text does not occur in the file.
pub(super) fn explain(body: &str, old: &str) -> String {
    let edit = Wording {
        what: "the text to be replaced",
        advice: "Send the text to be replaced exactly as it stands in the file.",
        empty: "Write the file instead.",
    };
    explain_as(body, old, &edit)
}

/// As `explain`, with another wording.
pub(crate) fn explain_as(body: &str, old: &str, wording: &Wording<'_>) -> String {
    let what = wording.what;
    if body.is_empty() {
        return format!("{what} was not found: the file is empty. {}", wording.empty);
    }
    if body.len() > MAX_BODY_BYTES || old.len() > MAX_PLACE_BYTES {
        return format!(
            "{what} was not found. The file has {} bytes and the text {}, which is too much to look \
             for a similar place. Read the lines in question and copy the text from there.",
            body.len(),
            old.len()
        );
    }
    let file: Vec<&str> = body.lines().collect();
    if let Some(reason) = misquoted(body, old) {
        return format!("{what} was not found, but it would be {reason}");
    }
    if let Some(words) = other_unicode_form(body, old, wording) {
        return words;
    }
    let closest = folded_place(body, &file, old).or_else(|| similar_place(&file, old));
    if let Some(place) = closest.filter(|place| length(&file, place) <= MAX_PLACE_BYTES) {
        return describe(body, &file, &place, old, wording);
    }
    match part_of_line::closest(&file, old) {
        Some(part) => part.describe(old, wording),
        None => format!(
            "{what} was not found, and nothing in the file is similar to it. Read the file again \
             and copy the text from there."
        ),
    }
}

/// The explanation for a text that would occur without something that a tool or a transport added.
fn misquoted(body: &str, old: &str) -> Option<&'static str> {
    let plain = OnceCell::new();
    let plain = || plain.get_or_init(|| with_plain_endings(body));
    let holds = |text: &str| memmem::find(plain().as_bytes(), text.as_bytes()).is_some();
    let stands = |text: &str| !text.trim().is_empty() && holds(text);
    if without_line_numbers(old).is_some_and(|text| stands(&text)) {
        return Some(
            "without the line numbers in front of its lines. They are not part of the file: send the lines alone.",
        );
    }
    let without_last_break = with_plain_endings(old);
    let without_last_break = without_last_break.strip_suffix('\n');
    if without_last_break.is_some_and(|text| !text.trim().is_empty() && plain().ends_with(text)) {
        return Some(
            "without the line break at its end: the last line of the file has none. Send it without; the file ends there.",
        );
    }
    let unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
    if unescaped != old && stands(&unescaped) {
        return Some(
            "without one level of escapes: send real line breaks, tabs and quotes, not \\n, \\t \
             and \\\".",
        );
    }
    let entities = old.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    let entities = entities.replace("&#39;", "'").replace("&amp;", "&");
    if entities != old && stands(&entities) {
        return Some("with plain characters: send <, >, &, quotes, not &lt;, &gt;, &amp;, &quot;.");
    }
    None
}

/// The explanation for a text that occurs in the other of the two Unicode forms of letters with accents.
fn other_unicode_form(body: &str, old: &str, wording: &Wording<'_>) -> Option<String> {
    let compose = ComposingNormalizerBorrowed::new_nfc();
    let wanted = compose.normalize(old);
    let mut lines = body.lines().enumerate();
    // Only the first line of the text is used to name a line of the file.
    let (index, line) = lines.find(|(_, line)| {
        !line.is_ascii()
            && compose.normalize(line).contains(wanted.lines().next().unwrap_or_default())
    })?;
    if !compose.normalize(&with_plain_endings(body)).contains(wanted.as_ref()) {
        return None;
    }
    let shown: String = line.chars().take(SHOWN_LINE_CHARS).map(escaped_accent).collect();
    Some(format!(
        "{} was not found as it was sent, but it would be in the other Unicode form: in line {} the file \
         has `{shown}`, where `\\u` and four digits stand for one character, as in JSON. Send letters with \
         accents as the file has them.",
        wording.what,
        index + 1
    ))
}

/// A character outside of ASCII as JSON can write it, so that its form is seen.
fn escaped_accent(character: char) -> String {
    match character.is_ascii() {
        true => character.to_string(),
        false => {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units).iter();
            units.map(|unit| format!("\\u{unit:04x}")).collect()
        }
    }
}

fn with_plain_endings(body: &str) -> Cow<'_, str> {
    match memchr::memchr(b'\r', body.as_bytes()) {
        Some(_) => Cow::Owned(body.replace("\r\n", "\n")),
        None => Cow::Borrowed(body),
    }
}

/// The lines without `12: `, `12\t`, `12→` or `12|`, if all have such a start.
fn without_line_numbers(old: &str) -> Option<String> {
    let bare = |line: &str| {
        let rest = line.trim_start().trim_start_matches(|digit: char| digit.is_ascii_digit());
        let numbered = rest.len() < line.trim_start().len();
        let rest = rest.strip_prefix(": ").or_else(|| rest.strip_prefix(['\t', '→', '|', ':']));
        rest.filter(|_| numbered).map(str::to_owned)
    };
    let lines: Option<Vec<String>> = old.lines().map(bare).collect();
    lines.map(|lines| lines.join("\n"))
}

crate::listed_enum! {
    /// One way in which equivalent texts may differ.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Difference {
        Endings,
        Trailing,
        Indentation,
        Spacing,
        Typography,
        Case,
    }
}

impl Difference {
    fn description(self, file: &str, old: &str) -> &'static str {
        match self {
            Self::Endings if old.contains('\r') => {
                "line endings (your text has \\r where the file has none; send plain \\n)"
            }
            Self::Endings => "line endings",
            Self::Trailing => "white space at the end of a line",
            Self::Indentation => indentation_difference(file, old),
            Self::Spacing => "white space or line breaks within it",
            Self::Typography => "typographic characters (curly or straight quotes, dashes, dots)",
            Self::Case => "upper and lower case",
        }
    }
}

fn indentation_difference(file: &str, old: &str) -> &'static str {
    let has = |text: &str, tab: char| text.lines().any(|line| indent(line).contains(tab));
    match (has(file, '\t'), has(old, '\t')) {
        (true, false) => "indentation (the file uses tabs, your text does not)",
        (false, true) => "indentation (your text uses tabs, the file does not)",
        _ => "indentation",
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// `text` with the given differences made equal.
fn fold(text: &str, differences: &[Difference]) -> String {
    let mut folded = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        fold_line(line, differences, &mut folded);
    }
    folded
}

fn fold_line(line: &str, differences: &[Difference], folded: &mut String) {
    let has = |difference| differences.contains(&difference);
    let content = line.trim_end_matches(['\n', '\r']);
    let ending = &line[content.len()..];
    let bare = content.trim_end();
    let lead = indent(bare);
    if !has(Difference::Indentation) {
        folded.push_str(lead);
    }
    for character in bare[lead.len()..].chars() {
        fold_char(character, differences, folded);
    }
    if !has(Difference::Trailing) {
        folded.push_str(&content[bare.len()..]);
    }
    if !has(Difference::Endings) {
        folded.push_str(ending.trim_end_matches('\n'));
    }
    if ending.ends_with('\n') && !has(Difference::Spacing) {
        folded.push('\n');
    }
}

fn fold_char(character: char, differences: &[Difference], folded: &mut String) {
    let has = |difference| differences.contains(&difference);
    if character.is_ascii_lowercase() {
        return folded.push(character);
    }
    // A zero-width space is as invisible as other white space.
    if has(Difference::Spacing) && (character.is_whitespace() || character == '\u{200b}') {
        return;
    }
    match typed(character).filter(|_| has(Difference::Typography)) {
        Some(plain) => folded.push_str(plain),
        None if has(Difference::Case) => folded.extend(character.to_lowercase()),
        None => folded.push(character),
    }
}

/// [`fold_line`] with every difference, for every line of a file: most are ASCII, and then a look
/// into a table is enough.
fn fold_all(line: &[u8], folded: &mut Vec<u8>) {
    if line.is_ascii() {
        folded.extend(line.iter().map(|byte| FOLDED[usize::from(*byte)]).filter(|byte| *byte != 0));
    } else if let Ok(line) = std::str::from_utf8(line) {
        let mut text = String::with_capacity(line.len());
        fold_line(line, &Difference::ALL, &mut text);
        folded.extend_from_slice(text.as_bytes());
    }
}

/// Each ASCII character with every difference folded; 0 if nothing is left of it.
const FOLDED: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'\t'..=b'\r' | b' ' => 0,
            b'`' => b'\'',
            _ => byte.to_ascii_lowercase(),
        };
        byte += 1;
    }
    table
};

/// The plain form of a typographic character; accents and angle quotes count as quotes here, too.
fn typed(character: char) -> Option<&'static str> {
    match character {
        '\u{b4}' | '`' => Some("'"),
        '\u{ab}' | '\u{bb}' => Some("\""),
        _ => text::typed(character),
    }
}

/// The place that equals the wanted text apart from [`Difference`]s; of several the one with the fewest.
fn folded_place(body: &str, file: &[&str], old: &str) -> Option<Range<usize>> {
    let needle = fold(old, &Difference::ALL);
    if needle.is_empty() {
        return None;
    }
    let mut folded = Vec::with_capacity(body.len());
    let mut starts = Vec::with_capacity(file.len());
    for line in lines::split(body.as_bytes()) {
        starts.push(folded.len());
        fold_all(line, &mut folded);
    }
    let line_at = |offset: usize| starts.partition_point(|start| *start <= offset) - 1;
    memmem::find_iter(&folded, &needle)
        .take(CANDIDATES)
        .map(|start| line_at(start)..line_at(start + needle.len() - 1) + 1)
        .filter(|place| length(file, place) <= MAX_PLACE_BYTES)
        .min_by_key(|place| differences(&raw(body, place), old).len())
}

/// How many bytes the lines of a place have.
fn length(file: &[&str], place: &Range<usize>) -> usize {
    file.get(place.clone()).unwrap_or_default().iter().map(|line| line.len() + 1).sum()
}

/// The lines of a place as they are, with their endings.
fn raw(body: &str, place: &Range<usize>) -> String {
    body.split_inclusive('\n').skip(place.start).take(place.len()).collect()
}

/// The differences because of which `old` does not occur in `file`: those that must be folded for it to occur.
fn differences(file: &str, old: &str) -> Vec<Difference> {
    let needed = |difference: &Difference| {
        let others: Vec<Difference> =
            Difference::ALL.into_iter().filter(|other| other != difference).collect();
        !fold(file, &others).contains(&fold(old, &others))
    };
    Difference::ALL.into_iter().filter(needed).collect()
}

/// The place that is most similar to the wanted text, if one is similar enough.
fn similar_place(file: &[&str], old: &str) -> Option<Range<usize>> {
    let wanted: Vec<&str> = old.lines().collect();
    let mut starts = anchored(file, &wanted);
    if starts.is_empty() {
        starts = sharing_words(file, &wanted);
    }
    let places = starts.into_iter().map(|start| start..(start + wanted.len()).min(file.len()));
    let rated = places.map(|place| (ratio(&file[place.clone()], &wanted), place));
    let best = rated.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(ratio, _)| *ratio >= MIN_RATIO).map(|(_, place)| place)
}

/// Where the wanted text would begin, by the lines that it has in common with the file. Each such line votes with its
/// length, divided by how often it occurs.
fn anchored(file: &[&str], wanted: &[&str]) -> Vec<usize> {
    let mut looked_up: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in wanted.iter().enumerate().take(LOOKED_UP_LINES) {
        if line.trim().chars().filter(|character| character.is_alphanumeric()).count() >= 3 {
            looked_up.entry(line.trim()).or_default().push(index);
        }
    }
    let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, line) in file.iter().enumerate() {
        if looked_up.contains_key(line.trim()) {
            found.entry(line.trim()).or_default().push(number);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (line, numbers) in found.iter().filter(|(_, numbers)| numbers.len() <= MAX_ANCHORS) {
        for index in &looked_up[line] {
            for number in numbers {
                let weight = 1 + 100 * line.len() / numbers.len();
                *votes.entry(number.saturating_sub(*index)).or_default() += weight;
            }
        }
    }
    most(votes.into_iter())
}

/// Where the wanted text would begin, by the lines that share most words with its longest line.
fn sharing_words(file: &[&str], wanted: &[&str]) -> Vec<usize> {
    let longest = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len());
    let Some((index, line)) = longest else { return Vec::new() };
    let mut sought: HashSet<&str> = HashSet::new();
    // Most words differ from all of these in their length already, which costs nothing to see.
    let mut lengths = 0;
    each_word(line, |word| {
        lengths |= length_bit(word);
        sought.insert(word);
    });
    let votes = file.iter().enumerate().filter_map(|(number, line)| {
        let mut shared = 0;
        each_word(line, |word| {
            if length_bit(word) & lengths != 0 && sought.contains(word) {
                shared += word.len();
            }
        });
        (shared > 0).then(|| (number.saturating_sub(index), shared.min(1 << 20)))
    });
    most(votes)
}

fn length_bit(word: &str) -> u64 {
    1 << word.len().min(63)
}

/// Every word of a line with two bytes or more.
fn each_word<'a>(line: &'a str, mut take: impl FnMut(&'a str)) {
    if !line.is_ascii() {
        let words = line.split(|character: char| !character.is_alphanumeric() && character != '_');
        return words.filter(|word| word.len() >= 2).for_each(take);
    }
    // Byte by byte: this looks at every line of a file.
    let mut start = 0;
    let bytes = line.bytes().chain([b'\n']).enumerate();
    for (at, _) in bytes.filter(|(_, byte)| !byte.is_ascii_alphanumeric() && *byte != b'_') {
        if at - start >= 2 {
            take(&line[start..at]);
        }
        start = at + 1;
    }
}

/// The starts with the most votes; of equals the earlier, so that the answer is always the same.
fn most(votes: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut votes: Vec<(usize, usize)> = votes.collect();
    votes.sort_by_key(|(start, weight)| (std::cmp::Reverse(*weight), *start));
    votes.truncate(CANDIDATES);
    votes.into_iter().map(|(start, _)| start).collect()
}

fn ratio(file: &[&str], wanted: &[&str]) -> f32 {
    let chars = |lines: &[&str]| -> Vec<char> {
        let lines = lines.iter().flat_map(|line| line.trim().chars().chain(['\n']));
        lines.take(COMPARED_CHARS).collect()
    };
    let (one, other) = (chars(file), chars(wanted));
    let ops = capture_diff_slices(Algorithm::Myers, &one, &other);
    diff_ratio(&ops, one.len(), other.len())
}

fn describe(
    body: &str,
    file: &[&str],
    place: &Range<usize>,
    old: &str,
    wording: &Wording<'_>,
) -> String {
    let raw = raw(body, place);
    let kinds = differences(&raw, old);
    let same = fold(&raw, &Difference::ALL).contains(&fold(old, &Difference::ALL));
    // A caller that looks for whole lines does not find a part of one.
    let is_part = with_plain_endings(&raw).contains(old);
    let how = match kinds.as_slice() {
        _ if !same => "in its characters".to_owned(),
        _ if is_part => "in the rest of its lines, which are compared whole".to_owned(),
        [] => "in white space".to_owned(),
        kinds => {
            let words: Vec<&str> = kinds.iter().map(|kind| kind.description(&raw, old)).collect();
            format!("in {}", words.join("; in "))
        }
    };
    let mut message = format!(
        "{} was not found. The closest place is {}; it differs {how}.",
        wording.what,
        line_range(place)
    );
    if let Some(first) = first_difference(&raw, place.start, old, is_part) {
        message.push_str(&first);
    }
    message.push_str(" The file has there:\n");
    message.push_str(&excerpt(&file[place.clone()]));
    message.push('\n');
    message.push_str(wording.advice);
    message
}

fn line_range(place: &Range<usize>) -> String {
    match place.len() {
        0 | 1 => format!("line {}", place.start + 1),
        _ => format!("lines {} to {}", place.start + 1, place.end),
    }
}

/// The first line that differs, in both texts, with invisible characters escaped. The first and the last line of the
/// wanted text may be parts of lines, unless whole lines are looked for.
fn first_difference(raw: &str, start: usize, old: &str, whole_lines: bool) -> Option<String> {
    let wanted: Vec<&str> = old.split('\n').collect();
    let last = wanted.len() - 1;
    let mut file = raw.split('\n');
    for (index, wanted) in wanted.into_iter().enumerate() {
        let line = file.next().unwrap_or_default();
        // A bare \n also matches \r\n, so that the file's \r is no difference.
        let bare = line.strip_suffix('\r').unwrap_or(line);
        let same = match (index == 0, index == last) {
            _ if whole_lines => bare == wanted,
            (true, true) => line.contains(wanted),
            (true, false) => line.ends_with(wanted) || bare.ends_with(wanted),
            (false, true) => line.starts_with(wanted),
            (false, false) => line == wanted || bare == wanted,
        };
        if !same {
            let number = start + index + 1;
            let (has, sent) = (visible(bare, wanted), visible(wanted, bare));
            return Some(format!(
                " The first difference is in line {number}: the file has `{has}`, you sent \
                 `{sent}`."
            ));
        }
    }
    None
}

/// One line, from a little before the first character in which it differs from `other`. Tabs and
/// carriage returns are written out, and so is white space at the end.
fn visible(line: &str, other: &str) -> String {
    let same = line.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let skip = if same > SHOWN_LINE_CHARS / 2 { same - SHOWN_LINE_CHARS / 4 } else { 0 };
    let content = line.trim_end().chars().count();
    let mut shown = String::from(if skip > 0 { "…" } else { "" });
    for (index, character) in line.chars().enumerate().skip(skip).take(SHOWN_LINE_CHARS) {
        match character {
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            ' ' if index >= content => shown.push_str("\\x20"),
            '\u{a0}' | '\u{200b}' | '\u{feff}' => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    if line.chars().count() > skip + SHOWN_LINE_CHARS {
        shown.push('…');
    }
    shown
}

/// The start of the place as it stands in the file.
fn excerpt(lines: &[&str]) -> String {
    let shown = lines.iter().take(SHOWN_LINES).copied().collect::<Vec<_>>().join("\n");
    let cut = shown.char_indices().nth(SHOWN_CHARS).map_or(shown.len(), |(at, _)| at);
    let mut excerpt = shown[..cut].to_owned();
    if cut < shown.len() || lines.len() > SHOWN_LINES {
        excerpt.push_str("\n[cut here; read the file for the rest]");
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "fn main() {\n\tlet name = \"x\";\n\tprintln!(\"{name}\");\n}\n\n\
                        /// It’s “quoted”.  \nfn other(first: u32) -> u32 {\n    first + 1\n}\n";

    fn check(body: &str, old: &str, parts: &[&str]) {
        assert!(!body.contains(old), "the text must not stand there");
        let words = explain(body, old);
        for part in parts {
            assert!(words.contains(part), "{part:?} is not in:\n{words}");
        }
    }

    #[test]
    fn r10_white_space_is_told() {
        check(
            FILE,
            "    let name = \"x\";\n    println!(\"{name}\");",
            &[
                "lines 2 to 3",
                "indentation (the file uses tabs, your text does not)",
                "line 2: the file has `\\tlet name = \"x\";`, you sent `    let name",
                "\n\tlet name = \"x\";\n\tprintln!(\"{name}\");\n",
            ],
        );
        check(FILE, "{\n  first + 1\n}", &["lines 7 to 9", "differs in indentation.", "line 8:"]);
        check(FILE, "“quoted”.\nfn other", &["white space at the end of a line", "\\x20\\x20`"]);
        check(FILE, "other( first:u32 )", &["line 7", "white space or line breaks within it"]);
    }

    #[test]
    fn r10_characters_are_told() {
        check(FILE, "It's \"quoted\".", &["line 6", "typographic characters", "It’s “quoted”."]);
        check(FILE, "FN Main()", &["line 1;", "upper and lower case"]);
        check(FILE, "}\r\n\r\n/// It", &["line endings (your text has \\r"]);
    }

    #[test]
    fn r10_other_text_is_told() {
        check(
            FILE,
            "fn other(second: u32) -> u32 {\n    second + 1\n}",
            &["lines 7 to 9", "in its characters", "line 7: the file has `fn other(first: u32)"],
        );
        check(FILE, "println!(\"{nam}\", nam);", &["line 3", "in its characters"]);
        check(FILE, "SELECT * FROM nowhere", &["nothing in the file is similar"]);
        check("", "x", &["the file is empty"]);
        check("\n\n", "x", &["nothing in the file is similar"]);
    }

    #[test]
    fn r10_misquoted_text_is_told() {
        check(FILE, "8:     first + 1\n9: }", &["without the line numbers"]);
        check(FILE, "let name = \\\"x\\\";", &["without one level of escapes"]);
        check(FILE, "-&gt; u32 {", &["with plain characters"]);
        check("start\nend", "end\n", &["without the line break at its end", "the file ends there"]);
        check("start\r\nend", "start\r\nend\r\n", &["without the line break at its end"]);
    }

    #[test]
    fn r10_the_other_unicode_form_is_told() {
        let decomposed = "tea\ncafe\u{301} au lait\n";
        check(
            decomposed,
            "caf\u{e9} au",
            &["other Unicode form", "line 2", "`cafe\\u0301 au lait`"],
        );
        check("caf\u{e9}\n", "cafe\u{301}", &["other Unicode form", "`caf\\u00e9`"]);
    }

    #[test]
    fn r10_a_part_of_a_line_is_told() {
        let body = "name = \"x\"\nversion = \"2.0.0\"\n";
        check(body, "1.0.0", &["line 2", "the file has `2.0.0`, you sent `1.0.0`"]);
        let long = format!("short\n{}NEEDLE{}\n", "a".repeat(3_000), "b".repeat(3_000));
        check(&long, "NEEDLF", &["line 2", "after 3000 characters", "the file has `NEEDLE`"]);
        let words = explain(&long, "NEEDLF");
        assert!(words.len() < 600, "{words}");
        let wording = Wording { what: "chunk 1", advice: "", empty: "" };
        let words = explain_as("one\nthree\n", "thre", &wording);
        assert!(
            words.contains("compared whole") && words.contains("`three`, you sent `thre`"),
            "{words}"
        );
        check(body, "zzqqk", &["nothing in the file is similar"]);
    }

    #[test]
    fn r10_of_several_places_the_one_with_fewest_differences() {
        check("A  B\na b\n", "a  b", &["line 1;", "case"]);
        check("A B\na b\n", "a  b", &["line 2;"]);
    }

    #[test]
    fn r10_long_places_are_cut() {
        let body: String = (0..200).map(|line| format!("\tline number {line}\n")).collect();
        let words = explain(&body, &body.replace('\t', "  "));
        assert!(words.contains("lines 1 to 200") && words.contains("[cut here"), "{words}");
        assert!(words.len() < 1500, "{}", words.len());
    }

    #[allow(clippy::disallowed_methods, reason = "a test of how long it takes")]
    #[test]
    fn r10_a_large_file_is_explained_soon() {
        let line = |n: usize| format!("    let value_{} = compute(value_{n}, {n});\n", n % 700);
        let body: String = (0..20_000).map(line).collect();
        let near = "    let value_3 = computed(value_17, 99999);\n    let valu = 3;\n";
        let far = "something completely different\nand more of it\n";
        let anchored = format!("{}    let other = 1;\n", line(12_345));
        // Scoring every window took minutes; a loaded test machine gets seconds.
        for old in [near, far, &anchored] {
            let start = std::time::Instant::now();
            let words = explain(&body, old);
            assert!(start.elapsed().as_secs() < 10, "{:?} {words}", start.elapsed());
        }
        assert!(explain(&body, &anchored).contains("lines 12346 to 12347"));
    }

    proptest! {
        #[test]
        fn explaining_never_panics(
            body in "[aAbé“’\t \r\n]{0,60}",
            old in "[aAbé\"'\t \r\n]{1,12}",
        ) {
            explain(&body, &old);
        }

        #[test]
        fn the_quick_fold_is_the_slow_one(line in "[aA`'\"é“\u{b}\t \r]{0,12}\n?") {
            let mut quick = Vec::new();
            fold_all(line.as_bytes(), &mut quick);
            let slow = fold(&line, &Difference::ALL);
            prop_assert_eq!(String::from_utf8(quick).unwrap(), slow);
        }

        #[test]
        fn r10_folding_hides_only_what_it_says(
            old in "[a-z]{4,8}( [a-z]{4,8}){2}",
            tabs in 1usize..4,
        ) {
            let body = format!("start\n{}{}\nend\n", "\t".repeat(tabs), old.to_uppercase());
            let words = explain(&body, &old);
            let told = words.contains("line 2; it differs in upper and lower case.");
            prop_assert!(told, "{}", words);
        }
    }
}
