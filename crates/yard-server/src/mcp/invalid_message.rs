//! Errors for bytes that are no message of the protocol. The transport that read the bytes sends the error.

use rmcp::model::{ErrorData, RequestId};
use serde_json::Value;

/// Why bytes are no message.
pub(super) struct InvalidMessage {
    /// The id of the request that the bytes were meant to be, if they name one.
    pub(super) id: Option<RequestId>,
    pub(super) error: ErrorData,
    /// Whether the client gets the error.
    pub(super) is_answered: bool,
}

impl InvalidMessage {
    /// Explains bytes that are no message. `what` names the unit that carries one message, such as a line.
    pub(super) fn of(sent: &[u8], what: &str) -> Self {
        let value: Value = match serde_json::from_slice(sent) {
            Ok(value) => value,
            Err(error) => {
                let message =
                    format!("this {what} is no JSON: {error}. Send one JSON-RPC message a {what}");
                return Self::answered(None, ErrorData::parse_error(message, None));
            }
        };
        let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
        let method = value.get("method").and_then(Value::as_str);
        let is_rpc = value.get("jsonrpc").is_some_and(|version| version == "2.0");
        let message = match method {
            Some(method) if is_rpc => {
                let method: String = method.chars().take(80).collect();
                format!("the params of {method} are not what it takes, or it is no method")
            }
            _ => "expected a JSON-RPC 2.0 message: an object with jsonrpc, id, method and params"
                .to_owned(),
        };
        // A notification gets no answer, however wrong it is.
        let is_answered = id.is_some() || method.is_none();
        Self { id, error: ErrorData::invalid_request(message, None), is_answered }
    }

    /// An error that the client gets in any case.
    pub(super) fn answered(id: Option<RequestId>, error: ErrorData) -> Self {
        Self { id, error, is_answered: true }
    }
}
