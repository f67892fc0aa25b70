//! Translates PostgreSQL's regular expressions to Rust's syntax.
//!
//! The input is PostgreSQL's "advanced" syntax (that of `~` and `~*`), and the output means the same to the engines of this
//! crate, so that only this module knows how the two differ. It never compiles or matches. A pattern that PostgreSQL
//! refuses is refused here, with the position in the caller's pattern; `\p{..}` and `\z`, which only Rust has, are
//! accepted.
//!
//! Different on purpose (`DIFFERENCES` in the tests): `\b` is a word boundary (R9), case folds by
//! Unicode's rules, and the basic and extended POSIX syntaxes, `(?b)` and `(?e)`, are not offered.
//! PostgreSQL prefers the longest match and Rust the first one. Whether a line matches at all is the
//! same for both; with back-references too, but for oddities such as one to a group that took no
//! part in the match.

mod class;

use std::ops::{Range, RangeInclusive};

/// A part of the pattern that is wrong, and why.
#[derive(Debug)]
pub(super) struct Mistake {
    /// The position in bytes of the caller's pattern.
    pub(super) part: Range<usize>,
    /// What is wrong, and what to write instead.
    pub(super) why: &'static str,
}

type Parsed<T> = Result<T, Mistake>;

/// A pattern in Rust's syntax.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// As the caller wants it, unless the pattern's own options differ.
    pub(super) case_sensitive: bool,
}

/// The largest count that PostgreSQL accepts in `{m,n}`.
const MAX_COUNT: u32 = 255;

/// Translates `pattern` to Rust's syntax.
pub(super) fn translate(pattern: &str, case_sensitive: bool) -> Parsed<Translated> {
    let options = Options::read(pattern, case_sensitive)?;
    let case_sensitive = options.case_sensitive;
    let pattern = if options.literal {
        regex_syntax::escape(&pattern[options.end..])
    } else {
        Translator::new(pattern, &options).run()?
    };
    Ok(Translated { pattern, case_sensitive })
}

/// The options at the start of a pattern: `***=`, `***:`, `(?i)` and the like.
struct Options {
    case_sensitive: bool,
    expanded: bool,
    literal: bool,
    /// Where the options end and the expression begins.
    end: usize,
}

impl Options {
    fn read(pattern: &str, case_sensitive: bool) -> Parsed<Self> {
        let mut options = Self { case_sensitive, expanded: false, literal: false, end: 0 };
        if pattern.starts_with("***") {
            options.director(pattern)?;
        }
        if !options.literal {
            options.letters(pattern)?;
        }
        Ok(options)
    }

    fn director(&mut self, pattern: &str) -> Parsed<()> {
        match pattern[3..].chars().next() {
            Some('=') => self.literal = true,
            Some(':') => {}
            _ => {
                return mistake(
                    0..3,
                    "`***` must be followed by `=` (all that follows is literal) or `:`",
                );
            }
        }
        self.end = 4;
        Ok(())
    }

    fn letters(&mut self, pattern: &str) -> Parsed<()> {
        let Some(rest) = pattern[self.end..].strip_prefix("(?") else { return Ok(()) };
        if !rest.starts_with(char::is_alphabetic) {
            return Ok(());
        }
        let start = self.end + 2;
        for (offset, letter) in rest.char_indices() {
            let at = start + offset;
            if letter == ')' {
                self.end = at + 1;
                return Ok(());
            }
            self.letter(letter, at)?;
        }
        mistake(self.end..pattern.len(), "these options are not closed by `)`")
    }

    fn letter(&mut self, letter: char, at: usize) -> Parsed<()> {
        match letter {
            'c' => self.case_sensitive = true,
            'i' => self.case_sensitive = false,
            'q' => self.literal = true,
            'x' => self.expanded = true,
            't' => self.expanded = false,
            // How newlines are matched: within one line there are none.
            'm' | 'n' | 'p' | 's' | 'w' => {}
            'b' | 'e' => {
                return mistake(
                    at..at + 1,
                    "basic and extended POSIX syntax is not offered, only PostgreSQL's \
                     advanced syntax: leave this option out",
                );
            }
            _ => {
                return mistake(
                    at..at + letter.len_utf8(),
                    "PostgreSQL has no such option; a group without capture is `(?:...)`, and \
                     options such as `(?i)` stand alone at the start of the pattern",
                );
            }
        }
        Ok(())
    }
}

/// The last thing that was translated: decides whether a quantifier may follow.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// Nothing, or a constraint, which matches no text.
    Unrepeatable,
    Atom,
    Quantified,
}

/// A parenthesis that is open.
struct Open {
    at: usize,
    group: Group,
}

#[derive(Clone, Copy, PartialEq)]
enum Group {
    Capture(u32),
    Plain,
    Look,
}

/// The meaning of a backslash and the characters after it.
enum Escape {
    Char(char),
    /// A class, in Rust's syntax.
    Set(String),
    /// An assertion, which matches no text, in Rust's syntax.
    Constraint(&'static str),
    Back(u32),
}

/// One member of a bracket expression.
enum Item {
    Char(char),
    Set(String),
}

struct Translator<'a> {
    source: &'a str,
    at: usize,
    out: String,
    open: Vec<Open>,
    /// How many of them are look-around. PostgreSQL allows no captures and back-references in those.
    looks: usize,
    /// How many captures were opened; PostgreSQL reads `\12` by this count.
    captures: u32,
    /// The captures that are closed: only those may be referred to.
    closed: Vec<u32>,
    last: Last,
    expanded: bool,
    case_sensitive: bool,
}

impl<'a> Translator<'a> {
    fn new(source: &'a str, options: &Options) -> Self {
        Self {
            source,
            at: options.end,
            out: String::with_capacity(source.len() * 2),
            open: Vec::new(),
            looks: 0,
            captures: 0,
            closed: Vec::new(),
            last: Last::Unrepeatable,
            expanded: options.expanded,
            case_sensitive: options.case_sensitive,
        }
    }

    fn run(mut self) -> Parsed<String> {
        while let Some(c) = self.peek() {
            if self.expanded && self.skip_space(c) {
                continue;
            }
            self.piece(c)?;
        }
        match self.open.last() {
            Some(open) => mistake(
                open.at..open.at + 1,
                "this group is not closed; write `\\(` for the character itself",
            ),
            None => Ok(self.out),
        }
    }

    fn piece(&mut self, c: char) -> Parsed<()> {
        match c {
            '(' => self.open_group(),
            ')' => self.close_group(),
            '[' => self.bracket(),
            '\\' => self.escape_outside(),
            '*' | '+' | '?' => self.repeat(),
            '{' if self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) => self.bound(),
            _ => {
                self.bump(c);
                self.plain(c);
                Ok(())
            }
        }
    }

    /// Translates a character that needs no lookahead.
    fn plain(&mut self, c: char) {
        match c {
            '|' => {
                self.out.push('|');
                self.last = Last::Unrepeatable;
            }
            '^' => self.constraint("^"),
            '$' => self.constraint("$"),
            '.' => self.atom("."),
            _ => self.literal(c),
        }
    }

    fn skip_space(&mut self, c: char) -> bool {
        if c == '#' {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        } else if c.is_whitespace() {
            self.bump(c);
        } else {
            return false;
        }
        true
    }

    // Groups.

    fn open_group(&mut self) -> Parsed<()> {
        let at = self.at;
        let rest = self.rest();
        if rest.starts_with("(?#") {
            self.at += rest.find(')').map_or(rest.len(), |close| close + 1);
            return Ok(());
        }
        let (written, group) = self.group_kind(rest)?;
        self.at += written.len();
        self.out.push_str(if matches!(group, Group::Plain) { "(?:" } else { written });
        self.open.push(Open { at, group });
        self.looks += usize::from(group == Group::Look);
        self.last = Last::Unrepeatable;
        Ok(())
    }

    fn group_kind(&mut self, rest: &str) -> Parsed<(&'static str, Group)> {
        for look in ["(?=", "(?!", "(?<=", "(?<!"] {
            if rest.starts_with(look) {
                return Ok((look, Group::Look));
            }
        }
        if rest.starts_with("(?:") {
            return Ok(("(?:", Group::Plain));
        }
        if rest.starts_with("(?") {
            return mistake(
                self.at..self.at + 2,
                "PostgreSQL knows `(?:...)`, `(?=...)`, `(?!...)`, `(?<=...)` and \
                 `(?<!...)`, and options such as `(?i)` only at the start of the pattern",
            );
        }
        if self.looks > 0 {
            return Ok(("(", Group::Plain));
        }
        self.captures += 1;
        Ok(("(", Group::Capture(self.captures)))
    }

    fn close_group(&mut self) -> Parsed<()> {
        let Some(open) = self.open.pop() else {
            return mistake(
                self.at..self.at + 1,
                "no group is open here; write `\\)` for the character itself",
            );
        };
        self.at += 1;
        self.out.push(')');
        self.last = Last::Atom;
        match open.group {
            Group::Capture(number) => self.closed.push(number),
            Group::Plain => {}
            Group::Look => {
                self.looks -= 1;
                self.last = Last::Unrepeatable;
            }
        }
        Ok(())
    }

    // Quantifiers.

    fn repeat(&mut self) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        self.quantified(start)
    }

    /// Translates `{m}`, `{m,}` or `{m,n}`. The caller has checked the brace and the first digit.
    fn bound(&mut self) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        let least = self.count(start)?;
        if self.eat(',') && self.peek() != Some('}') {
            let most = self.count(start)?;
            if least > most {
                return mistake(start..self.at, "the first count is larger than the second");
            }
        }
        if !self.eat('}') {
            return mistake(
                start..self.at,
                "a count is `{m}`, `{m,}` or `{m,n}`; write `\\{` for the character itself",
            );
        }
        self.quantified(start)
    }

    fn count(&mut self, start: usize) -> Parsed<u32> {
        let digits = self.digits(10, usize::MAX);
        self.at += digits.len();
        match digits.parse() {
            Ok(count) if count <= MAX_COUNT => Ok(count),
            _ => mistake(
                start..self.at,
                "a count is a number from 0 to 255; write `\\{` for the character itself",
            ),
        }
    }

    fn quantified(&mut self, start: usize) -> Parsed<()> {
        self.eat('?');
        let source = self.source;
        let written = &source[start..self.at];
        let why = match self.last {
            Last::Atom => {
                self.out.push_str(written);
                self.last = Last::Quantified;
                return Ok(());
            }
            Last::Quantified => {
                "a quantifier can't follow another; put the first into a group `(?:...)`"
            }
            Last::Unrepeatable => {
                "there is nothing here to repeat; write a backslash before it for the \
                 character itself"
            }
        };
        mistake(start..self.at, why)
    }

    // Escapes.

    fn escape_outside(&mut self) -> Parsed<()> {
        let start = self.at;
        match self.escape()? {
            Escape::Char(c) => self.literal(c),
            Escape::Set(set) => self.atom(&set),
            Escape::Constraint(place) => self.constraint(place),
            Escape::Back(number) => return self.back_reference(number, start),
        }
        Ok(())
    }

    fn back_reference(&mut self, number: u32, start: usize) -> Parsed<()> {
        if self.looks > 0 || !self.closed.contains(&number) {
            return mistake(
                start..self.at,
                "a back-reference needs a group of that number that is closed before it, \
                 and can't stand within look-around",
            );
        }
        // Without the group, a digit that follows would become part of the number.
        self.atom(&format!("(?:\\{number})"));
        Ok(())
    }

    /// Reads an escape, inside or outside of brackets.
    fn escape(&mut self) -> Parsed<Escape> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.peek() else {
            return mistake(
                start..self.at,
                "nothing follows the backslash; write `\\\\` for the character itself",
            );
        };
        if c.is_ascii_digit() {
            return self.number(start);
        }
        self.bump(c);
        match c {
            'c' => self.control(start),
            'u' => self.hex(start, 4..=4),
            'U' => self.hex(start, 8..=8),
            'x' => self.hex(start, 1..=usize::MAX),
            'p' | 'P' => Ok(self.unicode_class(start)),
            _ => match letter_escape(c) {
                Some(escape) => Ok(escape),
                None if c.is_ascii_alphanumeric() => mistake(
                    start..self.at,
                    "PostgreSQL has no such escape; write two backslashes for the character itself",
                ),
                None => Ok(Escape::Char(c)),
            },
        }
    }

    /// A back-reference, or a character by its octal number. It is a reference if it has one digit that is not zero, or if
    /// the number is not larger than the count of groups so far.
    fn number(&mut self, start: usize) -> Parsed<Escape> {
        let digits = self.digits(10, usize::MAX);
        if !digits.starts_with('0') {
            let number = digits.parse().unwrap_or(u32::MAX);
            if digits.len() == 1 || number <= self.captures {
                self.at += digits.len();
                return Ok(Escape::Back(number));
            }
        }
        let mut octal = self.digits(8, 3);
        if u32::from_str_radix(octal, 8).is_ok_and(|code| code > 0xFF) {
            octal = &octal[..2];
        }
        self.at += octal.len();
        self.code_point(octal, 8, start)
    }

    fn control(&mut self, start: usize) -> Parsed<Escape> {
        match self.peek() {
            Some(c) => {
                self.bump(c);
                Ok(Escape::Char(char::from((u32::from(c) & 0x1F) as u8)))
            }
            None => mistake(start..self.at, "`\\c` needs a character after it, as in `\\cA`"),
        }
    }

    fn hex(&mut self, start: usize, len: RangeInclusive<usize>) -> Parsed<Escape> {
        let digits = self.digits(16, *len.end());
        self.at += digits.len();
        if digits.len() < *len.start() {
            return mistake(
                start..self.at,
                "too few hexadecimal digits; `\\u` takes four, `\\U` eight, `\\x` at least one",
            );
        }
        self.code_point(digits, 16, start)
    }

    fn code_point(&self, digits: &str, radix: u32, start: usize) -> Parsed<Escape> {
        match u32::from_str_radix(digits, radix).ok().and_then(char::from_u32) {
            Some(c) => Ok(Escape::Char(c)),
            None => mistake(start..self.at, "this is not the number of a character"),
        }
    }

    /// Rust's `\pL` and `\p{...}`, unchanged.
    fn unicode_class(&mut self, start: usize) -> Escape {
        let rest = self.rest();
        let len = match rest.chars().next() {
            Some('{') => rest.find('}').map_or(rest.len(), |close| close + 1),
            Some(c) => c.len_utf8(),
            None => 0,
        };
        self.at += len;
        Escape::Set(self.source[start..self.at].to_owned())
    }

    // Brackets.

    fn bracket(&mut self) -> Parsed<()> {
        let start = self.at;
        if self.eat_str("[[:<:]]") {
            self.constraint(r"\b{start}");
            return Ok(());
        }
        if self.eat_str("[[:>:]]") {
            self.constraint(r"\b{end}");
            return Ok(());
        }
        self.at += 1;
        self.out.push('[');
        if self.eat('^') {
            self.out.push('^');
        }
        self.bracket_items(start)?;
        self.atom("]");
        Ok(())
    }

    fn bracket_items(&mut self, start: usize) -> Parsed<()> {
        let first = self.at;
        loop {
            match self.peek() {
                Some(']') if self.at > first => {
                    self.at += 1;
                    return Ok(());
                }
                Some('-') if self.at > first && !self.rest().starts_with("-]") => {
                    return mistake(
                        self.at..self.at + 1,
                        "a range starts and ends with a character; for `-` itself write it first \
                         or last in the brackets",
                    );
                }
                Some(c) => self.bracket_member(c, start)?,
                None => return unclosed_bracket(start),
            }
        }
    }

    fn bracket_member(&mut self, c: char, start: usize) -> Parsed<()> {
        let member = self.at;
        let low = match self.bracket_item(c, start)? {
            Item::Char(low) => low,
            Item::Set(set) => {
                self.out.push_str(&set);
                return Ok(());
            }
        };
        push_escaped(&mut self.out, low);
        if !self.rest().starts_with('-') || self.rest().starts_with("-]") {
            return Ok(());
        }
        self.at += 1;
        let Some(c) = self.peek() else { return unclosed_bracket(start) };
        match self.bracket_item(c, start)? {
            Item::Char(high) if low <= high => {
                self.out.push('-');
                push_escaped(&mut self.out, high);
                Ok(())
            }
            Item::Char(_) => mistake(member..self.at, "this range ends before it starts"),
            Item::Set(_) => mistake(member..self.at, "a range can't end with a class"),
        }
    }

    fn bracket_item(&mut self, c: char, start: usize) -> Parsed<Item> {
        if c == '\\' {
            return self.bracket_escape();
        }
        for mark in ['.', '=', ':'] {
            if c == '[' && self.rest()[1..].starts_with(mark) {
                return self.named_item(mark, start);
            }
        }
        self.bump(c);
        Ok(Item::Char(c))
    }

    fn bracket_escape(&mut self) -> Parsed<Item> {
        let start = self.at;
        match self.escape()? {
            Escape::Char(c) => Ok(Item::Char(c)),
            Escape::Set(set) => Ok(Item::Set(set)),
            // Within brackets, `\b` is a backspace.
            Escape::Constraint(_) if self.source[start..].starts_with("\\b") => {
                Ok(Item::Char('\x08'))
            }
            Escape::Constraint(_) | Escape::Back(_) => mistake(
                start..self.at,
                "this escape has no meaning within brackets; write `\\\\` for a backslash",
            ),
        }
    }

    /// `[.x.]`, `[=x=]` or `[:class:]`, within brackets.
    fn named_item(&mut self, mark: char, start: usize) -> Parsed<Item> {
        let item = self.at;
        let Some(len) = self.rest()[2..].find(&format!("{mark}]")) else {
            return unclosed_bracket(start);
        };
        let source = self.source;
        let name = &source[item + 2..item + 2 + len];
        self.at = item + len + 4;
        if mark == ':' {
            return match class::by_name(name, self.case_sensitive) {
                Some(class) => Ok(Item::Set(class.to_owned())),
                None => mistake(
                    item..self.at,
                    "there is no class of that name; there are alnum, alpha, ascii, blank, \
                     cntrl, digit, graph, lower, print, punct, space, upper, word and xdigit",
                ),
            };
        }
        let Some(c) = class::character(name) else {
            return mistake(
                item..self.at,
                "this names no single character; write the character itself",
            );
        };
        if mark == '.' {
            return Ok(Item::Char(c));
        }
        // An equivalence class may not be an end of a range, so it is a set of one character.
        let mut set = String::new();
        push_escaped(&mut set, c);
        Ok(Item::Set(set))
    }

    // Reading and writing.

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        if found {
            self.bump(c);
        }
        found
    }

    fn eat_str(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// The digits that come next, at most `most`, not yet read.
    fn digits(&self, radix: u32, most: usize) -> &'a str {
        let rest = self.rest();
        let len = rest.chars().take_while(|c| c.is_digit(radix)).take(most).count();
        &rest[..len]
    }

    fn literal(&mut self, c: char) {
        push_escaped(&mut self.out, c);
        self.last = Last::Atom;
    }

    fn atom(&mut self, written: &str) {
        self.out.push_str(written);
        self.last = Last::Atom;
    }

    fn constraint(&mut self, written: &str) {
        self.out.push_str(written);
        self.last = Last::Unrepeatable;
    }
}

/// The escapes of one letter.
fn letter_escape(c: char) -> Option<Escape> {
    Some(match c {
        'a' => Escape::Char('\x07'),
        'B' => Escape::Char('\\'),
        'e' => Escape::Char('\x1B'),
        'f' => Escape::Char('\x0C'),
        'n' => Escape::Char('\n'),
        'r' => Escape::Char('\r'),
        't' => Escape::Char('\t'),
        'v' => Escape::Char('\x0B'),
        'd' => Escape::Set(class::DIGIT.to_owned()),
        's' => Escape::Set(class::SPACE.to_owned()),
        'w' => Escape::Set(class::WORD.to_owned()),
        'D' => Escape::Set(class::complement(class::DIGIT)),
        'S' => Escape::Set(class::complement(class::SPACE)),
        'W' => Escape::Set(class::complement(class::WORD)),
        'A' => Escape::Constraint("^"),
        'Z' | 'z' => Escape::Constraint("$"),
        'm' => Escape::Constraint(r"\b{start}"),
        'M' => Escape::Constraint(r"\b{end}"),
        'b' | 'y' => Escape::Constraint(r"\b"),
        'Y' => Escape::Constraint(r"\B"),
        _ => return None,
    })
}

fn push_escaped(out: &mut String, c: char) {
    if regex_syntax::is_meta_character(c) {
        out.push('\\');
    }
    out.push(c);
}

fn mistake<T>(part: Range<usize>, why: &'static str) -> Parsed<T> {
    Err(Mistake { part, why })
}

fn unclosed_bracket<T>(start: usize) -> Parsed<T> {
    mistake(start..start + 1, "this bracket is not closed; write `\\[` for the character itself")
}
