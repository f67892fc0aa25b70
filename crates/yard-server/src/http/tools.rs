//! The tools over HTTP: one route for the tools of all toolsets.

use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yard_core::{Fault, FaultCode, Role};
use yard_dialects::{Answer, AnyTool, Catalog, Dialect, Format, Stop, form};
use yard_gate::{Awaited, Pending, Session};

use super::chats;
use super::outcome::Outcome;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::route::{Route, RouteAccess};
use super::row::{self, Row};
use super::waiting::{PendingCall, WithdrawOnDrop};
use crate::messages;
use crate::pool::WorkKind;

pub(super) const PATH: &str = "/api/v1/workspaces/{id}/tools";
/// The toolset of a call that names none.
pub(super) const TOOLSET: &str = "workspace";
/// The largest body of a call (R12).
const MAX_BODY_BYTES: u64 = 64 << 20;

/// One call of one tool.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Envelope {
    /// The tool's name.
    tool: String,
    /// Its arguments.
    #[schemars(with = "serde_json::Map<String, Value>")]
    args: Value,
    /// The dialect that the tool belongs to (default `workspace`).
    toolset: Option<String>,
    /// The chat that the call belongs to; without it, the caller's default chat.
    chat_id: Option<String>,
    /// How many milliseconds the call may wait for a person, where it needs one (default 30,000).
    wait_ms: Option<u64>,
}

/// Which definitions, for whom.
#[derive(Deserialize, JsonSchema)]
pub(super) struct DefinitionsQuery {
    /// The dialect (default `workspace`).
    toolset: Option<String>,
    /// Who reads them: `json` (default), `functions`, `openai`, `openai-chat`, `anthropic` or `gemini`.
    format: Option<String>,
}

/// Definitions of tools.
#[derive(Serialize, JsonSchema)]
pub(super) struct Definitions {
    toolset: String,
    /// As the format's API wants them declared.
    tools: Value,
}

/// The names in the body of a call.
#[derive(Deserialize)]
struct CalledTool {
    tool: String,
    toolset: Option<String>,
}

/// The route of calls. The documents show every tool of every dialect.
pub(super) fn row(catalog: &Catalog) -> Row {
    let dialects = catalog.dialects().map(|dialect| dialect.name);
    let tools: Vec<(&str, &AnyTool)> = dialects
        .flat_map(|toolset| catalog.list(toolset).map(move |tool| (toolset, tool)))
        .collect();
    let bodies: Vec<Value> = tools.iter().map(|(toolset, tool)| one_call(toolset, tool)).collect();
    let reply = json!({"anyOf": catalog.dialects().flat_map(|dialect| answers(catalog, dialect))
        .collect::<Vec<_>>()});
    row::begins(RouteAccess::Inside(Role::Viewer), Method::POST, PATH, call)
        .about("Calls a tool")
        .body::<Envelope>()
        .limited_to(MAX_BODY_BYTES)
        .showing(json!({"anyOf": bodies}), reply)
}

/// The body of a call of one tool.
fn one_call(toolset: &str, tool: &AnyTool) -> Value {
    let mut schema = form::input_schema::<Envelope>();
    let properties = &mut schema["properties"];
    properties["tool"] = json!({"const": tool.name(), "description": tool.about()});
    properties["toolset"] = json!({"const": toolset});
    properties["args"] = tool.input_schema().clone();
    schema["title"] = format!("{toolset}.{}", tool.name()).into();
    schema
}

/// The answers of a dialect with status 200: those of successful calls and, if failures have this status as well (F1),
/// those of failed calls.
fn answers(catalog: &Catalog, dialect: &Dialect) -> Vec<Value> {
    let replies: Vec<&Value> = catalog.list(dialect.name).map(AnyTool::output_schema).collect();
    let done = (dialect.wrap_reply)(json!(form::MARK).into());
    let failed = (dialect.wrap_stop)("", &Stop::Fault(Fault::new(FaultCode::Io, "why")));
    let mut schemas = vec![form::like(&done.body, &json!({"anyOf": replies}))];
    if failed.status == done.status {
        schemas.push(form::like(&failed.body, &json!({})));
    }
    schemas
}

/// The answer to a call that waits for a person (R16).
pub(super) fn waiting_schema() -> Value {
    let result = json!({
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": {"enum": ["approval_pending", "question_pending"]},
            "approval_id": {"type": "string", "format": "uuid"},
            "question_id": {"type": "string", "format": "uuid"},
        },
    });
    json!({
        "type": "object",
        "required": ["success", "result", "error"],
        "properties": {"success": {"const": true}, "result": result, "error": {"type": "null"}},
    })
}

/// Whether a route is the one that calls tools.
pub(super) fn is_call(route: &Route) -> bool {
    route.path == PATH && route.changes()
}

/// The kind of work of the tool that a request calls, so that a read does not wait behind searches.
pub(super) fn work(request: &HttpRequest) -> Option<WorkKind> {
    if !is_call(&request.route) {
        return None;
    }
    let tool = request.body.peek::<CalledTool>().and_then(|called| {
        request.app.catalog.get(called.toolset.as_deref().unwrap_or(TOOLSET), &called.tool)
    });
    Some(tool.map_or(WorkKind::Change, |tool| tool.work().into()))
}

pub(super) fn call(request: &HttpRequest) -> Result<Outcome, Problem> {
    let (envelope, args) = request.json_around("args")?;
    let Envelope { tool, args, toolset, chat_id, wait_ms } = Envelope { args, ..envelope };
    let toolset = toolset.as_deref().unwrap_or(TOOLSET);
    let session = session(request, chat_id.as_deref())?;
    let catalog = &request.app.catalog;
    let found = catalog.get(toolset, &tool);
    let limits = session.limits();
    let millis = found.map_or(limits.call_millis, |tool| tool.millis(limits));
    let call = request.call.clone().within_millis(millis);
    let outcome = catalog.call_deferring_transcript(toolset, &tool, args, &session, &call);
    if let Some(line) = outcome.transcript_line {
        line.write();
    }
    request.app.metrics.count_call(catalog, toolset, &tool, &outcome.answer);
    if outcome.was_cancelled {
        return Err(Problem::cancelled(outcome.answer));
    }
    let Answer { status, body, pending, .. } = outcome.answer;
    let Some(pending) = pending else {
        let body = messages::delivered(body, &session, &request.call);
        return Ok(Reply::of_tool(status, body).into());
    };
    let withdraw = WithdrawOnDrop::new(request, &session, &pending);
    let toolset = toolset.to_owned();
    let waiting = PendingCall { session, toolset, tool, pending, wait_ms, withdraw };
    Ok(Outcome::Waiting { status, body: body.into_bytes(), call: Box::new(waiting) })
}

/// The reply to a call that is sent again while it waits, or after a person has decided: `body` is what was answered the
/// first time.
pub(super) fn wait_again(
    request: &HttpRequest,
    awaited: Awaited,
    status: u16,
    body: Vec<u8>,
) -> Result<Outcome, Problem> {
    let (envelope, _) = request.json_around("args")?;
    let Envelope { tool, toolset, chat_id, wait_ms, .. } = envelope;
    let toolset = toolset.unwrap_or_else(|| TOOLSET.to_owned());
    let session = session(request, chat_id.as_deref())?;
    let pending = Pending { awaited, wait_ms: None };
    let withdraw = WithdrawOnDrop::new(request, &session, &pending);
    let waiting = PendingCall { session, toolset, tool, pending, wait_ms, withdraw };
    Ok(Outcome::Waiting { status, body: body.into(), call: Box::new(waiting) })
}

/// The caller's session in the chat that it names, or in its default one.
fn session(request: &HttpRequest, chat: Option<&str>) -> Result<Session, Problem> {
    let session = request.session()?;
    let Some(chat) = chat else { return Ok(session) };
    let chat = chats::id(chat)?;
    match session.chat() {
        Some(bound) if bound != chat => {
            Err(Problem::forbidden("this key is bound to another chat"))
        }
        Some(_) => Ok(session),
        None => Ok(session.in_chat(chat)?),
    }
}

pub(super) fn definitions(request: &HttpRequest) -> Result<Reply, Problem> {
    let DefinitionsQuery { toolset, format } = request.query()?;
    let toolset = toolset.unwrap_or_else(|| TOOLSET.to_owned());
    if !request.app.catalog.dialects().any(|dialect| dialect.name == toolset) {
        let known: Vec<_> = request.app.catalog.dialects().map(|dialect| dialect.name).collect();
        return Err(Problem::not_found(format!("no such toolset; known: {}", known.join(", "))));
    }
    let format = format.as_deref().unwrap_or("json");
    let format = Format::from_word(&format.to_ascii_lowercase()).ok_or_else(|| {
        let known = Format::WORDS.map(|(_, word)| word).join(", ");
        Problem::invalid("format", format!("expected one of {known}"))
    })?;
    let tools = request.app.catalog.definitions(&toolset, format);
    Reply::ok(&Definitions { toolset, tools })
}
