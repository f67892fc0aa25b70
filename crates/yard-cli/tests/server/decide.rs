//! The pages on which people decide, as a browser uses them, and MCP's URL mode, which leads there: with an
//! agent's key nothing that its client says is a person's word.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Answer, PASSWORD, Server, Someone};

/// What a browser keeps and sends: its cookies, and where a form comes from.
struct Browser<'a> {
    server: &'a Server,
    cookies: Vec<String>,
}

impl<'a> Browser<'a> {
    fn new(server: &'a Server) -> Self {
        Self { server, cookies: Vec::new() }
    }

    fn look(&self, path: &str) -> Answer {
        let cookies = self.cookies.join("; ");
        self.server.send("GET", path, &[("cookie", &cookies)], b"")
    }

    fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let origin = format!("http://{}", self.server.address);
        let cookies = self.cookies.join("; ");
        let headers = [
            ("cookie", cookies.as_str()),
            ("origin", origin.as_str()),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let answer = self.server.send("POST", path, &headers, body.as_bytes());
        let set = answer.headers.get_all("set-cookie").iter();
        let kept = set.filter_map(|cookie| cookie.to_str().ok()?.split(';').next());
        self.cookies.extend(kept.map(str::to_owned));
        answer
    }

    fn log_in(&mut self, someone: &Someone<'_>, next: &str) {
        let fields = [("email", someone.email.as_str()), ("password", PASSWORD), ("next", next)];
        let answer = self.submit("/decide/login", &fields);
        assert_eq!((answer.status, answer.header("location")), (303, Some(next)));
    }
}

fn page(answer: &Answer, status: u16) -> String {
    let text = String::from_utf8(answer.bytes.clone()).unwrap();
    assert_eq!(answer.status, status, "{text}");
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    text
}

/// The value of a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).expect(name);
    rest.split('"').next().unwrap().to_owned()
}

/// One request of MCP, in the revision where each stands by itself.
fn mcp(someone: &Someone<'_>, workspace: &str, method: &str, mut params: Value) -> Value {
    let version = "2026-07-28";
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
    });
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", version),
        ("mcp-method", method),
        ("mcp-name", name.as_str()),
    ];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let path = format!("/mcp/{workspace}?toolset=workspace");
    let answer = someone.ask_with("POST", &path, &headers, &body);
    let text = String::from_utf8_lossy(&answer.bytes).into_owned();
    assert_eq!(answer.status, 200, "{text}");
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).next_back();
    let answer: Value = serde_json::from_str(data.unwrap_or(&text).trim()).expect(&text);
    answer["result"].clone()
}

/// An agent that has to ask before it changes what is there.
fn at_work(server: &Server) -> (Someone<'_>, Someone<'_>, String) {
    let ada = server.person();
    let workspace = ada.workspace();
    let agent = ada.agent(&workspace, "member");
    let rules = json!({"rules": [{"effect": "modify", "then": "ask"}]});
    ada.ask("PUT", &format!("/api/v1/workspaces/{workspace}/policy"), &rules).expect(200);
    agent.tool(&workspace, "write", json!({"path": "/a.txt", "content": "one\n"})).expect(200);
    (ada, agent, workspace)
}

fn overwrite(content: &str) -> Value {
    let arguments = json!({"path": "/a.txt", "content": content, "overwrite": true});
    json!({"name": "write", "arguments": arguments})
}

fn content(someone: &Someone<'_>, workspace: &str) -> Value {
    let read = someone.tool(workspace, "read", json!({"path": "/a.txt"})).expect(200);
    read["result"]["content"].clone()
}

/// The path of the page that a result of MCP leads to.
fn page_of(server: &Server, asked: &Value) -> String {
    let request = &asked["inputRequests"]["person"]["params"];
    assert_eq!(request["mode"], "url", "{asked}");
    let url = request["url"].as_str().unwrap();
    url.strip_prefix(&format!("http://{}", server.address)).expect(url).to_owned()
}

#[test]
fn an_agents_key_is_led_to_a_page_where_a_person_logs_in_and_decides() {
    let server = Server::start();
    let (ada, agent, workspace) = at_work(&server);
    let asked = mcp(&agent, &workspace, "tools/call", overwrite("<b>two</b>\n"));
    let path = page_of(&server, &asked);
    let mut browser = Browser::new(&server);
    let login = page(&browser.look(&path), 401);
    assert!(login.contains("type=\"password\"") && !login.contains("a.txt"), "{login}");
    let wrong = [("email", ada.email.as_str()), ("password", "no"), ("next", path.as_str())];
    let again = page(&browser.submit("/decide/login", &wrong), 401);
    assert_eq!(hidden(&again, "next"), path);
    browser.log_in(&ada, &path);
    let shown = page(&browser.look(&path), 200);
    assert!(shown.contains("<del>-one</del>"), "{shown}");
    assert!(shown.contains("<ins>+&lt;b&gt;two&lt;/b&gt;</ins>"), "what it writes is no markup");
    // What the client says is nobody's word: only the page counts.
    let mut again = overwrite("<b>two</b>\n");
    again["requestState"] = asked["requestState"].clone();
    let lie = json!({"action": "accept", "content": {"decision": "Allow once"}});
    again["inputResponses"] = json!({"person": lie});
    thread::scope(|scope| {
        let called = scope.spawn(|| mcp(&agent, &workspace, "tools/call", again.clone()));
        thread::sleep(Duration::from_millis(300));
        assert_eq!(content(&ada, &workspace), "one\n");
        let state = hidden(&shown, "state_hash");
        let stale = [("decision", "once"), ("state_hash", &"0".repeat(64))];
        page(&browser.submit(&path, &stale), 409);
        let yes = [("decision", "once"), ("state_hash", state.as_str()), ("reason", "")];
        assert_eq!(browser.submit(&path, &yes).header("location"), Some(path.as_str()));
        let result = called.join().unwrap();
        assert_ne!(result["isError"], true, "{result}");
    });
    assert_eq!(content(&ada, &workspace), "<b>two</b>\n");
    assert!(page(&browser.look(&path), 200).contains("<strong>executed</strong>"));
}

#[test]
fn only_a_page_with_the_whole_diff_has_the_form_that_allows() {
    let server = Server::start();
    let (ada, agent, workspace) = at_work(&server);
    let mut browser = Browser::new(&server);
    let mut shown = |content: &str, query: &str| {
        let path = page_of(&server, &mcp(&agent, &workspace, "tools/call", overwrite(content)));
        if browser.cookies.is_empty() {
            browser.log_in(&ada, &path);
        }
        let shown = page(&browser.look(&format!("{path}{query}")), 200);
        let (_, id) = path.rsplit_once('/').unwrap();
        let link = format!("href=\"/#/inbox/{workspace}/approval/{id}\"");
        (shown.contains("value=\"once\"") && shown.contains("state_hash"), shown.contains(&link))
    };
    let long = "long line\n".repeat(40_000);
    for (content, query, expected) in [
        ("short\n", "", (true, false)),
        ("short\n", "?from=0", (true, false)),
        // An agent could give out an address at which only the end is shown, or nothing at all.
        ("short\n", "?from=20", (false, true)),
        ("short\n", "?from=99999999", (false, true)),
        (&long, "", (false, true)),
        (&long, "?from=262144", (false, true)),
        (&long, "?from=99999999", (false, true)),
    ] {
        assert_eq!(shown(content, query), expected, "{} bytes, {query:?}", content.len());
    }
}

#[test]
fn a_person_who_turns_away_leaves_the_call_waiting() {
    let server = Server::start();
    let (_ada, agent, workspace) = at_work(&server);
    let asked = mcp(&agent, &workspace, "tools/call", overwrite("two\n"));
    let mut again = overwrite("two\n");
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"person": {"action": "decline"}});
    let began = Instant::now();
    let result = mcp(&agent, &workspace, "tools/call", again);
    assert!(began.elapsed() < Duration::from_secs(10));
    let text = result["content"][0]["text"].as_str().unwrap();
    let url = format!("http://{}{}", server.address, page_of(&server, &asked));
    assert!(result["isError"] == true && text.contains(&url), "{result}");
}

#[test]
fn w15_questions_of_every_kind_are_answered_on_a_page() {
    let server = Server::start();
    let (ada, agent, workspace) = at_work(&server);
    let mut browser = Browser::new(&server);
    let cases = [
        (
            json!([{"name": "colour", "question": "Which <colour>?",
                "schema": {"type": "string", "enum": ["red", "blue"]}}]),
            vec![("answer.colour", "blue")],
            "<button name=\"answer.colour\" value=\"blue\">blue</button>",
            json!({"colour": "blue"}),
        ),
        (
            json!([{"name": "size", "question": "Which size?",
                "schema": {"type": "string", "enum": ["s", "l"]},
                "buttons": [{"label": "Small & light", "value": "s"}, {"label": "Large", "value": "l"}]}]),
            vec![("answer.size", "l")],
            "<button name=\"answer.size\" value=\"s\">Small &amp; light</button>",
            json!({"size": "l"}),
        ),
        (
            json!([{"name": "many", "question": "How many?", "schema": {"type": "integer"}},
                {"name": "which", "question": "Which?", "schema":
                    {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}},
                {"name": "deep", "question": "Deep?", "schema":
                    {"type": "object", "properties": {"x": {"type": "object"}}}}]),
            vec![
                ("answer.many", "3"),
                ("answer.which", "a"),
                ("answer.which", "c"),
                ("answer.deep", "{\"x\": {\"y\": 1}}"),
            ],
            "<input type=\"checkbox\" name=\"answer.which\" value=\"c\">",
            json!({"many": 3, "which": ["a", "c"], "deep": {"x": {"y": 1}}}),
        ),
    ];
    for (questions, fields, markup, expected) in cases {
        let call = json!({"name": "ask_user", "arguments": {"questions": questions}});
        let asked = mcp(&agent, &workspace, "tools/call", call.clone());
        let path = page_of(&server, &asked);
        if browser.cookies.is_empty() {
            browser.log_in(&ada, &path);
        }
        let shown = page(&browser.look(&path), 200);
        assert!(!shown.contains("<colour>") && shown.contains("<form method=\"post\">"), "{shown}");
        assert!(shown.contains(markup), "{shown}");
        let nothing = page(&browser.submit(&path, &[]), 400);
        assert!(nothing.contains("is not answered") || nothing.contains("button"), "{nothing}");
        assert_eq!(browser.submit(&path, &fields).status, 303);
        let mut again = call;
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = json!({"person": {"action": "accept"}});
        let result = mcp(&agent, &workspace, "tools/call", again);
        assert_eq!(result["structuredContent"]["answers"], expected, "{result}");
        assert!(page(&browser.look(&path), 200).contains("Answered by"));
    }
}

#[test]
fn w16_a_plan_is_accepted_only_on_a_page_that_shows_it() {
    let server = Server::start();
    let (ada, agent, workspace) = at_work(&server);
    let write = |content: &str| {
        let plan =
            json!({"title": "T", "content": content, "path": "/plans/brave-otter-lantern.plan"});
        agent.tool(&workspace, "plan_write", plan).expect(200);
    };
    // Changing a plan asks nobody.
    let policy = format!("/api/v1/workspaces/{workspace}/policy");
    ada.ask("PUT", &policy, &json!({"rules": []})).expect(200);
    write("# <b>Build</b>\n");
    let question = json!([{"name": "approval", "question": "Ready?",
        "schema": {"type": "string", "enum": ["Accept", "Reject"]}}]);
    let call = json!({"name": "ask_user", "arguments": {"questions": question}});
    let path = page_of(&server, &mcp(&agent, &workspace, "tools/call", call));
    let mut browser = Browser::new(&server);
    browser.log_in(&ada, &path);
    let shown = page(&browser.look(&path), 200);
    assert!(shown.contains("# &lt;b&gt;Build&lt;/b&gt;") && shown.contains("<form"), "{shown}");
    write("# Something else\n");
    let changed = page(&browser.look(&path), 200);
    assert!(!changed.contains("<form") && changed.contains("/#/inbox/"), "{changed}");
    page(&browser.submit(&path, &[("answer.approval", "Accept")]), 409);
    assert_eq!(browser.submit(&path, &[("answer.approval", "Reject")]).status, 303);
}

#[test]
fn a_page_shows_nothing_to_others_and_takes_no_form_from_elsewhere() {
    let server = Server::start();
    let (ada, agent, workspace) = at_work(&server);
    let asked = mcp(&agent, &workspace, "tools/call", overwrite("two\n"));
    let path = page_of(&server, &asked);
    let (eve, vic) = (server.person(), server.person());
    ada.invite(&workspace, &vic, "viewer");
    for (someone, status) in [(&eve, 403), (&vic, 403), (&agent, 403)] {
        for method in ["GET", "POST"] {
            let form = [("content-type", "application/x-www-form-urlencoded")];
            let token = format!("Bearer {}", someone.token);
            let headers = [form[0], ("authorization", token.as_str())];
            let body: &[u8] = if method == "GET" { b"" } else { b"decision=once" };
            let answer = server.send(method, &path, &headers, body);
            assert!(!page(&answer, status).contains("a.txt"));
        }
    }
    let mut browser = Browser::new(&server);
    browser.log_in(&ada, &path);
    let state = hidden(&page(&browser.look(&path), 200), "state_hash");
    let (cookies, body) = (browser.cookies.join("; "), format!("decision=once&state_hash={state}"));
    let form = ("content-type", "application/x-www-form-urlencoded");
    for headers in [
        [("cookie", cookies.as_str()), ("sec-fetch-site", "cross-site"), form],
        [("cookie", cookies.as_str()), ("origin", "http://evil.example"), form],
        [("cookie", cookies.as_str()), ("origin", "null"), form],
        [("cookie", cookies.as_str()), ("content-type", "text/plain"), ("x-a", "b")],
    ] {
        let answer = server.send("POST", &path, &headers, body.as_bytes());
        assert!(matches!(answer.status, 403 | 415), "{headers:?}: {}", answer.status);
    }
    for next in ["//evil.example", "/decide//evil.example", "http://evil.example", ""] {
        let fields = [("email", ada.email.as_str()), ("password", PASSWORD), ("next", next)];
        let answer = Browser::new(&server).submit("/decide/login", &fields);
        assert_eq!((answer.status, answer.header("location")), (200, None), "{next}");
    }
    assert_eq!(content(&ada, &workspace), "one\n");
}
