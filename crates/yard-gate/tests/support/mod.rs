//! A workspace for one test: a folder, the real SQLite store, the real kernel and the gate, with neither a dialect nor a
//! door above.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "support of tests"
)]

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use yard_core::op::{LineStart, Read, Slice, Want, Write};
use yard_core::{ApprovalId, Call, Fault, WsPath};
use yard_gate::{
    Actor, Approval, Asks, Attempt, Awaited, CallerHints, CallerPolicy, Completion,
    DecisionContext, DecisionInput, ExecutableBy, OpenWorkspace, Origin, Scope, Session,
};
use yard_kernel::CommandBox;
use yard_store::{SqliteStore, StoreError};
use yard_testkit::{FailingRecords, OpenOptions, RealWorld};

/// A tool that asks before it replaces what is there.
pub(crate) const PUT: Origin<'static> =
    Origin { toolset: "files", tool: "put", asks: Asks::ToOverwrite };
/// A tool that asks for nothing by itself.
pub(crate) const PLAIN: Origin<'static> =
    Origin { toolset: "files", tool: "plain", asks: Asks::Never };

/// What a test does right before one call to the records, as another process could.
#[derive(Clone, Default)]
pub(crate) struct Interruption(Arc<Mutex<Option<PlannedAct>>>);

/// The method of the records before which something is done, and what.
type PlannedAct = (&'static str, Box<dyn FnOnce() + Send>);

impl Interruption {
    /// A gate in which something can be done before a call.
    pub(crate) fn gate() -> (Self, Arc<Gate>) {
        let this = Self::default();
        let interruption = this.clone();
        let gate = Gate::with_records(OpenOptions::default(), move |method| {
            interruption.act_before(method);
            None
        });
        (this, Arc::new(gate))
    }

    /// Does this before the next call of a method, once.
    pub(crate) fn before(&self, method: &'static str, act: impl FnOnce() + Send + 'static) {
        *self.0.lock() = Some((method, Box::new(act)));
    }

    fn act_before(&self, method: &str) {
        let due = self.0.lock().take_if(|(name, _)| *name == method);
        due.into_iter().for_each(|(_, act)| act());
    }
}

pub(crate) struct Gate {
    home: TempDir,
    pub(crate) open: Arc<OpenWorkspace>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self::with(OpenOptions::default())
    }

    pub(crate) fn with_box(boxed: CommandBox) -> Self {
        Self::with(OpenOptions { boxed: Some(boxed), ..OpenOptions::default() })
    }

    /// The same, in which `before` is called with the name of each method of the records, which fails with the error that
    /// comes back.
    pub(crate) fn with_records(
        options: OpenOptions,
        before: impl Fn(&str) -> Option<StoreError> + Clone + Send + Sync + 'static,
    ) -> Self {
        let records =
            move |store: Arc<SqliteStore>| FailingRecords::new(store, before.clone()) as _;
        Self::with(OpenOptions { records: Box::new(records), ..options })
    }

    fn with(options: OpenOptions) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (root, state_dir) = (home.path().join("root"), home.path().join("state"));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(&state_dir).unwrap();
        let root = root.canonicalize().unwrap();
        let open = options.open(&root, &state_dir, CallerHints::NONE).unwrap();
        Self { home, open }
    }

    pub(crate) fn session(&self, actor: Actor, policy: CallerPolicy) -> Session {
        Session::new(Arc::clone(&self.open), actor, policy)
    }

    /// An agent under a policy.
    pub(crate) fn agent(&self, policy: CallerPolicy) -> Session {
        self.session(Actor::LocalAgent, policy)
    }

    pub(crate) fn person(&self) -> Session {
        self.session(Actor::LocalPerson, CallerPolicy::Open)
    }

    pub(crate) fn call(&self) -> Call {
        Call::new(Arc::new(RealWorld)).within_millis(60_000)
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("root")
    }

    /// Writes a file as a program beside the gate would.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Removes a file, if it is there, as a program beside the gate would.
    pub(crate) fn remove(&self, name: &str) {
        let _ = std::fs::remove_file(self.root().join(name));
    }

    /// Makes a link as a program beside the gate would.
    pub(crate) fn link(&self, name: &str, to: &str) {
        std::os::unix::fs::symlink(to, self.root().join(name)).unwrap();
    }

    /// What is in a file; `None` if there is none.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(name)).ok()
    }

    /// Sets the policy of the workspace, as a person.
    pub(crate) fn set_policy(&self, policy: Value) {
        let wanted = policy.as_object().unwrap();
        self.person().change_settings(&self.call(), wanted).unwrap();
    }

    /// The request with that id, as a person sees it.
    pub(crate) fn request(&self, id: ApprovalId) -> Approval {
        self.person().approvals().get(id).unwrap()
    }

    /// Decides a request as it is now.
    pub(crate) fn decide(&self, id: ApprovalId, ruling: DecisionInput) -> Result<Approval, Fault> {
        let (person, call) = (self.person(), self.call());
        let approvals = person.approvals();
        let claimed_by =
            approvals.claimant(&call, &approvals.get(id)?, ExecutableBy::AnyProcess)?;
        let deciding = DecisionContext { asks: PUT.asks, revision: None, part: None, claimed_by };
        approvals.decide(&call, id, &ruling, &deciding)
    }

    /// Makes an approved call again, as whoever has claimed it does.
    pub(crate) fn execute(&self, id: ApprovalId) -> Result<Completion<()>, Fault> {
        let (person, call, row) = (self.person(), self.call(), self.request(id));
        let args = row.edited_args.as_deref().unwrap_or(&row.request.args);
        let args: Value = serde_json::from_str(args).unwrap();
        let permitted = person.approvals().permitted(&row)?;
        perform(&permitted.attempt(PUT, &call, args.clone()), &args)
    }
}

/// A yes to a request as it was shown.
pub(crate) fn yes(row: &Approval, scope: Scope) -> DecisionInput {
    DecisionInput {
        approves: true,
        scope,
        reason: None,
        args: None,
        state: row.request.state,
        planned: None,
        parts: None,
    }
}

pub(crate) fn path(text: &str) -> WsPath {
    WsPath::parse(text).unwrap()
}

pub(crate) fn args(path: &str, text: &str) -> Value {
    json!({"path": path, "text": text})
}

pub(crate) fn write(path: &str, text: &str) -> Write {
    Write::replacing(self::path(path), text.as_bytes().to_vec())
}

pub(crate) fn read(path: &str) -> Read {
    let slice = Slice::Lines { start: LineStart::FromStart(0), limit: None };
    Read { path: self::path(path), slice, want: Want::default(), max_bytes: 1 << 20 }
}

fn perform(attempt: &Attempt<'_>, args: &Value) -> Result<Completion<()>, Fault> {
    let text = |name: &str| args[name].as_str().unwrap();
    Ok(match attempt.perform(write(text("path"), text("text")))? {
        Completion::Done(_) => Completion::Done(()),
        Completion::Pending(pending) => Completion::Pending(pending),
    })
}

/// Calls the tool `put`, which can wait for a person.
pub(crate) fn put(session: &Session, call: &Call, args: &Value) -> Result<Completion<()>, Fault> {
    perform(&session.attempt(PUT, call).repeatable(args.clone()), args)
}

/// The request that a call waits for.
pub(crate) fn awaited<A: std::fmt::Debug>(outcome: Result<Completion<A>, Fault>) -> ApprovalId {
    match outcome {
        Ok(Completion::Pending(pending)) => match pending.awaited {
            Awaited::Approval(id) => id,
            other => panic!("{other:?}"),
        },
        other => panic!("it does not wait: {other:?}"),
    }
}

pub(crate) fn is_done<A>(outcome: &Result<Completion<A>, Fault>) -> bool {
    matches!(outcome, Ok(Completion::Done(_)))
}
