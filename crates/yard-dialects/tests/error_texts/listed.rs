//! The table of failing calls: parts with a blank line between them. A part that begins with `#` is a heading, any other
//! is one call and what is said of it: the line of the call, the code, and the text with `| ` before each line.

use serde_json::Value;

use super::fixture::Failed;

/// The file of the table.
pub(crate) const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/error_texts.txt");

/// A call that fails.
pub(crate) struct Failing {
    pub(crate) toolset: String,
    pub(crate) tool: String,
    pub(crate) args: Value,
    /// How it is called; nothing for an agent that may do anything.
    pub(crate) setting: String,
    /// The line that says all that.
    pub(crate) line: String,
}

impl Failing {
    pub(crate) fn new(toolset: &str, tool: &str, args: Value) -> Self {
        let line = format!("{toolset} {tool} {args}");
        let (toolset, tool) = (toolset.to_owned(), tool.to_owned());
        Self { toolset, tool, args, setting: String::new(), line }
    }

    fn read(line: &str) -> Self {
        let wrong = || panic!("no line `TOOLSET TOOL ARGUMENTS (SETTING)`: {line}");
        let [toolset, tool, rest] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { wrong() };
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(args)) = values.next() else { wrong() };
        let setting = rest[values.byte_offset()..].trim().trim_matches(['(', ')']);
        Self {
            setting: setting.to_owned(),
            line: line.to_owned(),
            ..Self::new(toolset, tool, args)
        }
    }
}

fn parts(table: &str) -> impl Iterator<Item = &str> {
    table.split("\n\n").map(|part| part.trim_matches('\n')).filter(|part| !part.is_empty())
}

/// Every call of the table.
pub(crate) fn failing(table: &str) -> Vec<Failing> {
    let calls = parts(table).filter(|part| !part.starts_with('#'));
    calls.flat_map(|part| part.lines().next()).map(Failing::read).collect()
}

/// The same table with what is said now, and the calls of it that do not fail.
pub(crate) fn written(
    table: &str,
    call: impl Fn(&Failing) -> Option<Failed>,
) -> (String, Vec<String>) {
    let (mut written, mut taken) = (Vec::new(), Vec::new());
    for part in parts(table) {
        if part.starts_with('#') {
            written.push(part.to_owned());
            continue;
        }
        // Lines of calls below each other are new ones.
        for line in part.lines().filter(|line| is_call(line)) {
            let Some(failed) = call(&Failing::read(line)) else {
                taken.push(line.to_owned());
                continue;
            };
            let text: Vec<String> = failed
                .text
                .split('\n')
                .map(|line| format!("| {line}").trim_end().to_owned())
                .collect();
            written.push(format!("{line}\n{}\n{}", failed.code, text.join("\n")));
        }
    }
    (written.join("\n\n") + "\n", taken)
}

/// A line with a code has one word, or begins with a number.
fn is_call(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_lowercase()) && line.contains(' ')
}
