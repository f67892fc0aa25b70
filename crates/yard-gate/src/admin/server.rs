//! A server's registry and its open workspaces. A workspace is opened when the first caller enters it. When many are
//! open, the ones that no call uses are closed.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::{ContentHash, FastMap, Result, Timestamp, WorkspaceId, World};
use yard_store::registry::{KeyRow, SecretHash, WorkspaceRow};
use yard_store::{AuditEntry, Registry};

use super::caller_cache::{CallerCache, InvalidatingRegistry};
use super::identity::{Entered, Identity};
use super::rate_limit::RateLimit;
use super::refusal::Refusal;
use super::token::{MIN_SECRET_BYTES, Tokens};
use crate::{Actor, LastEvent, OpenWorkspace, Session};

/// Wrong passwords within a minute, for one account from one address.
const FAILED_LOGINS: usize = 15;
/// Wrong passwords within a minute, for one account from all addresses. It is above the limit of one address, so that
/// no single address can lock a person out.
const FAILED_LOGINS_OF: usize = 60;
/// Wrong passwords within a minute, from one address.
const FAILED_LOGINS_FROM: usize = 18;
/// Accounts made within a minute, from one address.
const REGISTRATIONS_FROM: usize = 120;
/// Answers within a minute that tell one caller whether an email address has an account.
const ACCOUNT_ANSWERS: usize = 10;
/// How many workspaces are open at the same time, unless more are in use.
const MAX_OPEN_WORKSPACES: usize = 64;

/// A folder that was moved or removed, and whose history is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFolder {
    /// The workspace that it was.
    pub workspace: WorkspaceId,
    /// Where it was.
    pub folder: PathBuf,
    /// When something was last recorded of it.
    pub changed_at: Timestamp,
}

/// Opens workspaces: the composition root knows where they are.
pub trait Opener: Send + Sync {
    /// The folder of the host that a person asked for, if the operator allowed it; in the form in
    /// which it is kept.
    fn admit_folder(&self, folder: &str) -> Result<String>;

    /// Whether two such folders are the same, or one lies in the other, by whatever path or link.
    fn overlap(&self, one: &str, other: &str) -> bool;

    /// The folders that are workspaces of the person of this machine, with their ids.
    fn local_folders(&self) -> Vec<(WorkspaceId, PathBuf)> {
        Vec::new()
    }

    /// The folders of the person of this machine that have a history and are not where they were.
    fn missing_folders(&self) -> Vec<MissingFolder> {
        Vec::new()
    }

    /// Opens a workspace, making what is missing.
    fn open(&self, workspace: &WorkspaceRow) -> Result<Arc<OpenWorkspace>>;

    /// The newest event of a workspace that need not be open. It is asked for often, for each workspace of a person.
    fn last_event(&self, workspace: &WorkspaceRow) -> Result<LastEvent> {
        LastEvent::read(self.open(workspace)?.records.as_ref())
    }
}

/// How callers prove who they are, as the operator decided it.
#[derive(Clone, Debug)]
pub struct AuthConfig {
    /// What access tokens are signed with: at least 32 bytes.
    pub secret: Vec<u8>,
    /// How long an access token is good.
    pub access_minutes: u32,
    /// How long a refresh token is good.
    pub refresh_days: u32,
    /// Whether a person without an account may register.
    pub open_registration: bool,
}

/// A server's people, workspaces and keys.
pub struct Server {
    pub(super) registry: Arc<dyn Registry>,
    pub(super) world: Arc<dyn World>,
    pub(super) auth: AuthConfig,
    pub(super) tokens: Tokens,
    pub(super) opener: Box<dyn Opener>,
    pub(super) logins: LoginLimits,
    pub(super) registrations_by_address: RateLimit,
    pub(super) account_answers: RateLimit,
    pub(super) callers: CallerCache,
    /// The codes with which the person of this machine may log in.
    pub(super) local_codes: Mutex<Vec<LocalCode>>,
    /// Held while a workspace gets a folder of the host, so that no two get the same.
    pub(super) assigning_folders: Mutex<()>,
    most_open: usize,
    open: Mutex<FastMap<WorkspaceId, WorkspaceSlot>>,
}

/// A code that was not used yet.
pub(super) struct LocalCode {
    pub(super) hash: SecretHash,
    pub(super) made_at: Timestamp,
}

/// The limits on wrong passwords.
pub(super) struct LoginLimits {
    of_account_from_address: RateLimit,
    of_account: RateLimit,
    from_address: RateLimit,
}

impl LoginLimits {
    /// Counts an attempt before the password is checked. The error is the number of seconds to wait.
    pub(super) fn count(
        &self,
        account: &str,
        address: &str,
        now: Timestamp,
    ) -> std::result::Result<(), u32> {
        let counted = self.each(account, address);
        for (at, (limit, name)) in counted.iter().enumerate() {
            if let Err(seconds) = limit.count(name, now) {
                counted[..at].iter().for_each(|(limit, name)| limit.uncount(name, now));
                return Err(seconds);
            }
        }
        Ok(())
    }

    /// Takes back the attempt that was counted at `then`, because the password was right.
    pub(super) fn uncount(&self, account: &str, address: &str, then: Timestamp) {
        for (limit, name) in self.each(account, address) {
            limit.uncount(&name, then);
        }
    }

    fn each(&self, account: &str, address: &str) -> [(&RateLimit, String); 3] {
        [
            (&self.of_account_from_address, format!("{address} {account}")),
            (&self.of_account, account.to_owned()),
            (&self.from_address, address.to_owned()),
        ]
    }
}

/// A workspace that is open, or about to be.
#[derive(Clone)]
struct WorkspaceSlot {
    workspace: Arc<Mutex<Option<Arc<OpenWorkspace>>>>,
    last_used: Timestamp,
}

impl Server {
    /// A server; refused if the secret is too short to sign with.
    pub fn new(
        registry: Arc<dyn Registry>,
        opener: Box<dyn Opener>,
        world: Arc<dyn World>,
        auth: AuthConfig,
    ) -> std::result::Result<Self, Refusal> {
        if auth.secret.len() < MIN_SECRET_BYTES {
            let message = format!("must have at least {MIN_SECRET_BYTES} characters");
            return Err(Refusal::field("secret", message));
        }
        Ok(Self {
            registry,
            world,
            tokens: Tokens::new(&auth.secret),
            auth,
            opener,
            logins: LoginLimits {
                of_account_from_address: RateLimit::per_minute(FAILED_LOGINS),
                of_account: RateLimit::per_minute(FAILED_LOGINS_OF),
                from_address: RateLimit::per_minute(FAILED_LOGINS_FROM),
            },
            registrations_by_address: RateLimit::per_minute(REGISTRATIONS_FROM),
            account_answers: RateLimit::per_minute(ACCOUNT_ANSWERS),
            callers: CallerCache::default(),
            local_codes: Mutex::default(),
            assigning_folders: Mutex::default(),
            most_open: MAX_OPEN_WORKSPACES,
            open: Mutex::default(),
        })
    }

    /// The same, with at most so many workspaces open at once, unless more are in use.
    #[must_use]
    pub fn with_open_workspaces(self, most: usize) -> Self {
        Self { most_open: most.clamp(1, MAX_OPEN_WORKSPACES), ..self }
    }

    /// Counts an answer that may reveal whether an email address has an account here, and refuses the caller above the
    /// limit. An answer that reveals nothing is given back.
    pub(super) fn count_account_answer(
        &self,
        who: &str,
        now: Timestamp,
    ) -> std::result::Result<(), Refusal> {
        self.account_answers.count(who, now).map_err(Refusal::TooMany)
    }

    /// The registry, for a change that affects the identity or the rights of a caller.
    pub(super) fn registry_for_change(&self) -> InvalidatingRegistry<'_> {
        InvalidatingRegistry::new(self.registry.as_ref(), &self.callers)
    }

    /// Clock and random numbers.
    pub fn world(&self) -> &Arc<dyn World> {
        &self.world
    }

    pub(super) fn now(&self) -> Timestamp {
        self.world.now()
    }

    pub(super) fn audit(&self, actor: Actor, action: &str, detail: String) -> AuditEntry {
        AuditEntry { at: self.now(), actor: actor.name(), action: action.to_owned(), detail }
    }

    /// A secret for one purpose. It is the same after a restart, and no other secret can be derived from it.
    pub fn secret_for(&self, purpose: &str) -> [u8; 32] {
        let parts = [self.auth.secret.as_slice(), purpose.as_bytes()];
        *ContentHash::of(&parts.join(&b"\0"[..])).as_bytes()
    }

    /// The session of a caller in the workspace that it entered.
    pub fn session(&self, entered: &Entered) -> std::result::Result<Session, Refusal> {
        Self::session_in(self.open(entered.workspace)?, entered)
    }

    /// The session of a caller in a workspace that is open. This opens none, waits for none, and does not keep it open
    /// longer than the session is used.
    pub fn session_if_open(&self, entered: &Entered) -> Option<Session> {
        let slot = self.open.lock().get(&entered.workspace).cloned()?;
        let open = slot.workspace.try_lock()?.clone()?;
        Self::session_in(open, entered).ok()
    }

    /// The newest event of a workspace, which this does not open.
    pub fn last_event(&self, workspace: &WorkspaceRow) -> std::result::Result<LastEvent, Refusal> {
        Ok(self.opener.last_event(workspace)?)
    }

    fn session_in(
        open: Arc<OpenWorkspace>,
        entered: &Entered,
    ) -> std::result::Result<Session, Refusal> {
        let session = Session::new(open, entered.identity.actor(), entered.policy());
        let Identity::Agent(KeyRow { chat, toolsets, .. }) = &entered.identity else {
            return Ok(session);
        };
        let session = match toolsets {
            Some(toolsets) => session.with_toolsets(toolsets),
            None => session,
        };
        // A key that is bound to a chat is used in no other one.
        match chat {
            Some(chat) => Ok(session.bound_to(*chat)?),
            None => Ok(session),
        }
    }

    /// The open workspace. If it is closed, one caller opens it while the others wait.
    pub(super) fn open(&self, id: WorkspaceId) -> std::result::Result<Arc<OpenWorkspace>, Refusal> {
        let slot = self.slot(id);
        let mut workspace = slot.workspace.lock();
        if let Some(open) = &*workspace {
            return Ok(Arc::clone(open));
        }
        let row = self.registry.workspace(id)?.ok_or_else(Refusal::stranger)?;
        if let Some(folder) = &row.folder
            && self.is_folder_of_another(folder, Some(id))?
        {
            let message = "the folder of this workspace is also, or holds, or lies in that of another one: \
                           the two must not work on the same files. Its owner can delete the workspace, \
                           which leaves the files where they are";
            return Err(Refusal::denied(message));
        }
        let open = self.opener.open(&row)?;
        *workspace = Some(Arc::clone(&open));
        Ok(open)
    }

    /// Whether a folder is, holds or lies in that of another workspace than `own`.
    pub(super) fn is_folder_of_another(
        &self,
        folder: &str,
        own: Option<WorkspaceId>,
    ) -> std::result::Result<bool, Refusal> {
        let folders = self.registry.folders()?;
        let mut others = folders.iter().filter(|(id, _)| Some(*id) != own);
        Ok(others.any(|(_, other)| self.opener.overlap(folder, other)))
    }

    fn slot(&self, id: WorkspaceId) -> WorkspaceSlot {
        let now = self.now();
        let mut open = self.open.lock();
        if let Some(slot) = open.get_mut(&id) {
            slot.last_used = now;
            return slot.clone();
        }
        let is_full = open.len() >= self.most_open;
        let closed = if is_full { take_longest_unused(&mut open) } else { None };
        let slot = WorkspaceSlot { workspace: Arc::default(), last_used: now };
        open.insert(id, slot.clone());
        drop(open);
        // Closing a store takes time; no other call waits for it.
        drop(closed);
        slot
    }

    /// Closes a workspace as soon as no call uses it.
    pub(super) fn close(&self, id: WorkspaceId) {
        let closed = self.open.lock().remove(&id);
        if let Some(workspace) = closed.as_ref().and_then(WorkspaceSlot::workspace) {
            workspace.stop_all_terminals();
        }
        drop(closed);
    }

    /// Ends all terminals of all workspaces, before the server ends.
    pub fn end_all_terminals(&self) {
        let slots: Vec<WorkspaceSlot> = self.open.lock().values().cloned().collect();
        let open: Vec<_> = slots.iter().filter_map(WorkspaceSlot::workspace).collect();
        // Every terminal gets its stop request before this thread waits for the first one.
        open.iter().for_each(|workspace| workspace.begin_to_stop_terminals());
        std::thread::scope(|scope| {
            for workspace in &open {
                scope.spawn(|| workspace.stop_all_terminals());
            }
        });
    }

    /// Ends the terminals of an actor who has lost the right to a workspace.
    pub(super) fn end_terminals_of(&self, id: WorkspaceId, actor: Actor) {
        let slot = self.open.lock().get(&id).cloned();
        if let Some(workspace) = slot.as_ref().and_then(WorkspaceSlot::workspace) {
            workspace.stop_terminals_by(actor, self.now());
        }
    }
}

/// Removes the unused workspace whose last use is longest ago, if there is one. Dropping it closes it.
fn take_longest_unused(open: &mut FastMap<WorkspaceId, WorkspaceSlot>) -> Option<WorkspaceSlot> {
    let idle = open.iter().filter(|(_, slot)| slot.is_idle());
    let longest_unused = idle.min_by_key(|(_, slot)| slot.last_used).map(|(id, _)| *id);
    longest_unused.and_then(|id| open.remove(&id))
}

impl WorkspaceSlot {
    /// The workspace, if it is open.
    fn workspace(&self) -> Option<Arc<OpenWorkspace>> {
        self.workspace.lock().clone()
    }

    fn is_idle(&self) -> bool {
        let Some(workspace) = self.workspace.try_lock() else { return false };
        Arc::strong_count(&self.workspace) == 1
            && workspace.as_ref().is_none_or(|open| Arc::strong_count(open) == 1)
    }
}
