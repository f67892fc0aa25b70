//! What the documents of `file` and `coder` ask for and no other test holds; `docs/conformance.md` names the test of every
//! demand.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

#[path = "conformance_file_coder/coder.rs"]
mod coder;
#[path = "conformance_file_coder/file.rs"]
mod file;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use yard_dialects::{Answer, Catalog};
use yard_testkit::TestWorkspace;

pub(crate) fn call(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> Answer {
    workspace.call_of(toolset, tool, args)
}

/// The reply of a call that does what was asked.
#[track_caller]
pub(crate) fn done(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> Value {
    let answer = call(workspace, toolset, tool, args.clone());
    assert!(answer.ok && answer.status == 200, "{tool} {args}: {}", answer.body);
    answer.body["result"].clone()
}

/// The message of a call that fails with this code: an answer of exactly a code and a message.
#[track_caller]
pub(crate) fn refused(
    workspace: &TestWorkspace,
    toolset: &str,
    tool: &str,
    args: Value,
    code: &str,
) -> String {
    let answer = call(workspace, toolset, tool, args.clone());
    assert_eq!((answer.ok, answer.status), (false, 200), "{tool} {args}: {}", answer.body);
    let result = &answer.body["result"];
    assert_eq!(result["error"], code, "{tool} {args}: {}", answer.body);
    let message = result["message"].as_str().unwrap();
    assert_eq!(*result, json!({"error": code, "message": message}), "{tool} {args}");
    assert!(!message.is_empty(), "{tool} {args}");
    message.to_owned()
}

/// One field of every item.
pub(crate) fn each<'a>(items: &'a Value, field: &str) -> Vec<&'a str> {
    items.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap()).collect()
}

/// Every file below a folder with its bytes, every folder and every link.
pub(crate) fn everything_below(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(folder) = ahead.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_link = path.is_symlink();
            if path.is_dir() && !is_link {
                ahead.push(path.clone());
            }
            let bytes = if is_link { Vec::new() } else { std::fs::read(&path).unwrap_or_default() };
            all.insert(path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    all
}

/// A schema's members as a document lists them: the name, `?` if it may be left out, and the type.
pub(crate) fn members(schema: &Value) -> BTreeMap<String, String> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let members = schema["properties"].as_object().unwrap().iter();
    let one = |(name, property): (&String, &Value)| {
        let mark = if required.contains(&json!(name)) { "" } else { "?" };
        (name.clone(), format!("{mark}{}", kind(property)))
    };
    members.map(one).collect()
}

/// The type of a property, which may be null where it may be left out.
fn kind(property: &Value) -> String {
    let kind = match &property["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| **kind != "null").cloned().unwrap(),
        kind => kind.clone(),
    };
    kind.as_str().unwrap_or("anything").to_owned()
}

/// Compares a schema with `name type, name? type, ...`; what the document does not have may be there too where
/// it may be left out, if `ours` names it.
#[track_caller]
pub(crate) fn has_members(schema: &Value, documented: &str, ours: &[&str], what: &str) {
    let mut wanted = BTreeMap::new();
    for member in documented.split(", ").filter(|member| !member.is_empty()) {
        let (name, kind) = member.split_once(' ').unwrap();
        match name.strip_suffix('?') {
            Some(name) => wanted.insert(name.to_owned(), format!("?{kind}")),
            None => wanted.insert(name.to_owned(), kind.to_owned()),
        };
    }
    let mut found = members(schema);
    for name in ours {
        assert!(found.remove(*name).is_some(), "{what} has no {name}");
    }
    assert_eq!(found, wanted, "{what}");
}

/// The arguments that every tool takes as numbers.
fn numbers_of(schema: &Value) -> Vec<(String, u64)> {
    let members = schema["properties"].as_object().unwrap().iter();
    let numeric = members.filter(|(_, member)| ["integer", "number"].contains(&&*kind(member)));
    let least = |member: &Value| member["minimum"].as_f64().unwrap_or(0.0).max(1.0) as u64;
    numeric.map(|(name, member)| (name.clone(), least(member))).collect()
}

#[test]
fn r1_numbers_that_are_sent_as_text_are_taken_by_every_tool() {
    let workspace = TestWorkspace::new();
    let mut tried = 0;
    for dialect in Catalog::standard().dialects() {
        for tool in workspace.catalog().list(dialect.name) {
            for (name, least) in numbers_of(tool.input_schema()) {
                let args = json!({name.clone(): least.to_string()});
                let words = call(&workspace, dialect.name, tool.name(), args).failure_message();
                assert!(!words.contains(&format!("{name}: expected")), "{}: {words}", tool.name());
                let wrong = json!({name.clone(): "many"});
                let words = call(&workspace, dialect.name, tool.name(), wrong).failure_message();
                assert!(words.contains(&format!("{name}: expected")), "{}: {words}", tool.name());
                tried += 1;
            }
        }
    }
    assert!(tried >= 40, "{tried}");
    let timeout = workspace.catalog().get("assistant", "run_code").unwrap().input_schema();
    assert!(numbers_of(timeout).iter().any(|(name, _)| name == "timeout"), "{timeout}");
}

#[test]
fn r1_an_argument_of_a_wrong_kind_is_named_itself_by_every_tool() {
    let workspace = TestWorkspace::new();
    let mut tried = 0;
    for dialect in Catalog::standard().dialects() {
        for tool in workspace.catalog().list(dialect.name) {
            let members = tool.input_schema()["properties"].as_object().unwrap().clone();
            for (name, member) in members {
                let wrong = match kind(&member).as_str() {
                    "anything" => continue,
                    "string" if member["enum"].is_array() => json!("no such word"),
                    "string" | "object" => json!(["no", 1]),
                    _ => json!({"no": 1}),
                };
                let answer =
                    call(&workspace, dialect.name, tool.name(), json!({name.clone(): wrong}));
                let words = answer.failure_message();
                assert!(words.contains(&format!("{name}: ")), "{}: {words}", tool.name());
                assert!(name == "args" || !words.contains("args: "), "{}: {words}", tool.name());
                tried += 1;
            }
        }
    }
    assert!(tried >= 150, "{tried}");
    for (tool, args, name) in [
        ("read_file", json!({"path": "a", "encoding": "latin1"}), "encoding"),
        ("run_code", json!({"language": "bash", "code": "true", "env": {"A": 1}}), "env.A"),
        ("run_tests", json!({"env": ["A=1"]}), "env"),
    ] {
        let words = call(&workspace, "assistant", tool, args).failure_message();
        assert!(words.starts_with(&format!("{name}: ")), "{tool}: {words}");
    }
}
