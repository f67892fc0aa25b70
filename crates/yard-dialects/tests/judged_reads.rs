//! Bytes of a file reach an answer, or another path, only through an effect that was judged as reading that file.
//!
//! Every tool is called twice on the same files, each of which holds a text of its own: once with nothing denied,
//! to see that the calls do show these texts, and once with a rule that denies to read any file. Then no text may be
//! in an answer, and none may be on disk at another path than its own. The operations that only doors use (steps,
//! versions, downloads) are tried alike.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use serde_json::{Map, Value, json};
use yard_core::op::{FETCH_BYTES, Fetch, FetchVersion, History, HistoryOf, Show, ShowVersion};
use yard_core::{Fault, StepId, VersionId, WsPath};
use yard_testkit::tree;
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use crate::error_texts::valid::{self, Valid};

/// What each file's own text begins with.
const MARK: &str = "secret-text-of-";

/// Arguments that bound what a call shows, or where it begins: without them it shows all that it can.
const BOUNDS: [&str; 12] = [
    "limit",
    "offset",
    "cursor",
    "head",
    "tail",
    "hash",
    "byte_offset",
    "byte_limit",
    "byteOffset",
    "max_results",
    "mode",
    "indent",
];

fn furnished() -> TestWorkspace {
    let workspace = TestWorkspace::open(&Folders::in_memory(), OpenOptions::default()).unwrap();
    for (path, begin) in [
        ("a.txt", "one\ntwo\n"),
        ("src/lib.rs", "pub fn first() {}\n// "),
        ("src/main.rs", "fn main() {}\n// "),
        ("full/inner.txt", ""),
        ("picture.png", "\u{89}PNG\r\n\x1a\n"),
        (
            "plans/bold-meadow-quest.plan",
            "---\ntitle: Do it\nstatus: draft\n---\n# Do it\n\nFirst this.\n",
        ),
    ] {
        workspace.put(path, format!("{begin}{MARK}{}\n", path.replace('/', ":")));
    }
    workspace.put("empty.txt", "");
    workspace
}

fn deny_reading(workspace: &TestWorkspace) {
    let rules = r#"{"rules": [{"effect": "read", "path": "**", "then": "deny"}]}"#;
    let rules: Map<String, Value> = serde_json::from_str(rules).unwrap();
    workspace.person().change_settings(&workspace.call_context(), &rules).unwrap();
}

/// The valid calls of every tool, and the same without what bounds them.
fn calls() -> Vec<Valid> {
    let search = |toolset, tool, args| Valid { toolset, tool, args };
    let mut calls = vec![
        search("workspace", "grep", json!({"pattern": MARK})),
        search("file", "file.search", json!({"pattern": MARK})),
        search("codex", "grep_files", json!({"pattern": MARK, "path": ".", "include": ["*"]})),
        search("assistant", "search_code", json!({"query": MARK})),
        search("workspace", "mv", json!({"source": "/src", "destination": "/elsewhere"})),
        search(
            "workspace",
            "mv",
            json!({"source": "/full/inner.txt", "destination": "/inner.txt"}),
        ),
        search("workspace", "plan_list", json!({})),
    ];
    for valid in valid::calls() {
        let mut unbounded = valid.args.clone();
        let members = unbounded.as_object_mut().unwrap();
        members.retain(|name, _| !BOUNDS.contains(&name.as_str()));
        calls.push(Valid { args: unbounded, ..valid });
        calls.push(valid);
    }
    calls
}

/// The texts of files that `shown` holds. Base64 holds those that it encodes, too.
fn texts_in(shown: &str) -> Vec<String> {
    let homes = ["a.txt", "src:lib.rs", "src:main.rs", "full:inner.txt", "picture.png"];
    let homes = homes.iter().chain(&["plans:bold-meadow-quest.plan"]);
    let is_shown = |home: &&&str| {
        shown.contains(&format!("{MARK}{home}"))
            || home.starts_with("picture") && shown.contains("c2VjcmV0LXRleHQ")
    };
    homes.filter(is_shown).map(|home| (*home).to_owned()).collect()
}

/// The texts that are on disk at another path than their own.
fn texts_elsewhere(workspace: &TestWorkspace) -> Vec<String> {
    let mut elsewhere = Vec::new();
    for path in tree(workspace.root()).into_keys() {
        let on_disk = workspace.root().join(path.trim_start_matches('/'));
        let bytes = std::fs::read(on_disk).unwrap_or_default();
        let home = path.trim_start_matches('/').replace('/', ":");
        let texts = texts_in(&String::from_utf8_lossy(&bytes));
        elsewhere.extend(texts.into_iter().filter(|text| *text != home));
    }
    elsewhere
}

/// What a call shows, and what it brings to another path.
fn revealed(workspace: &TestWorkspace, call: &Valid) -> Vec<String> {
    let (session, around) = (workspace.session(), workspace.call_context());
    let answer =
        workspace.catalog().call(call.toolset, call.tool, call.args.clone(), &session, &around);
    let mut revealed = texts_in(&answer.body.to_string());
    revealed.extend(texts_elsewhere(workspace));
    revealed
}

#[test]
fn b10_no_tool_shows_or_brings_elsewhere_what_may_not_be_read() {
    let mut shown = 0;
    for call in calls() {
        shown += usize::from(!revealed(&furnished(), &call).is_empty());
        let denied = furnished();
        deny_reading(&denied);
        let revealed = revealed(&denied, &call);
        assert_eq!(revealed, Vec::<String>::new(), "{} {} {}", call.toolset, call.tool, call.args);
    }
    // Where nothing is denied, the same calls do show the texts.
    assert!(shown > 30, "only {shown} calls show a text where nothing is denied");
}

/// What the operations show that only doors use; a refusal shows nothing but its words.
fn shown_by_doors(
    workspace: &TestWorkspace,
    path: &WsPath,
    step: StepId,
    version: VersionId,
) -> Vec<String> {
    let words = |fault: Fault| fault.to_string();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let fetch = Fetch { path: path.clone(), offset: 0, length: FETCH_BYTES, seen: None };
    let version_bytes = FetchVersion { version, of: None, offset: 0, length: FETCH_BYTES };
    let show = Show::all(step, FETCH_BYTES);
    let show_version = ShowVersion { version, of: None, max_bytes: FETCH_BYTES };
    vec![
        workspace.perform(fetch).map_or_else(words, |fetched| text(fetched.bytes)),
        workspace.perform(version_bytes).map_or_else(words, |fetched| text(fetched.bytes)),
        workspace.perform(show).map_or_else(words, |shown| format!("{shown:?}")),
        workspace.perform(show_version).map_or_else(words, |shown| format!("{shown:?}")),
    ]
}

#[test]
fn b10_no_operation_of_a_door_shows_what_may_not_be_read() {
    let workspace = furnished();
    let path = WsPath::parse("/a.txt").unwrap();
    let content = format!("{MARK}a.txt\n");
    let args = json!({"path": "/a.txt", "content": content, "overwrite": true});
    let answer = workspace.call("write", args);
    let version = answer.body["result"]["version_id"].as_str().unwrap().parse().unwrap();
    let of = HistoryOf::Path(path.clone());
    let step = workspace.perform(History { of, limit: 1, before: None }).unwrap().steps[0].id;
    for shown in shown_by_doors(&workspace, &path, step, version) {
        assert_eq!(texts_in(&shown), ["a.txt"], "{shown}");
    }
    deny_reading(&workspace);
    for shown in shown_by_doors(&workspace, &path, step, version) {
        assert_eq!(texts_in(&shown), Vec::<String>::new(), "{shown}");
    }
}
