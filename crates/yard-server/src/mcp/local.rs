//! The callers of a connection on this machine: one agent and one person, with one or several roots, each a
//! workspace of its own (R15). There is no login: the user who starts the process is the person.

use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use yard_core::op::Show;
use yard_core::{Call, ChatId, Fault, FaultCode, StepId, WsPath};
use yard_dialects::{Dialect, PathStyle};
use yard_gate::{ConnectionChat, Mount, NamedRoot, Session, TerminalState, is_at_or_below};

use super::callers::{Callers, DecisionChannel, ToolCaller, WorkspaceView};
use super::resources::perform;
use super::transcript_writer::TranscriptWriter;
use crate::body_memory::BodyMemory;

/// Characters of a client's name that a chat's title holds.
const NAME_CHARS: usize = 60;

/// One root: the sessions of the agent and of the person in its workspace.
pub struct LocalRoot {
    /// The session that tools are called with.
    pub agent: Session,
    /// The person at this machine.
    pub person: Session,
}

impl LocalRoot {
    fn host(&self) -> &[u8] {
        self.agent.host_root()
    }

    /// The folder as text, for people and as the name of the workspace that work is counted for.
    fn folder(&self) -> String {
        String::from_utf8_lossy(self.host()).into_owned()
    }
}

/// Resolves the symbolic links of a path of the host. A path that does not exist stays as it is.
pub type ResolveLinks = fn(&[u8]) -> Vec<u8>;

/// The callers of one connection.
pub struct LocalCallers {
    roots: Vec<LocalRoot>,
    /// The name of each root, where there are several.
    names: Vec<String>,
    /// Whether paths begin with these names; else they are paths of the host.
    paths_have_names: bool,
    toolset: String,
    /// Whether an answer that the client passes on counts as the person's.
    trusts_client: bool,
    call: Call,
    state: Mutex<Vec<State>>,
    /// Resolves the links of the client's roots, as those of our roots are.
    resolve: ResolveLinks,
    transcript: Arc<TranscriptWriter>,
}

/// The state of one root in this connection.
#[derive(Clone, Default)]
struct State {
    /// The connection's own chat (R14), after the first call.
    chat: Option<Arc<ConnectionChat>>,
    /// The folders that the client restricts itself to.
    restriction: Option<Vec<WsPath>>,
}

impl State {
    /// The connection's own chat, if anything was changed in it yet.
    fn made_chat(&self) -> Option<ChatId> {
        self.chat.as_ref()?.made()
    }

    /// Whether the client offers anything in this root.
    fn is_offered(&self) -> bool {
        self.restriction.as_ref().is_none_or(|folders| !folders.is_empty())
    }
}

impl LocalCallers {
    /// The callers in these roots, in that dialect. `call` is the context in which chats are made.
    pub fn new(
        mut roots: Vec<LocalRoot>,
        dialect: &Dialect,
        trusts_client: bool,
        call: Call,
        resolve: ResolveLinks,
    ) -> Self {
        for root in &mut roots {
            root.agent = root.agent.recording_changes();
        }
        let state = Mutex::new(vec![State::default(); roots.len()]);
        let names = names(&roots);
        let paths_have_names = roots.len() > 1 && dialect.path_style != PathStyle::Host;
        let (toolset, transcript) = (dialect.name.to_owned(), Arc::default());
        Self {
            roots,
            names,
            paths_have_names,
            toolset,
            trusts_client,
            call,
            state,
            resolve,
            transcript,
        }
    }

    /// Writes the rest of the transcript and ends the commands that still run.
    pub(super) fn shut_down(&self) {
        self.transcript.finish();
        for (root, state) in self.roots.iter().zip(&*self.state.lock()) {
            if let Some(Ok(session)) = state.made_chat().map(|chat| root.agent.in_chat(chat)) {
                session.stop_all_terminals();
            }
        }
    }

    /// The agent's session in the connection's chat of one root. The chat is made with the first change.
    fn in_chat(&self, at: usize, client: &str) -> yard_core::Result<Session> {
        let (root, mut state) = (&self.roots[at], self.state.lock());
        let chat = state[at].chat.get_or_insert_with(|| {
            // The person opens the chat: one that an agent opens would be in plan mode.
            let client: String = client.chars().take(NAME_CHARS).collect();
            ConnectionChat::new(root.person.clone(), format!("MCP: {client}"))
        });
        let session = root.agent.in_connection_chat(Arc::clone(chat));
        let session = session.among(self.allowed(&state), self.sessions(&state));
        restricted(self.mounted(session, at, &state), &state[at]).ok_or_else(outside)
    }

    /// The name before the paths of one root, and the names of all roots that the client offers.
    fn mount(&self, at: usize, state: &[State]) -> Mount {
        let roots = self.roots.iter().zip(&self.names).zip(state);
        let offered = roots.filter(|(_, state)| state.is_offered());
        let mounted = |((root, name), _): ((&LocalRoot, &String), &State)| NamedRoot {
            name: name.clone(),
            host: root.host().to_vec(),
        };
        Mount { name: self.names[at].clone(), all: offered.map(mounted).collect() }
    }

    fn caller_at(
        &self,
        context: &RequestContext<RoleServer>,
        at: usize,
    ) -> yard_core::Result<ToolCaller> {
        let client = context.client_info().map_or_else(|| "a client".to_owned(), |info| info.name);
        let folder = self.roots[at].folder();
        Ok(ToolCaller {
            session: self.in_chat(at, &client)?,
            person: self.trusts_client.then(|| self.roots[at].person.clone()),
            toolset: self.toolset.clone(),
            workspace_key: folder.clone(),
            decision_channel: DecisionChannel::CommandLine(folder),
            body_memory: BodyMemory::default(),
            transcript: Some(Arc::clone(&self.transcript)),
        })
    }

    /// The root in which this connection has a terminal with a name; a running one is preferred.
    fn root_of_terminal(&self, terminal: &str) -> Option<usize> {
        // Terminals of other processes are asked, which may take a while: not under the lock.
        let chats: Vec<Option<ChatId>> = self.state.lock().iter().map(State::made_chat).collect();
        let of = |(at, (root, chat)): (usize, (&LocalRoot, &Option<ChatId>))| {
            let session = root.agent.in_chat((*chat)?).ok()?;
            let listed = session.terminals().list().ok()?;
            let found = listed.into_iter().filter(|one| one.name == terminal);
            let is_over = found.map(|one| one.state != TerminalState::Running).min()?;
            Some((is_over, at))
        };
        self.roots.iter().zip(&chats).enumerate().filter_map(of).min().map(|(_, at)| at)
    }

    /// The folders of the host that the client offers, in all roots.
    fn allowed(&self, state: &[State]) -> Vec<Vec<u8>> {
        let folders_of = |(root, state): (&LocalRoot, &State)| match &state.restriction {
            None => vec![root.host().to_vec()],
            Some(folders) => folders.iter().map(|folder| host_path(root, folder)).collect(),
        };
        self.roots.iter().zip(state).flat_map(folders_of).collect()
    }

    /// The agent's sessions in all roots that the client offers, in its chat if there is one. Empty if there is only one
    /// root.
    fn sessions(&self, state: &[State]) -> Vec<Session> {
        if self.roots.len() == 1 {
            return Vec::new();
        }
        let session_in = |(at, (root, own)): (usize, (&LocalRoot, &State))| {
            let in_chat = own.chat.clone().map(|chat| root.agent.in_connection_chat(chat));
            let session = in_chat.unwrap_or_else(|| root.agent.clone());
            let session = session.among(self.allowed(state), Vec::new());
            restricted(self.mounted(session, at, state), own)
        };
        self.roots.iter().zip(state).enumerate().filter_map(session_in).collect()
    }

    /// The session with paths as its dialect reads them: below the names of the roots, or as the host has them.
    fn mounted(&self, session: Session, at: usize, state: &[State]) -> Session {
        if self.paths_have_names { session.mounted(self.mount(at, state)) } else { session }
    }

    /// The root that contains the paths in these arguments.
    fn root_of_arguments(&self, arguments: &Map<String, Value>) -> yard_core::Result<usize> {
        if self.roots.len() == 1 {
            return Ok(0);
        }
        let first = self.state.lock().iter().position(State::is_offered).unwrap_or(0);
        let step = arguments.get("step").and_then(|step| step.as_str()?.trim().parse().ok());
        if let Some(at) = step.and_then(|step| self.root_of_step(step)) {
            return Ok(at);
        }
        // A call that opens a terminal names a path; for input to one, its name is enough.
        let opens = arguments.contains_key("cmd");
        let terminal = arguments.get("session_id").and_then(Value::as_str).filter(|_| !opens);
        if let Some(at) = terminal.and_then(|name| self.root_of_terminal(name)) {
            return Ok(at);
        }
        let (mut picked, mount) = (None, self.mount(0, &self.state.lock()));
        for (path, is_one_of_many) in paths(arguments) {
            let path = self.roots[0].agent.with_real_root(path);
            let Some(root) = mount.innermost(&path) else { continue };
            let Some(at) = self.names.iter().position(|name| *name == root.name) else { continue };
            if picked.is_some_and(|other| other != at) && !is_one_of_many {
                let message = "these paths are in different roots, each of which is a workspace of its own: \
                               make one call for each root";
                return Err(Fault::new(FaultCode::BadArgument, message));
            }
            picked = picked.or(Some(at));
        }
        Ok(picked.unwrap_or(first))
    }

    /// The root whose history has a step.
    fn root_of_step(&self, step: StepId) -> Option<usize> {
        let shown = |root: &LocalRoot| perform(&root.agent, &self.call, Show::all(step, 0)).is_ok();
        self.roots.iter().position(shown)
    }
}

/// A folder of a workspace, as a path of the host.
fn host_path(root: &LocalRoot, folder: &WsPath) -> Vec<u8> {
    let host = root.host().strip_suffix(b"/").unwrap_or(root.host());
    if folder.is_root() { root.host().to_vec() } else { [host, b"/", folder.relative()].concat() }
}

/// The session, restricted to what the client offers; `None` if that is nothing in this root.
fn restricted(session: Session, state: &State) -> Option<Session> {
    match &state.restriction {
        None => Some(session),
        Some(folders) if folders.is_empty() => None,
        Some(folders) => Some(session.confined_to(folders.clone())),
    }
}

fn outside() -> Fault {
    let message = "this root is outside of what the client offers: name a path in another root";
    Fault::new(FaultCode::Denied, message)
}

/// The last part of each root's path, with a number if two are equal.
fn names(roots: &[LocalRoot]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for root in roots {
        let last = root.host().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let last = String::from_utf8_lossy(last).trim().to_owned();
        let is_name = WsPath::parse(&last).is_ok_and(|path| !path.is_root());
        let last = if is_name { last } else { "root".to_owned() };
        let is_taken = |name: &String| names.contains(name);
        let numbered = (2..).map(|number| format!("{last}-{number}"));
        let name = std::iter::once(last.clone()).chain(numbered).find(|name| !is_taken(name));
        names.extend(name);
    }
    names
}

/// Every path in the arguments, by the names that tools give to paths, and whether it is one of a list, whose
/// files are only read.
fn paths(arguments: &Map<String, Value>) -> impl Iterator<Item = (&str, bool)> {
    const NAMES: [&str; 4] = ["path", "paths", "source", "destination"];
    let values = NAMES.iter().filter_map(|name| arguments.get(*name));
    values.flat_map(|value| match value {
        Value::Array(items) => {
            items.iter().filter_map(Value::as_str).map(|path| (path, true)).collect()
        }
        value => value.as_str().into_iter().map(|path| (path, false)).collect::<Vec<_>>(),
    })
}

impl Callers for LocalCallers {
    const TAKES_ROOTS: bool = true;
    const KEEPS_OPEN: bool = true;

    fn caller(
        &self,
        context: &RequestContext<RoleServer>,
        arguments: &Map<String, Value>,
    ) -> yard_core::Result<ToolCaller> {
        self.caller_at(context, self.root_of_arguments(arguments)?)
    }

    fn has_to_look(&self, arguments: &Map<String, Value>) -> bool {
        let names = ["step", "session_id"];
        self.roots.len() > 1 && names.iter().any(|name| arguments.contains_key(*name))
    }

    fn caller_in(
        &self,
        context: &RequestContext<RoleServer>,
        root: &str,
    ) -> yard_core::Result<ToolCaller> {
        let at = self.names.iter().position(|name| name == root);
        self.caller_at(context, at.unwrap_or_default())
    }

    fn toolset(&self, _: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        Ok(self.toolset.clone())
    }

    fn workspaces(&self, _: &RequestContext<RoleServer>) -> Result<Vec<WorkspaceView>, ErrorData> {
        let (several, state) = (self.roots.len() > 1, self.state.lock());
        let workspaces =
            self.roots.iter().zip(&self.names).zip(&*state).filter_map(|((root, name), state)| {
                let session = restricted(root.agent.clone(), state)?;
                let name = several.then(|| name.clone());
                Some(WorkspaceView { name, workspace_key: root.folder(), session })
            });
        Ok(workspaces.collect())
    }

    fn restrict_to_roots(&self, offered: &[Vec<u8>]) {
        let offered: Vec<Vec<u8>> = offered.iter().map(|path| (self.resolve)(path)).collect();
        let mut restrictions: Vec<Option<Vec<WsPath>>> = Vec::new();
        for root in &self.roots {
            // A client that offers the root itself, or a folder above it, restricts nothing.
            let all = offered.iter().any(|folder| is_at_or_below(root.host(), folder));
            let inside = offered.iter().filter(|folder| is_at_or_below(folder, root.host()));
            let inside =
                inside.filter_map(|folder| WsPath::from_bytes(&folder[root.host().len()..]).ok());
            restrictions.push((!all).then(|| inside.collect()));
        }
        // A client whose roots are all outside of ours does not mean ours: nothing is restricted.
        let restricts =
            restrictions.iter().any(|one| one.as_ref().is_none_or(|folders| !folders.is_empty()));
        if !restricts {
            return;
        }
        for (state, restriction) in self.state.lock().iter_mut().zip(restrictions) {
            state.restriction = restriction;
        }
    }
}
