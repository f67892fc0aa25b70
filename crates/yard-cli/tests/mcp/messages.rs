//! What a person sends on the page of `toolyard ui` reaches the agent of a client on stdio, which is another process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;

use crate::client::{BOTH, Client, Setup, text, toolyard, wait_until};

/// A running `toolyard ui`, logged in.
struct Page {
    child: Child,
    address: String,
    token: String,
    agent: Agent,
}

impl Page {
    fn start(setup: &Setup) -> Self {
        let mut command = toolyard(setup.data.path());
        command.args(["ui", "--no-open", "--port", "0"]).stdin(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("The page: ").unwrap_or_else(|| panic!("{line}"));
        let (address, code) = address.split_once("/#code=").unwrap();
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build();
        let (address, token) = (address.to_owned(), String::new());
        let mut page = Self { child, address, token, agent: agent.into() };
        let login = page.post("/api/v1/auth/code", &json!({"code": code}));
        page.token = login["access_token"].as_str().unwrap().to_owned();
        page
    }

    fn get(&self, path: &str) -> Value {
        let request = self.agent.get(format!("{}{path}", self.address));
        let bearer = format!("Bearer {}", self.token);
        request.header("authorization", bearer).call().unwrap().body_mut().read_json().unwrap()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let mut request = self.agent.post(format!("{}{path}", self.address));
        if !self.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        request.send_json(body).unwrap().body_mut().read_json().unwrap()
    }

    /// Comments on the newest step, and sends that to the agent of the newest chat. The path of the chat's transcript.
    fn comment(&self, line: u64, comment: &str) -> String {
        let listed = self.get("/api/v1/workspaces");
        let base =
            format!("/api/v1/workspaces/{}", listed["workspaces"][0]["id"].as_str().unwrap());
        let steps = self.get(&format!("{base}/steps"));
        let step = steps["steps"][0]["id"].as_str().unwrap();
        let change = &self.get(&format!("{base}/steps/{step}"))["step"]["changes"][0];
        let body = json!({
            "step_id": step, "path": change["to"], "side": "new", "line": line,
            "content_hash": change["hash_after"], "text": comment,
        });
        let made = self.post(&format!("{base}/comments"), &body);
        assert_eq!(made["comment"]["text"], comment, "{made}");
        let chat = &self.get(&format!("{base}/chats"))["chats"][0];
        let sent = self.post(&format!("{base}/comments/send"), &json!({"chat_id": chat["id"]}));
        assert!(sent["message"]["number"].is_u64(), "{sent}");
        chat["path"].as_str().unwrap().to_owned()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How often a result has a text, in its blocks and in its data.
fn places(result: &Value, words: &str) -> (usize, usize) {
    let blocks = result["content"].as_array().unwrap().iter();
    let blocks = blocks.filter(|block| block["text"].as_str().unwrap().contains(words));
    let data = result["structuredContent"]["messages_from_person"].to_string();
    (blocks.count(), data.matches(words).count())
}

#[test]
fn what_a_person_sends_on_the_page_is_beside_the_next_result_once() {
    for wire in BOTH {
        let setup = Setup::new();
        let open = ["--toolset", "workspace", "--policy", "open"];
        let client = setup.speak(wire, &open, json!({}));
        client.text_of("write", json!({"path": "/a.txt", "content": "one\ntwo\n"}));
        let page = Page::start(&setup);
        page.comment(2, "Why two?");
        let read = |client: &Client| client.call("read", json!({"path": "/a.txt"}));
        let first = read(&client);
        assert_eq!(places(&first, "> two"), (1, 1), "{first}");
        let blocks = first["content"].as_array().unwrap();
        assert!(!blocks[0]["text"].as_str().unwrap().contains("Why two?"), "{first}");
        assert!(text(&first).contains("A person wrote this"), "{first}");
        assert_eq!(places(&read(&client), "Why two?"), (0, 0), "once");
        // A call that fails brings it, too, and a page that was closed has sent it all the same.
        page.comment(1, "And one?");
        drop(page);
        let failed = client.call("read", json!({"path": "/none"}));
        assert!(failed["isError"] == true && text(&failed).contains("And one?"), "{failed}");
        assert_eq!(places(&read(&client), "And one?"), (0, 0), "once");
    }
}

#[test]
fn a_client_is_told_once_that_there_is_a_message_which_comes_with_the_next_result() {
    let setup = Setup::new();
    let client = setup.connect(&["--toolset", "workspace", "--policy", "open"]);
    client.text_of("write", json!({"path": "/a.txt", "content": "one\n"}));
    let page = Page::start(&setup);
    page.comment(1, "Why?");
    let is_log = |message: &Value| message["method"] == "notifications/message";
    let told = client.next_message();
    assert!(is_log(&told), "{told}");
    assert_eq!(told["params"]["level"], "notice");
    assert!(told["params"]["data"]["number"].is_u64(), "{told}");
    assert!(!told.to_string().contains("Why?"), "it only says that there is one: {told}");
    let read = client.call("read", json!({"path": "/a.txt"}));
    assert_eq!(places(&read, "Why?"), (1, 1), "{read}");
    // Whoever wants warnings only gets no notice, and the message all the same.
    client.result("logging/setLevel", json!({"level": "warning"}));
    page.comment(1, "And now?");
    let uri = "toolyard://file/chats/MCP%3A%20test.chat";
    client.result("resources/subscribe", json!({"uri": uri}));
    page.comment(1, "And then?");
    wait_until("both are in the transcript's notifications", || {
        client.heed(client.next_message());
        let told = client.notifications.borrow();
        told.iter().any(|one| one["method"] == "notifications/resources/updated")
    });
    let told = client.notifications.borrow().iter().filter(|one| is_log(one)).count();
    assert_eq!(told, 0, "{:?}", client.notifications.borrow());
    let read = client.call("read", json!({"path": "/a.txt"}));
    assert!(text(&read).contains("And now?") && text(&read).contains("And then?"), "{read}");
}

#[test]
fn a_client_that_follows_the_chat_is_notified_of_a_message() {
    let setup = Setup::new();
    let client = setup.connect(&["--toolset", "workspace", "--policy", "open"]);
    client.text_of("write", json!({"path": "/a.txt", "content": "one\n"}));
    let uri = "toolyard://file/chats/MCP%3A%20test.chat";
    client.result("resources/subscribe", json!({"uri": uri}));
    let page = Page::start(&setup);
    assert_eq!(page.comment(1, "Why?"), "/chats/MCP: test.chat");
    wait_until("a notification", || {
        let message = client.next_message();
        let updated = message["method"] == "notifications/resources/updated";
        updated && message["params"]["uri"] == uri
    });
    let read = client.result("resources/read", json!({"uri": uri}));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("Why?"), "{read}");
}
