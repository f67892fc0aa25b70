//! What is no message, however it came: why, and whose it is. How it is told is for who has read it.

use rmcp::model::{ErrorData, RequestId};
use serde_json::Value;

/// Why something is no message, and whose.
pub(super) struct Wrong {
    pub(super) id: Option<RequestId>,
    pub(super) error: ErrorData,
    pub(super) is_answered: bool,
}

impl Wrong {
    /// What is wrong with bytes that are no message. A `what` is all that one message comes in.
    pub(super) fn of(sent: &[u8], what: &str) -> Self {
        let value: Value = match serde_json::from_slice(sent) {
            Ok(value) => value,
            Err(error) => {
                let message =
                    format!("this {what} is no JSON: {error}. Send one JSON-RPC message a {what}");
                return Self::told(None, ErrorData::parse_error(message, None));
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
        // A notification is answered by nobody, however wrong it is.
        let is_answered = id.is_some() || method.is_none();
        Self { id, error: ErrorData::invalid_request(message, None), is_answered }
    }

    /// What is answered in any case.
    pub(super) fn told(id: Option<RequestId>, error: ErrorData) -> Self {
        Self { id, error, is_answered: true }
    }
}
