//! What the conformance suite expects that Toolyard's own tools never do: log messages, sampling, forms of
//! five fields, questions under names of the tool's choosing, resources and prompts of other kinds.

#![allow(deprecated, reason = "sampling, roots and logging are what the suite asks for")]

use std::collections::BTreeMap;
use std::future::ready;
use std::time::Duration;

use serde_json::{Value, json};
use yard_server::mcp::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ElicitResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, ListRootsRequest, LoggingLevel,
    LoggingMessageNotificationParam, Prompt, PromptArgument, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, Role, SamplingMessage,
};
use yard_server::mcp::rmcp::service::RequestContext;
use yard_server::mcp::rmcp::{ErrorData, RoleServer};
use yard_server::mcp::{ExtensionReply, McpExtension};

use crate::conformance_tools::{PNG, TOOLSET};

const ABOUT: &str = "A fixture of the conformance suite.";
const NAME: &str = "user_name";
const GREETING: &str = "greeting";
const ROOTS: &str = "client_roots";
/// A handle that tells nothing: sealed states are the matter of Toolyard's own questions.
const STATE: &str = "three";

pub(crate) struct Fixture;

type Context = RequestContext<RoleServer>;
type Called = Result<CallToolResponse, ErrorData>;

impl McpExtension for Fixture {
    fn toolset(&self) -> &str {
        TOOLSET
    }

    fn resources(&self) -> Vec<Resource> {
        let one = |uri: &str, mime: &str| {
            Resource::new(uri, uri).with_description(ABOUT).with_mime_type(mime)
        };
        vec![
            one("test://static-text", "text/plain"),
            one("test://static-binary", "image/png"),
            one("test://watched-resource", "text/plain"),
        ]
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate::new("test://template/{id}/data", "data").with_description(ABOUT)]
    }

    fn prompts(&self) -> Vec<Prompt> {
        let prompt = |name: &str, arguments: &[&str]| {
            let arguments = arguments
                .iter()
                .map(|name| PromptArgument::new(*name).with_description(ABOUT).with_required(true));
            Prompt::new(name, Some(ABOUT), Some(arguments.collect()))
        };
        vec![
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
            prompt("test_input_required_result_prompt", &[]),
        ]
    }

    fn read<'a>(
        &'a self,
        params: &'a ReadResourceRequestParams,
        _: &'a Context,
    ) -> ExtensionReply<'a, ReadResourceResponse> {
        let read = ReadResourceResult::new(vec![content(&params.uri)?]);
        Some(Box::pin(ready(Ok(read.into()))))
    }

    fn prompt<'a>(
        &'a self,
        params: &'a GetPromptRequestParams,
        _: &'a Context,
    ) -> ExtensionReply<'a, GetPromptResponse> {
        let filled = match params.name.as_str() {
            "test_input_required_result_prompt" => asking_prompt(params),
            _ => GetPromptResult::new(messages(params)?).into(),
        };
        Some(Box::pin(ready(Ok(filled))))
    }

    fn call<'a>(
        &'a self,
        params: &'a CallToolRequestParams,
        context: &'a Context,
    ) -> ExtensionReply<'a, CallToolResponse> {
        let answers = params.input_responses.clone().unwrap_or_default();
        let called = match params.name.as_ref() {
            "test_tool_with_logging" => return Some(Box::pin(logging(context))),
            "test_logging_tool" => return Some(Box::pin(logging_if_asked(context))),
            "test_sampling" => return Some(Box::pin(sampled(params, context))),
            "test_elicitation_sep1034_defaults" => {
                return Some(Box::pin(elicited(context, defaults())));
            }
            "test_elicitation_sep1330_enums" => return Some(Box::pin(elicited(context, enums()))),
            "test_missing_capability" => needing_sampling(context),
            "test_input_required_result_elicitation" => greeting(&answers),
            "test_input_required_result_sampling" => {
                asked_once(&answers, "capital_question", sampling("What is the capital of France?"))
            }
            "test_input_required_result_list_roots" => asked_once(&answers, ROOTS, roots()),
            "test_input_required_result_multiple_inputs" => {
                three(&answers, params.request_state.as_deref())
            }
            "test_input_required_result_capabilities" => whatever_it_can(&answers, context),
            _ => return None,
        };
        Some(Box::pin(ready(called)))
    }
}

/// What an address names.
fn content(uri: &str) -> Option<ResourceContents> {
    let text = |text: &str| ResourceContents::text(text, uri).with_mime_type("text/plain");
    Some(match uri {
        "test://static-text" => text("This is the content of the static text resource."),
        "test://watched-resource" => text("Watched."),
        "test://static-binary" => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({"id": id, "data": format!("Data for {id}")}).to_string();
            ResourceContents::text(data, uri).with_mime_type("application/json")
        }
    })
}

fn messages(params: &GetPromptRequestParams) -> Option<Vec<PromptMessage>> {
    let argument = |name: &str| {
        let value = params.arguments.as_ref().and_then(|arguments| arguments.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let output = |text: &str| PromptMessage::new_text(Role::User, text);
    let shown = |block| PromptMessage::new(Role::User, block);
    Some(match params.name.as_str() {
        "test_simple_prompt" => vec![output("This is a simple prompt.")],
        "test_prompt_with_arguments" => {
            vec![output(&format!("Filled in with {} and {}.", argument("arg1"), argument("arg2")))]
        }
        "test_prompt_with_embedded_resource" => {
            let embedded = ResourceContents::text("This is embedded.", argument("resourceUri"));
            let block = ContentBlock::resource(embedded.with_mime_type("text/plain"));
            vec![shown(block), output("Read the resource above.")]
        }
        "test_prompt_with_image" => {
            vec![shown(ContentBlock::image(PNG, "image/png")), output("Look at the image above.")]
        }
        _ => return None,
    })
}

/// A prompt that asks before it is filled in.
fn asking_prompt(params: &GetPromptRequestParams) -> GetPromptResponse {
    let key = "user_context";
    let given = params.input_responses.as_ref().and_then(|answers| accepted(answers, key));
    match given {
        Some(given) => {
            let words = format!("Use this context: {}", given["context"]);
            GetPromptResult::new(vec![PromptMessage::new_text(Role::User, words)]).into()
        }
        None => {
            let request = form("What context should the prompt use?", "context");
            InputRequiredResult::from_input_requests(one(key, request)).into()
        }
    }
}

async fn logging(context: &Context) -> Called {
    for message in ["It begins", "It goes on", "It is done"] {
        log(context, message).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    text_reply("Logged three times")
}

/// From 2026-07-28 on a client gets log messages only if its request names a level.
async fn logging_if_asked(context: &Context) -> Called {
    if context.meta.log_level().is_some() {
        log(context, "Logged").await;
    }
    text_reply("Logged, if that was asked for")
}

async fn log(context: &Context, message: &str) {
    let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
    let _ = context.peer.notify_logging_message(message.with_logger(TOOLSET)).await;
}

/// Asks the client's model by a request, until 2025-11-25.
async fn sampled(params: &CallToolRequestParams, context: &Context) -> Called {
    let prompt = params.arguments.as_ref().and_then(|arguments| arguments.get("prompt")?.as_str());
    match context.peer.create_message(message(prompt.unwrap_or("Hello"))).await {
        Ok(output) => {
            let text = output.message.content.first().and_then(|block| block.as_text());
            text_reply(&format!("The model said: {}", text.map_or("", |text| &text.text)))
        }
        Err(error) => failed(&error.to_string()),
    }
}

/// Asks a person by a request, until 2025-11-25.
async fn elicited(context: &Context, schema: Value) -> Called {
    match context.peer.create_elicitation(elicitation("Please fill this in", schema)).await {
        Ok(output) => {
            let (action, content) = (json!(output.action), output.content.unwrap_or_default());
            text_reply(&format!("Elicitation completed: action={action}, content={content}"))
        }
        Err(error) => failed(&error.to_string()),
    }
}

fn needing_sampling(context: &Context) -> Called {
    match context.client_capabilities().and_then(|able| able.sampling) {
        Some(_) => text_reply("The client has sampling"),
        None => {
            let needed = ClientCapabilities::builder().enable_sampling().build();
            Err(ErrorData::missing_required_client_capability(needed))
        }
    }
}

fn greeting(answers: &InputResponses) -> Called {
    match accepted(answers, NAME) {
        Some(given) => text_reply(&format!("Hello, {}!", given["name"].as_str().unwrap_or("you"))),
        None => asked(one(NAME, whom()), None),
    }
}

fn asked_once(answers: &InputResponses, key: &str, request: InputRequest) -> Called {
    match answers.get(key) {
        Some(output) => text_reply(&format!("The client said: {output}")),
        None => asked(one(key, request), None),
    }
}

fn three(answers: &InputResponses, state: Option<&str>) -> Called {
    let all = [(NAME, whom()), (GREETING, sampling("Greet me")), (ROOTS, roots())];
    let is_answered = all.iter().all(|(key, _)| answers.contains_key(*key));
    match is_answered && state == Some(STATE) {
        true => text_reply("All three were answered"),
        false => asked(all.map(|(key, request)| (key.to_owned(), request)).into(), Some(STATE)),
    }
}

/// Asks for as much as the client can do.
fn whatever_it_can(answers: &InputResponses, context: &Context) -> Called {
    let able = context.client_capabilities().unwrap_or_default();
    let mut requests = BTreeMap::new();
    if able.sampling.is_some() {
        requests.insert(GREETING.to_owned(), sampling("Greet me"));
    }
    if able.elicitation.is_some() {
        requests.insert(NAME.to_owned(), whom());
    }
    requests.retain(|key, _| !answers.contains_key(key));
    match requests.is_empty() {
        true => text_reply("Nothing is left to ask"),
        false => asked(requests, None),
    }
}

fn text_reply(text: &str) -> Called {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

fn failed(text: &str) -> Called {
    Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into())
}

fn asked(requests: InputRequests, state: Option<&str>) -> Called {
    Ok(InputRequiredResult::new(Some(requests), state.map(str::to_owned)).into())
}

fn one(key: &str, request: InputRequest) -> InputRequests {
    BTreeMap::from([(key.to_owned(), request)])
}

/// What a person accepted; `None` unless it is an answer to a form.
fn accepted(answers: &InputResponses, key: &str) -> Option<Value> {
    let output: ElicitResult = serde_json::from_value(answers.get(key)?.clone()).ok()?;
    output.content.filter(Value::is_object)
}

fn whom() -> InputRequest {
    form("What is your name?", "name")
}

fn form(message: &str, field: &str) -> InputRequest {
    let schema = json!({
        "type": "object", "properties": {field: {"type": "string"}}, "required": [field],
    });
    InputRequest::Elicitation(ElicitRequest::new(elicitation(message, schema)))
}

fn sampling(prompt: &str) -> InputRequest {
    InputRequest::CreateMessage(CreateMessageRequest::new(message(prompt)))
}

fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}

fn message(prompt: &str) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100)
}

fn elicitation(message: &str, schema: Value) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: serde_json::from_value(schema).unwrap(),
    }
}

/// SEP-1034. Five fields: one more than a form of Toolyard's own has (W15).
fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }, "required": []})
}

/// SEP-1330.
fn enums() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = [("value1", "First"), ("value2", "Second"), ("value3", "Third")]
        .map(|(value, title)| json!({"const": value, "title": title}));
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": plain, "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }, "required": []})
}
