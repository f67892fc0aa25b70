//! The catalog's answers as results of MCP: data with its schema and a text for models; failures as
//! results that teach (F1, R10).

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::Value;
use yard_core::Fault;
use yard_dialects::{Answer, CHANGED_BY_PERSON};
use yard_gate::{Awaited, Pending};

use super::seat::Elsewhere;
use super::text;
use super::tools::Speech;

/// Where a result that is none has the dialect's own answer, among what is said about it.
const ANSWER: &str = "toolyard/answer";

/// The result of a call that waits for nobody.
pub(super) fn of(speech: Speech, mut answer: Answer) -> CallToolResult {
    let ok = answer.ok;
    if ok
        && speech == Speech::Text
        && let Some(text) = answer.body.take_quoted()
    {
        return CallToolResult::success(vec![ContentBlock::text(text)]);
    }
    let mut body = answer.body.into_value();
    let changed = body.get_mut(CHANGED_BY_PERSON).map(Value::take).unwrap_or_default();
    let mut result = match ok {
        true => succeeded(speech, &mut body),
        false => failed(&mut body),
    };
    if let Some(message) = changed["message"].as_str() {
        let text = format!("Note: {message}. They are now: {}", changed["args"]);
        result.content.push(ContentBlock::text(text));
    }
    result
}

fn succeeded(speech: Speech, body: &mut Value) -> CallToolResult {
    let mut reply = body["result"].take();
    match speech {
        Speech::Text => {
            let text = match reply["content"].take() {
                Value::String(text) => text,
                other => text::of(&other),
            };
            CallToolResult::success(vec![ContentBlock::text(text)])
        }
        Speech::Blocks => match serde_json::from_value(reply["content"].take()) {
            Ok(blocks) => CallToolResult::success(blocks),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(format!(
                "the answer is made of no known blocks: {error}"
            ))]),
        },
        Speech::Data => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text::of(&reply))]);
            result.structured_content = Some(reply);
            result
        }
    }
}

/// The words are for the model, the rest for whoever reads codes.
fn failed(body: &mut Value) -> CallToolResult {
    let message = body["error"].as_str().unwrap_or("the call failed").to_owned();
    let answer = match body["result"].take() {
        Value::Null => body.take(),
        reply => reply,
    };
    unsuccessful(message, answer)
}

/// A result that is no reply of the tool. What the dialect says of it stands beside the result: as its data
/// it would have to keep the schema of a reply, which clients check.
fn unsuccessful(message: String, answer: Value) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(message)]);
    let mut meta = MetaObject::new();
    meta.insert(ANSWER.to_owned(), answer);
    result.meta = Some(meta);
    result
}

/// The result of a call that a person has to decide or to answer first. It is no success: what was asked
/// for has not happened.
pub(super) fn waiting(pending: &Pending, elsewhere: &Elsewhere, body: &Value) -> CallToolResult {
    let text = match (&pending.awaited, elsewhere) {
        (Awaited::Approval(id), Elsewhere::CommandLine(folder)) => format!(
            "Not done yet: a person has to approve this call, which they do with `toolyard approve {id}` in \
             a terminal, in the folder {folder}. Once they do, it happens without another call: look at the \
             files before you go on. Only a terminal is opened by the same call, made again."
        ),
        (Awaited::Approval(id), Elsewhere::Pages(page_of)) => format!(
            "Not done yet: a person has to approve this call (approval {id}, in the workspace's list of \
             approvals). Once they do, it happens without another call: look at the files before you go on. \
             Only a terminal is opened by the same call, made again. A person does it at {}",
            page_of(&pending.awaited)
        ),
        (Awaited::Question(id), Elsewhere::CommandLine(folder)) => format!(
            "Not answered yet: a person answers with `toolyard answer {id}` in a terminal, in the folder \
             {folder}. Go on with what does not depend on it, and ask again later."
        ),
        (Awaited::Question(id), Elsewhere::Pages(page_of)) => format!(
            "Not answered yet: question {id} is in the workspace's list of questions. Go on with what does \
             not depend on it, and ask again later. A person does it at {}",
            page_of(&pending.awaited)
        ),
    };
    unsuccessful(text, body["result"].clone())
}

/// The result of a call whose person said something that cannot be done.
pub(super) fn refused(fault: &Fault) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(fault.message().to_owned())])
}
