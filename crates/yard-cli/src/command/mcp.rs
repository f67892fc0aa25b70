//! `toolyard mcp`: the tools over MCP on standard input and output, for agents that start it themselves.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use yard_core::{Call, FaultCode};
use yard_dialects::Catalog;
use yard_gate::{Actor, CallerPolicy, Preset, Session};
use yard_server::mcp::{LocalCallers, LocalRoot, McpServer, serve_stdio};

use super::clients;
use super::serve::stop_signal;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::location;
use crate::log;
use crate::overlap::overlapping;
use crate::reply::Reply;

const HELP: &str = "\
Examples:
  toolyard mcp ~/project                     a drop-in for the reference server for files
  toolyard mcp --toolset codex               the tools that Codex knows, in the current folder
  toolyard mcp --read-only ~/project ~/docs  two folders, to look at only
  claude mcp add toolyard -- toolyard mcp \"$PWD\"

What the agent changes is kept in your data folder: `toolyard history` lists it, `toolyard undo` takes it back.
Calls that need your approval ask in the client if it can, else `toolyard approve` does.";

/// What is said to somebody who starts this on a terminal.
const NOT_FOR_A_TERMINAL: &str = "\
This is an MCP server: it waits for the messages of a client, which starts it. Ctrl-C ends it.
`toolyard mcp --print-config CLIENT` prints what to write into the configuration of a client.";
/// The default dialect (R14).
const TOOLSET: &str = "filesystem";
/// The default policy (R14).
const POLICY: &str = "guarded";
/// How many seconds a call waits by default (R16).
const WAIT: u64 = 30;
/// The argument that prints the page about all clients.
const EVERY_CLIENT: &str = "all";

/// Serve an agent over MCP, on standard input and output
#[derive(Clone, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Options {
    /// Folders to work on, as with --root
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Toolset of the agent: workspace, file, coder, assistant, codex or filesystem
    #[arg(long, value_name = "NAME", default_value = TOOLSET)]
    toolset: String,
    /// What may happen without a person: open, guarded or strict
    #[arg(long, value_name = "PRESET", default_value = POLICY)]
    policy: String,
    /// Let nothing be changed
    #[arg(long)]
    read_only: bool,
    /// Let the agent list and undo steps, too
    #[arg(long)]
    history: bool,
    /// Seconds that a call waits for a person whom the client cannot ask
    #[arg(long, value_name = "SECONDS", default_value_t = WAIT)]
    wait: u64,
    /// Take no client's word for a person's: approve and answer on the command line only
    #[arg(long)]
    no_elicitation: bool,
    /// Refuse at once whatever would ask a person: for runs that nobody watches
    #[arg(long)]
    no_person: bool,
    /// Print the configuration of a client that starts this, and exit: claude-code, claude-desktop, codex, cursor,
    /// vscode, zed, gemini, opencode, goose, openai-agents, langchain or pydantic-ai
    #[arg(long, value_name = "CLIENT")]
    print_config: Option<String>,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        if !Catalog::toolset_names().contains(&self.toolset.as_str()) {
            return Err(self.no_toolset());
        }
        let policy = self.policy()?;
        if let Some(client) = &self.print_config {
            return self.config(client, context);
        }
        let _log = log::start_if_asked()?;
        let roots = self.roots(context);
        // A missing root is an error now. Everything else is opened while the client sends its first message.
        roots.iter().try_for_each(|root| location::canonical_text(root).map(drop))?;
        refuse_overlap(&roots)?;
        if io::stdin().is_terminal() {
            let _ = writeln!(io::stderr(), "{NOT_FOR_A_TERMINAL}");
        }
        let (context, options) = (context.clone(), self.clone());
        let open = move || {
            options
                .open_workspaces(&context, &roots, policy)
                .map_err(|failure| failure.message().to_owned())
        };
        serve_stdio(open, stop_signal)
            .map_err(|error| Failure::io("the connection cannot be served", &error))?;
        Ok(Reply::text(String::new()))
    }

    /// Opens the workspaces, and makes the server and its callers.
    fn open_workspaces(
        &self,
        context: &CommandContext,
        roots: &[PathBuf],
        policy: CallerPolicy,
    ) -> Result<(McpServer, LocalCallers), Failure> {
        let links: Vec<_> =
            roots.iter().filter_map(|root| location::link_and_target(root)).collect();
        let mut roots: Vec<LocalRoot> =
            roots.iter().map(|root| self.open(context, root, policy)).collect::<Result<_, _>>()?;
        for root in &mut roots {
            root.agent = root.agent.given_as(links.clone());
            root.person = root.person.given_as(links.clone());
        }
        let world = context.world();
        let secret = world.secret().ok_or_else(|| {
            Failure::new(FaultCode::Unavailable, "this machine has no source of secrets")
        })?;
        let catalog = Catalog::standard();
        let catalog = if self.history { catalog.with_history() } else { catalog };
        let call = Call::new(Arc::clone(&world));
        let dialect = catalog.dialects().find(|dialect| dialect.name == self.toolset);
        let dialect = dialect.ok_or_else(|| self.no_toolset())?;
        let callers =
            LocalCallers::new(roots, dialect, !self.no_elicitation, call, location::resolve_links);
        let server = McpServer::new(catalog, world, secret, Duration::from_secs(self.wait));
        Ok((server, callers))
    }

    /// Opens the workspace at one root, with a session for its agent and one for its person.
    fn open(
        &self,
        context: &CommandContext,
        root: &Path,
        policy: CallerPolicy,
    ) -> Result<LocalRoot, Failure> {
        let (open, _) = context.workspace(root)?;
        let agent = Session::new(Arc::clone(&open), Actor::LocalAgent, policy).showing_host_paths();
        let agent = if self.no_person { agent.without_person() } else { agent };
        // What the person approves is done for the agent's session, and answered in its dialect.
        let person =
            Session::new(open, Actor::LocalPerson, CallerPolicy::Open).showing_host_paths();
        Ok(LocalRoot { agent, person })
    }

    /// What to write into the configuration of a client, to have it start this with the same options.
    fn config(&self, word: &str, context: &CommandContext) -> Result<Reply, Failure> {
        if word == EVERY_CLIENT {
            return Ok(Reply::text(clients::document()));
        }
        let client = clients::find(word).ok_or_else(|| {
            let known: Vec<_> = clients::CLIENTS.iter().map(|client| client.word).collect();
            Failure::misuse(FaultCode::BadArgument, format!("there is no client {word:?}"))
                .with_hint(format!("choose one of {}, or {EVERY_CLIENT}", known.join(", ")))
        })?;
        let mut arguments = vec!["mcp".to_owned()];
        for root in self.roots(context) {
            arguments.extend(["--root".to_owned(), location::canonical_text(&root)?]);
        }
        let mut option = |name: &str, value: &str, default: &str| {
            if value != default {
                arguments.extend([name.to_owned(), value.to_owned()]);
            }
        };
        option("--toolset", &self.toolset, TOOLSET);
        option("--policy", &self.policy, POLICY);
        option("--wait", &self.wait.to_string(), &WAIT.to_string());
        if let Some(data_dir) = context.data_dir() {
            // The client starts the server in another folder.
            let data_dir = std::path::absolute(data_dir)
                .map_err(|error| Failure::io("the data folder has no absolute path", &error))?;
            option("--data-dir", &data_dir.to_string_lossy(), "");
        }
        let flags = [
            (self.read_only, "--read-only"),
            (self.history, "--history"),
            (self.no_elicitation, "--no-elicitation"),
            (self.no_person, "--no-person"),
        ];
        arguments.extend(flags.iter().filter(|(set, _)| *set).map(|(_, flag)| (*flag).to_owned()));
        Ok(Reply::text(client.config("toolyard", &arguments)))
    }

    /// The roots that the options name in either way, or else the current folder.
    fn roots(&self, context: &CommandContext) -> Vec<PathBuf> {
        let named: Vec<PathBuf> = context.roots().iter().chain(&self.folders).cloned().collect();
        if named.is_empty() { vec![PathBuf::from(".")] } else { named }
    }

    fn no_toolset(&self) -> Failure {
        let message = format!("there is no toolset {:?}", self.toolset);
        Failure::misuse(FaultCode::BadArgument, message)
            .with_hint(format!("choose one of {}", Catalog::toolset_names().join(", ")))
    }

    fn policy(&self) -> Result<CallerPolicy, Failure> {
        let preset = Preset::from_word(&self.policy).ok_or_else(|| {
            let message = format!("there is no policy {:?}", self.policy);
            Failure::misuse(FaultCode::BadArgument, message)
                .with_hint("choose one of open, guarded, strict")
        })?;
        Ok(match preset {
            _ if self.read_only => CallerPolicy::ReadOnly,
            Preset::Open => CallerPolicy::Open,
            Preset::Guarded => CallerPolicy::Guarded,
            Preset::Strict => CallerPolicy::Strict,
        })
    }
}

/// One agent with two roots that hold the same files could change one through the other, past its rules
/// and its history (R15).
fn refuse_overlap(roots: &[PathBuf]) -> Result<(), Failure> {
    let Some((one, other)) = overlapping(roots) else { return Ok(()) };
    let (one, other) = (one.display(), other.display());
    let message =
        format!("the roots {one} and {other} are the same folder, or one lies in the other");
    Err(Failure::misuse(FaultCode::BadArgument, message)
        .with_hint("name the upper one alone, or serve each from a process of its own"))
}
