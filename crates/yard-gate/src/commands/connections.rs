//! The connections of commands. Each is an effect on a host, and is judged by the same rules, roles and modes as a
//! request of the web tools. If they ask, a person is asked once per chat and host, and the proxy holds the connection
//! meanwhile.
//!
//! An approval with scope `once` is for the commands that wait for it, or else for the next one that tries: each of them
//! may reach that host and port until it ends. An approval for the chat or by a rule makes a rule about the host.
//!
//! A command that is an install and nothing else (`install_commands.rs`) asks once, with its first host. The request
//! says that it is about every public host, and an approval covers these until the command ends.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use yard_core::{
    ApprovalId, Call, ChatId, Dial, Effect, EffectKind, Fault, FaultCode, Remedy, Result, RunId,
};
use yard_kernel::Command;
use yard_net::{ConnectionPolicy, ConnectionVerdict, HostTraffic, ProxyConfig, Target};
use yard_sandbox::Level;
use yard_store::{Approval, ApprovalFilter, ApprovalRequest, ApprovalStatus, StoreError};

use crate::approvals::{
    effect_text, host_allowed_answer, is_expired, requested_host, state_hash, state_of_start,
};
use crate::attempt::no_person;
use crate::commands::command_line;
use crate::commands::install_commands::is_install;
use crate::{Asks, Attempt, ChangeSubscription, Origin, Session, Verdict};

/// How many hosts of one chat a person may be asked about at the same time.
const MAX_WAITING: usize = 16;
/// How many requests of a chat are searched for one about the same host.
const MAX_COMPARED: usize = 200;
/// How many requests have a count of tries. With more, all counts are reset.
const MAX_COUNTED: usize = 1_000;
/// The longest command line that a person is shown with the host.
const MAX_SHOWN_BYTES: usize = 2_000;
/// How many hosts an audit row names.
const MAX_AUDITED_HOSTS: usize = 32;
/// The member of a request's arguments that says that it is about an install.
const COVERS: &str = "covers";
const PUBLIC_HOSTS: &str = "every public host that this install reaches";
/// The key of all public hosts of an install. No host and port has this form.
const INSTALL: &str = "install";
/// How often the store is checked without a notification, because another process may decide.
const STORE_CHECK_INTERVAL: Duration = Duration::from_millis(300);

/// The connections of one command.
struct Connections {
    session: Session,
    chat: ChatId,
    call: Call,
    toolset: String,
    tool: String,
    /// The command line that a person is shown.
    command_line: String,
    /// The folder in which it starts.
    folder: String,
    /// The command may reach every public host, because its start was approved.
    covers_public_hosts: bool,
    /// The host and port that were shown with the approved start.
    approved_address: Option<Arc<str>>,
    /// The command installs packages and does nothing else: one approval covers all its public hosts.
    is_install: bool,
    /// By host and port, or [`INSTALL`].
    hosts: Mutex<HashMap<String, HostState>>,
    change_count: Arc<ChangeCounter>,
    /// Set once a connection waits for a person.
    subscription: Mutex<Option<ChangeSubscription>>,
}

/// The state of one host and port, for this command.
#[derive(Clone)]
enum HostState {
    /// A person is asked.
    Waiting { id: ApprovalId, checked_at: Duration, changes_seen: u64 },
    /// A person approved it.
    Allowed,
    /// A person denied it.
    Refused(String),
    /// The rules, the role or the mode deny it, and an audit row says so.
    Denied,
}

/// Whether a connection is new, or one that is held is checked again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    New,
    Again,
}

/// Counts the changes of the workspace.
#[derive(Default)]
struct ChangeCounter {
    count: Mutex<u64>,
    changed: Condvar,
}

impl Session {
    /// Whether commands can reach other hosts at all.
    pub fn has_network(&self) -> bool {
        self.open().web.for_commands().is_some()
            && self.open().workspace.box_level() == Some(Level::Full)
    }
}

impl Attempt<'_> {
    /// The network access of a command, if commands have any.
    pub(crate) fn network_access(&self, chat: ChatId, command: &Command) -> Option<ProxyConfig> {
        let (session, origin, open) = (self.session(), self.origin(), self.open());
        let net = open.web.for_commands().filter(|_| session.has_network())?;
        let policy = Connections {
            session: session.with_chat(chat),
            chat,
            call: Call::new(self.call().shared_world()),
            toolset: origin.toolset.to_owned(),
            tool: origin.tool.to_owned(),
            command_line: command_line(command, MAX_SHOWN_BYTES),
            folder: command.folder.to_string(),
            covers_public_hosts: origin.asks == Asks::ToStart,
            approved_address: self.shown_address().filter(|_| origin.asks == Asks::Always),
            is_install: command.shell_line.as_deref().is_some_and(is_install),
            hosts: Mutex::default(),
            change_count: Arc::default(),
            subscription: Mutex::default(),
        };
        Some(ProxyConfig::new(net, Arc::new(policy), open.web.connection_hold()))
    }

    /// Writes an audit row with the traffic of a command, host by host.
    pub(crate) fn audit_traffic(&self, run: RunId, hosts: &[HostTraffic]) -> Result<()> {
        if hosts.is_empty() {
            return Ok(());
        }
        let mut detail = format!("{}.{} run {run}:", self.origin().toolset, self.origin().tool);
        for host in hosts.iter().take(MAX_AUDITED_HOSTS) {
            let HostTraffic { host_port, tries, up, down, .. } = host;
            // Writing into a text cannot fail.
            let _ = write!(detail, " {host_port} tries {tries} up {up} down {down},");
        }
        let rest = hosts.len().saturating_sub(MAX_AUDITED_HOSTS);
        if rest > 0 {
            let _ = write!(detail, " and {rest} more hosts");
        }
        let detail = detail.trim_end_matches(',').to_owned();
        let audit = self.session().audit_entry(self.call(), "connected", detail);
        self.open().workspace.record_audit(&audit)
    }
}

impl ConnectionPolicy for Connections {
    fn decide(&self, target: &Target) -> ConnectionVerdict {
        self.judge_or_deny(target, Check::New)
    }

    fn decide_again(&self, target: &Target, at_most: Duration) -> ConnectionVerdict {
        let (place, key) = (target.host_port(), self.key(target));
        let Some(HostState::Waiting { id, checked_at, changes_seen }) =
            self.hosts.lock().get(&key).cloned()
        else {
            return self.judge_or_deny(target, Check::Again);
        };
        let has_changed = self.change_count.wait_for_change_after(changes_seen, at_most);
        let since = self.call.world().elapsed().saturating_sub(checked_at);
        match has_changed || since >= STORE_CHECK_INTERVAL {
            true => self.judge_or_deny(target, Check::Again),
            false => waiting_verdict(&place, id),
        }
    }

    fn describe_remedy(&self, remedy: Remedy) -> &'static str {
        (self.session.open().hints.remedy)(remedy)
    }
}

impl Connections {
    fn attempt(&self) -> Attempt<'_> {
        let origin = Origin { toolset: &self.toolset, tool: &self.tool, asks: Asks::Never };
        self.session.attempt(origin, &self.call)
    }

    /// Whether an approval of the install covers this host.
    fn is_covered_by_install(&self, target: &Target) -> bool {
        self.is_install && !self.session.open().web.is_for_commands_alone(target)
    }

    /// The key of a host's state.
    fn key(&self, target: &Target) -> String {
        if self.is_covered_by_install(target) { INSTALL.to_owned() } else { target.host_port() }
    }

    fn judge_or_deny(&self, target: &Target, check: Check) -> ConnectionVerdict {
        let verdict = self.judge(target, check);
        verdict.unwrap_or_else(|fault| ConnectionVerdict::Deny(fault.message().to_owned()))
    }

    fn judge(&self, target: &Target, check: Check) -> Result<ConnectionVerdict> {
        let open = self.session.open();
        let place = target.host_port();
        let effect = Effect::dialling(Dial {
            kind: EffectKind::Connect,
            asked: place.clone(),
            host: target.host().to_owned(),
            port: target.port(),
            known: open.web.is_allowed(target),
        });
        let reason = match self.attempt().judge(&effect)? {
            Verdict::Allow => return Ok(ConnectionVerdict::Allow),
            Verdict::Deny(reason) => {
                if !matches!(self.hosts.lock().get(&place), Some(HostState::Denied)) {
                    self.audit_refusal(&place)?;
                }
                self.set_state(&place, HostState::Denied);
                return Ok(ConnectionVerdict::Deny(reason));
            }
            Verdict::Ask(reason) => reason,
        };
        if self.covers_public_hosts && !open.web.is_for_commands_alone(target) {
            return Ok(ConnectionVerdict::Allow);
        }
        if self.approved_address.as_deref() == Some(&place) {
            return Ok(ConnectionVerdict::Allow);
        }
        let reason = match self.is_covered_by_install(target) {
            true => format!("an install, which a yes lets reach every public host: {reason}"),
            false => reason,
        };
        let state = self.hosts.lock().get(&self.key(target)).cloned();
        match state {
            Some(HostState::Allowed) => Ok(ConnectionVerdict::Allow),
            Some(HostState::Refused(why)) => Ok(ConnectionVerdict::Deny(why)),
            Some(HostState::Waiting { id, .. }) => {
                if check == Check::New {
                    self.count_try(&mut open.host_tries.lock(), id, &reason)?;
                }
                self.check_request(target, id, &effect, &reason)
            }
            Some(HostState::Denied) | None => {
                self.check_can_ask(&reason)?;
                self.ask(target, &effect, &reason)
            }
        }
    }

    /// The verdict by the request that this command waits for, as the store has it now.
    fn check_request(
        &self,
        target: &Target,
        id: ApprovalId,
        effect: &Effect,
        reason: &str,
    ) -> Result<ConnectionVerdict> {
        let (place, key, changes_seen) =
            (target.host_port(), self.key(target), self.change_count.count());
        let row = self.session.open().records.approval(id)?;
        match row.as_ref().map(|row| row.status) {
            Some(ApprovalStatus::Pending) => {
                let checked_at = self.call.world().elapsed();
                self.set_state(&key, HostState::Waiting { id, checked_at, changes_seen });
                Ok(waiting_verdict(&place, id))
            }
            // The first of the waiting commands uses the approval up; it is valid for all of them.
            Some(ApprovalStatus::Approved) => {
                self.use_up_approval(id)?;
                self.set_state(&key, HostState::Allowed);
                Ok(ConnectionVerdict::Allow)
            }
            Some(ApprovalStatus::Executed) => {
                self.set_state(&key, HostState::Allowed);
                Ok(ConnectionVerdict::Allow)
            }
            Some(ApprovalStatus::Denied) => {
                let why = row.as_ref().map(denial).unwrap_or_default();
                self.set_state(&key, HostState::Refused(why.clone()));
                Ok(ConnectionVerdict::Deny(why))
            }
            // It was withdrawn or expired.
            _ => self.ask(target, effect, reason),
        }
    }

    /// Asks a person, unless there is a request about this host, or an approval that no command has used.
    fn ask(&self, target: &Target, effect: &Effect, reason: &str) -> Result<ConnectionVerdict> {
        let open = self.session.open();
        let (place, key, changes_seen) =
            (target.host_port(), self.key(target), self.change_count.count());
        let mut tries = open.host_tries.lock();
        if self.use_up_earlier_approval(target)? {
            self.set_state(&key, HostState::Allowed);
            return Ok(ConnectionVerdict::Allow);
        }
        let waiting = self.requests(ApprovalStatus::Pending)?;
        let same = waiting.iter().find(|row| self.asks_for(row, target)).map(|row| row.id);
        let id = match same {
            Some(id) => {
                self.count_try(&mut tries, id, reason)?;
                id
            }
            None if waiting.len() >= MAX_WAITING => {
                let message = format!(
                    "{MAX_WAITING} hosts of this chat wait for a person already; wait for a decision"
                );
                return Err(Fault::new(FaultCode::Denied, message));
            }
            None => {
                let request = self.request(target, effect, &with_tries(reason, 1));
                let id = self.attempt().make_request(self.chat, request)?;
                if tries.len() >= MAX_COUNTED {
                    tries.clear();
                }
                tries.insert(id, 1);
                id
            }
        };
        let checked_at = self.call.world().elapsed();
        self.set_state(&key, HostState::Waiting { id, checked_at, changes_seen });
        self.subscribe();
        Ok(waiting_verdict(&place, id))
    }

    /// Counts a try of a host that a person is asked about, and writes the count into the request now and then.
    fn count_try(
        &self,
        tries: &mut HashMap<ApprovalId, u64>,
        id: ApprovalId,
        reason: &str,
    ) -> Result<()> {
        let count = tries.entry(id).or_insert(0);
        *count += 1;
        if *count > 10 && !count.is_power_of_two() {
            return Ok(());
        }
        let records = &self.session.open().records;
        records.reword(id, &with_tries(reason, *count)).map_err(Fault::from)
    }

    fn request(&self, target: &Target, effect: &Effect, reason: &str) -> ApprovalRequest {
        let mut args = json!({
            "command": self.command_line, "host": target.host(), "port": target.port(),
        });
        if self.is_covered_by_install(target) {
            args["folder"] = json!(self.folder);
            args[COVERS] = json!(PUBLIC_HOSTS);
        }
        let state = state_hash(self.attempt().origin(), &args, &state_of_start(effect, ""));
        ApprovalRequest {
            toolset: self.toolset.clone(),
            tool: self.tool.clone(),
            args: args.to_string(),
            reason: reason.to_owned(),
            effect: effect_text(effect),
            diff: String::new(),
            state,
            preset: self.session.policy().preset().word().to_owned(),
            run: None,
            root: self.session.mount().map(|mount| mount.name.clone()),
        }
    }

    /// Whether a request is the one that this command would make for a host. For an install it is one about the same
    /// command in the same folder, with any host.
    fn asks_for(&self, row: &Approval, target: &Target) -> bool {
        let Some((host, port)) = requested_host(&row.request) else { return false };
        let args: Value = serde_json::from_str(&row.request.args).unwrap_or_default();
        let covers_all = args[COVERS] == PUBLIC_HOSTS;
        match self.is_covered_by_install(target) {
            true => {
                covers_all && args["command"] == self.command_line && args["folder"] == self.folder
            }
            false => !covers_all && (host.as_str(), port) == (target.host(), target.port()),
        }
    }

    /// The requests about hosts of this chat and this caller with a status.
    fn requests(&self, status: ApprovalStatus) -> Result<Vec<Approval>> {
        let filter = ApprovalFilter {
            status: Some(status),
            asked_by: Some(self.session.actor().name()),
            chat: Some(self.chat),
            has_diff: Some(false),
            ..ApprovalFilter::default()
        };
        let records = &self.session.open().records;
        let mut rows = Vec::new();
        for id in records.approval_ids(&filter, None, MAX_COMPARED)? {
            let row = records.approval(id)?;
            let is_wanted =
                |row: &Approval| row.status == status && requested_host(&row.request).is_some();
            rows.extend(row.filter(is_wanted));
        }
        Ok(rows)
    }

    /// Uses up an approval of this host that was given after the command that asked was over, if there is one.
    fn use_up_earlier_approval(&self, target: &Target) -> Result<bool> {
        for row in self.requests(ApprovalStatus::Approved)? {
            if !self.asks_for(&row, target) || row.started {
                continue;
            }
            if is_expired(&row, &self.call) {
                self.session.approvals().close(&self.call, row.id, ApprovalStatus::Expired)?;
            } else if self.use_up_approval(row.id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Uses up an approval. Whether this command was the first to do so.
    fn use_up_approval(&self, id: ApprovalId) -> Result<bool> {
        let (open, world) = (self.session.open(), self.call.world());
        let records = &open.records;
        // A request that was started and that no living process claimed is shown as lost. The claim of a process
        // that ended before it started anything is taken over.
        let own = open.workspace.process(&self.call)?;
        let row = records.approval(id)?;
        let claimant = row.and_then(|row| row.claimed_by);
        if claimant.is_some_and(|other| other != own && open.workspace.is_alive(other)) {
            return Ok(false);
        }
        let claimed = records.claim(id, claimant, Some(own));
        let started = claimed.and_then(|()| records.start(id, RunId::new(world)));
        match started {
            Err(StoreError::Misfit(_)) => return Ok(false),
            done => done?,
        }
        records.conclude(id, ApprovalStatus::Executed, &host_allowed_answer(), world.now())?;
        self.session.open().changes.notify();
        Ok(true)
    }

    /// A fault if no person can be asked.
    fn check_can_ask(&self, reason: &str) -> Result<()> {
        match self.session.has_no_person() {
            true => Err(no_person(reason, self.session.open().hints.no_person)),
            false => Ok(()),
        }
    }

    fn audit_refusal(&self, place: &str) -> Result<()> {
        let detail = format!("{}.{} connect {place}", self.toolset, self.tool);
        let entry = self.session.audit_entry(&self.call, "deny reach", detail);
        self.session.open().workspace.record_audit(&entry)
    }

    fn set_state(&self, place: &str, state: HostState) {
        self.hosts.lock().insert(place.to_owned(), state);
    }

    /// Begins to count changes, unless this was begun before.
    fn subscribe(&self) {
        let mut subscription = self.subscription.lock();
        if subscription.is_none() {
            let count = Arc::clone(&self.change_count);
            *subscription =
                Some(self.session.open().changes.subscribe(Arc::new(move || count.add())));
        }
    }
}

impl ChangeCounter {
    fn add(&self) {
        *self.count.lock() += 1;
        self.changed.notify_all();
    }

    fn count(&self) -> u64 {
        *self.count.lock()
    }

    /// Waits at most `at_most` for a change after the first `before` ones. Whether there was one.
    fn wait_for_change_after(&self, before: u64, at_most: Duration) -> bool {
        let is_unchanged = |count: &mut u64| *count == before;
        let mut count = self.count.lock();
        !self.changed.wait_while_for(&mut count, is_unchanged, at_most).timed_out()
    }
}

fn with_tries(reason: &str, count: u64) -> String {
    match count {
        1 => format!("{reason} (tried once)"),
        count => format!("{reason} (tried {count} times)"),
    }
}

/// The message to a command whose host a person denied.
fn denial(row: &Approval) -> String {
    match row.decision.as_ref().and_then(|decision| decision.reason.as_deref()) {
        Some(reason) => format!("a person said no: {reason}"),
        None => "a person said no to this host".to_owned(),
    }
}

fn waiting_verdict(place: &str, id: ApprovalId) -> ConnectionVerdict {
    let message = format!(
        "a person is asked whether {place} may be reached (approval {id}), and has not answered yet. Once it \
         is approved, the next try goes through"
    );
    ConnectionVerdict::Wait { request: id.to_string(), message }
}
