//! W15 to W17 from the outside: questions and their answers, plan mode and the way out of it, plans and
//! their front matter.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use crate::support::{each, fails, invalid, is_time, ok};
use serde_json::{Map, Value, json};
use yard_core::{ChatId, FaultCode, QuestionId};
use yard_dialects::Answer;
use yard_gate::{
    Actor, Awaited, CallerPolicy, Event, MessageRole, Mode, QuestionFilter, Session, TurnKind, Via,
};
use yard_testkit::TestWorkspace;

const PLAN: &str = "/plans/bold-meadow-quest.plan";

fn accept_or_reject() -> Value {
    json!({"questions": [{
        "name": "approval",
        "question": "Review the plan. Ready to build?",
        "schema": {"type": "string", "enum": ["Accept", "Reject"]},
        "buttons": [
            {"label": "Accept", "value": "Accept"},
            {"label": "Reject", "value": "Reject"}
        ]
    }]})
}

fn call(workspace: &TestWorkspace, session: &Session, tool: &str, args: Value) -> Answer {
    workspace.call_as(session, "workspace", tool, args)
}

fn question_id(result: &Value) -> QuestionId {
    result["question_id"].as_str().unwrap().parse().unwrap()
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn answer(
    workspace: &TestWorkspace,
    id: QuestionId,
    answers: Value,
    via: Via,
) -> Result<(), FaultCode> {
    let answered =
        workspace.person().questions().answer(&workspace.call_context(), id, &map(answers), via);
    answered.map(|_| ()).map_err(|fault| fault.code())
}

/// A chat in plan mode, and the agent in it.
fn planning(workspace: &TestWorkspace) -> (ChatId, Session) {
    let chat =
        workspace.session().chats().make(&workspace.call_context(), "Planning", None).unwrap();
    assert_eq!(chat.mode, Mode::Plan);
    (chat.id, workspace.session().in_chat(chat.id).unwrap())
}

fn write_plan(workspace: &TestWorkspace, session: &Session) {
    let args = json!({"title": "T", "content": "# Do it\n", "path": PLAN});
    let wrote = call(workspace, session, "plan_write", args);
    assert!(wrote.ok, "{}", wrote.body);
}

fn ask(workspace: &TestWorkspace, session: &Session) -> QuestionId {
    let asked = call(workspace, session, "ask_user", accept_or_reject());
    assert!(asked.ok, "{}", asked.body);
    question_id(&asked.body["result"])
}

fn leave(workspace: &TestWorkspace, session: &Session) -> Answer {
    call(workspace, session, "exit_plan_mode", json!({"plan_file_path": PLAN}))
}

#[track_caller]
fn stays(workspace: &TestWorkspace, session: &Session, why: &str) {
    let left = leave(workspace, session);
    assert_eq!((left.status, &left.body["code"]), (403, &json!("FORBIDDEN")), "{}", left.body);
    let error = left.body["error"].as_str().unwrap();
    assert!(error.contains(why), "{error}");
}

#[test]
fn w15_a_question_is_durable_and_answered_once() {
    let workspace = TestWorkspace::new();
    let asked = workspace.call(
        "ask_user",
        json!({"wait_ms": "1500", "questions": [{
            "name": "n", "question": "How many?", "schema": "{\"type\":\"integer\",\"minimum\":1}"
        }]}),
    );
    let id = question_id(&asked.body["result"]);
    let pending = asked.pending.clone().unwrap();
    assert_eq!((pending.awaited.clone(), pending.wait_ms), (Awaited::Question(id), Some(1500)));
    let workspace = workspace.reopen();
    let resume = |workspace: &TestWorkspace| {
        let (session, call) = (workspace.session(), workspace.call_context());
        workspace.catalog().resume("workspace", "ask_user", &pending, &session, &call)
    };
    let waiting = resume(&workspace);
    assert_eq!(waiting.body["result"]["status"], "question_pending");
    assert_eq!(waiting.pending.as_ref(), Some(&pending));
    for wrong in [json!({"n": 0}), json!({"n": "x"}), json!({}), json!({"n": 1, "m": 1})] {
        assert_eq!(answer(&workspace, id, wrong, Via::Text), Err(FaultCode::BadArgument));
    }
    assert_eq!(answer(&workspace, id, json!({"n": 3}), Via::Button), Err(FaultCode::BadArgument));
    assert_eq!(answer(&workspace, id, json!({"n": 3}), Via::Text), Ok(()));
    assert_eq!(answer(&workspace, id, json!({"n": 4}), Via::Text), Err(FaultCode::Exists));
    let workspace = workspace.reopen();
    let answered = resume(&workspace);
    assert_eq!(answered.body["result"]["status"], "answered");
    assert_eq!(answered.body["result"]["answers"], json!({"n": 3}));
    assert_eq!((answered.status, answered.pending), (200, None));
    let kept = workspace.person().questions().get(id).unwrap().answer.unwrap();
    assert_eq!((kept.by.as_str(), kept.via), ("person:local", Via::Text));
}

#[test]
fn w15_of_two_who_answer_at_once_one_wins() {
    let workspace = TestWorkspace::new();
    let id = ask(&workspace, &workspace.session());
    let won = std::thread::scope(|scope| {
        let answers: Vec<_> = (0..8)
            .map(|n| {
                let word = if n % 2 == 0 { "Accept" } else { "Reject" };
                let workspace = &workspace;
                scope.spawn(move || answer(workspace, id, json!({"approval": word}), Via::Button))
            })
            .collect();
        answers.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(won.iter().filter(|one| one.is_ok()).count(), 1, "{won:?}");
    assert!(won.iter().filter_map(|one| one.err()).all(|code| code == FaultCode::Exists));
}

#[test]
fn w15_a_wrong_question_is_told_where() {
    let workspace = TestWorkspace::new();
    let one = |schema: Value, buttons: Value| json!({"questions": [{"name": "a", "question": "?", "schema": schema, "buttons": buttons}]});
    invalid(&workspace, "ask_user", json!({"questions": []}), "questions");
    invalid(&workspace, "ask_user", json!({}), "questions");
    invalid(&workspace, "ask_user", one(json!("{"), json!([])), "questions[0].schema");
    invalid(&workspace, "ask_user", one(json!({"type": "x"}), json!([])), "questions[0].schema");
    let button = json!([{"label": "a", "value": "a"}]);
    let several = json!({"type": "array", "items": {"enum": ["a"]}});
    invalid(&workspace, "ask_user", one(several, button), "questions[0].buttons");
    let filter = QuestionFilter::default();
    assert!(workspace.person().questions().list(filter, None, 9).unwrap().rows.is_empty());
}

#[test]
fn w15_only_a_person_answers_and_a_reader_does_nothing() {
    let workspace = TestWorkspace::new();
    let id = ask(&workspace, &workspace.session());
    let given = map(json!({"approval": "Accept"}));
    let by = |session: &Session| {
        let answered =
            session.questions().answer(&workspace.call_context(), id, &given, Via::Button);
        answered.map(|_| ()).map_err(|fault| fault.code())
    };
    assert_eq!(by(&workspace.session()), Err(FaultCode::Denied));
    let reader = workspace.session_of(Actor::LocalPerson, CallerPolicy::ReadOnly);
    assert_eq!(by(&reader), Err(FaultCode::Denied));
    let call = workspace.call_context();
    let denied = [
        reader.chats().make(&call, "x", None).map(|_| ()),
        reader.chats().post(&call, ChatId::new(call.world()), MessageRole::User, "x").map(|_| ()),
        reader.chats().set_mode(&call, ChatId::new(call.world()), Mode::Plan).map(|_| ()),
    ];
    for fault in denied.map(Result::unwrap_err) {
        assert_eq!(fault.code(), FaultCode::Denied);
    }
    let agent = workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly);
    let asked =
        workspace.catalog().call("workspace", "ask_user", accept_or_reject(), &agent, &call);
    assert_eq!(asked.status, 403);
    assert_eq!(by(&workspace.person()), Ok(()));
}

#[test]
fn r16_an_agent_reads_its_own_questions_only() {
    let workspace = TestWorkspace::new();
    let id = ask(&workspace, &workspace.session());
    let key = yard_core::KeyId::new(workspace.call_context().world());
    let other = workspace.session_of(Actor::Key(key), CallerPolicy::Open);
    assert_eq!(other.questions().get(id).unwrap_err().code(), FaultCode::NotFound);
    let list = |session: &Session| {
        let page = session.questions().list(QuestionFilter::default(), None, 9).unwrap();
        page.rows.iter().map(|question| question.id).collect::<Vec<_>>()
    };
    assert_eq!((list(&other), list(&workspace.session())), (vec![], vec![id]));
    let theirs = ask(&workspace, &other);
    assert_eq!((list(&other), list(&workspace.session())), (vec![theirs], vec![id]));
    assert_eq!(list(&workspace.person()), [theirs, id]);
    let pending = yard_gate::Pending { awaited: Awaited::Question(id), wait_ms: None };
    let call = workspace.call_context();
    let resumed = workspace.catalog().resume("workspace", "ask_user", &pending, &other, &call);
    assert_eq!(resumed.status, 404);
}

#[test]
fn r14_a_call_without_a_chat_belongs_to_its_actor_s_default_one() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/a", "content": "x"}));
    assert!(
        workspace.person().chats().list(None, 9).unwrap().rows.is_empty(),
        "made only if needed"
    );
    let (first, second) =
        (ask(&workspace, &workspace.session()), ask(&workspace, &workspace.session()));
    let chats = workspace.person().chats().list(None, 9).unwrap().rows;
    assert_eq!(chats.len(), 1);
    assert_eq!((chats[0].mode, chats[0].default_of.as_deref()), (Mode::Build, Some("agent:local")));
    let chat_of = |id| workspace.person().questions().get(id).unwrap().chat;
    assert_eq!((chat_of(first), chat_of(second)), (chats[0].id, chats[0].id));
    let calls = workspace
        .person()
        .chats()
        .turns(&workspace.call_context(), chats[0].id, Some(TurnKind::Call), 0, 9)
        .unwrap();
    assert!(calls.rows.is_empty(), "calls are recorded in a chat that was named");
    let call = workspace.call_context();
    workspace.person().chats().set_mode(&call, chats[0].id, Mode::Plan).unwrap();
    fails(&workspace, "write", json!({"path": "/b", "content": "x"}), 403, "FORBIDDEN");
    let nowhere = workspace.session().in_chat(ChatId::new(call.world()));
    assert_eq!(nowhere.err().map(|fault| fault.code()), Some(FaultCode::NotFound));
}

#[test]
fn w16_in_plan_mode_only_plan_files_change() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/src/a.txt", "content": "a\n"}));
    ok(&workspace, "write", json!({"path": "/old.plan", "content": "a document\n"}));
    workspace.put("/disk.plan", "not typed\n");
    std::os::unix::fs::symlink("src/a.txt", workspace.root().join("link.plan")).unwrap();
    let (_, agent) = planning(&workspace);
    write_plan(&workspace, &agent);
    let before = support_tree(&workspace);
    for (tool, args) in [
        ("write", json!({"path": "/b.txt", "content": "x"})),
        ("write", json!({"path": "/src/a.txt", "content": "x", "overwrite": true})),
        ("write", json!({"path": "/link.plan", "content": "x", "overwrite": true})),
        ("write", json!({"path": "/old.plan", "content": "x", "overwrite": true})),
        ("write", json!({"path": "/x.plan/b.txt", "content": "x"})),
        ("edit", json!({"path": "/src/a.txt", "old_string": "a", "new_string": "b"})),
        ("edit", json!({"path": "/disk.plan", "old_string": "not", "new_string": "b"})),
        ("touch", json!({"path": "/src/a.txt"})),
        ("touch", json!({"path": "/new.txt"})),
        ("mkdir", json!({"path": "/folder"})),
        ("mkdir", json!({"path": "/folder.plan"})),
        ("rm", json!({"path": "/src/a.txt"})),
        ("rm", json!({"path": "/old.plan"})),
        ("mv", json!({"source": "/src/a.txt", "destination": "/src/a.plan"})),
        ("mv", json!({"source": PLAN, "destination": "/plans/a.txt"})),
        ("mv", json!({"source": "/plans", "destination": "/moved"})),
        ("plan_write", json!({"title": "x", "content": "x", "path": "/old.plan"})),
    ] {
        let refused = call(&workspace, &agent, tool, args.clone());
        assert_eq!(refused.status, 403, "{tool} {args}: {}", refused.body);
        let error = refused.body["error"].as_str().unwrap();
        assert!(error.contains("plan mode") && error.contains("exit_plan_mode"), "{error}");
    }
    // Nothing is ever overwritten by a move.
    let over = json!({"source": PLAN, "destination": "/old.plan"});
    assert_eq!(call(&workspace, &agent, "mv", over).status, 409);
    assert_eq!(support_tree(&workspace), before);
    for (tool, args) in [
        ("read", json!({"path": "/src/a.txt"})),
        ("plan_edit", json!({"path": PLAN, "old_string": "Do", "new_string": "Did"})),
        ("edit", json!({"path": PLAN, "old_string": "Did", "new_string": "Do"})),
        ("write", json!({"path": "/deep/er/b.plan", "content": "x", "file_type": "plan"})),
        ("mv", json!({"source": PLAN, "destination": "/plans/renamed.plan"})),
        ("rm", json!({"path": "/plans/renamed.plan"})),
        ("plan_write", json!({"title": "Another", "content": "x"})),
    ] {
        let done = call(&workspace, &agent, tool, args.clone());
        assert!(done.ok, "{tool} {args}: {}", done.body);
    }
    // The mode is the chat's: elsewhere nothing changed.
    ok(&workspace, "write", json!({"path": "/b.txt", "content": "x"}));
}

fn support_tree(workspace: &TestWorkspace) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut ahead = vec![workspace.root().to_owned()];
    while let Some(folder) = ahead.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                ahead.push(path.clone());
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            files.push((path.display().to_string(), bytes));
        }
    }
    files.sort();
    files
}

#[test]
fn w16_accepted_by_button_for_the_plan_as_it_is_and_once() {
    let workspace = TestWorkspace::new();
    let (chat, agent) = planning(&workspace);
    write_plan(&workspace, &agent);
    stays(&workspace, &agent, "no person was asked");
    let first = ask(&workspace, &agent);
    stays(&workspace, &agent, "not answered yet");
    answer(&workspace, first, json!({"approval": "Reject"}), Via::Button).unwrap();
    stays(&workspace, &agent, "not Accept");
    let second = ask(&workspace, &agent);
    answer(&workspace, second, json!({"approval": "Accept"}), Via::Text).unwrap();
    stays(&workspace, &agent, "by text");
    let third = ask(&workspace, &agent);
    answer(&workspace, third, json!({"approval": "Accept"}), Via::Button).unwrap();
    call(
        &workspace,
        &agent,
        "plan_edit",
        json!({"path": PLAN, "insert_line": 1, "insert_content": "x"}),
    );
    stays(&workspace, &agent, "changed after");
    assert_eq!(agent.mode().unwrap(), Mode::Plan);

    let fourth = ask(&workspace, &agent);
    answer(&workspace, fourth, json!({"approval": "Accept"}), Via::Button).unwrap();
    // Nobody else's approval, not even the same person's in another chat.
    stays(&workspace, &workspace.session(), "no person was asked in this chat");
    let left = leave(&workspace, &agent);
    assert!(left.ok, "{}", left.body);
    assert_eq!(left.body["result"]["mode"], "build");
    assert_eq!(left.body["result"]["plan_file"], PLAN);
    assert_eq!(workspace.person().chats().get(chat).unwrap().mode, Mode::Build);
    let plan = call(&workspace, &agent, "plan_read", json!({"path": PLAN})).body;
    assert_eq!(plan["result"]["metadata"]["status"], "approved");
    assert_eq!(plan["result"]["content"], "# Do it\nx\n");
    assert!(call(&workspace, &agent, "write", json!({"path": "/a", "content": "x"})).ok);
    // The answer is used, and the plan is another by its new status.
    workspace.person().chats().set_mode(&workspace.call_context(), chat, Mode::Plan).unwrap();
    stays(&workspace, &agent, "used already");
}

#[test]
fn w16_a_later_answer_counts_for_more_than_an_earlier_one() {
    let workspace = TestWorkspace::new();
    let (_, agent) = planning(&workspace);
    write_plan(&workspace, &agent);
    let (first, second) = (ask(&workspace, &agent), ask(&workspace, &agent));
    answer(&workspace, second, json!({"approval": "Accept"}), Via::Button).unwrap();
    // The times of answers have milliseconds.
    let clock = workspace.call_context();
    let answered_at = clock.world().now();
    while clock.world().now() <= answered_at {
        std::thread::yield_now();
    }
    answer(&workspace, first, json!({"approval": "Reject"}), Via::Button).unwrap();
    stays(&workspace, &agent, "not Accept");
}

#[test]
fn w16_an_accept_is_for_the_one_plan_that_was_asked_about() {
    let workspace = TestWorkspace::new();
    let (_, agent) = planning(&workspace);
    write_plan(&workspace, &agent);
    let another = "/plans/other-river-lamp.plan";
    let plan_of = |id| {
        let question = workspace.person().questions().get(id).unwrap();
        question.plan().map(|(path, hash)| (path.to_string(), hash.to_string()))
    };
    let hash_of = |path: &str| {
        let read = call(&workspace, &agent, "file_info", json!({"path": path}));
        read.body["result"]["hash"].as_str().unwrap_or_else(|| panic!("{}", read.body)).to_owned()
    };
    let leave_with =
        |path: &str| call(&workspace, &agent, "exit_plan_mode", json!({"plan_file_path": path}));
    let accept = |id| answer(&workspace, id, json!({"approval": "Accept"}), Via::Button);

    let first = ask(&workspace, &agent);
    assert_eq!(plan_of(first), Some((PLAN.to_owned(), hash_of(PLAN))));
    let args = json!({"title": "U", "content": "# Do more\n", "path": another});
    assert!(call(&workspace, &agent, "plan_write", args).ok);
    // The person may look at the other plan by now.
    assert_eq!(accept(first), Err(FaultCode::Stale));
    assert_eq!(leave_with(PLAN).status, 403);

    let second = ask(&workspace, &agent);
    assert_eq!(plan_of(second), Some((another.to_owned(), hash_of(another))));
    accept(second).unwrap();
    assert_eq!(leave_with(PLAN).status, 403, "nobody was asked about that one");
    assert!(leave_with(another).ok);
    let plain =
        json!({"questions": [{"name": "why", "question": "Why?", "schema": {"type": "string"}}]});
    let plain = call(&workspace, &agent, "ask_user", plain).body;
    assert_eq!(plan_of(question_id(&plain["result"])), None);
}

#[test]
fn w16_one_accept_opens_one_door() {
    let workspace = TestWorkspace::new();
    let (_, agent) = planning(&workspace);
    write_plan(&workspace, &agent);
    let id = ask(&workspace, &agent);
    answer(&workspace, id, json!({"approval": "Accept"}), Via::Button).unwrap();
    let left = std::thread::scope(|scope| {
        let (workspace, agent) = (&workspace, &agent);
        let leaving: Vec<_> =
            (0..6).map(|_| scope.spawn(move || leave(workspace, agent).status)).collect();
        leaving.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(left.iter().filter(|status| **status == 200).count(), 1, "{left:?}");
    assert!(left.iter().all(|status| [200, 403, 409].contains(status)), "{left:?}");
}

#[test]
fn w16_the_default_chat_in_build_mode_can_leave_too_and_records_what_was_sent() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": PLAN, "content": "# By hand\n", "file_type": "plan"}));
    let id = ask(&workspace, &workspace.session());
    answer(&workspace, id, json!({"approval": "Accept"}), Via::Button).unwrap();
    let args = json!({
        "plan_file_path": PLAN, "allowedPrompts": ["x"], "pushToRemote": true,
        "remoteSessionId": "r1", "remoteSessionUrl": "u", "remoteSessionTitle": "t"
    });
    ok(&workspace, "exit_plan_mode", args);
    let metadata = ok(&workspace, "plan_read", json!({"path": PLAN}))["metadata"].clone();
    assert_eq!(metadata["title"], "By hand");
    assert_eq!(metadata["status"], "approved");
    assert!(is_time(&metadata["created_at"]), "{metadata}");
    let chat = workspace.session().current_chat().unwrap().unwrap().id;
    let turns = workspace
        .person()
        .chats()
        .turns(&workspace.call_context(), chat, Some(TurnKind::Mode), 0, 9)
        .unwrap()
        .rows;
    let data: Value = serde_json::from_str(&turns[0].data).unwrap();
    assert_eq!(data["notes"]["remoteSessionId"], "r1");
    assert_eq!(data["notes"]["allowedPrompts"], json!(["x"]));
}

#[test]
fn w16_what_is_no_plan_cannot_be_left_with() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/a.plan", "content": "x"}));
    ok(&workspace, "write", json!({"path": "/a.txt", "content": "x", "file_type": "plan"}));
    ok(&workspace, "write", json!({"path": "/empty.plan", "content": " \n", "file_type": "plan"}));
    let field = "plan_file_path";
    let not = |path: &str| invalid(&workspace, "exit_plan_mode", json!({field: path}), field);
    assert!(not("/a.plan").starts_with("File is not a plan file"));
    assert!(not("/a.txt").contains(".plan"));
    assert!(not("/empty.plan").contains("empty"));
    fails(&workspace, "exit_plan_mode", json!({field: "/none.plan"}), 404, "NOT_FOUND");
}

#[test]
fn w16_an_agent_never_opens_build_mode() {
    let workspace = TestWorkspace::new();
    let call = workspace.call_context();
    let (chat, agent) = planning(&workspace);
    let refused = agent.chats().make(&call, "x", Some(Mode::Build)).unwrap_err();
    assert_eq!(refused.code(), FaultCode::Denied);
    let refused = agent.chats().set_mode(&call, chat, Mode::Build).unwrap_err();
    assert_eq!(refused.code(), FaultCode::Denied);
    assert_eq!(
        workspace.person().chats().set_mode(&call, chat, Mode::Build).unwrap().mode,
        Mode::Build
    );
    assert_eq!(agent.chats().set_mode(&call, chat, Mode::Plan).unwrap().mode, Mode::Plan);
    let person = workspace.person();
    assert_eq!(person.chats().make(&call, "x", None).unwrap().mode, Mode::Build);
    for title in ["", " ", &"x".repeat(201)] {
        let code = person.chats().make(&call, title, None).unwrap_err().code();
        assert_eq!(code, FaultCode::BadArgument);
    }
}

#[test]
fn w17_an_update_keeps_created_at_and_what_is_not_known() {
    let workspace = TestWorkspace::new();
    let made =
        ok(&workspace, "plan_write", json!({"title": "One", "content": "a\n", "path": PLAN}));
    let with_more =
        String::from_utf8(workspace.bytes(PLAN)).unwrap().replacen("---\n", "---\nowner: me\n", 1);
    ok(&workspace, "write", json!({"path": PLAN, "content": with_more, "overwrite": true}));
    let args =
        json!({"title": "Two: \"x\"", "content": "b", "path": PLAN, "status": "IMPLEMENTED"});
    let updated = ok(&workspace, "plan_write", args);
    assert_eq!(updated["metadata"]["created_at"], made["metadata"]["created_at"]);
    assert_eq!(updated["metadata"]["title"], "Two: \"x\"");
    assert_eq!(updated["file_id"], made["file_id"]);
    let read = ok(&workspace, "plan_read", json!({"path": PLAN}));
    assert_eq!((&read["metadata"], &read["hash"]), (&updated["metadata"], &updated["hash"]));
    assert_eq!((&read["content"], &read["total_lines"]), (&json!("b"), &json!(1)));
    assert!(String::from_utf8(workspace.bytes(PLAN)).unwrap().contains("\nowner: me\n"));
    assert_eq!(ok(&workspace, "file_info", json!({"path": PLAN}))["file_type"], "plan");
    for (args, field) in [
        (json!({"title": "x", "content": "x", "path": "/plans/a.md"}), "path"),
        (json!({"title": "x", "content": "x", "status": "done"}), "status"),
        (json!({"title": " ", "content": "x"}), "title"),
    ] {
        invalid(&workspace, "plan_write", args, field);
    }
    invalid(&workspace, "plan_list", json!({"status": "done"}), "status");
    invalid(&workspace, "plan_read", json!({}), "path");
    invalid(&workspace, "plan_read", json!({"path": PLAN, "name": "x"}), "name");
    fails(&workspace, "plan_read", json!({"name": "none"}), 404, "NOT_FOUND");
}

#[test]
fn w17_names_are_three_words_and_never_taken() {
    let workspace = TestWorkspace::new();
    let mut names = std::collections::BTreeSet::new();
    for _ in 0..30 {
        let made = ok(&workspace, "plan_write", json!({"title": "x", "content": "x"}));
        let path = made["path"].as_str().unwrap().to_owned();
        let name = path.strip_prefix("/plans/").and_then(|name| name.strip_suffix(".plan"));
        assert_eq!(name.unwrap().split('-').count(), 3, "{path}");
        names.insert(path);
    }
    assert_eq!(names.len(), 30);
}

#[test]
fn w17_line_numbers_and_edits_see_the_body_only() {
    let workspace = TestWorkspace::new();
    let content = "title: one\ntwo\nthree\n";
    ok(&workspace, "plan_write", json!({"title": "one", "content": content, "path": PLAN}));
    let lines = ok(&workspace, "plan_read", json!({"path": PLAN, "offset": 1, "limit": 1}));
    assert_eq!((&lines["content"], &lines["cursor"]), (&json!("two\n"), &json!(2)));
    assert_eq!((&lines["total_lines"], &lines["truncated"]), (&json!(3), &json!(true)));
    let rest = ok(&workspace, "plan_read", json!({"path": PLAN, "cursor": 2}));
    assert_eq!((&rest["content"], &rest["cursor"]), (&json!("three\n"), &Value::Null));
    let last = ok(&workspace, "plan_read", json!({"path": PLAN, "offset": -1}));
    assert_eq!(last["content"], "three\n");
    let head = workspace.bytes(PLAN);
    ok(&workspace, "plan_edit", json!({"path": PLAN, "old_string": "one", "new_string": "ONE"}));
    ok(&workspace, "plan_edit", json!({"path": PLAN, "insert_line": 3, "insert_content": "four"}));
    let expected =
        String::from_utf8(head).unwrap().replace("title: one\n", "title: ONE\n") + "four\n";
    assert_eq!(String::from_utf8(workspace.bytes(PLAN)).unwrap(), expected);
    let gone = json!({"path": PLAN, "old_string": "created_at", "new_string": "x"});
    invalid(&workspace, "plan_edit", gone, "old_string");
    let stale = json!({"path": PLAN, "old_string": "four", "new_string": "5",
        "last_read_hash": lines["hash"]});
    fails(&workspace, "plan_edit", stale, 409, "CONFLICT");
    let not_a_plan = json!({"path": "/a.md", "old_string": "a", "new_string": "b"});
    invalid(&workspace, "plan_edit", not_a_plan, "path");
    invalid(
        &workspace,
        "plan_edit",
        json!({"path": PLAN, "insert_line": 9, "insert_content": "x"}),
        "insert_line",
    );
}

#[test]
fn w17_plans_are_listed_newest_first_with_their_total() {
    let workspace = TestWorkspace::new();
    assert_eq!(ok(&workspace, "plan_list", json!({}))["total"], 0);
    for (name, status, day) in [("a", "draft", 1), ("b", "approved", 3), ("sub/c", "draft", 2)] {
        workspace.put(
            &format!("/plans/{name}.plan"),
            format!(
                "---\ntitle: {name}\nstatus: {status}\ncreated_at: 2030-01-0{day}T00:00:00Z\n---\nx"
            ),
        );
    }
    workspace.put("/plans/legacy.plan", "# No front matter\n");
    workspace.put("/plans/notes.md", "x");
    workspace.put("/elsewhere.plan", "x");
    let all = ok(&workspace, "plan_list", json!({}));
    assert_eq!(each(&all["plans"], "name"), ["b", "c", "a", "legacy"]);
    assert_eq!(all["plans"][3]["metadata"], Value::Null);
    assert_eq!((&all["total"], &all["truncated"]), (&json!(4), &json!(false)));
    let drafts = ok(&workspace, "plan_list", json!({"status": "draft", "limit": 1}));
    assert_eq!(each(&drafts["plans"], "path"), ["/plans/sub/c.plan"]);
    assert_eq!((&drafts["total"], &drafts["next"]), (&json!(2), &json!(1)));
    let rest = ok(&workspace, "plan_list", json!({"status": "draft", "limit": 1, "cursor": 1}));
    assert_eq!((each(&rest["plans"], "name"), &rest["next"]), (vec!["a"], &Value::Null));
    let legacy = ok(&workspace, "plan_read", json!({"name": "legacy"}));
    assert_eq!(legacy["metadata"], Value::Null);
    assert_eq!(legacy["content"], "# No front matter\n");
}

#[test]
fn w18_a_transcript_holds_messages_calls_questions_answers_and_modes() {
    let workspace = TestWorkspace::new();
    let (chat, agent) = planning(&workspace);
    let context = workspace.call_context();
    workspace.person().chats().post(&context, chat, MessageRole::User, "Please plan.").unwrap();
    write_plan(&workspace, &agent);
    call(
        &workspace,
        &agent,
        "write",
        json!({"path": "/x", "content": {"api_key": "sk-123", "n": 1}}),
    );
    let id = ask(&workspace, &agent);
    answer(&workspace, id, json!({"approval": "Accept"}), Via::Button).unwrap();
    assert!(leave(&workspace, &agent).ok);
    let text = workspace.opened().records.transcript(chat).unwrap().unwrap();
    for part in [
        "# Planning\n",
        "Please plan.",
        "workspace.plan_write",
        "Review the plan. Ready to build? [Accept, Reject]",
        "by button",
        "build mode",
        "[redacted]",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!text.contains("sk-123"));
    let found = workspace.person().chats().get(chat).unwrap();
    assert_eq!(
        (found.bytes, found.name.to_string().as_str()),
        (text.len() as u64, "Planning.chat")
    );
    let again = workspace.person().chats().make(&context, "Planning", None).unwrap();
    assert_eq!(again.name.to_string(), "Planning (2).chat");
}

#[test]
fn events_tell_steps_and_everything_else_in_one_sequence() {
    let workspace = TestWorkspace::new();
    let heard = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&heard);
    let _listening = workspace.opened().changes.subscribe(std::sync::Arc::new(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }));
    let (_, agent) = planning(&workspace);
    write_plan(&workspace, &agent);
    let id = ask(&workspace, &agent);
    answer(&workspace, id, json!({"approval": "Accept"}), Via::Button).unwrap();
    assert!(leave(&workspace, &agent).ok);
    let records = &workspace.opened().records;
    let events = records.events(0, 100).unwrap();
    let words: Vec<&str> = events
        .iter()
        .map(|row| match &row.what {
            Event::Step(step) => step.verb.as_str(),
            Event::ChatMade { .. } => "made",
            Event::Asked { .. } => "asked",
            Event::Answered { .. } => "answered",
            Event::ModeChanged { mode, .. } => mode.word(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(words, ["made", "write", "asked", "answered", "write", "build"]);
    let numbers: Vec<u64> = events.iter().map(|row| row.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    assert_eq!(records.last_event(), Ok(6));
    for after in 0..7 {
        let rest = records.events(after, 2).unwrap();
        let expected = &events[after as usize..(after as usize + 2).min(6)];
        assert_eq!(rest, expected);
    }
    let Event::Step(step) = &events[1].what else { panic!("{events:?}") };
    assert_eq!((step.actor.as_str(), step.files, step.changes.len()), ("agent:local", 2, 2));
    assert_eq!(step.changes[1].path.to_string(), PLAN);
    assert_eq!(step.changes[1].summary.word(), "created");
    assert_eq!(heard.load(std::sync::atomic::Ordering::Relaxed), 5);
    assert!(workspace.perform(yard_core::op::Verify).unwrap().problems.is_empty());
}
