//! The JSON that Jest and Vitest print: one object on a line of its own.

use serde::Deserialize;

use super::{Failure, TestReport};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JestOutput {
    test_results: Vec<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    assertion_results: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(default)]
    full_name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    failure_messages: Option<Vec<String>>,
    #[serde(default)]
    location: Option<Location>,
}

#[derive(Deserialize)]
struct Location {
    #[serde(default)]
    line: u64,
}

/// `None` where no line is such an object.
pub(super) fn parse(text: &str) -> Option<TestReport> {
    let mut candidates = text.lines().filter(|line| line.starts_with('{'));
    let output: JestOutput = candidates.find_map(|line| serde_json::from_str(line).ok())?;
    let mut report = TestReport::default();
    for file in output.test_results {
        let before = report.failed;
        for test in file.assertion_results {
            report.add_jest_test(test, &file.name);
        }
        if file.status == "failed" && report.failed == before {
            // The file could not be run at all.
            report.failed += 1;
            let path = Some(file.name.clone());
            report.add_failure(Failure {
                name: file.name,
                message: without_colors(&file.message),
                file: path,
                line: None,
            });
        }
    }
    Some(report)
}

impl TestReport {
    fn add_jest_test(&mut self, test: Test, file: &str) {
        match test.status.as_str() {
            "passed" => self.passed += 1,
            "failed" => {
                self.failed += 1;
                let message = without_colors(&test.failure_messages.unwrap_or_default().join("\n"));
                let line = test.location.map(|location| location.line).filter(|line| *line > 0);
                let file = Some(file.to_owned());
                self.add_failure(Failure { name: test.full_name, message, file, line });
            }
            _ => self.skipped += 1,
        }
    }
}

/// A text without the escape sequences of terminal colours.
fn without_colors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix('m').unwrap_or(rest);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_are_tests_and_a_broken_file_is_a_failure() {
        assert_eq!(parse(r#"{"testResults":[{"name":"/w/a.te"#), None, "cut");
        let text = concat!(
            "some words first\n",
            r#"{"numFailedTests":1,"testResults":[{"name":"/w/a.test.js","status":"failed","#,
            r#""assertionResults":[{"fullName":"a adds","status":"passed","failureMessages":[]},"#,
            r#"{"fullName":"a breaks","status":"failed","location":{"line":3,"column":1},"#,
            r#""failureMessages":["Error: \u001b[2mexpect(\u001b[22mone\u001b[31;1m)"]},"#,
            r#"{"fullName":"a waits","status":"pending"},{"fullName":"a todo","status":"todo"}]},"#,
            r#"{"name":"/w/b.test.js","status":"failed","message":"SyntaxError","assertionResults":[]}]}"#,
            "\n",
        );
        let report = parse(text).unwrap();
        assert_eq!((report.passed, report.failed, report.skipped), (1, 2, 2));
        assert_eq!(report.failures[0].message, "Error: expect(one)");
        assert_eq!(
            (report.failures[0].line, report.failures[1].message.as_str()),
            (Some(3), "SyntaxError")
        );
    }
}
