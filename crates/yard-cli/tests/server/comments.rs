//! Comments on diffs: a person's own until they are sent, and then one message that the agent gets once.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

/// A workspace with an agent that has changed a file in a chat of its own.
pub(crate) struct Review<'a> {
    pub(crate) ada: Someone<'a>,
    pub(crate) agent: Someone<'a>,
    pub(crate) base: String,
    pub(crate) workspace: String,
    pub(crate) chat: String,
    step: String,
    hash: String,
}

impl<'a> Review<'a> {
    pub(crate) fn begin(server: &'a Server) -> Self {
        let ada = server.person();
        let workspace = ada.workspace();
        let agent = ada.agent(&workspace, "member");
        let base = format!("/api/v1/workspaces/{workspace}");
        let made = ada.post(&format!("{base}/chats"), json!({"title": "Review"})).expect(201);
        let chat = text(&made["chat"]["id"]);
        let args = json!({"path": "/src/a.rs", "content": "one\ntwo\nthree\n"});
        let write = json!({"tool": "write", "args": args, "chat_id": chat});
        let hash = text(&agent.post(&format!("{base}/tools"), write).expect(200)["result"]["hash"]);
        let steps = ada.get(&format!("{base}/steps")).expect(200);
        let step = text(&steps["steps"][0]["id"]);
        Self { ada, agent, base, workspace, chat, step, hash }
    }

    fn comment(&self, line: u64, text: &str) -> Value {
        json!({
            "step_id": self.step, "path": "/src/a.rs", "side": "new", "line": line,
            "content_hash": self.hash, "text": text,
        })
    }

    /// Ada comments; the id.
    pub(crate) fn add(&self, line: u64, comment: &str) -> String {
        let body = self.comment(line, comment);
        let made = self.ada.post(&format!("{}/comments", self.base), body).expect(201);
        text(&made["comment"]["id"])
    }

    pub(crate) fn send(&self) -> Value {
        let body = json!({"chat_id": self.chat});
        self.ada.post(&format!("{}/comments/send", self.base), body).expect(201)
    }

    /// The agent's next call in the chat, with a tool that only reads.
    fn call(&self) -> Value {
        let body = json!({"tool": "read", "args": {"path": "/src/a.rs"}, "chat_id": self.chat});
        self.agent.post(&format!("{}/tools", self.base), body).expect(200)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// What the messages of an answer say.
fn messages(answer: &Value) -> Vec<String> {
    let messages = answer["messages_from_person"]["messages"].as_array().into_iter().flatten();
    messages.map(|message| text(&message["content"])).collect()
}

#[test]
fn comments_become_one_message_that_the_agent_gets_once() {
    let server = Server::start();
    let review = Review::begin(&server);
    review.add(2, "Why two?");
    review.add(3, "And three.");
    assert!(messages(&review.call()).is_empty(), "nothing was sent yet");
    let sent = review.send();
    assert_eq!(sent["message"]["chat_id"], review.chat.as_str());
    let listed = review.ada.get(&format!("{}/comments", review.base)).expect(200);
    assert_eq!(listed["comments"], json!([]));

    let answer = review.call();
    assert_eq!(
        answer["result"]["content"], "one\ntwo\nthree\n",
        "the tool's own answer is as ever"
    );
    let got = messages(&answer);
    assert_eq!(got.len(), 1);
    let expected = format!(
        "Comments on your changes:\n\nsrc/a.rs, line 2 (step {step}):\n> two\nWhy two?\n\n\
         src/a.rs, line 3 (step {step}):\n> three\nAnd three.\n",
        step = review.step
    );
    assert_eq!(got[0], expected);
    let about = text(&answer["messages_from_person"]["about"]);
    assert!(about.contains("person") && about.contains("no output of the tool"), "{about}");
    assert!(messages(&review.call()).is_empty(), "once");
    // The chat keeps it.
    let chat = review.ada.get(&format!("{}/chats/{}", review.base, review.chat)).expect(200);
    let turns = chat["messages"].as_array().unwrap();
    let message = turns.iter().find(|turn| turn["number"] == sent["message"]["number"]).unwrap();
    assert_eq!((&message["kind"], &message["data"]["role"]), (&json!("message"), &json!("user")));
    assert!(text(&message["data"]["content"]).contains("> two\nWhy two?"), "{message}");
}

#[test]
fn a_message_waits_for_the_agent_of_its_chat_and_survives_a_crash() {
    let mut server = Server::start();
    let (key, person, base, chat) = {
        let review = Review::begin(&server);
        review.add(1, "First.");
        review.send();
        // Neither another agent, nor another chat, nor the person who sent it gets it.
        let another = review.ada.agent(&review.workspace, "member");
        let read = json!({"tool": "read", "args": {"path": "/src/a.rs"}});
        let path = format!("{}/tools", review.base);
        for caller in [&another, &review.agent, &review.ada] {
            assert!(messages(&caller.post(&path, read.clone()).expect(200)).is_empty());
        }
        let mut in_chat = read;
        in_chat["chat_id"] = review.chat.as_str().into();
        assert!(messages(&review.ada.post(&path, in_chat).expect(200)).is_empty(), "a person");
        let Review { agent, ada, base, chat, .. } = review;
        (agent.token, ada.token, base, chat)
    };
    server.crash_and_restart();
    let (agent, ada) = (server.holder(&key), server.holder(&person));
    let read = json!({"tool": "read", "args": {"path": "/src/a.rs"}, "chat_id": chat});
    let read = || agent.post(&format!("{base}/tools"), read.clone()).expect(200);
    assert_eq!(messages(&read()).len(), 1);
    drop((agent.clone(), ada));
    let key = agent.token.clone();
    server.crash_and_restart();
    let agent = server.holder(&key);
    let read = json!({"tool": "read", "args": {"path": "/src/a.rs"}, "chat_id": chat});
    assert!(messages(&agent.post(&format!("{base}/tools"), read).expect(200)).is_empty(), "once");
}

#[test]
fn of_many_calls_at_once_one_has_the_message() {
    let server = Server::start();
    let review = Review::begin(&server);
    review.add(1, "First.");
    review.send();
    let got: usize = std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..8).map(|_| scope.spawn(|| messages(&review.call()).len())).collect();
        calls.into_iter().map(|call| call.join().unwrap()).sum()
    });
    assert_eq!(got, 1);
}

#[test]
fn a_failed_call_and_one_that_waits_have_the_message_too() {
    let server = Server::start();
    let review = Review::begin(&server);
    let path = format!("{}/tools", review.base);
    review.add(1, "First.");
    review.send();
    let body = json!({"tool": "read", "args": {"path": "/none"}, "chat_id": review.chat});
    let failed = review.agent.post(&path, body).expect(404);
    assert_eq!((&failed["success"], messages(&failed).len()), (&json!(false), 1));

    let rules = json!({"rules": [{"effect": "modify", "then": "ask"}]});
    review.ada.ask("PUT", &format!("{}/policy", review.base), &rules).expect(200);
    review.add(2, "Second.");
    review.send();
    let args = json!({"path": "/src/a.rs", "content": "new\n", "overwrite": true});
    let body = json!({"tool": "write", "args": args, "chat_id": review.chat, "wait_ms": 0});
    let waits = review.agent.post(&path, body).expect(202);
    assert_eq!(waits["result"]["status"], "approval_pending");
    assert!(messages(&waits)[0].contains("Second."), "{waits}");
}

#[test]
fn over_mcp_the_message_is_beside_the_result_for_every_kind_of_client() {
    let server = Server::start();
    let review = Review::begin(&server);
    // The key speaks in this chat.
    let key =
        json!({"name": "k", "role": "member", "toolsets": ["workspace"], "chat_id": review.chat});
    let key = review.ada.post(&format!("{}/keys", review.base), key).expect(201);
    let agent = server.holder(key["key"].as_str().unwrap());
    review.add(2, "Why two?");
    review.send();
    let first = mcp_call(&agent, &review.workspace, "read", json!({"path": "/src/a.rs"}));
    let blocks = first["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 2, "{first}");
    assert!(!text(&blocks[0]["text"]).contains("Why two?"), "the tool's own text is as ever");
    let message = text(&blocks[1]["text"]);
    assert!(message.starts_with("A person wrote this"), "{message}");
    assert!(
        message.contains("src/a.rs, line 2") && message.contains("> two\nWhy two?"),
        "{message}"
    );
    // Some clients show their model the data alone.
    let data = &first["structuredContent"];
    assert_eq!(data["content"], "one\ntwo\nthree\n");
    assert!(messages(data)[0].contains("Why two?"), "{first}");
    let second = mcp_call(&agent, &review.workspace, "read", json!({"path": "/none"}));
    assert_eq!(second["content"].as_array().unwrap().len(), 1, "once: {second}");
}

/// The result of a call over MCP, by the newest revision.
fn mcp_call(someone: &Someone<'_>, workspace: &str, tool: &str, args: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": args, "_meta": meta});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let path = format!("/mcp/{workspace}?toolset=workspace");
    let answer = someone.ask_with("POST", &path, &headers, &body);
    let sent = String::from_utf8(answer.bytes).unwrap();
    let data = sent.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&sent);
    let message: Value = serde_json::from_str(data).unwrap_or_else(|_| panic!("{sent}"));
    message["result"].clone()
}

#[test]
fn comments_are_their_authors_alone_and_are_edited_and_deleted() {
    let server = Server::start();
    let review = Review::begin(&server);
    let Review { ada, base, .. } = &review;
    let bob = server.person();
    ada.invite(&review.workspace, &bob, "member");
    let (one, two) = (review.add(1, "One."), review.add(2, "Two."));
    let path = |id: &str| format!("{base}/comments/{id}");
    let edited = ada.ask("PATCH", &path(&one), &json!({"text": "First."})).expect(200);
    assert_eq!(edited["comment"]["text"], "First.");
    for (method, body) in [("PATCH", json!({"text": "stolen"})), ("DELETE", Value::Null)] {
        bob.ask(method, &path(&one), &body).expect(404);
    }
    assert_eq!(bob.get(&format!("{base}/comments")).expect(200)["comments"], json!([]));
    let theft = json!({"chat_id": review.chat, "comment_ids": [one]});
    bob.post(&format!("{base}/comments/send"), theft).expect(404);
    ada.delete(&path(&two)).expect(204);
    ada.delete(&path(&two)).expect(404);
    let three = review.add(3, "Three.");
    let page = ada.get(&format!("{base}/comments?limit=1&step_id={}", review.step)).expect(200);
    assert_eq!(page["comments"][0], edited["comment"]);
    let rest = format!("{base}/comments?cursor={}", text(&page["next"]));
    let rest = ada.get(&rest).expect(200);
    assert_eq!((&rest["comments"][0]["id"], &rest["next"]), (&json!(three), &Value::Null));

    // Some of them are sent, the others stay.
    let some = json!({"chat_id": review.chat, "comment_ids": [three]});
    ada.post(&format!("{base}/comments/send"), some.clone()).expect(201);
    ada.post(&format!("{base}/comments/send"), some).expect(404);
    let left = ada.get(&format!("{base}/comments")).expect(200);
    assert_eq!(left["comments"].as_array().unwrap().len(), 1, "{left}");
    // Agents and viewers comment on nothing.
    review.agent.post(&format!("{base}/comments"), review.comment(1, "x")).expect(403);
    let eve = server.person();
    ada.invite(&review.workspace, &eve, "viewer");
    eve.post(&format!("{base}/comments"), review.comment(1, "x")).expect(403);
}

#[test]
fn what_a_comment_is_about_has_to_be_there() {
    let server = Server::start();
    let review = Review::begin(&server);
    let (ada, path) = (&review.ada, format!("{}/comments", review.base));
    let refused = |name: &str, value: Value, status: u16| {
        let mut body = review.comment(1, "x");
        body[name] = value;
        let answer = ada.post(&path, body).expect(status);
        text(&answer["error"]) + &answer["fields"].to_string()
    };
    let unknown = "01a1ded5-dd8a-77da-afc2-e0984d8b1839";
    refused("step_id", unknown.into(), 404);
    refused("step_id", Value::Null, 400);
    refused("approval_id", unknown.into(), 400);
    assert!(refused("path", "/src/b.rs".into(), 400).contains("send path and hash as the step"));
    refused("content_hash", "0".repeat(64).into(), 400);
    refused("content_hash", "nonsense".into(), 400);
    refused("side", "old".into(), 400);
    refused("side", "left".into(), 400);
    refused("line", 0.into(), 400);
    refused("text", " ".into(), 400);
    refused("text", "x".repeat(8_193).into(), 400);
    // Nothing to send, and too much at once.
    let send = json!({"chat_id": review.chat});
    ada.post(&format!("{path}/send"), send.clone()).expect(400);
    for _ in 0..9 {
        review.add(1, &"x".repeat(8_000));
    }
    let refused = ada.post(&format!("{path}/send"), send).expect(400);
    assert!(refused["fields"].to_string().contains("send fewer of them"), "{refused}");
    ada.post(&format!("{path}/send"), json!({"chat_id": unknown})).expect(404);
}

#[test]
fn a_request_is_commented_on_where_its_diff_has_the_line() {
    let server = Server::start();
    let review = Review::begin(&server);
    let Review { ada, agent, base, chat, .. } = &review;
    let rules = json!({"rules": [{"effect": "modify", "then": "ask"}]});
    ada.ask("PUT", &format!("{base}/policy"), &rules).expect(200);
    let args = json!({"path": "/src/a.rs", "old_string": "two", "new_string": "2"});
    let body = json!({"tool": "edit", "args": args, "chat_id": chat, "wait_ms": 0});
    let asked = agent.post(&format!("{base}/tools"), body).expect(202);
    let approval = text(&asked["result"]["approval_id"]);
    let comment = |side: &str, line: u64| {
        let body = json!({
            "approval_id": approval, "path": "/src/a.rs", "side": side, "line": line,
            "content_hash": review.hash, "text": "Hm.",
        });
        ada.post(&format!("{base}/comments"), body)
    };
    comment("old", 2).expect(201);
    comment("new", 2).expect(201);
    comment("new", 9).expect(400);
    let of = format!("{base}/comments?approval_id={approval}");
    assert_eq!(ada.get(&of).expect(200)["comments"].as_array().unwrap().len(), 2);
    review.send();
    let got = messages(&review.call());
    let expected = format!(
        "Comments on your changes:\n\n\
         src/a.rs, line 2 before the change (request {approval}):\n> two\nHm.\n\n\
         src/a.rs, line 2 (request {approval}):\n> 2\nHm.\n"
    );
    assert_eq!(got, [expected]);
}

#[test]
fn b10_an_agent_gets_no_line_of_a_file_that_it_may_not_read() {
    let server = Server::start();
    let review = Review::begin(&server);
    review.add(2, "Why two?");
    review.send();
    let rules = json!({"rules": [{"effect": "read", "path": "/src/**", "then": "deny"}]});
    review.ada.ask("PUT", &format!("{}/policy", review.base), &rules).expect(200);
    let body = json!({"tool": "ls", "args": {}, "chat_id": review.chat});
    let answer = review.agent.post(&format!("{}/tools", review.base), body).expect(200);
    let got = messages(&answer);
    assert!(got[0].contains("line 2") && got[0].contains("Why two?"), "{got:?}");
    assert!(!got[0].contains("> two"), "{got:?}");
}
