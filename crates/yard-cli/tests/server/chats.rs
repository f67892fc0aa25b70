//! Chats over HTTP and MCP: files only where `/chats` is named (W18), shown to nobody who may not read what they
//! quote, renamed and deleted by people. `YARD_SOAK=1` makes ten times as many chats and calls.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

const WORD: &str = "needle_word";
const SECRET: &str = "canary-in-a-transcript";

/// A tool of any dialect, by the route for programs.
fn tool(someone: &Someone<'_>, base: &str, toolset: &str, tool: &str, args: &Value) -> String {
    let body = json!({"toolset": toolset, "tool": tool, "args": args, "wait_ms": 0});
    let answer = someone.post(&format!("{base}/tools"), body);
    String::from_utf8_lossy(&answer.bytes).into_owned()
}

/// The same over MCP.
fn mcp(someone: &Someone<'_>, workspace: &str, toolset: &str, tool: &str, args: &Value) -> String {
    let version = "2026-07-28";
    let params = json!({"name": tool, "arguments": args, "_meta": {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", version),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let path = format!("/mcp/{workspace}?toolset={toolset}");
    let answer = someone.ask_with("POST", &path, &headers, &body);
    let output = String::from_utf8_lossy(&answer.bytes).into_owned();
    assert_eq!(answer.status, 200, "{output}");
    output
}

/// Every way to search or list from above: the dialect, the tool by its two names, and its arguments.
fn searches() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    vec![
        ("workspace", "grep", "grep", json!({"pattern": WORD, "limit": 0})),
        ("workspace", "glob", "glob", json!({"pattern": "**/*"})),
        ("workspace", "find", "find", json!({"limit": 0})),
        ("workspace", "ls", "ls", json!({"recursive": true, "limit": 0})),
        ("file", "file.search", "file_search", json!({"pattern": WORD})),
        ("file", "file.list", "file_list", json!({"pattern": "**/*"})),
        ("coder", "glob", "glob", json!({"pattern": "**/*"})),
        ("coder", "ls", "ls", json!({"dirPath": ".", "recursive": true})),
        ("assistant", "list_directory", "list_directory", json!({"path": ".", "recursive": true})),
        ("assistant", "search_code", "search_code", json!({"query": WORD})),
        ("codex", "grep_files", "grep_files", json!({"pattern": WORD})),
        ("codex", "list_dir", "list_dir", json!({"path": ".", "depth": 9})),
        ("filesystem", "search_files", "search_files", json!({"path": "/", "pattern": "**/*"})),
        ("filesystem", "directory_tree", "directory_tree", json!({"path": "/"})),
    ]
}

#[test]
fn w18_after_many_calls_in_many_chats_every_search_returns_sources() {
    let (chats, calls) =
        if std::env::var_os("YARD_SOAK").is_some() { (100, 200) } else { (10, 20) };
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    for path in ["/src/main.rs", "/src/deep/parser.rs", "/docs/notes.md"] {
        let content = format!("first line\nfn {WORD}() {{}}\n");
        ada.tool(&workspace, "write", json!({"path": path, "content": content})).expect(200);
    }
    let agent = ada.agent(&workspace, "member");
    for number in 0..chats {
        let title = format!("Work on {WORD} {number}");
        let made = ada.post(&format!("{base}/chats"), json!({"title": title})).expect(201);
        let chat = made["chat"]["id"].as_str().unwrap();
        for call in 0..calls / chats {
            let path = format!("/src/note_{number}.txt");
            let args = json!({"path": path, "content": format!("{WORD} {number}.{call}\n"), "overwrite": true});
            let body = json!({"tool": "write", "args": args, "chat_id": chat});
            agent.post(&format!("{base}/tools"), body).expect(200);
        }
    }
    for (toolset, name, function, args) in searches() {
        for output in [
            tool(&agent, &base, toolset, name, &args),
            mcp(&agent, &workspace, toolset, function, &args),
        ] {
            assert!(output.contains("parser.rs"), "{toolset}.{name}: {output}");
            assert!(
                !output.contains("chats") && !output.contains(".chat"),
                "{toolset}.{name}: {output}"
            );
        }
    }
    let root = ada.tool(&workspace, "ls", json!({})).expect(200);
    assert_eq!(root["result"]["total"], 3, "the folder of chats, whatever their number: {root}");
    let named = ada.tool(&workspace, "ls", json!({"path": "/chats", "limit": 0})).expect(200);
    assert_eq!(named["result"]["total"], chats, "{named}");
    let globbed = json!({"pattern": "/chats/*.chat"});
    let globbed = ada.tool(&workspace, "glob", globbed).expect(200);
    assert_eq!(globbed["result"]["matches"].as_array().unwrap().len(), chats, "{globbed}");
}

#[test]
fn w18_a_chat_shows_no_caller_what_it_may_not_read() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let agent = ada.agent(&workspace, "member");
    let made = ada.post(&format!("{base}/chats"), json!({"title": "Work"})).expect(201);
    let chat = made["chat"]["id"].as_str().unwrap();
    let in_chat = |tool: &str, args: Value| {
        let body = json!({"tool": tool, "args": args, "chat_id": chat});
        agent.post(&format!("{base}/tools"), body).expect(200)
    };
    in_chat("write", json!({"path": "/secrets/k.txt", "content": format!("{SECRET}\n")}));
    in_chat("write", json!({"path": "/plain.txt", "content": "plain words\n"}));
    in_chat("read", json!({"path": "/secrets/k.txt"}));
    in_chat("grep", json!({"pattern": "canary"}));
    let before = ada.tool(&workspace, "read", json!({"path": "/chats/Work.chat"})).expect(200);
    assert!(before.to_string().contains(SECRET), "{before}");
    let rules = json!({"rules": [{"effect": "read", "path": "secrets/**", "then": "deny"}]});
    ada.ask("PUT", &format!("{base}/policy"), &rules).expect(200);
    // A member with fewer rights, another agent, and the agent itself.
    let (bob, other) = (server.person(), ada.agent(&workspace, "viewer"));
    ada.invite(&workspace, &bob, "viewer");
    for reader in [&bob, &other, &agent] {
        for (toolset, name, args) in [
            ("workspace", "read", json!({"path": "/chats/Work.chat"})),
            ("workspace", "cat", json!({"paths": ["/chats/Work.chat"]})),
            ("workspace", "read_multiple_files", json!({"paths": ["/chats/Work.chat"]})),
            ("workspace", "grep", json!({"pattern": ".", "path": "/chats", "limit": 0})),
            ("file", "file.read", json!({"path": "chats/Work.chat"})),
            ("file", "file.search", json!({"pattern": ".", "path": "chats"})),
            ("coder", "read", json!({"filePath": "chats/Work.chat"})),
            ("assistant", "read_file", json!({"path": "chats/Work.chat"})),
            ("codex", "read_file", json!({"path": "chats/Work.chat"})),
            ("codex", "grep_files", json!({"pattern": ".", "path": "chats"})),
            ("filesystem", "read_text_file", json!({"path": "/chats/Work.chat"})),
        ] {
            // A person reads with the tools of `workspace`; keys may use all of them.
            let output = tool(reader, &base, toolset, name, &args);
            assert!(!output.contains(SECRET), "{toolset}.{name}: {output}");
        }
        let read = reader.tool(&workspace, "read", json!({"path": "/chats/Work.chat"})).expect(200);
        assert!(read.to_string().contains("plain words"), "{read}");
        let turns = reader.get(&format!("{base}/chats/{chat}")).expect(200);
        assert!(!turns.to_string().contains(SECRET), "{turns}");
    }
}

#[test]
fn r14_a_run_of_a_key_that_names_no_chat_is_a_chat_of_the_key() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let (agent, other) = (ada.agent(&workspace, "member"), ada.agent(&workspace, "member"));
    let chats = || ada.get(&format!("{base}/chats")).expect(200)["chats"].clone();
    ada.tool(&workspace, "write", json!({"path": "/mine.txt", "content": "a"})).expect(200);
    agent.tool(&workspace, "ls", json!({})).expect(200);
    assert_eq!(chats(), json!([]), "neither a person's call nor one that only looks makes one");

    agent.tool(&workspace, "write", json!({"path": "/a.txt", "content": "one\n"})).expect(200);
    let made = chats();
    let chat = &made[0];
    assert_eq!((made.as_array().unwrap().len(), &chat["mode"]), (1, &json!("build")), "{made}");
    let args = json!({"path": "/b.txt", "content": "two\n"});
    mcp(&agent, &workspace, "filesystem", "write_file", &args);
    agent.tool(&workspace, "read", json!({"path": "/a.txt"})).expect(200);
    let edit = json!({"path": "/a.txt", "old_string": "missing", "new_string": "x"});
    agent.tool(&workspace, "edit", edit).expect(400);
    other.tool(&workspace, "rm", json!({"path": "/missing.txt"})).expect(404);

    let one = format!("{base}/chats/{}", chat["id"].as_str().unwrap());
    let turns = ada.get(&one).expect(200)["messages"].clone();
    let calls: Vec<_> = turns.as_array().unwrap().iter().map(|turn| &turn["data"]).collect();
    let shown: Vec<_> = calls.iter().map(|call| (&call["tool"], &call["ok"])).collect();
    let [write, file, edit] = ["workspace.write", "filesystem.write_file", "workspace.edit"];
    let expected =
        [(json!(write), json!(true)), (json!(file), json!(true)), (json!(edit), json!(false))];
    assert_eq!(shown, expected.iter().map(|(tool, ok)| (tool, ok)).collect::<Vec<_>>(), "{turns}");
    let steps = ada.get(&format!("{base}/steps")).expect(200)["steps"].clone();
    let of_chat = steps.as_array().unwrap().iter().filter(|step| step["chat_id"] == chat["id"]);
    assert_eq!(of_chat.count(), 2, "{steps}");
    let makers: Vec<_> =
        chats().as_array().unwrap().iter().map(|one| one["made_by"].clone()).collect();
    assert_eq!(makers.len(), 2, "{makers:?}");
    assert_ne!(makers[0], makers[1], "each key has its own");

    // A chat that was deleted is made again.
    assert_eq!(ada.delete(&one).status, 204);
    agent.tool(&workspace, "write", json!({"path": "/c.txt", "content": "three\n"})).expect(200);
    assert_eq!(chats().as_array().unwrap().len(), 2);
    let viewer = ada.agent(&workspace, "viewer");
    viewer.tool(&workspace, "write", json!({"path": "/d.txt", "content": "no"})).expect(403);
    assert_eq!(chats().as_array().unwrap().len(), 2, "who may change nothing has no chat");
}

#[test]
fn w18_people_rename_and_delete_chats() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let agent = ada.agent(&workspace, "member");
    let made = ada.post(&format!("{base}/chats"), json!({"title": "Old"})).expect(201);
    let chat = made["chat"]["id"].as_str().unwrap().to_owned();
    let one = format!("{base}/chats/{chat}");
    let write =
        json!({"tool": "write", "args": {"path": "/a.txt", "content": "a"}, "chat_id": chat});
    agent.post(&format!("{base}/tools"), write).expect(200);
    agent.ask("PATCH", &one, &json!({"title": "Mine"})).expect(403);
    agent.delete(&one).expect(403);
    ada.ask("PATCH", &one, &json!({})).expect(400);
    ada.ask("PATCH", &one, &json!({"title": " "})).expect(400);
    let renamed = ada.ask("PATCH", &one, &json!({"title": "A longer title"})).expect(200);
    assert_eq!(renamed["chat"]["title"], "A longer title");
    assert_eq!(renamed["chat"]["path"], "/chats/Old.chat", "the name is fixed once made");
    let info = ada.tool(&workspace, "file_info", json!({"path": "/chats/Old.chat"})).expect(200);
    let read = ada.tool(&workspace, "read", json!({"path": "/chats/Old.chat"})).expect(200);
    let text = read["result"]["content"].as_str().unwrap();
    assert!(text.starts_with("# A longer title\n"), "{text}");
    assert_eq!(info["result"]["size"], text.len(), "{info}");
    // What waits is decided first.
    let remove = json!({"tool": "rm", "args": {"path": "/b.txt"}, "chat_id": chat, "wait_ms": 0});
    ada.tool(&workspace, "write", json!({"path": "/b.txt", "content": "b"})).expect(200);
    let asked = agent.post(&format!("{base}/tools"), remove).expect(202);
    let approval = asked["result"]["approval_id"].as_str().unwrap();
    ada.delete(&one).expect(409);
    ada.decide(&format!("{base}/approvals/{approval}"), json!({"decision": "deny"})).expect(200);
    assert_eq!(ada.delete(&one).status, 204);
    ada.get(&one).expect(404);
    ada.delete(&one).expect(404);
    ada.tool(&workspace, "read", json!({"path": "/chats/Old.chat"})).expect(404);
    let steps = ada.get(&format!("{base}/steps")).expect(200);
    assert!(steps.to_string().contains("/a.txt"), "the history stays: {steps}");
    let again = ada.post(&format!("{base}/chats"), json!({"title": "Old"})).expect(201);
    assert_eq!(again["chat"]["path"], "/chats/Old.chat");
    let turns = ada.get(&format!("{base}/chats/{}", again["chat"]["id"].as_str().unwrap()));
    assert_eq!(turns.expect(200)["messages"], json!([]));
}

#[test]
fn w2_a_display_name_is_set_by_the_files_api_and_the_path_stays() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let made = json!({"path": "/docs/q3.md", "content": "x"});
    let made = ada.tool(&workspace, "write", made).expect(200);
    let file = made["result"]["file_id"].as_str().unwrap().to_owned();
    let one = format!("{base}/files/{file}");
    assert_eq!(ada.get(&one).expect(200)["file"]["display_name"], "q3.md");
    let named = ada.ask("PATCH", &one, &json!({"display_name": "Third quarter"})).expect(200);
    assert_eq!(named["file"]["display_name"], "Third quarter");
    assert_eq!(named["file"]["path"], "/docs/q3.md");
    for wrong in ["", "two\nlines", &"x".repeat(201)] {
        ada.ask("PATCH", &one, &json!({"display_name": wrong})).expect(400);
    }
    let viewer = ada.agent(&workspace, "viewer");
    viewer.ask("PATCH", &one, &json!({"display_name": "Mine"})).expect(403);
    let absent = format!("{base}/files/01a1efcd-6069-7195-b40b-909aa5ddd527");
    ada.ask("PATCH", &absent, &json!({"display_name": "x"})).expect(404);
    let moved = json!({"source": "/docs/q3.md", "destination": "/docs/q4.md"});
    ada.tool(&workspace, "mv", moved).expect(200);
    let listed = ada.tool(&workspace, "ls", json!({"path": "/docs"})).expect(200);
    let entry = &listed["result"]["entries"][0];
    assert_eq!(
        (&entry["name"], &entry["display_name"]),
        (&json!("q4.md"), &json!("Third quarter"))
    );
    let found = ada.tool(&workspace, "find", json!({"name": "q4.md"})).expect(200);
    assert_eq!(found["result"]["matches"][0]["display_name"], "Third quarter");
    ada.ask("PATCH", &one, &json!({"display_name": null})).expect(200);
    let listed = ada.tool(&workspace, "ls", json!({"path": "/docs"})).expect(200);
    assert_eq!(listed["result"]["entries"][0]["display_name"], "q4.md");
}

#[test]
fn w15_a_question_says_where_its_answer_will_be_and_its_event_carries_it() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let agent = ada.agent(&workspace, "member");
    let question = json!({"questions": [{
        "name": "colour", "question": "Which colour?", "schema": {"type": "string"},
    }]});
    let asked = agent.tool(&workspace, "ask_user", question).json();
    let (id, message) = (&asked["result"]["question_id"], &asked["result"]["message"]);
    assert_eq!(asked["result"]["status"], "question_pending", "{asked}");
    let (id, message) = (id.as_str().unwrap(), message.as_str().unwrap());
    assert!(message.contains(&format!("/questions/{id}")), "{message}");
    let stream = |someone: &Someone<'_>| {
        server.raw_and_stay(
            format!(
                "GET {base}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nLast-Event-ID: 0\r\n\r\n",
                server.address, someone.token
            )
            .as_bytes(),
        )
    };
    assert!(stream(&ada).contains("Which colour?"), "{}", stream(&ada));
    // Another agent is not shown what it may not read.
    let other = stream(&ada.agent(&workspace, "member"));
    assert!(other.contains("question.asked") && !other.contains("Which colour?"), "{other}");
    let answer = json!({"answers": {"colour": "green"}, "via": "text"});
    ada.post(&format!("{base}/questions/{id}/answer"), answer).expect(200);
    // The transcript that the message names has the answer.
    let at = message.find("/chats/").unwrap();
    let end = message[at..].find(".chat").unwrap() + at + ".chat".len();
    let read = agent.tool(&workspace, "read", json!({"path": &message[at..end]})).expect(200);
    let text = read["result"]["content"].as_str().unwrap();
    assert!(text.contains(&format!("answer to {id}")) && text.contains("green"), "{text}");
}
