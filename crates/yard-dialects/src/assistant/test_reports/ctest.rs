//! The output of ctest for people: a line for each test; after that of a failed one, its output.

use super::{Failure, TestReport};

/// `None` without the last line, which has the totals.
pub(super) fn parse(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut is_over = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        is_over |= line.contains("% tests passed") || line.starts_with("No tests were found");
        let Some((name, outcome)) = result(line) else { continue };
        if outcome.contains("Skipped") || outcome.contains("Disabled") {
            report.skipped += 1;
        } else if outcome.contains("Passed") {
            report.passed += 1;
        } else {
            report.failed += 1;
            // Its output follows, up to the line of the next test or the end.
            let mut output = vec![outcome.trim_matches(['*', ' '])];
            while let Some(next) = lines.next_if(|next| !ends_output(next)) {
                output.push(next);
            }
            let message = output.join("\n");
            report.add_failure(Failure { name, message, ..Failure::default() });
        }
    }
    is_over.then_some(report)
}

/// `1/3 Test #1: name ......   Passed    0.00 sec`.
fn result(line: &str) -> Option<(String, &str)> {
    let (number, rest) = line.split_once(" Test ")?;
    let (number, of) = number.trim().split_once('/')?;
    let is_number = |text: &str| text.trim().parse::<u64>().is_ok();
    let (_, rest) = rest.split_once(": ")?;
    // Dots lead from the name to the outcome, as many as fit.
    let (name, outcome) = rest.split_once(" ..").or_else(|| rest.split_once("***"))?;
    let fits = is_number(number) && is_number(of);
    fits.then(|| (name.trim().to_owned(), outcome.trim_start_matches('.')))
}

fn ends_output(line: &str) -> bool {
    result(line).is_some()
        || line.contains("% tests passed")
        || (line.trim_start().starts_with("Start ") && line.contains(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "\
Test project /workspace/build
    Start 1: good
1/4 Test #1: good .............................   Passed    0.00 sec
    Start 2: bad
2/4 Test #2: bad ..............................***Failed    0.00 sec
two is not three

    Start 3: later
3/4 Test #3: later ............................***Skipped   0.00 sec
    Start 4: never
4/4 Test #4: never ............................***Not Run (Disabled)   0.00 sec

67% tests passed, 1 tests failed out of 3

Total Test time (real) =   0.01 sec

The following tests FAILED:
\t  2 - bad (Failed)
Errors while running CTest
";

    #[test]
    fn each_line_is_a_test() {
        let report = parse(RECORDED).unwrap();
        assert_eq!((report.passed, report.failed, report.skipped), (1, 1, 2));
        assert_eq!(report.failures[0].name, "bad");
        assert_eq!(report.failures[0].message, "Failed    0.00 sec\ntwo is not three");
        assert_eq!(parse("-- Configuring incomplete, errors occurred!\n"), None);
        assert_eq!(parse("No tests were found!!!\n"), Some(TestReport::default()));
    }
}
