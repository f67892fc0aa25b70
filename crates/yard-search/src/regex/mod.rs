//! Regular expressions over lines (R9).
//!
//! The subject of a match is one line without its terminator (`\n` or `\r\n`): `^`, `$` and the anchors of the text match
//! at its ends, and a pattern that names a newline is refused because it could never match. Patterns run on an engine of
//! linear time, and those with look-around or back-references on a backtracking engine with a bound on its work.
//! `postgres` translates PostgreSQL's syntax to Rust's beforehand. Nothing here opens files.

mod budget;
mod postgres;

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;

use fancy_regex::{CompileError, Expr, RuntimeError};
use grep_matcher::{LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::translate::TranslatorBuilder;
use yard_core::op::RegexFlavor;
use yard_core::{Fault, FaultCode, Result, Subject};

use self::budget::Budget;

/// How long a pattern may be.
const PATTERN_BYTES: usize = 64 << 10;
/// How large a compiled pattern may be; `\w{255}` fits.
const PROGRAM_BYTES: usize = 32 << 20;
/// How large the linear engine's cache of states may be during a search.
const CACHE_BYTES: usize = 32 << 20;
/// How deep groups may nest. Rewriting the anchors and the engine's own group add two levels.
const NESTING: u32 = 200;
const REWRITTEN_NESTING: u32 = NESTING + 2;
/// Most characters of a wrong part that a message shows.
const SHOWN_CHARS: usize = 60;

const NEWLINE: &str = "A pattern is matched line by line and can't hold a newline. Search for the \
                       text of one line.";

/// A compiled pattern. As a [`Matcher`], it works with a `grep_searcher` that is built with
/// `.line_terminator(LineTerminator::crlf())`, whichever engine it needs.
#[derive(Debug)]
pub enum LineRegex {
    /// Takes linear time in the length of the text, for every pattern.
    Linear(Linear),
    /// For look-around and back-references. May fail on a line with a fault.
    Backtracking(Backtracking),
}

/// A pattern for the backtracking engine.
#[derive(Debug)]
pub struct Backtracking {
    regex: Box<fancy_regex::Regex>,
    budget: Budget,
}

/// A pattern for the linear engine, compiled twice.
#[derive(Debug)]
pub struct Linear {
    /// Exact for a line without its terminator.
    exact: RegexMatcher,
    /// Finds every line that may match in a buffer of many lines. Here `$` also matches before `\r`, and a class may match
    /// the `\r` of a terminator, so that each candidate has to be checked.
    loose: RegexMatcher,
}

/// Compiles `pattern`; a fault about [`Subject::Pattern`] says where it is wrong.
pub fn compile(pattern: &str, flavor: RegexFlavor, case_sensitive: bool) -> Result<LineRegex> {
    if pattern.len() > PATTERN_BYTES {
        return Err(fault(format!("The pattern is longer than {PATTERN_BYTES} bytes.")));
    }
    let source = match flavor {
        RegexFlavor::Plain => {
            Source { pattern: Cow::Borrowed(pattern), case_sensitive, as_written: true }
        }
        RegexFlavor::Postgres => postgres::translate(pattern, case_sensitive)
            .map(Source::from)
            .map_err(|mistake| bad_part(pattern, mistake.part, mistake.why))?,
    };
    match source.parse() {
        Ok(parsed) => source.linear(&parsed).map(LineRegex::Linear),
        Err(error) if needs_backtracking(&error) => {
            source.backtracking().map(LineRegex::Backtracking)
        }
        Err(error) => Err(source.fault(error.span(), &explain(error.kind()))),
    }
}

impl LineRegex {
    /// Whether a line, with or without its terminator, matches. A fault if that exceeds the bound on work.
    pub fn is_match(&self, line: impl AsRef<[u8]>) -> Result<bool> {
        let line = without_terminator(line.as_ref());
        match self {
            Self::Linear(linear) => {
                linear.exact.is_match(line).map_err(|error| fault(error.to_string()))
            }
            Self::Backtracking(backtracking) => backtracking.is_match(line),
        }
    }
}

impl Backtracking {
    fn is_match(&self, line: &[u8]) -> Result<bool> {
        let longest = self.budget.line_bytes;
        if line.len() > longest {
            return Err(fault(format!(
                "The pattern has look-around or back-references and repeats without bound, which \
                 takes too long on a line of {} bytes (at most {longest}). Give `*` and `+` a \
                 bound such as `{{0,200}}`, do without look-around, or leave out the file.",
                line.len()
            )));
        }
        self.regex.is_match(&*String::from_utf8_lossy(line)).map_err(|error| exhausted(&error))
    }
}

/// A match is a whole line, not a position in it.
impl Matcher for LineRegex {
    type Captures = NoCaptures;
    type Error = Fault;

    fn find_at(&self, line: &[u8], at: usize) -> Result<Option<Match>> {
        Ok(self.is_match(&line[at..])?.then(|| Match::new(at, line.len())))
    }

    fn new_captures(&self) -> Result<NoCaptures> {
        Ok(NoCaptures::new())
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        Some(LineTerminator::crlf())
    }

    fn find_candidate_line(&self, lines: &[u8]) -> Result<Option<LineMatchKind>> {
        let found = match self {
            Self::Linear(linear) => {
                linear.loose.find_candidate_line(lines).map_err(|error| fault(error.to_string()))?
            }
            Self::Backtracking(_) => (!lines.is_empty()).then_some(LineMatchKind::Candidate(0)),
        };
        Ok(found.and_then(|found| candidate(lines, found)))
    }
}

/// Makes a find a candidate that still has to be checked. A find behind the last newline is in no line.
fn candidate(lines: &[u8], found: LineMatchKind) -> Option<LineMatchKind> {
    let (LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at)) = found;
    let behind = at == lines.len() && (lines.is_empty() || lines.ends_with(b"\n"));
    (!behind).then_some(LineMatchKind::Candidate(at))
}

/// A `\r` without `\n` belongs to the line.
fn without_terminator(line: &[u8]) -> &[u8] {
    let Some(line) = line.strip_suffix(b"\n") else { return line };
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A pattern in Rust's syntax.
struct Source<'a> {
    pattern: Cow<'a, str>,
    case_sensitive: bool,
    /// Whether it is the caller's own text, so that positions in it mean something to the caller.
    as_written: bool,
}

impl From<postgres::Translated> for Source<'_> {
    fn from(translated: postgres::Translated) -> Self {
        let postgres::Translated { pattern, case_sensitive } = translated;
        Self { pattern: Cow::Owned(pattern), case_sensitive, as_written: false }
    }
}

impl Source<'_> {
    fn parse(&self) -> std::result::Result<ast::WithComments, Box<ast::Error>> {
        let mut parser = ast::parse::ParserBuilder::new().nest_limit(NESTING).build();
        parser.parse_with_comments(&self.pattern).map_err(Box::new)
    }

    fn linear(&self, parsed: &ast::WithComments) -> Result<Linear> {
        let mut pattern = Cow::Borrowed(&*self.pattern);
        if !parsed.comments.is_empty() {
            // The engine appends a parenthesis to the pattern, which would become part of a comment.
            pattern.to_mut().push('\n');
        }
        let anchors = Anchors::of(&parsed.ast);
        let build = |end| self.matcher(&parsed.ast, &anchors.at_ends(&pattern, end));
        let exact = build("(?m-R:$)")?;
        let loose = if anchors.ends.is_empty() { exact.clone() } else { build("(?mR:$)")? };
        Ok(Linear { exact, loose })
    }

    /// The line terminator lets the engine search for literals first, and removes newlines from classes.
    fn matcher(&self, ast: &Ast, pattern: &str) -> Result<RegexMatcher> {
        RegexMatcherBuilder::new()
            .case_insensitive(!self.case_sensitive)
            .line_terminator(Some(b'\n'))
            .nest_limit(REWRITTEN_NESTING)
            .size_limit(PROGRAM_BYTES)
            .dfa_size_limit(CACHE_BYTES)
            .build(pattern)
            .map_err(|error| match error.kind() {
                grep_regex::ErrorKind::NotAllowed(_) => fault(NEWLINE),
                _ => self.untranslatable(ast, &error),
            })
    }

    /// The engine's error has no position, so this translates the pattern again to get one.
    fn untranslatable(&self, ast: &Ast, error: &grep_regex::Error) -> Fault {
        match TranslatorBuilder::new().utf8(false).build().translate(&self.pattern, ast) {
            Err(error) => self.fault(error.span(), &error.kind().to_string()),
            Ok(_) => too_large(error),
        }
    }

    fn backtracking(&self) -> Result<Backtracking> {
        let tree = Expr::parse_tree(&self.pattern).map_err(|error| self.refusal(&error))?;
        if holds_newline(&tree.expr) || tree.expr.has_descendant(holds_newline) {
            return Err(fault(NEWLINE));
        }
        if tree.contains_subroutines {
            return Err(fault("A pattern can't call one of its groups: write the group out."));
        }
        let budget = Budget::of(&tree.expr)
            .map_err(|why| fault(format!("The pattern could take too long: {why}.")))?;
        let regex = fancy_regex::RegexBuilder::new(&self.pattern)
            .case_insensitive(!self.case_sensitive)
            .backtrack_limit(budget.backtracks)
            .delegate_size_limit(PROGRAM_BYTES)
            .delegate_dfa_size_limit(CACHE_BYTES)
            .build()
            .map_err(|error| self.refusal(&error))?;
        Ok(Backtracking { regex: Box::new(regex), budget })
    }

    fn fault(&self, span: &ast::Span, why: &str) -> Fault {
        let part = span.start.offset..span.end.offset;
        if self.as_written {
            return bad_part(&self.pattern, part, why);
        }
        fault(format!("The pattern is wrong at `{}`: {why}.", shown(&self.pattern[part])))
    }

    /// The fault for a pattern that the backtracking engine refuses.
    fn refusal(&self, error: &fancy_regex::Error) -> Fault {
        match error {
            fancy_regex::Error::ParseError(at, why) if self.as_written => {
                let len = self.pattern.len();
                let at = if self.pattern.is_char_boundary(*at) { *at } else { len };
                bad_part(&self.pattern, at..len, &why.to_string())
            }
            fancy_regex::Error::CompileError(error) => uncompilable(error),
            _ => fault(format!("The pattern does not compile: {error}.")),
        }
    }
}

/// Whether an error is about look-around, back-references or atomic groups, which only the backtracking engine has.
fn needs_backtracking(error: &ast::Error) -> bool {
    let part = &error.pattern()[error.span().start.offset..];
    match error.kind() {
        ast::ErrorKind::UnsupportedLookAround | ast::ErrorKind::UnsupportedBackreference => true,
        ast::ErrorKind::EscapeUnrecognized => part.starts_with("\\k"),
        ast::ErrorKind::FlagUnrecognized => part.starts_with('>') || part.starts_with("P="),
        _ => false,
    }
}

/// The message for an error, with what to write for the character itself.
fn explain(kind: &ast::ErrorKind) -> String {
    use ast::ErrorKind::{
        ClassUnclosed, EscapeUnexpectedEof, EscapeUnrecognized, GroupUnclosed, GroupUnopened,
        RepetitionCountDecimalEmpty, RepetitionCountInvalid, RepetitionCountUnclosed,
        RepetitionMissing,
    };
    let literal = match kind {
        GroupUnclosed => "; write `\\(` for the character itself",
        GroupUnopened => "; write `\\)` for the character itself",
        ClassUnclosed => "; write `\\[` for the character itself",
        RepetitionCountDecimalEmpty | RepetitionCountInvalid | RepetitionCountUnclosed => {
            "; write `\\{` for the character itself"
        }
        RepetitionMissing => "; write a backslash before it for the character itself",
        EscapeUnexpectedEof => "; write two backslashes for the character itself",
        EscapeUnrecognized => "; leave the backslash out, or write two for the character itself",
        _ => "",
    };
    format!("{kind}{literal}")
}

/// The positions of a pattern's anchors, in bytes. Only the anchors are rewritten.
#[derive(Default)]
struct Anchors {
    starts: Vec<Range<usize>>,
    ends: Vec<Range<usize>>,
}

impl Anchors {
    fn of(ast: &Ast) -> Self {
        match ast::visit(ast, Self::default()) {
            Ok(anchors) => anchors,
            Err(never) => match never {},
        }
    }

    /// The pattern with anchors that match only at the ends of the line, whatever its flags are.
    fn at_ends(&self, pattern: &str, end: &str) -> String {
        let starts = self.starts.iter().map(|place| (place, "(?m-R:^)"));
        let ends = self.ends.iter().map(|place| (place, end));
        let mut places: Vec<_> = starts.chain(ends).collect();
        places.sort_by_key(|(place, _)| place.start);
        let mut rewritten = String::with_capacity(pattern.len() + 8 * places.len());
        let mut at = 0;
        for (place, anchor) in places {
            rewritten.push_str(&pattern[at..place.start]);
            rewritten.push_str(anchor);
            at = place.end;
        }
        rewritten.push_str(&pattern[at..]);
        rewritten
    }
}

impl ast::Visitor for Anchors {
    type Output = Self;
    type Err = Infallible;

    fn finish(self) -> std::result::Result<Self, Infallible> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> std::result::Result<(), Infallible> {
        use ast::AssertionKind::{EndLine, EndText, StartLine, StartText};
        if let Ast::Assertion(assertion) = ast {
            let place = assertion.span.start.offset..assertion.span.end.offset;
            match assertion.kind {
                StartLine | StartText => self.starts.push(place),
                EndLine | EndText => self.ends.push(place),
                _ => {}
            }
        }
        Ok(())
    }
}

fn holds_newline(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal { val, .. } if val.contains('\n'))
}

fn uncompilable(error: &CompileError) -> Fault {
    let CompileError::InnerError(inner) = error else {
        return match error {
            CompileError::PatternTooComplex => too_large(error),
            _ => fault(format!("The pattern does not compile: {error}.")),
        };
    };
    match inner.syntax_error() {
        Some(regex_syntax::Error::Parse(error)) => {
            let span = error.span();
            let part = &error.pattern()[span.start.offset..span.end.offset];
            fault(format!("The pattern is wrong at `{}`: {}.", shown(part), explain(error.kind())))
        }
        Some(error) => fault(format!("The pattern does not compile: {error}.")),
        None => too_large(inner),
    }
}

fn too_large(error: impl std::fmt::Display) -> Fault {
    let message = "Repeat less, or search for a part of it.";
    fault(format!("The pattern does not compile: {error}. {message}"))
}

fn exhausted(error: &fancy_regex::Error) -> Fault {
    let fancy_regex::Error::RuntimeError(
        RuntimeError::BacktrackLimitExceeded | RuntimeError::StackOverflow,
    ) = error
    else {
        return fault(format!("The pattern failed on a line: {error}."));
    };
    fault(
        "The pattern takes too long on a line: with look-around or back-references, repetitions \
         within repetitions can be tried in too many ways. Do without them, or nest fewer \
         repetitions.",
    )
}

/// A fault that shows where in the caller's pattern the mistake is.
fn bad_part(pattern: &str, part: Range<usize>, why: &str) -> Fault {
    let character = pattern[..part.start].chars().count() + 1;
    let part = shown(&pattern[part]);
    let place = if part.is_empty() { String::new() } else { format!(", `{part}`") };
    fault(format!("The pattern is wrong at character {character}{place}: {why}."))
}

fn shown(part: &str) -> Cow<'_, str> {
    match part.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}...", &part[..end])),
        None => Cow::Borrowed(part),
    }
}

fn fault(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::BadPattern, message).about(Subject::Pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use grep_searcher::SearcherBuilder;
    use grep_searcher::sinks::Bytes;

    /// Where this engine and PostgreSQL differ, as rows of the table: pattern, flag, subjects, why. The test fails if one of
    /// them does not differ any more.
    const DIFFERENCES: &[(&str, &str, &[&str], &str)] = &[
        (r"\bfoo\b", "s", &["foo"], B_IS_BOUNDARY),
        (r"foo\bbar", "s", &["foo%08bar"], B_IS_BOUNDARY),
        (r"(a)\b", "s", &["a"], B_IS_BOUNDARY),
        (r"\n", "s", &["n", "%09"], NEWLINE_IS_REFUSED),
        (r"[\n]", "s", &["n"], NEWLINE_IS_REFUSED),
        (r"a\nb", "s", &["anb", "ab"], NEWLINE_IS_REFUSED),
        (r"\012", "s", &["x"], NEWLINE_IS_REFUSED),
        (r"\x110000", "s", &["a"], "no such character: refused rather than never matching"),
        (r"(?e)a\d", "s", &["ad", "a5"], ONLY_ADVANCED),
        (r"(?e)a+", "s", &["aa"], ONLY_ADVANCED),
        (r"(?b)a+", "s", &["a+", "aa"], ONLY_ADVANCED),
        (r"\ye\y", "s", &["e%CC%81", "e‿"], UNICODE_WORD),
        ("straße", "i", &["STRAẞE"], UNICODE_FOLDING),
        ("ß", "i", &["ẞ"], UNICODE_FOLDING),
        ("σ", "i", &["ς"], UNICODE_FOLDING),
        ("ς", "i", &["σ"], UNICODE_FOLDING),
        ("k", "i", &["%E2%84%AA"], UNICODE_FOLDING),
        ("s", "i", &["ſ"], UNICODE_FOLDING),
        ("ı", "i", &["I"], UNICODE_FOLDING),
        ("İ", "i", &["i"], UNICODE_FOLDING),
        ("ǆ", "i", &["ǅ"], UNICODE_FOLDING),
    ];
    const B_IS_BOUNDARY: &str = "R9: `\\b` is a word boundary, not a backspace";
    const NEWLINE_IS_REFUSED: &str = "no line holds a newline: refused rather than never matching";
    const ONLY_ADVANCED: &str = "basic and extended POSIX syntax is not offered";
    const UNICODE_WORD: &str =
        "to the engine's boundaries, marks and connectors are part of a word (UTS #18)";
    const UNICODE_FOLDING: &str =
        "case folds by Unicode's simple folding, not by the C library's upper and lower";

    struct Row<'a> {
        pattern: &'a str,
        flag: &'a str,
        subject: &'a str,
        result: &'a str,
    }

    fn table() -> Vec<Row<'static>> {
        let lines = include_str!("../../tests/data/pg_regex.tsv").lines();
        lines.filter(|line| !line.starts_with("##")).map(row).collect()
    }

    fn row(line: &str) -> Row<'_> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [pattern, flag, subject, result] = columns[..] else { panic!("columns: {line}") };
        Row { pattern, flag, subject, result }
    }

    /// `%xx` is the byte xx.
    fn plain(encoded: &str) -> String {
        let mut parts = encoded.split('%');
        let mut bytes = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
            bytes.extend_from_slice(&part.as_bytes()[2..]);
        }
        String::from_utf8(bytes).unwrap()
    }

    fn answer(regex: &Result<LineRegex>, subject: &str) -> &'static str {
        match regex.as_ref().map(|regex| regex.is_match(subject)) {
            Ok(Ok(true)) => "t",
            Ok(Ok(false)) => "f",
            Ok(Err(_)) | Err(_) => "error",
        }
    }

    fn differs(row: &Row<'_>) -> bool {
        DIFFERENCES.iter().any(|(pattern, flag, subjects, _)| {
            (*pattern, *flag) == (row.pattern, row.flag) && subjects.contains(&row.subject)
        })
    }

    fn regex(pattern: &str) -> LineRegex {
        compile(pattern, RegexFlavor::Plain, true).unwrap()
    }

    #[test]
    fn r9_postgres_patterns_mean_what_they_mean_in_postgres() {
        let table = table();
        assert!(table.len() >= 300, "{} cases", table.len());
        let mut wrong = Vec::new();
        let mut different = 0;
        for rows in table.chunk_by(|a, b| (a.pattern, a.flag) == (b.pattern, b.flag)) {
            let regex =
                compile(&plain(rows[0].pattern), RegexFlavor::Postgres, rows[0].flag == "s");
            for row in rows {
                let ours = answer(&regex, &plain(row.subject));
                different += usize::from(differs(row));
                // A pattern that PostgreSQL refuses may be accepted here.
                if row.result != "error" && (ours == row.result) == differs(row) {
                    let Row { pattern, flag, subject, result } = row;
                    wrong.push(format!("{pattern} ({flag}) on {subject}: {result}, here {ours}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let listed: usize = DIFFERENCES.iter().map(|(_, _, subjects, _)| subjects.len()).sum();
        assert_eq!(different, listed, "DIFFERENCES names rows that the table does not have");
    }

    #[test]
    fn r9_look_around_and_back_references_work() {
        let cases = [
            ("foo(?!bar)", "foobaz", "foobar"),
            ("(?<=a)b", "ab", "cb"),
            (r"(\w)\1", "hello", "world"),
            (r"(?<q>['\x22]).*\k<q>", "a 'b' c", "a 'b c"),
            (r"(?P<q>['\x22]).*(?P=q)", "a 'b' c", "a 'b c"),
            ("(?>a+)b", "aab", "aa"),
            (r"^(?=.*\d)\S+$", "a1", "a 1"),
        ];
        for (pattern, yes, no) in cases {
            let regex = regex(pattern);
            assert!(matches!(regex, LineRegex::Backtracking(_)), "{pattern}");
            assert!(regex.is_match(yes).unwrap(), "{pattern} on {yes}");
            assert!(!regex.is_match(no).unwrap(), "{pattern} on {no}");
        }
    }

    #[test]
    fn r9_backtracking_is_bounded() {
        let line = format!("{}b", "a".repeat(60));
        for pattern in [r"^(a|aa)+\1$", r"(a*)*\1c", r"^(a|aa)+(?!b)$"] {
            let fault = regex(pattern).is_match(&line).unwrap_err();
            assert_eq!(
                (fault.code(), fault.subject()),
                (FaultCode::BadPattern, Some(Subject::Pattern))
            );
            assert!(fault.message().contains("too long"), "{pattern}: {fault}");
        }
        assert!(!regex("^(a+)+$").is_match(&line).unwrap());
    }

    #[test]
    fn r9_work_that_backtracking_does_not_count_is_bounded() {
        for pattern in [
            r"(a?)((((\1{99}){99}){99}){99}){99}",
            r"(?>(?>(?>x{0,99}){0,99}){0,99})",
            r"(?:(?=.*z)a)*b",
            r"(?:(?:(?>a*)){2}b)(?=c)",
            r"(?=a)(?<r>a\g<r>?)",
        ] {
            let fault = compile(pattern, RegexFlavor::Plain, true).unwrap_err();
            assert_eq!(fault.subject(), Some(Subject::Pattern), "{pattern}");
        }
        let long = "ab".repeat(1_000_000);
        assert!(regex("(?=.*z)a").is_match(&long).unwrap_err().message().contains("2000000 bytes"));
        assert!(!regex("(?<!a)b").is_match(&long).unwrap());
        assert!(!regex(r"(?:(?!foo).)*bar$(?!x)").is_match(&long[..500]).unwrap());
    }

    #[test]
    fn r9_compiling_is_bounded() {
        assert!(compile(r"^\w{255}$", RegexFlavor::Postgres, true).is_ok());
        let fault = compile(r"((\w{100}){100}){100}", RegexFlavor::Plain, true).unwrap_err();
        assert!(fault.message().contains("Repeat less"), "{fault}");
        let fault = compile(r"(?=a)\w{1000}", RegexFlavor::Plain, true).unwrap_err();
        assert!(fault.message().contains("Repeat less"), "{fault}");
        assert!(compile(&"a".repeat(100_000), RegexFlavor::Plain, true).is_err());
        let deep = format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000));
        for flavor in [RegexFlavor::Plain, RegexFlavor::Postgres] {
            assert!(compile(&deep, flavor, true).is_err());
            assert!(compile(&format!("(?=b){deep}"), flavor, true).is_err());
        }
    }

    /// Which lines, from 1, a search over the whole text reports.
    fn searched(regex: &LineRegex, text: &[u8]) -> Vec<u64> {
        let mut lines = Vec::new();
        let sink = Bytes(|number, _| {
            lines.push(number);
            Ok(true)
        });
        let terminator = LineTerminator::crlf();
        let mut searcher = SearcherBuilder::new().line_terminator(terminator).build();
        searcher.search_slice(regex, text, sink).unwrap();
        lines
    }

    /// The same result as [`searched`], one line at a time: slow and obviously right.
    fn searched_by_line(regex: &LineRegex, text: &[u8]) -> Vec<u64> {
        let lines = (1..).zip(text.split_inclusive(|byte| *byte == b'\n'));
        lines.filter(|(_, line)| regex.is_match(line).unwrap()).map(|(number, _)| number).collect()
    }

    #[test]
    fn r9_a_search_reports_the_lines_that_match_alone() {
        let patterns = [
            "",
            "^",
            "$",
            "^$",
            "$^",
            "a",
            "a$",
            "^a$",
            r"\Aa\z",
            r"a\b$",
            r"a$\b",
            r"\Ba",
            "[^a]",
            "[^a]$",
            r"\s",
            r"a\s",
            r"\s$",
            "a.b",
            "^b",
            ".",
            ".$",
            "^..$",
            "(?-m)^a$",
            "(?s)a.b",
            "(?R)a$",
            r"\r",
            r"\r$",
            "(a|$)+",
            r"a(?=$)",
            r"(?<!a)b$",
            r"(.)\1",
            "(?!a)",
            "A|é",
            r"\xE9",
        ];
        let texts: [&[u8]; 14] = [
            b"",
            b"\n",
            b"\r\n",
            b"\r",
            b"a",
            b"a\n",
            b"a\r\n",
            b"a\nb\n",
            b"a\r\nb\r\n\r\nab\r\n",
            b"a\rb\na\r\r\n\n\na",
            b"b\n\nx a\r\n",
            b"a b\raa\r\n bb",
            b"\xff a\xff\n\xe9\r\n",
            "é\r\nA\n".as_bytes(),
        ];
        for pattern in patterns {
            let regex = regex(pattern);
            for text in texts {
                let shown = text.escape_ascii();
                assert_eq!(
                    searched(&regex, text),
                    searched_by_line(&regex, text),
                    "`{pattern}` on {shown}"
                );
            }
        }
    }

    #[test]
    fn r9_a_line_without_its_terminator_is_the_subject() {
        for (pattern, text, lines) in [
            ("^a$", "a\nb\r\na\r\n", &[1, 3][..]),
            ("^$", "\r\n\na\n", &[1, 2]),
            (r"\s", "a\r\nb \r\n", &[2]),
            (r"\Aa\z", "a\na\r\nab", &[1, 2]),
            ("a.b", "a\rb\r\na\nb", &[1]),
            ("^b", "a\rb\nb", &[2]),
            (r"a(?!\s)", "a\r\na \r\n", &[1]),
        ] {
            assert_eq!(searched(&regex(pattern), text.as_bytes()), lines, "{pattern}");
        }
    }

    #[test]
    fn r9_a_pattern_holds_no_newline() {
        for pattern in ["a\nb", r"a\nb", r"\x0A", r"[\n]", r"a(?=\n)", "(a)\\1\n"] {
            for flavor in [RegexFlavor::Plain, RegexFlavor::Postgres] {
                let fault = compile(pattern, flavor, true).unwrap_err();
                assert!(fault.message().contains("line by line"), "{pattern}: {fault}");
            }
        }
        assert!(regex(r"a[\n\t]b").is_match("a\tb").unwrap());
        assert!(regex("(?x) a # c\n b # d").is_match("ab").unwrap());
    }

    #[test]
    fn r9_a_bad_pattern_is_shown_where_it_is_wrong() {
        let (plain, postgres) = (RegexFlavor::Plain, RegexFlavor::Postgres);
        for (pattern, flavor, words) in [
            ("é(a", plain, "at character 2, `(`: unclosed group; write `\\(`"),
            ("a{", plain, "at character 2, `{`: unclosed counted repetition; write `\\{`"),
            (r"a\q", plain, r"at character 2, `\q`: unrecognized escape"),
            (r"\p{Nope}x", plain, r"at character 1, `\p{Nope}`: Unicode property not found"),
            ("(?=a", plain, "at character 5: Opening parenthesis"),
            ("(?=a)[b-a]", plain, "at `b-a`: invalid character class range"),
            ("é(a", postgres, "at character 2, `(`: this group is not closed; write `\\(`"),
            ("ab)", postgres, "at character 3, `)`: no group is open"),
            ("a**", postgres, "at character 3, `*`: a quantifier can't follow another"),
            ("a{3,1}", postgres, "at character 2, `{3,1`: the first count is larger"),
            ("x[[:foo:]]", postgres, "at character 3, `[:foo:]`: there is no class"),
            ("[b-a]", postgres, "at character 2, `b-a`: this range ends before"),
            (r"a\q", postgres, r"at character 2, `\q`: PostgreSQL has no such escape"),
            (r"\p{Nope}x", postgres, r"at `\p{Nope}`: Unicode property not found"),
            ("(?i:a)", postgres, "at character 4, `:`: PostgreSQL has no such option"),
        ] {
            let fault = compile(pattern, flavor, true).unwrap_err();
            assert_eq!(
                (fault.code(), fault.subject()),
                (FaultCode::BadPattern, Some(Subject::Pattern))
            );
            assert!(fault.message().contains(words), "{pattern}: {fault}");
        }
    }

    #[test]
    fn r9_case_counts_only_when_asked() {
        for (pattern, flavor) in [
            ("grün", RegexFlavor::Plain),
            ("grün", RegexFlavor::Postgres),
            ("gr(?=ün)", RegexFlavor::Plain),
            ("gr(?=ün)", RegexFlavor::Postgres),
        ] {
            assert!(
                compile(pattern, flavor, false).unwrap().is_match("GRÜN").unwrap(),
                "{pattern}"
            );
            assert!(
                !compile(pattern, flavor, true).unwrap().is_match("GRÜN").unwrap(),
                "{pattern}"
            );
        }
    }

    /// A generator without dependencies, always the same (Knuth's MMIX constants).
    fn next(state: &mut u64) -> usize {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize
    }

    #[test]
    fn r9_no_pattern_panics() {
        let pieces = [
            "a",
            "é",
            "漢",
            " ",
            "\t",
            "-",
            "^",
            "$",
            ".",
            "|",
            "(",
            ")",
            "(?:",
            "(?=",
            "(?<!",
            "(?i)",
            "(?#",
            "[",
            "[^",
            "]",
            "[:alpha:]",
            "[.",
            "[=a=]",
            "&&",
            "--",
            "*",
            "+",
            "?",
            "{",
            "{2}",
            "{1,",
            "}",
            "\\",
            "\\1",
            "\\k<n>",
            "(?<n>",
            "\\x",
            "\\u00",
            "\\p{",
            "\\b{",
            "\\d",
            "\\y",
            "***=",
            "***:",
            "<",
            "#",
            "9",
        ];
        let mut state = 1;
        for _ in 0..2_000 {
            let count = 1 + next(&mut state) % 8;
            let pattern: String =
                (0..count).map(|_| pieces[next(&mut state) % pieces.len()]).collect();
            for flavor in [RegexFlavor::Plain, RegexFlavor::Postgres] {
                if let Ok(regex) = compile(&pattern, flavor, next(&mut state).is_multiple_of(2)) {
                    _ = regex.is_match("a é-漢9");
                }
            }
        }
    }
}
