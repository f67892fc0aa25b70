//! Converts answers of the catalog into results of MCP: data with its schema and a text for models, or a failure with
//! its message (F1, R10).

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value};
use yard_core::Fault;
use yard_dialects::{Answer, CHANGED_BY_PERSON, REFUSED_BY_PERSON, refused_in_words};
use yard_gate::{Awaited, Pending, TakenMessages};

use super::callers::DecisionChannel;
use super::text;
use super::tools::ReplyForm;
use crate::messages;

/// The member of a failed result's metadata with the answer of the dialect.
const ANSWER: &str = "toolyard/answer";

/// The longest details of a failure, in bytes.
const MAX_DETAIL_BYTES: usize = 4 << 10;

/// The result of a call that does not wait for a person.
pub(super) fn from_answer(reply_form: ReplyForm, answer: Answer) -> CallToolResult {
    let ok = answer.ok;
    let message = if ok { String::new() } else { answer.failure_message() };
    let mut body = answer.body.into_value();
    let changed = body.get_mut(CHANGED_BY_PERSON).map(Value::take).unwrap_or_default();
    let refused = body.get_mut(REFUSED_BY_PERSON).map(Value::take).unwrap_or_default();
    let mut result = match ok {
        true => succeeded(reply_form, &mut body),
        false => failed(reply_form, message, &mut body),
    };
    if let Some(message) = changed["message"].as_str() {
        let text = format!("Note: {message}. They are now: {}", changed["args"]);
        result.content.push(ContentBlock::text(text));
    }
    result.content.extend(refused_in_words(&refused).map(ContentBlock::text));
    result
}

fn succeeded(reply_form: ReplyForm, body: &mut Value) -> CallToolResult {
    let mut reply = body["result"].take();
    match reply_form {
        ReplyForm::Text => {
            let text = match reply["content"].take() {
                Value::String(text) => text,
                other => text::render(&other),
            };
            CallToolResult::success(vec![ContentBlock::text(text)])
        }
        ReplyForm::Blocks => match serde_json::from_value(reply["content"].take()) {
            Ok(blocks) => CallToolResult::success(blocks),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(format!(
                "the answer is made of no known blocks: {error}"
            ))]),
        },
        ReplyForm::Data => {
            let mut result =
                CallToolResult::success(vec![ContentBlock::text(text::render(&reply))]);
            result.structured_content = Some(reply);
            result
        }
    }
}

/// The message, the code and the details are for the model; the answer itself is for programs. A tool whose reply
/// is a text fails with the message alone, as the server does that it replaces.
fn failed(reply_form: ReplyForm, message: String, body: &mut Value) -> CallToolResult {
    let answer = match body["result"].take() {
        Value::Null => body.take(),
        reply => reply,
    };
    let text = match reply_form {
        ReplyForm::Data => with_code(&message, &answer),
        ReplyForm::Text | ReplyForm::Blocks => message,
    };
    unsuccessful(text, answer)
}

/// The text of a failure: the dialect's code, the message, and details such as the output of a program.
fn with_code(message: &str, answer: &Value) -> String {
    let error = &answer["error"];
    let code = [&answer["code"], &error["code"], error].into_iter().find_map(Value::as_str);
    let code = code.filter(|code| *code != message);
    let mut text = code.map_or_else(|| message.to_owned(), |code| format!("{code}: {message}"));
    let Some(details) = error["details"].as_object() else { return text };
    // The message names every wrong argument already.
    let shown = details.iter().filter(|(name, _)| *name != "fields");
    let shown: Map<String, Value> =
        shown.map(|(name, value)| (name.clone(), value.clone())).collect();
    if !shown.is_empty() {
        text.push_str(&format!("\n{}", shortened(&text::render(&Value::Object(shown)))));
    }
    text
}

/// A long text without its middle.
fn shortened(text: &str) -> String {
    if text.len() <= MAX_DETAIL_BYTES {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(MAX_DETAIL_BYTES / 2);
    let tail = text.ceil_char_boundary(text.len() - MAX_DETAIL_BYTES / 2);
    let left_out = tail - head;
    format!("{}\n[... {left_out} bytes are left out ...]\n{}", &text[..head], &text[tail..])
}

/// A result that is no reply of the tool. The dialect's answer is in the metadata: structured content would have to fit
/// the schema of a reply, which clients check.
fn unsuccessful(message: String, answer: Value) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(message)]);
    let mut meta = MetaObject::new();
    meta.insert(ANSWER.to_owned(), answer);
    result.meta = Some(meta);
    result
}

/// Adds messages of people. Some clients show their models only the data and others only the text, so that they are in
/// both.
pub(super) fn add_messages(result: &mut CallToolResult, taken: &TakenMessages) {
    result.content.push(ContentBlock::text(messages::text(taken)));
    if let Some(Value::Object(members)) = &mut result.structured_content {
        members.insert(messages::MEMBER.to_owned(), messages::value(taken));
    }
}

/// The result of a call that waits for a person. It is no success, because the call was not performed.
pub(super) fn waiting(
    pending: &Pending,
    channel: &DecisionChannel,
    body: &Value,
) -> CallToolResult {
    let text = match (&pending.awaited, channel) {
        (Awaited::Approval(id), DecisionChannel::CommandLine(folder)) => format!(
            "Not done yet: a person has to approve this call, which they do with `toolyard approve {id}` in \
             a terminal, in the folder {folder}. Once they do, it happens without another call: look at the \
             files before you go on. Only a terminal is opened by the same call, made again."
        ),
        (Awaited::Approval(id), DecisionChannel::Pages(page_of)) => format!(
            "Not done yet: a person has to approve this call (approval {id}, in the workspace's list of \
             approvals). Once they do, it happens without another call: look at the files before you go on. \
             Only a terminal is opened by the same call, made again. A person does it at {}",
            page_of(&pending.awaited)
        ),
        (Awaited::Question(id), DecisionChannel::CommandLine(folder)) => format!(
            "Not answered yet: a person answers with `toolyard answer {id}` in a terminal, in the folder \
             {folder}. Go on with what does not depend on it.{}",
            sentence(&body["result"]["message"])
        ),
        (Awaited::Question(id), DecisionChannel::Pages(page_of)) => format!(
            "Not answered yet: question {id} is in the workspace's list of questions. Go on with what does \
             not depend on it. A person does it at {}.{}",
            page_of(&pending.awaited),
            sentence(&body["result"]["message"])
        ),
    };
    unsuccessful(text, body["result"].clone())
}

/// The message of an answer, as another sentence.
fn sentence(message: &Value) -> String {
    message.as_str().map(|message| format!(" Note: {message}.")).unwrap_or_default()
}

/// The result of a call that failed with a fault.
pub(super) fn refused(fault: &Fault) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(fault.message().to_owned())])
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use yard_core::FaultCode;
    use yard_dialects::{Catalog, Stop};

    use super::*;

    /// The text of a tool's failure, as a client shows it to its model.
    fn text(toolset: &str, tool: &str, stop: &Stop) -> String {
        let catalog = Catalog::standard();
        let dialect = catalog.dialects().find(|dialect| dialect.name == toolset).unwrap();
        let answer = (dialect.wrap_stop)(tool, stop);
        let result = from_answer(ReplyForm::of(catalog.get(toolset, tool).unwrap()), answer);
        assert_eq!(result.is_error, Some(true));
        result.content[0].as_text().unwrap().text.clone()
    }

    #[test]
    fn a_failure_has_the_code_of_its_toolset_in_its_text() {
        let missing = Stop::Fault(Fault::new(FaultCode::NotFound, "File not found: x"));
        for (toolset, tool, code) in [
            ("workspace", "read", "NOT_FOUND"),
            ("file", "file.read", "file_not_found"),
            ("coder", "read", "FILE_NOT_FOUND"),
            ("codex", "read_file", "FILE_NOT_FOUND"),
            ("assistant", "read_file", "FILE_NOT_FOUND"),
        ] {
            let expected = format!("{code}: File not found: x");
            assert_eq!(text(toolset, tool, &missing), expected, "{toolset}");
        }
        let wrong = Stop::argument("path", "missing");
        assert_eq!(
            text("workspace", "read", &wrong),
            "VALIDATION_ERROR: Validation failed: path: missing"
        );
        assert_eq!(text("assistant", "read_file", &wrong), "INVALID_ARGUMENTS: path: missing");
    }

    #[test]
    fn a_failure_of_the_reference_toolset_says_what_that_server_says() {
        let missing = Fault::new(FaultCode::NotFound, "ENOENT: no such file or directory");
        let text = text("filesystem", "read_text_file", &Stop::Fault(missing));
        assert_eq!(text, "ENOENT: no such file or directory");
    }

    #[test]
    fn the_output_of_a_program_that_failed_is_in_the_text_and_bounded() {
        let fault = Fault::new(FaultCode::Timeout, "it ran out of time");
        let details = json!({"stdout": "so far\nand on\n", "exitCode": 137});
        let message = text("assistant", "run_code", &Stop::Detailed(fault.clone(), details));
        assert_eq!(message, "TIMEOUT: it ran out of time\nexitCode: 137\nstdout:\nso far\nand on");
        let details = json!({"stdout": format!("first\n{}\nlast", "x".repeat(100_000))});
        let message = text("assistant", "run_code", &Stop::Detailed(fault, details));
        assert!(message.len() < 5_000, "{}", message.len());
        assert!(message.contains("first\n") && message.ends_with("\nlast"), "{message}");
        assert!(message.contains("bytes are left out"), "{message}");
    }
}
