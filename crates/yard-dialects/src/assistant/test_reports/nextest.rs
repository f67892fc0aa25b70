//! The output of cargo-nextest for people, and after it that of the tests in documentation.

use super::TestReport;
use super::libtest::{self, Section};

/// `None` without a summary. `filter` is what the names of tests had to contain: nextest counts the others as skipped,
/// and a report does not.
pub(super) fn parse(text: &str, filter: Option<&str>) -> Option<TestReport> {
    let start = text.lines().position(|line| line.trim_start().starts_with("Summary ["))?;
    let lines: Vec<&str> = text.lines().collect();
    let (before, after) = lines.split_at(start);
    let mut report = counts(after[0]);
    report.skipped = 0;
    let mut section: Option<Section<'_>> = None;
    for line in before {
        if let Some((status, name)) = status(line) {
            report.add_section(section.take());
            if status == "SKIP" {
                report.skipped += u64::from(filter.is_none_or(|filter| name.contains(filter)));
            } else if is_failure(status) {
                section = Some(Section { name: name.to_owned(), lines: Vec::new() });
            }
        } else if line.starts_with('─') {
            report.add_section(section.take());
        } else if let Some(section) = &mut section {
            // Newer versions indent the output of a test.
            section.lines.push(line.strip_prefix("    ").unwrap_or(line));
        }
    }
    report.add_section(section);
    if let Some(doc_tests) = libtest::parse(&after[1..].join("\n")) {
        report.add(doc_tests);
    }
    Some(report)
}

/// `        FAIL [   0.133s] (2/2) small tests::bad`: the status and the test's name.
fn status(line: &str) -> Option<(&str, &str)> {
    let (status, rest) = line.trim_start().split_once(" [")?;
    let (_, rest) = rest.split_once("] ")?;
    let rest = match rest.trim_start().strip_prefix('(') {
        Some(numbered) => numbered.split_once(") ")?.1,
        None => rest,
    };
    let is_status =
        status.chars().all(|one| one.is_ascii_uppercase() || " -+0123456789".contains(one));
    let (_, name) = rest.trim().split_once(' ')?;
    is_status.then_some((status, name))
}

/// The line of a test that is tried again begins with `TRY`.
fn is_failure(status: &str) -> bool {
    ["FAIL", "ABORT", "TIMEOUT", "SIG"].iter().any(|start| status.starts_with(start))
}

/// `Summary [   0.1s] 3 tests run: 1 passed, 1 failed, 1 timed out, 1 skipped`.
fn counts(line: &str) -> TestReport {
    let mut report = TestReport::default();
    let counts = line.split_once("run: ").map_or("", |(_, counts)| counts);
    // Counts in parentheses are part of the count before them.
    for part in
        counts.split('(').flat_map(|part| part.rsplit(')').next()).flat_map(|part| part.split(','))
    {
        let (count, outcome) = part.trim().split_once(' ').unwrap_or_default();
        let count: u64 = count.parse().unwrap_or(0);
        match outcome.trim() {
            "passed" => report.passed += count,
            "failed" | "timed out" | "exec failed" => report.failed += count,
            _ => {}
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "   Compiling small v0.1.0 (/w)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.26s
────────────
 Nextest run ID d2e2b966 with nextest profile: default
    Starting 2 tests across 1 binary (1 test skipped)
        SKIP [         ] (───) small tests::slow
        PASS [   0.009s] (1/2) small tests::good
        FAIL [   0.133s] (2/2) small tests::bad
  stdout ───

    running 1 test
    said
    test tests::bad ... FAILED

    failures:

    failures:
        tests::bad

    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.12s

  stderr ───

    thread 'tests::bad' (27981) panicked at src/lib.rs:16:9:
    assertion `left == right` failed: two is
    not three
      left: 2
     right: 3
    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

────────────
     Summary [   0.135s] 2 tests run: 1 passed, 1 failed, 1 skipped
error: test run failed
   Doc-tests small

running 1 test
test src/lib.rs - two (line 1) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.30s
";

    #[test]
    fn tests_and_those_in_documentation_are_counted_together() {
        let report = parse(RECORDED, None).unwrap();
        assert_eq!((report.passed, report.failed, report.skipped), (2, 1, 1));
        let bad = &report.failures[0];
        assert_eq!((&*bad.name, bad.file.as_deref()), ("tests::bad", Some("src/lib.rs")));
        assert_eq!(bad.line, Some(16));
        assert!(bad.message.ends_with("two is\nnot three\n  left: 2\n right: 3"), "{bad:?}");
        assert_eq!(report.failures.len(), 1);
        assert_eq!(parse("error: could not compile `small`\n", None), None);
    }

    #[test]
    fn tests_that_the_filter_leaves_out_do_not_count_as_skipped() {
        assert_eq!(parse(RECORDED, Some("good")).unwrap().skipped, 0);
        assert_eq!(parse(RECORDED, Some("slow")).unwrap().skipped, 1);
    }

    #[test]
    fn every_kind_of_failure_counts() {
        let line = "  Summary [ 1s] 9/10 tests run: 4 passed (1 slow, 1 flaky), 2 failed, 1 timed out, 2 skipped";
        let report = counts(line);
        assert_eq!((report.passed, report.failed), (4, 3));
        assert_eq!(status("     SIGSEGV [   0.1s] (1/1) a b::c"), Some(("SIGSEGV", "b::c")));
        assert_eq!(status("  TRY 1 FAIL [   0.1s] a b::c"), Some(("TRY 1 FAIL", "b::c")));
        assert!(!is_failure("TRY 1 FAIL") && !is_failure("LEAK") && is_failure("FAIL + LEAK"));
    }
}
