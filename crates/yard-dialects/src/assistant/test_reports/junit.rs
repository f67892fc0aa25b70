//! Reports in the form of JUnit, which Maven and Gradle write: `<testcase>` elements, with a `<failure>`,
//! `<error>` or `<skipped>` in those that did not pass.

use super::{Failure, TestReport, position};

/// Takes any number of reports, one after the other; `None` without a single test.
pub(super) fn parse(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    for part in text.split("<testcase").skip(1) {
        // The element ends at its tag, or has its outcome inside.
        let (tag, inside) = part.split_once('>').unwrap_or((part, ""));
        let inside = match tag.ends_with('/') {
            true => "",
            false => inside.split_once("</testcase>").map_or(inside, |(inside, _)| inside),
        };
        let broken = ["<failure", "<error"].iter().find_map(|name| inside.split_once(name));
        match broken {
            Some((_, rest)) => {
                report.failed += 1;
                report.add_failure(failure(tag, rest));
            }
            None if inside.contains("<skipped") => report.skipped += 1,
            None => report.passed += 1,
        }
    }
    (report.passed + report.failed + report.skipped > 0).then_some(report)
}

fn failure(tag: &str, rest: &str) -> Failure {
    let (attributes, text) = rest.split_once('>').unwrap_or((rest, ""));
    let text = text.split("</").next().unwrap_or_default();
    let text = text.trim().trim_start_matches("<![CDATA[").trim_end_matches("]]>");
    let class = attribute(tag, "classname").unwrap_or_default();
    let name = attribute(tag, "name").unwrap_or_default();
    let message = attribute(attributes, "message").unwrap_or_else(|| unescaped(text));
    let (file, line) = position_in_class(&class, text).unzip();
    let name = if class.is_empty() { name } else { format!("{class}.{name}") };
    Failure { name, message, file, line }
}

/// The line of the trace that is in the test's own class: `at a.B.test(B.java:7)`.
fn position_in_class(class: &str, trace: &str) -> Option<(String, u64)> {
    let own = trace.lines().find(|line| line.trim_start().starts_with(&format!("at {class}.")))?;
    let (_, file_and_line) = own.rsplit_once('(')?;
    position(file_and_line.trim_end_matches(')'))
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(unescaped(rest.split('"').next()?))
}

fn unescaped(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&#10;", "\n"),
        ("&amp;", "&"),
    ];
    entities.iter().fold(text.to_owned(), |text, (entity, sign)| text.replace(entity, sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="app.AppTest" time="0.05" tests="4" errors="1" skipped="1" failures="1">
  <properties><property name="a" value="b"/></properties>
  <testcase name="good" classname="app.AppTest" time="0.01"/>
  <testcase name="bad" classname="app.AppTest" time="0.02">
    <failure message="expected: &lt;2&gt; but was: &lt;3&gt;" type="org.opentest4j.AssertionFailedError"><![CDATA[org.opentest4j.AssertionFailedError: expected: <2> but was: <3>
	at org.junit.jupiter.api.Assertions.fail(Assertions.java:55)
	at app.AppTest.bad(AppTest.java:12)
]]></failure>
    <system-out><![CDATA[said]]></system-out>
  </testcase>
  <testcase name="broken" classname="app.AppTest" time="0.02">
    <error type="java.lang.IllegalStateException">java.lang.IllegalStateException: no
	at app.AppTest.broken(AppTest.java:16)
</error>
  </testcase>
  <testcase name="later" classname="app.AppTest" time="0"><skipped message="not yet"/></testcase>
</testsuite>
"#;

    #[test]
    fn each_element_is_a_test() {
        let report = parse(REPORT).unwrap();
        assert_eq!((report.passed, report.failed, report.skipped), (1, 2, 1));
        let bad = &report.failures[0];
        assert_eq!((&*bad.name, &*bad.message), ("app.AppTest.bad", "expected: <2> but was: <3>"));
        assert_eq!((bad.file.as_deref(), bad.line), (Some("AppTest.java"), Some(12)));
        let broken = &report.failures[1];
        assert!(broken.message.starts_with("java.lang.IllegalStateException: no"), "{broken:?}");
        assert_eq!(broken.line, Some(16));
        assert_eq!(parse("[INFO] BUILD SUCCESS\n"), None);
    }
}
