//! The web, judged: which host is asked, how, and whether a person has to say yes first. Every request and
//! every redirect to another place is judged; who may be reached at all is the kernel's to check (A4).
//!
//! A yes covers the call that it was asked for, and is used up when that is sent: what a crash interrupts
//! is not sent again.

use std::time::Duration;

use globset::GlobMatcher;
use yard_core::op::Operation;
use yard_core::{Call, Dial, Effect, EffectKind, Fault, FaultCode, Result, RunId};
use yard_kernel::store_fault;
use yard_net::{Follow, Method, Net, Page, Request, Response, Shape, Target};
use yard_store::{Mode, StoreError};

use crate::approvals::started_already;
use crate::claims::lost;
use crate::rules::host_matcher;
use crate::search::Search;
use crate::session::{Admission, only_explained};
use crate::{Origin, Outcome, Session, Verdict};

/// How long a page may take to be read, at the least.
const READING: Duration = Duration::from_secs(2);

/// The way to the web, as the operator set it.
#[derive(Clone, Debug, Default)]
pub struct Web {
    pub(crate) net: Net,
    allow: Vec<GlobMatcher>,
    /// Hosts and ports that the operator named as a whole.
    named: Vec<String>,
    pub(crate) search: Option<Search>,
    /// Where packages come from, by the name of who installs them.
    indexes: Vec<(String, String)>,
    /// Places of this machine or its network that commands can reach, once a person agrees.
    reach: Vec<String>,
    /// Commands reach nothing at all.
    is_closed_to_commands: bool,
    /// How long a connection of a command is held while a person is asked.
    held: Held,
}

/// How long a connection of a command is held while a person is asked: within what most clients wait.
#[derive(Clone, Copy, Debug)]
struct Held(Duration);

impl Default for Held {
    fn default() -> Self {
        Self(Duration::from_secs(12))
    }
}

impl Web {
    /// A way to the web on which no host is known.
    pub fn new(net: Net) -> Self {
        Self { net, ..Self::default() }
    }

    /// The same way, on which these hosts (`example.com`, `*.example.com`) need no person's word.
    pub fn allowing(mut self, host: &str) -> std::result::Result<Self, String> {
        self.allow.push(host_matcher(host)?);
        Ok(self)
    }

    /// The same way, on which this `host:port` may be anywhere, and needs no person's word.
    pub fn exempting(self, pair: &str) -> std::result::Result<Self, String> {
        let net = self.net.exempting(pair)?;
        let place = Target::parse(&format!("http://{pair}/")).map(|target| target.place());
        let mut named = self.named;
        named.extend(place);
        Ok(Self { net, named, ..self })
    }

    /// The same way, on which the web is searched by this provider. Wherever it is, it is reached.
    pub fn searching(self, search: Search) -> std::result::Result<Self, String> {
        let net = self.net.exempting(&search.place())?;
        Ok(Self { net, search: Some(search), ..self })
    }

    /// The same way, on which packages for `manager` come from here.
    pub fn installing_from(
        mut self,
        manager: &str,
        url: &str,
    ) -> std::result::Result<Self, String> {
        let target = Target::parse(url).map_err(|fault| fault.message().to_owned())?;
        self.named.push(target.place());
        self.indexes.push((manager.to_owned(), target.as_str().to_owned()));
        Ok(self)
    }

    /// The same way, on which commands can reach this `host:port` of this machine or its network, once a
    /// person agrees. Nobody else can.
    pub fn reaching(mut self, pair: &str) -> std::result::Result<Self, String> {
        self.net.clone().exempting(pair)?;
        let place = Target::parse(&format!("http://{pair}/")).map(|target| target.place());
        self.reach.extend(place);
        Ok(self)
    }

    /// The same way, on which no command reaches anything.
    #[must_use]
    pub fn without_commands(self) -> Self {
        Self { is_closed_to_commands: true, ..self }
    }

    /// The same way, on which connections of commands are held for another time while a person is asked.
    #[must_use]
    pub fn holding_for(self, time: Duration) -> Self {
        Self { held: Held(time), ..self }
    }

    pub(crate) fn held(&self) -> Duration {
        self.held.0
    }

    /// The way that commands take; `None` if they reach nothing.
    pub(crate) fn for_commands(&self) -> Option<Net> {
        if self.is_closed_to_commands {
            return None;
        }
        // Each was tried when it was named.
        let also = |net: Net, place: &String| net.clone().exempting(place).unwrap_or(net);
        Some(self.reach.iter().fold(self.net.clone(), also))
    }

    /// Whether a place is one that only commands can reach.
    pub(crate) fn is_for_commands_alone(&self, target: &Target) -> bool {
        self.reach.contains(&target.place())
    }

    /// Whether the operator named this host.
    pub(crate) fn knows(&self, target: &Target) -> bool {
        let is_allowed = |host: &GlobMatcher| host.is_match(target.host());
        self.named.contains(&target.place()) || self.allow.iter().any(is_allowed)
    }
}

/// A page of the web.
#[derive(Clone, Debug)]
pub struct Fetched {
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
    /// Where packages come from that `manager` installs, if the operator said so; a fault in plan mode.
    pub fn package_index(&self, manager: &str) -> Result<Option<String>> {
        if self.mode()? == Mode::Plan {
            let message = "this chat is in plan mode, in which nothing is installed";
            return Err(Fault::new(FaultCode::Denied, message));
        }
        let index = self.open().web.indexes.iter().find(|(of, _)| of == manager);
        Ok(index.map(|(_, url)| url.clone()))
    }
}

/// What reaches out, in audit rows.
#[derive(Clone, Debug)]
pub(crate) struct Reach;

impl Operation for Reach {
    type Answer = ();
    const VERB: &'static str = "reach";
}

impl Session {
    /// Fetches a page of the web: judged by its host, and asked about where nobody allowed that.
    pub fn fetch(
        &self,
        origin: Origin<'_>,
        call: &Call,
        request: Request,
        shape: Shape,
    ) -> Result<Outcome<Fetched>> {
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
        let response = match self.reach(origin, call, request, &dial)? {
            Outcome::Done(response) => response,
            Outcome::Pending(pending) => return Ok(Outcome::Pending(pending)),
        };
        let took = call.world().elapsed().saturating_sub(begun);
        // A page that came at the last moment is still read.
        let left = wall.saturating_sub(took).max(READING);
        let page = response.page(shape, call, left)?;
        Ok(Outcome::Done(Fetched {
            url: response.target.as_str().to_owned(),
            redirects: response.redirects,
            left: response.left.map(|target| target.as_str().to_owned()),
            status: response.status,
            headers: response.headers,
            page,
        }))
    }

    /// Asks a host, and those that it leads to as far as they are allowed. `dial` says what is done to one.
    pub(crate) fn reach(
        &self,
        origin: Origin<'_>,
        call: &Call,
        request: Request,
        dial: &dyn Fn(&Target) -> Dial,
    ) -> Result<Outcome<Response>> {
        if self.permitted_run().is_some() {
            return Err(lost());
        }
        let effect = Effect::dialling(dial(&request.target));
        // Nobody is asked about what can only be refused.
        if let Err(fault) = self.open().web.net.check_named(&request.target) {
            self.note_reach(origin, call, &effect, "deny ")?;
            return Err(fault);
        }
        if let Admission::Wait(pending) = self.admit::<Reach>(origin, call, &effect, None)? {
            return Ok(Outcome::Pending(pending));
        }
        if self.only_explains() {
            return Err(only_explained());
        }
        self.use_up(call)?;
        self.note_reach(origin, call, &effect, "")?;
        let first = request.target.clone();
        let mut now = effect;
        let mut follow = |next: &Target| {
            now = Effect::dialling(dial(next));
            match self.judge(origin, call, &now)? {
                Verdict::Ask(_) if !first.leads_home(next) => return Ok(Follow::No),
                Verdict::Deny(reason) => return Err(Fault::new(FaultCode::Denied, reason)),
                Verdict::Allow | Verdict::Ask(_) => {}
            }
            if next.place() != first.place() {
                self.note_reach(origin, call, &now, "")?;
            }
            Ok(Follow::Yes)
        };
        let response = self.open().web.net.fetch(request, call, &mut follow);
        if response.as_ref().is_err_and(|fault| fault.code() == FaultCode::Denied) {
            self.note_reach(origin, call, &now, "deny ")?;
        }
        response.map(Outcome::Done)
    }

    fn note_reach(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
        how: &str,
    ) -> Result<()> {
        let mut entry = self.audit_entry::<Reach>(origin, call, effect);
        entry.action.insert_str(0, how);
        self.open().workspace.record_audit(&entry)
    }

    /// Uses up the yes that this is sent with, if there is one.
    fn use_up(&self, call: &Call) -> Result<()> {
        let Some(approval) = self.permitted_start() else { return Ok(()) };
        match self.open().desk.start(approval, RunId::new(call.world())) {
            Err(StoreError::Misfit(_)) => Err(started_already(approval)),
            done => done.map_err(store_fault),
        }
    }
}
