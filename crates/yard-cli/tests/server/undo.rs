//! Undo, redo and back-to over HTTP: each with a preview, of all or of some files.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

/// Steps of a person in a workspace.
struct Work<'a> {
    ada: Someone<'a>,
    workspace: String,
    base: String,
}

impl<'a> Work<'a> {
    fn new(server: &'a Server) -> Self {
        let ada = server.person();
        let workspace = ada.workspace();
        let base = format!("/api/v1/workspaces/{workspace}/steps");
        Self { ada, workspace, base }
    }

    fn step(&self, tool: &str, args: Value) -> String {
        self.ada.tool(&self.workspace, tool, args).expect(200);
        let newest = self.ada.get(&format!("{}?limit=1", self.base)).expect(200);
        newest["steps"][0]["id"].as_str().unwrap().to_owned()
    }

    fn write(&self, path: &str, content: &str) -> String {
        self.step("write", json!({"path": path, "content": content, "overwrite": true}))
    }

    fn text(&self, path: &str) -> String {
        let read = self.ada.tool(&self.workspace, "read", json!({"path": path})).expect(200);
        read["result"]["content"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned()
    }

    fn route(&self, step: &str, way: &str) -> String {
        format!("{}/{step}/{way}", self.base)
    }

    fn preview(&self, step: &str, way: &str, paths: Value) -> Value {
        let body = json!({"preview": true, "paths": paths});
        let mut answer = self.ada.post(&self.route(step, way), body).expect(200);
        answer["preview"].take()
    }
}

#[test]
fn a_preview_is_shown_then_done_then_redone() {
    let server = Server::start();
    let work = Work::new(&server);
    work.write("/a.txt", "one\n");
    let edit = work.write("/a.txt", "two\n");
    let shown = work.preview(&edit, "undo", json!([]));
    assert_eq!(shown["conflicts"], json!([]));
    assert!(shown["changes"][0]["diff"].as_str().unwrap().contains("-two\n+one\n"), "{shown}");
    assert_eq!(work.text("/a.txt"), "two\n", "a preview changes nothing");

    let body = json!({"state_hash": shown["state_hash"]});
    let done = work.ada.post(&work.route(&edit, "undo"), body).expect(200);
    assert_eq!((&done["undoes"], &done["paths"]), (&json!(edit), &json!(["/a.txt"])));
    assert_eq!(work.text("/a.txt"), "one\n");

    let shown = work.preview(&edit, "redo", json!([]));
    assert!(shown["changes"][0]["diff"].as_str().unwrap().contains("-one\n+two\n"), "{shown}");
    let redone = work.ada.post(&work.route(&edit, "redo"), Value::Null).expect(200);
    assert_eq!(redone["undoes"], done["step_id"]);
    assert_eq!(work.text("/a.txt"), "two\n");
    let again = work.ada.post(&work.route(&edit, "redo"), Value::Null).expect(409);
    assert!(again["error"].as_str().unwrap().contains("not undone"), "{again}");
}

#[test]
fn what_changed_since_the_preview_is_not_done() {
    let server = Server::start();
    let work = Work::new(&server);
    let first = work.write("/a.txt", "one\n");
    work.write("/a.txt", "two\n");
    let shown = work.preview(&first, "back-to", json!([]));
    work.write("/b.txt", "meanwhile\n");
    let body = json!({"state_hash": shown["state_hash"]});
    let refused = work.ada.post(&work.route(&first, "back-to"), body).expect(409);
    assert!(refused["error"].as_str().unwrap().contains("preview it again"), "{refused}");
    assert_eq!((work.text("/a.txt"), work.text("/b.txt")), ("two\n".into(), "meanwhile\n".into()));

    let body = json!({"paths": ["/a.txt"]});
    let done = work.ada.post(&work.route(&first, "back-to"), body).expect(200);
    assert_eq!((&done["back_to"], &done["paths"]), (&json!(first), &json!(["/a.txt"])));
    assert_eq!((work.text("/a.txt"), work.text("/b.txt")), ("one\n".into(), "meanwhile\n".into()));
}

#[test]
fn a_conflict_is_named_in_the_preview_and_refused_when_done() {
    let server = Server::start();
    let work = Work::new(&server);
    work.write("/a.txt", "one\n");
    let edit = work.write("/a.txt", "two\n");
    work.write("/a.txt", "three\n");
    let shown = work.preview(&edit, "undo", json!([]));
    assert_eq!((&shown["changes"], &shown["state_hash"]), (&json!([]), &Value::Null));
    assert_eq!(shown["conflicts"][0]["path"], "/a.txt");
    assert!(shown["conflicts"][0]["why"].as_str().unwrap().contains("changed since"), "{shown}");
    work.ada.post(&work.route(&edit, "undo"), Value::Null).expect(409);
    assert_eq!(work.text("/a.txt"), "three\n");
}

#[test]
fn a_wrong_body_says_what_to_send() {
    let server = Server::start();
    let work = Work::new(&server);
    let step = work.write("/a.txt", "one\n");
    for (body, names) in [
        (json!({"state_hash": "none"}), "state_hash"),
        (json!({"paths": ["/../a"]}), "paths"),
        (json!({"paths": "/a.txt"}), "paths"),
        (json!({"previev": true}), "previev"),
    ] {
        let refused = work.ada.post(&work.route(&step, "undo"), body);
        assert_eq!(refused.status, 400);
        let refused = refused.json();
        assert!(refused["fields"].as_object().unwrap().contains_key(names), "{names}: {refused}");
    }
    let body = json!({"paths": ["/b.txt"]});
    let refused = work.ada.post(&work.route(&step, "undo"), body).expect(404);
    assert!(refused["error"].as_str().unwrap().contains("/b.txt"), "{refused}");
}

#[test]
fn a_viewer_takes_nothing_back() {
    let server = Server::start();
    let work = Work::new(&server);
    let step = work.write("/a.txt", "one\n");
    let eve = server.person();
    work.ada.invite(&work.workspace, &eve, "viewer");
    for way in ["undo", "redo", "back-to"] {
        eve.post(&work.route(&step, way), json!({"preview": true})).expect(403);
    }
}
