//! What holds of the text of every failure.

use yard_dialects::Catalog;

use super::fixture::{Failed, Fixture};
use super::listed::Failing;

/// No text is longer.
const LONGEST: usize = 4 << 10;

/// Pieces that only a program in Rust says, or the libraries that read its arguments.
const RUST: [&str; 12] = [
    "::",
    "struct ",
    "enum ",
    "Option<",
    "Some(",
    "Vec<",
    "invalid type:",
    "invalid value:",
    "expected value at line",
    "untagged",
    "variant",
    "deserialize",
];

/// Words that are names in our code.
const NAMES: [&str; 9] =
    ["None", "String", "u64", "i64", "usize", "WsPath", "serde", "invoke", "unwrap"];

/// Words that the project has for itself, and no caller knows.
const HOUSE: [&str; 30] = [
    "dialect",
    "gate",
    "kernel",
    "desk",
    "rider",
    "glimpse",
    "gist",
    "tidings",
    "journal",
    "projection",
    "staging",
    "splice",
    "blob",
    "planner",
    "permit",
    "verdict",
    "told",
    "deed",
    "spot",
    "ear",
    "ground",
    "landed",
    "landing",
    "seat",
    "spare",
    "doomed",
    "condemned",
    "house",
    "yard",
    "weigh",
];

/// Words with which a text says what to do next. What is expected is what to send.
const WAYS: [&str; 35] = [
    "send", "expected", "mean", "known", "read", "use", "list", "call", "name", "write", "set",
    "ask", "search", "make", "add", "leave", "choose", "include", "copy", "look", "try", "start",
    "wait", "put", "move", "remove", "narrow", "check", "go", "keep", "create", "escape",
    "example", "open", "exempt",
];

/// The rules that a text breaks.
pub(crate) fn broken_by(fixture: &Fixture, failing: &Failing, failed: &Failed) -> Vec<String> {
    let mut broken = Vec::new();
    let text = said(&failed.text, failing);
    if failed.text.len() > LONGEST {
        broken.push(format!("it has {} bytes", failed.text.len()));
    }
    for piece in RUST.iter().filter(|piece| text.contains(**piece)) {
        broken.push(format!("it speaks of Rust: {piece}"));
    }
    let words: Vec<&str> = text.split(|one: char| !one.is_alphanumeric() && one != '_').collect();
    for word in NAMES.iter().filter(|word| words.contains(word)) {
        broken.push(format!("it speaks of Rust: {word}"));
    }
    for word in HOUSE.iter().filter(|word| words.contains(word)) {
        broken.push(format!("it has a word of the house: {word}"));
    }
    if words.contains(&"args") && !takes(failing, "args") {
        broken.push("it says `args`".to_owned());
    }
    let all_words = failed.text.split(|one: char| !one.is_alphanumeric() && one != '_');
    if !all_words.into_iter().any(|word| WAYS.contains(&word.to_lowercase().as_str())) {
        broken.push("it names no way on".to_owned());
    }
    for path in foreign_paths(fixture, failing, &text) {
        broken.push(format!("it names {path}, which this toolset does not take"));
    }
    broken
}

/// The text without what the call itself sent.
fn said(text: &str, failing: &Failing) -> String {
    let mut sent = Vec::new();
    texts_of(&failing.args, &mut sent);
    sent.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut said = text.to_owned();
    for sent in sent.iter().filter(|sent| sent.len() >= 2) {
        said = said.replace(sent.as_str(), "…");
    }
    said
}

fn texts_of(args: &serde_json::Value, texts: &mut Vec<String>) {
    match args {
        serde_json::Value::String(text) => {
            // As a text quotes it, too.
            texts.push(text.trim().to_owned());
            let quoted = args.to_string();
            texts.push(quoted[1..quoted.len() - 1].to_owned());
            texts.extend(
                text.lines().map(|line| line.trim().to_owned()).filter(|line| line.len() > 3),
            );
        }
        serde_json::Value::Array(items) => items.iter().for_each(|one| texts_of(one, texts)),
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                if name.len() > 3 {
                    texts.push(name.clone());
                }
                texts_of(value, texts);
            }
        }
        _ => {}
    }
}

/// Whether a tool has an argument of that name.
fn takes(failing: &Failing, name: &str) -> bool {
    let catalog = Catalog::standard();
    let tool = catalog.get(&failing.toolset, &failing.tool);
    tool.is_some_and(|tool| tool.input_schema()["properties"].get(name).is_some())
}

/// Paths of the workspace that the text spells in a way that the toolset does not take.
fn foreign_paths(fixture: &Fixture, failing: &Failing, text: &str) -> Vec<String> {
    let mut foreign = Vec::new();
    for path in &fixture.paths {
        for (at, _) in text.match_indices(path.as_str()) {
            let is_of_path = |one: char| one.is_alphanumeric() || "/_-.$".contains(one);
            let begins = text[..at]
                .rfind(|one| !is_of_path(one))
                .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
            let rest = &text[at + path.len()..];
            let goes_on = rest
                .starts_with(|one: char| one.is_alphanumeric() || "/_-".contains(one))
                || rest.starts_with('.') && rest[1..].starts_with(char::is_alphanumeric);
            let before = &text[begins..at];
            if goes_on || !(before.is_empty() || before.ends_with('/')) {
                continue;
            }
            let spelled = &text[begins..at + path.len()];
            // What the call itself named may be repeated as it was sent.
            if failing.args.to_string().contains(spelled) {
                continue;
            }
            let sent = spelled.replace("$root", &fixture.root());
            if !fixture.takes_back(failing, &sent) && !foreign.iter().any(|one| one == spelled) {
                foreign.push(spelled.to_owned());
            }
        }
    }
    foreign
}
