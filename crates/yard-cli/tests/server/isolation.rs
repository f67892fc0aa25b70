//! Who may not, cannot: tried route by route, from the server's own list of all routes.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

/// A route of the OpenAPI document.
struct Listed {
    method: String,
    path: String,
    /// What its description says of who may ask.
    who: String,
    has_body: bool,
}

fn routes(server: &Server) -> Vec<Listed> {
    let document = server.get("/openapi.json").expect(200);
    let paths = document["paths"].as_object().unwrap();
    let mut all = Vec::new();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            all.push(Listed {
                method: method.to_uppercase(),
                path: path.clone(),
                who: operation["description"].as_str().unwrap().to_owned(),
                has_body: operation.get("requestBody").is_some(),
            });
        }
    }
    assert!(all.len() > 15);
    all
}

/// The path with its names filled in.
fn filled(path: &str, workspace: &str, ids: &[(&str, String)]) -> String {
    let mut filled = path.replace("{id}", workspace);
    for (name, id) in ids {
        filled = filled.replace(&format!("{{{name}}}"), id);
    }
    filled
}

/// Real ids of everything in a workspace that a path can name.
fn ids_of(owner: &Someone<'_>, workspace: &str, key: &Value) -> Vec<(&'static str, String)> {
    let base = format!("/api/v1/workspaces/{workspace}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let listed = owner.tool(workspace, "ls", json!({})).expect(200);
    let file = text(&listed["result"]["entries"][0]["id"]);
    let versions = owner.get(&format!("{base}/files/{file}/versions")).expect(200);
    let steps = owner.get(&format!("{base}/steps")).expect(200);
    let chat = owner.post(&format!("{base}/chats"), json!({"title": "SECRET-WORD"})).expect(201);
    let question = json!({"name": "q", "question": "SECRET-WORD?", "schema": {"type": "string"}});
    let asked = owner.tool(workspace, "ask_user", json!({"questions": [question]})).expect(200);
    let terminal = terminal_of(owner, &base);
    let comment = json!({
        "step_id": steps["steps"][0]["id"], "path": "/secret", "side": "new", "line": 1,
        "content_hash": versions["versions"][0]["hash"], "text": "SECRET-WORD",
    });
    let comment = owner.post(&format!("{base}/comments"), comment).expect(201);
    vec![
        ("comment_id", text(&comment["comment"]["id"])),
        ("terminal_id", terminal),
        ("chat_id", text(&chat["chat"]["id"])),
        ("question_id", text(&asked["result"]["question_id"])),
        ("user_id", owner.id.clone()),
        ("key_id", text(&key["id"])),
        ("file_id", file),
        ("version_id", text(&versions["versions"][0]["id"])),
        ("step_id", text(&steps["steps"][0]["id"])),
    ]
}

/// A terminal of theirs that runs.
fn terminal_of(owner: &Someone<'_>, base: &str) -> String {
    let args = json!({"session_id": "t", "cmd": "echo SECRET-WORD; cat", "workdir": null});
    let body = json!({"toolset": "codex", "tool": "exec_command", "args": args, "wait_ms": 0});
    let asked = owner.post(&format!("{base}/tools"), body).expect(202);
    let id = asked["result"]["approval_id"].as_str().unwrap_or_default();
    let yes = json!({"decision": "approve"});
    owner.decide(&format!("{base}/approvals/{id}"), yes).expect(200);
    let listed = owner.get(&format!("{base}/terminals")).expect(200);
    listed["terminals"][0]["id"].as_str().expect("a terminal").to_owned()
}

fn workspace_of(path: &str) -> &str {
    path.split('/').nth(4).unwrap_or_default()
}

fn try_it(caller: &Someone<'_>, route: &Listed, path: &str) -> crate::harness::Answer {
    // Bodies that would do something if they were let through.
    let body = if !route.has_body {
        Value::Null
    } else if path.ends_with("/tools") {
        json!({"tool": "write", "args": {"path": "/stolen", "content": "x"}})
    } else {
        json!({
            "name": "stolen", "role": "member", "email": caller.email, "title": "stolen",
            "answers": {"q": "stolen"}, "via": "text", "mode": "plan", "version_id": workspace_of(path),
        })
    };
    caller.ask(&route.method, path, &body)
}

#[test]
fn strangers_get_nothing_through_any_route() {
    let server = Server::start();
    let (ada, bob, eve) = (server.person(), server.person(), server.person());
    let (workspace, foreign) = (ada.workspace(), eve.workspace());
    ada.tool(&workspace, "write", json!({"path": "/secret", "content": "SECRET-WORD"})).expect(200);
    ada.invite(&workspace, &bob, "member");
    let key = ada.post(
        &format!("/api/v1/workspaces/{workspace}/keys"),
        json!({"name": "k", "role": "member"}),
    );
    let key = key.expect(201);
    let (revoked, other_agent) =
        (server.holder(key["key"].as_str().unwrap()), eve.agent(&foreign, "member"));
    ada.delete(&format!("/api/v1/workspaces/{workspace}/keys/{}", key["id"].as_str().unwrap()))
        .expect(204);
    ada.delete(&format!("/api/v1/workspaces/{workspace}/members/{}", bob.id)).expect(204);
    let nobody = server.holder("nonsense");
    let strangers = [
        ("another workspace's owner", &eve),
        ("a member who was removed", &bob),
        ("a revoked key", &revoked),
        ("a key of another workspace", &other_agent),
        ("nobody", &nobody),
    ];
    let ids = ids_of(&ada, &workspace, &key);
    let inside = routes(&server).into_iter().filter(|route| route.path.contains("{id}"));
    for route in inside {
        let path = filled(&route.path, &workspace, &ids);
        for (who, stranger) in &strangers {
            let answer = try_it(stranger, &route, &path);
            let reply = String::from_utf8_lossy(&answer.bytes).into_owned();
            let shown = format!("{who}: {} {path}: {} {reply}", route.method, answer.status);
            assert!([401, 403, 404].contains(&answer.status), "{shown}");
            assert!(!reply.contains("SECRET-WORD") && !reply.contains("Work"), "{shown}");
        }
        // What is not there answers as what is another's.
        let hole = filled(&route.path, "01a1ded5-dd8a-77da-afc2-e0984d8b1839", &ids);
        assert_eq!(try_it(&eve, &route, &hole).json(), try_it(&eve, &route, &path).json());
    }
    let listed = ada.tool(&workspace, "ls", json!({})).expect(200);
    // The file, and the folder of chats.
    assert_eq!(listed["result"]["total"], 2, "nothing happened: {listed}");
    assert_eq!(
        ada.get(&format!("/api/v1/workspaces/{workspace}")).expect(200)["workspace"]["name"],
        "Work"
    );
}

#[test]
fn viewers_and_agents_get_what_the_documents_say() {
    let server = Server::start();
    let (ada, eve) = (server.person(), server.person());
    let workspace = ada.workspace();
    ada.invite(&workspace, &eve, "viewer");
    let agent = ada.agent(&workspace, "member");
    ada.tool(&workspace, "write", json!({"path": "/secret", "content": "x"})).expect(200);
    let key = json!({"name": "k", "role": "member"});
    let key = ada.post(&format!("/api/v1/workspaces/{workspace}/keys"), key).expect(201);
    let ids = ids_of(&ada, &workspace, &key);
    for route in routes(&server).into_iter().filter(|route| route.path.contains("{id}")) {
        let path = filled(&route.path, &workspace, &ids);
        let viewer_may = route.who.contains("viewer");
        let agent_may = route.who.contains("agents");
        // It looks, although what it looks at is in its body.
        let only_explains = route.path.ends_with("/policy/explain");
        if (route.method != "GET" && !only_explains) || !viewer_may {
            let answer = try_it(&eve, &route, &path);
            assert_eq!(
                answer.status,
                403,
                "a viewer: {} {path}: {:?}",
                route.method,
                answer.json()
            );
        }
        if !agent_may {
            let answer = try_it(&agent, &route, &path);
            assert_eq!(
                answer.status,
                403,
                "an agent: {} {path}: {:?}",
                route.method,
                answer.json()
            );
        }
    }
}

#[test]
fn an_ended_token_opens_nothing() {
    let variables = [("TOOLYARD__JWT__SECRET", "0123456789abcdef0123456789abcdef")];
    let server = Server::start_with(&variables);
    let ada = server.person();
    let workspace = ada.workspace();
    // Ended long ago, and not signed by this server; `conformance_logins.rs` has one that is.
    let ended =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIiwic2lkIjoiYSIsImlhdCI6MSwiZXhwIjoyfQ.x";
    for token in [ended, "", "tyk_0000"] {
        let holder = server.holder(token);
        assert_eq!(holder.get(&format!("/api/v1/workspaces/{workspace}")).status, 401, "{token}");
    }
}
