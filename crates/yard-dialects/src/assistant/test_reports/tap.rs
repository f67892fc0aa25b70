//! The Test Anything Protocol, as Node's own runner prints it: points, nested by indentation, each with a
//! block of details after it. Only points without nested points are tests.

use super::{Failure, TestReport, position};

const NESTED: usize = 4;

/// `None` where the text is no TAP.
pub(super) fn parse(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut lines = text.lines().peekable();
    lines.find(|line| line.starts_with("TAP version "))?;
    // How deep the last point was: a point that comes after deeper ones is a group of them.
    let mut last_depth = 0;
    while let Some(line) = lines.next() {
        let Some(point) = Point::read(line) else { continue };
        let mut details = Details::default();
        while let Some(next) = lines.next_if(|next| is_within(next, point.depth)) {
            details.read(next);
        }
        let is_group = last_depth > point.depth;
        last_depth = point.depth;
        report.add_point(point, details, is_group);
    }
    Some(report)
}

impl TestReport {
    fn add_point(&mut self, point: Point, details: Details, is_group: bool) {
        if point.is_skipped {
            self.skipped += u64::from(!is_group);
        } else if point.is_ok {
            self.passed += u64::from(!is_group);
        } else if !is_group || !details.is_about_others {
            self.failed += 1;
            let (file, line) = details.place.unzip();
            self.add_failure(Failure { name: point.name, message: details.error, file, line });
        }
    }
}

/// `ok 1 - name # SKIP`, at some depth.
struct Point {
    depth: usize,
    is_ok: bool,
    is_skipped: bool,
    name: String,
}

impl Point {
    fn read(line: &str) -> Option<Self> {
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        let (is_ok, rest) = match trimmed.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, trimmed.strip_prefix("ok")?),
        };
        let rest = rest.strip_prefix(' ')?;
        let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
        let directive = directive.to_ascii_uppercase();
        Some(Self {
            depth: indent / NESTED,
            is_ok,
            is_skipped: directive.starts_with("SKIP") || directive.starts_with("TODO"),
            name: unescaped(without_number(name)),
        })
    }
}

fn without_number(name: &str) -> &str {
    let rest = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    rest.strip_prefix("- ").unwrap_or(rest)
}

fn unescaped(name: &str) -> String {
    name.replace("\\#", "#").replace("\\\\", "\\")
}

/// Whether a line belongs to the details of a point: it is indented a little, and not as a nested point.
fn is_within(line: &str, depth: usize) -> bool {
    let indent = depth * NESTED + 2;
    let begins = line.len() >= indent && line.as_bytes()[..indent].iter().all(|byte| *byte == b' ');
    begins && Point::read(line).is_none() && !line.trim_start().starts_with("# Subtest")
        || line.trim().is_empty()
}

/// The block of details of a point.
#[derive(Default)]
struct Details {
    error: String,
    place: Option<(String, u64)>,
    /// The point failed because a nested one did.
    is_about_others: bool,
    /// The next lines belong to an error of several lines.
    is_in_error: bool,
}

impl Details {
    fn read(&mut self, line: &str) {
        let field = line.trim();
        let quoted = |text: &str| text.trim_matches('\'').replace("\\'", "'");
        let named = |name: &str| field.strip_prefix(name).map(str::trim);
        if let Some(error) = named("error:") {
            self.is_in_error = error.starts_with('|') || error.starts_with('>');
            self.error = if self.is_in_error { String::new() } else { quoted(error) };
        } else if let Some(place) = named("location:") {
            self.place = position(&quoted(place));
            self.is_in_error = false;
        } else if let Some(kind) = named("failureType:") {
            self.is_about_others = kind.contains("subtestsFailed");
            self.is_in_error = false;
        } else if ["code:", "name:", "stack:", "expected:", "..."]
            .iter()
            .any(|end| field.starts_with(end))
        {
            self.is_in_error = false;
        } else if self.is_in_error {
            self.error.push_str(field);
            self.error.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "\
> node --test

TAP version 13
# Subtest: adds
ok 1 - adds
  ---
  duration_ms: 1.183977
  ...
# Subtest: breaks \\# here
not ok 2 - breaks \\# here
  ---
  duration_ms: 0.653271
  location: '/w/a.test.js:3:1'
  failureType: 'testCodeFailure'
  error: 'one is not two'
  code: 'ERR_ASSERTION'
  stack: |-
    TestContext.<anonymous> (/w/a.test.js:3:34)
  ...
# Subtest: group
    # Subtest: inner bad
    not ok 1 - inner bad
      ---
      location: '/w/a.test.js:4:33'
      failureType: 'testCodeFailure'
      error: |-
        boom
        second line
      code: 'ERR_TEST_FAILURE'
      ...
    # Subtest: inner ok
    ok 2 - inner ok
      ---
      duration_ms: 0.098654
      ...
    1..2
not ok 3 - group
  ---
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
# Subtest: skipped one
ok 4 - skipped one # SKIP
# Subtest: later
ok 5 - later # TODO
# Subtest: suite
    # Subtest: in suite
    ok 1 - in suite
    1..1
ok 6 - suite
1..6
# tests 8
# pass 3
# fail 3
";

    #[test]
    fn leaves_are_tests_and_details_say_where_and_why() {
        let report = parse(RECORDED).unwrap();
        assert_eq!((report.passed, report.failed, report.skipped), (3, 2, 2));
        let names: Vec<&str> =
            report.failures.iter().map(|failure| failure.name.as_str()).collect();
        assert_eq!(names, ["breaks # here", "inner bad"]);
        assert_eq!(report.failures[0].message, "one is not two");
        assert_eq!(report.failures[1].message, "boom\nsecond line");
        assert_eq!(report.failures[1].file.as_deref(), Some("/w/a.test.js"));
        assert_eq!(report.failures[1].line, Some(4));
    }

    #[test]
    fn without_the_version_line_there_is_no_report() {
        assert_eq!(parse("ok 1 - a\n"), None);
    }
}
