//! A server's registry and its open workspaces. Workspaces are opened when a caller first enters, and
//! closed again when many are open and nobody uses them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use yard_core::{ContentHash, FastMap, Result, Timestamp, WorkspaceId, World};
use yard_store::registry::{KeyRow, WorkspaceRow};
use yard_store::{AuditEntry, Registry};

use super::attempts::Attempts;
use super::identity::{Entered, Identity};
use super::known::{Changing, Known};
use super::refusal::Refusal;
use super::token::{SHORTEST_SECRET, Tokens};
use crate::{Actor, OpenWorkspace, Session};

/// Wrong passwords within a minute, for one account from one address.
const FAILED_LOGINS: usize = 15;
/// Wrong passwords within a minute, for one account from everywhere: so many that no one address can keep
/// a person out.
const FAILED_LOGINS_OF: usize = 60;
/// Wrong passwords within a minute, from one address.
const FAILED_LOGINS_FROM: usize = 18;
/// Accounts made within a minute, from one address.
const REGISTRATIONS_FROM: usize = 120;
/// Answers within a minute that tell one caller whether an email address has an account.
const ACCOUNT_ANSWERS: usize = 10;
/// Most workspaces that are open at once, unless more are in use.
const OPEN_WORKSPACES: usize = 64;

/// Opens workspaces: the composition root knows where they are.
pub trait Opener: Send + Sync {
    /// The folder of the host that a person asked for, if the operator allowed it; in the form in
    /// which it is kept.
    fn admit_folder(&self, folder: &str) -> Result<String>;

    /// Whether two such folders are the same, or one lies in the other, by whatever path or link.
    fn overlap(&self, one: &str, other: &str) -> bool;

    /// Opens a workspace, making what is missing.
    fn open(&self, workspace: &WorkspaceRow) -> Result<Arc<OpenWorkspace>>;
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
    /// Whether anybody may make an account.
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
    pub(super) registered_from: Attempts,
    pub(super) account_answers: Attempts,
    pub(super) known: Known,
    /// Held while a workspace gets a folder of the host, so that no two get the same.
    pub(super) assigning_folders: Mutex<()>,
    most_open: usize,
    open: Mutex<FastMap<WorkspaceId, WorkspaceSlot>>,
}

/// How many passwords may be tried.
pub(super) struct LoginLimits {
    of_account_from_address: Attempts,
    of_account: Attempts,
    from_address: Attempts,
}

impl LoginLimits {
    /// Counts a try before the password is looked at; after how many seconds to come back, if it is one
    /// too many.
    pub(super) fn take(
        &self,
        account: &str,
        address: &str,
        now: Timestamp,
    ) -> std::result::Result<(), u32> {
        let counted = self.each(account, address);
        for (at, (attempts, name)) in counted.iter().enumerate() {
            if let Err(seconds) = attempts.take(name, now) {
                counted[..at].iter().for_each(|(attempts, name)| attempts.give_back(name, now));
                return Err(seconds);
            }
        }
        Ok(())
    }

    /// Takes back a try that was counted at `then`: the password was right.
    pub(super) fn give_back(&self, account: &str, address: &str, then: Timestamp) {
        for (attempts, name) in self.each(account, address) {
            attempts.give_back(&name, then);
        }
    }

    fn each(&self, account: &str, address: &str) -> [(&Attempts, String); 3] {
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
        if auth.secret.len() < SHORTEST_SECRET {
            let message = format!("must have at least {SHORTEST_SECRET} characters");
            return Err(Refusal::field("secret", message));
        }
        Ok(Self {
            registry,
            world,
            tokens: Tokens::new(&auth.secret),
            auth,
            opener,
            logins: LoginLimits {
                of_account_from_address: Attempts::at_most(FAILED_LOGINS),
                of_account: Attempts::at_most(FAILED_LOGINS_OF),
                from_address: Attempts::at_most(FAILED_LOGINS_FROM),
            },
            registered_from: Attempts::at_most(REGISTRATIONS_FROM),
            account_answers: Attempts::at_most(ACCOUNT_ANSWERS),
            known: Known::default(),
            assigning_folders: Mutex::default(),
            most_open: OPEN_WORKSPACES,
            open: Mutex::default(),
        })
    }

    /// The same, with at most so many workspaces open at once, unless more are in use.
    #[must_use]
    pub fn with_open_workspaces(self, most: usize) -> Self {
        Self { most_open: most.clamp(1, OPEN_WORKSPACES), ..self }
    }

    /// Counts an answer that may say whether an email address has an account here, and refuses who had as
    /// many of them lately as anybody may. One that says nothing of the kind is given back.
    pub(super) fn count_account_answer(
        &self,
        who: &str,
        now: Timestamp,
    ) -> std::result::Result<(), Refusal> {
        self.account_answers.take(who, now).map_err(Refusal::TooMany)
    }

    /// The registry, for a change that may bear on who is calling or on what a caller may do.
    pub(super) fn changing(&self) -> Changing<'_> {
        Changing::new(self.registry.as_ref(), &self.known)
    }

    /// Clock and dice.
    pub fn world(&self) -> &Arc<dyn World> {
        &self.world
    }

    pub(super) fn now(&self) -> Timestamp {
        self.world.now()
    }

    pub(super) fn audit(&self, actor: Actor, action: &str, detail: String) -> AuditEntry {
        AuditEntry { at: self.now(), actor: actor.name(), action: action.to_owned(), detail }
    }

    /// A key for one purpose, the same after a restart, from which no other key follows.
    pub fn secret_for(&self, purpose: &str) -> [u8; 32] {
        let parts = [self.auth.secret.as_slice(), purpose.as_bytes()];
        *ContentHash::of(&parts.join(&b"\0"[..])).as_bytes()
    }

    /// The caller's way into the workspace that it entered.
    pub fn session(&self, entered: &Entered) -> std::result::Result<Session, Refusal> {
        let open = self.open(entered.workspace)?;
        let session = Session::new(open, entered.identity.actor(), entered.policy());
        let Identity::Agent(KeyRow { chat, toolsets, .. }) = &entered.identity else {
            return Ok(session);
        };
        let session = match toolsets {
            Some(toolsets) => session.speaking(toolsets),
            None => session,
        };
        // A key that is bound to a chat never speaks outside of it.
        match chat {
            Some(chat) => Ok(session.bound_to(*chat)?),
            None => Ok(session),
        }
    }

    /// The open workspace; opened if need be, by one caller while others wait.
    pub(super) fn open(&self, id: WorkspaceId) -> std::result::Result<Arc<OpenWorkspace>, Refusal> {
        let slot = self.slot(id);
        let mut inside = held(&slot.workspace);
        if let Some(workspace) = &*inside {
            return Ok(Arc::clone(workspace));
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
        let workspace = self.opener.open(&row)?;
        *inside = Some(Arc::clone(&workspace));
        Ok(workspace)
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
        let mut open = held(&self.open);
        if let Some(slot) = open.get_mut(&id) {
            slot.last_used = now;
            return slot.clone();
        }
        let is_full = open.len() >= self.most_open;
        let closed = if is_full { take_oldest(&mut open) } else { None };
        let slot = WorkspaceSlot { workspace: Arc::default(), last_used: now };
        open.insert(id, slot.clone());
        drop(open);
        // Closing a store takes its time: nobody else waits for it.
        drop(closed);
        slot
    }

    /// Closes a workspace as soon as nobody uses it.
    pub(super) fn close(&self, id: WorkspaceId) {
        let closed = held(&self.open).remove(&id);
        if let Some(workspace) = closed.as_ref().and_then(WorkspaceSlot::workspace) {
            workspace.stop_all_terminals();
        }
        drop(closed);
    }

    /// Ends what runs in every workspace: the server is about to end.
    pub fn end_all_terminals(&self) {
        let slots: Vec<WorkspaceSlot> = held(&self.open).values().cloned().collect();
        let open: Vec<_> = slots.iter().filter_map(WorkspaceSlot::workspace).collect();
        // All of them end at the same time, and only then is anybody waited for.
        open.iter().for_each(|workspace| workspace.begin_to_stop_terminals());
        std::thread::scope(|scope| {
            for workspace in &open {
                scope.spawn(|| workspace.stop_all_terminals());
            }
        });
    }

    /// Ends what runs in a workspace for an actor who has lost the right to it.
    pub(super) fn end_terminals_of(&self, id: WorkspaceId, actor: Actor) {
        let slot = held(&self.open).get(&id).cloned();
        if let Some(workspace) = slot.as_ref().and_then(WorkspaceSlot::workspace) {
            workspace.stop_terminals_by(actor, self.now());
        }
    }
}

/// The workspace that nobody has used for longest, if there is one; it is closed when it is dropped.
fn take_oldest(open: &mut FastMap<WorkspaceId, WorkspaceSlot>) -> Option<WorkspaceSlot> {
    let idle = open.iter().filter(|(_, slot)| slot.is_idle());
    let oldest = idle.min_by_key(|(_, slot)| slot.last_used).map(|(id, _)| *id);
    oldest.and_then(|id| open.remove(&id))
}

impl WorkspaceSlot {
    /// The workspace, if it is open.
    fn workspace(&self) -> Option<Arc<OpenWorkspace>> {
        held(&self.workspace).clone()
    }

    fn is_idle(&self) -> bool {
        let Ok(inside) = self.workspace.try_lock() else { return false };
        Arc::strong_count(&self.workspace) == 1
            && inside.as_ref().is_none_or(|workspace| Arc::strong_count(workspace) == 1)
    }
}

pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
