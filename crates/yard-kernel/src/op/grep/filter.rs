//! Which files a search looks into: everything, globs, or W10's pattern over the whole path.

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use yard_core::op::{FindBy, PathFilter};
use yard_core::{Result, WsPath};

use crate::op::find::Names;

pub(super) enum Filter {
    All,
    Like(RegexMatcher),
    Globs(Names),
}

impl Filter {
    pub(super) fn new(filter: &PathFilter, base: &WsPath) -> Result<Self> {
        match filter {
            PathFilter::All => Ok(Self::All),
            PathFilter::Globs(globs) => {
                Ok(Self::Globs(Names::new(&FindBy::Globs(globs.clone()), base)?))
            }
            PathFilter::Like(pattern) => RegexMatcherBuilder::new()
                .case_insensitive(true)
                .dot_matches_new_line(true)
                .build(&like(pattern.trim()))
                .map(Self::Like)
                .map_err(|error| {
                    super::bad_path_pattern(format!("the path pattern cannot be used: {error}"))
                }),
        }
    }

    pub(super) fn holds(&self, path: &WsPath) -> bool {
        match self {
            Self::All => true,
            Self::Like(pattern) => pattern.is_match(path.to_string().as_bytes()).unwrap_or(false),
            Self::Globs(names) => names.hold_path(path, false),
        }
    }
}

/// W10 as a regular expression: with `%`, `*` or `?` anchored at both ends, else "contains".
fn like(pattern: &str) -> String {
    let wild = |character: char| matches!(character, '%' | '*' | '?');
    if !pattern.contains(wild) {
        return regex_syntax::escape(pattern);
    }
    let mut regex = String::from("^");
    if !pattern.starts_with('/') && !pattern.starts_with(wild) {
        regex.push('/');
    }
    for character in pattern.chars() {
        match character {
            '%' | '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            other => regex.push_str(&regex_syntax::escape(&other.to_string())),
        }
    }
    regex.push('$');
    regex
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(pattern: &str, path: &str) -> bool {
        let filter = Filter::new(&PathFilter::Like(pattern.to_owned()), &WsPath::root()).unwrap();
        filter.holds(&WsPath::parse(path).unwrap())
    }

    #[test]
    fn w10_path_patterns() {
        for (pattern, path, expected) in [
            ("%.rs", "/src/main.rs", true),
            ("*.RS", "/src/main.rs", true),
            ("%.rs", "/src/main.rsx", false),
            ("/src/%", "/src/a/b.txt", true),
            ("src/*", "/src/a/b.txt", true),
            ("src/*", "/lib/src/a", false),
            ("main", "/src/Main.rs", true),
            ("a_b", "/x/a_b.txt", true),
            ("a_b", "/x/acb.txt", false),
            ("/x/?.txt", "/x/a.txt", true),
            ("/x/?.txt", "/x/ab.txt", false),
            ("a.b", "/x/a.b", true),
            ("a.b", "/x/aXb", false),
        ] {
            assert_eq!(holds(pattern, path), expected, "{pattern} on {path}");
        }
    }
}
