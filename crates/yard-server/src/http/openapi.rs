//! The OpenAPI 3.1 document, generated from the table of routes, the catalog and the examples. Only the error codes are
//! listed here. Routes of pages and of MCP are left out.

use serde_json::{Map, Value, json};

use super::app::App;
use super::examples::{self, Example};
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::route::{BodyShape, ReplyShape, Route, RouteAccess};
use super::{docs_page, tools};

const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";

pub(super) fn serve(request: &HttpRequest) -> Result<Reply, Problem> {
    let App { openapi, .. } = &*request.app;
    let document = openapi.get_or_init(|| document(request.app.routes()).to_string().into());
    Ok(Reply::text("application/json", document.clone()))
}

pub(super) fn docs(request: &HttpRequest) -> Result<Reply, Problem> {
    let App { docs, catalog, .. } = &*request.app;
    let page = docs.get_or_init(|| docs_page::render(request.app.routes(), catalog).into());
    Ok(Reply::page(200, page.clone()))
}

/// The document about these routes.
pub(super) fn document(routes: &[Route]) -> Value {
    let mut paths = Map::new();
    for route in routes.iter().filter(|route| route.is_documented()) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Toolyard",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The workspace that AI agents work in: nothing is ever lost, every step can be undone.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {"Problem": problem()},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A person's access token, or an agent's key.",
                },
                "cookie": {"type": "apiKey", "in": "cookie", "name": "access_token"},
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.about,
        "description": route.access.describe(),
        "tags": [route.tag()],
        "parameters": parameters(route),
        "responses": {
            route.status.to_string(): success(route),
            "default": answer(
                "What went wrong, and what to send instead.",
                JSON,
                &json!({"$ref": "#/components/schemas/Problem"}),
            ),
        },
    });
    operation["security"] = match route.access {
        RouteAccess::Anyone => json!([]),
        _ => json!([{"token": []}, {"cookie": []}]),
    };
    if matches!(route.reply, ReplyShape::Bytes) {
        let part = answer("The part that the header Range asked for.", BYTES, &json!({}));
        operation["responses"]["206"] = part;
        operation["responses"]["304"] =
            json!({"description": "The caller has it (If-None-Match)."});
    }
    if tools::is_call(route) {
        let about = "A person is asked; the result comes once they have spoken.";
        operation["responses"]["202"] = answer(about, JSON, &tools::waiting_schema());
    }
    let body = match (&route.shown_body, &route.body) {
        (Some(schema), _) => Some(body(true, JSON, schema)),
        (None, BodyShape::Json(form)) => Some(body(true, JSON, form.schema())),
        (None, BodyShape::OptionalJson(form)) => Some(body(false, JSON, form.schema())),
        (None, BodyShape::Bytes) => Some(body(true, BYTES, &json!({}))),
        (None, BodyShape::None | BodyShape::Form | BodyShape::Message) => None,
    };
    if let Some(body) = body {
        operation["requestBody"] = body;
    }
    show_examples(&mut operation, examples::of(route));
    operation
}

/// Puts the examples of a route where the document has a place for each of their parts.
fn show_examples(operation: &mut Value, examples: &[Example]) {
    let Some(first) = examples.first() else { return };
    for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
        let values = match parameter["in"].as_str() {
            Some("path") => &first.path,
            Some("query") => &first.query,
            _ => &first.headers,
        };
        let value = parameter["name"].as_str().and_then(|name| values.get(name));
        if let Some(value) = value.cloned() {
            parameter["example"] = value;
        }
    }
    let bodies = examples.iter().map(|example| (example, &example.body));
    if let Some(body) = operation.get_mut("requestBody") {
        show_values(body, bodies.collect());
    }
    if let Some(responses) = operation["responses"].as_object_mut() {
        for (status, response) in responses {
            let is_answer = |example: &&Example| match status.as_str() {
                "default" => example.status >= 400,
                status => example.status.to_string() == *status,
            };
            let answers = examples.iter().filter(is_answer);
            show_values(response, answers.map(|example| (example, &example.answer)).collect());
        }
    }
}

/// The values as examples of a body: one by itself, or several by their titles.
fn show_values(body: &mut Value, mut values: Vec<(&Example, &Value)>) {
    values.retain(|(_, value)| !value.is_null());
    let content = body.get_mut("content").and_then(Value::as_object_mut);
    let Some(content) = content.and_then(|content| content.values_mut().next()) else { return };
    match values.as_slice() {
        [] => {}
        [(_, value)] => content["example"] = (*value).clone(),
        _ => {
            let named = values.iter().map(|(example, value)| {
                let title = example.title.as_deref().unwrap_or_default();
                let name = title.to_lowercase().replace(|char: char| !char.is_alphanumeric(), "_");
                (name, json!({"summary": title, "value": value}))
            });
            content["examples"] = Value::Object(named.collect());
        }
    }
}

fn body(required: bool, media: &str, schema: &Value) -> Value {
    json!({"required": required, "content": {media: {"schema": schema}}})
}

fn answer(about: &str, media: &str, schema: &Value) -> Value {
    json!({"description": about, "content": {media: {"schema": schema}}})
}

fn success(route: &Route) -> Value {
    match &route.reply {
        ReplyShape::Empty => json!({"description": "Done."}),
        ReplyShape::Json(schema) => answer("Done.", JSON, schema),
        ReplyShape::WebFile => answer("A file of the page.", "text/html", &json!({})),
        ReplyShape::Page => answer("A page.", "text/html", &json!({})),
        ReplyShape::Text(media) => answer("Done.", media, &json!({})),
        ReplyShape::Protocol => json!({"description": "What the protocol answers."}),
        ReplyShape::Bytes => answer("The bytes.", BYTES, &json!({})),
    }
}

/// `POST /api/v1/workspaces/{id}/members` is `post_workspaces_id_members`.
fn operation_id(route: &Route) -> String {
    let words = route.path.split(['/', '{', '}', '.']).filter(|word| !word.is_empty());
    let words = words.filter(|word| *word != "api" && *word != "v1");
    let method = route.method.as_str().to_lowercase();
    std::iter::once(method.as_str()).chain(words).collect::<Vec<_>>().join("_")
}

fn parameters(route: &Route) -> Value {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let schema = json!({"type": "string", "format": "uuid"});
    let mut all: Vec<Value> = names
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": schema}))
        .collect();
    all.extend(route.query.iter().flat_map(|form| query_parameters(form.schema())));
    if route.stores_answers() {
        all.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "A retry with the same key answers as the first try did.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
        }));
    }
    Value::Array(all)
}

fn query_parameters(schema: &Value) -> Vec<Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let parameter = |(name, schema): (String, Value)| {
        let required = required.contains(&Value::from(name.clone()));
        let description = schema["description"].clone();
        json!({
            "name": name,
            "in": "query",
            "required": required,
            "description": description,
            "schema": schema,
        })
    };
    properties.into_iter().map(parameter).collect()
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "What went wrong (W1).",
        "required": ["success", "error", "code"],
        "properties": {
            "success": {"const": false},
            "error": {"type": "string", "description": "Words from which the next call can succeed."},
            "code": {"type": "string", "enum": CODES},
            "fields": {
                "type": "object",
                "description": "By argument, what was expected.",
                "additionalProperties": {"type": "string"},
            },
        },
    })
}

/// Every code that an answer can have.
const CODES: [&str; 14] = [
    "VALIDATION_ERROR",
    "INVALID_TOKEN",
    "FORBIDDEN",
    "NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "CONFLICT",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "RANGE_NOT_SATISFIABLE",
    "RATE_LIMITED",
    "INTERNAL_ERROR",
    "UNAVAILABLE",
    "TIMEOUT",
    "EXECUTION_ERROR",
];
