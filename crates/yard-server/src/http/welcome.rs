//! The page `/start`: what the server is, the first commands, and links to the documents, without scripts and foreign
//! resources.

use http::Uri;

use super::guard;
use super::html::{escaped, frame};
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

const WHAT: &str = "<h1>Toolyard</h1>\
<p>This server is a workspace for AI agents: files, search, edits, patches, a sandboxed shell and terminals, over \
HTTP and MCP. Every change is kept and can be undone, and what an agent may not do by itself waits for a person.</p>\
<ul><li><a href=\"/docs\">/docs</a>: every route, with an example of each</li>\
<li><a href=\"/openapi.json\">/openapi.json</a>: the same for programs, as an OpenAPI document</li>\
<li><a href=\"/health\">/health</a>: whether the server is ready</li></ul>\
<h2>First steps</h2>\
<p>In a shell with <code>curl</code> and <code>jq</code>: make an account and a workspace, call a tool as an agent \
would, and see what it did.</p>";

const STEPS: &str = r##"
post() {
  curl -s "$SERVER/api/v1$1" -H 'Content-Type: application/json' \
    ${TOKEN:+-H "Authorization: Bearer $TOKEN"} -d "$2"; echo
}

# An account, and a login
post /auth/register '{"email": "ada@example.com", "password": "a long enough password"}'
TOKEN=$(post /auth/login '{"email": "ada@example.com", "password": "a long enough password"}' |
  jq -r .access_token)

# A workspace, a file in it, and its history
ID=$(post /workspaces '{"name": "First"}' | jq -r .workspace.id)
post /workspaces/$ID/tools '{"tool": "write", "args": {"path": "/notes.md", "content": "# Notes\n"}}'
curl -s "$SERVER/api/v1/workspaces/$ID/steps" -H "Authorization: Bearer $TOKEN" | jq
"##;

const AGENTS: &str = "<h2>Agents</h2><p>An agent has a key of its own. It can read and write, and it can never answer for \
you, approve or manage:</p>";

const KEY: &str =
    r#"KEY=$(post /workspaces/$ID/keys '{"name": "my agent", "role": "member"}' | jq -r .key)"#;

const MCP: &str = "<p>With it as <code>Authorization: Bearer</code>, it calls tools over HTTP as above, or over MCP at \
<code>$SERVER/mcp/$ID?toolset=workspace</code>.</p>\
<p><code>toolyard --help</code> lists what the command line can do, on folders of your own too, without a server.</p>";

/// The page.
pub(super) fn page(request: &HttpRequest) -> Result<Reply, Problem> {
    let address = guard::address(&request.app.settings, &Uri::default(), request.headers());
    let server = address.unwrap_or_else(|_| "http://127.0.0.1:3000".to_owned());
    let steps = escaped(&format!("SERVER={server}\n{STEPS}"));
    let page = format!("{WHAT}<pre>{steps}</pre>{AGENTS}<pre>{}</pre>{MCP}", escaped(KEY));
    Ok(Reply::page(200, frame("Toolyard", &page)))
}
