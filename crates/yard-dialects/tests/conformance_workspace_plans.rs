//! What the document of `workspace` asks of questions, of the way out of plan mode, of plans, of paths and of
//! failures, where no other test holds it. `docs/conformance.md` says which test holds what.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use std::collections::BTreeSet;

use crate::support::{each, fails, invalid, is_hash, is_time, is_uuid_v7, lines, ok};
use serde_json::{Map, Value, json};
use yard_core::{ChatId, FaultCode, QuestionId};
use yard_dialects::Answer;
use yard_gate::{MessageRole, Mode, Session, Via};
use yard_testkit::TestWorkspace;

const PLAN: &str = "/plans/bold-meadow-quest.plan";

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn call(workspace: &TestWorkspace, session: &Session, tool: &str, args: Value) -> Answer {
    workspace.call_as(session, "workspace", tool, args)
}

fn one_question(schema: &Value) -> Value {
    json!({"questions": [{"name": "q", "question": "Which one?", "schema": schema}]})
}

fn accept_or_reject() -> Value {
    one_question(&json!({"type": "string", "enum": ["Accept", "Reject"]}))
}

fn question_id(result: &Value) -> QuestionId {
    result["question_id"].as_str().unwrap().parse().unwrap()
}

/// A person answers the question `q`.
fn answer(
    workspace: &TestWorkspace,
    id: QuestionId,
    value: &Value,
    via: Via,
) -> Result<(), FaultCode> {
    let answers: Map<String, Value> = Map::from_iter([("q".to_owned(), value.clone())]);
    let answered =
        workspace.person().questions().answer(&workspace.call_context(), id, &answers, via);
    answered.map(|_| ()).map_err(|fault| fault.code())
}

/// A chat in plan mode, the agent in it, and a plan that it wrote.
fn planning(workspace: &TestWorkspace) -> (ChatId, Session) {
    let chat =
        workspace.session().chats().make(&workspace.call_context(), "Planning", None).unwrap();
    let agent = workspace.session().in_chat(chat.id).unwrap();
    let args = json!({"title": "T", "content": "# Do it\n", "path": PLAN});
    assert!(call(workspace, &agent, "plan_write", args).ok);
    (chat.id, agent)
}

#[test]
fn ask_user_takes_any_kind_of_schema_and_an_answer_must_keep_it() {
    let workspace = TestWorkspace::new();
    let letters = json!({"type": "string", "pattern": "^[a-z0-9]+$", "minLength": 3});
    let several = json!({"type": "array", "items": {"type": "string", "enum": ["A", "B", "C"]},
        "minItems": 1});
    let number = json!({"type": "number", "minimum": 1, "maximum": 100});
    let host = json!({"type": "object", "required": ["host"], "additionalProperties": false,
        "properties": {"host": {"type": "string"}, "port": {"type": "integer"}}});
    for (schema, good, bad) in [
        (json!({"type": "string", "enum": ["Yes", "No"]}), json!("No"), json!("no")),
        (letters.clone(), json!("abc1"), json!("ab")),
        (letters, json!("abc"), json!("ABC")),
        (number.clone(), json!(100), json!(101)),
        (number, json!(1.5), json!("1.5")),
        (several.clone(), json!(["A", "C"]), json!([])),
        (several, json!(["B"]), json!(["D"])),
        (json!({"type": "boolean"}), json!(false), json!("false")),
        (host.clone(), json!({"host": "a", "port": 80}), json!({"port": 80})),
        (host, json!({"host": "a"}), json!({"host": "a", "user": "b"})),
        (json!({"oneOf": [{"type": "null"}, {"type": "integer"}]}), Value::Null, json!("x")),
        (
            json!({"$ref": "#/$defs/port", "$defs": {"port": {"type": "integer"}}}),
            json!(80),
            json!("80"),
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "const": "x"}),
            json!("x"),
            json!("y"),
        ),
        (
            json!({"type": "string", "pattern": "^(?=.*[A-Z])(?=.*[0-9])(?!.*(.)\\1).{4,}$"}),
            json!("Abc1"),
            json!("Abb1"),
        ),
    ] {
        for sent in [schema.clone(), json!(schema.to_string())] {
            let asked = ok(&workspace, "ask_user", one_question(&sent));
            assert_eq!(asked["questions"][0]["schema"], schema);
            let id = question_id(&asked);
            let refused = answer(&workspace, id, &bad, Via::Text);
            assert_eq!(refused, Err(FaultCode::BadArgument), "{bad} {schema}");
            assert_eq!(answer(&workspace, id, &good, Via::Text), Ok(()), "{good} {schema}");
        }
    }
}

#[test]
fn w15_a_schema_is_an_object_that_needs_no_other_document() {
    let workspace = TestWorkspace::new();
    for schema in [
        json!(true),
        json!("true"),
        json!(5),
        json!({"type": "strin"}),
        json!({"type": "string", "pattern": "("}),
        json!({"$ref": "https://example.com/schema.json"}),
    ] {
        invalid(&workspace, "ask_user", one_question(&schema), "questions[0].schema");
    }
}

#[test]
fn ask_user_answers_with_its_questions_and_nothing_that_was_not_sent() {
    let workspace = TestWorkspace::new();
    let question =
        |name: &str| json!({"name": name, "question": "?", "schema": "{\"type\": \"string\"}"});
    let names = ["a", "b", "c", "d", "e"];
    for count in 1..=4 {
        let questions: Vec<Value> = names[..count].iter().map(|name| question(name)).collect();
        let asked = ok(&workspace, "ask_user", json!({"questions": questions}));
        assert_eq!(each(&asked["questions"], "name"), names[..count]);
        let expected = ["status", "question_id", "questions", "message"];
        assert_eq!(keys(&asked), BTreeSet::from(expected));
        assert_eq!(keys(&asked["questions"][0]), BTreeSet::from(["name", "question", "schema"]));
        assert_eq!(asked["status"], "question_pending");
    }
    for count in [0, 5] {
        let questions: Vec<Value> = names[..count].iter().map(|name| question(name)).collect();
        let refused = invalid(&workspace, "ask_user", json!({"questions": questions}), "questions");
        assert!(refused.contains("1 to 4"), "{refused}");
    }
    let ids: Vec<Value> = (0..3)
        .map(|_| ok(&workspace, "ask_user", accept_or_reject())["question_id"].clone())
        .collect();
    assert!(ids.iter().all(is_uuid_v7), "{ids:?}");
    // They begin with the millisecond in which they were made.
    assert!(ids.is_sorted_by_key(|id| id.as_str().unwrap()[..13].to_owned()), "{ids:?}");
}

#[test]
fn ask_user_names_the_field_that_is_missing_or_wrong() {
    let workspace = TestWorkspace::new();
    let whole = accept_or_reject();
    for field in ["name", "question", "schema"] {
        let mut without = whole.clone();
        without["questions"][0].as_object_mut().unwrap().remove(field);
        let at = format!("questions[0].{field}");
        assert!(invalid(&workspace, "ask_user", without, &at).starts_with("missing"), "{field}");
    }
    for (field, wrong) in [("name", json!([])), ("question", json!({})), ("buttons", json!("x"))] {
        let mut with = whole.clone();
        with["questions"][0][field] = wrong;
        invalid(&workspace, "ask_user", with, &format!("questions[0].{field}"));
    }
    for field in ["label", "value"] {
        let mut with = whole.clone();
        let mut button = json!({"label": "Accept", "value": "Accept"});
        button.as_object_mut().unwrap().remove(field);
        with["questions"][0]["buttons"] = json!([button]);
        invalid(&workspace, "ask_user", with, &format!("questions[0].buttons[0].{field}"));
    }
    invalid(&workspace, "ask_user", json!({"questions": "x"}), "questions");
}

#[test]
fn w15_a_click_is_told_from_typed_words_in_the_answer_of_ask_user() {
    let workspace = TestWorkspace::new();
    for (via, word) in [(Via::Button, "button"), (Via::Text, "text")] {
        let asked = workspace.call("ask_user", accept_or_reject());
        let id = question_id(&asked.body["result"]);
        // A click gives one of the choices, exactly.
        for wrong in ["accept", "ACCEPT", "Accept ", "yes"] {
            let refused = answer(&workspace, id, &json!(wrong), via);
            assert_eq!(refused, Err(FaultCode::BadArgument), "{wrong}");
        }
        answer(&workspace, id, &json!("Accept"), via).unwrap();
        let (session, call) = (workspace.session(), workspace.call_context());
        let pending = asked.pending.unwrap();
        let heard = workspace.catalog().resume("workspace", "ask_user", &pending, &session, &call);
        let result = &heard.body["result"];
        assert_eq!(
            (&result["status"], &result["answers"], &result["via"]),
            (&json!("answered"), &json!({"q": "Accept"}), &json!(word))
        );
    }
}

#[test]
fn w16_words_in_the_chat_are_no_approval() {
    let workspace = TestWorkspace::new();
    let (chat, agent) = planning(&workspace);
    let leave = json!({"plan_file_path": PLAN});
    let said = ["do it", "looks good", "go ahead", "I approve", "Accept", "{\"q\": \"Accept\"}"];
    for words in said {
        workspace
            .person()
            .chats()
            .post(&workspace.call_context(), chat, MessageRole::User, words)
            .unwrap();
        let left = call(&workspace, &agent, "exit_plan_mode", leave.clone());
        assert_eq!((left.status, &left.body["code"]), (403, &json!("FORBIDDEN")), "{words}");
        let error = left.body["error"].as_str().unwrap();
        assert!(error.contains("no person was asked") && error.contains("ask_user"), "{error}");
    }
    assert_eq!(agent.mode().unwrap(), Mode::Plan);
    // A question whose choices are others is none about the plan.
    let other = one_question(&json!({"type": "string", "enum": ["Accept", "Reject", "Later"]}));
    let asked = call(&workspace, &agent, "ask_user", other);
    let id = question_id(&asked.body["result"]);
    answer(&workspace, id, &json!("Accept"), Via::Button).unwrap();
    assert_eq!(call(&workspace, &agent, "exit_plan_mode", leave.clone()).status, 403);
    let asked = call(&workspace, &agent, "ask_user", accept_or_reject());
    let id = question_id(&asked.body["result"]);
    answer(&workspace, id, &json!("Accept"), Via::Button).unwrap();
    let left = call(&workspace, &agent, "exit_plan_mode", leave);
    assert!(left.ok, "{}", left.body);
    assert_eq!(keys(&left.body["result"]), BTreeSet::from(["mode", "plan_file", "hash"]));
    assert_eq!(agent.mode().unwrap(), Mode::Build);
    let chat = workspace.person().chats().get(chat).unwrap();
    assert_eq!(chat.mode, Mode::Build, "the chat's own record says so");
}

#[test]
fn w17_a_plan_may_have_any_name_that_ends_in_plan() {
    let workspace = TestWorkspace::new();
    for path in ["/plans/implementation.plan", "/docs/my-plan.plan"] {
        let args = json!({"title": "T", "content": "Do it.", "path": path});
        assert_eq!(ok(&workspace, "plan_write", args)["path"], path);
        let id = question_id(&ok(&workspace, "ask_user", accept_or_reject()));
        answer(&workspace, id, &json!("Accept"), Via::Button).unwrap();
        assert_eq!(
            ok(&workspace, "exit_plan_mode", json!({"plan_file_path": path}))["mode"],
            "build"
        );
    }
    let missing = invalid(&workspace, "exit_plan_mode", json!({}), "plan_file_path");
    assert!(missing.starts_with("missing"), "{missing}");
}

#[test]
fn plan_write_puts_front_matter_before_the_content_and_makes_a_plan() {
    let workspace = TestWorkspace::new();
    let content = "# Overview\n\n- one\n";
    let made = ok(&workspace, "plan_write", json!({"title": "Feature", "content": content}));
    let expected = ["path", "file_id", "version_id", "hash", "metadata"];
    assert_eq!(keys(&made), BTreeSet::from(expected));
    let metadata = &made["metadata"];
    assert_eq!(keys(metadata), BTreeSet::from(["title", "status", "created_at"]));
    assert_eq!(metadata["status"], "draft", "the default");
    let path = made["path"].as_str().unwrap();
    let written = String::from_utf8(workspace.bytes(path)).unwrap();
    let made_at = metadata["created_at"].as_str().unwrap();
    let head = format!("---\ntitle: \"Feature\"\nstatus: draft\ncreated_at: {made_at}\n---\n");
    assert_eq!(written, head + content);
    let info = ok(&workspace, "file_info", json!({"path": path}));
    assert_eq!((&info["file_type"], &info["hash"]), (&json!("plan"), &made["hash"]));
    for missing in ["title", "content"] {
        let mut args = json!({"title": "T", "content": "C"});
        args.as_object_mut().unwrap().remove(missing);
        invalid(&workspace, "plan_write", args, missing);
    }
    // The same once more: the version is one that there is.
    let again = json!({"title": "Feature", "content": content, "path": path, "status": "draft"});
    let again = ok(&workspace, "plan_write", again);
    for field in ["file_id", "version_id", "hash", "metadata"] {
        assert_eq!(again[field], made[field], "{field}");
    }
}

#[test]
fn plan_write_and_plan_list_know_four_statuses() {
    let workspace = TestWorkspace::new();
    let statuses = ["draft", "approved", "implemented", "archived"];
    for status in statuses {
        let path = format!("/plans/is-{status}.plan");
        let args = json!({"title": status, "content": "x", "path": path, "status": status});
        assert_eq!(ok(&workspace, "plan_write", args)["metadata"]["status"], status);
    }
    for status in statuses {
        let listed = ok(&workspace, "plan_list", json!({"status": status}));
        assert_eq!(each(&listed["plans"], "name"), [format!("is-{status}")]);
        let plan = &listed["plans"][0];
        assert_eq!(keys(plan), BTreeSet::from(["path", "name", "metadata"]));
        assert_eq!(plan["path"], format!("/plans/is-{status}.plan"));
        assert_eq!(
            (&plan["metadata"]["title"], &plan["metadata"]["status"]),
            (&json!(status), &json!(status))
        );
        assert!(is_time(&plan["metadata"]["created_at"]), "{plan}");
        assert_eq!(listed["total"], 1);
    }
    for tool in ["plan_write", "plan_list"] {
        let args = json!({"title": "x", "content": "x", "status": "done"});
        let args = if tool == "plan_list" { json!({"status": "done"}) } else { args };
        assert!(invalid(&workspace, tool, args, "status").contains("draft, approved"), "{tool}");
    }
}

#[test]
fn plan_read_pages_the_body_by_path_and_by_name() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "plan_write", json!({"title": "T", "content": lines(600), "path": PLAN}));
    let by_path = ok(&workspace, "plan_read", json!({"path": PLAN}));
    for name in ["bold-meadow-quest", "bold-meadow-quest.plan"] {
        assert_eq!(ok(&workspace, "plan_read", json!({"name": name})), by_path, "{name}");
    }
    assert_eq!(by_path["content"], lines(500), "500 lines by default, without front matter");
    assert_eq!(
        (&by_path["total_lines"], &by_path["truncated"], &by_path["cursor"]),
        (&json!(600), &json!(true), &json!(500))
    );
    assert!(is_hash(&by_path["hash"]));
    let rest = ok(&workspace, "plan_read", json!({"path": PLAN, "cursor": 500, "offset": 98}));
    assert_eq!((&rest["content"], &rest["offset"]), (&json!("line 598\nline 599\n"), &json!(598)));
    let some = ok(&workspace, "plan_read", json!({"path": PLAN, "offset": 10, "limit": 2}));
    assert_eq!(some["content"], "line 10\nline 11\n");
    let legacy = "# No front matter\n\nx";
    workspace.put("/plans/legacy.plan", legacy);
    let read = ok(&workspace, "plan_read", json!({"name": "legacy"}));
    assert_eq!((&read["metadata"], &read["content"]), (&Value::Null, &json!(legacy)));
}

#[test]
fn plan_read_finds_by_name_whatever_plan_list_names() {
    let workspace = TestWorkspace::new();
    for path in [
        "/plans/a.plan",
        "/plans/sub/a.plan",
        "/plans/sub/b.plan",
        "/plans/x/c.plan",
        "/plans/y/c.plan",
    ] {
        let args = json!({"title": path, "content": path, "path": path});
        ok(&workspace, "plan_write", args);
    }
    for (name, path) in
        [("a", "/plans/a.plan"), ("b", "/plans/sub/b.plan"), ("sub/a", "/plans/sub/a.plan")]
    {
        assert_eq!(ok(&workspace, "plan_read", json!({"name": name}))["path"], path, "{name}");
    }
    let several = invalid(&workspace, "plan_read", json!({"name": "c"}), "name");
    assert!(
        several.contains("/plans/x/c.plan") && several.contains("/plans/y/c.plan"),
        "{several}"
    );
    for name in ["none", "x/none", "x/b"] {
        let body = fails(&workspace, "plan_read", json!({"name": name}), 404, "NOT_FOUND");
        assert!(body["error"].as_str().unwrap().contains("/plans/"), "{body}");
    }
}

#[test]
fn plan_edit_replaces_or_inserts_and_keeps_the_front_matter() {
    let workspace = TestWorkspace::new();
    let made = ok(
        &workspace,
        "plan_write",
        json!({"title": "T", "content": "- Goal 1\n- Goal 2\n", "path": PLAN}),
    );
    let body = || ok(&workspace, "plan_read", json!({"path": PLAN}));
    let edited = ok(
        &workspace,
        "plan_edit",
        json!({"path": PLAN, "old_string": "Goal 1",
        "new_string": "Goal 1 (done)", "last_read_hash": made["hash"]}),
    );
    for field in ["path", "file_id", "version_id", "hash"] {
        assert!(edited[field].is_string(), "{field}: {edited}");
    }
    assert_eq!(body()["content"], "- Goal 1 (done)\n- Goal 2\n");
    ok(
        &workspace,
        "plan_edit",
        json!({"path": PLAN, "insert_line": 0, "insert_content": "# Goals"}),
    );
    let after = body();
    assert_eq!(after["content"], "# Goals\n- Goal 1 (done)\n- Goal 2\n");
    assert_eq!(after["metadata"], made["metadata"]);
    for (more, field) in [
        (json!({}), "old_string"),
        (json!({"old_string": "Goal 2"}), "new_string"),
        (json!({"new_string": "x"}), "old_string"),
        (json!({"insert_line": 0}), "insert_content"),
        (json!({"insert_content": "x"}), "insert_line"),
        (json!({"old_string": "- ", "new_string": "* "}), "old_string"),
        (json!({"old_string": "status: draft", "new_string": "status: approved"}), "old_string"),
        (
            json!({"old_string": "Goal 2", "new_string": "x", "last_read_hash": "abc"}),
            "last_read_hash",
        ),
    ] {
        let mut args = more;
        args["path"] = PLAN.into();
        invalid(&workspace, "plan_edit", args, field);
    }
    let both = json!({"path": PLAN, "old_string": "Goal 2", "new_string": "x", "insert_line": 0,
        "insert_content": "x"});
    fails(&workspace, "plan_edit", both, 400, "VALIDATION_ERROR");
    let stale = json!({"path": PLAN, "insert_line": 0, "insert_content": "x",
        "last_read_hash": made["hash"]});
    fails(&workspace, "plan_edit", stale, 409, "CONFLICT");
    let absent = json!({"path": "/plans/none.plan", "insert_line": 0, "insert_content": "x"});
    fails(&workspace, "plan_edit", absent, 404, "NOT_FOUND");
    workspace.put("/notes.md", "Goal 2\n");
    let other = json!({"path": "/notes.md", "old_string": "Goal 2", "new_string": "x"});
    assert!(invalid(&workspace, "plan_edit", other, "path").contains(".plan"));
    assert_eq!(body(), after, "what was refused changed nothing");
}

#[test]
fn plan_list_shows_the_fifty_newest_unless_told_otherwise() {
    let workspace = TestWorkspace::new();
    for nth in 0..52 {
        let head =
            format!("---\ntitle: t\nstatus: draft\ncreated_at: 2026-01-01T00:00:{nth:02}Z\n---\n");
        // The names run against the times.
        workspace.put(&format!("/plans/p{:02}.plan", 99 - nth), head);
    }
    let newest: Vec<String> = (0..52).rev().map(|nth| format!("p{:02}", 99 - nth)).collect();
    let listed = ok(&workspace, "plan_list", json!({}));
    assert_eq!(each(&listed["plans"], "name"), newest[..50]);
    assert_eq!((&listed["total"], &listed["truncated"]), (&json!(52), &json!(true)));
    let few = ok(&workspace, "plan_list", json!({"limit": 3}));
    assert_eq!(each(&few["plans"], "name"), newest[..3]);
    let all = ok(&workspace, "plan_list", json!({"limit": 100}));
    assert_eq!((each(&all["plans"], "name").len(), &all["truncated"]), (52, &json!(false)));
}

/// The same path with everything in it that is folded away.
fn spelled(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap();
    format!(" \t{}/.//x/../{name}// \n", folder.replace('/', "///"))
}

#[test]
fn every_tool_takes_a_path_in_any_spelling_and_answers_in_its_normal_form() {
    let workspace = TestWorkspace::new();
    workspace.put("/docs/a.txt", "needle\n");
    let a = spelled("/docs/a.txt");
    let plan = json!({"title": "T", "content": "x\n", "path": spelled(PLAN)});
    let leave = json!({"plan_file_path": spelled(PLAN)});
    let to = spelled("/docs/moved.txt");
    let to = to.trim_end().trim_end_matches('/');
    for (tool, args, at, expected) in [
        ("ls", json!({"path": spelled("/docs")}), "/path", "/docs"),
        ("ls", json!({"path": " // "}), "/path", "/"),
        ("ls", json!({"path": "docs"}), "/path", "/docs"),
        ("read", json!({"path": a}), "/path", "/docs/a.txt"),
        ("read", json!({"path": "docs/../docs/a.txt"}), "/path", "/docs/a.txt"),
        ("file_info", json!({"path": a}), "/path", "/docs/a.txt"),
        ("cat", json!({"paths": [a]}), "/files/0/path", "/docs/a.txt"),
        ("read_multiple_files", json!({"paths": [a]}), "/files/0/path", "/docs/a.txt"),
        (
            "grep",
            json!({"pattern": "needle", "path": spelled("/docs")}),
            "/matches/0/path",
            "/docs/a.txt",
        ),
        ("glob", json!({"pattern": "*", "path": spelled("/docs")}), "/base_path", "/docs"),
        ("find", json!({"path": spelled("/docs")}), "/matches/0/path", "/docs/a.txt"),
        (
            "edit",
            json!({"path": a, "old_string": "needle", "new_string": "n"}),
            "/path",
            "/docs/a.txt",
        ),
        ("write", json!({"path": spelled("/docs/b.txt"), "content": "b"}), "/path", "/docs/b.txt"),
        ("touch", json!({"path": spelled("/docs/c.txt")}), "/path", "/docs/c.txt"),
        ("mkdir", json!({"path": spelled("/docs/sub")}), "/path", "/docs/sub"),
        ("mv", json!({"source": a, "destination": to}), "/from_path", "/docs/a.txt"),
        (
            "mv",
            json!({"source": to, "destination": a.trim_end().trim_end_matches('/')}),
            "/to_path",
            "/docs/a.txt",
        ),
        ("rm", json!({"path": a}), "/path", "/docs/a.txt"),
        ("plan_write", plan, "/path", PLAN),
        ("plan_read", json!({"path": spelled(PLAN)}), "/path", PLAN),
        (
            "plan_edit",
            json!({"path": spelled(PLAN), "old_string": "x", "new_string": "y"}),
            "/path",
            PLAN,
        ),
    ] {
        let result = ok(&workspace, tool, args);
        assert_eq!(result.pointer(at), Some(&json!(expected)), "{tool}: {result}");
    }
    let id = question_id(&ok(&workspace, "ask_user", accept_or_reject()));
    answer(&workspace, id, &json!("Accept"), Via::Button).unwrap();
    assert_eq!(ok(&workspace, "exit_plan_mode", leave)["plan_file"], PLAN);
    for path in ["", "  "] {
        let why = invalid(&workspace, "ls", json!({"path": path}), "path");
        assert!(why.contains("the root of the workspace"), "R2: {why}");
    }
}

#[test]
fn failures_have_a_message_and_the_code_of_their_status() {
    let workspace = TestWorkspace::new();
    let unknown = fails(&workspace, "git_commit", json!({}), 404, "NOT_FOUND");
    let said = unknown["error"].as_str().unwrap();
    assert!(said.starts_with("Tool 'git_commit' not found"), "{said}");
    let path = "/nonexistent/file.txt";
    for (tool, args) in [
        ("read", json!({"path": path})),
        ("rm", json!({"path": path})),
        ("file_info", json!({"path": path})),
        ("edit", json!({"path": path, "old_string": "a", "new_string": "b"})),
        ("ls", json!({"path": path})),
    ] {
        let body = fails(&workspace, tool, args, 404, "NOT_FOUND");
        assert!(body["error"].as_str().unwrap().contains(path), "{tool}: {body}");
    }
    for args in [json!({}), json!({"path": 1}), json!({"path": null}), json!({"path": []})] {
        invalid(&workspace, "read", args, "path");
    }
}

#[test]
fn an_empty_workspace_and_folders_in_folders_are_listed() {
    let workspace = TestWorkspace::new();
    for args in [json!({}), json!({"recursive": true})] {
        let listed = ok(&workspace, "ls", args);
        assert_eq!((&listed["entries"], &listed["total"]), (&json!([]), &json!(0)));
    }
    ok(&workspace, "mkdir", json!({"path": "/a/b/c"}));
    assert_eq!(ok(&workspace, "ls", json!({"path": "/a/b/c"}))["entries"], json!([]));
    ok(&workspace, "write", json!({"path": "/a/b/d.txt", "content": "d"}));
    let flat = ok(&workspace, "ls", json!({"path": "/a"}));
    assert_eq!(each(&flat["entries"], "path"), ["/a/b"]);
    let deep = ok(&workspace, "ls", json!({"path": "/a", "recursive": true}));
    assert_eq!(each(&deep["entries"], "path"), ["/a/b", "/a/b/c", "/a/b/d.txt"]);
}
