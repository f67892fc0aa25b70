//! The web from the outside: what is reached and what is not (A4), whatever a server does; what asks, what
//! a yes covers, and what searching answers (A5). Every byte goes to a server of the test on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that serves, and fails loudly"
)]

mod judged;
mod reached;
mod read;
mod searched;
mod server;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use yard_dialects::Answer;
use yard_gate::{Net, Resolve, Session, Web};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

/// Names as a test wants them, and how often one was looked up.
pub(crate) struct Names<F> {
    answer: F,
    pub(crate) asked: AtomicUsize,
}

impl<F: Fn(&str, usize) -> Vec<&'static str> + Send + Sync + 'static> Names<F> {
    /// `answer` gets the name and the number of lookups before this one.
    pub(crate) fn new(answer: F) -> Arc<Self> {
        Arc::new(Self { answer, asked: AtomicUsize::new(0) })
    }
}

impl<F: Fn(&str, usize) -> Vec<&'static str> + Send + Sync> Resolve for Names<F> {
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let before = self.asked.fetch_add(1, Ordering::SeqCst);
        let addresses = (self.answer)(host, before).into_iter();
        Ok(addresses.map(|address| SocketAddr::new(address.parse().unwrap(), port)).collect())
    }
}

/// Every name is on this machine.
pub(crate) fn here() -> Arc<dyn Resolve> {
    Names::new(|_, _| vec!["127.0.0.1"])
}

/// A way out on which these pairs are exempt.
pub(crate) fn exempting(resolver: Arc<dyn Resolve>, pairs: &[String]) -> Net {
    let net = Net::default().resolving_by(resolver);
    pairs.iter().fold(net, |net, pair| net.exempting(pair).unwrap())
}

pub(crate) fn workspace(web: Web) -> TestWorkspace {
    TestWorkspace::open(&Folders::new(), OpenOptions { web, ..OpenOptions::default() }).unwrap()
}

/// A workspace from which these servers can be reached.
pub(crate) fn workspace_reaching(servers: &[&server::Server]) -> TestWorkspace {
    let pairs: Vec<String> = servers.iter().map(|server| server.place()).collect();
    workspace(Web::new(exempting(here(), &pairs)))
}

pub(crate) fn call(
    workspace: &TestWorkspace,
    session: &Session,
    tool: &str,
    args: Value,
) -> Answer {
    workspace.call_as(session, "assistant", tool, args)
}

/// What a fetch under `open` answers.
#[track_caller]
pub(crate) fn fetch(workspace: &TestWorkspace, args: Value) -> Value {
    let answer = call(workspace, &workspace.session(), "web_fetch", args.clone());
    let body = answer.body.into_value();
    assert_eq!(body["result"]["ok"], json!(true), "{args}: {body}");
    body["result"]["value"].clone()
}

/// Why a fetch under `open` fails: code and message.
#[track_caller]
pub(crate) fn fails(workspace: &TestWorkspace, args: Value) -> (String, String) {
    let answer = call(workspace, &workspace.session(), "web_fetch", args.clone());
    let error = &answer.body["result"]["error"];
    let text =
        |name: &str| error[name].as_str().unwrap_or_else(|| panic!("{args}: {}", answer.body));
    (text("code").to_owned(), text("message").to_owned())
}
