//! The workspace of a child process, whose folders belong to the parent.

use std::path::Path;
use std::sync::Arc;

use yard_core::op::{self, Operation};
use yard_core::{Call, Result, World};
use yard_gate::{Actor, Asks, CallerPolicy, Completion, Execute, OpenWorkspace, Origin, Session};

use crate::OpenOptions;
use crate::operations::at;

/// The workspace of a child process, whose folders belong to the parent.
#[derive(Clone)]
pub struct ChildWorkspace {
    open: Arc<OpenWorkspace>,
    world: Arc<dyn World>,
}

impl ChildWorkspace {
    /// Opens the workspace at `root` with its state in `state`, as `plan` says.
    pub fn open(root: &Path, state: &Path, plan: OpenOptions) -> Result<Self> {
        let world = Arc::clone(&plan.world);
        Ok(Self { open: plan.open(root, state, yard_dialects::CALLER_HINTS)?, world })
    }

    /// Performs an operation through the gate.
    pub fn perform<O: Execute>(&self, op: O) -> Result<<O as Operation>::Answer> {
        let session = Session::new(Arc::clone(&self.open), Actor::LocalAgent, CallerPolicy::Open);
        let call = Call::new(Arc::clone(&self.world)).within_millis(120_000);
        let origin = Origin { toolset: "test", tool: O::VERB, asks: Asks::Never };
        match session.perform(origin, &call, op)? {
            Completion::Done(answer) => Ok(answer),
            Completion::Pending(pending) => {
                panic!("nothing asks under the open policy: {pending:?}")
            }
        }
    }

    /// Steps, newest first.
    pub fn history(&self, path: Option<&str>, limit: usize) -> Vec<op::HistoryEntry> {
        let of = path.map_or(op::HistoryOf::Workspace, |path| op::HistoryOf::Path(at(path)));
        let history = op::History { of, limit, before: None };
        self.perform(history).unwrap_or_else(|fault| panic!("history: {fault}")).steps
    }

    /// Verifies the history and panics on damage. Returns the paths that other programs changed.
    pub fn verified(&self) -> Vec<String> {
        let found = self.perform(op::Verify).unwrap_or_else(|fault| panic!("verify: {fault}"));
        assert!(found.problems.is_empty(), "verify: {:?}", found.problems);
        found.unsynced.iter().map(ToString::to_string).collect()
    }
}
