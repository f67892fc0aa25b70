//! Purged bytes are gone from everywhere: a canary that went through every tool and route is searched for
//! in every file of the data folder, in what the store unpacks, in the log, and through every route.

use serde_json::{Value, json};
use yard_core::ContentHash;
use yard_testkit::text_search::{contains_any, find_texts};

use crate::harness::{Server, Someone};

/// Lines that nothing else has, and that no compression makes shorter than half.
fn canary(lines: usize) -> String {
    let line = |n: usize| format!("{}\n", ContentHash::of(format!("canary {n}").as_bytes()));
    (0..lines).map(line).collect()
}

/// A part of each line.
fn parts(canary: &str) -> Vec<String> {
    canary.lines().map(|line| line[20..44].to_owned()).collect()
}

struct Setup<'a> {
    ada: Someone<'a>,
    agent: Someone<'a>,
    workspace: String,
    base: String,
    /// The chat that calls belong to: its transcript keeps them.
    chat: String,
}

impl Setup<'_> {
    fn call(&self, toolset: &str, tool: &str, args: Value, key: Option<&str>) -> Value {
        let body = json!({"toolset": toolset, "tool": tool, "args": args, "wait_ms": 0, "chat_id": self.chat});
        let headers: Vec<(&str, &str)> =
            key.map(|key| ("idempotency-key", key)).into_iter().collect();
        self.agent.ask_with("POST", &format!("{}/tools", self.base), &headers, &body).json()
    }

    fn write(&self, content: &str, key: Option<&str>) -> Value {
        let args = json!({"path": "/secret.txt", "content": content, "overwrite": true});
        self.call("workspace", "write", args, key)
    }

    fn decide(&self, asked: &Value, mut decision: Value) {
        let id = asked["result"]["approval_id"].as_str().unwrap_or_else(|| panic!("{asked}"));
        let one = format!("{}/approvals/{id}", self.base);
        decision["state_hash"] = self.ada.get(&one).expect(200)["state_hash"].clone();
        self.ada.post(&format!("{one}/decision"), decision).expect(200);
    }

    fn set_rules(&self, rules: Value) {
        self.ada.ask("PUT", &format!("{}/policy", self.base), &json!({"rules": rules})).expect(200);
    }
}

/// Lets the canary go through everything that keeps something; the file that it is in.
fn spread(setup: &Setup<'_>, canary: &str) -> String {
    let lines: Vec<&str> = canary.lines().collect();
    let written = setup.write(canary, Some("the first write"));
    assert_eq!(written["success"], true, "{written}");
    let file = written["result"]["file_id"].as_str().unwrap().to_owned();
    setup.call("workspace", "read", json!({"path": "/secret.txt"}), Some("a read"));
    setup.call("workspace", "grep", json!({"pattern": &lines[3][..20]}), None);
    let edit = json!({"path": "/secret.txt", "insert_line": 1, "insert_content": lines[5]});
    setup.call("workspace", "edit", edit, None);
    let missing =
        json!({"path": "/secret.txt", "old_string": format!("x{}", lines[7]), "new_string": ""});
    setup.call("workspace", "edit", missing, None);
    setup.call("codex", "shell", json!({"command": "cat secret.txt; cat secret.txt >&2"}), None);
    // Requests of every state, and with other arguments than were asked for.
    setup.set_rules(json!([
        {"effect": "modify", "path": "secret.txt", "then": "ask"},
        {"effect": "create", "path": "copy.txt", "then": "ask"},
    ]));
    let asked = setup.write(&format!("approved\n{canary}"), None);
    setup.decide(&asked, json!({"decision": "approve"}));
    let asked = setup.write(&format!("denied\n{canary}"), None);
    setup.decide(&asked, json!({"decision": "deny", "reason": lines[9]}));
    let asked = setup.write("to be edited\n", None);
    let args =
        json!({"path": "/secret.txt", "content": format!("edited\n{canary}"), "overwrite": true});
    setup.decide(&asked, json!({"decision": "approve", "args": args}));
    setup.write(&format!("waits\n{canary}"), Some("one that waits"));
    setup.call("codex", "shell", json!({"command": "cp secret.txt copy.txt"}), None);
    // What people and agents say.
    let question = json!({"name": "q", "question": format!("Is it {}?", lines[11]), "schema": {"type": "string"}});
    setup.call("workspace", "ask_user", json!({"questions": [question]}), None);
    let message = json!({"role": "user", "content": format!("look: {}", lines[13])});
    setup.ada.post(&format!("{}/chats/{}/messages", setup.base, setup.chat), message).expect(201);
    file
}

/// Every text that a person can get out of the workspace.
fn everything_told(setup: &Setup<'_>, file: &str) -> Vec<(String, Vec<u8>)> {
    let mut reply = Vec::new();
    let mut get = |path: String| {
        let answer = setup.ada.get(&path);
        let json = serde_json::from_slice::<Value>(&answer.bytes).unwrap_or_default();
        reply.push((path, answer.bytes));
        json
    };
    let base = &setup.base;
    for (list, one) in [
        ("steps", "steps"),
        ("approvals", "approvals"),
        ("questions", "questions"),
        ("chats", "chats"),
    ] {
        let rows = get(format!("{base}/{list}?limit=100"));
        for row in rows[one].as_array().cloned().unwrap_or_default() {
            let id =
                row["id"].as_str().or(row["question_id"].as_str()).unwrap_or_default().to_owned();
            get(format!("{base}/{one}/{id}"));
        }
    }
    get(format!("{base}/files/trash"));
    let versions = get(format!("{base}/files/{file}/versions"));
    for version in versions["versions"].as_array().cloned().unwrap_or_default() {
        let id = version["version_id"]
            .as_str()
            .or(version["id"].as_str())
            .unwrap_or_default()
            .to_owned();
        get(format!("{base}/files/{file}/versions/{id}"));
        get(format!("{base}/files/{file}/versions/{id}/content"));
    }
    get(format!("{base}/terminals"));
    let listed = setup.ada.tool(&setup.workspace, "ls", json!({"path": "/chats"})).json();
    for entry in listed["result"]["entries"].as_array().cloned().unwrap_or_default() {
        let read = setup.ada.tool(&setup.workspace, "read", json!({"path": entry["path"]}));
        reply.push((format!("read {}", entry["path"]), read.bytes));
    }
    let events = format!(
        "GET {base}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nLast-Event-ID: 0\r\n\r\n",
        setup.ada.server.address, setup.ada.token
    );
    reply
        .push(("events".to_owned(), setup.ada.server.raw_and_stay(events.as_bytes()).into_bytes()));
    reply
}

#[test]
fn purged_bytes_are_in_no_file_and_no_answer() {
    let mut server = Server::start_with(&[("TOOLYARD__LOG__LEVEL", "debug")]);
    let canary = canary(60);
    let parts = parts(&canary);
    let other = "an answer that has nothing to do with it\n";
    {
        let ada = server.person();
        let workspace = ada.workspace();
        let agent = ada.agent(&workspace, "member");
        let base = format!("/api/v1/workspaces/{workspace}");
        let chat = ada.post(&format!("{base}/chats"), json!({"title": "Talk"})).expect(201);
        let chat = chat["chat"]["id"].as_str().unwrap().to_owned();
        let setup = Setup { ada, agent, workspace, base, chat };
        let file = spread(&setup, &canary);
        let kept = json!({"path": "/other.txt", "content": other});
        assert_eq!(setup.call("workspace", "write", kept, None)["success"], true);
        assert!(!find_texts(&server.data(), &parts).is_empty(), "the search finds what is there");
        let reply = everything_told(&setup, &file);
        assert!(reply.iter().filter(|(_, bytes)| contains_any(bytes, &parts)).count() > 3);

        setup.set_rules(json!([]));
        let removed = setup.ada.tool(&setup.workspace, "rm", json!({"path": "/secret.txt"}));
        assert_eq!(removed.json()["success"], true);
        let purge = format!("{}/files/{file}/purge", setup.base);
        setup.ada.delete(&purge).expect(200);

        for (route, bytes) in everything_told(&setup, &file) {
            assert!(!contains_any(&bytes, &parts), "{route}: {}", String::from_utf8_lossy(&bytes));
        }
        for key in ["the first write", "a read", "one that waits"] {
            let again = match key {
                "a read" => {
                    setup.call("workspace", "read", json!({"path": "/secret.txt"}), Some(key))
                }
                "one that waits" => setup.write(&format!("waits\n{canary}"), Some(key)),
                _ => setup.write(&canary, Some(key)),
            };
            assert_eq!(again["code"], "CONFLICT", "{key}: {again}");
            assert!(!contains_any(again.to_string().as_bytes(), &parts), "{key}: {again}");
        }
        let waiting =
            setup.ada.get(&format!("{}/approvals?status=pending", setup.base)).expect(200);
        assert_eq!(waiting["approvals"], json!([]), "what quoted it is denied");
        // What has nothing to do with it is as it was.
        let read = setup.ada.tool(&setup.workspace, "read", json!({"path": "/other.txt"}));
        assert_eq!(read.json()["result"]["content"], other);
        let reply = everything_told(&setup, &file);
        let chats: Vec<_> = reply.iter().filter(|(route, _)| route.starts_with("read")).collect();
        let unrelated = ["nothing to do with it".to_owned()];
        assert!(
            chats.iter().any(|(_, bytes)| contains_any(bytes, &unrelated)),
            "{:?}",
            chats.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect::<Vec<_>>()
        );
        assert_eq!(find_texts(&server.data(), &parts), Vec::<String>::new(), "while it runs");
        let log = server.log().join("\n");
        assert!(!contains_any(log.as_bytes(), &parts), "the log");
        check_history(&server, &setup.workspace);
    }
    server.stop();
    assert_eq!(find_texts(&server.data(), &parts), Vec::<String>::new(), "after it stopped");
}

/// The chain is whole, and so is everything else.
fn check_history(server: &Server, workspace: &str) {
    let (root, state) = (
        server.data().join("workspaces").join(workspace),
        server.data().join("journals").join(workspace),
    );
    let child =
        yard_testkit::ChildWorkspace::open(&root, &state, yard_testkit::OpenOptions::default())
            .unwrap();
    child.verified();
}
