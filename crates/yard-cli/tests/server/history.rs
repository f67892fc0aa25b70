//! The history over HTTP: steps with filters, the tree and contents of then, comparisons, and the origin of lines.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

/// A person's workspace.
struct Work<'a> {
    ada: Someone<'a>,
    workspace: String,
    inside: String,
}

impl<'a> Work<'a> {
    fn new(server: &'a Server) -> Self {
        let ada = server.person();
        let workspace = ada.workspace();
        let inside = format!("/api/v1/workspaces/{workspace}");
        Self { ada, workspace, inside }
    }

    fn get(&self, path: &str) -> Value {
        self.ada.get(&format!("{}{path}", self.inside)).expect(200)
    }

    /// Calls a tool: the step that it made.
    fn step(&self, tool: &str, args: Value) -> String {
        self.ada.tool(&self.workspace, tool, args).expect(200);
        text(&self.get("/steps?limit=1")["steps"][0]["id"])
    }

    fn write(&self, path: &str, content: &str) -> String {
        self.step("write", json!({"path": path, "content": content, "overwrite": true}))
    }

    fn ids(&self, query: &str) -> Vec<String> {
        let listed = self.get(&format!("/steps?{query}"));
        listed["steps"].as_array().unwrap().iter().map(|step| text(&step["id"])).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

#[test]
fn steps_have_their_lines_their_chat_and_what_they_went_back_to() {
    let server = Server::start();
    let work = Work::new(&server);
    let chat = work.ada.post(&format!("{}/chats", work.inside), json!({"title": "t"})).expect(201);
    let chat = text(&chat["chat"]["id"]);
    let args = json!({"path": "/a.txt", "content": "1\n2\n"});
    let body = json!({"tool": "write", "args": args, "chat_id": chat});
    work.ada.post(&format!("{}/tools", work.inside), body).expect(200);
    let first = work.ids("limit=1").remove(0);
    let second = work.write("/a.txt", "1\ntwo\n3\n");
    let shown = &work.get(&format!("/steps/{second}"))["step"];
    assert_eq!((&shown["lines_added"], &shown["lines_removed"]), (&json!(2), &json!(1)));
    let route = format!("{}/steps/{first}/back-to", work.inside);
    work.ada.post(&route, json!({})).expect(200);
    let steps = work.get("/steps");
    let (back, made) = (&steps["steps"][0], &steps["steps"][2]);
    assert_eq!((&back["back_to"], &back["undoes"]), (&json!(first), &Value::Null));
    assert_eq!((&made["chat_id"], &made["lines_added"]), (&json!(chat), &json!(2)));
    assert_eq!(work.ids(&format!("chat={chat}")), [first]);
}

#[test]
fn steps_are_filtered_and_a_wrong_filter_says_what_to_send() {
    let server = Server::start();
    let work = Work::new(&server);
    let first = work.write("/src/a b.txt", "1\n");
    let second = work.write("/other.txt", "1\n");
    assert_eq!(work.ids("path=/src"), [first.as_str()]);
    assert_eq!(work.ids("path=/src/a%20b.txt&verb=write"), [first.as_str()]);
    assert_eq!(work.ids("path=/sr"), [""; 0]);
    assert_eq!(work.ids("verb=edit"), [""; 0]);
    let page = work.get("/steps?verb=write&limit=1");
    assert_eq!(page["steps"][0]["id"], json!(second));
    assert_eq!(work.ids(&format!("verb=write&cursor={}", text(&page["next"]))), [first.as_str()]);
    let actor = text(&page["steps"][0]["actor"]);
    assert_eq!(work.ids(&format!("actor={actor}")).len(), 2);
    for (query, name) in
        [("chat=none", "chat"), ("path=/../a", "path"), ("vreb=x", "vreb"), ("limit=0", "limit")]
    {
        let refused = work.ada.get(&format!("{}/steps?{query}", work.inside)).expect(400);
        assert!(refused["fields"].as_object().unwrap().contains_key(name), "{query}: {refused}");
    }
}

#[test]
fn the_tree_and_the_bytes_of_a_step_are_what_they_were() {
    let server = Server::start();
    let work = Work::new(&server);
    let first = work.write("/src/a.txt", "one\n");
    let second = work.write("/b.txt", "b\n");
    work.step("mv", json!({"source": "/src", "destination": "/lib"}));
    work.write("/lib/a.txt", "two\n");
    let names = |query: &str| -> Vec<String> {
        let tree = work.get(&format!("/steps/{second}/tree?{query}"));
        tree["entries"].as_array().unwrap().iter().map(|entry| text(&entry["path"])).collect()
    };
    assert_eq!(names(""), ["/src", "/b.txt"]);
    assert_eq!(names("path=/src"), ["/src/a.txt"]);
    let page = work.get(&format!("/steps/{second}/tree?limit=1"));
    let (folder, next) = (&page["entries"][0], text(&page["next"]));
    let expected = json!({"name": "src", "path": "/src", "kind": "folder", "file_id": folder["file_id"], "size": null, "hash": null});
    assert_eq!((folder, &page["step_id"], &page["path"]), (&expected, &json!(second), &json!("/")));
    assert_eq!(names(&format!("limit=1&cursor={next}")), ["/b.txt"]);

    let route = format!("{}/steps/{first}/content?path=/src/a.txt", work.inside);
    let bytes = work.ada.get(&route);
    assert_eq!((bytes.status, bytes.bytes.as_slice()), (200, &b"one\n"[..]));
    assert_eq!(bytes.header("x-content-type-options"), Some("nosniff"));
    assert!(bytes.header("content-disposition").unwrap().starts_with("attachment"));
    let part = work.ada.ask_with("GET", &route, &[("range", "bytes=1-2")], &Value::Null);
    assert_eq!((part.status, part.bytes.as_slice()), (206, &b"ne"[..]));
    let gone =
        work.ada.get(&format!("{}/steps/{first}/content?path=/b.txt", work.inside)).expect(404);
    assert!(gone["error"].as_str().unwrap().contains("list the tree"), "{gone}");
    for (path, status) in [
        ("tree?path=/b.txt", 400),
        ("tree?path=/none", 404),
        ("content?path=/src", 400),
        ("content", 400),
    ] {
        let answer = work.ada.get(&format!("{}/steps/{second}/{path}", work.inside));
        assert_eq!(answer.status, status, "{path}: {}", answer.json());
    }
}

#[test]
fn rules_of_now_hide_what_was() {
    let server = Server::start();
    let work = Work::new(&server);
    work.write("/secret/a.txt", "hidden\n");
    let then = work.write("/b.txt", "hidden later\n");
    work.step("mv", json!({"source": "/b.txt", "destination": "/secret/b.txt"}));
    let rules = json!({"rules": [
        {"effect": "read", "path": "/secret/**", "then": "deny"},
        {"effect": "list", "path": "/secret/**", "then": "deny"},
    ]});
    work.ada.ask("PUT", &format!("{}/policy", work.inside), &rules).expect(200);
    let agent = work.ada.agent(&work.workspace, "member");
    let tree = agent.get(&format!("{}/steps/{then}/tree", work.inside)).expect(200);
    let names: Vec<String> =
        tree["entries"].as_array().unwrap().iter().map(|entry| text(&entry["name"])).collect();
    assert!(!names.contains(&"b.txt".to_owned()), "{names:?}");
    for path in ["/b.txt", "/secret/a.txt"] {
        let answer = agent.get(&format!("{}/steps/{then}/content?path={path}", work.inside));
        assert!([403, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
    let compared = agent.get(&format!("{}/compare?from={then}", work.inside)).expect(200);
    assert!(!compared.to_string().contains("hidden"), "{compared}");
}

#[test]
fn two_steps_are_compared_both_ways_and_in_pages() {
    let server = Server::start();
    let work = Work::new(&server);
    let from = work.write("/a.txt", "one\n");
    work.step("mv", json!({"source": "/a.txt", "destination": "/b.txt"}));
    work.write("/b.txt", "two\n");
    let to = work.write("/c.txt", "c\n");
    let compared = work.get(&format!("/compare?from={from}"));
    assert_eq!((&compared["from"], &compared["to"]), (&json!(from), &json!(to)));
    let changes = compared["changes"].as_array().unwrap();
    let kinds: Vec<&Value> = changes.iter().map(|change| &change["summary"]).collect();
    assert_eq!(kinds, [&json!("moved"), &json!("created")]);
    assert!(text(&changes[0]["diff"]).contains("-one\n+two\n"), "{}", changes[0]);
    let back = work.get(&format!("/compare?from={to}&to={from}&path=/a.txt"));
    assert!(text(&back["changes"][0]["diff"]).contains("-two\n+one\n"), "{back}");

    let page = work.get(&format!("/compare?from={from}&limit=1"));
    work.write("/later.txt", "l\n");
    let rest = work.get(&format!("/compare?from={from}&limit=1&cursor={}", text(&page["next"])));
    assert_eq!((&rest["changes"][0]["to"], &rest["next"]), (&json!("/c.txt"), &Value::Null));
    for (query, name) in [("", "from"), ("?from=x", "from"), ("?from=x&to=y", "from")] {
        let refused = work.ada.get(&format!("{}/compare{query}", work.inside)).expect(400);
        assert!(refused["fields"].as_object().unwrap().contains_key(name), "{query}: {refused}");
    }
    let refused =
        work.ada.get(&format!("{}/compare?from={from}&cursor=x", work.inside)).expect(400);
    assert!(refused["fields"].as_object().unwrap().contains_key("cursor"), "{refused}");
}

#[test]
fn each_line_of_a_file_has_its_step() {
    let server = Server::start();
    let work = Work::new(&server);
    let first = work.write("/a.txt", "1\n2\n3\n");
    let edit = work.write("/a.txt", "1\ntwo\n3\n");
    let file = text(&work.get(&format!("/steps/{first}"))["step"]["changes"][0]["file_id"]);
    let blame = |query: &str| work.get(&format!("/files/{file}/blame{query}"));
    let found = blame("");
    let range = |first: u64, last: u64, step: &str| json!({"first_line": first, "last_line": last, "step_id": step});
    let expected = json!([range(1, 1, &first), range(2, 2, &edit), range(3, 3, &first)]);
    assert_eq!((&found["ranges"], &found["total_lines"]), (&expected, &json!(3)));
    assert_eq!((&found["file_id"], &found["path"]), (&json!(file), &json!("/a.txt")));
    let steps: Vec<&Value> =
        found["steps"].as_array().unwrap().iter().map(|step| &step["id"]).collect();
    assert_eq!(steps, [&json!(edit), &json!(first)]);
    assert_eq!(found["steps"][0]["lines_added"], 1);
    let page = blame("?limit=2");
    let rest = blame(&format!("?limit=2&cursor={}", text(&page["next"])));
    assert_eq!((&rest["ranges"][0], &rest["next"]), (&expected[2], &Value::Null));
    let versions = work.get(&format!("/files/{file}/versions"));
    let old = blame(&format!("?version={}", text(&versions["versions"][1]["id"])));
    assert_eq!(old["ranges"], json!([range(1, 3, &first)]));
    let query = format!("{}/files/{file}/blame?version=x", work.inside);
    let refused = work.ada.get(&query).expect(400);
    assert!(refused["fields"].as_object().unwrap().contains_key("version"), "{refused}");

    let eve = server.person();
    work.ada.invite(&work.workspace, &eve, "viewer");
    let paths = [
        format!("files/{file}/blame"),
        format!("compare?from={first}"),
        format!("steps/{first}/tree"),
        format!("steps/{first}/content?path=/a.txt"),
    ];
    for path in paths {
        assert_eq!(eve.get(&format!("{}/{path}", work.inside)).status, 200, "a viewer: {path}");
    }
}
