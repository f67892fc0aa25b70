//! The last line that many frameworks print for people: `2 failed, 3 passed in 0.1s` (pytest), `Tests: 1
//! failed, 2 passed, 3 total` (Jest), `2 passing` (Mocha), `2 pass` (bun). It has counts only, and no names of tests.

use super::TestReport;

const PASSED: [&str; 3] = ["passed", "passing", "pass"];
const FAILED: [&str; 5] = ["failed", "failing", "fail", "error", "errors"];
const SKIPPED: [&str; 5] = ["skipped", "skip", "pending", "xfailed", "todo"];

/// `None` where no line counts tests.
pub(super) fn parse(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut has_counts = false;
    for line in text.lines() {
        // Jest counts files and snapshots alike, on lines of their own.
        let line = line.trim().trim_matches('=').trim();
        let line = line.strip_prefix("Tests:").unwrap_or(line);
        if line.starts_with("Test Suites:") || line.starts_with("Snapshots:") {
            continue;
        }
        has_counts |= report.add_counts(line);
    }
    has_counts.then_some(report)
}

impl TestReport {
    /// Adds the counts of a line that begins with a number and a known word after it. Returns whether it does.
    fn add_counts(&mut self, line: &str) -> bool {
        let words: Vec<&str> =
            line.split([' ', ',', '|']).filter(|word| !word.is_empty()).collect();
        let count = |pair: &[&str]| -> Option<(u64, usize)> {
            let number = pair.first()?.parse().ok()?;
            let lists: [&[&str]; 3] = [&PASSED, &FAILED, &SKIPPED];
            let which = lists
                .iter()
                .position(|words| pair.get(1).is_some_and(|word| words.contains(word)))?;
            Some((number, which))
        };
        if words.get(..2).and_then(count).is_none() {
            return false;
        }
        for (number, which) in words.windows(2).filter_map(count) {
            match which {
                0 => self.passed = self.passed.saturating_add(number),
                1 => self.failed = self.failed.saturating_add(number),
                _ => self.skipped = self.skipped.saturating_add(number),
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_many_frameworks_add_jest_tests() {
        for (text, counts) in [
            ("==== 2 failed, 3 passed, 1 skipped in 0.12s ====\n", (3, 2, 1)),
            (
                "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 passed, 3 total\n",
                (2, 1, 0),
            ),
            ("  2 passing (4ms)\n  1 pending\n  1 failing\n", (2, 1, 1)),
            (" 3 pass\n 1 skip\n 1 fail\n 4 expect() calls\n", (3, 1, 1)),
        ] {
            let report = parse(text).unwrap();
            assert_eq!((report.passed, report.failed, report.skipped), counts, "{text}");
        }
        assert_eq!(parse("all 7 files passed the check\n"), None);
    }
}
