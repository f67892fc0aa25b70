//! Asks the person, through the client, about network hosts that a command needs while its call still runs. A
//! decision also counts for later commands when this one is over by then.
//!
//! Only the revision until 2025-11-25 lets a server ask while a call runs. In the later one the answer of the
//! command names the requests that wait.

use std::sync::Arc;

use rmcp::service::{Peer, RoleServer};
use tokio::sync::Notify;
use yard_core::{ApprovalId, Call, Fault};
use yard_dialects::Catalog;
use yard_gate::{ApprovalFilter, ApprovalStatus, Awaited, Pending, Session, Waiter, is_for_host};

use super::call::{PERSON_TIMEOUT, ToolCall};
use super::elicitation::{self, Asked, Form};
use crate::pool::{Pools, WorkKind};

/// How many pending requests of a chat are read.
const MAX_REQUESTS_READ: usize = 100;

/// A question to a person, through the client, about a host.
struct HostPrompt {
    peer: Peer<RoleServer>,
    catalog: Arc<Catalog>,
    pools: Arc<Pools>,
    person: Session,
    call: Call,
    workspace_key: String,
}

impl ToolCall<'_> {
    /// Asks about each host that a command of this caller waits for. This future never ends by itself: the end
    /// of the call drops it.
    pub(super) async fn ask_about_hosts(&self) {
        let able = self.context.client_capabilities().and_then(|able| able.elicitation);
        let has_forms = able.is_some_and(|able| able.form.is_some() || able.url.is_none());
        let person = self.caller.person.clone().filter(|_| has_forms && !self.asks_in_rounds());
        let Some(person) = person else { return std::future::pending().await };
        let notify = Arc::new(Notify::new());
        let waker = Arc::clone(&notify);
        let _subscription = self.caller.session.subscribe(Arc::new(move || waker.notify_one()));
        loop {
            // A command that needs a host notifies the listeners of this process.
            notify.notified().await;
            for (id, waiter) in self.hosts_to_ask_about().await {
                let asker = HostPrompt {
                    peer: self.context.peer.clone(),
                    catalog: self.server.catalog(),
                    pools: self.server.shared_pools(),
                    person: person.clone(),
                    call: self.server.approved_call_context(),
                    workspace_key: self.caller.workspace_key.clone(),
                };
                tokio::spawn(asker.ask_about(id, waiter));
            }
        }
    }

    /// The requests for hosts that wait and that no other call of this process asks about.
    async fn hosts_to_ask_about(&self) -> Vec<(ApprovalId, Waiter)> {
        let session = self.caller.session.clone();
        let list_requests = move || {
            // A chat that does not exist yet has no requests.
            if session.awaits_chat() {
                return Vec::new();
            }
            let approvals = session.approvals();
            let filter = ApprovalFilter {
                status: Some(ApprovalStatus::Pending),
                asked_by: Some(session.actor().name()),
                chat: session.chat(),
                has_diff: Some(false),
                ..ApprovalFilter::default()
            };
            let rows = approvals.list(filter, None, MAX_REQUESTS_READ).map(|page| page.rows);
            let hosts = rows.unwrap_or_default().into_iter().filter(is_for_host);
            hosts.filter_map(|row| Some((row.id, approvals.wait_first_for(row.id)?))).collect()
        };
        self.run_in_pool(WorkKind::Look, list_requests).await.unwrap_or_default()
    }
}

impl HostPrompt {
    async fn ask_about(self, id: ApprovalId, waiter: Waiter) {
        if let Err(fault) = self.ask(id).await {
            // It was decided elsewhere, or it still waits.
            tracing::debug!("the client's word on host request {id} was not taken: {fault}");
        }
        drop(waiter);
    }

    async fn ask(&self, id: ApprovalId) -> Result<(), Fault> {
        let pending = Pending { awaited: Awaited::Approval(id), wait_ms: None };
        let (ask, person) = (pending.clone(), self.person.clone());
        let form = move || elicitation::form(&ask, &person);
        let form =
            self.pools.run(&self.workspace_key, WorkKind::Look, form).await.transpose()?.flatten();
        let Some(Form { params, shown }) = form else { return Ok(()) };
        let response =
            self.peer.create_elicitation_with_timeout(params, Some(PERSON_TIMEOUT)).await;
        let Ok(response) = response else { return Ok(()) };
        let (catalog, person, call) =
            (Arc::clone(&self.catalog), self.person.clone(), self.call.clone());
        let asked = Asked { pending, shown };
        let apply = move || elicitation::apply(&catalog, &person, &call, &asked, &response);
        let applied = self.pools.run(&self.workspace_key, WorkKind::Change, apply).await;
        applied.transpose().map(|_| ())
    }
}
