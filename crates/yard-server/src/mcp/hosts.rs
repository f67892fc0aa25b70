//! Hosts that a command waits for while its call runs: the person is asked through the client beside the call.
//! What they say counts also when the command is over by then: it is for the next one.
//!
//! Only in the revision in which a server may ask while a call runs. In the other one the answer of the command
//! names what waits.

use std::sync::Arc;

use rmcp::service::{Peer, RoleServer};
use tokio::sync::Notify;
use yard_core::{ApprovalId, Call, Fault};
use yard_dialects::Catalog;
use yard_gate::{ApprovalFilter, ApprovalStatus, Awaited, Pending, Session, Waiter, is_for_host};

use super::asked::{self, Form};
use super::call::{Calling, PATIENCE};
use crate::pool::{Pools, WorkKind};

/// Requests of a chat that are looked through.
const MOST_LOOKED_AT: usize = 100;

/// A person, and the client that asks them.
struct Asker {
    peer: Peer<RoleServer>,
    catalog: Arc<Catalog>,
    pools: Arc<Pools>,
    person: Session,
    call: Call,
    whose: String,
}

impl Calling<'_> {
    /// Asks about each host that a command of this caller begins to wait for. It never ends by itself: the
    /// end of the call ends it.
    pub(super) async fn ask_about_hosts(&self) {
        let able = self.context.client_capabilities().and_then(|able| able.elicitation);
        let has_forms = able.is_some_and(|able| able.form.is_some() || able.url.is_none());
        let person = self.seat.person.clone().filter(|_| has_forms && !self.speaks_in_rounds());
        let Some(person) = person else { return std::future::pending().await };
        let rung = Arc::new(Notify::new());
        let ear = Arc::clone(&rung);
        let _listening = self.seat.session.listen(Arc::new(move || ear.notify_one()));
        loop {
            // Whoever asks for a host rings the bell of this process.
            rung.notified().await;
            for (id, waiter) in self.hosts_nobody_is_asked_about().await {
                let asker = Asker {
                    peer: self.context.peer.clone(),
                    catalog: self.door.catalog(),
                    pools: self.door.shared_pools(),
                    person: person.clone(),
                    call: self.door.patient(),
                    whose: self.whose(),
                };
                tokio::spawn(asker.ask_about(id, waiter));
            }
        }
    }

    /// The hosts that wait and that no other call of this process asks about.
    async fn hosts_nobody_is_asked_about(&self) -> Vec<(ApprovalId, Waiter)> {
        let session = self.seat.session.clone();
        let look = move || {
            // Before anything was done in its chat nothing of it waits.
            if session.awaits_chat() {
                return Vec::new();
            }
            let approvals = session.approvals();
            let filter = ApprovalFilter {
                status: Some(ApprovalStatus::Pending),
                asked_by: Some(session.actor().name()),
                chat: session.chat(),
            };
            let rows = approvals.list(filter, None, MOST_LOOKED_AT).map(|page| page.rows);
            let hosts = rows.unwrap_or_default().into_iter().filter(is_for_host);
            let waiting = hosts.map(|row| (row.id, approvals.wait_for(row.id)));
            waiting.filter(|(_, waiter)| waiter.is_last()).collect()
        };
        self.door.pools().run(&self.whose(), WorkKind::Look, look).await.unwrap_or_default()
    }
}

impl Asker {
    async fn ask_about(self, id: ApprovalId, waiter: Waiter) {
        if let Err(fault) = self.asked(id).await {
            // Somebody decided elsewhere, or the request waits on.
            tracing::debug!("the client's word on host request {id} was not taken: {fault}");
        }
        drop(waiter);
    }

    async fn asked(&self, id: ApprovalId) -> Result<(), Fault> {
        let pending = Pending { awaited: Awaited::Approval(id), wait_ms: None };
        let (asked, person) = (pending.clone(), self.person.clone());
        let form = move || asked::form(&asked, &person);
        let form = self.pools.run(&self.whose, WorkKind::Look, form).await.transpose()?.flatten();
        let Some(Form { params, shown }) = form else { return Ok(()) };
        let said = self.peer.create_elicitation_with_timeout(params, Some(PATIENCE)).await;
        let Ok(said) = said else { return Ok(()) };
        let (catalog, person, call) =
            (Arc::clone(&self.catalog), self.person.clone(), self.call.clone());
        let settle = move || asked::settle(&catalog, &person, &call, &pending, shown, &said);
        let settled = self.pools.run(&self.whose, WorkKind::Change, settle).await;
        settled.transpose().map(|_| ())
    }
}
