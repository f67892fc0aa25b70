//! `go test -json`: one event a line.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Failure, Told, position};

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

/// What is known of one test, or, without a name, of a package.
#[derive(Default)]
struct Seen {
    outcome: String,
    said: String,
}

/// Reads it; `None` without a single event.
pub(super) fn parse(text: &str) -> Option<Told> {
    let mut all: BTreeMap<(String, String), Seen> = BTreeMap::new();
    let mut words = String::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let Ok(event) = serde_json::from_str::<Event>(line) else { continue };
        let seen = all.entry((event.package, event.test)).or_default();
        match event.action.as_str() {
            "output" | "build-output" => {
                words.push_str(&event.output);
                seen.said.push_str(&event.output);
            }
            "pass" | "fail" | "skip" | "build-fail" => seen.outcome = event.action,
            _ => {}
        }
    }
    if all.is_empty() {
        return None;
    }
    let mut told = Told { text: Some(words), ..Told::default() };
    for (key, seen) in &all {
        told.count_seen(key, seen, &all);
    }
    Some(told)
}

impl Told {
    fn count_seen(
        &mut self,
        key: &(String, String),
        seen: &Seen,
        all: &BTreeMap<(String, String), Seen>,
    ) {
        let (package, test) = key;
        // A test with others below it is those; a package that failed is so by its tests, or by itself.
        let below = if test.is_empty() { String::new() } else { format!("{test}/") };
        let mut others = all
            .iter()
            .filter(|((of, name), _)| of == package && name != test && name.starts_with(&below));
        let is_group = if test.is_empty() {
            seen.outcome.is_empty()
                || seen.outcome != "build-fail" && others.any(|(_, other)| other.outcome == "fail")
        } else {
            others.next().is_some()
        };
        match seen.outcome.as_str() {
            _ if is_group => {}
            "pass" => self.passed += u64::from(!test.is_empty()),
            "skip" => self.skipped += u64::from(!test.is_empty()),
            "fail" | "build-fail" => {
                self.failed += 1;
                let name =
                    if test.is_empty() { package.clone() } else { format!("{package}.{test}") };
                let (file, line) = place(&seen.said).unzip();
                self.note(Failure { name, message: message(&seen.said), file, line });
            }
            _ => {}
        }
    }
}

/// What a test said, without what the runner says about it.
fn message(said: &str) -> String {
    let marks = ["=== ", "--- ", "FAIL", "exit status"];
    let own =
        said.lines().filter(|line| !marks.iter().any(|mark| line.trim_start().starts_with(mark)));
    own.collect::<Vec<_>>().join("\n")
}

/// `    file_test.go:12: words`.
fn place(said: &str) -> Option<(String, u64)> {
    said.lines().find_map(|line| {
        let (place, _) = line.trim_start().split_once(": ")?;
        position(place).filter(|(file, _)| file.ends_with(".go"))
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
        let told = parse(text).unwrap();
        assert_eq!((told.passed, told.failed, told.skipped), (2, 2, 1));
        let first = &told.failures[0];
        assert_eq!(first.name, "x/a.TestTable/one");
        assert_eq!((first.file.as_deref(), first.line), (Some("a_test.go"), Some(12)));
        assert_eq!(first.message, "a_test.go:12: got 1, want 2");
        assert_eq!((told.failures[1].name.as_str(), told.failures[1].line), ("x/b", Some(3)));
        assert!(told.text.unwrap().contains("got 1, want 2"));
        assert_eq!(parse("no go here"), None);
    }
}
