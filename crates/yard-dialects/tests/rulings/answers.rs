//! Rulings about what answers say: envelopes, values, ids, types and times.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use yard_gate::{Actor, CallerPolicy};
use yard_store::{SqliteStore, Store as _};
use yard_testkit::TestWorkspace;

use crate::support::{each, is_hash, is_time, is_uuid_v7, ok};

#[test]
fn r11_ids_and_times() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "write", json!({"path": "/a", "content": "x"}));
    assert!(
        is_uuid_v7(&made["file_id"]) && is_uuid_v7(&made["version_id"]) && is_hash(&made["hash"])
    );
    workspace.put("/external", "x");
    for path in ["/a", "/external"] {
        let info = ok(&workspace, "file_info", json!({"path": path}));
        assert!(is_time(&info["created_at"]) && is_time(&info["updated_at"]), "{info}");
    }
}

#[test]
fn w1_envelopes() {
    let workspace = TestWorkspace::new();
    let answer = workspace.call("touch", json!({"path": "/a"}));
    let keys: Vec<&String> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "result", "error"]);
    let answer = workspace.call("rm", json!({"path": "/none"}));
    let keys: Vec<&String> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "error", "code"]);
    let answer = workspace.call("rm", json!({}));
    let keys: Vec<&String> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "error", "code", "fields"]);
}

#[test]
fn w1_policy_and_time_have_their_codes() {
    let workspace = TestWorkspace::new();
    let args = json!({"path": "/a", "content": "x"});
    let reader = workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly);
    let denied = workspace.call_as(&reader, "workspace", "write", args.clone());
    assert_eq!((denied.status, &denied.body["code"]), (403, &json!("FORBIDDEN")));
    let call = workspace.call_context();
    call.cancel_flag().store(true, Ordering::Relaxed);
    let late = workspace.catalog().call("workspace", "write", args, &workspace.session(), &call);
    assert_eq!((late.status, &late.body["code"]), (504, &json!("TIMEOUT")));
    assert!(!workspace.has("/a"));
}

#[test]
fn w2_file_types_are_lower_case() {
    let workspace = TestWorkspace::new();
    for word in ["document", "canvas", "whiteboard", "agent", "skill", "plan"] {
        let path = format!("/{word}");
        ok(
            &workspace,
            "write",
            json!({"path": path, "content": "x", "file_type": word.to_uppercase()}),
        );
        assert_eq!(ok(&workspace, "file_info", json!({"path": path}))["file_type"], word);
        let found = ok(&workspace, "find", json!({"file_type": word}));
        assert_eq!(each(&found["matches"], "path"), [path]);
    }
}

#[test]
fn w3_values_come_back_as_values_and_text_as_text() {
    let workspace = TestWorkspace::new();
    let value: Value =
        serde_json::from_str(r#"{"z": 1.50, "a": [2e-7, 12345678901234567890123], "m": null}"#)
            .unwrap();
    ok(&workspace, "write", json!({"path": "/v.json", "content": value}));
    let stored = "{\n  \"z\": 1.50,\n  \"a\": [\n    2e-7,\n    12345678901234567890123\n  ],\n  \"m\": null\n}";
    assert_eq!(workspace.bytes("/v.json"), stored.as_bytes());
    let read = ok(&workspace, "read", json!({"path": "/v.json"}));
    assert_eq!(read["content"].to_string(), value.to_string());
    let many = ok(&workspace, "read_multiple_files", json!({"paths": ["/v.json"]}));
    assert_eq!(many["files"][0]["content"], value);
    for (path, value) in
        [("/n", json!(42)), ("/l", json!([1, "two"])), ("/b", json!(true)), ("/null", json!(null))]
    {
        ok(&workspace, "write", json!({"path": path, "content": value}));
        assert_eq!(ok(&workspace, "read", json!({"path": path}))["content"], value, "{path}");
    }

    ok(&workspace, "write", json!({"path": "/t.json", "content": stored}));
    assert_eq!(ok(&workspace, "read", json!({"path": "/t.json"}))["content"], stored);

    ok(&workspace, "edit", json!({"path": "/v.json", "old_string": "1.50", "new_string": "2"}));
    assert_eq!(ok(&workspace, "read", json!({"path": "/v.json"}))["content"]["z"], json!(2));
    ok(&workspace, "edit", json!({"path": "/v.json", "old_string": "null", "new_string": "nil"}));
    ok(&workspace, "write", json!({"path": "/n", "content": "42", "overwrite": true}));
    assert_eq!(
        ok(&workspace, "read", json!({"path": "/n"}))["content"],
        "42",
        "written as text now"
    );
    ok(&workspace, "mv", json!({"source": "/l", "destination": "/moved"}));
    assert_eq!(ok(&workspace, "read", json!({"path": "/moved"}))["content"], json!([1, "two"]));
    let broken = ok(&workspace, "read", json!({"path": "/v.json"}));
    assert!(broken["content"].is_string(), "no longer JSON: text");
    assert_eq!(broken["total_lines"], 8);
}

#[test]
fn w14_file_info_of_a_folder() {
    let workspace = TestWorkspace::new();
    workspace.put("/external/file", "x");
    ok(&workspace, "mkdir", json!({"path": "/known"}));
    for path in ["/external", "/known", "/"] {
        let info = ok(&workspace, "file_info", json!({"path": path}));
        assert_eq!((&info["path"], &info["file_type"]), (&json!(path), &json!("folder")));
        for key in ["size", "line_count", "hash"] {
            assert_eq!(info[key], Value::Null, "{path} {key}");
        }
        assert!(is_time(&info["updated_at"]));
    }
}

#[test]
fn w19_synced_is_what_the_disk_says() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/a", "content": "one"}));
    assert_eq!(ok(&workspace, "read", json!({"path": "/a"}))["synced"], true);
    workspace.put("/a", "two, behind its back");
    let read = ok(&workspace, "read", json!({"path": "/a"}));
    assert_eq!(
        (&read["content"], &read["synced"]),
        (&json!("two, behind its back"), &json!(false))
    );
    assert_eq!(ok(&workspace, "file_info", json!({"path": "/a"}))["synced"], false);
    ok(&workspace, "edit", json!({"path": "/a", "old_string": "two", "new_string": "three"}));
    assert_eq!(ok(&workspace, "ls", json!({}))["entries"][0]["synced"], true);
}

#[test]
fn b1_a_call_of_a_toolset_that_the_key_is_not_for_leaves_an_audit_row() {
    let workspace = TestWorkspace::new();
    let agent = workspace.session().with_toolsets(&["file".to_owned()]);
    let write = json!({"path": "/a.txt", "content": "x"});
    let call = workspace.call_context();
    let answer = workspace.catalog().call("workspace", "write", write, &agent, &call);
    assert_eq!((answer.ok, answer.status), (false, 403), "{}", answer.body);
    let rows = SqliteStore::open(workspace.folders().state()).unwrap().audit(0, 100).unwrap();
    let row = rows.iter().map(|row| &row.entry).find(|entry| entry.action == "deny call");
    assert_eq!(row.unwrap().detail, "workspace.write", "{rows:?}");
}
