//! The examples of the routes, which `/docs` and the OpenAPI document show (`yard-server/src/http/examples/`): a story
//! that visits every route is played on a server, and has to be what those files tell.
//!
//! To write the examples anew, and the document with them:
//!
//! ```text
//! YARD_RENEW=1 cargo nextest run -p yard-cli --test server examples::
//! cargo run -p yard-cli -- tools --format openapi > docs/openapi.json
//! ```

mod stand_ins;
mod story;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use yard_dialects::Catalog;
use yard_server::http::{Route, format_json, routes};

use self::story::{RecordedExample, Request, Story, beginning, first_lines};
use crate::harness::{PASSWORD, Server};
use crate::ui::Page;

const RENEW: &str = "YARD_RENEW=1 cargo nextest run -p yard-cli --test server examples::";
const MCP: &str = "POST /mcp/{id}";
const MCP_REVISION: &str = "2026-07-28";

const ADA: &str = "ada@example.com";
const GRACE: &str = "grace@example.com";

const GREETING: &str =
    "def greet(name):\n    return f\"Hello, {name}!\"\n\n\nprint(greet(\"Ada\"))\n";
const PRICES: &str = "item,price\ntea,3.20\ncoffee,4.10\n";
const NEW_PRICES: &str = "item,price\ntea,3.50\ncoffee,4.40\n";

/// The people and things of the story.
#[derive(Default)]
struct Cast {
    workspace: String,
    /// Ada's access token.
    ada: String,
    /// Her refresh token.
    refresh: String,
    /// The agent's key.
    agent: String,
    key: String,
    grace: String,
    chat: String,
}

impl Cast {
    /// Ada, to this route of her workspace.
    fn ada(&self) -> Request<'_> {
        Request {
            path: vec![("id", self.workspace.as_str())],
            token: &self.ada,
            ..Request::default()
        }
    }

    /// The agent, to the same.
    fn agent(&self) -> Request<'_> {
        Request { token: &self.agent, ..self.ada() }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// A route below that of a workspace.
fn inside(method: &str, path: &str) -> String {
    format!("{method} /api/v1/workspaces/{{id}}{path}")
}

fn about_the_server(story: &mut Story<'_>) {
    let request = Request::default();
    story.tell_cut("GET /start", 200, &request, |page| beginning(&page));
    story.tell_cut("GET /health", 200, &request, |mut health| {
        // Other machines have other walls.
        health["commands"] = "full".into();
        health
    });
    story.tell_cut("GET /metrics", 200, &request, |text| metrics(text.as_str().unwrap()));
    story.tell_cut("GET /openapi.json", 200, &request, |mut document| {
        document["paths"] = json!({"…": "…"});
        document["components"] = json!({"…": "…"});
        document
    });
    story.tell_cut("GET /docs", 200, &request, |page| beginning(&page));
}

/// The first lines. The count of `/start` is left out, because the order of two counts is not fixed.
fn metrics(text: &str) -> Value {
    let is_kept = |line: &&str| !line.contains("route=\"/start\"");
    let lines: Vec<&str> = text.lines().filter(is_kept).collect();
    first_lines(&lines.join("\n"), 5)
}

fn people(story: &mut Story<'_>, cast: &mut Cast) {
    let account = json!({"email": ADA, "password": PASSWORD, "full_name": "Ada Lovelace"});
    let body = |body: Value| Request { body, ..Request::default() };
    story.tell("POST /api/v1/auth/register", 201, &body(account));
    let account = json!({"email": GRACE, "password": PASSWORD, "full_name": "Grace Hopper"});
    let grace = story.quietly("POST /api/v1/auth/register", &body(account)).expect(201);
    cast.grace = text(&grace["user"]["id"]);
    let login = json!({"email": ADA, "password": PASSWORD});
    let login = story.tell("POST /api/v1/auth/login", 200, &body(login));
    let refresh = json!({"refresh_token": login["refresh_token"]});
    let session = story.tell("POST /api/v1/auth/refresh", 200, &body(refresh));
    cast.ada = text(&session["access_token"]);
    cast.refresh = text(&session["refresh_token"]);
    story.tell("GET /api/v1/auth/me", 200, &Request { token: &cast.ada, ..Request::default() });
    let own = Request { token: &cast.ada, ..Request::default() };
    story.tell("GET /api/v1/auth/logins", 200, &own);
    story.tell("GET /api/v1/missing-folders", 200, &own);
    let body =
        json!({"current_password": PASSWORD, "new_password": "a better horse battery staple"});
    story.tell("POST /api/v1/auth/password", 204, &Request { body, ..own.clone() });
    let back =
        json!({"current_password": "a better horse battery staple", "new_password": PASSWORD});
    story.quietly("POST /api/v1/auth/password", &Request { body: back, ..own });
}

/// The person of this machine logs in on the page of `toolyard ui`, which is a program of its own.
fn person_of_this_machine(story: &mut Story<'_>) {
    story.begin("POST /api/v1/auth/code");
    let page = Page::start();
    let (status, _, answer) = page.log_in(&page.code);
    let request = Request { body: json!({"code": page.code}), ..Request::default() };
    story.tell_answer("POST /api/v1/auth/code", status, &request, &answer);
}

fn rooms(story: &mut Story<'_>, cast: &mut Cast) {
    let body = json!({"name": "Website"});
    let request = Request { body, token: &cast.ada, ..Request::default() };
    let made = story.tell("POST /api/v1/workspaces", 201, &request);
    cast.workspace = text(&made["workspace"]["id"]);
    let request = Request { token: &cast.ada, ..Request::default() };
    story.tell("GET /api/v1/workspaces", 200, &request);
    story.tell(&inside("GET", ""), 200, &cast.ada());
    let body = json!({"name": "Website of the shop"});
    story.tell(&inside("PATCH", ""), 200, &Request { body, ..cast.ada() });

    let body = json!({"email": GRACE, "role": "viewer"});
    story.tell(&inside("POST", "/members"), 201, &Request { body, ..cast.ada() });
    story.tell(&inside("GET", "/members"), 200, &cast.ada());
    let mut request = cast.ada().naming("user_id", &cast.grace);
    request.body = json!({"role": "member"});
    story.tell(&inside("PATCH", "/members/{user_id}"), 200, &request);

    let body =
        json!({"name": "Coding agent", "role": "member", "toolsets": ["workspace", "codex"]});
    let key = story.tell(&inside("POST", "/keys"), 201, &Request { body, ..cast.ada() });
    story.tell(&inside("GET", "/keys"), 200, &cast.ada());
    (cast.agent, cast.key) = (text(&key["key"]), text(&key["id"]));

    story.tell(&inside("GET", "/policy"), 200, &cast.ada());
    let rule = json!({"effect": "remove", "path": "/src/**", "then": "ask", "why": "People decide what goes away."});
    let body = json!({"preset": "open", "rules": [rule]});
    story.tell(&inside("PUT", "/policy"), 200, &Request { body, ..cast.ada() });
}

fn a_chat_begins(story: &mut Story<'_>, cast: &mut Cast) {
    let body = json!({"title": "A greeting"});
    let headers = vec![("Idempotency-Key", "a-greeting-1".to_owned())];
    let request = Request { body, headers, ..cast.ada() };
    let made = story.tell(&inside("POST", "/chats"), 201, &request);
    cast.chat = text(&made["chat"]["id"]);
    let mut request = cast.ada().naming("chat_id", &cast.chat);
    request.body = json!({"role": "user", "content": "Please greet people by name."});
    story.tell(&inside("POST", "/chats/{chat_id}/messages"), 201, &request);
}

fn calls(story: &mut Story<'_>, cast: &Cast) {
    let route = inside("POST", "/tools");
    let call = |title, body| Request { title: Some(title), body, ..cast.agent() };
    let args = json!({"path": "/src/greet.py", "content": GREETING});
    let body = json!({"tool": "write", "args": args, "chat_id": cast.chat});
    story.tell(&route, 200, &call("Write a file", body));
    let args = json!({"command": "python3 src/greet.py", "workdir": null, "timeout_ms": 10_000});
    let body = json!({"toolset": "codex", "tool": "shell", "args": args});
    story.tell(&route, 200, &call("Run a command", body));
    let args = json!({"path": "/src/greet.js"});
    story.tell(&route, 404, &call("Something goes wrong", json!({"tool": "read", "args": args})));

    let query = vec![("toolset", "workspace"), ("format", "anthropic")];
    story.tell_cut(
        &inside("GET", "/tools"),
        200,
        &Request { query, ..cast.agent() },
        |mut answer| {
            let tools = answer["tools"].as_array_mut().unwrap();
            tools.retain(|tool| tool["name"] == "rm");
            tools.push("…".into());
            answer
        },
    );
}

fn files(story: &mut Story<'_>, cast: &Cast) {
    let query = vec![("path", "/data/prices.csv")];
    let media = || ("Content-Type", "text/csv".to_owned());
    let request = Request { query, headers: vec![media()], body: PRICES.into(), ..cast.ada() };
    let made = story.tell(&inside("POST", "/files"), 201, &request);
    let file = text(&made["file"]["id"]);
    let of = cast.ada().naming("file_id", &file);
    story.tell(&inside("GET", "/files/{file_id}"), 200, &of);
    let body = json!({"display_name": "Price list"});
    story.tell(&inside("PATCH", "/files/{file_id}"), 200, &Request { body, ..of.clone() });
    story.tell(&inside("GET", "/files/{file_id}/content"), 200, &of);
    let headers = vec![media(), ("If-Match", format!("\"{}\"", text(&made["file"]["hash"])))];
    let request = Request { headers, body: NEW_PRICES.into(), ..of.clone() };
    story.tell(&inside("PUT", "/files/{file_id}/content"), 200, &request);

    let versions = story.tell(&inside("GET", "/files/{file_id}/versions"), 200, &of);
    let (new, old) = (text(&versions["versions"][0]["id"]), text(&versions["versions"][1]["id"]));
    story.tell(
        &inside("GET", "/files/{file_id}/versions/{version_id}"),
        200,
        &of.clone().naming("version_id", &new),
    );
    let headers = vec![("Range", "bytes=0-9".to_owned())];
    let request = Request { headers, ..of.clone().naming("version_id", &old) };
    story.tell(&inside("GET", "/files/{file_id}/versions/{version_id}/content"), 206, &request);
    let body = json!({"version_id": old});
    story.tell(&inside("POST", "/files/{file_id}/revert"), 200, &Request { body, ..of.clone() });

    remove(story, cast, "/data/prices.csv");
    story.tell(&inside("GET", "/files/trash"), 200, &cast.ada());
    story.tell(&inside("POST", "/files/{file_id}/restore"), 200, &of);
    remove(story, cast, "/data/prices.csv");
    story.tell(&inside("DELETE", "/files/{file_id}/purge"), 200, &of);
}

/// Ada removes a file with a tool; her calls need nobody's word.
fn remove(story: &mut Story<'_>, cast: &Cast, path: &str) {
    let body = json!({"tool": "rm", "args": {"path": path}});
    story.quietly(&inside("POST", "/tools"), &Request { body, ..cast.ada() }).expect(200);
}

fn past(story: &mut Story<'_>, cast: &Cast) {
    let args =
        json!({"path": "/src/greet.py", "old_string": "Hello", "new_string": "Good morning"});
    let body = json!({"tool": "edit", "args": args, "chat_id": cast.chat});
    story.quietly(&inside("POST", "/tools"), &Request { body, ..cast.agent() }).expect(200);
    let query = vec![("limit", "2")];
    let steps = story.tell(&inside("GET", "/steps"), 200, &Request { query, ..cast.ada() });
    let (step, before) = (text(&steps["steps"][0]["id"]), text(&steps["steps"][1]["id"]));
    let mut request = cast.ada().naming("step_id", &step);
    let edited = story.tell(&inside("GET", "/steps/{step_id}"), 200, &request);
    let undo = inside("POST", "/steps/{step_id}/undo");
    request.title = Some("Show what an undo would do");
    request.body = json!({"preview": true});
    let shown = story.tell(&undo, 200, &request);
    request.title = Some("Do what was shown");
    request.body = json!({"state_hash": shown["preview"]["state_hash"]});
    story.tell(&undo, 200, &request);
    (request.title, request.body) = (None, json!({"paths": ["/src/greet.py"]}));
    story.tell(&inside("POST", "/steps/{step_id}/redo"), 200, &request);
    let mut request = cast.ada().naming("step_id", &before);
    request.body = json!({"paths": ["/src"]});
    story.tell(&inside("POST", "/steps/{step_id}/back-to"), 200, &request);

    let query = vec![("path", "/src")];
    let then = Request { query, ..cast.ada().naming("step_id", &step) };
    story.tell(&inside("GET", "/steps/{step_id}/tree"), 200, &then);
    let then = Request { query: vec![("path", "/src/greet.py")], ..then };
    story.tell(&inside("GET", "/steps/{step_id}/content"), 200, &then);
    let query = vec![("from", before.as_str()), ("to", step.as_str())];
    story.tell(&inside("GET", "/compare"), 200, &Request { query, ..cast.ada() });
    let file = text(&edited["step"]["changes"][0]["file_id"]);
    let of = cast.ada().naming("file_id", &file);
    story.tell(&inside("GET", "/files/{file_id}/blame"), 200, &of);
}

fn talk(story: &mut Story<'_>, cast: &Cast) {
    story.tell(&inside("GET", "/chats"), 200, &cast.ada());
    let of = cast.ada().naming("chat_id", &cast.chat);
    let query = vec![("limit", "2")];
    story.tell(&inside("GET", "/chats/{chat_id}"), 200, &Request { query, ..of.clone() });
    let body = json!({"title": "Greeting by name", "mode": "plan"});
    story.tell(&inside("PATCH", "/chats/{chat_id}"), 200, &Request { body, ..of });
}

fn terminals(story: &mut Story<'_>, cast: &Cast) {
    let open = |story: &mut Story<'_>| {
        let args = json!({"session_id": "watch", "cmd": "echo Watching src; cat", "workdir": null});
        let body =
            json!({"toolset": "codex", "tool": "exec_command", "args": args, "chat_id": cast.chat});
        story.quietly(&inside("POST", "/tools"), &Request { body, ..cast.ada() }).expect(200)
    };
    open(story);
    let listed = story.tell(&inside("GET", "/terminals"), 200, &cast.ada());
    let terminal = text(&listed["terminals"][0]["id"]);
    let request = cast.ada().naming("terminal_id", &terminal);
    story.tell(&inside("GET", "/terminals/{terminal_id}"), 200, &request);
    let typed = Request { body: json!({"text": "hello"}), ..request.clone() };
    story.tell(&inside("POST", "/terminals/{terminal_id}/input"), 200, &typed);
    let wide = Request { body: json!({"rows": 30, "columns": 120}), ..request.clone() };
    story.tell(&inside("PUT", "/terminals/{terminal_id}/size"), 200, &wide);
    story.tell(&inside("DELETE", "/terminals/{terminal_id}"), 204, &request);
    let request = cast.ada().naming("chat_id", &cast.chat);
    story.tell(&inside("DELETE", "/chats/{chat_id}/terminals"), 204, &request);
}

fn comments(story: &mut Story<'_>, cast: &Cast) {
    let args = json!({"path": "/src/shop.py", "content": "OPEN = 9\nCLOSE = 18\n"});
    let body = json!({"tool": "write", "args": args, "chat_id": cast.chat});
    let written = story.quietly(&inside("POST", "/tools"), &Request { body, ..cast.ada() });
    let hash = text(&written.expect(200)["result"]["hash"]);
    let steps = story.quietly(&inside("GET", "/steps"), &cast.ada()).expect(200);
    let body = json!({
        "step_id": steps["steps"][0]["id"], "path": "/src/shop.py", "side": "new", "line": 2,
        "content_hash": hash, "text": "We close at 19.",
    });
    let made = story.tell(&inside("POST", "/comments"), 201, &Request { body, ..cast.ada() });
    let id = text(&made["comment"]["id"]);
    let mut request = cast.ada().naming("comment_id", &id);
    request.body = json!({"text": "We close at 19, also on Mondays."});
    story.tell(&inside("PATCH", "/comments/{comment_id}"), 200, &request);
    story.tell(&inside("GET", "/comments"), 200, &cast.ada());
    let body = json!({"chat_id": cast.chat});
    story.tell(&inside("POST", "/comments/send"), 201, &Request { body, ..cast.ada() });
    let args = json!({"path": "/src/shop.py"});
    let body = json!({"tool": "read", "args": args, "chat_id": cast.chat});
    let request = Request { title: Some("A person has sent comments"), body, ..cast.agent() };
    story.tell(&inside("POST", "/tools"), 200, &request);
    let other = json!({
        "step_id": steps["steps"][0]["id"], "path": "/src/shop.py", "side": "new", "line": 1,
        "content_hash": hash, "text": "Never mind.",
    });
    let request = Request { body: other, ..cast.ada() };
    let made = story.quietly(&inside("POST", "/comments"), &request).expect(201);
    let id = text(&made["comment"]["id"]);
    let request = cast.ada().naming("comment_id", &id);
    story.tell(&inside("DELETE", "/comments/{comment_id}"), 204, &request);
    let body = json!({"path": "/src/shop.py", "hash": hash, "seen": true});
    story.tell(&inside("PUT", "/seen"), 204, &Request { body, ..cast.ada() });
    story.tell(&inside("GET", "/seen"), 200, &cast.ada());
    let mine = Request { token: &cast.ada, ..Request::default() };
    story.tell_cut("GET /api/v1/doctor", 200, &mine, |_| {
        // Other machines have other walls.
        let found = "changes are kept in a layer; the workspace stays as it was";
        let overlay =
            json!({"name": "overlay", "ok": true, "needed": true, "found": found, "remedy": ""});
        json!({"doctor": {"ok": true, "level": "full", "findings": [overlay]}})
    });
    story.tell_cut(&inside("GET", "/storage"), 200, &cast.ada(), |mut answer| {
        // Other file systems have other blocks.
        for name in ["journal_bytes", "contents_bytes", "kept_bytes"] {
            answer["storage"][name] = 65_536.into();
        }
        answer
    });
}

/// The agent calls a tool that a person has to speak to first: what it waits for.
fn asked(story: &mut Story<'_>, cast: &Cast, tool: &str, args: Value, id: &str) -> String {
    let body = json!({"tool": tool, "args": args, "wait_ms": 0});
    let answer = story.quietly(&inside("POST", "/tools"), &Request { body, ..cast.agent() });
    text(&answer.json()["result"][id])
}

fn ask_user(story: &mut Story<'_>, cast: &Cast) -> String {
    let language = json!({
        "name": "language",
        "question": "Which language shall the page greet in?",
        "schema": {"type": "string", "enum": ["English", "French"]},
    });
    asked(story, cast, "ask_user", json!({"questions": [language], "wait_ms": 0}), "question_id")
}

fn questions(story: &mut Story<'_>, cast: &Cast) {
    let question = ask_user(story, cast);
    let query = vec![("status", "pending")];
    story.tell(&inside("GET", "/questions"), 200, &Request { query, ..cast.ada() });
    let mut request = cast.ada().naming("question_id", &question);
    story.tell(&inside("GET", "/questions/{question_id}"), 200, &request);
    request.body = json!({"answers": {"language": "French"}, "via": "button"});
    story.tell(&inside("POST", "/questions/{question_id}/answer"), 200, &request);
}

fn approvals(story: &mut Story<'_>, cast: &Cast) {
    let body = json!({"tool": "rm", "args": {"path": "/src/greet.py"}});
    story.tell(&inside("POST", "/policy/explain"), 200, &Request { body, ..cast.ada() });
    let approval = asked(story, cast, "rm", json!({"path": "/src/greet.py"}), "approval_id");
    let query = vec![("status", "pending")];
    story.tell(&inside("GET", "/approvals"), 200, &Request { query, ..cast.ada() });
    let mine = Request { token: &cast.ada, ..Request::default() };
    story.tell("GET /api/v1/inbox", 200, &mine);
    let mut request = cast.ada().naming("approval_id", &approval);
    let shown = story.tell(&inside("GET", "/approvals/{approval_id}"), 200, &request);
    story.tell(&inside("GET", "/approvals/{approval_id}/diff"), 200, &request);
    story.tell(&inside("GET", "/approvals/{approval_id}/rules"), 200, &request);
    request.body = json!({"args": {"path": "/data"}});
    story.tell(&inside("POST", "/approvals/{approval_id}/plan"), 200, &request);
    let decision = inside("POST", "/approvals/{approval_id}/decision");
    request.title = Some("Approve");
    request.body = json!({"decision": "approve", "state_hash": shown["state_hash"]});
    story.tell(&decision, 200, &request);
    inbox(story, cast);
}

/// What is decided in the inbox, and what is put off there.
fn inbox(story: &mut Story<'_>, cast: &Cast) {
    let write = |story: &mut Story<'_>, token: &str, content: &str| {
        let args = json!({"path": "/src/pages.py", "content": content, "overwrite": true});
        let body = json!({"tool": "write", "args": args, "wait_ms": 0});
        story.quietly(&inside("POST", "/tools"), &Request { body, token, ..cast.ada() }).json()
    };
    let rules = ["remove", "modify"];
    let rules = rules.map(|effect| json!({"effect": effect, "path": "/src/**", "then": "ask"}));
    let body = json!({"preset": "open", "rules": rules});
    story.quietly(&inside("PUT", "/policy"), &Request { body, ..cast.ada() }).expect(200);
    let line = |number: usize, is_new: bool| match is_new && !(7..=14).contains(&number) {
        true => format!("page_{number} = \"{number}\"\n"),
        false => format!("page_{number} = {number}\n"),
    };
    let lines = |is_new| (1..=20).map(|number| line(number, is_new)).collect::<String>();
    write(story, &cast.ada, &lines(false));
    let answer = write(story, &cast.agent, &lines(true));
    let approval = text(&answer["result"]["approval_id"]);
    let mut request = cast.ada().naming("approval_id", &approval);
    let shown = story.quietly(&inside("GET", "/approvals/{approval_id}"), &request).expect(200);
    request.title = Some("Approve a part");
    request.body = json!({
        "decision": "approve",
        "parts": [{"path": "/src/pages.py", "hunks": [1]}],
        "reason": "The first pages stay numbers",
        "state_hash": shown["state_hash"],
    });
    story.tell(&inside("POST", "/approvals/{approval_id}/decision"), 200, &request);

    let approval = asked(story, cast, "rm", json!({"path": "/src/pages.py"}), "approval_id");
    let request = cast.ada().naming("approval_id", &approval);
    let shown = story.quietly(&inside("GET", "/approvals/{approval_id}"), &request).expect(200);
    let ada = |body| Request { token: &cast.ada, body, ..Request::default() };
    let body = json!({"workspace_id": cast.workspace, "item_id": approval});
    story.tell("PUT /api/v1/inbox/later", 204, &ada(body));
    let body = json!({"decisions": [{
        "workspace_id": cast.workspace,
        "approval_id": approval,
        "approve": false,
        "reason": "It is still needed",
        "state_hash": shown["state_hash"],
    }]});
    story.tell("POST /api/v1/inbox/decisions", 200, &ada(body));
}

fn pages(story: &mut Story<'_>, cast: &Cast) {
    let args = json!({"path": "/src/old.py", "content": "print(1)\n"});
    let body = json!({"tool": "write", "args": args});
    story.quietly(&inside("POST", "/tools"), &Request { body, ..cast.ada() }).expect(200);
    let approval = asked(story, cast, "rm", json!({"path": "/src/old.py"}), "approval_id");
    let question = ask_user(story, cast);
    let form = |fields: &[(&str, &str)]| {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
    };
    let media = || ("Content-Type", "application/x-www-form-urlencoded".to_owned());
    let body = form(&[("email", ADA), ("password", PASSWORD)]);
    let login = Request { headers: vec![media()], body: body.into(), ..Request::default() };
    story.tell_cut("POST /decide/login", 200, &login, |page| beginning(&page));

    let mut request = cast.ada().naming("approval_id", &approval);
    let shown = story.quietly(&inside("GET", "/approvals/{approval_id}"), &request).expect(200);
    let route = "/decide/{id}/approvals/{approval_id}";
    story.tell_cut(&format!("GET {route}"), 200, &request, |page| beginning(&page));
    let state = text(&shown["state_hash"]);
    request.headers = vec![media()];
    request.body = form(&[("decision", "once"), ("state_hash", &state)]).into();
    story.tell(&format!("POST {route}"), 303, &request);

    let mut request = cast.ada().naming("question_id", &question);
    let route = "/decide/{id}/questions/{question_id}";
    story.tell_cut(&format!("GET {route}"), 200, &request, |page| beginning(&page));
    request.headers = vec![media()];
    request.body = form(&[("answer.language", "French")]).into();
    story.tell(&format!("POST {route}"), 303, &request);
}

fn mcp(story: &mut Story<'_>, cast: &Cast) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MCP_REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "8"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "read", "arguments": {"path": "/src/greet.py"}, "_meta": meta});
    let request = Request {
        query: vec![("toolset", "workspace")],
        headers: [
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", MCP_REVISION),
            ("MCP-Method", "tools/call"),
            ("MCP-Name", "read"),
        ]
        .map(|(name, value)| (name, value.to_owned()))
        .to_vec(),
        body: json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
        ..cast.agent()
    };
    story.tell(MCP, 200, &request);
}

fn the_end(story: &mut Story<'_>, cast: &Cast) {
    let request = Request { query: vec![("after", "0")], ..cast.ada() };
    story.tell_events(&inside("GET", "/events"), &request, 3);
    let headers = vec![("Last-Event-ID", "2026-01-15T09:30:00.000Z".to_owned())];
    let request = Request { headers, token: &cast.ada, ..Request::default() };
    story.tell_events("GET /api/v1/events", &request, 2);
    for (path, name, id) in [
        ("/chats/{chat_id}", "chat_id", &cast.chat),
        ("/keys/{key_id}", "key_id", &cast.key),
        ("/members/{user_id}", "user_id", &cast.grace),
    ] {
        let request = cast.ada().naming(name, id);
        story.tell(&inside("DELETE", path), 204, &request);
    }
    story.tell(&inside("DELETE", ""), 204, &cast.ada());
    let body = json!({"refresh_token": cast.refresh});
    let request = Request { body, token: &cast.ada, ..Request::default() };
    story.tell("POST /api/v1/auth/logout", 204, &request);
    let login = json!({"email": ADA, "password": PASSWORD});
    let login = Request { body: login, ..Request::default() };
    let session = story.quietly("POST /api/v1/auth/login", &login).expect(200);
    let own = Request { token: session["access_token"].as_str().unwrap(), ..Request::default() };
    let logins = story.quietly("GET /api/v1/auth/logins", &own).expect(200);
    let id = text(&logins["logins"][0]["id"]);
    story.tell("DELETE /api/v1/auth/logins/{login_id}", 204, &own.naming("login_id", &id));
}

/// All of it, in the order in which it happens.
fn play(server: &Server) -> Vec<RecordedExample> {
    let (mut story, mut cast) = (Story::new(server), Cast::default());
    about_the_server(&mut story);
    people(&mut story, &mut cast);
    person_of_this_machine(&mut story);
    rooms(&mut story, &mut cast);
    a_chat_begins(&mut story, &mut cast);
    calls(&mut story, &cast);
    files(&mut story, &cast);
    past(&mut story, &cast);
    mcp(&mut story, &cast);
    comments(&mut story, &cast);
    talk(&mut story, &cast);
    terminals(&mut story, &cast);
    questions(&mut story, &cast);
    approvals(&mut story, &cast);
    pages(&mut story, &cast);
    the_end(&mut story, &cast);
    story.recorded
}

/// What the file of each tag has to hold, in the order of the table.
fn files_of(table: &[Route], recorded: Vec<RecordedExample>) -> BTreeMap<&'static str, Vec<Value>> {
    let mut files: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for route in table {
        let (tag, name) = (route.tag(), format!("{} {}", route.method, route.path));
        let of = recorded
            .iter()
            .filter(|recorded| recorded.route == name)
            .map(|recorded| recorded.example.clone());
        let examples: Vec<Value> = of.collect();
        // The protocol's own documents describe how a session is read and ended.
        let needs_one = name == MCP || !route.is_protocol() && !route.is_web_file();
        assert!(
            !examples.is_empty() || !needs_one,
            "the story does not visit {name}: add a request to it"
        );
        files.entry(tag).or_default().extend(examples);
    }
    files
}

#[test]
fn every_route_has_an_example_that_is_what_the_server_says() {
    let table = routes(&Catalog::standard());
    let files = files_of(&table, play(&Server::start()));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../yard-server/src/http/examples");
    for (tag, examples) in files {
        let examples: Vec<String> = examples.iter().map(format_json).collect();
        let (file, recorded) =
            (folder.join(format!("{tag}.json")), format!("[\n{}\n]\n", examples.join(",\n")));
        if std::env::var_os("YARD_RENEW").is_some() {
            std::fs::write(&file, &recorded).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        let differing =
            kept.lines().zip(recorded.lines()).find(|(kept, recorded)| kept != recorded);
        assert!(
            kept == recorded,
            "{tag}.json is not what the server says; if that is meant, write it anew with `{RENEW}`:\n{differing:#?}"
        );
    }
}

/// What the examples of a document come to.
struct Checked<'a> {
    document: &'a Value,
    count: usize,
    wrong: Vec<String>,
}

impl Checked<'_> {
    /// How many examples are here; they have to fit the schema beside them.
    fn check(&mut self, place: &str, at: &Value) -> usize {
        let one = at.get("example").into_iter();
        let several = at["examples"].as_object().into_iter().flat_map(serde_json::Map::values);
        let examples: Vec<&Value> = one.chain(several.map(|example| &example["value"])).collect();
        let mut schema = at["schema"].clone();
        // It may point to a schema that several share.
        schema["components"] = self.document["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors = examples.iter().filter_map(|example| validator.validate(example).err());
        self.wrong.extend(errors.map(|error| format!("{place}: {error}")));
        self.count += examples.len();
        examples.len()
    }

    /// The same for the content of a body, of whichever type.
    fn check_content(&mut self, place: &str, body: &Value) -> usize {
        let contents = body["content"].as_object().into_iter().flat_map(serde_json::Map::values);
        contents.map(|content| self.check(place, content)).sum()
    }

    fn check_operation(&mut self, place: &str, operation: &Value) {
        for parameter in operation["parameters"].as_array().unwrap() {
            let found = self.check(&format!("{place}, {}", parameter["name"]), parameter);
            if found == 0 && parameter["required"] == true {
                self.wrong.push(format!("{place}: no example of {}", parameter["name"]));
            }
        }
        let body = &operation["requestBody"];
        if self.check_content(&format!("{place}, body"), body) == 0 && !body.is_null() {
            self.wrong.push(format!("{place}: no example of a body"));
        }
        let responses = operation["responses"].as_object().unwrap();
        let answers = responses
            .iter()
            .map(|(status, answer)| self.check_content(&format!("{place}, {status}"), answer));
        if answers.sum::<usize>() == 0 && !responses.contains_key("204") {
            self.wrong.push(format!("{place}: no example of an answer"));
        }
    }
}

#[test]
fn every_example_of_the_document_fits_the_schema_beside_it() {
    let document = Server::start().get("/openapi.json").expect(200);
    let mut checked = Checked { document: &document, count: 0, wrong: Vec::new() };
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            checked.check_operation(&format!("{method} {path}"), operation);
        }
    }
    assert!(checked.wrong.is_empty(), "{}", checked.wrong.join("\n"));
    assert!(checked.count > 150, "{} examples", checked.count);
}
