//! The page `/docs`: the table of routes for people, with an example of each, without scripts and foreign resources.

use serde_json::Value;
use yard_dialects::{Catalog, Dialect};

use super::examples::{self, Example, format_json};
use super::html::{escaped, frame};
use super::route::{BodyShape, ReplyShape, Route, RouteAccess};
use super::schema_table::{self, with_code_spans};
use super::tools;

/// The sections of the page: the tag of their routes, a title and an introduction. A test checks that no tag is missing.
const SECTIONS: [(&str, &str, &str); 21] = [
    ("server", "Server", "What it is, how it does, and these documents."),
    (
        "auth",
        "Accounts and logins",
        "A person logs in and gets an access token. An agent has a key instead.",
    ),
    ("inbox", "Inbox", "What waits for a person, in all of their workspaces."),
    (
        "workspaces",
        "Workspaces",
        "A folder with its files, its history, its members and its rules.",
    ),
    ("members", "Members", "People who may see or change a workspace."),
    (
        "keys",
        "Agents' keys",
        "An agent works in one workspace, with the toolsets that its key was made for.",
    ),
    ("tools", "Tools", "What agents call: one route for the tools of every toolset."),
    (
        "files",
        "Files",
        "Files by id, also large and binary ones, with their versions and the trash.",
    ),
    ("steps", "History", "Every change is a step, and every step can be undone."),
    ("chats", "Chats", "An agent's run: its mode, its messages and its calls."),
    ("terminals", "Terminals", "Programs that agents started and that go on running."),
    ("questions", "Questions", "What agents ask people."),
    (
        "approvals",
        "Approvals",
        "What agents may not do by themselves: people look at it and decide.",
    ),
    (
        "comments",
        "Comments",
        "What a person notes on lines of diffs, and sends to an agent as one message. The agent gets it beside its next tool \
         answer, as <code>messages_from_person</code>.",
    ),
    ("seen", "Seen", "A person's own marks on contents of files."),
    ("storage", "Storage", "How much the history of a workspace takes."),
    ("doctor", "Doctor", "What the box around commands can do."),
    ("policy", "Policy", "What may happen without a person."),
    ("events", "Events", "What happens in a workspace, as it happens."),
    (
        "decide",
        "Pages on which people decide",
        "An agent's client is given their addresses. They are HTML.",
    ),
    (
        "mcp",
        "MCP",
        "MCP clients connect to <code>/mcp/ID</code>, the address of a workspace, with an agent's key as \
         <code>Authorization: Bearer</code>. <code>?toolset=NAME</code> chooses the toolset; without it, it is \
         <code>filesystem</code>.",
    ),
];

const INTRODUCTION: &str = "<h1>Toolyard API</h1>\
<p>Send a person's access token or an agent's key as <code>Authorization: Bearer</code>. Bodies and answers are JSON \
unless it says otherwise. An error has a status of 400 or above, and says what to send instead; where arguments are wrong, \
<code>fields</code> says so for each of them:</p>\
<pre>{\"success\": false, \"error\": \"File not found: /src/greet.js. Did you mean /src/greet.py?\", \"code\": \"NOT_FOUND\"}</pre>\
<p>Lists are cut: send <code>limit</code>, and the answer's <code>next</code> as <code>cursor</code> for the rest. Send a \
change with a header <code>Idempotency-Key</code>, and a retry with the same key answers as the first try did.</p>\
<p>In the examples, <code>$SERVER</code> is the address of this server, <code>$TOKEN</code> a token or key, and \
<code>$ID</code> the id of a workspace; <a href=\"/start\">First steps</a> sets all three. The same as a document for programs: \
<a href=\"/openapi.json\">/openapi.json</a>.</p>";

/// The page about these routes.
pub(super) fn render(routes: &[Route], catalog: &Catalog) -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("<nav>");
    for (tag, title, _) in SECTIONS {
        page += &format!("<a href=\"#{tag}\">{title}</a> ");
    }
    page.push_str("</nav>");
    for (tag, title, about) in SECTIONS {
        page += &format!("<h2 id=\"{tag}\">{title}</h2><p>{about}</p>");
        for route in routes.iter().filter(|route| route.tag() == tag && !route.is_web_file()) {
            describe(&mut page, route, catalog);
        }
    }
    frame("Toolyard API", &page)
}

fn describe(page: &mut String, route: &Route, catalog: &Catalog) {
    let (method, path, about) = (&route.method, escaped(route.path), escaped(route.about));
    let access = route.access.describe();
    *page += &format!(
        "<details><summary><span class=\"m\">{method}</span><code>{path}</code>\
         <span>{about}</span></summary><p>{access}</p>"
    );
    if let Some(query) = &route.query {
        field_table(page, "Query", query.schema());
    }
    if let BodyShape::Json(body) | BodyShape::OptionalJson(body) = &route.body {
        field_table(page, "Body", body.schema());
    }
    if tools::is_call(route) {
        catalog.dialects().for_each(|dialect| toolset(page, catalog, dialect));
    }
    show(page, examples::of(route), route.access);
    if let ReplyShape::Json(reply) = &route.reply
        && !tools::is_call(route)
    {
        let table = schema_table::table(reply);
        *page += &format!("<details><summary>Fields of the answer</summary>{table}</details>");
    }
    page.push_str("</details>");
}

fn field_table(page: &mut String, title: &str, schema: &Value) {
    *page += &format!("<h4>{title}</h4>{}", schema_table::table(schema));
}

/// The tools of a toolset, each with the first sentence about it.
fn toolset(page: &mut String, catalog: &Catalog, dialect: &Dialect) {
    let (name, about) = (dialect.name, with_code_spans(dialect.about));
    *page +=
        &format!("<details><summary>Toolset <code>{name}</code></summary><p>{about}</p><table>");
    for tool in catalog.list(dialect.name) {
        let about = tool.about().lines().next().unwrap_or_default();
        let sentence = about.split_once(". ").map_or(about, |(sentence, _)| sentence);
        let about = with_code_spans(sentence.trim_end_matches('.'));
        *page += &format!("<tr><td><code>{}</code><td>{about}", escaped(tool.name()));
    }
    let path = tools::PATH;
    *page += &format!(
        "</table><p>Their arguments: <code>GET {path}?toolset={name}</code></p></details>"
    );
}

/// The commands that send some examples, each with its answer.
fn show(page: &mut String, examples: &[Example], access: RouteAccess) {
    for example in examples {
        let title = escaped(example.title.as_deref().unwrap_or("Example"));
        let (command, status) = (escaped(&example.curl(access)), example.status);
        let answer = match &example.answer {
            Value::Null => ", without a body</p>".to_owned(),
            Value::String(text) => format!(":</p><pre>{}</pre>", escaped(text)),
            json => format!(":</p><pre>{}</pre>", escaped(&format_json(json))),
        };
        *page += &format!("<h4>{title}</h4><pre>{command}</pre><p>Answer {status}{answer}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::routes;

    /// The largest size of the page: when it grows beyond this, shorten it or raise this on purpose.
    const MAX_BODY_BYTES: usize = 256 << 10;

    #[test]
    fn every_route_is_on_the_page_with_its_example_and_the_page_stays_small() {
        let catalog = Catalog::standard();
        let mut all = routes(&catalog);
        let page = render(&all, &catalog);
        all.retain(|route| !route.is_web_file());
        assert_eq!(page.matches("<span class=\"m\">").count(), all.len());
        for route in &all {
            assert!(SECTIONS.iter().any(|(tag, ..)| *tag == route.tag()), "{}", route.path);
            for example in examples::of(route) {
                assert!(page.contains(&escaped(&example.curl(route.access))), "{}", route.path);
            }
        }
        assert!(page.len() <= MAX_BODY_BYTES, "{} bytes", page.len());
        assert!(!page.contains("<script"));
    }
}
