//! Requests to the web, judged: which host is asked, how, and whether a person has to say yes first. Every request and
//! every redirect to another place is judged; which addresses can be reached at all is checked below (A4).
//!
//! A yes covers the call that it was asked for, and is used up when that is sent: what a crash interrupts
//! is not sent again.

use std::sync::Arc;
use std::time::Duration;

use yard_core::op::Operation;
use yard_core::{Dial, Effect, EffectKind, Fault, FaultCode, Result, RunId};
use yard_kernel::store_fault;
use yard_net::{Follow, Method, Page, PageFormat, Target, WebRequest, WebResponse};
use yard_store::{Mode, StoreError};

use crate::approvals::{lost, started_already};
use crate::attempt::Admission;
use crate::{Attempt, Completion, SearchHit, SearchProvider, Session, Verdict};

/// How long a page may take to be read, at the least.
const READING: Duration = Duration::from_secs(2);

/// A page of the web.
#[derive(Clone, Debug)]
pub struct FetchedPage {
    /// Where it came from in the end.
    pub url: String,
    /// How often it was led elsewhere on the way.
    pub redirects: usize,
    /// Where it would have been led, and was not: that is another host, which nobody allowed.
    pub left: Option<String>,
    /// The status.
    pub status: u16,
    /// The headers, lower case.
    pub headers: Vec<(String, String)>,
    /// What it says.
    pub page: Page,
}

impl Session {
    /// The provider that searches the web, if the operator set one.
    pub fn search_provider(&self) -> Option<Arc<dyn SearchProvider>> {
        self.open().web.search.clone()
    }

    /// Where packages come from that `manager` installs, if the operator said so; a fault in plan mode.
    pub fn package_index(&self, manager: &str) -> Result<Option<String>> {
        if self.mode()? == Mode::Plan {
            let message = "this chat is in plan mode, in which nothing is installed";
            return Err(Fault::new(FaultCode::Denied, message));
        }
        Ok(self.open().web.index_of(manager).map(str::to_owned))
    }
}

/// What reaches out, in audit rows.
#[derive(Clone, Debug)]
pub(crate) struct Reach;

impl Operation for Reach {
    type Answer = ();
    const VERB: &'static str = "reach";
}

impl Attempt<'_> {
    /// Fetches a page of the web: judged by its host, and asked about where nobody allowed that.
    pub fn fetch(&self, request: WebRequest, shape: PageFormat) -> Result<Completion<FetchedPage>> {
        let call = self.call();
        let (wall, method, begun) = (request.wall, request.method, call.world().elapsed());
        let kind = match method {
            Method::Get => EffectKind::Fetch,
            Method::Post => EffectKind::Send,
        };
        let dial = |target: &Target| Dial {
            kind,
            asked: format!("{} {}", method.word(), target.as_str()),
            host: target.host().to_owned(),
            port: target.port(),
            known: self.open().web.knows(target),
        };
        let response = match self.reach(request, &dial)? {
            Completion::Done(response) => response,
            Completion::Pending(pending) => return Ok(Completion::Pending(pending)),
        };
        let took = call.world().elapsed().saturating_sub(begun);
        // A page that came at the last moment is still read.
        let left = wall.saturating_sub(took).max(READING);
        let page = response.page(shape, call, left)?;
        Ok(Completion::Done(FetchedPage {
            url: response.target.as_str().to_owned(),
            redirects: response.redirects,
            left: response.left.map(|target| target.as_str().to_owned()),
            status: response.status,
            headers: response.headers,
            page,
        }))
    }

    /// Searches the web by a provider that the operator set.
    pub fn search_web(
        &self,
        provider: &dyn SearchProvider,
        query: &str,
        count: usize,
        wall: Duration,
    ) -> Result<Completion<Vec<SearchHit>>> {
        let request = provider.request(query, count, wall)?;
        let own_place = provider.address().place();
        // It changes nothing anywhere, whatever the method that the provider wants.
        let dial = |target: &Target| Dial {
            kind: EffectKind::Fetch,
            asked: format!("search for {query:?} at {}", target.place()),
            host: target.host().to_owned(),
            port: target.port(),
            known: target.place() == own_place,
        };
        match self.reach(request, &dial)? {
            Completion::Done(response) => Ok(Completion::Done(provider.hits(&response, count)?)),
            Completion::Pending(pending) => Ok(Completion::Pending(pending)),
        }
    }

    /// Asks a host, and those that it leads to as far as they are allowed. `dial` says what is done to one.
    fn reach(
        &self,
        request: WebRequest,
        dial: &dyn Fn(&Target) -> Dial,
    ) -> Result<Completion<WebResponse>> {
        if self.permitted_run().is_some() {
            return Err(lost());
        }
        let effect = Effect::dialling(dial(&request.target));
        // Nobody is asked about what can only be refused.
        if let Err(fault) = self.open().web.net.check_named(&request.target) {
            self.note_reach(&effect, "deny ")?;
            return Err(fault);
        }
        if let Admission::Wait(pending) = self.admit::<Reach>(&effect)? {
            return Ok(Completion::Pending(pending));
        }
        self.check_happens()?;
        self.use_up()?;
        self.note_reach(&effect, "")?;
        let first = request.target.clone();
        let mut now = effect;
        let mut follow = |next: &Target| {
            now = Effect::dialling(dial(next));
            match self.judge(&now)? {
                Verdict::Ask(_) if !first.is_trusted_redirect(next) => return Ok(Follow::No),
                Verdict::Deny(reason) => return Err(Fault::new(FaultCode::Denied, reason)),
                Verdict::Allow | Verdict::Ask(_) => {}
            }
            if next.place() != first.place() {
                self.note_reach(&now, "")?;
            }
            Ok(Follow::Yes)
        };
        let response = self.open().web.net.fetch(request, self.call(), &mut follow);
        if response.as_ref().is_err_and(|fault| fault.code() == FaultCode::Denied) {
            self.note_reach(&now, "deny ")?;
        }
        response.map(Completion::Done)
    }

    fn note_reach(&self, effect: &Effect, how: &str) -> Result<()> {
        let mut entry = self.audit_entry::<Reach>(effect);
        entry.action.insert_str(0, how);
        self.open().workspace.record_audit(&entry)
    }

    /// Uses up the yes that this is sent with, if there is one.
    fn use_up(&self) -> Result<()> {
        let Some(approval) = self.permitted_start() else { return Ok(()) };
        match self.open().desk.start(approval, RunId::new(self.call().world())) {
            Err(StoreError::Misfit(_)) => Err(started_already(approval)),
            done => done.map_err(store_fault),
        }
    }
}
