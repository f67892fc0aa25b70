//! Requests to the web. Every request and every redirect to another host is judged by its host and method. Which
//! addresses can be reached at all is checked by `yard-net` (A4).
//!
//! An approval covers one call, and is used up when the request is sent: a request that a crash interrupts is not sent
//! again.

use std::sync::Arc;
use std::time::Duration;

use yard_core::op::Operation;
use yard_core::{Dial, Effect, EffectKind, Fault, FaultCode, Result, RunId};
use yard_net::{Follow, Method, Page, PageFormat, Target, WebRequest, WebResponse};
use yard_store::Mode;

use crate::approvals::outcome_unknown;
use crate::attempt::Admission;
use crate::{Attempt, Completion, SearchHit, SearchProvider, Session, Verdict};

/// The least time that is left for converting a page.
const MIN_CONVERSION: Duration = Duration::from_secs(2);

/// A fetched web page.
#[derive(Clone, Debug)]
pub struct FetchedPage {
    /// The address after all redirects.
    pub url: String,
    /// How many redirects were followed.
    pub redirects: usize,
    /// The redirect that was not followed, because its host is not allowed.
    pub left: Option<String>,
    /// The status.
    pub status: u16,
    /// The headers, lower case.
    pub headers: Vec<(String, String)>,
    /// The converted content.
    pub page: Page,
}

impl Session {
    /// The provider that searches the web, if the operator set one.
    pub fn search_provider(&self) -> Option<Arc<dyn SearchProvider>> {
        self.open().web.search.clone()
    }

    /// The package index that the operator set for `manager`; a fault in plan mode.
    pub fn package_index(&self, manager: &str) -> Result<Option<String>> {
        if self.mode()? == Mode::Plan {
            let message = "this chat is in plan mode, in which nothing is installed";
            return Err(Fault::new(FaultCode::Denied, message));
        }
        Ok(self.open().web.index_of(manager).map(str::to_owned))
    }
}

/// A request to the web, as audit rows name it.
#[derive(Clone, Debug)]
pub(crate) struct WebAccess;

impl Operation for WebAccess {
    type Answer = ();
    const VERB: &'static str = "reach";
}

impl Attempt<'_> {
    /// Fetches a web page. A person is asked if its host is not allowed.
    pub fn fetch(
        &self,
        request: WebRequest,
        format: PageFormat,
    ) -> Result<Completion<FetchedPage>> {
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
            known: self.open().web.is_allowed(target),
        };
        let response = match self.send(request, &dial)? {
            Completion::Done(response) => response,
            Completion::Pending(pending) => return Ok(Completion::Pending(pending)),
        };
        let took = call.world().elapsed().saturating_sub(begun);
        // A page that arrives at the end of the time is still converted.
        let left = wall.saturating_sub(took).max(MIN_CONVERSION);
        let page = response.page(format, call, left)?;
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
        let own_place = provider.address().host_port();
        // A search changes nothing, even if the provider uses POST.
        let dial = |target: &Target| Dial {
            kind: EffectKind::Fetch,
            asked: format!("search for {query:?} at {}", target.host_port()),
            host: target.host().to_owned(),
            port: target.port(),
            known: target.host_port() == own_place,
        };
        match self.send(request, &dial)? {
            Completion::Done(response) => Ok(Completion::Done(provider.hits(&response, count)?)),
            Completion::Pending(pending) => Ok(Completion::Pending(pending)),
        }
    }

    /// Sends a request and follows redirects to allowed hosts. `dial` is the effect of a request to a host.
    fn send(
        &self,
        request: WebRequest,
        dial: &dyn Fn(&Target) -> Dial,
    ) -> Result<Completion<WebResponse>> {
        if self.permitted_run().is_some() {
            return Err(outcome_unknown());
        }
        let effect = Effect::dialling(dial(&request.target));
        // A person is not asked about an address that is refused anyway.
        if let Err(fault) = self.open().web.net.check_named(&request.target) {
            self.audit_request(&effect, "deny ")?;
            return Err(fault);
        }
        if let Admission::Wait(pending) = self.admit::<WebAccess>(&effect)? {
            return Ok(Completion::Pending(pending));
        }
        self.check_not_dry_run()?;
        self.use_up_approval(RunId::new(self.call().world()))?;
        self.audit_request(&effect, "")?;
        let first = request.target.clone();
        let mut current = effect;
        let mut follow = |next: &Target| {
            current = Effect::dialling(dial(next));
            match self.judge(&current)? {
                Verdict::Ask(_) if !first.is_trusted_redirect(next) => return Ok(Follow::No),
                Verdict::Deny(reason) => return Err(Fault::new(FaultCode::Denied, reason)),
                Verdict::Allow | Verdict::Ask(_) => {}
            }
            if next.host_port() != first.host_port() {
                self.audit_request(&current, "")?;
            }
            Ok(Follow::Yes)
        };
        let response = self.open().web.net.fetch(request, self.call(), &mut follow);
        if response.as_ref().is_err_and(|fault| fault.code() == FaultCode::Denied) {
            self.audit_request(&current, "deny ")?;
        }
        response.map(Completion::Done)
    }

    fn audit_request(&self, effect: &Effect, prefix: &str) -> Result<()> {
        let mut entry = self.audit_entry::<WebAccess>(effect);
        entry.action.insert_str(0, prefix);
        self.open().workspace.record_audit(&entry)
    }
}
