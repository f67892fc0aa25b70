//! What test frameworks say, as data: how many tests passed, failed and were skipped, and what went wrong
//! in those that failed. One module a format; none of them runs anything, and whatever does not fit its
//! format is passed over.

mod ctest;
mod go;
mod jest;
mod junit;
mod libtest;
mod nextest;
mod python;
mod summary;
mod tap;

use schemars::JsonSchema;
use serde::Serialize;

/// Bytes of what is said of one failure.
const MOST_MESSAGE: usize = 2_000;
/// Failures that are told of.
const MOST_FAILURES: usize = 100;

/// A test that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Failure {
    /// The test.
    pub(super) name: String,
    /// What went wrong.
    pub(super) message: String,
    /// The file, as far as it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
}

/// What came of all tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    /// The first that failed.
    pub(super) failures: Vec<Failure>,
    /// What people read, where it is not what the framework printed.
    pub(super) text: Option<String>,
}

impl Told {
    /// Notes a test that failed; it is counted elsewhere.
    fn note(&mut self, mut failure: Failure) {
        if self.failures.len() >= MOST_FAILURES {
            return;
        }
        let message = failure.message.trim();
        let end = message.floor_char_boundary(MOST_MESSAGE.min(message.len()));
        failure.message = match end < message.len() {
            true => format!("{} [... {} bytes more]", &message[..end], message.len() - end),
            false => message.to_owned(),
        };
        self.failures.push(failure);
    }

    /// The same, with what came of more tests.
    fn and(mut self, more: Option<Told>) -> Self {
        if let Some(more) = more {
            self.passed += more.passed;
            self.failed += more.failed;
            self.skipped += more.skipped;
            more.failures.into_iter().for_each(|failure| self.note(failure));
        }
        self
    }
}

/// Between what a framework said and the reports that it wrote.
const REPORTS: &str = "\n:: reports ::\n";

/// What a framework said, and what came of its tests; `None` where that is not told.
pub(super) fn read<'a>(
    framework: &str,
    filter: Option<&str>,
    text: &'a str,
) -> (&'a str, Option<Told>) {
    let (said, reports) = text.rsplit_once(REPORTS).unwrap_or((text, ""));
    let told = match framework {
        "cargo" => nextest::parse(said, filter).or_else(|| libtest::parse(said)),
        "go" => go::parse(said),
        "pytest" | "unittest" => python::parse(said),
        "maven" | "gradle" => junit::parse(reports),
        "ctest" => ctest::parse(said),
        "npm" => jest::parse(said).or_else(|| tap::parse(said)).or_else(|| summary::parse(said)),
        // What it runs nobody knows.
        _ => libtest::parse(said).or_else(|| tap::parse(said)).or_else(|| summary::parse(said)),
    };
    (said, told)
}

/// `file:line` or `file:line:column`.
fn position(text: &str) -> Option<(String, u64)> {
    let mut parts = text.trim().rsplitn(3, ':');
    let (last, middle) = (parts.next()?, parts.next()?);
    if let (Ok(_), Ok(line), Some(file)) = (last.parse::<u64>(), middle.parse(), parts.next()) {
        return Some((file.to_owned(), line));
    }
    let (file, line) = text.trim().rsplit_once(':')?;
    Some((file.to_owned(), line.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn positions_have_a_line_and_maybe_a_column() {
        assert_eq!(position("src/a b.rs:7:39"), Some(("src/a b.rs".to_owned(), 7)));
        assert_eq!(position("x_test.go:12"), Some(("x_test.go".to_owned(), 12)));
        assert_eq!(position("nothing"), None);
        assert_eq!(position("a:b:c"), None);
    }

    const FRAMEWORKS: [&str; 10] =
        ["cargo", "go", "pytest", "unittest", "npm", "make", "tox", "maven", "gradle", "ctest"];

    proptest! {
        #[test]
        fn anything_at_all_is_read_and_the_answer_is_bounded(
            pieces in prop::collection::vec(prop_oneof![
                "[ -~]{0,20}", Just("\n".to_owned()), Just("test a ... FAILED\n".to_owned()),
                Just("---- a stdout ----\n".to_owned()), Just("failures:\n".to_owned()),
                Just("test result: ok. 1 passed; ".to_owned()), Just("not ok 1 - a\n  ---\n".to_owned()),
                Just("    ok 2 - b # SKIP\n".to_owned()), Just("TAP version 13\n".to_owned()),
                Just("{\"Action\":\"fail\",\"Test\":\"T/x\"}\n".to_owned()),
                Just("{\"testResults\":[{}]}\n".to_owned()), Just("é".to_owned()),
                Just(REPORTS.to_owned()), Just("<testcase name=\"".to_owned()), Just("<failure".to_owned()),
                Just("1/2 Test #1: a ....***Failed\n".to_owned()), Just("        FAIL [ 0.1s] a b\n".to_owned()),
                Just("     Summary [ 0.1s] 1 test run: ".to_owned()), Just("  stderr ───\n".to_owned()),
            ], 0..60),
        ) {
            let text = pieces.concat();
            for framework in FRAMEWORKS {
                if let Some(told) = read(framework, None, &text).1 {
                    prop_assert!(told.failures.len() <= MOST_FAILURES);
                }
            }
        }
    }

    #[test]
    fn a_thousand_long_failures_make_no_long_answer() {
        let mut text = String::new();
        for number in 0..1_000 {
            text.push_str(&format!("---- t{number} stdout ----\n{}\n", "é".repeat(5_000)));
        }
        text.push_str(
            "\nfailures:\n    t0\n\ntest result: FAILED. 0 passed; 1000 failed; 0 ignored;\n",
        );
        let told = read("cargo", None, &text).1.unwrap();
        assert_eq!((told.failed, told.failures.len()), (1_000, MOST_FAILURES));
        assert!(told.failures.iter().all(|failure| failure.message.len() < MOST_MESSAGE + 50));
    }
}
