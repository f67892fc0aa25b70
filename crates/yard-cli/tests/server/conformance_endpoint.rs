//! What the document of `workspace` asks of its endpoint, where no other test holds it: who may call, what a
//! request holds, how answers and failures look. `docs/conformance.md` lists all demands.

use serde_json::{Value, json};

use crate::harness::{Answer, Server, Someone};

fn tools_path(workspace: &str) -> String {
    format!("/api/v1/workspaces/{workspace}/tools")
}

/// A call without a login; with these headers.
fn call(server: &Server, workspace: &str, headers: &[(&str, &str)]) -> Answer {
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers);
    server.send("POST", &tools_path(workspace), &all, br#"{"tool":"ls","args":{}}"#)
}

/// The failure of an answer with this status: what it says.
#[track_caller]
fn refused(answer: &Answer, status: u16, code: &str) -> String {
    let body = answer.expect(status);
    assert_eq!((&body["code"], &body["success"]), (&json!(code), &json!(false)), "{body}");
    body["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_call_needs_a_token_in_the_header_or_a_cookie_and_a_member() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let bearer = format!("Bearer {}", ada.token);
    let cookie = format!("access_token={}", ada.token);
    for good in [("authorization", bearer.as_str()), ("cookie", cookie.as_str())] {
        assert_eq!(call(&server, &workspace, &[good]).expect(200)["success"], true);
    }
    let without = call(&server, &workspace, &[]);
    let output = refused(&without, 401, "INVALID_TOKEN");
    assert!(output.contains("Authorization") && output.contains("cookie"), "{output}");
    for bad in [
        ("authorization", "Bearer <access_token>"),
        ("authorization", "Bearer "),
        ("authorization", ada.token.as_str()),
        ("authorization", "Basic YWRhOmFkYQ=="),
        ("cookie", "access_token=nonsense"),
    ] {
        refused(&call(&server, &workspace, &[bad]), 401, "INVALID_TOKEN");
    }
    let stranger = server.person();
    let stranger = format!("Bearer {}", stranger.token);
    let foreign = call(&server, &workspace, &[("authorization", stranger.as_str())]);
    let output = refused(&foreign, 403, "FORBIDDEN");
    // One that is not there, and what is no id at all, answer as another's does.
    for id in ["01a1ded5-dd8a-77da-afc2-e0984d8b1839", "no-id", "1"] {
        let answer = call(&server, id, &[("authorization", stranger.as_str())]);
        assert_eq!(refused(&answer, 403, "FORBIDDEN"), output, "{id}");
    }
}

#[test]
fn tools_are_called_by_post_below_the_version_of_the_api() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let body = json!({"tool": "ls", "args": {}});
    let path = tools_path(&workspace);
    ada.post(&path, body.clone()).expect(200);
    for method in ["PUT", "PATCH", "DELETE"] {
        refused(&ada.ask(method, &path, &body), 405, "METHOD_NOT_ALLOWED");
    }
    for prefix in ["", "/api", "/v1", "/api/v2"] {
        let path = format!("{prefix}/workspaces/{workspace}/tools");
        refused(&ada.post(&path, body.clone()), 404, "NOT_FOUND");
    }
}

#[test]
fn a_body_is_json_with_a_tool_and_its_arguments() {
    let server = Server::start();
    let ada = server.person();
    let path = tools_path(&ada.workspace());
    for (body, field) in [
        (json!({"args": {}}), "tool"),
        (json!({"tool": "ls"}), "args"),
        (json!({"tool": 3, "args": {}}), "tool"),
        (json!({"tool": "ls", "args": 3}), "args"),
        (json!({"tool": "ls", "args": {}, "arg": {}}), "arg"),
    ] {
        let answer = ada.post(&path, body.clone());
        refused(&answer, 400, "VALIDATION_ERROR");
        assert!(answer.json()["fields"][field].is_string(), "{body}: {}", answer.json());
    }
    let bearer = format!("Bearer {}", ada.token);
    for media in ["text/plain", "application/x-www-form-urlencoded"] {
        let headers = [("authorization", bearer.as_str()), ("content-type", media)];
        let answer = server.send("POST", &path, &headers, br#"{"tool":"ls","args":{}}"#);
        refused(&answer, 415, "UNSUPPORTED_MEDIA_TYPE");
    }
}

#[test]
fn every_tool_of_the_endpoint_answers_in_the_one_envelope() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let done = |tool: &str, args: Value| {
        let body = ada.tool(&workspace, tool, args).expect(200);
        assert_eq!(body.as_object().unwrap().len(), 3, "{tool}: {body}");
        assert_eq!((&body["success"], &body["error"]), (&json!(true), &Value::Null), "{tool}");
        assert!(body["result"].is_object(), "{tool}: {body}");
    };
    done("mkdir", json!({"path": "/d"}));
    done("write", json!({"path": "/d/a.txt", "content": "one\n"}));
    done("touch", json!({"path": "/d/b.txt"}));
    done("edit", json!({"path": "/d/a.txt", "old_string": "one", "new_string": "two"}));
    done("mv", json!({"source": "/d/b.txt", "destination": "/d/c.txt"}));
    done("read", json!({"path": "/d/a.txt"}));
    done("ls", json!({"path": "/d"}));
    done("rm", json!({"path": "/d/c.txt"}));
    // Its failures have a code, and nothing that looks like a result.
    let edit = |old: &str| json!({"path": "/d/a.txt", "old_string": old, "new_string": "x"});
    let mut stale = edit("two");
    stale["last_read_hash"] = "0".repeat(64).into();
    let chat = ada.post(&format!("/api/v1/workspaces/{workspace}/chats"), json!({"title": "C"}));
    let chat = chat.expect(201)["chat"]["path"].clone();
    for (tool, args, status, code) in [
        ("ls", json!({"path": "/d/a.txt"}), 400, "VALIDATION_ERROR"),
        ("read", json!({"path": "/d"}), 400, "VALIDATION_ERROR"),
        ("read", json!({"path": "/none"}), 404, "NOT_FOUND"),
        ("write", json!({"path": "/d/a.txt", "content": "x"}), 400, "VALIDATION_ERROR"),
        ("write", json!({"path": "/d", "content": "x"}), 400, "VALIDATION_ERROR"),
        (
            "write",
            json!({"path": chat, "content": "x", "overwrite": true}),
            400,
            "VALIDATION_ERROR",
        ),
        ("mkdir", json!({"path": "/d/a.txt/e"}), 409, "CONFLICT"),
        ("rm", json!({"path": "/d"}), 409, "CONFLICT"),
        ("rm", json!({"path": "/none"}), 404, "NOT_FOUND"),
        ("mv", json!({"source": "/none", "destination": "/e"}), 404, "NOT_FOUND"),
        ("edit", edit("absent"), 400, "VALIDATION_ERROR"),
        ("edit", stale, 409, "CONFLICT"),
        (
            "edit",
            json!({"path": chat, "old_string": "C", "new_string": "D"}),
            400,
            "VALIDATION_ERROR",
        ),
        ("no_tool", json!({}), 404, "NOT_FOUND"),
    ] {
        let answer = ada.tool(&workspace, tool, args.clone());
        refused(&answer, status, code);
        let body = answer.json();
        assert_eq!(body.get("fields").is_some(), status == 400, "{tool} {args}: {body}");
        assert_eq!(body.get("result"), None, "{tool} {args}: {body}");
    }
}

#[test]
fn one_path_of_two_workspaces_is_two_files() {
    let server = Server::start();
    let ada = server.person();
    let (one, two) = (ada.workspace(), ada.workspace());
    ada.tool(&one, "write", json!({"path": "/a.txt", "content": "one"})).expect(200);
    ada.tool(&two, "read", json!({"path": "/a.txt"})).expect(404);
    ada.tool(&two, "write", json!({"path": "/a.txt", "content": "two"})).expect(200);
    for (workspace, content) in [(&one, "one"), (&two, "two")] {
        let read = ada.tool(workspace, "read", json!({"path": "/a.txt"})).expect(200);
        assert_eq!(read["result"]["content"], content);
    }
    ada.tool(&two, "rm", json!({"path": "/a.txt"})).expect(200);
    ada.tool(&one, "read", json!({"path": "/a.txt"})).expect(200);
}

#[test]
fn every_change_of_a_file_is_in_its_versions_also_after_it_was_removed() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let changed =
        |tool: &str, args: Value| ada.tool(&workspace, tool, args).expect(200)["result"].clone();
    let first = changed("write", json!({"path": "/a.txt", "content": "one\n"}));
    let again = json!({"path": "/a.txt", "content": "two\n", "overwrite": true});
    let second = changed("write", again);
    let edit = json!({"path": "/a.txt", "old_string": "two", "new_string": "three"});
    let third = changed("edit", edit);
    let file = format!("{base}/files/{}", first["file_id"].as_str().unwrap());
    let listed = |someone: &Someone<'_>| {
        let versions = someone.get(&format!("{file}/versions")).expect(200)["versions"].clone();
        versions.as_array().unwrap().iter().map(|version| version["id"].clone()).collect::<Vec<_>>()
    };
    let made = [third, second, first].map(|result| result["version_id"].clone());
    assert_eq!(listed(&ada), made, "newest first");
    let removed = changed("rm", json!({"path": "/a.txt"}));
    assert_eq!(listed(&ada), made, "the history stays");
    let trash = ada.get(&format!("{base}/files/trash")).expect(200);
    assert_eq!(trash["files"][0]["id"], removed["file_id"]);
    assert!(trash["files"][0]["removed_at"].is_string(), "{trash}");
    ada.post(&format!("{file}/restore"), Value::Null).expect(200);
    let read = ada.tool(&workspace, "read", json!({"path": "/a.txt"})).expect(200);
    assert_eq!(read["result"]["content"], "three\n");
}

#[test]
fn w1_a_refusal_says_what_is_not_allowed_and_by_which_rule() {
    let server = Server::start();
    let (ada, eve) = (server.person(), server.person());
    let workspace = ada.workspace();
    ada.invite(&workspace, &eve, "viewer");
    ada.tool(&workspace, "write", json!({"path": "/locked/a.txt", "content": "x"})).expect(200);
    let write = json!({"path": "/locked/b.txt", "content": "x"});
    let output = refused(&eve.tool(&workspace, "write", write.clone()), 403, "FORBIDDEN");
    assert!(output.contains("read and not change"), "{output}");
    let rules = json!({"rules": [{"effect": "create", "path": "locked/**", "then": "deny"}]});
    ada.ask("PUT", &format!("/api/v1/workspaces/{workspace}/policy"), &rules).expect(200);
    let agent = ada.agent(&workspace, "member");
    let output = refused(&agent.tool(&workspace, "write", write), 403, "FORBIDDEN");
    assert!(output.contains("locked/**") && output.contains("create"), "{output}");
}
