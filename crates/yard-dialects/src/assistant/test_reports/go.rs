//! `go test -json`: one event a line.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Failure, TestReport, position};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default, alias = "ImportPath")]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
}

/// A test, by its package and its name; without a name, a package.
type TestKey = (String, String);

#[derive(Default)]
struct GoTest {
    outcome: String,
    output: String,
}

/// `None` without a single event.
pub(super) fn parse(text: &str) -> Option<TestReport> {
    let mut all: BTreeMap<TestKey, GoTest> = BTreeMap::new();
    let mut text_for_people = String::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let Ok(event) = serde_json::from_str::<Event>(line) else { continue };
        let test = all.entry((event.package, event.test)).or_default();
        match event.action.as_str() {
            "output" | "build-output" => {
                text_for_people.push_str(&event.output);
                test.output.push_str(&event.output);
            }
            "pass" | "fail" | "skip" | "build-fail" => test.outcome = event.action,
            _ => {}
        }
    }
    if all.is_empty() {
        return None;
    }
    let mut report = TestReport { text: Some(text_for_people), ..TestReport::default() };
    for (key, test) in &all {
        report.add_go_test(key, test, &all);
    }
    Some(report)
}

impl TestReport {
    fn add_go_test(&mut self, key: &TestKey, test: &GoTest, all: &BTreeMap<TestKey, GoTest>) {
        let (package, name) = key;
        // A test with subtests counts as these; a package has failed by its tests, or (in its build) by itself.
        let below = if name.is_empty() { String::new() } else { format!("{name}/") };
        let mut others = all
            .iter()
            .filter(|((of, other), _)| of == package && other != name && other.starts_with(&below));
        let is_group = if name.is_empty() {
            test.outcome.is_empty()
                || test.outcome != "build-fail" && others.any(|(_, other)| other.outcome == "fail")
        } else {
            others.next().is_some()
        };
        match test.outcome.as_str() {
            _ if is_group => {}
            "pass" => self.passed += u64::from(!name.is_empty()),
            "skip" => self.skipped += u64::from(!name.is_empty()),
            "fail" | "build-fail" => {
                self.failed += 1;
                let name =
                    if name.is_empty() { package.clone() } else { format!("{package}.{name}") };
                let (file, line) = first_position(&test.output).unzip();
                self.add_failure(Failure { name, message: message(&test.output), file, line });
            }
            _ => {}
        }
    }
}

/// The output of a test, without the lines of the runner.
fn message(output: &str) -> String {
    let marks = ["=== ", "--- ", "FAIL", "exit status"];
    let is_of_runner = |line: &&str| marks.iter().any(|mark| line.trim_start().starts_with(mark));
    output.lines().filter(|line| !is_of_runner(line)).collect::<Vec<_>>().join("\n")
}

/// `    file_test.go:12: text`.
fn first_position(output: &str) -> Option<(String, u64)> {
    output.lines().find_map(|line| {
        let (start, _) = line.trim_start().split_once(": ")?;
        position(start).filter(|(file, _)| file.ends_with(".go"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_become_counts_and_failures() {
        let text = r#"{"Action":"start","Package":"x/a"}
{"Action":"run","Package":"x/a","Test":"TestGood"}
{"Action":"pass","Package":"x/a","Test":"TestGood","Elapsed":0}
{"Action":"run","Package":"x/a","Test":"TestTable"}
{"Action":"run","Package":"x/a","Test":"TestTable/one"}
{"Action":"output","Package":"x/a","Test":"TestTable/one","Output":"=== RUN   TestTable/one\n"}
{"Action":"output","Package":"x/a","Test":"TestTable/one","Output":"    a_test.go:12: got 1, want 2\n"}
{"Action":"fail","Package":"x/a","Test":"TestTable/one"}
{"Action":"pass","Package":"x/a","Test":"TestTable/two"}
{"Action":"fail","Package":"x/a","Test":"TestTable"}
{"Action":"skip","Package":"x/a","Test":"TestLater"}
{"Action":"fail","Package":"x/a"}
{"ImportPath":"x/b","Action":"build-output","Output":"b/b.go:3:1: syntax error\n"}
{"ImportPath":"x/b","Action":"build-fail"}
"#;
        let report = parse(text).unwrap();
        assert_eq!((report.passed, report.failed, report.skipped), (2, 2, 1));
        let first = &report.failures[0];
        assert_eq!(first.name, "x/a.TestTable/one");
        assert_eq!((first.file.as_deref(), first.line), (Some("a_test.go"), Some(12)));
        assert_eq!(first.message, "a_test.go:12: got 1, want 2");
        assert_eq!((report.failures[1].name.as_str(), report.failures[1].line), ("x/b", Some(3)));
        assert!(report.text.unwrap().contains("got 1, want 2"));
        assert_eq!(parse("no go here"), None);
    }
}
