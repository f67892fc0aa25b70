//! The output of `run.py` for pytest and unittest: a line of JSON for each failure, and one with the counts.

use serde::Deserialize;

use super::{Failure, TestReport};

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Counts { passed: u64, failed: u64, skipped: u64 },
    Failed { name: String, message: String, file: Option<String>, line: Option<u64> },
}

/// `None` without the line of the counts, which is the last one of a run.
pub(super) fn parse(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut is_over = false;
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Counts { passed, failed, skipped }) => {
                (report.passed, report.failed, report.skipped) = (passed, failed, skipped);
                is_over = true;
            }
            Ok(Line::Failed { name, message, file, line }) => {
                report.add_failure(Failure { name, message, file, line });
            }
            Err(_) => {}
        }
    }
    is_over.then_some(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_last() {
        let failed =
            r#"{"name": "t.py::t", "message": "assert 1 == 2", "file": "t.py", "line": 3}"#;
        assert_eq!(parse(failed), None);
        let text = format!("{failed}\n{}", r#"{"passed": 2, "failed": 1, "skipped": 0}"#);
        let report = parse(&text).unwrap();
        assert_eq!((report.passed, report.failed, report.failures.len()), (2, 1, 1));
        assert_eq!(
            (report.failures[0].file.as_deref(), report.failures[0].line),
            (Some("t.py"), Some(3))
        );
    }
}
