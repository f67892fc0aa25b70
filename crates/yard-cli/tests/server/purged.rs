//! Purged bytes are gone from everywhere: a canary that went through every tool and route is searched for
//! in every file of the data folder, in what the store unpacks, in the log, and through every route.

use serde_json::{Value, json};
use yard_core::ContentHash;
use yard_testkit::remains::{holds, remains};

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

struct Ground<'a> {
    ada: Someone<'a>,
    agent: Someone<'a>,
    workspace: String,
    base: String,
    /// The chat that calls belong to: its transcript keeps them.
    chat: String,
}

impl Ground<'_> {
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
fn spread(ground: &Ground<'_>, canary: &str) -> String {
    let lines: Vec<&str> = canary.lines().collect();
    let written = ground.write(canary, Some("the first write"));
    assert_eq!(written["success"], true, "{written}");
    let file = written["result"]["file_id"].as_str().unwrap().to_owned();
    ground.call("workspace", "read", json!({"path": "/secret.txt"}), Some("a read"));
    ground.call("workspace", "grep", json!({"pattern": &lines[3][..20]}), None);
    let edit = json!({"path": "/secret.txt", "insert_line": 1, "insert_content": lines[5]});
    ground.call("workspace", "edit", edit, None);
    let missing =
        json!({"path": "/secret.txt", "old_string": format!("x{}", lines[7]), "new_string": ""});
    ground.call("workspace", "edit", missing, None);
    ground.call("codex", "shell", json!({"command": "cat secret.txt; cat secret.txt >&2"}), None);
    // Requests of every state, and with other arguments than were asked for.
    ground.set_rules(json!([
        {"effect": "modify", "path": "secret.txt", "then": "ask"},
        {"effect": "create", "path": "copy.txt", "then": "ask"},
    ]));
    let asked = ground.write(&format!("approved\n{canary}"), None);
    ground.decide(&asked, json!({"decision": "approve"}));
    let asked = ground.write(&format!("denied\n{canary}"), None);
    ground.decide(&asked, json!({"decision": "deny", "reason": lines[9]}));
    let asked = ground.write("to be edited\n", None);
    let args =
        json!({"path": "/secret.txt", "content": format!("edited\n{canary}"), "overwrite": true});
    ground.decide(&asked, json!({"decision": "approve", "args": args}));
    ground.write(&format!("waits\n{canary}"), Some("one that waits"));
    ground.call("codex", "shell", json!({"command": "cp secret.txt copy.txt"}), None);
    // What people and agents say.
    let question = json!({"name": "q", "question": format!("Is it {}?", lines[11]), "schema": {"type": "string"}});
    ground.call("workspace", "ask_user", json!({"questions": [question]}), None);
    let message = json!({"role": "user", "content": format!("look: {}", lines[13])});
    ground
        .ada
        .post(&format!("{}/chats/{}/messages", ground.base, ground.chat), message)
        .expect(201);
    file
}

/// Every text that a person can get out of the workspace.
fn everything_told(ground: &Ground<'_>, file: &str) -> Vec<(String, Vec<u8>)> {
    let mut told = Vec::new();
    let mut get = |path: String| {
        let answer = ground.ada.get(&path);
        let json = serde_json::from_slice::<Value>(&answer.bytes).unwrap_or_default();
        told.push((path, answer.bytes));
        json
    };
    let base = &ground.base;
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
    let listed = ground.ada.tool(&ground.workspace, "ls", json!({"path": "/chats"})).json();
    for entry in listed["result"]["entries"].as_array().cloned().unwrap_or_default() {
        let read = ground.ada.tool(&ground.workspace, "read", json!({"path": entry["path"]}));
        told.push((format!("read {}", entry["path"]), read.bytes));
    }
    let events = format!(
        "GET {base}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nLast-Event-ID: 0\r\n\r\n",
        ground.ada.server.address, ground.ada.token
    );
    told.push((
        "events".to_owned(),
        ground.ada.server.raw_and_stay(events.as_bytes()).into_bytes(),
    ));
    told
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
        let ground = Ground { ada, agent, workspace, base, chat };
        let file = spread(&ground, &canary);
        let kept = json!({"path": "/other.txt", "content": other});
        assert_eq!(ground.call("workspace", "write", kept, None)["success"], true);
        assert!(!remains(&server.data(), &parts).is_empty(), "the search finds what is there");
        let told = everything_told(&ground, &file);
        assert!(told.iter().filter(|(_, bytes)| holds(bytes, &parts)).count() > 3);

        ground.set_rules(json!([]));
        let removed = ground.ada.tool(&ground.workspace, "rm", json!({"path": "/secret.txt"}));
        assert_eq!(removed.json()["success"], true);
        let purge = format!("{}/files/{file}/purge", ground.base);
        ground.ada.delete(&purge).expect(200);

        for (route, bytes) in everything_told(&ground, &file) {
            assert!(!holds(&bytes, &parts), "{route}: {}", String::from_utf8_lossy(&bytes));
        }
        for key in ["the first write", "a read", "one that waits"] {
            let again = match key {
                "a read" => {
                    ground.call("workspace", "read", json!({"path": "/secret.txt"}), Some(key))
                }
                "one that waits" => ground.write(&format!("waits\n{canary}"), Some(key)),
                _ => ground.write(&canary, Some(key)),
            };
            assert_eq!(again["code"], "CONFLICT", "{key}: {again}");
            assert!(!holds(again.to_string().as_bytes(), &parts), "{key}: {again}");
        }
        let waiting =
            ground.ada.get(&format!("{}/approvals?status=pending", ground.base)).expect(200);
        assert_eq!(waiting["approvals"], json!([]), "what quoted it is denied");
        // What has nothing to do with it is as it was.
        let read = ground.ada.tool(&ground.workspace, "read", json!({"path": "/other.txt"}));
        assert_eq!(read.json()["result"]["content"], other);
        let told = everything_told(&ground, &file);
        let chats: Vec<_> = told.iter().filter(|(route, _)| route.starts_with("read")).collect();
        let unrelated = ["nothing to do with it".to_owned()];
        assert!(
            chats.iter().any(|(_, bytes)| holds(bytes, &unrelated)),
            "{:?}",
            chats.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect::<Vec<_>>()
        );
        assert_eq!(remains(&server.data(), &parts), Vec::<String>::new(), "while it runs");
        let log = server.log().join("\n");
        assert!(!holds(log.as_bytes(), &parts), "the log");
        check_history(&server, &ground.workspace);
    }
    server.stop();
    assert_eq!(remains(&server.data(), &parts), Vec::<String>::new(), "after it stopped");
}

/// The chain is whole, and so is everything else.
fn check_history(server: &Server, workspace: &str) {
    let (root, state) = (
        server.data().join("workspaces").join(workspace),
        server.data().join("journals").join(workspace),
    );
    let hand =
        yard_testkit::probe::Hand::open(&root, &state, yard_testkit::Plan::default()).unwrap();
    hand.verified();
}
