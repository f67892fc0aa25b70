//! PostgreSQL's character classes and names of characters, in Rust's syntax.
//!
//! The classes were found by querying a PostgreSQL server for every code point, in a UTF-8 database with the locale
//! `C.UTF-8`. They differ for characters that are newer than the server's C library. That library counts the digits of
//! other scripts as letters, and non-breaking spaces as punctuation.

const ALNUM: &str = r"[\p{Alphabetic}\p{Nd}]";
const ALPHA: &str = r"[\p{Alphabetic}\p{Nd}--0-9]";
const ASCII: &str = r"[\x00-\x7F]";
const BLANK: &str = r"[\t\x20]";
const CNTRL: &str = r"[\p{Cc}]";
pub(super) const DIGIT: &str = r"[0-9]";
const GRAPH: &str = r"[[^\p{Cc}\p{Cn}\p{Z}]\x{A0}\x{2007}\x{202F}]";
const LOWER: &str = r"[\p{Lowercase}\x{1C5}\x{1C8}\x{1CB}\x{1F2}]";
const PRINT: &str = r"[^\p{Cc}\p{Cn}\p{Zl}\p{Zp}]";
const PUNCT: &str = r"[[^\p{Alphabetic}\p{Nd}\p{Cc}\p{Cn}\p{Z}]\x{A0}\x{2007}\x{202F}]";
pub(super) const SPACE: &str = r"[\t-\r[\p{Z}--\x{A0}\x{2007}\x{202F}]]";
const UPPER: &str = r"[\p{Uppercase}\p{Lt}]";
pub(super) const WORD: &str = r"[\p{Alphabetic}\p{Nd}_]";
const XDIGIT: &str = r"[0-9A-Fa-f]";

/// PostgreSQL's names of characters for `[[.name.]]`: runs of consecutive code points, each with
/// its names.
const NAMED_CHARACTERS: [(u32, &str); 3] = [
    (
        0x00,
        "NUL SOH STX ETX EOT ENQ ACK BEL|alert BS|backspace HT|tab LF|newline VT|vertical-tab \
         FF|form-feed CR|carriage-return SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC \
         IS4|FS IS3|GS IS2|RS IS1|US space exclamation-mark quotation-mark number-sign \
         dollar-sign percent-sign ampersand apostrophe left-parenthesis right-parenthesis \
         asterisk plus-sign comma hyphen|hyphen-minus period|full-stop slash|solidus zero one \
         two three four five six seven eight nine colon semicolon less-than-sign equals-sign \
         greater-than-sign question-mark commercial-at",
    ),
    (
        0x5B,
        "left-square-bracket backslash|reverse-solidus right-square-bracket \
         circumflex|circumflex-accent underscore|low-line grave-accent",
    ),
    (
        0x7B,
        "left-brace|left-curly-bracket vertical-line right-brace|right-curly-bracket tilde \
         DEL",
    ),
];

/// The class of that name. Letters without case are neither upper nor lower; if case does not count, they are both.
pub(super) fn by_name(name: &str, case_sensitive: bool) -> Option<&'static str> {
    Some(match name {
        "upper" | "lower" if !case_sensitive => ALPHA,
        "alnum" => ALNUM,
        "alpha" => ALPHA,
        "ascii" => ASCII,
        "blank" => BLANK,
        "cntrl" => CNTRL,
        "digit" => DIGIT,
        "graph" => GRAPH,
        "lower" => LOWER,
        "print" => PRINT,
        "punct" => PUNCT,
        "space" => SPACE,
        "upper" => UPPER,
        "word" => WORD,
        "xdigit" => XDIGIT,
        _ => return None,
    })
}

/// The class of all characters that are not in `class`.
pub(super) fn complement(class: &str) -> String {
    format!("[^{class}]")
}

/// The character of that name, or the name itself if it is a single character.
pub(super) fn character(name: &str) -> Option<char> {
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Some(c);
    }
    for (first, names) in NAMED_CHARACTERS {
        for (code, entry) in (first..).zip(names.split_whitespace()) {
            if entry.split('|').any(|entry| entry == name) {
                return char::from_u32(code);
            }
        }
    }
    None
}
