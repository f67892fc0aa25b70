//! How a toolset answers: its envelope, its error codes, and how its paths are written. A dialect is a value of
//! [`Dialect`]; its tools are in its own folder.

use serde_json::Value;
use yard_core::FaultCode;
use yard_gate::{Asks, Attempt, Origin, Pending};

use crate::context::Context;
use crate::json::Json;
use crate::path_style::PathStyle;
use crate::schema;
use crate::stop::Stop;
use crate::tool::{AnyTool, ErasedReply};

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The call succeeded, or waits for a person.
    pub ok: bool,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The envelope with the reply or the fault.
    pub body: Json,
    /// What the call waits for: a door may wait, too, and then call [`Catalog::resume`](crate::Catalog::resume).
    pub pending: Option<Pending>,
}

impl Answer {
    /// The whole message of a failure.
    pub fn failure_message(&self) -> String {
        failure_message(&self.body["error"], &self.body["fields"])
    }
}

/// The whole message of a failure: `workspace` lists wrong arguments in `fields`, beside the error.
pub fn failure_message(error: &Value, fields: &Value) -> String {
    let error = error.as_str().unwrap_or("the call failed");
    let Some(fields) = fields.as_object() else { return error.to_owned() };
    let wrong = fields.iter().filter_map(|(name, wrong)| Some((name, wrong.as_str()?)));
    let wrong: Vec<String> = wrong.map(|(name, wrong)| format!("{name}: {wrong}")).collect();
    format!("{error}: {}", wrong.join("; "))
}

/// A toolset's own form of answers and paths.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The toolset's name.
    pub name: &'static str,
    /// A description for people.
    pub about: &'static str,
    /// How paths are written.
    pub path_style: PathStyle,
    /// The error code for a fault of the tool of that name.
    pub error_code: fn(&str, FaultCode) -> &'static str,
    /// Puts a reply into the envelope.
    pub wrap_reply: fn(Json) -> Answer,
    /// Puts the reason why the tool of that name has no reply into the envelope.
    pub wrap_stop: fn(&str, &Stop) -> Answer,
}

impl Dialect {
    pub(crate) fn context<'a>(&self, attempt: &'a Attempt<'a>) -> Context<'a> {
        Context { attempt, path_style: self.path_style }
    }

    /// The origin of a call in audit rows. What the tool asks for may depend on the arguments of the call.
    pub(crate) fn origin(&self, tool: &AnyTool, asks: Asks) -> Origin<'static> {
        Origin { toolset: self.name, tool: tool.name(), asks }
    }

    /// The schema of the answer of a tool, without the envelope (F1).
    pub fn answer_schema(&self, tool: &AnyTool) -> Value {
        let marked = (self.wrap_reply)(Value::from(schema::MARK).into());
        schema::like(&marked.body["result"], tool.output_schema())
    }

    pub(crate) fn answer(&self, tool: &AnyTool, outcome: Result<ErasedReply, Stop>) -> Answer {
        match outcome {
            Ok(ErasedReply { reply, pending }) => Answer { pending, ..(self.wrap_reply)(reply) },
            Err(stop) => {
                let answer = (self.wrap_stop)(tool.name(), &stop);
                match stop {
                    Stop::Pending(pending) => Answer { pending: Some(pending), ..answer },
                    _ => answer,
                }
            }
        }
    }
}
