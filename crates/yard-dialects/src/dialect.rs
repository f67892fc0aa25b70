//! How a toolset answers: its envelope, its words for faults, and what its paths mean. A dialect is a value of
//! [`Dialect`]; its tools are in its own folder.

use serde_json::Value;
use yard_core::FaultCode;
use yard_gate::{Asks, Attempt, Origin, Pending};

use crate::context::Context;
use crate::json::Json;
use crate::paths::Paths;
use crate::schema;
use crate::stop::Stop;
use crate::tool::{AnyTool, Replied};

/// What a caller gets, in the words of its dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The tool did what was asked, or a person is asked whether it may.
    pub ok: bool,
    /// The HTTP status that says the same.
    pub status: u16,
    /// The envelope with the reply or the fault.
    pub body: Json,
    /// What it still waits for: a door may wait and then ask [`Catalog::resume`].
    pub pending: Option<Pending>,
}

impl Answer {
    /// All that a failure says, in one text.
    pub fn failure_words(&self) -> String {
        failure_words(&self.body["error"], &self.body["fields"])
    }
}

/// All that the envelope of a failure says, in one text: `workspace` says what is wrong with the arguments in
/// `fields`, beside the error.
pub fn failure_words(error: &Value, fields: &Value) -> String {
    let error = error.as_str().unwrap_or("the call failed");
    let Some(fields) = fields.as_object() else { return error.to_owned() };
    let wrong = fields.iter().filter_map(|(name, wrong)| Some((name, wrong.as_str()?)));
    let wrong: Vec<String> = wrong.map(|(name, wrong)| format!("{name}: {wrong}")).collect();
    format!("{error}: {}", wrong.join("; "))
}

/// How a toolset says what its tools return.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The toolset's name.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// What a path means.
    pub paths: Paths,
    /// Its word for a fault of the tool of that name.
    pub word: fn(&str, FaultCode) -> &'static str,
    /// Wraps a reply.
    pub done: fn(Json) -> Answer,
    /// Wraps the reason why the tool of that name has no reply.
    pub stopped: fn(&str, &Stop) -> Answer,
}

impl Dialect {
    pub(crate) fn context<'a>(&self, attempt: &'a Attempt<'a>) -> Context<'a> {
        Context { attempt, paths: self.paths }
    }

    /// Which tool asks for what, as audit rows name it. What it asks for may depend on the arguments of the call.
    pub(crate) fn origin(&self, tool: &AnyTool, asks: Asks) -> Origin<'static> {
        Origin { toolset: self.name, tool: tool.name(), asks }
    }

    /// The schema of what a call of a tool is answered with, without the envelope (F1).
    pub fn answer_schema(&self, tool: &AnyTool) -> Value {
        let marked = (self.done)(Value::from(schema::MARK).into());
        schema::like(&marked.body["result"], tool.output_schema())
    }

    pub(crate) fn answer(&self, tool: &AnyTool, outcome: Result<Replied, Stop>) -> Answer {
        match outcome {
            Ok(Replied { reply, pending }) => Answer { pending, ..(self.done)(reply) },
            Err(stop) => {
                let answer = (self.stopped)(tool.name(), &stop);
                match stop {
                    Stop::Pending(pending) => Answer { pending: Some(pending), ..answer },
                    _ => answer,
                }
            }
        }
    }
}
