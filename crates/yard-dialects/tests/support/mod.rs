//! A workspace on a real disk and the few questions that the tests ask of its answers.

#![allow(dead_code)]

use std::path::PathBuf;

use serde_json::Value;
use yard_dialects::Answer;
use yard_testkit::TestWorkspace;

/// A call's reply.
#[track_caller]
pub(crate) fn ok(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    let Answer { ok, status, body, .. } = workspace.call(tool, args.clone());
    assert!(ok && status == 200, "{tool} {args}: {status} {body}");
    assert_eq!(body["success"], Value::Bool(true), "W1");
    assert_eq!(body["error"], Value::Null, "W1");
    body["result"].clone()
}

/// A call's failure: the whole body.
#[track_caller]
pub(crate) fn fails(
    workspace: &TestWorkspace,
    tool: &str,
    args: Value,
    status: u16,
    code: &str,
) -> Value {
    let answer = workspace.call(tool, args.clone());
    let got = (answer.ok, answer.status, answer.body["code"].as_str());
    assert_eq!(got, (false, status, Some(code)), "{tool} {args}: {}", answer.body);
    assert_eq!(answer.body["success"], Value::Bool(false), "W1");
    assert!(answer.body["error"].as_str().is_some_and(|error| !error.is_empty()), "W1");
    answer.body.into_value()
}

/// A refusal of one argument: its message.
#[track_caller]
pub(crate) fn invalid(workspace: &TestWorkspace, tool: &str, args: Value, field: &str) -> String {
    let body = fails(workspace, tool, args.clone(), 400, "VALIDATION_ERROR");
    let message = body["fields"][field].as_str();
    message.unwrap_or_else(|| panic!("{tool} {args}: no fields.{field} in {body}")).to_owned()
}

/// Where a path of the workspace is on the disk.
pub(crate) fn on_disk(workspace: &TestWorkspace, path: &str) -> PathBuf {
    workspace.root().join(path.trim_start_matches('/'))
}

/// One field of every item.
pub(crate) fn each<'a>(items: &'a Value, field: &str) -> Vec<&'a str> {
    items.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap()).collect()
}

/// `line 0`, `line 1`, ...
pub(crate) fn lines(count: usize) -> String {
    (0..count).map(|line| format!("line {line}\n")).collect()
}

pub(crate) fn is_uuid_v7(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == 36 && text.as_bytes()[14] == b'7'
}

/// R11: RFC 3339, UTC, milliseconds.
pub(crate) fn is_time(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == 24 && text.ends_with('Z') && &text[10..11] == "T" && &text[19..20] == "."
}

pub(crate) fn is_hash(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
