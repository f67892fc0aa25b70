//! Globs as in shells and the tools of JavaScript: groups of alternatives (`@(a|b)`, `?(a|b)`, `+(a|b)`, `*(a|b)`) in
//! addition to the syntax of `globset` (`*`, `**`, `?`, `[]`, `{}`). Unsupported syntax is refused with what to write
//! instead, so that no pattern silently matches nothing.

use std::path::Path;

use globset::{ErrorKind, Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use yard_core::{Fault, FaultCode, Result, Subject};

/// How deep groups may nest.
const MAX_DEPTH: usize = 16;
/// Most groups of one pattern, and most bytes of a pattern with groups: finding the ends of more takes long.
const MAX_GROUPS: usize = 100;
const MAX_BYTES_WITH_GROUPS: usize = 4 << 10;
/// Stands for a repeated group while `globset` translates the rest of a pattern: a character that no pattern needs.
const PLACEHOLDER: char = '\u{10fffe}';

/// A set of patterns. A path matches if one of them matches.
#[derive(Default)]
pub struct Globs {
    simple: GlobSet,
    /// Patterns with repeated groups, which `globset` does not have.
    repeating: Vec<RegexMatcher>,
}

impl Globs {
    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.simple.is_empty() && self.repeating.is_empty()
    }

    /// Whether a path matches one of them.
    pub fn is_match(&self, path: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt as _;
        let bytes = path.as_os_str().as_bytes();
        !self.simple.is_empty() && self.simple.is_match(path)
            || self.repeating.iter().any(|one| one.is_match(bytes).unwrap_or(false))
    }
}

/// Collects globs.
#[derive(Default)]
pub struct GlobsBuilder {
    simple: Vec<Glob>,
    repeating: Vec<RegexMatcher>,
}

impl GlobsBuilder {
    /// Adds a pattern. Faults quote it `as_written` by the caller.
    pub fn add(&mut self, pattern: &str, as_written: &str) -> Result<()> {
        check_groups(pattern, as_written)?;
        let parsed = parse(pattern, as_written, 0)?;
        if parsed.repeated.is_empty() {
            self.simple.push(glob(&parsed.pattern, as_written)?);
            return Ok(());
        }
        let regex = format!("^(?:{})$", parsed.regex(as_written)?);
        let built = RegexMatcherBuilder::new().unicode(false).build(&regex);
        self.repeating.push(built.map_err(|error| bad(as_written, &error.to_string()))?);
        Ok(())
    }

    /// Compiles the patterns.
    pub fn build(self) -> Result<Globs> {
        let mut simple = GlobSetBuilder::new();
        for glob in self.simple {
            simple.add(glob);
        }
        let simple = simple.build().map_err(|error| bad("", &error.kind().to_string()))?;
        Ok(Globs { simple, repeating: self.repeating })
    }
}

/// A pattern with its groups parsed.
struct ParsedGlob {
    /// The pattern in the syntax of `globset`, with a placeholder for each repeated group.
    pattern: String,
    /// The repeated groups, in order: their alternatives, and the sign of the repetition.
    repeated: Vec<(Vec<ParsedGlob>, &'static str)>,
}

impl ParsedGlob {
    /// The pattern as a regular expression without anchors.
    fn regex(&self, as_written: &str) -> Result<String> {
        let whole = inner_regex(&self.pattern, as_written)?;
        let placeholder = inner_regex(&PLACEHOLDER.to_string(), as_written)?;
        let mut pieces = whole.split(&placeholder);
        let mut regex = pieces.next().unwrap_or_default().to_owned();
        for (piece, (alternatives, sign)) in pieces.zip(&self.repeated) {
            let alternatives: Vec<String> =
                alternatives.iter().map(|one| one.regex(as_written)).collect::<Result<_>>()?;
            regex.push_str(&format!("(?:{}){sign}{piece}", alternatives.join("|")));
        }
        Ok(regex)
    }
}

/// A fault if a pattern has too many groups.
fn check_groups(pattern: &str, as_written: &str) -> Result<()> {
    let signs = pattern.as_bytes().windows(2);
    let groups = signs.filter(|signs| b"@?+*!".contains(&signs[0]) && signs[1] == b'(').count();
    if groups > MAX_GROUPS || groups > 0 && pattern.len() > MAX_BYTES_WITH_GROUPS {
        let start: String = as_written.chars().take(100).collect();
        return Err(bad(&start, "it has too many groups; write it as several patterns"));
    }
    Ok(())
}

/// Parses the groups of a pattern.
fn parse(pattern: &str, as_written: &str, depth: usize) -> Result<ParsedGlob> {
    if depth > MAX_DEPTH || pattern.contains(PLACEHOLDER) {
        return Err(bad(
            as_written,
            "its groups are nested too deeply; write it as several patterns",
        ));
    }
    refuse_range(pattern, as_written)?;
    let mut parsed =
        ParsedGlob { pattern: String::with_capacity(pattern.len()), repeated: Vec::new() };
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some((inner, after)) = group(rest) {
            parsed.add_group(first, inner, as_written, depth)?;
            rest = after;
            continue;
        }
        let length = piece(rest);
        parsed.pattern.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    Ok(parsed)
}

impl ParsedGlob {
    fn add_group(&mut self, sign: char, inner: &str, as_written: &str, depth: usize) -> Result<()> {
        if sign == '!' {
            let wrong = "`!(...)` is not known: to leave files out, search by a glob of its own that begins \
                         with `!`, such as `!*.test.ts`";
            return Err(bad(as_written, wrong));
        }
        let alternatives = split(inner).into_iter().map(|one| parse(one, as_written, depth + 1));
        let alternatives: Vec<ParsedGlob> = alternatives.collect::<Result<_>>()?;
        let repeats = alternatives.iter().any(|one| !one.repeated.is_empty());
        if matches!(sign, '@' | '?') && !repeats {
            let texts = alternatives.iter().map(|one| escape_commas(&one.pattern));
            let texts: Vec<String> = texts.collect();
            let nothing = if sign == '?' { "," } else { "" };
            self.pattern.push_str(&format!("{{{}{nothing}}}", texts.join(",")));
            return Ok(());
        }
        let sign = match sign {
            '?' => "?",
            '+' => "+",
            '*' => "*",
            _ => "",
        };
        self.pattern.push(PLACEHOLDER);
        self.repeated.push((alternatives, sign));
        Ok(())
    }
}

/// The inside of the group that a pattern begins with, and the rest of the pattern.
fn group(pattern: &str) -> Option<(&str, &str)> {
    let inner = pattern.strip_prefix(['@', '?', '+', '*', '!'])?.strip_prefix('(')?;
    let end = find_outside(inner, ')')?;
    Some((&inner[..end], &inner[end + 1..]))
}

/// The alternatives of a group.
fn split(inner: &str) -> Vec<&str> {
    let mut alternatives = Vec::new();
    let mut rest = inner;
    while let Some(at) = find_outside(rest, '|') {
        alternatives.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    alternatives.push(rest);
    alternatives
}

/// The position of a character outside of groups, classes and escapes.
fn find_outside(text: &str, wanted: char) -> Option<usize> {
    let (mut at, mut open) = (0, 0_usize);
    while let Some(first) = text[at..].chars().next() {
        match first {
            found if found == wanted && open == 0 => return Some(at),
            '(' => open += 1,
            ')' => open = open.checked_sub(1)?,
            _ => {}
        }
        at += piece(&text[at..]);
    }
    None
}

/// The length of the first token of a pattern: an escape, a class, or one character.
fn piece(pattern: &str) -> usize {
    let mut characters = pattern.char_indices();
    match characters.next() {
        Some((_, '\\')) => characters.nth(1).map_or(pattern.len(), |(at, _)| at),
        Some((_, '[')) => class(pattern).unwrap_or(1),
        Some((_, other)) => other.len_utf8(),
        None => 0,
    }
}

/// The length of the class at the start of a pattern. Its first character may be a bracket.
fn class(pattern: &str) -> Option<usize> {
    let inner = pattern.strip_prefix('[')?;
    let negated = usize::from(inner.starts_with(['!', '^']));
    let first = inner[negated..].chars().next()?.len_utf8();
    let end = inner[negated + first..].find(']')?;
    Some(1 + negated + first + end + 1)
}

/// Escapes commas, which separate alternatives in braces.
fn escape_commas(pattern: &str) -> String {
    let (mut escaped, mut rest, mut braces) = (String::new(), pattern, 0_usize);
    while let Some(first) = rest.chars().next() {
        match first {
            ',' if braces == 0 => escaped.push('\\'),
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        let length = piece(rest);
        escaped.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    escaped
}

/// A fault for ranges such as `{1..3}`, which `globset` would match literally.
fn refuse_range(pattern: &str, as_written: &str) -> Result<()> {
    let is_end = |text: &str| {
        text.parse::<i64>().is_ok() || text.len() == 1 && text.starts_with(char::is_alphabetic)
    };
    let is_range = |inner: &str| {
        let mut ends = inner.split("..");
        let (first, second) = (ends.next(), ends.next());
        first.is_some_and(is_end) && second.is_some_and(is_end)
    };
    let mut braces = pattern.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    match braces.any(|(inner, _)| inner.split(',').any(is_range)) {
        true => Err(bad(as_written, "ranges such as {1..3} are not known; write {1,2,3}")),
        false => Ok(()),
    }
}

fn glob(pattern: &str, as_written: &str) -> Result<Glob> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| bad(as_written, &explained(error.kind())))
}

/// The error of a glob, with what to write for the character itself.
fn explained(kind: &ErrorKind) -> String {
    let literal = match kind {
        ErrorKind::UnclosedClass | ErrorKind::InvalidRange(..) => {
            "; write `[[]` for the character `[` itself"
        }
        ErrorKind::DanglingEscape => "; write two backslashes for the character itself",
        _ => "",
    };
    format!("{kind}{literal}")
}

/// The regular expression that `globset` makes of a pattern, without its anchors.
fn inner_regex(pattern: &str, as_written: &str) -> Result<String> {
    let glob = glob(pattern, as_written)?;
    let inner = glob.regex().strip_prefix("(?-u)^").and_then(|regex| regex.strip_suffix('$'));
    inner.map(str::to_owned).ok_or_else(|| bad(as_written, "its groups cannot be read"))
}

fn bad(pattern: &str, why: &str) -> Fault {
    let message = format!("the pattern {pattern:?} is no glob: {why}");
    Fault::new(FaultCode::BadPattern, message).about(Subject::Pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(pattern: &str) -> Result<Globs> {
        let mut builder = GlobsBuilder::default();
        builder.add(pattern, pattern)?;
        builder.build()
    }

    #[test]
    fn groups_match_as_in_a_shell_with_extglob() {
        for (pattern, matching, other) in [
            ("@(a|b).py", "a.py b.py", "ab.py .py c.py"),
            ("*.@(py|ts)", "x.py x.ts", "x.pyts x.js"),
            ("?(test_)a.py", "a.py test_a.py", "test_test_a.py b.py"),
            ("+(a|b).py", "a.py abba.py", ".py c.py"),
            ("*(a|b).py", ".py a.py abba.py", "c.py"),
            ("**/*.+(ts|tsx)", "x.ts a/b/x.tsx", "x.js"),
            ("src/@(a|b)/*.rs", "src/a/x.rs src/b/x.rs", "src/c/x.rs src/a/b/x.rs"),
            ("@(a|+(b)c).x", "a.x bbc.x", "b.x"),
            ("@(a,b|c)", "a,b c", "a b"),
            ("@(a|b){1,2}", "a1 b2", "a3"),
            ("?(a|@(b|c))d", "d ad bd cd", "abd"),
            ("[@(]x", "@x (x", "ax"),
            ("we(i)rd", "we(i)rd", "weird"),
            ("a+(", "a+(", "a"),
            (r"\@(a)", "@(a)", "a"),
            ("x{a,}", "xa x", "xb"),
        ] {
            let globs = globs(pattern).unwrap();
            for name in matching.split(' ') {
                assert!(globs.is_match(Path::new(name)), "{pattern} on {name}");
            }
            for name in other.split(' ') {
                assert!(!globs.is_match(Path::new(name)), "{pattern} on {name}");
            }
        }
    }

    #[test]
    fn unsupported_syntax_is_refused_with_what_to_write_instead() {
        for (pattern, word) in [
            ("!(*.test).ts", "begins with `!`"),
            ("src/!(a|b)/x", "begins with `!`"),
            ("file{1..3}.txt", "{1,2,3}"),
            ("@(x{a..c}|y)", "{1,2,3}"),
        ] {
            let fault = globs(pattern).map(|_| ()).unwrap_err();
            assert_eq!(fault.code(), FaultCode::BadPattern, "{pattern}");
            assert!(fault.message().contains(word), "{fault}");
        }
        assert!(globs("a..b").is_ok() && globs("{a..,b}").is_ok());
        assert!(globs(&"@(".repeat(20)).is_ok(), "an unclosed group is literal text");
        // Patterns in which the search for the ends of groups would take quadratic time.
        for long in ["@(".repeat(30_000), format!("{}{}", "@(".repeat(90), "[".repeat(60_000))] {
            assert!(globs(&long).is_err());
        }
        let deep = format!("{}a{}", "@(".repeat(20), ")".repeat(20));
        assert!(globs(&deep).is_err());
    }
}
