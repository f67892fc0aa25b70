//! What the documents of `assistant` and `codex` ask for and no other test holds, in the documents' order. For
//! each demand, `docs/conformance.md` names the test that holds it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use yard_core::ApprovalId;
use yard_dialects::{Answer, Catalog, Format};
use yard_gate::{Actor, Approval, Awaited, CallerPolicy, DecisionInput, Scope};
use yard_testkit::TestWorkspace;

fn call(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> Answer {
    workspace.call_of(toolset, tool, args)
}

/// What a call of `assistant` that goes well answers.
#[track_caller]
fn value(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    let answer = call(workspace, "assistant", tool, args.clone());
    assert_eq!(answer.body["result"]["ok"], true, "{tool} {args}: {}", answer.body);
    answer.body["result"]["value"].clone()
}

/// The error of a call of `assistant` that does not.
#[track_caller]
fn error(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    let answer = call(workspace, "assistant", tool, args.clone());
    assert_eq!(answer.body["result"]["ok"], false, "{tool} {args}: {}", answer.body);
    answer.body["result"]["error"].clone()
}

/// What a call of `codex` that goes well answers.
#[track_caller]
fn result(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    let answer = call(workspace, "codex", tool, args.clone());
    assert!(answer.ok && answer.status == 200, "{tool} {args}: {}", answer.body);
    answer.body["result"].clone()
}

/// Why a call of `codex` failed: its code and its words.
#[track_caller]
fn refused(workspace: &TestWorkspace, tool: &str, args: Value) -> (String, String) {
    let answer = call(workspace, "codex", tool, args.clone());
    assert!(!answer.ok, "{tool} {args}: {}", answer.body);
    let text = |field: &str| answer.body["result"][field].as_str().unwrap().to_owned();
    (text("error"), text("message"))
}

/// A schema without what is written for readers.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, value)| {
                // An argument may be called `description`; what describes one is a text.
                !(name.as_str() == "description" && value.is_string())
            });
            kept.map(|(name, value)| (name.clone(), bare(value))).collect()
        }
        Value::Array(items) => items.iter().map(bare).collect(),
        other => other.clone(),
    }
}

fn guarded(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> Answer {
    let agent = workspace.session_of(Actor::LocalAgent, CallerPolicy::Guarded);
    workspace.call_as(&agent, toolset, tool, args)
}

#[track_caller]
fn asked(answer: &Answer) -> ApprovalId {
    match answer.pending.as_ref().map(|pending| &pending.awaited) {
        Some(Awaited::Approval(id)) => *id,
        other => panic!("{other:?}: {}", answer.body),
    }
}

fn decide(
    workspace: &TestWorkspace,
    id: ApprovalId,
    approves: bool,
    args: Option<Value>,
) -> Approval {
    let state = workspace.person().approvals().get(id).unwrap().request.state;
    let ruling = DecisionInput {
        approves,
        scope: Scope::Once,
        reason: None,
        args,
        state,
        planned: None,
        parts: None,
    };
    workspace.catalog().decide(id, &ruling, &workspace.person(), &workspace.call_context()).unwrap()
}

#[test]
fn assistant_takes_the_arguments_of_its_document() {
    let (text, truth) = (json!({"type": "string"}), json!({"type": "boolean", "default": false}));
    let encoding = json!({"type": "string", "enum": ["utf-8", "base64"], "default": "utf-8"});
    let texts =
        json!({"type": "object", "additionalProperties": {"type": "string"}, "default": {}});
    for (tool, required, arguments) in [
        (
            "list_directory",
            json!(["path"]),
            json!({"path": text, "recursive": truth, "includeHidden": truth}),
        ),
        ("read_file", json!(["path"]), json!({"path": text, "encoding": encoding})),
        (
            "write_file",
            json!(["path", "content"]),
            json!({"path": text, "content": text, "encoding": encoding, "createDirs": truth}),
        ),
        ("delete_file", json!(["path"]), json!({"path": text, "recursive": truth})),
        ("move_file", json!(["from", "to"]), json!({"from": text, "to": text, "overwrite": truth})),
        (
            "run_code",
            json!(["language", "code"]),
            json!({
                "language": {"type": "string", "enum": ["python", "bash"]},
                "code": text,
                "args": {"type": "array", "items": {"type": "string"}, "default": []},
                "env": texts,
                "timeout": {"type": "number", "default": 60.0},
            }),
        ),
        (
            "web_fetch",
            json!(["url"]),
            json!({
                "url": text,
                "method": {"type": "string", "enum": ["GET", "POST"]},
                "headers": texts,
                "body": text,
                "timeout": {"type": "number", "default": 30.0},
            }),
        ),
        (
            "web_search",
            json!(["query"]),
            json!({
                "query": text,
                "numResults": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
            }),
        ),
    ] {
        let catalog = Catalog::standard();
        let schema = bare(catalog.get("assistant", tool).unwrap().input_schema());
        assert_eq!(schema["required"], required, "{tool}");
        for (name, expected) in arguments.as_object().unwrap() {
            assert_eq!(schema["properties"][name], *expected, "{tool}.{name}");
        }
    }
}

#[test]
fn assistant_answers_with_the_fields_of_its_document() {
    let (text, count) = (json!({"type": "string"}), json!({"type": "integer"}));
    for (tool, fields) in [
        ("read_file", json!({"content": text, "size": count, "modified": text})),
        ("write_file", json!({"path": text, "size": count})),
        ("delete_file", json!({"deleted": {"type": "array", "items": text}})),
        ("move_file", json!({"from": text, "to": text})),
        ("run_code", json!({"stdout": text, "stderr": text, "exitCode": count, "duration": count})),
        (
            "web_fetch",
            json!({
                "status": count, "body": text,
                "headers": {"type": "object", "additionalProperties": text},
            }),
        ),
    ] {
        let catalog = Catalog::standard();
        let schema = bare(catalog.get("assistant", tool).unwrap().output_schema());
        check_fields(tool, &schema, &fields);
    }
    let catalog = Catalog::standard();
    for (tool, list, fields) in [
        (
            "list_directory",
            "entries",
            json!({"name": text, "type": text, "size": count, "modified": text}),
        ),
        ("web_search", "results", json!({"title": text, "url": text, "snippet": text})),
    ] {
        let schema = bare(catalog.get("assistant", tool).unwrap().output_schema());
        assert_eq!(schema["properties"][list]["type"], "array", "{tool}");
        check_fields(tool, &schema["properties"][list]["items"], &fields);
    }
}

/// A reply has these fields always, each with this schema; bounds of numbers are no matter.
#[track_caller]
fn check_fields(tool: &str, schema: &Value, fields: &Value) {
    for (name, expected) in fields.as_object().unwrap() {
        let mut found = schema["properties"][name].clone();
        for bound in ["minimum", "maximum"] {
            if let Some(found) = found.as_object_mut() {
                found.shift_remove(bound);
            }
        }
        assert_eq!(found, *expected, "{tool}.{name}");
        let required = schema["required"].as_array().unwrap();
        assert!(required.iter().any(|known| known == name), "{tool}.{name} is always there");
    }
}

#[test]
fn r1_an_encoding_is_taken_in_any_case_and_a_wrong_one_is_told_the_right_ones() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x\n");
    for encoding in ["utf-8", "UTF-8", " base64 "] {
        value(&workspace, "read_file", json!({"path": "a.txt", "encoding": encoding}));
    }
    for (tool, args) in [
        ("read_file", json!({"path": "a.txt", "encoding": "utf8"})),
        ("write_file", json!({"path": "a.txt", "content": "x", "encoding": "utf8"})),
    ] {
        let fault = error(&workspace, tool, args);
        assert_eq!(fault["code"], "INVALID_ARGUMENTS", "{tool}");
        let words = fault["details"]["fields"]["encoding"].as_str().unwrap();
        assert!(words.contains("one of utf-8, base64"), "{tool}: {words}");
    }
}

/// Everything that the document says is approved by itself is, and everything that it says asks does, also where the
/// chat made the file itself.
#[test]
fn a1_under_guarded_each_tool_asks_where_its_document_says() {
    let workspace = TestWorkspace::new();
    workspace.put("/there.txt", "by a person\n");
    for (tool, args) in [
        ("list_directory", json!({"path": "."})),
        ("read_file", json!({"path": "there.txt"})),
        ("write_file", json!({"path": "own.txt", "content": "x"})),
        ("write_file", json!({"path": "folder/own.txt", "content": "x", "createDirs": true})),
        ("move_file", json!({"from": "own.txt", "to": "moved.txt"})),
        ("write_file", json!({"path": "other.txt", "content": "x"})),
        ("web_search", json!({"query": "x"})),
    ] {
        let answer = guarded(&workspace, "assistant", tool, args.clone());
        assert!(answer.pending.is_none(), "{tool} {args}: {}", answer.body);
    }
    for (tool, args) in [
        ("write_file", json!({"path": "there.txt", "content": "x"})),
        ("write_file", json!({"path": "moved.txt", "content": "y"})),
        ("delete_file", json!({"path": "there.txt"})),
        ("delete_file", json!({"path": "moved.txt"})),
        ("delete_file", json!({"path": "folder", "recursive": true})),
        ("move_file", json!({"from": "moved.txt", "to": "other.txt", "overwrite": true})),
    ] {
        asked(&guarded(&workspace, "assistant", tool, args.clone()));
    }
    assert_eq!(workspace.bytes("/there.txt"), b"by a person\n");
    assert!(workspace.has("/moved.txt") && workspace.has("/folder/own.txt"));
}

/// The five steps of the document: the call waits, a person sees what is asked and why, answers with other arguments, and
/// the call goes on with those, or comes to an end.
#[test]
fn a1_an_approval_pauses_shows_and_resumes_with_what_the_person_sent() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    let args = json!({"path": "a.txt", "content": "theirs\n"});
    let called = guarded(&workspace, "assistant", "write_file", args.clone());
    let id = asked(&called);
    assert_eq!(called.body["result"]["status"], "approval_pending");
    assert_eq!(workspace.bytes("/a.txt"), b"one\n", "it waits");
    let request = workspace.person().approvals().get(id).unwrap().request;
    assert_eq!((request.toolset.as_str(), request.tool.as_str()), ("assistant", "write_file"));
    assert_eq!(serde_json::from_str::<Value>(&request.args).unwrap(), args);
    assert!(request.reason.contains("replaces"), "{}", request.reason);
    assert!(request.diff.contains("-one\n+theirs\n"), "{}", request.diff);
    let edited = json!({"path": "a.txt", "content": "mine\n"});
    let done = decide(&workspace, id, true, Some(edited));
    let kept: Value = serde_json::from_str(done.answer.as_deref().unwrap()).unwrap();
    assert_eq!(kept["body"]["result"]["ok"], true, "{kept}");
    assert_eq!(workspace.bytes("/a.txt"), b"mine\n");
    let called = guarded(&workspace, "assistant", "delete_file", json!({"path": "a.txt"}));
    decide(&workspace, asked(&called), false, None);
    let agent = workspace.session_of(Actor::LocalAgent, CallerPolicy::Guarded);
    let pending = called.pending.unwrap();
    let (catalog, context) = (workspace.catalog(), workspace.call_context());
    let answer = catalog.resume("assistant", "delete_file", &pending, &agent, &context);
    assert_eq!(answer.body["result"]["error"]["code"], "PERMISSION_DENIED", "{}", answer.body);
    assert!(workspace.has("/a.txt"));
}

#[test]
fn a1_the_codes_of_the_document_are_those_of_its_cases() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x\n");
    workspace.put("/secret/k.txt", "x\n");
    symlink("/etc", workspace.root().join("out")).unwrap();
    let rules = json!({"rules": [
        {"effect": "read", "path": "secret/**", "then": "deny"},
        {"effect": "create", "path": "locked/**", "then": "deny"},
    ]});
    let rules = rules.as_object().unwrap();
    workspace.person().change_settings(&workspace.call_context(), rules).unwrap();
    for (code, tool, args) in [
        ("INVALID_PATH", "read_file", json!({"path": "../a.txt"})),
        ("INVALID_PATH", "read_file", json!({"path": "/etc/hostname"})),
        ("INVALID_PATH", "read_file", json!({"path": "out/hostname"})),
        ("INVALID_PATH", "read_file", json!({"path": "a\u{0}b"})),
        ("INVALID_PATH", "list_directory", json!({"path": "../.."})),
        ("INVALID_PATH", "write_file", json!({"path": "out/new", "content": "x"})),
        ("INVALID_PATH", "delete_file", json!({"path": "/"})),
        ("INVALID_ARGUMENTS", "delete_file", json!({"path": "."})),
        ("INVALID_PATH", "move_file", json!({"from": "a.txt", "to": "../b.txt"})),
        ("FILE_NOT_FOUND", "read_file", json!({"path": "none.txt"})),
        ("FILE_NOT_FOUND", "list_directory", json!({"path": "none"})),
        ("FILE_NOT_FOUND", "delete_file", json!({"path": "none"})),
        ("FILE_NOT_FOUND", "move_file", json!({"from": "none", "to": "x"})),
        ("PERMISSION_DENIED", "read_file", json!({"path": "secret/k.txt"})),
        (
            "PERMISSION_DENIED",
            "write_file",
            json!({"path": "locked/new", "content": "x", "createDirs": true}),
        ),
    ] {
        let fault = error(&workspace, tool, args.clone());
        assert_eq!(fault["code"], code, "{tool} {args}: {fault}");
        assert!(fault["message"].is_string() && fault["details"].is_object(), "{fault}");
    }
}

#[test]
fn a7_definitions_come_in_the_order_of_registration_with_what_the_document_lists() {
    let catalog = Catalog::standard();
    let names: Vec<&str> = catalog.list("assistant").map(|tool| tool.name()).collect();
    assert_eq!(
        names[..8],
        [
            "list_directory",
            "read_file",
            "write_file",
            "delete_file",
            "move_file",
            "run_code",
            "web_fetch",
            "web_search"
        ]
    );
    let functions = catalog.definitions("assistant", Format::Functions);
    let json = catalog.definitions("assistant", Format::Json);
    for (at, tool) in catalog.list("assistant").enumerate() {
        let expected = json!({
            "name": tool.name(), "description": tool.about(), "parameters": tool.input_schema(),
        });
        assert_eq!(functions[at], expected);
        assert_eq!(json[at]["name"], tool.name());
        assert_eq!(json[at]["input_schema"], *tool.input_schema());
        assert_eq!(json[at]["output_schema"], *tool.output_schema());
        assert!(json[at]["approval"].is_string() && !tool.about().is_empty(), "{}", json[at]);
    }
    assert!(catalog.get("assistant", "read_file").is_some());
    assert!(catalog.get("assistant", "no_such_tool").is_none());
}

#[test]
fn a_directory_is_deleted_empty_or_with_what_is_in_it_and_a_link_by_itself() {
    let workspace = TestWorkspace::new();
    workspace.put("/kept/a.txt", "x\n");
    std::fs::create_dir(workspace.root().join("empty")).unwrap();
    symlink("kept", workspace.root().join("link")).unwrap();
    for path in ["empty", "link"] {
        let reply = value(&workspace, "delete_file", json!({"path": path}));
        assert_eq!(reply, json!({"deleted": [path]}));
        assert!(!workspace.has(path), "{path}");
    }
    assert!(workspace.has("/kept/a.txt"), "a link is deleted, not what it leads to");
}

#[test]
fn x1_schemas_of_the_tools_that_run_are_strict() {
    let maybe = json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null});
    let text = json!({"type": "string"});
    let catalog = Catalog::standard();
    for (tool, properties) in [
        (
            "shell",
            json!({
                "command": text, "workdir": maybe,
                "timeout_ms": {"type": "integer", "minimum": 1, "default": 60_000},
            }),
        ),
        ("exec_command", json!({"session_id": text, "cmd": text, "workdir": maybe})),
        ("write_stdin", json!({"session_id": text, "chars": text})),
    ] {
        let schema = bare(catalog.get("codex", tool).unwrap().input_schema());
        let all: Vec<&String> = properties.as_object().unwrap().keys().collect();
        let expected = json!({
            "type": "object", "properties": properties, "required": all,
            "additionalProperties": false,
        });
        assert_eq!(schema, expected, "{tool}");
    }
    for tool in catalog.list("codex") {
        for (name, property) in tool.input_schema()["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}.{name}", tool.name());
        }
    }
}

#[test]
fn codex_answers_with_the_fields_of_its_document() {
    let (text, truth) = (json!({"type": "string"}), json!({"type": "boolean"}));
    let (count, texts) = (json!({"type": "integer"}), json!({"type": "array", "items": text}));
    let catalog = Catalog::standard();
    for (tool, fields) in [
        ("list_dir", json!({"entries": texts})),
        ("read_file", json!({"text": text, "truncated": truth})),
        (
            "shell",
            json!({
                "stdout": text, "stderr": text, "returncode": count, "stdout_truncated": truth,
                "stderr_truncated": truth, "timeout": truth,
                "message": {"type": ["string", "null"]},
            }),
        ),
        ("exec_command", json!({"output": text, "truncated": truth})),
        ("write_stdin", json!({"output": text, "truncated": truth})),
    ] {
        let schema = bare(catalog.get("codex", tool).unwrap().output_schema());
        check_fields(tool, &schema, &fields);
    }
    for tool in ["apply_patch_json", "apply_patch_freeform"] {
        let schema = bare(catalog.get("codex", tool).unwrap().output_schema());
        let file = json!({"path": text, "bytes_written": count, "created": truth});
        check_fields(tool, &schema["properties"]["results"]["items"], &file);
    }
    let schema = bare(catalog.get("codex", "grep_files").unwrap().output_schema());
    let file = &schema["properties"]["results"]["items"];
    assert_eq!(file["properties"]["file"], text);
    let line = json!({"line_num": count, "line": text});
    check_fields("grep_files", &file["properties"]["matches"]["items"], &line);
}

#[test]
fn x1_arguments_below_their_minimum_or_unknown_are_refused_by_name() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x\n");
    for (tool, name, args) in [
        ("list_dir", "depth", json!({"depth": -1})),
        ("list_dir", "offset", json!({"offset": -1})),
        ("list_dir", "limit", json!({"limit": 0})),
        ("read_file", "offset", json!({"path": "a.txt", "offset": -1})),
        ("read_file", "limit", json!({"path": "a.txt", "limit": 0})),
        ("grep_files", "limit", json!({"pattern": "x", "limit": 0})),
        ("grep_files", "include", json!({"pattern": "x", "include": "*.py"})),
        ("shell", "timeout_ms", json!({"command": "true", "timeout_ms": 0})),
        ("read_file", "path", json!({})),
        ("grep_files", "pattern", json!({})),
        ("apply_patch_json", "patch", json!({})),
        ("apply_patch_freeform", "patch", json!({})),
        ("shell", "command", json!({})),
        ("exec_command", "session_id", json!({"cmd": "true"})),
        ("exec_command", "cmd", json!({"session_id": "s"})),
        ("write_stdin", "session_id", json!({"chars": ""})),
        ("write_stdin", "chars", json!({"session_id": "s"})),
        ("list_dir", "extra", json!({"extra": 1})),
        ("read_file", "extra", json!({"path": "a.txt", "extra": 1})),
        ("grep_files", "extra", json!({"pattern": "x", "extra": 1})),
        ("apply_patch_json", "extra", json!({"patch": "x", "extra": 1})),
        ("apply_patch_freeform", "extra", json!({"patch": "x", "extra": 1})),
        ("shell", "extra", json!({"command": "true", "extra": 1})),
        ("exec_command", "extra", json!({"session_id": "s", "cmd": "true", "extra": 1})),
        ("write_stdin", "extra", json!({"session_id": "s", "chars": "", "extra": 1})),
    ] {
        let (code, message) = refused(&workspace, tool, args.clone());
        assert_eq!(code, "INVALID_ARGUMENTS", "{tool} {args}");
        assert!(message.contains(&format!("{name}: ")), "{tool} {args}: {message}");
    }
}

#[test]
fn x1_what_is_left_out_is_as_if_its_default_were_sent() {
    let workspace = TestWorkspace::new();
    let lines = |count: usize| (0..count).map(|n| format!("x {n}\n")).collect::<String>();
    workspace.put("/long.txt", lines(450));
    for number in 0..210 {
        workspace.put(&format!("/many/f{number:03}"), "");
    }
    workspace.put("/many/deep/er/est", "");
    for (tool, short, full) in [
        ("list_dir", json!({}), json!({"path": ".", "depth": 2, "offset": 0, "limit": 200})),
        (
            "read_file",
            json!({"path": "long.txt"}),
            json!({"path": "long.txt", "offset": 0, "limit": 400, "mode": "slice", "indent": "    "}),
        ),
        (
            "read_file",
            json!({"path": "long.txt", "mode": "indentation"}),
            json!({"path": "long.txt", "limit": 400, "mode": "indentation", "indent": "    "}),
        ),
        (
            "grep_files",
            json!({"pattern": "^x"}),
            json!({"pattern": "^x", "path": ".", "include": null, "limit": 200}),
        ),
    ] {
        let (left_out, sent) = (result(&workspace, tool, short), result(&workspace, tool, full));
        assert_eq!(left_out, sent, "{tool}");
        assert_eq!(left_out["truncated"], true, "{tool}: the default limit holds");
    }
    let listed = result(&workspace, "list_dir", json!({"limit": 1_000}));
    let listed = listed["entries"].as_array().unwrap();
    assert!(listed.contains(&json!("many/deep/")), "the second level is listed");
    assert!(!listed.contains(&json!("many/deep/er/")), "the third is not");
    assert_eq!(result(&workspace, "list_dir", json!({}))["entries"].as_array().unwrap().len(), 200);
    let read = result(&workspace, "read_file", json!({"path": "long.txt", "mode": "indentation"}));
    assert!(read["text"].as_str().unwrap().ends_with("    x 399\n"));
    let found = result(&workspace, "grep_files", json!({"pattern": "^x"}));
    assert_eq!(found["results"][0]["matches"].as_array().unwrap().len(), 200);
}

#[test]
fn codex_searches_by_regular_expression_below_a_folder_and_through_globs() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/a.py", "value_1 = 2\nvalue = 3\n");
    workspace.put("/src/deep/b.rs", "let value_22 = 1;\n");
    workspace.put("/other/c.py", "value_3\n");
    let files = |args: Value| -> Vec<String> {
        let found = result(&workspace, "grep_files", args);
        let found = found["results"].as_array().unwrap().iter();
        found.map(|one| one["file"].as_str().unwrap().to_owned()).collect()
    };
    let pattern = r"value_\d+";
    assert_eq!(files(json!({"pattern": pattern})), ["other/c.py", "src/a.py", "src/deep/b.rs"]);
    assert_eq!(files(json!({"pattern": pattern, "path": "src"})), ["src/a.py", "src/deep/b.rs"]);
    let both = json!({"pattern": pattern, "path": "src", "include": ["*.py", "*.rs"]});
    assert_eq!(files(both), ["src/a.py", "src/deep/b.rs"]);
    let one = json!({"pattern": pattern, "include": ["*.rs"]});
    assert_eq!(files(one), ["src/deep/b.rs"]);
    let found = result(&workspace, "grep_files", json!({"pattern": pattern, "path": "src/a.py"}));
    let line = json!([{"line_num": 1, "line": "value_1 = 2"}]);
    assert_eq!(found["results"][0]["matches"], line, "lines without a match are not there");
}

/// R2: a path in an error is one that can be sent back.
#[test]
fn r2_a_link_that_leaves_is_named_as_it_was_sent() {
    let workspace = TestWorkspace::new();
    symlink("/etc", workspace.root().join("out")).unwrap();
    for (tool, args) in [
        ("list_directory", json!({"path": "out"})),
        ("read_file", json!({"path": "out"})),
        ("write_file", json!({"path": "out", "content": "x"})),
        ("move_file", json!({"from": "out/a", "to": "b"})),
        ("delete_file", json!({"path": "out/a"})),
        ("search_code", json!({"query": "x", "path": "out"})),
    ] {
        let fault = error(&workspace, tool, args);
        assert_eq!(fault["code"], "INVALID_PATH", "{tool}: {fault}");
        let message = fault["message"].as_str().unwrap();
        assert!(message.contains("out") && !message.contains("/out"), "{tool}: {message}");
    }
    for (tool, args) in [
        ("list_dir", json!({"path": "out"})),
        ("read_file", json!({"path": "out"})),
        ("grep_files", json!({"pattern": "x", "path": "out"})),
    ] {
        let (code, message) = refused(&workspace, tool, args);
        assert_eq!(code, "INVALID_PATH", "{tool}: {message}");
        assert!(message.contains("out") && !message.contains("/out"), "{tool}: {message}");
    }
}

/// One boundary for all of them: what names a path, and what runs.
#[test]
fn r2_every_tool_of_codex_stays_in_the_workspace() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x\n");
    symlink("/etc", workspace.root().join("out")).unwrap();
    let add = |path: &str| json!({"patch": format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n")});
    let diff =
        |path: &str| json!({"patch": format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n")});
    for path in ["../x", "/etc/x", "out/x", "a/../../x"] {
        for (tool, args) in [
            ("list_dir", json!({"path": path})),
            ("read_file", json!({"path": path})),
            ("grep_files", json!({"pattern": "x", "path": path})),
            ("apply_patch_freeform", add(path)),
        ] {
            let (code, message) = refused(&workspace, tool, args);
            assert_eq!(code, "INVALID_PATH", "{tool} {path}: {message}");
        }
    }
    for path in ["../x", "/etc", "a/../../x"] {
        for (tool, args) in [
            ("shell", json!({"command": "true", "workdir": path})),
            ("exec_command", json!({"session_id": "s", "cmd": "true", "workdir": path})),
        ] {
            let (code, message) = refused(&workspace, tool, args);
            assert_eq!(code, "INVALID_PATH", "{tool} {path}: {message}");
        }
    }
    for path in ["../x", "out/x", "a/../../x"] {
        let (code, message) = refused(&workspace, "apply_patch_json", diff(path));
        assert_eq!(code, "INVALID_PATH", "{path}: {message}");
    }
    assert!(!std::path::Path::new("/etc/x").exists());
}

#[test]
fn codex_patches_nothing_where_the_policy_says_no() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";
    let envelope = "*** Begin Patch\n*** Update File: a.txt\n-one\n+two\n*** End Patch\n";
    let calls = [
        ("apply_patch_json", json!({"patch": diff})),
        ("apply_patch_freeform", json!({"patch": envelope})),
    ];
    let rules = json!({"rules": [{"effect": "modify", "then": "deny"}]});
    let viewer = workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly);
    for (tool, args) in &calls {
        let answer = workspace.call_as(&viewer, "codex", tool, args.clone());
        assert_eq!(answer.body["result"]["error"], "PERMISSION_DENIED", "{}", answer.body);
    }
    workspace
        .person()
        .change_settings(&workspace.call_context(), rules.as_object().unwrap())
        .unwrap();
    for (tool, args) in &calls {
        let (code, message) = refused(&workspace, tool, args.clone());
        assert_eq!(code, "PERMISSION_DENIED", "{tool}: {message}");
    }
    assert_eq!(workspace.bytes("/a.txt"), b"one\n");
}

const ENVELOPE: &str = "*** Begin Patch
*** Add File: docs/new.md
+first line
+second line
*** Update File: src/app.py
*** Move to: src/main.py
@@ class App:
@@ def run(self):
 context line
-removed line
+added line
*** End of File
*** Delete File: old.txt
*** End Patch
";

fn before_the_envelope() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.put(
        "/src/app.py",
        "class App:\n    def run(self):\n        context line\n        removed line\n",
    );
    workspace.put("/old.txt", "old\n");
    workspace
}

/// The example of the envelope, as it is and as models wrap it, by both tools.
#[test]
fn x3_the_example_of_the_envelope_is_applied_however_it_is_wrapped() {
    let root = |workspace: &TestWorkspace| workspace.root().display().to_string();
    let wrapped: [fn(&str) -> String; 6] = [
        str::to_owned,
        |text| format!("\n  {}  \n\n", text.trim_end()),
        |text| text.replace('\n', "\r\n"),
        |text| format!("apply_patch <<'EOF'\n{text}EOF\n"),
        |text| format!("```patch\n{text}```\n"),
        |text| text.replace("*** Update File: src", " *** Update File:  src"),
    ];
    for tool in ["apply_patch_json", "apply_patch_freeform"] {
        for wrap in wrapped {
            let workspace = before_the_envelope();
            let reply = result(&workspace, tool, json!({"patch": wrap(ENVELOPE)}));
            let files = reply["results"].as_array().unwrap();
            let paths: Vec<&str> = files.iter().map(|one| one["path"].as_str().unwrap()).collect();
            assert_eq!(paths, ["docs/new.md", "src/main.py", "old.txt"], "in the patch's order");
            let created: Vec<&Value> = files.iter().map(|one| &one["created"]).collect();
            assert_eq!(created, [true, false, false]);
            let written: Vec<&Value> = files.iter().map(|one| &one["bytes_written"]).collect();
            let now = "class App:\n    def run(self):\n        context line\n        added line\n";
            assert_eq!(written, [&json!(23), &json!(now.len()), &json!(0)]);
            assert_eq!(
                (&files[1]["moved_from"], &files[2]["deleted"]),
                (&json!("src/app.py"), &json!(true))
            );
            assert_eq!(workspace.bytes("/docs/new.md"), b"first line\nsecond line\n");
            assert_eq!(String::from_utf8(workspace.bytes("/src/main.py")).unwrap(), now);
            assert!(!workspace.has("/src/app.py") && !workspace.has("/old.txt"));
        }
    }
    let workspace = before_the_envelope();
    let absolute = ENVELOPE
        .replace(": docs", &format!(": {}/docs", root(&workspace)))
        .replace(": src", &format!(": {}/src", root(&workspace)))
        .replace(": old", &format!(": {}/old", root(&workspace)));
    result(&workspace, "apply_patch_freeform", json!({"patch": absolute}));
    assert!(
        workspace.has("/docs/new.md")
            && workspace.has("/src/main.py")
            && !workspace.has("/old.txt")
    );
}

#[test]
fn x3_a_refused_envelope_names_its_line_and_changes_nothing() {
    for (body, line, words) in [
        ("*** Add File: new\n+x\n*** Frobnicate: y\n", 4, "*** Update File"),
        ("*** Add File: new\n+x\n*** Update File: old.txt\n", 5, "no chunk"),
        ("*** Add File: new\n+x\n*** Update File: old.txt\n@@\nold\n", 6, "three signs"),
        ("*** Add File: new\n+x\n*** Delete File: old.txt\n-old\n", 5, "expected"),
        ("*** Add File: new\n+x\n*** Add File: new\n+y\n", 4, "contradicts"),
        (
            "*** Add File: new\n+x\n*** Update File: old.txt\n-old\n+o\n*** Move to: b\n",
            7,
            "expected",
        ),
        ("", 2, "no section"),
    ] {
        let workspace = before_the_envelope();
        let patch = format!("*** Begin Patch\n{body}*** End Patch\n");
        let (code, message) = refused(&workspace, "apply_patch_freeform", json!({"patch": patch}));
        assert_eq!(code, "INVALID_ARGUMENTS", "{body}: {message}");
        assert!(message.contains(&format!("line {line}")), "{body}: {message}");
        assert!(message.to_lowercase().contains(&words.to_lowercase()), "{body}: {message}");
        assert!(!workspace.has("/new"), "{body}");
        assert_eq!(workspace.bytes("/old.txt"), b"old\n", "{body}");
    }
    let workspace = before_the_envelope();
    for patch in
        ["*** Add File: new\n+x\n*** End Patch\n", "*** Begin Patch\n*** Add File: new\n+x\n"]
    {
        let (_, message) = refused(&workspace, "apply_patch_freeform", json!({"patch": patch}));
        assert!(message.contains("expected") && message.contains("line "), "{message}");
    }
}
