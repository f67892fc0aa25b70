//! What handlers of files and history share: performing one operation through the gate, and the JSON of
//! a step.

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::op::{HistoryEntry, Operation};
use yard_gate::{Asks, Completion, Execute, Origin};

use super::problem::Problem;
use super::request::HttpRequest;

/// The toolset that audit rows name for operations of the HTTP API.
const DOOR: &str = "http";

impl HttpRequest {
    /// Performs one operation as the caller.
    pub(super) fn perform<O: Execute>(&self, op: O) -> Result<<O as Operation>::Answer, Problem> {
        let session = self.session()?;
        let call = self.call.clone().within_millis(session.limits().call_millis);
        let origin = Origin { toolset: DOOR, tool: O::VERB, asks: Asks::Never };
        match session.perform(origin, &call, op)? {
            Completion::Done(answer) => Ok(answer),
            Completion::Pending(_) => Err(Problem::internal()),
        }
    }
}

/// A step, in one line.
#[derive(Serialize, JsonSchema)]
pub(super) struct StepLine {
    id: String,
    at: String,
    /// `agent`, `person` or `external`.
    author: &'static str,
    /// Who exactly, as `person:ID` or `key:ID`.
    actor: String,
    /// The operation.
    verb: String,
    /// The step that it undid.
    undoes: Option<String>,
    /// How many files it changed.
    files: u64,
    /// The first path that it changed.
    path: Option<String>,
}

impl From<&HistoryEntry> for StepLine {
    fn from(entry: &HistoryEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            at: entry.at.to_string(),
            author: entry.author.word(),
            actor: entry.actor.clone(),
            verb: entry.verb.clone(),
            undoes: entry.undoes.map(|step| step.to_string()),
            files: entry.files,
            path: entry.path.as_ref().map(ToString::to_string),
        }
    }
}
