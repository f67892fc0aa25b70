//! The dialects `file`, `coder`, `assistant` and `codex` on a workspace on a real disk: every example of
//! the documents that `docs/conformance.md` lists (same keys, types, and values where the workspace can be built; a value
//! that a ruling overrides is listed beside its test), and every ruling that is about them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

mod alike;
mod assistant;
mod catalog;
mod coder;
mod codex;
mod file;
mod fuzzed;
mod globs;
mod mistakes;
mod paths;
mod reading;
mod sessions;

use serde_json::{Value, json};
use yard_dialects::Answer;
use yard_testkit::TestWorkspace;

/// Calls a tool of any toolset.
pub(crate) fn call(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> Answer {
    workspace.call_of(toolset, tool, args)
}

/// A call's reply, in the dialect's own words; F1 is checked on the way.
#[track_caller]
pub(crate) fn ok(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> Value {
    let answer = call(workspace, toolset, tool, args.clone());
    assert!(answer.ok && answer.status == 200, "{tool} {args}: {}", answer.body);
    assert_eq!(answer.body["success"], true, "F1");
    assert_eq!(answer.body["error"], Value::Null, "F1");
    match toolset {
        "assistant" => {
            assert_eq!(answer.body["result"]["ok"], true, "A1");
            answer.body["result"]["value"].clone()
        }
        _ => answer.body["result"].clone(),
    }
}

/// A failure's message; F1 and the dialect's own shape are checked on the way.
#[track_caller]
pub(crate) fn fails(
    workspace: &TestWorkspace,
    toolset: &str,
    tool: &str,
    args: Value,
    word: &str,
) -> String {
    let answer = call(workspace, toolset, tool, args.clone());
    assert_eq!((answer.ok, answer.status), (false, 200), "{tool} {args}: {}", answer.body);
    assert_eq!(answer.body["success"], false, "F1");
    let result = &answer.body["result"];
    let (got, message) = match toolset {
        "assistant" => {
            assert_eq!(result["ok"], false, "A1");
            assert!(result["error"]["details"].is_object(), "A1");
            (&result["error"]["code"], &result["error"]["message"])
        }
        _ => (&result["error"], &result["message"]),
    };
    assert_eq!(got, word, "{tool} {args}: {}", answer.body);
    assert_eq!(message, &answer.body["error"], "F1");
    message.as_str().unwrap().to_owned()
}

/// One field of every item.
pub(crate) fn each<'a>(items: &'a Value, field: &str) -> Vec<&'a str> {
    items.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap()).collect()
}

/// The answer has at least the keys that the example shows, with values of those types.
#[track_caller]
pub(crate) fn has(value: &Value, example: &Value) {
    for (key, wanted) in example.as_object().unwrap() {
        let got = value.get(key).unwrap_or_else(|| panic!("no {key} in {value}"));
        let same_type = std::mem::discriminant(got) == std::mem::discriminant(wanted);
        assert!(same_type, "{key}: {got} is not like {wanted}");
    }
}

/// R11: RFC 3339, UTC, milliseconds.
#[track_caller]
pub(crate) fn is_time(value: &Value) {
    let text = value.as_str().unwrap_or_default();
    assert!(text.len() == 24 && text.ends_with('Z') && &text[10..11] == "T", "{value}");
}

#[test]
fn f1_an_unknown_tool_is_a_404_in_every_toolset() {
    let workspace = TestWorkspace::new();
    for toolset in ["file", "coder", "assistant", "codex", "filesystem"] {
        let answer = call(&workspace, toolset, "invalid_tool", json!({}));
        assert_eq!((answer.ok, answer.status), (false, 404));
        assert_eq!(answer.body["code"], "NOT_FOUND");
        assert!(answer.body["error"].as_str().unwrap().contains("'invalid_tool' not found"));
    }
}
