//! The access to the web that the operator set: allowed hosts, hosts for commands, and the search provider. Nothing here
//! judges or sends a request.

use std::sync::Arc;
use std::time::Duration;

use globset::GlobMatcher;
use yard_core::Result;
use yard_net::{Net, Target, WebRequest, WebResponse};

use crate::policy::rules::host_matcher;

/// How long a connection of a command is usually held while a person is asked: within what most clients wait.
const CONNECTION_HOLD: Duration = Duration::from_secs(12);

/// One result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// An excerpt about the query.
    pub snippet: String,
}

/// A service that searches the web, and its protocol. It sends nothing itself: its requests are judged and sent
/// by the gate (A5). Neither its key nor its headers reach an answer, a fault, a log or an audit row.
pub trait SearchProvider: std::fmt::Debug + Send + Sync {
    /// Its address.
    fn address(&self) -> &Target;
    /// The request for at most `count` results.
    fn request(&self, query: &str, count: usize, wall: Duration) -> Result<WebRequest>;
    /// The results in a response, at most `count`.
    fn hits(&self, response: &WebResponse, count: usize) -> Result<Vec<SearchHit>>;
}

/// The access to the web that the operator set.
#[derive(Clone, Debug, Default)]
pub struct Web {
    pub(crate) net: Net,
    allow: Vec<GlobMatcher>,
    /// Hosts and ports that the operator allowed.
    named: Vec<String>,
    pub(crate) search: Option<Arc<dyn SearchProvider>>,
    /// Package indexes by the name of the package manager.
    indexes: Vec<(String, String)>,
    /// Hosts and ports of this machine or its network that commands can reach after an approval.
    for_commands: Vec<String>,
    /// Whether commands can reach no host at all.
    is_closed_to_commands: bool,
    /// How long a connection of a command is held while a person is asked, if not for the usual time.
    connection_hold: Option<Duration>,
}

impl Web {
    /// Access on which no host is allowed without an approval.
    pub fn new(net: Net) -> Self {
        Self { net, ..Self::default() }
    }

    /// The same access, with hosts (`example.com`, `*.example.com`) that need no approval.
    pub fn allowing(mut self, host: &str) -> std::result::Result<Self, String> {
        self.allow.push(host_matcher(host)?);
        Ok(self)
    }

    /// The same access, with a `host:port` that may have a private address and needs no approval.
    pub fn exempting(self, pair: &str) -> std::result::Result<Self, String> {
        let net = self.net.exempting(pair)?;
        let place = Target::parse(&format!("http://{pair}/")).map(|target| target.host_port());
        let mut named = self.named;
        named.extend(place);
        Ok(Self { net, named, ..self })
    }

    /// The same access, with a search provider. It may have a private address.
    pub fn searching(self, search: Arc<dyn SearchProvider>) -> std::result::Result<Self, String> {
        let net = self.net.exempting(&search.address().host_port())?;
        Ok(Self { net, search: Some(search), ..self })
    }

    /// The same access, with a package index for `manager`.
    pub fn installing_from(
        mut self,
        manager: &str,
        url: &str,
    ) -> std::result::Result<Self, String> {
        let target = Target::parse(url).map_err(|fault| fault.message().to_owned())?;
        self.named.push(target.host_port());
        self.indexes.push((manager.to_owned(), target.as_str().to_owned()));
        Ok(self)
    }

    /// The same access, with a `host:port` of this machine or its network that commands, and nothing else, can reach after
    /// an approval.
    pub fn reaching(mut self, pair: &str) -> std::result::Result<Self, String> {
        self.net.clone().exempting(pair)?;
        let place = Target::parse(&format!("http://{pair}/")).map(|target| target.host_port());
        self.for_commands.extend(place);
        Ok(self)
    }

    /// The same access, on which commands can reach no host.
    #[must_use]
    pub fn without_commands(self) -> Self {
        Self { is_closed_to_commands: true, ..self }
    }

    /// The same access, with another time for which connections of commands are held.
    #[must_use]
    pub fn holding_for(self, time: Duration) -> Self {
        Self { connection_hold: Some(time), ..self }
    }

    /// The package index that the operator set for `manager`.
    pub(crate) fn index_of(&self, manager: &str) -> Option<&str> {
        self.indexes.iter().find(|(of, _)| of == manager).map(|(_, url)| url.as_str())
    }

    pub(crate) fn connection_hold(&self) -> Duration {
        self.connection_hold.unwrap_or(CONNECTION_HOLD)
    }

    /// The network of commands; `None` if they can reach no host.
    pub(crate) fn for_commands(&self) -> Option<Net> {
        if self.is_closed_to_commands {
            return None;
        }
        // Each pair was checked when it was added.
        let also = |net: Net, place: &String| net.clone().exempting(place).unwrap_or(net);
        Some(self.for_commands.iter().fold(self.net.clone(), also))
    }

    /// Whether only commands can reach this host and port.
    pub(crate) fn is_for_commands_alone(&self, target: &Target) -> bool {
        self.for_commands.contains(&target.host_port())
    }

    /// Whether the operator allowed this host.
    pub(crate) fn is_allowed(&self, target: &Target) -> bool {
        let matches = |host: &GlobMatcher| host.is_match(target.host());
        self.named.contains(&target.host_port()) || self.allow.iter().any(matches)
    }
}
