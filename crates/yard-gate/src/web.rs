//! The way to the web as the operator set it: which hosts are known, what commands may reach, and who searches. It
//! judges nothing and sends nothing.

use std::sync::Arc;
use std::time::Duration;

use globset::GlobMatcher;
use yard_core::Result;
use yard_net::{Net, Target, WebRequest, WebResponse};

use crate::rules::host_matcher;

/// One result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// What it says about the query.
    pub snippet: String,
}

/// A service that searches the web, and how it is spoken to. It sends nothing itself: its requests are judged and sent
/// by the gate (A5). Neither its key nor its headers reach an answer, a fault, a log or an audit row.
pub trait SearchProvider: std::fmt::Debug + Send + Sync {
    /// Where it is.
    fn address(&self) -> &Target;
    /// The request for so many results.
    fn request(&self, query: &str, count: usize, wall: Duration) -> Result<WebRequest>;
    /// The results that a response holds, at most so many.
    fn hits(&self, response: &WebResponse, count: usize) -> Result<Vec<SearchHit>>;
}

/// The way to the web, as the operator set it.
#[derive(Clone, Debug, Default)]
pub struct Web {
    pub(crate) net: Net,
    allow: Vec<GlobMatcher>,
    /// Hosts and ports that the operator named as a whole.
    named: Vec<String>,
    pub(crate) search: Option<Arc<dyn SearchProvider>>,
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

    /// The same way, on which these hosts (`example.com`, `*.example.com`) need no person's yes.
    pub fn allowing(mut self, host: &str) -> std::result::Result<Self, String> {
        self.allow.push(host_matcher(host)?);
        Ok(self)
    }

    /// The same way, on which this `host:port` may be anywhere, and needs no person's yes.
    pub fn exempting(self, pair: &str) -> std::result::Result<Self, String> {
        let net = self.net.exempting(pair)?;
        let place = Target::parse(&format!("http://{pair}/")).map(|target| target.place());
        let mut named = self.named;
        named.extend(place);
        Ok(Self { net, named, ..self })
    }

    /// The same way, on which the web is searched by this provider. Wherever it is, it is reached.
    pub fn searching(self, search: Arc<dyn SearchProvider>) -> std::result::Result<Self, String> {
        let net = self.net.exempting(&search.address().place())?;
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

    /// Where packages come from that `manager` installs, if the operator said so.
    pub(crate) fn index_of(&self, manager: &str) -> Option<&str> {
        self.indexes.iter().find(|(of, _)| of == manager).map(|(_, url)| url.as_str())
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
