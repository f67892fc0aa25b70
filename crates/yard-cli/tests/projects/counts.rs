//! How many tests passed, failed and were skipped, as each framework says it to people.

use serde_json::Value;

/// What came of the tests of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

pub(crate) const fn counts(passed: u64, failed: u64, skipped: u64) -> Counts {
    Counts { passed, failed, skipped }
}

impl Counts {
    /// What `run_tests` answered.
    pub(crate) fn from_answer(answer: &Value) -> Self {
        let count =
            |name: &str| answer[name].as_u64().unwrap_or_else(|| panic!("no {name}: {answer}"));
        counts(count("passed"), count("failed"), count("skipped"))
    }
}

/// The number before a word, in all lines that a test of the line chooses.
fn sum(text: &str, is_summary: impl Fn(&str) -> bool, word: &str) -> u64 {
    let lines = text.lines().filter(|line| is_summary(line));
    lines.map(|line| number_before(line, word)).sum()
}

fn number_before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> =
        line.split_whitespace().map(|word| word.trim_matches([',', ';'])).collect();
    let pairs = words.windows(2).filter(|pair| pair[1] == word);
    pairs.filter_map(|pair| pair[0].parse::<u64>().ok()).sum()
}

/// `==== 1 failed, 3 passed, 1 skipped in 0.12s ====`, also without the signs around it.
pub(crate) fn pytest(text: &str) -> Counts {
    let of = |word| sum(text, |line| line.contains(" in ") && line.contains("passed"), word);
    counts(of("passed"), of("failed"), of("skipped"))
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out`, once for each binary.
pub(crate) fn cargo(text: &str) -> Counts {
    let of = |word| sum(text, |line| line.starts_with("test result:"), word);
    counts(of("passed"), of("failed"), of("ignored"))
}

/// `# pass 3`, or `ℹ pass 3`.
pub(crate) fn node(text: &str) -> Counts {
    let of = |word: &str| {
        let line = text.lines().rev().find_map(|line| {
            let (mark, rest) = line.split_once(' ')?;
            let (name, number) = rest.split_once(' ')?;
            (["#", "ℹ"].contains(&mark) && name == word).then(|| number.parse::<u64>().ok())?
        });
        line.unwrap_or_default()
    };
    counts(of("pass"), of("fail"), of("skipped"))
}

/// `Tests  1 failed | 3 passed | 1 skipped (5)`
pub(crate) fn vitest(text: &str) -> Counts {
    let of = |word| sum(text, |line| line.trim_start().starts_with("Tests "), word);
    counts(of("passed"), of("failed"), of("skipped"))
}

/// `--- PASS: TestName (0.00s)`, which `go test -v` says of each test.
pub(crate) fn go(text: &str) -> Counts {
    let of = |word: &str| {
        let mark = format!("--- {word}: ");
        text.lines().filter(|line| line.trim_start().starts_with(&mark)).count() as u64
    };
    counts(of("PASS"), of("FAIL"), of("SKIP"))
}

/// `3/4 Test #3: name ....***Failed  0.00 sec`, which CTest says of each test.
pub(crate) fn ctest(text: &str) -> Counts {
    let tests: Vec<&str> =
        text.lines().filter(|line| line.contains(" Test ") && line.ends_with(" sec")).collect();
    let of = |word: &str| tests.iter().filter(|line| line.contains(word)).count() as u64;
    counts(of(" Passed "), of("***Failed"), of("***Skipped"))
}

/// `3 passed, 1 failed, 1 skipped`, which the make project's own script says.
pub(crate) fn make(text: &str) -> Counts {
    let of = |word| sum(text, |line| line.contains(" passed, "), word);
    counts(of("passed"), of("failed"), of("skipped"))
}
