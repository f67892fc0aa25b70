//! Which files a search reads: all, those that match globs, or those whose path matches W10's pattern.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use yard_core::op::{FindBy, PathFilter};
use yard_core::{Result, WsPath};

use crate::op::find::{self, NamePatterns};
use crate::virtual_files;

/// Most bytes of a path pattern that is also tried as a glob.
const MAX_GLOB_BYTES: usize = 4_096;

pub(super) enum Filter {
    All,
    /// The pattern for the whole path, and the pattern as a glob, if it may be one.
    Like(RegexMatcher, Option<GlobMatcher>),
    Globs(NamePatterns),
}

impl Filter {
    pub(super) fn new(filter: &PathFilter, base: &WsPath) -> Result<Self> {
        match filter {
            PathFilter::All => Ok(Self::All),
            PathFilter::Globs(globs) => {
                Ok(Self::Globs(NamePatterns::new(&FindBy::Globs(globs.clone()), base)?))
            }
            PathFilter::Like(pattern) => {
                let pattern = pattern.trim();
                // `./x` is `/x`.
                let rooted = pattern.strip_prefix('.').filter(|rest| rest.starts_with('/'));
                Self::like(rooted.unwrap_or(pattern))
            }
        }
    }

    fn like(pattern: &str) -> Result<Self> {
        let bad = |error: String| {
            super::bad_path_pattern(format!(
                "the path pattern cannot be used: {error}; write `[[]` for the character `[` itself"
            ))
        };
        let regex = RegexMatcherBuilder::new()
            .case_insensitive(true)
            .dot_matches_new_line(true)
            .build(&like(pattern))
            .map_err(|error| bad(error.to_string()))?;
        let glob = glob_of(pattern).map(|glob| {
            let mut builder = GlobBuilder::new(&glob);
            builder.case_insensitive(true).literal_separator(true).backslash_escape(true);
            builder.build().map_err(|error| bad(error.kind().to_string()))
        });
        Ok(Self::Like(regex, glob.transpose()?.map(|glob| glob.compile_matcher())))
    }

    pub(super) fn matches(&self, path: &WsPath) -> bool {
        match self {
            Self::All => true,
            Self::Like(pattern, glob) => {
                let is_glob = |glob: &GlobMatcher| {
                    glob.is_match(Path::new(OsStr::from_bytes(path.relative())))
                };
                pattern.is_match(path.to_string().as_bytes()).unwrap_or(false)
                    || glob.as_ref().is_some_and(is_glob)
            }
            Self::Globs(names) => names.matches_path(path, false),
        }
    }
}

/// Whether the filter names the folder of virtual files.
pub(super) fn names_virtual_folder(filter: &PathFilter) -> bool {
    match filter {
        PathFilter::All => false,
        PathFilter::Globs(globs) => find::name_virtual_folder(globs),
        PathFilter::Like(pattern) => virtual_files::names_virtual_folder(pattern),
    }
}

/// The pattern as a glob relative to the root, if it may be one (W10). A name matches at any depth, and so does a pattern
/// with signs that only globs have. A path with plain wildcards is anchored, as in [`like`].
fn glob_of(pattern: &str) -> Option<String> {
    // No path is longer, and compiling a long glob takes seconds.
    if pattern.len() > MAX_GLOB_BYTES {
        return None;
    }
    if let Some(rooted) = pattern.strip_prefix('/') {
        let is_glob = ["**", "[", "{"].iter().any(|mark| pattern.contains(mark));
        return is_glob.then(|| rooted.to_owned());
    }
    let is_name = pattern.contains('*') && !pattern.contains('/');
    let is_glob = ["**", "[", "{"].iter().any(|mark| pattern.contains(mark));
    (is_name || is_glob).then(|| format!("**/{pattern}"))
}

/// W10's pattern as a regular expression: anchored at both ends if it has `%`, `*` or `?`, else matched anywhere.
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

    fn matches(pattern: &str, path: &str) -> bool {
        let filter = Filter::new(&PathFilter::Like(pattern.to_owned()), &WsPath::root()).unwrap();
        filter.matches(&WsPath::parse(path).unwrap())
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
            ("./src", "/src/a.txt", true),
            ("./src", "/asrc/a.txt", false),
            ("./src/*", "/src/a.txt", true),
            ("js/**/*.js", "/js/a.js", true),
            ("js/**/*.js", "/js/x/y/a.js", true),
            ("js/**/*.js", "/web/js/a.js", true),
            ("js/**/*.js", "/js/a.css", false),
            ("/js/**/*.js", "/js/a.js", true),
            ("/js/**/*.js", "/web/js/a.js", false),
            ("app*", "/app.js", true),
            ("app*", "/app/x.txt", true),
            ("app*", "/web/app.js", true),
            ("app*", "/web/my-app.js", false),
            ("test_*.py", "/test_a.py", true),
            ("test_*.py", "/src/deep/Test_a.py", true),
            ("test_*.py", "/src/my_test_a.py", false),
            ("*.{js,ts}", "/web/a.ts", true),
            ("[ab].txt", "/x/b.txt", true),
            ("[id].tsx", "/pages/[id].tsx", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn w10_a_glob_that_is_none_is_refused() {
        for pattern in ["*.{js", "src/[a", "**/{a"] {
            let filter = Filter::new(&PathFilter::Like(pattern.to_owned()), &WsPath::root());
            let fault = filter.err().unwrap();
            assert_eq!(fault.code(), yard_core::FaultCode::BadPattern, "{pattern}");
        }
    }
}
