//! The catalog's answers as results of MCP: data with its schema and a text for models; failures as
//! results that teach (F1, R10).

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;
use yard_core::Fault;
use yard_dialects::Answer;
use yard_gate::{Awaited, Pending};

use super::seat::Elsewhere;
use super::text;
use super::tools::Speech;

/// The result of a call that waits for nobody.
pub(super) fn of(speech: Speech, answer: Answer) -> CallToolResult {
    let ok = answer.ok;
    let mut body = answer.body.into_value();
    if !ok {
        return failed(&mut body);
    }
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
    let mut result = CallToolResult::error(vec![ContentBlock::text(message)]);
    result.structured_content = match body["result"].take() {
        Value::Null => Some(body.take()),
        reply => Some(reply),
    };
    result
}

/// The result of a call that a person has to decide or to answer first. It is no success: what was asked
/// for has not happened.
pub(super) fn waiting(pending: &Pending, elsewhere: Elsewhere, body: &Value) -> CallToolResult {
    let text = match (&pending.awaited, elsewhere) {
        (Awaited::Approval(id), Elsewhere::CommandLine) => format!(
            "Not done yet: a person has to approve this call, which they do with `toolyard approve {id}` in \
             a terminal. Once they do, it happens without another call: look at the files before you go on."
        ),
        (Awaited::Approval(id), Elsewhere::Routes) => format!(
            "Not done yet: a person has to approve this call (approval {id}, in the workspace's list of \
             approvals). Once they do, it happens without another call: look at the files before you go on."
        ),
        (Awaited::Question(id), Elsewhere::CommandLine) => format!(
            "Not answered yet: a person answers with `toolyard answer {id}` in a terminal. Go on with what \
             does not depend on it, and ask again later."
        ),
        (Awaited::Question(id), Elsewhere::Routes) => format!(
            "Not answered yet: question {id} is in the workspace's list of questions. Go on with what does \
             not depend on it, and ask again later."
        ),
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(body["result"].clone());
    result
}

/// The result of a call whose person said something that cannot be done.
pub(super) fn refused(fault: &Fault) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(fault.message().to_owned())])
}
