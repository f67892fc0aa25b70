//! The output of Rust's test harness for people: stable toolchains have no other format.

use super::{Failure, TestReport, position};

/// `None` without a single result line.
pub(super) fn parse(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut has_result = false;
    let mut section: Option<Section> = None;
    let mut failed = Vec::new();
    for line in text.lines() {
        if let Some(name) = heading(line) {
            report.add_section(section.replace(Section { name, lines: Vec::new() }));
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            has_result = true;
            report.add_section(section.take());
            report.passed += count(counts, " passed");
            report.failed += count(counts, " failed");
            report.skipped += count(counts, " ignored");
        } else if line == "failures:" {
            report.add_section(section.take());
        } else if let Some(section) = &mut section {
            section.lines.push(line);
        } else if let Some(name) = failed_test(line) {
            failed.push(name);
        }
    }
    report.add_section(section);
    // A test that ended the whole process has no section.
    for name in failed {
        if !report.failures.iter().any(|failure| failure.name == name) {
            report.add_failure(Failure { name, ..Failure::default() });
        }
    }
    has_result.then_some(report)
}

/// The output of one failed test.
pub(super) struct Section<'a> {
    pub(super) name: String,
    pub(super) lines: Vec<&'a str>,
}

impl TestReport {
    pub(super) fn add_section(&mut self, section: Option<Section<'_>>) {
        if let Some(section) = section {
            self.add_failure(failure(section));
        }
    }
}

/// `---- name stdout ----`.
fn heading(line: &str) -> Option<String> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" stdout ----")?;
    Some(plain(name))
}

/// `test name ... FAILED`.
fn failed_test(line: &str) -> Option<String> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    outcome.starts_with("FAILED").then(|| plain(name))
}

fn plain(name: &str) -> String {
    name.strip_suffix(" - should panic").unwrap_or(name).to_owned()
}

fn count(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().unwrap_or_default();
    if before.len() == text.len() {
        return 0;
    }
    before.rsplit([' ', ';']).next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn failure(section: Section<'_>) -> Failure {
    let Section { name, lines } = section;
    let panicked = lines
        .iter()
        .position(|line| line.contains("' panicked at ") || line.contains(") panicked at "));
    let (position, message) = match panicked {
        Some(at) => {
            let rest = lines[at].split(" panicked at ").nth(1).unwrap_or_default();
            let rest = rest.trim_end_matches(':');
            let is_message = |line: &&&str| {
                !line.starts_with("stack backtrace:") && !line.starts_with("note: run with")
            };
            let message: Vec<&str> =
                lines[at + 1..].iter().take_while(is_message).copied().collect();
            // Before Rust 1.73 the message came first: 'message', file:line:column.
            match rest.rsplit_once("', ") {
                Some((message, place)) => {
                    (position(place), message.trim_start_matches('\'').to_owned())
                }
                None => (position(rest), message.join("\n")),
            }
        }
        None => {
            let text = lines.join("\n");
            let place =
                text.lines().find_map(|line| line.rsplit_once(" at ")).map(|(_, place)| place);
            (place.and_then(position), text)
        }
    };
    let (file, line) = position.or_else(|| doc_test(&name)).unzip();
    Failure { name, message, file, line }
}

/// `src/lib.rs - item (line 7)`.
fn doc_test(name: &str) -> Option<(String, u64)> {
    let (file, rest) = name.split_once(" - ")?;
    let line = rest.rsplit_once("(line ")?.1.trim_end_matches(')');
    Some((file.to_owned(), line.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "\
running 5 tests
test tests::good ... ok
test tests::no_panic - should panic ... FAILED
test tests::res ... FAILED
test tests::slow ... ignored, takes long
test tests::bad ... FAILED

failures:

---- tests::no_panic stdout ----
note: test did not panic as expected at src/lib.rs:9:29
---- tests::res stdout ----
Error: \"no good\"

---- tests::bad stdout ----
said

thread 'tests::bad' (9592) panicked at src/lib.rs:7:39:
assertion `left == right` failed: two is
not three
  left: 2
 right: 3
stack backtrace:
   0: __rustc::rust_begin_unwind

failures:
    tests::bad
    tests::no_panic
    tests::res

test result: FAILED. 1 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.08s

error: test failed, to rerun pass `--lib`
   Doc-tests small

running 1 test
test src/lib.rs - two (line 1) ... FAILED

failures:

---- src/lib.rs - two (line 1) stdout ----
Test executable failed (exit status: 101).

failures:
    src/lib.rs - two (line 1)

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
";

    #[test]
    fn results_are_added_up_and_failures_say_where_and_why() {
        let report = parse(RECORDED).unwrap();
        assert_eq!((report.passed, report.failed, report.skipped), (1, 4, 1));
        let failure =
            |name: &str| report.failures.iter().find(|failure| failure.name == name).unwrap();
        let bad = failure("tests::bad");
        assert_eq!((bad.file.as_deref(), bad.line), (Some("src/lib.rs"), Some(7)));
        assert_eq!(
            bad.message,
            "assertion `left == right` failed: two is\nnot three\n  left: 2\n right: 3"
        );
        let quiet = failure("tests::no_panic");
        assert_eq!((quiet.file.as_deref(), quiet.line), (Some("src/lib.rs"), Some(9)));
        assert_eq!(failure("tests::res").message, "Error: \"no good\"");
        assert_eq!(failure("src/lib.rs - two (line 1)").line, Some(1));
        assert_eq!(report.failures.len(), 4);
    }

    #[test]
    fn the_older_format_of_a_panic_is_read_too() {
        let text = "---- t stdout ----\nthread 't' panicked at 'one, two', src/a.rs:3:5\n\nfailures:\n    t\n\n\
            test result: FAILED. 0 passed; 1 failed; 0 ignored\n";
        let report = parse(text).unwrap();
        assert_eq!(
            (report.failures[0].message.as_str(), report.failures[0].line),
            ("one, two", Some(3))
        );
    }

    #[test]
    fn without_a_result_line_there_is_no_report() {
        assert_eq!(parse("error: could not compile `small`"), None);
    }
}
