//! What `run.py` tells of pytest and unittest: a line of JSON for each failure, and one with the counts.

use serde::Deserialize;

use super::{Failure, Told};

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Counts { passed: u64, failed: u64, skipped: u64 },
    Failed { name: String, message: String, file: Option<String>, line: Option<u64> },
}

/// Reads it; `None` where the run did not come to its end.
pub(super) fn parse(text: &str) -> Option<Told> {
    let mut told = Told::default();
    let mut is_over = false;
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Counts { passed, failed, skipped }) => {
                (told.passed, told.failed, told.skipped) = (passed, failed, skipped);
                is_over = true;
            }
            Ok(Line::Failed { name, message, file, line }) => {
                told.note(Failure { name, message, file, line });
            }
            Err(_) => {}
        }
    }
    is_over.then_some(told)
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
        let told = parse(&text).unwrap();
        assert_eq!((told.passed, told.failed, told.failures.len()), (2, 1, 1));
        assert_eq!(
            (told.failures[0].file.as_deref(), told.failures[0].line),
            (Some("t.py"), Some(3))
        );
    }
}
