//! Patterns as the reference server takes them: matched against whole paths relative to the directory
//! that is searched, so that `*.rs` means that directory alone and `**/*.rs` all below it too. Names that
//! begin with a dot are like any other. Syntax that this engine does not have is refused, never misread.

use globset::{GlobBuilder, GlobMatcher};
use yard_core::{Fault, FaultCode, Subject};

use crate::tool::Stop;

/// Each pattern takes time to compile, and is tried on every path.
const MAX_PATTERNS: usize = 1_000;

/// Checks that a pattern has no syntax that would be misread.
pub(super) fn checked(pattern: &str) -> Result<&str, Stop> {
    let wrong = if pattern.is_empty() {
        "the pattern is empty; send a glob such as **/*.rs, or **/* for everything"
    } else if pattern.starts_with('!') {
        "a pattern cannot begin with `!`; send what it excludes as excludePatterns"
    } else if pattern.starts_with('#') {
        "a pattern that begins with `#` means nothing; write [#] for that character"
    } else if ["@(", "+(", "!(", "?(", "*("].iter().any(|group| pattern.contains(group)) {
        "groups such as +(a|b) are not known; write {a,b}"
    } else if has_range(pattern) {
        "ranges such as {1..3} are not known; write {1,2,3}"
    } else {
        return Ok(pattern);
    };
    Err(bad_pattern(pattern, wrong))
}

fn has_range(pattern: &str) -> bool {
    pattern.split('{').skip(1).any(|rest| {
        rest.split_once('}').is_some_and(|(inner, _)| inner.contains("..") && !inner.contains(','))
    })
}

fn bad_pattern(pattern: &str, wrong: &str) -> Stop {
    let message = format!("{wrong} ({})", crate::args::quoted(pattern));
    Stop::Fault(Fault::new(FaultCode::BadPattern, message).about(Subject::Pattern))
}

fn check_count(patterns: &[String]) -> Result<(), Stop> {
    if patterns.len() <= MAX_PATTERNS {
        return Ok(());
    }
    let count = patterns.len();
    let message = format!("{count} excludePatterns are too many; send at most {MAX_PATTERNS}");
    Err(Stop::Fault(Fault::new(FaultCode::BadPattern, message).about(Subject::Pattern)))
}

/// The patterns of what a search leaves out.
pub(super) struct Excluded(Vec<GlobMatcher>);

impl Excluded {
    /// Patterns as `search_files` takes them.
    pub(super) fn by_path(patterns: &[String]) -> Result<Self, Stop> {
        check_count(patterns)?;
        let matchers = patterns.iter().map(|pattern| matcher(checked(pattern)?, pattern));
        Ok(Self(matchers.collect::<Result<_, _>>().map_err(about_exclude_patterns)?))
    }

    /// Patterns as `directory_tree` takes them: without a `*` one means a name, or names, at any depth.
    pub(super) fn by_name_too(patterns: &[String]) -> Result<Self, Stop> {
        check_count(patterns)?;
        let mut matchers = Vec::new();
        for pattern in patterns {
            let glob = checked(pattern).map_err(about_exclude_patterns)?;
            matchers.push(matcher(glob, pattern).map_err(about_exclude_patterns)?);
            if !pattern.contains('*') {
                let at_any_depth = matcher(&format!("**/{pattern}"), pattern);
                matchers.push(at_any_depth.map_err(about_exclude_patterns)?);
            }
        }
        Ok(Self(matchers))
    }

    /// Whether this path, relative to the directory that is searched, is left out by itself.
    pub(super) fn matches(&self, relative: &str) -> bool {
        self.0.iter().any(|glob| glob.is_match(relative))
    }

    /// Whether the path, or a directory above it, is left out.
    pub(super) fn matches_any_above(&self, relative: &str) -> bool {
        let ends = relative.match_indices('/').map(|(at, _)| at).chain([relative.len()]);
        !self.0.is_empty() && ends.into_iter().any(|end| self.matches(&relative[..end]))
    }
}

/// Tells a wrong exclude pattern from a wrong `pattern`.
fn about_exclude_patterns(stop: Stop) -> Stop {
    stop.reword(|fault| Some(format!("excludePatterns: {}", fault.message())))
}

fn matcher(glob: &str, shown: &str) -> Result<GlobMatcher, Stop> {
    let built = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
    match built {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => {
            let wrong = format!(
                "this is no glob: {}; write a character in brackets, such as `[[]`, where it stands for itself",
                error.kind()
            );
            Err(bad_pattern(shown, &wrong))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(all: &[&str]) -> Vec<String> {
        all.iter().map(|pattern| (*pattern).to_owned()).collect()
    }

    #[test]
    fn g8_very_many_patterns_are_refused() {
        let many = vec!["a".to_owned(); MAX_PATTERNS + 1];
        assert!(Excluded::by_path(&many).is_err() && Excluded::by_name_too(&many).is_err());
        assert!(Excluded::by_path(&many[1..]).is_ok());
    }

    #[test]
    fn patterns_exclude_by_path_or_also_by_name() {
        let by_path = Excluded::by_path(&patterns(&["*.log", "**/target", "a/**"])).unwrap();
        for path in ["x.log", "target", "b/target/deep/er", "a/b", ".log"] {
            assert!(by_path.matches_any_above(path), "{path}");
        }
        for path in ["b/x.log", "a", "targets"] {
            assert!(!by_path.matches_any_above(path), "{path}");
        }
        let by_name =
            Excluded::by_name_too(&patterns(&["node_modules", "docs/old", "*.log"])).unwrap();
        for path in ["node_modules", "a/b/node_modules", "x/docs/old", "x.log"] {
            assert!(by_name.matches(path), "{path}");
        }
        assert!(!by_name.matches("a/x.log") && !by_name.matches("docs"));
    }

    #[test]
    fn patterns_with_unknown_syntax_are_refused() {
        for pattern in ["", "!a", "#a", "+(a|b)", "x{1..3}", "{a,{1..3}}"] {
            assert!(checked(pattern).is_err(), "{pattern}");
        }
        for pattern in ["*", "**/*.{ts,tsx}", "a..b", "[!a]", "a!b"] {
            assert!(checked(pattern).is_ok(), "{pattern}");
        }
        assert!(Excluded::by_path(&patterns(&["["])).is_err());
    }
}
