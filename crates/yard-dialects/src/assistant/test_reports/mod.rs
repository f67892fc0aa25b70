//! The output of test frameworks as data: how many tests passed, failed and were skipped, and the messages of those
//! that failed. One module a format; none of them runs anything, and each skips what does not fit its format.

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

/// Bytes of the message of one failure.
const MAX_MESSAGE_BYTES: usize = 2_000;
/// Failures that a report has.
const MAX_FAILURES: usize = 100;

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

/// The results of a test run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TestReport {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    /// The first that failed.
    pub(super) failures: Vec<Failure>,
    /// The output for people, where the framework printed data.
    pub(super) text: Option<String>,
}

impl TestReport {
    /// Adds the details of a failed test. The caller counts it.
    fn add_failure(&mut self, mut failure: Failure) {
        if self.failures.len() >= MAX_FAILURES {
            return;
        }
        let message = failure.message.trim();
        let end = message.floor_char_boundary(MAX_MESSAGE_BYTES.min(message.len()));
        failure.message = match end < message.len() {
            true => format!("{} [... {} bytes more]", &message[..end], message.len() - end),
            false => message.to_owned(),
        };
        self.failures.push(failure);
    }

    /// Adds the results of another run.
    fn add(&mut self, more: TestReport) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
        more.failures.into_iter().for_each(|failure| self.add_failure(failure));
    }
}

/// The line between the output of a framework and the report files that it wrote.
const REPORTS: &str = "\n:: reports ::\n";

/// The output of a framework without its report files, and the report; `None` where neither has results.
pub(super) fn parse<'a>(
    framework: &str,
    filter: Option<&str>,
    text: &'a str,
) -> (&'a str, Option<TestReport>) {
    let (output, files) = text.rsplit_once(REPORTS).unwrap_or((text, ""));
    let tap_or_summary = || tap::parse(output).or_else(|| summary::parse(output));
    let report = match framework {
        "cargo" => nextest::parse(output, filter).or_else(|| libtest::parse(output)),
        "go" => go::parse(output),
        "pytest" | "unittest" => python::parse(output),
        "maven" | "gradle" => junit::parse(files),
        "ctest" => ctest::parse(output),
        "npm" => jest::parse(output).or_else(tap_or_summary),
        // A Makefile or tox may run any framework.
        _ => libtest::parse(output).or_else(tap_or_summary),
    };
    (output, report)
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
                if let Some(report) = parse(framework, None, &text).1 {
                    prop_assert!(report.failures.len() <= MAX_FAILURES);
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
        let report = parse("cargo", None, &text).1.unwrap();
        assert_eq!((report.failed, report.failures.len()), (1_000, MAX_FAILURES));
        let is_bounded = |failure: &Failure| failure.message.len() < MAX_MESSAGE_BYTES + 50;
        assert!(report.failures.iter().all(is_bounded));
    }
}
