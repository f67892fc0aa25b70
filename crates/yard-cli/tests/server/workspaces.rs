//! Workspaces, members, keys.

use serde_json::{Value, json};

use crate::harness::Server;

#[test]
fn a_workspace_is_made_renamed_and_deleted() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let path = format!("/api/v1/workspaces/{workspace}");
    assert_eq!(ada.get(&path).expect(200)["workspace"]["role"], "owner");
    let renamed = ada.ask("PATCH", &path, &json!({"name": " Other "})).expect(200);
    assert_eq!(renamed["workspace"]["name"], "Other");
    ada.tool(&workspace, "write", json!({"path": "/a", "content": "kept"})).expect(200);
    ada.delete(&path).expect(204);
    ada.get(&path).expect(403);
    assert_eq!(ada.get("/api/v1/workspaces").expect(200)["workspaces"], json!([]));
    // Nothing is ever lost: the operator still has the files.
    let kept = server.data().join("workspaces").join(&workspace).join("a");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "kept");
}

#[test]
fn roles_are_what_they_say_through_every_tool() {
    let server = Server::start();
    let (ada, bob, eve) = (server.person(), server.person(), server.person());
    let workspace = ada.workspace();
    ada.invite(&workspace, &bob, "member");
    ada.invite(&workspace, &eve, "viewer");
    bob.tool(&workspace, "write", json!({"path": "/a.txt", "content": "by bob\n"})).expect(200);
    let read = eve.tool(&workspace, "read", json!({"path": "/a.txt"})).expect(200);
    assert_eq!(read["result"]["content"], "by bob\n");
    let changes = [
        ("write", json!({"path": "/b", "content": "x"})),
        ("edit", json!({"path": "/a.txt", "old_string": "bob", "new_string": "eve"})),
        ("rm", json!({"path": "/a.txt"})),
        ("mv", json!({"source": "/a.txt", "destination": "/b"})),
        ("touch", json!({"path": "/c"})),
        ("mkdir", json!({"path": "/d"})),
    ];
    for (tool, args) in changes {
        assert_eq!(eve.tool(&workspace, tool, args).expect(403)["code"], "FORBIDDEN", "{tool}");
    }
    let listed = eve.tool(&workspace, "ls", json!({})).expect(200);
    assert_eq!(listed["result"]["total"], 1);
}

#[test]
fn a_workspace_keeps_an_owner() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let workspace = ada.workspace();
    let member = |id: &str| format!("/api/v1/workspaces/{workspace}/members/{id}");
    ada.delete(&member(&ada.id)).expect(409);
    ada.ask("PATCH", &member(&ada.id), &json!({"role": "viewer"})).expect(409);
    ada.invite(&workspace, &bob, "viewer");
    ada.ask("PATCH", &member(&bob.id), &json!({"role": "owner"})).expect(200);
    ada.delete(&member(&ada.id)).expect(204);
    ada.get(&format!("/api/v1/workspaces/{workspace}")).expect(403);
    let members = bob.get(&format!("/api/v1/workspaces/{workspace}/members")).expect(200);
    assert_eq!(members["members"].as_array().unwrap().len(), 1);
}

#[test]
fn a_key_is_shown_once_and_is_an_agents() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let keys = format!("/api/v1/workspaces/{workspace}/keys");
    let made = ada.post(&keys, json!({"name": "ci", "role": "member"})).expect(201);
    let listed = ada.get(&keys).expect(200);
    assert_eq!(listed["keys"][0]["id"], made["id"]);
    assert!(listed["keys"][0].get("key").is_none());
    let agent = server.holder(made["key"].as_str().unwrap());
    agent.tool(&workspace, "write", json!({"path": "/a", "content": "x"})).expect(200);
    for (method, path) in [("GET", "/api/v1/auth/me"), ("POST", "/api/v1/workspaces")] {
        agent.ask(method, path, &json!({"name": "x"})).expect(403);
    }
    agent.post(&keys, json!({"name": "more", "role": "member"})).expect(403);
    ada.post(&keys, json!({"name": "boss", "role": "owner"})).expect(400);
    let stored = std::fs::read(server.data().join("people.db")).unwrap();
    let secret = made["key"].as_str().unwrap().as_bytes();
    assert!(!stored.windows(secret.len()).any(|window| window == secret), "stored hashed");
    ada.delete(&format!("{keys}/{}", made["id"].as_str().unwrap())).expect(204);
    agent.tool(&workspace, "ls", json!({})).expect(401);
}

#[test]
fn a_folder_of_the_host_needs_the_operators_permission() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("there.txt"), "was there\n").unwrap();
    let allowed = format!("[{:?}]", folder.path());
    let server = Server::start_with(&[("TOOLYARD__WORKSPACES__FOLDERS", &allowed)]);
    let ada = server.person();
    let make =
        |folder: &str| ada.post("/api/v1/workspaces", json!({"name": "x", "folder": folder}));
    let made = make(project.to_str().unwrap()).expect(201);
    assert!(!made.to_string().contains("project"), "R13: no path of the host");
    let id = made["workspace"]["id"].as_str().unwrap();
    let read = ada.tool(id, "read", json!({"path": "there.txt"})).expect(200);
    assert_eq!(read["result"]["content"], "was there\n");
    for other in ["/", "/etc", "relative", "/nowhere/at/all"] {
        let answer = make(other).expect(403);
        assert!(!answer["error"].as_str().unwrap().contains(other) || other == "/", "{answer}");
    }
    let data = server.data();
    make(data.to_str().unwrap()).expect(403);
}

#[test]
fn lists_come_in_parts() {
    let server = Server::start();
    let ada = server.person();
    let mut made: Vec<String> = (0..5).map(|_| ada.workspace()).collect();
    made.sort();
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let part = ada.get(&format!("/api/v1/workspaces?limit=2{next}")).expect(200);
        let ids = part["workspaces"].as_array().unwrap().iter();
        seen.extend(ids.map(|row| row["id"].as_str().unwrap().to_owned()));
        match &part["next"] {
            Value::String(cursor) => next = format!("&cursor={cursor}"),
            _ => break,
        }
    }
    assert_eq!(seen, made);
    ada.get("/api/v1/workspaces?limit=0").expect(400);
    ada.get("/api/v1/workspaces?cursor=x").expect(400);
    ada.get("/api/v1/workspaces?limti=1").expect(400);
}

#[test]
fn tools_are_declared_in_every_format() {
    let server = Server::start();
    let ada = server.person();
    let path = format!("/api/v1/workspaces/{}/tools", ada.workspace());
    let names = |value: &Value| {
        let all = value["tools"].as_array().unwrap().iter();
        all.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let json = names(&ada.get(&path).expect(200));
    assert!(json.contains(&"read_multiple_files".to_owned()));
    for format in ["openai", "anthropic"] {
        assert_eq!(names(&ada.get(&format!("{path}?format={format}")).expect(200)), json);
    }
    ada.get(&format!("{path}?format=gemini")).expect(200);
    ada.get(&format!("{path}?format=cobol")).expect(400);
    ada.get(&format!("{path}?toolset=nothing")).expect(404);
}
