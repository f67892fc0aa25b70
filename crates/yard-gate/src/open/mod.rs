//! An open workspace with everything that its sessions share.

pub(crate) mod caller_hints;
pub(crate) mod change_notifier;
mod terminals;
mod waiters;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::{ApprovalId, Call, Result, Timestamp};
use yard_kernel::{Watch, Workspace};
use yard_store::{ApprovalFilter, ApprovalStatus, WorkspaceRecords};

pub(crate) use self::terminals::{JudgedStart, OpenTerminal, SETTLING_TIME, TerminalTable};
pub use self::terminals::{TerminalInfo, TerminalView};
pub use self::waiters::Waiter;
use self::waiters::Waiters;
use crate::{CallerHints, ChangeNotifier, Rule, Web, WorkspacePolicy};

/// How long the policy is cached. Another process may set it meanwhile.
const VALID_MILLIS: i64 = 1_000;

/// An open workspace, its records, and the notifier of changes to either.
pub struct OpenWorkspace {
    /// Files, folders and their history.
    pub workspace: Arc<Workspace>,
    /// Chats, questions, approvals and events, in the same store.
    pub records: Arc<dyn WorkspaceRecords>,
    /// The access to the web that the operator set.
    pub web: Web,
    /// Notified after every committed step and written record.
    pub changes: ChangeNotifier,
    /// The hints of the dialects and doors above.
    pub(crate) hints: CallerHints,
    /// Watches changes on disk by other programs, once a caller has asked for it.
    pub(crate) watching: Mutex<Option<Watch>>,
    /// The terminals that were opened here.
    pub(crate) terminals: Mutex<TerminalTable>,
    /// Held while the changes of a terminal are recorded.
    pub(crate) recording: Mutex<()>,
    /// How often commands tried to reach the host of a request. Held while a command looks for a request about its host,
    /// so that two commands make one request.
    pub(crate) host_tries: Mutex<HashMap<ApprovalId, u64>>,
    /// Held while a call looks for a request that equals its own and makes one if there is none, so that two equal calls make
    /// one request.
    pub(crate) requesting: Mutex<()>,
    /// The calls that wait for requests.
    pub(crate) waiters: Arc<Waiters>,
    /// The policy as it was last read, and when.
    policy: Mutex<Option<(Timestamp, Arc<WorkspacePolicy>)>>,
}

impl OpenWorkspace {
    /// A workspace and its records, without access to the web. `hints` are those of the dialects and doors above.
    pub fn new(
        workspace: Arc<Workspace>,
        records: Arc<dyn WorkspaceRecords>,
        hints: CallerHints,
    ) -> Arc<Self> {
        Self::with_web(workspace, records, hints, Web::default())
    }

    /// The same, with the access to the web that the operator set.
    pub fn with_web(
        workspace: Arc<Workspace>,
        records: Arc<dyn WorkspaceRecords>,
        hints: CallerHints,
        web: Web,
    ) -> Arc<Self> {
        let open = Self {
            workspace,
            records,
            web,
            changes: ChangeNotifier::default(),
            hints,
            watching: Mutex::default(),
            terminals: Mutex::default(),
            recording: Mutex::default(),
            host_tries: Mutex::default(),
            requesting: Mutex::default(),
            waiters: Arc::default(),
            policy: Mutex::default(),
        };
        open.drop_settled_runs();
        open.publish_interrupted();
        Arc::new(open)
    }

    /// Drops stored runs that no request waits for any more: a crash may have come between the end of a request and that
    /// of its run. If the requests cannot be read now, the run stays until the next opening.
    fn drop_settled_runs(&self) {
        for run in self.workspace.waiting_runs() {
            let awaited = [ApprovalStatus::Pending, ApprovalStatus::Approved].map(|status| {
                let (status, run) = (Some(status), Some(run));
                let filter = ApprovalFilter { status, run, ..ApprovalFilter::default() };
                self.records.approval_ids(&filter, None, 1).map_or(true, |ids| !ids.is_empty())
            });
            if awaited == [false, false] {
                self.workspace.drop_run(run);
            }
        }
    }

    /// The policy. A change by this process holds at once, one by another process within a second.
    pub(crate) fn policy(&self, call: &Call) -> Result<Arc<WorkspacePolicy>> {
        let now = call.world().now();
        let mut cached = self.policy.lock();
        if let Some((since, policy)) = &*cached {
            let until = Timestamp::from_millis(since.as_millis().saturating_add(VALID_MILLIS));
            // A clock that was set back must not make the cached policy last longer.
            if (*since..until).contains(&now) {
                return Ok(Arc::clone(policy));
            }
        }
        let policy = Arc::new(self.read_policy()?);
        *cached = Some((now, Arc::clone(&policy)));
        Ok(policy)
    }

    /// Drops the cached policy after a change.
    pub(crate) fn forget_policy(&self) {
        *self.policy.lock() = None;
    }

    /// The policy as it is now.
    pub(crate) fn read_policy(&self) -> Result<WorkspacePolicy> {
        let stored = self.records.policy()?;
        let mut policy = WorkspacePolicy::parse_stored(stored.as_deref())?;
        for saved in self.records.grants(None)? {
            // A grant that cannot be parsed allows nothing, which is the safe side.
            let value = serde_json::from_str(&saved.rule).unwrap_or_default();
            policy.saved.extend(Rule::parse(&value));
        }
        Ok(policy)
    }
}
