//! One open workspace with everything that a session of it needs.

mod terminals;
mod waiters;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use yard_core::{ApprovalId, Call, Fault, FaultCode, Result, Timestamp};
use yard_kernel::{Watch, Workspace, store_fault};
use yard_store::{ApprovalFilter, ApprovalStatus, WorkspaceRecords};

pub(crate) use self::terminals::{OpenTerminal, Running, SETTLING_MILLIS, Start, held};
pub use self::terminals::{TerminalInfo, TerminalLook};
pub use self::waiters::Waiter;
use self::waiters::Waiters;
use crate::{Bell, CallerWords, Rule, Rules, Web};

/// How long the policy is taken to be what it was: another process may have set it meanwhile.
const GOOD_MILLIS: i64 = 1_000;

/// A workspace, the desk beside it, and the bell that says that something happened in either.
pub struct OpenWorkspace {
    /// Files, folders and their history.
    pub workspace: Arc<Workspace>,
    /// Chats, questions and events, in the same store.
    pub desk: Arc<dyn WorkspaceRecords>,
    /// The way to the web, as the operator set it.
    pub web: Web,
    /// Rung after every committed step or desk write.
    pub bell: Bell,
    /// The words of the dialects and doors above.
    pub(crate) words: CallerWords,
    /// Watches what others change on disk, once somebody has asked for that.
    pub(crate) watching: Mutex<Option<Watch>>,
    /// The terminals that were opened here.
    pub(crate) terminals: Mutex<Running>,
    /// Held while what terminals changed is looked for.
    pub(crate) recording: Mutex<()>,
    /// How often commands tried to reach the host that a request is about. Held while it is looked up whether
    /// a host was asked for already, so that it is asked for once.
    pub(crate) host_tries: Mutex<HashMap<ApprovalId, u64>>,
    /// The calls that wait for requests.
    pub(crate) waiters: Arc<Waiters>,
    /// The policy as it was last read, and when.
    rules: Mutex<Option<(Timestamp, Arc<Rules>)>>,
}

impl OpenWorkspace {
    /// A workspace and its desk, without a way to the web. `words` are those of the dialects and doors above.
    pub fn new(
        workspace: Arc<Workspace>,
        desk: Arc<dyn WorkspaceRecords>,
        words: CallerWords,
    ) -> Arc<Self> {
        Self::with_web(workspace, desk, words, Web::default())
    }

    /// The same, with the way to the web that the operator set.
    pub fn with_web(
        workspace: Arc<Workspace>,
        desk: Arc<dyn WorkspaceRecords>,
        words: CallerWords,
        web: Web,
    ) -> Arc<Self> {
        let open = Self {
            workspace,
            desk,
            web,
            bell: Bell::default(),
            words,
            watching: Mutex::default(),
            terminals: Mutex::default(),
            recording: Mutex::default(),
            host_tries: Mutex::default(),
            waiters: Arc::default(),
            rules: Mutex::default(),
        };
        open.forget_settled_runs();
        open.publish_interrupted();
        Arc::new(open)
    }

    /// Drops what commands changed and nobody waits for any more: a crash may have come between the end
    /// of a request and that of its run. What cannot be found out now stays, and the next opening tries again.
    fn forget_settled_runs(&self) {
        for run in self.workspace.waiting_runs() {
            let awaited = [ApprovalStatus::Pending, ApprovalStatus::Approved].map(|status| {
                let filter = ApprovalFilter { status: Some(status), ..ApprovalFilter::default() };
                let rows = self.desk.approvals(&filter, None, usize::MAX);
                rows.map_or(true, |rows| rows.iter().any(|row| row.request.run == Some(run)))
            });
            if awaited == [false, false] {
                self.workspace.drop_run(run);
            }
        }
    }

    /// The policy. What this process sets holds at once, what another one sets within a second.
    pub(crate) fn rules(&self, call: &Call) -> Result<Arc<Rules>> {
        let now = call.world().now();
        let mut kept = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, rules)) = &*kept {
            let until = Timestamp::from_millis(since.as_millis().saturating_add(GOOD_MILLIS));
            // A clock that was set back must not make it last longer.
            if (*since..until).contains(&now) {
                return Ok(Arc::clone(rules));
            }
        }
        let rules = Arc::new(self.read_rules()?);
        *kept = Some((now, Arc::clone(&rules)));
        Ok(rules)
    }

    /// The policy changed: the next call reads it.
    pub(crate) fn rules_changed(&self) {
        *self.rules.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The policy as it is now.
    pub(crate) fn read_rules(&self) -> Result<Rules> {
        let damaged = |error: String| {
            let message = format!("the policy that the store holds cannot be read: {error}");
            Fault::new(FaultCode::Io, message)
        };
        let mut rules = match self.desk.policy().map_err(store_fault)? {
            Some(text) => {
                let value = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()));
                Rules::parse(&value?).map_err(damaged)?
            }
            None => Rules::default(),
        };
        for saved in self.desk.grants(None).map_err(store_fault)? {
            // One that cannot be read allows nothing: that is the safe side.
            let value = serde_json::from_str(&saved.rule).unwrap_or_default();
            rules.saved.extend(Rule::parse(&value));
        }
        Ok(rules)
    }
}
