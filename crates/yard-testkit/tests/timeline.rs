//! What the history tells of steps, folders and lines of then.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

mod blame;
mod compare;
mod past;
mod steps;

use std::sync::Arc;

use yard_core::op::{History, HistoryOf, ListSteps};
use yard_core::{Call, ReadAccess, StepId, WsPath};
use yard_kernel::{Execute, Planned};
use yard_testkit::{RealWorld, TestWorkspace, write};

/// A workspace with a word for each thing that happens in it.
struct Told(TestWorkspace);

impl Told {
    fn new() -> Self {
        Self(TestWorkspace::new())
    }

    fn newest(&self) -> StepId {
        let of = HistoryOf::Workspace;
        self.did(History { of, limit: 1, before: None }).steps[0].id
    }

    /// Performs an operation.
    fn did<O: Execute>(&self, op: O) -> O::Answer {
        self.0.perform(op).unwrap_or_else(|fault| panic!("{fault}"))
    }

    /// Performs a change: its step.
    fn step<O: Execute>(&self, op: O) -> StepId {
        self.did(op);
        self.newest()
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> StepId {
        self.step(write(path, text, None))
    }

    /// The answer of an operation that only looks, to somebody who may not read some paths.
    fn restricted<O: Execute>(&self, op: O, withheld: &[&str]) -> yard_core::Result<O::Answer> {
        let withheld = withheld.iter().map(|path| (*path).to_owned()).collect();
        let reading: Arc<dyn ReadAccess> = Arc::new(Withheld(withheld));
        let call = Call::new(Arc::new(RealWorld)).with_read_access(Some(reading));
        match op.plan(self.0.kernel(), &call)? {
            Planned::Answer { answer, .. } => Ok(answer),
            Planned::Change(_) => panic!("it changes something"),
        }
    }
}

/// Somebody who may neither read nor list these paths and what is below them.
struct Withheld(Vec<String>);

impl ReadAccess for Withheld {
    fn may_read(&self, path: &WsPath) -> bool {
        let withheld = |hidden: &String| path.is_within(&WsPath::parse(hidden).unwrap());
        !self.0.iter().any(withheld)
    }

    fn may_list(&self, path: &WsPath) -> bool {
        self.may_read(path)
    }

    fn withheld_paths(&self) -> Vec<WsPath> {
        self.0.iter().map(|path| WsPath::parse(path).unwrap()).collect()
    }

    fn withholds_all_below(&self, folder: &WsPath) -> bool {
        !self.may_read(folder)
    }

    fn note(&self) -> String {
        String::new()
    }

    fn may_see(&self, _: &str) -> bool {
        false
    }
}

fn all() -> ListSteps {
    ListSteps { limit: 1_000, ..ListSteps::default() }
}
