//! The curl examples of the document of `workspace`, in its order, with the real curl. Files that an
//! example presupposes are put there just before it. Answers have the keys and types of the document's
//! own; a value that a ruling overrides is named beside its check.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

/// A workspace, and curl to reach it.
struct SpecCaller<'a> {
    ada: Someone<'a>,
    workspace: String,
}

impl<'a> SpecCaller<'a> {
    fn new(server: &'a Server) -> Self {
        let ada = server.person();
        let workspace = ada.workspace();
        Self { ada, workspace }
    }

    /// Runs an example: status and body.
    fn curl(&self, token: &str, body: &Value) -> (u16, Value) {
        let url = format!(
            "http://{}/api/v1/workspaces/{}/tools",
            self.ada.server.address, self.workspace
        );
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--noproxy", "*", "--write-out", "\n%{http_code}"])
            .args(["-X", "POST", &url])
            .args(["-H", &format!("Authorization: Bearer {token}")])
            .args(["-H", "Content-Type: application/json", "-d", &body.to_string()])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        let (answer, status) = printed.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(answer).unwrap())
    }

    /// A call that succeeds: its result.
    #[track_caller]
    fn ok(&self, tool: &str, args: Value) -> Value {
        let (status, body) = self.curl(&self.ada.token, &json!({"tool": tool, "args": args}));
        assert_eq!(status, 200, "{tool} {args}: {body}");
        assert_eq!((&body["success"], &body["error"]), (&json!(true), &Value::Null), "W1");
        body["result"].clone()
    }

    /// A call that fails: its body.
    #[track_caller]
    fn fails(&self, tool: &str, args: Value, status: u16, code: &str) -> Value {
        let (reply, body) = self.curl(&self.ada.token, &json!({"tool": tool, "args": args}));
        assert_eq!((reply, &body["code"]), (status, &json!(code)), "{tool} {args}: {body}");
        assert_eq!(body["success"], false, "W1");
        body
    }

    /// A file that was there before, on disk only.
    fn put(&self, path: &str, text: &str) {
        let folder = self.ada.server.data().join("workspaces").join(&self.workspace);
        let file = folder.join(path.trim_start_matches('/'));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// A person answers a question.
    fn answer(&self, question: &Value, answers: Value) -> Value {
        let id = question.as_str().unwrap();
        let path = format!("/api/v1/workspaces/{}/questions/{id}/answer", self.workspace);
        self.ada.post(&path, json!({"answers": answers, "via": "button"})).expect(200)
    }
}

/// Has at least the keys of the example, with values of the same types. Null stands for any type, and
/// every element of a list is like the example's first.
#[track_caller]
fn like(value: &Value, example: &Value) {
    match (value, example) {
        (_, Value::Null) | (Value::String(_), Value::String(_)) => {}
        (Value::Bool(_), Value::Bool(_)) | (Value::Number(_), Value::Number(_)) => {}
        (Value::Object(fields), Value::Object(wanted)) => {
            for (key, example) in wanted {
                let Some(value) = fields.get(key) else { panic!("no {key} in {value}") };
                like(value, example);
            }
        }
        (Value::Array(elements), Value::Array(wanted)) => {
            if let Some(example) = wanted.first() {
                elements.iter().for_each(|element| like(element, example));
            }
        }
        _ => panic!("expected something like {example}, not {value}"),
    }
}

fn each<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|entry| entry[key].as_str().unwrap()).collect()
}

/// `line 0` and so on, each ended.
fn lines(count: usize) -> String {
    (0..count).map(|number| format!("line {number}\n")).collect()
}

/// 150 lines, of which the 42nd is what the example of `grep` finds.
fn main_rs() -> String {
    lines(150).replace("line 41\n", "// TODO: Implement error handling\n")
}

#[test]
fn the_documents_examples_in_its_order() {
    let server = Server::start();
    let caller = SpecCaller::new(&server);
    refusals(&caller);
    ls(&caller);
    read(&caller);
    write(&caller);
    mkdir_and_rm(&caller);
    mv_and_touch(&caller);
    edit_and_grep(&caller);
    glob_and_cat(&caller);
    file_info_and_find(&caller);
    read_multiple_files(&caller);
    ask_user_and_exit_plan_mode(&caller);
    plans(&caller);
    the_section_of_curl_examples(&caller);
}

fn refusals(caller: &SpecCaller<'_>) {
    let call = json!({"tool": "ls", "args": {}});
    let (status, body) = caller.curl("<access_token>", &call);
    assert_eq!((status, &body["code"]), (401, &json!("INVALID_TOKEN")));
    let stranger = caller.ada.server.person();
    let (status, body) = caller.curl(&stranger.token, &call);
    assert_eq!((status, &body["code"]), (403, &json!("FORBIDDEN")));
    let body = caller.fails("invalid_tool", json!({}), 404, "NOT_FOUND");
    assert!(body["error"].as_str().unwrap().starts_with("Tool 'invalid_tool' not found"));
}

/// Overridden: `file_type` is lower case (W2); folders come first (W4).
fn ls(caller: &SpecCaller<'_>) {
    let report = lines(5000);
    caller.ok("write", json!({"path": "/documents/report.md", "content": report}));
    caller.ok("mkdir", json!({"path": "/documents/archive"}));
    let result = caller.ok("ls", json!({"path": "/documents", "recursive": false, "limit": 100}));
    let entry = json!({"id": "", "synced": true, "name": "", "display_name": "", "path": "",
        "file_type": "", "is_virtual": false, "updated_at": ""});
    like(&result, &json!({"path": "/documents", "entries": [entry]}));
    assert_eq!(each(&result["entries"], "name"), ["archive", "report.md"]);
    assert_eq!(each(&result["entries"], "file_type"), ["folder", "document"]);
}

fn read(caller: &SpecCaller<'_>) {
    let shape = json!({"path": "", "content": "", "hash": "", "synced": true, "total_lines": 0,
        "truncated": true, "offset": 0, "limit": 0});
    let whole = caller.ok("read", json!({"path": "/documents/report.md"}));
    like(&whole, &shape);
    assert_eq!((&whole["content"], &whole["total_lines"]), (&json!(lines(500)), &json!(5000)));
    assert_eq!((&whole["truncated"], &whole["synced"]), (&json!(true), &json!(true)));
    caller.put("/src/main.rs", &main_rs());
    caller.put("/logs/error.log", &lines(1000));
    caller.put("/large.log", &lines(3000));
    for (args, from, count) in [
        (json!({"path": "/src/main.rs", "offset": 100, "limit": 50}), 100, 50),
        (json!({"path": "/logs/error.log", "offset": -100}), 900, 100),
        (json!({"path": "/large.log", "offset": -1000, "limit": 50}), 2000, 50),
    ] {
        let result = caller.ok("read", args);
        let whole = lines(from + count);
        assert_eq!(result["content"], whole[lines(from).len()..]);
        assert_eq!(result["offset"], from, "W5: the resolved one");
    }
}

fn write(caller: &SpecCaller<'_>) {
    let shape = json!({"path": "", "file_id": "", "version_id": "", "hash": ""});
    let notes = "/documents/notes.md";
    let args = json!({"path": notes, "content": "# My Notes\n\nCreated via Tools API",
        "file_type": "document"});
    let first = caller.ok("write", args);
    like(&first, &shape);
    let content = json!({"elements": [], "version": 1});
    let args =
        json!({"path": "/dashboards/main.canvas", "content": content, "file_type": "canvas"});
    like(&caller.ok("write", args), &shape);
    let read = caller.ok("read", json!({"path": "/dashboards/main.canvas"}));
    assert_eq!(read["content"], content, "W3");
    let replaced = "# Completely Replaced Content\n\nThis replaces the entire file";
    let refused = json!({"path": notes, "content": replaced});
    let reply = caller.fails("write", refused, 400, "VALIDATION_ERROR");
    assert!(reply["fields"]["path"].as_str().unwrap().contains("overwrite=true"), "W6");
    let args = json!({"path": notes, "content": replaced, "overwrite": true});
    let second = caller.ok("write", args);
    like(&second, &shape);
    assert_eq!(second["file_id"], first["file_id"]);
    assert_ne!(second["version_id"], first["version_id"]);
}

fn mkdir_and_rm(caller: &SpecCaller<'_>) {
    let made = caller.ok("mkdir", json!({"path": "/docs/v1/api"}));
    like(&made, &json!({"path": "/docs/v1/api", "file_id": ""}));
    let old = "/documents/old-report.md";
    let written = caller.ok("write", json!({"path": old, "content": "old"}));
    let removed = caller.ok("rm", json!({"path": old}));
    assert_eq!((&removed["path"], &removed["file_id"]), (&json!(old), &written["file_id"]));
}

fn mv_and_touch(caller: &SpecCaller<'_>) {
    caller.put("/documents/old-name.md", "x");
    let (from, to) = ("/documents/old-name.md", "/documents/new-name.md");
    let moved = caller.ok("mv", json!({"source": from, "destination": to}));
    assert_eq!(moved, json!({"from_path": from, "to_path": to}));
    caller.put("/file.txt", "x");
    caller.ok("mkdir", json!({"path": "/archive"}));
    let moved = caller.ok("mv", json!({"source": "/file.txt", "destination": "/archive/"}));
    assert_eq!(moved["to_path"], "/archive/file.txt");
    caller.put("/documents/existing-file.txt", "stays");
    for path in ["/documents/placeholder.txt", "/documents/existing-file.txt"] {
        let touched = caller.ok("touch", json!({"path": path}));
        like(&touched, &json!({"path": "", "file_id": ""}));
        assert_eq!(touched["path"], path);
    }
    let kept = caller.ok("read", json!({"path": "/documents/existing-file.txt"}));
    assert_eq!(kept["content"], "stays");
}

/// `edit` has no curl example: its arguments are the section's own.
fn edit_and_grep(caller: &SpecCaller<'_>) {
    caller.put("/src/lib.rs", &format!("fn old_function() {{\n{}", lines(49)));
    let read = caller.ok("read", json!({"path": "/src/lib.rs"}));
    let args = json!({"path": "/src/lib.rs", "old_string": "fn old_function() {",
        "new_string": "fn new_function() {", "last_read_hash": read["hash"]});
    like(
        &caller.ok("edit", args),
        &json!({"path": "", "file_id": "", "version_id": "", "hash": ""}),
    );
    let found = caller.ok("grep", json!({"pattern": "TODO:", "case_sensitive": true}));
    let matches = found["matches"].as_array().unwrap();
    assert_eq!(matches.len(), 1);
    let expected = json!({"path": "/src/main.rs", "line_number": 42,
        "line_text": "// TODO: Implement error handling"});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&matches[0][key], value);
    }
}

/// Overridden: `size` is real (W11). The sections before this one need `/src/main.rs`, so there is one
/// match more than the document shows.
fn glob_and_cat(caller: &SpecCaller<'_>) {
    caller.put("/main.rs", "fn main() {}\n");
    let found = caller.ok("glob", json!({"pattern": "*.rs"}));
    let entry = json!({"path": "", "name": "", "synced": true, "file_type": "",
        "is_virtual": false, "size": 0, "updated_at": ""});
    like(&found, &json!({"pattern": "*.rs", "base_path": "/", "matches": [entry]}));
    assert_eq!(each(&found["matches"], "path"), ["/main.rs", "/src/lib.rs", "/src/main.rs"]);

    let file = json!({"path": "", "content": "", "synced": true, "line_count": 0, "offset": 0,
        "limit": null, "total_lines": 0});
    let shape = json!({"content": "", "files": [file]});
    let paths = ["/src/main.rs", "/src/lib.rs"];
    let both = caller.ok("cat", json!({"paths": paths, "show_ends": true, "show_tabs": true}));
    like(&both, &shape);
    assert_eq!(each(&both["files"], "path"), paths);
    assert!(both["content"].as_str().unwrap().starts_with("line 0$\nline 1$\n"), "W13");
    let part = caller.ok(
        "cat",
        json!({"paths": ["/src/main.rs"], "offset": 100, "limit": 50, "number_lines": true,
            "show_tabs": true}),
    );
    like(&part, &shape);
    assert!(part["content"].as_str().unwrap().starts_with("   101\tline 100\n"), "W13");
    assert_eq!(
        (&part["files"][0]["limit"], &part["files"][0]["total_lines"]),
        (&json!(50), &json!(150))
    );
    let last =
        caller.ok("cat", json!({"paths": ["/logs/error.log"], "offset": -100, "show_ends": true}));
    assert!(last["content"].as_str().unwrap().starts_with("line 900$\n"), "W13");
}

/// Overridden: `size` is real (W11); ordered by path (R8).
fn file_info_and_find(caller: &SpecCaller<'_>) {
    caller.put("/config.json", &format!("{}{}", "x\n".repeat(24), "y".repeat(1024 - 48)));
    let info = caller.ok("file_info", json!({"path": "/config.json"}));
    let shape = json!({"path": "", "synced": false, "file_type": "", "size": 0, "line_count": 0,
        "created_at": "", "updated_at": "", "hash": ""});
    like(&info, &shape);
    assert_eq!((&info["size"], &info["line_count"]), (&json!(1024), &json!(25)));
    let found = caller.ok("find", json!({"name": "*.rs", "path": "/src"}));
    let entry = json!({"path": "", "name": "", "synced": true, "file_type": "", "size": 0,
        "updated_at": ""});
    like(&found, &json!({"matches": [entry]}));
    assert_eq!(each(&found["matches"], "path"), ["/src/lib.rs", "/src/main.rs"]);
}

/// The document's `/config.json` has 25 lines in one section and 3 in this one.
fn read_multiple_files(caller: &SpecCaller<'_>) {
    caller.put("/config.json", "{\n  \"key\": \"value\"\n}");
    caller.put("/README.md", &format!("# Project\n\n{}", lines(148)));
    let file = json!({"path": "", "success": true, "content": null, "hash": null, "error": null,
        "total_lines": null, "truncated": null});
    let args = json!({"paths": ["/config.json", "/README.md"], "limit": 100});
    let read = caller.ok("read_multiple_files", args);
    like(&read, &json!({"files": [file]}));
    let [config, readme] = read["files"].as_array().unwrap().as_slice() else { panic!("{read}") };
    assert_eq!(config["content"], "{\n  \"key\": \"value\"\n}");
    assert_eq!((&config["total_lines"], &config["truncated"]), (&json!(3), &json!(false)));
    assert_eq!((&readme["total_lines"], &readme["truncated"]), (&json!(150), &json!(true)));
    let args = json!({"paths": ["/config.json", "/nonexistent.txt"]});
    let partial = caller.ok("read_multiple_files", args);
    like(&partial, &json!({"files": [file]}));
    let missing = &partial["files"][1];
    assert_eq!((&missing["success"], &missing["content"]), (&json!(false), &Value::Null));
    assert!(missing["error"].as_str().unwrap().contains("/nonexistent.txt"));
}

/// Between the document's two calls a person answers, as W16 wants it.
fn ask_user_and_exit_plan_mode(caller: &SpecCaller<'_>) {
    let buttons = |labels: &[&str]| {
        labels.iter().map(|label| json!({"label": label, "value": label})).collect::<Value>()
    };
    let frameworks = ["Jest", "Vitest", "Mocha"];
    let schema = json!({"type": "string", "enum": frameworks});
    let question = json!({"name": "framework", "question": "Which testing framework should I use?",
        "schema": schema.to_string(), "buttons": buttons(&frameworks)});
    let asked = caller.ok("ask_user", json!({"questions": [question]}));
    assert_eq!(asked["status"], "question_pending");
    assert_eq!(asked["questions"][0]["schema"], schema);
    caller.answer(&asked["question_id"], json!({"framework": "Vitest"}));

    let path = "/plans/fearless-ember-invention.plan";
    let content = "# Implementation Plan\n\n## Task 1\n...";
    caller.ok("write", json!({"path": path, "content": content, "file_type": "plan"}));
    let exit = json!({"plan_file_path": path});
    caller.fails("exit_plan_mode", exit.clone(), 403, "FORBIDDEN");
    let choices = ["Accept", "Reject"];
    let question = json!({"name": "approval", "question": "Proceed?",
        "schema": {"type": "string", "enum": choices}, "buttons": buttons(&choices)});
    let asked = caller.ok("ask_user", json!({"questions": [question]}));
    caller.answer(&asked["question_id"], json!({"approval": "Accept"}));
    let left = caller.ok("exit_plan_mode", exit);
    assert_eq!((&left["mode"], &left["plan_file"]), (&json!("build"), &json!(path)));
}

/// The name that `plan_write` invents is another every time (W17): the plan that the later examples name
/// is put there under its name. The plan that was left by `exit_plan_mode` is approved, too (W16).
fn plans(caller: &SpecCaller<'_>) {
    let metadata = json!({"title": "", "status": "", "created_at": ""});
    let shape = json!({"path": "", "file_id": "", "version_id": "", "hash": "",
        "metadata": metadata});
    let title = "Feature Implementation Plan";
    let content = "# Overview\n\n## Goals\n- Goal 1\n- Goal 2";
    let mut plan = json!({"title": title, "content": content, "status": "draft"});
    like(&caller.ok("plan_write", plan.clone()), &shape);

    let path = "/plans/gleeful-tangerine-expedition.plan";
    plan["path"] = path.into();
    caller.ok("plan_write", plan.clone());
    let read = caller.ok("plan_read", json!({"name": "gleeful-tangerine-expedition"}));
    like(&read, &json!({"path": "", "metadata": metadata, "hash": "", "total_lines": 0}));
    assert_eq!((&read["content"], &read["total_lines"]), (&json!(content), &json!(5)));
    let args =
        json!({"path": path, "old_string": "- Goal 1", "new_string": "- Goal 1 (completed)"});
    let edited = caller.ok("plan_edit", args);
    like(&edited, &json!({"path": "", "file_id": "", "version_id": "", "hash": ""}));
    plan["status"] = "approved".into();
    caller.ok("plan_write", plan);
    let listed = caller.ok("plan_list", json!({"status": "approved", "limit": 10}));
    like(&listed, &json!({"plans": [{"path": "", "name": "", "metadata": metadata}], "total": 0}));
    assert!(each(&listed["plans"], "path").contains(&path), "{listed}");
}

/// Two examples of this section contradict the document's own rules when they are run in order: the
/// update does not say `overwrite` (W6), and the move is of a file that the example before it removed.
fn the_section_of_curl_examples(caller: &SpecCaller<'_>) {
    let thoughts = "/notes/thoughts.md";
    assert_eq!(caller.ok("ls", json!({"path": "/", "recursive": false}))["path"], "/");
    let content = "# My Thoughts\n\nThis is a new file.";
    caller.ok("write", json!({"path": thoughts, "content": content}));
    assert_eq!(caller.ok("read", json!({"path": thoughts}))["content"], content);
    let content = "# Updated Thoughts\n\nThis is the updated content.";
    let mut update = json!({"path": thoughts, "content": content});
    caller.fails("write", update.clone(), 400, "VALIDATION_ERROR");
    update["overwrite"] = true.into();
    caller.ok("write", update);
    caller.ok("rm", json!({"path": thoughts}));
    let rename = json!({"source": thoughts, "destination": "/docs/thoughts.md"});
    caller.fails("mv", rename.clone(), 404, "NOT_FOUND");
    caller.put(thoughts, content);
    assert_eq!(caller.ok("mv", rename)["to_path"], "/docs/thoughts.md");
    caller.ok("touch", json!({"path": "/notes/placeholder.txt"}));
}
